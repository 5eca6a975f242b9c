//! Automata as text: in the Hanoi omega-automata format, and for Graphviz.

use std::fmt::Write as _;

use crate::printer::print_short;
use crate::syntax::Atoms;
use droste_automata::automaton::{Edge, Literal, Tgba};
use droste_automata::formula::{AtomId, Formulas};

/// How long the description of a state may get.
const LONGEST: usize = 200;

/// In double quotes.
fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        if matches!(c, '"' | '\\') {
            out.push('\\');
        }
        // Line breaks inside a string are allowed in HOA but not in dot.
        out.push(if c == '\n' { ' ' } else { c });
    }
    out.push('"');
    out
}

fn description(automaton: &Tgba, formulas: &Formulas, atoms: &Atoms, state: u32) -> Option<String> {
    let info = automaton.state(state);
    match (&info.name, info.formula) {
        (Some(name), _) => Some(name.clone()),
        (None, Some(formula)) => Some(print_short(formulas, atoms, formula, LONGEST)),
        (None, None) => None,
    }
}

/// A guard, each literal as `literal` says.
fn guard(automaton: &Tgba, edge: &Edge, literal: impl Fn(Literal) -> String) -> String {
    let cubes: Vec<String> = automaton
        .guards()
        .cubes(edge.guard)
        .map(|cube| {
            let literals: Vec<String> = cube.iter().map(|&l| literal(l)).collect();
            literals.join("&")
        })
        .collect();
    cubes.join(" | ")
}

fn marks(edge: &Edge) -> String {
    let list: Vec<String> = (0..32)
        .filter(|i| edge.marks >> i & 1 != 0)
        .map(|i| i.to_string())
        .collect();
    list.join(" ")
}

/// The atoms that occur in guards, in order.
fn used(automaton: &Tgba) -> Vec<AtomId> {
    let guards = 0..automaton.guards().len() as u32;
    let cubes = guards.flat_map(|guard| automaton.guards().cubes(guard));
    let mut atoms: Vec<AtomId> = cubes.flatten().map(|literal| literal.atom()).collect();
    atoms.sort_unstable();
    atoms.dedup();
    atoms
}

/// The automaton in version 1 of the Hanoi omega-automata format.
pub fn write_hoa(automaton: &Tgba, formulas: &Formulas, atoms: &Atoms, name: &str) -> String {
    let mut out = String::from("HOA: v1\n");
    let _ = writeln!(out, "name: {}", quoted(name));
    let _ = writeln!(
        out,
        "tool: \"droste\" {}",
        quoted(env!("CARGO_PKG_VERSION"))
    );
    let _ = writeln!(out, "States: {}", automaton.state_count());
    let _ = writeln!(out, "Start: {}", automaton.initial());
    // Atoms that do not occur may belong to another property of the same file.
    let used = used(automaton);
    let _ = write!(out, "AP: {}", used.len());
    for &atom in &used {
        let _ = write!(out, " {}", quoted(&atoms.get(atom).to_string()));
    }
    let count = automaton.mark_count();
    match count {
        0 => out.push_str("\nacc-name: all\nAcceptance: 0 t\n"),
        1 => out.push_str("\nacc-name: Buchi\nAcceptance: 1 Inf(0)\n"),
        _ => {
            let sets: Vec<String> = (0..count).map(|i| format!("Inf({i})")).collect();
            let _ = write!(out, "\nacc-name: generalized-Buchi {count}\n");
            let _ = writeln!(out, "Acceptance: {count} {}", sets.join("&"));
        }
    }
    out.push_str("properties: trans-labels explicit-labels trans-acc no-univ-branch");
    for (holds, property) in [
        (automaton.is_deterministic(), " deterministic"),
        (automaton.is_weak(), " weak"),
        (automaton.is_terminal(), " terminal"),
    ] {
        if holds {
            out.push_str(property);
        }
    }
    out.push_str("\n--BODY--\n");
    for state in 0..automaton.state_count() as u32 {
        let _ = write!(out, "State: {state}");
        if let Some(text) = description(automaton, formulas, atoms, state) {
            let _ = write!(out, " {}", quoted(&text));
        }
        out.push('\n');
        for edge in automaton.edges_from(state) {
            let label = if automaton.guards().is_true(edge.guard) {
                "t".to_owned()
            } else {
                guard(automaton, edge, |literal| {
                    let not = if literal.positive() { "" } else { "!" };
                    let number = used.partition_point(|&atom| atom < literal.atom());
                    format!("{not}{number}")
                })
            };
            let _ = write!(out, "[{label}] {}", edge.target);
            if edge.marks != 0 {
                let _ = write!(out, " {{{}}}", marks(edge));
            }
            out.push('\n');
        }
    }
    out.push_str("--END--\n");
    out
}

/// The automaton as a picture, in the language of Graphviz. Marks are in braces; states in
/// accepting components have a bold border.
pub fn write_dot(automaton: &Tgba, formulas: &Formulas, atoms: &Atoms, name: &str) -> String {
    let mut out = String::from("digraph automaton {\n");
    let _ = writeln!(out, "  label={}", quoted(name));
    out.push_str("  labelloc=t\n  rankdir=LR\n  node [shape=box, style=rounded]\n");
    out.push_str("  start [shape=point, label=\"\"]\n");
    let _ = writeln!(out, "  start -> {}", automaton.initial());
    for state in 0..automaton.state_count() as u32 {
        let text = description(automaton, formulas, atoms, state);
        let text = text.unwrap_or_else(|| state.to_string());
        let accepting = automaton.is_accepting_component(automaton.component(state));
        let bold = if accepting { ", penwidth=2" } else { "" };
        let _ = writeln!(out, "  {state} [label={}{bold}]", quoted(&text));
    }
    for edge in automaton.edges() {
        let mut label = if automaton.guards().is_true(edge.guard) {
            "true".to_owned()
        } else {
            guard(automaton, edge, |literal| {
                let not = if literal.positive() { "" } else { "!" };
                format!("{not}{}", atoms.get(literal.atom()))
            })
        };
        if edge.marks != 0 {
            let _ = write!(label, " {{{}}}", marks(edge));
        }
        let _ = writeln!(
            out,
            "  {} -> {} [label={}]",
            edge.source,
            edge.target,
            quoted(&label)
        );
    }
    out.push_str("}\n");
    out
}
