//! Intervals of integers: which values an operator can have, hence how many bits it needs.
//!
//! Programs are accepted only if 128 bits hold every intermediate value. An interval whose bounds
//! leave them becomes [`Interval::ANY`]: then words have 128 bits and wrap around, as
//! in the other evaluators.

use droste_program::{Operator, Value};

/// All integers from `lo` to `hi`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Interval {
    pub(crate) lo: Value,
    pub(crate) hi: Value,
}

/// The longest distance of a left shift.
const LONGEST_SHIFT: Value = 64;

impl Interval {
    pub(crate) const ANY: Interval = Interval {
        lo: Value::MIN,
        hi: Value::MAX,
    };
    pub(crate) const BIT: Interval = Interval { lo: 0, hi: 1 };

    pub(crate) fn new(lo: Value, hi: Value) -> Self {
        debug_assert!(lo <= hi, "an interval is not empty");
        Interval { lo, hi }
    }

    pub(crate) fn constant(value: Value) -> Self {
        Interval::new(value, value)
    }

    pub(crate) fn contains(self, value: Value) -> bool {
        (self.lo..=self.hi).contains(&value)
    }

    pub(crate) fn as_constant(self) -> Option<Value> {
        (self.lo == self.hi).then_some(self.lo)
    }

    pub(crate) fn is_signed(self) -> bool {
        self.lo < 0
    }

    /// The greatest absolute value.
    pub(crate) fn magnitude(self) -> u128 {
        self.lo.unsigned_abs().max(self.hi.unsigned_abs())
    }

    /// How many bits hold every value: two's complement if some are negative.
    pub(crate) fn width(self) -> usize {
        let plain = |value: Value| 128 - (if value < 0 { !value } else { value }).leading_zeros();
        let most = plain(self.lo).max(plain(self.hi));
        (most + u32::from(self.is_signed())) as usize
    }

    fn hull(corners: &[Option<Value>]) -> Self {
        let mut hull: Option<Interval> = None;
        for corner in corners {
            let Some(value) = *corner else {
                return Interval::ANY;
            };
            hull = Some(match hull {
                None => Interval::constant(value),
                Some(h) => Interval::new(h.lo.min(value), h.hi.max(value)),
            });
        }
        hull.unwrap_or(Interval::constant(0))
    }

    pub(crate) fn negated(self) -> Self {
        Interval::hull(&[self.lo.checked_neg(), self.hi.checked_neg()])
    }

    pub(crate) fn complement(self) -> Self {
        Interval::new(!self.hi, !self.lo)
    }

    /// The values of an arithmetic operator, where it does not fail.
    pub(crate) fn apply(operator: Operator, a: Interval, b: Interval) -> Interval {
        let corners = |f: &dyn Fn(Value, Value) -> Option<Value>, b: Interval| {
            Interval::hull(&[f(a.lo, b.lo), f(a.lo, b.hi), f(a.hi, b.lo), f(a.hi, b.hi)])
        };
        match operator {
            Operator::Add => corners(&Value::checked_add, b),
            Operator::Sub => corners(&Value::checked_sub, b),
            Operator::Mul => corners(&Value::checked_mul, b),
            Operator::Div => Self::quotient(a, b),
            Operator::Rem => Self::remainder(a, b),
            Operator::Shl => {
                let far = |d: Value| d.clamp(0, LONGEST_SHIFT);
                let shift = |x: Value, d: Value| x.checked_mul(1 << d);
                corners(&shift, Interval::new(far(b.lo), far(b.hi)))
            }
            Operator::Shr => {
                let far = |d: Value| d.clamp(0, 127);
                corners(&|x, d| Some(x >> d), Interval::new(far(b.lo), far(b.hi)))
            }
            Operator::BitAnd | Operator::BitOr | Operator::BitXor => Self::bitwise(operator, a, b),
            _ => Interval::BIT,
        }
    }

    /// For divisors of one sign the quotient is monotone in both operands, so corners suffice.
    fn quotient(a: Interval, b: Interval) -> Interval {
        let mut corners = Vec::new();
        let mut divide = |lo: Value, hi: Value| {
            if lo <= hi {
                for x in [a.lo, a.hi] {
                    corners.extend([lo, hi].map(|y| x.checked_div(y)));
                }
            }
        };
        divide(b.lo.max(1), b.hi);
        divide(b.lo, b.hi.min(-1));
        Interval::hull(&corners)
    }

