//! The rules of a concurrent system, step by step.

use droste_base::StopReason;

use super::stacks::Stacks;
use super::visible::{EMPTY, Move, Moves};
use super::{Concurrent, Target, Top};
use crate::system::{Replace, StateId, SymbolId};

/// The rules as moves. Symbols of different threads have different numbers there.
#[derive(Clone)]
pub(super) struct Rules<'a> {
    system: &'a Concurrent,
    targets: &'a [Target],
    /// The number of the first symbol of each thread.
    first: Vec<u32>,
}

impl<'a> Rules<'a> {
    pub(super) fn new(system: &'a Concurrent, targets: &'a [Target]) -> Self {
        let mut first = Vec::with_capacity(system.threads.len());
        let mut next = 0;
        for thread in &system.threads {
            first.push(next);
            next += thread.pds.symbols();
        }
        Rules {
            system,
            targets,
            first,
        }
    }

    pub(super) fn stacks(&self) -> Vec<Vec<u32>> {
        let threads = self.system.threads.iter().zip(&self.first);
        let stacks = threads.map(|(thread, first)| {
            let stack = thread.stack.iter().map(|symbol| first + symbol.0);
            stack.collect()
        });
        stacks.collect()
    }

    /// The tops of a set of stacks.
    pub(super) fn tops(&self, thread: usize, set: u32, stacks: &Stacks) -> Vec<u32> {
        let first = self.first[thread];
        let mut tops: Vec<u32> = stacks
            .edges(set)
            .iter()
            .map(|edge| first + edge.0)
            .collect();
        tops.dedup();
        tops.extend(stacks.accepting(set).then_some(EMPTY));
        tops
    }
}

impl Moves for Rules<'_> {
    fn moves(&mut self, shared: u32, top: u32, out: &mut Vec<Move>) -> Result<(), StopReason> {
        let thread = self.first.partition_point(|&first| first <= top) - 1;
        let first = self.first[thread];
        let pds = &self.system.threads[thread].pds;
        for rule in pds.from(StateId(shared), SymbolId(top - first)) {
            let rule = &pds.rules()[rule as usize];
            out.push(match rule.replace {
                Replace::Pop => Move::Pop(rule.to.0),
                Replace::Step(symbol) => Move::To(rule.to.0, first + symbol.0),
                Replace::Push(top, below) => Move::Push {
                    shared: rule.to.0,
                    top: first + top.0,
                    below: first + below.0,
                },
            });
        }
        Ok(())
    }

    fn resume(
        &mut self,
        below: u32,
        result: u32,
        out: &mut Vec<(u32, u32)>,
    ) -> Result<(), StopReason> {
        out.push((result, below));
        Ok(())
    }

    fn end(&mut self, result: u32, out: &mut Vec<u32>) -> Result<(), StopReason> {
        out.push(result);
        Ok(())
    }

    fn alone(&self, _: u32) -> bool {
        false
    }

    fn hit(&self, shared: u32, tops: &mut dyn Iterator<Item = u32>) -> bool {
        let tops: Vec<u32> = tops.collect();
        self.targets.iter().any(|target| {
            let fits = |(thread, (&top, &wanted)): (usize, (&u32, &Top))| {
                let symbol = (top != EMPTY).then(|| top - self.first[thread]);
                self.system.threads[thread].has(symbol, wanted)
            };
            let mut all = tops.iter().zip(&target.tops).enumerate();
            target.shared.is_none_or(|s| s.0 == shared) && all.all(fits)
        })
    }
}
