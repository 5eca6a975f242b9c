//! Monitors whose names have been resolved: finite automata that watch a run (VERA, section 5).
//!
//! At every position of the run, from the first on, the monitor makes one move. It takes one of the
//! edges whose guard is true there (any of them, if several are). If there is none, it does what
//! `otherwise` says. The property is violated if some run takes the monitor to a target state, or
//! through repeating states infinitely often. The text form is the front end's.

use std::sync::Arc;

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
