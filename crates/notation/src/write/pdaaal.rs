//! PDAAAL's JSON: a system, or a solver instance if there is a set of configurations.
//!
//! A rule that pushes keeps the old top there. Any other pair of symbols goes over a state of its
//! own: first the lower symbol is put in the place of the top, then the upper one is pushed.

use std::io::Write;

use serde_json::json;

use super::flat::{Lacks, flat};
use super::{WriteError, cannot, fresh, no_merges, no_weights, weight_text};
use crate::system::{ANY, Configurations, Label, ONE, Place, Right, System, WeightId};
use crate::weight::DomainName;

/// A rule as PDAAAL has it.
struct Line {
    from: u32,
    top: u32,
    to: u32,
    /// `pop`, `swap` or `push`, and the label.
    operation: (&'static str, Option<u32>),
    weight: WeightId,
}

pub(super) fn write(system: &System, out: &mut impl Write) -> Result<(), WriteError> {
    no_merges(system)?;
    no_weights(system, &system.initial)?;
    no_weights(system, &system.target)?;
    // A symbol that stands for what is still to be pushed would be any symbol, too.
    let lacks = Lacks {
        any: (system.rules.iter()).any(|rule| matches!(rule.right, Right::Long(_))),
        long: true,
    };
    let system = &*flat(system, lacks)?;
    if let Some(name) = system
        .symbols
        .iter()
        .find(|name| matches!(&**name, "*" | ""))
    {
        return cannot(format!("the format has no symbol {name:?}"));
    }
    let kind = weight_type(system)?;
    let mut states = system.states.len();
    let mut lines = Vec::with_capacity(system.rules.len());
    for rule in &system.rules {
        let plain = |operation| Line {
            from: rule.from,
            top: rule.top,
            to: rule.to,
            operation,
            weight: rule.weight,
        };
        match rule.right {
            Right::Pop => lines.push(plain(("pop", None))),
            Right::Step(symbol) => lines.push(plain(("swap", Some(symbol)))),
            Right::Push(first, second) if second == rule.top && first != ANY => {
                lines.push(plain(("push", Some(first))));
            }
            Right::Push(first, second) if first != ANY && second != ANY => {
                let helper = states;
                states += 1;
                let mut swap = plain(("swap", Some(second)));
                swap.to = helper;
                lines.push(swap);
                lines.push(Line {
                    from: helper,
                    top: second,
                    to: rule.to,
                    operation: ("push", Some(first)),
                    weight: ONE,
                });
            }
            Right::Push(..) | Right::Long(_) => {
                return cannot("`.` stands above another symbol on the right of a rule");
            }
        }
    }
    lines.sort_by_key(|line| (line.from, line.top));
    let instance = !system.initial.is_empty() || !system.target.is_empty();
    let named = !system.states.are_numbers();
    let writer = Writer {
        system,
        named,
        states,
        weighted: kind != json!("none"),
    };
    if !instance {
        write!(out, "{{\"pda\": ")?;
        writer.pda(&lines, out)?;
        writeln!(out, "}}")?;
        return Ok(());
    }
    let header = json!({ "state-names": named, "weight-type": kind });
    writeln!(out, "{{\"instance\": [{header},")?;
    writer.pda(&lines, out)?;
    for set in [&system.initial, &system.target] {
        writeln!(out, ",")?;
        writer.automaton(set, out)?;
    }
    writeln!(out, "]}}")?;
    Ok(())
}

/// What kind of weights there are.
fn weight_type(system: &System) -> Result<serde_json::Value, WriteError> {
    let texts = || {
        system
            .rules
            .iter()
            .filter_map(|rule| weight_text(system, rule.weight))
    };
    match &system.domain {
        None | Some(DomainName::Bool) => match texts().find(|text| !is_one(text)) {
            None => Ok(json!("none")),
            Some(text) => cannot(format!("the weight `{text}` is not a number")),
        },
        Some(DomainName::Vector) => match texts().find(|text| elements(text).is_none()) {
            None => {
                let negative = texts().any(|text| text.contains('-'));
                Ok(json!([if negative { "int" } else { "uint" }]))
            }
            Some(text) => cannot(format!("the weight `{text}` is not a vector")),
        },
        Some(domain) if domain.is_numeric() => {
            if let Some(text) = texts().find(|text| *text != "ONE" && text.parse::<i64>().is_err())
            {
                return cannot(format!("the weight `{text}` is not a number"));
            }
            let negative = texts().any(|text| text.starts_with('-'));
            Ok(json!(if negative { "int" } else { "uint" }))
        }
        Some(domain) => cannot(format!("the format has no weights of the domain {domain}")),
    }
}

/// The numbers of a vector.
fn elements(text: &str) -> Option<Vec<i64>> {
    if text == "ONE" {
        return Some(Vec::new());
    }
    serde_json::from_str(text).ok()
}

fn is_one(text: &str) -> bool {
    matches!(text, "ONE" | "true" | "T")
}

struct Writer<'a> {
    system: &'a System,
    named: bool,
    /// With the helpers.
    states: u32,
    weighted: bool,
}

