//! Which method a call runs: what Java's rules say, not what comes first.

use std::process::Command;

use crate::setup::{Setup, check, check_method};

/// Of several default methods the most specific one runs (JVMS 5.4.3.3), also if a superclass has
/// another one.
#[test]
fn the_most_specific_default_method() {
    let Some(setup) = Setup::new("heap-defaults") else {
        return;
    };
    let source = "class N { N next; }
interface I { default N d(N x) { return x; } }
interface J extends I { default N d(N x) { return null; } }
interface K extends J { }
interface A extends J { N d(N x); }
class Both implements I, J { }
class Above implements I { }
class Below extends Above implements K { }
class Own implements J, A { public N d(N x) { return x; } }
interface L extends J { default N d(N x) { return J.super.d(x) == null ? x : null; } }
class Last extends Below implements L { }
class T {
  static N both() { return new Both().d(new N()).next; }
  static N below() { I i = new Below(); return i.d(new N()).next; }
  static N above() { return new Above().d(new N()).next; }
  static N own() { J j = new Own(); return j.d(new N()).next; }
  static N last() { I i = new Last(); return i.d(new N()).next; }
}
";
    let file = setup.write("T.java", source);
    for (method, code) in [
        ("both", 1),
        ("below", 1),
        ("above", 0),
        ("own", 0),
        ("last", 0),
    ] {
        check_method(&file, method, &[]).expect(code);
    }
}

/// A method that only its package sees is overridden there alone, or by what overrides one that
/// does (JVMS 5.4.5). A private method is not overridden at all.
#[test]
fn methods_of_other_packages_override_nothing() {
    let Some(setup) = Setup::new("heap-packages") else {
        return;
    };
    let sources = [
        ("p/N.java", "package p; public class N { public N next; }"),
        (
            "p/A.java",
            "package p; public class A {
               N f(N x) { return null; }
               public N call(N x) { return f(x); }
               private N g(N x) { return x; }
               public N callG(N x) { return g(x); } }",
        ),
        (
            "q/B.java",
            "package q; import p.N; public class B extends p.A {
               N f(N x) { return x; } N g(N x) { return null; } }",
        ),
        (
            "p/C.java",
            "package p; public class C extends q.B { public N f(N x) { return x; } }",
        ),
        (
            "q/D.java",
            "package q; import p.N; public class D extends p.C { public N f(N x) { return null; } }",
        ),
        (
            "q/T.java",
            "package q; import p.N; class T {
               static N other() { return new B().call(new N()).next; }
               static N own() { return new B().f(new N()).next; }
               static N same() { return new p.C().call(new N()).next; }
               static N through() { return new D().call(new N()).next; }
               static N hidden() { return new B().callG(new N()).next; } }",
        ),
    ];
    let mut files: Vec<String> = Vec::new();
    for (name, text) in sources {
        files.push(setup.write(name, text));
    }
    let compiled = Command::new("javac")
        .args(["-g", "-d", &setup.path("classes")])
        .args(&files)
        .status();
    assert!(compiled.is_ok_and(|status| status.success()));
    let classes = setup.path("classes");
    for (method, code) in [
        ("other", 1),
        ("own", 0),
        ("same", 0),
        ("through", 1),
        ("hidden", 0),
    ] {
        check(&classes, &["--class", "q.T", "--method", method]).expect(code);
    }
}
