//! Warnings about expressions that SATABS reads differently.
//!
//! SATABS has no integers, so there is nothing to warn about where they occur. Literals and
//! operators show that at once; the type of a variable is known only when the whole text has been
//! read, because globals may be declared after they are used. So the expressions are collected
//! first.

use std::collections::HashMap;
use std::ops::Range;

use super::expr::Ambiguity;
use super::{Dialect, Parser};
use crate::ast::{Ast, BinaryOp, Decl, ExprId, ExprKind, Function, Item, StmtKind, UnaryOp};
use crate::lexer::TokenKind;
use crate::printer::expr_to_string;
use droste_base::words::counted;
use droste_source::diagnostics::{Diagnostic, DiagnosticKind};

/// Warnings about expressions that read differently in the dialects; more are only counted.
const MOST: usize = 20;

/// The most characters, without white space, of an expression whose two readings are shown.
const LONGEST: usize = 300;

/// An expression that reads differently in the two dialects.
pub(super) struct Reading {
    ambiguity: Ambiguity,
    root: ExprId,
    /// Its tokens.
    tokens: Range<usize>,
}

impl<'a> Parser<'a> {
    /// Notes an expression that reads differently. Its nodes are those from `mark` on, and its tokens those
    /// from `start` up to here.
    pub(super) fn read_differently(
        &mut self,
        ambiguity: Ambiguity,
        root: ExprId,
        mark: usize,
        start: usize,
    ) {
        if !is_about_integers(&self.ast, mark) {
            self.readings.push(Reading {
                ambiguity,
                root,
                tokens: start..self.pos,
            });
        }
    }

    /// The warnings, of which the last says how many more there would be.
    pub(super) fn warn_about_readings(&mut self) -> Option<Diagnostic> {
        let mut readings = std::mem::take(&mut self.readings);
        if readings.is_empty() {
            return None;
        }
        let variables = Variables::new(&self.ast);
        readings.retain(|reading| {
            let at = self.ast.expr(reading.root).span.start;
            !self
                .words(reading)
                .any(|name| variables.is_integer(at, name))
        });
        for reading in readings.iter().take(MOST) {
            let warning = self.warning(reading);
            self.diagnostics.push(warning);
        }
        let more = readings.len().saturating_sub(MOST);
        let end = self.tokens[self.tokens.len() - 1].span;
        (more > 0).then(|| {
            let more = counted(more as u64, "more expression");
            Diagnostic::warning(end, format!("{more} with another reading in SATABS"))
                .help("if the program was written for SATABS or boppo, use `--dialect satabs`")
        })
    }

    /// The words in an expression.
    fn words(&self, reading: &Reading) -> impl Iterator<Item = &'a str> {
        let tokens = &self.tokens[reading.tokens.clone()];
        let names = tokens
            .iter()
            .filter(|token| matches!(token.kind, TokenKind::Ident | TokenKind::Escaped));
        names.map(|token| self.source.slice(token.span))
    }

    fn warning(&mut self, reading: &Reading) -> Diagnostic {
        let Ambiguity { first, second } = reading.ambiguity;
        let (first, second) = (first.symbol(), second.symbol());
        let (message, advice) = match self.both(reading) {
            Some((here, there)) => (
                format!("read as `{here}`, but SATABS reads `{there}`"),
                format!("add the parentheses you mean: `{here}` or `{there}`"),
            ),
            None => (
                "SATABS reads this expression differently".to_owned(),
                format!("add parentheses around the operands of `{first}` and `{second}`"),
            ),
        };
        let names = self.words(reading).map(str::to_owned).collect();
        Diagnostic::warning(self.ast.expr(reading.root).span, message)
            .kind(DiagnosticKind::ReadDifferently(names))
            .label(format!("`{first}` and `{second}` without parentheses"))
            .help(advice)
            .help("if the program was written for SATABS or boppo, use `--dialect satabs`")
    }

    /// The expression as it was read and as SATABS reads it, unless it is too long for a message.
    fn both(&mut self, reading: &Reading) -> Option<(String, String)> {
        let tokens = &self.tokens[reading.tokens.clone()];
        let lengths = tokens.iter().map(|t| (t.span.end - t.span.start) as usize);
        if lengths.sum::<usize>() > LONGEST {
            return None;
        }
        // Read it again. It was right the first time; what could be said about a literal in it
        // has been said.
        let (end, dialect, mark) = (self.pos, self.dialect, self.ast.exprs.len());
        let (errors, last_error) = (self.errors, self.last_error);
        let diagnostics = self.diagnostics.len();
        self.pos = reading.tokens.start;
        self.dialect = Dialect::Satabs;
        let there = self.operators_and_operands();
        let readings = there.ok().map(|there| {
            (
                expr_to_string(&self.ast, reading.root),
                expr_to_string(&self.ast, there),
            )
        });
        self.ast.exprs.truncate(mark);
        self.diagnostics.truncate(diagnostics);
        (self.errors, self.last_error) = (errors, last_error);
        (self.pos, self.dialect) = (end, dialect);
        readings
    }
}

