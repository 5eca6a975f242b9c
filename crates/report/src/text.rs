//! Executions as text.
//!
//! Each step is a line with its source line number, its statement, indented by call depth,
//! and the variables that changed. If the whole execution, written out, has at most
//! [`Style::max_steps`] steps, every call is written out. Otherwise a callee's run is
//! written out where it is first used, as long as there is room, and is one line wherever it
//! is used again; if even the outermost steps are too many, the middle is left out.

mod headings;
mod remarks;

use std::collections::BTreeMap;

use droste_base::words::counted;
use droste_program::execution::{
    Action, CalleeRun, CalleeRunId, Ending, Execution, Step, Valuation,
};
use droste_program::{NodeId, Program, Value, VarRef};
use droste_replay::{MonitorRun, Reading};
use droste_source::SourceFile;

use crate::follow::follow;
use crate::layout::{Kind, Line, lay_out};
use crate::reasons::{IN_CALL, StepPath};
use crate::view::{View, name, steps as steps_text, visible};
use crate::{Reasons, Remarks, Style};

/// More globals, and more locals, than this are not listed at the start.
const LISTED: usize = 40;

/// Titles are cut off here.
const TITLE: usize = 300;

/// `execution` as text, one step per line.
pub fn text(
    program: &Program,
    source: &SourceFile,
    execution: &Execution,
    style: &Style,
) -> String {
    text_with_remarks(program, source, execution, Remarks::default(), style)
}

/// The same, with the states of a monitor, and why a formula is not satisfied, to the right of the
/// steps.
pub fn text_with_remarks(
    program: &Program,
    source: &SourceFile,
    execution: &Execution,
    remarks: Remarks<'_>,
    style: &Style,
) -> String {
    let monitor = remarks.monitor;
    let view = View::new(program, source, &execution.runs);
    let total = view.lengths.of(&execution.steps);
    let last = last_configuration(execution);
    let full = total <= style.max_steps as u64;
    let room = style.max_steps.saturating_sub(execution.steps.len());
    let mut writer = Writer {
        monitor,
        state: monitor.map(|run| run.before),
        reasons: remarks.reasons,
        marks: remarks.marks,
        ..Writer::new(view, style, last, full, room)
    };
    let mut out = writer.title(execution, total);
    let actions = execution.steps.iter().map(|step| &step.action);
    out.push_str(&writer.start(&execution.start, actions));
    writer.sections(execution);
    out.push_str(&lay_out(&writer.lines, style));
    out
}

/// The configuration in which the last step is made.
pub(crate) struct Last {
    pub(crate) now: Valuation,
    /// The last call that has not returned.
    pub(crate) caller: Option<NodeId>,
}

fn last_configuration(execution: &Execution) -> Last {
    let mut now = execution.start.clone();
    let mut caller = None;
    for step in &execution.steps {
        follow(&mut now, &step.action);
        if let Action::Call { .. } = step.action {
            caller = Some(step.node);
        }
    }
    Last { now, caller }
}

/// Steps that are being written.
struct Open<'a> {
    steps: &'a [Step],
    index: usize,
    depth: usize,
    /// The globals, and the locals of the top frame.
    now: Valuation,
    /// For a callee's run: the run, and the step that it belongs to.
    call: Option<(&'a CalleeRun, &'a Step)>,
    /// What the monitor does at the steps.
    readings: &'a [Reading],
    /// The state that the monitor is in after the call.
    after: Option<u32>,
}

pub(crate) struct Writer<'a> {
    pub(crate) view: View<'a>,
    style: &'a Style,
    pub(crate) lines: Vec<Line>,
    monitor: Option<&'a MonitorRun>,
    /// The state that the monitor is in.
    state: Option<u32>,
    reasons: Option<&'a Reasons>,
    marks: Option<&'a BTreeMap<NodeId, String>>,
    /// How many of the execution's own steps have been written or left out.
    top: usize,
    last: Last,
    /// Every call is written out.
    full: bool,
    /// How many more steps of callees may be written out otherwise.
    room: usize,
    /// The runs that have been written out.
    shown: Vec<bool>,
}

