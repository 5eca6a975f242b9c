//! Words and signs of the text formats.
//!
//! A bare name ends at white space and at the signs that have a meaning somewhere. Any other name
//! is written in quotes: `"f::g"`, with `\"`, `\\`, `\n`, `\r` and `\t` inside.

use std::borrow::Cow;

use droste_source::Span;
use droste_source::diagnostics::Diagnostic;

use crate::problems::span;

/// A piece of text that is read from left to right.
#[derive(Clone, Debug)]
pub(crate) struct Scanner<'a> {
    text: &'a str,
    at: usize,
    end: usize,
    /// Whether line breaks are white space, and comments end at them.
    lines: bool,
}

/// Which bytes belong to bare names.
const BARE: [bool; 256] = {
    let mut bare = [false; 256];
    let mut byte = 0x21;
    while byte < 256 {
        bare[byte] = !matches!(
            byte as u8,
            b'<' | b'>'
                | b','
                | b'|'
                | b'('
                | b')'
                | b'['
                | b']'
                | b'*'
                | b'+'
                | b'?'
                | b'.'
                | b':'
                | b'^'
                | b'#'
                | b'"'
                | b'@'
                | 0x7f
        );
        byte += 1;
    }
    bare
};

/// Whether a name can be written without quotes.
pub(crate) fn is_bare(name: &str) -> bool {
    !name.is_empty()
        && name.bytes().all(|byte| BARE[byte as usize])
        && !name.contains("->")
        && !name.contains(|c: char| c.is_whitespace() || c.is_control())
}

/// A name as it is written.
pub fn written(name: &str) -> Cow<'_, str> {
    if is_bare(name) {
        return Cow::Borrowed(name);
    }
    let mut quoted = String::with_capacity(name.len() + 2);
    quoted.push('"');
    for c in name.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    Cow::Owned(quoted)
}

impl<'a> Scanner<'a> {
    /// Reads these bytes of a text, which are a line or part of one.
    pub(crate) fn new(text: &'a str, start: usize, end: usize) -> Self {
        Scanner {
            text,
            at: start,
            end,
            lines: false,
        }
    }

    /// Reads all of a text, over line breaks.
    pub(crate) fn free(text: &'a str) -> Self {
        Scanner {
            lines: true,
            ..Scanner::new(text, 0, text.len())
        }
    }

    #[inline]
    fn byte(&self) -> Option<u8> {
        let byte = self.text.as_bytes().get(self.at)?;
        (self.at < self.end).then_some(*byte)
    }

    /// The next byte that is not white space, if anything follows that is no comment.
    #[inline]
    pub(crate) fn peek(&mut self) -> Option<u8> {
        loop {
            match self.byte()? {
                b' ' | b'\t' | b'\r' => self.at += 1,
                b'\n' if self.lines => self.at += 1,
                b'#' if self.lines => {
                    let rest = &self.text[self.at..self.end];
                    self.at += rest.find('\n').unwrap_or(rest.len());
                }
                b'#' => {
                    self.at = self.end;
                    return None;
                }
                byte => return Some(byte),
            }
        }
    }

    /// Where reading goes on.
    pub(crate) fn at(&self) -> usize {
        self.at
    }

    /// Goes on at another place.
    pub(crate) fn jump(&mut self, at: usize) {
        self.at = at;
    }

