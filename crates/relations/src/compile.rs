//! From the operation of a node to its [`Relation`]. Calls and returns into callers are in `call`,
//! and in `frame` where the caller's frame is kept beside the callee's.
//!
//! `blast` gives what an operation does, bit by bit, over current values and choices. Here choices
//! are quantified, the conjuncts are put together as long as they stay small, and each gets the
//! variables that nothing reads after it. Relations are made the first time a node is reached.
//!
//! What keeps it honest: every engine's answers on random programs are compared with the oracle's
//! (`check/tests/engines.rs`).

mod call;
mod frame;

use droste_bdd::{Bdd, Cube, Manager, Var};
use droste_blast::{After, Blaster, Destination, Effect, Logic as _, New, Store};
use droste_program::effects::Effects;
use droste_program::liveness::Liveness;
use droste_program::{Node, NodeId, Op, ProcId, VarRef, Violation};
use rustc_hash::FxHashSet;

use crate::encode::{Copy, Encoding, Result};
use crate::relation::{Action, Edge, Part, Relation};
pub use frame::{Back, Enter};

/// Conjuncts are merged as long as they have at most this number of nodes.
const SMALL: usize = 400;

/// Puts conjuncts together as long as they stay small.
pub fn merge(parts: Vec<Bdd>) -> Result<Vec<Bdd>> {
    let mut merged: Vec<Bdd> = Vec::new();
    for part in parts {
        if part.is_true() {
            continue;
        }
        if let Some(last) = merged.last_mut() {
            let both = last.and(&part)?;
            if both.node_count() <= SMALL {
                *last = both;
                continue;
            }
        }
        merged.push(part);
    }
    Ok(merged)
}

/// For each conjunct the variables of `vars` that occur in no later one.
pub fn schedule(manager: &Manager, relations: Vec<Bdd>, vars: &[Var]) -> Result<Vec<Part>> {
    let mut open: FxHashSet<Var> = vars.iter().copied().collect();
    let mut parts = Vec::new();
    for (i, relation) in relations.into_iter().enumerate().rev() {
        let mut last: Vec<Var> = relation
            .support()
            .into_iter()
            .filter(|var| open.remove(var))
            .collect();
        if i == 0 {
            // What no relation reads goes first.
            last.extend(open.drain());
        }
        let last = manager.cube(&last)?;
        parts.push(Part { relation, last });
    }
    if parts.is_empty() && !vars.is_empty() {
        let last = manager.cube(vars)?;
        parts.push(Part {
            relation: manager.constant(true),
            last,
        });
    }
    parts.reverse();
    Ok(parts)
}

/// Whether there are conditions on the outcome of the node's step.
fn has_conditions(node: &Node) -> bool {
    let constrain = match &node.op {
        Op::Assign { constrain, .. } | Op::Call { constrain, .. } => constrain.is_some(),
        _ => false,
    };
    constrain || node.ensure.is_some()
}

/// Makes relations.
pub struct Compiler<'a, 'e> {
    /// The variables.
    pub encoding: &'e mut Encoding<'a>,
    /// Which globals a procedure touches.
    pub effects: &'e Effects,
    /// Whether violations are looked for.
    pub violations: bool,
    /// Whether runs that get stuck are looked for.
    pub stops: bool,
    /// Which parameters and globals matter at the entry of a callee.
    pub live: &'e dyn Liveness,
}

impl Compiler<'_, '_> {
    /// What a node does.
    pub fn relation(&mut self, node: NodeId) -> Result<Relation> {
        let program = self.encoding.program;
        match &program.node(node).op {
            Op::Call { .. } => self.call(node),
            Op::Return(_) => self.leave(node),
            _ => self.steps(node),
        }
    }

