//! From post* to an answer.
//!
//! The automaton of post* has a state for the start and one for each procedure that is called. The
//! transition from the control state on a node says how values at the node depend on those with
//! which its procedure began. The transitions between the other states say with which values
//! procedures are called. So the values with which each procedure begins are a fixed point over few
//! states, and the values at a node are an image of them.

use droste_bdd::Bdd;
use droste_pds::{
    Automaton, Direction, Domain as _, Options, StateId, SymbolId, Transition, poststar,
};
use droste_program::{NodeId, Op, ProcId};
use droste_relations::{Action, Call, Query, Relation, Resumed};

use crate::domain::{Relations, Result, Weight};
use crate::system::{CONTROL, System};

/// The state after the start.
const END: StateId = StateId(1);

pub(crate) struct Answer<'s, 'a, 't> {
    system: &'s System<'a>,
    domain: &'s Relations<'t>,
    query: Query<'s>,
    /// For each node, the states it leads to, and how its values depend on those at the beginning.
    at: Vec<Vec<(StateId, Weight)>>,
    /// For each state, the values with which its procedure begins.
    begins: Vec<Weight>,
}

impl<'s, 'a, 't> Answer<'s, 'a, 't> {
    pub(crate) fn new(system: &'s System<'a>, domain: &'s Relations<'t>, query: Query<'s>) -> Self {
        Answer {
            at: vec![Vec::new(); system.scope.program.nodes.len()],
            begins: Vec::new(),
            system,
            domain,
            query,
        }
    }

    /// How many nodes control comes to, if data is left out of account in part.
    pub(crate) fn nodes_reached(&self) -> u64 {
        self.at.iter().filter(|at| !at.is_empty()).count() as u64
    }

