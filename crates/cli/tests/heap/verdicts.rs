//! Verdicts, exit codes, what people see, and which classes and formulas are meant.

use std::fs;

use crate::common::{Done, droste, golden};
use crate::setup::{LAST, Setup, check, check_method, example};

#[test]
fn verdicts_by_flags() {
    let Some((_, file)) = Setup::lists("heap-flags") else {
        return;
    };
    let of = |method: &str, more: &[&str]| check_method(&file, method, more);
    let safe = of("walk", &["--json"]).expect(0).json();
    assert_eq!(safe["verdict"], "holds");
    assert!(safe["stats"]["seconds"].is_number() && safe["stats"]["javac_seconds"].is_number());
    let unsafe_ = of("bad", &["--json"]).expect(1).json();
    assert_eq!(unsafe_["verdict"], "violated");
    let steps = unsafe_["trace"]["steps"].as_array().unwrap();
    assert_eq!(steps.last().unwrap()["action"], "null dereference");
    assert_eq!(steps.last().unwrap()["line"], 5);
    // The heap is empty at the beginning, and that is what shows it.
    assert!(unsafe_["trace"]["input"].is_object());
    let done = of("wakl", &["--class", "L"]).expect(2);
    assert!(done.err.contains("walk"), "{}", done.err);
    let done = check(&file, &["--class", "Nothing"]).expect(2);
    assert!(done.err.contains("Nothing"), "{}", done.err);
    let err = of("walk", &["--reach", "X"]).expect(2).err;
    assert!(err.contains("--reach"), "{err}");
    let err = of("walk", &["--ltl", "F {x == c}"]).expect(2).err;
    assert!(err.contains("there is no variable `x`"), "{err}");
}

#[test]
fn classes_beside_a_class_file_are_found() {
    let Some((setup, file)) = Setup::lists("heap-beside") else {
        return;
    };
    setup.compile(&file);
    let class = setup.path("L.class");
    check_method(&class, "bad", &[]).expect(1);
    check_method(&class, "walk", &[]).expect(0);
}

/// A class of another package is found where its package is. If it is not there, nobody knows what its
/// objects have, although the heaps have them.
#[test]
fn classes_of_other_packages_are_found() {
    let Some(setup) = Setup::new("heap-packages-of-class-files") else {
        return;
    };
    let node =
        "package q; public class Node { public Node next; public Node next() { return next; } }";
    let node = setup.write("q/Node.java", node);
    let source = "package p; import q.Node; public class Use {
  static Node bad(Node n) { return n.next.next; }
  static Node calls(Node n) { return n.next().next(); }
  static Node good(Node n) { return n.next; }
}
";
    setup.compile(&setup.write("p/Use.java", source));
    setup.compile(&node);
    let class = setup.path("p/Use.class");
    let heap = "H(@parameter0:{Node}) <= RefSLList(@parameter0:, null)";
    let heap = setup.write("h.txt", heap);
    let rename = [
        "--grammar",
        "SLList",
        "--rename",
        "ListNode=Node",
        "--initial",
        &heap,
    ];
    let of = |method: &str, more: &[&str]| check_method(&class, method, &[&rename, more].concat());
    assert_eq!(of("bad", &[]).expect(1).err, "");
    of("calls", &[]).expect(1);
    assert_eq!(of("good", &[]).expect(0).err, "");
    // It is broken.
    let there = setup.path("q/Node.class");
    let whole = fs::read(&there).unwrap();
    fs::write(&there, &whole[..whole.len() / 2]).unwrap();
    let done = of("bad", &[]).expect(2);
    assert!(done.err.contains("Node.class"), "{}", done.err);
    // It is elsewhere.
    fs::remove_file(&there).unwrap();
    let other = setup.write("lib/q/Node.class", "");
    fs::write(&other, &whole).unwrap();
    for (method, used) in [
        ("bad", "its field `next` is used at Use.java:2"),
        ("calls", "it is needed at Use.java:3"),
    ] {
        let done = of(method, &[]).expect(2);
        let message = format!("the class `q.Node` is not at hand, and the initial heap `{heap}`");
        assert!(done.err.contains(&message), "{}", done.err);
        assert!(done.err.contains(used), "{}", done.err);
        assert!(done.err.contains("--classpath"), "{}", done.err);
    }
    of("bad", &["--classpath", &setup.path("lib")]).expect(1);
}

