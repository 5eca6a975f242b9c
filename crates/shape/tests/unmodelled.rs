//! Formulas about values that are not modelled: a verdict is right for every value.

mod common;
mod javac;

use common::{Setting, words};
use droste_heap::Predefined;
use droste_shape::check::{Answer, Report, Unknown};
use droste_shape::run::Reality;
use droste_shape::settings::{Abstraction, Mode};
use javac::has_javac;

const SOURCE: &str = "
class ListNode { ListNode next; ListNode other; int size; }
class U {
  static ListNode S;
  static ListNode fixed(ListNode h) {
    ListNode a = S;
    ListNode b = h;
    return b;
  }
  static ListNode array(ListNode h) { ListNode[] q = new ListNode[1]; q[0] = h; ListNode a = q[0]; return h; }
  static ListNode sum(ListNode h) { int i = 0; i = i + 1; return h; }
  static ListNode twice(ListNode h) { int i = 2; int j = i; return h; }
  static ListNode field(ListNode h) {
    ListNode[] q = new ListNode[1];
    h.next = q[0];
    ListNode b = h;
    return b;
  }
  static ListNode passed(ListNode h) { ListNode c = same(S); ListNode b = h; return b; }
  static ListNode same(ListNode x) { ListNode y = x; return y; }
  static ListNode result(ListNode h) { return S; }
  static ListNode late(ListNode h) { ListNode b = h; ListNode a = S; a = h; return a; }
  static ListNode loop(ListNode h) { ListNode a = h; while (a != null) { a = S; } ListNode b = a; return b; }
  static void deep(ListNode h) { ListNode a = h; inner(h); }
  static void inner(ListNode x) { ListNode a = S; ListNode b = x; }
  static ListNode extra(ListNode h) { ListNode b = h.other; h.other = null; return h; }
  static int sizes(ListNode h) { h.size = 1; return h.size; }
}";

fn setting(method: &'static str) -> Setting {
    Setting {
        source: SOURCE,
        class: "U",
        method,
        grammar: Some(Predefined::SinglyLinkedList),
        initial: &["I(@parameter0:{ListNode}) <= RefSLList(@parameter0:, null)"],
        abstraction: Abstraction {
            admissible: true,
            ..Abstraction::default()
        },
    }
}

const MODES: [Mode; 4] = [Mode::Shared, Mode::TopLevel, Mode::OnTheFly, Mode::Rsm];

/// The answers about formulas, in all modes.
fn answers(method: &'static str, formulas: &[&str]) -> Vec<Report> {
    let mut all = MODES.map(|mode| (mode, setting(method).check(mode, formulas)));
    for (mode, reports) in &all[1..] {
        assert_eq!(words(&all[0].1), words(reports), "{method}: {mode}");
    }
    let mut reports = std::mem::take(&mut all[0].1);
    assert_eq!(reports.remove(0).answer.word(), "holds");
    reports
}

fn expect(method: &'static str, expected: &[(&str, &str)]) {
    let formulas: Vec<&str> = expected.iter().map(|pair| pair.0).collect();
    let wanted: Vec<&str> = expected.iter().map(|pair| pair.1).collect();
    let reports = answers(method, &formulas);
    assert_eq!(words(&reports), wanted, "{method}: {formulas:?}");
    for report in &reports {
        if let Answer::Violated(run) = &report.answer {
            assert!(
                matches!(run.reality, Reality::Real(..)),
                "{}",
                report.property
            );
        }
    }
}

