//! A program as an owned tree, which is easier to cut and paste than arenas.
//!
//! The generator builds one, the shrinker edits one, and [`Tree::to_ast`] writes it into
//! arenas in the parser's order: the parts of a statement from left to right, the statement
//! after its parts. Trees here are small; walking them by native recursion is fine.

use droste_lang::ast::{
    Ast, BinaryOp, Block, Decl, EndSpan, ExprId, ExprKind, Function, Item, Name, StmtId, StmtKind,
    Target, Type, UnaryOp,
};
use droste_source::Span;

/// An expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Exp {
    /// Anything without operands.
    Leaf(ExprKind),
    /// A unary operator.
    Unary(UnaryOp, Box<Exp>),
    /// A binary operator.
    Binary(BinaryOp, Box<Exp>, Box<Exp>),
    /// `schoose[a, b]`
    Schoose(Box<Exp>, Box<Exp>),
}

/// A statement with its labels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stm {
    /// Its labels.
    pub labels: Vec<String>,
    /// What it does.
    pub kind: StmKind,
}

/// What a statement does; as [`StmtKind`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StmKind {
    /// `decl x, y : t`
    Decl(Vec<String>, Type),
    /// `x, _ := e, f constrain g`; `None` is `_`.
    Assign(Vec<Option<String>>, Vec<Exp>, Option<Exp>),
    /// `x, _ := f(e, f) constrain g`
    Call(Vec<Option<String>>, String, Vec<Exp>, Option<Exp>),
    /// `assert e`
    Assert(Exp),
    /// `assume e`
    Assume(Exp),
    /// `constrain e`
    Constrain(Exp),
    /// `abortif e`
    AbortIf(Exp),
    /// `enforce e`
    Enforce(Exp),
    /// `if … fi`
    If(Vec<(Exp, Vec<Stm>)>, Option<Vec<Stm>>),
    /// `while e do … od`
    While(Exp, Vec<Stm>),
    /// `goto a, b`
    Goto(Vec<String>),
    /// `return e, f`
    Return(Vec<Exp>),
    /// `skip`
    Skip,
    /// `print(e, f)`
    Print(Vec<Exp>),
    /// `dead x, y`
    Dead(Vec<String>),
    /// A statement about threads that is carried along unchanged.
    StartThread(Box<Stm>),
    /// `end_thread`, `sync x`, `atomic_begin`, `atomic_end`.
    Other(StmtKind),
}

/// A procedure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proc {
    /// Whether `dfs` was written before it.
    pub dfs: bool,
    /// Result types.
    pub results: Vec<Type>,
    /// Its name.
    pub name: String,
    /// Its parameters.
    pub params: Vec<(String, Type)>,
    /// Its body.
    pub body: Vec<Stm>,
}

/// Something at the top level.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TopLevel {
    /// `decl x, y : t;`
    Decl(Vec<String>, Type),
    /// A procedure.
    Proc(Proc),
    /// `thread NAME begin … end`
    Thread(String, Vec<TopLevel>),
}

/// A whole program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tree {
    /// Declarations and procedures.
    pub items: Vec<TopLevel>,
}

impl Exp {
    /// `T` or `F`.
    pub fn bool(value: bool) -> Self {
        Exp::Leaf(ExprKind::Bool(value))
    }

    /// A literal, which must not be negative.
    pub fn int(value: i128) -> Self {
        assert!(
            value >= 0,
            "a negative number is written with a unary minus"
        );
        Exp::Leaf(ExprKind::Int(value))
    }

    /// `*`
    pub fn star() -> Self {
        Exp::Leaf(ExprKind::Nondet)
    }

    /// A variable.
    pub fn var(name: &str) -> Self {
        Exp::Leaf(ExprKind::Var(Name::new(name)))
    }

    /// `!e`
    #[must_use]
    pub fn negated(self) -> Self {
        Exp::Unary(UnaryOp::Not, Box::new(self))
    }

    /// `left op right`
    pub fn binary(op: BinaryOp, left: Exp, right: Exp) -> Self {
        Exp::Binary(op, Box::new(left), Box::new(right))
    }