impl<'a> Writer<'a> {
    /// A writer for an execution without a monitor or a formula.
    pub(crate) fn new(
        view: View<'a>,
        style: &'a Style,
        last: Last,
        full: bool,
        room: usize,
    ) -> Self {
        Writer {
            full,
            room,
            shown: vec![false; view.runs.len()],
            lines: Vec::new(),
            monitor: None,
            state: None,
            reasons: None,
            marks: None,
            top: 0,
            last,
            view,
            style,
        }
    }

    fn paragraph(&self, title: &str, text: &str, out: &mut String) {
        if text.is_empty() {
            return;
        }
        let text = &visible(text);
        let start = format!("{:<8} ", visible(title));
        let width = self.style.width.max(40);
        let mut column = start.chars().count();
        let indent = column;
        out.push_str(&start);
        for (i, word) in text.split(", ").enumerate() {
            let length = word.chars().count() + 2;
            if i > 0 {
                out.push(',');
                if column + length > width {
                    out.push('\n');
                    out.extend(std::iter::repeat_n(' ', indent));
                    column = indent;
                } else {
                    out.push(' ');
                }
            }
            out.push_str(word);
            column += length;
        }
        out.push('\n');
    }

    fn sections(&mut self, execution: &'a Execution) {
        let steps = &execution.steps[..];
        let most = self.style.max_steps;
        let now = &mut execution.start.clone();
        let readings = self.monitor.map_or(&[][..], |run| &run.steps);
        match execution.ending {
            Ending::Lasso { start, pumping } => {
                let (stem, cycle) = steps.split_at(start.min(steps.len()));
                let mut depth = 0;
                if !stem.is_empty() {
                    self.lines.push(Line::heading("stem"));
                    depth = self.section(stem, readings, 0, most / 2, now);
                }
                let end = calls(cycle);
                let heading = match end {
                    0 if !pumping => "cycle (repeats for ever)".to_owned(),
                    n => format!(
                        "cycle (repeats for ever; each round leaves {} on the stack)",
                        counted(n as u64, "more frame")
                    ),
                };
                self.lines.push(Line::heading(self.cycle_heading(heading)));
                // The first line of the cycle says which state the monitor is in.
                self.state = None;
                let readings = readings.get(stem.len()..).unwrap_or(&[]);
                depth = self.section(cycle, readings, depth, most / 2, now);
                if let Some(line) = cycle.first().and_then(|step| self.view.line(step.node)) {
                    let text = format!("↺ again from line {line}");
                    self.push(Kind::Gap, None, depth, text, String::new());
                }
            }
            Ending::At(node) => {
                let depth = self.section(steps, readings, 0, most, now);
                let end = self.monitor.and_then(|run| Some((run, run.end?)));
                let what = match end {
                    Some((run, state)) if run.accepts(state) => self.deed(),
                    _ => None,
                };
                let remark = format!("● {}", what.unwrap_or_else(|| self.reached(node)));
                self.step(Kind::Mark, node, depth, remark);
            }
            Ending::Stuck(node) => {
                let depth = self.section(steps, readings, 0, most, now);
                let remark = "✗ nothing can happen here".to_owned();
                self.step(Kind::Mark, node, depth, remark);
            }
            Ending::Final => drop(self.section(steps, readings, 0, most, now)),
            Ending::Terminated => {
                let depth = self.section(steps, readings, 0, most, now);
                let text = "↺ stays as it is for ever".to_owned();
                self.push(Kind::Gap, None, depth, text, String::new());
                let end = self.monitor.and_then(|run| run.end);
                self.mark(end.map(simple));
                self.give_reasons(&[steps.len()], false);
            }
        }
    }

    /// The heading of the cycle; says so if the monitor needs some rounds to get into the one that
    /// is shown.
    fn cycle_heading(&self, heading: String) -> String {
        match self.monitor.map(|run| (run, run.cycle)) {
            Some((run, Some(state))) if self.state != Some(state) => {
                let state = name(run.state(state));
                format!(
                    "{heading}, in a round that monitor {} begins in {state}",
                    name(&run.name)
                )
            }
            _ => heading,
        }
    }

