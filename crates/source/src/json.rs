//! JSON, read piece by piece: no tree is built, and every piece has a place.
//!
//! The caller says what is expected next. Values that are not needed are skipped without recursion,
//! so that nesting costs no stack. Some tools write commas after the last entry; a lenient reader
//! accepts them.

use std::borrow::Cow;

use crate::Span;
use crate::diagnostics::Diagnostic;

/// The span of these bytes.
fn span(start: usize, end: usize) -> Span {
    Span::new(start as u32, end as u32)
}

/// What kind of value comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `{…}`.
    Object,
    /// `[…]`.
    Array,
    /// `"…"`.
    String,
    /// A number.
    Number,
    /// `true`.
    True,
    /// `false`.
    False,
    /// `null`.
    Null,
}

/// A JSON text.
#[derive(Clone, Debug)]
pub struct Json<'a> {
    text: &'a str,
    at: usize,
    lenient: bool,
}

impl<'a> Json<'a> {
    /// A natural number below this is an [index](Self::index); the last few are left to tables.
    pub const MOST: u32 = u32::MAX - 16;

    /// Reads this text.
    pub fn new(text: &'a str) -> Self {
        Json {
            text,
            at: 0,
            lenient: false,
        }
    }

    /// Reads this text, and accepts a comma after the last entry of an object or array.
    pub fn lenient(text: &'a str) -> Self {
        Json {
            lenient: true,
            ..Json::new(text)
        }
    }

    fn byte(&mut self) -> Option<u8> {
        let bytes = self.text.as_bytes();
        while let Some(b' ' | b'\t' | b'\r' | b'\n') = bytes.get(self.at) {
            self.at += 1;
        }
        bytes.get(self.at).copied()
    }

