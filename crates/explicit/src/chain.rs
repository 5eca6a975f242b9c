//! States that need not be remembered: those with nothing to choose.
//!
//! A state whose only step is internal is passed on the way to the next one that has a choice, calls or exits. The search for cycles
//! keeps contexts for the ends of such chains only: straight-line code and loops over known values cost time, no memory. Where a
//! chain runs in a circle, or is very long, it ends somewhere on the way, so that cycles of such states are still found: a chain
//! from a given state always ends in the same one, hence the ends on a circle of passing states repeat.

use std::hash::{BuildHasher as _, Hash};

use droste_base::{Model, Step, Steps};
use rustc_hash::FxBuildHasher;

/// Chains of so many steps are not cut.
const SHORT: u32 = 64;
/// Longer ones are cut where a state is one in so many, by its hash. Those who come along the same way from different places are cut at the same
/// states then: going round a long loop again and again finds nothing new.
const ONE_IN: u64 = 64;
/// Here they are cut in any case.
const LONGEST: u32 = 4096;

fn is_cut<S: Hash>(state: &S) -> bool {
    let hash = FxBuildHasher.hash_one(state);
    (hash ^ hash >> 32).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32 & (ONE_IN - 1) == 0
}

/// Follows the chain that begins in `first`; `pass` gets to see the states before its end, which is returned. `steps` are those of the end,
/// if they are the reason why it is the end.
pub(crate) fn follow<M: Model>(
    model: &M,
    first: M::State,
    steps: &mut Steps<M::State>,
    mut pass: impl FnMut(&M::State),
) -> M::State {
    let mut state = first;
    // A state passed before, to notice circles (Brent, BIT 1980).
    let mut anchor: Option<M::State> = None;
    for length in 1..=LONGEST {
        steps.clear();
        model.steps(&state, steps);
        if steps.as_split().is_some() || steps.overflowed() {
            steps.clear();
            break;
        }
        let [Step::Internal(_)] = steps.items() else {
            break;
        };
        let Some(Step::Internal(next)) = steps.drain().next() else {
            break;
        };
        if next == state || anchor.as_ref() == Some(&next) {
            break;
        }
        pass(&state);
        if length.is_power_of_two() {
            anchor = Some(state);
        }
        state = next;
        if length > SHORT && is_cut(&state) {
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
