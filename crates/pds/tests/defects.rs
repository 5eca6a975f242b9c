//! Defects of other solvers, each of which is right here: the smallest systems that show them.

use std::time::Duration;

use droste_base::Limits;
use droste_pds::domains::MinPlus;
use droste_pds::{
    Automaton, Direction, Domain as _, Method, Options, Order, Pds, PdsBuilder, Reached, Replace,
    Rule, StateId, SymbolId, Transition, Way, poststar, prestar, reach,
};

/// Pops, steps and pushes, by their numbers of symbols on the right: from, top, to, right, weight.
type Row<'a> = (u32, u32, u32, &'a [u32], i64);

fn system(rows: &[Row<'_>]) -> Pds<i64> {
    let mut rules = PdsBuilder::new(1, 1);
    for &(from, top, to, right, weight) in rows {
        let replace = match *right {
            [] => Replace::Pop,
            [first] => Replace::Step(SymbolId(first)),
            [first, second, ..] => Replace::Push(SymbolId(first), SymbolId(second)),
        };
        let rule = Rule {
            from: StateId(from),
            top: SymbolId(top),
            to: StateId(to),
            replace,
            merge: None,
        };
        rules.rule(rule, weight);
    }
    rules.build()
}

fn one_symbol(pds: &Pds<i64>, (state, symbol): (u32, u32), direction: Direction) -> Automaton<i64> {
    let domain = MinPlus::non_negative();
    let mut automaton = Automaton::new(pds.states(), direction);
    let last = automaton.state();
    let transition = Transition::new(StateId(state), SymbolId(symbol), last);
    automaton.add(&domain, transition, 0).expect("a sum");
    automaton.accept(&domain, last, 0).expect("a weight");
    automaton
}

fn ask(
    pds: &Pds<i64>,
    (from, to): ((u32, u32), (u32, u32)),
    way: Way,
    options: &Options,
) -> Reached<i64> {
    let from = one_symbol(pds, from, Direction::Backward);
    let to = one_symbol(pds, to, Direction::Forward);
    let options = Options {
        limits: Limits::within(Duration::from_secs(60)),
        ..options.clone()
    };
    reach(&MinPlus::non_negative(), pds, &from, &to, way, &options).expect("an answer in time")
}

/// Both ways and both methods find this weight.
fn weighs(pds: &Pds<i64>, from: (u32, u32), to: (u32, u32), expected: i64) {
    for way in [Way::Pre, Way::Post, Way::Dual] {
        for method in [Method::Chaotic, Method::Paths] {
            let options = Options {
                method,
                ..Options::default()
            };
            let found = ask(pds, (from, to), way, &options);
            assert_eq!(found.weight, expected, "{way:?}, {method:?}");
        }
    }
}

/// Elsewhere only the first change of a callee's weight reaches the expressions above it.
#[test]
fn weights_of_callees_that_change_again_are_handed_on() {
    // 0 calls 1; 1 calls 2, or ends dearly; 2 calls 1, or ends.
    let pds = system(&[
        (0, 0, 0, &[1, 9], 0),
        (0, 1, 0, &[], 1000),
        (0, 1, 0, &[2, 3], 1),
        (0, 3, 0, &[], 1),
        (0, 2, 0, &[], 500),
        (0, 2, 0, &[1, 4], 1),
        (0, 4, 0, &[], 1),
        (0, 2, 0, &[5], 1),
        (0, 5, 0, &[6], 1),
        (0, 6, 0, &[], 1),
    ]);
    weighs(&pds, (0, 0), (0, 9), 5);
}

/// Elsewhere one caller is kept for each place of return, whatever state it has called from.
#[test]
fn two_states_that_call_from_the_same_place_are_told_apart() {
    // The callee 1 begins in state 2; what is behind both calls is 7. It ends in 3 or in 4.
    let pds = system(&[
        (0, 0, 2, &[1, 7], 10),
        (1, 0, 2, &[1, 7], 1),
        (2, 1, 3, &[], 1),
        (2, 1, 4, &[], 2),
        (3, 7, 5, &[8], 0),
        (4, 7, 5, &[8], 5),
    ]);
    weighs(&pds, (0, 0), (5, 8), 11);
    weighs(&pds, (1, 0), (5, 8), 2);
}

/// Elsewhere edges between the same places that change, and push rules that are there twice, give
/// wrong weights.
#[test]
fn rules_between_the_same_places_all_count() {
    let pds = system(&[
        (0, 0, 0, &[1, 7], 9),
        (0, 0, 0, &[1, 7], 4),
        (0, 0, 0, &[2, 7], 1),
        (0, 1, 0, &[], 3),
        (0, 2, 0, &[], 8),
        (0, 2, 0, &[1, 3], 0),
        (0, 3, 0, &[], 2),
    ]);
    weighs(&pds, (0, 0), (0, 7), 6);
}

/// Procedures that call the next one twice, with a dear and then a cheap way through each. A stack as
/// worklist elsewhere takes exponential time, because it hands on each weight at once.
#[test]
fn nested_calls_take_no_exponential_time() {
    let depth = 300;
    let mut rows: Vec<Row<'_>> = Vec::new();
    let right: Vec<[u32; 2]> = (0..depth)
        .flat_map(|i| [[3 * i + 3, 3 * i + 1], [3 * i + 3, 3 * i + 2]])
        .collect();
    for i in 0..depth {
        let at = 3 * i;
        rows.push((0, at, 0, &right[2 * i as usize], 1));
        rows.push((0, at + 1, 0, &right[2 * i as usize + 1], 1));
        rows.push((0, at, 0, &[], 1000 + i64::from(i)));
        rows.push((0, at + 2, 0, &[], 0));
    }
    let last = 3 * depth;
    rows.push((0, last, 0, &[], 1));
    let end = [0, last + 1];
    rows.push((0, last + 2, 0, &end, 0));
    let pds = system(&rows);
    for order in [Order::Best, Order::FirstIn] {
        for way in [Way::Pre, Way::Post] {
            let options = Options {
                order: order.clone(),
                ..Options::default()
            };
            let found = ask(&pds, ((0, last + 2), (0, last + 1)), way, &options);
            // The first procedure is left at once.
            assert_eq!(found.weight, 1000);
        }
    }
}

/// Rules are found by state and symbol. Elsewhere all rules of a state are gone through: with one
/// state, that is quadratic.
#[test]
fn one_state_with_many_rules_takes_no_quadratic_time() {
    let count = 100_000;
    let next: Vec<[u32; 1]> = (1..=count).map(|i| [i]).collect();
    let rows: Vec<Row<'_>> = (0..count)
        .map(|i| (0, i, 0, next[i as usize].as_slice(), 1))
        .collect();
    let pds = system(&rows);
    for way in [Way::Pre, Way::Post, Way::Dual] {
        let found = ask(&pds, ((0, 0), (0, count)), way, &Options::default());
        assert_eq!(found.weight, i64::from(count));
    }
}

/// A run of 2⁶⁰ steps has a weight, and is there as a small graph. Elsewhere it is a list of whole
/// configurations.
#[test]
fn long_runs_are_folded() {
    let depth: u32 = 60;
    let right: Vec<[u32; 2]> = (0..depth)
        .flat_map(|i| [[3 * i + 3, 3 * i + 1], [3 * i + 3, 3 * i + 2]])
        .collect();
    let mut rows: Vec<Row<'_>> = Vec::new();
    for i in 0..depth {
        rows.push((0, 3 * i, 0, &right[2 * i as usize], 0));
        rows.push((0, 3 * i + 1, 0, &right[2 * i as usize + 1], 0));
        rows.push((0, 3 * i + 2, 0, &[], 0));
    }
    rows.push((0, 3 * depth, 0, &[], 1));
    let (start, end) = (3 * depth + 1, 3 * depth + 2);
    let call = [0, end];
    rows.push((0, start, 0, &call, 0));
    let pds = system(&rows);
    for way in [Way::Pre, Way::Post] {
        let options = Options {
            witness: true,
            ..Options::default()
        };
        let found = ask(&pds, ((0, start), (0, end)), way, &options);
        assert_eq!(found.weight, 1 << depth);
        let run = found.witness.expect("a run");
        assert!(run.len() > 1 << depth);
        let domain = MinPlus::non_negative();
        assert_eq!(run.weight(&domain, &pds), Ok(Some(1 << depth)));
        let moves: usize = run.runs.iter().map(Vec::len).sum();
        assert!(moves < 1000, "{moves}");
    }
}

/// Elsewhere a backward search with negative weights says of what is reachable that it is not.
#[test]
fn negative_weights_hide_nothing_that_is_reachable() {
    let pds = system(&[
        (0, 0, 0, &[1, 9], 4),
        (0, 1, 0, &[2], -7),
        (0, 1, 0, &[3], 2),
        (0, 2, 0, &[], 1),
        (0, 3, 0, &[2], -20),
        (0, 9, 1, &[8], -1),
    ]);
    let domain = MinPlus::any();
    let from = one_symbol(&pds, (0, 0), Direction::Backward);
    let to = one_symbol(&pds, (1, 8), Direction::Forward);
    for way in [Way::Pre, Way::Post, Way::Dual] {
        for method in [Method::Chaotic, Method::Paths] {
            let options = Options {
                method,
                ..Options::default()
            };
            let found = reach(&domain, &pds, &from, &to, way, &options).expect("an answer");
            assert_eq!(found.weight, 4 + 2 - 20 + 1 - 1, "{way:?}, {method:?}");
        }
    }
}

/// Transitions are found by state and symbol. Elsewhere all call sites are gone through for each of
/// them, if anything may be below the target.
#[test]
fn many_calls_with_any_stack_below_take_no_quadratic_time() {
    let calls = 100_000;
    let (callee, end) = (calls + 1, calls + 2);
    let right: Vec<[u32; 2]> = (0..calls).map(|i| [callee, i + 1]).collect();
    let mut rows: Vec<Row<'_>> = (0..calls)
        .map(|i| (0, i, 0, right[i as usize].as_slice(), 1))
        .collect();
    let to_end = [end];
    rows.push((0, callee, 0, &[], 1));
    rows.push((0, callee, 0, &to_end, 1));
    let pds = system(&rows);
    let domain = MinPlus::non_negative();
    let mut to = one_symbol(&pds, (0, end), Direction::Forward);
    let below = StateId(pds.states());
    for symbol in 0..pds.symbols() {
        let transition = Transition::new(below, SymbolId(symbol), below);
        to.add(&domain, transition, 0).expect("a sum");
    }
    let options = Options {
        limits: Limits::within(Duration::from_secs(60)),
        ..Options::default()
    };
    let found = prestar(&domain, &pds, &to, &options).expect("an answer in time");
    let weight = found.weight_of(&domain, StateId(0), &[SymbolId(0)]);
    assert_eq!(weight, Ok(2));
}

/// Elsewhere sums have 32 bits and wrap around. Here they have 64, and what is larger is said to be
/// that or more.
#[test]
fn large_sums_do_not_wrap_around() {
    for depth in [31, 32, 33, 61, 62, 63, 64, 70] {
        let right: Vec<[u32; 2]> = (0..depth)
            .flat_map(|i| [[3 * i + 3, 3 * i + 1], [3 * i + 3, 3 * i + 2]])
            .collect();
        let mut rows: Vec<Row<'_>> = Vec::new();
        for i in 0..depth {
            rows.push((0, 3 * i, 0, &right[2 * i as usize], 0));
            rows.push((0, 3 * i + 1, 0, &right[2 * i as usize + 1], 0));
            rows.push((0, 3 * i + 2, 0, &[], 0));
        }
        rows.push((0, 3 * depth, 0, &[], 3));
        let (start, end) = (3 * depth + 1, 3 * depth + 2);
        let call = [0, end];
        rows.push((0, start, 0, &call, 0));
        let sum = (3i128 << depth).min(i128::from(MinPlus::GREATEST));
        let expected = i64::try_from(sum).expect("at most the greatest");
        weighs(&system(&rows), (0, start), (0, end), expected);
    }
}

/// Elsewhere such automata crash a forward search.
#[test]
fn automata_may_lead_back_to_control_states() {
    let pds = system(&[(0, 0, 1, &[1], 2), (1, 1, 0, &[], 3)]);
    let domain = MinPlus::non_negative();
    // The stacks 0, 0 0, 0 0 0, …: the edge goes round at a control state.
    let mut start = Automaton::new(pds.states(), Direction::Backward);
    let (state, symbol) = (StateId(0), SymbolId(0));
    start
        .add(&domain, Transition::new(state, symbol, state), 1)
        .expect("a sum");
    start.accept(&domain, state, 0).expect("a weight");
    for method in [Method::Chaotic, Method::Paths] {
        let options = Options {
            method,
            ..Options::default()
        };
        let found = poststar(&domain, &pds, &start, &options).expect("an answer");
        let weight = |state, stack: &[u32]| {
            let stack: Vec<SymbolId> = stack.iter().copied().map(SymbolId).collect();
            found.weight_of(&domain, StateId(state), &stack)
        };
        assert_eq!(weight(0, &[0, 0]), Ok(2));
        assert_eq!(weight(1, &[1, 0]), Ok(4));
        assert_eq!(weight(0, &[]), Ok(0));
        assert_eq!(weight(1, &[0]), Ok(domain.zero()));
    }
}
