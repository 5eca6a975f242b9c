//! Lists: the verdicts of small Java programs that are plain to see.

mod common;
mod javac;

use common::{Setting, statements, words};
use droste_heap::Predefined;
use droste_shape::settings::{Abstraction, Mode};
use droste_shape::vacuity::Vacuity;
use javac::has_javac;

const SOURCE: &str = "
class ListNode { ListNode next; }
class L {
  static ListNode two() { ListNode a = new ListNode(); ListNode b = new ListNode(); a.next = b; return a; }
  static void walk() { ListNode c = two(); while (c != null) { c = c.next; } }
  static void bad() { ListNode c = two(); c = c.next; c = c.next; c = c.next; }
  static ListNode build() {
    ListNode h = null;
    while (System.nanoTime() > 3) { ListNode n = new ListNode(); n.next = h; h = n; }
    return h;
  }
  static void both() { ListNode h = build(); while (h != null) { h = h.next; } }
  static void oneMore() { ListNode h = build(); while (h != null) { h = h.next; } h = h.next; }
  static ListNode copy(ListNode h) {
    if (h == null) return null;
    ListNode r = new ListNode();
    r.next = copy(h.next);
    return r;
  }
  static void recursion() { ListNode h = copy(build()); while (h != null) { h = h.next; } }
  static void array(ListNode[] a) { ListNode c = a[0]; c = c.next; }
  static void endless(ListNode h) { endless(h); }
  static ListNode same(ListNode h) { ListNode a = h; return a; }
  static ListNode step(ListNode h) { ListNode a = h.next; return a; }
  static ListNode fresh() { ListNode a = new ListNode(); return a; }
  static int sign(ListNode h) { int k = -1; if (h.next == null) k = 1; if (k == -1) h = h.next.next; return 0; }
  static void reverse(ListNode head) {
    ListNode r = null;
    ListNode current = head;
    while (current != null) { ListNode t = current.next; current.next = r; r = current; current = t; }
  }
}";

fn setting(method: &'static str, grammar: bool) -> Setting {
    Setting {
        source: SOURCE,
        class: "L",
        method,
        grammar: grammar.then_some(Predefined::SinglyLinkedList),
        initial: &[],
        abstraction: Abstraction {
            admissible: true,
            ..Abstraction::default()
        },
    }
}

/// The same for a list of any length but zero.
fn on_a_list(method: &'static str) -> Setting {
    Setting {
        initial: &["I(@parameter0:{ListNode}) <= RefSLList(@parameter0:, null)"],
        ..setting(method, true)
    }
}

const MODES: [Mode; 4] = [Mode::Shared, Mode::TopLevel, Mode::OnTheFly, Mode::Rsm];

#[test]
fn null_dereferences_are_found() {
    if !has_javac() {
        return;
    }
    for mode in MODES {
        assert_eq!(words(&setting("walk", false).check(mode, &[])), ["holds"]);
        let reports = setting("bad", false).check(mode, &[]);
        assert_eq!(words(&reports), ["violated"]);
        assert_eq!(statements(&reports[0]).last().unwrap(), "c = c.next");
        assert_eq!(words(&setting("both", true).check(mode, &[])), ["holds"]);
        let reports = setting("oneMore", true).check(mode, &[]);
        assert_eq!(words(&reports), ["violated"]);
    }
}

#[test]
fn recursion_comes_to_an_end() {
    if !has_javac() {
        return;
    }
    for mode in MODES {
        let reports = setting("recursion", true)
            .check(mode, &["F terminated", "G !{in(copy)} | F {line 15}"]);
        // The list may be built for ever, but then constructors come to their ends.
        let ends = if mode == Mode::TopLevel {
            "violated"
        } else {
            "holds"
        };
        assert_eq!(words(&reports), ["holds", ends, "holds"]);
    }
    let endless = setting("endless", true);
    let words = |mode| words(&endless.check(mode, &["F terminated"]));
    assert_eq!(words(Mode::Shared), ["holds", "violated"]);
    // Seen from above, nothing goes on for ever.
    assert_eq!(words(Mode::TopLevel), ["holds", "holds"]);
}

#[test]
fn a_list_stays_a_list() {
    if !has_javac() {
        return;
    }
    let reverse = Setting {
        initial: &["List(@parameter0:{ListNode}) <= RefSLList(@parameter0:, null)"],
        abstraction: Abstraction {
            admissible: true,
            garbage_collection: false,
            ..Abstraction::default()
        },
        ..setting("reverse", true)
    };
    for mode in MODES {
        let formulas = [
            "G (terminated -> {L(RefSLList)})",
            "F terminated",
            "F {current == null}",
        ];
        let reports = reverse.check(mode, &formulas);
        // Seen in the abstract, a list may be walked for ever.
        assert_eq!(
            words(&reports),
            ["holds", "holds", "violated", "violated"],
            "{mode}"
        );
    }
}

#[test]
fn what_is_not_known_does_not_hold() {
    if !has_javac() {
        return;
    }
    let reports = setting("array", false).check(Mode::Shared, &["G true"]);
    assert_eq!(words(&reports), ["unknown", "unknown"]);
}

#[test]
fn objects_behind_fields_that_nobody_uses_are_marked() {
    if !has_javac() {
        return;
    }
    let reports = on_a_list("same").check(Mode::Shared, &["F {visited(a)}"]);
    assert_eq!(words(&reports), ["holds", "violated"]);
}

