//! Whether one set of configurations reaches another, with which weight, and by which run.
//!
//! The question becomes a part of the system. Additional rules write a configuration of the first set on
//! the stack, as the automaton of that set says, and further rules read a configuration of the second set
//! off it. Then there is one configuration to start from and one to get to, whichever way the search goes,
//! and one run between them says where it began, what it did, and where it ended.

use droste_base::{Limits, StopReason};

use crate::automaton::{Automaton, Direction, Transition};
use crate::by_paths::{self, LazyAutomaton};
use crate::domain::Domain;
use crate::dual;
use crate::either;
use crate::parallel::{at_work, poststar_on, prestar_on};
use crate::post::{Middles, saturate as saturate_post};
use crate::pre::saturate as saturate_pre;
use crate::saturate::{Goal, Method, Options, Table};
use crate::system::{Pds, Replace, Rule, StateId, SymbolId};
use crate::wide::Wide;
use crate::witness::{Witness, of_post, of_pre};

/// From which side a question is answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Way {
    /// Backwards from the second set.
    Pre,
    /// Forwards from the first set.
    #[default]
    Post,
    /// From both sides in turns, until one of them is done or they meet.
    Dual,
    /// [`Post`](Way::Post) or [`Pre`](Way::Pre), whichever takes less work: post* alone at first, then
    /// both in turns. By path expressions it is post*.
    Either,
}

/// An answer.
#[derive(Clone, Debug)]
pub struct Reached<W> {
    /// The combined weight of all runs, each between the weights of its first and its last
    /// configuration. Zero if there is none.
    pub weight: W,
    /// How many transitions were found.
    pub transitions: usize,
    /// A run, if one was asked for and there is one. Where weights are totally ordered, it has the
    /// weight. Elsewhere it has a part of it, and none is given if choosing one would take too long. There
    /// is none for a weight that [falls for ever](Domain::bottom).
    pub witness: Option<Witness>,
    /// From which side it was found, if it was from one.
    pub way: Way,
}

/// The weight of all runs from one set of configurations to another. The first automaton has its
/// weights [backward](Direction::Backward), the second [forward](Direction::Forward).
///
/// A search for one run needs [records](Options::witness) and goes by chaotic iteration, whatever
/// the method.
pub fn reach<D: Domain>(
    domain: &D,
    pds: &Pds<D::Weight>,
    from: &Automaton<D::Weight>,
    to: &Automaton<D::Weight>,
    way: Way,
    options: &Options,
) -> Result<Reached<D::Weight>, StopReason> {
    match ask(domain, pds, (from, to), way, options) {
        Err(StopReason::OutOfRange) if Wide::helps(domain) => {
            let [from, to] = [from, to].map(|set| Wide::automaton(domain, set));
            let found = ask(&Wide, &Wide::pds(domain, pds), (&from, &to), way, options)?;
            Ok(Reached {
                weight: Wide::weight(domain, found.weight)?,
                transitions: found.transitions,
                witness: found.witness,
                way: found.way,
            })
        }
        found => found,
    }
}

fn ask<D: Domain>(
    domain: &D,
    pds: &Pds<D::Weight>,
    (from, to): (&Automaton<D::Weight>, &Automaton<D::Weight>),
    way: Way,
    options: &Options,
) -> Result<Reached<D::Weight>, StopReason> {
    let question = Question::new(domain, pds, from, to, false)?;
    let mut side = way;
    if way == Way::Either && options.method == Method::Paths && !options.witness {
        side = Way::Post;
    }
    let (weight, transitions, witness) = match side {
        Way::Post => question.forwards(domain, options)?,
        Way::Pre => question.backwards(domain, options)?,
        Way::Dual => dual::answer(domain, &question, options)?,
        Way::Either => {
            let (found, first) = either::answer(domain, &question, options)?;
            side = first;
            found
        }
    };
    let endless = (domain.bottom()).is_some_and(|bottom| domain.equal(&bottom, &weight));
    Ok(Reached {
        transitions,
        witness: witness.filter(|_| !endless),
        weight,
        way: side,
    })
}

