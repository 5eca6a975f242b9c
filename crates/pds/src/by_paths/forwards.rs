//! post* by path expressions. A callee's state and the transitions that lead there depend on the
//! callee alone: they are a piece, or a part of one. What leads to the states of the given automaton
//! is the last piece.

use droste_base::{Guard, StopReason};

use super::{Label, LazyAutomaton, Piece, Solution, Wanted};
use crate::automaton::{Automaton, Direction, Transition};
use crate::domain::Domain;
use crate::post::Middles;
use crate::saturate::{HeadNames, Lists, NONE, Options};
use crate::system::{POP, Pds, Replace, STEP, StateId, SymbolId};
use crate::weighing::{Path, Side};

struct Forwards<'a, 's, D: Domain> {
    solution: Solution<'a, 's, D>,
    middles: Middles<'a>,
    /// For each state of a callee, whether it has been entered.
    entered: Vec<bool>,
    /// For each state that is no control state: the epsilon transitions that lead there.
    returned: Lists,
    /// For each such state, the transitions that leave it.
    leaving: Lists,
    /// For each such state, places in `merges`.
    merging: Lists,
    /// Rules with merge functions, and the transitions before the call.
    merges: Vec<(u32, u32)>,
}

/// The automaton of all that is reachable, with its weights.
pub(crate) fn poststar<D: Domain>(
    domain: &D,
    pds: &Pds<D::Weight>,
    start: &Automaton<D::Weight>,
    middles: Middles<'_>,
    options: &Options,
) -> Result<Automaton<D::Weight>, StopReason> {
    let skeleton = pds.skeleton();
    let names = HeadNames::with_calls(pds, middles.first);
    let how = (options, Wanted::All);
    let solution = Solution::new(domain, (pds, &skeleton), names, Side::Right, how);
    let found = Forwards::new(solution, middles).run(start, options)?;
    let bare = start.bare(Direction::Backward);
    Ok(found.automaton(bare, middles.states(), |t| middles.is_wanted(t)))
}

/// The same with lazy weights; or, if there is a goal, which is an epsilon transition, only what that
/// needs.
pub(crate) fn forwards<'a, D: Domain>(
    domain: &'a D,
    pds: &'a Pds<D::Weight>,
    start: &Automaton<D::Weight>,
    goal: Option<Transition>,
    options: &Options,
) -> Result<LazyAutomaton<'a, D>, StopReason> {
    let skeleton = pds.skeleton();
    let middles = Middles::new(pds, start.states());
    let names = HeadNames::with_calls(pds, middles.first);
    let how = (options, goal.map_or(Wanted::Later, Wanted::Only));
    let solution = Solution::new(domain, (pds, &skeleton), names, Side::Right, how);
    let found = Forwards::new(solution, middles).run(start, options)?;
    let mut bare = start.bare(Direction::Backward);
    while bare.states() < middles.states() {
        bare.state();
    }
    Ok(LazyAutomaton::new(found, bare, middles.first, options))
}

impl<'a, 's, D: Domain> Forwards<'a, 's, D> {
    fn new(solution: Solution<'a, 's, D>, middles: Middles<'a>) -> Self {
        Forwards {
            solution,
            entered: vec![false; (middles.states() - middles.first) as usize],
            middles,
            returned: Lists::default(),
            leaving: Lists::default(),
            merging: Lists::default(),
            merges: Vec::new(),
        }
    }

    fn run(
        mut self,
        start: &Automaton<D::Weight>,
        options: &Options,
    ) -> Result<Solution<'a, 's, D>, StopReason> {
        let mut guard = options.limits.guard();
        let control = self.solution.pds.states();
        // It comes after all parts of the call graph.
        let mut last = Piece::new(u32::MAX);
        for (Transition { from, symbol, to }, weight) in start.iter() {
            let head = self.solution.table.names.number(from, symbol);
            let path = Path::copied(self.solution.domain, &self.solution.one, weight);
            let linked = (self.solution).link(&mut last, None, (head, to), Label::Known(path))?;
            if let Some((id, true)) = linked
                && from.0 >= control
            {
                self.leaving.push(from.0, id);
            }
        }
        // A piece waits for those above it: callees, which are in parts before its own.
        let mut pieces = vec![last];
        while let Some(piece) = pieces.last_mut() {
            guard.check()?;
            let Some(id) = piece.work.pop() else {
                if let Some(piece) = pieces.pop() {
                    self.finish(piece, &mut guard)?;
                }
                continue;
            };
            match self.callee(piece, id)? {
                Some(callee) => {
                    piece.work.push(id);
                    pieces.push(callee);
                }
                None => self.expand(piece, id)?,
            }
        }
        Ok(self.solution)
    }

    /// Whether a push rule leads anywhere.
    fn leads_on(&self, rule: u32) -> bool {
        let pds = self.solution.pds;
        pds.rules()[rule as usize].merge.is_some()
            || !self.solution.domain.is_zero(pds.weight(rule))
    }

