//! Which values an expression can take, over all choices of its `*`.
//!
//! Every [`ExprNode::Nondet`] occurs once in the tree. So the choices in two operands are
//! independent, and the set of outcomes of an operator follows from the sets of outcomes of its
//! operands. An outcome is a value or a [`Violation`]. Expressions are in postorder, so one pass
//! from left to right suffices, whatever their depth.
//!
//! `&`, `|` and `=>` look at their right operand only if the left one does not decide. All other
//! operators need both operands, in no particular order, so a failure of either operand can be the
//! one that is reported.

use droste_program::execution::Valuation;
use droste_program::{Expr, ExprNode, NodeId, Operator, Type, Value, VarRef, Violation};

/// More values than this are not listed one by one.
pub(crate) const LISTED: usize = 1 << 16;

/// Why a question about values has no answer: never for programs that came from source text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Undecided(pub(crate) &'static str);

/// A set of violations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Failures(u8);

impl Failures {
    fn bit(violation: Violation) -> u8 {
        match violation {
            Violation::Assertion => 1,
            Violation::OutOfRange => 2,
            Violation::DivisionByZero => 4,
            Violation::NegativeShift => 8,
        }
    }

    pub(crate) fn insert(&mut self, violation: Violation) {
        self.0 |= Self::bit(violation);
    }

    pub(crate) fn add(&mut self, other: Failures) {
        self.0 |= other.0;
    }

    pub(crate) fn contains(self, violation: Violation) -> bool {
        self.0 & Self::bit(violation) != 0
    }

    pub(crate) fn is_empty(self) -> bool {
        self.0 == 0
    }
}

/// A set of values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Values {
    /// These: sorted, distinct.
    Listed(Vec<Value>),
    /// All from the first to the second, which is not less.
    Interval(Value, Value),
}

impl Values {
    fn from_list(mut list: Vec<Value>) -> Self {
        list.sort_unstable();
        list.dedup();
        Values::Listed(list)
    }

    fn one(value: Value) -> Self {
        Values::Interval(value, value)
    }

    pub(crate) fn contains(&self, value: Value) -> bool {
        match self {
            Values::Listed(list) => list.binary_search(&value).is_ok(),
            Values::Interval(lo, hi) => (*lo..=*hi).contains(&value),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        matches!(self, Values::Listed(list) if list.is_empty())
    }

    /// How many there are; saturates.
    pub(crate) fn count(&self) -> u128 {
        match self {
            Values::Listed(list) => list.len() as u128,
            Values::Interval(lo, hi) => hi.abs_diff(*lo).saturating_add(1),
        }
    }

    /// The value with this index, in ascending order.
    pub(crate) fn nth(&self, index: u128) -> Option<Value> {
        match self {
            Values::Listed(list) => list.get(usize::try_from(index).ok()?).copied(),
            Values::Interval(lo, _) if index < self.count() => {
                Some(lo.wrapping_add(index as Value))
            }
            Values::Interval(..) => None,
        }
    }

    /// Both halves, if there is more than one value.
    pub(crate) fn halves(&self) -> Option<[Values; 2]> {
        match self {
            Values::Listed(list) if list.len() > 1 => {
                let (left, right) = list.split_at(list.len() / 2);
                Some([left, right].map(|half| Values::Listed(half.to_vec())))
            }
            Values::Interval(lo, hi) if lo < hi => {
                let middle = lo + (hi - lo) / 2;
                Some([
                    Values::Interval(*lo, middle),
                    Values::Interval(middle + 1, *hi),
                ])
            }
            _ => None,
        }
    }

    /// All values, if there are not too many to list.
    pub(crate) fn list(&self) -> Result<Vec<Value>, Undecided> {
        match self {
            Values::Listed(list) => Ok(list.clone()),
            Values::Interval(lo, hi) if self.count() <= LISTED as u128 => Ok((*lo..=*hi).collect()),
            Values::Interval(..) => Err(Undecided("an operand can take too many values")),
        }
    }
}

/// What an evaluation can come to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Outcomes {
    /// The values it can have.
    pub(crate) values: Values,
    /// The ways in which it can fail.
    pub(crate) failures: Failures,
}

