//! Every configuration of the explicit engine against the naive oracle, on random programs, in both
//! directions and for every label; every violation is replayed on the way.
//!
//! `SEED=n` runs one program alone; `PROGRAMS=n` sets how many. A failure is shrunk and printed.

use std::collections::BTreeSet;

use droste_base::Verdict;
use droste_check::{Options, Order, Passes, Property, Runs, check};
use droste_lang::ast::Ast;
use droste_lang::lower::lower;
use droste_lang::printer::print;
use droste_lang::program::Program;
use droste_testkit::generate::{self, Config};
use droste_testkit::oracle::{Label, Oracle};
use droste_testkit::shrink::shrink;

/// Verdict of one configuration: `Ok(violated)` or what went wrong.
fn violated(program: &Program, property: &Property, options: &Options<'_>) -> Result<bool, String> {
    match check(program, property, options) {
        Err(fault) => Err(fault.to_string()),
        Ok(report) => match report.verdict {
            Verdict::Holds(_) => Ok(false),
            Verdict::Violated(_) => Ok(true),
            Verdict::Unknown(reason) => Err(format!("unknown: {reason}")),
        },
    }
}

/// The configurations that must agree.
fn configurations() -> Vec<(&'static str, Options<'static>)> {
    let base = Options::default;
    let one = |passes: Passes| Options { passes, ..base() };
    let none = Passes::none;
    vec![
        ("dfs", base()),
        (
            "dfs, as found",
            Options {
                shorten: false,
                ..base()
            },
        ),
        (
            "bfs",
            Options {
                order: Order::Bfs,
                ..base()
            },
        ),
        ("dfs, no passes", one(none())),
        (
            "dfs, eager, no passes",
            Options {
                eager: true,
                passes: none(),
                ..base()
            },
        ),
        (
            "dfs, eager",
            Options {
                eager: true,
                ..base()
            },
        ),
        (
            "dfs, constants only",
            one(Passes {
                constants: true,
                ..none()
            }),
        ),
        (
            "dfs, dead only",
            one(Passes {
                dead: true,
                ..none()
            }),
        ),
        (
            "dfs, slice only",
            one(Passes {
                slice: true,
                ..none()
            }),
        ),
    ]
}

fn labels(oracle: &Oracle<'_>) -> BTreeSet<String> {
    oracle
        .labels()
        .into_iter()
        .map(|(procedure, label)| format!("{procedure}:{label}"))
        .collect()
}

/// What is wrong with reachability, if anything.
fn reach_mismatch(ast: &Ast, all: bool) -> Option<String> {
    let (program, _) = lower(ast);
    let program = program?;
    let oracle = Oracle::new(ast).ok()?;
    let configurations = configurations();
    let configurations = if all {
        &configurations[..]
    } else {
        &configurations[..1]
    };
    let mut questions = vec![(
        Property::Default,
        !oracle.violations().is_empty()
            || oracle.reachable(&["ERROR", "SLIC_ERROR"].map(Label::parse)),
    )];
    for label in labels(&oracle) {
        let expected = oracle.reachable(&[Label::parse(&label)]);
        questions.push((Property::Reach(vec![label]), expected));
    }
    for (property, expected) in questions {
        for (name, options) in configurations {
            let found = violated(&program, &property, options);
            if found != Ok(expected) {
                return Some(format!(
                    "{property} [{name}]: expected {expected}, found {found:?}"
                ));
            }
        }
    }
    None
}

/// What is wrong with liveness, if anything.
fn repeat_mismatch(ast: &Ast, all: bool) -> Option<String> {
    let (program, _) = lower(ast);
    let program = program?;
    let oracle = Oracle::new(ast).ok()?;
    let mut configurations = configurations();
    configurations.retain(|(name, _)| *name != "bfs"); // Means nothing here.
    let configurations = if all {
        &configurations[..]
    } else {
        &configurations[..1]
    };
    for label in labels(&oracle) {
        let query = [Label::parse(&label)];
        let property = Property::Repeat(vec![label]);
        let Ok(answers) = oracle.repeatable_both(&query) else {
            continue;
        };
        for (runs, expected) in [Runs::All, Runs::FiniteStack].into_iter().zip(answers) {
            for (name, options) in configurations {
                let options = Options {
                    runs,
                    ..options.clone()
                };
                let found = violated(&program, &property, &options);
                if found != Ok(expected) {
                    return Some(format!(
                        "{property} [{name}, {runs:?}]: expected {expected}, found {found:?}"
                    ));
                }
            }
        }
    }
    None
}

