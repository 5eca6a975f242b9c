//! Sets of places. A place is a bit of a state.

/// A set of places. Places beyond its end are not in it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Places(Vec<u64>);

impl Places {
    /// No places.
    pub fn new() -> Self {
        Places::default()
    }

    /// Adds a place.
    pub fn insert(&mut self, place: usize) {
        if place / 64 >= self.0.len() {
            self.0.resize(place / 64 + 1, 0);
        }
        self.0[place / 64] |= 1 << (place % 64);
    }

    /// Whether a place is in the set.
    pub fn contains(&self, place: usize) -> bool {
        let word = self.0.get(place / 64).copied().unwrap_or(0);
        word >> (place % 64) & 1 == 1
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The places, in their order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = usize> + '_ {
        let words = self.0.iter().enumerate();
        words.flat_map(|(i, &word)| {
            let bits = (0..64).filter(move |bit| word >> bit & 1 == 1);
            bits.map(move |bit| i * 64 + bit)
        })
    }

    /// The places of either set.
    #[must_use]
    pub fn or(&self, other: &Self) -> Self {
        let len = self.0.len().max(other.0.len());
        let word = |set: &Self, i: usize| set.0.get(i).copied().unwrap_or(0);
        Places((0..len).map(|i| word(self, i) | word(other, i)).collect())
    }

    /// The places of both.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        Places::trimmed(self.0.iter().zip(&other.0).map(|(a, b)| a & b).collect())
    }

    /// The places that are not in the other set.
    #[must_use]
    pub fn minus(&self, other: &Self) -> Self {
        let others = other.0.iter().copied().chain(std::iter::repeat(0));
        Places::trimmed(self.0.iter().zip(others).map(|(a, b)| a & !b).collect())
    }

    /// Equal sets have equal words.
    fn trimmed(mut words: Vec<u64>) -> Self {
        while words.last() == Some(&0) {
            words.pop();
        }
        Places(words)
    }
}

impl FromIterator<usize> for Places {
    fn from_iter<I: IntoIterator<Item = usize>>(places: I) -> Self {
        let mut set = Places::new();
        for place in places {
            set.insert(place);
        }
        set
    }
}
