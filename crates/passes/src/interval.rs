//! Intervals of mathematical integers: which values an expression can have, from the types
//! of its variables alone.
//!
//! An interval always contains every value the expression can have; `None` stands for
//! "could leave 128 bits, nothing is known". From it follow comparisons that have only one
//! answer, divisions that cannot be by zero and stores that cannot leave their range, hence
//! which expressions cannot fail and may be thrown away without losing a violation.

use droste_program::{Operator, Type, Value};

/// All values from `lo` to `hi`, never empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Interval {
    /// Least value.
    pub(crate) lo: Value,
    /// Greatest value.
    pub(crate) hi: Value,
}

/// The largest shift distance that makes a difference (see the meaning of expressions).
const MAX_LEFT_SHIFT: Value = 64;

impl Interval {
    /// Both Booleans.
    pub(crate) const BOOL: Interval = Interval { lo: 0, hi: 1 };

    /// One value.
    pub(crate) fn point(value: Value) -> Self {
        Interval {
            lo: value,
            hi: value,
        }
    }

    /// The values of a type.
    pub(crate) fn of(ty: Type) -> Self {
        Interval {
            lo: ty.lo(),
            hi: ty.hi(),
        }
    }

    /// The value, if there is only one.
    pub(crate) fn single(self) -> Option<Value> {
        (self.lo == self.hi).then_some(self.lo)
    }

    /// Whether every value of `other` is in here.
    pub(crate) fn contains(self, other: Interval) -> bool {
        self.lo <= other.lo && other.hi <= self.hi
    }

    /// `-x`.
    pub(crate) fn neg(self) -> Option<Self> {
        Some(Interval {
            lo: self.hi.checked_neg()?,
            hi: self.lo.checked_neg()?,
        })
    }

    /// `~x`, which is `-x - 1`.
    pub(crate) fn bit_not(self) -> Self {
        Interval {
            lo: !self.hi,
            hi: !self.lo,
        }
    }

    /// The least interval with these values in it; `None` if one is unknown.
    fn hull(values: [Option<Value>; 4]) -> Option<Self> {
        let mut lo = values[0]?;
        let mut hi = lo;
        for value in values {
            lo = lo.min(value?);
            hi = hi.max(value?);
        }
        Some(Interval { lo, hi })
    }

    /// The hull of `f` at the four corners: exact for `f` monotone in each argument.
    fn corners(self, other: Self, f: impl Fn(Value, Value) -> Option<Value>) -> Option<Self> {
        Interval::hull([
            f(self.lo, other.lo),
            f(self.lo, other.hi),
            f(self.hi, other.lo),
            f(self.hi, other.hi),
        ])
    }

    /// `self op other` for an arithmetic operator.
    pub(crate) fn arithmetic(self, op: Operator, other: Self) -> Option<Self> {
        match op {
            Operator::Add | Operator::Sub | Operator::Mul | Operator::Shl | Operator::Shr => {
                // A negative distance fails and yields no value.
                let other = match op {
                    Operator::Shl | Operator::Shr => Interval {
                        lo: other.lo.max(0),
                        hi: other.hi.max(0),
                    },
                    _ => other,
                };
                self.corners(other, |a, b| eval_binary(op, a, b))
            }
            Operator::Div if other.lo > 0 || other.hi < 0 => {
                self.corners(other, |a, b| eval_binary(op, a, b))
            }
            Operator::Div => {
                let most = self.magnitude()?;
                Some(Interval {
                    lo: -most,
                    hi: most,
                })
            }
            Operator::Rem => {
                let most = self.magnitude()?.min((other.magnitude()? - 1).max(0));
                Some(Interval {
                    lo: if self.lo < 0 { -most } else { 0 },
                    hi: if self.hi > 0 { most } else { 0 },
                })
            }
            Operator::BitAnd | Operator::BitOr | Operator::BitXor => {
                // Both operands fit in `bits` bits and a sign, so does the result.
                let most = self.magnitude()?.max(other.magnitude()?);
                let bits = Value::BITS - most.leading_zeros();
                let all = if bits >= 126 {
                    return None;
                } else {
                    (1 << bits) - 1
                };
                Some(Interval {
                    lo: if self.lo < 0 || other.lo < 0 {
                        -all - 1
                    } else {
                        0
                    },
                    hi: all,
                })
            }
            _ => Some(Interval::BOOL),
        }
    }

