//! Programs with threads: explicit and symbolic engine against all interleavings.
//!
//! For every label and for the default property of random programs, the fewest switches (up to 4) and rounds (up to 3)
//! with which they are violated are compared with what the oracle finds one configuration at a time. Every
//! violation is made concrete and replayed on the way. Where the oracle's stacks were too small, only what it has
//! reached counts. `SEED=n` reruns one program.

use droste_base::{Limits, Verdict};
use droste_check::{
    Bound, Engine, Fault, Levels, NotRebuilt, Options, Property, Tuning, check, rebuild,
};
use droste_lang::ast::Ast;
use droste_lang::lower::lower;
use droste_lang::printer;
use droste_program::concurrent::{ConcurrentExecution, Context, ThreadAction, unbounded_start};
use droste_program::execution::{Action, Ending};
use droste_program::schedule::{Finding, Schedule, Target, ThreadQuery};
use droste_program::{NodeId, Program, Value, VarRef};
use droste_replay::{ConcurrentClaim, replay_concurrent};
use droste_testkit::generate::{concurrent, starting};
use droste_testkit::oracle::interleave::{self, Bounds, Interleavings, interleave};
use droste_testkit::random::{Random, seeds};
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
        // Random programs are small: with the usual trial, none of them would come to a race.
        trial: 3,
        limits: Limits {
            path_edges: Some(1_000_000),
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
    bound: Option<Bound>,
) -> Result<Option<usize>, String> {
    tuned(engine, program, property, bound, Tuning::default())
}

/// The same with this tuning.
fn tuned(
    engine: Engine,
    program: &Program,
    property: &Property,
    bound: Option<Bound>,
    tuning: Tuning,
) -> Result<Option<usize>, String> {
    let options = Options {
        bound,
        tuning,
        ..options(engine)
    };
    match check(program, property, &options) {
        Err(Fault::Wrong(reason) | Fault::Broken(reason)) => Err(format!("wrong: {reason}")),
        Err(Fault::Refused(reason)) => Err(format!("refused: {reason}")),
        Ok(report) => match report.verdict {
            Verdict::Holds(_) => Ok(None),
            Verdict::Violated(_) => {
                let explored = report.explored.ok_or("no level")?;
                let level = explored.level;
                let execution = report.concurrent().ok_or("no run")?;
                let count = match explored.levels {
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
                interleave::Levels::Switches => Bound::Switches,
                interleave::Levels::Rounds => Bound::Rounds,
            };
            let most = bounds(levels).most;
            let actual = match engine(Engine::Explicit, &program, &property, Some(contexts(most))) {
                Ok(actual) => actual,
                Err(reason) => return Some(format!("{property}: {reason}")),
            };
            // The race is begun with few configurations, or without.
            for few in [Tuning::default().few, 40, 0] {
                let tuning = Tuning {
                    few,
                    ..Tuning::default()
                };
                let bound = Some(contexts(most));
                let auto = tuned(Engine::Auto, &program, &property, bound, tuning);
                if auto != Ok(actual) {
                    return Some(format!(
                        "{property}, {levels:?}: explicit found {actual:?}, auto {auto:?} with \
                         {few} steps"
                    ));
                }
            }
            // Few configurations without diagrams, alone and in turns; diagrams of configurations as
            // far as stacks stay small, and until there are some places; and tuples.
            let usual = Tuning::default();
            for (few, most_places) in [
                (u64::MAX, usual.most_places),
                (40, usual.most_places),
                (0, usual.most_places),
                (0, 12),
                (0, 0),
            ] {
                let tuning = Tuning {
                    few,
                    most_places,
                    ..usual
                };
                let bound = Some(contexts(most));
                let symbolic = tuned(Engine::Bdd, &program, &property, bound, tuning);
                if symbolic != Ok(actual) {
                    return Some(format!(
                        "{property}, {levels:?}: explicit found {actual:?}, bdd {symbolic:?} with \
                         {few} steps, {most_places} places"
                    ));
                }
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
                && engine(
                    Engine::Explicit,
                    &program,
                    &property,
                    Some(contexts(level - 1)),
                ) != Ok(None)
            {
                return Some(format!(
                    "{property}, {levels:?}: fewer than {level} would do"
                ));
            }
        }
    }
    None
}

fn compare_some<'a>(seeds: impl Iterator<Item = &'a u64>) -> Tally {
    let mut tally = Tally::default();
    for &seed in seeds {
        // Some start more threads, also in `init`.
        let generate = if seed % 5 == 4 { starting } else { concurrent };
        let (_, text) = generate(seed);
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
    tally
}

fn compare(seeds: &[u64]) {
    // On all processors.
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let tally = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..processors)
            .map(|k| scope.spawn(move || compare_some(seeds.iter().skip(k).step_by(processors))))
            .collect();
        let mut all = Tally::default();
        for worker in workers {
            let tally = worker
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            all.programs += tally.programs;
            all.complete += tally.complete;
            all.questions += tally.questions;
            all.violated += tally.violated;
        }
        all
    });
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
    compare(&seeds(0, 150));
}

