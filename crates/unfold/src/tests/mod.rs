//! Packed states and what they can do, against the values they stand for.

mod concretize;
mod layout;
mod steps;
mod threads;

use droste_program::{Program, Value};
use droste_testkit::generate::lowered;
use droste_testkit::random::Random;

use crate::layout::Field;

fn program(seed: u64) -> Program {
    lowered::program(&mut Random::new(seed))
}

/// The values of these fields.
fn read<'a>(fields: impl IntoIterator<Item = &'a Field>, words: &[u64]) -> Vec<Option<Value>> {
    let value = |field: &Field| field.get(words).map(|offset| field.value(offset));
    fields.into_iter().map(value).collect()
}

/// All values for those that have none.
fn completions<'a>(fields: impl IntoIterator<Item = &'a Field>, words: &[u64]) -> Vec<Vec<Value>> {
    let mut all = vec![Vec::new()];
    for field in fields {
        let offsets = match field.get(words) {
            Some(offset) => offset..=offset,
            None => 0..=field.top,
        };
        let longer = |start: &Vec<Value>| -> Vec<Vec<Value>> {
            let values = offsets.clone().map(|offset| field.value(offset));
            values
                .map(|value| [&start[..], &[value]].concat())
                .collect()
        };
        all = all.iter().flat_map(longer).collect();
    }
    all
}
