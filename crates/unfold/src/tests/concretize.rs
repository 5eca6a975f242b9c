//! Traces of small programs, made concrete: the replayer accepts what comes out.

use droste_base::{Limits, Runs};
use droste_explicit::{Options, Order, reach, repeat};
use droste_program::NodeId;
use droste_program::Program;
use droste_program::execution::Ending;
use droste_program::liveness::AllLive;
use droste_replay::{Claim, replay};
use droste_testkit::random::seeds;

use super::program;
use crate::{Gap, Machine, Unfolding, concretize};

type State = Box<[u64]>;

/// The machine as it is, with what procedures do not touch left out of their calls, and with every
/// choice made at once.
fn machines(program: &Program) -> [Machine; 3] {
    let new = || Machine::new(program, &AllLive, true);
    let (plain, mut local, mut eager) = (new(), new(), new());
    local.localise(program);
    eager.set_eager(true);
    [plain, local, eager]
}

#[test]
fn a_run_to_any_node_is_made_concrete() {
    let mut found = 0;
    for seed in seeds(0, 150) {
        let program = program(seed);
        for (kind, mut machine) in machines(&program).into_iter().enumerate() {
            for order in [Order::Dfs, Order::Bfs] {
                let target = NodeId((seed % program.nodes.len() as u64) as u32);
                let goal = machine.ask_control(&[target], true);
                let model = Unfolding::<State>::new(&machine);
                let options = Options {
                    order,
                    limits: Limits::default().with_path_edges(20_000),
                    ..Options::default()
                };
                let verdict = reach(&model, goal, &options).verdict;
                let Some(trace) = verdict.run() else {
                    continue;
                };
                let mut guard = Limits::default().guard();
                let steps = trace.length();
                let execution = concretize(&program, &program, &[], trace.clone(), &mut guard)
                    .unwrap_or_else(|gap| panic!("SEED={seed}, machine {kind}: {gap:?}"));
                let accepted = replay(&program, &execution, Claim::Default(&[target]), false);
                assert_eq!(accepted, Ok(()), "SEED={seed}, machine {kind}, {order:?}");
                // The trace of a violation has one position more, the state that has failed.
                let written = written_out(&execution);
                assert!(
                    written == steps,
                    "SEED={seed}: {written} steps, not {steps}"
                );
                found += 1;
            }
        }
    }
    assert!(found > 200 || std::env::var("SEED").is_ok(), "{found}");
}

/// The steps of an execution with its calls written out.
fn written_out(execution: &droste_program::execution::Execution) -> u64 {
    use droste_program::execution::{Action, Step};
    let count = |steps: &[Step], runs: &[u64]| -> u64 {
        let cost = |step: &Step| match step.action {
            Action::Folded { run, .. } => runs[run.0 as usize] + 2,
            _ => 1,
        };
        steps.iter().map(cost).sum()
    };
    let mut runs: Vec<u64> = Vec::new();
    for run in execution.runs.iter() {
        let steps = count(&run.steps, &runs);
        runs.push(steps);
    }
    count(&execution.steps, &runs)
}

#[test]
fn a_cycle_is_made_concrete() {
    let mut found = 0;
    for seed in seeds(0, 150) {
        let program = program(seed);
        for (kind, mut machine) in machines(&program).into_iter().enumerate() {
            let target = NodeId((seed % program.nodes.len() as u64) as u32);
            let mark = machine.ask_control(&[target], false);
            let model = Unfolding::<State>::new(&machine);
            for runs in [Runs::All, Runs::FiniteStack] {
                let options = Options {
                    limits: Limits::default().with_path_edges(20_000),
                    ..Options::default()
                };
                let verdict = repeat(&model, &[mark], runs, &options).verdict;
                let Some(trace) = verdict.run() else {
                    continue;
                };
                let mut guard = Limits::default().guard();
                let made = concretize(&program, &program, &[], trace.clone(), &mut guard);
                let execution = match made {
                    Ok(execution) => execution,
                    // Values that nobody reads may never repeat.
                    Err(Gap::Lasso) => continue,
                    Err(gap) => panic!("SEED={seed}, machine {kind}: {gap:?}"),
                };
                assert!(matches!(execution.ending, Ending::Lasso { .. }));
                let finite = runs == Runs::FiniteStack;
                let accepted = replay(&program, &execution, Claim::Repeats(&[target]), finite);
                assert_eq!(accepted, Ok(()), "SEED={seed}, machine {kind}, {runs:?}");
                found += 1;
            }
        }
    }
    assert!(found > 50 || std::env::var("SEED").is_ok(), "{found}");
}
