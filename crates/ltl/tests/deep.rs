//! Deep and large formulas: translated, or given up for a reason, but never a stack overflow or a hang.

use std::time::{Duration, Instant};

use droste_base::{Limits, StopReason};
use droste_ltl::{
    Atoms, Formulas, Lasso, Options, Tgba, Untranslatable, accepts, holds, parse_text, translate,
};
use droste_testkit::random::Random;

fn automaton(text: &str, limits: &Limits) -> Result<Tgba, Untranslatable> {
    let (mut formulas, mut atoms) = (Formulas::new(), Atoms::new());
    let formula = parse_text(text, &mut formulas, &mut atoms).expect("a formula");
    translate(
        &mut formulas,
        formula,
        atoms.len(),
        &Options::default(),
        limits,
    )
}

fn seconds(seconds: u64) -> Limits {
    Limits::within(Duration::from_secs(seconds))
}

#[test]
fn long_chains_become_automata() {
    let n = 20_000;
    let chain = automaton(&format!("{}p", "X ".repeat(n)), &Limits::default()).expect("a chain");
    assert!(chain.state_count() > n);
    let lasso = Lasso {
        prefix: n + 1,
        period: 1,
    };
    assert!(accepts(&chain, lasso, |_, i| i == n));
    assert!(!accepts(&chain, lasso, |_, i| i != n));
}

/// An automaton against the formula's meaning on random words, over as many atoms as there are.
fn means_what_it_says(text: &str, words: usize) -> Tgba {
    let (mut formulas, mut atoms) = (Formulas::new(), Atoms::new());
    let formula = parse_text(text, &mut formulas, &mut atoms).expect("a formula");
    let options = Options::default();
    let limits = seconds(60);
    let automaton = translate(&mut formulas, formula, atoms.len(), &options, &limits)
        .unwrap_or_else(|reason| panic!("{reason}: {text:.60}"));
    let mut random = Random::new(text.len() as u64);
    for _ in 0..words {
        let lasso = Lasso {
            prefix: random.below(2 * atoms.len() + 2),
            period: random.between(1, 2 * atoms.len() + 2),
        };
        // Atoms that hold often, and atoms that hold rarely.
        let count = lasso.prefix + lasso.period;
        let often = [1, 2, 5, atoms.len() + 1][random.below(4)];
        let usually = random.below(2) == 0;
        let letters: Vec<bool> = (0..count * atoms.len())
            .map(|_| (random.below(often + 1) == 0) != usually)
            .collect();
        let value = |atom: droste_ltl::AtomId, i: usize| letters[atom.0 as usize * count + i];
        assert_eq!(
            accepts(&automaton, lasso, value),
            holds(&formulas, formula, lasso, value),
            "{text} on {lasso:?}, {letters:?}"
        );
    }
    automaton
}

fn joined(count: usize, part: &str, join: &str) -> String {
    let parts: Vec<String> = (0..count)
        .map(|i| part.replace('#', &i.to_string()))
        .collect();
    parts.join(join)
}

/// `v0 U (v1 U (v2 U ...))`, over `atoms` atoms in turn.
fn nested(op: &str, count: usize, atoms: usize) -> String {
    let left: Vec<String> = (0..count)
        .map(|i| format!("(v{} {op} ", i % atoms))
        .collect();
    format!("{}q{}", left.concat(), ")".repeat(count))
}

#[test]
fn wide_formulas_have_small_automata() {
    for (text, most) in [
        // One of many: as many states, and one to choose in.
        (joined(20, "G !v#", " | "), 21),
        (format!("!({})", joined(20, "F v#", " & ")), 21),
        (format!("!({})", joined(31, "G F v#", " & ")), 32),
        (joined(40, "F G v#", " | "), 41),
        // One eventuality at a time.
        (joined(20, "G F v#", " & "), 20),
        (joined(100, "G F v#", " & "), 100),
        (format!("!(({}) -> G F q)", joined(12, "G F v#", " & ")), 30),
        (nested("U", 30, 30), 31),
        (nested("W", 30, 30), 31),
        (nested("R", 30, 30), 31),
        (nested("M", 30, 30), 31),
        (format!("!{}", nested("U", 30, 30)), 31),
        (nested("U", 100, 2), 101),
        (nested("R", 100, 3), 101),
        (nested("W", 100, 7), 101),
        (nested("M", 100, 7), 101),
    ] {
        let automaton = means_what_it_says(&text, 200);
        let states = automaton.state_count();
        assert!(states <= most, "{text:.60}: {states} states");
    }
    // These are large, but not hopeless.
    for text in [
        joined(8, "F v#", " & "),
        joined(4, "G (p# -> F q#)", " & "),
        format!("G F (a & X ({}))", joined(6, "F v#", " & ")),
    ] {
        means_what_it_says(&text, 100);
    }
}

#[test]
fn large_automata_are_given_up_at_once_if_there_is_another_way() {
    let (mut formulas, mut atoms) = (Formulas::new(), Atoms::new());
    let text = joined(20, "F v#", " & ");
    let formula = parse_text(&text, &mut formulas, &mut atoms).expect("a formula");
    let options = Options {
        most_edges: Some(100_000),
        ..Options::default()
    };
    let result = translate(&mut formulas, formula, atoms.len(), &options, &seconds(60));
    assert_eq!(result.err(), Some(Untranslatable::TooLarge));
}

#[test]
fn deep_formulas_end_for_a_reason() {
    let n = 100_000;
    let nested = |op: &str| nested(op, n, 7);
    for text in [
        format!("{}p", "X ".repeat(n)),
        format!("{}p", "F G ".repeat(n)),
        format!("{}p{}", "!(q & ".repeat(n), ")".repeat(n)),
        nested("U"),
        nested("W"),
        nested("R"),
        nested("->"),
        nested("<->"),
        format!("{}p{}", "F (q & X ".repeat(n), ")".repeat(n)),
    ] {
        let began = Instant::now();
        match automaton(&text, &seconds(2)) {
            Ok(_)
            | Err(Untranslatable::TooManyMarks(_) | Untranslatable::Stopped(StopReason::Time(_))) =>
                {}
            Err(other) => panic!("{other}"),
        }
        let took = began.elapsed();
        assert!(
            took < Duration::from_secs(100),
            "{} took {took:?}",
            &text[..30]
        );
    }
}

#[test]
fn explosions_stop_at_the_limit() {
    for (part, join) in [
        ("F (p# & X q#)", " & "),
        ("G F p#", " & "),
        ("F G p#", " | "),
    ] {
        let list: Vec<String> = (0..100)
            .map(|i| part.replace('#', &i.to_string()))
            .collect();
        let began = Instant::now();
        let result = automaton(&list.join(join), &seconds(1));
        assert!(
            !matches!(result, Err(Untranslatable::Stopped(ref r)) if !matches!(r, StopReason::Time(_))),
        );
        assert!(began.elapsed() < Duration::from_secs(60));
    }
}

#[test]
fn long_words_are_evaluated() {
    let (mut formulas, mut atoms) = (Formulas::new(), Atoms::new());
    let text = "G (p -> F q) & (p U (q R (p W (q M (p | X q))))) & !G F (p & X p)";
    let formula = parse_text(text, &mut formulas, &mut atoms).expect("a formula");
    let lasso = Lasso {
        prefix: 400_000,
        period: 600_000,
    };
    let began = Instant::now();
    holds(&formulas, formula, lasso, |atom, i| {
        (i + atom.0 as usize).is_multiple_of(3)
    });
    assert!(began.elapsed() < Duration::from_secs(20));
}
