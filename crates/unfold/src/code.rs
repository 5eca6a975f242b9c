//! Expressions, compiled for packed states, with variables that may have no value.
//!
//! The outcome of an expression is exact for *all* choices of its `*` at once: each `*` occurs once
//! and is independent of the others, so the set of outcomes of an operator is determined by the
//! sets of its operands. A Boolean has a set over {false, true, division by zero, negative shift};
//! integers contain no `*` inside operators, so they have one outcome.
//!
//! A variable without a value makes the outcome unknown unless the other operand decides it
//! (`F & x`; also `x & F`, if evaluating x cannot fail). Then the first variable that is
//! needed is named, and the caller gives it a value and tries again.

use droste_program::interval::Interval;
use droste_program::{Expr, ExprNode, NodeId, Operator, Type, Value, VarRef, Violation};

use crate::layout::{Bit, Field};

/// Outcomes of a Boolean expression: bits.
pub(crate) const FALSE: u8 = 1;
pub(crate) const TRUE: u8 = 2;
const DIVISION: u8 = 4;
const SHIFT: u8 = 8;
const FAILURES: u8 = DIVISION | SHIFT;

/// What an expression evaluates to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// A set of Boolean outcomes (or, for an integer, of failures).
    Set(u8),
    /// An integer.
    Int(Value),
    /// Any value of the type it is stored in.
    Any,
    /// The value of this variable (by slot) is needed first.
    Needs(u32),
    /// The value of this variable after the step is needed first.
    NeedsNext(u32),
}

/// The violations in a set of outcomes.
pub(crate) fn failures(set: u8) -> impl Iterator<Item = Violation> {
    [
        (DIVISION, Violation::DivisionByZero),
        (SHIFT, Violation::NegativeShift),
    ]
    .into_iter()
    .filter(move |&(bit, _)| set & bit != 0)
    .map(|(_, violation)| violation)
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Instr {
    Bool(u8),
    Int(Value),
    LoadBool(Field),
    LoadInt(Field),
    NextBool(Field),
    NextInt(Field),
    Not(u32),
    BitNot(u32),
    Neg(u32),
    /// The flag says that the left operand cannot fail.
    Logic(Operator, u32, u32, bool),
    SameBool(bool, u32, u32),
    Compare(Operator, u32, u32),
    Arith(Operator, u32, u32),
    /// The flag says that the second operand cannot fail.
    Schoose(u32, u32, bool),
}

/// A compiled expression.
#[derive(Clone, Debug)]
pub(crate) enum Code {
    Const(Outcome),
    /// A Boolean variable, negated if the flag is set.
    Bool(Field, bool),
    /// An integer variable.
    Int(Field),
    /// An integer variable compared with a constant.
    Compare(Operator, Field, Value),
    /// An integer variable and a constant, added.
    Plus(Field, Value),
    /// Boolean operators and variables alone. If all variables have values, so have the gates;
    /// otherwise the instructions say what is needed.
    Gates(Box<[Gate]>, Box<[Instr]>),
    /// Anything, with arithmetic in 64 bits (which suffices).
    Narrow(Box<[Instr]>),
    /// Anything, with arithmetic modulo 2¹²⁸.
    Wide(Box<[Instr]>),
}

/// An instruction on values that are known.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Gate {
    Const(bool),
    Load(Bit),
    Next(Bit),
    Not(u8),
    And(u8, u8),
    Or(u8, u8),
    Implies(u8, u8),
    Same(bool, u8, u8),
}

/// The most gates of an expression.
const GATES: usize = 128;

/// The instructions as gates, if there are some and they are all Boolean.
fn gates(instrs: &[Instr]) -> Option<Box<[Gate]>> {
    if instrs.len() > GATES {
        return None;
    }
    let gate = |instr: &Instr| {
        Some(match *instr {
            Instr::Bool(FALSE) => Gate::Const(false),
            Instr::Bool(TRUE) => Gate::Const(true),
            Instr::LoadBool(field) => Gate::Load(field.bit()),
            Instr::NextBool(field) => Gate::Next(field.bit()),
            Instr::Not(a) => Gate::Not(a as u8),
            Instr::Logic(Operator::And, a, b, _) => Gate::And(a as u8, b as u8),
            Instr::Logic(Operator::Or, a, b, _) => Gate::Or(a as u8, b as u8),
            Instr::Logic(_, a, b, _) => Gate::Implies(a as u8, b as u8),
            Instr::SameBool(same, a, b) => Gate::Same(same, a as u8, b as u8),
            _ => return None,
        })
    };
    instrs.iter().map(gate).collect()
}

