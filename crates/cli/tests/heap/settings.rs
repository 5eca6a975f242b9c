//! Settings files, and flags that do the same.

use crate::common::droste;
use crate::setup::{LAST, Setup, check, check_method, example};

#[test]
fn settings_files() {
    let Some(setup) = Setup::new("heap-settings") else {
        return;
    };
    let file = example("table/52-SLList.traverseModifyList-N.attestor");
    // A settings file means what the reference means by it: calls are single steps.
    for more in [&["--compat"][..], &["--mode", "top-level"], &[]] {
        let top = check(&file, &[&["--json"], more].concat()).expect(0);
        assert_eq!(top.json()["mode"], "top-level");
    }
    let inside = check(&file, &["--mode", "shared", "--json"]);
    let inside = inside.expect(1).json();
    assert_eq!(inside["mode"], "shared");
    let properties = inside["properties"].as_array().unwrap();
    assert_eq!(properties[0]["verdict"], "holds");
    assert_eq!(properties[1]["verdict"], "violated");
    let wrong = |settings: &str| check(&setup.write("wrong.attestor", settings), &[]).expect(2);
    let done = wrong("--class A\n--clas B\n--max-heap many\n");
    assert!(
        done.err.contains("there is no option `--clas`"),
        "{}",
        done.err
    );
    assert!(
        done.err.contains("2:1") && done.err.contains("3:12"),
        "{}",
        done.err
    );
    let done = wrong("--class A\n--classpath \"nowhere\"\n");
    assert!(done.err.contains("nowhere"), "{}", done.err);
}

/// What is wrong with a formula is shown where it stands in the file.
#[test]
fn formulas_in_settings_files() {
    let Some((setup, _)) = Setup::lists("heap-formulas-in-settings") else {
        return;
    };
    let text = "--class L --classpath \".\"\n--method two\n--model-checking \"G !{nobody == a}\"\n";
    let file = setup.write("wrong.attestor", text);
    let done = check(&file, &[]).expect(2);
    assert!(done.err.contains("wrong.attestor:3:23"), "{}", done.err);
    let fine = setup.write("fine.attestor", &text.replace("nobody", "b"));
    let done = check(&fine, &["--ltl", "G !{other == a}"]).expect(2);
    assert!(done.err.contains("formula:1:"), "{}", done.err);
}

/// The options of a settings file do what they say, and so do the flags.
#[test]
fn every_setting() {
    let Some((setup, _)) = Setup::lists("heap-every-setting") else {
        return;
    };
    let write = |more: &str| {
        let text = format!(" A title - of a task\n-cp \"L.java\" -c L -m bad --quiet\n{more}\n");
        setup.write("settings.txt", &text)
    };
    let settings = setup.path("settings.txt");
    let read = |more: &[&str]| check("-l", &[&[&*settings], more].concat());
    write("--export \"out\" --export-grammar out --export-large-states out -d \"what it is\"");
    let done = read(&["--json"]).expect(1);
    assert_eq!(done.json()["description"], "what it is");
    // `--quiet` in the file: no warning about the title.
    assert_eq!(done.err, "");
    for name in [
        "index.html",
        "states.dot",
        "grammar.dot",
        "grammar.html",
        "largest.html",
    ] {
        let written = setup.read(&format!("out/{name}"));
        assert!(
            written.starts_with("<!doctype html>") || written.starts_with("digraph"),
            "{name}"
        );
    }
    // The worst of all answers counts, and with --compat memory safety does not.
    write("-mc \"true\" -mc \"F {terminated}\"");
    let object = read(&["--json"]).expect(1).json();
    assert_eq!(object["properties"].as_array().unwrap().len(), 3);
    read(&["--compat"]).expect(0);
    write("-mc \"G !{terminated}\"");
    read(&["--compat"]).expect(1);
    write("");
    assert_eq!(
        read(&["--compat", "--json"]).expect(0).json()["verdict"],
        "holds"
    );
    write("-ms 3");
    assert_eq!(read(&["--json"]).expect(3).json()["verdict"], "unknown");
    // From the root, wherever one is.
    write("");
    let root = setup.path("");
    check("--read", &["settings.txt", "--root-path", &root]).expect(1);
    // A method that is skipped is one step, so its end is not seen.
    let inside = ["--compat", "--mode", "shared"];
    write("-mc \"G ({terminated} -> !{in(two)})\"");
    read(&inside).expect(1);
    read(&["--compat", "--mode", "shared", "--skip-method", "two"]).expect(0);
    // All calls are single steps, unless the file says otherwise.
    read(&["--compat"]).expect(0);
    write("-mc \"G ({terminated} -> !{in(two)})\" --hierarchical-model-checking");
    read(&["--compat"]).expect(1);
    write("-mc \"G ({terminated} -> !{in(two)})\" --mc-skip two,three");
    read(&inside).expect(0);
    // The bound of a file is one for each state space, that of the command line one for all.
    write("-m walk -ms 15");
    read(&[]).expect(0);
    write("-m walk -ms 5");
    let done = read(&[]).expect(3);
    let reason = "there are more than 5 states in one state space";
    assert!(done.out.contains(reason), "{}", done.out);
    write("-m walk -ms 20");
    assert!(read(&["--json"]).expect(0).json()["stats"]["states"].as_u64() > Some(20));
    read(&["--max-states", "20"]).expect(3);
}

