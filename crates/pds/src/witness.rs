//! Runs, folded (witness tracing, section 4.1 of the FWPDS paper).
//!
//! A run is a sequence of rules. A call that has returned is one move; the moves of the callee are a
//! run of their own, which several calls may share. What two runs have in common at their ends is a
//! run, too (`fold.rs`). So a run is never larger than the search that found it, though written out it
//! can be exponentially long.

use std::cell::RefCell;
use std::collections::hash_map::Entry;

use droste_base::{Guard, Limits, StopReason};
use rustc_hash::FxHashMap;

use crate::choose::chosen;
use crate::domain::Domain;
use crate::fold::Fold;
use crate::query::Question;
use crate::saturate::{NONE, Records, Table, Why};
use crate::system::{Pds, Replace, StateId, SymbolId};

/// A part of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Move {
    /// A rule.
    Rule(u32),
    /// A push, and all that its callee does until it has returned: the moves of a run.
    Call {
        /// The push rule.
        rule: u32,
        /// The callee's run, by number.
        run: u32,
    },
    /// All that happens until the symbol on top has been popped: the moves of a run, by number.
    Run(u32),
}

impl Move {
    /// Its rule, if it is not a run alone.
    pub fn rule(self) -> Option<u32> {
        match self {
            Move::Rule(rule) | Move::Call { rule, .. } => Some(rule),
            Move::Run(_) => None,
        }
    }

    /// The run that it leads to.
    pub fn run(self) -> Option<u32> {
        match self {
            Move::Rule(_) => None,
            Move::Call { run, .. } | Move::Run(run) => Some(run),
        }
    }
}

/// A run from one configuration to another.
#[derive(Clone, Debug)]
pub struct Witness {
    /// The first configuration, the top of its stack first.
    pub start: (StateId, Vec<SymbolId>),
    /// The last one.
    pub end: (StateId, Vec<SymbolId>),
    /// The runs. The last one leads from the first configuration to the last; each other pops the symbol
    /// with which it begins, and a move in it leads to runs before it.
    pub runs: Vec<Vec<Move>>,
}

impl Witness {
    /// The main run.
    pub fn main(&self) -> &[Move] {
        self.runs.last().map_or(&[], Vec::as_slice)
    }

    /// The number of rules, `u64::MAX` if it is larger.
    pub fn len(&self) -> u64 {
        let mut lengths: Vec<u64> = Vec::with_capacity(self.runs.len());
        for run in &self.runs {
            let length = run.iter().fold(0u64, |sum, step| {
                let inside = step.run().map_or(0, |run| lengths[run as usize]);
                let own = u64::from(step.rule().is_some());
                sum.saturating_add(own).saturating_add(inside)
            });
            lengths.push(length);
        }
        lengths.last().copied().unwrap_or(0)
    }

    /// Whether it is the run without rules.
    pub fn is_empty(&self) -> bool {
        self.main().is_empty()
    }

    /// The rules, one after the other.
    pub fn rules(&self) -> impl Iterator<Item = u32> {
        let mut stack: Vec<std::slice::Iter<'_, Move>> = vec![self.main().iter()];
        std::iter::from_fn(move || {
            loop {
                let Some(step) = stack.last_mut()?.next() else {
                    stack.pop();
                    continue;
                };
                if let Some(run) = step.run() {
                    // A long chain of ends is no deep nesting.
                    if stack.last().is_some_and(|rest| rest.len() == 0) {
                        stack.pop();
                    }
                    stack.push(self.runs[run as usize].iter());
                }
                if let Some(rule) = step.rule() {
                    return Some(rule);
                }
            }
        })
    }

    /// The weight of the run in a system: that of its rules, with merge functions where calls
    /// return. `None` if it is not a run of the system from the first configuration to the last.
    pub fn weight<D: Domain>(
        &self,
        domain: &D,
        pds: &Pds<D::Weight>,
    ) -> Result<Option<D::Weight>, StopReason> {
        self.weighed(domain, pds, &mut Limits::default().guard())
    }

