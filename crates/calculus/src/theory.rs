//! What has been loaded: types, predicates, and the list of things to do.
//!
//! A [`Theory`] is complete before anything is evaluated, so that one order of BDD variables can
//! serve all of it. It is plain data and can be handed to another thread, where a
//! [`Solver`](crate::Solver) works on it.

use droste_source::diagnostics::{Diagnostic, Severity, render};
use droste_source::{SourceFile, Span};

use crate::syntax::{ExprId, Fixpoint, Relation, Syntax};
use crate::term::{DefId, TermId, Terms, VarId};
use crate::types::{TypeId, Types};

/// A place in one of the files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileSpan {
    /// The file.
    pub file: u32,
    /// Where in it.
    pub span: Span,
}

/// A variable: a row of bits.
#[derive(Clone, Debug)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Its type.
    pub ty: TypeId,
    /// The number of its first bit.
    pub first: u32,
    /// If a quantifier binds it: from when to when it is in scope, each time, in the order of
    /// reading. Variables whose times overlap must not share BDD variables.
    pub scopes: Vec<(u32, u32)>,
}

/// A wish about the order.
#[derive(Clone, Copy, Debug)]
pub struct Wish {
    /// Index of a parameter.
    pub left: u32,
    /// How they shall lie.
    pub relation: Relation,
    /// Index of another parameter.
    pub right: u32,
}

/// In which ways a body mentions a predicate: positively, negatively, or both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sign {
    /// Growing the predicate may grow the body.
    pub positive: bool,
    /// Growing the predicate may shrink the body.
    pub negative: bool,
}

/// A predicate.
#[derive(Clone, Debug)]
pub struct Definition {
    /// Its name.
    pub name: String,
    /// Where its name is.
    pub place: FileSpan,
    /// How its equation is solved.
    pub fixpoint: Fixpoint,
    /// The parameters.
    pub parameters: Vec<VarId>,
    /// What is wished about the order.
    pub wishes: Vec<Wish>,
    /// Variables of quantifiers in the body.
    pub locals: Vec<VarId>,
    /// The right side of the equation; none if there is only a prototype.
    pub body: Option<TermId>,
    /// Its negation, for greatest fixpoints.
    pub dual: Option<TermId>,
    /// The predicates that the body applies, in the order in which they are met.
    pub references: Vec<(DefId, Sign)>,
    /// Whether there are errors in it.
    pub broken: bool,
}

/// A closed formula that shall be evaluated.
#[derive(Clone, Debug)]
pub struct ClosedFormula {
    /// The formula.
    pub root: TermId,
    /// Its negation.
    pub dual: TermId,
    /// The predicates it applies.
    pub references: Vec<(DefId, Sign)>,
    /// Where it is.
    pub place: FileSpan,
    /// As it was written.
    pub expr: ExprId,
}

/// Something to print.
#[derive(Clone, Debug)]
pub enum Printed {
    /// Text.
    Text(String),
    /// A declaration.
    Symbol(String),
    /// All names.
    Symbols,
    /// What the computation took.
    Statistics,
}

/// Something to do.
#[derive(Clone, Debug)]
pub enum Action {
    /// Evaluate a formula.
    Query(ClosedFormula),
    /// Evaluate a formula and show why it is true, or, if the flag is not set, why it is false.
    Witness(bool, ClosedFormula),
    /// Count the members of a relation.
    Count(DefId, FileSpan),
    /// Count BDD nodes.
    Size(DefId, FileSpan),
    /// Print BDD nodes.
    Dump(DefId, FileSpan),
    /// List members, at most the given number of them.
    Tuples(DefId, usize, FileSpan),
    /// Forget a value, or all.
    Reset(Option<DefId>),
    /// Print something.
    Print(Vec<Printed>),
    /// Say the time.
    Timer,
    /// Set the clock to zero.
    TimerReset,
    /// Start (or stop) the clock.
    TimerRun(bool),
    /// More or less talk.
    Verbose(bool),
}

