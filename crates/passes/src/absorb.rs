//! Procedures that are called in one place become a part of their caller.
//!
//! Sets of states are cheap, relations are dear. An engine that summarises procedures relates the
//! states of a procedure to the values with which it was entered, because a caller has to know
//! which exit belongs to its call. If `main` has no caller, its states need no entry. Neither do
//! those of a procedure that is called in one place of `main`, if the values of `main`'s locals
//! are kept beside its own: nobody else waits for it. So such a procedure is made a part of `main`,
//! then those that it alone calls, and so on. A call becomes an assignment to the parameters, with
//! any values for the other locals; a return becomes an assignment to the targets of the call.
//!
//! Nodes keep their ids, and a run goes through the same nodes as before, one step for one step. So
//! a run that is found in the new program is one of the given program whose calls have not been
//! told apart from steps: [`Absorbed::with_calls`] does that. One procedure at most is at each depth of the
//! calls at a time, so those at one depth share their locals as far as types allow.
//!
//! What keeps it honest: the engines that use it are compared with those that do not, and with an
//! oracle, on random programs (`check/tests/engines.rs`), and all runs are replayed.

use droste_base::{CallId, Guard, Position, Run, RunId, StopReason, Trace, Via};
use droste_program::valued::{Control, Valued};
use droste_program::{Expr, ExprNode, NodeId, Op, ProcId, Program, Type, VarRef};
use rustc_hash::FxHashMap;

use crate::graph::Graph;
use crate::live::Live;
use crate::{Cleaned, Query, dead};

/// No more locals than that many times those of the largest procedure are put into one.
const MOST_LOCALS: usize = 4;

/// A program with fewer procedures.
#[derive(Clone, Debug)]
pub struct Absorbed {
    /// The program; procedures that have become a part of `main` are empty.
    pub program: Program,
    /// Which variables matter where, in this program.
    pub live: Live,
    /// For each procedure that is a part of `main` now: which of `main`'s locals are its own.
    places: Vec<Option<Vec<u32>>>,
}

impl Absorbed {
    /// How many procedures have become a part of `main`.
    pub fn procedures(&self) -> usize {
        self.places.iter().flatten().count()
    }
}

/// The call of a procedure that can be made a part of its caller.
#[derive(Clone, Copy)]
struct Call {
    node: NodeId,
    callee: ProcId,
}

/// Makes procedures that are called in one place a part of their callers; nothing if there is none.
/// The query asks which nodes are reached, and about violations, but not about runs that get stuck
/// and not about every position.
pub fn absorb(
    cleaned: &Cleaned,
    query: &Query,
    guard: &mut Guard,
) -> Result<Option<Absorbed>, StopReason> {
    let given = &cleaned.program;
    let calls_main = |op: &Op| matches!(op, Op::Call { callee, .. } if *callee == given.main);
    if given.is_concurrent() || given.nodes.iter().any(|node| calls_main(&node.op)) {
        return Ok(None);
    }
    let calls = single_calls(given);
    let mut absorber = Absorber {
        given,
        program: given.clone(),
        places: vec![None; given.procedures.len()],
        free: FxHashMap::default(),
        most: MOST_LOCALS * largest(given),
    };
    let main = given.main;
    absorber.places[main.0 as usize] =
        Some((0..given.procedure(main).locals.len() as u32).collect());
    let mut by_caller: FxHashMap<ProcId, Vec<Call>> = FxHashMap::default();
    for call in calls {
        let caller = given.node(call.node).procedure;
        by_caller.entry(caller).or_default().push(call);
    }
    let mut members: FxHashMap<ProcId, Vec<NodeId>> = FxHashMap::default();
    for (id, node) in (0..).map(NodeId).zip(&given.nodes) {
        members.entry(node.procedure).or_default().push(id);
    }
    // Callers before those they call.
    let mut work = vec![(main, 0)];
    let mut any = false;
    while let Some((caller, depth)) = work.pop() {
        guard.check()?;
        for call in by_caller.remove(&caller).unwrap_or_default() {
            let nodes = members.get(&call.callee).map_or(&[][..], Vec::as_slice);
            if absorber.fits(call, nodes) && absorber.place(depth, call.callee) {
                absorber.merge(call, nodes);
                work.push((call.callee, depth + 1));
                any = true;
            }
        }
    }
    if !any {
        return Ok(None);
    }
    let Absorber {
        program,
        mut places,
        ..
    } = absorber;
    places[main.0 as usize] = None;
    let graph = Graph::new(&program);
    let liveness = dead::liveness(&program, &graph, query.propositions, query.stops, guard)?;
    Ok(Some(Absorbed {
        live: Live::from(liveness.sets),
        program,
        places,
    }))
}

