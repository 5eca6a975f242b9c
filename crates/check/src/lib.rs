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
mod ltl;
mod minimise;
mod symbolic;

use std::cell::Cell;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use droste_base::{Limits, Reporter, StopReason, Verdict};
use droste_ltl::Tgba;
use droste_program::execution::{Ending, Execution};
use droste_program::labels;
use droste_program::monitor::{Monitor, StateKind};
use droste_program::{NodeId, Program, Proposition};
use droste_replay::{Claim, Halt, Replayer};
use droste_unfold::Gap;

pub use calculus::{Algorithm, formula};
pub use concurrent::{ConcurrentReport, Contexts, Levels, check_concurrent};
pub use droste_explicit::{Order, Stats};
pub use droste_formula::Algorithm as Formulas;
pub use droste_passes::Config as Passes;
pub use droste_symbolic::{Stats as SymbolicStats, Tuning};
pub use ltl::{Automaton, Ltl};

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
    /// Every run satisfies the formula.
    Ltl(Arc<Ltl>),
    /// The automaton accepts no run.
    Automaton(Arc<Automaton>),
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
            Property::Ltl(ltl) => f.write_str(&ltl.text),
            Property::Automaton(automaton) => write!(f, "no run is accepted by {}", automaton.name),
        }
    }
}

/// Which infinite runs count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Runs {
    /// Every one, also those that recurse for ever.
    #[default]
    All,
    /// Those whose stack height stays bounded.
    FiniteStack,
    /// Every one; and if the property is violated, everything that the limits allow is done to find out whether runs of bounded
    /// stack violate it.
    Both,
}

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

/// Who searches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Engine {
    /// State by state, on the fly. Answers every property.
    #[default]
    Explicit,
    /// Sets of states as decision diagrams. Answers everything but monitors with targets.
    Bdd,
    /// The question as a formula of the fixed-point calculus, see [`Options::algorithm`]; reachability only.
    Calculus,
    /// The explicit and the symbolic engine side by side where both can answer.
    Auto,
    /// The tableau of a formula, state by state; temporal logic only.
    Tableau,
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
    /// What is done to show that a violation is one.
    pub evidence: Evidence,
    /// When to give up.
    pub limits: Limits,
    /// Whom to tell about progress.
    pub reporter: Option<Reporter<'a>>,
    /// Called when the explicit engine has an answer, before it writes down a run.
    pub answered: Option<&'a dyn Fn()>,
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
            evidence: Evidence::default(),
            answered: None,
            limits: Limits::default(),
            reporter: None,
        }
    }
}

/// What is done between question and answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// The automaton of a formula is made.
    Translating,
    /// An answer is looked for.
    Searching,
    /// A violation has been found; its run is written down and replayed.
    Writing,
}

/// An answer.
#[derive(Clone, Debug)]
pub struct Report {
    /// The verdict; a violation has been replayed unless that was switched off. [`Report::witness`] is its run.
    pub verdict: Verdict<Execution>,
    /// Whether the run of a violation has been written down.
    pub written: bool,
    /// For a violated property of infinite runs: which runs violate it.
    pub violators: Option<Violators>,
    /// Which engine found it.
    pub engine: &'static str,
    /// Whether it had a rival.
    pub raced: bool,
    /// What it took the explicit engine.
    pub stats: Stats,
    /// What it took the symbolic engine, if that is the one that answered.
    pub symbolic: Option<SymbolicStats>,
    /// If a limit was reached: what was being done.
    pub phase: Phase,
    /// How long it took, all in all.
    pub time: Duration,
    /// What the passes did and the like, for the curious.
    pub notes: Vec<String>,
}

