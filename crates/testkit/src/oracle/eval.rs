//! What an expression can evaluate to.
//!
//! Every occurrence of `*` is an operand of one operator only and is chosen on its own, so
//! the set of possible outcomes of an operator is exactly the combination of the sets of
//! its operands.

use std::collections::{BTreeSet, HashMap};

use droste_lang::ast::{Ast, BinaryOp, ExprId, ExprKind, Type, UnaryOp};
use droste_program::{Value, Violation};

/// A value, or the violation that evaluating ends in.
pub(super) type Outcome = Result<Value, Violation>;

/// The names that can be used in a procedure.
#[derive(Clone, Debug, Default)]
pub(super) struct Scope {
    /// Where in a store the variable is: globals first, then parameters, then locals.
    pub(super) index: HashMap<String, usize>,
    /// The types, in the same order.
    pub(super) types: Vec<Type>,
}

impl Scope {
    pub(super) fn declare(&mut self, name: &str, ty: Type) {
        self.index.insert(name.to_owned(), self.types.len());
        self.types.push(ty);
    }
}

/// What is known about an expression's type without looking at its surroundings.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sort {
    Bool,
    Int,
    /// `0` and `1` serve as both.
    Either,
}

/// Whether the expression is an integer for itself; `0 = 1` and the like compare
/// Booleans. `ty` tells the type of a variable.
fn is_integer(ast: &Ast, e: ExprId, ty: &dyn Fn(&ExprKind) -> Type) -> bool {
    sort(ast, e, ty) == Sort::Int
}

fn sort(ast: &Ast, e: ExprId, ty: &dyn Fn(&ExprKind) -> Type) -> Sort {
    match &ast.expr(e).kind {
        ExprKind::Bool(_)
        | ExprKind::Nondet
        | ExprKind::Schoose(..)
        | ExprKind::At(..)
        | ExprKind::In(_)
        | ExprKind::Terminated => Sort::Bool,
        ExprKind::Int(0 | 1) => Sort::Either,
        ExprKind::Int(_) | ExprKind::Unary(UnaryOp::Neg, _) => Sort::Int,
        variable @ (ExprKind::Var(_) | ExprKind::Next(_) | ExprKind::Qualified(..)) => {
            if ty(variable).is_bool() {
                Sort::Bool
            } else {
                Sort::Int
            }
        }
        ExprKind::Unary(UnaryOp::Not, operand) => sort(ast, *operand, ty),
        ExprKind::Binary(op, left, right) => match op {
            BinaryOp::Implies
            | BinaryOp::Eq
            | BinaryOp::Ne
            | BinaryOp::Lt
            | BinaryOp::Le
            | BinaryOp::Gt
            | BinaryOp::Ge => Sort::Bool,
            BinaryOp::And | BinaryOp::Or | BinaryOp::Xor => {
                match (sort(ast, *left, ty), sort(ast, *right, ty)) {
                    (Sort::Either, other) | (other, _) => other,
                }
            }
            _ => Sort::Int,
        },
    }
}

/// Whether the operands of `op` are Booleans, if `op` itself stands where a Boolean
/// (or not) is expected.
pub(super) fn operands_are_boolean(
    ast: &Ast,
    op: BinaryOp,
    (left, right): (ExprId, ExprId),
    boolean: bool,
    ty: &dyn Fn(&ExprKind) -> Type,
) -> bool {
    match op {
        BinaryOp::Implies => true,
        BinaryOp::And | BinaryOp::Or | BinaryOp::Xor => boolean,
        BinaryOp::Eq | BinaryOp::Ne => !(is_integer(ast, left, ty) || is_integer(ast, right, ty)),
        _ => false,
    }
}

/// Expressions in a procedure, before and perhaps after a step.
pub(super) struct Eval<'a> {
    pub(super) ast: &'a Ast,
    pub(super) scope: &'a Scope,
    /// Values of `x`.
    pub(super) old: &'a [Value],
    /// Values of `'x`.
    pub(super) new: &'a [Value],
}

