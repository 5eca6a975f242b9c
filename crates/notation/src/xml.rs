//! The part of XML that WALi writes, read piece by piece: tags with attributes, text, comments.

use std::borrow::Cow;
use std::fmt::Write as _;

use droste_source::Span;
use droste_source::diagnostics::Diagnostic;

use crate::problems::span;

/// An attribute of a tag.
#[derive(Debug)]
pub(crate) struct Attribute<'a> {
    name: &'a str,
    name_place: Span,
    value: Cow<'a, str>,
    value_place: Span,
}

/// A tag that opens an element.
#[derive(Debug)]
pub(crate) struct Tag<'a> {
    pub(crate) name: &'a str,
    pub(crate) place: Span,
    /// Names and values.
    pub(crate) attributes: Vec<Attribute<'a>>,
    /// Whether the element has no content: `<a/>`.
    pub(crate) is_empty: bool,
}

impl Tag<'_> {
    /// The value of an attribute, if it is there.
    pub(crate) fn get(&self, name: &str) -> Option<(&str, Span)> {
        let found = self.attributes.iter().find(|a| a.name == name)?;
        Some((&found.value, found.value_place))
    }

    /// The value of an attribute that must be there.
    pub(crate) fn need(&self, name: &str) -> Result<(&str, Span), Diagnostic> {
        let what = || format!("`<{}>` lacks the attribute `{name}`", self.name);
        self.get(name)
            .ok_or_else(|| Diagnostic::error(self.place, what()))
    }

    /// Only these attributes may be there.
    pub(crate) fn only(&self, names: &[&str]) -> Result<(), Diagnostic> {
        let mut attributes = self.attributes.iter();
        match attributes.find(|a| !names.contains(&a.name)) {
            None => Ok(()),
            Some(foreign) => {
                let what = format!(
                    "`<{}>` may not have an attribute `{}`",
                    self.name, foreign.name
                );
                let error = Diagnostic::error(foreign.name_place, what);
                Err(error.help(format!("it may have {}", names.join(", "))))
            }
        }
    }
}

/// A piece of the text.
#[derive(Debug)]
pub(crate) enum Piece<'a> {
    Open(Tag<'a>),
    /// The end of the innermost element that is open.
    Close,
    /// Text that is not only white space.
    Text(Cow<'a, str>, Span),
    End,
}

/// An XML text.
#[derive(Debug)]
pub(crate) struct Xml<'a> {
    text: &'a str,
    at: usize,
    /// The elements that are open.
    open: Vec<(&'a str, Span)>,
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ':')
}

