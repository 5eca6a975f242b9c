//! Constant propagation along feasible steps, and the code no feasible step leads to.
//!
//! Conditional constant propagation (Wegman and Zadeck, TOPLAS 1991) across procedures. What is
//! known at a procedure's entry is what all its reached calls agree on. What is known after a call
//! is what all reached returns of the callee agree on, except that globals which the callee cannot
//! change keep what the caller knows. A variable without an entry in an [`Env`] can have any value.
//!
//! Invariant at the fixed point: whenever a run of the program is at a node, that node has an
//! environment and every constant in it is the value of its variable. Hence replacing
//! those variables by their constants changes no step of any run, and nodes without an
//! environment are in no run. In a concurrent program another thread may change a global
//! between any two steps, so globals are not tracked there.

use crate::fold::Folder;
use crate::graph::{self, Graph, Worklist, reverse_postorder, roots};
use droste_base::{Guard, Interner, StopReason};
use droste_program::effects::Effects;
use droste_program::{Expr, ExprNode, NodeId, Op, ProcId, Program, Type, Value, VarRef};
use std::rc::Rc;

/// Variables with a known value, by [`graph::index`]; values by their number in the [`Interner`].
pub(crate) type Env = Rc<[(u32, u32)]>;

/// Entries of all environments ever made, after which the analysis gives up: about 256 MB.
const MAX_ENTRIES: usize = 32 << 20;

/// What is known when a procedure returns.
#[derive(Clone, Debug)]
struct Exit {
    /// Globals.
    env: Env,
    results: Vec<Option<u32>>,
}

/// What is known at each node.
#[derive(Debug)]
pub(crate) struct Constants {
    /// `None` for nodes that are in no run.
    envs: Vec<Option<Env>>,
    exits: Vec<Option<Exit>>,
    interner: Interner<Value>,
    written: Effects,
    /// Whether values are tracked at all; otherwise only control flow is followed.
    values: bool,
    concurrent: bool,
    entries: usize,
}

/// The value of a variable in an environment.
fn get(env: &[(u32, u32)], index: u32) -> Option<u32> {
    let at = env.binary_search_by_key(&index, |&(var, _)| var).ok()?;
    Some(env[at].1)
}

/// Gives a variable a value, or makes it unknown.
fn set(env: &mut Vec<(u32, u32)>, index: u32, value: Option<u32>) {
    match (env.binary_search_by_key(&index, |&(var, _)| var), value) {
        (Ok(at), Some(value)) => env[at].1 = value,
        (Ok(at), None) => {
            env.remove(at);
        }
        (Err(at), Some(value)) => env.insert(at, (index, value)),
        (Err(_), None) => {}
    }
}

impl Constants {
    /// Follows the feasible steps of `program`; with `values` also the values of variables.
    /// `None` if there is too much to keep track of.
    pub(crate) fn new(
        program: &Program,
        graph: &Graph,
        values: bool,
        guard: &mut Guard,
    ) -> Result<Option<Self>, StopReason> {
        let written = Effects::written(program);
        let mut constants = Constants {
            envs: vec![None; program.nodes.len()],
            exits: vec![None; program.procedures.len()],
            interner: Interner::default(),
            written,
            values,
            concurrent: program.is_concurrent(),
            entries: 0,
        };
        let mut work = Worklist::new(reverse_postorder(program));
        let mut folder = Folder::default();
        let nothing: Env = Rc::from([]);
        for root in roots(program) {
            constants.join(program.procedure(root).entry, &nothing, &mut work);
        }
        while let Some(at) = work.pop() {
            guard.check()?;
            constants.step(program, graph, NodeId(at), &mut folder, &mut work);
            if constants.entries > MAX_ENTRIES {
                return Ok(None);
            }
        }
        Ok(Some(constants))
    }

    /// What is known at the node, if it is reached.
    pub(crate) fn env(&self, node: NodeId) -> Option<Env> {
        self.envs[node.0 as usize].clone()
    }

    fn make(&mut self, env: Vec<(u32, u32)>) -> Env {
        self.entries += env.len();
        Rc::from(env)
    }

    /// Keeps at `to` only what `env` agrees with.
    fn join(&mut self, to: NodeId, env: &Env, work: &mut Worklist) {
        let slot = &mut self.envs[to.0 as usize];
        match slot {
            None => *slot = Some(Rc::clone(env)),
            Some(old) => match meet(old, env) {
                None => return,
                Some(less) => {
                    self.entries += less.len();
                    *slot = Some(less);
                }
            },
        }
        work.insert(to.0);
    }

