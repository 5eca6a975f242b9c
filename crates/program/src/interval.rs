//! Intervals of integers: which values an integer expression can have, and whether 128 bits hold
//! them.
//!
//! Programs compute in mathematical integers; evaluators compute in 128 bits and wrap. The two
//! agree as long as no intermediate value needs more bits. Where one may, there is no interval
//! (`None`): only the remainder of the value modulo 2¹²⁸ is known. That is enough to store it into
//! a bit vector, because `+ - * << & | ^ ~` and negation are functions of their operands' low bits.
//! It is not enough to compare, divide, shift right or store it into a range.
//!
//! The front end refuses programs by these intervals, the passes simplify by them, and the engines
//! choose how many bits to compute with. Every function here over-approximates: a value that the
//! operation can yield on operands from the given intervals lies in the result. (Tested
//! exhaustively on small intervals.)

use crate::{Operator, Type, Value};

/// All integers from `lo` to `hi`; never empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interval {
    /// The least.
    pub lo: Value,
    /// The greatest.
    pub hi: Value,
}

impl Interval {
    /// Both Booleans.
    pub const BOOL: Interval = Interval { lo: 0, hi: 1 };

    /// All that 128 bits hold.
    pub const ANY: Interval = Interval {
        lo: Value::MIN,
        hi: Value::MAX,
    };

    /// From `lo` to `hi`, which is not less.
    pub fn new(lo: Value, hi: Value) -> Self {
        debug_assert!(lo <= hi, "an interval is not empty");
        Interval { lo, hi }
    }

    /// One value.
    pub fn constant(value: Value) -> Self {
        Interval::new(value, value)
    }

    /// The values of a type.
    pub fn of(ty: Type) -> Self {
        Interval::new(ty.lo(), ty.hi())
    }

    /// The value, if there is only one.
    pub fn as_constant(self) -> Option<Value> {
        (self.lo == self.hi).then_some(self.lo)
    }

    /// Whether the value is in here.
    pub fn contains(self, value: Value) -> bool {
        self.lo <= value && value <= self.hi
    }

    /// Whether every value of `other` is in here.
    pub fn covers(self, other: Interval) -> bool {
        self.lo <= other.lo && other.hi <= self.hi
    }

    /// Whether some value is negative.
    pub fn is_signed(self) -> bool {
        self.lo < 0
    }

    /// The greatest absolute value.
    pub fn magnitude(self) -> u128 {
        self.lo.unsigned_abs().max(self.hi.unsigned_abs())
    }

    /// How many bits hold every value: two's complement if some are negative.
    pub fn width(self) -> usize {
        let plain = |value: Value| 128 - (if value < 0 { !value } else { value }).leading_zeros();
        let most = plain(self.lo).max(plain(self.hi));
        (most + u32::from(self.is_signed())) as usize
    }

    /// The least interval with these values; `None` if one of them is unknown.
    fn hull(values: impl IntoIterator<Item = Option<Value>>) -> Option<Self> {
        let mut values = values.into_iter();
        let mut hull = Interval::constant(values.next()??);
        for value in values {
            let value = value?;
            hull = Interval::new(hull.lo.min(value), hull.hi.max(value));
        }
        Some(hull)
    }

    /// `-x`.
    pub fn negated(self) -> Option<Self> {
        Interval::hull([self.lo.checked_neg(), self.hi.checked_neg()])
    }

    /// `~x`, which is `-x - 1`.
    #[must_use]
    pub fn bit_not(self) -> Self {
        Interval::new(!self.hi, !self.lo)
    }

    /// The values of an operator where it does not fail; `None` if 128 bits may not hold them.
    pub fn apply(operator: Operator, a: Interval, b: Interval) -> Option<Self> {
        match operator {
            Operator::Add | Operator::Sub | Operator::Mul => Self::corners(operator, a, b),
            Operator::Shl | Operator::Shr => {
                // A negative distance fails and yields no value.
                Self::corners(operator, a, Interval::new(b.lo.max(0), b.hi.max(0)))
            }
            Operator::Div => Self::quotient(a, b),
            Operator::Rem => Some(Self::remainder(a, b)),
            Operator::BitAnd | Operator::BitOr | Operator::BitXor => {
                Some(Self::bitwise(operator, a, b))
            }
            _ => Some(Interval::BOOL),
        }
    }

    /// [`apply`](Self::apply) to operands of which one or both are known only modulo 2¹²⁸.
    pub fn apply_known(
        operator: Operator,
        a: Option<Interval>,
        b: Option<Interval>,
    ) -> Option<Self> {
        match (a, b) {
            (Some(a), Some(b)) => Interval::apply(operator, a, b),
            // A mask that is not negative looks at the low 127 bits only.
            (None, Some(mask)) | (Some(mask), None)
                if operator == Operator::BitAnd && !mask.is_signed() =>
            {
                Some(Interval::new(0, mask.hi))
            }
            _ => None,
        }
    }

    /// The hull of the operator's values at the four corners. This is right for an operator that is
    /// monotone in each operand.
    fn corners(operator: Operator, a: Interval, b: Interval) -> Option<Self> {
        let corners = [(a.lo, b.lo), (a.lo, b.hi), (a.hi, b.lo), (a.hi, b.hi)];
        Interval::hull(corners.map(|(x, y)| operator.apply(x, y)))
    }

