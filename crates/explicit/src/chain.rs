//! States that need not be stored: those with a single successor.
//!
//! A state whose only step is internal is passed on the way to the next state that has a choice,
//! calls or exits. A state whose only step is a call is passed as well, if all is known about the
//! callee (its component has been closed) and there is one way out of it. The search for cycles
//! keeps path edges (type `Context`) for the ends of such chains only. So straight-line code, loops
//! over known values and calls that were made before cost time, but no memory.
//!
//! **Cycles.** A chain that is cyclic, or very long, is ended somewhere. So cycles of such states
//! are still found: the ends are path edges, of which there are finitely many, so they repeat.
//!
//! **Chains grow.** More and more is known about callees. So a chain that is followed a second time
//! may pass a call at which it ended before; nothing else can make it longer. To arrive where the
//! search did, stop at the call at which the search stopped.

use std::hash::{BuildHasher as _, Hash};

use droste_base::{CallId, Interner, Model, PropId, Step, Steps};
use rustc_hash::FxBuildHasher;

use crate::tables::Calls;

/// Chains of up to this number of steps are not cut. Where many states lead into the same chain, it
/// is followed for each of them.
const SHORT: u32 = 16;
/// A longer chain is cut at states that are picked by their hash, one in this many. So those who
/// come along the same way from different places are cut at the same states: going round a long
/// loop again and again finds nothing new.
const ONE_IN: u64 = 16;
/// At this length a chain is cut in any case.
const LONGEST: u32 = 1024;
/// The most calls that are passed in one chain.
const MOST_CALLS: u32 = 2;

fn is_cut<S: Hash>(state: &S) -> bool {
    let hash = FxBuildHasher.hash_one(state);
    (hash ^ hash >> 32).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32 & (ONE_IN - 1) == 0
}

/// How a passed state is left.
#[derive(Clone, Copy)]
pub(crate) enum By {
    /// With its only step.
    Step,
    /// With its only call, which returns through this exit.
    Call(CallId, u32),
}

/// Buffers for following chains, to be used again. `steps` are those of the end of the chain, if
/// they are the reason why it is the end.
pub(crate) struct Buffers<S> {
    pub(crate) steps: Steps<S>,
    resumed: Vec<S>,
}

// Derived, it would ask for states that have a default.
impl<S> Default for Buffers<S> {
    fn default() -> Self {
        Buffers {
            steps: Steps::new(),
            resumed: Vec::new(),
        }
    }
}

/// What is known about calls.
pub(crate) struct Summaries<'a, M: Model> {
    pub(crate) model: &'a M,
    pub(crate) states: &'a Interner<M::State>,
    pub(crate) calls: &'a Calls,
    /// The propositions that are searched for.
    pub(crate) marks: &'a [PropId],
    /// Only exits with smaller numbers are taken to be known.
    pub(crate) before: u32,
}

impl<M: Model> Summaries<'_, M> {
    /// The only exit of the callee and the only state in which the caller goes on, if that is
    /// known.
    fn pass_call(
        &self,
        state: &M::State,
        call: CallId,
        callee: &M::State,
        resumed: &mut Vec<M::State>,
    ) -> Option<(u32, M::State)> {
        let exit = self.calls.only_exit(self.states, callee)?;
        if exit >= self.before {
            return None;
        }
        let exit_state = self.states.get(self.calls.exits[exit as usize].state);
        resumed.clear();
        let complete = self.model.resume(state, call, exit_state, resumed);
        let alone = complete && resumed.len() == 1;
        // The buffer is left empty for whoever has lent it.
        resumed
            .drain(..)
            .next()
            .filter(|_| alone)
            .map(|next| (exit, next))
    }

    /// The marks of a state that does not split.
    pub(crate) fn own_marks(&self, state: &M::State) -> u32 {
        let marks = self.marks.iter().enumerate();
        marks.fold(0, |marks, (i, &mark)| {
            marks | u32::from(self.model.holds(state, mark)) << i
        })
    }

    /// The marks of a state, and of the call that is made in it.
    pub(crate) fn passed_marks(&self, state: &M::State, by: By) -> u32 {
        let inside = match by {
            By::Step => 0,
            By::Call(_, exit) => self.calls.exits[exit as usize].marks,
        };
        inside | self.own_marks(state)
    }
}

/// Follows the chain that begins in `first` to its end, or to a call in the state `until`; `pass`
/// gets to see the states before it.
pub(crate) fn follow<M: Model>(
    known: &Summaries<'_, M>,
    buffers: &mut Buffers<M::State>,
    first: M::State,
    until: Option<&M::State>,
    mut pass: impl FnMut(&M::State, By),
) -> M::State {
    let Buffers { steps, resumed } = buffers;
    let mut state = first;
    // A state passed before, to notice circles (Brent, BIT 1980).
    let mut anchor: Option<M::State> = None;
    let mut calls = 0;
    for length in 1..=LONGEST {
        steps.clear();
        known.model.steps(&state, steps);
        if steps.as_split().is_some() || steps.overflowed() {
            steps.clear();
            break;
        }
        let (by, next) = match steps.items() {
            [Step::Internal(_)] => match steps.drain().next() {
                Some(Step::Internal(next)) => (By::Step, next),
                _ => break,
            },
            [Step::Call(call, callee)] if calls < MOST_CALLS && until != Some(&state) => {
                match known.pass_call(&state, *call, callee, resumed) {
                    Some((exit, next)) => (By::Call(*call, exit), next),
                    None => break,
                }
            }
            _ => break,
        };
        if next == state || anchor.as_ref() == Some(&next) {
            break;
        }
        pass(&state, by);
        calls += u32::from(matches!(by, By::Call(..)));
        if length.is_power_of_two() {
            anchor = Some(state);
        }
        state = next;
        if length > SHORT && is_cut(&state) {
            steps.clear();
            break;
        }
    }
    state
}

/// What the end of a chain exits with, if that is all it does; `steps` as [`follow`] leaves them.
pub(crate) fn only_exit<S>(steps: &mut Steps<S>) -> Option<S> {
    if !matches!(steps.items(), [Step::Exit(_)]) {
        return None;
    }
    match steps.drain().next() {
        Some(Step::Exit(exit)) => Some(exit),
        _ => None,
    }
}