#[test]
#[ignore = "sweep; run in release"]
fn the_engine_agrees_with_all_interleavings_of_many_programs() {
    let count = std::env::var("PROGRAMS").ok().and_then(|v| v.parse().ok());
    compare(&seeds(10_000, count.unwrap_or(600)));
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
            let contexts = Bound::Switches(switches);
            let found = engine(Engine::Bdd, &program, &Property::Default, Some(contexts));
            let expected = first.filter(|&first| first <= switches);
            assert_eq!(found, Ok(expected), "{name}, {switches} switches");
        }
        let report = check(&program, &Property::Default, &options(Engine::Explicit));
        let report = report.expect("a verdict");
        assert_eq!(report.verdict.is_violated(), first.is_some(), "{name}");
        if first.is_none() {
            let explored = report.explored.expect("it has threads");
            assert!(explored.exhaustive && report.verdict.holds());
        }
    }
}

/// Every way to spoil an execution by one change.
fn spoilt(execution: &ConcurrentExecution) -> Vec<(String, ConcurrentExecution)> {
    let mut all = Vec::new();
    let mut spoil = |what: String, f: &dyn Fn(&mut ConcurrentExecution)| {
        let mut bad = execution.clone();
        f(&mut bad);
        if bad != *execution {
            all.push((what, bad));
        }
    };
    for i in 0..execution.contexts.len() {
        spoil(format!("context {i} is left out"), &|e| {
            e.contexts.remove(i);
        });
        spoil(format!("context {i} is another thread's"), &|e| {
            let count = e.threads.len() as u32;
            let thread = &mut e.contexts[i].thread;
            thread.0 = (thread.0 + 1) % count;
        });
        for j in 0..execution.contexts[i].steps.len() {
            spoil(format!("step {j} of context {i} is left out"), &|e| {
                e.contexts[i].steps.remove(j);
            });
            spoil(format!("step {j} of context {i} happens twice"), &|e| {
                let step = e.contexts[i].steps[j].clone();
                e.contexts[i].steps.insert(j, step);
            });
            spoil(format!("step {j} of context {i} has other changes"), &|e| {
                let flip = |changes: &[(VarRef, Value)]| -> Vec<(VarRef, Value)> {
                    let mut changes = changes.to_vec();
                    if let Some((_, value)) = changes.first_mut() {
                        *value = 1 - *value;
                    }
                    changes
                };
                match &mut e.contexts[i].steps[j].action {
                    ThreadAction::Step(
                        Action::Internal { changes, .. } | Action::Folded { changes, .. },
                    ) => *changes = flip(changes).into(),
                    ThreadAction::Return { changes, .. } => *changes = flip(changes),
                    _ => {}
                }
            });
            spoil(format!("a switch before step {j} of context {i}"), &|e| {
                // To another thread and back again.
                let thread = e.contexts[i].thread;
                let rest = e.contexts[i].steps.split_off(j);
                e.contexts.insert(
                    i + 1,
                    Context {
                        thread,
                        steps: rest,
                    },
                );
            });
        }
    }
    spoil("another ending".to_owned(), &|e| {
        e.ending = match e.ending {
            Ending::At(node) => Ending::At(NodeId(node.0 + 1)),
            _ => Ending::At(NodeId(0)),
        };
    });
    spoil("one more thread".to_owned(), &|e| {
        let last = e.threads.last().cloned();
        e.threads.extend(last);
    });
    all
}

