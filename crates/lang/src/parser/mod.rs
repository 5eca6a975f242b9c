//! From text to [`Ast`]: one hand-written parser for all dialects of Boolean programs.
//!
//! The parser reports as many independent mistakes as it can find: after an error it goes on at the
//! next statement or item, and it reports no more than one error at a place. It never recurses on
//! the native stack: open blocks are a stack of frames (`stmt`), open parentheses and waiting
//! operators are another (`expr`), so nesting is limited by memory alone and the time is linear.
//!
//! Here: the public functions, the cursor over the tokens, names and error reports.
//! `item` parses declarations, functions and types, `simple` the statements that contain no others,
//! and `monitor` the monitors.

mod expr;
mod item;
mod monitor;
mod readings;
mod simple;
mod stmt;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::Arc;

use crate::ast::{Ast, ExprId, Name};
use crate::getafix::translate;
use crate::lexer::{Language, Token, TokenKind, crop, lex_as};
use crate::monitor::MonitorSyntax;
use droste_source::diagnostics::{Diagnostic, Severity};
use droste_source::{SourceFile, Span};

pub use crate::lexer::Dialect;

/// Errors beyond this many are not reported.
const MAX_ERRORS: usize = 100;

/// What the parser made of a file.
#[derive(Clone, Debug)]
pub struct Parsed {
    /// The program; if some diagnostic is an error, as much of it as was understood.
    pub ast: Ast,
    /// Errors and warnings, in the order of the text.
    pub diagnostics: Vec<Diagnostic>,
}

impl Parsed {
    /// Whether the program is refused.
    pub fn has_errors(&self) -> bool {
        has_errors(&self.diagnostics)
    }
}

fn has_errors(diagnostics: &[Diagnostic]) -> bool {
    diagnostics.iter().any(|d| d.severity == Severity::Error)
}

/// Parses a program. What only [`Dialect::Getafix`] means is written out in the words of the others.
pub fn parse(source: &SourceFile, dialect: Dialect) -> Parsed {
    let mut parser = Parser::new(source, dialect, Language::Program);
    parser.program();
    let (mut ast, mut diagnostics) = parser.finish();
    ast.repeated_labels = dialect == Dialect::Getafix;
    if dialect == Dialect::Getafix && !has_errors(&diagnostics) {
        let (translated, more) = translate(&ast);
        ast = translated.unwrap_or(ast);
        diagnostics.extend(more);
    }
    Parsed { ast, diagnostics }
}

/// Parses a monitor; `None` if there were errors.
///
/// That there is one initial state and that every `goto` names a state is checked when the
/// monitor is resolved against a program.
pub fn parse_monitor(
    source: &SourceFile,
    dialect: Dialect,
) -> (Option<MonitorSyntax>, Vec<Diagnostic>) {
    let mut parser = Parser::new(source, dialect, Language::Monitor);
    parser.property = true;
    let monitor = parser.monitor();
    let (ast, diagnostics) = parser.finish();
    let monitor = match monitor {
        Ok((name, states)) if !has_errors(&diagnostics) => {
            Some(MonitorSyntax { ast, name, states })
        }
        _ => None,
    };
    (monitor, diagnostics)
}

/// Parses one expression of a property, which may also say `proc::x`, `at(L)`, `at(proc:L)`,
/// `in(proc)`, `terminated`, and `var(x)` for a variable with any name whatever. A procedure of
/// a thread section is `thread::proc`. `None` if there were errors.
pub fn parse_proposition(
    source: &SourceFile,
    dialect: Dialect,
) -> (Option<(Ast, ExprId)>, Vec<Diagnostic>) {
    let mut parser = Parser::new(source, dialect, Language::Program);
    parser.property = true;
    let root = parser.expression();
    if root.is_ok() && parser.kind() != TokenKind::Eof {
        parser.unexpected("an operator or the end of the expression");
    }
    let (ast, diagnostics) = parser.finish();
    let result = match root {
        Ok(root) if !has_errors(&diagnostics) => Some((ast, root)),
        _ => None,
    };
    (result, diagnostics)
}

/// Something could not be parsed, and that has been reported.
#[derive(Clone, Copy, Debug)]
struct Fail;

type Parse<T> = Result<T, Fail>;

