//! The tokens of the Hanoi omega-automata format.

use droste_source::diagnostics::Diagnostic;
use droste_source::{SourceFile, Span};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// `Name:`.
    Header,
    Identifier,
    /// `@name`.
    Alias,
    Integer,
    String,
    True,
    False,
    Body,
    End,
    Abort,
    OpenBracket,
    CloseBracket,
    OpenBrace,
    CloseBrace,
    Open,
    Close,
    Not,
    And,
    Or,
    /// The end of the file.
    Nothing,
}

/// All tokens of a file, and how far they have been read.
pub(crate) struct Tokens<'a> {
    source: &'a SourceFile,
    list: Vec<(Kind, Span)>,
    at: usize,
}

fn in_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-'
}

impl<'a> Tokens<'a> {
    pub(crate) fn new(source: &'a SourceFile) -> Result<Self, Diagnostic> {
        let text = source.text();
        let mut list = Vec::new();
        let mut at = 0usize;
        while let Some(c) = text[at..].chars().next() {
            let rest = &text[at..];
            let (kind, length) = match c {
                ' ' | '\t' | '\n' | '\r' => {
                    at += 1;
                    continue;
                }
                '/' if rest.starts_with("/*") => {
                    at += comment(rest).ok_or_else(|| {
                        Diagnostic::error(
                            Span::new(at as u32, at as u32 + 2),
                            "this comment is not closed",
                        )
                        .label("there is no `*/` for it; comments nest")
                    })?;
                    continue;
                }
                '"' => {
                    let length = string_length(rest).ok_or_else(|| {
                        let span = Span::new(at as u32, at as u32 + 1);
                        Diagnostic::error(span, "this string is not closed")
                            .label("there is no `\"` for it")
                    })?;
                    (Kind::String, length)
                }
                '[' => (Kind::OpenBracket, 1),
                ']' => (Kind::CloseBracket, 1),
                '{' => (Kind::OpenBrace, 1),
                '}' => (Kind::CloseBrace, 1),
                '(' => (Kind::Open, 1),
                ')' => (Kind::Close, 1),
                '!' => (Kind::Not, 1),
                '&' => (Kind::And, 1),
                '|' => (Kind::Or, 1),
                '@' => {
                    let length = rest[1..].find(|c| !in_name(c)).unwrap_or(rest.len() - 1);
                    (Kind::Alias, length + 1)
                }
                '-' if rest.starts_with("--BODY--") => (Kind::Body, 8),
                '-' if rest.starts_with("--END--") => (Kind::End, 7),
                '-' if rest.starts_with("--ABORT--") => (Kind::Abort, 9),
                '0'..='9' => {
                    let digits = rest.find(|c: char| !c.is_ascii_digit());
                    (Kind::Integer, digits.unwrap_or(rest.len()))
                }
                'a'..='z' | 'A'..='Z' | '_' => {
                    let length = rest.find(|c| !in_name(c)).unwrap_or(rest.len());
                    match &rest[..length] {
                        _ if rest[length..].starts_with(':') => (Kind::Header, length + 1),
                        "t" => (Kind::True, length),
                        "f" => (Kind::False, length),
                        _ => (Kind::Identifier, length),
                    }
                }
                _ => {
                    let span = Span::new(at as u32, (at + c.len_utf8()) as u32);
                    return Err(Diagnostic::error(
                        span,
                        format!("`{c}` is not part of the HOA format"),
                    )
                    .label("not expected outside of strings and comments"));
                }
            };
            list.push((kind, Span::new(at as u32, (at + length) as u32)));
            at += length;
        }
        let tokens = Tokens {
            source,
            list,
            at: 0,
        };
        match tokens.list.iter().find(|token| token.0 == Kind::Abort) {
            Some(&(_, span)) => Err(Diagnostic::error(span, "the automaton is incomplete")
                .label("whoever wrote it gave up here")),
            None => Ok(tokens),
        }
    }