    /// [`weight`](Self::weight), unless a limit is reached.
    pub fn weighed<D: Domain>(
        &self,
        domain: &D,
        pds: &Pds<D::Weight>,
        guard: &mut Guard,
    ) -> Result<Option<D::Weight>, StopReason> {
        // For each run: its weight, where it starts, and in which state the symbol is gone.
        let mut known: Vec<Option<Summary<D::Weight>>> = Vec::new();
        for (number, run) in self.runs.iter().enumerate() {
            if number + 1 == self.runs.len() {
                break;
            }
            let summary = match run.first().and_then(|first| first.rule()) {
                Some(first) => {
                    let Some(rule) = pds.rules().get(first as usize) else {
                        return Ok(None);
                    };
                    let mut walk = Walk::new(domain, rule.from, vec![rule.top]);
                    let ends = walk.go(pds, run, &known, guard)? && walk.stack.is_empty();
                    ends.then(|| Summary {
                        from: (rule.from, rule.top),
                        to: walk.state,
                        weight: walk.weight,
                    })
                }
                None => None,
            };
            known.push(summary);
        }
        let mut stack = self.start.1.clone();
        stack.reverse();
        let mut walk = Walk::new(domain, self.start.0, stack);
        let ends = walk.go(pds, self.main(), &known, guard)?;
        walk.stack.reverse();
        let there = ends && (walk.state, walk.stack) == self.end;
        Ok(there.then_some(walk.weight))
    }
}

/// What a callee does.
struct Summary<W> {
    from: (StateId, SymbolId),
    to: StateId,
    weight: W,
}

/// A configuration that moves. The top of the stack is last.
struct Walk<'a, D: Domain> {
    domain: &'a D,
    state: StateId,
    stack: Vec<SymbolId>,
    weight: D::Weight,
}

impl<'a, D: Domain> Walk<'a, D> {
    fn new(domain: &'a D, state: StateId, stack: Vec<SymbolId>) -> Self {
        Walk {
            domain,
            state,
            stack,
            weight: domain.one(),
        }
    }

