//! What the operation of a node does to sets of states.
//!
//! A step is a few small relations between current and next values of the variables it
//! touches; everything else stays where it is. An image is a relational product with each of them, in
//! which a current value is quantified as soon as no later relation reads it, and then a
//! renaming of next to current. Relations are made the first time a node is
//! reached.

use droste_bdd::{Bdd, Cube, Manager, Renaming, Var};
use droste_blast::{Blaster, Effect, New, Place};
use droste_program::effects::Effects;
use droste_program::{Node, NodeId, Op, ProcId, VarRef, Violation};
use rustc_hash::FxHashSet;

use crate::encode::{Copy, Encoding, Result};

/// A conjunct of a relation, and the variables nobody reads after it.
pub(crate) struct Part {
    pub(crate) relation: Bdd,
    pub(crate) last: Cube,
}

/// One way to go on.
pub(crate) struct Edge {
    pub(crate) to: NodeId,
    pub(crate) parts: Vec<Part>,
    /// Written variables, next to current.
    rename: Option<Renaming>,
    /// Of variables that may now have any value.
    range: Bdd,
    /// All variables written: their current copies.
    pub(crate) written: Vec<Var>,
    /// The copies in which the relation has their new values, if it says anything about them, and where
    /// they go.
    pub(crate) moves: Vec<(Var, Var)>,
}

/// A call.
pub(crate) struct Call {
    pub(crate) callee: ProcId,
    /// Between the caller's current values and the callee's parameters (their next copies).
    pub(crate) arguments: Vec<Bdd>,
    /// To be quantified to get the callee's entry.
    pub(crate) not_entry: Cube,
    pub(crate) back: Back,
}

/// The return into a caller.
pub(crate) struct Back {
    pub(crate) to: NodeId,
    /// Exit values that are overwritten by results.
    overwritten: Option<Cube>,
    /// Quantified when caller and callee are joined.
    join: Cube,
    /// For conversions and conditions: the relation that stores the results, and what is quantified then.
    pub(crate) store: Option<(Bdd, Cube)>,
    rename: Renaming,
    /// Violations while storing: over what is left after the join.
    pub(crate) failures: Vec<(Violation, Bdd)>,
    /// The caller's variables that are changed: the bits of the new values as they are before `rename`, and where
    /// they go.
    pub(crate) moves: Vec<(Var, Var)>,
    /// Next copies of the variables that get results, where a relation stores them.
    pub(crate) targets: Vec<Var>,
}

pub(crate) enum Action {
    Steps(Vec<Edge>),
    Call(Box<Call>),
    /// Between current values and results.
    Return(Vec<Bdd>),
}

pub(crate) struct Relation {
    /// Over the current values.
    pub(crate) failures: Vec<(Violation, Bdd)>,
    pub(crate) action: Action,
}

/// Conjuncts are merged as long as they have at most so many nodes.
const SMALL: usize = 400;

