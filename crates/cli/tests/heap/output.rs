//! What `-v` tells, and what is said of a grammar.

use crate::setup::{LAST, Setup, check, example};

#[test]
fn effort_is_told() {
    let Some(_) = Setup::new("heap-verbose") else {
        return;
    };
    let file = example("rings-build.attestor");
    let done = check(&file, &["-v"]).expect(0);
    assert!(done.err.contains("2 classes, 4 methods"), "{}", done.err);
    let told = done.out.lines().nth(1).unwrap_or_default();
    assert!(
        told.contains(" states: ") && told.contains("contracts; checked in"),
        "{}",
        done.out
    );
    let quiet = check(&file, &[]).expect(0);
    assert!(!quiet.out.contains("checked in"), "{}", quiet.out);
    let last = crate::common::droste(&[&LAST[..], &["-v"]].concat()).expect(1);
    assert!(last.err.contains("2 classes, 1 method"), "{}", last.err);
}

/// Rules whose order matters are told in one line; `-v` tells them all.
#[test]
fn warnings_about_a_grammar_are_short() {
    let Some(_) = Setup::new("heap-warnings") else {
        return;
    };
    let file = example("schorr-waite.attestor");
    let short = check(&file, &["--no-trace"]).expect(0).err;
    assert_eq!(short.lines().count(), 1, "{short}");
    assert!(
        short.contains("the order of abstraction matters") && short.contains("-v shows"),
        "{short}"
    );
    let long = check(&file, &["--no-trace", "-v"]).expect(0).err;
    let overlaps = long.lines().filter(|line| line.ends_with(" overlap"));
    assert_eq!(overlaps.count(), 10, "{long}");
}
