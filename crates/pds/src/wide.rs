//! Numbers with more than 64 bits, for sums on the way to a weight that fits.
//!
//! Where weights are [numbers](Domain::greatest) of 64 bits and a sum does not fit, the whole computation is
//! repeated with these numbers. Only its result has to fit then.

use std::convert::Infallible;

use droste_base::StopReason;

use crate::automaton::Automaton;
use crate::domain::Domain;
use crate::system::Pds;

/// The length of a shortest path, as a number of up to 125 bits. `i128::MAX` is that of no path,
/// `i128::MIN` that of paths that get shorter for ever.
#[derive(Clone, Copy, Debug)]
pub struct Wide;

impl Wide {
    /// The greatest number. Three of them can be added.
    pub(crate) const GREATEST: i128 = 1 << 125;

    /// Whether weights of a domain are numbers that have fewer bits.
    pub fn helps<D: Domain>(domain: &D) -> bool {
        (domain.greatest()).is_some_and(|greatest| greatest < Self::GREATEST)
    }

    /// The number of a weight.
    pub fn number_of<D: Domain>(domain: &D, weight: &D::Weight) -> i128 {
        match domain.number(weight) {
            Some(number) => number,
            None if domain.is_zero(weight) => Wide.zero(),
            None => i128::MIN,
        }
    }

    /// A system with these numbers.
    pub fn pds<D: Domain>(domain: &D, pds: &Pds<D::Weight>) -> Pds<i128> {
        pds.map(|weight| Self::number_of(domain, weight))
    }

    /// An automaton with these numbers.
    pub fn automaton<D: Domain>(domain: &D, automaton: &Automaton<D::Weight>) -> Automaton<i128> {
        let number = |weight: &D::Weight| Ok::<_, Infallible>(Self::number_of(domain, weight));
        let Ok(wide) = automaton.map(number);
        wide
    }

    /// The weight that has a number, if it fits.
    pub(crate) fn weight<D: Domain>(domain: &D, number: i128) -> Result<D::Weight, StopReason> {
        let weight = match number {
            i128::MAX => Some(domain.zero()),
            i128::MIN => domain.bottom(),
            number => domain.with_number(number),
        };
        weight.ok_or(StopReason::OutOfRange)
    }
}

impl Domain for Wide {
    type Weight = i128;

    fn one(&self) -> i128 {
        0
    }

    fn zero(&self) -> i128 {
        i128::MAX
    }

    fn combine(&self, a: &i128, b: &i128) -> Result<i128, StopReason> {
        Ok(*a.min(b))
    }

    fn extend(&self, a: &i128, b: &i128) -> Result<i128, StopReason> {
        match (*a, *b) {
            (i128::MAX, _) | (_, i128::MAX) => Ok(i128::MAX),
            (i128::MIN, _) | (_, i128::MIN) => Ok(i128::MIN),
            (a, b) => self.with_number(a + b).ok_or(StopReason::OutOfRange),
        }
    }

    fn equal(&self, a: &i128, b: &i128) -> bool {
        a == b
    }

    fn star(&self, a: &i128) -> Result<i128, StopReason> {
        Ok(if *a < 0 { i128::MIN } else { 0 })
    }

    fn is_total(&self) -> bool {
        true
    }

    fn is_best(&self, weight: &i128) -> bool {
        *weight == i128::MIN
    }

    fn bottom(&self) -> Option<i128> {
        Some(i128::MIN)
    }

    fn greatest(&self) -> Option<i128> {
        Some(Self::GREATEST)
    }

    fn number(&self, weight: &i128) -> Option<i128> {
        self.with_number(*weight)
    }

    fn with_number(&self, number: i128) -> Option<i128> {
        (number.unsigned_abs() <= Self::GREATEST.unsigned_abs()).then_some(number)
    }
}
