//! Checks a whole execution, step by step.
//!
//! A [`Cursor`] is where control is: a node and the values of the globals and the top
//! frame. Executions never return to a frame below (calls that return are folded), so no stack
//! is needed to follow one, only the last caller, and for failures on return alone.
//!
//! Callee runs refer only to runs with smaller ids, so they are checked in the order of their ids.
//! When a folded call is met, what its run does has been checked already, and only the ends must
//! fit. Each run and each step is checked once. Several runs may share their steps (one and the
//! same slice); these are checked once for all runs whose entries differ only in variables that no
//! statement of the run mentions.

use std::sync::Arc;

use droste_base::{Guard, StopReason};
use droste_program::execution::{
    Action, CalleeRun, CalleeRunId, Ending, Execution, Step, Valuation,
};
use droste_program::{NodeId, Op, ProcId, Program, Value, VarRef, Variable, Violation};

use rustc_hash::FxHashMap;

use crate::step::{self, Caller};
use crate::stuck::{self, Open};
use crate::{Halt, Rejection};

/// Where control is.
pub(crate) struct Cursor<'a> {
    program: &'a Program,
    pub(crate) node: NodeId,
    pub(crate) procedure: ProcId,
    pub(crate) now: Valuation,
    /// The same values as `now`, except during a step.
    next: Valuation,
}

/// What the runs that have been checked amount to for their callers.
#[derive(Default)]
pub(crate) struct Checked {
    procedures: Vec<ProcId>,
    /// The globals at the return, run after run.
    globals: Vec<Value>,
    count: usize,
}

impl Checked {
    fn globals(&self, run: usize) -> &[Value] {
        &self.globals[run * self.count..][..self.count]
    }
}

/// Steps that several runs share, which have been checked for the first of them.
struct Shared {
    first: usize,
    /// The globals and the locals that a statement of the run mentions; all globals if there is a
    /// call, whose run begins with them.
    mentioned: [Vec<bool>; 2],
}

impl Shared {
    fn new(program: &Program, first: usize, run: &CalleeRun) -> Self {
        let mut mentioned = [
            vec![false; run.entry.globals.len()],
            vec![false; run.entry.locals.len()],
        ];
        for node in run.steps.iter().map(|step| step.node).chain([run.exit]) {
            let node = program.node(node);
            node.for_each_mentioned(|var| match var {
                VarRef::Global(i) => mentioned[0][i as usize] = true,
                VarRef::Local(i) => mentioned[1][i as usize] = true,
            });
            if let Op::Call { .. } = node.op {
                mentioned[0].fill(true);
            }
        }
        Shared { first, mentioned }
    }

    /// Whether another run with these steps does the same as the first, because all that they look
    /// at is the same.
    fn covers(&self, run: &CalleeRun, first: &CalleeRun) -> bool {
        let same = |mentioned: &[bool], a: &[Value], b: &[Value]| {
            a.len() == b.len()
                && mentioned
                    .iter()
                    .zip(a.iter().zip(b))
                    .all(|(&mentioned, (a, b))| !mentioned || a == b)
        };
        let [globals, locals] = &self.mentioned;
        run.exit == first.exit
            && run.results == first.results
            && same(globals, &run.entry.globals, &first.entry.globals)
            && same(locals, &run.entry.locals, &first.entry.locals)
    }
}

/// What is known about an execution that has been checked.
pub(crate) struct Facts {
    /// The stack height at which the lasso's cycle starts and at which it ends, less one.
    pub(crate) pumped: usize,
}

/// Why a path is not accepted.
enum Fault {
    /// A step, and what is wrong with it.
    At(usize, String),
    Stopped(StopReason),
}

impl From<(usize, String)> for Fault {
    fn from((step, reason): (usize, String)) -> Self {
        Fault::At(step, reason)
    }
}

impl From<StopReason> for Fault {
    fn from(reason: StopReason) -> Self {
        Fault::Stopped(reason)
    }
}

impl Fault {
    fn in_run(self, run: Option<CalleeRunId>) -> Halt {
        match self {
            Fault::At(step, reason) => Halt::Rejected(Rejection::new(step, run, reason)),
            Fault::Stopped(reason) => Halt::Stopped(reason),
        }
    }
}

/// Accepts `execution` if it is a run of `program`, whatever it is meant to show.
pub(crate) fn check(
    program: &Program,
    execution: &Execution,
    guard: &mut Guard,
) -> Result<Facts, Halt> {
    let checked = check_runs(program, &execution.runs, guard)?;
    check_steps(program, execution, &checked, guard)
}

