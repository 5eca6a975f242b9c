//! Programs with threads: explicit and symbolic engine against all interleavings.
//!
//! For every label and for the default property of random programs, the fewest switches (up to 4) and rounds (up to 3)
//! with which they are violated are compared with what the oracle finds one configuration at a time. Every
//! violation is made concrete and replayed on the way. Where the oracle's stacks were too small, only what it has
//! reached counts. `SEED=n` reruns one program.

use droste_base::{Limits, Verdict};
use droste_check::{Contexts, Engine, Fault, Levels, Options, Property, check_concurrent};
use droste_lang::ast::Ast;
use droste_lang::concurrent::unbounded_start;
use droste_lang::lower::lower;
use droste_lang::printer;
use droste_lang::program::{NodeId, Program};
use droste_testkit::generate::concurrent;
use droste_testkit::oracle::interleave::{self, Bounds, Interleavings, interleave};
use droste_testkit::random::seeds;
use droste_testkit::shrink::shrink;
use droste_testkit::source::parse;

const SWITCHES: usize = 4;
const ROUNDS: usize = 3;

#[derive(Default)]
struct Tally {
    programs: usize,
    complete: usize,
    questions: usize,
    violated: usize,
}

fn bounds(levels: interleave::Levels) -> Bounds {
    Bounds {
        levels,
        most: match levels {
            interleave::Levels::Switches => SWITCHES,
            interleave::Levels::Rounds => ROUNDS,
        },
        stack: 3,
        threads: 5,
        configurations: 60_000,
    }
}

fn options(engine: Engine) -> Options<'static> {
    Options {
        engine,
        limits: Limits {
            contexts: Some(1_000_000),
            ..Limits::default()
        },
        ..Options::default()
    }
}

/// What the engine says: the fewest switches or rounds, if any.
fn engine(
    engine: Engine,
    program: &Program,
    property: &Property,
    contexts: Contexts,
) -> Result<Option<usize>, String> {
    match check_concurrent(program, property, contexts, &options(engine), None) {
        Err(Fault::Wrong(reason)) => Err(format!("wrong: {reason}")),
        Err(Fault::Refused(reason)) => Err(format!("refused: {reason}")),
        Ok(report) => match report.verdict {
            Verdict::Holds(_) => Ok(None),
            Verdict::Violated(execution) => {
                let level = report.level;
                let count = match report.levels {
                    Levels::Switches => execution.switches(program),
                    Levels::Rounds => execution.rounds(program),
                };
                if Some(count) == level {
                    Ok(level)
                } else {
                    Err(format!("{count} switches or rounds shown, {level:?} found"))
                }
            }
            Verdict::Unknown(reason) => Err(format!("unknown: {reason}")),
        },
    }
}

/// Every question: its property and the nodes that violate it, `None` for violations.
fn questions(program: &Program) -> Vec<(Property, Vec<NodeId>, bool)> {
    let mut all = vec![(Property::Default, Vec::new(), true)];
    for (i, node) in program.nodes.iter().enumerate() {
        for label in &node.labels {
            let procedure = &program.procedure(node.procedure).name;
            let _ = procedure;
            all.push((
                Property::Reach(vec![label.to_string()]),
                vec![NodeId(i as u32)],
                false,
            ));
        }
    }
    // A label of several procedures is one question.
    let mut merged: Vec<(Property, Vec<NodeId>, bool)> = Vec::new();
    for (property, nodes, default) in all {
        let same = merged
            .iter_mut()
            .find(|(other, ..)| other.to_string() == property.to_string());
        match same {
            Some((_, known, _)) => known.extend(nodes),
            None => merged.push((property, nodes, default)),
        }
    }
    merged
}

fn expected(found: &Interleavings, nodes: &[NodeId], default: bool) -> Option<usize> {
    let reached = nodes
        .iter()
        .filter_map(|node| found.reached.get(node))
        .min();
    match (reached, found.failed.filter(|_| default)) {
        (Some(&a), Some(b)) => Some(a.min(b)),
        (Some(&a), None) => Some(a),
        (None, b) => b,
    }
}

