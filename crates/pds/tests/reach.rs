//! `reach` on random systems: both ways, dual*, both methods; against pre*, post* and the weights of
//! configurations; every run replayed with its weight.

mod common;

use common::{Random, Sample, shown, single, stacks, system};
use droste_base::StopReason;
use droste_pds::domains::{
    Affine, Boolean, CopyConstants, GenKill, Lexicographic, MaxPlus, MinPlus, Pair, Relations,
};
use droste_pds::{
    Automaton, Direction, Domain, MergeId, Method, Options, Pds, PdsBuilder, Replace, Rule,
    StateId, SymbolId, Transition, Way, poststar, poststar_on, prestar, prestar_on, reach,
    reach_on,
};

/// A random automaton; with `one` as every weight, if so wished.
fn automaton<D: Sample>(
    domain: &D,
    pds: &Pds<D::Weight>,
    random: &mut Random,
    direction: Direction,
    plain: bool,
) -> Automaton<D::Weight> {
    let mut automaton = Automaton::new(pds.states(), direction);
    let weight = |random: &mut Random| {
        if plain {
            domain.one()
        } else {
            domain.sample(random)
        }
    };
    for _ in 0..=random.below(3) {
        automaton.state();
    }
    let states = automaton.states();
    for _ in 0..=random.below(4) {
        let symbol = match random.below(8) {
            0 => SymbolId::EPSILON,
            // Sometimes one that no rule has.
            _ => SymbolId(random.below(pds.symbols() + 1)),
        };
        let from = StateId(random.below(states));
        let to = StateId(random.below(states));
        let transition = Transition::new(from, symbol, to);
        let weight = weight(random);
        automaton.add(domain, transition, weight).expect("a sum");
    }
    for _ in 0..=random.below(2) {
        let weight = weight(random);
        let state = StateId(random.below(states));
        automaton.accept(domain, state, weight).expect("a weight");
    }
    automaton
}

