//! Cuts a source text into tokens.
//!
//! The words that no dialect uses as names are tokens of their own; words that mean something
//! only in certain places (`u8`, `call`, `print`, `at`, `state`, …) are ordinary
//! [`TokenKind::Ident`]s which the parser recognises where they matter, so that a
//! generated program may still use them as names. Logos does the fixed part; comments, escaped
//! names such as `{x<y}` and SATABS names with `-` in them depend on what comes later
//! or on the dialect and are finished by the loop in [`lex`].
//!
//! Whatever the input, every byte is read a bounded number of times, and a sequence of bad
//! characters gives one diagnostic.

use logos::Logos;

use droste_source::diagnostics::Diagnostic;
use droste_source::{SourceFile, Span};

/// How ambiguous input is read, where two tools contradict each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// Everything that Bebop, MOPED, GETAFIX and SATABS write; C-like precedence.
    #[default]
    Union,
    /// SATABS and boppo: `-` inside names, and their operator precedence.
    Satabs,
    /// As [`Dialect::Union`], but threads mean what the public version of GETAFIX means by them:
    /// `main` is a thread, the global `atomic` forbids switches, and a call is one step.
    Getafix,
}

/// What is being read: in a monitor, the braces around states are not names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Language {
    Program,
    Monitor,
}

/// A token and where it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    /// What it is.
    pub kind: TokenKind,
    /// Where.
    pub span: Span,
}

/// Kinds of tokens. Synonyms (`&` and `&&`, `!` and `~`, …) are one kind.
#[derive(Logos, Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[logos(skip r"[ \t\r\n\x0b\x0c]+")]
#[allow(
    missing_docs,
    reason = "each variant is the token that is written beside it"
)]
pub enum TokenKind {
    #[token("decl")]
    Decl,
    #[token("begin")]
    Begin,
    #[token("end")]
    End,
    #[token("if")]
    If,
    #[token("then")]
    Then,
    #[token("elsif")]
    Elsif,
    #[token("else")]
    Else,
    #[token("fi")]
    Fi,
    #[token("while")]
    While,
    #[token("do")]
    Do,
    #[token("od")]
    Od,
    #[token("goto")]
    Goto,
    #[token("return")]
    Return,
    #[token("skip")]
    Skip,
    #[token("assert")]
    Assert,
    #[token("assume")]
    Assume,
    #[token("constrain")]
    Constrain,
    #[token("start_thread")]
    StartThread,
    #[token("end_thread")]
    EndThread,
    #[token("atomic_begin")]
    AtomicBegin,
    #[token("atomic_end")]
    AtomicEnd,
    #[token("T", priority = 3)]
    #[token("true")]
    True,
    #[token("F", priority = 3)]
    #[token("false")]
    False,

    /// An identifier, also the words that are special only in some places.
    #[regex(r"[$A-Za-z_][A-Za-z0-9_$#]*")]
    Ident,
    /// `{x<y}`
    Escaped,
    /// Decimal digits: a literal or a label.
    #[regex(r"[0-9]+")]
    Number,
    /// `"text"`, in `print` only.
    #[regex(r#""[^"\n]*""#)]
    Text,
    /// Digits run together with letters; reported, then treated as a name.
    #[regex(r"[0-9]+[A-Za-z_$#][A-Za-z0-9_$#]*")]
    BadNumber,

    #[token(":=")]
    Assign,
    #[token("::")]
    ColonColon,
    #[token(":")]
    Colon,
    #[token(";")]
    Semi,
    #[token(",")]
    Comma,
    #[token("(")]
    LParen,
    #[token(")")]
    RParen,
    #[token("[")]
    LBracket,
    #[token("]")]
    RBracket,
    #[token("{")]
    LBrace,
    #[token("}")]
    RBrace,
    #[token("..")]
    DotDot,
    #[token("'")]
    Quote,
    #[token("*")]
    Star,
    #[token("?")]
    Question,
    #[token("!")]
    #[token("~")]
    Not,
    #[token("&")]
    #[token("&&")]
    And,
    #[token("|")]
    #[token("||")]
    Or,
    #[token("^")]
    Xor,
    #[token("=>")]
    Implies,
    #[token("=")]
    #[token("==")]
    Eq,
    #[token("!=")]
    Ne,
    #[token("<")]
    Lt,
    #[token("<=")]
    Le,
    #[token(">")]
    Gt,
    #[token(">=")]
    Ge,
    #[token("<<")]
    Shl,
    #[token(">>")]
    Shr,
    #[token("+")]
    Plus,
    #[token("-")]
    Minus,
    #[token("/")]
    Slash,
    #[token("%")]
    Percent,

    /// Never leaves [`lex`].
    #[token("//")]
    LineComment,
    /// Never leaves [`lex`].
    #[token("/*")]
    BlockComment,
    /// The end of the text; the last token, and only the last.
    Eof,
}

impl TokenKind {
    /// Whether it is made of letters, so that SATABS may continue it with `-`.
    fn is_word(self) -> bool {
        (self as u8) <= (TokenKind::Ident as u8)
    }
}

