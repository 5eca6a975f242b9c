//! The laws of all domains on random weights, and affine relations against all states.

mod common;

use std::collections::BTreeSet;

use common::Random;
use droste_base::StopReason;
use droste_pds::domains::{
    Affine, Boolean, Call, CopyConstants, Framed, GenKill, Known, Lexicographic, Linear, MaxPlus,
    MinPlus, Module, Pair, Relations, Scoped, Source, Vector,
};
use droste_pds::laws::check;
use droste_pds::{Domain, MergeId};

/// Checks the laws on some random weights at a time, with their sums and products among them.
fn laws<D: Domain>(
    domain: &D,
    merges: &[MergeId],
    rounds: u64,
    sample: impl Fn(&mut Random) -> D::Weight,
) {
    for seed in 0..rounds {
        let random = &mut Random::new(seed);
        let mut weights: Vec<_> = (0..4).map(|_| sample(random)).collect();
        weights.extend([domain.one(), domain.zero()]);
        weights.push(domain.combine(&weights[0], &weights[1]).expect("a sum"));
        weights.push(domain.extend(&weights[2], &weights[3]).expect("a product"));
        if let Err(broken) = check(domain, &weights, merges) {
            panic!("seed {seed}: {broken}");
        }
    }
}

/// The same with merge functions of random calls.
fn laws_with_calls<D: Scoped + Clone>(
    domain: &D,
    variables: u32,
    rounds: u64,
    sample: impl Fn(&mut Random) -> D::Weight,
) {
    let random = &mut Random::new(rounds);
    let mut framed = Framed::new(domain.clone());
    let mut merges = Vec::new();
    for _ in 0..3 {
        let call = Call {
            before: sample(random),
            enter: sample(random),
            kept: (0..variables).filter(|_| random.below(2) == 0).collect(),
        };
        merges.push(framed.call(call).expect("a weight").0);
    }
    laws(&framed, &merges, rounds, sample);
}

#[test]
fn numbers() {
    laws(&Boolean, &[], 100, |random| random.below(2) == 0);
    let greatest = MinPlus::GREATEST;
    laws(&MinPlus::non_negative(), &[], 1000, |random| {
        let small = i64::from(random.below(9));
        [small, greatest - small, greatest / 2 + small][random.below(3) as usize]
    });
    laws(&MaxPlus::non_positive(), &[], 1000, |random| {
        let small = i64::from(random.below(9));
        [-small, small - greatest][random.below(2) as usize]
    });
    let any = |random: &mut Random| match random.below(9) {
        0 => i64::MIN,
        1 => i64::MAX,
        _ => i64::from(random.below(20)) - 10,
    };
    laws(&MinPlus::any(), &[], 1000, any);
    laws(&MaxPlus::any(), &[], 1000, any);
    let vector = |random: &mut Random| {
        let length = random.below(4);
        if length == 3 {
            return Vector::infinity();
        }
        let element = |random: &mut Random| i64::from(random.below(5)) - 2;
        let elements: Vec<_> = (0..length).map(|_| element(random)).collect();
        Vector::new(&elements)
    };
    laws(&Lexicographic::non_negative(), &[], 1000, |random| {
        loop {
            let vector = vector(random);
            if !vector.is_negative() {
                return vector;
            }
        }
    });
    laws(&Lexicographic::any(), &[], 1000, |random| {
        match random.below(9) {
            0 => Vector::minus_infinity(),
            _ => vector(random),
        }
    });
    let pair = Pair(MinPlus::any(), Lexicographic::non_negative());
    laws(&pair, &[], 1000, |random| {
        (any(random), Vector::new(&[0, i64::from(random.below(3))]))
    });
}

#[test]
fn sums_beyond_the_range_are_not_wrong() {
    let (any, positive) = (MinPlus::any(), MinPlus::non_negative());
    let most = MinPlus::GREATEST;
    assert_eq!(positive.extend(&most, &1), Ok(most));
    assert_eq!(positive.extend(&(most - 1), &1), Ok(most));
    assert_eq!(
        positive.extend(&MinPlus::INFINITY, &5),
        Ok(MinPlus::INFINITY)
    );
    assert_eq!(positive.extend(&3, &-1), Err(StopReason::OutOfRange));
    assert_eq!(positive.star(&-1), Err(StopReason::OutOfRange));
    assert_eq!(any.extend(&most, &1), Err(StopReason::OutOfRange));
    assert_eq!(any.extend(&-most, &-1), Err(StopReason::OutOfRange));
    assert_eq!(any.extend(&most, &-1), Ok(most - 1));
    assert_eq!(any.extend(&i64::MIN, &i64::MAX), Ok(i64::MAX));
    assert_eq!(any.extend(&i64::MIN, &most), Ok(i64::MIN));
    assert_eq!(any.star(&-1), Ok(MinPlus::MINUS_INFINITY));
    let least = MaxPlus::any().extend(&-i64::MAX, &0);
    assert_eq!(least, Err(StopReason::OutOfRange));
    assert_eq!(MaxPlus::any().star(&1), Ok(MaxPlus::INFINITY));
    assert_eq!(
        MaxPlus::any().extend(&most, &1),
        Err(StopReason::OutOfRange)
    );
    assert_eq!((positive.rank(&3), any.rank(&3)), (Some(3), None));
    let vectors = Lexicographic::any();
    let sum = vectors.extend(&Vector::new(&[1, most]), &Vector::new(&[0, 1]));
    assert_eq!(sum, Err(StopReason::OutOfRange));
    let positive = Lexicographic::non_negative();
    let below = Vector::new(&[0, -1]);
    assert_eq!(positive.star(&below), Err(StopReason::OutOfRange));
    assert_eq!(vectors.star(&below), Ok(Vector::minus_infinity()));
    let above = Vector::new(&[1, -9]);
    assert_eq!(vectors.star(&above), Ok(vectors.one()));
    assert!(below < vectors.one() && vectors.one() < above && below < Vector::new(&[0, 0, -1]));
    // What is missing at the end is zero.
    assert_eq!(Vector::new(&[1, 0]), Vector::new(&[1]));
    assert!(Vector::new(&[1]) < Vector::new(&[1, 0, 1]));
    assert!(Vector::new(&[0, 9]) < Vector::new(&[1]) && Vector::new(&[9]) < Vector::infinity());
}

