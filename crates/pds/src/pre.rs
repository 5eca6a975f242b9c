//! pre* of a weighted pushdown system (GPP, definition 5 of the FWPDS paper) by chaotic iteration
//! on the grammar of its Fig. 4, and of Fig. 8 where push rules have merge functions.
//!
//! A transition from `p` on `γ` to `q` with a weight says that `γ` can be popped from `p` on, ending
//! in `q`; the weight combines all ways to do so. pre* adds no states and no heads: those of the rules and
//! of the given automaton are all there are.

use droste_base::StopReason;

use crate::automaton::{Automaton, Direction, Transition};
use crate::by_paths;
use crate::domain::Domain;
use crate::parallel::{Mail, Worker};
use crate::saturate::{Entry, Goal, HeadNames, Lists, Method, NONE, Options, Table, Why};
use crate::system::{Item, POP, Pds, STEP, StateId, SymbolId};

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
    let table = saturate(domain, pds, &target, (options, Goal(None)))?;
    let bare = target.bare(Direction::Forward);
    let (found, _) = table.automaton(bare, target.states(), |_| true);
    Ok(found)
}

/// All transitions with their weights.
pub(crate) fn saturate<'a, D: Domain>(
    domain: &'a D,
    pds: &'a Pds<D::Weight>,
    target: &Automaton<D::Weight>,
    how: (&Options, Goal),
) -> Result<Table<'a, D>, StopReason> {
    let mut pre = Pre::new(domain, pds, target, how)?;
    while pre.go()? {}
    Ok(pre.table)
}

/// What is before the rest of a push: a step of the rule, and its callee, which ends in `ends`.
#[inline]
pub(crate) fn called<D: Domain>(
    domain: &D,
    pds: &Pds<D::Weight>,
    rule: u32,
    callee: &D::Weight,
    ends: StateId,
) -> Result<D::Weight, StopReason> {
    match pds.rules()[rule as usize].merge {
        // The callee has returned, case 5.
        Some(merge) if ends.0 < pds.returns() => domain.merge(merge, &domain.one(), callee),
        _ => domain.extend(pds.weight(rule), callee),
    }
}

/// A push rule that waits for what is behind its callee.
#[derive(Clone, Copy)]
struct Waiting {
    rule: u32,
    /// The left head of the rule.
    head: u32,
    /// The callee's transition.
    callee: u32,
}

/// pre*, on its way.
pub(crate) struct Pre<'a, D: Domain> {
    pds: &'a Pds<D::Weight>,
    pub(crate) table: Table<'a, D>,
    /// For each head, places in `behind`.
    waiting: Lists,
    behind: Vec<Waiting>,
    /// Which transitions have grown before: rules wait behind them already.
    grown: Vec<bool>,
    mail: Mail<Popped<D::Weight>>,
}

/// How a callee has been popped, for callers that others own: a head, where it leads, what is new.
pub(crate) struct Popped<W>(u32, StateId, W);

impl<D: Domain> Worker for Pre<'_, D>
where
    D::Weight: Send,
{
    type Message = Popped<D::Weight>;

    fn go(&mut self) -> Result<bool, StopReason> {
        Pre::go(self)
    }

    fn receive(&mut self, Popped(head, to, weight): Popped<D::Weight>) -> Result<(), StopReason> {
        self.table.update(head, to, Ok(weight), Why::GIVEN)?;
        Ok(())
    }

    fn mail(&mut self) -> &mut Mail<Popped<D::Weight>> {
        &mut self.mail
    }
}

impl<'a, D: Domain> Pre<'a, D> {
    pub(crate) fn new(
        domain: &'a D,
        pds: &'a Pds<D::Weight>,
        target: &Automaton<D::Weight>,
        how: (&Options, Goal),
    ) -> Result<Self, StopReason> {
        Pre::with(domain, pds, target, how, Mail::none())
    }

    /// One of several, who owns some procedures.
    pub(crate) fn with(
        domain: &'a D,
        pds: &'a Pds<D::Weight>,
        target: &Automaton<D::Weight>,
        how: (&Options, Goal),
        mail: Mail<Popped<D::Weight>>,
    ) -> Result<Self, StopReason> {
        let mut pre = Pre {
            pds,
            table: Table::new(domain, HeadNames::new(pds), Vec::new(), pds, how),
            waiting: Lists::default(),
            behind: Vec::new(),
            grown: Vec::new(),
            mail,
        };
        for (transition, weight) in target.iter() {
            if pre.is_foreign(transition.symbol) {
                continue;
            }
            let head = pre.table.names.number(transition.from, transition.symbol);
            (pre.table).update(head, transition.to, Ok(weight.clone()), Why::GIVEN)?;
        }
        for &number in pds.pops() {
            let rule = pds.rules()[number as usize];
            if !pre.is_foreign(rule.top) {
                let head = pre.table.names.number(rule.from, rule.top);
                let why = Why::new(number, NONE, NONE);
                (pre.table).update(head, rule.to, Ok(pds.weight(number).clone()), why)?;
            }
        }
        Ok(pre)
    }

