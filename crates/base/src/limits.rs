//! Limits on time and memory, and the reasons for which a search stops without an answer.
//!
//! Limits go in, a reason comes out: running out of anything is never an error. A deadline is a
//! point in time, made once and handed down; how much time is left follows from it. A
//! [`StopReason`] carries the bound that was hit, as it was set.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use crate::memory::resident_bytes;
use crate::words::count;

/// A point in time, as a duration from its beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deadline {
    start: Instant,
    given: Duration,
}

impl Deadline {
    /// This much time from now.
    pub fn after(given: Duration) -> Self {
        Deadline::from(Instant::now(), given)
    }

    /// This much time from `start`.
    pub fn from(start: Instant, given: Duration) -> Self {
        Deadline { start, given }
    }

    /// How long it was when it was set.
    pub fn given(self) -> Duration {
        self.given
    }

    /// How long it is until then.
    pub fn left(self) -> Duration {
        self.given.saturating_sub(self.start.elapsed())
    }

    /// Whether it has passed at `now`.
    pub fn is_over(self, now: Instant) -> bool {
        now.duration_since(self.start) >= self.given
    }
}

/// A rival of a search: another engine that looks for the same answer at the same time.
#[derive(Clone, Debug, Default)]
pub struct Rival {
    /// Set when the rival has answered.
    pub answered: Arc<AtomicBool>,
    /// Set when the rival has been told to stop, or has stopped.
    pub gone: Arc<AtomicBool>,
    /// Until the rival is gone, memory beyond this many bytes is left to it.
    pub share: Option<u64>,
    /// How often this search has looked at its limits: a measure of its work that does not depend on
    /// how busy the machine is.
    pub looks: Arc<AtomicU32>,
}

/// How much a search may use, and who may stop it.
#[derive(Clone, Debug, Default)]
pub struct Limits {
    /// When the time is over.
    pub deadline: Option<Deadline>,
    /// Resident memory of the whole process, in bytes.
    pub memory: Option<u64>,
    /// Path edges (pairs of an entry state and a state) that an explicit search may explore.
    pub path_edges: Option<u64>,
    /// Choices that may be tried out in one state, if fewer than an engine's own bound.
    pub choices: Option<u64>,
    /// Set from outside (Ctrl-C) to stop the search.
    pub cancel: Option<Arc<AtomicBool>>,
    /// Who else is searching.
    pub rival: Option<Rival>,
}

/// What there can be too much of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Countable {
    /// Successors of one state, or values of one variable that are tried out.
    Choices,
    /// States.
    States,
    /// States of one state space: of what one entry of a procedure leads to.
    SpaceStates,
    /// Path edges of an explicit search.
    PathEdges,
    /// Entries and exits of procedures.
    Summaries,
    /// Nodes of decision diagrams.
    DiagramNodes,
    /// Nodes of one abstract heap.
    HeapNodes,
    /// Heaps in which a program may start.
    InitialHeaps,
    /// Rules of a graph grammar that are applied to find one field.
    Replacements,
    /// The length of an index in an abstract heap, such as the height of a tree.
    IndexLength,
    /// Eventualities of a formula, or acceptance marks of an automaton.
    Eventualities,
}

/// Why a search stopped before it knew the answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// The time limit was reached.
    Time(Duration),
    /// The memory limit was reached; in bytes.
    Memory(u64),
    /// All of the memory that a rival leaves was used; in bytes.
    Share(u64),
    /// The limit on path edges was reached.
    PathEdges(u64),
    /// Stopped from outside.
    Cancelled,
    /// There are more of something than there is room for; the number is how many there may be.
    TooMany(Countable, u64),
    /// A weight is outside of the numbers that its domain has.
    OutOfRange,
    /// A violation had been found. Before its run was written down and replayed, this happened.
    Unwritten(Box<StopReason>),
    /// A violation had been found. Before it was known which run is the best, this happened.
    Unsurpassed(Box<StopReason>),
    /// Before the automaton of a formula had been made, this happened.
    Untranslated(Box<StopReason>),
}

impl StopReason {
    /// The same, after a violation had been found.
    #[must_use]
    pub fn unwritten(self) -> Self {
        match self {
            StopReason::Unwritten(_) => self,
            reason => StopReason::Unwritten(Box::new(reason)),
        }
    }

    /// The same, after a violation had been found, of which it is not known whether it is the best one.
    #[must_use]
    pub fn unsurpassed(self) -> Self {
        StopReason::Unsurpassed(Box::new(self))
    }

    /// The same, before the automaton of a formula had been made.
    #[must_use]
    pub fn untranslated(self) -> Self {
        StopReason::Untranslated(Box::new(self))
    }