/// Checks every callee's run.
pub(crate) fn check_runs(
    program: &Program,
    runs: &[CalleeRun],
    guard: &mut Guard,
) -> Result<Checked, Halt> {
    let count = program.globals.len();
    let mut checked = Checked {
        procedures: Vec::with_capacity(runs.len()),
        globals: Vec::with_capacity(runs.len() * count),
        count,
    };
    let mut shared: FxHashMap<*const Step, Shared> = FxHashMap::default();
    let mut cursor = None;
    for (i, run) in runs.iter().enumerate() {
        let id = CalleeRunId(u32::try_from(i).unwrap_or(u32::MAX));
        let known = shared.get(&run.steps.as_ptr());
        if let Some(known) = known
            && known.covers(run, &runs[known.first])
        {
            let procedure = checked.procedures[known.first];
            check_entry(program, procedure, &run.entry)
                .map_err(|reason| Halt::Rejected(Rejection::new(0, Some(id), reason)))?;
            checked.procedures.push(procedure);
            // What it does not mention, it leaves as it is.
            for (global, &mentioned) in known.mentioned[0].iter().enumerate() {
                checked.globals.push(if mentioned {
                    checked.globals[known.first * count + global]
                } else {
                    run.entry.globals[global]
                });
            }
            continue;
        }
        let known = known.is_some();
        check_run(program, run, runs, &checked, &mut cursor, guard)
            .map_err(|fault| fault.in_run(Some(id)))?;
        let Some(cursor) = &cursor else { continue };
        checked.procedures.push(cursor.procedure);
        checked.globals.extend_from_slice(&cursor.now.globals);
        if !known && Arc::strong_count(&run.steps) > 1 {
            shared.insert(run.steps.as_ptr(), Shared::new(program, i, run));
        }
    }
    Ok(checked)
}

/// Checks a callee's run; `cursor` is at its return then.
fn check_run<'a>(
    program: &'a Program,
    run: &CalleeRun,
    runs: &[CalleeRun],
    checked: &Checked,
    cursor: &mut Option<Cursor<'a>>,
    guard: &mut Guard,
) -> Result<(), Fault> {
    let exit = program
        .nodes
        .get(run.exit.0 as usize)
        .ok_or_else(|| (run.steps.len(), "there is no such exit node".to_owned()))?;
    let cursor = match cursor {
        Some(cursor) => {
            cursor
                .enter(exit.procedure, &run.entry)
                .map_err(|reason| (0, reason))?;
            cursor
        }
        None => cursor.insert(
            Cursor::new(program, exit.procedure, &run.entry).map_err(|reason| (0, reason))?,
        ),
    };
    for (i, step) in run.steps.iter().enumerate() {
        guard.check()?;
        cursor.arrive(step.node).map_err(|reason| (i, reason))?;
        match &step.action {
            Action::Internal { to, changes } => cursor.internal(*to, changes),
            Action::Folded { run, to, changes } => cursor.folded(*run, *to, changes, runs, checked),
            _ => Err("a callee's run consists of internal steps and folded calls".to_owned()),
        }
        .map_err(|reason| (i, reason))?;
    }
    cursor
        .leave(run.exit, &run.results)
        .map_err(|reason| (run.steps.len(), reason))?;
    Ok(())
}

/// Checks a callee's run whose own callees' runs have been checked.
pub(crate) fn check_steps(
    program: &Program,
    execution: &Execution,
    checked: &Checked,
    guard: &mut Guard,
) -> Result<Facts, Halt> {
    follow(program, execution, checked, guard).map_err(|fault| fault.in_run(None))
}

