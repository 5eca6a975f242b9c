//! One step back: what leads to a pair, for that one pair.

use std::rc::Rc;

use droste_base::{CallId, RunId, Via};
use droste_bdd::{Bdd, Var};
use droste_program::{NodeId, Op, ProcId, VarRef};
use droste_relations::{Action, Call, Copy, Edge, Relation, Result};
use rustc_hash::FxHashMap;

use super::Walk;
use super::layers::Values;

/// One step back.
pub(super) struct Step {
    pub(super) node: NodeId,
    pub(super) values: Values,
    pub(super) round: u64,
    pub(super) via: Via,
}

impl Walk<'_, '_> {
    /// Bits that the set at a node distinguishes: entry copies of what enters, and current copies
    /// of what is kept, as literals of one state.
    fn literals(&self, node: NodeId, values: &Values) -> Vec<(Var, bool)> {
        let procedure = self.search.program.node(node).procedure;
        let mut literals = self.entry_literals(procedure, values);
        for var in self.search.scope.vars(procedure) {
            if self.search.scope.keeps(node, var) && self.is_inside(procedure, var) {
                let bits = self.search.encoding.vars(procedure, var, Copy::Current);
                literals.extend(bits.map(|bit| (bit, values.get(bit))));
            }
        }
        literals
    }

    /// Whether entry values are part of the sets of a procedure.
    fn has_entry(&self, procedure: ProcId) -> bool {
        procedure != self.search.program.main
            || !self.search.callers[procedure.0 as usize].is_empty()
    }

    fn entry_literals(&self, procedure: ProcId, values: &Values) -> Vec<(Var, bool)> {
        if !self.has_entry(procedure) {
            return Vec::new();
        }
        let mut literals = Vec::new();
        for var in self.search.scope.vars(procedure) {
            if self.search.scope.enters(procedure, var) {
                let bits = self.search.encoding.vars(procedure, var, Copy::Entry);
                literals.extend(bits.map(|bit| (bit, values.get(bit))));
            }
        }
        literals
    }

    /// Whether the pair is one of those a call begins with.
    pub(super) fn is_entry(&mut self, node: NodeId, values: &Values) -> bool {
        let procedure = self.search.program.node(node).procedure;
        if node != self.search.program.procedure(procedure).entry {
            return false;
        }
        // Equal entry and current values, wherever both matter.
        self.search.scope.vars(procedure).all(|var| {
            !self.search.scope.enters(procedure, var)
                || self
                    .search
                    .encoding
                    .vars(procedure, var, Copy::Entry)
                    .zip(self.search.encoding.vars(procedure, var, Copy::Current))
                    .all(|(entry, current)| values.get(entry) == values.get(current))
        })
    }

    /// The predecessor of a pair found in `round`, which is not the first.
    pub(super) fn back(
        &mut self,
        node: NodeId,
        values: &Values,
        round: u64,
    ) -> Result<Option<Step>> {
        if round == 0 {
            return Ok(None);
        }
        let program = self.search.program;
        let procedure = program.node(node).procedure;
        let before = round - 1;
        // A step or a return within the procedure.
        for (from, relation) in self.predecessors(node)? {
            match &relation.action {
                Action::Steps(edges) => {
                    let Some(set) = self.log.nodes[from.0 as usize].up_to(before).cloned() else {
                        continue;
                    };
                    for edge in edges.iter().filter(|edge| edge.to == node) {
                        let set = self.step_back(edge, node, values, &set)?;
                        if !set.is_false() {
                            return Ok(Some(self.step(from, Self::pick(&set), before, Via::Step)));
                        }
                    }
                }
                Action::Call(_) => {
                    if let Some((values, fact)) = self.try_join(from, Some(values), None, round)? {
                        let via = Via::Summary(CallId(0), RunId(fact));
                        return Ok(Some(self.step(from, values, before, via)));
                    }
                }
                Action::Return(_) => {}
            }
        }
        // A call of the procedure.
        for from in self.search.callers[procedure.0 as usize].clone() {
            let Some(set) = self.log.nodes[from.0 as usize].up_to(before).cloned() else {
                continue;
            };
            let relation = self.search.relation(from)?;
            let Action::Call(call) = &relation.action else {
                continue;
            };
            let entry = self.entry_literals(procedure, values);
            let seen: Vec<(Var, bool)> = self
                .search
                .scope
                .vars(procedure)
                .filter(|&var| self.search.scope.enters(procedure, var))
                .flat_map(|var| {
                    let copy = match var {
                        VarRef::Global(_) => Copy::Current,
                        VarRef::Local(_) => Copy::Next,
                    };
                    self.search.encoding.vars(procedure, var, copy)
                })
                .zip(entry)
                .map(|(var, (_, value))| (var, value))
                .collect();
            let seen = self.search.encoding.manager.minterm(seen)?;
            let mut set = set.and(&seen)?;
            for argument in &call.arguments {
                set = set.and(&argument.and(&seen)?)?;
            }
            if !set.is_false() {
                return Ok(Some(self.step(
                    from,
                    Self::pick(&set),
                    before,
                    Via::Call(CallId(0)),
                )));
            }
        }
        Ok(None)
    }

