//! Programs with threads, state by state: under a bound on the number of switches or of rounds, or
//! with any number of switches.
//!
//! `docs/CONCURRENCY.md` says what such programs mean. [`search()`] explores the schedules and has
//! `space` explore one thread in one context at a time. It answers with a [`Schedule`], as every
//! engine for threads does. [`rebuild()`] makes a concrete execution of a schedule: one sequential
//! program per thread (`single`), whose runs are cut and put together.
//!
//! The method is that of S. Qadeer and J. Rehof (TACAS 2005); `watch` and `visible` follow P. Liu
//! and T. Wahl (PLDI 2018) where the number of switches is not bounded.
//!
//! What keeps it honest: executions are replayed, so a violation need not be trusted. Which labels
//! are reached, with how many switches, is compared with all interleavings on random programs
//! (`check/tests/concurrent.rs`, `any_switches.rs`, `deadlock_threads.rs`).

mod blocked;
mod rebuild;
mod search;
mod single;
mod space;
mod visible;
mod watch;

use std::time::Instant;

use droste_base::{Limits, Reporter};
use droste_explicit::Stats;
use droste_program::schedule::{Bound, Finding, Levels, Schedule, Target, ThreadQuery};
use droste_unfold::{AllLive, Machine};

pub use rebuild::{FindRun, NotRebuilt, rebuild};

/// How to search.
#[derive(Clone, Default)]
pub struct Options<'a> {
    /// When to give up.
    pub limits: Limits,
    /// Whom to tell about progress.
    pub reporter: Option<Reporter<'a>>,
    /// Told before each number of switches or rounds is tried.
    pub level: Option<&'a dyn Fn(usize)>,
    /// When visible states are watched, if there is no bound.
    pub watching: Watching,
}

/// When visible states are watched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Watching {
    /// When the search has been at work for some time.
    #[default]
    Later,
    /// From the beginning.
    Early,
    /// From the beginning, and what the abstraction says about the target is no answer.
    Alone,
}

/// Searches for the target state by state, with more and more switches or rounds.
pub fn search(query: &ThreadQuery<'_>, options: &Options<'_>) -> (Finding, Stats) {
    guided(query, options, None)
}

/// Searches for the target, along a schedule if there is one.
fn guided(
    query: &ThreadQuery<'_>,
    options: &Options<'_>,
    guide: Option<&Schedule>,
) -> (Finding, Stats) {
    let mut machine = if query.target.stops() {
        Machine::for_stops(query.program, &AllLive)
    } else {
        Machine::new(query.program, &AllLive, query.target.violations())
    };
    let target = machine.ask_control(query.target.nodes(), query.target.violations());
    let task = search::Task {
        query,
        machine: &machine,
        target,
        options,
        guide,
    };
    let start = Instant::now();
    let (finding, mut stats) = match machine.words() {
        1 => search::search::<[u64; 1]>(&task),
        2 => search::search::<[u64; 2]>(&task),
        3 | 4 => search::search::<[u64; 4]>(&task),
        5..=8 => search::search::<[u64; 8]>(&task),
        _ => search::search::<Box<[u64]>>(&task),
    };
    stats.search = start.elapsed();
    (finding, stats)
}

/// A schedule that agrees with `schedule` where that says something, and has a value for every
/// shared global at every switch. It may be shorter, if the target is met earlier.
fn complete(
    query: &ThreadQuery<'_>,
    schedule: &Schedule,
    limits: &Limits,
) -> Result<Schedule, NotRebuilt> {
    let query = ThreadQuery {
        levels: Levels::Switches,
        most: None,
        ..*query
    };
    let mut limits = limits.clone();
    limits.path_edges = None;
    let options = Options {
        limits,
        ..Options::default()
    };
    match guided(&query, &options, Some(schedule)).0 {
        Finding::Hit(schedule, _) => Ok(schedule),
        Finding::Stopped(reason, _) => Err(NotRebuilt::Stopped(reason)),
        Finding::Nothing { .. } => Err(NotRebuilt::Impossible(
            "no run follows the schedule".to_owned(),
        )),
    }
}

/// The question whether a target is met within a bound, or with any number of switches.
pub fn query<'a>(
    program: &'a droste_program::Program,
    target: Target<'a>,
    bound: Option<Bound>,
) -> ThreadQuery<'a> {
    ThreadQuery {
        program,
        target,
        levels: bound.map_or(Levels::Switches, Bound::levels),
        most: bound.map(Bound::most),
    }
}
