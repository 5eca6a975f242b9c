//! A formula of linear temporal logic about a program, as it was written.
//!
//! This is what a property *means*, before it is simplified or translated into an automaton: the
//! replayer evaluates it along a run as it was written. The nodes are in postorder, so that one
//! pass from left to right suffices for everything, whatever the depth.

use std::sync::Arc;

use crate::program::Proposition;

/// An operator and the indices of its operands, which come before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Temporal {
    /// True or false.
    Constant(bool),
    /// Index into [`Formula::propositions`].
    Proposition(u32),
    /// `!a`
    Not(u32),
    /// `a && b`
    And(u32, u32),
    /// `a || b`
    Or(u32, u32),
    /// `a -> b`
    Implies(u32, u32),
    /// `a <-> b`
    Iff(u32, u32),
    /// `X a`: at the next position.
    Next(u32),
    /// `F a`: now or later.
    Finally(u32),
    /// `G a`: now and always.
    Globally(u32),
    /// `a U b`: `b` now or later, and `a` until then.
    Until(u32, u32),
    /// `a R b`: `b` up to and including the first `a`, for ever if there is none.
    Release(u32, u32),
    /// `a W b`: `a U b`, or `a` for ever.
    WeakUntil(u32, u32),
    /// `a M b`: `a R b`, and there is an `a`.
    StrongRelease(u32, u32),
}

impl Temporal {
    /// The operands, in order.
    pub fn operands(self) -> impl Iterator<Item = u32> {
        use Temporal::{
            And, Constant, Finally, Globally, Iff, Implies, Next, Not, Or, Proposition, Release,
            StrongRelease, Until, WeakUntil,
        };
        let (a, b) = match self {
            Constant(_) | Proposition(_) => (None, None),
            Not(a) | Next(a) | Finally(a) | Globally(a) => (Some(a), None),
            And(a, b)
            | Or(a, b)
            | Implies(a, b)
            | Iff(a, b)
            | Until(a, b)
            | Release(a, b)
            | WeakUntil(a, b)
            | StrongRelease(a, b) => (Some(a), Some(b)),
        };
        a.into_iter().chain(b)
    }
}

/// A formula over propositions of a program.
#[derive(Clone, Debug)]
pub struct Formula {
    /// In postorder; the last one is the formula.
    pub nodes: Vec<Temporal>,
    /// What each node was written as, for people; as many as there are nodes.
    pub texts: Vec<Arc<str>>,
    /// The propositions.
    pub propositions: Vec<Proposition>,
}
