//! A naive interpreter.

pub(crate) mod interpret;
