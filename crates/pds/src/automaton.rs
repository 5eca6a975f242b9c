//! Weighted P-automata (definition 2 and section 3.1 of the FWPDS paper): regular sets of
//! configurations, with a weight for each.
//!
//! The control states of the system are the first states. A configuration `⟨p, u⟩` is accepted if
//! `u` leads from `p` to a final state; its weight combines those of all such paths. Along a path,
//! weights are extended from the top of the stack to its bottom for pre*, the other way round for
//! post*.

use droste_base::StopReason;
use rustc_hash::FxHashMap;

use crate::domain::Domain;
use crate::system::{StateId, SymbolId};

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
    transitions: Vec<Transition>,
    weights: Vec<W>,
    index: FxHashMap<Transition, u32>,
}

impl<W: Clone> Automaton<W> {
    /// An automaton with these control states that accepts nothing.
    pub fn new(control: u32, direction: Direction) -> Self {
        Automaton {
            direction,
            control,
            accepting: vec![None; control as usize],
            transitions: Vec::new(),
            weights: Vec::new(),
            index: FxHashMap::default(),
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
        if let Some(&id) = self.index.get(&transition) {
            let known = &mut self.weights[id as usize];
            *known = domain.combine(known, &weight)?;
            return Ok(());
        }
        self.index.insert(transition, self.transitions.len() as u32);
        self.transitions.push(transition);
        self.weights.push(weight);
        Ok(())
    }

    /// The transitions and their weights.
    pub fn iter(&self) -> impl Iterator<Item = (Transition, &W)> {
        self.transitions.iter().copied().zip(&self.weights)
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
        let id = *self.index.get(&transition)?;
        Some(&self.weights[id as usize])
    }

    /// The same automaton without weights: only whether there is a path.
    pub(crate) fn skeleton(&self) -> Automaton<bool> {
        Automaton {
            direction: self.direction,
            control: self.control,
            accepting: self
                .accepting
                .iter()
                .map(|w| w.as_ref().map(|_| true))
                .collect(),
            transitions: self.transitions.clone(),
            weights: vec![true; self.weights.len()],
            index: self.index.clone(),
        }
    }

    /// An automaton with the states of this one and no transitions.
    pub(crate) fn bare(&self, direction: Direction) -> Self {
        Automaton {
            direction,
            accepting: self.accepting.clone(),
            ..Automaton::new(self.control, direction)
        }
    }

    /// Without the transitions that are on no path to a final state.
    pub(crate) fn trimmed(mut self) -> Self {
        let mut into: Vec<Vec<u32>> = vec![Vec::new(); self.accepting.len()];
        for (id, transition) in (0..).zip(&self.transitions) {
            into[transition.to.0 as usize].push(id);
        }
        let mut useful: Vec<bool> = self.accepting.iter().map(Option::is_some).collect();
        let mut work: Vec<u32> = (0..self.states()).filter(|&s| useful[s as usize]).collect();
        while let Some(state) = work.pop() {
            for &id in &into[state as usize] {
                let from = self.transitions[id as usize].from.0;
                if !std::mem::replace(&mut useful[from as usize], true) {
                    work.push(from);
                }
            }
        }
        let keeps = |t: &Transition| useful[t.to.0 as usize];
        if !self.transitions.iter().all(keeps) {
            let mut all = std::mem::take(&mut self.transitions).into_iter();
            self.weights.retain(|_| {
                let next = all.next();
                let keep = next.as_ref().is_some_and(keeps);
                self.transitions.extend(next.filter(|_| keep));
                keep
            });
            self.index = self.transitions.iter().copied().zip(0..).collect();
        }
        self
    }

    /// What a path that has one weight has after a transition with another.
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

    /// The weight of a configuration, the top of its stack first: zero if it is not accepted.
    pub fn weight_of<D: Domain<Weight = W>>(
        &self,
        domain: &D,
        state: StateId,
        stack: &[SymbolId],
    ) -> Result<W, StopReason> {
        let mut out: FxHashMap<(StateId, SymbolId), Vec<u32>> = FxHashMap::default();
        for (id, transition) in (0..).zip(&self.transitions) {
            let list = out.entry((transition.from, transition.symbol)).or_default();
            list.push(id);
        }
        let empty = Vec::new();
        let edges = |state, symbol| out.get(&(state, symbol)).unwrap_or(&empty);
        let mut now: FxHashMap<StateId, W> = FxHashMap::default();
        now.insert(state, domain.one());
        for place in 0..=stack.len() {
            // What epsilon transitions add, until nothing changes.
            let mut work: Vec<StateId> = now.keys().copied().collect();
            while let Some(from) = work.pop() {
                for &id in edges(from, SymbolId::EPSILON) {
                    let to = self.transitions[id as usize].to;
                    let weight = self.after(domain, &now[&from], &self.weights[id as usize])?;
                    if join(domain, &mut now, to, weight)? {
                        work.push(to);
                    }
                }
            }
            let Some(&symbol) = stack.get(place) else {
                break;
            };
            let mut next = FxHashMap::default();
            for (&from, so_far) in &now {
                for &id in edges(from, symbol) {
                    let weight = self.after(domain, so_far, &self.weights[id as usize])?;
                    join(domain, &mut next, self.transitions[id as usize].to, weight)?;
                }
            }
            now = next;
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
        let into_control = (self.transitions.iter()).any(|t| t.to.0 < self.control);
        let epsilon = |t: &Transition| t.symbol == SymbolId::EPSILON;
        if !into_control && !self.transitions.iter().any(epsilon) {
            return Ok(self.clone());
        }
        // A second copy of every control state, which is not the beginning of a configuration.
        let copy = |state: StateId| {
            if state.0 < self.control {
                StateId(self.states() + state.0)
            } else {
                state
            }
        };
        let mut plain = Automaton::new(self.control, self.direction);
        for state in (0..self.states()).map(StateId) {
            if state.0 >= self.control {
                plain.state();
            }
        }
        for _ in 0..self.control {
            plain.state();
        }
        // Which states a state gets to without reading, and with which weight.
        let mut out: Vec<Vec<u32>> = vec![Vec::new(); self.states() as usize];
        for (id, transition) in (0..).zip(&self.transitions) {
            out[transition.from.0 as usize].push(id);
        }
        for start in (0..self.states()).map(StateId) {
            let mut near: FxHashMap<StateId, W> = FxHashMap::default();
            near.insert(start, domain.one());
            let mut work = vec![start];
            while let Some(from) = work.pop() {
                for &id in &out[from.0 as usize] {
                    let transition = self.transitions[id as usize];
                    if epsilon(&transition) {
                        let step = &self.weights[id as usize];
                        let weight = self.after(domain, &near[&from], step)?;
                        if join(domain, &mut near, transition.to, weight)? {
                            work.push(transition.to);
                        }
                    }
                }
            }
            plain.follow(domain, self, (start, &near), &out, copy)?;
        }
        Ok(plain)
    }

    /// The transitions of `start` in an automaton without epsilon transitions.
    fn follow<D: Domain<Weight = W>>(
        &mut self,
        domain: &D,
        from: &Self,
        (start, near): (StateId, &FxHashMap<StateId, W>),
        out: &[Vec<u32>],
        copy: impl Fn(StateId) -> StateId,
    ) -> Result<(), StopReason> {
        let starts = if start.0 < self.control {
            vec![start, copy(start)]
        } else {
            vec![start]
        };
        for (&state, so_far) in near {
            if let Some(end) = from.final_weight(state) {
                let weight = from.after(domain, so_far, end)?;
                for &start in &starts {
                    self.accept(domain, start, weight.clone())?;
                }
            }
            for &id in &out[state.0 as usize] {
                let transition = from.transitions[id as usize];
                if transition.symbol == SymbolId::EPSILON {
                    continue;
                }
                let weight = from.after(domain, so_far, &from.weights[id as usize])?;
                for &start in &starts {
                    let transition = Transition {
                        from: start,
                        symbol: transition.symbol,
                        to: copy(transition.to),
                    };
                    self.add(domain, transition, weight.clone())?;
                }
            }
        }
        Ok(())
    }
}

/// Combines a weight with that of a state; whether something changed.
fn join<D: Domain>(
    domain: &D,
    weights: &mut FxHashMap<StateId, D::Weight>,
    state: StateId,
    weight: D::Weight,
) -> Result<bool, StopReason> {
    let Some(known) = weights.get_mut(&state) else {
        if domain.is_zero(&weight) {
            return Ok(false);
        }
        weights.insert(state, weight);
        return Ok(true);
    };
    let both = domain.combine(known, &weight)?;
    let changed = !domain.equal(&both, known);
    *known = both;
    Ok(changed)
}
