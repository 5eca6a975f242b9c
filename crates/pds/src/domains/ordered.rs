//! Domains whose weights are numbers, or pairs of weights.

use droste_base::StopReason;

use crate::domain::Domain;

/// Whether there is a path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Boolean;

impl Domain for Boolean {
    type Weight = bool;

    #[inline]
    fn one(&self) -> bool {
        true
    }

    #[inline]
    fn zero(&self) -> bool {
        false
    }

    #[inline]
    fn combine(&self, a: &bool, b: &bool) -> Result<bool, StopReason> {
        Ok(*a || *b)
    }

    #[inline]
    fn extend(&self, a: &bool, b: &bool) -> Result<bool, StopReason> {
        Ok(*a && *b)
    }

    #[inline]
    fn equal(&self, a: &bool, b: &bool) -> bool {
        a == b
    }
}

/// The length of a shortest path. Lengths are natural numbers; those beyond 2⁶⁴ − 2 count as that.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MinPlus;

impl MinPlus {
    /// The length of no path.
    pub const INFINITY: u64 = u64::MAX;
}

impl Domain for MinPlus {
    type Weight = u64;

    #[inline]
    fn one(&self) -> u64 {
        0
    }

    #[inline]
    fn zero(&self) -> u64 {
        Self::INFINITY
    }

    #[inline]
    fn combine(&self, a: &u64, b: &u64) -> Result<u64, StopReason> {
        Ok(*a.min(b))
    }

    #[inline]
    fn extend(&self, a: &u64, b: &u64) -> Result<u64, StopReason> {
        if *a == Self::INFINITY || *b == Self::INFINITY {
            return Ok(Self::INFINITY);
        }
        Ok(a.saturating_add(*b).min(Self::INFINITY - 1))
    }

    #[inline]
    fn equal(&self, a: &u64, b: &u64) -> bool {
        a == b
    }

    fn star(&self, _: &u64) -> Result<u64, StopReason> {
        Ok(0)
    }

    #[inline]
    fn rank(&self, weight: &u64) -> Option<u64> {
        Some(*weight)
    }
}

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
}
