//! What the public version of GETAFIX means by a program with threads, in the words of the others.
//!
//! In that dialect
//!
//! * `main` is a thread like those whose names begin with `thread`, in upper or lower case;
//! * no switch happens while the global `atomic` is true;
//! * a call is one step: what is called runs to its end without a switch;
//! * a thread that ends while `atomic` is true lets nobody else go on.
//!
//! [`translate`] gives an equal program with `atomic_begin` and `atomic_end`. The section that these
//! open and close is what `atomic` says, so the variable itself is not needed: nothing may read it,
//! and it is only set to `T`, to `F`, or to any value. (Any value may as well be `F`: that forbids no
//! switch, and nobody can tell the difference. For the same reason it does not matter if `init` leaves
//! the variable open.) Whether a thread is in a section at a call, or at its end, is found out by going
//! along its statements. Where that depends on the way, `atomic` stays as a variable, and is asked.
//!
//! The statements of the result are in the order in which the parser would add them. Expressions that
//! are new come last, and those that are not needed any more stay in the arena.

#[cfg(test)]
mod tests;

use std::collections::HashSet;

use crate::ast::{
    Ast, Block, Decl, ExprId, ExprKind, Function, Item, Name, Stmt, StmtId, StmtKind, Target, Type,
    UnaryOp,
};
use crate::lower::END_INIT;
use crate::lower::layout::{Layout, SlotKind, lay_out};
use crate::lower::sink::Sink;
use droste_source::Span;
use droste_source::diagnostics::Diagnostic;

/// The global that forbids switches.
const ATOMIC: &str = "atomic";

/// The local that formulas of GETAFIX look at beside [`ATOMIC`]: this thread is the one in a section.
const AT: &str = "at";

/// What a procedure is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Init,
    Thread,
    /// Called by others, and in one step.
    Called,
}

/// Where a thread may be before a statement: outside of a section, inside, either, or nowhere.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Places {
    outside: bool,
    inside: bool,
}

impl Places {
    const OUTSIDE: Places = Places {
        outside: true,
        inside: false,
    };
    const INSIDE: Places = Places {
        outside: false,
        inside: true,
    };

    fn depends(self) -> bool {
        self.outside && self.inside
    }
}

/// What is known about a statement.
#[derive(Clone, Copy, Debug)]
struct Fact {
    part: Part,
    /// Whether the name `atomic` means the global here.
    flagged: bool,
    /// Whether nothing in the procedure reads the local `at`.
    at_unread: bool,
    /// In threads.
    places: Places,
}

/// The same program in the union dialect; nothing if there is nothing to change, or if there are
/// errors. Programs without `init` and threads are as they are.
pub(crate) fn translate(ast: &Ast) -> (Option<Ast>, Vec<Diagnostic>) {
    let mut functions = Vec::new();
    for item in &ast.items {
        match item {
            Item::Function(function) => functions.push(function),
            Item::Decl(_) => {}
            Item::Thread(..) => return (None, Vec::new()),
        }
    }
    let init = |function: &&Function| &*function.name.text == "init";
    let threads = functions.iter().any(|function| is_thread(&function.name));
    if !threads || !functions.iter().any(init) {
        return (None, Vec::new());
    }
    let mut sink = Sink::default();
    let flag = ast.items.iter().any(|item| match item {
        Item::Decl(decl) => decl.ty == Type::Bool && decl.names.iter().any(|n| &*n.text == ATOMIC),
        _ => false,
    });
    let mut facts: Vec<Option<Fact>> = vec![None; ast.stmts.len()];
    let mut ends = Vec::with_capacity(functions.len());
    // Problems of the layout are reported when the result is lowered.
    let mut unheard = Sink::default();
    let mut handed_over = false;
    for function in &functions {
        let layout = lay_out(ast, function, &mut unheard);
        handed_over |= init(function) && layout.labels.contains_key(END_INIT);
        ends.push(study(ast, function, &layout, flag, &mut facts));
    }
    if !handed_over {
        return (None, Vec::new());
    }
    let mut check = Check {
        ast,
        flag,
        threads: functions
            .iter()
            .map(|function| &function.name)
            .filter(|name| is_thread(name) || &*name.text == "init")
            .map(|name| &*name.text)
            .collect(),
        sink: &mut sink,
    };
    for (stmt, fact) in ast.stmts.iter().zip(&facts) {
        if let Some(fact) = fact {
            check.statement(stmt, *fact);
        }
    }
    if sink.failed() {
        return (None, sink.finish());
    }
    let depends = |fact: &Fact, kind: &StmtKind| {
        fact.part == Part::Thread
            && fact.places.depends()
            && matches!(kind, StmtKind::Call { .. } | StmtKind::Return(_))
    };
    let mut stmts = ast.stmts.iter().zip(&facts);
    let keep = flag
        && (stmts.any(|(stmt, fact)| fact.is_some_and(|fact| depends(&fact, &stmt.kind)))
            || ends.iter().any(|end| end.depends()));
    let mut build = Build {
        ast,
        facts: &facts,
        keep,
        out: Ast {
            items: Vec::with_capacity(ast.items.len()),
            exprs: ast.exprs.clone(),
            stmts: Vec::with_capacity(ast.stmts.len()),
            repeated_labels: ast.repeated_labels,
        },
        new: Vec::with_capacity(ast.stmts.len()),
    };
    for id in 0..ast.stmts.len() as u32 {
        let statements = build.statement(StmtId(id));
        build.new.push(statements);
    }
    let mut ends = ends.into_iter();
    for item in &ast.items {
        build.item(item, &mut ends);
    }
    (Some(build.out), sink.finish())
}

