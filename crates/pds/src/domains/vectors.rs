//! Vectors of numbers, compared lexicographically: the first number counts most.

use std::cmp::Ordering;

use droste_base::StopReason;

use super::MinPlus;
use crate::domain::Domain;

/// Shortest paths by several lengths, the first of which counts most.
///
/// Vectors are added element by element. Elements that are missing at the end are zero. A sum with
/// an element outside of ±(2⁶³ − 2) is refused with [`StopReason::OutOfRange`]: with a greatest
/// element, adding the same to two vectors could turn their order around.
///
/// * [`non_negative`](Self::non_negative) vectors are none or above zero in that order: `[1, -2]`
///   is, `[0, -1]` is not. No path gets better by a cycle.
/// * [`any`](Self::any) vectors: a cycle that is below zero has the star
///   [`minus_infinity`](Vector::minus_infinity): its paths have no shortest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lexicographic {
    negative: bool,
}

/// A vector of integers, or an infinity.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Vector(Value);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Value {
    MinusInfinity,
    /// Without zeros at the end.
    Finite(Box<[i64]>),
    Infinity,
}

impl Vector {
    /// The vector with these elements.
    pub fn new(elements: &[i64]) -> Self {
        let last = elements.iter().rposition(|&element| element != 0);
        Vector(Value::Finite(
            elements[..last.map_or(0, |at| at + 1)].into(),
        ))
    }

    /// The length of no path.
    pub fn infinity() -> Self {
        Vector(Value::Infinity)
    }

    /// The length of paths that get shorter for ever.
    pub fn minus_infinity() -> Self {
        Vector(Value::MinusInfinity)
    }

    /// The elements without zeros at the end, if it is finite.
    pub fn elements(&self) -> Option<&[i64]> {
        match &self.0 {
            Value::Finite(elements) => Some(elements),
            Value::MinusInfinity | Value::Infinity => None,
        }
    }

    /// Whether it is below zero.
    pub fn is_negative(&self) -> bool {
        match &self.0 {
            Value::MinusInfinity => true,
            Value::Finite(elements) => elements.iter().find(|&&e| e != 0).is_some_and(|&e| e < 0),
            Value::Infinity => false,
        }
    }
}

impl PartialOrd for Vector {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Vector {
    fn cmp(&self, other: &Self) -> Ordering {
        let place = |vector: &Self| match vector.0 {
            Value::MinusInfinity => 0,
            Value::Finite(_) => 1,
            Value::Infinity => 2,
        };
        let (Value::Finite(a), Value::Finite(b)) = (&self.0, &other.0) else {
            return place(self).cmp(&place(other));
        };
        let common = a.len().min(b.len());
        // Behind that one of them has zeros, and of the other the first that is none decides.
        let sign = |rest: &[i64]| rest.iter().find(|&&e| e != 0).map_or(0, |e| e.signum());
        let rest = || sign(&a[common..]).cmp(&sign(&b[common..]));
        a[..common].cmp(&b[..common]).then_with(rest)
    }
}

impl Lexicographic {
    /// Vectors that are not below zero.
    pub const fn non_negative() -> Self {
        Lexicographic { negative: false }
    }

    /// All vectors.
    pub const fn any() -> Self {
        Lexicographic { negative: true }
    }

    /// Whether weights may be below zero.
    pub const fn has_negative(self) -> bool {
        self.negative
    }
}

/// Whether an element is not too large and not too small.
fn fits(element: i128) -> bool {
    element.unsigned_abs() <= u128::from(MinPlus::GREATEST.unsigned_abs())
}

impl Domain for Lexicographic {
    type Weight = Vector;

    fn one(&self) -> Vector {
        Vector::new(&[])
    }

    fn zero(&self) -> Vector {
        Vector::infinity()
    }

    fn combine(&self, a: &Vector, b: &Vector) -> Result<Vector, StopReason> {
        Ok(a.min(b).clone())
    }

    fn extend(&self, a: &Vector, b: &Vector) -> Result<Vector, StopReason> {
        let (a, b) = match (&a.0, &b.0) {
            (Value::Infinity, _) | (_, Value::Infinity) => return Ok(Vector::infinity()),
            (Value::Finite(a), Value::Finite(b)) => (a, b),
            _ if self.negative => return Ok(Vector::minus_infinity()),
            _ => return Err(StopReason::OutOfRange),
        };
        let (long, short) = if a.len() < b.len() { (b, a) } else { (a, b) };
        let mut sum = long.clone();
        for (own, other) in sum.iter_mut().zip(short) {
            let fitting = own.checked_add(*other).filter(|&sum| fits(sum.into()));
            *own = fitting.ok_or(StopReason::OutOfRange)?;
        }
        if sum.last() == Some(&0) {
            return Ok(Vector::new(&sum));
        }
        Ok(Vector(Value::Finite(sum)))
    }

    fn equal(&self, a: &Vector, b: &Vector) -> bool {
        a == b
    }

    fn is_zero(&self, a: &Vector) -> bool {
        a.0 == Value::Infinity
    }

    fn star(&self, a: &Vector) -> Result<Vector, StopReason> {
        match (a.is_negative(), self.negative) {
            (false, _) => Ok(self.one()),
            (true, true) => Ok(Vector::minus_infinity()),
            (true, false) => Err(StopReason::OutOfRange),
        }
    }

    fn is_total(&self) -> bool {
        true
    }

    fn is_best(&self, weight: &Vector) -> bool {
        *weight == self.bottom().unwrap_or_else(|| self.one())
    }

    fn bottom(&self) -> Option<Vector> {
        self.negative.then(Vector::minus_infinity)
    }
}
