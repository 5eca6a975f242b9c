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

use crate::automaton::{Automaton, Direction, Transition};
use crate::by_paths;
use crate::calls::Calls;
use crate::domain::Domain;
use crate::parallel::{Mail, Worker};
use crate::saturate::{Goal, HeadNames, Lists, Method, NONE, Options, Table, Why};
use crate::system::{Item, POP, Pds, STEP, StateId, SymbolId};

/// The automaton of all configurations that are reachable from those of `from`, with the combined
/// weights of all paths to them, each after the weight of its first configuration.
pub fn poststar<D: Domain>(
    domain: &D,
    pds: &Pds<D::Weight>,
    from: &Automaton<D::Weight>,
    options: &Options,
) -> Result<Automaton<D::Weight>, StopReason> {
    let start = from.normalised(domain)?;
    let middles = Middles::new(pds, start.states());
    if options.method == Method::Paths {
        let found = by_paths::poststar(domain, pds, &start, middles, options)?;
        return Ok(found.trimmed());
    }
    let table = saturate(domain, pds, &start, middles, (options, Goal(None)))?;
    let bare = start.bare(Direction::Backward);
    let (found, all) = table.automaton(bare, middles.states(), |t| middles.is_wanted(t));
    // A transition leads on to a final state if the one that it was made of does. So there is nothing to
    // trim, unless the given automaton was not trim, or a weight is zero.
    Ok(if all && start.is_trim() {
        found
    } else {
        found.trimmed()
    })
}

/// [`poststar`] by chaotic iteration, which is over when somebody has seen enough. Now and then, and
/// more rarely as time goes by, `enough` is shown what has been found so far; weights only grow. The
/// answer is what had been found in the end.
pub fn poststar_until<D: Domain>(
    domain: &D,
    pds: &Pds<D::Weight>,
    from: &Automaton<D::Weight>,
    options: &Options,
    mut enough: impl FnMut(&Automaton<D::Weight>) -> Result<bool, StopReason>,
) -> Result<Automaton<D::Weight>, StopReason> {
    let start = from.normalised(domain)?;
    let middles = Middles::new(pds, start.states());
    let mut post = Post::new(domain, pds, &start, middles, (options, Goal(None)))?;
    let (mut steps, mut next) = (0u64, FIRST_LOOK);
    let whole = |all: &mut dyn Iterator<Item = (Transition, D::Weight)>| {
        let mut found = start.bare(Direction::Backward);
        while found.states() < middles.states() {
            found.state();
        }
        found.fill(all.filter(|(transition, weight)| {
            middles.is_wanted(*transition) && !domain.is_zero(weight)
        }));
        found.trimmed()
    };
    while post.go()? {
        steps += 1;
        if steps == next {
            next *= 2;
            let table = &post.table;
            let ids = 0..table.len() as u32;
            let mut all = ids.map(|id| (table.name(id), table.weight(id).clone()));
            let so_far = whole(&mut all);
            if enough(&so_far)? {
                return Ok(so_far);
            }
        }
    }
    let (transitions, weights) = post.table.into_lists(|_, _| true);
    Ok(whole(&mut transitions.into_iter().zip(weights)))
}

/// After how many steps [`poststar_until`] shows something for the first time.
const FIRST_LOOK: u64 = 256;

/// The states of callees.
#[derive(Clone, Copy)]
pub(crate) struct Middles<'a> {
    /// The first of them.
    pub(crate) first: u32,
    calls: &'a Calls,
}

impl<'a> Middles<'a> {
    pub(crate) fn new<W>(pds: &'a Pds<W>, first: u32) -> Self {
        Middles {
            first,
            calls: pds.calls(),
        }
    }

    pub(crate) fn states(&self) -> u32 {
        self.first + self.calls.states()
    }

    #[inline]
    pub(crate) fn of(&self, item: usize) -> StateId {
        StateId(self.first + self.calls.of(item))
    }

    #[inline]
    pub(crate) fn merges(&self, state: StateId) -> bool {
        let middle = state.0.checked_sub(self.first);
        middle.is_some_and(|middle| self.calls.merges(middle))
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
    middles: Middles<'a>,
    how: (&Options, Goal),
) -> Result<Table<'a, D>, StopReason> {
    let mut post = Post::new(domain, pds, start, middles, how)?;
    while post.go()? {}
    Ok(post.table)
}

/// post*, on its way.
pub(crate) struct Post<'a, D: Domain> {
    pds: &'a Pds<D::Weight>,
    control: u32,
    middles: Middles<'a>,
    pub(crate) table: Table<'a, D>,
    /// For each state that is no control state: the transitions that leave it.
    leaving: Lists,
    /// For each such state: the epsilon transitions that lead there.
    returned: Lists,
    /// For each transition behind a call: places in `before`.
    callers: Lists,
    /// Rules with a merge function, the transition of the caller, and the weight before the call.
    before: Vec<(u32, u32, D::Weight)>,
    mail: Mail<Letter<D::Weight>>,
    /// For each callee that others call, a bit for each of them. They are told its summaries.
    told: Vec<u64>,
}

