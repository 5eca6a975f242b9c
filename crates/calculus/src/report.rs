//! Results as text, in MUCKE's form.

use std::fmt::Write as _;

use droste_bdd::{Bdd, Var};
use num_bigint::BigUint;
use rustc_hash::FxHashMap;

use crate::solver::{Outcome, Solver, Statistics, Tuple};
use crate::term::DefId;
use crate::theory::{Action, Printed, Theory};
use crate::witness::Witness;

/// What an action prints: lines that begin with `: `, and what `#print` was given.
pub fn text(solver: &Solver<'_>, action: &Action, outcome: &Outcome) -> String {
    let theory = solver.theory();
    let name = |def: &DefId| theory.definitions()[def.0 as usize].name.as_str();
    match (action, outcome) {
        (Action::Query(question), Outcome::Answer(value)) => {
            format!(
                ": value of\n:   {}\n: is\n:   {value}\n",
                theory.show(question)
            )
        }
        (Action::Witness(wanted, question), Outcome::Witness(witness)) => {
            let kind = if *wanted {
                "witness for"
            } else {
                "counterexample to"
            };
            let shown = theory.show(question);
            format!(": {kind}\n:   {shown}\n{}", witness_text(theory, witness))
        }
        (Action::Witness(wanted, question), Outcome::NoWitness(value)) => {
            let kind = if *wanted {
                "witness for"
            } else {
                "counterexample to"
            };
            let shown = theory.show(question);
            format!(": no {kind}\n:   {shown}\n: it is\n:   {value}\n")
        }
        (Action::Count(def, _), Outcome::Count(count, space)) => format!(
            ": onset size of `{}' is 2^{} -- {count} ({}% out of 2^{})\n",
            name(def),
            logarithm(count),
            percent(count, space),
            logarithm(space)
        ),
        (Action::Size(def, _), Outcome::Size(size)) => {
            let log = logarithm(&BigUint::from(*size));
            format!(": size of `{}' is 2^{log} -- {size}\n", name(def))
        }
        (Action::Dump(_, _), Outcome::Dump(dump)) => format!("<DUMP>\n{dump}</DUMP>\n"),
        (Action::Tuples(def, _, _), Outcome::Tuples(tuples, count)) => {
            let mut out = format!(": {count} in `{}'\n", name(def));
            for tuple in tuples {
                let _ = writeln!(out, ":   {}", tuple_text(theory, *def, tuple));
            }
            if BigUint::from(tuples.len()) < *count {
                let _ = writeln!(out, ":   ...");
            }
            out
        }
        (Action::Timer, Outcome::Time(time)) => {
            format!(": timer at {:.2} seconds\n", time.as_secs_f64())
        }
        (Action::Print(items), _) => printed(theory, items, &solver.statistics()),
        _ => String::new(),
    }
}

fn printed(theory: &Theory, items: &[Printed], statistics: &Statistics) -> String {
    let mut out = String::new();
    for item in items {
        match item {
            Printed::Text(text) => out.push_str(text),
            Printed::Symbol(text) => {
                let _ = writeln!(out, ": {text}");
            }
            Printed::Symbols => {
                for definition in theory.definitions() {
                    let _ = writeln!(out, ": {}", definition.name);
                }
            }
            Printed::Statistics => {
                let _ = writeln!(
                    out,
                    ": {} BDD variables, {} nodes, {} at the peak, {} collections, {} rounds",
                    statistics.variables,
                    statistics.nodes,
                    statistics.peak_nodes,
                    statistics.collections,
                    statistics.rounds
                );
            }
        }
    }
    let texts = items
        .iter()
        .filter(|i| matches!(i, Printed::Text(_)))
        .count();
    if texts == 1 {
        out.push('\n');
    }
    out
}

/// `P(x = 1, y = {a=true})`
pub fn tuple_text(theory: &Theory, def: DefId, tuple: &Tuple) -> String {
    let definition = &theory.definitions()[def.0 as usize];
    let parts: Vec<String> = definition
        .parameters
        .iter()
        .zip(tuple)
        .map(|(&id, bits)| {
            let variable = theory.variable(id);
            format!(
                "{} = {}",
                variable.name,
                theory.types().show(variable.ty, bits)
            )
        })
        .collect();
    format!("{}({})", definition.name, parts.join(", "))
}

fn witness_text(theory: &Theory, witness: &Witness) -> String {
    let mut out = String::new();
    for (id, bits) in &witness.choices {
        let variable = theory.variable(*id);
        let value = theory.types().show(variable.ty, bits);
        let _ = writeln!(out, ": with {} = {value}", variable.name);
    }
    for path in &witness.paths {
        let _ = writeln!(out, ": path");
        for (i, step) in path.iter().enumerate() {
            let not = if step.fails { "!" } else { "" };
            let shown = tuple_text(theory, step.predicate, &step.tuple);
            let _ = writeln!(out, ": {:>4}  {not}{shown}", i + 1);
            for (def, tuple) in &step.with {
                let _ = writeln!(
                    out,
                    ":         with {not}{}",
                    tuple_text(theory, *def, tuple)
                );
            }
            if step.more {
                let _ = writeln!(out, ":         with more, for all values of a `forall`");
            }
        }
    }
    out
}

/// The binary logarithm, with three places.
fn logarithm(number: &BigUint) -> String {
    let bits = number.bits();
    if bits == 0 {
        return "-inf".to_owned();
    }
    let shift = bits.saturating_sub(64);
    let top = (number >> shift).iter_u64_digits().next().unwrap_or(0);
    format!("{:.3}", (top as f64).log2() + shift as f64)
}

/// The ratio of the first to the second, in percent with six places, rounded exactly.
fn percent(part: &BigUint, whole: &BigUint) -> String {
    if whole.bits() == 0 {
        return "0.000000".to_owned();
    }
    let millionths: BigUint = (part * 200_000_000u32 + whole) / (whole * 2u32);
    let one = BigUint::from(1_000_000u32);
    format!(
        "{}.{:0>6}",
        &millionths / &one,
        (&millionths % &one).to_string()
    )
}

/// The most cubes of a diagram that are printed.
const MOST_CUBES: usize = 100_000;

/// A diagram as a disjunction of disjoint cubes, one per line; bits are numbered from the most
/// significant.
pub(crate) fn dump(value: &Bdd, names: &FxHashMap<Var, String>) -> String {
    let mut out = String::new();
    for (i, cube) in value.cubes().enumerate() {
        if i == MOST_CUBES {
            let _ = writeln!(out, "... (more than {MOST_CUBES} cubes)");
            break;
        }
        let literals: Vec<String> = cube
            .iter()
            .map(|(var, set)| {
                let name = names
                    .get(var)
                    .cloned()
                    .unwrap_or_else(|| format!("v{}", var.0));
                format!("{}{name}", if *set { "" } else { "!" })
            })
            .collect();
        let _ = writeln!(
            out,
            "{}",
            if literals.is_empty() {
                "true".to_owned()
            } else {
                literals.join(" & ")
            }
        );
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_look_like_muckes() {
        let n = |n: u32| BigUint::from(n);
        assert_eq!(logarithm(&n(13)), "3.700");
        assert_eq!(logarithm(&n(0)), "-inf");
        assert_eq!(percent(&n(13), &n(50)), "26.000000");
        assert_eq!(percent(&n(1), &n(3)), "33.333333");
        let huge = BigUint::from(1u32) << 3000usize;
        assert_eq!(logarithm(&huge), "3000.000");
        assert_eq!(percent(&huge, &huge), "100.000000");
    }
}
