//! Replays concurrent executions: schedules the threads as the execution says and checks every
//! step, every switch, and what the execution is claimed to show.
//!
//! Each thread has a [`Cursor`] and a stack of the calls that have not returned. The globals are
//! one list, handed from context to context. The rules are those of `docs/CONCURRENCY.md`:
//!
//! * the first context is that of `main`; with `init`, it is `init`'s, which ends at `endinit`;
//!   with `thread` sections it may be any thread's;
//! * the next context is that of another thread, which exists and has not ended;
//! * no context ends inside an atomic section, unless with its thread.
//!
//! A folded call takes no part in scheduling; all that has to be known about it is whether it
//! leaves the thread in an atomic section.

use droste_program::concurrent::{
    Birth, ConcurrentExecution, ThreadAction, ThreadId, ThreadStep, declared, end_of_init,
};
use droste_program::execution::{Action, CalleeRun, Ending, Valuation};
use droste_program::schedule::Bound;
use droste_program::standing::atomic_effects;
use droste_program::{NodeId, Op, Program, Threads, Value};

use crate::Rejection;
use crate::check::{Checked, Cursor, check_runs, check_values};
use crate::step::Caller;
use crate::stuck::Open;

/// What a concurrent execution is claimed to show.
#[derive(Clone, Copy, Debug)]
pub enum ConcurrentClaim<'a> {
    /// The active thread ends at one of these nodes.
    Reaches(&'a [NodeId]),
    /// The active thread ends at one of these nodes, or the run with a violation.
    Default(&'a [NodeId]),
    /// No thread can make a step at the end, and not all threads have ended.
    Stuck,
}

/// A thread while it is followed.
struct Thread<'a> {
    /// `None` before its creator has started it.
    cursor: Option<Cursor<'a>>,
    /// The calls that have not returned, with the values at each.
    calls: Vec<(NodeId, Valuation)>,
    /// Whether it is inside an atomic section.
    atomic: bool,
    ended: bool,
}

/// Accepts `execution` if it is a run of `program` within `bound` (if there is one) that shows what
/// `claim` (if there is one) says.
pub fn replay_concurrent(
    program: &Program,
    execution: &ConcurrentExecution,
    claim: Option<ConcurrentClaim>,
    bound: Option<Bound>,
) -> Result<(), Rejection> {
    let checked = crate::without_limits(|guard| check_runs(program, &execution.runs, guard))?;
    let steps: usize = execution.contexts.iter().map(|c| c.steps.len()).sum();
    let wrong = |reason: &str| Err(Rejection::new(steps, None, reason));
    follow(program, execution, &checked)
        .map_err(|(step, reason)| Rejection::new(step, None, reason))?;
    match bound {
        Some(Bound::Switches(most)) if execution.switches(program) > most => {
            return wrong("there are more switches than allowed");
        }
        Some(Bound::Rounds(most)) if execution.rounds(program) > most => {
            return wrong("there are more rounds than allowed");
        }
        _ => {}
    }
    let fails = execution.ending == Ending::Final;
    let reaches =
        |nodes: &[NodeId]| matches!(execution.ending, Ending::At(node) if nodes.contains(&node));
    match claim {
        Some(ConcurrentClaim::Reaches(nodes)) if !reaches(nodes) => {
            wrong("it does not end at a node asked for")
        }
        Some(ConcurrentClaim::Default(nodes)) if !fails && !reaches(nodes) => {
            wrong("it ends neither in a violation nor at a node asked for")
        }
        Some(ConcurrentClaim::Stuck) if !matches!(execution.ending, Ending::Stuck(_)) => {
            wrong("it is not said to be stuck at its end")
        }
        _ => Ok(()),
    }
}

