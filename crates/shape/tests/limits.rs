//! Limits: a check that reaches one is unknown, and says which one it was, in every mode.

mod common;
mod javac;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use common::Setting;
use droste_base::{Countable, Deadline, Limits, StopReason};
use droste_heap::Predefined;
use droste_shape::check::{Answer, Checking, Unknown, check};
use droste_shape::proposition::parse;
use droste_shape::run::Reality;
use droste_shape::settings::{Abstraction, Mode};
use droste_shape::task::Task;
use javac::has_javac;

const SOURCE: &str = "class ListNode { ListNode next;
    static void walk(ListNode a) { while (a != null) a = step(a); }
    static ListNode step(ListNode a) { return a.next; }
    static void copy(ListNode a, int n) {
        ListNode c = null, e = null, f = null;
        for (ListNode d = a; d != null; d = d.next) { ListNode t = new ListNode(); t.next = c; c = t; }
        while (n > 3) {
            ListNode t = new ListNode();
            if (n > 4) { t.next = e; e = t; } else { t.next = f; f = t; }
        }
        for (ListNode d = a; d != null; d = d.next) c = c.next;
        while (e != null) e = e.next;
        while (f != null) f = f.next;
    }
}";

fn setting(method: &'static str) -> Setting {
    Setting {
        source: SOURCE,
        class: "ListNode",
        method,
        grammar: Some(Predefined::SinglyLinkedList),
        initial: &["H(@parameter0:{ListNode}) <= RefSLList(@parameter0:, null)"],
        abstraction: Abstraction {
            admissible: true,
            ..Abstraction::default()
        },
    }
}

/// Why nothing is known of memory safety and of a formula.
fn reasons(mut task: Task, mode: Mode, limits: Limits) -> Vec<Option<StopReason>> {
    let formula = parse("G ({terminated} | ! {terminated})", &task.names()).unwrap();
    let formulas = [formula];
    task.simplify(&formulas);
    let checking = Checking {
        mode,
        limits,
        reporter: None,
        max_steps: 200,
        concrete: true,
        contracts: false,
        skip: &[],
    };
    let reports = check(&mut task, &formulas, &checking).unwrap().reports;
    let reasons = reports.into_iter().map(|report| match report.answer {
        Answer::Unknown(Unknown::Stopped(StopReason::Untranslated(reason)), _) => Some(*reason),
        Answer::Unknown(Unknown::Stopped(reason), _) => Some(reason),
        _ => None,
    });
    reasons.collect()
}

#[test]
fn each_limit_is_named_in_each_mode() {
    if !has_javac() {
        return;
    }
    let loaded = setting("walk").task();
    let task = || loaded.clone();
    for mode in [Mode::TopLevel, Mode::OnTheFly, Mode::Rsm, Mode::Shared] {
        let is = |task: Task, limits: Limits, reason: Option<StopReason>| {
            let found = reasons(task, mode, limits);
            assert_eq!(found[0], reason, "mode {mode}");
            // What is generated on demand may be little: the formula holds whatever happens.
            let on_demand = matches!(mode, Mode::OnTheFly | Mode::Shared);
            let answered = on_demand && found[1].is_none();
            assert!(answered || found[1] == reason, "mode {mode}: {found:?}");
        };
        is(task(), Limits::default(), None);
        let over = Limits {
            deadline: Some(Deadline::after(Duration::ZERO)),
            ..Limits::default()
        };
        is(task(), over, Some(StopReason::Time(Duration::ZERO)));
        let cancelled = Limits {
            cancel: Some(Arc::new(AtomicBool::new(true))),
            ..Limits::default()
        };
        is(task(), cancelled, Some(StopReason::Cancelled));
        let edges = Limits {
            path_edges: Some(3),
            ..Limits::default()
        };
        is(task(), edges, Some(StopReason::PathEdges(3)));
        let memory = Limits {
            memory: Some(1),
            ..Limits::default()
        };
        is(task(), memory, Some(StopReason::Memory(1)));
        let too_many = |what, most| Some(StopReason::TooMany(what, most));
        let mut small = task();
        small.options.max_states = 3;
        is(small, Limits::default(), too_many(Countable::States, 3));
        let mut small = task();
        small.options.max_state_space = 3;
        is(
            small,
            Limits::default(),
            too_many(Countable::SpaceStates, 3),
        );
        let mut small = task();
        small.options.max_heap = 1;
        is(small, Limits::default(), too_many(Countable::HeapNodes, 1));
    }
}

/// The lists are equally long, which the abstraction does not see. On concrete heaps two more lists have
/// any length: the time for these is over before all are tried, and that is said.
#[test]
fn concrete_heaps_may_run_out_of_time() {
    if !has_javac() {
        return;
    }
    let loaded = setting("copy").task();
    // Half of the time that is left is for concrete heaps. How long the rest takes depends on the machine.
    let answers = (0..).map(|doublings| {
        let checking = Checking {
            mode: Mode::Shared,
            limits: Limits {
                deadline: Some(Deadline::after(Duration::from_millis(200 << doublings))),
                ..Limits::default()
            },
            reporter: None,
            max_steps: 200,
            concrete: true,
            contracts: false,
            skip: &[],
        };
        let mut reports = check(&mut loaded.clone(), &[], &checking).unwrap().reports;
        reports.swap_remove(0).answer
    });
    let in_time = |answer: &Answer| !matches!(answer, Answer::Unknown(..));
    let Some(Answer::Violated(run)) = answers.take(8).find(in_time) else {
        panic!("no violation");
    };
    assert!(
        matches!(run.reality, Reality::Doubtful(_, true)),
        "{:?}",
        run.reality
    );
}