struct Parser<'a> {
    source: &'a SourceFile,
    dialect: Dialect,
    /// Whether expressions may look at control: `at(L)` and the like.
    property: bool,
    /// Ended by `Eof`.
    tokens: Vec<Token>,
    /// Index of the token to be read next.
    pos: usize,
    names: HashMap<&'a str, Arc<str>>,
    ast: Ast,
    diagnostics: Vec<Diagnostic>,
    errors: usize,
    /// Expressions that read differently in the two dialects.
    readings: Vec<readings::Reading>,
    /// `pos` at the last error: a second one there is a consequence of the first.
    last_error: Option<usize>,
    expr: expr::Stacks,
}

impl<'a> Parser<'a> {
    fn new(source: &'a SourceFile, dialect: Dialect, language: Language) -> Self {
        let (tokens, mut diagnostics) = lex_as(source, dialect, language);
        let errors = diagnostics.len();
        diagnostics.truncate(MAX_ERRORS);
        let mut parser = Parser {
            source,
            dialect,
            property: false,
            tokens,
            pos: 0,
            names: HashMap::new(),
            ast: Ast::default(),
            diagnostics,
            errors,
            readings: Vec::new(),
            last_error: None,
            expr: expr::Stacks::default(),
        };
        if parser.errors >= MAX_ERRORS {
            parser.pos = parser.tokens.len() - 1;
        }
        parser
    }

    fn finish(mut self) -> (Ast, Vec<Diagnostic>) {
        let more = self.warn_about_readings();
        self.diagnostics.sort_by_key(|d| d.primary.0.start);
        self.diagnostics.extend(more);
        if self.errors >= MAX_ERRORS {
            let end = self.tokens[self.tokens.len() - 1].span;
            self.diagnostics.push(Diagnostic::error(
                end,
                format!("too many errors: only the first {MAX_ERRORS} are shown"),
            ));
        }
        (self.ast, self.diagnostics)
    }

    // The cursor.

    fn kind(&self) -> TokenKind {
        self.tokens[self.pos].kind
    }

    /// The kind of the token `n` further on.
    fn peek(&self, n: usize) -> TokenKind {
        self.tokens
            .get(self.pos + n)
            .map_or(TokenKind::Eof, |token| token.kind)
    }

    fn span(&self) -> Span {
        self.tokens[self.pos].span
    }

    /// The end of the token read last.
    fn previous_end(&self) -> u32 {
        match self.pos {
            0 => 0,
            n => self.tokens[n - 1].span.end,
        }
    }

