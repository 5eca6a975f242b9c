//! Concurrent executions as text.
//!
//! A line says which thread makes the step; a heading says where the active thread changes. Within a context,
//! steps are written as those of a sequential execution are, by the same writer.

use droste_base::words::counted;
use droste_program::concurrent::{
    Birth, ConcurrentExecution, ThreadAction, ThreadId, declared, end_of_init,
};
use droste_program::display::value_to_string;
use droste_program::execution::{Action, Ending, Step, Valuation};
use droste_program::standing::Standing;
use droste_program::{NodeId, Op, Program, Value, VarRef};
use droste_source::SourceFile;

use crate::Style;
use crate::follow::change;
use crate::layout::{Kind, Line, lay_out};
use crate::text::{Last, Writer};
use crate::track::Tracker;
use crate::view::{View, name, steps as steps_text};

/// Part of a context.
enum Piece {
    /// Steps as in a sequential execution.
    Steps(Vec<Step>),
    Return {
        node: NodeId,
        /// The node of the call.
        call: Option<NodeId>,
        results: Vec<Value>,
        changes: Vec<(VarRef, Value)>,
        /// The caller's locals afterwards.
        locals: Vec<Value>,
    },
    Start {
        node: NodeId,
        thread: ThreadId,
    },
    End {
        node: NodeId,
    },
}

/// A thread's name: that of its section or procedure.
pub(crate) fn thread_name(
    program: &Program,
    execution: &ConcurrentExecution,
    thread: ThreadId,
) -> String {
    let index = thread.0 as usize;
    if let Some(declared) = declared(program).get(index) {
        return name(&declared.name);
    }
    let Some(Birth::Started { node, .. }) = execution.threads.get(index) else {
        return "?".to_owned();
    };
    let procedure = match program.nodes.get(node.0 as usize).map(|n| &n.op) {
        Some(Op::StartThread { start, .. }) => {
            let first = program.node(*start);
            match first.op {
                Op::Call { callee, .. } => callee,
                _ => first.procedure,
            }
        }
        _ => return "?".to_owned(),
    };
    name(&program.procedure(procedure).name)
}

/// A context in pieces.
struct Part {
    pieces: Vec<Piece>,
    /// The globals, and the locals of the thread, at its beginning.
    start: Valuation,
    /// How many calls of the thread have not returned then.
    depth: usize,
}

/// The contexts in pieces, and the configuration of the last step with its depth.
fn cut(execution: &ConcurrentExecution) -> (Vec<Part>, Last, usize) {
    let mut tracker = Tracker::new(execution);
    let mut parts = Vec::with_capacity(execution.contexts.len());
    for context in &execution.contexts {
        tracker.activate(context.thread);
        let (start, depth) = (tracker.now.clone(), tracker.depth());
        let mut pieces: Vec<Piece> = Vec::new();
        for step in &context.steps {
            let (node, call) = (step.node, tracker.caller());
            tracker.step(step);
            match &step.action {
                ThreadAction::Step(action) => {
                    let action = action.clone();
                    let step = Step { node, action };
                    match pieces.last_mut() {
                        Some(Piece::Steps(steps)) => steps.push(step),
                        _ => pieces.push(Piece::Steps(vec![step])),
                    }
                }
                ThreadAction::Return {
                    results, changes, ..
                } => pieces.push(Piece::Return {
                    node,
                    call,
                    results: results.clone(),
                    changes: changes.clone(),
                    locals: tracker.now.locals.clone(),
                }),
                ThreadAction::Start { thread, .. } => pieces.push(Piece::Start {
                    node,
                    thread: *thread,
                }),
                ThreadAction::End => pieces.push(Piece::End { node }),
            }
        }
        parts.push(Part {
            pieces,
            start,
            depth,
        });
    }
    let depth = tracker.depth();
    let last = Last {
        caller: tracker.caller(),
        now: tracker.now,
    };
    (parts, last, depth)
}

