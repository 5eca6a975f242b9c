//! The laws of the domain, on random relations over the places of random programs, with the merge
//! functions of their calls.

use std::cell::{Cell, RefCell};
use std::time::{Duration, Instant};

use droste_base::Limits;
use droste_bdd::Sifter;
use droste_lang::lower::lower;
use droste_pds::MergeId;
use droste_program::liveness::AllLive;
use droste_relations::{Query, Scope};
use droste_testkit::generate::{self, Config};
use droste_testkit::random::{Random, seeds};

use crate::domain::{Relations, Tender, Weight};
use crate::places::Places;
use crate::system::{System, system};

/// A relation that changes a few places, depending on a few places and results.
fn random(random: &mut Random, system: &System<'_>, domain: &Relations<'_>) -> Weight {
    let layout = &system.layout;
    let manager = &layout.encoding.manager;
    let count = layout.copies.len();
    let frame: Places = (0..random.below(4))
        .map(|_| random.below(count.max(1)))
        .filter(|&place| place < count)
        .collect();
    let mut vars: Vec<_> = frame.iter().map(|place| layout.copies[place][1]).collect();
    for _ in 0..random.below(3) {
        if count > 0 {
            vars.push(layout.copies[random.below(count)][0]);
        }
    }
    let program = system.scope.program;
    let results = (0..).zip(&program.procedures).flat_map(|(i, procedure)| {
        let procedure_id = droste_program::ProcId(i);
        (0..procedure.results.len())
            .flat_map(move |result| layout.encoding.result_vars(procedure_id, result))
    });
    let results: Vec<_> = results.collect();
    if !results.is_empty() && random.percent(40) {
        vars.push(*random.pick(&results));
    }
    let mut diagram = manager.constant(false);
    for _ in 0..=random.below(4) {
        let mut cube = manager.constant(true);
        for &var in &vars {
            let literal = manager.var(var).expect("no limits");
            cube = match random.below(3) {
                0 => cube.and(&literal),
                1 => cube.and(&literal.not()),
                _ => Ok(cube),
            }
            .expect("no limits");
        }
        diagram = diagram.or(&cube).expect("no limits");
    }
    domain.weight(diagram, frame)
}

#[test]
fn relations_are_a_semiring_with_merge_functions() {
    let mut calls = 0;
    for seed in seeds(0, 60) {
        let program = lower(&generate::program(seed, &Config::tiny())).0;
        let program = program.expect("generated programs are accepted");
        let scope = Scope::new(&program, &AllLive, false);
        let query = Query {
            violations: true,
            ..Query::default()
        };
        let limits = Limits::default();
        // Every second domain reorders its variables again and again.
        let sift_from = if seed % 2 == 0 { 100 } else { 1 << 20 };
        let made = system(scope, query, &limits, |layout| Tender {
            sifter: RefCell::new(Sifter::new(sift_from)),
            groups: layout.encoding.groups(),
            report: &|_| (),
            next: Cell::new(Instant::now() + Duration::from_secs(60)),
        });
        let (system, mut domain) = made.expect("no limits");
        if seed % 3 == 0 {
            domain = domain.with_first_turn(1);
        }
        let mut source = Random::new(seed);
        let weights: Vec<Weight> = (0..6)
            .map(|_| random(&mut source, &system, &domain))
            .collect();
        let merges: Vec<MergeId> = (0..system.merges.len().min(3) as u32)
            .map(MergeId)
            .collect();
        calls += merges.len();
        if let Err(broken) = droste_pds::laws::check(&domain, &weights, &merges) {
            panic!("program {seed}: {broken}");
        }
    }
    assert!(calls > 30, "merge functions are tested");
}
