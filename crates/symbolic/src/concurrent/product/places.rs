//! Where a thread can be: a node, and the calls that are open below it.
//!
//! If procedures do not call themselves, all places are known from the start. They are numbered in
//! reverse postorder of the flow of control, calls and returns included. Otherwise there are two
//! ways. Places are numbered when they are met, up to a bound. Or they are *folded*: if a call is
//! made that is open already, the calls between the two are forgotten. A folded place stands for
//! all stacks with these detours, so there are finitely many places. A return goes on after any
//! call that was folded onto the one it returns from.

use droste_program::{NodeId, Op, Program};
use rustc_hash::{FxHashMap, FxHashSet};

/// A stack without its data.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Place {
    /// The call that is open below, if there is one.
    pub(super) below: Option<u32>,
    pub(super) node: NodeId,
    /// The number of open calls.
    pub(super) depth: usize,
}

/// In place of a number: the thread does not run. It has not been started, or has ended.
pub(super) const NOWHERE: u32 = 0;

/// The places of one thread, numbered from 1.
#[derive(Default)]
pub(super) struct Places {
    list: Vec<Place>,
    ids: FxHashMap<(Option<u32>, NodeId), u32>,
    bounds: Bounds,
    /// The calls that are folded, by the call that stands for them.
    folded: FxHashMap<u32, Vec<u32>>,
}

/// Which places there are.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Bounds {
    /// The most places.
    pub(super) places: usize,
    /// The most open calls.
    pub(super) calls: usize,
    /// Whether a call that is open already is folded.
    pub(super) folding: bool,
}

impl Places {
    /// The places of a thread that begins at one of `roots`. Whether these are all.
    pub(super) fn new(program: &Program, roots: &[NodeId], bounds: Bounds) -> (Self, bool) {
        let empty = || Places {
            bounds,
            ..Places::default()
        };
        let mut met = empty();
        let mut order = Vec::new();
        if !met.walk(program, roots, &mut order) {
            let mut places = empty();
            for &root in roots {
                places.number(None, root);
            }
            return (places, false);
        }
        // Again in the order of the flow of control: a call comes before what it leads to.
        let mut places = empty();
        let mut renumbered: FxHashMap<u32, u32> = FxHashMap::default();
        for id in order.into_iter().rev() {
            let Place { below, node, .. } = *met.get(id);
            let below = below.map(|below| renumbered[&below]);
            if let Some(new) = places.number(below, node) {
                renumbered.insert(id, new);
            }
        }
        for id in 1..=places.list.len() as u32 {
            let base = places.base(id);
            let is_call = matches!(program.node(places.get(id).node).op, Op::Call { .. });
            if is_call && base != id {
                places.folded.entry(base).or_default().push(id);
            }
        }
        (places, true)
    }

    /// The call that stands for a call: itself, or one below it that is folded.
    pub(super) fn base(&self, call: u32) -> u32 {
        let Place {
            node, mut below, ..
        } = *self.get(call);
        while let Some(id) = below.filter(|_| self.bounds.folding) {
            let place = self.get(id);
            if place.node == node {
                return id;
            }
            below = place.below;
        }
        call
    }

    /// The calls that a return from above `call` may go back to.
    pub(super) fn returns(&self, call: u32) -> Vec<u32> {
        let mut calls = vec![call];
        calls.extend(self.folded.get(&call).into_iter().flatten());
        calls
    }

    /// All places in postorder, with a stack of its own; whether there are few enough.
    fn walk(&mut self, program: &Program, roots: &[NodeId], order: &mut Vec<u32>) -> bool {
        let mut seen: FxHashSet<u32> = FxHashSet::default();
        let mut stack: Vec<(u32, Vec<u32>)> = Vec::new();
        for &root in roots {
            let mut enter = self.number(None, root);
            if enter.is_none() {
                return false;
            }
            loop {
                if let Some(id) = enter.take().filter(|id| seen.insert(*id)) {
                    let Some(next) = self.successors(program, id) else {
                        return false;
                    };
                    stack.push((id, next));
                }
                let Some((id, next)) = stack.last_mut() else {
                    break;
                };
                if let Some(to) = next.pop() {
                    enter = Some(to);
                } else {
                    order.push(*id);
                    stack.pop();
                }
            }
        }
        true
    }

    /// Where control can go from a place; `None` if there are too many places. After a call comes
    /// what the callee does, and then what follows the call.
    fn successors(&mut self, program: &Program, id: u32) -> Option<Vec<u32>> {
        let next = self.next(program, id);
        let numbers = next.into_iter();
        numbers
            .map(|(below, node)| self.number(below, node))
            .collect()
    }

    /// Where control can go from a place, as far as the places are known.
    pub(super) fn known_successors(&self, program: &Program, id: u32) -> Vec<u32> {
        let next = self.next(program, id).into_iter();
        next.filter_map(|place| self.ids.get(&place).copied())
            .collect()
    }

    /// The calls that are open, and the nodes, to which control can go from a place.
    fn next(&self, program: &Program, id: u32) -> Vec<(Option<u32>, NodeId)> {
        let Place { below, node, .. } = *self.get(id);
        let mut next = Vec::new();
        match &program.node(node).op {
            op @ Op::Call { callee, .. } => {
                next.push((Some(self.base(id)), program.procedure(*callee).entry));
                if self.bounds.folding {
                    op.for_each_next(|to| next.push((below, to)));
                }
            }
            Op::Return(_) => {
                if let Some(call) = below {
                    let Place { below, node, .. } = *self.get(call);
                    let op = &program.node(node).op;
                    op.for_each_next(|to| next.push((below, to)));
                }
            }
            // The new thread is another one.
            Op::StartThread { next: to, .. } => next.push((below, *to)),
            op => op.for_each_next(|to| next.push((below, to))),
        }
        next
    }

    /// The number of a place; `None` if there are too many.
    pub(super) fn number(&mut self, below: Option<u32>, node: NodeId) -> Option<u32> {
        if let Some(&id) = self.ids.get(&(below, node)) {
            return Some(id);
        }
        let depth = below.map_or(0, |below| self.get(below).depth + 1);
        if depth > self.bounds.calls || self.list.len() >= self.bounds.places {
            return None;
        }
        self.list.push(Place { below, node, depth });
        let id = self.list.len() as u32;
        self.ids.insert((below, node), id);
        Some(id)
    }

    pub(super) fn get(&self, id: u32) -> &Place {
        &self.list[id as usize - 1]
    }

    pub(super) fn len(&self) -> usize {
        self.list.len()
    }

    /// The most calls that are open at a place so far.
    pub(super) fn depth(&self) -> usize {
        self.list.iter().map(|place| place.depth).max().unwrap_or(0)
    }
}