    /// The conjuncts of guard and stores, choices quantified; `target` gives the variables of a
    /// place, or none if nothing reads it.
    fn conjuncts(
        &mut self,
        effect: &Effect<Bdd>,
        guard: &Bdd,
        target: &dyn Fn(&Encoding<'_>, Destination) -> Option<Vec<Var>>,
    ) -> Result<Vec<Bdd>> {
        let manager = self.encoding.manager.clone();
        let mut conjuncts = Vec::new();
        // Guard and stores that share choices stay together.
        let mut shared = guard.clone();
        for store in &effect.stores {
            let Some(vars) = target(self.encoding, store.place) else {
                continue;
            };
            let mut relation = manager.constant(true);
            match &store.new {
                New::Any => {
                    let code = self.encoding.literals(vars.into_iter())?;
                    let logic = &mut self.encoding.logic();
                    relation = droste_blast::in_range(logic, store.ty, &code)?;
                }
                New::Code(code) => {
                    for (var, bit) in vars.into_iter().zip(code) {
                        relation = relation.and(&manager.var(var)?.iff(bit)?)?;
                    }
                }
            }
            if store.private {
                let choices = &effect.choices[store.choices.clone()];
                let cube = self.encoding.logic().cube(choices)?;
                conjuncts.push(relation.exists(&cube)?);
            } else {
                shared = shared.and(&relation)?;
            }
        }
        let cube = self.encoding.logic().cube(&effect.choices)?;
        conjuncts.push(shared.exists(&cube)?);
        Ok(conjuncts)
    }

    /// A violation is something that happens, so that a run is not stuck.
    fn looks_at_failures(&self) -> bool {
        self.violations || self.stops
    }

    /// The failures, if they are what is looked for.
    fn wanted(&self, failures: Vec<(Violation, Bdd)>) -> Vec<(Violation, Bdd)> {
        if self.violations {
            failures
        } else {
            Vec::new()
        }
    }

    fn failures(
        &mut self,
        failures: &[(Violation, Bdd)],
        choices: &[Bdd],
    ) -> Result<Vec<(Violation, Bdd)>> {
        if !self.looks_at_failures() || failures.is_empty() {
            return Ok(Vec::new());
        }
        let cube = self.encoding.logic().cube(choices)?;
        let mut out = Vec::new();
        for (violation, bit) in failures {
            let bit = bit.exists(&cube)?;
            if !bit.is_false() {
                out.push((*violation, bit));
            }
        }
        Ok(out)
    }

    fn steps(&mut self, node: NodeId) -> Result<Relation> {
        let program = self.encoding.program;
        let procedure = program.node(node).procedure;
        let now = self.encoding.current(procedure)?;
        let effect = Blaster::new(program, &mut self.encoding.logic()).effect(node, &now)?;
        let assigned: Vec<VarRef> = effect.stores.iter().filter_map(variable).collect();
        let after = self.after(node, &effect.choices, |var| assigned.contains(&var))?;
        let mut failures = self.failures(&effect.failures, &effect.choices)?;
        let mut edges = Vec::new();
        let mut possible = Vec::new();
        for (to, guard) in &effect.edges {
            // Without conditions, a variable that gets any value is just forgotten.
            let forgotten = |store: &Store<Bdd>| after.is_none() && store.new == New::Any;
            let stores = effect.stores.iter();
            let kept: Vec<Destination> = stores
                .filter(|store| !forgotten(store))
                .map(|store| store.place)
                .collect();
            let mut relations = self.conjuncts(&effect, guard, &|encoding, place| match place {
                Destination::Var(var) if kept.contains(&place) => {
                    Some(encoding.vars(procedure, var, Copy::Next).collect())
                }
                _ => None,
            })?;
            if let Some(after) = &after {
                let cube = self.encoding.logic().cube(&after.choices)?;
                failures.extend(self.failures_after(after, &cube, &relations)?);
                relations.push(after.holds.exists(&cube)?);
                if self.stops {
                    possible.push(self.possible(&relations)?);
                }
            } else if self.stops {
                // Whatever the guard lets pass can be stored.
                let cube = self.encoding.logic().cube(&effect.choices)?;
                possible.push(guard.exists(&cube)?);
            }
            edges.push(self.edge(*to, procedure, &effect, relations, &kept, &[])?);
        }
        Ok(Relation {
            stuck: self.stuck(node, &failures, possible)?,
            failures: self.wanted(failures),
            action: Action::Steps(edges),
            leaving: None,
        })
    }

    /// The conditions on the outcome of the step of a node, if it has any, over the next copies of
    /// the variables it changes. `used` are the choices that its effect has made: those of the
    /// conditions are others.
    fn after(
        &mut self,
        node: NodeId,
        used: &[Bdd],
        is_changed: impl Fn(VarRef) -> bool,
    ) -> Result<Option<After<Bdd>>> {
        let program = self.encoding.program;
        if !has_conditions(program.node(node)) {
            return Ok(None);
        }
        let procedure = program.node(node).procedure;
        let now = self.encoding.current(procedure)?;
        let next = self.encoding.state(procedure, |var| {
            if is_changed(var) {
                Copy::Next
            } else {
                Copy::Current
            }
        })?;
        let mut logic = self.encoding.logic();
        for _ in used {
            logic.fresh()?;
        }
        Blaster::new(program, &mut logic).after(node, &now, &next)
    }

    /// The violations in the conditions after a step that is the conjunction of `relations`, over
    /// the current values; `choices` are those of the conditions.
    fn failures_after(
        &self,
        after: &After<Bdd>,
        choices: &Cube,
        relations: &[Bdd],
    ) -> Result<Vec<(Violation, Bdd)>> {
        let mut failures = Vec::new();
        if !self.looks_at_failures() || after.failures.is_empty() {
            return Ok(failures);
        }
        let mut before = self.encoding.manager.constant(true);
        for relation in relations {
            before = before.and(relation)?;
        }
        for (violation, bit) in &after.failures {
            let bit = bit.exists(choices)?;
            let bit = before.and_exists(&bit, &self.encoding.nexts)?;
            if !bit.is_false() {
                failures.push((*violation, bit));
            }
        }
        Ok(failures)
    }

    /// The edge to a node, with these relations. Of what is stored, `kept` has its new values in
    /// the relations; the rest may have any value. After the step nothing reads `gone`.
    fn edge(
        &mut self,
        to: NodeId,
        procedure: ProcId,
        effect: &Effect<Bdd>,
        relations: Vec<Bdd>,
        kept: &[Destination],
        gone: &[Var],
    ) -> Result<Edge> {
        let manager = self.encoding.manager.clone();
        let mut written = Vec::new();
        let mut moves = Vec::new();
        let mut range = manager.constant(true);
        for var in effect.stores.iter().filter_map(variable) {
            written.extend(self.encoding.vars(procedure, var, Copy::Current));
            if kept.contains(&Destination::Var(var)) {
                let current = self.encoding.vars(procedure, var, Copy::Current);
                let next = self.encoding.vars(procedure, var, Copy::Next);
                moves.extend(next.zip(current));
            } else {
                let valid = self.encoding.in_range(procedure, var, Copy::Current)?;
                range = range.and(&valid)?;
            }
        }
        let quantified = [&written, gone].concat();
        Ok(Edge {
            to,
            parts: schedule(&manager, merge(relations)?, &quantified)?,
            rename: (!moves.is_empty()).then(|| manager.renaming(&moves)),
            range,
            written,
            moves,
        })
    }

    fn leave(&mut self, node: NodeId) -> Result<Relation> {
        let program = self.encoding.program;
        let procedure = program.node(node).procedure;
        let now = self.encoding.current(procedure)?;
        let effect = Blaster::new(program, &mut self.encoding.logic()).effect(node, &now)?;
        let failures = self.failures(&effect.failures, &effect.choices)?;
        let guard = effect.guard.clone();
        let relations = self.conjuncts(&effect, &guard, &|encoding, place| match place {
            Destination::Result(i) => Some(encoding.result_vars(procedure, i as usize).collect()),
            _ => None,
        })?;
        let calls = |node: &Node| matches!(node.op, Op::Call { callee, .. } if callee == procedure);
        let mut callers = program.nodes.iter().filter(|node| calls(node));
        let leaving = if self.stops && callers.any(has_conditions) {
            Some(self.leaving(procedure, &effect, &failures)?)
        } else {
            None
        };
        Ok(Relation {
            failures: self.wanted(failures),
            action: Action::Return(merge(relations)?),
            stuck: None,
            leaving,
        })
    }
}

/// The variable that is stored into, if it is one.
fn variable(store: &Store<Bdd>) -> Option<VarRef> {
    match store.place {
        Destination::Var(var) => Some(var),
        _ => None,
    }
}
