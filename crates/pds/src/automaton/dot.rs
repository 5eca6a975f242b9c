//! Pictures of automata, for Graphviz.

use std::fmt::Debug;
use std::io::{self, Write};

use super::{Automaton, Transition};
use crate::system::{StateId, SymbolId};

/// How states, symbols and weights are called in a picture. Numbers, if nothing else is said.
pub trait Names<W> {
    /// A control state, or another state of the automaton.
    fn state(&self, state: StateId) -> String {
        state.0.to_string()
    }

    /// A stack symbol.
    fn symbol(&self, symbol: SymbolId) -> String {
        symbol.0.to_string()
    }

    /// A weight; nothing if it is not to be shown.
    fn weight(&self, weight: &W) -> Option<String>;
}

/// Numbers for states and symbols, and weights as they are for debugging.
#[derive(Clone, Copy, Debug, Default)]
pub struct Numbers;

impl<W: Debug> Names<W> for Numbers {
    fn weight(&self, weight: &W) -> Option<String> {
        Some(format!("{weight:?}"))
    }
}

impl<W: Clone> Automaton<W> {
    /// The automaton as a Graphviz digraph. Control states are boxes, final states have two
    /// circles.
    pub fn dot(&self, names: &impl Names<W>) -> String {
        let mut out = Vec::new();
        // Memory takes all that is written.
        let _ = self.write_dot(names, &mut out);
        String::from_utf8_lossy(&out).into_owned()
    }

    /// Writes what [`dot`](Self::dot) gives.
    pub fn write_dot(&self, names: &impl Names<W>, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(b"digraph automaton {\n  rankdir=LR;\n  node [shape=circle];\n")?;
        for (state, end) in (0..).map(StateId).zip(&self.accepting) {
            let mut label = names.state(state);
            if let Some(weight) = end.as_ref().and_then(|end| names.weight(end)) {
                label = format!("{label} : {weight}");
            }
            let label = escape(&label);
            let shape = if state.0 < self.control {
                ", shape=box"
            } else {
                ""
            };
            let border = if end.is_some() { ", peripheries=2" } else { "" };
            writeln!(out, "  s{} [label=\"{label}\"{shape}{border}];", state.0)?;
        }
        for (transition, weight) in self.iter() {
            let Transition { from, symbol, to } = transition;
            let mut label = if symbol == SymbolId::EPSILON {
                "ε".to_owned()
            } else {
                names.symbol(symbol)
            };
            if let Some(weight) = names.weight(weight) {
                label = format!("{label} : {weight}");
            }
            let label = escape(&label);
            writeln!(out, "  s{} -> s{} [label=\"{label}\"];", from.0, to.0)?;
        }
        writeln!(out, "}}")
    }
}

fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            _ => out.push(c),
        }
    }
    out
}
