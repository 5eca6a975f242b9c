//! Names, values, source lines and lengths: what text and JSON both show.

use std::collections::HashMap;

use droste_base::words::counted;
use droste_program::display::value_to_string;
use droste_program::execution::{CalleeRun, Lengths};
use droste_program::{Node, NodeId, Op, Procedure, Program, Threads, Value, VarRef, Variable};
use droste_source::{LineColumn, SourceFile};

use crate::follow::Choices;

/// Labels that are longer than this in sum are not shown before a statement.
const LABELS: usize = 28;

/// Names that are longer than this are cut off.
const NAME: usize = 100;

/// About how many bytes of a line are made at most, most of which will not be shown.
const LONGEST: usize = 1000;

/// A program, its source, and the callees' runs of one of its executions.
pub(crate) struct View<'a> {
    pub(crate) program: &'a Program,
    pub(crate) source: &'a SourceFile,
    pub(crate) runs: &'a [CalleeRun],
    pub(crate) choices: Choices,
    pub(crate) lengths: Lengths<'a>,
}

impl<'a> View<'a> {
    pub(crate) fn new(program: &'a Program, source: &'a SourceFile, runs: &'a [CalleeRun]) -> Self {
        View {
            program,
            source,
            runs,
            choices: Choices::new(program),
            lengths: Lengths::new(program, runs),
        }
    }

    pub(crate) fn node(&self, id: NodeId) -> Option<&'a Node> {
        self.program.nodes.get(id.0 as usize)
    }

    pub(crate) fn procedure_of(&self, id: NodeId) -> Option<&'a Procedure> {
        let procedure = self.node(id)?.procedure;
        self.program.procedures.get(procedure.0 as usize)
    }

    pub(crate) fn position(&self, id: NodeId) -> Option<LineColumn> {
        Some(self.source.line_column(self.node(id)?.span.start))
    }

    pub(crate) fn line(&self, id: NodeId) -> Option<u32> {
        Some(self.source.line_number(self.node(id)?.span.start))
    }

    /// The text of the statement as it stands in the source. What a dialect only implies has none.
    fn source_text(&self, id: NodeId) -> &'a str {
        let Some(node) = self.node(id) else {
            return "?";
        };
        let text = self.source.slice(node.span).trim_start();
        match node.op {
            _ if !text.is_empty() => text,
            Op::AtomicBegin(_) => "atomic_begin",
            Op::AtomicEnd(_) => "atomic_end",
            Op::Assume { .. } => "assume(!atomic)",
            Op::Branch { .. } => "if (!atomic)",
            _ => text,
        }
    }

    /// The statement in one line, without comments.
    pub(crate) fn statement(&self, id: NodeId) -> String {
        one_line(self.source_text(id), usize::MAX)
    }

    /// Which way a test went that led from the node `at` to `to`, if it could have gone another way.
    pub(crate) fn branch(&self, at: NodeId, to: NodeId) -> Option<bool> {
        match self.node(at)?.op {
            Op::Branch { yes, no, .. } if yes != no => Some(to == yes),
            _ => None,
        }
    }

    /// Whether the node is the test of an `elsif`, whose text is the condition alone.
    fn is_elsif(&self, id: NodeId) -> bool {
        let is_test = |node: &Node| matches!(node.op, Op::Branch { .. });
        let text = self.source_text(id);
        self.node(id).is_some_and(is_test)
            && !["if", "while"].iter().any(|word| {
                text.strip_prefix(word).is_some_and(|rest| {
                    !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_')
                })
            })
    }

    /// The statement in one line, after its labels if they are short.
    pub(crate) fn labelled(&self, id: NodeId) -> String {
        let mut text = String::new();
        let labels = self.node(id).map_or(&[][..], |node| &node.labels);
        if labels.iter().map(|label| label.len() + 2).sum::<usize>() <= LABELS {
            for label in labels {
                text.push_str(label);
                text.push_str(": ");
            }
        }
        if self.is_elsif(id) {
            text.push_str("elsif ");
        }
        text.push_str(&one_line(self.source_text(id), LONGEST));
        text
    }

    /// The variable `var` in the procedure of the node `at`.
    pub(crate) fn variable(&self, at: NodeId, var: VarRef) -> Option<&'a Variable> {
        match var {
            VarRef::Global(i) => self.program.globals.get(i as usize),
            VarRef::Local(i) => self.procedure_of(at)?.locals.get(i as usize),
        }
    }

    /// `x = 1`, or `::x = 1` for a global that a local of the procedure hides.
    pub(crate) fn binding(&self, at: NodeId, var: VarRef, value: Value) -> Option<String> {
        let variable = self.variable(at, var)?;
        let text = binding(variable, value);
        let locals = self.procedure_of(at).map_or(&[][..], |p| &p.locals[..]);
        let hidden = matches!(var, VarRef::Global(_))
            && locals.iter().any(|local| local.name == variable.name);
        Some(if hidden { format!("::{text}") } else { text })
    }
}

