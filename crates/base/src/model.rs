//! A recursive state machine, unfolded on demand.
//!
//! This is the extended recursive state machine of Alur, Chaudhuri, Etessami and
//! Madhusudan, *On-the-fly Reachability and Cycle Detection for Recursive State
//! Machines* (TACAS 2005), section 2, as an interface: the search algorithms ask
//! for what a state can do and never see how it is computed. Everything that can
//! be explored is a [`Model`]: Boolean programs, products with monitors, and any
//! Rust type a user writes.
//!
//! Two things are added to the paper's machine:
//!
//! * **Refinement.** A state may stand for many (a program state in which some variable has no
//!   value yet). When it has to commit itself it answers [`Steps::split`] instead of steps, and the
//!   engine asks for the parts one by one through [`Model::refine`]. Refining is not a step of the
//!   run: all the parts are at the same position. A state with 2⁶⁴ parts costs nothing until they
//!   are asked for.
//! * **Termination.** When the outermost procedure is left, the run goes on in the state that
//!   [`Model::terminated`] gives, if it gives one.

use std::cell::RefCell;
use std::hash::Hash;
use std::rc::Rc;

use crate::{Countable, Guard, Limits, StopReason};

/// Which call of a state: what [`Model::resume`] gets to tell several calls of one
/// state apart. Its meaning belongs to the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CallId(pub u32);

/// A proposition of the model, for [`Model::holds`]. Its meaning belongs to the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PropId(pub u32);

/// An extended recursive state machine, generated on demand.
///
/// # Contract
///
/// * `steps`, `resume`, `refine` and `terminated` are functions of their arguments: the
///   same state always gives the same answers in the same order. (Trusted; a model that
///   breaks this may get wrong verdicts, and its traces then fail to replay.)
/// * A state is either split or it has steps, never both. ([`Steps`] asserts it.)
/// * Refining ends: no state is a part of itself, through any number of splits.
/// * `holds` is only asked of states that are not split.
/// * From [`Model::terminated`] on there are internal steps only, no calls and no exits: the
///   stack is gone.
/// * The states reachable within one procedure from one entry state should be finite
///   in number, or the search may not end (it still stops at its limits).
pub trait Model {
    /// Control location, globals and the locals in scope; never the stack.
    type State: Clone + Eq + Hash;

    /// The states in which a run may start.
    fn initial(&self, out: &mut Vec<Self::State>);

    /// What `state` can do: internal steps, calls, exits; or a split.
    fn steps(&self, state: &Self::State, out: &mut Steps<Self::State>);

    /// The states in which `caller` may go on when its callee leaves through `exit`. A model
    /// that cannot list them all says so with `false`, and the search ends without a verdict.
    fn resume(
        &self,
        caller: &Self::State,
        call: CallId,
        exit: &Self::State,
        out: &mut Vec<Self::State>,
    ) -> bool;

    /// Whether `proposition` is true of `state`.
    fn holds(&self, state: &Self::State, proposition: PropId) -> bool;

    /// Whether `state` is not a position of the run, but on the way to one: automata and formulas,
    /// which observe the run, do not read it. A silent state has internal steps only, and no cycle
    /// consists of silent states alone.
    fn silent(&self, state: &Self::State) -> bool {
        let _ = state;
        false
    }

    /// Part number `index` of a state whose steps were a [`Split`] with this `tag`;
    /// `index` is less than the split's count.
    fn refine(&self, state: &Self::State, tag: u32, index: u64) -> Self::State {
        let _ = (state, tag, index);
        panic!("a model whose states split must implement `refine`")
    }

    /// Where a run goes on after the outermost procedure has been left through `exit`:
    /// usually a state whose only step is to itself. With `None`, which is the default,
    /// such a run ends there and is not an infinite run.
    ///
    /// Beware of that default: runs that end then do not count for questions about infinite runs.
    /// If all runs of a model end, every formula would hold. The searches say so in their
    /// statistics, and `droste::Checker` makes an error of it.
    fn terminated(&self, exit: &Self::State) -> Option<Self::State> {
        let _ = exit;
        None
    }