/// Whether a procedure of this name is a thread.
fn is_thread(name: &Name) -> bool {
    let text = &*name.text;
    let prefix = text.get(..6);
    text.eq_ignore_ascii_case("main")
        || prefix.is_some_and(|prefix| prefix.eq_ignore_ascii_case("thread"))
}

/// Finds out what is known about the statements of a procedure, and where a thread is at its end.
fn study(
    ast: &Ast,
    function: &Function,
    layout: &Layout<'_>,
    flag: bool,
    facts: &mut [Option<Fact>],
) -> Places {
    let part = match &*function.name.text {
        "init" => Part::Init,
        _ if is_thread(&function.name) => Part::Thread,
        _ => Part::Called,
    };
    let flagged = flag && !layout.local_names.contains_key(ATOMIC);
    let own = |kind: &SlotKind| match kind {
        SlotKind::Stmt(id) => Some(*id),
        _ => None,
    };
    let reads_at = layout
        .slots
        .iter()
        .filter_map(|slot| own(&slot.kind))
        .any(|id| reads(ast, ast.stmt(id), AT));
    let at_unread = layout.local_names.contains_key(AT) && !reads_at;
    let places = match part {
        Part::Thread if flagged => places(ast, layout),
        Part::Thread => vec![Places::OUTSIDE; layout.slots.len()],
        _ => vec![Places::default(); layout.slots.len()],
    };
    for (slot, &places) in layout.slots.iter().zip(&places) {
        if let Some(id) = own(&slot.kind) {
            facts[id.0 as usize] = Some(Fact {
                part,
                flagged,
                at_unread,
                places,
            });
        }
    }
    places.last().copied().unwrap_or_default()
}

/// Where a thread may be before each of its slots.
fn places(ast: &Ast, layout: &Layout<'_>) -> Vec<Places> {
    let mut all = vec![Places::default(); layout.slots.len()];
    let mut work = vec![(0_u32, Places::OUTSIDE)];
    let mut next = Vec::new();
    while let Some((i, more)) = work.pop() {
        let Some(slot) = layout.slots.get(i as usize) else {
            continue;
        };
        let known = &mut all[i as usize];
        let sum = Places {
            outside: known.outside || more.outside,
            inside: known.inside || more.inside,
        };
        if sum == *known {
            continue;
        }
        *known = sum;
        let mut after = sum;
        next.clear();
        match slot.kind {
            SlotKind::End | SlotKind::ThreadEnd(_) => {}
            SlotKind::AsyncCall(_) => next.push(slot.next),
            SlotKind::Arm(id, arm) => {
                if let StmtKind::If { arms, .. } = &ast.stmt(id).kind {
                    let empty = arms.get(arm as usize).is_none_or(|(_, b)| b.is_empty());
                    next.push(if empty { slot.next } else { i + 1 });
                    next.push(slot.other.unwrap_or(slot.next));
                }
            }
            SlotKind::Stmt(id) => match &ast.stmt(id).kind {
                StmtKind::If { arms, .. } => {
                    let empty = arms.first().is_none_or(|(_, body)| body.is_empty());
                    next.push(if empty { slot.next } else { i + 1 });
                    next.push(slot.other.unwrap_or(slot.next));
                }
                StmtKind::While { body, .. } => {
                    next.push(if body.is_empty() { i } else { i + 1 });
                    next.push(slot.next);
                }
                StmtKind::Goto(labels) => {
                    let known = labels.iter().filter_map(|l| layout.labels.get(&*l.text));
                    next.extend(known.map(|&(slot, _)| slot));
                }
                StmtKind::Return(_) | StmtKind::EndThread => {}
                StmtKind::Assume(e) if constant(ast, *e) == Some(false) => {}
                kind => {
                    match set(ast, kind) {
                        Some(Some(true)) => after = Places::INSIDE,
                        Some(Some(false)) => after = Places::OUTSIDE,
                        _ => {}
                    }
                    next.push(slot.next);
                }
            },
        }
        work.extend(next.iter().map(|&slot| (slot, after)));
    }
    all
}

