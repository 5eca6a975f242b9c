//! Writers: heaps, grammars and contracts as JSON, and heaps as pictures in DOT.

use std::fmt::Write as _;

use crate::grammar::{Fragment, Grammar};
use crate::hypergraph::{Heap, Node};
use crate::read_json::Contract;
use crate::symbols::{Annotation, End, Index, Label, Symbols};

/// A text in quotes, as JSON has it.
pub(crate) fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => {
                quoted.push('\\');
                quoted.push(c);
            }
            c if (c as u32) < 0x20 => _ = write!(quoted, "\\u{:04x}", c as u32),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

fn list<T>(items: impl IntoIterator<Item = T>, show: impl Fn(T) -> String) -> String {
    let items: Vec<String> = items.into_iter().map(show).collect();
    format!("[{}]", items.join(","))
}

/// The symbols of an index, as JSON has them.
fn index_json(index: Index) -> Option<String> {
    let (count, end) = index.parts()?;
    let end = match end {
        End::Z => "Z",
        End::C => "C",
        End::X => "_X",
        End::Y => "_Y",
        End::Any => "()",
    };
    let symbols = std::iter::repeat_n("s", count.into()).chain([end]);
    Some(list(symbols, quoted))
}

/// A heap as JSON: what [`read_heap`](crate::read_heap) reads.
pub fn heap_json(symbols: &Symbols, heap: &Heap) -> String {
    let mut heap = heap.clone();
    heap.compact();
    // Neighbours of one type are written together.
    let types: Vec<_> = heap.nodes().map(|node| heap.node_type(node)).collect();
    let runs = types.chunk_by(|a, b| a == b);
    let nodes = list(runs, |run| {
        let name = quoted(symbols.type_name(run[0]));
        format!("{{\"type\":{name},\"number\":{}}}", run.len())
    });
    let number = |node: &Node| node.0.to_string();
    let externals = list(heap.externals(), number);
    let variables = list(heap.variables(), |(variable, node)| {
        let name = quoted(symbols.variable_name(*variable));
        format!("{{\"name\":{name},\"target\":{}}}", node.0)
    });
    let selectors = list(heap.edges(), |edge| {
        let name = quoted(symbols.selector_name(edge.selector));
        let (origin, target) = (edge.origin.0, edge.target.0);
        let mut text = format!("{{\"label\":{name},\"origin\":{origin},\"target\":{target}");
        if edge.annotation != Annotation::NONE {
            let annotation = quoted(symbols.annotation_text(edge.annotation));
            _ = write!(text, ",\"annotation\":{annotation}");
        }
        text + "}"
    });
    let hyperedges = list(heap.hyperedges(), |hyperedge| {
        let name = quoted(symbols.nonterminal_name(hyperedge.label.nonterminal));
        let tentacles = list(hyperedge.tentacles, number);
        let mut text = format!("{{\"label\":{name},\"tentacles\":{tentacles}");
        if let Some(index) = index_json(hyperedge.label.index) {
            _ = write!(text, ",\"index\":{index}");
        }
        text + "}"
    });
    format!(
        "{{\"nodes\":{nodes},\"externals\":{externals},\"variables\":{variables},\
         \"selectors\":{selectors},\"hyperedges\":{hyperedges}}}"
    )
}

/// A grammar as JSON: what [`read_grammar`](crate::read_grammar) reads.
pub fn grammar_json(symbols: &Symbols, fragments: &[Fragment]) -> String {
    let parts: Vec<String> = fragments
        .iter()
        .map(|fragment| {
            let name = quoted(symbols.nonterminal_name(fragment.nonterminal));
            let rank = symbols.rank(fragment.nonterminal);
            let mut text = format!("{{\"nonterminal\":{name},\"rank\":{rank}");
            if let Some(index) = index_json(fragment.index) {
                _ = write!(text, ",\"index\":{index}");
            }
            if let Some(tentacles) = &fragment.reduction {
                let tentacles = list(tentacles, bool::to_string);
                _ = write!(text, ",\"reductionTentacles\":{tentacles}");
            }
            let rules = fragment.rules.iter().map(|rule| heap_json(symbols, rule));
            let rules: Vec<String> = rules.collect();
            text + ",\"rules\":[\n  " + &rules.join(",\n  ") + "\n]}"
        })
        .collect();
    format!("[{}]\n", parts.join(",\n"))
}

