//! The beginning of a context, for the sets of tuples (`contexts`): threads that run for the first
//! time, and threads that go on where they were interrupted.

use std::collections::BTreeMap;

use droste_bdd::{Bdd, Var};
use droste_program::{NodeId, ProcId, Threads, VarRef};
use droste_relations::{Copy, Result};

use super::contexts::{Frame, Key, Search};
use super::park::ENDED;

impl Search<'_, '_> {
    /// The number of the thread in context `context` is `thread`.
    pub(super) fn thread_is(&self, context: usize, thread: usize) -> Result<Bdd> {
        let bits = self.thread_bits[context].iter().enumerate();
        self.encoding
            .manager
            .minterm(bits.map(|(k, &var)| (var, thread >> k & 1 != 0)))
    }

    /// The current values of the shared globals are those at the beginning of `context`.
    pub(super) fn globals_are(&self, context: usize) -> Result<Bdd> {
        let manager = &self.encoding.manager;
        let mut all = manager.constant(true);
        for &i in &self.prepared.shared {
            let var = VarRef::Global(i);
            let current = self.encoding.vars(self.program().main, var, Copy::Current);
            let copy = self.encoding.extra(self.program().main, var, context);
            for (current, copy) in current.zip(copy) {
                all = all.and(&manager.var(current)?.iff(&manager.var(copy)?)?)?;
            }
        }
        Ok(all)
    }

    /// A global of any type has this code.
    pub(super) fn current_is(&self, global: u32, code: u64) -> Result<Bdd> {
        let vars = self
            .encoding
            .vars(self.program().main, VarRef::Global(global), Copy::Current);
        let literals: Vec<(Var, bool)> = vars
            .enumerate()
            .map(|(k, var)| (var, code >> k & 1 != 0))
            .collect();
        self.encoding.manager.minterm(literals)
    }

    /// What the threads begin the context with; and whether there is anything.
    pub(super) fn seeds(&mut self, context: usize) -> Result<(Vec<(Key, Bdd)>, bool)> {
        let mut seeds = Vec::new();
        let mut any = false;
        let not_init = usize::from(self.has_init());
        if context == 0 {
            let threads = match self.program().threads {
                Threads::Sections(_) => self.question.declared.len(),
                _ => 1,
            };
            for thread in 0..threads {
                let mut set = self.encoding.manager.constant(true);
                if let Some(started) = self.prepared.started {
                    set = set.and(&self.current_is(started, 0)?)?;
                }
                seeds.extend(self.beginning(thread, &set)?);
            }
            return Ok((seeds, true));
        }
        // Everything that can be interrupted or has ended before.
        let mut before = self.nothing.clone();
        let parked = std::mem::take(&mut self.contexts[context - 1].parked);
        for ((thread, _, _), set) in &parked {
            let set = set.exists(&self.state)?;
            let by = self.thread_is(context - 1, *thread)?;
            before = before.or(&set.and(&by)?)?;
        }
        self.contexts[context - 1].parked = parked;
        for thread in not_init..self.threads {
            let mut here = before.minus(&self.thread_is(context - 1, thread)?)?;
            if let Some(rounds) = self.rounds
                && context > not_init
            {
                here = here.and(&self.in_rounds(thread, rounds)?)?;
            }
            if here.is_false() {
                continue;
            }
            any = true;
            let now = here.and(&self.globals_are(context)?)?;
            // The thread becomes active for the first time.
            let mut first = now.clone();
            for earlier in 0..context {
                first = first.minus(&self.thread_is(earlier, thread)?)?;
            }
            if !first.is_false() {
                seeds.extend(self.beginning(thread, &first)?);
            }
            // The thread goes on where it was left.
            for last in (not_init..context).rev() {
                let mut again = now.and(&self.thread_is(last, thread)?)?;
                for between in last + 1..context {
                    again = again.minus(&self.thread_is(between, thread)?)?;
                }
                if again.is_false() {
                    continue;
                }
                let parked: Vec<(Key, Bdd)> = self.contexts[last]
                    .parked
                    .iter()
                    .filter(|((by, _, node), _)| *by == thread && node.0 != ENDED)
                    .map(|(key, set)| (*key, set.clone()))
                    .collect();
                for (key, set) in parked {
                    let set = set.and(&again)?;
                    if !set.is_false() {
                        seeds.push((key, set));
                    }
                }
            }
        }
        Ok((seeds, any))
    }

    /// The threads before `context` and this one make no more rounds than allowed.
    pub(super) fn in_rounds(&self, thread: usize, rounds: usize) -> Result<Bdd> {
        let mut all = self.nothing.clone();
        for (&(last, round), set) in &self.sequences {
            if round + usize::from(thread <= last) <= rounds {
                all = all.or(set)?;
            }
        }
        Ok(all)
    }

