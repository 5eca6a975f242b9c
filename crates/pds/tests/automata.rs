//! Operations on weighted automata, against products of matrices for all short stacks.

mod common;

use std::collections::HashMap;

use common::{Random, automaton, stacks};
use droste_base::Limits;
use droste_pds::automaton::{Numbers, OperationError, Side};
use droste_pds::domains::{Boolean, CopyConstants, GenKill, Known, MinPlus, Pair, Relations};
use droste_pds::{Automaton, Direction, Domain, StateId, SymbolId, Transition};

const SYMBOLS: u32 = 2;
const MIN_PLUS: MinPlus = MinPlus::non_negative();
const HEIGHT: usize = 5;

type Rows<W> = Vec<Vec<W>>;

/// An automaton as matrices: the weights of stacks are their products.
struct Naive<'a, D: Domain> {
    domain: &'a D,
    swapped: bool,
    silent: Rows<D::Weight>,
    letters: Vec<Rows<D::Weight>>,
    ends: Vec<D::Weight>,
}

impl<'a, D: Domain> Naive<'a, D> {
    fn new(domain: &'a D, automaton: &Automaton<D::Weight>) -> Self {
        let size = automaton.states() as usize;
        let empty = || vec![vec![domain.zero(); size]; size];
        let mut naive = Naive {
            domain,
            swapped: automaton.direction() == Direction::Backward,
            silent: empty(),
            letters: (0..SYMBOLS).map(|_| empty()).collect(),
            ends: (0..automaton.states())
                .map(|s| automaton.final_weight(StateId(s)).cloned())
                .map(|weight| weight.unwrap_or_else(|| domain.zero()))
                .collect(),
        };
        for (Transition { from, symbol, to }, weight) in automaton.iter() {
            let matrix = if symbol == SymbolId::EPSILON {
                &mut naive.silent
            } else {
                &mut naive.letters[symbol.0 as usize]
            };
            matrix[from.0 as usize][to.0 as usize] = weight.clone();
        }
        for state in 0..size {
            let own = &mut naive.silent[state][state];
            *own = domain.combine(own, &domain.one()).expect("a sum");
        }
        // Without epsilon transitions it is the identity.
        while automaton.iter().any(|(t, _)| t.symbol == SymbolId::EPSILON) {
            let square = naive.product(&naive.silent, &naive.silent);
            let pairs = square.iter().flatten().zip(naive.silent.iter().flatten());
            let mut pairs = pairs;
            if pairs.all(|(a, b)| domain.equal(a, b)) {
                break;
            }
            naive.silent = square;
        }
        naive
    }

    fn times(&self, a: &D::Weight, b: &D::Weight) -> D::Weight {
        let (a, b) = if self.swapped { (b, a) } else { (a, b) };
        self.domain.extend(a, b).expect("a product")
    }

    fn product(&self, a: &Rows<D::Weight>, b: &Rows<D::Weight>) -> Rows<D::Weight> {
        let size = a.len();
        let entry = |i: usize, j: usize| {
            (0..size).fold(self.domain.zero(), |sum, k| {
                let next = self.times(&a[i][k], &b[k][j]);
                self.domain.combine(&sum, &next).expect("a sum")
            })
        };
        (0..size)
            .map(|i| (0..size).map(|j| entry(i, j)).collect())
            .collect()
    }

    /// A row times a matrix.
    fn step(&self, row: &[D::Weight], matrix: &Rows<D::Weight>) -> Vec<D::Weight> {
        let mut next = vec![self.domain.zero(); row.len()];
        for (weight, line) in row.iter().zip(matrix) {
            if self.domain.is_zero(weight) {
                continue;
            }
            for (sum, other) in next.iter_mut().zip(line) {
                let product = self.times(weight, other);
                *sum = self.domain.combine(sum, &product).expect("a sum");
            }
        }
        next
    }

