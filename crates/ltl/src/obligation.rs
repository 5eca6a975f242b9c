//! The minimal deterministic automaton of an obligation.
//!
//! Words that satisfy a Boolean combination of safety and guarantee properties are recognised by a
//! deterministic *weak* automaton, in which each component accepts either all its cycles or none.
//! The subset construction gives such an automaton (Dax, Eisinger and Klaedtke, *Mechanizing the
//! powerset construction for restricted classes of ω-automata*, ATVA 2007): a component of subsets
//! accepts if the product with the original automaton has an accepting component over it. Löding
//! (*Efficient minimization of deterministic weak ω-automata*, IPL 2001) gives its components
//! colours. Minimising it with these colours, as an automaton on finite words, gives the unique
//! smallest deterministic weak automaton.
//!
//! A formula may be an obligation without its syntax showing it. Then the result is compared with
//! the automata of the formula and of its negation, and dropped if it differs.

use std::collections::hash_map::Entry;

use droste_base::StopReason;
use droste_bdd::{Bdd, Manager};
use rustc_hash::FxHashMap;

use crate::draft::{Draft, DraftEdge, MOST_DRAFT_MARKS, Marks};
use droste_automata::components::{components, has_accepting};

/// The most subsets that are explored.
const MOST_SUBSETS: usize = 1024;

/// The most subsets, and edges between them, where it is not known that the effort pays.
const MOST_TRIED: usize = 128;
const MOST_TRIED_EDGES: usize = 1024;

/// A mark that automata do not use.
const EXTRA: Marks = 1 << (MOST_DRAFT_MARKS - 1);

/// A complete deterministic weak automaton.
struct Weak {
    edges: Vec<Vec<(Bdd, u32)>>,
    accepting: Vec<bool>,
    subsets: Vec<Vec<u32>>,
}

/// The deterministic weak automaton that recognises what `draft` does, if that is an obligation.
/// `negation` recognises the complement; without it, `draft` is known to be an obligation. `None`
/// if it is not, or there are too many subsets.
pub(crate) fn minimal_weak(
    draft: &mut Draft,
    negation: Option<&Draft>,
) -> Result<Option<Draft>, StopReason> {
    if draft.all_marks() & EXTRA != 0 || negation.is_some_and(|n| n.all_marks() & EXTRA != 0) {
        return Ok(None);
    }
    let known = negation.is_none();
    let weak = if draft.deterministic && known {
        completed(draft)?
    } else {
        let Some(mut weak) = subsets(draft, known)? else {
            return Ok(None);
        };
        mark_accepting(draft, &mut weak)?;
        weak
    };
    if let Some(negation) = negation
        && !(disjoint(&weak, true, negation)? && disjoint(&weak, false, draft)?)
    {
        return Ok(None);
    }
    minimize(draft, &weak).map(Some)
}

/// The subset construction for an automaton that is deterministic: a state for the letters that it
/// has no edge for.
fn completed(draft: &Draft) -> Result<Weak, StopReason> {
    let all = draft.all_marks();
    let (component, marks) = draft.components();
    let states = draft.len() as u32;
    let mut weak = Weak {
        edges: Vec::with_capacity(draft.len() + 1),
        accepting: Vec::with_capacity(draft.len() + 1),
        subsets: (0..states).map(|state| vec![state]).collect(),
    };
    let mut sink = false;
    for (edges, component) in draft.edges.iter().zip(component) {
        draft.manager.check_limits()?;
        let mut list: Vec<(Bdd, u32)> = edges
            .iter()
            .map(|edge| (edge.guard.clone(), edge.target))
            .collect();
        let guards = list.iter().map(|(guard, _)| guard.clone()).collect();
        let missing = union(&draft.manager, guards)?.not();
        if !missing.is_false() {
            sink = true;
            list.push((missing, states));
        }
        weak.edges.push(list);
        weak.accepting.push(marks[component as usize] == Some(all));
    }
    if sink {
        weak.edges
            .push(vec![(draft.manager.constant(true), states)]);
        weak.accepting.push(false);
        weak.subsets.push(Vec::new());
    }
    Ok(weak)
}

