//! dual*: post* and pre* in turns, as in PDAAAL (Jensen, Schou, Srba and others).
//!
//! Where only the existence of a run counts, the search ends as soon as one configuration is in both
//! automata. That is seen on their product, which grows with them: pairs of states that the same
//! stack symbols lead to. For other weights the side that is done first has the answer.

use droste_base::StopReason;
use rustc_hash::FxHashSet;

use crate::automaton::Transition;
use crate::domain::Domain;
use crate::post::{Middles, Post};
use crate::pre::Pre;
use crate::query::{Found, Question};
use crate::saturate::{Goal, Lists, NONE, Options, Table};
use crate::system::{StateId, SymbolId};
use crate::witness::{of_post, of_pre};

/// How many transitions one side handles at most before it is the other's turn.
const TURN: usize = 256;

pub(crate) fn answer<D: Domain>(
    domain: &D,
    question: &Question<D::Weight>,
    options: &Options,
) -> Result<Found<D::Weight>, StopReason> {
    let (start, last) = question.first(domain)?;
    let target = question.last(domain)?;
    let end = Transition::new(question.end, SymbolId::EPSILON, last);
    let (state, symbol) = question.start;
    let begin = Transition::new(state, symbol, question.end);
    let middles = Middles::new(&question.pds, start.states());
    let mut post = Post::new(
        domain,
        &question.pds,
        &start,
        middles,
        (options, Goal(Some(end))),
    )?;
    let mut pre = Pre::new(domain, &question.pds, &target, (options, Goal(Some(begin))))?;
    // Whether any run is as good as all. Rules that weigh nothing would be taken for steps.
    let pds = &question.pds;
    let all = (0..pds.rules().len() as u32).all(|rule| !domain.is_zero(pds.weight(rule)));
    let exists = domain.is_boolean() && all && !options.witness;
    let mut meeting = Meeting::new(question.pds.states(), (last, question.end));
    // Sums may leave their range on one side alone: then the other has the answer.
    let (mut post_stops, mut pre_stops) = (false, false);
    let refused = |stops: &mut bool, other: bool, reason| {
        if reason != StopReason::OutOfRange || other {
            return Err(reason);
        }
        *stops = true;
        Ok(())
    };
    // Short turns at first: many answers are near.
    let mut turn = 1;
    loop {
        if exists && meeting.look(&post, &pre.table) {
            let count = post.table.len() + pre.table.len();
            return Ok((domain.one(), count, None));
        }
        for _ in 0..turn {
            if post_stops {
                break;
            }
            match post.go() {
                Ok(true) => {}
                Ok(false) => {
                    let others = pre.table.len();
                    let how = (options, of_post);
                    let (weight, count, run) = question.found(domain, &post.table, end, how)?;
                    return Ok((weight, count + others, run));
                }
                Err(reason) => refused(&mut post_stops, pre_stops, reason)?,
            }
        }
        for _ in 0..turn {
            if pre_stops {
                break;
            }
            match pre.go() {
                Ok(true) => {}
                Ok(false) => {
                    let others = post.table.len();
                    let how = (options, of_pre);
                    let (weight, count, run) = question.found(domain, &pre.table, begin, how)?;
                    return Ok((weight, count + others, run));
                }
                Err(reason) => refused(&mut pre_stops, post_stops, reason)?,
            }
        }
        turn = (2 * turn).min(TURN);
    }
}

/// The product of the two automata, as far as it is known.
struct Meeting {
    control: u32,
    /// The pair that says that a configuration is in both.
    end: (StateId, StateId),
    pairs: FxHashSet<(StateId, StateId)>,
    /// For each state of one side, those of the other that it has come to a pair with.
    of_post: Lists,
    of_pre: Lists,
    /// How many transitions of each side have been looked at.
    seen: (u32, u32),
    work: Vec<(StateId, StateId)>,
}

impl Meeting {
    fn new(control: u32, end: (StateId, StateId)) -> Self {
        Meeting {
            control,
            end,
            pairs: FxHashSet::default(),
            of_post: Lists::default(),
            of_pre: Lists::default(),
            seen: (0, 0),
            work: Vec::new(),
        }
    }

    fn add(&mut self, a: StateId, b: StateId) {
        if self.pairs.insert((a, b)) {
            self.of_post.push(a.0, b.0);
            self.of_pre.push(b.0, a.0);
            self.work.push((a, b));
        }
    }

    /// The states that a state has come to a pair with. A control state always has itself.
    fn partners(&self, lists: &Lists, state: StateId) -> Vec<StateId> {
        let mut all: Vec<StateId> = (state.0 < self.control)
            .then_some(state)
            .into_iter()
            .collect();
        let mut place = lists.start(state.0);
        while let Some((partner, next)) = lists.get(place) {
            all.push(StateId(partner));
            place = next;
        }
        all
    }

    /// Where the transitions of a head lead.
    fn targets<D: Domain>(table: &Table<'_, D>, from: StateId, symbol: SymbolId) -> Vec<StateId> {
        let mut all = Vec::new();
        let head = table.names.find(from, symbol);
        let mut at = head.map_or(NONE, |head| table.newest(head));
        while at != NONE {
            all.push(table.get(at).to);
            at = table.before(at);
        }
        all
    }

    /// Follows new transitions of both sides. Whether they have met.
    fn look<D: Domain>(&mut self, post: &Post<'_, D>, pre: &Table<'_, D>) -> bool {
        for id in self.seen.0..post.table.len() as u32 {
            let Transition { from, symbol, to } = post.table.name(id);
            for partner in self.partners(&self.of_post, from) {
                self.step(pre, (symbol, to), partner);
            }
        }
        for id in self.seen.1..pre.len() as u32 {
            let Transition { from, symbol, to } = pre.name(id);
            for partner in self.partners(&self.of_pre, from) {
                for other in Self::targets(&post.table, partner, symbol) {
                    self.add(other, to);
                }
            }
        }
        self.seen = (post.table.len() as u32, pre.len() as u32);
        while let Some((a, b)) = self.work.pop() {
            for id in post.leaving(a) {
                let Transition { symbol, to, .. } = post.table.name(id);
                self.step(pre, (symbol, to), b);
            }
        }
        self.pairs.contains(&self.end)
    }

    /// A transition forwards, beside all backwards from `partner` that read the same.
    fn step<D: Domain>(
        &mut self,
        pre: &Table<'_, D>,
        (symbol, to): (SymbolId, StateId),
        partner: StateId,
    ) {
        if symbol == SymbolId::EPSILON {
            self.add(to, partner);
            return;
        }
        for other in Self::targets(pre, partner, symbol) {
            self.add(to, other);
        }
    }
}
