//! Expressions: the word an expression means, and where its evaluation fails.
//!
//! One pass over the postorder, so depth does not matter. `&`, `|` and `=>` need their right
//! operand only if the left one does not decide, and a failure of a right operand that is not
//! needed is none. Of several failures the first from left to right counts, so that at most one is
//! true for the same values and choices.

use droste_program::{Expr, ExprNode, NodeId, Operator, ProcId, Program, Type, VarRef, Violation};

use crate::arithmetic::{apply, complement, equal, is_negative, is_zero, less, neg};
use crate::logic::Logic;
use crate::storage::{State, bits, in_range, is_full, load};
use crate::word::Word;

/// What an expression is evaluated in.
#[derive(Clone, Copy, Debug)]
pub struct Scene<'a, B> {
    /// Whose locals are in scope.
    pub procedure: ProcId,
    /// What [`ExprNode::Var`] means.
    pub now: &'a State<B>,
    /// What [`ExprNode::Next`] means.
    pub next: &'a State<B>,
    /// Where control is, for [`ExprNode::At`].
    pub at: Option<NodeId>,
}

/// Where an evaluation fails: one bit for each violation, at most one of them true.
#[derive(Clone, Debug)]
pub(crate) struct Failures<B>([Option<B>; 4]);

const VIOLATIONS: [Violation; 4] = [
    Violation::Assertion,
    Violation::OutOfRange,
    Violation::DivisionByZero,
    Violation::NegativeShift,
];

impl<B: Clone> Failures<B> {
    pub(crate) fn none() -> Self {
        Failures([const { None }; 4])
    }

    /// Where there is some failure; `None` if nowhere.
    pub(crate) fn any<L: Logic<Bit = B>>(&self, l: &mut L) -> Result<Option<B>, L::Error> {
        let mut some: Option<B> = None;
        for bit in self.0.iter().flatten() {
            some = Some(match some {
                None => bit.clone(),
                Some(other) => l.or(&other, bit)?,
            });
        }
        Ok(some)
    }

    /// Adds a failure that counts where there is none yet.
    pub(crate) fn add<L: Logic<Bit = B>>(
        &mut self,
        l: &mut L,
        violation: Violation,
        bit: &B,
    ) -> Result<(), L::Error> {
        let mut other = Failures::none();
        other.0[violation as usize] = Some(bit.clone());
        self.append(l, other, None)
    }

    /// Adds what fails later: it counts where there is no failure yet and `needed` is true.
    pub(crate) fn append<L: Logic<Bit = B>>(
        &mut self,
        l: &mut L,
        later: Failures<B>,
        needed: Option<&B>,
    ) -> Result<(), L::Error> {
        if later.0.iter().all(Option::is_none) {
            return Ok(());
        }
        let mut reached = needed.cloned();
        if let Some(failed) = self.any(l)? {
            let fine = l.not(&failed)?;
            reached = Some(match reached {
                None => fine,
                Some(needed) => l.and(&needed, &fine)?,
            });
        }
        for (mine, bit) in self.0.iter_mut().zip(later.0) {
            let Some(mut bit) = bit else { continue };
            if let Some(reached) = &reached {
                bit = l.and(&bit, reached)?;
            }
            if let Some(mine) = mine {
                bit = l.or(&bit, mine)?;
            }
            if !l.is_false(&bit) {
                *mine = Some(bit);
            }
        }
        Ok(())
    }

    pub(crate) fn list(&self) -> Vec<(Violation, B)> {
        let pairs = VIOLATIONS.into_iter().zip(&self.0);
        pairs
            .filter_map(|(v, bit)| bit.clone().map(|bit| (v, bit)))
            .collect()
    }
}

/// What an expression evaluates to.
#[derive(Clone, Debug)]
pub struct Evaluated<B> {
    /// Its value, where it does not fail.
    pub value: Word<B>,
    pub(crate) failures: Failures<B>,
}

impl<B: Clone> Evaluated<B> {
    /// Where it fails, and how: at most one bit is true.
    pub fn failures(&self) -> Vec<(Violation, B)> {
        self.failures.list()
    }
}

/// The choices made so far, and what restricts them.
#[derive(Debug)]
pub(crate) struct Choices<B> {
    pub(crate) bits: Vec<B>,
    /// Codes of range types that stand for a value; `None` for no restriction.
    pub(crate) valid: Option<B>,
}

impl<B: Clone> Choices<B> {
    pub(crate) fn new() -> Self {
        Choices {
            bits: Vec::new(),
            valid: None,
        }
    }

    fn bit<L: Logic<Bit = B>>(&mut self, l: &mut L) -> Result<B, L::Error> {
        let bit = l.fresh()?;
        self.bits.push(bit.clone());
        Ok(bit)
    }

    /// Any value of a type.
    fn value<L: Logic<Bit = B>>(&mut self, l: &mut L, ty: Type) -> Result<Word<B>, L::Error> {
        let mut code = Vec::with_capacity(bits(ty));
        for _ in 0..bits(ty) {
            code.push(self.bit(l)?);
        }
        if !is_full(ty) {
            let valid = in_range(l, ty, &code)?;
            self.valid = Some(match &self.valid {
                None => valid,
                Some(others) => l.and(others, &valid)?,
            });
        }
        load(l, ty, &code)
    }
}

