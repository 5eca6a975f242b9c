//! Questions about any [`Model`](droste_base::Model), answered by the searches of crate `explicit`.
//!
//! A [`Checker`] replays every run before it reports it, and makes it shorter if it can. It serves
//! models that users write in Rust, and heap programs.

mod checker;
mod error;
mod temporal;

pub use checker::{Checker, Outcome};
pub use error::Error;
