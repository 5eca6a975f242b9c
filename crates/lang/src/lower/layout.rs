//! The first pass over a procedure: which nodes it has, where control goes from each, which
//! labels and which locals there are.
//!
//! Each statement gets one *slot*, the later node, in the order of the source; each `elsif` gets
//! one for its condition, a started thread one for its end, and the procedure one for its `end`.
//! Declarations at the beginning of the procedure get none.
//! The pass is a walk with an explicit stack of open blocks. Where control goes after a
//! statement is not known before the next one has its number, so a slot records a
//! [`Link`]: to a slot, or to wherever an enclosing statement leads. The enclosing
//! statement has the smaller number, so one loop in ascending order resolves them all.

use std::collections::{HashMap, HashSet};

use crate::ast::{Ast, Block, Decl, ExprId, ExprKind, Function, StmtId, StmtKind, Type};
use droste_source::Span;
use droste_source::diagnostics::Diagnostic;

use super::sink::Sink;
use super::statements::listed_twice;

/// What a slot stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SlotKind {
    /// The statement itself; for `if`, its first condition.
    Stmt(StmtId),
    /// The condition of this arm (an `elsif`, counted from 1) of an `if`.
    Arm(StmtId, u32),
    /// The call of a statement with an `ASYNC_` label; the statement itself starts the thread.
    AsyncCall(StmtId),
    /// The end of the thread that this statement starts.
    ThreadEnd(StmtId),
    /// The end of the procedure.
    End,
}

#[derive(Clone, Copy, Debug)]
enum Link {
    /// To this slot.
    To(u32),
    /// To where this slot, a smaller one, leads.
    SameAs(u32),
    /// To the end of the thread that this slot starts.
    ThreadEnd(u32),
    /// To the end of the procedure.
    End,
}

/// A node in the making.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slot {
    pub(crate) kind: SlotKind,
    /// Where control goes when the whole statement is done.
    pub(crate) next: u32,
    /// For a condition: where to go if it is false, unless `next`. For the start of a
    /// thread: the slot of the thread's end.
    pub(crate) other: Option<u32>,
    /// The innermost `enforce` that applies here: index into [`Layout::scopes`].
    pub(crate) scope: Option<u32>,
}

/// `enforce`: a condition, and the enclosing scope.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scope {
    pub(crate) outer: Option<u32>,
    pub(crate) condition: ExprId,
}

/// A parameter or local.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Local<'a> {
    pub(crate) name: &'a str,
    pub(crate) ty: Type,
    pub(crate) span: Span,
}

/// A procedure laid out.
pub(crate) struct Layout<'a> {
    /// The last one is the end of the procedure.
    pub(crate) slots: Vec<Slot>,
    pub(crate) scopes: Vec<Scope>,
    /// Slot and place of each label; the first, if it stands on several statements.
    pub(crate) labels: HashMap<&'a str, (u32, Span)>,
    /// The second place of each label that stands on several statements: no `goto` leads there.
    pub(crate) repeated: HashMap<&'a str, Span>,
    /// Parameters, then locals.
    pub(crate) locals: Vec<Local<'a>>,
    /// Index into `locals` of each name.
    pub(crate) local_names: HashMap<&'a str, u32>,
}

/// A block or statement whose walk has begun.
#[derive(Clone, Copy)]
enum Frame<'a> {
    Block {
        stmts: &'a [StmtId],
        position: usize,
        /// The slot of the statement before `position`.
        previous: Option<u32>,
        after: Link,
        scope: Option<u32>,
    },
    If {
        stmt: StmtId,
        arms: &'a [(ExprId, Block)],
        otherwise: Option<&'a Block>,
        position: usize,
        head: u32,
        last_arm: u32,
        scope: Option<u32>,
    },
    Thread {
        stmt: StmtId,
        head: u32,
    },
}

struct Walk<'a, 's> {
    ast: &'a Ast,
    layout: Layout<'a>,
    links: Vec<Link>,
    stack: Vec<Frame<'a>>,
    params: u32,
    sink: &'s mut Sink,
}

/// Lays out a procedure.
pub(crate) fn lay_out<'a>(ast: &'a Ast, function: &'a Function, sink: &mut Sink) -> Layout<'a> {
    let mut walk = Walk {
        ast,
        layout: Layout {
            slots: Vec::new(),
            scopes: Vec::new(),
            labels: HashMap::new(),
            repeated: HashMap::new(),
            locals: Vec::new(),
            local_names: HashMap::new(),
        },
        links: Vec::new(),
        stack: Vec::new(),
        params: function.params.len() as u32,
        sink,
    };
    walk.parameters(function);
    let body = walk.declarations(&function.body);
    walk.push_block(body, Link::End, None);
    while let Some(frame) = walk.stack.pop() {
        walk.resume(frame);
    }
    let end = walk.slot(SlotKind::End, None);
    walk.links[end as usize] = Link::To(end);
    walk.resolve(end);
    walk.layout
}

