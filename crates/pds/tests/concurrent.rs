//! Concurrent systems: small ones by hand, and random ones against all interleavings of bounded
//! stacks.

use std::collections::{HashMap, VecDeque};

use droste_base::Limits;
use droste_pds::concurrent::stacks::{BOTTOM, Fresh, NEW, Stacks};
use droste_pds::concurrent::{Concurrent, Context, Finding, Options, Proof, Target, Top, search};
use droste_pds::{Replace, Rule, StateId, SymbolId};

/// xorshift64*
struct Random(u64);

impl Random {
    fn new(seed: u64) -> Self {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn below(&mut self, bound: u32) -> u32 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let high = self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33;
        (high % u64::from(bound)) as u32
    }
}

/// The top of an empty stack.
const EMPTY: u32 = u32::MAX;

/// Rules as plain numbers: shared state and top before, shared state and symbols after.
type Plain = (u32, u32, u32, Vec<u32>);

#[derive(Clone, Debug)]
struct System {
    states: u32,
    threads: Vec<(Vec<Plain>, Vec<u32>)>,
}

impl System {
    fn build(&self) -> Concurrent {
        let symbol = |symbol: u32| match symbol {
            EMPTY => SymbolId::EPSILON,
            symbol => SymbolId(symbol),
        };
        let threads = self.threads.iter().map(|(rules, stack)| {
            let rules = rules.iter().map(|(from, top, to, right)| Rule {
                from: StateId(*from),
                top: symbol(*top),
                to: StateId(*to),
                replace: match right[..] {
                    [] => Replace::Pop,
                    [only] => Replace::Step(SymbolId(only)),
                    _ => Replace::Push(SymbolId(right[0]), SymbolId(right[1])),
                },
                merge: None,
            });
            let stack = stack.iter().map(|&symbol| SymbolId(symbol)).collect();
            (rules.collect(), stack)
        });
        let threads: Vec<(Vec<Rule>, Vec<SymbolId>)> = threads.collect();
        Concurrent::new(self.states, StateId(0), &threads)
    }

    /// What a thread can do in one step, as long as its stack is not too high.
    fn steps(
        &self,
        thread: usize,
        shared: u32,
        stack: &[u32],
        high: usize,
    ) -> Vec<(u32, Vec<u32>)> {
        let (&top, rest) = stack.split_first().unwrap_or((&EMPTY, &[]));
        let rules = self.threads[thread].0.iter();
        let rules = rules.filter(|rule| (rule.0, rule.1) == (shared, top));
        let after = rules.map(|rule| (rule.2, [&rule.3[..], rest].concat()));
        after.filter(|(_, stack)| stack.len() <= high).collect()
    }

    /// For every visible state, the least number of contexts that it takes, with stacks of bounded
    /// height and at most so many contexts.
    fn interleavings(&self, high: usize, contexts: usize) -> HashMap<Vec<u32>, usize> {
        type Configuration = (u32, Vec<Vec<u32>>);
        let stacks: Vec<Vec<u32>> = self.threads.iter().map(|thread| thread.1.clone()).collect();
        // With the thread that is active; a switch costs one.
        let mut cost: HashMap<(Configuration, usize), usize> = HashMap::new();
        let mut visible: HashMap<Vec<u32>, usize> = HashMap::new();
        let mut work: VecDeque<((Configuration, usize), usize)> = VecDeque::new();
        let mut see = |shared: u32, stacks: &[Vec<u32>], level: usize| {
            let tops = stacks.iter().map(|s| s.first().copied().unwrap_or(EMPTY));
            let state: Vec<u32> = std::iter::once(shared).chain(tops).collect();
            let known = visible.entry(state).or_insert(level);
            *known = level.min(*known);
        };
        see(0, &stacks, 0);
        for thread in 0..stacks.len() {
            work.push_back((((0, stacks.clone()), thread), 1));
        }
        while let Some((key, level)) = work.pop_front() {
            if level > contexts || cost.get(&key).is_some_and(|&known| known <= level) {
                continue;
            }
            cost.insert(key.clone(), level);
            let ((shared, stacks), thread) = key;
            for (after, stack) in self.steps(thread, shared, &stacks[thread], high) {
                let mut next = stacks.clone();
                next[thread] = stack;
                see(after, &next, level);
                work.push_front((((after, next.clone()), thread), level));
                for other in (0..next.len()).filter(|&other| other != thread) {
                    work.push_back((((after, next.clone()), other), level + 1));
                }
            }
        }
        visible
    }