    /// The weights of all short stacks.
    fn all(&self, control: u32) -> Vec<(StateId, Vec<SymbolId>, D::Weight)> {
        let all = stacks(SYMBOLS, HEIGHT);
        let mut weights = Vec::new();
        for state in 0..control {
            // A stack comes after all that are shorter.
            let mut rows: HashMap<&[SymbolId], Vec<D::Weight>> = HashMap::new();
            for stack in &all {
                let row = match stack.split_last() {
                    None => self.silent[state as usize].clone(),
                    Some((symbol, shorter)) => {
                        let row = self.step(&rows[shorter], &self.letters[symbol.0 as usize]);
                        self.step(&row, &self.silent)
                    }
                };
                let ends = row.iter().zip(&self.ends);
                let weight = ends.fold(self.domain.zero(), |sum, (weight, end)| {
                    let next = self.times(weight, end);
                    self.domain.combine(&sum, &next).expect("a sum")
                });
                weights.push((StateId(state), stack.clone(), weight));
                rows.insert(stack, row);
            }
        }
        weights
    }
}

struct Case<'a, D: Domain> {
    domain: &'a D,
    control: u32,
    first: Automaton<D::Weight>,
    second: Automaton<D::Weight>,
    plain: Automaton<bool>,
}

impl<'a, D: Domain> Case<'a, D> {
    fn new(domain: &'a D, seed: u64, sample: &impl Fn(&mut Random) -> D::Weight) -> Self {
        let random = &mut Random::new(seed);
        let control = 1 + random.below(3);
        let direction = [Direction::Forward, Direction::Backward][random.below(2) as usize];
        let size = (control, SYMBOLS);
        Case {
            domain,
            control,
            first: automaton(domain, random, size, direction, sample),
            second: automaton(domain, random, size, direction, sample),
            plain: automaton(&Boolean, random, size, direction, &|_| true),
        }
    }

    fn all(&self, automaton: &Automaton<D::Weight>) -> Vec<(StateId, Vec<SymbolId>, D::Weight)> {
        Naive::new(self.domain, automaton).all(self.control)
    }

    /// Two automata give all short stacks the same weights.
    fn same(&self, what: &str, a: &Automaton<D::Weight>, b: &Automaton<D::Weight>) {
        for ((state, stack, x), (.., y)) in self.all(a).into_iter().zip(self.all(b)) {
            let equal = self.domain.equal(&x, &y);
            assert!(
                equal,
                "{what}: {state:?} {stack:?}: {x:?}, not {y:?}\n{a:?}"
            );
        }
    }

    fn reductions(&self) {
        let (domain, first) = (self.domain, &self.first);
        for (state, stack, weight) in self.all(first) {
            let found = first.weight_of(domain, state, &stack).expect("a weight");
            assert!(domain.equal(&weight, &found), "{state:?} {stack:?}");
        }
        let plain = first.without_epsilon(domain).expect("an automaton");
        assert!(plain.iter().all(|(t, _)| t.symbol != SymbolId::EPSILON));
        self.same("epsilon", &plain, first);
        let normal = first.normalised(domain).expect("an automaton");
        assert!(normal.iter().all(|(t, _)| t.symbol != SymbolId::EPSILON));
        assert!(normal.iter().all(|(t, _)| t.to.0 >= self.control));
        self.same("normalised", &normal, first);
        let trimmed = first.trimmed_both_ways(domain).expect("an automaton");
        assert!(trimmed.len() <= first.len());
        assert!(trimmed.iter().all(|(_, w)| !domain.is_zero(w)));
        self.same("trimmed", &trimmed, first);
        assert!(first.dot(&Numbers).starts_with("digraph"));
    }

    fn combinations(&self) {
        let (domain, first, second) = (self.domain, &self.first, &self.second);
        let union = first.union(domain, second).expect("a union");
        let restricted = first.restricted(domain, &self.plain).expect("a part");
        let accepted = Naive::new(&Boolean, &self.plain).all(self.control);
        let parts = self.all(first).into_iter().zip(self.all(second));
        let results = self.all(&union).into_iter().zip(self.all(&restricted));
        for ((((.., a), (.., b)), (x, y)), (.., accepts)) in parts.zip(results).zip(accepted) {
            let both = domain.combine(&a, &b).expect("a sum");
            assert!(domain.equal(&both, &x.2), "union, {x:?}");
            let part = if accepts { a } else { domain.zero() };
            assert!(domain.equal(&part, &y.2), "restricted, {y:?}");
        }
    }

