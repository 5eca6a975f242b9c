//! Transitions that wait, and which comes next.
//!
//! Of the [parts of the call graph](crate::procedures) where transitions wait, the one that is called
//! by the others comes first. Inside a part, transitions whose weights have ranks come roughly in the order
//! of these: one procedure goes on until it is some ranks ahead of the others. So the search works on what
//! is in the cache, and little is done twice. (Meyer and Sanders, Delta-stepping, 2003, have the same idea
//! for buckets.)

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use crate::automaton::Transition;
use crate::procedures::Procedures;
use crate::saturate::{Order, Priority};

/// By how many average steps a procedure may be ahead.
const AHEAD: u64 = 12;

/// Which transition comes next.
pub(crate) enum Worklist {
    /// The last.
    Stack(Vec<u32>),
    /// The first, of the part that is called by the others.
    Queues(Vec<VecDeque<u32>>, Bits),
    /// The best.
    Ranked(Ranked),
    /// The one with the least number.
    Numbered(Heap, Priority),
}

impl Worklist {
    /// `first` says that what has waited longest comes first, if nothing better is known. `step` is
    /// the average rank of a rule, if weights have ranks.
    pub(crate) fn new(order: &Order, first: bool, step: Option<u64>, all: &Procedures) -> Self {
        let queues = |count: usize| {
            let queues = vec![VecDeque::new(); count];
            Worklist::Queues(queues, Bits::new(count))
        };
        match (order, step) {
            (Order::Best, Some(step)) => Worklist::Ranked(Ranked::new(step, all)),
            (Order::Best, None) if first => queues(all.parts() as usize),
            (Order::Best, None) | (Order::LastIn, _) => Worklist::Stack(Vec::new()),
            (Order::FirstIn, _) => queues(1),
            (Order::By(priority), _) => Worklist::Numbered(Heap::new(), priority.clone()),
        }
    }

    /// Puts a transition there, which may wait already. If ranked, it may wait several times, and is
    /// taken at its best rank; the other times it is to be passed over.
    #[inline]
    pub(crate) fn put(
        &mut self,
        id: u32,
        waits: bool,
        procedure: impl FnOnce() -> (u32, u32),
        transition: impl FnOnce() -> Transition,
        rank: impl FnOnce() -> Option<u64>,
    ) {
        match self {
            Worklist::Ranked(ranked) => {
                ranked.put(id, procedure(), rank().unwrap_or(u64::MAX));
            }
            _ if waits => {}
            Worklist::Stack(stack) => stack.push(id),
            Worklist::Numbered(heap, priority) => {
                heap.push(Reverse((priority.of(transition()), id)));
            }
            Worklist::Queues(queues, busy) => {
                let part = if queues.len() == 1 {
                    0
                } else {
                    procedure().0 as usize
                };
                if queues[part].is_empty() {
                    busy.set(part);
                }
                queues[part].push_back(id);
            }
        }
    }

    #[inline]
    pub(crate) fn take(&mut self) -> Option<u32> {
        match self {
            Worklist::Ranked(ranked) => ranked.take(),
            Worklist::Stack(stack) => stack.pop(),
            Worklist::Numbered(heap, _) => heap.pop().map(|Reverse((_, id))| id),
            Worklist::Queues(queues, busy) => {
                let part = busy.first()?;
                let taken = queues[part].pop_front();
                if queues[part].is_empty() {
                    busy.clear(part);
                    queues[part] = VecDeque::new();
                }
                taken
            }
        }
    }
}

/// Numbers with ranks, the lowest first.
type Heap = BinaryHeap<Reverse<(u64, u32)>>;

/// Those that wait with a rank.
pub(crate) struct Ranked {
    /// Ranks that differ by less than this power of two are as good as equal for procedures.
    shift: u32,
    /// For each procedure, what waits there.
    waiting: Vec<Heap>,
    /// For each procedure, its best rank in the heap of its part, shifted; the largest number if it
    /// is not there.
    known: Vec<u64>,
    /// For each part, the procedures where something waits. One may be there several times.
    parts: Vec<Heap>,
    busy: Bits,
}

impl Ranked {
    fn new(step: u64, all: &Procedures) -> Self {
        let parts = all.parts() as usize;
        Ranked {
            shift: step.saturating_mul(AHEAD).max(1).ilog2(),
            waiting: (0..all.count()).map(|_| Heap::new()).collect(),
            known: vec![u64::MAX; all.count() as usize],
            parts: (0..parts).map(|_| Heap::new()).collect(),
            busy: Bits::new(parts),
        }
    }

