//! Balanced trees: marks in them, and nodes in the middle of them. Heights are forgotten there.

use crate::setup::{Setup, check, check_method, example};

const MODES: [&str; 4] = ["shared", "on-the-fly", "top-level", "rsm"];

/// The grammar and the initial heap of AVL trees.
fn trees() -> [String; 6] {
    [
        "--grammar".into(),
        example("grammars/avl-tree.json"),
        "--initial".into(),
        example("inputs/avl_tree.json"),
        "--abstraction".into(),
        "indexed".into(),
    ]
}

#[test]
fn marks_in_balanced_trees() {
    let Some(_) = Setup::new("heap-marks") else {
        return;
    };
    let trees = trees();
    let trees: Vec<&str> = trees.iter().map(String::as_str).collect();
    let file = example("code/AVLTree.java");
    for (method, formula, code) in [
        ("search", "G {identicNeighbours}", 0),
        ("search", "F {visited(current)}", 1),
        ("insert", "G {identicNeighbours}", 1),
    ] {
        // Insertion has many state spaces, and some modes generate all of them.
        let modes = if method == "insert" { 2 } else { 4 };
        for mode in &MODES[..modes] {
            let asked = ["--ltl", formula, "--mode", mode];
            let done = check_method(&file, method, &[&trees[..], &asked].concat()).expect(code);
            assert!(done.out.contains("holds: no field of null is used"));
            if code == 1 {
                assert!(done.out.contains("This happens"), "{mode}: {}", done.out);
            }
        }
    }
}

/// A walk through the whole tree changes nothing, and one down to a leaf does not come to every node.
#[test]
fn walks_through_balanced_trees() {
    let Some(setup) = Setup::new("heap-walk") else {
        return;
    };
    let source = "class AVLTree { AVLTree left, right; int balance;
  static void walk(AVLTree t) { if (t != null) { walk(t.left); walk(t.right); } }
  static void leftmost(AVLTree t) { while (t.left != null) { t = t.left; } }
}
";
    let file = setup.write("AVLTree.java", source);
    let trees = trees();
    let trees: Vec<&str> = trees.iter().map(String::as_str).collect();
    for mode in ["shared", "rsm", "on-the-fly"] {
        let ask = |method: &str, formula: &str| {
            let asked = ["--ltl", formula, "--mode", mode, "--no-trace"];
            check_method(&file, method, &[&trees[..], &asked].concat())
        };
        let reached = "(GF {terminated} -> F {visited(t)})";
        ask("walk", "G {identicNeighbours}").expect(0);
        ask("leftmost", reached).expect(1);
        ask(
            "leftmost",
            "F {isReachable(t,null)} & G {identicNeighbours}",
        )
        .expect(0);
    }
}

/// What is true only because of heights is not known where there are marks.
#[test]
fn what_depends_on_heights() {
    let Some(setup) = Setup::new("heap-heights") else {
        return;
    };
    let source = "class AVLTree { AVLTree left, right; int balance;
  static void go(AVLTree t) {
    if (t.right == null && t.left != null && t.left.left != null) { impossible(); }
  }
  static void impossible() { }
}
";
    let file = setup.write("AVLTree.java", source);
    let trees = trees();
    let trees: Vec<&str> = trees.iter().map(String::as_str).collect();
    let ask = |formula: &str, more: &[&str]| {
        let asked = ["--ltl", formula];
        check_method(&file, "go", &[&trees[..], &asked, more].concat())
    };
    ask("G !{in(impossible)}", &[]).expect(0);
    let marked = "G (!{in(impossible)} | {visited(t)} & {t == null})";
    let done = ask(marked, &[]).expect(3);
    let reason = "there is a violation if heights of trees are forgotten";
    assert!(done.out.contains(reason), "{}", done.out);
    let object = ask(marked, &["--json"]).expect(3).json();
    let told = object["properties"][1]["reason"].as_str().unwrap();
    assert!(told.starts_with(reason), "{told}");
}

/// Without garbage collection, the tree above a node in the middle stays; with heights there is no end
/// of such trees.
#[test]
fn a_node_in_the_middle() {
    let Some(_) = Setup::new("heap-middle") else {
        return;
    };
    let done = check(&example("avl-search.attestor"), &["--json"]).expect(0);
    let object = done.json();
    for property in object["properties"].as_array().unwrap() {
        assert_eq!(property["verdict"], "holds");
    }
}