fn follow(
    program: &Program,
    execution: &Execution,
    checked: &Checked,
    guard: &mut Guard,
) -> Result<Facts, Fault> {
    let steps = &execution.steps;
    let mut cursor =
        Cursor::new(program, program.main, &execution.start).map_err(|reason| (0, reason))?;
    // Calls so far: how many, and the last one.
    let mut height = 0usize;
    let mut caller: Option<(NodeId, Valuation)> = None;
    let mut cycle: Option<(NodeId, Valuation, usize)> = None;
    let mut over = false;
    for (i, step) in steps.iter().enumerate() {
        guard.check()?;
        let at = |reason: String| (i, reason);
        if over {
            return Err(at("there is a step after the end".to_owned()).into());
        }
        cursor.arrive(step.node).map_err(at)?;
        if matches!(execution.ending, Ending::Lasso { start, .. } if start == i) {
            cycle = Some((cursor.node, cursor.now.clone(), height));
        }
        match &step.action {
            Action::Internal { to, changes } => cursor.internal(*to, changes),
            Action::Folded { run, to, changes } => {
                cursor.folded(*run, *to, changes, &execution.runs, checked)
            }
            Action::Call { locals } => cursor.call(locals).map(|from| {
                height += 1;
                caller = Some(from);
            }),
            Action::Terminate => {
                over = true;
                cursor.terminate(height)
            }
            Action::Fail(violation) => {
                over = true;
                cursor.fails(*violation, caller.as_ref().map(Caller::new).as_ref())
            }
        }
        .map_err(at)?;
    }
    let end = |reason: &str| Err(Fault::At(steps.len(), reason.to_owned()));
    let last = steps.last().map(|step| &step.action);
    match execution.ending {
        Ending::At(_) | Ending::Stuck(_) if over => {
            return end("the run has ended, control is nowhere");
        }
        Ending::At(node) | Ending::Stuck(node) if node != cursor.node => {
            return end("control is at another node at the end");
        }
        Ending::Stuck(_) => match cursor.is_stuck(caller.as_ref()) {
            Ok(true) => {}
            Ok(false) => return end("something can happen at the end"),
            Err(Open::TooMany) => return Err(stuck::TOO_MANY.into()),
            Err(Open::Undecided(undecided)) => return end(&String::from(undecided)),
        },
        Ending::Final if !over => return end("the last step does not end the run"),
        Ending::Terminated if last != Some(&Action::Terminate) => {
            return end("`main` has not returned");
        }
        Ending::At(_) | Ending::Final | Ending::Terminated => {}
        Ending::Lasso { pumping, .. } => {
            if over {
                return end("the run has ended, nothing repeats");
            }
            let Some((node, valuation, start_height)) = cycle else {
                return end("the cycle is empty");
            };
            if node != cursor.node {
                return end("the cycle ends at another node");
            }
            if valuation != cursor.now {
                return end("the cycle ends with other values");
            }
            if pumping != (height > start_height) {
                return end("the cycle's effect on the stack is not as stated");
            }
            return Ok(Facts {
                pumped: height - start_height,
            });
        }
    }
    Ok(Facts { pumped: 0 })
}

pub(crate) fn check_values(
    kind: &str,
    values: &[Value],
    variables: &[Variable],
) -> Result<(), String> {
    if values.len() != variables.len() {
        return Err(format!(
            "there are {} values for {} {kind}",
            values.len(),
            variables.len()
        ));
    }
    for (&value, variable) in values.iter().zip(variables) {
        if value < variable.ty.lo() || value > variable.ty.hi() {
            return Err(format!(
                "`{}` has the value {value}, which is not of its type {}",
                variable.name, variable.ty
            ));
        }
    }
    Ok(())
}

fn check_entry(program: &Program, procedure: ProcId, entry: &Valuation) -> Result<(), String> {
    check_values("globals", &entry.globals, &program.globals)?;
    let callee = program.procedure(procedure);
    check_values("locals", &entry.locals, &callee.locals)
}

impl<'a> Cursor<'a> {
    /// At the entry of `procedure`.
    pub(crate) fn new(
        program: &'a Program,
        procedure: ProcId,
        entry: &Valuation,
    ) -> Result<Self, String> {
        check_entry(program, procedure, entry)?;
        Ok(Cursor {
            program,
            node: program.procedure(procedure).entry,
            procedure,
            now: entry.clone(),
            next: entry.clone(),
        })
    }

    /// Goes to the entry of `procedure`.
    fn enter(&mut self, procedure: ProcId, entry: &Valuation) -> Result<(), String> {
        check_entry(self.program, procedure, entry)?;
        self.node = self.program.procedure(procedure).entry;
        self.procedure = procedure;
        for valuation in [&mut self.now, &mut self.next] {
            valuation.globals.clone_from(&entry.globals);
            valuation.locals.clone_from(&entry.locals);
        }
        Ok(())
    }

    /// Control and values as they are given, which fit each other.
    pub(crate) fn at(program: &'a Program, node: NodeId, now: Valuation) -> Self {
        Cursor {
            program,
            node,
            procedure: program.node(node).procedure,
            next: now.clone(),
            now,
        }
    }

