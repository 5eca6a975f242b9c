//! Where nothing can happen: for runs that get stuck.
//!
//! At a node whose step stays in its procedure, this is a set of current values: those from which
//! no edge leads on and with which no evaluation fails.
//!
//! A return is stuck if the caller's conditions refuse it. They see the results, and the return may
//! choose those (`return *`), so it is refused only if every choice is. The choices in different
//! results are independent, and a result is either one value or any value of its type. So what a
//! procedure leaves with is described by a value for each result and a bit that says that any other
//! value would do as well. For each call there is a set of pairs, a caller and such a description,
//! in which the caller refuses.

use droste_base::{Countable, StopReason};
use droste_bdd::{Bdd, Var};
use droste_blast::{Destination, Effect, New, in_range};
use droste_program::{ExprNode, NodeId, Op, ProcId, Violation};

use crate::compile::{Compiler, merge, schedule};
use crate::encode::Result;

impl Compiler<'_, '_> {
    /// Where the step of the node has none of the outcomes in `possible` and none of the failures.
    pub(crate) fn stuck(
        &mut self,
        node: NodeId,
        failures: &[(Violation, Bdd)],
        possible: Vec<Bdd>,
    ) -> Result<Option<Bdd>> {
        // The end of a thread is not a place to be stuck.
        if !self.stops || self.encoding.program.node(node).op == Op::EndThread {
            return Ok(None);
        }
        let mut happens = any_of(&self.encoding.manager.constant(false), failures)?;
        for outcome in possible {
            happens = happens.or(&outcome)?;
        }
        Ok(Some(happens.not()))
    }

    /// The current values with which all these relations can be satisfied.
    pub(crate) fn possible(&self, relations: &[Bdd]) -> Result<Bdd> {
        let manager = &self.encoding.manager;
        let nexts = self.encoding.nexts.vars();
        let mut possible = manager.constant(true);
        for part in schedule(manager, relations.to_vec(), &nexts)? {
            possible = possible.and_exists(&part.relation, &part.last)?;
        }
        Ok(possible)
    }

    /// The relation, in conjuncts, between current values with which a return cannot fail and the
    /// description of what it leaves with.
    pub(crate) fn leaving(
        &mut self,
        procedure: ProcId,
        effect: &Effect<Bdd>,
        failures: &[(Violation, Bdd)],
    ) -> Result<Vec<Bdd>> {
        let manager = self.encoding.manager.clone();
        let fails = any_of(&manager.constant(false), failures)?;
        let mut relations = vec![fails.not()];
        for store in &effect.stores {
            let Destination::Result(i) = store.place else {
                continue;
            };
            let vars: Vec<Var> = (self.encoding.result_vars(procedure, i as usize)).collect();
            let any = manager.var(self.encoding.any_result(i as usize))?;
            let mut relation = any.clone();
            let code = match &store.new {
                New::Any => {
                    for var in vars {
                        relation = relation.and(&manager.var(var)?.not())?;
                    }
                    relations.push(relation);
                    continue;
                }
                New::Code(code) => code,
            };
            relation = any.not();
            let cube = self
                .encoding
                .logic()
                .cube(&effect.choices[store.choices.clone()])?;
            if store.choices.is_empty() {
                for (var, bit) in vars.into_iter().zip(code) {
                    relation = relation.and(&manager.var(var)?.iff(bit)?)?;
                }
            } else if let ([bit], [var]) = (&code[..], &vars[..]) {
                let can = [bit.not().exists(&cube)?, bit.exists(&cube)?];
                let both = can[0].and(&can[1])?;
                let value = can[1].minus(&both)?;
                let value = manager.var(*var)?.iff(&value)?;
                relation = any.iff(&both)?.and(&value)?;
            } else {
                // Integers are chosen as a whole: such a program does not come from source text.
                return Err(StopReason::TooMany(Countable::Choices, 1));
            }
            relations.push(relation);
        }
        merge(relations)
    }

    /// The callers and descriptions of what a callee leaves with such that the call refuses the
    /// return: whatever is chosen, it neither goes on, as `accepts` says, nor fails.
    pub(crate) fn refuses(
        &mut self,
        callee: ProcId,
        accepts: &Bdd,
        failures: &[(Violation, Bdd)],
    ) -> Result<Bdd> {
        let program = self.encoding.program;
        let manager = self.encoding.manager.clone();
        let mut happens = any_of(accepts, failures)?;
        for (i, &ty) in program.procedure(callee).results.iter().enumerate() {
            let chosen = program.nodes.iter().any(|node| match &node.op {
                Op::Return(values) if node.procedure == callee => {
                    let choice = |part: &ExprNode| {
                        matches!(part, ExprNode::Nondet(_) | ExprNode::Schoose(..))
                    };
                    values[i].nodes.iter().any(choice)
                }
                _ => false,
            });
            if !chosen {
                continue;
            }
            let vars: Vec<Var> = self.encoding.result_vars(callee, i).collect();
            let code = self.encoding.literals(vars.iter().copied())?;
            let valid = in_range(&mut self.encoding.logic(), ty, &code)?;
            let some = happens.and_exists(&valid, &manager.cube(&vars)?)?;
            let any = manager.var(self.encoding.any_result(i))?;
            happens = any.ite(&some, &happens)?;
        }
        Ok(happens.not())
    }
}

/// `first`, or one of the failures.
fn any_of(first: &Bdd, failures: &[(Violation, Bdd)]) -> Result<Bdd> {
    failures
        .iter()
        .try_fold(first.clone(), |all, (_, bit)| all.or(bit))
}
