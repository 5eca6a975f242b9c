//! From a [`Schedule`] to a concrete concurrent execution.
//!
//! Each thread of the schedule is searched on its own, as the sequential program that `single`
//! makes of it, for a run through all its turns. The runs are then cut at their jumps and put
//! together in the order of the schedule. Any engine may have found the schedule. Nothing here has
//! to be trusted: the result is replayed.

use std::sync::Arc;

use droste_base::{Limits, StopReason};
use droste_program::concurrent::{
    Birth, ConcurrentExecution, Context, ThreadAction, ThreadId, ThreadStep, declared, end_of_init,
};
use droste_program::execution::{
    Action, CalleeRun, CalleeRunId, Ending, Execution, Step, Valuation,
};
use droste_program::schedule::{Schedule, Start, Target, ThreadQuery, shared};
use droste_program::standing::Standing;
use droste_program::{NodeId, Op, Program, Value, VarRef};

use crate::complete;
use crate::single::{Beginning, Finale, Meaning, Single, single};

/// Why there is no execution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotRebuilt {
    /// A limit was reached.
    Stopped(StopReason),
    /// The schedule is not possible: a fault of whoever made it. Says for which thread.
    Impossible(String),
}

/// Finds a run of a sequential program to a target, a short one if possible; `None` if there is
/// none.
pub type FindRun<'a> =
    &'a mut dyn FnMut(&Program, Target<'_>) -> Result<Option<Execution>, NotRebuilt>;

/// The execution of a program with this schedule that ends as the target says, perhaps earlier than
/// the schedule does. Where the schedule leaves out shared globals at a switch, they are searched
/// for first, along the schedule. The runs of the single threads come from `find`.
pub fn rebuild(
    query: &ThreadQuery<'_>,
    schedule: &Schedule,
    limits: &Limits,
    find: FindRun<'_>,
) -> Result<ConcurrentExecution, NotRebuilt> {
    let program = query.program;
    check_form(program, schedule).map_err(NotRebuilt::Impossible)?;
    let completed;
    let schedule = if schedule.is_complete(program) {
        schedule
    } else {
        completed = complete(query, schedule, limits)?;
        &completed
    };
    let threads = declared(program);
    let starts: Vec<&Start> = schedule.turns.iter().flat_map(|t| &t.starts).collect();
    let count = threads.len() + starts.len();
    let mut parts: Vec<Option<Part>> = (0..count).map(|_| None).collect();
    let Some(last) = schedule.turns.last().map(|turn| turn.thread) else {
        return Err(NotRebuilt::Impossible("there is no turn".to_owned()));
    };
    for (thread, part) in parts.iter_mut().enumerate() {
        let Some(finale) = finale(program, schedule, thread) else {
            continue;
        };
        let beginning = if let Some(declared) = threads.get(thread) {
            Beginning::Procedure(declared.procedure)
        } else {
            let start = starts[thread - threads.len()];
            Beginning::Frame(start.start, &start.locals)
        };
        let init = end_of_init(program);
        let single = single(program, schedule, thread, &beginning, init, finale);
        let nodes: Vec<NodeId> = if finale == Finale::Blocked {
            single.finals.clone()
        } else if thread == last && schedule.stop.is_none() {
            let nodes = query.target.nodes().iter();
            let places = nodes.flat_map(|node| &single.places[node.0 as usize]);
            places.copied().collect()
        } else {
            single.ends.clone()
        };
        let target = match query.target {
            Target::Default(_) if thread == last => Target::Default(&nodes),
            _ if finale == Finale::Blocked => Target::Stuck(&nodes),
            _ => Target::Reach(&nodes),
        };
        let found = if nodes.is_empty() && target.stops() {
            None
        } else {
            find(&single.program, target)?
        };
        let Some(execution) = found else {
            let text = format!("thread {thread} has no such run");
            return Err(NotRebuilt::Impossible(text));
        };
        *part = Some(Walker::new(program, &single, &execution).walk());
    }
    let mut execution = put_together(program, schedule, parts, last);
    if schedule.stop.is_some() {
        let standings = execution.standings(program);
        let blocked = standings.iter().find_map(|standing| match standing {
            Standing::Blocked(node) => Some(*node),
            _ => None,
        });
        let Some(node) = blocked else {
            return Err(NotRebuilt::Impossible("no thread is blocked".to_owned()));
        };
        execution.ending = Ending::Stuck(node);
    }
    Ok(execution)
}

