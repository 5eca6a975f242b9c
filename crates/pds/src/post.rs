//! post* of a weighted pushdown system (GPS, definition 5 of the FWPDS paper) by chaotic
//! iteration.
//!
//! The automaton of the configurations is saturated. A state `(p′, γ′)` is added for every push
//! rule `⟨p, γ⟩ → ⟨p′, γ′ γ″⟩`: the transition from `p′` on `γ′` leads there, and all calls of
//! `⟨p′, γ′⟩` share it. An epsilon transition from `p` to such a state says that the callee has
//! returned to `p`; its weight is the callee's summary. Where a merge function wants the weight
//! before the call (section 3.3), the transition `(p′, γ′) —γ″→ q` remembers it for each rule. Calls
//! with a merge function have states of their own, so that what is behind a call is either merged
//! or extended.

use droste_base::StopReason;
use droste_base::interner::Interner;

use crate::automaton::{Automaton, Direction, Transition};
use crate::by_paths;
use crate::domain::Domain;
use crate::saturate::{Lists, Method, NONE, Options, Table};
use crate::system::{Pds, Replace, StateId, SymbolId};

/// The automaton of all configurations that are reachable from those of `from`, with the combined
/// weights of all paths to them, each after the weight of its first configuration.
pub fn poststar<D: Domain>(
    domain: &D,
    pds: &Pds<D::Weight>,
    from: &Automaton<D::Weight>,
    options: &Options,
) -> Result<Automaton<D::Weight>, StopReason> {
    let start = from.normalised(domain)?;
    let middles = Middles::new(pds, start.states())?;
    if options.method == Method::Paths {
        let found = by_paths::poststar(domain, pds, &start, &middles, options)?;
        return Ok(found.trimmed());
    }
    let table = saturate(domain, pds, &start, &middles, options)?;
    let bare = start.bare(Direction::Backward);
    let found = table.automaton(bare, middles.states(), |t| middles.is_wanted(t))?;
    Ok(found.trimmed())
}

/// The states of callees.
pub(crate) struct Middles {
    /// The first of them.
    pub(crate) first: u32,
    /// For each, whether its callers merge.
    merges: Vec<bool>,
    /// For each push rule, the state of its callee.
    of_rule: Vec<u32>,
}

impl Middles {
    fn new<W>(pds: &Pds<W>, first: u32) -> Result<Self, StopReason> {
        let mut keys = Interner::new();
        let mut of_rule = vec![NONE; pds.rules().len()];
        for (place, rule) in of_rule.iter_mut().zip(pds.rules()) {
            if let Replace::Push(top, _) = rule.replace {
                let key = (rule.to, top, rule.merge.is_some());
                *place = first + keys.intern(key)?.0;
            }
        }
        let merges = (0..keys.len() as u32).map(|i| keys.get(i).2);
        Ok(Middles {
            first,
            merges: merges.collect(),
            of_rule,
        })
    }

    pub(crate) fn states(&self) -> u32 {
        self.first + self.merges.len() as u32
    }

    #[inline]
    pub(crate) fn of(&self, rule: u32) -> StateId {
        StateId(self.of_rule[rule as usize])
    }

    #[inline]
    pub(crate) fn merges(&self, state: StateId) -> bool {
        let middle = state.0.checked_sub(self.first);
        middle.is_some_and(|middle| self.merges.get(middle as usize) == Some(&true))
    }

    /// What is behind a call has been added for every callee that returns. To get there over the
    /// state of the callee as well would go past the merge function.
    pub(crate) fn is_wanted(&self, t: Transition) -> bool {
        t.symbol != SymbolId::EPSILON || t.to.0 < self.first
    }
}

/// All transitions with their weights.
pub(crate) fn saturate<'a, D: Domain>(
    domain: &'a D,
    pds: &'a Pds<D::Weight>,
    start: &Automaton<D::Weight>,
    middles: &'a Middles,
    options: &Options,
) -> Result<Table<'a, D>, StopReason> {
    let mut post = Post {
        pds,
        control: pds.states(),
        middles,
        table: Table::new(domain, options),
        leaving: Lists::default(),
        returned: Lists::default(),
        callers: Lists::default(),
        before: Vec::new(),
    };
    for (transition, weight) in start.iter() {
        post.add(transition, weight.clone())?;
    }
    while let Some((id, new)) = post.table.next()? {
        post.grow(id, &new)?;
    }
    Ok(post.table)
}

struct Post<'a, D: Domain> {
    pds: &'a Pds<D::Weight>,
    control: u32,
    middles: &'a Middles,
    table: Table<'a, D>,
    /// For each state that is no control state: the transitions that leave it.
    leaving: Lists,
    /// For each such state: the epsilon transitions that lead there.
    returned: Lists,
    /// For each transition behind a call: places in `before`.
    callers: Lists,
    /// Rules with a merge function, and the weight before the call.
    before: Vec<(u32, D::Weight)>,
}

