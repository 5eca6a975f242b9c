//! One step of a packed state: what the operation of a node does, and the conditions on its
//! outcome.
//!
//! An operation that has to read a variable without a value does nothing but ask for it
//! ([`Needs`]). Why that is exact: see `machine`.

use droste_base::{CallId, Steps};
use droste_program::Violation;

use crate::ahead::NOT;
use crate::code::{Code, FALSE, Outcome, TRUE, convert, failures};
use crate::layout::{Field, Status};
use crate::machine::{Action, Goal, Machine, Needs, Store};
use crate::words::Words;

impl Machine {
    /// Executes the node a running state is at.
    #[inline]
    pub(crate) fn execute<W: Words>(
        &self,
        state: &W,
        goal: Option<Goal<'_>>,
        out: &mut Steps<W>,
    ) -> Result<(), Needs> {
        let now = state.words();
        let node = &self.nodes[self.layout.node(now) as usize];
        let ensure = node.ensure.as_ref();
        // A step that changes nothing.
        let step = |next: u32, out: &mut Steps<W>| -> Result<(), Needs> {
            if ensure.is_none() {
                out.step(self.arrive(state.clone(), next));
                return Ok(());
            }
            self.settle(
                state,
                state.clone(),
                [None, ensure],
                &|_| false,
                None,
                goal,
                out,
                |s, out| {
                    out.step(self.arrive(s, next));
                },
            )
        };
        match &node.action {
            Action::Goto(targets) => {
                for &target in targets {
                    step(target, out)?;
                }
            }
            Action::Branch { condition, yes, no } => {
                let set = Self::condition(condition, now)?;
                self.push_failures(state, set, out);
                if set & TRUE != 0 {
                    step(*yes, out)?;
                }
                if set & FALSE != 0 {
                    step(*no, out)?;
                }
            }
            Action::Assume { condition, next } => {
                let set = Self::condition(condition, now)?;
                self.push_failures(state, set, out);
                if set & TRUE != 0 {
                    step(*next, out)?;
                }
            }
            Action::Assert { condition, next } => {
                let set = Self::condition(condition, now)?;
                self.push_failures(state, set, out);
                if set & FALSE != 0 && self.failures {
                    out.step(self.fail(state, Violation::Assertion));
                }
                if set & TRUE != 0 {
                    step(*next, out)?;
                }
            }
            Action::Assign {
                stores,
                discards,
                constrain,
                next,
            } => {
                let mut post = state.clone();
                for store in stores {
                    if !self.store(state, store, post.words_mut(), out)? {
                        return Ok(());
                    }
                }
                for code in discards {
                    match code.eval(now, now) {
                        Outcome::Needs(slot) => return Err(Needs(slot)),
                        Outcome::Set(set) => {
                            self.push_failures(state, set, out);
                            if set & (TRUE | FALSE) == 0 {
                                return Ok(());
                            }
                        }
                        _ => {}
                    }
                }
                if constrain.is_none() && ensure.is_none() && goal.is_none() {
                    out.step(self.arrive(post, *next));
                    return Ok(());
                }
                if let Some(goal) = goal {
                    for (field, ..) in stores {
                        reach_goal(field, post.words_mut(), goal);
                    }
                }
                let conditions = [constrain.as_ref(), ensure];
                let changed = |slot| stores.iter().any(|(field, ..)| field.slot == slot);
                self.settle(
                    state,
                    post,
                    conditions,
                    &changed,
                    None,
                    goal,
                    out,
                    |post, out| {
                        out.step(self.arrive(post, *next));
                    },
                )?;
            }
            Action::Call {
                callee,
                before,
                args,
                ..
            } => {
                for field in before {
                    if field.get(now).is_none() {
                        return Err(Needs(field.slot));
                    }
                }
                let mut entry = state.clone();
                keep(entry.words_mut(), self.touched(*callee));
                for arg in args {
                    if !self.store(state, arg, entry.words_mut(), out)? {
                        return Ok(());
                    }
                }
                let first = self.entries[*callee as usize];
                let mut entry = self.arrive(entry, first);
                if self.ahead[first as usize] != NOT {
                    self.look_ahead(&mut entry, first);
                }
                out.call(CallId(0), entry);
            }
            Action::Return { reads, values } => {
                for field in reads {
                    if field.get(now).is_none() {
                        return Err(Needs(field.slot));
                    }
                }
                let mut exit = state.clone();
                keep(exit.words_mut(), &self.global_mask);
                for value in values {
                    if !self.store(state, value, exit.words_mut(), out)? {
                        return Ok(());
                    }
                }
                let words = exit.words_mut();
                self.layout.set_control(words, 0, Status::Exited);
                let procedure = node.procedure as usize;
                keep(words, &self.exit_masks[procedure * self.layout.words..]);
                out.exit(exit);
            }
            Action::Stuck => {}
        }
        Ok(())
    }

