//! Executions as JSON: the same information as the text, nothing left out, calls folded.
//!
//! The JSON is written while the execution is walked along, once; nothing is kept of it. What
//! belongs to a node is said once, in the table `nodes`, and a step refers to its node. Steps that
//! several runs share are written with the first of these runs. `docs/JSON.md` describes the format.

mod names;
mod parts;
mod threads;

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt;
use std::sync::Arc;

use droste_program::execution::{CalleeRun, CalleeRunId, Ending, Execution, Step, Valuation};
use droste_program::{NodeId, Op, ProcId, Program, Value, VarRef};
use droste_source::SourceFile;
use serde::ser::{Serialize, SerializeMap as _, Serializer};

use crate::Remarks;
use crate::follow::{follow, value_of};
use crate::view::View;
use names::Names;
use parts::{Deed, EndingJson, List, MonitorJson, NodeJson, Number, Object, RunJson, StepJson};

pub use threads::{ConcurrentJson, concurrent_json};

/// An execution as a JSON object with `file`, `length`, `nodes`, `start`, `steps`, `runs` and
/// `ending`.
///
/// Serializing it takes time linear in what is written, and little memory.
/// [`Display`](fmt::Display) gives one line of JSON.
pub struct Json<'a> {
    writer: Writer<'a>,
    execution: &'a Execution,
    remarks: Remarks<'a>,
}

/// `execution` as JSON.
///
/// Booleans are JSON Booleans; integers are numbers, beyond ±2⁵³ strings. A local that has
/// the name of a global is written `procedure::name`. `length` is the number of steps with every
/// call written out, saturating.
pub fn json<'a>(
    program: &'a Program,
    source: &'a SourceFile,
    execution: &'a Execution,
) -> Json<'a> {
    json_with_remarks(program, source, execution, Remarks::default())
}

/// The same with a run of a monitor: a step at which the monitor goes to another state has that
/// state, after the step, as `monitor`; so has the ending. The whole has the monitor's name and its
/// first state. A step at which it shows why a formula is not satisfied says so in `reasons`; so
/// does the ending.
pub fn json_with_remarks<'a>(
    program: &'a Program,
    source: &'a SourceFile,
    execution: &'a Execution,
    remarks: Remarks<'a>,
) -> Json<'a> {
    Json {
        writer: Writer::new(View::new(program, source, &execution.runs)),
        execution,
        remarks,
    }
}

impl fmt::Display for Json<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        display(self, f)
    }
}

/// One line of JSON.
fn display(value: &impl Serialize, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    f.write_str(&serde_json::to_string(value).map_err(|_| fmt::Error)?)
}

impl Serialize for Json<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (writer, execution) = (&self.writer, self.execution);
        let main = Some(writer.view.program.main);
        let nodes = execution.steps.iter().map(|step| step.node);
        let nodes = writer.used(nodes.chain(last(execution.ending)));
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("file", writer.view.source.name())?;
        map.serialize_entry("length", &writer.view.lengths.of(&execution.steps))?;
        if let Some(run) = self.remarks.monitor {
            map.serialize_entry("monitor", &MonitorJson::of(run))?;
        }
        map.serialize_entry("nodes", &Object(|| writer.nodes(&nodes)))?;
        let start = || writer.valuation(main, &execution.start);
        map.serialize_entry("start", &Object(start))?;
        map.serialize_entry("steps", &List(|| self.steps()))?;
        map.serialize_entry("runs", &List(|| writer.runs()))?;
        map.serialize_entry("ending", &self.ending())?;
        map.end()
    }
}

/// The node at which an execution ends.
fn last(ending: Ending) -> Option<NodeId> {
    match ending {
        Ending::At(node) | Ending::Stuck(node) => Some(node),
        _ => None,
    }
}

impl<'a> Json<'a> {
    /// The execution's own steps.
    fn steps(&self) -> impl Iterator<Item = StepJson<'_, 'a>> {
        let Remarks {
            monitor, reasons, ..
        } = self.remarks;
        let cycle = match self.execution.ending {
            Ending::Lasso { start, .. } => Some(start),
            _ => None,
        };
        let mut state = monitor.map(|run| run.before);
        let steps = self
            .writer
            .steps(&self.execution.steps, &self.execution.start);
        steps.enumerate().map(move |(i, mut step)| {
            if let Some(run) = monitor
                && let Some(reading) = run.steps.get(i)
            {
                if cycle == Some(i) {
                    state = run.cycle;
                }
                if state != Some(reading.after) {
                    step.monitor = Some(run.state(reading.after));
                }
                state = Some(reading.after);
            }
            if let Some(reasons) = reasons {
                step.reasons = reasons.texts(&[i], true);
            }
            step
        })
    }

    fn ending(&self) -> EndingJson<'_> {
        let Remarks {
            monitor, reasons, ..
        } = self.remarks;
        let end = vec![self.execution.steps.len()];
        let state = monitor.and_then(|run| Some(run.state(run.cycle.or(run.end)?)));
        EndingJson {
            ending: self.execution.ending,
            monitor: state,
            reasons: reasons.and_then(|reasons| reasons.at.get(&end)),
            standings: Vec::new(),
        }
    }
}

/// What the parts of an execution have in common.
struct Writer<'a> {
    view: View<'a>,
    names: Names<'a>,
}

impl<'a> Writer<'a> {
    fn new(view: View<'a>) -> Self {
        Writer {
            names: Names::new(view.program),
            view,
        }
    }