    /// The place of what comes next.
    pub fn here(&mut self) -> Span {
        let word = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'+' | b'.');
        match self.byte() {
            None => span(self.at, self.at),
            Some(b'"') => {
                let mut ahead = self.clone();
                match ahead.string("") {
                    Ok((_, place)) => place,
                    Err(_) => span(self.at, self.at + 1),
                }
            }
            Some(_) => {
                let rest = &self.text.as_bytes()[self.at..];
                let length = rest.iter().take_while(|byte| word(byte)).count().max(1);
                let mut end = self.at + length;
                while !self.text.is_char_boundary(end) {
                    end += 1;
                }
                span(self.at, end)
            }
        }
    }

    /// An error at what comes next.
    pub fn expected(&mut self, what: &str) -> Diagnostic {
        let here = self.here();
        if here.start == here.end {
            let error = Diagnostic::error(here, format!("expected {what}, but the text ends"));
            return error
                .label(format!("expected {what}"))
                .help("is the file cut short?");
        }
        let found = self.text[here.start as usize..here.end as usize].escape_debug();
        let found = found.take(40).collect::<String>().replace("\\\"", "\"");
        Diagnostic::error(here, format!("expected {what}, found `{found}`"))
            .label(format!("expected {what}"))
    }

    /// What comes next.
    pub fn kind(&mut self) -> Result<Kind, Diagnostic> {
        match self.byte() {
            Some(b'{') => Ok(Kind::Object),
            Some(b'[') => Ok(Kind::Array),
            Some(b'"') => Ok(Kind::String),
            Some(b'-' | b'0'..=b'9') => Ok(Kind::Number),
            Some(b't') => Ok(Kind::True),
            Some(b'f') => Ok(Kind::False),
            Some(b'n') => Ok(Kind::Null),
            _ => Err(self.expected("a value")),
        }
    }

    fn eat(&mut self, sign: u8) -> bool {
        let found = self.byte() == Some(sign);
        self.at += usize::from(found);
        found
    }

    fn word(&mut self, word: &str) -> Result<(), Diagnostic> {
        if !self.text[self.at..].starts_with(word) {
            return Err(self.expected("a value"));
        }
        self.at += word.len();
        Ok(())
    }

    /// `true` or `false`.
    pub fn boolean(&mut self) -> Result<bool, Diagnostic> {
        match self.kind()? {
            Kind::True => self.word("true").map(|()| true),
            Kind::False => self.word("false").map(|()| false),
            _ => Err(self.expected("`true` or `false`")),
        }
    }

    /// A string and its place.
    pub fn string(&mut self, what: &str) -> Result<(Cow<'a, str>, Span), Diagnostic> {
        if self.byte() != Some(b'"') {
            return Err(self.expected(what));
        }
        let start = self.at;
        let bytes = self.text.as_bytes();
        let mut at = start + 1;
        let mut made: Option<String> = None;
        let mut piece = at;
        loop {
            match bytes.get(at) {
                Some(b'"') => break,
                Some(b'\\') => {
                    let made = made.get_or_insert_default();
                    made.push_str(&self.text[piece..at]);
                    let (c, length) = escape(self.text, at)
                        .ok_or_else(|| Diagnostic::error(span(at, at + 1), "this is no escape"))?;
                    made.push(c);
                    at += length;
                    piece = at;
                }
                Some(0..0x20) => {
                    let what = "a control character in a string is written as an escape";
                    return Err(Diagnostic::error(span(at, at + 1), what)
                        .also(span(start, start + 1), "the string begins here"));
                }
                Some(_) => at += 1,
                None => {
                    let error =
                        Diagnostic::error(span(start, start + 1), "the string does not end");
                    return Err(error.help("is the file cut short?"));
                }
            }
        }
        let last = &self.text[piece..at];
        let value = match made {
            Some(made) => Cow::Owned(made + last),
            None => Cow::Borrowed(last),
        };
        self.at = at + 1;
        Ok((value, span(start, self.at)))
    }

    /// The text of a number and its place.
    pub fn number(&mut self, what: &str) -> Result<(&'a str, Span), Diagnostic> {
        if !matches!(self.byte(), Some(b'-' | b'0'..=b'9')) {
            return Err(self.expected(what));
        }
        let here = self.here();
        let text = &self.text[here.start as usize..here.end as usize];
        if !is_number(text) && text.bytes().any(|b| !b.is_ascii_digit()) {
            return Err(self.expected("a number"));
        }
        self.at = here.end as usize;
        Ok((text, here))
    }

    /// A natural number of 32 bits, and its place.
    pub fn index(&mut self, what: &str) -> Result<(u32, Span), Diagnostic> {
        let (text, place) = self.number(what)?;
        match text.parse() {
            Ok(number) if number < Self::MOST => Ok((number, place)),
            _ => Err(Diagnostic::error(
                place,
                format!("expected {what}, found `{text}`"),
            )),
        }
    }

    /// An object: `entry` reads the value of each key.
    pub fn object(
        &mut self,
        what: &str,
        mut entry: impl FnMut(&mut Self, &str, Span) -> Result<(), Diagnostic>,
    ) -> Result<(), Diagnostic> {
        if !self.eat(b'{') {
            return Err(self.expected(what));
        }
        if self.eat(b'}') {
            return Ok(());
        }
        loop {
            let (key, place) = self.string("a key in quotes")?;
            if !self.eat(b':') {
                return Err(self.expected("`:`"));
            }
            entry(self, &key, place)?;
            if self.eat(b'}') {
                return Ok(());
            }
            if !self.eat(b',') {
                return Err(self.expected("`,` or `}`"));
            }
            if self.lenient && self.eat(b'}') {
                return Ok(());
            }
        }
    }

    /// An array: `item` reads each value.
    pub fn array(
        &mut self,
        what: &str,
        mut item: impl FnMut(&mut Self) -> Result<(), Diagnostic>,
    ) -> Result<(), Diagnostic> {
        if !self.eat(b'[') {
            return Err(self.expected(what));
        }
        if self.eat(b']') {
            return Ok(());
        }
        loop {
            item(self)?;
            if self.eat(b']') {
                return Ok(());
            }
            if !self.eat(b',') {
                return Err(self.expected("`,` or `]`"));
            }
            if self.lenient && self.eat(b']') {
                return Ok(());
            }
        }
    }

    /// Reads over a value, whatever it is.
    pub fn skip(&mut self) -> Result<(), Diagnostic> {
        // For each value that is open, whether it is an object.
        let mut open: Vec<bool> = Vec::new();
        loop {
            match self.kind()? {
                Kind::Object => {
                    self.eat(b'{');
                    if !self.eat(b'}') {
                        open.push(true);
                        self.key()?;
                        continue;
                    }
                }
                Kind::Array => {
                    self.eat(b'[');
                    if !self.eat(b']') {
                        open.push(false);
                        continue;
                    }
                }
                Kind::String => _ = self.string("a string")?,
                Kind::Number => _ = self.number("a number")?,
                Kind::True => self.word("true")?,
                Kind::False => self.word("false")?,
                Kind::Null => self.word("null")?,
            }
            // A value is over, and perhaps those around it.
            loop {
                let Some(&object) = open.last() else {
                    return Ok(());
                };
                let close = if object { b'}' } else { b']' };
                let comma = self.eat(b',');
                if comma && !(self.lenient && self.byte() == Some(close)) {
                    if object {
                        self.key()?;
                    }
                    break;
                }
                if !self.eat(close) {
                    return Err(self.expected(if object { "`,` or `}`" } else { "`,` or `]`" }));
                }
                open.pop();
            }
        }
    }

    fn key(&mut self) -> Result<(), Diagnostic> {
        self.string("a key in quotes")?;
        if self.eat(b':') {
            Ok(())
        } else {
            Err(self.expected("`:`"))
        }
    }

    /// Nothing follows.
    pub fn over(&mut self) -> Result<(), Diagnostic> {
        match self.byte() {
            None => Ok(()),
            Some(_) => Err(self.expected("the end of the text")),
        }
    }
}

