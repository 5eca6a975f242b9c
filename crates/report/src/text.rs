//! Executions as text.
//!
//! Each step is a line with its source line number, its statement, indented by call depth,
//! and the variables that changed. If the whole execution, written out, has at most
//! [`Style::max_steps`] steps, every call is written out. Otherwise a callee's run is
//! written out where it is first used, as long as there is room, and is one line wherever it
//! is used again; if even the outermost steps are too many, the middle is left out.

use droste_lang::execution::{Action, CalleeRun, CalleeRunId, Ending, Execution, Step, Valuation};
use droste_lang::monitor::StateKind;
use droste_lang::program::{NodeId, Op, ProcId, Procedure, Program, Value, VarRef, Violation};
use droste_lang::source::SourceFile;
use droste_replay::{MonitorRun, Reading};

use crate::explain;
use crate::layout::{Kind, Line, lay_out};
use crate::view::{
    View, binding, bindings, count, name, shorten, steps as steps_text, value, visible,
};
use crate::{Reasons, Remarks, Style};

/// More locals than this are not listed when a procedure is entered.
const LOCALS: usize = 6;

/// More globals than this are not listed at the start.
const GLOBALS: usize = 40;

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

/// The same, with the states of a monitor, and why a formula is not satisfied, to the right of the steps.
pub fn text_with_remarks(
    program: &Program,
    source: &SourceFile,
    execution: &Execution,
    remarks: Remarks<'_>,
    style: &Style,
) -> String {
    let monitor = remarks.monitor;
    let view = View::new(program, source, execution);
    let total = view.length(&execution.steps);
    let last = last_configuration(&view);
    let mut writer = Writer {
        declared: declared(&view),
        full: total <= style.max_steps as u64,
        room: style.max_steps.saturating_sub(execution.steps.len()),
        shown: vec![false; execution.runs.len()],
        lines: Vec::new(),
        monitor,
        state: monitor.map(|run| run.before),
        reasons: remarks.reasons,
        top: 0,
        last,
        view,
        style,
    };
    let mut out = writer.title(total);
    out.push_str(&writer.start());
    writer.sections();
    out.push_str(&lay_out(&writer.lines, style));
    out
}

/// For each procedure and local: whether there is a `decl` statement for it that is executed
/// (and shows its value, so that the entry need not).
fn declared(view: &View) -> Vec<Vec<bool>> {
    let procedures = view.program.procedures.iter();
    let mut declared: Vec<Vec<bool>> = procedures.map(|p| vec![false; p.locals.len()]).collect();
    for (i, node) in view.program.nodes.iter().enumerate() {
        for var in view.declares(NodeId(i as u32)) {
            if let VarRef::Local(i) = var
                && let Some(locals) = declared.get_mut(node.procedure.0 as usize)
                && let Some(entry) = locals.get_mut(i as usize)
            {
                *entry = true;
            }
        }
    }
    declared
}

/// The configuration in which the last step is made.
pub(crate) struct Last {
    pub(crate) now: Valuation,
    /// The last call that has not returned.
    pub(crate) caller: Option<NodeId>,
}

fn last_configuration(view: &View) -> Last {
    let mut now = view.execution.start.clone();
    let mut caller = None;
    for step in &view.execution.steps {
        match &step.action {
            Action::Internal { changes, .. } | Action::Folded { changes, .. } => {
                for &(var, value) in changes {
                    let place = match var {
                        VarRef::Global(i) => now.globals.get_mut(i as usize),
                        VarRef::Local(i) => now.locals.get_mut(i as usize),
                    };
                    if let Some(place) = place {
                        *place = value;
                    }
                }
            }
            Action::Call { locals } => {
                now.locals = locals.to_vec();
                caller = Some(step.node);
            }
            Action::Terminate | Action::Fail(_) => {}
        }
    }
    Last { now, caller }
}

/// Steps that are being written.
struct Open<'a> {
    steps: &'a [Step],
    index: usize,
    depth: usize,
    /// The locals of the top frame.
    locals: Vec<Value>,
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
    /// How many of the execution's own steps have been written or left out.
    top: usize,
    last: Last,
    /// The locals that have a `decl` statement.
    declared: Vec<Vec<bool>>,
    /// Every call is written out.
    full: bool,
    /// How many more steps of callees may be written out otherwise.
    room: usize,
    /// The runs that have been written out.
    shown: Vec<bool>,
}

