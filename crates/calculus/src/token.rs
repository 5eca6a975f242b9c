//! From text to tokens.
//!
//! The lexical rules are those of MUCKE 0.5.0, relaxed in two places: carriage returns are white
//! space, and of a run of operator characters the longest known operator is taken (MUCKE wants the
//! whole run to be one operator, so that `x &!y` is an error there). Every legal MUCKE text has the
//! same tokens here. `#quit` is the last word of a file: nothing after it is read.

use droste_source::diagnostics::Diagnostic;
use droste_source::{SourceFile, Span};

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A name that is no keyword; also a command word (`#ons`), which only the parser tells apart.
    Name,
    /// Digits.
    Number,
    /// Text in double quotes.
    Text,
    /// `exists`
    Exists,
    /// `forall`
    Forall,
    /// `if`
    If,
    /// `else`
    Else,
    /// `case`
    Case,
    /// `esac`
    Esac,
    /// `class` or `struct`
    Class,
    /// `enum`
    Enum,
    /// `true`
    True,
    /// `false`
    False,
    /// `mu`
    Mu,
    /// `nu`
    Nu,
    /// `assume`
    Assume,
    /// `cofactor`
    Cofactor,
    /// `show`
    Show,
    /// `witcs` and its long forms
    Witcs,
    /// `alloccs` and its long forms
    Alloccs,
    /// `then` and `fi`: reserved, used nowhere
    Reserved,
    /// `!`
    Not,
    /// `&`
    And,
    /// `|`
    Or,
    /// `->`
    Implies,
    /// `<-`
    Follows,
    /// `<->`
    Iff,
    /// `<+>`
    Xor,
    /// `=`
    Equal,
    /// `!=`
    Differs,
    /// `:`
    Colon,
    /// `?`, used nowhere
    Question,
    /// A character that means nothing; it has been told.
    Unknown,
    /// `<`
    Less,
    /// `>`
    Greater,
    /// `~+`
    Together,
    /// `~-`
    Apart,
    /// `;`
    Semicolon,
    /// `,`
    Comma,
    /// `.`
    Dot,
    /// `(`
    Open,
    /// `)`
    Close,
    /// `[`
    OpenBracket,
    /// `]`
    CloseBracket,
    /// `{`
    OpenBrace,
    /// `}`
    CloseBrace,
    /// The end of the file.
    End,
}

/// A token and its place.
#[derive(Clone, Copy, Debug)]
pub struct Token {
    /// What it is.
    pub kind: Kind,
    /// Where it is.
    pub span: Span,
}

/// Longest first, so that the first match is the longest.
const OPERATORS: [(&str, Kind); 15] = [
    ("<->", Kind::Iff),
    ("<+>", Kind::Xor),
    ("->", Kind::Implies),
    ("<-", Kind::Follows),
    ("!=", Kind::Differs),
    ("~+", Kind::Together),
    ("~-", Kind::Apart),
    ("!", Kind::Not),
    ("&", Kind::And),
    ("|", Kind::Or),
    ("=", Kind::Equal),
    (":", Kind::Colon),
    ("?", Kind::Question),
    ("<", Kind::Less),
    (">", Kind::Greater),
];

/// Where a text ends for its reader, if that is before its end: behind `#quit`.
pub fn quits(text: &str) -> Option<usize> {
    let source = SourceFile::new("", text);
    let last = tokens(&source).0.into_iter().nth_back(1)?;
    let (start, end) = (last.span.start as usize, last.span.end as usize);
    (&text[start..end] == "#quit").then_some(end)
}

