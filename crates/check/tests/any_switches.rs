//! Programs with threads, whatever the number of switches: the explicit engine against itself with a
//! bound and against all interleavings, and recursive threads that it must prove safe. The same for
//! the symbolic engine, as far as it comes with a few switches.
//!
//! For every label and the default property of random programs, the search without a bound is made with
//! visible states watched from the beginning. What it says holds must hold for the oracle with many
//! switches; what it says is violated must need as many switches as with a bound. `SEED=n` reruns one
//! program.

use std::time::Duration;

use droste_base::{Limits, Verdict};
use droste_check::{Engine, Options, Property, Tuning, check};
use droste_lang::ast::Ast;
use droste_lang::lower::lower;
use droste_lang::printer;
use droste_program::schedule::{Finding, Levels, Target, ThreadQuery};
use droste_program::{NodeId, Program};
use droste_testkit::generate::{concurrent, starting};
use droste_testkit::oracle::interleave::{self, Bounds, Interleavings, interleave};
use droste_testkit::random::seeds;
use droste_testkit::shrink::shrink;
use droste_testkit::source::parse;
use droste_threads::Watching;

/// The fewest switches with which the target is met, if any; how the search ended.
enum Found {
    Hit(usize),
    Never,
    Open,
}

/// Which engine.
#[derive(Clone, Copy, Debug)]
enum By {
    States(Watching),
    /// With so many steps without diagrams before there are any, and so much time.
    Sets(u64, Duration),
}

/// The symbolic engine looks at no more switches. It may say that more lead to nothing new.
const MOST_BY_SETS: usize = 6;

fn by_sets(query: &ThreadQuery<'_>, few: u64, time: Duration) -> Finding {
    let limits = Limits::within(time);
    let query = ThreadQuery {
        most: query.most.or(Some(MOST_BY_SETS)),
        ..*query
    };
    let tuning = Tuning {
        few,
        ..Tuning::default()
    };
    droste_symbolic::concurrent::reach(&query, tuning, &limits, |_| {}).0
}

fn search(program: &Program, target: Target<'_>, most: Option<usize>, by: By) -> Found {
    let query = ThreadQuery {
        program,
        target,
        levels: Levels::Switches,
        most,
    };
    let found = match by {
        By::Sets(few, time) => by_sets(&query, few, time),
        By::States(watching) => {
            let options = droste_threads::Options {
                limits: Limits {
                    path_edges: Some(20_000),
                    ..Limits::default()
                },
                watching,
                ..droste_threads::Options::default()
            };
            droste_threads::search(&query, &options).0
        }
    };
    match found {
        Finding::Hit(_, level) => Found::Hit(level),
        Finding::Nothing { exhaustive: true } => Found::Never,
        Finding::Nothing { exhaustive: false } | Finding::Stopped(..) => Found::Open,
    }
}

#[derive(Default)]
struct Tally {
    questions: usize,
    violated: usize,
    never: usize,
    open: usize,
}

fn expected(found: &Interleavings, target: Target<'_>) -> Option<usize> {
    let nodes = target
        .nodes()
        .iter()
        .filter_map(|node| found.reached.get(node));
    let failed = found.failed.filter(|_| target.violations());
    nodes.copied().chain(failed).min()
}

/// Every node with a label.
fn labelled(program: &Program) -> Vec<NodeId> {
    let nodes = (0..).map(NodeId).zip(&program.nodes);
    let labelled = nodes.filter(|(_, node)| !node.labels.is_empty());
    labelled.map(|(id, _)| id).collect()
}

/// All engines; each may take its time.
const ALL: &[By] = &[
    By::States(Watching::Later),
    By::States(Watching::Early),
    By::States(Watching::Alone),
    By::Sets(0, Duration::from_secs(2)),
    By::Sets(u64::MAX, Duration::from_secs(2)),
];

/// The one that counts threads. It finds no violations: that takes longer, and is not the question.
const COUNTING: &[By] = &[By::Sets(u64::MAX, Duration::from_millis(100))];

fn differs(ast: &Ast, engines: &[By], tally: &mut Tally) -> Option<String> {
    let (program, _) = lower(ast);
    let program = program?;
    if !program.is_concurrent() {
        return None;
    }
    let bounds = Bounds {
        levels: interleave::Levels::Switches,
        most: 20,
        stack: 2,
        threads: 5,
        configurations: 20_000,
    };
    let Ok(oracle) = interleave(&program, bounds) else {
        return None;
    };
    let nodes = labelled(&program);
    let reach = nodes.chunks(1).map(Target::Reach);
    for target in reach.chain([Target::Default(&[])]) {
        let expected = expected(&oracle, target);
        for &by in engines {
            tally.questions += 1;
            match search(&program, target, None, by) {
                Found::Hit(level) => {
                    tally.violated += 1;
                    let again = search(&program, target, Some(level), by);
                    if !matches!(again, Found::Hit(same) if same == level) {
                        return Some(format!("{target:?}: {level} switches without a bound only"));
                    }
                    if expected.is_some_and(|expected| expected < level) {
                        return Some(format!("{target:?}: {expected:?}, found {level}"));
                    }
                }
                Found::Never => {
                    tally.never += 1;
                    if let Some(level) = expected {
                        return Some(format!("{target:?}: {level} switches do it ({by:?})"));
                    }
                }
                Found::Open => tally.open += 1,
            }
        }
    }
    None
}