    /// Whether what is looked for can be met.
    pub(crate) fn find(&mut self, options: &Options) -> Result<bool> {
        let found = self.saturate(options)?;
        self.spread(&found)?;
        let program = self.system.scope.program;
        if !self.query.stops {
            for &target in self.query.targets {
                if !self.values(target)?.is_false() {
                    return Ok(true);
                }
            }
        }
        for node in (0..program.nodes.len() as u32).map(NodeId) {
            if let Some(relation) = &self.system.relations[node.0 as usize]
                && self.is_met(node, relation)?
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn saturate(&self, options: &Options) -> Result<Automaton<Weight>> {
        let program = self.system.scope.program;
        let main = SymbolId(program.procedure(program.main).entry.0);
        let mut start = Automaton::new(1, Direction::Backward);
        start.state();
        start.accept(self.domain, END, self.domain.one())?;
        let first = Transition::new(CONTROL, main, END);
        start.add(self.domain, first, self.system.initial.clone())?;
        poststar(self.domain, &self.system.pds, &start, options)
    }

    /// The values with which procedures begin.
    fn spread(&mut self, found: &Automaton<Weight>) -> Result<()> {
        let states = found.states() as usize;
        // For each state, those that are called from there, and with which values.
        let mut calls: Vec<Vec<(StateId, &Weight)>> = vec![Vec::new(); states];
        for (Transition { from, symbol, to }, weight) in found.iter() {
            if from != CONTROL {
                calls[to.0 as usize].push((from, weight));
            } else if symbol != SymbolId::EPSILON
                && let Some(at) = self.at.get_mut(symbol.0 as usize)
            {
                at.push((to, weight.clone()));
            }
        }
        self.begins = vec![self.domain.zero(); states];
        let mut news = self.begins.clone();
        self.begins[END.0 as usize] = self.domain.one();
        news[END.0 as usize] = self.domain.one();
        let mut work = vec![END];
        while let Some(state) = work.pop() {
            let new = std::mem::replace(&mut news[state.0 as usize], self.domain.zero());
            for &(callee, weight) in &calls[state.0 as usize] {
                let values = self.domain.extend(&new, weight)?;
                let known = &mut self.begins[callee.0 as usize];
                let more = self.domain.diff(&values, known)?;
                if self.domain.is_zero(&more) {
                    continue;
                }
                *known = self.domain.combine(known, &more)?;
                let waiting = &mut news[callee.0 as usize];
                if self.domain.is_zero(waiting) {
                    work.push(callee);
                }
                *waiting = self.domain.combine(waiting, &more)?;
            }
        }
        Ok(())
    }

    /// The values with which control comes to a node.
    fn values(&self, node: NodeId) -> Result<Bdd> {
        let mut all = self.domain.zero();
        for (state, weight) in &self.at[node.0 as usize] {
            let values = self.domain.extend(&self.begins[state.0 as usize], weight)?;
            all = self.domain.combine(&all, &values)?;
        }
        Ok(all.diagram)
    }

    /// Whether something happens at a node that is looked for: a violation, or nothing at all.
    fn is_met(&self, node: NodeId, relation: &Relation) -> Result<bool> {
        let call = match &relation.action {
            Action::Call(call) if !call.back.failures.is_empty() || call.refuses.is_some() => {
                Some(call)
            }
            _ => None,
        };
        if relation.failures.is_empty() && relation.stuck.is_none() && call.is_none() {
            return Ok(false);
        }
        let values = self.values(node)?;
        if values.is_false() {
            return Ok(false);
        }
        let failures = relation.failures.iter().map(|(_, failure)| failure);
        for bad in failures.chain(&relation.stuck) {
            if !values.and(bad)?.is_false() {
                return Ok(true);
            }
        }
        match call {
            Some(call) => self.fails_behind(node, call, &values),
            None => Ok(false),
        }
    }

    /// Whether storing the results of a call can fail, or whether the caller can refuse a return.
    fn fails_behind(&self, node: NodeId, call: &Call, values: &Bdd) -> Result<bool> {
        let encoding = &self.system.layout.encoding;
        let callers = call.prepare(values)?;
        if !call.back.failures.is_empty() {
            let exits = self.exits(node, call.callee, |relation| match &relation.action {
                Action::Return(parts) => Some(parts),
                _ => None,
            })?;
            if let Resumed::Fails { .. } = call.resume(encoding, &callers, &exits)? {
                return Ok(true);
            }
        }
        if call.refuses.is_none() {
            return Ok(false);
        }
        let leaves = self.exits(node, call.callee, |relation| relation.leaving.as_ref())?;
        Ok(!call.refused(encoding, &callers, &leaves)?.is_false())
    }

    /// What the callee of a call leaves with, whatever it began with: over its entry, its globals,
    /// and what `parts` says about results.
    fn exits(
        &self,
        call: NodeId,
        callee: ProcId,
        parts: impl Fn(&Relation) -> Option<&Vec<Bdd>>,
    ) -> Result<Bdd> {
        let System { scope, layout, .. } = self.system;
        let function = self.domain.merge_function(self.system.merges[&call]);
        let touched = scope.vars(callee).filter(|&var| scope.touches(callee, var));
        let frame = touched.fold(layout.locals.clone(), |frame, var| {
            frame.or(&layout.places(callee, var))
        });
        let mut all = layout.encoding.manager.constant(false);
        for (i, node) in scope.program.nodes.iter().enumerate() {
            if node.procedure != callee || !matches!(node.op, Op::Return(_)) {
                continue;
            }
            let relation = self.system.relations[i].as_deref();
            let Some(parts) = relation.and_then(&parts) else {
                continue;
            };
            for (_, weight) in self.at[i].iter().filter(|(state, _)| *state != END) {
                let mut lifted = self.domain.lifted(weight, &frame)?;
                for part in parts {
                    lifted.diagram = lifted.diagram.and(part)?;
                }
                all = all.or(&function.exits(self.domain, &lifted)?)?;
            }
        }
        Ok(all)
    }
}
