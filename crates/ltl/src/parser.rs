//! From text to formulas: Dijkstra's shunting yard, with a stack of its own instead of recursion.
//!
//! Unary operators bind tightest; then `U R W M`, right-associative; then conjunction, disjunction,
//! `xor`, implication (right-associative) and equivalence. Chains of `&` and `|` become one node
//! with all their operands. After an error the parser goes on as if what was missing had been
//! there, so that one run reports as much as it can. That printing and parsing again gives the same
//! formula is tested on random formulas.

use droste_source::diagnostics::{Diagnostic, Severity};
use droste_source::suggest::nearest;
use droste_source::{SourceFile, Span};
use rustc_hash::FxHashMap;

use crate::syntax::{Atom, AtomKind, Atoms, Token, in_word, reserved, tokens};
use droste_automata::formula::{FormulaId, Formulas};

/// There is no point in more errors than this.
pub(crate) const MOST_ERRORS: usize = 20;

/// A formula with a name, from a file of properties.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Property {
    /// Its name.
    pub name: String,
    /// Where the name is.
    pub name_span: Span,
    /// The formula as written.
    pub formula: FormulaId,
    /// Where the formula is.
    pub span: Span,
}

/// Parses one formula. Without an error, it is in `formulas`, and its atoms are in `atoms`;
/// otherwise the diagnostics say what is wrong.
pub fn parse(
    source: &SourceFile,
    formulas: &mut Formulas,
    atoms: &mut Atoms,
) -> Result<FormulaId, Vec<Diagnostic>> {
    let mut diagnostics = Vec::new();
    let list = tokens(source.text(), 0, false, &mut diagnostics);
    let end = source.text().len() as u32;
    let mut parser = Parser {
        source,
        formulas,
        atoms,
        diagnostics,
        names_are_optional: false,
    };
    let formula = parser.formula(&list, Span::new(end, end));
    match formula {
        Some(formula) if parser.diagnostics.is_empty() => Ok(formula),
        _ => Err(in_order(parser.diagnostics)),
    }
}

/// Parses a formula given as text.
pub fn parse_text(
    text: &str,
    formulas: &mut Formulas,
    atoms: &mut Atoms,
) -> Result<FormulaId, Vec<Diagnostic>> {
    parse(&SourceFile::new("formula", text), formulas, atoms)
}

/// An atom given as text, as in the header of an automaton: whatever is not an atom of formulas is
/// an expression.
pub fn atom_from_text(text: &str) -> Atom {
    let source = SourceFile::new("atom", text);
    let (mut formulas, mut atoms) = (Formulas::new(), Atoms::new());
    if let Ok(formula) = parse(&source, &mut formulas, &mut atoms)
        && let droste_automata::formula::Node::Atom(id) = formulas.node(formula)
    {
        return atoms.get(id).clone();
    }
    let span = Span::new(0, text.len() as u32);
    Atom {
        kind: AtomKind::Expression,
        text: text.trim().to_owned(),
        span,
        text_span: span,
    }
}

/// Parses a file of properties: each is `name: formula`, and ends at a semicolon, at the next
/// `name:`, or with the file.
pub fn parse_properties(
    source: &SourceFile,
    formulas: &mut Formulas,
    atoms: &mut Atoms,
) -> Result<Vec<Property>, Vec<Diagnostic>> {
    properties(source, formulas, atoms, false)
}

