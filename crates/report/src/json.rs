//! Executions as JSON: the same information as the text, nothing left out, calls folded.

use droste_program::execution::{Action, CalleeRun, Ending, Execution, Step, Valuation};
use droste_program::{NodeId, Op, Procedure, Program, Type, Value, VarRef, Violation};
use droste_source::SourceFile;

use serde_json::{Map, Value as Json, json};

use crate::Remarks;
use crate::view::View;

/// The largest integer up to which JSON numbers are exact everywhere.
const EXACT: Value = 1 << 53;

/// `execution` as JSON: an object with `start`, `steps`, `runs`, `ending` and `length`.
///
/// Booleans are JSON Booleans; integers are numbers, beyond ±2⁵³ strings. A local that has
/// the name of a global is written `procedure::name`. Folded steps and `runs` refer to each
/// other by index. `length` is the number of steps with every call written out, saturating.
pub fn json(program: &Program, source: &SourceFile, execution: &Execution) -> Json {
    json_with_remarks(program, source, execution, Remarks::default())
}

/// The same with a run of a monitor: a step at which the monitor goes to another state has that state,
/// after the step, as `monitor`; so has the ending. The whole has the monitor's name and its first state. A step at
/// which it shows why a formula is not satisfied says so in `reasons`; so does the ending.
pub fn json_with_remarks(
    program: &Program,
    source: &SourceFile,
    execution: &Execution,
    Remarks { monitor, reasons }: Remarks<'_>,
) -> Json {
    let writer = Writer::new(program, View::new(program, source, execution));
    let main = program.procedures.get(program.main.0 as usize);
    let mut depth = 0u64;
    let mut steps = Vec::with_capacity(execution.steps.len());
    let cycle = match execution.ending {
        Ending::Lasso { start, .. } => Some(start),
        _ => None,
    };
    let mut state = monitor.map(|run| run.before);
    for (i, step) in execution.steps.iter().enumerate() {
        let mut object = writer.step(step, depth);
        if let Some(run) = monitor
            && let Some(reading) = run.steps.get(i)
        {
            if cycle == Some(i) {
                state = run.cycle;
            }
            if state != Some(reading.after) {
                object["monitor"] = run.state(reading.after).into();
            }
            state = Some(reading.after);
        }
        let texts = reasons.map_or_else(Vec::new, |reasons| reasons.texts(&[i], true));
        if !texts.is_empty() {
            object["reasons"] = json!(texts);
        }
        steps.push(object);
        if matches!(step.action, Action::Call { .. }) {
            depth += 1;
        }
    }
    let runs = writer.runs();
    let mut object = json!({
        "file": source.name(),
        "start": writer.valuation(main, &execution.start),
        "steps": steps,
        "runs": runs,
        "ending": writer.ending(execution.ending),
        "length": writer.view.length(&execution.steps),
    });
    if let Some(texts) = reasons.and_then(|reasons| reasons.at.get(&vec![execution.steps.len()])) {
        object["ending"]["reasons"] = json!(texts);
    }
    if let Some(run) = monitor {
        object["monitor"] = json!({
            "name": &*run.name,
            "start": run.state(run.before),
            "enters": run.state(run.entered),
        });
        if let Some(end) = run.end {
            object["ending"]["monitor"] = run.state(end).into();
        }
        if let Some(state) = run.cycle {
            object["ending"]["monitor"] = run.state(state).into();
        }
    }
    object
}

pub(crate) struct Writer<'a> {
    view: View<'a>,
    globals: std::collections::HashSet<&'a str>,
}

fn number(value: Value, ty: Type) -> Json {
    match (ty, value) {
        (Type::Bool, 0 | 1) => Json::Bool(value == 1),
        _ if (-EXACT..=EXACT).contains(&value) => Json::from(value as i64),
        _ => Json::String(value.to_string()),
    }
}

fn violation(violation: Violation) -> &'static str {
    match violation {
        Violation::Assertion => "assertion",
        Violation::OutOfRange => "out of range",
        Violation::DivisionByZero => "division by zero",
        Violation::NegativeShift => "negative shift",
    }
}

impl<'a> Writer<'a> {
    pub(crate) fn new(program: &'a Program, view: View<'a>) -> Self {
        Writer {
            view,
            globals: program.globals.iter().map(|v| &*v.name).collect(),
        }
    }

    /// The callees' runs.
    pub(crate) fn runs(&self) -> Vec<Json> {
        let runs = self.view.execution.runs.iter().zip(&self.view.lengths);
        runs.map(|(run, length)| self.run(run, *length)).collect()
    }

    /// A step that is none of a sequential execution.
    pub(crate) fn action(&self, node: NodeId, depth: u64, action: &str) -> Map<String, Json> {
        let mut map = self.place(node);
        map.insert("depth".to_owned(), depth.into());
        map.insert("action".to_owned(), action.into());
        map
    }

    /// What is returned at a node.
    pub(crate) fn results(&self, exit: NodeId, results: &[Value]) -> Vec<Json> {
        let procedure = self.view.procedure_of(exit);
        let types = procedure.map_or(&[][..], |procedure| &procedure.results);
        let results = results.iter().zip(types);
        results.map(|(&result, &ty)| number(result, ty)).collect()
    }

