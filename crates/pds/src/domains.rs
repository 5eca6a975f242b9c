//! The weight domains that are shipped.

mod dataflow;
mod ordered;
mod relation;

pub use dataflow::{Assignments, CopyConstants, GenKill, Known, Transformer};
pub use ordered::{Boolean, MinPlus, Pair};
pub use relation::{Matrix, Relations};