/// The tokens of `source`, always ended by one [`TokenKind::Eof`], and what was wrong.
pub fn lex(source: &SourceFile, dialect: Dialect) -> (Vec<Token>, Vec<Diagnostic>) {
    lex_as(source, dialect, Language::Program)
}

pub(crate) fn lex_as(
    source: &SourceFile,
    dialect: Dialect,
    language: Language,
) -> (Vec<Token>, Vec<Diagnostic>) {
    let text = source.text();
    let mut tokens: Vec<Token> = Vec::with_capacity(text.len() / 4 + 1);
    let mut diagnostics = Vec::new();
    let mut lexer = TokenKind::lexer(text);
    // No escaped name begins before this offset: a search that failed ended here.
    let mut no_escape_before = 0;
    let mut bad: Option<Span> = None;

    if text.starts_with('\u{feff}') {
        lexer.bump('\u{feff}'.len_utf8()); // the byte order mark of some editors
    }
    while let Some(result) = lexer.next() {
        let start = lexer.span().start;
        let Ok(mut kind) = result else {
            let span = to_span(lexer.span());
            bad = match bad {
                Some(run) if run.end == span.start => Some(run.to(span)),
                Some(run) => {
                    diagnostics.push(bad_characters(source, run));
                    Some(span)
                }
                None => Some(span),
            };
            continue;
        };
        let rest = lexer.remainder();
        match kind {
            TokenKind::LineComment => {
                lexer.bump(rest.find('\n').unwrap_or(rest.len()));
                continue;
            }
            TokenKind::BlockComment => {
                if let Some(end) = rest.find("*/") {
                    lexer.bump(end + 2);
                } else {
                    diagnostics.push(
                        Diagnostic::error(to_span(lexer.span()), "this comment does not end")
                            .label("begins here")
                            .help("add `*/` where the comment ends"),
                    );
                    lexer.bump(rest.len());
                }
                continue;
            }
            TokenKind::LBrace
                if start >= no_escape_before
                    && !(language == Language::Monitor && opens_block(source, &tokens)) =>
            {
                // `{`, then anything but space, line ends and `}`, at least once, then `}`.
                let stop = rest
                    .find(|c: char| c.is_whitespace() || c == '}')
                    .unwrap_or(rest.len());
                if rest.as_bytes().get(stop) == Some(&b'}') && stop > 0 {
                    lexer.bump(stop + 1);
                    kind = TokenKind::Escaped;
                } else {
                    no_escape_before = start + 1 + stop;
                }
            }
            TokenKind::BadNumber => {
                diagnostics.push(
                    Diagnostic::error(
                        to_span(lexer.span()),
                        format!(
                            "`{}` is neither a number nor a name",
                            crop(lexer.slice(), 40)
                        ),
                    )
                    .help("a name begins with a letter, `_` or `$`"),
                );
                kind = TokenKind::Ident;
            }
            _ if dialect == Dialect::Satabs && kind.is_word() => {
                let more = rest
                    .bytes()
                    .position(|b| {
                        !(b.is_ascii_alphanumeric() || matches!(b, b'_' | b'$' | b'#' | b'-'))
                    })
                    .unwrap_or(rest.len());
                if more > 0 {
                    lexer.bump(more);
                    kind = TokenKind::Ident;
                }
            }
            _ => {}
        }
        tokens.push(Token {
            kind,
            span: to_span(lexer.span()),
        });
    }
    if let Some(run) = bad {
        diagnostics.push(bad_characters(source, run));
    }
    let end = text.len() as u32;
    tokens.push(Token {
        kind: TokenKind::Eof,
        span: Span::new(end, end),
    });
    (tokens, diagnostics)
}

/// Whether a `{` after these tokens opens the block of `monitor NAME` or `state NAME`.
fn opens_block(source: &SourceFile, tokens: &[Token]) -> bool {
    let [.., word, name] = tokens else {
        return false;
    };
    matches!(name.kind, TokenKind::Ident | TokenKind::Escaped)
        && matches!(source.slice(word.span), "monitor" | "state")
}

fn to_span(range: std::ops::Range<usize>) -> Span {
    Span::new(range.start as u32, range.end as u32)
}

