//! The symbolic engine's driver.

use droste_base::{Guard, Limits, StopReason, Trace, Verdict};
use droste_passes::{Cleaned, Query, clean_within};
use droste_program::execution::Execution;
use droste_program::valued::Valued;
use droste_program::{NodeId, Program, Proposition};
use droste_symbolic::Outcome;
use droste_symbolic::repeat::{of_monitor, of_nodes};
use droste_unfold::{AllLive, Gap, Machine, concretize};

use crate::explicit::Runs;
use crate::{Evidence, Found, Options, Passes, Question};

/// The nodes and violations a question about reachability asks for.
pub(crate) fn targets<'q>(question: &'q Question<'_>) -> Option<(&'q [NodeId], bool)> {
    match question {
        Question::Default(nodes) => Some((nodes, true)),
        Question::Reach(nodes) => Some((nodes, false)),
        _ => None,
    }
}

/// The program cleaned for the symbolic engines.
pub(crate) fn cleaned(
    program: &Program,
    targets: &[NodeId],
    violations: bool,
    passes: Passes,
    guard: &mut Guard,
) -> Result<Cleaned, StopReason> {
    let query = Query {
        targets,
        violations,
        propositions: &[],
        every_position: false,
    };
    clean_within(program, &query, &passes, guard)
}

/// Whether the symbolic engine answers a question.
pub(crate) fn answers(question: &Question<'_>) -> bool {
    targets(question).is_some() || question.is_about_infinite_runs()
}

/// Answers a question about reachability or about infinite runs; others are none of its business.
pub(crate) fn search(
    program: &Program,
    question: &Question<'_>,
    options: &Options<'_>,
    runs: Runs,
) -> Option<Found> {
    let mut guard = options.limits.guard();
    let outcome = match targets(question) {
        Some(targets) => reach(program, targets, options, &mut guard),
        None => repeat(program, question, options, runs, &mut guard)?,
    };
    let (outcome, clean, report) = match outcome {
        Ok(outcome) => outcome,
        Err(reason) => return Some(Found::stopped("bdd", reason)),
    };
    let verdict = outcome.verdict.map(|trace: Trace<Valued>| {
        if options.evidence == Evidence::Verdict {
            return Ok(Execution::unwritten(trace.cycle));
        }
        let machine = Machine::new(&clean, &AllLive, true);
        let trace = trace.map(|state| -> Box<[u64]> { machine.pack(&state) });
        concretize(program, &clean, &question.propositions(), trace, &mut guard)
    });
    let verdict = match verdict {
        Verdict::Violated(Err(Gap::Stopped(reason))) => Verdict::Unknown(reason),
        verdict => verdict,
    };
    Some(Found {
        verdict,
        violators: None,
        engine: "bdd",
        raced: false,
        stats: droste_explicit::Stats::default(),
        symbolic: Some(outcome.stats),
        notes: report,
    })
}

/// What the engine found, in which program, and what the passes did.
type Searched = Result<(Outcome, Program, Vec<String>), StopReason>;

fn reach(
    program: &Program,
    (targets, violations): (&[NodeId], bool),
    options: &Options<'_>,
    guard: &mut Guard,
) -> Searched {
    let cleaned = cleaned(program, targets, violations, options.passes, guard)?;
    let query = droste_symbolic::Query {
        targets,
        violations,
    };
    let live = cleaned.live;
    let outcome = droste_symbolic::reach(
        &cleaned.program,
        &live,
        query,
        options.tuning,
        &left(options, guard),
        options.reporter,
    );
    Ok((outcome, cleaned.program, cleaned.report))
}

fn repeat(
    program: &Program,
    question: &Question<'_>,
    options: &Options<'_>,
    runs: Runs,
    guard: &mut Guard,
) -> Option<Searched> {
    let made;
    let (automaton, propositions) = match question {
        Question::Repeat(nodes) => {
            made = of_nodes(program, nodes);
            (&made.1, &made.0[..])
        }
        Question::Repeating(monitor) => {
            made = of_monitor(monitor);
            (&made.1, &made.0[..])
        }
        _ => question.automaton()?,
    };
    let asked: Vec<&Proposition> = propositions.iter().collect();
    let query = Query {
        targets: match question {
            Question::Repeat(nodes) => nodes,
            _ => &[],
        },
        violations: false,
        propositions: &asked,
        every_position: true,
    };
    let cleaned = match clean_within(program, &query, &options.passes, guard) {
        Ok(cleaned) => cleaned,
        Err(reason) => return Some(Err(reason)),
    };
    let question = droste_symbolic::repeat::Question {
        propositions,
        automaton,
        runs: match runs {
            Runs::All => droste_symbolic::Runs::All,
            Runs::FiniteStack => droste_symbolic::Runs::FiniteStack,
        },
    };
    let live = cleaned.live;
    let outcome = droste_symbolic::repeat::repeat(
        &cleaned.program,
        &live,
        question,
        options.tuning,
        &left(options, guard),
        options.reporter,
    );
    Some(Ok((outcome, cleaned.program, cleaned.report)))
}

/// The limits that are left.
fn left(options: &Options<'_>, guard: &Guard) -> Limits {
    let mut limits = options.limits.clone();
    limits.timeout = limits.timeout.map(|t| t.saturating_sub(guard.elapsed()));
    limits
}
