//! From post* to an answer.
//!
//! The automaton of post* has a state for the start and one for each procedure that is called. The
//! transition from the control state on a node says how values at the node depend on those with
//! which its procedure began. The transitions between the other states say with which values
//! procedures are called. So the values with which each procedure begins are a fixed point over few
//! states, and the values at a node are an image of them.

//!
//! By path expressions, weights are lazy: procedures are taken one after the other, from `main` on, and only
//! the weights that their beginnings and the question need are evaluated. The search ends when a target is
//! met. In chaotic iteration what has been found so far is looked at now and then: weights only grow, so a
//! target that is met then is also met in the end.

use std::cell::RefCell;
use std::collections::VecDeque;

use droste_bdd::Bdd;
use droste_pds::{
    Automaton, Direction, Domain as _, LazyAutomaton, Method, Options, StateId, SymbolId,
    Transition, poststar_lazy, poststar_until,
};
use droste_program::{NodeId, Op, ProcId};
use droste_relations::{Action, Call, Query, Relation, Resumed};

use crate::domain::{Relations, Result, Weight};
use crate::system::{CONTROL, System};

/// The state after the start.
const END: StateId = StateId(1);

/// What post* has found.
enum Found<'l, 't> {
    Whole(&'l Automaton<Weight>),
    Lazy(Box<RefCell<LazyAutomaton<'l, Relations<'t>>>>),
}

impl Found<'_, '_> {
    fn states(&self) -> u32 {
        match self {
            Found::Whole(found) => found.states(),
            Found::Lazy(found) => found.borrow().states(),
        }
    }

    fn transitions(&self) -> Vec<Transition> {
        match self {
            Found::Whole(found) => found.iter().map(|(transition, _)| transition).collect(),
            Found::Lazy(found) => found.borrow().transitions().collect(),
        }
    }

    fn weight(&self, domain: &Relations<'_>, transition: Transition) -> Result<Weight> {
        match self {
            Found::Whole(found) => {
                let weight = found.weight(transition).cloned();
                Ok(weight.unwrap_or_else(|| domain.zero()))
            }
            Found::Lazy(found) => found.borrow_mut().weight(transition),
        }
    }
}

pub(crate) struct Answer<'s, 'a, 't> {
    system: &'s System<'a>,
    domain: &'s Relations<'t>,
    query: Query<'s>,
    /// For each node, the states it leads to.
    at: Vec<Vec<StateId>>,
    /// For each state, the values with which its procedure begins.
    begins: Vec<Weight>,
}

