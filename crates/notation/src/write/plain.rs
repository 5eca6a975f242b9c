//! MOPED's plain form.

use std::io::Write;

use super::flat::{Lacks, configurations, flat};
use super::{WriteError, cannot, no_merges, no_weights, some};
use crate::names::Names;
use crate::scanner::is_bare;
use crate::system::System;

pub(super) fn write(system: &System, out: &mut impl Write) -> Result<(), WriteError> {
    no_merges(system)?;
    if system.rules.iter().any(|rule| !system.is_one(rule.weight)) {
        return cannot("the format has no weights");
    }
    no_weights(system, &system.initial)?;
    if !system.target.is_empty() {
        return cannot("the format has no target; leave it out with `--drop target`");
    }
    let lacks = Lacks {
        any: true,
        long: false,
    };
    let system = &*flat(system, lacks)?;
    for names in [&system.states, &system.symbols] {
        if let Some(name) = names.iter().find(|name| !is_bare(name)) {
            return cannot(format!("the format has no names such as {name:?}"));
        }
    }
    let Some(initial) = configurations(&system.initial) else {
        return cannot("initial configurations must be few, without repetition");
    };
    some(&system.initial, "initial", !initial.is_empty())?;
    for (state, stack) in initial {
        writeln!(
            out,
            "({} <{}>)",
            system.states.get(state),
            list(&system.symbols, &stack)
        )?;
    }
    for rule in &system.rules {
        let mut room = [0; 2];
        let right = list(&system.symbols, system.right(rule, &mut room));
        let (from, to) = (system.states.get(rule.from), system.states.get(rule.to));
        let top = list(&system.symbols, &[rule.top]);
        writeln!(out, "{from} <{top}> --> {to} <{right}>")?;
    }
    Ok(())
}

fn list(names: &Names, ids: &[u32]) -> String {
    let list: Vec<_> = ids.iter().map(|&id| names.get(id)).collect();
    let mut list = list.join(" ");
    // `->` would end the name.
    if list.ends_with('-') {
        list.push(' ');
    }
    list
}
