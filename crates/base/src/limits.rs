//! Limits on time and memory, and the reasons for which a search stops without an answer.
//!
//! Limits go in, a reason comes out: running out of anything is never an error.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How much a search may use, and who may stop it.
#[derive(Clone, Debug, Default)]
pub struct Limits {
    /// Wall-clock time, counted from [`Limits::guard`].
    pub timeout: Option<Duration>,
    /// Resident memory of the whole process, in bytes.
    pub memory: Option<u64>,
    /// Contexts (pairs of an entry state and a state) that are explored.
    pub contexts: Option<u64>,
    /// Set by somebody else (Ctrl-C) to stop the search.
    pub cancel: Option<Arc<AtomicBool>>,
    /// Set when a rival engine has answered.
    pub rival: Option<Arc<AtomicBool>>,
}

/// Why a search stopped before it knew the answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// The time limit was reached.
    Time(Duration),
    /// The memory limit was reached; in bytes.
    Memory(u64),
    /// The limit on contexts was reached.
    Contexts(u64),
    /// Stopped from outside.
    Cancelled,
    /// One state has more successors than can be stored.
    TooManySuccessors,
    /// More states or contexts than 32-bit ids can name.
    TooManyStates,
    /// A formula has more eventualities than can be kept apart.
    TooManyMarks,
}

impl fmt::Display for StopReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StopReason::Time(limit) => {
                write!(f, "the time limit of {} s was reached", limit.as_secs_f64())
            }
            StopReason::Memory(bytes) => {
                write!(
                    f,
                    "the memory limit of {} MB was reached",
                    bytes / 1_000_000
                )
            }
            StopReason::Contexts(limit) => {
                write!(f, "the limit of {limit} contexts was reached")
            }
            StopReason::Cancelled => f.write_str("interrupted"),
            StopReason::TooManySuccessors => {
                f.write_str("there are more than 16 million choices in one state")
            }
            StopReason::TooManyStates => f.write_str("there are more than 4 billion states"),
            StopReason::TooManyMarks => f.write_str(
                "the formula has more eventualities than can be kept apart, which is 128, or 32 in an automaton or a tableau",
            ),
        }
    }
}

/// Watches over [`Limits`] while a search runs. Cheap enough to ask at every state:
/// the clock is read once in 1024 times, memory ten times a second.
#[derive(Debug)]
pub struct Guard {
    start: Instant,
    limits: Limits,
    ticks: u32,
    next_memory_check: Instant,
}

impl Limits {
    /// Starts the clock.
    pub fn guard(&self) -> Guard {
        let start = Instant::now();
        Guard {
            start,
            limits: self.clone(),
            ticks: 0,
            next_memory_check: start,
        }
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
        for flag in [&self.limits.cancel, &self.limits.rival]
            .into_iter()
            .flatten()
        {
            if flag.load(Ordering::Relaxed) {
                return Err(StopReason::Cancelled);
            }
        }
        if self.limits.timeout.is_none() && self.limits.memory.is_none() {
            return Ok(());
        }
        let now = Instant::now();
        if let Some(timeout) = self.limits.timeout
            && now.duration_since(self.start) >= timeout
        {
            return Err(StopReason::Time(timeout));
        }
        if let Some(limit) = self.limits.memory
            && now >= self.next_memory_check
        {
            self.next_memory_check = now + Duration::from_millis(100);
            if resident_bytes().is_some_and(|used| used > limit) {
                return Err(StopReason::Memory(limit));
            }
        }
        Ok(())
    }

    /// Time since the guard was made.
    pub fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }
}

/// Resident memory of this process, where the system tells (`/proc/self/statm`).
pub fn resident_bytes() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = text.split_ascii_whitespace().nth(1)?.parse().ok()?;
    Some(pages * 4096)
}
