//! Errors and warnings with a place in the source, and how they are shown.
//!
//! [`render`] has `annotate-snippets` do the drawing, which processes every line it is given; so it
//! gets only the lines around the marked places, and of a very long line only the part around the
//! mark. That keeps the cost of a message independent of the size of the file.

use std::ops::Range;

use annotate_snippets::{
    Annotation, AnnotationKind, Level, Padding, Renderer, Snippet, normalize_untrusted_str,
};

use crate::source::{SourceFile, Span};

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The program is accepted.
    Warning,
    /// The program is refused.
    Error,
}

/// What a message is about, for callers that can add to it. The words of a message are for people
/// and may change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum DiagnosticKind {
    /// Any other kind.
    #[default]
    Other,
    /// A name in a property that means nothing in the program.
    UnknownName(String),
    /// The name of a local variable, in a property that does not say of which procedure.
    LocalName {
        /// A procedure that has such a variable.
        procedure: String,
        /// The variable.
        name: String,
    },
    /// A division in a property whose divisor may be zero.
    MayDivideByZero,
    /// An expression with these names that the dialects read differently, unless some of them are
    /// integers.
    ReadDifferently(Vec<String>),
}

/// One message to the user.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "push it to the list of diagnostics"]
pub struct Diagnostic {
    /// Error or warning.
    pub severity: Severity,
    /// What it is about; boxed, because a diagnostic is the error of many functions.
    pub kind: Box<DiagnosticKind>,
    /// What is wrong, one line, no full stop.
    pub message: String,
    /// Where, and what to say under the marked text (may be empty).
    pub primary: (Span, String),
    /// Other places worth showing, with what to say under each.
    pub secondary: Vec<(Span, String)>,
    /// How to fix it, one line each.
    pub help: Vec<String>,
}

impl Diagnostic {
    /// An error at `span`.
    pub fn error(span: Span, message: impl Into<String>) -> Self {
        Self::new(Severity::Error, span, message)
    }

    /// A warning at `span`.
    pub fn warning(span: Span, message: impl Into<String>) -> Self {
        Self::new(Severity::Warning, span, message)
    }

    fn new(severity: Severity, span: Span, message: impl Into<String>) -> Self {
        Diagnostic {
            severity,
            kind: Box::default(),
            message: shortened(message.into()),
            primary: (span, String::new()),
            secondary: Vec::new(),
            help: Vec::new(),
        }
    }

    /// What the message is about.
    pub fn kind(mut self, kind: DiagnosticKind) -> Self {
        self.kind = Box::new(kind);
        self
    }

    /// What to say under the marked text.
    pub fn label(mut self, text: impl Into<String>) -> Self {
        self.primary.1 = shortened(text.into());
        self
    }

    /// Another place to show.
    pub fn also(mut self, span: Span, text: impl Into<String>) -> Self {
        self.secondary.push((span, shortened(text.into())));
        self
    }

    /// How to fix it.
    pub fn help(mut self, text: impl Into<String>) -> Self {
        self.help.push(shortened(text.into()));
        self
    }

    /// The same about a text that begins at `offset` of the source.
    pub fn shifted(mut self, offset: u32) -> Self {
        let shift = |span: Span| {
            let (start, end) = (span.start, span.end);
            Span::new(start.saturating_add(offset), end.saturating_add(offset))
        };
        self.primary.0 = shift(self.primary.0);
        for (span, _) in &mut self.secondary {
            *span = shift(*span);
        }
        self
    }
}

/// How many bytes a message has at most. It may name something from the source, and a name may be a
/// whole file.
const LONGEST: usize = 2000;

/// A text, or its beginning and its end.
fn shortened(text: String) -> String {
    if text.len() <= LONGEST {
        return text;
    }
    let (mut begin, mut end) = (LONGEST / 2, text.len() - LONGEST / 4);
    while !text.is_char_boundary(begin) {
        begin -= 1;
    }
    while !text.is_char_boundary(end) {
        end += 1;
    }
    format!("{}…{}", &text[..begin], &text[end..])
}

/// A marked place with more lines than this is marked on its first line only.
const MOST_LINES: u32 = 8;
/// Places further apart than this many lines are shown in separate excerpts.
const WIDEST_GAP: u32 = 8;
/// Of a line longer than this many bytes only a part is shown.
const LONGEST_LINE: u32 = 300;
/// How many bytes of a long line are shown before and after the mark.
const BEFORE_MARK: u32 = 60;
const AFTER_MARK: u32 = 180;

