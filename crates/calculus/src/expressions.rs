//! Expressions: an operator-precedence parser with a stack of its own, so that depth costs memory
//! and nothing else.
//!
//! From loose to tight: `if`; quantifiers; the arrows, of which there is at most one per level;
//! `|`; `&`; `!`; `=` and `!=`; `assume` and `cofactor`; attributes in braces. MUCKE allows a
//! quantifier or an `if` only where an expression begins; here they may be any right operand, and
//! reach as far to the right as they can.

#![allow(
    clippy::unnecessary_box_returns,
    reason = "errors are boxed where they are made: they are passed up through many small results"
)]

use droste_source::Span;
use droste_source::diagnostics::Diagnostic;

use crate::parser::{Parsed, Parser};
use crate::syntax::{Arrow, Expr, ExprId, List, Step};
use crate::token::Kind;

/// What waits for an operand, or for a bracket to be closed.
enum Frame {
    Paren(Span),
    Not(Span),
    And(Vec<ExprId>),
    Or(Vec<ExprId>),
    Arrow(Arrow, ExprId),
    Compare(bool, ExprId),
    /// `assume` if true, else `cofactor`.
    Care(bool, ExprId),
    Quantifier(bool, List, Span),
    IfCondition(Span),
    IfThen(Span, ExprId),
    IfElse(Span, ExprId, ExprId),
    CaseGuard(Span, Vec<ExprId>),
    CaseValue(Span, Vec<ExprId>),
    /// `P { assume E }`
    Attribute(bool, ExprId),
}

impl Frame {
    /// How tight an operator binds; nothing if it is not decided by binding.
    fn binding(&self) -> Option<u8> {
        Some(match self {
            Frame::Arrow(..) => 3,
            Frame::Or(_) => 4,
            Frame::And(_) => 5,
            Frame::Not(_) => 6,
            Frame::Compare(..) => 7,
            Frame::Care(..) => 8,
            _ => return None,
        })
    }
}

