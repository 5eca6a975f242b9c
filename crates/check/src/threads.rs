//! Programs with threads. One engine searches, or two race. The schedule that is found becomes an
//! execution, which is replayed.
//!
//! What keeps it honest: `tests/concurrent.rs` and `tests/any_switches.rs` compare the answers with all
//! interleavings.

use std::time::Duration;

use droste_base::{Certificate, Counterexample, Limits, Runs, StopReason, Verdict};
use droste_calculus::{Unanswered, load_text};
use droste_explicit::Order;
use droste_formula::Relations;
use droste_program::concurrent::{ConcurrentExecution, unbounded_start};
use droste_program::execution::Execution;
use droste_program::schedule::{Bound, Finding, Levels, Schedule, Target, ThreadQuery};
use droste_program::{NodeId, Program};
use droste_replay::{ConcurrentClaim, replay_concurrent};
use droste_symbolic::concurrent::{Begun, News, Obstacle, begin, reach};
use droste_threads::NotRebuilt;

use crate::calculus::{answer_stats, most_levels, solve, threads_formula};
use crate::prepared::Prepared;
use crate::property::Resolved;
use crate::race::{Contender, side_by_side};
use crate::report::{Answer, Halt};
use crate::vacuity::vacuity_of_threads;
use crate::{Effort, Engine, EngineId, Evidence, Explored, Options, Report, Run, sequential};

impl Contender for Answer<Finding> {
    fn stopped(&self) -> Option<&StopReason> {
        match &self.found {
            Finding::Stopped(reason, _) => Some(reason),
            _ => None,
        }
    }

    /// The one that got further knows more.
    fn neither(self, other: Self, reason: StopReason) -> Self {
        let level = |answer: &Self| match answer.found {
            Finding::Stopped(_, level) => level,
            _ => None,
        };
        let mut further = if level(&other) >= level(&self) {
            other
        } else {
            self
        };
        if let Finding::Stopped(why, _) = &mut further.found {
            *why = reason;
        }
        further
    }

    fn raced(&mut self) {
        self.raced = true;
    }
}

/// What is asked, if it can be answered for threads.
pub(crate) fn query<'a>(
    prepared: &'a Prepared<'_>,
    options: &Options<'_>,
) -> Result<ThreadQuery<'a>, Halt> {
    let target = match &prepared.question {
        Resolved::Default(nodes) => Target::Default(nodes),
        Resolved::Reach(nodes) => Target::Reach(nodes),
        Resolved::Deadlock(nodes) => Target::Stuck(nodes),
        Resolved::Critical(..) => {
            return Err(Halt::refused("--critical is for programs without threads"));
        }
        Resolved::Ltl(..) | Resolved::Automaton(_) => {
            return Err(Halt::refused(
                "temporal logic and automata are for programs without threads",
            ));
        }
        _ => {
            return Err(Halt::refused(
                "for programs with threads, only the default property, --reach and --deadlock are \
                 supported",
            ));
        }
    };
    let query = droste_threads::query(prepared.program, target, options.bound);
    if query.levels == Levels::Rounds {
        if query.most == Some(0) {
            return Err(Halt::refused(
                "there is at least one round: --rounds 1 or more",
            ));
        }
        if let Some(node) = unbounded_start(prepared.program) {
            return Err(Halt::refused(unbounded_rounds(prepared.program, node)));
        }
    }
    Ok(query)
}

fn unbounded_rounds(program: &Program, node: NodeId) -> String {
    let procedure = &program.procedure(program.node(node).procedure).name;
    format!(
        "--rounds needs a number of threads that the program's text bounds, but a `start_thread` in \
         `{procedure}` may be executed again and again; --contexts has no such condition"
    )
}

/// Answers the question.
pub(crate) fn answer(prepared: &Prepared<'_>, options: &Options<'_>) -> Result<Report, Halt> {
    let query = query(prepared, options)?;
    options.log("searching");
    let answer = match options.engine {
        Engine::Wpds => {
            return Err(Halt::refused(
                "the wpds engine is for programs without threads; use --engine auto, explicit or bdd",
            ));
        }
        Engine::Tableau => {
            return Err(Halt::refused("the tableau is for programs without threads"));
        }
        // Nothing that could go wrong.
        _ if matches!(query.target, Target::Default([])) && !query.program.can_fail() => {
            let found = Finding::Nothing { exhaustive: true };
            Answer::nothing(found, options.engine.first())
        }
        Engine::Auto | Engine::Explicit if query.target.stops() => {
            by_explicit(&query, options, &options.limits)
        }
        Engine::Bdd | Engine::Calculus if query.target.stops() => {
            return Err(Halt::refused(
                "--deadlock with threads is answered by the explicit engine alone; use --engine \
                 explicit, or none",
            ));
        }
        Engine::Explicit => by_explicit(&query, options, &options.limits),
        Engine::Bdd => by_sets(&query, options, &options.limits),
        Engine::Calculus => by_formula(&query, options)?,
        Engine::Auto => by_both(&query, options)?,
    };
    let mut explored = Explored {
        levels: query.levels,
        level: query.most,
        exhaustive: false,
    };
    let verdict = match answer.found {
        Finding::Nothing { exhaustive } => {
            explored.exhaustive = exhaustive;
            Verdict::Holds(Certificate::default())
        }
        Finding::Stopped(reason, level) => {
            explored.level = level;
            Verdict::Unknown(reason)
        }
        Finding::Hit(schedule, level) => {
            explored.level = Some(level);
            options.answer();
            witness(&query, &schedule, level, options)?
        }
    };
    let vacuous = match &verdict {
        Verdict::Holds(_) => vacuity_of_threads(prepared, options),
        _ => None,
    };
    Ok(Report {
        verdict: verdict.map(|run| Counterexample {
            run: run.map(Run::Threads),
            pumping: false,
        }),
        violators: None,
        explored: Some(explored),
        critical: Vec::new(),
        vacuous,
        engine: answer.engine,
        raced: answer.raced,
        effort: answer.effort,
        time: Duration::ZERO,
    })
}

