//! Shorter lassos by local search, over any kind of run.
//!
//! An engine finds a lasso of the product with an automaton: a path to a cycle, and the cycle. As a
//! run of the program or of the model alone, the lasso can often be shorter. Three things are
//! tried, until none of them helps:
//!
//! * If the stem ends as the cycle does, the cycle begins earlier.
//! * If the run is twice in the same configuration, the steps in between are left out, or, within
//!   the cycle, made the cycle. Only the top of the stack is compared, because the run never
//!   returns below it.
//! * The cycle is entered at the first configuration that occurs in it.
//!
//! The first leaves the run as it is. The others make a different run, which may satisfy the
//! property. So the caller decides, by a replay, whether it is accepted.

use std::collections::HashMap;
use std::hash::Hash;
use std::ops::Range;

use crate::{Cycle, Trace, Via};

/// A run of which the steps from some place on are repeated for ever.
pub trait Looping: Sized {
    /// How many steps there are.
    fn step_count(&self) -> usize;

    /// The number of the configuration before each step; equal ones have equal numbers.
    fn configurations(&self) -> Vec<u32>;

    /// The step with which the cycle begins; nothing if there is no cycle.
    fn start(&self) -> Option<usize>;

    /// Whether two steps from equal configurations are the same.
    fn same_step(&self, a: usize, b: usize) -> bool;

    /// The run that consists of these pieces of this one, with a cycle from its step `start` on.
    #[must_use]
    fn rebuilt(&self, pieces: &[Range<usize>], start: usize) -> Self;
}

/// Longer ones are left alone: every attempt takes a replay.
const LONGEST: usize = 2_000;
/// Attempts.
const MOST: usize = 100;

/// Makes a lasso shorter, as long as `violates` accepts the result.
pub fn minimise<L: Looping>(lasso: &mut L, violates: &mut dyn FnMut(&L) -> bool) {
    let mut attempts = 0;
    while lasso.step_count() <= LONGEST {
        roll(lasso);
        let Some(start) = lasso.start() else { return };
        let numbers = lasso.configurations();
        let mut attempt = |pieces: &[Range<usize>], start: usize| {
            let length: usize = pieces.iter().map(ExactSizeIterator::len).sum();
            if attempts >= MOST || start >= length {
                return None;
            }
            attempts += 1;
            let candidate = lasso.rebuilt(pieces, start);
            violates(&candidate).then_some(candidate)
        };
        match shorter(&numbers, start, &mut attempt) {
            Some(candidate) => *lasso = candidate,
            None => return,
        }
    }
}

/// The same run with the cycle beginning as early as possible.
pub fn roll<L: Looping>(lasso: &mut L) {
    let Some(start) = lasso.start() else { return };
    let numbers = lasso.configurations();
    let end = numbers.len();
    let ends_alike = |back: usize| {
        let (stem, cycle) = (start - back, end - back);
        numbers[stem - 1] == numbers[cycle - 1] && lasso.same_step(stem - 1, cycle - 1)
    };
    let back = (0..start).take_while(|&back| ends_alike(back)).count();
    if back > 0 {
        let piece = 0..end - back;
        *lasso = lasso.rebuilt(std::slice::from_ref(&piece), start - back);
    }
}