    /// Stores the outcome of `code`, evaluated in `now`, into `next`. False if there is none
    /// but failures, which are added to `out`.
    #[inline]
    fn store<W: Words>(
        &self,
        state: &W,
        &(field, ref code, movable): &Store,
        next: &mut [u64],
        out: &mut Steps<W>,
    ) -> Result<bool, Needs> {
        let now = state.words();
        match code.eval(now, now) {
            Outcome::Set(set) => {
                self.push_failures(state, set, out);
                match set & (TRUE | FALSE) {
                    0 => return Ok(false),
                    FALSE => field.set(next, Some(0)),
                    TRUE => field.set(next, Some(1)),
                    _ => field.set(next, None),
                }
            }
            Outcome::Int(value) => match convert(value, field.ty) {
                Ok(value) => field.set(next, Some(field.offset(value))),
                Err(violation) => {
                    if self.failures {
                        out.step(self.fail(state, violation));
                    }
                    return Ok(false);
                }
            },
            Outcome::Any => field.set(next, None),
            Outcome::Needs(_) if movable => field.set(next, None),
            Outcome::Needs(slot) | Outcome::NeedsNext(slot) => return Err(Needs(slot)),
        }
        Ok(true)
    }

    /// The outcomes of a condition.
    #[inline]
    fn condition(code: &Code, now: &[u64]) -> Result<u8, Needs> {
        match code.eval(now, now) {
            Outcome::Set(set) => Ok(set),
            Outcome::Needs(slot) | Outcome::NeedsNext(slot) => Err(Needs(slot)),
            Outcome::Int(_) | Outcome::Any => unreachable!("a condition is Boolean"),
        }
    }

    /// Gives `emit` every way to complete `post` as far as the conditions need it and they can
    /// be true; failures of a condition go to `out`.
    ///
    /// A variable that the step may have given a new value (`changed`), if that is needed, gets
    /// every value in turn. One that it does not change is reported, so that the state before is
    /// split. After a return to a call followed by the node `after_return`, a failure remembers the
    /// values it came with.
    #[expect(clippy::too_many_arguments, reason = "private, three call sites")]
    pub(crate) fn settle<W: Words>(
        &self,
        now: &W,
        post: W,
        conditions: [Option<&Code>; 2],
        changed: &dyn Fn(u32) -> bool,
        after_return: Option<u32>,
        goal: Option<Goal<'_>>,
        out: &mut Steps<W>,
        mut emit: impl FnMut(W, &mut Steps<W>),
    ) -> Result<(), Needs> {
        // States, and the values of a variable still to be tried in them.
        let mut work: Vec<(W, Option<(Field, u64)>)> = vec![(post, None)];
        'work: while let Some((mut post, rest)) = work.pop() {
            if !out.go_on() {
                return Ok(());
            }
            if let Some((field, offset)) = rest {
                if offset < field.top {
                    work.push((post.clone(), Some((field, offset + 1))));
                }
                field.set(post.words_mut(), Some(offset));
            }
            for code in conditions.into_iter().flatten() {
                let slot = match code.eval(now.words(), post.words()) {
                    Outcome::Set(set) => {
                        match after_return {
                            None => self.push_failures(now, set, out),
                            Some(next) if self.failures => {
                                for violation in failures(set) {
                                    out.step(self.fail_after(&post, next, violation));
                                }
                            }
                            Some(_) => {}
                        }
                        if set & TRUE == 0 {
                            continue 'work;
                        }
                        continue;
                    }
                    Outcome::NeedsNext(slot) if changed(slot) => slot,
                    Outcome::Needs(slot) | Outcome::NeedsNext(slot) => return Err(Needs(slot)),
                    Outcome::Int(_) | Outcome::Any => unreachable!("a condition is Boolean"),
                };
                let field = *self.field(now.words(), slot);
                if let Some(offset) = goal.and_then(|goal| goal(slot)) {
                    field.set(post.words_mut(), Some(offset));
                    work.push((post, None));
                } else {
                    work.push((post, Some((field, 0))));
                }
                continue 'work;
            }
            emit(post, out);
        }
        Ok(())
    }

    /// Control arrives at `node`: what does not matter there is forgotten.
    #[inline]
    pub(crate) fn arrive<W: Words>(&self, mut state: W, node: u32) -> W {
        let words = state.words_mut();
        self.layout.set_control(words, node, Status::Running);
        keep(words, &self.masks[node as usize * self.layout.words..]);
        state
    }

    pub(crate) fn fail<W: Words>(&self, state: &W, violation: Violation) -> W {
        let mut state = state.clone();
        let node = self.layout.node(state.words());
        self.layout
            .set_control(state.words_mut(), node, Status::Failed(violation));
        state
    }

    fn push_failures<W: Words>(&self, state: &W, set: u8, out: &mut Steps<W>) {
        if self.failures {
            for violation in failures(set) {
                out.step(self.fail(state, violation));
            }
        }
    }

    /// The bits of the globals that a procedure touches.
    pub(crate) fn touched(&self, procedure: u32) -> &[u64] {
        &self.touched[procedure as usize * self.layout.words..][..self.layout.words]
    }
}

/// Forgets the bits that are not in the mask.
#[inline]
pub(crate) fn keep(words: &mut [u64], mask: &[u64]) {
    for (word, mask) in words.iter_mut().zip(mask) {
        *word &= mask;
    }
}

/// A value still to be chosen is chosen as wanted.
pub(crate) fn reach_goal(field: &Field, words: &mut [u64], goal: Goal<'_>) {
    if field.get(words).is_none()
        && let Some(offset) = goal(field.slot)
    {
        field.set(words, Some(offset));
    }
}
