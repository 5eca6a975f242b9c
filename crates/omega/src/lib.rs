//! Automata that watch runs of a [`Model`](droste_base::Model).
//!
//! A [`Watcher`] is a finite automaton whose edges are guarded by propositions of the model;
//! [`Product`] runs the two together and is again a model, so that every search works on it.

mod product;

pub use product::{Product, Watcher, WatcherState};
