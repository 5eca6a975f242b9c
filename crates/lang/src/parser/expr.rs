//! Expressions, by operator precedence with explicit stacks.
//!
//! Operands wait on one stack; operators, prefixes and open brackets on another. Whenever the next
//! operator binds less tightly than the waiting one, the waiting one is applied. Since that is the
//! only decision, it is also the only place where dialects can differ: up to the first operator for
//! which their tables decide differently both build the same stacks, and from there on the trees
//! certainly differ. So comparing the two decisions at each step finds exactly the expressions that
//! are read differently, at almost no cost; `readings` warns about them.
//!
//! Operands are added to the tree before their operator and from left to right: the arena holds
//! each expression in postorder, and equal expressions give equal arenas.

use super::{Dialect, Fail, Parse, Parser};
use crate::ast::{BinaryOp, ExprId, ExprKind, Name, UnaryOp};
use crate::lexer::TokenKind;
use crate::precedence::left_first;
use droste_source::Span;
use droste_source::diagnostics::Diagnostic;

/// The stacks, kept from one expression to the next for their memory.
#[derive(Default)]
pub(super) struct Stacks {
    waiting: Vec<Waiting>,
    operands: Vec<Operand>,
    ambiguity: Option<Ambiguity>,
}

#[derive(Clone, Copy)]
enum Waiting {
    /// A prefix operator and where it stands.
    Unary(UnaryOp, Span),
    Binary(BinaryOp),
    /// `(`
    Paren(Span),
    /// `schoose [`, and whether the comma has been seen.
    Schoose {
        word: Span,
        comma: bool,
    },
}

#[derive(Clone, Copy)]
struct Operand {
    id: ExprId,
    /// With the parentheses around it.
    outer: Span,
}

/// The first two neighbouring operators that the dialects apply in a different order.
#[derive(Clone, Copy)]
pub(super) struct Ambiguity {
    pub(super) first: BinaryOp,
    pub(super) second: BinaryOp,
}

