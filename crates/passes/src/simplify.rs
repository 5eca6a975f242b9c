//! Puts what constant propagation found into the program.
//!
//! Each operation keeps its steps and its violations: expressions are replaced by folded ones
//! (see [`fold`](crate::fold)), a decided branch becomes a `Goto`, a step that never exists
//! becomes `Stuck` unless trying it may be a violation, and nodes that are in no run become
//! `Stuck`.

use crate::constants::{Constants, Env};
use crate::fold::{Facts, Folder};
use crate::graph;
use droste_program::{Expr, ExprNode, NodeId, Op, ProcId, Program, Type, VarRef};
use std::sync::Arc;

/// What has been done.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    /// Expressions that became simpler.
    pub(crate) expressions: usize,
    /// Operations that became a `Goto` or `Stuck`, or lost a constraint.
    pub(crate) decided: usize,
    /// Nodes that are in no run.
    pub(crate) unreachable: usize,
}

/// What a folded condition says.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Decision {
    Always,
    Never,
    /// A bare `*`.
    Either,
    Depends,
}

struct Simplifier<'a> {
    /// Its nodes are left alone.
    program: &'a Program,
    constants: &'a mut Constants,
    folder: Folder,
    counts: Counts,
}

/// Rewrites the reached nodes of `program`, if `fold`, and cuts those that are not reached,
/// if `cut`.
pub(crate) fn simplify(
    program: &mut Program,
    constants: &mut Constants,
    fold: bool,
    cut: bool,
) -> Counts {
    let mut nodes = std::mem::take(&mut program.nodes);
    let mut simplifier = Simplifier {
        program,
        constants,
        folder: Folder::default(),
        counts: Counts::default(),
    };
    for (node, id) in nodes.iter_mut().zip(0..) {
        match simplifier.constants.env(NodeId(id)) {
            None if cut && node.op != Op::Stuck => {
                simplifier.counts.unreachable += 1;
                graph::cut(node);
            }
            Some(env) if fold => simplifier.node(node, &env),
            _ => {}
        }
    }
    let counts = simplifier.counts;
    program.nodes = nodes;
    counts
}

