//! Names: which variables and procedures there are, and what a name means where.
//!
//! A name in a procedure is a local, else a parameter, else a global; in a procedure of a `thread`
//! section the section's globals and procedures come before the shared ones. Each lookup
//! is in a hash table; everything that iterates does so in the order of the source, so that
//! the same input gives the same output.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::ast::{Ast, Decl, Expr as AstExpr, ExprKind, Function, Item, Name, Type};
use droste_program::{ExprNode, VarRef, Variable};
use droste_source::Span;
use droste_source::diagnostics::Diagnostic;
use droste_source::suggest::nearest;

use super::layout::{Layout, lay_out};
use super::sink::Sink;
use super::types::{Leaves, StoreTarget};

/// The names that a program, or one of its `thread` sections, declares at its top level.
#[derive(Default)]
pub(super) struct Table<'a> {
    /// Indices into [`Environment::globals`].
    pub(super) globals: HashMap<&'a str, u32>,
    /// Indices into [`Environment::procs`].
    pub(super) functions: HashMap<&'a str, u32>,
}

/// A procedure, laid out.
pub(super) struct Proc<'a> {
    pub(super) function: &'a Function,
    pub(super) section: Option<u32>,
    pub(super) full_name: Arc<str>,
    pub(super) layout: Layout<'a>,
}

/// Everything that is declared.
#[derive(Default)]
pub(super) struct Environment<'a> {
    pub(super) globals: Vec<Variable>,
    pub(super) procs: Vec<Proc<'a>>,
    pub(super) shared: Table<'a>,
    pub(super) sections: Vec<(&'a Name, Table<'a>)>,
}

impl<'a> Environment<'a> {
    /// Collects all declarations and lays out all procedures.
    pub(super) fn collect(ast: &'a Ast, sink: &mut Sink) -> Self {
        let mut env = Environment::default();
        for item in &ast.items {
            match item {
                Item::Decl(decl) => env.declare_globals(decl, None, sink),
                Item::Function(function) => env.declare_function(ast, function, None, sink),
                Item::Thread(name, items) => {
                    if let Some((first, _)) = env.sections.iter().find(|(n, _)| *n == name) {
                        sink.push(
                            Diagnostic::error(
                                name.span,
                                format!("two threads are called `{name}`"),
                            )
                            .also(first.span, "the first one"),
                        );
                    }
                    let section = env.sections.len() as u32;
                    env.sections.push((name, Table::default()));
                    for item in items {
                        match item {
                            Item::Decl(decl) => env.declare_globals(decl, Some(section), sink),
                            Item::Function(function) => {
                                env.declare_function(ast, function, Some(section), sink);
                            }
                            Item::Thread(inner, _) => sink.push(Diagnostic::error(
                                inner.span,
                                "a thread section cannot stand inside another",
                            )),
                        }
                    }
                }
            }
        }
        env
    }

