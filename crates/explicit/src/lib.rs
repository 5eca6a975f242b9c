//! On-the-fly search over any [`Model`](droste_base::Model).
//!
//! * [`reach()`]: is a state with a given proposition reachable? REACHABILITY of Alur,
//!   Chaudhuri, Etessami and Madhusudan (TACAS 2005), section 3, Fig. 2.
//! * [`stuck()`]: can a run get stuck, with no step possible before its end? The same search.
//! * [`repeat()`]: is there an infinite run that meets given propositions infinitely often?
//!   FAIR-CYCLE-DETECT, section 4, in a single depth-first search.
//! * [`Goal::Touch`]: which run to a target touches the most marks? The first search again.
//!
//! [`search()`] answers every kind of question with these: see [`Goal`]. [`explore()`] gives all
//! state spaces instead.
//!
//! All explore *path edges*: pairs of an entry state and a state reachable from it within the
//! procedure (type `Context` in the code). All stop as soon as they know the answer. None uses the
//! native stack for its search.
//!
//! What keeps it honest: on random recursive state machines the searches are compared with a naive
//! oracle (`tests/random.rs`), and on random programs with another one
//! (`check/tests/differential.rs`). Every run that is found is replayed.

mod chain;
mod cycle;
mod goal;
mod lasso;
mod path;
mod reach;
mod shorten;
mod spaces;
mod stuck;
mod tables;
mod touch;

use std::time::Duration;

use droste_base::{Counterexample, Limits, Reporter, Trace, Verdict};

pub use cycle::repeat;
pub use droste_base::Runs;
pub use goal::{Goal, search, search_and_replay};
pub use reach::reach;
pub use spaces::{Space, Spaces, TopLevel, explore};
pub use stuck::stuck;
pub use touch::{MOST_TOUCHED, Mark, Tour};

/// In which order path edges are explored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// Depth first: the last path edge found is expanded first. Finds deep bugs with little work.
    #[default]
    Dfs,
    /// By the number of steps from the start of the run: the trace is a shortest one, counting
    /// every step inside called procedures.
    Bfs,
}

/// Progress is told every 2 to the power of so many steps. The steps of some models take long.
pub(crate) const REPORTED: u32 = 12;

/// How to search.
#[derive(Clone, Default)]
pub struct Options<'a> {
    /// The order of [`reach()`] and [`stuck()`]; [`repeat()`] is always depth first.
    pub order: Order,
    /// When to give up.
    pub limits: Limits,
    /// Whom to tell about progress.
    pub reporter: Option<Reporter<'a>>,
    /// Do not write down the run of a violation.
    pub verdict_only: bool,
    /// Called as soon as there is an answer, before a trace is built.
    pub answered: Option<&'a dyn Fn()>,
}

impl Options<'_> {
    /// There is an answer.
    fn answer(&self) {
        if let Some(answered) = self.answered {
            answered();
        }
    }
}

/// The most marks, of what has to happen again and again, that [`repeat()`] can keep apart.
pub const MOST_MARKS: usize = 32;

/// What a search explored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Path edges found: pairs of an entry state and a state.
    pub path_edges: u64,
    /// Distinct states found.
    pub states: u64,
    /// Entry states found.
    pub entries: u64,
    /// Summaries (pairs of entry and exit) found.
    pub summaries: u64,
    /// Bytes of the tables at the end.
    pub bytes: u64,
    /// How long the search took until the answer was known. A trace is built after that.
    pub search: Duration,
    /// Of [`repeat()`]: whether some run ended for which the model gives no
    /// [terminated](droste_base::Model::terminated) state. The answer is not about such runs.
    pub ended: bool,
}

impl Stats {
    /// What this search and a later one took together.
    fn and(self, later: Stats) -> Stats {
        Stats {
            path_edges: self.path_edges + later.path_edges,
            states: self.states + later.states,
            entries: self.entries + later.entries,
            summaries: self.summaries + later.summaries,
            bytes: self.bytes.max(later.bytes),
            search: self.search + later.search,
            ended: self.ended || later.ended,
        }
    }
}

/// A verdict and what it took.
#[derive(Clone, Debug)]
#[must_use]
pub struct Outcome<S> {
    /// The answer.
    pub verdict: Verdict<Counterexample<Trace<S>>>,
    /// The effort.
    pub stats: Stats,
}

impl<S> Outcome<S> {
    /// The same outcome with other states.
    pub fn map<T>(self, f: impl Fn(S) -> T) -> Outcome<T> {
        Outcome {
            verdict: self
                .verdict
                .map(|violation| violation.map(|trace| trace.map(f))),
            stats: self.stats,
        }
    }
}