impl<'a> Walk<'a, '_> {
    fn parameters(&mut self, function: &'a Function) {
        for (name, ty) in &function.params {
            let index = self.layout.locals.len() as u32;
            self.layout.locals.push(Local {
                name: &name.text,
                ty: *ty,
                span: name.span,
            });
            if let Some(first) = self.layout.local_names.insert(&name.text, index) {
                let first = self.layout.locals[first as usize].span;
                self.sink.push(
                    Diagnostic::error(
                        name.span,
                        format!("two parameters of `{}` are called `{name}`", function.name),
                    )
                    .also(first, "the first one"),
                );
            }
        }
    }

    /// The declarations at the beginning of a body need no slots: locals have any value when
    /// the procedure is entered. Returns the statements after them.
    fn declarations(&mut self, body: &'a [StmtId]) -> &'a [StmtId] {
        let mut rest = body;
        while let Some((&first, others)) = rest.split_first()
            && let Some(decl) = declaration(self.ast, first)
        {
            self.declare(decl);
            rest = others;
        }
        rest
    }

    fn slot(&mut self, kind: SlotKind, scope: Option<u32>) -> u32 {
        self.layout.slots.push(Slot {
            kind,
            next: 0,
            other: None,
            scope,
        });
        self.links.push(Link::End);
        self.layout.slots.len() as u32 - 1
    }

    fn push_block(&mut self, stmts: &'a [StmtId], after: Link, scope: Option<u32>) {
        if !stmts.is_empty() {
            self.stack.push(Frame::Block {
                stmts,
                position: 0,
                previous: None,
                after,
                scope,
            });
        }
    }

    fn resume(&mut self, frame: Frame<'a>) {
        match frame {
            Frame::Block {
                stmts,
                position,
                previous,
                after,
                scope,
            } => {
                let Some(&stmt) = stmts.get(position) else {
                    if let Some(previous) = previous {
                        self.links[previous as usize] = after;
                    }
                    return;
                };
                let head = self.layout.slots.len() as u32;
                if let Some(previous) = previous {
                    self.links[previous as usize] = Link::To(head);
                }
                let inner = match self.ast.stmt(stmt).kind {
                    StmtKind::Enforce(condition) if !is_true(self.ast, condition) => {
                        self.layout.scopes.push(Scope {
                            outer: scope,
                            condition,
                        });
                        Some(self.layout.scopes.len() as u32 - 1)
                    }
                    _ => scope,
                };
                self.stack.push(Frame::Block {
                    stmts,
                    position: position + 1,
                    previous: Some(head),
                    after,
                    scope: inner,
                });
                self.statement(stmt, scope);
            }
            Frame::If {
                stmt,
                arms,
                otherwise,
                position,
                head,
                last_arm,
                scope,
            } => {
                let Some((_, body)) = arms.get(position) else {
                    if let Some(body) = otherwise.filter(|body| !body.is_empty()) {
                        self.layout.slots[last_arm as usize].other =
                            Some(self.layout.slots.len() as u32);
                        self.push_block(body, Link::SameAs(head), scope);
                    }
                    return;
                };
                let arm = if position == 0 {
                    head
                } else {
                    let arm = self.slot(SlotKind::Arm(stmt, position as u32), scope);
                    self.links[arm as usize] = Link::SameAs(head);
                    self.layout.slots[last_arm as usize].other = Some(arm);
                    arm
                };
                self.stack.push(Frame::If {
                    stmt,
                    arms,
                    otherwise,
                    position: position + 1,
                    head,
                    last_arm: arm,
                    scope,
                });
                self.push_block(body, Link::SameAs(head), scope);
            }
            Frame::Thread { stmt, head } => {
                let end = self.slot(SlotKind::ThreadEnd(stmt), None);
                self.links[end as usize] = Link::To(end);
                self.layout.slots[head as usize].other = Some(end);
            }
        }
    }

    fn statement(&mut self, id: StmtId, scope: Option<u32>) {
        let stmt = self.ast.stmt(id);
        let head = self.slot(SlotKind::Stmt(id), scope);
        for label in &stmt.labels {
            match self.layout.labels.get(&*label.text).copied() {
                None => {
                    self.layout.labels.insert(&label.text, (head, label.span));
                }
                // SLAM writes that.
                Some((slot, first)) if slot == head => self.sink.push(
                    Diagnostic::warning(
                        label.span,
                        format!("the label `{label}` stands twice on this statement"),
                    )
                    .label("the second time means nothing")
                    .also(first, "the first time"),
                ),
                Some((_, first)) if !self.ast.repeated_labels => self.sink.push(
                    Diagnostic::error(
                        label.span,
                        format!("the label `{label}` stands on several statements"),
                    )
                    .label("a second statement with this label")
                    .also(first, "the first one")
                    .help("give one of them another name, or say `--dialect getafix`: there, who asks about a label asks about all its statements"),
                ),
                Some((_, first)) => {
                    self.layout
                        .repeated
                        .entry(&label.text)
                        .or_insert(label.span);
                    self.sink.push(
                        Diagnostic::warning(
                            label.span,
                            format!("the label `{label}` stands on several statements"),
                        )
                        .label("who asks about it asks about all of them")
                        .also(first, "the first one"),
                    );
                }
            }
        }
        if !matches!(stmt.kind, StmtKind::Call { .. })
            && let Some(label) = stmt.labels.iter().find(|l| l.text.starts_with("ASYNC_"))
        {
            self.sink.push(
                Diagnostic::warning(
                    label.span,
                    format!("the label `{label}` starts no thread here"),
                )
                .label("`ASYNC_` means `start_thread` on a call only"),
            );
        }
        match &stmt.kind {
            StmtKind::Decl(decl) => self.declare(decl),
            StmtKind::If { arms, otherwise } => self.stack.push(Frame::If {
                stmt: id,
                arms,
                otherwise: otherwise.as_ref(),
                position: 0,
                head,
                last_arm: head,
                scope,
            }),
            StmtKind::While { body, .. } => self.push_block(body, Link::To(head), scope),
            StmtKind::StartThread(inner) if starts_at_label(self.ast, *inner).is_none() => {
                self.stack.push(Frame::Thread { stmt: id, head });
                self.push_block(std::slice::from_ref(inner), Link::ThreadEnd(head), scope);
            }
            StmtKind::Call { .. } if is_async(self.ast, id) => {
                let call = self.slot(SlotKind::AsyncCall(id), scope);
                self.links[call as usize] = Link::ThreadEnd(head);
                self.stack.push(Frame::Thread { stmt: id, head });
            }
            _ => {}
        }
    }

    fn declare(&mut self, decl: &'a Decl) {
        let mut listed = HashSet::with_capacity(decl.names.len());
        for name in &decl.names {
            if !listed.insert(&*name.text) {
                self.sink.push(listed_twice(name));
            }
            let local = Local {
                name: &name.text,
                ty: decl.ty,
                span: name.span,
            };
            let known = self.layout.local_names.get(&*name.text).copied();
            match known {
                Some(index) if index >= self.params => {
                    let first = self.layout.locals[index as usize];
                    if first.ty != decl.ty {
                        self.sink.error(|| {
                            Diagnostic::error(
                                name.span,
                                format!("`{name}` is declared again with another type"),
                            )
                            .label(format!("here it is `{}`", decl.ty))
                            .also(first.span, format!("here it is `{}`", first.ty))
                            .help("a local variable has the whole procedure as its scope; choose another name")
                        });
                    }
                    continue;
                }
                Some(index) => {
                    let parameter = self.layout.locals[index as usize];
                    self.sink.push(
                        Diagnostic::warning(
                            name.span,
                            format!("the local variable `{name}` hides a parameter"),
                        )
                        .label("in the whole procedure, the name means this variable")
                        .also(parameter.span, "the parameter"),
                    );
                }
                None => {}
            }
            let index = self.layout.locals.len() as u32;
            self.layout.locals.push(local);
            self.layout.local_names.insert(&name.text, index);
        }
    }

    /// Fills in `next` everywhere.
    fn resolve(&mut self, end: u32) {
        for i in 0..self.links.len() {
            let slots = &mut self.layout.slots;
            slots[i].next = match self.links[i] {
                Link::To(slot) => slot,
                Link::SameAs(outer) => slots[outer as usize].next,
                Link::ThreadEnd(head) => slots[head as usize].other.unwrap_or(end),
                Link::End => end,
            };
        }
    }
}

