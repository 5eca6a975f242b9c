//! What cannot be checked, and what is wrong with files.

use std::fs;

use crate::setup::{LISTS, Setup, check, check_method};

#[test]
fn what_cannot_be_checked() {
    let Some(setup) = Setup::new("heap-wrong") else {
        return;
    };
    let source = "class W { W next;
  static void grow() { W w = null; while (true) { W n = new W(); n.next = w; w = n; } }
  static void given(W w) { w.next = null; }
}
";
    let file = setup.write("W.java", source);
    let of = |method: &str, more: &[&str]| check_method(&file, method, more);
    // No grammar: the heap grows, and the largest one is shown.
    let grown = of("grow", &["--max-heap", "9"]).expect(3);
    assert!(
        grown.out.contains("The largest heap has 10 nodes"),
        "{}",
        grown.out
    );
    assert!(grown.out.contains("--grammar"), "{}", grown.out);
    let grown = of("grow", &["--max-heap", "9", "--json"]).expect(3).json();
    assert!(grown["properties"][0]["largest_heap"].is_object());
    of("grow", &["--grammar", "SLList", "--rename", "ListNode=W"]).expect(0);
    // A heap that is too large from the beginning.
    let nodes = "{\"nodes\":[{\"type\":\"W\",\"number\":60}],\"externals\":[],\"variables\":[],\
                 \"selectors\":[],\"hyperedges\":[]}";
    let large = setup.write("large.json", nodes);
    of("grow", &["--initial", &large]).expect(3);
    of("grow", &["--initial", &large, "--json"]).expect(3);
    // Nobody says what the parameter is.
    let given = of("given", &[]).expect(3);
    assert!(given.err.contains("nothing is known of w"), "{}", given.err);
    // A line without statements, another engine, a class without `main`.
    assert!(
        of("given", &["--ltl", "F {line 4}"])
            .expect(2)
            .err
            .contains("line 4")
    );
    assert!(
        of("given", &["--engine", "bdd"])
            .expect(2)
            .err
            .contains("--engine")
    );
    assert!(check(&file, &[]).expect(2).err.contains("--method"));
}