/// The first shorter run that is accepted. `attempt` makes one of pieces and a beginning of the
/// cycle.
fn shorter<L>(
    numbers: &[u32],
    begin: usize,
    attempt: &mut impl FnMut(&[Range<usize>], usize) -> Option<L>,
) -> Option<L> {
    let end = numbers.len();
    let mut last: HashMap<u32, usize> = HashMap::new();
    for (i, &number) in numbers.iter().enumerate() {
        last.insert(number, i);
    }
    // The cycle is entered earlier, elsewhere: it is turned round.
    for (i, number) in numbers[..begin].iter().enumerate() {
        let again = (begin..end).find(|&j| numbers[j] == *number);
        if let Some(j) = again {
            if let Some(found) = attempt(&[0..i, j..end, begin..j], i) {
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
        if let Some(j) = j
            && let Some(found) = attempt(&[0..i, j..end], begin - (j - i))
        {
            return Some(found);
        }
    }
    // A part of the cycle is cycle enough, or can be left out.
    for i in begin..end {
        let Some(j) = (i + 1..end).find(|&j| numbers[j] == numbers[i]) else {
            continue;
        };
        if i - begin < end - j
            && let Some(found) = attempt(std::slice::from_ref(&(0..j)), i)
        {
            return Some(found);
        }
        if let Some(found) = attempt(&[0..i, j..end], begin) {
            return Some(found);
        }
    }
    None
}

/// Step `i` of a trace leads from position `i` to the next one.
impl<S: Clone + Eq + Hash> Looping for Trace<S> {
    fn step_count(&self) -> usize {
        self.positions.len().saturating_sub(1)
    }

    fn configurations(&self) -> Vec<u32> {
        let mut known: HashMap<&S, u32> = HashMap::new();
        let before = self
            .positions
            .split_last()
            .map_or(&[][..], |(_, rest)| rest);
        let mut numbers = Vec::with_capacity(before.len());
        for position in before {
            let next = known.len() as u32;
            numbers.push(*known.entry(&position.state).or_insert(next));
        }
        numbers
    }

    fn start(&self) -> Option<usize> {
        self.cycle.map(|cycle| cycle.start)
    }

    fn same_step(&self, a: usize, b: usize) -> bool {
        self.positions[a + 1] == self.positions[b + 1]
    }

    fn rebuilt(&self, pieces: &[Range<usize>], start: usize) -> Self {
        let steps = pieces.iter().cloned().flatten().map(|i| i + 1);
        let positions = std::iter::once(0).chain(steps);
        let positions: Vec<_> = positions.map(|i| self.positions[i].clone()).collect();
        let mut round = positions.iter().skip(start + 1);
        let pumping = round.any(|position| matches!(position.via, Via::Call(_)));
        Trace {
            runs: self.runs.clone(),
            positions,
            cycle: Some(Cycle { start, pumping }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Position;

    /// A lasso of internal steps.
    fn lasso(states: &[u8], start: usize) -> Trace<u8> {
        let position = |(i, &state): (usize, &u8)| Position {
            via: if i == 0 { Via::Start } else { Via::Step },
            state,
        };
        Trace {
            runs: Vec::new(),
            positions: states.iter().enumerate().map(position).collect(),
            cycle: Some(Cycle {
                start,
                pumping: false,
            }),
        }
    }

    #[test]
    fn the_cycle_begins_early() {
        let mut trace = lasso(&[0, 1, 2, 1, 2], 2);
        roll(&mut trace);
        assert_eq!(trace, lasso(&[0, 1, 2, 1], 1));
        let mut finite = Trace {
            cycle: None,
            ..lasso(&[0, 1, 1], 0)
        };
        roll(&mut finite);
        assert_eq!(finite.positions.len(), 3, "no cycle, nothing to roll");
    }

    #[test]
    fn what_is_repeated_is_left_out() {
        let mut trace = lasso(&[0, 1, 0, 2, 3, 4, 3, 2], 3);
        minimise(&mut trace, &mut |_| true);
        assert_eq!(trace, lasso(&[0, 2, 3, 2], 1));
    }

    #[test]
    fn the_caller_decides() {
        let long = lasso(&[0, 1, 0, 2, 3, 4, 3, 2], 3);
        let mut trace = long.clone();
        let visits = |trace: &Trace<u8>, state| trace.positions.iter().any(|p| p.state == state);
        minimise(&mut trace, &mut |trace| {
            visits(trace, 1) && visits(trace, 4)
        });
        assert_eq!(trace, long);
        minimise(&mut trace, &mut |trace| visits(trace, 4));
        assert!(visits(&trace, 4) && !visits(&trace, 1), "{trace:?}");
    }
}
