//! Names of control states and stack symbols, each stored once and known by a number.

use std::borrow::Cow;
use std::hash::{BuildHasher, Hasher};

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use rustc_hash::FxBuildHasher;

/// Names by number. The first ones may be the numbers themselves: a system of a million numbered
/// states does not keep a million texts.
#[derive(Clone, Debug, Default)]
pub struct Names {
    /// How many of the first names are decimal numbers.
    numbered: u32,
    text: String,
    /// Where each of the other names ends.
    ends: Vec<usize>,
    table: HashTable<u32>,
}

fn hash(text: &str) -> u64 {
    let mut hasher = FxBuildHasher.build_hasher();
    hasher.write(text.as_bytes());
    hasher.finish()
}

/// The number that a text is, if it is written the usual way.
fn number(text: &str) -> Option<u32> {
    let usual = text == "0" || !text.starts_with(['0', '+']);
    text.parse().ok().filter(|_| usual)
}

impl Names {
    /// The most names there can be. The numbers above have other meanings.
    pub const MOST: u32 = droste_source::json::Json::MOST;

    /// No names yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The names `0`, `1`, and so on, this many of them.
    pub fn numbered(count: u32) -> Self {
        Names {
            numbered: count,
            ..Self::default()
        }
    }

    /// How many names there are.
    pub fn len(&self) -> u32 {
        self.numbered + self.ends.len() as u32
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether every name is its own number.
    pub fn are_numbers(&self) -> bool {
        (0..self.len()).all(|id| id < self.numbered || number(self.other(id)) == Some(id))
    }

    fn other(&self, id: u32) -> &str {
        other(self.numbered, &self.text, &self.ends, id)
    }

    /// The name with this number; a sign for one that is not there.
    pub fn get(&self, id: u32) -> Cow<'_, str> {
        if id < self.numbered {
            Cow::Owned(id.to_string())
        } else if id < self.len() {
            Cow::Borrowed(self.other(id))
        } else {
            Cow::Owned(format!("?{id}"))
        }
    }

    /// All names in order.
    pub fn iter(&self) -> impl Iterator<Item = Cow<'_, str>> {
        (0..self.len()).map(|id| self.get(id))
    }

    /// The number of a name that is there.
    pub fn find(&self, name: &str) -> Option<u32> {
        if self.numbered > 0
            && let Some(number) = number(name)
            && number < self.numbered
        {
            return Some(number);
        }
        let found = |id: &u32| self.other(*id) == name;
        self.table.find(hash(name), found).copied()
    }

    /// The number of a name, which may be new. `None` if there are too many.
    #[inline]
    pub fn intern(&mut self, name: &str) -> Option<u32> {
        if self.numbered > 0
            && let Some(number) = number(name)
            && number < self.numbered
        {
            return Some(number);
        }
        let id = self.len();
        let Names {
            numbered,
            text,
            ends,
            table,
        } = self;
        let entry = table.entry(
            hash(name),
            |known| other(*numbered, text, ends, *known) == name,
            |known| hash(other(*numbered, text, ends, *known)),
        );
        match entry {
            Entry::Occupied(known) => Some(*known.get()),
            Entry::Vacant(_) if id >= Self::MOST => None,
            Entry::Vacant(place) => {
                place.insert(id);
                text.push_str(name);
                ends.push(text.len());
                Some(id)
            }
        }
    }
}

#[inline]
fn other<'a>(numbered: u32, text: &'a str, ends: &[usize], id: u32) -> &'a str {
    let place = (id - numbered) as usize;
    let start = if place == 0 { 0 } else { ends[place - 1] };
    &text[start..ends[place]]
}

impl PartialEq for Names {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().eq(other.iter())
    }
}

impl Eq for Names {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_numbers() {
        let mut names = Names::new();
        assert_eq!(names.intern("p"), Some(0));
        assert_eq!(names.intern(""), Some(1));
        assert_eq!(names.intern("p"), Some(0));
        assert_eq!(names.find(""), Some(1));
        assert_eq!(names.find("q"), None);
        assert_eq!(names.get(0), "p");
        assert_eq!(names.get(7), "?7");
        for i in 0..5000u32 {
            assert_eq!(names.intern(&format!("n{i}")), Some(i + 2));
        }
        assert_eq!(names.find("n4999"), Some(5001));
    }

    #[test]
    fn numbers_are_their_own_names() {
        let mut names = Names::numbered(10);
        assert_eq!(names.intern("7"), Some(7));
        assert_eq!(names.intern("07"), Some(10));
        assert_eq!(names.intern("10"), Some(11));
        assert_eq!(names.find("+7"), None);
        let mut same = Names::new();
        (0..10).for_each(|i| assert_eq!(same.intern(&i.to_string()), Some(i)));
        assert_eq!(same, Names::numbered(10));
        assert!(same.are_numbers() && !names.are_numbers());
    }
}