    /// For divisors of one sign the quotient is monotone in both operands. Division by zero is a
    /// violation and yields nothing.
    fn quotient(a: Interval, b: Interval) -> Option<Self> {
        let signs = [(b.lo.max(1), b.hi), (b.lo, b.hi.min(-1))];
        let parts = signs.into_iter().filter(|(lo, hi)| lo <= hi);
        let mut parts =
            parts.map(|(lo, hi)| Self::corners(Operator::Div, a, Interval::new(lo, hi)));
        match (parts.next(), parts.next()) {
            (Some(x), Some(y)) => {
                let (x, y) = (x?, y?);
                Some(Interval::new(x.lo.min(y.lo), x.hi.max(y.hi)))
            }
            (Some(x), None) => x,
            _ => Some(Interval::constant(0)),
        }
    }

    /// A remainder has the sign of the left operand. It is smaller than the right operand, and not
    /// larger than the left, in absolute value.
    fn remainder(a: Interval, b: Interval) -> Self {
        let below = b.magnitude().saturating_sub(1);
        let bound = |x: Value| x.unsigned_abs().min(below) as Value;
        Interval::new(
            if a.lo < 0 { -bound(a.lo) } else { 0 },
            if a.hi > 0 { bound(a.hi) } else { 0 },
        )
    }

    /// A bitwise operator yields no more bits than its wider operand has.
    fn bitwise(operator: Operator, a: Interval, b: Interval) -> Self {
        let ones = |width: usize| match width {
            0 => 0,
            width => Value::MAX >> (127 - width),
        };
        match (a.is_signed(), b.is_signed()) {
            (false, false) => {
                let ones = ones(a.width().max(b.width()));
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
                let most = ones(width - 1);
                Interval::new(!most, most)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ARITHMETIC: [Operator; 10] = [
        Operator::Add,
        Operator::Sub,
        Operator::Mul,
        Operator::Div,
        Operator::Rem,
        Operator::Shl,
        Operator::Shr,
        Operator::BitAnd,
        Operator::BitOr,
        Operator::BitXor,
    ];

    /// All intervals with ends among these.
    fn intervals(ends: &[Value]) -> Vec<Interval> {
        let pairs = ends
            .iter()
            .flat_map(|&lo| ends.iter().map(move |&hi| (lo, hi)));
        pairs
            .filter(|(lo, hi)| lo <= hi)
            .map(|(lo, hi)| Interval::new(lo, hi))
            .collect()
    }

    #[test]
    fn every_value_lies_in_the_interval() {
        let all = intervals(&[-9, -8, -5, -3, -1, 0, 1, 2, 5, 8]);
        for operator in ARITHMETIC {
            for &a in &all {
                for &b in &all {
                    let result = Interval::apply(operator, a, b).expect("small");
                    for x in a.lo..=a.hi {
                        for y in b.lo..=b.hi {
                            if let Some(value) = operator.apply(x, y) {
                                assert!(
                                    result.contains(value),
                                    "{x} {operator:?} {y} = {value} is not in {result:?}"
                                );
                            }
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn a_width_holds_every_value_and_no_smaller_one_does() {
        for a in intervals(&[-9, -8, -5, -3, -1, 0, 1, 2, 5, 7, 8]) {
            let holds = |width: usize, x: Value| match (a.is_signed(), width) {
                (true, 0) => false,
                (true, width) => (-(1 << (width - 1))..1 << (width - 1)).contains(&x),
                (false, width) => x < 1 << width,
            };
            let width = a.width();
            assert!((a.lo..=a.hi).all(|x| holds(width, x)), "{a:?}");
            assert!(width == 0 || !(a.lo..=a.hi).all(|x| holds(width - 1, x)));
            for x in a.lo..=a.hi {
                assert!(a.negated().expect("small").contains(-x) && a.bit_not().contains(!x));
                assert!(x.unsigned_abs() <= a.magnitude());
            }
        }
    }

    #[test]
    fn the_ends_of_128_bits_do_no_harm() {
        let all = intervals(&[
            Value::MIN,
            Value::MIN + 1,
            -1,
            0,
            1,
            Value::MAX - 1,
            Value::MAX,
        ]);
        for operator in ARITHMETIC {
            for &a in &all {
                for &b in &all {
                    let result = Interval::apply(operator, a, b);
                    for (x, y) in [(a.lo, b.lo), (a.lo, b.hi), (a.hi, b.lo), (a.hi, b.hi)] {
                        if let (Some(result), Some(value)) = (result, operator.apply(x, y)) {
                            assert!(result.contains(value), "{x} {operator:?} {y}");
                        }
                    }
                }
            }
        }
        assert_eq!(Interval::ANY.width(), 128);
        assert_eq!(Interval::new(0, Value::MAX).width(), 127);
    }

    #[test]
    fn leaving_128_bits_is_noticed() {
        let wide = Interval::of(Type::Bits {
            signed: false,
            width: 64,
        });
        let apply = Interval::apply;
        let square = apply(Operator::Mul, wide, wide);
        assert_eq!(square, None, "u64 * u64 needs 128 bits and a sign");
        assert!(apply(Operator::Add, wide, wide).is_some());
        let mask = Some(Interval::constant(255));
        let masked = Interval::apply_known(Operator::BitAnd, square, mask);
        assert_eq!(masked, Some(Interval::new(0, 255)));
        assert_eq!(Interval::apply_known(Operator::BitOr, square, mask), None);
        let least = Interval::constant(Value::MIN);
        assert_eq!(least.negated(), None);
        assert_eq!(apply(Operator::Div, least, Interval::constant(-1)), None);
        let far = Interval::constant(1000);
        assert_eq!(apply(Operator::Shl, wide, far), None);
        assert!(apply(Operator::Shl, Interval::constant(1), far).is_some());
    }
}