#[test]
fn bits_and_constants() {
    for domain in [GenKill::new(70), GenKill::backward(70)] {
        laws_with_calls(&domain, 70, 150, |random| {
            let bits: Vec<u32> = (0..4).map(|_| random.below(70)).collect();
            domain.of(bits[..2].iter().copied(), bits[2..].iter().copied())
        });
    }
    let domain = CopyConstants::new(3);
    laws_with_calls(&domain, 3, 300, |random| {
        let source = |random: &mut Random| match random.below(5) {
            0 => Source::Value(Known::Anything),
            1 | 2 => Source::Value(Known::Constant(i128::from(random.below(2)))),
            _ => Source::Variable(random.below(3)),
        };
        let assigns: Vec<_> = (0..random.below(3))
            .map(|variable| (variable, source(random)))
            .collect();
        domain.assign_all(&assigns)
    });
}

#[test]
fn relations() {
    for domain in [
        Relations::new(3),
        Relations::with_locals(2, 2),
        Relations::with_locals(3, 30),
    ] {
        let rounds = if domain.size() > 64 { 2 } else { 200 };
        laws(&domain, &[MergeId(0)], rounds, |random| {
            let size = domain.size();
            let pairs: Vec<_> = (0..=size)
                .map(|_| (random.below(size), random.below(size)))
                .collect();
            let matrix = domain.of(pairs.iter().copied());
            let expected: BTreeSet<_> = pairs.into_iter().collect();
            let found: Vec<_> = domain.pairs(&matrix).collect();
            assert!(found.iter().copied().eq(expected), "{found:?}");
            matrix
        });
    }
}

/// A random statement: some variables are assigned at once.
fn statement(random: &mut Random, domain: Affine, variables: u32) -> Vec<(u32, Option<Linear>)> {
    let mask = u64::MAX >> (64 - domain.width());
    let number = |random: &mut Random| match random.below(3) {
        0 => 1,
        1 => random.word() & mask,
        _ => u64::from(random.below(4)) & mask,
    };
    let mut assigns = Vec::new();
    for variable in 0..variables {
        if random.below(2) == 0 {
            continue;
        }
        let value = (random.below(4) > 0).then(|| Linear {
            constant: number(random),
            terms: (0..random.below(3))
                .map(|_| (random.below(variables), number(random)))
                .collect(),
        });
        assigns.push((variable, value));
    }
    assigns
}

#[test]
fn affine_laws() {
    for (width, variables, rounds) in [
        (1, 2, 100),
        (2, 2, 100),
        (3, 1, 100),
        (32, 2, 60),
        (64, 2, 60),
    ] {
        let domain = Affine::new(width, variables);
        laws_with_calls(&domain, variables, rounds, |random| {
            domain.assign(&statement(random, domain, variables))
        });
    }
}

/// All vectors of a module, by adding the generators until there are no new ones.
fn span(generators: &[Vec<u64>], width: u32, columns: usize) -> BTreeSet<Vec<u64>> {
    let mask = (1 << width) - 1;
    let mut all = BTreeSet::from([vec![0; columns]]);
    let mut work: Vec<Vec<u64>> = all.iter().cloned().collect();
    while let Some(vector) = work.pop() {
        for generator in generators {
            let sum = vector.iter().zip(generator).map(|(a, b)| (a + b) & mask);
            let sum: Vec<u64> = sum.collect();
            if all.insert(sum.clone()) {
                work.push(sum);
            }
        }
    }
    all
}

fn vectors(width: u32, columns: usize) -> Vec<Vec<u64>> {
    let all = 1u64 << (width * columns as u32);
    let entry = |i: u64, column: usize| i >> (width * column as u32) & ((1 << width) - 1);
    (0..all)
        .map(|i| (0..columns).map(|c| entry(i, c)).collect())
        .collect()
}