/// The declaration that a statement is, unless it has a label. A label needs a position to stand
/// at, so a declaration with one is a statement like others.
pub(crate) fn declaration(ast: &Ast, stmt: StmtId) -> Option<&Decl> {
    let stmt = ast.stmt(stmt);
    match &stmt.kind {
        StmtKind::Decl(decl) if stmt.labels.is_empty() => Some(decl),
        _ => None,
    }
}

/// Whether the expression is a literal that is always true (SLAM writes `enforce T`).
fn is_true(ast: &Ast, expr: ExprId) -> bool {
    matches!(ast.expr(expr).kind, ExprKind::Bool(true) | ExprKind::Int(1))
}

/// The label of `start_thread goto L`: no node is needed for the `goto`.
pub(crate) fn starts_at_label(ast: &Ast, inner: StmtId) -> Option<&crate::ast::Name> {
    let inner = ast.stmt(inner);
    match &inner.kind {
        StmtKind::Goto(targets) if inner.labels.is_empty() => match &targets[..] {
            [label] => Some(label),
            _ => None,
        },
        _ => None,
    }
}

/// Whether this is a call with an `ASYNC_` label.
pub(crate) fn is_async(ast: &Ast, stmt: StmtId) -> bool {
    let stmt = ast.stmt(stmt);
    matches!(stmt.kind, StmtKind::Call { .. })
        && stmt.labels.iter().any(|l| l.text.starts_with("ASYNC_"))
}