    fn summary(&self) {
        let (domain, first) = (self.domain, &self.first);
        let summary = first.path_summary(domain).expect("a weight");
        // All stacks, as one more matrix.
        let naive = Naive::new(domain, first);
        let mut all = naive.silent.clone();
        loop {
            let mut next = all.clone();
            for letter in &naive.letters {
                let longer = naive.product(&naive.product(&all, letter), &naive.silent);
                for (own, other) in next.iter_mut().flatten().zip(longer.iter().flatten()) {
                    *own = domain.combine(own, other).expect("a sum");
                }
            }
            let mut pairs = next.iter().flatten().zip(all.iter().flatten());
            if pairs.all(|(a, b)| domain.equal(a, b)) {
                break;
            }
            all = next;
        }
        let mut expected = domain.zero();
        for row in &all[..self.control as usize] {
            for (weight, end) in row.iter().zip(&naive.ends) {
                let weight = naive.times(weight, end);
                expected = domain.combine(&expected, &weight).expect("a sum");
            }
        }
        assert!(
            domain.equal(&summary, &expected),
            "{summary:?}, not {expected:?}"
        );
        let mut by_heads = domain.zero();
        for state in 0..self.control {
            let empty = first
                .weight_of(domain, StateId(state), &[])
                .expect("a weight");
            by_heads = domain.combine(&by_heads, &empty).expect("a sum");
        }
        let heads = first.heads(domain).expect("weights");
        for weight in heads.values() {
            by_heads = domain.combine(&by_heads, weight).expect("a sum");
        }
        assert!(domain.equal(&by_heads, &summary), "{by_heads:?}");
        for (state, stack, weight) in naive.all(self.control) {
            if let Some(&top) = stack.first() {
                let head = heads.get(&(state, top)).cloned();
                let head = head.unwrap_or_else(|| domain.zero());
                let both = domain.combine(&head, &weight).expect("a sum");
                assert!(domain.equal(&both, &head), "{state:?} {stack:?}");
            }
        }
        let nothing = first.accepts_nothing(domain).expect("an answer");
        assert_eq!(nothing, domain.is_zero(&expected));
        let found = first.shortest_configuration(domain).expect("an answer");
        assert_eq!(found.is_none(), nothing, "{found:?}");
        let naive = naive.all(self.control).into_iter();
        let shortest = naive
            .filter(|(.., w)| !domain.is_zero(w))
            .map(|(_, s, _)| s.len());
        let Some((found, weight)) = found else {
            assert_eq!(shortest.min(), None);
            return;
        };
        let own = first
            .weight_of(domain, found.state, &found.stack)
            .expect("a weight");
        assert!(
            !domain.is_zero(&own) && domain.equal(&own, &weight),
            "{found:?}"
        );
        if let Some(shortest) = shortest.min() {
            assert_eq!(found.stack.len(), shortest);
        } else {
            assert!(found.stack.len() > HEIGHT);
        }
    }

    /// How many states a deterministic automaton has, if there is one.
    fn determinised(&self) -> Option<u32> {
        match self.first.determinised(self.domain, 300) {
            Ok(deterministic) => {
                assert!(deterministic.is_deterministic());
                self.same("deterministic", &deterministic, &self.first);
                Some(deterministic.states())
            }
            Err(reason) => {
                assert_eq!(reason, OperationError::TooManyStates(300));
                None
            }
        }
    }
}

fn sweep<D: Domain>(domain: &D, first: u64, count: u64, sample: impl Fn(&mut Random) -> D::Weight) {
    for seed in first..first + count {
        let case = Case::new(domain, seed, &sample);
        case.reductions();
        case.combinations();
        case.summary();
        case.determinised();
    }
}

fn relation(domain: Relations) -> impl Fn(&mut Random) -> <Relations as Domain>::Weight {
    move |random| {
        let size = domain.size();
        let pairs: Vec<_> = (0..size)
            .map(|_| (random.below(size), random.below(size)))
            .collect();
        domain.of(pairs)
    }
}

fn assignment(domain: CopyConstants) -> impl Fn(&mut Random) -> <CopyConstants as Domain>::Weight {
    move |random| {
        let (variable, other) = (random.below(2), random.below(2));
        match random.below(4) {
            0 => domain.assign(variable, Known::Anything),
            1 | 2 => domain.assign(variable, Known::Constant(i128::from(random.below(2)))),
            _ => domain.copy(variable, other),
        }
    }
}