    /// To these values, found not after the round `before`.
    fn step(&self, node: NodeId, values: Values, before: u64, via: Via) -> Step {
        let round = self.log.nodes[node.0 as usize].round_of(&values, before);
        Step {
            node,
            values,
            round,
            via,
        }
    }

    /// Nodes from which control can come, within the procedure.
    fn predecessors(&mut self, node: NodeId) -> Result<Vec<(NodeId, Rc<Relation>)>> {
        let program = self.search.program;
        let mut out = Vec::new();
        for from in self.search.predecessors(node).to_vec() {
            let mut leads = false;
            program
                .node(from)
                .op
                .for_each_next(|to| leads |= to == node);
            if leads && !self.log.nodes[from.0 as usize].is_empty() {
                out.push((from, self.search.relation(from)?));
            }
        }
        Ok(out)
    }

    /// The pairs of `set` from which the edge leads to this pair, with next values.
    fn step_back(&mut self, edge: &Edge, node: NodeId, values: &Values, set: &Bdd) -> Result<Bdd> {
        let manager = self.search.encoding.manager.clone();
        let renamed: FxHashMap<Var, Var> = edge.moves.iter().map(|&(a, b)| (b, a)).collect();
        let mut fixed = Vec::new();
        let mut after = Vec::new();
        for (var, value) in self.literals(node, values) {
            if let Some(&next) = renamed.get(&var) {
                after.push((next, value));
            } else if !edge.written.contains(&var) {
                fixed.push((var, value));
            }
        }
        let mut set = set.and(&manager.minterm(fixed)?)?;
        let after = manager.minterm(after)?;
        for part in &edge.parts {
            set = set.and(&part.relation.and(&after)?)?;
        }
        Ok(set)
    }

    /// A caller and an exit of its callee, found in time for `round`, that lead to this pair after
    /// the call, or to a failure while the results are stored.
    pub(super) fn joined(
        &mut self,
        from: NodeId,
        values: Option<&Values>,
        failure: Option<&Bdd>,
        round: u64,
    ) -> Result<(Values, u32)> {
        let found = self.try_join(from, values, failure, round)?;
        Ok(found.expect("caller and exit were found before"))
    }

    fn try_join(
        &mut self,
        from: NodeId,
        values: Option<&Values>,
        failure: Option<&Bdd>,
        round: u64,
    ) -> Result<Option<(Values, u32)>> {
        let relation = self.search.relation(from)?;
        let Action::Call(call) = &relation.action else {
            return Ok(None);
        };
        let before = round - 1;
        let callee = call.callee;
        let callers = self.log.nodes[from.0 as usize].up_to(before).cloned();
        let exits = self.log.exits[callee.0 as usize].up_to(before).cloned();
        let (Some(callers), Some(exits)) = (callers, exits) else {
            return Ok(None);
        };
        let all = self.join_back(call, values, failure, &callers, &exits)?;
        if all.is_false() {
            return Ok(None);
        }
        let picked = Self::pick(&all);
        let fact = self.fact(callee, &picked, before);
        Ok(Some((picked, fact)))
    }

    /// Callers with the exits (over current globals and next locals as the callee's entry, next
    /// globals and results as its exit) that lead to the given pair.
    fn join_back(
        &mut self,
        call: &Call,
        values: Option<&Values>,
        failure: Option<&Bdd>,
        callers: &Bdd,
        exits: &Bdd,
    ) -> Result<Bdd> {
        let manager = self.search.encoding.manager.clone();
        let exits = exits.rename(&self.search.encoding.leave)?;
        let back = &call.back;
        let mut all = callers.clone();
        let mut exits = exits;
        // New values that a relation stores; their copies stand for something else in the exits.
        let mut stored = Vec::new();
        if let Some(values) = values {
            // Where each bit of the pair was before it was moved to its place.
            let moved: FxHashMap<Var, Var> = back.moves.iter().map(|&(a, b)| (b, a)).collect();
            let (mut fixed, mut new) = (Vec::new(), Vec::new());
            for (var, value) in self.literals(back.to, values) {
                match moved.get(&var) {
                    Some(source) if back.targets.contains(source) => stored.push((*source, value)),
                    Some(&source) => new.push((source, value)),
                    None => fixed.push((var, value)),
                }
            }
            all = all.and(&manager.minterm(fixed)?)?;
            exits = exits.and(&manager.minterm(new)?)?;
        }
        for argument in &call.arguments {
            all = all.and(argument)?;
        }
        all = all.and(&exits)?;
        if let Some(failure) = failure {
            return all.and(failure);
        }
        if let Some((store, _)) = &back.store {
            let targets = manager.cube(&back.targets)?;
            all = all.and(&store.and_exists(&manager.minterm(stored)?, &targets)?)?;
        }
        Ok(all)
    }

