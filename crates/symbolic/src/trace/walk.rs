//! From the target back to the start, and the states on the way.

use droste_base::{CallId, Position, Run, RunId, Trace, Via};
use droste_bdd::{Bdd, Var};
use droste_blast::decode;
use droste_program::{NodeId, Op, ProcId, Type, VarRef};

use super::Walk;
use super::back::Step;
use super::layers::{Goal, Values};
use droste_program::valued::{Control, Valued};
use droste_relations::{Copy, Result};

impl Walk<'_, '_> {
    /// The run to a target that was met in this round.
    pub(super) fn walk(&mut self, round: u64, goal: &Goal) -> Result<Trace<Valued>> {
        // The main path, backwards: positions with the edge that leads to each.
        let mut path: Vec<Position<Valued>> = Vec::new();
        let (mut node, mut values, mut round) = match goal {
            Goal::At(node, set) | Goal::Stuck(node, set) => (*node, Self::pick(set), round),
            Goal::Refused(node, refused) => {
                let values = Self::pick(refused);
                self.inside(*node, &values, round, &mut path)?;
                let round = self.log.nodes[node.0 as usize].round_of(&values, round);
                (*node, values, round)
            }
            Goal::Fails(node, violation, failing) => {
                let values = Self::pick(failing);
                let mut state = self.valued(*node, &values);
                state.control = Control::Failed(*node, *violation);
                path.push(Position {
                    via: Via::Step,
                    state,
                });
                (*node, values, round)
            }
            Goal::FailsAfter(node, violation, failure) => {
                let (values, fact) = self.joined(*node, None, Some(failure), round + 1)?;
                let mut state = self.valued(*node, &values);
                state.control = Control::Failed(*node, *violation);
                // What the call has changed is not the caller's old value.
                state.globals.fill(None);
                let Op::Call { targets, .. } = &self.search.program.node(*node).op else {
                    unreachable!("a call");
                };
                for target in targets.iter().flatten() {
                    if let VarRef::Local(i) = target {
                        state.locals[*i as usize] = None;
                    }
                }
                path.push(Position {
                    via: Via::Summary(CallId(0), RunId(fact)),
                    state,
                });
                let round = self.log.nodes[node.0 as usize].round_of(&values, round);
                (*node, values, round)
            }
        };
        loop {
            let state = self.valued(node, &values);
            let entry = self
                .search
                .program
                .procedure(self.search.program.node(node).procedure);
            let step = self.back(node, &values, round)?;
            let via = match step {
                Some(Step { via, .. }) => via,
                None if node == entry.entry => Via::Start,
                None => unreachable!("a pair has a predecessor"),
            };
            path.push(Position { via, state });
            let Some(step) = step else { break };
            (node, values, round) = (step.node, step.values, step.round);
        }
        path.reverse();
        let runs = self.runs()?;
        Ok(self.number(Trace {
            runs,
            positions: path,
            cycle: None,
        }))
    }

    /// Adds, backwards, the way inside the callee of a call to the return that the call refuses;
    /// `values` are the caller's and what the callee leaves with.
    fn inside(
        &mut self,
        call: NodeId,
        values: &Values,
        round: u64,
        path: &mut Vec<Position<Valued>>,
    ) -> Result<()> {
        let Op::Call { callee, .. } = self.search.program.node(call).op else {
            unreachable!("a call");
        };
        let mut leaves = self.seen_by_callee(callee, values);
        for i in 0..self.search.program.procedure(callee).results.len() {
            let any = self.search.encoding.any_result(i);
            leaves.0.insert(any, values.get(any));
        }
        let (node, values) = self.before_leaving(callee, &leaves, round)?;
        let round = self.log.nodes[node.0 as usize].round_of(&values, round);
        let entered = Via::Call(CallId(0));
        self.back_to_entry(node, values, round, entered, path)
    }

    /// Adds, backwards, the way from the entry of the procedure to this node; how the entry was
    /// reached is given.
    fn back_to_entry(
        &mut self,
        mut node: NodeId,
        mut values: Values,
        mut round: u64,
        entered: Via,
        path: &mut Vec<Position<Valued>>,
    ) -> Result<()> {
        loop {
            let state = self.valued(node, &values);
            let step = if self.is_entry(node, &values) {
                None
            } else {
                self.back(node, &values, round)?
            };
            let via = step.as_ref().map_or(entered, |step| step.via);
            path.push(Position { via, state });
            match step {
                Some(step) => (node, values, round) = (step.node, step.values, step.round),
                None => return Ok(()),
            }
        }
    }

