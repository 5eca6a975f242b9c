//! From a question about a program to an answer one can rely on.
//!
//! [`check`] cleans the program for the question, has an engine search it, turns the
//! engine's trace into a concrete execution of the program as it was written, and has that
//! replayed by an interpreter that shares nothing with the engine. Only then is a violation a
//! verdict.

mod auto;
mod calculus;
pub mod concurrent;
mod explicit;
mod symbolic;

use std::fmt;
use std::time::{Duration, Instant};

use droste_base::{Guard, Limits, Reporter, StopReason, Verdict};
use droste_lang::execution::{Ending, Execution};
use droste_lang::labels;
use droste_lang::monitor::{Monitor, StateKind};
use droste_lang::program::{NodeId, Program};
use droste_replay::{Claim, Halt, replay_within};
use droste_unfold::Gap;

pub use calculus::{Algorithm, formula};
pub use concurrent::{ConcurrentReport, Contexts, Levels, check_concurrent};
pub use droste_explicit::{Order, Runs, Stats};
pub use droste_formula::Algorithm as Formulas;
pub use droste_passes::Config as Passes;
pub use droste_symbolic::{Stats as SymbolicStats, Tuning};

/// The labels that the default property asks about.
pub const ERROR_LABELS: [&str; 2] = ["ERROR", "SLIC_ERROR"];

/// What is asked about a program.
#[derive(Clone, Debug)]
pub enum Property {
    /// No assertion fails, no value leaves its range, nothing is divided by zero, and none of
    /// [`ERROR_LABELS`] is reached.
    Default,
    /// None of these labels is reached. `LABEL` in any procedure, or `PROC:LABEL`.
    Reach(Vec<String>),
    /// No run visits these labels infinitely often.
    Repeat(Vec<String>),
    /// The monitor reaches no target, or visits its repeating states only finitely often.
    Monitor(Monitor),
}

impl fmt::Display for Property {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Property::Default => f.write_str("no assertion fails and no error label is reached"),
            Property::Reach(labels) => write!(f, "{} is never reached", labels.join(" or ")),
            Property::Repeat(labels) => {
                write!(f, "{} is not visited infinitely often", labels.join(" or "))
            }
            Property::Monitor(monitor) => write!(f, "monitor {}", monitor.name),
        }
    }
}

/// Who searches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Engine {
    /// State by state, on the fly. Answers every property.
    #[default]
    Explicit,
    /// Sets of states as decision diagrams; reachability only.
    Bdd,
    /// The question as a formula of the fixed-point calculus, see [`Options::algorithm`]; reachability only.
    Calculus,
    /// The explicit and the symbolic engine side by side where both can answer.
    Auto,
}

/// How to search.
#[derive(Clone)]
pub struct Options<'a> {
    /// Who searches.
    pub engine: Engine,
    /// The formulas that [`Engine::Calculus`] solves.
    pub algorithm: Algorithm,
    /// The order of the search for reachability.
    pub order: Order,
    /// Whether a run that depth-first search has found is exchanged for a shortest one, if a second
    /// search can find that with little more effort.
    pub shorten: bool,
    /// Which infinite runs count.
    pub runs: Runs,
    /// Which cleaning passes are made.
    pub passes: Passes,
    /// Give every variable a value at once instead of when it is read: slower, never better;
    /// there to be compared with.
    pub eager: bool,
    /// When [`Engine::Bdd`] makes effort that may or may not pay.
    pub tuning: Tuning,
    /// Whether violations are replayed.
    pub replay: bool,
    /// When to give up.
    pub limits: Limits,
    /// Whom to tell about progress.
    pub reporter: Option<Reporter<'a>>,
}

impl Default for Options<'_> {
    fn default() -> Self {
        Options {
            engine: Engine::default(),
            algorithm: Algorithm::default(),
            order: Order::default(),
            shorten: true,
            runs: Runs::default(),
            passes: Passes::default(),
            eager: false,
            tuning: Tuning::default(),
            replay: true,
            limits: Limits::default(),
            reporter: None,
        }
    }
}

