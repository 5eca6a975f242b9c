//! What a check returns: an answer, with what it took, or why there is none.

use std::fmt;
use std::time::Duration;

use droste_base::{Counterexample, StopReason, Verdict};
use droste_explicit::Stats;
use droste_program::Program;
use droste_program::concurrent::{ConcurrentExecution, Run};
use droste_program::execution::Execution;
use droste_program::schedule::{Bound, Levels};
use droste_symbolic::Stats as SymbolicStats;

use crate::{CriticalLabel, EngineId, Vacuity};

/// Which of the runs that violate a property of infinite runs are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Violators {
    /// One whose stack stays bounded: it is the one that is shown.
    Bounded,
    /// Only such whose stack grows without bound.
    OnlyUnbounded,
    /// One whose stack grows without bound. Whether there are others is not known.
    Unbounded,
}

/// What it took an engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// A search state by state.
    Explicit(Stats),
    /// A search with sets of states.
    Symbolic(SymbolicStats),
    /// The solution of a formula; `images` are its rounds.
    Calculus(SymbolicStats),
    /// post* of a weighted pushdown system; `images` are relations composed.
    Weighted(SymbolicStats),
}

impl Effort {
    /// Path edges of an explicit search; none for others.
    pub fn path_edges(&self) -> u64 {
        match self {
            Effort::Explicit(stats) => stats.path_edges,
            Effort::Symbolic(_) | Effort::Calculus(_) | Effort::Weighted(_) => 0,
        }
    }

    /// What it took an engine that has not begun.
    pub fn none(engine: EngineId) -> Self {
        match engine {
            EngineId::Explicit | EngineId::Tableau => Effort::Explicit(Stats::default()),
            EngineId::Bdd => Effort::Symbolic(SymbolicStats::default()),
            EngineId::Calculus => Effort::Calculus(SymbolicStats::default()),
            EngineId::Wpds => Effort::Weighted(SymbolicStats::default()),
        }
    }

    /// Whether it may be an effort of this engine.
    pub fn is_of(&self, engine: EngineId) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(&Effort::none(engine))
    }
}

/// How far a program with threads has been explored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Explored {
    /// What is counted.
    pub levels: Levels,
    /// With `Violated`: the fewest switches or rounds with which the property is violated. With
    /// `Unknown`: so many have been looked at completely, if any. With `Holds`: the bound, if there
    /// is one.
    pub level: Option<usize>,
    /// Whether a verdict of `Holds` is about all runs, however many switches they have.
    pub exhaustive: bool,
}

impl Explored {
    /// What is known of a program before the search; nothing for one without threads.
    pub fn not_yet(program: &Program, bound: Option<Bound>) -> Option<Self> {
        program.is_concurrent().then(|| Explored {
            levels: bound.map_or(Levels::Switches, Bound::levels),
            level: None,
            exhaustive: false,
        })
    }
}

/// An answer.
#[derive(Clone, Debug)]
pub struct Report {
    /// The verdict. The run of a violation is there, and has been replayed, unless the
    /// [`Evidence`](crate::Evidence) asked for is less.
    pub verdict: Verdict<Counterexample<Run>>,
    /// For a violated property of infinite runs: which runs violate it.
    pub violators: Option<Violators>,
    /// For a program with threads: how far it has been explored.
    pub explored: Option<Explored>,
    /// If critical labels were asked about and a run is shown: what became of each of them.
    pub critical: Vec<CriticalLabel>,
    /// With `Holds`: why that says little, if it does. Where that is not easy to find out, it is left
    /// open.
    pub vacuous: Option<Vacuity>,
    /// Which engine answered.
    pub engine: EngineId,
    /// Whether it had a rival.
    pub raced: bool,
    /// What it took that engine; nothing if it was stopped before its first step.
    pub effort: Option<Effort>,
    /// How long it took, all in all.
    pub time: Duration,
}

impl Report {
    /// Nothing is known but why.
    pub fn stopped(engine: EngineId, reason: StopReason) -> Self {
        Report {
            verdict: Verdict::Unknown(reason),
            violators: None,
            explored: None,
            critical: Vec::new(),
            vacuous: None,
            engine,
            raced: false,
            effort: None,
            time: Duration::ZERO,
        }
    }

    /// The run that violates the property, if it was written down and the program has no threads.
    pub fn execution(&self) -> Option<&Execution> {
        match self.verdict.run()? {
            Run::Sequential(execution) => Some(execution),
            Run::Threads(_) => None,
        }
    }

    /// The run that violates the property, if it was written down and the program has threads.
    pub fn concurrent(&self) -> Option<&ConcurrentExecution> {
        match self.verdict.run()? {
            Run::Threads(execution) => Some(execution),
            Run::Sequential(_) => None,
        }
    }

    /// What it took the explicit engine, if that is the one that answered.
    pub fn explicit_stats(&self) -> Stats {
        match self.effort {
            Some(Effort::Explicit(stats)) => stats,
            _ => Stats::default(),
        }
    }
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The question makes no sense for this program, or cannot be answered yet.
    Refused(String),
    /// A fault of ours: what the engine found is not an execution of the program.
    Wrong(String),
    /// A fault of ours before anything was found: what was made of the program makes no sense.
    Broken(String),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Refused(reason) => f.write_str(reason),
            Fault::Wrong(reason) => write!(
                f,
                "the engine found a violation that does not replay ({reason}); this is a defect in Droste, \
                 please report it together with the program"
            ),
            Fault::Broken(reason) => write!(
                f,
                "what was made of the program makes no sense ({}); this is a defect in Droste, \
                 please report it together with the program",
                reason.trim_end()
            ),
        }
    }
}

impl std::error::Error for Fault {}

/// Why a step on the way to an answer could not be made.
#[derive(Debug)]
pub(crate) enum Halt {
    /// A limit was reached.
    Stopped(StopReason),
    /// There will be no answer.
    Fault(Fault),
}

impl Halt {
    pub(crate) fn refused(reason: impl Into<String>) -> Self {
        Halt::Fault(Fault::Refused(reason.into()))
    }

    pub(crate) fn wrong(reason: impl Into<String>) -> Self {
        Halt::Fault(Fault::Wrong(reason.into()))
    }

    pub(crate) fn broken(reason: impl Into<String>) -> Self {
        Halt::Fault(Fault::Broken(reason.into()))
    }
}

impl From<StopReason> for Halt {
    fn from(reason: StopReason) -> Self {
        Halt::Stopped(reason)
    }
}

/// What an engine has to say, before anything has been replayed.
#[derive(Debug)]
pub(crate) struct Answer<T> {
    pub(crate) found: T,
    pub(crate) engine: EngineId,
    /// Whether it had a rival.
    pub(crate) raced: bool,
    pub(crate) effort: Option<Effort>,
}

impl<T> Answer<T> {
    pub(crate) fn new(found: T, engine: EngineId, effort: Effort) -> Self {
        Answer {
            found,
            engine,
            raced: false,
            effort: Some(effort),
        }
    }

    /// A limit was reached before the engine could begin.
    pub(crate) fn nothing(found: T, engine: EngineId) -> Self {
        Answer {
            found,
            engine,
            raced: false,
            effort: None,
        }
    }
}