    /// Other globals: another thread has changed them.
    pub(crate) fn set_globals(&mut self, globals: &[Value]) {
        self.now.globals.copy_from_slice(globals);
        self.next.globals.copy_from_slice(globals);
    }

    /// Accepts a violation at the current position.
    pub(crate) fn fails(
        &self,
        violation: Violation,
        caller: Option<&Caller>,
    ) -> Result<(), String> {
        let node = self.program.node(self.node);
        match step::failures(self.program, node, &self.now, caller) {
            Ok(possible) if possible.contains(violation) => Ok(()),
            Ok(_) => Err("the statement cannot fail in this way here".to_owned()),
            Err(undecided) => Err(undecided.into()),
        }
    }

    /// Whether nothing can happen at the current position; the last call that has not returned was
    /// made by `caller`.
    pub(crate) fn is_stuck(&self, caller: Option<&(NodeId, Valuation)>) -> Result<bool, Open> {
        let node = self.program.node(self.node);
        let caller = caller.map(Caller::new);
        stuck::is_stuck(self.program, node, &self.now, caller.as_ref())
    }

    /// The return of a call that was made at `from` with the valuation `before`, with these
    /// results.
    pub(crate) fn returns(
        &mut self,
        (from, before): (NodeId, Valuation),
        results: &[Value],
        to: NodeId,
        changes: &[(VarRef, Value)],
    ) -> Result<(), String> {
        self.leave(self.node, results)?;
        let call = self.program.node(from);
        let Op::Call {
            targets,
            constrain,
            next: target,
            ..
        } = &call.op
        else {
            return Err("the caller is not at a call".to_owned());
        };
        if to != *target {
            return Err(format!("control cannot go on to node {}", to.0));
        }
        self.procedure = call.procedure;
        self.now.locals.clone_from(&before.locals);
        self.next.locals.clone_from(&before.locals);
        self.apply(changes)?;
        let caller = (&self.now.globals[..], &self.now.locals[..]);
        let next = &self.next;
        if !step::returned(self.program, call.procedure, targets, results, caller, next)? {
            return Err("the changes are not those that the return makes".to_owned());
        }
        if !step::related(constrain.as_ref(), step::ensure(call), &before, &self.next)? {
            return Err("`constrain` or `enforce` does not allow this return".to_owned());
        }
        self.go_on(to, changes);
        Ok(())
    }

    /// Starts a thread and goes on to `to`; where the thread starts.
    pub(crate) fn start(&mut self, to: NodeId) -> Result<NodeId, String> {
        let node = self.program.node(self.node);
        let Op::StartThread { start, next } = node.op else {
            return Err("no thread is started here".to_owned());
        };
        if to != next {
            return Err(format!("control cannot go on to node {}", to.0));
        }
        if !step::related(None, step::ensure(node), &self.now, &self.now)? {
            return Err("`enforce` does not allow this step".to_owned());
        }
        self.node = to;
        Ok(start)
    }

    /// Accepts a step that starts at `node`.
    pub(crate) fn arrive(&self, node: NodeId) -> Result<(), String> {
        if node == self.node {
            Ok(())
        } else {
            Err(format!(
                "the step is at node {}, but control is at node {}",
                node.0, self.node.0
            ))
        }
    }

    /// Makes `next` differ from `now` by `changes`, which must be real ones.
    fn apply(&mut self, changes: &[(VarRef, Value)]) -> Result<(), String> {
        for &(var, value) in changes {
            let procedure = self.program.procedure(self.procedure);
            let variable = match var {
                VarRef::Global(i) => self.program.globals.get(i as usize),
                VarRef::Local(i) => procedure.locals.get(i as usize),
            }
            .ok_or_else(|| "a variable that does not exist changes".to_owned())?;
            if value < variable.ty.lo() || value > variable.ty.hi() {
                return Err(format!(
                    "`{}` becomes {value}, which is not of its type {}",
                    variable.name, variable.ty
                ));
            }
            if self.next.get(var) != self.now.get(var) {
                return Err(format!("`{}` changes twice", variable.name));
            }
            if self.now.get(var) == value {
                return Err(format!("`{}` has this value already", variable.name));
            }
            self.next.set(var, value);
        }
        Ok(())
    }

    /// Goes on to `to`; `now` catches up with `next`.
    fn go_on(&mut self, to: NodeId, changes: &[(VarRef, Value)]) {
        for &(var, value) in changes {
            self.now.set(var, value);
        }
        self.node = to;
    }