/// The disjunction, of neighbours first: so intermediate diagrams stay small.
fn union(manager: &Manager, mut list: Vec<Bdd>) -> Result<Bdd, StopReason> {
    while list.len() > 1 {
        let mut joined = Vec::with_capacity(list.len().div_ceil(2));
        for pair in list.chunks(2) {
            joined.push(match pair {
                [a, b] => a.or(b)?,
                _ => pair[0].clone(),
            });
        }
        list = joined;
    }
    Ok(list.pop().unwrap_or_else(|| manager.constant(false)))
}

/// The subset construction; the empty subset is included.
fn subsets(draft: &Draft, known: bool) -> Result<Option<Weak>, StopReason> {
    let (most, most_edges) = if known {
        (MOST_SUBSETS, usize::MAX)
    } else {
        (MOST_TRIED, MOST_TRIED_EDGES)
    };
    let mut all_edges = 0;
    let manager = &draft.manager;
    let mut numbers: FxHashMap<Vec<u32>, u32> = FxHashMap::default();
    let mut list: Vec<Vec<u32>> = vec![vec![draft.initial]];
    numbers.insert(list[0].clone(), 0);
    let mut edges: Vec<Vec<(Bdd, u32)>> = Vec::new();
    while edges.len() < list.len() {
        manager.check_limits()?;
        // Letters, with the states they lead to.
        let mut parts: Vec<(Bdd, Vec<u32>)> = vec![(manager.constant(true), Vec::new())];
        for &state in &list[edges.len()] {
            for edge in &draft.edges[state as usize] {
                let mut split = Vec::with_capacity(parts.len() + 1);
                for (letters, targets) in parts {
                    let with = letters.and(&edge.guard)?;
                    let without = letters.minus(&edge.guard)?;
                    if !with.is_false() {
                        let mut more = targets.clone();
                        if let Err(place) = more.binary_search(&edge.target) {
                            more.insert(place, edge.target);
                        }
                        split.push((with, more));
                    }
                    if !without.is_false() {
                        split.push((without, targets));
                    }
                }
                parts = split;
                if parts.len() > most {
                    return Ok(None);
                }
            }
        }
        let mut found: Vec<(Bdd, u32)> = Vec::new();
        for (letters, targets) in parts {
            let next = list.len() as u32;
            let target = *numbers.entry(targets).or_insert_with_key(|targets| {
                list.push(targets.clone());
                next
            });
            match found.iter_mut().find(|(_, t)| *t == target) {
                Some((guard, _)) => *guard = guard.or(&letters)?,
                None => found.push((letters, target)),
            }
        }
        all_edges += found.len();
        if all_edges > most_edges {
            return Ok(None);
        }
        edges.push(found);
        if list.len() > most {
            return Ok(None);
        }
    }
    Ok(Some(Weak {
        accepting: vec![false; list.len()],
        edges,
        subsets: list,
    }))
}

/// Nodes of a product, numbered as they are met.
struct Pairs {
    ids: FxHashMap<(u32, u32), u32>,
    list: Vec<(u32, u32)>,
    edges: Vec<Vec<(u32, Marks)>>,
}

/// The product of the weak automaton with another one.
fn product(weak: &Weak, other: &Draft) -> Result<Pairs, StopReason> {
    let start = (0, other.initial);
    let mut pairs = Pairs {
        ids: std::iter::once((start, 0)).collect(),
        list: vec![start],
        edges: Vec::new(),
    };
    while pairs.edges.len() < pairs.list.len() {
        other.manager.check_limits()?;
        let (subset, state) = pairs.list[pairs.edges.len()];
        let mut edges = Vec::new();
        for (guard, target) in &weak.edges[subset as usize] {
            for edge in &other.edges[state as usize] {
                if guard.and(&edge.guard)?.is_false() {
                    continue;
                }
                let pair = (*target, edge.target);
                let next = pairs.list.len() as u32;
                let id = *pairs.ids.entry(pair).or_insert(next);
                if id == next {
                    pairs.list.push(pair);
                }
                edges.push((id, edge.marks));
            }
        }
        pairs.edges.push(edges);
    }
    Ok(pairs)
}