impl Report {
    /// The run that violates the property, if there is one and it has been written down (see [`Evidence`]).
    pub fn witness(&self) -> Option<&Execution> {
        self.verdict.witness().filter(|_| self.written)
    }
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
    let mut guard = options.limits.guard();
    let question = match Question::new(program, property, options)? {
        Ok(question) => question,
        Err(reason) => {
            let engine = match options.engine {
                Engine::Bdd => "bdd",
                Engine::Tableau => "tableau",
                _ => "explicit",
            };
            let mut report = Found::stopped(engine, reason).report(options.limits.timeout, start);
            report.phase = Phase::Translating;
            return Ok(report);
        }
    };
    let large = matches!(question, Question::Ltl(_, None)) && options.engine != Engine::Tableau;
    let answered = Cell::new(false);
    let answer = || {
        answered.set(true);
        if let Some(tell) = options.answered {
            tell();
        }
    };
    let mut instead = options.clone();
    instead.answered = Some(&answer);
    if large {
        // Only what the program makes of the formula is looked at.
        instead.engine = Engine::Tableau;
    }
    let options = &instead;
    let mut found = search_runs(program, &question, options, start)?;
    if large {
        let note = "the automaton of what is looked for is too large: the tableau is used instead";
        found.notes.insert(0, note.to_owned());
    }
    if let Some((automaton, _)) = question.automaton() {
        let note = format!(
            "automaton of what is looked for: {} states, {} edges, {} marks",
            automaton.state_count(),
            automaton.edges().len(),
            automaton.mark_count()
        );
        found.notes.insert(0, note);
    }
    if options.evidence == Evidence::Verdict {
        let mut report = found.report(options.limits.timeout, start);
        report.written = false;
        return Ok(report);
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
    let violators = found.violators;
    let finite = options.runs == Runs::FiniteStack || violators == Some(Violators::Bounded);
    if let Verdict::Violated(Err(gap)) = &found.verdict {
        return Err(Fault::Wrong(format!("no concrete run: {gap:?}")));
    }
    let mut replayer = Replayer::new(program, question.claim(), finite);
    if options.shorten
        && let Verdict::Violated(Ok(execution)) = &mut found.verdict
        && question.is_about_infinite_runs()
    {
        let mut left = MINIMISING;
        minimise::minimise(execution, &mut |candidate| {
            let runs = candidate.runs.iter().map(|run| run.steps.len());
            let steps = candidate.steps.len() + runs.sum::<usize>();
            let cost = question.size().saturating_mul(steps as u64);
            let affordable = cost <= left;
            left = left.saturating_sub(cost);
            affordable && replayer.replay_within(candidate, &mut guard).is_ok()
        });
    }
    if let Verdict::Violated(Ok(execution)) = &found.verdict
        && options.evidence == Evidence::Replayed
    {
        match replayer.replay_within(execution, &mut guard) {
            Ok(()) => {}
            Err(Halt::Stopped(reason)) => found.verdict = Verdict::Unknown(reason),
            Err(Halt::Rejected(rejection)) => return Err(Fault::Wrong(rejection.to_string())),
        }
    }
    let mut report = found.report(options.limits.timeout, start);
    if answered.get() && matches!(report.verdict, Verdict::Unknown(_)) {
        report.phase = Phase::Writing;
    }
    Ok(report)
}

/// Candidates for a shorter lasso are replayed, which takes time in proportion to their length and the size of the formula; all in all so much.
const MINIMISING: u64 = 50_000_000;

/// What an engine found, not yet replayed.
struct Found {
    verdict: Verdict<Result<Execution, Gap>>,
    violators: Option<Violators>,
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
            violators: None,
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

    /// Whether it is a run whose stack grows without bound.
    fn pumps(&self) -> bool {
        let Verdict::Violated(Ok(execution)) = &self.verdict else {
            return false;
        };
        matches!(execution.ending, Ending::Lasso { pumping: true, .. })
    }