impl Simplifier<'_> {
    /// Folds `expr` in place.
    fn fold(
        &mut self,
        procedure: ProcId,
        expr: &mut Expr,
        now: &Env,
        next: &Env,
    ) -> (Decision, Facts) {
        let folder = &mut self.folder;
        let facts = self
            .constants
            .fold(self.program, procedure, expr, now, next, folder);
        let folded = folder.emit();
        if folded != *expr {
            self.counts.expressions += 1;
            *expr = folded;
        }
        let decision = match folder.constant() {
            Some(0) => Decision::Never,
            Some(_) => Decision::Always,
            None if folder.is_any_bool() => Decision::Either,
            None => Decision::Depends,
        };
        (decision, facts)
    }

    /// Folds an expression whose value is stored in a `ty`; whether that can fail.
    fn stored(&mut self, procedure: ProcId, expr: &mut Expr, ty: Type, env: &Env) -> bool {
        let (_, facts) = self.fold(procedure, expr, env, env);
        if let Some(value) = expr.as_const()
            && let Some(value) = ty.convert(value)
        {
            *expr = Expr::constant(value);
        }
        facts.store_can_fail(ty)
    }

    fn node(&mut self, node: &mut droste_program::Node, env: &Env) {
        let procedure = node.procedure;
        let program = self.program;
        // The values after the step, if it exists at all and they are known.
        let mut after = Some(Env::clone(env));
        let mut can_fail = false;
        let mut decided = None;
        match &mut node.op {
            Op::Goto(_)
            | Op::StartThread { .. }
            | Op::AtomicBegin(_)
            | Op::AtomicEnd(_)
            | Op::Stuck
            | Op::EndThread => {}
            Op::Assign {
                assigns,
                discards,
                constrain,
                next,
            } => {
                // Before the right-hand sides are folded, which changes nothing but is visible.
                let then =
                    self.constants
                        .assigned(program, procedure, assigns, env, &mut self.folder);
                assigns.retain(|(var, expr)| *expr != Expr::var(*var));
                if let Some(constrain) = constrain {
                    keep_unchanged(constrain, |var| {
                        !assigns.iter().any(|&(assigned, _)| assigned == var)
                    });
                }
                for (var, expr) in assigns.iter_mut() {
                    let ty = program.variable(procedure, *var).ty;
                    can_fail |= self.stored(procedure, expr, ty, env);
                }
                for expr in discards.iter_mut() {
                    can_fail |= self.fold(procedure, expr, env, env).1.can_fail;
                }
                let (decision, constrain_can_fail) =
                    self.constrain(procedure, constrain, env, &then);
                match decision {
                    Decision::Never if !can_fail => decided = Some(Op::Stuck),
                    _ if assigns.is_empty() && discards.is_empty() && constrain.is_none() => {
                        decided = Some(Op::Goto(vec![*next]));
                    }
                    _ => {}
                }
                // The `constrain` is evaluated before what is enforced, and its failure is a
                // violation.
                can_fail |= constrain_can_fail;
                after = Some(then);
            }
            Op::Branch { condition, yes, no } => {
                let (decision, facts) = self.fold(procedure, condition, env, env);
                can_fail = facts.can_fail;
                decided = match decision {
                    _ if yes == no && !can_fail => Some(Op::Goto(vec![*yes])),
                    Decision::Always => Some(Op::Goto(vec![*yes])),
                    Decision::Never => Some(Op::Goto(vec![*no])),
                    Decision::Either => Some(Op::Goto(vec![*yes, *no])),
                    Decision::Depends => None,
                };
            }
            Op::Assume { condition, next } => {
                let (decision, facts) = self.fold(procedure, condition, env, env);
                can_fail = facts.can_fail;
                decided = match decision {
                    // A run that is stuck does not go on and is no violation.
                    Decision::Always | Decision::Either => Some(Op::Goto(vec![*next])),
                    Decision::Never => Some(Op::Stuck),
                    Decision::Depends => None,
                };
            }
            Op::Assert { condition, next } => {
                let (decision, _) = self.fold(procedure, condition, env, env);
                if decision == Decision::Always {
                    decided = Some(Op::Goto(vec![*next]));
                } else {
                    can_fail = true;
                }
            }
            Op::Call {
                callee,
                args,
                targets,
                constrain,
                ..
            } => {
                // What the callee does matters even if the call never comes back.
                can_fail = true;
                after = self
                    .constants
                    .returned(program, procedure, *callee, targets, env);
                let params = &program.procedure(*callee).locals;
                for (arg, param) in args.iter_mut().zip(params) {
                    self.stored(procedure, arg, param.ty, env);
                }
                if let Some(constrain) = constrain {
                    keep_unchanged(constrain, |var| {
                        matches!(var, VarRef::Local(_)) && !targets.contains(&Some(var))
                    });
                }
                if let Some(after) = &after {
                    self.constrain(procedure, constrain, env, after);
                }
            }
            Op::Return(results) => {
                let types = &program.procedure(procedure).results;
                for (expr, &ty) in results.iter_mut().zip(types) {
                    can_fail |= self.stored(procedure, expr, ty, env);
                }
            }
        }
        if let (Some(after), Some(ensure)) = (&after, &mut node.ensure) {
            // The `ensure` is shared with other nodes, which may know other values.
            let mut folded = Expr::clone(ensure);
            let (decision, _) = self.fold(procedure, &mut folded, after, after);
            if folded != **ensure {
                *ensure = Arc::new(folded);
            }
            match decision {
                Decision::Always | Decision::Either => {
                    self.counts.decided += 1;
                    node.ensure = None;
                }
                Decision::Never if !can_fail => decided = Some(Op::Stuck),
                Decision::Never | Decision::Depends => {}
            }
        }
        match decided {
            Some(Op::Stuck) => {
                self.counts.decided += 1;
                graph::cut(node);
            }
            Some(op) => {
                self.counts.decided += 1;
                node.op = op;
            }
            None => {}
        }
    }

    /// Folds a constraint and takes it away if it can always be true. Also says whether it can
    /// fail.
    fn constrain(
        &mut self,
        procedure: ProcId,
        constrain: &mut Option<Expr>,
        now: &Env,
        next: &Env,
    ) -> (Decision, bool) {
        let Some(expr) = constrain else {
            return (Decision::Always, false);
        };
        let (decision, facts) = self.fold(procedure, expr, now, next);
        if matches!(decision, Decision::Always | Decision::Either) {
            *constrain = None;
            self.counts.decided += 1;
        }
        (decision, facts.can_fail)
    }
}

/// The value after the step of a variable that the step does not change is the value before.
fn keep_unchanged(constrain: &mut Expr, unchanged: impl Fn(VarRef) -> bool) {
    for node in &mut constrain.nodes {
        if let ExprNode::Next(var) = *node
            && unchanged(var)
        {
            *node = ExprNode::Var(var);
        }
    }
}