/// Compares everything; the first difference.
fn differs(ast: &Ast, tally: &mut Tally) -> Option<String> {
    let (program, _) = lower(ast);
    let program = program?;
    if !program.is_concurrent() {
        return None;
    }
    tally.programs += 1;
    let mut kinds = vec![interleave::Levels::Switches];
    if unbounded_start(&program).is_none() {
        kinds.push(interleave::Levels::Rounds);
    }
    for levels in kinds {
        let Ok(found) = interleave(&program, bounds(levels)) else {
            continue;
        };
        tally.complete += usize::from(found.complete);
        for (property, nodes, default) in questions(&program) {
            tally.questions += 1;
            let expected = expected(&found, &nodes, default);
            let contexts = match levels {
                interleave::Levels::Switches => Contexts::Switches,
                interleave::Levels::Rounds => Contexts::Rounds,
            };
            let most = bounds(levels).most;
            let actual = match engine(Engine::Explicit, &program, &property, contexts(most)) {
                Ok(actual) => actual,
                Err(reason) => return Some(format!("{property}: {reason}")),
            };
            let symbolic = engine(Engine::Bdd, &program, &property, contexts(most));
            if symbolic != Ok(actual) {
                return Some(format!(
                    "{property}, {levels:?}: explicit found {actual:?}, bdd {symbolic:?}"
                ));
            }
            tally.violated += usize::from(actual.is_some());
            let agrees = match (expected, actual) {
                (Some(expected), Some(actual)) if !found.complete => actual <= expected,
                (None, _) if !found.complete => true,
                (expected, actual) => expected == actual,
            };
            if !agrees {
                return Some(format!(
                    "{property}, {levels:?}: expected {expected:?}, found {actual:?}"
                ));
            }
            // One less is not enough.
            if let Some(level) = actual
                && level > usize::from(levels == interleave::Levels::Rounds)
                && engine(Engine::Explicit, &program, &property, contexts(level - 1)) != Ok(None)
            {
                return Some(format!(
                    "{property}, {levels:?}: fewer than {level} would do"
                ));
            }
        }
    }
    None
}

fn compare(seeds: &[u64]) {
    let mut tally = Tally::default();
    for &seed in seeds {
        let (_, text) = concurrent(seed);
        let ast = parse(&text);
        if let Some(reason) = differs(&ast, &mut tally) {
            let small = shrink(&ast, &mut |ast| {
                differs(ast, &mut Tally::default()).is_some()
            });
            let small_reason = differs(&small, &mut Tally::default());
            panic!(
                "seed {seed}: {reason}\n{text}\nsmaller: {small_reason:?}\n{}",
                printer::print(&small)
            );
        }
    }
    println!(
        "{} programs, {} complete searches, {} questions, {} violated",
        tally.programs, tally.complete, tally.questions, tally.violated
    );
    if seeds.len() > 100 {
        assert!(tally.complete > seeds.len() / 2);
        assert!(tally.violated * 10 > tally.questions && tally.violated < tally.questions);
    }
}

#[test]
fn the_engine_agrees_with_all_interleavings() {
    compare(&seeds(0, 400));
}

#[test]
#[ignore = "sweep; run in release"]
fn the_engine_agrees_with_all_interleavings_of_many_programs() {
    compare(&seeds(10_000, 10_000));
}

/// Fig. 3 of La Torre, Madhusudan and Parlato (PLDI 2009): adders, stoppers, up to how many switches the table goes, and
/// with how many the error is reached first.
const FIG_3: [(usize, usize, usize, Option<usize>); 4] = [
    (1, 1, 6, None),
    (1, 2, 6, Some(3)),
    (2, 1, 6, Some(4)),
    (2, 2, 4, Some(3)),
];

#[test]
fn the_bluetooth_driver_fails_as_in_the_paper() {
    for (adders, stoppers, most, first) in FIG_3 {
        let name = format!("bluetooth-{adders}-{stoppers}.bp");
        let path = droste_testkit::corpus::directory().join(&name);
        let text = std::fs::read_to_string(path).expect("the corpus");
        let (program, _) = lower(&parse(&text));
        let program = program.expect("a program");
        for switches in 0..=most {
            let contexts = Contexts::Switches(switches);
            let found = engine(Engine::Bdd, &program, &Property::Default, contexts);
            let expected = first.filter(|&first| first <= switches);
            assert_eq!(found, Ok(expected), "{name}, {switches} switches");
        }
        let report = check_concurrent(
            &program,
            &Property::Default,
            Contexts::Unbounded,
            &options(Engine::Explicit),
            None,
        );
        let report = report.expect("a verdict");
        assert_eq!(report.verdict.is_violated(), first.is_some(), "{name}");
        if first.is_none() {
            assert!(report.exhaustive && report.verdict.holds());
        }
    }
}
