//! What formulas mean, on ultimately periodic words, without automata; and which of these words an
//! automaton accepts.
//!
//! A [`Lasso`] has a prefix and a loop: the position after its last one is the first of the loop.
//! [`evaluate`] computes the truth of every subformula at every position from the bottom up. The
//! temporal operators are the least and greatest solutions of their expansion laws (Manna and
//! Pnueli, *The Temporal Logic of Reactive and Concurrent Systems*, 1992, section 3.2); going
//! backwards over the word, and once more over the loop, reaches them, because the second time the
//! value after the last position is the right one. [`accepts`] builds the product with an automaton
//! and looks for a component with all marks. This is what every translation is tested against, and
//! what a counterexample can be replayed with.

use droste_automata::automaton::Tgba;
use droste_automata::components;
use droste_automata::formula::{AtomId, FormulaId, Formulas, Node};

/// The shape of an ultimately periodic word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lasso {
    /// Positions before the loop.
    pub prefix: usize,
    /// Positions of the loop; at least one.
    pub period: usize,
}

impl Lasso {
    /// How many positions there are.
    pub fn len(self) -> usize {
        self.prefix + self.period
    }

    /// Never: a loop has a position.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// The position after this one.
    pub fn after(self, position: usize) -> usize {
        if position + 1 == self.len() {
            self.prefix
        } else {
            position + 1
        }
    }
}

/// One bit for each position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bits(Vec<u64>);

impl Bits {
    fn new(len: usize) -> Self {
        Bits(vec![0; len.div_ceil(64)])
    }

    /// The bit of a position.
    #[inline]
    pub fn get(&self, position: usize) -> bool {
        self.0[position / 64] >> (position % 64) & 1 != 0
    }

    #[inline]
    fn put(&mut self, position: usize, value: bool) {
        let bit = 1 << (position % 64);
        if value {
            self.0[position / 64] |= bit;
        } else {
            self.0[position / 64] &= !bit;
        }
    }

    fn zip(&self, other: &Bits, f: impl Fn(u64, u64) -> u64) -> Bits {
        Bits(
            self.0
                .iter()
                .zip(&other.0)
                .map(|(&a, &b)| f(a, b))
                .collect(),
        )
    }

    fn not(&self) -> Bits {
        Bits(self.0.iter().map(|a| !a).collect())
    }
}

