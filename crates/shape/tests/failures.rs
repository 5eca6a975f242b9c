//! Statements that may fail, or certainly do: in constructors of libraries, in static initialisers, in
//! casts and divisions. What raises nothing stays harmless.

mod common;
mod javac;

use common::Setting;
use droste_heap::Predefined;
use droste_shape::check::{Answer, Report, Unknown};
use droste_shape::run::Reality;
use droste_shape::settings::{Abstraction, Mode};
use javac::has_javac;

const SOURCE: &str = "
class ListNode { ListNode next; }
class Sub extends ListNode { ListNode extra; }
class Box<T> { T v; Box(T v) { this.v = v; } }
class Stop extends RuntimeException { }
class Many extends java.util.ArrayList<ListNode> { Many(int k) { super(k); } Many() { } }
class Throws { static { if (true) throw new Stop(); } static void f() { } }
class Parses { static int k = Integer.parseInt(\"x\"); static void f() { } }
class Sizes { static int[] k = new int[-1]; }
class Casts { static Object o = (String) (Object) Integer.valueOf(1); }
class Divides { static int k = 1 / F.z; static void f() { } }
class Fails { static { if (true) throw new AssertionError(); } static void f() { } }
class Fine {
  static int[] t = {1, 2};
  static final F.Kind[] kinds = {F.Kind.A, F.Kind.B};
  static Object o = new Object();
  static java.util.List<Object> list = new java.util.ArrayList<>();
  static int k = Math.max(1, 2);
  static void f() { assert k > 0; }
}
class Seeds extends java.util.Random {
  ListNode k;
  Seeds(ListNode k) { super(1L); }
  public void setSeed(long s) { k.next = null; }
}
class Quiet extends java.util.Random { Quiet() { super(1L); } public void setSeed(long s) { } }
class Traces extends RuntimeException {
  ListNode k;
  Traces(ListNode k) { this.k = k; }
  public Throwable fillInStackTrace() { k.next = null; return this; }
}
class Skips extends RuntimeException {
  ListNode k;
  Skips(ListNode k) { super(null, null, false, false); this.k = k; }
  public Throwable fillInStackTrace() { k.next = null; return this; }
}
class F {
  enum Kind { A, B }
  static int z;
  static ListNode bad() { ListNode y = null; return y.next; }

  static ListNode opened(ListNode a) {
    try { new java.io.FileReader(\"no\"); } catch (java.io.IOException e) { a = null; }
    return a.next;
  }
  static ListNode above(ListNode a) {
    try { new Many(-1); } catch (IllegalArgumentException e) { a = null; }
    return a.next;
  }
  static ListNode boxed(ListNode a) {
    try { new Integer(\"x\"); } catch (NumberFormatException e) { a = null; }
    return a.next;
  }
  static ListNode supplied(ListNode a) {
    java.util.function.Supplier<Object> s = () -> new java.util.ArrayList<Object>(-1);
    try { s.get(); } catch (RuntimeException e) { a = null; }
    return a.next;
  }
  static ListNode plain(ListNode a) {
    try {
      new java.util.ArrayList<Object>(); new Many(); new Object(); new StringBuilder();
      new java.util.HashMap<Object, Object>(16); new Stop(); new Thread(); new Exception(\"x\");
    } catch (RuntimeException e) { a = null; }
    return a.next;
  }

  static String text;
  static int[] numbers;
  static ListNode noText(ListNode a) { try { text.length(); } catch (Throwable e) { a = null; } return a.next; }
  static ListNode noArray(ListNode a) {
    try { int k = numbers.length; } catch (RuntimeException e) { return a; }
    return bad();
  }
  static ListNode noLock(ListNode a) {
    try { synchronized (text) { } } catch (NullPointerException e) { a = null; }
    return a.next;
  }
  static ListNode noNumber(ListNode a) {
    try { Integer i = Integer.getInteger(\"no\"); int k = i; } catch (NullPointerException e) { a = null; }
    return a.next;
  }

  static ListNode throwing(ListNode a) { try { Throws.f(); } catch (Throwable e) { a = null; } return a.next; }
  static ListNode parsing(ListNode a) { try { Parses.f(); } catch (Error e) { a = null; } return a.next; }
  static ListNode sizing(ListNode a) { try { new Sizes(); } catch (LinkageError e) { a = null; } return a.next; }
  static ListNode casting(ListNode a) { try { Object o = Casts.o; } catch (Error e) { a = null; } return a.next; }
  static ListNode dividing(ListNode a) {
    try { Divides.f(); } catch (ExceptionInInitializerError e) { a = null; }
    return a.next;
  }
  static ListNode again(ListNode a) {
    try { Divides.f(); } catch (Error e) { }
    try { Divides.f(); } catch (NoClassDefFoundError e) { a = null; }
    return a.next;
  }
  static ListNode errors(ListNode a) { try { Fails.f(); } catch (AssertionError e) { a = null; } return a.next; }
  static ListNode notTaken(ListNode a) { try { Throws.f(); } catch (Exception e) { a = null; } return a.next; }
  static ListNode harmless(ListNode a) { try { Fine.f(); } catch (Throwable e) { a = null; } return a.next; }

  static ListNode seeded(ListNode a) { new Seeds(a); return a; }
  static ListNode seededQuietly(ListNode a) { new Quiet(); return a; }
  static ListNode traced(ListNode a) { throw new Traces(a); }
  static ListNode skipped(ListNode a) { throw new Skips(a); }

  static ListNode fails(ListNode a) { Sub s = (Sub) a; return bad(); }
  static ListNode taken(ListNode a) { try { Sub s = (Sub) a; } catch (ClassCastException e) { return a; } return bad(); }
  static ListNode succeeds(ListNode a) { ListNode s = new Sub(); Sub t = (Sub) s; t = (Sub) null; return bad(); }
  static ListNode generic(ListNode a) { Box b = new Box<ListNode>(a); Box<Sub> s = b; Sub q = s.v; return bad(); }
  static ListNode ofLibrary(ListNode a) { Object o = a; String s = (String) o; return bad(); }
  static ListNode zero(ListNode a) { int k = 0; int j = 1 / k; return bad(); }
  static ListNode one(ListNode a) { int k = 1; int j = 1 / k + 5 % 3; return bad(); }
  static ListNode negative(ListNode a) { int[] c = new int[-1]; return bad(); }
  static ListNode filled(ListNode a) { int[] c = {1, 2}; ListNode[] d = {a}; return bad(); }
  static ListNode indexed(ListNode a) { ListNode[] c = new ListNode[0]; c[0] = a; return bad(); }
  static ListNode parsed(ListNode a) { int k = Integer.parseInt(\"x\"); return bad(); }
  static ListNode exits(ListNode a) { System.exit(0); return bad(); }
  static ListNode usual(ListNode a) {
    System.out.println(a); int k = Math.max(1, 2); java.util.List<ListNode> l = new java.util.ArrayList<>(); l.add(a);
    return bad();
  }

  static ListNode switched(ListNode a, Kind k) {
    switch (k) {
      case A: return a;
      default: return a.next.next;
    }
  }
  static ListNode switchedSafely(ListNode a, Kind k) {
    try {
      switch (k) {
        case A: return a;
        default: return a.next;
      }
    } catch (IndexOutOfBoundsException e) { return a.next.next; }
  }
}";

fn report(method: &'static str) -> Report {
    let setting = Setting {
        source: SOURCE,
        class: "F",
        method,
        grammar: Some(Predefined::SinglyLinkedList),
        initial: &["I(@parameter0:{ListNode}) <= RefSLList(@parameter0:, null)"],
        abstraction: Abstraction {
            admissible: true,
            ..Abstraction::default()
        },
    };
    setting.check(Mode::Shared, &[]).remove(0)
}

/// The answer in a word, and if it is a violation, whether it is certain.
fn answer(method: &'static str) -> String {
    let report = report(method);
    match &report.answer {
        Answer::Violated(run) => match &run.reality {
            Reality::Real(_, run) if !run.guesses.is_empty() => "violated by a guess".into(),
            Reality::Real(_, run) if !run.doubts.is_empty() => "violated, perhaps".into(),
            Reality::Real(..) => "violated".into(),
            Reality::Doubtful(_, true) => "there was no time".into(),
            _ => "violated abstractly".into(),
        },
        other => other.word().into(),
    }
}

fn all(wanted: &str, methods: &[&'static str]) {
    if !has_javac() {
        return;
    }
    for method in methods {
        let answer = answer(method);
        let late = answer == "there was no time" && wanted.starts_with("violated");
        assert!(late || answer == wanted, "{method}: {answer}, not {wanted}");
    }
}

#[test]
fn constructors_of_libraries() {
    all(
        "violated by a guess",
        &["opened", "above", "boxed", "supplied"],
    );
    all("holds", &["plain"]);
}

/// What is not modelled may be null where somebody catches that.
#[test]
fn null_that_is_not_modelled() {
    let methods = ["noText", "noArray", "noLock", "noNumber"];
    all("violated by a guess", &methods);
}

#[test]
fn static_initialisers() {
    all(
        "violated by a guess",
        &[
            "throwing", "parsing", "sizing", "casting", "dividing", "again", "errors",
        ],
    );
    all("holds", &["notTaken", "harmless"]);
}

#[test]
fn methods_that_constructors_run() {
    if !has_javac() {
        return;
    }
    match report("seeded").answer {
        Answer::Unknown(Unknown::UnknownCode(text), _) => {
            assert!(text.contains("setSeed"), "{text}");
        }
        other => panic!("{}", other.word()),
    }
    all("violated", &["traced"]);
    all("holds", &["seededQuietly", "skipped"]);
}

#[test]
fn what_certainly_fails_ends_a_run() {
    all(
        "holds",
        &["fails", "taken", "generic", "zero", "negative", "exits"],
    );
    all("violated", &["succeeds", "one", "filled", "usual"]);
    all("violated, perhaps", &["ofLibrary", "indexed", "parsed"]);
}

#[test]
fn enums() {
    all("violated by a guess", &["switched"]);
    all("holds", &["switchedSafely"]);
}

/// A jump back to the head of a loop is not in the last line of the loop.
#[test]
fn lines_of_jumps() {
    if !has_javac() {
        return;
    }
    let source = "class ListNode { ListNode next; }
class Sub extends ListNode { ListNode extra; }
class L {
  static ListNode m(ListNode a) {
    ListNode c = a;
    while (c != null) {
      c = c.next;
      if (c instanceof Sub) {
        ((Sub) c).extra = a;
      }
    }
    return a;
  }
  static ListNode n(ListNode a) {
    ListNode c = a;
    while (c != null) {
      c = c.next;
      if (c != null) {
        continue;
      }
      a.next = null;
    }
    return a;
  }
}";
    let setting = |method| Setting {
        source,
        class: "L",
        method,
        grammar: Some(Predefined::SinglyLinkedList),
        initial: &["I(@parameter0:{ListNode}) <= RefSLList(@parameter0:, null)"],
        abstraction: Abstraction::default(),
    };
    let words = |method, formulas: &[&str]| {
        let reports = setting(method).check(Mode::Shared, formulas);
        common::words(&reports)
    };
    assert_eq!(words("m", &["G !{line 9}"]), ["holds", "holds"]);
    assert_eq!(
        words("n", &["G !{line 19}", "G !{line 21}", "G !{line 17}"]),
        ["holds", "violated", "violated", "violated"]
    );
}