    /// Whether it is a bound of one engine or of one search, and another engine may still answer.
    pub fn is_own_bound(&self) -> bool {
        match self {
            StopReason::Share(_) | StopReason::PathEdges(_) | StopReason::TooMany(..) => true,
            StopReason::Time(_)
            | StopReason::Memory(_)
            | StopReason::Cancelled
            | StopReason::OutOfRange
            | StopReason::Unwritten(_)
            | StopReason::Unsurpassed(_)
            | StopReason::Untranslated(_) => false,
        }
    }
}

impl fmt::Display for StopReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let megabytes = |bytes: &u64| count(bytes / 1_000_000);
        match self {
            StopReason::Time(limit) => {
                write!(f, "the time limit of {} s was reached", limit.as_secs_f64())
            }
            StopReason::Memory(bytes) => {
                write!(f, "the memory limit of {} MB was reached", megabytes(bytes))
            }
            StopReason::Share(bytes) => {
                let share = megabytes(bytes);
                write!(f, "the {share} MB of an engine with a rival were used up")
            }
            StopReason::PathEdges(limit) => {
                write!(f, "the limit of {} path edges was reached", count(*limit))
            }
            StopReason::Cancelled => f.write_str("interrupted"),
            StopReason::OutOfRange => {
                f.write_str("a weight is outside of the numbers that its domain has")
            }
            StopReason::Unwritten(reason)
            | StopReason::Unsurpassed(reason)
            | StopReason::Untranslated(reason) => reason.fmt(f),
            StopReason::TooMany(what, most) => {
                let (one, many, where_) = match what {
                    Countable::Choices => ("choice", "choices", " in one state"),
                    Countable::States => ("state", "states", ""),
                    Countable::SpaceStates => ("state", "states", " in one state space"),
                    Countable::PathEdges => ("path edge", "path edges", ""),
                    Countable::Summaries => {
                        ("entry or exit", "entries and exits", " of procedures")
                    }
                    Countable::DiagramNodes => ("node", "nodes", " of decision diagrams"),
                    Countable::HeapNodes => ("node", "nodes", " in one heap"),
                    Countable::InitialHeaps => ("initial heap", "initial heaps", ""),
                    Countable::Replacements => (
                        "rule",
                        "rules",
                        " to apply before a field that a hyperedge hides is found",
                    ),
                    Countable::IndexLength => ("level", "levels", " in one index of a heap"),
                    Countable::Eventualities => {
                        ("eventuality", "eventualities", " to be kept apart")
                    }
                };
                if *most == 1 {
                    return write!(f, "there is more than 1 {one}{where_}");
                }
                write!(f, "there are more than {} {many}{where_}", count(*most))
            }
        }
    }
}

impl std::error::Error for StopReason {}

/// Watches over [`Limits`] while a search runs. Cheap enough to ask at every state: the clock is
/// read every 1024th time, memory ten times a second.
#[derive(Debug)]
pub struct Guard {
    limits: Limits,
    ticks: u32,
    next_memory_check: Instant,
}

impl Limits {
    /// No limit but this time from now on.
    pub fn within(time: Duration) -> Self {
        Limits {
            deadline: Some(Deadline::after(time)),
            ..Limits::default()
        }
    }

    /// Somebody who watches over the limits.
    pub fn guard(&self) -> Guard {
        Guard {
            limits: self.clone(),
            ticks: 0,
            next_memory_check: Instant::now(),
        }
    }

    /// The same limits, but only this part of the time that is left; `otherwise` if there is no
    /// time limit.
    #[must_use]
    pub fn with_part_of_time(&self, part: f64, otherwise: Option<Duration>) -> Self {
        let mut limits = self.clone();
        let time = match self.deadline {
            Some(deadline) => Some(deadline.left().mul_f64(part)),
            None => otherwise,
        };
        limits.deadline = time.map(Deadline::after);
        limits
    }

    /// The same limits, and at most this number of path edges.
    #[must_use]
    pub fn with_path_edges(&self, most: u64) -> Self {
        let mut limits = self.clone();
        limits.path_edges = Some(limits.path_edges.map_or(most, |limit| limit.min(most)));
        limits
    }
}

impl Guard {
    /// `Err` with the reason once a limit is reached.
    #[inline]
    pub fn check(&mut self) -> Result<(), StopReason> {
        self.ticks = self.ticks.wrapping_add(1);
        if self.ticks.trailing_zeros() >= 10 {
            self.check_now()
        } else {
            Ok(())
        }
    }