    /// What a joined caller and exit say, seen from the callee: values at its entry, globals now,
    /// and results.
    pub(super) fn seen_by_callee(&self, callee: ProcId, joined: &Values) -> Values {
        let program = self.search.program;
        let encoding = &self.search.encoding;
        let mut values = Values::default();
        let mut copy = |to: Var, from: Var| {
            values.0.insert(to, joined.get(from));
        };
        for var in self.search.scope.vars(callee) {
            if self.search.scope.enters(callee, var) {
                let source = match var {
                    VarRef::Global(_) => Copy::Current,
                    VarRef::Local(_) => Copy::Next,
                };
                let entry = encoding.vars(callee, var, Copy::Entry);
                entry
                    .zip(encoding.vars(callee, var, source))
                    .for_each(|(to, from)| copy(to, from));
            }
        }
        for i in 0..program.globals.len() as u32 {
            if self.search.scope.effects.touches(callee, i) {
                let var = VarRef::Global(i);
                let current = encoding.vars(callee, var, Copy::Current);
                current
                    .zip(encoding.vars(callee, var, Copy::Next))
                    .for_each(|(to, from)| copy(to, from));
            }
        }
        for i in 0..program.procedure(callee).results.len() {
            encoding
                .result_vars(callee, i)
                .for_each(|bit| copy(bit, bit));
        }
        values
    }

    /// The exit that goes with a joined caller, among those met. It was found not after the round
    /// `before`.
    fn fact(&mut self, callee: ProcId, joined: &Values, before: u64) -> u32 {
        let values = self.seen_by_callee(callee, joined);
        let mut key: Vec<(Var, bool)> =
            values.0.iter().map(|(&var, &value)| (var, value)).collect();
        key.sort_unstable();
        let key = key.into_iter().map(|(_, value)| value).collect();
        let next = self.goals.len() as u32;
        let id = *self.facts.entry((callee, key)).or_insert(next);
        if id == next {
            let round = self.log.exits[callee.0 as usize].round_of(&values, before);
            self.goals.push((callee, values, round));
        }
        id
    }

    /// The values of an exit as literals: at the entry, of globals that matter, and results.
    fn exit_literals(&self, procedure: ProcId, exit: &Values) -> Vec<(Var, bool)> {
        let program = self.search.program;
        let mut literals = self.entry_literals(procedure, exit);
        for i in 0..program.globals.len() as u32 {
            if self.search.scope.effects.touches(procedure, i)
                && self.search.scope.leaves(procedure, i)
            {
                let bits = self
                    .search
                    .encoding
                    .vars(procedure, VarRef::Global(i), Copy::Current);
                literals.extend(bits.map(|bit| (bit, exit.get(bit))));
            }
        }
        for i in 0..program.procedure(procedure).results.len() {
            let bits = self.search.encoding.result_vars(procedure, i);
            literals.extend(bits.map(|bit| (bit, exit.get(bit))));
        }
        literals
    }

    /// The returns of a procedure.
    fn returns(&self, procedure: ProcId) -> impl Iterator<Item = NodeId> + use<'_> {
        let nodes = (0..).map(NodeId).zip(&self.search.program.nodes);
        nodes
            .filter(move |(_, node)| {
                node.procedure == procedure && matches!(node.op, Op::Return(_))
            })
            .map(|(id, _)| id)
    }

    /// The pair that returned with this exit.
    pub(super) fn before_exit(
        &mut self,
        procedure: ProcId,
        exit: &Values,
        round: u64,
    ) -> Result<(NodeId, Values)> {
        let literals = self.exit_literals(procedure, exit);
        let seen = self.search.encoding.manager.minterm(literals)?;
        for node in self.returns(procedure).collect::<Vec<_>>() {
            let Some(set) = self.log.nodes[node.0 as usize].at(round - 1).cloned() else {
                continue;
            };
            let relation = self.search.relation(node)?;
            if let Action::Return(parts) = &relation.action
                && let Some(values) = Self::pick_before(&set, parts, &seen)?
            {
                return Ok((node, values));
            }
        }
        unreachable!("an exit has a return behind it")
    }

    /// The pair that leaves with this description of its results, found up to `round`.
    pub(super) fn before_leaving(
        &mut self,
        procedure: ProcId,
        leaves: &Values,
        round: u64,
    ) -> Result<(NodeId, Values)> {
        let mut literals = self.exit_literals(procedure, leaves);
        for i in 0..self.search.program.procedure(procedure).results.len() {
            let any = self.search.encoding.any_result(i);
            literals.push((any, leaves.get(any)));
        }
        let seen = self.search.encoding.manager.minterm(literals)?;
        for node in self.returns(procedure).collect::<Vec<_>>() {
            let Some(set) = self.log.nodes[node.0 as usize].up_to(round).cloned() else {
                continue;
            };
            let relation = self.search.relation(node)?;
            if let Some(parts) = &relation.leaving
                && let Some(values) = Self::pick_before(&set, parts, &seen)?
            {
                return Ok((node, values));
            }
        }
        unreachable!("what was left with has a return behind it")
    }

    /// A pair of the set that the relation, in conjuncts, relates to what is seen.
    fn pick_before(set: &Bdd, parts: &[Bdd], seen: &Bdd) -> Result<Option<Values>> {
        let mut set = set.and(seen)?;
        for part in parts {
            set = set.and(&part.and(seen)?)?;
        }
        Ok((!set.is_false()).then(|| Self::pick(&set)))
    }
}
