//! What the text of a program tells about its threads: which locals can still matter, and which
//! steps other threads can notice.
//!
//! **Locals.** A local that is not read before it is written again may have any value. Other threads
//! do not change that. A thread that is started gets a copy of a frame; there every local counts as
//! read, because the frame is part of the schedule.
//!
//! **Steps that nobody notices.** A step is *quiet* if it reads no global that another thread
//! writes, and writes none that another thread reads or writes. Such a step commutes with the steps
//! of other threads. So a context need not end with quiet steps: they can just as well be made when
//! the thread becomes active again, or not at all if it does not. That takes no more switches and no
//! more rounds. Hence a thread is interrupted only after a step that is not quiet. (The reduction is
//! Lipton's, CACM 1975, for movers of the simplest kind.)

use droste_program::{Expr, ExprNode, NodeId, Op, Program, VarRef};
use rustc_hash::FxHashSet;

/// Sets of locals, for each node.
pub(super) struct LiveLocals {
    words: usize,
    /// When control is at the node.
    at: Vec<u64>,
    /// In the caller's frame, while the call at the node is open.
    below: Vec<u64>,
}

fn locals_of(expr: &Expr, next: bool, mut f: impl FnMut(u32)) {
    for part in &expr.nodes {
        match *part {
            ExprNode::Var(VarRef::Local(i)) if !next => f(i),
            ExprNode::Next(VarRef::Local(i)) if next => f(i),
            _ => {}
        }
    }
}

impl LiveLocals {
    pub(super) fn new(program: &Program) -> Self {
        let most = program.procedures.iter().map(|p| p.locals.len()).max();
        let words = most.unwrap_or(0).div_ceil(64);
        let mut live = LiveLocals {
            words,
            at: vec![0; words * program.nodes.len()],
            below: vec![0; words * program.nodes.len()],
        };
        if words == 0 {
            return live;
        }
        loop {
            let mut changed = false;
            for node in (0..program.nodes.len()).rev() {
                changed |= live.update(program, node);
            }
            if !changed {
                return live;
            }
        }
    }

    /// One equation; whether it made a difference.
    fn update(&mut self, program: &Program, index: usize) -> bool {
        let node = &program.nodes[index];
        let words = self.words;
        let mut after = vec![0u64; words];
        node.op.for_each_next(|to| {
            let there = &self.at[to.0 as usize * words..][..words];
            after.iter_mut().zip(there).for_each(|(a, b)| *a |= b);
        });
        let add = |set: &mut [u64], i: u32| set[i as usize / 64] |= 1 << (i % 64);
        if let Some(ensure) = &node.ensure {
            locals_of(ensure, false, |i| add(&mut after, i));
        }
        node.op
            .for_each_expr(|expr| locals_of(expr, true, |i| add(&mut after, i)));
        let mut before = after;
        node.op.for_each_written(|var| {
            if let VarRef::Local(i) = var {
                before[i as usize / 64] &= !(1 << (i % 64));
            }
        });
        if let Op::Call { constrain, .. } = &node.op {
            let mut below = before.clone();
            if let Some(expr) = constrain {
                locals_of(expr, false, |i| add(&mut below, i));
            }
            self.below[index * words..][..words].copy_from_slice(&below);
        }
        node.op
            .for_each_expr(|expr| locals_of(expr, false, |i| add(&mut before, i)));
        if let Op::StartThread { .. } = node.op {
            let locals = program.procedure(node.procedure).locals.len() as u32;
            (0..locals).for_each(|i| add(&mut before, i));
        }
        let known = &mut self.at[index * words..][..words];
        let changed = *known != before[..];
        known.copy_from_slice(&before);
        changed
    }

    /// Whether the local may be read when control is at the node.
    pub(super) fn at(&self, node: NodeId, local: u32) -> bool {
        self.at[node.0 as usize * self.words + local as usize / 64] >> (local % 64) & 1 != 0
    }

    /// Whether the caller's local may be read after the call at the node.
    pub(super) fn below(&self, node: NodeId, local: u32) -> bool {
        self.below[node.0 as usize * self.words + local as usize / 64] >> (local % 64) & 1 != 0
    }
}

/// Who reads and who writes which global.
pub(super) struct Accesses {
    /// By thread and global.
    reads: Vec<Vec<bool>>,
    writes: Vec<Vec<bool>>,
}

impl Accesses {
    /// For threads that begin at these nodes. One that begins nowhere is never interrupted.
    pub(super) fn new(program: &Program, roots: &[Vec<NodeId>]) -> Self {
        let mut accesses = Accesses {
            reads: vec![vec![false; program.globals.len()]; roots.len()],
            writes: vec![vec![false; program.globals.len()]; roots.len()],
        };
        for (thread, roots) in roots.iter().enumerate() {
            let mut seen: FxHashSet<NodeId> = roots.iter().copied().collect();
            let mut work = roots.clone();
            while let Some(id) = work.pop() {
                let node = program.node(id);
                reads(program, id, |i| accesses.reads[thread][i as usize] = true);
                node.op.for_each_written(|var| {
                    if let VarRef::Global(i) = var {
                        accesses.writes[thread][i as usize] = true;
                    }
                });
                let mut go = |to: NodeId| {
                    if seen.insert(to) {
                        work.push(to);
                    }
                };
                node.op.for_each_next(&mut go);
                if let Op::Call { callee, .. } = node.op {
                    go(program.procedure(callee).entry);
                }
            }
        }
        accesses
    }

    /// Whether no other thread can notice when this one makes the step of the node. `program` is the
    /// program as it was written.
    pub(super) fn is_quiet(&self, program: &Program, thread: usize, id: NodeId) -> bool {
        let node = program.node(id);
        if let Op::StartThread { .. } | Op::AtomicEnd(_) = node.op {
            return false;
        }
        let mut quiet = true;
        reads(program, id, |i| quiet &= !others(&self.writes, thread, i));
        node.op.for_each_written(|var| {
            if let VarRef::Global(i) = var {
                let is_read = self.reads.iter().any(|reads| reads[i as usize]);
                let shared = others(&self.reads, thread, i) || others(&self.writes, thread, i);
                quiet &= !(is_read && shared);
            }
        });
        quiet
    }
}

fn others(accesses: &[Vec<bool>], thread: usize, global: u32) -> bool {
    let all = accesses.iter().enumerate();
    all.into_iter()
        .any(|(other, accesses)| other != thread && accesses[global as usize])
}

/// The globals that a node reads.
fn reads(program: &Program, node: NodeId, mut f: impl FnMut(u32)) {
    let node = program.node(node);
    let mut visit = |expr: &Expr| {
        for part in &expr.nodes {
            if let ExprNode::Var(VarRef::Global(i)) | ExprNode::Next(VarRef::Global(i)) = *part {
                f(i);
            }
        }
    };
    node.op.for_each_expr(&mut visit);
    if let Some(ensure) = &node.ensure {
        visit(ensure);
    }
}