/// The value of the last gate, if all variables have one.
fn switch(gates: &[Gate], now: &[u64], next: &[u64]) -> Option<bool> {
    let mut values = [false; GATES];
    for (i, gate) in gates.iter().enumerate() {
        let of = |a: u8| values[a as usize];
        values[i] = match *gate {
            Gate::Const(value) => value,
            Gate::Load(bit) => bit.get(now)?,
            Gate::Next(bit) => bit.get(next)?,
            Gate::Not(a) => !of(a),
            Gate::And(a, b) => of(a) & of(b),
            Gate::Or(a, b) => of(a) | of(b),
            Gate::Implies(a, b) => !of(a) | of(b),
            Gate::Same(same, a, b) => (of(a) == of(b)) == same,
        };
    }
    values.get(gates.len().wrapping_sub(1)).copied()
}

/// Where variables are and, for propositions, where control is.
pub(crate) struct Scope<'a> {
    pub(crate) globals: &'a [Field],
    pub(crate) locals: &'a [Field],
    /// For [`ExprNode::At`].
    pub(crate) node: Option<NodeId>,
    /// Whether [`ExprNode::Var`] means the value after the step.
    pub(crate) after: bool,
}

impl Scope<'_> {
    pub(crate) fn field(&self, var: VarRef) -> Field {
        match var {
            VarRef::Global(i) => self.globals[i as usize],
            VarRef::Local(i) => self.locals[i as usize],
        }
    }

    /// Compiles; `boolean` says what the expression as a whole is.
    pub(crate) fn compile(&self, expr: &Expr, boolean: bool) -> Code {
        let is_bool = kinds(expr, boolean, |var| self.field(var).ty.is_bool());
        let mut instrs = Vec::with_capacity(expr.nodes.len());
        let mut total = Vec::with_capacity(expr.nodes.len());
        let mut bounds: Vec<Option<Interval>> = Vec::with_capacity(expr.nodes.len());
        for (i, node) in expr.nodes.iter().enumerate() {
            let (instr, cannot_fail) = match *node {
                ExprNode::Const(value) if is_bool[i] => {
                    (Instr::Bool(if value == 0 { FALSE } else { TRUE }), true)
                }
                ExprNode::Const(value) => (Instr::Int(value), true),
                ExprNode::Nondet(Type::Bool) => (Instr::Bool(FALSE | TRUE), true),
                // As a whole right-hand side only: it is then the whole expression.
                ExprNode::Nondet(_) => return Code::Const(Outcome::Any),
                ExprNode::Var(var) => (load(self.field(var), self.after), true),
                ExprNode::Next(var) => (load(self.field(var), true), true),
                ExprNode::Not(a) => (Instr::Not(a), total[a as usize]),
                ExprNode::BitNot(a) => (Instr::BitNot(a), total[a as usize]),
                ExprNode::Neg(a) => (Instr::Neg(a), total[a as usize]),
                ExprNode::Schoose(a, b) => {
                    let total_b = total[b as usize];
                    (Instr::Schoose(a, b, total_b), total[a as usize] && total_b)
                }
                ExprNode::At(ref nodes) => {
                    let here = self
                        .node
                        .is_some_and(|node| nodes.binary_search(&node).is_ok());
                    (Instr::Bool(if here { TRUE } else { FALSE }), true)
                }
                ExprNode::Binary(op, a, b) => {
                    let both = total[a as usize] && total[b as usize];
                    match op {
                        Operator::And | Operator::Or | Operator::Implies => {
                            (Instr::Logic(op, a, b, total[a as usize]), both)
                        }
                        Operator::Xor => (Instr::SameBool(false, a, b), both),
                        Operator::Eq | Operator::Ne if is_bool[a as usize] => {
                            (Instr::SameBool(op == Operator::Eq, a, b), both)
                        }
                        Operator::Eq
                        | Operator::Ne
                        | Operator::Lt
                        | Operator::Le
                        | Operator::Gt
                        | Operator::Ge => (Instr::Compare(op, a, b), both),
                        Operator::Div | Operator::Rem | Operator::Shl | Operator::Shr => {
                            (Instr::Arith(op, a, b), false)
                        }
                        _ => (Instr::Arith(op, a, b), both),
                    }
                }
            };
            bounds.push(bound(&instr, &bounds));
            instrs.push(instr);
            total.push(cannot_fail);
        }
        match instrs[..] {
            [Instr::Bool(set)] => return Code::Const(Outcome::Set(set)),
            [Instr::Int(value)] => return Code::Const(Outcome::Int(value)),
            [Instr::LoadBool(field)] => return Code::Bool(field, false),
            [Instr::LoadBool(field), Instr::Not(0)] => return Code::Bool(field, true),
            [Instr::LoadInt(field)] => return Code::Int(field),
            [
                Instr::LoadInt(field),
                Instr::Int(value),
                Instr::Compare(op, 0, 1),
            ] => {
                return Code::Compare(op, field, value);
            }
            [
                Instr::LoadInt(field),
                Instr::Int(value),
                Instr::Arith(op @ (Operator::Add | Operator::Sub), 0, 1),
            ] => {
                let value = if op == Operator::Add {
                    value
                } else {
                    value.wrapping_neg()
                };
                return Code::Plus(field, value);
            }
            _ => {}
        }
        if let Some(gates) = gates(&instrs) {
            return Code::Gates(gates, instrs.into());
        }
        const NARROW: Interval = Interval {
            lo: -(1 << 62),
            hi: 1 << 62,
        };
        let narrow = |bound: &Option<Interval>| bound.is_some_and(|bound| NARROW.covers(bound));
        if bounds.iter().all(narrow) {
            Code::Narrow(instrs.into())
        } else {
            Code::Wide(instrs.into())
        }
    }
}

