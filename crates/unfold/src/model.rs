//! The machine as a [`Model`].

use std::cell::RefCell;
use std::marker::PhantomData;
use std::rc::Rc;

use droste_base::{CallId, Limits, Model, PropId, Step, Steps, Watch};

use crate::machine::Machine;
use crate::words::Words;

/// A compiled program with states of type `W`, which must have at least
/// [`Machine::words`] words.
pub struct Unfolding<'a, W> {
    machine: &'a Machine,
    scratch: RefCell<Steps<W>>,
    watch: Option<Rc<Watch>>,
    /// Values that globals have from the start.
    inputs: Vec<Option<i128>>,
    words: PhantomData<W>,
}

impl<'a, W: Words> Unfolding<'a, W> {
    /// The model of a machine.
    pub fn new(machine: &'a Machine) -> Self {
        assert!(
            W::zeroed(machine.words()).words().len() >= machine.words(),
            "states fit"
        );
        Unfolding {
            machine,
            scratch: RefCell::default(),
            watch: None,
            inputs: Vec::new(),
            words: PhantomData,
        }
    }

    /// The same, with values that globals have from the start.
    #[must_use]
    pub fn beginning_with(mut self, inputs: &[Option<i128>]) -> Self {
        self.inputs = inputs.to_vec();
        self
    }

    /// The same; the limits are also checked while the choices in one state are tried out.
    pub fn within(machine: &'a Machine, limits: &Limits) -> Self {
        Unfolding {
            watch: Some(Watch::new(limits)),
            ..Unfolding::new(machine)
        }
    }
}

impl<W: Words> Model for Unfolding<'_, W> {
    type State = W;

    fn initial(&self, out: &mut Vec<W>) {
        out.push(self.machine.initial(&self.inputs));
    }

    #[inline]
    fn steps(&self, state: &W, out: &mut Steps<W>) {
        if let Some(watch) = &self.watch {
            out.watch(watch);
        }
        self.machine.steps(state, out);
    }

    fn resume(&self, caller: &W, _: CallId, exit: &W, out: &mut Vec<W>) -> bool {
        let mut steps = self.scratch.borrow_mut();
        steps.clear();
        if let Some(watch) = &self.watch {
            steps.watch(watch);
        }
        self.machine.resume(caller, exit, None, &mut steps);
        out.extend(steps.drain().filter_map(|step| match step {
            Step::Internal(state) => Some(state),
            _ => None,
        }));
        !steps.overflowed()
    }

    #[inline]
    fn holds(&self, state: &W, proposition: PropId) -> bool {
        self.machine.answer(state.words(), proposition.0)
    }

    #[inline]
    fn silent(&self, state: &W) -> bool {
        self.machine.silent(state.words())
    }

    fn refine(&self, state: &W, tag: u32, index: u64) -> W {
        let mut part = state.clone();
        let field = *self.machine.field(state.words(), tag);
        field.set(part.words_mut(), Some(index));
        part
    }

    fn terminated(&self, exit: &W) -> Option<W> {
        Some(self.machine.terminated(exit))
    }
}
