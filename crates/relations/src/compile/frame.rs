//! Calls and returns between frames that lie side by side, as in the configurations of threads
//! (`symbolic/src/concurrent/product.rs`).
//!
//! The frame of the callee has variables of its own beside those of the caller. So a call is a step
//! that gives the parameters their values, and a return is a step that stores the results. Results
//! are bits of their own between the two halves of a return.

use droste_bdd::{Bdd, Var};
use droste_blast::{Blaster, Destination};
use droste_program::{NodeId, Op, VarRef, Violation};

use super::{Compiler, merge};
use crate::encode::{Copy, Encoding, Result};
use crate::relation::Edge;

/// A call: over the caller's current values and the callee's.
pub struct Enter {
    /// Evaluations of arguments that fail.
    pub failures: Vec<(Violation, Bdd)>,
    /// What holds when the callee has been entered.
    pub parts: Vec<Bdd>,
}

/// The storing of results.
pub struct Back {
    /// Over the caller's current values and the results.
    pub failures: Vec<(Violation, Bdd)>,
    /// The step, which reads the results.
    pub edge: Edge,
    /// The bits of the results.
    pub results: Vec<Var>,
}

impl Compiler<'_, '_> {
    /// The call at `node`, into a frame with these variables.
    pub fn enter(&mut self, node: NodeId, inner: &mut Encoding<'_>) -> Result<Enter> {
        let program = self.encoding.program;
        let Op::Call { callee, .. } = program.node(node).op else {
            unreachable!("a call")
        };
        let now = self.encoding.current(program.node(node).procedure)?;
        let effect = Blaster::new(program, &mut self.encoding.logic()).effect(node, &now)?;
        let failures = self.failures(&effect.failures, &effect.choices)?;
        let guard = effect.guard.clone();
        let target = |_: &Encoding<'_>, place| match place {
            Destination::Parameter(i) => Some(
                inner
                    .vars(callee, VarRef::Local(i), Copy::Current)
                    .collect(),
            ),
            _ => None,
        };
        let mut parts = self.conjuncts(&effect, &guard, &target)?;
        let callee_locals = program.procedure(callee).locals.len() as u32;
        for i in program.procedure(callee).params..callee_locals {
            parts.push(inner.in_range(callee, VarRef::Local(i), Copy::Current)?);
        }
        Ok(Enter {
            failures: self.wanted(failures),
            parts: merge(parts)?,
        })
    }

    /// How the results of the call at `node` are stored. A `constrain` must not look at the globals
    /// as they were at the call.
    pub fn store(&mut self, node: NodeId) -> Result<Back> {
        let program = self.encoding.program;
        let Op::Call {
            callee, targets, ..
        } = &program.node(node).op
        else {
            unreachable!("a call")
        };
        let procedure = program.node(node).procedure;
        let results: Vec<Vec<Var>> = (0..program.procedure(*callee).results.len())
            .map(|i| self.encoding.result_vars(*callee, i).collect())
            .collect();
        let codes: Vec<Vec<Bdd>> = results
            .iter()
            .map(|vars| self.encoding.literals(vars.iter().copied()))
            .collect::<Result<_>>()?;
        let effect = Blaster::new(program, &mut self.encoding.logic()).resume(node, &codes)?;
        let after = self.after(node, &[], |var| targets.contains(&Some(var)))?;
        let mut failures = self.failures(&effect.failures, &effect.choices)?;
        let (to, guard) = effect.edges[0].clone();
        let kept: Vec<Destination> = effect.stores.iter().map(|store| store.place).collect();
        let next = |encoding: &Encoding<'_>, place| match place {
            Destination::Var(var) => Some(encoding.vars(procedure, var, Copy::Next).collect()),
            _ => None,
        };
        let mut relations = self.conjuncts(&effect, &guard, &next)?;
        if let Some(after) = &after {
            let cube = self.encoding.logic().cube(&after.choices)?;
            failures.extend(self.failures_after(after, &cube, &relations)?);
            relations.push(after.holds.exists(&cube)?);
        }
        let results = results.concat();
        Ok(Back {
            failures: self.wanted(failures),
            edge: self.edge(to, procedure, &effect, relations, &kept, &results)?,
            results,
        })
    }
}
