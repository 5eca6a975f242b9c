//! What pre* and post* share: transitions with weights that grow, and a list of those that have
//! grown.
//!
//! A transition that gets a better weight is put on the list with what is new about it
//! (differential propagation, section 4.2 of the FWPDS paper): only that is handed on. Where
//! weights are totally ordered, what is new is the whole weight.
//!
//! A transition is a head, by number, and the state it leads to. Transitions of one head are linked;
//! most heads have one or two, so that looking one up means reading one or two entries. Heads with
//! many transitions have a hash table.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use droste_base::{Countable, Guard, Limits, StopReason};
use rustc_hash::FxHashMap;

use crate::automaton::{Automaton, Transition};
use crate::calls::Calls;
use crate::domain::Domain;
use crate::falling::{Asked, Falling};
use crate::procedures::Procedures;
use crate::system::{Heads, Pds, StateId, SymbolId};
use crate::worklist::Worklist;

/// No transition, no head, no rule.
pub(crate) const NONE: u32 = u32::MAX;

/// Heads with that many transitions have them in the hash table, too.
const MANY: u32 = 24;

/// Which transition that has grown is looked at next. The answer does not depend on it; the time
/// does. With weights that are numbers ([`MinPlus`](crate::domains::MinPlus) and the like),
/// [`LastIn`](Order::LastIn) may hand on exponentially many weights that turn out not to be the best.
#[derive(Clone, Debug, Default)]
pub enum Order {
    /// Callees before callers, and roughly the best weight first, where the domain
    /// [ranks](Domain::rank) weights (Dijkstra). Otherwise the last one, if weights are
    /// [totally ordered](Domain::is_total); if not, or if they may [fall for
    /// ever](Domain::bottom), the one that has waited longest among callees.
    #[default]
    Best,
    /// The one that was put there last.
    LastIn,
    /// The one that has waited longest.
    FirstIn,
    /// The one with the least number, by an order of one's own.
    By(Priority),
}

/// A number for each transition, asked for whenever it begins to wait: see [`Order::By`].
#[derive(Clone)]
pub struct Priority(Arc<dyn Fn(Transition) -> u64 + Send + Sync>);

impl Priority {
    /// The order of these numbers.
    pub fn new(number: impl Fn(Transition) -> u64 + Send + Sync + 'static) -> Self {
        Priority(Arc::new(number))
    }

    pub(crate) fn of(&self, transition: Transition) -> u64 {
        (self.0)(transition)
    }
}

impl fmt::Debug for Priority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Priority")
    }
}

/// How the weights of transitions are found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Method {
    /// By chaotic iteration (section 3.1): what has grown is handed on until nothing grows.
    #[default]
    Chaotic,
    /// By path expressions (section 3.2): loops are summed up before they are left.
    Paths,
}

/// How to saturate.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// How weights are found.
    pub method: Method,
    /// Which transition is looked at next.
    pub order: Order,
    /// How often path expressions may follow each edge of a loop before the loop becomes a star. If
    /// nothing is said, 16 times: most loops are done after two or three.
    pub rounds: Option<u32>,
    /// Whether [`reach`](crate::reach) gives a run, too.
    pub witness: bool,
    /// When to give up.
    pub limits: Limits,
    /// Where it is said, now and then, how many transitions have been found.
    pub found: Option<Arc<AtomicU64>>,
}

/// The names of heads: those of the rules, then one for each control state without a symbol (the
/// heads of epsilon transitions), then, for post*, those of what is behind calls, then those that
/// only automata have.
pub(crate) struct HeadNames<'a> {
    heads: &'a Heads,
    procedures: &'a Procedures,
    control: u32,
    /// The calls, and the state of the first callee.
    calls: Option<(&'a Calls, u32)>,
    /// Where the names begin that only automata have.
    first: u32,
    more: Vec<(StateId, SymbolId)>,
    numbers: FxHashMap<(StateId, SymbolId), u32>,
}

impl<'a> HeadNames<'a> {
    pub(crate) fn new<W>(pds: &'a Pds<W>) -> Self {
        HeadNames {
            heads: pds.heads(),
            procedures: pds.procedures(),
            control: pds.states(),
            calls: None,
            first: pds.heads().len() + pds.states(),
            more: Vec::new(),
            numbers: FxHashMap::default(),
        }
    }