fn merge(parts: Vec<Bdd>) -> Result<Vec<Bdd>> {
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
fn schedule(manager: &Manager, relations: Vec<Bdd>, vars: &[Var]) -> Result<Vec<Part>> {
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

impl Edge {
    pub(crate) fn image(&self, set: &Bdd) -> Result<Bdd> {
        let mut set = set.clone();
        for part in &self.parts {
            set = set.and_exists(&part.relation, &part.last)?;
        }
        if let Some(rename) = &self.rename {
            set = set.rename(rename)?;
        }
        set.and(&self.range)
    }
}

impl Call {
    /// The callers with their arguments.
    pub(crate) fn prepare(&self, set: &Bdd) -> Result<Bdd> {
        let mut set = set.clone();
        for argument in &self.arguments {
            set = set.and(argument)?;
        }
        Ok(set)
    }

    /// What callers, with their arguments, enter the callee with, over its entry copies.
    pub(crate) fn entries(&self, encoding: &Encoding<'_>, callers: &Bdd) -> Result<Bdd> {
        callers.exists(&self.not_entry)?.rename(&encoding.enter)
    }

    /// Callers, with their arguments, and exits of the callee: how the callers go on.
    pub(crate) fn resume(
        &self,
        encoding: &Encoding<'_>,
        callers: &Bdd,
        exits: &Bdd,
    ) -> Result<Resumed> {
        let exits = exits.rename(&encoding.leave)?;
        let joined = self.back.join(callers, &exits)?;
        for (violation, failure) in &self.back.failures {
            let failing = joined.and(failure)?;
            if !failing.is_false() {
                return Ok(Resumed::Fails {
                    violation: *violation,
                    failure: failure.clone(),
                    failing,
                });
            }
        }
        Ok(Resumed::At(self.back.finish(&joined)?))
    }
}

/// After a call.
pub(crate) enum Resumed {
    /// Storing the results can be a violation.
    Fails {
        violation: Violation,
        /// Where, over what is left after caller and exit are joined.
        failure: Bdd,
        /// What is left of these callers and exits.
        failing: Bdd,
    },
    /// Where control goes on, with these.
    At(Bdd),
}

impl Back {
    /// The callee's exits, already seen from the caller, without what nobody will see.
    pub(crate) fn visible(&self, exits: &Bdd) -> Result<Bdd> {
        match &self.overwritten {
            Some(cube) => exits.exists(cube),
            None => Ok(exits.clone()),
        }
    }

    /// Callers with their arguments, and exits seen from the caller: before the results are stored.
    pub(crate) fn join(&self, callers: &Bdd, exits: &Bdd) -> Result<Bdd> {
        callers.and_exists(&self.visible(exits)?, &self.join)
    }

    /// The results are stored.
    pub(crate) fn finish(&self, joined: &Bdd) -> Result<Bdd> {
        let stored = match &self.store {
            Some((relation, cube)) => joined.and_exists(relation, cube)?,
            None => joined.clone(),
        };
        stored.rename(&self.rename)
    }
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
pub(crate) struct Compiler<'a, 'e> {
    pub(crate) encoding: &'e mut Encoding<'a>,
    pub(crate) effects: &'e Effects,
    /// Whether violations are looked for.
    pub(crate) violations: bool,
    /// Whether a callee's parameter matters at its entry.
    pub(crate) live_at_entry: &'e dyn Fn(ProcId, VarRef) -> bool,
}

impl Compiler<'_, '_> {
    pub(crate) fn relation(&mut self, node: NodeId) -> Result<Relation> {
        let program = self.encoding.program;
        match &program.node(node).op {
            Op::Call { .. } => self.call(node),
            Op::Return(_) => self.leave(node),
            _ => self.steps(node),
        }
    }

    /// The conjuncts of guard and stores, choices quantified; `target` gives the variables of a place, or none
    /// if nobody looks at it.
    fn conjuncts(
        &mut self,
        effect: &Effect<Bdd>,
        guard: &Bdd,
        target: &dyn Fn(&Encoding<'_>, Place) -> Option<Vec<Var>>,
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

    fn failures(
        &mut self,
        failures: &[(Violation, Bdd)],
        choices: &[Bdd],
    ) -> Result<Vec<(Violation, Bdd)>> {
        if !self.violations || failures.is_empty() {
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
        let assigned: Vec<VarRef> = effect
            .stores
            .iter()
            .filter_map(|store| match store.place {
                Place::Var(var) => Some(var),
                _ => None,
            })
            .collect();
        let conditions = has_conditions(program.node(node));
        let after = if conditions {
            let next = self.encoding.state(procedure, |var| {
                if assigned.contains(&var) {
                    Copy::Next
                } else {
                    Copy::Current
                }
            })?;
            // The choices of the conditions must not be those of the effect.
            let mut logic = self.encoding.logic();
            for _ in &effect.choices {
                droste_blast::Logic::fresh(&mut logic)?;
            }
            Blaster::new(program, &mut logic).after(node, &now, &next)?
        } else {
            None
        };
        let mut failures = self.failures(&effect.failures, &effect.choices)?;
        let manager = self.encoding.manager.clone();
        let mut edges = Vec::new();
        for (to, guard) in &effect.edges {
            // Without conditions, a variable that gets any value is just forgotten.
            let forget = after.is_none();
            let skips = |place: Place| {
                forget
                    && effect
                        .stores
                        .iter()
                        .any(|store| store.place == place && store.new == New::Any)
            };
            let mut relations = self.conjuncts(&effect, guard, &|encoding, place| match place {
                Place::Var(var) if !skips(place) => {
                    Some(encoding.vars(procedure, var, Copy::Next).collect())
                }
                _ => None,
            })?;
            if let Some(after) = &after {
                let cube = self.encoding.logic().cube(&after.choices)?;
                if self.violations && !after.failures.is_empty() {
                    let mut before = manager.constant(true);
                    for relation in &relations {
                        before = before.and(relation)?;
                    }
                    for (violation, bit) in &after.failures {
                        let bit = bit.exists(&cube)?;
                        let bit = before.and_exists(&bit, &self.encoding.nexts)?;
                        if !bit.is_false() {
                            failures.push((*violation, bit));
                        }
                    }
                }
                relations.push(after.holds.exists(&cube)?);
            }
            let mut written = Vec::new();
            let mut moves = Vec::new();
            let mut range = manager.constant(true);
            for store in &effect.stores {
                let Place::Var(var) = store.place else {
                    continue;
                };
                let current = self.encoding.vars(procedure, var, Copy::Current);
                written.extend(current);
                if skips(store.place) {
                    let valid = self.encoding.in_range(procedure, var, Copy::Current)?;
                    range = range.and(&valid)?;
                } else {
                    let current = self.encoding.vars(procedure, var, Copy::Current);
                    let next = self.encoding.vars(procedure, var, Copy::Next);
                    moves.extend(next.zip(current));
                }
            }
            let parts = schedule(&manager, merge(relations)?, &written)?;
            edges.push(Edge {
                to: *to,
                parts,
                rename: (!moves.is_empty()).then(|| manager.renaming(&moves)),
                range,
                written,
                moves,
            });
        }
        Ok(Relation {
            failures,
            action: Action::Steps(edges),
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
            Place::Result(i) => Some(encoding.result_vars(procedure, i as usize).collect()),
            _ => None,
        })?;
        Ok(Relation {
            failures,
            action: Action::Return(merge(relations)?),
        })
    }

    fn call(&mut self, node: NodeId) -> Result<Relation> {
        let program = self.encoding.program;
        let Op::Call {
            callee, targets, ..
        } = &program.node(node).op
        else {
            unreachable!("a call")
        };
        let callee = *callee;
        let procedure = program.node(node).procedure;
        let manager = self.encoding.manager.clone();
        let now = self.encoding.current(procedure)?;
        let effect = Blaster::new(program, &mut self.encoding.logic()).effect(node, &now)?;
        let failures = self.failures(&effect.failures, &effect.choices)?;
        let guard = effect.guard.clone();
        let live = self.live_at_entry;
        let arguments = self.conjuncts(&effect, &guard, &|encoding, place| match place {
            Place::Parameter(i) if live(callee, VarRef::Local(i)) => Some(
                encoding
                    .vars(callee, VarRef::Local(i), Copy::Next)
                    .collect(),
            ),
            _ => None,
        })?;
        let arguments = merge(arguments)?;
        // The entry: globals the callee touches (and that matter) and parameters.
        let globals = 0..program.globals.len() as u32;
        let touched: Vec<u32> = globals
            .clone()
            .filter(|&i| self.effects.touches(callee.0, i))
            .collect();
        let all = |i: u32, copy: Copy| self.encoding.vars(procedure, VarRef::Global(i), copy);
        let mut not_entry: Vec<Var> = Vec::new();
        for i in globals {
            if !(self.effects.touches(callee.0, i) && live(callee, VarRef::Global(i))) {
                not_entry.extend(all(i, Copy::Current));
            }
        }
        not_entry.extend(self.encoding.entries.vars());
        not_entry.extend(self.encoding.current_locals.vars());
        let not_entry = manager.cube(&not_entry)?;
        let back = self.back(node, callee, targets, &touched)?;
        Ok(Relation {
            failures,
            action: Action::Call(Box::new(Call {
                callee,
                arguments,
                not_entry,
                back,
            })),
        })
    }

    fn back(
        &mut self,
        node: NodeId,
        callee: ProcId,
        targets: &[Option<VarRef>],
        touched: &[u32],
    ) -> Result<Back> {
        let program = self.encoding.program;
        let procedure = program.node(node).procedure;
        let manager = self.encoding.manager.clone();
        let results: Vec<Vec<Bdd>> = (0..program.procedure(callee).results.len())
            .map(|i| self.encoding.literals(self.encoding.result_vars(callee, i)))
            .collect::<Result<_>>()?;
        let stores = Blaster::new(program, &mut self.encoding.logic()).resume(node, &results)?;
        let is_target = |var: VarRef| targets.contains(&Some(var));
        let effects = self.effects;
        let is_touched =
            |var: VarRef| matches!(var, VarRef::Global(i) if effects.touches(callee.0, i));
        let now = self.encoding.current(procedure)?;
        let after = if has_conditions(program.node(node)) {
            let next = self.encoding.state(procedure, |var| {
                if is_target(var) || is_touched(var) {
                    Copy::Next
                } else {
                    Copy::Current
                }
            })?;
            Blaster::new(program, &mut self.encoding.logic()).after(node, &now, &next)?
        } else {
            None
        };
        let vars = |var: VarRef, copy: Copy| self.encoding.vars(procedure, var, copy);
        let mut overwritten = Vec::new();
        // Current copies that are replaced, and what replaces them.
        let mut replaced: Vec<Var> = Vec::new();
        let mut moves: Vec<(Var, Var)> = Vec::new();
        for &i in touched {
            let var = VarRef::Global(i);
            replaced.extend(vars(var, Copy::Current));
            if is_target(var) {
                overwritten.extend(vars(var, Copy::Next));
            } else {
                moves.extend(vars(var, Copy::Next).zip(vars(var, Copy::Current)));
            }
        }
        let mut target_bits: Vec<Var> = Vec::new();
        for var in targets.iter().flatten() {
            target_bits.extend(vars(*var, Copy::Current));
        }
        let same_types = targets.iter().enumerate().all(|(i, target)| {
            target.is_none_or(|var| {
                program.variable(procedure, var).ty == program.procedure(callee).results[i]
            })
        });
        let overwritten = if overwritten.is_empty() {
            None
        } else {
            Some(manager.cube(&overwritten)?)
        };
        let mut join: Vec<Var> = self.encoding.next_locals.vars();
        let to = stores.edges[0].0;
        if same_types && after.is_none() {
            // Results go straight to their targets.
            let mut dropped: FxHashSet<Var> =
                results.iter().flatten().flat_map(Bdd::support).collect();
            for (i, target) in targets.iter().enumerate() {
                let Some(var) = target else { continue };
                for pair in self
                    .encoding
                    .result_vars(callee, i)
                    .zip(vars(*var, Copy::Current))
                {
                    dropped.remove(&pair.0);
                    moves.push(pair);
                }
            }
            join.extend(dropped);
            join.extend(replaced);
            join.extend(target_bits);
            return Ok(Back {
                to,
                overwritten,
                join: manager.cube(&join)?,
                store: None,
                rename: manager.renaming(&moves),
                failures: Vec::new(),
                moves,
                targets: Vec::new(),
            });
        }
        let mut relation = manager.constant(true);
        let mut quantified: Vec<Var> = results.iter().flatten().flat_map(Bdd::support).collect();
        for store in &stores.stores {
            let (Place::Var(var), New::Code(code)) = (store.place, &store.new) else {
                continue;
            };
            for ((next, current), bit) in vars(var, Copy::Next)
                .zip(vars(var, Copy::Current))
                .zip(code)
            {
                relation = relation.and(&manager.var(next)?.iff(bit)?)?;
                moves.push((next, current));
            }
        }
        relation = relation.and(&stores.guard)?;
        quantified.extend(target_bits);
        quantified.extend(replaced);
        let mut news: Vec<Var> = Vec::new();
        for var in targets.iter().flatten() {
            news.extend(vars(*var, Copy::Next));
        }
        let new_cube = manager.cube(&news)?;
        let mut failures = Vec::new();
        if self.violations {
            failures.extend(stores.failures.iter().cloned());
        }
        if let Some(after) = &after {
            let cube = self.encoding.logic().cube(&after.choices)?;
            if self.violations {
                for (violation, bit) in &after.failures {
                    let bit = bit.exists(&cube)?;
                    // The new values of the targets are determined by the results.
                    let bit = relation.and_exists(&bit, &new_cube)?;
                    failures.push((*violation, bit));
                }
            }
            relation = relation.and(&after.holds.exists(&cube)?)?;
        }
        Ok(Back {
            to,
            overwritten,
            join: manager.cube(&join)?,
            store: Some((relation, manager.cube(&quantified)?)),
            rename: manager.renaming(&moves),
            failures,
            moves,
            targets: news,
        })
    }
}
