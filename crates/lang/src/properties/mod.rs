//! Propositions and monitors: names and types of what a property says about a program.
//!
//! A proposition is one expression, but what it means depends on where control is: a local
//! `proc::x` exists only while `proc` is on top of the stack. So it is translated once, with
//! placeholders for everything that depends on the procedure, and then specialised for each.
//! Outside its procedure, a local is false (or 0), and the innermost comparison that mentions it is
//! false, whatever it compares.

mod monitors;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashSet};

use crate::ast::{Ast, Expr as AstExpr, ExprId, ExprKind, Name, Type};
use crate::lower::sink::Sink;
use crate::lower::types::{Leaves, Role, translate};
use droste_program::labels;
use droste_program::{Expr, ExprNode, NodeId, Operator, ProcId, Program, Proposition, VarRef};
use droste_source::diagnostics::{Diagnostic, DiagnosticKind};
use droste_source::suggest::nearest;

pub use monitors::{monitor, monitor_warnings};

/// The meaning of the expression `expr` of `ast` in configurations of `program`: a Boolean
/// expression over globals, locals `proc::x`, `at(L)`, `in(proc)` and `terminated`, in which a bare
/// name is a global or, if there is none of that name, a label.
pub fn proposition(
    program: &Program,
    ast: &Ast,
    expr: ExprId,
) -> Result<Proposition, Vec<Diagnostic>> {
    let mut leaves = PropertyLeaves {
        program,
        table: Vec::new(),
    };
    let mut sink = Sink::default();
    let role = Role::Condition("a proposition");
    let general = translate(ast, expr, role, &mut leaves, &mut sink);
    match general {
        Some(general) if !sink.failed() => Ok(specialise(program, &general, &leaves.table)),
        _ => Err(sink.finish()),
    }
}

/// What the parser said about a property, without what is beside the point in this program: an
/// expression about integers was not written for SATABS.
pub fn relevant(program: &Program, mut diagnostics: Vec<Diagnostic>) -> Vec<Diagnostic> {
    let locals = program.procedures.iter().flat_map(|p| &p.locals);
    let variables = program.globals.iter().chain(locals);
    let integers: HashSet<&str> = variables
        .filter(|variable| !variable.ty.is_bool())
        .map(|variable| &*variable.name)
        .collect();
    diagnostics.retain(|diagnostic| match &*diagnostic.kind {
        DiagnosticKind::ReadDifferently(names) => {
            !names.iter().any(|name| integers.contains(&name[..]))
        }
        _ => true,
    });
    diagnostics
}

/// What a placeholder stands for.
enum Leaf {
    Local(ProcId, u32),
    In(Vec<ProcId>),
    /// The nodes in each procedure, sorted.
    At(BTreeMap<ProcId, Vec<NodeId>>),
    Terminated,
}

struct PropertyLeaves<'a> {
    program: &'a Program,
    /// Placeholder `k` is `Next(Local(k))`, which no proposition holds otherwise.
    table: Vec<Leaf>,
}