/// Everything that has been loaded.
#[derive(Debug, Default)]
pub struct Theory {
    pub(crate) files: Vec<SourceFile>,
    pub(crate) syntax: Vec<Syntax>,
    pub(crate) types: Types,
    pub(crate) terms: Terms,
    pub(crate) variables: Vec<Variable>,
    pub(crate) bits: u32,
    pub(crate) definitions: Vec<Definition>,
    pub(crate) actions: Vec<Action>,
    pub(crate) diagnostics: Vec<(u32, Diagnostic)>,
    /// The order of BDD variables, once it has been chosen.
    pub(crate) order: Option<crate::order::Order>,
    /// Variables of quantifiers in queries.
    pub(crate) query_locals: Vec<VarId>,
}

impl Theory {
    /// Whether two variables of quantifiers are ever in scope together.
    pub(crate) fn overlap(&self, a: VarId, b: VarId) -> bool {
        let (mut a, mut b) = (&self.variable(a).scopes[..], &self.variable(b).scopes[..]);
        while let ([x, rest_a @ ..], [y, rest_b @ ..]) = (a, b) {
            if x.1 <= y.0 {
                a = rest_a;
            } else if y.1 <= x.0 {
                b = rest_b;
            } else {
                return true;
            }
        }
        false
    }

    /// The types.
    pub fn types(&self) -> &Types {
        &self.types
    }

    /// The formulas.
    pub fn terms(&self) -> &Terms {
        &self.terms
    }

    /// The predicates.
    pub fn definitions(&self) -> &[Definition] {
        &self.definitions
    }

    /// The predicate of this name.
    pub fn find(&self, name: &str) -> Option<DefId> {
        let index = self.definitions.iter().position(|d| d.name == name)?;
        Some(DefId(index as u32))
    }

    /// The things to do, in order.
    pub fn actions(&self) -> &[Action] {
        &self.actions
    }

    /// What there is to say about the files.
    pub fn diagnostics(&self) -> impl Iterator<Item = &Diagnostic> {
        self.diagnostics.iter().map(|(_, diagnostic)| diagnostic)
    }

    /// Whether something is wrong with the files.
    pub fn has_errors(&self) -> bool {
        self.diagnostics()
            .any(|diagnostic| diagnostic.severity == Severity::Error)
    }

    /// Errors and, if wanted, warnings, as text with excerpts.
    pub fn messages(&self, warnings: bool, color: bool) -> String {
        self.render(&self.diagnostics, warnings, color)
    }

    /// Messages about these files as text.
    pub(crate) fn render(&self, list: &[(u32, Diagnostic)], warnings: bool, color: bool) -> String {
        let mut out = String::new();
        for (file, diagnostic) in list {
            if !warnings && diagnostic.severity == Severity::Warning {
                continue;
            }
            let one = std::slice::from_ref(diagnostic);
            out += &render(one, &self.files[*file as usize], color);
            out.push('\n');
        }
        out
    }

    /// The file that a place is in.
    pub fn file(&self, place: FileSpan) -> &SourceFile {
        &self.files[place.file as usize]
    }

    /// The number of a place's line.
    pub fn line(&self, place: FileSpan) -> u32 {
        self.file(place).line_number(place.span.start)
    }

    /// A formula as it is printed with its value.
    pub fn show(&self, question: &ClosedFormula) -> String {
        let file = question.place.file as usize;
        crate::printer::print(&self.syntax[file], &self.files[file], question.expr)
    }

    /// The variable.
    pub fn variable(&self, id: VarId) -> &Variable {
        &self.variables[id.0 as usize]
    }

    pub(crate) fn width(&self, id: VarId) -> u32 {
        self.types.get(self.variable(id).ty).width
    }

    /// The bits of all parameters of a predicate.
    pub(crate) fn total_width(&self, def: DefId) -> u64 {
        let parameters = self.definition(def).parameters.iter();
        parameters.map(|&id| u64::from(self.width(id))).sum()
    }

    pub(crate) fn definition(&self, id: DefId) -> &Definition {
        &self.definitions[id.0 as usize]
    }

    /// The bits of a variable.
    pub(crate) fn bits_of(&self, id: VarId) -> std::ops::Range<u32> {
        let first = self.variable(id).first;
        first..first + self.width(id)
    }
}
