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
        SourceFile {
            name: name.into(),
            text,
            line_starts: line_starts.into(),
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

    /// Where line number `line` (from 1) begins and ends, without its line break; the last line
    /// if there are not so many.
    pub fn line_span(&self, line: u32) -> Span {
        let index = (line.max(1) as usize).min(self.line_starts.len()) - 1;
        let start = self.line_starts[index];
        let end = match self.line_starts.get(index + 1) {
            Some(next) => next - 1,
            None => self.text.len() as u32,
        };
        Span { start, end }
    }

    /// The number of the line (from 1) that a byte offset is in; unlike [`Self::line_column`],
    /// this is quick however long the line.
    pub fn line_number(&self, offset: u32) -> u32 {
        self.line_starts.partition_point(|&start| start <= offset) as u32
    }

    /// Line and column of a byte offset.
    pub fn line_column(&self, offset: u32) -> LineColumn {
        let line = self.line_starts.partition_point(|&start| start <= offset);
        let start = self.line_starts[line - 1] as usize;
        let end = (offset as usize).min(self.text.len());
        let column = self
            .text
            .get(start..end)
            .map_or(end - start, |s| s.chars().count());
        LineColumn {
            line: line as u32,
            column: column as u32 + 1,
        }
    }
}
