//! Inclusion and equality of the sets of configurations of automata without weights, with a
//! shortest configuration that makes the difference.
//!
//! The search goes over pairs of a state of the first automaton and the set of states in which the
//! second may be. A pair is left out if one with the same state and a smaller set was seen: what
//! the first accepts and the larger set does not, the smaller set does not either (antichains: De
//! Wulf, Doyen, Henzinger, Raskin 2006).

use std::collections::VecDeque;

use droste_base::{Limits, StopReason};

use super::graph::Adjacency;
use super::{Automaton, Configuration};
use crate::domains::Boolean;
use crate::system::{StateId, SymbolId};

/// Which of two automata accepts a configuration that the other does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The first.
    First,
    /// The second.
    Second,
}

impl Automaton<bool> {
    /// A shortest configuration that this automaton accepts and another does not.
    pub fn not_included_in(
        &self,
        other: &Self,
        limits: &Limits,
    ) -> Result<Option<Configuration>, StopReason> {
        let first = self
            .without_epsilon(&Boolean)?
            .trimmed_both_ways(&Boolean)?;
        let second = other
            .without_epsilon(&Boolean)?
            .trimmed_both_ways(&Boolean)?;
        let mut search = Search {
            leaving: Adjacency::leaving(&first, &Boolean),
            other_leaving: Adjacency::leaving(&second, &Boolean),
            minimal: vec![Vec::new(); first.states() as usize],
            first: &first,
            second: &second,
            nodes: Vec::new(),
            work: VecDeque::new(),
        };
        let mut guard = limits.guard();
        for start in (0..first.control).map(StateId) {
            let others = if start.0 < second.control {
                vec![start]
            } else {
                Vec::new()
            };
            search.add(start, others, None);
        }
        while let Some(node) = search.work.pop_front() {
            guard.check()?;
            if search.nodes[node as usize].replaced {
                continue;
            }
            if search.differs(node) {
                return Ok(Some(search.configuration(node)));
            }
            search.follow(node);
        }
        Ok(None)
    }

    /// A configuration that only one of two automata accepts, and which one.
    pub fn difference(
        &self,
        other: &Self,
        limits: &Limits,
    ) -> Result<Option<(Side, Configuration)>, StopReason> {
        if let Some(found) = self.not_included_in(other, limits)? {
            return Ok(Some((Side::First, found)));
        }
        let found = other.not_included_in(self, limits)?;
        Ok(found.map(|found| (Side::Second, found)))
    }
}

/// A state of the first automaton with the states of the second; sorted.
struct Node {
    state: StateId,
    others: Vec<StateId>,
    /// Where it comes from, and what was read.
    before: Option<(u32, SymbolId)>,
    depth: u32,
    /// A node with a smaller set was found at the same depth.
    replaced: bool,
}

struct Search<'a> {
    first: &'a Automaton<bool>,
    second: &'a Automaton<bool>,
    leaving: Adjacency,
    other_leaving: Adjacency,
    nodes: Vec<Node>,
    work: VecDeque<u32>,
    /// For each state, the nodes with the smallest sets.
    minimal: Vec<Vec<u32>>,
}

impl Search<'_> {
    fn add(&mut self, state: StateId, others: Vec<StateId>, before: Option<(u32, SymbolId)>) {
        let minimal = &mut self.minimal[state.0 as usize];
        let nodes = &mut self.nodes;
        if minimal
            .iter()
            .any(|&id| subset(&nodes[id as usize].others, &others))
        {
            return;
        }
        let depth = before.map_or(0, |(before, _)| nodes[before as usize].depth + 1);
        minimal.retain(|&id| {
            let node = &mut nodes[id as usize];
            let larger = subset(&others, &node.others);
            // A node that is nearer is still looked at, so that what is found is shortest.
            node.replaced |= larger && node.depth == depth;
            !larger
        });
        let id = nodes.len() as u32;
        minimal.push(id);
        nodes.push(Node {
            state,
            others,
            before,
            depth,
            replaced: false,
        });
        self.work.push_back(id);
    }

    /// Whether the first automaton accepts here and the second does not.
    fn differs(&self, node: u32) -> bool {
        let Node { state, others, .. } = &self.nodes[node as usize];
        let ends =
            |automaton: &Automaton<bool>, state| automaton.final_weight(state) == Some(&true);
        ends(self.first, *state) && !others.iter().any(|&other| ends(self.second, other))
    }

    fn follow(&mut self, node: u32) {
        let (state, sources) = {
            let node = &self.nodes[node as usize];
            (node.state, node.others.clone())
        };
        let mut read: Option<(SymbolId, Vec<StateId>)> = None;
        let mut steps = Vec::new();
        for &id in self.leaving.of(state) {
            let transition = self.first.transitions[id as usize];
            let symbol = transition.symbol;
            // Transitions are sorted by symbol.
            let others = match &read {
                Some((known, others)) if *known == symbol => others,
                _ => &read.insert((symbol, self.after(&sources, symbol))).1,
            };
            steps.push((transition.to, others.clone(), symbol));
        }
        for (to, others, symbol) in steps {
            self.add(to, others, Some((node, symbol)));
        }
    }

    /// The states of the second automaton after a symbol.
    fn after(&self, sources: &[StateId], symbol: SymbolId) -> Vec<StateId> {
        let edges = |&state| {
            self.second
                .reading(&self.other_leaving, state, symbol)
                .iter()
        };
        let targets = sources.iter().flat_map(edges);
        let mut all: Vec<StateId> = targets
            .map(|&id| self.second.transitions[id as usize].to)
            .collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    fn configuration(&self, node: u32) -> Configuration {
        let mut stack = Vec::new();
        let mut at = &self.nodes[node as usize];
        while let Some((before, symbol)) = at.before {
            stack.push(symbol);
            at = &self.nodes[before as usize];
        }
        stack.reverse();
        Configuration {
            state: at.state,
            stack,
        }
    }
}

/// Whether all of a sorted list are in another.
fn subset(small: &[StateId], large: &[StateId]) -> bool {
    let mut rest = large.iter();
    small.len() <= large.len() && small.iter().all(|item| rest.any(|other| other == item))
}
