//! Replay against the naive semantics in `naive`: random programs, random walks and lassos
//! from them, mutants of both, random monitors. Both must agree on every one.

mod naive;

use droste_program::Program;
use droste_program::execution::{Ending, Execution};
use droste_program::monitor::StateKind;
use droste_replay::{Claim, replay, valid};
use droste_testkit::generate::lowered::{self, monitor};
use droste_testkit::mutants::{lasso, mutant};
use droste_testkit::random::{Random, seeds};
use droste_testkit::walk::random_walk;

fn executions(program: &Program, seed: u64, random: &mut Random) -> Vec<Execution> {
    let mut all = vec![random_walk(program, seed, 25)];
    if let Some(lasso) = lasso(&all[0], random) {
        all.push(lasso);
    }
    if all[0].steps.last().map(|s| &s.action) == Some(&droste_program::execution::Action::Terminate)
    {
        let mut forever = all[0].clone();
        forever.ending = Ending::Terminated;
        all.push(forever);
    }
    all
}

fn program(seed: u64) -> Program {
    lowered::program(&mut Random::new(seed))
}

#[test]
fn walks_are_accepted() {
    for seed in seeds(0, 3000) {
        let program = program(seed);
        let mut random = Random::new(seed + 1);
        for execution in executions(&program, seed, &mut random) {
            assert_eq!(valid(&program, &execution), Ok(()), "seed {seed}");
            assert!(
                naive::flatten(&program, &execution).is_some(),
                "seed {seed}"
            );
        }
    }
}

#[test]
fn mutants_are_accepted_only_if_they_are_runs() {
    let (mut accepted, mut rejected) = (0, 0);
    for seed in seeds(0, 1500) {
        let program = program(seed);
        let mut random = Random::new(seed + 1);
        for execution in executions(&program, seed, &mut random) {
            for number in 0..20 {
                let mutant = mutant(&execution, &mut random);
                if mutant == execution {
                    continue;
                }
                let verdict = valid(&program, &mutant);
                let naive = naive::flatten(&program, &mutant).is_some();
                // The naive semantics does not look at runs that nothing refers to.
                let in_run = verdict.as_ref().is_err_and(|r| r.run.is_some());
                assert!(
                    verdict.is_ok() == naive || (in_run && unused(&mutant, &verdict)),
                    "seed {seed}, mutant {number}: replay says {verdict:?}, naive {naive}\n{mutant:#?}"
                );
                if naive {
                    accepted += 1;
                } else {
                    rejected += 1;
                }
            }
        }
    }
    println!("{accepted} mutants accepted, {rejected} rejected");
    if std::env::var("SEED").is_err() {
        assert!(rejected > 4 * accepted && accepted > 0);
    }
}

#[test]
fn a_walk_is_stuck_where_every_choice_is_blocked() {
    let mut found = [0, 0];
    for seed in seeds(0, 3000) {
        let program = program(seed);
        let mut walk = random_walk(&program, seed, 25);
        let Ending::At(node) = walk.ending else {
            continue;
        };
        walk.ending = Ending::Stuck(node);
        let verdict = valid(&program, &walk);
        let naive = naive::flatten(&program, &walk).is_some();
        assert_eq!(
            verdict.is_ok(),
            naive,
            "seed {seed}: {verdict:?}\n{walk:#?}"
        );
        found[usize::from(naive)] += 1;
    }
    if std::env::var("SEED").is_err() {
        assert!(found[0] > 100 && found[1] > 100, "{found:?}");
    }
}

/// Whether the run that was rejected is one that no step leads to.
fn unused(execution: &Execution, verdict: &Result<(), droste_replay::Rejection>) -> bool {
    use droste_program::execution::Action;
    let Err(rejection) = verdict else {
        return false;
    };
    let mut open: Vec<_> = execution.steps.iter().collect();
    while let Some(step) = open.pop() {
        if let Action::Folded { run, .. } = step.action {
            if Some(run) == rejection.run {
                return false;
            }
            if let Some(run) = execution.runs.get(run.0 as usize) {
                open.extend(run.steps.iter());
            }
        }
    }
    true
}

#[test]
fn monitors_agree_with_the_product_written_out() {
    let mut found = [0, 0];
    for seed in seeds(0, 2000) {
        let program = program(seed);
        let mut random = Random::new(seed + 1);
        for execution in executions(&program, seed, &mut random) {
            for _ in 0..4 {
                let monitor = monitor(&mut random, &program);
                let claims = [
                    (Claim::MonitorTarget(&monitor), StateKind::Target),
                    (Claim::MonitorRepeats(&monitor), StateKind::Repeating),
                ];
                for (i, (claim, kind)) in claims.into_iter().enumerate() {
                    let infinite =
                        matches!(execution.ending, Ending::Lasso { .. } | Ending::Terminated);
                    if i == 1 && !infinite {
                        continue;
                    }
                    let naive = naive::watch(&program, &execution, &monitor, kind);
                    let verdict = replay(&program, &execution, claim, false);
                    assert_eq!(
                        verdict.is_ok(),
                        naive,
                        "seed {seed}: {verdict:?}\n{execution:#?}\n{monitor:#?}"
                    );
                    found[i] += usize::from(naive);
                }
            }
        }
    }
    println!("{found:?} accepted");
}
