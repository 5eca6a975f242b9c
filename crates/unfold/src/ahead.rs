//! What a call forgets: the values that its callee will not read.
//!
//! On arrival at a node, what is not live there is forgotten. At the entry of a procedure more is
//! known. As long as the known values decide which branches the callee takes, only what matters on
//! that path is kept. Calls that differ in nothing else then share an entry state, and all that
//! follows from it. Why this is exact: `docs/NONDETERMINISM.md`, "Forgetting".

use droste_program::{NodeId, Op, Program};

use crate::code::{FALSE, Outcome, TRUE};
use crate::layout::Layout;
use crate::machine::{Action, Machine};
use crate::words::Words;

/// In [`Machine::ahead`]: calls do not look ahead beyond the node.
pub(crate) const NOT: u32 = u32::MAX;

/// The most statements that are looked ahead.
const AHEAD: usize = 8;

/// The nodes near the entries of procedures beyond which calls look ahead, because there is a
/// branch with less to keep on one side than before it; and the bits that they read. None in a
/// program with threads: another one may change the condition before it is read.
pub(crate) fn ahead(program: &Program, layout: &Layout, masks: &[u64]) -> (Vec<u32>, Vec<u64>) {
    let mut ahead = vec![NOT; program.nodes.len()];
    let mut all = Vec::new();
    if program.is_concurrent() {
        return (ahead, all);
    }
    let mask = |node: NodeId| &masks[node.0 as usize * layout.words..][..layout.words];
    for procedure in &program.procedures {
        // In the order in which they are come to.
        let mut near = vec![procedure.entry];
        let mut worth = false;
        let mut next = 0;
        while next < near.len() && near.len() <= 4 * AHEAD {
            let id = near[next];
            let node = program.node(id);
            next += 1;
            let sides: &[NodeId] = match &node.op {
                _ if node.ensure.is_some() => &[],
                Op::Branch { yes, no, .. } => &[*yes, *no],
                Op::Goto(targets) if targets.len() == 1 => targets,
                Op::Assign {
                    constrain: None,
                    next,
                    ..
                } => &[*next],
                _ => &[],
            };
            let mut reads = vec![0; layout.words];
            layout.cover_control(&mut reads);
            node.op.for_each_expr(|expr| {
                for field in layout.variables(expr, node.procedure.0) {
                    field.cover(&mut reads);
                }
            });
            if !sides.is_empty() && ahead[id.0 as usize] == NOT {
                ahead[id.0 as usize] = (all.len() / layout.words) as u32;
                all.extend_from_slice(&reads);
            }
            for &side in sides {
                let mut parts = mask(id).iter().zip(mask(side)).zip(&reads);
                let less = parts.any(|((&before, &after), &reads)| before & !after & !reads != 0);
                worth |= less && sides.len() > 1;
                if !near.contains(&side) {
                    near.push(side);
                }
            }
        }
        if !worth {
            ahead[procedure.entry.0 as usize] = NOT;
        }
    }
    (ahead, all)
}

impl Machine {
    /// Control enters a procedure. As far as it is known which way control will go, everything is
    /// forgotten that neither is read on the way nor matters at its end. So calls that differ in
    /// what their callee will not look at share an entry state.
    pub(crate) fn look_ahead<W: Words>(&self, state: &mut W, mut node: u32) {
        let mut kept = W::zeroed(self.layout.words);
        for _ in 0..AHEAD {
            let index = self.ahead[node as usize];
            if index == NOT {
                break;
            }
            let words = state.words();
            let next = match &self.nodes[node as usize].action {
                Action::Branch { condition, yes, no } => match condition.eval(words, words) {
                    Outcome::Set(TRUE) => *yes,
                    Outcome::Set(FALSE) => *no,
                    _ => break,
                },
                // The assigned variable was unknown before, so nothing has been decided by its old
                // value.
                Action::Assign { stores, next, .. }
                    if stores.iter().all(|(field, ..)| field.get(words).is_none()) =>
                {
                    *next
                }
                Action::Goto(targets) => targets[0],
                _ => break,
            };
            let reads = &self.reads[index as usize * self.layout.words..];
            for (kept, (word, reads)) in kept.words_mut().iter_mut().zip(words.iter().zip(reads)) {
                *kept |= word & reads;
            }
            node = next;
        }
        let live = &self.masks[node as usize * self.layout.words..];
        let masks = live.iter().zip(kept.words());
        for (word, (live, kept)) in state.words_mut().iter_mut().zip(masks) {
            *word = *word & live | kept;
        }
    }
}
