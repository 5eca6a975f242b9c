//! Modules of vectors of numbers modulo a power of two, in Howell form (Howell 1986; Müller-Olm and
//! Seidl, Analysis of modular arithmetic, 2005, section 3).
//!
//! A module is kept as a matrix in echelon form: each row begins further to the right than the one above,
//! and its first entry is a power of two. Those multiples of a row that begin further to the right than the
//! row itself are sums of multiples of the rows below it. Entries above the first entry of a row are smaller
//! than it. Such a matrix is unique, so that equal modules have equal matrices. Tests compare it with the
//! sets of all vectors of small modules.

use std::convert::Infallible;

/// All sums of multiples of some vectors, modulo `2^width`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Module {
    width: u32,
    columns: u32,
    rows: Vec<Row>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Row {
    /// Where its first entry is that is not zero.
    first: u32,
    /// That entry is two to this power.
    power: u32,
    entries: Box<[u64]>,
}

impl Row {
    /// A row whose first entry is made a power of two; nothing if all are zero.
    fn new(mut entries: Box<[u64]>, mask: u64) -> Option<Self> {
        let first = entries.iter().position(|&entry| entry != 0)?;
        let power = entries[first].trailing_zeros();
        let unit = inverse(entries[first] >> power);
        if unit & mask != 1 {
            for entry in &mut entries[first..] {
                *entry = entry.wrapping_mul(unit) & mask;
            }
        }
        Some(Row {
            first: first as u32,
            power,
            entries,
        })
    }
}

/// The inverse of an odd number modulo 2⁶⁴, by Newton's method: every round doubles the bits that
/// are right.
pub(super) fn inverse(odd: u64) -> u64 {
    let mut result = odd;
    for _ in 0..5 {
        result = result.wrapping_mul(2u64.wrapping_sub(odd.wrapping_mul(result)));
    }
    result
}

impl Module {
    /// The module of zero alone: vectors of this many numbers modulo `2^width`, where the width is
    /// from 1 to 64.
    pub fn new(width: u32, columns: u32) -> Self {
        Module {
            width: width.clamp(1, 64),
            columns,
            rows: Vec::new(),
        }
    }

    fn mask(&self) -> u64 {
        u64::MAX >> (64 - self.width)
    }

    /// How many numbers a vector has.
    pub fn columns(&self) -> u32 {
        self.columns
    }

    /// Whether zero is alone.
    pub fn is_zero(&self) -> bool {
        self.rows.is_empty()
    }

    /// The rows of the matrix: the vectors of the module are the sums of their multiples.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = &[u64]> {
        self.rows.iter().map(|row| &*row.entries)
    }

    /// Adds vectors, and all sums with their multiples. Whether something is new.
    pub fn insert<V: AsRef<[u64]>>(&mut self, vectors: impl IntoIterator<Item = V>) -> bool {
        let done: Result<bool, Infallible> = self.insert_while(vectors, &mut || Ok(()));
        done.unwrap_or_else(|never| match never {})
    }

    /// The same, as long as `go_on` does not fail. It is asked for every vector: there may be millions of
    /// them, and adding one of a wide module takes long. If it fails, the module is of no use any more.
    pub fn insert_while<V: AsRef<[u64]>, E>(
        &mut self,
        vectors: impl IntoIterator<Item = V>,
        go_on: &mut impl FnMut() -> Result<(), E>,
    ) -> Result<bool, E> {
        let mask = self.mask();
        let mut changed = false;
        let mut work = Vec::new();
        for vector in vectors {
            work.push(vector.as_ref().iter().map(|entry| entry & mask).collect());
            while let Some(entries) = work.pop() {
                go_on()?;
                changed |= self.place(entries, &mut work);
            }
        }
        if changed {
            self.reduce(go_on)?;
        }
        Ok(changed)
    }

    /// Puts a vector into its row; what is left of it, or of the row, is added later.
    fn place(&mut self, mut entries: Box<[u64]>, work: &mut Vec<Box<[u64]>>) -> bool {
        let mask = self.mask();
        let mut at = 0;
        loop {
            let Some(first) = entries.iter().position(|&entry| entry != 0) else {
                return false;
            };
            at += self.rows[at..].partition_point(|row| (row.first as usize) < first);
            match self.rows.get(at) {
                Some(row) if row.first as usize == first => {
                    if entries[first].trailing_zeros() < row.power {
                        break;
                    }
                    subtract(&mut entries, row, mask);
                }
                _ => break,
            }
        }
        let Some(row) = Row::new(entries, mask) else {
            return false;
        };
        // Its multiples that begin further right.
        if row.power > 0 {
            let rest = row.entries.iter();
            let times = |entry: &u64| entry << (self.width - row.power) & mask;
            work.push(rest.map(times).collect());
        }
        match self.rows.get_mut(at) {
            Some(old) if old.first == row.first => {
                let old = std::mem::replace(old, row);
                work.push(old.entries);
            }
            _ => self.rows.insert(at, row),
        }
        true
    }

    /// Makes entries above the first entry of a row smaller than that.
    fn reduce<E>(&mut self, go_on: &mut impl FnMut() -> Result<(), E>) -> Result<(), E> {
        let mask = self.mask();
        for upper in 0..self.rows.len() {
            go_on()?;
            let (above, below) = self.rows.split_at_mut(upper + 1);
            let Some(row) = above.last_mut() else {
                continue;
            };
            for lower in below {
                subtract(&mut row.entries, lower, mask);
            }
        }
        Ok(())
    }

    /// Whether a vector is in the module.
    pub fn contains(&self, vector: &[u64]) -> bool {
        let mask = self.mask();
        let mut entries: Box<[u64]> = vector.iter().map(|entry| entry & mask).collect();
        for row in &self.rows {
            subtract(&mut entries, row, mask);
        }
        entries.iter().all(|&entry| entry == 0)
    }

    /// All vectors whose product with every vector of the module is zero: the linear equations that
    /// its vectors satisfy.
    #[must_use]
    pub fn annihilator(&self) -> Module {
        let (equations, columns) = (self.rows.len(), self.columns as usize);
        // The products of unit vectors with the rows, and the unit vectors beside them.
        let mut both = Module::new(self.width, (equations + columns) as u32);
        both.insert((0..columns).map(|column| {
            let mut entries = vec![0; equations + columns];
            for (product, row) in entries.iter_mut().zip(self.rows()) {
                *product = row[column];
            }
            entries[equations + column] = 1;
            entries
        }));
        let mut result = Module::new(self.width, self.columns);
        let rows = both
            .rows
            .iter()
            .filter(|row| row.first as usize >= equations);
        result.insert(rows.map(|row| &row.entries[equations..]));
        result
    }
}

/// Subtracts the multiple of a row that makes the entry in its first column smallest.
fn subtract(entries: &mut [u64], row: &Row, mask: u64) {
    let first = row.first as usize;
    let factor = entries[first] >> row.power;
    if factor == 0 {
        return;
    }
    for (own, other) in entries[first..].iter_mut().zip(&row.entries[first..]) {
        *own = own.wrapping_sub(factor.wrapping_mul(*other)) & mask;
    }
}
