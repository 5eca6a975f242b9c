//! Contracts that were saved can be loaded, and hold: for every method of random programs, also
//! where they remember an index.

mod random;

use droste_base::Limits;
use droste_heap::{Indices, read_contracts};
use droste_pointer::{FieldId, LocalId, Operand, Statement, Value};
use droste_shape::check::{Answer, Checked, Checking, Unknown, check};
use droste_shape::settings::Mode;
use droste_shape::task::Task;
use droste_testkit::random::Random;
use droste_testkit::sweep::seeds;
use random::{BALANCED, DOUBLE, LISTS, TREES, World};
use std::sync::atomic::{AtomicU64, Ordering};

fn run(task: &mut Task, contracts: bool) -> Checked {
    let checking = Checking {
        mode: Mode::Shared,
        limits: Limits::default(),
        reporter: None,
        max_steps: 100,
        concrete: false,
        contracts,
        skip: &[],
    };
    check(task, &[], &checking).unwrap()
}

/// How many contracts were read, how many files have exits by an exception, and how many remember an
/// index.
#[derive(Default)]
struct Total {
    contracts: AtomicU64,
    thrown: AtomicU64,
    remembering: AtomicU64,
}

fn one(world: &World, seed: u64, total: &Total) {
    let mut task = world.task(&mut Random::new(seed));
    task.options.max_states = 3_000;
    saved_and_loaded(&mut task, &format!("SEED={seed}"), total);
}

fn saved_and_loaded(task: &mut Task, which: &str, total: &Total) {
    let Some(saved) = run(task, true).contracts else {
        return;
    };
    let read = read_contracts(&mut task.symbols, &saved, Indices::Read);
    let read = read.unwrap_or_else(|problems| panic!("{which}: {problems:?}\n{saved}"));
    let count: usize = read.iter().map(|method| method.contracts.len()).sum();
    total.contracts.fetch_add(count as u64, Ordering::Relaxed);
    let remembering = u64::from(saved.contains("entered with"));
    total.remembering.fetch_add(remembering, Ordering::Relaxed);
    let thrown = u64::from(saved.contains("\"exceptions\":[{"));
    total.thrown.fetch_add(thrown, Ordering::Relaxed);
    task.set_contracts(read);
    for report in run(task, false).reports {
        let about = report.property.starts_with("the contract");
        let stopped = matches!(report.answer, Answer::Unknown(Unknown::Stopped(_), _));
        assert!(
            !about || stopped || matches!(report.answer, Answer::Holds),
            "{which}: {}: {}\n{:?}\n{}\n{saved}",
            report.property,
            report.answer.word(),
            task.options.abstraction,
            task.program
        );
    }
}

fn sweep(world: &World, first: u64, count: u64) -> u64 {
    let total = Total::default();
    seeds(first, count, |seed| one(world, seed, &total));
    let remembering = total.remembering.into_inner();
    let contracts = total.contracts.into_inner();
    let thrown = total.thrown.into_inner();
    assert!(thrown > 0);
    println!(
        "{}: {contracts} contracts, {thrown} files with exceptions, {remembering} remember an index",
        world.class
    );
    remembering
}

/// A list is returned as it is, or after its first element was looked at. The second heap is covered by
/// the first one, so the contract has that alone; it allows both. (Seed 12692 in small.)
#[test]
fn what_another_heap_covers_is_allowed() {
    let (list, next) = (LocalId(0), LocalId(1));
    let mut task = LISTS.task_of(&[
        Statement::Choose {
            targets: vec![4, 5],
        },
        Statement::Assign {
            to: next,
            value: Value::Field(list, FieldId(0)),
        },
        Statement::Return(Some(Operand::Local(list))),
    ]);
    let total = Total::default();
    saved_and_loaded(&mut task, "covered", &total);
    assert_eq!(total.contracts.into_inner(), 1);
}

#[test]
fn contracts_are_saved_and_loaded() {
    sweep(&LISTS, 0, 40);
    sweep(&DOUBLE, 0, 20);
    sweep(&TREES, 0, 20);
    assert!(sweep(&BALANCED, 0, 60) > 0);
}

#[test]
#[ignore = "long: for the sweeps"]
fn many_contracts_are_saved_and_loaded() {
    sweep(&LISTS, 10_000, 3_000);
    sweep(&DOUBLE, 20_000, 1_500);
    sweep(&TREES, 30_000, 1_500);
    sweep(&BALANCED, 40_000, 3_000);
}