/// What is wanted of a thread at the end of the run; nothing if it needs no run of its own.
fn finale(program: &Program, schedule: &Schedule, thread: usize) -> Option<Finale> {
    let mut turns = schedule.turns.iter();
    let is_active = turns.any(|turn| turn.thread == thread);
    let is_declared = thread < declared(program).len();
    let last = schedule.turns.last().map(|turn| turn.thread);
    match &schedule.stop {
        Some(stop) if stop.alone && last == Some(thread) => Some(Finale::Blocked),
        Some(stop) if !(stop.alone || thread == 0 && end_of_init(program).is_some()) => {
            match stop.ended.get(thread) {
                Some(true) => Some(Finale::Ended),
                // The frame of one that has been started is known.
                _ if is_active || is_declared => Some(Finale::Blocked),
                _ => None,
            }
        }
        _ => is_active.then_some(Finale::Turns),
    }
}

/// Whether a schedule is about this program at all.
fn check_form(program: &Program, schedule: &Schedule) -> Result<(), String> {
    let mut count = declared(program).len();
    let mut previous = None;
    for (i, turn) in schedule.turns.iter().enumerate() {
        if turn.thread >= count {
            return Err(format!("turn {i}: there is no thread {} yet", turn.thread));
        }
        if previous.replace(turn.thread) == Some(turn.thread) {
            return Err(format!(
                "turn {i}: thread {} is active already",
                turn.thread
            ));
        }
        if turn.globals.len() != program.globals.len() {
            return Err(format!("turn {i}: the number of globals is wrong"));
        }
        for start in &turn.starts {
            let node = program.nodes.get(start.start.0 as usize);
            let procedure = node.map(|node| program.procedure(node.procedure));
            if procedure.map(|p| p.locals.len()) != Some(start.locals.len()) {
                return Err(format!("turn {i}: a thread starts nowhere"));
            }
        }
        count += turn.starts.len();
    }
    if schedule.turns.is_empty() {
        return Err("there is no turn".to_owned());
    }
    Ok(())
}

/// What one thread does, cut into its turns.
struct Part {
    /// The locals of the outermost procedure at the start.
    locals: Vec<Value>,
    /// The globals at the start.
    globals: Vec<Value>,
    turns: Vec<Vec<ThreadStep>>,
    runs: Vec<CalleeRun>,
    /// The turn in which each run happens.
    run_turns: Vec<usize>,
    ending: Ending,
    /// Numbers of the starts (over all turns) that the schedule has asked for.
    wanted: Vec<usize>,
}

/// A thread's number until all are known.
const LATER: ThreadId = ThreadId(u32::MAX);

/// A callee's run that is written out.
struct Open<'e> {
    steps: &'e [Step],
    index: usize,
    /// The call, the run, and the caller's valuation at the call; nothing for the outermost steps.
    call: Option<(&'e Step, &'e CalleeRun, Valuation)>,
}

struct Walker<'e> {
    program: &'e Program,
    single: &'e Single,
    execution: &'e Execution,
    /// Callee runs that need no writing out: their new numbers.
    folded: Vec<Option<CalleeRunId>>,
    now: Valuation,
    part: Part,
    started: usize,
}

impl<'e> Walker<'e> {
    fn new(program: &'e Program, single: &'e Single, execution: &'e Execution) -> Self {
        let mut walker = Walker {
            program,
            single,
            execution,
            folded: Vec::new(),
            now: execution.start.clone(),
            part: Part {
                locals: Vec::new(),
                globals: Vec::new(),
                turns: vec![Vec::new()],
                runs: Vec::new(),
                run_turns: Vec::new(),
                ending: Ending::Final,
                wanted: Vec::new(),
            },
            started: 0,
        };
        walker.fold();
        walker
    }

