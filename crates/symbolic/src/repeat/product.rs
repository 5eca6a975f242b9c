//! The product of a program and an automaton, as a program.
//!
//! Basu, Narayan Kumar, Pokorny and Ramakrishnan (*Resource-Constrained Model Checking of Recursive
//! Programs*, TACAS 2002, section 2) multiply the pushdown system with the automaton and look for
//! accepting runs. Here the product is written in the language of programs itself: the automaton's
//! state is a few Boolean globals, and at every position it makes one move, before the statement is
//! executed or together with it. Everything the symbolic engine knows about programs (relations,
//! summaries, what a procedure does not touch, the order of variables, shortest traces) then serves
//! for products as well.
//!
//! Three products are needed, which differ in what is done about the mark:
//!
//! * [`Mode::Hull`], for the search for fair cycles: a local of each procedure says whether the
//!   mark was met since its entry, and is one more result. A summary thus tells whether some run
//!   through the callee meets the mark, the *goodness* of the paper's `Erase`.
//! * [`Mode::Stem`], for a run to a given position: no mark.
//! * [`Mode::Cycle`], for a run from a position back to it: `main` is a copy of the position's
//!   procedure that begins there and never returns, and the mark is a global, so that it also
//!   counts across calls that do not return.
//!
//! A head is asked for by the values of what its procedure can change or read, in the first of the
//! three products. The other two see to it that the same variables are part of their states.
//!
//! The outermost frame has a copy of `main` of its own. Where this copy returns, the run goes on in
//! a node in which nothing happens any more, except that the automaton reads.

mod build;
mod restore;
mod statement;

use droste_base::Guard;
use droste_program::liveness::Liveness;
use droste_program::{NodeId, ProcId, Program, Proposition, Threads, Value, VarRef};
use droste_relations::Result;

use self::build::Builder;
use super::automaton::Buchi;
use crate::Runs;

/// A position, in both the program and the automaton: what a cycle goes through.
#[derive(Clone, Debug)]
pub(crate) struct Head {
    /// Whether it is in the outermost frame.
    pub(crate) outermost: bool,
    /// Where control is; nowhere after the end of the program.
    pub(crate) node: Option<NodeId>,
    /// The automaton's state, before it has read the position.
    pub(crate) state: u32,
    /// The values of what matters there and can change.
    pub(crate) values: Vec<(VarRef, Value)>,
}

/// What the product is for.
#[derive(Clone, Copy)]
pub(crate) enum Mode<'h> {
    Hull,
    Stem(&'h Head),
    Cycle(&'h Head, Runs),
}

/// What a node of the product stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// The procedure is entered.
    Enter,
    /// The automaton reads the position, unless it is silent, and perhaps the statement is
    /// executed with it.
    Read,
    /// The statement is executed.
    Do,
    /// After a call: the callee's mark is added to the caller's.
    Merge,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Origin {
    pub(crate) role: Role,
    /// The node of the program; none after its end.
    pub(crate) node: Option<NodeId>,
}

/// How many locals and how many results of a procedure are the program's.
type Own = (usize, usize);

/// A program that runs another one and an automaton.
pub(crate) struct Product {
    pub(crate) program: Program,
    /// For each node.
    pub(crate) origin: Vec<Origin>,
    /// The nodes at which heads are asked for, and the values that make a state the head.
    pub(crate) targets: Vec<NodeId>,
    pub(crate) wanted: Vec<(VarRef, Value)>,
    /// How many globals the program has; those behind are ours.
    globals: usize,
    /// For each procedure, how many of its locals and results are the program's.
    locals: Vec<Own>,
    /// The procedure of the outermost frame.
    pub(crate) base: ProcId,
    /// The bits of the automaton's state.
    pub(crate) state: Vec<VarRef>,
    is_cycle: bool,
    is_hull: bool,
}

impl Product {
    pub(crate) fn new(
        source: &Program,
        propositions: &[Proposition],
        automaton: &Buchi,
        mode: Mode<'_>,
        guard: &mut Guard,
    ) -> Result<Self> {
        let mut globals = source.globals.clone();
        let mut builder = Builder::new(source, propositions, automaton, mode, &mut globals);
        let (procedures, locals) = builder.procedures(guard)?;
        let wanted = builder.wanted();
        Ok(Product {
            base: ProcId(procedures.len() as u32 - 1),
            program: Program {
                main: ProcId(procedures.len() as u32 - 1),
                globals,
                procedures,
                nodes: builder.nodes,
                threads: Threads::Dynamic,
            },
            origin: builder.origin,
            wanted,
            targets: builder.targets,
            globals: source.globals.len(),
            locals,
            state: builder.state,
            is_cycle: matches!(mode, Mode::Cycle(..)),
            is_hull: matches!(mode, Mode::Hull),
        })
    }

    /// Which locals of a procedure are the program's.
    pub(crate) fn own_locals(&self, procedure: ProcId) -> u32 {
        self.locals[procedure.0 as usize].0 as u32
    }

    /// How many globals are the program's.
    pub(crate) fn own_globals(&self) -> u32 {
        self.globals as u32
    }

    /// In [`Mode::Hull`], the local that says whether the mark was met since the procedure was
    /// entered.
    pub(crate) fn mark(&self, procedure: ProcId) -> VarRef {
        VarRef::Local(self.own_locals(procedure))
    }

    pub(crate) fn is_outermost(&self, node: NodeId) -> bool {
        self.program.node(node).procedure == self.base
    }
}

/// What matters in a product, given what matters in the program.
pub(crate) struct Matters<'a> {
    pub(crate) product: &'a Product,
    pub(crate) live: &'a dyn Liveness,
}

impl Liveness for Matters<'_> {
    fn live(&self, node: NodeId, var: VarRef) -> bool {
        let product = self.product;
        let origin = product.origin[node.0 as usize];
        let procedure = product.program.node(node).procedure;
        let outermost = procedure == product.base;
        let entering = origin.role == Role::Enter;
        match var {
            // At the beginning of the run, or of a cycle, the automaton's state is given.
            VarRef::Global(i) if i >= product.own_globals() => !(entering && outermost),
            VarRef::Local(i) if i >= product.own_locals(procedure) => {
                match i - product.own_locals(procedure) {
                    0 if product.is_hull => !entering,
                    1 if product.is_hull => origin.role == Role::Merge,
                    // The results of `main`.
                    _ => false,
                }
            }
            _ if entering && outermost && product.is_cycle => false,
            _ => match (origin.node, var) {
                (Some(node), _) => self.live.live(node, var),
                (None, VarRef::Global(i)) => self.live.live_after_termination(i),
                (None, VarRef::Local(_)) => false,
            },
        }
    }

    fn live_at_exit(&self, procedure: ProcId, global: u32) -> bool {
        global >= self.product.own_globals() || self.live.live_at_exit(procedure, global)
    }

    fn live_after_termination(&self, global: u32) -> bool {
        self.live.live_after_termination(global)
    }
}
