//! The checker on models that are out of the ordinary.

use std::cell::Cell;

use droste::{CallId, Checker, Error, Event, Model, PropId, Steps};

/// Calls itself twice, `self.0` levels deep, and then reaches the goal.
struct Twice(u32);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum At {
    Before(u32),
    Between(u32),
    After(u32),
}

impl Model for Twice {
    type State = At;

    fn initial(&self, out: &mut Vec<At>) {
        out.push(At::Before(0));
    }

    fn steps(&self, state: &At, out: &mut Steps<At>) {
        match *state {
            At::Before(level) if level == self.0 => out.exit(At::After(0)),
            At::Before(level) | At::Between(level) => out.call(CallId(0), At::Before(level + 1)),
            At::After(_) => out.exit(At::After(0)),
        }
    }

    fn resume(&self, caller: &At, _: CallId, _: &At, out: &mut Vec<At>) -> bool {
        out.extend(match *caller {
            At::Before(level) => Some(At::Between(level)),
            At::Between(level) => Some(At::After(level)),
            At::After(_) => None,
        });
        true
    }

    fn holds(&self, state: &At, _: PropId) -> bool {
        *state == At::After(0)
    }
}

#[test]
fn astronomically_long_runs_stay_small() {
    let outcome = Checker::new(&Twice(200)).reach(PropId(0)).expect("replays");
    let trace = outcome.trace().expect("reachable");
    assert_eq!(trace.length(), u64::MAX, "saturated");
    assert!(trace.runs.len() <= 400);
    let flat = trace.flatten(100);
    assert!(flat.positions.len() < 200, "{}", flat.positions.len());
    assert!(
        flat.positions
            .iter()
            .any(|p| matches!(p.event, Event::Folded { .. }))
    );
}

#[test]
fn short_runs_are_written_out() {
    let outcome = Checker::new(&Twice(3)).reach(PropId(0)).expect("replays");
    let trace = outcome.trace().expect("reachable");
    assert_eq!(trace.length(), 28, "14 calls and 14 returns");
    let flat = trace.flatten(28);
    assert_eq!(flat.positions.len(), 29);
    assert_eq!(flat.positions.iter().map(|p| p.depth).max(), Some(3));
}

/// A model that breaks the contract: it takes a step only the first few times it is asked.
struct Fickle(Cell<u32>);

impl Model for Fickle {
    type State = bool;

    fn initial(&self, out: &mut Vec<bool>) {
        out.push(false);
    }

    fn steps(&self, state: &bool, out: &mut Steps<bool>) {
        self.0.set(self.0.get() + 1);
        if !state && self.0.get() == 1 {
            out.step(true);
        }
    }

    fn resume(&self, _: &bool, _: CallId, _: &bool, _: &mut Vec<bool>) -> bool {
        true
    }

    fn holds(&self, state: &bool, _: PropId) -> bool {
        *state
    }
}

#[test]
fn a_model_that_changes_its_mind_is_found_out() {
    let error = Checker::new(&Fickle(Cell::new(0)))
        .reach(PropId(0))
        .expect_err("cannot replay");
    assert!(
        matches!(&error, Error::Inconsistent(mismatch) if mismatch.position == 1),
        "{error:?}"
    );
    assert!(
        error
            .to_string()
            .contains("same answers for the same state"),
        "{error}"
    );
}