/// The messages as text, each with the lines it is about, in the style of `rustc`.
///
/// Spans need not make sense: they are clipped to the text.
pub fn render(diagnostics: &[Diagnostic], source: &SourceFile, color: bool) -> String {
    let renderer = if color {
        Renderer::styled()
    } else {
        Renderer::plain()
    };
    let name = normalize_untrusted_str(source.name());
    let mut out = String::new();
    for (i, diagnostic) in diagnostics.iter().enumerate() {
        if i > 0 {
            out.push_str("\n\n");
        }
        let marks = marks(diagnostic, source);
        let excerpts: Vec<Excerpt> = excerpts(&marks)
            .into_iter()
            .map(|lines| Excerpt::new(source, lines, &marks))
            .collect();
        let level = match diagnostic.severity {
            Severity::Warning => Level::WARNING,
            Severity::Error => Level::ERROR,
        };
        let mut group = level
            .primary_title(normalize_untrusted_str(&diagnostic.message))
            .elements(std::iter::empty::<Padding>());
        for excerpt in &excerpts {
            group = group.element(excerpt.snippet(&marks).path(&name[..]));
        }
        for help in &diagnostic.help {
            group = group.element(Level::HELP.message(normalize_untrusted_str(help)));
        }
        let mut shown = renderer.render(&[group]);
        for excerpt in &excerpts {
            excerpt.correct_column(source, &name, &mut shown);
        }
        out.push_str(&shown);
    }
    if !out.is_empty() {
        out.push('\n');
    }
    out
}

/// A marked place, with sensible bounds.
struct Mark<'a> {
    primary: bool,
    span: Span,
    /// First and last line.
    lines: Range<u32>,
    label: &'a str,
}

fn marks<'a>(diagnostic: &'a Diagnostic, source: &SourceFile) -> Vec<Mark<'a>> {
    let text = source.text();
    let clip = |offset: u32| {
        let mut offset = (offset as usize).min(text.len());
        while !text.is_char_boundary(offset) {
            offset -= 1;
        }
        offset as u32
    };
    let mut marks = Vec::new();
    for (span, label) in std::iter::once(&diagnostic.primary).chain(&diagnostic.secondary) {
        let start = clip(span.start);
        let mut end = clip(span.end).max(start);
        let first = source.line_number(start);
        let mut last = source.line_number(end.saturating_sub(1).max(start));
        if last - first >= MOST_LINES {
            last = first;
            end = source.line_span(first).end.max(start);
        }
        marks.push(Mark {
            primary: marks.is_empty(),
            span: Span::new(start, end),
            lines: first..last,
            label,
        });
    }
    marks
}