/// Files that are not there or not what they should be.
#[test]
fn what_is_wrong_with_files() {
    let Some(setup) = Setup::new("heap-files") else {
        return;
    };
    let file = setup.write("L.java", LISTS);
    let grammar = |rules: &str| {
        let name = setup.write("g.json", rules);
        check_method(&file, "walk", &["--grammar", &name])
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
    let err = check_method(&file, "walk", &["--grammar", "SLLst"])
        .expect(2)
        .err;
    assert!(err.contains("SLList, DLList, BT"), "{err}");
    setup.compile(&file);
    let class = setup.path("L.class");
    let bytes = fs::read(&class).unwrap();
    for length in [0, 3, 10, bytes.len() / 2, bytes.len() - 1] {
        fs::write(&class, &bytes[..length]).unwrap();
        let err = check_method(&class, "walk", &[]).expect(2).err;
        assert!(err.contains("is no whole class file"), "{length}: {err}");
    }
    let nowhere = check_method(&file, "walk", &["--initial", "nowhere.json"]);
    let err = nowhere.expect(2).err;
    assert_eq!(
        err,
        "error: cannot read `nowhere.json`: no such file or directory\n"
    );
}

/// Names in initial heaps that nobody knows, and keys.
#[test]
fn names_and_keys_that_nobody_knows() {
    let Some(setup) = Setup::new("heap-names") else {
        return;
    };
    let source = "class Cell { Cell next; boolean marked; Cell unused; }
class N {
  static void walk(Cell c) { while (c != null) { c = c.next; } }
}
";
    let file = setup.write("N.java", source);
    let heap = |kind: &str, selector: &str, more: &str| {
        format!(
            "{{\"nodes\":[{{\"type\":\"NULL\",\"number\":1}},\n{{\"type\":\"{kind}\",\"number\":1}}],\
             \"externals\":[],\n\"variables\":[{{\"name\":\"null\",\"target\":0}},\
             {{\"name\":\"@parameter0:\",\"target\":1}},{{\"name\":\"ghost\",\"target\":1}}],\n\
             \"selectors\":[{{\"label\":\"{selector}\",\"origin\":1,\"target\":0}}],\
             \"hyperedges\":[]{more}}}"
        )
    };
    let of = |kind: &str, selector: &str, more: &str, flags: &[&str]| {
        let initial = setup.write("heap.json", &heap(kind, selector, more));
        let flags = [&["--initial", initial.as_str()], flags].concat();
        check_method(&file, "walk", &flags)
    };
    assert_eq!(of("Cell", "next", "", &[]).expect(0).err, "");
    // A field that the program does not use is a field. Of the one that it uses nothing is said.
    of("Cell", "unused", "", &[]).expect(3);
    let err = of("Cel", "next", "", &[]).expect(2).err;
    assert!(
        err.contains("has the type `Cel`") && err.contains("2:9"),
        "{err}"
    );
    assert!(err.contains("did you mean `Cell`?"), "{err}");
    let err = of("Cell", "nxt", "", &[]).expect(2).err;
    assert!(
        err.contains("has no field `nxt`") && err.contains("4:23"),
        "{err}"
    );
    assert!(err.contains("did you mean `next`?"), "{err}");
    // What the grammar knows, and what is renamed.
    // A type of the grammar is known, but a `Cell` is no object of it.
    let err = of("ListNode", "next", "", &["--grammar", "SLList"])
        .expect(2)
        .err;
    assert!(
        err.contains("did you mean --rename 'ListNode=Cell'?"),
        "{err}"
    );
    of("Any", "to", "", &["--rename", "Any=Cell to=next"]).expect(0);
    let err = of("Any", "to", "", &["--rename", "Any=Cel"]).expect(2).err;
    assert!(err.contains("renamed to `Cel`"), "{err}");
    let idle = [
        "--rename",
        "Cell=Cell bogus=next",
        "--rename",
        "Nothing=Cell",
    ];
    let err = of("Cell", "next", "", &idle).expect(0).err;
    assert!(
        err.contains("warning: --rename: no grammar and no heap has a selector `bogus`")
            && err.contains("has a type `Nothing`"),
        "{err}"
    );
    // As in the reference.
    let err = of("Cel", "next", "", &["--compat"]).expect(0).err;
    assert!(
        err.contains("warning: neither") && err.contains("`Cel`"),
        "{err}"
    );
    let err = of("Cell", "next", ",\"hyperedge\":[]", &[]).expect(0).err;
    assert!(
        err.contains("warning: the key `hyperedge`") && err.contains("`hyperedges`?"),
        "{err}"
    );
    let text = setup.write(
        "heap.txt",
        "H(@parameter0:{Cel}) <= @parameter0:.nxt -> null",
    );
    let err = check_method(&file, "walk", &["--initial", &text])
        .expect(2)
        .err;
    assert!(
        err.contains("the type `Cel`") && err.contains("1:16"),
        "{err}"
    );
    let text = setup.write(
        "heap.txt",
        "H(@parameter0:{Cell}) <= @parameter0:.nxt -> null",
    );
    let err = check_method(&file, "walk", &["--initial", &text])
        .expect(2)
        .err;
    assert!(
        err.contains("no field `nxt`") && err.contains("1:39"),
        "{err}"
    );
    // In a grammar and in a file without anything.
    let rules = "[{\"nonterminal\":\"N\",\"rank\":0,\"rule\":1,\"rules\":[]}]";
    let grammar = setup.write("g.json", rules);
    let err = check_method(&file, "walk", &["--compat", "--grammar", &grammar]).err;
    assert!(
        err.contains("the key `rule`") && err.contains("`rules`?"),
        "{err}"
    );
    for empty in ["", " \n"] {
        let grammar = setup.write("g.json", empty);
        let err = check_method(&file, "walk", &["--grammar", &grammar])
            .expect(2)
            .err;
        assert!(err.contains("expected a list of nonterminals"), "{err}");
        let heap = setup.write("h.json", empty);
        let err = check_method(&file, "walk", &["--initial", &heap])
            .expect(2)
            .err;
        assert!(err.contains("expected a graph"), "{err}");
    }
}

/// Initial heaps that the program can never have, or that stand for none.
#[test]
fn heaps_that_make_no_sense() {
    let Some(setup) = Setup::new("heap-senseless") else {
        return;
    };
    let source = "class Cell { Cell next; int size; } class Lib { } interface I { } class Sub extends Cell implements I { }
class M {
  static Cell last(Cell c) { while (c.next != null) c = c.next; return c; }
  static I same(I one, boolean b, Object other) { return one; }
}
";
    let file = setup.write("M.java", source);
    let lists = ["--grammar", "SLList", "--rename", "ListNode=Cell"];
    let of = |method: &str, text: &str, more: &[&str]| {
        let name = if text.starts_with('{') {
            "h.json"
        } else {
            "h.txt"
        };
        let heap = setup.write(name, text);
        let flags = [&lists[..], &["--initial", &heap], more].concat();
        check_method(&file, method, &flags)
    };
    let list = "RefSLList(@parameter0:, null)";
    for (text, message, place) in [
        (
            format!("H(@parameter0:{{Lib}}) <= {list}"),
            "which has no such field",
            "1:25",
        ),
        (
            format!("H(@parameter0:{{Lib}}) <= {list}"),
            "`@parameter0:` is of type `Cell`",
            "1:3",
        ),
        (
            "H(@parameter0:{Cell}) <= RefSLList(@parameter0:, 1)".into(),
            "tentacle 2 of `RefSLList` is at a number",
            "1:26",
        ),
        (
            "H(@parameter0:{Cell}) <= RefSLList(null, @parameter0:)".into(),
            "but it is null here",
            "1:26",
        ),
        (
            format!("H(@parameter0:{{Cell}}) <= {list} * {list}"),
            "stands for no heap",
            "1:58",
        ),
        (
            format!("H(@parameter0:{{Cell}}) <= @parameter0:.next -> null * {list}"),
            "stands for no heap",
            "1:54",
        ),
        (
            "H(@parameter0:{Cell}) <= @parameter0:.next -> null * null.next -> null".into(),
            "a field of null",
            "1:59",
        ),
        (
            format!("H(@parameter0:{{Cell}}, @parameter5:{{Cell}}) <= {list}"),
            "no parameter `@parameter5:`",
            "1:23",
        ),
        (
            format!("H(@parameter0:{{Cell}}, @this:{{M}}) <= {list}"),
            "it has no `@this:`",
            "1:23",
        ),
    ] {
        let done = of("last", &text, &[]).expect(2);
        assert!(done.err.contains(message), "{message}: {}", done.err);
        assert!(done.err.contains(place), "{place}: {}", done.err);
        // The reference takes them.
        let done = of("last", &text, &["--compat"]);
        assert!(done.err.contains("warning: "), "{}", done.err);
    }
    let json = |nodes: &str, more: &str| {
        format!(
            "{{\"nodes\":[{nodes}],\"externals\":[],\"variables\":[{{\"name\":\"null\",\"target\":0}},\
             {{\"name\":\"@parameter0:\",\"target\":1}}],\"selectors\":[],\"hyperedges\":[]{more}}}"
        )
    };
    let cells = "{\"type\":\"Cell\",\"number\":2}";
    let null = "{\"type\":\"NULL\",\"number\":1}";
    let usual = format!("{null},{{\"type\":\"Cell\",\"number\":1}}");
    let usual = json(&usual, "");
    of("last", &usual, &[]).expect(3);
    for (text, message) in [
        (json(cells, ""), "`null` is at an object of type `Cell`"),
        (
            json(&format!("{null},{null}"), ""),
            "several nodes of type NULL",
        ),
        (
            usual.replace("\"externals\":[]", "\"externals\":[1]"),
            "no external nodes",
        ),
        (
            usual.replace("\"externals\":[]", "\"externals\":[],\"externals\":[]"),
            "the key `externals` is there twice",
        ),
    ] {
        let done = of("last", &text, &[]).expect(2);
        assert!(done.err.contains(message), "{message}: {}", done.err);
        assert!(done.err.contains("h.json:1:"), "{}", done.err);
    }
    // What is all right.
    for text in [
        "H(@parameter0:{Sub}, @parameter1:{int}, @parameter2:{Lib}) <= @parameter0:.next -> null * @parameter1: = true",
        "H(@parameter0:{Sub}, @parameter2:{Cell}) <= RefSLList(@parameter0:, @parameter2:) * RefSLList(@parameter2:, null)",
        "H(@parameter0:{NULL}, @parameter2:{NULL}) <= @parameter0: = null * @parameter2: = null",
    ] {
        let done = of("same", text, &[]).expect(0);
        assert_eq!(done.err, "", "{text}");
    }
}

/// A forgotten `--rename`.
#[test]
fn grammars_for_other_classes() {
    let Some(setup) = Setup::new("heap-misfits") else {
        return;
    };
    let source = "class Cell { Cell next; }
class M { static Cell last(Cell c) { while (c.next != null) c = c.next; return c; } }
";
    let file = setup.write("M.java", source);
    let heap = |text: &str| setup.write("h.txt", text);
    let cells = heap("H(@parameter0:{Cell}) <= RefSLList(@parameter0:, null)");
    let own = ["--grammar", "SLList", "--initial", &cells];
    let done = check_method(&file, "last", &own).expect(2);
    let told = "`RefSLList` has an object of type `ListNode` where the field `next` of class `Cell` leads, \
                which is of type `Cell`; did you mean --rename 'ListNode=Cell'?";
    assert!(done.err.contains(told), "{}", done.err);
    let rename = ["--grammar", "SLList", "--rename", "ListNode=Cell"];
    let done = check_method(
        &file,
        "last",
        &[&rename[..], &["--initial", &cells]].concat(),
    );
    assert_eq!(done.expect(0).err, "");
    // A field of another name.
    let text = "L(x{Cell}, !y{Cell}) <= x.nxet -> y <= z{Cell} | x.nxet -> z * L(z, y);";
    let grammar = setup.write("g.sid", text);
    let cells = heap("H(@parameter0:{Cell}) <= y{Cell} | @parameter0:.next -> y * y.next -> null");
    let done = check_method(&file, "last", &["--grammar", &grammar, "--initial", &cells]).expect(0);
    assert!(!done.err.contains("nxet"), "{}", done.err);
    let cells = heap("H(@parameter0:{Cell}) <= L(@parameter0:, null)");
    let done = check_method(&file, "last", &["--grammar", &grammar, "--initial", &cells]).expect(2);
    assert!(done.err.contains("`next`"), "{}", done.err);
    let done = check_method(
        &file,
        "last",
        &["--grammar", &grammar, "--initial", &cells, "--compat"],
    );
    assert!(done.err.contains("nxet"), "{}", done.err);
}

/// Messages that say what to do.
#[test]
fn small_messages() {
    let Some(setup) = Setup::new("heap-messages") else {
        return;
    };
    let empty = setup.write("Empty.java", "// nothing\n");
    let done = check_method(&empty, "main", &[]).expect(2);
    assert!(done.err.contains("no class is declared in"), "{}", done.err);
    let source = "class Cell { Cell next; }
class K {
  static Cell over(Cell a) { return a.next.next; }
  static Cell over(Cell a, int k) { return a; }
  static Cell never(Cell a) {
    return a;
  }
}
";
    let file = setup.write("K.java", source);
    let done = check_method(&file, "<K: Cell over(Foo)>", &[]).expect(2);
    assert!(
        done.err
            .contains("There are: <K: Cell over(Cell)>, <K: Cell over(Cell,int)>"),
        "{}",
        done.err
    );
    let text = "H(@parameter0:{Cell}) <= @parameter0:.next -> null";
    let heap = setup.write("h.txt", text);
    let over = "<K: Cell over(Cell)>";
    let done = check_method(&file, over, &["--initial", &heap, "--no-trace"]).expect(1);
    assert!(
        done.out.contains("not examined (--no-trace)"),
        "{}",
        done.out
    );
    let lines = ["--initial", &heap, "--ltl", "F {line 6}"];
    let done = check_method(&file, over, &lines).expect(2);
    assert!(done.err.contains("never called"), "{}", done.err);
}

/// Rules that cut a list in two never come to its first field.
#[test]
fn fields_that_rules_never_show() {
    let Some(setup) = Setup::new("heap-hidden") else {
        return;
    };
    let source = "class Cell { Cell next; }
class A {
  static Cell last(Cell c) { while (c.next != null) { c = c.next; } return c; }
}
";
    let file = setup.write("A.java", source);
    let rules = setup.write(
        "halves.txt",
        "Half(a{Cell}, !b{Cell}) <= a.next -> b <= m{Cell} | Half(a, m) * Half(m, b) ;",
    );
    let heap = setup.write(
        "heap.json",
        r#"{"nodes":[{"type":"NULL","number":1},{"type":"Cell","number":2}],"externals":[],
"variables":[{"name":"null","target":0},{"name":"@parameter0:","target":1}],
"selectors":[{"label":"next","origin":2,"target":0}],
"hyperedges":[{"label":"Half","tentacles":[1,2]}]}"#,
    );
    let flags = ["--class", "A", "--grammar", &rules, "--initial", &heap];
    let out = check_method(&file, "last", &flags).expect(3).out;
    assert!(
        out.contains("more than 200 rules to apply before a field that a hyperedge hides is found"),
        "{out}"
    );
    assert!(out.contains("at once"), "{out}");
}

