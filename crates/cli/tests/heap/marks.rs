//! Marks, guesses in calls that are single steps, and initial heaps that are large.

use std::fmt::Write as _;

use crate::setup::{Setup, check_method};

/// By the rule of `N` there is an object that points to others and that nothing points to.
const ALOOF: &str = r#"[{"nonterminal":"N","rank":2,"reductionTentacles":[false,true],"rules":[
 {"nodes":[{"type":"N","number":3}],"externals":[0,1],"variables":[],"hyperedges":[],
  "selectors":[{"label":"next","origin":0,"target":1},{"label":"other","origin":0,"target":0},
   {"label":"next","origin":2,"target":0},{"label":"other","origin":2,"target":2}]}]}]"#;

/// A mark walks along fields. If that does not lead to every object, nothing holds for all of them.
#[test]
fn objects_to_which_no_field_leads() {
    let Some(setup) = Setup::new("heap-aloof") else {
        return;
    };
    let source = "class N { N next, other; }\nclass G { static N m(N a) { return a.next; } }\n";
    let file = setup.write("G.java", source);
    let grammar = setup.write("g.json", ALOOF);
    let heap = setup.write("h.txt", "H(@parameter0:{N}) <= N(@parameter0:, null)");
    let ask = |formula: &str| {
        let more = ["--grammar", &grammar, "--initial", &heap, "--ltl", formula];
        check_method(&file, "m", &more)
    };
    let done = ask("F {visited(a)}").expect(3);
    assert!(
        done.out.contains("not every object gets the mark"),
        "{}",
        done.out
    );
    ask("G {identicNeighbours}").expect(3);
    ask("G ! {visited(a)}").expect(1);
}

/// Where there is nothing to mark, no run begins.
#[test]
fn nothing_to_mark() {
    let Some(setup) = Setup::new("heap-nothing-to-mark") else {
        return;
    };
    let source = "class N { N next; }
class T { static void m(N head) { N c = head; while (c != null) { c = c.next; } } }
";
    let file = setup.write("T.java", source);
    let empty = setup.write("e.txt", "E(@parameter0:{N}) <= @parameter0: = null");
    let list = "L(@parameter0:{N}) <= RefSLList(@parameter0:, null)";
    let list = setup.write("l.txt", list);
    let basic = [
        "--grammar",
        "SLList",
        "--rename",
        "ListNode=N",
        "--initial",
        &empty,
    ];
    let of = |more: &[&str]| check_method(&file, "m", &[&basic[..], more].concat());
    let done = of(&["--ltl", "F {visited(c)}"]).expect(0);
    assert!(done.out.contains("has none to mark"), "{}", done.out);
    let done = of(&["--initial", &list, "--ltl", "G !{visited(c)}"]).expect(1);
    assert!(done.out.contains("This is real"), "{}", done.out);
}

/// What a method guesses when its call is a single step is guessed all the same.
#[test]
fn guesses_in_single_steps() {
    let Some(setup) = Setup::new("heap-guesses-inside") else {
        return;
    };
    let source = "class N { N next; }
class U {
  static void check(int n) { if (n > 7) throw new IllegalStateException(); }
  static void sure() { new N(); }
  static void m(int n, N x) { check(n); x = null; }
  static void deep(int n, N x) { m(n, x); }
  static void certain(N x) { sure(); x = null; }
}
";
    let file = setup.write("U.java", source);
    let heap = "H(@parameter1:{N}) <= @parameter1:.next -> null";
    let heap = setup.write("h.txt", heap);
    let other = "H(@parameter0:{N}) <= @parameter0:.next -> null";
    let other = setup.write("o.txt", other);
    for more in [["--mode", "top-level"], ["--skip-method", "check,m"]] {
        for method in ["m", "deep"] {
            let ltl = ["--initial", &heap, "--ltl", "G ! {terminated}"];
            let done = check_method(&file, method, &[&more[..], &ltl].concat()).expect(1);
            assert!(!done.out.contains("This is real"), "{}", done.out);
            assert!(done.out.contains("takes the branches"), "{}", done.out);
        }
    }
    let ltl = [
        "--mode",
        "top-level",
        "--initial",
        &other,
        "--ltl",
        "G ! {terminated}",
    ];
    let done = check_method(&file, "certain", &ltl).expect(1);
    assert!(done.out.contains("This is real"), "{}", done.out);
}

/// An initial heap that is too large is abstracted before anybody complains. If that does not help, it
/// is shown.
#[test]
fn large_initial_heaps() {
    let Some(setup) = Setup::new("heap-large") else {
        return;
    };
    let source = "class N { N next; }
class T { static void m(N a) { N c = a; while (c != null) { c = c.next; } } }
";
    let file = setup.write("T.java", source);
    let mut edges = String::new();
    for at in 1..60 {
        let _ = write!(
            edges,
            r#"{{"label":"next","origin":{at},"target":{}}},"#,
            at + 1
        );
    }
    let heap = format!(
        r#"{{"nodes":[{{"type":"NULL","number":1}},{{"type":"N","number":60}}],"externals":[],
        "variables":[{{"name":"null","target":0}},{{"name":"@parameter0:","target":1}}],
        "selectors":[{edges}{{"label":"next","origin":60,"target":0}}],"hyperedges":[]}}"#
    );
    let heap = setup.write("h.json", &heap);
    let lists = ["--grammar", "SLList", "--rename", "ListNode=N"];
    let initial = ["--initial", &heap, "--ltl", "G {identicNeighbours}"];
    check_method(&file, "m", &[&lists[..], &initial].concat()).expect(0);
    let done = check_method(&file, "m", &initial).expect(3);
    assert!(done.out.contains("#12 : N"), "{}", done.out);
}
