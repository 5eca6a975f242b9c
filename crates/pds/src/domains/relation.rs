//! Relations on a finite set, as bit matrices (section 2.3 of the FWPDS paper). With merge functions
//! they are Boolean programs with local variables (section 3.3).

use droste_base::StopReason;

use crate::domain::Domain;
use crate::system::MergeId;

/// Relations on the pairs of a global and a local value; without locals, on the globals.
///
/// The element `global * locals + local` stands for a pair. The merge function `MergeId(0)` forgets
/// the callee's locals and restores the caller's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Relations {
    globals: u32,
    locals: u32,
}

/// A relation: for each element, the elements it is related to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Matrix {
    bits: Box<[u64]>,
}

impl Relations {
    /// Relations on the numbers below `size`.
    pub fn new(size: u32) -> Self {
        Relations::with_locals(size, 1)
    }

    /// Relations on pairs.
    pub fn with_locals(globals: u32, locals: u32) -> Self {
        Relations { globals, locals }
    }

    /// How many elements there are.
    pub fn size(self) -> u32 {
        self.globals * self.locals
    }

    fn words(self) -> usize {
        (self.size() as usize).div_ceil(64)
    }

    /// The relation of these pairs.
    pub fn of(self, pairs: impl IntoIterator<Item = (u32, u32)>) -> Matrix {
        let mut matrix = self.zero();
        for (from, to) in pairs {
            self.set(&mut matrix, from, to);
        }
        matrix
    }

    fn set(self, matrix: &mut Matrix, from: u32, to: u32) {
        matrix.bits[from as usize * self.words() + to as usize / 64] |= 1 << (to % 64);
    }

    /// Whether a pair is in a relation.
    pub fn contains(self, matrix: &Matrix, from: u32, to: u32) -> bool {
        matrix.bits[from as usize * self.words() + to as usize / 64] >> (to % 64) & 1 == 1
    }

    /// The elements that one is related to, in ascending order.
    pub fn row(self, matrix: &Matrix, from: u32) -> impl Iterator<Item = u32> + '_ {
        let words = self.words();
        ones(&matrix.bits[from as usize * words..][..words])
    }

    /// The pairs of a relation.
    pub fn pairs(self, matrix: &Matrix) -> impl Iterator<Item = (u32, u32)> + '_ {
        (0..self.size()).flat_map(move |from| self.row(matrix, from).map(move |to| (from, to)))
    }
}

/// The places of the bits that are set.
fn ones(words: &[u64]) -> impl Iterator<Item = u32> + '_ {
    (0..).step_by(64).zip(words).flat_map(|(place, &word)| {
        let rest = |rest: &u64| Some(rest & rest.wrapping_sub(1));
        let rests = std::iter::successors(Some(word), rest).take_while(|&rest| rest != 0);
        rests.map(move |rest| place + rest.trailing_zeros())
    })
}

impl Domain for Relations {
    type Weight = Matrix;

    fn one(&self) -> Matrix {
        self.of((0..self.size()).map(|i| (i, i)))
    }

    fn zero(&self) -> Matrix {
        Matrix {
            bits: vec![0; self.words() * self.size() as usize].into(),
        }
    }

    fn combine(&self, a: &Matrix, b: &Matrix) -> Result<Matrix, StopReason> {
        let bits = a.bits.iter().zip(&b.bits).map(|(a, b)| a | b);
        Ok(Matrix {
            bits: bits.collect(),
        })
    }

    fn extend(&self, a: &Matrix, b: &Matrix) -> Result<Matrix, StopReason> {
        let words = self.words();
        let mut product = self.zero();
        for (row, out) in (a.bits.chunks(words)).zip(product.bits.chunks_mut(words)) {
            for (place, &word) in row.iter().enumerate() {
                let mut rest = word;
                while rest != 0 {
                    let middle = place * 64 + rest.trailing_zeros() as usize;
                    let from = &b.bits[middle * words..][..words];
                    out.iter_mut()
                        .zip(from)
                        .for_each(|(out, from)| *out |= from);
                    rest &= rest - 1;
                }
            }
        }
        Ok(product)
    }

    fn equal(&self, a: &Matrix, b: &Matrix) -> bool {
        a == b
    }

    fn is_zero(&self, a: &Matrix) -> bool {
        a.bits.iter().all(|&word| word == 0)
    }

    fn diff(&self, b: &Matrix, a: &Matrix) -> Result<Matrix, StopReason> {
        let bits = b.bits.iter().zip(&a.bits).map(|(b, a)| b & !a);
        Ok(Matrix {
            bits: bits.collect(),
        })
    }

    /// The closure, element by element (Warshall, 1962).
    fn star(&self, a: &Matrix) -> Result<Matrix, StopReason> {
        let words = self.words();
        let mut closure = self.combine(&self.one(), a)?;
        for through in 0..self.size() {
            let at = through as usize * words;
            let reached = closure.bits[at..at + words].to_vec();
            for row in closure.bits.chunks_mut(words) {
                if row[through as usize / 64] >> (through % 64) & 1 == 1 {
                    row.iter_mut()
                        .zip(&reached)
                        .for_each(|(row, more)| *row |= more);
                }
            }
        }
        Ok(closure)
    }

    fn merge(
        &self,
        merge: MergeId,
        caller: &Matrix,
        callee: &Matrix,
    ) -> Result<Matrix, StopReason> {
        if merge != MergeId(0) {
            return self.extend(caller, callee);
        }
        // Which globals a callee makes of which, whatever its locals are.
        let (locals, words) = (self.locals, self.words());
        let mut lifted = self.zero();
        let mut reached = vec![0u64; words];
        for global in 0..self.globals {
            reached.fill(0);
            for local in 0..locals {
                let row = (global * locals + local) as usize * words;
                let row = callee.bits[row..][..words].iter();
                reached
                    .iter_mut()
                    .zip(row)
                    .for_each(|(all, row)| *all |= row);
            }
            let mut last = None;
            for to in ones(&reached).map(|to| to / locals) {
                if last.replace(to) != Some(to) {
                    for local in 0..locals {
                        let element = |global| global * locals + local;
                        self.set(&mut lifted, element(global), element(to));
                    }
                }
            }
        }
        self.extend(caller, &lifted)
    }
}