#[test]
fn fields_that_only_formulas_name_are_seen() {
    if !has_javac() {
        return;
    }
    let formulas = ["G !{a.next == null}", "G !{a.next != null}"];
    let reports = on_a_list("same").check(Mode::Shared, &formulas);
    assert_eq!(words(&reports), ["holds", "violated", "violated"]);
    let formulas = ["F {a.next == null}", "G !{a.next == null}"];
    let reports = setting("fresh", true).check(Mode::Shared, &formulas);
    assert_eq!(words(&reports), ["holds", "holds", "violated"]);
}

#[test]
fn a_shape_that_is_not_recognised_may_be_there() {
    if !has_javac() {
        return;
    }
    let formulas = ["G ({terminated} | {sll})", "G !{sll}"];
    let reports = on_a_list("same").check(Mode::Shared, &formulas);
    assert_eq!(words(&reports), ["holds", "holds", "violated"]);
    let ring = Setting {
        initial: &["I(@parameter0:{ListNode}) <= RefSLList(@parameter0:, @parameter0:)"],
        ..setting("same", true)
    };
    let reports = ring.check(Mode::Shared, &["F {sll}", "G !{sll}"]);
    assert_eq!(words(&reports), ["holds", "violated", "unknown"]);
}

#[test]
fn recursion_that_allocates_ends_with_formulas_about_variables() {
    if !has_javac() {
        return;
    }
    for mode in [Mode::Shared, Mode::OnTheFly, Mode::Rsm] {
        let formulas = ["G {identicNeighbours}", "G !{r == h}"];
        let reports = on_a_list("copy").check(mode, &formulas);
        assert_eq!(words(&reports), ["holds"; 3]);
    }
}

#[test]
fn a_ring_keeps_its_neighbours_however_it_is_abstracted() {
    if !has_javac() {
        return;
    }
    for admissible in [true, false] {
        let ring = Setting {
            initial: &["I(@parameter0:{ListNode}) <= RefSLList(@parameter0:, @parameter0:)"],
            abstraction: Abstraction {
                admissible,
                ..Abstraction::default()
            },
            ..setting("step", true)
        };
        let reports = ring.check(Mode::Shared, &["G {identicNeighbours}"]);
        assert_eq!(words(&reports), ["holds"; 2], "admissible: {admissible}");
    }
}

#[test]
fn minus_one_is_a_number_of_its_own() {
    if !has_javac() {
        return;
    }
    let reports = on_a_list("sign").check(Mode::Shared, &[]);
    assert_eq!(words(&reports), ["holds"]);
}

#[test]
fn where_there_is_nothing_to_mark_no_run_begins() {
    if !has_javac() {
        return;
    }
    let formulas = ["F {visited(h)}", "G {identicNeighbours}"];
    let reports = setting("both", true).check(Mode::Shared, &formulas);
    assert_eq!(words(&reports), ["holds"; 3]);
    for report in &reports[1..] {
        assert_eq!(report.vacuous, Some(Vacuity::NoObject));
    }
}

#[test]
fn a_line_that_nobody_needs_is_executed() {
    if !has_javac() {
        return;
    }
    let setting = Setting {
        source: "class T { T next;
            static void f() {
                T a = new T();
                T b = a;
                a.next = a;
            }
            static void g() { f(); }
        }",
        class: "T",
        ..setting("g", false)
    };
    for mode in [Mode::Shared, Mode::OnTheFly, Mode::Rsm] {
        let reports = setting.check(mode, &["F {line 4}", "F {line T.java:5}", "G !{line T:5}"]);
        assert_eq!(words(&reports), ["holds", "holds", "holds", "violated"]);
    }
}

/// Every statement is in its line, whether or not the heap program has something to do for it.
#[test]
fn lines_whose_statements_do_nothing() {
    if !has_javac() {
        return;
    }
    let setting = |method: &'static str| Setting {
        source: "class T { T next; static int visits;
            static void count(T c) {
                visits++;
            }
            static void same(T c) {
                c = c;
            }
            static void number(T c) {
                int k = 1;
            }
            static void loop(T c) {
                c = new T();
                while (c != null && visits > 0) {
                    visits = 2; c = c.next;
                }
                visits--;
            }
            void none(T c) {
            }
        }",
        class: "T",
        ..setting(method, false)
    };
    for mode in MODES {
        for (method, line) in [
            ("count", 3),
            ("same", 6),
            ("number", 9),
            ("loop", 16),
            ("none", 19),
        ] {
            let [never, at_last] = [format!("G !{{line {line}}}"), format!("F {{line {line}}}")];
            let reports = setting(method).check(mode, &[&never, &at_last]);
            assert_eq!(words(&reports), ["holds", "violated", "holds"], "{method}");
        }
        // A line that is not passed on every run.
        let reports = setting("loop").check(mode, &["F {line 14}", "F ({line 14} | {line 16})"]);
        assert_eq!(words(&reports), ["holds", "violated", "holds"]);
    }
}

#[test]
fn null_is_no_array_and_no_lock() {
    if !has_javac() {
        return;
    }
    let source = "class T {
        static void get() { T[] a = null; T t = a[0]; }
        static void set() { int[] a = null; a[0] = 1; }
        static void length() { long[] a = null; int n = a.length; }
        static void lock() { Object o = null; synchronized (o) { } }
        static void raise() { RuntimeException e = null; throw e; }
        static void fine() { T[] a = new T[2]; a[0] = null; int n = a.length; }
        static void given(T[] a) { T t = a[0]; }
    }";
    let of = |method: &'static str| {
        let setting = Setting {
            source,
            class: "T",
            ..setting(method, false)
        };
        words(&setting.check(Mode::Shared, &[]))
    };
    for method in ["get", "set", "length", "lock", "raise"] {
        assert_eq!(of(method), ["violated"], "{method}");
    }
    // What is not known is taken to be there.
    for method in ["fine", "given"] {
        assert_eq!(of(method), ["holds"], "{method}");
    }
}
