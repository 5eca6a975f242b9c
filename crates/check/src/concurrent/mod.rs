//! Programs with threads, under a bound on the number of switches or of rounds.
//!
//! `docs/CONCURRENCY.md` says what they mean. In order: `search` goes through the schedules and has `space` explore one
//! thread in one context at a time; what it finds is a [`Schedule`]; `rebuild` makes a concrete
//! execution of that, with one sequential program per thread (`single`); and that is replayed.

mod calculus;
mod rebuild;
mod schedule;
mod search;
mod single;
mod space;
mod symbolic;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use droste_base::{Certificate, StopReason, Verdict};
use droste_program::concurrent::{ConcurrentExecution, unbounded_start};
use droste_program::{NodeId, Program};
use droste_replay::{Bound, ConcurrentClaim, replay_concurrent};
use droste_unfold::{AllLive, Machine};

pub use rebuild::{NotRebuilt, Target, rebuild};
pub use schedule::{Schedule, Start, Turn, shared};

use crate::auto;
use crate::{Engine, Evidence, Fault, Options, Property, Question, Stats, SymbolicStats};
use search::Found;

/// What is bounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Levels {
    /// The number of changes of the active thread.
    Switches,
    /// The number of rounds in which every thread has one turn, in the order of their numbers.
    Rounds,
}

/// How many switches or rounds are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contexts {
    /// At most so many switches.
    Switches(usize),
    /// At most so many rounds.
    Rounds(usize),
    /// More and more switches, until something is found, a limit is reached, or more switches would make no
    /// difference.
    Unbounded,
}

/// An answer about a concurrent program.
#[derive(Clone, Debug)]
pub struct ConcurrentReport {
    /// The verdict; `Holds` is about the bound asked for, unless it is `exhaustive`.
    pub verdict: Verdict<ConcurrentExecution>,
    /// Whether a verdict of `Holds` is about all runs, however many switches they have.
    pub exhaustive: bool,
    /// What is counted.
    pub levels: Levels,
    /// With `Violated`: the fewest switches or rounds with which the property is violated. With `Unknown`: so many have been
    /// looked at completely, if any. With `Holds`: the bound, if there is one.
    pub level: Option<usize>,
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
    /// For the curious.
    pub notes: Vec<String>,
}

/// Answers whether the program has the property within the bound.
///
/// `progress` is told before each number of switches or rounds is looked at.
pub fn check_concurrent(
    program: &Program,
    property: &Property,
    contexts: Contexts,
    options: &Options<'_>,
    progress: Option<&dyn Fn(Levels, usize)>,
) -> Result<ConcurrentReport, Fault> {
    let start = Instant::now();
    let question = Question::without_limits(program, property)?;
    let asked = asked(program, &question, contexts)?;
    let Asked {
        nodes,
        default,
        levels,
        most,
        ..
    } = asked;
    let target = if default {
        Target::Default(nodes)
    } else {
        Target::Reach(nodes)
    };
    let mut answer = match options.engine {
        Engine::Explicit => by_explicit(&asked, options, progress),
        Engine::Bdd => symbolic::search(&asked, &options.limits, options.reporter, progress),
        Engine::Calculus => calculus::search(&asked, options, progress)?,
        Engine::Auto => race(&asked, options, progress, start),
        Engine::Tableau => {
            return Err(Fault::Refused(
                "the tableau is for programs without threads".to_owned(),
            ));
        }
    };
    answer.stats.search = start.elapsed();
    let mut report = ConcurrentReport {
        verdict: Verdict::Holds(Certificate::default()),
        exhaustive: false,
        levels,
        level: most,
        engine: match options.engine {
            Engine::Calculus => "calculus",
            _ if answer.symbolic.is_some() => "bdd",
            _ => "explicit",
        },
        raced: answer.raced,
        stats: answer.stats,
        symbolic: answer.symbolic,
        time: start.elapsed(),
        notes: Vec::new(),
    };
    match answer.found {
        Found::Nothing(exhaustive) => report.exhaustive = exhaustive,
        Found::Stopped(reason, level) => {
            report.verdict = Verdict::Unknown(reason);
            report.level = level;
        }
        Found::Hit(schedule, level) => {
            report.level = Some(level);
            report.verdict = witness(program, &schedule, target, (levels, level), options, start)?;
        }
    }
    report.time = start.elapsed();
    Ok(report)
}

