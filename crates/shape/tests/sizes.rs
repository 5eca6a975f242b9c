//! The bound on states is one for each state space, and exact: with as many states as the largest space
//! has, everything is explored, and with one less it is not.

mod random;

use std::collections::HashSet;

use droste_base::{Countable, StopReason};
use droste_explicit::{Options, explore};
use droste_shape::machine::{Machine, State};
use droste_shape::proposition::parse;
use droste_shape::task::Task;
use droste_testkit::random::Random;
use droste_testkit::sweep::seeds;
use random::{BALANCED, DOUBLE, LISTS, TREES, World};

/// The most states that one space has. All initial heaps together have one.
fn largest(machine: &Machine<'_>) -> Option<usize> {
    let spaces = explore(machine, &Options::default()).ok()?;
    let counts = |&&state: &&State| {
        let place = machine.place(state);
        place.fault.is_none() && place.pc <= machine.end_of(place.method)
    };
    let mut first: HashSet<State> = HashSet::new();
    let mut most = 0;
    for space in &spaces.list {
        let states = space.states.iter().filter(counts);
        if space.initial {
            first.extend(states);
        } else {
            most = most.max(states.count());
        }
    }
    Some(most.max(first.len()))
}

fn with_machine<T>(
    task: &mut Task,
    formula: Option<&str>,
    look: impl FnOnce(&Machine<'_>) -> T,
) -> Option<T> {
    let formulas: Vec<_> = formula
        .map(|one| parse(one, &task.names()).unwrap())
        .into_iter()
        .collect();
    task.with_machine(&formulas, |_, machine, _| Some(look(machine)))
}

fn one(world: &World, seed: u64) {
    let random = &mut Random::new(seed);
    let mut task = world.task(random);
    task.options.max_states = 3_000;
    let formula = random.percent(30).then_some("G {visited(a0)}");
    // A heap that another one covers in one space may not be covered in another one.
    let subsumption = std::mem::take(&mut task.options.abstraction.subsumption);
    let Some(most) = with_machine(&mut task, formula, largest).flatten() else {
        return;
    };
    task.options.max_state_space = most;
    let all = with_machine(&mut task, formula, largest).flatten();
    assert_eq!(all, Some(most), "SEED={seed}\n{}", task.program);
    // What is covered is not gone on from: there are not more states then.
    task.options.abstraction.subsumption = subsumption;
    let some = with_machine(&mut task, formula, largest).flatten();
    assert!(some.is_some_and(|some| some <= most), "SEED={seed}");
    task.options.abstraction.subsumption = false;
    task.options.max_state_space = most - 1;
    // If the initial heaps are too many, there is no machine.
    let reason = with_machine(&mut task, formula, |machine| {
        let explored = explore(machine, &Options::default());
        explored.err().map(|(reason, _)| reason)
    });
    let too_many = StopReason::TooMany(Countable::SpaceStates, most as u64 - 1);
    assert!(
        reason.is_none() || reason == Some(Some(too_many)),
        "SEED={seed} {reason:?}\n{}",
        task.program
    );
}

#[test]
fn the_bound_is_that_of_each_space() {
    for world in [&LISTS, &DOUBLE, &TREES, &BALANCED] {
        seeds(0, 30, |seed| one(world, seed));
    }
}

#[test]
#[ignore = "long: for the sweeps"]
fn many_bounds_are_those_of_each_space() {
    for world in [&LISTS, &DOUBLE, &TREES, &BALANCED] {
        seeds(600_000, 3_000, |seed| one(world, seed));
    }
}
