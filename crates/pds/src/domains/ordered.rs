//! Domains whose weights are totally ordered: combining takes the better one.

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

    fn is_total(&self) -> bool {
        true
    }

    fn is_boolean(&self) -> bool {
        true
    }

    fn is_best(&self, weight: &bool) -> bool {
        *weight
    }
}

/// The length of a shortest path, as an integer of 64 bits.
///
/// The weight of no path is [`INFINITY`](Self::INFINITY). Lengths are never wrong:
///
/// * [`non_negative`](Self::non_negative) numbers: a sum beyond 2⁶³ − 2 counts as 2⁶³ − 2, which
///   thus means that or more. Weights have a [rank](Domain::rank). A negative weight is refused.
/// * [`any`](Self::any) numbers: a sum outside of ±(2⁶³ − 2) is refused. A cycle of negative
///   length has the star [`MINUS_INFINITY`](Self::MINUS_INFINITY): its paths have no shortest.
///
/// What is refused ends a search with [`StopReason::OutOfRange`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MinPlus {
    negative: bool,
}

impl MinPlus {
    /// The length of no path.
    pub const INFINITY: i64 = i64::MAX;

    /// The length of paths that get shorter for ever.
    pub const MINUS_INFINITY: i64 = i64::MIN;

    /// The greatest length. Of numbers that are not negative: this or more.
    pub const GREATEST: i64 = i64::MAX - 1;

    /// Lengths that are not negative.
    pub const fn non_negative() -> Self {
        MinPlus { negative: false }
    }

    /// All lengths.
    pub const fn any() -> Self {
        MinPlus { negative: true }
    }

    /// Whether weights may be negative.
    pub const fn has_negative(self) -> bool {
        self.negative
    }

    #[cold]
    fn extend_any(self, a: i64, b: i64) -> Result<i64, StopReason> {
        if a == Self::INFINITY || b == Self::INFINITY {
            return Ok(Self::INFINITY);
        }
        if !self.negative {
            return Err(StopReason::OutOfRange);
        }
        if a == Self::MINUS_INFINITY || b == Self::MINUS_INFINITY {
            return Ok(Self::MINUS_INFINITY);
        }
        let finite = |sum: &i64| sum.unsigned_abs() <= Self::GREATEST.unsigned_abs();
        let sum = a.checked_add(b).filter(finite);
        sum.ok_or(StopReason::OutOfRange)
    }
}

impl Domain for MinPlus {
    type Weight = i64;

    #[inline]
    fn one(&self) -> i64 {
        0
    }

    #[inline]
    fn zero(&self) -> i64 {
        Self::INFINITY
    }

    #[inline]
    fn combine(&self, a: &i64, b: &i64) -> Result<i64, StopReason> {
        Ok(*a.min(b))
    }

    #[inline]
    fn extend(&self, a: &i64, b: &i64) -> Result<i64, StopReason> {
        // Half of the range: no sum of two such numbers leaves it.
        const SMALL: u64 = 1 << 61;
        let small = |x: i64| x.cast_unsigned() < SMALL;
        if small(*a) && small(*b) {
            return Ok(a + b);
        }
        if self.negative || (a | b) < 0 {
            return self.extend_any(*a, *b);
        }
        if *a == Self::INFINITY || *b == Self::INFINITY {
            return Ok(Self::INFINITY);
        }
        Ok(a.saturating_add(*b).min(Self::GREATEST))
    }

    #[inline]
    fn equal(&self, a: &i64, b: &i64) -> bool {
        a == b
    }

    fn star(&self, a: &i64) -> Result<i64, StopReason> {
        match (*a >= 0, self.negative) {
            (true, _) => Ok(0),
            (false, true) => Ok(Self::MINUS_INFINITY),
            (false, false) => Err(StopReason::OutOfRange),
        }
    }

    fn rest(&self, part: &i64, weight: &i64) -> Option<i64> {
        if part == weight {
            return Some(0);
        }
        let finite = |x: i64| (x != Self::MINUS_INFINITY && x < Self::GREATEST).then_some(x);
        let rest = finite(*weight)?.checked_sub(finite(*part)?)?;
        finite(rest).filter(|&rest| self.negative || rest >= 0)
    }

