//! `droste check` on heap programs: verdicts, exit codes, bad input, pages.

mod common;

use std::fs;
use std::path::{Path, PathBuf};

use common::{droste, examples, golden, scratch};

const SOURCE: &str = "class Node { Node next; }
class L {
  static Node two() { Node a = new Node(); Node b = new Node(); a.next = b; return a; }
  static void walk() { Node c = two(); while (c != null) { c = c.next; } }
  static void bad() { Node c = two(); c = c.next; c = c.next; c = c.next; }
}
";

/// Whether there is a Java compiler; without one there is nothing to test.
fn has_javac() -> bool {
    let found = std::process::Command::new("javac").arg("-version").output();
    let there = found.is_ok_and(|output| output.status.success());
    if !there {
        println!("skipped: there is no javac");
    }
    there
}

fn source() -> PathBuf {
    let folder = scratch("heap");
    let file = folder.join("L.java");
    fs::write(&file, SOURCE).unwrap();
    file
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn classes_beside_a_class_file_are_found() {
    if !has_javac() {
        return;
    }
    let folder = scratch("heap-beside");
    let file = folder.join("L.java");
    fs::write(&file, SOURCE).unwrap();
    let compiled = std::process::Command::new("javac")
        .args(["-g", "-d", text(&folder), text(&file)])
        .status();
    assert!(compiled.is_ok_and(|status| status.success()));
    let class = folder.join("L.class");
    droste(&["check", text(&class), "--method", "bad"]).expect(1);
    droste(&["check", text(&class), "--method", "walk"]).expect(0);
}

#[test]
fn verdicts_by_flags() {
    if !has_javac() {
        return;
    }
    let file = source();
    let file = text(&file);
    let check =
        |method: &str| droste(&["check", file, "--class", "L", "--method", method, "--json"]);
    let safe = check("walk").expect(0).json();
    assert_eq!(safe["verdict"], "holds");
    assert!(safe["stats"]["seconds"].is_number() && safe["stats"]["javac_seconds"].is_number());
    let unsafe_ = check("bad").expect(1).json();
    assert_eq!(unsafe_["verdict"], "violated");
    let steps = unsafe_["trace"]["steps"].as_array().unwrap();
    assert_eq!(steps.last().unwrap()["action"], "null dereference");
    assert_eq!(steps.last().unwrap()["line"], 5);
    // The heap is empty at the beginning, and that is what shows it.
    assert!(unsafe_["trace"]["input"].is_object());
    let done = droste(&["check", file, "--class", "L", "--method", "wakl"]).expect(2);
    assert!(done.err.contains("walk"), "{}", done.err);
    let done = droste(&["check", file, "--class", "Nothing"]).expect(2);
    assert!(done.err.contains("Nothing"), "{}", done.err);
    let done = droste(&[
        "check", file, "--class", "L", "--method", "walk", "--reach", "X",
    ]);
    assert!(done.expect(2).err.contains("--reach"));
    let wrong = [
        "check",
        file,
        "--class",
        "L",
        "--method",
        "walk",
        "--ltl",
        "F {x == c}",
    ];
    assert!(
        droste(&wrong)
            .expect(2)
            .err
            .contains("there is no variable `x`")
    );
}

#[test]
fn settings_files() {
    if !has_javac() {
        return;
    }
    let row = |name: &str| examples().join("heap/table").join(name);
    let file = row("52-SLList.traverseModifyList-N.attestor");
    // A settings file means what the reference means by it: calls are single steps.
    for more in [&["--compat"][..], &["--mode", "top-level"], &[]] {
        let args = ["check", text(&file), "--json"];
        let top = droste(&[&args[..], more].concat()).expect(0);
        assert_eq!(top.json()["mode"], "top-level");
    }
    let inside = ["check", text(&file), "--mode", "shared", "--json"];
    let inside = droste(&inside).expect(1).json();
    assert_eq!(inside["mode"], "shared");
    let properties = inside["properties"].as_array().unwrap();
    assert_eq!(properties[0]["verdict"], "holds");
    assert_eq!(properties[1]["verdict"], "violated");
    let folder = scratch("heap-settings");
    let wrong = folder.join("wrong.attestor");
    fs::write(&wrong, "--class A\n--clas B\n--max-heap many\n").unwrap();
    let done = droste(&["check", text(&wrong)]).expect(2);
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
    fs::write(&wrong, "--class A\n--classpath \"nowhere\"\n").unwrap();
    assert!(
        droste(&["check", text(&wrong)])
            .expect(2)
            .err
            .contains("nowhere")
    );
}

#[test]
fn pages_and_contracts() {
    if !has_javac() {
        return;
    }
    let file = source();
    let file = text(&file);
    let of = |more: &[&str]| {
        let args = ["check", file, "--class", "L", "--method", "bad"];
        let args: Vec<&str> = args.iter().chain(more).copied().collect();
        droste(&args)
    };
    let page = of(&["--emit", "html"]).expect(1).out;
    assert!(
        page.starts_with("<!doctype html>") && page.contains("<svg"),
        "{page}"
    );
    assert_eq!(
        page.matches("<figure").count(),
        page.matches("<li class=\"step").count()
    );
    let folder = scratch("heap-contracts");
    let saved = folder.join("contracts.json");
    of(&["--save-contracts", text(&saved)]).expect(1);
    let written = fs::read_to_string(&saved).unwrap();
    assert!(written.contains("<L: Node two()>"), "{written}");
    // What was found is a claim that holds; without its heaps it does not.
    let again = of(&["--contract", text(&saved), "--json"]).expect(1).json();
    let verdict = |object: &serde_json::Value| {
        let all = object["properties"].as_array().unwrap().iter();
        let mut two = all.filter(|one| one["property"].as_str().unwrap().contains("two()"));
        two.next().unwrap()["verdict"].as_str().unwrap().to_owned()
    };
    assert_eq!(verdict(&again), "holds");
    let mut list: serde_json::Value = serde_json::from_str(&written).unwrap();
    for method in list.as_array_mut().unwrap() {
        for contract in method["contracts"].as_array_mut().unwrap() {
            contract["postconditions"] = serde_json::json!([]);
        }
    }
    fs::write(&saved, list.to_string()).unwrap();
    let broken = of(&["--contract", text(&saved), "--json"]).expect(1).json();
    assert_eq!(verdict(&broken), "violated");
}

#[test]
fn what_people_see() {
    if !has_javac() {
        return;
    }
    let args = [
        "check",
        "heap/Last.java",
        "--method",
        "removeLast",
        "--grammar",
        "SLList",
        "--rename",
        "ListNode=Cell",
        "--initial",
        "heap/inputs/cells.txt",
    ];
    golden("heap-last", &args, &droste(&args).expect(1));
    let args = [
        "check",
        "heap/table/53-SLList.traverseRecursiveModifyHeap-S.attestor",
        "--mode",
        "shared",
    ];
    golden("heap-recursion", &args, &droste(&args).expect(1));
}

/// The options of a settings file do what they say, and so do the flags.
#[test]
fn every_setting() {
    if !has_javac() {
        return;
    }
    let file = source();
    let folder = file.parent().unwrap();
    let settings = folder.join("settings.txt");
    let write = |more: &str| {
        let text = format!(" A title - of a task\n-cp \"L.java\" -c L -m bad --quiet\n{more}\n");
        fs::write(&settings, text).unwrap();
    };
    let read = |more: &[&str]| {
        let args: Vec<&str> = ["check", "-l", text(&settings)]
            .iter()
            .chain(more)
            .copied()
            .collect();
        droste(&args)
    };
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
        let written = fs::read_to_string(folder.join("out").join(name)).unwrap();
        assert!(
            written.starts_with("<!doctype html>") || written.starts_with("digraph"),
            "{name}"
        );
    }
    // The worst of all answers counts, and with --compat memory safety does not.
    write("-mc \"true\" -mc \"F {terminated}\"");
    assert_eq!(
        read(&["--json"]).expect(1).json()["properties"]
            .as_array()
            .unwrap()
            .len(),
        3
    );
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
    let root = text(folder);
    droste(&["check", "--read", "settings.txt", "--root-path", root]).expect(1);
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
    write("-m walk -ms 20");
    assert!(read(&["--json"]).expect(0).json()["stats"]["states"].as_u64() > Some(20));
    read(&["--max-states", "20"]).expect(3);
}