    /// The sequences of threads up to and including `context`, by the last thread and the number of
    /// rounds.
    pub(super) fn lengthen(&mut self, context: usize, rounds: usize) -> Result<()> {
        let init = usize::from(self.has_init());
        let mut longer: BTreeMap<(usize, usize), Bdd> = BTreeMap::new();
        for next in init..self.threads {
            let is_next = self.thread_is(context, next)?;
            if context == init {
                longer.insert((next, 1), is_next);
                continue;
            }
            for (&(last, round), set) in &self.sequences {
                let round = round + usize::from(next <= last);
                if round <= rounds {
                    let known = longer
                        .entry((next, round))
                        .or_insert_with(|| self.nothing.clone());
                    *known = known.or(&set.and(&is_next)?)?;
                }
            }
        }
        self.sequences = longer;
        Ok(())
    }

    /// The first states of a thread, for each place it can begin at.
    pub(super) fn beginning(&mut self, thread: usize, set: &Bdd) -> Result<Vec<(Key, Bdd)>> {
        let declared = self.question.declared.len();
        let mut set = set.clone();
        if let Some(atomic) = self.prepared.atomic {
            set = set.and(&self.current_is(atomic, 0)?)?;
        }
        if thread < declared {
            let procedure = self.question.declared[thread];
            let set = self.any_rest(procedure, &set, true)?;
            let entry = self.program().procedure(procedure).entry;
            return Ok(vec![((thread, Frame::Outermost, entry), set)]);
        }
        let slot = thread - declared;
        let Some(started) = self.prepared.started else {
            return Ok(Vec::new());
        };
        // The thread has been started: the counter is above its slot.
        let mut enough = self.nothing.clone();
        for count in slot + 1..=self.prepared.slots {
            enough = enough.or(&self.current_is(started, count as u64)?)?;
        }
        let set = set.and(&enough)?;
        if set.is_false() {
            return Ok(Vec::new());
        }
        let mut seeds = Vec::new();
        for (index, &start) in self.prepared.starts.iter().enumerate() {
            let procedure = self.program().node(start).procedure;
            let set = set.and(&self.starts_at(slot, index)?)?;
            let set = set.and(&self.frame_is(slot, procedure)?)?;
            let set = self.any_rest(procedure, &set, false)?;
            if !set.is_false() {
                seeds.push(((thread, Frame::Outermost, start), set));
            }
        }
        Ok(seeds)
    }

    /// Started thread `slot` begins at the start with this index.
    pub(super) fn starts_at(&self, slot: usize, index: usize) -> Result<Bdd> {
        let bits = self.start_bits[slot].iter().enumerate();
        self.encoding
            .manager
            .minterm(bits.map(|(k, &var)| (var, index >> k & 1 != 0)))
    }

    /// The locals of the procedure are those of the frame that started thread `slot` begins with.
    pub(super) fn frame_is(&self, slot: usize, procedure: ProcId) -> Result<Bdd> {
        let manager = &self.encoding.manager;
        let mut all = manager.constant(true);
        for i in 0..self.program().procedure(procedure).locals.len() as u32 {
            let var = VarRef::Local(i);
            let current = self.encoding.vars(procedure, var, Copy::Current);
            for (current, copy) in current.zip(self.encoding.extra(procedure, var, slot)) {
                all = all.and(&manager.var(current)?.iff(&manager.var(copy)?)?)?;
            }
        }
        Ok(all)
    }

    /// Everything else has some value of its type.
    pub(super) fn any_rest(&mut self, procedure: ProcId, set: &Bdd, locals: bool) -> Result<Bdd> {
        let mut set = set.clone();
        let globals = (0..self.program().globals.len() as u32).map(VarRef::Global);
        let count = self.program().procedure(procedure).locals.len() as u32;
        let locals = (0..if locals { count } else { 0 }).map(VarRef::Local);
        for var in globals.chain(locals) {
            let valid = self.encoding.in_range(procedure, var, Copy::Current)?;
            set = set.and(&valid)?;
        }
        Ok(set)
    }

    /// The states after starting a thread that will be active, one set for each number it may have.
    pub(super) fn started(&mut self, set: &Bdd, node: NodeId, start: NodeId) -> Result<Vec<Bdd>> {
        let Some(started) = self.prepared.started else {
            return Ok(Vec::new());
        };
        let procedure = self.program().node(node).procedure;
        let index = self
            .prepared
            .starts
            .iter()
            .position(|&s| s == start)
            .unwrap_or(0);
        let bits: Vec<Var> = self
            .encoding
            .vars(procedure, VarRef::Global(started), Copy::Current)
            .collect();
        let cube = self.encoding.manager.cube(&bits)?;
        let mut sets = Vec::new();
        for slot in 0..self.prepared.slots {
            let before = set.and_exists(&self.current_is(started, slot as u64)?, &cube)?;
            if before.is_false() {
                continue;
            }
            let after = before
                .and(&self.current_is(started, slot as u64 + 1)?)?
                .and(&self.starts_at(slot, index)?)?
                .and(&self.frame_is(slot, procedure)?)?;
            sets.push(after);
        }
        Ok(sets)
    }
}
