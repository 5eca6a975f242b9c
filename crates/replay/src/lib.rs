//! Replays executions: an interpreter that accepts or rejects what an engine has found.
//!
//! Nothing here is shared with an engine. [`replay`] looks at a [`Program`] and an
//! [`Execution`] and checks, one step after the other, that the program allows the step,
//! and at the end that the execution shows what it is claimed to show, its [`Claim`]. It takes
//! time linear in the size of the execution as stored, folded, and needs no native stack.
//!
//! The modules: `values` (which values an expression can take), `step` (what one statement allows),
//! `stuck` (that nothing can happen), `check` (whole executions), `concurrent` (those with
//! threads), `watch` (monitors), `monitor_run` (one run of a monitor, to be shown) and `temporal`
//! (formulas of temporal logic).
//!
//! The program and the monitor are trusted to be well-formed; the execution may be anything.
//!
//! A violation that occurs while the results of a call are stored (or in the call's `constrain`)
//! belongs to the step in which the callee returns: the execution has the call as
//! [`Action::Call`], then what the callee does, and ends with
//! [`Action::Fail`] at the callee's return statement.

mod check;
mod concurrent;
mod monitor_run;
mod step;
mod stuck;
mod temporal;
mod values;
mod watch;

pub use concurrent::{ConcurrentClaim, replay_concurrent};
pub use monitor_run::{MonitorRun, Reading, monitor_run};
pub use temporal::{Call, Moment, Truth};

use std::fmt;
use std::sync::Arc;

use droste_base::{Guard, Limits, StopReason};
use droste_program::execution::{Action, CalleeRun, CalleeRunId, Ending, Execution};
use droste_program::monitor::Monitor;
use droste_program::temporal::Formula;
use droste_program::{NodeId, Program};

/// What an execution is claimed to show.
#[derive(Clone, Copy, Debug)]
pub enum Claim<'a> {
    /// It ends at one of these nodes.
    Reaches(&'a [NodeId]),
    /// Its last step is a violation.
    Fails,
    /// It ends at one of these nodes, or with a violation.
    Default(&'a [NodeId]),
    /// Nothing can happen at its end, and `main` has not returned.
    Stuck,
    /// It never ends and visits one of these nodes again and again.
    Repeats(&'a [NodeId]),
    /// The monitor can enter a target state.
    MonitorTarget(&'a Monitor),
    /// It never ends and the monitor can enter repeating states again and again.
    MonitorRepeats(&'a Monitor),
    /// It never ends and does not satisfy the formula.
    Falsifies(&'a Formula),
}

/// Why an execution is not accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejection {
    /// Which step is at fault; one past the last if the ending is, or a run's return.
    pub step: usize,
    /// The callee run that the step belongs to; `None` for the execution's own steps.
    pub run: Option<CalleeRunId>,
    /// What is wrong.
    pub reason: String,
}

impl Rejection {
    fn new(step: usize, run: Option<CalleeRunId>, reason: impl Into<String>) -> Self {
        Rejection {
            step,
            run,
            reason: reason.into(),
        }
    }
}

impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "step {}", self.step)?;
        if let Some(run) = self.run {
            write!(f, " of callee run {}", run.0)?;
        }
        write!(f, ": {}", self.reason)
    }
}

impl std::error::Error for Rejection {}

/// Accepts `execution` if it is a run of `program`, whatever it shows.
pub fn valid(program: &Program, execution: &Execution) -> Result<(), Rejection> {
    without_limits(|guard| check::check(program, execution, guard).map(drop))
}

/// Accepts `execution` if it is a run of `program` and shows what `claim` says.
/// With `finite_stack`, a claim about an infinite run also needs a stack that stays bounded.
pub fn replay(
    program: &Program,
    execution: &Execution,
    claim: Claim,
    finite_stack: bool,
) -> Result<(), Rejection> {
    without_limits(|guard| {
        Replayer::new(program, claim, finite_stack).replay_within(execution, guard)
    })
}

/// Why there is no acceptance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Halt {
    /// The execution is not accepted.
    Rejected(Rejection),
    /// A limit was reached before it was known.
    Stopped(StopReason),
}

pub(crate) fn without_limits<T>(
    f: impl FnOnce(&mut Guard) -> Result<T, Halt>,
) -> Result<T, Rejection> {
    f(&mut Limits::default().guard()).map_err(|halt| match halt {
        Halt::Rejected(rejection) => rejection,
        Halt::Stopped(reason) => unreachable!("stopped without a limit: {reason}"),
    })
}