fn properties(
    source: &SourceFile,
    formulas: &mut Formulas,
    atoms: &mut Atoms,
    names_are_optional: bool,
) -> Result<Vec<Property>, Vec<Diagnostic>> {
    let mut diagnostics = Vec::new();
    let list = tokens(source.text(), 0, true, &mut diagnostics);
    let end = source.text().len() as u32;
    let mut parser = Parser {
        source,
        formulas,
        atoms,
        diagnostics,
        names_are_optional,
    };
    let mut properties: Vec<Property> = Vec::new();
    let mut names: FxHashMap<String, Span> = FxHashMap::default();
    let mut at = 0;
    while at < list.len() && parser.diagnostics.len() < MOST_ERRORS {
        if list[at].0 == Token::Semicolon {
            at += 1;
            continue;
        }
        let begin = at;
        let name = parser.header(&list, &mut at);
        let from = at;
        // Inside parentheses, a colon belongs to `at(proc:LABEL)`.
        let mut depth = 0usize;
        while at < list.len() && list[at].0 != Token::Semicolon {
            match list[at].0 {
                Token::Open => depth += 1,
                Token::Close => depth = depth.saturating_sub(1),
                _ if begins_property(source, &list, from, at, depth) => break,
                _ => {}
            }
            at += 1;
        }
        let after = list.get(at).map_or(Span::new(end, end), |token| {
            Span::new(token.1.start, token.1.start)
        });
        let body = &list[from..at];
        let Some(name_span) = name else {
            if names_are_optional {
                parser.diagnostics.push(without_name(list[begin].1));
                continue;
            }
            parser.diagnostics.push(
                Diagnostic::error(list[begin].1, "a property has a name")
                    .label("expected `name: formula`")
                    .help("write a name and a colon before the formula; `;` ends it"),
            );
            continue;
        };
        let name = source.slice(name_span).to_owned();
        if let Some(&first) = names.get(&name) {
            parser.diagnostics.push(
                Diagnostic::error(
                    name_span,
                    format!("there are two properties named `{name}`"),
                )
                .label("the second")
                .also(first, "the first")
                .help("give them different names"),
            );
        } else {
            names.insert(name.clone(), name_span);
        }
        if let Some(formula) = parser.formula(body, after) {
            let span = body[0].1.to(body[body.len() - 1].1);
            properties.push(Property {
                name,
                name_span,
                formula,
                span,
            });
        }
    }
    if properties.is_empty() && parser.diagnostics.is_empty() {
        parser.diagnostics.push(
            Diagnostic::error(Span::new(end, end), "there is no property in this file")
                .label("expected `name: formula`"),
        );
    }
    if parser.diagnostics.is_empty() {
        Ok(properties)
    } else {
        Err(in_order(parser.diagnostics))
    }
}

/// Parses a file of formulas. They have names, as in [`parse_properties`], or else there is one on
/// each line.
pub fn parse_formulas(
    source: &SourceFile,
    formulas: &mut Formulas,
    atoms: &mut Atoms,
) -> Result<Vec<(Option<String>, FormulaId)>, Vec<Diagnostic>> {
    let mut diagnostics = Vec::new();
    let list = tokens(source.text(), 0, true, &mut diagnostics);
    if list.is_empty() || is_header(&list, 0) || strange_header(source, &list, 0).is_some() {
        let named = properties(source, formulas, atoms, true)?.into_iter();
        return Ok(named.map(|one| (Some(one.name), one.formula)).collect());
    }
    let mut parser = Parser {
        source,
        formulas,
        atoms,
        diagnostics,
        names_are_optional: false,
    };
    let mut read = Vec::new();
    let mut rest = &list[..];
    while !rest.is_empty() && parser.diagnostics.len() < MOST_ERRORS {
        let more = rest[1..].iter();
        let length = 1 + more.take_while(|one| !new_line(source, one.1)).count();
        let (mut line, below) = rest.split_at(length);
        rest = below;
        while let [before @ .., (Token::Semicolon, _)] = line {
            line = before;
        }
        let Some(&(_, Span { end, .. })) = line.last() else {
            continue;
        };
        if is_header(line, 0) {
            let error = Diagnostic::error(line[0].1, "this formula has a name, the first has none");
            parser.error(error.help(ALL_OR_NONE));
            continue;
        }
        let formula = parser.formula(line, Span::new(end, end));
        read.extend(formula.map(|formula| (None, formula)));
    }
    if parser.diagnostics.is_empty() {
        Ok(read)
    } else {
        Err(in_order(parser.diagnostics))
    }
}