impl Parser<'_> {
    /// An expression up to the first token that cannot continue it.
    pub(super) fn expression(&mut self) -> Parse<ExprId> {
        let mark = self.ast.exprs.len();
        let start = self.pos;
        let result = self.operators_and_operands();
        match result {
            Err(_) => self.ast.exprs.truncate(mark),
            Ok(root) => {
                if let Some(ambiguity) = self.expr.ambiguity.take() {
                    self.read_differently(ambiguity, root, mark, start);
                }
            }
        }
        result
    }

    /// An expression, or something in its place if there was an error.
    pub(super) fn expression_or_placeholder(&mut self) -> (ExprId, Parse<()>) {
        match self.expression() {
            Ok(id) => (id, Ok(())),
            Err(fail) => {
                let span = self.span();
                (self.ast.add_expr(ExprKind::Nondet, span), Err(fail))
            }
        }
    }

    /// One or more expressions with commas between them.
    pub(super) fn expressions(&mut self) -> Parse<Vec<ExprId>> {
        let mut list = vec![self.expression()?];
        while self.eat(TokenKind::Comma).is_some() {
            list.push(self.expression()?);
        }
        Ok(list)
    }

    pub(super) fn operators_and_operands(&mut self) -> Parse<ExprId> {
        self.expr.waiting.clear();
        self.expr.operands.clear();
        self.expr.ambiguity = None;
        loop {
            self.operand()?;
            // After an operand: close brackets, then go on with an operator or be done.
            loop {
                self.apply_unary();
                if let Some(op) = binary_operator(self.kind()) {
                    self.apply_before(op);
                    self.bump();
                    break;
                }
                while let Some(&Waiting::Binary(op)) = self.expr.waiting.last() {
                    self.expr.waiting.pop();
                    self.apply_binary(op);
                }
                match (self.expr.waiting.last_mut(), self.tokens[self.pos].kind) {
                    (None, _) => return self.only_operand(),
                    (Some(&mut Waiting::Paren(open)), TokenKind::RParen) => {
                        self.expr.waiting.pop();
                        let close = self.bump();
                        if let Some(operand) = self.expr.operands.last_mut() {
                            operand.outer = open.to(close);
                        }
                    }
                    (Some(Waiting::Schoose { comma, .. }), TokenKind::Comma) if !*comma => {
                        *comma = true;
                        self.bump();
                        break;
                    }
                    (Some(&mut Waiting::Schoose { word, comma: true }), TokenKind::RBracket) => {
                        self.expr.waiting.pop();
                        let span = word.to(self.bump());
                        self.apply_schoose(span);
                    }
                    (Some(&mut waiting), _) => return Err(self.unclosed(waiting)),
                }
            }
        }
    }

    fn only_operand(&mut self) -> Parse<ExprId> {
        match self.expr.operands.pop() {
            Some(operand) => Ok(operand.id),
            // Not reachable: an operand was read before every operator.
            None => Err(self.unexpected("an expression")),
        }
    }

    /// Prefixes and opening brackets, then one operand without structure.
    fn operand(&mut self) -> Parse<()> {
        loop {
            let waiting = match self.kind() {
                TokenKind::Not => Waiting::Unary(UnaryOp::Not, self.span()),
                TokenKind::Minus => Waiting::Unary(UnaryOp::Neg, self.span()),
                TokenKind::LParen => Waiting::Paren(self.span()),
                TokenKind::Ident
                    if self.peek(1) == TokenKind::LBracket && self.at_word("schoose") =>
                {
                    let word = self.bump();
                    Waiting::Schoose { word, comma: false }
                }
                _ => break,
            };
            self.bump();
            self.expr.waiting.push(waiting);
        }
        let start = self.span();
        let kind = match self.kind() {
            TokenKind::True => ExprKind::Bool(true),
            TokenKind::False => ExprKind::Bool(false),
            TokenKind::Star | TokenKind::Question => ExprKind::Nondet,
            TokenKind::Number => ExprKind::Int(self.literal()),
            TokenKind::Quote => {
                self.bump();
                let name = self.name("the name of a variable after `'`")?;
                self.push_operand(ExprKind::Next(name.clone()), start.to(name.span));
                return Ok(());
            }
            TokenKind::Ident | TokenKind::Escaped if self.slice() != "_" => {
                let kind = self.name_operand()?;
                let span = Span::new(start.start, self.previous_end());
                self.push_operand(kind, span);
                return Ok(());
            }
            _ => return Err(self.no_operand()),
        };
        self.bump();
        self.push_operand(kind, start);
        Ok(())
    }

    /// The value of the number that comes next; too large a one is reported.
    fn literal(&mut self) -> i128 {
        let value = self.slice().parse::<i128>().ok();
        if let Some(value) = value.filter(|&v| v <= i128::from(u64::MAX)) {
            return value;
        }
        let diagnostic = Diagnostic::error(self.span(), "this number is too large")
            .help(format!("the greatest literal is 2^64-1 = {}", u64::MAX));
        self.report(diagnostic);
        0
    }

    /// What a name stands for at the beginning of an operand.
    fn name_operand(&mut self) -> Parse<ExprKind> {
        let next = self.peek(1);
        if self.property {
            let word = self.slice();
            if word == "terminated" && next != TokenKind::ColonColon {
                self.bump();
                return Ok(ExprKind::Terminated);
            }
            if next == TokenKind::LParen && matches!(word, "at" | "in" | "var") {
                return self.control_operand(word);
            }
        }
        if next == TokenKind::LParen {
            return Err(self.call_in_expression());
        }
        let name = self.name("a name")?;
        if self.kind() != TokenKind::ColonColon {
            return Ok(ExprKind::Var(name));
        }
        if !self.property {
            let diagnostic = Diagnostic::error(
                name.span.to(self.span()),
                "a variable of another procedure cannot be used in a program",
            )
            .help("`proc::x` is for properties; share the value in a global variable instead");
            return Err(self.report(diagnostic));
        }
        let mut path = self.path(name)?;
        let variable = path.pop().unwrap_or_else(|| Name::new(""));
        Ok(ExprKind::Qualified(joined(&path), variable))
    }

    /// `at(L)`, `at(proc:L)`, `in(proc)`, `var(x)`.
    fn control_operand(&mut self, word: &str) -> Parse<ExprKind> {
        self.bump();
        let open = self.bump();
        let kind = match word {
            "var" => {
                let name = self.name("the name of a variable")?;
                let nobody = Name {
                    text: "".into(),
                    span: name.span,
                };
                ExprKind::Qualified(nobody, name)
            }
            "in" => ExprKind::In(self.procedure_path("the name of a procedure")?),
            // A number can only be a label.
            _ if self.peek(1) == TokenKind::RParen => ExprKind::At(None, self.label("a label")?),
            _ => {
                let procedure = self.procedure_path("a label or the name of a procedure")?;
                self.expect(TokenKind::Colon, "`)` or `:` and a label")?;
                ExprKind::At(Some(procedure), self.label("a label")?)
            }
        };
        if self.eat(TokenKind::RParen).is_none() {
            let diagnostic = self.expected("`)`").also(open, "opened here");
            return Err(self.report(diagnostic));
        }
        Ok(kind)
    }

    /// `proc`, or `thread::proc` as one name.
    fn procedure_path(&mut self, expected: &str) -> Parse<Name> {
        let first = self.name(expected)?;
        Ok(joined(&self.path(first)?))
    }

    /// The rest of `a::b::c` after `a`.
    fn path(&mut self, first: Name) -> Parse<Vec<Name>> {
        let mut path = vec![first];
        while self.eat(TokenKind::ColonColon).is_some() {
            path.push(self.name("a name after `::`")?);
        }
        Ok(path)
    }

    fn push_operand(&mut self, kind: ExprKind, span: Span) {
        let id = self.ast.add_expr(kind, span);
        self.expr.operands.push(Operand { id, outer: span });
    }

    // Applying operators to the operands on the stack.

    /// Applies the prefixes of the last operand: nothing binds more tightly.
    fn apply_unary(&mut self) {
        while let Some(&Waiting::Unary(op, at)) = self.expr.waiting.last() {
            self.expr.waiting.pop();
            if let Some(operand) = self.expr.operands.pop() {
                self.push_operand(ExprKind::Unary(op, operand.id), at.to(operand.outer));
            }
        }
    }

    fn apply_binary(&mut self, op: BinaryOp) {
        if let (Some(right), Some(left)) = (self.expr.operands.pop(), self.expr.operands.pop()) {
            let span = left.outer.to(right.outer);
            self.push_operand(ExprKind::Binary(op, left.id, right.id), span);
        }
    }

    fn apply_schoose(&mut self, span: Span) {
        if let (Some(right), Some(left)) = (self.expr.operands.pop(), self.expr.operands.pop()) {
            self.push_operand(ExprKind::Schoose(left.id, right.id), span);
        }
    }

    /// Applies the waiting operators that come before `op`, then lets `op` wait.
    fn apply_before(&mut self, op: BinaryOp) {
        while let Some(&Waiting::Binary(waiting)) = self.expr.waiting.last() {
            let apply = left_first(self.dialect, waiting, op);
            if self.dialect == Dialect::Union
                && self.expr.ambiguity.is_none()
                && apply != left_first(Dialect::Satabs, waiting, op)
            {
                self.expr.ambiguity = Some(Ambiguity {
                    first: waiting,
                    second: op,
                });
            }
            if !apply {
                break;
            }
            self.expr.waiting.pop();
            self.apply_binary(waiting);
        }
        self.expr.waiting.push(Waiting::Binary(op));
    }

    // Errors.

    fn no_operand(&mut self) -> Fail {
        let diagnostic = self.expected_operand("an expression");
        let before = self.pos.checked_sub(1).map(|i| self.tokens[i].kind);
        let diagnostic = match (before, self.kind()) {
            (Some(TokenKind::Minus), TokenKind::Gt) => diagnostic.help("implication is `=>`"),
            (Some(TokenKind::Le), TokenKind::Gt) => diagnostic.help("equivalence is `=`"),
            (Some(TokenKind::Eq), TokenKind::Lt | TokenKind::Gt) => {
                diagnostic.help("comparisons are `<=` and `>=`")
            }
            (_, TokenKind::RParen) => diagnostic.help("something is missing before `)`"),
            (_, kind) if binary_operator(kind).is_some() => {
                diagnostic.help(format!("`{}` needs an operand on each side", self.slice()))
            }
            _ => diagnostic,
        };
        self.report(diagnostic)
    }

    /// An error for a call where only an expression may stand.
    pub(super) fn call_in_expression(&mut self) -> Fail {
        let diagnostic = Diagnostic::error(
            self.span(),
            format!("the call of {} is part of an expression", self.found()),
        )
        .label("not a statement of its own")
        .help("a call is a statement: `x := f(…);` first, then use `x`");
        let diagnostic = if matches!(self.slice(), "at" | "in") {
            diagnostic.help("`at(…)` and `in(…)` are for properties, not for programs")
        } else {
            diagnostic
        };
        self.report(diagnostic)
    }

    fn unclosed(&mut self, waiting: Waiting) -> Fail {
        let (open, expected) = match waiting {
            Waiting::Schoose { word, comma: false } => (word, "an operator or `,`"),
            Waiting::Schoose { word, comma: true } => (word, "an operator or `]`"),
            Waiting::Paren(span) => (span, "an operator or `)`"),
            Waiting::Unary(_, span) => (span, "an operator"),
            Waiting::Binary(_) => (self.span(), "an operator"),
        };
        let diagnostic = self.expected(expected).also(open, "opened here");
        let diagnostic = match self.kind() {
            TokenKind::Assign => {
                diagnostic.help("`:=` assigns and is a statement; to compare, write `=`")
            }
            TokenKind::Comma if matches!(waiting, Waiting::Paren(_)) => {
                diagnostic.help("a list has no parentheses around it: `return a, b;`")
            }
            TokenKind::Question => {
                diagnostic.help("there is no `a ? b : c`; write `if … then … else … fi`")
            }
            _ => diagnostic,
        };
        self.report(diagnostic)
    }
}

