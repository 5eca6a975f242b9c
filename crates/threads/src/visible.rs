//! The steps of threads one at a time, for the abstraction of `droste_pds::concurrent::visible`; and
//! the visible states of a search.
//!
//! A *top* is a state without its shared globals, and whether others can move meanwhile. What is below
//! it is the state of the caller, as in [`Spaces::stacks`]. Three things are as in [`Spaces`], so
//! that visible states of the search and of the abstraction have the same names: a state that is
//! split is never a top, only its parts are; shared globals have values; and a thread that comes to
//! `end_thread` has ended at once.
//!
//! A top in which variables are unknown stands for all their values. The claim about visible states is
//! about those with values: if two levels of the search have the same tops, they have the same
//! visible states with values, too.

use droste_base::{CallId, Model, PropId, Step, Steps, StopReason};
use droste_pds::concurrent::visible::{Abstraction, EMPTY, Move, Moves, abstraction};
use droste_program::{NodeId, Op};
use droste_unfold::{ThreadControl, Words};

use crate::space::{ENDED, MOST, Saturation, Spaces, TOO_MANY, TOO_MANY_STATES, number};

/// Who can move while a state is on top.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    /// Every thread.
    Free = 0,
    /// The thread that is inside an atomic section.
    Atomic = 1,
    /// `init`.
    Init = 2,
}

/// The name of a top.
pub(super) fn top(rest: u32, kind: Kind) -> Result<u32, StopReason> {
    if rest >= 1 << 29 {
        return Err(TOO_MANY_STATES);
    }
    Ok(rest << 2 | kind as u32)
}

impl<W: Words> Spaces<'_, W> {
    /// What is seen of a context, state by state.
    pub(super) fn visible(
        &mut self,
        work: &Saturation<W>,
        init: Option<NodeId>,
    ) -> Result<Vec<(u32, u32, u32)>, StopReason> {
        let (mut all, mut values) = (Vec::new(), Vec::new());
        for &(_, state) in &work.order {
            if work.split.contains(&state) {
                continue;
            }
            let local = self.states.get(state).clone();
            let ThreadControl::At(node) = self.threading.control(&local.words) else {
                continue;
            };
            let kind = match (init, local.atomic) {
                (Some(_), _) => Kind::Init,
                (_, true) => Kind::Atomic,
                _ => Kind::Free,
            };
            let name = if init.is_none() && self.program.node(node).op == Op::EndThread {
                EMPTY
            } else {
                let rest = self.threading.rest(&local.words);
                top(number(&mut self.rests, rest)?, kind)?
            };
            values.clear();
            self.valued(self.threading.shared(&local.words), &mut values)?;
            for &globals in &values {
                all.push((globals, name, local.starts));
                if init == Some(node) {
                    all.push((globals, EMPTY, local.starts));
                }
            }
        }
        if init.is_none() {
            for (shared, starts) in &work.ended {
                values.clear();
                self.valued(shared.clone(), &mut values)?;
                all.extend(values.iter().map(|&globals| (globals, EMPTY, *starts)));
            }
        }
        all.sort_unstable_by_key(|&(globals, top, starts)| (globals, starts, top));
        all.dedup();
        Ok(all)
    }

    /// The tops of a parked set.
    pub(super) fn tops(&self, parked: u32) -> Result<Vec<u32>, StopReason> {
        let pairs = self.parked.get(parked);
        if pairs.is_empty() {
            return Ok(vec![EMPTY]);
        }
        let names = pairs.iter().map(|&pair| match pair {
            ENDED => Ok(EMPTY),
            (_, rest) => top(rest, Kind::Free),
        });
        let mut names: Vec<u32> = names.collect::<Result<_, _>>()?;
        names.dedup();
        Ok(names)
    }

    /// Explores the abstraction from these threads, each in one state. `None` if it is too large.
    pub(super) fn abstraction(
        &mut self,
        threads: &[u32],
        globals: u32,
        target: PropId,
        init: Option<NodeId>,
        most: usize,
    ) -> Result<Option<Abstraction>, StopReason> {
        let mut stacks = Vec::new();
        for (thread, &parked) in threads.iter().enumerate() {
            let kind = match init {
                Some(_) if thread == 0 => Kind::Init,
                _ => Kind::Free,
            };
            let mut tops = Vec::new();
            for &(_, rest) in self.parked.get(parked) {
                tops.push(top(rest, kind)?);
            }
            stacks.push(tops);
        }
        let mut guard = self.guard.limits().guard();
        let mut steps = Stepper {
            spaces: self,
            target,
            init,
            hit: false,
        };
        let found = abstraction(&mut steps, globals, &stacks, most, &mut guard)?;
        let hit = steps.hit;
        Ok(found.map(|found| Abstraction {
            hit: found.hit || hit,
            ..found
        }))
    }
}

