//! Objects that are lost: against the concrete interpreter on random programs, and small programs in Java.
//!
//! The oracle is naive. An object is lost if the variables of all methods that are running do not lead to
//! it, whether they are used again or not. What `holds` must lose nothing on any run, and what is said to
//! be real must be lost on some run on that heap.

mod common;
mod javac;
mod random;

use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering};

use common::Setting;
use droste_base::Limits;
use droste_heap::{Heap, Predefined};
use droste_pointer::interpret::{Frame, Interpreter, ObjectId, Outcome, Value};
use droste_pointer::{Statement, Value as Source};
use droste_shape::check::{Answer, Checking, NO_LEAKS, Report, check};
use droste_shape::run::Reality;
use droste_shape::settings::{Abstraction, Mode};
use droste_shape::task::Task;
use droste_testkit::random::Random;
use droste_testkit::sweep::seeds;
use javac::has_javac;
use random::{BALANCED, DOUBLE, LISTS, TREES, World, concrete};

/// The answer to the question whether objects are lost.
fn ask(task: &mut Task, limits: Limits) -> Report {
    task.options.leaks = true;
    let checking = Checking {
        mode: Mode::Shared,
        limits,
        reporter: None,
        max_steps: 200,
        concrete: true,
        contracts: false,
        skip: &[],
    };
    let reports = check(task, &[], &checking).unwrap().reports;
    let mut leaks = reports.into_iter().filter(|one| one.property == NO_LEAKS);
    leaks.next().unwrap()
}

/// Whether the variables of these frames do not lead to all objects.
fn loses(run: &Interpreter<'_>, task: &Task, frames: &[Frame], thrown: Value) -> bool {
    let mut todo: Vec<Value> = vec![thrown];
    for frame in frames {
        todo.extend(&frame.locals);
        // What has not been named yet.
        let code = &task.program.method(frame.method).code[frame.pc as usize..];
        for statement in code {
            match statement {
                Statement::Assign {
                    value: Source::This,
                    ..
                } => todo.push(frame.this),
                Statement::Assign {
                    value: Source::Parameter(at),
                    ..
                } => todo.extend(frame.parameters.get(*at as usize)),
                _ => break,
            }
        }
    }
    let mut reached = HashSet::new();
    while let Some(value) = todo.pop() {
        if let Value::Object(id) = value
            && reached.insert(id)
        {
            todo.extend(run.heap().object(id).fields.iter().map(|field| field.1));
        }
    }
    let mut objects = run.heap().objects.iter().zip(0..);
    objects.any(|(object, id)| {
        let counts = !task.program.class(object.class).is_library;
        counts && !reached.contains(&ObjectId(id))
    })
}

/// Whether a random run on a heap loses an object. `null` says whether it counts what methods lose that
/// are left because null was used and nobody catches that.
fn loses_on(task: &Task, heap: &Heap, random: &mut Random, null: bool) -> bool {
    let (objects, _, parameters) = concrete(heap, task);
    let mut run = Interpreter::new(&task.program, objects, Value::Undefined, parameters);
    let mut lost = false;
    let mut last: Vec<Frame> = Vec::new();
    let outcome = run.run(
        120,
        |choices| random.below(choices),
        |run| {
            lost |= loses(run, task, run.frames(), Value::Undefined);
            last = run.frames().to_vec();
        },
    );
    // An exception that nobody catches leaves one method after the other.
    let mut left = 1..last.len();
    let thrown = outcome == Outcome::Thrown || null && outcome == Outcome::NullDereference;
    lost || thrown && left.any(|at| loses(&run, task, &last[..at], run.thrown()))
}

#[derive(Default)]
struct Seen {
    held: AtomicU64,
    lost: AtomicU64,
    real: AtomicU64,
}