    fn meaning(&self, node: NodeId) -> Meaning {
        self.single.meaning[node.0 as usize]
    }

    /// The node of the program that a node stands for.
    fn node(&self, node: NodeId) -> NodeId {
        match self.meaning(node) {
            Meaning::Before(node) | Meaning::Statement(node) | Meaning::Starts(node) => node,
            Meaning::Jump | Meaning::Frame => node,
        }
    }

    fn changes(&self, changes: &[(VarRef, Value)]) -> Vec<(VarRef, Value)> {
        let globals = self.program.globals.len();
        let real = |(var, _): &&(VarRef, Value)| match var {
            VarRef::Global(i) => (*i as usize) < globals,
            VarRef::Local(_) => true,
        };
        changes.iter().filter(real).copied().collect()
    }

    /// Translates the runs in which nothing happens that concerns other threads.
    fn fold(&mut self) {
        let globals = self.program.globals.len();
        for run in self.execution.runs.iter() {
            let mut steps = Vec::new();
            let mut quiet = true;
            for step in run.steps.iter() {
                let node = match self.meaning(step.node) {
                    Meaning::Before(_) => continue,
                    Meaning::Statement(node)
                        if !matches!(self.program.node(node).op, Op::StartThread { .. }) =>
                    {
                        node
                    }
                    _ => {
                        quiet = false;
                        break;
                    }
                };
                let action = match &step.action {
                    Action::Internal { to, changes } => Action::Internal {
                        to: self.node(*to),
                        changes: self.changes(changes).into(),
                    },
                    Action::Folded { run, to, changes } => {
                        let Some(run) = self.folded[run.0 as usize] else {
                            quiet = false;
                            break;
                        };
                        Action::Folded {
                            run,
                            to: self.node(*to),
                            changes: self.changes(changes).into(),
                        }
                    }
                    other => other.clone(),
                };
                steps.push(Step { node, action });
            }
            if !quiet {
                self.folded.push(None);
                continue;
            }
            self.folded
                .push(Some(CalleeRunId(self.part.runs.len() as u32)));
            let exit = self.node(run.exit);
            // The first of the extra globals counts turns, so no run happens in two of them.
            self.part
                .run_turns
                .push(run.entry.globals[globals] as usize);
            self.part.runs.push(CalleeRun {
                entry: Valuation {
                    globals: run.entry.globals[..globals].to_vec(),
                    locals: run.entry.locals.clone(),
                },
                steps: steps.into(),
                exit,
                results: run.results.clone(),
            });
        }
    }

    fn emit(&mut self, node: NodeId, action: ThreadAction) {
        if let Some(turn) = self.part.turns.last_mut() {
            turn.push(ThreadStep { node, action });
        }
    }

    fn apply(&mut self, changes: &[(VarRef, Value)]) {
        for &(var, value) in changes {
            self.now.set(var, value);
        }
    }

    fn walk(mut self) -> Part {
        let execution = self.execution;
        let mut stack = vec![Open {
            steps: &execution.steps,
            index: 0,
            call: None,
        }];
        while let Some(open) = stack.last_mut() {
            let Some(step) = open.steps.get(open.index) else {
                let done = stack.pop();
                if let Some((call, run, before)) = done.and_then(|open| open.call) {
                    self.leave(call, run, &before);
                }
                continue;
            };
            open.index += 1;
            match &step.action {
                Action::Internal { to, changes } => self.internal(step.node, *to, changes),
                Action::Call { locals } => self.enter(step.node, locals),
                Action::Folded { run, to, changes } => {
                    let meaning = self.meaning(step.node);
                    if let (Meaning::Statement(node), Some(run)) =
                        (meaning, self.folded[run.0 as usize])
                    {
                        let action = Action::Folded {
                            run,
                            to: self.node(*to),
                            changes: self.changes(changes).into(),
                        };
                        self.emit(node, ThreadAction::Step(action));
                        self.apply(changes);
                        continue;
                    }
                    let run = &execution.runs[run.0 as usize];
                    let before = self.now.clone();
                    self.enter(step.node, &run.entry.locals);
                    stack.push(Open {
                        steps: &run.steps,
                        index: 0,
                        call: Some((step, run, before)),
                    });
                }
                Action::Fail(violation) => {
                    let action = ThreadAction::Step(Action::Fail(*violation));
                    self.emit(self.node(step.node), action);
                }
                Action::Terminate => {}
            }
        }
        self.part.ending = match execution.ending {
            Ending::At(node) => Ending::At(self.node(node)),
            Ending::Stuck(node) => Ending::Stuck(self.node(node)),
            other => other,
        };
        self.part
    }