    /// Makes moves. `false` if one is impossible.
    fn go(
        &mut self,
        pds: &Pds<D::Weight>,
        moves: &[Move],
        known: &[Option<Summary<D::Weight>>],
        guard: &mut Guard,
    ) -> Result<bool, StopReason> {
        for step in moves {
            guard.check()?;
            let number = match *step {
                Move::Rule(rule) | Move::Call { rule, .. } => rule,
                Move::Run(run) => {
                    let Some(Some(inner)) = known.get(run as usize) else {
                        return Ok(false);
                    };
                    if self.stack.pop() != Some(inner.from.1) || self.state != inner.from.0 {
                        return Ok(false);
                    }
                    self.weight = self.domain.extend(&self.weight, &inner.weight)?;
                    self.state = inner.to;
                    continue;
                }
            };
            let Some(rule) = pds.rules().get(number as usize) else {
                return Ok(false);
            };
            if self.state != rule.from || self.stack.pop() != Some(rule.top) {
                return Ok(false);
            }
            self.state = rule.to;
            match (*step, rule.replace) {
                (Move::Rule(_), replace) => {
                    match replace {
                        Replace::Pop => {}
                        Replace::Step(symbol) => self.stack.push(symbol),
                        Replace::Push(first, second) => self.stack.extend([second, first]),
                    }
                    self.weight = self.domain.extend(&self.weight, pds.weight(number))?;
                }
                (Move::Call { run, .. }, Replace::Push(first, second)) => {
                    let Some(Some(callee)) = known.get(run as usize) else {
                        return Ok(false);
                    };
                    if callee.from != (rule.to, first) {
                        return Ok(false);
                    }
                    self.weight = if let Some(merge) = rule.merge {
                        self.domain.merge(merge, &self.weight, &callee.weight)?
                    } else {
                        let before = self.domain.extend(&self.weight, pds.weight(number))?;
                        self.domain.extend(&before, &callee.weight)?
                    };
                    self.stack.push(second);
                    self.state = callee.to;
                }
                (Move::Call { .. }, Replace::Pop | Replace::Step(_)) | (Move::Run(_), _) => {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }
}

/// What a record stands for, from left to right.
#[derive(Clone, Copy)]
pub(crate) enum Part {
    Rule(u32),
    /// What made a transition grow, before a record was made.
    Tree(u32, u32),
    /// The same, for a callee that was entered by the rule before it.
    Callee(u32, u32),
}

/// A run of a system with a question, backwards.
pub(crate) fn of_pre<D: Domain>(
    table: &Table<'_, D>,
    answer: u32,
    question: &Question<D::Weight>,
    limits: &Limits,
) -> Result<Option<Witness>, StopReason> {
    let parts = |why: Why, time: u32, out: &mut Vec<Part>| {
        out.push(Part::Rule(why.rule));
        if why.second != NONE {
            out.push(Part::Callee(why.first, time));
            out.push(Part::Tree(why.second, time));
        } else if why.first != NONE {
            out.push(Part::Tree(why.first, time));
        }
    };
    // A callee has returned where its transition leads.
    let returns = |id: u32| table.get(id).to;
    // A transition pops a symbol. Those of the question itself are shown to nobody.
    let pen = question.start.1.0 - 1;
    let pops = |id: u32| {
        let (_, symbol) = table.names.get(table.get(id).head);
        symbol.0 < pen && table.get(id).to.0 < question.pds.returns()
    };
    let ways = (&parts as &Parts, &returns as &_, &pops as &_);
    let folder = Folder::new(table, question, ways, limits);
    folder.map_or(Ok(None), |folder| folder.possible(table.domain, answer))
}

/// A run of a system with a question, forwards.
pub(crate) fn of_post<D: Domain>(
    table: &Table<'_, D>,
    answer: u32,
    question: &Question<D::Weight>,
    limits: &Limits,
) -> Result<Option<Witness>, StopReason> {
    let parts = |why: Why, time: u32, out: &mut Vec<Part>| {
        if why.first == NONE {
            // A callee starts, or the run does.
            return;
        }
        out.push(Part::Tree(why.first, time));
        if why.rule != NONE {
            out.push(Part::Rule(why.rule));
        }
        if why.second != NONE {
            out.push(Part::Callee(why.second, time));
        }
    };
    // A callee has returned where its epsilon transition starts.
    let returns = |id: u32| table.names.get(table.get(id).head).0;
    // A transition leads from the beginning of a run to some place in it.
    let pops = |_| false;
    let ways = (&parts as &Parts, &returns as &_, &pops as &_);
    let folder = Folder::new(table, question, ways, limits);
    folder.map_or(Ok(None), |folder| folder.possible(table.domain, answer))
}

/// What a record of a certain time stands for.
pub(crate) type Parts = dyn Fn(Why, u32, &mut Vec<Part>);

/// What a record stands for; where a transition has returned; whether it pops the symbol on top.
type Ways<'a> = (
    &'a Parts,
    &'a dyn Fn(u32) -> StateId,
    &'a dyn Fn(u32) -> bool,
);

/// Gives the runs of moves other numbers. `None` if one has none.
fn rename(moves: &mut [Move], number: impl Fn(u32) -> Option<u32>) -> Option<()> {
    for step in moves {
        if let Move::Call { run, .. } | Move::Run(run) = step {
            *run = number(*run)?;
        }
    }
    Some(())
}

/// Makes runs of records.
pub(crate) struct Folder<'a, W> {
    pub(crate) records: &'a Records,
    pub(crate) question: &'a Question<W>,
    pub(crate) parts: &'a Parts,
    returns: &'a dyn Fn(u32) -> StateId,
    pops: &'a dyn Fn(u32) -> bool,
    /// Whether the oldest record of each transition is taken, and not the newest.
    oldest: bool,
    guard: RefCell<Guard>,
    /// Which limit has been reached.
    stopped: RefCell<Option<StopReason>>,
}

impl<'a, W: Clone> Folder<'a, W> {
    fn new<D: Domain<Weight = W>>(
        table: &'a Table<'_, D>,
        question: &'a Question<W>,
        (parts, returns, pops): Ways<'a>,
        limits: &Limits,
    ) -> Option<Self> {
        let records = table.records.as_ref()?;
        Some(Folder {
            records,
            question,
            parts,
            returns,
            pops,
            oldest: false,
            guard: RefCell::new(limits.guard()),
            stopped: RefCell::default(),
        })
    }

