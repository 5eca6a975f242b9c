//! At the edges of what is modelled: lambdas, libraries that run the program's own methods, values
//! that nobody knows.

use crate::setup::{Setup, check, check_method};

const PROGRAM: &str = r#"import java.util.*;
import java.util.function.*;

class ListNode { ListNode next; int val; }
interface Vis { void see(ListNode n); }
interface Get<T> { T get(T n); }
class Cut implements Consumer<ListNode> { public void accept(ListNode n) { n.next = null; } }
class Loud { ListNode n; public String toString() { n.next = null; return ""; } }
class Deep { ListNode n; public String toString() { return "" + n.next.val; } }
class Walk {
    ListNode n;
    public String toString() {
        int k = 0;
        for (ListNode x = n; x != null; x = x.next) k++;
        return "" + k;
    }
    public boolean equals(Object o) { return o instanceof Walk && ((Walk) o).n == n; }
    public int hashCode() { return 1; }
}
class Own { public String toString() { Loud t = new Loud(); t.n = E.S; return "" + t; } }
record Pair(ListNode a, ListNode b) {}

class E {
    static ListNode S;
    static String T;
    static Object R = null;

    static void lambda(ListNode h) { Vis v = n -> { n.next = null; }; v.see(h); h.next.val = 1; }
    static void captures(ListNode h) { Runnable r = () -> h.next = null; r.run(); h.next.val = 1; }
    static void cut(ListNode n) { n.next = null; }
    static void reference(ListNode h) { Consumer<ListNode> c = E::cut; c.accept(h); h.next.val = 1; }
    static void harmless(ListNode h) { Get<ListNode> g = n -> n; g.get(h).next.val = 1; }
    static void operator(ListNode h) { UnaryOperator<ListNode> u = n -> n.next; Function<ListNode, ListNode> f = u; f.apply(h).val = 1; }
    static void boxes(ListNode h) { ToIntFunction<ListNode> f = n -> n.val; f.applyAsInt(h); Function<Integer, ListNode> g = i -> h; g.apply(1).val = 1; }
    static void made(ListNode h) { Supplier<ListNode> s = ListNode::new; s.get().next.val = 1; }

    static void optional(ListNode h) { Optional.of(h).ifPresent(new Cut()); h.next.val = 1; }
    static void thread(ListNode h) { new Thread(() -> h.next = null).run(); h.next.val = 1; }
    static void each(ListNode h) { List.of(h).forEach(n -> n.next = null); h.next.val = 1; }
    static void text(ListNode h) { Loud t = new Loud(); t.n = h; String s = "x" + t + "y"; h.next.val = 1; }
    static void array(ListNode h) { Loud t = new Loud(); t.n = h; String.format("%s", t); h.next.val = 1; }
    static void inside(ListNode h) { S = h; String.valueOf(new Own()); h.next.val = 1; }
    static void reflects(ListNode h) throws Exception { h.getClass().getDeclaredField("next").set(h, null); h.next.val = 1; }
    static void nulls(ListNode h) { Deep t = new Deep(); t.n = h; String.valueOf(t); }

    static void prints(ListNode h) { System.out.println("x"); System.out.println(h); h.next.val = 1; }
    static void walks(ListNode h) { Walk w = new Walk(); w.n = h; System.out.println("a" + w); new HashMap<Object, Object>().put(w, h); h.next.val = 1; }
    static void pairs(ListNode h) { Pair p = new Pair(h, h.next); System.out.println(p); p.b().val = 1; }
    static void quietly(ListNode h) { Optional.of(h).map(n -> n.next); h.next.val = 1; }

    static void literals(ListNode h) {
        String s = "a"; Object o = new int[3]; Integer i = 5;
        if (s == null || o == null || i == null || E.class == null) h = null;
        h.next.val = 1;
    }
    static void instance(ListNode h) { Object o = h.next.next; if (o instanceof ListNode) ((ListNode) o).val = 1; }
    static void caught(ListNode h) { try { h.next.val = 1; } finally { h.val = 1; } }

    static void statics() { T.length(); }
    static void element() { String[] a = new String[1]; a[0].length(); }
    static void found() { new HashMap<String, String>().get("x").length(); }
    static void failing(int z) { Object o = "x"; Integer i = (Integer) o; int k = 1 / z; int half = z / 2; }
}
"#;

const HEAPS: &str =
    "L(@parameter0:{ListNode}) <= y{ListNode} | @parameter0:.next -> y * RefSLList(y, null)";

