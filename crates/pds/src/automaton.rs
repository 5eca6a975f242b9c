//! Weighted P-automata (definition 2 and section 3.1 of the FWPDS paper): regular sets of
//! configurations, with a weight for each.
//!
//! The control states of the system are the first states. A configuration `⟨p, u⟩` is accepted if
//! `u` leads from `p` to a final state; its weight combines those of all such paths. Along a path,
//! weights are extended from the top of the stack to its bottom for pre*, the other way round for
//! post*.

mod combination;
mod determinisation;
mod dot;
mod error;
mod graph;
mod inclusion;
mod pieces;
mod reduction;
mod summary;

use std::convert::Infallible;
use std::sync::OnceLock;

use droste_base::StopReason;
use rustc_hash::FxHashMap;

use crate::domain::Domain;
use crate::system::{StateId, SymbolId};
use crate::wide::Wide;

pub use dot::{Names, Numbers};
pub use error::OperationError;
pub use inclusion::Side;

use graph::Adjacency;
use pieces::Pieces;

/// A configuration of a pushdown system.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Configuration {
    /// The control state.
    pub state: StateId,
    /// The stack, its top first.
    pub stack: Vec<SymbolId>,
}

/// In which order the weights of a path are extended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the top of the stack: the automata of pre*.
    Forward,
    /// From the bottom of the stack: the automata of post*.
    Backward,
}

/// A transition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Transition {
    /// Where it starts.
    pub from: StateId,
    /// What it reads; [`SymbolId::EPSILON`] for nothing.
    pub symbol: SymbolId,
    /// Where it leads.
    pub to: StateId,
}

impl Transition {
    /// The transition from one state to another that reads a symbol.
    pub fn new(from: StateId, symbol: SymbolId, to: StateId) -> Self {
        Transition { from, symbol, to }
    }
}

/// A weighted P-automaton.
#[derive(Clone, Debug)]
pub struct Automaton<W> {
    direction: Direction,
    control: u32,
    /// The weights of final states.
    accepting: Vec<Option<W>>,
    /// In the same pieces as the weights.
    transitions: Pieces<Transition>,
    weights: Pieces<W>,
    /// Where a transition is. Made when first asked for.
    index: OnceLock<FxHashMap<Transition, u32>>,
}

impl<W: Clone> Automaton<W> {
    /// An automaton with these control states that accepts nothing.
    pub fn new(control: u32, direction: Direction) -> Self {
        Automaton {
            direction,
            control,
            accepting: vec![None; control as usize],
            transitions: Pieces::new(Vec::new()),
            weights: Pieces::new(Vec::new()),
            index: OnceLock::new(),
        }
    }

    /// How the weights of a path are extended.
    pub fn direction(&self) -> Direction {
        self.direction
    }

    /// How many control states there are: they are the first states.
    pub fn control(&self) -> u32 {
        self.control
    }

    /// How many states there are.
    pub fn states(&self) -> u32 {
        self.accepting.len() as u32
    }

    /// A new state.
    pub fn state(&mut self) -> StateId {
        self.accepting.push(None);
        StateId(self.states() - 1)
    }

    /// Makes a state final, with a weight that paths have at their end. If it is final, the weights
    /// are combined.
    pub fn accept<D: Domain<Weight = W>>(
        &mut self,
        domain: &D,
        state: StateId,
        weight: W,
    ) -> Result<(), StopReason> {
        let place = &mut self.accepting[state.0 as usize];
        *place = Some(match place {
            Some(known) => domain.combine(known, &weight)?,
            None => weight,
        });
        Ok(())
    }

    /// The weight that paths have at their end in this state, if it is final.
    pub fn final_weight(&self, state: StateId) -> Option<&W> {
        self.accepting.get(state.0 as usize)?.as_ref()
    }

    /// Whether a state is final.
    pub fn is_final(&self, state: StateId) -> bool {
        self.final_weight(state).is_some()
    }

    /// Adds a transition. If it is there, the weights are combined.
    pub fn add<D: Domain<Weight = W>>(
        &mut self,
        domain: &D,
        transition: Transition,
        weight: W,
    ) -> Result<(), StopReason> {
        if let Some(&id) = self.index().get(&transition) {
            let known = &mut self.weights[id as usize];
            *known = domain.combine(known, &weight)?;
            return Ok(());
        }
        if let Some(index) = self.index.get_mut() {
            index.insert(transition, self.transitions.len() as u32);
        }
        self.transitions.push(transition);
        self.weights.push(weight);
        Ok(())
    }

