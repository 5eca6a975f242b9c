//! pre* and post* on random systems: against the grammar solved naively, against each other, and
//! against paths of bounded stacks.

use std::collections::HashMap;

use droste_pds::domains::{Boolean, CopyConstants, GenKill, Known, MinPlus, Pair, Relations};
use droste_pds::{
    Automaton, Direction, Domain, MergeId, Method, Options, Order, Pds, PdsBuilder, Replace, Rule,
    StateId, SymbolId, Transition, poststar, prestar,
};

/// xorshift64*
struct Random(u64);

impl Random {
    fn new(seed: u64) -> Self {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn below(&mut self, bound: u32) -> u32 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let high = self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33;
        (high % u64::from(bound)) as u32
    }
}

/// A domain with random weights.
trait Sample: Domain {
    fn sample(&self, random: &mut Random) -> Self::Weight;
    fn merges(&self) -> u32 {
        0
    }
}

impl Sample for Boolean {
    fn sample(&self, _: &mut Random) -> bool {
        true
    }
}

impl Sample for MinPlus {
    fn sample(&self, random: &mut Random) -> u64 {
        u64::from(random.below(10))
    }
}

impl Sample for Relations {
    fn sample(&self, random: &mut Random) -> Self::Weight {
        let size = self.size();
        let pairs: Vec<_> = (0..=size)
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
            2 | 3 => self.assign(variable, Known::Constant(i64::from(random.below(2)))),
            _ => self.copy(variable, other),
        }
    }
}

impl<A: Sample, B: Sample> Sample for Pair<A, B> {
    fn sample(&self, random: &mut Random) -> Self::Weight {
        (self.0.sample(random), self.1.sample(random))
    }
}

fn system<D: Sample>(domain: &D, random: &mut Random) -> Pds<D::Weight> {
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
        builder.rule(rule, domain.sample(random));
    }
    builder.build()
}

