//! pre* of a weighted pushdown system (GPP, definition 5 of the FWPDS paper) by chaotic iteration
//! on the grammar of its Fig. 4, and of Fig. 8 where push rules have merge functions.
//!
//! A transition from `p` on `γ` to `q` with a weight says that `γ` can be popped from `p` on, ending
//! in `q`; the weight combines all ways to do so. No states are added.

use droste_base::StopReason;
use droste_base::interner::Interner;

use crate::automaton::{Automaton, Direction, Transition};
use crate::by_paths;
use crate::domain::Domain;
use crate::saturate::{Lists, Method, Options, Table};
use crate::system::{Pds, Replace, Rule, StateId, SymbolId};

/// The automaton of all configurations from which those of `to` can be reached, with the combined
/// weights of all paths, each before the weight of its last configuration.
pub fn prestar<D: Domain>(
    domain: &D,
    pds: &Pds<D::Weight>,
    to: &Automaton<D::Weight>,
    options: &Options,
) -> Result<Automaton<D::Weight>, StopReason> {
    let target = to.normalised(domain)?;
    if options.method == Method::Paths {
        return by_paths::prestar(domain, pds, &target, options);
    }
    let table = saturate(domain, pds, &target, options)?;
    let bare = target.bare(Direction::Forward);
    table.automaton(bare, target.states(), |_| true)
}

/// All transitions with their weights.
pub(crate) fn saturate<'a, D: Domain>(
    domain: &'a D,
    pds: &'a Pds<D::Weight>,
    target: &Automaton<D::Weight>,
    options: &Options,
) -> Result<Table<'a, D>, StopReason> {
    let mut pre = Pre {
        pds,
        table: Table::new(domain, options),
        heads: Interner::new(),
        leaving: Lists::default(),
        waiting: Lists::default(),
        grown: Vec::new(),
    };
    for (transition, weight) in target.iter() {
        pre.add(transition, weight.clone())?;
    }
    for (number, rule) in (0..).zip(pds.rules()) {
        if rule.replace == Replace::Pop {
            let pops = Transition::new(rule.from, rule.top, rule.to);
            pre.add(pops, pds.weight(number).clone())?;
        }
    }
    while let Some((id, new)) = pre.table.next()? {
        pre.grow(id, &new)?;
    }
    Ok(pre.table)
}

/// What is before the rest of a push: a step of the rule, and its callee, which ends in `ends`.
pub(crate) fn called<D: Domain>(
    domain: &D,
    pds: &Pds<D::Weight>,
    rule: u32,
    callee: &D::Weight,
    ends: StateId,
) -> Result<D::Weight, StopReason> {
    match pds.rules()[rule as usize].merge {
        // The callee has returned, case 5.
        Some(merge) if ends.0 < pds.states() => domain.merge(merge, &domain.one(), callee),
        _ => domain.extend(pds.weight(rule), callee),
    }
}

struct Pre<'a, D: Domain> {
    pds: &'a Pds<D::Weight>,
    table: Table<'a, D>,
    /// Pairs of a state and a symbol: where transitions leave, and where rules wait for them.
    heads: Interner<(StateId, SymbolId)>,
    /// For each head, the transitions that leave it.
    leaving: Lists,
    /// For each head, twice: the rule that waits, and the transition of its callee.
    waiting: Lists,
    /// Which transitions have grown before: rules wait behind them already.
    grown: Vec<bool>,
}

impl<D: Domain> Pre<'_, D> {
    fn add(&mut self, transition: Transition, weight: D::Weight) -> Result<(), StopReason> {
        let Transition { from, symbol, to } = transition;
        let (id, fresh) = self.table.update(from, symbol, to, weight)?;
        if fresh {
            let (head, _) = self.heads.intern((from, symbol))?;
            self.leaving.push(head, id);
        }
        Ok(())
    }

    /// A transition has grown.
    fn grow(&mut self, id: u32, new: &D::Weight) -> Result<(), StopReason> {
        let Transition { from, symbol, to } = self.table.name(id);
        let (pds, domain) = (self.pds, self.table.domain);
        // It is the second symbol of a push whose callee ends in `from`.
        let (head, _) = self.heads.intern((from, symbol))?;
        let mut place = self.waiting.start(head);
        while let Some((rule, next)) = self.waiting.get(place) {
            let Some((callee, next)) = self.waiting.get(next) else {
                break;
            };
            let before = called(domain, pds, rule, self.table.weight(callee), from)?;
            let weight = domain.extend(&before, new)?;
            let Rule { from, top, .. } = pds.rules()[rule as usize];
            self.add(Transition::new(from, top, to), weight)?;
            place = next;
        }
        let place = id as usize;
        if place >= self.grown.len() {
            self.grown.resize(place + 1, false);
        }
        let first = !std::mem::replace(&mut self.grown[place], true);
        for &number in pds.into(from, symbol) {
            let rule = pds.rules()[number as usize];
            match rule.replace {
                Replace::Pop => {}
                Replace::Step(_) => {
                    let weight = domain.extend(pds.weight(number), new)?;
                    let step = Transition::new(rule.from, rule.top, to);
                    self.add(step, weight)?;
                }
                Replace::Push(_, second) => self.wait((number, first), id, second, new)?,
            }
        }
        Ok(())
    }

    /// The callee of a push rule has got a better weight.
    fn wait(
        &mut self,
        (number, first): (u32, bool),
        callee: u32,
        second: SymbolId,
        new: &D::Weight,
    ) -> Result<(), StopReason> {
        let ends = self.table.name(callee).to;
        let before = called(self.table.domain, self.pds, number, new, ends)?;
        let (head, _) = self.heads.intern((ends, second))?;
        if first {
            // The rule is read first.
            self.waiting.push(head, callee);
            self.waiting.push(head, number);
        }
        let Rule { from, top, .. } = self.pds.rules()[number as usize];
        let mut place = self.leaving.start(head);
        while let Some((behind, next)) = self.leaving.get(place) {
            let weight = self
                .table
                .domain
                .extend(&before, self.table.weight(behind))?;
            let to = self.table.name(behind).to;
            self.add(Transition::new(from, top, to), weight)?;
            place = next;
        }
        Ok(())
    }
}
