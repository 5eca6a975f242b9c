//! Relations of calls: how the callee is entered, and how the caller goes on when it returns.
//!
//! A callee is entered with the globals it touches and its parameters. On the way back the caller
//! keeps what the callee does not touch. Results go straight to their targets, unless they are
//! converted or have conditions to meet; then a relation stores them.

use droste_bdd::{Bdd, Cube, Manager, Var};
use droste_blast::{After, Blaster, Destination, Effect, New};
use droste_program::{NodeId, Op, ProcId, VarRef};
use rustc_hash::FxHashSet;

use super::{Compiler, merge};
use crate::encode::{Copy, Result};
use crate::relation::{Action, Back, Call, Relation};

/// What a return does to variables, before it is known how results are stored.
struct Returning<'t> {
    /// The caller's.
    procedure: ProcId,
    callee: ProcId,
    /// Where results go.
    targets: &'t [Option<VarRef>],
    /// Exit values that are overwritten by results: next copies.
    overwritten: Vec<Var>,
    /// Current copies that get other values: of globals that come back, and of targets.
    replaced: Vec<Var>,
    /// All results of the callee.
    results: Vec<Var>,
    /// Globals that come back, next to current.
    moves: Vec<(Var, Var)>,
}

impl Compiler<'_, '_> {
    pub(super) fn call(&mut self, node: NodeId) -> Result<Relation> {
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
        let entry = program.procedure(callee).entry;
        let live = |var| self.live.live(entry, var);
        let arguments = self.conjuncts(&effect, &guard, &|encoding, place| match place {
            Destination::Parameter(i) if live(VarRef::Local(i)) => Some(
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
            .filter(|&i| self.effects.touches(callee, i))
            .collect();
        let all = |i: u32, copy: Copy| self.encoding.vars(procedure, VarRef::Global(i), copy);
        let mut not_entry: Vec<Var> = Vec::new();
        for i in globals {
            if !(self.effects.touches(callee, i) && live(VarRef::Global(i))) {
                not_entry.extend(all(i, Copy::Current));
            }
        }
        not_entry.extend(self.encoding.entries.vars());
        not_entry.extend(self.encoding.current_locals.vars());
        let not_entry = manager.cube(&not_entry)?;
        let (back, refuses) = self.back(node, callee, targets, &touched)?;
        Ok(Relation {
            failures: self.wanted(failures),
            action: Action::Call(Box::new(Call {
                callee,
                arguments,
                not_entry,
                back,
                refuses,
            })),
            stuck: None,
            leaving: None,
        })
    }

    /// What happens to the caller when the callee returns to the call at `node`, and which returns
    /// it refuses, see [`Call::refuses`]. `touched` are the globals that come back from the callee.
    fn back(
        &mut self,
        node: NodeId,
        callee: ProcId,
        targets: &[Option<VarRef>],
        touched: &[u32],
    ) -> Result<(Back, Option<Bdd>)> {
        let program = self.encoding.program;
        let results: Vec<Vec<Bdd>> = (0..program.procedure(callee).results.len())
            .map(|i| self.encoding.literals(self.encoding.result_vars(callee, i)))
            .collect::<Result<_>>()?;
        let stores = Blaster::new(program, &mut self.encoding.logic()).resume(node, &results)?;
        let after = self.after(node, &[], |var| {
            targets.contains(&Some(var)) || matches!(var, VarRef::Global(i) if touched.contains(&i))
        })?;
        let procedure = program.node(node).procedure;
        let frame = self.returning(procedure, callee, targets, touched);
        let same_types = targets.iter().enumerate().all(|(i, target)| {
            target.is_none_or(|var| {
                program.variable(procedure, var).ty == program.procedure(callee).results[i]
            })
        });
        if same_types && after.is_none() {
            Ok((self.move_results(stores.edges[0].0, frame)?, None))
        } else {
            self.store_results(&stores, after.as_ref(), frame)
        }
    }

    /// The variables of a return.
    fn returning<'t>(
        &self,
        procedure: ProcId,
        callee: ProcId,
        targets: &'t [Option<VarRef>],
        touched: &[u32],
    ) -> Returning<'t> {
        let vars = |var: VarRef, copy: Copy| self.encoding.vars(procedure, var, copy);
        let mut overwritten = Vec::new();
        let mut replaced = Vec::new();
        let mut moves = Vec::new();
        for &i in touched {
            let var = VarRef::Global(i);
            replaced.extend(vars(var, Copy::Current));
            if targets.contains(&Some(var)) {
                overwritten.extend(vars(var, Copy::Next));
            } else {
                moves.extend(vars(var, Copy::Next).zip(vars(var, Copy::Current)));
            }
        }
        for var in targets.iter().flatten() {
            replaced.extend(vars(*var, Copy::Current));
        }
        let count = self.encoding.program.procedure(callee).results.len();
        let results = (0..count).flat_map(|i| self.encoding.result_vars(callee, i));
        Returning {
            procedure,
            callee,
            targets,
            overwritten,
            replaced,
            results: results.collect(),
            moves,
        }
    }

    /// Results that need no conversion and have no condition to meet go straight to their targets.
    fn move_results(&self, to: NodeId, frame: Returning<'_>) -> Result<Back> {
        let manager = &self.encoding.manager;
        let mut moves = frame.moves;
        let mut dropped: FxHashSet<Var> = frame.results.into_iter().collect();
        for (i, target) in frame.targets.iter().enumerate() {
            let Some(var) = *target else { continue };
            let results = self.encoding.result_vars(frame.callee, i);
            let current = self.encoding.vars(frame.procedure, var, Copy::Current);
            for pair in results.zip(current) {
                dropped.remove(&pair.0);
                moves.push(pair);
            }
        }
        let mut join: Vec<Var> = self.encoding.next_locals.vars();
        join.extend(dropped);
        join.extend(frame.replaced);
        Ok(Back {
            to,
            overwritten: cube_of(manager, &frame.overwritten)?,
            join: manager.cube(&join)?,
            store: None,
            rename: manager.renaming(&moves),
            failures: Vec::new(),
            moves,
            targets: Vec::new(),
        })
    }

    /// Results that are converted, or have conditions to meet, are stored by a relation.
    fn store_results(
        &mut self,
        stores: &Effect<Bdd>,
        after: Option<&After<Bdd>>,
        frame: Returning<'_>,
    ) -> Result<(Back, Option<Bdd>)> {
        let manager = self.encoding.manager.clone();
        let vars = |var: VarRef, copy: Copy| self.encoding.vars(frame.procedure, var, copy);
        let mut moves = frame.moves;
        let mut relation = stores.guard.clone();
        for store in &stores.stores {
            let (Destination::Var(var), New::Code(code)) = (store.place, &store.new) else {
                continue;
            };
            let pairs = vars(var, Copy::Next).zip(vars(var, Copy::Current));
            for ((next, current), bit) in pairs.zip(code) {
                relation = relation.and(&manager.var(next)?.iff(bit)?)?;
                moves.push((next, current));
            }
        }
        let mut targets: Vec<Var> = Vec::new();
        for var in frame.targets.iter().flatten() {
            targets.extend(vars(*var, Copy::Next));
        }
        let mut failures = Vec::new();
        if self.looks_at_failures() {
            failures.extend(stores.failures.iter().cloned());
        }
        let mut refuses = None;
        if let Some(after) = after {
            let cube = self.encoding.logic().cube(&after.choices)?;
            let new_values = manager.cube(&targets)?;
            if self.looks_at_failures() {
                for (violation, bit) in &after.failures {
                    let bit = bit.exists(&cube)?;
                    // The new values of the targets are determined by the results.
                    let bit = relation.and_exists(&bit, &new_values)?;
                    failures.push((*violation, bit));
                }
            }
            relation = relation.and(&after.holds.exists(&cube)?)?;
            if self.stops {
                let accepts = relation.exists(&new_values)?;
                refuses = Some(self.refuses(frame.callee, &accepts, &failures)?);
            }
        }
        let mut quantified = frame.results;
        quantified.extend(frame.replaced);
        let back = Back {
            to: stores.edges[0].0,
            overwritten: cube_of(&manager, &frame.overwritten)?,
            join: manager.cube(&self.encoding.next_locals.vars())?,
            store: Some((relation, manager.cube(&quantified)?)),
            rename: manager.renaming(&moves),
            failures: self.wanted(failures),
            moves,
            targets,
        };
        Ok((back, refuses))
    }
}

fn cube_of(manager: &Manager, vars: &[Var]) -> Result<Option<Cube>> {
    if vars.is_empty() {
        return Ok(None);
    }
    manager.cube(vars).map(Some)
}