    /// With the heads of what is behind calls; `first` is the state of the first callee.
    pub(crate) fn with_calls<W>(pds: &'a Pds<W>, first: u32) -> Self {
        let mut names = HeadNames::new(pds);
        names.calls = Some((pds.calls(), first));
        names.first += pds.calls().sites();
        names
    }

    /// The head of what is behind a push rule, by its place among the rules sorted by left-hand
    /// sides.
    #[inline]
    pub(crate) fn site(&self, place: usize) -> u32 {
        let before = self.heads.len() + self.control;
        self.calls
            .map_or(NONE, |(calls, _)| before + calls.site(place))
    }

    /// The procedure of a head; `None` for one of epsilon transitions.
    #[inline]
    fn procedure(&self, head: u32) -> Option<u32> {
        let (_, symbol) = self.get(head);
        (symbol != SymbolId::EPSILON).then(|| self.procedures.of(symbol.0))
    }

    /// How many there are.
    pub(crate) fn len(&self) -> u32 {
        self.first + self.more.len() as u32
    }

    /// The head of epsilon transitions from a control state.
    #[inline]
    pub(crate) fn epsilon(&self, state: StateId) -> u32 {
        self.heads.len() + state.0
    }

    /// The number of a head, if it has one.
    #[inline]
    pub(crate) fn find(&self, state: StateId, symbol: SymbolId) -> Option<u32> {
        if state.0 < self.control {
            if symbol == SymbolId::EPSILON {
                return Some(self.epsilon(state));
            }
            if let Some(head) = self.heads.find(state, symbol) {
                return Some(head);
            }
        }
        if let Some((calls, first)) = self.calls
            && let Some(callee) = state.0.checked_sub(first)
            && let Some(site) = calls.find(callee, symbol)
        {
            return Some(self.heads.len() + self.control + site);
        }
        self.numbers.get(&(state, symbol)).copied()
    }

    /// The number of a head, which may be new.
    #[inline]
    pub(crate) fn number(&mut self, state: StateId, symbol: SymbolId) -> u32 {
        if let Some(head) = self.find(state, symbol) {
            return head;
        }
        let head = self.len();
        self.more.push((state, symbol));
        self.numbers.insert((state, symbol), head);
        head
    }

    #[inline]
    pub(crate) fn get(&self, head: u32) -> (StateId, SymbolId) {
        let Some(rest) = head.checked_sub(self.heads.len()) else {
            return self.heads.get(head);
        };
        let Some(site) = rest.checked_sub(self.control) else {
            return (StateId(rest), SymbolId::EPSILON);
        };
        match (head.checked_sub(self.first), self.calls) {
            (None, Some((calls, first))) => {
                let (callee, symbol) = calls.name(site);
                (StateId(first + callee), symbol)
            }
            (more, _) => self.more[more.unwrap_or(site) as usize],
        }
    }
}

/// A transition that grows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    pub(crate) head: u32,
    pub(crate) to: StateId,
    /// The transition of the same head that came before.
    next: u32,
}

/// Why a transition has grown: a rule, and the transitions it was applied to. [`NONE`] where there
/// is none.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Why {
    pub(crate) rule: u32,
    pub(crate) first: u32,
    pub(crate) second: u32,
}

impl Why {
    /// It was given.
    pub(crate) const GIVEN: Why = Why::new(NONE, NONE, NONE);

    pub(crate) const fn new(rule: u32, first: u32, second: u32) -> Self {
        Why {
            rule,
            first,
            second,
        }
    }
}

/// A transition whose weight is the answer: if it is the best there can be, the search is over.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Goal(pub(crate) Option<Transition>);

/// Why transitions have grown, each time they did (witness tracing, section 4.1 of the FWPDS
/// paper). A record speaks of transitions as they were when it was made: of their records that are
/// older than itself.
#[derive(Default)]
pub(crate) struct Records {
    /// Why, and the record that the transition had before, or [`NONE`].
    all: Vec<(Why, u32)>,
    /// For each transition its newest record, or [`NONE`].
    newest: Vec<u32>,
}

impl Records {
    fn add(&mut self, transition: u32, why: Why) {
        let at = transition as usize;
        if at >= self.newest.len() {
            self.newest.resize(at + 1, NONE);
        }
        let before = std::mem::replace(&mut self.newest[at], self.all.len() as u32);
        self.all.push((why, before));
    }