    /// Writes the steps, leaving out the middle if they are too many; the depth after them.
    pub(crate) fn section(
        &mut self,
        steps: &'a [Step],
        readings: &'a [Reading],
        depth: usize,
        most: usize,
        now: &mut Valuation,
    ) -> usize {
        let most = most.max(8);
        let (head, rest) = steps.split_at(if steps.len() > most {
            most / 2
        } else {
            steps.len()
        });
        let (gap, tail) = rest.split_at(rest.len().saturating_sub(most / 2));
        *now = self.write(head, readings, depth, std::mem::take(now));
        let mut depth = depth + calls(head);
        if !gap.is_empty() {
            let text = format!("… {} left out …", steps_text(self.view.lengths.of(gap)));
            self.push(Kind::Gap, None, depth, text, String::new());
            let after = readings.get((head.len() + gap.len()).saturating_sub(1));
            if let (Some(before), Some(after)) = (self.state, after) {
                self.mark(Some(Reading {
                    read: before,
                    after: after.after,
                    within: false,
                }));
            }
            for _ in gap {
                self.give_reasons(&[self.top], true);
                self.top += 1;
            }
            depth += calls(gap);
            for step in gap {
                follow(now, &step.action);
            }
        }
        let readings = readings.get(head.len() + gap.len()..).unwrap_or(&[]);
        *now = self.write(tail, readings, depth, std::mem::take(now));
        depth + calls(tail)
    }

    /// Writes the steps, and what callees do in them, by a stack of those that are open.
    fn write(
        &mut self,
        steps: &'a [Step],
        readings: &'a [Reading],
        depth: usize,
        now: Valuation,
    ) -> Valuation {
        let mut stack = vec![Open {
            steps,
            index: 0,
            depth,
            now,
            call: None,
            readings,
            after: None,
        }];
        let mut now = Valuation::default();
        loop {
            let level = stack.len();
            let Some(open) = stack.last_mut() else { break };
            let Some(step) = open.steps.get(open.index) else {
                if let Some((run, call)) = open.call {
                    let (depth, after) = (open.depth, open.after);
                    if let [.., caller, callee] = &stack[..] {
                        let remark = self.returns(run, call, &callee.now, &caller.now);
                        self.step(Kind::Step, run.exit, depth, remark);
                    }
                    self.mark(after.map(simple));
                    let place = self.place(&stack);
                    self.give_reasons(&place, false);
                }
                now = stack.pop().map_or(now, |open| open.now);
                continue;
            };
            let reading = open.readings.get(open.index).copied();
            open.index += 1;
            let mut folded = false;
            follow(&mut open.now, &step.action);
            let (depth, node) = (open.depth, step.node);
            match &step.action {
                Action::Internal { to, changes } => {
                    let remark = if let Some(taken) = self.view.branch(node, *to) {
                        taken.to_string()
                    } else {
                        self.changes(node, &self.view.choices.shown(node, changes, &open.now))
                    };
                    self.step(Kind::Step, node, depth, remark);
                    self.mark(reading);
                }
                Action::Call { locals } => {
                    let remark = format!("→ {}", self.entering(node, locals, true));
                    self.step(Kind::Step, node, depth, remark);
                    self.mark(reading);
                    open.depth += 1;
                }
                Action::Folded {
                    run: id, changes, ..
                } => {
                    let index = id.0 as usize;
                    let Some(run) = self.view.runs.get(index) else {
                        self.step(Kind::Step, node, depth, "?".to_owned());
                        continue;
                    };
                    if self.writes_out(*id, run, open.call.map(|(_, call)| call)) {
                        let entering = self.entering(node, &run.entry.locals, true);
                        self.step(Kind::Step, node, depth, format!("→ {entering}"));
                        self.mark(reading.map(|reading| simple(reading.read)));
                        let inside = match (self.monitor, reading) {
                            (Some(monitor), Some(reading)) => monitor.inside(*id, reading),
                            _ => &[],
                        };
                        stack.push(Open {
                            steps: &run.steps,
                            index: 0,
                            depth: depth + 1,
                            now: run.entry.clone(),
                            call: Some((run, step)),
                            readings: inside,
                            after: reading.map(|reading| reading.after),
                        });
                    } else {
                        folded = true;
                        let remark = self.folded(node, *id, run, changes);
                        self.step(Kind::Step, node, depth, remark);
                        self.mark(reading);
                    }
                }
                Action::Terminate => {
                    self.step(Kind::Step, node, depth, "← the program ends".to_owned());
                    self.mark(reading);
                }
                Action::Fail(violation) => {
                    let remark = format!("✗ {}", self.violation(node, *violation));
                    self.step(Kind::Mark, node, depth, remark);
                    self.mark(reading);
                }
            }
            if self.reasons.is_some() {
                let mut place = self.place(&stack[..level]);
                if let Some(last) = place.last_mut() {
                    *last -= 1;
                }
                self.give_reasons(&place, folded);
            }
        }
        self.top += steps.len();
        now
    }

