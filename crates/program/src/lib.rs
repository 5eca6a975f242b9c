//! The recursive state machine that a program compiles to, and properties of it.
//!
//! A [`Program`] is the extended recursive state machine of VERA, section 2, with source spans:
//! front ends make it, engines explore it. [`execution`] is a concrete run of one, for people, JSON
//! and the replayer; [`concurrent`] is a run with threads, [`schedule`] what an engine knows of
//! such a run, [`valued`] a state of an engine's trace. These modules are about a program:
//! [`labels`] (looking them up), [`monitor`] and [`temporal`] (properties whose names have been
//! resolved), [`effects`] and [`liveness`] (which variables matter where), [`interval`] (which
//! values expressions can have), [`display`] (expressions as text) and [`mod@dot`] (a picture). No
//! parser is in here: the replayer links this crate, and must not link a front end.

mod arithmetic;
pub mod concurrent;
pub mod display;
pub mod dot;
pub mod effects;
pub mod execution;
pub mod interval;
pub mod labels;
mod lasso;
pub mod liveness;
pub mod monitor;
mod program;
pub mod quiet;
pub mod schedule;
pub mod standing;
pub mod temporal;
mod types;
pub mod valued;

pub use program::*;
