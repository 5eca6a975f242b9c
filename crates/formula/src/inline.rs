//! Threads without calls: every call is replaced by a copy of the procedure called.
//!
//! That is possible if procedures do not call themselves and the copies are few. A call becomes an
//! assignment to the parameters; the other locals get any values. A return becomes an assignment of
//! the results to their targets, with the conditions of the call. So there are as many steps as
//! before. One frame is at each depth of the stack at a time, so the procedures that are called at one
//! depth share their locals, as far as types allow.
//!
//! A thread that is started begins in a procedure of its own, which has been inlined, too. Its first
//! locals are copies of those of the frame that starts it ([`Start`]). Threads that begin with the
//! same call and then end share their procedure.

use std::collections::BTreeMap;
use std::sync::Arc;

use droste_program::{
    Expr, ExprNode, Node, NodeId, Op, ProcId, Procedure, Program, Threads, Type, VarRef,
};
use rustc_hash::FxHashMap;

/// No more statements than this, and no more open calls. Without stacks there are no tuples of
/// globals: a stack of 4,800 statements, unrolled, is solved fifteen times faster. A step is one
/// conjunction of its relation, whose size grows with the statements and not faster.
const MOST: (usize, usize) = (30_000, 32);

/// A program whose threads make no calls.
pub(crate) struct Inlined {
    pub(crate) program: Program,
    /// For each node, the one that it is a copy of.
    pub(crate) origin: Vec<NodeId>,
    /// The nodes that start threads.
    pub(crate) starts: BTreeMap<NodeId, Start>,
    /// The procedures of threads that are started.
    pub(crate) started: Vec<ProcId>,
}

/// What a node starts.
#[derive(Clone, Debug)]
pub(crate) struct Start {
    /// The procedure of the new thread, which begins at its entry.
    pub(crate) procedure: ProcId,
    /// The locals of the starting thread's procedure that become locals 0, 1, … of the new one's.
    pub(crate) copied: Vec<u32>,
}

/// A frame: whose it is, and the call below it.
#[derive(Clone, Copy)]
struct Frame {
    /// The frame of the caller, and the call.
    below: Option<(usize, NodeId)>,
    /// Which of [`Inliner::places`] are its locals.
    places: usize,
    depth: usize,
}

/// What the threads inlined so far have come to.
struct Done {
    program: Program,
    origin: Vec<NodeId>,
    starts: BTreeMap<NodeId, Start>,
    /// Where threads that are started begin in the original program. The procedure of each is to be
    /// inlined after those of the threads that are there from the start, in this order.
    beginnings: Vec<NodeId>,
}

struct Inliner<'a> {
    original: &'a Program,
    targets: &'a [NodeId],
    done: Done,
    /// The thread's procedure.
    procedure: ProcId,
    frames: Vec<Frame>,
    /// Frames by the frame and the call below.
    entered: FxHashMap<(usize, NodeId), usize>,
    /// Lists of locals of the thread that stand for those of a procedure.
    places: Vec<Vec<u32>>,
    /// The list of a procedure, by depth.
    placed: FxHashMap<(usize, ProcId), usize>,
    /// The locals at each depth, by type.
    free: FxHashMap<(usize, Type), Vec<u32>>,
    copies: Copies,
    work: Vec<(usize, NodeId)>,
}

