//! Weighted pushdown systems.
//!
//! A [pushdown system](system) is a program's control flow with its stack; a [domain] says what is
//! known about paths. [`prestar`] and [`poststar`] compute, for regular sets of configurations given
//! as [automata](automaton), the combined weight of all paths to or from every configuration.
//!
//! The algorithms are those of Reps, Schwoon, Jha and Melski (Weighted pushdown systems and their
//! application to interprocedural dataflow analysis, 2005) and of Lal and Reps (Improving pushdown
//! system model checking, 2006), called the FWPDS paper here.

pub mod automaton;
mod by_paths;
mod components;
pub mod domain;
pub mod domains;
mod expression;
pub mod laws;
mod paths;
mod post;
mod pre;
mod saturate;
pub mod system;

pub use automaton::{Automaton, Direction, Transition};
pub use domain::Domain;
pub use post::poststar;
pub use pre::prestar;
pub use saturate::{Method, Options, Order};
pub use system::{MergeId, Pds, PdsBuilder, Replace, Rule, StateId, SymbolId};
