//! Cleaning changes no answer: random programs before and after, and after with the values of
//! variables that are not live replaced by all others at every step.
//!
//! `SEED=17 cargo test -p droste-passes --test random` runs one program alone.

mod support;

use std::collections::BTreeSet;

use droste_passes::{Config, Query, clean};
use droste_program::{Expr, NodeId, Program, Proposition, VarRef};
use droste_testkit::generate::lowered;
use droste_testkit::random::Random;
use support::interpret::{Seen, explore};

/// Checks one program; `false` if it is too large to say.
fn check(seed: u64) -> bool {
    let mut random = Random::new(seed);
    let program = lowered::program(&mut random);
    let target = NodeId(random.below(program.nodes.len()) as u32);
    let proposition = lowered::proposition(&mut random, &program);
    let propositions = [&proposition];
    let Some(before) = explore(&program, target, &propositions, None, 2_000) else {
        return false;
    };
    let config = if random.percent(70) {
        Config::default()
    } else {
        Config {
            unreachable: random.percent(50),
            constants: random.percent(50),
            dead: random.percent(50),
            slice: random.percent(50),
            ..Config::none()
        }
    };
    for case in 0..6 {
        // Four kinds of questions about a target, and two about runs that get stuck.
        let stops = case >= 4;
        let (violations, every_position) = (case / 2 == 1, case % 2 == 1 && !stops);
        let targets = if case == 5 { &[][..] } else { &[target] };
        let query = Query {
            targets,
            violations,
            stops,
            propositions: if every_position { &propositions } else { &[] },
            every_position,
        };
        let cleaned = clean(&program, &query, &config);
        check_shape(&program, &cleaned.program);
        for live in [None, Some(&cleaned.live)] {
            let cleaned = &cleaned.program;
            let Some(after) = explore(cleaned, target, query.propositions, live, 8_000) else {
                continue;
            };
            let case = format!(
                "SEED={seed} {query:?} {config:?} scrambled: {}",
                live.is_some()
            );
            compare(&before, &after, &query, &case);
        }
    }
    true
}

fn compare(before: &Seen, after: &Seen, query: &Query, case: &str) {
    if query.stops {
        let asked = |stuck: &BTreeSet<NodeId>| match query.targets {
            [] => stuck.clone(),
            targets => targets
                .iter()
                .copied()
                .filter(|t| stuck.contains(t))
                .collect(),
        };
        assert_eq!(asked(&before.stuck), asked(&after.stuck), "stuck: {case}");
        return;
    }
    let target = query.targets[0];
    assert_eq!(
        before.reached.contains(&target),
        after.reached.contains(&target),
        "target reached: {case}"
    );
    assert_eq!(before.repeats, after.repeats, "target repeated: {case}");
    assert!(after.reached.is_subset(&before.reached), "new run: {case}");
    assert!(
        after.violations.is_subset(&before.violations),
        "new violation: {case}"
    );
    if query.violations || query.every_position {
        assert_eq!(before.violations, after.violations, "violations: {case}");
    }
    if query.every_position {
        assert_eq!(before.reached, after.reached, "reached: {case}");
        assert_eq!(before.observed, after.observed, "observed: {case}");
    }
}

/// Ids, types and labels stay.
fn check_shape(before: &Program, after: &Program) {
    assert_eq!(before.globals, after.globals);
    assert_eq!(before.procedures, after.procedures);
    assert_eq!(before.nodes.len(), after.nodes.len());
    for (old, new) in before.nodes.iter().zip(&after.nodes) {
        assert_eq!(
            (old.procedure, &old.labels, old.span),
            (new.procedure, &new.labels, new.span)
        );
    }
}

fn sweep(seeds: std::ops::Range<u64>) {
    if let Ok(seed) = std::env::var("SEED") {
        check(seed.parse().expect("a number"));
        return;
    }
    let count = seeds.end - seeds.start;
    let checked = seeds.filter(|&seed| check(seed)).count() as u64;
    println!("{checked} of {count} programs were small enough");
    assert!(checked * 2 > count, "{checked} of {count} programs checked");
}

/// One condition and all valuations, which are observed: wherever it came out true or false it
/// still does, and what failed still fails.
#[test]
fn folding_keeps_every_outcome() {
    for seed in 0..10_000 {
        let mut random = Random::new(seed);
        let program = lowered::decision(&mut random);
        let values: Vec<Proposition> = (0..program.globals.len() as u32)
            .map(|i| Proposition {
                by_procedure: vec![Expr::var(VarRef::Global(i))],
                terminated: Expr::constant(0),
            })
            .collect();
        let values: Vec<&Proposition> = values.iter().collect();
        let query = Query {
            propositions: &values,
            every_position: true,
            ..Query::default()
        };
        let cleaned = clean(&program, &query, &Config::default());
        let see = |program| explore(program, NodeId(2), &values, None, 10_000).expect("small");
        assert_eq!(see(&program), see(&cleaned.program), "SEED={seed}");
    }
}

#[test]
fn cleaning_changes_no_answer() {
    sweep(0..3_000);
}

#[test]
#[ignore = "sweep; run in release"]
fn cleaning_changes_no_answer_of_many_programs() {
    sweep(3_000..18_000);
}
