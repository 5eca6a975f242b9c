//! Values by number: each distinct value is stored once and named by 32 bits.
//!
//! This is an open-addressing table with linear probing. A slot holds a tag, 32 bits of the value's
//! hash. The tag as a fraction of 2³² says where in the table the value belongs. A look-up touches
//! one cache line of the table, and a value only if its tag is equal; the speed of a search with
//! many millions of states comes down to that. The table grows by a half, so that it is never less
//! than half full. Growing goes through the table in order and does not look at values at all.

use std::hash::{BuildHasher, Hash};

use rustc_hash::FxBuildHasher;

use crate::{Countable, StopReason};

/// In a [`Slot`]: none.
const NONE: u32 = u32::MAX;

/// A place in the hash table: 32 bits of the hash, and the number of a value.
#[derive(Clone, Copy, Debug)]
struct Slot {
    tag: u32,
    id: u32,
}

const EMPTY: Slot = Slot { tag: 0, id: NONE };

/// Distinct values, numbered from 0 in the order in which they came.
#[derive(Clone, Debug)]
pub struct Interner<T> {
    items: Vec<T>,
    slots: Vec<Slot>,
}

impl<T> Default for Interner<T> {
    fn default() -> Self {
        Interner {
            items: Vec::new(),
            slots: vec![EMPTY; 64],
        }
    }
}

impl<T> Interner<T> {
    /// Nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Nothing yet, with room for that many.
    pub fn with_capacity(count: usize) -> Self {
        Interner {
            items: Vec::with_capacity(count),
            // Not more than three quarters are used.
            slots: vec![EMPTY; (count + count / 3 + 2).max(64)],
        }
    }

    /// The value with this number.
    #[inline]
    pub fn get(&self, id: u32) -> &T {
        &self.items[id as usize]
    }

    /// How many there are: numbers are below.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// The memory this takes, without what the values own elsewhere.
    pub fn bytes(&self) -> u64 {
        (self.items.len() * size_of::<T>() + self.slots.len() * size_of::<Slot>()) as u64
    }

    #[inline]
    fn home(&self, tag: u32) -> usize {
        ((u64::from(tag) * self.slots.len() as u64) >> 32) as usize
    }
}

impl<T: Eq + Hash> Interner<T> {
    #[inline]
    fn tag(item: &T) -> u32 {
        let hash = FxBuildHasher.hash_one(item);
        ((hash ^ hash >> 32).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as u32
    }

    /// The slot that holds the value, or the empty one where it belongs.
    #[inline]
    fn slot(&self, item: &T, tag: u32) -> usize {
        let mut i = self.home(tag);
        loop {
            let slot = self.slots[i];
            if slot.id == NONE || slot.tag == tag && self.items[slot.id as usize] == *item {
                return i;
            }
            i += 1;
            if i == self.slots.len() {
                i = 0;
            }
        }
    }

    /// The number of a value, and whether it is new. `Err` if 32 bits do not number them all.
    #[inline]
    pub fn intern(&mut self, item: T) -> Result<(u32, bool), StopReason> {
        let tag = Self::tag(&item);
        let mut i = self.slot(&item, tag);
        let known = self.slots[i].id;
        if known != NONE {
            return Ok((known, false));
        }
        let id = self.items.len() as u32;
        if id >= NONE - 1 {
            let most = u64::from(NONE - 1);
            return Err(StopReason::TooMany(Countable::States, most));
        }
        if (self.items.len() + 1) * 4 > self.slots.len() * 3 {
            self.grow();
            i = self.slot(&item, tag);
        }
        self.slots[i] = Slot { tag, id };
        self.items.push(item);
        Ok((id, true))
    }

    #[cold]
    fn grow(&mut self) {
        let slots = vec![EMPTY; self.slots.len() + self.slots.len() / 2];
        let old = std::mem::replace(&mut self.slots, slots);
        for slot in old {
            if slot.id != NONE {
                let mut i = self.home(slot.tag);
                while self.slots[i].id != NONE {
                    i += 1;
                    if i == self.slots.len() {
                        i = 0;
                    }
                }
                self.slots[i] = slot;
            }
        }
    }

    /// The number of a value, if it has one.
    pub fn find(&self, item: &T) -> Option<u32> {
        let id = self.slots[self.slot(item, Self::tag(item))].id;
        (id != NONE).then_some(id)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::hash::{Hash, Hasher};

    use super::Interner;

    /// Many values with one hash.
    #[derive(Clone, Debug, PartialEq, Eq)]
    struct Clash(u32);

    impl Hash for Clash {
        fn hash<H: Hasher>(&self, state: &mut H) {
            state.write_u32(self.0 % 3);
        }
    }

    fn agrees<T: Clone + Eq + Hash>(items: impl Iterator<Item = T>) {
        let mut interner = Interner::new();
        let mut naive: HashMap<T, u32> = HashMap::new();
        for item in items {
            assert_eq!(interner.find(&item), naive.get(&item).copied());
            let (id, new) = interner.intern(item.clone()).expect("room");
            assert_eq!(new, !naive.contains_key(&item));
            let next = naive.len() as u32;
            assert_eq!(id, *naive.entry(item.clone()).or_insert(next));
            assert!(*interner.get(id) == item && interner.len() == naive.len());
        }
    }

    #[test]
    fn it_agrees_with_a_map() {
        // Every value twice, and the table grows many times.
        agrees((0..40_000u64).map(|i| i.wrapping_mul(0x2545_f491_4f6c_dd1d) % 20_000));
        agrees((0..3000).map(|i| Clash(i % 1000)));
        agrees(["", "a", "b", "a", ""].into_iter().map(str::to_owned));
        agrees([(); 3].into_iter());
    }
}