    /// The answer, after any replay.
    fn report(self, timeout: Option<Duration>, start: Instant) -> Report {
        let verdict = match self.verdict {
            Verdict::Holds(certificate) => Verdict::Holds(certificate),
            // Later parts were given what was left of the time.
            Verdict::Unknown(StopReason::Time(left)) => {
                Verdict::Unknown(StopReason::Time(timeout.unwrap_or(left)))
            }
            Verdict::Violated(Ok(execution)) => Verdict::Violated(execution),
            Verdict::Unknown(reason) => Verdict::Unknown(reason),
            Verdict::Violated(Err(_)) => Verdict::Unknown(StopReason::Cancelled),
        };
        let violated = matches!(verdict, Verdict::Violated(_));
        Report {
            verdict,
            written: violated,
            violators: self.violators.filter(|_| violated),
            engine: self.engine,
            raced: self.raced,
            stats: self.stats,
            symbolic: self.symbolic,
            phase: Phase::Searching,
            time: start.elapsed(),
            notes: self.notes,
        }
    }
}

/// Searches for the runs that count, and finds out which of them violate the property.
fn search_runs(
    program: &Program,
    question: &Question<'_>,
    options: &Options<'_>,
    start: Instant,
) -> Result<Found, Fault> {
    if !question.is_about_infinite_runs() {
        return search_again(program, question, options, start, explicit::Runs::All);
    }
    let search = |options: &Options<'_>, runs| {
        let mut found = search_again(program, question, options, start, runs)?;
        let bounded = matches!(found.verdict, Verdict::Violated(_)) && !found.pumps();
        found.violators = bounded.then_some(Violators::Bounded);
        Ok(found)
    };
    match options.runs {
        Runs::FiniteStack => search(options, explicit::Runs::FiniteStack),
        Runs::All | Runs::Both => {
            let mut all = search(options, explicit::Runs::All)?;
            if !all.pumps() {
                return Ok(all);
            }
            // A run of bounded stack says more, if there is one.
            let mut further = options.with_time_left(start);
            further.reporter = None;
            if options.runs == Runs::All {
                // And if it is not much harder to find.
                further.limits.contexts = Some((4 * all.stats.contexts).max(MORE_CONTEXTS));
                further.limits.timeout = Some(match further.limits.timeout {
                    Some(left) => left / 2,
                    None => (4 * start.elapsed()).max(MORE_TIME),
                });
            } else if let Some(left) = &mut further.limits.timeout {
                // The run that is known has yet to be replayed.
                *left = *left * 9 / 10;
            }
            let bounded = search(&further, explicit::Runs::FiniteStack)?;
            Ok(match bounded.verdict {
                Verdict::Violated(Ok(_)) => bounded,
                Verdict::Holds(_) => {
                    all.violators = Some(Violators::OnlyUnbounded);
                    all
                }
                _ => {
                    all.violators = Some(Violators::Unbounded);
                    all
                }
            })
        }
    }
}

/// A search for a run of bounded stack, after one has been found whose stack grows, may take so many contexts
const MORE_CONTEXTS: u64 = 100_000;
/// and so much time.
const MORE_TIME: Duration = Duration::from_secs(1);

/// Searches, and if values that do not matter do not repeat, lets them matter.
fn search_again(
    program: &Program,
    question: &Question<'_>,
    options: &Options<'_>,
    start: Instant,
    runs: explicit::Runs,
) -> Result<Found, Fault> {
    let unconcrete = |found: &Found| matches!(found.verdict, Verdict::Violated(Err(Gap::Lasso)));
    let mut found = search(program, question, &options.with_time_left(start), runs)?;
    let mut options = options.with_time_left(start);
    if unconcrete(&found) && options.passes.dead {
        options.passes.dead = false;
        found = search(program, question, &options, runs)?;
    }
    if unconcrete(&found) && matches!(options.engine, Engine::Bdd | Engine::Auto) {
        options = options.with_time_left(start);
        options.engine = Engine::Explicit;
        found = search(program, question, &options, runs)?;
    }
    Ok(found)
}

impl Options<'_> {
    /// The same with what is left of the time that was given at the start.
    fn with_time_left(&self, start: Instant) -> Self {
        let mut options = self.clone();
        if let Some(timeout) = &mut options.limits.timeout {
            *timeout = timeout.saturating_sub(start.elapsed());
        }
        options
    }
}

