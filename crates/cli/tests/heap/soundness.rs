//! Programs on which a verdict was wrong once: the smallest ones, with the right verdict.

use crate::setup::{Setup, check, check_method};

const HEAP: &str = "H(@parameter0:{N}) <= RefSLList(@parameter0:, null)";

const LISTS: [&str; 4] = ["--grammar", "SLList", "--rename", "ListNode=N"];

/// Objects of a subclass have the fields that only the grammar mentions, and mentions for the class above.
#[test]
fn subclasses_inherit_adopted_fields() {
    let Some(setup) = Setup::new("heap-inherited") else {
        return;
    };
    let source = "class N { N next; } class M extends N { }
class A {
  static void cp() { }
  static N m(N a) {
    N x = new M();
    N y = new N();
    cp();
    return x;
  }
}
";
    let file = setup.write("A.java", source);
    let heap = setup.write("l.txt", HEAP);
    let of = |formula: &str| {
        let more = ["--initial", &heap, "--no-trace", "--ltl", formula];
        check_method(&file, "m", &[&LISTS[..], &more].concat())
    };
    for variable in ["x", "y"] {
        of(&format!(
            "G ({{line 7}} -> !{{isReachable({variable},null)}})"
        ))
        .expect(1);
        of(&format!("G ({{line 7}} -> {{{variable}.next == null}})")).expect(0);
    }
}

