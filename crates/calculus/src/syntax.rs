//! What the parser makes: a list of commands, and a flat table of expressions.
//!
//! Expressions are rows of one table, named by [`ExprId`], operands before operators; lists
//! (operands of a chain of `&`, arguments, declarations) are ranges of shared tables. Whoever walks the
//! rows in order needs no recursion. So an expression may be nested a hundred thousand deep, or have a
//! hundred thousand operands.

use std::ops::Range;

use droste_source::Span;

/// A row of [`Syntax::exprs`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ExprId(pub u32);

/// A range of one of the list tables of [`Syntax`].
pub type List = Range<u32>;

/// The operators that do not associate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrow {
    /// `->`
    Implies,
    /// `<-`
    Follows,
    /// `<->`
    Iff,
    /// `<+>`
    Xor,
}

impl Arrow {
    /// As it is written.
    pub fn text(self) -> &'static str {
        match self {
            Arrow::Implies => "->",
            Arrow::Follows => "<-",
            Arrow::Iff => "<->",
            Arrow::Xor => "<+>",
        }
    }
}

/// One expression.
#[derive(Clone, Debug, PartialEq)]
pub enum Expr {
    /// `true`, `false`
    Bool(bool),
    /// A number, where its digits are; it may be too large to be anything.
    Number(Span),
    /// A variable, or part of one, or a constant: names and indices in [`Syntax::steps`].
    Path(List),
    /// A predicate, its name and its arguments in [`Syntax::operands`].
    Apply(Span, List),
    /// `l = r`, or `l != r` if negated.
    Compare(bool, ExprId, ExprId),
    /// `! e`
    Not(ExprId),
    /// A chain of `&`, at least two in [`Syntax::operands`].
    And(List),
    /// A chain of `|`.
    Or(List),
    /// `l -> r` and the like.
    Arrow(Arrow, ExprId, ExprId),
    /// `if (c) t else e`; without `else` it is `c -> t`.
    If(ExprId, ExprId, Option<ExprId>),
    /// `case`: guards and values in turn in [`Syntax::operands`].
    Case(List),
    /// A quantifier (`exists` if true) over [`Syntax::declarations`].
    Quantifier(bool, List, ExprId),
    /// `p assume g`
    Assume(ExprId, ExprId),
    /// `p cofactor g`
    Cofactor(ExprId, ExprId),
}

/// Part of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The variable, or a component.
    Name(Span),
    /// An index: of an array, or of a bit.
    Index(Span),
}

/// `T x` or `T x[4]`
#[derive(Clone, Debug)]
pub struct Declaration {
    /// The type's name.
    pub ty: Span,
    /// The variable's name.
    pub name: Span,
    /// The size of an array.
    pub size: Option<Span>,
}

/// How two variables shall lie in the order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// `x ~+ y`: interleaved.
    Together,
    /// `x ~- y`: not interleaved.
    Apart,
    /// `x < y`
    Before,
}

/// An allocation constraint.
#[derive(Clone, Copy, Debug)]
pub struct Constraint {
    /// The first variable.
    pub left: Span,
    /// How they shall lie.
    pub relation: Relation,
    /// The second variable.
    pub right: Span,
}

/// How a predicate's equation is solved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fixpoint {
    /// It is not recursive.
    Plain,
    /// The least solution.
    Mu,
    /// The greatest solution.
    Nu,
}

/// The commands about one predicate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum About {
    /// `#ons p`
    Count,
    /// `#size p`
    Size,
    /// `#dump p`
    Dump,
    /// `#reset p`
    Reset,
}

/// What one command is.
#[derive(Clone, Debug)]
pub enum CommandKind {
    /// `enum E { a, b };`
    Enum {
        /// Its name.
        name: Span,
        /// The constants.
        constants: Vec<Span>,
    },
    /// `enum R { lo .. hi };`
    Range {
        /// Its name.
        name: Span,
        /// One end.
        from: Span,
        /// The other.
        to: Span,
    },
    /// `class C { ... } constraints ;`
    Class {
        /// Its name.
        name: Span,
        /// The components.
        components: List,
        /// How they shall lie.
        constraints: Vec<Constraint>,
    },
    /// A predicate, or, without a body, its prototype.
    Predicate {
        /// How its equation is solved.
        fixpoint: Fixpoint,
        /// The result's type.
        result: Span,
        /// Its name.
        name: Span,
        /// The parameters.
        parameters: List,
        /// How they shall lie.
        constraints: Vec<Constraint>,
        /// The right side of its equation.
        body: Option<ExprId>,
    },
    /// An expression to be evaluated.
    Query(ExprId),
    /// `#wit E` (true) or `#cex E`
    Witness(bool, ExprId),
    /// `#load`
    Load(Vec<Span>),
    /// `#print`
    Print(Vec<Span>),
    /// A command about a predicate.
    About(About, Span),
    /// `#tuples p [n]`
    Tuples(Span, Option<Span>),
    /// `#reset all`
    ResetAll,
    /// `#timer` with `reset`, `go` or `stop`
    Timer(Option<Span>),
    /// `#verbose` or `#frontier`, on or off
    Switch {
        /// Whether it is `#verbose`.
        verbose: bool,
        /// Whether it is switched on.
        on: bool,
    },
    /// `#vis`, `#undump`: read, but without effect.
    Gone,
    /// `#quit`
    Quit,
}

/// A command and its place.
#[derive(Clone, Debug)]
pub struct Command {
    /// What it is.
    pub kind: CommandKind,
    /// From its first token to its last.
    pub span: Span,
}

/// A parsed file.
#[derive(Clone, Debug, Default)]
pub struct Syntax {
    /// The commands in order.
    pub commands: Vec<Command>,
    /// All expressions; operands come before what they are operands of.
    pub exprs: Vec<Expr>,
    /// Where each expression is.
    pub spans: Vec<Span>,
    /// Operands and arguments.
    pub operands: Vec<ExprId>,
    /// Parts of paths.
    pub steps: Vec<Step>,
    /// Parameters, components, quantified variables.
    pub declarations: Vec<Declaration>,
}

impl Syntax {
    /// The expression.
    pub fn expr(&self, id: ExprId) -> &Expr {
        &self.exprs[id.0 as usize]
    }

    /// Its place.
    pub fn span(&self, id: ExprId) -> Span {
        self.spans[id.0 as usize]
    }

    /// Operands of a list.
    pub fn operands(&self, list: &List) -> &[ExprId] {
        &self.operands[list.start as usize..list.end as usize]
    }

    /// The parts of a path.
    pub fn steps(&self, list: &List) -> &[Step] {
        &self.steps[list.start as usize..list.end as usize]
    }

    /// The declarations of a list.
    pub fn declarations(&self, list: &List) -> &[Declaration] {
        &self.declarations[list.start as usize..list.end as usize]
    }
}
