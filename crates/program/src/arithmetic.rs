//! The values of operators and conversions, where nothing is chosen.
//!
//! Everything that transforms or compiles programs uses this arithmetic. The replayer and the
//! oracle of the tests have their own, so that a mistake here is noticed.

use crate::{Operator, Type, Value};

/// The longest distance of a left shift; longer ones count as this.
const LONGEST_SHIFT: Value = 64;

impl Operator {
    /// The value, unless the operation fails (division by zero, a negative distance) or 128 bits do
    /// not hold it.
    pub fn apply(self, a: Value, b: Value) -> Option<Value> {
        match self {
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
            Operator::Shl if b >= 0 => a.checked_mul(1 << b.min(LONGEST_SHIFT)),
            Operator::Shr if b >= 0 => Some(a >> b.min(127)),
            Operator::Shl | Operator::Shr => None,
            Operator::BitAnd => Some(a & b),
            Operator::BitOr => Some(a | b),
            Operator::BitXor => Some(a ^ b),
        }
    }
}

impl Type {
    /// What storing `value` in a variable of this type leaves there; `None` is a violation. Bit
    /// vectors wrap around.
    #[inline]
    pub fn convert(self, value: Value) -> Option<Value> {
        match self {
            Type::Bits { signed, width } => {
                let low = value & ((1 << width) - 1);
                let negative = signed && low >> (width - 1) & 1 == 1;
                Some(if negative { low - (1 << width) } else { low })
            }
            Type::Bool => (value == 0 || value == 1).then_some(value),
            Type::Range { lo, hi } => (lo <= value && value <= hi).then_some(value),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bit_vectors_wrap() {
        for width in 1..=8 {
            for signed in [false, true] {
                let ty = Type::Bits { signed, width };
                for value in -600..600 {
                    let stored = ty.convert(value).expect("a bit vector holds it");
                    assert!(ty.lo() <= stored && stored <= ty.hi());
                    assert_eq!((stored - value) % (1 << width), 0, "{value} in {ty}");
                }
            }
        }
        let unsigned = Type::Bits {
            signed: false,
            width: 64,
        };
        assert_eq!(unsigned.convert(-1), Some((1 << 64) - 1));
        let signed = Type::Bits {
            signed: true,
            width: 64,
        };
        assert_eq!(signed.convert(Value::MAX), Some(-1));
        assert_eq!(signed.convert(1 << 63), Some(-(1 << 63)));
    }

    #[test]
    fn ranges_and_booleans_refuse() {
        for value in -5..10 {
            let range = Type::Range { lo: -2, hi: 3 };
            let fits = (-2..=3).contains(&value);
            assert_eq!(range.convert(value), fits.then_some(value));
            let fits = (0..=1).contains(&value);
            assert_eq!(Type::Bool.convert(value), fits.then_some(value));
        }
    }

    #[test]
    fn what_fails_has_no_value() {
        assert_eq!(Operator::Div.apply(1, 0), None);
        assert_eq!(Operator::Rem.apply(1, 0), None);
        assert_eq!(Operator::Shl.apply(1, -1), None);
        assert_eq!(Operator::Shr.apply(1, -1), None);
        assert_eq!(Operator::Shl.apply(1, 1000), Some(1 << 64));
        assert_eq!(Operator::Shr.apply(-5, 1000), Some(-1));
        assert_eq!(Operator::Div.apply(Value::MIN, -1), None);
    }
}
