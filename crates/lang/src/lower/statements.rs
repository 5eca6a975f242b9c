//! The second pass over a procedure: what each node does.
//!
//! One loop over the slots of the [`layout`](super::layout), in the order of the source. Slot `i`
//! of a procedure becomes node `base + i`. Because an `enforce` has a smaller slot than every
//! statement in its scope, its condition is translated before anything needs it.

use std::collections::HashSet;
use std::sync::Arc;

use crate::ast::{Ast, ExprId, Name, Stmt, StmtId, StmtKind, Target};
use droste_base::words::counted;
use droste_program::{Expr, ExprNode, Node, NodeId, Op, Operator, ProcId, VarRef};
use droste_source::Span;
use droste_source::diagnostics::Diagnostic;

use super::layout::{Slot, SlotKind, declaration, is_async, starts_at_label};
use super::names::{Environment, ProcedureLeaves};
use super::sink::Sink;
use super::types::{Role, translate};

/// The most expression nodes that all conditions of `enforce`s together may have: each
/// scope has a condition of its own, the conjunction of all that apply there.
const MOST_ENFORCED: usize = 1 << 22;

/// The most variables that all statements `constrain(e)` together may set: each sets all.
const MOST_CONSTRAINED: usize = 1 << 22;

/// What has been written out so far, in the whole program.
#[derive(Default)]
pub(super) struct Budget {
    enforced: usize,
    constrained: usize,
}

/// Emits the nodes of one procedure.
pub(super) struct Emitter<'e, 'a> {
    ast: &'a Ast,
    pub(super) env: &'e Environment<'a>,
    pub(super) proc: usize,
    base: u32,
    pub(super) sink: &'e mut Sink,
    reported: HashSet<Arc<str>>,
    /// The condition of each scope; `None` if it is wrong.
    ensures: Vec<Option<Arc<Expr>>>,
    budget: &'e mut Budget,
}

impl<'e, 'a> Emitter<'e, 'a> {
    pub(super) fn new(
        ast: &'a Ast,
        env: &'e Environment<'a>,
        proc: usize,
        base: u32,
        budget: &'e mut Budget,
        sink: &'e mut Sink,
    ) -> Self {
        Emitter {
            ast,
            env,
            proc,
            base,
            sink,
            reported: HashSet::new(),
            ensures: Vec::new(),
            budget,
        }
    }

    /// Appends the nodes of the procedure to `nodes`.
    pub(super) fn emit(mut self, nodes: &mut Vec<Node>) {
        let env = self.env;
        let proc = &env.procs[self.proc];
        for (i, slot) in proc.layout.slots.iter().enumerate() {
            let i = i as u32;
            let next = self.node(slot.next);
            let silent =
                matches!(slot.kind, SlotKind::Stmt(id) if declaration(self.ast, id).is_some());
            let (span, labels, op) = match slot.kind {
                SlotKind::Stmt(id) => {
                    let stmt = self.ast.stmt(id);
                    let op = if is_async(self.ast, id) {
                        Some(Op::StartThread {
                            start: self.node(i + 1),
                            next,
                        })
                    } else {
                        self.statement(stmt, i, slot)
                    };
                    (stmt.span, &stmt.labels[..], op)
                }
                SlotKind::Arm(id, arm) => match &self.ast.stmt(id).kind {
                    StmtKind::If { arms, .. } => {
                        let (condition, body) = &arms[arm as usize];
                        let op = self.branch("the condition of `elsif`", *condition, body, i, slot);
                        (self.ast.expr(*condition).span, &[][..], op)
                    }
                    _ => continue,
                },
                SlotKind::AsyncCall(id) => {
                    let stmt = self.ast.stmt(id);
                    (stmt.span, &[][..], self.statement(stmt, i, slot))
                }
                SlotKind::ThreadEnd(id) => (self.ast.stmt(id).span, &[][..], Some(Op::EndThread)),
                SlotKind::End => {
                    let op = if proc.function.results.is_empty() {
                        Op::Return(Vec::new())
                    } else {
                        Op::Stuck
                    };
                    (proc.function.end.0, &[][..], Some(op))
                }
            };
            // A wrong statement has been reported; the program is not used.
            let op = op.unwrap_or(Op::Stuck);
            let ensure = match op {
                Op::Return(_) | Op::Stuck | Op::EndThread => None,
                _ => slot
                    .scope
                    .and_then(|scope| self.ensures.get(scope as usize)?.clone()),
            };
            nodes.push(Node {
                procedure: ProcId(self.proc as u32),
                span,
                labels: distinct(labels),
                op,
                silent,
                ensure,
            });
        }
    }

