//! The parts of an execution, each as it is written.

use std::borrow::Cow;

use droste_program::concurrent::ThreadId;
use droste_program::execution::{Action, CalleeRun, Ending, Valuation};
use droste_program::standing::Standing;
use droste_program::{NodeId, Type, Value, VarRef, Violation};
use droste_replay::MonitorRun;
use serde::ser::{Serialize, SerializeMap, Serializer};

use super::Writer;

/// The largest integer up to which JSON numbers are exact everywhere.
const EXACT: Value = 1 << 53;

/// A list whose items are made one after the other while it is written.
pub(super) struct List<F>(pub(super) F);

impl<F, I> Serialize for List<F>
where
    F: Fn() -> I,
    I: Iterator<Item: Serialize>,
{
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq((self.0)())
    }
}

/// An object whose entries are made one after the other while it is written.
pub(super) struct Object<F>(pub(super) F);

impl<F, I, K, V> Serialize for Object<F>
where
    F: Fn() -> I,
    I: Iterator<Item = (K, V)>,
    K: Serialize,
    V: Serialize,
{
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map((self.0)())
    }
}

/// A value of a variable.
pub(super) struct Number(pub(super) Value, pub(super) Type);

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Number(value, ty) = *self;
        match (ty, value) {
            (Type::Bool, 0 | 1) => serializer.serialize_bool(value == 1),
            _ if (-EXACT..=EXACT).contains(&value) => serializer.serialize_i64(value as i64),
            _ => serializer.collect_str(&value),
        }
    }
}

/// What belongs to a node.
#[derive(serde::Serialize)]
pub(super) struct NodeJson<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) procedure: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) line: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) column: Option<u32>,
    pub(super) statement: String,
    pub(super) labels: Vec<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) callee: Option<&'a str>,
}

/// A run of a monitor, as far as it does not belong to steps.
#[derive(serde::Serialize)]
pub(super) struct MonitorJson<'a> {
    name: &'a str,
    start: &'a str,
    enters: &'a str,
}

impl<'a> MonitorJson<'a> {
    pub(super) fn of(run: &'a MonitorRun) -> Self {
        MonitorJson {
            name: &run.name,
            start: run.state(run.before),
            enters: run.state(run.entered),
        }
    }
}

/// What happens at a step.
pub(super) enum Deed<'w> {
    /// As in a sequential execution.
    Step(&'w Action),
    /// A return to the call at the node, if it is known.
    Return {
        call: Option<NodeId>,
        results: &'w [Value],
        changes: &'w [(VarRef, Value)],
    },
    Start(ThreadId),
    End,
}

/// A step.
pub(super) struct StepJson<'w, 'a> {
    writer: &'w Writer<'a>,
    node: NodeId,
    depth: u64,
    deed: Deed<'w>,
    /// The values that change or are chosen.
    changes: Cow<'w, [(VarRef, Value)]>,
    /// The state of the monitor afterwards, if it is another one.
    pub(super) monitor: Option<&'w str>,
    /// Why a formula is not satisfied, as far as it shows here.
    pub(super) reasons: Vec<String>,
}

impl<'w, 'a> StepJson<'w, 'a> {
    /// A step after which the values are `now`.
    pub(super) fn new(
        writer: &'w Writer<'a>,
        node: NodeId,
        depth: u64,
        deed: Deed<'w>,
        now: &Valuation,
    ) -> Self {
        let changes = match &deed {
            Deed::Step(Action::Internal { changes, .. }) => {
                writer.view.choices.shown(node, changes, now)
            }
            Deed::Step(Action::Folded { changes, .. }) => Cow::Borrowed(&**changes),
            Deed::Return { changes, .. } => Cow::Borrowed(*changes),
            _ => Cow::Borrowed(&[][..]),
        };
        StepJson {
            writer,
            node,
            depth,
            deed,
            changes,
            monitor: None,
            reasons: Vec::new(),
        }
    }

    /// Whether a procedure is entered that is not left in this step.
    pub(super) fn enters(&self) -> bool {
        matches!(self.deed, Deed::Step(Action::Call { .. }))
    }

    /// Writes what happens.
    fn deed<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        let writer = self.writer;
        let mut action = |action: &str| map.serialize_entry("action", action);
        match &self.deed {
            Deed::Step(Action::Internal { to, .. }) => {
                action("step")?;
                if let Some(taken) = writer.view.branch(self.node, *to) {
                    map.serialize_entry("branch", &taken)?;
                }
            }
            Deed::Step(Action::Call { locals }) => {
                action("call")?;
                let locals = || writer.locals(writer.callee(self.node), locals);
                map.serialize_entry("locals", &Object(locals))?;
            }
            Deed::Step(Action::Folded { run, .. }) => {
                action("folded")?;
                map.serialize_entry("run", &run.0)?;
            }
            Deed::Step(Action::Terminate) => action("terminate")?,
            Deed::Step(Action::Fail(violation)) => {
                action("fail")?;
                map.serialize_entry("violation", name_of(*violation))?;
            }
            Deed::Return { results, .. } => {
                action("return")?;
                let results = || writer.results(self.node, results);
                map.serialize_entry("results", &List(results))?;
            }
            Deed::Start(thread) => {
                action("start")?;
                map.serialize_entry("thread", &thread.0)?;
            }
            Deed::End => action("end")?,
        }
        Ok(())
    }
}

