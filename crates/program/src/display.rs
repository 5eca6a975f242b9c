//! Expressions of a [`Program`] as text, in the program's own syntax.
//!
//! For traces, pictures and error messages. Parentheses are written wherever two dialects
//! could read the text differently. The walk has its own stack: an expression of a million
//! operators prints without native recursion.

use std::fmt::Write as _;

use crate::program::{Expr, ExprNode, Operator, ProcId, Program, Type, Value, VarRef};

enum Work {
    Node(u32),
    Text(&'static str),
}

/// A value as it is written in programs.
pub fn value_to_string(value: Value, ty: Type) -> String {
    match (ty, value) {
        (Type::Bool, 0) => "F".to_owned(),
        (Type::Bool, 1) => "T".to_owned(),
        _ => value.to_string(),
    }
}

/// `expr`, whose locals are those of `procedure`, as text.
pub fn expr_to_string(program: &Program, procedure: ProcId, expr: &Expr) -> String {
    let mut text = String::new();
    let mut agenda = vec![Work::Node(expr.nodes.len() as u32 - 1)];
    while let Some(work) = agenda.pop() {
        let index = match work {
            Work::Text(piece) => {
                text.push_str(piece);
                continue;
            }
            Work::Node(index) => index,
        };
        // The agenda is a stack: what is to be written first is pushed last.
        match &expr.nodes[index as usize] {
            ExprNode::Const(value) => {
                let _ = write!(text, "{value}");
            }
            ExprNode::Nondet(_) => text.push('*'),
            ExprNode::Var(var) => text.push_str(variable(program, procedure, *var)),
            ExprNode::Next(var) => {
                text.push('\'');
                text.push_str(variable(program, procedure, *var));
            }
            ExprNode::Not(operand) => {
                text.push('!');
                push_unary_operand(&mut agenda, expr, *operand);
            }
            ExprNode::BitNot(operand) => {
                text.push('~');
                push_unary_operand(&mut agenda, expr, *operand);
            }
            ExprNode::Neg(operand) => {
                text.push('-');
                let sign = matches!(expr.nodes[*operand as usize], ExprNode::Neg(_));
                if sign {
                    push(&mut agenda, *operand, true);
                } else {
                    push_unary_operand(&mut agenda, expr, *operand);
                }
            }
            ExprNode::Binary(op, left, right) => {
                push(
                    &mut agenda,
                    *right,
                    needs_parentheses(expr, *right, *op, false),
                );
                agenda.push(Work::Text(symbol(*op)));
                push(
                    &mut agenda,
                    *left,
                    needs_parentheses(expr, *left, *op, true),
                );
            }
            ExprNode::Schoose(a, b) => {
                text.push_str("schoose[");
                agenda.push(Work::Text("]"));
                agenda.push(Work::Node(*b));
                agenda.push(Work::Text(", "));
                agenda.push(Work::Node(*a));
            }
            ExprNode::At(nodes) => {
                text.push_str("at(");
                for (i, &node) in nodes.iter().enumerate() {
                    if i > 0 {
                        text.push_str(", ");
                    }
                    match program.node(node).labels.first() {
                        Some(label) => text.push_str(label),
                        None => {
                            let _ = write!(text, "node {}", node.0);
                        }
                    }
                }
                text.push(')');
            }
        }
    }
    text
}

/// The name of a variable as `procedure` sees it.
fn variable(program: &Program, procedure: ProcId, var: VarRef) -> &str {
    &program.variable(procedure, var).name
}

fn push(agenda: &mut Vec<Work>, node: u32, parentheses: bool) {
    if parentheses {
        agenda.push(Work::Text(")"));
    }
    agenda.push(Work::Node(node));
    if parentheses {
        agenda.push(Work::Text("("));
    }
}

fn push_unary_operand(agenda: &mut Vec<Work>, expr: &Expr, node: u32) {
    let parentheses = match &expr.nodes[node as usize] {
        ExprNode::Binary(..) => true,
        ExprNode::Const(value) => *value < 0,
        _ => false,
    };
    push(agenda, node, parentheses);
}

fn needs_parentheses(expr: &Expr, operand: u32, parent: Operator, left: bool) -> bool {
    match &expr.nodes[operand as usize] {
        ExprNode::Binary(op, ..) => {
            let chain = left && *op == parent && associative(parent);
            let tighter = strength(*op) > strength(parent) && strength(parent) > 0;
            !chain && !tighter
        }
        ExprNode::Const(value) => *value < 0,
        _ => false,
    }
}

fn associative(op: Operator) -> bool {
    matches!(
        op,
        Operator::And
            | Operator::Or
            | Operator::Xor
            | Operator::BitAnd
            | Operator::BitOr
            | Operator::BitXor
            | Operator::Add
            | Operator::Mul
    )
}

/// The binding strength of operators whose order everyone knows; 0 for the others.
fn strength(op: Operator) -> u8 {
    match op {
        Operator::Eq | Operator::Ne | Operator::Lt | Operator::Le | Operator::Gt | Operator::Ge => {
            1
        }
        Operator::Add | Operator::Sub => 2,
        Operator::Mul | Operator::Div | Operator::Rem => 3,
        _ => 0,
    }
}

fn symbol(op: Operator) -> &'static str {
    match op {
        Operator::And | Operator::BitAnd => " & ",
        Operator::Or | Operator::BitOr => " | ",
        Operator::Implies => " => ",
        Operator::Xor | Operator::BitXor => " ^ ",
        Operator::Eq => " = ",
        Operator::Ne => " != ",
        Operator::Lt => " < ",
        Operator::Le => " <= ",
        Operator::Gt => " > ",
        Operator::Ge => " >= ",
        Operator::Add => " + ",
        Operator::Sub => " - ",
        Operator::Mul => " * ",
        Operator::Div => " / ",
        Operator::Rem => " % ",
        Operator::Shl => " << ",
        Operator::Shr => " >> ",
    }
}
