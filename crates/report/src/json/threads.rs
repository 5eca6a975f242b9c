//! Concurrent executions as JSON.

use std::cell::RefCell;
use std::fmt;

use droste_program::concurrent::{Birth, ConcurrentExecution, Context, ThreadAction, ThreadId};
use droste_program::execution::{Ending, Valuation};
use droste_program::standing::Standing;
use droste_program::{NodeId, Program};
use droste_source::SourceFile;
use serde::ser::{Serialize, SerializeMap as _, Serializer};

use super::parts::{Deed, EndingJson, List, Object, StepJson};
use super::{Writer, display, last};
use crate::threads::thread_name;
use crate::track::Tracker;
use crate::view::View;

/// A concurrent execution as a JSON object with `file`, `length`, `switches`, `rounds`, `nodes`,
/// `start`, `threads`, `contexts`, `runs` and `ending`.
///
/// Steps are those of [`Json`](crate::Json), and three more actions: `return`, `start` and `end`.
pub struct ConcurrentJson<'a> {
    writer: Writer<'a>,
    execution: &'a ConcurrentExecution,
}

/// `execution` as JSON.
pub fn concurrent_json<'a>(
    program: &'a Program,
    source: &'a SourceFile,
    execution: &'a ConcurrentExecution,
) -> ConcurrentJson<'a> {
    ConcurrentJson {
        writer: Writer::new(View::new(program, source, &execution.runs)),
        execution,
    }
}

impl fmt::Display for ConcurrentJson<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        display(self, f)
    }
}

impl Serialize for ConcurrentJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (writer, execution) = (&self.writer, self.execution);
        let program = writer.view.program;
        let nodes = writer.used(self.own_nodes());
        let start = Valuation {
            globals: execution.globals.clone(),
            locals: Vec::new(),
        };
        let tracker = RefCell::new(Tracker::new(execution));
        let contexts = execution.contexts.iter().map(|context| ContextJson {
            trace: self,
            context,
            tracker: &tracker,
        });
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("file", writer.view.source.name())?;
        map.serialize_entry("length", &execution.length(writer.view.program))?;
        map.serialize_entry("switches", &execution.switches(program))?;
        map.serialize_entry("rounds", &execution.rounds(program))?;
        map.serialize_entry("nodes", &Object(|| writer.nodes(&nodes)))?;
        map.serialize_entry("start", &Object(|| writer.valuation(None, &start)))?;
        map.serialize_entry("threads", &List(|| self.threads()))?;
        map.serialize_entry("contexts", &List(|| contexts.clone()))?;
        map.serialize_entry("runs", &List(|| writer.runs()))?;
        let ending = EndingJson {
            ending: execution.ending,
            monitor: None,
            reasons: None,
            standings: self.standings(),
        };
        map.serialize_entry("ending", &ending)?;
        map.end()
    }
}

impl<'a> ConcurrentJson<'a> {
    /// The nodes that are mentioned outside the callees' runs.
    fn own_nodes(&self) -> impl Iterator<Item = NodeId> {
        let steps = self.execution.contexts.iter().flat_map(|c| &c.steps);
        let starts = self
            .execution
            .threads
            .iter()
            .filter_map(|birth| match birth {
                Birth::Started { node, .. } => Some(*node),
                Birth::Declared { .. } => None,
            });
        let steps = steps.map(|step| step.node);
        let ends = self
            .standings()
            .into_iter()
            .filter_map(|standing| match standing {
                Standing::Ended => None,
                Standing::Blocked(node) | Standing::Barred(node) => Some(node),
            });
        let all = steps.chain(starts).chain(last(self.execution.ending));
        all.chain(ends)
    }

    /// How things stand with each thread, if none can make a step.
    fn standings(&self) -> Vec<Standing> {
        match self.execution.ending {
            Ending::Stuck(_) => self.execution.standings(self.writer.view.program),
            _ => Vec::new(),
        }
    }

    fn threads(&self) -> impl Iterator<Item = ThreadJson<'_, 'a>> {
        let threads = self.execution.threads.iter().enumerate();
        threads.map(|(i, birth)| ThreadJson {
            trace: self,
            thread: ThreadId(i as u32),
            birth,
        })
    }

    fn name(&self, thread: ThreadId) -> String {
        thread_name(self.writer.view.program, self.execution, thread)
    }
}

/// A thread and where it comes from.
struct ThreadJson<'w, 'a> {
    trace: &'w ConcurrentJson<'a>,
    thread: ThreadId,
    birth: &'w Birth,
}

impl Serialize for ThreadJson<'_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let writer = &self.trace.writer;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("name", &self.trace.name(self.thread))?;
        match self.birth {
            Birth::Declared { procedure, locals } => {
                map.serialize_entry("procedure", &writer.procedure(*procedure))?;
                let locals = || writer.locals(Some(*procedure), locals);
                map.serialize_entry("locals", &Object(locals))?;
            }
            Birth::Started { by, node } => {
                map.serialize_entry("started_by", &by.0)?;
                map.serialize_entry("at", &node.0)?;
            }
        }
        map.end()
    }
}

/// A context. Those of an execution are written in order, each once, and share what they keep
/// track of.
#[derive(Clone, Copy)]
struct ContextJson<'w, 'a> {
    trace: &'w ConcurrentJson<'a>,
    context: &'w Context,
    tracker: &'w RefCell<Tracker>,
}

impl<'w, 'a> ContextJson<'w, 'a> {
    fn steps(&self) -> impl Iterator<Item = StepJson<'w, 'a>> + use<'w, 'a> {
        let (writer, tracker) = (&self.trace.writer, self.tracker);
        tracker.borrow_mut().activate(self.context.thread);
        self.context.steps.iter().map(move |step| {
            let mut tracker = tracker.borrow_mut();
            let (depth, call) = (tracker.depth(), tracker.caller());
            tracker.step(step);
            let deed = match &step.action {
                ThreadAction::Step(action) => Deed::Step(action),
                ThreadAction::Return {
                    results, changes, ..
                } => Deed::Return {
                    call,
                    results,
                    changes,
                },
                ThreadAction::Start { thread, .. } => Deed::Start(*thread),
                ThreadAction::End => Deed::End,
            };
            StepJson::new(writer, step.node, depth as u64, deed, &tracker.now)
        })
    }
}

impl Serialize for ContextJson<'_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("thread", &self.context.thread.0)?;
        map.serialize_entry("name", &self.trace.name(self.context.thread))?;
        map.serialize_entry("steps", &List(|| self.steps()))?;
        map.end()
    }
}
