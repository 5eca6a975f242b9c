//! Packed states as a scheduler of threads sees them: the shared globals on one side, the rest of
//! the active thread's state on the other.
//!
//! Globals have the same place in every state, so the shared ones are cut out with a mask and put
//! into another thread's state with an *or*. A variable without a value stands for any value, here
//! as everywhere (see `machine`). The argument there is about the whole configuration, so it does
//! not matter which thread reads the variable first. Only what is copied has to be known: the frame
//! of a thread that starts another.

use std::marker::PhantomData;

use droste_program::{NodeId, ProcId, Value};

use crate::layout::{Field, Status};
use crate::machine::Machine;
use crate::words::Words;

/// Where a thread is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThreadControl {
    /// Control is at this node.
    At(NodeId),
    /// It has ended in a violation at this node.
    Failed(NodeId),
    /// It has returned.
    Exited,
}

/// A machine and the globals that its threads share.
pub struct Threading<'a, W> {
    machine: &'a Machine,
    fields: Vec<Field>,
    mask: Vec<u64>,
    words: PhantomData<W>,
}

impl<'a, W: Words> Threading<'a, W> {
    /// With these globals shared, by index.
    pub fn new(machine: &'a Machine, shared: &[u32]) -> Self {
        let field = |&i: &u32| machine.layout.globals[i as usize];
        let fields: Vec<Field> = shared.iter().map(field).collect();
        let mut mask = vec![0; machine.layout.words];
        for field in &fields {
            field.cover(&mut mask);
        }
        Threading {
            machine,
            fields,
            mask,
            words: PhantomData,
        }
    }

    /// The entry of a procedure; nothing has a value.
    pub fn enter(&self, procedure: ProcId) -> W {
        let mut state = W::zeroed(self.machine.layout.words);
        let entry = self.machine.entries[procedure.0 as usize];
        let words = state.words_mut();
        self.machine
            .layout
            .set_control(words, entry, Status::Running);
        state
    }

    /// The same frame at another node of its procedure.
    pub fn move_to(&self, state: &W, node: NodeId) -> W {
        let mut state = state.clone();
        let words = state.words_mut();
        self.machine
            .layout
            .set_control(words, node.0, Status::Running);
        state
    }

    /// Where the thread is.
    pub fn control(&self, state: &W) -> ThreadControl {
        let words = state.words();
        let node = NodeId(self.machine.layout.node(words));
        match self.machine.layout.status(words) {
            Status::Running => ThreadControl::At(node),
            Status::Failed(_) => ThreadControl::Failed(node),
            Status::Terminated | Status::Exited => ThreadControl::Exited,
        }
    }

    /// The shared globals alone.
    pub fn shared(&self, state: &W) -> W {
        let mut state = state.clone();
        let words = state.words_mut();
        for (i, word) in words.iter_mut().enumerate() {
            *word &= self.mask.get(i).copied().unwrap_or(0);
        }
        state
    }

    /// Everything but the shared globals.
    pub fn rest(&self, state: &W) -> W {
        let mut state = state.clone();
        for (word, mask) in state.words_mut().iter_mut().zip(&self.mask) {
            *word &= !mask;
        }
        state
    }

    /// The state with this rest and these shared globals.
    pub fn join(&self, rest: &W, shared: &W) -> W {
        let mut state = rest.clone();
        for (word, shared) in state.words_mut().iter_mut().zip(shared.words()) {
            *word |= shared;
        }
        state
    }

    /// A shared global without a value: its slot, for
    /// [`Model::refine`](droste_base::Model::refine), and how many values it can take (less one).
    pub fn open_global(&self, state: &W) -> Option<(u32, u64)> {
        let open = |f: &&Field| f.get(state.words()).is_none();
        self.fields.iter().find(open).map(|f| (f.slot, f.top))
    }

    /// Gives the shared global with this slot a value.
    pub fn set_global(&self, state: &mut W, slot: u32, offset: u64) {
        let field = &self.machine.layout.globals[slot as usize];
        field.set(state.words_mut(), Some(offset));
    }

    /// The value of a global, as an offset from the least of its type.
    pub fn global(&self, state: &W, index: u32) -> Option<u64> {
        self.machine.layout.globals[index as usize].get(state.words())
    }

    /// A local without a value, likewise. The thread is at a node.
    pub fn open_local(&self, state: &W) -> Option<(u32, u64)> {
        let words = state.words();
        let locals = &self.machine.layout.locals[self.machine.procedure(words) as usize];
        let open = |f: &&Field| f.get(words).is_none();
        locals.iter().find(open).map(|f| (f.slot, f.top))
    }

    /// The values of all globals.
    pub fn globals(&self, state: &W) -> Vec<Option<Value>> {
        values(&self.machine.layout.globals, state.words())
    }

    /// The values of the locals; the thread is at a node.
    pub fn locals(&self, state: &W) -> Vec<Option<Value>> {
        let words = state.words();
        let procedure = self.machine.procedure(words) as usize;
        values(&self.machine.layout.locals[procedure], words)
    }
}

fn values(fields: &[Field], words: &[u64]) -> Vec<Option<Value>> {
    let value = |field: &Field| field.get(words).map(|offset| field.value(offset));
    fields.iter().map(value).collect()
}
