//! Random theories against a naive evaluator.
//!
//! The generator makes trees of its own, which are printed as text for the crate under test and evaluated here, over
//! explicit sets of tuples, by the paper's `Evaluate(R, Eq)` taken literally: nested fixpoints start again in every outer
//! round, and nothing is shared or stopped early. Types do not fill their codes, ranges do not begin at 0, `mu` and `nu`
//! are nested and mixed, bodies are sometimes not monotone. Lexer, parser, typing, ordering and evaluation of
//! the crate are all on the other side of the comparison.
//!
//! `SEED=n` reruns one; `THEORIES=n` says how many.

mod maker;
mod naive;
mod printer;
mod world;

use droste_base::Limits;
use droste_calculus::{
    Action, ChosenOrder, Outcome, PreferredOrder, Solver, Unanswered, load_text, report,
};
use droste_testkit::random::{Random, seeds};
use num_bigint::BigUint;

use maker::Maker;
use naive::{Env, Failed, Naive};
use printer::Printer;
use world::World;

/// What was compared.
#[derive(Default, Debug)]
struct Tally {
    answers: u32,
    counts: u32,
    oscillations: u32,
    skipped: u32,
    witnesses: u32,
    steps: u32,
    /// How often there were two orders to choose from, and one was forced.
    forced: u32,
    /// How often variables were reordered.
    reorderings: u64,
}

fn compare(seed: u64, tally: &mut Tally) {
    let mut random = Random::new(seed);
    let mut maker = Maker {
        random: &mut random,
        world: World {
            types: Vec::new(),
            preds: Vec::new(),
            queries: Vec::new(),
        },
        usable: Vec::new(),
        depth: 0,
    };
    maker.types();
    maker.preds();
    let world = maker.world;
    let text = Printer {
        world: &world,
        random: &mut random,
    }
    .theory();
    // Answers do not depend on the order, nor on whether it changes on the way.
    for (order, eager) in [
        (PreferredOrder::Declared, false),
        (PreferredOrder::Clustered, false),
        (PreferredOrder::Declared, true),
    ] {
        compare_in(order, eager, seed, &world, &text, tally);
    }
}

fn compare_in(
    order: PreferredOrder,
    eager: bool,
    seed: u64,
    world: &World,
    text: &str,
    tally: &mut Tally,
) {
    let theory = load_text("random.mu", text);
    assert!(
        !theory.has_errors(),
        "SEED={seed}\n{text}\n{}",
        theory.messages(false, false)
    );
    let actions = theory.actions().to_vec();
    let mut solver = Solver::with_order(theory, &Limits::default(), None, order);
    if eager {
        solver.reorder_eagerly();
    }
    tally.forced += u32::from(solver.order() == ChosenOrder::Asked);
    let mut queries = world.queries.iter();
    let mut naive = Naive {
        world,
        fuel: 3_000_000,
    };
    for action in &actions {
        let expected: Result<BigUint, Failed> = match action {
            Action::Query(_) => {
                let query = queries.next().expect("as many queries as were printed");
                naive
                    .query(query)
                    .map(|value| BigUint::from(u32::from(value)))
            }
            Action::Count(def, _) => {
                let env: Env = vec![None; world.preds.len()];
                // Predicates have the numbers of their names.
                let name = &solver.theory().definitions()[def.0 as usize].name;
                let pred = name[1..].parse().expect("p0, p1, ...");
                let table = naive.value(pred, &env);
                table.map(|t| BigUint::from(t.iter().filter(|&&m| m).count()))
            }
            _ => {
                solver.perform(action).expect("nothing to evaluate");
                continue;
            }
        };
        let outcome = solver.perform(action);
        tally.reorderings += solver.statistics().reorderings;
        match (expected, outcome) {
            (Err(Failed::Fuel), _) => {
                tally.skipped += 1;
                return;
            }
            (Err(Failed::Oscillates), _) => tally.oscillations += 1,
            (Ok(expected), Ok(Outcome::Answer(value))) => {
                let value = BigUint::from(u32::from(value));
                assert_eq!(value, expected, "SEED={seed}\n{text}\n{action:?}");
                tally.answers += 1;
            }
            (Ok(expected), Ok(Outcome::Count(count, _))) => {
                assert_eq!(count, expected, "SEED={seed}\n{text}\n{action:?}");
                tally.counts += 1;
            }
            (Ok(expected), Err(Unanswered::Oscillates { .. })) => {
                panic!("SEED={seed}: oscillates, but it is {expected}\n{text}\n{action:?}")
            }
            (Ok(_), other) => panic!("SEED={seed}: {other:?}\n{text}"),
        }
        // Whatever the answer, it can be explained, and explaining changes nothing.
        if let Action::Query(question) = action
            && let Ok(value) = solver.decide(question)
        {
            let why = Action::Witness(value, question.clone());
            let outcome = solver.perform(&why).expect("it has a value");
            let Outcome::Witness(witness) = &outcome else {
                panic!("SEED={seed}\n{text}");
            };
            for path in &witness.paths {
                assert!(
                    naive.follows(&solver, path).unwrap_or(true),
                    "SEED={seed}: {path:?}\n{text}\n{action:?}"
                );
                tally.steps += path.len() as u32;
            }
            assert!(!report::text(&solver, &why, &outcome).is_empty());
            let again = solver.decide(question);
            assert_eq!(again, Ok(value), "SEED={seed}\n{text}");
            tally.witnesses += 1;
        }
    }
}

fn sweep(first: u64, count: u64) {
    let count = std::env::var("THEORIES")
        .ok()
        .and_then(|n| n.parse().ok())
        .unwrap_or(count);
    let mut tally = Tally::default();
    for seed in seeds(first, count) {
        compare(seed, &mut tally);
    }
    eprintln!("{tally:?}");
    if count >= 100 && std::env::var("SEED").is_err() {
        assert!(
            tally.answers as u64 > count && tally.counts as u64 > count,
            "{tally:?}"
        );
        assert!(tally.reorderings > count, "{tally:?}");
        assert!((tally.skipped as u64) < count / 4, "{tally:?}");
    }
}

#[test]
fn random_theories_agree_with_the_naive_evaluator() {
    sweep(1, 3000);
}

#[test]
#[ignore = "sweep; run in release"]
fn many_random_theories_agree_with_the_naive_evaluator() {
    sweep(1_000_000, 60_000);
}
