//! What Java does besides following pointers: exceptions where null is used, initialisers of classes,
//! `instanceof`, and several files.

use crate::setup::{Setup, check, check_method};

const HEAP: &str = "H(@parameter0:{N}) <= RefSLList(@parameter0:, null)";

const LISTS: [&str; 4] = ["--grammar", "SLList", "--rename", "ListNode=N"];

/// A null dereference that is caught is an error, and the run goes on in the handler.
#[test]
fn null_is_caught() {
    let Some(setup) = Setup::new("heap-caught") else {
        return;
    };
    let source = "class N { N next; }
class H {
  static void here() {
    N n = null;
    try { n.next = n; }
    catch (NullPointerException e) {
      n = new N();
    }
  }
  static void read() { N n = null; try { n = n.next; } catch (RuntimeException e) { n = new N(); } }
  static void last() { N n = null; try { n.next = n; } finally { n = new N(); } }
  static void deep() { N n = null; n.next = n; }
  static void calls() { try { deep(); } catch (RuntimeException e) { new N().next = null; } }
  static void other() { N n = null; try { n.next = n; } catch (IllegalStateException e) { n = new N(); } }
  static void checks() { N n = null; try { java.util.Objects.requireNonNull(n); } catch (NullPointerException e) { n = new N(); } }
  void none() { }
  static void receiver() { H h = null; try { h.none(); } catch (NullPointerException e) { h = new H(); } }
  static void own() { throw new RuntimeException(); }
}
";
    let file = setup.write("H.java", source);
    let modes = ["top-level", "on-the-fly", "rsm", "shared"];
    for method in ["here", "read", "calls", "checks", "receiver"] {
        for mode in modes {
            let more = ["--mode", mode, "--ltl", "G ! {terminated}", "--json"];
            let done = check_method(&file, method, &more).expect(1).json();
            let verdicts = done["properties"].as_array().unwrap();
            assert_eq!(verdicts[0]["verdict"], "violated", "{method} {mode}");
            // In the callee nothing comes to its end.
            assert_eq!(verdicts[1]["verdict"], "violated", "{method} {mode}");
        }
    }
    // The line of a handler, and a handler that leads out of the method again.
    check_method(&file, "here", &["--ltl", "G ! {line 7}"]).expect(1);
    for method in ["last", "other"] {
        let more = ["--ltl", "G ! {terminated}", "--json"];
        let done = check_method(&file, method, &more).expect(1).json();
        assert_eq!(done["properties"][1]["verdict"], "holds", "{method}");
    }
    // All runs end with an exception, and none of them uses null.
    let own = check_method(&file, "own", &["--ltl", "F {terminated}"]).expect(0);
    let said = "every run ends with an exception at H.java:18";
    assert!(own.out.contains(said), "{}", own.out);
}

/// With `top-level` a call that does not return is no step. The verdict says so.
#[test]
fn calls_that_do_not_return() {
    let Some(setup) = Setup::new("heap-endless") else {
        return;
    };
    let source = "class N { N next; }
class B {
  static void spin(N a) { while (a.next != null) { } }
  static N m(N p) { spin(p); return p; }
  static void cut(N a) { while (a.next != null) { } a.next.next = null; }
  static void c(N p) { cut(p); }
  static N id(N a) { return a; }
  static N fine(N p) { return id(p); }
}
";
    let file = setup.write("B.java", source);
    let heap = setup.write("l.txt", HEAP);
    let more = |mode: &'static str| {
        let more = [
            "--initial",
            &heap,
            "--mode",
            mode,
            "--ltl",
            "F {terminated}",
        ];
        let all: Vec<String> = LISTS.iter().chain(&more).map(ToString::to_string).collect();
        all
    };
    let ask = |method: &str, mode: &'static str, json: bool, code: i32| {
        let mut more = more(mode);
        more.extend(json.then(|| "--json".to_owned()));
        let more: Vec<&str> = more.iter().map(String::as_str).collect();
        check_method(&file, method, &more).expect(code)
    };
    let told = ask("m", "top-level", false, 0).out;
    assert!(
        told.contains("Calls of spin (B.java:4) may not return"),
        "{told}"
    );
    let told = ask("m", "top-level", true, 0).json();
    let call = &told["properties"][1]["may_not_return"][0];
    assert_eq!(
        (&call["method"], &call["line"]),
        (&"spin".into(), &4.into())
    );
    ask("m", "shared", false, 1);
    let told = ask("c", "top-level", false, 1).out;
    assert!(told.contains("may not return"), "{told}");
    assert!(!told.contains("No run was at stake"), "{told}");
    let told = ask("fine", "top-level", false, 0).out;
    assert!(!told.contains("may not return"), "{told}");
}

