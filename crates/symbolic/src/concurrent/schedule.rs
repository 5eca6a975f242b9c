//! From a tuple that meets a target to the schedule of a run.

use droste_bdd::Var;
use droste_blast::decode;
use droste_program::VarRef;
use droste_program::schedule::{Schedule, Start, Turn};
use rustc_hash::FxHashMap;

use super::Answer;
use super::contexts::{Hit, Search};

impl Search<'_, '_> {
    /// One of the runs that meet the target.
    pub(super) fn answer(&self, hit: &Hit, init: usize) -> Answer {
        let vars = hit.set.support();
        let picked = hit.set.pick(&vars).expect("the set has a member");
        let values: FxHashMap<Var, bool> = vars.into_iter().zip(picked).collect();
        let get = |var: Var| values.get(&var).copied().unwrap_or(false);
        let number = |vars: &[Var]| {
            vars.iter()
                .enumerate()
                .fold(0, |n, (k, &var)| n | usize::from(get(var)) << k)
        };
        let program = self.program();
        let declared = self.question.declared.len();
        let code = |vars: &mut dyn Iterator<Item = Var>| {
            vars.enumerate()
                .fold(0u64, |code, (k, var)| code | u64::from(get(var)) << k)
        };
        let threads: Vec<usize> = (0..=hit.context)
            .map(|context| {
                if context == hit.context {
                    hit.thread
                } else {
                    number(&self.thread_bits[context])
                }
            })
            .collect();
        // Started threads that are active, by their old numbers.
        let mut active: Vec<usize> = threads.iter().copied().filter(|&t| t >= declared).collect();
        active.sort_unstable();
        active.dedup();
        let mut turns = Vec::new();
        let mut begun = 0;
        for (context, &thread) in threads.iter().enumerate() {
            let count = |context: usize| match self.prepared.started {
                Some(global) if context > hit.context => Some(global).map_or(0, |_| begun),
                Some(global) => {
                    let var = VarRef::Global(global);
                    code(&mut self.encoding.extra(program.main, var, context)) as usize
                }
                None => 0,
            };
            let until = count(context + 1).max(begun);
            let mut starts = Vec::new();
            for slot in begun..until {
                if !active.contains(&(declared + slot)) {
                    continue;
                }
                let start = self.prepared.starts[number(&self.start_bits[slot])];
                let procedure = program.node(start).procedure;
                let locals = program.procedure(procedure).locals.iter().enumerate();
                let locals = locals.map(|(i, v)| {
                    let var = VarRef::Local(i as u32);
                    decode(v.ty, code(&mut self.encoding.extra(procedure, var, slot)))
                });
                starts.push(Start {
                    start,
                    locals: locals.collect(),
                });
            }
            begun = until;
            let originals = self.question.program.globals.iter().enumerate();
            let globals = originals.map(|(i, v)| {
                let shared = self.prepared.shared.contains(&(i as u32));
                (context > 0 && shared).then(|| {
                    let var = VarRef::Global(i as u32);
                    decode(
                        v.ty,
                        code(&mut self.encoding.extra(program.main, var, context)),
                    )
                })
            });
            let renumbered = if thread < declared {
                thread
            } else {
                declared + active.iter().position(|&t| t == thread).unwrap_or(0)
            };
            turns.push(Turn {
                thread: renumbered,
                globals: globals.collect(),
                starts,
            });
        }
        let level = match self.rounds {
            Some(rounds) => rounds,
            None => hit.context.saturating_sub(init),
        };
        Answer::Hit(Schedule { turns, stop: None }, level)
    }
}