#[test]
fn modules_are_the_sets_of_their_vectors() {
    for seed in 0..3000 {
        let random = &mut Random::new(seed);
        let width = 1 + random.below(3);
        let columns = 1 + random.below(3) as usize;
        let generators: Vec<Vec<u64>> = (0..random.below(4))
            .map(|_| {
                (0..columns)
                    .map(|_| random.word() & ((1 << width) - 1))
                    .collect()
            })
            .collect();
        let mut module = Module::new(width, columns as u32);
        module.insert(&generators);
        let expected = span(&generators, width, columns);
        let all = vectors(width, columns);
        for vector in &all {
            assert_eq!(
                module.contains(vector),
                expected.contains(vector),
                "seed {seed}"
            );
        }
        // Other generators of the same module have the same matrix.
        let mut other = Module::new(width, columns as u32);
        let mut rest: Vec<_> = expected.iter().cloned().collect();
        rest.reverse();
        other.insert(&rest);
        assert_eq!(module, other, "seed {seed}");
        let zero = module.annihilator();
        for vector in &all {
            let product = |other: &Vec<u64>| {
                let sum: u64 = vector.iter().zip(other).map(|(a, b)| a * b).sum();
                sum & ((1 << width) - 1)
            };
            let orthogonal = expected.iter().all(|other| product(other) == 0);
            assert_eq!(zero.contains(vector), orthogonal, "seed {seed}");
        }
    }
}

/// A random program without procedures: its weight, and what it makes of a set of states.
fn program(
    random: &mut Random,
    domain: Affine,
    variables: u32,
    states: &BTreeSet<Vec<u64>>,
) -> (Module, BTreeSet<Vec<u64>>) {
    let mut weight = domain.one();
    let mut states = states.clone();
    for _ in 0..=random.below(3) {
        let (next, after) = match random.below(4) {
            0 | 1 => step(random, domain, variables, &states),
            2 => {
                let (a, first) = step(random, domain, variables, &states);
                let (b, second) = step(random, domain, variables, &states);
                let both = domain.combine(&a, &b).expect("a sum");
                (both, first.union(&second).cloned().collect())
            }
            _ => {
                let seed = random.word();
                let mut all = states.clone();
                loop {
                    let (body, after) = step(&mut Random::new(seed), domain, variables, &all);
                    let before = all.len();
                    all.extend(after);
                    if all.len() == before {
                        break (domain.star(&body).expect("a star"), all);
                    }
                }
            }
        };
        weight = domain.extend(&weight, &next).expect("a product");
        states = after;
    }
    (weight, states)
}

fn step(
    random: &mut Random,
    domain: Affine,
    variables: u32,
    states: &BTreeSet<Vec<u64>>,
) -> (Module, BTreeSet<Vec<u64>>) {
    let assigns = statement(random, domain, variables);
    let mask = u64::MAX >> (64 - domain.width());
    let mut after = BTreeSet::new();
    for state in states {
        let mut new = vec![state.clone()];
        for (variable, value) in &assigns {
            let values: Vec<u64> = match value {
                None => (0..=mask).collect(),
                Some(Linear { constant, terms }) => {
                    let terms = terms.iter().map(|(v, factor)| state[*v as usize] * factor);
                    vec![(terms.sum::<u64>() + constant) & mask]
                }
            };
            new = (new.iter())
                .flat_map(|state| {
                    values.iter().map(|value| {
                        let mut state = state.clone();
                        state[*variable as usize] = *value;
                        state
                    })
                })
                .collect();
        }
        after.extend(new);
    }
    (domain.assign(&assigns), after)
}

/// The relations are exactly those that hold in all states that are reached.
#[test]
fn affine_relations_are_exact() {
    for seed in 0..3000 {
        let random = &mut Random::new(seed);
        let (width, variables) = [(1, 1), (1, 3), (2, 2), (3, 2), (4, 1)][random.below(5) as usize];
        let domain = Affine::new(width, variables);
        let size = variables as usize;
        let known: Vec<(u32, u64)> = (0..variables)
            .filter(|_| random.below(2) == 0)
            .map(|variable| (variable, 1))
            .collect();
        let all = vectors(width, size).into_iter();
        let matches =
            |state: &Vec<u64>| known.iter().all(|(v, value)| state[*v as usize] == *value);
        let start: BTreeSet<_> = all.filter(matches).collect();
        let (weight, reached) = program(random, domain, variables, &start);
        let after = domain.apply(&weight, &domain.states(&known));
        let mut found = Module::new(width, variables + 1);
        found.insert(domain.relations(&after).into_iter().map(|relation| {
            let mut row = vec![0; size + 1];
            row[size] = relation.constant;
            for (variable, factor) in relation.terms {
                row[variable as usize] = factor;
            }
            row
        }));
        for equation in vectors(width, size + 1) {
            let value = |state: &Vec<u64>| {
                let terms = equation.iter().zip(state).map(|(a, b)| a * b);
                (terms.sum::<u64>() + equation[size]) & ((1 << width) - 1)
            };
            let holds = reached.iter().all(|state| value(state) == 0);
            assert_eq!(
                found.contains(&equation),
                holds,
                "seed {seed}: {equation:?}"
            );
        }
    }
}