    /// A callee of a transition that is to be solved before. Those of the same part of the call
    /// graph are entered as a part of the piece.
    fn callee(
        &mut self,
        piece: &mut Piece<'a, D::Weight>,
        id: u32,
    ) -> Result<Option<Piece<'a, D::Weight>>, StopReason> {
        let pds = self.solution.pds;
        let head = self.solution.table.get(id).head;
        for place in pds.left().range(head) {
            let item = pds.left().items[place];
            if item.second == POP || item.second == STEP {
                continue;
            }
            let middle = self.middles.of(place);
            let callee = (middle.0 - self.middles.first) as usize;
            if self.entered[callee] || !self.leads_on(item.rule) {
                continue;
            }
            self.entered[callee] = true;
            let (_, entry) = pds.heads().get(item.head);
            let part = self.solution.part(entry);
            let (entry, one) = ((item.head, middle), Label::Known(Path::One));
            if part == piece.part {
                self.solution.link(piece, None, entry, one)?;
                continue;
            }
            let mut new = Piece::new(part);
            self.solution.link(&mut new, None, entry, one)?;
            return Ok(Some(new));
        }
        Ok(None)
    }

    /// Applies rules to a transition.
    fn expand(&mut self, piece: &mut Piece<'a, D::Weight>, id: u32) -> Result<(), StopReason> {
        let pds = self.solution.pds;
        let (head, to) = (
            self.solution.table.get(id).head,
            self.solution.table.get(id).to,
        );
        for place in pds.left().range(head) {
            let item = pds.left().items[place];
            let label = self.solution.rule(item.rule);
            match item.second {
                STEP => {
                    (self.solution).link(piece, Some(id), (item.head, to), label)?;
                }
                POP => {
                    let epsilon = self.solution.table.names.epsilon(StateId(item.head));
                    let linked = (self.solution).link(piece, Some(id), (epsilon, to), label)?;
                    if let Some((returned, true)) = linked {
                        self.returned.push(to.0, returned);
                        self.returns(piece, returned)?;
                    }
                }
                second => {
                    let middle = self.middles.of(place);
                    let site = self.solution.table.names.site(place);
                    let linked = (self.solution).link(piece, Some(id), (site, to), label)?;
                    if pds.rules()[item.rule as usize].merge.is_some() {
                        self.merging.push(middle.0, self.merges.len() as u32);
                        self.merges.push((item.rule, id));
                        self.behind(piece, middle, |this, piece, returned| {
                            this.merge(piece, (item.rule, id), SymbolId(second), returned)
                        })?;
                    }
                    if let Some((behind, true)) = linked {
                        self.leaving.push(middle.0, behind);
                        self.behind(piece, middle, |this, piece, returned| {
                            this.go_on(piece, behind, returned)
                        })?;
                    }
                }
            }
        }
        Ok(())
    }

    /// For all that have returned from a callee so far.
    fn behind(
        &mut self,
        piece: &mut Piece<'a, D::Weight>,
        middle: StateId,
        then: impl Fn(&mut Self, &mut Piece<'a, D::Weight>, u32) -> Result<(), StopReason>,
    ) -> Result<(), StopReason> {
        let mut place = self.returned.start(middle.0);
        while let Some((returned, next)) = self.returned.get(place) {
            then(self, piece, returned)?;
            place = next;
        }
        Ok(())
    }

    /// A callee has returned to callers of the same piece.
    fn returns(
        &mut self,
        piece: &mut Piece<'a, D::Weight>,
        returned: u32,
    ) -> Result<(), StopReason> {
        let middle = self.solution.table.get(returned).to;
        let mut place = self.leaving.start(middle.0);
        while let Some((behind, next)) = self.leaving.get(place) {
            self.go_on(piece, behind, returned)?;
            place = next;
        }
        let mut place = self.merging.start(middle.0);
        while let Some((call, next)) = self.merging.get(place) {
            let (rule, caller) = self.merges[call as usize];
            if let Replace::Push(_, second) = self.solution.pds.rules()[rule as usize].replace {
                self.merge(piece, (rule, caller), second, returned)?;
            }
            place = next;
        }
        Ok(())
    }

    /// What is behind a call goes on after a return, unless a merge function says how.
    fn go_on(
        &mut self,
        piece: &mut Piece<'a, D::Weight>,
        behind: u32,
        returned: u32,
    ) -> Result<(), StopReason> {
        let back = self.solution.table.name(returned).from;
        let Transition { from, symbol, to } = self.solution.table.name(behind);
        if self.middles.merges(from) && back.0 < self.solution.pds.returns() {
            return Ok(());
        }
        let label = self.solution.call(NONE, returned)?;
        let head = self.solution.table.names.number(back, symbol);
        self.solution.link(piece, Some(behind), (head, to), label)?;
        Ok(())
    }

    /// What a merge function makes of a call.
    fn merge(
        &mut self,
        piece: &mut Piece<'a, D::Weight>,
        (rule, caller): (u32, u32),
        second: SymbolId,
        returned: u32,
    ) -> Result<(), StopReason> {
        let back = self.solution.table.name(returned).from;
        if back.0 >= self.solution.pds.returns() {
            return Ok(());
        }
        let label = self.solution.call(rule, returned)?;
        let head = self.solution.table.names.number(back, second);
        let to = self.solution.table.get(caller).to;
        self.solution.link(piece, Some(caller), (head, to), label)?;
        Ok(())
    }

    /// Solves a piece that is complete.
    fn finish(&mut self, piece: Piece<'a, D::Weight>, guard: &mut Guard) -> Result<(), StopReason> {
        self.solution.solve(piece, guard, |this, id| {
            this.table.name(id).symbol == SymbolId::EPSILON
        })
    }
}