/// An answer.
#[derive(Clone, Debug)]
pub struct Report {
    /// The verdict; a violation has been replayed unless that was switched off.
    pub verdict: Verdict<Execution>,
    /// Which engine found it.
    pub engine: &'static str,
    /// Whether it had a rival.
    pub raced: bool,
    /// What it took the explicit engine.
    pub stats: Stats,
    /// What it took the symbolic engine, if that is the one that answered.
    pub symbolic: Option<SymbolicStats>,
    /// How long it took, all in all.
    pub time: Duration,
    /// What the passes did and the like, for the curious.
    pub notes: Vec<String>,
}

/// Why there is no answer.
#[derive(Clone, Debug)]
pub enum Fault {
    /// The question makes no sense for this program, or cannot be answered yet.
    Refused(String),
    /// A fault of ours: what the engine found is not an execution of the program.
    Wrong(String),
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
        }
    }
}

impl std::error::Error for Fault {}

/// Answers whether `program` has the property.
pub fn check(
    program: &Program,
    property: &Property,
    options: &Options<'_>,
) -> Result<Report, Fault> {
    let start = Instant::now();
    if program.is_concurrent() {
        return Err(Fault::Refused(
            "the program has threads: it is checked for a number of switches or rounds, see `check_concurrent`"
                .to_owned(),
        ));
    }
    let question = Question::new(program, property)?;
    let mut guard = options.limits.guard();
    let mut found = search(program, &question, options)?;
    if matches!(found.verdict, Verdict::Violated(Err(Gap::Lasso))) && options.passes.dead {
        // Values that do not matter did not repeat: let them matter.
        let mut options = options.clone();
        options.passes.dead = false;
        if let Some(timeout) = &mut options.limits.timeout {
            *timeout = timeout.saturating_sub(start.elapsed());
        }
        found = explicit::search(program, &question, &options);
    }
    if options.shorten
        && found.engine == "explicit"
        && options.order == Order::Dfs
        && let Verdict::Violated(Ok(long)) = &found.verdict
        && long.length() > SHORT
        && !matches!(long.ending, Ending::Lasso { .. } | Ending::Terminated)
        && let Some(short) = shorten(program, &question, options, &found, start)
    {
        found.verdict = Verdict::Violated(Ok(short));
    }
    let verdict = match found.verdict {
        Verdict::Holds(certificate) => Verdict::Holds(certificate),
        // Later parts were given what was left of the time.
        Verdict::Unknown(StopReason::Time(left)) => {
            Verdict::Unknown(StopReason::Time(options.limits.timeout.unwrap_or(left)))
        }
        Verdict::Unknown(reason) => Verdict::Unknown(reason),
        Verdict::Violated(Err(gap)) => {
            return Err(Fault::Wrong(format!("no concrete run: {gap:?}")));
        }
        Verdict::Violated(Ok(execution)) => {
            if options.replay {
                match question.replay(program, &execution, options.runs, &mut guard) {
                    Ok(()) => Verdict::Violated(execution),
                    Err(Halt::Stopped(reason)) => Verdict::Unknown(reason),
                    Err(Halt::Rejected(rejection)) => {
                        return Err(Fault::Wrong(rejection.to_string()));
                    }
                }
            } else {
                Verdict::Violated(execution)
            }
        }
    };
    Ok(Report {
        verdict,
        engine: found.engine,
        raced: found.raced,
        stats: found.stats,
        symbolic: found.symbolic,
        time: start.elapsed(),
        notes: found.notes,
    })
}

/// What an engine found, not yet replayed.
struct Found {
    verdict: Verdict<Result<Execution, Gap>>,
    engine: &'static str,
    /// Whether it had a rival.
    raced: bool,
    stats: Stats,
    symbolic: Option<SymbolicStats>,
    notes: Vec<String>,
}