/// The objects of a class have fields of a parent that is not at hand.
#[test]
fn fields_of_a_missing_parent() {
    let Some(setup) = Setup::new("heap-missing-parent") else {
        return;
    };
    let source = "class P { P next; } class Sub extends P { }
class Use { static P bad(Sub n) { return n.next.next; } static P deep(P n) { return n.next.next; } }
";
    setup.compile(&setup.write("Use.java", source));
    let class = setup.path("Use.class");
    let heap = "H(@parameter0:{Sub}) <= a{Sub} | @parameter0:.next -> a * a.next -> null";
    let heap = setup.write("h.txt", heap);
    let flags = ["--initial", heap.as_str()];
    check_method(&class, "bad", &flags).expect(0);
    let rename = [
        "--grammar",
        "SLList",
        "--rename",
        "ListNode=Sub",
        "--initial",
        &heap,
    ];
    check_method(&class, "bad", &rename).expect(0);
    let whole = fs::read(setup.path("P.class")).unwrap();
    fs::remove_file(setup.path("P.class")).unwrap();
    // Nobody says that there is such a field.
    check_method(&class, "bad", &flags).expect(2);
    for method in ["bad", "deep"] {
        let done = check_method(&class, method, &rename).expect(2);
        assert!(done.err.contains("the class `P`"), "{}", done.err);
    }
    // A broken class file beside the one that is asked for.
    fs::write(setup.path("P.class"), &whole[..9]).unwrap();
    let done = check_method(&class, "bad", &rename).expect(2);
    assert!(done.err.contains("P.class"), "{}", done.err);
    // Nobody needs it.
    fs::write(setup.path("P.class"), &whole).unwrap();
    fs::write(setup.path("Other.class"), &whole[..9]).unwrap();
    let done = check_method(&class, "bad", &rename).expect(0);
    assert!(done.err.contains("Other.class"), "{}", done.err);
}

#[test]
fn what_people_see() {
    let Some(_) = Setup::new("heap-seen") else {
        return;
    };
    golden("heap-last", &LAST, &droste(&LAST).expect(1));
    let args = [
        "check",
        "heap/table/53-SLList.traverseRecursiveModifyHeap-S.attestor",
        "--mode",
        "shared",
    ];
    golden("heap-recursion", &args, &droste(&args).expect(1));
}

#[test]
fn state_counts_in_every_mode() {
    let Some((_, file)) = Setup::lists("heap-counts") else {
        return;
    };
    for mode in ["shared", "top-level", "on-the-fly", "rsm"] {
        let more = ["--ltl", "G F {terminated}", "--mode", mode, "--json"];
        let object = check_method(&file, "walk", &more).expect(0).json();
        for property in object["properties"].as_array().unwrap() {
            let count = |name: &str| property["states"][name].as_u64().unwrap();
            assert!(
                count("main") > 0 && count("main") < count("total"),
                "{mode} {property}"
            );
            assert_eq!(
                (count("final"), count("contracts")),
                (1, 3),
                "{mode} {property}"
            );
        }
    }
}

/// Sources and classes in packages, by any of their names.
#[test]
fn packages_and_nested_classes() {
    let Some(setup) = Setup::new("heap-packages") else {
        return;
    };
    let inner = "// one\npackage p.q;\npublic class X {\n  X n;\n  public static class Y {\n    X x;\n    \
                 public static void go() {\n      Y y = new Y();\n      y.x.n = null;\n    }\n  }\n}\n";
    setup.write("p/q/X.java", inner);
    let outer = "package p;\nclass Main { static void go() { p.q.X.Y.go(); } }\n";
    setup.write("p/Main.java", outer);
    for class in ["Y", "X.Y", "X$Y", "p.q.X.Y", "p.q.X$Y"] {
        for place in ["", "p", "p/q", "p/q/X.java"] {
            let path = setup.path(place);
            let done = check_method(&path, "go", &["--class", class]).expect(1);
            // The source is found, and the line shown.
            assert!(
                done.out.contains("9 │ y.x.n = null;"),
                "{class} in {place}: {}",
                done.out
            );
        }
    }
    // The sources of other packages are found from any of these places.
    for place in ["", "p", "p/Main.java"] {
        let path = setup.path(place);
        check_method(&path, "go", &["--class", "Main"]).expect(1);
    }
}

