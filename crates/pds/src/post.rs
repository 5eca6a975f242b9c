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
use crate::domain::Domain;
use crate::saturate::{Lists, NONE, Options, Table};
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
    let mut middles = Interner::new();
    let mut middle = vec![NONE; pds.rules().len()];
    for (place, rule) in middle.iter_mut().zip(pds.rules()) {
        if let Replace::Push(first, _) = rule.replace {
            let key = (rule.to, first, rule.merge.is_some());
            *place = start.states() + middles.intern(key)?.0;
        }
    }
    let states = start.states() + middles.len() as u32;
    let merges = (0..middles.len() as u32).map(|i| middles.get(i).2);
    let mut post = Post {
        pds,
        control: pds.states(),
        first_middle: start.states(),
        merges: merges.collect(),
        middle,
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
    let mut bare = Automaton::new(start.control(), Direction::Backward);
    while bare.states() < start.states() {
        bare.state();
    }
    for state in (0..start.states()).map(StateId) {
        if let Some(weight) = start.final_weight(state) {
            bare.accept(domain, state, weight.clone())?;
        }
    }
    // What is behind a call has been added for every callee that returns. To get there over the
    // state of the callee as well would go past the merge function.
    let first = start.states();
    let wanted = |t: Transition| t.symbol != SymbolId::EPSILON || t.to.0 < first;
    post.table.automaton(bare, states, wanted)
}

struct Post<'a, D: Domain> {
    pds: &'a Pds<D::Weight>,
    control: u32,
    /// The first state of a callee, and for each whether its callers merge.
    first_middle: u32,
    merges: Vec<bool>,
    /// For each push rule, the state of its callee.
    middle: Vec<u32>,
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
        if self.merges(from) {
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
                self.add(
                    Transition {
                        from: back,
                        symbol,
                        to,
                    },
                    weight,
                )?;
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
            let go_on = Transition {
                from: back,
                symbol,
                to,
            };
            if self.merges(middle) {
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
                self.add(
                    Transition {
                        from: rule.to,
                        symbol,
                        to,
                    },
                    weight,
                )?;
            }
            Replace::Step(symbol) => {
                self.add(
                    Transition {
                        from: rule.to,
                        symbol,
                        to,
                    },
                    weight,
                )?;
            }
            Replace::Push(first, second) => {
                let middle = StateId(self.middle[number as usize]);
                let entry = Transition {
                    from: rule.to,
                    symbol: first,
                    to: middle,
                };
                self.add(entry, domain.one())?;
                let behind = Transition {
                    from: middle,
                    symbol: second,
                    to,
                };
                let behind = self.add(behind, weight)?;
                if rule.merge.is_some() {
                    self.call(number, behind, new)?;
                }
            }
        }
        Ok(())
    }

    fn merges(&self, state: StateId) -> bool {
        let middle = state.0.checked_sub(self.first_middle);
        middle.is_some_and(|middle| self.merges.get(middle as usize) == Some(&true))
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
            self.add(
                Transition {
                    from: back,
                    symbol,
                    to,
                },
                weight,
            )?;
            place = next;
        }
        Ok(())
    }
}
