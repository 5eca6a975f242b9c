//! The explicit engine and the tableau. Both are the search of `droste_explicit`, for states of any
//! width.
//!
//! What keeps it honest: `tests/differential.rs` and `tests/ltl.rs` compare the answers with
//! oracles on random programs.

use droste_base::{Counterexample, Guard, Runs, Verdict};
use droste_explicit::{Goal, Outcome, search as search_model};
use droste_program::execution::Execution;
use droste_unfold::{Gap, Unfolding, Words};

use crate::prepared::{Compiled, Prepared};
use crate::property::Resolved;
use crate::report::{Answer, Halt};
use crate::sequential::{Found, made_concrete};
use crate::{Effort, Engine, EngineId, Evidence, Options};

/// Searches for a violation state by state.
pub(crate) fn search(
    prepared: &Prepared<'_>,
    options: &Options<'_>,
    runs: Runs,
) -> Result<Answer<Found>, Halt> {
    search_from(prepared, options, runs, &[])
}

/// The same, with values that globals have from the start.
fn search_from(
    prepared: &Prepared<'_>,
    options: &Options<'_>,
    runs: Runs,
    inputs: &[Option<i128>],
) -> Result<Answer<Found>, Halt> {
    let engine = match prepared.engine {
        Engine::Tableau => EngineId::Tableau,
        _ => EngineId::Explicit,
    };
    if engine == EngineId::Tableau && !matches!(prepared.question, Resolved::Ltl(..)) {
        return Err(Halt::refused(
            "the tableau answers formulas of temporal logic (--ltl); use --engine explicit",
        ));
    }
    let prepare = || {
        let compiled = prepared.compiled(options)?;
        Ok((compiled, prepared.goal(compiled)?))
    };
    let (compiled, goal) = match prepare() {
        Ok(made) => made,
        Err(Halt::Stopped(reason)) => {
            return Ok(Answer::nothing(Verdict::Unknown(reason), engine));
        }
        Err(halt) => return Err(halt),
    };
    let (found, stats) = find(prepared, compiled, goal, options, (runs, inputs))?;
    Ok(Answer::new(found, engine, Effort::Explicit(stats)))
}

/// Searches for a run of the machine that is as the goal says: which runs count, and which values
/// globals have from the start.
pub(crate) fn find(
    prepared: &Prepared<'_>,
    compiled: &Compiled,
    goal: Goal,
    options: &Options<'_>,
    (runs, inputs): (Runs, &[Option<i128>]),
) -> Result<(Found, droste_explicit::Stats), Halt> {
    let mut guard = options.limits.guard();
    let task = Task {
        prepared,
        compiled,
        goal,
        options,
        runs,
        inputs,
    };
    match compiled.machine.words() {
        1 => task.run::<[u64; 1]>(&mut guard),
        2 => task.run::<[u64; 2]>(&mut guard),
        3 | 4 => task.run::<[u64; 4]>(&mut guard),
        5..=8 => task.run::<[u64; 8]>(&mut guard),
        _ => task.run::<Box<[u64]>>(&mut guard),
    }
}

struct Task<'a> {
    prepared: &'a Prepared<'a>,
    compiled: &'a Compiled,
    goal: Goal,
    options: &'a Options<'a>,
    runs: Runs,
    inputs: &'a [Option<i128>],
}

impl Task<'_> {
    fn run<W: Words>(&self, guard: &mut Guard) -> Result<(Found, droste_explicit::Stats), Halt> {
        let options = self.options;
        let model = Unfolding::<W>::within(&self.compiled.machine, &options.limits);
        let model = model.beginning_with(self.inputs);
        let search = droste_explicit::Options {
            order: options.order,
            limits: options.limits.clone(),
            reporter: options.reporter,
            verdict_only: options.evidence == Evidence::Verdict,
            answered: options.answered,
        };
        let Outcome { verdict, stats } = search_model(&model, &self.goal, self.runs, &search);
        let verdict = verdict.map(|violation| violation.map(|trace| self.concrete(trace, guard)));
        Ok((made_concrete(verdict)?, stats))
    }

    fn concrete<W: Words>(
        &self,
        trace: droste_base::Trace<W>,
        guard: &mut Guard,
    ) -> Result<Execution, Gap> {
        let cleaned = self.prepared.cleaned(self.options)?;
        self.prepared.concretize(&cleaned.program, trace, guard)
    }
}

/// A run that the explicit engine finds breadth first, if it has to look at no more than so many path
/// edges. Globals have these values from the start.
pub(crate) fn shortest(
    prepared: &Prepared<'_>,
    options: &Options<'_>,
    path_edges: u64,
    inputs: &[Option<i128>],
) -> Option<Counterexample<Execution>> {
    let mut options = options.clone();
    options.order = droste_explicit::Order::Bfs;
    options.reporter = None;
    options.answered = None;
    // The run that is known has yet to be replayed.
    options.limits = options.limits.with_part_of_time(0.5, None);
    options.limits.path_edges = Some(path_edges);
    match search_from(prepared, &options, Runs::All, inputs)
        .ok()?
        .found
    {
        Verdict::Violated(Ok(short)) => Some(short),
        _ => None,
    }
}