fn sweeps(count: u64) {
    sweep(&Boolean, 0, count, |_| true);
    sweep(&MIN_PLUS, 100_000, count, |random| {
        i64::from(random.below(10))
    });
    let domain = Relations::new(2);
    sweep(&domain, 200_000, count, relation(domain));
    let domain = CopyConstants::new(2);
    sweep(&domain, 300_000, count / 2, assignment(domain));
    let domain = GenKill::new(3);
    sweep(&domain, 400_000, count / 2, |random| {
        domain.of([random.below(3)], [random.below(3)])
    });
}

#[test]
fn random_automata() {
    sweeps(300);
}

#[test]
#[ignore = "sweep; run in release"]
fn many_random_automata() {
    sweeps(8_000);
}

#[test]
fn intersections_have_both_weights() {
    let relations = Relations::new(2);
    for seed in 0..400 {
        let case = Case::new(&MIN_PLUS, seed, &|random| i64::from(random.below(10)));
        let random = &mut Random::new(seed + 7);
        let size = (case.control, SYMBOLS);
        let direction = case.first.direction();
        let other = automaton(&relations, random, size, direction, &relation(relations));
        let domains = (&MIN_PLUS, &relations);
        let both = case.first.intersection(domains, &other).expect("both");
        let pair = Pair(MIN_PLUS, relations);
        let found = Naive::new(&pair, &both).all(case.control);
        let others = Naive::new(&relations, &other).all(case.control);
        let firsts = case.all(&case.first);
        for (((.., (a, b)), (.., x)), (.., y)) in found.into_iter().zip(firsts).zip(others) {
            // A stack that one of them does not read has no weight at all.
            if a != MinPlus::INFINITY && !relations.is_zero(&b) {
                assert!(a == x && b == y, "seed {seed}");
            } else {
                assert!(
                    x == MinPlus::INFINITY || relations.is_zero(&y),
                    "seed {seed}"
                );
            }
        }
        let sum = case.first.extended(&MIN_PLUS, &case.second).expect("a sum");
        let parts = case
            .all(&case.first)
            .into_iter()
            .zip(case.all(&case.second));
        for ((.., found), ((.., a), (.., b))) in case.all(&sum).into_iter().zip(parts) {
            assert_eq!(
                found,
                MIN_PLUS.extend(&a, &b).expect("a sum"),
                "seed {seed}"
            );
        }
        let turned = Automaton::new(1, Direction::Forward);
        if direction == Direction::Backward {
            let refused = case.first.union(&MIN_PLUS, &turned);
            assert_eq!(refused.err(), Some(OperationError::Directions));
        }
    }
}

#[test]
fn best_configurations_are_best() {
    let mut found = 0;
    for seed in 0..2000 {
        let case = Case::new(&MIN_PLUS, seed, &|random| i64::from(random.below(10)));
        let summary = case.first.path_summary(&MIN_PLUS).expect("a weight");
        let best = case
            .first
            .best_configuration(&MIN_PLUS)
            .expect("a configuration");
        assert_eq!(best.is_none(), summary == MinPlus::INFINITY);
        if let Some((best, weight)) = best {
            found += 1;
            let own = case.first.weight_of(&MIN_PLUS, best.state, &best.stack);
            assert_eq!((own, weight), (Ok(summary), summary), "seed {seed}");
            let shorter = case.all(&case.first).into_iter();
            let mut shorter = shorter.filter(|(_, stack, _)| stack.len() < best.stack.len());
            assert!(shorter.all(|(.., w)| w > summary), "seed {seed}");
        }
    }
    assert!(found > 500, "{found}");
}

