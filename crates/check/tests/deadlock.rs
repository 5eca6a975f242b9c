//! Runs that get stuck: every engine against the naive oracle, on random programs, in both
//! directions; every violation is replayed on the way.
//!
//! `SEED=n` runs one program alone; `PROGRAMS=n` sets how many. A failure is shrunk and printed.

use std::sync::atomic::{AtomicU64, Ordering};

use droste_base::Verdict;
use droste_check::{Engine, Method, Options, Order, Passes, Property, Tuning, Weighing, check};
use droste_lang::ast::Ast;
use droste_lang::lower::lower;
use droste_program::execution::Ending;
use droste_program::{NodeId, Op, Program};
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
            "bdd, in rounds, no passes",
            Options {
                passes: Passes::none(),
                tuning: Tuning {
                    path_edges: None,
                    ..Tuning::default()
                },
                ..bdd()
            },
        ),
        ("wpds", engine(Engine::Wpds)),
        (
            "wpds, chaotic, no passes",
            Options {
                weighing: Weighing {
                    method: Some(Method::Chaotic),
                    ..Weighing::default()
                },
                passes: Passes::none(),
                ..engine(Engine::Wpds)
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
                    path_edges: None,
                    ..Tuning::default()
                },
                ..bdd()
            },
        ),
    ]
}

/// `Ok(stuck)` or what went wrong; and where it is stuck.
fn stuck(program: &Program, options: &Options<'_>) -> Result<Option<NodeId>, String> {
    let report = check(program, &Property::Deadlock, options).map_err(|fault| fault.to_string())?;
    match &report.verdict {
        Verdict::Holds(_) => Ok(None),
        Verdict::Violated(_) => match report.execution().map(|execution| execution.ending) {
            Some(Ending::Stuck(node)) => Ok(Some(node)),
            other => Err(format!("it ends with {other:?}")),
        },
        Verdict::Unknown(reason) => Err(format!("unknown: {reason}")),
    }
}

/// How many programs never get stuck, how many do, and how many of these at a return.
type Counts = [AtomicU64; 3];

fn mismatch(ast: &Ast, counts: &Counts) -> Option<String> {
    let (program, _) = lower(ast);
    let program = program?;
    let expected = Oracle::new(ast).ok()?.gets_stuck();
    let mut count = usize::from(expected);
    for (name, options) in configurations() {
        let found = stuck(&program, &options);
        if found.as_ref().map(Option::is_some) != Ok(expected) {
            return Some(format!("[{name}]: expected {expected}, found {found:?}"));
        }
        if let Ok(Some(node)) = found
            && matches!(program.node(node).op, Op::Return(_))
        {
            count = 2;
        }
    }
    counts[count].fetch_add(1, Ordering::Relaxed);
    None
}

fn sweep(config: &Config, first: u64, programs: u64) {
    let counts = Counts::default();
    sweep::programs(config, first, programs, |ast, _| mismatch(ast, &counts));
    let [fine, stuck, refused] = counts.map(AtomicU64::into_inner);
    // No answer is rare.
    let all = fine + stuck + refused;
    assert!(
        sweep::number("SEED").is_some()
            || fine.min(stuck + refused) >= all / 5 && refused >= all / 100,
        "{fine} programs never get stuck, {stuck} do, and {refused} at a return"
    );
}

#[test]
fn known_programs_get_stuck_or_not() {
    for (text, expected) in PROGRAMS {
        let counts = Counts::default();
        assert_eq!(mismatch(&parse(text), &counts), None, "{text}");
        let [fine, _, _] = counts.map(AtomicU64::into_inner);
        assert_eq!(fine == 0, expected, "{text}");
    }
}

#[test]
fn stuck_runs_agree_with_the_oracle() {
    sweep(&Config::tiny(), 0, 300);
}

#[test]
#[ignore = "sweep; run in release"]
fn stuck_runs_agree_with_the_oracle_on_many_programs() {
    sweep(&Config::tiny(), 4_000_000, 8_000);
}