    fn slice(&self) -> &'a str {
        self.source.slice(self.span())
    }

    /// Moves on, but never past the end.
    fn bump(&mut self) -> Span {
        let span = self.span();
        if self.pos + 1 < self.tokens.len() {
            self.pos += 1;
        }
        span
    }

    fn eat(&mut self, kind: TokenKind) -> Option<Span> {
        (self.kind() == kind).then(|| self.bump())
    }

    /// Whether the next token is this word, which is not reserved.
    fn at_word(&self, word: &str) -> bool {
        self.kind() == TokenKind::Ident && self.slice() == word
    }

    fn expect(&mut self, kind: TokenKind, expected: &str) -> Parse<Span> {
        match self.eat(kind) {
            Some(span) => Ok(span),
            None => Err(self.unexpected(expected)),
        }
    }

    // Names.

    fn intern(&mut self, span: Span) -> Name {
        let slice = self.source.slice(span);
        let text = self
            .names
            .entry(slice)
            .or_insert_with(|| slice.into())
            .clone();
        Name { text, span }
    }

    /// The name of a variable, procedure or thread.
    fn name(&mut self, expected: &str) -> Parse<Name> {
        match self.kind() {
            TokenKind::Escaped => {}
            TokenKind::Ident if self.slice() != "_" => {}
            kind => {
                let diagnostic = self.expected_name(expected);
                let fail = self.report(diagnostic);
                // A reserved word used as a name: go on after it, not with it.
                if is_reserved(kind)
                    && !stmt::is_closer(kind)
                    && matches!(
                        self.peek(1),
                        TokenKind::Assign | TokenKind::Comma | TokenKind::Colon | TokenKind::Semi
                    )
                {
                    self.bump();
                }
                return Err(fail);
            }
        }
        let span = self.bump();
        Ok(self.intern(span))
    }

    /// Labels conflict with nothing and may have any name, even `T` or `12`.
    fn label(&mut self, expected: &str) -> Parse<Name> {
        let next = self.peek(1);
        if is_reserved(self.kind())
            && matches!(next, TokenKind::Semi | TokenKind::Comma | TokenKind::RParen)
        {
            let diagnostic = self.reserved_label();
            self.report(diagnostic);
        } else if !is_label(self.kind()) {
            return Err(self.unexpected(expected));
        }
        let span = self.bump();
        Ok(self.intern(span))
    }

    /// For a reserved word in the place of a label.
    fn reserved_label(&self) -> Diagnostic {
        let word = self.slice();
        Diagnostic::error(
            self.span(),
            format!("`{word}` is a reserved word and cannot be a label"),
        )
        .help(format!("choose another label, such as `{word}1`"))
    }

    fn names(&mut self, expected: &str) -> Parse<Vec<Name>> {
        let mut names = vec![self.name(expected)?];
        while self.eat(TokenKind::Comma).is_some() {
            names.push(self.name(expected)?);
        }
        Ok(names)
    }

    // Errors.

    /// The next token, for a message.
    fn found(&self) -> String {
        match self.kind() {
            TokenKind::Eof => "the end of the text".to_owned(),
            TokenKind::Text => "text in quotes".to_owned(),
            TokenKind::Number => format!("the number `{}`", crop(self.slice(), 40)),
            _ => format!("`{}`", crop(self.slice(), 40)),
        }
    }

    /// Reports an error at the next token, unless something was reported there already.
    fn report(&mut self, diagnostic: Diagnostic) -> Fail {
        if self.last_error == Some(self.pos) || self.errors >= MAX_ERRORS {
            return Fail;
        }
        self.last_error = Some(self.pos);
        self.diagnostics.push(diagnostic);
        self.errors += 1;
        if self.errors >= MAX_ERRORS {
            self.pos = self.tokens.len() - 1;
        }
        Fail
    }

    fn unexpected(&mut self, expected: &str) -> Fail {
        let diagnostic = self.expected(expected);
        self.report(diagnostic)
    }

    /// "expected …, found …" at the next token, with advice for what people often write.
    fn expected(&self, expected: &str) -> Diagnostic {
        let diagnostic = self.plainly_expected(expected);
        match self.kind() {
            TokenKind::LBrace | TokenKind::RBrace => diagnostic.help(
                "blocks have no braces: a body is `begin … end`, and there is `if … then … else … fi` and `while … do … od`",
            ),
            TokenKind::Ident if self.slice() == "_" => {
                diagnostic.help("`_` can only be assigned to, to throw a value away")
            }
            _ => diagnostic,
        }
    }

    /// The same where a name is expected.
    fn expected_name(&self, expected: &str) -> Diagnostic {
        let word = self.slice();
        let help = match self.kind() {
            TokenKind::LBrace => return self.expected_operand(expected),
            TokenKind::True | TokenKind::False => {
                format!("`{word}` is a constant and cannot be the name of anything but a label")
            }
            TokenKind::Number => {
                "a name begins with a letter, `_` or `$`; only labels may be numbers".to_owned()
            }
            kind if is_reserved(kind) => format!("`{word}` is a reserved word"),
            _ => return self.expected(expected),
        };
        self.plainly_expected(expected).help(help)
    }

    /// The same where a name or an expression is expected.
    fn expected_operand(&self, expected: &str) -> Diagnostic {
        match self.kind() {
            TokenKind::LBrace => {
                let rest = &self.source.text()[self.span().end as usize..];
                self.plainly_expected(expected).help(why_no_name(rest))
            }
            _ => self.expected(expected),
        }
    }

    fn plainly_expected(&self, expected: &str) -> Diagnostic {
        Diagnostic::error(
            self.span(),
            format!("expected {expected}, found {}", self.found()),
        )
        .label(format!("expected {expected}"))
    }
}

/// What keeps the text after a `{` from being a name in braces.
fn why_no_name(rest: &str) -> &'static str {
    let line = rest.lines().next().unwrap_or("");
    match line.find('}') {
        Some(0) => "a name in braces cannot be empty",
        Some(_) => "a name in braces cannot contain spaces: `{x<y}`, not `{x < y}`",
        None => "a name in braces ends with `}`, on the same line: `{x<y}`",
    }
}

fn is_reserved(kind: TokenKind) -> bool {
    (kind as u8) < (TokenKind::True as u8)
}

fn is_label(kind: TokenKind) -> bool {
    matches!(
        kind,
        TokenKind::Ident
            | TokenKind::Escaped
            | TokenKind::Number
            | TokenKind::True
            | TokenKind::False
    )
}
