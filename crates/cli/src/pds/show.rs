//! Automata with the names of the system: as text that is read again, as JSON, for Graphviz.

use std::io::{self, Write};
use std::path::Path;

use droste_base::Limits;
use droste_notation::{Label, Notation, Place, SetError, System, read_set, written};
use droste_pds::automaton::Names;
use droste_pds::{Automaton, Direction, StateId, SymbolId, Transition};
use droste_source::SourceFile;
use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Serialize, Serializer};

use super::{Stop, tell};
use crate::console::Failure;
use crate::frame::Frame;
use crate::output::{self, Cut};

/// A configuration: control state and stack, the top first.
pub(super) type Configuration = (StateId, Vec<SymbolId>);

/// The configuration that a text such as `<p, a b>` stands for.
pub(super) fn configuration(
    text: &str,
    system: &mut System,
    quiet: bool,
    frame: &Frame<'_>,
) -> Result<Configuration, Stop> {
    let source = SourceFile::new("--of", text);
    let set = match read_set(&source, system, &frame.limits()) {
        Ok((set, warnings)) => {
            frame.console.diagnostics(&warnings, &source, quiet);
            set
        }
        Err(SetError::Wrong(list)) => return Err(tell(frame, "--of", text, &list).into()),
        Err(SetError::Stopped(reason)) => return Err(reason.into()),
    };
    let several = || {
        let what = format!("--of: `{text}` stands for more than one configuration");
        Stop::Failure(Failure::Because(what))
    };
    // A single one is a chain of symbols.
    let start = set
        .edges
        .first()
        .map_or(set.accepting[0].0, |edge| edge.from);
    let Place::Control(state) = start else {
        return Err(several());
    };
    let mut stack = Vec::new();
    let mut at = start;
    for edge in &set.edges {
        let Label::One(symbol) = edge.label else {
            return Err(several());
        };
        if edge.from != at {
            return Err(several());
        }
        stack.push(SymbolId(symbol));
        at = edge.to;
    }
    if set.accepting.len() != 1 || set.accepting[0].0 != at || set.extra as usize != stack.len() {
        return Err(several());
    }
    Ok((StateId(state), stack))
}

/// The relations that hold after all paths of a weight, a line for each.
pub(super) fn relations<D: Notation>(domain: &D, weight: &D::Weight) -> String {
    let mut text = String::new();
    for relation in domain.relations(weight) {
        text.extend(["  ", &relation, "\n"]);
    }
    text
}

/// An automaton to be shown.
pub(super) struct Shown<'a, D: Notation> {
    pub(super) system: &'a System,
    pub(super) domain: &'a D,
    pub(super) automaton: &'a Automaton<D::Weight>,
}

impl<D: Notation> Names<D::Weight> for Shown<'_, D> {
    fn state(&self, state: StateId) -> String {
        Shown::state(self, state)
    }

    fn symbol(&self, symbol: SymbolId) -> String {
        Shown::symbol(self, symbol).unwrap_or_else(|| "…".to_owned())
    }

    fn weight(&self, weight: &D::Weight) -> Option<String> {
        let one = self.domain.equal(weight, &self.domain.one());
        (!one).then(|| self.domain.shown(weight))
    }
}

