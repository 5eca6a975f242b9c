//! Steps of a thread that no other thread can notice.
//!
//! A step is *quiet* if it reads no global that another thread writes, and writes none that another
//! thread reads or writes. Such a step commutes with the steps of other threads. So a context need
//! not end with quiet steps: they can just as well be made when the thread becomes active again, or
//! not at all if it does not. That takes no more switches and no more rounds. Hence it is enough that
//! a thread is interrupted after steps that are not quiet. (R. Lipton, *Reduction*, CACM 1975, for
//! movers of the simplest kind.)
//!
//! What keeps it honest: engines that use this are compared with all interleavings
//! (`check/tests/concurrent.rs`).

use std::collections::BTreeSet;

use crate::program::{Expr, ExprNode, NodeId, Op, Program, VarRef};

/// Who reads and who writes which global.
#[derive(Clone, Debug)]
pub struct Accesses {
    /// By thread and global.
    reads: Vec<Vec<bool>>,
    writes: Vec<Vec<bool>>,
}

impl Accesses {
    /// For threads that begin at these nodes. One that begins nowhere is never interrupted.
    pub fn new(program: &Program, roots: &[Vec<NodeId>]) -> Self {
        let mut accesses = Accesses {
            reads: vec![vec![false; program.globals.len()]; roots.len()],
            writes: vec![vec![false; program.globals.len()]; roots.len()],
        };
        for (thread, roots) in roots.iter().enumerate() {
            let mut seen: BTreeSet<NodeId> = roots.iter().copied().collect();
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
    pub fn is_quiet(&self, program: &Program, thread: usize, id: NodeId) -> bool {
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

/// For each node whether a thread need be interrupted there: some step that leads there is not
/// quiet.
pub fn interruptible(program: &Program, accesses: &Accesses, thread: usize) -> Vec<bool> {
    let mut found = vec![false; program.nodes.len()];
    let quiet: Vec<bool> = (0..program.nodes.len() as u32)
        .map(|node| accesses.is_quiet(program, thread, NodeId(node)))
        .collect();
    let mut returns = vec![true; program.procedures.len()];
    for (node, quiet) in program.nodes.iter().zip(&quiet) {
        if let Op::Return(_) = node.op {
            returns[node.procedure.0 as usize] &= quiet;
        }
    }
    for (node, &quiet) in program.nodes.iter().zip(&quiet) {
        let mut mark = |to: NodeId, quiet: bool| found[to.0 as usize] |= !quiet;
        match node.op {
            Op::Call { callee, next, .. } => {
                mark(program.procedure(callee).entry, quiet);
                mark(next, quiet && returns[callee.0 as usize]);
            }
            _ => node.op.for_each_next(|to| mark(to, quiet)),
        }
    }
    found
}

fn others(accesses: &[Vec<bool>], thread: usize, global: u32) -> bool {
    let mut all = accesses.iter().enumerate();
    all.any(|(other, accesses)| other != thread && accesses[global as usize])
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