fn load(field: Field, after: bool) -> Instr {
    match (field.ty.is_bool(), after) {
        (true, false) => Instr::LoadBool(field),
        (false, false) => Instr::LoadInt(field),
        (true, true) => Instr::NextBool(field),
        (false, true) => Instr::NextInt(field),
    }
}

/// Which nodes of an expression are Boolean. Constants take it from the operator that uses them.
fn kinds(expr: &Expr, root: bool, var_is_bool: impl Fn(VarRef) -> bool) -> Vec<bool> {
    let mut kinds = vec![false; expr.nodes.len()];
    let last = expr.nodes.len() - 1;
    for (i, node) in expr.nodes.iter().enumerate() {
        kinds[i] = match *node {
            ExprNode::Const(_) => i == last && root,
            ExprNode::Nondet(ty) => ty.is_bool(),
            ExprNode::Var(var) | ExprNode::Next(var) => var_is_bool(var),
            ExprNode::Not(_) | ExprNode::Schoose(..) | ExprNode::At(_) => true,
            ExprNode::BitNot(_) | ExprNode::Neg(_) => false,
            ExprNode::Binary(op, ..) => matches!(
                op,
                Operator::And
                    | Operator::Or
                    | Operator::Implies
                    | Operator::Xor
                    | Operator::Eq
                    | Operator::Ne
                    | Operator::Lt
                    | Operator::Le
                    | Operator::Gt
                    | Operator::Ge
            ),
        };
        // Constant operands: Boolean under a Boolean operator, or beside a Boolean.
        match *node {
            ExprNode::Not(a) => kinds[a as usize] = true,
            ExprNode::Schoose(a, b)
            | ExprNode::Binary(
                Operator::And | Operator::Or | Operator::Implies | Operator::Xor,
                a,
                b,
            ) => {
                kinds[a as usize] = true;
                kinds[b as usize] = true;
            }
            ExprNode::Binary(Operator::Eq | Operator::Ne, a, b) => {
                let either = kinds[a as usize] || kinds[b as usize];
                kinds[a as usize] = either;
                kinds[b as usize] = either;
            }
            _ => {}
        }
    }
    kinds
}

/// An interval that contains every value of an integer instruction, if 128 bits hold them.
fn bound(instr: &Instr, bounds: &[Option<Interval>]) -> Option<Interval> {
    let of = |i: u32| bounds[i as usize];
    match *instr {
        Instr::Int(value) => Some(Interval::constant(value)),
        Instr::LoadInt(field) | Instr::NextInt(field) => Some(Interval::of(field.ty)),
        Instr::Neg(a) => of(a).and_then(Interval::negated),
        Instr::BitNot(a) => of(a).map(Interval::bit_not),
        Instr::Arith(op, a, b) => Interval::apply_known(op, of(a), of(b)),
        _ => Some(Interval::BOOL),
    }
}

/// The arithmetic an evaluation is done in.
trait Number: Copy + PartialEq + PartialOrd {
    fn from_value(value: Value) -> Self;
    fn to_value(self) -> Value;
    fn arith(op: Operator, a: Self, b: Self) -> Result<Self, u8>;
    fn neg(self) -> Self;
    fn not(self) -> Self;
}