    /// A state that covers `state`, if the model knows one: it stands for everything that `state`
    /// stands for, and more, so whatever can be reached from `state` can be reached from it. A
    /// search for reachable states does not continue from `state` if it has met the covering state
    /// within the same call. Searches for cycles do not use this. A state that covers others is not
    /// covered itself.
    fn covered_by(&self, state: &Self::State) -> Option<Self::State> {
        let _ = state;
        None
    }

    /// Why steps are missing, or the states in which a caller goes on: the bound of the model that
    /// was hit. By default it is the number of choices.
    fn gave_up(&self) -> StopReason {
        Steps::<Self::State>::TOO_MANY
    }

    /// What a call is called in traces: the name of the callee, say. The default is its number.
    fn call_name(&self, call: CallId) -> String {
        call.0.to_string()
    }
}

/// A model with other propositions, all the same: a closure.
#[derive(Clone, Copy, Debug)]
pub struct Where<'a, M, F> {
    /// The model.
    pub model: &'a M,
    /// What is true of the states that are meant.
    pub predicate: F,
}

impl<M: Model, F: Fn(&M::State) -> bool> Model for Where<'_, M, F> {
    type State = M::State;

    fn initial(&self, out: &mut Vec<M::State>) {
        self.model.initial(out);
    }

    fn steps(&self, state: &M::State, out: &mut Steps<M::State>) {
        self.model.steps(state, out);
    }

    fn resume(
        &self,
        caller: &M::State,
        call: CallId,
        exit: &M::State,
        out: &mut Vec<M::State>,
    ) -> bool {
        self.model.resume(caller, call, exit, out)
    }

    fn holds(&self, state: &M::State, _: PropId) -> bool {
        (self.predicate)(state)
    }

    fn silent(&self, state: &M::State) -> bool {
        self.model.silent(state)
    }

    fn refine(&self, state: &M::State, tag: u32, index: u64) -> M::State {
        self.model.refine(state, tag, index)
    }

    fn terminated(&self, exit: &M::State) -> Option<M::State> {
        self.model.terminated(exit)
    }

    fn covered_by(&self, state: &M::State) -> Option<M::State> {
        self.model.covered_by(state)
    }

    fn gave_up(&self) -> StopReason {
        self.model.gave_up()
    }

    fn call_name(&self, call: CallId) -> String {
        self.model.call_name(call)
    }
}

/// One thing a state can do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step<S> {
    /// Go to this state of the same procedure.
    Internal(S),
    /// Call a procedure, whose run begins in this entry state. When it exits, the
    /// caller goes on as [`Model::resume`] says.
    Call(CallId, S),
    /// Leave the procedure. The state holds what the caller gets to see: globals and
    /// results. It is a value, not a position of the run.
    Exit(S),
}

/// A state that stands for `count` others, told apart by [`Model::refine`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Split {
    /// Handed back to [`Model::refine`]; its meaning belongs to the model.
    pub tag: u32,
    /// How many parts there are; at least one. `u64::MAX` also stands for 2⁶⁴.
    pub count: u64,
}

/// The answer of [`Model::steps`]: a buffer the engine clears and hands out again.
#[derive(Clone, Debug)]
pub struct Steps<S> {
    items: Vec<Step<S>>,
    split: Option<Split>,
    overflow: bool,
    /// How many choices have been tried out.
    tried: u64,
    watch: Option<Rc<Watch>>,
}

/// Who stops a model that is trying out the choices in one state.
#[derive(Debug)]
pub struct Watch {
    most: u64,
    guard: RefCell<Guard>,
}

impl Watch {
    /// Somebody who watches over these limits.
    pub fn new(limits: &Limits) -> Rc<Self> {
        Rc::new(Watch {
            most: limits.choices.unwrap_or(u64::MAX),
            guard: RefCell::new(limits.guard()),
        })
    }
}

