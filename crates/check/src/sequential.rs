//! Programs without threads. One engine searches, or two race. Then it is found out which kinds of runs
//! violate the property, a shorter run is looked for, and the run is replayed.
//!
//! What keeps it honest: `tests/differential.rs` and `tests/engines.rs` compare the answers with an oracle.

use std::time::{Duration, Instant};

use droste_base::lasso::minimise;
use droste_base::{Counterexample, Runs, StopReason, Verdict};
use droste_explicit::Order;
use droste_program::execution::{Ending, Execution};
use droste_replay::{Halt as ReplayHalt, Replayer};
use droste_unfold::Gap;

use crate::critical::fates;
use crate::prepared::Prepared;
use crate::property::Resolved;
use crate::race::{Contender, race};
use crate::report::{Answer, Halt};
use crate::vacuity::vacuity;
use crate::{
    Effort, Engine, EngineId, Evidence, Options, Report, Run, Tuning, Violators, calculus,
    explicit, symbolic, wpds,
};

/// What an engine has found: a run that is concrete, or values of a lasso that do not repeat because
/// they do not matter.
pub(crate) type Found = Verdict<Result<Counterexample<Execution>, Loose>>;

/// The values of a lasso that do not matter do not repeat. Without the pass that forgets them, they
/// do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Loose;

impl Contender for Answer<Found> {
    fn stopped(&self) -> Option<&StopReason> {
        match &self.found {
            Verdict::Unknown(reason) => Some(reason),
            _ => None,
        }
    }

    fn neither(mut self, _: Self, reason: StopReason) -> Self {
        self.found = Verdict::Unknown(reason);
        self
    }

    fn raced(&mut self) {
        self.raced = true;
    }
}

/// A verdict whose run has been made concrete, or not.
pub(crate) fn made_concrete(
    verdict: Verdict<Counterexample<Result<Execution, Gap>>>,
) -> Result<Found, Halt> {
    Ok(match verdict {
        Verdict::Holds(certificate) => Verdict::Holds(certificate),
        Verdict::Unknown(reason) => Verdict::Unknown(reason),
        Verdict::Violated(Counterexample { run, pumping }) => match run.transpose() {
            Ok(run) => Verdict::Violated(Ok(Counterexample { run, pumping })),
            Err(Gap::Lasso) => Verdict::Violated(Err(Loose)),
            Err(Gap::Stopped(reason)) => Verdict::Unknown(reason.unwritten()),
            Err(gap @ Gap::Step(_)) => {
                return Err(Halt::wrong(format!("no concrete run: {gap:?}")));
            }
        },
    })
}

/// Answers the question.
pub(crate) fn answer(prepared: &Prepared<'_>, options: &Options<'_>) -> Result<Report, Halt> {
    let start = Instant::now();
    options.log("searching");
    let (mut answer, violators) = search_runs(prepared, options)?;
    if let Verdict::Violated(violation) = &mut answer.found
        && violation.run.is_some()
    {
        options.log("a violation has been found: its run is shortened and replayed");
        if let Some(short) = shorter(prepared, options, answer.engine, answer.effort, violation) {
            *violation = short;
        }
        let finite = options.runs == Runs::FiniteStack || violators == Some(Violators::Bounded);
        if let Err(reason) = confirm(prepared, options, violation, finite)? {
            answer.found = Verdict::Unknown(reason.unwritten());
        }
    }
    let critical = match (&prepared.question, answer.found.run()) {
        (Resolved::Critical(_, critical), Some(execution)) => {
            fates(prepared, options, critical, execution, start.elapsed())
        }
        _ => Vec::new(),
    };
    let violators = violators.filter(|_| answer.found.is_violated());
    let vacuous = match &answer.found {
        Verdict::Holds(_) => vacuity(prepared, options),
        _ => None,
    };
    Ok(Report {
        verdict: answer.found.map(|violation| violation.map(Run::Sequential)),
        violators,
        explored: None,
        critical,
        vacuous,
        engine: answer.engine,
        raced: answer.raced,
        effort: answer.effort,
        time: Duration::ZERO,
    })
}