impl<'a> Writer<'a> {
    /// For an execution that is written piece by piece.
    pub(crate) fn for_pieces(
        view: View<'a>,
        style: &'a Style,
        last: Last,
        full: bool,
        room: usize,
    ) -> Self {
        Writer {
            declared: declared(&view),
            full,
            room,
            shown: vec![false; view.execution.runs.len()],
            lines: Vec::new(),
            monitor: None,
            state: None,
            reasons: None,
            top: 0,
            last,
            view,
            style,
        }
    }

    /// Where it happens, what happens, and how long it takes.
    fn title(&self, total: u64) -> String {
        let execution = self.view.execution;
        let last = execution.steps.last();
        let (node, what) = match execution.ending {
            Ending::At(node) => (Some(node), self.reached(node)),
            Ending::Lasso { start, .. } => {
                let (stem, cycle) = execution.steps.split_at(start.min(execution.steps.len()));
                let stem = match self.view.length(stem) {
                    0 => String::new(),
                    length => format!("{}, then ", steps_text(length)),
                };
                let cycle = steps_text(self.view.length(cycle));
                let node = execution.steps.get(start).map(|step| step.node);
                (node, format!("runs for ever: {stem}a cycle of {cycle}"))
            }
            Ending::Terminated => (
                last.map(|step| step.node),
                "the program ends and stays as it is for ever".to_owned(),
            ),
            Ending::Final => match last.map(|step| (step.node, &step.action)) {
                Some((node, Action::Fail(violation))) => {
                    let text = self.violation(node, *violation);
                    let text = text.strip_suffix(" here").unwrap_or(&text);
                    (Some(node), text.to_owned())
                }
                other => (other.map(|(node, _)| node), "the program ends".to_owned()),
            },
        };
        let what = match self.deed() {
            Some(deed) if matches!(execution.ending, Ending::At(_)) => deed,
            Some(deed) => format!("{what}; {deed}"),
            None => what,
        };
        let length = match execution.ending {
            Ending::Lasso { .. } => String::new(),
            _ => format!(" ({})", steps_text(total)),
        };
        self.titled(node, &what, &length)
    }

    /// A title: where, what, how long.
    pub(crate) fn titled(&self, node: Option<NodeId>, what: &str, length: &str) -> String {
        let line = node
            .and_then(|node| self.view.position(node))
            .map_or(String::new(), |at| format!(":{}", at.line));
        let name = self.view.source.name();
        let title = visible(&format!("{name}{line}: {}{length}", shorten(what, TITLE)));
        if self.style.color {
            format!("\x1b[1m{title}\x1b[0m\n\n")
        } else {
            format!("{title}\n\n")
        }
    }

    /// What the monitor does that violates the property.
    fn deed(&self) -> Option<String> {
        let run = self.monitor?;
        let (monitor, state) = (name(&run.name), name(run.state(run.entered)));
        Some(match run.kind {
            StateKind::Repeating => format!("monitor {monitor} visits {state} again and again"),
            _ => format!("monitor {monitor} enters {state}"),
        })
    }

    /// What is said about the monitor where it goes from `before` to `after`, by way of `read` and, if
    /// `within`, of an accepting state.
    fn marker(&self, before: Option<u32>, reading: Reading) -> String {
        let Some(run) = self.monitor else {
            return String::new();
        };
        let mut text = String::new();
        if before != Some(reading.read) {
            text.push_str(&name(run.state(reading.read)));
        }
        let through = reading.within && !run.accepts(reading.after);
        if through || reading.after != reading.read {
            text.push_str(if text.is_empty() { "… " } else { " … " });
            if through {
                let mut states = (0..run.states.len() as u32).filter(|&s| run.accepts(s));
                text.push_str(&states.next().map_or("?".to_owned(), |s| name(run.state(s))));
                text.push_str(if states.next().is_some() {
                    ", … "
                } else {
                    " … "
                });
            }
            text.push_str(&name(run.state(reading.after)));
        }
        if text.is_empty() {
            text
        } else {
            format!("▸ {text}")
        }
    }

    /// Says in the last line what the monitor does there, and has it do that.
    fn mark(&mut self, reading: Option<Reading>) {
        let Some(reading) = reading else { return };
        let marker = self.marker(self.state, reading);
        if let Some(line) = self.lines.last_mut() {
            line.monitor = marker;
        }
        self.state = Some(reading.after);
    }

    pub(crate) fn violation(&self, node: NodeId, violation: Violation) -> String {
        explain::violation(
            &self.view,
            node,
            self.last.caller,
            &self.last.now,
            violation,
        )
    }

