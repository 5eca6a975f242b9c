//! The same configurations with the same weights in fewer or simpler transitions.

use droste_base::StopReason;

use super::graph::Adjacency;
use super::{Automaton, Transition};
use crate::domain::Domain;
use crate::system::{StateId, SymbolId};
use crate::wide::Wide;

impl<W: Clone> Automaton<W> {
    /// The same without epsilon transitions, with the same states. Only the sums that transitions have in
    /// the end have to be in the range of weights.
    pub fn without_epsilon<D: Domain<Weight = W>>(&self, domain: &D) -> Result<Self, StopReason> {
        let epsilon = |t: &Transition| t.symbol == SymbolId::EPSILON;
        if !self.transitions.iter().any(epsilon) {
            return Ok(self.clone());
        }
        match self.closed(domain) {
            Err(StopReason::OutOfRange) if Wide::helps(domain) => {
                let wide = Wide::automaton(domain, self).closed(&Wide)?;
                wide.map(|&number| Wide::weight(domain, number))
            }
            found => found,
        }
    }

    fn closed<D: Domain<Weight = W>>(&self, domain: &D) -> Result<Self, StopReason> {
        let mut plain = Automaton::new(self.control, self.direction);
        while plain.states() < self.states() {
            plain.state();
        }
        let leaving = Adjacency::leaving(self, domain);
        for start in (0..self.states()).map(StateId) {
            let near = self.silently(domain, &leaving, vec![(start, domain.one())])?;
            for (state, so_far) in near {
                if let Some(end) = self.final_weight(state) {
                    let weight = self.after(domain, &so_far, end)?;
                    plain.accept(domain, start, weight)?;
                }
                for &id in leaving.of(state) {
                    let Transition { symbol, to, .. } = self.transitions[id as usize];
                    if symbol != SymbolId::EPSILON {
                        let weight = self.after(domain, &so_far, &self.weights[id as usize])?;
                        plain.add(domain, Transition::new(start, symbol, to), weight)?;
                    }
                }
            }
        }
        Ok(plain)
    }

    /// The same without the states that no configuration visits, and without weights that are zero.
    /// States get new numbers, but for the control states.
    pub fn trimmed_both_ways<D: Domain<Weight = W>>(&self, domain: &D) -> Result<Self, StopReason> {
        let control = (0..self.control).map(StateId);
        let leaving = Adjacency::leaving(self, domain);
        let there = self.visited(control, |state| leaving.of(state), |t| t.to);
        let ends = (0..).map(StateId).zip(&self.accepting);
        let ends = ends.filter(|(_, end)| end.as_ref().is_some_and(|end| !domain.is_zero(end)));
        let entering = Adjacency::new(self, domain, |t| t.to);
        let ends = ends.map(|(state, _)| state);
        let back = self.visited(ends, |state| entering.of(state), |t| t.from);
        let mut trimmed = Automaton::new(self.control, self.direction);
        let useful = |state: usize| there[state] && back[state];
        let mut place = Vec::with_capacity(self.accepting.len());
        for state in 0..self.accepting.len() {
            place.push(if state < self.control as usize {
                StateId(state as u32)
            } else if useful(state) {
                trimmed.state()
            } else {
                StateId(u32::MAX)
            });
        }
        for (state, end) in self.accepting.iter().enumerate() {
            if let Some(end) = end
                .as_ref()
                .filter(|end| useful(state) && !domain.is_zero(end))
            {
                trimmed.accept(domain, place[state], end.clone())?;
            }
        }
        for (transition, weight) in self.iter() {
            let Transition { from, symbol, to } = transition;
            let (from, to) = (from.0 as usize, to.0 as usize);
            if useful(from) && useful(to) && !domain.is_zero(weight) {
                let transition = Transition::new(place[from], symbol, place[to]);
                trimmed.add(domain, transition, weight.clone())?;
            }
        }
        Ok(trimmed)
    }

    /// The states that are reached from some over transitions.
    fn visited<'a>(
        &self,
        starts: impl Iterator<Item = StateId>,
        edges: impl Fn(StateId) -> &'a [u32],
        end: impl Fn(Transition) -> StateId,
    ) -> Vec<bool> {
        let mut seen = vec![false; self.accepting.len()];
        let mut work: Vec<StateId> = starts.collect();
        for start in &work {
            seen[start.0 as usize] = true;
        }
        while let Some(state) = work.pop() {
            for &id in edges(state) {
                let next = end(self.transitions[id as usize]);
                if !std::mem::replace(&mut seen[next.0 as usize], true) {
                    work.push(next);
                }
            }
        }
        seen
    }

    /// Only whether there is a path of transitions that are not zero.
    pub fn support<D: Domain<Weight = W>>(&self, domain: &D) -> Automaton<bool> {
        let mut plain = self.skeleton();
        for (flag, weight) in plain.weights.iter_mut().zip(self.weights.iter()) {
            *flag = !domain.is_zero(weight);
        }
        for (flag, weight) in plain.accepting.iter_mut().zip(&self.accepting) {
            *flag = weight.as_ref().map(|weight| !domain.is_zero(weight));
        }
        plain
    }
}
