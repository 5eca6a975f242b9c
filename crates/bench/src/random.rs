//! The random numbers of the generated programs: xorshift (Marsaglia, 2003).
//!
//! Recorded results depend on the programs, and the programs on these numbers: they stay as they
//! are.

/// A stream of numbers.
pub(crate) struct Xorshift(pub(crate) u64);

impl Xorshift {
    /// A number less than `bound`; 0 if that is 0.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % bound.max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::Xorshift;

    #[test]
    fn the_numbers_are_those_of_the_recorded_programs() {
        let mut random = Xorshift(1);
        let numbers: Vec<usize> = (0..4).map(|_| random.below(1000)).collect();
        assert_eq!(numbers, [452, 842, 60, 696]);
        assert_eq!(random.below(0), 0);
    }
}