    pub(crate) fn reached(&self, node: NodeId) -> String {
        match self.view.node(node).map(|node| &node.labels[..]) {
            Some([label]) => format!("label {label} reached"),
            Some([first, rest @ ..]) => {
                let mut text = format!("labels {first}");
                for label in rest {
                    text.push_str(", ");
                    text.push_str(label);
                }
                text + " reached"
            }
            _ => "reached".to_owned(),
        }
    }

    /// The values at the start, wrapped.
    pub(crate) fn start(&self) -> String {
        let program = self.view.program;
        let start = &self.view.execution.start;
        let mut out = String::new();
        let globals = program.globals.iter().zip(start.globals.iter().copied());
        let total = globals.len();
        let chosen = self.chosen(total);
        let mut words: Vec<String> = globals
            .zip(&chosen)
            .filter(|(_, chosen)| **chosen)
            .map(|((variable, value), _)| binding(variable, value))
            .collect();
        if words.len() < total {
            words.push(format!(
                "… and {} more",
                count((total - words.len()) as u64)
            ));
        }
        self.paragraph("globals", &words.join(", "), &mut out);
        if let Some(main) = program.procedures.get(program.main.0 as usize) {
            let (params, others) = self.frame(program.main, &start.locals);
            let separator = if params.is_empty() || others.is_empty() {
                ""
            } else {
                ", "
            };
            self.paragraph(
                &name(&main.name),
                &format!("{params}{separator}{others}"),
                &mut out,
            );
        }
        if !out.is_empty() {
            out.push('\n');
        }
        out
    }

    /// Which of the globals are listed at the start: those that change, then the others, while there is room.
    fn chosen(&self, total: usize) -> Vec<bool> {
        if total <= GLOBALS {
            return vec![true; total];
        }
        let mut chosen = vec![false; total];
        let mut room = GLOBALS;
        let execution = self.view.execution;
        let inner = execution.runs.iter().flat_map(|run| &run.steps);
        for step in execution.steps.iter().chain(inner) {
            let (Action::Internal { changes, .. } | Action::Folded { changes, .. }) = &step.action
            else {
                continue;
            };
            for (var, _) in changes {
                if let VarRef::Global(i) = var
                    && let Some(entry @ false) = chosen.get_mut(*i as usize)
                    && room > 0
                {
                    *entry = true;
                    room -= 1;
                }
            }
        }
        for entry in chosen.iter_mut().filter(|entry| !**entry).take(room) {
            *entry = true;
        }
        chosen
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

    fn sections(&mut self) {
        let execution = self.view.execution;
        let steps = &execution.steps[..];
        let most = self.style.max_steps;
        let locals = &mut execution.start.locals.clone();
        let readings = self.monitor.map_or(&[][..], |run| &run.steps);
        match execution.ending {
            Ending::Lasso { start, pumping } => {
                let (stem, cycle) = steps.split_at(start.min(steps.len()));
                let mut depth = 0;
                if !stem.is_empty() {
                    self.lines.push(Line::heading("stem"));
                    depth = self.section(stem, readings, 0, most / 2, locals);
                }
                let end = calls(cycle);
                let heading = match end {
                    0 if !pumping => "cycle (repeats for ever)".to_owned(),
                    1 => "cycle (repeats for ever; each round leaves 1 more frame on the stack)"
                        .to_owned(),
                    n => format!(
                        "cycle (repeats for ever; each round leaves {} more frames on the stack)",
                        count(n as u64)
                    ),
                };
                self.lines.push(Line::heading(self.cycle_heading(heading)));
                // The first line of the cycle says which state the monitor is in.
                self.state = None;
                let readings = readings.get(stem.len()..).unwrap_or(&[]);
                depth = self.section(cycle, readings, depth, most / 2, locals);
                let line = cycle.first().and_then(|step| self.view.position(step.node));
                if let Some(at) = line {
                    let text = format!("↺ again from line {}", at.line);
                    self.push(Kind::Gap, None, depth, text, String::new());
                }
            }
            Ending::At(node) => {
                let depth = self.section(steps, readings, 0, most, locals);
                let end = self.monitor.and_then(|run| Some((run, run.end?)));
                let what = match end {
                    Some((run, state)) if run.accepts(state) => self.deed(),
                    _ => None,
                };
                let remark = format!("● {}", what.unwrap_or_else(|| self.reached(node)));
                self.step(Kind::Mark, node, depth, remark);
            }
            Ending::Final => drop(self.section(steps, readings, 0, most, locals)),
            Ending::Terminated => {
                let depth = self.section(steps, readings, 0, most, locals);
                let text = "↺ stays as it is for ever".to_owned();
                self.push(Kind::Gap, None, depth, text, String::new());
                let end = self.monitor.and_then(|run| run.end);
                self.mark(end.map(simple));
                self.give_reasons(steps.len()..steps.len() + 1);
            }
        }
    }

    /// The heading of the cycle; says so if the monitor needs some rounds to get into the one that is shown.
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
        locals: &mut Vec<Value>,
    ) -> usize {
        let most = most.max(8);
        let (head, rest) = steps.split_at(if steps.len() > most {
            most / 2
        } else {
            steps.len()
        });
        let (gap, tail) = rest.split_at(rest.len().saturating_sub(most / 2));
        *locals = self.write(head, readings, depth, std::mem::take(locals));
        let mut depth = depth + calls(head);
        if !gap.is_empty() {
            let text = format!("… {} left out …", steps_text(self.view.length(gap)));
            self.push(Kind::Gap, None, depth, text, String::new());
            let after = readings.get((head.len() + gap.len()).saturating_sub(1));
            if let (Some(before), Some(after)) = (self.state, after) {
                self.mark(Some(Reading {
                    read: before,
                    after: after.after,
                    within: false,
                }));
            }
            self.give_reasons(self.top..self.top + gap.len());
            depth += calls(gap);
            for step in gap {
                follow(locals, &step.action);
            }
        }
        let readings = readings.get(head.len() + gap.len()..).unwrap_or(&[]);
        *locals = self.write(tail, readings, depth, std::mem::take(locals));
        depth + calls(tail)
    }