/// The value of a literal.
fn constant(ast: &Ast, id: ExprId) -> Option<bool> {
    match ast.expr(id).kind {
        ExprKind::Bool(value) => Some(value),
        ExprKind::Int(0) => Some(false),
        ExprKind::Int(1) => Some(true),
        _ => None,
    }
}

/// Whether a statement sets `atomic`, and to which value, if that is allowed. Any value counts as `F`.
#[allow(clippy::option_option)]
fn set(ast: &Ast, kind: &StmtKind) -> Option<Option<bool>> {
    let is_atomic = |target: &Target| matches!(target, Target::Var(name) if &*name.text == ATOMIC);
    match kind {
        StmtKind::Assign {
            targets,
            values,
            constrain,
        } => {
            let place = targets.iter().position(is_atomic)?;
            let value = values.get(place).and_then(|&id| match ast.expr(id).kind {
                ExprKind::Nondet => Some(false),
                ExprKind::Schoose(yes, no) => match (constant(ast, yes), constant(ast, no)) {
                    (Some(true), Some(_)) => Some(true),
                    (Some(false), Some(_)) => Some(false),
                    _ => None,
                },
                _ => constant(ast, id),
            });
            let plain = constrain.is_none() && targets.len() == values.len();
            Some(value.filter(|_| plain))
        }
        StmtKind::Call { targets, .. } => targets.iter().any(is_atomic).then_some(None),
        // Every variable gets any value.
        StmtKind::Constrain(_) => Some(Some(false)),
        StmtKind::Dead(names) => {
            let named = names.iter().any(|name| &*name.text == ATOMIC);
            named.then_some(Some(false))
        }
        _ => None,
    }
}

/// Whether the statement itself, without those inside it, reads a variable.
fn reads(ast: &Ast, stmt: &Stmt, variable: &str) -> bool {
    reading(ast, stmt, variable).is_some()
}

/// Where the statement itself reads a variable.
fn reading(ast: &Ast, stmt: &Stmt, variable: &str) -> Option<Span> {
    let mut open: Vec<ExprId> = Vec::new();
    match &stmt.kind {
        StmtKind::Assign {
            values, constrain, ..
        } => {
            open.extend(values);
            open.extend(constrain);
        }
        StmtKind::Call {
            args, constrain, ..
        } => {
            open.extend(args);
            open.extend(constrain);
        }
        StmtKind::Assert(e)
        | StmtKind::Assume(e)
        | StmtKind::Constrain(e)
        | StmtKind::AbortIf(e)
        | StmtKind::Enforce(e) => open.push(*e),
        StmtKind::If { arms, .. } => open.extend(arms.iter().map(|(condition, _)| *condition)),
        StmtKind::While { condition, .. } => open.push(*condition),
        StmtKind::Return(values) | StmtKind::Print(values) => open.extend(values),
        _ => {}
    }
    while let Some(id) = open.pop() {
        let expr = ast.expr(id);
        match &expr.kind {
            ExprKind::Var(name) | ExprKind::Next(name) if &*name.text == variable => {
                return Some(expr.span);
            }
            ExprKind::Unary(_, operand) => open.push(*operand),
            ExprKind::Binary(_, left, right) | ExprKind::Schoose(left, right) => {
                open.extend([*left, *right]);
            }
            _ => {}
        }
    }
    None
}

/// Reports what the dialect does not have.
struct Check<'a, 's> {
    ast: &'a Ast,
    flag: bool,
    /// Whom nobody can call.
    threads: HashSet<&'a str>,
    sink: &'s mut Sink,
}

