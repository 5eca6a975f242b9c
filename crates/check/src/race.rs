//! Two engines side by side: the first answer wins.
//!
//! Small programs are decided by a short explicit search, the *trial*. For these no second engine
//! is started, and the answer does not depend on who is faster. For other programs both engines
//! then run, each on a thread of its own, and when one has answered, the other is stopped. An
//! engine that reaches a bound of its own (more choices than it can store, more path edges than the
//! trial has) hands over to the other. All races of Droste are made here: for programs without
//! threads, programs with threads and temporal logic, between two formulas for the same question
//! (`calculus`), and between two ways to find weights (`wpds`).
//!
//! What keeps it honest: the tests below, and `tests/engines.rs`, which compares races with an oracle.

use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::ScopedJoinHandle;
use std::time::{Duration, Instant};

use droste_base::memory::resident_bytes;
use droste_base::{Limits, Rival, StopReason};

/// The explicit engine takes no more memory than this beside a rival.
const MOST_MEMORY: u64 = 4_000_000_000;

/// At least this many choices are tried out in one state of the trial.
const FEW_CHOICES: u64 = 1 << 12;

/// A head start is over after this time, however little was done in it.
const LONGEST_START: Duration = Duration::from_millis(100);

/// How often it is seen whether a head start is over.
const BLINK: Duration = Duration::from_millis(1);

/// What the explicit engine may use beside a rival: the program that is there already, and half of
/// what is left.
fn share(memory: Option<u64>, used: u64) -> u64 {
    let left = memory.map_or(MOST_MEMORY, |memory| memory.saturating_sub(used) / 2);
    used + left.min(MOST_MEMORY)
}

/// What one side of a race comes to.
pub(crate) trait Contender {
    /// Why there is no answer, if there is none.
    fn stopped(&self) -> Option<&StopReason>;

    /// What is known if neither has answered, and `reason` is why.
    #[must_use]
    fn neither(self, other: Self, reason: StopReason) -> Self;

    /// It had a rival.
    fn raced(&mut self);
}

/// Has `explicit` try for a while, and then race with `rival`. `explicit` gets its limits and
/// something to call as soon as it knows the answer; writing down a run may take its time after
/// that.
pub(crate) fn race<A: Contender + Send, E: Send>(
    limits: &Limits,
    trial: u64,
    mut explicit: impl FnMut(&Limits, &dyn Fn()) -> Result<A, E>,
    rival: impl FnOnce(&Limits) -> Result<A, E> + Send,
) -> Result<A, E> {
    let mut short = limits.with_path_edges(trial);
    short.choices = Some(trial.max(FEW_CHOICES));
    let first = explicit(&short, &|| {})?;
    match first.stopped() {
        // The bound that was asked for, and not the trial's.
        Some(StopReason::PathEdges(most)) if limits.path_edges == Some(*most) => return Ok(first),
        Some(reason) if reason.is_own_bound() => drop(first),
        _ => return Ok(first),
    }
    let mut winner = side_by_side(limits, 0, explicit, rival)?;
    winner.raced();
    Ok(winner)
}

/// Both at once: the first answer wins, and the other one is stopped. `own` runs on this thread; it
/// gets something to call as soon as it knows the answer. `rival` has a head start, in which it may
/// answer alone, and then `own` does not begin: it looks so many times at its limits.
pub(crate) fn side_by_side<A: Contender + Send, E: Send>(
    limits: &Limits,
    head_start: u32,
    own: impl FnOnce(&Limits, &dyn Fn()) -> Result<A, E>,
    rival: impl FnOnce(&Limits) -> Result<A, E> + Send,
) -> Result<A, E> {
    std::thread::scope(|scope| {
        let share = share(limits.memory, resident_bytes().unwrap_or(0));
        // Each sees the other's answer, and that the other is gone.
        let ours = Rival {
            share: Some(share),
            ..Rival::default()
        };
        let theirs = Rival {
            answered: ours.gone.clone(),
            gone: ours.answered.clone(),
            ..Rival::default()
        };
        let (looks, rival_answered) = (theirs.looks.clone(), ours.answered.clone());
        let (own_limits, other) = (with(limits, ours.clone()), with(limits, theirs.clone()));
        let (running, ended) = mpsc::channel::<()>();
        let rival = scope.spawn(move || {
            let _running = running;
            let answer = rival(&other);
            let flag = match &answer {
                Ok(answer) if answer.stopped().is_none() => &ours.answered,
                // It needs no memory any more.
                _ => &ours.gone,
            };
            flag.store(true, Ordering::Relaxed);
            answer
        });
        // The channel ends with the rival; then nothing is waited for.
        let began = Instant::now();
        while looks.load(Ordering::Relaxed) < head_start
            && began.elapsed() < LONGEST_START
            && ended.recv_timeout(BLINK) == Err(RecvTimeoutError::Timeout)
        {}
        let rivals = |rival: ScopedJoinHandle<'_, Result<A, E>>| match rival.join() {
            Ok(answer) => answer,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        if rival_answered.load(Ordering::Relaxed) {
            return rivals(rival);
        }
        let answered = || theirs.answered.store(true, Ordering::Relaxed);
        let answer = own(&own_limits, &answered);
        // A refusal is an answer, too.
        if answer
            .as_ref()
            .map_or(true, |answer| answer.stopped().is_none())
        {
            answered();
        }
        let mut winner = decide(answer, rivals(rival))?;
        winner.raced();
        Ok(winner)
    })
}