impl Serialize for StepJson<'_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("node", &self.node.0)?;
        if self.depth > 0 {
            map.serialize_entry("depth", &self.depth)?;
        }
        self.deed(&mut map)?;
        // What a return changes are variables of the caller.
        let at = match self.deed {
            Deed::Return { call, .. } => call,
            _ => Some(self.node),
        };
        if let Some(at) = at
            && !self.changes.is_empty()
        {
            let changes = || self.writer.changes(at, &self.changes);
            map.serialize_entry("changes", &Object(changes))?;
        }
        if let Some(state) = self.monitor {
            map.serialize_entry("monitor", state)?;
        }
        if !self.reasons.is_empty() {
            map.serialize_entry("reasons", &self.reasons)?;
        }
        map.end()
    }
}

fn name_of(violation: Violation) -> &'static str {
    match violation {
        Violation::Assertion => "assertion",
        Violation::OutOfRange => "out of range",
        Violation::DivisionByZero => "division by zero",
        Violation::NegativeShift => "negative shift",
    }
}

/// A callee's run.
pub(super) struct RunJson<'w, 'a> {
    pub(super) writer: &'w Writer<'a>,
    pub(super) run: &'w CalleeRun,
    /// An earlier run that has the same steps.
    pub(super) steps_of: Option<usize>,
    pub(super) length: u64,
}

impl Serialize for RunJson<'_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (writer, run) = (self.writer, self.run);
        let procedure = writer.view.node(run.exit).map(|node| node.procedure);
        let mut map = serializer.serialize_map(None)?;
        if let Some(name) = procedure.and_then(|id| writer.procedure(id)) {
            map.serialize_entry("procedure", name)?;
        }
        let entry = || writer.valuation(procedure, &run.entry);
        map.serialize_entry("entry", &Object(entry))?;
        if let Some(earlier) = self.steps_of {
            map.serialize_entry("steps_of", &earlier)?;
        } else {
            let steps = || writer.steps(&run.steps, &run.entry);
            map.serialize_entry("steps", &List(steps))?;
        }
        map.serialize_entry("exit", &run.exit.0)?;
        let results = || writer.results(run.exit, &run.results);
        map.serialize_entry("results", &List(results))?;
        map.serialize_entry("length", &self.length)?;
        map.end()
    }
}

/// How an execution ends.
pub(super) struct EndingJson<'a> {
    pub(super) ending: Ending,
    /// The state of the monitor.
    pub(super) monitor: Option<&'a str>,
    /// Why a formula is not satisfied.
    pub(super) reasons: Option<&'a Vec<String>>,
    /// How things stand with each thread, if none can make a step.
    pub(super) standings: Vec<Standing>,
}

impl Serialize for EndingJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        match self.ending {
            Ending::At(node) => {
                map.serialize_entry("kind", "at")?;
                map.serialize_entry("node", &node.0)?;
            }
            Ending::Stuck(node) => {
                map.serialize_entry("kind", "stuck")?;
                map.serialize_entry("node", &node.0)?;
            }
            Ending::Final => map.serialize_entry("kind", "final")?,
            Ending::Lasso { start, pumping } => {
                map.serialize_entry("kind", "lasso")?;
                map.serialize_entry("start", &start)?;
                map.serialize_entry("pumping", &pumping)?;
            }
            Ending::Terminated => map.serialize_entry("kind", "terminated")?,
        }
        if let Some(state) = self.monitor {
            map.serialize_entry("monitor", state)?;
        }
        if let Some(reasons) = self.reasons {
            map.serialize_entry("reasons", reasons)?;
        }
        if !self.standings.is_empty() {
            let standings = self.standings.iter().copied().map(StandingJson);
            map.serialize_entry("threads", &List(|| standings.clone()))?;
        }
        map.end()
    }
}

/// How things stand with a thread.
struct StandingJson(Standing);

impl Serialize for StandingJson {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (word, node) = match self.0 {
            Standing::Ended => ("ended", None),
            Standing::Blocked(node) => ("blocked", Some(node)),
            Standing::Barred(node) => ("barred", Some(node)),
        };
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("standing", word)?;
        if let Some(node) = node {
            map.serialize_entry("node", &node.0)?;
        }
        map.end()
    }
}