    /// The newest record of a transition that is older than another one.
    pub(crate) fn before(&self, transition: u32, time: u32) -> Option<u32> {
        self.history(transition, time).next()
    }

    /// The records of a transition that are older than another one, the newest first.
    pub(crate) fn history(&self, transition: u32, time: u32) -> impl Iterator<Item = u32> {
        let newest = self.newest.get(transition as usize).copied();
        let known = |at: u32| (at != NONE).then_some(at);
        let older = move |&at: &u32| known(self.all[at as usize].1);
        std::iter::successors(newest.and_then(known), older).skip_while(move |&at| at >= time)
    }

    /// For each record its transition.
    pub(crate) fn transitions(&self) -> Vec<u32> {
        let mut of = vec![NONE; self.all.len()];
        for transition in 0..self.newest.len() as u32 {
            for record in self.history(transition, NONE) {
                of[record as usize] = transition;
            }
        }
        of
    }

    pub(crate) fn get(&self, record: u32) -> Why {
        self.all[record as usize].0
    }
}

/// Transitions that grow.
pub(crate) struct Table<'a, D: Domain> {
    pub(crate) domain: &'a D,
    pds: &'a Pds<D::Weight>,
    pub(crate) names: HeadNames<'a>,
    callees: Vec<u32>,
    /// For each head, the complement of its newest transition: memory that has not been touched yet
    /// says [`NONE`], and need not be touched for it.
    first: Vec<u32>,
    entries: Vec<Entry>,
    /// The transitions of heads that have many.
    many: FxHashMap<(u32, StateId), u32>,
    weights: Vec<D::Weight>,
    /// Which transitions are on the list.
    waits: Vec<bool>,
    /// What has not been handed on yet of transitions on the list. Not used where weights are
    /// totally ordered.
    news: Vec<Option<D::Weight>>,
    total: bool,
    /// Where weights may fall for ever.
    falling: Option<Falling<D::Weight>>,
    pub(crate) records: Option<Records>,
    /// Whether one transition alone is asked for, and which, if there can be such a one.
    single: bool,
    goal: Option<(u32, StateId)>,
    done: bool,
    work: Worklist,
    guard: Guard,
    found: Option<Arc<AtomicU64>>,
    /// How often the next transition has been asked for.
    asked: u32,
    /// How many weights have been found, also those that are no better than what was known, and how many
    /// have been handed on.
    effort: u64,
}

impl<'a, D: Domain> Table<'a, D> {
    /// `callees` gives the procedure of an epsilon transition by the state it leads to.
    pub(crate) fn new(
        domain: &'a D,
        names: HeadNames<'a>,
        callees: Vec<u32>,
        pds: &'a Pds<D::Weight>,
        (options, goal): (&Options, Goal),
    ) -> Self {
        let single = goal.0.is_some();
        let goal = (goal.0).and_then(|t| Some((names.find(t.from, t.symbol)?, t.to)));
        let step = domain.rank(&domain.one()).map(|_| average(domain, pds));
        let falling = Falling::new(domain);
        let first = !domain.is_total() || falling.is_some();
        Table {
            domain,
            pds,
            first: vec![!NONE; names.len() as usize],
            names,
            callees,
            entries: Vec::new(),
            many: FxHashMap::default(),
            weights: Vec::new(),
            waits: Vec::new(),
            news: Vec::new(),
            total: domain.is_total(),
            falling,
            records: options.witness.then(Records::default),
            single,
            goal,
            done: false,
            work: Worklist::new(&options.order, first, step, pds.procedures()),
            guard: options.limits.guard(),
            found: options.found.clone(),
            asked: 0,
            effort: 0,
        }
    }

    #[inline]
    pub(crate) fn get(&self, id: u32) -> Entry {
        self.entries[id as usize]
    }

    pub(crate) fn name(&self, id: u32) -> Transition {
        let Entry { head, to, .. } = self.get(id);
        let (from, symbol) = self.names.get(head);
        Transition { from, symbol, to }
    }

    #[inline]
    pub(crate) fn weight(&self, id: u32) -> &D::Weight {
        &self.weights[id as usize]
    }

    /// The newest transition of a head, or [`NONE`].
    #[inline]
    pub(crate) fn newest(&self, head: u32) -> u32 {
        self.first.get(head as usize).map_or(NONE, |first| !first)
    }

