//! Pages for a browser: runs, state spaces, heaps and grammars, one picture at a time, with what the
//! previous step has changed highlighted. A page is one file and loads nothing.

use std::fmt::Write as _;

use droste_heap::{Grammar, Heap, Label, Symbols, label_text};

use crate::picture::{ARROW, Change, escape, rule_svg, svg};
use crate::run::{Kind, Position, Reality, Run};

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// A picture, and what is told about it.
#[derive(Clone, Debug, Default)]
pub struct Entry {
    /// Stands above the entry, if something new begins here.
    pub heading: Option<String>,
    /// The line of the source; 0 if there is none.
    pub line: u32,
    /// How far it is indented.
    pub depth: usize,
    /// Its line in the list.
    pub text: String,
    /// Whether it goes on with what the entry before began.
    pub continues: bool,
    /// A sign behind the text.
    pub sign: &'static str,
    /// The picture.
    pub svg: String,
    /// What stands below the picture.
    pub caption: String,
    /// Propositions, and whether they hold.
    pub propositions: Vec<(String, bool)>,
    /// Where one can go from here: words, and numbers of entries of the same sheet.
    pub links: Vec<(String, usize)>,
}

/// Pictures that belong together.
#[derive(Clone, Debug, Default)]
pub struct Sheet {
    /// The name on the tab.
    pub name: String,
    /// What the sheet shows.
    pub note: String,
    /// What there is to be seen, at least one.
    pub entries: Vec<Entry>,
}

/// A line of a source file, if it is at hand.
pub type SourceLine<'a> = &'a dyn Fn(&str, u32) -> Option<String>;

/// The sheets of a run that violates `property`: the run, and the same on a concrete heap if it was
/// found there.
pub fn run_sheets(
    run: &Run,
    symbols: &Symbols,
    property: &str,
    source: SourceLine<'_>,
) -> Vec<Sheet> {
    let real = match &run.reality {
        Reality::Real(_, run) if run.guesses.is_empty() && run.doubts.is_empty() => {
            " It happens on a concrete heap, too: see the next sheet."
        }
        Reality::Real(_, run) if run.guesses.is_empty() => {
            " It happens on a concrete heap, too, if no exception ends the program before: see the next \
             sheet."
        }
        Reality::Real(..) => {
            " It happens on a concrete heap, too, if branches on values that are not modelled go that \
             way: see the next sheet."
        }
        Reality::Doubtful(..) if !run.contracts.is_empty() => {
            " It uses a contract of a method without code, so it cannot be run on concrete heaps."
        }
        Reality::Doubtful(0, true) => {
            " There was no time to look for it on concrete heaps: it may be one of the abstraction alone."
        }
        Reality::Doubtful(..) => {
            " It was not found on small concrete heaps: it may be one of the abstraction alone."
        }
        Reality::Unasked => "",
    };
    let mut sheets = vec![run_sheet(
        run,
        symbols,
        "run",
        format!("violated: {property}.{real}"),
        source,
    )];
    if let Reality::Real(_, concrete) = &run.reality {
        let note = format!("violated: {property}. On this heap it really happens.");
        sheets.push(run_sheet(concrete, symbols, "concrete run", note, source));
    }
    sheets
}