impl Eval<'_> {
    fn index(&self, kind: &ExprKind) -> usize {
        match kind {
            ExprKind::Var(name) | ExprKind::Next(name) => self.scope.index[&*name.text],
            other => panic!("not a variable of a program: {other:?}"),
        }
    }

    fn ty(&self, kind: &ExprKind) -> Type {
        self.scope.types[self.index(kind)]
    }

    /// Everything `e` can be where a Boolean is expected.
    pub(super) fn condition(&self, e: ExprId) -> BTreeSet<Outcome> {
        self.outcomes(e, true)
    }

    /// Everything that can be stored in something of type `ty`; with no type, the value is
    /// thrown away.
    pub(super) fn stored(&self, e: ExprId, ty: Option<Type>) -> BTreeSet<Outcome> {
        if self.ast.expr(e).kind == ExprKind::Nondet {
            let ty = ty.unwrap_or(Type::Bool);
            return (ty.lo()..=ty.hi()).map(Ok).collect();
        }
        let Some(ty) = ty else {
            let boolean = !is_integer(self.ast, e, &|kind| self.ty(kind));
            return self.outcomes(e, boolean);
        };
        let outcomes = self.outcomes(e, ty.is_bool());
        outcomes
            .into_iter()
            .map(|outcome| outcome.and_then(|value| convert(value, ty)))
            .collect()
    }

    fn outcomes(&self, e: ExprId, boolean: bool) -> BTreeSet<Outcome> {
        match &self.ast.expr(e).kind {
            ExprKind::Bool(value) => BTreeSet::from([Ok(Value::from(*value))]),
            ExprKind::Int(value) => BTreeSet::from([Ok(*value)]),
            ExprKind::Nondet => BTreeSet::from([Ok(0), Ok(1)]),
            kind @ ExprKind::Var(_) => BTreeSet::from([Ok(self.old[self.index(kind)])]),
            kind @ ExprKind::Next(_) => BTreeSet::from([Ok(self.new[self.index(kind)])]),
            ExprKind::Unary(op, operand) => self
                .outcomes(*operand, boolean)
                .into_iter()
                .map(|outcome| outcome.map(|value| apply_unary(*op, value, boolean)))
                .collect(),
            ExprKind::Binary(op, left, right) => {
                let ty = |kind: &ExprKind| self.ty(kind);
                let inner = operands_are_boolean(self.ast, *op, (*left, *right), boolean, &ty);
                let mut all = BTreeSet::new();
                for left in self.outcomes(*left, inner) {
                    match left {
                        Err(violation) => {
                            all.insert(Err(violation));
                        }
                        Ok(left) => match decided_by_left(*op, left, inner) {
                            Some(value) => {
                                all.insert(Ok(value));
                            }
                            None => all.extend(
                                self.outcomes(*right, inner)
                                    .into_iter()
                                    .map(|right| apply(*op, left, right?)),
                            ),
                        },
                    }
                }
                all
            }
            ExprKind::Schoose(yes, no) => {
                let mut all = BTreeSet::new();
                for yes in self.outcomes(*yes, true) {
                    for no in self.outcomes(*no, true) {
                        match (yes, no) {
                            (Err(violation), _) | (_, Err(violation)) => {
                                all.insert(Err(violation));
                            }
                            (Ok(1), Ok(_)) => {
                                all.insert(Ok(1));
                            }
                            (Ok(_), Ok(1)) => {
                                all.insert(Ok(0));
                            }
                            (Ok(_), Ok(_)) => all.extend([Ok(0), Ok(1)]),
                        }
                    }
                }
                all
            }
            other => panic!("only in properties: {other:?}"),
        }
    }
}

/// The value of `left op …`, if the right operand need not be looked at.
pub(super) fn decided_by_left(op: BinaryOp, left: Value, boolean: bool) -> Option<Value> {
    match (op, left) {
        (BinaryOp::And, 0) if boolean => Some(0),
        (BinaryOp::Or, 1) if boolean => Some(1),
        (BinaryOp::Implies, 0) => Some(1),
        _ => None,
    }
}

pub(super) fn apply_unary(op: UnaryOp, value: Value, boolean: bool) -> Value {
    match op {
        UnaryOp::Not if boolean => 1 - value,
        UnaryOp::Not => !value,
        UnaryOp::Neg => -value,
    }
}

/// A binary operator on two values; on 0 and 1 the bitwise operators are the logical ones.
pub(super) fn apply(op: BinaryOp, left: Value, right: Value) -> Outcome {
    Ok(match op {
        BinaryOp::Implies => Value::from(left == 0 || right == 1),
        BinaryOp::Or => left | right,
        BinaryOp::Xor => left ^ right,
        BinaryOp::And => left & right,
        BinaryOp::Eq => Value::from(left == right),
        BinaryOp::Ne => Value::from(left != right),
        BinaryOp::Lt => Value::from(left < right),
        BinaryOp::Le => Value::from(left <= right),
        BinaryOp::Gt => Value::from(left > right),
        BinaryOp::Ge => Value::from(left >= right),
        BinaryOp::Add => left + right,
        BinaryOp::Sub => left - right,
        BinaryOp::Mul => left * right,
        BinaryOp::Div | BinaryOp::Rem if right == 0 => return Err(Violation::DivisionByZero),
        BinaryOp::Div => left / right,
        BinaryOp::Rem => left % right,
        BinaryOp::Shl | BinaryOp::Shr if right < 0 => return Err(Violation::NegativeShift),
        BinaryOp::Shl => left * (1 << right.min(64)),
        BinaryOp::Shr => left >> right.min(127),
    })
}

/// The value stored when `value` is assigned to something of type `ty`.
pub(super) fn convert(value: Value, ty: Type) -> Outcome {
    match ty {
        Type::Bool => Ok(value),
        Type::Bits { width, .. } => {
            let modulus = 1i128 << width;
            let low = value.rem_euclid(modulus);
            Ok(if low > ty.hi() { low - modulus } else { low })
        }
        Type::Range { lo, hi } if (lo..=hi).contains(&value) => Ok(value),
        Type::Range { .. } => Err(Violation::OutOfRange),
    }
}

/// Every choice of one value per type, or `None` if there are more than `limit`.
pub(super) fn valuations(types: &[Type], limit: usize) -> Option<Vec<Vec<Value>>> {
    let mut all = vec![Vec::new()];
    for ty in types {
        if (ty.hi() - ty.lo() + 1).checked_mul(all.len() as i128)? > limit as i128 {
            return None;
        }
        all = all
            .iter()
            .flat_map(|values| {
                (ty.lo()..=ty.hi()).map(|value| {
                    let mut values = values.clone();
                    values.push(value);
                    values
                })
            })
            .collect();
    }
    Some(all)
}
