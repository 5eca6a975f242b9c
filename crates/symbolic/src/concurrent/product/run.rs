//! One thread in one context: the sets of configurations at its places.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use droste_bdd::Bdd;
use droste_program::{NodeId, Op, Threads};
use droste_relations::{Action, Result};
use rustc_hash::FxHashMap;

use super::places::{NOWHERE, Place};
use super::{Activation, Product, Stacks};

/// What is known while the thread is active.
#[derive(Default)]
pub(super) struct Work {
    /// Configurations that have not been propagated, by place; and those of them that come from a
    /// step which is not quiet.
    pending: FxHashMap<u32, (Bdd, Option<Bdd>)>,
    queue: BinaryHeap<Reverse<u32>>,
    /// Where the thread can be interrupted: sets with its place.
    parked: Vec<Bdd>,
}

/// A place at which a target is met, and with which configurations.
pub(super) type Goal = (u32, Bdd);

impl Product<'_, '_> {
    /// Whether the thread is `init`.
    pub(super) fn is_init(&self, thread: usize) -> bool {
        thread == 0 && matches!(self.program().threads, Threads::Init { .. })
    }

    /// `init` hands over here.
    pub(super) fn ends_init(&self, thread: usize, node: NodeId) -> bool {
        thread == 0
            && matches!(self.program().threads, Threads::Init { end_init, .. } if end_init == node)
    }

    /// The thread is active, beginning with these configurations; where it meets a target, if it
    /// does.
    pub(super) fn activate(&mut self, thread: usize, start: &Bdd) -> Result<Option<Goal>> {
        self.tell();
        self.log.push(Activation {
            thread,
            start: start.clone(),
            parked: self.nothing.clone(),
            new: FxHashMap::default(),
        });
        let mut work = Work::default();
        let mut goal = None;
        for (place, set) in self.by_place(thread, start)? {
            if goal.is_none() {
                goal = self.add(&mut work, thread, place, &set, true)?;
            }
        }
        while goal.is_none()
            && let Some(Reverse(place)) = work.queue.pop()
        {
            goal = self.expand(&mut work, thread, place)?;
            if self.deep && !matches!(self.stacks, Stacks::Cut(_, Some(_))) {
                return Ok(None);
            }
            self.take_turns()?;
            if self.found.is_some() {
                return Ok(None);
            }
        }
        if goal.is_some() {
            return Ok(goal);
        }
        let parked = self.union(work.parked)?;
        let visited = &mut self.threads[thread].visited;
        *visited = visited.or(start)?.or(&parked)?;
        if let Some(activation) = self.log.last_mut() {
            activation.parked = parked;
        }
        Ok(None)
    }

    /// The union, small sets first.
    fn union(&self, mut sets: Vec<Bdd>) -> Result<Bdd> {
        while sets.len() > 1 {
            let mut halves = Vec::with_capacity(sets.len().div_ceil(2));
            for pair in sets.chunks(2) {
                halves.push(match pair {
                    [a, b] => a.or(b)?,
                    _ => pair[0].clone(),
                });
            }
            sets = halves;
        }
        Ok(sets.pop().unwrap_or_else(|| self.nothing.clone()))
    }

    /// Configurations by the place of a thread, without that place.
    pub(super) fn by_place(&self, thread: usize, set: &Bdd) -> Result<Vec<(u32, Bdd)>> {
        let control = &self.threads[thread].control;
        let mut parts = vec![(NOWHERE, set.clone())];
        for (k, &var) in control.iter().enumerate() {
            let bit = self.manager.var(var)?;
            let cube = self.manager.cube(&[var])?;
            let mut finer = Vec::new();
            for (place, set) in parts {
                for (value, bit) in [(0, bit.not()), (1, bit.clone())] {
                    let part = set.and_exists(&bit, &cube)?;
                    if !part.is_false() {
                        finer.push((place | value << k, part));
                    }
                }
            }
            parts = finer;
        }
        parts.retain(|&(place, _)| place != NOWHERE);
        Ok(parts)
    }

