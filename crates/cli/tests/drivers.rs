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

/// Sixteen million values are tried out in one state: limits are looked at meanwhile, and the trial
/// of the race ends.
#[test]
fn many_choices_in_one_state_do_not_hold_up() {
    let conditions: Vec<String> = (0..60).map(|i| format!("'n != {}", 1000 + i)).collect();
    let text = format!(
        "decl n : u24; void main() begin n := * constrain ('n > 5 & {}); assert(n > 5); end",
        conditions.join(" & ")
    );
    for engine in ["auto", "bdd"] {
        let done = droste_with(text.as_bytes(), &["check", "-", "--engine", engine]).expect(0);
        assert!(done.out.contains("\nbdd: "), "{done:#?}");
    }
    let args = ["check", "-", "--engine", "explicit", "--timeout", "0.2"];
    let done = droste_with(text.as_bytes(), &args).expect(3);
    assert!(
        done.out.starts_with("unknown: the time limit of 0.2 s"),
        "{done:#?}"
    );
}

/// Threads that have nothing that could go wrong are not explored for ever.
#[test]
fn nothing_to_check_is_checked_at_once() {
    let text = "decl g; void main() begin while (*) do start_thread f(); od end
        void f() begin g := !g; f(); end";
    let done = droste_with(text.as_bytes(), &["check", "-"]).expect(0);
    assert!(done.err.contains("there is nothing to check"), "{done:#?}");
    // A division may fail though there are only Booleans.
    let text =
        "decl g; void main() begin start_thread f(); end void f() begin g := (1 / 0 = 1); end";
    droste_with(text.as_bytes(), &["check", "-"]).expect(1);
}

/// The globals of several `thread` sections with one name.
#[test]
fn globals_of_thread_sections_are_told_apart() {
    let text = "decl s;
        thread A begin decl own; void main() begin own := T; assert(F); end end
        thread B begin decl own; void main() begin own := F; s := own; end end";
    let done = droste_with(text.as_bytes(), &["check", "-"]).expect(1);
    assert!(done.out.contains("A::own = "), "{done:#?}");
    assert!(done.out.contains("B::own = "), "{done:#?}");
}

/// A label is not a variable.
#[test]
fn a_label_asked_about_as_a_variable_is_called_a_label() {
    let text = "void main() begin L: skip; end";
    let done = droste_with(text.as_bytes(), &["check", "-", "--ltl", "F var(L)"]).expect(2);
    assert!(
        done.err.contains("`L` is a label, not a variable"),
        "{done:#?}"
    );
}
