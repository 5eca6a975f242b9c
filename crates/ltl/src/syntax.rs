//! Atoms and tokens: what formulas are written with.
//!
//! The logic knows nothing of programs. An [`Atom`] is a piece of text with a kind and a place;
//! whoever has a program gives it a meaning. Operators come in the spellings of Spin, Spot and
//! LTL2BA: docs/LTL.md has the table.

use std::fmt;

use droste_source::Span;
use droste_source::diagnostics::Diagnostic;
use rustc_hash::FxHashMap;

use droste_automata::formula::AtomId;

/// How an atom was written, which says how it is to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum AtomKind {
    /// A bare name: a Boolean global or a label.
    Name,
    /// `{text}`, `"text"` or `'text'`: an expression in the program's own syntax.
    Expression,
    /// `var(x)`: a variable, whatever else has that name.
    Var,
    /// `at(LABEL)` or `at(proc:LABEL)`: control is at the label.
    At,
    /// `in(proc)`: control is in the procedure.
    In,
    /// `terminated`: the program has ended.
    Terminated,
}

/// A proposition as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Atom {
    /// How to read it.
    pub kind: AtomKind,
    /// The name or expression, without braces, quotes or parentheses around it. For
    /// `at(proc:LABEL)` it is `proc:LABEL`; for `terminated` that word.
    pub text: String,
    /// Where it is used first, braces and all.
    pub span: Span,
    /// Where [`text`](Self::text) is, in that use: errors in an expression can be shown inside it.
    pub text_span: Span,
}

impl fmt::Display for Atom {
    /// As it can be written in a formula.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = &self.text;
        match self.kind {
            AtomKind::Name | AtomKind::Terminated => f.write_str(text),
            AtomKind::Var => write!(f, "var({text})"),
            AtomKind::At => write!(f, "at({text})"),
            AtomKind::In => write!(f, "in({text})"),
            AtomKind::Expression if balanced(text) => write!(f, "{{{text}}}"),
            AtomKind::Expression if !text.contains('"') => write!(f, "\"{text}\""),
            AtomKind::Expression => write!(f, "'{text}'"),
        }
    }
}

/// Whether every brace in a text has its partner, so that the text can stand in braces.
fn balanced(text: &str) -> bool {
    let mut open = 0usize;
    for byte in text.bytes() {
        match byte {
            b'{' => open += 1,
            b'}' if open == 0 => return false,
            b'}' => open -= 1,
            _ => {}
        }
    }
    open == 0
}

/// The distinct atoms of some formulas, numbered in the order of first use.
#[derive(Clone, Debug, Default)]
pub struct Atoms {
    list: Vec<Atom>,
    ids: FxHashMap<(AtomKind, String), AtomId>,
}

impl Atoms {
    /// None yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// All of them; an [`AtomId`] is an index.
    pub fn list(&self) -> &[Atom] {
        &self.list
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// One of them.
    pub fn get(&self, id: AtomId) -> &Atom {
        &self.list[id.0 as usize]
    }

    /// The number of an atom, which is added if it is new.
    pub fn intern(&mut self, atom: Atom) -> AtomId {
        let next = AtomId(u32::try_from(self.list.len()).expect("fewer than 2^32 atoms"));
        let key = (atom.kind, atom.text.clone());
        let id = *self.ids.entry(key).or_insert(next);
        if id == next {
            self.list.push(atom);
        }
        id
    }
}

/// What a text consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Token {
    /// An identifier that is no operator and no constant.
    Word,
    /// Braces or quotes, with what is between them.
    Raw,
    True,
    False,
    Not,
    Next,
    Finally,
    Globally,
    Until,
    Release,
    WeakUntil,
    StrongRelease,
    And,
    Or,
    Xor,
    Implies,
    Iff,
    Open,
    Close,
    Colon,
    ColonColon,
    Semicolon,
}

