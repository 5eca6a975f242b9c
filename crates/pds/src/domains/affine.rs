//! Affine relations between variables modulo a power of two (Müller-Olm and Seidl, Analysis of
//! modular arithmetic, 2005; as weights: Lal, Reps and Balakrishnan, Extended weighted pushdown
//! systems, 2005).
//!
//! A state is a row `(1, x₁ … xₙ)`, an affine transformation a matrix by which it is multiplied. A
//! weight is the [module](Module) of all sums of multiples of the matrices of its paths. Multiplying
//! is linear in both arguments, so the products of generators generate the product. The relations
//! that hold after a weight are the linear equations that all rows in the product of the first
//! states with the module satisfy. Tests compare them with all states, modulo small powers of two.

use droste_base::StopReason;

use super::equations::solved;
use super::framed::Scoped;
use super::howell::Module;
use crate::domain::Domain;

/// Sets of affine transformations of some variables modulo `2^width`, closed under affine
/// combination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Affine {
    width: u32,
    variables: u32,
}

/// A sum of multiples of variables and a constant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Linear {
    /// The constant.
    pub constant: u64,
    /// Variables and their coefficients.
    pub terms: Vec<(u32, u64)>,
}

/// `a₁·x₁ + … + aₙ·xₙ + c = 0`, modulo the power of two.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Relation {
    /// The variables with coefficients that are not zero.
    pub terms: Vec<(u32, u64)>,
    /// The constant.
    pub constant: u64,
}

impl Affine {
    /// Transformations of this many variables modulo `2^width`, the width being from 1 to 64.
    pub fn new(width: u32, variables: u32) -> Self {
        Affine { width, variables }
    }

    /// How many bits a number has.
    pub fn width(self) -> u32 {
        self.width
    }

    /// How many variables there are.
    pub fn variables(self) -> u32 {
        self.variables
    }

    fn size(self) -> usize {
        self.variables as usize + 1
    }

    /// Assigns to variables at once: a sum of multiples of the old values to each, or anything. The
    /// others are left as they are.
    pub fn assign(self, assigns: &[(u32, Option<Linear>)]) -> Module {
        let size = self.size();
        let mut matrix = vec![0; size * size];
        for i in 0..size {
            matrix[i * size + i] = 1;
        }
        for (variable, value) in assigns {
            let column = *variable as usize + 1;
            for row in 0..size {
                matrix[row * size + column] = 0;
            }
            if let Some(Linear { constant, terms }) = value {
                matrix[column] = *constant;
                for (other, coefficient) in terms {
                    let entry = &mut matrix[(*other as usize + 1) * size + column];
                    *entry = entry.wrapping_add(*coefficient);
                }
            }
        }
        let mut module = self.zero();
        module.insert([&matrix]);
        // Zero and one generate every value.
        for (variable, value) in assigns {
            if value.is_none() {
                let column = *variable as usize + 1;
                matrix[column] = 1;
                module.insert([&matrix]);
                matrix[column] = 0;
            }
        }
        module
    }

    /// The states in which some variables have given values, and the others any.
    pub fn states(self, known: &[(u32, u64)]) -> Module {
        let mut module = Module::new(self.width, self.size() as u32);
        let mut row = vec![0; self.size()];
        row[0] = 1;
        for (variable, value) in known {
            row[*variable as usize + 1] = *value;
        }
        module.insert([&row]);
        for variable in 0..self.variables {
            if !known.iter().any(|(other, _)| *other == variable) {
                row[variable as usize + 1] = 1;
                module.insert([&row]);
                row[variable as usize + 1] = 0;
            }
        }
        module
    }

    /// The weight of either path, as long as `go_on` does not fail: with many variables, one operation may
    /// take long.
    pub fn combine_while<E>(
        self,
        a: &Module,
        b: &Module,
        go_on: &mut impl FnMut() -> Result<(), E>,
    ) -> Result<Module, E> {
        let (mut more, less) = if a.rows().len() < b.rows().len() {
            (b.clone(), a)
        } else {
            (a.clone(), b)
        };
        more.insert_while(less.rows(), go_on)?;
        Ok(more)
    }

