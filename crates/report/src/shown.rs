//! A run as it is shown: with what a monitor or a formula has to say about it.

use std::collections::BTreeMap;
use std::fmt;

use droste_base::Limits;
use droste_program::concurrent::Run;
use droste_program::monitor::Monitor;
use droste_program::temporal::Formula;
use droste_program::{NodeId, Program};
use droste_replay::{MonitorRun, monitor_run};
use droste_source::SourceFile;
use serde::Serialize;

use crate::{
    ConcurrentJson, Json, Reasons, Remarks, Style, concurrent_json, concurrent_text,
    json_with_remarks, text_with_remarks,
};

/// What a run violates and what may have something to say about its steps.
#[derive(Clone, Debug, Default)]
pub struct Watched<'a> {
    /// A monitor, or an automaton as one.
    pub monitor: Option<&'a Monitor>,
    /// A formula.
    pub formula: Option<&'a Formula>,
    /// What is said wherever control is at one of these nodes.
    pub marks: BTreeMap<NodeId, String>,
}

/// A run of a program, with or without threads, and what is said beside its steps.
pub struct Shown<'a> {
    program: &'a Program,
    source: &'a SourceFile,
    run: &'a Run,
    monitor: Option<MonitorRun>,
    reasons: Reasons,
    marks: BTreeMap<NodeId, String>,
}

/// A run of either kind as JSON, written while it is walked along.
#[derive(Serialize)]
#[serde(untagged)]
pub enum RunJson<'a> {
    /// Of a program without threads.
    Sequential(Json<'a>),
    /// Of a program with threads.
    Threads(ConcurrentJson<'a>),
}

impl<'a> Shown<'a> {
    /// Finds out what there is to be said about the steps of a run.
    pub fn new(
        program: &'a Program,
        source: &'a SourceFile,
        run: &'a Run,
        watched: Watched<'_>,
    ) -> Self {
        let (mut monitor, mut reasons) = (None, Reasons::default());
        if let Run::Sequential(execution) = run {
            monitor = watched
                .monitor
                .and_then(|monitor| monitor_run(program, execution, monitor, false));
            if let Some(formula) = watched.formula {
                let mut guard = Limits::default().guard();
                let found = Reasons::new(program, execution, formula, &mut guard);
                reasons = found.unwrap_or_default();
            }
        }
        Shown {
            program,
            source,
            run,
            monitor,
            reasons,
            marks: watched.marks,
        }
    }

    fn remarks(&self) -> Remarks<'_> {
        Remarks {
            monitor: self.monitor.as_ref(),
            reasons: Some(&self.reasons),
            marks: Some(&self.marks),
        }
    }

    /// As text for people.
    pub fn text(&self, style: &Style) -> String {
        let (program, source) = (self.program, self.source);
        match self.run {
            Run::Sequential(execution) => {
                text_with_remarks(program, source, execution, self.remarks(), style)
            }
            Run::Threads(execution) => concurrent_text(program, source, execution, style),
        }
    }

    /// As JSON for tools.
    pub fn json(&self) -> RunJson<'_> {
        let (program, source) = (self.program, self.source);
        match self.run {
            Run::Sequential(execution) => RunJson::Sequential(json_with_remarks(
                program,
                source,
                execution,
                self.remarks(),
            )),
            Run::Threads(execution) => {
                RunJson::Threads(concurrent_json(program, source, execution))
            }
        }
    }
}

impl fmt::Display for RunJson<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RunJson::Sequential(json) => json.fmt(f),
            RunJson::Threads(json) => json.fmt(f),
        }
    }
}