/// What one of several has found.
pub(crate) struct Own<W> {
    /// What nobody else has.
    pub(crate) transitions: (Vec<Transition>, Vec<W>),
    /// What others may have, too.
    pub(crate) others: Vec<(Transition, W)>,
    /// Whether none has the weight zero.
    pub(crate) all: bool,
}

/// What concerns a procedure of another owner.
pub(crate) enum Letter<W> {
    /// Somebody calls for the first time: a push rule, by its place among the rules sorted by
    /// left-hand sides, and the number of who calls.
    Call(u32, u32),
    /// A callee that the reader calls has returned: to which control state, the state of the callee,
    /// and what is new about the summary.
    Return(StateId, StateId, W),
    /// A transition of one of the reader's procedures. It comes from the given automaton, which is
    /// below all procedures.
    Below(Transition, W),
}

impl<D: Domain> Worker for Post<'_, D>
where
    D::Weight: Send,
{
    type Message = Letter<D::Weight>;

    fn go(&mut self) -> Result<bool, StopReason> {
        Post::go(self)
    }

    fn receive(&mut self, letter: Letter<D::Weight>) -> Result<(), StopReason> {
        match letter {
            Letter::Call(place, caller) => self.called_by(place as usize, caller),
            Letter::Return(back, middle, summary) => {
                let head = self.table.names.epsilon(back);
                let (id, fresh) = (self.table).update(head, middle, Ok(summary), Why::GIVEN)?;
                if fresh {
                    self.returned.push(middle.0, id);
                }
                Ok(())
            }
            Letter::Below(Transition { from, symbol, to }, weight) => {
                let head = self.table.names.number(from, symbol);
                self.table.update(head, to, Ok(weight), Why::GIVEN)?;
                Ok(())
            }
        }
    }

    fn mail(&mut self) -> &mut Mail<Letter<D::Weight>> {
        &mut self.mail
    }
}

impl<'a, D: Domain> Post<'a, D> {
    pub(crate) fn new(
        domain: &'a D,
        pds: &'a Pds<D::Weight>,
        start: &Automaton<D::Weight>,
        middles: Middles<'a>,
        how: (&Options, Goal),
    ) -> Result<Self, StopReason> {
        Post::with(domain, pds, start, middles, how, Mail::none())
    }

