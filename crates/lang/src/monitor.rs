//! Monitors: finite automata that watch a run (VERA, section 5).
//!
//! ```text
//! // Nobody takes the lock twice in a row.
//! monitor double_lock {
//!     initial state free   { when at(lock) goto held; }
//!     state held           { when at(unlock) goto free; when at(lock) goto error; }
//!     target state error;
//! }
//! ```
//!
//! At every position of the run, from the first on, the monitor makes one move: it takes one of the
//! edges whose guard is true there (any of them, if several are), or, if none is, what `otherwise`
//! says: `otherwise stay;` (the default), `otherwise goto S;`, or `otherwise block;`, after which
//! the run violates nothing. The property is violated if some run takes the monitor to a `target`
//! state, or through `repeating` states infinitely often. Guards are Boolean expressions over
//! globals, locals `proc::x`, `at(L)`, `at(proc:L)`, `in(proc)` and `terminated`.

pub use droste_program::monitor::StateKind;

use crate::ast::{Ast, ExprId, Name};

/// A monitor as it was written.
#[derive(Clone, Debug)]
pub struct MonitorSyntax {
    /// Holds the guards.
    pub ast: Ast,
    /// The name after `monitor`.
    pub name: Name,
    /// The states, in the order of the file.
    pub states: Vec<StateSyntax>,
}

/// A state of a monitor as it was written.
#[derive(Clone, Debug)]
pub struct StateSyntax {
    /// Its name.
    pub name: Name,
    /// Whether runs start here.
    pub initial: bool,
    /// `target`, `repeating`, or neither.
    pub kind: StateKind,
    /// `when GUARD goto NAME;`
    pub edges: Vec<(ExprId, Name)>,
    /// What happens if no guard is true.
    pub otherwise: Otherwise,
}

/// What a monitor does when no guard is true.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Otherwise {
    /// Stay in the state.
    Stay,
    /// The run is not watched any more: it violates nothing.
    Block,
    /// Go there.
    Goto(Name),
}
