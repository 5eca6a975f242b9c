//! From configurations that meet a target to the schedule of a run.
//!
//! The search goes backwards through the contexts. In each of them it follows the steps of the
//! active thread backwards, until it meets a configuration with which the context begins. An
//! earlier context has left this configuration. The first one that could leave it is taken, so that
//! there are no more switches than necessary.

use droste_bdd::{Bdd, Var};
use droste_blast::decode;
use droste_program::schedule::{Schedule, Start, Turn};
use droste_program::{Op, VarRef};
use droste_relations::{Action, Copy, Result};
use rustc_hash::FxHashMap;

use super::Product;
use super::places::{NOWHERE, Place};
use super::run::Goal;

/// One configuration: the value of every bit.
struct Configuration {
    set: Bdd,
    bits: Vec<bool>,
}

impl Configuration {
    fn code(&self, vars: impl Iterator<Item = Var>) -> u64 {
        vars.enumerate().fold(0, |code, (k, var)| {
            code | u64::from(self.bits[var.0 as usize]) << k
        })
    }
}

impl Product<'_, '_> {
    /// The schedule of a run in which the last context comes to this goal.
    pub(super) fn schedule(&mut self, place: u32, set: &Bdd) -> Result<Schedule> {
        let mut goals = vec![(place, set.clone())];
        let mut at = self.log.len() - 1;
        let mut contexts = Vec::new();
        loop {
            let begin = self.origin(at, goals)?;
            let is_first = !begin.set.and(&self.initial)?.is_false();
            let mut before = None;
            for earlier in 0..at {
                if before.is_none() && !is_first {
                    let met = self.log[earlier].parked.and(&begin.set)?;
                    before = (!met.is_false()).then_some(earlier);
                }
            }
            goals = match before {
                Some(earlier) => self.leaving(earlier, &begin.set)?,
                None => Vec::new(),
            };
            contexts.push((self.log[at].thread, begin));
            match before {
                Some(earlier) => at = earlier,
                None => break,
            }
        }
        contexts.reverse();
        Ok(self.turns(&contexts))
    }

    /// The configurations of a context in which it is left with these.
    fn leaving(&mut self, at: usize, set: &Bdd) -> Result<Vec<Goal>> {
        let thread = self.log[at].thread;
        let mut goals = self.by_place(thread, set)?;
        if !goals.is_empty() {
            return Ok(goals);
        }
        // The thread has ended, or is `init`.
        let mut gone = self.threads[thread].control.clone();
        gone.extend(
            self.prepared
                .atomic
                .iter()
                .flat_map(|&i| self.global_bits(i)),
        );
        let places: Vec<u32> = self.log[at].new.keys().copied().collect();
        for id in places {
            let place: Place = *self.threads[thread].places.get(id);
            let ends = match self.program().node(place.node).op {
                Op::EndThread => true,
                Op::Return(_) => place.below.is_none(),
                _ => false,
            };
            let is_last = if self.is_init(thread) {
                self.ends_init(thread, place.node)
            } else {
                ends
            };
            if !is_last {
                continue;
            }
            let mut bits = gone.clone();
            bits.extend(self.open_locals(thread, place));
            let set = set.exists(&self.manager.cube(&bits)?)?;
            let mut set = set.and(&self.log[at].new[&id])?;
            if ends && !set.is_false() {
                let frame = self.threads[thread].frame + place.depth;
                if let Action::Return(parts) = &self.relation(frame, place.node)?.action {
                    for part in parts {
                        set = set.and(part)?;
                    }
                    set = set.exists(&self.results(place.node)?)?;
                }
            }
            goals.push((id, set));
        }
        Ok(goals)
    }

    /// A configuration with which a context begins and from which it comes to one of these goals.
    fn origin(&mut self, at: usize, goals: Vec<Goal>) -> Result<Configuration> {
        let thread = self.log[at].thread;
        let start = self.log[at].start.clone();
        let seeds: FxHashMap<u32, Bdd> = self.by_place(thread, &start)?.into_iter().collect();
        let new = self.log[at].new.clone();
        let mut from: FxHashMap<u32, Vec<u32>> = FxHashMap::default();
        let mut places: Vec<u32> = new.keys().copied().collect();
        places.sort_unstable();
        for place in places {
            let places = &self.threads[thread].places;
            for to in places.known_successors(self.program(), place) {
                from.entry(to).or_default().push(place);
            }
        }
        let mut known: FxHashMap<u32, Bdd> = FxHashMap::default();
        let mut work: std::collections::VecDeque<Goal> = goals.into();
        while let Some((place, set)) = work.pop_front() {
            if let Some(seed) = seeds.get(&place) {
                let met = set.and(seed)?;
                if !met.is_false() {
                    let met = met.and(&self.is_at(thread, place)?)?;
                    return self.pick(&met);
                }
            }
            for &earlier in from.get(&place).into_iter().flatten() {
                let before = self.before(thread, earlier, place, &set)?;
                let mut before = before.and(&new[&earlier])?;
                if let Some(known) = known.get(&earlier) {
                    before = before.minus(known)?;
                }
                if before.is_false() {
                    continue;
                }
                let known = known.entry(earlier).or_insert_with(|| self.nothing.clone());
                *known = known.or(&before)?;
                work.push_back((earlier, before));
            }
        }
        // There is always one; a schedule that is none would be noticed when it is rebuilt.
        self.pick(&start)
    }