    /// Folds an expression of `procedure` with the values of `now` and, for [`ExprNode::Next`],
    /// those of `next`.
    pub(crate) fn fold(
        &self,
        program: &Program,
        procedure: ProcId,
        expr: &Expr,
        now: &[(u32, u32)],
        next: &[(u32, u32)],
        folder: &mut Folder,
    ) -> crate::fold::Facts {
        let known = |env: &[(u32, u32)], var| {
            let number = get(env, graph::index(program, var))?;
            Some(ExprNode::Const(*self.interner.get(number)))
        };
        folder.fold(program, procedure, expr, |leaf| {
            match *leaf {
                ExprNode::Var(var) => known(now, var),
                ExprNode::Next(var) => known(next, var),
                _ => None,
            }
            .unwrap_or_else(|| leaf.clone())
        })
    }

    /// The number of a value; one that cannot be numbered is not known.
    fn number(&mut self, value: Value) -> Option<u32> {
        self.interner.intern(value).ok().map(|(number, _)| number)
    }

    /// The value `expr` leaves in a variable of type `ty`, if there is only one.
    fn stored(
        &mut self,
        program: &Program,
        procedure: ProcId,
        expr: &Expr,
        ty: Type,
        env: &[(u32, u32)],
        folder: &mut Folder,
    ) -> Option<u32> {
        if !self.values {
            return None;
        }
        self.fold(program, procedure, expr, env, env, folder);
        let value = ty.convert(folder.constant()?)?;
        self.number(value)
    }

    /// What is known if `condition` comes out as `outcome`; `None` if it cannot.
    fn assume(
        &mut self,
        program: &Program,
        procedure: ProcId,
        condition: &Expr,
        outcome: bool,
        env: &Env,
        folder: &mut Folder,
    ) -> Option<Env> {
        if !self.values {
            return Some(Rc::clone(env));
        }
        self.fold(program, procedure, condition, env, env, folder);
        if let Some(value) = folder.constant() {
            return ((value != 0) == outcome).then(|| Rc::clone(env));
        }
        let mut more: Option<Vec<(u32, u32)>> = None;
        let mut found = Vec::new();
        folder.implied(outcome, |leaf, value| {
            if let ExprNode::Var(var) = *leaf
                && self.tracks(var)
            {
                found.push((graph::index(program, var), value));
            }
        });
        for (index, value) in found {
            let number = self.number(value);
            set(more.get_or_insert_with(|| env.to_vec()), index, number);
        }
        Some(match more {
            Some(more) => self.make(more),
            None => Rc::clone(env),
        })
    }

    fn tracks(&self, var: VarRef) -> bool {
        self.values && !(self.concurrent && matches!(var, VarRef::Global(_)))
    }

    /// Whether a constraint over `now` and `next` can be true.
    fn possible(
        &self,
        program: &Program,
        procedure: ProcId,
        constraint: Option<&Expr>,
        now: &[(u32, u32)],
        next: &[(u32, u32)],
        folder: &mut Folder,
    ) -> bool {
        let Some(constraint) = constraint else {
            return true;
        };
        if !self.values {
            return true;
        }
        self.fold(program, procedure, constraint, now, next, folder);
        folder.constant() != Some(0)
    }

    /// The step of the node `from` leads to `to`, where `env` is known, if it ends well.
    fn flow(
        &mut self,
        program: &Program,
        from: NodeId,
        to: NodeId,
        env: &Env,
        folder: &mut Folder,
        work: &mut Worklist,
    ) {
        let node = program.node(from);
        if self.possible(
            program,
            node.procedure,
            node.ensure.as_deref(),
            env,
            env,
            folder,
        ) {
            self.join(to, env, work);
        }
    }