impl Check<'_, '_> {
    fn statement(&mut self, stmt: &Stmt, fact: Fact) {
        if fact.flagged
            && let Some(span) = reading(self.ast, stmt, ATOMIC)
        {
            self.sink.error(|| {
                Diagnostic::error(span, "`atomic` is read")
                    .label("in the dialect of GETAFIX it says where switches may happen")
                    .help("use another variable for values")
            });
        }
        let change = set(self.ast, &stmt.kind).filter(|_| fact.flagged);
        match (fact.part, change) {
            (_, Some(None)) => self.sink.error(|| {
                Diagnostic::error(stmt.span, "it is not known which value `atomic` gets")
                    .label("set it to `T` or `F`, without `constrain`")
            }),
            (Part::Init, Some(Some(true))) => self.sink.error(|| {
                Diagnostic::error(stmt.span, "`init` sets `atomic` to true")
                    .label("no thread could follow another")
                    .help("set it to `F`")
            }),
            (Part::Called, Some(_)) => self.sink.error(|| {
                Diagnostic::error(stmt.span, "`atomic` changes in a procedure that is called")
                    .label("a call is one step, without switches, in the dialect of GETAFIX")
                    .help("set it in the threads")
            }),
            _ => {}
        }
        match &stmt.kind {
            StmtKind::Call { callee, .. } if self.threads.contains(&*callee.text) => {
                self.sink.error(|| {
                    Diagnostic::error(callee.span, format!("`{callee}` is called"))
                        .label("a thread, or `init`, in the dialect of GETAFIX: not to be called")
                        .help("move what both need to a procedure of another name")
                });
            }
            StmtKind::StartThread(_) | StmtKind::EndThread => self.foreign(stmt),
            StmtKind::AtomicBegin | StmtKind::AtomicEnd if self.flag => self.foreign(stmt),
            StmtKind::Call { .. } if stmt.labels.iter().any(|l| l.text.starts_with("ASYNC_")) => {
                self.foreign(stmt);
            }
            _ => {}
        }
    }

    fn foreign(&mut self, stmt: &Stmt) {
        self.sink.error(|| {
            Diagnostic::error(stmt.span, "this is not in the dialect of GETAFIX")
                .label("its threads are procedures, and its sections are between `atomic := T` and `atomic := F`")
                .help("leave out `--dialect getafix`")
        });
    }
}

struct Build<'a> {
    ast: &'a Ast,
    facts: &'a [Option<Fact>],
    /// Whether `atomic` stays as a variable.
    keep: bool,
    out: Ast,
    /// What each statement has become.
    new: Vec<Block>,
}