/// Follows all contexts.
fn follow(
    program: &Program,
    execution: &ConcurrentExecution,
    checked: &Checked,
) -> Result<(), (usize, String)> {
    let first = |reason: String| (0, reason);
    check_values("globals", &execution.globals, &program.globals).map_err(first)?;
    let mut interleaving = Interleaving {
        program,
        execution,
        checked,
        effects: atomic_effects(program, &execution.runs),
        threads: births(program, execution).map_err(first)?,
        started: declared(program).len(),
        init: end_of_init(program),
        active: None,
        over: false,
    };
    let mut globals = execution.globals.clone();
    let mut number = 0;
    for (i, context) in execution.contexts.iter().enumerate() {
        let at = |number: usize| move |reason: String| (number, format!("context {i}: {reason}"));
        let cursor = interleaving.switch(context.thread).map_err(at(number))?;
        cursor.set_globals(&globals);
        for step in &context.steps {
            interleaving
                .step(context.thread, step)
                .map_err(at(number))?;
            number += 1;
        }
        if let Some(cursor) = &interleaving.threads[context.thread.0 as usize].cursor {
            globals.clone_from(&cursor.now.globals);
        }
    }
    interleaving
        .end(&globals)
        .map_err(|reason| (number, reason))
}

/// All threads while they are followed.
struct Interleaving<'a> {
    program: &'a Program,
    execution: &'a ConcurrentExecution,
    checked: &'a Checked,
    /// For each folded run, whether it leaves its thread in an atomic section.
    effects: Vec<Option<bool>>,
    threads: Vec<Thread<'a>>,
    /// How many threads have been started, those that are declared included.
    started: usize,
    /// Where `init` ends, if the program has one.
    init: Option<NodeId>,
    /// The thread of the last context.
    active: Option<ThreadId>,
    /// Whether the run has ended in a violation.
    over: bool,
}

impl<'a> Interleaving<'a> {
    /// Whether it is `init`, the thread before all others.
    fn is_init(&self, id: ThreadId) -> bool {
        self.init.is_some() && id.0 == 0
    }