/// Whether a step without effect was left out or repeated: the result may be a run as well.
fn may_be_a_run(what: &str) -> bool {
    what.contains("twice") || what.contains("left out") || what.contains("another thread")
}

#[test]
fn spoilt_executions_are_rejected() {
    let (mut executions, mut rejected, mut accepted) = (0, 0, 0);
    for seed in seeds(5_000, 150) {
        let (_, text) = concurrent(seed);
        let (program, _) = lower(&parse(&text));
        let program = program.expect("a program");
        for (property, nodes, default) in questions(&program) {
            let options = Options {
                bound: Some(Bound::Switches(3)),
                ..options(Engine::Explicit)
            };
            let found = check(&program, &property, &options).expect("a verdict");
            let Some(execution) = found.concurrent() else {
                continue;
            };
            executions += 1;
            let switches = execution.switches(&program);
            let claim = if default {
                ConcurrentClaim::Default(&nodes)
            } else {
                ConcurrentClaim::Reaches(&nodes)
            };
            let replay = |e: &ConcurrentExecution, most: usize| {
                replay_concurrent(&program, e, Some(claim), Some(Bound::Switches(most)))
            };
            assert_eq!(replay(execution, switches), Ok(()), "seed {seed}");
            if let Some(fewer) = switches.checked_sub(1) {
                assert!(replay(execution, fewer).is_err(), "seed {seed}");
            }
            for (what, bad) in spoilt(execution) {
                if replay(&bad, usize::MAX).is_err() {
                    rejected += 1;
                    continue;
                }
                assert!(may_be_a_run(&what), "seed {seed}: {what}\n{text}\n{bad:#?}");
                accepted += 1;
            }
        }
    }
    println!("{executions} executions, {rejected} spoilt ones rejected, {accepted} still runs");
    assert!(executions < 10 || rejected > 10 * accepted);
}

/// The schedule of a violation with the fewest switches, if there is one within the bound.
fn find_schedule(query: &ThreadQuery<'_>) -> Option<Schedule> {
    match droste_threads::search(query, &droste_threads::Options::default()).0 {
        Finding::Hit(schedule, _) => Some(schedule),
        Finding::Nothing { .. } => None,
        Finding::Stopped(reason, _) => panic!("{reason}"),
    }
}

#[test]
fn schedules_that_say_less_are_completed() {
    let mut rebuilt = 0;
    for seed in seeds(7_000, 100) {
        let (_, text) = concurrent(seed);
        let (program, _) = lower(&parse(&text));
        let program = program.expect("a program");
        let mut random = Random::new(seed);
        for (_, nodes, default) in questions(&program) {
            let (target, claim) = if default {
                (Target::Default(&nodes), ConcurrentClaim::Default(&nodes))
            } else {
                (Target::Reach(&nodes), ConcurrentClaim::Reaches(&nodes))
            };
            let query = droste_threads::query(&program, target, Some(Bound::Switches(3)));
            let Some(mut schedule) = find_schedule(&query) else {
                continue;
            };
            let switches = schedule.turns.len();
            for turn in &mut schedule.turns {
                for value in &mut turn.globals {
                    if random.percent(40) {
                        *value = None;
                    }
                }
            }
            let execution = rebuild(&query, &schedule, &options(Engine::Explicit));
            let execution = execution.unwrap_or_else(|e| panic!("seed {seed}: {e:?}\n{text}"));
            let bound = Some(Bound::Switches(switches));
            let verdict = replay_concurrent(&program, &execution, Some(claim), bound);
            assert_eq!(verdict, Ok(()), "seed {seed}\n{text}");
            rebuilt += 1;
        }
    }
    println!("{rebuilt} executions rebuilt");
}