    /// The weight of one path after the other, as long as `go_on` does not fail.
    pub fn extend_while<E>(
        self,
        a: &Module,
        b: &Module,
        go_on: &mut impl FnMut() -> Result<(), E>,
    ) -> Result<Module, E> {
        let mut out = self.zero();
        let size = self.size();
        let pairs = a
            .rows()
            .flat_map(|first| b.rows().map(move |second| (first, second)));
        let products = pairs.map(|(first, second)| product(first, second, size));
        out.insert_while(products, go_on)?;
        Ok(out)
    }

    /// The states after a weight, if it was one of these before.
    pub fn apply(self, weight: &Module, before: &Module) -> Module {
        let size = self.size();
        let mut after = Module::new(self.width, size as u32);
        let pairs = weight
            .rows()
            .flat_map(|matrix| before.rows().map(move |row| (row, matrix)));
        after.insert(pairs.map(|(row, matrix)| product(row, matrix, size)));
        after
    }

    /// The relations that hold in all of these states, each solved for a variable as far as that can
    /// be done. Those of them that follow from others are left out.
    pub fn relations(self, states: &Module) -> Vec<Relation> {
        // The constant comes last, so that each relation begins with a variable.
        let mut turned = Module::new(self.width, states.columns());
        turned.insert(states.rows().map(|row| {
            let mut row = row.to_vec();
            row.rotate_left(1);
            row
        }));
        let equations = turned.annihilator();
        let relation = |row: &[u64]| {
            let (constant, terms) = row.split_last()?;
            let terms = (0..).zip(terms).filter(|(_, entry)| **entry != 0);
            Some(Relation {
                terms: terms.map(|(variable, entry)| (variable, *entry)).collect(),
                constant: *constant,
            })
        };
        let rows = equations.rows().map(<[u64]>::to_vec).collect();
        let rows = solved(rows, self.width);
        rows.iter().filter_map(|row| relation(row)).collect()
    }
}

/// The product of two matrices; the second is square.
fn product(left: &[u64], right: &[u64], size: usize) -> Vec<u64> {
    let mut out = vec![0u64; left.len()];
    for (row, out) in left.chunks(size).zip(out.chunks_mut(size)) {
        for (&factor, line) in row.iter().zip(right.chunks(size)) {
            if factor != 0 {
                for (out, entry) in out.iter_mut().zip(line) {
                    *out = out.wrapping_add(factor.wrapping_mul(*entry));
                }
            }
        }
    }
    out
}

impl Domain for Affine {
    type Weight = Module;

    fn one(&self) -> Module {
        self.assign(&[])
    }

    fn zero(&self) -> Module {
        Module::new(self.width, (self.size() * self.size()) as u32)
    }

    fn combine(&self, a: &Module, b: &Module) -> Result<Module, StopReason> {
        self.combine_while(a, b, &mut || Ok(()))
    }

    fn extend(&self, a: &Module, b: &Module) -> Result<Module, StopReason> {
        self.extend_while(a, b, &mut || Ok(()))
    }

    fn equal(&self, a: &Module, b: &Module) -> bool {
        a == b
    }

    fn is_zero(&self, a: &Module) -> bool {
        a.is_zero()
    }
}

impl Scoped for Affine {
    fn restored(&self, effect: &Module, kept: &[u32]) -> Module {
        let size = self.size();
        let mut out = self.zero();
        out.insert(effect.rows().map(|matrix| {
            let mut matrix = matrix.to_vec();
            for variable in kept {
                let column = *variable as usize + 1;
                for row in 0..size {
                    matrix[row * size + column] = 0;
                }
                // A transformation has a one in this corner; so this is linear.
                matrix[column * size + column] = matrix[0];
            }
            matrix
        }));
        out
    }
}
