//! Reordering while a theory is solved.
//!
//! The order that [`crate::order`] gives is mostly good, and then sifting gains nothing. So it
//! begins late, a few variables are moved first, and it goes on only if that makes the diagrams much
//! smaller ([`Sifter::careful`]). It is tried
//!
//! * when there are many nodes in use; the next time when there are four times as many, or sixteen times
//!   as many if little was saved;
//! * when one operation takes as many steps as everything before: it is broken off, and done again
//!   in the new order. What it works on is still small then, and shows what belongs together.
//!
//! The clusters of the order stay together: the copies of a bit, and what a file wants interleaved.
//!
//! Diagrams keep their meaning, so everything that has been computed stays good. The only terms that
//! mean something else in another order are `assume` and `cofactor`: a theory with one of them keeps
//! its order.
//!
//! What keeps it honest: the random theories of `tests/random`, reordered all the time.

use std::ops::Range;

use droste_base::StopReason;
use droste_bdd::{Sifter, Var};

use crate::engine::Engine;
use crate::term::Term;

type Result<T> = std::result::Result<T, StopReason>;

/// Fewer nodes are not worth it.
const FROM: usize = 1 << 18;
/// An operation with fewer steps is not broken off.
const SHORT: u64 = 4_000_000;

/// When to reorder, and what.
pub(crate) struct Reordering {
    groups: Vec<Vec<Var>>,
    /// Operations with fewer steps are not broken off.
    short: u64,
    /// Nothing while the order stays as it is.
    sifter: Option<Sifter>,
}

impl Reordering {
    /// The order stays as it is so far. The variables of a cluster stay together.
    pub(crate) fn new(clusters: &[Range<u32>]) -> Self {
        let groups = clusters.iter().filter(|cluster| cluster.len() > 1);
        Reordering {
            groups: groups
                .map(|levels| levels.clone().map(Var).collect())
                .collect(),
            short: SHORT,
            sifter: None,
        }
    }

    /// How often variables were reordered, and the nodes before and after it, the last time that it
    /// paid.
    pub(crate) fn reorderings(&self) -> (u64, Option<(usize, usize)>) {
        let sifter = self.sifter.as_ref();
        sifter.map_or((0, None), |sifter| (sifter.reorderings, sifter.paid))
    }
}

impl Engine {
    /// From now on, variables may be reordered; as often as possible if it is `eager`.
    pub(crate) fn reorder(&mut self, eager: bool) {
        let mut terms = self.theory.terms.iter();
        if terms.any(|term| matches!(term, Term::Care(..))) {
            return;
        }
        let (from, short) = if eager { (0, 50) } else { (FROM, SHORT) };
        self.reordering.short = short;
        self.reordering.sifter = Some(Sifter::careful(from));
    }

    /// Does some work, and reorders variables before it, or if it takes long. It may be done twice.
    pub(crate) fn watched<T>(&mut self, mut work: impl FnMut(&mut Self) -> Result<T>) -> Result<T> {
        let manager = self.manager.clone();
        let Some(sifter) = &mut self.reordering.sifter else {
            return work(self);
        };
        sifter.tend(&manager, || &self.reordering.groups, || {})?;
        let patience = self.reordering.short.max(manager.steps());
        if let Some(value) = manager.within(patience, || work(self))? {
            return Ok(value);
        }
        if let Some(sifter) = &mut self.reordering.sifter {
            sifter.sift(&manager, &self.reordering.groups)?;
        }
        work(self)
    }
}