    fn internal(&mut self, node: NodeId, to: NodeId, changes: &[(VarRef, Value)]) {
        match self.meaning(node) {
            Meaning::Before(_) | Meaning::Frame => {}
            Meaning::Statement(node) => match self.program.node(node).op {
                Op::StartThread { .. } => self.start(node, to),
                Op::EndThread => self.emit(node, ThreadAction::End),
                _ => {
                    let action = Action::Internal {
                        to: self.node(to),
                        changes: self.changes(changes).into(),
                    };
                    self.emit(node, ThreadAction::Step(action));
                }
            },
            Meaning::Starts(node) => {
                self.part.wanted.push(self.started);
                self.start(node, to);
            }
            Meaning::Jump => self.part.turns.push(Vec::new()),
        }
        self.apply(changes);
        if self.meaning(node) == Meaning::Frame && self.part.globals.is_empty() {
            // The thread's first globals are in place.
            let globals = self.program.globals.len();
            self.part.globals = self.now.globals[..globals].to_vec();
        }
    }

    fn start(&mut self, node: NodeId, to: NodeId) {
        self.started += 1;
        let to = self.node(to);
        self.emit(node, ThreadAction::Start { thread: LATER, to });
    }

    fn enter(&mut self, node: NodeId, locals: &[Value]) {
        if let Meaning::Statement(node) = self.meaning(node) {
            let action = Action::Call {
                locals: locals.into(),
            };
            self.emit(node, ThreadAction::Step(action));
        } else {
            self.part.locals = locals.to_vec();
        }
        self.now.locals = locals.to_vec();
    }

    /// The return from a run that was written out.
    fn leave(&mut self, call: &Step, run: &CalleeRun, before: &Valuation) {
        let exit = self.node(run.exit);
        let Action::Folded { to, changes, .. } = &call.action else {
            return;
        };
        let mut after = before.clone();
        for &(var, value) in changes {
            after.set(var, value);
        }
        if let Meaning::Statement(_) = self.meaning(call.node) {
            let globals = self.now.globals.iter().zip(&after.globals).enumerate();
            let globals = globals.map(|(i, pair)| (VarRef::Global(i as u32), pair));
            let locals = before.locals.iter().zip(&after.locals).enumerate();
            let locals = locals.map(|(i, pair)| (VarRef::Local(i as u32), pair));
            let different = globals.chain(locals).filter(|(_, (old, new))| old != new);
            let different: Vec<(VarRef, Value)> =
                different.map(|(var, (_, new))| (var, *new)).collect();
            let action = ThreadAction::Return {
                results: run.results.clone(),
                to: self.node(*to),
                changes: self.changes(&different),
            };
            self.emit(exit, action);
        } else {
            self.emit(exit, ThreadAction::End);
        }
        self.now = after;
    }
}

