//! Automata as graphs, and the least solution of linear equations on them.
//!
//! [`flow`] lets weights flow along the edges, component by component in topological order. Inside
//! a component it is chaotic iteration first; a component that has not settled after some rounds is
//! solved by eliminating its states one by one, with [`Domain::star`] for loops (Kleene's
//! algorithm). So the computation ends even where a cycle makes weights better for ever: the star of
//! the cycle says what becomes of them. The property tests compare both ways with closures of matrices.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, VecDeque};

use droste_automata::components::components;
use droste_base::StopReason;
use rustc_hash::FxHashMap;

use super::pieces::Pieces;
use super::{Automaton, Direction, Transition};
use crate::domain::Domain;
use crate::system::{StateId, SymbolId};

/// So often a state of a component is looked at on average before states are eliminated.
const ROUNDS: usize = 24;

/// For each state, the numbers of some transitions, sorted by symbol and target.
pub(super) struct Adjacency {
    first: Vec<u32>,
    edges: Vec<u32>,
}

impl Adjacency {
    /// Lists the transitions at one of their ends, those with a zero weight left out.
    pub(super) fn new<D: Domain>(
        automaton: &Automaton<D::Weight>,
        domain: &D,
        end: impl Fn(Transition) -> StateId,
    ) -> Self {
        let wanted = |id: &u32| !domain.is_zero(&automaton.weights[*id as usize]);
        let at = |id: u32| end(automaton.transitions[id as usize]).0 as usize;
        let mut first = vec![0; automaton.states() as usize + 1];
        let mut edges: Vec<u32> = (0..automaton.transitions.len() as u32)
            .filter(wanted)
            .collect();
        for &id in &edges {
            first[at(id) + 1] += 1;
        }
        for i in 1..first.len() {
            first[i] += first[i - 1];
        }
        edges.sort_unstable_by_key(|&id| {
            let Transition { from, symbol, to } = automaton.transitions[id as usize];
            (at(id), symbol, from, to)
        });
        Adjacency { first, edges }
    }

    /// The transitions that leave a state.
    pub(super) fn leaving<D: Domain>(automaton: &Automaton<D::Weight>, domain: &D) -> Self {
        Adjacency::new(automaton, domain, |t| t.from)
    }

    /// The transitions at a state.
    pub(super) fn of(&self, state: StateId) -> &[u32] {
        let place = state.0 as usize;
        let (Some(&begin), Some(&end)) = (self.first.get(place), self.first.get(place + 1)) else {
            return &[];
        };
        &self.edges[begin as usize..end as usize]
    }
}

impl<W: Clone> Automaton<W> {
    /// The transitions of a state that read a symbol, from the list of all.
    pub(super) fn reading<'a>(
        &'a self,
        leaving: &'a Adjacency,
        state: StateId,
        symbol: SymbolId,
    ) -> &'a [u32] {
        let all = leaving.of(state);
        let symbol_of = |id: &u32| self.transitions[*id as usize].symbol;
        let begin = all.partition_point(|id| symbol_of(id) < symbol);
        let end = all.partition_point(|id| symbol_of(id) <= symbol);
        &all[begin..end]
    }

    /// The weights with which states are reached from some without reading anything. Each weight
    /// continues that of its source.
    pub(super) fn silently<D: Domain<Weight = W>>(
        &self,
        domain: &D,
        leaving: &Adjacency,
        sources: Vec<(StateId, W)>,
    ) -> Result<Vec<(StateId, W)>, StopReason> {
        let silent = |state| self.reading(leaving, state, SymbolId::EPSILON);
        if sources.iter().all(|(state, _)| silent(*state).is_empty()) {
            return Ok(sources);
        }
        let edges = |state, out: &mut Vec<(StateId, u32)>| {
            let targets = silent(state).iter();
            out.extend(targets.map(|&id| (self.transitions[id as usize].to, id)));
        };
        flow(
            domain,
            Product::along(self.direction),
            sources,
            edges,
            &self.weights,
        )
    }
}

/// In which order two weights are extended.
#[derive(Clone, Copy, Debug)]
pub(super) struct Product {
    swapped: bool,
}

impl Product {
    /// The order of a path that is read from the top of the stack on.
    pub(super) fn along(direction: Direction) -> Self {
        Product {
            swapped: direction == Direction::Backward,
        }
    }