impl<D: Notation> Shown<'_, D> {
    fn state(&self, state: StateId) -> String {
        if state.0 < self.automaton.control() {
            written(&self.system.states.get(state.0)).into_owned()
        } else {
            format!("@{}", state.0 - self.automaton.control())
        }
    }

    /// A symbol; nothing if it stands for a part of a long right-hand side.
    fn symbol(&self, symbol: SymbolId) -> Option<String> {
        if symbol == SymbolId::EPSILON {
            return Some("()".to_owned());
        }
        let names = &self.system.symbols;
        (symbol.0 < names.len()).then(|| written(&names.get(symbol.0)).into_owned())
    }

    /// The end of a line, with the weight.
    fn end(&self, weight: &D::Weight, out: &mut dyn Write) -> io::Result<()> {
        if self.domain.equal(weight, &self.domain.one()) {
            return writeln!(out);
        }
        out.write_all(b" : ")?;
        if let Some(how) = self.domain.vaguely(weight) {
            // It is to be read again.
            return writeln!(out, "{}   # {how}", self.domain.print(weight));
        }
        self.domain.write(weight, out)?;
        writeln!(out)
    }

    fn finals(&self) -> impl Iterator<Item = (StateId, &D::Weight)> {
        let states = (0..self.automaton.states()).map(StateId);
        states.filter_map(|state| Some((state, self.automaton.final_weight(state)?)))
    }

    /// The transitions, in order. They may be many: names are made one by one.
    fn edges(&self) -> Vec<(Transition, &D::Weight)> {
        let mut all: Vec<_> = self.automaton.iter().collect();
        all.sort_unstable_by_key(|(transition, _)| *transition);
        all
    }

    /// How many states and transitions the text has. States that nothing leads to or from, and parts of
    /// long right-hand sides, are not in it.
    pub(super) fn counts(&self) -> (u64, u64) {
        let mut seen = vec![false; self.automaton.states() as usize];
        let mut transitions = 0;
        for (Transition { from, symbol, to }, _) in self.automaton.iter() {
            if self.symbol(symbol).is_some() {
                transitions += 1;
                seen[from.0 as usize] = true;
                seen[to.0 as usize] = true;
            }
        }
        for (state, _) in self.finals() {
            seen[state.0 as usize] = true;
        }
        let states = seen.iter().filter(|seen| **seen).count();
        (states as u64, transitions)
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "from {}", self.reading())?;
        for (Transition { from, symbol, to }, weight) in self.edges() {
            let Some(symbol) = self.symbol(symbol) else {
                continue;
            };
            let (from, to) = (self.state(from), self.state(to));
            write!(out, "edge {from} {symbol} -> {to}")?;
            self.end(weight, out)?;
        }
        for (state, weight) in self.finals() {
            write!(out, "final {}", self.state(state))?;
            self.end(weight, out)?;
        }
        Ok(())
    }

    fn reading(&self) -> &'static str {
        match self.automaton.direction() {
            Direction::Forward => "top",
            Direction::Backward => "bottom",
        }
    }

    fn write(&self, out: &mut dyn Write, dot: bool) -> io::Result<()> {
        if dot {
            self.automaton.write_dot(self, out)
        } else {
            self.write_text(out)
        }
    }

    /// Writes it to standard output. It is not an error if the reader has gone.
    pub(super) fn print(&self, dot: bool, limits: &Limits) -> Result<(), Cut> {
        output::print_until(limits, |out| self.write(out, dot))
    }

    /// Writes it to a file.
    pub(super) fn save(&self, file: &Path, dot: bool, limits: &Limits) -> Result<(), Cut> {
        output::save_until(file, limits, |out| self.write(out, dot))
    }

    fn is_saturated(&self) -> bool {
        let all = self.automaton.iter().map(|(_, weight)| weight);
        let mut all = all.chain(self.finals().map(|(_, weight)| weight));
        all.any(|weight| self.domain.vaguely(weight).is_some())
    }
}

impl<D: Notation> Serialize for Shown<'_, D> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_map(None)?;
        object.serialize_entry("edges", &Edges(self))?;
        let finals = self.finals();
        let finals = finals.map(|(state, w)| (self.state(state), self.domain.json(w)));
        object.serialize_entry("final", &finals.collect::<Vec<_>>())?;
        object.serialize_entry("reading", self.reading())?;
        if self.is_saturated() {
            object.serialize_entry("saturated", &true)?;
        }
        object.end()
    }
}

/// The transitions of an automaton as JSON.
struct Edges<'a, 'b, D: Notation>(&'a Shown<'b, D>);

impl<D: Notation> Serialize for Edges<'_, '_, D> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let shown = self.0;
        let mut list = serializer.serialize_seq(None)?;
        for (Transition { from, symbol, to }, weight) in shown.edges() {
            if let Some(symbol) = shown.symbol(symbol) {
                let (from, to) = (shown.state(from), shown.state(to));
                list.serialize_element(&(from, symbol, to, shown.domain.json(weight)))?;
            }
        }
        list.end()
    }
}
