//! Weights of both signs where sums double with every call: chains of procedures that call the next
//! one twice, with random rules besides. Against the grammar solved naively with 128 bits, where the
//! longest tree without repetition still fits.

mod common;

use common::{Random, single};
use droste_base::StopReason;
use droste_pds::domains::{MaxPlus, MinPlus};
use droste_pds::{
    Direction, Domain, Method, Options, Order, Pds, PdsBuilder, Replace, Rule, StateId, SymbolId,
    Transition, Way, poststar, prestar, reach,
};

/// A weight as the oracle has it: nothing for no path.
type Exact = Option<Low>;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Low {
    Endless,
    Number(i128),
}

fn sum(a: Exact, b: Exact) -> Exact {
    Some(match (a?, b?) {
        (Low::Number(a), Low::Number(b)) => Low::Number(a.checked_add(b).expect("128 bits")),
        _ => Low::Endless,
    })
}

/// For each symbol, the least weight of popping it, by rounds. There is one control state.
fn pops(pds: &Pds<i64>) -> Vec<Exact> {
    let count = pds.symbols() as usize;
    let mut known: Vec<Exact> = vec![None; count];
    for round in 0.. {
        let old = known.clone();
        let of = |symbol: SymbolId| old[symbol.0 as usize];
        for (number, rule) in (0..).zip(pds.rules()) {
            let rest = match rule.replace {
                Replace::Pop => Some(Low::Number(0)),
                Replace::Step(a) => of(a),
                Replace::Push(a, b) => sum(of(a), of(b)),
            };
            let weight = sum(Some(Low::Number(i128::from(*pds.weight(number)))), rest);
            let place = &mut known[rule.top.0 as usize];
            if weight.is_some() && (place.is_none() || weight < *place) {
                // Trees without repetition have been seen after as many rounds as there are symbols.
                *place = if round > count {
                    Some(Low::Endless)
                } else {
                    weight
                };
            }
        }
        if old == known {
            break;
        }
    }
    known
}

fn chain(random: &mut Random, turn: i64) -> Pds<i64> {
    let length = 3 + random.below(95);
    let symbols = length + 2;
    let mut builder = PdsBuilder::new(1, symbols);
    let mut rule = |top: u32, right: &[u32], weight: i64| {
        let replace = match *right {
            [] => Replace::Pop,
            [a] => Replace::Step(SymbolId(a)),
            [a, b, ..] => Replace::Push(SymbolId(a), SymbolId(b)),
        };
        let rule = Rule {
            from: StateId(0),
            top: SymbolId(top),
            to: StateId(0),
            replace,
            merge: None,
        };
        builder.rule(rule, turn * weight);
    };
    let weight = |random: &mut Random| i64::from(random.below(9)) - 4;
    // How often the next is called twice.
    let twice = random.below(4);
    for top in 0..length {
        if random.below(4) <= twice {
            rule(top, &[top + 1, top + 1], weight(random));
        } else {
            rule(top, &[top + 1], weight(random));
        }
    }
    rule(length, &[], weight(random));
    for _ in 0..random.below(4) {
        let (top, a) = (random.below(symbols), random.below(symbols));
        match random.below(4) {
            0 => rule(top, &[], weight(random)),
            1 => rule(top, &[a, random.below(symbols)], weight(random)),
            _ => rule(top, &[a], weight(random)),
        }
    }
    builder.build()
}

/// How many answers there were, how many refusals, and how many of an answer that fits.
fn compare<D: Domain<Weight = i64>>(domain: &D, turn: i64, seed: u64) -> Result<[u32; 3], String> {
    let mut random = Random::new(seed);
    let pds = chain(&mut random, turn);
    // The oracle sees shortest paths.
    let mut turned = PdsBuilder::new(1, pds.symbols());
    for (number, rule) in (0..).zip(pds.rules()) {
        turned.rule(*rule, turn * *pds.weight(number));
    }
    let exact = pops(&turned.build());
    let limit = i128::from(i64::MAX - 1);
    let fits = |weight: &Exact| !matches!(weight, Some(Low::Number(n)) if n.abs() > limit);
    let all_fit = exact.iter().all(fits);
    let shown = |weight: Exact| match weight {
        None => domain.zero(),
        Some(Low::Endless) => domain.bottom().expect("a bottom"),
        Some(Low::Number(number)) => turn * i64::try_from(number).expect("it fits"),
    };
    let (mut answers, mut refusals, mut overlooked) = (0, 0, 0);
    let mut check = |what: &str, found: Result<i64, StopReason>, expected: Exact, exactly: bool| {
        match found {
            Ok(found) if fits(&expected) && found == shown(expected) => answers += 1,
            Err(StopReason::OutOfRange) if !exactly => refusals += 1,
            // The answer fits: it should be given.
            Err(StopReason::OutOfRange) => overlooked += 1,
            found => return Err(format!("{what}: {found:?}, not {expected:?}")),
        }
        Ok(())
    };
    let empty = single(domain, &pds, (StateId(0), &[]), Direction::Forward);
    for order in [Order::Best, Order::LastIn, Order::FirstIn] {
        let options = Options {
            order,
            ..Options::default()
        };
        let pre = prestar(domain, &pds, &empty, &options);
        for (symbol, expected) in (0..).zip(&exact) {
            let way = Transition::new(StateId(0), SymbolId(symbol), StateId(0));
            let found = pre.as_ref().map_err(Clone::clone);
            let found = found.map(|pre| pre.weight(way).copied().unwrap_or(domain.zero()));
            check(
                &format!("pre* {order:?} {symbol}"),
                found,
                *expected,
                all_fit,
            )?;
        }
        let top = random.below(pds.symbols());
        let start = [SymbolId(top)];
        let expected = exact[top as usize];
        let from = single(domain, &pds, (StateId(0), &start), Direction::Backward);
        let post = poststar(domain, &pds, &from, &options);
        let found = post.and_then(|post| post.weight_of(domain, StateId(0), &[]));
        // Forwards there are configurations that lead nowhere, and may weigh anything.
        check(&format!("post* {order:?} {top}"), found, expected, false)?;
        for way in [Way::Pre, Way::Post, Way::Dual] {
            for witness in [false, true] {
                let options = Options {
                    witness,
                    ..options.clone()
                };
                let found = reach(domain, &pds, &from, &empty, way, &options);
                let what = format!("{way:?} {order:?} {witness} {top}");
                let exactly = all_fit && way == Way::Pre;
                check(&what, found.map(|found| found.weight), expected, exactly)?;
            }
        }
    }
    let options = Options {
        method: Method::Paths,
        ..Options::default()
    };
    let pre = prestar(domain, &pds, &empty, &options);
    for (symbol, expected) in (0..).zip(&exact) {
        let way = Transition::new(StateId(0), SymbolId(symbol), StateId(0));
        let found = pre.as_ref().map_err(Clone::clone);
        let found = found.map(|pre| pre.weight(way).copied().unwrap_or(domain.zero()));
        check(&format!("pre* by paths {symbol}"), found, *expected, false)?;
    }
    Ok([answers, refusals, overlooked])
}