/// [`reach`] by chaotic iteration on that many threads. A run, path expressions, [`Way::Dual`] and
/// weights that may [fall for ever](Domain::bottom) are for one; [`Way::Either`] is post* on several.
pub fn reach_on<D: Domain + Sync>(
    threads: u32,
    domain: &D,
    pds: &Pds<D::Weight>,
    from: &Automaton<D::Weight>,
    to: &Automaton<D::Weight>,
    way: Way,
    options: &Options,
) -> Result<Reached<D::Weight>, StopReason>
where
    D::Weight: Send + Sync,
{
    let threads = at_work(threads, domain, options);
    if threads == 1 || way == Way::Dual || options.method == Method::Paths {
        return reach(domain, pds, from, to, way, options);
    }
    // What is on the stack behind a call belongs to its caller's owner, also where the question has
    // put it there.
    let question = Question::new(domain, pds, from, to, true)?;
    let way = if way == Way::Pre { way } else { Way::Post };
    let (found, asked) = if way == Way::Post {
        let (start, last) = question.first(domain)?;
        let found = poststar_on(threads, domain, &question.pds, &start, options)?;
        let end = Transition::new(question.end, SymbolId::EPSILON, last);
        (found, end)
    } else {
        let target = question.last(domain)?;
        let found = prestar_on(threads, domain, &question.pds, &target, options)?;
        let (state, symbol) = question.start;
        (found, Transition::new(state, symbol, question.end))
    };
    Ok(Reached {
        weight: (found.weight(asked).cloned()).unwrap_or_else(|| domain.zero()),
        transitions: found.len(),
        witness: None,
        way,
    })
}

/// A weight, how many transitions were found, a run.
pub(crate) type Found<W> = (W, usize, Option<Witness>);

/// A system with the rules of a question.
pub(crate) struct Question<W> {
    pub(crate) pds: Pds<W>,
    /// The control state and the symbol to start from.
    pub(crate) start: (StateId, SymbolId),
    /// The control state to get to, with nothing on the stack.
    pub(crate) end: StateId,
    /// How many rules are the system's own.
    pub(crate) own: u32,
}

impl<W: Clone> Question<W> {
    /// `joined` says whether the rules of the question make procedures, too.
    fn new<D: Domain<Weight = W>>(
        domain: &D,
        pds: &Pds<W>,
        from: &Automaton<W>,
        to: &Automaton<W>,
        joined: bool,
    ) -> Result<Self, StopReason> {
        let (from, to) = (from.normalised(domain)?, to.normalised(domain)?);
        let control = pds.states().max(from.control()).max(to.control());
        // States that are no control states get numbers of their own.
        let writes = |state: StateId| {
            let inner = state.0.checked_sub(from.control());
            StateId(inner.map_or(state.0, |inner| control + inner))
        };
        let first = control + (from.states() - from.control());
        let reads = |state: StateId| {
            let inner = state.0.checked_sub(to.control());
            StateId(inner.map_or(state.0, |inner| first + inner))
        };
        let start = StateId(first + (to.states() - to.control()));
        let end = StateId(start.0 + 1);
        let symbols = (from.iter().chain(to.iter()))
            .map(|(transition, _)| transition.symbol.0 + 1)
            .fold(pds.symbols(), u32::max);
        let (pen, bottom) = (SymbolId(symbols), SymbolId(symbols + 1));
        let rule = |from, top, to, replace| Rule {
            from,
            top,
            to,
            replace,
            merge: None,
        };
        let mut rules = Vec::new();
        let mut written = vec![false; control as usize];
        let mut write = |state: StateId, rules: &mut Vec<(Rule, W)>| {
            let control = written.get_mut(state.0 as usize);
            if control.is_some_and(|written| !std::mem::replace(written, true)) {
                rules.push((rule(state, pen, state, Replace::Pop), domain.one()));
            }
        };
        for state in (0..from.states()).map(StateId) {
            if let Some(weight) = from.final_weight(state) {
                let push = Replace::Push(pen, bottom);
                rules.push((rule(start, bottom, writes(state), push), weight.clone()));
                write(writes(state), &mut rules);
            }
        }
        for (transition, weight) in from.iter() {
            let push = Replace::Push(pen, transition.symbol);
            let (below, above) = (writes(transition.to), writes(transition.from));
            rules.push((rule(below, pen, above, push), weight.clone()));
            write(above, &mut rules);
        }
        for (transition, weight) in to.iter() {
            let (above, below) = (reads(transition.from), reads(transition.to));
            let read = rule(above, transition.symbol, below, Replace::Pop);
            rules.push((read, weight.clone()));
        }
        for state in (0..to.states()).map(StateId) {
            if let Some(weight) = to.final_weight(state) {
                rules.push((
                    rule(reads(state), bottom, end, Replace::Pop),
                    weight.clone(),
                ));
            }
        }
        Ok(Question {
            own: pds.rules().len() as u32,
            // A set may be empty, and then no rule leads to its end.
            pds: pds.with(end.0 + 1, joined, rules),
            start: (start, bottom),
            end,
        })
    }