    /// The greatest absolute value.
    fn magnitude(self) -> Option<Value> {
        Some(self.lo.checked_abs()?.max(self.hi.checked_abs()?))
    }
}

/// The value of a binary operator on two values, unless it fails or leaves 128 bits.
pub(crate) fn eval_binary(op: Operator, a: Value, b: Value) -> Option<Value> {
    match op {
        Operator::And => Some(Value::from(a != 0 && b != 0)),
        Operator::Or => Some(Value::from(a != 0 || b != 0)),
        Operator::Implies => Some(Value::from(a == 0 || b != 0)),
        Operator::Xor | Operator::Ne => Some(Value::from(a != b)),
        Operator::Eq => Some(Value::from(a == b)),
        Operator::Lt => Some(Value::from(a < b)),
        Operator::Le => Some(Value::from(a <= b)),
        Operator::Gt => Some(Value::from(a > b)),
        Operator::Ge => Some(Value::from(a >= b)),
        Operator::Add => a.checked_add(b),
        Operator::Sub => a.checked_sub(b),
        Operator::Mul => a.checked_mul(b),
        Operator::Div => a.checked_div(b),
        Operator::Rem => a.checked_rem(b),
        Operator::Shl if b >= 0 => a.checked_mul(1 << b.min(MAX_LEFT_SHIFT)),
        Operator::Shr if b >= 0 => Some(a >> b.min(127)),
        Operator::Shl | Operator::Shr => None,
        Operator::BitAnd => Some(a & b),
        Operator::BitOr => Some(a | b),
        Operator::BitXor => Some(a ^ b),
    }
}

/// What storing `value` in a variable of type `ty` leaves there; `None` is a violation.
pub(crate) fn convert(value: Value, ty: Type) -> Option<Value> {
    match ty {
        Type::Bits { signed, width } => {
            let low = value & ((1 << width) - 1);
            let negative = signed && low >> (width - 1) != 0;
            Some(if negative { low - (1 << width) } else { low })
        }
        Type::Bool | Type::Range { .. } => (ty.lo() <= value && value <= ty.hi()).then_some(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPERATORS: [Operator; 10] = [
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

    #[test]
    fn intervals_contain_every_result() {
        let bounds = -5..=5;
        for op in OPERATORS {
            for (lo, hi) in bounds.clone().flat_map(|a| (a..=5).map(move |b| (a, b))) {
                for (low, high) in bounds.clone().flat_map(|a| (a..=5).map(move |b| (a, b))) {
                    let left = Interval { lo, hi };
                    let right = Interval { lo: low, hi: high };
                    let result = left.arithmetic(op, right).expect("small");
                    for a in lo..=hi {
                        for b in low..=high {
                            if let Some(value) = eval_binary(op, a, b) {
                                assert!(
                                    result.contains(Interval::point(value)),
                                    "{a} {op:?} {b} = {value}, not in {result:?}"
                                );
                            }
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn large_results_are_unknown() {
        let wide = Interval::of(Type::Bits {
            signed: false,
            width: 64,
        });
        let square = wide.arithmetic(Operator::Mul, wide);
        assert_eq!(square, None, "u64 * u64 needs 128 bits and a sign");
        assert_eq!(Interval::point(Value::MIN).neg(), None);
    }

    #[test]
    fn stores_wrap_or_are_violations() {
        let s3 = Type::Bits {
            signed: true,
            width: 3,
        };
        assert_eq!(convert(5, s3), Some(-3));
        assert_eq!(convert(-5, s3), Some(3));
        let u64 = Type::Bits {
            signed: false,
            width: 64,
        };
        assert_eq!(convert(-1, u64), Some((1 << 64) - 1));
        assert_eq!(convert(4, Type::Range { lo: 0, hi: 3 }), None);
    }
}
