//! Which globals a procedure touches: reads or writes, itself or through the procedures it calls.
//!
//! A global that a callee does not touch is the same after the call as before it. So it need not be
//! part of the callee's entry state (calls that differ only in such globals share one exploration
//! of the callee), and the caller keeps its own value across the call.

use crate::program::{ExprNode, Node, Op, ProcId, Program, Proposition, VarRef};

/// A set of globals for each procedure.
#[derive(Clone, Debug)]
pub struct Effects {
    words: usize,
    bits: Vec<u64>,
}

impl Effects {
    /// What each procedure touches.
    pub fn new(program: &Program) -> Self {
        Self::watched(program, &[])
    }

    /// What each procedure touches, if these propositions are watched: what is watched in a
    /// procedure counts as read there.
    pub fn watched(program: &Program, propositions: &[&Proposition]) -> Self {
        Effects::none(program).watching(program, propositions)
    }

    /// What each procedure touches, if a return also reads what the conditions of its callers will
    /// look at. That is so when runs that get stuck are looked for.
    pub fn with_returns(program: &Program, propositions: &[&Proposition]) -> Self {
        let mut effects = Effects::none(program);
        for node in &program.nodes {
            if let Op::Call { callee, .. } = node.op {
                node.for_each_asked(|global| effects.add(callee, VarRef::Global(global)));
            }
        }
        effects.watching(program, propositions)
    }

    fn watching(self, program: &Program, propositions: &[&Proposition]) -> Self {
        let mut effects = self;
        for proposition in propositions {
            for (procedure, expr) in (0..).zip(&proposition.by_procedure) {
                for part in &expr.nodes {
                    if let ExprNode::Var(var) = *part {
                        effects.add(ProcId(procedure), var);
                    }
                }
            }
        }
        effects.close(program, |node, touch| node.for_each_mentioned(touch))
    }

    /// What each procedure may change.
    pub fn written(program: &Program) -> Self {
        Effects::none(program).close(program, |node, touch| node.op.for_each_written(touch))
    }

    fn none(program: &Program) -> Self {
        let words = program.globals.len().div_ceil(64);
        Effects {
            words,
            bits: vec![0; words * program.procedures.len()],
        }
    }

    fn add(&mut self, procedure: ProcId, var: VarRef) {
        if let VarRef::Global(i) = var {
            let word = procedure.0 as usize * self.words + i as usize / 64;
            self.bits[word] |= 1 << (i % 64);
        }
    }

    /// The least sets that contain these, what `direct` reports of the procedure's own nodes, and
    /// the sets of its callees.
    fn close(mut self, program: &Program, direct: impl Fn(&Node, &mut dyn FnMut(VarRef))) -> Self {
        let words = self.words;
        let mut callers: Vec<Vec<u32>> = vec![Vec::new(); program.procedures.len()];
        for node in &program.nodes {
            direct(node, &mut |var| self.add(node.procedure, var));
            if let Op::Call { callee, .. } = &node.op {
                callers[callee.0 as usize].push(node.procedure.0);
            }
        }
        for list in &mut callers {
            list.sort_unstable();
            list.dedup();
        }
        // A procedure whose set has grown passes it on.
        let mut work: Vec<u32> = (0..program.procedures.len() as u32).collect();
        while let Some(procedure) = work.pop() {
            for &caller in &callers[procedure as usize] {
                let mut grown = false;
                for word in 0..words {
                    let new = self.bits[procedure as usize * words + word];
                    let old = &mut self.bits[caller as usize * words + word];
                    grown |= *old | new != *old;
                    *old |= new;
                }
                if grown {
                    work.push(caller);
                }
            }
        }
        self
    }

    /// The same effects, if every procedure touches these globals, because other threads may change
    /// them at any time.
    #[must_use]
    pub fn with(mut self, always: &[u32]) -> Self {
        self.add_everywhere(always.iter().copied());
        self
    }

    /// Whoever watches a global touches it, in every procedure.
    pub fn watch(&mut self, proposition: &Proposition) {
        let exprs = proposition.by_procedure.iter();
        let exprs = exprs.chain([&proposition.terminated]);
        let parts = exprs.flat_map(|expr| &expr.nodes);
        self.add_everywhere(parts.filter_map(|part| match *part {
            ExprNode::Var(VarRef::Global(i)) => Some(i),
            _ => None,
        }));
    }

    fn add_everywhere(&mut self, globals: impl Iterator<Item = u32>) {
        for global in globals {
            for set in self.bits.chunks_mut(self.words) {
                set[global as usize / 64] |= 1 << (global % 64);
            }
        }
    }

    /// Whether `procedure` touches `global`.
    pub fn touches(&self, procedure: ProcId, global: u32) -> bool {
        self.globals(procedure)[global as usize / 64] >> (global % 64) & 1 == 1
    }

    /// The globals that `procedure` touches, one bit each.
    pub fn globals(&self, procedure: ProcId) -> &[u64] {
        &self.bits[procedure.0 as usize * self.words..][..self.words]
    }
}
