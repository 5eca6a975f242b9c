//! Which threads may be the first, the second, … to be started.
//!
//! In the formula about whole configurations ([`flat`](super::flat)) a thread that is started takes
//! the next free *slot*. What a slot may hold follows from how many threads have been started when
//! control is at a node. If one thread alone starts others, its control flow says how many; if several
//! do, any greater number is possible as well.

use std::collections::BTreeSet;

use droste_program::{Node, NodeId, Op, ProcId};

use super::Size;
use crate::inline::Inlined;

/// Threads with the procedures that they may execute, those that are started included.
pub(super) struct Slots {
    /// How many started threads become active at most.
    pub(super) count: usize,
    /// For each thread, its procedure; for each slot behind them, all that it may hold; and for `init`,
    /// if it starts threads, its own.
    pub(super) programs: Vec<Vec<ProcId>>,
    /// Which procedures may start a thread in which slot, from 0.
    pub(super) fills: BTreeSet<(ProcId, usize)>,
    /// `init`, if threads may be started.
    pub(super) init: Option<ProcId>,
    /// The procedures of threads that are started.
    pub(super) started: Vec<ProcId>,
}

/// A set of numbers up to 127; there are no more than 101 slots.
type Numbers = u128;

impl Slots {
    pub(super) fn new(
        flat: &Inlined,
        threads: &[ProcId],
        last: Option<NodeId>,
        size: Size,
    ) -> Self {
        let program = &flat.program;
        let init = last
            .filter(|_| !flat.starts.is_empty())
            .map(|_| program.main);
        let count = size.slots as usize;
        let mut slots = Slots {
            count,
            programs: threads.iter().map(|&procedure| vec![procedure]).collect(),
            fills: BTreeSet::new(),
            init,
            started: flat.started.clone(),
        };
        let starters: BTreeSet<ProcId> = flat
            .starts
            .keys()
            .map(|node| program.node(*node).procedure)
            .collect();
        let alone = starters.len() <= 1;
        let within = (1 << (count + 1)) - 1;
        let mut at: Vec<Numbers> = vec![0; program.nodes.len()];
        let mut work: Vec<(NodeId, Numbers)> = Vec::new();
        let entry = |procedure: ProcId| program.procedure(procedure).entry;
        match init {
            Some(init) => work.push((entry(init), 1)),
            None => work.extend(threads.iter().map(|&thread| (entry(thread), 1))),
        }
        let mut held: Vec<BTreeSet<ProcId>> = vec![BTreeSet::new(); count];
        while let Some((node, mut numbers)) = work.pop() {
            if !alone && numbers != 0 {
                // All from the least on.
                numbers = !((numbers & numbers.wrapping_neg()) - 1);
            }
            let new = numbers & within & !at[node.0 as usize];
            if new == 0 {
                continue;
            }
            at[node.0 as usize] |= new;
            if last == Some(node) && init.is_some() {
                work.extend(threads.iter().map(|&thread| (entry(thread), new)));
                continue;
            }
            let Node { op, procedure, .. } = program.node(node);
            match (op, flat.starts.get(&node)) {
                (Op::StartThread { next, .. }, Some(start)) => {
                    for (slot, held) in held.iter_mut().enumerate() {
                        if new >> slot & 1 != 0 {
                            held.insert(start.procedure);
                            slots.fills.insert((*procedure, slot));
                        }
                    }
                    let more = if size.forgets {
                        new | new << 1
                    } else {
                        new << 1
                    };
                    work.push((*next, more));
                    work.push((entry(start.procedure), new << 1));
                }
                _ => op.for_each_next(|next| work.push((next, new))),
            }
        }
        let held = held.into_iter().map(|held| held.into_iter().collect());
        slots.programs.extend(held);
        slots.programs.extend(init.map(|init| vec![init]));
        slots
    }

    /// The number of threads and slots.
    pub(super) fn threads(&self) -> usize {
        self.programs.len() - usize::from(self.init.is_some())
    }

    /// The first slot's place among the threads.
    pub(super) fn first(&self) -> usize {
        self.threads() - self.count
    }

    /// Whether a thread, or `init` behind them all, may start one in this slot.
    pub(super) fn may_start(&self, thread: usize, slot: usize) -> bool {
        let fills = |&procedure: &ProcId| self.fills.contains(&(procedure, slot));
        self.programs[thread].iter().any(fills)
    }
}
