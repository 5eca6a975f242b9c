//! Automata that watch runs of a [`Model`](droste_base::Model).
//!
//! A [`Watcher`] is a finite automaton whose edges are guarded by propositions of the model;
//! [`Product`] runs the two together and is again a model, so that every search works on it. An
//! [`Observer`] collects marks on the way; [`Observed`] is a model and an observer. [`Buchi`]
//! automata are observers, and so is the [`Tableau`] of a formula. Both products, and those of the
//! searches, are [`Remembering`]: a model with a [`Memory`].

mod buchi;
mod observe;
mod product;
mod remember;
mod tableau;

pub use buchi::Buchi;
pub use observe::{At, Move, Observed, Observer, Observing};
pub use product::{Product, Watcher, WatcherState};
pub use remember::{Memory, Remembering};
pub use tableau::Tableau;
