//! The weight domains that are shipped.

mod ordered;
mod relation;

pub use ordered::{Boolean, MinPlus, Pair};
pub use relation::{Matrix, Relations};