/// The names with `::` between them, as one name.
fn joined(path: &[Name]) -> Name {
    if let [name] = path {
        return name.clone();
    }
    let text: Vec<&str> = path.iter().map(|name| &*name.text).collect();
    let spans = path.iter().map(|name| name.span);
    Name {
        // `::` may have spaces around it, so the source text will not do.
        text: text.join("::").into(),
        span: spans.reduce(Span::to).unwrap_or_default(),
    }
}

/// The operator that a token is after an operand.
pub(super) fn binary_operator(kind: TokenKind) -> Option<BinaryOp> {
    Some(match kind {
        TokenKind::Implies => BinaryOp::Implies,
        TokenKind::Or => BinaryOp::Or,
        TokenKind::Xor => BinaryOp::Xor,
        TokenKind::And => BinaryOp::And,
        TokenKind::Eq => BinaryOp::Eq,
        TokenKind::Ne => BinaryOp::Ne,
        TokenKind::Lt => BinaryOp::Lt,
        TokenKind::Le => BinaryOp::Le,
        TokenKind::Gt => BinaryOp::Gt,
        TokenKind::Ge => BinaryOp::Ge,
        TokenKind::Shl => BinaryOp::Shl,
        TokenKind::Shr => BinaryOp::Shr,
        TokenKind::Plus => BinaryOp::Add,
        TokenKind::Minus => BinaryOp::Sub,
        TokenKind::Star => BinaryOp::Mul,
        TokenKind::Slash => BinaryOp::Div,
        TokenKind::Percent => BinaryOp::Rem,
        _ => return None,
    })
}