const ALL_OR_NONE: &str = "give names to all of them, or to none";

/// Here a formula begins in a file in which formulas have names.
fn without_name(span: Span) -> Diagnostic {
    Diagnostic::error(span, "this formula has no name, the first has one").help(ALL_OR_NONE)
}

/// Whether a name and a colon are here; any word may be a name, except in `at(proc:LABEL)`.
fn is_header(list: &[(Token, Span)], at: usize) -> bool {
    let is = |i: usize, token| list.get(i).is_some_and(|&(t, _)| t == token);
    is(at, Token::Word) && is(at + 1, Token::Colon)
}

/// Whether another property begins at `at`, `depth` parentheses deep in one whose formula begins at
/// `from`.
fn begins_property(
    source: &SourceFile,
    list: &[(Token, Span)],
    from: usize,
    at: usize,
    depth: usize,
) -> bool {
    if new_line(source, list[at].1) {
        return is_header(list, at) || strange_header(source, list, at).is_some();
    }
    // Where an operand is expected it is `proc:LABEL`.
    let operand = is_label(list, at) && wants_operand(&list[from..at]);
    is_header(list, at) && depth == 0 && !operand
}

/// Whether `proc:LABEL` is here, without space.
fn is_label(list: &[(Token, Span)], at: usize) -> bool {
    matches!(
        list.get(at..at + 3),
        Some(&[(Token::Word, a), (Token::Colon, colon), (Token::Word, b)])
            if a.end == colon.start && colon.end == b.start
    )
}

/// Whether these tokens end where an operand is expected.
fn wants_operand(list: &[(Token, Span)]) -> bool {
    !matches!(
        list.last(),
        Some((
            Token::Word | Token::Raw | Token::True | Token::False | Token::Close,
            _
        ))
    )
}

/// What was meant to be a name before a colon, but cannot be one; and where the token after the
/// colon is.
fn strange_header(source: &SourceFile, list: &[(Token, Span)], at: usize) -> Option<(Span, usize)> {
    let start = list.get(at)?.1.start;
    let rest = &source.text()[start as usize..];
    let length = rest.find(|c: char| c.is_whitespace() || ":;(){}!&|~".contains(c))?;
    let colon = start as usize + length;
    let behind = source.text()[colon..].strip_prefix(':')?;
    if length == 0 || behind.starts_with(':') || is_header(list, at) {
        return None;
    }
    let place = list[at..]
        .iter()
        .position(|(token, span)| *token == Token::Colon && span.start as usize == colon)?;
    Some((Span::new(start, colon as u32), at + place + 1))
}

/// Whether nothing but space is before `span` on its line.
fn new_line(source: &SourceFile, span: Span) -> bool {
    let text = &source.text()[..span.start as usize];
    text.trim_end_matches([' ', '\t']).ends_with('\n')
}

fn in_order(mut diagnostics: Vec<Diagnostic>) -> Vec<Diagnostic> {
    debug_assert!(diagnostics.iter().all(|d| d.severity == Severity::Error));
    diagnostics.sort_by_key(|d| d.primary.0);
    diagnostics.truncate(MOST_ERRORS);
    diagnostics
}

/// An operator that waits for its right operand, or an open parenthesis.
#[derive(Clone, Copy, Debug)]
enum Waiting {
    Open(Span),
    Unary(Token),
    /// The number of operands it has on the stack of formulas; more than one only for `&` and `|`.
    Binary(Token, u32),
}

/// How tight a binary operator binds.
fn level(token: Token) -> u8 {
    match token {
        Token::Until | Token::Release | Token::WeakUntil | Token::StrongRelease => 5,
        Token::And => 4,
        Token::Or => 3,
        Token::Xor => 2,
        Token::Implies => 1,
        _ => 0,
    }
}

struct Parser<'a> {
    source: &'a SourceFile,
    formulas: &'a mut Formulas,
    atoms: &'a mut Atoms,
    diagnostics: Vec<Diagnostic>,
    /// The formulas have names, but a formula without one on a line of its own may have been meant.
    names_are_optional: bool,
}

