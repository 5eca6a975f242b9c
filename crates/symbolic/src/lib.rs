//! The symbolic engine: control explicit, data in decision diagrams.
//!
//! For each node of the program there is a set of pairs (values at the procedure's entry, values
//! now), as a diagram. For each procedure there is the relation between entry and exit, its
//! summary. This is the entry-forward algorithm of La Torre, Madhusudan and Parlato, *Analyzing
//! Recursive Programs using a Fixed-point Calculus* (PLDI 2009), section 4.2, with the program
//! counter taken out of the relation. Only what is reachable is ever computed, and a call uses a
//! summary as soon as there is one.
//!
//! * The crate `droste_relations` has what a node does to a set, and `control` the order of work.
//! * `search`: the fixed point, procedures along the call graph.
//! * `stuck`: returns that a caller refuses.
//! * `repeat`: infinite runs that an automaton accepts.
//! * `concurrent`: programs with threads.
//! * `trace`: a run to a target. It comes from a second search that goes in rounds and remembers
//!   them; then it is a shortest run. If that search takes too long, another run is taken.
//!
//! What keeps it honest: on random programs, the engine is compared with the naive oracle for every
//! label (`check/tests/engines.rs`), and with the explicit engine for infinite runs
//! (`check/tests/automata.rs`). Every trace is replayed.

pub mod concurrent;
mod control;
pub mod repeat;
mod search;
mod stuck;
mod trace;

pub use droste_base::Runs;
use droste_base::{
    Certificate, Counterexample, Limits, Progress, Reporter, StopReason, Trace, Verdict,
};
use droste_program::Program;
use droste_program::liveness::Liveness;
use droste_program::valued::Valued;
pub use droste_relations::Query;
use droste_relations::on_worker;

/// When effort is made that may or may not pay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tuning {
    /// Variables are reordered when the diagrams have this number of nodes.
    pub sift_from: usize,
    /// The search for a shortest run may take this many times the steps of diagram operations that
    /// the search which found the violation took, and [`shortest_plus`](Self::shortest_plus) more.
    /// When that is not enough, the run shown is one that the first search has followed.
    pub shortest_times: u64,
    /// See [`shortest_times`](Self::shortest_times).
    pub shortest_plus: u64,
    /// With threads: if a thread has more places than this (a place is a node and the calls that
    /// are open below it), runs are represented by tuples instead of configurations. See
    /// [`concurrent`].
    pub most_places: usize,
    /// Before any search for a run, a search state by state may look at this number of path edges,
    /// and at one more for every [`STEPS`] steps of diagram operations that the search which found
    /// the violation took. With nothing here there is no such search.
    pub path_edges: Option<u64>,
    /// With threads: so many steps are made configuration by configuration before there are any
    /// diagrams, and more when there are. With 0 there are diagrams only. See [`concurrent`].
    pub few: u64,
}

/// A search state by state takes about as long for a path edge as diagram operations for so many
/// steps.
pub const STEPS: u64 = 8;

impl Default for Tuning {
    /// Reordering from four million nodes on; well below a second more for the search for a shortest run.
    fn default() -> Self {
        Tuning {
            sift_from: 1 << 22,
            shortest_times: 1,
            shortest_plus: 1 << 21,
            path_edges: Some(1 << 16),
            most_places: (1 << 14) - 1,
            few: 1 << 15,
        }
    }
}

/// The effort.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Images computed: of sets of states under steps, calls and returns.
    pub images: u64,
    /// With threads: configurations that were looked at one by one.
    pub configurations: u64,
    /// Nodes of the program that were reached.
    pub nodes_reached: u64,
    /// Variables of the diagrams.
    pub variables: u64,
    /// Most nodes that diagrams had at any time, garbage included.
    pub peak_nodes: u64,
    /// Bytes of the diagrams' tables at the end.
    pub bytes: u64,
    /// Rounds of the search for a trace.
    pub rounds: u64,
    /// Reorderings of the variables.
    pub reorderings: u64,
}

/// A verdict and what it took.
#[derive(Clone, Debug)]
#[must_use]
pub struct Outcome {
    /// The answer.
    pub verdict: Verdict<Counterexample<Trace<Valued>>>,
    /// The effort.
    pub stats: Stats,
}

/// How to search.
#[derive(Clone, Default)]
pub struct Options<'a> {
    /// When effort is made that may or may not pay.
    pub tuning: Tuning,
    /// When to give up.
    pub limits: Limits,
    /// Whom to tell about progress.
    pub reporter: Option<Reporter<'a>>,
    /// Do not write down the run of a violation.
    pub verdict_only: bool,
    /// For reachability. Told, when a violation has been found, how many steps diagram operations
    /// have taken, and inputs with which some run violates. If the answer is true, somebody else has
    /// the run, and none is written down.
    pub elsewhere: Option<&'a Elsewhere<'a>>,
}

/// Who looks for a run elsewhere, see [`Options::elsewhere`].
pub type Elsewhere<'a> = dyn Fn(u64, &Inputs) -> bool + Sync + 'a;

/// Values of globals that the program never writes, as far as they are known.
pub type Inputs = Vec<Option<i128>>;

/// Whether a target of the query is reachable.
pub fn reach(
    program: &Program,
    live: &(dyn Liveness + Sync),
    query: Query<'_>,
    options: &Options<'_>,
) -> Outcome {
    let work = Work {
        program,
        live,
        query,
        tuning: options.tuning,
        limits: &options.limits,
        verdict_only: options.verdict_only,
        elsewhere: options.elsewhere,
    };
    on_worker(program, options.reporter, |report| {
        let mut stats = Stats::default();
        let verdict = work.decide(report, &mut stats);
        Outcome {
            verdict: verdict.unwrap_or_else(Verdict::Unknown),
            stats,
        }
    })
}

/// A question about reachability, and what may be used to answer it.
struct Work<'a> {
    program: &'a Program,
    live: &'a (dyn Liveness + Sync),
    query: Query<'a>,
    tuning: Tuning,
    limits: &'a Limits,
    verdict_only: bool,
    elsewhere: Option<&'a Elsewhere<'a>>,
}

impl Work<'_> {
    fn decide(
        &self,
        report: &dyn Fn(Progress),
        stats: &mut Stats,
    ) -> Result<Verdict<Counterexample<Trace<Valued>>>, StopReason> {
        let (tuning, limits) = (self.tuning, self.limits);
        let mut search =
            search::Search::new(self.program, self.live, self.query, tuning, limits, report)?;
        let found = search.run();
        search.count(stats);
        let Some((_, goal)) = found? else {
            return Ok(Verdict::Holds(Certificate::default()));
        };
        let steps = search.encoding.manager.steps();
        let elsewhere = || {
            self.elsewhere
                .is_some_and(|ask| ask(steps, &trace::inputs(&search, &goal)))
        };
        let run = if self.verdict_only || elsewhere() {
            None
        } else {
            Some(trace::trace(search, tuning, stats).map_err(StopReason::unwritten)?)
        };
        Ok(Verdict::Violated(Counterexample {
            run,
            pumping: false,
        }))
    }
}