    pub(crate) fn text(&self, span: Span) -> &'a str {
        &self.source.text()[span.start as usize..span.end as usize]
    }

    /// What a string in quotes says.
    pub(crate) fn string(&self, span: Span) -> String {
        let text = self.text(span);
        let mut out = String::with_capacity(text.len());
        let mut characters = text[1..text.len() - 1].chars();
        while let Some(c) = characters.next() {
            // The character after a backslash is meant literally.
            out.extend(if c == '\\' {
                characters.next()
            } else {
                Some(c)
            });
        }
        out
    }

    pub(crate) fn peek(&self) -> Kind {
        self.list
            .get(self.at)
            .map_or(Kind::Nothing, |token| token.0)
    }

    /// Where the next token is.
    pub(crate) fn span(&self) -> Span {
        let end = self.source.text().len() as u32;
        self.list
            .get(self.at)
            .map_or(Span::new(end, end), |token| token.1)
    }

    pub(crate) fn take(&mut self) -> (Kind, Span) {
        let token = (self.peek(), self.span());
        if token.0 != Kind::Nothing {
            self.at += 1;
        }
        token
    }

    /// The number of tokens taken.
    pub(crate) fn place(&self) -> usize {
        self.at
    }

    pub(crate) fn go_to(&mut self, place: usize) {
        self.at = place;
    }

    pub(crate) fn unexpected(&self, kind: Kind, span: Span, expected: &str) -> Diagnostic {
        let found = match kind {
            Kind::Nothing => "the end of the file".to_owned(),
            _ => format!("`{}`", self.text(span)),
        };
        Diagnostic::error(span, format!("expected {expected}, found {found}"))
            .label("not expected here")
    }

    pub(crate) fn expect(&mut self, kind: Kind, expected: &str) -> Result<Span, Diagnostic> {
        let (found, span) = self.take();
        if found == kind {
            Ok(span)
        } else {
            Err(self.unexpected(found, span, expected))
        }
    }

    pub(crate) fn integer(&mut self, expected: &str) -> Result<(u32, Span), Diagnostic> {
        let span = self.expect(Kind::Integer, expected)?;
        Ok((self.number(span)?, span))
    }

    pub(crate) fn number(&self, span: Span) -> Result<u32, Diagnostic> {
        let number = self.text(span).parse().ok().filter(|&n: &u32| n < 1 << 31);
        number.ok_or_else(|| {
            Diagnostic::error(span, "this number is too large").label("numbers are less than 2^31")
        })
    }

    /// Skips what may follow an unknown header; where the last token of it is.
    pub(crate) fn skip_words(&mut self) -> Option<Span> {
        let mut last = None;
        while matches!(
            self.peek(),
            Kind::True | Kind::False | Kind::Integer | Kind::String | Kind::Identifier
        ) {
            last = Some(self.take().1);
        }
        last
    }

    /// Skips a label that is read later.
    pub(crate) fn skip_label(&mut self) {
        while matches!(
            self.peek(),
            Kind::True
                | Kind::False
                | Kind::Integer
                | Kind::Alias
                | Kind::Not
                | Kind::And
                | Kind::Or
                | Kind::Open
                | Kind::Close
        ) {
            self.take();
        }
    }

    pub(crate) fn end_of_file(&mut self) -> Result<(), Diagnostic> {
        match self.take() {
            (Kind::Nothing, _) => Ok(()),
            (_, span) => Err(
                Diagnostic::error(span, "there is something behind the automaton")
                    .label("expected the end of the file")
                    .help("another automaton begins with `HOA: v1`"),
            ),
        }
    }
}

/// The length of a comment, with the comments inside it.
fn comment(rest: &str) -> Option<usize> {
    let bytes = rest.as_bytes();
    let mut open = 0usize;
    let mut at = 0;
    while at + 1 < bytes.len() {
        match &bytes[at..at + 2] {
            b"/*" => {
                open += 1;
                at += 2;
            }
            b"*/" => {
                open -= 1;
                at += 2;
                if open == 0 {
                    return Some(at);
                }
            }
            _ => at += 1,
        }
    }
    None
}

fn string_length(rest: &str) -> Option<usize> {
    let mut escaped = false;
    for (i, byte) in rest.bytes().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return Some(i + 1),
            _ => {}
        }
    }
    None
}
