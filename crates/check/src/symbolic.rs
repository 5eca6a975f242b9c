//! The symbolic engine: sets of states as decision diagrams.

use droste_base::{Runs, StopReason, Trace, Verdict};
use droste_program::execution::Execution;
use droste_program::valued::Valued;
use droste_symbolic::repeat::AutomatonQuery;
use droste_symbolic::{Outcome, Query};
use droste_unfold::{AllLive, Gap, Machine};

use crate::prepared::Prepared;
use crate::report::{Answer, Halt};
use crate::sequential::{Found, made_concrete};
use crate::{Effort, EngineId, Evidence, Options};

/// Answers a question about reachability, about runs that get stuck or about infinite runs; others
/// are none of its business.
pub(crate) fn search(
    prepared: &Prepared<'_>,
    options: &Options<'_>,
    runs: Runs,
) -> Result<Answer<Found>, Halt> {
    if !prepared.is_for_sets() {
        return Err(Halt::refused(
            "the bdd engine does not answer questions about monitors with target states; \
             use --engine explicit",
        ));
    }
    let outcome = match decide(prepared, options, runs) {
        Ok(outcome) => outcome,
        Err(reason) => return Ok(Answer::nothing(Verdict::Unknown(reason), EngineId::Bdd)),
    };
    if outcome.verdict.is_violated() {
        options.answer();
    }
    let verdict = outcome.verdict.map(|mut violation| {
        if options.evidence == Evidence::Verdict {
            violation.run = None;
        }
        violation.map(|trace| concrete(prepared, options, trace))
    });
    let found = made_concrete(verdict)?;
    Ok(Answer::new(
        found,
        EngineId::Bdd,
        Effort::Symbolic(outcome.stats),
    ))
}

fn decide(
    prepared: &Prepared<'_>,
    options: &Options<'_>,
    runs: Runs,
) -> Result<Outcome, StopReason> {
    let cleaned = prepared.cleaned_for_sets(options)?;
    let search = droste_symbolic::Options {
        tuning: options.tuning,
        limits: options.limits.clone(),
        reporter: options.reporter,
        verdict_only: options.evidence == Evidence::Verdict,
    };
    let stops = prepared.question.stops();
    let targets = prepared.question.targets();
    let stuck_at = stops.then_some((prepared.question.nodes(), false));
    if let Some((targets, violations)) = targets.or(stuck_at) {
        let query = Query {
            targets,
            violations,
            stops,
        };
        return Ok(droste_symbolic::reach(
            &cleaned.program,
            &cleaned.live,
            query,
            &search,
        ));
    }
    let Some((propositions, automaton)) = prepared.for_sets() else {
        unreachable!("a question about infinite runs has an automaton");
    };
    let question = AutomatonQuery {
        propositions: &propositions,
        automaton: &automaton,
        runs,
    };
    Ok(droste_symbolic::repeat::repeat(
        &cleaned.program,
        &cleaned.live,
        question,
        &search,
    ))
}

/// The run with a value for every variable.
fn concrete(
    prepared: &Prepared<'_>,
    options: &Options<'_>,
    trace: Trace<Valued>,
) -> Result<Execution, Gap> {
    let cleaned = prepared.cleaned_for_sets(options)?;
    let machine = Machine::new(&cleaned.program, &AllLive, true);
    let trace = trace.map(|state| -> Box<[u64]> { machine.pack(&state) });
    prepared.concretize(&cleaned.program, trace, &mut options.limits.guard())
}
