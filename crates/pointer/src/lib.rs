//! Pointer programs: methods of classes in three-address form, over a heap of objects.
//!
//! This is the form in which heap programs are analysed. A front end (crate `java`) makes it, an
//! abstract semantics (crate `shape`) runs it on abstract heaps. What needs no abstraction is here:
//! the types, a printer, passes over methods ([`simplify()`]), [`Liveness`], and a concrete
//! [interpreter](interpret).
//!
//! The statements are those of Jimple that matter for the shape of a heap. References are exact.
//! Of other data only constants are: what is computed from them is [`Operand::Unknown`].

mod copies;
pub mod interpret;
mod liveness;
mod print;
mod program;
mod simplify;

pub use copies::propagate_copies;
pub use liveness::{Liveness, LocalSet};
pub use program::*;
pub use simplify::{
    eliminate_dead_assignments, merge_names, remove_idle_hands, remove_nops, remove_unused_locals,
    shorten_jumps, simplify, simplify_method,
};
