//! Shorter lassos by local search.
//!
//! What an engine finds is a way to a cycle and a cycle of the product with an automaton; as a run of the program it can often do
//! with less. Three things are tried, until none of them helps:
//!
//! * if the stem ends as the cycle does, the cycle begins earlier;
//! * if control is twice in the same configuration (as far as the top of the stack is concerned, to which below nothing returns), the
//!   steps in between are left out, or, within the cycle, made the cycle;
//! * the cycle is entered at the first configuration that occurs in it.
//!
//! The first leaves the run as it is. The others make another run, which may satisfy the property: so the replayer decides.

use std::collections::HashMap;
use std::sync::Arc;

use droste_program::NodeId;
use droste_program::execution::{Action, Ending, Execution, Step, Valuation};

/// Longer ones are left alone: every attempt takes a replay.
const LONGEST: usize = 2_000;
/// Attempts.
const MOST: usize = 100;

/// A shorter lasso that `violates` accepts, if one is found.
pub(crate) fn minimise(execution: &mut Execution, violates: &mut dyn FnMut(&Execution) -> bool) {
    let Ending::Lasso { .. } = execution.ending else {
        return;
    };
    if execution.steps.len() > LONGEST {
        return;
    }
    let mut attempts = 0;
    loop {
        roll(execution);
        let Some(candidate) = shorter(execution, &mut attempts, violates) else {
            break;
        };
        *execution = candidate;
    }
}

/// The number of the configuration before each step, and after the last; equal ones have equal numbers.
fn configurations(execution: &Execution) -> Vec<u32> {
    let mut known: HashMap<(NodeId, Valuation), u32> = HashMap::new();
    let mut now = execution.start.clone();
    let mut numbers = Vec::with_capacity(execution.steps.len() + 1);
    for step in &execution.steps {
        let next = known.len() as u32;
        numbers.push(*known.entry((step.node, now.clone())).or_insert(next));
        match &step.action {
            Action::Internal { changes, .. } | Action::Folded { changes, .. } => {
                for &(var, value) in changes {
                    now.set(var, value);
                }
            }
            Action::Call { locals } => now.locals = locals.to_vec(),
            Action::Terminate | Action::Fail(_) => {}
        }
    }
    numbers
}

fn start(execution: &Execution) -> usize {
    match execution.ending {
        Ending::Lasso { start, .. } => start,
        _ => 0,
    }
}

/// The same run with the cycle beginning as early as possible.
fn roll(execution: &mut Execution) {
    let numbers = configurations(execution);
    let mut begin = start(execution);
    while begin > 0 && begin < execution.steps.len() {
        let last = execution.steps.len() - 1;
        if numbers[begin - 1] != numbers[last]
            || execution.steps[begin - 1] != execution.steps[last]
        {
            break;
        }
        execution.steps.pop();
        begin -= 1;
    }
    execution.ending = lasso(&execution.steps, begin);
}

fn lasso(steps: &[Step], start: usize) -> Ending {
    let cycle = steps.get(start..).unwrap_or(&[]);
    let pumping = cycle
        .iter()
        .any(|step| matches!(step.action, Action::Call { .. }));
    Ending::Lasso { start, pumping }
}

/// The first shorter run that is accepted.
fn shorter(
    execution: &Execution,
    attempts: &mut usize,
    violates: &mut dyn FnMut(&Execution) -> bool,
) -> Option<Execution> {
    let numbers = configurations(execution);
    let begin = start(execution);
    let end = execution.steps.len();
    let mut attempt = |steps: Vec<Step>, begin: usize| {
        if *attempts >= MOST || begin >= steps.len() {
            return None;
        }
        *attempts += 1;
        let candidate = Execution {
            start: execution.start.clone(),
            runs: Arc::clone(&execution.runs),
            ending: lasso(&steps, begin),
            steps,
        };
        violates(&candidate).then_some(candidate)
    };
    let steps = &execution.steps;
    let mut last: HashMap<u32, usize> = HashMap::new();
    for (i, &number) in numbers.iter().enumerate() {
        last.insert(number, i);
    }
    // The cycle is entered earlier, elsewhere: it is turned round.
    for (i, number) in numbers[..begin].iter().enumerate() {
        let again = (begin..end).find(|&j| numbers[j] == *number);
        if let Some(j) = again {
            let turned = [&steps[..i], &steps[j..], &steps[begin..j]].concat();
            if let Some(found) = attempt(turned, i) {
                return Some(found);
            }
            break;
        }
    }
    // Steps of the stem are left out, as many as possible at once.
    for i in 0..begin {
        let j = last[&numbers[i]].min(begin);
        let j = (i + 1..=j)
            .rev()
            .find(|&j| j < end && numbers[j] == numbers[i]);
        if let Some(j) = j {
            let cut = [&steps[..i], &steps[j..]].concat();
            if let Some(found) = attempt(cut, begin - (j - i)) {
                return Some(found);
            }
        }
    }
    // A part of the cycle is cycle enough, or can be left out.
    for i in begin..end {
        let Some(j) = (i + 1..end).find(|&j| numbers[j] == numbers[i]) else {
            continue;
        };
        let part = steps[..j].to_vec();
        if i - begin < end - j
            && let Some(found) = attempt(part, i)
        {
            return Some(found);
        }
        let rest = [&steps[..i], &steps[j..]].concat();
        if let Some(found) = attempt(rest, begin) {
            return Some(found);
        }
    }
    None
}