fn one(world: &World, seed: u64, seen: &Seen) {
    let random = &mut Random::new(seed);
    let mut task = world.task(random);
    let limits = Limits {
        path_edges: Some(4_000),
        ..Limits::default()
    };
    let report = ask(&mut task, limits);
    let shown = |what: &str| format!("SEED={seed}: {what}\n{}", task.program);
    match &report.answer {
        Answer::Unknown(..) => {}
        Answer::Holds => {
            seen.held.fetch_add(1, Ordering::Relaxed);
            let mut copy = world.task(&mut Random::new(seed));
            let heaps = copy.with_machine(&[], |_, machine, initial| {
                Some(machine.instances(&initial[0]))
            });
            for heap in heaps.unwrap().iter().take(8) {
                for _ in 0..6 {
                    let lost = loses_on(&task, heap, random, false);
                    assert!(!lost, "{}", shown("an object is lost"));
                }
            }
        }
        Answer::Violated(run) => {
            seen.lost.fetch_add(1, Ordering::Relaxed);
            if let Reality::Real(heap, run) = &run.reality {
                seen.real.fetch_add(1, Ordering::Relaxed);
                let tries = if run.guesses.is_empty() { 100 } else { 400 };
                let found = (0..tries).any(|_| loses_on(&task, heap, random, true));
                assert!(
                    found,
                    "{}",
                    shown("nothing is lost on the heap that is shown")
                );
            }
        }
    }
}

fn sweep(world: &World, first: u64, count: u64) {
    let seen = Seen::default();
    seeds(first, count, |seed| one(world, seed, &seen));
    println!(
        "{}: {} held, {} violated, {} of them real",
        world.class,
        seen.held.into_inner(),
        seen.lost.into_inner(),
        seen.real.into_inner()
    );
}

#[test]
fn what_is_lost_in_lists_is_found() {
    sweep(&LISTS, 0, 150);
    sweep(&DOUBLE, 10_000, 60);
}

#[test]
fn what_is_lost_in_trees_is_found() {
    sweep(&TREES, 20_000, 40);
    sweep(&BALANCED, 30_000, 20);
}

#[test]
#[ignore = "long: for the sweeps"]
fn what_is_lost_is_found_many_times() {
    sweep(&LISTS, 100_000, 8_000);
    sweep(&DOUBLE, 200_000, 3_000);
    sweep(&TREES, 300_000, 2_000);
    sweep(&BALANCED, 400_000, 500);
}

const SOURCE: &str = "
class Cell { Cell next; }
class Keeper { static Cell kept; }
class P {
    static Cell walk(Cell head) {
        Cell at = head;
        while (at.next != null) { at = at.next; }
        return at;
    }
    static Cell forget(Cell head) {
        head = head.next;
        return head;
    }
    static Cell unused(Cell head) {
        Cell old = head;
        head = head.next;
        return head;
    }
    static void give() { Keeper.kept = new Cell(); }
    static void drop() { new Cell(); }
    static void local() { Cell mine = new Cell(); }
    static void calls() { local(); }
    static Cell take(Cell head) { Cell mine = new Cell(); return mine; }
    static Cell overwritten() {
        Cell a = new Cell();
        a = new Cell();
        return a;
    }
}";

/// The answer for a method: a word, and whether a violation is real.
fn of(method: &'static str) -> (&'static str, bool) {
    let setting = Setting {
        source: SOURCE,
        class: "P",
        method,
        grammar: Some(Predefined::SinglyLinkedList),
        initial: &["H(@parameter0:{Cell}) <= b{Cell} | @parameter0:.next -> b * b.next -> null"],
        abstraction: Abstraction::default(),
    };
    let mut task = setting.task();
    task.options.leaks = true;
    task.simplify(&[]);
    let report = ask(&mut task, Limits::default());
    let real = match &report.answer {
        Answer::Violated(run) => matches!(run.reality, Reality::Real(..)),
        _ => false,
    };
    (report.answer.word(), real)
}

#[test]
fn a_variable_holds_its_object_until_it_gets_another_one() {
    if !has_javac() {
        return;
    }
    // `head` is not used any more, and holds the list.
    assert_eq!(of("walk"), ("holds", false));
    assert_eq!(of("unused"), ("holds", false));
    assert_eq!(of("forget"), ("violated", true));
    assert_eq!(of("overwritten"), ("violated", true));
}

#[test]
fn what_is_lost_when_a_method_is_left() {
    if !has_javac() {
        return;
    }
    // The run is over when the outermost method is left.
    assert_eq!(of("local"), ("holds", false));
    assert_eq!(of("take"), ("holds", false));
    assert_eq!(of("calls"), ("violated", true));
    // Nothing holds what is on no variable.
    assert_eq!(of("drop"), ("violated", true));
}

#[test]
fn what_others_may_keep_is_not_known_to_be_lost() {
    if !has_javac() {
        return;
    }
    assert_eq!(of("give"), ("unknown", false));
}