impl Parser<'_> {
    /// Reads an expression up to the first token that cannot belong to it.
    pub(crate) fn expression(&mut self) -> Parsed<ExprId> {
        let mut stack: Vec<Frame> = Vec::new();
        'operand: loop {
            let Some(mut operand) = self.operand(&mut stack)? else {
                continue;
            };
            loop {
                match self.kind() {
                    Kind::OpenBrace => {
                        if let Some(assume) = self.attribute()? {
                            stack.push(Frame::Attribute(assume, operand));
                            continue 'operand;
                        }
                    }
                    Kind::And => {
                        operand = self.reduce(&mut stack, operand, 5);
                        self.next();
                        match stack.last_mut() {
                            Some(Frame::And(list)) => list.push(operand),
                            _ => stack.push(Frame::And(vec![operand])),
                        }
                        continue 'operand;
                    }
                    Kind::Or => {
                        operand = self.reduce(&mut stack, operand, 4);
                        self.next();
                        match stack.last_mut() {
                            Some(Frame::Or(list)) => list.push(operand),
                            _ => stack.push(Frame::Or(vec![operand])),
                        }
                        continue 'operand;
                    }
                    Kind::Implies | Kind::Follows | Kind::Iff | Kind::Xor => {
                        operand = self.reduce(&mut stack, operand, 3);
                        let arrow = match self.kind() {
                            Kind::Implies => Arrow::Implies,
                            Kind::Follows => Arrow::Follows,
                            Kind::Iff => Arrow::Iff,
                            _ => Arrow::Xor,
                        };
                        if let Some(Frame::Arrow(..)) = stack.last() {
                            return Err(self.not_associative());
                        }
                        self.next();
                        stack.push(Frame::Arrow(arrow, operand));
                        continue 'operand;
                    }
                    Kind::Equal | Kind::Differs => {
                        operand = self.reduce(&mut stack, operand, 7);
                        if let Some(Frame::Compare(..)) = stack.last() {
                            return Err(self.not_associative());
                        }
                        let negated = self.next().kind == Kind::Differs;
                        stack.push(Frame::Compare(negated, operand));
                        continue 'operand;
                    }
                    Kind::Assume | Kind::Cofactor => {
                        if let Some(Frame::Care(..)) = stack.last() {
                            return Err(self.not_associative());
                        }
                        let assume = self.next().kind == Kind::Assume;
                        stack.push(Frame::Care(assume, operand));
                        continue 'operand;
                    }
                    Kind::Else => {
                        operand = self.close(&mut stack, operand, true);
                        match stack.pop() {
                            Some(Frame::IfThen(at, condition)) => {
                                self.next();
                                stack.push(Frame::IfElse(at, condition, operand));
                                continue 'operand;
                            }
                            other => stack.extend(other),
                        }
                        return Err(Box::new(
                            Diagnostic::error(self.span(), "this `else` has no `if`")
                                .help("an `else` belongs to the nearest `if` in the same brackets"),
                        ));
                    }
                    _ => {
                        operand = self.close(&mut stack, operand, false);
                        let Some(frame) = stack.pop() else {
                            return Ok(operand);
                        };
                        match (frame, self.kind()) {
                            (Frame::Paren(open), Kind::Close) => {
                                let close = self.next().span;
                                self.syntax.spans[operand.0 as usize] = open.to(close);
                            }
                            (Frame::IfCondition(at), Kind::Close) => {
                                self.next();
                                stack.push(Frame::IfThen(at, operand));
                                continue 'operand;
                            }
                            (Frame::CaseGuard(at, mut list), Kind::Colon) => {
                                self.next();
                                list.push(operand);
                                stack.push(Frame::CaseValue(at, list));
                                continue 'operand;
                            }
                            (Frame::CaseValue(at, mut list), Kind::Semicolon) => {
                                self.next();
                                list.push(operand);
                                if self.kind() == Kind::Esac {
                                    let end = self.next().span;
                                    let list = self.list(&list);
                                    operand = self.add(Expr::Case(list), at.to(end));
                                } else {
                                    stack.push(Frame::CaseGuard(at, list));
                                    continue 'operand;
                                }
                            }
                            (Frame::Attribute(assume, left), Kind::CloseBrace) => {
                                let end = self.next().span;
                                operand = self.care(assume, left, operand);
                                let span = &mut self.syntax.spans[operand.0 as usize];
                                *span = span.to(end);
                            }
                            (frame, _) => return Err(self.not_closed(&frame)),
                        }
                    }
                }
            }
        }
    }

    /// Reads an operand, or what comes before one (then nothing is returned).
    fn operand(&mut self, stack: &mut Vec<Frame>) -> Parsed<Option<ExprId>> {
        let span = self.span();
        Ok(match self.kind() {
            Kind::Not => {
                self.next();
                stack.push(Frame::Not(span));
                None
            }
            kind @ (Kind::Exists | Kind::Forall) => {
                self.next();
                let list = self.declarations()?;
                if !self.eat(Kind::Dot) && !self.eat(Kind::Colon) {
                    return Err(self.unexpected("`,`, `.` or `:`"));
                }
                stack.push(Frame::Quantifier(kind == Kind::Exists, list, span));
                None
            }
            Kind::If => {
                self.next();
                self.expect(Kind::Open, "`(` and a condition")?;
                stack.push(Frame::IfCondition(span));
                None
            }
            Kind::Case => {
                self.next();
                stack.push(Frame::CaseGuard(span, Vec::new()));
                None
            }
            Kind::Open => {
                self.next();
                stack.push(Frame::Paren(span));
                None
            }
            Kind::Number | Kind::True | Kind::False => Some(self.constant()),
            Kind::Name if !self.is_command_word() => Some(if self.kind_after(1) == Kind::Open {
                self.application()?
            } else {
                self.path()?
            }),
            _ => return Err(self.unexpected("an expression")),
        })
    }

    fn constant(&mut self) -> ExprId {
        let token = self.next();
        let expr = match token.kind {
            Kind::True => Expr::Bool(true),
            Kind::False => Expr::Bool(false),
            _ => Expr::Number(token.span),
        };
        self.add(expr, token.span)
    }

    fn path(&mut self) -> Parsed<ExprId> {
        let first = self.syntax.steps.len() as u32;
        let start = self.next().span;
        let mut end = start;
        self.syntax.steps.push(Step::Name(start));
        loop {
            match self.kind() {
                Kind::Dot => {
                    self.next();
                    end = self.expect(Kind::Name, "the name of a component")?;
                    self.syntax.steps.push(Step::Name(end));
                }
                Kind::OpenBracket => {
                    self.next();
                    let index = self.expect(Kind::Number, "a number")?;
                    self.syntax.steps.push(Step::Index(index));
                    end = self.expect(Kind::CloseBracket, "`]`")?;
                }
                _ => break,
            }
        }
        let list = first..self.syntax.steps.len() as u32;
        Ok(self.add(Expr::Path(list), start.to(end)))
    }

    fn application(&mut self) -> Parsed<ExprId> {
        let name = self.next().span;
        self.next();
        let mut arguments = Vec::new();
        while self.kind() != Kind::Close {
            let argument = match self.kind() {
                Kind::Number | Kind::True | Kind::False => self.constant(),
                Kind::Name if self.kind_after(1) != Kind::Open => self.path()?,
                _ => {
                    let error = *self.unexpected("a constant or a variable");
                    return Err(Box::new(error.help(
                        "an argument is a constant, a variable or part of one; \
                         name any other value with a quantifier",
                    )));
                }
            };
            arguments.push(argument);
            if !self.eat(Kind::Comma) {
                break;
            }
        }
        let end = self.expect(Kind::Close, "`,` or `)`")?;
        let list = self.list(&arguments);
        Ok(self.add(Expr::Apply(name, list), name.to(end)))
    }

    /// Reads `{` and what follows: whether `assume` an operand follows, or nothing if it was of
    /// another kind and is done with.
    fn attribute(&mut self) -> Parsed<Option<bool>> {
        self.next();
        let span = self.span();
        match self.kind() {
            Kind::Assume | Kind::Cofactor => {
                return Ok(Some(self.next().kind == Kind::Assume));
            }
            Kind::Alloccs => {
                self.next();
                self.constraints()?;
            }
            Kind::Show | Kind::Witcs => {
                let mut depth = 0;
                loop {
                    match self.kind() {
                        Kind::OpenBrace => depth += 1,
                        Kind::CloseBrace if depth == 0 => break,
                        Kind::CloseBrace => depth -= 1,
                        Kind::End => break,
                        _ => {}
                    }
                    self.next();
                }
            }
            _ => {
                return Err(self.unexpected("`assume`, `cofactor`, `alloccs`, `show` or `witcs`"));
            }
        }
        let end = self.expect(Kind::CloseBrace, "`}`")?;
        self.diagnostics.push(
            Diagnostic::warning(span.to(end), "this attribute has no effect").help(
                "constraints on parameters belong behind the parameter list; `#wit` and `#cex` \
                 show whole states",
            ),
        );
        Ok(None)
    }

    fn not_associative(&self) -> Box<Diagnostic> {
        let span = self.span();
        let operator = self.text(span);
        Box::new(
            Diagnostic::error(
                span,
                format!("`{operator}` after another operator that binds as tightly"),
            )
            .label("which one comes first?")
            .help("use parentheses"),
        )
    }

    fn not_closed(&self, frame: &Frame) -> Box<Diagnostic> {
        let (expected, open) = match frame {
            Frame::Paren(open) | Frame::IfCondition(open) => ("an operator or `)`", Some(*open)),
            Frame::CaseGuard(open, _) => ("an operator or `:`", Some(*open)),
            Frame::CaseValue(open, _) => ("an operator or `;`", Some(*open)),
            _ => ("an operator or `}`", None),
        };
        let mut error = *self.unexpected(expected);
        if let Some(open) = open {
            error = error.also(open, "for this");
        }
        Box::new(error)
    }

    /// Combines what binds tighter than `binding`.
    fn reduce(&mut self, stack: &mut Vec<Frame>, mut operand: ExprId, binding: u8) -> ExprId {
        while let Some(top) = stack.last()
            && top.binding().is_some_and(|b| b > binding)
            && let Some(frame) = stack.pop()
        {
            operand = self.combine(frame, operand);
        }
        operand
    }

    /// Combines all that ends here; up to an `if` that waits for its `else` if there is one to
    /// come.
    fn close(&mut self, stack: &mut Vec<Frame>, mut operand: ExprId, before_else: bool) -> ExprId {
        while let Some(top) = stack.last() {
            let ends = match top {
                Frame::Quantifier(..) | Frame::IfElse(..) => true,
                Frame::IfThen(..) => !before_else,
                _ => top.binding().is_some(),
            };
            if !ends {
                break;
            }
            if let Some(frame) = stack.pop() {
                operand = self.combine(frame, operand);
            }
        }
        operand
    }

    fn combine(&mut self, frame: Frame, operand: ExprId) -> ExprId {
        let end = self.syntax.span(operand);
        let start = |id: ExprId, parser: &Self| parser.syntax.span(id).to(end);
        match frame {
            Frame::Not(at) => self.add(Expr::Not(operand), at.to(end)),
            Frame::And(mut operands) => {
                let span = start(operands[0], self);
                operands.push(operand);
                let list = self.list(&operands);
                self.add(Expr::And(list), span)
            }
            Frame::Or(mut operands) => {
                let span = start(operands[0], self);
                operands.push(operand);
                let list = self.list(&operands);
                self.add(Expr::Or(list), span)
            }
            Frame::Arrow(arrow, left) => {
                let span = start(left, self);
                self.add(Expr::Arrow(arrow, left, operand), span)
            }
            Frame::Compare(negated, left) => {
                let span = start(left, self);
                self.add(Expr::Compare(negated, left, operand), span)
            }
            Frame::Care(assume, left) => self.care(assume, left, operand),
            Frame::Quantifier(exists, list, at) => {
                self.add(Expr::Quantifier(exists, list, operand), at.to(end))
            }
            Frame::IfThen(at, condition) => {
                self.add(Expr::If(condition, operand, None), at.to(end))
            }
            Frame::IfElse(at, condition, then) => {
                self.add(Expr::If(condition, then, Some(operand)), at.to(end))
            }
            // Brackets are not combined, they are closed.
            _ => operand,
        }
    }

    fn care(&mut self, assume: bool, left: ExprId, right: ExprId) -> ExprId {
        let span = self.syntax.span(left).to(self.syntax.span(right));
        let expr = if assume {
            Expr::Assume(left, right)
        } else {
            Expr::Cofactor(left, right)
        };
        self.add(expr, span)
    }

    fn add(&mut self, expr: Expr, span: Span) -> ExprId {
        let id = ExprId(self.syntax.exprs.len() as u32);
        self.syntax.exprs.push(expr);
        self.syntax.spans.push(span);
        id
    }

    fn list(&mut self, ids: &[ExprId]) -> List {
        let first = self.syntax.operands.len() as u32;
        self.syntax.operands.extend_from_slice(ids);
        first..self.syntax.operands.len() as u32
    }
}
