//! Random formulas on random words: automata against the meaning of formulas.
//!
//! `SEED=n` reruns one.

mod common;

use common::Word;
use droste_base::Limits;
use droste_ltl::{
    Atoms, Construction, Formulas, Options, accepts, holds, parse_text, print, simplify, translate,
};
use droste_testkit::random::{Random, seeds};

fn atoms() -> Atoms {
    let (mut formulas, mut atoms) = (Formulas::new(), Atoms::new());
    parse_text("a & b & c & d", &mut formulas, &mut atoms).unwrap();
    atoms
}

/// A random formula and its negation, with their automata, on `words` words.
fn check(seed: u64, words: usize, largest: usize) {
    let mut random = Random::new(seed);
    let mut formulas = Formulas::new();
    let atoms = atoms();
    let size = random.below(largest + 1);
    let count = random.between(1, 4);
    let formula = common::formula(&mut random, &mut formulas, size, count);
    let negation = formulas.not(formula);
    let text = print(&formulas, &atoms, formula);
    let limits = Limits::default();
    for options in [
        Options::default(),
        Options {
            simplify: false,
            reduce: false,
            ..Options::default()
        },
        Options {
            construction: Construction::Terms,
            ..Options::default()
        },
        Options {
            simplify: false,
            reduce: false,
            construction: Construction::Terms,
            ..Options::default()
        },
        Options {
            construction: Construction::Levels,
            ..Options::default()
        },
        Options {
            simplify: false,
            reduce: false,
            construction: Construction::Levels,
            ..Options::default()
        },
    ] {
        let mut make =
            |f| translate(&mut formulas, f, atoms.len(), &options, &limits).expect("no limits");
        let (positive, negative) = (make(formula), make(negation));
        let mut words_of = random.clone();
        for _ in 0..words {
            let word = Word::random(&mut words_of);
            let expected = holds(&formulas, formula, word.lasso, |a, i| word.holds(a, i));
            let yes = accepts(&positive, word.lasso, |a, i| word.holds(a, i));
            let no = accepts(&negative, word.lasso, |a, i| word.holds(a, i));
            assert_eq!(
                expected, yes,
                "SEED={seed}: {text} on {word:?}, {options:?}: {positive:#?}"
            );
            assert_eq!(
                expected, !no,
                "SEED={seed}: !({text}) on {word:?}, {options:?}: {negative:#?}"
            );
        }
    }
}

#[test]
fn automata_accept_what_formulas_mean() {
    for seed in seeds(0, 1500) {
        check(seed, 10, 10);
    }
}

#[test]
#[ignore = "sweep; run in release"]
fn automata_accept_what_formulas_mean_sweep() {
    for seed in seeds(1_000_000, 6000) {
        check(seed, 20, 14);
    }
}

#[test]
fn what_is_printed_is_parsed() {
    for seed in seeds(0, 5000) {
        let mut random = Random::new(seed);
        let mut formulas = Formulas::new();
        let mut atoms = atoms();
        let size = random.below(30);
        let formula = common::formula(&mut random, &mut formulas, size, 4);
        let text = print(&formulas, &atoms, formula);
        let again = parse_text(&text, &mut formulas, &mut atoms);
        assert_eq!(again, Ok(formula), "SEED={seed}: {text}");
    }
}

/// Simplification on random words; formulas are small, so that every rule gets its chance.
fn simplified(seed: u64, words: usize) {
    let mut random = Random::new(seed);
    let mut formulas = Formulas::new();
    let atoms = atoms();
    let size = random.below(9);
    let count = random.between(1, 3);
    let formula = common::formula(&mut random, &mut formulas, size, count);
    let simple = simplify(&mut formulas, formula);
    let text = print(&formulas, &atoms, formula);
    let simple_text = print(&formulas, &atoms, simple);
    for _ in 0..words {
        let word = Word::random(&mut random);
        let [before, after] =
            [formula, simple].map(|f| holds(&formulas, f, word.lasso, |a, i| word.holds(a, i)));
        assert_eq!(
            before, after,
            "SEED={seed}: {text} became {simple_text}, on {word:?}"
        );
    }
}

#[test]
fn simplified_formulas_mean_the_same() {
    for seed in seeds(0, 30_000) {
        simplified(seed, 10);
    }
}

#[test]
#[ignore = "sweep; run in release"]
fn simplified_formulas_mean_the_same_sweep() {
    for seed in seeds(1_000_000, 300_000) {
        simplified(seed, 20);
    }
}
