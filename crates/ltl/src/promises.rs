//! Which eventualities an automaton keeps apart.
//!
//! When `a U b` is put off, Couvreur's construction (FM 1999) makes the promise `b`. The promise
//! need not be `b` itself. Two things are needed. The promise is made whenever the formula is put
//! off. And there is a *goal* with these properties: wherever the goal holds, no formula with this
//! promise need be put off; and after the goal has held for the last time, none of these formulas
//! holds. Then, on a word where the goal holds again and again, edges without the promise can be
//! taken again and again. On other words the promise is not made any more from some moment on. So
//!
//! * `a U b` has the goal of `b` if `b` is again an until, otherwise `b`: if that goal holds now,
//!   so do `b` and `a U b`;
//! * `a M b`, which is `a R b` and `F a`, has the goal `a`, or that of `a` if it is an until: as
//!   long as `a M b` is put off, `b` holds;
//! * if all the formula says is that something good happens (a guarantee), one promise is enough
//!   for all its eventualities: a word that satisfies it has a run on which all obligations are met
//!   at some time.

use rustc_hash::FxHashMap;

use crate::draft::MOST_DRAFT_MARKS;
use droste_automata::formula::{FormulaId, Formulas, Node};

/// The promises of one construction, numbered as they are met.
#[derive(Clone, Debug, Default)]
pub(crate) struct Promises {
    /// One promise for all.
    common: bool,
    goals: FxHashMap<FormulaId, FormulaId>,
    numbers: FxHashMap<FormulaId, u32>,
}

impl Promises {
    /// `guarantee`: the formula is a guarantee.
    pub(crate) fn new(guarantee: bool) -> Self {
        Promises {
            common: guarantee,
            ..Promises::default()
        }
    }

    /// Whether there is one promise for all eventualities.
    pub(crate) fn is_common(&self) -> bool {
        self.common
    }

    /// Whether putting off this formula needs a promise.
    pub(crate) fn is_eventuality(formulas: &Formulas, f: FormulaId) -> bool {
        matches!(
            formulas.node(f),
            Node::Finally(_) | Node::Until(..) | Node::StrongRelease(..)
        )
    }

    /// What implies `formula` and comes if it does.
    fn goal(&mut self, formulas: &Formulas, formula: FormulaId) -> FormulaId {
        let mut path = Vec::new();
        let mut f = formula;
        let goal = loop {
            if let Some(&known) = self.goals.get(&f) {
                break known;
            }
            path.push(f);
            f = match formulas.node(f) {
                Node::Finally(b) | Node::Until(_, b) => b,
                _ => break f,
            };
        };
        for f in path {
            self.goals.insert(f, goal);
        }
        goal
    }

    /// The number of the promise of an eventuality; nothing if there are too many.
    pub(crate) fn mark(&mut self, formulas: &Formulas, eventuality: FormulaId) -> Option<u32> {
        let key = if self.common {
            Formulas::TRUE
        } else {
            let wanted = match formulas.node(eventuality) {
                Node::StrongRelease(a, _) => a,
                _ => eventuality,
            };
            self.goal(formulas, wanted)
        };
        if let Some(&known) = self.numbers.get(&key) {
            return Some(known);
        }
        let number = self.numbers.len();
        if number == MOST_DRAFT_MARKS {
            return None;
        }
        self.numbers.insert(key, number as u32);
        Some(number as u32)
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.numbers.len()
    }
}