/// Contracts of a method as JSON: what [`read_contracts`](crate::read_contracts) reads.
pub fn contracts_json(symbols: &Symbols, method: &str, contracts: &[Contract]) -> String {
    let heaps = |heaps: &[Heap]| list(heaps, |heap| heap_json(symbols, heap));
    let contracts: Vec<String> = contracts
        .iter()
        .map(|contract| {
            let before = heap_json(symbols, &contract.before);
            let after = heaps(&contract.after);
            let thrown = match &contract.thrown {
                Some(thrown) => format!(",\"exceptions\":{}", heaps(thrown)),
                None => String::new(),
            };
            format!("{{\"precondition\":{before},\"postconditions\":{after}{thrown}}}")
        })
        .collect();
    let contracts = contracts.join(",\n ");
    format!(
        "{{\"method\":{},\"contracts\":[\n {contracts}\n]}}",
        quoted(method)
    )
}

/// A label in words: the nonterminal, and its index in brackets.
pub fn label_text(symbols: &Symbols, label: Label) -> String {
    let name = symbols.nonterminal_name(label.nonterminal);
    match label.index.parts() {
        None => name.to_owned(),
        Some((count, end)) => {
            let end = match end {
                End::Z => "Z",
                End::C => "C",
                End::X => "X",
                End::Y => "Y",
                End::Any => "·",
            };
            format!("{name}[{}{end}]", "s".repeat(count.into()))
        }
    }
}

/// A heap as a graph in DOT. Nodes are circles, hyperedges boxes with numbered tentacles,
/// variables plain names; external nodes have their place written at them.
pub fn heap_dot(symbols: &Symbols, heap: &Heap, name: &str) -> String {
    format!(
        "digraph {} {{\n{}}}\n",
        quoted(name),
        body(symbols, heap, "")
    )
}

/// A grammar as a graph in DOT: a box for each rule.
pub fn grammar_dot(symbols: &Symbols, grammar: &Grammar) -> String {
    let rules = grammar.rules().iter().filter(|rule| !rule.collapsed);
    heaps_dot(
        symbols,
        "grammar",
        rules.map(|rule| {
            let label = Label {
                nonterminal: rule.nonterminal,
                index: rule.index,
            };
            let title = format!("{}, rule {}", label_text(symbols, label), rule.number + 1);
            (title, &rule.graph)
        }),
    )
}

/// Several heaps as one graph in DOT: a box with a title for each.
pub fn heaps_dot<'a>(
    symbols: &Symbols,
    name: &str,
    heaps: impl Iterator<Item = (String, &'a Heap)>,
) -> String {
    let mut text = format!("digraph {name} {{\n");
    for (at, (title, heap)) in heaps.enumerate() {
        _ = writeln!(text, "subgraph cluster{at} {{\nlabel={};", quoted(&title));
        text += &body(symbols, heap, &format!("r{at}"));
        text += "}\n";
    }
    text + "}\n"
}

fn body(symbols: &Symbols, heap: &Heap, prefix: &str) -> String {
    let mut text = String::new();
    for node in heap.nodes() {
        let mut label = symbols.type_name(heap.node_type(node)).to_owned();
        if let Some(place) = heap.externals().iter().position(|&n| n == node) {
            _ = write!(label, "\\n({})", place + 1);
        }
        let label = quoted(&label).replace("\\\\n", "\\n");
        _ = writeln!(text, "{prefix}n{} [label={label},shape=circle];", node.0);
    }
    for (at, (variable, node)) in heap.variables().iter().enumerate() {
        let label = quoted(symbols.variable_name(*variable));
        _ = writeln!(text, "{prefix}v{at} [label={label},shape=plaintext];");
        _ = writeln!(text, "{prefix}v{at} -> {prefix}n{} [style=dashed];", node.0);
    }
    for edge in heap.edges() {
        let mut label = symbols.selector_name(edge.selector).to_owned();
        if edge.annotation != Annotation::NONE {
            _ = write!(label, " {}", symbols.annotation_text(edge.annotation));
        }
        let (origin, target, label) = (edge.origin.0, edge.target.0, quoted(&label));
        _ = writeln!(
            text,
            "{prefix}n{origin} -> {prefix}n{target} [label={label}];"
        );
    }
    for (at, hyperedge) in heap.hyperedges().enumerate() {
        let label = quoted(&label_text(symbols, hyperedge.label));
        _ = writeln!(text, "{prefix}h{at} [label={label},shape=box];");
        for (tentacle, node) in hyperedge.tentacles.iter().enumerate() {
            let node = node.0;
            _ = writeln!(
                text,
                "{prefix}h{at} -> {prefix}n{node} [label=\"{}\",arrowhead=none,color=gray];",
                tentacle + 1
            );
        }
    }
    text
}
