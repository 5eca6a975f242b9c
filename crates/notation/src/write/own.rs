//! Droste's own text: everything can be said in it.

use std::collections::HashMap;
use std::io::Write;

use super::{WriteError, cannot, weight_text};
use crate::names::Names;
use crate::scanner::written;
use crate::system::{ANY, Configurations, Label, ONE, Place, Reading, Right, System, WeightId};

pub(super) fn write(system: &System, out: &mut impl Write) -> Result<(), WriteError> {
    if let Some(domain) = &system.domain {
        writeln!(out, "domain {domain}")?;
    }
    let states = system.rules.iter().flat_map(|rule| [rule.from, rule.to]);
    if !in_order(states, &system.states) {
        declare("states", &system.states, out)?;
    }
    let symbols = system.rules.iter().flat_map(|rule| {
        let mut symbols = vec![rule.top];
        symbols.extend(system.right(rule, &mut [0; 2]));
        symbols.into_iter().filter(|&symbol| symbol != ANY)
    });
    if !in_order(symbols, &system.symbols) {
        declare("symbols", &system.symbols, out)?;
    }
    let mut merges: HashMap<(u32, u32, u32, Right), WeightId> = HashMap::new();
    for rule in &system.rules {
        let sides = (rule.from, rule.top, rule.to, rule.right);
        if *merges.entry(sides).or_insert(rule.merge) != rule.merge {
            return cannot("two rules with the same sides have different merge functions");
        }
    }
    let symbol = |id: u32| match id {
        ANY => ".".into(),
        id => name(&system.symbols, id),
    };
    for rule in &system.rules {
        let (from, to) = (
            name(&system.states, rule.from),
            name(&system.states, rule.to),
        );
        let mut sides = format!("{from} {} -> {to}", symbol(rule.top));
        for &right in system.right(rule, &mut [0; 2]) {
            sides.push(' ');
            sides.push_str(&symbol(right));
        }
        writeln!(out, "rule {sides}{}", weight(system, rule.weight)?)?;
        let key = (rule.from, rule.top, rule.to, rule.right);
        if rule.merge != ONE && merges.remove(&key).is_some() {
            writeln!(out, "merge {sides}{}", weight(system, rule.merge)?)?;
        }
    }
    set(system, &system.initial, "init", out)?;
    set(system, &system.target, "target", out)
}

fn name(names: &Names, id: u32) -> String {
    written(&names.get(id)).into_owned()
}

/// Whether names are met in the order of their numbers, and all of them.
fn in_order(ids: impl Iterator<Item = u32>, names: &Names) -> bool {
    let mut next = 0;
    for id in ids {
        if id > next {
            return false;
        }
        next += u32::from(id == next);
    }
    next == names.len()
}

fn declare(word: &str, names: &Names, out: &mut impl Write) -> Result<(), WriteError> {
    const PER_LINE: u32 = 16;
    for start in (0..names.len()).step_by(PER_LINE as usize) {
        let end = (start + PER_LINE).min(names.len());
        let line: Vec<String> = (start..end).map(|id| name(names, id)).collect();
        writeln!(out, "{word} {}", line.join(" "))?;
    }
    Ok(())
}

fn weight(system: &System, id: WeightId) -> Result<String, WriteError> {
    let Some(text) = weight_text(system, id) else {
        return Ok(String::new());
    };
    if text.is_empty() || text.trim() != text || text.contains(['#', '\n', '\r']) {
        return cannot(format!("the weight {text:?} does not fit behind a colon"));
    }
    Ok(format!(" : {text}"))
}

fn set(
    system: &System,
    set: &Configurations,
    word: &str,
    out: &mut impl Write,
) -> Result<(), WriteError> {
    match set.reading {
        None => {}
        Some(Reading::FromTop) => writeln!(out, "{word} from top")?,
        Some(Reading::FromBottom) => writeln!(out, "{word} from bottom")?,
    }
    // By first appearance, as the reader numbers them: what was read is written as it was.
    let mut extra: HashMap<u32, usize> = HashMap::new();
    let mut place = |place: Place| match place {
        Place::Control(id) => name(&system.states, id),
        Place::Extra(id) => {
            let next = extra.len();
            format!("@{}", extra.entry(id).or_insert(next))
        }
    };
    for edge in &set.edges {
        let label = match &edge.label {
            Label::Epsilon => "()".to_owned(),
            Label::One(id) => name(&system.symbols, *id),
            Label::Except(none) if none.is_empty() => ".".to_owned(),
            Label::Except(ids) => {
                let ids: Vec<String> = ids.iter().map(|&id| name(&system.symbols, id)).collect();
                format!("[^{}]", ids.join(", "))
            }
        };
        let (from, to) = (place(edge.from), place(edge.to));
        let weight = weight(system, edge.weight)?;
        writeln!(out, "{word} edge {from} {label} -> {to}{weight}")?;
    }
    for (state, id) in &set.accepting {
        writeln!(
            out,
            "{word} final {}{}",
            place(*state),
            weight(system, *id)?
        )?;
    }
    Ok(())
}