/// What is wrong with monitors, if anything. Two of each kind for each program.
fn monitor_mismatch(ast: &Ast, all: bool) -> Option<String> {
    let (program, _) = lower(ast);
    let program = program?;
    let oracle = Oracle::new(ast).ok()?;
    let configurations = configurations();
    let configurations = if all {
        &configurations[..]
    } else {
        &configurations[..2]
    };
    for (seed, repeating) in [(1, false), (2, false), (3, true), (4, true)] {
        let syntax = generate::monitor(seed, ast, repeating);
        let Ok(monitor) = droste_lang::properties::monitor(&syntax, &program) else {
            return Some(format!("monitor {seed} is refused"));
        };
        let property = Property::Monitor(monitor);
        for (runs, finite) in [(Runs::All, false), (Runs::FiniteStack, true)] {
            let Ok(expected) = oracle.monitor(&syntax, finite) else {
                continue;
            };
            for (name, options) in configurations {
                let options = Options {
                    runs,
                    ..options.clone()
                };
                let found = violated(&program, &property, &options);
                if found != Ok(expected) {
                    return Some(format!(
                        "monitor {seed} [{name}, {runs:?}]: expected {expected}, found {found:?}"
                    ));
                }
            }
        }
    }
    None
}

fn sweep(
    name: &str,
    config: &Config,
    first: u64,
    programs: u64,
    mismatch: impl Fn(&Ast, bool) -> Option<String>,
) {
    let number = |variable: &str| std::env::var(variable).ok().and_then(|v| v.parse().ok());
    let seeds = match number("SEED") {
        Some(seed) => seed..seed + 1,
        None => first..first + number("PROGRAMS").unwrap_or(programs),
    };
    for seed in seeds {
        let ast = generate::program(seed, config);
        // Every fourth program goes through every configuration.
        let all = seed % 4 == 0;
        if let Some(problem) = mismatch(&ast, all) {
            eprintln!("{name}, SEED={seed}: {problem}");
            let small = shrink(&ast, &mut |ast| mismatch(ast, all).is_some());
            panic!(
                "{name}, SEED={seed}: {problem}\nshrunk to ({}):\n{}",
                mismatch(&small, all).unwrap_or_default(),
                print(&small)
            );
        }
    }
}

#[test]
fn reachability_agrees_with_the_oracle() {
    sweep("reach", &Config::tiny(), 0, 300, reach_mismatch);
}

#[test]
fn liveness_agrees_with_the_oracle() {
    sweep("repeat", &Config::liveness(), 0, 200, repeat_mismatch);
}

#[test]
fn monitors_agree_with_the_oracle() {
    sweep("monitor", &Config::liveness(), 0, 150, monitor_mismatch);
}

#[test]
#[ignore = "sweep; run in release"]
fn monitors_agree_with_the_oracle_on_many_programs() {
    sweep(
        "monitor",
        &Config::liveness(),
        3_000_000,
        10_000,
        monitor_mismatch,
    );
}

#[test]
#[ignore = "sweep; run in release"]
fn reachability_agrees_with_the_oracle_on_many_programs() {
    sweep("reach", &Config::tiny(), 1_000_000, 20_000, reach_mismatch);
}

// Two halves, because the oracle is slow here and there are two processors.
#[test]
#[ignore = "sweep; run in release"]
fn liveness_agrees_with_the_oracle_on_many_programs() {
    sweep(
        "repeat",
        &Config::liveness(),
        2_000_000,
        10_000,
        repeat_mismatch,
    );
}

#[test]
#[ignore = "sweep; run in release"]
fn liveness_agrees_with_the_oracle_on_many_more_programs() {
    sweep(
        "repeat",
        &Config::liveness(),
        5_000_000,
        10_000,
        repeat_mismatch,
    );
}
