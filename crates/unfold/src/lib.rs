//! Boolean programs as [`Model`](droste_base::Model)s: a [`Program`](droste_lang::program::Program)
//! compiled to a [`Machine`] over packed states, unfolded on demand.
//!
//! [`Unfolding`] is the model, for a given width of states; `concretize` turns an engine's
//! trace back into a concrete execution of the program.

mod code;
mod compile;
mod concretize;
mod layout;
mod machine;
mod model;
mod words;

pub use concretize::{Gap, concretize};
pub use machine::{AllLive, Liveness, Machine};
pub use model::Unfolding;
pub use words::Words;