    /// Whether some leaf satisfies `test`.
    pub fn any_leaf(&self, test: &mut dyn FnMut(&ExprKind) -> bool) -> bool {
        match self {
            Exp::Leaf(kind) => test(kind),
            Exp::Unary(_, operand) => operand.any_leaf(test),
            Exp::Binary(_, left, right) | Exp::Schoose(left, right) => {
                left.any_leaf(test) || right.any_leaf(test)
            }
        }
    }

    fn from_ast(ast: &Ast, id: ExprId) -> Self {
        match &ast.expr(id).kind {
            ExprKind::Unary(op, operand) => Exp::Unary(*op, Box::new(Exp::from_ast(ast, *operand))),
            ExprKind::Binary(op, left, right) => {
                Exp::binary(*op, Exp::from_ast(ast, *left), Exp::from_ast(ast, *right))
            }
            ExprKind::Schoose(left, right) => Exp::Schoose(
                Box::new(Exp::from_ast(ast, *left)),
                Box::new(Exp::from_ast(ast, *right)),
            ),
            leaf => Exp::Leaf(leaf.clone()),
        }
    }

    pub(crate) fn write(&self, ast: &mut Ast) -> ExprId {
        let kind = match self {
            Exp::Leaf(kind) => kind.clone(),
            Exp::Unary(op, operand) => ExprKind::Unary(*op, operand.write(ast)),
            Exp::Binary(op, left, right) => {
                let left = left.write(ast);
                ExprKind::Binary(*op, left, right.write(ast))
            }
            Exp::Schoose(left, right) => {
                let left = left.write(ast);
                ExprKind::Schoose(left, right.write(ast))
            }
        };
        ast.add_expr(kind, Span::default())
    }
}

impl Stm {
    /// A statement without labels.
    pub fn new(kind: StmKind) -> Self {
        Stm {
            labels: Vec::new(),
            kind,
        }
    }

    /// Calls `f` with this statement and every statement inside it.
    pub fn for_each(&self, f: &mut dyn FnMut(&Stm)) {
        f(self);
        match &self.kind {
            StmKind::If(arms, otherwise) => {
                let blocks = arms.iter().map(|(_, block)| block).chain(otherwise);
                blocks.flatten().for_each(|inner| inner.for_each(f));
            }
            StmKind::While(_, body) => body.iter().for_each(|inner| inner.for_each(f)),
            StmKind::StartThread(inner) => inner.for_each(f),
            _ => {}
        }
    }

    /// The same, to change them.
    pub fn for_each_mut(&mut self, f: &mut dyn FnMut(&mut Stm)) {
        f(self);
        match &mut self.kind {
            StmKind::If(arms, otherwise) => {
                let blocks = arms.iter_mut().map(|(_, block)| block).chain(otherwise);
                blocks.flatten().for_each(|inner| inner.for_each_mut(f));
            }
            StmKind::While(_, body) => body.iter_mut().for_each(|inner| inner.for_each_mut(f)),
            StmKind::StartThread(inner) => inner.for_each_mut(f),
            _ => {}
        }
    }

    /// The expressions of this statement itself, not those of statements inside it.
    pub fn exps(&self) -> Vec<&Exp> {
        match &self.kind {
            StmKind::Assign(_, values, constrain) | StmKind::Call(_, _, values, constrain) => {
                values.iter().chain(constrain).collect()
            }
            StmKind::Assert(e)
            | StmKind::Assume(e)
            | StmKind::Constrain(e)
            | StmKind::AbortIf(e)
            | StmKind::Enforce(e)
            | StmKind::While(e, _) => vec![e],
            StmKind::If(arms, _) => arms.iter().map(|(e, _)| e).collect(),
            StmKind::Return(values) | StmKind::Print(values) => values.iter().collect(),
            _ => Vec::new(),
        }
    }