    /// `None` once a limit is reached.
    pub(crate) fn check(&self) -> Option<()> {
        let checked = self.guard.borrow_mut().check();
        let reached = |reason| *self.stopped.borrow_mut() = Some(reason);
        checked.map_err(reached).ok()
    }

    /// The record of a transition before a time that is taken.
    fn record(&self, transition: u32, time: u32) -> Option<u32> {
        if self.oldest {
            return self.records.history(transition, time).last();
        }
        self.records.before(transition, time)
    }

    /// Whether the last move is a rule of the system's own, with which a callee begins that has
    /// returned. Then both are one move.
    pub(crate) fn calls(&self, moves: &[Move], callee: u32) -> Option<u32> {
        match moves.last() {
            Some(&Move::Rule(rule)) if rule < self.question.own => {
                self.has_returned(callee).then_some(rule)
            }
            _ => None,
        }
    }

    /// Whether a callee has returned to where merge functions are used.
    pub(crate) fn has_returned(&self, callee: u32) -> bool {
        (self.returns)(callee).0 < self.question.pds.returns()
    }

    /// The moves for a record. Runs are named by their records.
    fn moves_of(&self, record: u32) -> Option<Vec<Move>> {
        let mut moves = Vec::new();
        let (mut stack, mut found) = (Vec::new(), Vec::new());
        (self.parts)(self.records.get(record), record, &mut found);
        stack.extend(found.drain(..).rev());
        while let Some(part) = stack.pop() {
            self.check()?;
            match part {
                Part::Rule(rule) => moves.push(Move::Rule(rule)),
                Part::Callee(callee, time) => match self.calls(&moves, callee) {
                    Some(rule) => {
                        let run = self.record(callee, time)?;
                        moves.pop();
                        moves.push(Move::Call { rule, run });
                    }
                    None => stack.push(Part::Tree(callee, time)),
                },
                Part::Tree(transition, time) => {
                    let record = self.record(transition, time)?;
                    if (self.pops)(transition) {
                        moves.push(Move::Run(record));
                        continue;
                    }
                    (self.parts)(self.records.get(record), record, &mut found);
                    stack.extend(found.drain(..).rev());
                }
            }
        }
        Some(moves)
    }

    /// A run that has a weight. Where weights are totally ordered, that is the best one. Elsewhere a
    /// run of records may have the weight zero, though all of them together have not: then one is
    /// [`chosen`], as long as that is cheap.
    fn possible<D: Domain<Weight = W>>(
        mut self,
        domain: &D,
        answer: u32,
    ) -> Result<Option<Witness>, StopReason> {
        let found = self.find(domain, answer)?;
        match self.stopped.take() {
            Some(reason) => Err(reason),
            None => Ok(found.map(|whole| self.own_part(whole))),
        }
    }

    fn find<D: Domain<Weight = W>>(
        &mut self,
        domain: &D,
        answer: u32,
    ) -> Result<Option<Witness>, StopReason> {
        for oldest in [false, true] {
            self.oldest = oldest;
            let Some(whole) = self.witness(answer) else {
                return Ok(None);
            };
            if domain.is_total() || self.has_weight(domain, &whole)? {
                return Ok(Some(whole));
            }
        }
        let Some(whole) = chosen(self, domain, answer).and_then(|runs| self.folded(runs)) else {
            return Ok(None);
        };
        Ok(self.has_weight(domain, &whole)?.then_some(whole))
    }

