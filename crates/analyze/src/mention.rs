//! Which variables a statement reads.

use droste_program::{Expr, ExprNode, Node, Op, VarRef};

/// Calls `f` with the variables that an expression reads. `Next` is the value after the step: it is
/// read here unless the step writes it.
fn each(expr: &Expr, written: &[VarRef], f: &mut impl FnMut(VarRef)) {
    for part in &expr.nodes {
        match *part {
            ExprNode::Var(var) => f(var),
            ExprNode::Next(var) if !written.contains(&var) => f(var),
            _ => {}
        }
    }
}

/// Calls `f` with the variables that a statement reads before it writes anything. Of a call, that is
/// all it reads before the callee is entered.
pub(crate) fn reads(node: &Node, mut f: impl FnMut(VarRef)) {
    let f = &mut f;
    match &node.op {
        Op::Call {
            args, constrain, ..
        } => {
            for arg in args {
                each(arg, &[], f);
            }
            let old = constrain.iter().flat_map(|expr| &expr.nodes);
            for part in old {
                if let ExprNode::Var(var) = *part {
                    f(var);
                }
            }
        }
        op => {
            let mut written = Vec::new();
            op.for_each_written(|var| written.push(var));
            op.for_each_expr(|expr| each(expr, &written, f));
            after(node, &written, f);
        }
    }
}

/// Calls `f` with the variables that a call reads after its callee has returned, without those that
/// get a result.
pub(crate) fn reads_after_return(node: &Node, mut f: impl FnMut(VarRef)) {
    let f = &mut f;
    let Op::Call {
        targets, constrain, ..
    } = &node.op
    else {
        return;
    };
    let written: Vec<VarRef> = targets.iter().flatten().copied().collect();
    for part in constrain.iter().flat_map(|expr| &expr.nodes) {
        match *part {
            ExprNode::Next(var) if !written.contains(&var) => f(var),
            _ => {}
        }
    }
    after(node, &written, f);
}

/// What must be true after the step.
fn after(node: &Node, written: &[VarRef], f: &mut impl FnMut(VarRef)) {
    for part in node.ensure.iter().flat_map(|expr| &expr.nodes) {
        match *part {
            ExprNode::Var(var) | ExprNode::Next(var) if !written.contains(&var) => f(var),
            _ => {}
        }
    }
}
