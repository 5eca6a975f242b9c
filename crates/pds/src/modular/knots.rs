//! Solving the equations of one knot: symbols that depend on each other. The summaries of all other symbols
//! that they depend on are known.
//!
//! A symbol that does not depend on itself is the sum of what its rules say: no iteration is needed.
//! Several become a small system of their own, in which a symbol of another knot is popped as its summary
//! says.

use std::ops::Deref;

use droste_base::StopReason;

use super::{Entry, Modular};
use crate::automaton::{Direction, Transition};
use crate::domain::Domain;
use crate::pre::prestar;
use crate::saturate::NONE;
use crate::small::Small;
use crate::system::{Replace, Rule, StateId, SymbolId};

/// Symbols with their summaries.
type Summaries<W> = Vec<(u32, Vec<Entry<W>>)>;

/// Where summaries are.
pub(super) trait Store<W> {
    /// How a symbol is popped, sorted.
    fn get(&self, symbol: u32) -> impl Deref<Target = Vec<Entry<W>>>;

    /// Transitions that are there from the beginning, sorted.
    fn given(&self, symbol: u32) -> &[Entry<W>];

    fn put(&mut self, symbol: u32, summary: Vec<Entry<W>>);
}

/// Those that start in a state.
pub(super) fn from<W>(all: &[Entry<W>], state: StateId) -> &[Entry<W>] {
    let begin = all.partition_point(|entry| entry.from < state);
    let rest = &all[begin..];
    &rest[..rest.partition_point(|entry| entry.from == state)]
}

/// Weights by the state where transitions lead.
pub(super) struct Sums<W> {
    /// For each state its place in the list, or [`NONE`].
    place: Vec<u32>,
    list: Vec<(StateId, W)>,
}

impl<W: Clone> Sums<W> {
    pub(super) fn new() -> Self {
        Sums {
            place: Vec::new(),
            list: Vec::new(),
        }
    }

    fn add<D: Domain<Weight = W>>(
        &mut self,
        domain: &D,
        to: StateId,
        weight: W,
    ) -> Result<(), StopReason> {
        let at = to.0 as usize;
        if at >= self.place.len() {
            self.place.resize(at + 1, NONE);
        }
        let place = self.place[at];
        if place == NONE {
            self.place[at] = self.list.len() as u32;
            self.list.push((to, weight));
        } else {
            let known = &mut self.list[place as usize].1;
            *known = domain.combine(known, &weight)?;
        }
        Ok(())
    }

    fn clear(&mut self) {
        for (to, _) in self.list.drain(..) {
            self.place[to.0 as usize] = NONE;
        }
    }

    /// Moves all that are not zero behind others, sorted.
    fn take<D: Domain<Weight = W>>(&mut self, domain: &D, from: StateId, out: &mut Vec<Entry<W>>) {
        self.list.sort_unstable_by_key(|(to, _)| *to);
        for (to, weight) in self.list.drain(..) {
            self.place[to.0 as usize] = NONE;
            if !domain.is_zero(&weight) {
                out.push(Entry { from, to, weight });
            }
        }
    }
}

impl<D: Domain> Modular<D> {
    /// Solves the symbols of a rank, and says which of them have another summary than before.
    pub(super) fn renew<S: Store<D::Weight>>(
        &self,
        rank: u32,
        store: &mut S,
        sums: &mut Sums<D::Weight>,
    ) -> Result<Vec<u32>, StopReason> {
        let members = self.ranks.members(rank);
        let found = match *members {
            [only] if !self.is_own(only) => match self.sum(only, store, sums) {
                Ok(summary) => vec![(only, summary)],
                Err(StopReason::OutOfRange) => {
                    // It may be that the sum does not matter.
                    sums.clear();
                    self.saturate(members, store)?
                }
                Err(reason) => return Err(reason),
            },
            _ => self.saturate(members, store)?,
        };
        let same = |a: &Entry<D::Weight>, b: &Entry<D::Weight>| {
            (a.from, a.to) == (b.from, b.to) && self.domain.equal(&a.weight, &b.weight)
        };
        let mut changed = Vec::new();
        for (symbol, new) in found {
            let old = store.get(symbol);
            let stays = old.len() == new.len() && old.iter().zip(&new).all(|(a, b)| same(a, b));
            drop(old);
            if !stays {
                store.put(symbol, new);
                changed.push(symbol);
            }
        }
        Ok(changed)
    }

