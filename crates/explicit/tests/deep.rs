//! Deep recursion, huge splits, and limits.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use droste_base::{
    CallId, Claim, Counters, Limits, Model, Progress, PropId, Steps, StopReason, Verdict,
    replay_trace,
};
use droste_explicit::{Options, Order, Runs, reach, repeat};

const GOAL: PropId = PropId(0);
/// A million in release; debug builds are too slow for it.
const LEVELS: u32 = if cfg!(debug_assertions) {
    100_000
} else {
    1_000_000
};

/// Calls itself `LEVELS` deep, comes back up, and then loops through the goal for ever.
struct Tower {
    /// Whether the deepest level is the goal, rather than the state after the return.
    goal_is_deep: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum At {
    Down(u32),
    Up(u32),
}

impl Model for Tower {
    type State = At;

    fn initial(&self, out: &mut Vec<At>) {
        out.push(At::Down(0));
    }

    fn steps(&self, state: &At, out: &mut Steps<At>) {
        match *state {
            At::Down(LEVELS) if self.goal_is_deep => out.step(*state),
            At::Down(LEVELS) => out.step(At::Up(LEVELS)),
            At::Down(level) => out.call(CallId(level & 1), At::Down(level + 1)),
            At::Up(0) => out.step(*state),
            At::Up(level) => out.exit(At::Up(level)),
        }
    }

    fn resume(&self, caller: &At, call: CallId, exit: &At, out: &mut Vec<At>) -> bool {
        if let (At::Down(caller), At::Up(exit)) = (caller, exit) {
            assert_eq!(
                (caller + 1, caller & 1),
                (*exit, call.0),
                "the callee's own caller"
            );
            out.push(At::Up(*caller));
        }
        true
    }

    fn holds(&self, state: &At, _: PropId) -> bool {
        *state
            == if self.goal_is_deep {
                At::Down(LEVELS)
            } else {
                At::Up(0)
            }
    }
}

#[test]
fn a_million_levels_down() {
    let model = Tower { goal_is_deep: true };
    for order in [Order::Dfs, Order::Bfs] {
        let options = Options {
            order,
            ..Options::default()
        };
        let verdict = reach(&model, GOAL, &options).verdict;
        let trace = verdict.run().expect("reachable");
        assert_eq!(trace.length(), u64::from(LEVELS));
        replay_trace(&model, trace, &Claim::Reaches(GOAL)).expect("replays");
        assert!(
            trace.to_string().lines().count() < 250,
            "the middle is left out"
        );
    }
    for runs in [Runs::All, Runs::FiniteStack] {
        let verdict = repeat(&model, &[GOAL], runs, &Options::default()).verdict;
        let trace = verdict.run().expect("it stays there for ever");
        assert!(trace.cycle.is_some_and(|cycle| !cycle.pumping));
        let claim = Claim::Repeats {
            marks: &[GOAL],
            finite_stack: true,
        };
        replay_trace(&model, trace, &claim).expect("replays");
    }
}

#[test]
fn a_million_levels_down_and_up_again() {
    let model = Tower {
        goal_is_deep: false,
    };
    for order in [Order::Dfs, Order::Bfs] {
        let options = Options {
            order,
            ..Options::default()
        };
        let verdict = reach(&model, GOAL, &options).verdict;
        let trace = verdict.run().expect("reachable");
        assert_eq!(trace.length(), 2 * u64::from(LEVELS) + 1);
        assert_eq!(trace.runs.len(), LEVELS as usize);
        replay_trace(&model, trace, &Claim::Reaches(GOAL)).expect("replays");
        assert!(
            trace.to_string().lines().count() < 250,
            "most is left folded"
        );
    }
    for runs in [Runs::All, Runs::FiniteStack] {
        let verdict = repeat(&model, &[GOAL], runs, &Options::default()).verdict;
        let trace = verdict.run().expect("it stays there for ever");
        let claim = Claim::Repeats {
            marks: &[GOAL],
            finite_stack: true,
        };
        replay_trace(&model, trace, &claim).expect("replays");
    }
}

/// Counts to a million, calling the same procedure at every step.
struct Busy;

impl Model for Busy {
    type State = Option<u32>;

    fn initial(&self, out: &mut Vec<Self::State>) {
        out.push(Some(0));
    }

    fn steps(&self, state: &Self::State, out: &mut Steps<Self::State>) {
        match state {
            None => out.exit(None),
            Some(LEVELS) => out.step(*state),
            Some(_) => out.call(CallId(0), None),
        }
    }

    fn resume(
        &self,
        caller: &Self::State,
        _: CallId,
        _: &Self::State,
        out: &mut Vec<Self::State>,
    ) -> bool {
        out.extend(caller.map(|count| Some(count + 1)));
        true
    }

    fn holds(&self, state: &Self::State, _: PropId) -> bool {
        *state == Some(LEVELS)
    }
}

/// Looking for a caller among all those of an entry would take hours here.
#[test]
fn a_million_callers_of_one_procedure() {
    let verdict = reach(&Busy, GOAL, &Options::default()).verdict;
    let trace = verdict.run().expect("reachable");
    assert_eq!(
        (trace.length(), trace.runs.len()),
        (2 * u64::from(LEVELS), 1)
    );
    replay_trace(&Busy, trace, &Claim::Reaches(GOAL)).expect("replays");
    let verdict = repeat(&Busy, &[GOAL], Runs::FiniteStack, &Options::default()).verdict;
    let claim = Claim::Repeats {
        marks: &[GOAL],
        finite_stack: true,
    };
    replay_trace(&Busy, verdict.run().expect("repeats"), &claim).expect("replays");
}

/// One state that is any of 2⁶⁴, and stays what it has become.
struct Dice {
    goal: u64,
}

impl Model for Dice {
    type State = Option<u64>;