/// An initialiser that may use null or changes objects is not run, and nothing is known behind it.
#[test]
fn static_initialisers() {
    let Some(setup) = Setup::new("heap-initialisers") else {
        return;
    };
    let source = "class N { N next; }
class I {
  static class A { static { N n = null; n.next = n; } static void f() { } }
  static class B { static N n = new N(); static int[] t = new int[3]; static { t[0] = 1; } static void f() { } }
  static class C { static { A.f(); } C() { } }
  static class D { static final int K = 3; static final Object O = new Object(); static void f() { } }
  static void bad() { A.f(); }
  static void quiet() { B.f(); D.f(); N n = new N(); n.next = n; }
  static void inner() { new C(); }
}
class J { static { N n = null; n.next = n; } static void m() { } }
";
    let file = setup.write("I.java", source);
    for method in ["bad", "inner"] {
        let done = check_method(&file, method, &[]).expect(3);
        assert!(done.out.contains("<clinit>()>"), "{}", done.out);
        assert!(done.out.contains("the first use of class"), "{}", done.out);
    }
    check_method(&file, "quiet", &[]).expect(0);
    check(&file, &["--class", "J", "--method", "m"]).expect(3);
}

/// What class an object has decides `instanceof`.
#[test]
fn instanceof_is_exact() {
    let Some(setup) = Setup::new("heap-instanceof") else {
        return;
    };
    let source = "class N { N next; }
class P extends N { }
interface K { }
class L {
  static void same() { N n = null; Object o = new P(); if (!(o instanceof P)) n.next = n; }
  static void above() { N n = null; Object o = new P(); if (!(o instanceof N)) n.next = n; }
  static void below() { N n = null; Object o = new N(); if (o instanceof P) n.next = n; }
  static void nothing() { N n = null; Object o = null; if (o instanceof P) n.next = n; }
  static void wrong() { N n = null; Object o = new N(); if (o instanceof N) n.next = n; }
  static void given(Object o) { N n = null; if (o instanceof N) n.next = n; }
}
";
    let file = setup.write("L.java", source);
    for method in ["same", "above", "below", "nothing"] {
        check_method(&file, method, &[]).expect(0);
    }
    let done = check_method(&file, "wrong", &[]).expect(1);
    assert!(done.out.contains("This is real"), "{}", done.out);
    check_method(&file, "given", &[]).expect(1);
}

/// Lines of other files are told with the name of the file, and their text is shown.
#[test]
fn other_files() {
    let Some(setup) = Setup::new("heap-files-of-traces") else {
        return;
    };
    setup.write(
        "Help.java",
        "class Help {\n  static N step(N a) {\n    return a.next;\n  }\n}\n",
    );
    setup.write("N.java", "class N { N next; }\n");
    let source =
        "class Main {\n  static void run() {\n    Help.step(Help.step(new N()));\n  }\n}\n";
    let file = setup.write("Main.java", source);
    let out = check_method(&file, "run", &[]).expect(1).out;
    let row = out.lines().find(|line| line.contains("✗"));
    let row = row.unwrap_or_default();
    assert!(row.contains("Help.java:3 │"), "{out}");
    assert!(row.contains("return a.next;"), "{out}");
}