macro_rules! number {
    ($t:ty) => {
        impl Number for $t {
            #[inline]
            fn from_value(value: Value) -> Self {
                value as $t
            }
            #[inline]
            fn to_value(self) -> Value {
                self as Value
            }
            #[inline]
            fn neg(self) -> Self {
                self.wrapping_neg()
            }
            #[inline]
            fn not(self) -> Self {
                !self
            }
            #[inline]
            fn arith(op: Operator, a: Self, b: Self) -> Result<Self, u8> {
                Ok(match op {
                    Operator::Add => a.wrapping_add(b),
                    Operator::Sub => a.wrapping_sub(b),
                    Operator::Mul => a.wrapping_mul(b),
                    Operator::Div if b == 0 => return Err(DIVISION),
                    Operator::Rem if b == 0 => return Err(DIVISION),
                    Operator::Div => a.wrapping_div(b),
                    Operator::Rem => a.wrapping_rem(b),
                    Operator::Shl | Operator::Shr if b < 0 => return Err(SHIFT),
                    Operator::Shl => a.wrapping_shl(b.min(64) as u32),
                    Operator::Shr => a >> b.min(<$t>::BITS as $t - 1),
                    Operator::BitAnd => a & b,
                    Operator::BitOr => a | b,
                    Operator::BitXor => a ^ b,
                    _ => unreachable!("not an arithmetic operator"),
                })
            }
        }
    };
}
number!(i64);
number!(i128);

/// The outcome of part of an expression.
#[derive(Clone, Copy)]
enum Part<N> {
    Set(u8),
    Int(N),
    Needs(u32),
    NeedsNext(u32),
}

fn set(b: bool) -> u8 {
    if b { TRUE } else { FALSE }
}

#[inline]
fn compare<N: PartialOrd + Copy>(op: Operator, a: N, b: N) -> bool {
    match op {
        Operator::Eq => a == b,
        Operator::Ne => a != b,
        Operator::Lt => a < b,
        Operator::Le => a <= b,
        Operator::Gt => a > b,
        _ => a >= b,
    }
}

