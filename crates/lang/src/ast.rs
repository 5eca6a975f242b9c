//! A Boolean program as it was written.
//!
//! Expressions and statements live in two flat arenas and refer to each other by id, so
//! that a program nested a million levels deep needs no native stack to build, walk or
//! drop. In the expression arena **children come before their parents** and the
//! subexpressions of one expression are contiguous: a loop over ascending ids visits every
//! operand before its operator.
//!
//! Nothing is desugared here: `printer` gives back a program that parses to an
//! equal [`Ast`]. Equality ignores spans.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

pub use droste_program::Type;
use droste_source::Span;

/// An identifier, an escaped name such as `{x<y}` (braces included), or a numeric label.
/// Equality looks at the text only.
#[derive(Clone)]
pub struct Name {
    /// The text. Equal names of one file share it.
    pub text: Arc<str>,
    /// Where it stands.
    pub span: Span,
}

impl Name {
    /// A name that stands nowhere.
    pub fn new(text: &str) -> Self {
        Name {
            text: text.into(),
            span: Span::default(),
        }
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl PartialEq for Name {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Name {}

impl Hash for Name {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.text.hash(state);
    }
}

/// Index into [`Ast::exprs`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ExprId(pub u32);

/// Index into [`Ast::stmts`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StmtId(pub u32);

/// A whole program. Equality compares structure and ignores spans (and arena order, as
/// long as both were built in the parser's order, which the parser and `printer` keep).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ast {
    /// Declarations, functions and thread sections, in the order of the source.
    pub items: Vec<Item>,
    /// Every expression; children before parents.
    pub exprs: Vec<Expr>,
    /// Every statement; the statements of a block before the statement that holds it.
    pub stmts: Vec<Stmt>,
    /// Whether a label may stand on several statements of a procedure: GETAFIX's programs have error
    /// labels like that.
    pub repeated_labels: bool,
}

/// Something at the top level of a program or of a thread section.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    /// `decl x, y : u8;`
    Decl(Decl),
    /// A procedure.
    Function(Function),
    /// `thread NAME begin … end`: declarations and functions of one thread
    /// (never a thread section inside another).
    Thread(Name, Vec<Item>),
}

/// `decl a, b : type`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decl {
    /// The names, at least one.
    pub names: Vec<Name>,
    /// Their type; `bool` if none was written.
    pub ty: Type,
}

/// A procedure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// Whether `dfs` was written before it (it means nothing).
    pub dfs: bool,
    /// Result types; empty for `void`. `bool<3>` is three `Bool`s.
    pub results: Vec<Type>,
    /// The name.
    pub name: Name,
    /// Parameters.
    pub params: Vec<(Name, Type)>,
    /// The body.
    pub body: Block,
    /// The word `end` that closes the body: where falling off happens.
    pub end: EndSpan,
}

/// A span that never makes two trees differ.
#[derive(Clone, Copy, Debug, Default)]
pub struct EndSpan(pub Span);

impl PartialEq for EndSpan {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for EndSpan {}

/// A sequence of statements.
pub type Block = Vec<StmtId>;

/// A statement with its labels. Equality ignores the span.
#[derive(Clone, Debug)]
pub struct Stmt {
    /// `a: b: stmt` has the labels `a` and `b`.
    pub labels: Vec<Name>,
    /// What it does.
    pub kind: StmtKind,
    /// From the first character after the labels to the last of the statement's head:
    /// for `if` and `while` the span ends with the condition.
    pub span: Span,
}

impl PartialEq for Stmt {
    fn eq(&self, other: &Self) -> bool {
        self.labels == other.labels && self.kind == other.kind
    }
}

impl Eq for Stmt {}

/// A place to assign to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A variable.
    Var(Name),
    /// `_`: the value is thrown away.
    Discard(EndSpan),
}

/// What a statement does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StmtKind {
    /// `decl x, y : t`: executing it gives the variables any value.
    Decl(Decl),
    /// `x, y := e, f constrain g`
    Assign {
        /// Left-hand sides.
        targets: Vec<Target>,
        /// Right-hand sides; the counts are compared when the program is lowered.
        values: Vec<ExprId>,
        /// The condition after `constrain`.
        constrain: Option<ExprId>,
    },
    /// `x, y := f(e) constrain g`, or `f(e)`; the word `call` is not kept.
    Call {
        /// Left-hand sides; empty if the results are dropped.
        targets: Vec<Target>,
        /// Whom to call.
        callee: Name,
        /// Arguments.
        args: Vec<ExprId>,
        /// The condition after `constrain`.
        constrain: Option<ExprId>,
    },
    /// `assert e`
    Assert(ExprId),
    /// `assume e`
    Assume(ExprId),
    /// `constrain e` as a statement of its own.
    Constrain(ExprId),
    /// `abortif e`
    AbortIf(ExprId),
    /// `enforce e`
    Enforce(ExprId),
    /// `if … then … elsif … then … else … fi`
    If {
        /// Condition and body of `if` and each `elsif`; at least one.
        arms: Vec<(ExprId, Block)>,
        /// The body of `else`.
        otherwise: Option<Block>,
    },
    /// `while e do … od`
    While {
        /// The condition.
        condition: ExprId,
        /// The body.
        body: Block,
    },
    /// `goto a, b`: either.
    Goto(Vec<Name>),
    /// `return e, f`
    Return(Vec<ExprId>),
    /// `skip`
    Skip,
    /// `print(e, f)`; does nothing.
    Print(Vec<ExprId>),
    /// `dead x, y`
    Dead(Vec<Name>),
    /// `start_thread S`; a call with a label `ASYNC_…` stays a [`StmtKind::Call`] here.
    StartThread(StmtId),
    /// `end_thread`
    EndThread,
    /// `sync x`; refused when the program is lowered.
    Sync(Name),
    /// `atomic_begin`
    AtomicBegin,
    /// `atomic_end`
    AtomicEnd,
}

