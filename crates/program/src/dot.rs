//! A picture of the recursive state machine, for Graphviz.
//!
//! One cluster per procedure, one box per node with its line, its statement and its labels. The
//! entry has a bold frame, exits a double one. An edge of a condition carries `T` or `F`; a
//! call is dashed, from the statement to the one after the return, and names its callee.

use std::fmt::Write as _;

use crate::program::{Node, NodeId, Op, Program};
use droste_source::SourceFile;

/// The most characters of a statement that are shown.
const LONGEST: usize = 40;

/// `program`, whose text is `source`, as a Graphviz digraph.
pub fn dot(program: &Program, source: &SourceFile) -> String {
    let mut of_procedure: Vec<Vec<NodeId>> = vec![Vec::new(); program.procedures.len()];
    for (i, node) in program.nodes.iter().enumerate() {
        of_procedure[node.procedure.0 as usize].push(NodeId(i as u32));
    }
    let mut out = String::from(
        "digraph program {\n  node [shape=box, fontname=\"monospace\"];\n  edge [fontname=\"monospace\"];\n",
    );
    for (i, (procedure, nodes)) in program.procedures.iter().zip(&of_procedure).enumerate() {
        let _ = writeln!(
            out,
            "  subgraph cluster_{i} {{\n    label=\"{}\";",
            escape(&procedure.name)
        );
        for &id in nodes {
            let node = program.node(id);
            let exit = matches!(node.op, Op::Return(_));
            let _ = writeln!(
                out,
                "    n{} [label=\"{}\"{}{}];",
                id.0,
                caption(node, source),
                if id == procedure.entry {
                    ", style=bold"
                } else {
                    ""
                },
                if exit { ", peripheries=2" } else { "" },
            );
        }
        out.push_str("  }\n");
    }
    for (i, node) in program.nodes.iter().enumerate() {
        edges(&mut out, program, i, &node.op);
    }
    out.push_str("}\n");
    out
}

fn edges(out: &mut String, program: &Program, from: usize, op: &Op) {
    let mut edge = |to: NodeId, attributes: &str| {
        let _ = writeln!(out, "  n{from} -> n{}{attributes};", to.0);
    };
    match op {
        Op::Branch { yes, no, .. } => {
            edge(*yes, " [label=\"T\"]");
            edge(*no, " [label=\"F\"]");
        }
        Op::Call { callee, next, .. } => {
            let name = escape(&program.procedure(*callee).name);
            edge(*next, &format!(" [style=dashed, label=\"{name}\"]"));
        }
        Op::StartThread { start, next } => {
            edge(*start, " [style=dotted, label=\"start_thread\"]");
            edge(*next, "");
        }
        _ => op.for_each_next(|to| edge(to, "")),
    }
}

/// Line, labels, statement.
fn caption(node: &Node, source: &SourceFile) -> String {
    let mut caption = format!("{}: ", source.line_number(node.span.start));
    for label in &node.labels {
        caption += &escape(label);
        caption += ": ";
    }
    caption += &match node.op {
        // Also stands at the end of what `start_thread` runs, with that statement's span.
        Op::EndThread => "end_thread".to_owned(),
        _ => escape(&shortened(source.slice(node.span))),
    };
    caption
}

/// The first characters of `text`, white space made single spaces.
fn shortened(text: &str) -> String {
    let mut short = String::new();
    let mut length = 0;
    for word in text.split_whitespace() {
        if length > 0 {
            short.push(' ');
            length += 1;
        }
        for c in word.chars() {
            if length >= LONGEST {
                short.push('…');
                return short;
            }
            short.push(c);
            length += 1;
        }
    }
    short
}

/// Inside a quoted string of Graphviz, `"` and `\` need a backslash.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '"' | '\\' => {
                escaped.push('\\');
                escaped.push(c);
            }
            '\n' => escaped.push_str("\\n"),
            c => escaped.push(c),
        }
    }
    escaped
}
