//! What an automaton accepts as a whole: the combined weight of all configurations, whether there
//! is one, a shortest one, a best one.
//!
//! The combined weight is the least solution of linear equations on the automaton. A shortest
//! configuration is found by layers, as by Bellman and Ford: layer `k` has for each state the
//! combined weight of the stacks of at most `k` symbols that lead to a final state. With the layers
//! a stack is written symbol by symbol, from its top: each symbol is chosen such that the rest of the stack
//! can still be read to its end.

use std::collections::{BTreeMap, BTreeSet};

use droste_base::StopReason;
use rustc_hash::FxHashMap;

use super::graph::{Adjacency, Product, flow};
use super::{Automaton, Configuration, OperationError, Transition};
use crate::domain::Domain;
use crate::system::{StateId, SymbolId};

impl<W: Clone> Automaton<W> {
    /// The combined weight of all configurations.
    pub fn path_summary<D: Domain<Weight = W>>(&self, domain: &D) -> Result<W, StopReason> {
        let mut sum = domain.zero();
        for (state, weight) in self.summaries(domain)? {
            if state.0 < self.control {
                sum = domain.combine(&sum, &weight)?;
            }
        }
        Ok(sum)
    }

    /// For the states from which a final state can be reached: the combined weight of all stacks
    /// that lead there.
    pub fn summaries<D: Domain<Weight = W>>(
        &self,
        domain: &D,
    ) -> Result<Vec<(StateId, W)>, StopReason> {
        let entering = Adjacency::new(self, domain, |t| t.to);
        let ends = (0..).map(StateId).zip(&self.accepting);
        let ends = ends.filter_map(|(state, end)| Some((state, end.clone()?)));
        flow(
            domain,
            Product::against(self.direction),
            ends.collect(),
            |state, out| {
                let edges = entering.of(state).iter();
                out.extend(edges.map(|&id| (self.transitions[id as usize].from, id)));
            },
            &self.weights,
        )
    }

    /// For each control state and each symbol: the combined weight of all configurations that have
    /// it on top. Heads that no configuration has are left out.
    pub fn heads<D: Domain<Weight = W>>(
        &self,
        domain: &D,
    ) -> Result<BTreeMap<(StateId, SymbolId), W>, StopReason> {
        let product = Product::along(self.direction);
        let leaving = Adjacency::leaving(self, domain);
        let behind: FxHashMap<StateId, W> = self.summaries(domain)?.into_iter().collect();
        let mut heads: BTreeMap<(StateId, SymbolId), W> = BTreeMap::new();
        for start in (0..self.control).map(StateId) {
            for (state, so_far) in self.silently(domain, &leaving, vec![(start, domain.one())])? {
                for &id in leaving.of(state) {
                    let Transition { symbol, to, .. } = self.transitions[id as usize];
                    let Some(behind) = behind.get(&to).filter(|_| symbol != SymbolId::EPSILON)
                    else {
                        continue;
                    };
                    let top = product.of(domain, &so_far, &self.weights[id as usize])?;
                    let weight = product.of(domain, &top, behind)?;
                    let both = match heads.get(&(start, symbol)) {
                        Some(known) => domain.combine(known, &weight)?,
                        None => weight,
                    };
                    heads.insert((start, symbol), both);
                }
            }
        }
        Ok(heads)
    }

    /// Whether no configuration has a weight other than zero.
    pub fn accepts_nothing<D: Domain<Weight = W>>(&self, domain: &D) -> Result<bool, StopReason> {
        Ok(domain.is_zero(&self.path_summary(domain)?))
    }

    /// A shortest configuration whose weight is not zero, and its weight.
    pub fn shortest_configuration<D: Domain<Weight = W>>(
        &self,
        domain: &D,
    ) -> Result<Option<(Configuration, W)>, StopReason> {
        if self.accepts_nothing(domain)? {
            return Ok(None);
        }
        let plain = self.without_epsilon(domain)?.trimmed_both_ways(domain)?;
        let mut layers = Layers::new(&plain, domain);
        let wanted = |weight: &W| !domain.is_zero(weight);
        // Some stack has a weight, so some layer shows it.
        let start = loop {
            if let Some(start) = layers.start(wanted) {
                break start;
            }
            if !layers.grow()? {
                return Ok(None);
            }
        };
        let found = layers.write(start, wanted)?;
        found
            .map(|found| self.with_weight(domain, found))
            .transpose()
    }

    /// For weights of which combining takes one: a shortest configuration that has the combined
    /// weight of all, and that weight. If there is none, because longer stacks are better for ever,
    /// or because the weights are not of that kind, it is an error.
    pub fn best_configuration<D: Domain<Weight = W>>(
        &self,
        domain: &D,
    ) -> Result<Option<(Configuration, W)>, OperationError> {
        let best = self.path_summary(domain)?;
        if domain.is_zero(&best) {
            return Ok(None);
        }
        let plain = self.without_epsilon(domain)?.trimmed_both_ways(domain)?;
        let mut layers = Layers::new(&plain, domain);
        let wanted = |weight: &W| domain.equal(weight, &best);
        // A best stack visits no state more than twice: once before and once after a transition
        // that is better than all others.
        for _ in 0..=2 * plain.states() {
            if let Some(start) = layers.start(wanted) {
                return match layers.write(start, wanted)? {
                    Some(found) => Ok(Some((found, best))),
                    None => Err(OperationError::NoBest),
                };
            }
            if !layers.grow()? {
                break;
            }
        }
        Err(OperationError::NoBest)
    }