struct Stepper<'s, 'a, W: Words> {
    spaces: &'s mut Spaces<'a, W>,
    target: PropId,
    init: Option<NodeId>,
    hit: bool,
}

/// The kind of a top, or of a result.
fn kind(top: u32) -> Kind {
    match top & 3 {
        0 => Kind::Free,
        1 => Kind::Atomic,
        _ => Kind::Init,
    }
}

impl<W: Words> Stepper<'_, '_, W> {
    /// Where control is, unless the run is over; whether the target is met there.
    fn control(&mut self, words: &W) -> Option<NodeId> {
        self.hit |= self.spaces.model.holds(words, self.target);
        match self.spaces.threading.control(words) {
            ThreadControl::At(node) => Some(node),
            ThreadControl::Failed(_) | ThreadControl::Exited => None,
        }
    }

    /// Whether a thread goes no further at this node, except for ending.
    fn ends(&self, node: NodeId, kind: Kind) -> bool {
        match kind {
            Kind::Init => self.init == Some(node),
            _ => self.spaces.program.node(node).op == Op::EndThread,
        }
    }

    /// The parts of a state, if it is split. Otherwise its steps.
    fn steps(
        &self,
        node: NodeId,
        words: &W,
        steps: &mut Steps<W>,
    ) -> Result<Option<Vec<W>>, StopReason> {
        steps.clear();
        let op = &self.spaces.program.node(node).op;
        let mut split = None;
        if let Op::StartThread { .. } = op {
            split = self.spaces.threading.open_local(words);
        }
        if split.is_none() {
            self.spaces.model.steps(words, steps);
            let found = steps.as_split();
            split = found.map(|split| (split.tag, split.count.saturating_sub(1)));
        }
        let Some((slot, last)) = split else {
            return if steps.overflowed() {
                Err(TOO_MANY)
            } else {
                Ok(None)
            };
        };
        if last >= MOST {
            return Err(TOO_MANY);
        }
        let parts = (0..=last).map(|index| self.spaces.model.refine(words, slot, index));
        Ok(Some(parts.collect()))
    }

    /// The shared globals and tops of a state that a thread comes to.
    fn arrive(
        &mut self,
        words: W,
        kind: Kind,
        out: &mut Vec<(u32, u32)>,
    ) -> Result<(), StopReason> {
        let mut steps = Steps::new();
        let mut work = vec![words];
        while let Some(words) = work.pop() {
            self.spaces.guard.check()?;
            let Some(node) = self.control(&words) else {
                continue;
            };
            let ends = self.ends(node, kind);
            if !ends && let Some(parts) = self.steps(node, &words, &mut steps)? {
                work.extend(parts);
                continue;
            }
            let name = if ends && kind != Kind::Init {
                EMPTY
            } else {
                let rest = self.spaces.threading.rest(&words);
                top(number(&mut self.spaces.rests, rest)?, kind)?
            };
            let shared = self.spaces.threading.shared(&words);
            let mut values = Vec::new();
            self.spaces.valued(shared, &mut values)?;
            out.extend(values.into_iter().map(|globals| (globals, name)));
        }
        Ok(())
    }

