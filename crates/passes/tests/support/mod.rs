//! A naive interpreter and a generator of small random programs.

pub(crate) mod generate;
pub(crate) mod interpret;
