//! Pages and graphs.

use crate::setup::{Setup, check, check_method, example};

#[test]
fn pages() {
    let Some((_, file)) = Setup::lists("heap-pages") else {
        return;
    };
    let of = |more: &[&str]| check_method(&file, "bad", more);
    let page = of(&["--emit", "html"]).expect(1).out;
    assert!(
        page.starts_with("<!doctype html>") && page.contains("<svg"),
        "{page}"
    );
    assert_eq!(
        page.matches("<figure").count(),
        page.matches("<li class=\"step").count()
    );
}

#[test]
fn pictures_of_everything() {
    let Some((setup, file)) = Setup::lists("heap-pictures") else {
        return;
    };
    let draw = |method: &str, emit: &str, what: &str| {
        let more = ["--grammar", "SLList", "--emit", emit, "--picture", what];
        check_method(&file, method, &more)
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
    let heap = example("inputs/sll.json");
    check(&heap, &[]).expect(2);
    let drawn = check(&heap, &["--grammar", "SLList", "--emit", "dot"]);
    assert!(drawn.expect(0).out.contains("RefSLList"));
    // Texts, too: heaps with nonterminals of a grammar, inductive predicates, and what is wrong with them.
    let heap = example("inputs/cells.txt");
    let drawn = check(&heap, &["--grammar", "SLList", "--emit", "dot"]);
    assert!(drawn.expect(0).out.contains("RefSLList"));
    let err = check(&heap, &["--emit", "dot"]).expect(2).err;
    assert!(err.contains("RefSLList"), "{err}");
    let rules = setup.write(
        "rules.txt",
        "Chain(a{Ring}, !b{Ring}) <= a.succ -> b <= m{Ring} | a.succ -> m * Chain(m, b) ;",
    );
    let drawn = check(&rules, &["--emit", "dot"]).expect(0).out;
    assert!(drawn.contains("Chain, rule 2"), "{drawn}");
}

/// A tentacle that a rule attaches to null has no circle with its number: it is told below.
#[test]
fn tentacles_at_null() {
    let page = check(&example("grammars/skip-list.json"), &["--emit", "html"]);
    let page = page.expect(0).out;
    assert!(page.contains("null: tentacle 3"), "{page}");
}