    /// Where the rules of a context lead, one after the other, if they can be applied.
    fn replay(&self, context: &Context) -> Option<(u32, Vec<u32>)> {
        let (mut shared, mut stack) = plain(&context.run.start);
        for rule in context.run.rules() {
            let (from, top, to, right) = &self.threads[context.thread].0[rule as usize];
            let now = stack.first().copied().unwrap_or(EMPTY);
            if (*from, *top) != (shared, now) {
                return None;
            }
            shared = *to;
            stack = [&right[..], stack.get(1..).unwrap_or(&[])].concat();
        }
        Some((shared, stack))
    }

    fn random(random: &mut Random) -> Self {
        let states = 1 + random.below(4);
        let symbols = 1 + random.below(3);
        let count = 2 + random.below(2);
        let threads = (0..count).map(|_| {
            let rules = (0..=random.below(7)).map(|_| {
                let right = match random.below(5) {
                    0 | 1 => 0,
                    2 | 3 => 1,
                    _ => 2,
                };
                let top = match random.below(12) {
                    0 => EMPTY,
                    _ => random.below(symbols),
                };
                (
                    random.below(states),
                    top,
                    random.below(states),
                    (0..right).map(|_| random.below(symbols)).collect(),
                )
            });
            let rules = rules.collect();
            let stack = (0..random.below(3)).map(|_| random.below(symbols));
            (rules, stack.collect())
        });
        System {
            states,
            threads: threads.collect(),
        }
    }
}

fn plain((state, stack): &(StateId, Vec<SymbolId>)) -> (u32, Vec<u32>) {
    (state.0, stack.iter().map(|symbol| symbol.0).collect())
}

/// The target that is one visible state.
fn target(visible: &[u32]) -> Target {
    let top = |&top: &u32| match top {
        EMPTY => Top::Empty,
        top => Top::Is(SymbolId(top)),
    };
    Target {
        shared: Some(StateId(visible[0])),
        tops: visible[1..].iter().map(top).collect(),
    }
}

fn options(contexts: Option<usize>, by_abstraction: bool, by_visible: bool) -> Options {
    Options {
        contexts,
        by_abstraction,
        by_visible,
        after: 0,
        limits: Limits {
            path_edges: Some(300),
            ..Limits::default()
        },
    }
}

/// What was asked how often, and the answers.
#[derive(Debug, Default)]
struct Tally {
    asked: usize,
    reached: usize,
    never: HashMap<&'static str, usize>,
    stopped: usize,
}

fn compare(seed: u64, tally: &mut Tally) {
    const HIGH: usize = 7;
    const CONTEXTS: usize = 4;
    let mut random = Random::new(seed);
    let system = System::random(&mut random);
    let built = system.build();
    let near = system.interleavings(HIGH, CONTEXTS);
    // Any number of contexts, with lower stacks.
    let far = system.interleavings(4, usize::MAX);
    let symbols = 3;
    let mut wanted: Vec<Vec<u32>> = near.keys().cloned().collect();
    wanted.sort();
    for _ in 0..4 {
        let mut state = vec![random.below(system.states)];
        for _ in &system.threads {
            let top = random.below(symbols + 1);
            state.push(if top == symbols { EMPTY } else { top });
        }
        wanted.push(state);
    }
    for state in wanted.iter().rev().take(8) {
        let targets = [target(state)];
        let known = near.get(state).copied();
        for (contexts, by_abstraction, by_visible) in [
            (Some(0), false, false),
            (Some(CONTEXTS), false, false),
            (None, false, false),
            (None, false, true),
            (None, true, false),
            (None, true, true),
        ] {
            let options = options(contexts, by_abstraction, by_visible);
            let (found, _) = search(&built, &targets, &options);
            let case = format!("seed {seed}, {state:?}, {options:?}: {found:?}\n{system:?}");
            tally.asked += 1;
            match found {
                Finding::Reached(run) => {
                    tally.reached += 1;
                    assert!(contexts.is_none_or(|most| run.len() <= most), "{case}");
                    // No fewer contexts do it.
                    assert!(known.is_none_or(|level| level >= run.len()), "{case}");
                    check(&system, &run, state, &case);
                }
                Finding::NotWithin(most) => {
                    assert_eq!(contexts, Some(most), "{case}");
                    assert!(known.is_none_or(|level| level > most), "{case}");
                }
                Finding::Never(proof) => {
                    let name = match proof {
                        Proof::Abstraction => "abstraction",
                        Proof::Configurations => "configurations",
                        Proof::Visible => "visible",
                    };
                    *tally.never.entry(name).or_default() += 1;
                    assert_eq!(known, None, "{case}");
                    assert!(!far.contains_key(state), "{case}");
                }
                Finding::Stopped(_, done) => {
                    tally.stopped += 1;
                    let below = done.map_or(0, |done| done + 1);
                    assert!(known.is_none_or(|level| level >= below), "{case}");
                }
            }
        }
    }
}