/// Symbols, longest first.
const SYMBOLS: [(&str, Token); 28] = [
    ("<->", Token::Iff),
    ("<=>", Token::Iff),
    ("->", Token::Implies),
    ("=>", Token::Implies),
    ("&&", Token::And),
    ("/\\", Token::And),
    ("||", Token::Or),
    ("\\/", Token::Or),
    ("[]", Token::Globally),
    ("<>", Token::Finally),
    ("::", Token::ColonColon),
    ("&", Token::And),
    ("|", Token::Or),
    ("^", Token::Xor),
    ("!", Token::Not),
    ("~", Token::Not),
    ("(", Token::Open),
    (")", Token::Close),
    (":", Token::Colon),
    (";", Token::Semicolon),
    ("¬", Token::Not),
    ("∧", Token::And),
    ("∨", Token::Or),
    ("→", Token::Implies),
    ("↔", Token::Iff),
    ("□", Token::Globally),
    ("◇", Token::Finally),
    ("○", Token::Next),
];

/// The operators and constants that are words.
pub(crate) fn reserved(word: &str) -> Option<Token> {
    Some(match word {
        "X" => Token::Next,
        "F" => Token::Finally,
        "G" => Token::Globally,
        "U" => Token::Until,
        "R" | "V" => Token::Release,
        "W" => Token::WeakUntil,
        "M" => Token::StrongRelease,
        "xor" => Token::Xor,
        "true" | "1" => Token::True,
        "false" | "0" => Token::False,
        _ => return None,
    })
}

/// A name that begins with unary operators: how it is written if they are meant as such, and what
/// they are then applied to. `Fq` may be meant as `F q`.
pub fn run_together(name: &str) -> Option<(String, &str)> {
    let rest = name.trim_start_matches(['X', 'F', 'G']);
    let operators = &name[..name.len() - rest.len()];
    if operators.is_empty() || !rest.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
        return None;
    }
    let spaced: String = operators.chars().flat_map(|c| [c, ' ']).collect();
    Some((format!("{spaced}{rest}"), rest))
}

/// Warnings about names that may be meant as operators and a name, such as `Fq`, where there is no
/// program to ask: what follows the operators is an atom elsewhere, or a lower-case letter, perhaps
/// with digits.
pub fn warnings(atoms: &Atoms) -> Vec<Diagnostic> {
    let named = |name: &str| {
        let mut list = atoms.list().iter();
        list.any(|atom| atom.kind == AtomKind::Name && atom.text == name)
    };
    let textbook = |rest: &str| {
        let (first, digits) = rest.split_at(1);
        first.bytes().all(|b| b.is_ascii_lowercase()) && digits.bytes().all(|b| b.is_ascii_digit())
    };
    let names = atoms.list().iter().filter(|a| a.kind == AtomKind::Name);
    let suspects = names.filter_map(|atom| {
        let (spaced, rest) = run_together(&atom.text)?;
        (named(rest) || textbook(rest)).then_some((atom, spaced))
    });
    let warning = |(atom, spaced): (&Atom, String)| {
        let name = &atom.text;
        Diagnostic::warning(atom.span, format!("`{name}` is one name"))
            .label("operators are words of their own")
            .help(format!(
                "write `{spaced}` for the operator, `{{{name}}}` for the name"
            ))
    };
    suspects.map(warning).collect()
}

/// The same characters as in the names of Boolean programs.
pub(crate) fn in_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '#')
}

