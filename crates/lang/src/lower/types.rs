//! Types of expressions, and their translation.
//!
//! There are two kinds of values, Booleans and integers; `0` and `1` are either, and so is
//! what `! & | ^` make of them. Three passes over one expression in postorder, each a
//! loop, so that a chain of a million operators needs no native stack:
//!
//! 1. upwards: the kind of each subexpression as far as its operands tell;
//! 2. downwards: what the context expects settles the undecided ones; a disagreement is reported
//!    where it is found;
//! 3. upwards: typed operators, and the [`Interval`] of every integer that 128 bits are sure to
//!    hold; what may need more is refused where its exact value matters.
//!
//! An undecided expression in an undecided place (`0 = 1`) is Boolean.

use crate::ast::{Ast, BinaryOp, Expr as AstExpr, ExprId, ExprKind, Type, UnaryOp};
use droste_program::interval::Interval;
use droste_program::{Expr, ExprNode, Operator};
use droste_source::Span;
use droste_source::diagnostics::{Diagnostic, DiagnosticKind};

use super::sink::Sink;

/// What the place of an expression asks of it.
#[derive(Clone, Copy)]
pub(crate) enum Role<'a> {
    /// A Boolean: the condition of this statement.
    Condition(&'a str),
    /// Stored into a place.
    Stored(StoreTarget<'a>),
    /// Used by nothing (`_ := e`, `print e`).
    Free,
}

/// Something that values are stored into: a variable, a parameter, a result.
#[derive(Clone, Copy)]
pub(crate) struct StoreTarget<'a> {
    pub(crate) ty: Type,
    /// As in "*variable* `x` has type …".
    pub(crate) what: &'a str,
    pub(crate) name: &'a str,
    pub(crate) declared: Span,
}

impl StoreTarget<'_> {
    pub(crate) fn describe(self) -> String {
        format!("{} `{}` has type `{}`", self.what, self.name, self.ty)
    }
}

impl Role<'_> {
    fn wants(self) -> Want {
        match self {
            Role::Condition(_) => Want::Bool,
            Role::Stored(place) if place.ty.is_bool() => Want::Bool,
            Role::Stored(_) => Want::Int,
            Role::Free => Want::Any,
        }
    }
}

/// Gives names their meaning.
pub(crate) trait Leaves {
    /// What `expr` (a variable, `'x`, or a form of properties) stands for and its type; `None`
    /// if an error has been reported.
    fn leaf(&mut self, expr: &AstExpr, sink: &mut Sink) -> Option<(ExprNode, Type)>;

    /// Whether `*` may be used, and whether an evaluation may fail: in programs, not in
    /// properties.
    fn in_program(&self) -> bool;
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Bool,
    Int,
    /// Made of literals 0 and 1 alone.
    Either,
    /// An error has been reported.
    Unknown,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Want {
    Bool,
    Int,
    Any,
}

/// A subexpression; operands are indices of earlier ones.
struct Part {
    id: ExprId,
    left: u32,
    right: u32,
    kind: Kind,
    want: Want,
    leaf: Option<(ExprNode, Type)>,
}

/// Translates `root`; `None` if it is wrong, which has been reported then.
pub(crate) fn translate(
    ast: &Ast,
    root: ExprId,
    role: Role<'_>,
    leaves: &mut dyn Leaves,
    sink: &mut Sink,
) -> Option<Expr> {
    if let (ExprKind::Nondet, Role::Stored(place)) = (&ast.expr(root).kind, role)
        && leaves.in_program()
    {
        return Some(Expr {
            nodes: vec![ExprNode::Nondet(place.ty)],
        });
    }
    let mut typing = Typing {
        ast,
        leaves,
        sink,
        ok: true,
        role,
        parts: postorder(ast, root),
    };
    typing.synthesize();
    typing.settle();
    if !typing.ok {
        return None;
    }
    let (expr, interval) = typing.emit();
    if let Role::Stored(place) = role {
        typing.check_store(root, interval, place);
    }
    typing.ok.then_some(expr)
}

/// The subexpressions of `root`, operands before operators, left before right.
fn postorder(ast: &Ast, root: ExprId) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    let mut operands: Vec<u32> = Vec::new();
    let mut agenda = vec![(root, false)];
    while let Some((id, operands_done)) = agenda.pop() {
        let (first, second) = match ast.expr(id).kind {
            ExprKind::Unary(_, a) => (Some(a), None),
            ExprKind::Binary(_, a, b) | ExprKind::Schoose(a, b) => (Some(a), Some(b)),
            _ => (None, None),
        };
        if !operands_done && first.is_some() {
            agenda.push((id, true));
            agenda.extend(second.map(|b| (b, false)));
            agenda.extend(first.map(|a| (a, false)));
            continue;
        }
        let right = second.and_then(|_| operands.pop()).unwrap_or(0);
        let left = first.and_then(|_| operands.pop()).unwrap_or(0);
        operands.push(parts.len() as u32);
        parts.push(Part {
            id,
            left,
            right,
            kind: Kind::Unknown,
            want: Want::Any,
            leaf: None,
        });
    }
    parts
}

