//! The words a packed state is made of: a fixed array where it is short, so that states lie
//! flat in the engine's tables, and a boxed slice where it is not.

use std::hash::Hash;

/// A packed state.
pub trait Words: Clone + Eq + Hash {
    /// `length` zero words; only a boxed slice looks at `length`.
    fn zeroed(length: usize) -> Self;
    /// The words.
    fn words(&self) -> &[u64];
    /// The words, to change.
    fn words_mut(&mut self) -> &mut [u64];
}

impl<const N: usize> Words for [u64; N] {
    #[inline]
    fn zeroed(_: usize) -> Self {
        [0; N]
    }

    #[inline]
    fn words(&self) -> &[u64] {
        self
    }

    #[inline]
    fn words_mut(&mut self) -> &mut [u64] {
        self
    }
}

impl Words for Box<[u64]> {
    fn zeroed(length: usize) -> Self {
        vec![0; length].into()
    }

    fn words(&self) -> &[u64] {
        self
    }

    fn words_mut(&mut self) -> &mut [u64] {
        self
    }
}
