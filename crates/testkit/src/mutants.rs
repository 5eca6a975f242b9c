//! Executions that are wrong, or may be: mutants of right ones, for those who judge executions.

use std::sync::Arc;

use droste_program::execution::{Action, Changes, Ending, Execution, Step, Valuation};
use droste_program::{NodeId, Value, VarRef, Violation};

use crate::random::Random;

/// Turns a walk into a lasso, if it comes by the same place twice.
pub fn lasso(execution: &Execution, random: &mut Random) -> Option<Execution> {
    let mut valuation = execution.start.clone();
    let mut height = 0;
    let mut seen: Vec<(NodeId, Valuation, usize)> = Vec::new();
    let mut found = Vec::new();
    for (i, step) in execution.steps.iter().enumerate() {
        for (start, (node, other, below)) in seen.iter().enumerate() {
            if *node == step.node && *other == valuation {
                found.push((start, i, height > *below));
            }
        }
        seen.push((step.node, valuation.clone(), height));
        match &step.action {
            Action::Internal { changes, .. } | Action::Folded { changes, .. } => {
                for &(var, value) in changes {
                    valuation.set(var, value);
                }
            }
            Action::Call { locals } => {
                height += 1;
                valuation.locals = locals.to_vec();
            }
            _ => {}
        }
    }
    let &(start, end, pumping) = found.get(random.below(found.len().max(1)))?;
    let mut lasso = execution.clone();
    lasso.steps.truncate(end);
    lasso.ending = Ending::Lasso { start, pumping };
    Some(lasso)
}

fn nudge(value: &mut Value, random: &mut Random) {
    *value = match random.below(3) {
        0 => 1 - *value,
        1 => *value + 1,
        _ => *value - 1,
    };
}

fn edit(changes: &mut Changes, f: impl FnOnce(&mut Vec<(VarRef, Value)>)) {
    let mut all = changes.to_vec();
    f(&mut all);
    *changes = all.into();
}

fn mutate_steps(steps: &mut Vec<Step>, random: &mut Random) {
    let index = random.below(steps.len().max(1));
    match random.below(12) {
        0 if !steps.is_empty() => drop(steps.remove(index)),
        1 if !steps.is_empty() => steps.insert(index, steps[index].clone()),
        _ => {}
    }
    let Some(step) = steps.get_mut(index) else {
        return;
    };
    let delta = random.below(3) as u32;
    match (&mut step.action, random.below(6)) {
        (_, 0) => step.node.0 = step.node.0.wrapping_add(delta).wrapping_sub(1),
        (Action::Internal { to, .. } | Action::Folded { to, .. }, 1) => {
            to.0 = to.0.wrapping_add(delta).wrapping_sub(1);
        }
        (Action::Folded { run, .. }, 2) => run.0 = run.0.wrapping_add(delta).wrapping_sub(1),
        (Action::Internal { changes, .. } | Action::Folded { changes, .. }, 3) => {
            let value = random.below(3) as Value;
            let var = match random.below(8) {
                0 => VarRef::Local(random.below(4) as u32),
                k if k < 4 => VarRef::Global(k as u32 % 3),
                k => VarRef::Local(k as u32 % 3),
            };
            edit(changes, |changes| changes.push((var, value)));
        }
        (Action::Internal { changes, .. } | Action::Folded { changes, .. }, 4) => {
            edit(changes, |changes| {
                changes.pop();
            });
        }
        (Action::Internal { changes, .. } | Action::Folded { changes, .. }, _) => {
            let index = random.below(changes.len().max(1));
            edit(changes, |changes| {
                if let Some((_, value)) = changes.get_mut(index) {
                    nudge(value, random);
                }
            });
        }
        (Action::Call { locals }, 1) => *locals = [&locals[..], &[0]].concat().into(),
        (Action::Call { locals }, _) => {
            let index = random.below(locals.len().max(1));
            if let Some(value) = locals.get_mut(index) {
                nudge(value, random);
            }
        }
        (action @ Action::Terminate, _) => *action = Action::Fail(Violation::OutOfRange),
        (action @ Action::Fail(_), 1) => *action = Action::Terminate,
        (Action::Fail(violation), _) => {
            *violation = [
                Violation::Assertion,
                Violation::OutOfRange,
                Violation::DivisionByZero,
                Violation::NegativeShift,
            ][random.below(4)];
        }
    }
}

/// The execution with one thing changed.
pub fn mutant(execution: &Execution, random: &mut Random) -> Execution {
    let mut mutant = execution.clone();
    let run = random.below(mutant.runs.len().max(1));
    match random.below(10) {
        0 => {
            let values = [&mut mutant.start.globals, &mut mutant.start.locals];
            let [globals, locals] = values;
            let values = if random.below(2) == 0 {
                globals
            } else {
                locals
            };
            let index = random.below(values.len().max(1));
            if let Some(value) = values.get_mut(index) {
                nudge(value, random);
            }
        }
        1 => {
            mutant.ending = match mutant.ending {
                Ending::At(NodeId(n)) => Ending::At(NodeId(n ^ 1)),
                Ending::Stuck(node) => Ending::At(node),
                Ending::Final => Ending::Terminated,
                Ending::Terminated => Ending::Final,
                Ending::Lasso { start, pumping } if random.below(3) == 0 => Ending::Lasso {
                    start,
                    pumping: !pumping,
                },
                Ending::Lasso { start, pumping } => Ending::Lasso {
                    start: start.wrapping_add(random.below(3)).wrapping_sub(1),
                    pumping,
                },
            }
        }
        2..=5 if !mutant.runs.is_empty() => {
            let run = &mut Arc::make_mut(&mut mutant.runs)[run];
            match random.below(6) {
                0 => {
                    let index = random.below(run.results.len().max(1));
                    if let Some(result) = run.results.get_mut(index) {
                        nudge(result, random);
                    }
                }
                1 => {
                    run.exit.0 = run
                        .exit
                        .0
                        .wrapping_add(random.below(3) as u32)
                        .wrapping_sub(1);
                }
                2 => {
                    let index = random.below(run.entry.globals.len().max(1));
                    if let Some(value) = run.entry.globals.get_mut(index) {
                        nudge(value, random);
                    }
                }
                3 => {
                    let index = random.below(run.entry.locals.len().max(1));
                    if let Some(value) = run.entry.locals.get_mut(index) {
                        nudge(value, random);
                    }
                }
                _ => {
                    let mut steps = run.steps.to_vec();
                    mutate_steps(&mut steps, random);
                    run.steps = steps.into();
                }
            }
        }
        6 if mutant.runs.len() > 1 => {
            let other = random.below(mutant.runs.len().max(1));
            Arc::make_mut(&mut mutant.runs).swap(run, other);
        }
        _ => mutate_steps(&mut mutant.steps, random),
    }
    share(&mut mutant);
    mutant
}

/// Has runs with equal steps share them.
pub fn share(execution: &mut Execution) {
    let runs = Arc::make_mut(&mut execution.runs);
    for i in 1..runs.len() {
        let (before, rest) = runs.split_at_mut(i);
        if let Some(same) = before.iter().find(|run| run.steps == rest[0].steps) {
            rest[0].steps = Arc::clone(&same.steps);
        }
    }
}