/// Searches for the target, along a schedule if there is one.
fn search(
    program: &Program,
    target: Target<'_>,
    (levels, most): (Levels, Option<usize>),
    options: &Options<'_>,
    progress: LevelProgress<'_>,
    guide: Option<&Schedule>,
) -> (Found, Stats) {
    let (nodes, default) = match target {
        Target::Default(nodes) => (nodes, true),
        Target::Reach(nodes) => (nodes, false),
    };
    let mut machine = Machine::new(program, &AllLive, default);
    let target = machine.ask_control(nodes, default);
    let asked = search::Question {
        program,
        machine: &machine,
        target,
        levels,
        most,
        limits: &options.limits,
        reporter: options.reporter,
        progress,
        guide,
    };
    match machine.words() {
        1 => search::search::<[u64; 1]>(&asked),
        2 => search::search::<[u64; 2]>(&asked),
        3 | 4 => search::search::<[u64; 4]>(&asked),
        5..=8 => search::search::<[u64; 8]>(&asked),
        _ => search::search::<Box<[u64]>>(&asked),
    }
}

/// The schedule of a violation with the fewest switches or rounds, if there is one within the bound: what an
/// engine has to find. [`rebuild()`] makes an execution of it.
pub fn find_schedule(
    program: &Program,
    target: Target<'_>,
    contexts: Contexts,
    options: &Options<'_>,
) -> Result<Option<Schedule>, StopReason> {
    let bound = match contexts {
        Contexts::Switches(most) => (Levels::Switches, Some(most)),
        Contexts::Rounds(most) => (Levels::Rounds, Some(most)),
        Contexts::Unbounded => (Levels::Switches, None),
    };
    match search(program, target, bound, options, None, None).0 {
        Found::Hit(schedule, _) => Ok(Some(schedule)),
        Found::Nothing(_) => Ok(None),
        Found::Stopped(reason, _) => Err(reason),
    }
}

/// A schedule that agrees with `schedule` where that says something, and has a value for every shared global at
/// every switch. It may be shorter, if the target is met earlier.
pub fn complete(
    program: &Program,
    schedule: &Schedule,
    target: Target<'_>,
    options: &Options<'_>,
) -> Result<Schedule, NotRebuilt> {
    let bound = (Levels::Switches, None);
    match search(program, target, bound, options, None, Some(schedule)).0 {
        Found::Hit(schedule, _) => Ok(schedule),
        Found::Stopped(reason, _) => Err(NotRebuilt::Stopped(reason)),
        Found::Nothing(_) => Err(NotRebuilt::Impossible(
            "no run follows the schedule".to_owned(),
        )),
    }
}

/// What is asked of an engine.
struct Asked<'a> {
    program: &'a Program,
    nodes: &'a [NodeId],
    /// Whether violations are looked for.
    default: bool,
    levels: Levels,
    most: Option<usize>,
}

/// What is asked, if it can be answered.
fn asked<'a>(
    program: &'a Program,
    question: &'a Question<'_>,
    contexts: Contexts,
) -> Result<Asked<'a>, Fault> {
    let (nodes, default) = match question {
        Question::Default(nodes) => (&nodes[..], true),
        Question::Reach(nodes) => (&nodes[..], false),
        _ => {
            return Err(Fault::Refused(
                "for programs with threads, only the default property and --reach are supported"
                    .to_owned(),
            ));
        }
    };
    let (levels, most) = match contexts {
        Contexts::Switches(most) => (Levels::Switches, Some(most)),
        Contexts::Rounds(most) => (Levels::Rounds, Some(most)),
        Contexts::Unbounded => (Levels::Switches, None),
    };
    if levels == Levels::Rounds {
        if most == Some(0) {
            return Err(Fault::Refused(
                "there is at least one round: --rounds 1 or more".to_owned(),
            ));
        }
        if let Some(node) = unbounded_start(program) {
            return Err(Fault::Refused(unbounded_rounds(program, node)));
        }
    }
    Ok(Asked {
        program,
        nodes,
        default,
        levels,
        most,
    })
}

/// The question as a formula of the fixed-point calculus.
pub(crate) fn formula(
    program: &Program,
    property: &Property,
    contexts: Contexts,
    options: &Options<'_>,
) -> Result<String, Fault> {
    let question = Question::without_limits(program, property)?;
    let asked = asked(program, &question, contexts)?;
    Ok(calculus::formula(&asked, options)?.text)
}

/// What an engine has found, and what that took.
struct Answer {
    found: Found,
    stats: Stats,
    symbolic: Option<SymbolicStats>,
    /// Whether there was a rival.
    raced: bool,
}

type LevelProgress<'a> = Option<&'a dyn Fn(Levels, usize)>;