    /// Configurations at a place; whether a target is met. `is_quiet` says that other threads cannot
    /// notice the step that leads there.
    fn add(
        &mut self,
        work: &mut Work,
        thread: usize,
        place: u32,
        set: &Bdd,
        is_quiet: bool,
    ) -> Result<Option<Goal>> {
        if set.is_false() {
            return Ok(None);
        }
        let node = self.threads[thread].places.get(place).node;
        if self.is_target[node.0 as usize] {
            return Ok(Some((place, set.clone())));
        }
        let heard = (!is_quiet).then(|| set.clone());
        if let Some((all, known)) = work.pending.get_mut(&place) {
            *all = all.or(set)?;
            *known = match (known.take(), heard) {
                (Some(a), Some(b)) => Some(a.or(&b)?),
                (a, b) => a.or(b),
            };
        } else {
            work.pending.insert(place, (set.clone(), heard));
            work.queue.push(Reverse(place));
        }
        Ok(None)
    }

    /// Configurations that a step gives, at a node above `below`; whether a target is met.
    fn arrive(
        &mut self,
        work: &mut Work,
        thread: usize,
        (below, node): (Option<u32>, NodeId),
        set: &Bdd,
        is_quiet: bool,
    ) -> Result<Option<Goal>> {
        if set.is_false() {
            return Ok(None);
        }
        let Some(place) = self.threads[thread].places.number(below, node) else {
            self.deep = true;
            return Ok(None);
        };
        let dead = self.dead_at(thread, place)?;
        let set = set.exists(&dead)?;
        self.add(work, thread, place, &set, is_quiet)
    }

    fn expand(&mut self, work: &mut Work, thread: usize, id: u32) -> Result<Option<Goal>> {
        let Some((all, heard)) = work.pending.remove(&id) else {
            return Ok(None);
        };
        let known = self.threads[thread].reached.get(&id);
        let (new, reached) = match known {
            Some(known) => (all.minus(known)?, known.or(&all)?),
            None => (all.clone(), all.clone()),
        };
        if new.is_false() {
            return Ok(None);
        }
        self.threads[thread].reached.insert(id, reached);
        if let Some(activation) = self.log.last_mut() {
            let met = match activation.new.get(&id) {
                Some(met) => met.or(&new)?,
                None => new.clone(),
            };
            activation.new.insert(id, met);
        }
        let place = *self.threads[thread].places.get(id);
        if self.ends_init(thread, place.node) {
            let left = self.left(thread, place, &new)?;
            work.parked.push(left);
            return Ok(None);
        }
        if let Some(heard) = heard
            && !self.is_init(thread)
        {
            let mut parked = self.is_at(thread, id)?;
            if let Some(atomic) = self.prepared.atomic {
                parked = parked.and(&self.current_is(atomic, 0)?)?;
            }
            parked = new.and(&parked)?;
            if heard != all {
                parked = parked.and(&heard)?;
            }
            work.parked.push(parked);
        }
        if self.images.is_multiple_of(64) {
            self.tell();
        }
        let frame = self.threads[thread].frame + place.depth;
        let is_quiet = self.is_quiet(thread, place.node);
        match self.program().node(place.node).op {
            Op::Call { callee, .. } => {
                let entry = self.program().procedure(callee).entry;
                let places = &mut self.threads[thread].places;
                let base = places.base(id);
                if places.number(Some(base), entry).is_none() {
                    self.deep = true;
                    return Ok(None);
                }
                let enter = self.enter(frame, place.node)?;
                for (_, failure) in &enter.failures {
                    let failing = new.and(failure)?;
                    if !failing.is_false() {
                        return Ok(Some((id, failing)));
                    }
                }
                self.images += 1;
                let mut set = new;
                for part in &enter.parts {
                    set = set.and(part)?;
                }
                let mut set = set.exists(&self.dead_below(frame, place.node)?)?;
                if base != id {
                    set = self.fold(thread, base, frame + 1, &set)?;
                }
                self.arrive(work, thread, (Some(base), entry), &set, is_quiet)
            }
            Op::Return(_) => self.leave(work, thread, id, &new),
            _ => self.step(work, thread, id, &new),
        }
    }