impl Outcomes {
    fn of(list: Vec<Value>) -> Self {
        Outcomes {
            values: Values::from_list(list),
            failures: Failures::default(),
        }
    }

    fn one(value: Value) -> Self {
        Outcomes {
            values: Values::one(value),
            failures: Failures::default(),
        }
    }

    pub(crate) fn can_be(&self, value: Value) -> bool {
        self.values.contains(value)
    }

    /// What storing the value in a variable of type `ty` can come to.
    pub(crate) fn stored(self, ty: Type) -> Result<Outcomes, Undecided> {
        let Outcomes {
            values,
            mut failures,
        } = self;
        let values = match values {
            Values::Interval(lo, hi) if ty.lo() <= lo && hi <= ty.hi() => values,
            Values::Interval(value, hi) if value == hi => match convert(value, ty)? {
                Ok(value) => Values::one(value),
                Err(violation) => {
                    failures.insert(violation);
                    Values::Listed(Vec::new())
                }
            },
            Values::Interval(lo, hi) => match ty {
                Type::Bool => return Err(Undecided("an integer is stored in a Boolean")),
                Type::Range {
                    lo: least,
                    hi: greatest,
                } => {
                    failures.insert(Violation::OutOfRange);
                    if lo.max(least) <= hi.min(greatest) {
                        Values::Interval(lo.max(least), hi.min(greatest))
                    } else {
                        Values::Listed(Vec::new())
                    }
                }
                // If there are at least as many consecutive integers as bit vectors, they hit every
                // bit vector.
                Type::Bits { .. } if hi.abs_diff(lo) >= ty.hi().abs_diff(ty.lo()) => {
                    Values::Interval(ty.lo(), ty.hi())
                }
                Type::Bits { .. } => {
                    let mut list = values.list()?;
                    for value in &mut list {
                        *value = convert(*value, ty)?.unwrap_or(*value);
                    }
                    Values::from_list(list)
                }
            },
            Values::Listed(list) => {
                let mut stored = Vec::with_capacity(list.len());
                for value in list {
                    match convert(value, ty)? {
                        Ok(value) => stored.push(value),
                        Err(violation) => failures.insert(violation),
                    }
                }
                Values::from_list(stored)
            }
        };
        Ok(Outcomes { values, failures })
    }
}

/// Storing `value` in a variable of type `ty`.
pub(crate) fn convert(value: Value, ty: Type) -> Result<Result<Value, Violation>, Undecided> {
    match ty {
        Type::Bool if value == 0 || value == 1 => Ok(Ok(value)),
        Type::Bool => Err(Undecided("an integer is stored in a Boolean")),
        Type::Bits { signed, width } => {
            let modulus: Value = 1 << width;
            let low = value & (modulus - 1);
            Ok(Ok(if signed && low >= modulus / 2 {
                low - modulus
            } else {
                low
            }))
        }
        Type::Range { lo, hi } if lo <= value && value <= hi => Ok(Ok(value)),
        Type::Range { .. } => Ok(Err(Violation::OutOfRange)),
    }
}

/// What an expression is evaluated in.
#[derive(Clone, Copy)]
pub(crate) struct Scene<'a> {
    /// What [`ExprNode::Var`] means.
    pub(crate) now: &'a Valuation,
    /// What [`ExprNode::Next`] means.
    pub(crate) next: &'a Valuation,
    /// Where control is, for propositions.
    pub(crate) at: Option<NodeId>,
}

impl<'a> Scene<'a> {
    /// One configuration, without a second.
    pub(crate) fn of(now: &'a Valuation) -> Self {
        Scene {
            now,
            next: now,
            at: None,
        }
    }
}

fn lookup(valuation: &Valuation, var: VarRef) -> Result<Value, Undecided> {
    match var {
        VarRef::Global(i) => valuation.globals.get(i as usize),
        VarRef::Local(i) => valuation.locals.get(i as usize),
    }
    .copied()
    .ok_or(Undecided("a variable has no value"))
}

fn is_at(nodes: &[NodeId], scene: &Scene) -> Value {
    Value::from(scene.at.is_some_and(|at| nodes.binary_search(&at).is_ok()))
}

