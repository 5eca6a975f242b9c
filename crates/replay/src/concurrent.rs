//! Replays concurrent executions: schedules the threads as the execution says and checks every step, every
//! switch, and what the execution is said to show.
//!
//! Each thread has a [`Cursor`] and a stack of the calls that have not returned. The globals are one
//! list, handed from context to context. The rules are those of `docs/CONCURRENCY.md`:
//!
//! * the first context is that of `main`; with `init`, it is `init`'s, which ends at `endinit`;
//!   with `thread` sections it may be any thread's;
//! * the next context is that of another thread, which exists and has not ended;
//! * no context ends inside an atomic section, unless with its thread.
//!
//! A folded call takes no part in scheduling; all that has to be known about it is whether it leaves the
//! thread in an atomic section.

use droste_program::concurrent::{
    Birth, ConcurrentExecution, ThreadAction, ThreadId, declared, end_of_init,
};
use droste_program::execution::{Action, CalleeRun, Ending, Step, Valuation};
use droste_program::schedule::Bound;
use droste_program::{NodeId, Op, Program, Threads};

use crate::Rejection;
use crate::check::{Checked, Cursor, check_runs, check_values};
use crate::step::Caller;

/// What a concurrent execution is said to show.
#[derive(Clone, Copy, Debug)]
pub enum ConcurrentClaim<'a> {
    /// The active thread ends at one of these nodes.
    Reaches(&'a [NodeId]),
    /// It ends at one of these nodes, or with a violation.
    Default(&'a [NodeId]),
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

/// Accepts `execution` if it is a run of `program` within `bound` (if there is one) that shows what `claim`
/// (if there is one) says.
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
    let effects = atomic_effects(program, &execution.runs);
    let mut threads = births(program, execution).map_err(first)?;
    let mut started = declared(program).len();
    let init = end_of_init(program);
    let mut globals = execution.globals.clone();
    let mut number = 0;
    let mut over = false;
    let mut previous: Option<ThreadId> = None;
    for (i, context) in execution.contexts.iter().enumerate() {
        let bad = |reason: &str| Err((number, format!("context {i}: {reason}")));
        if over {
            return bad("there is a context after the end");
        }
        let id = context.thread;
        if id.0 as usize >= threads.len() {
            return bad("there is no such thread");
        }
        match previous {
            None if program.threads == Threads::Dynamic && id.0 != 0 => {
                return bad("the first context is not `main`'s");
            }
            None if init.is_some() && id.0 != 0 => {
                return bad("the first context is not that of `init`");
            }
            None => {}
            Some(before) => {
                if before == id {
                    return bad("it belongs to the thread that was active already");
                }
                if init.is_some() && id.0 == 0 {
                    return bad("`init` runs once, before the threads");
                }
                let thread = &threads[before.0 as usize];
                if init.is_some() && before.0 == 0 {
                    // The end of `init`, wherever it is, is the place to leave it.
                    if thread.ended || thread.cursor.as_ref().map(|c| c.node) != init {
                        return bad("`init` has not come to `endinit`");
                    }
                } else if thread.atomic && !thread.ended {
                    return bad("the thread before is inside an atomic section");
                }
            }
        }
        previous = Some(id);
        if threads[id.0 as usize].ended {
            return bad("the thread has ended");
        }
        let Some(cursor) = &mut threads[id.0 as usize].cursor else {
            return bad("the thread has not been started");
        };
        cursor.set_globals(&globals);
        for step in &context.steps {
            let at = |reason: String| (number, format!("context {i}: {reason}"));
            if over {
                return Err(at("there is a step after the end".to_owned()));
            }
            let thread = &mut threads[id.0 as usize];
            if thread.ended {
                return Err(at("there is a step after the end of the thread".to_owned()));
            }
            let Some(cursor) = &mut thread.cursor else {
                return Err(at("the thread has not been started".to_owned()));
            };
            cursor.arrive(step.node).map_err(at)?;
            if init == Some(cursor.node) && id.0 == 0 {
                return Err(at("`init` ends at `endinit`".to_owned()));
            }
            match &step.action {
                ThreadAction::Step(Action::Internal { to, changes }) => {
                    let op = &program.node(cursor.node).op;
                    cursor.internal(*to, changes).map_err(at)?;
                    match op {
                        Op::AtomicBegin(_) => thread.atomic = true,
                        Op::AtomicEnd(_) => thread.atomic = false,
                        _ => {}
                    }
                }
                ThreadAction::Step(Action::Call { locals }) => {
                    let call = cursor.call(locals).map_err(at)?;
                    thread.calls.push(call);
                }
                ThreadAction::Step(Action::Folded { run, to, changes }) => {
                    let runs = &execution.runs;
                    if init.is_some() && id.0 == 0 && passes(runs, &effects, run.0, init) {
                        return Err(at("`init` ends at `endinit`".to_owned()));
                    }
                    cursor
                        .folded(*run, *to, changes, runs, checked)
                        .map_err(at)?;
                    if let Some(atomic) = effects[run.0 as usize] {
                        thread.atomic = atomic;
                    }
                }
                ThreadAction::Step(Action::Fail(violation)) => {
                    let caller = thread.calls.last().map(|(node, valuation)| Caller {
                        node: *node,
                        locals: &valuation.locals,
                        globals: &valuation.globals,
                    });
                    cursor.fails(*violation, caller.as_ref()).map_err(at)?;
                    over = true;
                }
                ThreadAction::Step(Action::Terminate) => {
                    return Err(at(
                        "threads end, they do not terminate the program".to_owned()
                    ));
                }
                ThreadAction::Return {
                    results,
                    to,
                    changes,
                } => {
                    let call = thread.calls.pop();
                    let call =
                        call.ok_or_else(|| at("there is no call to return to".to_owned()))?;
                    cursor.returns(call, results, *to, changes).map_err(at)?;
                }
                ThreadAction::Start { thread: new, to } => {
                    let from = cursor.node;
                    let start = cursor.start(*to).map_err(at)?;
                    if new.0 as usize != started {
                        return Err(at("threads are numbered as they are started".to_owned()));
                    }
                    let now = cursor.now.clone();
                    if execution.threads.get(started)
                        != Some(&(Birth::Started { by: id, node: from }))
                    {
                        return Err(at("the thread has another birth".to_owned()));
                    }
                    threads[started].cursor = Some(Cursor::at(program, start, now));
                    started += 1;
                }
                ThreadAction::End => {
                    if program.node(cursor.node).op != Op::EndThread {
                        cursor.terminate(thread.calls.len()).map_err(at)?;
                    }
                    thread.ended = true;
                }
            }
            number += 1;
        }
        if let Some(cursor) = &threads[id.0 as usize].cursor {
            globals.clone_from(&cursor.now.globals);
        }
    }
    let end = |reason: &str| Err((number, reason.to_owned()));
    if started != threads.len() {
        return end("a thread is never started");
    }
    let last = previous.and_then(|id| threads.get(id.0 as usize));
    let Some(last) = last else {
        return end("there is no context");
    };
    match execution.ending {
        Ending::At(_) if over || last.ended => end("control is nowhere"),
        Ending::At(node) if last.cursor.as_ref().map(|c| c.node) != Some(node) => {
            end("control is at another node at the end")
        }
        Ending::Final if !over => end("the last step does not end the run"),
        Ending::At(_) | Ending::Final => Ok(()),
        Ending::Lasso { .. } | Ending::Terminated => end("a concurrent run is finite"),
    }
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

/// Whether each run leaves its thread in an atomic section; `None` if as it was before.
fn atomic_effects(program: &Program, runs: &[CalleeRun]) -> Vec<Option<bool>> {
    let mut effects: Vec<Option<bool>> = Vec::with_capacity(runs.len());
    for run in runs {
        let of = |step: &Step| match &step.action {
            Action::Folded { run, .. } => effects.get(run.0 as usize).copied().flatten(),
            _ => match program.node(step.node).op {
                Op::AtomicBegin(_) => Some(true),
                Op::AtomicEnd(_) => Some(false),
                _ => None,
            },
        };
        let effect = run.steps.iter().rev().find_map(of);
        effects.push(effect);
    }
    effects
}

/// Whether a folded run comes to the node `place`.
fn passes(runs: &[CalleeRun], effects: &[Option<bool>], run: u32, place: Option<NodeId>) -> bool {
    let mut seen = vec![false; effects.len()];
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
