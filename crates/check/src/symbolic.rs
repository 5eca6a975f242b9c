//! The symbolic engine's driver.

use droste_base::{Guard, StopReason, Trace, Verdict};
use droste_lang::program::NodeId;
use droste_lang::program::Program;
use droste_passes::{Cleaned, Query, clean_within};
use droste_symbolic::{Place, Valued};
use droste_unfold::{AllLive, Control, Gap, Machine, concretize};

use crate::explicit::{Known, Runs};
use crate::{Found, Options, Passes, Question};

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

/// Answers a question about reachability; others are none of its business.
pub(crate) fn search(
    program: &Program,
    question: &Question<'_>,
    options: &Options<'_>,
    _runs: Runs,
) -> Option<Found> {
    let (targets, violations) = targets(question)?;
    let mut guard = options.limits.guard();
    let cleaned = cleaned(program, targets, violations, options.passes, &mut guard);
    let Cleaned {
        program: clean,
        live,
        report,
    } = match cleaned {
        Ok(cleaned) => cleaned,
        Err(reason) => return Some(Found::stopped("bdd", reason)),
    };
    let mut limits = options.limits.clone();
    limits.timeout = limits.timeout.map(|t| t.saturating_sub(guard.elapsed()));
    let query = droste_symbolic::Query {
        targets,
        violations,
    };
    let live = Known(live);
    let outcome = droste_symbolic::reach(
        &clean,
        &live,
        query,
        options.tuning,
        &limits,
        options.reporter,
    );
    let verdict = outcome.verdict.map(|trace: Trace<Valued>| {
        let machine = Machine::new(&clean, &AllLive, true);
        let trace = trace.map(|state| -> Box<[u64]> {
            let control = match state.place {
                Place::At(node) => Control::At(node),
                Place::Failed(node, violation) => Control::Failed(node, violation),
                Place::Exit(procedure) => Control::Exit(procedure),
                Place::Terminated => Control::Terminated,
            };
            machine.pack(control, &state.globals, &state.locals)
        });
        concretize(program, &clean, trace, &mut guard)
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
