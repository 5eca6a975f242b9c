//! A program compiled for exploration: what each node does to packed states.
//!
//! # Nondeterminism on demand
//!
//! A state holds, beside the values, which variables have none yet: uninitialised ones, those that
//! were assigned `*`, and those whose value cannot matter any more. Such a state stands for all its
//! completions. An operation that has to read a variable without a value does nothing but ask for
//! it: the state is split by that variable, and each part tries again. A right-hand side that can
//! be either Boolean (`*`, `schoose[F, F]`) makes its target unknown instead of giving two
//! successors. That is right because each `*` is independent of everything else in the state.
//!
//! *Why this is exact* (`docs/NONDETERMINISM.md` has the proof). By induction on the path, an
//! unknown variable is independent of all others: any completion of a reached state is reachable by
//! the same path of statements. A variable becomes unknown when it may have any value, whatever the
//! rest is, and it stays unknown while nothing reads it. Copying is reading, unless the source is
//! given up in the same step, so no two variables ever share one unknown value. Conversely a
//! concrete run is covered step by step by the states that keep the values it read. A concrete path
//! is recovered by choosing, where a variable became unknown, the value it is later read with (see
//! `concretize`).
//!
//! Summaries need no more. An entry with an unknown global and an exit where it is known describe
//! the calls with that value. A global that nothing touched comes back unknown and is still the
//! same unknown. The conditions of a call may read, after the return, what was there before: old
//! values in `constrain`, and locals that keep their value. Such values are read before the call,
//! because the callee may read an unknown global and change it, and then its old value would be
//! lost.

use droste_base::Steps;
use droste_program::effects::Effects;
use droste_program::{ProcId, Program};

use crate::code::Code;
use crate::layout::{Field, Layout, Status};
use crate::predicates::StatePredicate;
use crate::words::Words;

/// A value to be stored: where, what, and whether an unknown variable may move there.
pub(crate) type Store = (Field, Code, bool);

pub(crate) enum Action {
    Goto(Box<[u32]>),
    Assign {
        stores: Box<[Store]>,
        discards: Box<[Code]>,
        constrain: Option<Code>,
        next: u32,
    },
    Branch {
        condition: Code,
        yes: u32,
        no: u32,
    },
    Assume {
        condition: Code,
        next: u32,
    },
    Assert {
        condition: Code,
        next: u32,
    },
    Call {
        callee: u32,
        /// Variables whose old value is read after the return.
        before: Box<[Field]>,
        args: Box<[Store]>,
        /// Where each result comes from and goes to.
        targets: Box<[(Field, Field)]>,
        constrain: Option<Code>,
        /// What is kept after the return beside what is live at `next`; empty for nothing.
        kept: Box<[u64]>,
        next: u32,
    },
    Return {
        /// Globals that have a value by now.
        reads: Box<[Field]>,
        values: Box<[Store]>,
    },
    Stuck,
}

pub(crate) struct Node {
    pub(crate) procedure: u32,
    pub(crate) action: Action,
    pub(crate) silent: bool,
    pub(crate) ensure: Option<Code>,
}

/// A compiled program.
pub struct Machine {
    pub(crate) layout: Layout,
    pub(crate) nodes: Vec<Node>,
    pub(crate) entries: Vec<u32>,
    pub(crate) main: u32,
    /// Per node `layout.words` words: the bits that are kept on arrival.
    pub(crate) masks: Vec<u64>,
    /// Per node: where its bits are in `reads`, if calls look ahead beyond it; `NOT` otherwise.
    pub(crate) ahead: Vec<u32>,
    /// `layout.words` words for each such node: the bits that it and its observers read.
    pub(crate) reads: Vec<u64>,
    /// Likewise per procedure, for exits.
    pub(crate) exit_masks: Vec<u64>,
    pub(crate) terminated_mask: Vec<u64>,
    /// The bits of all globals.
    pub(crate) global_mask: Vec<u64>,
    /// Per procedure, the bits of the globals that calls of it take along and bring back.
    pub(crate) touched: Vec<u64>,
    pub(crate) predicates: Vec<StatePredicate>,
    /// Whether violations are states, or just the end of a run.
    pub(crate) failures: bool,
    /// Whether returns read the globals that conditions of callers look at then.
    pub(crate) returns_read: bool,
    /// Whether every variable that matters gets a value at once.
    pub(crate) eager: bool,
    /// Per node, and at the end for the terminated program: whether some question there is about
    /// variables.
    pub(crate) observes: Vec<bool>,
    /// The globals (by slot) that predicates are about.
    pub(crate) observed: Vec<u32>,
}

