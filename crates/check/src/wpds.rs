//! The program as a weighted pushdown system.
//!
//! Weights say whether there is a violation, not which. The run comes from the symbolic engine, and
//! that is a check of the weights, too.

use droste_base::{Certificate, Counterexample, Runs, Verdict};
use droste_wpds::Query;

use crate::prepared::Prepared;
use crate::report::{Answer, Halt};
use crate::sequential::Found;
use crate::{Effort, EngineId, Evidence, Options, SymbolicStats, symbolic};

/// Answers a question about reachability or about runs that get stuck.
pub(crate) fn search(
    prepared: &Prepared<'_>,
    options: &Options<'_>,
) -> Result<Answer<Found>, Halt> {
    let engine = EngineId::Wpds;
    let stops = prepared.question.stops();
    let stuck_at = stops.then_some((prepared.question.nodes(), false));
    let Some((targets, violations)) = prepared.question.targets().or(stuck_at) else {
        return Err(Halt::refused(
            "the wpds engine answers questions about reachability (assertions, --reach) and about \
             runs that get stuck (--deadlock); use --engine auto, explicit or bdd for others",
        ));
    };
    let cleaned = match prepared.cleaned_for_sets(options) {
        Ok(cleaned) => cleaned,
        Err(reason) => return Ok(Answer::nothing(Verdict::Unknown(reason), engine)),
    };
    let query = Query {
        targets,
        violations,
        stops,
    };
    let search = droste_wpds::Options {
        tuning: options.weighing,
        sift_from: options.tuning.sift_from,
        limits: options.limits.clone(),
        reporter: options.reporter,
    };
    let (found, stats) = droste_wpds::reach(&cleaned.program, &cleaned.live, query, &search);
    let found = match found {
        Err(reason) => Verdict::Unknown(reason),
        Ok(false) => Verdict::Holds(Certificate::default()),
        Ok(true) if options.evidence == Evidence::Verdict => {
            options.answer();
            Verdict::Violated(Ok(Counterexample {
                run: None,
                pumping: false,
            }))
        }
        Ok(true) => run(prepared, options)?,
    };
    let effort = SymbolicStats {
        images: stats.products,
        nodes_reached: stats.nodes_reached,
        variables: stats.variables,
        peak_nodes: stats.peak_nodes,
        bytes: stats.bytes,
        reorderings: stats.reorderings,
        rounds: 0,
        configurations: 0,
    };
    Ok(Answer::new(found, engine, Effort::Weighted(effort)))
}

/// The run that the weights say there is.
fn run(prepared: &Prepared<'_>, options: &Options<'_>) -> Result<Found, Halt> {
    options.log("a violation has been found: the bdd engine writes its run");
    match symbolic::search(prepared, options, Runs::All)?.found {
        Verdict::Holds(_) => Err(Halt::wrong("the weights say that there is a run")),
        Verdict::Unknown(reason) => Ok(Verdict::Unknown(reason.unwritten())),
        found @ Verdict::Violated(_) => Ok(found),
    }
}
