//! Words: integers as bits, with an interval that says how many are needed.
//!
//! Least significant bit first. If the interval has negative values the last bit is the sign (two's
//! complement); otherwise there is none, and all further bits are 0. So a word of the interval [0,
//! 0] has no bits, and Booleans are words of the interval [0, 1].

use droste_program::Value;

use crate::logic::Logic;
use droste_program::interval::Interval;

/// An integer, as bits of a logic.
#[derive(Clone, Debug)]
pub struct Word<B> {
    pub(crate) bits: Vec<B>,
    pub(crate) interval: Interval,
}

impl<B: Clone> Word<B> {
    pub(crate) fn constant<L: Logic<Bit = B>>(logic: &mut L, value: Value) -> Self {
        let interval = Interval::constant(value);
        let bits = (0..interval.width()).map(|i| logic.constant(value >> i & 1 == 1));
        Word {
            bits: bits.collect(),
            interval,
        }
    }

    /// A Boolean.
    pub(crate) fn bit(bit: B) -> Self {
        Word {
            bits: vec![bit],
            interval: Interval::BOOL,
        }
    }

    /// The word of this interval with these bits, which are as many as are needed or more.
    pub(crate) fn new<L: Logic<Bit = B>>(
        logic: &mut L,
        mut bits: Vec<B>,
        interval: Interval,
    ) -> Self {
        if let Some(value) = interval.as_constant() {
            return Word::constant(logic, value);
        }
        debug_assert!(bits.len() >= interval.width(), "a word has all its bits");
        bits.truncate(interval.width());
        Word { bits, interval }
    }

    /// Least and greatest value that it may have.
    pub fn bounds(&self) -> (Value, Value) {
        (self.interval.lo, self.interval.hi)
    }

    /// Bit number `i` of the infinite two's complement.
    pub fn at<L: Logic<Bit = B>>(&self, logic: &mut L, i: usize) -> B {
        match (self.bits.get(i), self.bits.last()) {
            (Some(bit), _) => bit.clone(),
            (None, Some(sign)) if self.interval.is_signed() => sign.clone(),
            _ => logic.constant(false),
        }
    }

    /// The low `width` bits.
    pub fn low<L: Logic<Bit = B>>(&self, logic: &mut L, width: usize) -> Vec<B> {
        (0..width).map(|i| self.at(logic, i)).collect()
    }

    /// A Boolean word as a bit.
    pub fn truth<L: Logic<Bit = B>>(&self, logic: &mut L) -> B {
        self.at(logic, 0)
    }

    /// The sign.
    pub(crate) fn sign<L: Logic<Bit = B>>(&self, logic: &mut L) -> B {
        self.at(logic, self.bits.len())
    }
}
