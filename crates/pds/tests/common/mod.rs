//! Random systems, for all tests.

#![allow(dead_code, reason = "each test uses some of it")]

use droste_pds::domains::{
    Affine, Boolean, CopyConstants, GenKill, Known, Lexicographic, Linear, MaxPlus, MinPlus,
    Module, Pair, Relations, Vector,
};
use droste_pds::{
    Automaton, Direction, Domain, MergeId, Pds, PdsBuilder, Replace, Rule, StateId, SymbolId,
    Transition,
};

/// xorshift64*
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn word(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    pub(crate) fn below(&mut self, bound: u32) -> u32 {
        ((self.word() >> 33) % u64::from(bound)) as u32
    }
}

/// A domain with random weights.
pub(crate) trait Sample: Domain {
    fn sample(&self, random: &mut Random) -> Self::Weight;
    fn merges(&self) -> u32 {
        0
    }
}

impl Sample for Boolean {
    fn sample(&self, _: &mut Random) -> bool {
        true
    }

    fn merges(&self) -> u32 {
        1
    }
}

impl Sample for MinPlus {
    fn sample(&self, random: &mut Random) -> i64 {
        let number = i64::from(random.below(10));
        if self.has_negative() {
            number - 3
        } else {
            number
        }
    }
}

impl Sample for MaxPlus {
    fn sample(&self, random: &mut Random) -> i64 {
        let number = i64::from(random.below(10));
        if self.bottom().is_some() {
            3 - number
        } else {
            -number
        }
    }
}

impl Sample for Affine {
    fn sample(&self, random: &mut Random) -> Module {
        let variables = self.variables();
        let mut assigns: Vec<(u32, Option<Linear>)> = Vec::new();
        for variable in 0..variables {
            let value = match random.below(6) {
                0..3 => continue,
                3 => None,
                _ => Some(Linear {
                    constant: u64::from(random.below(3)),
                    terms: (0..random.below(3))
                        .map(|_| (random.below(variables), u64::from(random.below(4))))
                        .collect(),
                }),
            };
            assigns.push((variable, value));
        }
        self.assign(&assigns)
    }
}

impl Sample for Lexicographic {
    fn sample(&self, random: &mut Random) -> Vector {
        // Often nothing in the first place, so that the others decide.
        let first = i64::from(random.below(6)).saturating_sub(2);
        let rest = [(); 2].map(|()| i64::from(random.below(7)) - 3);
        let vector = Vector::new(&[first.max(0), rest[0], rest[1]]);
        if !self.has_negative() && vector.is_negative() {
            return Vector::new(&[first.max(0), -rest[0], rest[1].abs()]);
        }
        vector
    }
}

impl Sample for Relations {
    fn sample(&self, random: &mut Random) -> Self::Weight {
        // Of small ones, single runs often weigh nothing.
        let size = self.size();
        let pairs: Vec<_> = (0..=random.below(size + 1))
            .map(|_| (random.below(size), random.below(size)))
            .collect();
        self.of(pairs)
    }

    fn merges(&self) -> u32 {
        1
    }
}

impl Sample for GenKill {
    fn sample(&self, random: &mut Random) -> Self::Weight {
        let bits: Vec<u32> = (0..4).map(|_| random.below(70)).collect();
        self.of(bits[..2].iter().copied(), bits[2..].iter().copied())
    }
}

impl Sample for CopyConstants {
    fn sample(&self, random: &mut Random) -> Self::Weight {
        let (variable, other) = (random.below(3), random.below(3));
        match random.below(5) {
            0 => self.one(),
            1 => self.assign(variable, Known::Anything),
            2 | 3 => self.assign(variable, Known::Constant(i128::from(random.below(2)))),
            _ => self.copy(variable, other),
        }
    }
}

impl<A: Sample, B: Sample> Sample for Pair<A, B> {
    fn sample(&self, random: &mut Random) -> Self::Weight {
        (self.0.sample(random), self.1.sample(random))
    }
}