    /// The name of a local, which must not be mistaken for a global.
    fn local_name(&self, procedure: &Procedure, index: usize) -> Option<String> {
        let name = &*procedure.locals.get(index)?.name;
        Some(if self.globals.contains(name) {
            format!("{}::{name}", procedure.name)
        } else {
            name.to_owned()
        })
    }

    pub(crate) fn locals(
        &self,
        procedure: Option<&Procedure>,
        values: &[Value],
        into: &mut Map<String, Json>,
    ) {
        let Some(procedure) = procedure else { return };
        for (i, (&value, variable)) in values.iter().zip(&procedure.locals).enumerate() {
            if let Some(name) = self.local_name(procedure, i) {
                into.insert(name, number(value, variable.ty));
            }
        }
    }

    pub(crate) fn valuation(&self, procedure: Option<&Procedure>, valuation: &Valuation) -> Json {
        let mut map = Map::new();
        for (&value, variable) in valuation.globals.iter().zip(&self.view.program.globals) {
            map.insert(variable.name.to_string(), number(value, variable.ty));
        }
        self.locals(procedure, &valuation.locals, &mut map);
        Json::Object(map)
    }

    pub(crate) fn changes(&self, at: NodeId, changes: &[(VarRef, Value)]) -> Json {
        let mut map = Map::new();
        for &(var, value) in changes {
            let Some(variable) = self.view.variable(at, var) else {
                continue;
            };
            let name = match var {
                VarRef::Global(_) => Some(variable.name.to_string()),
                VarRef::Local(i) => self
                    .view
                    .procedure_of(at)
                    .and_then(|procedure| self.local_name(procedure, i as usize)),
            };
            if let Some(name) = name {
                map.insert(name, number(value, variable.ty));
            }
        }
        Json::Object(map)
    }

    /// Line, column, procedure, node, statement and labels.
    pub(crate) fn place(&self, node: NodeId) -> Map<String, Json> {
        let mut map = Map::new();
        if let Some(at) = self.view.position(node) {
            map.insert("line".to_owned(), at.line.into());
            map.insert("column".to_owned(), at.column.into());
        }
        if let Some(procedure) = self.view.procedure_of(node) {
            map.insert("procedure".to_owned(), (*procedure.name).into());
        }
        map.insert("node".to_owned(), node.0.into());
        map.insert("statement".to_owned(), self.view.statement(node).into());
        let labels = self.view.node(node).map(|node| &node.labels[..]);
        let labels: Vec<Json> = labels
            .unwrap_or(&[])
            .iter()
            .map(|label| Json::from(&**label))
            .collect();
        map.insert("labels".to_owned(), labels.into());
        map
    }

    fn callee(&self, node: NodeId) -> Option<&Procedure> {
        match &self.view.node(node)?.op {
            Op::Call { callee, .. } => self.view.program.procedures.get(callee.0 as usize),
            _ => None,
        }
    }

    pub(crate) fn step(&self, step: &Step, depth: u64) -> Json {
        let mut map = self.place(step.node);
        let mut set = |key: &str, value: Json| drop(map.insert(key.to_owned(), value));
        set("depth", depth.into());
        let callee = self.callee(step.node);
        if let Some(callee) = callee {
            set("callee", (*callee.name).into());
        }
        match &step.action {
            Action::Internal { to, changes } => {
                set("action", "step".into());
                if let Some(taken) = self.view.branch(step.node, *to) {
                    set("branch", taken.into());
                }
                set("changes", self.changes(step.node, changes));
            }
            Action::Call { locals } => {
                set("action", "call".into());
                let mut entry = Map::new();
                self.locals(callee, locals, &mut entry);
                set("locals", entry.into());
            }
            Action::Folded { run, changes, .. } => {
                set("action", "folded".into());
                set("run", run.0.into());
                set("changes", self.changes(step.node, changes));
            }
            Action::Terminate => set("action", "terminate".into()),
            Action::Fail(kind) => {
                set("action", "fail".into());
                set("violation", violation(*kind).into());
            }
        }
        Json::Object(map)
    }

    fn run(&self, run: &CalleeRun, length: u64) -> Json {
        let procedure = self.view.procedure_of(run.exit);
        let steps: Vec<Json> = run.steps.iter().map(|step| self.step(step, 0)).collect();
        let results = self.results(run.exit, &run.results);
        json!({
            "procedure": procedure.map(|procedure| &*procedure.name),
            "entry": self.valuation(procedure, &run.entry),
            "steps": steps,
            "exit": self.place(run.exit),
            "results": results,
            "length": length,
        })
    }

    pub(crate) fn ending(&self, ending: Ending) -> Json {
        match ending {
            Ending::At(node) => {
                let mut map = self.place(node);
                map.insert("kind".to_owned(), "at".into());
                Json::Object(map)
            }
            Ending::Final => json!({ "kind": "final" }),
            Ending::Lasso { start, pumping } => {
                json!({ "kind": "lasso", "start": start, "pumping": pumping })
            }
            Ending::Terminated => json!({ "kind": "terminated" }),
        }
    }
}