/// Several formulas by flags, or from a file with names or without.
#[test]
fn several_formulas() {
    let Some(setup) = Setup::new("heap-formulas") else {
        return;
    };
    let flags = [
        "--ltl",
        "F {head == current}",
        "--ltl",
        "GF {terminated}",
        "--no-trace",
    ];
    let args = [&LAST[..], &flags].concat();
    golden("heap-formulas", &args, &droste(&args).expect(1));
    let check = |formulas: &str, more: &[&str]| {
        let file = setup.write("formulas.ltl", formulas);
        droste(&[&LAST[..], &["--ltl-file", &file], more].concat())
    };
    let names = |done: &Done| -> Vec<(String, String)> {
        let object = done.json();
        let all = object["properties"].as_array().unwrap().iter().skip(1);
        let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
        all.map(|one| (text(&one["name"]), text(&one["verdict"])))
            .collect()
    };
    let pair = |name: &str, verdict: &str| (name.to_owned(), verdict.to_owned());
    let lines = check(
        "# a { brace\nF {head == current}; // first\n\nGF {terminated}\n",
        &["--json"],
    );
    assert_eq!(
        names(&lines.expect(1)),
        [pair("", "holds"), pair("", "violated")]
    );
    let named = check(
        "same:\n F {head == current}\nends: GF {terminated}\n",
        &["--json"],
    );
    assert_eq!(
        names(&named.expect(1)),
        [pair("same", "holds"), pair("ends", "violated")]
    );
    let out = check("same: F {head == current}", &["--no-trace"])
        .expect(1)
        .out;
    assert!(
        out.contains("\nholds: same: F {head == current}\n"),
        "{out}"
    );
    // With --compat memory safety is not asked about.
    check("F {head == current}", &["--compat"]).expect(0);
    let wrong = check("F {head == current}\nb: G {x}\nG (\n", &[])
        .expect(2)
        .err;
    assert!(wrong.contains("2:1") && wrong.contains("3:3"), "{wrong}");
    let wrong = check("F {head == current}\n G {hed == current}\n", &[])
        .expect(2)
        .err;
    assert!(
        wrong.contains("2:5") && wrong.contains("did you mean `head`?"),
        "{wrong}"
    );
    assert!(
        check("# nothing\n", &[])
            .expect(2)
            .err
            .contains("no property")
    );
    // A Boolean program is asked about one.
    let boolean = droste(&["check", "flip.bp", "--ltl", "G T", "--ltl", "F T"]).expect(2);
    assert!(boolean.err.contains("--ltl-file"), "{}", boolean.err);
}

/// An answer that is about no run says so.
#[test]
fn answers_about_no_run() {
    let Some(setup) = Setup::new("heap-vacuous") else {
        return;
    };
    let source = "class V { V next;
  static void dies() { V v = null; v.next = v; while (true) { } }
  static void raises() { throw null; }
  static void counts() { int i = 0; while (i < 5) { i = i + 1; } }
  static void deep() { V v = new V(); deep(); v.next = v; }
  static void fine() { V v = new V(); v.next = v; }
}
";
    let file = setup.write("V.java", source);
    let sentences = |method: &str, mode: &str| -> Vec<String> {
        let more = ["--ltl", "F {terminated}", "--no-trace", "--json"];
        let args = [&["--mode", mode][..], &more].concat();
        let object = check_method(&file, method, &args).json();
        let all = object["properties"].as_array().unwrap().iter();
        all.map(|one| one["vacuous"].as_str().unwrap_or_default().to_owned())
            .collect()
    };
    for mode in ["shared", "on-the-fly", "rsm", "top-level"] {
        let at_line = "No run was at stake: every run uses null at V.java:2.";
        assert_eq!(sentences("dies", mode), ["", at_line], "{mode}");
        let nothing = "No run uses an object: there was nothing to check.";
        assert_eq!(sentences("counts", mode), [nothing, ""], "{mode}");
        assert_eq!(sentences("fine", mode), ["", ""], "{mode}");
        // A call that never returns is told in another way.
        assert_eq!(sentences("deep", mode), ["", ""], "{mode}");
    }
    let more = ["--ltl", "F {terminated}", "--no-trace"];
    let out = check_method(&file, "dies", &more).expect(1).out;
    assert!(
        out.contains("holds: F {terminated}\n  No run was at stake: "),
        "{out}"
    );
}

/// Where null is at both ends of a list, `L(N)` does not recognise it.
#[test]
fn what_is_overlooked_is_not_called_real() {
    let Some(_) = Setup::new("heap-overlooked") else {
        return;
    };
    let row = example("table/14-DLList.traverse-M.attestor");
    let done = check(&row, &["--ltl", "G {L(RefDLList)}"]).expect(1);
    assert!(done.out.contains("does not recognise it"), "{}", done.out);
    assert!(!done.out.contains("This is real"), "{}", done.out);
}

