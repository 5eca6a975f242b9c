//! A picture of the recursive state machine, for Graphviz.
//!
//! One cluster per procedure, one box per node with its line, its statement and its labels. The
//! entry has a bold frame, exits a double one. An edge of a condition carries `T` or `F`; a
//! call is dashed, from the statement to the one after the return, and names its callee.

use std::fmt::Write as _;

use crate::program::{Node, NodeId, Op, Program};
use crate::source::SourceFile;

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lower::lower;
    use crate::parser::{Dialect, parse};

    #[test]
    fn the_picture_of_a_small_program() {
        let source = SourceFile::new(
            "test.bp",
            "decl {x\"y};\nvoid main() begin\n  L: if ({x\"y}) then\n    f();\n  fi\n  start_thread skip;\nend\nvoid f() begin\n  assume(0 = 0 | 1 = 1 | 2 = 2 | 3 = 3 | 4 = 4 | 5 = 5);\nend\n",
        );
        let parsed = parse(&source, Dialect::default());
        let program = lower(&parsed.ast).0.expect("the program is right");
        let picture = dot(&program, &source);
        for line in [
            "    label=\"main\";",
            "    n0 [label=\"3: L: if ({x\\\"y})\", style=bold];",
            "    n1 [label=\"4: f()\"];",
            "    n5 [label=\"7: end\", peripheries=2];",
            "    n6 [label=\"9: assume(0 = 0 | 1 = 1 | 2 = 2 | 3 = 3 | 4 …\", style=bold];",
            "    n4 [label=\"6: end_thread\"];",
            "  n0 -> n1 [label=\"T\"];",
            "  n0 -> n2 [label=\"F\"];",
            "  n1 -> n2 [style=dashed, label=\"f\"];",
            "  n2 -> n3 [style=dotted, label=\"start_thread\"];",
            "  n2 -> n5;",
            "  n3 -> n4;",
        ] {
            assert!(picture.lines().any(|l| l == line), "{line}\nin\n{picture}");
        }
    }

    /// Neither long lines nor long statements may be looked at once per node.
    #[test]
    fn the_picture_of_a_long_chain_takes_linear_time() {
        for separator in ["\n", " "] {
            let mut text = format!("decl x;{separator}void main() begin if x then skip;");
            for _ in 0..100_000 {
                text += separator;
                text += "elsif x then skip;";
            }
            let source = SourceFile::new("test.bp", text + " fi end");
            let parsed = parse(&source, Dialect::default());
            let program = lower(&parsed.ast).0.expect("the program is right");
            let before = std::time::Instant::now();
            let picture = dot(&program, &source);
            assert!(picture.len() < 40_000_000, "{}", picture.len());
            assert!(picture.lines().count() > 400_000);
            assert!(before.elapsed().as_secs() < 20);
        }
    }
}