/// The truth of a formula at every position of a word; `atom` says what holds where.
///
/// Time is linear in the length of the word for each distinct subformula, and values are dropped
/// once they are not needed any more.
///
/// # Panics
/// If the loop of the lasso is empty.
pub fn evaluate(
    formulas: &Formulas,
    root: FormulaId,
    lasso: Lasso,
    mut atom: impl FnMut(AtomId, usize) -> bool,
) -> Bits {
    assert!(lasso.period > 0, "the loop of a word is not empty");
    let length = lasso.len();
    let closure = formulas.closure(root);
    // How many operators still want to read a value.
    let mut readers = vec![0u32; root.0 as usize + 1];
    for &id in &closure {
        formulas.children(id, |child| readers[child.0 as usize] += 1);
    }
    let mut values: Vec<Option<Bits>> = vec![None; root.0 as usize + 1];
    for &id in &closure {
        let value = |f: FormulaId| values[f.0 as usize].as_ref().expect("operands come first");
        let bits = match formulas.node(id) {
            Node::True => Bits::new(length).not(),
            Node::False => Bits::new(length),
            Node::Atom(name) => {
                let mut bits = Bits::new(length);
                for position in 0..length {
                    bits.put(position, atom(name, position));
                }
                bits
            }
            Node::Not(a) => value(a).not(),
            Node::And(operands) => {
                let mut bits = value(operands[0]).clone();
                for &operand in &operands[1..] {
                    bits = bits.zip(value(operand), |a, b| a & b);
                }
                bits
            }
            Node::Or(operands) => {
                let mut bits = value(operands[0]).clone();
                for &operand in &operands[1..] {
                    bits = bits.zip(value(operand), |a, b| a | b);
                }
                bits
            }
            Node::Implies(a, b) => value(a).zip(value(b), |a, b| !a | b),
            Node::Iff(a, b) => value(a).zip(value(b), |a, b| !(a ^ b)),
            Node::Xor(a, b) => value(a).zip(value(b), |a, b| a ^ b),
            Node::Next(a) => {
                let mut bits = Bits::new(length);
                for position in 0..length {
                    bits.put(position, value(a).get(lasso.after(position)));
                }
                bits
            }
            // Least solutions begin with false, greatest ones with true.
            Node::Finally(a) => {
                let a = value(a);
                solve(lasso, false, |i, next| a.get(i) || next)
            }
            Node::Globally(a) => {
                let a = value(a);
                solve(lasso, true, |i, next| a.get(i) && next)
            }
            Node::Until(a, b) => {
                let (a, b) = (value(a), value(b));
                solve(lasso, false, |i, next| b.get(i) || (a.get(i) && next))
            }
            Node::WeakUntil(a, b) => {
                let (a, b) = (value(a), value(b));
                solve(lasso, true, |i, next| b.get(i) || (a.get(i) && next))
            }
            Node::Release(a, b) => {
                let (a, b) = (value(a), value(b));
                solve(lasso, true, |i, next| b.get(i) && (a.get(i) || next))
            }
            Node::StrongRelease(a, b) => {
                let (a, b) = (value(a), value(b));
                solve(lasso, false, |i, next| b.get(i) && (a.get(i) || next))
            }
        };
        formulas.children(id, |child| {
            let left = &mut readers[child.0 as usize];
            *left -= 1;
            if *left == 0 {
                values[child.0 as usize] = None;
            }
        });
        values[id.0 as usize] = Some(bits);
    }
    values[root.0 as usize].take().expect("the root comes last")
}

fn solve(lasso: Lasso, start: bool, step: impl Fn(usize, bool) -> bool) -> Bits {
    let mut bits = Bits::new(lasso.len());
    let mut next = start;
    for position in (lasso.prefix..lasso.len()).rev() {
        next = step(position, next);
    }
    for position in (0..lasso.len()).rev() {
        next = step(position, next);
        bits.put(position, next);
    }
    bits
}

/// Whether a word satisfies a formula.
pub fn holds(
    formulas: &Formulas,
    root: FormulaId,
    lasso: Lasso,
    atom: impl FnMut(AtomId, usize) -> bool,
) -> bool {
    evaluate(formulas, root, lasso, atom).get(0)
}

/// Whether an automaton accepts a word.
pub fn accepts(
    automaton: &Tgba,
    lasso: Lasso,
    mut atom: impl FnMut(AtomId, usize) -> bool,
) -> bool {
    assert!(lasso.period > 0, "the loop of a word is not empty");
    let states = automaton.state_count();
    let guards = automaton.guards();
    // Which guards hold where.
    let mut enabled = vec![false; lasso.len() * guards.len()];
    for position in 0..lasso.len() {
        for guard in 0..guards.len() {
            enabled[position * guards.len() + guard] =
                guards.holds(guard as u32, |name| atom(name, position));
        }
    }
    let node = |state: usize, position: usize| (position * states + state) as u32;
    let successors = |from: u32, out: &mut Vec<(u32, u128)>| {
        let (position, state) = (from as usize / states, from as usize % states);
        for edge in automaton.edges_from(state as u32) {
            if enabled[position * guards.len() + edge.guard as usize] {
                let to = node(edge.target as usize, lasso.after(position));
                out.push((to, u128::from(edge.marks)));
            }
        }
    };
    let all = automaton.all_marks();
    let start = node(automaton.initial() as usize, 0);
    components::has_accepting(states * lasso.len(), start, u128::from(all), successors)
}
