//! Weights of two domains side by side.

use droste_base::StopReason;

use crate::domain::Domain;
use crate::system::MergeId;

/// Weights of two domains side by side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pair<A, B>(pub A, pub B);

impl<A: Domain, B: Domain> Domain for Pair<A, B> {
    type Weight = (A::Weight, B::Weight);

    fn one(&self) -> Self::Weight {
        (self.0.one(), self.1.one())
    }

    fn zero(&self) -> Self::Weight {
        (self.0.zero(), self.1.zero())
    }

    fn combine(&self, a: &Self::Weight, b: &Self::Weight) -> Result<Self::Weight, StopReason> {
        Ok((self.0.combine(&a.0, &b.0)?, self.1.combine(&a.1, &b.1)?))
    }

    fn extend(&self, a: &Self::Weight, b: &Self::Weight) -> Result<Self::Weight, StopReason> {
        Ok((self.0.extend(&a.0, &b.0)?, self.1.extend(&a.1, &b.1)?))
    }

    fn equal(&self, a: &Self::Weight, b: &Self::Weight) -> bool {
        self.0.equal(&a.0, &b.0) && self.1.equal(&a.1, &b.1)
    }

    fn diff(&self, b: &Self::Weight, a: &Self::Weight) -> Result<Self::Weight, StopReason> {
        Ok((self.0.diff(&b.0, &a.0)?, self.1.diff(&b.1, &a.1)?))
    }

    fn star(&self, a: &Self::Weight) -> Result<Self::Weight, StopReason> {
        Ok((self.0.star(&a.0)?, self.1.star(&a.1)?))
    }

    fn merge(
        &self,
        merge: MergeId,
        caller: &Self::Weight,
        callee: &Self::Weight,
    ) -> Result<Self::Weight, StopReason> {
        Ok((
            self.0.merge(merge, &caller.0, &callee.0)?,
            self.1.merge(merge, &caller.1, &callee.1)?,
        ))
    }

    fn rest(&self, part: &Self::Weight, weight: &Self::Weight) -> Option<Self::Weight> {
        Some((
            self.0.rest(&part.0, &weight.0)?,
            self.1.rest(&part.1, &weight.1)?,
        ))
    }
}
