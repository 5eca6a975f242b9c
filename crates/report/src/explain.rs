//! Says in words why the last step of an execution is a violation.
//!
//! An execution names the kind of violation only. For a value outside its range, the value is
//! computed here if the expression leaves no choice; otherwise the type alone is named.

use droste_program::execution::Valuation;
use droste_program::{Expr, ExprNode, NodeId, Op, Type, Value, VarRef, Violation};

use crate::view::View;

/// What is said at the statement `node`. `caller` is the last call that has not returned.
pub(crate) fn violation(
    view: &View,
    node: NodeId,
    caller: Option<NodeId>,
    now: &Valuation,
    violation: Violation,
) -> String {
    match violation {
        Violation::Assertion => "assertion fails here".to_owned(),
        Violation::DivisionByZero => "division by zero".to_owned(),
        Violation::NegativeShift => "shift by a negative distance".to_owned(),
        Violation::OutOfRange => out_of_range(view, node, caller, now),
    }
}

fn out_of_range(view: &View, at: NodeId, caller: Option<NodeId>, now: &Valuation) -> String {
    // The values stored here and the types they are stored in.
    let mut stores: Vec<(&Expr, Type)> = Vec::new();
    match view.node(at).map(|node| &node.op) {
        Some(Op::Assign { assigns, .. }) => {
            for (var, expr) in assigns {
                stores.extend(view.variable(at, *var).map(|v| (expr, v.ty)));
            }
        }
        Some(Op::Call { callee, args, .. }) => {
            if let Some(callee) = view.program.procedures.get(callee.0 as usize) {
                stores.extend(args.iter().zip(callee.locals.iter().map(|v| v.ty)));
            }
        }
        Some(Op::Return(values)) => {
            if let Some(procedure) = view.procedure_of(at) {
                stores.extend(values.iter().zip(procedure.results.iter().copied()));
            }
            if let Some(call) = caller
                && let Some(Op::Call { targets, .. }) = view.node(call).map(|node| &node.op)
            {
                for (expr, target) in values.iter().zip(targets) {
                    let variable = target.and_then(|var| view.variable(call, var));
                    stores.extend(variable.map(|v| (expr, v.ty)));
                }
            }
        }
        _ => {}
    }
    stores.retain(|(_, ty)| matches!(ty, Type::Range { .. }));
    let mut undetermined = Vec::new();
    for (expr, ty) in stores {
        match evaluate(expr, now) {
            Some(value) if value < ty.lo() || value > ty.hi() => {
                return format!("value {value} is outside {ty}");
            }
            Some(_) => {}
            None => undetermined.push(ty),
        }
    }
    match undetermined.first() {
        Some(ty) if undetermined.iter().all(|other| other == ty) => {
            format!("a value outside {ty}")
        }
        _ => "a value outside its variable's range".to_owned(),
    }
}

/// The value of an expression without choices, if it has one.
fn evaluate(expr: &Expr, now: &Valuation) -> Option<Value> {
    let mut values: Vec<Option<Value>> = Vec::with_capacity(expr.nodes.len());
    for node in &expr.nodes {
        let get = |i: u32| values.get(i as usize).copied().flatten();
        let value = match node {
            ExprNode::Const(value) => Some(*value),
            ExprNode::Var(VarRef::Global(i)) => now.globals.get(*i as usize).copied(),
            ExprNode::Var(VarRef::Local(i)) => now.locals.get(*i as usize).copied(),
            ExprNode::Not(a) => get(*a).map(|a| Value::from(a == 0)),
            ExprNode::BitNot(a) => get(*a).map(|a| !a),
            ExprNode::Neg(a) => get(*a).map(Value::wrapping_neg),
            ExprNode::Binary(operator, a, b) => match (get(*a), get(*b)) {
                (Some(a), Some(b)) => operator.apply(a, b),
                _ => None,
            },
            ExprNode::Nondet(_) | ExprNode::Next(_) | ExprNode::Schoose(..) | ExprNode::At(_) => {
                None
            }
        };
        values.push(value);
    }
    values.pop().flatten()
}
