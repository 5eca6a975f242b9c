//! Vectors of numbers, compared lexicographically: the first number counts most.

use std::cmp::Ordering;

use droste_base::StopReason;

use crate::domain::Domain;

/// Shortest paths by several lengths, the first of which counts most.
///
/// Vectors are added element by element. Elements that are missing at the end are zero. A sum
/// beyond 64 bits is refused with [`StopReason::OutOfRange`]: with a greatest element, adding the
/// same to two vectors could turn their order around.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lexicographic;

/// A vector of natural numbers, or infinity.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Vector {
    /// Without zeros at the end; nothing if there is no path.
    elements: Option<Box<[u64]>>,
}

impl Vector {
    /// The vector with these elements.
    pub fn new(elements: &[u64]) -> Self {
        let length = elements
            .iter()
            .rposition(|&e| e != 0)
            .map_or(0, |last| last + 1);
        Vector {
            elements: Some(elements[..length].into()),
        }
    }

    /// The length of no path.
    pub fn infinity() -> Self {
        Vector { elements: None }
    }

    /// The elements without zeros at the end, if it is not infinity.
    pub fn elements(&self) -> Option<&[u64]> {
        self.elements.as_deref()
    }
}

impl PartialOrd for Vector {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Vector {
    fn cmp(&self, other: &Self) -> Ordering {
        match (&self.elements, &other.elements) {
            (Some(a), Some(b)) => a.cmp(b),
            (a, b) => b.is_some().cmp(&a.is_some()),
        }
    }
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
        let (Some(a), Some(b)) = (&a.elements, &b.elements) else {
            return Ok(Vector::infinity());
        };
        let (long, short) = if a.len() < b.len() { (b, a) } else { (a, b) };
        let mut sum = long.clone();
        for (own, other) in sum.iter_mut().zip(short) {
            *own = own.checked_add(*other).ok_or(StopReason::OutOfRange)?;
        }
        Ok(Vector {
            elements: Some(sum),
        })
    }

    fn equal(&self, a: &Vector, b: &Vector) -> bool {
        a == b
    }

    fn is_zero(&self, a: &Vector) -> bool {
        a.elements.is_none()
    }

    fn star(&self, _: &Vector) -> Result<Vector, StopReason> {
        Ok(self.one())
    }

    fn is_total(&self) -> bool {
        true
    }

    fn is_best(&self, weight: &Vector) -> bool {
        weight
            .elements
            .as_ref()
            .is_some_and(|elements| elements.is_empty())
    }
}