/// The value of an expression without choices, if nothing in it fails: most are of this kind.
fn certain(expr: &Expr, scene: &Scene) -> Option<Value> {
    const SHORT: usize = 8;
    let (mut short, mut long) = ([0; SHORT], Vec::new());
    let values: &mut [Value] = if expr.nodes.len() > SHORT {
        long.resize(expr.nodes.len(), 0);
        &mut long
    } else {
        &mut short
    };
    for (i, node) in expr.nodes.iter().enumerate() {
        // Operands come before their operators. One that does not has no value.
        let operand = |index: u32| values[..i].get(index as usize).copied();
        let value = match node {
            ExprNode::Const(value) => *value,
            ExprNode::Var(var) => lookup(scene.now, *var).ok()?,
            ExprNode::Next(var) => lookup(scene.next, *var).ok()?,
            ExprNode::At(nodes) => is_at(nodes, scene),
            ExprNode::Not(a) => Value::from(operand(*a)? == 0),
            ExprNode::BitNot(a) => !operand(*a)?,
            ExprNode::Neg(a) => operand(*a)?.wrapping_neg(),
            ExprNode::Binary(operator, a, b) => {
                apply(*operator, operand(*a)?, operand(*b)?).ok()?
            }
            ExprNode::Nondet(_) | ExprNode::Schoose(..) => return None,
        };
        values[i] = value;
    }
    values[..expr.nodes.len()].last().copied()
}

/// What evaluating `expr` can come to.
pub(crate) fn evaluate(expr: &Expr, scene: &Scene) -> Result<Outcomes, Undecided> {
    if let Some(value) = certain(expr, scene) {
        return Ok(Outcomes::one(value));
    }
    evaluate_with(expr, scene, |_| None)
}

/// The outcomes where some leaves stand for several values. If one of these leaves occurs more than
/// once, the answer may be too large: each occurrence is taken for itself.
pub(crate) fn evaluate_with(
    expr: &Expr,
    scene: &Scene,
    several: impl Fn(&ExprNode) -> Option<Values>,
) -> Result<Outcomes, Undecided> {
    // The outcomes of the nodes so far that are not yet an operand.
    let mut done: Vec<Option<Outcomes>> = Vec::with_capacity(expr.nodes.len());
    for node in &expr.nodes {
        let mut operand = |index: u32| {
            done.get_mut(index as usize)
                .and_then(Option::take)
                .ok_or(Undecided("an expression is not a tree in postorder"))
        };
        if let Some(values) = several(node) {
            done.push(Some(Outcomes {
                values,
                failures: Failures::default(),
            }));
            continue;
        }
        let outcomes = match node {
            ExprNode::Const(value) => Outcomes::one(*value),
            ExprNode::Nondet(Type::Bool) => Outcomes::of(vec![0, 1]),
            ExprNode::Nondet(ty) => Outcomes {
                values: Values::Interval(ty.lo(), ty.hi()),
                failures: Failures::default(),
            },
            ExprNode::Var(var) => Outcomes::one(lookup(scene.now, *var)?),
            ExprNode::Next(var) => Outcomes::one(lookup(scene.next, *var)?),
            ExprNode::Not(a) => map(&operand(*a)?, |a| Value::from(a == 0))?,
            ExprNode::BitNot(a) => map(&operand(*a)?, |a| !a)?,
            ExprNode::Neg(a) => map(&operand(*a)?, Value::wrapping_neg)?,
            ExprNode::Binary(operator, a, b) => {
                let (a, b) = (operand(*a)?, operand(*b)?);
                match operator {
                    Operator::And => lazy(&a, &b, 0, 0),
                    Operator::Or => lazy(&a, &b, 1, 1),
                    Operator::Implies => lazy(&a, &b, 0, 1),
                    _ => strict(*operator, &a, &b)?,
                }
            }
            ExprNode::Schoose(a, b) => schoose(&operand(*a)?, &operand(*b)?),
            ExprNode::At(nodes) => Outcomes::one(is_at(nodes, scene)),
        };
        done.push(Some(outcomes));
    }
    done.pop()
        .flatten()
        .ok_or(Undecided("an expression is empty"))
}

fn map(a: &Outcomes, f: impl Fn(Value) -> Value) -> Result<Outcomes, Undecided> {
    Ok(Outcomes {
        values: Values::from_list(a.values.list()?.into_iter().map(f).collect()),
        failures: a.failures,
    })
}