    fn initial(&self, out: &mut Vec<Self::State>) {
        out.push(None);
    }

    fn steps(&self, state: &Self::State, out: &mut Steps<Self::State>) {
        match state {
            None => out.split(3, u64::MAX),
            Some(_) => out.step(*state),
        }
    }

    fn resume(
        &self,
        _: &Self::State,
        _: CallId,
        _: &Self::State,
        _: &mut Vec<Self::State>,
    ) -> bool {
        unreachable!("there are no calls")
    }

    fn holds(&self, state: &Self::State, _: PropId) -> bool {
        *state == Some(self.goal)
    }

    fn refine(&self, _: &Self::State, tag: u32, index: u64) -> Self::State {
        assert_eq!(tag, 3);
        Some(index)
    }
}

#[test]
fn parts_of_a_huge_split_are_looked_at_in_order() {
    let model = Dice { goal: 5 };
    for order in [Order::Dfs, Order::Bfs] {
        let options = Options {
            order,
            ..Options::default()
        };
        let outcome = reach(&model, GOAL, &options);
        assert!(outcome.stats.states < 20, "{:?}", outcome.stats);
        let trace = outcome.verdict.run().expect("reachable").clone();
        assert_eq!(trace.length(), 0, "refining is not a step");
        replay_trace(&model, &trace, &Claim::Reaches(GOAL)).expect("replays");
    }
    for runs in [Runs::All, Runs::FiniteStack] {
        let outcome = repeat(&model, &[GOAL], runs, &Options::default());
        assert!(outcome.stats.states < 20, "{:?}", outcome.stats);
        let claim = Claim::Repeats {
            marks: &[GOAL],
            finite_stack: true,
        };
        replay_trace(&model, outcome.verdict.run().expect("repeats"), &claim).expect("replays");
    }
}

/// Every search of a model that never ends, under these limits.
fn reasons(limits: &Limits) -> Vec<StopReason> {
    let model = Dice { goal: u64::MAX };
    let mut reasons = Vec::new();
    for order in [Order::Dfs, Order::Bfs] {
        let options = Options {
            order,
            limits: limits.clone(),
            ..Options::default()
        };
        for outcome in [
            reach(&model, GOAL, &options),
            repeat(&model, &[GOAL], Runs::All, &options),
            repeat(&model, &[GOAL], Runs::FiniteStack, &options),
        ] {
            match outcome.verdict {
                Verdict::Unknown(reason) => reasons.push(reason),
                verdict => panic!("the search cannot have ended: {}", verdict.word()),
            }
        }
    }
    reasons
}

#[test]
fn time_runs_out() {
    for timeout in [Duration::ZERO, Duration::from_millis(30)] {
        let limits = Limits::within(timeout);
        assert_eq!(reasons(&limits), vec![StopReason::Time(timeout); 6]);
    }
}

#[test]
fn memory_runs_out() {
    let limits = Limits {
        memory: Some(1_000_000),
        ..Limits::default()
    };
    if droste_base::memory::resident_bytes().is_some() {
        assert_eq!(reasons(&limits), vec![StopReason::Memory(1_000_000); 6]);
    }
}

#[test]
fn somebody_cancels() {
    let cancel = Arc::new(AtomicBool::new(true));
    let limits = Limits {
        cancel: Some(cancel.clone()),
        ..Limits::default()
    };
    assert_eq!(reasons(&limits), vec![StopReason::Cancelled; 6]);

    // In the middle of the search, by the one who watches its progress.
    cancel.store(false, std::sync::atomic::Ordering::Relaxed);
    let reporter = |progress: Progress| {
        let Counters::Explicit {
            path_edges, states, ..
        } = progress.counters
        else {
            panic!("{progress:?}");
        };
        assert!(states > 0 && path_edges > 0, "{progress:?}");
        cancel.store(true, std::sync::atomic::Ordering::Relaxed);
    };
    let options = Options {
        limits,
        reporter: Some(&reporter),
        ..Options::default()
    };
    let outcome = reach(&Dice { goal: u64::MAX }, GOAL, &options);
    assert_eq!(outcome.verdict, Verdict::Unknown(StopReason::Cancelled));
}

/// One long loop without a choice.
struct Ring(u32);

impl Model for Ring {
    type State = u32;

    fn initial(&self, out: &mut Vec<u32>) {
        out.push(0);
    }

    fn steps(&self, &state: &u32, out: &mut Steps<u32>) {
        out.step((state + 1) % self.0);
    }

    fn resume(&self, _: &u32, _: CallId, _: &u32, _: &mut Vec<u32>) -> bool {
        true
    }

    fn holds(&self, _: &u32, _: PropId) -> bool {
        false
    }
}

/// Chains are cut at the same states in every round, however long the loop is.
#[test]
fn a_long_loop_is_gone_round_once() {
    for length in [1, 2, 63, 64, 257, 99_991, 100_000] {
        let found = repeat(&Ring(length), &[GOAL], Runs::All, &Options::default());
        assert!(matches!(found.verdict, Verdict::Holds(_)), "{length}");
        assert!(
            found.stats.path_edges <= 3 + u64::from(length) / 32,
            "{length}: {:?}",
            found.stats
        );
        let found = repeat(&Ring(length), &[], Runs::FiniteStack, &Options::default());
        assert!(matches!(found.verdict, Verdict::Violated(_)), "{length}");
    }
}
