//! Merge functions for procedures with local variables (section 3.3 of the FWPDS paper), for any
//! domain whose weights act on variables.
//!
//! A call reads what it passes on, then enters its callee with new locals. When the callee has
//! returned, the caller's locals are what they were before the call. So a merge function composes
//! entering and the callee's effect, and restores what belongs to the caller.

use droste_base::StopReason;

use crate::domain::Domain;
use crate::system::MergeId;

/// A domain whose weights act on numbered variables.
pub trait Scoped: Domain {
    /// The same effect, but these variables are left as they are. It must be linear: it distributes
    /// over [`combine`](Domain::combine), and what it makes of zero is zero.
    fn restored(&self, effect: &Self::Weight, kept: &[u32]) -> Self::Weight;
}

/// What a call does.
#[derive(Clone, Debug)]
pub struct Call<W> {
    /// What happens in the caller's frame, before the callee is entered.
    pub before: W,
    /// What makes the callee's frame of the caller's.
    pub enter: W,
    /// The caller's variables: they are restored at the return.
    pub kept: Vec<u32>,
}

/// A domain with merge functions for calls.
#[derive(Clone, Debug)]
pub struct Framed<D: Scoped> {
    domain: D,
    calls: Vec<Call<D::Weight>>,
}

impl<D: Scoped> Framed<D> {
    /// The domain, with no calls yet.
    pub fn new(domain: D) -> Self {
        Framed {
            domain,
            calls: Vec::new(),
        }
    }

    /// The domain without merge functions.
    pub fn inner(&self) -> &D {
        &self.domain
    }

    /// A new merge function, and the weight of its push rule.
    pub fn call(&mut self, call: Call<D::Weight>) -> Result<(MergeId, D::Weight), StopReason> {
        let weight = self.domain.extend(&call.before, &call.enter)?;
        self.calls.push(call);
        Ok((MergeId(self.calls.len() as u32 - 1), weight))
    }
}

impl<D: Scoped> Domain for Framed<D> {
    type Weight = D::Weight;

    fn one(&self) -> D::Weight {
        self.domain.one()
    }

    fn zero(&self) -> D::Weight {
        self.domain.zero()
    }

    fn combine(&self, a: &D::Weight, b: &D::Weight) -> Result<D::Weight, StopReason> {
        self.domain.combine(a, b)
    }

    fn extend(&self, a: &D::Weight, b: &D::Weight) -> Result<D::Weight, StopReason> {
        self.domain.extend(a, b)
    }

    fn equal(&self, a: &D::Weight, b: &D::Weight) -> bool {
        self.domain.equal(a, b)
    }

    fn is_zero(&self, a: &D::Weight) -> bool {
        self.domain.is_zero(a)
    }

    fn diff(&self, b: &D::Weight, a: &D::Weight) -> Result<D::Weight, StopReason> {
        self.domain.diff(b, a)
    }

    fn star(&self, a: &D::Weight) -> Result<D::Weight, StopReason> {
        self.domain.star(a)
    }

    fn rest(&self, part: &D::Weight, weight: &D::Weight) -> Option<D::Weight> {
        self.domain.rest(part, weight)
    }

    fn is_total(&self) -> bool {
        self.domain.is_total()
    }

    fn is_best(&self, weight: &D::Weight) -> bool {
        self.domain.is_best(weight)
    }

    fn bottom(&self) -> Option<D::Weight> {
        self.domain.bottom()
    }

    fn rank(&self, weight: &D::Weight) -> Option<u64> {
        self.domain.rank(weight)
    }

    fn merge(
        &self,
        merge: MergeId,
        caller: &D::Weight,
        callee: &D::Weight,
    ) -> Result<D::Weight, StopReason> {
        let Some(call) = self.calls.get(merge.0 as usize) else {
            return self.domain.merge(merge, caller, callee);
        };
        let inside = self.domain.extend(&call.enter, callee)?;
        let effect = self.domain.restored(&inside, &call.kept);
        let before = self.domain.extend(caller, &call.before)?;
        self.domain.extend(&before, &effect)
    }
}
