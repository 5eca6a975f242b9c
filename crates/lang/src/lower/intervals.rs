//! Which values an integer expression can take, and whether 128 bits hold them.
//!
//! Programs compute in mathematical integers; evaluators compute in `i128` and wrap. The
//! two agree as long as no intermediate value leaves the range of `i128`. Where one may, the
//! wrapped value is still right modulo 2¹²⁸, because `+ - * << & | ^ ~` and negation are
//! functions of their operands' low bits; that is enough to store it into a bit
//! vector, and not enough to compare, divide, shift right or store it into a range. An
//! [`Interval`] says which of the two is the case: it is *exact* if every value fits.
//!
//! Every function here over-approximates: a value that the operation can yield on operands
//! from the given intervals lies in the result (tested exhaustively on small intervals).

use crate::ast::{BinaryOp, Type};

/// All values from `lo` to `hi`; or, if not `exact`, any integer whatever, known only
/// modulo 2¹²⁸.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Interval {
    pub(crate) lo: i128,
    pub(crate) hi: i128,
    pub(crate) exact: bool,
}

/// Left-shift distances above this count as this.
const LONGEST_SHIFT: i128 = 64;

impl Interval {
    pub(crate) const ANY: Interval = Interval {
        lo: i128::MIN,
        hi: i128::MAX,
        exact: false,
    };

    pub(crate) fn new(lo: i128, hi: i128) -> Self {
        Interval {
            lo,
            hi,
            exact: true,
        }
    }

    pub(crate) fn constant(value: i128) -> Self {
        Interval::new(value, value)
    }

    pub(crate) fn of_type(ty: Type) -> Self {
        Interval::new(ty.lo(), ty.hi())
    }

    pub(crate) fn contains(self, value: i128) -> bool {
        self.lo <= value && value <= self.hi
    }

    /// The least interval with all of these, [`Self::ANY`] if one of them overflowed.
    fn hull(corners: &[Option<i128>]) -> Self {
        let mut hull: Option<(i128, i128)> = None;
        for &corner in corners {
            let Some(value) = corner else {
                return Interval::ANY;
            };
            hull = Some(hull.map_or((value, value), |(lo, hi)| (lo.min(value), hi.max(value))));
        }
        hull.map_or(Interval::ANY, |(lo, hi)| Interval::new(lo, hi))
    }

    pub(crate) fn neg(self) -> Self {
        if self.exact {
            Interval::hull(&[self.lo.checked_neg(), self.hi.checked_neg()])
        } else {
            Interval::ANY
        }
    }

    pub(crate) fn bit_not(self) -> Self {
        if self.exact {
            Interval::new(!self.hi, !self.lo)
        } else {
            Interval::ANY
        }
    }

    /// The result of an integer operator that yields an integer.
    pub(crate) fn binary(op: BinaryOp, a: Interval, b: Interval) -> Interval {
        match op {
            BinaryOp::And => return Interval::bit_and(a, b),
            _ if !a.exact || !b.exact => return Interval::ANY,
            _ => {}
        }
        match op {
            BinaryOp::Add => Interval::hull(&[a.lo.checked_add(b.lo), a.hi.checked_add(b.hi)]),
            BinaryOp::Sub => Interval::hull(&[a.lo.checked_sub(b.hi), a.hi.checked_sub(b.lo)]),
            BinaryOp::Mul => Interval::hull(&[
                a.lo.checked_mul(b.lo),
                a.lo.checked_mul(b.hi),
                a.hi.checked_mul(b.lo),
                a.hi.checked_mul(b.hi),
            ]),
            BinaryOp::Shl => {
                let least = b.lo.clamp(0, LONGEST_SHIFT);
                let most = b.hi.clamp(0, LONGEST_SHIFT);
                let shifted = |x: i128, by: i128| x.checked_mul(1i128 << by);
                Interval::hull(&[
                    shifted(a.lo, least),
                    shifted(a.lo, most),
                    shifted(a.hi, least),
                    shifted(a.hi, most),
                ])
            }
            BinaryOp::Shr => {
                let least = b.lo.clamp(0, 127);
                let most = b.hi.clamp(0, 127);
                Interval::hull(&[
                    Some(a.lo >> least),
                    Some(a.lo >> most),
                    Some(a.hi >> least),
                    Some(a.hi >> most),
                ])
            }
            BinaryOp::Div => Interval::div(a, b),
            BinaryOp::Rem => Interval::rem(a, b),
            BinaryOp::Or | BinaryOp::Xor => {
                if a.lo >= 0 && b.lo >= 0 {
                    Interval::new(0, ones_up_to(a.hi.max(b.hi)))
                } else {
                    Interval::signed_bits(a, b)
                }
            }
            _ => Interval::ANY,
        }
    }

    /// A mask that is not negative makes an exact value even of one known only
    /// modulo 2¹²⁸: it looks at the low 127 bits.
    fn bit_and(a: Interval, b: Interval) -> Interval {
        let mask = |m: Interval| (m.exact && m.lo >= 0).then_some(m.hi);
        match (mask(a), mask(b)) {
            (Some(x), Some(y)) => Interval::new(0, x.min(y)),
            (Some(x), None) | (None, Some(x)) => Interval::new(0, x),
            (None, None) if a.exact && b.exact => Interval::signed_bits(a, b),
            (None, None) => Interval::ANY,
        }
    }