/// The configuration with this stack alone.
fn single<D: Domain>(
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

/// All transitions of pre*, by going through all productions of Fig. 8 until nothing changes.
fn naive<D: Domain>(
    domain: &D,
    pds: &Pds<D::Weight>,
    target: &Automaton<D::Weight>,
) -> HashMap<Transition, D::Weight> {
    let mut weights: HashMap<Transition, D::Weight> =
        target.iter().map(|(t, w)| (t, w.clone())).collect();
    loop {
        let mut changed = false;
        let mut add = |weights: &mut HashMap<_, _>, t: Transition, w: D::Weight| {
            let known = weights.entry(t).or_insert_with(|| domain.zero());
            let both = domain.combine(known, &w).expect("a sum");
            changed |= !domain.equal(&both, known);
            *known = both;
        };
        for (number, rule) in (0..).zip(pds.rules()) {
            let own = pds.weight(number);
            let make = |to| Transition {
                from: rule.from,
                symbol: rule.top,
                to,
            };
            let old: Vec<_> = weights.iter().map(|(t, w)| (*t, w.clone())).collect();
            match rule.replace {
                Replace::Pop => add(&mut weights, make(rule.to), own.clone()),
                Replace::Step(first) => {
                    for (t, w) in old {
                        if t.from == rule.to && t.symbol == first {
                            let w = domain.extend(own, &w).expect("a product");
                            add(&mut weights, make(t.to), w);
                        }
                    }
                }
                Replace::Push(first, second) => {
                    for (x, w) in &old {
                        if x.from != rule.to || x.symbol != first {
                            continue;
                        }
                        let before = match rule.merge {
                            Some(merge) if x.to.0 < pds.states() => {
                                domain.merge(merge, &domain.one(), w)
                            }
                            _ => domain.extend(own, w),
                        };
                        let before = before.expect("a weight");
                        for (y, w) in &old {
                            if y.from == x.to && y.symbol == second {
                                let w = domain.extend(&before, w).expect("a product");
                                add(&mut weights, make(y.to), w);
                            }
                        }
                    }
                }
            }
        }
        if !changed {
            weights.retain(|_, w| !domain.is_zero(w));
            return weights;
        }
    }
}

/// All stacks of at most this height.
fn stacks(symbols: u32, height: usize) -> Vec<Vec<SymbolId>> {
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

/// Whether two automata have the same transitions with the same weights.
fn same<D: Domain>(
    domain: &D,
    what: &str,
    a: &Automaton<D::Weight>,
    b: &Automaton<D::Weight>,
) -> Result<(), String> {
    for (transition, weight) in a.iter() {
        let other = b.weight(transition);
        if !other.is_some_and(|other| domain.equal(other, weight)) {
            return Err(format!(
                "{what}, {transition:?}: {weight:?}, by paths {other:?}"
            ));
        }
    }
    if a.len() != b.len() {
        return Err(format!(
            "{what}: {} transitions, by paths {}",
            a.len(),
            b.len()
        ));
    }
    Ok(())
}

fn compare<D: Sample>(domain: &D, seed: u64) -> Result<(), String> {
    let mut random = Random::new(seed);
    let pds = system(domain, &mut random);
    let all = stacks(pds.symbols(), 2);
    let pick = |random: &mut Random| {
        let stack = &all[random.below(all.len() as u32) as usize];
        (StateId(random.below(pds.states())), stack.clone())
    };
    let orders = [Order::Best, Order::LastIn, Order::FirstIn];
    let options = Options {
        order: orders[random.below(3) as usize],
        ..Options::default()
    };
    let (target, bottom) = pick(&mut random);
    let to = single(domain, &pds, (target, &bottom), Direction::Forward);
    let pre = prestar(domain, &pds, &to, &options).expect("pre*");
    let expected = naive(domain, &pds, &to);
    for (transition, weight) in &expected {
        let found = pre.weight(*transition);
        if !found.is_some_and(|found| domain.equal(found, weight)) {
            return Err(format!("{transition:?}: {found:?}, expected {weight:?}"));
        }
    }
    if expected.len() != pre.len() {
        return Err(format!("{} transitions, not {}", pre.len(), expected.len()));
    }
    let paths = Options {
        method: Method::Paths,
        ..options.clone()
    };
    same(
        domain,
        "pre*",
        &pre,
        &prestar(domain, &pds, &to, &paths).expect("pre*"),
    )?;
    for _ in 0..3 {
        let (source, top) = pick(&mut random);
        let from = single(domain, &pds, (source, &top), Direction::Backward);
        let post = poststar(domain, &pds, &from, &options).expect("post*");
        let other = poststar(domain, &pds, &from, &paths).expect("post*");
        same(domain, "post*", &post, &other)?;
        for stack in &all {
            for state in (0..pds.states()).map(StateId) {
                let to = single(domain, &pds, (state, stack), Direction::Forward);
                let pre = prestar(domain, &pds, &to, &options).expect("pre*");
                let back = pre.weight_of(domain, source, &top).expect("a weight");
                let there = post.weight_of(domain, state, stack).expect("a weight");
                if !domain.equal(&back, &there) {
                    return Err(format!(
                        "from <{source:?}, {top:?}> to <{state:?}, {stack:?}>: pre* {back:?}, \
                         post* {there:?}"
                    ));
                }
            }
        }
    }
    Ok(())
}

fn sweep<D: Sample>(domain: &D, first: u64, count: u64) {
    for seed in first..first + count {
        if let Err(difference) = compare(domain, seed) {
            let pds = system(domain, &mut Random::new(seed));
            let rules: Vec<String> = (0..)
                .zip(pds.rules())
                .map(|(i, rule)| format!("{rule} {:?} : {:?}", rule.merge, pds.weight(i)))
                .collect();
            panic!("seed {seed}: {difference}\n{}", rules.join("\n"));
        }
    }
}

#[test]
fn random_systems() {
    sweep(&Boolean, 0, 150);
    sweep(&MinPlus, 1000, 150);
    sweep(&Relations::new(3), 2000, 60);
    sweep(&Relations::with_locals(2, 2), 3000, 150);
    sweep(&Pair(MinPlus, Boolean), 4000, 50);
    sweep(&GenKill::new(70), 5000, 50);
    sweep(&CopyConstants::new(3), 6000, 50);
}

#[test]
#[ignore = "sweep; run in release"]
fn many_random_systems() {
    sweep(&Boolean, 10_000, 5_000);
    sweep(&MinPlus, 20_000, 5_000);
    sweep(&Relations::new(3), 30_000, 3_000);
    sweep(&Relations::with_locals(2, 2), 40_000, 5_000);
    sweep(&Pair(MinPlus, Relations::new(2)), 50_000, 2_000);
    sweep(&GenKill::new(70), 60_000, 2_000);
    sweep(&CopyConstants::new(3), 70_000, 2_000);
}

#[test]
fn laws_hold() {
    let mut random = Random::new(7);
    droste_pds::laws::check(&Boolean, &[true, false], &[]).expect("laws");
    let numbers = [0, 1, 2, 7, u64::MAX - 1, u64::MAX];
    droste_pds::laws::check(&MinPlus, &numbers, &[]).expect("laws");
    let domain = GenKill::new(70);
    let mut weights: Vec<_> = (0..10).map(|_| domain.sample(&mut random)).collect();
    weights.extend([domain.one(), domain.zero()]);
    droste_pds::laws::check(&domain, &weights, &[]).expect("laws");
    let domain = CopyConstants::new(3);
    let mut weights: Vec<_> = (0..12).map(|_| domain.sample(&mut random)).collect();
    weights.extend([domain.one(), domain.zero()]);
    for i in 0..6 {
        weights.push(domain.combine(&weights[i], &weights[i + 1]).expect("a sum"));
    }
    droste_pds::laws::check(&domain, &weights, &[]).expect("laws");
    for domain in [Relations::new(3), Relations::with_locals(2, 2)] {
        let mut weights: Vec<_> = (0..8).map(|_| domain.sample(&mut random)).collect();
        weights.extend([domain.one(), domain.zero()]);
        droste_pds::laws::check(&domain, &weights, &[MergeId(0)]).expect("laws");
    }
}
