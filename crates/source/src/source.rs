//! Source files, and positions in them.

use std::sync::Arc;

/// A half-open range of bytes in a source file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Span {
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// From `start` up to, not including, `end`.
    pub fn new(start: u32, end: u32) -> Self {
        Span { start, end }
    }

    /// The least span that covers both.
    #[must_use]
    pub fn to(self, other: Span) -> Span {
        Span {
            start: self.start.min(other.start),
            end: self.end.max(other.end),
        }
    }
}

/// A line and a column, both counted from 1; the column counts characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LineColumn {
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1.
    pub column: u32,
}

/// A file's name and text.
#[derive(Clone, Debug)]
pub struct SourceFile {
    name: Arc<str>,
    text: Arc<str>,
    line_starts: Arc<[u32]>,
    /// How many characters begin before each multiple of [`EVERY`].
    characters: Arc<[u32]>,
}

/// How many bytes there are between two places up to which characters have been counted.
const EVERY: usize = 512;

/// How many characters begin in these bytes of a text.
fn characters(bytes: &[u8]) -> u32 {
    bytes.iter().filter(|&&b| b & 0xC0 != 0x80).count() as u32
}

impl SourceFile {
    /// The largest file that is read, in bytes (spans are 32-bit).
    pub const LARGEST: usize = 1 << 31;

    /// Wraps `text`, which must not be longer than [`Self::LARGEST`].
    pub fn new(name: impl Into<Arc<str>>, text: impl Into<Arc<str>>) -> Self {
        let text: Arc<str> = text.into();
        assert!(
            text.len() <= Self::LARGEST,
            "source files are limited to 2 GiB"
        );
        let mut line_starts = vec![0];
        line_starts.extend(
            text.bytes()
                .enumerate()
                .filter(|&(_, b)| b == b'\n')
                .map(|(i, _)| i as u32 + 1),
        );
        let counts = text.as_bytes().chunks(EVERY).scan(0, |sum, chunk| {
            *sum += characters(chunk);
            Some(*sum)
        });
        let characters = std::iter::once(0).chain(counts).collect();
        SourceFile {
            name: name.into(),
            text,
            line_starts: line_starts.into(),
            characters,
        }
    }

    /// The name as given: a path, or `<input>`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The whole text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The text of `span`.
    pub fn slice(&self, span: Span) -> &str {
        self.text
            .get(span.start as usize..span.end as usize)
            .unwrap_or("")
    }

    /// Where line number `line` (from 1) begins and ends, without its line break; the last line if
    /// there are fewer lines.
    pub fn line_span(&self, line: u32) -> Span {
        let index = (line.max(1) as usize).min(self.line_starts.len()) - 1;
        let start = self.line_starts[index];
        let end = match self.line_starts.get(index + 1) {
            Some(next) => next - 1,
            None => self.text.len() as u32,
        };
        Span { start, end }
    }

    /// The number of the line (from 1) that a byte offset is in.
    pub fn line_number(&self, offset: u32) -> u32 {
        self.line_starts.partition_point(|&start| start <= offset) as u32
    }

    /// Line and column of a byte offset. This is quick however long the line is.
    pub fn line_column(&self, offset: u32) -> LineColumn {
        let line = self.line_number(offset);
        let start = self.line_starts[line as usize - 1];
        LineColumn {
            line,
            column: self.characters_before(offset) - self.characters_before(start) + 1,
        }
    }

    /// How many characters begin before a byte offset.
    fn characters_before(&self, offset: u32) -> u32 {
        let offset = (offset as usize).min(self.text.len());
        let counted = offset / EVERY;
        let rest = &self.text.as_bytes()[counted * EVERY..offset];
        self.characters[counted] + characters(rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_characters() {
        let text = format!(
            "{}\n{}é\n",
            "xéß€𝄞\u{301}".repeat(300),
            "é".repeat(EVERY / 2)
        );
        let source = SourceFile::new("test", text.as_str());
        let (mut line, mut column) = (1, 1);
        for (offset, c) in text.char_indices() {
            let expected = LineColumn { line, column };
            assert_eq!(source.line_column(offset as u32), expected);
            (line, column) = match c {
                '\n' => (line + 1, 1),
                _ => (line, column + 1),
            };
        }
        let end = LineColumn { line, column };
        assert_eq!(source.line_column(text.len() as u32), end);
        assert_eq!(source.line_column(u32::MAX), end);
    }

    /// 700,000 columns in a line of four million bytes.
    #[test]
    fn long_lines_are_no_trouble() {
        let text = "g:=é;".repeat(700_000);
        let source = SourceFile::new("test", text.as_str());
        for statement in 0..700_000 {
            let at = source.line_column(statement * 6);
            assert_eq!(at.column, statement * 5 + 1);
        }
    }
}