fn run<N: Number>(instrs: &[Instr], now: &[u64], next: &[u64]) -> Outcome {
    const SMALL: usize = 24;
    let mut small = [Part::<N>::Set(0); SMALL];
    let mut large = Vec::new();
    let parts: &mut [Part<N>] = if instrs.len() <= SMALL {
        &mut small[..instrs.len()]
    } else {
        large.resize(instrs.len(), Part::Set(0));
        &mut large
    };
    for (i, instr) in instrs.iter().enumerate() {
        let part = |index: &u32| parts[*index as usize];
        parts[i] = match instr {
            Instr::Bool(set) => Part::Set(*set),
            Instr::Int(value) => Part::Int(N::from_value(*value)),
            Instr::LoadBool(field) => match field.get(now) {
                Some(offset) => Part::Set(set(offset != 0)),
                None => Part::Needs(field.slot),
            },
            Instr::LoadInt(field) => match field.get(now) {
                Some(offset) => Part::Int(N::from_value(field.value(offset))),
                None => Part::Needs(field.slot),
            },
            Instr::NextBool(field) => match field.get(next) {
                Some(offset) => Part::Set(set(offset != 0)),
                None => Part::NeedsNext(field.slot),
            },
            Instr::NextInt(field) => match field.get(next) {
                Some(offset) => Part::Int(N::from_value(field.value(offset))),
                None => Part::NeedsNext(field.slot),
            },
            Instr::Not(a) => match part(a) {
                Part::Set(a) => Part::Set(a & FAILURES | (a & FALSE) << 1 | (a & TRUE) >> 1),
                other => other,
            },
            Instr::BitNot(a) => match part(a) {
                Part::Int(a) => Part::Int(a.not()),
                other => other,
            },
            Instr::Neg(a) => match part(a) {
                Part::Int(a) => Part::Int(a.neg()),
                other => other,
            },
            Instr::Logic(op, a, b, left_total) => {
                // The value of the left operand that decides, and what the result is then.
                let (decisive, result) = match op {
                    Operator::And => (FALSE, FALSE),
                    Operator::Or => (TRUE, TRUE),
                    _ => (FALSE, TRUE),
                };
                match (part(a), part(b)) {
                    (Part::Set(a), _) if a & (FALSE | TRUE) & !decisive == 0 => {
                        Part::Set(a & FAILURES | if a & decisive != 0 { result } else { 0 })
                    }
                    (Part::Set(a), Part::Set(b)) => {
                        Part::Set(a & FAILURES | b | if a & decisive != 0 { result } else { 0 })
                    }
                    // For all three operators, the right operand decides with that same result.
                    (_, Part::Set(b)) if *left_total && b == result => Part::Set(result),
                    (Part::Set(_), needs) | (needs, _) => needs,
                }
            }
            Instr::SameBool(same, a, b) => match (part(a), part(b)) {
                (Part::Set(a), Part::Set(b)) => {
                    let mut out = a & FAILURES;
                    if a & (FALSE | TRUE) != 0 {
                        out |= b & FAILURES;
                        let equal = a & b & (FALSE | TRUE) != 0;
                        let differ =
                            a & FALSE != 0 && b & TRUE != 0 || a & TRUE != 0 && b & FALSE != 0;
                        if equal {
                            out |= set(*same);
                        }
                        if differ {
                            out |= set(!*same);
                        }
                    }
                    Part::Set(out)
                }
                (Part::Set(_), needs) | (needs, _) => needs,
            },
            Instr::Compare(op, a, b) => match (part(a), part(b)) {
                (Part::Int(a), Part::Int(b)) => Part::Set(set(compare(*op, a, b))),
                (Part::Int(_), other) | (other, _) => other,
            },
            Instr::Arith(op, a, b) => match (part(a), part(b)) {
                (Part::Int(a), Part::Int(b)) => match N::arith(*op, a, b) {
                    Ok(value) => Part::Int(value),
                    Err(failure) => Part::Set(failure),
                },
                (Part::Int(_), other) | (other, _) => other,
            },
            // Both operands are evaluated, whatever the first one is.
            Instr::Schoose(a, b, right_total) => match (part(a), part(b)) {
                (Part::Set(a), _) if *right_total && a & FALSE == 0 => Part::Set(a),
                (Part::Set(a), Part::Set(b)) => {
                    let mut out = a & FAILURES;
                    if a & (FALSE | TRUE) != 0 {
                        out |= b & FAILURES;
                    }
                    if a & TRUE != 0 && b & (FALSE | TRUE) != 0 {
                        out |= TRUE;
                    }
                    if a & FALSE != 0 && b & TRUE != 0 {
                        out |= FALSE;
                    }
                    if a & FALSE != 0 && b & FALSE != 0 {
                        out |= FALSE | TRUE;
                    }
                    Part::Set(out)
                }
                (Part::Set(_), needs) | (needs, _) => needs,
            },
        };
    }
    match parts[instrs.len() - 1] {
        Part::Set(set) => Outcome::Set(set),
        Part::Int(value) => Outcome::Int(value.to_value()),
        Part::Needs(slot) => Outcome::Needs(slot),
        Part::NeedsNext(slot) => Outcome::NeedsNext(slot),
    }
}

impl Code {
    /// Evaluates in `now`. `next` is the state after the step, for conditions that ask for it.
    #[inline]
    pub(crate) fn eval(&self, now: &[u64], next: &[u64]) -> Outcome {
        match self {
            Code::Const(outcome) => *outcome,
            Code::Bool(field, negated) => match field.get(now) {
                Some(offset) => Outcome::Set(set((offset != 0) != *negated)),
                None => Outcome::Needs(field.slot),
            },
            Code::Int(field) => match field.get(now) {
                Some(offset) => Outcome::Int(field.value(offset)),
                None => Outcome::Needs(field.slot),
            },
            Code::Compare(op, field, value) => match field.get(now) {
                Some(offset) => Outcome::Set(set(compare(*op, field.value(offset), *value))),
                None => Outcome::Needs(field.slot),
            },
            Code::Plus(field, value) => match field.get(now) {
                Some(offset) => Outcome::Int(field.value(offset).wrapping_add(*value)),
                None => Outcome::Needs(field.slot),
            },
            Code::Gates(gates, instrs) => match switch(gates, now, next) {
                Some(value) => Outcome::Set(set(value)),
                None => run::<i64>(instrs, now, next),
            },
            Code::Narrow(instrs) => run::<i64>(instrs, now, next),
            Code::Wide(instrs) => run::<i128>(instrs, now, next),
        }
    }

    /// The variable, if the code is nothing but its value before the step.
    pub(crate) fn as_load(&self) -> Option<&Field> {
        match self {
            Code::Bool(field, false) | Code::Int(field) => Some(field),
            _ => None,
        }
    }
}

/// Converts a value to a type, as storing does.
#[inline]
pub(crate) fn convert(value: Value, ty: Type) -> Result<Value, Violation> {
    ty.convert(value).ok_or(Violation::OutOfRange)
}