/// The variable that is needed first, by slot.
pub(crate) struct Needs(pub(crate) u32);

/// Values that variables (by slot) are wanted to have after a step: used when a concrete run is
/// rebuilt, to make the choices that lead where the run goes.
pub(crate) type Goal<'a> = &'a dyn Fn(u32) -> Option<u64>;

impl Machine {
    /// Leaves the globals that a procedure does not touch out of its calls (`effects`): many calls
    /// then share one entry state. `program` is the program the machine was made of.
    pub fn localise(&mut self, program: &Program) {
        let effects = if self.returns_read {
            Effects::with_returns(program, &[])
        } else {
            Effects::new(program)
        };
        self.touched.fill(0);
        for (procedure, mask) in self.touched.chunks_mut(self.layout.words).enumerate() {
            for (i, field) in self.layout.globals.iter().enumerate() {
                if effects.touches(ProcId(procedure as u32), i as u32)
                    || self.observed.contains(&field.slot)
                {
                    field.cover(mask);
                }
            }
        }
    }

    /// With `true`, variables get a value as soon as they may matter instead of when they are
    /// read: many more states, the same verdicts.
    pub fn set_eager(&mut self, eager: bool) {
        self.eager = eager;
    }

    /// A variable that may matter here and has no value.
    fn undecided(&self, words: &[u64], status: Status) -> Result<(), Needs> {
        let node = self.layout.node(words) as usize;
        let (mask, locals): (&[u64], &[Field]) = match status {
            Status::Terminated => (&self.terminated_mask, &[]),
            _ => (
                &self.masks[node * self.layout.words..],
                &self.layout.locals[self.nodes[node].procedure as usize],
            ),
        };
        let fields = self.layout.globals.iter().chain(locals);
        // A field is covered as a whole or not at all.
        let unknown = |f: &&Field| f.get(mask).is_some() && f.get(words).is_none();
        fields
            .into_iter()
            .find(unknown)
            .map_or(Ok(()), |field| Err(Needs(field.slot)))
    }

    /// Words a state needs.
    pub fn words(&self) -> usize {
        self.layout.words
    }

    /// The one state in which every run starts: nothing has a value, but for these globals.
    pub(crate) fn initial<W: Words>(&self, inputs: &[Option<i128>]) -> W {
        let mut state = W::zeroed(self.layout.words);
        for (field, value) in self.layout.globals.iter().zip(inputs) {
            field.set(state.words_mut(), value.map(|value| field.offset(value)));
        }
        self.layout.set_control(
            state.words_mut(),
            self.entries[self.main as usize],
            Status::Running,
        );
        state
    }

    /// The field with this slot, at this state.
    pub(crate) fn field(&self, words: &[u64], slot: u32) -> &Field {
        let slot = slot as usize;
        let globals = self.layout.globals.len();
        if slot < globals {
            &self.layout.globals[slot]
        } else {
            let procedure = self.nodes[self.layout.node(words) as usize].procedure;
            &self.layout.locals[procedure as usize][slot - globals]
        }
    }

    /// Everything a state can do, or the split it needs first.
    pub(crate) fn steps<W: Words>(&self, state: &W, out: &mut Steps<W>) {
        let words = state.words();
        let status = self.layout.status(words);
        let observes = match status {
            Status::Running => self.observes[self.layout.node(words) as usize],
            Status::Terminated => self.observes[self.nodes.len()],
            _ => false,
        };
        if observes && let Err(needs) = self.observe(words, status) {
            return self.split(words, &needs, out);
        }
        if self.eager
            && matches!(status, Status::Running | Status::Terminated)
            && let Err(needs) = self.undecided(words, status)
        {
            return self.split(words, &needs, out);
        }
        match status {
            Status::Running => {
                if let Err(needs) = self.execute(state, None, out) {
                    out.clear();
                    self.split(words, &needs, out);
                }
            }
            Status::Terminated => out.step(state.clone()),
            Status::Failed(_) | Status::Exited => {}
        }
    }

    fn split<W>(&self, words: &[u64], needs: &Needs, out: &mut Steps<W>) {
        out.split(needs.0, self.field(words, needs.0).top.saturating_add(1));
    }

    /// The procedure of a running state's node.
    pub(crate) fn procedure(&self, words: &[u64]) -> u32 {
        self.nodes[self.layout.node(words) as usize].procedure
    }
}
