//! Where the threads are at the end of a concurrent run, and, if no thread can make a step, what
//! each of them waits for: what a report says about a deadlock.

use crate::concurrent::{Birth, ConcurrentExecution, ThreadAction, ThreadId, end_of_init};
use crate::execution::{Action, CalleeRun, Step};
use crate::program::{NodeId, Op, Program};

/// How things stand with a thread where no thread can make a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It has ended; or it is `init`, which has come to `endinit`.
    Ended,
    /// It is here and cannot make a step.
    Blocked(NodeId),
    /// It is here and cannot become active: `init` is not over, or the active thread is inside an
    /// atomic section.
    Barred(NodeId),
}

impl ConcurrentExecution {
    /// Where each thread is at the end; `None` if it has ended, or was not started.
    pub fn positions(&self, program: &Program) -> Vec<Option<NodeId>> {
        let mut positions: Vec<Option<NodeId>> = (self.threads.iter())
            .map(|birth| match birth {
                Birth::Declared { procedure, .. } => Some(program.procedure(*procedure).entry),
                Birth::Started { .. } => None,
            })
            .collect();
        for context in &self.contexts {
            let active = context.thread.0 as usize;
            for step in &context.steps {
                let op = &program.node(step.node).op;
                let to = match &step.action {
                    ThreadAction::Step(Action::Internal { to, .. } | Action::Folded { to, .. })
                    | ThreadAction::Return { to, .. } => Some(*to),
                    ThreadAction::Step(Action::Call { .. }) => match op {
                        Op::Call { callee, .. } => Some(program.procedure(*callee).entry),
                        _ => Some(step.node),
                    },
                    ThreadAction::Start { thread, to } => {
                        if let Op::StartThread { start, .. } = op
                            && let Some(new) = positions.get_mut(thread.0 as usize)
                        {
                            *new = Some(*start);
                        }
                        Some(*to)
                    }
                    ThreadAction::Step(Action::Fail(_)) => Some(step.node),
                    ThreadAction::Step(Action::Terminate) | ThreadAction::End => None,
                };
                if let Some(position) = positions.get_mut(active) {
                    *position = to;
                }
            }
        }
        positions
    }

    /// How things stand with each thread at the end, where no thread can make a step.
    pub fn standings(&self, program: &Program) -> Vec<Standing> {
        let mut positions = self.positions(program);
        let init = end_of_init(program);
        let last = self.contexts.last().map(|context| context.thread);
        let mut alone = last.filter(|&thread| self.is_atomic(program, thread));
        if init.is_some() && last == Some(ThreadId(0)) {
            if positions[0] == init {
                positions[0] = None;
            } else {
                alone = last;
            }
        } else if init.is_some() {
            positions[0] = None;
        }
        let threads = (0..).map(ThreadId).zip(positions);
        threads
            .map(|(thread, position)| match position {
                None => Standing::Ended,
                Some(node) if alone.is_none_or(|alone| alone == thread) => Standing::Blocked(node),
                Some(node) => Standing::Barred(node),
            })
            .collect()
    }

    /// Whether the thread has not ended and is inside an atomic section at the end.
    fn is_atomic(&self, program: &Program, thread: ThreadId) -> bool {
        let effects = atomic_effects(program, &self.runs);
        let own = self.contexts.iter().filter(|c| c.thread == thread);
        let steps = own.flat_map(|context| &context.steps);
        let mut changes = steps.rev().filter_map(|step| match &step.action {
            ThreadAction::Step(action) => atomic_effect(program, step.node, action, &effects),
            ThreadAction::End => Some(false),
            ThreadAction::Return { .. } | ThreadAction::Start { .. } => None,
        });
        changes.next().unwrap_or(false)
    }
}

/// Whether an action at a node leaves its thread in an atomic section; `None` if as it was before.
fn atomic_effect(
    program: &Program,
    node: NodeId,
    action: &Action,
    effects: &[Option<bool>],
) -> Option<bool> {
    match action {
        Action::Folded { run, .. } => effects.get(run.0 as usize).copied().flatten(),
        _ => match program.node(node).op {
            Op::AtomicBegin(_) => Some(true),
            Op::AtomicEnd(_) => Some(false),
            _ => None,
        },
    }
}

/// Whether each run leaves its thread in an atomic section; `None` if as it was before.
pub fn atomic_effects(program: &Program, runs: &[CalleeRun]) -> Vec<Option<bool>> {
    let mut effects: Vec<Option<bool>> = Vec::with_capacity(runs.len());
    for run in runs {
        let of = |step: &Step| atomic_effect(program, step.node, &step.action, &effects);
        let effect = run.steps.iter().rev().find_map(of);
        effects.push(effect);
    }
    effects
}
