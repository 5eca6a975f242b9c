//! Random formulas and random words.
#![allow(dead_code, reason = "each test binary uses a part")]

use droste_ltl::{AtomId, FormulaId, Formulas, Lasso};
use droste_testkit::random::Random;

/// A formula with about `size` operators over `atoms` atoms.
pub(crate) fn formula(
    random: &mut Random,
    formulas: &mut Formulas,
    size: usize,
    atoms: usize,
) -> FormulaId {
    if size == 0 {
        return match random.below(20) {
            0 => Formulas::TRUE,
            1 => Formulas::FALSE,
            _ => formulas.atom(AtomId(random.below(atoms) as u32)),
        };
    }
    let operator = random.weighted(&[3, 3, 3, 3, 4, 4, 1, 1, 1, 3, 3, 2, 2]);
    if operator < 4 {
        let a = formula(random, formulas, size - 1, atoms);
        return match operator {
            0 => formulas.not(a),
            1 => formulas.next(a),
            2 => formulas.finally(a),
            _ => formulas.globally(a),
        };
    }
    let left = random.below(size);
    let a = formula(random, formulas, left, atoms);
    let b = formula(random, formulas, size - 1 - left, atoms);
    match operator {
        4 => formulas.and([a, b]),
        5 => formulas.or([a, b]),
        6 => formulas.implies(a, b),
        7 => formulas.iff(a, b),
        8 => formulas.xor(a, b),
        9 => formulas.until(a, b),
        10 => formulas.release(a, b),
        11 => formulas.weak_until(a, b),
        _ => formulas.strong_release(a, b),
    }
}

/// A word over at most 64 atoms.
#[derive(Debug)]
pub(crate) struct Word {
    pub(crate) lasso: Lasso,
    letters: Vec<u64>,
}

impl Word {
    pub(crate) fn random(random: &mut Random) -> Self {
        let lasso = Lasso {
            prefix: random.below(5),
            period: random.between(1, 5),
        };
        // Letters that come again make more interesting words.
        let few: Vec<u64> = (0..random.between(1, 4)).map(|_| random.bits()).collect();
        let letters = (0..lasso.len()).map(|_| *random.pick(&few)).collect();
        Word { lasso, letters }
    }

    pub(crate) fn holds(&self, atom: AtomId, position: usize) -> bool {
        self.letters[position] >> atom.0 & 1 != 0
    }
}