impl Found {
    /// A limit was reached before the search began.
    fn stopped(engine: &'static str, reason: StopReason) -> Self {
        Found {
            verdict: Verdict::Unknown(reason),
            engine,
            raced: false,
            stats: Stats::default(),
            symbolic: None,
            notes: Vec::new(),
        }
    }

    fn is_answer(&self) -> bool {
        !matches!(self.verdict, Verdict::Unknown(_))
    }
}

fn search(
    program: &Program,
    question: &Question<'_>,
    options: &Options<'_>,
) -> Result<Found, Fault> {
    match options.engine {
        Engine::Explicit => Ok(explicit::search(program, question, options)),
        Engine::Auto => Ok(auto::search(program, question, options)),
        Engine::Calculus => calculus::search(program, question, options),
        Engine::Bdd => symbolic::search(program, question, options).ok_or_else(|| {
            Fault::Refused(
                "the bdd engine answers questions about reachability (assertions, --reach); \
                 use --engine explicit for --repeat and --monitor"
                    .to_owned(),
            )
        }),
    }
}

/// A run of at most this many steps is short enough.
const SHORT: u64 = 20;

/// A shortest run, if breadth-first search finds one among not many more contexts than the
/// first search has looked at.
fn shorten(
    program: &Program,
    question: &Question<'_>,
    options: &Options<'_>,
    found: &Found,
    start: Instant,
) -> Option<Execution> {
    let mut options = options.clone();
    options.order = Order::Bfs;
    options.reporter = None;
    options.limits.contexts = Some((2 * found.stats.contexts).max(100_000));
    // The run that is known has yet to be replayed.
    if let Some(timeout) = &mut options.limits.timeout {
        *timeout = timeout.saturating_sub(start.elapsed()) / 2;
    }
    match explicit::search(program, question, &options).verdict {
        Verdict::Violated(Ok(short)) => Some(short),
        _ => None,
    }
}

/// A property whose names have been resolved.
enum Question<'a> {
    Default(Vec<NodeId>),
    Reach(Vec<NodeId>),
    Repeat(Vec<NodeId>),
    Target(&'a Monitor),
    Repeating(&'a Monitor),
}

impl<'a> Question<'a> {
    fn new(program: &Program, property: &'a Property) -> Result<Self, Fault> {
        let nodes = |labels: &[String]| -> Result<Vec<NodeId>, Fault> {
            let mut nodes = Vec::new();
            for label in labels {
                nodes.extend(labels::find(program, label).map_err(Fault::Refused)?);
            }
            nodes.sort_unstable();
            nodes.dedup();
            Ok(nodes)
        };
        Ok(match property {
            Property::Default => {
                let is_error = |label: &std::sync::Arc<str>| ERROR_LABELS.contains(&label.as_ref());
                let nodes = program.nodes.iter().enumerate();
                let nodes = nodes.filter(|(_, node)| node.labels.iter().any(is_error));
                Question::Default(nodes.map(|(i, _)| NodeId(i as u32)).collect())
            }
            Property::Reach(labels) => Question::Reach(nodes(labels)?),
            Property::Repeat(labels) => Question::Repeat(nodes(labels)?),
            Property::Monitor(monitor) => {
                if monitor
                    .states
                    .iter()
                    .any(|state| state.kind == StateKind::Target)
                {
                    Question::Target(monitor)
                } else {
                    Question::Repeating(monitor)
                }
            }
        })
    }

    fn replay(
        &self,
        program: &Program,
        execution: &Execution,
        runs: Runs,
        guard: &mut Guard,
    ) -> Result<(), Halt> {
        let claim = match self {
            Question::Default(nodes) => Claim::Default(nodes),
            Question::Reach(nodes) => Claim::Reaches(nodes),
            Question::Repeat(nodes) => Claim::Repeats(nodes),
            Question::Target(monitor) => Claim::MonitorTarget(monitor),
            Question::Repeating(monitor) => Claim::MonitorRepeats(monitor),
        };
        replay_within(program, execution, claim, runs == Runs::FiniteStack, guard)
    }
}