    /// Writes the steps, and what callees do in them, by a stack of those that are open.
    fn write(
        &mut self,
        steps: &'a [Step],
        readings: &'a [Reading],
        depth: usize,
        locals: Vec<Value>,
    ) -> Vec<Value> {
        let mut stack = vec![Open {
            steps,
            index: 0,
            depth,
            locals,
            call: None,
            readings,
            after: None,
        }];
        let mut locals = Vec::new();
        while let Some(open) = stack.last_mut() {
            let Some(step) = open.steps.get(open.index) else {
                if let Some((run, call)) = open.call {
                    let remark = self.returns(run, call);
                    self.step(Kind::Step, run.exit, open.depth, remark);
                    self.mark(open.after.map(simple));
                }
                locals = stack.pop().map_or(locals, |open| open.locals);
                continue;
            };
            let reading = open.readings.get(open.index).copied();
            let own = open.call.is_none();
            open.index += 1;
            follow(&mut open.locals, &step.action);
            let (depth, node) = (open.depth, step.node);
            match &step.action {
                Action::Internal { to, changes } => {
                    let remark = if let Some(taken) = self.view.branch(node, *to) {
                        taken.to_string()
                    } else if self.view.is_declaration(node) {
                        self.declaration(node, changes, &open.locals)
                    } else {
                        self.changes(node, changes)
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
                    let Some(run) = self.view.execution.runs.get(index) else {
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
                            locals: run.entry.locals.clone(),
                            call: Some((run, step)),
                            readings: inside,
                            after: reading.map(|reading| reading.after),
                        });
                    } else {
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
            if own {
                self.give_reasons(self.top..self.top + 1);
            }
        }
        locals
    }

    /// Says in the last line why the formula is not satisfied, as far as it shows in these of the execution's own steps.
    fn give_reasons(&mut self, steps: std::ops::Range<usize>) {
        self.top = steps.end;
        let Some(reasons) = self.reasons else { return };
        let Some(line) = self.lines.last_mut() else {
            return;
        };
        for reason in reasons.at.range(steps).flat_map(|(_, reasons)| reasons) {
            let before = if line.monitor.is_empty() {
                "▸ "
            } else {
                "; "
            };
            line.monitor.push_str(before);
            line.monitor.push_str(reason);
        }
    }

    /// The values that a `decl` statement gives, changed or not, and whatever else changes.
    fn declaration(&self, at: NodeId, changes: &[(VarRef, Value)], locals: &[Value]) -> String {
        let declared: Vec<VarRef> = self.view.declares(at).collect();
        let values = declared.iter().filter_map(|&var| match var {
            VarRef::Local(i) => Some((var, *locals.get(i as usize)?)),
            VarRef::Global(_) => None,
        });
        let others = changes
            .iter()
            .copied()
            .filter(|(var, _)| !declared.contains(var));
        self.changes(at, &values.chain(others).collect::<Vec<_>>())
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

    /// `g = T, x = 3`
    pub(crate) fn changes(&self, at: NodeId, changes: &[(VarRef, Value)]) -> String {
        bindings(
            changes
                .iter()
                .filter_map(|&(var, value)| Some((self.view.variable(at, var)?, value))),
        )
    }

    /// `flip(n = 3; x = F)`: the callee of the call at `node`, its parameters, its locals.
    fn entering(&self, node: NodeId, values: &[Value], with_locals: bool) -> String {
        let Some((id, callee)) = self.callee(node) else {
            return "?".to_owned();
        };
        let (mut text, others) = self.frame(id, values);
        if with_locals && !others.is_empty() {
            text.push_str("; ");
            text.push_str(&others);
        }
        format!("{}({text})", name(&callee.name))
    }

    /// The parameters of a procedure, and those locals that no `decl` statement will show.
    pub(crate) fn frame(&self, id: ProcId, values: &[Value]) -> (String, String) {
        let Some(procedure) = self.view.program.procedures.get(id.0 as usize) else {
            return (String::new(), String::new());
        };
        let pairs = || procedure.locals.iter().zip(values.iter().copied());
        let params = procedure.params as usize;
        let others: Vec<_> = pairs()
            .zip(&self.declared[id.0 as usize])
            .skip(params)
            .filter_map(|(pair, declared)| (!declared).then_some(pair))
            .collect();
        let others = if others.len() <= LOCALS {
            bindings(others.into_iter())
        } else {
            "…".to_owned()
        };
        (bindings(pairs().take(params)), others)
    }

    fn callee(&self, node: NodeId) -> Option<(ProcId, &'a Procedure)> {
        let Op::Call { callee, .. } = &self.view.node(node)?.op else {
            return None;
        };
        let procedure = self.view.program.procedures.get(callee.0 as usize)?;
        Some((*callee, procedure))
    }

    /// `returns T, 3`
    fn results(&self, run: &CalleeRun) -> String {
        let mut text = "returns".to_owned();
        let types = self.view.procedure_of(run.exit).map(|p| &p.results[..]);
        for (i, (&result, &ty)) in run.results.iter().zip(types.unwrap_or(&[])).enumerate() {
            text.push_str(if i > 0 { ", " } else { " " });
            text.push_str(&value(result, ty));
        }
        text
    }

    /// `← returns T; x = T`: with the variables of the caller that the results changed.
    fn returns(&self, run: &CalleeRun, call: &Step) -> String {
        let mut text = format!("← {}", self.results(run));
        let stored = match self.view.node(call.node).map(|node| &node.op) {
            Some(Op::Call { targets, .. }) => &targets[..],
            _ => &[],
        };
        if let Action::Folded { changes, .. } = &call.action {
            let stored: Vec<(VarRef, Value)> = changes
                .iter()
                .copied()
                .filter(|(var, _)| stored.contains(&Some(*var)))
                .collect();
            if !stored.is_empty() {
                text.push_str("; ");
                text.push_str(&self.changes(call.node, &stored));
            }
        }
        text
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
        let length = steps_text(self.view.run_length(id));
        format!("{text} ({above}{length})")
    }

    pub(crate) fn step(&mut self, kind: Kind, node: NodeId, depth: usize, remark: String) {
        let number = self.view.position(node).map(|at| at.line);
        let text = self.view.labelled(node);
        self.push(kind, number, depth, text, remark);
    }

    fn push(
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

/// Makes `locals` those of the top frame after the step.
fn follow(locals: &mut Vec<Value>, action: &Action) {
    match action {
        Action::Internal { changes, .. } | Action::Folded { changes, .. } => {
            for &(var, value) in changes {
                if let VarRef::Local(i) = var
                    && let Some(place) = locals.get_mut(i as usize)
                {
                    *place = value;
                }
            }
        }
        Action::Call { locals: entered } => *locals = entered.to_vec(),
        Action::Terminate | Action::Fail(_) => {}
    }
}

/// How many calls that do not return there are.
fn calls(steps: &[Step]) -> usize {
    steps
        .iter()
        .filter(|step| matches!(step.action, Action::Call { .. }))
        .count()
}
