//! The program as a weighted pushdown system.
//!
//! The weights show whether there is a violation, but not which one. The run comes from the
//! symbolic engine; if there were none, one of the two engines would be wrong, and Droste would say
//! so. The method: A. Lal and T. Reps, *Improving pushdown system model checking* (CAV 2006),
//! section 5.2.
//!
//! What keeps it honest: `tests/engines.rs` and `tests/deadlock.rs` compare the answers with an oracle.

use std::convert::Infallible;

use droste_base::{Certificate, Counterexample, Limits, Reporter, Runs, StopReason, Verdict};
use droste_passes::Live;
use droste_program::Program;
use droste_wpds::{Method, Query, Stats, Tuning};

use crate::prepared::Prepared;
use crate::race::{Contender, side_by_side};
use crate::report::{Answer, Halt};
use crate::sequential::Found;
use crate::{Effort, EngineId, Evidence, Options, SymbolicStats, symbolic};

/// How the weights of a pushdown system are found. Answers do not depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Weighing {
    /// By which method; without one, by the better of both. Path expressions are alone for a while,
    /// then chaotic iteration begins beside them. The closure of a loop may be found with a few
    /// squares, or be far larger than what is ever reached, and the program does not tell.
    pub method: Option<Method>,
    /// See [`Tuning::first_turn`].
    pub first_turn: u64,
}

impl Default for Weighing {
    fn default() -> Self {
        Weighing {
            method: None,
            first_turn: Tuning::default().first_turn,
        }
    }
}

/// Path expressions look so often at their limits before chaotic iteration begins, which takes them
/// about 20 ms.
const HEAD_START: u32 = 16;

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
    let (program, live) = match prepared.for_sets_of_states(options) {
        Ok((program, live, _)) => (program, live),
        Err(reason) => return Ok(Answer::nothing(Verdict::Unknown(reason), engine)),
    };
    let question = Question {
        program,
        live,
        query: Query {
            targets,
            violations,
            stops,
        },
        first_turn: options.weighing.first_turn,
        sift_from: options.tuning.sift_from,
    };
    let (found, stats) = match options.weighing.method {
        Some(method) => question.by(method, &options.limits, options.reporter),
        None => question.by_both(&options.limits, options.reporter),
    };
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

/// Whether a target is reachable, and what it took to find out.
type Weighed = (Result<bool, StopReason>, Stats);

impl Contender for Weighed {
    fn stopped(&self) -> Option<&StopReason> {
        self.0.as_ref().err()
    }

    fn neither(self, _: Self, reason: StopReason) -> Self {
        (Err(reason), self.1)
    }

    fn raced(&mut self) {}
}

/// A question for this engine.
#[derive(Clone, Copy)]
struct Question<'a> {
    program: &'a Program,
    live: &'a Live,
    query: Query<'a>,
    first_turn: u64,
    sift_from: usize,
}

impl Question<'_> {
    /// The answer by one method.
    fn by(self, method: Method, limits: &Limits, reporter: Option<Reporter<'_>>) -> Weighed {
        let options = droste_wpds::Options {
            tuning: Tuning {
                method,
                first_turn: self.first_turn,
            },
            sift_from: self.sift_from,
            limits: limits.clone(),
            reporter,
        };
        droste_wpds::reach(self.program, self.live, self.query, &options)
    }

    /// The answer by both methods: the first one counts.
    fn by_both(self, limits: &Limits, reporter: Option<Reporter<'_>>) -> Weighed {
        let chaotic =
            |limits: &Limits, _: &dyn Fn()| Ok(self.by(Method::Chaotic, limits, reporter));
        let paths = |limits: &Limits| Ok(self.by(Method::Paths, limits, None));
        let first: Result<Weighed, Infallible> = side_by_side(limits, HEAD_START, chaotic, paths);
        match first {
            Ok(weighed) => weighed,
            Err(never) => match never {},
        }
    }
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
