//! How to search: the engine, its options, bounds and limits.

use std::fmt;
use std::time::Duration;

use droste_base::{Limits, Reporter, Runs};
use droste_explicit::Order;
use droste_passes::Config as Passes;
use droste_program::schedule::{Bound, Levels};
use droste_symbolic::Tuning;

use crate::{Algorithm, Effort, Weighing};

/// An engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EngineId {
    /// State by state, on the fly. Answers every property of programs without threads; with threads,
    /// reachability and deadlocks.
    Explicit,
    /// Sets of states as decision diagrams. Answers everything but monitors with targets and critical
    /// labels; with threads, reachability.
    Bdd,
    /// The question as a formula of the fixed-point calculus; reachability only.
    Calculus,
    /// The tableau of a formula, state by state; temporal logic only.
    Tableau,
    /// A weighted pushdown system over relations; reachability and runs that get stuck.
    Wpds,
}

impl EngineId {
    /// Its name on the command line and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            EngineId::Explicit => "explicit",
            EngineId::Bdd => "bdd",
            EngineId::Calculus => "calculus",
            EngineId::Tableau => "tableau",
            EngineId::Wpds => "wpds",
        }
    }
}

impl fmt::Display for EngineId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Who searches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Engine {
    /// The explicit and the symbolic engine side by side, where both can answer.
    #[default]
    Auto,
    /// [`EngineId::Explicit`] alone.
    Explicit,
    /// [`EngineId::Bdd`] alone.
    Bdd,
    /// [`EngineId::Calculus`], see [`Options::algorithm`].
    Calculus,
    /// [`EngineId::Tableau`].
    Tableau,
    /// [`EngineId::Wpds`], see [`Options::weighing`].
    Wpds,
}

impl Engine {
    /// The engine that is at work if it has told of this effort. Of [`Engine::Auto`] it may be
    /// any.
    pub fn at_work(self, effort: Option<&Effort>) -> EngineId {
        let rivals = [EngineId::Bdd, EngineId::Calculus, EngineId::Wpds];
        let told = |engine: &EngineId| effort.is_some_and(|effort| effort.is_of(*engine));
        match self {
            Engine::Auto => rivals.into_iter().find(told).unwrap_or(self.first()),
            _ => self.first(),
        }
    }

    /// The engine that begins.
    pub fn first(self) -> EngineId {
        match self {
            Engine::Auto | Engine::Explicit => EngineId::Explicit,
            Engine::Bdd => EngineId::Bdd,
            Engine::Calculus => EngineId::Calculus,
            Engine::Tableau => EngineId::Tableau,
            Engine::Wpds => EngineId::Wpds,
        }
    }
}

/// What is done to show that a violation is one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Evidence {
    /// Nothing: only the verdict counts. Saves most of the time and memory where runs are very long.
    Verdict,
    /// Its run is written down.
    Written,
    /// Its run is written down, and replayed by an interpreter that shares nothing with the engine.
    #[default]
    Replayed,
}

/// How to search.
#[derive(Clone)]
pub struct Options<'a> {
    /// Who searches.
    pub engine: Engine,
    /// With [`Engine::Auto`]: the race begins when the explicit engine has found so many path edges.
    pub trial: u64,
    /// The formulas that the calculus solves.
    pub algorithm: Algorithm,
    /// How the weights of a pushdown system are computed.
    pub weighing: Weighing,
    /// The order of the explicit search for reachability.
    pub order: Order,
    /// Whether a run that was found is exchanged for a shorter one, if that can be found with little
    /// more effort.
    pub shorten: bool,
    /// Which infinite runs count.
    pub runs: Runs,
    /// If all infinite runs count and the property is violated: whether everything that the limits
    /// allow is done to find out if runs of bounded stack violate it. Otherwise a moderate effort is
    /// made.
    pub tell_apart: bool,
    /// For programs with threads: how many switches or rounds are looked at; `None` for more and
    /// more switches, until something is found, a limit is reached, or more switches would make no
    /// difference.
    pub bound: Option<Bound>,
    /// Which cleaning passes are made.
    pub passes: Passes,
    /// Give every variable a value at once instead of when it is read: slower, never better;
    /// there to be compared with.
    pub eager: bool,
    /// When the symbolic engine makes effort that may or may not pay.
    pub tuning: Tuning,
    /// What is done to show that a violation is one.
    pub evidence: Evidence,
    /// How long it may take, after `holds`, to find out whether any run was at stake
    /// ([`Report::vacuous`](crate::Report::vacuous)).
    pub vacuity: Duration,
    /// When to give up.
    pub limits: Limits,
    /// Whom to tell about progress.
    pub reporter: Option<Reporter<'a>>,
    /// Told what is being done, when it is done.
    pub log: Option<&'a dyn Fn(&str)>,
    /// For programs with threads: told before each number of switches or rounds is looked at.
    pub level: Option<&'a dyn Fn(Levels, usize)>,
    /// Called when a violation has been found, before its run is written down.
    pub answered: Option<&'a dyn Fn()>,
}

impl Default for Options<'_> {
    fn default() -> Self {
        Options {
            engine: Engine::default(),
            trial: 20_000,
            algorithm: Algorithm::default(),
            weighing: Weighing::default(),
            order: Order::default(),
            shorten: true,
            runs: Runs::default(),
            tell_apart: false,
            bound: None,
            passes: Passes::default(),
            eager: false,
            tuning: Tuning::default(),
            evidence: Evidence::default(),
            vacuity: Duration::from_millis(100),
            limits: Limits::default(),
            reporter: None,
            log: None,
            level: None,
            answered: None,
        }
    }
}

impl Options<'_> {
    /// Says what is being done.
    pub(crate) fn log(&self, message: &str) {
        if let Some(log) = self.log {
            log(message);
        }
    }

    /// A violation has been found.
    pub(crate) fn answer(&self) {
        if let Some(answered) = self.answered {
            answered();
        }
    }
}
