//! pre* by path expressions. A transition says how a symbol is popped: it depends on its procedure
//! and on those that this one calls. So there is a piece for each part of the call graph, and they
//! are solved callees first.

use droste_base::{Guard, StopReason};

use super::{Label, LazyAutomaton, Piece, Solution, Wanted};
use crate::automaton::{Automaton, Direction, Transition};
use crate::domain::Domain;
use crate::paths::Edge;
use crate::saturate::{HeadNames, Lists, NONE, Options};
use crate::system::{Item, POP, Pds, Replace, STEP, SymbolId};
use crate::weighing::{Path, Side};

struct Backwards<'a, 's, D: Domain> {
    solution: Solution<'a, 's, D>,
    /// For each part, the push rules there whose callees, in other parts, have been popped.
    later: Vec<Vec<(Item, u32)>>,
    /// For each head, places in `behind`.
    waiting: Lists,
    /// Push rules, and transitions of their callees, that wait for what is behind the callee.
    behind: Vec<(Item, u32)>,
    /// For each transition, whether rules have been applied to it.
    expanded: Vec<bool>,
}

/// The automaton of all that lead to the target, with its weights.
pub(crate) fn prestar<D: Domain>(
    domain: &D,
    pds: &Pds<D::Weight>,
    target: &Automaton<D::Weight>,
    options: &Options,
) -> Result<Automaton<D::Weight>, StopReason> {
    let skeleton = pds.skeleton();
    let names = HeadNames::new(pds);
    let how = (options, Wanted::All);
    let solution = Solution::new(domain, (pds, &skeleton), names, Side::Left, how);
    let found = Backwards::new(solution).run(target, options)?;
    let bare = target.bare(Direction::Forward);
    Ok(found.automaton(bare, target.states(), |_| true))
}

/// The same with lazy weights; or, if there is a goal, only what that needs.
pub(crate) fn backwards<'a, D: Domain>(
    domain: &'a D,
    pds: &'a Pds<D::Weight>,
    target: &Automaton<D::Weight>,
    goal: Option<Transition>,
    options: &Options,
) -> Result<LazyAutomaton<'a, D>, StopReason> {
    let skeleton = pds.skeleton();
    let names = HeadNames::new(pds);
    let how = (options, goal.map_or(Wanted::Later, Wanted::Only));
    let solution = Solution::new(domain, (pds, &skeleton), names, Side::Left, how);
    let found = Backwards::new(solution).run(target, options)?;
    let bare = target.bare(Direction::Forward);
    Ok(LazyAutomaton::new(found, bare, u32::MAX, options))
}

impl<'a, 's, D: Domain> Backwards<'a, 's, D> {
    fn new(solution: Solution<'a, 's, D>) -> Self {
        Backwards {
            later: vec![Vec::new(); solution.parts.parts() as usize],
            solution,
            waiting: Lists::default(),
            behind: Vec::new(),
            expanded: Vec::new(),
        }
    }

    fn run(
        mut self,
        target: &Automaton<D::Weight>,
        options: &Options,
    ) -> Result<Solution<'a, 's, D>, StopReason> {
        let mut guard = options.limits.guard();
        let pds = self.solution.pds;
        // What begins the pieces: a head, where it leads, and the weight.
        let mut seeds = vec![Vec::new(); self.later.len()];
        for (Transition { from, symbol, to }, weight) in target.iter() {
            let head = self.solution.table.names.number(from, symbol);
            let path = Path::copied(self.solution.domain, &self.solution.one, weight);
            if from.0 < pds.states() {
                let part = self.solution.part(symbol);
                seeds[part as usize].push(((head, to), Label::Known(path)));
            } else {
                // It stays as it is, and belongs to no piece.
                self.solution.table.intern(head, to)?;
                self.solution.values.push(Some(path));
                self.solution.place.push(0);
            }
        }
        for &number in pds.pops() {
            let rule = pds.rules()[number as usize];
            let head = self.solution.table.names.number(rule.from, rule.top);
            let part = self.solution.part(rule.top);
            seeds[part as usize].push(((head, rule.to), self.solution.rule(number)));
        }
        let asked = self.asked();
        for ((part, seeds), asked) in (0..).zip(seeds).zip(asked) {
            if !asked {
                continue;
            }
            let mut piece = Piece::new(part);
            for (transition, label) in seeds {
                self.solution.link(&mut piece, None, transition, label)?;
            }
            for (item, callee) in std::mem::take(&mut self.later[part as usize]) {
                self.wait(&mut piece, item, callee)?;
            }
            while let Some(id) = piece.work.pop() {
                guard.check()?;
                self.expand(&mut piece, id)?;
            }
            self.finish(piece, &mut guard)?;
        }
        Ok(self.solution)
    }