    fn from_ast(ast: &Ast, id: StmtId) -> Self {
        let stmt = ast.stmt(id);
        let exp = |id: &ExprId| Exp::from_ast(ast, *id);
        let exps = |ids: &[ExprId]| ids.iter().map(exp).collect::<Vec<_>>();
        let block = |ids: &[StmtId]| stms_from_ast(ast, ids);
        let kind = match &stmt.kind {
            StmtKind::Decl(decl) => StmKind::Decl(strings(&decl.names), decl.ty),
            StmtKind::Assign {
                targets,
                values,
                constrain,
            } => StmKind::Assign(options(targets), exps(values), constrain.as_ref().map(exp)),
            StmtKind::Call {
                targets,
                callee,
                args,
                constrain,
            } => StmKind::Call(
                options(targets),
                callee.text.to_string(),
                exps(args),
                constrain.as_ref().map(exp),
            ),
            StmtKind::Assert(e) => StmKind::Assert(exp(e)),
            StmtKind::Assume(e) => StmKind::Assume(exp(e)),
            StmtKind::Constrain(e) => StmKind::Constrain(exp(e)),
            StmtKind::AbortIf(e) => StmKind::AbortIf(exp(e)),
            StmtKind::Enforce(e) => StmKind::Enforce(exp(e)),
            StmtKind::If { arms, otherwise } => StmKind::If(
                arms.iter().map(|(e, body)| (exp(e), block(body))).collect(),
                otherwise.as_ref().map(|body| block(body)),
            ),
            StmtKind::While { condition, body } => StmKind::While(exp(condition), block(body)),
            StmtKind::Goto(labels) => StmKind::Goto(strings(labels)),
            StmtKind::Return(values) => StmKind::Return(exps(values)),
            StmtKind::Skip => StmKind::Skip,
            StmtKind::Print(values) => StmKind::Print(exps(values)),
            StmtKind::Dead(names) => StmKind::Dead(strings(names)),
            StmtKind::StartThread(inner) => {
                StmKind::StartThread(Box::new(Stm::from_ast(ast, *inner)))
            }
            other @ (StmtKind::EndThread
            | StmtKind::Sync(_)
            | StmtKind::AtomicBegin
            | StmtKind::AtomicEnd) => StmKind::Other(other.clone()),
        };
        Stm {
            labels: strings(&stmt.labels),
            kind,
        }
    }

    fn write(&self, ast: &mut Ast) -> StmtId {
        let kind = match &self.kind {
            StmKind::Decl(vars, ty) => StmtKind::Decl(decl(vars, *ty)),
            StmKind::Assign(targets, values, constrain) => StmtKind::Assign {
                targets: to_targets(targets),
                values: write_all(values, ast),
                constrain: constrain.as_ref().map(|e| e.write(ast)),
            },
            StmKind::Call(targets, callee, args, constrain) => StmtKind::Call {
                targets: to_targets(targets),
                callee: Name::new(callee),
                args: write_all(args, ast),
                constrain: constrain.as_ref().map(|e| e.write(ast)),
            },
            StmKind::Assert(e) => StmtKind::Assert(e.write(ast)),
            StmKind::Assume(e) => StmtKind::Assume(e.write(ast)),
            StmKind::Constrain(e) => StmtKind::Constrain(e.write(ast)),
            StmKind::AbortIf(e) => StmtKind::AbortIf(e.write(ast)),
            StmKind::Enforce(e) => StmtKind::Enforce(e.write(ast)),
            StmKind::If(arms, otherwise) => {
                let mut written = Vec::with_capacity(arms.len());
                for (condition, body) in arms {
                    let condition = condition.write(ast);
                    written.push((condition, write_block(body, ast)));
                }
                StmtKind::If {
                    arms: written,
                    otherwise: otherwise.as_ref().map(|body| write_block(body, ast)),
                }
            }
            StmKind::While(condition, body) => {
                let condition = condition.write(ast);
                let body = write_block(body, ast);
                StmtKind::While { condition, body }
            }
            StmKind::Goto(labels) => StmtKind::Goto(names(labels)),
            StmKind::Return(values) => StmtKind::Return(write_all(values, ast)),
            StmKind::Skip => StmtKind::Skip,
            StmKind::Print(values) => StmtKind::Print(write_all(values, ast)),
            StmKind::Dead(vars) => StmtKind::Dead(names(vars)),
            StmKind::StartThread(inner) => StmtKind::StartThread(inner.write(ast)),
            StmKind::Other(kind) => kind.clone(),
        };
        ast.add_stmt(names(&self.labels), kind, Span::default())
    }
}

