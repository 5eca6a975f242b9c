//! Random expressions.

use droste_lang::ast::{BinaryOp, ExprKind, Name, Type, UnaryOp};

use super::Generator;
use crate::tree::Exp;

/// What an expression may contain.
#[derive(Clone, Copy)]
struct Allowed {
    /// `'x`
    next: bool,
    /// Divisions and shifts that may fail.
    failing: bool,
}

const PLAIN: Allowed = Allowed {
    next: false,
    failing: true,
};

impl Generator {
    /// A condition of a statement.
    pub(super) fn condition(&mut self) -> Exp {
        if self.random.percent(15) {
            return Exp::star();
        }
        let depth = self.random.below(self.config.expression_depth + 1);
        self.boolean(depth, PLAIN)
    }

    /// A condition that cannot fail.
    pub(super) fn safe_condition(&mut self) -> Exp {
        let safe = Allowed {
            next: false,
            failing: false,
        };
        let depth = self.random.below(self.config.expression_depth + 1);
        self.boolean(depth, safe)
    }

    /// A condition over `x` and `'x`.
    pub(super) fn relation(&mut self) -> Exp {
        let related = Allowed {
            next: true,
            failing: self.random.percent(20),
        };
        let depth = self.random.between(1, self.config.expression_depth.max(1));
        self.boolean(depth, related)
    }

    /// Something to store into a variable, parameter or result of this type.
    pub(super) fn stored(&mut self, ty: Type) -> Exp {
        if self.random.percent(18) {
            return Exp::star();
        }
        let depth = self.random.below(self.config.expression_depth + 1);
        match ty {
            Type::Bool => self.boolean(depth, PLAIN),
            // Half of the time certainly in range.
            Type::Range { lo, hi } if self.random.percent(50) => {
                let value = self.random.between(0, (hi - lo) as usize) as i128 + lo;
                if value < 0 {
                    Exp::Unary(UnaryOp::Neg, Box::new(Exp::int(-value)))
                } else {
                    Exp::int(value)
                }
            }
            _ => self.integer(depth, PLAIN),
        }
    }

    /// For `print` and `_`.
    pub(super) fn any_expression(&mut self) -> Exp {
        if self.random.percent(70) {
            self.condition()
        } else {
            let depth = self.random.below(self.config.expression_depth + 1);
            self.integer(depth, PLAIN)
        }
    }

    fn variable(&mut self, boolean: bool, allowed: Allowed) -> Option<Exp> {
        let names: Vec<String> = self
            .readable
            .iter()
            .filter(|(_, ty)| ty.is_bool() == boolean)
            .map(|(name, _)| name.clone())
            .collect();
        if names.is_empty() {
            return None;
        }
        let name: &String = self.random.pick(&names);
        let name = Name::new(name);
        Some(Exp::Leaf(if allowed.next && self.random.percent(50) {
            ExprKind::Next(name)
        } else {
            ExprKind::Var(name)
        }))
    }

    fn boolean(&mut self, depth: usize, allowed: Allowed) -> Exp {
        if depth == 0 {
            if self.random.percent(self.config.stars) {
                return Exp::star();
            }
            if self.random.percent(85)
                && let Some(variable) = self.variable(true, allowed)
            {
                return variable;
            }
            return match self.random.below(5) {
                0 => Exp::int(0),
                1 => Exp::int(1),
                2 => Exp::bool(false),
                _ => Exp::bool(true),
            };
        }
        let has_integers = self.readable.iter().any(|(_, ty)| !ty.is_bool());
        let inner = depth - 1;
        match self
            .random
            .weighted(&[6, 12, 2, if has_integers { 9 } else { 1 }, 2])
        {
            0 => self.boolean(inner, allowed).negated(),
            1 => {
                let op = *self.random.pick(&[
                    BinaryOp::And,
                    BinaryOp::And,
                    BinaryOp::Or,
                    BinaryOp::Or,
                    BinaryOp::Xor,
                    BinaryOp::Eq,
                    BinaryOp::Ne,
                    BinaryOp::Implies,
                ]);
                let left = self.boolean(inner, allowed);
                Exp::binary(op, left, self.boolean(inner, allowed))
            }
            2 => {
                let left = self.boolean(inner, allowed);
                Exp::Schoose(Box::new(left), Box::new(self.boolean(inner, allowed)))
            }
            3 => {
                let op = *self.random.pick(&[
                    BinaryOp::Eq,
                    BinaryOp::Eq,
                    BinaryOp::Ne,
                    BinaryOp::Lt,
                    BinaryOp::Le,
                    BinaryOp::Gt,
                    BinaryOp::Ge,
                ]);
                let left = self.integer(inner, allowed);
                Exp::binary(op, left, self.integer(inner, allowed))
            }
            _ => self.boolean(0, allowed),
        }
    }

    fn integer(&mut self, depth: usize, allowed: Allowed) -> Exp {
        if depth == 0 {
            if self.random.percent(75)
                && let Some(variable) = self.variable(false, allowed)
            {
                return variable;
            }
            return Exp::int(self.random.weighted(&[3, 4, 3, 2, 1, 1]) as i128);
        }
        let inner = depth - 1;
        let minus = |e: Exp| Exp::Unary(UnaryOp::Neg, Box::new(e));
        match self.random.below(12) {
            0 => minus(self.integer(inner, allowed)),
            1 => self.integer(inner, allowed).negated(),
            op @ (2 | 3) => {
                let op = if op == 2 {
                    BinaryOp::Div
                } else {
                    BinaryOp::Rem
                };
                let left = self.integer(inner, allowed);
                let right = if allowed.failing && self.random.percent(35) {
                    self.integer(inner, allowed)
                } else {
                    let right = Exp::int(self.random.between(1, 3) as i128);
                    if self.random.percent(30) {
                        minus(right)
                    } else {
                        right
                    }
                };
                Exp::binary(op, left, right)
            }
            4 => {
                // Only small operands: nested shifts would need more and more bits.
                let op = *self.random.pick(&[BinaryOp::Shl, BinaryOp::Shr]);
                let left = self.integer(0, allowed);
                let right = if allowed.failing && self.random.percent(60) {
                    self.integer(0, allowed)
                } else {
                    Exp::int(self.random.below(4) as i128)
                };
                Exp::binary(op, left, right)
            }
            other => {
                let op = match other {
                    5 | 6 => BinaryOp::Add,
                    7 | 8 => BinaryOp::Sub,
                    9 => BinaryOp::Mul,
                    10 => *self.random.pick(&[BinaryOp::And, BinaryOp::Or]),
                    _ => BinaryOp::Xor,
                };
                let left = self.integer(inner, allowed);
                Exp::binary(op, left, self.integer(inner, allowed))
            }
        }
    }
}
