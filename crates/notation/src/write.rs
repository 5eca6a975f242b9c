//! Writers: a system in each of the formats, as far as the format can say it.
//!
//! What a format cannot say is an error that names it; nothing is left out silently. Two things
//! are rewritten where a format lacks them, because runs and weights stay the same: any symbol `.`
//! becomes every symbol, and a right-hand side that is too long becomes several rules
//! ([`flat()`]).

mod flat;
mod numeric;
mod own;
mod pdaaal;
mod plain;
mod wali;

use std::borrow::Cow;
use std::io::{self, Write};

use flat::{Lacks, configurations, flat};

use crate::read::Format;
use crate::system::{Configurations, System, WeightId};
use crate::weight::inner;

/// Why a system was not written.
#[derive(Debug)]
pub enum WriteError {
    /// The format cannot say this.
    Cannot(String),
    /// The writing failed.
    Io(io::Error),
}

impl From<io::Error> for WriteError {
    fn from(error: io::Error) -> Self {
        WriteError::Io(error)
    }
}

fn cannot<T>(what: impl Into<String>) -> Result<T, WriteError> {
    Err(WriteError::Cannot(what.into()))
}

/// Writes a system.
pub fn write(system: &System, format: Format, out: &mut impl Write) -> Result<(), WriteError> {
    match format {
        Format::Wpds => own::write(system, out),
        Format::Numeric => numeric::write(system, out),
        Format::Moped => plain::write(system, out),
        Format::Pdaaal => pdaaal::write(system, out),
        Format::Wali => wali::write(system, out),
        Format::Cuba => cannot("a concurrent system has threads, and this one has none"),
    }
}

impl Format {
    /// The control states of a system that get lost when it is written in this format, because
    /// nothing in the file has them.
    pub fn lost_states(self, system: &System) -> Vec<String> {
        if !matches!(self, Format::Wali | Format::Moped) {
            return Vec::new();
        }
        let lacks = Lacks {
            any: true,
            long: false,
        };
        // What cannot be written at all loses nothing.
        let Ok(flat) = flat(system, lacks) else {
            return Vec::new();
        };
        let mut kept = in_rules(&flat);
        // WALi's automata have control states that rules have; MOPED's initial configurations may
        // have others. A set such as `<p, [^a]>` may have none.
        if self == Format::Moped {
            for (state, _) in configurations(&flat.initial).unwrap_or_default() {
                kept[state as usize] = true;
            }
        }
        let lost = (0..).zip(kept).filter(|(_, kept)| !kept);
        lost.map(|(id, _)| system.states.get(id).into_owned())
            .collect()
    }
}

/// Which control states the rules have.
fn in_rules(system: &System) -> Vec<bool> {
    let mut found = vec![false; system.states.len() as usize];
    for rule in &system.rules {
        found[rule.from as usize] = true;
        found[rule.to as usize] = true;
    }
    found
}

/// The text of a weight, if one is written. The name of WALi's class around a number is left out.
fn weight_text(system: &System, id: WeightId) -> Option<Cow<'_, str>> {
    Some(match system.weight_text(id)? {
        Cow::Borrowed(text) => Cow::Borrowed(inner(text)),
        Cow::Owned(text) => Cow::Owned(inner(&text).to_owned()),
    })
}

/// Refuses merge functions.
fn no_merges(system: &System) -> Result<(), WriteError> {
    if system.has_merges() {
        cannot("the format has no merge functions")
    } else {
        Ok(())
    }
}

/// Refuses weights in a set.
fn no_weights(system: &System, set: &Configurations) -> Result<(), WriteError> {
    let edges = set.edges.iter().all(|edge| system.is_one(edge.weight));
    if edges
        && set
            .accepting
            .iter()
            .all(|(_, weight)| system.is_one(*weight))
    {
        Ok(())
    } else {
        cannot("the format has no weights in sets of configurations")
    }
}

/// Refuses a set that is given but has no configuration, where the format says nothing of it: the
/// file would be read as one where the set is missing.
fn some(set: &Configurations, which: &str, any: bool) -> Result<(), WriteError> {
    if any || set.is_empty() {
        Ok(())
    } else {
        cannot(format!(
            "no configuration is in the {which} set, and the format cannot say so; leave the set out \
             with `--drop {which}`"
        ))
    }
}

/// A name beside those that are taken.
fn fresh(base: &str, taken: impl Fn(&str) -> bool) -> String {
    let mut name = base.to_owned();
    while taken(&name) {
        name.push('\'');
    }
    name
}