    /// The transition of the same head that came before, or [`NONE`].
    #[inline]
    pub(crate) fn before(&self, id: u32) -> u32 {
        self.entries[id as usize].next
    }

    /// The number of a transition; or how many the head has, if they are few.
    #[inline]
    fn find(&self, head: u32, to: StateId) -> Result<u32, u32> {
        let (mut at, mut count) = (!self.first[head as usize], 0);
        while at != NONE {
            let entry = self.entries[at as usize];
            if entry.to == to {
                return Ok(at);
            }
            count += 1;
            if count == MANY {
                return self.many.get(&(head, to)).copied().ok_or(MANY);
            }
            at = entry.next;
        }
        Err(count)
    }

    fn insert(&mut self, head: u32, to: StateId, count: u32) -> Result<u32, StopReason> {
        let id = self.entries.len() as u32;
        if id == NONE - 1 {
            return Err(StopReason::TooMany(Countable::States, u64::from(id)));
        }
        let place = &mut self.first[head as usize];
        let next = !std::mem::replace(place, !id);
        self.entries.push(Entry { head, to, next });
        if count + 1 == MANY {
            let mut at = id;
            while at != NONE {
                let entry = self.entries[at as usize];
                self.many.insert((head, entry.to), at);
                at = entry.next;
            }
        } else if count >= MANY {
            self.many.insert((head, to), id);
        }
        Ok(id)
    }

    /// The number of a transition, and whether it is new. It is put on no list.
    pub(crate) fn intern(&mut self, head: u32, to: StateId) -> Result<(u32, bool), StopReason> {
        if head as usize >= self.first.len() {
            self.first.resize(self.names.len() as usize, !NONE);
        }
        match self.find(head, to) {
            Ok(id) => Ok((id, false)),
            Err(count) => Ok((self.insert(head, to, count)?, true)),
        }
    }

    /// Combines the weight of a transition with another, which may be out of range. Its number, and
    /// whether it is new.
    #[inline]
    pub(crate) fn update(
        &mut self,
        head: u32,
        to: StateId,
        weight: Result<D::Weight, StopReason>,
        why: Why,
    ) -> Result<(u32, bool), StopReason> {
        self.effort += 1;
        if let Some(falling) = &self.falling
            && (falling.is_far(why.first) || falling.is_far(why.second))
        {
            return self.out_of_range(head, to, why, weight.err());
        }
        match weight {
            Ok(weight) => self.join(head, to, weight, why),
            Err(reason) => self.out_of_range(head, to, why, Some(reason)),
        }
    }

    /// Combines the weight of a transition with another.
    #[inline]
    fn join(
        &mut self,
        head: u32,
        to: StateId,
        weight: D::Weight,
        why: Why,
    ) -> Result<(u32, bool), StopReason> {
        if head as usize >= self.first.len() {
            self.first.resize(self.names.len() as usize, !NONE);
        }
        let id = match self.find(head, to) {
            Ok(id) => id,
            Err(count) => {
                let id = self.insert(head, to, count)?;
                let zero = self.domain.is_zero(&weight);
                self.waits.push(false);
                if self.total {
                    self.weights.push(weight);
                } else {
                    self.weights.push(weight.clone());
                    self.news.push((!zero).then_some(weight));
                }
                if !zero {
                    self.grown(id, why);
                }
                return Ok((id, true));
            }
        };
        let known = &mut self.weights[id as usize];
        let both = self.domain.combine(known, &weight)?;
        if !self.domain.equal(&both, known) {
            if !self.total {
                let new = self.domain.diff(&weight, known)?;
                let place = &mut self.news[id as usize];
                *place = Some(match place {
                    Some(waiting) => self.domain.combine(waiting, &new)?,
                    None => new,
                });
            }
            *known = both;
            self.grown(id, why);
        }
        Ok((id, false))
    }