pub(crate) fn system<D: Sample>(domain: &D, random: &mut Random) -> Pds<D::Weight> {
    let (states, symbols) = (1 + random.below(3), 2 + random.below(4));
    let mut builder = PdsBuilder::new(states, symbols);
    for _ in 0..3 + random.below(9) {
        let symbol = |random: &mut Random| SymbolId(random.below(symbols));
        let replace = match random.below(5) {
            0 | 1 => Replace::Pop,
            2 => Replace::Step(symbol(random)),
            _ => Replace::Push(symbol(random), symbol(random)),
        };
        let merge =
            matches!(replace, Replace::Push(..)) && domain.merges() > 0 && random.below(2) == 0;
        let rule = Rule {
            from: StateId(random.below(states)),
            top: symbol(random),
            to: StateId(random.below(states)),
            replace,
            merge: merge.then(|| MergeId(random.below(domain.merges()))),
        };
        // Nothing inside such a callee is reached, but it may return.
        let shut = merge && random.below(3) == 0;
        let weight = if shut {
            domain.zero()
        } else {
            domain.sample(random)
        };
        builder.rule(rule, weight);
    }
    builder.build()
}

/// The configuration with this stack alone.
pub(crate) fn single<D: Domain>(
    domain: &D,
    pds: &Pds<D::Weight>,
    (state, stack): (StateId, &[SymbolId]),
    direction: Direction,
) -> Automaton<D::Weight> {
    let mut automaton = Automaton::new(pds.states(), direction);
    let mut at = state;
    for &symbol in stack {
        let to = automaton.state();
        let step = Transition {
            from: at,
            symbol,
            to,
        };
        automaton.add(domain, step, domain.one()).expect("a sum");
        at = to;
    }
    automaton
        .accept(domain, at, domain.one())
        .expect("a weight");
    automaton
}

/// An automaton with one to three control states, some with epsilon transitions, some of them in
/// cycles, some into control states, some weights zero.
pub(crate) fn automaton<D: Domain>(
    domain: &D,
    random: &mut Random,
    (control, symbols): (u32, u32),
    direction: Direction,
    sample: &impl Fn(&mut Random) -> D::Weight,
) -> Automaton<D::Weight> {
    let mut automaton = Automaton::new(control, direction);
    for _ in 0..random.below(4) {
        automaton.state();
    }
    let states = automaton.states();
    let silent = random.below(2) * 3;
    let weight = |random: &mut Random| match random.below(8) {
        0 => domain.zero(),
        1 | 2 => domain.one(),
        _ => sample(random),
    };
    for _ in 0..random.below(3 * states + 1) {
        let symbol = if random.below(8) < silent {
            SymbolId::EPSILON
        } else {
            SymbolId(random.below(symbols))
        };
        let from = StateId(random.below(states));
        let to = StateId(random.below(states));
        let weight = weight(random);
        let transition = Transition::new(from, symbol, to);
        automaton.add(domain, transition, weight).expect("a sum");
    }
    for _ in 0..=random.below(2) {
        let state = StateId(random.below(states));
        let weight = weight(random);
        automaton.accept(domain, state, weight).expect("a sum");
    }
    automaton
}

/// All stacks of at most this height.
pub(crate) fn stacks(symbols: u32, height: usize) -> Vec<Vec<SymbolId>> {
    let mut all = vec![Vec::new()];
    let mut from = 0;
    for _ in 0..height {
        let to = all.len();
        for i in from..to {
            for symbol in 0..symbols {
                let mut longer = all[i].clone();
                longer.push(SymbolId(symbol));
                all.push(longer);
            }
        }
        from = to;
    }
    all
}

/// The rules of the system of a seed.
pub(crate) fn shown<D: Sample>(domain: &D, seed: u64) -> String {
    let pds = system(domain, &mut Random::new(seed));
    let rules: Vec<String> = (0..)
        .zip(pds.rules())
        .map(|(i, rule)| format!("{rule} {:?} : {:?}", rule.merge, pds.weight(i)))
        .collect();
    rules.join("\n")
}