    /// The place of the next step of those that are open; `top` is that of the first of the
    /// outermost ones.
    fn place(&self, stack: &[Open<'_>]) -> StepPath {
        let mut place: StepPath = stack.iter().map(|open| open.index).collect();
        // Outer steps have been begun.
        let last = place.len().saturating_sub(1);
        place[..last].iter_mut().for_each(|index| *index -= 1);
        if let Some(first) = place.first_mut() {
            *first += self.top;
        }
        place
    }

    /// Says in the last line why the formula is not satisfied, as far as it shows at this place; if
    /// the call that begins there is `folded`, also in the call.
    fn give_reasons(&mut self, place: &[usize], folded: bool) {
        let Some(reasons) = self.reasons else { return };
        let Some(line) = self.lines.last_mut() else {
            return;
        };
        let mut in_call = false;
        for reason in reasons.texts(place, folded) {
            // That is said once.
            let bare = reason.strip_prefix(IN_CALL).filter(|_| in_call);
            in_call = reason.starts_with(IN_CALL);
            let reason = bare.unwrap_or(&reason);
            let before = if line.monitor.is_empty() {
                "▸ "
            } else {
                "; "
            };
            line.monitor.push_str(before);
            line.monitor.push_str(reason);
        }
    }

    /// Whether a run is to be written out; it is met in a step of the run that `within` is for.
    fn writes_out(&mut self, id: CalleeRunId, run: &CalleeRun, within: Option<&Step>) -> bool {
        // An ill-founded reference would never end.
        let founded = match within.map(|step| &step.action) {
            Some(Action::Folded { run, .. }) => id < *run,
            _ => true,
        };
        let index = id.0 as usize;
        if !founded {
            return false;
        }
        if self.full {
            return true;
        }
        let size = run.steps.len() + 1;
        if self.shown[index] || size > self.room {
            return false;
        }
        self.room -= size;
        self.shown[index] = true;
        true
    }

    /// A call in one line.
    fn folded(
        &self,
        node: NodeId,
        id: CalleeRunId,
        run: &CalleeRun,
        changes: &[(VarRef, Value)],
    ) -> String {
        let mut text = self.entering(node, &run.entry.locals, false);
        text.push_str(" … ");
        text.push_str(&self.results(run));
        if !changes.is_empty() {
            text.push_str("; ");
            text.push_str(&self.changes(node, changes));
        }
        let above = if self.shown.get(id.0 as usize) == Some(&true) {
            "as above, "
        } else {
            ""
        };
        let length = steps_text(self.view.lengths.of_run(id));
        format!("{text} ({above}{length})")
    }

    pub(crate) fn step(&mut self, kind: Kind, node: NodeId, depth: usize, remark: String) {
        let number = self.view.line(node);
        let text = self.view.labelled(node);
        self.push(kind, number, depth, text, remark);
        let mark = self.marks.and_then(|marks| marks.get(&node));
        if let (Some(mark), Some(line)) = (mark, self.lines.last_mut()) {
            line.monitor = format!("▸ {mark}");
        }
    }

    pub(crate) fn push(
        &mut self,
        kind: Kind,
        number: Option<u32>,
        depth: usize,
        text: String,
        remark: String,
    ) {
        self.lines.push(Line {
            kind,
            number,
            depth,
            text,
            remark,
            monitor: String::new(),
            thread: None,
        });
    }
}

/// The monitor moves at a position, and no further.
fn simple(state: u32) -> Reading {
    Reading {
        read: state,
        after: state,
        within: false,
    }
}

/// How many calls that do not return there are.
fn calls(steps: &[Step]) -> usize {
    steps
        .iter()
        .filter(|step| matches!(step.action, Action::Call { .. }))
        .count()
}
