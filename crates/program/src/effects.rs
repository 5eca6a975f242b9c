//! Which globals a procedure touches: reads or writes, itself or through the procedures it calls.
//!
//! A global that a callee does not touch is the same after the call as before it. So it need not be
//! part of the callee's entry state (calls that differ only in such globals share one
//! exploration of the callee), and the caller keeps its own value over the return.

use crate::program::{ExprNode, Op, Program, Proposition, VarRef};

/// A set of globals for each procedure.
#[derive(Clone, Debug)]
pub struct Effects {
    words: usize,
    bits: Vec<u64>,
}

impl Effects {
    /// Whoever watches a global touches it, in every procedure.
    pub fn watch(&mut self, proposition: &Proposition) {
        let exprs = proposition.by_procedure.iter();
        for part in exprs
            .chain([&proposition.terminated])
            .flat_map(|expr| &expr.nodes)
        {
            if let ExprNode::Var(VarRef::Global(i)) = *part {
                for set in self.bits.chunks_mut(self.words) {
                    set[i as usize / 64] |= 1 << (i % 64);
                }
            }
        }
    }

    /// The least sets that contain what each procedure touches itself and what its callees
    /// touch.
    pub fn new(program: &Program) -> Self {
        let words = program.globals.len().div_ceil(64);
        let mut effects = Effects {
            words,
            bits: vec![0; words * program.procedures.len()],
        };
        let mut callers: Vec<Vec<u32>> = vec![Vec::new(); program.procedures.len()];
        for node in &program.nodes {
            let procedure = node.procedure.0 as usize;
            let set = &mut effects.bits[procedure * words..][..words];
            let touch = |var: VarRef| {
                if let VarRef::Global(i) = var {
                    set[i as usize / 64] |= 1 << (i % 64);
                }
            };
            node.for_each_mentioned(touch);
            if let Op::Call { callee, .. } = &node.op {
                callers[callee.0 as usize].push(procedure as u32);
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
                    let new = effects.bits[procedure as usize * words + word];
                    let old = &mut effects.bits[caller as usize * words + word];
                    grown |= *old | new != *old;
                    *old |= new;
                }
                if grown {
                    work.push(caller);
                }
            }
        }
        effects
    }

    /// The same, if every procedure touches these: globals that other threads may change at any time.
    #[must_use]
    pub fn with(mut self, always: &[u32]) -> Self {
        if self.words > 0 {
            for set in self.bits.chunks_mut(self.words) {
                for &global in always {
                    set[global as usize / 64] |= 1 << (global % 64);
                }
            }
        }
        self
    }

    /// Whether `procedure` touches `global`.
    pub fn touches(&self, procedure: u32, global: u32) -> bool {
        let word = self.bits[procedure as usize * self.words + global as usize / 64];
        word >> (global % 64) & 1 == 1
    }
}
