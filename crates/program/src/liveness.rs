//! Which variables matter where: what the dead-variables pass tells the engines, and which locals
//! of threads can still matter.

use crate::program::{Expr, ExprNode, NodeId, Op, ProcId, Program, VarRef};

/// Which variables matter where. An engine may leave the others without a value.
pub trait Liveness {
    /// Whether the value of `var` may matter when control is at `node`.
    fn live(&self, node: NodeId, var: VarRef) -> bool;
    /// Whether the value of a global may matter when `procedure` has returned.
    fn live_at_exit(&self, procedure: ProcId, global: u32) -> bool;
    /// Whether the value of a global may matter after `main` has returned.
    fn live_after_termination(&self, global: u32) -> bool;
}

/// Every value matters everywhere.
#[derive(Clone, Copy, Debug, Default)]
pub struct AllLive;

impl Liveness for AllLive {
    fn live(&self, _: NodeId, _: VarRef) -> bool {
        true
    }
    fn live_at_exit(&self, _: ProcId, _: u32) -> bool {
        true
    }
    fn live_after_termination(&self, _: u32) -> bool {
        true
    }
}

/// Sets of locals, for each node.
///
/// A local that is not read before it is written again may have any value. Other threads do not
/// change that. A thread that is started gets a copy of a frame; there every local counts as read,
/// because the frame is part of the schedule.
#[derive(Clone, Debug)]
pub struct LiveLocals {
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
    /// For all procedures of the program.
    pub fn new(program: &Program) -> Self {
        Self::copying(program, &|_| None)
    }

    /// The same, where a start may say which locals of its procedure the new thread gets: the i-th of
    /// these becomes local i of the procedure in which the thread begins, which may be another one.
    /// They count as read if they are read there.
    pub fn copying<'a>(program: &Program, copied: &dyn Fn(NodeId) -> Option<&'a [u32]>) -> Self {
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
                changed |= live.update(program, node, copied(NodeId(node as u32)));
            }
            if !changed {
                return live;
            }
        }
    }

    /// One equation; whether it made a difference.
    fn update(&mut self, program: &Program, index: usize, copied: Option<&[u32]>) -> bool {
        let node = &program.nodes[index];
        let words = self.words;
        let mut after = vec![0u64; words];
        let mut add_all = |to: NodeId| {
            let there = &self.at[to.0 as usize * words..][..words];
            after.iter_mut().zip(there).for_each(|(a, b)| *a |= b);
        };
        match (&node.op, copied) {
            (Op::StartThread { next, .. }, Some(_)) => add_all(*next),
            (op, _) => op.for_each_next(add_all),
        }
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
        if let Op::StartThread { start, .. } = node.op {
            if let Some(list) = copied {
                let read = (0..).zip(list).filter(|(i, _)| self.at(start, *i));
                read.for_each(|(_, &local)| add(&mut before, local));
            } else {
                let locals = program.procedure(node.procedure).locals.len() as u32;
                (0..locals).for_each(|i| add(&mut before, i));
            }
        }
        let known = &mut self.at[index * words..][..words];
        let changed = *known != before[..];
        known.copy_from_slice(&before);
        changed
    }

    /// Whether the local may be read when control is at the node.
    pub fn at(&self, node: NodeId, local: u32) -> bool {
        self.at[node.0 as usize * self.words + local as usize / 64] >> (local % 64) & 1 != 0
    }

    /// Whether the caller's local may be read after the call at the node.
    pub fn below(&self, node: NodeId, local: u32) -> bool {
        self.below[node.0 as usize * self.words + local as usize / 64] >> (local % 64) & 1 != 0
    }
}

impl Liveness for LiveLocals {
    fn live(&self, node: NodeId, var: VarRef) -> bool {
        match var {
            VarRef::Global(_) => true,
            VarRef::Local(i) => self.at(node, i),
        }
    }
    fn live_at_exit(&self, _: ProcId, _: u32) -> bool {
        true
    }
    fn live_after_termination(&self, _: u32) -> bool {
        true
    }
}
