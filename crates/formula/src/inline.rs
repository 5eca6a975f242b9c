//! Threads without calls: every call is replaced by a copy of the procedure called.
//!
//! That is possible if procedures do not call themselves, no threads are started, and the copies are
//! few. A call becomes an
//! assignment to the parameters; the other locals get any values. A return becomes an assignment of
//! the results to their targets, with the conditions of the call. So there are as many steps as
//! before. One frame is at each depth of the stack at a time, so the procedures that are called at one
//! depth share their locals, as far as types allow.

use std::sync::Arc;

use droste_program::{
    Expr, ExprNode, Node, NodeId, Op, ProcId, Procedure, Program, Threads, Type, VarRef,
};
use rustc_hash::FxHashMap;

/// No more statements than this, and no more open calls. Where stacks are gone there are no tuples of
/// globals: a stack of 4,800 statements, unrolled, is solved fifteen times faster. A step is one
/// conjunction of its relation, whose size grows with the statements and not faster.
const MOST: (usize, usize) = (30_000, 32);

/// A program whose threads make no calls.
pub(crate) struct Inlined {
    pub(crate) program: Program,
    /// For each node, the one that it is a copy of.
    pub(crate) origin: Vec<NodeId>,
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

struct Inliner<'a> {
    original: &'a Program,
    program: Program,
    origin: Vec<NodeId>,
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
    copies: FxHashMap<(usize, NodeId), NodeId>,
    work: Vec<(usize, NodeId)>,
}

/// The program with calls of threads replaced; `None` if that cannot be done.
pub(crate) fn inlined(original: &Program) -> Option<Inlined> {
    let starts = |node: &Node| matches!(node.op, Op::StartThread { .. });
    if original.nodes.iter().any(starts) {
        return None;
    }
    let mut program = original.clone();
    let mut origin: Vec<NodeId> = (0..original.nodes.len() as u32).map(NodeId).collect();
    let mut inline = |procedure: ProcId| -> Option<ProcId> {
        let thread = ProcId(program.procedures.len() as u32);
        let mut inliner = Inliner {
            original,
            program: std::mem::replace(&mut program, empty()),
            origin: std::mem::take(&mut origin),
            procedure: thread,
            frames: Vec::new(),
            entered: FxHashMap::default(),
            places: Vec::new(),
            placed: FxHashMap::default(),
            free: FxHashMap::default(),
            copies: FxHashMap::default(),
            work: Vec::new(),
        };
        inliner.thread(procedure)?;
        program = inliner.program;
        origin = inliner.origin;
        Some(thread)
    };
    let threads = match &original.threads {
        Threads::Dynamic => {
            let main = inline(original.main)?;
            program.main = main;
            Threads::Dynamic
        }
        Threads::Init { end_init, threads } => Threads::Init {
            end_init: *end_init,
            threads: threads.iter().map(|&p| inline(p)).collect::<Option<_>>()?,
        },
        Threads::Sections(list) => {
            let all = list
                .iter()
                .map(|(name, p)| Some((name.clone(), inline(*p)?)));
            let all: Vec<_> = all.collect::<Option<_>>()?;
            program.main = all.first()?.1;
            Threads::Sections(all)
        }
    };
    program.threads = threads;
    Some(Inlined { program, origin })
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

impl Inliner<'_> {
    /// Adds the procedure of a thread that executes `root`.
    fn thread(&mut self, root: ProcId) -> Option<()> {
        let original = self.original.procedure(root);
        self.program.procedures.push(Procedure {
            locals: original.locals.clone(),
            ..original.clone()
        });
        self.places
            .push((0..original.locals.len() as u32).collect());
        self.frames.push(Frame {
            below: None,
            places: 0,
            depth: 0,
        });
        let entry = self.copy(0, original.entry)?;
        self.program.procedures[self.procedure.0 as usize].entry = entry;
        while let Some((frame, node)) = self.work.pop() {
            let new = self.copies[&(frame, node)];
            let (op, ensure) = self.op(frame, node)?;
            let copy = &mut self.program.nodes[new.0 as usize];
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
        let id = NodeId(self.program.nodes.len() as u32);
        if self.program.nodes.len() > self.original.nodes.len() + MOST.0 {
            return None;
        }
        self.program.nodes.push(Node {
            procedure: self.procedure,
            op: Op::Stuck,
            ensure: None,
            ..self.original.node(node).clone()
        });
        self.origin.push(node);
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
            Op::StartThread { .. } => return None,
            Op::Call { callee, args, .. } => {
                return Some((self.call(frame, node, *callee, args)?, None));
            }
            Op::Return(values) => return self.leave(frame, values),
        };
        Some((op, self.ensure(frame, node)))
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
        let thread = &mut self.program.procedures[self.procedure.0 as usize];
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
