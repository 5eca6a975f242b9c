//! Concurrent executions as text and as JSON.
//!
//! A line says which thread makes the step; a heading says where the active thread changes. Within a context,
//! steps are written as those of a sequential execution are: by the same writers, from the same pieces.

use droste_program::concurrent::{
    Birth, ConcurrentExecution, ThreadAction, ThreadId, declared, end_of_init,
};
use droste_program::execution::{Action, Ending, Execution, Step, Valuation};
use droste_program::{NodeId, Op, Program, Value, VarRef};
use droste_source::SourceFile;
use serde_json::{Map, Value as Json, json};

use crate::Style;
use crate::json::Writer as JsonWriter;
use crate::layout::{Kind, Line, lay_out};
use crate::text::{Last, Writer};
use crate::view::{View, count, name, steps as steps_text, value};

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
    },
    Start {
        node: NodeId,
        thread: ThreadId,
    },
    End {
        node: NodeId,
    },
}

/// A thread as far as a report follows it.
#[derive(Clone, Default)]
struct Track {
    locals: Vec<Value>,
    /// Calls that have not returned, with the caller's locals.
    calls: Vec<(NodeId, Vec<Value>)>,
}

/// A thread's name: that of its section or procedure.
fn thread_name(program: &Program, execution: &ConcurrentExecution, thread: ThreadId) -> String {
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

/// The execution that the sequential writers are given: the runs, and the values at the start.
fn stand_in(execution: &ConcurrentExecution) -> Execution {
    Execution {
        start: Valuation {
            globals: execution.globals.clone(),
            locals: Vec::new(),
        },
        runs: execution.runs.clone().into(),
        steps: Vec::new(),
        ending: execution.ending,
    }
}

fn change(globals: &mut [Value], locals: &mut [Value], changes: &[(VarRef, Value)]) {
    for &(var, value) in changes {
        let place = match var {
            VarRef::Global(i) => globals.get_mut(i as usize),
            VarRef::Local(i) => locals.get_mut(i as usize),
        };
        if let Some(place) = place {
            *place = value;
        }
    }
}

/// The contexts in pieces; for each, the locals of its thread at its beginning and the depth there. And
/// the configuration of the last step.
struct Cut {
    contexts: Vec<(Vec<Piece>, Vec<Value>, usize)>,
    last: Last,
    /// The depth of the last thread at the end.
    depth: usize,
}

fn cut(execution: &ConcurrentExecution) -> Cut {
    let mut globals = execution.globals.clone();
    let mut tracks: Vec<Track> = vec![Track::default(); execution.threads.len()];
    for (track, birth) in tracks.iter_mut().zip(&execution.threads) {
        if let Birth::Declared { locals, .. } = birth {
            track.locals.clone_from(locals);
        }
    }
    let mut contexts = Vec::with_capacity(execution.contexts.len());
    let mut last = (Track::default(), globals.clone());
    for context in &execution.contexts {
        let mut track = tracks
            .get(context.thread.0 as usize)
            .cloned()
            .unwrap_or_default();
        let (locals, depth) = (track.locals.clone(), track.calls.len());
        let mut pieces: Vec<Piece> = Vec::new();
        for step in &context.steps {
            match &step.action {
                ThreadAction::Step(action) => {
                    match action {
                        Action::Internal { changes, .. } | Action::Folded { changes, .. } => {
                            change(&mut globals, &mut track.locals, changes);
                        }
                        Action::Call { locals } => {
                            let caller = std::mem::replace(&mut track.locals, locals.to_vec());
                            track.calls.push((step.node, caller));
                        }
                        Action::Terminate | Action::Fail(_) => {}
                    }
                    let step = Step {
                        node: step.node,
                        action: action.clone(),
                    };
                    match pieces.last_mut() {
                        Some(Piece::Steps(steps)) => steps.push(step),
                        _ => pieces.push(Piece::Steps(vec![step])),
                    }
                }
                ThreadAction::Return {
                    results, changes, ..
                } => {
                    let call = track.calls.pop();
                    pieces.push(Piece::Return {
                        node: step.node,
                        call: call.as_ref().map(|(node, _)| *node),
                        results: results.clone(),
                        changes: changes.clone(),
                    });
                    track.locals = call.map_or_else(Vec::new, |(_, locals)| locals);
                    change(&mut globals, &mut track.locals, changes);
                }
                ThreadAction::Start { thread, .. } => {
                    if let Some(new) = tracks.get_mut(thread.0 as usize) {
                        new.locals.clone_from(&track.locals);
                    }
                    pieces.push(Piece::Start {
                        node: step.node,
                        thread: *thread,
                    });
                }
                ThreadAction::End => pieces.push(Piece::End { node: step.node }),
            }
        }
        last = (track.clone(), globals.clone());
        if let Some(place) = tracks.get_mut(context.thread.0 as usize) {
            *place = track;
        }
        contexts.push((pieces, locals, depth));
    }
    let (track, globals) = last;
    Cut {
        contexts,
        depth: track.calls.len(),
        last: Last {
            caller: track.calls.last().map(|(node, _)| *node),
            now: Valuation {
                globals,
                locals: track.locals,
            },
        },
    }
}

/// `execution` as text, one step per line, with its thread.
pub fn concurrent_text(
    program: &Program,
    source: &SourceFile,
    execution: &ConcurrentExecution,
    style: &Style,
) -> String {
    let stand_in = stand_in(execution);
    let parts = cut(execution);
    let total = execution.length();
    let own: usize = execution.contexts.iter().map(|c| c.steps.len()).sum();
    let view = View::new(program, source, &stand_in);
    let full = total <= style.max_steps as u64;
    let room = style.max_steps.saturating_sub(own);
    let mut writer = Writer::for_pieces(view, style, parts.last, full, room);
    let mut out = title(program, execution, &writer, total);
    out.push_str(&writer.start());
    let init = end_of_init(program).is_some();
    let most = (style.max_steps / execution.contexts.len().max(1)).max(8);
    let mut seen = vec![false; execution.threads.len()];
    for (i, (context, (pieces, locals, depth))) in
        execution.contexts.iter().zip(&parts.contexts).enumerate()
    {
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
            heading.push_str(&writer.beginning(program, execution, context.thread, locals));
        }
        writer.lines.push(Line::heading(heading));
        let from = writer.lines.len();
        let mut depth = *depth;
        let mut locals = locals.clone();
        for piece in pieces {
            match piece {
                Piece::Steps(steps) => {
                    depth = writer.section(steps, &[], depth, most, &mut locals);
                }
                Piece::Return {
                    node,
                    call,
                    results,
                    changes,
                } => {
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
            writer.step(Kind::Mark, node, parts.depth, remark);
        }
        for line in &mut writer.lines[from..] {
            line.thread = Some(number);
        }
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
        (_, Some((node, ThreadAction::Step(Action::Fail(violation))))) => {
            let text = writer.violation(node, *violation);
            let text = text.strip_suffix(" here").unwrap_or(&text);
            (Some(node), text.to_owned())
        }
        (_, last) => (last.map(|(node, _)| node), "the run ends".to_owned()),
    };
    let switches = match execution.switches(program) {
        1 => "1 switch".to_owned(),
        n => format!("{} switches", count(n as u64)),
    };
    writer.titled(
        node,
        &what,
        &format!(" ({}, {switches})", steps_text(total)),
    )
}

impl Writer<'_> {
    /// What is said about a thread where it first becomes active.
    fn beginning(
        &self,
        program: &Program,
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
                let _ = program;
                let line = self.view.position(*node);
                let line = line.map_or(String::new(), |at| format!(" in line {}", at.line));
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
            text.push_str(&value(result, ty));
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

/// `execution` as JSON: an object with `start`, `threads`, `contexts`, `runs`, `ending`, `length`,
/// `switches` and `rounds`. Steps are those of [`json`](crate::json()), and three more actions:
/// `return`, `start` and `end`.
pub fn concurrent_json(
    program: &Program,
    source: &SourceFile,
    execution: &ConcurrentExecution,
) -> Json {
    let stand_in = stand_in(execution);
    let writer = JsonWriter::new(program, View::new(program, source, &stand_in));
    let parts = cut(execution);
    let mut contexts = Vec::new();
    for (context, (pieces, _, depth)) in execution.contexts.iter().zip(&parts.contexts) {
        let mut depth = *depth as u64;
        let mut steps = Vec::new();
        for piece in pieces {
            match piece {
                Piece::Steps(all) => {
                    for step in all {
                        steps.push(writer.step(step, depth));
                        depth += u64::from(matches!(step.action, Action::Call { .. }));
                    }
                }
                Piece::Return {
                    node,
                    call,
                    results,
                    changes,
                } => {
                    let mut object = writer.action(*node, depth, "return");
                    object.insert("results".to_owned(), writer.results(*node, results).into());
                    let changes = match call {
                        Some(call) => writer.changes(*call, changes),
                        None => Json::Object(Map::new()),
                    };
                    object.insert("changes".to_owned(), changes);
                    steps.push(object.into());
                    depth = depth.saturating_sub(1);
                }
                Piece::Start { node, thread } => {
                    let mut object = writer.action(*node, depth, "start");
                    object.insert("thread".to_owned(), thread.0.into());
                    steps.push(object.into());
                }
                Piece::End { node } => steps.push(writer.action(*node, depth, "end").into()),
            }
        }
        contexts.push(json!({
            "thread": context.thread.0,
            "name": thread_name(program, execution, context.thread),
            "steps": steps,
        }));
    }
    let threads = execution.threads.iter().enumerate().map(|(i, birth)| {
        let name = thread_name(program, execution, ThreadId(i as u32));
        match birth {
            Birth::Declared { procedure, locals } => {
                let procedure = program.procedures.get(procedure.0 as usize);
                let mut map = Map::new();
                writer.locals(procedure, locals, &mut map);
                json!({
                    "name": name,
                    "procedure": procedure.map(|p| &*p.name),
                    "locals": map,
                })
            }
            Birth::Started { by, node } => json!({
                "name": name,
                "started_by": by.0,
                "at": writer.place(*node),
            }),
        }
    });
    json!({
        "file": source.name(),
        "start": writer.valuation(None, &stand_in.start),
        "threads": threads.collect::<Vec<_>>(),
        "contexts": contexts,
        "runs": writer.runs(),
        "ending": writer.ending(execution.ending),
        "length": execution.length(),
        "switches": execution.switches(program),
        "rounds": execution.rounds(program),
    })
}
