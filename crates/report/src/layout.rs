//! Lines in columns: line number, statement indented by call depth, remark.

use crate::Style;
use crate::view::{shorten, visible};

/// Deeper calls are not indented further but say how deep they are.
const INDENTED: usize = 12;

/// Remarks are cut off here.
const REMARK: usize = 200;

/// What a line is, which decides its colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A step.
    Step,
    /// A heading between parts; has no columns.
    Heading,
    /// The step that violates the property.
    Mark,
    /// Steps that are left out.
    Gap,
}

/// One line of a report.
pub(crate) struct Line {
    pub(crate) kind: Kind,
    pub(crate) number: Option<u32>,
    pub(crate) depth: usize,
    pub(crate) text: String,
    pub(crate) remark: String,
    /// What the monitor does.
    pub(crate) monitor: String,
    /// The number of the thread, if there are several.
    pub(crate) thread: Option<u32>,
}

impl Line {
    /// Whether the second column is empty.
    fn is_plain(&self) -> bool {
        self.remark.is_empty() && self.monitor.is_empty()
    }

    pub(crate) fn heading(text: impl Into<String>) -> Self {
        Line {
            kind: Kind::Heading,
            number: None,
            depth: 0,
            text: text.into(),
            remark: String::new(),
            monitor: String::new(),
            thread: None,
        }
    }
}

/// The lines with their columns aligned.
pub(crate) fn lay_out(lines: &[Line], style: &Style) -> String {
    let rows: Vec<String> = lines.iter().map(indented).collect();
    let gutter = lines
        .iter()
        .filter_map(|line| line.number)
        .max()
        .map_or(1, |number| number.to_string().len())
        + 2;
    let threads = lines.iter().filter_map(|line| line.thread).max();
    let threads = threads.map_or(0, |number| number.to_string().len());
    // The remarks start behind the longest statement that has one, within reason.
    let column = if threads > 0 { threads + 3 } else { 0 };
    let room = style.width.max(40).saturating_sub(gutter + 3 + column);
    let column = lines
        .iter()
        .zip(&rows)
        .filter(|(line, _)| !line.is_plain() && line.kind != Kind::Heading)
        .map(|(_, row)| row.chars().count())
        .max()
        .unwrap_or(0)
        .min(room * 11 / 20);
    let mut text = String::new();
    for (line, row) in lines.iter().zip(&rows) {
        if line.kind == Kind::Heading {
            paint(&mut text, style, "1", &visible(&line.text));
            text.push('\n');
            continue;
        }
        let number = line.number.map_or(String::new(), |n| n.to_string());
        let mut start = format!("{number:>gutter$} │ ");
        if threads > 0 {
            let thread = line.thread.map_or(String::new(), |n| n.to_string());
            start.push_str(&format!("{thread:>threads$} │ "));
        }
        paint(&mut text, style, "2", &start);
        let limit = if line.is_plain() { room } else { column };
        let row = shorten(row, limit);
        if line.is_plain() {
            match line.kind {
                Kind::Gap => paint(&mut text, style, "2", &row),
                _ => text.push_str(&row),
            }
        } else {
            text.push_str(&row);
            let padding = column.saturating_sub(row.chars().count()) + 3;
            text.extend(std::iter::repeat_n(' ', padding));
            let code = if line.kind == Kind::Mark {
                "1;31"
            } else {
                "36"
            };
            let remark = shorten(&visible(&line.remark), REMARK);
            if !remark.is_empty() {
                paint(&mut text, style, code, &remark);
            }
            if !line.monitor.is_empty() {
                if !remark.is_empty() {
                    text.push_str("   ");
                }
                let monitor = shorten(&visible(&line.monitor), REMARK);
                paint(&mut text, style, "35", &monitor);
            }
        }
        text.push('\n');
    }
    text
}

fn indented(line: &Line) -> String {
    let shown = line.depth.min(INDENTED);
    let mut row = "  ".repeat(shown);
    if line.depth > shown {
        row.push('⟨');
        row.push_str(&line.depth.to_string());
        row.push_str("⟩ ");
    }
    row.push_str(&visible(&line.text));
    row
}

fn paint(out: &mut String, style: &Style, code: &str, text: &str) {
    if style.color {
        out.extend(["\x1b[", code, "m", text, "\x1b[0m"]);
    } else {
        out.push_str(text);
    }
}
