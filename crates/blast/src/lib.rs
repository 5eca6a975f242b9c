//! Programs as Boolean functions: what the expressions and the operations of a
//! [`Program`](droste_program::Program) do to the bits of its variables.
//!
//! The symbolic engines need the transition *relation*. This crate computes it bit by bit,
//! over any [`Logic`]: decision diagrams, formulas that are printed, or plain `bool`s in the
//! tests. It knows nothing of control, stacks or fixed points.
//!
//! * [`State`] has the bits of every variable; [`storage`](bits) says how a value is stored in
//!   them: [`bits`] many, [`encode`], [`decode`], [`in_range`].
//! * [`Blaster::effect`] gives what the operation of a node does, as functions of the bits before
//!   the step and of *choice bits*: failures, guards, and new values.
//! * [`Blaster::resume`] stores the results of a call that has returned.
//! * [`Blaster::after`] gives the conditions (`constrain`, `enforce`) that relate the bits before a
//!   step to those after it.
//!
//! # Choices
//!
//! Everything nondeterministic (`*`, `schoose`) is a fresh bit of the logic. Once the choice
//! bits are fixed an operation is deterministic: it either fails in one way or has one outcome. So
//! the relation is the function with the choice bits quantified existentially, and all
//! choices of a step are listed with it, for whoever has to do that.
//!
//! # What keeps it honest
//!
//! Every node of random programs, from random values, is compared with the replayer: the steps,
//! calls, returns and failures that follow from the bits, with all choices tried, are exactly those
//! the replayer accepts. Expressions over wide types are compared in the same way, and every
//! operator exhaustively for small operands.

mod arithmetic;
mod effect;
mod evaluate;
mod logic;
pub mod order;
mod storage;
mod word;

pub use effect::{After, Blaster, Destination, Effect, New, Store};
pub use evaluate::{Evaluated, Scene};
pub use logic::Logic;
pub use storage::{State, bits, decode, encode, in_range};
pub use word::Word;