    /// Whether a symbol depends on itself.
    fn is_own(&self, symbol: u32) -> bool {
        let mut on = Vec::new();
        self.depends_on(symbol, &mut on);
        on.contains(&symbol)
    }

    /// How a symbol is popped that does not depend on itself.
    fn sum<S: Store<D::Weight>>(
        &self,
        symbol: u32,
        store: &S,
        sums: &mut Sums<D::Weight>,
    ) -> Result<Vec<Entry<D::Weight>>, StopReason> {
        let domain = &self.domain;
        let given = store.given(symbol);
        let mut rules: Vec<&(Rule, D::Weight)> = self.rules_from(symbol).collect();
        rules.sort_by_key(|(rule, _)| rule.from);
        let mut out = Vec::new();
        for rules in rules.chunk_by(|(a, _), (b, _)| a.from == b.from) {
            let state = rules[0].0.from;
            for entry in from(given, state) {
                sums.add(domain, entry.to, entry.weight.clone())?;
            }
            for (rule, weight) in rules {
                match rule.replace {
                    Replace::Pop => sums.add(domain, rule.to, weight.clone())?,
                    Replace::Step(first) => {
                        for next in from(&store.get(first.0), rule.to) {
                            let weight = domain.extend(weight, &next.weight)?;
                            sums.add(domain, next.to, weight)?;
                        }
                    }
                    Replace::Push(first, second) => {
                        let called = store.get(first.0);
                        let callees = from(&called, rule.to);
                        if callees.is_empty() {
                            continue;
                        }
                        // The same summary is not asked for twice at once.
                        let other = (first != second).then(|| store.get(second.0));
                        let below = other.as_deref().unwrap_or(&called);
                        for callee in callees {
                            let below = from(below, callee.to);
                            if below.is_empty() {
                                continue;
                            }
                            let returned = callee.to.0 < self.control;
                            let before = self.called((*rule, weight), &callee.weight, returned)?;
                            for entry in below {
                                let weight = domain.extend(&before, &entry.weight)?;
                                sums.add(domain, entry.to, weight)?;
                            }
                        }
                    }
                }
            }
            sums.take(domain, state, &mut out);
        }
        if !given.is_empty() {
            let has_rules = |state| rules.iter().any(|(rule, _)| rule.from == state);
            let others = given.iter().filter(|entry| !has_rules(entry.from));
            out.extend(others.cloned());
            out.sort_by_key(|entry| (entry.from, entry.to));
        }
        Ok(out)
    }

    /// How symbols are popped that depend on each other.
    fn saturate<S: Store<D::Weight>>(
        &self,
        members: &[u32],
        store: &S,
    ) -> Result<Summaries<D::Weight>, StopReason> {
        let mut small = Small::new(&self.domain);
        let mut given: Vec<(Transition, D::Weight)> = Vec::new();
        let mut outside = Vec::new();
        let is_inside = |symbol: u32| members.binary_search(&symbol).is_ok();
        for &symbol in members {
            self.depends_on(symbol, &mut outside);
            for (rule, weight) in self.rules_from(symbol) {
                small.rule(*rule, weight.clone());
            }
            let seed = |entry: &Entry<D::Weight>| (entry.transition(symbol), entry.weight.clone());
            given.extend(store.given(symbol).iter().map(seed));
        }
        outside.sort_unstable();
        outside.dedup();
        for symbol in outside {
            if is_inside(symbol) {
                continue;
            }
            for entry in store.get(symbol).iter() {
                if entry.from.0 < self.control && entry.to.0 < self.control {
                    let pop = Rule {
                        from: entry.from,
                        top: SymbolId(symbol),
                        to: entry.to,
                        replace: Replace::Pop,
                        merge: None,
                    };
                    small.rule(pop, entry.weight.clone());
                } else {
                    given.push((entry.transition(symbol), entry.weight.clone()));
                }
            }
        }
        let control = |state: StateId| state.0 < self.control;
        let all = small.solve(&given, control, Direction::Forward, |pds, target| {
            prestar(&self.domain, pds, target, &self.options)
        })?;
        let mut found: Vec<_> = members.iter().map(|&symbol| (symbol, Vec::new())).collect();
        for (transition, weight) in all {
            if let Ok(at) = members.binary_search(&transition.symbol.0) {
                found[at].1.push(Entry {
                    from: transition.from,
                    to: transition.to,
                    weight,
                });
            }
        }
        Ok(found)
    }
}