/// How many locals the largest procedure has, and a few at least.
fn largest(program: &Program) -> usize {
    let locals = program.procedures.iter().map(|one| one.locals.len());
    locals.max().unwrap_or(0).max(16)
}

/// The calls of procedures that are called in one place.
fn single_calls(program: &Program) -> Vec<Call> {
    let mut found: Vec<Vec<NodeId>> = vec![Vec::new(); program.procedures.len()];
    for (id, node) in (0..).map(NodeId).zip(&program.nodes) {
        if let Op::Call { callee, .. } = node.op {
            found[callee.0 as usize].push(id);
        }
    }
    let callees = (0..).map(ProcId).zip(found);
    callees
        .filter_map(|(callee, places)| match places[..] {
            [node] => Some(Call { node, callee }),
            _ => None,
        })
        .collect()
}

struct Absorber<'a> {
    given: &'a Program,
    program: Program,
    /// For each procedure that is a part of `main`, and for `main`: its locals there.
    places: Vec<Option<Vec<u32>>>,
    /// The locals at each depth, by type.
    free: FxHashMap<(usize, Type), Vec<u32>>,
    /// No more locals than this.
    most: usize,
}

impl Absorber<'_> {
    /// Whether the call and the returns can be written as assignments.
    fn fits(&self, call: Call, nodes: &[NodeId]) -> bool {
        let node = self.given.node(call.node);
        let Op::Call {
            targets, constrain, ..
        } = &node.op
        else {
            return false;
        };
        // Conditions on a call speak of two positions at once.
        if constrain.is_some() || node.ensure.is_some() {
            return false;
        }
        let results = &self.given.procedure(call.callee).results;
        // A value that is converted twice is no single assignment, and neither is one that is
        // converted and thrown away, if that may fail.
        let is_simple = |(i, &ty): (usize, &Type)| match targets.get(i).copied().flatten() {
            Some(var) => self.given.variable(node.procedure, var).ty == ty,
            None => !matches!(ty, Type::Range { .. }),
        };
        results.iter().enumerate().all(is_simple)
            && (nodes.iter()).all(|&id| match self.given.node(id).op {
                Op::Return(_) => self.given.node(id).ensure.is_none(),
                _ => true,
            })
    }

    /// Finds locals of `main` for a procedure at a depth; whether there are not too many then.
    fn place(&mut self, depth: usize, callee: ProcId) -> bool {
        let main = &mut self.program.procedures[self.given.main.0 as usize];
        let locals = &self.given.procedure(callee).locals;
        if main.locals.len() + locals.len() > self.most {
            return false;
        }
        let mut taken: FxHashMap<Type, usize> = FxHashMap::default();
        let mut list = Vec::with_capacity(locals.len());
        for local in locals {
            let free = self.free.entry((depth, local.ty)).or_default();
            let next = taken.entry(local.ty).or_default();
            if *next == free.len() {
                free.push(main.locals.len() as u32);
                main.locals.push(local.clone());
            }
            list.push(free[*next]);
            *next += 1;
        }
        self.places[callee.0 as usize] = Some(list);
        true
    }

    /// A variable of a procedure, in `main`.
    fn var(&self, procedure: ProcId, var: VarRef) -> VarRef {
        match (var, &self.places[procedure.0 as usize]) {
            (VarRef::Local(i), Some(places)) => VarRef::Local(places[i as usize]),
            _ => var,
        }
    }

    /// An expression of a procedure, in `main`.
    fn expr(&self, procedure: ProcId, expr: &Expr) -> Expr {
        let rename = |part: &ExprNode| match *part {
            ExprNode::Var(var) => ExprNode::Var(self.var(procedure, var)),
            ExprNode::Next(var) => ExprNode::Next(self.var(procedure, var)),
            ref other => other.clone(),
        };
        Expr {
            nodes: expr.nodes.iter().map(rename).collect(),
        }
    }

    /// Makes the procedure called a part of `main`, where its caller is already.
    fn merge(&mut self, call: Call, nodes: &[NodeId]) {
        let given = self.given;
        let node = given.node(call.node);
        let Op::Call {
            args,
            targets,
            next,
            ..
        } = &node.op
        else {
            return;
        };
        let callee = given.procedure(call.callee);
        let mut assigns = Vec::with_capacity(callee.locals.len());
        for (i, local) in (0..).zip(&callee.locals) {
            let value = match args.get(i as usize) {
                Some(arg) => self.expr(node.procedure, arg),
                None => Expr {
                    nodes: vec![ExprNode::Nondet(local.ty)],
                },
            };
            assigns.push((self.var(call.callee, VarRef::Local(i)), value));
        }
        self.program.nodes[call.node.0 as usize].op = Op::Assign {
            assigns,
            discards: Vec::new(),
            constrain: None,
            next: callee.entry,
        };
        for &id in nodes {
            let op = match &given.node(id).op {
                Op::Return(values) => {
                    let (mut assigns, mut discards) = (Vec::new(), Vec::new());
                    for (i, value) in values.iter().enumerate() {
                        let value = self.expr(call.callee, value);
                        match targets.get(i).copied().flatten() {
                            Some(var) => assigns.push((self.var(node.procedure, var), value)),
                            None => discards.push(value),
                        }
                    }
                    Op::Assign {
                        assigns,
                        discards,
                        constrain: None,
                        next: *next,
                    }
                }
                other => self.renamed(call.callee, other),
            };
            let ensure = given.node(id).ensure.as_ref();
            let ensure = ensure.map(|ensure| self.expr(call.callee, ensure).into());
            let new = &mut self.program.nodes[id.0 as usize];
            new.op = op;
            new.ensure = ensure;
            new.procedure = given.main;
        }
        // An empty procedure has an entry, too.
        let entry = NodeId(self.program.nodes.len() as u32);
        let mut stuck = given.node(callee.entry).clone();
        stuck.op = Op::Stuck;
        stuck.ensure = None;
        stuck.labels = Vec::new();
        self.program.nodes.push(stuck);
        self.program.procedures[call.callee.0 as usize].entry = entry;
    }

    /// What a node of a procedure does, in `main`.
    fn renamed(&self, procedure: ProcId, op: &Op) -> Op {
        let expr = |expr: &Expr| self.expr(procedure, expr);
        match op {
            Op::Assign {
                assigns,
                discards,
                constrain,
                next,
            } => Op::Assign {
                assigns: (assigns.iter())
                    .map(|(var, value)| (self.var(procedure, *var), expr(value)))
                    .collect(),
                discards: discards.iter().map(expr).collect(),
                constrain: constrain.as_ref().map(expr),
                next: *next,
            },
            Op::Branch { condition, yes, no } => Op::Branch {
                condition: expr(condition),
                yes: *yes,
                no: *no,
            },
            Op::Assume { condition, next } => Op::Assume {
                condition: expr(condition),
                next: *next,
            },
            Op::Assert { condition, next } => Op::Assert {
                condition: expr(condition),
                next: *next,
            },
            Op::Call {
                callee,
                args,
                targets,
                constrain,
                next,
            } => Op::Call {
                callee: *callee,
                args: args.iter().map(expr).collect(),
                targets: (targets.iter())
                    .map(|target| target.map(|var| self.var(procedure, var)))
                    .collect(),
                constrain: constrain.as_ref().map(expr),
                next: *next,
            },
            Op::Return(values) => Op::Return(values.iter().map(expr).collect()),
            Op::Goto(_)
            | Op::Stuck
            | Op::StartThread { .. }
            | Op::EndThread
            | Op::AtomicBegin(_)
            | Op::AtomicEnd(_) => op.clone(),
        }
    }
}