fn reason(method: &'static str, formula: &str) -> String {
    match &answers(method, &[formula])[0].answer {
        Answer::Unknown(Unknown::Unmodelled(text), _) => text.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn variables() {
    if !has_javac() {
        return;
    }
    expect(
        "fixed",
        &[
            ("G !{a == null}", "unknown"),
            ("G !{a != null}", "unknown"),
            ("F {a == null}", "unknown"),
            ("F {a == h}", "unknown"),
            // Whatever it is.
            ("F ({a == null} | {a != null})", "unknown"),
            ("G ({a == a} | !{b == h})", "holds"),
            ("F {b == h}", "holds"),
            ("G {b != h}", "violated"),
            // Nothing is assigned at the beginning.
            ("{a == null}", "violated"),
            ("!{a == null}", "holds"),
            ("G !{isReachable(a,h)}", "unknown"),
            ("G !{isReachable(h,a)}", "unknown"),
            ("G !{visited(a)}", "unknown"),
            ("F {visited(b)}", "violated"),
        ],
    );
    expect(
        "array",
        &[("G !{a == h}", "unknown"), ("F {a == h}", "unknown")],
    );
    expect(
        "sum",
        &[("G !{i == 1}", "unknown"), ("F {i == 0}", "holds")],
    );
    expect(
        "twice",
        &[("G !{i == j}", "unknown"), ("G !{i == 1}", "unknown")],
    );
    // The value is known in the end, and before it is assigned.
    expect(
        "late",
        &[("F {a == h}", "holds"), ("G !{a == h}", "violated")],
    );
    expect(
        "loop",
        &[
            // It may stay in the loop.
            ("F {b == null}", "violated"),
            ("G !{a == h}", "violated"),
            ("G {b == h}", "violated"),
        ],
    );
}

#[test]
fn fields() {
    if !has_javac() {
        return;
    }
    expect(
        "field",
        &[
            ("G ({b == h} -> !{b.next == null})", "unknown"),
            ("G ({b == h} -> {b.next != null})", "unknown"),
            ("G ({b == h} -> !{isReachable(b,null)})", "unknown"),
            ("G ({b == h} -> !{isReachable(b,null,[next])})", "unknown"),
            ("F ({b == h} & {sll})", "unknown"),
            ("G {identicNeighbours}", "unknown"),
        ],
    );
    // Rules say nothing of this field.
    expect(
        "extra",
        &[
            ("G !{h.other == null}", "violated"),
            ("G !{b == null}", "unknown"),
            ("!{isReachable(h,h,[other])}", "unknown"),
            ("!{isReachable(h,h,[next])}", "holds"),
            ("{sll}", "holds"),
        ],
    );
    expect(
        "sizes",
        &[
            ("F {h.size == 1}", "unknown"),
            ("G !{h.size == 1}", "unknown"),
        ],
    );
}

#[test]
fn calls() {
    if !has_javac() {
        return;
    }
    expect(
        "passed",
        &[("G !{c == null}", "unknown"), ("F {b == h}", "holds")],
    );
    expect(
        "result",
        &[
            ("G !{return == null}", "unknown"),
            ("G !{return != null}", "unknown"),
        ],
    );
    // In the callee, the variable of that name is its own, and nobody knows what it holds.
    for mode in [Mode::Shared, Mode::OnTheFly, Mode::Rsm] {
        let formulas = [
            "G ({b == x} -> {a == h})",
            "G ({b == x} -> !{a == h})",
            "F {a == h}",
        ];
        let reports = setting("deep").check(mode, &formulas);
        assert_eq!(
            words(&reports[1..]),
            ["unknown", "unknown", "holds"],
            "{mode}"
        );
    }
    let formulas = ["G !{y == null}", "F {y == null}"];
    let reports = setting("passed").check(Mode::Rsm, &formulas);
    assert_eq!(words(&reports[1..]), ["unknown", "unknown"]);
    // No callee is seen.
    let reports = setting("passed").check(Mode::TopLevel, &formulas);
    assert_eq!(words(&reports[1..]), ["holds", "violated"]);
}

#[test]
fn the_reason_names_the_place() {
    if !has_javac() {
        return;
    }
    assert_eq!(
        reason("fixed", "G !{a == null}"),
        "it depends on whether {a == null} holds at U.java:8: `a` has a value that is not modelled, \
         which it gets at U.java:6"
    );
    let text = reason("field", "G !{b.next == null}");
    assert!(
        text.contains("the field `next`") && text.ends_with("U.java:15"),
        "{text}"
    );
    let text = reason("result", "G !{return == null}");
    assert!(text.contains("the result has a value"), "{text}");
}

#[test]
fn as_the_reference_does() {
    if !has_javac() {
        return;
    }
    let mut task = setting("fixed").task();
    task.options.compat = true;
    let texts = ["G !{a == null}", "F {a == null}"];
    let formulas = texts.map(|text| droste_shape::proposition::parse(text, &task.names()).unwrap());
    task.simplify(&formulas);
    let reports = common::answers(&mut task, &formulas, Mode::Shared);
    assert_eq!(words(&reports), ["holds", "violated"]);
}
