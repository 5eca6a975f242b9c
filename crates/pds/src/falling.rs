//! Weights that fall for ever, and weights that leave their range (chaotic iteration).
//!
//! Where a domain has a [bottom](Domain::bottom), a transition's weight may get better without end.
//! Each transition remembers its *reason*: the transitions that gave it the weight it has. A cycle
//! of reasons is a cycle that gets better, and all on it have the weight bottom.
//!
//! *Why.* Weights are sums. If `t` has its weight from `u`, then `w(t) ≥ c + w(u)`, where `c` is what
//! else was added, with the weights of today: what `t` was made of has not become worse. Take a cycle
//! of reasons, and the transition `u` on it that changed last, strictly. The one that has its weight
//! from `u` got it before that, from a larger weight of `u`: there the inequality is strict. Added up
//! around the cycle, `w` cancels: the sum of all `c` is negative. So there is a way from `u` to `u`
//! itself that makes it smaller, and it can be gone again and again. (For graphs this is Tarjan's
//! subtree disassembly and its like: Cherkassky and Goldberg, Negative-cycle detection algorithms,
//! 1999.)
//!
//! *Why all are found.* Without a cycle, reasons unfold into a tree where no transition is above
//! itself, and whose sum is at most the weight. There are finitely many such trees. So a weight that
//! falls for ever falls below all of them, and then there is a cycle.
//!
//! Weights may leave their range long before: they can double with every step, and then reach 2⁶³
//! after sixty-three. A transition whose weight is out of range is *far*: its number is kept here, with
//! 128 bits, and sums that it is in are made with it. So all that is said above is true of far
//! transitions as well. In the end they are fine if they have become bottom, or if nobody asks for
//! them. Otherwise the search is refused.
//!
//! Numbers may leave that range, too. For a sum below it the transition gets the least number there
//! is, which is more than the sum. So the inequality holds, strictly, and stays so: all such sums are
//! kept as reasons, and what a cycle says is still right. A sum above the range is not used. At the end
//! all is well if a transition that had a sum below the range has become bottom, and one that had a
//! sum above it has found a number within. Otherwise the search is refused.

use droste_automata::components::components;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::domain::Domain;
use crate::saturate::{NONE, Why};
use crate::wide::Wide;

/// The greatest number that is kept.
const GREATEST: i128 = Wide::GREATEST;

/// For how many changes it is not worth while to look for cycles.
const FEW: usize = 64;

/// Which weights are asked for.
#[derive(Clone, Copy)]
pub(crate) enum Asked {
    All,
    /// That of one transition, if it is there.
    Only(Option<u32>),
}

/// The transitions whose weights may fall for ever.
pub(crate) struct Falling<W> {
    bottom: W,
    /// For each transition, those it has its weight from, or [`NONE`].
    reasons: Vec<[u32; 2]>,
    /// The numbers of transitions whose weights are out of range.
    far: FxHashMap<u32, i128>,
    /// The transitions that had sums below the range, and what these were made of: further reasons.
    below: FxHashMap<u32, FxHashSet<[u32; 2]>>,
    /// The transitions that had a sum above the range.
    above: FxHashSet<u32>,
    /// How many weights have changed since cycles were looked for.
    changes: usize,
}

impl<W: Clone> Falling<W> {
    /// Nothing, if no weight of the domain falls for ever.
    pub(crate) fn new<D: Domain<Weight = W>>(domain: &D) -> Option<Self> {
        Some(Falling {
            bottom: domain.bottom()?,
            reasons: Vec::new(),
            far: FxHashMap::default(),
            below: FxHashMap::default(),
            above: FxHashSet::default(),
            changes: 0,
        })
    }

    /// A weight has changed; it may be out of range now, with this number. Whether it is time to look
    /// for cycles: as much has been done since the last time as looking costs.
    #[inline]
    pub(crate) fn changed(&mut self, id: u32, why: Why, far: Option<i128>) -> bool {
        let at = id as usize;
        if at >= self.reasons.len() {
            self.reasons.resize(at + 1, [NONE; 2]);
        }
        self.reasons[at] = [why.first, why.second];
        match far {
            Some(number) => _ = self.far.insert(id, number),
            None if self.far.is_empty() => {}
            None => _ = self.far.remove(&id),
        }
        self.changes += 1;
        self.changes > self.reasons.len() + FEW
    }

    /// Whether the weight of a transition is out of range.
    #[inline]
    pub(crate) fn is_far(&self, id: u32) -> bool {
        !self.far.is_empty() && self.far.contains_key(&id)
    }

    /// The number of a transition that is out of range.
    pub(crate) fn far(&self, id: u32) -> Option<i128> {
        self.far.get(&id).copied()
    }

    /// A sum of at most three numbers. It may be too small or too large to be kept: then the
    /// transition it is for is remembered. `None` if the sum is not to be used.
    pub(crate) fn sum(&mut self, id: u32, why: Why, parts: &[i128]) -> Option<i128> {
        let sum: i128 = parts.iter().sum();
        if sum < -GREATEST {
            let reasons = self.below.entry(id).or_default();
            reasons.insert([why.first, why.second]);
        } else if sum > GREATEST {
            self.above.insert(id);
            return None;
        }
        Some(sum.max(-GREATEST))
    }

    /// Whether nothing was out of range that still matters. If one transition alone is asked for,
    /// others may be far.
    pub(crate) fn is_settled<D: Domain<Weight = W>>(
        &self,
        domain: &D,
        weights: &[W],
        asked: Asked,
    ) -> bool {
        let weight = |id: u32| &weights[id as usize];
        let endless = |id: u32| domain.equal(weight(id), &self.bottom);
        let is_known = |id: u32| !domain.is_zero(weight(id)) || self.far.contains_key(&id);
        self.below.keys().all(|&id| endless(id))
            && self.above.iter().all(|&id| is_known(id))
            && match asked {
                Asked::All => self.far.is_empty(),
                Asked::Only(asked) => asked.is_none_or(|id| !self.far.contains_key(&id)),
            }
    }

    /// Gives those that are on a cycle of reasons the weight bottom, and says which they are.
    pub(crate) fn settle<D: Domain<Weight = W>>(
        &mut self,
        domain: &D,
        weights: &mut [W],
    ) -> Vec<u32> {
        self.changes = 0;
        let count = self.reasons.len();
        let falls: Vec<bool> = (weights.iter().take(count))
            .map(|weight| domain.equal(weight, &self.bottom))
            .collect();
        let reasons = |id: u32| {
            let more = self.below.get(&id).into_iter().flatten();
            let known = more.chain([&self.reasons[id as usize]]).flatten().copied();
            known.filter(|&id| (falls.get(id as usize)).is_some_and(|falls| !falls))
        };
        let starts = (0..count as u32).filter(|&id| !falls[id as usize]);
        let found = components(count, starts, |id, out: &mut Vec<(u32, ())>| {
            out.extend(reasons(id).map(|id| (id, ())));
        });
        let of = |id: u32| found.of[id as usize];
        let mut endless = Vec::new();
        for id in (0..count as u32).filter(|&id| !falls[id as usize]) {
            // On a cycle, a reason is in the same component; what is in the same component is on a
            // cycle.
            if reasons(id).any(|reason| of(reason) == of(id)) {
                weights[id as usize] = self.bottom.clone();
                self.far.remove(&id);
                endless.push(id);
            }
        }
        endless
    }
}