    fn node(&self, slot: u32) -> NodeId {
        NodeId(self.base + slot)
    }

    fn leaves<'s>(
        env: &'s Environment<'a>,
        proc: usize,
        reported: &'s mut HashSet<Arc<str>>,
        next_allowed: bool,
    ) -> ProcedureLeaves<'s, 'a> {
        ProcedureLeaves {
            env,
            proc,
            next_allowed,
            reported,
        }
    }

    pub(super) fn expr(&mut self, id: ExprId, role: Role<'_>) -> Option<Expr> {
        let mut leaves = Self::leaves(self.env, self.proc, &mut self.reported, false);
        translate(self.ast, id, role, &mut leaves, self.sink)
    }

    fn constrain(&mut self, id: ExprId) -> Option<Expr> {
        let mut leaves = Self::leaves(self.env, self.proc, &mut self.reported, true);
        let role = Role::Condition("the condition of `constrain`");
        translate(self.ast, id, role, &mut leaves, self.sink)
    }

    /// `None` if there is an error, `Some(None)` if there is no such clause.
    #[allow(clippy::option_option)]
    pub(super) fn optional_constrain(&mut self, id: Option<ExprId>) -> Option<Option<Expr>> {
        match id {
            Some(id) => self.constrain(id).map(Some),
            None => Some(None),
        }
    }

    fn variable(&mut self, name: &Name) -> Option<VarRef> {
        Self::leaves(self.env, self.proc, &mut self.reported, false).variable(name, self.sink)
    }

    fn statement(&mut self, stmt: &'a Stmt, i: u32, slot: &Slot) -> Option<Op> {
        let next = self.node(slot.next);
        let goto = Some(Op::Goto(vec![next]));
        match &stmt.kind {
            StmtKind::Decl(decl) => self.any_values(&decl.names, true, next),
            StmtKind::Dead(names) => self.any_values(names, false, next),
            StmtKind::Assign {
                targets,
                values,
                constrain,
            } => self.assign(stmt, targets, values, *constrain, next),
            StmtKind::Call {
                targets,
                callee,
                args,
                constrain,
            } => self.call(stmt, targets, callee, args, *constrain, next),
            StmtKind::Assert(e) => {
                let condition = self.expr(*e, Role::Condition("the condition of `assert`"))?;
                Some(Op::Assert { condition, next })
            }
            StmtKind::AbortIf(e) => {
                let mut condition = self.expr(*e, Role::Condition("the condition of `abortif`"))?;
                let root = condition.nodes.len() as u32 - 1;
                condition.nodes.push(ExprNode::Not(root));
                Some(Op::Assert { condition, next })
            }
            StmtKind::Assume(e) => {
                let condition = self.expr(*e, Role::Condition("the condition of `assume`"))?;
                Some(Op::Assume { condition, next })
            }
            StmtKind::Constrain(e) => self.constrain_all(*e, stmt.span, next),
            StmtKind::Enforce(e) => {
                let condition = self.expr(*e, Role::Condition("the condition of `enforce`"));
                self.enter_scope(*e, slot, condition.as_ref(), stmt.span);
                Some(Op::Assume {
                    condition: condition?,
                    next,
                })
            }
            StmtKind::If { arms, .. } => {
                let (condition, body) = arms.first()?;
                self.branch("the condition of `if`", *condition, body, i, slot)
            }
            StmtKind::While { condition, body } => {
                let condition =
                    self.expr(*condition, Role::Condition("the condition of `while`"))?;
                Some(Op::Branch {
                    condition,
                    yes: self.node(if body.is_empty() { i } else { i + 1 }),
                    no: next,
                })
            }
            StmtKind::Goto(labels) => {
                let mut nodes = Vec::with_capacity(labels.len());
                let mut seen = HashSet::with_capacity(labels.len());
                for label in labels {
                    let node = self.label(label);
                    if seen.insert(node) {
                        nodes.push(node);
                    }
                }
                let nodes: Option<Vec<NodeId>> = nodes.into_iter().collect();
                Some(Op::Goto(nodes.filter(|nodes| !nodes.is_empty())?))
            }
            StmtKind::Return(values) => self.return_values(stmt, values),
            StmtKind::Skip => goto,
            StmtKind::Print(values) => {
                for value in values {
                    self.expr(*value, Role::Free);
                }
                goto
            }
            StmtKind::StartThread(inner) => {
                let start = self.thread_start(*inner, i)?;
                Some(Op::StartThread { start, next })
            }
            StmtKind::EndThread => Some(Op::EndThread),
            StmtKind::Sync(name) => {
                self.sink.push(
                    Diagnostic::error(stmt.span, "`sync` is not supported")
                        .label(format!(
                            "what `sync {name}` means is not documented anywhere"
                        ))
                        .help("say what is meant with `atomic_begin`, `assume` and `atomic_end`"),
                );
                None
            }
            StmtKind::AtomicBegin => Some(Op::AtomicBegin(next)),
            StmtKind::AtomicEnd => Some(Op::AtomicEnd(next)),
        }
    }

    /// `constrain(e)`: every variable that can be seen takes any value, so that e holds.
    fn constrain_all(&mut self, e: ExprId, span: Span, next: NodeId) -> Option<Op> {
        let constrain = self.constrain(e)?;
        let env = self.env;
        let locals = env.procs[self.proc].layout.locals.len();
        let before = self.budget.constrained;
        self.budget.constrained += env.globals.len() + locals;
        if self.budget.constrained > MOST_CONSTRAINED {
            if before <= MOST_CONSTRAINED {
                self.sink.push(
                    Diagnostic::error(
                        span,
                        "too many variables in too many `constrain` statements",
                    )
                    .label(format!("up to here, they set {MOST_CONSTRAINED} variables"))
                    .help("`x := * constrain e` sets only the variables that it names"),
                );
            }
            return None;
        }
        let all = env
            .visible_globals(self.proc)
            .chain((0..locals as u32).map(VarRef::Local));
        let assigns = all
            .map(|var| (var, any_of(env.place(self.proc, var).ty)))
            .collect();
        Some(Op::Assign {
            assigns,
            discards: Vec::new(),
            constrain: Some(constrain),
            next,
        })
    }

    fn thread_start(&mut self, inner: StmtId, i: u32) -> Option<NodeId> {
        match starts_at_label(self.ast, inner) {
            Some(label) => self.label(label),
            None => Some(self.node(i + 1)),
        }
    }

    fn label(&mut self, label: &Name) -> Option<NodeId> {
        let layout = &self.env.procs[self.proc].layout;
        let known = layout.labels.get(&*label.text);
        match (known, layout.repeated.get(&*label.text)) {
            (None, _) => self.sink.error(|| self.env.unknown_label(self.proc, label)),
            (Some(&(_, first)), Some(&second)) => self.sink.error(|| {
                Diagnostic::error(label.span, format!("there are several labels `{label}`"))
                    .label("where does this go?")
                    .also(first, "the first one")
                    .also(second, "the second one")
            }),
            _ => {}
        }
        known.map(|&(slot, _)| self.node(slot))
    }

    /// A condition and where it leads; the body of an arm follows its condition.
    fn branch(
        &mut self,
        what: &str,
        condition: ExprId,
        body: &[StmtId],
        i: u32,
        slot: &Slot,
    ) -> Option<Op> {
        let condition = self.expr(condition, Role::Condition(what))?;
        Some(Op::Branch {
            condition,
            yes: self.node(if body.is_empty() { slot.next } else { i + 1 }),
            no: self.node(slot.other.unwrap_or(slot.next)),
        })
    }

    /// `decl` and `dead`: the variables take any value.
    fn any_values(&mut self, names: &[Name], is_declaration: bool, next: NodeId) -> Option<Op> {
        let mut assigns = Vec::with_capacity(names.len());
        let mut seen = HashSet::with_capacity(names.len());
        let mut ok = true;
        for name in names {
            match self.variable(name) {
                Some(var) if seen.insert(var) => {
                    let ty = self.env.place(self.proc, var).ty;
                    assigns.push((var, any_of(ty)));
                }
                // Of a declaration, that has been said.
                Some(_) if is_declaration => {}
                Some(_) => self.sink.push(listed_twice(name)),
                None => ok = false,
            }
        }
        ok.then_some(Op::Assign {
            assigns,
            discards: Vec::new(),
            constrain: None,
            next,
        })
    }

    /// The variables assigned to, which must be distinct; `None` for `_`.
    pub(super) fn targets(&mut self, targets: &[Target]) -> Option<Vec<Option<VarRef>>> {
        let mut vars = Vec::with_capacity(targets.len());
        let mut seen = std::collections::HashMap::with_capacity(targets.len());
        let mut ok = true;
        for target in targets {
            let Target::Var(name) = target else {
                vars.push(None);
                continue;
            };
            let var = self.variable(name);
            ok &= var.is_some();
            if let Some(var) = var
                && let Some(first) = seen.insert(var, name.span)
            {
                ok = false;
                self.sink.error(|| {
                    Diagnostic::error(name.span, format!("`{name}` is assigned twice"))
                        .label("the second value")
                        .also(first, "the first value")
                        .help("the assignments of one statement happen at the same time; use `_` for a value that is not needed")
                });
            }
            vars.push(var);
        }
        ok.then_some(vars)
    }

    fn assign(
        &mut self,
        stmt: &Stmt,
        targets: &[Target],
        values: &[ExprId],
        constrain: Option<ExprId>,
        next: NodeId,
    ) -> Option<Op> {
        let vars = self.targets(targets);
        let counts = targets.len() == values.len();
        if !counts {
            self.sink.error(|| {
                Diagnostic::error(
                    stmt.span,
                    format!(
                        "{} cannot take {}",
                        counted(targets.len() as u64, "variable"),
                        counted(values.len() as u64, "value")
                    ),
                )
                .label("as many values as variables are needed")
            });
        }
        let mut assigns = Vec::with_capacity(values.len());
        let mut discards = Vec::new();
        let mut ok = counts;
        for (i, &value) in values.iter().enumerate() {
            // Even if the left-hand side is wrong, the value is looked at.
            let var = vars.as_ref().and_then(|vars| *vars.get(i)?);
            let role = match var {
                Some(var) => Role::Stored(self.env.place(self.proc, var)),
                None => Role::Free,
            };
            match (self.expr(value, role), var) {
                (Some(value), Some(var)) => assigns.push((var, value)),
                (Some(value), None) => discards.push(value),
                (None, _) => ok = false,
            }
        }
        let constrain = self.optional_constrain(constrain)?;
        (ok && vars.is_some()).then_some(Op::Assign {
            assigns,
            discards,
            constrain,
            next,
        })
    }

    /// The condition of the scope that an `enforce` opens: its own, after those around it.
    fn enter_scope(&mut self, e: ExprId, slot: &Slot, condition: Option<&Expr>, span: Span) {
        let layout = &self.env.procs[self.proc].layout;
        let index = self.ensures.len();
        // `enforce T` opens none.
        if layout.scopes.get(index).is_none_or(|s| s.condition != e) {
            return;
        }
        debug_assert_eq!(layout.scopes[index].outer, slot.scope);
        let outer = slot
            .scope
            .and_then(|outer| self.ensures[outer as usize].clone());
        let whole = condition.map(|own| match outer {
            Some(outer) => Arc::new(conjunction(&outer, own)),
            None => Arc::new(own.clone()),
        });
        let before = self.budget.enforced;
        self.budget.enforced += whole.as_ref().map_or(0, |e| e.nodes.len());
        if self.budget.enforced > MOST_ENFORCED {
            if before <= MOST_ENFORCED {
                self.sink.push(
                    Diagnostic::error(span, "the conditions enforced in this program are too large")
                        .label(format!("the conjunctions of nested `enforce`s have more than {MOST_ENFORCED} operators here"))
                        .help("enforce one condition instead of many"),
                );
            }
            self.ensures.push(None);
        } else {
            self.ensures.push(whole);
        }
    }
}

