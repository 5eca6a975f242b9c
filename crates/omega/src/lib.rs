//! Automata that watch runs of a [`Model`](droste_base::Model).
//!
//! A [`Watcher`] is a finite automaton whose edges are guarded by propositions of the model;
//! [`Product`] runs the two together and is again a model, so that every search works on it. An
//! [`Observer`] collects marks on the way; [`Observed`] is a model and an observer. [`Buchi`]
//! automata are observers, and so is the [`Tableau`] of a formula.

mod buchi;
mod observe;
mod product;
mod tableau;

pub use buchi::Buchi;
pub use observe::{At, Move, Observed, Observer};
pub use product::{Product, Watcher, WatcherState};
pub use tableau::Tableau;