fn run_sheet(
    run: &Run,
    symbols: &Symbols,
    name: &str,
    note: String,
    source: SourceLine<'_>,
) -> Sheet {
    let mut entries = Vec::new();
    let mut last = None;
    // What has ended stays as it is for ever: one picture of it is enough.
    let ends = |position: &Position| position.kind == Kind::Terminated;
    let shown = match run.positions.iter().position(ends) {
        Some(end) => &run.positions[..=end],
        None => &run.positions[..],
    };
    for (at, position) in shown.iter().enumerate() {
        let sign = match position.kind {
            Kind::Call => "→",
            Kind::End => "←",
            Kind::Fault(_) => "✗",
            Kind::Folded(_) | Kind::Skipped(_) => "⋯",
            Kind::Step | Kind::Terminated => "",
        };
        let here = (position.depth, position.line, position.method.clone());
        let line =
            source(&position.file, position.line).filter(|_| position.kind != Kind::Terminated);
        let continues = line.is_some() && last.as_ref() == Some(&here);
        last = Some(here);
        let text = match line {
            Some(line) if !continues || position.is_branch() => line,
            _ => position.told(),
        };
        entries.push(Entry {
            heading: (run.cycle == Some(at) && !ends(position))
                .then(|| "from here on it repeats for ever".into()),
            line: position.line,
            depth: position.depth,
            text,
            continues,
            sign,
            svg: svg(&position.heap, symbols, &changed_before(run, at)),
            caption: format!(
                "{}:{} in {}; next: {}",
                position.file,
                position.line,
                position.method,
                position.told()
            ),
            propositions: (run.propositions.iter().cloned())
                .zip(position.holds.iter().copied())
                .collect(),
            links: Vec::new(),
        });
    }
    if entries.is_empty() {
        entries.push(Entry::default());
    }
    Sheet {
        name: name.into(),
        note,
        entries,
    }
}

/// What the step before a position has changed. What a call assigns is changed when it returns.
fn changed_before(run: &Run, at: usize) -> Change {
    let Some(before) = at.checked_sub(1).map(|at| &run.positions[at]) else {
        return Change::default();
    };
    let step = match before.kind {
        Kind::Call => None,
        Kind::End => {
            let outside = run.positions[..at].iter().rev();
            let mut outside = outside.filter(|one| one.depth < before.depth);
            outside.next().filter(|one| one.kind == Kind::Call)
        }
        _ => Some(before),
    };
    step.map(|step| step.change.clone()).unwrap_or_default()
}

/// A sheet of heaps with their names.
pub fn heap_sheet(name: &str, note: &str, heaps: &[(String, Heap)], symbols: &Symbols) -> Sheet {
    let entry = |(text, heap): &(String, Heap)| Entry {
        text: text.clone(),
        svg: svg(heap, symbols, &Change::default()),
        caption: format!(
            "{} nodes, {} selectors, {} hyperedges",
            heap.node_count(),
            heap.edges().len(),
            heap.hyperedge_count()
        ),
        ..Entry::default()
    };
    Sheet {
        name: name.into(),
        note: note.into(),
        entries: heaps.iter().map(entry).collect(),
    }
}

/// The rules of a grammar, if it has any.
pub fn grammar_sheet(grammar: &Grammar, symbols: &Symbols) -> Option<Sheet> {
    let mut entries: Vec<Entry> = Vec::new();
    let mut last = None;
    for rule in grammar.rules().iter().filter(|rule| !rule.collapsed) {
        let label = Label {
            nonterminal: rule.nonterminal,
            index: rule.index,
        };
        let name = label_text(symbols, label);
        let new = last != Some(label);
        last = Some(label);
        let rank = rule.graph.externals().len();
        entries.push(Entry {
            heading: new.then(|| name.clone()),
            text: format!("rule {}", rule.number + 1),
            svg: rule_svg(&rule.graph, symbols),
            caption: format!("{name} has rank {rank}: the numbers stand where its tentacles are"),
            ..Entry::default()
        });
    }
    let note = "What a box stands for: one of these, and again for the boxes in it.";
    (!entries.is_empty()).then(|| Sheet {
        name: "grammar".into(),
        note: note.into(),
        entries,
    })
}

