//! Boolean programs as [`Model`](droste_base::Model)s: a [`Program`](droste_program::Program)
//! compiled to a [`Machine`] over packed states, unfolded on demand.
//!
//! [`Unfolding`] is the model, for a given width of states; `concretize` turns an engine's trace
//! back into a concrete execution of the program. [`Threading`] is for engines that schedule
//! threads.

mod ahead;
mod code;
mod compile;
mod concretize;
mod execute;
mod layout;
mod machine;
mod model;
mod pack;
mod predicates;
mod resume;
mod threads;
mod words;

#[cfg(test)]
mod tests;

pub use concretize::{Gap, concretize, concretize_stuck};
pub use droste_program::liveness::{AllLive, Liveness};
pub use machine::Machine;
pub use model::Unfolding;
pub use threads::{ThreadControl, Threading};
pub use words::Words;