/// Whether this is a number as JSON writes it, and not too large.
fn is_number(text: &str) -> bool {
    let digits = |text: &'_ str| text.bytes().take_while(u8::is_ascii_digit).count();
    let whole = text.strip_prefix('-').unwrap_or(text);
    let count = digits(whole);
    if count == 0 || count > 1 && whole.starts_with('0') {
        return false;
    }
    let mut rest = &whole[count..];
    if let Some(fraction) = rest.strip_prefix('.') {
        let count = digits(fraction);
        rest = &fraction[count..];
        if count == 0 {
            return false;
        }
    }
    if let Some(exponent) = rest.strip_prefix(['e', 'E']) {
        let exponent = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        let count = digits(exponent);
        rest = &exponent[count..];
        if count == 0 {
            return false;
        }
    }
    rest.is_empty() && text.parse().is_ok_and(f64::is_finite)
}

/// The character that an escape stands for, and how long the escape is.
fn escape(text: &str, at: usize) -> Option<(char, usize)> {
    let simple = match text.as_bytes().get(at + 1)? {
        b'n' => '\n',
        b't' => '\t',
        b'r' => '\r',
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        c @ (b'"' | b'\\' | b'/') => *c as char,
        b'u' => {
            let four = |at: usize| u32::from_str_radix(text.get(at..at + 4)?, 16).ok();
            let first = four(at + 2)?;
            if let Some(c) = char::from_u32(first) {
                return Some((c, 6));
            }
            let second = text.get(at + 6..at + 8).filter(|u| *u == "\\u");
            let second = second.and_then(|_| four(at + 8))?;
            let high = first.checked_sub(0xd800)?;
            let low = second.checked_sub(0xdc00).filter(|low| *low < 0x400)?;
            return Some((char::from_u32(0x10000 + (high << 10) + low)?, 12));
        }
        _ => return None,
    };
    Some((simple, 2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_read() {
        let mut json = Json::new(r#" "aé\n\u0041\ud83d\ude00\"" "#);
        assert_eq!(json.string("").unwrap().0, "aé\nA😀\"");
        assert!(json.over().is_ok());
        for bad in [
            "\"a",
            "\"\\x\"",
            "\"\\ud83d\"",
            "\"\u{1}\"",
            "\"\\u00",
            "\"\\",
        ] {
            assert!(Json::new(bad).string("").is_err(), "{bad}");
        }
    }

    #[test]
    fn numbers_are_told_from_others() {
        for good in ["0", "-0", "10", "1.5", "1e3", "-1.25E-3"] {
            assert!(is_number(good), "{good}");
        }
        for bad in ["", "-", "01", "1.", ".5", "1e", "1e+", "1x", "1e999", "--1"] {
            assert!(!is_number(bad), "{bad}");
        }
    }

    #[test]
    fn values_are_skipped_however_deep_they_are() {
        let deep = format!("{}{}", "[".repeat(1_000_000), "]".repeat(1_000_000));
        let mut json = Json::new(&deep);
        assert!(json.skip().is_ok() && json.over().is_ok());
        let mut json = Json::new(r#"{"a": [1, {"b": null, "c": [true, false, -1.5e3]}], "d": {}}"#);
        assert!(json.skip().is_ok() && json.over().is_ok());
        let mut json = Json::lenient(r#"{"a": [1, {"b": 2,},], "c": [],}"#);
        assert!(json.skip().is_ok() && json.over().is_ok());
        assert!(Json::lenient("[,]").skip().is_err());
        assert!(Json::lenient("[1,,]").skip().is_err());
        for bad in [
            "[1 2]",
            "{\"a\" 1}",
            "{a: 1}",
            "[1,]",
            "[",
            "nul",
            "[1}",
            "01a",
        ] {
            assert!(Json::new(bad).skip().is_err(), "{bad}");
        }
    }
}
