//! Programs with threads as formulas, against the explicit engine, which is compared with all interleavings elsewhere.
//!
//! `SEED=n` reruns one program; `PROGRAMS=n` sets how many.

use droste_base::{Limits, Verdict};
use droste_check::{Contexts, Engine, Fault, Options, Property, check_concurrent};
use droste_lang::lower::lower;
use droste_lang::program::Program;
use droste_testkit::generate::{Convention, concurrent};
use droste_testkit::random::seeds;
use droste_testkit::source::parse;

/// Whether the property is violated; `None` if the engine does not take the program, or gives up.
fn ask(engine: Engine, program: &Program, property: &Property, most: usize) -> Option<bool> {
    let options = Options {
        engine,
        limits: Limits {
            contexts: Some(300_000),
            ..Limits::default()
        },
        ..Options::default()
    };
    match check_concurrent(program, property, Contexts::Switches(most), &options, None) {
        Err(Fault::Refused(_)) => None,
        Err(fault) => panic!("{engine:?}: {fault}"),
        Ok(report) => match report.verdict {
            Verdict::Holds(_) => Some(false),
            Verdict::Violated(_) => Some(true),
            Verdict::Unknown(_) => None,
        },
    }
}

fn sweep(first: u64, programs: u64) {
    let count = std::env::var("PROGRAMS").ok().and_then(|v| v.parse().ok());
    let mut tally = [[0; 2]; 4];
    for seed in seeds(first, count.unwrap_or(programs)) {
        let (convention, text) = concurrent(seed);
        if convention == Convention::Dynamic {
            continue;
        }
        let ast = parse(&text);
        let Some(program) = lower(&ast).0.filter(Program::is_concurrent) else {
            continue;
        };
        let mut questions = vec![Property::Default];
        let labels = program.nodes.iter().flat_map(|node| &node.labels);
        questions.extend(
            labels
                .map(|label| Property::Reach(vec![label.to_string()]))
                .take(3),
        );
        for property in questions {
            for (most, tally) in tally.iter_mut().enumerate() {
                let Some(found) = ask(Engine::Calculus, &program, &property, most) else {
                    continue;
                };
                let Some(expected) = ask(Engine::Explicit, &program, &property, most) else {
                    continue;
                };
                assert_eq!(
                    found, expected,
                    "SEED={seed} {property} with {most} switches\n{text}"
                );
                tally[usize::from(found)] += 1;
            }
        }
    }
    println!("holds and violated, with 0, 1, 2, 3 switches: {tally:?}");
}

#[test]
fn formulas_for_threads_agree_with_the_explicit_engine() {
    sweep(0, 60);
}

#[test]
#[ignore = "sweep; run in release"]
fn formulas_for_many_threads_agree_with_the_explicit_engine() {
    sweep(1000, 1000);
}