/// The program with calls of threads replaced; `None` if that cannot be done. Nodes that are
/// `targets` stay apart.
pub(crate) fn inlined(original: &Program, targets: &[NodeId]) -> Option<Inlined> {
    let starts = |node: &Node| matches!(node.op, Op::StartThread { .. });
    let any_starts = original.nodes.iter().any(starts);
    let mut done = Done {
        program: original.clone(),
        origin: (0..original.nodes.len() as u32).map(NodeId).collect(),
        starts: BTreeMap::new(),
        beginnings: Vec::new(),
    };
    let entry = |procedure: ProcId| original.procedure(procedure).entry;
    let threads = match &original.threads {
        Threads::Dynamic => {
            let main = inline(original, targets, &mut done, entry(original.main), false)?.0;
            done.program.main = main;
            Threads::Dynamic
        }
        Threads::Init { end_init, threads } => {
            // What `init` does counts only as far as globals go, unless it may start threads.
            let mut end_init = *end_init;
            if any_starts {
                let main = entry(original.main);
                let (init, copies) = inline(original, targets, &mut done, main, false)?;
                done.program.main = init;
                end_init = *copies.get(&(0, end_init))?;
            }
            let mut list = Vec::new();
            for &thread in threads {
                list.push(inline(original, targets, &mut done, entry(thread), false)?.0);
            }
            Threads::Init {
                end_init,
                threads: list,
            }
        }
        Threads::Sections(sections) => {
            let mut list = Vec::new();
            for (name, thread) in sections {
                let procedure = inline(original, targets, &mut done, entry(*thread), false)?.0;
                list.push((name.clone(), procedure));
            }
            done.program.main = list.first()?.1;
            Threads::Sections(list)
        }
    };
    let mut started = Vec::new();
    while let Some(&beginning) = done.beginnings.get(started.len()) {
        started.push(inline(original, targets, &mut done, beginning, true)?.0);
    }
    let Done {
        mut program,
        origin,
        mut starts,
        ..
    } = done;
    program.threads = threads;
    for (node, start) in &mut starts {
        // Until here it was the number of the beginning.
        start.procedure = started[start.procedure.0 as usize];
        let entry = program.procedure(start.procedure).entry;
        if let Op::StartThread { start, .. } = &mut program.nodes[node.0 as usize].op {
            *start = entry;
        }
    }
    Some(Inlined {
        program,
        origin,
        starts,
        started,
    })
}

/// The copies of nodes, by frame.
type Copies = FxHashMap<(usize, NodeId), NodeId>;

/// Adds the procedure of a thread that begins at a node. One that is `started` begins with values of
/// all the locals of the frame.
fn inline(
    original: &Program,
    targets: &[NodeId],
    done: &mut Done,
    beginning: NodeId,
    started: bool,
) -> Option<(ProcId, Copies)> {
    let thread = ProcId(done.program.procedures.len() as u32);
    let taken = Done {
        program: std::mem::replace(&mut done.program, empty()),
        origin: std::mem::take(&mut done.origin),
        starts: std::mem::take(&mut done.starts),
        beginnings: std::mem::take(&mut done.beginnings),
    };
    let mut inliner = Inliner {
        original,
        targets,
        done: taken,
        procedure: thread,
        frames: Vec::new(),
        entered: FxHashMap::default(),
        places: Vec::new(),
        placed: FxHashMap::default(),
        free: FxHashMap::default(),
        copies: FxHashMap::default(),
        work: Vec::new(),
    };
    inliner.thread(beginning, started)?;
    *done = inliner.done;
    Some((thread, inliner.copies))
}

fn empty() -> Program {
    Program {
        globals: Vec::new(),
        procedures: Vec::new(),
        nodes: Vec::new(),
        main: ProcId(0),
        threads: Threads::Dynamic,
    }
}

/// Whether threads that begin at two nodes do the same: both make the same call, and then end.
fn same_thread(program: &Program, targets: &[NodeId], a: NodeId, b: NodeId) -> bool {
    if a == b {
        return true;
    }
    if targets.contains(&a) || targets.contains(&b) {
        return false;
    }
    let ends = |next: &NodeId| {
        let node = program.node(*next);
        node.op == Op::EndThread && node.ensure.is_none() && !targets.contains(next)
    };
    let (a, b) = (program.node(a), program.node(b));
    match (&a.op, &b.op) {
        (
            Op::Call {
                callee,
                args,
                targets,
                constrain,
                next,
            },
            Op::Call {
                callee: other,
                args: other_args,
                targets: other_targets,
                constrain: other_constrain,
                next: other_next,
            },
        ) => {
            (a.procedure, callee, args) == (b.procedure, other, other_args)
                && (targets, constrain) == (other_targets, other_constrain)
                && a.ensure == b.ensure
                && ends(next)
                && ends(other_next)
        }
        _ => false,
    }
}

