//! Is there an infinite run that an automaton accepts?
//!
//! S. Basu, K. Narayan Kumar, L. R. Pokorny and C. R. Ramakrishnan, *Resource-Constrained Model
//! Checking of Recursive Programs* (TACAS 2002), sections 2 and 3. Sets of heads are diagrams here,
//! where the paper has one node of its R-graph for each head. (J. Esparza and S. Schwoon, *A
//! BDD-based Model Checker for Recursive Programs*, CAV 2001, do the same with pushdown automata.)
//! There are four steps:
//!
//! 1. The program and the automaton become one program (`product`), with one mark (`automaton`).
//! 2. `search` computes the heads that can be reached, and summaries that know whether the mark was
//!    met.
//! 3. `hull` computes the fair hull of the graph of heads. If it is empty, no run is accepted.
//!    Otherwise it finds one head on a fair cycle.
//! 4. Two questions about reachability give a stem to that head and a cycle back to it (`trace`, on
//!    two further products), each as short as `trace` can make it. A head is one valuation, so
//!    neither needs a second copy of the variables.
//!
//! It is compared with the explicit engine, whose search shares no code with it, on random programs and
//! automata, for both kinds of runs; every lasso is made concrete and replayed.

mod automaton;
mod condition;
mod hull;
mod preimage;
mod product;

use droste_automata::Tgba;
use droste_base::{
    Certificate, Counterexample, Cycle, Limits, Position, Progress, RunId, StopReason, Trace,
    Verdict, Via,
};
use droste_program::effects::Effects;
use droste_program::liveness::Liveness;
use droste_program::valued::Valued;
use droste_program::{Program, Proposition};
use droste_relations::on_worker;

pub use automaton::{of_monitor, of_nodes};

use self::automaton::Buchi;
use self::hull::Hull;
use self::product::{Head, Matters, Mode, Product};
use crate::search::Search;
use crate::{Options, Outcome, Query, Runs, Stats, Tuning, trace};

/// Which runs are looked for.
#[derive(Clone, Copy, Debug)]
pub struct AutomatonQuery<'a> {
    /// The atoms of the automaton, by number.
    pub propositions: &'a [Proposition],
    /// It accepts the runs that are looked for.
    pub automaton: &'a Tgba,
    /// Whether runs whose stack grows for ever count.
    pub runs: Runs,
}

/// Whether some infinite run of `program` is one that the question asks for. A run that has
/// terminated repeats its last state; a run that is stuck is not infinite. If there is such a run,
/// the trace is a stem and a cycle.
///
/// `live` says which values matter, for the program and the propositions.
pub fn repeat(
    program: &Program,
    live: &(dyn Liveness + Sync),
    question: AutomatonQuery<'_>,
    options: &Options<'_>,
) -> Outcome {
    let Some(automaton) = Buchi::new(question.automaton) else {
        return Outcome {
            verdict: Verdict::Holds(Certificate::default()),
            stats: Stats::default(),
        };
    };
    let work = Work {
        program,
        live,
        propositions: question.propositions,
        automaton,
        runs: question.runs,
        tuning: options.tuning,
        limits: &options.limits,
    };
    on_worker(program, options.reporter, |report| {
        let mut stats = Stats::default();
        let verdict = work.decide(report, &mut stats);
        Outcome {
            verdict: verdict.unwrap_or_else(Verdict::Unknown),
            stats,
        }
    })
}

struct Work<'a> {
    program: &'a Program,
    live: &'a (dyn Liveness + Sync),
    propositions: &'a [Proposition],
    automaton: Buchi,
    runs: Runs,
    tuning: Tuning,
    limits: &'a Limits,
}

