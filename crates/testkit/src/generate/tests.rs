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

/// How often something was one thing or another.
#[derive(Default)]
struct Tally<K>(BTreeMap<K, usize>);

impl<K: Ord + Copy + std::fmt::Debug> Tally<K> {
    fn add(&mut self, key: K) {
        *self.0.entry(key).or_default() += 1;
    }

    /// Each of these is at least `percent` of all.
    fn each_is(&self, keys: &[K], percent: usize, what: &str) {
        // With `SEED` there is one program, and nothing is common.
        if std::env::var("SEED").is_ok() {
            return;
        }
        let all: usize = self.0.values().sum();
        for key in keys {
            let count = self.0.get(key).copied().unwrap_or(0);
            assert!(
                count * 100 >= percent * all,
                "{what}: {key:?} in {count} of {all}"
            );
        }
    }
}

/// No answer to a question about random programs is rare: what agrees on them has been compared on
/// all answers. The answers about infinite runs: whether there is one, and one on a bounded stack.
#[test]
fn every_answer_is_common() {
    const RUNS: [[bool; 2]; 3] = [[false, false], [true, false], [true, true]];
    for (name, config) in [
        ("tiny", Config::tiny()),
        ("boolean", Config::boolean()),
        ("liveness", Config::liveness()),
    ] {
        let (mut ends, mut fails) = (Tally::default(), Tally::default());
        let (mut reached, mut repeated) = (Tally::default(), Tally::default());
        for seed in seeds(0, 300) {
            let ast = program(seed, &config);
            let oracle = match Oracle::new(&ast) {
                Ok(oracle) => oracle,
                Err(refusal) => {
                    assert_eq!(refusal, Refusal::TooLarge, "seed {seed}");
                    continue;
                }
            };
            ends.add(oracle.terminates());
            fails.add(!oracle.violations().is_empty());
            let labels = oracle.labels();
            for (i, (procedure, name)) in labels.iter().enumerate() {
                let pair = (procedure.clone(), name.clone());
                reached.add(oracle.reachable_labels().contains(&pair));
                if i < 4 {
                    let label = [Label {
                        procedure: Some(procedure.clone()),
                        name: name.clone(),
                    }];
                    let [all, finite] = oracle.repeatable(&label);
                    assert!(all || !finite, "seed {seed}: a finite-stack run is a run");
                    repeated.add([all, finite]);
                }
            }
        }
        ends.each_is(&[false, true], 20, &format!("{name}: the program can end"));
        fails.each_is(&[false, true], 8, &format!("{name}: a violation"));
        reached.each_is(&[false, true], 25, &format!("{name}: a label is reached"));
        repeated.each_is(&RUNS, 8, &format!("{name}: a label is repeated"));
    }
}

/// The same for random formulas.
#[test]
fn every_answer_of_random_formulas_is_common() {
    const RUNS: [[bool; 2]; 3] = [[false, false], [true, false], [true, true]];
    for (name, config) in [
        ("runaway", Config::runaway()),
        ("liveness", Config::liveness()),
        ("tiny", Config::tiny()),
    ] {
        let (mut violated, mut differs) = (Tally::default(), Tally::default());
        for seed in seeds(0, 120) {
            let ast = program(seed, &config);
            let Ok(oracle) = Oracle::new(&ast) else {
                continue;
            };
            let never = Formula::Constant(false);
            let infinite = oracle.ltl(&never).unwrap_or_default();
            for i in 0..4 {
                let shape = if i % 2 == 0 {
                    Shape::default()
                } else {
                    Shape::without_next()
                };
                let formula = formula(4 * seed + i, &ast, &shape);
                match oracle.ltl(&formula) {
                    Err(refusal) => {
                        assert_eq!(refusal, Refusal::TooLarge, "seed {seed}: {formula}");
                    }
                    Ok([all, finite]) => {
                        assert!(all || !finite, "seed {seed}: {formula}");
                        violated.add([all, finite]);
                        // The answers differ, and not because all runs recurse for ever.
                        differs.add(all != finite && infinite[1]);
                    }
                }
            }
        }
        violated.each_is(&RUNS, 8, &format!("{name}: a run violates the formula"));
        differs.each_is(&[true], 1, &format!("{name}: the kind of runs matters"));
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
