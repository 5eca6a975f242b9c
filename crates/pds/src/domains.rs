//! The weight domains that are shipped.

mod affine;
mod dataflow;
mod equations;
mod framed;
mod howell;
mod ordered;
mod pair;
mod relation;
mod vectors;

pub use affine::{Affine, Linear, Relation};
pub use dataflow::{Assignments, CopyConstants, GenKill, Known, Source, Transformer};
pub use equations::{equation, sum};
pub use framed::{Call, Framed, Scoped};
pub use howell::Module;
pub use ordered::{Boolean, MaxPlus, MinPlus};
pub use pair::Pair;
pub use relation::{Matrix, Relations};
pub use vectors::{Lexicographic, Vector};