impl Inliner<'_> {
    fn thread(&mut self, beginning: NodeId, started: bool) -> Option<()> {
        let root = self.original.node(beginning).procedure;
        let original = self.original.procedure(root);
        self.done.program.procedures.push(Procedure {
            params: if started {
                original.locals.len() as u32
            } else {
                original.params
            },
            ..original.clone()
        });
        self.places
            .push((0..original.locals.len() as u32).collect());
        self.frames.push(Frame {
            below: None,
            places: 0,
            depth: 0,
        });
        let entry = self.copy(0, beginning)?;
        self.done.program.procedures[self.procedure.0 as usize].entry = entry;
        while let Some((frame, node)) = self.work.pop() {
            let new = self.copies[&(frame, node)];
            let (op, ensure) = self.op(frame, node)?;
            let copy = &mut self.done.program.nodes[new.0 as usize];
            copy.op = op;
            copy.ensure = ensure;
        }
        Some(())
    }

    /// The copy of a node in a frame.
    fn copy(&mut self, frame: usize, node: NodeId) -> Option<NodeId> {
        if let Some(&copy) = self.copies.get(&(frame, node)) {
            return Some(copy);
        }
        let nodes = &mut self.done.program.nodes;
        let id = NodeId(nodes.len() as u32);
        if nodes.len() > self.original.nodes.len() + MOST.0 {
            return None;
        }
        nodes.push(Node {
            procedure: self.procedure,
            op: Op::Stuck,
            ensure: None,
            ..self.original.node(node).clone()
        });
        self.done.origin.push(node);
        self.copies.insert((frame, node), id);
        self.work.push((frame, node));
        Some(id)
    }

    fn var(&self, frame: usize, var: VarRef) -> VarRef {
        match var {
            VarRef::Local(i) => VarRef::Local(self.places[self.frames[frame].places][i as usize]),
            VarRef::Global(_) => var,
        }
    }

    fn expr(&self, frame: usize, expr: &Expr) -> Expr {
        let rename = |part: &ExprNode| match *part {
            ExprNode::Var(var) => ExprNode::Var(self.var(frame, var)),
            ExprNode::Next(var) => ExprNode::Next(self.var(frame, var)),
            ref other => other.clone(),
        };
        Expr {
            nodes: expr.nodes.iter().map(rename).collect(),
        }
    }

    fn ensure(&self, frame: usize, node: NodeId) -> Option<Arc<Expr>> {
        let ensure = self.original.node(node).ensure.as_ref()?;
        Some(Arc::new(self.expr(frame, ensure)))
    }

    /// What the copy of a node does, and what must be true then.
    fn op(&mut self, frame: usize, node: NodeId) -> Option<(Op, Option<Arc<Expr>>)> {
        let original = self.original;
        let mut to = |next: NodeId| self.copy(frame, next);
        let op = match &original.node(node).op {
            Op::Goto(targets) => Op::Goto(
                targets
                    .iter()
                    .map(|&next| to(next))
                    .collect::<Option<_>>()?,
            ),
            Op::Assign {
                assigns,
                discards,
                constrain,
                next,
            } => Op::Assign {
                next: to(*next)?,
                assigns: assigns
                    .iter()
                    .map(|(var, expr)| (self.var(frame, *var), self.expr(frame, expr)))
                    .collect(),
                discards: discards.iter().map(|e| self.expr(frame, e)).collect(),
                constrain: constrain.as_ref().map(|e| self.expr(frame, e)),
            },
            Op::Branch { condition, yes, no } => Op::Branch {
                yes: to(*yes)?,
                no: to(*no)?,
                condition: self.expr(frame, condition),
            },
            Op::Assume { condition, next } => Op::Assume {
                next: to(*next)?,
                condition: self.expr(frame, condition),
            },
            Op::Assert { condition, next } => Op::Assert {
                next: to(*next)?,
                condition: self.expr(frame, condition),
            },
            Op::AtomicBegin(next) => Op::AtomicBegin(to(*next)?),
            Op::AtomicEnd(next) => Op::AtomicEnd(to(*next)?),
            Op::Stuck => Op::Stuck,
            Op::EndThread => Op::EndThread,
            Op::StartThread { start, next } => {
                let next = to(*next)?;
                self.start(frame, node, *start);
                // Where it leads is set when the thread has been inlined.
                Op::StartThread { start: next, next }
            }
            Op::Call { callee, args, .. } => {
                return Some((self.call(frame, node, *callee, args)?, None));
            }
            Op::Return(values) => return self.leave(frame, values),
        };
        Some((op, self.ensure(frame, node)))
    }

    /// Notes that the copy of a node starts a thread with a copy of the frame.
    fn start(&mut self, frame: usize, node: NodeId, beginning: NodeId) {
        let beginnings = &mut self.done.beginnings;
        let same = |&other: &NodeId| same_thread(self.original, self.targets, beginning, other);
        let number = beginnings.iter().position(same).unwrap_or_else(|| {
            beginnings.push(beginning);
            beginnings.len() - 1
        });
        let start = Start {
            procedure: ProcId(number as u32),
            copied: self.places[self.frames[frame].places].clone(),
        };
        self.done.starts.insert(self.copies[&(frame, node)], start);
    }

    fn call(&mut self, frame: usize, node: NodeId, callee: ProcId, args: &[Expr]) -> Option<Op> {
        let called = self.original.procedure(callee);
        let depth = self.frames[frame].depth + 1;
        if depth > MOST.1 {
            return None;
        }
        let places = self.place(depth, callee);
        let frames = &mut self.frames;
        let inner = *self.entered.entry((frame, node)).or_insert_with(|| {
            frames.push(Frame {
                below: Some((frame, node)),
                places,
                depth,
            });
            frames.len() - 1
        });
        let mut assigns = Vec::new();
        for (i, local) in called.locals.iter().enumerate() {
            let value = match args.get(i).filter(|_| i < called.params as usize) {
                Some(arg) => self.expr(frame, arg),
                None => Expr {
                    nodes: vec![ExprNode::Nondet(local.ty)],
                },
            };
            assigns.push((VarRef::Local(self.places[places][i]), value));
        }
        let next = self.copy(inner, called.entry)?;
        Some(Op::Assign {
            assigns,
            discards: Vec::new(),
            constrain: None,
            next,
        })
    }

    /// The list of the locals that a procedure has at this depth. It takes those that other
    /// procedures have there before it adds its own.
    fn place(&mut self, depth: usize, callee: ProcId) -> usize {
        if let Some(&list) = self.placed.get(&(depth, callee)) {
            return list;
        }
        let thread = &mut self.done.program.procedures[self.procedure.0 as usize];
        let mut taken: FxHashMap<Type, usize> = FxHashMap::default();
        let mut list = Vec::new();
        for local in &self.original.procedure(callee).locals {
            let free = self.free.entry((depth, local.ty)).or_default();
            let next = taken.entry(local.ty).or_default();
            if *next == free.len() {
                free.push(thread.locals.len() as u32);
                thread.locals.push(local.clone());
            }
            list.push(free[*next]);
            *next += 1;
        }
        self.places.push(list);
        self.placed.insert((depth, callee), self.places.len() - 1);
        self.places.len() - 1
    }

    /// A return into the caller, or the end of the thread.
    fn leave(&mut self, frame: usize, values: &[Expr]) -> Option<(Op, Option<Arc<Expr>>)> {
        let Some((outer, call)) = self.frames[frame].below else {
            let values = values.iter().map(|e| self.expr(frame, e)).collect();
            return Some((Op::Return(values), None));
        };
        let node = self.original.node(call);
        let Op::Call {
            callee,
            targets,
            constrain,
            next,
            ..
        } = &node.op
        else {
            return None;
        };
        // The globals as they were at the call are not known any more.
        let is_global = |part: &ExprNode| matches!(part, ExprNode::Var(VarRef::Global(_)));
        if constrain.iter().flat_map(|e| &e.nodes).any(is_global) {
            return None;
        }
        let types = &self.original.procedure(*callee).results;
        let (mut assigns, mut discards) = (Vec::new(), Vec::new());
        for (i, value) in values.iter().enumerate() {
            let value = self.expr(frame, value);
            match targets.get(i).copied().flatten() {
                Some(var) => {
                    // A value that is converted twice is no single assignment.
                    if self.original.variable(node.procedure, var).ty != types[i] {
                        return None;
                    }
                    assigns.push((self.var(outer, var), value));
                }
                None if matches!(types[i], Type::Range { .. }) => return None,
                None => discards.push(value),
            }
        }
        // Nobody looks at the frame any more.
        let places = &self.places[self.frames[frame].places];
        let locals = self.original.procedure(*callee).locals.iter();
        for (local, &i) in locals.zip(places) {
            let any = Expr {
                nodes: vec![ExprNode::Nondet(local.ty)],
            };
            assigns.push((VarRef::Local(i), any));
        }
        let op = Op::Assign {
            assigns,
            discards,
            constrain: constrain.as_ref().map(|e| self.expr(outer, e)),
            next: self.copy(outer, *next)?,
        };
        Some((op, self.ensure(outer, call)))
    }
}
