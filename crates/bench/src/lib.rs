//! The papers' experiments, with programs of our own making.
//!
//! Each family of programs is a module that writes program text; [`cases::all`] lists what is run
//! with which expectations; `cargo bench -p droste-bench` runs it, each case in a process of its
//! own, and prints one line of tab-separated values per case. See `docs/BENCHMARKS.md`.

pub mod arbiter;
pub mod bluetooth;
pub mod cases;
pub mod driver;
pub mod driver_large;
pub mod fibonacci;
pub mod flip;
pub mod locks;
pub mod measure;
pub mod papers;
pub mod pushdown;
pub mod quicksort;
mod random;
pub mod raw;
pub mod recursion;
pub mod safe_stack;
pub mod sorting;
pub mod symbolic;
pub mod temporal;
pub mod terminator;
pub mod threads;
pub mod turns;
pub mod weighted;
pub mod wide;
pub mod yardsticks;

use std::fmt;

use droste_check::{Engine, Method};

/// What is asked about a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ask {
    /// No assertion fails and no error label is reached.
    Default,
    /// The label is never reached.
    Reach(&'static str),
    /// The label is not visited infinitely often.
    Repeat(&'static str),
    /// The monitor with this text.
    Monitor(&'static str),
    /// Every run satisfies the formula.
    Ltl(&'static str),
    /// Every finite-stack run satisfies the formula.
    FiniteStack(&'static str),
    /// As [`Ask::Default`], for a program with threads and at most this number of switches.
    Switches(usize),
    /// The same for rounds.
    Rounds(usize),
}

impl fmt::Display for Ask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Ask::Default => f.write_str("default"),
            Ask::Reach(label) => write!(f, "reach {label}"),
            Ask::Repeat(label) => write!(f, "repeat {label}"),
            Ask::Switches(most) => write!(f, "{most} switches"),
            Ask::Rounds(most) => write!(f, "{most} rounds"),
            Ask::Ltl(formula) => f.write_str(formula),
            Ask::FiniteStack(formula) => write!(f, "{formula} (finite-stack)"),
            // `monitor NAME {`: the first two words say it.
            Ask::Monitor(text) => {
                f.write_str(&text.split(' ').take(2).collect::<Vec<_>>().join(" "))
            }
        }
    }
}

/// How the engine is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools, reason = "independent switches")]
pub struct Setup {
    /// The engine that searches. [`Engine::Calculus`] solves the better one of its formulas.
    pub engine: Engine,
    /// Breadth first.
    pub bfs: bool,
    /// For [`Engine::Wpds`]: how weights are found; without a method, by both, side by side.
    pub method: Option<Method>,
    /// Values at once instead of on demand.
    pub eager: bool,
    /// The cleaning passes.
    pub passes: bool,
    /// The run of a violation, written down and replayed.
    pub trace: bool,
}

impl Default for Setup {
    fn default() -> Self {
        Setup {
            engine: Engine::Explicit,
            bfs: false,
            method: None,
            eager: false,
            passes: true,
            trace: true,
        }
    }
}

impl fmt::Display for Setup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.engine {
            Engine::Explicit if self.bfs => "explicit bfs",
            Engine::Explicit => "explicit dfs",
            Engine::Bdd => "bdd",
            Engine::Calculus => "calculus",
            Engine::Tableau => "tableau",
            Engine::Wpds => match self.method {
                None => "wpds",
                Some(Method::Paths) => "wpds path",
                Some(Method::Chaotic) => "wpds chaotic",
            },
            Engine::Auto => "auto",
        })?;
        for (said, word) in [
            (self.eager, " eager"),
            (!self.passes, " no-passes"),
            (!self.trace, " no-trace"),
        ] {
            if said {
                f.write_str(word)?;
            }
        }
        Ok(())
    }
}

/// What a case must not exceed to count as met. Verdicts are checked always, these are reported.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Goal {
    /// Seconds.
    pub seconds: Option<f64>,
    /// Seconds of processor time.
    pub cpu: Option<f64>,
    /// Largest resident memory, in MB.
    pub megabytes: Option<f64>,
    /// Path edges.
    pub path_edges: Option<u64>,
    /// Path edges per second, at least.
    pub rate: Option<f64>,
    /// Bytes per path edge.
    pub bytes: Option<f64>,
}

impl Goal {
    /// Whether a measurement meets the goal; `None` if there is none.
    pub fn met(&self, m: &measure::Measurement) -> Option<bool> {
        let checks = [
            self.seconds.map(|most| m.seconds <= most),
            self.cpu.map(|most| m.cpu <= most),
            self.megabytes.map(|most| m.peak_kb as f64 / 1024.0 <= most),
            self.path_edges.map(|most| m.path_edges <= most),
            self.rate
                .map(|least| m.path_edges_per_second().is_some_and(|rate| rate >= least)),
            self.bytes
                .map(|most| m.bytes_per_context().is_some_and(|bytes| bytes <= most)),
        ];
        checks.into_iter().flatten().reduce(|a, b| a && b)
    }
}

/// One run.
#[derive(Clone, Debug)]
pub struct Case {
    /// The family of programs.
    pub family: &'static str,
    /// Which program of the family.
    pub parameter: String,
    /// The question.
    pub ask: Ask,
    /// How.
    pub setup: Setup,
    /// The program.
    pub text: String,
    /// The verdict.
    pub expect: &'static str,
    /// Whether reaching a limit is acceptable: some cases show what is *not* feasible.
    pub may_give_up: bool,
    /// What it should take.
    pub goal: Goal,
    /// What the paper reports.
    pub paper: String,
    /// Whether `--quick` runs it.
    pub quick: bool,
}

impl Case {
    /// A name to select it by.
    pub fn name(&self) -> String {
        format!(
            "{}/{}/{}/{}",
            self.family, self.parameter, self.ask, self.setup
        )
    }
}