/// A page of sheets.
pub fn page(title: &str, sheets: &[Sheet]) -> String {
    let mut out = String::new();
    let title = escape(title);
    let _ = write!(
        out,
        "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>{title}</title>\
         <meta name=\"viewport\" content=\"width=device-width\"><style>{STYLE}</style>\
         <header><h1>{title}</h1><div role=\"tablist\">"
    );
    for sheet in sheets {
        let _ = write!(out, "<button role=\"tab\">{}</button>", escape(&sheet.name));
    }
    let _ = write!(out, "</div></header>{ARROW}");
    for sheet in sheets {
        out.push_str("<section hidden><nav>");
        let _ = write!(out, "<p class=\"note\">{}</p><ol>", escape(&sheet.note));
        for entry in &sheet.entries {
            list_entry(&mut out, entry);
        }
        out.push_str("</ol></nav><main>");
        for entry in &sheet.entries {
            figure(&mut out, entry);
        }
        out.push_str("</main></section>");
    }
    let _ = writeln!(
        out,
        "<footer><button id=\"back\" aria-label=\"back\">←</button><span id=\"where\"></span>\
         <button id=\"next\" aria-label=\"next\">→</button><span class=\"note\">A circle is an \
         object, a thick one is shared with the caller or the rest of the heap. A box is a part of \
         any size, which the grammar describes. A bar is null. What the step before has changed is \
         highlighted. Arrow keys step, numbers pick a \
         sheet.</span></footer><script>{SCRIPT}</script></html>"
    );
    out
}

fn list_entry(out: &mut String, entry: &Entry) {
    if let Some(heading) = &entry.heading {
        let _ = write!(out, "<li class=\"heading\">{}</li>", escape(heading));
    }
    let line = match entry.line {
        0 => String::new(),
        _ if entry.continues => String::new(),
        line => line.to_string(),
    };
    let class = if entry.continues {
        "step continues"
    } else {
        "step"
    };
    let _ = write!(
        out,
        "<li class=\"{class}\"><i>{line}</i><span>{}{}</span><b>{}</b></li>",
        "  ".repeat(entry.depth.min(20)),
        escape(&entry.text),
        entry.sign
    );
}

fn figure(out: &mut String, entry: &Entry) {
    let _ = write!(out, "<figure hidden>{}<figcaption>", entry.svg);
    if !entry.propositions.is_empty() {
        out.push_str("<p>");
        for (name, holds) in &entry.propositions {
            let (class, sign) = if *holds {
                ("yes", "✓")
            } else {
                ("no", "✗")
            };
            let name = escape(name);
            let _ = write!(out, "<span class=\"chip {class}\">{sign} {name}</span>");
        }
        out.push_str("</p>");
    }
    let _ = write!(out, "<p class=\"note\">{}</p>", escape(&entry.caption));
    if !entry.links.is_empty() {
        out.push_str("<p>goes on at:");
        for (words, to) in &entry.links {
            let _ = write!(out, " <a data-to=\"{to}\">{}</a>", escape(words));
        }
        out.push_str("</p>");
    }
    out.push_str("</figcaption></figure>");
}

#[cfg(test)]
mod tests {
    use super::*;
    use droste_heap::{Predefined, predefined, read_symbolic_heap};

    #[test]
    fn a_page_has_a_picture_for_each_entry_and_loads_nothing() {
        let mut symbols = Symbols::new();
        let fragments = predefined(&mut symbols, Predefined::DoublyLinkedList);
        let grammar = Grammar::new(&symbols, fragments);
        let text = "Two(x{A}, y{A}) <= x.next -> y * y.next -> null";
        let heap = read_symbolic_heap(&mut symbols, text).unwrap();
        let sheets = [
            grammar_sheet(&grammar, &symbols).unwrap(),
            heap_sheet("heaps", "", &[("<one>".into(), heap)], &symbols),
        ];
        let page = page("a & b", &sheets);
        let steps = page.matches("<li class=\"step\">").count();
        assert_eq!(page.matches("<figure ").count(), steps);
        assert_eq!(page.matches("role=\"tab\"").count(), 2);
        assert!(page.contains("a &amp; b") && page.contains("&lt;one&gt;"));
        for outside in ["src=", "href=", "@import", "url(http"] {
            assert!(!page.contains(outside), "{outside}");
        }
    }
}