    /// Like [`check`](Self::check), but looks at the clock every time.
    #[cold]
    pub fn check_now(&mut self) -> Result<(), StopReason> {
        let is_set = |flag: &AtomicBool| flag.load(Ordering::Relaxed);
        let limits = &self.limits;
        let rival = limits.rival.as_ref();
        if let Some(rival) = rival {
            rival.looks.fetch_add(1, Ordering::Relaxed);
        }
        if limits.cancel.as_deref().is_some_and(is_set)
            || rival.is_some_and(|rival| is_set(&rival.answered))
        {
            return Err(StopReason::Cancelled);
        }
        let share = rival.and_then(|rival| rival.share.filter(|_| !is_set(&rival.gone)));
        if limits.deadline.is_none() && limits.memory.is_none() && share.is_none() {
            return Ok(());
        }
        let now = Instant::now();
        if let Some(deadline) = limits.deadline
            && deadline.is_over(now)
        {
            return Err(StopReason::Time(deadline.given()));
        }
        if (limits.memory.is_some() || share.is_some()) && now >= self.next_memory_check {
            self.next_memory_check = now + Duration::from_millis(100);
            let used = resident_bytes().unwrap_or(0);
            if let Some(limit) = limits.memory.filter(|&limit| used > limit) {
                return Err(StopReason::Memory(limit));
            }
            if let Some(limit) = share.filter(|&limit| used > limit) {
                return Err(StopReason::Share(limit));
            }
        }
        Ok(())
    }

    /// The limits that are watched over.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_carries_the_bound_that_was_set() {
        let given = Duration::from_millis(1);
        let limits = Limits::within(given);
        std::thread::sleep(2 * given);
        assert_eq!(limits.guard().check_now(), Err(StopReason::Time(given)));
        let limits = Limits {
            memory: Some(1),
            ..Limits::default()
        };
        if resident_bytes().is_some() {
            assert_eq!(limits.guard().check_now(), Err(StopReason::Memory(1)));
        }
    }

    #[test]
    fn a_share_counts_only_while_there_is_a_rival() {
        let rival = Rival {
            share: Some(1),
            ..Rival::default()
        };
        let limits = Limits {
            rival: Some(rival.clone()),
            ..Limits::default()
        };
        if resident_bytes().is_some() {
            assert_eq!(limits.guard().check_now(), Err(StopReason::Share(1)));
        }
        rival.gone.store(true, Ordering::Relaxed);
        assert_eq!(limits.guard().check_now(), Ok(()));
        rival.answered.store(true, Ordering::Relaxed);
        assert_eq!(limits.guard().check_now(), Err(StopReason::Cancelled));
    }

    #[test]
    fn one_check_in_1024_looks() {
        let cancel = Arc::new(AtomicBool::new(true));
        let limits = Limits {
            cancel: Some(Arc::clone(&cancel)),
            ..Limits::default()
        };
        let mut guard = limits.guard();
        for round in 0..3 {
            let first = (1..=2048).find(|_| guard.check().is_err());
            assert_eq!(first, Some(1024), "round {round}");
        }
        assert_eq!(guard.check_now(), Err(StopReason::Cancelled));
        cancel.store(false, Ordering::Relaxed);
        assert!((0..5000).all(|_| guard.check() == Ok(())));
    }

    #[test]
    fn without_limits_nothing_stops() {
        let mut guard = Limits::default().guard();
        assert!((0..10_000).all(|_| guard.check_now() == Ok(())));
        let enough = Limits {
            memory: Some(u64::MAX),
            ..Limits::within(Duration::from_secs(3600))
        };
        let mut guard = enough.guard();
        assert!((0..10_000).all(|_| guard.check_now() == Ok(())));
    }

    #[test]
    fn a_reason_is_wrapped_once_and_says_what_it_said() {
        let time = StopReason::Time(Duration::from_secs(2));
        let unwritten = time.clone().unwritten();
        assert_eq!(unwritten.clone().unwritten(), unwritten);
        assert_eq!(unwritten.to_string(), time.to_string());
        let own = StopReason::TooMany(Countable::States, 5);
        assert!(own.is_own_bound() && !own.unwritten().is_own_bound());
    }

    #[test]
    fn time_that_is_left_does_not_grow() {
        let limits = Limits::within(Duration::from_secs(100));
        let half = limits.with_part_of_time(0.5, None);
        let left = half.deadline.map(Deadline::left);
        assert!(left.is_some_and(|left| left <= Duration::from_secs(50)));
        let other = Some(Duration::from_secs(7));
        let free = Limits::default().with_part_of_time(0.5, other);
        assert_eq!(free.deadline.map(Deadline::given), other);
        let most = limits.with_path_edges(9).with_path_edges(12).path_edges;
        assert_eq!(most, Some(9));
    }

    #[test]
    fn what_is_said_is_the_number_that_was_hit() {
        let choices = StopReason::TooMany(Countable::Choices, 1 << 20);
        let text = "there are more than 1,048,576 choices in one state";
        assert_eq!(choices.to_string(), text);
        let memory = StopReason::Memory(2_000_000_000);
        assert_eq!(
            memory.to_string(),
            "the memory limit of 2,000 MB was reached"
        );
    }
}
