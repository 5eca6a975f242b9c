//! Questions to a [`Modular`] system: pre* and post* of automata. Summaries are known already. What an
//! automaton adds to them is computed only for the symbols that it concerns.

use std::ops::Deref;

use droste_base::StopReason;
use rustc_hash::{FxHashMap, FxHashSet};

use super::knots::{Store, from};
use super::{Entry, Head, Modular, Weighted};
use crate::automaton::{Automaton, Direction, Transition};
use crate::domain::Domain;
use crate::post::poststar;
use crate::small::Small;
use crate::system::{Replace, Rule, StateId, SymbolId};
use crate::worklist::Bits;

/// Those from one head.
fn from_head<W>(all: &[(Transition, W)], (from, symbol): Head) -> &[(Transition, W)] {
    let key = |t: &Transition| (t.from, t.symbol);
    let begin = all.partition_point(|(t, _)| key(t) < (from, symbol));
    let rest = &all[begin..];
    &rest[..rest.partition_point(|(t, _)| key(t) == (from, symbol))]
}

/// Summaries, and what a target adds to them.
struct Asked<'a, W> {
    summaries: &'a [Vec<Entry<W>>],
    given: FxHashMap<u32, Vec<Entry<W>>>,
    /// For symbols where it is something else than the summary.
    found: FxHashMap<u32, Vec<Entry<W>>>,
}

impl<W> Store<W> for Asked<'_, W> {
    fn get(&self, symbol: u32) -> impl Deref<Target = Vec<Entry<W>>> {
        let found = self.found.get(&symbol);
        found.unwrap_or_else(|| &self.summaries[symbol as usize])
    }

    fn given(&self, symbol: u32) -> &[Entry<W>] {
        self.given.get(&symbol).map_or(&[], Vec::as_slice)
    }

    fn put(&mut self, symbol: u32, summary: Vec<Entry<W>>) {
        self.found.insert(symbol, summary);
    }
}

impl<D: Domain> Modular<D> {
    /// The automaton of all configurations from which those of `to` can be reached, as
    /// [`prestar`](crate::prestar) gives it. Only symbols from which a configuration is reached are
    /// looked at again.
    pub fn prestar(
        &mut self,
        to: &Automaton<D::Weight>,
    ) -> Result<Automaton<D::Weight>, StopReason> {
        self.control = self.control.max(to.control());
        let target = self.with_control(to)?;
        let symbols = target.iter().map(|(transition, _)| transition.symbol.0 + 1);
        self.at_least(symbols.fold(0, u32::max));
        self.update()?;
        let mut dirty = Bits::new(self.ranks.len());
        let mut given: FxHashMap<u32, Vec<Entry<D::Weight>>> = FxHashMap::default();
        for (Transition { from, symbol, to }, weight) in target.iter() {
            if self.domain.is_zero(weight) {
                continue;
            }
            dirty.set(self.ranks.of(symbol.0) as usize);
            given.entry(symbol.0).or_default().push(Entry {
                from,
                to,
                weight: weight.clone(),
            });
        }
        for entries in given.values_mut() {
            entries.sort_by_key(|entry| (entry.from, entry.to));
        }
        let mut asked = Asked {
            summaries: &self.summaries,
            given,
            found: FxHashMap::default(),
        };
        self.renew_all(&mut dirty, &mut asked, |_| ())?;
        let mut automaton = target.bare(Direction::Forward);
        let all = (0..self.summaries.len() as u32).flat_map(|symbol| {
            let entries: Vec<Entry<D::Weight>> = asked.get(symbol).clone();
            let named = entries.into_iter();
            named.map(move |entry| (entry.transition(symbol), entry.weight))
        });
        automaton.fill(all);
        Ok(automaton)
    }

    /// An automaton, normalised, with the control states of this system.
    fn with_control(
        &self,
        automaton: &Automaton<D::Weight>,
    ) -> Result<Automaton<D::Weight>, StopReason> {
        let plain = automaton.normalised(&self.domain)?;
        if plain.control() == self.control {
            return Ok(plain);
        }
        let mut wider = Automaton::new(self.control, plain.direction());
        let rename = |state: StateId| {
            let inner = state.0.checked_sub(plain.control());
            StateId(inner.map_or(state.0, |inner| self.control + inner))
        };
        for state in (0..plain.states()).map(StateId) {
            if rename(state).0 >= wider.states() {
                wider.state();
            }
            if let Some(weight) = plain.final_weight(state) {
                wider.accept(&self.domain, rename(state), weight.clone())?;
            }
        }
        for (Transition { from, symbol, to }, weight) in plain.iter() {
            let transition = Transition::new(rename(from), symbol, rename(to));
            wider.add(&self.domain, transition, weight.clone())?;
        }
        Ok(wider)
    }