    fn has_weight<D: Domain<Weight = W>>(
        &self,
        domain: &D,
        whole: &Witness,
    ) -> Result<bool, StopReason> {
        let guard = &mut self.guard.borrow_mut();
        match whole.weighed(domain, &self.question.pds, guard) {
            Ok(weight) => Ok(weight.is_some_and(|weight| !domain.is_zero(&weight))),
            Err(StopReason::OutOfRange) => Ok(false),
            Err(reason) => Err(reason),
        }
    }

    /// These runs, between the ends of the question.
    fn whole(&self, runs: Vec<Vec<Move>>) -> Witness {
        let (state, bottom) = self.question.start;
        Witness {
            start: (state, vec![bottom]),
            end: (self.question.end, Vec::new()),
            runs,
        }
    }

    /// A run of the system with the question.
    fn witness(&self, answer: u32) -> Option<Witness> {
        let mut main = self.moves_of(self.record(answer, NONE)?)?;
        // The runs of callees, by their records: an older one never leads to a newer one.
        let mut runs: FxHashMap<u32, Vec<Move>> = FxHashMap::default();
        let mut work: Vec<u32> = main.iter().filter_map(|step| step.run()).collect();
        while let Some(record) = work.pop() {
            if let Entry::Vacant(place) = runs.entry(record) {
                let moves = self.moves_of(record)?;
                work.extend(moves.iter().filter_map(|step| step.run()));
                place.insert(moves);
            }
        }
        let mut order: Vec<u32> = runs.keys().copied().collect();
        order.sort_unstable();
        let mut fold = Fold::new(&self.question.pds, self.question.own);
        let mut lists: FxHashMap<u32, u32> = FxHashMap::default();
        for record in order {
            self.check()?;
            let mut moves = runs.remove(&record)?;
            rename(&mut moves, |record| lists.get(&record).copied())?;
            lists.insert(record, fold.list(&moves));
        }
        rename(&mut main, |record| lists.get(&record).copied())?;
        let main = fold.main(&main);
        Some(self.whole(fold.runs(&main)))
    }

    /// These runs, with what they have in common written once.
    fn folded(&self, mut runs: Vec<Vec<Move>>) -> Option<Witness> {
        let mut fold = Fold::new(&self.question.pds, self.question.own);
        let mut main = runs.pop()?;
        let mut lists = Vec::with_capacity(runs.len());
        for mut moves in runs {
            self.check()?;
            rename(&mut moves, |run| lists.get(run as usize).copied())?;
            lists.push(fold.list(&moves));
        }
        rename(&mut main, |run| lists.get(run as usize).copied())?;
        let main = fold.main(&main);
        Some(self.whole(fold.runs(&main)))
    }

    /// The same run between what the rules of the question write and what they read.
    fn own_part(&self, mut whole: Witness) -> Witness {
        let moves = whole.runs.pop().unwrap_or_default();
        let question = self.question;
        let (mut start, mut end) = ((StateId(0), Vec::new()), (StateId(0), Vec::new()));
        let (mut own, mut reading) = (Vec::new(), false);
        for step in moves {
            let asked = |&number: &u32| number >= question.own;
            let Some(number) = step.rule().filter(asked) else {
                own.push(step);
                continue;
            };
            let rule = question.pds.rules()[number as usize];
            let bottom = question.start.1;
            match rule.replace {
                Replace::Push(_, symbol) => {
                    if symbol != bottom {
                        start.1.push(symbol);
                    }
                }
                // The pen is taken away.
                Replace::Pop if rule.from == rule.to && rule.top.0 + 1 == bottom.0 => {
                    start.0 = rule.from;
                    end.0 = rule.from;
                }
                Replace::Pop | Replace::Step(_) => {
                    if !std::mem::replace(&mut reading, true) {
                        end.0 = rule.from;
                    }
                    if rule.top != bottom {
                        end.1.push(rule.top);
                    }
                }
            }
        }
        start.1.reverse();
        whole.runs.push(own);
        Witness {
            start,
            end,
            runs: whole.runs,
        }
    }
}