    /// The start, as an automaton.
    pub(crate) fn first<D: Domain<Weight = W>>(
        &self,
        domain: &D,
    ) -> Result<(Automaton<W>, StateId), StopReason> {
        let mut automaton = Automaton::new(self.pds.states(), Direction::Backward);
        let last = automaton.state();
        let (state, symbol) = self.start;
        automaton.add(domain, Transition::new(state, symbol, last), domain.one())?;
        automaton.accept(domain, last, domain.one())?;
        Ok((automaton, last))
    }

    /// The end, as an automaton.
    pub(crate) fn last<D: Domain<Weight = W>>(
        &self,
        domain: &D,
    ) -> Result<Automaton<W>, StopReason> {
        let mut automaton = Automaton::new(self.pds.states(), Direction::Forward);
        automaton.accept(domain, self.end, domain.one())?;
        Ok(automaton)
    }

    fn forwards<D: Domain<Weight = W>>(
        &self,
        domain: &D,
        options: &Options,
    ) -> Result<Found<W>, StopReason> {
        let (start, last) = self.first(domain)?;
        let end = Transition::new(self.end, SymbolId::EPSILON, last);
        if options.method == Method::Paths && !options.witness {
            let lazy = by_paths::forwards(domain, &self.pds, &start, Some(end), options)?;
            return Self::asked(lazy, end);
        }
        let middles = Middles::new(&self.pds, start.states());
        let goal = Goal(Some(end));
        let table = saturate_post(domain, &self.pds, &start, middles, (options, goal))?;
        self.found(domain, &table, end, (options, of_post))
    }

    fn backwards<D: Domain<Weight = W>>(
        &self,
        domain: &D,
        options: &Options,
    ) -> Result<Found<W>, StopReason> {
        let target = self.last(domain)?;
        let (state, symbol) = self.start;
        let begin = Transition::new(state, symbol, self.end);
        if options.method == Method::Paths && !options.witness {
            let lazy = by_paths::backwards(domain, &self.pds, &target, Some(begin), options)?;
            return Self::asked(lazy, begin);
        }
        let goal = Goal(Some(begin));
        let table = saturate_pre(domain, &self.pds, &target, (options, goal))?;
        self.found(domain, &table, begin, (options, of_pre))
    }

    /// What an automaton with lazy weights says about the transition that answers the question.
    fn asked<D: Domain<Weight = W>>(
        mut lazy: LazyAutomaton<'_, D>,
        answer: Transition,
    ) -> Result<Found<W>, StopReason> {
        Ok((lazy.weight(answer)?, lazy.len(), None))
    }

    /// What a table says about the transition that answers the question.
    pub(crate) fn found<D: Domain<Weight = W>>(
        &self,
        domain: &D,
        table: &Table<'_, D>,
        answer: Transition,
        (options, witness): (
            &Options,
            impl Fn(&Table<'_, D>, u32, &Self, &Limits) -> Result<Option<Witness>, StopReason>,
        ),
    ) -> Result<Found<W>, StopReason> {
        let Some(id) = table.id(answer) else {
            return Ok((domain.zero(), table.len(), None));
        };
        let weight = table.weight(id).clone();
        let witness = if domain.is_zero(&weight) {
            None
        } else {
            witness(table, id, self, &options.limits)?
        };
        Ok((weight, table.len(), witness))
    }
}