fn by_explicit(asked: &Asked<'_>, options: &Options<'_>, progress: LevelProgress<'_>) -> Answer {
    let target = if asked.default {
        Target::Default(asked.nodes)
    } else {
        Target::Reach(asked.nodes)
    };
    let bound = (asked.levels, asked.most);
    let (found, stats) = search(asked.program, target, bound, options, progress, None);
    Answer {
        found,
        stats,
        symbolic: None,
        raced: false,
    }
}

/// A short explicit search; if that is not enough, both engines side by side.
fn race(
    asked: &Asked<'_>,
    options: &Options<'_>,
    progress: LevelProgress<'_>,
    start: Instant,
) -> Answer {
    let limit = options.limits.contexts;
    let mut first = options.clone();
    first.limits.contexts = Some(limit.map_or(auto::FIRST, |limit| limit.min(auto::FIRST)));
    let answer = by_explicit(asked, &first, progress);
    match answer.found {
        Found::Stopped(StopReason::Contexts(contexts), _) if limit != Some(contexts) => {}
        _ => return answer,
    }
    let mut rest = options.clone();
    if let Some(timeout) = &mut rest.limits.timeout {
        *timeout = timeout.saturating_sub(start.elapsed());
    }
    Answer {
        raced: true,
        ..side_by_side(asked, &rest, progress)
    }
}

/// Both engines on a thread each; the first answer wins.
fn side_by_side(asked: &Asked<'_>, options: &Options<'_>, progress: LevelProgress<'_>) -> Answer {
    let stop_explicit = Arc::new(AtomicBool::new(false));
    let stop_symbolic = Arc::new(AtomicBool::new(false));
    let is_answer = |answer: &Answer| !matches!(answer.found, Found::Stopped(..));
    let (ours, theirs) = std::thread::scope(|scope| {
        let stop = Arc::clone(&stop_explicit);
        let mut limits = options.limits.clone();
        limits.rival = Some(Arc::clone(&stop_symbolic));
        let rival = scope.spawn(move || {
            let answer = symbolic::search(asked, &limits, None, None);
            if is_answer(&answer) {
                stop.store(true, Ordering::Relaxed);
            }
            answer
        });
        let mut own = options.clone();
        own.limits.rival = Some(Arc::clone(&stop_explicit));
        own.limits.memory = Some(auto::share(own.limits.memory));
        let answer = by_explicit(asked, &own, progress);
        if is_answer(&answer) {
            stop_symbolic.store(true, Ordering::Relaxed);
        }
        match rival.join() {
            Ok(other) => (answer, other),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    });
    if is_answer(&ours) {
        return ours;
    }
    // Without an answer, the one that got further knows more.
    let level = |answer: &Answer| match answer.found {
        Found::Stopped(_, level) => level,
        _ => Some(usize::MAX),
    };
    if level(&theirs) >= level(&ours) {
        theirs
    } else {
        ours
    }
}

/// The execution that a schedule stands for, replayed.
fn witness(
    program: &Program,
    schedule: &Schedule,
    target: Target<'_>,
    (levels, level): (Levels, usize),
    options: &Options<'_>,
    start: Instant,
) -> Result<Verdict<ConcurrentExecution>, Fault> {
    let mut options = options.clone();
    if let Some(timeout) = &mut options.limits.timeout {
        *timeout = timeout.saturating_sub(start.elapsed());
    }
    let execution = match rebuild(program, schedule, target, &options) {
        Ok(execution) => execution,
        Err(NotRebuilt::Stopped(StopReason::Time(_))) => {
            let limit = options.limits.timeout.unwrap_or_default() + start.elapsed();
            return Ok(Verdict::Unknown(StopReason::Time(limit)));
        }
        Err(NotRebuilt::Stopped(reason)) => return Ok(Verdict::Unknown(reason)),
        Err(NotRebuilt::Impossible(reason)) => return Err(Fault::Wrong(reason)),
    };
    if options.evidence == Evidence::Replayed {
        let bound = match levels {
            Levels::Switches => Bound::Switches(level),
            Levels::Rounds => Bound::Rounds(level),
        };
        let claim = match target {
            Target::Reach(nodes) => ConcurrentClaim::Reaches(nodes),
            Target::Default(nodes) => ConcurrentClaim::Default(nodes),
        };
        replay_concurrent(program, &execution, Some(claim), Some(bound))
            .map_err(|rejection| Fault::Wrong(rejection.to_string()))?;
    }
    Ok(Verdict::Violated(execution))
}

fn unbounded_rounds(program: &Program, node: NodeId) -> String {
    let procedure = &program.procedure(program.node(node).procedure).name;
    format!(
        "--rounds needs a number of threads that the program's text bounds, but a `start_thread` in \
         `{procedure}` may be executed again and again; --contexts has no such condition"
    )
}