/// A verdict with a concrete run.
type Concrete = Answer<Verdict<Counterexample<Execution>>>;

/// A search for a run of bounded stack, after one has been found whose stack grows, may take at
/// least so many path edges
const MORE_PATH_EDGES: u64 = 100_000;
/// and so much time.
const MORE_TIME: Duration = Duration::from_secs(1);

/// Searches for the runs that count, and finds out which of them violate the property.
fn search_runs(
    prepared: &Prepared<'_>,
    options: &Options<'_>,
) -> Result<(Concrete, Option<Violators>), Halt> {
    let start = Instant::now();
    let all = search_again(prepared, options, options.runs)?;
    let Verdict::Violated(violation) = &all.found else {
        return Ok((all, None));
    };
    if !prepared.question.is_about_infinite_runs() {
        return Ok((all, None));
    }
    if !violation.pumping {
        return Ok((all, Some(Violators::Bounded)));
    }
    // A run of bounded stack says more, if there is one.
    options.log("the stack of this run grows: searching for a run of bounded stack");
    let mut further = options.clone();
    further.reporter = None;
    further.answered = None;
    further.limits = if options.tell_apart {
        // The run that is known has yet to be replayed.
        options.limits.with_part_of_time(0.9, None)
    } else {
        // And if it is not much harder to find.
        let known = all.effort.as_ref().map_or(0, Effort::path_edges);
        let time = (4 * start.elapsed()).max(MORE_TIME);
        let limits = options.limits.with_part_of_time(0.5, Some(time));
        limits.with_path_edges((4 * known).max(MORE_PATH_EDGES))
    };
    let bounded = search_again(prepared, &further, Runs::FiniteStack)?;
    Ok(match bounded.found {
        Verdict::Violated(_) => (bounded, Some(Violators::Bounded)),
        Verdict::Holds(_) => (all, Some(Violators::OnlyUnbounded)),
        Verdict::Unknown(_) => (all, Some(Violators::Unbounded)),
    })
}

/// Searches, and if values that do not matter do not repeat, lets them matter.
fn search_again(
    prepared: &Prepared<'_>,
    options: &Options<'_>,
    runs: Runs,
) -> Result<Concrete, Halt> {
    let first = search(prepared, options, runs)?;
    if let Some(concrete) = firm(first) {
        return Ok(concrete);
    }
    options.log("values that do not matter do not repeat: searching again with all that matter");
    let again = prepared.without_dead();
    if prepared.forgets()
        && let Some(concrete) = firm(search(&again, options, runs)?)
    {
        return Ok(concrete);
    }
    if let Some(concrete) = firm(explicit::search(&again, options, runs)?) {
        return Ok(concrete);
    }
    Err(Halt::wrong(
        "no concrete run: the values of a lasso do not repeat",
    ))
}

/// The answer, unless its lasso is loose.
fn firm(answer: Answer<Found>) -> Option<Concrete> {
    let found = match answer.found {
        Verdict::Holds(certificate) => Verdict::Holds(certificate),
        Verdict::Unknown(reason) => Verdict::Unknown(reason),
        Verdict::Violated(violation) => Verdict::Violated(violation.ok()?),
    };
    Some(Answer {
        found,
        engine: answer.engine,
        raced: answer.raced,
        effort: answer.effort,
    })
}

/// One search, or a race.
pub(crate) fn search(
    prepared: &Prepared<'_>,
    options: &Options<'_>,
    runs: Runs,
) -> Result<Answer<Found>, Halt> {
    match prepared.engine {
        Engine::Auto | Engine::Explicit => {}
        engine if matches!(prepared.question, Resolved::Critical(..)) => {
            return Err(Halt::refused(format!(
                "the {} engine does not look for runs that touch critical labels; use --engine explicit",
                engine.first()
            )));
        }
        _ => {}
    }
    match prepared.engine {
        Engine::Explicit | Engine::Tableau => explicit::search(prepared, options, runs),
        Engine::Bdd => symbolic::search(prepared, options, runs),
        Engine::Calculus => calculus::search(prepared, options),
        Engine::Wpds => wpds::search(prepared, options),
        Engine::Auto if !prepared.is_for_sets() => explicit::search(prepared, options, runs),
        Engine::Auto => auto(prepared, options, runs),
    }
}