fn with(limits: &Limits, rival: Rival) -> Limits {
    Limits {
        rival: Some(rival),
        ..limits.clone()
    }
}

/// Who has won.
fn decide<A: Contender, E>(own: Result<A, E>, rival: Result<A, E>) -> Result<A, E> {
    let own = own?;
    let Some(own_reason) = own.stopped() else {
        return Ok(own);
    };
    // If this side had found a violation when it was stopped, the rival was stopped because of that, and
    // knows no more. But if the rival has also found one, and has written its run, that counts.
    if matches!(own_reason, StopReason::Unwritten(_)) {
        let written = rival.ok().filter(|rival| rival.stopped().is_none());
        return Ok(written.unwrap_or(own));
    }
    let rival = rival?;
    let Some(rival_reason) = rival.stopped() else {
        return Ok(rival);
    };
    let reason = both_stopped(own_reason, rival_reason).clone();
    Ok(own.neither(rival, reason))
}

/// Why there is no answer if both engines were stopped: the limit that was set, rather than a bound
/// of one of them.
fn both_stopped<'a>(own: &'a StopReason, rival: &'a StopReason) -> &'a StopReason {
    let weight = |reason: &StopReason| match reason {
        StopReason::Unwritten(_) => 5,
        StopReason::Memory(_) => 4,
        StopReason::Time(_) => 3,
        StopReason::Cancelled => 2,
        StopReason::Share(_) => 0,
        _ => 1,
    };
    if weight(rival) > weight(own) {
        rival
    } else {
        own
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use droste_base::Countable;
    use std::cell::Cell;
    use std::sync::atomic::AtomicU32;

    #[derive(Debug, PartialEq)]
    struct Said(&'static str, Option<StopReason>, bool);

    impl Contender for Said {
        fn stopped(&self) -> Option<&StopReason> {
            self.1.as_ref()
        }
        fn neither(self, _: Self, reason: StopReason) -> Self {
            Said("neither", Some(reason), self.2)
        }
        fn raced(&mut self) {
            self.2 = true;
        }
    }

    fn said(who: &'static str) -> Said {
        Said(who, None, false)
    }

    fn stopped(reason: StopReason) -> Said {
        Said("stopped", Some(reason), false)
    }

    const CHOICES: StopReason = StopReason::TooMany(Countable::Choices, 7);

    /// Works until it is told to stop.
    fn works(limits: &Limits) -> StopReason {
        let mut guard = limits.guard();
        loop {
            if let Err(reason) = guard.check_now() {
                return reason;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    type Result = std::result::Result<Said, ()>;

    #[test]
    fn the_trial_decides_what_is_small() {
        let rival = |_: &Limits| -> Result { panic!("nobody asks the rival") };
        let found = race(&Limits::default(), 10, |_, _| Ok(said("explicit")), rival);
        assert_eq!(found, Ok(said("explicit")));
    }

    #[test]
    fn a_bound_that_was_asked_for_is_kept() {
        let limits = Limits::default().with_path_edges(5);
        let rival = |_: &Limits| -> Result { panic!("nobody asks the rival") };
        let explicit = |limits: &Limits, _: &dyn Fn()| {
            Ok(stopped(StopReason::PathEdges(
                limits.path_edges.unwrap_or(0),
            )))
        };
        let found = race(&limits, 10, explicit, rival);
        assert_eq!(found, Ok(stopped(StopReason::PathEdges(5))));
    }

    #[test]
    fn a_bound_of_one_engine_hands_over_to_the_other() {
        for bound in [CHOICES, StopReason::PathEdges(10)] {
            let explicit = |_: &Limits, _: &dyn Fn()| Ok(stopped(bound.clone()));
            let found: Result = race(&Limits::default(), 10, explicit, |_| Ok(said("rival")));
            assert_eq!(found, Ok(Said("rival", None, true)));
        }
    }

    #[test]
    fn the_loser_is_stopped() {
        let rounds = Cell::new(0);
        let explicit = |limits: &Limits, _: &dyn Fn()| {
            rounds.set(rounds.get() + 1);
            Ok(match rounds.get() {
                1 => stopped(CHOICES),
                _ => stopped(works(limits)),
            })
        };
        let found: Result = race(&Limits::default(), 10, explicit, |_| Ok(said("rival")));
        assert_eq!(found, Ok(Said("rival", None, true)));
        let rounds = Cell::new(0);
        let explicit = |_: &Limits, answered: &dyn Fn()| {
            rounds.set(rounds.get() + 1);
            if rounds.get() == 1 {
                return Ok(stopped(CHOICES));
            }
            // The rival ends before the run has been written.
            answered();
            Ok(said("explicit"))
        };
        let rival = |limits: &Limits| Ok(stopped(works(limits)));
        let found: Result = race(&Limits::default(), 10, explicit, rival);
        assert_eq!(found, Ok(Said("explicit", None, true)));
    }

    #[test]
    fn a_head_start_is_so_much_work() {
        let looked = AtomicU32::new(0);
        let rival = |limits: &Limits| -> Result {
            let mut guard = limits.guard();
            for _ in 0..3 {
                std::thread::sleep(BLINK);
                looked.fetch_add(1, Ordering::Relaxed);
                assert_eq!(guard.check_now(), Ok(()));
            }
            Ok(stopped(works(limits)))
        };
        let began = Instant::now();
        let own = |_: &Limits, _: &dyn Fn()| {
            let in_time = began.elapsed() < LONGEST_START;
            assert!(!in_time || looked.load(Ordering::Relaxed) == 3);
            Ok(said("own"))
        };
        let found = side_by_side(&Limits::default(), 3, own, rival);
        assert_eq!(found, Ok(Said("own", None, true)));
    }

    #[test]
    fn who_answers_in_the_head_start_is_alone() {
        let own = |_: &Limits, _: &dyn Fn()| -> Result { panic!("it does not begin") };
        let found = side_by_side(&Limits::default(), u32::MAX, own, |_| Ok(said("rival")));
        assert_eq!(found, Ok(said("rival")));
        let bound = |_: &Limits| Ok(stopped(CHOICES));
        let found: Result =
            side_by_side(&Limits::default(), u32::MAX, |_, _| Ok(said("own")), bound);
        assert_eq!(found, Ok(Said("own", None, true)));
    }

    #[test]
    fn what_is_there_already_counts_for_nobody() {
        assert_eq!(share(Some(1_000), 200), 600);
        assert_eq!(share(Some(1_000), 2_000), 2_000);
        assert_eq!(share(None, 7), 7 + MOST_MEMORY);
        assert_eq!(share(Some(20_000_000_000), 0), MOST_MEMORY);
    }

    #[test]
    fn a_run_that_was_written_is_better_than_one_that_was_not() {
        let rounds = Cell::new(0);
        let explicit = |limits: &Limits, answered: &dyn Fn()| {
            rounds.set(rounds.get() + 1);
            if rounds.get() == 1 {
                return Ok(stopped(CHOICES));
            }
            // The rival finds its violation at the same time, and is faster in writing.
            answered();
            Ok(stopped(works(limits).unwritten()))
        };
        let found: Result = race(&Limits::default(), 10, explicit, |_| Ok(said("rival")));
        assert_eq!(found, Ok(Said("rival", None, true)));
    }

    #[test]
    fn the_limit_that_was_set_is_told() {
        let time = StopReason::Time(Duration::from_secs(3));
        let memory = StopReason::Memory(100);
        let share = StopReason::Share(50);
        for (own, rival, told) in [
            (&share, &time, &time),
            (&time, &memory, &memory),
            (&time, &time, &time),
            (&CHOICES, &share, &CHOICES),
            (&CHOICES, &StopReason::Cancelled, &StopReason::Cancelled),
        ] {
            assert_eq!(both_stopped(own, rival), told);
        }
        let unwritten = memory.clone().unwritten();
        let explicit = |_: &Limits, _: &dyn Fn()| Ok(stopped(unwritten.clone()));
        let rival = |_: &Limits| -> Result { panic!("the violation had been found") };
        let found = race(&Limits::default(), 10, explicit, rival);
        assert_eq!(found, Ok(stopped(unwritten)));
    }
}