#[test]
fn inclusion_is_that_of_all_short_stacks() {
    let (mut included, mut different) = (0, 0);
    for seed in 0..4000 {
        let case = Case::new(&Boolean, seed, &|_| true);
        let (a, b) = (&case.first, &case.plain);
        let limits = Limits::default();
        let found = a.not_included_in(b, &limits).expect("an answer");
        let lists = case.all(a).into_iter().zip(case.all(b));
        let expected = lists
            .filter(|((.., a), (.., b))| *a && !*b)
            .map(|(x, _)| x.1.len())
            .min();
        match (&found, expected) {
            (None, None) => included += 1,
            (Some(found), Some(length)) => {
                different += 1;
                assert_eq!(found.stack.len(), length, "seed {seed}");
            }
            (Some(found), None) => assert!(found.stack.len() > HEIGHT, "seed {seed}"),
            (None, Some(length)) => panic!("seed {seed}: there is one of {length} symbols"),
        }
        if let Some(found) = &found {
            assert_eq!(a.weight_of(&Boolean, found.state, &found.stack), Ok(true));
            assert_eq!(b.weight_of(&Boolean, found.state, &found.stack), Ok(false));
        }
        let difference = a.difference(b, &limits).expect("an answer");
        let back = b.not_included_in(a, &limits).expect("an answer");
        let expected = found.map(|found| (Side::First, found));
        assert_eq!(
            difference,
            expected.or(back.map(|found| (Side::Second, found)))
        );
        // Determinising changes nothing.
        let other = a.determinised(&Boolean, 10_000).expect("an automaton");
        assert_eq!(a.difference(&other, &limits), Ok(None), "seed {seed}");
    }
    assert!(included > 500 && different > 500, "{included} {different}");
}

/// `(a|b)* a (a|b)^n` needs 2^n deterministic states, but inclusion needs few.
#[test]
fn inclusion_does_not_determinise() {
    let [a, b] = [SymbolId(0), SymbolId(1)];
    let mut automaton = Automaton::new(1, Direction::Forward);
    let add = |automaton: &mut Automaton<bool>, from, symbol, to| {
        let transition = Transition::new(from, symbol, to);
        automaton.add(&Boolean, transition, true).expect("a sum");
    };
    let mut at = StateId(0);
    for symbol in [a, b] {
        add(&mut automaton, at, symbol, at);
    }
    for place in 0..60 {
        let next = automaton.state();
        add(&mut automaton, at, a, next);
        if place > 0 {
            add(&mut automaton, at, b, next);
        }
        at = next;
    }
    automaton.accept(&Boolean, at, true).expect("a sum");
    let mut more = automaton.clone();
    more.accept(&Boolean, StateId(0), true).expect("a sum");
    let limits = Limits::default();
    assert_eq!(automaton.not_included_in(&more, &limits), Ok(None));
    let found = more
        .not_included_in(&automaton, &limits)
        .expect("an answer");
    assert_eq!(found.map(|found| found.stack.len()), Some(0));
    let refused = automaton.determinised(&Boolean, 1000).err();
    assert_eq!(refused, Some(OperationError::TooManyStates(1000)));
}

/// With negative cycles, epsilon transitions among them, everything ends, and nothing is too long.
#[test]
fn negative_cycles_end_in_minus_infinity() {
    let domain = MinPlus::any();
    let mut endless = 0;
    for seed in 0..3000 {
        let random = &mut Random::new(seed);
        let direction = [Direction::Forward, Direction::Backward][random.below(2) as usize];
        let sample = |random: &mut Random| i64::from(random.below(12)) - 2;
        let automaton = automaton(&domain, random, (2, SYMBOLS), direction, &sample);
        let summary = automaton.path_summary(&domain).expect("a weight");
        let mut least = MinPlus::INFINITY;
        for stack in stacks(SYMBOLS, HEIGHT) {
            for state in [StateId(0), StateId(1)] {
                least = least.min(
                    automaton
                        .weight_of(&domain, state, &stack)
                        .expect("a weight"),
                );
            }
        }
        match automaton.best_configuration(&domain) {
            Ok(None) => assert_eq!(summary, MinPlus::INFINITY, "seed {seed}"),
            Ok(Some((best, weight))) => {
                let own = automaton.weight_of(&domain, best.state, &best.stack);
                assert_eq!((own, weight), (Ok(summary), summary), "seed {seed}");
                assert!(weight <= least, "seed {seed}");
            }
            Err(reason) => {
                assert_eq!(reason, OperationError::NoBest, "seed {seed}");
                assert_eq!(summary, MinPlus::MINUS_INFINITY, "seed {seed}");
                // Longer stacks are shorter and shorter.
                assert!(least > summary, "seed {seed}");
                endless += 1;
            }
        }
    }
    assert!(endless > 50, "{endless}");
}
