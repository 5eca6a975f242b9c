//! Union and intersection of weighted automata.

use std::collections::hash_map::Entry;

use droste_base::StopReason;
use rustc_hash::FxHashMap;

use super::graph::Adjacency;
use super::{Automaton, OperationError, Transition};
use crate::domain::Domain;
use crate::domains::{Boolean, Pair};
use crate::system::{StateId, SymbolId};

impl<W: Clone> Automaton<W> {
    /// The configurations of both, their weights combined. Both must extend weights in the same
    /// direction.
    pub fn union<D: Domain<Weight = W>>(
        &self,
        domain: &D,
        other: &Self,
    ) -> Result<Self, OperationError> {
        if self.direction != other.direction {
            return Err(OperationError::Directions);
        }
        let mut union = Automaton::new(self.control.max(other.control), self.direction);
        union.insert(domain, self)?;
        union.insert(domain, other)?;
        Ok(union)
    }

    /// Adds all of another automaton, with new states for those that are no control states.
    fn insert<D: Domain<Weight = W>>(
        &mut self,
        domain: &D,
        other: &Self,
    ) -> Result<(), StopReason> {
        // If it comes back to control states, they are no longer only beginnings.
        let back = other.transitions.iter().any(|t| t.to.0 < other.control);
        let mut place = Vec::with_capacity(other.states() as usize);
        for state in 0..other.states() {
            let start = StateId(state);
            if state >= other.control {
                place.push(self.state());
            } else if back {
                let copy = self.state();
                let enter = Transition::new(start, SymbolId::EPSILON, copy);
                self.add(domain, enter, domain.one())?;
                place.push(copy);
            } else {
                place.push(start);
            }
        }
        for (state, end) in place.iter().zip(&other.accepting) {
            if let Some(end) = end {
                self.accept(domain, *state, end.clone())?;
            }
        }
        for (transition, weight) in other.iter() {
            let Transition { from, symbol, to } = transition;
            let (from, to) = (place[from.0 as usize], place[to.0 as usize]);
            self.add(domain, Transition::new(from, symbol, to), weight.clone())?;
        }
        Ok(())
    }

    /// The configurations of both. The weight of each is the pair of its two weights, in the domain
    /// [`Pair`].
    pub fn intersection<D: Domain<Weight = W> + Clone, E: Domain + Clone>(
        &self,
        (domain, other_domain): (&D, &E),
        other: &Automaton<E::Weight>,
    ) -> Result<Automaton<(W, E::Weight)>, OperationError> {
        if self.direction != other.direction {
            return Err(OperationError::Directions);
        }
        let pair = Pair(domain.clone(), other_domain.clone());
        let both = Both {
            first: (self, domain),
            second: (other, other_domain),
        };
        Ok(both.product(&pair, |a, b| Ok((a.clone(), b.clone())))?)
    }

    /// The configurations of this automaton that another one accepts, with the weights they have
    /// here.
    pub fn restricted<D: Domain<Weight = W>>(
        &self,
        domain: &D,
        to: &Automaton<bool>,
    ) -> Result<Self, StopReason> {
        let both = Both {
            first: (self, domain),
            second: (to, &Boolean),
        };
        both.product(domain, |weight, _| Ok(weight.clone()))
    }

    /// The configurations of both; the weight of each is that in one automaton, extended by that in
    /// the other. Only for domains where extending is commutative, such as numbers.
    pub fn extended<D: Domain<Weight = W>>(
        &self,
        domain: &D,
        other: &Self,
    ) -> Result<Self, StopReason> {
        let both = Both {
            first: (self, domain),
            second: (other, domain),
        };
        both.product(domain, |a, b| domain.extend(a, b))
    }
}

/// Two automata that read the same stacks.
struct Both<'a, D: Domain, E: Domain> {
    first: (&'a Automaton<D::Weight>, &'a D),
    second: (&'a Automaton<E::Weight>, &'a E),
}

impl<D: Domain, E: Domain> Both<'_, D, E> {
    /// The product automaton, as far as it is reachable. An epsilon transition of one automaton
    /// leaves the other where it is.
    fn product<F: Domain>(
        &self,
        domain: &F,
        weight: impl Fn(&D::Weight, &E::Weight) -> Result<F::Weight, StopReason>,
    ) -> Result<Automaton<F::Weight>, StopReason> {
        let ((first, one_domain), (second, other_domain)) = (self.first, self.second);
        let control = first.control.max(second.control);
        let mut product = Automaton::new(control, first.direction);
        let (leaving, other_leaving) = (
            Adjacency::leaving(first, one_domain),
            Adjacency::leaving(second, other_domain),
        );
        let (one, other_one) = (one_domain.one(), other_domain.one());
        // Control states that one of them does not have accept nothing.
        let common = first.control.min(second.control);
        let mut pairs: Vec<(StateId, (StateId, StateId))> = (0..common)
            .map(|p| (StateId(p), (StateId(p), StateId(p))))
            .collect();
        let mut names: FxHashMap<(StateId, StateId), StateId> =
            pairs.iter().map(|&(id, pair)| (pair, id)).collect();
        let mut next = 0;
        while let Some(&(id, (a, b))) = pairs.get(next) {
            next += 1;
            if let (Some(end), Some(other_end)) = (first.final_weight(a), second.final_weight(b))
                && !one_domain.is_zero(end)
                && !other_domain.is_zero(other_end)
            {
                product.accept(domain, id, weight(end, other_end)?)?;
            }
            let mut steps = Vec::new();
            for &edge in leaving.of(a) {
                let Transition { symbol, to, .. } = first.transitions[edge as usize];
                let own = &first.weights[edge as usize];
                if symbol == SymbolId::EPSILON {
                    steps.push((symbol, (to, b), weight(own, &other_one)?));
                    continue;
                }
                for &other_edge in second.reading(&other_leaving, b, symbol) {
                    let other_to = second.transitions[other_edge as usize].to;
                    let other_own = &second.weights[other_edge as usize];
                    steps.push((symbol, (to, other_to), weight(own, other_own)?));
                }
            }
            for &other_edge in second.reading(&other_leaving, b, SymbolId::EPSILON) {
                let to = second.transitions[other_edge as usize].to;
                let other_own = &second.weights[other_edge as usize];
                steps.push((SymbolId::EPSILON, (a, to), weight(&one, other_own)?));
            }
            for (symbol, pair, weight) in steps {
                let to = match names.entry(pair) {
                    Entry::Occupied(known) => *known.get(),
                    Entry::Vacant(place) => {
                        let to = product.state();
                        pairs.push((to, pair));
                        *place.insert(to)
                    }
                };
                product.add(domain, Transition::new(id, symbol, to), weight)?;
            }
        }
        Ok(product)
    }
}
