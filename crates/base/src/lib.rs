//! What every part of Droste shares: the [`Model`] trait, [`Verdict`]s, [`Trace`]s (and their
//! [replay](replay_trace)), [`Limits`] and progress reports; and two tools: the [`Interner`], and
//! [workers](on_worker) that report their progress.
//!
//! The traits are here so that those who implement them (Boolean programs, products with monitors,
//! a user's own Rust type) and those who use them (the search algorithms) need not know each other.

pub mod flatten;
pub mod interner;
pub mod lasso;
pub mod limits;
pub mod memory;
pub mod model;
pub mod progress;
pub mod replay;
pub mod trace;
pub mod verdict;
pub mod words;
pub mod worker;

pub use flatten::{Event, FlatPosition, FlatTrace};
pub use interner::Interner;
pub use limits::{Countable, Deadline, Guard, Limits, Rival, StopReason};
pub use model::{CallId, Model, PropId, Split, Step, Steps, Watch, Where};
pub use progress::{Counters, Progress, Reporter};
pub use replay::{Claim, Mismatch, replay_trace};
pub use trace::{Cycle, Position, Run, RunId, Trace, Via};
pub use verdict::{Certificate, Counterexample, Runs, Verdict};
pub use worker::on_worker;