fn compare<D: Sample + Sync>(domain: &D, seed: u64) -> Result<(), String>
where
    D::Weight: Send + Sync,
{
    let mut random = Random::new(seed);
    let pds = system(domain, &mut random);
    let plain = random.below(2) == 0;
    let from = automaton(domain, &pds, &mut random, Direction::Backward, plain);
    let to = automaton(domain, &pds, &mut random, Direction::Forward, plain);
    let mut first: Option<D::Weight> = None;
    for way in [Way::Post, Way::Pre, Way::Dual, Way::Either] {
        for (method, witness) in [
            (Method::Chaotic, false),
            (Method::Chaotic, true),
            (Method::Paths, false),
        ] {
            let options = Options {
                method,
                witness,
                rounds: [None, Some(0), Some(1)][random.below(3) as usize],
                ..Options::default()
            };
            let found = reach(domain, &pds, &from, &to, way, &options);
            // Vectors that fall for ever may be out of range before that is seen: a refusal.
            let refuses = domain.bottom().is_some() && domain.greatest().is_none();
            if refuses && matches!(found, Err(StopReason::OutOfRange)) {
                return Ok(());
            }
            let found = found.expect("an answer");
            let what = format!("{way:?} {method:?} {witness}");
            let threads = 1 + random.below(3);
            let on = reach_on(threads, domain, &pds, &from, &to, way, &options);
            if refuses && matches!(on, Err(StopReason::OutOfRange)) {
                return Ok(());
            }
            let on = on.expect("an answer").weight;
            if !domain.equal(&on, &found.weight) {
                return Err(format!(
                    "{what}, {threads} threads: {on:?}, not {:?}",
                    found.weight
                ));
            }
            match &first {
                Some(known) if domain.equal(known, &found.weight) => {}
                Some(known) => {
                    return Err(format!("{what}: {:?}, not {known:?}", found.weight));
                }
                None => first = Some(found.weight.clone()),
            }
            let endless = (domain.bottom()).is_some_and(|w| domain.equal(&w, &found.weight));
            let wanted = witness && !endless && !domain.is_zero(&found.weight);
            if wanted != found.witness.is_some() {
                return Err(format!("{what}: run {:?}", found.witness));
            }
            let Some(run) = found.witness else {
                continue;
            };
            let weight = run.weight(domain, &pds).expect("a weight");
            let Some(weight) = weight else {
                return Err(format!("{what}: not a run: {run:?}"));
            };
            if run.rules().count() as u64 != run.len() {
                return Err(format!("{what}: {} rules in {run:?}", run.len()));
            }
            let begins = from.weight_of(domain, run.start.0, &run.start.1);
            let ends = to.weight_of(domain, run.end.0, &run.end.1);
            let (begins, ends) = (begins.expect("a weight"), ends.expect("a weight"));
            let whole = domain.extend(&begins, &weight).expect("a weight");
            let whole = domain.extend(&whole, &ends).expect("a weight");
            if domain.is_zero(&whole) {
                return Err(format!("{what}: a run without weight: {run:?}"));
            }
            let both = domain.combine(&whole, &found.weight).expect("a sum");
            if !domain.equal(&both, &found.weight) {
                return Err(format!("{what}: run {weight:?}, all {:?}", found.weight));
            }
            if domain.is_total() && !domain.equal(&whole, &found.weight) {
                return Err(format!("{what}: {weight:?} is not {:?}", found.weight));
            }
        }
    }
    let Some(known) = first else {
        return Ok(());
    };
    // What small configurations add is a part of it.
    let options = Options::default();
    let post = poststar(domain, &pds, &from, &options).expect("post*");
    let pre = prestar(domain, &pds, &to, &options).expect("pre*");
    let threads = 2 + random.below(2);
    let post_on = poststar_on(threads, domain, &pds, &from, &options).expect("post*");
    let pre_on = prestar_on(threads, domain, &pds, &to, &options).expect("pre*");
    for (one, many) in [(&post, &post_on), (&pre, &pre_on)] {
        let same = one.iter().all(|(transition, weight)| {
            let other = many.weight(transition);
            other.is_some_and(|other| domain.equal(other, weight))
        });
        if !same || one.len() != many.len() {
            return Err(format!("{threads} threads: {many:?}, not {one:?}"));
        }
    }
    for stack in stacks(pds.symbols(), 2) {
        for state in (0..pds.states()).map(StateId) {
            let there = post.weight_of(domain, state, &stack).expect("a weight");
            let end = to.weight_of(domain, state, &stack).expect("a weight");
            let begin = from.weight_of(domain, state, &stack).expect("a weight");
            let on = pre.weight_of(domain, state, &stack).expect("a weight");
            for (a, b) in [(there, end), (begin, on)] {
                let weight = domain.extend(&a, &b).expect("a weight");
                let both = domain.combine(&weight, &known).expect("a sum");
                if !domain.equal(&both, &known) {
                    return Err(format!("{state:?} {stack:?}: {weight:?} not in {known:?}"));
                }
            }
        }
    }
    Ok(())
}

fn sweep<D: Sample + Sync>(domain: &D, first: u64, count: u64)
where
    D::Weight: Send + Sync,
{
    for seed in first..first + count {
        if let Err(difference) = compare(domain, seed) {
            panic!("seed {seed}: {difference}\n{}", shown(domain, seed));
        }
    }
}

/// A rule that weighs nothing is no step, whichever way the search goes.
#[test]
fn a_rule_of_weight_zero_is_no_rule() {
    let mut builder = PdsBuilder::new(1, 2);
    let rule = Rule {
        from: StateId(0),
        top: SymbolId(0),
        to: StateId(0),
        replace: Replace::Step(SymbolId(1)),
        merge: None,
    };
    builder.rule(rule, false);
    let pds = builder.build();
    let single =
        |symbol, direction| single(&Boolean, &pds, (StateId(0), &[SymbolId(symbol)]), direction);
    let (from, to) = (
        single(0, Direction::Backward),
        single(1, Direction::Forward),
    );
    for way in [Way::Pre, Way::Post, Way::Dual] {
        let found = reach(&Boolean, &pds, &from, &to, way, &Options::default());
        assert!(!found.expect("an answer").weight, "{way:?}");
    }
}