/// A call that has not returned yet.
struct Open {
    callee: ProcId,
    /// Since the entry.
    positions: Vec<Position<Valued>>,
}

impl Absorbed {
    /// A run of the given program from one of this program.
    #[must_use]
    pub fn with_calls(&self, given: &Program, trace: Trace<Valued>) -> Trace<Valued> {
        let mut runs = trace.runs;
        let mut outermost: Vec<Position<Valued>> = Vec::new();
        let mut open: Vec<Open> = Vec::new();
        for Position { via, state } in trace.positions {
            let positions = open.last().map_or(&outermost, |call| &call.positions);
            let before = positions.last().map(|position| position.state.control);
            let goes_on = match (via, state.control) {
                (Via::Step, Control::At(_)) => before,
                _ => None,
            };
            let op = match goes_on {
                Some(Control::At(node)) => Some(&given.node(node).op),
                _ => None,
            };
            match op {
                Some(Op::Call { callee, .. }) if self.places[callee.0 as usize].is_some() => {
                    open.push(Open {
                        callee: *callee,
                        positions: vec![Position {
                            via: Via::Start,
                            state: self.local(given, state),
                        }],
                    });
                }
                Some(Op::Return(_)) if !open.is_empty() => {
                    let Some(call) = open.pop() else {
                        continue;
                    };
                    let caller = open.last_mut().map(|call| &mut call.positions);
                    let caller = caller.unwrap_or(&mut outermost);
                    let state = self.local(given, state);
                    let exit = match caller.last().map(|position| position.state.control) {
                        Some(Control::At(node)) => exit(given, node, call.callee, &state),
                        _ => continue,
                    };
                    let run = RunId(runs.len() as u32);
                    runs.push(Run {
                        positions: call.positions,
                        exit,
                    });
                    caller.push(Position {
                        via: Via::Summary(CallId(0), run),
                        state,
                    });
                }
                _ => {
                    let state = self.local(given, state);
                    let positions = open.last_mut().map(|call| &mut call.positions);
                    let positions = positions.unwrap_or(&mut outermost);
                    positions.push(Position { via, state });
                }
            }
        }
        for mut call in open {
            if let Some(entry) = call.positions.first_mut() {
                entry.via = Via::Call(CallId(0));
            }
            outermost.append(&mut call.positions);
        }
        Trace {
            runs,
            positions: outermost,
            cycle: trace.cycle,
        }
    }

    /// A state with the locals of the procedure that the given program has there.
    fn local(&self, given: &Program, mut state: Valued) -> Valued {
        let (Control::At(node) | Control::Failed(node, _)) = state.control else {
            return state;
        };
        let procedure = given.node(node).procedure;
        match &self.places[procedure.0 as usize] {
            Some(places) => {
                let value = |&place: &u32| state.locals.get(place as usize).copied().flatten();
                state.locals = places.iter().map(value).collect();
            }
            None => (state.locals).truncate(given.procedure(procedure).locals.len()),
        }
        state
    }
}

/// What a caller gets to see of a call that leads to `after`.
fn exit(given: &Program, call: NodeId, callee: ProcId, after: &Valued) -> Valued {
    let mut globals = after.globals.clone();
    let mut locals = vec![None; given.procedure(callee).results.len()];
    if let Op::Call { targets, .. } = &given.node(call).op {
        for (result, target) in locals.iter_mut().zip(targets) {
            match *target {
                Some(VarRef::Global(i)) => *result = globals[i as usize].take(),
                Some(VarRef::Local(i)) => *result = after.locals[i as usize],
                None => {}
            }
        }
    }
    Valued {
        control: Control::Exit(callee),
        globals,
        locals,
    }
}