    fn table_mut(&mut self, section: Option<u32>) -> &mut Table<'a> {
        match section {
            Some(section) => &mut self.sections[section as usize].1,
            None => &mut self.shared,
        }
    }

    fn declare_globals(&mut self, decl: &'a Decl, section: Option<u32>, sink: &mut Sink) {
        for name in &decl.names {
            let index = self.globals.len() as u32;
            let table = self.table_mut(section);
            if let Some(&first) = table.globals.get(&*name.text) {
                let first = self.globals[first as usize].span;
                sink.error(|| {
                    Diagnostic::error(
                        name.span,
                        format!("the global variable `{name}` is declared twice"),
                    )
                    .also(first, "the first time")
                });
                continue;
            }
            table.globals.insert(&name.text, index);
            self.globals.push(Variable {
                name: name.text.clone(),
                ty: decl.ty,
                span: name.span,
                thread: section,
            });
        }
    }

    fn declare_function(
        &mut self,
        ast: &'a Ast,
        function: &'a Function,
        section: Option<u32>,
        sink: &mut Sink,
    ) {
        let name = &function.name;
        let index = self.procs.len() as u32;
        let full_name = match section {
            Some(section) => format!("{}::{name}", self.sections[section as usize].0).into(),
            None => name.text.clone(),
        };
        let table = self.table_mut(section);
        if let Some(&first) = table.functions.get(&*name.text) {
            let first = self.procs[first as usize].function.name.span;
            sink.error(|| {
                Diagnostic::error(
                    name.span,
                    format!("two procedures are called `{full_name}`"),
                )
                .also(first, "the first one")
            });
        } else {
            table.functions.insert(&name.text, index);
        }
        let layout = lay_out(ast, function, sink);
        self.procs.push(Proc {
            function,
            section,
            full_name,
            layout,
        });
    }

    /// Own section first (if any), then what is shared.
    fn tables(&self, section: Option<u32>) -> impl Iterator<Item = &Table<'a>> {
        section
            .map(|section| &self.sections[section as usize].1)
            .into_iter()
            .chain([&self.shared])
    }

    /// The variable that `name` means in procedure number `proc`.
    pub(super) fn variable(&self, proc: usize, name: &str) -> Option<VarRef> {
        let proc = &self.procs[proc];
        if let Some(&local) = proc.layout.local_names.get(name) {
            return Some(VarRef::Local(local));
        }
        self.tables(proc.section)
            .find_map(|table| table.globals.get(name))
            .map(|&global| VarRef::Global(global))
    }

    /// The procedure that `name` means in procedure number `proc`.
    pub(super) fn callee(&self, proc: usize, name: &str) -> Option<usize> {
        self.tables(self.procs[proc].section)
            .find_map(|table| table.functions.get(name))
            .map(|&index| index as usize)
    }

    /// A variable as a place to store into.
    pub(super) fn place(&self, proc: usize, var: VarRef) -> StoreTarget<'_> {
        match var {
            VarRef::Global(i) => {
                let global = &self.globals[i as usize];
                StoreTarget {
                    ty: global.ty,
                    what: "variable",
                    name: &global.name,
                    declared: global.span,
                }
            }
            VarRef::Local(i) => {
                let local = &self.procs[proc].layout.locals[i as usize];
                StoreTarget {
                    ty: local.ty,
                    what: "variable",
                    name: local.name,
                    declared: local.span,
                }
            }
        }
    }

    /// The globals that procedure number `proc` can see, in their order; a hidden one is one too.
    pub(super) fn visible_globals(&self, proc: usize) -> impl Iterator<Item = VarRef> {
        let section = self.procs[proc].section;
        self.globals
            .iter()
            .enumerate()
            .filter(move |(_, global)| global.thread.is_none() || global.thread == section)
            .map(|(i, _)| VarRef::Global(i as u32))
    }

    /// The message for a name that is no variable of procedure number `proc`.
    pub(super) fn unknown_variable(&self, proc: usize, name: &Name) -> Diagnostic {
        let here = &self.procs[proc];
        let mut diagnostic = Diagnostic::error(
            name.span,
            format!("`{name}` is not declared in procedure `{}`", here.full_name),
        )
        .label("unknown variable");
        let globals = self
            .visible_globals(proc)
            .map(|var| self.place(proc, var).name);
        let locals = here.layout.locals.iter().map(|local| local.name);
        let suggestion = nearest(&name.text, locals.chain(globals)).map(str::to_owned);
        let elsewhere = self.procs.iter().find_map(|other| {
            let local = *other.layout.local_names.get(&*name.text)?;
            Some((other, other.layout.locals[local as usize].span))
        });
        let other_section = self
            .globals
            .iter()
            .find(|global| global.name == name.text && global.thread.is_some());
        if let Some((other, span)) = elsewhere {
            diagnostic = diagnostic
                .also(span, format!("declared here, in `{}`", other.full_name))
                .help("a variable shared between procedures is declared outside all of them");
        } else if let Some(global) = other_section {
            diagnostic = diagnostic
                .also(global.span, "declared here, in a thread section")
                .help("a variable shared between threads is declared outside their sections");
        }
        if let Some(suggestion) = suggestion {
            diagnostic = diagnostic.help(format!("did you mean `{suggestion}`?"));
        } else if elsewhere.is_none() && other_section.is_none() {
            diagnostic = diagnostic.help(format!("declare it: `decl {name};`"));
        }
        diagnostic
    }

    /// The message for a call of a procedure that procedure number `proc` does not see.
    pub(super) fn unknown_procedure(&self, proc: usize, name: &Name) -> Diagnostic {
        let mut diagnostic =
            Diagnostic::error(name.span, format!("there is no procedure `{name}`"))
                .label("unknown procedure");
        let section = self.procs[proc].section;
        let visible = self
            .procs
            .iter()
            .filter(|p| p.section.is_none() || p.section == section)
            .map(|p| &*p.function.name.text);
        if let Some(suggestion) = nearest(&name.text, visible) {
            diagnostic = diagnostic.help(format!("did you mean `{suggestion}`?"));
        }
        if let Some(other) = self.procs.iter().find(|p| p.function.name == *name) {
            diagnostic = diagnostic
                .also(
                    other.function.name.span,
                    format!("`{}` is here", other.full_name),
                )
                .help("a thread sees its own procedures and those outside all thread sections");
        }
        diagnostic
    }

    /// The message for a label that procedure number `proc` does not have.
    pub(super) fn unknown_label(&self, proc: usize, name: &Name) -> Diagnostic {
        let here = &self.procs[proc];
        let mut diagnostic = Diagnostic::error(
            name.span,
            format!("procedure `{}` has no label `{name}`", here.full_name),
        )
        .label("unknown label");
        let mut labels: Vec<&str> = here.layout.labels.keys().copied().collect();
        labels.sort_unstable();
        if let Some(suggestion) = nearest(&name.text, labels.into_iter()) {
            diagnostic = diagnostic.help(format!("did you mean `{suggestion}`?"));
        }
        let elsewhere = self.procs.iter().find_map(|other| {
            let (_, span) = other.layout.labels.get(&*name.text)?;
            Some((other, *span))
        });
        if let Some((other, span)) = elsewhere {
            diagnostic = diagnostic
                .also(span, format!("a label of `{}`", other.full_name))
                .help("`goto` cannot leave its procedure");
        }
        diagnostic
    }
}

