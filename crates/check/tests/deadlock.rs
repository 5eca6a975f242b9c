//! Runs that get stuck: every engine against the naive oracle, on random programs, in both
//! directions; every violation is replayed on the way.
//!
//! `SEED=n` runs one program alone; `PROGRAMS=n` sets how many. A failure is shrunk and printed.

use std::sync::atomic::{AtomicU64, Ordering};

use droste_base::Verdict;
use droste_check::{Engine, Options, Order, Passes, Property, Tuning, check};
use droste_lang::ast::Ast;
use droste_lang::lower::lower;
use droste_program::Program;
use droste_program::execution::Ending;
use droste_testkit::generate::Config;
use droste_testkit::oracle::Oracle;
use droste_testkit::oracle::stuck::PROGRAMS;
use droste_testkit::source::parse;
use droste_testkit::sweep;

/// The configurations that must agree.
fn configurations() -> Vec<(&'static str, Options<'static>)> {
    let engine = |engine| Options {
        engine,
        ..Options::default()
    };
    let base = || engine(Engine::Explicit);
    let bdd = || engine(Engine::Bdd);
    vec![
        ("explicit", base()),
        ("bdd", bdd()),
        // The race begins at once.
        (
            "auto",
            Options {
                engine: Engine::Auto,
                trial: 0,
                ..base()
            },
        ),
        (
            "explicit, breadth first",
            Options {
                order: Order::Bfs,
                ..base()
            },
        ),
        (
            "explicit, no passes",
            Options {
                passes: Passes::none(),
                ..base()
            },
        ),
        (
            "explicit, eager",
            Options {
                eager: true,
                ..base()
            },
        ),
        (
            "explicit, slice only",
            Options {
                passes: Passes {
                    slice: true,
                    ..Passes::none()
                },
                ..base()
            },
        ),
        (
            "bdd, no passes",
            Options {
                passes: Passes::none(),
                ..bdd()
            },
        ),
        // The run that the search itself has gone, in diagrams that are reordered.
        (
            "bdd, as found",
            Options {
                tuning: Tuning {
                    sift_from: 100,
                    shortest_times: 0,
                    shortest_plus: 0,
                },
                ..bdd()
            },
        ),
    ]
}

/// `Ok(stuck)` or what went wrong.
fn stuck(program: &Program, options: &Options<'_>) -> Result<bool, String> {
    let report = check(program, &Property::Deadlock, options).map_err(|fault| fault.to_string())?;
    match &report.verdict {
        Verdict::Holds(_) => Ok(false),
        Verdict::Violated(_) => match report.execution().map(|execution| execution.ending) {
            Some(Ending::Stuck(_)) => Ok(true),
            other => Err(format!("it ends with {other:?}")),
        },
        Verdict::Unknown(reason) => Err(format!("unknown: {reason}")),
    }
}

fn mismatch(ast: &Ast, count: &[AtomicU64; 2]) -> Option<String> {
    let (program, _) = lower(ast);
    let program = program?;
    let expected = Oracle::new(ast).ok()?.gets_stuck();
    count[usize::from(expected)].fetch_add(1, Ordering::Relaxed);
    configurations().into_iter().find_map(|(name, options)| {
        let found = stuck(&program, &options);
        (found != Ok(expected)).then(|| format!("[{name}]: expected {expected}, found {found:?}"))
    })
}

fn sweep(config: &Config, first: u64, programs: u64) {
    let count = [const { AtomicU64::new(0) }; 2];
    sweep::programs(config, first, programs, |ast, _| mismatch(ast, &count));
    let [fine, stuck] = count.map(AtomicU64::into_inner);
    // Neither answer is rare.
    let few = (fine + stuck) / 5;
    assert!(
        sweep::number("SEED").is_some() || fine.min(stuck) >= few,
        "{fine} programs never get stuck, {stuck} do"
    );
}

#[test]
fn known_programs_get_stuck_or_not() {
    for (text, expected) in PROGRAMS {
        let count = [const { AtomicU64::new(0) }; 2];
        assert_eq!(mismatch(&parse(text), &count), None, "{text}");
        let [_, stuck] = count.map(AtomicU64::into_inner);
        assert_eq!(stuck == 1, expected, "{text}");
    }
}

#[test]
fn stuck_runs_agree_with_the_oracle() {
    sweep(&Config::tiny(), 0, 300);
}

#[test]
#[ignore = "sweep; run in release"]
fn stuck_runs_agree_with_the_oracle_on_many_programs() {
    sweep(&Config::tiny(), 4_000_000, 20_000);
}
