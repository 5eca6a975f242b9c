//! Text, places in it, and what is to be said about them.
//!
//! A [`SourceFile`] is text with a name and line numbers, a [`Span`] a piece of it. A
//! [`Diagnostic`](diagnostics::Diagnostic) says what is wrong with such a piece, and how to mend
//! it. [`suggest`] finds the name that may have been meant, and [`json`] reads JSON with places.
//! Every language of Droste uses these: Boolean programs, temporal logic, the Hanoi format, the
//! fixed-point calculus.

pub mod diagnostics;
pub mod json;
mod source;
pub mod suggest;

pub use source::*;
