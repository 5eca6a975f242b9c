//! Explicit and symbolic search side by side: the first answer wins.
//!
//! Small programs are decided by a short explicit search first, so that nothing is started for them and the answer
//! does not depend on who is faster. Then both engines run on a thread each, and the
//! one that has not answered is stopped.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use droste_base::{StopReason, Verdict};
use droste_program::Program;

use crate::explicit::Runs;
use crate::{Fault, Found, Options, Question, explicit, symbolic};

/// Contexts of the first search.
pub(crate) const FIRST: u64 = 20_000;

/// The explicit engine leaves memory to its rival: half of what there is, and never more than this.
const MOST_MEMORY: u64 = 4_000_000_000;

pub(crate) fn search(
    program: &Program,
    question: &Question<'_>,
    options: &Options<'_>,
    runs: Runs,
) -> Result<Found, Fault> {
    let start = Instant::now();
    if !symbolic::answers(question) {
        return explicit::search(program, question, options, runs);
    }
    let limit = options.limits.contexts;
    let mut first = options.clone();
    first.limits.contexts = Some(limit.map_or(FIRST, |limit| limit.min(FIRST)));
    let found = explicit::search(program, question, &first, runs)?;
    match found.verdict {
        // A bound of this search, or of the explicit engine: its rival may not be bothered by it.
        Verdict::Unknown(StopReason::Contexts(contexts)) if limit != Some(contexts) => {}
        Verdict::Unknown(StopReason::TooManySuccessors | StopReason::TooManyStates) => {}
        _ => return Ok(found),
    }
    let mut rest = options.clone();
    if let Some(timeout) = &mut rest.limits.timeout {
        *timeout = timeout.saturating_sub(start.elapsed());
    }
    side_by_side(program, question, &rest, runs)
}

/// What the explicit engine may use beside a rival.
pub(crate) fn share(memory: Option<u64>) -> u64 {
    memory.map_or(MOST_MEMORY, |memory| MOST_MEMORY.min(memory / 2))
}

fn side_by_side(
    program: &Program,
    question: &Question<'_>,
    options: &Options<'_>,
    runs: Runs,
) -> Result<Found, Fault> {
    let stop_explicit = Arc::new(AtomicBool::new(false));
    let stop_symbolic = Arc::new(AtomicBool::new(false));
    let limits = options.limits.clone();
    let (passes, evidence) = (options.passes, options.evidence);
    let (by_explicit, by_symbolic) = std::thread::scope(|scope| {
        let stop = Arc::clone(&stop_explicit);
        let mut limits = limits.clone();
        limits.rival = Some(Arc::clone(&stop_symbolic));
        let rival = scope.spawn(move || {
            let options = Options {
                passes,
                evidence,
                limits,
                ..Options::default()
            };
            let found = symbolic::search(program, question, &options, runs);
            if found.as_ref().is_some_and(Found::is_answer) {
                stop.store(true, Ordering::Relaxed);
            }
            found
        });
        let mut own = options.clone();
        own.limits.rival = Some(Arc::clone(&stop_explicit));
        // Writing down a long run takes its time.
        let answer = || {
            stop_symbolic.store(true, Ordering::Relaxed);
            if let Some(tell) = options.answered {
                tell();
            }
        };
        own.answered = Some(&answer);
        own.limits.memory = Some(share(own.limits.memory));
        let found = explicit::search(program, question, &own, runs);
        // A refusal is an answer, too.
        if found.as_ref().map_or(true, Found::is_answer) {
            stop_symbolic.store(true, Ordering::Relaxed);
        }
        let other = match rival.join() {
            Ok(other) => other,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        (found, other)
    });
    let mut winner = by_explicit?;
    if let Some(found) = by_symbolic
        && !winner.is_answer()
    {
        if found.is_answer() {
            winner = found;
        } else if let (Verdict::Unknown(own), Verdict::Unknown(rival)) =
            (&winner.verdict, found.verdict)
        {
            winner.verdict = Verdict::Unknown(both_stopped(own, rival, options.limits.memory));
        }
    }
    winner.raced = true;
    Ok(winner)
}

/// Why there is no answer if both engines were stopped: explicit search, which had only a share of the `memory`, and its rival.
fn both_stopped(own: &StopReason, rival: StopReason, memory: Option<u64>) -> StopReason {
    let is_memory = |reason: &StopReason| matches!(reason, StopReason::Memory(_));
    match memory {
        // The limit that stopped one of them while the other went on.
        Some(given) if is_memory(own) || is_memory(&rival) => StopReason::Memory(given),
        None if is_memory(own) => rival,
        _ => own.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn the_memory_limit_is_told_as_it_was_given() {
        let time = StopReason::Time(Duration::from_secs(3));
        let (share, given) = (StopReason::Memory(50), StopReason::Memory(100));
        assert_eq!(both_stopped(&share, time.clone(), Some(100)), given);
        assert_eq!(both_stopped(&time, given.clone(), Some(100)), given);
        assert_eq!(both_stopped(&time, time.clone(), Some(100)), time);
        // Nobody has set this limit.
        assert_eq!(both_stopped(&share, time.clone(), None), time);
        let cancelled = StopReason::Cancelled;
        assert_eq!(
            both_stopped(&cancelled, cancelled.clone(), Some(1)),
            cancelled
        );
    }
}