/// Replays several executions that are claimed to show the same. What callees do is checked once,
/// if the executions share it.
pub struct Replayer<'a> {
    program: &'a Program,
    claim: Claim<'a>,
    finite_stack: bool,
    known: Option<CheckedRuns<'a>>,
}

/// The runs of the last execution, and what is known about them.
struct CheckedRuns<'a> {
    runs: Arc<Vec<CalleeRun>>,
    checked: check::Checked,
    truth: Option<Truth<'a>>,
}

impl<'a> Replayer<'a> {
    /// See [`replay`].
    pub fn new(program: &'a Program, claim: Claim<'a>, finite_stack: bool) -> Self {
        Replayer {
            program,
            claim,
            finite_stack,
            known: None,
        }
    }

    /// [`replay`], unless a limit is reached.
    pub fn replay_within(&mut self, execution: &Execution, guard: &mut Guard) -> Result<(), Halt> {
        let program = self.program;
        let known = match &mut self.known {
            Some(known) if Arc::ptr_eq(&known.runs, &execution.runs) => known,
            known => known.insert(CheckedRuns {
                runs: Arc::clone(&execution.runs),
                checked: check::check_runs(program, &execution.runs, guard)?,
                truth: None,
            }),
        };
        let facts = check::check_steps(program, execution, &known.checked, guard)?;
        guard.check_now().map_err(Halt::Stopped)?;
        let wrong = |reason: &str| {
            let step = execution.steps.len();
            Err(Halt::Rejected(Rejection::new(step, None, reason)))
        };
        let infinite = matches!(
            self.claim,
            Claim::Repeats(_) | Claim::MonitorRepeats(_) | Claim::Falsifies(_)
        );
        if infinite && self.finite_stack && facts.pumped > 0 {
            return wrong("the stack grows for ever");
        }
        let reaches = |nodes: &[NodeId]| matches!(execution.ending, Ending::At(node) if nodes.contains(&node));
        let fails = execution.ending == Ending::Final
            && matches!(
                execution.steps.last().map(|step| &step.action),
                Some(Action::Fail(_))
            );
        match self.claim {
            Claim::Reaches(nodes) if !reaches(nodes) => {
                wrong("it does not end at a node asked for")
            }
            Claim::Fails if !fails => wrong("it does not end in a violation"),
            Claim::Default(nodes) if !fails && !reaches(nodes) => {
                wrong("it ends neither in a violation nor at a node asked for")
            }
            Claim::Stuck if !matches!(execution.ending, Ending::Stuck(_)) => {
                wrong("it is not said to be stuck at its end")
            }
            Claim::Repeats(nodes) if !repeats(program, execution, nodes) => {
                wrong("it does not visit a node asked for again and again")
            }
            Claim::MonitorTarget(monitor) if !watch::enters_target(program, execution, monitor) => {
                wrong("the monitor does not enter a target state")
            }
            Claim::MonitorRepeats(monitor) if !watch::repeats(program, execution, monitor) => {
                wrong("the monitor does not visit repeating states again and again")
            }
            Claim::Falsifies(formula) => {
                let truth = match &mut known.truth {
                    Some(truth) => truth,
                    none => none.insert(
                        Truth::of_runs(program, &execution.runs, formula, guard)
                            .map_err(Halt::Stopped)?,
                    ),
                };
                if !truth.follow(execution, guard).map_err(Halt::Stopped)? {
                    return wrong("it is not an infinite run");
                }
                if truth.holds() {
                    return wrong("it satisfies the formula");
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

/// Whether the cycle of a lasso visits one of `nodes`, in folded calls or outside.
fn repeats(program: &Program, execution: &Execution, nodes: &[NodeId]) -> bool {
    let Ending::Lasso { start, .. } = execution.ending else {
        return false;
    };
    let mut wanted = vec![false; program.nodes.len()];
    for node in nodes {
        if let Some(entry) = wanted.get_mut(node.0 as usize) {
            *entry = true;
        }
    }
    // Whether each run visits one; runs refer to earlier ones only.
    let mut visits: Vec<bool> = Vec::with_capacity(execution.runs.len());
    let visit = |steps: &[droste_program::execution::Step], visits: &[bool]| {
        steps.iter().any(|step| {
            wanted[step.node.0 as usize]
                || matches!(step.action, Action::Folded { run, .. } if visits[run.0 as usize])
        })
    };
    for run in execution.runs.iter() {
        let visited = wanted[run.exit.0 as usize] || visit(&run.steps, &visits);
        visits.push(visited);
    }
    execution
        .steps
        .get(start..)
        .is_some_and(|cycle| visit(cycle, &visits))
}