impl PropertyLeaves<'_> {
    fn placeholder(&mut self, leaf: Leaf, ty: Type) -> (ExprNode, Type) {
        self.table.push(leaf);
        let index = self.table.len() as u32 - 1;
        (ExprNode::Next(VarRef::Local(index)), ty)
    }

    /// Control is at one of these nodes, which are sorted.
    fn place_at(&mut self, nodes: &[NodeId]) -> (ExprNode, Type) {
        let mut by_procedure: BTreeMap<ProcId, Vec<NodeId>> = BTreeMap::new();
        for &node in nodes {
            let procedure = self.program.node(node).procedure;
            by_procedure.entry(procedure).or_default().push(node);
        }
        self.placeholder(Leaf::At(by_procedure), Type::Bool)
    }

    fn global(&self, index: usize) -> (ExprNode, Type) {
        (
            ExprNode::Var(VarRef::Global(index as u32)),
            self.program.globals[index].ty,
        )
    }

    /// The globals of this name: the shared one, else those of `thread` sections.
    fn globals(&self, name: &Name) -> Vec<usize> {
        let named = |shared: bool| {
            let globals = self.program.globals.iter().enumerate();
            globals
                .filter(|(_, g)| g.name == name.text && g.thread.is_none() == shared)
                .map(|(i, _)| i)
                .collect::<Vec<usize>>()
        };
        let shared = named(true);
        if shared.is_empty() {
            named(false)
        } else {
            shared
        }
    }

    /// A name on its own: a global or a label.
    fn bare(&mut self, name: &Name) -> Result<(ExprNode, Type), Diagnostic> {
        let program = self.program;
        let globals = self.globals(name);
        let is_label = program.nodes.iter().any(|n| n.labels.contains(&name.text));
        match (&globals[..], is_label) {
            ([], false) => Err(self.unknown(name)),
            ([], true) => {
                let nodes = labels::at(program, None, &name.text)
                    .map_err(|message| Diagnostic::error(name.span, message))?;
                Ok(self.place_at(&nodes))
            }
            ([global], false) => Ok(self.global(*global)),
            (several, false) => Err(self.ambiguous(name, several)),
            (_, true) => Err(Diagnostic::error(
                name.span,
                format!("`{name}` is both a variable and a label"),
            )
            .label("which one is meant?")
            .help(format!(
                "write `var({name})` for the variable, `at({name})` for the label"
            ))),
        }
    }

    fn ambiguous(&self, name: &Name, globals: &[usize]) -> Diagnostic {
        let names: Vec<String> = globals
            .iter()
            .filter_map(|&i| Some(format!("`{}::{name}`", self.thread(i)?)))
            .collect();
        Diagnostic::error(
            name.span,
            format!("several threads have a variable `{name}`"),
        )
        .help(format!("write {}", names.join(" or ")))
    }

    /// The thread section that a global belongs to.
    fn thread(&self, global: usize) -> Option<&str> {
        let thread = self.program.globals[global].thread?;
        match &self.program.threads {
            droste_program::Threads::Sections(sections) => Some(&sections.get(thread as usize)?.0),
            _ => None,
        }
    }

    fn unknown(&self, name: &Name) -> Diagnostic {
        let program = self.program;
        // `var(L)`: a label on its own is known.
        if program.nodes.iter().any(|n| n.labels.contains(&name.text)) {
            return Diagnostic::error(name.span, format!("`{name}` is a label, not a variable"))
                .help(format!("write `at({name})` for control being at it"));
        }
        let diagnostic = Diagnostic::error(
            name.span,
            format!("`{name}` is neither a global variable nor a label"),
        );
        for procedure in &program.procedures {
            if procedure.locals.iter().any(|local| local.name == name.text) {
                return diagnostic
                    .kind(DiagnosticKind::LocalName {
                        procedure: procedure.name.to_string(),
                        name: name.to_string(),
                    })
                    .help(format!(
                        "`{name}` is a local variable of `{0}`; write `{0}::{name}`",
                        procedure.name
                    ));
            }
        }
        if !labels::procedures(program, &name.text).is_empty() {
            return diagnostic.help(format!(
                "`{name}` is a procedure; write `in({name})` for being in it"
            ));
        }
        let globals = program.globals.iter().map(|g| &*g.name);
        let labels = program
            .nodes
            .iter()
            .flat_map(|n| n.labels.iter())
            .map(|l| &**l);
        let diagnostic = diagnostic.kind(DiagnosticKind::UnknownName(name.to_string()));
        match nearest(&name.text, globals.chain(labels)) {
            Some(suggestion) => diagnostic.help(format!("did you mean `{suggestion}`?")),
            None => diagnostic,
        }
    }

    /// `proc::x`, or `thread::x` for a global of a `thread` section; with an empty owner
    /// (`var(x)`), a global.
    fn qualified(&mut self, owner: &Name, name: &Name) -> Result<(ExprNode, Type), Diagnostic> {
        let program = self.program;
        if owner.text.is_empty() {
            return match self.globals(name)[..] {
                [] => Err(self.unknown(name)),
                [global] => Ok(self.global(global)),
                ref several => Err(self.ambiguous(name, several)),
            };
        }
        let found = labels::procedures(program, &owner.text);
        let [procedure] = found[..] else {
            if found.is_empty() {
                let global = (0..program.globals.len()).find(|&i| {
                    program.globals[i].name == name.text && self.thread(i) == Some(&owner.text)
                });
                return match global {
                    Some(global) => Ok(self.global(global)),
                    None => Err(Diagnostic::error(
                        owner.span,
                        labels::unknown_procedure(program, &owner.text),
                    )),
                };
            }
            let names: Vec<String> = found
                .iter()
                .map(|&p| format!("`{}::{name}`", program.procedure(p).name))
                .collect();
            return Err(Diagnostic::error(
                owner.span,
                format!("several threads have a procedure `{owner}`"),
            )
            .help(format!("write {}", names.join(" or "))));
        };
        let locals = &program.procedure(procedure).locals;
        // A local that hides a parameter comes after it.
        if let Some(index) = locals.iter().rposition(|local| local.name == name.text) {
            let leaf = Leaf::Local(procedure, index as u32);
            return Ok(self.placeholder(leaf, locals[index].ty));
        }
        let mut diagnostic = Diagnostic::error(
            name.span,
            format!("procedure `{owner}` has no variable `{name}`"),
        );
        if let Some(global) = program.globals.iter().find(|g| g.name == name.text) {
            diagnostic = diagnostic.help(format!("`{}` is a global; write `{name}`", global.name));
        } else if let Some(suggestion) = nearest(&name.text, locals.iter().map(|l| &*l.name)) {
            diagnostic = diagnostic.help(format!("did you mean `{owner}::{suggestion}`?"));
        }
        Err(diagnostic)
    }
}

