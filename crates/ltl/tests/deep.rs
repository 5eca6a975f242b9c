//! Deep and large formulas: translated, or given up for a reason, but never a stack overflow or a hang.

use std::time::{Duration, Instant};

use droste_base::{Limits, StopReason};
use droste_ltl::{
    Atoms, Formulas, Lasso, Options, Tgba, Untranslatable, accepts, holds, parse_text, translate,
};

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
    Limits {
        timeout: Some(Duration::from_secs(seconds)),
        ..Limits::default()
    }
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

#[test]
fn deep_formulas_end_for_a_reason() {
    let n = 100_000;
    let many = |i: usize| format!("p{}", i % 7);
    let nested = |op: &str| {
        let left: Vec<String> = (0..n).map(|i| format!("({} {op} ", many(i))).collect();
        format!("{}q{}", left.concat(), ")".repeat(n))
    };
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
            | Err(Untranslatable::TooManyMarks | Untranslatable::Stopped(StopReason::Time(_))) => {}
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
