//! The product of a model and a monitor, on the fly (Alur, Chaudhuri, Etessami, Madhusudan,
//! TACAS 2005, section 5).
//!
//! What is remembered is the automaton's state. It moves along an edge whose guard is true of the
//! state that is read; a silent state is not read at all. [`Remembering`] says the rest.

use droste_base::{Model, PropId};

use crate::{Memory, Remembering};

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
pub type Product<'a, M> = Remembering<'a, M, &'a Watcher>;

impl<M: Model> Product<'_, M> {
    /// True of a product state in which the watcher enters a target.
    pub const TARGET: PropId = PropId(0);
    /// True of a product state in which the watcher is in a repeating state.
    pub const REPEATING: PropId = PropId(1);
}

impl<M: Model> Memory<M> for &Watcher {
    type Value = u32;

    fn start(&self, out: &mut Vec<u32>) {
        out.push(self.initial);
    }

    fn after(&self, model: &M, state: &M::State, &at: &u32, out: &mut Vec<u32>) -> bool {
        if model.silent(state) {
            out.push(at);
            return true;
        }
        let place = &self.states[at as usize];
        for &(guard, to) in &place.edges {
            if !out.contains(&to) && model.holds(state, guard) {
                out.push(to);
            }
        }
        if out.is_empty() {
            // An edge that was skipped as a duplicate had an equal one that was taken.
            out.extend(place.otherwise);
        }
        true
    }

    fn holds(&self, model: &M, state: &M::State, at: &u32, proposition: PropId) -> bool {
        if proposition == Product::<M>::REPEATING {
            return self.states[*at as usize].repeating;
        }
        // What it entered before a silent state, it entered before.
        let mut moves = Vec::new();
        !model.silent(state)
            && self.after(model, state, at, &mut moves)
            && moves.iter().any(|&to| self.states[to as usize].target)
    }
}
