//! Conditions, built in postorder: the expressions by which an automaton's moves become part of a
//! program.
//!
//! Constants are folded while building. At most nodes every label of a property is false, so most
//! guards vanish there, and with them most moves. What is built stays a tree in postorder, as
//! [`Expr`] wants it.

use droste_program::{Expr, ExprNode, NodeId, Operator, Value, VarRef};

/// An operand that waits for its operator: its nodes are the last ones, from `start` on.
#[derive(Clone, Copy)]
struct Operand {
    start: usize,
    /// If the operand is a constant, which has one node: its value.
    literal: Option<Value>,
}

/// A stack machine that emits postorder.
#[derive(Default)]
pub(crate) struct Condition {
    nodes: Vec<ExprNode>,
    stack: Vec<Operand>,
}

impl Condition {
    /// The finished expression: what was built last.
    pub(crate) fn finish(self) -> Expr {
        debug_assert_eq!(self.stack.len(), 1, "every operand has been used");
        Expr { nodes: self.nodes }
    }

    fn leaf(&mut self, node: ExprNode, literal: Option<Value>) {
        let start = self.nodes.len();
        self.nodes.push(node);
        self.stack.push(Operand { start, literal });
    }

    pub(crate) fn constant(&mut self, value: Value) {
        self.leaf(ExprNode::Const(value), Some(value));
    }

    pub(crate) fn var(&mut self, var: VarRef) {
        self.leaf(ExprNode::Var(var), None);
    }

    pub(crate) fn next(&mut self, var: VarRef) {
        self.leaf(ExprNode::Next(var), None);
    }

    fn pop(&mut self) -> Operand {
        self.stack.pop().expect("an operator has its operands")
    }

    /// The root of the operand on top of the stack is the last node.
    fn root(&self) -> u32 {
        self.nodes.len() as u32 - 1
    }

    pub(crate) fn not(&mut self) {
        let a = self.pop();
        if let Some(value) = a.literal {
            self.nodes.truncate(a.start);
            return self.constant(Value::from(value == 0));
        }
        let root = self.root();
        self.nodes.push(ExprNode::Not(root));
        self.stack.push(a);
    }

    pub(crate) fn and(&mut self) {
        self.connect(Operator::And);
    }

    pub(crate) fn or(&mut self) {
        self.connect(Operator::Or);
    }

    pub(crate) fn equal(&mut self) {
        self.binary(Operator::Eq);
    }

    /// `&` and `|`: a constant operand decides or vanishes.
    fn connect(&mut self, operator: Operator) {
        let (b, a) = (self.pop(), self.pop());
        let neutral = Value::from(operator == Operator::And);
        match (
            a.literal.map(|v| Value::from(v != 0)),
            b.literal.map(|v| Value::from(v != 0)),
        ) {
            (_, Some(value)) if value == neutral => {
                self.nodes.truncate(b.start);
                self.stack.push(a);
            }
            (Some(value), _) if value == neutral => {
                self.remove_first(a.start);
                self.stack.push(Operand {
                    start: a.start,
                    literal: b.literal,
                });
            }
            (Some(value), _) | (_, Some(value)) => {
                self.nodes.truncate(a.start);
                self.constant(value);
            }
            (None, None) => {
                self.stack.extend([a, b]);
                self.binary(operator);
            }
        }
    }

    fn binary(&mut self, operator: Operator) {
        let (b, a) = (self.pop(), self.pop());
        let (left, right) = (b.start as u32 - 1, self.root());
        self.nodes.push(ExprNode::Binary(operator, left, right));
        self.stack.push(Operand {
            start: a.start,
            literal: None,
        });
    }

    /// Drops one leaf in front of an operand that is the last.
    fn remove_first(&mut self, at: usize) {
        self.nodes.remove(at);
        for node in &mut self.nodes[at..] {
            match node {
                ExprNode::Not(a) | ExprNode::BitNot(a) | ExprNode::Neg(a) => *a -= 1,
                ExprNode::Binary(_, a, b) | ExprNode::Schoose(a, b) => {
                    *a -= 1;
                    *b -= 1;
                }
                ExprNode::Const(_)
                | ExprNode::Nondet(_)
                | ExprNode::Var(_)
                | ExprNode::Next(_)
                | ExprNode::At(_) => {}
            }
        }
    }

