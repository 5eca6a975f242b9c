//! Weights (section 2.3 of the FWPDS paper): bounded idempotent semirings. The laws stand with [`Domain`],
//! and [`crate::laws`] tests them.

use std::fmt::Debug;

use droste_base::StopReason;

use crate::system::MergeId;

/// A bounded idempotent semiring, as an object: decision diagrams need a manager and may stop at a
/// limit, so operations can fail.
///
/// # Laws
///
/// For all weights `a`, `b`, `c`, up to [`equal`](Self::equal):
///
/// * `combine` is associative, commutative and idempotent, with `zero` as its neutral element.
/// * `extend` is associative, with `one` as its neutral element on both sides.
/// * `extend` distributes over `combine` on both sides, and `zero` annihilates.
/// * In the order `a ⊑ b iff combine(a, b) = a` there are no infinite descending chains; or a search
///   stops at its limits.
/// * `combine(a, diff(b, a)) = combine(a, b)`, and `diff(b, a) = zero` iff `combine(a, b) = a`.
/// * `star(a)` is the combination of `one`, `a`, `a·a`, and so on.
/// * `merge(m, zero, a) = merge(m, a, zero) = zero`; it distributes over `combine` in both arguments,
///   and `merge(m, extend(a, b), c) = extend(a, merge(m, b, c))`.
///
/// [`crate::laws::check`] tests them.
pub trait Domain {
    /// A weight.
    type Weight: Clone + Debug;

    /// The weight of the empty path.
    fn one(&self) -> Self::Weight;

    /// The weight of no path.
    fn zero(&self) -> Self::Weight;

    /// The weight of either path.
    fn combine(&self, a: &Self::Weight, b: &Self::Weight) -> Result<Self::Weight, StopReason>;

    /// The weight of one path after the other.
    fn extend(&self, a: &Self::Weight, b: &Self::Weight) -> Result<Self::Weight, StopReason>;

    /// Whether two weights are the same.
    fn equal(&self, a: &Self::Weight, b: &Self::Weight) -> bool;

    /// Whether a weight is [`zero`](Self::zero).
    fn is_zero(&self, a: &Self::Weight) -> bool {
        self.equal(a, &self.zero())
    }

    /// What `b` adds to `a`. All of `b`, if the domain knows no better, unless `a` has it already.
    fn diff(&self, b: &Self::Weight, a: &Self::Weight) -> Result<Self::Weight, StopReason> {
        if self.equal(&self.combine(a, b)?, a) {
            return Ok(self.zero());
        }
        Ok(b.clone())
    }

    /// The weight of any number of repetitions: `(one ⊕ a)` squared until it changes no more
    /// (section 3.2).
    fn star(&self, a: &Self::Weight) -> Result<Self::Weight, StopReason> {
        let mut power = self.combine(&self.one(), a)?;
        loop {
            let square = self.extend(&power, &power)?;
            if self.equal(&square, &power) {
                return Ok(power);
            }
            power = square;
        }
    }

    /// What a caller knows after a callee has returned (section 3.3).
    fn merge(
        &self,
        merge: MergeId,
        caller: &Self::Weight,
        callee: &Self::Weight,
    ) -> Result<Self::Weight, StopReason> {
        let _ = merge;
        self.extend(caller, callee)
    }

    /// Whether `combine` always gives one of its two arguments: the better of two paths counts.
    fn is_total(&self) -> bool {
        false
    }

    /// Whether zero and one are all the weights there are: only the existence of a path counts.
    fn is_boolean(&self) -> bool {
        false
    }

    /// Whether no weight is better: `combine` with any other gives this one.
    fn is_best(&self, weight: &Self::Weight) -> bool {
        let _ = weight;
        false
    }

    /// For a total order with infinite descending chains: the weight below all others, which
    /// `extend` makes of it and anything but zero. Saturation gives it to transitions whose weight
    /// falls for ever. `None` if there are no such chains.
    fn bottom(&self) -> Option<Self::Weight> {
        None
    }

    /// For a domain with a [bottom](Self::bottom) whose weights are numbers: [`extend`](Self::extend) adds
    /// them, and [`combine`](Self::combine) takes the lesser one. This is the greatest number, and minus it
    /// the least. `None` if the domain does not know; then sums that are out of range end a search.
    fn greatest(&self) -> Option<i128> {
        None
    }

    /// See [`greatest`](Self::greatest): the number of a weight. `None` for zero and the bottom.
    fn number(&self, weight: &Self::Weight) -> Option<i128> {
        let _ = weight;
        None
    }

    /// See [`greatest`](Self::greatest): the weight with this number, if it is in the range.
    fn with_number(&self, number: i128) -> Option<Self::Weight> {
        let _ = number;
        None
    }

    /// What is left of a weight behind a part: some `x` with `extend(part, x) = extend(x, part) =
    /// weight`. `None` if there is none, or if the domain does not know. Determinisation asks.
    fn rest(&self, part: &Self::Weight, weight: &Self::Weight) -> Option<Self::Weight> {
        self.equal(part, weight).then(|| self.one())
    }

    /// A number by which totally ordered weights are sorted, the best first. `None` if the domain
    /// is not of that kind, or if extending may lead to a better weight.
    fn rank(&self, weight: &Self::Weight) -> Option<u64> {
        let _ = weight;
        None
    }
}