    /// Which of the program's nodes are mentioned: these, and those of the callees' runs.
    fn used(&self, nodes: impl Iterator<Item = NodeId>) -> Vec<bool> {
        let mut used = vec![false; self.view.program.nodes.len()];
        let inner = self.view.runs.iter().flat_map(|run| {
            let steps = run.steps.iter().map(|step| step.node);
            steps.chain([run.exit])
        });
        for node in nodes.chain(inner) {
            if let Some(used) = used.get_mut(node.0 as usize) {
                *used = true;
            }
        }
        used
    }

    /// The table of nodes.
    fn nodes(&self, used: &[bool]) -> impl Iterator<Item = (u32, NodeJson<'a>)> {
        let used = (0..).zip(used).filter(|(_, used)| **used);
        used.map(|(id, _)| (id, self.node(NodeId(id))))
    }

    fn node(&self, id: NodeId) -> NodeJson<'a> {
        let (node, at) = (self.view.node(id), self.view.position(id));
        let labels = node.map_or(&[][..], |node| &node.labels);
        NodeJson {
            procedure: self.view.procedure_of(id).map(|procedure| &*procedure.name),
            line: at.map(|at| at.line),
            column: at.map(|at| at.column),
            statement: self.view.statement(id),
            labels: labels.iter().map(|label| &**label).collect(),
            callee: self.callee(id).and_then(|callee| self.procedure(callee)),
        }
    }

    /// The name of a procedure.
    fn procedure(&self, id: ProcId) -> Option<&'a str> {
        let procedure = self.view.program.procedures.get(id.0 as usize)?;
        Some(&procedure.name)
    }

    fn callee(&self, id: NodeId) -> Option<ProcId> {
        match &self.view.node(id)?.op {
            Op::Call { callee, .. } => Some(*callee),
            _ => None,
        }
    }

    /// Steps that begin with these values.
    fn steps<'w>(
        &'w self,
        steps: &'w [Step],
        start: &Valuation,
    ) -> impl Iterator<Item = StepJson<'w, 'a>> + use<'w, 'a> {
        let mut now = start.clone();
        let mut depth = 0;
        steps.iter().map(move |step| {
            follow(&mut now, &step.action);
            let shown = StepJson::new(self, step.node, depth, Deed::Step(&step.action), &now);
            depth += u64::from(shown.enters());
            shown
        })
    }

    /// The callees' runs, each once.
    fn runs(&self) -> impl Iterator<Item = RunJson<'_, 'a>> {
        let runs = self.view.runs;
        // The first run with these steps, and the variables whose values they show though they do
        // not change them.
        let mut first: HashMap<*const Step, (usize, Box<[VarRef]>)> = HashMap::new();
        let mut earlier = move |i: usize, run: &CalleeRun| {
            if run.steps.is_empty() || Arc::strong_count(&run.steps) == 1 {
                return None;
            }
            match first.entry(run.steps.as_ptr()) {
                Entry::Vacant(entry) => {
                    entry.insert((i, self.view.choices.kept(&run.steps)));
                    None
                }
                Entry::Occupied(entry) => {
                    let (same, kept) = entry.get();
                    let other = &runs[*same].entry;
                    let alike = |var| value_of(other, var) == value_of(&run.entry, var);
                    kept.iter().all(|&var| alike(var)).then_some(*same)
                }
            }
        };
        runs.iter().enumerate().map(move |(i, run)| RunJson {
            writer: self,
            run,
            steps_of: earlier(i, run),
            length: self.view.lengths.of_run(CalleeRunId(i as u32)),
        })
    }

    /// Values of locals, parameters first, by name.
    fn locals<'v>(
        &'v self,
        procedure: Option<ProcId>,
        values: &'v [Value],
    ) -> impl Iterator<Item = (&'v str, Number)> {
        let index = procedure.map(|id| id.0 as usize);
        let locals = index.and_then(|i| self.view.program.procedures.get(i));
        let locals = locals.map_or(&[][..], |procedure| &procedure.locals);
        let pairs = locals.iter().zip(values).enumerate();
        pairs.filter_map(move |(i, (variable, &value))| {
            let name = self.names.local(procedure?, i)?;
            Some((name, Number(value, variable.ty)))
        })
    }

    /// Values of globals and locals, by name.
    fn valuation<'v>(
        &'v self,
        procedure: Option<ProcId>,
        values: &'v Valuation,
    ) -> impl Iterator<Item = (&'v str, Number)> {
        let globals = self.view.program.globals.iter().zip(&values.globals);
        let globals = globals.enumerate().filter_map(|(i, (variable, &value))| {
            Some((self.names.global(i)?, Number(value, variable.ty)))
        });
        globals.chain(self.locals(procedure, &values.locals))
    }

    /// Values of some variables as they are seen at a node.
    fn changes<'v>(
        &'v self,
        at: NodeId,
        changes: &'v [(VarRef, Value)],
    ) -> impl Iterator<Item = (&'v str, Number)> {
        changes.iter().filter_map(move |&(var, value)| {
            let variable = self.view.variable(at, var)?;
            let name = match var {
                VarRef::Global(i) => self.names.global(i as usize),
                VarRef::Local(i) => self.names.local(self.view.node(at)?.procedure, i as usize),
            };
            Some((name?, Number(value, variable.ty)))
        })
    }

    /// What is returned at a node.
    fn results<'v>(&'v self, exit: NodeId, results: &'v [Value]) -> impl Iterator<Item = Number> {
        let procedure = self.view.procedure_of(exit);
        let types = procedure.map_or(&[][..], |procedure| &procedure.results);
        let results = results.iter().zip(types);
        results.map(|(&result, &ty)| Number(result, ty))
    }
}