/// The compiler may lead other jumps past a `break`: whether it is executed cannot be told.
#[test]
fn lines_that_are_passed_by() {
    let Some(setup) = Setup::new("heap-passed-by") else {
        return;
    };
    let source = "class N { N next; }
class B {
  static void one(N p) {
    while (p != null) {
      if (p.next == p || p.next == null) {
        break;
      }
      p = p.next;
    }
  }
  static void two(N p) {
    while (p != null) {
      if (p.next == null) {
        break;
      }
      p = p.next;
    }
  }
  static void three(N p) {
    while (p != null) {
      if (p.next != null) {
        p = p.next;
      }
      break;
    }
  }
}
";
    let file = setup.write("B.java", source);
    let text = "H(@parameter0:{N}) <= RefSLList(@parameter0:, null)";
    let heap = setup.write("h.txt", text);
    let of = |method: &str, line: u32| {
        let formula = format!("G ! {{line {line}}}");
        let more = ["--initial", &heap, "--ltl", &formula];
        let lists = ["--grammar", "SLList", "--rename", "ListNode=N"];
        check_method(&file, method, &[&more[..], &lists].concat())
    };
    for (method, line, said) in [
        ("one", 6, "is executed cannot be seen in the class file"),
        // The break leads to the next instruction, so the compiler leaves it out.
        ("three", 24, "the class file has no statement in line 24"),
    ] {
        let refused = of(method, line).expect(2);
        assert!(refused.err.contains(said), "{}", refused.err);
    }
    of("one", 8).expect(1);
    // Nothing but the condition before it leads there.
    of("two", 14).expect(1);
}