    /// Where weights may fall for ever, a sum that is out of range, or made of such, is not the end yet.
    #[cold]
    fn out_of_range(
        &mut self,
        head: u32,
        to: StateId,
        why: Why,
        error: Option<StopReason>,
    ) -> Result<(u32, bool), StopReason> {
        let reason = error.unwrap_or(StopReason::OutOfRange);
        let rule = self.pds.rules().get(why.rule as usize);
        if reason != StopReason::OutOfRange || rule.is_some_and(|rule| rule.merge.is_some()) {
            return Err(reason);
        }
        let (domain, greatest) = (self.domain, self.domain.greatest());
        let (Some(falling), Some(greatest)) = (&self.falling, greatest) else {
            return Err(reason);
        };
        let (mut numbers, mut parts) = (Vec::with_capacity(3), 0);
        let own = rule.map(|_| (NONE, self.pds.weight(why.rule)));
        let made_of = [why.first, why.second].into_iter();
        let made_of = made_of.filter_map(|id| Some((id, self.weights.get(id as usize)?)));
        for (id, weight) in own.into_iter().chain(made_of) {
            parts += 1;
            match falling.far(id).or_else(|| domain.number(weight)) {
                Some(number) => numbers.push(number),
                // Zero and the bottom have none, and are what becomes of a sum. Zero comes first.
                None if domain.is_zero(weight) => {
                    return self.join(head, to, domain.zero(), why);
                }
                None => {}
            }
        }
        let bottom = domain.bottom().filter(|_| numbers.len() < parts);
        if let Some(bottom) = bottom {
            return self.join(head, to, bottom, why);
        }
        let (id, fresh) = self.join(head, to, domain.zero(), why)?;
        let Some(falling) = &mut self.falling else {
            return Err(reason);
        };
        let Some(sum) = falling.sum(id, why, &numbers) else {
            return Ok((id, fresh));
        };
        let weight = &self.weights[id as usize];
        let known = falling.far(id).or_else(|| domain.number(weight));
        let is_better = match known {
            Some(known) => sum < known,
            None => domain.is_zero(weight),
        };
        if is_better {
            let far = domain.with_number(sum).is_none();
            // What is too small is below all others; what is too large is not there yet.
            let shown = match far {
                true if sum > 0 => Some(domain.zero()),
                true => domain.with_number(-greatest),
                false => domain.with_number(sum),
            };
            self.weights[id as usize] = shown.ok_or(reason)?;
            self.grown_to(id, why, far.then_some(sum));
        }
        Ok((id, fresh))
    }

    /// Looks for weights that fall for ever. Whether there are some that were not known.
    #[cold]
    fn settle(&mut self) -> bool {
        let Some(falling) = &mut self.falling else {
            return false;
        };
        let endless = falling.settle(self.domain, &mut self.weights);
        for &id in &endless {
            self.found(id);
        }
        !endless.is_empty()
    }

    /// The weight of a transition has changed.
    #[inline]
    fn grown(&mut self, id: u32, why: Why) {
        self.grown_to(id, why, None);
    }

    /// The same; the weight may be out of range now, with this number.
    #[inline]
    fn grown_to(&mut self, id: u32, why: Why, far: Option<i128>) {
        if let Some(records) = &mut self.records {
            records.add(id, why);
        }
        if let Some(falling) = &mut self.falling
            && falling.changed(id, why, far)
        {
            self.settle();
        }
        self.found(id);
    }

    /// A transition is to be handed on.
    #[inline]
    fn found(&mut self, id: u32) {
        let Entry { head, to, .. } = self.entries[id as usize];
        if self.goal == Some((head, to)) && self.domain.is_best(&self.weights[id as usize]) {
            // Nothing else matters any more.
            self.done = true;
        }
        self.put(id);
    }

    #[inline]
    fn put(&mut self, id: u32) {
        let waits = std::mem::replace(&mut self.waits[id as usize], true);
        let (domain, weight) = (self.domain, &self.weights[id as usize]);
        let Entry { head, to, .. } = self.entries[id as usize];
        let (names, callees) = (&self.names, &self.callees);
        let procedure = || {
            let of_callee = || callees.get(to.0 as usize).copied().unwrap_or(0);
            let procedure = names.procedure(head).unwrap_or_else(of_callee);
            (names.procedures.part(procedure), procedure)
        };
        let transition = || {
            let (from, symbol) = names.get(head);
            Transition { from, symbol, to }
        };
        let rank = || domain.rank(weight);
        self.work.put(id, waits, procedure, transition, rank);
    }