    fn index(&self) -> &FxHashMap<Transition, u32> {
        (self.index).get_or_init(|| self.transitions.iter().copied().zip(0..).collect())
    }

    /// Adds transitions, none of which is there, to an automaton that has none.
    pub(crate) fn fill(&mut self, transitions: impl Iterator<Item = (Transition, W)>) {
        self.fill_from(vec![transitions.unzip()]);
    }

    /// The same, from several lists, which stay where they are.
    pub(crate) fn fill_from(&mut self, lists: Vec<(Vec<Transition>, Vec<W>)>) {
        let (transitions, weights) = lists.into_iter().unzip();
        self.transitions = Pieces::new(transitions);
        self.weights = Pieces::new(weights);
        self.index = OnceLock::new();
    }

    /// The transitions and their weights.
    pub fn iter(&self) -> impl Iterator<Item = (Transition, &W)> {
        debug_assert!(self.transitions.has_pieces_of(&self.weights));
        let pieces = self.transitions.pieces().zip(self.weights.pieces());
        pieces.flat_map(|(transitions, weights)| transitions.iter().copied().zip(weights))
    }

    /// How many transitions there are.
    pub fn len(&self) -> usize {
        self.transitions.len()
    }

    /// Whether there is no transition.
    pub fn is_empty(&self) -> bool {
        self.transitions.is_empty()
    }

    /// The weight of a transition, if there is one.
    pub fn weight(&self, transition: Transition) -> Option<&W> {
        let id = *self.index().get(&transition)?;
        Some(&self.weights[id as usize])
    }

    /// The same automaton without weights: only whether there is a path.
    pub(crate) fn skeleton(&self) -> Automaton<bool> {
        let Ok(plain) = self.map(|_| Ok::<_, Infallible>(true));
        plain
    }

    /// The same automaton with other weights.
    pub(crate) fn map<V, E>(&self, weight: impl Fn(&W) -> Result<V, E>) -> Result<Automaton<V>, E> {
        let ends = self.accepting.iter();
        Ok(Automaton {
            direction: self.direction,
            control: self.control,
            accepting: ends
                .map(|end| end.as_ref().map(&weight).transpose())
                .collect::<Result<_, E>>()?,
            transitions: self.transitions.clone(),
            weights: self.weights.map(weight)?,
            index: OnceLock::new(),
        })
    }

    /// An automaton with the states of this one and no transitions.
    pub(crate) fn bare(&self, direction: Direction) -> Self {
        Automaton {
            direction,
            accepting: self.accepting.clone(),
            ..Automaton::new(self.control, direction)
        }
    }

    /// Whether all transitions are on a path to a final state.
    pub(crate) fn is_trim(&self) -> bool {
        let useful = self.useful();
        (self.transitions.iter()).all(|transition| useful[transition.to.0 as usize])
    }

    /// For each state, whether a final state can be reached from there.
    fn useful(&self) -> Vec<bool> {
        // The transitions by where they lead: a counting sort.
        let mut first = vec![0u32; self.accepting.len() + 2];
        for transition in self.transitions.iter() {
            first[transition.to.0 as usize + 2] += 1;
        }
        for i in 2..first.len() {
            first[i] += first[i - 1];
        }
        let mut sources = vec![StateId(0); self.transitions.len()];
        for transition in self.transitions.iter() {
            let place = &mut first[transition.to.0 as usize + 1];
            sources[*place as usize] = transition.from;
            *place += 1;
        }
        let mut useful: Vec<bool> = self.accepting.iter().map(Option::is_some).collect();
        let mut work: Vec<u32> = (0..self.states()).filter(|&s| useful[s as usize]).collect();
        while let Some(state) = work.pop() {
            let state = state as usize;
            for from in &sources[first[state] as usize..first[state + 1] as usize] {
                if !std::mem::replace(&mut useful[from.0 as usize], true) {
                    work.push(from.0);
                }
            }
        }
        useful
    }