    /// A context of thread `id` begins, if it may.
    fn switch(&mut self, id: ThreadId) -> Result<&mut Cursor<'a>, String> {
        if self.over {
            return Err("there is a context after the end".to_owned());
        }
        if id.0 as usize >= self.threads.len() {
            return Err("there is no such thread".to_owned());
        }
        match self.active {
            None => self.may_begin(id)?,
            Some(before) => self.may_follow(before, id)?,
        }
        self.active = Some(id);
        let thread = &mut self.threads[id.0 as usize];
        if thread.ended {
            return Err("the thread has ended".to_owned());
        }
        let cursor = thread.cursor.as_mut();
        cursor.ok_or_else(|| "the thread has not been started".to_owned())
    }

    /// Whether the first context may be that of `id`.
    fn may_begin(&self, id: ThreadId) -> Result<(), &'static str> {
        if self.program.threads == Threads::Dynamic && id.0 != 0 {
            return Err("the first context is not `main`'s");
        }
        if self.init.is_some() && id.0 != 0 {
            return Err("the first context is not that of `init`");
        }
        Ok(())
    }

    /// Whether a context of `before` may be followed by one of `id`.
    fn may_follow(&self, before: ThreadId, id: ThreadId) -> Result<(), &'static str> {
        if before == id {
            return Err("it belongs to the thread that was active already");
        }
        if self.is_init(id) {
            return Err("`init` runs once, before the threads");
        }
        let thread = &self.threads[before.0 as usize];
        if self.is_init(before) {
            // The end of `init`, wherever it is, is the place to leave it.
            if !at_end_of_init(thread, self.init) {
                return Err("`init` has not come to `endinit`");
            }
        } else if thread.atomic && !thread.ended {
            return Err("the thread before is inside an atomic section");
        }
        Ok(())
    }

    /// Thread `id`, which is active, makes a step.
    fn step(&mut self, id: ThreadId, step: &ThreadStep) -> Result<(), String> {
        let is_init = self.is_init(id);
        if self.over {
            return Err("there is a step after the end".to_owned());
        }
        let thread = &mut self.threads[id.0 as usize];
        if thread.ended {
            return Err("there is a step after the end of the thread".to_owned());
        }
        let Some(cursor) = &mut thread.cursor else {
            return Err("the thread has not been started".to_owned());
        };
        cursor.arrive(step.node)?;
        if is_init && self.init == Some(cursor.node) {
            return Err("`init` ends at `endinit`".to_owned());
        }
        match &step.action {
            ThreadAction::Step(Action::Internal { to, changes }) => {
                let op = &self.program.node(cursor.node).op;
                cursor.internal(*to, changes)?;
                match op {
                    Op::AtomicBegin(_) => thread.atomic = true,
                    Op::AtomicEnd(_) => thread.atomic = false,
                    _ => {}
                }
            }
            ThreadAction::Step(Action::Call { locals }) => {
                let call = cursor.call(locals)?;
                thread.calls.push(call);
            }
            ThreadAction::Step(Action::Folded { run, to, changes }) => {
                let runs = &self.execution.runs;
                if is_init && passes(runs, run.0, self.init) {
                    return Err("`init` ends at `endinit`".to_owned());
                }
                cursor.folded(*run, *to, changes, runs, self.checked)?;
                if let Some(atomic) = self.effects[run.0 as usize] {
                    thread.atomic = atomic;
                }
            }
            ThreadAction::Step(Action::Fail(violation)) => {
                let caller = thread.calls.last().map(Caller::new);
                cursor.fails(*violation, caller.as_ref())?;
                self.over = true;
            }
            ThreadAction::Step(Action::Terminate) => {
                return Err("threads end, they do not terminate the program".to_owned());
            }
            ThreadAction::Return {
                results,
                to,
                changes,
            } => {
                let call = thread.calls.pop();
                let call = call.ok_or_else(|| "there is no call to return to".to_owned())?;
                cursor.returns(call, results, *to, changes)?;
            }
            ThreadAction::Start { thread: new, to } => self.start(id, *new, *to)?,
            ThreadAction::End => {
                if self.program.node(cursor.node).op != Op::EndThread {
                    cursor.terminate(thread.calls.len())?;
                }
                thread.ended = true;
            }
        }
        Ok(())
    }

    /// Thread `id`, which is active, starts another one and goes on at `to`.
    fn start(&mut self, id: ThreadId, new: ThreadId, to: NodeId) -> Result<(), String> {
        let Some(cursor) = &mut self.threads[id.0 as usize].cursor else {
            return Err("the thread has not been started".to_owned());
        };
        let from = cursor.node;
        let entry = cursor.start(to)?;
        if new.0 as usize != self.started {
            return Err("threads are numbered as they are started".to_owned());
        }
        let now = cursor.now.clone();
        let birth = Birth::Started { by: id, node: from };
        if self.execution.threads.get(self.started) != Some(&birth) {
            return Err("the thread has another birth".to_owned());
        }
        self.threads[self.started].cursor = Some(Cursor::at(self.program, entry, now));
        self.started += 1;
        Ok(())
    }

    /// Whether the run ends as the execution says, after the last context, with these globals.
    fn end(&mut self, globals: &[Value]) -> Result<(), String> {
        if self.started != self.threads.len() {
            return Err("a thread is never started".to_owned());
        }
        let last = self.active.and_then(|id| self.threads.get(id.0 as usize));
        let Some(last) = last else {
            return Err("there is no context".to_owned());
        };
        let wrong = match self.execution.ending {
            Ending::At(_) if self.over || last.ended => "control is nowhere",
            Ending::At(node) if last.cursor.as_ref().map(|c| c.node) != Some(node) => {
                "control is at another node at the end"
            }
            Ending::Final if !self.over => "the last step does not end the run",
            Ending::Stuck(_) if self.over => "the run has ended",
            Ending::Stuck(node) => match self.first_blocked(globals)? {
                Some(first) if first == node => return Ok(()),
                Some(_) => "another thread is the first that is blocked",
                None => "all threads have ended",
            },
            Ending::At(_) | Ending::Final => return Ok(()),
            Ending::Lasso { .. } | Ending::Terminated => "a concurrent run is finite",
        };
        Err(wrong.to_owned())
    }

    /// Where the first thread that has not ended is blocked, if no thread can make a step.
    fn first_blocked(&mut self, globals: &[Value]) -> Result<Option<NodeId>, String> {
        let Some(active) = self.active else {
            return Ok(None);
        };
        let last = &self.threads[active.0 as usize];
        // Until `init` is over, nobody else can be active; then it is never active again. Nor can
        // anybody else as long as the active thread is inside an atomic section.
        let (alone, first) = if self.is_init(active) {
            (!at_end_of_init(last, self.init), 1)
        } else {
            let alone = last.atomic && !last.ended;
            (alone, usize::from(self.init.is_some()))
        };
        let threads = if alone {
            &mut self.threads[active.0 as usize..][..1]
        } else {
            &mut self.threads[first..]
        };
        let mut blocked = None;
        for thread in threads.iter_mut().filter(|thread| !thread.ended) {
            let Some(cursor) = &mut thread.cursor else {
                continue;
            };
            cursor.set_globals(globals);
            match cursor.is_stuck(thread.calls.last()) {
                Ok(true) => blocked = blocked.or(Some(cursor.node)),
                Ok(false) => return Err("a thread can make a step".to_owned()),
                Err(Open::TooMany) => {
                    return Err("too many values would have to be tried".to_owned());
                }
                Err(Open::Undecided(undecided)) => return Err(undecided.into()),
            }
        }
        Ok(blocked)
    }
}

