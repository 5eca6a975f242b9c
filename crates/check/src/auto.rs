//! Explicit and symbolic search side by side: the first answer wins.
//!
//! Small programs are decided by a short explicit search first, so that nothing is started for them and the answer
//! does not depend on who is faster. Then both engines run on a thread each, and the
//! one that has not answered is stopped.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use droste_base::{StopReason, Verdict};
use droste_lang::program::Program;

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
    let passes = options.passes;
    let (by_explicit, by_symbolic) = std::thread::scope(|scope| {
        let stop = Arc::clone(&stop_explicit);
        let mut limits = limits.clone();
        limits.rival = Some(Arc::clone(&stop_symbolic));
        let rival = scope.spawn(move || {
            let options = Options {
                passes,
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
        } else {
            let memory =
                |found: &Found| matches!(found.verdict, Verdict::Unknown(StopReason::Memory(_)));
            match options.limits.memory {
                // The limit that stopped the first of them; explicit search had only a share of it.
                Some(given) if memory(&winner) || memory(&found) => {
                    winner.verdict = Verdict::Unknown(StopReason::Memory(given));
                }
                None if memory(&winner) => winner.verdict = found.verdict,
                _ => {}
            }
        }
    }
    winner.raced = true;
    Ok(winner)
}
