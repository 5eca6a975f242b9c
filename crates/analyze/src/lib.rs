//! Interprocedural data flow of sequential programs, by extended weighted pushdown systems.
//!
//! A program becomes a pushdown system ([`flow`]): its stack holds the places where calls return
//! to. An analysis says what each statement does in its weight domain: gen/kill bit vectors for
//! [live and unassigned variables](bits), copy constants for [constants], modules of
//! affine transformations for [affine relations](affine). Merge functions restore the caller's
//! locals at a return (Lal, Reps and Balakrishnan, Extended weighted pushdown systems, 2005). The
//! result is what holds at each statement on all paths on which returns match calls.
//! `docs/ANALYSES.md` says what each analysis means; `tests/analyses.rs` compares the results on random
//! programs with naive definitions.

pub mod affine;
pub mod bits;
pub mod constants;
pub mod flow;
mod mention;
pub mod words;

use droste_base::{Limits, StopReason};
use droste_program::{NodeId, Program, Value, VarRef};

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    /// Which variables may still be read before they are assigned.
    Live,
    /// Which variables may not have been assigned yet.
    Unassigned,
    /// Which variables have the same value whenever control is there.
    Constants,
    /// Which affine relations hold between integer variables.
    Affine,
}

/// What is known at a statement, before it is executed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fact {
    /// These variables are live.
    Live(Vec<VarRef>),
    /// These variables may be unassigned; and those of them that the statement reads.
    Unassigned {
        /// They may be unassigned.
        variables: Vec<VarRef>,
        /// They may be unassigned and are read.
        read: Vec<VarRef>,
    },
    /// These variables have these values.
    Constants(Vec<(VarRef, Value)>),
    /// These relations hold.
    Affine(Vec<Relation>),
}

/// `a₁·x₁ + … + aₙ·xₙ + c` is a multiple of `2^width`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Relation {
    /// The variables and their coefficients, which are not zero.
    pub terms: Vec<(VarRef, u64)>,
    /// The constant.
    pub constant: u64,
    /// How many bits count.
    pub width: u32,
}

/// Why there is no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The program has threads.
    Concurrent,
    /// A limit was reached.
    Stopped(StopReason),
}

impl From<StopReason> for Failure {
    fn from(reason: StopReason) -> Self {
        Failure::Stopped(reason)
    }
}

/// What is known at each node; nothing where no path leads.
pub fn analyze(
    program: &Program,
    question: Question,
    limits: &Limits,
) -> Result<Vec<Option<Fact>>, Failure> {
    if program.is_concurrent() {
        return Err(Failure::Concurrent);
    }
    let facts = match question {
        Question::Live => bits::live(program, limits),
        Question::Unassigned => bits::unassigned(program, limits),
        Question::Constants => constants::constants(program, limits),
        Question::Affine => affine::affine(program, limits),
    };
    Ok(facts?)
}

/// The nodes of a program.
fn nodes(program: &Program) -> impl Iterator<Item = NodeId> + use<> {
    (0..program.nodes.len() as u32).map(NodeId)
}

/// The variables that a node sees: globals, then the locals of its procedure.
fn visible(program: &Program, node: NodeId) -> impl Iterator<Item = VarRef> + use<> {
    let procedure = program.procedure(program.node(node).procedure);
    let globals = (0..program.globals.len() as u32).map(VarRef::Global);
    globals.chain((0..procedure.locals.len() as u32).map(VarRef::Local))
}