/// The meaning of names in the expressions of a procedure.
pub(super) struct ProcedureLeaves<'e, 'a> {
    pub(super) env: &'e Environment<'a>,
    pub(super) proc: usize,
    /// Whether `'x` is allowed: in `constrain`.
    pub(super) next_allowed: bool,
    /// Unknown names are reported once per procedure.
    pub(super) reported: &'e mut HashSet<Arc<str>>,
}

impl Leaves for ProcedureLeaves<'_, '_> {
    fn leaf(&mut self, expr: &AstExpr, sink: &mut Sink) -> Option<(ExprNode, Type)> {
        match &expr.kind {
            ExprKind::Var(name) => {
                let var = self.variable(name, sink)?;
                Some((ExprNode::Var(var), self.env.place(self.proc, var).ty))
            }
            ExprKind::Next(name) => {
                if !self.next_allowed {
                    sink.push(
                        Diagnostic::error(
                            expr.span,
                            format!("`'{name}` can be used in `constrain` only"),
                        )
                        .label("the value after the step")
                        .help("`x := e constrain c` and `constrain(c)` relate the values before a step to those after it"),
                    );
                    return None;
                }
                let var = self.variable(name, sink)?;
                Some((ExprNode::Next(var), self.env.place(self.proc, var).ty))
            }
            ExprKind::Qualified(proc, name) => property_only(
                expr.span,
                &format!("`{proc}::{name}`"),
                "a procedure sees its own variables and the globals",
                sink,
            ),
            ExprKind::At(_, label) => property_only(
                expr.span,
                &format!("`at({label})`"),
                "a statement knows where it is",
                sink,
            ),
            ExprKind::In(proc) => property_only(
                expr.span,
                &format!("`in({proc})`"),
                "a statement knows where it is",
                sink,
            ),
            _ => property_only(
                expr.span,
                "`terminated`",
                "no statement is executed after the end",
                sink,
            ),
        }
    }

    fn in_program(&self) -> bool {
        true
    }
}

fn property_only<T>(span: Span, what: &str, why: &str, sink: &mut Sink) -> Option<T> {
    sink.push(Diagnostic::error(span, format!("{what} can be used in properties only")).label(why));
    None
}

impl ProcedureLeaves<'_, '_> {
    /// Looks a name up; an unknown one is reported.
    pub(super) fn variable(&mut self, name: &Name, sink: &mut Sink) -> Option<VarRef> {
        let var = self.env.variable(self.proc, &name.text);
        if var.is_none() {
            if self.reported.insert(name.text.clone()) {
                sink.error(|| self.env.unknown_variable(self.proc, name));
            } else {
                // Keeps the program refused.
                debug_assert!(sink.failed());
            }
        }
        var
    }
}
