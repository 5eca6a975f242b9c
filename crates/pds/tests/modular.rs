//! Incremental solving on random edits: after each, the answers are those of a new system. With one
//! thread or two.

mod common;

use common::{Random, Sample, automaton, stacks, system};
use droste_pds::domains::{Boolean, CopyConstants, GenKill, MinPlus, Relations};
use droste_pds::{
    Automaton, Direction, Domain, Method, Modular, Options, Pds, PdsBuilder, Rule, RuleId, StateId,
    poststar, prestar,
};

/// Whether two automata give every small configuration the same weight.
fn same<D: Domain>(
    domain: &D,
    pds: &Pds<D::Weight>,
    found: &Automaton<D::Weight>,
    expected: &Automaton<D::Weight>,
) -> Result<(), String> {
    for stack in stacks(pds.symbols(), 2) {
        for state in (0..pds.states()).map(StateId) {
            let a = found.weight_of(domain, state, &stack).expect("a weight");
            let b = expected.weight_of(domain, state, &stack).expect("a weight");
            if !domain.equal(&a, &b) {
                return Err(format!("<{state:?}, {stack:?}>: {a:?}, expected {b:?}"));
            }
        }
    }
    Ok(())
}

/// The rules that are there, with their names.
type Present<W> = Vec<(RuleId, Rule, W)>;

fn edits<D: Sample + Sync + Clone>(domain: &D, seed: u64) -> Result<(), String>
where
    D::Weight: Send + Sync,
{
    let mut random = Random::new(seed);
    let all = system(domain, &mut random);
    let options = Options {
        method: [Method::Chaotic, Method::Paths][random.below(2) as usize],
        ..Options::default()
    };
    let mut modular = Modular::new(domain.clone(), all.states(), options.clone());
    let mut present: Present<D::Weight> = Vec::new();
    let mut absent: Vec<(Rule, D::Weight)> = (0..)
        .zip(all.rules())
        .map(|(number, rule)| (*rule, all.weight(number).clone()))
        .collect();
    for edit in 0..8 {
        for _ in 0..=random.below(3) {
            let remove = random.below(3) == 0;
            if remove && !present.is_empty() {
                let (id, rule, weight) =
                    present.swap_remove(random.below(present.len() as u32) as usize);
                if !modular.remove(id) || modular.remove(id) {
                    return Err(format!("{id:?} is removed once"));
                }
                absent.push((rule, weight));
            } else if !absent.is_empty() {
                let (rule, weight) = absent.swap_remove(random.below(absent.len() as u32) as usize);
                let id = modular.add(rule, weight.clone());
                present.push((id, rule, weight));
            }
        }
        let mut builder = PdsBuilder::new(all.states(), all.symbols());
        for (_, rule, weight) in &present {
            builder.rule(*rule, weight.clone());
        }
        let pds = builder.build();
        let sample = |random: &mut Random| domain.sample(random);
        let shape = (pds.states(), pds.symbols());
        if random.below(3) == 0 {
            modular.update_on(2).map_err(|e| format!("{e:?}"))?;
        }
        let to = automaton(domain, &mut random, shape, Direction::Forward, &sample);
        let found = modular.prestar(&to).expect("pre*");
        let expected = prestar(domain, &pds, &to, &options).expect("pre*");
        same(domain, &pds, &found, &expected).map_err(|e| format!("pre*, edit {edit}: {e}"))?;
        if found.len() != expected.len() {
            let (a, b) = (found.len(), expected.len());
            return Err(format!("pre*, edit {edit}: {a} transitions, not {b}"));
        }
        let from = automaton(domain, &mut random, shape, Direction::Backward, &sample);
        let found = modular.poststar(&from).expect("post*");
        let expected = poststar(domain, &pds, &from, &options).expect("post*");
        same(domain, &pds, &found, &expected).map_err(|e| format!("post*, edit {edit}: {e}"))?;
    }
    Ok(())
}

fn sweep<D: Sample + Sync + Clone>(domain: &D, first: u64, count: u64)
where
    D::Weight: Send + Sync,
{
    for seed in first..first + count {
        if let Err(difference) = edits(domain, seed) {
            panic!("seed {seed}: {difference}");
        }
    }
}

#[test]
fn random_edits() {
    sweep(&Boolean, 0, 60);
    sweep(&MinPlus::non_negative(), 1000, 60);
    sweep(&MinPlus::any(), 1500, 60);
    sweep(&Relations::new(3), 2000, 30);
    sweep(&Relations::with_locals(2, 2), 3000, 60);
    sweep(&GenKill::new(70), 4000, 20);
    sweep(&CopyConstants::new(3), 5000, 20);
}

#[test]
#[ignore = "sweep; run in release"]
fn many_random_edits() {
    sweep(&Boolean, 10_000, 2_000);
    sweep(&MinPlus::non_negative(), 20_000, 2_000);
    sweep(&MinPlus::any(), 25_000, 2_000);
    sweep(&Relations::new(3), 30_000, 1_000);
    sweep(&Relations::with_locals(2, 2), 40_000, 2_000);
    sweep(&GenKill::new(70), 50_000, 500);
    sweep(&CopyConstants::new(3), 60_000, 500);
}