/// A subset accepts if there is an accepting cycle of the automaton over its component.
fn mark_accepting(draft: &Draft, weak: &mut Weak) -> Result<(), StopReason> {
    let pairs = product(weak, draft)?;
    let found = components(pairs.list.len(), [0], |node, out| {
        out.extend(pairs.edges[node as usize].iter().map(|&(t, _)| (t, ())));
    });
    let mut marks: Vec<Option<Marks>> = vec![None; found.count as usize];
    for (node, edges) in pairs.edges.iter().enumerate() {
        for &(target, edge) in edges {
            if found.of[node] == found.of[target as usize] {
                *marks[found.of[node] as usize].get_or_insert(0) |= edge;
            }
        }
    }
    let all = draft.all_marks();
    let own = weak_components(weak);
    let mut accepting = vec![false; weak.edges.len()];
    for (node, &(subset, _)) in pairs.list.iter().enumerate() {
        if marks[found.of[node] as usize] == Some(all) {
            accepting[own[subset as usize] as usize] = true;
        }
    }
    for (subset, component) in own.into_iter().enumerate() {
        weak.accepting[subset] = accepting[component as usize];
    }
    Ok(())
}

fn weak_components(weak: &Weak) -> Vec<u32> {
    components(weak.edges.len(), [0], |node, out| {
        out.extend(weak.edges[node as usize].iter().map(|&(_, t)| (t, ())));
    })
    .of
}

/// Whether no word is recognised by both automata: by `other`, and by the weak automaton or, if not
/// `positive`, its complement.
fn disjoint(weak: &Weak, positive: bool, other: &Draft) -> Result<bool, StopReason> {
    let pairs = product(weak, other)?;
    // A cycle stays in one component of the weak automaton. An extra mark says whether that
    // component is of the right kind.
    let all = other.all_marks() | EXTRA;
    let common = has_accepting(pairs.list.len(), 0, all, |node, out| {
        let (subset, _) = pairs.list[node as usize];
        let right = weak.accepting[subset as usize] == positive;
        let mark = if right { EXTRA } else { 0 };
        out.extend(
            pairs.edges[node as usize]
                .iter()
                .map(|&(t, m)| (t, m | mark)),
        );
    });
    Ok(!common)
}

/// Stands for the state's own class in a signature.
const OWN: u32 = u32::MAX;

/// Where the letters lead: classes in order, and all letters that lead there.
type Signature = Vec<(u32, Bdd)>;

fn signature(mut edges: Signature) -> Result<Signature, StopReason> {
    edges.sort_by_key(|&(class, _)| class);
    let mut result: Signature = Vec::with_capacity(edges.len());
    for (class, letters) in edges {
        match result.last_mut() {
            Some((last, known)) if *last == class => *known = known.or(&letters)?,
            _ => result.push((class, letters)),
        }
    }
    Ok(result)
}

/// The classes of states that accept the same words, if every cycle is that of a single state, from
/// the last states up. When a state's turn comes, the classes of all others that it leads to are
/// known. It is of one of these classes if it has that class's signature once its own cycle is said
/// to lead there. If it is of none of them, it is of the class of any other state with the same
/// signature.
fn upwards(
    weak: &Weak,
    members: &[Vec<u32>],
    accepts: &dyn Fn(usize) -> bool,
) -> Result<Vec<u32>, StopReason> {
    let mut class = vec![OWN; weak.edges.len()];
    // Signatures with a class's own number in place of `OWN`.
    let mut signatures: Vec<(bool, Signature)> = Vec::new();
    let mut known: FxHashMap<(bool, Signature), u32> = FxHashMap::default();
    let numbered = |own: &Signature, number: u32| {
        let rename = |class| if class == OWN { number } else { class };
        signature(own.iter().map(|(c, l)| (rename(*c), l.clone())).collect())
    };
    for &state in members.iter().flatten() {
        let state = state as usize;
        let edges = weak.edges[state].iter();
        // A state's own class is not known yet: that is `OWN`.
        let own = signature(
            edges
                .map(|(l, t)| (class[*t as usize], l.clone()))
                .collect(),
        )?;
        let accepting = accepts(state);
        let loops = usize::from(own.last().is_some_and(|&(class, _)| class == OWN));
        let mut found = None;
        for &(candidate, _) in own.iter().filter(|&&(class, _)| class != OWN) {
            let (other, theirs) = &signatures[candidate as usize];
            if *other == accepting
                && theirs.len() == own.len() - loops
                && *theirs == numbered(&own, candidate)?
            {
                found = Some(candidate);
                break;
            }
        }
        class[state] = match found {
            Some(found) => found,
            None => match known.entry((accepting, own)) {
                Entry::Occupied(entry) => *entry.get(),
                Entry::Vacant(entry) => {
                    let number = signatures.len() as u32;
                    signatures.push((accepting, numbered(&entry.key().1, number)?));
                    *entry.insert(number)
                }
            },
        };
    }
    // In the order of the states.
    let mut number = vec![OWN; signatures.len()];
    let mut next = 0;
    for class in &mut class {
        let number = &mut number[*class as usize];
        if *number == OWN {
            *number = next;
            next += 1;
        }
        *class = *number;
    }
    Ok(class)
}

