//! The contexts of a run that meets the target.
//!
//! The aggregates on the way are known. In the last one, a stack is chosen for each thread. From there one
//! goes backwards: each context is a run of its thread from some stack of the set that it began with to the
//! stack that was chosen.

use droste_base::StopReason;
use rustc_hash::FxHashSet;

use super::search::{NONE, Search, automaton};
use super::{Context, Target, Top};
use crate::automaton::{Automaton, Direction, Transition};
use crate::domains::Boolean;
use crate::query::{Way, reach};
use crate::system::{StateId, SymbolId};
use crate::witness::{Move, Witness};

impl Search<'_> {
    /// The contexts up to an aggregate that meets the target.
    pub(super) fn contexts(&self, id: u32) -> Result<Vec<Context>, StopReason> {
        let aggregate = &self.aggregates[id as usize];
        let chosen = |target: &Target| {
            let fits = target.shared.is_none_or(|s| s.0 == aggregate.shared);
            fits.then(|| self.words(&aggregate.sets, &target.tops))?
        };
        let mut now = self.targets.iter().find_map(chosen).unwrap_or_default();
        let mut contexts = Vec::new();
        let mut at = id;
        while self.aggregates[at as usize].parent != NONE {
            let aggregate = &self.aggregates[at as usize];
            let parent = &self.aggregates[aggregate.parent as usize];
            let thread = aggregate.last as usize;
            let before = (parent.shared, parent.sets[thread]);
            let after = (aggregate.shared, &now[thread][..]);
            let run = self.run_between(thread, before, after)?;
            now[thread].clone_from(&run.start.1);
            at = aggregate.parent;
            contexts.push(Context {
                thread,
                run: self.named(thread, run),
            });
        }
        contexts.reverse();
        Ok(contexts)
    }

    /// A shortest stack of every set, with these tops.
    fn words(&self, sets: &[u32], tops: &[Top]) -> Option<Vec<Vec<SymbolId>>> {
        let tops = tops.iter().copied().chain(std::iter::repeat(Top::Any));
        let threads = sets.iter().enumerate().zip(tops);
        let word = |((thread, &set), top)| self.shortest(thread, set, top);
        threads.map(word).collect()
    }

    /// A shortest stack of a set, with this top.
    fn shortest(&self, thread: usize, set: u32, top: Top) -> Option<Vec<SymbolId>> {
        let thread = &self.system.threads[thread];
        if thread.has(None, top) && self.stacks.accepting(set) {
            return Some(Vec::new());
        }
        let mut seen: FxHashSet<u32> = FxHashSet::default();
        // Node, place of the one before, symbol between.
        let mut queue: Vec<(u32, usize, u32)> = Vec::new();
        for &(symbol, to) in self.stacks.edges(set) {
            if thread.has(Some(symbol), top) && seen.insert(to) {
                queue.push((to, usize::MAX, symbol));
            }
        }
        let mut next = 0;
        while let Some(&(node, _, _)) = queue.get(next) {
            if self.stacks.accepting(node) {
                let mut word = Vec::new();
                let mut at = next;
                while let Some(&(_, before, symbol)) = queue.get(at) {
                    word.push(SymbolId(symbol));
                    at = before;
                }
                word.reverse();
                return Some(word);
            }
            for &(symbol, to) in self.stacks.edges(node) {
                if seen.insert(to) {
                    queue.push((to, next, symbol));
                }
            }
            next += 1;
        }
        None
    }

    /// A run of a thread from a shared state with one of these stacks to a configuration.
    fn run_between(
        &self,
        thread: usize,
        (shared, set): (u32, u32),
        (after, stack): (u32, &[SymbolId]),
    ) -> Result<Witness, StopReason> {
        let pds = &self.system.threads[thread].pds;
        let (start, _) = automaton(pds.states(), shared, set, &self.stacks)?;
        let mut goal = Automaton::new(pds.states(), Direction::Forward);
        let mut from = StateId(after);
        for &symbol in stack {
            let to = goal.state();
            goal.add(&Boolean, Transition::new(from, symbol, to), true)?;
            from = to;
        }
        goal.accept(&Boolean, from, true)?;
        let options = crate::Options {
            witness: true,
            limits: self.options.limits.clone(),
            ..crate::Options::default()
        };
        let found = reach(&Boolean, pds, &start, &goal, Way::Post, &options)?;
        // There is a run: the aggregates say so.
        Ok(found.witness.unwrap_or_else(|| Witness {
            start: (StateId(shared), Vec::new()),
            end: (StateId(after), stack.to_vec()),
            runs: Vec::new(),
        }))
    }

    /// A run in the terms in which the thread was given.
    fn named(&self, thread: usize, run: Witness) -> Witness {
        let thread = &self.system.threads[thread];
        let stack = |stack: Vec<SymbolId>| -> Vec<SymbolId> {
            let plain = stack.into_iter().filter_map(|s| thread.plain(s.0));
            plain.map(SymbolId).collect()
        };
        let name = |step: Move| match step {
            Move::Rule(rule) => Move::Rule(thread.origin[rule as usize]),
            Move::Call { rule, run } => Move::Call {
                rule: thread.origin[rule as usize],
                run,
            },
            Move::Run(run) => Move::Run(run),
        };
        let runs = run.runs.into_iter();
        let runs = runs.map(|run| run.into_iter().map(name).collect());
        Witness {
            start: (run.start.0, stack(run.start.1)),
            end: (run.end.0, stack(run.end.1)),
            runs: runs.collect(),
        }
    }
}