impl Tree {
    /// The tree of a program.
    pub fn from_ast(ast: &Ast) -> Self {
        Tree {
            items: ast
                .items
                .iter()
                .map(|item| item_from_ast(ast, item))
                .collect(),
        }
    }

    /// The program, with its arenas in the parser's order.
    pub fn to_ast(&self) -> Ast {
        let mut ast = Ast::default();
        let items = self.items.iter().map(|item| write_item(item, &mut ast));
        ast.items = items.collect();
        ast
    }

    /// Every procedure, those of thread sections too.
    pub fn procs(&self) -> Vec<&Proc> {
        fn collect<'a>(items: &'a [TopLevel], out: &mut Vec<&'a Proc>) {
            for item in items {
                match item {
                    TopLevel::Decl(..) => {}
                    TopLevel::Proc(proc) => out.push(proc),
                    TopLevel::Thread(_, inner) => collect(inner, out),
                }
            }
        }
        let mut out = Vec::new();
        collect(&self.items, &mut out);
        out
    }
}

fn item_from_ast(ast: &Ast, item: &Item) -> TopLevel {
    match item {
        Item::Decl(decl) => TopLevel::Decl(strings(&decl.names), decl.ty),
        Item::Function(function) => TopLevel::Proc(Proc {
            dfs: function.dfs,
            results: function.results.clone(),
            name: function.name.text.to_string(),
            params: function
                .params
                .iter()
                .map(|(name, ty)| (name.text.to_string(), *ty))
                .collect(),
            body: stms_from_ast(ast, &function.body),
        }),
        Item::Thread(name, items) => TopLevel::Thread(
            name.text.to_string(),
            items.iter().map(|item| item_from_ast(ast, item)).collect(),
        ),
    }
}

fn write_item(item: &TopLevel, ast: &mut Ast) -> Item {
    match item {
        TopLevel::Decl(vars, ty) => Item::Decl(decl(vars, *ty)),
        TopLevel::Proc(proc) => Item::Function(Function {
            dfs: proc.dfs,
            results: proc.results.clone(),
            name: Name::new(&proc.name),
            params: proc
                .params
                .iter()
                .map(|(name, ty)| (Name::new(name), *ty))
                .collect(),
            body: write_block(&proc.body, ast),
            end: EndSpan::default(),
        }),
        TopLevel::Thread(name, items) => Item::Thread(
            Name::new(name),
            items.iter().map(|item| write_item(item, ast)).collect(),
        ),
    }
}

fn stms_from_ast(ast: &Ast, ids: &[StmtId]) -> Vec<Stm> {
    ids.iter().map(|&id| Stm::from_ast(ast, id)).collect()
}

fn write_block(block: &[Stm], ast: &mut Ast) -> Block {
    block.iter().map(|stm| stm.write(ast)).collect()
}

fn write_all(exps: &[Exp], ast: &mut Ast) -> Vec<ExprId> {
    exps.iter().map(|e| e.write(ast)).collect()
}

fn strings(names: &[Name]) -> Vec<String> {
    names.iter().map(|name| name.text.to_string()).collect()
}

fn names(strings: &[String]) -> Vec<Name> {
    strings.iter().map(|text| Name::new(text)).collect()
}

fn decl(vars: &[String], ty: Type) -> Decl {
    Decl {
        names: names(vars),
        ty,
    }
}

fn options(targets: &[Target]) -> Vec<Option<String>> {
    let option = |target: &Target| match target {
        Target::Var(name) => Some(name.text.to_string()),
        Target::Discard(_) => None,
    };
    targets.iter().map(option).collect()
}

fn to_targets(options: &[Option<String>]) -> Vec<Target> {
    let target = |option: &Option<String>| match option {
        Some(name) => Target::Var(Name::new(name)),
        None => Target::Discard(EndSpan::default()),
    };
    options.iter().map(target).collect()
}
