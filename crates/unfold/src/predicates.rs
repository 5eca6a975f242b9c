//! Propositions about packed states: where control is, whether the run has failed, propositions
//! about variables.
//!
//! A proposition is compiled for every node. It may need a variable that has no value yet: the
//! state is then split before anything else happens, so that every state which is not split has an
//! answer.

use droste_base::PropId;
use droste_program::{ExprNode, NodeId, Proposition, VarRef};

use crate::ahead::NOT;
use crate::code::{Code, Outcome, Scope, TRUE};
use crate::layout::Status;
use crate::machine::{Machine, Needs};

/// What is asked about states, by [`PropId`].
pub(crate) enum StatePredicate {
    /// Control is at one of these nodes (a bit set).
    At(Vec<u64>),
    /// The run has ended in a violation.
    Failed,
    /// Either.
    AtOrFailed(Vec<u64>),
    /// A proposition: code for each node, and for the terminated program.
    Proposition(Vec<Code>, Code),
}

impl Machine {
    /// Adds a question about control: is it at one of these nodes, or, with `failed`, has the run
    /// ended in a violation?
    pub fn ask_control(&mut self, nodes: &[NodeId], failed: bool) -> PropId {
        let mut bits = vec![0; self.nodes.len() / 64 + 1];
        for node in nodes {
            bits[node.0 as usize / 64] |= 1 << (node.0 % 64);
        }
        self.predicates.push(match (nodes, failed) {
            ([], true) => StatePredicate::Failed,
            (_, true) => StatePredicate::AtOrFailed(bits),
            (_, false) => StatePredicate::At(bits),
        });
        PropId(self.predicates.len() as u32 - 1)
    }

    /// Adds a question about variables and control. States are split until it has an answer.
    pub fn ask(&mut self, proposition: &Proposition) -> PropId {
        let codes = self.nodes.iter().enumerate().map(|(i, node)| {
            let scope = Scope {
                globals: &self.layout.globals,
                locals: &self.layout.locals[node.procedure as usize],
                node: Some(NodeId(i as u32)),
                after: false,
            };
            scope.compile(&proposition.by_procedure[node.procedure as usize], true)
        });
        let codes: Vec<Code> = codes.collect();
        for (node, &index) in self.nodes.iter().zip(&self.ahead) {
            if index != NOT {
                let reads = &mut self.reads[index as usize * self.layout.words..];
                let expr = &proposition.by_procedure[node.procedure as usize];
                for field in self.layout.variables(expr, node.procedure) {
                    field.cover(reads);
                }
            }
        }
        let scope = Scope {
            globals: &self.layout.globals,
            locals: &[],
            node: None,
            after: false,
        };
        let terminated = scope.compile(&proposition.terminated, true);
        let silent = self.nodes.iter().map(|node| node.silent).chain([false]);
        let all = codes.iter().chain([&terminated]).zip(silent);
        for (observes, (code, silent)) in self.observes.iter_mut().zip(all) {
            *observes |= !silent && !matches!(code, Code::Const(_));
        }
        self.predicates
            .push(StatePredicate::Proposition(codes, terminated));
        let exprs = proposition
            .by_procedure
            .iter()
            .chain([&proposition.terminated]);
        for part in exprs.flat_map(|expr| &expr.nodes) {
            if let ExprNode::Var(VarRef::Global(i)) = *part
                && !self.observed.contains(&i)
            {
                self.observed.push(i);
                // Whoever watches a global touches it.
                let field = self.layout.globals[i as usize];
                for mask in self.touched.chunks_mut(self.layout.words) {
                    field.cover(mask);
                }
            }
        }
        PropId(self.predicates.len() as u32 - 1)
    }

    /// The answer to a question.
    pub(crate) fn answer(&self, words: &[u64], question: u32) -> bool {
        let node = self.layout.node(words) as usize;
        let at = |bits: &[u64]| bits[node / 64] >> (node % 64) & 1 == 1;
        let status = self.layout.status(words);
        match (&self.predicates[question as usize], status) {
            (StatePredicate::At(bits) | StatePredicate::AtOrFailed(bits), Status::Running) => {
                at(bits)
            }
            (StatePredicate::Failed | StatePredicate::AtOrFailed(_), Status::Failed(_)) => true,
            (StatePredicate::Proposition(codes, _), Status::Running) => {
                codes[node].eval(words, words) == Outcome::Set(TRUE)
            }
            (StatePredicate::Proposition(_, code), Status::Terminated) => {
                code.eval(words, words) == Outcome::Set(TRUE)
            }
            _ => false,
        }
    }

    /// Whether the state is no position of the run.
    pub(crate) fn silent(&self, words: &[u64]) -> bool {
        self.layout.status(words) == Status::Running
            && self.nodes[self.layout.node(words) as usize].silent
    }

    /// The variable that some proposition needs before it has an answer.
    pub(crate) fn observe(&self, words: &[u64], status: Status) -> Result<(), Needs> {
        for question in &self.predicates {
            if let StatePredicate::Proposition(codes, terminated) = question {
                let code = match status {
                    Status::Running => &codes[self.layout.node(words) as usize],
                    _ => terminated,
                };
                if let Outcome::Needs(slot) = code.eval(words, words) {
                    return Err(Needs(slot));
                }
            }
        }
        Ok(())
    }
}
