//! Random programs are accepted by the front end, and are as varied as they should be.

use std::collections::{BTreeMap, BTreeSet};

use droste_lang::ast::{Ast, ExprKind, StmtKind, Target};

use super::{Config, program};
use crate::ltl::{Formula, Shape, formula};
use crate::oracle::{Label, Oracle, Refusal};
use crate::random::seeds;

#[test]
fn the_oracle_answers_for_almost_all_tiny_programs() {
    let seeds = seeds(0, 300);
    let refused = seeds
        .iter()
        .filter(|&&seed| Oracle::new(&program(seed, &Config::tiny())).is_err())
        .count();
    assert!(
        refused * 20 <= seeds.len(),
        "{refused} of {} refused",
        seeds.len()
    );
}

/// How the verdicts are spread; run with `--ignored --nocapture`.
#[test]
#[ignore = "prints statistics"]
fn statistics() {
    for (name, config, count) in [
        ("tiny", Config::tiny(), 3000),
        ("boolean", Config::boolean(), 1000),
        ("liveness", Config::liveness(), 1500),
    ] {
        let start = std::time::Instant::now();
        let mut tally: BTreeMap<String, usize> = BTreeMap::new();
        let mut states = Vec::new();
        let mut add = |key: &str, n: usize| *tally.entry(key.to_owned()).or_default() += n;
        let mut slowest = (0.0, 0);
        for seed in seeds(0, count) {
            let begin = std::time::Instant::now();
            let ast = program(seed, &config);
            let oracle = match Oracle::new(&ast) {
                Ok(oracle) => oracle,
                Err(refusal) => {
                    assert_eq!(refusal, Refusal::TooLarge, "seed {seed}");
                    add("refused", 1);
                    continue;
                }
            };
            states.push(oracle.states());
            add("programs", 1);
            add(
                "programs that can terminate",
                usize::from(oracle.terminates()),
            );
            add(
                "programs with a violation",
                usize::from(!oracle.violations().is_empty()),
            );
            for (_, kind) in oracle.violations() {
                add(&format!("violations {kind:?}"), 1);
            }
            let labels = oracle.labels();
            add("labels", labels.len());
            add("labels reachable", oracle.reachable_labels().len());
            for (procedure, name) in &labels {
                if name == "ERROR" {
                    add("ERROR labels", 1);
                    let pair = (procedure.clone(), name.clone());
                    let reached = oracle.reachable_labels().contains(&pair);
                    add("ERROR labels reachable", usize::from(reached));
                }
            }
            let mut differs = false;
            for (procedure, name) in labels.iter().take(4) {
                let label = [Label {
                    procedure: Some(procedure.clone()),
                    name: name.clone(),
                }];
                let [all, finite] = oracle.repeatable(&label);
                assert!(all || !finite, "seed {seed}: a finite-stack run is a run");
                add(
                    &format!("repeat queries: all runs {all}, finite stack {finite}"),
                    1,
                );
                differs |= all != finite;
            }
            add(
                "programs where all runs and finite stack differ",
                usize::from(differs),
            );
            let seconds = begin.elapsed().as_secs_f64();
            if seconds > slowest.0 {
                slowest = (seconds, seed);
            }
        }
        states.sort_unstable();
        println!("== {name}, {:.1?}; slowest {slowest:?}", start.elapsed());
        println!(
            "   states: median {}, most {:?}",
            states[states.len() / 2],
            states.last()
        );
        for (key, n) in &tally {
            println!("   {key}: {n}");
        }
    }
}

#[test]
fn lowering_accepts_every_random_program() {
    for (config, count) in [
        (Config::tiny(), 2000),
        (Config::boolean(), 500),
        (Config::liveness(), 500),
        (Config::runaway(), 500),
        (Config::wide(), 500),
        (Config::large(), 100),
    ] {
        for seed in seeds(0, count) {
            let (lowered, diagnostics) = droste_lang::lower::lower(&program(seed, &config));
            assert!(lowered.is_some(), "seed {seed}: {diagnostics:?}");
        }
    }
}

#[test]
fn a_tree_and_its_program_are_the_same() {
    for seed in seeds(0, 200) {
        let tree = super::tree(seed, &Config::tiny());
        assert_eq!(
            crate::tree::Tree::from_ast(&tree.to_ast()),
            tree,
            "seed {seed}"
        );
    }
}

#[test]
fn printing_and_parsing_gives_the_program_back() {
    for (config, count) in [
        (Config::tiny(), 2000),
        (Config::liveness(), 300),
        (Config::runaway(), 300),
        (Config::wide(), 200),
        (Config::large(), 50),
    ] {
        for seed in seeds(0, count) {
            let ast = program(seed, &config);
            let text = droste_lang::printer::print(&ast);
            assert_eq!(crate::source::parse(&text), ast, "seed {seed}:\n{text}");
        }
    }
}