/// Whether `init` has come to `endinit`.
fn at_end_of_init(thread: &Thread<'_>, init: Option<NodeId>) -> bool {
    !thread.ended && thread.cursor.as_ref().map(|cursor| cursor.node) == init
}

/// The threads; those that are declared are where they start.
fn births<'a>(
    program: &'a Program,
    execution: &ConcurrentExecution,
) -> Result<Vec<Thread<'a>>, String> {
    let expected = declared(program);
    let mut threads = Vec::with_capacity(execution.threads.len());
    for (i, birth) in execution.threads.iter().enumerate() {
        let cursor = match (birth, expected.get(i)) {
            (Birth::Declared { procedure, locals }, Some(thread)) => {
                if *procedure != thread.procedure {
                    return Err(format!("thread {i} executes another procedure"));
                }
                let entry = Valuation {
                    globals: execution.globals.clone(),
                    locals: locals.clone(),
                };
                Some(Cursor::new(program, *procedure, &entry)?)
            }
            (Birth::Started { .. }, None) => None,
            _ => return Err(format!("thread {i} is not where it should be in the list")),
        };
        threads.push(Thread {
            cursor,
            calls: Vec::new(),
            atomic: false,
            ended: false,
        });
    }
    if threads.len() < expected.len() {
        return Err("a thread is missing".to_owned());
    }
    Ok(threads)
}

/// Whether a folded run comes to the node `place`.
fn passes(runs: &[CalleeRun], run: u32, place: Option<NodeId>) -> bool {
    let mut seen = vec![false; runs.len()];
    let mut work = vec![run];
    while let Some(id) = work.pop() {
        let Some(run) = runs.get(id as usize) else {
            continue;
        };
        if std::mem::replace(&mut seen[id as usize], true) {
            continue;
        }
        if Some(run.exit) == place || run.steps.iter().any(|step| Some(step.node) == place) {
            return true;
        }
        for step in run.steps.iter() {
            if let Action::Folded { run, .. } = step.action {
                work.push(run.0);
            }
        }
    }
    false
}