    /// A step within a procedure.
    fn step(&mut self, work: &mut Work, thread: usize, id: u32, new: &Bdd) -> Result<Option<Goal>> {
        let place = *self.threads[thread].places.get(id);
        let frame = self.threads[thread].frame + place.depth;
        let relation = self.relation(frame, place.node)?;
        for (_, failure) in &relation.failures {
            let failing = new.and(failure)?;
            if !failing.is_false() {
                return Ok(Some((id, failing)));
            }
        }
        let is_quiet = self.is_quiet(thread, place.node);
        if matches!(self.program().node(place.node).op, Op::EndThread) {
            self.end(work, thread, place, new, is_quiet)?;
            return Ok(None);
        }
        let mut sets = Vec::new();
        if let Op::StartThread { start, .. } = self.program().node(place.node).op {
            for slot in 0..self.prepared.slots {
                if let Some(begin) = self.started(frame, place.node, start, slot)? {
                    let set = new
                        .and_exists(&begin.before, &begin.gone)?
                        .and(&begin.after)?;
                    sets.push(set);
                }
            }
            if self.prepared.slots < self.question.most_started {
                sets.push(new.clone());
            }
        } else {
            sets.push(new.clone());
        }
        let Action::Steps(edges) = &relation.action else {
            return Ok(None);
        };
        for set in sets {
            for edge in edges {
                self.images += 1;
                let image = edge.image(&set)?;
                let to = (place.below, edge.to);
                let goal = self.arrive(work, thread, to, &image, is_quiet)?;
                if goal.is_some() {
                    return Ok(goal);
                }
            }
        }
        Ok(None)
    }

    /// A return: into the caller, or the end of the thread.
    fn leave(
        &mut self,
        work: &mut Work,
        thread: usize,
        id: u32,
        new: &Bdd,
    ) -> Result<Option<Goal>> {
        let place = *self.threads[thread].places.get(id);
        let frame = self.threads[thread].frame + place.depth;
        let relation = self.relation(frame, place.node)?;
        for (_, failure) in &relation.failures {
            let failing = new.and(failure)?;
            if !failing.is_false() {
                return Ok(Some((id, failing)));
            }
        }
        self.images += 1;
        let mut set = new.clone();
        if let Action::Return(parts) = &relation.action {
            for part in parts {
                set = set.and(part)?;
            }
        }
        let is_quiet = self.is_quiet(thread, place.node);
        let Some(below) = place.below else {
            let results = self.results(place.node)?;
            let set = set.exists(&results)?;
            self.end(work, thread, place, &set, is_quiet)?;
            return Ok(None);
        };
        for id_of_call in self.threads[thread].places.returns(below) {
            let call = *self.threads[thread].places.get(id_of_call);
            let caller = self.threads[thread].frame + call.depth;
            let mut set = set.clone();
            if id_of_call != below {
                set = set.exists(&self.frames[frame].current_locals)?;
                set = set.and(&self.forgotten(thread, below, id_of_call)?)?;
            }
            let back = self.back(caller, call.node)?;
            for (_, failure) in &back.failures {
                let failing = set.and(failure)?;
                if !failing.is_false() {
                    let results = self.manager.cube(&back.results)?;
                    return Ok(Some((id, failing.exists(&results)?)));
                }
            }
            if id_of_call == below {
                set = set.exists(&self.frames[frame].current_locals)?;
            }
            let image = back.edge.image(&set)?;
            let is_quiet = is_quiet && self.is_quiet(thread, call.node);
            let to = (call.below, back.edge.to);
            let goal = self.arrive(work, thread, to, &image, is_quiet)?;
            if goal.is_some() {
                return Ok(goal);
            }
        }
        Ok(None)
    }

    /// The thread ends. An atomic section ends with it, so that others can go on.
    fn end(
        &mut self,
        work: &mut Work,
        thread: usize,
        place: Place,
        set: &Bdd,
        is_quiet: bool,
    ) -> Result<()> {
        if !self.is_init(thread) && (!is_quiet || self.prepared.atomic.is_some()) {
            let left = self.left(thread, place, set)?;
            work.parked.push(left);
        }
        Ok(())
    }
}