impl<'s, 'a, 't> Answer<'s, 'a, 't> {
    pub(crate) fn new(system: &'s System<'a>, domain: &'s Relations<'t>, query: Query<'s>) -> Self {
        Answer {
            at: Vec::new(),
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
        let (domain, pds) = (self.domain, &self.system.pds);
        let start = self.start()?;
        if options.method == Method::Paths {
            let lazy = poststar_lazy(domain, pds, &start, options)?;
            return self.ask(&Found::Lazy(Box::new(RefCell::new(lazy))), u64::MAX);
        }
        let (mut met, mut next) = (false, 0);
        let found = poststar_until(domain, pds, &start, options, |so_far| {
            // Looking takes at most half of what finding has taken so far.
            let spent = domain.products();
            if spent >= next {
                met = self.ask(&Found::Whole(so_far), spent + spent / 2)?;
                next = 2 * domain.products();
            }
            Ok(met)
        })?;
        if met {
            return Ok(true);
        }
        self.ask(&Found::Whole(&found), u64::MAX)
    }

    fn start(&self) -> Result<Automaton<Weight>> {
        let program = self.system.scope.program;
        let main = SymbolId(program.procedure(program.main).entry.0);
        let mut start = Automaton::new(1, Direction::Backward);
        start.state();
        start.accept(self.domain, END, self.domain.one())?;
        let first = Transition::new(CONTROL, main, END);
        start.add(self.domain, first, self.system.initial.clone())?;
        Ok(start)
    }

    /// Whether what is looked for is among what has been found: procedure by procedure, from the
    /// start on. It gives up after some products.
    fn ask(&mut self, found: &Found<'_, '_>, most: u64) -> Result<bool> {
        let nodes = self.system.scope.program.nodes.len();
        let states = found.states() as usize;
        self.at = vec![Vec::new(); nodes];
        // For each state, those that are called from there, and its nodes.
        let mut calls: Vec<Vec<Transition>> = vec![Vec::new(); states];
        let mut inside: Vec<Vec<NodeId>> = vec![Vec::new(); states];
        for transition in found.transitions() {
            let Transition { from, symbol, to } = transition;
            if from != CONTROL {
                calls[to.0 as usize].push(transition);
            } else if symbol != SymbolId::EPSILON
                && let Some(at) = self.at.get_mut(symbol.0 as usize)
            {
                at.push(to);
                inside[to.0 as usize].push(NodeId(symbol.0));
            }
        }
        let mut targets = vec![false; nodes];
        if !self.query.stops {
            for target in self.query.targets {
                targets[target.0 as usize] = true;
            }
        }
        self.begins = vec![self.domain.zero(); states];
        let mut news = self.begins.clone();
        self.begins[END.0 as usize] = self.domain.one();
        news[END.0 as usize] = self.domain.one();
        // A procedure that begins with other values than before is asked again, at the end.
        let (mut is_seen, mut again) = (vec![false; states], vec![false; states]);
        let mut work = VecDeque::from([END]);
        while let Some(state) = work.pop_front() {
            if self.domain.products() > most {
                return Ok(false);
            }
            let place = state.0 as usize;
            let new = std::mem::replace(&mut news[place], self.domain.zero());
            if std::mem::replace(&mut is_seen[place], true) {
                again[place] = true;
            } else if self.is_inside(found, &inside[place], &targets)? {
                return Ok(true);
            }
            for &transition in &calls[place] {
                let weight = found.weight(self.domain, transition)?;
                let values = self.domain.extend(&new, &weight)?;
                let callee = transition.from.0 as usize;
                let known = &mut self.begins[callee];
                let more = self.domain.diff(&values, known)?;
                if self.domain.is_zero(&more) {
                    continue;
                }
                *known = self.domain.combine(known, &more)?;
                let waiting = &mut news[callee];
                if self.domain.is_zero(waiting) {
                    work.push_back(transition.from);
                }
                *waiting = self.domain.combine(waiting, &more)?;
            }
        }
        for (nodes, again) in inside.iter().zip(again) {
            if again && self.is_inside(found, nodes, &targets)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether something is met at one of these nodes.
    fn is_inside(&self, found: &Found<'_, '_>, nodes: &[NodeId], targets: &[bool]) -> Result<bool> {
        for &node in nodes {
            if targets[node.0 as usize] && !self.values(found, node)?.is_false() {
                return Ok(true);
            }
            if let Some(relation) = &self.system.relations[node.0 as usize]
                && self.is_met(found, node, relation)?
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The values with which control comes to a node.
    fn values(&self, found: &Found<'_, '_>, node: NodeId) -> Result<Bdd> {
        let mut all = self.domain.zero();
        for &state in &self.at[node.0 as usize] {
            let begins = &self.begins[state.0 as usize];
            if self.domain.is_zero(begins) {
                continue;
            }
            let way = Transition::new(CONTROL, SymbolId(node.0), state);
            let values = self
                .domain
                .extend(begins, &found.weight(self.domain, way)?)?;
            all = self.domain.combine(&all, &values)?;
        }
        Ok(all.diagram)
    }

    /// Whether something happens at a node that is looked for: a violation, or nothing at all.
    fn is_met(&self, found: &Found<'_, '_>, node: NodeId, relation: &Relation) -> Result<bool> {
        let call = match &relation.action {
            Action::Call(call) if !call.back.failures.is_empty() || call.refuses.is_some() => {
                Some(call)
            }
            _ => None,
        };
        if relation.failures.is_empty() && relation.stuck.is_none() && call.is_none() {
            return Ok(false);
        }
        let values = self.values(found, node)?;
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
            Some(call) => self.fails_behind(found, node, call, &values),
            None => Ok(false),
        }
    }

    /// Whether storing the results of a call can fail, or whether the caller can refuse a return.
    fn fails_behind(
        &self,
        found: &Found<'_, '_>,
        node: NodeId,
        call: &Call,
        values: &Bdd,
    ) -> Result<bool> {
        let encoding = &self.system.layout.encoding;
        let callers = call.prepare(values)?;
        if !call.back.failures.is_empty() {
            let exits = self.exits(found, (node, call.callee), |relation| {
                match &relation.action {
                    Action::Return(parts) => Some(parts),
                    _ => None,
                }
            })?;
            if let Resumed::Fails { .. } = call.resume(encoding, &callers, &exits)? {
                return Ok(true);
            }
        }
        if call.refuses.is_none() {
            return Ok(false);
        }
        let leaves = self.exits(found, (node, call.callee), |relation| {
            relation.leaving.as_ref()
        })?;
        Ok(!call.refused(encoding, &callers, &leaves)?.is_false())
    }

    /// What the callee of a call leaves with, whatever it began with: over its entry, its globals,
    /// and what `parts` says about results.
    fn exits(
        &self,
        found: &Found<'_, '_>,
        (call, callee): (NodeId, ProcId),
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
            for &state in self.at[i].iter().filter(|state| **state != END) {
                let way = Transition::new(CONTROL, SymbolId(i as u32), state);
                let weight = found.weight(self.domain, way)?;
                let mut lifted = self.domain.lifted(&weight, &frame)?;
                for part in parts {
                    lifted.diagram = lifted.diagram.and(part)?;
                }
                all = all.or(&function.exits(self.domain, &lifted)?)?;
            }
        }
        Ok(all)
    }
}