    fn with_weight<D: Domain<Weight = W>>(
        &self,
        domain: &D,
        found: Configuration,
    ) -> Result<(Configuration, W), StopReason> {
        let weight = self.weight_of(domain, found.state, &found.stack)?;
        Ok((found, weight))
    }
}

/// For each state the combined weights of ever longer stacks.
struct Layers<'a, D: Domain> {
    automaton: &'a Automaton<D::Weight>,
    domain: &'a D,
    entering: Adjacency,
    leaving: Adjacency,
    /// For each state, in which layers its weight has changed, and what it was from then on.
    known: Vec<Vec<(u32, D::Weight)>>,
    last: u32,
    /// Which states have changed in the last layer.
    changed: BTreeSet<StateId>,
}

impl<'a, D: Domain> Layers<'a, D> {
    /// Layer zero: the empty stack.
    fn new(automaton: &'a Automaton<D::Weight>, domain: &'a D) -> Self {
        let ends = automaton.accepting.iter();
        let known: Vec<Vec<_>> = ends
            .map(|end| end.iter().map(|weight| (0, weight.clone())).collect())
            .collect();
        let changed = (0..).map(StateId).zip(&known);
        let changed = changed.filter(|(_, known)| !known.is_empty());
        Layers {
            automaton,
            domain,
            entering: Adjacency::new(automaton, domain, |t| t.to),
            leaving: Adjacency::leaving(automaton, domain),
            changed: changed.map(|(state, _)| state).collect(),
            known,
            last: 0,
        }
    }

    fn at(&self, state: StateId, layer: u32) -> Option<&D::Weight> {
        let list = &self.known[state.0 as usize];
        let after = list.partition_point(|(from, _)| *from <= layer);
        list[..after].last().map(|(_, weight)| weight)
    }

    /// A control state that has such a weight in the last layer.
    fn start(&self, wanted: impl Fn(&D::Weight) -> bool) -> Option<StateId> {
        let control = self.changed.range(..StateId(self.automaton.control));
        let mut starts = control.copied();
        starts.find(|&state| self.at(state, self.last).is_some_and(&wanted))
    }

    /// The next layer; whether anything has changed.
    fn grow(&mut self) -> Result<bool, StopReason> {
        let product = Product::along(self.automaton.direction);
        let before = std::mem::take(&mut self.changed);
        let mut new: Vec<(StateId, D::Weight)> = Vec::new();
        for &state in &before {
            let Some(rest) = self.at(state, self.last) else {
                continue;
            };
            for &id in self.entering.of(state) {
                let weight = &self.automaton.weights[id as usize];
                let weight = product.of(self.domain, weight, rest)?;
                new.push((self.automaton.transitions[id as usize].from, weight));
            }
        }
        self.last += 1;
        for (state, weight) in new {
            let list = &mut self.known[state.0 as usize];
            let both = match list.last() {
                Some((_, known)) => {
                    let both = self.domain.combine(known, &weight)?;
                    if self.domain.equal(&both, known) {
                        continue;
                    }
                    both
                }
                None if self.domain.is_zero(&weight) => continue,
                None => weight,
            };
            match list.last_mut() {
                Some((layer, known)) if *layer == self.last => *known = both,
                _ => list.push((self.last, both)),
            }
            self.changed.insert(state);
        }
        Ok(!self.changed.is_empty())
    }

    /// The stack from a state on that has such a weight.
    fn write(
        &self,
        start: StateId,
        wanted: impl Fn(&D::Weight) -> bool,
    ) -> Result<Option<Configuration>, StopReason> {
        let product = Product::along(self.automaton.direction);
        let mut so_far = self.domain.one();
        let (mut state, mut stack) = (start, Vec::new());
        for left in (0..self.last).rev() {
            if let Some(end) = self.automaton.final_weight(state)
                && wanted(&product.of(self.domain, &so_far, end)?)
            {
                break;
            }
            let mut next = None;
            for &id in self.leaving.of(state) {
                let transition = self.automaton.transitions[id as usize];
                let Some(rest) = self.at(transition.to, left) else {
                    continue;
                };
                let weight = &self.automaton.weights[id as usize];
                let read = product.of(self.domain, &so_far, weight)?;
                if wanted(&product.of(self.domain, &read, rest)?) {
                    next = Some((transition, read));
                    break;
                }
            }
            let Some((transition, read)) = next else {
                return Ok(None);
            };
            stack.push(transition.symbol);
            (state, so_far) = (transition.to, read);
        }
        Ok(Some(Configuration {
            state: start,
            stack,
        }))
    }
}
