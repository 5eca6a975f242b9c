//! The statements of the product: the automaton reads a position, and the program's statement is
//! executed with that move or after it.

use droste_program::{Expr, ExprNode, NodeId, Op, ProcId, Type, VarRef};

use super::build::{Builder, Frame};
use super::{Origin, Role};
use crate::repeat::condition::Condition;

impl Builder<'_> {
    /// One statement: where nothing speaks against it, the automaton's move is part of it.
    pub(super) fn statement(&mut self, frame: &Frame, node: NodeId) {
        let source = self.source;
        let from = source.node(node);
        let read = self.head(node);
        let together = match &from.op {
            Op::Goto(to) if to.len() == 1 => Some((Vec::new(), Vec::new(), None, to[0])),
            Op::Assign {
                assigns,
                discards,
                constrain,
                next,
            } => Some((assigns.clone(), discards.clone(), constrain.as_ref(), *next)),
            Op::Assume { condition, next } | Op::Assert { condition, next } => {
                Some((Vec::new(), Vec::new(), Some(condition), *next))
            }
            _ => None,
        };
        if let Some((assigns, discards, constrain, next)) = together {
            let next = self.head(next);
            let op = self.read(frame, Some(node), assigns, discards, constrain, next);
            self.set(read, op);
            self.nodes[read.0 as usize].ensure.clone_from(&from.ensure);
            return;
        }
        if let Op::Return(values) = &from.op
            && frame.outermost
        {
            let Some(end) = frame.end else {
                // A cycle does not leave its lowest frame.
                return;
            };
            // Stored as results are: what cannot be returned cannot be stored either.
            let results = values.iter().enumerate();
            let results =
                results.map(|(i, value)| (VarRef::Local(frame.results + i as u32), value.clone()));
            let op = self.read(frame, Some(node), results.collect(), Vec::new(), None, end);
            self.set(read, op);
            return;
        }
        let op = match &from.op {
            Op::Stuck | Op::StartThread { .. } | Op::EndThread => return,
            Op::Goto(to) => Op::Goto(to.iter().map(|&to| self.head(to)).collect()),
            Op::Branch { condition, yes, no } => Op::Branch {
                condition: condition.clone(),
                yes: self.head(*yes),
                no: self.head(*no),
            },
            Op::AtomicBegin(next) | Op::AtomicEnd(next) => Op::Goto(vec![self.head(*next)]),
            Op::Return(values) => {
                let mark = frame.mark.map(|(mark, _)| Expr::var(mark));
                Op::Return(values.iter().cloned().chain(mark).collect())
            }
            Op::Call {
                callee,
                args,
                targets,
                constrain,
                next,
            } => self.call(frame, *callee, args, targets, constrain.as_ref(), *next),
            Op::Assign { .. } | Op::Assume { .. } | Op::Assert { .. } => {
                unreachable!("the automaton's move is part of it")
            }
        };
        let origin = Origin {
            role: Role::Do,
            node: Some(node),
        };
        let execute = self.node(frame.procedure, origin);
        self.set(execute, op);
        self.nodes[execute.0 as usize]
            .ensure
            .clone_from(&from.ensure);
        let op = self.read(frame, Some(node), Vec::new(), Vec::new(), None, execute);
        self.set(read, op);
    }

    fn call(
        &mut self,
        frame: &Frame,
        callee: ProcId,
        args: &[Expr],
        targets: &[Option<VarRef>],
        constrain: Option<&Expr>,
        next: NodeId,
    ) -> Op {
        let mut targets = targets.to_vec();
        let mut after = self.head(next);
        if let Some((mark, callees)) = frame.mark {
            targets.resize(self.source.procedure(callee).results.len(), None);
            targets.push(Some(callees));
            let origin = Origin {
                role: Role::Merge,
                node: Some(next),
            };
            let merge = self.node(frame.procedure, origin);
            let mut either = Condition::default();
            either.var(mark);
            either.var(callees);
            either.or();
            let op = Op::Assign {
                assigns: vec![(mark, either.finish())],
                discards: Vec::new(),
                constrain: None,
                next: after,
            };
            self.set(merge, op);
            after = merge;
        }
        Op::Call {
            callee,
            args: args.to_vec(),
            targets,
            constrain: constrain.cloned(),
            next: after,
        }
    }

    /// The automaton reads the position, unless it is silent, and the given assignments are made.
    pub(super) fn read(
        &self,
        frame: &Frame,
        node: Option<NodeId>,
        mut assigns: Vec<(VarRef, Expr)>,
        discards: Vec<Expr>,
        constrain: Option<&Expr>,
        next: NodeId,
    ) -> Op {
        let mut discards = discards;
        if self.is_asked(frame, node) {
            // Whoever asks for a value looks at it. So the procedure and its callers must not leave
            // the value out of their states, even if the automaton's moves have lost it because
            // there is no mark.
            let asked = self.wanted().into_iter();
            discards.extend(asked.map(|(var, _)| Expr::var(var)));
        }
        if node.is_some_and(|node| self.source.node(node).silent) {
            return Op::Assign {
                assigns,
                discards,
                constrain: constrain.cloned(),
                next,
            };
        }
        let mark = self.mark.or(frame.mark.map(|(mark, _)| mark));
        let any = Expr {
            nodes: vec![ExprNode::Nondet(Type::Bool)],
        };
        let ours = self.state.iter().copied().chain(mark);
        assigns.extend(ours.map(|var| (var, any.clone())));
        let mut condition = Condition::default();
        if let Some(constrain) = constrain {
            condition.expression(constrain, None);
        } else {
            condition.constant(1);
        }
        self.moves(&mut condition, frame.source, node, mark);
        condition.and();
        if condition.is_false() {
            return Op::Stuck;
        }
        Op::Assign {
            assigns,
            discards,
            constrain: Some(condition.finish()),
            next,
        }
    }

    /// The automaton's moves at a position, between its state now and after the step.
    fn moves(
        &self,
        condition: &mut Condition,
        procedure: ProcId,
        node: Option<NodeId>,
        mark: Option<VarRef>,
    ) {
        let mut groups = 0;
        for (state, edges) in self.automaton.states.iter().enumerate() {
            let mut ways = 0;
            for edge in edges {
                self.guard(condition, &edge.guard, procedure, node);
                if condition.is_false() {
                    condition.drop_last();
                    continue;
                }
                for (bit, &var) in self.state.iter().enumerate() {
                    condition.literal(var, true, edge.to >> bit & 1 == 1);
                    condition.and();
                }
                if let Some(mark) = mark {
                    condition.next(mark);
                    if !edge.marked {
                        condition.var(mark);
                        condition.equal();
                    }
                    condition.and();
                }
                ways += 1;
            }
            if ways == 0 {
                continue;
            }
            condition.any(ways);
            for (bit, &var) in self.state.iter().enumerate() {
                condition.literal(var, false, state >> bit & 1 == 1);
                condition.and();
            }
            groups += 1;
        }
        condition.any(groups);
    }

    fn guard(
        &self,
        condition: &mut Condition,
        guard: &[Vec<(u32, bool)>],
        procedure: ProcId,
        node: Option<NodeId>,
    ) {
        for conjunction in guard {
            condition.constant(1);
            for &(atom, value) in conjunction {
                let proposition = &self.propositions[atom as usize];
                let expr = match node {
                    Some(_) => &proposition.by_procedure[procedure.0 as usize],
                    None => &proposition.terminated,
                };
                condition.expression(expr, node);
                if !value {
                    condition.not();
                }
                condition.and();
            }
        }
        condition.any(guard.len());
    }
}
