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

    /// The pairs of a relation.
    pub fn pairs(self, matrix: &Matrix) -> Vec<(u32, u32)> {
        let all = (0..self.size()).flat_map(|from| (0..self.size()).map(move |to| (from, to)));
        all.filter(|&(from, to)| self.contains(matrix, from, to))
            .collect()
    }
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
        let locals = self.locals;
        let globals = Relations::new(self.globals);
        let pairs = self.pairs(callee).into_iter();
        let effect = globals.of(pairs.map(|(from, to)| (from / locals, to / locals)));
        let lifted = globals.pairs(&effect).into_iter().flat_map(|(from, to)| {
            (0..locals).map(move |local| (from * locals + local, to * locals + local))
        });
        self.extend(caller, &self.of(lifted))
    }
}