/// The parts in the order of the schedule.
fn put_together(
    program: &Program,
    schedule: &Schedule,
    mut parts: Vec<Option<Part>>,
    last: usize,
) -> ConcurrentExecution {
    let threads = declared(program);
    let lowest = |ty: &droste_program::Type| ty.lo();
    // The globals at the start: those of the first turn; own ones as their thread has them.
    let first = schedule.turns[0].thread;
    let mut globals: Vec<Value> = match &parts[first] {
        Some(part) => part.globals.clone(),
        None => program.globals.iter().map(|v| lowest(&v.ty)).collect(),
    };
    let common = shared(program);
    let mut own: Vec<(usize, usize)> = Vec::new();
    for (i, variable) in program.globals.iter().enumerate() {
        if let Some(owner) = variable.thread
            && !common.contains(&(i as u32))
        {
            own.push((i, owner as usize));
            globals[i] = match &parts[owner as usize] {
                Some(part) => part.globals[i],
                None => lowest(&variable.ty),
            };
        }
    }
    let mut births: Vec<Birth> = Vec::new();
    for (i, thread) in threads.iter().enumerate() {
        let locals = if let Some(part) = &parts[i] {
            part.locals.clone()
        } else {
            let locals = &program.procedure(thread.procedure).locals;
            locals.iter().map(|v| lowest(&v.ty)).collect()
        };
        births.push(Birth::Declared {
            procedure: thread.procedure,
            locals,
        });
    }
    // Runs of all parts, with their new numbers.
    let mut runs: Vec<CalleeRun> = Vec::new();
    let mut bases = vec![0u32; parts.len()];
    for (part, base) in parts.iter_mut().zip(&mut bases) {
        let Some(part) = part else { continue };
        *base = runs.len() as u32;
        for mut run in std::mem::take(&mut part.runs) {
            for step in Arc::make_mut(&mut run.steps) {
                if let Action::Folded { run, .. } = &mut step.action {
                    run.0 += *base;
                }
            }
            runs.push(run);
        }
    }
    // Threads of the schedule by their numbers in the execution.
    let mut numbers: Vec<ThreadId> = (0..threads.len() as u32).map(ThreadId).collect();
    let mut next_turn = vec![0usize; parts.len()];
    let mut started = vec![0usize; parts.len()];
    let mut contexts = Vec::new();
    let mut now = globals.clone();
    let final_turns = parts[last].as_ref().map_or(0, |part| part.turns.len());
    for turn in &schedule.turns {
        let thread = turn.thread;
        let Some(part) = &mut parts[thread] else {
            continue;
        };
        let index = next_turn[thread];
        next_turn[thread] += 1;
        let mut steps = match part.turns.get_mut(index) {
            Some(steps) => std::mem::take(steps),
            None => Vec::new(),
        };
        let number = numbers[thread];
        // A thread's search knows nothing of the variables that other threads have for themselves.
        for (run, _) in part
            .run_turns
            .iter()
            .enumerate()
            .filter(|(_, t)| **t == index)
        {
            let entry = &mut runs[bases[thread] as usize + run].entry;
            for &(i, _) in own.iter().filter(|(_, owner)| *owner != thread) {
                entry.globals[i] = now[i];
            }
        }
        for step in &steps {
            let changes: &[(VarRef, Value)] = match &step.action {
                ThreadAction::Step(
                    Action::Internal { changes, .. } | Action::Folded { changes, .. },
                ) => changes,
                ThreadAction::Return { changes, .. } => changes,
                _ => continue,
            };
            for &(var, value) in changes {
                if let VarRef::Global(i) = var {
                    now[i as usize] = value;
                }
            }
        }
        for step in &mut steps {
            match &mut step.action {
                ThreadAction::Start { thread: new, .. } => {
                    *new = ThreadId(births.len() as u32);
                    if part.wanted.contains(&started[thread]) {
                        numbers.push(*new);
                    }
                    started[thread] += 1;
                    births.push(Birth::Started {
                        by: number,
                        node: step.node,
                    });
                }
                ThreadAction::Step(Action::Folded { run, .. }) => run.0 += bases[thread],
                _ => {}
            }
        }
        contexts.push(Context {
            thread: number,
            steps,
        });
        if thread == last && index + 1 >= final_turns {
            break;
        }
    }
    ConcurrentExecution {
        globals,
        threads: births,
        runs,
        contexts,
        ending: parts[last].as_ref().map_or(Ending::Final, |p| p.ending),
    }
}