    /// The text from a place to here.
    pub(crate) fn since(&self, start: usize) -> &'a str {
        &self.text[start..self.at]
    }

    /// Skips this sign if it is next.
    #[inline]
    pub(crate) fn eat(&mut self, sign: u8) -> bool {
        let found = self.peek() == Some(sign);
        self.at += usize::from(found);
        found
    }

    /// Skips this text if it is next.
    pub(crate) fn eat_text(&mut self, text: &str) -> bool {
        self.peek();
        let found = self.text[self.at..self.end].starts_with(text);
        self.at += if found { text.len() } else { 0 };
        found
    }

    /// The place of the next word or sign.
    pub(crate) fn here(&mut self) -> Span {
        let next = self.peek();
        let start = self.at;
        let end = match next {
            None => start,
            Some(byte) if BARE[byte as usize] => {
                let mut ahead = self.clone();
                ahead.bare();
                let sign = usize::from(ahead.at == start) * self.arrow();
                ahead.at + sign
            }
            Some(_) => start + 1,
        };
        span(start, end)
    }

    /// An error at the next word or sign.
    pub(crate) fn expected(&mut self, what: &str) -> Diagnostic {
        let here = self.here();
        let found = match self.peek() {
            None if self.lines => "the text ends".to_owned(),
            None => "the line ends".to_owned(),
            Some(_) => {
                let start = here.start as usize;
                let mut end = (here.end as usize).max(start + 1);
                while !self.text.is_char_boundary(end) {
                    end += 1;
                }
                format!("found `{}`", self.text[start..end].escape_debug())
            }
        };
        Diagnostic::error(here, format!("expected {what}, {found}"))
            .label(format!("expected {what}"))
    }

    /// How long the arrow is that comes next, if one does.
    #[inline]
    fn arrow(&self) -> usize {
        let rest = &self.text.as_bytes()[self.at..self.end];
        let arrows: [&[u8]; 2] = [b"->", b"-->"];
        let next = arrows.into_iter().find(|arrow| rest.starts_with(arrow));
        next.map_or(0, <[u8]>::len)
    }

    /// Reads over a bare name.
    #[inline]
    fn bare(&mut self) {
        let bytes = &self.text.as_bytes()[..self.end];
        while let Some(&byte) = bytes.get(self.at)
            && BARE[byte as usize]
        {
            if byte == b'-' && self.arrow() > 0 {
                return;
            }
            self.at += 1;
        }
    }

    /// A name, bare or in quotes, and its place; nothing if none follows.
    #[inline]
    pub(crate) fn name(&mut self) -> Result<Option<(Cow<'a, str>, Span)>, Diagnostic> {
        let Some(next) = self.peek() else {
            return Ok(None);
        };
        let start = self.at;
        if next == b'"' {
            return self.quoted().map(Some);
        }
        self.bare();
        if self.at == start {
            return Ok(None);
        }
        let name = Cow::Borrowed(&self.text[start..self.at]);
        Ok(Some((name, span(start, self.at))))
    }

    fn quoted(&mut self) -> Result<(Cow<'a, str>, Span), Diagnostic> {
        let start = self.at;
        let rest = &self.text[start + 1..self.end];
        let mut name = String::new();
        let mut chars = rest.char_indices();
        while let Some((place, c)) = chars.next() {
            match c {
                '"' => {
                    self.at = start + place + 2;
                    return Ok((Cow::Owned(name), span(start, self.at)));
                }
                '\\' => match chars.next() {
                    Some((_, c @ ('"' | '\\'))) => name.push(c),
                    Some((_, 'n')) => name.push('\n'),
                    Some((_, 'r')) => name.push('\r'),
                    Some((_, 't')) => name.push('\t'),
                    _ => {
                        let at = start + 1 + place;
                        let error = Diagnostic::error(
                            span(at, at + 1),
                            "a backslash in a name stands before `\"`, `\\`, `n`, `r` or `t`",
                        );
                        return Err(error.help("write a backslash as `\\\\`"));
                    }
                },
                '\n' => break,
                c => name.push(c),
            }
        }
        let error = Diagnostic::error(span(start, start + 1), "the quotes are not closed");
        Err(error.label("opened here"))
    }

    /// Whether line breaks are white space.
    pub(crate) fn is_free(&self) -> bool {
        self.lines
    }

    /// Where the line ends.
    fn line_end(&self) -> usize {
        let rest = &self.text[self.at..self.end];
        self.at + rest.find('\n').unwrap_or(rest.len())
    }

    /// Goes on in the next line.
    pub(crate) fn skip_line(&mut self) {
        self.at = self.line_end();
    }

    /// The rest of the line, without comment and white space around it, and its place.
    pub(crate) fn rest(&mut self) -> (&'a str, Span) {
        let end = self.line_end();
        let text = &self.text[self.at..end];
        let text = text.split('#').next().unwrap_or_default();
        let start = self.at + (text.len() - text.trim_start().len());
        let text = text.trim();
        self.at = end;
        (text, span(start, start + text.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        for name in [
            "a", "", "a b", "f::g", "\"", "\\", "a->b", "-", "->", "é", "x\ny", "#", "a-b", "\t",
        ] {
            let text = written(name).into_owned();
            let mut scanner = Scanner::new(&text, 0, text.len());
            let read = scanner.name().unwrap().unwrap().0;
            assert_eq!(read, name, "{text}");
            assert_eq!(scanner.peek(), None);
        }
    }

    #[test]
    fn signs_end_names() {
        let text = "a->b*# c";
        let mut scanner = Scanner::new(text, 0, text.len());
        assert_eq!(scanner.name().unwrap().unwrap().0, "a");
        assert!(scanner.eat_text("->"));
        assert_eq!(scanner.name().unwrap().unwrap().0, "b");
        assert!(scanner.name().unwrap().is_none());
        assert!(scanner.eat(b'*') && scanner.peek().is_none());
    }
}