    /// The order of a path that is read from the bottom of the stack on.
    pub(super) fn against(direction: Direction) -> Self {
        Product {
            swapped: direction == Direction::Forward,
        }
    }

    /// The weight of two parts, in the order in which they are read.
    pub(super) fn of<D: Domain>(
        self,
        domain: &D,
        first: &D::Weight,
        second: &D::Weight,
    ) -> Result<D::Weight, StopReason> {
        if self.swapped {
            domain.extend(second, first)
        } else {
            domain.extend(first, second)
        }
    }
}

/// The part of a graph that is reachable from some states, with numbers of its own.
struct Part {
    states: Vec<StateId>,
    out: Vec<Vec<(u32, u32)>>,
}

impl Part {
    fn new(
        sources: impl Iterator<Item = StateId>,
        edges: impl Fn(StateId, &mut Vec<(StateId, u32)>),
    ) -> Self {
        let mut part = Part {
            states: Vec::new(),
            out: Vec::new(),
        };
        let mut numbers: FxHashMap<StateId, u32> = FxHashMap::default();
        let mut number = |states: &mut Vec<StateId>, state| {
            *numbers.entry(state).or_insert_with(|| {
                states.push(state);
                states.len() as u32 - 1
            })
        };
        for state in sources {
            number(&mut part.states, state);
        }
        let mut found = Vec::new();
        while let Some(&state) = part.states.get(part.out.len()) {
            found.clear();
            edges(state, &mut found);
            let list = found.iter();
            let list = list.map(|&(to, id)| (number(&mut part.states, to), id));
            part.out.push(list.collect());
        }
        part
    }
}

/// What reaches each state if the sources have these weights: `value(to)` combines its own weight,
/// if it is a source, with `value(from) · weight` for all edges. An edge is a target and the place
/// of its weight. The sources come first, in their order; a state may be named there only once.
pub(super) fn flow<D: Domain>(
    domain: &D,
    product: Product,
    sources: Vec<(StateId, D::Weight)>,
    edges: impl Fn(StateId, &mut Vec<(StateId, u32)>),
    weights: &Pieces<D::Weight>,
) -> Result<Vec<(StateId, D::Weight)>, StopReason> {
    let part = Part::new(sources.iter().map(|(state, _)| *state), edges);
    let count = part.states.len();
    let mut values: Vec<D::Weight> = sources.into_iter().map(|(_, weight)| weight).collect();
    values.resize(count, domain.zero());
    let found = components(count, 0..count as u32, |node, out: &mut Vec<(u32, ())>| {
        out.extend(part.out[node as usize].iter().map(|&(to, _)| (to, ())));
    });
    let mut members: Vec<Vec<u32>> = vec![Vec::new(); found.count as usize];
    for node in 0..count as u32 {
        members[found.of[node as usize] as usize].push(node);
    }
    // Edges lead to the same or a smaller component.
    for (component, members) in members.iter().enumerate().rev() {
        let inside = |node: u32| found.of[node as usize] as usize == component;
        let cyclic = members.len() > 1 || part.out[members[0] as usize].iter().any(|e| inside(e.0));
        if cyclic
            && !iterate(
                domain,
                product,
                &part,
                members,
                inside,
                weights,
                &mut values,
            )?
        {
            eliminate(
                domain,
                product,
                &part,
                members,
                inside,
                weights,
                &mut values,
            )?;
        }
        for &node in members {
            for &(to, id) in &part.out[node as usize] {
                if !inside(to) {
                    let weight =
                        product.of(domain, &values[node as usize], &weights[id as usize])?;
                    let known = &mut values[to as usize];
                    *known = domain.combine(known, &weight)?;
                }
            }
        }
    }
    Ok(part.states.into_iter().zip(values).collect())
}

