//! Boolean programs as extended weighted pushdown systems: the engine `wpds`.
//!
//! Lal and Reps, *Improving pushdown system model checking* (CAV 2006), called the FWPDS paper
//! here, section 5.2: nMOPED on FWPDS. Control is the stack, data is in the weights.
//!
//! * [`domain`]: weights that are relations between states, as decision diagrams.
//! * [`merge`]: what a caller knows when a callee has returned.
//! * `system`: a program as rules.
//! * `answer`: post* of the start, and what that says about the question.
//! * [`places`]: sets of bits of a state.
//!
//! The engine says whether there is a run. Which one it is, is not known from weights: the run is
//! found by the symbolic engine, which confirms the answer on the way. The engine is compared with
//! the others and with the naive oracle on random programs (`check/tests/engines.rs`).

mod answer;
pub mod domain;
#[cfg(test)]
mod laws;
pub mod merge;
pub mod places;
mod system;

use std::cell::{Cell, RefCell};
use std::time::{Duration, Instant};

use droste_base::{Limits, Reporter, StopReason};
use droste_bdd::Sifter;
pub use droste_pds::Method;
use droste_program::Program;
use droste_program::liveness::Liveness;
pub use droste_relations::Query;
use droste_relations::{Scope, on_worker};

use answer::Answer;
use domain::Tender;

/// How weights are computed. Answers do not depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tuning {
    /// How the weights are found.
    pub method: Method,
    /// A loop is summed up by squaring and step by step, in turns. The first turn may take so many
    /// steps of operations on diagrams.
    pub first_turn: u64,
}

impl Default for Tuning {
    /// Path expressions.
    fn default() -> Self {
        Tuning {
            method: Method::Paths,
            first_turn: 1 << 14,
        }
    }
}

/// How to search.
#[derive(Clone)]
pub struct Options<'a> {
    /// How weights are computed.
    pub tuning: Tuning,
    /// Variables are reordered when the diagrams have this number of nodes.
    pub sift_from: usize,
    /// When to give up.
    pub limits: Limits,
    /// Whom to tell about progress.
    pub reporter: Option<Reporter<'a>>,
}

/// The effort.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Relations composed.
    pub products: u64,
    /// Nodes of the program that were reached.
    pub nodes_reached: u64,
    /// Variables of the diagrams.
    pub variables: u64,
    /// Most nodes that diagrams had at any time, garbage included.
    pub peak_nodes: u64,
    /// Bytes of the diagrams' tables at the end.
    pub bytes: u64,
    /// Reorderings of the variables.
    pub reorderings: u64,
}

/// Whether a target of the query is reachable, and what it took to find out.
pub fn reach(
    program: &Program,
    live: &(dyn Liveness + Sync),
    query: Query<'_>,
    options: &Options<'_>,
) -> (Result<bool, StopReason>, Stats) {
    let (limits, sift_from) = (&options.limits, options.sift_from);
    let first_turn = options.tuning.first_turn;
    let saturation = droste_pds::Options {
        method: options.tuning.method,
        limits: limits.clone(),
        ..droste_pds::Options::default()
    };
    on_worker(program, options.reporter, |report| {
        let mut stats = Stats::default();
        let scope = Scope::new(program, live, query.stops);
        let made = system::system(scope, query, limits, |layout| Tender {
            sifter: RefCell::new(Sifter::new(sift_from)),
            groups: layout.encoding.groups(),
            report,
            next: Cell::new(Instant::now() + Duration::from_millis(200)),
        });
        let found = made.and_then(|(system, domain)| {
            let domain = domain.with_first_turn(first_turn);
            let mut answer = Answer::new(&system, &domain, query);
            let found = answer.find(&saturation);
            stats.nodes_reached = answer.nodes_reached();
            let manager = &system.layout.encoding.manager;
            stats.products = domain.products();
            stats.variables = u64::from(manager.var_count());
            stats.peak_nodes = manager.peak_nodes() as u64;
            stats.bytes = manager.memory_bytes() as u64;
            stats.reorderings = domain.reorderings();
            found
        });
        (found, stats)
    })
}
