//! Runs in which no thread can move: the explicit engine against all interleavings.
//!
//! For random programs with threads, the fewest switches (up to 4) and rounds (up to 3) with which
//! nobody can move are compared with what the oracle finds one configuration at a time. Every
//! violation is rebuilt and replayed on the way. Where the oracle's stacks were too small, only what
//! it has found counts. `SEED=n` reruns one program; `PROGRAMS=n` sets how many.

use std::sync::atomic::{AtomicU64, Ordering};

use droste_base::{Limits, Verdict};
use droste_check::{Bound, Engine, Fault, Levels, Options, Property, check};
use droste_lang::ast::Ast;
use droste_lang::lower::lower;
use droste_lang::printer::print;
use droste_program::Program;
use droste_program::concurrent::unbounded_start;
use droste_program::execution::Ending;
use droste_program::standing::Standing;
use droste_testkit::generate::concurrent;
use droste_testkit::oracle::interleave::{self, Bounds, interleave};
use droste_testkit::shrink::shrink;
use droste_testkit::source::parse;
use droste_testkit::sweep;

fn bounds(levels: interleave::Levels) -> Bounds {
    Bounds {
        levels,
        most: match levels {
            interleave::Levels::Switches => 4,
            interleave::Levels::Rounds => 3,
        },
        stack: 3,
        threads: 5,
        configurations: 60_000,
    }
}

/// The fewest switches or rounds with which nobody can move.
fn fewest(program: &Program, engine: Engine, bound: Bound) -> Result<Option<usize>, String> {
    let options = Options {
        engine,
        bound: Some(bound),
        limits: Limits {
            path_edges: Some(1_000_000),
            ..Limits::default()
        },
        ..Options::default()
    };
    let report = match check(program, &Property::Deadlock, &options) {
        Ok(report) => report,
        Err(fault) => return Err(fault.to_string()),
    };
    let explored = report.explored.ok_or("no level")?;
    match &report.verdict {
        Verdict::Holds(_) => Ok(None),
        Verdict::Unknown(reason) => Err(format!("unknown: {reason}")),
        Verdict::Violated(_) => {
            let execution = report.concurrent().ok_or("no run")?;
            let count = match explored.levels {
                Levels::Switches => execution.switches(program),
                Levels::Rounds => execution.rounds(program),
            };
            let standings = execution.standings(program);
            let blocked = standings.iter().find_map(|standing| match standing {
                Standing::Blocked(node) => Some(Ending::Stuck(*node)),
                _ => None,
            });
            if blocked != Some(execution.ending) {
                return Err(format!("{:?} with {standings:?}", execution.ending));
            }
            if Some(count) != explored.level {
                return Err(format!("{count} shown, {:?} found", explored.level));
            }
            Ok(explored.level)
        }
    }
}

/// How many programs never get stuck, and how many do.
type Counts = [AtomicU64; 2];

/// The first difference between engine and oracle.
fn mismatch(ast: &Ast, counts: &Counts) -> Option<String> {
    let (program, _) = lower(ast);
    let program = program.filter(Program::is_concurrent)?;
    let mut kinds = vec![interleave::Levels::Switches];
    if unbounded_start(&program).is_none() {
        kinds.push(interleave::Levels::Rounds);
    }
    for levels in kinds {
        let Ok(found) = interleave(&program, bounds(levels)) else {
            continue;
        };
        let most = bounds(levels).most;
        let bound = |most| match levels {
            interleave::Levels::Switches => Bound::Switches(most),
            interleave::Levels::Rounds => Bound::Rounds(most),
        };
        let actual = match fewest(&program, Engine::Explicit, bound(most)) {
            Ok(actual) => actual,
            Err(reason) => return Some(format!("{levels:?}: {reason}")),
        };
        let agrees = match (found.stuck, actual) {
            (Some(expected), Some(actual)) if !found.complete => actual <= expected,
            (None, _) if !found.complete => true,
            (expected, actual) => expected == actual,
        };
        if !agrees {
            let expected = found.stuck;
            return Some(format!(
                "{levels:?}: expected {expected:?}, found {actual:?}"
            ));
        }
        let auto = fewest(&program, Engine::Auto, bound(most));
        if auto != Ok(actual) {
            return Some(format!("{levels:?}: found {actual:?}, auto {auto:?}"));
        }
        if found.complete {
            counts[usize::from(actual.is_some())].fetch_add(1, Ordering::Relaxed);
        }
    }
    None
}

fn compare(first: u64, programs: u64) {
    let counts = Counts::default();
    sweep::seeds(first, programs, |seed| {
        let (_, text) = concurrent(seed);
        let ast = parse(&text);
        if let Some(reason) = mismatch(&ast, &counts) {
            let mut fails = |ast: &Ast| mismatch(ast, &Counts::default()).is_some();
            let small = shrink(&ast, &mut fails);
            let problem = mismatch(&small, &Counts::default()).unwrap_or_default();
            let small = print(&small);
            panic!("SEED={seed}: {reason}\n{text}\nshrunk to ({problem}):\n{small}");
        }
    });
    let [fine, stuck] = counts.map(AtomicU64::into_inner);
    // Neither answer is rare.
    assert!(
        sweep::number("SEED").is_some() || fine.min(stuck) >= (fine + stuck) / 8,
        "{fine} never get stuck, {stuck} do"
    );
}

#[test]
fn stuck_threads_agree_with_all_interleavings() {
    compare(0, 150);
}

#[test]
#[ignore = "sweep; run in release"]
fn stuck_threads_agree_with_all_interleavings_of_many_programs() {
    compare(50_000, 300);
}

fn stuck(text: &str, bound: Bound) -> Option<usize> {
    let (program, _) = lower(&parse(text));
    let found = fewest(&program.expect("a program"), Engine::Explicit, bound);
    found.expect("an answer")
}

/// Threads that are started again and again: all of them count, also those that are never active.
#[test]
fn threads_that_are_never_active_count() {
    let many = |statement: &str| {
        format!(
            "decl g; void main() begin g := F; while (*) do start_thread {statement}; od; end
             void f() begin assume(g); end"
        )
    };
    // `main` has started some and ended.
    assert_eq!(stuck(&many("assume(g)"), Bound::Switches(2)), Some(0));
    // Whoever has not been active can make the call.
    assert_eq!(stuck(&many("f()"), Bound::Switches(0)), None);
    assert_eq!(stuck(&many("f()"), Bound::Switches(1)), Some(1));
    // The frames differ: those with `x` true can go on.
    let text = "decl g; void main() begin decl x; g := F;
                  while (*) do x := *; start_thread assume(x); od; end";
    assert_eq!(stuck(text, Bound::Switches(0)), Some(0));
    assert_eq!(
        stuck(
            "void main() begin start_thread skip; end",
            Bound::Switches(3)
        ),
        None
    );
}

#[test]
fn other_engines_refuse() {
    let text = "void main() begin start_thread assume(F); end";
    let (program, _) = lower(&parse(text));
    let program = program.expect("a program");
    for engine in [Engine::Bdd, Engine::Calculus] {
        let options = Options {
            engine,
            bound: Some(Bound::Switches(1)),
            ..Options::default()
        };
        let refused = check(&program, &Property::Deadlock, &options);
        assert!(matches!(refused, Err(Fault::Refused(_))), "{refused:?}");
    }
}
