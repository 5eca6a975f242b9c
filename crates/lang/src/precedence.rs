//! How tightly operators bind, in each dialect; shared by the parser and the printer.

use crate::ast::BinaryOp;
use crate::lexer::Dialect;

/// How tightly `op` binds; greater is tighter.
fn level(dialect: Dialect, op: BinaryOp) -> u8 {
    match (dialect, op) {
        (_, BinaryOp::Implies) | (Dialect::Satabs, BinaryOp::Eq | BinaryOp::Ne) => 1,
        (Dialect::Union | Dialect::Getafix, BinaryOp::Or) | (Dialect::Satabs, BinaryOp::Xor) => 2,
        (Dialect::Union | Dialect::Getafix, BinaryOp::Xor) | (Dialect::Satabs, BinaryOp::Or) => 3,
        (_, BinaryOp::And) => 4,
        // SATABS has no integers; ordering comparisons go where C has them relative to `&`'s
        // logical reading, so that `x < 1 & y < 2` means the same in both dialects.
        (_, BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge)
        | (Dialect::Union | Dialect::Getafix, BinaryOp::Eq | BinaryOp::Ne) => 5,
        (_, BinaryOp::Shl | BinaryOp::Shr) => 6,
        (_, BinaryOp::Add | BinaryOp::Sub) => 7,
        (_, BinaryOp::Mul | BinaryOp::Div | BinaryOp::Rem) => 8,
    }
}

/// In `a LEFT b RIGHT c`, whether this is `(a LEFT b) RIGHT c`.
pub(crate) fn left_first(dialect: Dialect, left: BinaryOp, right: BinaryOp) -> bool {
    let (l, r) = (level(dialect, left), level(dialect, right));
    // The loosest level of SATABS is its only right-associative one.
    l > r || (l == r && !(dialect == Dialect::Satabs && l == 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use BinaryOp::*;

    #[test]
    fn the_documents_examples_differ() {
        // `a = b & c`
        assert!(left_first(Dialect::Union, Eq, And));
        assert!(!left_first(Dialect::Satabs, Eq, And));
        // `a ^ b | c`
        assert!(left_first(Dialect::Union, Xor, Or));
        assert!(!left_first(Dialect::Satabs, Xor, Or));
        // `a => b => c`
        assert!(left_first(Dialect::Union, Implies, Implies));
        assert!(!left_first(Dialect::Satabs, Implies, Implies));
    }

    #[test]
    fn arithmetic_is_the_same_in_both() {
        let arithmetic = [And, Lt, Le, Gt, Ge, Shl, Shr, Add, Sub, Mul, Div, Rem];
        for left in arithmetic {
            for right in arithmetic {
                assert_eq!(
                    left_first(Dialect::Union, left, right),
                    left_first(Dialect::Satabs, left, right)
                );
            }
        }
    }
}
