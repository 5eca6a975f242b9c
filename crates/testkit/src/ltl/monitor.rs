//! A formula as a monitor that watches for runs which do *not* satisfy it: a way to ask an engine that
//! knows monitors but no temporal logic.
//!
//! The states are those of the tableau of the negated formula, each together with how many of its marks
//! have come in turn; having seen the last one is what repeats. The monitor guesses like the tableau:
//! it may move to a state if the atoms are there as the state says.

use droste_lang::ast::{Ast, BinaryOp, Name};
use droste_lang::monitor::{MonitorSyntax, Otherwise, StateKind, StateSyntax};

use super::tableau::{Assignment, Tableau};
use super::{Atom, Formula};
use crate::tree::Exp;

/// The monitor; `None` if it would have more than `most` edges.
pub fn monitor(formula: &Formula, most: usize) -> Option<MonitorSyntax> {
    let tableau = Tableau::new(&formula.clone().negated())?;
    let all = tableau.all_marks().count_ones();
    let mut ast = Ast::default();
    let mut assignments: Vec<(Assignment, u64)> = Vec::new();
    let atoms = tableau.atoms.len();
    if atoms > 8 {
        return None;
    }
    for letter in 0..1_u64 << atoms {
        let here = tableau.assignments(letter, most)?;
        assignments.extend(here.into_iter().map(|a| (a, letter)));
        if assignments.len() > most {
            return None;
        }
    }
    let name = |i: usize, count: u32| Name::new(&format!("q{i}_{count}"));
    let mut edges_left = most;
    let mut edges_from = |before: Option<(Assignment, u32)>, ast: &mut Ast| {
        let mut edges = Vec::new();
        for (i, &(after, letter)) in assignments.iter().enumerate() {
            let possible = match before {
                None => tableau.is_initial(after),
                Some((before, _)) => tableau.follows(before, after),
            };
            if possible {
                // Having seen them all, it begins again.
                let mut count = before.map_or(0, |(_, count)| count % all.max(1));
                let marks = tableau.marks_of(after);
                while count < all && marks >> count & 1 == 1 {
                    count += 1;
                }
                edges_left = edges_left.checked_sub(1)?;
                edges.push((guard(&tableau.atoms, letter).write(ast), name(i, count)));
            }
        }
        Some(edges)
    };
    let state = |name: Name, initial, kind, edges| StateSyntax {
        name,
        initial,
        kind,
        edges,
        otherwise: Otherwise::Block,
    };
    let first = edges_from(None, &mut ast)?;
    let mut states = vec![state(Name::new("start"), true, StateKind::Plain, first)];
    for (i, &(assignment, _)) in assignments.iter().enumerate() {
        for count in 0..=all {
            let kind = if count == all {
                StateKind::Repeating
            } else {
                StateKind::Plain
            };
            let edges = edges_from(Some((assignment, count)), &mut ast)?;
            states.push(state(name(i, count), false, kind, edges));
        }
    }
    Some(MonitorSyntax {
        ast,
        name: Name::new("formula"),
        states,
    })
}

/// Exactly the atoms of the letter hold.
fn guard(atoms: &[Atom], letter: u64) -> Exp {
    let literals = atoms.iter().enumerate().map(|(i, atom)| {
        if letter >> i & 1 == 1 {
            atom.exp()
        } else {
            atom.exp().negated()
        }
    });
    let all = literals.reduce(|all, literal| Exp::binary(BinaryOp::And, all, literal));
    all.unwrap_or_else(|| Exp::bool(true))
}