/// Cuts `text` into tokens; `offset` is where it begins in its file. With `comments`, what follows
/// `#` (at the beginning of a word) or `//` is skipped up to the end of the line.
pub(crate) fn tokens(
    text: &str,
    offset: u32,
    comments: bool,
    diagnostics: &mut Vec<Diagnostic>,
) -> Vec<(Token, Span)> {
    let mut tokens = Vec::new();
    let mut at = 0usize;
    let span = |from: usize, to: usize| Span::new(offset + from as u32, offset + to as u32);
    while let Some(c) = text[at..].chars().next() {
        let rest = &text[at..];
        if c.is_whitespace() {
            at += c.len_utf8();
        } else if comments && (c == '#' || rest.starts_with("//")) {
            at += rest.find('\n').unwrap_or(rest.len());
        } else if in_word(c) && c != '#' {
            let length = rest.find(|c| !in_word(c)).unwrap_or(rest.len());
            let word = &rest[..length];
            let place = span(at, at + length);
            at += length;
            if let Some(token) = reserved(word) {
                tokens.push((token, place));
            } else {
                // Labels of Boolean programs may be numbers.
                let is_at = |&(token, place): &(Token, Span)| {
                    let word = (place.start - offset) as usize..(place.end - offset) as usize;
                    token == Token::Word && &text[word] == "at"
                };
                let is_label = match tokens.as_slice() {
                    [.., at, (Token::Open, _)]
                    | [.., at, (Token::Open, _), _, (Token::Colon, _)] => is_at(at),
                    _ => false,
                };
                if c.is_ascii_digit() && !is_label {
                    diagnostics.push(
                        Diagnostic::error(place, format!("`{word}` is not a proposition"))
                            .label("a name does not begin with a digit")
                            .help("`0` and `1` are false and true; a comparison is written in braces: `{x = 3}`"),
                    );
                }
                tokens.push((Token::Word, place));
            }
        } else if let Some(length) = raw_length(rest) {
            match length {
                Ok(length) => {
                    let place = span(at, at + length);
                    if rest[1..length - 1].trim().is_empty() {
                        diagnostics.push(
                            Diagnostic::error(place, "there is no expression here")
                                .label("empty")
                                .help("write an expression of the program between them: `{x = 3}`"),
                        );
                    }
                    tokens.push((Token::Raw, place));
                    at += length;
                }
                Err(close) => {
                    diagnostics.push(
                        Diagnostic::error(span(at, at + 1), format!("this `{c}` is not closed"))
                            .label(format!("there is no `{close}` for it"))
                            .help(format!("end the expression with `{close}`")),
                    );
                    // What was meant to be inside is no formula.
                    tokens.push((Token::Raw, span(at, text.len())));
                    at = text.len();
                }
            }
        } else if let Some((symbol, token)) = SYMBOLS.iter().find(|(s, _)| rest.starts_with(s)) {
            tokens.push((*token, span(at, at + symbol.len())));
            at += symbol.len();
        } else {
            let place = span(at, at + c.len_utf8());
            at += c.len_utf8();
            let error = Diagnostic::error(place, format!("`{c}` is not part of a formula"));
            diagnostics.push(match c {
                '=' | '<' | '>' | '+' | '*' | '?' => error
                    .label("no operator of the logic")
                    .help("an expression of the program is written in braces: `{x = 3}`"),
                '}' => error.label("there is no `{` for it"),
                '-' => error.label("`->` is implication"),
                _ => error.label("not expected anywhere"),
            });
        }
        if diagnostics.len() >= crate::parser::MOST_ERRORS {
            break;
        }
    }
    tokens
}

/// If `rest` begins with braces or quotes: their length, or what would close them.
fn raw_length(rest: &str) -> Option<Result<usize, char>> {
    match rest.as_bytes()[0] {
        b'{' => {
            let mut open = 0usize;
            for (i, byte) in rest.bytes().enumerate() {
                match byte {
                    b'{' => open += 1,
                    b'}' => open -= 1,
                    _ => {}
                }
                if open == 0 {
                    return Some(Ok(i + 1));
                }
            }
            Some(Err('}'))
        }
        quote @ (b'"' | b'\'') => {
            let quote = quote as char;
            Some(match rest[1..].find(quote) {
                Some(length) => Ok(length + 2),
                None => Err(quote),
            })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{Atoms, tokens};
    use crate::parser::parse_text;
    use droste_automata::formula::Formulas;

    #[test]
    fn labels_may_be_numbers() {
        let (mut formulas, mut atoms) = (Formulas::new(), Atoms::new());
        for text in ["F at(12)", "at(f:12) U at(g:0)", "at(1)"] {
            let parsed = parse_text(text, &mut formulas, &mut atoms);
            assert!(parsed.is_ok(), "{text}: {parsed:?}");
        }
        for text in ["F 12", "var(12)", "at(x) 12", "(12)"] {
            let mut diagnostics = Vec::new();
            tokens(text, 0, false, &mut diagnostics);
            assert_eq!(diagnostics.len(), 1, "{text}");
        }
    }
}