    /// Which parts have something to do with the transition that is asked for: its own, and those of
    /// callees.
    fn asked(&self) -> Vec<bool> {
        let Some(goal) = self.solution.goal() else {
            return vec![true; self.later.len()];
        };
        let mut calls: Vec<(u32, u32)> = (self.solution.pds.rules().iter())
            .filter_map(|rule| match rule.replace {
                Replace::Push(first, _) => {
                    Some((self.solution.part(rule.top), self.solution.part(first)))
                }
                Replace::Pop | Replace::Step(_) => None,
            })
            .collect();
        // Callers come after callees.
        calls.sort_unstable_by(|a, b| b.cmp(a));
        let mut asked = vec![false; self.later.len()];
        asked[self.solution.part(goal.symbol) as usize] = true;
        for (caller, callee) in calls {
            asked[callee as usize] |= asked[caller as usize];
        }
        asked
    }

    /// The part of the rule's left-hand side.
    fn caller(&self, item: Item) -> u32 {
        let (_, symbol) = self.solution.pds.heads().get(item.head);
        self.solution.part(symbol)
    }

    /// Applies rules to a transition.
    fn expand(&mut self, piece: &mut Piece<'a, D::Weight>, id: u32) -> Result<(), StopReason> {
        let (head, to) = (
            self.solution.table.get(id).head,
            self.solution.table.get(id).to,
        );
        let at = id as usize;
        if at >= self.expanded.len() {
            self.expanded.resize(at + 1, false);
        }
        self.expanded[at] = true;
        for &item in self.solution.pds.right().of(head) {
            match item.second {
                POP => {}
                STEP => {
                    let label = self.solution.rule(item.rule);
                    (self.solution).link(piece, Some(id), (item.head, to), label)?;
                }
                _ if self.caller(item) == piece.part => self.wait(piece, item, id)?,
                _ => {}
            }
        }
        let mut place = self.waiting.start(head);
        while let Some((behind, next)) = self.waiting.get(place) {
            let (item, callee) = self.behind[behind as usize];
            let label = self.solution.call(item.rule, callee)?;
            (self.solution).link(piece, Some(id), (item.head, to), label)?;
            place = next;
        }
        Ok(())
    }

    /// A callee of a push rule in this piece can be popped: the rule waits for what is behind it.
    fn wait(
        &mut self,
        piece: &mut Piece<'a, D::Weight>,
        item: Item,
        callee: u32,
    ) -> Result<(), StopReason> {
        let ends = self.solution.table.get(callee).to;
        let Some(head) = (self.solution.table.names).find(ends, SymbolId(item.second)) else {
            // No transition will ever start there.
            return Ok(());
        };
        self.waiting.push(head, self.behind.len() as u32);
        self.behind.push((item, callee));
        let mut behind = self.solution.table.newest(head);
        while behind != NONE {
            let known = self.solution.values[behind as usize].clone();
            let is_zero = matches!(known, Some(Path::Zero));
            // Those to which no rule has been applied will see what waits.
            let is_due = known.is_some() || self.expanded.get(behind as usize) == Some(&true);
            if is_due && !is_zero {
                if let Some(path) = known {
                    self.belongs(piece, behind, path);
                }
                let label = self.solution.call(item.rule, callee)?;
                let to = self.solution.table.get(behind).to;
                (self.solution).link(piece, Some(behind), (item.head, to), label)?;
            }
            behind = self.solution.table.before(behind);
        }
        Ok(())
    }

    /// A transition that stays as it is becomes a vertex of the piece.
    fn belongs(&mut self, piece: &mut Piece<'a, D::Weight>, id: u32, path: Path<'a, D::Weight>) {
        let place = self.solution.place[id as usize];
        let known = (place as usize).checked_sub(1);
        if known.and_then(|at| piece.members.get(at)) == Some(&id) {
            return;
        }
        piece.members.push(id);
        let place = piece.members.len() as u32;
        self.solution.place[id as usize] = place;
        piece.edges.push(Edge {
            from: 0,
            to: place,
            path: Label::Known(path),
        });
    }

    /// Solves a piece that is complete, and tells callers in other parts.
    fn finish(&mut self, piece: Piece<'a, D::Weight>, guard: &mut Guard) -> Result<(), StopReason> {
        let (part, members) = (piece.part, piece.members.clone());
        let pds = self.solution.pds;
        let is_called = |head: u32| {
            let mut items = pds.right().of(head).iter();
            items.any(|item| item.second != POP && item.second != STEP)
        };
        self.solution.solve(piece, guard, |this, id| {
            is_called(this.table.get(id).head) || Some(this.table.name(id)) == this.goal()
        })?;
        for id in members {
            let head = self.solution.table.get(id).head;
            if matches!(self.solution.values[id as usize], None | Some(Path::Zero)) {
                continue;
            }
            for &item in pds.right().of(head) {
                let caller = self.caller(item);
                if item.second != POP && item.second != STEP && caller != part {
                    self.later[caller as usize].push((item, id));
                }
            }
        }
        Ok(())
    }
}