/// `result` if the left operand is `decisive`, the right operand otherwise.
fn lazy(a: &Outcomes, b: &Outcomes, decisive: Value, result: Value) -> Outcomes {
    let mut values = Vec::new();
    let mut failures = a.failures;
    if a.can_be(decisive) {
        values.push(result);
    }
    if a.can_be(1 - decisive) {
        values.extend([0, 1].into_iter().filter(|&v| b.can_be(v)));
        failures.add(b.failures);
    }
    Outcomes {
        values: Values::from_list(values),
        failures,
    }
}

/// 1 if the first, else 0 if the second, else either.
fn schoose(a: &Outcomes, b: &Outcomes) -> Outcomes {
    let mut values = Vec::new();
    let mut failures = a.failures;
    failures.add(b.failures);
    if !b.values.is_empty() && a.can_be(1) {
        values.push(1);
    }
    if a.can_be(0) && b.can_be(1) {
        values.push(0);
    }
    if a.can_be(0) && b.can_be(0) {
        values.extend([0, 1]);
    }
    Outcomes {
        values: Values::from_list(values),
        failures,
    }
}

fn strict(operator: Operator, a: &Outcomes, b: &Outcomes) -> Result<Outcomes, Undecided> {
    let mut failures = a.failures;
    failures.add(b.failures);
    if let (&Values::Interval(a, z), &Values::Interval(b, y)) = (&a.values, &b.values)
        && let Some(values) = compare(operator, (a, z), (b, y))
    {
        return Ok(Outcomes { values, failures });
    }
    let (left, right) = (a.values.list()?, b.values.list()?);
    if left.len().saturating_mul(right.len()) > LISTED {
        return Err(Undecided("an expression can take too many values"));
    }
    let mut values = Vec::with_capacity(left.len() * right.len());
    for &x in &left {
        for &y in &right {
            match apply(operator, x, y) {
                Ok(value) => values.push(value),
                Err(violation) => failures.insert(violation),
            }
        }
    }
    Ok(Outcomes {
        values: Values::from_list(values),
        failures,
    })
}

/// What comparing a value of one interval with one of another can come to; `None` for operators
/// that do not compare.
fn compare(operator: Operator, (a, z): (Value, Value), (b, y): (Value, Value)) -> Option<Values> {
    let overlap = a <= y && b <= z;
    let alone = a == z && b == y && a == b;
    let (no, yes) = match operator {
        Operator::Eq => (!alone, overlap),
        Operator::Ne => (overlap, !alone),
        Operator::Lt => (z >= b, a < y),
        Operator::Le => (z > b, a <= y),
        Operator::Gt => (a <= y, z > b),
        Operator::Ge => (a < y, z >= b),
        _ => return None,
    };
    let both = [(0, no), (1, yes)].into_iter();
    Some(Values::Listed(
        both.filter_map(|(value, can)| can.then_some(value))
            .collect(),
    ))
}

/// A binary operator on two values.
fn apply(operator: Operator, x: Value, y: Value) -> Result<Value, Violation> {
    Ok(match operator {
        Operator::And | Operator::BitAnd => x & y,
        Operator::Or | Operator::BitOr => x | y,
        Operator::Implies => Value::from(x == 0 || y != 0),
        Operator::Xor | Operator::BitXor => x ^ y,
        Operator::Eq => Value::from(x == y),
        Operator::Ne => Value::from(x != y),
        Operator::Lt => Value::from(x < y),
        Operator::Le => Value::from(x <= y),
        Operator::Gt => Value::from(x > y),
        Operator::Ge => Value::from(x >= y),
        Operator::Add => x.wrapping_add(y),
        Operator::Sub => x.wrapping_sub(y),
        Operator::Mul => x.wrapping_mul(y),
        Operator::Div | Operator::Rem if y == 0 => return Err(Violation::DivisionByZero),
        Operator::Div => x.wrapping_div(y),
        Operator::Rem => x.wrapping_rem(y),
        Operator::Shl | Operator::Shr if y < 0 => return Err(Violation::NegativeShift),
        Operator::Shl => x << y.min(64),
        Operator::Shr => x >> y.min(127),
    })
}