/// The first `most` characters of `text`.
pub(crate) fn crop(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

fn bad_characters(source: &SourceFile, span: Span) -> Diagnostic {
    let text = source.slice(span);
    let first = text.chars().next().unwrap_or(' ');
    if first == '"' {
        return Diagnostic::error(span, "this text does not end on its line")
            .help("text in double quotes may stand in `print` only; it does nothing");
    }
    let many = text.chars().nth(1).is_some();
    let shown = crop(text, 10).escape_debug().to_string();
    let message = match (first.is_ascii(), many) {
        (true, false) => format!("unknown character `{shown}`"),
        (true, true) => format!("unknown characters `{shown}`"),
        (false, false) => {
            format!("the character `{shown}` is not ASCII and stands outside a comment")
        }
        (false, true) => {
            format!("the characters `{shown}` are not ASCII and stand outside a comment")
        }
    };
    let diagnostic = Diagnostic::error(span, message);
    let ascii = match first {
        '¬' => "!",
        '∧' => "&",
        '∨' => "|",
        '→' | '⇒' => "=>",
        '≤' => "<=",
        '≥' => ">=",
        '≠' => "!=",
        '−' | '–' => "-",
        '≔' | '←' => ":=",
        '⊕' => "^",
        _ => return diagnostic,
    };
    diagnostic.help(format!("write `{ascii}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str, dialect: Dialect) -> Vec<TokenKind> {
        let source = SourceFile::new("test", text);
        let (tokens, diagnostics) = lex(&source, dialect);
        assert_eq!(diagnostics, [], "{text:?}");
        tokens.iter().map(|t| t.kind).collect()
    }

    fn slices(text: &str, dialect: Dialect) -> Vec<String> {
        let source = SourceFile::new("test", text);
        let (tokens, _) = lex(&source, dialect);
        tokens
            .iter()
            .map(|t| source.slice(t.span).to_owned())
            .collect()
    }

    fn errors(text: &str) -> Vec<(Span, String)> {
        let (_, diagnostics) = lex(&SourceFile::new("test", text), Dialect::Union);
        diagnostics
            .into_iter()
            .map(|d| (d.primary.0, d.message))
            .collect()
    }

    #[test]
    fn names_may_contain_dollar_and_hash() {
        assert_eq!(
            slices("$a _b a#1$ T1 goto2", Dialect::Union),
            ["$a", "_b", "a#1$", "T1", "goto2", ""]
        );
        assert_eq!(
            kinds("T1 goto2 T goto", Dialect::Union),
            [
                TokenKind::Ident,
                TokenKind::Ident,
                TokenKind::True,
                TokenKind::Goto,
                TokenKind::Eof
            ]
        );
    }

    #[test]
    fn minus_belongs_to_names_in_satabs_only() {
        assert_eq!(
            slices("a-b goto-x - 1", Dialect::Satabs),
            ["a-b", "goto-x", "-", "1", ""]
        );
        assert_eq!(kinds("goto-x", Dialect::Satabs)[0], TokenKind::Ident);
        assert_eq!(
            slices("a-b goto-x", Dialect::Union),
            ["a", "-", "b", "goto", "-", "x", ""]
        );
    }

    #[test]
    fn escaped_names_keep_their_braces() {
        assert_eq!(
            slices("{x<y} {*p==0} { a } {} {{x} {a}b", Dialect::Union),
            [
                "{x<y}", "{*p==0}", "{", "a", "}", "{", "}", "{{x}", "{a}", "b", ""
            ]
        );
    }

    #[test]
    fn comments_and_carriage_returns_are_white_space() {
        assert_eq!(
            slices(
                "a // é /* \r\n b /* \u{2264} \n * / */ c //",
                Dialect::Union
            ),
            ["a", "b", "c", ""]
        );
        assert_eq!(slices("\u{feff}a", Dialect::Union), ["a", ""]);
    }

    #[test]
    fn synonyms_are_one_token() {
        use TokenKind::*;
        assert_eq!(
            kinds(
                "& && | || ! ~ = == => <= << :: := : .. 0..3",
                Dialect::Union
            ),
            [
                And, And, Or, Or, Not, Not, Eq, Eq, Implies, Le, Shl, ColonColon, Assign, Colon,
                DotDot, Number, DotDot, Number, Eof
            ]
        );
    }

    #[test]
    fn bad_characters_are_reported_once_per_run() {
        assert_eq!(
            errors("a @@ b"),
            [(Span::new(2, 4), "unknown characters `@@`".to_owned())]
        );
        let found = errors("a ≤ b # é");
        assert_eq!(found.len(), 3);
        assert_eq!(found[0].0, Span::new(2, 5));
        assert!(found[0].1.contains("not ASCII"), "{found:?}");
        assert_eq!(errors("{é≤\u{1f980}} {a\u{a0}b}").len(), 1, "a space");
        assert_eq!(
            errors("a /* b"),
            [(Span::new(2, 4), "this comment does not end".to_owned())]
        );
        assert_eq!(errors("12a").len(), 1);
        assert_eq!(errors("\"abc\n").len(), 1);
    }

    #[test]
    fn unclosed_braces_take_linear_time() {
        let text = "{".repeat(300_000);
        let (tokens, _) = lex(&SourceFile::new("test", text), Dialect::Union);
        assert_eq!(tokens.len(), 300_001);
    }

    #[test]
    fn braces_around_monitor_states_are_not_names() {
        let source = SourceFile::new("test", "monitor m {state a{x} {b}");
        let (tokens, _) = lex_as(&source, Dialect::Union, Language::Monitor);
        let slices: Vec<_> = tokens.iter().map(|t| source.slice(t.span)).collect();
        assert_eq!(
            slices,
            ["monitor", "m", "{", "state", "a", "{", "x", "}", "{b}", ""]
        );
    }
}