    fn is_total(&self) -> bool {
        true
    }

    fn is_best(&self, weight: &i64) -> bool {
        *weight == self.bottom().unwrap_or(0)
    }

    fn bottom(&self) -> Option<i64> {
        self.negative.then_some(Self::MINUS_INFINITY)
    }

    fn greatest(&self) -> Option<i128> {
        self.negative.then_some(i128::from(Self::GREATEST))
    }

    fn number(&self, weight: &i64) -> Option<i128> {
        let infinite = [Self::INFINITY, Self::MINUS_INFINITY].contains(weight);
        (!infinite).then(|| i128::from(*weight))
    }

    fn with_number(&self, number: i128) -> Option<i64> {
        let weight = i64::try_from(number).ok()?;
        (weight.unsigned_abs() <= Self::GREATEST.unsigned_abs()).then_some(weight)
    }

    #[inline]
    fn rank(&self, weight: &i64) -> Option<u64> {
        u64::try_from(*weight).ok().filter(|_| !self.negative)
    }
}

/// The length of a longest path: [`MinPlus`] with signs turned. The weight of no path is
/// [`MINUS_INFINITY`](Self::MINUS_INFINITY).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MaxPlus {
    turned: MinPlus,
}

impl MaxPlus {
    /// The length of no path.
    pub const MINUS_INFINITY: i64 = i64::MIN;

    /// The length of paths that get longer for ever.
    pub const INFINITY: i64 = i64::MAX;

    /// Lengths that are not positive; a sum below −(2⁶³ − 2) counts as that.
    pub const fn non_positive() -> Self {
        MaxPlus {
            turned: MinPlus::non_negative(),
        }
    }

    /// All lengths.
    pub const fn any() -> Self {
        MaxPlus {
            turned: MinPlus::any(),
        }
    }

    /// The same with its sign turned; one infinity is the other's.
    const fn turn(weight: i64) -> i64 {
        match weight {
            i64::MIN => i64::MAX,
            i64::MAX => i64::MIN,
            other => -other,
        }
    }
}

impl Domain for MaxPlus {
    type Weight = i64;

    fn one(&self) -> i64 {
        0
    }

    fn zero(&self) -> i64 {
        Self::MINUS_INFINITY
    }

    fn combine(&self, a: &i64, b: &i64) -> Result<i64, StopReason> {
        Ok(*a.max(b))
    }

    fn extend(&self, a: &i64, b: &i64) -> Result<i64, StopReason> {
        // Its counterpart would be infinity.
        if [*a, *b].contains(&-i64::MAX) {
            return Err(StopReason::OutOfRange);
        }
        let sum = self.turned.extend(&Self::turn(*a), &Self::turn(*b))?;
        Ok(Self::turn(sum))
    }

    fn equal(&self, a: &i64, b: &i64) -> bool {
        a == b
    }

    fn star(&self, a: &i64) -> Result<i64, StopReason> {
        self.turned.star(&Self::turn(*a)).map(Self::turn)
    }

    fn rest(&self, part: &i64, weight: &i64) -> Option<i64> {
        let rest = self.turned.rest(&Self::turn(*part), &Self::turn(*weight))?;
        Some(Self::turn(rest))
    }

    fn is_total(&self) -> bool {
        true
    }

    fn is_best(&self, weight: &i64) -> bool {
        self.turned.is_best(&Self::turn(*weight))
    }

    fn bottom(&self) -> Option<i64> {
        self.turned.bottom().map(Self::turn)
    }

    fn greatest(&self) -> Option<i128> {
        self.turned.greatest()
    }

    fn number(&self, weight: &i64) -> Option<i128> {
        let infinite = [Self::INFINITY, Self::MINUS_INFINITY].contains(weight);
        (!infinite).then(|| -i128::from(*weight))
    }

    fn with_number(&self, number: i128) -> Option<i64> {
        self.turned.with_number(number).map(Self::turn)
    }

    fn rank(&self, weight: &i64) -> Option<u64> {
        self.turned.rank(&Self::turn(*weight))
    }
}