/// Chaotic iteration inside a component; whether it has settled.
fn iterate<D: Domain>(
    domain: &D,
    product: Product,
    part: &Part,
    members: &[u32],
    inside: impl Fn(u32) -> bool,
    weights: &Pieces<D::Weight>,
    values: &mut [D::Weight],
) -> Result<bool, StopReason> {
    let known = |node: &u32, values: &[D::Weight]| !domain.is_zero(&values[*node as usize]);
    let mut work: VecDeque<u32> = members
        .iter()
        .copied()
        .filter(|n| known(n, values))
        .collect();
    let mut waits: FxHashMap<u32, bool> = members.iter().map(|&n| (n, known(&n, values))).collect();
    let mut left = ROUNDS * members.len();
    while let Some(node) = work.pop_front() {
        if left == 0 {
            return Ok(false);
        }
        left -= 1;
        waits.insert(node, false);
        for &(to, id) in &part.out[node as usize] {
            if !inside(to) {
                continue;
            }
            let weight = product.of(domain, &values[node as usize], &weights[id as usize])?;
            let both = domain.combine(&values[to as usize], &weight)?;
            if !domain.equal(&both, &values[to as usize]) {
                values[to as usize] = both;
                if waits.insert(to, true) != Some(true) {
                    work.push_back(to);
                }
            }
        }
    }
    Ok(true)
}

/// Solves a component by elimination: one state after the other is taken out, and edges go past it.
/// The state with the fewest such edges is next.
fn eliminate<D: Domain>(
    domain: &D,
    product: Product,
    part: &Part,
    members: &[u32],
    inside: impl Fn(u32) -> bool,
    weights: &Pieces<D::Weight>,
    values: &mut [D::Weight],
) -> Result<(), StopReason> {
    let mut out: BTreeMap<u32, BTreeMap<u32, D::Weight>> = BTreeMap::new();
    let mut into: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
    for &node in members {
        out.entry(node).or_default();
        into.entry(node).or_default();
    }
    let add = |out: &mut BTreeMap<u32, BTreeMap<u32, D::Weight>>,
               into: &mut BTreeMap<u32, BTreeSet<u32>>,
               (from, to): (u32, u32),
               weight: D::Weight| {
        into.entry(to).or_default().insert(from);
        let edges = out.entry(from).or_default();
        let both = match edges.get(&to) {
            Some(known) => domain.combine(known, &weight)?,
            None => weight,
        };
        edges.insert(to, both);
        Ok(())
    };
    for &node in members {
        for &(to, id) in part.out[node as usize].iter().filter(|e| inside(e.0)) {
            let weight = weights[id as usize].clone();
            add(&mut out, &mut into, (node, to), weight)?;
        }
    }
    let mut heap: BinaryHeap<Reverse<(usize, u32)>> = BinaryHeap::new();
    heap.extend(
        members
            .iter()
            .map(|node| Reverse((out[node].len() * into[node].len(), *node))),
    );
    // What was taken out: the state, its loop, and the edges into it at that time.
    let mut taken = Vec::with_capacity(members.len());
    while let Some(Reverse((cost, node))) = heap.pop() {
        let (Some(targets), Some(sources)) = (out.get(&node), into.get(&node)) else {
            continue;
        };
        let now = targets.len() * sources.len();
        if now > cost {
            heap.push(Reverse((now, node)));
            continue;
        }
        let mut targets = out.remove(&node).unwrap_or_default();
        let mut sources = into.remove(&node).unwrap_or_default();
        sources.remove(&node);
        let again = match targets.remove(&node) {
            Some(again) => domain.star(&again)?,
            None => domain.one(),
        };
        let value = product.of(domain, &values[node as usize], &again)?;
        for (&to, weight) in &targets {
            let weight = product.of(domain, &value, weight)?;
            let known = &mut values[to as usize];
            *known = domain.combine(known, &weight)?;
            into.entry(to).or_default().remove(&node);
        }
        let mut entering = Vec::new();
        for &from in &sources {
            let Some(weight) = out.get_mut(&from).and_then(|edges| edges.remove(&node)) else {
                continue;
            };
            let past = product.of(domain, &weight, &again)?;
            for (&to, next) in &targets {
                let weight = product.of(domain, &past, next)?;
                add(&mut out, &mut into, (from, to), weight)?;
            }
            entering.push((from, past));
        }
        values[node as usize] = value;
        taken.push((node, entering));
    }
    // The value of a state that was taken out later is known earlier.
    while let Some((node, entering)) = taken.pop() {
        for (from, weight) in entering {
            let weight = product.of(domain, &values[from as usize], &weight)?;
            let known = &mut values[node as usize];
            *known = domain.combine(known, &weight)?;
        }
    }
    Ok(())
}
