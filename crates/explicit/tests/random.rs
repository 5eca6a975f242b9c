//! The searches against a naive oracle, on random recursive state machines.
//!
//! `SEED=17 cargo test -p droste-explicit --test random` runs one machine alone;
//! `MACHINES=1000000` makes the sweep longer.

mod support;

use std::env;

use droste_base::{Claim, Cycle, PropId, Trace, Via, replay_trace};
use droste_explicit::{Options, Order, Runs, reach, repeat, stuck};
use droste_testkit::rsm::{Move, Node, Rsm, random};
use support::oracle::Oracle;
use support::shrink::shrink;

const PROPS: [PropId; 4] = [PropId(0), PropId(1), PropId(2), PropId(3)];

/// Where it is true, a run without a step has ended.
const END: PropId = PropId(3);

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
            let Some(trace) = verdict.run() else {
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
        let least = oracle.stuck(END.0);
        let verdict = stuck(rsm, &[END], &options).verdict;
        if (verdict.holds(), verdict.is_violated()) != (least.is_none(), least.is_some()) {
            let word = verdict.word();
            return Some(format!(
                "{order:?} stuck: {word}, but shortest is {least:?}"
            ));
        }
        if let Some(trace) = verdict.run() {
            if let Some(wrong) = bad_trace(rsm, trace, &Claim::Stuck { ends: &[END] }) {
                return Some(format!("{order:?} stuck: {wrong}"));
            }
            if order == Order::Bfs && Some(trace.length()) != least {
                return Some(format!(
                    "stuck: {} steps instead of {least:?}",
                    trace.length()
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
            let Some(trace) = verdict.run() else {
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
    let first = number("START").unwrap_or(default);
    (first..first + count).for_each(check);
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

/// State 0 calls entry 1 with two ids; only the return of the second leads anywhere. Found by the
/// sweep: the trace named the other call.
#[test]
fn two_calls_of_one_entry_are_told_apart() {
    let node = |props, moves: &[Move]| Node {
        props,
        moves: moves.to_vec(),
        parts: Vec::new(),
    };
    for calls in [[0, 1], [1, 0]] {
        let rsm = Rsm {
            initial: vec![0],
            nodes: vec![
                node(0, &calls.map(|call| Move::Call(call, 1))),
                node(0, &[Move::Exit(1)]),
                node(1, &[Move::Internal(2)]),
            ],
            resume: [((0, 1, 1), vec![2])].into(),
            ..Rsm::default()
        };
        assert_eq!(complaint(&rsm), None);
    }
}

/// A call that goes on in two ways: a state that splits, and one that exits and was not remembered. Found by the sweep.
#[test]
fn ways_to_go_on_are_told_apart() {
    let node = |props, moves: &[Move], parts: &[u8]| Node {
        props,
        moves: moves.to_vec(),
        parts: parts.to_vec(),
    };
    let rsm = Rsm {
        initial: vec![0],
        nodes: vec![
            node(0, &[Move::Call(0, 1), Move::Internal(2)], &[]),
            node(2, &[Move::Call(0, 0)], &[]),
            node(0, &[Move::Exit(6)], &[]),
            node(0, &[], &[6]),
            node(0, &[Move::Call(0, 0)], &[]),
            node(0, &[Move::Call(0, 1)], &[]),
            node(0, &[], &[]),
        ],
        resume: [
            ((1, 0, 6), vec![3, 2]),
            ((5, 0, 6), vec![0]),
            ((4, 0, 6), vec![5]),
            ((0, 0, 6), vec![4]),
        ]
        .into(),
        ..Rsm::default()
    };
    assert_eq!(complaint(&rsm), None);
}

/// State 0 goes on in two ways: one exits, the other makes a call that is known only when that exit is. Found by the sweep: the run of the
/// exit was said to contain that call, hence itself.
#[test]
fn a_run_does_not_make_calls_that_were_found_later() {
    let node = |moves: &[Move]| Node {
        props: 0,
        moves: moves.to_vec(),
        parts: Vec::new(),
    };
    let rsm = Rsm {
        initial: vec![2],
        nodes: vec![
            node(&[Move::Call(0, 1)]),
            node(&[Move::Exit(6)]),
            node(&[Move::Call(0, 0)]),
            node(&[Move::Call(0, 0)]),
            node(&[Move::Exit(6)]),
            node(&[Move::Call(0, 0)]),
            node(&[]),
        ],
        resume: [
            ((0, 0, 6), vec![5, 4]),
            ((2, 0, 6), vec![3]),
            ((3, 0, 6), vec![2]),
            ((5, 0, 6), vec![4]),
        ]
        .into(),
        ..Rsm::default()
    };
    assert_eq!(complaint(&rsm), None);
}

/// Replay believes nothing: a trace with one position or edge changed is refused, unless it
/// happens to be a run as well.
#[test]
fn spoiled_traces_are_refused() {
    let (mut refused, mut accepted) = (0, 0);
    for seed in 0..500 {
        let rsm = random(seed);
        let marks = &PROPS[..1];
        let Some(trace) = repeat(&rsm, marks, Runs::All, &Options::default())
            .verdict
            .run()
            .cloned()
        else {
            continue;
        };
        let claim = Claim::Repeats {
            marks,
            finite_stack: false,
        };
        let mut try_with = |change: &dyn Fn(&mut Trace<u8>)| {
            let mut spoiled = trace.clone();
            change(&mut spoiled);
            match replay_trace(&rsm, &spoiled, &claim) {
                Err(_) => refused += 1,
                Ok(()) => accepted += 1,
            }
        };
        let states = rsm.nodes.len() as u8;
        for i in 0..trace.positions.len() {
            try_with(&|t| t.positions[i].state = (t.positions[i].state + 1) % states);
            try_with(&|t| t.positions[i].via = Via::Terminated);
            try_with(&|t| _ = t.positions.remove(i));
        }
        for run in 0..trace.runs.len() {
            try_with(&|t| t.runs[run].exit = (t.runs[run].exit + 1) % states);
            try_with(&|t| t.runs[run].positions.clear());
            try_with(&|t| t.runs.truncate(run));
        }
        try_with(&|t| t.cycle = None);
        try_with(&|t| {
            t.cycle = t.cycle.map(|c| Cycle {
                pumping: !c.pumping,
                ..c
            });
        });
    }
    assert!(
        refused > 1500 && accepted * 5 < refused,
        "{refused} refused, {accepted} accepted"
    );
}

/// The random machines are worth their time: every verdict is common, and so are the things
/// that make it hard.
#[test]
fn random_machines_are_varied() {
    let mut counts = [0; 9];
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
            oracle.stuck(END.0).is_some(),
            oracle.stuck(END.0).is_some_and(|length| length > 3),
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
