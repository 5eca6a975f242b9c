//! From an engine's trace back to a concrete execution of the program.
//!
//! The engine's states leave open what nobody has read and what cannot matter. Two passes close
//! the gaps:
//!
//! * **Backward**, what is *wanted* (`plan`): the values that unknown variables are later read with.
//! * **Forward**, the run itself (`forward`): the original program is executed step by step from
//!   the first position, and every choice is made as it is wanted.
//!
//! Folded runs are treated once for each different demand made on them, and shared: the result is about as
//! large as the trace. Both passes keep their own stacks.
//!
//! A lasso has to come back to the very same values. What the engine left open because it cannot
//! matter may differ after one round, so rounds are added until the values repeat.
//!
//! The result is handed to the replayer, which shares nothing with this code.

mod forward;
mod plan;

use droste_base::{Steps, Trace};
use droste_lang::execution::Execution;
use droste_lang::program::Program;
use rustc_hash::FxHashMap;

use self::forward::Forward;
use self::plan::{Concretizer, Path};
use crate::machine::Machine;
use crate::words::Words;
use droste_lang::effects::Effects;
use droste_lang::liveness::AllLive;

/// Why a trace could not be made concrete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gap {
    /// The values of a lasso did not repeat within the rounds tried; a search without
    /// the dead-variables pass gives one that does.
    Lasso,
    /// No concrete step matches the trace at this position: a fault of ours.
    Step(usize),
}

/// The concrete execution of `program` that `trace` describes, which was found in `cleaned`.
pub fn concretize<W: Words>(
    program: &Program,
    cleaned: &Program,
    trace: &Trace<W>,
) -> Result<Execution, Gap> {
    let machine = Machine::new(program, &AllLive, true);
    let runs = trace
        .runs
        .iter()
        .map(|run| Path::new(&run.positions))
        .collect();
    let exits = trace.runs.iter().map(|run| &run.exit).collect();
    let main = Path::new(&trace.positions);
    let mut work = Concretizer {
        cleaned,
        effects: Effects::new(cleaned),
        machine: &machine,
        runs,
        exits,
        plans: Vec::new(),
        known: FxHashMap::default(),
    };
    let plan = work.plan_main(&main, trace.cycle);
    Forward {
        work: &work,
        steps: Steps::new(),
        runs: Vec::new(),
        known: FxHashMap::default(),
    }
    .main(&main, &plan, trace.cycle)
}