    /// One of the configurations.
    fn pick(&self, set: &Bdd) -> Result<Configuration> {
        let mut bits = vec![false; self.manager.var_count() as usize];
        let vars = set.support();
        if let Some(values) = set.pick(&vars) {
            for (var, value) in vars.iter().zip(values) {
                bits[var.0 as usize] = value;
            }
        }
        let mut all: Vec<Var> = (0..self.program().globals.len() as u32)
            .flat_map(|i| self.global_bits(i))
            .collect();
        for thread in &self.threads {
            all.extend(&thread.control);
        }
        for frame in &self.frames {
            all.extend(frame.current_locals.vars());
        }
        let literals = all.into_iter().map(|var| (var, bits[var.0 as usize]));
        Ok(Configuration {
            set: self.manager.minterm(literals)?,
            bits,
        })
    }

    /// The configurations at `from` from which a step leads to these at `to`.
    fn before(&mut self, thread: usize, from: u32, to: u32, set: &Bdd) -> Result<Bdd> {
        let set = set.exists(&self.dead_at(thread, to)?)?;
        let place = *self.threads[thread].places.get(from);
        let target = *self.threads[thread].places.get(to);
        let frame = self.threads[thread].frame + place.depth;
        match self.program().node(place.node).op {
            Op::Call { .. } => {
                let enter = self.enter(frame, place.node)?;
                let mut set = set.exists(&self.dead_below(frame, place.node)?)?;
                for part in &enter.parts {
                    set = set.and(part)?;
                }
                set.exists(&self.frames[frame + 1].current_locals)
            }
            Op::Return(_) => {
                let Some(below) = place.below else {
                    return Ok(self.nothing.clone());
                };
                let call = self.threads[thread].places.get(below).node;
                let back = self.back(frame - 1, call)?;
                // A configuration has values for all bits, also for the locals of calls that are over.
                let set = set.exists(&self.frames[frame].current_locals)?;
                let mut set = back.edge.before(&self.frames[frame - 1], &set)?;
                if let Action::Return(parts) = &self.relation(frame, place.node)?.action {
                    for part in parts {
                        set = set.and(part)?;
                    }
                }
                set.exists(&self.results(place.node)?)
            }
            Op::StartThread { start, .. } => {
                let mut found = self.nothing.clone();
                for slot in 0..self.prepared.slots {
                    if let Some(begin) = self.started(frame, place.node, start, slot)? {
                        let before = set.and(&begin.after)?.exists(&begin.gone)?;
                        found = found.or(&before.and(&begin.before)?)?;
                    }
                }
                if self.prepared.slots < self.question.most_started {
                    found = found.or(&set)?;
                }
                Ok(found)
            }
            _ => {
                let relation = self.relation(frame, place.node)?;
                let Action::Steps(edges) = &relation.action else {
                    return Ok(self.nothing.clone());
                };
                let mut found = self.nothing.clone();
                for edge in edges.iter().filter(|edge| edge.to == target.node) {
                    found = found.or(&edge.before(&self.frames[frame], &set)?)?;
                }
                Ok(found)
            }
        }
    }

    /// The contexts of a run, with the configurations in which they begin.
    fn turns(&self, contexts: &[(usize, Configuration)]) -> Schedule {
        let declared = self.question.declared.len();
        let mut active: Vec<usize> = contexts.iter().map(|(thread, _)| *thread).collect();
        active.retain(|&thread| thread >= declared);
        active.sort_unstable();
        active.dedup();
        let count = |begin: &Configuration| match self.prepared.started {
            Some(global) => begin.code(self.global_bits(global).into_iter()) as usize,
            None => 0,
        };
        let mut turns = Vec::new();
        for (context, (thread, begin)) in contexts.iter().enumerate() {
            let mut starts = Vec::new();
            if let Some((_, end)) = contexts.get(context + 1) {
                for slot in count(begin)..count(end) {
                    if active.contains(&(declared + slot)) {
                        starts.push(self.start(declared + slot, end));
                    }
                }
            }
            let originals = self.question.program.globals.iter().zip(0..);
            let globals = originals.map(|(variable, i)| {
                let shared = self.prepared.shared.contains(&i);
                (context > 0 && shared)
                    .then(|| decode(variable.ty, begin.code(self.global_bits(i).into_iter())))
            });
            let renumbered = active.iter().position(|other| other == thread);
            turns.push(Turn {
                thread: renumbered.map_or(*thread, |number| declared + number),
                globals: globals.collect(),
                starts,
            });
        }
        Schedule { turns, stop: None }
    }

    /// A thread that has been started and has not been active.
    fn start(&self, thread: usize, configuration: &Configuration) -> Start {
        let Some(thread) = self.threads.get(thread) else {
            unreachable!("a thread")
        };
        let place = configuration.code(thread.control.iter().copied()) as u32;
        debug_assert_ne!(place, NOWHERE);
        let start = thread.places.get(place.max(1)).node;
        let procedure = self.program().node(start).procedure;
        let locals = self.program().procedure(procedure).locals.iter().zip(0..);
        let locals = locals.map(|(variable, i)| {
            let bits = self.frames[thread.frame].vars(procedure, VarRef::Local(i), Copy::Current);
            decode(variable.ty, configuration.code(bits))
        });
        Start {
            start,
            locals: locals.collect(),
        }
    }
}