/// Ranges of lines (first to last) that contain all marks; the one with the primary mark first.
fn excerpts(marks: &[Mark<'_>]) -> Vec<Range<u32>> {
    let mut sorted: Vec<&Mark<'_>> = marks.iter().collect();
    sorted.sort_by_key(|mark| (mark.lines.start, mark.lines.end));
    let mut ranges: Vec<(bool, Range<u32>)> = Vec::new();
    for mark in sorted {
        match ranges.last_mut() {
            Some((primary, range)) if mark.lines.start <= range.end + WIDEST_GAP => {
                range.end = range.end.max(mark.lines.end);
                *primary |= mark.primary;
            }
            _ => ranges.push((mark.primary, mark.lines.clone())),
        }
    }
    ranges.sort_by_key(|&(primary, _)| !primary);
    ranges.into_iter().map(|(_, range)| range).collect()
}

/// Some lines of the source, long ones cropped.
struct Excerpt {
    /// First and last line.
    lines: Range<u32>,
    text: String,
    /// For each line: the part of the source that is shown, and where it is in `text`.
    shown: Vec<(Span, u32)>,
    /// Where the primary mark is, or else the first.
    first_mark: u32,
}

impl Excerpt {
    fn new(source: &SourceFile, lines: Range<u32>, marks: &[Mark<'_>]) -> Self {
        let mut text = String::new();
        let mut shown = Vec::new();
        for line in lines.start..=lines.end {
            let full = source.line_span(line);
            let mut part = full;
            if full.end - full.start > LONGEST_LINE {
                let focus = marks
                    .iter()
                    .flat_map(|mark| [mark.span.start, mark.span.end])
                    .filter(|offset| (full.start..=full.end).contains(offset))
                    .min()
                    .unwrap_or(full.start);
                part.start = full.start.max(focus.saturating_sub(BEFORE_MARK));
                part.end = full.end.min(focus.saturating_add(AFTER_MARK));
                let boundary = |offset: u32| source.text().is_char_boundary(offset as usize);
                while !boundary(part.start) {
                    part.start += 1;
                }
                while !boundary(part.end) {
                    part.end -= 1;
                }
            }
            if line > lines.start {
                text.push('\n');
            }
            if part.start > full.start {
                text.push('…');
            }
            let cut = part.end < full.end;
            let visible = source.slice(part).trim_end_matches('\r');
            part.end = part.start + visible.len() as u32;
            shown.push((part, text.len() as u32));
            text.push_str(visible);
            if cut {
                text.push('…');
            }
        }
        let inside =
            |mark: &&Mark<'_>| lines.start <= mark.lines.start && mark.lines.end <= lines.end;
        let first_mark = marks
            .iter()
            .filter(inside)
            .min_by_key(|mark| (!mark.primary, mark.span.start))
            .map_or(0, |mark| mark.span.start);
        Excerpt {
            lines,
            text,
            shown,
            first_mark,
        }
    }

    fn snippet<'a>(&'a self, marks: &[Mark<'a>]) -> Snippet<'a, Annotation<'a>> {
        let inside = |mark: &&Mark<'_>| {
            self.lines.start <= mark.lines.start && mark.lines.end <= self.lines.end
        };
        let annotations = marks.iter().filter(inside).map(|mark| {
            let kind = if mark.primary {
                AnnotationKind::Primary
            } else {
                AnnotationKind::Context
            };
            let start = self.place(mark.span.start, mark.lines.start);
            let end = self.place(mark.span.end, mark.lines.end).max(start);
            let label = normalize_untrusted_str(mark.label);
            kind.span(start..end)
                .label((!label.is_empty()).then_some(label))
        });
        Snippet::source(&self.text[..])
            .line_start(self.lines.start as usize)
            .annotations(annotations)
    }

    /// The drawing counts columns in the text it was given; where that is part of a long line,
    /// puts the real column into the line `--> name:line:column`.
    fn correct_column(&self, source: &SourceFile, name: &str, shown: &mut String) {
        let real = source.line_number(self.first_mark);
        let (part, at) = self.shown[(real - self.lines.start) as usize];
        if part == source.line_span(real) {
            return;
        }
        let place = self.place(self.first_mark, real);
        // With the ellipsis, if there is one.
        let begin = self.text[..at as usize].rfind('\n').map_or(0, |i| i + 1);
        let column = self.text[begin..place].chars().count() + 1;
        let wrong = format!("{name}:{real}:{column}");
        let title = shown.find('\n').unwrap_or(0);
        if let Some(found) = shown[title..].find(&wrong) {
            let column = source.line_column(self.first_mark).column;
            let range = title + found..title + found + wrong.len();
            shown.replace_range(range, &format!("{name}:{real}:{column}"));
        }
    }

    /// Where an offset of the source on this line is in `text`, or the nearest place shown.
    fn place(&self, offset: u32, line: u32) -> usize {
        let (part, at) = self.shown[(line - self.lines.start) as usize];
        let offset = offset.clamp(part.start, part.end) - part.start;
        // A carriage return at the end of the line is not shown.
        ((at + offset) as usize).min(self.text.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(start: u32, end: u32) -> Diagnostic {
        Diagnostic::error(Span::new(start, end), "something is wrong").label("here")
    }

    #[test]
    fn messages_look_like_rustcs() {
        let source = SourceFile::new("lock.bp", "decl x;\nvoid main() begin\n  y := x;\nend\n");
        let diagnostic = Diagnostic::error(Span::new(28, 29), "`y` is not declared")
            .label("not declared")
            .also(Span::new(5, 6), "`x` is")
            .help("declare it");
        assert_eq!(
            render(&[diagnostic], &source, false),
            "\
error: `y` is not declared
 --> lock.bp:3:3
  |
1 | decl x;
  |      - `x` is
2 | void main() begin
3 |   y := x;
  |   ^ not declared
  |
  = help: declare it
"
        );
    }

    #[test]
    fn carriage_returns_where_a_long_line_is_cut() {
        let text = format!("{}{}{}", "a".repeat(100), "\r".repeat(300), "b".repeat(100));
        let source = SourceFile::new("cut", text);
        for end in 0..=500 {
            assert!(!render(&[error(end.min(90), end)], &source, false).is_empty());
        }
    }

    #[test]
    fn strange_spans_are_survived() {
        for text in ["", "\n", "a", "a\r\nb\r\n", "é≤\n\n\té", "\r\r\u{1b}[31m\0"] {
            let source = SourceFile::new("t", text);
            for start in 0..text.len() as u32 + 3 {
                for end in 0..text.len() as u32 + 3 {
                    for color in [false, true] {
                        let diagnostic = error(start, end).also(Span::new(end, start), "and");
                        let shown = render(&[diagnostic], &source, color);
                        assert!(shown.contains("something is wrong"), "{shown}");
                        assert!(color || !shown.contains('\u{1b}'));
                    }
                }
            }
        }
    }

    #[test]
    fn long_lines_are_cropped() {
        let text = format!("{}y{}\n", "é ".repeat(300_000), " x".repeat(300_000));
        let source = SourceFile::new("t", text);
        let shown = render(&[error(900_000, 900_001)], &source, false);
        assert!(shown.contains("t:1:600001"), "{shown}");
        assert!(shown.contains('y') && shown.contains("^ here"), "{shown}");
        assert!(shown.len() < 2000, "{shown}");
        let shown = render(&[error(0, 1_000_000)], &source, false);
        assert!(shown.len() < 2000, "{shown}");
    }

    #[test]
    fn long_files_are_cut_and_far_places_shown_apart() {
        let source = SourceFile::new("t", "skip;\n".repeat(2_000_000));
        let end = source.text().len() as u32;
        let diagnostics: Vec<_> = (0..1000)
            .map(|i| error(end - i, end).also(Span::new(6, 10), "far away"))
            .collect();
        let shown = render(&diagnostics, &source, false);
        assert!(shown.contains("t:2000000:"), "line of the primary mark");
        assert!(shown.contains("t:2:1"), "line of the other");
        let whole = render(&[error(0, end)], &source, false);
        assert!(whole.lines().count() < 12, "{whole}");
    }
}
