//! Programs with threads as formulas, against the explicit engine, which is compared with all interleavings elsewhere.
//!
//! `SEED=n` reruns one program; `PROGRAMS=n` sets how many.

use droste_base::{Limits, Verdict};
use droste_check::{Contexts, Engine, Fault, Options, Property, check_concurrent};
use droste_lang::lower::lower;
use droste_lang::program::{Node, Op, Program};
use droste_testkit::generate::concurrent;
use droste_testkit::random::seeds;
use droste_testkit::source::parse;

/// Whether the property is violated; `None` if the engine does not take the program, or gives up.
fn ask(engine: Engine, program: &Program, property: &Property, bound: Contexts) -> Option<bool> {
    let options = Options {
        engine,
        limits: Limits {
            contexts: Some(300_000),
            ..Limits::default()
        },
        ..Options::default()
    };
    match check_concurrent(program, property, bound, &options, None) {
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
    let bounds = [
        Contexts::Switches(0),
        Contexts::Switches(1),
        Contexts::Switches(2),
        Contexts::Switches(3),
        Contexts::Rounds(1),
        Contexts::Rounds(2),
    ];
    // Programs that start threads apart.
    let mut tally = [[[0; 2]; 2]; 6];
    for seed in seeds(first, count.unwrap_or(programs)) {
        let (_, text) = concurrent(seed);
        let ast = parse(&text);
        let Some(program) = lower(&ast).0.filter(Program::is_concurrent) else {
            continue;
        };
        let is_start = |node: &Node| matches!(node.op, Op::StartThread { .. });
        let starts = program.nodes.iter().any(is_start);
        let mut questions = vec![Property::Default];
        let labels = program.nodes.iter().flat_map(|node| &node.labels);
        questions.extend(
            labels
                .map(|label| Property::Reach(vec![label.to_string()]))
                .take(3),
        );
        for property in questions {
            for (&bound, tally) in bounds.iter().zip(&mut tally) {
                let Some(expected) = ask(Engine::Explicit, &program, &property, bound) else {
                    continue;
                };
                let Some(found) = ask(Engine::Calculus, &program, &property, bound) else {
                    continue;
                };
                assert_eq!(
                    found, expected,
                    "SEED={seed} {property} with {bound:?}\n{text}"
                );
                tally[usize::from(starts)][usize::from(found)] += 1;
            }
        }
    }
    println!("all threads known, or some started, holds and violated:");
    for (bound, tally) in bounds.iter().zip(&tally) {
        println!("  {bound:?}: {tally:?}");
    }
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