    /// Handles the next transition that has grown. `false` if there is none.
    #[inline]
    pub(crate) fn go(&mut self) -> Result<bool, StopReason> {
        let Some((id, new)) = self.table.next()? else {
            return Ok(false);
        };
        self.grow(id, &new)?;
        Ok(true)
    }

    /// Whether another owns the procedure of a symbol.
    #[inline]
    fn is_foreign(&self, symbol: SymbolId) -> bool {
        self.mail.other(symbol).is_some()
    }

    /// The transitions of procedures that are owned here.
    pub(crate) fn own(self) -> (Vec<Transition>, Vec<D::Weight>) {
        let (domain, mail) = (self.table.domain, self.mail);
        self.table.into_lists(|transition, weight| {
            mail.other(transition.symbol).is_none() && !domain.is_zero(weight)
        })
    }

    /// Tells others about a callee that they call.
    fn tell(&mut self, entry: Entry, new: &D::Weight) {
        let mut told = 0u64;
        for item in self.pds.right().of(entry.head) {
            if item.second == STEP {
                continue;
            }
            let (_, caller) = self.pds.heads().get(item.head);
            if let Some(owner) = self.mail.other(caller)
                && told >> (owner % 64) & 1 == 0
            {
                told |= 1 << (owner % 64);
                let message = Popped(entry.head, entry.to, new.clone());
                self.mail.send(owner, message);
            }
        }
    }

    /// A transition has grown.
    fn grow(&mut self, id: u32, new: &D::Weight) -> Result<(), StopReason> {
        let entry = self.table.get(id);
        let (pds, domain) = (self.pds, self.table.domain);
        let foreign = self.mail.is_shared() && {
            let (_, symbol) = self.table.names.get(entry.head);
            self.is_foreign(symbol)
        };
        if self.mail.is_shared() && !foreign {
            self.tell(entry, new);
        }
        // It is the second symbol of a push whose callee ends where it starts.
        let mut place = self.waiting.start(entry.head);
        while let Some((behind, next)) = self.waiting.get(place) {
            let Waiting { rule, head, callee } = self.behind[behind as usize];
            let ends = self.table.get(callee).to;
            let before = called(domain, pds, rule, self.table.weight(callee), ends);
            let weight = before.and_then(|before| domain.extend(&before, new));
            let why = Why::new(rule, callee, id);
            self.table.update(head, entry.to, weight, why)?;
            place = next;
        }
        let place = id as usize;
        if place >= self.grown.len() {
            self.grown.resize(place + 1, false);
        }
        let first = !std::mem::replace(&mut self.grown[place], true);
        for &item in pds.right().of(entry.head) {
            match item.second {
                POP => {}
                // A step stays in its procedure.
                STEP if foreign => {}
                STEP => {
                    let weight = domain.extend(pds.weight(item.rule), new);
                    let why = Why::new(item.rule, id, NONE);
                    self.table.update(item.head, entry.to, weight, why)?;
                }
                _ if self.is_foreign(pds.heads().get(item.head).1) => {}
                _ => self.wait(item, (id, first), entry.to, new)?,
            }
        }
        Ok(())
    }

    /// The callee of a push rule has got a better weight.
    fn wait(
        &mut self,
        item: Item,
        (callee, first): (u32, bool),
        ends: StateId,
        new: &D::Weight,
    ) -> Result<(), StopReason> {
        let Some(head) = self.table.names.find(ends, SymbolId(item.second)) else {
            // No transition will ever start there.
            return Ok(());
        };
        if first {
            self.waiting.push(head, self.behind.len() as u32);
            self.behind.push(Waiting {
                rule: item.rule,
                head: item.head,
                callee,
            });
        }
        let mut behind = self.table.newest(head);
        if behind == NONE {
            return Ok(());
        }
        let domain = self.table.domain;
        let before = called(domain, self.pds, item.rule, new, ends);
        while behind != NONE {
            let weight = match &before {
                Ok(before) => domain.extend(before, self.table.weight(behind)),
                Err(reason) => Err(reason.clone()),
            };
            let to = self.table.get(behind).to;
            let why = Why::new(item.rule, callee, behind);
            self.table.update(item.head, to, weight, why)?;
            behind = self.table.before(behind);
        }
        Ok(())
    }
}
