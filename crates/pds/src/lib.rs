//! Weighted pushdown systems.
//!
//! A [pushdown system](system) is a program's control flow with its stack; a [domain] says what is
//! known about paths. [`prestar`] and [`poststar`] compute, for regular sets of configurations given
//! as [automata](automaton), the combined weight of all paths to or from every configuration.
//!
//! [`guide`] shows how to write an analysis of one's own.
//!
//! The algorithms are those of Reps, Schwoon, Jha and Melski (Weighted pushdown systems and their
//! application to interprocedural dataflow analysis, 2005) and of Lal and Reps (Improving pushdown
//! system model checking, 2006), called the FWPDS paper here.
//!
//! What keeps it honest: on random systems, pre* and post* are compared with the grammar solved naively,
//! with each other, and with paths of bounded stacks (`tests/saturation.rs`), and every run is replayed with
//! its weight (`tests/reach.rs`).

pub mod automaton;
mod by_paths;
mod calls;
mod choose;
mod components;
pub mod concurrent;
pub mod domain;
pub mod domains;
mod dual;
mod either;
mod evaluate;
mod expression;
mod falling;
mod fold;
pub mod guide;
pub mod laws;
mod modular;
mod parallel;
mod paths;
mod post;
mod pre;
mod procedures;
mod query;
mod saturate;
mod small;
pub mod system;
mod weighing;
mod wide;
mod witness;
mod worklist;

pub use automaton::{Automaton, Configuration, Direction, Transition};
pub use by_paths::{LazyAutomaton, poststar_lazy, prestar_lazy};
pub use domain::Domain;
pub use modular::{Modular, RuleId};
pub use parallel::{poststar_on, prestar_on};
pub use post::{poststar, poststar_until};
pub use pre::prestar;
pub use query::{Reached, Way, reach, reach_on};
pub use saturate::{Method, Options, Order, Priority};
pub use system::{MergeId, Pds, PdsBuilder, Replace, Rule, StateId, SymbolId};
pub use wide::Wide;
pub use witness::{Move, Witness};
