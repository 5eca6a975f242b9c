//! The symbolic engine: sets of states as decision diagrams.
//!
//! Sets of states show that there is a run, but not which one. A long run that hardly branches is
//! found state by state in a fraction of the time that going back through sets takes. So the
//! explicit engine looks for the run first, and gets about as much time as the search has taken. It
//! also gets values for the globals that are never written: those that they have in some run to the
//! target.
//!
//! What keeps it honest: `tests/engines.rs`, `tests/deadlock.rs` and `tests/automata.rs` compare
//! the answers with an oracle or with the explicit engine.

use std::sync::{Mutex, PoisonError};

use droste_base::{Counterexample, Runs, StopReason, Trace, Verdict};
use droste_program::execution::Execution;
use droste_program::valued::Valued;
use droste_symbolic::repeat::AutomatonQuery;
use droste_symbolic::{Elsewhere, Inputs, Outcome, Query, STEPS};
use droste_unfold::{AllLive, Gap, Machine};

use crate::prepared::Prepared;
use crate::report::{Answer, Halt};
use crate::sequential::{Found, made_concrete};
use crate::{Effort, EngineId, Evidence, Options, explicit};

/// The most path edges that are looked at for a run.
const MOST_PATH_EDGES: u64 = 4_000_000;

/// Answers a question about reachability, about runs that get stuck or about infinite runs; others
/// are refused.
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
    let by_states: Mutex<Option<Counterexample<Execution>>> = Mutex::new(None);
    let (passes, eager, limits) = (options.passes, options.eager, options.limits.clone());
    let (evidence, tuning) = (options.evidence, options.tuning);
    let elsewhere = |steps: u64, inputs: &Inputs| {
        let Some(least) = tuning.path_edges else {
            return false;
        };
        let own = Options {
            passes,
            eager,
            evidence,
            limits: limits.clone(),
            ..Options::default()
        };
        let most = MOST_PATH_EDGES.min(least + steps / STEPS);
        let found = explicit::shortest(prepared, &own, most, inputs);
        let is_found = found.is_some();
        *by_states.lock().unwrap_or_else(PoisonError::into_inner) = found;
        is_found
    };
    let outcome = match decide(prepared, options, runs, &elsewhere) {
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
    let mut found = made_concrete(verdict)?;
    let by_states = by_states.into_inner();
    if let Verdict::Violated(violation) = &mut found
        && let Some(run) = by_states.unwrap_or_else(PoisonError::into_inner)
    {
        *violation = Ok(run);
    }
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
    elsewhere: &Elsewhere<'_>,
) -> Result<Outcome, StopReason> {
    let (program, live, _) = prepared.for_sets_of_states(options)?;
    let search = droste_symbolic::Options {
        tuning: options.tuning,
        limits: options.limits.clone(),
        reporter: options.reporter,
        verdict_only: options.evidence == Evidence::Verdict,
        elsewhere: Some(elsewhere),
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
        return Ok(droste_symbolic::reach(program, live, query, &search));
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
        program, live, question, &search,
    ))
}

/// The run with a value for every variable.
fn concrete(
    prepared: &Prepared<'_>,
    options: &Options<'_>,
    trace: Trace<Valued>,
) -> Result<Execution, Gap> {
    let cleaned = prepared.cleaned_for_sets(options)?;
    let trace = match prepared.for_sets_of_states(options)?.2 {
        Some(absorbed) => absorbed.with_calls(&cleaned.program, trace),
        None => trace,
    };
    let machine = Machine::new(&cleaned.program, &AllLive, true);
    let trace = trace.map(|state| -> Box<[u64]> { machine.pack(&state) });
    prepared.concretize(&cleaned.program, trace, &mut options.limits.guard())
}