const CALLBACKS: &str = "import java.util.*;
class N { N next;
  public boolean equals(Object o) { return ((N) o).next == next; }
  public int hashCode() { return 1; }
}
class P { P next; }
class G { G next;
  public boolean equals(Object o) { return o instanceof G && ((G) o).next == next; }
  public int hashCode() { return 1; }
}
class K implements Comparable<K> { int k; public int compareTo(K o) { return o.k - k; } }
class B {
  static P sf;
  static void equal(N a) { N x = new N(); Objects.equals(x, a); }
  static void each(P a) { List<P> l = new ArrayList<>(); l.add(a); l.forEach(x -> sf = x.next); }
  static void sort(P a) { List<P> l = new ArrayList<>(); l.add(a); l.add(a); l.sort((u, v) -> u.next == v.next ? 0 : 1); }
  static void constant() { List<K> l = new ArrayList<>(); l.add(null); l.add(new K()); Collections.sort(l); }
  static void array() { K[] l = new K[2]; l[0] = new K(); Arrays.sort(l); }
  static void given(List<P> l) { l.forEach(x -> sf = x.next); }
  static void returned() { List<P> l = new ArrayList<>(); l.add(new P()); l.replaceAll(x -> x.next); l.forEach(x -> { P y = x.next; }); }
  static void own() { List<P> l = new ArrayList<>(); l.add(new P()); l.forEach(x -> sf = x.next); }
  static void sorted() { List<K> l = new ArrayList<>(); l.add(new K()); l.add(new K()); Collections.sort(l); new TreeSet<K>().add(new K()); }
  static void filled() { List<K> l = Arrays.asList(new K(), new K()); Collections.sort(l); }
  static void guarded(G a) { new HashSet<Object>().add(a); Objects.equals(new G(), a); }
  static void strings() { List<String> l = new ArrayList<>(); l.add(\"a\"); l.forEach(s -> System.out.println(s.length())); }
}
";

/// Null that the program gives to a library may come back as an argument.
#[test]
fn libraries_pass_null_on() {
    let Some(setup) = Setup::new("heap-null-passed-on") else {
        return;
    };
    let file = setup.write("B.java", CALLBACKS);
    for (method, run) in [
        ("equal", "may run <N: boolean equals(java.lang.Object)>"),
        ("each", "may run <B$lambda$"),
        ("sort", "may run <B$lambda$"),
        ("constant", "may run <K: int compareTo(K)>"),
        ("array", "may run <K: int compareTo(K)>"),
        ("given", "may run <B$lambda$"),
        ("returned", "may run <B$lambda$"),
    ] {
        let out = check_method(&file, method, &[]).expect(3).out;
        assert!(out.contains(run), "{method}: {out}");
        assert!(!out.contains("nothing to check"), "{method}: {out}");
    }
    for method in ["own", "sorted", "filled", "guarded", "strings"] {
        let out = check_method(&file, method, &[]).expect(0).out;
        assert!(!out.contains("nothing to check"), "{method}: {out}");
    }
}

/// Rules match classes exactly. What is not recognised for that reason is not known, on both sides.
#[test]
fn subclasses_fit_no_rule() {
    let Some(setup) = Setup::new("heap-no-rule") else {
        return;
    };
    let source = "class N { N next; } class M extends N { }
class C {
  static N m() { N x = new M(); x.next = null; return x; }
  static N many() { N x = null; while (true) { N y = new M(); y.next = x; x = y; } }
}
";
    let file = setup.write("C.java", source);
    for formula in [
        "G ({terminated} -> {sll})",
        "G ({terminated} -> !{sll})",
        "G ({terminated} -> {L(RefSLList)})",
    ] {
        let more = ["--mode", "top-level", "--ltl", formula];
        let out = check_method(&file, "m", &[&LISTS[..], &more].concat()).out;
        let why =
            "an object of class `M` fits no rule of the grammar, which has objects of class `N`";
        assert!(out.contains(&format!("unknown: {formula}")), "{out}");
        assert!(out.contains(why), "{out}");
    }
    let more = ["--max-heap", "6"];
    let out = check_method(&file, "many", &[&LISTS[..], &more].concat());
    let why = "Objects of class M fit no rule: the grammar has objects of class N";
    assert!(out.expect(3).out.contains(why));
    // If there are no others, the rules may be about the subclass.
    let more = [
        "--grammar",
        "SLList",
        "--rename",
        "ListNode=M",
        "--mode",
        "top-level",
        "--ltl",
        "G ({terminated} -> {sll})",
    ];
    check_method(&file, "m", &more).expect(0);
    let more = ["--grammar", "SLList", "--rename", "ListNode=M"];
    check_method(&file, "many", &more).expect(0);
}

/// A cast of the source behind a method that gives any object is none of the compiler's.
#[test]
fn casts_behind_generics() {
    let Some(setup) = Setup::new("heap-erased-casts") else {
        return;
    };
    let source = "class N { N next; }
class Ref<X> { X v; Ref(X v) { this.v = v; } X get() { return v; } }
class D {
  static N fails(N a) {
    Ref<Object> r = new Ref<>(new Object());
    N x = (N) r.get();
    return a.next;
  }
  static N fits(N a) {
    Ref<N> r = new Ref<>(new N());
    N x = r.get();
    return a.next;
  }
}
";
    let file = setup.write("D.java", source);
    let null = r#"{"nodes": [{"type": "NULL", "number": 1}], "externals": [], "selectors": [],
        "variables": [{"name": "null", "target": 0}, {"name": "@parameter0:", "target": 0}],
        "hyperedges": []}"#;
    let heap = setup.write("n.json", null);
    let heap = ["--initial", heap.as_str()];
    let fails = check_method(&file, "fails", &heap).expect(1);
    assert!(!fails.out.contains("This is real"), "{}", fails.out);
    assert!(fails.out.contains("D.java:6"), "{}", fails.out);
    assert!(
        !fails.err.contains("as the compiler makes it"),
        "{}",
        fails.err
    );
    let fits = check_method(&file, "fits", &heap).expect(1);
    assert!(fits.out.contains("This is real"), "{}", fits.out);
}

/// A nonterminal that has objects of no class of the program where a field has one.
#[test]
fn forgotten_renamings() {
    let Some(setup) = Setup::new("heap-not-renamed") else {
        return;
    };
    let source = "class Cell { Cell next; Cell step() { return next.next.next; } }\n";
    let file = setup.write("Cell.java", source);
    let heap = setup.write("t.txt", "H(@this:{Cell}) <= RefSLList(@this:, null)");
    let of = |more: &[&str]| {
        let own = ["--grammar", "SLList", "--initial", &heap];
        check_method(&file, "step", &[&own[..], more].concat())
    };
    let help = "did you mean --rename 'ListNode=Cell'?";
    for more in [&[][..], &["--rename", "ListNode=Cel"]] {
        let err = of(more).expect(2).err;
        assert!(err.contains(help), "{err}");
    }
    let err = of(&["--compat", "--ltl", "F {terminated}"]).err;
    assert!(err.contains("warning") && err.contains(help), "{err}");
    of(&["--rename", "ListNode=Cell"]).expect(1);
}

/// The end of `synchronized` raises nothing.
#[test]
fn the_end_of_synchronized() {
    let Some(setup) = Setup::new("heap-synchronized") else {
        return;
    };
    let source = "class N { N next; }
class S {
  static N m(N a) {
    N y;
    synchronized (a) {
      y = a;
    }
    return y.next.next;
  }
}
";
    let file = setup.write("S.java", source);
    let heap = setup.write("l.txt", HEAP);
    let done = check_method(&file, "m", &[&LISTS[..], &["--initial", &heap]].concat()).expect(1);
    assert!(done.out.contains("This is real"), "{}", done.out);
    assert_eq!(done.err.matches("`synchronized` is ignored").count(), 1);
}

/// What is left out in a formula is said.
#[test]
fn empty_operands() {
    let Some((setup, file)) = Setup::lists("heap-empty-operands") else {
        return;
    };
    for (proposition, message) in [
        ("{c ==}", "the name of a variable is missing"),
        ("{isReachable(,)}", "the name of a variable is missing"),
        ("{visited()}", "the name of a variable is missing"),
        ("{c.==c}", "the name of a field is missing"),
        ("{isReachable(c,c,[])}", "the name of a field is missing"),
        ("{L()}", "the name of a nonterminal is missing"),
        ("{in()}", "the name of a method is missing"),
        ("{line L.java:}", "the number of a line is missing"),
        ("{line }", "the number of a line is missing"),
    ] {
        let formula = format!("G {proposition}");
        let err = check_method(&file, "walk", &["--ltl", &formula])
            .expect(2)
            .err;
        assert!(err.contains(message), "{proposition}: {err}");
    }
    for (flags, message) in [
        (["--engine", "bdd"], "--mode says how"),
        (["--contexts", "2"], "one thread is analysed"),
    ] {
        let err = check_method(&file, "walk", &flags).expect(2).err;
        assert!(err.contains(message) && !err.contains("ask with"), "{err}");
    }
    let jar = setup.write("rnd.jar", "hello");
    let err = check(&jar, &[]).expect(2).err;
    assert!(err.contains("rnd.jar") && !err.contains("--class"), "{err}");
    let err = check("-", &["--method", "m"]).expect(2).err;
    assert!(err.contains("cannot come from standard input"), "{err}");
    let both = setup.write("q.attestor", "--class L --classpath . --quiet --verbose\n");
    let err = check(&both, &[]).expect(2).err;
    assert!(err.contains("`--quiet` excludes"), "{err}");
}

/// A class file beside its source shows the lines of the source, unless that has been changed since.
#[test]
fn sources_beside_class_files() {
    let Some((setup, file)) = Setup::lists("heap-source-beside") else {
        return;
    };
    setup.compile(&file);
    let class = setup.path("L.class");
    let out = check_method(&class, "bad", &[]).expect(1).out;
    assert!(out.contains("Node c = two();"), "{out}");
    let later = std::time::SystemTime::now() + std::time::Duration::from_secs(100);
    let source = std::fs::File::options().append(true).open(&file).unwrap();
    source.set_modified(later).unwrap();
    let out = check_method(&class, "bad", &[]).expect(1).out;
    assert!(!out.contains("Node c = two();"), "{out}");
}

/// Objects have the fields that a formula names, even if only methods that are never called use them.
#[test]
fn fields_of_formulas() {
    let Some(setup) = Setup::new("heap-fields-of-formulas") else {
        return;
    };
    let source = "class P { P p; P q; P never() { return p.q; } }
class Q { static P m() { P a = new P(); return a; } }
";
    let file = setup.write("Q.java", source);
    for formula in [
        "G ({terminated} -> {return.p == null})",
        "G ({terminated} -> !{isReachable(return,return,[q])})",
    ] {
        let more = ["--mode", "top-level", "--ltl", formula];
        check_method(&file, "m", &more).expect(0);
    }
    let more = ["--mode", "top-level", "--ltl", "G !{a.q == null}"];
    check_method(&file, "m", &more).expect(1);
}

/// A variable of a contract that no call has.
#[test]
fn variables_of_contracts() {
    let Some((setup, file)) = Setup::lists("heap-contract-variables") else {
        return;
    };
    let heap = |variable: &str| {
        format!(
            r#"{{"nodes": [{{"type": "NULL", "number": 1}}], "externals": [], "selectors": [],
            "hyperedges": [], "variables": [{{"name": "null", "target": 0}}{variable}]}}"#
        )
    };
    let text = format!(
        r#"{{"method": "<L: Node two()>", "contracts": [
            {{"precondition": {}, "postconditions": [{}]}}]}}"#,
        heap(""),
        heap(r#", {"name": "@retrun", "target": 0}"#)
    );
    let contract = setup.write("c.json", &text);
    let err = check_method(&file, "walk", &["--contract", &contract]).err;
    assert!(
        err.contains("`@retrun`") && err.contains("did you mean `@return`?"),
        "{err}"
    );
}
