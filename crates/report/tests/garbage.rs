//! Executions that do not fit their program make poor reports, but no panic; long ones are
//! reported in linear time.

use droste_program::Program;
use droste_report::{Style, json, text};
use droste_source::SourceFile;
use droste_testkit::generate::lowered;
use droste_testkit::mutants::{lasso, mutant};
use droste_testkit::random::Random;
use droste_testkit::walk::random_walk;

fn program(seed: u64) -> Program {
    lowered::program(&mut Random::new(seed))
}

#[test]
fn mutants_are_reported() {
    let source = SourceFile::new("random.bp", "");
    for seed in 0..500 {
        let program = program(seed);
        let mut random = Random::new(seed + 1);
        let walk = random_walk(&program, seed, 60);
        let lasso = lasso(&walk, &mut random);
        for execution in [Some(walk), lasso].into_iter().flatten() {
            let mut mutated = execution;
            for max_steps in [0, 3, 10, 20, 50, 2000] {
                mutated = mutant(&mutated, &mut random);
                let style = Style {
                    max_steps,
                    ..Style::default()
                };
                assert!(!text(&program, &source, &mutated, &style).is_empty());
                assert!(serde_json::to_value(json(&program, &source, &mutated)).is_ok());
            }
        }
    }
}

#[test]
fn long_executions_are_reported() {
    let source = SourceFile::new("random.bp", "");
    let longest = (0..200)
        .map(|seed| (program(seed), seed))
        .map(|(program, seed)| {
            let steps = random_walk(&program, seed, 3000).steps.len();
            (steps, seed)
        })
        .max()
        .map_or(0, |(_, seed)| seed);
    let program = program(longest);
    let execution = random_walk(&program, longest, 200_000);
    let short = text(&program, &source, &execution, &Style::default());
    assert!(short.lines().count() < 5000);
    assert!(serde_json::to_value(json(&program, &source, &execution)).is_ok());
}