    /// The next transition that has grown, and what is new about it.
    #[inline]
    pub(crate) fn next(&mut self) -> Result<Option<(u32, D::Weight)>, StopReason> {
        self.guard.check()?;
        self.asked = self.asked.wrapping_add(1);
        self.effort += 1;
        if self.asked.trailing_zeros() >= 12
            && let Some(found) = &self.found
        {
            // Of several tables, the largest.
            found.fetch_max(self.entries.len() as u64, Ordering::Relaxed);
        }
        if self.done {
            return Ok(None);
        }
        loop {
            while let Some(id) = self.work.take() {
                let at = id as usize;
                if std::mem::replace(&mut self.waits[at], false) {
                    let new = if self.total {
                        self.weights[at].clone()
                    } else {
                        match self.news[at].take() {
                            Some(new) => new,
                            None => continue,
                        }
                    };
                    return Ok(Some((id, new)));
                }
            }
            let goal = || self.goal.and_then(|(head, to)| self.find(head, to).ok());
            let asked = if self.single {
                Asked::Only(goal())
            } else {
                Asked::All
            };
            let falling = self.falling.as_ref();
            if falling.is_none_or(|all| all.is_settled(self.domain, &self.weights, asked)) {
                return Ok(None);
            }
            if !self.settle() {
                return Err(StopReason::OutOfRange);
            }
        }
    }

    /// The number of a transition, if it is there.
    pub(crate) fn id(&self, transition: Transition) -> Option<u32> {
        let head = self.names.find(transition.from, transition.symbol)?;
        if head as usize >= self.first.len() {
            return None;
        }
        self.find(head, transition.to).ok()
    }

    /// How much has been done, whatever the time that it took.
    pub(crate) fn effort(&self) -> u64 {
        self.effort
    }

    /// How many transitions there are.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// All transitions, by number.
    pub(crate) fn names(&self) -> impl Iterator<Item = Transition> {
        (0..self.entries.len() as u32).map(|id| self.name(id))
    }

    /// The transitions that are to be kept, with their weights, by number.
    pub(crate) fn into_lists(
        self,
        mut keep: impl FnMut(Transition, &D::Weight) -> bool,
    ) -> (Vec<Transition>, Vec<D::Weight>) {
        let (names, mut weights) = (self.names, self.weights);
        let (mut at, mut kept) = (0, 0);
        // An entry is as large as a transition: their memory is used again, where `collect` can.
        let transitions = self.entries.into_iter().filter_map(|entry| {
            let (from, symbol) = names.get(entry.head);
            let transition = Transition::new(from, symbol, entry.to);
            let keeps = keep(transition, &weights[at]);
            if keeps {
                weights.swap(kept, at);
                kept += 1;
            }
            at += 1;
            keeps.then_some(transition)
        });
        let transitions = transitions.collect();
        weights.truncate(kept);
        (transitions, weights)
    }

    /// The transitions that are wanted, with what is known about states, as an automaton; and
    /// whether none has the weight zero.
    pub(crate) fn automaton(
        self,
        mut automaton: Automaton<D::Weight>,
        states: u32,
        wanted: impl Fn(Transition) -> bool,
    ) -> (Automaton<D::Weight>, bool) {
        while automaton.states() < states {
            automaton.state();
        }
        let (domain, mut all) = (self.domain, true);
        let found = self.into_lists(|transition, weight| {
            let zero = domain.is_zero(weight);
            all &= !zero;
            !zero && wanted(transition)
        });
        automaton.fill_from(vec![found]);
        (automaton, all)
    }
}

/// The average rank of a rule.
fn average<D: Domain>(domain: &D, pds: &Pds<D::Weight>) -> u64 {
    let count = pds.rules().len();
    let ranks = (0..count as u32).filter_map(|rule| domain.rank(pds.weight(rule)));
    let sum: u128 = ranks.map(u128::from).sum();
    (sum / count.max(1) as u128) as u64
}

/// Lists of numbers, one for each key, linked through one array.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lists {
    first: Vec<u32>,
    items: Vec<(u32, u32)>,
}

impl Lists {
    pub(crate) fn push(&mut self, key: u32, item: u32) {
        let key = key as usize;
        if key >= self.first.len() {
            self.first.resize(key + 1, NONE);
        }
        let place = self.items.len() as u32;
        self.items.push((item, self.first[key]));
        self.first[key] = place;
    }

    /// Where the list of a key begins; to be passed to [`Self::get`].
    #[inline]
    pub(crate) fn start(&self, key: u32) -> u32 {
        self.first.get(key as usize).copied().unwrap_or(NONE)
    }

    /// The item at a place, and the next place.
    #[inline]
    pub(crate) fn get(&self, place: u32) -> Option<(u32, u32)> {
        self.items.get(place as usize).copied()
    }
}
