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
//! At every position of the run, from the first on, the monitor makes one move: it takes
//! one of the edges whose guard is true there (any of them, if several are), or, if none is,
//! what `otherwise` says: `otherwise stay;` (the default), `otherwise goto S;`, or `otherwise
//! block;`, which gives up the run. The property is violated if some run takes the
//! monitor to a `target` state, or through `repeating` states infinitely often.
//! Guards are Boolean expressions over globals, locals `proc::x`, `at(L)`, `at(proc:L)`, `in(proc)`
//! and `terminated`.

use std::sync::Arc;

use crate::ast::{Ast, ExprId, Name};
use crate::program::Proposition;

/// What visiting a state of the monitor means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StateKind {
    /// Nothing.
    Plain,
    /// A violation.
    Target,
    /// A violation if it happens infinitely often.
    Repeating,
}

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

/// A monitor whose names have been resolved in a program.
#[derive(Clone, Debug)]
pub struct Monitor {
    /// Its name.
    pub name: Arc<str>,
    /// Its states.
    pub states: Vec<MonitorState>,
    /// Where it starts: index into `states`.
    pub initial: u32,
}

/// A state of a [`Monitor`].
#[derive(Clone, Debug)]
pub struct MonitorState {
    /// Its name.
    pub name: Arc<str>,
    /// What visiting it means.
    pub kind: StateKind,
    /// Guards and where they lead (indices into [`Monitor::states`]).
    pub edges: Vec<(Proposition, u32)>,
    /// Where to go if no guard is true; `None` blocks.
    pub otherwise: Option<u32>,
}
