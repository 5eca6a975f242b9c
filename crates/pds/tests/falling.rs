//! Weights of both signs where sums double with every call: chains of procedures that call the next
//! one twice, with random rules besides. Against the grammar solved naively with 128 bits, where the
//! longest tree without repetition still fits. And any systems with weights at the edges of 64 bits,
//! against the same questions with 128 bits, where epsilon transitions have been closed naively.

mod common;

use std::collections::BTreeMap;

use common::{Random, single};
use droste_base::StopReason;
use droste_pds::domains::{MaxPlus, MinPlus};
use droste_pds::{
    Automaton, Direction, Domain, Method, Options, Order, Pds, PdsBuilder, Replace, Rule, StateId,
    SymbolId, Transition, Way, poststar, poststar_on, prestar, prestar_on, reach, reach_on,
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
            order: order.clone(),
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
                let exactly = fits(&expected);
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
    sweep(10_000, 1_000);
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

/// Shortest paths with 128 bits.
struct Wide;

impl Domain for Wide {
    type Weight = i128;

    fn one(&self) -> i128 {
        0
    }

    fn zero(&self) -> i128 {
        i128::MAX
    }

    fn combine(&self, a: &i128, b: &i128) -> Result<i128, StopReason> {
        Ok(*a.min(b))
    }

    fn extend(&self, a: &i128, b: &i128) -> Result<i128, StopReason> {
        match (*a, *b) {
            (i128::MAX, _) | (_, i128::MAX) => Ok(i128::MAX),
            (i128::MIN, _) | (_, i128::MIN) => Ok(i128::MIN),
            (a, b) => a.checked_add(b).ok_or(StopReason::OutOfRange),
        }
    }

    fn equal(&self, a: &i128, b: &i128) -> bool {
        a == b
    }

    fn is_total(&self) -> bool {
        true
    }

    fn bottom(&self) -> Option<i128> {
        Some(i128::MIN)
    }
}

/// A system with a question about it, with 64 and with 128 bits.
struct Both {
    small: (Pds<i64>, [Automaton<i64>; 2]),
    wide: (Pds<i128>, [Automaton<i128>; 2]),
}

fn at_the_edges<D: Domain<Weight = i64>>(domain: &D, turn: i64, random: &mut Random) -> Both {
    let weight = |random: &mut Random| {
        let most = MinPlus::GREATEST;
        let part = [0, 0, most, most / 2 + 1, most / 3][random.below(5) as usize];
        let sign = [1, -1][random.below(2) as usize];
        sign * (part - i64::from(random.below(4)))
    };
    let (states, symbols) = (1 + random.below(2), 2 + random.below(2));
    let mut small = PdsBuilder::new(states, symbols);
    let mut wide = PdsBuilder::new(states, symbols);
    for _ in 0..2 + random.below(6) {
        let symbol = |random: &mut Random| SymbolId(random.below(symbols));
        let replace = match random.below(5) {
            0 | 1 => Replace::Pop,
            2 => Replace::Step(symbol(random)),
            _ => Replace::Push(symbol(random), symbol(random)),
        };
        let rule = Rule {
            from: StateId(random.below(states)),
            top: symbol(random),
            to: StateId(random.below(states)),
            replace,
            merge: None,
        };
        let weight = weight(random);
        small.rule(rule, turn * weight);
        wide.rule(rule, weight.into());
    }
    let mut sets = (Vec::new(), Vec::new());
    for direction in [Direction::Backward, Direction::Forward] {
        let mut small = Automaton::new(states, direction);
        let mut wide = Automaton::new(states, direction);
        for _ in 0..=random.below(3) {
            small.state();
            wide.state();
        }
        let all = small.states();
        for _ in 0..=random.below(6) {
            let (from, to) = (StateId(random.below(all)), StateId(random.below(all)));
            let symbol = match random.below(3) {
                0 => SymbolId::EPSILON,
                _ => SymbolId(random.below(symbols)),
            };
            let step = Transition::new(from, symbol, to);
            let weight = weight(random);
            small.add(domain, step, turn * weight).expect("a sum");
            wide.add(&Wide, step, weight.into()).expect("a sum");
        }
        let (end, weight) = (StateId(random.below(all)), weight(random));
        small.accept(domain, end, turn * weight).expect("a sum");
        wide.accept(&Wide, end, weight.into()).expect("a sum");
        sets.0.push(small);
        sets.1.push(wide);
    }
    let (small_sets, wide_sets) = (sets.0.try_into().ok(), sets.1.try_into().ok());
    Both {
        small: (small.build(), small_sets.expect("two sets")),
        wide: (wide.build(), wide_sets.expect("two sets")),
    }
}

/// The same without epsilon transitions, by Bellman and Ford.
fn closed(set: &Automaton<i128>) -> Automaton<i128> {
    let count = set.states();
    let mut plain = Automaton::new(set.control(), set.direction());
    while plain.states() < count {
        plain.state();
    }
    let add = |a: &i128, b: &i128| Wide.extend(a, b).expect("128 bits");
    for start in 0..count {
        let mut near = vec![i128::MAX; count as usize];
        near[start as usize] = 0;
        for round in 0..2 * count {
            for (step, weight) in set.iter() {
                let new = add(&near[step.from.0 as usize], weight);
                let known = &mut near[step.to.0 as usize];
                if step.symbol == SymbolId::EPSILON && new < *known {
                    // A path without repetition has been seen before.
                    *known = if round < count { new } else { i128::MIN };
                }
            }
        }
        for (step, weight) in set.iter() {
            let weight = add(&near[step.from.0 as usize], weight);
            if step.symbol != SymbolId::EPSILON && weight != i128::MAX {
                let step = Transition::new(StateId(start), step.symbol, step.to);
                plain.add(&Wide, step, weight).expect("a sum");
            }
        }
        for (state, so_far) in (0..).map(StateId).zip(&near) {
            if let Some(end) = set.final_weight(state)
                && *so_far != i128::MAX
            {
                let weight = add(so_far, end);
                plain.accept(&Wide, StateId(start), weight).expect("a sum");
            }
        }
    }
    plain
}

/// What is known of a seed: an answer, a refusal, or nothing, where 128 bits are not enough, either.
fn at_edges<D: Domain<Weight = i64> + Sync>(
    domain: &D,
    turn: i64,
    seed: u64,
) -> Result<Option<bool>, String> {
    let mut random = Random::new(seed);
    let both = at_the_edges(domain, turn, &mut random);
    let (pds, sets) = &both.wide;
    let [from, to] = sets.each_ref().map(closed);
    let Ok(exact) = reach(&Wide, pds, &from, &to, Way::Pre, &Options::default()) else {
        return Ok(None);
    };
    let expected = match exact.weight {
        i128::MAX => Ok(domain.zero()),
        i128::MIN => Ok(domain.bottom().expect("a bottom")),
        number if number.abs() > i128::from(MinPlus::GREATEST) => Err(StopReason::OutOfRange),
        number => Ok(turn * i64::try_from(number).expect("it fits")),
    };
    let (pds, [from, to]) = &both.small;
    for way in [Way::Pre, Way::Post, Way::Dual] {
        for order in [Order::Best, Order::LastIn, Order::FirstIn] {
            for (method, witness) in [
                (Method::Chaotic, false),
                (Method::Chaotic, true),
                (Method::Paths, false),
            ] {
                let options = Options {
                    method,
                    order: order.clone(),
                    witness,
                    ..Options::default()
                };
                let found = reach(domain, pds, from, to, way, &options);
                let on = reach_on(2, domain, pds, from, to, way, &options);
                let what = format!("{way:?} {order:?} {method:?} {witness}");
                let weights = [&found, &on].map(|found| match found {
                    Ok(found) => Ok(found.weight),
                    Err(reason) => Err(reason.clone()),
                });
                for (cores, weight) in (1..).zip(weights) {
                    if weight != expected {
                        let what = format!("{what}, {cores} cores");
                        return Err(format!("{what}: {weight:?}, not {expected:?}"));
                    }
                }
                let Some(run) = found.ok().and_then(|found| found.witness) else {
                    continue;
                };
                let own = run.weight(domain, pds);
                if !matches!(own, Ok(Some(_)) | Err(StopReason::OutOfRange)) {
                    return Err(format!("{what}: not a run: {run:?}"));
                }
            }
        }
    }
    // All that is reached may be out of range where the answer is not, but on any number of cores.
    let options = Options::default();
    let automata = [
        poststar(domain, pds, from, &options),
        poststar_on(2, domain, pds, from, &options),
        prestar(domain, pds, to, &options),
        prestar_on(2, domain, pds, to, &options),
    ];
    for found in automata.iter().flatten() {
        let weighted = found.iter().filter(|(_, weight)| !domain.is_zero(weight));
        let plain = found.support(domain);
        if !weighted
            .map(|(t, _)| t)
            .eq(plain.iter().filter_map(|(t, &on)| on.then_some(t)))
        {
            return Err("without weights there are other transitions".to_owned());
        }
    }
    let [post, post_on, pre, pre_on] = automata.map(|automaton| {
        automaton.map(|all| all.iter().map(|(t, w)| (t, *w)).collect::<BTreeMap<_, _>>())
    });
    if (&post, &pre) != (&post_on, &pre_on) {
        return Err("two cores have another automaton".to_owned());
    }
    Ok(Some(expected.is_ok()))
}

fn edges(first: u64, count: u64) {
    let (mut answers, mut refusals) = (0, 0);
    for seed in first..first + count {
        let known = if seed % 4 == 0 {
            at_edges(&MaxPlus::any(), -1, seed)
        } else {
            at_edges(&MinPlus::any(), 1, seed)
        };
        match known {
            Ok(Some(true)) => answers += 1,
            Ok(Some(false)) => refusals += 1,
            Ok(None) => {}
            Err(difference) => panic!("seed {seed}: {difference}"),
        }
    }
    println!("{answers} answers, {refusals} refusals");
    assert!(refusals > 0 && answers + refusals > count * 9 / 10);
}

#[test]
fn sums_at_the_edges_of_64_bits() {
    edges(20_000, 1000);
}

#[test]
#[ignore = "sweep; run in release"]
fn many_sums_at_the_edges_of_64_bits() {
    edges(30_000, 5_000);
}

/// A callee returns with more than 64 bits can say, but what is asked for is never reached; or it is
/// where the weight of the target makes up for it. On one core and on two.
#[test]
fn a_sum_that_does_not_matter_is_no_refusal() {
    let most = MinPlus::GREATEST;
    let rule = |top, replace| Rule {
        from: StateId(0),
        top: SymbolId(top),
        to: StateId(0),
        replace,
        merge: None,
    };
    let mut builder = PdsBuilder::new(1, 2);
    builder.rule(rule(0, Replace::Pop), most);
    builder.rule(rule(0, Replace::Push(SymbolId(0), SymbolId(1))), 3);
    let pds = builder.build();
    let domain = MinPlus::any();
    let set = |stack: &[u32], direction, weight| {
        let stack: Vec<SymbolId> = stack.iter().copied().map(SymbolId).collect();
        let mut set = single(&domain, &pds, (StateId(0), &stack), direction);
        if weight != 0 {
            let mut last = Automaton::new(1, direction);
            for (transition, own) in set.iter() {
                while last.states() <= transition.to.0 {
                    last.state();
                }
                last.add(&domain, transition, *own).expect("a sum");
            }
            let end = StateId(last.states() - 1);
            last.accept(&domain, end, weight).expect("a weight");
            set = last;
        }
        set
    };
    let from = set(&[0], Direction::Backward, 0);
    for (target, weight, expected) in [
        (vec![0, 0], -most / 3, Ok(MinPlus::INFINITY)),
        (vec![1], -most / 2, Ok(most - most / 2 + 3)),
        (vec![1], 0, Err(StopReason::OutOfRange)),
    ] {
        let to = set(&target, Direction::Forward, weight);
        for way in [Way::Pre, Way::Post, Way::Dual] {
            for cores in [1, 2] {
                let options = Options::default();
                let found = reach_on(cores, &domain, &pds, &from, &to, way, &options);
                let found = found.map(|found| found.weight);
                assert_eq!(found, expected, "{way:?}, {cores} cores");
            }
        }
    }
}