fn by_explicit(query: &ThreadQuery<'_>, options: &Options<'_>, limits: &Limits) -> Answer<Finding> {
    let tell = |level: usize| {
        if let Some(tell) = options.level {
            tell(query.levels, level);
        }
    };
    let search = droste_threads::Options {
        limits: limits.clone(),
        reporter: options.reporter,
        level: Some(&tell),
        watching: droste_threads::Watching::default(),
    };
    let (found, stats) = droste_threads::search(query, &search);
    Answer::new(found, EngineId::Explicit, Effort::Explicit(stats))
}

/// What is heard of the symbolic engine.
fn listener<'a>(query: &'a ThreadQuery<'_>, options: &'a Options<'_>) -> impl FnMut(News) + 'a {
    move |news| match (news, options.reporter, options.level) {
        (News::Progress(now), Some(reporter), _) => reporter(now),
        (News::Level(level), _, Some(tell)) => tell(query.levels, level),
        _ => {}
    }
}

fn by_sets(query: &ThreadQuery<'_>, options: &Options<'_>, limits: &Limits) -> Answer<Finding> {
    let (found, stats) = reach(query, options.tuning, limits, listener(query, options));
    Answer::new(found, EngineId::Bdd, Effort::Symbolic(stats))
}

/// Few configurations are gone through at once. Otherwise the explicit and the symbolic engine
/// race. What made configurations many says who begins: where stacks may be of any height, the explicit
/// engine has a head start; otherwise the symbolic one, which is well on its way.
fn by_both(query: &ThreadQuery<'_>, options: &Options<'_>) -> Result<Answer<Finding>, Halt> {
    let limits = &options.limits;
    let listen = listener(query, options);
    begin(query, options.tuning, limits, listen, |begun, listen| {
        let rest = match begun {
            Begun::Answer(found, stats) => {
                return Ok(Answer::new(found, EngineId::Bdd, Effort::Symbolic(stats)));
            }
            Begun::Rest(rest) => rest,
        };
        let explicit_begins = rest.obstacle == Obstacle::Stacks;
        let by_diagrams = |limits: &Limits, listen: &mut dyn FnMut(News)| {
            let (found, stats) = rest.finish(limits, listen);
            Ok::<_, Halt>(Answer::new(found, EngineId::Bdd, Effort::Symbolic(stats)))
        };
        if explicit_begins {
            // Nobody listens to who runs on another thread.
            let explicit = |limits: &Limits| Ok(by_explicit(query, &Options::default(), limits));
            let mut listen = listen;
            let symbolic = |limits: &Limits, _: &dyn Fn()| by_diagrams(limits, &mut listen);
            side_by_side(limits, EXPLICIT_START, symbolic, explicit)
        } else {
            let explicit = |limits: &Limits, _: &dyn Fn()| Ok(by_explicit(query, options, limits));
            let symbolic = |limits: &Limits| by_diagrams(limits, &mut |_| {});
            side_by_side(limits, SYMBOLIC_START, explicit, symbolic)
        }
    })
}

/// How often the symbolic engine looks at its limits in its head start, which takes about 10 ms. By then
/// it has answered most questions about variables with many values, and many of those with a few
/// configurations too many for the list.
const SYMBOLIC_START: u32 = 8;

/// The explicit engine looks at its limits before it explores what a thread does in a context. Most
/// questions about threads that recurse are answered after fewer contexts. Path edges would not do as a
/// measure: contexts with few of them may be many.
const EXPLICIT_START: u32 = 512;