impl Leaves for PropertyLeaves<'_> {
    fn leaf(&mut self, expr: &AstExpr, sink: &mut Sink) -> Option<(ExprNode, Type)> {
        let found = match &expr.kind {
            ExprKind::Var(name) => self.bare(name),
            ExprKind::Qualified(owner, name) => self.qualified(owner, name),
            ExprKind::At(procedure, label) => {
                let procedure = procedure.as_ref().map(|name| &*name.text);
                labels::at(self.program, procedure, &label.text)
                    .map(|nodes| self.place_at(&nodes))
                    .map_err(|message| Diagnostic::error(expr.span, message))
            }
            ExprKind::In(name) => {
                let found = labels::procedures(self.program, &name.text);
                if found.is_empty() {
                    let message = labels::unknown_procedure(self.program, &name.text);
                    Err(Diagnostic::error(name.span, message))
                } else {
                    Ok(self.placeholder(Leaf::In(found), Type::Bool))
                }
            }
            ExprKind::Terminated => Ok(self.placeholder(Leaf::Terminated, Type::Bool)),
            _ => Err(
                Diagnostic::error(expr.span, "`'x` can be used in `constrain` only")
                    .label("a property looks at one configuration at a time")
                    .help("in a formula, `X` speaks of the next position"),
            ),
        };
        found.map_err(|diagnostic| sink.push(diagnostic)).ok()
    }

    fn in_program(&self) -> bool {
        false
    }
}

fn specialise(program: &Program, general: &Expr, table: &[Leaf]) -> Proposition {
    // Most procedures are not mentioned and share one expression.
    let mut mentioned = vec![false; program.procedures.len()];
    for leaf in table {
        match leaf {
            Leaf::Local(p, _) => mentioned[p.0 as usize] = true,
            Leaf::In(procedures) => {
                for p in procedures {
                    mentioned[p.0 as usize] = true;
                }
            }
            Leaf::At(nodes) => {
                for p in nodes.keys() {
                    mentioned[p.0 as usize] = true;
                }
            }
            Leaf::Terminated => {}
        }
    }
    let elsewhere = specialise_in(general, table, None, false);
    let by_procedure = (0..program.procedures.len() as u32)
        .map(|p| {
            if mentioned[p as usize] {
                specialise_in(general, table, Some(ProcId(p)), false)
            } else {
                elsewhere.clone()
            }
        })
        .collect();
    Proposition {
        by_procedure,
        terminated: specialise_in(general, table, None, true),
    }
}

/// The proposition while `here` is on top of the stack (`None`: a procedure it does not mention).
fn specialise_in(general: &Expr, table: &[Leaf], here: Option<ProcId>, terminated: bool) -> Expr {
    /// A translated subexpression: its nodes are `first..=root` of the result.
    #[derive(Clone, Copy)]
    struct Part {
        first: u32,
        root: u32,
        /// Mentions a local of another procedure, outside any comparison.
        foreign: bool,
    }
    let mut nodes: Vec<ExprNode> = Vec::with_capacity(general.nodes.len());
    let mut parts: Vec<Part> = Vec::with_capacity(general.nodes.len());
    for node in &general.nodes {
        let mut part = Part {
            first: nodes.len() as u32,
            root: 0,
            foreign: false,
        };
        let translated = match node {
            ExprNode::Next(VarRef::Local(placeholder)) => match &table[*placeholder as usize] {
                Leaf::Local(p, index) if Some(*p) == here => ExprNode::Var(VarRef::Local(*index)),
                Leaf::Local(..) => {
                    part.foreign = true;
                    ExprNode::Const(0)
                }
                Leaf::In(procedures) => {
                    let inside = here.is_some_and(|here| procedures.contains(&here));
                    ExprNode::Const(i128::from(inside))
                }
                Leaf::At(at) => match here.and_then(|here| at.get(&here)) {
                    Some(nodes) => ExprNode::At(nodes.as_slice().into()),
                    None => ExprNode::Const(0),
                },
                Leaf::Terminated => ExprNode::Const(i128::from(terminated)),
            },
            ExprNode::Not(a) | ExprNode::BitNot(a) | ExprNode::Neg(a) => {
                let a = parts[*a as usize];
                part.first = a.first;
                part.foreign = a.foreign;
                match node {
                    ExprNode::Not(_) => ExprNode::Not(a.root),
                    ExprNode::BitNot(_) => ExprNode::BitNot(a.root),
                    _ => ExprNode::Neg(a.root),
                }
            }
            ExprNode::Binary(_, a, b) | ExprNode::Schoose(a, b) => {
                let (a, b) = (parts[*a as usize], parts[*b as usize]);
                part.first = a.first;
                part.foreign = a.foreign || b.foreign;
                match node {
                    ExprNode::Binary(op, ..) if part.foreign && compares(*op) => {
                        part.foreign = false;
                        nodes.truncate(part.first as usize);
                        ExprNode::Const(0)
                    }
                    ExprNode::Binary(op, ..) => ExprNode::Binary(*op, a.root, b.root),
                    _ => ExprNode::Schoose(a.root, b.root),
                }
            }
            leaf => leaf.clone(),
        };
        part.root = nodes.len() as u32;
        nodes.push(translated);
        parts.push(part);
    }
    Expr { nodes }
}

fn compares(op: Operator) -> bool {
    matches!(
        op,
        Operator::Eq | Operator::Ne | Operator::Lt | Operator::Le | Operator::Gt | Operator::Ge
    )
}
