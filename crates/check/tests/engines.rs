//! The symbolic engines against the naive oracle, on random programs, in both directions and for every
//! label; every violation is replayed on the way.
//!
//! `SEED=n` runs one program alone; `PROGRAMS=n` sets how many; `ALL=1` runs every configuration on every program. A
//! failure is shrunk and printed.

use std::collections::BTreeSet;

use droste_base::Verdict;
use droste_check::{Engine, Formulas, Method, Options, Passes, Property, Tuning, Weighing, check};
use droste_lang::ast::Ast;
use droste_lang::lower::lower;
use droste_testkit::generate::Config;
use droste_testkit::oracle::{Label, Oracle};
use droste_testkit::sweep;

/// The configurations that must agree. The symbolic engine as it is used sees every program; the others take turns,
/// unless `ALL` is set.
fn configurations(seed: u64) -> Vec<(&'static str, Options<'static>)> {
    let bdd = |passes| Options {
        engine: Engine::Bdd,
        passes,
        ..Options::default()
    };
    let calculus = |algorithm, passes| Options {
        engine: Engine::Calculus,
        algorithm: droste_check::Algorithm::Named(algorithm),
        passes,
        ..Options::default()
    };
    let wpds = |method, passes| Options {
        engine: Engine::Wpds,
        weighing: Weighing {
            method: Some(method),
            // Loops of small programs take several turns, too.
            first_turn: if seed.is_multiple_of(3) { 1 } else { 1 << 14 },
        },
        passes,
        ..Options::default()
    };
    // Random programs are small: with the usual trial, none of them would come to a race.
    let racing = |passes| Options {
        engine: Engine::Auto,
        trial: 3,
        passes,
        ..Options::default()
    };
    let dead = Passes {
        dead: true,
        absorb: true,
        ..Passes::none()
    };
    // Variables are reordered again and again, and no run is a shortest one.
    let eager = |passes| Options {
        tuning: Tuning {
            sift_from: 100,
            shortest_times: 0,
            shortest_plus: 0,
            path_edges: None,
            ..Tuning::default()
        },
        ..bdd(passes)
    };
    // No run is found state by state.
    let in_rounds = |passes| Options {
        tuning: Tuning {
            path_edges: None,
            ..Tuning::default()
        },
        ..bdd(passes)
    };
    let mut all = vec![
        ("bdd", bdd(Passes::default())),
        ("bdd, in rounds", in_rounds(Passes::default())),
        ("bdd, reordering", eager(Passes::default())),
        ("bdd, reordering, no passes", eager(Passes::none())),
        ("bdd, in rounds, no passes", in_rounds(Passes::none())),
        ("bdd, dead only", bdd(dead)),
        ("simple", calculus(Formulas::Simple, Passes::default())),
        ("ef", calculus(Formulas::Ef, Passes::default())),
        (
            "procedures",
            calculus(Formulas::Procedures, Passes::default()),
        ),
        (
            "ef-opt, no passes",
            calculus(Formulas::EfOpt, Passes::none()),
        ),
        ("wpds, paths", wpds(Method::Paths, Passes::default())),
        ("wpds, chaotic", wpds(Method::Chaotic, Passes::default())),
        (
            "wpds, paths, no passes",
            wpds(Method::Paths, Passes::none()),
        ),
        (
            "wpds, chaotic, no passes",
            wpds(Method::Chaotic, Passes::none()),
        ),
        ("wpds, paths, dead only", wpds(Method::Paths, dead)),
        ("wpds, chaotic, reordering", {
            let tuning = eager(dead).tuning;
            Options {
                tuning,
                ..wpds(Method::Chaotic, dead)
            }
        }),
        ("wpds, both", {
            let both = Weighing::default();
            Options {
                weighing: both,
                ..wpds(Method::Paths, Passes::default())
            }
        }),
        ("auto, racing", racing(Passes::default())),
        ("auto, racing, no passes", racing(Passes::none())),
    ];
    if std::env::var_os("ALL").is_none() {
        let turn = 1 + (seed % (all.len() as u64 - 1)) as usize;
        let mut i = 0;
        all.retain(|_| {
            i += 1;
            i == 1 || i - 1 == turn
        });
    }
    all
}

/// What is wrong, if anything.
fn mismatch(ast: &Ast, seed: u64) -> Option<String> {
    let (program, _) = lower(ast);
    let program = program?;
    let oracle = Oracle::new(ast).ok()?;
    let errors = ["ERROR", "SLIC_ERROR"].map(Label::parse);
    let expected = !oracle.violations().is_empty() || oracle.reachable(&errors);
    let mut questions = vec![(Property::Default, expected)];
    let labels: BTreeSet<String> = oracle
        .labels()
        .into_iter()
        .map(|(procedure, label)| format!("{procedure}:{label}"))
        .collect();
    questions.extend(labels.into_iter().map(|label| {
        let expected = oracle.reachable(&[Label::parse(&label)]);
        (Property::Reach(vec![label]), expected)
    }));
    for (property, expected) in questions {
        for (name, options) in configurations(seed) {
            let found = match check(&program, &property, &options) {
                Err(fault) => Err(fault.to_string()),
                Ok(report) => match report.verdict {
                    Verdict::Holds(_) => Ok(false),
                    Verdict::Violated(_) => Ok(true),
                    Verdict::Unknown(reason) => Err(format!("unknown: {reason}")),
                },
            };
            if found != Ok(expected) {
                return Some(format!(
                    "{property} [{name}]: expected {expected}, found {found:?}"
                ));
            }
        }
    }
    None
}

#[test]
fn engines_agree_with_the_oracle() {
    sweep::programs(&Config::tiny(), 0, 300, mismatch);
}

#[test]
#[ignore = "sweep; run in release"]
fn engines_agree_with_the_oracle_on_many_programs() {
    sweep::programs(&Config::tiny(), 1_000_000, 12_000, mismatch);
}