/// Which forms of the language a program uses.
fn forms(ast: &Ast, out: &mut BTreeMap<String, usize>) {
    let mut seen = BTreeSet::new();
    let first_word = |text: String| {
        let end = text.find(|c: char| !c.is_alphanumeric());
        text[..end.unwrap_or(text.len())].to_owned()
    };
    for stmt in &ast.stmts {
        seen.insert(first_word(format!("{:?}", stmt.kind)));
        match &stmt.kind {
            StmtKind::Assign {
                constrain: Some(_), ..
            } => {
                seen.insert("Assign constrain".to_owned());
            }
            StmtKind::Call {
                constrain, targets, ..
            } => {
                if constrain.is_some() {
                    seen.insert("Call constrain".to_owned());
                }
                if targets.iter().any(|t| matches!(t, Target::Discard(_))) {
                    seen.insert("Call _".to_owned());
                }
            }
            StmtKind::Goto(targets) if targets.len() > 1 => {
                seen.insert("Goto several".to_owned());
            }
            StmtKind::If { arms, .. } if arms.len() > 1 => {
                seen.insert("elsif".to_owned());
            }
            _ => {}
        }
    }
    for expr in &ast.exprs {
        seen.insert(match &expr.kind {
            ExprKind::Binary(op, ..) => op.symbol().to_owned(),
            ExprKind::Unary(op, _) => format!("unary {op:?}"),
            other => format!("e.{}", first_word(format!("{other:?}"))),
        });
    }
    for form in seen {
        *out.entry(form).or_default() += 1;
    }
}

#[test]
fn every_form_of_the_language_occurs() {
    let mut counts = BTreeMap::new();
    for seed in seeds(0, 1000) {
        forms(&program(seed, &Config::tiny()), &mut counts);
    }
    let expected = "Decl Assign Call Assert Assume Constrain AbortIf Enforce If While Goto Return Skip \
        Print Dead e.Bool e.Int e.Nondet e.Var e.Next e.Schoose => | ^ & = != < <= > >= << >> + - * / %";
    let expected = expected.split_whitespace().chain([
        "Assign constrain",
        "Call constrain",
        "Call _",
        "Goto several",
        "elsif",
        "unary Not",
        "unary Neg",
    ]);
    if std::env::var("SEED").is_err() {
        for form in expected {
            let count = counts.get(form).copied().unwrap_or(0);
            assert!(count >= 10, "{form} occurs in {count} of 1000 programs");
        }
    }
}

/// How the verdicts of random formulas are spread; run with `--ignored --nocapture`.
#[test]
#[ignore = "prints statistics"]
fn statistics_of_formulas() {
    for (name, config, count) in [
        ("runaway", Config::runaway(), 1500),
        ("liveness", Config::liveness(), 300),
        ("tiny", Config::tiny(), 300),
    ] {
        let mut tally: BTreeMap<String, usize> = BTreeMap::new();
        let mut add = |key: &str, n: usize| *tally.entry(key.to_owned()).or_default() += n;
        let (mut seconds, mut slowest) = (0.0, (0.0, 0, String::new()));
        for seed in seeds(0, count) {
            let ast = program(seed, &config);
            let begin = std::time::Instant::now();
            let Ok(oracle) = Oracle::new(&ast) else {
                add("programs refused", 1);
                continue;
            };
            seconds += begin.elapsed().as_secs_f64();
            add("programs", 1);
            let never = Formula::Constant(false);
            let infinite = oracle.ltl(&never).unwrap_or_default();
            add(
                &format!("infinite runs, and on a bounded stack: {infinite:?}"),
                1,
            );
            for i in 0..4 {
                let shape = if i % 2 == 0 {
                    Shape::default()
                } else {
                    Shape::without_next()
                };
                let formula = formula(4 * seed + i, &ast, &shape);
                let begin = std::time::Instant::now();
                let answer = oracle.ltl(&formula);
                let took = begin.elapsed().as_secs_f64();
                seconds += took;
                if took > slowest.0 {
                    slowest = (took, seed, formula.to_string());
                }
                match answer {
                    Err(refusal) => {
                        assert_eq!(refusal, Refusal::TooLarge, "seed {seed}: {formula}");
                        add("pairs refused", 1);
                    }
                    Ok([all, finite]) => {
                        add("pairs", 1);
                        add(
                            &format!("pairs: violated {all}, on a bounded stack {finite}"),
                            1,
                        );
                        let differ = all != finite && infinite[1];
                        add(
                            "pairs: differ, though there are runs on a bounded stack",
                            usize::from(differ),
                        );
                    }
                }
            }
        }
        println!("== {name}, {seconds:.2} s; slowest {slowest:?}");
        for (key, n) in &tally {
            println!("   {key}: {n}");
        }
    }
}