fn search(
    program: &Program,
    question: &Question<'_>,
    options: &Options<'_>,
    runs: explicit::Runs,
) -> Result<Found, Fault> {
    match options.engine {
        Engine::Explicit | Engine::Tableau => explicit::search(program, question, options, runs),
        Engine::Auto => auto::search(program, question, options, runs),
        Engine::Calculus => calculus::search(program, question, options),
        Engine::Bdd => symbolic::search(program, question, options, runs).ok_or_else(|| {
            Fault::Refused(
                "the bdd engine does not answer questions about monitors with target states; \
                 use --engine explicit"
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
    match explicit::search(program, question, &options, explicit::Runs::All)
        .ok()?
        .verdict
    {
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
    /// A formula, and the automaton of the runs that violate it, unless the tableau is used.
    Ltl(&'a Ltl, Option<Box<Tgba>>),
    Automaton(&'a Automaton),
}

impl<'a> Question<'a> {
    /// The outer result is about the question, the inner one about limits.
    fn new(
        program: &Program,
        property: &'a Property,
        options: &Options<'_>,
    ) -> Result<Result<Self, StopReason>, Fault> {
        let nodes = |labels: &[String]| -> Result<Vec<NodeId>, Fault> {
            let mut nodes = Vec::new();
            for label in labels {
                nodes.extend(labels::find(program, label).map_err(Fault::Refused)?);
            }
            nodes.sort_unstable();
            nodes.dedup();
            Ok(nodes)
        };
        Ok(Ok(match property {
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
            // The tableau does without an automaton.
            Property::Ltl(ltl) if options.engine == Engine::Tableau => Question::Ltl(ltl, None),
            Property::Ltl(ltl) => {
                let needed = options.engine == Engine::Bdd;
                match ltl.violations(needed, &options.limits) {
                    Ok(automaton) => Question::Ltl(ltl, automaton.map(Box::new)),
                    Err(reason) => return Ok(Err(reason)),
                }
            }
            Property::Automaton(automaton) => Question::Automaton(automaton),
        }))
    }

    /// The question of an engine that does not answer those for which an automaton has to be made.
    fn without_limits(program: &Program, property: &'a Property) -> Result<Self, Fault> {
        if matches!(property, Property::Ltl(_) | Property::Automaton(_)) {
            let reason = if program.is_concurrent() {
                "temporal logic and automata are for programs without threads"
            } else {
                "the calculus answers questions about reachability (assertions, --reach); \
                 use --engine auto, explicit or bdd for others"
            };
            return Err(Fault::Refused(reason.to_owned()));
        }
        Question::new(program, property, &Options::default())?
            .map_err(|reason| Fault::Refused(reason.to_string()))
    }

    /// How much there is to look at, at every position.
    fn size(&self) -> u64 {
        match self {
            Question::Ltl(ltl, _) => ltl.meaning.nodes.len() as u64,
            Question::Target(monitor) | Question::Repeating(monitor) => monitor.states.len() as u64,
            Question::Automaton(automaton) => automaton.monitor.states.len() as u64,
            Question::Default(_) | Question::Reach(_) | Question::Repeat(_) => 1,
        }
    }

    fn is_about_infinite_runs(&self) -> bool {
        match self {
            Question::Default(_) | Question::Reach(_) | Question::Target(_) => false,
            Question::Repeat(_)
            | Question::Repeating(_)
            | Question::Ltl(..)
            | Question::Automaton(_) => true,
        }
    }

    /// The propositions that it looks at, at every position.
    fn propositions(&self) -> Vec<&Proposition> {
        match self {
            Question::Target(monitor) | Question::Repeating(monitor) => {
                let edges = monitor.states.iter().flat_map(|state| &state.edges);
                edges.map(|(guard, _)| guard).collect()
            }
            Question::Ltl(ltl, _) => ltl.meaning.propositions.iter().collect(),
            _ => self
                .automaton()
                .map_or_else(Vec::new, |(_, propositions)| propositions.iter().collect()),
        }
    }

    /// The automaton whose runs are searched for, and what its atoms mean.
    fn automaton(&self) -> Option<(&Tgba, &[Proposition])> {
        match self {
            Question::Ltl(ltl, automaton) => {
                Some((automaton.as_deref()?, &ltl.meaning.propositions[..]))
            }
            Question::Automaton(own) => Some((&own.automaton, &own.propositions)),
            _ => None,
        }
    }

    /// What a run that violates the property is said to show.
    fn claim(&self) -> Claim<'_> {
        match self {
            Question::Default(nodes) => Claim::Default(nodes),
            Question::Reach(nodes) => Claim::Reaches(nodes),
            Question::Repeat(nodes) => Claim::Repeats(nodes),
            Question::Target(monitor) => Claim::MonitorTarget(monitor),
            Question::Repeating(monitor) => Claim::MonitorRepeats(monitor),
            Question::Ltl(ltl, _) => Claim::Falsifies(&ltl.meaning),
            Question::Automaton(automaton) => Claim::MonitorRepeats(&automaton.monitor),
        }
    }
}