/// The contexts fit together, each is possible, and the last one ends in the visible state.
fn check(system: &System, run: &[Context], goal: &[u32], case: &str) {
    let mut shared = 0;
    let mut stacks: Vec<Vec<u32>> = system.threads.iter().map(|t| t.1.clone()).collect();
    for context in run {
        let begin = (shared, stacks[context.thread].clone());
        assert_eq!(plain(&context.run.start), begin, "{case}");
        let end = plain(&context.run.end);
        assert_eq!(system.replay(context), Some(end.clone()), "{case}");
        (shared, stacks[context.thread]) = end;
    }
    let tops = stacks.iter().map(|s| s.first().copied().unwrap_or(EMPTY));
    let visible: Vec<u32> = std::iter::once(shared).chain(tops).collect();
    assert_eq!(visible, goal, "{case}");
}

fn sweep(count: u64) {
    let seed: u64 = std::env::var("SEED").map_or(0, |seed| seed.parse().unwrap());
    let mut tally = Tally::default();
    for seed in seed..seed + count {
        compare(seed, &mut tally);
    }
    println!("{tally:?}");
    for name in ["abstraction", "configurations", "visible"] {
        assert!(tally.never[name] > 0, "{tally:?}");
    }
}

#[test]
fn random_systems_against_interleavings() {
    sweep(300);
}

#[test]
#[ignore = "long"]
fn many_random_systems_against_interleavings() {
    sweep(8_000);
}

/// Threads with rules `shared top -> shared symbols`, one per line, and their stacks.
fn system(states: u32, threads: &[(&str, &[u32])]) -> System {
    let number = |word: &str| word.parse::<u32>().unwrap();
    let threads = threads.iter().map(|(text, stack)| {
        let rules = text.split(';').map(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            let right = words[4..].iter().map(|word| number(word)).collect();
            (number(words[0]), number(words[1]), number(words[3]), right)
        });
        (rules.collect(), stack.to_vec())
    });
    System {
        states,
        threads: threads.collect(),
    }
}

fn ask(system: &System, goal: &[u32], by_visible: bool) -> Finding {
    let options = Options {
        by_visible,
        ..options(None, false, false)
    };
    search(&system.build(), &[target(goal)], &options).0
}

/// A stack grows by one with every handshake. Sets of configurations never end; visible states do.
fn ratchet() -> System {
    system(
        4,
        &[
            ("0 0 -> 1 1; 3 1 -> 0 0", &[0]),
            ("0 0 -> 0; 1 0 -> 2 1; 2 1 -> 3 0 2", &[0]),
        ],
    )
}

#[test]
fn visible_states_end_where_configurations_do_not() {
    let never = ask(&ratchet(), &[2, 0, 2], false);
    assert!(matches!(never, Finding::Stopped(..)), "{never:?}");
    let found = ask(&ratchet(), &[2, 0, 2], true);
    assert!(matches!(found, Finding::Never(Proof::Visible)), "{found:?}");
    // A pop that brings up what has been buried.
    let Finding::Reached(run) = ask(&ratchet(), &[1, 1, 2], true) else {
        panic!("it is reachable");
    };
    assert_eq!(run.len(), 5);
}