/// A formula that is true says that there is a run, not which: the schedule comes from the symbolic
/// engine. Bounds are asked one after the other, as violations mostly need few switches, and each
/// switch more makes the formula much harder. A formula that does so by itself is asked once.
fn by_formula(query: &ThreadQuery<'_>, options: &Options<'_>) -> Result<Answer<Finding>, Halt> {
    let most = most_levels(query, options)?;
    let least = match query.levels {
        Levels::Switches => 0,
        Levels::Rounds => 1,
    };
    let whole = threads_formula(query, most)?;
    let mut known = None;
    let fewer = if whole.gradual {
        most..most
    } else {
        least..most
    };
    for level in fewer {
        let (found, effort) = ask_formula(query, threads_formula(query, level)?, known, options)?;
        if !matches!(found, Finding::Nothing { .. }) {
            return Ok(Answer::new(found, EngineId::Calculus, effort));
        }
        known = Some(level);
        if let Some(tell) = options.level {
            tell(query.levels, level);
        }
    }
    let (found, effort) = ask_formula(query, whole, known, options)?;
    Ok(Answer::new(found, EngineId::Calculus, effort))
}

/// What a formula says, if up to level `known` nothing has been found.
fn ask_formula(
    query: &ThreadQuery<'_>,
    relations: Relations,
    known: Option<usize>,
    options: &Options<'_>,
) -> Result<(Finding, Effort), Halt> {
    let theory = load_text("<threads>", relations.text);
    if theory.has_errors() {
        return Err(Halt::broken(theory.messages(false, false)));
    }
    let (answer, statistics) = solve(theory, relations.bits, options);
    let found = match answer {
        Ok(Some(false)) => Finding::Nothing { exhaustive: false },
        Ok(Some(true)) => match by_sets(query, options, &options.limits).found {
            Finding::Nothing { .. } => {
                return Err(Halt::wrong("the formula is true, but there is no run"));
            }
            found => found,
        },
        Err(Unanswered::Stopped(reason)) => Finding::Stopped(reason, known),
        Ok(None) | Err(_) => return Err(Halt::broken("the formula has no answer")),
    };
    Ok((found, Effort::Calculus(answer_stats(&statistics))))
}

/// The execution that a schedule stands for, if it is wanted; replayed.
fn witness(
    query: &ThreadQuery<'_>,
    schedule: &Schedule,
    level: usize,
    options: &Options<'_>,
) -> Result<Verdict<Option<ConcurrentExecution>>, Halt> {
    if options.evidence == Evidence::Verdict {
        return Ok(Verdict::Violated(None));
    }
    options.log("a violation has been found: its run is rebuilt and replayed");
    let execution = match rebuild(query, schedule, options) {
        Ok(execution) => execution,
        Err(NotRebuilt::Stopped(reason)) => return Ok(Verdict::Unknown(reason.unwritten())),
        Err(NotRebuilt::Impossible(reason)) => return Err(Halt::wrong(reason)),
    };
    if options.evidence == Evidence::Replayed {
        let bound = Bound::new(query.levels, level);
        let claim = match query.target {
            Target::Reach(nodes) => ConcurrentClaim::Reaches(nodes),
            Target::Default(nodes) => ConcurrentClaim::Default(nodes),
            Target::Stuck(_) => ConcurrentClaim::Stuck,
        };
        replay_concurrent(query.program, &execution, Some(claim), Some(bound))
            .map_err(|rejection| Halt::wrong(rejection.to_string()))?;
    }
    Ok(Verdict::Violated(Some(execution)))
}

/// The execution that a schedule stands for; see [`droste_threads::rebuild`]. The runs of the single
/// threads are found as for any program without threads.
pub fn rebuild(
    query: &ThreadQuery<'_>,
    schedule: &Schedule,
    options: &Options<'_>,
) -> Result<ConcurrentExecution, NotRebuilt> {
    let mut find = |program: &Program, target: Target<'_>| find_run(program, target, options);
    droste_threads::rebuild(query, schedule, &options.limits, &mut find)
}

/// A short run of a program without threads to a target.
fn find_run(
    program: &Program,
    target: Target<'_>,
    options: &Options<'_>,
) -> Result<Option<Execution>, NotRebuilt> {
    let question = match target {
        Target::Reach(nodes) => Resolved::Reach(nodes.to_vec()),
        Target::Default(nodes) => Resolved::Default(nodes.to_vec()),
        Target::Stuck(nodes) => Resolved::Deadlock(nodes.to_vec()),
    };
    let mut own = options.clone();
    own.engine = match options.engine {
        Engine::Explicit => Engine::Explicit,
        _ => Engine::Auto,
    };
    own.order = Order::Bfs;
    own.evidence = Evidence::Written;
    own.limits.path_edges = None;
    own.reporter = None;
    own.log = None;
    own.answered = None;
    let prepared = Prepared::of(program, question, own.engine, &own);
    match sequential::search(&prepared, &own, Runs::All) {
        Ok(answer) => match answer.found {
            Verdict::Holds(_) => Ok(None),
            Verdict::Violated(Ok(violation)) => Ok(violation.run),
            Verdict::Violated(Err(loose)) => Err(NotRebuilt::Impossible(format!(
                "no concrete run of a thread: {loose:?}"
            ))),
            Verdict::Unknown(reason) => Err(NotRebuilt::Stopped(reason)),
        },
        Err(Halt::Stopped(reason)) => Err(NotRebuilt::Stopped(reason)),
        Err(Halt::Fault(fault)) => Err(NotRebuilt::Impossible(fault.to_string())),
    }
}
