//! The searches against a naive oracle, on random recursive state machines.
//!
//! `SEED=17 cargo test -p droste-explicit --test random` runs one machine alone;
//! `MACHINES=1000000` makes the sweep longer.

mod support;

use std::env;

use droste_base::{Claim, PropId, Trace, replay_trace};
use droste_explicit::{Options, Order, Runs, reach, repeat};
use support::oracle::Oracle;
use support::rsm::{Rsm, random};
use support::shrink::shrink;

const PROPS: [PropId; 4] = [PropId(0), PropId(1), PropId(2), PropId(3)];

/// What the searches get wrong about a machine.
fn complaint(rsm: &Rsm) -> Option<String> {
    let oracle = Oracle::new(rsm);
    for order in [Order::Dfs, Order::Bfs] {
        let options = Options {
            order,
            ..Options::default()
        };
        for prop in PROPS {
            let expected = oracle.reaches(prop.0);
            let verdict = reach(rsm, prop, &options).verdict;
            let what = format!("{order:?} {prop:?}");
            if (verdict.holds(), verdict.is_violated()) != (!expected, expected) {
                return Some(format!(
                    "{what}: {}, but reachable is {expected}",
                    verdict.word()
                ));
            }
            let Some(trace) = verdict.witness() else {
                continue;
            };
            if let Some(wrong) = bad_trace(rsm, trace, &Claim::Reaches(prop)) {
                return Some(format!("{what}: {wrong}"));
            }
            let least = oracle.shortest(prop.0);
            if order == Order::Bfs && Some(trace.length()) != least {
                let length = trace.length();
                return Some(format!(
                    "{what}: {length} steps instead of {least:?}\n{trace}"
                ));
            }
        }
    }
    for runs in [Runs::All, Runs::FiniteStack] {
        let finite_stack = runs == Runs::FiniteStack;
        for marks in [
            &PROPS[..0],
            &PROPS[..1],
            &PROPS[1..2],
            &PROPS[..2],
            &PROPS[..3],
            &PROPS[1..],
        ] {
            let bits = marks.iter().fold(0, |bits, mark| bits | 1 << mark.0);
            let expected = oracle.repeats(bits, finite_stack);
            let verdict = repeat(rsm, marks, runs, &Options::default()).verdict;
            let what = format!("{runs:?} {marks:?}");
            if (verdict.holds(), verdict.is_violated()) != (!expected, expected) {
                return Some(format!(
                    "{what}: {}, but repeatable is {expected}",
                    verdict.word()
                ));
            }
            let Some(trace) = verdict.witness() else {
                continue;
            };
            if let Some(wrong) = bad_trace(
                rsm,
                trace,
                &Claim::Repeats {
                    marks,
                    finite_stack,
                },
            ) {
                return Some(format!("{what}: {wrong}"));
            }
        }
    }
    None
}

fn bad_trace(rsm: &Rsm, trace: &Trace<u8>, claim: &Claim<'_>) -> Option<String> {
    let mismatch = replay_trace(rsm, trace, claim).err()?;
    Some(format!("the trace does not replay: {mismatch}\n{trace:?}"))
}

fn check(seed: u64) {
    let rsm = random(seed);
    // A panic is as bad as a wrong answer, and shrinks as well.
    let complain = |rsm: &Rsm| {
        let result = std::panic::catch_unwind(|| complaint(rsm));
        result.unwrap_or_else(|_| Some("the search panicked".to_owned()))
    };
    if complain(&rsm).is_some() {
        let small = shrink(rsm, |rsm| complain(rsm).is_some());
        let what = complain(&small).unwrap_or_default();
        panic!("SEED={seed}: {what}\nthe machine, shrunk:\n{small}");
    }
}

fn check_all(default: u64, count: u64) {
    let number = |name: &str| {
        env::var(name)
            .ok()
            .and_then(|text| text.parse::<u64>().ok())
    };
    if let Some(seed) = number("SEED") {
        return check(seed);
    }
    let count = number("MACHINES").unwrap_or(count);
    (default..default + count).for_each(check);
}

#[test]
fn searches_agree_with_the_oracle() {
    check_all(0, 3000);
}

#[test]
#[ignore = "sweep; run in release"]
fn searches_agree_with_the_oracle_sweep() {
    check_all(1_000_000, 100_000);
}

/// The random machines are worth their time: every verdict is common, and so are the things
/// that make it hard.
#[test]
fn random_machines_are_varied() {
    let mut counts = [0; 7];
    for seed in 0..1000 {
        let rsm = random(seed);
        let oracle = Oracle::new(&rsm);
        let all = [
            oracle.reaches(0),
            oracle.repeats(0, false),
            oracle.repeats(0, false) && !oracle.repeats(0, true),
            oracle.repeats(0b11, false),
            oracle.repeats(0b11, true),
            oracle.repeats(0b11, false) && !oracle.repeats(0b11, true),
            oracle.shortest(0).is_some_and(|length| length > 3),
        ];
        for (count, is_so) in counts.iter_mut().zip(all) {
            *count += i32::from(is_so);
        }
    }
    assert!(
        counts.iter().all(|&count| (10..990).contains(&count)),
        "{counts:?}"
    );
}