fn sweep(first: u64, count: u64) {
    let mut all = [0; 3];
    for seed in first..first + count {
        let found = if seed % 4 == 0 {
            compare(&MaxPlus::any(), -1, seed)
        } else {
            compare(&MinPlus::any(), 1, seed)
        };
        match found {
            Ok(found) => (all.iter_mut().zip(found)).for_each(|(all, found)| *all += found),
            Err(difference) => panic!("seed {seed}: {difference}"),
        }
    }
    let [answers, refusals, overlooked] = all;
    let what = format!("{answers} answers, {refusals} refusals, {overlooked} overlooked");
    println!("{what}");
    assert!(answers > 5 * refusals && overlooked == 0, "{what}");
}

#[test]
fn sums_that_double() {
    sweep(0, 200);
}

#[test]
#[ignore = "sweep; run in release"]
fn many_sums_that_double() {
    sweep(10_000, 5_000);
}

/// Eighty procedures that each call the next one twice, and the last the first: after one round the
/// weight of the first is -2⁸⁰, which no number of 64 bits is. It falls for ever. With three hundred,
/// no number of 128 bits is enough, either.
#[test]
fn a_sum_out_of_range_may_be_on_a_cycle() {
    for (length, last) in [(80, -1), (80, 0), (80, 1), (300, -1), (300, 0), (300, 1)] {
        let mut builder = PdsBuilder::new(1, length + 2);
        let mut rule = |top, replace, weight| {
            let (from, to) = (StateId(0), StateId(0));
            builder.rule(
                Rule {
                    from,
                    top: SymbolId(top),
                    to,
                    replace,
                    merge: None,
                },
                weight,
            );
        };
        for top in 0..length {
            let next = SymbolId(top + 1);
            rule(top, Replace::Push(next, next), 0);
        }
        rule(length, Replace::Pop, last);
        rule(length, Replace::Step(SymbolId(0)), 0);
        let pds = builder.build();
        let domain = MinPlus::any();
        let start = [SymbolId(0)];
        let from = single(&domain, &pds, (StateId(0), &start), Direction::Backward);
        let to = single(&domain, &pds, (StateId(0), &[]), Direction::Forward);
        for way in [Way::Pre, Way::Post, Way::Dual] {
            let found = reach(&domain, &pds, &from, &to, way, &Options::default());
            let found = found.map(|found| found.weight);
            let expected = match last {
                -1 => Ok(MinPlus::MINUS_INFINITY),
                0 => Ok(0),
                // 2⁸⁰ is too much to say.
                _ => Err(StopReason::OutOfRange),
            };
            assert_eq!(found, expected, "{way:?}, {length}, {last}");
        }
    }
}

/// One procedure weighs 2⁷⁰, the other -2⁷⁰; who calls both weighs what the last step does. A question
/// about that is answered, by chaotic iteration backwards; the automaton of all cannot be written down.
#[test]
fn sums_out_of_range_may_cancel_out() {
    let (plus, minus, main) = (SymbolId(0), SymbolId(100), SymbolId(200));
    let mut builder = PdsBuilder::new(1, 203);
    let mut rule = |top, replace, weight| {
        let rule = Rule {
            from: StateId(0),
            top,
            to: StateId(0),
            replace,
            merge: None,
        };
        builder.rule(rule, weight);
    };
    for (first, end) in [(plus, 1), (minus, -1)] {
        for top in first.0..first.0 + 70 {
            let next = SymbolId(top + 1);
            rule(SymbolId(top), Replace::Push(next, next), 0);
        }
        rule(SymbolId(first.0 + 70), Replace::Pop, end);
    }
    rule(main, Replace::Push(plus, SymbolId(201)), 0);
    rule(SymbolId(201), Replace::Push(minus, SymbolId(202)), 0);
    rule(SymbolId(202), Replace::Pop, 7);
    let pds = builder.build();
    let domain = MinPlus::any();
    let from = single(&domain, &pds, (StateId(0), &[main]), Direction::Backward);
    let to = single(&domain, &pds, (StateId(0), &[]), Direction::Forward);
    let options = Options::default();
    let found = reach(&domain, &pds, &from, &to, Way::Pre, &options);
    assert_eq!(found.map(|found| found.weight), Ok(7));
    let all = prestar(&domain, &pds, &to, &options);
    assert_eq!(all.map(|_| ()), Err(StopReason::OutOfRange));
}