/// `execution` as text, one step per line, with its thread.
pub fn concurrent_text(
    program: &Program,
    source: &SourceFile,
    execution: &ConcurrentExecution,
    style: &Style,
) -> String {
    let (parts, last, last_depth) = cut(execution);
    let total = execution.length(program);
    let own: usize = execution.contexts.iter().map(|c| c.steps.len()).sum();
    let view = View::new(program, source, &execution.runs);
    let full = total <= style.max_steps as u64;
    let room = style.max_steps.saturating_sub(own);
    let mut writer = Writer::new(view, style, last, full, room);
    let mut out = title(program, execution, &writer, total);
    let start = Valuation {
        globals: execution.globals.clone(),
        locals: Vec::new(),
    };
    let steps = execution.contexts.iter().flat_map(|c| &c.steps);
    let actions = steps.filter_map(|step| match &step.action {
        ThreadAction::Step(action) => Some(action),
        _ => None,
    });
    out.push_str(&writer.start(&start, actions));
    let init = end_of_init(program).is_some();
    let most = (style.max_steps / execution.contexts.len().max(1)).max(8);
    let mut seen = vec![false; execution.threads.len()];
    for (i, (context, part)) in execution.contexts.iter().zip(&parts).enumerate() {
        let thread = thread_name(program, execution, context.thread);
        let number = context.thread.0;
        let switch = i.saturating_sub(usize::from(init));
        let mut heading = match (i, init) {
            (0, true) => "init".to_owned(),
            (0, false) | (1, true) => format!("thread {number}, {thread}"),
            _ => format!("switch {switch}: thread {number}, {thread}"),
        };
        let first = seen
            .get_mut(number as usize)
            .is_some_and(|seen| !std::mem::replace(seen, true));
        if first {
            heading.push_str(&writer.beginning(execution, context.thread, &part.start.locals));
        }
        writer.lines.push(Line::heading(heading));
        let from = writer.lines.len();
        let mut depth = part.depth;
        let mut now = part.start.clone();
        for piece in &part.pieces {
            match piece {
                Piece::Steps(steps) => {
                    depth = writer.section(steps, &[], depth, most, &mut now);
                }
                Piece::Return {
                    node,
                    call,
                    results,
                    changes,
                    locals,
                } => {
                    now.locals.clone_from(locals);
                    change(&mut now, changes);
                    let remark = writer.return_remark(*node, *call, results, changes);
                    writer.step(Kind::Step, *node, depth, remark);
                    depth = depth.saturating_sub(1);
                }
                Piece::Start { node, thread } => {
                    let started = thread_name(program, execution, *thread);
                    let remark = format!("starts thread {}, {started}", thread.0);
                    writer.step(Kind::Step, *node, depth, remark);
                }
                Piece::End { node } => {
                    let remark = format!("← thread {number} ends");
                    writer.step(Kind::Step, *node, depth, remark);
                }
            }
        }
        let is_last = i + 1 == execution.contexts.len();
        if let (true, Ending::At(node)) = (is_last, execution.ending) {
            let remark = format!("● {}", writer.reached(node));
            writer.step(Kind::Mark, node, last_depth, remark);
        }
        for line in &mut writer.lines[from..] {
            line.thread = Some(number);
        }
    }
    if let Ending::Stuck(_) = execution.ending {
        writer.standings(program, execution);
    }
    out.push_str(&lay_out(&writer.lines, style));
    out
}

fn title(
    program: &Program,
    execution: &ConcurrentExecution,
    writer: &Writer,
    total: u64,
) -> String {
    let last = execution.contexts.iter().rev().find_map(|c| c.steps.last());
    let (node, what) = match (execution.ending, last.map(|step| (step.node, &step.action))) {
        (Ending::At(node), _) => (Some(node), writer.reached(node)),
        (Ending::Stuck(node), _) => (Some(node), "nothing can happen".to_owned()),
        (_, Some((node, ThreadAction::Step(Action::Fail(violation))))) => {
            let text = writer.violation(node, *violation);
            let text = text.strip_suffix(" here").unwrap_or(&text);
            (Some(node), text.to_owned())
        }
        (_, last) => (last.map(|(node, _)| node), "the run ends".to_owned()),
    };
    let switches = counted(execution.switches(program) as u64, "switch");
    writer.titled(
        node,
        &what,
        &format!(" ({}, {switches})", steps_text(total)),
    )
}

impl Writer<'_> {
    /// Where no thread can make a step: a line for each that says how things stand with it.
    fn standings(&mut self, program: &Program, execution: &ConcurrentExecution) {
        self.lines.push(Line::heading("nothing can happen"));
        for (number, standing) in (0..).zip(execution.standings(program)) {
            match standing {
                Standing::Ended => {
                    let name = thread_name(program, execution, ThreadId(number));
                    let text = format!("{name} has ended");
                    self.push(Kind::Gap, None, 0, text, String::new());
                }
                Standing::Blocked(node) => {
                    self.step(Kind::Mark, node, 0, "✗ nothing can happen here".to_owned());
                }
                Standing::Barred(node) => {
                    self.step(Kind::Step, node, 0, "cannot become active".to_owned());
                }
            }
            if let Some(line) = self.lines.last_mut() {
                line.thread = Some(number);
            }
        }
    }

    /// What is said about a thread where it first becomes active.
    fn beginning(
        &self,
        execution: &ConcurrentExecution,
        thread: ThreadId,
        locals: &[Value],
    ) -> String {
        match execution.threads.get(thread.0 as usize) {
            Some(Birth::Declared { procedure, .. }) => {
                let (params, others) = self.frame(*procedure, locals);
                let parts: Vec<String> = [params, others]
                    .into_iter()
                    .filter(|part| !part.is_empty())
                    .collect();
                match &parts[..] {
                    [] => String::new(),
                    parts => format!(" ({})", parts.join(", ")),
                }
            }
            Some(Birth::Started { by, node }) => {
                let line = self.view.line(*node);
                let line = line.map_or(String::new(), |line| format!(" in line {line}"));
                format!(" (started by thread {}{line})", by.0)
            }
            None => String::new(),
        }
    }

    /// `← returns T; x = T`
    fn return_remark(
        &self,
        node: NodeId,
        call: Option<NodeId>,
        results: &[Value],
        changes: &[(VarRef, Value)],
    ) -> String {
        let mut text = "← returns".to_owned();
        let types = self.view.procedure_of(node).map(|p| &p.results[..]);
        for (i, (&result, &ty)) in results.iter().zip(types.unwrap_or(&[])).enumerate() {
            text.push_str(if i > 0 { ", " } else { " " });
            text.push_str(&value_to_string(result, ty));
        }
        if let Some(call) = call
            && !changes.is_empty()
        {
            text.push_str("; ");
            text.push_str(&self.changes(call, changes));
        }
        text
    }
}
