//! What pre* and post* share: transitions with weights that grow, and a list of those that have
//! grown.
//!
//! A transition that gets a better weight is put on the list with what is new about it
//! (differential propagation, section 4.2 of the FWPDS paper): only that is handed on. Transitions
//! are interned; lists of the transitions that leave a state are linked through flat arrays.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use droste_base::interner::Interner;
use droste_base::{Guard, Limits, StopReason};

use crate::automaton::{Automaton, Transition};
use crate::domain::Domain;
use crate::system::{StateId, SymbolId};

/// No transition.
pub(crate) const NONE: u32 = u32::MAX;

/// Which transition that has grown is looked at next. The answer does not depend on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// The best weight first where the domain [ranks](Domain::rank) weights (Dijkstra); otherwise
    /// the one that has waited longest.
    #[default]
    Best,
    /// The one that was put there last.
    LastIn,
    /// The one that has waited longest.
    FirstIn,
}

/// How the weights of transitions are found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Method {
    /// By chaotic iteration (section 3.1): what has grown is handed on until nothing grows.
    #[default]
    Chaotic,
    /// By path expressions (section 3.2): loops are summed up before they are left.
    Paths,
}

/// How to saturate.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// How weights are found.
    pub method: Method,
    /// Which transition is looked at next.
    pub order: Order,
    /// When to give up.
    pub limits: Limits,
}

enum Worklist {
    Stack(Vec<u32>),
    Queue(VecDeque<u32>),
    Heap(BinaryHeap<Reverse<(u64, u32)>>),
}

/// Transitions that grow.
pub(crate) struct Table<'a, D: Domain> {
    pub(crate) domain: &'a D,
    names: Interner<Transition>,
    weights: Vec<D::Weight>,
    /// What has not been handed on yet; `None` if the transition is not on the list.
    news: Vec<Option<D::Weight>>,
    work: Worklist,
    guard: Guard,
}

impl<'a, D: Domain> Table<'a, D> {
    pub(crate) fn new(domain: &'a D, options: &Options) -> Self {
        let work = match options.order {
            Order::LastIn => Worklist::Stack(Vec::new()),
            Order::Best if domain.rank(&domain.one()).is_some() => {
                Worklist::Heap(BinaryHeap::new())
            }
            Order::Best | Order::FirstIn => Worklist::Queue(VecDeque::new()),
        };
        Table {
            domain,
            names: Interner::new(),
            weights: Vec::new(),
            news: Vec::new(),
            work,
            guard: options.limits.guard(),
        }
    }

    #[inline]
    pub(crate) fn name(&self, id: u32) -> Transition {
        *self.names.get(id)
    }

    #[inline]
    pub(crate) fn weight(&self, id: u32) -> &D::Weight {
        &self.weights[id as usize]
    }

    /// Combines the weight of a transition with another. Its number, and whether it is new.
    #[inline]
    pub(crate) fn update(
        &mut self,
        from: StateId,
        symbol: SymbolId,
        to: StateId,
        weight: D::Weight,
    ) -> Result<(u32, bool), StopReason> {
        let name = Transition { from, symbol, to };
        let (id, fresh) = self.names.intern(name)?;
        if fresh {
            self.weights.push(weight.clone());
            self.news.push(None);
            if !self.domain.is_zero(&weight) {
                self.put(id, weight)?;
            }
            return Ok((id, true));
        }
        let known = &mut self.weights[id as usize];
        let both = self.domain.combine(known, &weight)?;
        if !self.domain.equal(&both, known) {
            let new = self.domain.diff(&weight, known)?;
            *known = both;
            self.put(id, new)?;
        }
        Ok((id, false))
    }

    fn put(&mut self, id: u32, new: D::Weight) -> Result<(), StopReason> {
        let place = &mut self.news[id as usize];
        let waits = place.is_some();
        let new = match place {
            Some(waiting) => self.domain.combine(waiting, &new)?,
            None => new,
        };
        match &mut self.work {
            // It may stand there several times, and is taken at its best.
            Worklist::Heap(heap) => {
                let rank = self.domain.rank(&new).unwrap_or(u64::MAX);
                heap.push(Reverse((rank, id)));
            }
            Worklist::Stack(stack) if !waits => stack.push(id),
            Worklist::Queue(queue) if !waits => queue.push_back(id),
            Worklist::Stack(_) | Worklist::Queue(_) => {}
        }
        *place = Some(new);
        Ok(())
    }

    /// The next transition that has grown, and what is new about it.
    #[inline]
    pub(crate) fn next(&mut self) -> Result<Option<(u32, D::Weight)>, StopReason> {
        self.guard.check()?;
        loop {
            let id = match &mut self.work {
                Worklist::Stack(stack) => stack.pop(),
                Worklist::Queue(queue) => queue.pop_front(),
                Worklist::Heap(heap) => heap.pop().map(|Reverse((_, id))| id),
            };
            let Some(id) = id else {
                return Ok(None);
            };
            if let Some(new) = self.news[id as usize].take() {
                return Ok(Some((id, new)));
            }
        }
    }

    /// All transitions, by number.
    pub(crate) fn names(&self) -> impl Iterator<Item = Transition> {
        (0..self.names.len() as u32).map(|id| *self.names.get(id))
    }

    /// The transitions that are wanted, with what is known about states, as an automaton.
    pub(crate) fn automaton(
        self,
        mut automaton: Automaton<D::Weight>,
        states: u32,
        wanted: impl Fn(Transition) -> bool,
    ) -> Result<Automaton<D::Weight>, StopReason> {
        while automaton.states() < states {
            automaton.state();
        }
        for (id, weight) in (0..).zip(self.weights) {
            let name = *self.names.get(id);
            if wanted(name) && !self.domain.is_zero(&weight) {
                automaton.add(self.domain, name, weight)?;
            }
        }
        Ok(automaton)
    }
}

/// Lists of numbers, one for each key, linked through one array.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lists {
    first: Vec<u32>,
    items: Vec<(u32, u32)>,
}

impl Lists {
    pub(crate) fn push(&mut self, key: u32, item: u32) {
        let key = key as usize;
        if key >= self.first.len() {
            self.first.resize(key + 1, NONE);
        }
        let place = self.items.len() as u32;
        self.items.push((item, self.first[key]));
        self.first[key] = place;
    }

    /// Where the list of a key begins; to be passed to [`Self::get`].
    #[inline]
    pub(crate) fn start(&self, key: u32) -> u32 {
        self.first.get(key as usize).copied().unwrap_or(NONE)
    }

    /// The item at a place, and the next place.
    #[inline]
    pub(crate) fn get(&self, place: u32) -> Option<(u32, u32)> {
        self.items.get(place as usize).copied()
    }
}