    /// The sign of the left operand; smaller than the right, not larger than the left.
    fn remainder(a: Interval, b: Interval) -> Interval {
        let below = b.magnitude().saturating_sub(1);
        let bound = |x: Value| x.unsigned_abs().min(below) as Value;
        Interval::new(
            if a.lo < 0 { -bound(a.lo) } else { 0 },
            if a.hi > 0 { bound(a.hi) } else { 0 },
        )
    }

    fn bitwise(operator: Operator, a: Interval, b: Interval) -> Interval {
        let width = a.width().max(b.width());
        match (a.is_signed(), b.is_signed()) {
            (false, false) => {
                let ones = if width == 0 {
                    0
                } else {
                    Value::MAX >> (127 - width)
                };
                match operator {
                    Operator::BitAnd => Interval::new(0, a.hi.min(b.hi)),
                    Operator::BitOr => Interval::new(a.lo.max(b.lo), ones),
                    _ => Interval::new(0, ones),
                }
            }
            (false, true) if operator == Operator::BitAnd => Interval::new(0, a.hi),
            (true, false) if operator == Operator::BitAnd => Interval::new(0, b.hi),
            (left, right) => {
                // A word without a sign bit needs one beside a word with one.
                let width = (a.width() + usize::from(!left)).max(b.width() + usize::from(!right));
                if width >= 128 {
                    return Interval::ANY;
                }
                let half = 1 << (width - 1);
                Interval::new(-half, half - 1)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Interval, Operator, Value};

    fn apply(operator: Operator, x: Value, y: Value) -> Option<Value> {
        match operator {
            Operator::Add => Some(x + y),
            Operator::Sub => Some(x - y),
            Operator::Mul => Some(x * y),
            Operator::Div => x.checked_div(y),
            Operator::Rem => x.checked_rem(y),
            Operator::Shl if y >= 0 => Some(x << y.min(64)),
            Operator::Shr if y >= 0 => Some(x >> y.min(127)),
            Operator::BitAnd => Some(x & y),
            Operator::BitOr => Some(x | y),
            Operator::BitXor => Some(x ^ y),
            _ => None,
        }
    }

    #[test]
    fn every_value_is_in_the_interval_and_fits_its_width() {
        use Operator::{Add, BitAnd, BitOr, BitXor, Div, Mul, Rem, Shl, Shr, Sub};
        let bounds = -5..=5;
        let all: Vec<Interval> = bounds
            .clone()
            .flat_map(|lo| (lo..=5).map(move |hi| Interval::new(lo, hi)))
            .collect();
        for operator in [Add, Sub, Mul, Div, Rem, Shl, Shr, BitAnd, BitOr, BitXor] {
            for &a in &all {
                for &b in &all {
                    let result = Interval::apply(operator, a, b);
                    for x in a.lo..=a.hi {
                        for y in b.lo..=b.hi {
                            let Some(value) = apply(operator, x, y) else {
                                continue;
                            };
                            assert!(
                                result.contains(value),
                                "{x} {operator:?} {y} = {value} is not in {result:?}"
                            );
                        }
                    }
                }
            }
        }
        for a in all {
            let width = a.width();
            for x in a.lo..=a.hi {
                let fits = if a.is_signed() {
                    (-(1 << (width - 1))..1 << (width - 1)).contains(&x)
                } else {
                    x < 1 << width
                };
                assert!(fits, "{x} does not fit into {width} bits");
                assert!(a.negated().contains(-x) && a.complement().contains(!x));
            }
        }
    }

    #[test]
    fn what_leaves_128_bits_is_anything() {
        let wide = Interval::new(0, Value::MAX);
        assert_eq!(Interval::apply(Operator::Add, wide, wide), Interval::ANY);
        assert_eq!(Interval::apply(Operator::Mul, wide, wide), Interval::ANY);
        let least = Interval::constant(Value::MIN);
        assert_eq!(least.negated(), Interval::ANY);
        let minus = Interval::constant(-1);
        assert_eq!(Interval::apply(Operator::Div, least, minus), Interval::ANY);
        assert_eq!(Interval::ANY.width(), 128);
        assert_eq!(wide.width(), 127);
    }
}