    /// Bitwise operators yield no more bits than their wider operand has.
    fn signed_bits(a: Interval, b: Interval) -> Interval {
        let magnitude = |x: i128| if x < 0 { !x } else { x };
        let bits = ones_up_to(
            magnitude(a.lo)
                .max(magnitude(a.hi))
                .max(magnitude(b.lo))
                .max(magnitude(b.hi)),
        );
        Interval::new(!bits, bits)
    }

    /// Truncated division; by zero is a violation and yields nothing.
    fn div(a: Interval, b: Interval) -> Interval {
        // The quotient is monotone in each argument as long as the divisor keeps its sign,
        // so its extremes are at the corners of the divisor's negative and positive part.
        let mut corners = Vec::with_capacity(8);
        for (lo, hi) in [(b.lo, b.hi.min(-1)), (b.lo.max(1), b.hi)] {
            if lo <= hi {
                for x in [a.lo, a.hi] {
                    corners.push(x.checked_div(lo));
                    corners.push(x.checked_div(hi));
                }
            }
        }
        if corners.is_empty() {
            return Interval::constant(0);
        }
        Interval::hull(&corners)
    }

    /// The remainder has the sign of the dividend and is smaller than either.
    fn rem(a: Interval, b: Interval) -> Interval {
        // |r| ≤ |b| − 1, computed so that the least i128 does no harm.
        let below = |x: i128| match x {
            0 => 0,
            x if x < 0 => !x,
            x => x - 1,
        };
        let bound = below(b.lo).max(below(b.hi));
        let lo = if a.lo < 0 { a.lo.max(-bound) } else { 0 };
        let hi = if a.hi > 0 { a.hi.min(bound) } else { 0 };
        Interval::new(lo, hi)
    }
}

/// The least 2ᵏ−1 that is not below `x ≥ 0`.
fn ones_up_to(x: i128) -> i128 {
    if x <= 0 {
        0
    } else {
        i128::MAX >> (x.leading_zeros() - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn apply(op: BinaryOp, x: i128, y: i128) -> Option<i128> {
        Some(match op {
            BinaryOp::Add => x + y,
            BinaryOp::Sub => x - y,
            BinaryOp::Mul => x * y,
            BinaryOp::And => x & y,
            BinaryOp::Or => x | y,
            BinaryOp::Xor => x ^ y,
            BinaryOp::Div => x.checked_div(y)?,
            BinaryOp::Rem => x.checked_rem(y)?,
            BinaryOp::Shl if y >= 0 => x << y.min(LONGEST_SHIFT),
            BinaryOp::Shr if y >= 0 => x >> y.min(127),
            _ => return None,
        })
    }

    #[test]
    fn every_result_lies_in_the_interval() {
        let ops = [
            BinaryOp::Add,
            BinaryOp::Sub,
            BinaryOp::Mul,
            BinaryOp::And,
            BinaryOp::Or,
            BinaryOp::Xor,
            BinaryOp::Div,
            BinaryOp::Rem,
            BinaryOp::Shl,
            BinaryOp::Shr,
        ];
        let ends = [-9, -8, -3, -1, 0, 1, 2, 5, 8];
        let intervals: Vec<Interval> = ends
            .iter()
            .flat_map(|&lo| ends.iter().map(move |&hi| Interval::new(lo, hi)))
            .filter(|i| i.lo <= i.hi)
            .collect();
        for op in ops {
            for &a in &intervals {
                for &b in &intervals {
                    let result = Interval::binary(op, a, b);
                    for x in a.lo..=a.hi {
                        for y in b.lo..=b.hi {
                            if let Some(value) = apply(op, x, y) {
                                assert!(
                                    result.contains(value),
                                    "{x} {} {y} = {value} not in {result:?} ({a:?}, {b:?})",
                                    op.symbol()
                                );
                            }
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn leaving_128_bits_is_noticed() {
        let wide = Interval::of_type(Type::Bits {
            signed: false,
            width: 64,
        });
        let product = Interval::binary(BinaryOp::Mul, wide, wide);
        assert!(!product.exact);
        let sum = Interval::binary(BinaryOp::Add, wide, wide);
        assert!(sum.exact);
        let masked = Interval::binary(BinaryOp::And, product, Interval::constant(255));
        assert_eq!(masked, Interval::new(0, 255));
        let least = Interval::constant(i128::MIN);
        assert!(!least.neg().exact);
        let quotient = Interval::binary(BinaryOp::Div, least, Interval::constant(-1));
        assert!(!quotient.exact);
        let remainder = Interval::binary(BinaryOp::Rem, least, Interval::constant(i128::MIN));
        assert!(remainder.contains(0));
        let shifted = Interval::binary(BinaryOp::Shl, wide, Interval::constant(1000));
        assert!(!shifted.exact, "u64 << 64 needs 128 bits and a sign");
        assert!(
            Interval::binary(
                BinaryOp::Shl,
                Interval::constant(1),
                Interval::constant(1000)
            )
            .exact
        );
    }
}