impl Writer<'_> {
    fn state(&self, id: u32) -> serde_json::Value {
        if !self.named {
            return json!(id);
        }
        let known = &self.system.states;
        if id < known.len() {
            return json!(known.get(id));
        }
        json!(fresh(&format!("push{id}"), |name| known
            .find(name)
            .is_some()))
    }

    fn place(&self, place: Place) -> serde_json::Value {
        match place {
            Place::Control(id) => self.state(id),
            Place::Extra(id) if !self.named => json!(self.states + id),
            Place::Extra(id) => {
                let taken = |name: &str| self.system.states.find(name).is_some();
                json!(fresh(&format!("@{id}"), taken))
            }
        }
    }

    fn label(&self, symbol: u32) -> serde_json::Value {
        match symbol {
            ANY => json!("*"),
            symbol => json!(self.system.symbols.get(symbol)),
        }
    }

    fn pda(&self, lines: &[Line], out: &mut impl Write) -> Result<(), WriteError> {
        let (open, close) = if self.named { ('{', '}') } else { ('[', ']') };
        write!(out, "{{\"states\": {open}")?;
        let mut rest = lines;
        for state in 0..self.states {
            let comma = if state == 0 { "" } else { "," };
            write!(out, "{comma}\n  ")?;
            if self.named {
                write!(out, "{}: ", self.state(state))?;
            }
            write!(out, "{{")?;
            let mut first = true;
            while let Some(line) = rest.first().filter(|line| line.from == state) {
                let same = rest
                    .iter()
                    .take_while(|l| (l.from, l.top) == (line.from, line.top));
                let (group, after) = rest.split_at(same.count());
                rest = after;
                let comma = if first { "" } else { ", " };
                first = false;
                write!(out, "{comma}{}: [", self.label(line.top))?;
                for (place, line) in group.iter().enumerate() {
                    let comma = if place == 0 { "" } else { ", " };
                    write!(out, "{comma}")?;
                    self.rule(line, out)?;
                }
                write!(out, "]")?;
            }
            write!(out, "}}")?;
        }
        write!(out, "{close}}}")?;
        Ok(())
    }

    fn rule(&self, line: &Line, out: &mut impl Write) -> Result<(), WriteError> {
        let (word, label) = line.operation;
        let label = label.map_or(json!(""), |label| self.label(label));
        write!(
            out,
            "{{\"to\": {}, \"{word}\": {label}",
            self.state(line.to)
        )?;
        if self.weighted {
            let text = weight_text(self.system, line.weight);
            // `ONE`, or nothing, is zero.
            let number = match (&self.system.domain, text) {
                (Some(DomainName::Vector), text) => {
                    json!(text.and_then(|text| elements(&text)).unwrap_or_default())
                }
                (_, text) => json!(text.and_then(|text| text.parse::<i64>().ok()).unwrap_or(0)),
            };
            write!(out, ", \"weight\": {number}")?;
        }
        write!(out, "}}")?;
        Ok(())
    }

    fn automaton(&self, set: &Configurations, out: &mut impl Write) -> Result<(), WriteError> {
        let finals: Vec<_> = set
            .accepting
            .iter()
            .map(|(place, _)| self.place(*place))
            .collect();
        write!(out, "{{\"accepting\": {}, \"edges\": [", json!(finals))?;
        for (at, edge) in set.edges.iter().enumerate() {
            let label = match edge.label {
                Label::Epsilon => json!(""),
                Label::One(symbol) => self.label(symbol),
                // Written out before.
                Label::Except(_) => continue,
            };
            let comma = if at == 0 { "" } else { ", " };
            let edge = json!([self.place(edge.from), label, self.place(edge.to)]);
            write!(out, "{comma}{edge}")?;
        }
        write!(out, "]}}")?;
        Ok(())
    }
}