impl Work<'_> {
    fn decide(
        &self,
        report: &dyn Fn(Progress),
        stats: &mut Stats,
    ) -> Result<Verdict<Counterexample<Trace<Valued>>>, StopReason> {
        let Some(head) = self.head(report, stats)? else {
            return Ok(Verdict::Holds(Certificate::default()));
        };
        // Whether the stack grows is seen on the run, so it is written down in any case.
        let mut path = |mode| {
            self.path(mode, report, stats)
                .map_err(StopReason::unwritten)
        };
        let stem = path(Mode::Stem(&head))?;
        let cycle = path(Mode::Cycle(&head, self.runs))?;
        let run = lasso(stem, cycle);
        Ok(Verdict::Violated(Counterexample {
            pumping: run.cycle.is_some_and(|cycle| cycle.pumping),
            run: Some(run),
        }))
    }

    fn product(&self, mode: Mode<'_>) -> Result<Product, StopReason> {
        let mut guard = self.limits.guard();
        Product::new(
            self.program,
            self.propositions,
            &self.automaton,
            mode,
            &mut guard,
        )
    }

    fn matters<'s>(&'s self, product: &'s Product) -> Matters<'s> {
        let live = self.live;
        Matters { product, live }
    }

    /// A search through a product, which asks for nothing yet.
    fn search<'s>(
        &'s self,
        product: &'s Product,
        live: &'s Matters<'s>,
        report: &'s dyn Fn(Progress),
    ) -> Result<Search<'s>, StopReason> {
        let (program, query) = (&product.program, Query::default());
        Search::new(program, live, query, self.tuning, self.limits, report)
    }

    /// A head on a fair cycle.
    fn head(
        &self,
        report: &dyn Fn(Progress),
        stats: &mut Stats,
    ) -> Result<Option<Head>, StopReason> {
        let product = self.product(Mode::Hull)?;
        let live = self.matters(&product);
        let mut search = self.search(&product, &live, report)?;
        let found = search.run().map(|_| ());
        let found = match found {
            Ok(()) => Hull::new(&mut search, &product, self.runs).and_then(|mut hull| hull.find()),
            Err(reason) => Err(reason),
        };
        search.count(stats);
        found
    }

    /// A shortest run that a product asks for; there is one.
    fn path(
        &self,
        mode: Mode<'_>,
        report: &dyn Fn(Progress),
        stats: &mut Stats,
    ) -> Result<Trace<Valued>, StopReason> {
        let product = self.product(mode)?;
        let live = self.matters(&product);
        let mut search = self.search(&product, &live, report)?;
        for &node in &product.targets {
            search.want(node, &product.wanted)?;
        }
        let found = search.run();
        search.count(stats);
        assert!(
            found?.is_some(),
            "the head is on a cycle that can be reached"
        );
        let rounds = stats.rounds;
        let trace = trace::trace(search, self.tuning, stats)?;
        stats.rounds += rounds;
        let effects = Effects::new(&product.program);
        let base = product.base;
        Ok(product.restore(trace, |global| effects.touches(base, global)))
    }
}

/// The stem, and the cycle behind it.
fn lasso(stem: Trace<Valued>, cycle: Trace<Valued>) -> Trace<Valued> {
    let offset = stem.runs.len() as u32;
    let renumber = |positions: Vec<Position<Valued>>| {
        positions.into_iter().map(move |mut position| {
            if let Via::Summary(call, run) = position.via {
                position.via = Via::Summary(call, RunId(run.0 + offset));
            }
            position
        })
    };
    let pumping = cycle
        .positions
        .iter()
        .any(|position| matches!(position.via, Via::Call(_)));
    let Trace {
        mut runs,
        mut positions,
        ..
    } = stem;
    let start = positions.len() - 1;
    runs.extend(cycle.runs.into_iter().map(|mut run| {
        run.positions = renumber(run.positions).collect();
        run
    }));
    positions.extend(renumber(cycle.positions).skip(1));
    // The cycle comes back to the state in which it began.
    if let Some(last) = positions.len().checked_sub(1) {
        positions[last].state = positions[start].state.clone();
    }
    Trace {
        runs,
        positions,
        cycle: Some(Cycle { start, pumping }),
    }
}
