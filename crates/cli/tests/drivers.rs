//! What went wrong when there were several drivers: each defect with the smallest program that shows it.

mod common;

use common::droste_with;

/// The violation is in a thread that was started, and nobody wants to see the run.
#[test]
fn a_verdict_without_a_run_is_for_threads_too() {
    let text = "void main() begin start_thread f(); end void f() begin assert(F); end";
    for engine in ["auto", "explicit", "bdd"] {
        let done = droste_with(
            text.as_bytes(),
            &["check", "-", "--no-trace", "--engine", engine],
        );
        let done = done.expect(1);
        assert!(
            done.out
                .starts_with("violated: an assertion fails with 1 switch\n"),
            "{engine}: {done:#?}"
        );
    }
    let args = ["check", "-", "--no-trace", "--engine", "calculus"];
    let bounded = [&args[..], &["--contexts", "1"]].concat();
    droste_with(text.as_bytes(), &bounded).expect(1);
}

/// The explicit engine cannot try out three million values at a switch; its rival need not.
#[test]
fn the_race_for_threads_hands_over() {
    let text = "decl n : int[0..3000000]; decl g;
        void main() begin g := F; start_thread f(); assert(!g | n >= 0); end
        void f() begin g := T; assume(n > 5); end";
    let done = droste_with(text.as_bytes(), &["check", "-", "--contexts", "2"]).expect(0);
    assert!(done.out.contains("\nbdd: "), "{done:#?}");
    let done = droste_with(
        text.as_bytes(),
        &["check", "-", "--contexts", "2", "--engine", "explicit"],
    );
    let done = done.expect(3);
    // The bound that was hit, and not another one.
    assert!(done.out.contains("1,048,576 choices"), "{done:#?}");
}

/// The statistic of the search is not called as switches are.
#[test]
fn path_edges_are_no_contexts() {
    let text = "void main() begin skip; assert(T); end";
    let done = droste_with(text.as_bytes(), &["check", "-", "--json"]).expect(0);
    let stats = &done.json()["stats"];
    assert_eq!(stats["path_edges"], stats["contexts"]);
    assert!(stats["path_edges"].is_u64());
}
