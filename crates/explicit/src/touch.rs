//! The run to a target that touches the most marks, and of those a shortest one.
//!
//! This is the path optimisation of BTRACE (Lal and Reps, *Improving pushdown system model
//! checking*, CAV 2006, section 5.1), over a [`Model`]: a run must be one of the model, data
//! included, not only a path of the control flow.
//!
//! A state of the product is a state of the model and the set of the marks touched before it. A
//! callee is entered with such a set and left with one, so summaries work as usual. Breadth-first
//! search ([`reach`](crate::reach())) finds a shortest run to a target with at least so many marks.
//! First all marks are asked for. If there is no such run, the next number to ask for is the
//! largest one that is still possible.
//!
//! What keeps the number of sets small: a mark may say where it is still *ahead* of a run that goes
//! to the target ([`Mark::ahead`]). A state is not explored if the marks touched and those ahead
//! are together fewer than the number asked for. For twenty marks in a row, each of which a run can
//! skip, the million sets with gaps are never made. The next number to ask for is the largest that
//! such a state could still have reached, so nothing is lost: each number is either found or
//! impossible.

use std::cell::Cell;

use droste_base::{Model, PropId};
use droste_omega::{Memory, Remembering};

use crate::reach::{Search, conclude};
use crate::{Options, Order, Outcome, Stats};

/// What a run may touch on its way.
#[derive(Clone, Copy, Debug)]
pub struct Mark {
    /// True where the mark is touched.
    pub at: PropId,
    /// True wherever a run may still come to the mark, after this state, and then to the target. It
    /// may be true of more states than that. Without it, the mark may always be ahead.
    pub ahead: Option<PropId>,
}

/// What is looked for: a target, and marks on the way to it.
#[derive(Clone, Debug)]
pub struct Tour {
    /// Where the run ends. It may have been there before.
    pub target: PropId,
    /// At most [`MOST_TOUCHED`].
    pub marks: Vec<Mark>,
    /// Runs that touch fewer marks than this do not count.
    pub least: u32,
}

/// The most marks that [`Goal::Touch`](crate::Goal::Touch) can keep apart.
pub const MOST_TOUCHED: usize = 64;

/// A model with the marks that its runs have touched.
pub(crate) type Toured<'a, M> = Remembering<'a, M, Touching<'a>>;

/// True of a target with as many marks as are asked for.
pub(crate) const TOUCHED: PropId = PropId(0);

/// Remembers the set of the marks that have been touched.
pub(crate) struct Touching<'a> {
    tour: &'a Tour,
    /// So many are asked for.
    asked: u32,
    /// The largest smaller number that may be possible.
    next: Cell<Option<u32>>,
    /// Whether some run gets to the target, with however many marks.
    reached: Cell<bool>,
}

impl Touching<'_> {
    /// What has been touched when the run goes on from here.
    fn touched<M: Model>(&self, model: &M, state: &M::State, before: u64) -> u64 {
        let marks = self.tour.marks.iter().enumerate();
        marks.fold(before, |set, (i, mark)| {
            set | u64::from(set >> i & 1 == 1 || model.holds(state, mark.at)) << i
        })
    }

    /// How many marks runs may touch that go on from here to the target.
    fn possible<M: Model>(&self, model: &M, state: &M::State, touched: u64) -> u32 {
        let marks = self.tour.marks.iter().enumerate();
        let ahead = marks.filter(|&(i, mark)| {
            let ahead = |ahead| model.holds(state, ahead);
            touched >> i & 1 == 0 && mark.ahead.is_none_or(ahead)
        });
        touched.count_ones() + ahead.count() as u32
    }

    /// So many may be asked for next.
    fn note(&self, number: u32) {
        if number < self.asked && self.next.get().is_none_or(|next| next < number) {
            self.next.set(Some(number));
        }
    }
}

impl<M: Model> Memory<M> for Touching<'_> {
    type Value = u64;

    fn start(&self, out: &mut Vec<u64>) {
        out.push(0);
    }

    fn after(&self, model: &M, state: &M::State, &before: &u64, out: &mut Vec<u64>) -> bool {
        let touched = self.touched(model, state, before);
        let at_target = model.holds(state, self.tour.target);
        self.reached.set(self.reached.get() || at_target);
        let possible = self.possible(model, state, touched);
        if possible < self.asked {
            self.note(possible);
            return true;
        }
        if at_target {
            self.note(touched.count_ones());
        }
        out.push(touched);
        true
    }

    fn holds(&self, model: &M, state: &M::State, &before: &u64, _: PropId) -> bool {
        model.holds(state, self.tour.target)
            && self.touched(model, state, before).count_ones() >= self.asked
    }
}

/// Searches for the best run, and gives the model in which it has been found. If only the verdict
/// is wanted, any run with the most marks will do.
pub(crate) fn touch<'a, M: Model>(
    model: &'a M,
    tour: &'a Tour,
    options: &Options<'_>,
) -> (Toured<'a, M>, Outcome<(M::State, u64)>) {
    assert!(tour.marks.len() <= MOST_TOUCHED, "marks fit into a word");
    let options = Options {
        order: if options.verdict_only {
            options.order
        } else {
            Order::Bfs
        },
        ..options.clone()
    };
    let mut asked = tour.marks.len() as u32;
    let mut spent = Stats::default();
    let mut reached = false;
    loop {
        let touching = Touching {
            tour,
            asked,
            next: Cell::new(None),
            reached: Cell::new(reached),
        };
        let product = Remembering::new(model, touching);
        let mut search = Search::new(&product, &options);
        let found = search.run(|state, _| product.holds(state, TOUCHED), |_| false);
        reached = product.memory().reached.get();
        let found = found.map_err(|reason| {
            if reached {
                reason.unsurpassed()
            } else {
                reason
            }
        });
        if let (Ok(None), Some(next)) = (&found, product.memory().next.get())
            && next >= tour.least
        {
            spent = spent.and(search.stats());
            asked = next;
            continue;
        }
        let mut outcome = conclude(search, found, &options);
        outcome.stats = spent.and(outcome.stats);
        return (product, outcome);
    }
}