/// No configuration is in an automaton without final states, and none reaches it.
#[test]
fn an_empty_set_is_not_reached() {
    let mut random = Random::new(1);
    let pds = system(&Boolean, &mut random);
    let start = [SymbolId(0)];
    for (way, first) in [Way::Pre, Way::Post, Way::Dual]
        .into_iter()
        .flat_map(|way| [(way, true), (way, false)])
    {
        for method in [Method::Chaotic, Method::Paths] {
            let some = |direction| single(&Boolean, &pds, (StateId(0), &start), direction);
            let none = |direction| Automaton::new(pds.states(), direction);
            let (from, to) = if first {
                (none(Direction::Backward), some(Direction::Forward))
            } else {
                (some(Direction::Backward), none(Direction::Forward))
            };
            let options = Options {
                method,
                ..Options::default()
            };
            let found = reach(&Boolean, &pds, &from, &to, way, &options);
            assert!(!found.expect("an answer").weight, "{way:?}");
        }
    }
}

/// Two pops: each alone may go either way, together only one after the other has a weight.
#[test]
fn a_run_has_a_weight() {
    let domain = Relations::new(2);
    let mut builder = PdsBuilder::new(1, 1);
    for pair in [(0, 1), (1, 0)] {
        let rule = Rule {
            from: StateId(0),
            top: SymbolId(0),
            to: StateId(0),
            replace: Replace::Pop,
            merge: None,
        };
        builder.rule(rule, domain.of([pair]));
    }
    let pds = builder.build();
    let two = [SymbolId(0); 2];
    let from = single(&domain, &pds, (StateId(0), &two), Direction::Backward);
    let to = single(&domain, &pds, (StateId(0), &[]), Direction::Forward);
    let options = Options {
        witness: true,
        ..Options::default()
    };
    for way in [Way::Pre, Way::Post, Way::Dual] {
        let found = reach(&domain, &pds, &from, &to, way, &options).expect("an answer");
        let rules: Vec<u32> = found
            .witness
            .iter()
            .flat_map(droste_pds::Witness::rules)
            .collect();
        assert!(rules == [0, 1] || rules == [1, 0], "{way:?}: {rules:?}");
    }
}

/// A run of weight {3->3}, where neither the newest nor the oldest records make one: what a callee
/// does depends on where it is called.
#[test]
fn a_run_is_chosen_step_by_step() {
    let domain = Relations::with_locals(2, 2);
    let (a, b, c, d) = (SymbolId(0), SymbolId(1), SymbolId(2), SymbolId(3));
    let mut builder = PdsBuilder::new(1, 4);
    let mut rule = |top, replace, merge, pairs: &[(u32, u32)]| {
        let rule = Rule {
            from: StateId(0),
            top,
            to: StateId(0),
            replace,
            merge,
        };
        builder.rule(rule, domain.of(pairs.iter().copied()));
    };
    rule(a, Replace::Pop, None, &[(0, 2)]);
    rule(c, Replace::Pop, None, &[(0, 3), (3, 0)]);
    rule(d, Replace::Step(c), None, &[(0, 3)]);
    rule(a, Replace::Push(d, c), None, &[(3, 0)]);
    rule(c, Replace::Push(c, b), None, &[(3, 0)]);
    rule(b, Replace::Step(a), None, &[(3, 0), (3, 1)]);
    rule(a, Replace::Push(a, a), Some(MergeId(0)), &[]);
    let pds = builder.build();
    let from = single(&domain, &pds, (StateId(0), &[b, c, d]), Direction::Backward);
    let to = single(&domain, &pds, (StateId(0), &[b]), Direction::Forward);
    let options = Options {
        witness: true,
        ..Options::default()
    };
    for way in [Way::Pre, Way::Post, Way::Dual] {
        let found = reach(&domain, &pds, &from, &to, way, &options).expect("an answer");
        let run = found.witness.expect("a run");
        let weight = run.weight(&domain, &pds).expect("a weight").expect("a run");
        assert!(domain.equal(&weight, &domain.of([(3, 3)])), "{way:?}");
    }
}