/// The classes of states that accept the same words: Moore's partition, round by round.
fn in_rounds(
    draft: &mut Draft,
    weak: &Weak,
    accepts: &dyn Fn(usize) -> bool,
) -> Result<Vec<u32>, StopReason> {
    let manager = draft.manager.clone();
    let vars = draft.spare_vars(weak.edges.len() + 1);
    let mut class: Vec<u32> = (0..weak.edges.len())
        .map(|state| u32::from(accepts(state)))
        .collect();
    let mut classes = 0;
    loop {
        let mut numbers: FxHashMap<(u32, Bdd), u32> = FxHashMap::default();
        let mut next = Vec::with_capacity(class.len());
        for (state, edges) in weak.edges.iter().enumerate() {
            manager.check_limits()?;
            let mut signature = manager.constant(false);
            for (guard, target) in edges {
                let var = manager.var(vars[class[*target as usize] as usize])?;
                signature = signature.or(&guard.and(&var)?)?;
            }
            let number = numbers.len() as u32;
            next.push(*numbers.entry((class[state], signature)).or_insert(number));
        }
        let found = numbers.len();
        class = next;
        if found == classes {
            return Ok(class);
        }
        classes = found;
    }
}

/// Löding's colours, then the classes of states that accept the same words.
fn minimize(draft: &mut Draft, weak: &Weak) -> Result<Draft, StopReason> {
    let component = weak_components(weak);
    let count = component.iter().max().map_or(0, |&c| c as usize + 1);
    let mut trivial = vec![true; count];
    let mut accepting = vec![false; count];
    let mut members: Vec<Vec<u32>> = vec![Vec::new(); count];
    for (state, edges) in weak.edges.iter().enumerate() {
        let own = component[state] as usize;
        members[own].push(state as u32);
        accepting[own] |= weak.accepting[state];
        if edges
            .iter()
            .any(|&(_, t)| component[t as usize] as usize == own)
        {
            trivial[own] = false;
        }
    }
    // Edges lead to smaller numbers. Colours count down from an even number; even ones accept.
    let mut colour = vec![0i64; count];
    for own in 0..count {
        let mut least = i64::MAX;
        for &state in &members[own] {
            for &(_, target) in &weak.edges[state as usize] {
                let other = component[target as usize] as usize;
                if other != own {
                    least = least.min(colour[other]);
                }
            }
        }
        let least = if least == i64::MAX { 0 } else { least };
        let fits = trivial[own] || accepting[own] == (least % 2 == 0);
        colour[own] = if fits { least } else { least - 1 };
    }
    let accepts = |state: usize| colour[component[state] as usize] % 2 == 0;
    let class = if members.iter().all(|states| states.len() == 1) {
        upwards(weak, &members, &accepts)?
    } else {
        in_rounds(draft, weak, &accepts)?
    };
    let classes = class.iter().max().map_or(0, |&c| c as usize + 1);
    let mut edges: Vec<Vec<DraftEdge>> = vec![Vec::new(); classes];
    let mut formulas = vec![None; classes];
    let mut done = vec![false; classes];
    for (state, list) in weak.edges.iter().enumerate() {
        let own = class[state] as usize;
        if !std::mem::replace(&mut done[own], true) {
            let marks = Marks::from(accepts(state));
            edges[own] = list
                .iter()
                .map(|(guard, target)| DraftEdge {
                    guard: guard.clone(),
                    marks,
                    target: class[*target as usize],
                })
                .collect();
        }
        if let [only] = weak.subsets[state][..]
            && formulas[own].is_none()
        {
            formulas[own] = draft.formulas[only as usize];
        }
    }
    let mut result = Draft {
        manager: draft.manager.clone(),
        atoms: draft.atoms.clone(),
        initial: class[0],
        edges,
        formulas,
        marks: 1,
        deterministic: true,
        spare: draft.spare.clone(),
    };
    result.merge_edges()?;
    result.prune();
    result.simplify_marks(false);
    Ok(result)
}
