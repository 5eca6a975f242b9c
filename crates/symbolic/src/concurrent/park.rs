//! The end of a context, for the sets of tuples (`contexts`): the states in which the thread can be
//! interrupted, or has ended.

use droste_bdd::{Cube, Renaming, Var};
use droste_program::{NodeId, Op, ProcId, Threads, VarRef};
use droste_relations::{Action, Copy, Result};

use super::contexts::{Frame, Key, Search};

/// Stands for the end of a thread among the nodes.
pub(super) const ENDED: u32 = u32::MAX;

impl Search<'_, '_> {
    /// Where the threads can be interrupted at the end of the context.
    pub(super) fn park(&mut self, context: usize) -> Result<()> {
        let program = self.program();
        let manager = self.encoding.manager.clone();
        let mut pairs = Vec::new();
        for &i in &self.prepared.shared {
            let var = VarRef::Global(i);
            let current = self.encoding.vars(program.main, var, Copy::Current);
            pairs.extend(current.zip(self.encoding.extra(program.main, var, context + 1)));
        }
        let away: Renaming = manager.renaming(&pairs);
        let is_init = context == 0 && self.has_init();
        let calm = match self.prepared.atomic {
            // `init` is not disturbed whatever it does.
            Some(atomic) if !is_init => Some(self.current_is(atomic, 0)?),
            _ => None,
        };
        let keys: Vec<Key> = self.contexts[context].reached.keys().copied().collect();
        for key in keys {
            let (thread, frame, node) = key;
            let set = self.contexts[context].reached[&key].clone();
            if is_init {
                if let Threads::Init { end_init, .. } = program.threads
                    && node != end_init
                {
                    continue;
                }
            } else if self.ends(frame, node) {
                // An atomic section ends with its thread.
                let ended = match &self.relation(node)?.action {
                    Action::Return(parts) => {
                        let mut set = set.clone();
                        for part in parts {
                            set = set.and(part)?;
                        }
                        set.exists(&self.result_cube()?)?
                    }
                    _ => set.clone(),
                };
                let ended = ended.rename(&away)?.exists(&self.state)?;
                let known = self.contexts[context]
                    .parked
                    .entry((thread, Frame::Outermost, NodeId(ENDED)))
                    .or_insert_with(|| self.nothing.clone());
                *known = known.or(&ended)?;
            }
            if !is_init && !self.interruptible[thread][node.0 as usize] {
                continue;
            }
            let mut set = set;
            if let Some(calm) = &calm {
                set = set.and(calm)?;
            }
            if set.is_false() {
                continue;
            }
            let set = set.rename(&away)?;
            self.contexts[context].parked.insert(key, set);
        }
        Ok(())
    }

    pub(super) fn result_cube(&self) -> Result<Cube> {
        let program = self.program();
        let procedures = program.procedures.iter().enumerate();
        let vars: Vec<Var> = procedures
            .flat_map(|(p, procedure)| {
                (0..procedure.results.len())
                    .flat_map(move |i| self.encoding.result_vars(ProcId(p as u32), i))
            })
            .collect();
        self.encoding.manager.cube(&vars)
    }

    /// Whether the thread can end by executing the node.
    pub(super) fn ends(&self, frame: Frame, node: NodeId) -> bool {
        match self.program().node(node).op {
            Op::EndThread => true,
            Op::Return(_) => frame == Frame::Outermost,
            _ => false,
        }
    }
}
