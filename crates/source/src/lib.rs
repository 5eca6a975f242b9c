//! Source text, places in it, and messages about them.
//!
//! A [`SourceFile`] is text with a name and line numbers, a [`Span`] a piece of it. A
//! [`Diagnostic`](diagnostics::Diagnostic) says what is wrong with such a piece, and how to fix it.
//! [`suggest`] finds the name that may have been meant, and [`json`] reads JSON with places. Every
//! language of Droste uses these: Boolean programs, temporal logic, the Hanoi format, the
//! fixed-point calculus.

pub mod diagnostics;
pub mod json;
mod source;
pub mod suggest;

pub use source::*;

/// Why a file cannot be read or written, in the words of the system, without its number.
pub fn io_reason(error: &dyn std::fmt::Display) -> String {
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or_default();
    text.to_lowercase()
}
