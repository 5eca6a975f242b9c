//! A model and what is remembered of its runs, as one model: every product is made here.
//!
//! A state of the product is a state s of the model and a value: what is remembered of the run
//! before s. Reading happens when the product steps: the memory says which values may come after s,
//! while the model makes any of its steps. Across a call the value goes through the callee; after
//! the return it is the one at the exit, and the caller's is forgotten. So summaries hold for calls,
//! whatever their depth. A state that splits is not read before it has been refined.

use std::cell::RefCell;
use std::hash::Hash;

use droste_base::{CallId, Model, PropId, Step, Steps, StopReason};

/// Something that reads runs of a model and remembers a value.
pub trait Memory<M: Model> {
    /// What is remembered.
    type Value: Clone + Eq + Hash;

    /// The values before anything has been read.
    fn start(&self, out: &mut Vec<Self::Value>);

    /// The values after `state` has been read; there may be several, and any of them may be taken.
    /// With none, the run is given up. A memory that cannot list them all says so with `false`.
    fn after(
        &self,
        model: &M,
        state: &M::State,
        before: &Self::Value,
        out: &mut Vec<Self::Value>,
    ) -> bool;

    /// Whether a proposition of the product is true.
    fn holds(&self, model: &M, state: &M::State, before: &Self::Value, proposition: PropId)
    -> bool;
}

/// A model with a memory.
pub struct Remembering<'a, M: Model, A: Memory<M>> {
    model: &'a M,
    memory: A,
    /// Where runs begin, if it is in the middle.
    begin: Option<M::State>,
    /// Room that is used again and again.
    room: RefCell<Room<M::State, A::Value>>,
}

struct Room<S, V> {
    steps: Steps<S>,
    states: Vec<S>,
    values: Vec<V>,
}

impl<'a, M: Model, A: Memory<M>> Remembering<'a, M, A> {
    /// Runs `model`, and remembers what `memory` says.
    pub fn new(model: &'a M, memory: A) -> Self {
        Remembering {
            model,
            memory,
            begin: None,
            room: RefCell::new(Room {
                steps: Steps::new(),
                states: Vec::new(),
                values: Vec::new(),
            }),
        }
    }

    /// The same with runs that begin in `state`, in the middle of a run of the model. Whether the
    /// procedure they leave in the end is the outermost one is not known, so they end there.
    #[must_use]
    pub fn beginning_in(self, state: M::State) -> Self {
        Remembering {
            begin: Some(state),
            ..self
        }
    }

    /// What remembers.
    pub fn memory(&self) -> &A {
        &self.memory
    }
}

impl<M: Model, A: Memory<M>> Model for Remembering<'_, M, A> {
    type State = (M::State, A::Value);

    fn initial(&self, out: &mut Vec<Self::State>) {
        let mut states = Vec::new();
        match &self.begin {
            Some(state) => states.push(state.clone()),
            None => self.model.initial(&mut states),
        }
        let mut values = Vec::new();
        self.memory.start(&mut values);
        for state in states {
            out.extend(values.iter().map(|value| (state.clone(), value.clone())));
        }
    }

    fn steps(&self, (state, before): &Self::State, out: &mut Steps<Self::State>) {
        let Room { steps, values, .. } = &mut *self.room.borrow_mut();
        steps.clear();
        self.model.steps(state, steps);
        if let Some(split) = steps.as_split() {
            return out.split(split.tag, split.count);
        }
        values.clear();
        if !self.memory.after(self.model, state, before, values) || steps.overflowed() {
            out.give_up();
        }
        for value in values.drain(..) {
            for step in steps.items() {
                match step {
                    Step::Internal(next) => out.step((next.clone(), value.clone())),
                    Step::Call(call, entry) => out.call(*call, (entry.clone(), value.clone())),
                    Step::Exit(exit) => out.exit((exit.clone(), value.clone())),
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
        let states = &mut self.room.borrow_mut().states;
        states.clear();
        let complete = self.model.resume(&caller.0, call, &exit.0, states);
        out.extend(states.drain(..).map(|state| (state, exit.1.clone())));
        complete
    }

    fn holds(&self, (state, before): &Self::State, proposition: PropId) -> bool {
        self.memory.holds(self.model, state, before, proposition)
    }

    fn silent(&self, (state, _): &Self::State) -> bool {
        self.model.silent(state)
    }

    fn refine(&self, (state, before): &Self::State, tag: u32, index: u64) -> Self::State {
        (self.model.refine(state, tag, index), before.clone())
    }

    fn terminated(&self, exit: &Self::State) -> Option<Self::State> {
        if self.begin.is_some() {
            return None;
        }
        Some((self.model.terminated(&exit.0)?, exit.1.clone()))
    }

    fn gave_up(&self) -> StopReason {
        self.model.gave_up()
    }

    fn call_name(&self, call: CallId) -> String {
        self.model.call_name(call)
    }
}