    /// Without the transitions that are on no path to a final state.
    pub(crate) fn trimmed(mut self) -> Self {
        let useful = self.useful();
        let keeps = |t: &Transition| useful[t.to.0 as usize];
        if !self.transitions.iter().all(keeps) {
            let pieces = self.transitions.pieces_mut().zip(self.weights.pieces_mut());
            for (transitions, weights) in pieces {
                let mut kept = transitions.iter().map(keeps);
                weights.retain(|_| kept.next().unwrap_or(false));
                transitions.retain(keeps);
            }
            self.index = OnceLock::new();
        }
        self
    }

    /// The weight of a path with the weight `so_far` that goes on over a transition with the weight `next`.
    fn after<D: Domain<Weight = W>>(
        &self,
        domain: &D,
        so_far: &W,
        next: &W,
    ) -> Result<W, StopReason> {
        match self.direction {
            Direction::Forward => domain.extend(so_far, next),
            Direction::Backward => domain.extend(next, so_far),
        }
    }

    /// The weight of a configuration, the top of its stack first: zero if it is not accepted. Only this
    /// sum has to be in the range of weights, not the sums on the way to it.
    pub fn weight_of<D: Domain<Weight = W>>(
        &self,
        domain: &D,
        state: StateId,
        stack: &[SymbolId],
    ) -> Result<W, StopReason> {
        match self.weight_along(domain, state, stack) {
            Err(StopReason::OutOfRange) if Wide::helps(domain) => {
                let wide = Wide::automaton(domain, self);
                Wide::weight(domain, wide.weight_along(&Wide, state, stack)?)
            }
            found => found,
        }
    }

    fn weight_along<D: Domain<Weight = W>>(
        &self,
        domain: &D,
        state: StateId,
        stack: &[SymbolId],
    ) -> Result<W, StopReason> {
        let leaving = Adjacency::leaving(self, domain);
        let mut now = self.silently(domain, &leaving, vec![(state, domain.one())])?;
        for &symbol in stack {
            let mut next: FxHashMap<StateId, W> = FxHashMap::default();
            for (from, so_far) in &now {
                for &id in self.reading(&leaving, *from, symbol) {
                    let weight = self.after(domain, so_far, &self.weights[id as usize])?;
                    join(domain, &mut next, self.transitions[id as usize].to, weight)?;
                }
            }
            now = self.silently(domain, &leaving, next.into_iter().collect())?;
        }
        let mut sum = domain.zero();
        for (state, weight) in &now {
            if let Some(end) = self.final_weight(*state) {
                let weight = self.after(domain, weight, end)?;
                sum = domain.combine(&sum, &weight)?;
            }
        }
        Ok(sum)
    }

    /// The same set of configurations with the same weights, without epsilon transitions and
    /// without transitions into control states: as pre* and post* want it.
    pub fn normalised<D: Domain<Weight = W>>(&self, domain: &D) -> Result<Self, StopReason> {
        let plain = self.without_epsilon(domain)?;
        if plain.transitions.iter().all(|t| t.to.0 >= self.control) {
            return Ok(plain);
        }
        // A second copy of every control state, which is not the beginning of a configuration.
        let copy = |state: StateId| {
            if state.0 < self.control {
                StateId(self.states() + state.0)
            } else {
                state
            }
        };
        let mut apart = Automaton::new(self.control, self.direction);
        while apart.states() < self.states() + self.control {
            apart.state();
        }
        for (state, end) in (0..).map(StateId).zip(&plain.accepting) {
            if let Some(end) = end {
                apart.accept(domain, state, end.clone())?;
                if state.0 < self.control {
                    apart.accept(domain, copy(state), end.clone())?;
                }
            }
        }
        for (Transition { from, symbol, to }, weight) in plain.iter() {
            let transition = Transition::new(from, symbol, copy(to));
            apart.add(domain, transition, weight.clone())?;
            if from.0 < self.control {
                let transition = Transition::new(copy(from), symbol, copy(to));
                apart.add(domain, transition, weight.clone())?;
            }
        }
        Ok(apart)
    }
}

/// Combines a weight with that of a state.
fn join<D: Domain>(
    domain: &D,
    weights: &mut FxHashMap<StateId, D::Weight>,
    state: StateId,
    weight: D::Weight,
) -> Result<(), StopReason> {
    let both = match weights.get(&state) {
        Some(known) => domain.combine(known, &weight)?,
        None => weight,
    };
    weights.insert(state, both);
    Ok(())
}