struct Typing<'a, 'b> {
    ast: &'a Ast,
    leaves: &'b mut dyn Leaves,
    sink: &'b mut Sink,
    ok: bool,
    role: Role<'b>,
    parts: Vec<Part>,
}

impl<'a> Typing<'a, '_> {
    fn expr(&self, part: usize) -> &'a AstExpr {
        self.ast.expr(self.parts[part].id)
    }

    fn fail(&mut self, diagnostic: Diagnostic) {
        self.ok = false;
        self.sink.push(diagnostic);
    }

    /// First pass: kinds from the operands.
    fn synthesize(&mut self) {
        for i in 0..self.parts.len() {
            let expr = self.expr(i);
            let left = self.parts[i].left as usize;
            let right = self.parts[i].right as usize;
            let kind = match &expr.kind {
                ExprKind::Bool(_) | ExprKind::Schoose(..) => Kind::Bool,
                ExprKind::Int(0 | 1) => Kind::Either,
                ExprKind::Int(_) | ExprKind::Unary(UnaryOp::Neg, _) => Kind::Int,
                ExprKind::Nondet => {
                    if !self.leaves.in_program() {
                        self.fail(
                            Diagnostic::error(expr.span, "`*` cannot be used in a property")
                                .label("a property is true or false, not either")
                                .help("name a variable to which the program assigns `*`"),
                        );
                    }
                    Kind::Bool
                }
                ExprKind::Var(_)
                | ExprKind::Next(_)
                | ExprKind::Qualified(..)
                | ExprKind::At(..)
                | ExprKind::In(_)
                | ExprKind::Terminated => {
                    let leaf = self.leaves.leaf(expr, self.sink);
                    let kind = match &leaf {
                        None => Kind::Unknown,
                        Some((_, Type::Bool)) => Kind::Bool,
                        Some(_) => Kind::Int,
                    };
                    self.ok &= leaf.is_some();
                    self.parts[i].leaf = leaf;
                    kind
                }
                ExprKind::Unary(UnaryOp::Not, _) => self.parts[left].kind,
                ExprKind::Binary(op, ..) => match op {
                    BinaryOp::And | BinaryOp::Or | BinaryOp::Xor => self.join(i, *op, left, right),
                    BinaryOp::Eq | BinaryOp::Ne => {
                        self.join(i, *op, left, right);
                        Kind::Bool
                    }
                    BinaryOp::Implies
                    | BinaryOp::Lt
                    | BinaryOp::Le
                    | BinaryOp::Gt
                    | BinaryOp::Ge => Kind::Bool,
                    BinaryOp::Add
                    | BinaryOp::Sub
                    | BinaryOp::Mul
                    | BinaryOp::Div
                    | BinaryOp::Rem
                    | BinaryOp::Shl
                    | BinaryOp::Shr => Kind::Int,
                },
            };
            self.parts[i].kind = kind;
        }
    }

    /// The common kind of two operands.
    fn join(&mut self, at: usize, op: BinaryOp, left: usize, right: usize) -> Kind {
        match (self.parts[left].kind, self.parts[right].kind) {
            (Kind::Unknown, _) | (_, Kind::Unknown) => Kind::Unknown,
            (Kind::Either, kind) | (kind, Kind::Either) => kind,
            (a, b) if a == b => a,
            (a, _) => {
                let boolean = if a == Kind::Bool { left } else { right };
                let integer = if a == Kind::Bool { right } else { left };
                if matches!(self.expr(boolean).kind, ExprKind::Nondet) {
                    self.star_as_integer(boolean);
                } else {
                    let diagnostic = Diagnostic::error(
                        self.expr(at).span,
                        format!(
                            "`{}` cannot be used between a Boolean and an integer",
                            op.symbol()
                        ),
                    )
                    .also(self.expr(boolean).span, "a Boolean")
                    .also(self.expr(integer).span, "an integer")
                    .help("compare the integer with a number (`… != 0`) to get a Boolean");
                    self.fail(diagnostic);
                }
                Kind::Unknown
            }
        }
    }

    fn star_as_integer(&mut self, part: usize) {
        let diagnostic = Diagnostic::error(
            self.expr(part).span,
            "`*` is a Boolean inside an expression, but an integer is needed here",
        )
        .label("which integers could it be?")
        .help("assign it to a variable first: as a whole right-hand side, `*` is any value of the variable's type");
        self.fail(diagnostic);
    }

    /// Second pass: what each place wants, from the root to the operands.
    fn settle(&mut self) {
        let last = self.parts.len() - 1;
        self.parts[last].want = self.role.wants();
        for i in (0..=last).rev() {
            let want = self.parts[i].want;
            let kind = match (self.parts[i].kind, want) {
                (Kind::Either, Want::Int) => Kind::Int,
                (Kind::Either, _) => Kind::Bool,
                (Kind::Bool, Want::Int) => {
                    self.mismatch(i);
                    Kind::Bool
                }
                (Kind::Int, Want::Bool) => {
                    self.mismatch(i);
                    Kind::Int
                }
                (kind, _) => kind,
            };
            self.parts[i].kind = kind;
            let own = match kind {
                Kind::Bool => Want::Bool,
                Kind::Int => Want::Int,
                _ => Want::Any,
            };
            let (left, right) = (self.parts[i].left as usize, self.parts[i].right as usize);
            let operands = match self.expr(i).kind {
                ExprKind::Unary(UnaryOp::Not, _) => {
                    self.parts[left].want = own;
                    continue;
                }
                ExprKind::Unary(UnaryOp::Neg, _) => {
                    self.parts[left].want = Want::Int;
                    continue;
                }
                ExprKind::Schoose(..) | ExprKind::Binary(BinaryOp::Implies, ..) => Want::Bool,
                ExprKind::Binary(BinaryOp::And | BinaryOp::Or | BinaryOp::Xor, ..) => own,
                ExprKind::Binary(BinaryOp::Eq | BinaryOp::Ne, ..) => {
                    match (self.parts[left].kind, self.parts[right].kind) {
                        // Two different ones have been reported.
                        (Kind::Unknown, _)
                        | (_, Kind::Unknown)
                        | (Kind::Bool, Kind::Int)
                        | (Kind::Int, Kind::Bool) => Want::Any,
                        (Kind::Int, _) | (_, Kind::Int) => Want::Int,
                        _ => Want::Bool,
                    }
                }
                ExprKind::Binary(..) => Want::Int,
                _ => continue,
            };
            self.parts[left].want = operands;
            self.parts[right].want = operands;
        }
    }

    /// Part `i` is of the wrong kind for its place.
    fn mismatch(&mut self, i: usize) {
        let expr = self.expr(i);
        let is_root = i + 1 == self.parts.len();
        let boolean = self.parts[i].kind == Kind::Bool;
        if boolean && matches!(expr.kind, ExprKind::Nondet) {
            return self.star_as_integer(i);
        }
        let (found, wanted) = if boolean {
            ("a Boolean", "an integer")
        } else {
            ("an integer", "a Boolean")
        };
        let mut diagnostic =
            Diagnostic::error(expr.span, format!("{wanted} is expected here, not {found}"))
                .label(format!("this is {found}"));
        if is_root {
            match self.role {
                Role::Condition(what) => {
                    diagnostic = diagnostic.help(format!("{what} must be a Boolean"));
                }
                Role::Stored(place) => {
                    diagnostic = diagnostic.also(place.declared, place.describe());
                }
                Role::Free => {}
            }
        }
        diagnostic = diagnostic.help(match &expr.kind {
            ExprKind::Var(name) if boolean => format!(
                "give `{0}` a type where it is declared, for example `{0} : u8`; each parameter \
                 has a type of its own",
                name.text
            ),
            _ if boolean => {
                "a Boolean is not a number; choose one with `if … then … else … fi`".into()
            }
            _ => "compare it with a number to get a Boolean, for example `… != 0`".into(),
        });
        self.fail(diagnostic);
    }

    /// Third pass: typed operators and intervals.
    fn emit(&mut self) -> (Expr, Option<Interval>) {
        let mut nodes = Vec::with_capacity(self.parts.len());
        let mut intervals: Vec<Option<Interval>> = Vec::with_capacity(self.parts.len());
        for i in 0..self.parts.len() {
            let expr = self.expr(i);
            let (left, right) = (self.parts[i].left, self.parts[i].right);
            let integer = self.parts[i].kind == Kind::Int;
            let mut interval = Some(Interval::BOOL);
            let node = match &expr.kind {
                ExprKind::Bool(value) => ExprNode::Const(i128::from(*value)),
                ExprKind::Int(value) => {
                    interval = Some(Interval::constant(*value));
                    ExprNode::Const(*value)
                }
                ExprKind::Nondet => ExprNode::Nondet(Type::Bool),
                ExprKind::Unary(UnaryOp::Not, _) if integer => {
                    interval = intervals[left as usize].map(Interval::bit_not);
                    ExprNode::BitNot(left)
                }
                ExprKind::Unary(UnaryOp::Not, _) => ExprNode::Not(left),
                ExprKind::Unary(UnaryOp::Neg, _) => {
                    interval = intervals[left as usize].and_then(Interval::negated);
                    ExprNode::Neg(left)
                }
                ExprKind::Schoose(..) => ExprNode::Schoose(left, right),
                ExprKind::Binary(op, ..) => {
                    let on_integers = self.parts[left as usize].kind == Kind::Int;
                    let typed = operator(*op, on_integers);
                    if on_integers {
                        let (a, b) = (intervals[left as usize], intervals[right as usize]);
                        self.check_operands(i, *op, a, b);
                        if integer {
                            interval = Interval::apply_known(typed, a, b);
                        }
                    }
                    ExprNode::Binary(typed, left, right)
                }
                ExprKind::Var(_)
                | ExprKind::Next(_)
                | ExprKind::Qualified(..)
                | ExprKind::At(..)
                | ExprKind::In(_)
                | ExprKind::Terminated => match self.parts[i].leaf.take() {
                    Some((node, ty)) => {
                        interval = Some(Interval::of(ty));
                        node
                    }
                    // Not reached: an unresolved name has been reported.
                    None => ExprNode::Const(0),
                },
            };
            nodes.push(node);
            intervals.push(interval);
        }
        let interval = intervals[intervals.len() - 1];
        (Expr { nodes }, interval)
    }

    /// Refuses operands that are not exact where that matters and, in properties, operators
    /// that may fail.
    fn check_operands(
        &mut self,
        at: usize,
        op: BinaryOp,
        a: Option<Interval>,
        b: Option<Interval>,
    ) {
        let (left_exact, right_exact) = match op {
            BinaryOp::Add
            | BinaryOp::Sub
            | BinaryOp::Mul
            | BinaryOp::And
            | BinaryOp::Or
            | BinaryOp::Xor => (true, true),
            BinaryOp::Shl => (true, b.is_some()),
            _ => (a.is_some(), b.is_some()),
        };
        let (left, right) = (self.parts[at].left, self.parts[at].right);
        for (exact, operand) in [(left_exact, left), (right_exact, right)] {
            if !exact {
                self.too_wide(
                    operand as usize,
                    &format!("`{}` needs its exact value", op.symbol()),
                );
            }
        }
        let (Some(_), Some(b), false) = (a, b, self.leaves.in_program()) else {
            return;
        };
        let (trouble, kind) = match op {
            BinaryOp::Div | BinaryOp::Rem if b.contains(0) => {
                ("this divisor may be zero", DiagnosticKind::MayDivideByZero)
            }
            BinaryOp::Shl | BinaryOp::Shr if b.is_signed() => {
                ("this distance may be negative", DiagnosticKind::Other)
            }
            _ => return,
        };
        let diagnostic = Diagnostic::error(self.expr(right as usize).span, trouble)
            .kind(kind)
            .label("and a property must have a value in every configuration")
            .help("compute it in the program, or compare without dividing");
        self.fail(diagnostic);
    }

    fn too_wide(&mut self, part: usize, why: &str) {
        let diagnostic = Diagnostic::error(
            self.expr(part).span,
            "this value may need more than 127 bits here",
        )
        .label(why)
        .help("store a part of it in a variable first: every variable has at most 64 bits");
        self.fail(diagnostic);
    }

    /// A whole right-hand side, argument or result against the type of its place.
    fn check_store(&mut self, root: ExprId, interval: Option<Interval>, place: StoreTarget<'_>) {
        let expr = self.ast.expr(root);
        let ty = place.ty;
        match ty {
            Type::Bool => {}
            Type::Range { lo, hi } => match interval {
                None => self.too_wide(
                    self.parts.len() - 1,
                    &format!("`{ty}` is compared with its exact value"),
                ),
                Some(interval) if interval.hi < lo || interval.lo > hi => {
                    let values = match interval.as_constant() {
                        Some(value) => format!("{value} is"),
                        None => format!("{} to {} are", interval.lo, interval.hi),
                    };
                    self.sink.push(
                        Diagnostic::warning(
                            expr.span,
                            "executing this is always a violation: the value is out of range",
                        )
                        .label(format!("{values} outside `{ty}`"))
                        .also(place.declared, place.describe()),
                    );
                }
                Some(_) => {}
            },
            Type::Bits { .. } => {
                let literal = match expr.kind {
                    ExprKind::Int(value) => Some(value),
                    ExprKind::Unary(UnaryOp::Neg, operand) => match self.ast.expr(operand).kind {
                        ExprKind::Int(value) => value.checked_neg(),
                        _ => None,
                    },
                    _ => None,
                };
                if let Some(value) = literal
                    && let Some(wrapped) = ty.convert(value)
                    && wrapped != value
                {
                    self.sink.push(
                        Diagnostic::warning(
                            expr.span,
                            format!("{value} does not fit `{ty}` and wraps to {wrapped}"),
                        )
                        .also(place.declared, place.describe())
                        .help(format!(
                            "`{ty}` holds {} to {}",
                            ty.lo(),
                            ty.hi()
                        )),
                    );
                }
            }
        }
    }
}

fn operator(op: BinaryOp, integers: bool) -> Operator {
    match op {
        BinaryOp::Implies => Operator::Implies,
        BinaryOp::Or if integers => Operator::BitOr,
        BinaryOp::Or => Operator::Or,
        BinaryOp::Xor if integers => Operator::BitXor,
        BinaryOp::Xor => Operator::Xor,
        BinaryOp::And if integers => Operator::BitAnd,
        BinaryOp::And => Operator::And,
        BinaryOp::Eq => Operator::Eq,
        BinaryOp::Ne => Operator::Ne,
        BinaryOp::Lt => Operator::Lt,
        BinaryOp::Le => Operator::Le,
        BinaryOp::Gt => Operator::Gt,
        BinaryOp::Ge => Operator::Ge,
        BinaryOp::Shl => Operator::Shl,
        BinaryOp::Shr => Operator::Shr,
        BinaryOp::Add => Operator::Add,
        BinaryOp::Sub => Operator::Sub,
        BinaryOp::Mul => Operator::Mul,
        BinaryOp::Div => Operator::Div,
        BinaryOp::Rem => Operator::Rem,
    }
}