    /// An expression as it is when control is at `node`, or after the end of the program.
    pub(crate) fn expression(&mut self, expr: &Expr, node: Option<NodeId>) {
        for part in &expr.nodes {
            match part {
                ExprNode::Const(value) => self.constant(*value),
                ExprNode::At(nodes) => {
                    let here = node.is_some_and(|node| nodes.binary_search(&node).is_ok());
                    self.constant(Value::from(here));
                }
                ExprNode::Nondet(_) | ExprNode::Var(_) | ExprNode::Next(_) => {
                    self.leaf(part.clone(), None);
                }
                ExprNode::Not(_) => self.not(),
                ExprNode::BitNot(_) | ExprNode::Neg(_) => {
                    let a = self.pop();
                    let root = self.root();
                    self.nodes.push(match part {
                        ExprNode::BitNot(_) => ExprNode::BitNot(root),
                        _ => ExprNode::Neg(root),
                    });
                    self.stack.push(Operand {
                        start: a.start,
                        literal: None,
                    });
                }
                ExprNode::Binary(operator @ (Operator::And | Operator::Or), ..) => {
                    self.connect(*operator);
                }
                ExprNode::Binary(operator, ..) => self.binary(*operator),
                ExprNode::Schoose(..) => {
                    let (b, a) = (self.pop(), self.pop());
                    let (left, right) = (b.start as u32 - 1, self.root());
                    self.nodes.push(ExprNode::Schoose(left, right));
                    self.stack.push(Operand {
                        start: a.start,
                        literal: None,
                    });
                }
            }
        }
    }

    /// Whether what was built last is the constant false.
    pub(crate) fn is_false(&self) -> bool {
        self.stack.last().is_some_and(|top| top.literal == Some(0))
    }

    /// Takes back what was built last.
    pub(crate) fn drop_last(&mut self) {
        let top = self.pop();
        self.nodes.truncate(top.start);
    }

    /// The disjunction of the last `count` operands; false if there are none.
    pub(crate) fn any(&mut self, count: usize) {
        if count == 0 {
            return self.constant(0);
        }
        for _ in 1..count {
            self.or();
        }
    }

    /// A Boolean variable, or its negation, now or after the step.
    pub(crate) fn literal(&mut self, var: VarRef, after: bool, value: bool) {
        if after {
            self.next(var);
        } else {
            self.var(var);
        }
        if !value {
            self.not();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_vanish_and_the_rest_is_a_tree_in_postorder() {
        let x = || VarRef::Global(0);
        let mut condition = Condition::default();
        // (true & (x & !false)) | (at(3) & x), at node 2.
        condition.constant(1);
        condition.var(x());
        condition.constant(0);
        condition.not();
        condition.and();
        condition.and();
        let label = Expr {
            nodes: vec![ExprNode::At([NodeId(3)].into())],
        };
        condition.expression(&label, Some(NodeId(2)));
        condition.var(x());
        condition.and();
        condition.or();
        assert_eq!(condition.finish(), Expr::var(x()));
    }

    #[test]
    fn what_stands_behind_a_constant_moves_up() {
        let mut condition = Condition::default();
        condition.constant(1);
        condition.var(VarRef::Global(0));
        condition.literal(VarRef::Global(1), true, false);
        condition.equal();
        condition.and();
        let nodes = vec![
            ExprNode::Var(VarRef::Global(0)),
            ExprNode::Next(VarRef::Global(1)),
            ExprNode::Not(1),
            ExprNode::Binary(Operator::Eq, 0, 2),
        ];
        assert_eq!(condition.finish(), Expr { nodes });
    }

    #[test]
    fn no_disjunct_is_false() {
        let mut condition = Condition::default();
        condition.any(0);
        assert!(condition.is_false());
    }
}