    /// The automaton of all configurations that are reachable from those of `from`, as
    /// [`poststar`] gives it, up to the names of states. What is reachable inside a procedure is
    /// found once and kept.
    pub fn poststar(
        &mut self,
        from: &Automaton<D::Weight>,
    ) -> Result<Automaton<D::Weight>, StopReason> {
        self.control = self.control.max(from.control());
        self.update()?;
        let start = self.with_control(from)?;
        let mut all = start.bare(Direction::Backward);
        // The first configurations: what their symbols can do, one below the other.
        let mut seeds: FxHashMap<u32, FxHashMap<Transition, D::Weight>> = FxHashMap::default();
        let mut work: Vec<u32> = Vec::new();
        for (transition, weight) in start.iter() {
            if transition.from.0 >= self.control {
                all.add(&self.domain, transition, weight.clone())?;
                continue;
            }
            let root = self.procedures.find(transition.symbol.0);
            seeds
                .entry(root)
                .or_default()
                .insert(transition, weight.clone());
            work.push(root);
        }
        let mut reached: FxHashMap<u32, Weighted<D::Weight>> = FxHashMap::default();
        for round in 0.. {
            work.sort_unstable();
            work.dedup();
            if work.is_empty() {
                break;
            }
            let mut more: Vec<(Transition, D::Weight)> = Vec::new();
            for root in work.drain(..) {
                let given: Weighted<D::Weight> = (seeds[&root].iter())
                    .map(|(transition, weight)| (*transition, weight.clone()))
                    .collect();
                let found = self.spread(root, &given)?;
                let gone = |(t, _): &&(Transition, _)| t.symbol == SymbolId::EPSILON;
                for (returned, summary) in found.iter().filter(gone) {
                    for (below, weight) in start.iter() {
                        if below.from == returned.to {
                            let weight = self.domain.extend(weight, summary)?;
                            let seed = Transition::new(returned.from, below.symbol, below.to);
                            more.push((seed, weight));
                        }
                    }
                }
                reached.insert(root, found);
            }
            // What gets better in a round does so because something did in the round before. If
            // there are more rounds than seeds, one of them gets better because of itself, and does
            // so for ever.
            let count: usize = seeds.values().map(FxHashMap::len).sum();
            for (seed, weight) in more {
                let root = self.procedures.find(seed.symbol.0);
                let place = seeds.entry(root).or_default().entry(seed);
                let known = place.or_insert_with(|| self.domain.zero());
                let both = self.domain.combine(known, &weight)?;
                if !self.domain.equal(known, &both) {
                    *known = match self.domain.bottom() {
                        Some(bottom) if round > count => bottom,
                        _ => both,
                    };
                    work.push(root);
                }
            }
        }
        let mut middles: FxHashMap<Head, StateId> = FxHashMap::default();
        let mut entered: Vec<Head> = Vec::new();
        for (root, found) in reached {
            self.put(&mut all, (root, None), &found, &mut middles, &mut entered)?;
        }
        let mut done: FxHashSet<Head> = FxHashSet::default();
        while let Some(head) = entered.pop() {
            if !done.insert(head) {
                continue;
            }
            let root = self.procedures.find(head.1.0);
            // A state that no control state and no other state has.
            let inside = StateId(self.control);
            let entry = Transition::new(head.0, head.1, inside);
            let known = self.entered.get_mut(&root);
            let known = known.and_then(|heads| heads.remove(&head));
            let found = match known {
                Some(found) => found,
                None => self.spread(root, &[(entry, self.domain.one())])?,
            };
            let middle = (root, Some(middles[&head]));
            self.put(&mut all, middle, &found, &mut middles, &mut entered)?;
            self.entered.entry(root).or_default().insert(head, found);
        }
        Ok(all.trimmed())
    }

    /// The rules of a procedure, by one of its symbols.
    fn rules_inside(&self, symbol: u32) -> impl Iterator<Item = &(Rule, D::Weight)> {
        let symbols = self.procedures.symbols(symbol);
        symbols.flat_map(|symbol| self.rules_from(symbol))
    }

    /// What is reachable inside a procedure from some transitions.
    fn spread(
        &self,
        root: u32,
        given: &[(Transition, D::Weight)],
    ) -> Result<Weighted<D::Weight>, StopReason> {
        let mut small = Small::new(&self.domain);
        for (rule, weight) in self.rules_inside(root) {
            let Replace::Push(first, second) = rule.replace else {
                small.rule(*rule, weight.clone());
                continue;
            };
            for callee in from(&self.summaries[first.0 as usize], rule.to) {
                let weight = self.called((*rule, weight), &callee.weight, true)?;
                small.rule(across(*rule, callee.to, second), weight);
            }
        }
        let control = |state: StateId| state.0 < self.control;
        small.solve(given, control, Direction::Backward, |pds, start| {
            poststar(&self.domain, pds, start, &self.options)
        })
    }

    /// Puts what is reachable inside a procedure into the automaton of all, with what is behind its
    /// calls. `middle` is the state of the callee, if it is one.
    fn put(
        &self,
        all: &mut Automaton<D::Weight>,
        (root, middle): (u32, Option<StateId>),
        found: &[(Transition, D::Weight)],
        middles: &mut FxHashMap<Head, StateId>,
        entered: &mut Vec<Head>,
    ) -> Result<(), StopReason> {
        let to = |state: StateId| middle.unwrap_or(state);
        for (transition, weight) in found {
            // A callee that has returned is a step of its caller.
            if transition.symbol != SymbolId::EPSILON || middle.is_none() {
                let Transition { from, symbol, .. } = *transition;
                let made = Transition::new(from, symbol, to(transition.to));
                all.add(&self.domain, made, weight.clone())?;
            }
        }
        for (rule, own) in self.rules_inside(root) {
            let Replace::Push(first, second) = rule.replace else {
                continue;
            };
            for (transition, weight) in from_head(found, (rule.from, rule.top)) {
                let callee = *(middles.entry((rule.to, first))).or_insert_with(|| all.state());
                entered.push((rule.to, first));
                let weight = self.domain.extend(weight, own)?;
                let behind = Transition::new(callee, second, to(transition.to));
                all.add(&self.domain, behind, weight)?;
            }
        }
        Ok(())
    }
}

/// A step over a call.
fn across(rule: Rule, to: StateId, second: SymbolId) -> Rule {
    Rule {
        to,
        replace: Replace::Step(second),
        merge: None,
        ..rule
    }
}