/// What excludes each other is refused, by flags and in settings.
#[test]
fn contradictions_are_refused() {
    let Some(setup) = Setup::new("heap-contradictions") else {
        return;
    };
    let with = |more: &[&str]| droste(&[&LAST[..], more].concat());
    for (words, first, second) in [
        (
            "canonical,post-processing",
            "`canonical`",
            "`post-processing`",
        ),
        ("free,admissible", "`free`", "`admissible`"),
        ("full,free", "`free`", "`full`"),
    ] {
        let err = with(&["--abstraction", words]).expect(2).err;
        assert!(err.contains(first) && err.contains(second), "{err}");
        assert!(err.contains("exclude each other"), "{err}");
    }
    with(&["--abstraction", "canonical,no-collapse"]).expect(1);
    let settings = setup.write("a.attestor", "-a --canonical\n");
    let both = check(&settings, &["--abstraction", "post-processing"]);
    assert!(both.expect(2).err.contains("exclude each other"));
    let settings = setup.write("a.attestor", "-a --canonical\n--post-processing\n");
    let err = check(&settings, &[]).expect(2).err;
    assert!(
        err.contains("2:1") && err.contains("exclude each other"),
        "{err}"
    );
    // Standard output holds one thing.
    let err = with(&["--json", "--trace", "-"]).expect(2).err;
    assert!(err.contains("--json"), "{err}");
}

/// What a settings file of the reference means, and what is said where that may surprise.
#[test]
fn as_the_reference_means_it() {
    let Some(setup) = Setup::new("heap-reference") else {
        return;
    };
    let source = "class Cell { Cell next; }
class M {
  static Cell build(int k) {
    Cell list = null;
    while (k > 3) { Cell c = new Cell(); c.next = list; list = c; }
    return list;
  }
  static void read(Cell c) { c = c.next; }
}
";
    setup.write("M.java", source);
    setup.write("c.txt", "H(c{Cell}) <= RefSLList(c, null)");
    let check = |written: &str, more: &[&str]| {
        let lists = "-cp M.java -c M -pg SLList -r ListNode=Cell -a\n";
        let settings = setup.write("m.attestor", &format!("{lists}{written}\n"));
        check(&settings, more)
    };
    // On a concrete heap the loop may go on for ever, but it need not.
    for mode in ["top-level", "shared", "on-the-fly", "rsm"] {
        let ends = "-m build -mc \"G !{terminated}\"";
        let done = check(ends, &["--mode", mode]).expect(1);
        assert!(done.out.contains("This happens"), "{mode} {}", done.out);
    }
    // Nothing is asked.
    let done = check("-m build", &["--compat"]).expect(0);
    assert!(done.err.contains("nothing is checked"), "{}", done.err);
    // There is no such variable.
    let strange = "-m build -mc \"F {cur != null}\"";
    let stranger = "there is no variable `cur`";
    assert!(check(strange, &[]).expect(2).err.contains(stranger));
    assert!(
        check(strange, &["--compat"])
            .expect(1)
            .err
            .contains(stranger)
    );
    // The parameter has another name in heaps.
    let done = check("-m read -i c.txt", &[]).expect(3);
    assert!(
        done.err.contains("did you mean `@parameter0:`?"),
        "{}",
        done.err
    );
}

/// Garbage among balanced trees.
#[test]
fn the_tree_that_nobody_holds() {
    let Some(setup) = Setup::new("heap-nobody") else {
        return;
    };
    let source = "class AVLTree { AVLTree left, right; static void drop(AVLTree t) { } }\n";
    let file = setup.write("AVLTree.java", source);
    let (grammar, initial) = (
        example("grammars/avl-tree.json"),
        example("inputs/avl_tree.json"),
    );
    let files = ["--grammar", &grammar, "--initial", &initial];
    let formula = ["--ltl", "G ({terminated} -> {btree})"];
    let settings = setup.write("a.attestor", "-cp . -c AVLTree -m drop -a --indexed\n");
    check(&settings, &[&files[..], &formula].concat()).expect(0);
    let indexed = ["--abstraction", "admissible,indexed"];
    check_method(&file, "drop", &[&files[..], &formula, &indexed].concat()).expect(1);
}