/// The labels of a statement, each once.
fn distinct(labels: &[Name]) -> Vec<Arc<str>> {
    let mut seen = HashSet::with_capacity(labels.len());
    let all = labels.iter().map(|label| &label.text);
    all.filter(|label| seen.insert(Arc::clone(label)))
        .cloned()
        .collect()
}

/// A name that `decl` or `dead` lists a second time.
pub(super) fn listed_twice(name: &Name) -> Diagnostic {
    Diagnostic::warning(name.span, format!("`{name}` is listed twice"))
        .label("the second time means nothing")
}

fn any_of(ty: crate::ast::Type) -> Expr {
    Expr {
        nodes: vec![ExprNode::Nondet(ty)],
    }
}

/// `a & b`
fn conjunction(a: &Expr, b: &Expr) -> Expr {
    let shift = a.nodes.len() as u32;
    let mut nodes = Vec::with_capacity(a.nodes.len() + b.nodes.len() + 1);
    nodes.extend(a.nodes.iter().cloned());
    nodes.extend(b.nodes.iter().map(|node| match node {
        ExprNode::Not(x) => ExprNode::Not(x + shift),
        ExprNode::BitNot(x) => ExprNode::BitNot(x + shift),
        ExprNode::Neg(x) => ExprNode::Neg(x + shift),
        ExprNode::Binary(op, x, y) => ExprNode::Binary(*op, x + shift, y + shift),
        ExprNode::Schoose(x, y) => ExprNode::Schoose(x + shift, y + shift),
        leaf => leaf.clone(),
    }));
    let right = nodes.len() as u32 - 1;
    nodes.push(ExprNode::Binary(Operator::And, shift - 1, right));
    Expr { nodes }
}
