//! Reduction by direct and reverse simulation.
//!
//! State *t* simulates state *s* if *t* can take every edge that *s* can, with at least the same
//! marks, and the states reached are again so related. The reverse simulation is the same for edges
//! that lead to *s* and *t*. States that simulate each other become one. An edge is dropped if
//! another edge of the same source has its letters, at least its marks, and a target that simulates
//! its target; or, for the reverse simulation, if another edge of the same target has its letters,
//! at least its marks, and a source that simulates its source. Both are sound: Somenzi and Bloem
//! (CAV 2000), Etessami and Holzmann (CONCUR 2000), Clemente and Mayr, *Advanced automata
//! minimization* (POPL 2013).
//!
//! The relation is computed with signatures, as in Babiak, Badie, Duret-Lutz, Křetínský and
//! Strejček, *Compositional approach to suspension and other improvements to LTL translation* (SPIN
//! 2013). The signature of a state is a diagram: a disjunction over its edges of the guard, a
//! variable for each mark that the edge does *not* have, and variables for the classes that
//! simulate the class it leads to. Apart from letters a signature is monotone, so that implication
//! of signatures is simulation.
//!
//! In a deterministic automaton a prefix of a word leads to one state at most. So no state has the
//! past of another, and the reverse simulation relates nothing. Two edges of a state have no letter
//! in common, so none makes another superfluous. What is left is to find states that simulate each
//! other, and for that signatures need only be compared for equality.
//!
//! What keeps it honest: automata are compared with the meaning of random formulas on random words,
//! reduced and unreduced (`tests/random.rs`).

use std::collections::hash_map::Entry;

use droste_base::StopReason;
use droste_bdd::{Bdd, Var};
use rustc_hash::FxHashMap;

use crate::draft::{Draft, DraftEdge, Marks};

/// With more classes than this only equality of signatures is looked for.
const ORDERED: usize = 300;
/// Automata with more states, or ten times as many edges, are left alone: a long chain takes as
/// many rounds as it has states.
const LARGEST: usize = 1000;

/// The nodes that a signature may have, if it is made of more than a few edges.
const MOST_NODES: usize = 10_000;
const FEW: usize = 8;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    Direct,
    Reverse,
}

/// The classes of states that simulate each other.
struct Relation {
    class: Vec<u32>,
    /// For each class, in order, those that simulate it, itself included.
    above: Vec<Vec<u32>>,
}

/// Reduces an automaton without useless states once; it has to be pruned afterwards.
pub(crate) fn reduce(draft: &mut Draft, direction: Direction) -> Result<(), StopReason> {
    if draft.deterministic && direction == Direction::Reverse {
        return Ok(());
    }
    if draft.len() > LARGEST || draft.edge_count() > 10 * LARGEST {
        return Ok(());
    }
    match relate(draft, direction)? {
        Some(relation) => quotient(draft, direction, &relation),
        None => Ok(()),
    }
}