/// A program whose text bounds its threads.
fn some_threads(seed: u64) -> String {
    concurrent(seed).1
}

/// The same with threads that are started again and again: each `start_thread` of a procedure is in a loop.
fn any_threads(seed: u64) -> String {
    let (_, text) = starting(seed);
    let looped = |part: &str| match part.split_once("();") {
        Some((name, rest)) if name.chars().all(char::is_alphanumeric) => {
            format!(" while (*) do start_thread {name}(); od;{rest}")
        }
        _ => format!(" start_thread {part}"),
    };
    let mut parts = text.split(" start_thread ");
    let first = parts.next().map(str::to_owned);
    first.into_iter().chain(parts.map(looped)).collect()
}

fn compare(seeds: &[u64], text: fn(u64) -> String, engines: &[By]) {
    let mut tally = Tally::default();
    for &seed in seeds {
        let text = text(seed);
        let ast = parse(&text);
        if let Some(reason) = differs(&ast, engines, &mut tally) {
            let small = shrink(&ast, &mut |ast| {
                differs(ast, engines, &mut Tally::default()).is_some()
            });
            let small_reason = differs(&small, engines, &mut Tally::default());
            panic!(
                "seed {seed}: {reason}\n{text}\nsmaller: {small_reason:?}\n{}",
                printer::print(&small)
            );
        }
    }
    println!(
        "{} questions, {} violated, {} never, {} open",
        tally.questions, tally.violated, tally.never, tally.open
    );
    if seeds.len() > 50 {
        assert!(tally.violated * 10 > tally.questions);
        assert!(tally.never * 10 > tally.questions);
    }
}

#[test]
fn any_number_of_switches_agrees_with_many() {
    compare(&seeds(20_000, 60), some_threads, ALL);
}

#[test]
#[ignore = "sweep; run in release"]
fn any_number_of_switches_agrees_with_many_for_many_programs() {
    let count = std::env::var("PROGRAMS").ok().and_then(|v| v.parse().ok());
    compare(&seeds(30_000, count.unwrap_or(400)), some_threads, ALL);
}

#[test]
fn any_number_of_threads_agrees_with_some() {
    compare(&seeds(40_000, 40), any_threads, COUNTING);
}

#[test]
#[ignore = "sweep; run in release"]
fn any_number_of_threads_agrees_with_some_for_many_programs() {
    let count = std::env::var("PROGRAMS").ok().and_then(|v| v.parse().ok());
    compare(&seeds(50_000, count.unwrap_or(400)), any_threads, COUNTING);
}

/// What `droste check` says about a label, without a bound.
fn ask(text: &str, label: &str) -> String {
    let (program, _) = lower(&parse(text));
    let program = program.expect("a program");
    let options = Options {
        engine: Engine::Explicit,
        limits: Limits {
            path_edges: Some(200_000),
            ..Limits::default()
        },
        ..Options::default()
    };
    let report = check(&program, &Property::Reach(vec![label.into()]), &options);
    let report = report.unwrap_or_else(|fault| panic!("{fault}"));
    match report.verdict {
        Verdict::Holds(_) if report.explored.is_some_and(|e| e.exhaustive) => "holds".into(),
        Verdict::Holds(_) => "holds within a bound".into(),
        Verdict::Violated(_) => {
            let level = report.explored.and_then(|explored| explored.level);
            format!("violated with {}", level.unwrap_or(usize::MAX))
        }
        Verdict::Unknown(reason) => format!("unknown: {reason}"),
    }
}

/// Two threads that call themselves as often as they like, and then wait for each other.
const WAITING: &str = "
decl x;
void main() begin x := F; start_thread one(); start_thread two(); end
void one() begin
  if (*) then one(); fi
  while (x) do skip; od
  assume(!x);
  IN: x := T;
  if (!x) then GONE: skip; fi
  SET: skip;
end
void two() begin
  if (*) then two(); fi
  while (!x) do skip; od
  x := F;
end";

#[test]
fn stacks_of_any_height_between_switches() {
    assert_eq!(ask(WAITING, "IN"), "violated with 1");
    assert_eq!(ask(WAITING, "GONE"), "violated with 3");
    let once = WAITING.replace("x := F;\nend", "end");
    assert_eq!(ask(&once, "GONE"), "holds");
}

/// A thread that calls itself once for every turn of the other: its stack grows with the number of
/// switches. Only visible states end.
const RATCHET: &str = "
decl turn, deep;
void main() begin
  turn, deep := F, F;
  start_thread down();
  start_thread up();
end
void down() begin
  assume(!turn);
  turn := T;
  if (*) then down(); BACK: skip; fi
  if (turn & !turn) then NEVER: skip; fi
  if (!deep) then SHALLOW: skip; else DEEP: skip; fi
end
void up() begin
  while (*) do
    assume(turn);
    turn := F;
  od
end";

#[test]
fn stacks_that_grow_with_the_number_of_switches() {
    assert_eq!(ask(RATCHET, "BACK"), "violated with 3");
    assert_eq!(ask(RATCHET, "NEVER"), "holds");
    assert_eq!(ask(RATCHET, "DEEP"), "holds");
}