impl<'a> Xml<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Xml {
            text,
            at: 0,
            open: Vec::new(),
        }
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn skip_space(&mut self) {
        self.at = self.text.len() - self.rest().trim_start().len();
    }

    fn error(&self, what: impl Into<String>) -> Diagnostic {
        let end = self
            .rest()
            .chars()
            .next()
            .map_or(self.at, |c| self.at + c.len_utf8());
        let error = Diagnostic::error(span(self.at, end), what);
        if self.rest().is_empty() {
            error.help("is the file cut short?")
        } else {
            error
        }
    }

    /// Skips up to and with this text.
    fn skip_past(&mut self, end: &str, what: &str) -> Result<(), Diagnostic> {
        let Some(found) = self.rest().find(end) else {
            return Err(self.error(format!("{what} does not end")));
        };
        self.at += found + end.len();
        Ok(())
    }

    fn name(&mut self) -> Result<&'a str, Diagnostic> {
        let rest = self.rest();
        let length = rest.find(|c| !is_name(c)).unwrap_or(rest.len());
        if length == 0 {
            return Err(self.error("expected a name"));
        }
        self.at += length;
        Ok(&rest[..length])
    }

    /// The next piece.
    pub(crate) fn next(&mut self) -> Result<Piece<'a>, Diagnostic> {
        loop {
            let start = self.at;
            let rest = self.rest();
            if rest.starts_with("<!--") {
                self.skip_past("-->", "the comment")?;
            } else if rest.starts_with("<?") {
                self.skip_past("?>", "the instruction")?;
            } else if rest.starts_with("<!DOCTYPE") {
                let end = rest.find(['>', '[']).unwrap_or(rest.len());
                if rest[end..].starts_with('[') {
                    self.at += end;
                    return Err(self.error("declarations inside a document type are not read"));
                }
                self.skip_past(">", "the document type")?;
            } else if let Some(data) = rest.strip_prefix("<![CDATA[") {
                self.skip_past("]]>", "the section")?;
                let text = &data[..self.at - start - "<![CDATA[]]>".len()];
                return Ok(Piece::Text(Cow::Borrowed(text), span(start, self.at)));
            } else if rest.starts_with("</") {
                return self.close();
            } else if rest.starts_with('<') {
                return self.tag().map(Piece::Open);
            } else if rest.is_empty() {
                return match self.open.last() {
                    None => Ok(Piece::End),
                    Some((name, place)) => {
                        let error = self.error(format!("`<{name}>` is not closed"));
                        Err(error.also(*place, "opened here"))
                    }
                };
            } else {
                let length = rest.find('<').unwrap_or(rest.len());
                self.at += length;
                let text = rest[..length].trim();
                if text.is_empty() {
                    continue;
                }
                let begin = start + (length - rest[..length].trim_start().len());
                let place = span(begin, begin + text.len());
                return Ok(Piece::Text(decode(text, begin)?, place));
            }
        }
    }

    fn close(&mut self) -> Result<Piece<'a>, Diagnostic> {
        let start = self.at;
        self.at += 2;
        let name = self.name()?;
        self.skip_space();
        if !self.rest().starts_with('>') {
            return Err(self.error("expected `>`"));
        }
        self.at += 1;
        let place = span(start, self.at);
        match self.open.pop() {
            Some((open, _)) if open == name => Ok(Piece::Close),
            Some((open, at)) => {
                let error =
                    Diagnostic::error(place, format!("`<{open}>` is closed by `</{name}>`"));
                Err(error.also(at, "opened here"))
            }
            None => Err(Diagnostic::error(
                place,
                format!("`</{name}>` closes nothing"),
            )),
        }
    }

    fn tag(&mut self) -> Result<Tag<'a>, Diagnostic> {
        let start = self.at;
        self.at += 1;
        let name = self.name()?;
        let place = span(start, self.at);
        let mut attributes: Vec<Attribute<'_>> = Vec::new();
        loop {
            self.skip_space();
            let rest = self.rest();
            let is_empty = rest.starts_with("/>");
            if is_empty || rest.starts_with('>') {
                self.at += if is_empty { 2 } else { 1 };
                if !is_empty {
                    self.open.push((name, place));
                }
                return Ok(Tag {
                    name,
                    place,
                    attributes,
                    is_empty,
                });
            }
            let key_start = self.at;
            let key = self.name()?;
            let key_place = span(key_start, self.at);
            if attributes.iter().any(|known| known.name == key) {
                return Err(Diagnostic::error(
                    key_place,
                    format!("`{key}` is there twice"),
                ));
            }
            self.skip_space();
            if !self.rest().starts_with('=') {
                return Err(self.error("expected `=`"));
            }
            self.at += 1;
            self.skip_space();
            let Some(quote @ ('"' | '\'')) = self.rest().chars().next() else {
                return Err(self.error("expected a value in quotes"));
            };
            self.at += 1;
            let value_start = self.at;
            let Some(length) = self.rest().find([quote, '<']) else {
                return Err(self.error("the value does not end"));
            };
            let value = &self.rest()[..length];
            self.at += length;
            if !self.rest().starts_with(quote) {
                return Err(self
                    .error("a value has no `<` in it")
                    .help("write it as `&lt;`"));
            }
            self.at += 1;
            let value = decode(value, value_start)?;
            attributes.push(Attribute {
                name: key,
                name_place: key_place,
                value,
                value_place: span(value_start, self.at - 1),
            });
        }
    }
}

/// A text with its entities replaced.
fn decode(text: &str, at: usize) -> Result<Cow<'_, str>, Diagnostic> {
    if !text.contains('&') {
        return Ok(Cow::Borrowed(text));
    }
    let mut decoded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find('&') {
        decoded.push_str(&rest[..start]);
        let place = at + text.len() - rest.len() + start;
        let wrong = || {
            let error = Diagnostic::error(span(place, place + 1), "this is no entity");
            error.help("an `&` is written `&amp;`")
        };
        let end = rest[start..].find(';').ok_or_else(wrong)? + start;
        let c = match &rest[start + 1..end] {
            "lt" => '<',
            "gt" => '>',
            "amp" => '&',
            "quot" => '"',
            "apos" => '\'',
            other => {
                let number = other.strip_prefix('#').ok_or_else(wrong)?;
                let code = match number.strip_prefix('x') {
                    Some(hex) => u32::from_str_radix(hex, 16),
                    None => number.parse(),
                };
                code.ok().and_then(char::from_u32).ok_or_else(wrong)?
            }
        };
        decoded.push(c);
        rest = &rest[end + 1..];
    }
    decoded.push_str(rest);
    Ok(Cow::Owned(decoded))
}

/// A text as it stands in an attribute or between tags.
pub(crate) fn encode(text: &str) -> Cow<'_, str> {
    if !text.contains(|c: char| matches!(c, '<' | '>' | '&' | '"' | '\'') || c.is_control()) {
        return Cow::Borrowed(text);
    }
    let mut encoded = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            '<' => encoded.push_str("&lt;"),
            '>' => encoded.push_str("&gt;"),
            '&' => encoded.push_str("&amp;"),
            '"' => encoded.push_str("&quot;"),
            '\'' => encoded.push_str("&apos;"),
            c if c.is_control() => _ = write!(encoded, "&#{};", u32::from(c)),
            c => encoded.push(c),
        }
    }
    Cow::Owned(encoded)
}