impl Build<'_> {
    fn block(&self, block: &[StmtId]) -> Block {
        let new = block.iter().map(|id| &self.new[id.0 as usize]);
        new.flatten().copied().collect()
    }

    /// Adds what a statement becomes. What is inside it has been added before.
    fn statement(&mut self, id: StmtId) -> Block {
        let stmt = self.ast.stmt(id);
        let mut kind = stmt.kind.clone();
        match &mut kind {
            StmtKind::If { arms, otherwise } => {
                for (_, body) in arms {
                    *body = self.block(body);
                }
                *otherwise = otherwise.as_ref().map(|body| self.block(body));
            }
            StmtKind::While { body, .. } => *body = self.block(body),
            _ => {}
        }
        let labels = stmt.labels.clone();
        let Some(fact) = self.facts[id.0 as usize] else {
            return vec![self.out.add_stmt(labels, kind, stmt.span)];
        };
        let here = empty(stmt.span);
        let change = set(self.ast, &kind).flatten().filter(|_| fact.flagged);
        match (fact.part, change) {
            (Part::Thread, Some(value)) => {
                let rest = if self.keep {
                    Some(kind)
                } else {
                    without(self.ast, kind, fact.at_unread)
                };
                let edge = if value {
                    StmtKind::AtomicBegin
                } else {
                    StmtKind::AtomicEnd
                };
                match (rest, value) {
                    // If nothing else happens, the statement itself begins or ends the section.
                    (None, _) => vec![self.out.add_stmt(labels, edge, stmt.span)],
                    (Some(rest), true) => vec![
                        self.out.add_stmt(labels, edge, here),
                        self.out.add_stmt(Vec::new(), rest, stmt.span),
                    ],
                    (Some(rest), false) => vec![
                        self.out.add_stmt(labels, rest, stmt.span),
                        self.out.add_stmt(Vec::new(), edge, here),
                    ],
                }
            }
            (Part::Init, Some(_)) if !self.keep => {
                let rest = without(self.ast, kind, false).unwrap_or(StmtKind::Skip);
                vec![self.out.add_stmt(labels, rest, stmt.span)]
            }
            (Part::Thread, None) => self.within_thread(labels, kind, stmt.span, fact.places),
            _ => vec![self.out.add_stmt(labels, kind, stmt.span)],
        }
    }

    /// A statement of a thread that does not set `atomic`.
    fn within_thread(
        &mut self,
        labels: Vec<Name>,
        kind: StmtKind,
        span: Span,
        places: Places,
    ) -> Block {
        let here = empty(span);
        match kind {
            StmtKind::Call { .. } if places.outside => {
                let begin = self.out.add_stmt(labels, StmtKind::AtomicBegin, here);
                let call = self.out.add_stmt(Vec::new(), kind, span);
                let end = StmtKind::AtomicEnd;
                let mut end = self.out.add_stmt(Vec::new(), end, here);
                if places.inside {
                    let arms = vec![(self.not_atomic(here), vec![end])];
                    let otherwise = None;
                    let close = StmtKind::If { arms, otherwise };
                    end = self.out.add_stmt(Vec::new(), close, here);
                }
                vec![begin, call, end]
            }
            StmtKind::Return(_) if places.inside => {
                let stop = self.stop(places, here);
                vec![
                    self.out.add_stmt(labels, stop, here),
                    self.out.add_stmt(Vec::new(), kind, span),
                ]
            }
            _ => vec![self.out.add_stmt(labels, kind, span)],
        }
    }

    /// A thread that ends inside a section lets nobody go on.
    fn stop(&mut self, places: Places, span: Span) -> StmtKind {
        StmtKind::Assume(if places.outside {
            self.not_atomic(span)
        } else {
            self.out.add_expr(ExprKind::Bool(false), span)
        })
    }

    fn not_atomic(&mut self, span: Span) -> ExprId {
        let name = Name {
            text: ATOMIC.into(),
            span,
        };
        let variable = self.out.add_expr(ExprKind::Var(name), span);
        self.out
            .add_expr(ExprKind::Unary(UnaryOp::Not, variable), span)
    }

    fn item(&mut self, item: &Item, ends: &mut impl Iterator<Item = Places>) {
        match item {
            Item::Decl(decl) => {
                let mut names = decl.names.clone();
                if !self.keep && decl.ty == Type::Bool {
                    names.retain(|name| &*name.text != ATOMIC);
                }
                if !names.is_empty() {
                    let ty = decl.ty;
                    self.out.items.push(Item::Decl(Decl { names, ty }));
                }
            }
            Item::Function(function) => {
                let end = ends.next().unwrap_or_default();
                let mut function = function.clone();
                function.body = self.block(&function.body);
                if is_thread(&function.name) {
                    if end.inside {
                        let span = empty(function.end.0);
                        let stop = self.stop(end, span);
                        let stop = self.out.add_stmt(Vec::new(), stop, span);
                        function.body.push(stop);
                    }
                    if !function.name.text.starts_with("thread") {
                        function.name.text = self.free_name(&function.name.text).into();
                    }
                }
                self.out.items.push(Item::Function(function));
            }
            Item::Thread(..) => self.out.items.push(item.clone()),
        }
    }

    /// A name that begins with `thread`.
    fn free_name(&self, name: &str) -> String {
        let mut free = format!("thread_{name}");
        let taken = |free: &str| {
            let mut items = self.ast.items.iter();
            items.any(|item| matches!(item, Item::Function(f) if &*f.name.text == free))
        };
        while taken(&free) {
            free.push('_');
        }
        free
    }
}

/// The place of something that has no text of its own.
fn empty(span: Span) -> Span {
    Span {
        end: span.start,
        ..span
    }
}

/// A statement without its part that sets `atomic`, and `at` beside it; nothing if that was all.
fn without(ast: &Ast, kind: StmtKind, at_unread: bool) -> Option<StmtKind> {
    match kind {
        StmtKind::Assign {
            targets,
            values,
            constrain,
        } => {
            let (targets, values): (Vec<Target>, Vec<ExprId>) = targets
                .into_iter()
                .zip(values)
                .filter(|(target, value)| match target {
                    Target::Var(name) if &*name.text == ATOMIC => false,
                    Target::Var(name) if &*name.text == AT => {
                        !at_unread || constant(ast, *value).is_none()
                    }
                    _ => true,
                })
                .unzip();
            (!targets.is_empty()).then_some(StmtKind::Assign {
                targets,
                values,
                constrain,
            })
        }
        StmtKind::Dead(mut names) => {
            names.retain(|name| &*name.text != ATOMIC);
            (!names.is_empty()).then_some(StmtKind::Dead(names))
        }
        kind => Some(kind),
    }
}
