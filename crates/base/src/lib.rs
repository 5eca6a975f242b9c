//! What every part of Droste shares: the [`Model`] trait, [`Verdict`]s,
//! [`Trace`]s, [`Limits`] and progress reports.
//!
//! The traits sit here so that those who implement them (Boolean programs,
//! products with monitors, a user's own Rust type) and those who consume them
//! (the search algorithms) never meet.

pub mod limits;
pub mod model;
pub mod progress;
pub mod trace;
pub mod verdict;

pub use limits::{Guard, Limits, StopReason};
pub use model::{CallId, Model, PropId, Split, Step, Steps};
pub use progress::{Progress, Reporter};
pub use trace::{Cycle, Position, Run, RunId, Trace, Via};
pub use verdict::{Certificate, Verdict};
