//! Determinisation of weighted automata (Mohri, Finite-state transducers in language and speech
//! processing, 1997, section 3.3), for any domain.
//!
//! A state of the new automaton is a set of old ones, each with a weight that is still to be
//! counted. What all of them have in common is counted at once: the combined weight, if the domain
//! can say what is left of each ([`Domain::rest`]). If it cannot, nothing is counted, and the
//! weights stand in the state until its end. So the construction ends for finite domains, for
//! automata without cycles, for those that are deterministic already, and for numbers if the
//! automaton has Mohri's twins property. For the others there is a bound on states.

use droste_base::StopReason;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

use super::graph::{Adjacency, Product};
use super::{Automaton, OperationError, Transition};
use crate::domain::Domain;
use crate::system::{StateId, SymbolId};

impl<W: Clone> Automaton<W> {
    /// Whether there are no epsilon transitions and no two transitions from one state on one symbol.
    pub fn is_deterministic(&self) -> bool {
        let mut heads: Vec<(StateId, SymbolId)> = self
            .transitions
            .iter()
            .map(|t| (t.from, t.symbol))
            .collect();
        heads.sort_unstable();
        heads.windows(2).all(|two| two[0] != two[1])
            && heads.iter().all(|head| head.1 != SymbolId::EPSILON)
    }

    /// The same configurations with the same weights, by a deterministic automaton of at most
    /// `most` states.
    pub fn determinised<D: Domain<Weight = W>>(
        &self,
        domain: &D,
        most: u32,
    ) -> Result<Self, OperationError> {
        if self.is_deterministic() {
            return Ok(self.clone());
        }
        let plain = self.without_epsilon(domain)?.trimmed_both_ways(domain)?;
        let leaving = Adjacency::leaving(&plain, domain);
        let mut sets = Sets {
            domain,
            product: Product::along(self.direction),
            automaton: Automaton::new(self.control, self.direction),
            members: Vec::new(),
            index: FxHashMap::default(),
        };
        for state in (0..self.control).map(StateId) {
            sets.members.push(vec![(state, domain.one())]);
        }
        let mut next = 0;
        while let Some(members) = sets.members.get(next).cloned() {
            sets.follow(&plain, &leaving, StateId(next as u32), &members)?;
            if sets.automaton.states() > most.max(self.control) {
                return Err(OperationError::TooManyStates(most));
            }
            next += 1;
        }
        Ok(sets.automaton)
    }
}

struct Sets<'a, D: Domain> {
    domain: &'a D,
    product: Product,
    automaton: Automaton<D::Weight>,
    /// The old states behind each new one, with what is still to be counted.
    members: Vec<Vec<(StateId, D::Weight)>>,
    /// New states by the old ones, for those that are not only beginnings.
    index: FxHashMap<Vec<StateId>, Vec<StateId>>,
}

impl<D: Domain> Sets<'_, D> {
    /// The transitions of a new state, and its weight at the end.
    fn follow(
        &mut self,
        old: &Automaton<D::Weight>,
        leaving: &Adjacency,
        from: StateId,
        members: &[(StateId, D::Weight)],
    ) -> Result<(), StopReason> {
        let (domain, product) = (self.domain, self.product);
        let mut steps: BTreeMap<SymbolId, BTreeMap<StateId, D::Weight>> = BTreeMap::new();
        for (state, so_far) in members {
            if let Some(end) = old.final_weight(*state) {
                let weight = product.of(domain, so_far, end)?;
                self.automaton.accept(domain, from, weight)?;
            }
            for &id in leaving.of(*state) {
                let Transition { symbol, to, .. } = old.transitions[id as usize];
                let weight = product.of(domain, so_far, &old.weights[id as usize])?;
                let targets = steps.entry(symbol).or_default();
                let both = match targets.get(&to) {
                    Some(known) => domain.combine(known, &weight)?,
                    None => weight,
                };
                targets.insert(to, both);
            }
        }
        for (symbol, targets) in steps {
            let targets = targets.into_iter();
            let targets: Vec<_> = targets.filter(|(_, w)| !domain.is_zero(w)).collect();
            if targets.is_empty() {
                continue;
            }
            let (weight, rest) = self.split(targets)?;
            let to = self.state(rest);
            let transition = Transition::new(from, symbol, to);
            self.automaton.add(domain, transition, weight)?;
        }
        Ok(())
    }

    /// What can be counted now, and what is left of each.
    #[expect(clippy::type_complexity, reason = "a weight and a set")]
    fn split(
        &self,
        targets: Vec<(StateId, D::Weight)>,
    ) -> Result<(D::Weight, Vec<(StateId, D::Weight)>), StopReason> {
        let mut common = self.domain.zero();
        for (_, weight) in &targets {
            common = self.domain.combine(&common, weight)?;
        }
        let rest = |(state, weight): &(StateId, D::Weight)| {
            Some((*state, self.domain.rest(&common, weight)?))
        };
        match targets.iter().map(rest).collect::<Option<Vec<_>>>() {
            Some(rest) => Ok((common, rest)),
            None => Ok((self.domain.one(), targets)),
        }
    }

    /// The new state for a set.
    fn state(&mut self, members: Vec<(StateId, D::Weight)>) -> StateId {
        let key: Vec<StateId> = members.iter().map(|(state, _)| *state).collect();
        let known = self.index.entry(key).or_default();
        let same = |id: &&StateId| {
            let other = &self.members[id.0 as usize];
            let mut pairs = members.iter().zip(other);
            pairs.all(|(a, b)| self.domain.equal(&a.1, &b.1))
        };
        if let Some(&id) = known.iter().find(same) {
            return id;
        }
        let id = self.automaton.state();
        known.push(id);
        self.members.push(members);
        id
    }
}