    /// One of several, who owns some procedures.
    pub(crate) fn with(
        domain: &'a D,
        pds: &'a Pds<D::Weight>,
        start: &Automaton<D::Weight>,
        middles: Middles<'a>,
        how: (&Options, Goal),
        mail: Mail<Letter<D::Weight>>,
    ) -> Result<Self, StopReason> {
        let names = HeadNames::with_calls(pds, middles.first);
        let given = vec![0; middles.first as usize];
        let callees = given.into_iter().chain(pds.calls().callees()).collect();
        let mut post = Post {
            pds,
            control: pds.states(),
            middles,
            table: Table::new(domain, names, callees, pds, how),
            leaving: Lists::default(),
            returned: Lists::default(),
            callers: Lists::default(),
            before: Vec::new(),
            mail,
            told: Vec::new(),
        };
        for (Transition { from, symbol, to }, weight) in start.iter() {
            // What is below is known to all.
            if from.0 < post.control && post.owner(symbol).is_some() {
                continue;
            }
            let head = post.table.names.number(from, symbol);
            let (id, fresh) = post
                .table
                .update(head, to, Ok(weight.clone()), Why::GIVEN)?;
            if fresh && from.0 >= post.control {
                post.leaving.push(from.0, id);
            }
        }
        Ok(post)
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

    /// The owner of the procedure of a symbol, if it is another.
    #[inline]
    fn owner(&self, symbol: SymbolId) -> Option<u32> {
        self.mail.other(symbol)
    }

    /// The transitions with their weights.
    pub(crate) fn own(self) -> Own<D::Weight> {
        let (middles, domain) = (self.middles, self.table.domain);
        let given = self.control..middles.first;
        let (mut all, mut others) = (true, Vec::new());
        let transitions = self.table.into_lists(|transition, weight| {
            let zero = domain.is_zero(weight);
            all &= !zero;
            if zero || !middles.is_wanted(transition) {
                return false;
            }
            let below = given.contains(&transition.from.0);
            let shared = below || transition.symbol == SymbolId::EPSILON;
            if shared {
                others.push((transition, weight.clone()));
            }
            !shared
        });
        Own {
            transitions,
            others,
            all,
        }
    }

    /// Others call a callee, for the first time: they want to know when it returns.
    fn called_by(&mut self, place: usize, caller: u32) -> Result<(), StopReason> {
        let middle = self.middles.of(place);
        let head = self.pds.left().items[place].head;
        let one = self.table.domain.one();
        self.table.update(head, middle, Ok(one), Why::GIVEN)?;
        let callee = (middle.0 - self.middles.first) as usize;
        if callee >= self.told.len() {
            self.told.resize(callee + 1, 0);
        }
        self.told[callee] |= 1 << caller;
        let mut place = self.returned.start(middle.0);
        while let Some((returned, next)) = self.returned.get(place) {
            let (back, _) = self.table.names.get(self.table.get(returned).head);
            let summary = self.table.weight(returned).clone();
            self.mail
                .send(caller, Letter::Return(back, middle, summary));
            place = next;
        }
        Ok(())
    }

    /// Tells others who call a callee that it has returned.
    fn tell(&mut self, back: StateId, middle: StateId, summary: &D::Weight) {
        let callee = middle.0.checked_sub(self.middles.first);
        let told = callee.and_then(|callee| self.told.get(callee as usize));
        let mut rest = told.copied().unwrap_or(0);
        while rest != 0 {
            let letter = Letter::Return(back, middle, summary.clone());
            self.mail.send(rest.trailing_zeros(), letter);
            rest &= rest - 1;
        }
    }

    /// The transitions that leave a state which is no control state.
    pub(crate) fn leaving(&self, state: StateId) -> impl Iterator<Item = u32> {
        let mut place = self.leaving.start(state.0);
        std::iter::from_fn(move || {
            let (id, next) = self.leaving.get(place)?;
            place = next;
            Some(id)
        })
    }

    /// A transition has grown.
    fn grow(&mut self, id: u32, new: &D::Weight) -> Result<(), StopReason> {
        let entry = self.table.get(id);
        let pds = self.pds;
        let range = pds.left().range(entry.head);
        for place in range {
            self.fire(place, pds.left().items[place], id, entry.to, new)?;
        }
        if entry.head < pds.heads().len() {
            return Ok(());
        }
        let (from, symbol) = self.table.names.get(entry.head);
        if symbol == SymbolId::EPSILON {
            self.tell(from, entry.to, new);
            return self.go_on_behind(id, from, entry.to, new);
        }
        if from.0 >= self.control {
            // Callees that have returned go on here. What merge functions do has been done for each
            // rule.
            let mut place = self.returned.start(from.0);
            while let Some((returned, next)) = self.returned.get(place) {
                if !self.is_merged(from, returned) {
                    let weight = (self.table.domain).extend(new, self.table.weight(returned));
                    self.go_on(id, returned, (from, symbol), weight)?;
                }
                place = next;
            }
        }
        Ok(())
    }

    /// Whether a merge function says what becomes of a callee that has left its state.
    fn is_merged(&self, middle: StateId, returned: u32) -> bool {
        let (back, _) = self.table.names.get(self.table.get(returned).head);
        self.middles.merges(middle) && back.0 < self.pds.returns()
    }

    /// A callee that has returned goes on behind its call, where there is this symbol.
    fn go_on(
        &mut self,
        behind: u32,
        returned: u32,
        (middle, symbol): (StateId, SymbolId),
        weight: Result<D::Weight, StopReason>,
    ) -> Result<(), StopReason> {
        let (back, _) = self.table.names.get(self.table.get(returned).head);
        let to = self.table.get(behind).to;
        // What is behind a call is in the caller's procedure, whose owner is here.
        if middle.0 < self.middles.first
            && let Some(owner) = self.owner(symbol)
        {
            let letter = Letter::Below(Transition::new(back, symbol, to), weight?);
            self.mail.send(owner, letter);
            return Ok(());
        }
        let head = self.table.names.number(back, symbol);
        let why = Why::new(NONE, behind, returned);
        self.table.update(head, to, weight, why)?;
        Ok(())
    }

    /// A callee has returned to `back` with this summary: whoever has called `middle` goes on.
    fn go_on_behind(
        &mut self,
        returned: u32,
        back: StateId,
        middle: StateId,
        summary: &D::Weight,
    ) -> Result<(), StopReason> {
        let merges = self.is_merged(middle, returned);
        let mut place = self.leaving.start(middle.0);
        while let Some((behind, next)) = self.leaving.get(place) {
            let (_, symbol) = self.table.names.get(self.table.get(behind).head);
            if merges {
                self.merge_all(behind, ((back, symbol), returned), summary)?;
            } else {
                let weight = (self.table.domain).extend(self.table.weight(behind), summary);
                self.go_on(behind, returned, (middle, symbol), weight)?;
            }
            place = next;
        }
        Ok(())
    }

    /// What merge functions make of a summary, at one place behind a call.
    fn merge_all(
        &mut self,
        behind: u32,
        ((back, symbol), returned): ((StateId, SymbolId), u32),
        summary: &D::Weight,
    ) -> Result<(), StopReason> {
        let to = self.table.get(behind).to;
        let head = self.table.names.number(back, symbol);
        let mut place = self.callers.start(behind);
        while let Some((record, next)) = self.callers.get(place) {
            let (rule, caller, before) = &self.before[record as usize];
            if let Some(merge) = self.pds.rules()[*rule as usize].merge {
                let weight = self.table.domain.merge(merge, before, summary);
                let why = Why::new(*rule, *caller, returned);
                self.table.update(head, to, weight, why)?;
            }
            place = next;
        }
        Ok(())
    }

    /// A rule is applied to what is new about a transition that leads to `to`.
    #[inline]
    fn fire(
        &mut self,
        place: usize,
        item: Item,
        id: u32,
        to: StateId,
        new: &D::Weight,
    ) -> Result<(), StopReason> {
        let domain = self.table.domain;
        let weight = domain.extend(new, self.pds.weight(item.rule));
        let why = Why::new(item.rule, id, NONE);
        match item.second {
            STEP => {
                self.table.update(item.head, to, weight, why)?;
            }
            POP => {
                let head = self.table.names.epsilon(StateId(item.head));
                let (returned, fresh) = self.table.update(head, to, weight, why)?;
                if fresh {
                    self.returned.push(to.0, returned);
                }
            }
            _ => self.push(place, (item, id), to, (new, weight))?,
        }
        Ok(())
    }

    /// A push rule is applied to what is new about the transition `id`, which leads to `to`. The
    /// weight is that behind the call.
    #[inline]
    fn push(
        &mut self,
        place: usize,
        (item, id): (Item, u32),
        to: StateId,
        (new, weight): (&D::Weight, Result<D::Weight, StopReason>),
    ) -> Result<(), StopReason> {
        let middle = self.middles.of(place);
        if self.leaving.start(middle.0) == NONE {
            self.enter(place, item, middle)?;
        }
        let site = self.table.names.site(place);
        let why = Why::new(item.rule, id, NONE);
        let (behind, fresh) = self.table.update(site, to, weight, why)?;
        if fresh {
            self.leaving.push(middle.0, behind);
        }
        if self.middles.merges(middle) {
            self.call((item.rule, id), (middle, behind), new)?;
        }
        Ok(())
    }

    /// A callee is called for the first time.
    fn enter(&mut self, place: usize, item: Item, middle: StateId) -> Result<(), StopReason> {
        let (_, entry) = self.pds.heads().get(item.head);
        if let Some(owner) = self.owner(entry) {
            let letter = Letter::Call(place as u32, self.mail.me());
            self.mail.send(owner, letter);
        } else {
            let one = self.table.domain.one();
            self.table.update(item.head, middle, Ok(one), Why::GIVEN)?;
        }
        Ok(())
    }

    /// A call whose rule has a merge function, with what is new about the weight before it.
    fn call(
        &mut self,
        (rule, caller): (u32, u32),
        (middle, behind): (StateId, u32),
        new: &D::Weight,
    ) -> Result<(), StopReason> {
        let Some(merge) = self.pds.rules()[rule as usize].merge else {
            return Ok(());
        };
        let domain = self.table.domain;
        let mut place = self.callers.start(behind);
        let mut known = None;
        while let Some((record, next)) = self.callers.get(place) {
            let (other, transition, _) = self.before[record as usize];
            if (other, transition) == (rule, caller) {
                known = Some(record);
            }
            place = next;
        }
        if let Some(record) = known {
            let (_, _, before) = &mut self.before[record as usize];
            *before = domain.combine(before, new)?;
        } else {
            self.callers.push(behind, self.before.len() as u32);
            self.before.push((rule, caller, new.clone()));
        }
        // Callees that have returned already.
        let symbol = self.table.names.get(self.table.get(behind).head).1;
        let mut place = self.returned.start(middle.0);
        while let Some((returned, next)) = self.returned.get(place) {
            if self.is_merged(middle, returned) {
                let back = self.table.names.get(self.table.get(returned).head).0;
                let weight = domain.merge(merge, new, self.table.weight(returned));
                let why = Why::new(rule, caller, returned);
                let to = self.table.get(behind).to;
                let head = self.table.names.number(back, symbol);
                self.table.update(head, to, weight, why)?;
            }
            place = next;
        }
        Ok(())
    }
}