/// Nothing if signatures become too large.
fn relate(draft: &mut Draft, direction: Direction) -> Result<Option<Relation>, StopReason> {
    let manager = draft.manager.clone();
    let states = draft.len();
    let vars: Vec<Var> = draft.spare_vars(states + draft.marks + 1);
    let (initial_var, vars) = (vars[0], &vars[1..]);
    let (mark_vars, class_vars) = vars.split_at(draft.marks);
    let mut missing: FxHashMap<Marks, Bdd> = FxHashMap::default();
    // What an edge contributes, but for the class at its other end.
    let mut parts: Vec<Vec<(Bdd, u32)>> = vec![Vec::new(); states];
    for (source, edges) in draft.edges.iter().enumerate() {
        for edge in edges {
            let absent = match missing.entry(edge.marks) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(new) => {
                    let absent = (0..draft.marks).filter(|&i| edge.marks >> i & 1 == 0);
                    new.insert(manager.minterm(absent.map(|i| (mark_vars[i], true)))?)
                }
            };
            let part = edge.guard.and(absent)?;
            match direction {
                Direction::Direct => parts[source].push((part, edge.target)),
                Direction::Reverse => parts[edge.target as usize].push((part, source as u32)),
            }
        }
    }
    let mut class = vec![0u32; states];
    let mut codes = vec![manager.constant(true)];
    let mut related: Vec<Vec<u32>> = vec![vec![0]];
    let mut before = (1usize, 1usize);
    loop {
        let mut numbers: FxHashMap<Bdd, u32> = FxHashMap::default();
        let mut signatures: Vec<Bdd> = Vec::new();
        let mut next = vec![0u32; states];
        for state in 0..states {
            manager.check_limits()?;
            let mut signature = manager.constant(false);
            if direction == Direction::Reverse && state == draft.initial as usize {
                signature = manager.var(initial_var)?;
            }
            for (part, other) in &parts[state] {
                signature = signature.or(&part.and(&codes[class[*other as usize] as usize])?)?;
                // If each letter leaves another set of choices, the signature is exponential.
                if parts[state].len() > FEW && signature.is_larger_than(MOST_NODES) {
                    return Ok(None);
                }
            }
            next[state] = *numbers.entry(signature.clone()).or_insert_with(|| {
                signatures.push(signature);
                signatures.len() as u32 - 1
            });
        }
        let count = signatures.len();
        // The relation only ever shrinks: pairs that are not related any more need not be compared.
        let mut members = vec![0u32; count];
        for (state, &number) in next.iter().enumerate() {
            members[number as usize] = class[state];
        }
        let mut above: Vec<Vec<u32>> = Vec::with_capacity(count);
        let mut pairs = 0;
        for c in 0..count {
            let mut row = Vec::new();
            for d in 0..count {
                let candidate = count <= ORDERED
                    && !draft.deterministic
                    && related[members[c] as usize]
                        .binary_search(&members[d])
                        .is_ok();
                if c == d || (candidate && signatures[c].implies_all(&signatures[d])?) {
                    row.push(d as u32);
                }
            }
            pairs += row.len();
            above.push(row);
        }
        codes.clear();
        for row in &above {
            let vars = row.iter().map(|&d| (class_vars[d as usize], true));
            codes.push(manager.minterm(vars)?);
        }
        class = next;
        related = above;
        if (count, pairs) == before {
            return Ok(Some(Relation {
                class,
                above: related,
            }));
        }
        before = (count, pairs);
    }
}

fn quotient(
    draft: &mut Draft,
    direction: Direction,
    relation: &Relation,
) -> Result<(), StopReason> {
    let count = relation.above.len();
    let class = |state: u32| relation.class[state as usize];
    let mut representative = vec![u32::MAX; count];
    for state in (0..draft.len() as u32).rev() {
        representative[class(state) as usize] = state;
    }
    let mut edges: Vec<Vec<DraftEdge>> = vec![Vec::new(); count];
    for (source, list) in draft.edges.iter().enumerate() {
        let source = source as u32;
        for edge in list {
            // The edges of one member of each class are enough.
            let end = match direction {
                Direction::Direct => source,
                Direction::Reverse => edge.target,
            };
            if representative[class(end) as usize] == end {
                edges[class(source) as usize].push(DraftEdge {
                    guard: edge.guard.clone(),
                    marks: edge.marks,
                    target: class(edge.target),
                });
            }
        }
    }
    draft.formulas = representative
        .iter()
        .map(|&state| draft.formulas[state as usize])
        .collect();
    draft.initial = class(draft.initial);
    draft.edges = edges;
    draft.merge_edges()?;
    if draft.deterministic {
        return Ok(());
    }
    // Edges that another makes superfluous, letter by letter.
    let mut new: Vec<Vec<DraftEdge>> = vec![Vec::new(); count];
    let mut groups: Vec<Vec<(u32, DraftEdge)>> = vec![Vec::new(); count];
    for (source, list) in draft.edges.iter().enumerate() {
        for edge in list {
            let end = match direction {
                Direction::Direct => source,
                Direction::Reverse => edge.target as usize,
            };
            groups[end].push((source as u32, edge.clone()));
        }
    }
    for group in groups {
        for (i, (source, edge)) in group.iter().enumerate() {
            let other_end = |source: u32, edge: &DraftEdge| match direction {
                Direction::Direct => edge.target,
                Direction::Reverse => source,
            };
            let mine = other_end(*source, edge);
            let mut guard = edge.guard.clone();
            for (j, (from, rival)) in group.iter().enumerate() {
                let other = other_end(*from, rival);
                if i != j
                    && (edge.marks, mine) != (rival.marks, other)
                    && edge.marks & rival.marks == edge.marks
                    && relation.above[mine as usize].binary_search(&other).is_ok()
                {
                    guard = guard.minus(&rival.guard)?;
                }
            }
            if !guard.is_false() {
                new[*source as usize].push(DraftEdge {
                    guard,
                    marks: edge.marks,
                    target: edge.target,
                });
            }
        }
    }
    draft.edges = new;
    Ok(())
}