/// Each symbol becomes two of the next. The second one is popped as the first one was: that is one run,
/// though it is at the end of its caller's.
#[test]
fn ends_are_shared() {
    let (domain, depth) = (MinPlus::non_negative(), 60);
    let mut builder = PdsBuilder::new(1, depth + 1);
    for symbol in 0..=depth {
        let next = SymbolId(symbol + 1);
        let rule = Rule {
            from: StateId(0),
            top: SymbolId(symbol),
            to: StateId(0),
            replace: if symbol == depth {
                Replace::Pop
            } else {
                Replace::Push(next, next)
            },
            merge: None,
        };
        builder.rule(rule, 1);
    }
    let pds = builder.build();
    let options = Options {
        witness: true,
        ..Options::default()
    };
    // At the end of the whole run, and before another symbol is popped.
    for stack in [&[SymbolId(0)][..], &[SymbolId(0), SymbolId(1)]] {
        let from = single(&domain, &pds, (StateId(0), stack), Direction::Backward);
        let to = single(&domain, &pds, (StateId(0), &[]), Direction::Forward);
        for way in [Way::Pre, Way::Post, Way::Dual] {
            let found = reach(&domain, &pds, &from, &to, way, &options).expect("an answer");
            let run = found.witness.expect("a run");
            let moves: usize = run.runs.iter().map(Vec::len).sum();
            assert!(moves <= 3 * depth as usize, "{way:?}: {moves} moves");
            assert_eq!(run.weight(&domain, &pds), Ok(Some(found.weight)), "{way:?}");
            let twice = u64::from(stack.len() == 2);
            let steps = (1 << (depth + 1)) - 1 + twice * ((1 << depth) - 1);
            assert_eq!(run.len(), steps, "{way:?}");
        }
    }
}

#[test]
fn random_questions() {
    sweep(&Boolean, 0, 300);
    sweep(&MinPlus::non_negative(), 1000, 300);
    sweep(&MinPlus::any(), 1500, 300);
    sweep(&Lexicographic::any(), 7000, 300);
    sweep(&Lexicographic::non_negative(), 8000, 300);
    sweep(&Relations::new(3), 2000, 100);
    sweep(&Relations::with_locals(2, 2), 3000, 300);
    sweep(&Pair(MinPlus::non_negative(), Boolean), 4000, 100);
    sweep(&GenKill::new(70), 5000, 100);
    sweep(&CopyConstants::new(3), 6000, 100);
    sweep(&MaxPlus::non_positive(), 9000, 100);
    sweep(&MaxPlus::any(), 9200, 100);
    sweep(&Affine::new(4, 2), 9400, 50);
    sweep(&Pair(MaxPlus::non_positive(), Affine::new(3, 1)), 9600, 30);
}

#[test]
#[ignore = "sweep; run in release"]
fn many_random_questions() {
    sweep(&Boolean, 10_000, 10_000);
    sweep(&MinPlus::non_negative(), 30_000, 10_000);
    sweep(&MinPlus::any(), 100_000, 10_000);
    sweep(&Lexicographic::any(), 200_000, 2_500);
    sweep(&Lexicographic::non_negative(), 300_000, 2_500);
    sweep(&Relations::new(3), 50_000, 2_500);
    sweep(&Relations::with_locals(2, 2), 60_000, 10_000);
    sweep(&GenKill::new(70), 80_000, 5_000);
    sweep(&CopyConstants::new(3), 90_000, 5_000);
}

#[test]
#[ignore = "sweep; run in release"]
fn many_random_questions_of_further_domains() {
    sweep(&MaxPlus::non_positive(), 400_000, 5_000);
    sweep(&MaxPlus::any(), 410_000, 5_000);
    sweep(&Affine::new(4, 2), 420_000, 2_500);
    sweep(&Affine::new(64, 2), 430_000, 1_000);
    sweep(
        &Pair(MinPlus::non_negative(), Relations::new(2)),
        440_000,
        2_500,
    );
    sweep(
        &Pair(Lexicographic::non_negative(), Affine::new(3, 1)),
        450_000,
        1_000,
    );
    sweep(
        &Pair(CopyConstants::new(3), MaxPlus::non_positive()),
        460_000,
        2_500,
    );
}
