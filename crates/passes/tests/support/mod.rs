//! A naive interpreter and a generator of small random programs.

pub mod generate;
pub mod interpret;