/// A run begins with the parameters, in every mode; in the reference they are assigned one by one.
#[test]
fn parameters_have_values_from_the_beginning() {
    let Some(setup) = Setup::new("heap-first") else {
        return;
    };
    let source = "class Cell { Cell next; }
class F {
  static Cell last(Cell head) {
    Cell at = head;
    while (at.next != null) { at = step(at); }
    return at;
  }
  static Cell step(Cell from) {
    return from.next;
  }
}
";
    let file = setup.write("F.java", source);
    let heap = setup.write(
        "h.txt",
        "H(@parameter0:{Cell}) <= RefSLList(@parameter0:, null)",
    );
    let first = [
        "--grammar",
        "SLList",
        "--rename",
        "ListNode=Cell",
        "--initial",
        &heap,
    ];
    let of = |formula: &str, more: &[&str]| {
        check_method(
            &file,
            "last",
            &[&first[..], &["--ltl", formula], more].concat(),
        )
    };
    for mode in ["shared", "top-level", "on-the-fly", "rsm"] {
        let mode = ["--mode", mode];
        of("{head != null}", &mode).expect(0);
        of("{head.next == null} | {head.next != null}", &mode).expect(0);
        of("{line 4}", &mode).expect(0);
        of("X {head == at}", &mode).expect(0);
        of("!{head != null}", &mode).expect(1);
        of("G ({in(step)} -> {from != null} | {terminated})", &mode).expect(0);
        of("{head != null}", &["--compat", mode[0], mode[1]]).expect(1);
        of("X {head != null}", &["--compat", mode[0], mode[1]]).expect(0);
    }
    // The run says what they are.
    let out = of("G !{in(step)}", &[]).expect(1).out;
    assert!(out.contains("at the beginning: head = a Cell"), "{out}");
    assert!(out.contains("→ step, from = a Cell"), "{out}");
    // Contracts are about what a method is given.
    let saved = setup.path("contracts.json");
    of("true", &["--save-contracts", &saved]).expect(0);
    let contracts = setup.read("contracts.json");
    assert!(contracts.contains("@parameter0:"), "{contracts}");
    assert!(!contracts.contains("\"from\""), "{contracts}");
    of("true", &["--contract", &saved]).expect(0);
}

/// A field of truth values is exact where rules or heaps mention it.
#[test]
fn truth_values_of_input_objects() {
    let Some(setup) = Setup::new("heap-truth") else {
        return;
    };
    let source = "class Cell { Cell next; boolean marked; }
class M {
  static void of(Cell c) { if (c.marked) { c = null; } c.next = null; }
  static void after(Cell c) { c.marked = false; of(c); }
}
";
    let file = setup.write("M.java", source);
    let heap = |marked: &str| {
        format!(
            "{{\"nodes\": [{{\"type\": \"NULL\", \"number\": 1}}, {{\"type\": \"int\", \"number\": 1}}, \
             {{\"type\": \"Cell\", \"number\": 1}}], \"externals\": [], \"variables\": \
             [{{\"name\": \"null\", \"target\": 0}}, {{\"name\": \"false\", \"target\": 1}}, \
             {{\"name\": \"@parameter0:\", \"target\": 2}}], \"selectors\": [{{\"label\": \"next\", \
             \"origin\": 2, \"target\": 0}}{marked}], \"hyperedges\": []}}"
        )
    };
    let said = ", {\"label\": \"marked\", \"origin\": 2, \"target\": 1}";
    let said = setup.write("said.json", &heap(said));
    let unsaid = setup.write("unsaid.json", &heap(""));
    for method in ["of", "after"] {
        check_method(&file, method, &["--initial", &said]).expect(0);
        // What is certain and what is not is told apart.
        let out = check_method(&file, method, &["--initial", &unsaid])
            .expect(1)
            .out;
        assert!(!out.contains("This is real"), "{out}");
        assert!(
            out.contains("This happens on this heap if the program takes the branches")
                && out.contains("(M.java:3). All else is certain."),
            "{out}"
        );
    }
}

/// Lost objects: what the docs say about `--leaks`.
#[test]
fn lost_objects() {
    let Some(setup) = Setup::new("heap-leaks") else {
        return;
    };
    let source = "class Cell { Cell next; }
class K {
  static Cell walk(Cell head) { Cell at = head; while (at.next != null) { at = at.next; } return at; }
  static Cell skip(Cell head) { head = head.next; return head; }
  static void keep(Cell head) { java.util.Objects.hash(new Cell()); }
}
";
    let file = setup.write("K.java", source);
    let heap = "H(@parameter0:{Cell}) <= RefSLList(@parameter0:, null)";
    let heap = setup.write("h.txt", heap);
    let held =
        "H(@parameter0:{Cell}, ghost{Cell}) <= @parameter0: = ghost * RefSLList(ghost, null)";
    let held = setup.write("held.txt", held);
    let of = |method: &str, heap: &str| {
        let flags = [
            "--grammar",
            "SLList",
            "--rename",
            "ListNode=Cell",
            "--leaks",
        ];
        check_method(&file, method, &[&flags[..], &["--initial", heap]].concat())
    };
    of("walk", &heap).expect(0);
    let out = of("skip", &heap).expect(1).out;
    assert!(out.contains("holds: no field of null is used"), "{out}");
    assert!(out.contains("an object has become unreachable"), "{out}");
    assert!(out.contains("This is real"), "{out}");
    of("skip", &held).expect(0);
    let out = of("keep", &heap).expect(3).out;
    assert!(
        out.contains("it is not known whether it keeps them"),
        "{out}"
    );
}