impl Parser<'_> {
    /// The name and the colon of a property; what cannot be a name is told, and taken for one.
    fn header(&mut self, list: &[(Token, Span)], at: &mut usize) -> Option<Span> {
        let begin = *at;
        if let Some((name, next)) = strange_header(self.source, list, begin) {
            *at = next;
            let text = self.source.slice(name).to_owned();
            // What the lexer had to say about its characters is said better here.
            self.diagnostics
                .retain(|d| !(name.start <= d.primary.0.start && d.primary.0.end <= name.end));
            let strange = text.chars().find(|&c| !in_word(c) || c == '#');
            let error = if let Some(c) = strange {
                let plain = text.replace(|c| !in_word(c) || c == '#', "_");
                Diagnostic::error(name, format!("`{c}` cannot be part of a name"))
                    .label("the name of a property")
                    .help(format!(
                        "names are made of letters, digits, `_` and `$`: write `{plain}:`"
                    ))
            } else {
                let what = match reserved(&text) {
                    Some(Token::True | Token::False) => "a constant",
                    _ => "an operator",
                };
                Diagnostic::error(name, format!("`{text}` is {what}, not a name"))
                    .label("expected the name of a property")
                    .help(format!("choose another name: `property_{text}:`"))
            };
            self.error(error);
            return Some(name);
        }
        if !is_header(list, begin) {
            return None;
        }
        let name = list[begin].1;
        *at += 2;
        if self
            .source
            .slice(name)
            .starts_with(|c: char| c.is_ascii_digit())
        {
            self.diagnostics.retain(|d| d.primary.0 != name);
            let text = self.source.slice(name);
            let error = Diagnostic::error(name, "a name does not begin with a digit")
                .label("the name of a property")
                .help(format!("write `p{text}:`"));
            self.error(error);
        }
        // `proc:LABEL:` is no name.
        if is_label(list, begin) && list.get(*at + 1).is_some_and(|t| t.0 == Token::Colon) {
            let whole = name.to(list[*at].1);
            let text = self.source.slice(whole).to_owned();
            let label = self.source.slice(list[*at].1).to_owned();
            *at += 2;
            self.error(
                Diagnostic::error(
                    whole,
                    format!("`{text}` is a label of a procedure, not a name"),
                )
                .label("expected the name of a property")
                .help(format!("write `{label}:`")),
            );
            return Some(whole);
        }
        Some(name)
    }

    fn error(&mut self, diagnostic: Diagnostic) {
        self.diagnostics.push(diagnostic);
    }

    /// One formula of these tokens; `end` is the place after them.
    fn formula(&mut self, list: &[(Token, Span)], end: Span) -> Option<FormulaId> {
        if list.is_empty() {
            if self.diagnostics.is_empty() {
                self.error(
                    Diagnostic::error(end, "there is no formula here")
                        .label("expected a formula")
                        .help("for example `G (request -> F grant)`"),
                );
            }
            return None;
        }
        let mut waiting: Vec<Waiting> = Vec::new();
        let mut done: Vec<FormulaId> = Vec::new();
        let mut at = 0;
        let mut want_operand = true;
        while at < list.len() && self.diagnostics.len() < MOST_ERRORS {
            let (token, span) = list[at];
            if want_operand {
                match token {
                    Token::Not | Token::Next | Token::Finally | Token::Globally => {
                        waiting.push(Waiting::Unary(token));
                        at += 1;
                    }
                    Token::Open => {
                        waiting.push(Waiting::Open(span));
                        at += 1;
                    }
                    Token::True | Token::False => {
                        done.push(Formulas::constant(token == Token::True));
                        want_operand = false;
                        at += 1;
                    }
                    Token::Word | Token::Raw => {
                        let atom = self.atom(list, &mut at);
                        done.push(atom);
                        want_operand = false;
                    }
                    _ => {
                        self.missing_operand(list, at, span);
                        done.push(Formulas::TRUE);
                        want_operand = false;
                        // The token may continue the formula, as an operator or a parenthesis.
                    }
                }
                continue;
            }
            match token {
                Token::Until
                | Token::Release
                | Token::WeakUntil
                | Token::StrongRelease
                | Token::And
                | Token::Or
                | Token::Xor
                | Token::Implies
                | Token::Iff => {
                    self.reduce(&mut waiting, &mut done, Some(token));
                    if let Some(Waiting::Binary(top, count)) = waiting.last_mut()
                        && *top == token
                        && matches!(token, Token::And | Token::Or)
                    {
                        *count += 1;
                    } else {
                        waiting.push(Waiting::Binary(token, 1));
                    }
                    want_operand = true;
                    at += 1;
                }
                Token::Close => {
                    self.reduce(&mut waiting, &mut done, None);
                    if waiting.pop().is_none() {
                        self.error(
                            Diagnostic::error(span, "there is no `(` for this `)`")
                                .label("not expected here")
                                .help("remove it, or open a parenthesis before"),
                        );
                    }
                    at += 1;
                }
                _ => {
                    self.missing_operator(list, at, span);
                    at += 1;
                    // A parenthesis, a name or a unary operator begins another operand: go on
                    // behind it as if there were a conjunction. Anything else is skipped.
                    if !matches!(token, Token::Colon | Token::ColonColon | Token::Semicolon) {
                        self.reduce(&mut waiting, &mut done, Some(Token::And));
                        waiting.push(Waiting::Binary(Token::And, 1));
                        want_operand = true;
                        at -= 1;
                    }
                }
            }
        }
        if want_operand && self.diagnostics.len() < MOST_ERRORS {
            self.missing_operand(list, list.len(), end);
            done.push(Formulas::TRUE);
        }
        if self.diagnostics.len() >= MOST_ERRORS {
            return None;
        }
        self.reduce(&mut waiting, &mut done, None);
        let mut unclosed = 0;
        while let Some(open) = waiting.pop() {
            if let Waiting::Open(span) = open {
                unclosed += 1;
                if unclosed <= 3 {
                    self.error(
                        Diagnostic::error(span, "this `(` is not closed")
                            .label("there is no `)` for it")
                            .help("close the parenthesis"),
                    );
                }
            }
            self.reduce(&mut waiting, &mut done, None);
        }
        done.pop()
    }

    /// Applies the operators on top of the stack that bind tighter than `next` (everything up to a
    /// parenthesis if there is none).
    fn reduce(
        &mut self,
        waiting: &mut Vec<Waiting>,
        done: &mut Vec<FormulaId>,
        next: Option<Token>,
    ) {
        let formulas = &mut *self.formulas;
        while let Some(&top) = waiting.last() {
            match top {
                Waiting::Open(_) => return,
                Waiting::Unary(token) => {
                    let a = done.pop().unwrap_or(Formulas::TRUE);
                    done.push(match token {
                        Token::Not => formulas.not(a),
                        Token::Next => formulas.next(a),
                        Token::Finally => formulas.finally(a),
                        _ => formulas.globally(a),
                    });
                }
                Waiting::Binary(token, count) => {
                    if let Some(next) = next {
                        let (mine, other) = (level(token), level(next));
                        // Temporal operators and `->` associate to the right; chains of `&` and `|`
                        // are collected.
                        let to_the_right = matches!(mine, 5 | 4 | 3 | 1);
                        if mine < other || (mine == other && to_the_right) {
                            return;
                        }
                    }
                    if matches!(token, Token::And | Token::Or) {
                        let from = done.len() - (count as usize + 1).min(done.len());
                        let operands: Vec<FormulaId> = done.drain(from..).collect();
                        done.push(formulas.as_written(token == Token::And, &operands));
                    } else {
                        let b = done.pop().unwrap_or(Formulas::TRUE);
                        let a = done.pop().unwrap_or(Formulas::TRUE);
                        done.push(match token {
                            Token::Until => formulas.until(a, b),
                            Token::Release => formulas.release(a, b),
                            Token::WeakUntil => formulas.weak_until(a, b),
                            Token::StrongRelease => formulas.strong_release(a, b),
                            Token::Implies => formulas.implies(a, b),
                            Token::Iff => formulas.iff(a, b),
                            _ => formulas.xor(a, b),
                        });
                    }
                }
            }
            waiting.pop();
        }
    }

    /// The atom that begins at `at`.
    fn atom(&mut self, list: &[(Token, Span)], at: &mut usize) -> FormulaId {
        let (token, span) = list[*at];
        *at += 1;
        let is = |i: usize, token| list.get(i).is_some_and(|&(t, _)| t == token);
        let (kind, span, text_span) = if token == Token::Raw {
            (AtomKind::Expression, span, self.inside(span))
        } else {
            let kind = match self.source.slice(span) {
                "var" => Some(AtomKind::Var),
                "at" => Some(AtomKind::At),
                "in" => Some(AtomKind::In),
                _ => None,
            };
            match kind {
                Some(kind) if is(*at, Token::Open) => {
                    let (whole, inner) = self.argument(list, at, span, kind);
                    (kind, whole, inner)
                }
                _ if is(*at, Token::ColonColon) => {
                    let whole = list.get(*at + 1).map_or(span, |&(_, next)| span.to(next));
                    *at = (*at + 2).min(list.len());
                    let text = self.source.slice(whole).to_owned();
                    self.error(
                        Diagnostic::error(whole, format!("`{text}` is not a bare name"))
                            .label("a local variable is an expression")
                            .help(format!("write `{{{text}}}`")),
                    );
                    (AtomKind::Expression, whole, whole)
                }
                _ if is_label(list, *at - 1) => {
                    let whole = span.to(list[*at + 1].1);
                    *at += 2;
                    let text = self.source.slice(whole).to_owned();
                    self.error(
                        Diagnostic::error(whole, format!("`{text}` is not a bare name"))
                            .label("a label of a procedure is written with `at`")
                            .help(format!("write `at({text})`")),
                    );
                    (AtomKind::At, whole, whole)
                }
                _ if self.source.slice(span) == "terminated" => (AtomKind::Terminated, span, span),
                _ => (AtomKind::Name, span, span),
            }
        };
        let text = self.source.slice(text_span).to_owned();
        let id = self.atoms.intern(Atom {
            kind,
            text,
            span,
            text_span,
        });
        self.formulas.atom(id)
    }

    /// Without braces or quotes, and space inside them.
    fn inside(&self, span: Span) -> Span {
        let text = self.source.slice(span);
        let inner = text.get(1..text.len().saturating_sub(1)).unwrap_or("");
        let lead = (inner.len() - inner.trim_start().len()) as u32;
        let start = span.start + 1 + lead;
        Span::new(start, start + inner.trim().len() as u32)
    }

    /// `(name)` or `(proc:LABEL)` or `(proc::x)`: where the atom and what is in the parentheses
    /// are.
    fn argument(
        &mut self,
        list: &[(Token, Span)],
        at: &mut usize,
        word: Span,
        kind: AtomKind,
    ) -> (Span, Span) {
        let open = list[*at].1;
        let close = (*at..list.len().min(*at + 6)).find(|&i| list[i].0 == Token::Close);
        let inner = close.map(|close| &list[*at + 1..close]);
        // A variable may have the name of an operator: here it can only be a name.
        let word_like = |i: usize, part: &[(Token, Span)]| {
            part.get(i).is_some_and(|&(token, span)| {
                token == Token::Word || reserved(self.source.slice(span)) == Some(token)
            })
        };
        let good = inner.is_some_and(|inner| match (kind, inner.len()) {
            (_, 1) => word_like(0, inner),
            (AtomKind::At, 3) => {
                word_like(0, inner) && inner[1].0 == Token::Colon && word_like(2, inner)
            }
            (AtomKind::Var, 3) => {
                word_like(0, inner) && inner[1].0 == Token::ColonColon && word_like(2, inner)
            }
            _ => false,
        });
        if let (true, Some(inner), Some(close)) = (good, inner, close) {
            *at = close + 1;
            let text = inner[0].1.to(inner[inner.len() - 1].1);
            let spaces = self.source.slice(text).contains(char::is_whitespace);
            if !spaces {
                return (word.to(list[close].1), text);
            }
        }
        let name = self.source.slice(word).to_owned();
        let expected = match kind {
            AtomKind::At => "`at(LABEL)` or `at(proc:LABEL)`",
            AtomKind::In => "`in(proc)`",
            _ => "`var(x)` or `var(proc::x)`",
        };
        self.error(
            Diagnostic::error(open, format!("`{name}` takes a name in parentheses"))
                .label(format!("expected {expected}, without space inside"))
                .help("an expression of the program is written in braces: `{x = 3}`"),
        );
        *at = close.map_or(*at + 1, |close| close + 1).max(*at);
        (word, word)
    }

    fn missing_operand(&mut self, list: &[(Token, Span)], at: usize, span: Span) {
        let before = at.checked_sub(1).map(|i| list[i]);
        // An operator that was not expected, and has been told about, may have been meant as a
        // name.
        let told = |(_, span)| self.diagnostics.last().is_some_and(|d| d.primary.0 == span);
        if at == list.len() && before.is_some_and(told) {
            return;
        }
        let show = |(_, span): (Token, Span)| format!("`{}`", self.source.slice(span));
        let found = list.get(at).map_or("the end".to_owned(), |&t| show(t));
        let mut error = match before {
            None | Some((Token::Open, _)) => {
                Diagnostic::error(span, format!("expected a formula, found {found}"))
            }
            Some(token) => Diagnostic::error(
                span,
                format!("expected an operand of {}, found {found}", show(token)),
            ),
        };
        error = error.label("expected a proposition, `(` or a unary operator");
        let letter = |token: Option<(Token, Span)>| {
            token
                .map(|(_, span)| self.source.slice(span))
                .filter(|text| reserved(text).is_some() && text.len() == 1)
        };
        if let Some(name) = letter(list.get(at).copied()).or(letter(before)) {
            error = error.help(format!(
                "`{name}` is an operator; a variable or label of that name is written `var({name})` or `at({name})`"
            ));
        }
        self.error(error);
    }

    fn missing_operator(&mut self, list: &[(Token, Span)], at: usize, span: Span) {
        if self.names_are_optional && new_line(self.source, span) {
            return self.error(without_name(span));
        }
        let found = self.source.slice(span).to_owned();
        let mut error =
            Diagnostic::error(span, format!("expected a binary operator, found `{found}`"))
                .label("expected `&`, `|`, `->`, `U` and so on before this");
        // After another error there may be nothing before it.
        let previous = at.checked_sub(1).map(|i| list[i]);
        let before = previous.map_or("", |(_, span)| self.source.slice(span));
        let after_word =
            previous.is_some_and(|(token, own)| token == Token::Word && own.end == span.start);
        if list[at].0 == Token::Colon {
            error = error.help("a label of a procedure is written `at(proc:LABEL)`");
        } else if list[at].0 == Token::Open && after_word {
            let near = nearest(before, ["at", "in", "var"].into_iter());
            error = error.help(match near {
                Some(near) => format!("did you mean `{near}(...)`?"),
                None => "`at(...)`, `in(...)` and `var(...)` take a name in parentheses".to_owned(),
            });
        } else if before.len() > 1
            && before.starts_with(['X', 'F', 'G'])
            && before.bytes().all(|b| b.is_ascii_uppercase())
        {
            let spaced: Vec<String> = before.chars().map(String::from).collect();
            error = error.help(format!(
                "`{before}` is a name; operators are words of their own: `{}`",
                spaced.join(" ")
            ));
        } else {
            error = error.help("an expression of the program is written in braces: `{x = 3}`");
        }
        self.error(error);
    }
}