/// An expression. Equality ignores the span.
#[derive(Clone, Debug)]
pub struct Expr {
    /// The operator or operand.
    pub kind: ExprKind,
    /// The whole expression, without surrounding parentheses.
    pub span: Span,
}

impl PartialEq for Expr {
    fn eq(&self, other: &Self) -> bool {
        self.kind == other.kind
    }
}

impl Eq for Expr {}

/// An expression's operator or operand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExprKind {
    /// `T`, `F`, `true`, `false`.
    Bool(bool),
    /// A literal. `0` and `1` also serve as Booleans where a Boolean is expected.
    Int(i128),
    /// `*` or `?`.
    Nondet,
    /// A variable.
    Var(Name),
    /// `'x`: its value after the step; in `constrain` only.
    Next(Name),
    /// `!e` (also `~e`), `-e`.
    Unary(UnaryOp, ExprId),
    /// `e op f`
    Binary(BinaryOp, ExprId, ExprId),
    /// `schoose[a, b]`: 1 if a, else 0 if b, else either.
    Schoose(ExprId, ExprId),
    /// `proc::x`, a local of whatever is on top of the stack; in properties only. With an
    /// empty first name, `var(x)`: the global, even if there is a label of that name.
    Qualified(Name, Name),
    /// `at(L)` or `at(proc:L)`: control is at that label; in properties only.
    At(Option<Name>, Name),
    /// `in(proc)`: that procedure is on top of the stack; in properties only.
    In(Name),
    /// `terminated`: `main` has returned; in properties only.
    Terminated,
}

/// Unary operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UnaryOp {
    /// `!` or `~`: negation of Booleans, complement of integers.
    Not,
    /// `-`
    Neg,
}

/// Binary operators. `&`, `|` and `^` are logical on Booleans and bitwise on integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BinaryOp {
    /// `=>`
    Implies,
    /// `|`, `||`
    Or,
    /// `^`
    Xor,
    /// `&`, `&&`
    And,
    /// `=`, `==`
    Eq,
    /// `!=`
    Ne,
    /// `<`
    Lt,
    /// `<=`
    Le,
    /// `>`
    Gt,
    /// `>=`
    Ge,
    /// `<<`
    Shl,
    /// `>>`
    Shr,
    /// `+`
    Add,
    /// `-`
    Sub,
    /// `*` between operands
    Mul,
    /// `/`: truncated towards zero
    Div,
    /// `%`: has the sign of the left operand
    Rem,
}

impl BinaryOp {
    /// How it is written.
    pub fn symbol(self) -> &'static str {
        match self {
            BinaryOp::Implies => "=>",
            BinaryOp::Or => "|",
            BinaryOp::Xor => "^",
            BinaryOp::And => "&",
            BinaryOp::Eq => "=",
            BinaryOp::Ne => "!=",
            BinaryOp::Lt => "<",
            BinaryOp::Le => "<=",
            BinaryOp::Gt => ">",
            BinaryOp::Ge => ">=",
            BinaryOp::Shl => "<<",
            BinaryOp::Shr => ">>",
            BinaryOp::Add => "+",
            BinaryOp::Sub => "-",
            BinaryOp::Mul => "*",
            BinaryOp::Div => "/",
            BinaryOp::Rem => "%",
        }
    }
}

impl Ast {
    /// The expression with this id.
    pub fn expr(&self, id: ExprId) -> &Expr {
        &self.exprs[id.0 as usize]
    }

    /// The statement with this id.
    pub fn stmt(&self, id: StmtId) -> &Stmt {
        &self.stmts[id.0 as usize]
    }

    /// Adds an expression, whose operands must be there already.
    pub fn add_expr(&mut self, kind: ExprKind, span: Span) -> ExprId {
        self.exprs.push(Expr { kind, span });
        ExprId(self.exprs.len() as u32 - 1)
    }

    /// Adds a statement, whose parts must be there already.
    pub fn add_stmt(&mut self, labels: Vec<Name>, kind: StmtKind, span: Span) -> StmtId {
        self.stmts.push(Stmt { labels, kind, span });
        StmtId(self.stmts.len() as u32 - 1)
    }
}