#[test]
fn state_counts_in_every_mode() {
    if !has_javac() {
        return;
    }
    let file = source();
    for mode in ["shared", "top-level", "on-the-fly", "rsm"] {
        let args = ["check", text(&file), "--class", "L", "--method", "walk"];
        let more = ["--ltl", "G F {terminated}", "--mode", mode, "--json"];
        let args: Vec<&str> = args.iter().chain(&more).copied().collect();
        let object = droste(&args).expect(0).json();
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

/// A contract of a method without a body is used, one of a method with a body is checked. They may
/// allow for callers that keep hold of more than the caller at hand does.
#[test]
fn contracts_of_the_user() {
    if !has_javac() {
        return;
    }
    let folder = scratch("heap-contract");
    let source = "class Ring { Ring succ; }
class K {
  static native Ring id(Ring r);
  static Ring own(Ring r) { return r; }
  static void foreign(Ring r) { Ring q = id(r); q.succ = null; }
  static void known(Ring r) { Ring q = own(r); q.succ = null; }
}
";
    fs::write(folder.join("K.java"), source).unwrap();
    fs::write(
        folder.join("ring.txt"),
        "R(@parameter0:{Ring}) <= RefSLList(@parameter0:, null)",
    )
    .unwrap();
    let heap = |variable: &str, target: u32| {
        format!(
            "{{\"nodes\":[{{\"type\":\"NULL\",\"number\":1}},{{\"type\":\"Ring\",\"number\":1}}],\
             \"externals\":[0,1],\"variables\":[{{\"name\":\"null\",\"target\":0}},\
             {{\"name\":\"{variable}\",\"target\":{target}}}],\"selectors\":[],\
             \"hyperedges\":[{{\"label\":\"RefSLList\",\"tentacles\":[1,0]}}]}}"
        )
    };
    let contract = |method: &str, result: u32| {
        let text = format!(
            "{{\"method\":\"<K: Ring {method}(Ring)>\",\"contracts\":[{{\"precondition\":{},\
             \"postconditions\":[{}]}}]}}",
            heap("@parameter0:", 1),
            heap("@return", result)
        );
        fs::write(folder.join("contract.json"), text).unwrap();
    };
    let (file, initial) = (folder.join("K.java"), folder.join("ring.txt"));
    let given = folder.join("contract.json");
    let check = |method: &str, with: bool| {
        let mut args = vec![
            "check",
            text(&file),
            "--method",
            method,
            "--grammar",
            "SLList",
        ];
        args.extend([
            "--rename",
            "ListNode=Ring next=succ",
            "--initial",
            text(&initial),
        ]);
        if with {
            args.extend(["--contract", text(&given)]);
        }
        droste(&args)
    };
    check("foreign", false).expect(3);
    contract("id", 1);
    check("foreign", true).expect(0);
    // One that returns null.
    contract("id", 0);
    check("foreign", true).expect(1);
    contract("own", 1);
    check("known", true).expect(0);
    contract("own", 0);
    let broken = check("known", true).expect(1);
    assert!(
        broken
            .out
            .contains("violated: the contract of <K: Ring own(Ring)> holds"),
        "{}",
        broken.out
    );
    contract("other", 0);
    assert!(
        check("known", true)
            .expect(0)
            .err
            .contains("no such method")
    );
}

#[test]
fn pictures_of_everything() {
    if !has_javac() {
        return;
    }
    let file = source();
    let draw = |method: &str, emit: &str, what: &str| {
        droste(&[
            "check",
            text(&file),
            "--class",
            "L",
            "--method",
            method,
            "--grammar",
            "SLList",
            "--emit",
            emit,
            "--picture",
            what,
        ])
    };
    for what in ["run", "states", "heaps", "grammar"] {
        let code = i32::from(what == "run");
        let graph = draw("bad", "dot", what).expect(code).out;
        assert!(
            graph.starts_with("digraph ") && graph.ends_with("}\n"),
            "{what}: {graph}"
        );
        let page = draw("bad", "html", what).expect(code).out;
        let tabs = page.matches("role=\"tab\"").count();
        assert_eq!(tabs, if what == "run" { 2 } else { 1 }, "{what}");
    }
    assert!(
        draw("walk", "dot", "run")
            .expect(2)
            .err
            .contains("nothing is violated")
    );
    let heap = examples().join("heap/inputs/sll.json");
    droste(&["check", text(&heap)]).expect(2);
    let args = ["check", text(&heap), "--grammar", "SLList", "--emit", "dot"];
    assert!(droste(&args).expect(0).out.contains("RefSLList"));
}

#[test]
fn what_cannot_be_checked() {
    if !has_javac() {
        return;
    }
    let folder = scratch("heap-wrong");
    let file = folder.join("W.java");
    let source = "class W { W next;
  static void grow() { W w = null; while (true) { W n = new W(); n.next = w; w = n; } }
  static void given(W w) { w.next = null; }
}
";
    fs::write(&file, source).unwrap();
    let check = |method: &str, more: &[&str]| {
        let args = ["check", text(&file), "--method", method];
        let args: Vec<&str> = args.iter().chain(more).copied().collect();
        droste(&args)
    };
    // No grammar: the heap grows, and the largest one is shown.
    let grown = check("grow", &["--max-heap", "9"]).expect(3);
    assert!(
        grown.out.contains("The largest heap has 10 nodes"),
        "{}",
        grown.out
    );
    assert!(grown.out.contains("--grammar"), "{}", grown.out);
    let grown = check("grow", &["--max-heap", "9", "--json"])
        .expect(3)
        .json();
    assert!(grown["properties"][0]["largest_heap"].is_object());
    check("grow", &["--grammar", "SLList", "--rename", "ListNode=W"]).expect(0);
    // A heap that is too large from the beginning.
    let large = folder.join("large.json");
    let nodes = "{\"nodes\":[{\"type\":\"W\",\"number\":60}],\"externals\":[],\"variables\":[],\
                 \"selectors\":[],\"hyperedges\":[]}";
    fs::write(&large, nodes).unwrap();
    check("grow", &["--initial", text(&large)]).expect(3);
    check("grow", &["--initial", text(&large), "--json"]).expect(3);
    // Nobody says what the parameter is.
    let given = check("given", &[]).expect(3);
    assert!(given.err.contains("nothing is known of w"), "{}", given.err);
    // A line without statements, another engine, a class without `main`.
    assert!(
        check("given", &["--ltl", "F {line 4}"])
            .expect(2)
            .err
            .contains("line 4")
    );
    assert!(
        check("given", &["--engine", "bdd"])
            .expect(2)
            .err
            .contains("--engine")
    );
    assert!(
        droste(&["check", text(&file)])
            .expect(2)
            .err
            .contains("--method")
    );
}

/// Sources and classes in packages, by any of their names.
#[test]
fn packages_and_nested_classes() {
    if !has_javac() {
        return;
    }
    let folder = scratch("heap-packages");
    fs::create_dir_all(folder.join("p/q")).unwrap();
    let inner = "// one\npackage p.q;\npublic class X {\n  X n;\n  public static class Y {\n    X x;\n    \
                 public static void go() {\n      Y y = new Y();\n      y.x.n = null;\n    }\n  }\n}\n";
    fs::write(folder.join("p/q/X.java"), inner).unwrap();
    let outer = "package p;\nclass Main { static void go() { p.q.X.Y.go(); } }\n";
    fs::write(folder.join("p/Main.java"), outer).unwrap();
    for class in ["Y", "X.Y", "X$Y", "p.q.X.Y", "p.q.X$Y"] {
        for place in ["", "p", "p/q", "p/q/X.java"] {
            let path = folder.join(place);
            let args = ["check", text(&path), "--class", class, "--method", "go"];
            let done = droste(&args).expect(1);
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
        let path = folder.join(place);
        droste(&["check", text(&path), "--class", "Main", "--method", "go"]).expect(1);
    }
}

const LAST: [&str; 10] = [
    "check",
    "heap/Last.java",
    "--method",
    "removeLast",
    "--grammar",
    "SLList",
    "--rename",
    "ListNode=Cell",
    "--initial",
    "heap/inputs/cells.txt",
];

/// Several formulas by flags, or from a file with names or without.
#[test]
fn several_formulas() {
    if !has_javac() {
        return;
    }
    let with = |more: &[&str]| {
        let args: Vec<&str> = LAST.iter().chain(more).copied().collect();
        (
            droste(&args),
            args.iter().map(|one| (*one).to_owned()).collect::<Vec<_>>(),
        )
    };
    let flags = [
        "--ltl",
        "F {head == current}",
        "--ltl",
        "GF {terminated}",
        "--no-trace",
    ];
    let (done, args) = with(&flags);
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    golden("heap-formulas", &args, &done.expect(1));
    let folder = scratch("heap-formulas");
    let file = folder.join("formulas.ltl");
    let check = |text_: &str, more: &[&str]| {
        fs::write(&file, text_).unwrap();
        let flags: Vec<&str> = ["--ltl-file", text(&file)]
            .iter()
            .chain(more)
            .copied()
            .collect();
        with(&flags).0
    };
    let names = |done: &common::Done| -> Vec<(String, String)> {
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
    let text_ = check("same: F {head == current}", &["--no-trace"])
        .expect(1)
        .out;
    assert!(
        text_.contains("\nholds: same: F {head == current}\n"),
        "{text_}"
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
    if !has_javac() {
        return;
    }
    let folder = scratch("heap-vacuous");
    let file = folder.join("V.java");
    let source = "class V { V next;
  static void dies() { V v = null; v.next = v; while (true) { } }
  static void raises() { throw null; }
  static void counts() { int i = 0; while (i < 5) { i = i + 1; } }
  static void deep() { V v = new V(); deep(); v.next = v; }
  static void fine() { V v = new V(); v.next = v; }
}
";
    fs::write(&file, source).unwrap();
    let sentences = |method: &str, mode: &str| -> Vec<String> {
        let args = ["check", text(&file), "--method", method, "--mode", mode];
        let more = ["--ltl", "F {terminated}", "--no-trace", "--json"];
        let args: Vec<&str> = args.iter().chain(&more).copied().collect();
        let object = droste(&args).json();
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
        // Seen from the outermost method, a call that never returns leads nowhere.
        let deep = match mode {
            "top-level" => "No run was at stake: no run goes on or comes to its end.",
            _ => "",
        };
        assert_eq!(sentences("deep", mode), ["", deep], "{mode}");
    }
    let args = [
        "check",
        text(&file),
        "--method",
        "dies",
        "--ltl",
        "F {terminated}",
        "--no-trace",
    ];
    let out = droste(&args).expect(1).out;
    assert!(
        out.contains("holds: F {terminated}\n  No run was at stake: "),
        "{out}"
    );
}

/// What excludes each other is refused, by flags and in settings.
#[test]
fn contradictions_are_refused() {
    if !has_javac() {
        return;
    }
    let with = |more: &[&str]| {
        let args: Vec<&str> = LAST.iter().chain(more).copied().collect();
        droste(&args)
    };
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
    let folder = scratch("heap-contradictions");
    let settings = folder.join("a.attestor");
    fs::write(&settings, "-a --canonical\n").unwrap();
    let both = ["check", text(&settings), "--abstraction", "post-processing"];
    assert!(droste(&both).expect(2).err.contains("exclude each other"));
    fs::write(&settings, "-a --canonical\n--post-processing\n").unwrap();
    let err = droste(&["check", text(&settings)]).expect(2).err;
    assert!(
        err.contains("2:1") && err.contains("exclude each other"),
        "{err}"
    );
    // Standard output holds one thing.
    let err = with(&["--json", "--trace", "-"]).expect(2).err;
    assert!(err.contains("--json"), "{err}");
}

/// Files that are not there or not what they should be.
#[test]
fn what_is_wrong_with_files() {
    if !has_javac() {
        return;
    }
    let folder = scratch("heap-files");
    let file = folder.join("L.java");
    fs::write(&file, SOURCE).unwrap();
    let grammar = |text_: &str| {
        let name = folder.join("g.json");
        fs::write(&name, text_).unwrap();
        droste(&[
            "check",
            text(&file),
            "--method",
            "walk",
            "--grammar",
            text(&name),
        ])
    };
    let rule = |externals: &str, end: &str| {
        format!(
            "[{{\"nonterminal\":\"N\",\"rank\":2,\"rules\":[\n{{\"nodes\":[{{\"type\":\"Node\",\
             \"number\":2}}],\"externals\":[{externals}],\"variables\":[],\n\"selectors\":[{{\
             \"label\":\"next\",\"origin\":0,\"target\":1}}],\"hyperedges\":[]{end}}}]}}]"
        )
    };
    grammar(&rule("0,1", "")).expect(0);
    // As the reference does, a comma before the end is tolerated.
    grammar(&rule("0,1", ",")).expect(0);
    let err = grammar(&rule("0", "")).expect(2).err;
    assert!(
        err.contains("the `externals` of this rule are 1 node") && err.contains("2:1"),
        "{err}"
    );
    let err = grammar(&rule("0 1", "")).expect(2).err;
    assert!(err.contains("2:54"), "{err}");
    let err = droste(&[
        "check",
        text(&file),
        "--method",
        "walk",
        "--grammar",
        "SLLst",
    ])
    .expect(2);
    assert!(err.err.contains("SLList, DLList, BT"), "{}", err.err);
    let compiled = std::process::Command::new("javac")
        .args(["-g", "-d", text(&folder), text(&file)])
        .status();
    assert!(compiled.is_ok_and(|status| status.success()));
    let class = folder.join("L.class");
    let bytes = fs::read(&class).unwrap();
    for length in [0, 3, 10, bytes.len() / 2, bytes.len() - 1] {
        fs::write(&class, &bytes[..length]).unwrap();
        let err = droste(&["check", text(&class), "--method", "walk"])
            .expect(2)
            .err;
        assert!(err.contains("is no whole class file"), "{length}: {err}");
    }
    let nowhere = [
        "check",
        text(&file),
        "--method",
        "walk",
        "--initial",
        "nowhere.json",
    ];
    let err = droste(&nowhere).expect(2).err;
    assert_eq!(
        err,
        "error: cannot read `nowhere.json`: no such file or directory\n"
    );
}

/// What a settings file of the reference means, and what is said where that may surprise.
#[test]
fn as_the_reference_means_it() {
    if !has_javac() {
        return;
    }
    let folder = scratch("heap-reference");
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
    fs::write(folder.join("M.java"), source).unwrap();
    fs::write(folder.join("c.txt"), "H(c{Cell}) <= RefSLList(c, null)").unwrap();
    let settings = folder.join("m.attestor");
    let check = |written: &str, more: &[&str]| {
        let lists = "-cp M.java -c M -pg SLList -r ListNode=Cell -a\n";
        fs::write(&settings, format!("{lists}{written}\n")).unwrap();
        droste(&[&["check", text(&settings)], more].concat())
    };
    // On a concrete heap the loop may go on for ever, but it need not.
    for mode in ["top-level", "shared", "on-the-fly", "rsm"] {
        let ends = "-m build -mc \"G !{terminated}\"";
        let done = check(ends, &["--mode", mode]).expect(1);
        assert!(done.out.contains("This is real"), "{mode} {}", done.out);
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

/// Where null is at both ends of a list, `L(N)` does not recognise it.
#[test]
fn what_is_overlooked_is_not_called_real() {
    if !has_javac() {
        return;
    }
    let row = "heap/table/14-DLList.traverse-M.attestor";
    let row = examples().join(row);
    let plain = ["check", text(&row), "--ltl", "G {L(RefDLList)}"];
    let done = droste(&plain).expect(1);
    assert!(done.out.contains("does not recognise it"), "{}", done.out);
    assert!(!done.out.contains("This is real"), "{}", done.out);
}

/// Garbage among balanced trees.
#[test]
fn the_tree_that_nobody_holds() {
    if !has_javac() {
        return;
    }
    let folder = scratch("heap-nobody");
    let source = "class AVLTree { AVLTree left, right; static void drop(AVLTree t) { } }\n";
    let file = folder.join("AVLTree.java");
    fs::write(&file, source).unwrap();
    let heap = examples().join("heap");
    let (grammar, initial) = (
        heap.join("grammars/avl-tree.json"),
        heap.join("inputs/avl_tree.json"),
    );
    let files = ["--grammar", text(&grammar), "--initial", text(&initial)];
    let formula = ["--ltl", "G ({terminated} -> {btree})"];
    let settings = folder.join("a.attestor");
    fs::write(&settings, "-cp . -c AVLTree -m drop -a --indexed\n").unwrap();
    droste(&[&["check", text(&settings)], &files[..], &formula].concat()).expect(0);
    let method = ["--method", "drop", "--abstraction", "admissible,indexed"];
    droste(&[&["check", text(&file)], &files[..], &formula, &method].concat()).expect(1);
}