    fn step(
        &mut self,
        program: &Program,
        graph: &Graph,
        at: NodeId,
        folder: &mut Folder,
        work: &mut Worklist,
    ) {
        let node = program.node(at);
        let procedure = node.procedure;
        let Some(env) = self.envs[at.0 as usize].clone() else {
            return;
        };
        match &node.op {
            Op::Goto(_) | Op::StartThread { .. } | Op::AtomicBegin(_) | Op::AtomicEnd(_) => {
                let mut targets = Vec::new();
                node.op.for_each_next(|next| targets.push(next));
                for next in targets {
                    self.flow(program, at, next, &env, folder, work);
                }
            }
            Op::Assign {
                assigns,
                constrain,
                next,
                ..
            } => {
                let after = self.assigned(program, procedure, assigns, &env, folder);
                let constrain = constrain.as_ref();
                if self.possible(program, procedure, constrain, &env, &after, folder) {
                    self.flow(program, at, *next, &after, folder, work);
                }
            }
            Op::Branch { condition, yes, no } => {
                for (next, outcome) in [(*yes, true), (*no, false)] {
                    let env = self.assume(program, procedure, condition, outcome, &env, folder);
                    if let Some(env) = env {
                        self.flow(program, at, next, &env, folder, work);
                    }
                }
            }
            Op::Assume { condition, next } | Op::Assert { condition, next } => {
                if let Some(env) = self.assume(program, procedure, condition, true, &env, folder) {
                    self.flow(program, at, *next, &env, folder, work);
                }
            }
            Op::Call {
                callee,
                args,
                targets,
                constrain,
                next,
            } => {
                let globals = program.globals.len() as u32;
                let mut entry: Vec<_> = env.iter().copied().filter(|e| e.0 < globals).collect();
                let called = program.procedure(*callee);
                for ((arg, param), index) in args.iter().zip(&called.locals).zip(globals..) {
                    let value = self.stored(program, procedure, arg, param.ty, &env, folder);
                    if let Some(value) = value {
                        entry.push((index, value));
                    }
                }
                let entry = self.make(entry);
                self.join(called.entry, &entry, work);
                if let Some(after) = self.returned(program, procedure, *callee, targets, &env) {
                    let constrain = constrain.as_ref();
                    if self.possible(program, procedure, constrain, &env, &after, folder) {
                        self.flow(program, at, *next, &after, folder, work);
                    }
                }
            }
            Op::Return(results) => {
                let types = &program.procedure(procedure).results;
                let results = results
                    .iter()
                    .zip(types)
                    .map(|(expr, &ty)| self.stored(program, procedure, expr, ty, &env, folder))
                    .collect();
                let globals = program.globals.len() as u32;
                let env = env.iter().copied().filter(|e| e.0 < globals).collect();
                let env = self.make(env);
                if self.leave(procedure, Exit { env, results }) {
                    for &call in graph.calls.get(procedure.0) {
                        work.insert(call);
                    }
                }
            }
            Op::Stuck | Op::EndThread => {}
        }
    }

    /// What is known after a parallel assignment.
    pub(crate) fn assigned(
        &mut self,
        program: &Program,
        procedure: ProcId,
        assigns: &[(VarRef, Expr)],
        env: &Env,
        folder: &mut Folder,
    ) -> Env {
        let mut after: Option<Vec<(u32, u32)>> = None;
        for (var, expr) in assigns {
            if !self.tracks(*var) {
                continue;
            }
            let ty = program.variable(procedure, *var).ty;
            let value = self.stored(program, procedure, expr, ty, env, folder);
            let index = graph::index(program, *var);
            if after.is_some() || get(env, index) != value {
                set(after.get_or_insert_with(|| env.to_vec()), index, value);
            }
        }
        match after {
            Some(after) => self.make(after),
            None => Rc::clone(env),
        }
    }

    /// What the caller knows after `callee` has returned and the results are stored; `None` if
    /// it never returns.
    pub(crate) fn returned(
        &mut self,
        program: &Program,
        procedure: ProcId,
        callee: ProcId,
        targets: &[Option<VarRef>],
        env: &Env,
    ) -> Option<Env> {
        let exit = self.exits[callee.0 as usize].clone()?;
        let globals = program.globals.len() as u32;
        let split = env.partition_point(|e| e.0 < globals);
        let changed = |index: u32| self.written.touches(callee, index);
        let mut after: Vec<_> = exit.env.iter().copied().filter(|e| changed(e.0)).collect();
        after.extend(env[..split].iter().filter(|e| !changed(e.0)));
        after.sort_unstable();
        after.extend_from_slice(&env[split..]);
        for (target, &result) in targets.iter().zip(&exit.results) {
            let Some(var) = *target else { continue };
            if !self.tracks(var) {
                continue;
            }
            let ty = program.variable(procedure, var).ty;
            let value = result
                .and_then(|number| ty.convert(*self.interner.get(number)))
                .and_then(|value| self.number(value));
            set(&mut after, graph::index(program, var), value);
        }
        Some(self.make(after))
    }

    /// Adds a way to return; whether less is known now.
    fn leave(&mut self, procedure: ProcId, exit: Exit) -> bool {
        let slot = &mut self.exits[procedure.0 as usize];
        let Some(old) = slot else {
            *slot = Some(exit);
            return true;
        };
        let mut changed = false;
        if let Some(less) = meet(&old.env, &exit.env) {
            old.env = less;
            changed = true;
        }
        for (old, new) in old.results.iter_mut().zip(exit.results) {
            if old.is_some() && *old != new {
                *old = None;
                changed = true;
            }
        }
        changed
    }
}

/// What both agree on, if that is less than `old`.
fn meet(old: &Env, new: &Env) -> Option<Env> {
    if Rc::ptr_eq(old, new) || old.is_empty() {
        return None;
    }
    let mut rest = &new[..];
    let both: Vec<(u32, u32)> = old
        .iter()
        .copied()
        .filter(|&(var, value)| {
            let skip = rest.partition_point(|e| e.0 < var);
            rest = &rest[skip..];
            rest.first() == Some(&(var, value))
        })
        .collect();
    (both.len() < old.len()).then(|| Rc::from(both))
}