    pub(crate) fn internal(
        &mut self,
        to: NodeId,
        changes: &[(VarRef, Value)],
    ) -> Result<(), String> {
        self.apply(changes)?;
        let node = self.program.node(self.node);
        step::internal(self.program, node, &self.now, &self.next, changes, to)?;
        self.go_on(to, changes);
        Ok(())
    }

    /// Accepts `locals` as those of the callee at the entry, if control is at a call.
    fn entering(&self, locals: &[Value]) -> Result<ProcId, String> {
        let Op::Call { callee, args, .. } = &self.program.node(self.node).op else {
            return Err("there is no call here".to_owned());
        };
        let procedure = self.program.procedure(*callee);
        check_values("locals", locals, &procedure.locals)?;
        let params = step::arguments(self.program, *callee, args, &self.now)?;
        for ((_, outcomes), (variable, &value)) in
            params.vars.iter().zip(procedure.locals.iter().zip(locals))
        {
            if !outcomes.can_be(value) {
                return Err(format!(
                    "the argument for `{}` cannot be {value}",
                    variable.name
                ));
            }
        }
        Ok(*callee)
    }

    /// Enters a callee for good; returns the call and the valuation there.
    pub(crate) fn call(&mut self, locals: &[Value]) -> Result<(NodeId, Valuation), String> {
        let callee = self.entering(locals)?;
        let from = self.node;
        let caller = Valuation {
            globals: self.now.globals.clone(),
            locals: std::mem::replace(&mut self.now.locals, locals.to_vec()),
        };
        self.next.locals = locals.to_vec();
        self.procedure = callee;
        self.node = self.program.procedure(callee).entry;
        Ok((from, caller))
    }

    pub(crate) fn folded(
        &mut self,
        id: CalleeRunId,
        to: NodeId,
        changes: &[(VarRef, Value)],
        runs: &[CalleeRun],
        checked: &Checked,
    ) -> Result<(), String> {
        let index = id.0 as usize;
        let (Some(run), Some(&procedure)) = (runs.get(index), checked.procedures.get(index)) else {
            return Err(format!("run {index} is not one of the earlier runs"));
        };
        let callee = self.entering(&run.entry.locals)?;
        if callee != procedure {
            return Err(format!("run {index} is of another procedure"));
        }
        if run.entry.globals != self.now.globals {
            return Err(format!("run {index} starts with other globals"));
        }
        let node = self.program.node(self.node);
        let Op::Call {
            targets,
            constrain,
            next: target,
            ..
        } = &node.op
        else {
            return Err("there is no call here".to_owned());
        };
        if to != *target {
            return Err(format!("control cannot go on to node {}", to.0));
        }
        self.apply(changes)?;
        let caller = (checked.globals(index), &self.now.locals[..]);
        let (results, next) = (&run.results, &self.next);
        if !step::returned(self.program, self.procedure, targets, results, caller, next)? {
            return Err("the changes are not those that the call makes".to_owned());
        }
        if !step::related(
            constrain.as_ref(),
            step::ensure(node),
            &self.now,
            &self.next,
        )? {
            return Err("`constrain` or `enforce` does not allow this return".to_owned());
        }
        self.go_on(to, changes);
        Ok(())
    }

    /// Accepts a return from the node `exit` with these results.
    pub(crate) fn leave(&self, exit: NodeId, results: &[Value]) -> Result<(), String> {
        self.arrive(exit)?;
        let Op::Return(values) = &self.program.node(exit).op else {
            return Err("there is no return here".to_owned());
        };
        let possible = step::results(self.program, self.procedure, values, &self.now)?;
        if possible.len() != results.len() {
            return Err("the number of results is wrong".to_owned());
        }
        for (outcomes, &result) in possible.iter().zip(results) {
            if !outcomes.can_be(result) {
                return Err(format!("{result} cannot be returned here"));
            }
        }
        Ok(())
    }

    pub(crate) fn terminate(&self, height: usize) -> Result<(), String> {
        let Op::Return(values) = &self.program.node(self.node).op else {
            return Err("there is no return here".to_owned());
        };
        if height > 0 {
            return Err("a return from a called procedure does not end the program".to_owned());
        }
        let possible = step::results(self.program, self.procedure, values, &self.now)?;
        if possible.iter().any(|outcomes| outcomes.values.is_empty()) {
            return Err("the return can only fail".to_owned());
        }
        Ok(())
    }
}