struct Edges {
    setup: Setup,
}

impl Edges {
    fn new(name: &str) -> Option<Self> {
        let setup = Setup::new(name)?;
        let file = setup.write("E.java", PROGRAM);
        setup.write("heaps.sid", HEAPS);
        setup.compile(&file);
        Some(Edges { setup })
    }

    /// Exit code, output, and warnings.
    fn check(&self, method: &str, code: i32) -> (String, String) {
        let (file, heaps) = (self.setup.path("E.class"), self.setup.path("heaps.sid"));
        let more = ["--method", method, "--grammar", "SLList", "--no-trace"];
        let initial = ["--initial", &heaps];
        let none = ["statics", "element", "found", "failing"].contains(&method);
        let initial = if none { &[][..] } else { &initial[..] };
        let done = check(&file, &[&more[..], initial].concat()).expect(code);
        (done.out, done.err)
    }
}

#[test]
fn lambdas_run() {
    let Some(edges) = Edges::new("heap-lambdas") else {
        return;
    };
    for (method, code) in [
        ("lambda", 1),
        ("captures", 1),
        ("reference", 1),
        ("harmless", 0),
        ("operator", 0),
        ("boxes", 0),
        ("made", 1),
    ] {
        edges.check(method, code);
    }
}

#[test]
fn libraries_run_methods_of_the_program() {
    let Some(edges) = Edges::new("heap-callbacks") else {
        return;
    };
    for (method, named) in [
        ("optional", "may run <Cut: void accept(ListNode)>"),
        (
            "thread",
            "<java.lang.Thread: void <init>(java.lang.Runnable)>",
        ),
        ("each", "<java.util.List: void forEach"),
        ("text", "may run <Loud: java.lang.String toString()>"),
        ("array", "whoever reads the array may run"),
        ("inside", "may run <Own: java.lang.String toString()>"),
        ("reflects", "<java.lang.reflect.Field: void set"),
        ("nulls", "may run <Deep: java.lang.String toString()>"),
    ] {
        let (out, _) = edges.check(method, 3);
        assert!(
            out.contains("E.java:") && out.contains(named),
            "{method}: {out}"
        );
    }
    for method in ["prints", "walks", "pairs", "quietly"] {
        edges.check(method, 0);
    }
}

#[test]
fn what_is_there_is_not_null() {
    let Some(edges) = Edges::new("heap-present") else {
        return;
    };
    for method in ["literals", "instance", "caught"] {
        let (out, _) = edges.check(method, 0);
        assert!(!out.contains("for granted"), "{method}: {out}");
    }
}

#[test]
fn what_is_taken_for_granted_is_said() {
    let Some(edges) = Edges::new("heap-assumed") else {
        return;
    };
    for method in ["statics", "element", "found"] {
        let (out, _) = edges.check(method, 0);
        assert!(
            out.contains("for granted") && out.contains(": E.java:"),
            "{method}: {out}"
        );
    }
    let file = edges.setup.path("E.class");
    let more = ["--method", "statics", "--grammar", "SLList", "--json"];
    let done = check(&file, &more).expect(0);
    assert!(done.out.contains("\"assumed_not_null\""), "{}", done.out);
    let (_, err) = edges.check("failing", 0);
    let told = |what: &str| err.lines().filter(|line| line.contains(what)).count();
    assert_eq!(told("a cast to java.lang.Integer"), 1, "{err}");
    // A division by two cannot fail.
    assert_eq!(told("a division"), 1, "{err}");
}

/// Casts that the compiler makes for generics are one warning, others one each.
#[test]
fn casts_for_generics() {
    let Some(setup) = Setup::new("heap-generics") else {
        return;
    };
    let source = "class Box<T> { T value; Box<T> next; T get() { return value; } }
class Item { Item other; }
class G {
  static void fields(Box<Item> b) {
    Item a = b.value;
    Item c = b.next.value;
    Item d = b.get();
    Object o = b.get();
    Item e = (Item) o;
  }
}
";
    let file = setup.write("G.java", source);
    let err = check_method(&file, "fields", &[]).err;
    let told = |what: &str| err.lines().filter(|line| line.contains(what)).count();
    assert_eq!(
        told("a cast to Item, as the compiler makes it for generics, and 2 more"),
        1,
        "{err}"
    );
    assert_eq!(told("a cast to Item"), 2, "{err}");
    assert!(err.contains("G.java:9: "), "{err}");
}
