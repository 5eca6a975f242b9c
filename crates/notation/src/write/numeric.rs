//! The plain numeric form. Names become numbers.

use std::io::Write;

use super::flat::{Lacks, configurations, flat};
use super::{WriteError, cannot, no_merges, no_weights, some, weight_text};
use crate::system::{Configurations, Label, Place, System};
use crate::weight::DomainName;

pub(super) fn write(system: &System, out: &mut impl Write) -> Result<(), WriteError> {
    no_merges(system)?;
    no_weights(system, &system.initial)?;
    no_weights(system, &system.target)?;
    let numbers = system
        .domain
        .as_ref()
        .is_none_or(|domain| *domain == DomainName::Bool || domain.is_numeric());
    if !numbers {
        return cannot("weights of the numeric form are numbers");
    }
    let lacks = Lacks {
        any: true,
        long: true,
    };
    let system = &*flat(system, lacks)?;
    let (states, symbols) = (system.states.len(), system.symbols.len());
    writeln!(out, "wpds {states} {symbols} {}", system.rules.len())?;
    for rule in &system.rules {
        let mut room = [0; 2];
        let right = system.right(rule, &mut room);
        write!(
            out,
            "r{} {} {} {}",
            right.len(),
            rule.from,
            rule.top,
            rule.to
        )?;
        for symbol in right {
            write!(out, " {symbol}")?;
        }
        let weight = weight_text(system, rule.weight);
        let weight = match weight.as_deref() {
            None | Some("ONE" | "true" | "T") => "0",
            Some("ZERO") if system.domain == Some(DomainName::MaxPlus) => "-inf",
            Some("ZERO" | "false" | "F") => "inf",
            Some(text) if text.contains(char::is_whitespace) || text.contains('#') => {
                return cannot(format!("the weight `{text}` is not a number"));
            }
            Some(text) => text,
        };
        writeln!(out, " {weight}")?;
    }
    let Some(initial) = configurations(&system.initial) else {
        return cannot("initial configurations must be few and have one symbol each");
    };
    some(&system.initial, "initial", !initial.is_empty())?;
    for (state, stack) in initial {
        let [symbol] = stack[..] else {
            return cannot("initial configurations have one symbol on the stack");
        };
        writeln!(out, "init {state} {symbol}")?;
    }
    target(&system.target, out)
}

/// Tops, all on the same set of symbols.
fn target(set: &Configurations, out: &mut impl Write) -> Result<(), WriteError> {
    let shape = "the target must be some states and tops, above any number of some symbols";
    let (mut under, mut any) = (Vec::new(), false);
    let mut finals: Vec<Place> = set.accepting.iter().map(|(place, _)| *place).collect();
    finals.sort_unstable();
    finals.dedup();
    for edge in &set.edges {
        let Label::One(symbol) = edge.label else {
            return cannot(shape);
        };
        let at_end = finals.contains(&edge.to) && matches!(edge.to, Place::Extra(_));
        match edge.from {
            Place::Control(state) if at_end => {
                any = true;
                writeln!(out, "target {state} {symbol}")?;
            }
            Place::Extra(_) if at_end && edge.from == edge.to => under.push((edge.to, symbol)),
            _ => return cannot(shape),
        }
    }
    let of = |place: Place| {
        let mut symbols: Vec<u32> = (under.iter().filter(|(at, _)| *at == place))
            .map(|(_, symbol)| *symbol)
            .collect();
        symbols.sort_unstable();
        symbols.dedup();
        symbols
    };
    if finals
        .iter()
        .any(|place| matches!(place, Place::Control(_)))
    {
        return cannot("the target has an empty stack");
    }
    some(set, "target", any)?;
    if finals.windows(2).any(|two| of(two[0]) != of(two[1])) {
        return cannot(shape);
    }
    for symbol in finals.first().map(|place| of(*place)).unwrap_or_default() {
        writeln!(out, "under {symbol}")?;
    }
    Ok(())
}