/// Whether the expression that was added from `mark` on says something about integers, whatever
/// its variables are.
fn is_about_integers(ast: &Ast, mark: usize) -> bool {
    ast.exprs[mark..].iter().any(|expr| match expr.kind {
        ExprKind::Int(value) => value != 0 && value != 1,
        ExprKind::Unary(UnaryOp::Neg, _) => true,
        ExprKind::Binary(op, ..) => !matches!(
            op,
            BinaryOp::Implies
                | BinaryOp::Or
                | BinaryOp::Xor
                | BinaryOp::And
                | BinaryOp::Eq
                | BinaryOp::Ne
        ),
        _ => false,
    })
}

/// Which variables are integers.
struct Variables<'t> {
    globals: HashMap<&'t str, bool>,
    /// Where each procedure begins, in ascending order, and its locals.
    procedures: Vec<(u32, HashMap<&'t str, bool>)>,
}

impl<'t> Variables<'t> {
    fn new(ast: &'t Ast) -> Self {
        let mut variables = Variables {
            globals: HashMap::new(),
            procedures: Vec::new(),
        };
        for item in &ast.items {
            match item {
                Item::Thread(_, items) => items.iter().for_each(|item| variables.item(item)),
                item => variables.item(item),
            }
        }
        variables.procedures.sort_by_key(|&(start, _)| start);
        for stmt in &ast.stmts {
            if let StmtKind::Decl(decl) = &stmt.kind
                && let Some(at) = variables.procedure(stmt.span.start)
            {
                declare(&mut variables.procedures[at].1, decl);
            }
        }
        variables
    }

    fn item(&mut self, item: &'t Item) {
        match item {
            Item::Decl(decl) => declare(&mut self.globals, decl),
            Item::Function(Function { name, params, .. }) => {
                let params = params.iter().map(|(name, ty)| (&*name.text, !ty.is_bool()));
                self.procedures.push((name.span.start, params.collect()));
            }
            Item::Thread(..) => {}
        }
    }

    /// The procedure that a place is in.
    fn procedure(&self, at: u32) -> Option<usize> {
        let after = self.procedures.partition_point(|&(start, _)| start <= at);
        after.checked_sub(1)
    }

    fn is_integer(&self, at: u32, name: &str) -> bool {
        let locals = self.procedure(at).map(|i| &self.procedures[i].1);
        let local = locals.and_then(|locals| locals.get(name));
        local
            .or(self.globals.get(name))
            .is_some_and(|&integer| integer)
    }
}

fn declare<'t>(variables: &mut HashMap<&'t str, bool>, decl: &'t Decl) {
    let names = decl.names.iter();
    variables.extend(names.map(|name| (&*name.text, !decl.ty.is_bool())));
}
