//! A concrete run of a [`Program`]: the form in which a violation is
//! shown, stored and replayed.
//!
//! Every variable has a value in every configuration; a step lists those that changed.
//! Calls that returned are kept folded, as in [`droste_base::Trace`]: what the callee did
//! is a [`CalleeRun`], which several steps may share, so that an execution of
//! astronomically many steps (a procedure that calls itself twice, a hundred levels
//! deep) still has a small witness. [`Execution::length`] counts the steps it stands for.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use droste_base::Cycle;

use crate::program::{NodeId, Program, Value, VarRef, Violation};

/// Index into [`Execution::runs`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CalleeRunId(pub u32);

/// A frame's variables and the globals, all with values.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Valuation {
    /// In the order of the program's globals.
    pub globals: Vec<Value>,
    /// In the order of the procedure's locals (parameters first).
    pub locals: Vec<Value>,
}

impl Valuation {
    /// The value of a variable.
    pub fn get(&self, var: VarRef) -> Value {
        match var {
            VarRef::Global(i) => self.globals[i as usize],
            VarRef::Local(i) => self.locals[i as usize],
        }
    }

    /// Sets a variable.
    pub fn set(&mut self, var: VarRef, value: Value) {
        match var {
            VarRef::Global(i) => self.globals[i as usize] = value,
            VarRef::Local(i) => self.locals[i as usize] = value,
        }
    }
}

/// The variables that a step gives another value, and the values. Immutable and shared: an
/// execution has millions of steps and usually few different changes.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct Changes(Option<Arc<Vec<(VarRef, Value)>>>);

impl Deref for Changes {
    type Target = [(VarRef, Value)];

    fn deref(&self) -> &Self::Target {
        self.0.as_deref().map_or(&[], Vec::as_slice)
    }
}

impl From<Vec<(VarRef, Value)>> for Changes {
    fn from(changes: Vec<(VarRef, Value)>) -> Self {
        Changes((!changes.is_empty()).then(|| Arc::new(changes)))
    }
}

impl FromIterator<(VarRef, Value)> for Changes {
    fn from_iter<I: IntoIterator<Item = (VarRef, Value)>>(changes: I) -> Self {
        changes.into_iter().collect::<Vec<_>>().into()
    }
}

impl<'a> IntoIterator for &'a Changes {
    type Item = &'a (VarRef, Value);
    type IntoIter = std::slice::Iter<'a, (VarRef, Value)>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl fmt::Debug for Changes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self).finish()
    }
}

/// One executed statement, or part of one: from the current position to the next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// The statement at `Step::node` is executed and control goes on to `to` in the same procedure.
    Internal {
        /// The next position.
        to: NodeId,
        /// The variables that have another value afterwards.
        changes: Changes,
    },
    /// A call that does not return in this execution: the next position is the callee's entry.
    /// The globals are unchanged.
    Call {
        /// Values of all the callee's locals, parameters first.
        locals: Box<[Value]>,
    },
    /// A call, everything the callee does, its return, and the storing of the results.
    Folded {
        /// What the callee does.
        run: CalleeRunId,
        /// The next position, after the return.
        to: NodeId,
        /// The globals and the caller's locals that have another value afterwards.
        changes: Changes,
    },
    /// `main` returns and the program has ended. There is no next position; in an infinite
    /// run, the configuration stays as it is for ever.
    Terminate,
    /// Executing the statement is a violation: the run ends here.
    Fail(Violation),
}

/// A position and what happens there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The position.
    pub node: NodeId,
    /// What happens.
    pub action: Action,
}

/// A procedure's run from its entry to its return.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CalleeRun {
    /// Globals and locals at the entry.
    pub entry: Valuation,
    /// Up to, not including, the return. Only `Internal` and `Folded`, and `Folded` refers only to
    /// runs with smaller ids. Shared by runs that differ only in what they do not look at.
    pub steps: Arc<[Step]>,
    /// The node of the return.
    pub exit: NodeId,
    /// The values returned, converted to the result types.
    pub results: Vec<Value>,
}

/// How an execution ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// At this position, which has been reached but whose statement is not executed.
    At(NodeId),
    /// At this position, where nothing can happen: its statement has no step, and trying it is no
    /// violation.
    Stuck(NodeId),
    /// With the last step, which is [`Action::Fail`] or [`Action::Terminate`].
    Final,
    /// Never. After the last step, control is again at the node of step number `start`, with the
    /// same globals and locals, and the steps from there on are repeated for ever.
    Lasso {
        /// Where the cycle begins.
        start: usize,
        /// Whether the cycle contains a call that does not return: the stack grows for ever.
        pumping: bool,
    },
    /// Never: the last step is [`Action::Terminate`], and the final configuration is repeated for
    /// ever.
    Terminated,
}

/// A run of a program, from the first statement of `main`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Execution {
    /// Globals and `main`'s locals at the start.
    pub start: Valuation,
    /// What [`Action::Folded`] refers to. Shared: there may be millions, and executions that differ
    /// elsewhere.
    pub runs: Arc<Vec<CalleeRun>>,
    /// What happens, in order.
    pub steps: Vec<Step>,
    /// How it ends.
    pub ending: Ending,
}

impl Execution {
    /// In place of a run that was not asked for: no steps, and of the cycle of an infinite one no
    /// more than whether the stack grows.
    pub fn unwritten(cycle: Option<Cycle>) -> Self {
        Execution {
            start: Valuation::default(),
            runs: Arc::default(),
            steps: Vec::new(),
            ending: match cycle {
                Some(Cycle { start, pumping }) => Ending::Lasso { start, pumping },
                None => Ending::Final,
            },
        }
    }

    /// How many steps the execution has; see [`Lengths`]. For a lasso, stem and one round of the
    /// cycle.
    pub fn length(&self, program: &Program) -> u64 {
        Lengths::new(program, &self.runs).of(&self.steps)
    }
}

/// How many steps there are when every folded call is written out: each call and each return is a
/// step. What happens at a [silent](crate::program::Node::silent) node is none. All numbers
/// saturate.
pub struct Lengths<'a> {
    program: &'a Program,
    runs: Vec<u64>,
}

impl<'a> Lengths<'a> {
    /// The lengths of these runs.
    pub fn new(program: &'a Program, runs: &[CalleeRun]) -> Self {
        let mut lengths = Lengths {
            program,
            runs: Vec::with_capacity(runs.len()),
        };
        for run in runs {
            // The return itself is one step.
            let length = lengths.of(&run.steps).saturating_add(1);
            lengths.runs.push(length);
        }
        lengths
    }

    /// Of a run, its return included.
    pub fn of_run(&self, run: CalleeRunId) -> u64 {
        self.runs.get(run.0 as usize).copied().unwrap_or(0)
    }

    /// Of what happens at a node.
    pub fn of_action(&self, node: NodeId, action: &Action) -> u64 {
        match action {
            // The call is one step, the callee's steps and its return follow.
            Action::Folded { run, .. } => self.of_run(*run).saturating_add(1),
            _ if self
                .program
                .nodes
                .get(node.0 as usize)
                .is_some_and(|n| n.silent) =>
            {
                0
            }
            _ => 1,
        }
    }

    /// Of these steps.
    pub fn of(&self, steps: &[Step]) -> u64 {
        let steps = steps
            .iter()
            .map(|step| self.of_action(step.node, &step.action));
        steps.fold(0, u64::saturating_add)
    }
}