    /// One step.
    fn step(
        &mut self,
        (node, words, kind): (NodeId, &W, Kind),
        step: Step<W>,
        out: &mut Vec<Move>,
    ) -> Result<(), StopReason> {
        let op = &self.spaces.program.node(node).op;
        let kind = match (kind, op) {
            (Kind::Init, _) => Kind::Init,
            (_, Op::AtomicBegin(_)) => Kind::Atomic,
            (_, Op::AtomicEnd(_)) => Kind::Free,
            (kind, _) => kind,
        };
        let mut after = Vec::new();
        match step {
            Step::Internal(next) => {
                let mut started = None;
                if let Op::StartThread { start, .. } = op {
                    let frame = self.spaces.threading.move_to(words, *start);
                    let frame = self.spaces.threading.rest(&frame);
                    started = Some(top(number(&mut self.spaces.rests, frame)?, Kind::Free)?);
                }
                self.arrive(next, kind, &mut after)?;
                out.extend(after.into_iter().map(|(shared, top)| match started {
                    Some(started) => Move::Start {
                        shared,
                        top,
                        started,
                    },
                    None => Move::To(shared, top),
                }));
            }
            Step::Call(_, next) => {
                let below = self.spaces.caller(words)?;
                self.arrive(next, kind, &mut after)?;
                out.extend(after.into_iter().map(|(shared, top)| Move::Push {
                    shared,
                    top,
                    below,
                }));
            }
            Step::Exit(next) => {
                let exit = self.spaces.caller(&next)?;
                out.push(Move::Pop(top(exit, kind)?));
            }
        }
        Ok(())
    }
}

impl<W: Words> Moves for Stepper<'_, '_, W> {
    fn moves(&mut self, shared: u32, top: u32, out: &mut Vec<Move>) -> Result<(), StopReason> {
        let kind = kind(top);
        let rest = self.spaces.rests.get(top >> 2);
        let words = self
            .spaces
            .threading
            .join(rest, self.spaces.globals.get(shared));
        let Some(node) = self.control(&words) else {
            return Ok(());
        };
        if self.ends(node, kind) {
            let shared = self.spaces.threading.shared(&words);
            let mut after = Vec::new();
            self.spaces.valued(shared, &mut after)?;
            out.extend(after.into_iter().map(|shared| Move::To(shared, EMPTY)));
            return Ok(());
        }
        let mut steps = Steps::new();
        if let Some(parts) = self.steps(node, &words, &mut steps)? {
            let mut after = Vec::new();
            for part in parts {
                self.arrive(part, kind, &mut after)?;
            }
            out.extend(after.into_iter().map(|(shared, top)| Move::To(shared, top)));
            return Ok(());
        }
        let items: Vec<Step<W>> = steps.drain().collect();
        for step in items {
            self.step((node, &words, kind), step, out)?;
        }
        Ok(())
    }

    fn resume(
        &mut self,
        below: u32,
        result: u32,
        out: &mut Vec<(u32, u32)>,
    ) -> Result<(), StopReason> {
        let caller = &self.spaces.states.get(below).words;
        let exit = &self.spaces.states.get(result >> 2).words;
        let mut after = Vec::new();
        if !self
            .spaces
            .model
            .resume(caller, CallId(0), exit, &mut after)
        {
            return Err(TOO_MANY);
        }
        for words in after {
            self.arrive(words, kind(result), out)?;
        }
        Ok(())
    }

    /// If `init` returns, the threads never run.
    fn end(&mut self, result: u32, out: &mut Vec<u32>) -> Result<(), StopReason> {
        if kind(result) != Kind::Init {
            let exit = &self.spaces.states.get(result >> 2).words;
            let shared = self.spaces.threading.shared(exit);
            self.spaces.valued(shared, out)?;
        }
        Ok(())
    }

    fn alone(&self, top: u32) -> bool {
        kind(top) != Kind::Free
    }

    fn hit(&self, _: u32, _: &mut dyn Iterator<Item = u32>) -> bool {
        self.hit
    }
}
