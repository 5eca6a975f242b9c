//! The product of a model and a monitor, on the fly (Alur, Chaudhuri, Etessami, Madhusudan,
//! TACAS 2005, section 5).
//!
//! A state of the product is a state s of the model and the automaton's state q before it has
//! read s. Reading happens when the product steps: the automaton moves along an edge whose guard is
//! true of s, while the model makes any of its steps. Across a call the automaton walks
//! on through the callee; after the return its state is the one it had at the exit, and the
//! caller's is forgotten. A state that splits is not read before it has been refined, and a silent
//! one is not read at all.

use droste_base::{CallId, Model, PropId, Step, Steps, StopReason};

/// A finite automaton over propositions of a model.
#[derive(Clone, Debug)]
pub struct Watcher {
    /// Its states.
    pub states: Vec<WatcherState>,
    /// Where it starts.
    pub initial: u32,
}

/// A state of a [`Watcher`].
#[derive(Clone, Debug, Default)]
pub struct WatcherState {
    /// Guards and where they lead. If several are true, any may be taken.
    pub edges: Vec<(PropId, u32)>,
    /// Where to go if no guard is true; `None` gives up the run.
    pub otherwise: Option<u32>,
    /// Entering it is what the search looks for.
    pub target: bool,
    /// Being in it infinitely often is what the search looks for.
    pub repeating: bool,
}

/// A model and a watcher.
pub struct Product<'a, M> {
    model: &'a M,
    watcher: &'a Watcher,
}

impl<'a, M: Model> Product<'a, M> {
    /// True of a product state in which the watcher enters a target.
    pub const TARGET: PropId = PropId(0);
    /// True of a product state in which the watcher is in a repeating state.
    pub const REPEATING: PropId = PropId(1);

    /// Runs `model` and `watcher` together.
    pub fn new(model: &'a M, watcher: &'a Watcher) -> Self {
        Product { model, watcher }
    }

    /// The states the watcher may be in after it has read `state`.
    fn moves(&self, state: &M::State, at: u32) -> Vec<u32> {
        if self.model.silent(state) {
            return vec![at];
        }
        let place = &self.watcher.states[at as usize];
        let mut moves = Vec::new();
        for &(guard, to) in &place.edges {
            if !moves.contains(&to) && self.model.holds(state, guard) {
                moves.push(to);
            }
        }
        if moves.is_empty() {
            // An edge that was skipped as a duplicate had an equal one that was taken.
            moves.extend(place.otherwise);
        }
        moves
    }
}

impl<M: Model> Model for Product<'_, M> {
    type State = (M::State, u32);

    fn initial(&self, out: &mut Vec<Self::State>) {
        let mut states = Vec::new();
        self.model.initial(&mut states);
        out.extend(
            states
                .into_iter()
                .map(|state| (state, self.watcher.initial)),
        );
    }

    fn steps(&self, (state, at): &Self::State, out: &mut Steps<Self::State>) {
        let mut steps = Steps::new();
        self.model.steps(state, &mut steps);
        if let Some(split) = steps.as_split() {
            return out.split(split.tag, split.count);
        }
        if steps.overflowed() {
            out.give_up();
        }
        for to in self.moves(state, *at) {
            for step in steps.items() {
                match step {
                    Step::Internal(next) => out.step((next.clone(), to)),
                    Step::Call(call, entry) => out.call(*call, (entry.clone(), to)),
                    Step::Exit(exit) => out.exit((exit.clone(), to)),
                }
            }
        }
    }

    fn resume(
        &self,
        caller: &Self::State,
        call: CallId,
        exit: &Self::State,
        out: &mut Vec<Self::State>,
    ) -> bool {
        let mut states = Vec::new();
        let complete = self.model.resume(&caller.0, call, &exit.0, &mut states);
        out.extend(states.into_iter().map(|state| (state, exit.1)));
        complete
    }

    fn holds(&self, (state, at): &Self::State, proposition: PropId) -> bool {
        if proposition == Self::REPEATING {
            self.watcher.states[*at as usize].repeating
        } else if self.model.silent(state) {
            // What it entered, it entered before.
            false
        } else {
            self.moves(state, *at)
                .iter()
                .any(|&to| self.watcher.states[to as usize].target)
        }
    }

    fn silent(&self, (state, _): &Self::State) -> bool {
        self.model.silent(state)
    }

    fn refine(&self, (state, at): &Self::State, tag: u32, index: u64) -> Self::State {
        (self.model.refine(state, tag, index), *at)
    }

    fn terminated(&self, exit: &Self::State) -> Option<Self::State> {
        Some((self.model.terminated(&exit.0)?, exit.1))
    }

    fn gave_up(&self) -> StopReason {
        self.model.gave_up()
    }

    fn call_name(&self, call: CallId) -> String {
        self.model.call_name(call)
    }
}