impl<D: Domain> Post<'_, D> {
    /// Combines a transition's weight with another, and puts it on the lists if it is new.
    fn add(&mut self, transition: Transition, weight: D::Weight) -> Result<u32, StopReason> {
        let Transition { from, symbol, to } = transition;
        let (id, fresh) = self.table.update(from, symbol, to, weight)?;
        if fresh {
            if symbol == SymbolId::EPSILON {
                self.returned.push(to.0, id);
            } else if from.0 >= self.control {
                self.leaving.push(from.0, id);
            }
        }
        Ok(id)
    }

    /// A transition has grown.
    fn grow(&mut self, id: u32, new: &D::Weight) -> Result<(), StopReason> {
        let Transition { from, symbol, to } = self.table.name(id);
        if self.middles.merges(from) {
            // That has been done for each rule.
            return Ok(());
        }
        if from.0 >= self.control {
            // Callees that have returned go on here.
            let mut place = self.returned.start(from.0);
            while let Some((returned, next)) = self.returned.get(place) {
                let summary = self.table.weight(returned).clone();
                let back = self.table.name(returned).from;
                let weight = self.table.domain.extend(new, &summary)?;
                self.add(Transition::new(back, symbol, to), weight)?;
                place = next;
            }
            return Ok(());
        }
        if symbol == SymbolId::EPSILON {
            return self.go_on_behind(from, to, new);
        }
        let pds = self.pds;
        for &rule in pds.from(from, symbol) {
            self.fire(rule, to, new)?;
        }
        Ok(())
    }

    /// A callee has returned to `back` with this summary: whoever has called `middle` goes on.
    fn go_on_behind(
        &mut self,
        back: StateId,
        middle: StateId,
        summary: &D::Weight,
    ) -> Result<(), StopReason> {
        let mut place = self.leaving.start(middle.0);
        while let Some((behind, next)) = self.leaving.get(place) {
            let Transition { symbol, to, .. } = self.table.name(behind);
            let go_on = Transition::new(back, symbol, to);
            if self.middles.merges(middle) {
                self.merge_all(behind, go_on, summary)?;
            } else {
                let weight = self
                    .table
                    .domain
                    .extend(self.table.weight(behind), summary)?;
                self.add(go_on, weight)?;
            }
            place = next;
        }
        Ok(())
    }

    /// What merge functions make of a summary, at one place behind a call.
    fn merge_all(
        &mut self,
        behind: u32,
        go_on: Transition,
        summary: &D::Weight,
    ) -> Result<(), StopReason> {
        let mut place = self.callers.start(behind);
        while let Some((record, next)) = self.callers.get(place) {
            let (rule, before) = &self.before[record as usize];
            if let Some(merge) = self.pds.rules()[*rule as usize].merge {
                let weight = self.table.domain.merge(merge, before, summary)?;
                self.add(go_on, weight)?;
            }
            place = next;
        }
        Ok(())
    }

    /// A rule is applied to what is new about a transition that leads to `to`.
    fn fire(&mut self, number: u32, to: StateId, new: &D::Weight) -> Result<(), StopReason> {
        let rule = self.pds.rules()[number as usize];
        let domain = self.table.domain;
        let weight = domain.extend(new, self.pds.weight(number))?;
        match rule.replace {
            Replace::Pop => {
                let symbol = SymbolId::EPSILON;
                self.add(Transition::new(rule.to, symbol, to), weight)?;
            }
            Replace::Step(symbol) => {
                self.add(Transition::new(rule.to, symbol, to), weight)?;
            }
            Replace::Push(first, second) => {
                let middle = self.middles.of(number);
                let entry = Transition::new(rule.to, first, middle);
                self.add(entry, domain.one())?;
                let behind = Transition::new(middle, second, to);
                let behind = self.add(behind, weight)?;
                if rule.merge.is_some() {
                    self.call(number, behind, new)?;
                }
            }
        }
        Ok(())
    }

    /// A call whose rule has a merge function, with what is new about the weight before it.
    fn call(&mut self, rule: u32, behind: u32, new: &D::Weight) -> Result<(), StopReason> {
        let Some(merge) = self.pds.rules()[rule as usize].merge else {
            return Ok(());
        };
        let domain = self.table.domain;
        let mut place = self.callers.start(behind);
        let mut known = None;
        while let Some((record, next)) = self.callers.get(place) {
            if self.before[record as usize].0 == rule {
                known = Some(record);
            }
            place = next;
        }
        if let Some(record) = known {
            let (_, before) = &mut self.before[record as usize];
            *before = domain.combine(before, new)?;
        } else {
            self.callers.push(behind, self.before.len() as u32);
            self.before.push((rule, new.clone()));
        }
        // Callees that have returned already.
        let Transition { from, symbol, to } = self.table.name(behind);
        let mut place = self.returned.start(from.0);
        while let Some((returned, next)) = self.returned.get(place) {
            let back = self.table.name(returned).from;
            let weight = domain.merge(merge, new, self.table.weight(returned))?;
            self.add(Transition::new(back, symbol, to), weight)?;
            place = next;
        }
        Ok(())
    }
}
