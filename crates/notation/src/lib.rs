//! Pushdown systems as text.
//!
//! [`read()`] takes a text in any of the formats that people have and makes a [`System`]: names,
//! rules, the texts of weights, and two sets of configurations. [`weight`] says how the weights of
//! each domain are written. [`build`] makes the tables that the solver takes, in a domain that is
//! chosen then.
//!
//! The formats are described in `docs/WEIGHTED.md`. Readers go through the text once and build no
//! tree of it; what they keep is in proportion to the rules.

#![allow(clippy::doc_markdown, reason = "names of tools")]

pub mod build;
mod cuba;
mod moped;
mod names;
mod numeric;
mod own;
mod pdaaal;
mod problems;
mod read;
mod regex;
mod scanner;
mod sets;
mod system;
mod wali;
pub mod weight;
mod write;
mod xml;

pub use cuba::{StackTop, concurrent_state, concurrent_target};
pub use names::Names;
pub use problems::{Enough, Problems};
pub use read::{Document, Format, ReadError, detect, read, read_as};
pub use scanner::written;
pub use sets::{SetError, read_set};
pub use system::{
    ANY, Concurrent, Configurations, Edge, Label, ONE, Place, Reading, Right, Rule, System, Texts,
    Thread, ThreadRule, WeightId,
};
pub use weight::{DomainName, Notation, Signs};
pub use write::{WriteError, write};
