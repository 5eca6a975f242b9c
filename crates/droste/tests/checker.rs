//! The checker on models that are out of the ordinary.

use std::cell::Cell;

use droste::{
    CallId, Checker, Error, Event, Model, PropId, Runs, Steps, StopReason, Verdict, Watcher,
    WatcherState,
};

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

/// A graph without calls: state `i` steps to the states in `self.steps[i]`, and leaves if there are
/// none. Proposition `i` is true of state `i` only.
#[derive(Clone)]
struct Graph {
    steps: Vec<Vec<u32>>,
    ends: bool,
}

/// Where runs of a [`Graph`] go on when they have ended.
const END: u32 = u32::MAX;

impl Model for Graph {
    type State = u32;

    fn initial(&self, out: &mut Vec<u32>) {
        out.push(0);
    }

    fn steps(&self, state: &u32, out: &mut Steps<u32>) {
        match self.steps.get(*state as usize) {
            None => out.step(*state),
            Some(steps) if steps.is_empty() => out.exit(*state),
            Some(steps) => steps.iter().for_each(|&to| out.step(to)),
        }
    }

    fn resume(&self, _: &u32, _: CallId, _: &u32, _: &mut Vec<u32>) -> bool {
        true
    }

    fn holds(&self, state: &u32, proposition: PropId) -> bool {
        *state == proposition.0
    }

    fn terminated(&self, _: &u32) -> Option<u32> {
        self.ends.then_some(END)
    }
}

fn graph(steps: &[&[u32]]) -> Graph {
    Graph {
        steps: steps.iter().map(|steps| steps.to_vec()).collect(),
        ends: false,
    }
}

const A: [(&str, PropId); 3] = [("a0", PropId(0)), ("a1", PropId(1)), ("a2", PropId(2))];

#[test]
fn runs_that_end_are_not_forgotten() {
    // The run ends before it comes to 2.
    let model = graph(&[&[1], &[], &[]]);
    let checker = Checker::new(&model);
    assert_eq!(checker.ltl("F a2", &A).err(), Some(Error::Unended));
    assert_eq!(checker.repeat(&[PropId(1)]).err(), Some(Error::Unended));
    let never = WatcherState {
        otherwise: Some(0),
        ..WatcherState::default()
    };
    let watcher = Watcher {
        states: vec![never],
        initial: 0,
    };
    assert_eq!(checker.watch(&watcher).err(), Some(Error::Unended));
    // It is meant, or no such run is left when the formula is decided, or any run will do.
    let meant = checker.clone().ignore_finished_runs();
    assert!(meant.ltl("F a2", &A).expect("an answer").holds());
    assert!(checker.ltl("F a1", &A).expect("an answer").holds());
    assert!(checker.repeat(&[]).expect("an answer").holds());
    // The model says how it goes on.
    let ends = Graph {
        ends: true,
        ..graph(&[&[1], &[], &[]])
    };
    let outcome = Checker::new(&ends).ltl("F a2", &A).expect("replays");
    assert!(outcome.verdict.is_violated());
    // A violation is one, whatever else may end.
    let both = graph(&[&[1, 2], &[], &[2]]);
    let outcome = Checker::new(&both).ltl("F a1", &A).expect("replays");
    assert!(outcome.verdict.is_violated());
}

#[test]
fn a_procedure_that_ends_inside_is_no_end_of_the_run() {
    let outcome = Checker::new(&Twice(3)).repeat(&[PropId(0)]);
    assert_eq!(
        outcome.err(),
        Some(Error::Unended),
        "the outermost one is left"
    );
}

#[test]
fn too_many_propositions_are_unknown() {
    let model = graph(&[&[0]]);
    let many: Vec<PropId> = (0..40).map(PropId).collect();
    let outcome = Checker::new(&model).repeat(&many).expect("an answer");
    let Verdict::Unknown(StopReason::TooMany(_, 32)) = outcome.verdict else {
        panic!("{outcome}");
    };
    let names: Vec<String> = (0..40).map(|i| format!("p{i}")).collect();
    let known: Vec<(&str, PropId)> = (names.iter().zip(&many))
        .map(|(name, &id)| (name.as_str(), id))
        .collect();
    let all: Vec<String> = names.iter().map(|name| format!("G F {name}")).collect();
    let formula = format!("!({})", all.join(" & "));
    let outcome = Checker::new(&model).ltl(&formula, &known);
    assert!(outcome.is_ok(), "an answer, or unknown, and no panic");
}

