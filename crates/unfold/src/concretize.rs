//! From an engine's trace back to a concrete execution of the program.
//!
//! The engine's states leave open what nothing has read and what cannot matter. Two passes fill in
//! the values:
//!
//! * **Backward** (`plan`): which values are *wanted*, that is, with which values unknown variables
//!   are later read.
//! * **Forward** (`forward`): the original program is executed step by step from the first
//!   position, and every choice is made as wanted.
//!
//! Folded runs are treated once for each different *demand* (set of wanted values), and shared: the
//! result is about as large as the trace. Both passes keep their own stacks, and everything per
//! position is a few bytes in a flat table.
//!
//! A lasso has to come back to the very same values. What the engine left open because it cannot
//! matter may differ after one round, so rounds are added until the values repeat.
//!
//! The result is handed to the replayer, which shares nothing with this code.

mod demands;
mod forward;
mod paths;
mod plan;

use droste_base::{Cycle, Guard, StopReason, Trace};
use droste_program::effects::Effects;
use droste_program::execution::{Ending, Execution};
use droste_program::{Program, Proposition};

use self::forward::Forward;
use self::paths::Paths;
use self::plan::Concretizer;
use crate::machine::Machine;
use crate::words::Words;
use droste_program::liveness::AllLive;

/// Why a trace could not be made concrete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Gap {
    /// The values of a lasso did not repeat within the rounds tried; a search without
    /// the dead-variables pass gives one that does.
    Lasso,
    /// No concrete step matches the trace at this position: a defect in Droste.
    Step(usize),
    /// A limit was reached.
    Stopped(StopReason),
}

impl From<StopReason> for Gap {
    fn from(reason: StopReason) -> Self {
        Gap::Stopped(reason)
    }
}

/// The concrete execution of `program` that `trace` describes. The trace was found in `cleaned`,
/// where these propositions were watched.
pub fn concretize<W: Words>(
    program: &Program,
    cleaned: &Program,
    watched: &[&Proposition],
    trace: Trace<W>,
    guard: &mut Guard,
) -> Result<Execution, Gap> {
    let mut effects = Effects::new(cleaned);
    for proposition in watched {
        effects.watch(proposition);
    }
    concretize_with(program, cleaned, effects, trace, guard)
}

/// [`concretize`] for a run that is stuck at its end. Returns have read what their callers look at:
/// see [`Machine::for_stops`] and [`Effects::with_returns`].
pub fn concretize_stuck<W: Words>(
    program: &Program,
    cleaned: &Program,
    trace: Trace<W>,
    guard: &mut Guard,
) -> Result<Execution, Gap> {
    let effects = Effects::with_returns(cleaned, &[]);
    let mut execution = concretize_with(program, cleaned, effects, trace, guard)?;
    if let Ending::At(node) = execution.ending {
        execution.ending = Ending::Stuck(node);
    }
    Ok(execution)
}

fn concretize_with<W: Words>(
    program: &Program,
    cleaned: &Program,
    effects: Effects,
    trace: Trace<W>,
    guard: &mut Guard,
) -> Result<Execution, Gap> {
    guard.check_now()?;
    let machine = Machine::new(program, &AllLive, true);
    let pumping = trace.cycle.is_some_and(|cycle| cycle.pumping);
    let (paths, start) = Paths::new(trace);
    let mut work = Concretizer::new(cleaned, effects, &machine, paths);
    let plan = work.plan_main(start, guard)?;
    let cycle = start.map(|start| Cycle { start, pumping });
    Forward::new(program, &work, guard).main(&plan, cycle)
}