impl<S> Default for Steps<S> {
    fn default() -> Self {
        Steps {
            items: Vec::new(),
            split: None,
            overflow: false,
            tried: 0,
            watch: None,
        }
    }
}

impl<S> Steps<S> {
    /// More successors of a single state than this are not stored; the search then
    /// stops with [`Countable::Choices`].
    pub const MOST: usize = 1 << 24;

    /// Why a search stops if there are more.
    pub const TOO_MANY: StopReason = StopReason::TooMany(Countable::Choices, Self::MOST as u64);

    /// An empty buffer.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an internal step to `state`.
    #[inline]
    pub fn step(&mut self, state: S) {
        self.push(Step::Internal(state));
    }

    /// Adds a call of a procedure that starts in `entry`.
    #[inline]
    pub fn call(&mut self, call: CallId, entry: S) {
        self.push(Step::Call(call, entry));
    }

    /// Adds an exit; `exit` is what callers get to see.
    #[inline]
    pub fn exit(&mut self, exit: S) {
        self.push(Step::Exit(exit));
    }

    /// Says that the state has to be refined into `count` parts before it can step.
    #[inline]
    pub fn split(&mut self, tag: u32, count: u64) {
        assert!(count > 0, "a split has at least one part");
        debug_assert!(
            self.items.is_empty(),
            "a state is split or it has steps, never both"
        );
        self.split = Some(Split { tag, count });
    }

    #[inline]
    fn push(&mut self, step: Step<S>) {
        debug_assert!(
            self.split.is_none(),
            "a state is split or it has steps, never both"
        );
        if self.items.len() < Self::MOST {
            self.items.push(step);
        } else {
            self.overflow = true;
        }
    }

    /// Says that finding all the steps would take too long.
    pub fn give_up(&mut self) {
        self.overflow = true;
    }

    /// From now on, [`Self::go_on`] asks this watch.
    #[inline]
    pub fn watch(&mut self, watch: &Rc<Watch>) {
        if self.watch.is_none() {
            self.watch = Some(watch.clone());
        }
    }

    /// To be asked before each choice that is tried out: false if there have been too many, or if
    /// a limit has been reached. Then the steps count as [overflowed](Self::overflowed).
    #[inline]
    pub fn go_on(&mut self) -> bool {
        self.tried += 1;
        if self.tried.trailing_zeros() >= 10 {
            self.ask();
        }
        !self.overflow
    }

    #[cold]
    fn ask(&mut self) {
        let watch = self.watch.as_deref();
        let most = watch.map_or(u64::MAX, |watch| watch.most);
        let is_over = |watch: &Watch| watch.guard.borrow_mut().check_now().is_err();
        if self.tried > most.min(Self::MOST as u64) || watch.is_some_and(is_over) {
            self.overflow = true;
        }
    }

    /// Takes back every step given so far, to split the state instead.
    pub fn clear(&mut self) {
        self.items.clear();
        self.split = None;
        self.overflow = false;
        self.tried = 0;
    }

    /// The split, if the state was split.
    #[inline]
    pub fn as_split(&self) -> Option<Split> {
        self.split
    }

    /// The steps.
    #[inline]
    pub fn items(&self) -> &[Step<S>] {
        &self.items
    }