/// Evaluates `expr`.
pub(crate) fn evaluate<L: Logic>(
    l: &mut L,
    program: &Program,
    expr: &Expr,
    scene: &Scene<'_, L::Bit>,
    choices: &mut Choices<L::Bit>,
) -> Result<Evaluated<L::Bit>, L::Error> {
    let mut done: Vec<Option<Evaluated<L::Bit>>> = Vec::with_capacity(expr.nodes.len());
    for node in &expr.nodes {
        let mut operand = |index: u32| {
            let part = done[index as usize].take();
            part.expect("every node but the root is the operand of exactly one later node")
        };
        let read = |l: &mut L, state: &State<L::Bit>, var: VarRef| {
            let ty = program.variable(scene.procedure, var).ty;
            load(l, ty, state.code(var))
        };
        let mut failures = Failures::none();
        let value = match *node {
            ExprNode::Const(value) => Word::constant(l, value),
            ExprNode::Nondet(ty) => choices.value(l, ty)?,
            ExprNode::Var(var) => read(l, scene.now, var)?,
            ExprNode::Next(var) => read(l, scene.next, var)?,
            ExprNode::Not(a) => {
                let a = operand(a);
                failures = a.failures;
                let bit = a.value.truth(l);
                Word::bit(l.not(&bit)?)
            }
            ExprNode::BitNot(a) => {
                let a = operand(a);
                failures = a.failures;
                complement(l, &a.value)?
            }
            ExprNode::Neg(a) => {
                let a = operand(a);
                failures = a.failures;
                neg(l, &a.value)?
            }
            ExprNode::Binary(operator, a, b) => {
                let (a, b) = (operand(a), operand(b));
                let whole = binary(l, operator, a, b)?;
                failures = whole.failures;
                whole.value
            }
            ExprNode::Schoose(a, b) => {
                let (a, b) = (operand(a), operand(b));
                failures = a.failures;
                failures.append(l, b.failures, None)?;
                let (yes, no) = (a.value.truth(l), b.value.truth(l));
                let choice = if l.is_true(&yes) || l.is_true(&no) {
                    l.constant(false)
                } else {
                    choices.bit(l)?
                };
                let denied = l.not(&no)?;
                let otherwise = l.and(&denied, &choice)?;
                Word::bit(l.or(&yes, &otherwise)?)
            }
            ExprNode::At(ref nodes) => {
                let here = scene.at.is_some_and(|at| nodes.binary_search(&at).is_ok());
                Word::constant(l, here.into())
            }
        };
        done.push(Some(Evaluated { value, failures }));
    }
    let root = done.pop().flatten();
    Ok(root.expect("an expression has a root, which is no operand"))
}

fn binary<L: Logic>(
    l: &mut L,
    operator: Operator,
    a: Evaluated<L::Bit>,
    b: Evaluated<L::Bit>,
) -> Result<Evaluated<L::Bit>, L::Error> {
    let mut failures = a.failures;
    let (x, y) = (a.value, b.value);
    if let Operator::And | Operator::Or | Operator::Implies = operator {
        let (left, right) = (x.truth(l), y.truth(l));
        let not_left = l.not(&left)?;
        let needed = if operator == Operator::Or {
            &not_left
        } else {
            &left
        };
        failures.append(l, b.failures, Some(needed))?;
        let bit = match operator {
            Operator::And => l.and(&left, &right)?,
            Operator::Or => l.or(&left, &right)?,
            _ => l.or(&not_left, &right)?,
        };
        let value = Word::bit(bit);
        return Ok(Evaluated { value, failures });
    }
    failures.append(l, b.failures, None)?;
    let bit = match operator {
        Operator::Xor => {
            let (left, right) = (x.truth(l), y.truth(l));
            l.xor(&left, &right)?
        }
        Operator::Eq => equal(l, &x, &y)?,
        Operator::Ne => {
            let same = equal(l, &x, &y)?;
            l.not(&same)?
        }
        Operator::Lt => less(l, &x, &y)?,
        Operator::Gt => less(l, &y, &x)?,
        Operator::Le => {
            let above = less(l, &y, &x)?;
            l.not(&above)?
        }
        Operator::Ge => {
            let below = less(l, &x, &y)?;
            l.not(&below)?
        }
        _ => {
            match operator {
                Operator::Div | Operator::Rem => {
                    let zero = is_zero(l, &y)?;
                    if !l.is_false(&zero) {
                        failures.add(l, Violation::DivisionByZero, &zero)?;
                    }
                }
                Operator::Shl | Operator::Shr => {
                    let negative = is_negative(l, &y);
                    if !l.is_false(&negative) {
                        failures.add(l, Violation::NegativeShift, &negative)?;
                    }
                }
                _ => {}
            }
            let value = apply(l, operator, &x, &y)?;
            return Ok(Evaluated { value, failures });
        }
    };
    let value = Word::bit(bit);
    Ok(Evaluated { value, failures })
}