    /// The runs behind all exits met, in the order in which they were met.
    fn runs(&mut self) -> Result<Vec<Run<Valued>>> {
        let mut runs = Vec::new();
        while runs.len() < self.goals.len() {
            let (procedure, exit, round) = self.goals[runs.len()].clone();
            let (node, values) = self.before_exit(procedure, &exit, round)?;
            let mut positions = Vec::new();
            self.back_to_entry(node, values, round - 1, Via::Start, &mut positions)?;
            positions.reverse();
            let exit = self.exit_state(procedure, &exit);
            runs.push(Run { positions, exit });
        }
        Ok(runs)
    }

    /// Runs get numbers such that each refers to smaller ones: the round of the exit is such an
    /// order.
    fn number(&self, trace: Trace<Valued>) -> Trace<Valued> {
        let mut order: Vec<usize> = (0..trace.runs.len()).collect();
        order.sort_by_key(|&i| self.goals[i].2);
        let mut number = vec![0u32; order.len()];
        for (new, &old) in order.iter().enumerate() {
            number[old] = new as u32;
        }
        let renumber = |positions: &mut Vec<Position<Valued>>| {
            for position in positions {
                if let Via::Summary(call, run) = position.via {
                    position.via = Via::Summary(call, RunId(number[run.0 as usize]));
                }
            }
        };
        let Trace {
            runs,
            mut positions,
            cycle,
        } = trace;
        renumber(&mut positions);
        let mut runs: Vec<Option<Run<Valued>>> = runs.into_iter().map(Some).collect();
        let runs = order
            .iter()
            .filter_map(|&old| runs[old].take())
            .map(|mut run| {
                renumber(&mut run.positions);
                run
            })
            .collect();
        Trace {
            runs,
            positions,
            cycle,
        }
    }

    /// All variables of the diagrams that a set can mention, with the values of one member.
    pub(super) fn pick(set: &Bdd) -> Values {
        let vars = set.support();
        let picked = set.pick(&vars).expect("the set has a member");
        Values(vars.into_iter().zip(picked).collect())
    }

    fn value(&self, procedure: ProcId, var: VarRef, ty: Type, copy: Copy, values: &Values) -> i128 {
        let bits = self.search.encoding.vars(procedure, var, copy);
        decode(ty, code(bits, values))
    }

    /// The state at a node, with the values that matter there.
    fn valued(&self, node: NodeId, values: &Values) -> Valued {
        let program = self.search.program;
        let procedure = program.node(node).procedure;
        let one = |var: VarRef| {
            let ty = program.variable(procedure, var).ty;
            let known = self.search.scope.live.live(node, var) && self.is_inside(procedure, var);
            known.then(|| self.value(procedure, var, ty, Copy::Current, values))
        };
        let globals = (0..program.globals.len() as u32).map(|i| one(VarRef::Global(i)));
        let locals = program.procedure(procedure).locals.len() as u32;
        Valued {
            control: Control::At(node),
            globals: globals.collect(),
            locals: (0..locals).map(|i| one(VarRef::Local(i))).collect(),
        }
    }

    /// Whether sets inside a procedure know about the variable at all.
    pub(super) fn is_inside(&self, procedure: ProcId, var: VarRef) -> bool {
        match var {
            VarRef::Global(i) => {
                procedure == self.search.program.main
                    || self.search.scope.effects.touches(procedure, i)
            }
            VarRef::Local(_) => true,
        }
    }

    fn exit_state(&self, procedure: ProcId, values: &Values) -> Valued {
        let program = self.search.program;
        let globals = (0..program.globals.len() as u32).map(|i| {
            let known = self.search.scope.live.live_at_exit(procedure, i)
                && self.search.scope.effects.touches(procedure, i);
            let ty = program.globals[i as usize].ty;
            known.then(|| self.value(procedure, VarRef::Global(i), ty, Copy::Current, values))
        });
        let globals = globals.collect();
        let results = program.procedure(procedure).results.iter().enumerate();
        let results = results.map(|(i, &ty)| {
            let bits = self.search.encoding.result_vars(procedure, i);
            Some(decode(ty, code(bits, values)))
        });
        Valued {
            control: Control::Exit(procedure),
            globals,
            locals: results.collect(),
        }
    }
}

pub(super) fn code(bits: impl Iterator<Item = Var>, values: &Values) -> u64 {
    bits.enumerate()
        .fold(0, |code, (k, var)| code | u64::from(values.get(var)) << k)
}