/// The explicit and the symbolic engine.
fn auto(prepared: &Prepared<'_>, options: &Options<'_>, runs: Runs) -> Result<Answer<Found>, Halt> {
    let by_explicit = |limits: &droste_base::Limits, answered: &dyn Fn()| {
        let answered = || {
            answered();
            options.answer();
        };
        let mut own = options.clone();
        own.limits = limits.clone();
        own.answered = Some(&answered);
        explicit::search(prepared, &own, runs)
    };
    let (passes, evidence) = (options.passes, options.evidence);
    // The explicit engine is at it already.
    let tuning = Tuning {
        path_edges: None,
        ..options.tuning
    };
    let by_sets = move |limits: &droste_base::Limits| {
        let own = Options {
            passes,
            evidence,
            tuning,
            limits: limits.clone(),
            ..Options::default()
        };
        symbolic::search(prepared, &own, runs)
    };
    race(&options.limits, options.trial, by_explicit, by_sets)
}

/// A run of at most this many steps is short enough.
const SHORT: u64 = 20;

/// A shorter run, if breadth-first search finds one among not many more path edges than the first
/// search has looked at.
fn shorter(
    prepared: &Prepared<'_>,
    options: &Options<'_>,
    engine: EngineId,
    effort: Option<Effort>,
    known: &Counterexample<Execution>,
) -> Option<Counterexample<Execution>> {
    let long = known.run.as_ref()?;
    let is_wanted = options.shorten
        && !matches!(prepared.question, Resolved::Critical(..))
        && engine == EngineId::Explicit
        && options.order == Order::Dfs
        && long.length(prepared.program) > SHORT
        && !matches!(long.ending, Ending::Lasso { .. } | Ending::Terminated);
    if !is_wanted {
        return None;
    }
    let path_edges = effort.as_ref().map_or(0, Effort::path_edges);
    explicit::shortest(prepared, options, (2 * path_edges).max(100_000), &[])
}

/// Candidates for a shorter lasso are replayed, which takes time in proportion to their length and
/// the size of the formula; all in all so much.
const MINIMISING: u64 = 50_000_000;

/// Makes a lasso shorter by trying, and replays the run. The inner result is about limits.
fn confirm(
    prepared: &Prepared<'_>,
    options: &Options<'_>,
    violation: &mut Counterexample<Execution>,
    finite: bool,
) -> Result<Result<(), StopReason>, Halt> {
    let Some(execution) = &mut violation.run else {
        return Ok(Ok(()));
    };
    let question = &prepared.question;
    let mut guard = options.limits.guard();
    let mut replayer = Replayer::new(prepared.program, question.claim(), finite);
    if options.shorten && question.is_about_infinite_runs() {
        let mut left = MINIMISING;
        minimise(execution, &mut |candidate| {
            let runs = candidate.runs.iter().map(|run| run.steps.len());
            let steps = candidate.steps.len() + runs.sum::<usize>();
            let cost = question.size().saturating_mul(steps as u64);
            let affordable = cost <= left;
            left = left.saturating_sub(cost);
            affordable && replayer.replay_within(candidate, &mut guard).is_ok()
        });
    }
    if options.evidence != Evidence::Replayed {
        return Ok(Ok(()));
    }
    match replayer.replay_within(execution, &mut guard) {
        Ok(()) => Ok(Ok(())),
        Err(ReplayHalt::Stopped(reason)) => Ok(Err(reason)),
        Err(ReplayHalt::Rejected(rejection)) => Err(Halt::wrong(rejection.to_string())),
    }
}