/// There is one null.
#[test]
fn two_nulls() {
    let Some(setup) = Setup::new("heap-nulls") else {
        return;
    };
    let file = setup.write(
        "C.java",
        "class N { N next; }\nclass C { static void m(N a) { } }\n",
    );
    let heap = r#"{"nodes":[{"type":"NULL","number":2},{"type":"N","number":1}],"externals":[],
        "variables":[{"name":"null","target":0},{"name":"@parameter0:","target":2}],
        "selectors":[{"label":"next","origin":2,"target":1}],"hyperedges":[]}"#;
    let heap = setup.write("h.json", heap);
    let done = check_method(&file, "m", &["--initial", &heap]).expect(2);
    assert!(
        done.err.contains("several nodes of type NULL"),
        "{}",
        done.err
    );
}

/// Where somebody catches the overflow of the stack, a recursion may overflow it.
#[test]
fn an_overflow_of_the_stack_is_caught() {
    let Some(setup) = Setup::new("heap-overflow") else {
        return;
    };
    let source = "class N { N next; }
class S {
  static void deep() { deep(); }
  static void flat() { }
  static void other() { inner(); }
  static void inner() { if (new N().next != null) return; other(); }
  static N named() { N x = new N(); try { deep(); } catch (StackOverflowError e) { x = null; } return x.next; }
  static N above() { N x = new N(); try { other(); } catch (Error e) { x = null; } return x.next; }
  static N all() { N x = new N(); try { try { deep(); } finally { x.next = x; } } catch (Throwable e) { x = null; } return x.next; }
  static N caller() { N x = new N(); try { named(); } catch (RuntimeException e) { x = null; } return x.next; }
  static N calls() { N x = new N(); try { flat(); } catch (Throwable e) { x = null; } return x.next; }
  static N exceptions() { N x = new N(); try { deep(); } catch (Exception e) { x = null; } return x.next; }
  static N last() { N x = new N(); try { deep(); } finally { x.next = x; } return x.next; }
  static N self(N x) { try { flat(); } catch (Throwable e) { x = null; } if (x.next == null) return x; return self(x.next); }
  static N selfCalled() { N x = new N(); return self(x); }
}
";
    let file = setup.write("S.java", source);
    for method in ["named", "above", "all", "caller", "selfCalled"] {
        let done = check_method(&file, method, &[]).expect(1);
        let said = "an overflow of the stack is caught here";
        assert!(done.err.contains(said), "{method}: {}", done.err);
    }
    for method in ["calls", "exceptions", "last"] {
        let done = check_method(&file, method, &[]).expect(0);
        assert!(!done.err.contains("overflow"), "{method}: {}", done.err);
    }
}

/// An exception that is certain to be caught where it is thrown is nothing to be warned of.
#[test]
fn exceptions_that_are_caught_at_once() {
    let Some(setup) = Setup::new("heap-caught-at-once") else {
        return;
    };
    let source = "class E extends IllegalStateException { }
class C {
  static void own() { try { throw new E(); } catch (E e) { } }
  static void above() { try { throw new E(); } catch (RuntimeException e) { } }
  static void other() { try { throw new E(); } catch (IllegalArgumentException e) { } }
}
";
    let file = setup.write("C.java", source);
    for (method, warns) in [("own", false), ("above", false), ("other", true)] {
        let done = check_method(&file, method, &[]).expect(0);
        let said = done.err.contains("an exception may be thrown here");
        assert_eq!(said, warns, "{method}: {}", done.err);
    }
}

/// A throw that nothing decides about is no guess, also if the exception leaves the method.
#[test]
fn thrown_for_certain() {
    let Some(setup) = Setup::new("heap-thrown-for-certain") else {
        return;
    };
    let source = "class N { N next; }
class E extends RuntimeException { }
class X {
  static void always() { throw new E(); }
  static void maybe(int n) { if (n > 7) throw new E(); }
  static N certain() { N x = new N(); try { always(); } catch (E e) { x = null; } return x.next; }
  static N guessed(int n) { N x = new N(); try { maybe(n); } catch (E e) { x = null; } return x.next; }
}
";
    let file = setup.write("X.java", source);
    let done = check_method(&file, "certain", &[]).expect(1);
    assert!(done.out.contains("This is real"), "{}", done.out);
    let done = check_method(&file, "guessed", &[]).expect(1);
    assert!(!done.out.contains("This is real"), "{}", done.out);
}
