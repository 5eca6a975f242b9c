//! A concrete run to a target.
//!
//! A second search goes in rounds ([`rounds`]): everything found in one round takes one more step
//! in the next, and what is new at a node in a round is remembered as a layer ([`layers`]). The
//! first round that meets a target ends it. Then the run is found by walking back from there
//! ([`walk`], [`back`]). A pair has a predecessor that was found in an earlier round; a return has
//! two, the caller and the exit. A state is picked, its predecessors are computed for that one
//! state, and so on to the entry. Inside a summary the same walk leads from the exit to the
//! callee's entry.
//!
//! The run is one with the fewest rounds. But states that are met after different numbers of steps
//! are in different layers. Where branches of different lengths follow each other, layers can be
//! far larger than the sets of the first search, which waits for all branches. If the rounds take
//! much longer than the first search, they are given up. The first search is made again, and
//! remembers in which order it finds things. In this order, too, the predecessors of a pair come
//! before the pair, which is all that the walk relies on. The run is then not necessarily a
//! shortest one.
//!
//! What a call does inside is walked once for each exit met, however often it is used, so that a
//! run of exponentially many steps still has a small trace. The walk costs a few operations on
//! almost constant diagrams per step. The result is made concrete in the program as written and
//! replayed.

mod back;
pub(crate) mod layers;
mod rounds;
mod walk;

use droste_base::Trace;
use droste_blast::decode;
use droste_program::effects::Effects;
use droste_program::valued::Valued;
use droste_program::{ProcId, VarRef};
use droste_relations::{Copy, Result};
use rustc_hash::FxHashMap;

use crate::search::Search;
use crate::{Inputs, Stats, Tuning};
use layers::{Goal, Log, Values};

struct Walk<'s, 'a> {
    search: &'s mut Search<'a>,
    log: Log,
    /// Exits met while walking back, and the runs behind them.
    facts: FxHashMap<(ProcId, Vec<bool>), u32>,
    goals: Vec<(ProcId, Values, u64)>,
}

/// What one run to the goal begins with, of the globals that are never written: those that the set
/// at the goal tells. In the others this run may have any values.
pub(crate) fn inputs(search: &Search<'_>, goal: &Goal) -> Inputs {
    let program = search.program;
    let mut inputs = vec![None; program.globals.len()];
    let (Goal::At(node, set) | Goal::Fails(node, _, set) | Goal::Stuck(node, set)) = goal else {
        return inputs;
    };
    let procedure = program.node(*node).procedure;
    let written = Effects::written(program);
    let values = Walk::pick(set);
    for (i, (variable, input)) in (0..).zip(program.globals.iter().zip(&mut inputs)) {
        let global = VarRef::Global(i);
        let is_told = search.scope.keeps(*node, global)
            && (procedure == program.main || search.scope.effects.touches(procedure, i));
        if is_told && !written.touches(program.main, i) {
            let bits = search.encoding.vars(procedure, global, Copy::Current);
            *input = Some(decode(variable.ty, walk::code(bits, &values)));
        }
    }
    inputs
}

/// A run to a target. The search has found that there is one.
pub(crate) fn trace(
    mut search: Search<'_>,
    tuning: Tuning,
    stats: &mut Stats,
) -> Result<Trace<Valued>> {
    let steps = search.encoding.manager.steps();
    search.forget();
    let mut rounds = rounds::Rounds {
        log: Log::new(search.program),
        leaves: vec![search.nothing.clone(); search.program.procedures.len()],
        last_step: steps
            .saturating_mul(1 + tuning.shortest_times)
            .saturating_add(tuning.shortest_plus),
        search: &mut search,
    };
    let shortest = rounds.run()?;
    let (round, goal, log) = if let Some((round, goal)) = shortest {
        stats.rounds = round;
        (round, goal, rounds.log)
    } else {
        drop(rounds);
        search.count(stats);
        search.forget();
        search.log = Some(Log::new(search.program));
        let found = search.run()?;
        let log = search.log.take();
        let ((round, goal), log) = found.zip(log).expect("what was found is found again");
        (round, goal, log)
    };
    let mut walk = Walk {
        search: &mut search,
        log,
        facts: FxHashMap::default(),
        goals: Vec::new(),
    };
    let trace = walk.walk(round, &goal)?;
    search.count(stats);
    Ok(trace)
}