/// The tokens of a file, the last of which is [`Kind::End`], and what is wrong with it.
pub fn tokens(source: &SourceFile) -> (Vec<Token>, Vec<Diagnostic>) {
    let text = source.text();
    let bytes = text.as_bytes();
    let mut list = Vec::with_capacity(bytes.len() / 3);
    let mut errors = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let start = at;
        let span = |end: usize| Span::new(start as u32, end as u32);
        match bytes[at] {
            b' ' | b'\t' | b'\n' | b'\r' => at += 1,
            b'/' if bytes.get(at + 1) == Some(&b'/') => {
                at = text[at..].find('\n').map_or(bytes.len(), |n| at + n);
            }
            b'/' if bytes.get(at + 1) == Some(&b'*') => {
                at = if let Some(n) = text[at + 2..].find("*/") {
                    at + 2 + n + 2
                } else {
                    errors.push(
                        Diagnostic::error(span(at + 2), "this comment does not end")
                            .label("begins here")
                            .help("end it with `*/`; comments do not nest"),
                    );
                    bytes.len()
                };
            }
            b'"' => {
                if let Some(n) = text[at + 1..].find('"') {
                    at += n + 2;
                    list.push(Token {
                        kind: Kind::Text,
                        span: span(at),
                    });
                } else {
                    errors.push(
                        Diagnostic::error(span(at + 1), "this string does not end")
                            .label("begins here")
                            .help("end it with `\"`"),
                    );
                    at = bytes.len();
                }
            }
            b'a'..=b'z' | b'A'..=b'Z' | b'_' | b'#' => {
                at += bytes[at..].iter().take_while(|b| continues(**b)).count();
                list.push(Token {
                    kind: word(&text[start..at]),
                    span: span(at),
                });
                if &text[start..at] == "#quit" {
                    break;
                }
            }
            b'0'..=b'9' => {
                at += bytes[at..]
                    .iter()
                    .take_while(|b| b.is_ascii_digit())
                    .count();
                list.push(Token {
                    kind: Kind::Number,
                    span: span(at),
                });
            }
            _ => {
                let kind = punctuation(bytes[at]).map(|kind| (kind, 1)).or_else(|| {
                    let rest = &bytes[at..];
                    OPERATORS
                        .iter()
                        .find(|(name, _)| rest.starts_with(name.as_bytes()))
                        .map(|&(name, kind)| (kind, name.len()))
                });
                if let Some((kind, length)) = kind {
                    at += length;
                    list.push(Token {
                        kind,
                        span: span(at),
                    });
                } else {
                    at += text[at..].chars().next().map_or(1, char::len_utf8);
                    let character = &text[start..at];
                    let mut error = Diagnostic::error(
                        span(at),
                        format!("`{}` has no meaning here", character.escape_debug()),
                    )
                    .label("unknown character");
                    if bytes[start] == b'-' && bytes.get(at).is_some_and(u8::is_ascii_digit) {
                        error = error.help(
                            "there are no negative numbers; a range may begin with any number from 0 on",
                        );
                    } else if matches!(bytes[start], b'+' | b'-' | b'*' | b'/' | b'\\') {
                        error = error.help("the calculus has no arithmetic");
                    } else if bytes[start] == b'~' {
                        error = error.help("negation is written `!`");
                    }
                    errors.push(error);
                    // What it stands in is not to be taken for something else.
                    list.push(Token {
                        kind: Kind::Unknown,
                        span: span(at),
                    });
                }
            }
        }
    }
    let end = at as u32;
    list.push(Token {
        kind: Kind::End,
        span: Span::new(end, end),
    });
    (list, errors)
}

fn continues(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'#' | b'$' | b'\'')
}

fn punctuation(byte: u8) -> Option<Kind> {
    Some(match byte {
        b';' => Kind::Semicolon,
        b',' => Kind::Comma,
        b'.' => Kind::Dot,
        b'(' => Kind::Open,
        b')' => Kind::Close,
        b'[' => Kind::OpenBracket,
        b']' => Kind::CloseBracket,
        b'{' => Kind::OpenBrace,
        b'}' => Kind::CloseBrace,
        _ => return None,
    })
}

fn word(text: &str) -> Kind {
    match text {
        "exists" | "Exists" | "EXISTS" => Kind::Exists,
        "forall" | "Forall" | "FORALL" => Kind::Forall,
        "if" => Kind::If,
        "else" => Kind::Else,
        "case" => Kind::Case,
        "esac" => Kind::Esac,
        "class" | "struct" => Kind::Class,
        "enum" => Kind::Enum,
        "true" => Kind::True,
        "false" => Kind::False,
        "mu" => Kind::Mu,
        "nu" => Kind::Nu,
        "assume" => Kind::Assume,
        "cofactor" => Kind::Cofactor,
        "show" => Kind::Show,
        "witcs" | "witnessconstraint" | "WitnessConstraint" => Kind::Witcs,
        "alloccs" | "allocationConstraint" | "AllocationConstraint" => Kind::Alloccs,
        "then" | "fi" => Kind::Reserved,
        _ => Kind::Name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<Kind> {
        let (list, errors) = tokens(&SourceFile::new("t", text));
        assert!(errors.is_empty(), "{errors:?}");
        list.iter().map(|token| token.kind).collect()
    }

    #[test]
    fn the_longest_known_operator_is_taken() {
        use Kind::{And, Apart, Differs, End, Equal, Follows, Iff, Name, Not, Number};
        assert_eq!(kinds("x &!y"), [Name, And, Not, Name, End]);
        assert_eq!(kinds("x=!y"), [Name, Equal, Not, Name, End]);
        assert_eq!(kinds("a<->b<-c"), [Name, Iff, Name, Follows, Name, End]);
        assert_eq!(
            kinds("x'!=0~-\r\n#y$"),
            [Name, Differs, Number, Apart, Name, End]
        );
    }

    #[test]
    fn nothing_is_read_behind_quit() {
        assert_eq!(quits("x; #quit \u{fffd} #quit"), Some(8));
        assert_eq!(quits("x; /* #quit */ \"#quit\" y"), None);
        assert_eq!(quits(""), None);
        assert_eq!(
            kinds("x; #quit \u{e4} + /* \""),
            [Kind::Name, Kind::Semicolon, Kind::Name, Kind::End]
        );
    }

    #[test]
    fn comments_are_skipped_and_must_end() {
        assert_eq!(kinds("// x\n/* y /* */ \"a\nb\""), [Kind::Text, Kind::End]);
        let (_, errors) = tokens(&SourceFile::new("t", "x /* y"));
        assert_eq!(errors.len(), 1);
    }
}
