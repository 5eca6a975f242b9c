//! Where the threads of a concurrent execution are, step by step.

use droste_program::concurrent::{Birth, ConcurrentExecution, ThreadAction, ThreadId, ThreadStep};
use droste_program::execution::{Action, Valuation};
use droste_program::{NodeId, Value};

use crate::follow::{change, follow};

/// A thread.
#[derive(Default)]
struct Thread {
    /// The locals of its top frame, while it is not active.
    locals: Vec<Value>,
    /// Calls that have not returned, with the caller's locals.
    calls: Vec<(NodeId, Vec<Value>)>,
}

/// All threads at some point of an execution.
pub(crate) struct Tracker {
    threads: Vec<Thread>,
    active: usize,
    /// The globals, and the locals of the active thread's top frame.
    pub(crate) now: Valuation,
}

impl Tracker {
    /// Before the first context.
    pub(crate) fn new(execution: &ConcurrentExecution) -> Self {
        let threads = execution.threads.iter().map(|birth| Thread {
            locals: match birth {
                Birth::Declared { locals, .. } => locals.clone(),
                Birth::Started { .. } => Vec::new(),
            },
            calls: Vec::new(),
        });
        Tracker {
            threads: threads.collect(),
            active: usize::MAX,
            now: Valuation {
                globals: execution.globals.clone(),
                locals: Vec::new(),
            },
        }
    }

    /// A context of this thread begins.
    pub(crate) fn activate(&mut self, thread: ThreadId) {
        let locals = std::mem::take(&mut self.now.locals);
        if let Some(old) = self.threads.get_mut(self.active) {
            old.locals = locals;
        }
        self.active = thread.0 as usize;
        if let Some(new) = self.threads.get_mut(self.active) {
            self.now.locals = std::mem::take(&mut new.locals);
        }
    }

    /// How many calls of the active thread have not returned.
    pub(crate) fn depth(&self) -> usize {
        self.active_thread().map_or(0, |thread| thread.calls.len())
    }

    /// The last call of the active thread that has not returned.
    pub(crate) fn caller(&self) -> Option<NodeId> {
        let (node, _) = self.active_thread()?.calls.last()?;
        Some(*node)
    }

    fn active_thread(&self) -> Option<&Thread> {
        self.threads.get(self.active)
    }

    /// The active thread makes a step.
    pub(crate) fn step(&mut self, step: &ThreadStep) {
        let active = self.threads.get_mut(self.active);
        match &step.action {
            ThreadAction::Step(action) => {
                if let (Action::Call { .. }, Some(active)) = (action, active) {
                    let locals = std::mem::take(&mut self.now.locals);
                    active.calls.push((step.node, locals));
                }
                follow(&mut self.now, action);
            }
            ThreadAction::Return { changes, .. } => {
                let call = active.and_then(|active| active.calls.pop());
                self.now.locals = call.map_or_else(Vec::new, |(_, locals)| locals);
                change(&mut self.now, changes);
            }
            ThreadAction::Start { thread, .. } => {
                if let Some(new) = self.threads.get_mut(thread.0 as usize) {
                    new.locals.clone_from(&self.now.locals);
                }
            }
            ThreadAction::End => {}
        }
    }
}
