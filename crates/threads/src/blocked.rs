//! Where a thread cannot move: a state without steps, or a return that the caller refuses.

use droste_base::{CallId, Model, Step, Steps, StopReason};
use droste_pds::concurrent::stacks::NEW;
use droste_program::{NodeId, Op};
use droste_unfold::{ThreadControl, Words};

use crate::space::{ENDED, MOST, Saturation, Spaces, TOO_MANY};

impl<W: Words> Spaces<'_, W> {
    /// Whether a thread with this parked set may be where it cannot move, given these shared globals.
    pub(super) fn blocked(&mut self, parked: u32, globals: u32) -> Result<bool, StopReason> {
        if let Some(&known) = self.blocked.get(&(parked, globals)) {
            return Ok(known);
        }
        let shared = self.globals.get(globals).clone();
        let mut blocked = false;
        for (entry, rest) in self.parked.get(parked).clone() {
            if (entry, rest) != ENDED && !blocked {
                let words = self.threading.join(self.rests.get(rest), &shared);
                let callers = self.stacks.edges(entry).iter().map(|edge| edge.0);
                let found = self.is_blocked(words, &callers.collect::<Vec<_>>());
                blocked = self.or_limit(found)?;
            }
        }
        self.blocked.insert((parked, globals), blocked);
        Ok(blocked)
    }

    /// Whether the thread that has been explored cannot move somewhere inside an atomic section, or in
    /// `init` before its end.
    pub(super) fn stuck_alone(
        &mut self,
        work: &Saturation<W>,
        init: Option<NodeId>,
    ) -> Result<bool, StopReason> {
        for &(entry, state) in &work.order {
            self.guard.check()?;
            let local = self.states.get(state);
            if !local.atomic && init.is_none() || work.split.contains(&state) {
                continue;
            }
            if let ThreadControl::At(node) = self.threading.control(&local.words)
                && init == Some(node)
            {
                continue;
            }
            let callers: Vec<u32> = if entry & NEW == 0 {
                self.stacks.edges(entry).iter().map(|edge| edge.0).collect()
            } else {
                let entry = &work.entries[(entry & !NEW) as usize];
                entry.callers.iter().map(|caller| caller.1).collect()
            };
            let blocked = self.is_blocked(local.words.clone(), &callers);
            if self.or_limit(blocked)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// A limit that was reached meanwhile is the reason, rather than what there is too much of.
    fn or_limit(&mut self, found: Result<bool, StopReason>) -> Result<bool, StopReason> {
        if found.is_err() {
            self.guard.check_now()?;
        }
        found
    }

    /// Whether a thread in this state cannot move, for some values of what is unknown. It has been
    /// called by one of these, if any. (A return from its outermost frame is always possible: it
    /// ends the thread.)
    fn is_blocked(&self, words: W, callers: &[u32]) -> Result<bool, StopReason> {
        let mut work = vec![words];
        let mut steps = Steps::new();
        let mut after = Vec::new();
        while let Some(words) = work.pop() {
            let ThreadControl::At(node) = self.threading.control(&words) else {
                continue;
            };
            if self.program.node(node).op == Op::EndThread {
                continue;
            }
            steps.clear();
            self.model.steps(&words, &mut steps);
            if let Some(split) = steps.as_split() {
                if split.count > MOST {
                    return Err(TOO_MANY);
                }
                let parts = (0..split.count).map(|i| self.model.refine(&words, split.tag, i));
                work.extend(parts);
                continue;
            }
            if steps.overflowed() {
                return Err(TOO_MANY);
            }
            if steps.items().is_empty() {
                return Ok(true);
            }
            let leaves = |step: &Step<W>| matches!(step, Step::Exit(_));
            if !steps.items().iter().all(leaves) {
                continue;
            }
            // Somebody called it who accepts none of the exits.
            for &caller in callers {
                after.clear();
                let caller = &self.states.get(caller).words;
                for step in steps.items() {
                    if let Step::Exit(exit) = step
                        && !self.model.resume(caller, CallId(0), exit, &mut after)
                    {
                        return Err(TOO_MANY);
                    }
                }
                if after.is_empty() {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }
}
