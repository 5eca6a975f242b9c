//! Can a run get stuck?
//!
//! A run is stuck where no step is possible, other than at its end: in a state that neither splits
//! nor has a step, or at a return that the caller refuses, because [`Model::resume`] gives no state
//! in which to go on. (A run has ended when its outermost procedure is left, or in a state that the
//! caller of [`stuck()`] declares to be an end.)
//!
//! The search is that of [`reach`](mod@crate::reach). States without steps take the place of
//! targets. For returns the search keeps the pairs of a caller and an exit that lead nowhere, and
//! the contexts that can do nothing but leave, with their exits. A run is stuck in such a context,
//! called by such a caller, if the caller refuses *every* exit of the context: if it accepts one,
//! that return happens. Whichever of the two comes first, caller or exit, the pair is looked at
//! when both are known.
//!
//! Random machines are compared with a naive oracle, also for the length of the shortest run, and
//! every trace is replayed (`tests/random.rs`).

use droste_base::{Model, PropId};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::reach::{Search, conclude};
use crate::tables::{Calls, NONE};
use crate::{Options, Outcome};

/// Explores until a run is found that is stuck, everything has been seen, or a limit is reached. A
/// run may end in a state of which one of the propositions `ends` is true: it is not stuck there.
pub fn stuck<M: Model>(model: &M, ends: &[PropId], options: &Options<'_>) -> Outcome<M::State> {
    let mut search = Search::new(model, options);
    search.returns = Some(Returns::default());
    let may_end = |state: &M::State| ends.iter().any(|&end| model.holds(state, end));
    let found = search.run(
        |state, steps| steps.items().is_empty() && !steps.overflowed() && !may_end(state),
        may_end,
    );
    conclude(search, found, options)
}

/// A return that the caller refuses: the run is stuck in `context`, called by number `caller` of
/// [`Calls::callers`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Refusal {
    pub(crate) caller: u32,
    pub(crate) context: u32,
}

/// A context that can do nothing but leave.
struct Leaving {
    context: u32,
    /// Sorted.
    exits: Vec<u32>,
}

/// What is known about returns that callers refuse.
#[derive(Default)]
pub(crate) struct Returns {
    /// Pairs of a caller and an exit.
    refused: FxHashSet<(u32, u32)>,
    /// The pairs that have been found since the last look.
    new: Vec<(u32, u32)>,
    leaving: Vec<Leaving>,
    /// For each exit, those of `leaving` that have it.
    by_exit: FxHashMap<u32, Vec<u32>>,
}

impl Returns {
    /// The caller cannot go on after the exit.
    pub(crate) fn refuse(&mut self, caller: u32, exit: u32) {
        if self.refused.insert((caller, exit)) {
            self.new.push((caller, exit));
        }
    }

    fn all_refused(&self, caller: u32, exits: &[u32]) -> bool {
        exits
            .iter()
            .all(|&exit| self.refused.contains(&(caller, exit)))
    }

    /// All refusals that have become known: through new callers and exits, and through `leaving`, a
    /// context that has just turned out to do nothing but leave, with its exits.
    pub(crate) fn look(
        &mut self,
        calls: &Calls,
        leaving: Option<(u32, Vec<u32>)>,
        mut found: impl FnMut(Refusal),
    ) {
        if let Some((context, exits)) = leaving {
            self.leave(calls, context, exits, &mut found);
        }
        for (caller, exit) in std::mem::take(&mut self.new) {
            for &index in self.by_exit.get(&exit).into_iter().flatten() {
                let Leaving { context, exits } = &self.leaving[index as usize];
                if self.all_refused(caller, exits) {
                    found(Refusal {
                        caller,
                        context: *context,
                    });
                }
            }
        }
    }

    fn leave(
        &mut self,
        calls: &Calls,
        context: u32,
        mut exits: Vec<u32>,
        found: &mut impl FnMut(Refusal),
    ) {
        exits.sort_unstable();
        exits.dedup();
        let Some(&first) = exits.first() else { return };
        // Whoever refuses these exits refuses a part of them, and that was found earlier.
        let known = exits.iter().filter_map(|exit| self.by_exit.get(exit));
        let mut known = known.flatten().map(|&i| &self.leaving[i as usize].exits);
        if known.any(|known| known.iter().all(|exit| exits.contains(exit))) {
            return;
        }
        let entry = calls.exits[first as usize].entry;
        let mut caller = calls.entries[entry as usize].first_caller;
        while caller != NONE {
            if self.all_refused(caller, &exits) {
                found(Refusal { caller, context });
            }
            caller = calls.callers[caller as usize].next;
        }
        let index = self.leaving.len() as u32;
        for &exit in &exits {
            self.by_exit.entry(exit).or_default().push(index);
        }
        self.leaving.push(Leaving { context, exits });
    }
}
