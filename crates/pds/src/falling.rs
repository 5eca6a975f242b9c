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
//! after sixty-three. For a sum below the range the transition gets the least weight there is, which
//! is more than the sum. So the inequality holds, strictly, and stays so: all such sums are kept as
//! reasons, and what a cycle says is still right. A
//! sum above the range is not used. At the end all is well if a transition that had a sum below the
//! range has become bottom, and one that had a sum above it has found a weight within. Otherwise the
//! search is refused.

use droste_automata::components::components;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::domain::Domain;
use crate::saturate::{NONE, Why};

/// For how many changes it is not worth while to look for cycles.
const FEW: usize = 64;

/// The transitions whose weights may fall for ever.
pub(crate) struct Falling<W> {
    bottom: W,
    /// For each transition, those it has its weight from, or [`NONE`].
    reasons: Vec<[u32; 2]>,
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
            below: FxHashMap::default(),
            above: FxHashSet::default(),
            changes: 0,
        })
    }

    /// A weight has changed. Whether it is time to look for cycles: as much has been done since the
    /// last time as looking costs.
    #[inline]
    pub(crate) fn changed(&mut self, id: u32, why: Why) -> bool {
        let at = id as usize;
        if at >= self.reasons.len() {
            self.reasons.resize(at + 1, [NONE; 2]);
        }
        self.reasons[at] = [why.first, why.second];
        self.changes += 1;
        self.changes > self.reasons.len() + FEW
    }

    /// A sum was out of range.
    pub(crate) fn left(&mut self, id: u32, why: Why, above: bool) {
        if above {
            self.above.insert(id);
        } else {
            let reasons = self.below.entry(id).or_default();
            reasons.insert([why.first, why.second]);
        }
    }

    /// Whether nothing was out of range that still matters.
    pub(crate) fn is_settled<D: Domain<Weight = W>>(&self, domain: &D, weights: &[W]) -> bool {
        let weight = |id: u32| &weights[id as usize];
        let endless = |id: u32| domain.equal(weight(id), &self.bottom);
        self.below.keys().all(|&id| endless(id))
            && self.above.iter().all(|&id| !domain.is_zero(weight(id)))
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
                endless.push(id);
            }
        }
        endless
    }
}