#[test]
fn formulas_are_refused_with_a_reason() {
    let model = graph(&[&[0]]);
    let error = |text| match Checker::new(&model).ltl(text, &A) {
        Err(Error::Formula { diagnostics, text }) => (diagnostics.len(), text),
        other => panic!("{other:?}"),
    };
    let (count, text) = error("G (a0 -> F a3) & b");
    assert_eq!(count, 2);
    assert!(text.contains("there is no proposition `a3`"), "{text}");
    assert!(text.contains("did you mean `a0`?"), "{text}");
    assert!(error("G (").0 > 0);
}

#[test]
fn watchers_have_their_states() {
    let model = graph(&[&[0]]);
    let state = WatcherState {
        edges: vec![(PropId(0), 1)],
        ..WatcherState::default()
    };
    let watcher = Watcher {
        states: vec![state],
        initial: 0,
    };
    let error = Checker::new(&model).watch(&watcher).err();
    assert_eq!(error, Some(Error::NoSuchState(1)));
    let empty = Watcher {
        states: Vec::new(),
        initial: 0,
    };
    let error = Checker::new(&model).watch(&empty).err();
    assert_eq!(error, Some(Error::NoSuchState(0)));
}

#[test]
fn lassos_are_short() {
    // The automaton wants to see 1 and 2 in turn; the model may go to 3 in between.
    let model = graph(&[&[3, 1], &[3, 2], &[3, 0], &[0, 1, 2]]);
    for (formula, most) in [
        ("!(G F a1 & G F a2)", 4),
        ("!F (a1 & X X a1)", 6),
        ("F G a0", 3),
    ] {
        for runs in [Runs::All, Runs::FiniteStack] {
            let outcome = Checker::new(&model).runs(runs).ltl(formula, &A);
            let outcome = outcome.expect("replays");
            let trace = outcome.trace().expect("violated");
            assert!(trace.length() <= most, "{formula}\n{outcome}");
        }
    }
}

/// Calls itself by two names.
struct Named;

impl Model for Named {
    type State = u8;

    fn initial(&self, out: &mut Vec<u8>) {
        out.push(0);
    }

    fn steps(&self, &level: &u8, out: &mut Steps<u8>) {
        match level {
            0 => out.call(CallId(0), 1),
            1 => out.call(CallId(1), 2),
            _ => out.exit(level),
        }
    }

    fn resume(&self, caller: &u8, _: CallId, _: &u8, out: &mut Vec<u8>) -> bool {
        out.push(caller + 10);
        true
    }

    fn holds(&self, &state: &u8, _: PropId) -> bool {
        state == 10
    }

    fn call_name(&self, call: CallId) -> String {
        ["outer", "inner"][call.0 as usize].to_owned()
    }
}

#[test]
fn calls_have_names() {
    let expected = "\
start         0
call outer      1
call inner        2
return inner    11
return outer  10
";
    let outcome = Checker::new(&Named).reach(PropId(0)).expect("replays");
    assert_eq!(outcome.to_string(), format!("violated\n{expected}"));
    let outcome = Checker::new(&Named).reach_where(|&state| state == 10);
    assert_eq!(outcome.expect("replays").calls.len(), 2, "through wrappers");
    let target = WatcherState {
        target: true,
        ..WatcherState::default()
    };
    let wait = WatcherState {
        edges: vec![(PropId(0), 1)],
        otherwise: Some(0),
        ..WatcherState::default()
    };
    let watcher = Watcher {
        states: vec![wait, target],
        initial: 0,
    };
    let outcome = Checker::new(&Named).watch(&watcher).expect("replays");
    assert_eq!(
        outcome.to_text(20, u8::to_string).as_deref(),
        Some(expected)
    );
}
