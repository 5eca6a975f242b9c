//! Whole configurations, stack and all, up to a small height: tests the saturation itself,
//! which the oracle and the lowered program share. There are no summaries here.
//!
//! A run that visits a label infinitely often comes, from some state on top of the stack, to the
//! same state at the same height or a greater one, over the label and without ever going below
//! where it started; and such a loop can be repeated for ever.

use std::collections::{BTreeSet, HashSet};

use super::machine::{Machine, Step, Store};
use super::monitor::AtLabels;
use super::product::{State, System, Watcher};
use super::{Label, Oracle};
use crate::generate::{Config, program};
use crate::random::seeds;

type Frame = (usize, Store);

const HIGHEST: usize = 5;
const MOST: usize = 1500;

/// The configurations one step after `stack`; a return from the lowest frame leads nowhere.
fn successors(machine: &Machine<'_>, stack: &[Frame]) -> Vec<Vec<Frame>> {
    let ((position, store), below) = stack.split_last().expect("a frame");
    let mut next = Vec::new();
    for step in machine.steps(*position, store) {
        match step {
            Step::To(to, store) => next.push([below, &[(to, store)]].concat()),
            Step::Call(callee, entry) if stack.len() < HIGHEST => {
                let entries = machine.entries(callee, &entry).into_iter();
                next.extend(entries.map(|frame| [stack, &[frame]].concat()));
            }
            Step::Return(exit) => {
                if let Some(((position, caller), below)) = below.split_last() {
                    for step in machine.resume(*position, caller, &exit) {
                        if let Step::To(to, store) = step {
                            next.push([below, &[(to, store)]].concat());
                        }
                    }
                }
            }
            Step::Call(..) | Step::Fail(_) => {}
        }
    }
    next
}

/// Everything reachable from these configurations, with a bit that says whether a good
/// state has been visited after the first; `None` if that is too much.
fn explore(
    machine: &Machine<'_>,
    from: Vec<Vec<Frame>>,
    good: &dyn Fn(&Frame) -> bool,
) -> Option<HashSet<(Vec<Frame>, bool)>> {
    let mut seen = HashSet::new();
    let mut todo: Vec<(Vec<Frame>, bool)> = from.into_iter().map(|stack| (stack, false)).collect();
    while let Some((stack, bit)) = todo.pop() {
        for next in successors(machine, &stack) {
            let bit = bit || good(next.last().expect("a frame"));
            if seen.insert((next.clone(), bit)) {
                todo.push((next, bit));
            }
        }
        if seen.len() > MOST {
            return None;
        }
    }
    Some(seen)
}

/// What the bounded search finds and the oracle says of one program; `None` if too large.
fn compare(
    seed: u64,
    config: &Config,
    found: &mut [usize; 3],
    said: &mut [usize; 3],
) -> Option<()> {
    let ast = program(seed, config);
    let oracle = Oracle::new(&ast).ok()?;
    let machine = &oracle.machine;
    let initial: Vec<Vec<Frame>> = machine.initial().into_iter().map(|f| vec![f]).collect();
    let everything = explore(machine, initial.clone(), &|_| false)?;
    let stacks = everything.iter().map(|(stack, _)| stack).chain(&initial);
    let tops: BTreeSet<&Frame> = stacks.filter_map(|stack| stack.last()).collect();

    let mut labels = BTreeSet::new();
    for (position, _) in &tops {
        let here = &machine.positions[*position];
        let procedure = &machine.procedures[here.procedure].name;
        labels.extend(here.labels.iter().map(|l| (procedure.clone(), l.clone())));
    }
    assert!(labels.is_subset(oracle.reachable_labels()), "seed {seed}");
    found[0] += labels.len();
    said[0] += oracle.reachable_labels().len();

    let (procedure, name) = labels.pop_last()?;
    let label = [Label {
        procedure: Some(procedure),
        name,
    }];
    let watcher = AtLabels {
        machine,
        labels: &label,
    };
    let good = |(position, store): &Frame| watcher.good(0, &State::At(*position, store.clone()));
    let (mut any, mut bounded) = (false, false);
    for &top in &tops {
        for (stack, bit) in explore(machine, vec![vec![top.clone()]], &good)? {
            if bit && stack.last() == Some(top) {
                any = true;
                bounded |= stack.len() == 1;
            }
        }
    }
    let theirs = oracle.repeatable(&label);
    for (i, (mine, theirs)) in [any, bounded].into_iter().zip(theirs).enumerate() {
        assert!(theirs || !mine, "seed {seed}, {label:?}, kind of runs {i}");
        found[i + 1] += usize::from(mine);
        said[i + 1] += usize::from(theirs);
    }
    Some(())
}

#[test]
fn whole_stacks_show_what_summaries_say() {
    let (mut found, mut said, mut compared) = ([0; 3], [0; 3], 0);
    for seed in seeds(0, 100) {
        for config in [Config::tiny(), Config::liveness()] {
            compared += usize::from(compare(seed, &config, &mut found, &mut said).is_some());
        }
    }
    println!("{compared} programs; labels, repeated, on a bounded stack: {found:?} of {said:?}");
    // What needs a higher stack is rare: nearly everything that is said is also found.
    for (found, said) in found.into_iter().zip(said) {
        assert!(found * 100 >= said * 95, "{found} of {said}");
    }
}
