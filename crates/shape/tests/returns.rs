//! Where a call is a single step, a verdict says which calls may not return: against the concrete
//! interpreter on random programs.
//!
//! The oracle is naive. If a configuration comes up twice while the same call of the outermost method is
//! pending, there is a run that never returns from that call.

mod common;
mod javac;
mod random;

use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering};

use common::{Setting, words};
use droste_base::Limits;
use droste_heap::Predefined;
use droste_pointer::interpret::{Frame, Heap, Interpreter, Value};
use droste_pointer::{Callees, LocalId, MethodId, Operand, Statement};
use droste_shape::check::{Answer, Checking, Report, check};
use droste_shape::proposition::parse;
use droste_shape::settings::{Abstraction, Mode};
use droste_shape::task::Task;
use droste_testkit::random::Random;
use droste_testkit::sweep::seeds;
use javac::has_javac;
use random::{LISTS, TREES, World, concrete};

/// What is said of a formula that holds of every run.
fn ask(task: &mut Task, formula: &str) -> Option<Report> {
    let formula = parse(formula, &task.names()).unwrap();
    let checking = Checking {
        mode: Mode::TopLevel,
        limits: Limits {
            path_edges: Some(8_000),
            ..Limits::default()
        },
        reporter: None,
        max_steps: 200,
        concrete: false,
        contracts: false,
        skip: &[],
    };
    let reports = check(task, &[formula], &checking).unwrap().reports;
    let last = reports.into_iter().next_back();
    last.filter(|report| matches!(report.answer, Answer::Holds))
}

fn one(world: &World, seed: u64, found: &AtomicU64) {
    let random = &mut Random::new(seed);
    let mut task = world.task(random);
    let heaps = task.with_machine(&[], |_, machine, initial| {
        Some(machine.instances(&initial[0]))
    });
    let Some(report) = ask(&mut task, "G ({terminated} | ! {terminated})") else {
        return;
    };
    let lines: HashSet<u32> = report.endless.iter().map(|call| call.2).collect();
    for heap in heaps.unwrap_or_default().iter().take(6) {
        for _ in 0..4 {
            let (objects, _, parameters) = concrete(heap, &task);
            let mut run = Interpreter::new(&task.program, objects, Value::Undefined, parameters);
            let mut seen: HashSet<(Vec<Frame>, Heap)> = HashSet::new();
            run.run(
                100,
                |choices| random.below(choices),
                |run| {
                    let frames = run.frames();
                    if frames.len() < 2 {
                        return seen.clear();
                    }
                    if !seen.insert((frames.to_vec(), run.heap().clone())) {
                        found.fetch_add(1, Ordering::Relaxed);
                        let method = task.program.method(frames[0].method);
                        let line = method.lines[frames[0].pc as usize];
                        assert!(
                            lines.contains(&line),
                            "SEED={seed}: the call in line {line}\n{}",
                            task.program
                        );
                    }
                },
            );
        }
    }
}

#[test]
fn calls_that_do_not_return_are_told() {
    let found = AtomicU64::new(0);
    seeds(0, 150, |seed| one(&LISTS, seed, &found));
    seeds(500, 50, |seed| one(&TREES, seed, &found));
    assert!(found.into_inner() > 0);
}

/// The callee stays in a loop, and the caller's states alone look as if every run came to its end.
#[test]
fn a_loop_in_a_callee() {
    let list = LocalId(0);
    let mut task = LISTS.task_of(&[
        Statement::Call {
            to: None,
            receiver: None,
            arguments: vec![Operand::Local(list)],
            callees: Callees::One(MethodId(1)),
        },
        Statement::Return(Some(Operand::Local(list))),
    ]);
    let mut spin = task.program.methods[0].clone();
    spin.name = "spin".into();
    spin.code.truncate(3);
    let condition = droste_pointer::Condition {
        left: Operand::Local(list),
        right: Operand::Unknown,
        equal: true,
    };
    spin.code.extend([
        Statement::Branch {
            condition,
            yes: 3,
            no: 4,
        },
        Statement::Return(None),
    ]);
    spin.lines = (0..spin.code.len() as u32).collect();
    task.program.methods.push(spin);
    let report = ask(&mut task, "F {terminated}").unwrap();
    let calls: Vec<_> = report.endless.into_iter().collect();
    assert_eq!(calls, [("spin".into(), "Random.java".into(), 3)]);
    assert_eq!(report.vacuous, None);
}

/// The loop asks for null and for the next object. Its state with one object is covered by a more
/// abstract one, and the search does not go on from it.
#[test]
fn a_loop_in_a_state_that_is_covered() {
    if !has_javac() {
        return;
    }
    let setting = Setting {
        source: "
class ListNode { ListNode next; }
class E {
  static ListNode f(ListNode h) { s4(h); ListNode b = h; return b; }
  static void s4(ListNode w) { if (w != null) s5(w.next); }
  static void s5(ListNode u) { do { } while (u != null && u.next == null); }
}",
        class: "E",
        method: "f",
        grammar: Some(Predefined::SinglyLinkedList),
        initial: &["I(@parameter0:{ListNode}) <= RefSLList(@parameter0:, null)"],
        abstraction: Abstraction {
            admissible: true,
            subsumption: true,
            ..Abstraction::default()
        },
    };
    let reports = setting.check(Mode::TopLevel, &["F {b == h}"]);
    assert_eq!(words(&reports), ["holds", "holds"]);
    let calls: Vec<&str> = reports[1]
        .endless
        .iter()
        .map(|call| call.0.as_str())
        .collect();
    assert_eq!(calls, ["s4"]);
    let reports = setting.check(Mode::Shared, &["F {b == h}"]);
    assert_eq!(words(&reports), ["holds", "violated"]);
}
