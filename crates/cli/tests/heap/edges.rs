//! At the edges: contracts that are not whole, grammars that derive nothing, names of classes.

use crate::setup::{Setup, check, check_method};

const SOURCE: &str = "package q;
class Node { Node next; }
class Walk {
  static Node same(Node h) { Node b = h; return b; }
  static Node last(Node h) { while (h.next != null) { h = h.next; } return h; }
}
";

const LIST: &str = "C(@parameter0:{Node}) <= RefSLList(@parameter0:, null)";

#[test]
fn contracts_are_whole() {
    let Some(setup) = Setup::new("heap-whole-contracts") else {
        return;
    };
    let file = setup.write("q/Walk.java", SOURCE);
    let graph = r#"{"nodes":[{"type":"NULL","number":1}],"externals":[],"variables":
[{"name":"null","target":0}],"selectors":[],"hyperedges":[]}"#;
    let contract = |method: &str, more: &str| {
        let text = format!(
            "[{{\"method\":\"{method}\",\"contracts\":[{{\"precondition\":{graph}{more}}}]}}]"
        );
        let name = setup.write("c.json", &text);
        check_method(&file, "same", &["--contract", &name])
    };
    let err = contract("<q.Walk: q.Node none(q.Node)>", "").expect(2).err;
    assert!(err.contains("the key `postconditions` is missing"), "{err}");
    let none = ",\"postconditions\":[]";
    for wrong in [
        "Walk.same",
        "<q.Walk: same(q.Node)>",
        "<q.Walk: q.Node same(q.Node,)>",
    ] {
        let err = contract(wrong, none).expect(2).err;
        assert!(
            err.contains("is not the signature of a method"),
            "{wrong}: {err}"
        );
    }
    let err = contract("<q.Walk: q.Node none(q.Node)>", none).err;
    assert!(err.contains("warning: there is a contract of"), "{err}");
}

#[test]
fn grammars_that_derive_nothing() {
    let Some(setup) = Setup::new("heap-nothing") else {
        return;
    };
    let file = setup.write("q/Walk.java", SOURCE);
    let none = r#"[{"nonterminal":"N","rank":2,"rules":[]}]"#;
    let halves = r#"[{"nonterminal":"N","rank":2,"rules":[{"nodes":[{"type":"Node","number":3}],
"externals":[0,2],"variables":[],"selectors":[],"hyperedges":
[{"label":"N","tentacles":[0,1]},{"label":"N","tentacles":[1,2]}]}]}]"#;
    let heap = setup.write("h.txt", "C(@parameter0:{Node}) <= N(@parameter0:, null)");
    for rules in [none, halves] {
        let rules = setup.write("g.json", rules);
        let flags = [
            "--grammar",
            &rules,
            "--initial",
            &heap,
            "--ltl",
            "G {h == null}",
        ];
        for mode in ["shared", "top-level", "rsm", "on-the-fly"] {
            let flags = [&flags[..], &["--mode", mode]].concat();
            let out = check_method(&file, "last", &flags).expect(0).out;
            let said = out.matches("stands for no heap").count();
            assert_eq!(said, 2, "{out}");
        }
    }
}

/// A class may be called by the end of its full name.
#[test]
fn the_end_of_a_name() {
    let Some(setup) = Setup::new("heap-names-of-classes") else {
        return;
    };
    let file = setup.write("q/Walk.java", SOURCE);
    for (class, kind) in [("Node", "Node"), ("Node", "q.Node"), ("q.Node", "Node")] {
        let heap = setup.write("h.txt", &LIST.replace("Node", kind));
        let rename = format!("ListNode={class}");
        let flags = [
            "--grammar",
            "SLList",
            "--rename",
            &rename,
            "--initial",
            &heap,
        ];
        let done = check_method(&file, "last", &flags).expect(0);
        assert_eq!(done.err, "", "{class} {kind}");
    }
}

/// The same for classes inside of others, written as in Java. A name that may mean two is refused.
#[test]
fn the_end_of_a_name_with_a_class_around() {
    let Some(setup) = Setup::new("heap-names-of-nested-classes") else {
        return;
    };
    let source = "package p; class L { static class Node { Node next; }
  static class M { static class Node { } }
  static Node last(Node n) { while (n.next != null) n = n.next; return n; } }
";
    let file = setup.write("p/L.java", source);
    let of = |class: &str, kind: &str| {
        let text = format!("H(@parameter0:{{{kind}}}) <= RefSLList(@parameter0:, null)");
        let heap = setup.write("h.txt", &text);
        let rename = format!("ListNode={class}");
        let flags = [
            "--grammar",
            "SLList",
            "--rename",
            &rename,
            "--initial",
            &heap,
        ];
        check_method(&file, "last", &flags)
    };
    for class in ["L.Node", "L$Node", "p.L.Node", "p.L$Node"] {
        for kind in ["L.Node", "L$Node", "p.L.Node", "p.L$Node"] {
            assert_eq!(of(class, kind).expect(0).err, "", "{class} {kind}");
        }
    }
    let done = of("Node", "L.Node").expect(2);
    let both = "`Node` may be any of p.L$M$Node, p.L$Node";
    assert!(done.err.contains(both), "{}", done.err);
    let done = of("L.Node", "Node").expect(2);
    assert!(done.err.contains(both), "{}", done.err);
}

/// Class files have the names of variables if the compiler was asked for them.
#[test]
fn names_of_variables() {
    let Some(setup) = Setup::new("heap-without-names") else {
        return;
    };
    let file = setup.write("q/Walk.java", SOURCE);
    let folder = setup.path("");
    let compiled = std::process::Command::new("javac")
        .args(["-g:none", "-d", &folder, &file])
        .status();
    assert!(compiled.unwrap().success());
    let class = setup.path("q/Walk.class");
    let err = check(&class, &["--method", "same", "--ltl", "F {b == null}"])
        .expect(2)
        .err;
    assert!(err.contains("javac -g"), "{err}");
}