/// For each global whose name several `thread` sections have: its section.
pub(crate) fn sections(program: &Program) -> Vec<Option<&str>> {
    let mut often: HashMap<&str, usize> = HashMap::new();
    for global in &program.globals {
        *often.entry(&global.name).or_default() += 1;
    }
    let section = |thread: Option<u32>| match &program.threads {
        Threads::Sections(sections) => Some(&*sections.get(thread? as usize)?.0),
        _ => None,
    };
    let globals = program.globals.iter();
    let ambiguous = |name: &str| often.get(name).is_some_and(|&count| count > 1);
    globals
        .map(|global| section(global.thread).filter(|_| ambiguous(&global.name)))
        .collect()
}

/// `x = 1`
pub(crate) fn binding(variable: &Variable, v: Value) -> String {
    format!(
        "{} = {}",
        name(&variable.name),
        value_to_string(v, variable.ty)
    )
}

/// `x = 1, y = T`; ends with `…` where it would be too long for a line anyway.
pub(crate) fn bindings(each: impl Iterator<Item = String>) -> String {
    let mut all = String::new();
    for binding in each {
        if !all.is_empty() {
            all.push_str(", ");
        }
        if all.len() > LONGEST {
            all.push('…');
            break;
        }
        all.push_str(&binding);
    }
    all
}

/// A name that is not too long.
pub(crate) fn name(name: &str) -> String {
    shorten(name, NAME)
}

/// At most `limit` characters, the last of which is `…` if there are more.
pub(crate) fn shorten(text: &str, limit: usize) -> String {
    if text.chars().nth(limit).is_none() {
        return text.to_owned();
    }
    let mut short: String = text.chars().take(limit.saturating_sub(1)).collect();
    short.truncate(short.trim_end().len());
    short.push('…');
    short
}

/// Control characters, and those that change the direction of what follows, made visible.
pub fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\u{0}'..='\u{1f}' => out.extend(char::from_u32(0x2400 + c as u32)),
            '\u{7f}' => out.push('␡'),
            '\u{80}'..='\u{9f}'
            | '\u{61c}'
            | '\u{200e}'
            | '\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2066}'..='\u{2069}' => out.extend(c.escape_unicode()),
            _ => out.push(c),
        }
    }
    out
}

/// A piece of source without comments and with one blank for all white space, up to about
/// `limit` bytes. Braced names stay as they are.
fn one_line(text: &str, limit: usize) -> String {
    let mut out = String::new();
    let mut rest = text.trim_end();
    let mut blank = false;
    let mut braced = false;
    while let Some(c) = rest.chars().next() {
        if out.len() > limit {
            out.push('…');
            break;
        }
        if !braced && rest.starts_with("//") {
            rest = rest.find('\n').map_or("", |end| &rest[end..]);
            blank = true;
            continue;
        }
        if !braced && rest.starts_with("/*") {
            rest = rest[2..].find("*/").map_or("", |end| &rest[end + 4..]);
            blank = true;
            continue;
        }
        rest = &rest[c.len_utf8()..];
        if c.is_whitespace() {
            blank = true;
            continue;
        }
        if std::mem::take(&mut blank) && !out.is_empty() {
            out.push(' ');
        }
        braced = c == '{' || braced && c != '}';
        out.push(c);
    }
    out
}

/// `1 step`, `2 steps`; says so when the count has overflowed.
pub(crate) fn steps(number: u64) -> String {
    match number {
        u64::MAX => "more than 10^19 steps".to_owned(),
        _ => counted(number, "step"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_are_put_into_one_line() {
        let text = "a,\n   b := // both\n  T, /* the\n second */ {x//y}\n";
        assert_eq!(one_line(text, 1000), "a, b := T, {x//y}");
        assert_eq!(one_line("x /* open", 1000), "x");
        assert_eq!(
            one_line(&"é".repeat(500), 10),
            format!("{}…", "é".repeat(6))
        );
    }

    #[test]
    fn control_characters_are_visible() {
        assert_eq!(visible("{a\x1b[1m\u{9b}\x7f}"), "{a␛[1m\\u{9b}␡}");
    }

    #[test]
    fn what_is_too_long_is_cut_off() {
        assert_eq!(shorten("abcd", 4), "abcd");
        assert_eq!(shorten("abcde", 4), "abc…");
        assert_eq!(name(&"x".repeat(10_000_000)).chars().count(), NAME);
    }
}