    /// Takes the steps out, in order, leaving the buffer's memory in place.
    #[inline]
    pub fn drain(&mut self) -> std::vec::Drain<'_, Step<S>> {
        self.items.drain(..)
    }

    /// Whether steps are missing: there were more than [`Self::MOST`], the model gave up, or a limit
    /// was reached. The engine looks at its limits first.
    pub fn overflowed(&self) -> bool {
        self.overflow
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_come_out_as_they_went_in() {
        let mut steps = Steps::new();
        steps.step(1);
        steps.call(CallId(7), 2);
        steps.exit(3);
        let all = [Step::Internal(1), Step::Call(CallId(7), 2), Step::Exit(3)];
        assert_eq!(steps.items(), all);
        assert_eq!(steps.as_split(), None);
        assert!(steps.drain().eq(all));
        assert!(steps.items().is_empty() && !steps.overflowed());
    }

    #[test]
    fn cleared_steps_are_new_ones() {
        let mut steps = Steps::new();
        steps.step(());
        steps.give_up();
        assert!(steps.overflowed());
        steps.clear();
        assert!(steps.items().is_empty() && !steps.overflowed());
        // Taken back, they do not stand in the way of a split.
        steps.split(3, u64::MAX);
        let split = Split {
            tag: 3,
            count: u64::MAX,
        };
        assert_eq!(steps.as_split(), Some(split));
        steps.clear();
        assert_eq!(steps.as_split(), None);
        steps.step(());
        assert_eq!(steps.items().len(), 1);
    }

    #[test]
    fn too_many_steps_are_said_to_be_too_many() {
        let mut steps = Steps::new();
        for _ in 0..Steps::<()>::MOST {
            steps.step(());
        }
        assert!(!steps.overflowed());
        steps.exit(());
        assert!(steps.overflowed());
        assert_eq!(steps.items().len(), Steps::<()>::MOST);
        // The flag stays when the steps are taken out.
        drop(steps.drain());
        assert!(steps.overflowed());
    }

    #[test]
    #[should_panic(expected = "at least one part")]
    fn a_split_without_parts_is_a_fault() {
        Steps::<()>::new().split(0, 0);
    }

    #[test]
    #[cfg_attr(debug_assertions, should_panic(expected = "never both"))]
    fn a_state_does_not_split_and_step() {
        let mut steps = Steps::new();
        steps.split(0, 2);
        steps.step(());
    }

    /// Counts down to zero; every number calls the one below.
    struct Down;

    impl Model for Down {
        type State = u8;

        fn initial(&self, out: &mut Vec<u8>) {
            out.extend([3, 5]);
        }

        fn steps(&self, &state: &u8, out: &mut Steps<u8>) {
            match state {
                0 => out.exit(0),
                200.. => out.split(9, 2),
                n => out.call(CallId(u32::from(n)), n - 1),
            }
        }

        fn resume(&self, caller: &u8, call: CallId, exit: &u8, out: &mut Vec<u8>) -> bool {
            out.push(caller + call.0 as u8 + exit);
            *caller != 1
        }

        fn holds(&self, state: &u8, proposition: PropId) -> bool {
            u32::from(*state) == proposition.0
        }

        fn refine(&self, state: &u8, tag: u32, index: u64) -> u8 {
            state - 100 - tag as u8 - index as u8
        }

        fn terminated(&self, exit: &u8) -> Option<u8> {
            (*exit == 0).then_some(50)
        }
    }

    #[test]
    fn where_changes_the_propositions_alone() {
        let there = Where {
            model: &Down,
            predicate: |state: &u8| *state == 4,
        };
        for state in 0..=255 {
            let (mut one, mut other) = (Steps::new(), Steps::new());
            Down.steps(&state, &mut one);
            there.steps(&state, &mut other);
            assert_eq!(
                (one.items(), one.as_split()),
                (other.items(), other.as_split())
            );
            assert_eq!(Down.terminated(&state), there.terminated(&state));
            // Whatever is asked, the answer is the closure's.
            assert_eq!(there.holds(&state, PropId(7)), state == 4);
        }
        let (mut one, mut other) = (Vec::new(), Vec::new());
        Down.initial(&mut one);
        there.initial(&mut other);
        for caller in 1..4 {
            let call = CallId(u32::from(caller));
            let complete = Down.resume(&caller, call, &0, &mut one);
            assert_eq!(complete, there.resume(&caller, call, &0, &mut other));
        }
        assert_eq!(one, other);
        assert_eq!(Down.refine(&220, 9, 1), there.refine(&220, 9, 1));
    }
}