#[test]
fn impossible_schedules_are_refused() {
    let text = "decl a; void main() begin a := F; start_thread f(); end
        void f() begin a := T; L: skip; end";
    let (program, _) = lower(&parse(text));
    let program = program.expect("a program");
    let nodes = droste_program::labels::find(&program, "L").expect("the label");
    let target = Target::Reach(&nodes);
    let query = droste_threads::query(&program, target, Some(Bound::Switches(1)));
    let good = find_schedule(&query).expect("a schedule");
    assert!(rebuild(&query, &good, &options(Engine::Explicit)).is_ok());
    let refused = |change: &dyn Fn(&mut Schedule)| {
        let mut bad = good.clone();
        change(&mut bad);
        let error = rebuild(&query, &bad, &options(Engine::Explicit)).expect_err("impossible");
        assert!(matches!(error, NotRebuilt::Impossible(_)), "{error:?}");
    };
    refused(&|s| s.turns.clear());
    refused(&|s| s.turns[1].globals[0] = Some(1));
    refused(&|s| s.turns[1].thread = 0);
    refused(&|s| s.turns[1].thread = 7);
    refused(&|s| s.turns[0].starts.clear());
    refused(&|s| s.turns[1].globals.clear());
    refused(&|s| s.turns.truncate(1));
}

/// How many rounds the engine needs to reach `L`.
fn rounds_to_l(text: &str, by: Engine, most: usize) -> Result<Option<usize>, String> {
    let program = lower(&parse(text)).0.expect("a program");
    let property = Property::Reach(vec!["L".to_owned()]);
    engine(by, &program, &property, Some(Bound::Rounds(most)))
}

#[test]
fn in_one_round_all_started_threads_are_active_however_many() {
    let start = "start_thread t(); ";
    for count in [16, 17] {
        let text = format!(
            "decl c : u2; void main() begin c := 0; {} end
             void t() begin c := c + 1; assume(c = 2); L: skip; end",
            start.repeat(count)
        );
        for by in [Engine::Explicit, Engine::Bdd] {
            assert_eq!(rounds_to_l(&text, by, 1), Ok(Some(1)), "{count} {by:?}");
        }
    }
}

#[test]
fn threads_that_init_starts_are_active_without_a_switch_however_many_there_are() {
    // The other thread starts more than can be counted.
    let text = "decl c : u2;
        void init() begin c := 0; start_thread f(); start_thread f(); endinit: skip; end
        void f() begin c := c + 1; if (c = 1) then ONE: skip; else TWO: skip; fi end
        void thread1() begin again: start_thread skip; goto again; end";
    let program = lower(&parse(text)).0.expect("a program");
    for (label, switches) in [("ONE", 0), ("TWO", 1)] {
        let property = Property::Reach(vec![label.to_owned()]);
        for by in [Engine::Explicit, Engine::Bdd, Engine::Calculus] {
            let found = engine(by, &program, &property, Some(Bound::Switches(switches)));
            assert_eq!(found, Ok(Some(switches)), "{label} {by:?}");
        }
    }
}

#[test]
fn a_return_that_fails_beside_a_thread_that_calls_itself() {
    let text = "decl g, go;
        void main() begin start_thread wait(); set(); end
        u2 set() begin decl x : u2; go := T; return 1 / x; end
        void wait() begin
          decl seen;
          seen := go;
          assume(go);
          if (g) then atomic_end; elsif (seen) then wait(); else L: skip; fi
        end";
    let program = lower(&parse(text)).0.expect("a program");
    let property = Property::Reach(vec!["L".to_owned()]);
    for by in [Engine::Explicit, Engine::Bdd] {
        let found = engine(by, &program, &property, Some(Bound::Switches(4)));
        assert_eq!(found, Ok(Some(3)), "{by:?}");
    }
}