    #[inline]
    fn put(&mut self, id: u32, (part, procedure): (u32, u32), rank: u64) {
        self.waiting[procedure as usize].push(Reverse((rank, id)));
        let rank = rank >> self.shift;
        let known = &mut self.known[procedure as usize];
        if rank < *known {
            *known = rank;
            let heap = &mut self.parts[part as usize];
            if heap.is_empty() {
                self.busy.set(part as usize);
            }
            heap.push(Reverse((rank, procedure)));
        }
    }

    #[inline]
    fn take(&mut self) -> Option<u32> {
        loop {
            let part = self.busy.first()?;
            let heap = &mut self.parts[part];
            let Some(&Reverse((rank, procedure))) = heap.peek() else {
                self.busy.clear(part);
                continue;
            };
            let waiting = &mut self.waiting[procedure as usize];
            if self.known[procedure as usize] == rank {
                match waiting.peek() {
                    Some(Reverse((best, _))) if best >> self.shift <= rank => {
                        return waiting.pop().map(|Reverse((_, id))| id);
                    }
                    Some(Reverse((best, _))) => {
                        // It is ahead now.
                        let best = best >> self.shift;
                        self.known[procedure as usize] = best;
                        heap.push(Reverse((best, procedure)));
                    }
                    None => {
                        self.known[procedure as usize] = u64::MAX;
                        *waiting = Heap::new();
                    }
                }
            }
            heap.pop();
            if heap.is_empty() {
                self.busy.clear(part);
            }
        }
    }
}

/// A set of small numbers whose least is found at once: a bit for each, a bit for each word of
/// those that is not zero, and so on.
pub(crate) struct Bits(Vec<Vec<u64>>);

impl Bits {
    pub(crate) fn new(size: usize) -> Self {
        let mut levels = Vec::new();
        let mut words = size;
        while words > 1 || levels.is_empty() {
            words = words.div_ceil(64).max(1);
            levels.push(vec![0; words]);
        }
        Bits(levels)
    }

    pub(crate) fn set(&mut self, number: usize) {
        let mut at = number;
        for level in &mut self.0 {
            level[at / 64] |= 1 << (at % 64);
            at /= 64;
        }
    }

    pub(crate) fn clear(&mut self, number: usize) {
        let mut at = number;
        for level in &mut self.0 {
            let word = &mut level[at / 64];
            *word &= !(1 << (at % 64));
            if *word != 0 {
                return;
            }
            at /= 64;
        }
    }

    #[inline]
    pub(crate) fn first(&self) -> Option<usize> {
        let mut at = 0;
        for level in self.0.iter().rev() {
            let word = level[at];
            if word == 0 {
                return None;
            }
            at = at * 64 + word.trailing_zeros() as usize;
        }
        Some(at)
    }

    /// The least number that is not below another.
    pub(crate) fn next(&self, from: usize) -> Option<usize> {
        let mut at = from;
        for (height, level) in self.0.iter().enumerate() {
            let word = *level.get(at / 64)? & (u64::MAX << (at % 64));
            if word != 0 {
                let mut found = at / 64 * 64 + word.trailing_zeros() as usize;
                for level in self.0[..height].iter().rev() {
                    found = found * 64 + level[found].trailing_zeros() as usize;
                }
                return Some(found);
            }
            at = at / 64 + 1;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_least_number_is_found() {
        for size in [1, 2, 63, 64, 65, 4096, 4097, 300_000] {
            let (mut bits, mut expected) = (Bits::new(size), BTreeSet::new());
            let mut random = 1u64;
            for _ in 0..3000 {
                random = (random.wrapping_mul(6_364_136_223_846_793_005)).wrapping_add(1);
                let number = (random >> 33) as usize % size;
                if random >> 32 & 1 == 0 {
                    bits.set(number);
                    expected.insert(number);
                } else {
                    bits.clear(number);
                    expected.remove(&number);
                }
                assert_eq!(bits.first(), expected.first().copied());
                let next = expected.range(number..).next();
                assert_eq!(bits.next(number), next.copied());
                if let Some(first) = bits.first() {
                    bits.clear(first);
                    expected.remove(&first);
                }
            }
        }
    }
}
