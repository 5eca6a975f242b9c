//! What the steps of a thread are made of: the relations for each of its frames, and the sets of
//! locals that are forgotten at a node. Each is made when it is first needed, and kept.

use std::rc::Rc;

use droste_bdd::{Bdd, Cube, Var};
use droste_program::liveness::AllLive;
use droste_program::{NodeId, VarRef};
use droste_relations::compile::{Back, Enter};
use droste_relations::{Compiler, Copy, Relation, Result};

use super::Product;
use super::places::{NOWHERE, Place};

/// The start of a thread: what is so before it, what is so after it, and what it changes.
pub(super) struct Begin {
    pub(super) before: Bdd,
    pub(super) after: Bdd,
    pub(super) gone: Cube,
}

impl<'a> Product<'a, '_> {
    /// The locals of the topmost frame that do not matter at a place.
    pub(super) fn dead_at(&mut self, thread: usize, place: u32) -> Result<Cube> {
        let Place { node, depth, .. } = *self.threads[thread].places.get(place);
        let frame = self.threads[thread].frame + depth;
        if let Some(dead) = self.dead.get(&(frame, node)) {
            return Ok(dead.clone());
        }
        let dead = self.locals(frame, node, |local| !self.live.at(node, local))?;
        self.dead.insert((frame, node), dead.clone());
        Ok(dead)
    }

    /// The locals of a frame that do not matter any more when the call at the node has been made.
    pub(super) fn dead_below(&mut self, frame: usize, node: NodeId) -> Result<Cube> {
        if let Some(dead) = self.dead_below.get(&(frame, node)) {
            return Ok(dead.clone());
        }
        let dead = self.locals(frame, node, |local| !self.live.below(node, local))?;
        self.dead_below.insert((frame, node), dead.clone());
        Ok(dead)
    }

    /// Some locals of a frame of the node's procedure.
    fn locals(&self, frame: usize, node: NodeId, which: impl Fn(u32) -> bool) -> Result<Cube> {
        let procedure = self.program().node(node).procedure;
        let count = self.program().procedure(procedure).locals.len() as u32;
        let bits: Vec<Var> = (0..count)
            .filter(|&local| which(local))
            .flat_map(|local| {
                self.frames[frame].vars(procedure, VarRef::Local(local), Copy::Current)
            })
            .collect();
        self.manager.cube(&bits)
    }

    /// The bits of the results of a node's procedure.
    pub(super) fn results(&self, node: NodeId) -> Result<Cube> {
        let procedure = self.program().node(node).procedure;
        let count = self.program().procedure(procedure).results.len();
        let bits: Vec<Var> = (0..count)
            .flat_map(|i| self.frames[0].result_vars(procedure, i))
            .collect();
        self.manager.cube(&bits)
    }

    /// Configurations without the frame of the thread, which runs no more.
    pub(super) fn left(&self, thread: usize, place: Place, set: &Bdd) -> Result<Bdd> {
        let mut gone = self.open_locals(thread, place);
        let mut state = self.is_at(thread, NOWHERE)?;
        if let Some(atomic) = self.prepared.atomic {
            gone.extend(self.global_bits(atomic));
            state = state.and(&self.current_is(atomic, 0)?)?;
        }
        set.exists(&self.manager.cube(&gone)?)?.and(&state)
    }

    /// The bits of all locals of the thread at a place.
    pub(super) fn open_locals(&self, thread: usize, place: Place) -> Vec<Var> {
        let mut gone = Vec::new();
        let mut at = Some(place);
        while let Some(place) = at {
            let frame = self.threads[thread].frame + place.depth;
            gone.extend(self.frames[frame].current_locals.vars());
            at = place
                .below
                .map(|below| *self.threads[thread].places.get(below));
        }
        gone
    }

    /// A call that is folded onto `base`: the callee's frame, which is number `inner`, becomes the
    /// one above `base`, and those in between are forgotten.
    pub(super) fn fold(&self, thread: usize, base: u32, inner: usize, set: &Bdd) -> Result<Bdd> {
        let thread = &self.threads[thread];
        let outer = thread.frame + thread.places.get(base).depth + 1;
        let between = self.frames[outer..inner].iter();
        let gone: Vec<Var> = between.flat_map(|f| f.current_locals.vars()).collect();
        let from = self.frames[inner].current_locals.vars();
        let to = self.frames[outer].current_locals.vars();
        let pairs: Vec<(Var, Var)> = from.into_iter().zip(to).collect();
        let set = set.exists(&self.manager.cube(&gone)?)?;
        set.rename(&self.manager.renaming(&pairs))
    }

    /// The frames above `base` up to that of a call that was folded onto it have some values.
    pub(super) fn forgotten(&mut self, thread: usize, base: u32, call: u32) -> Result<Bdd> {
        if let Some(any) = self.forgotten.get(&(thread, call)) {
            return Ok(any.clone());
        }
        let mut any = self.manager.constant(true);
        let mut at = call;
        while at != base {
            let Place { below, node, depth } = *self.threads[thread].places.get(at);
            let frame = self.threads[thread].frame + depth;
            let procedure = self.program().node(node).procedure;
            for i in 0..self.program().procedure(procedure).locals.len() as u32 {
                let local = VarRef::Local(i);
                any = any.and(&self.frames[frame].in_range(procedure, local, Copy::Current)?)?;
            }
            at = below.unwrap_or(base);
        }
        self.forgotten.insert((thread, call), any.clone());
        Ok(any)
    }

    /// What it takes that the thread started at `node` is the one in `slot`; `None` if there are
    /// too many places.
    pub(super) fn started(
        &mut self,
        frame: usize,
        node: NodeId,
        start: NodeId,
        slot: usize,
    ) -> Result<Option<Begin>> {
        let Some(started) = self.prepared.started else {
            return Ok(None);
        };
        let thread = self.question.declared.len() + slot;
        let place = self.begin(thread, start);
        if place == NOWHERE {
            return Ok(None);
        }
        let procedure = self.program().node(node).procedure;
        let inner = self.threads[thread].frame;
        let mut after = self
            .current_is(started, slot as u64 + 1)?
            .and(&self.is_at(thread, place)?)?;
        let mut frame_bits = Vec::new();
        for i in 0..self.program().procedure(procedure).locals.len() as u32 {
            let local = VarRef::Local(i);
            let from = self.frames[frame].vars(procedure, local, Copy::Current);
            let to = self.frames[inner].vars(procedure, local, Copy::Current);
            for (from, to) in from.zip(to) {
                after = after.and(&self.manager.var(from)?.iff(&self.manager.var(to)?)?)?;
                frame_bits.push(to);
            }
        }
        let mut gone = self.global_bits(started);
        gone.extend(&self.threads[thread].control);
        let before = self
            .current_is(started, slot as u64)?
            .and(&self.is_at(thread, NOWHERE)?)?;
        gone.extend(frame_bits);
        Ok(Some(Begin {
            before,
            after,
            gone: self.manager.cube(&gone)?,
        }))
    }

    pub(super) fn relation(&mut self, frame: usize, node: NodeId) -> Result<Rc<Relation>> {
        if let Some(relation) = self.relations.get(&(frame, node)) {
            return Ok(Rc::clone(relation));
        }
        let relation = Rc::new(self.compiler(frame).relation(node)?);
        self.relations.insert((frame, node), Rc::clone(&relation));
        Ok(relation)
    }

    fn compiler(&mut self, frame: usize) -> Compiler<'a, '_> {
        Compiler {
            encoding: &mut self.frames[frame],
            effects: &self.effects,
            violations: self.question.query.violations,
            stops: false,
            live: &AllLive,
        }
    }

    /// The call at a node, from a frame into the one above it.
    pub(super) fn enter(&mut self, frame: usize, node: NodeId) -> Result<Rc<Enter>> {
        if let Some(enter) = self.enters.get(&(frame, node)) {
            return Ok(Rc::clone(enter));
        }
        let (outer, inner) = self.frames.split_at_mut(frame + 1);
        let mut compiler = Compiler {
            encoding: &mut outer[frame],
            effects: &self.effects,
            violations: self.question.query.violations,
            stops: false,
            live: &AllLive,
        };
        let enter = Rc::new(compiler.enter(node, &mut inner[0])?);
        self.enters.insert((frame, node), Rc::clone(&enter));
        Ok(enter)
    }

    /// The return to a call at a node, into the caller's frame.
    pub(super) fn back(&mut self, frame: usize, node: NodeId) -> Result<Rc<Back>> {
        if let Some(back) = self.backs.get(&(frame, node)) {
            return Ok(Rc::clone(back));
        }
        let back = Rc::new(self.compiler(frame).store(node)?);
        self.backs.insert((frame, node), Rc::clone(&back));
        Ok(back)
    }
}