/// Two threads that call themselves and then wait for each other.
#[test]
fn sets_of_configurations_end_where_stacks_do_not() {
    let waiting = system(
        2,
        &[
            (
                "0 0 -> 0 1; 1 0 -> 1 1; 0 0 -> 0 2; 1 0 -> 1 2; 0 1 -> 0 0 2; 1 1 -> 1 0 2; \
                 0 2 -> 0 3; 1 2 -> 1 2; 0 3 -> 1; 1 3 -> 1",
                &[0],
            ),
            (
                "0 0 -> 0 1; 1 0 -> 1 1; 0 0 -> 0 2; 1 0 -> 1 2; 0 1 -> 0 0 2; 1 1 -> 1 0 2; \
                 0 2 -> 0 2; 1 2 -> 1 3; 0 3 -> 0; 1 3 -> 0",
                &[0],
            ),
        ],
    );
    let far = waiting.interleavings(5, usize::MAX);
    let mut never = 0;
    for shared in 0..2 {
        for first in [0, 1, 2, 3, EMPTY] {
            for second in [0, 1, 2, 3, EMPTY] {
                let state = [shared, first, second];
                match ask(&waiting, &state, false) {
                    Finding::Never(Proof::Configurations) => {
                        never += 1;
                        assert!(!far.contains_key(&state[..]));
                    }
                    Finding::Reached(_) => assert!(far.contains_key(&state[..])),
                    other => panic!("{state:?}: {other:?}"),
                }
            }
        }
    }
    assert!(never > 0);
}

#[test]
fn degenerate_systems() {
    let empty = Concurrent::new(1, StateId(0), &[]);
    let any = Target {
        shared: None,
        tops: Vec::new(),
    };
    let found = search(&empty, &[any], &Options::default()).0;
    assert!(matches!(found, Finding::Reached(run) if run.is_empty()));
    let found = search(&empty, &[], &Options::default()).0;
    assert!(matches!(found, Finding::Never(Proof::Configurations)));
    let ended = system(1, &[("0 0 -> 0", &[])]);
    let found = ask(&ended, &[0, EMPTY], true);
    assert!(matches!(found, Finding::Reached(run) if run.is_empty()));
    assert!(matches!(ask(&ended, &[0, 0], true), Finding::Never(_)));
}

/// Sets of stacks against their words up to a length.
#[test]
fn equal_sets_have_equal_numbers() {
    const LENGTH: usize = 11;
    fn words(stacks: &Stacks, node: u32) -> Vec<Vec<u32>> {
        let mut all = Vec::new();
        let mut work = vec![(node, Vec::new())];
        while let Some((node, word)) = work.pop() {
            if stacks.accepting(node) {
                all.push(word.clone());
            }
            if word.len() < LENGTH {
                for &(symbol, to) in stacks.edges(node) {
                    work.push((to, [&word[..], &[symbol]].concat()));
                }
            }
        }
        all.sort();
        all
    }
    for seed in 0..300 {
        let mut random = Random::new(seed);
        let mut stacks = Stacks::new();
        let mut guard = Limits::default().guard();
        let mut sets: HashMap<Vec<Vec<u32>>, u32> = HashMap::new();
        let mut known = vec![BOTTOM];
        for _ in 0..4 {
            let count = 1 + random.below(2);
            let fresh = (0..count).map(|_| Fresh {
                accepting: random.below(4) == 0,
                edges: (0..random.below(4))
                    .map(|_| {
                        let to = match random.below(3) {
                            0 => known[random.below(known.len() as u32) as usize],
                            _ => NEW | random.below(count),
                        };
                        (random.below(2), to)
                    })
                    .collect(),
            });
            let fresh: Vec<Fresh> = fresh.collect();
            let roots: Vec<Vec<u32>> = (0..count).map(|place| vec![NEW | place]).collect();
            for found in stacks.intern(&fresh, &roots, &mut guard).unwrap() {
                let [node] = found[..] else {
                    continue;
                };
                known.push(node);
                let words = words(&stacks, node);
                assert!(!words.is_empty());
                // Small automata that agree on words of this length are equal.
                assert_eq!(*sets.entry(words).or_insert(node), node, "seed {seed}");
            }
        }
        let all: Vec<(Vec<Vec<u32>>, u32)> = sets.into_iter().collect();
        for (first, a) in &all {
            for (second, b) in &all {
                let included = first.iter().all(|word| second.binary_search(word).is_ok());
                assert_eq!(stacks.included(*a, *b), included, "seed {seed}");
            }
        }
    }
}
