//! Heap programs: pointer programs over abstract heaps, checked.
//!
//! * [`settings`] reads what is to be done, [`proposition`] what formulas are about.
//! * A [`Task`](task::Task) is a program, a grammar and initial heaps. It becomes a
//!   [`Machine`](machine::Machine): a [`Model`](droste_base::Model), searched like any other.
//! * [`check`](check::check) answers the questions; a [`Run`](run::Run) shows a violation, and
//!   [`vacuity`] says where an answer is about no run.
//! * [`page`] makes pages for a browser that show runs, [`spaces`] those that show states, heaps and
//!   grammars.
//!
//! What keeps it honest: random programs run in a concrete interpreter that shares nothing with the abstract
//! semantics, and every concrete state must be covered by an abstract one (`tests/soundness.rs`).

mod at_hand;
mod careful;
pub mod check;
mod concrete;
mod context;
pub mod contract;
mod execute;
mod group;
mod label;
pub mod load;
pub mod machine;
mod method;
mod model;
pub mod page;
pub mod picture;
pub mod proposition;
pub mod returns;
pub mod run;
pub mod settings;
mod sizes;
pub mod spaces;
mod steps;
pub mod task;
pub mod vacuity;
mod vocabulary;
mod wellformed;
