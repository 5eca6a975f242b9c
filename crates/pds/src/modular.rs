//! Incremental solving (section 4.3 of the FWPDS paper), several cores, and summaries that many
//! questions share.
//!
//! The summary of a symbol says how it is popped. It depends on the rules for the symbol and on the
//! summaries of the symbols that they lead to, and on nothing else. So symbols are solved one after the
//! other: first those that others depend on. Symbols that depend on each other, loops and recursions, are
//! solved together; they are called a *knot*. When rules come or go, the knots of their symbols are solved
//! again from the beginning, and other knots only if a summary that they use has changed. No weight can
//! support itself over a rule that is gone, because what depends on itself is in one knot.
//!
//! The paper does the same procedure by procedure. With knots, a callee that has changed costs its
//! callers one equation where it makes no difference to them, and not a whole procedure. After random
//! edits, `tests/modular.rs` compares the answers with those of a new system.

mod knots;
mod order;
mod questions;
mod threads;

use std::ops::Deref;

use droste_base::StopReason;
use rustc_hash::FxHashMap;

use crate::automaton::Transition;
use crate::domain::Domain;
use crate::saturate::Options;
use crate::system::{Replace, Rule, StateId, SymbolId};
use crate::worklist::Bits;

use knots::{Store, Sums};
use order::Ranks;

/// A rule of a [`Modular`] system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RuleId(u32);

/// A control state with a symbol on top.
type Head = (StateId, SymbolId);

/// Transitions with weights, sorted.
type Weighted<W> = Vec<(Transition, W)>;

/// A transition that reads some symbol, and its weight.
#[derive(Clone, Debug)]
struct Entry<W> {
    from: StateId,
    to: StateId,
    weight: W,
}

impl<W> Entry<W> {
    fn transition(&self, symbol: u32) -> Transition {
        Transition::new(self.from, SymbolId(symbol), self.to)
    }
}

/// Symbols that follow each other at one height of the stack, as trees.
#[derive(Default)]
struct Procedures {
    parent: Vec<u32>,
    /// For each root, how many symbols there are.
    size: Vec<u32>,
    /// For each symbol another one of its procedure, in a circle.
    next: Vec<u32>,
}

impl Procedures {
    fn at_least(&mut self, symbols: u32) {
        for symbol in self.parent.len() as u32..symbols {
            self.parent.push(symbol);
            self.size.push(1);
            self.next.push(symbol);
        }
    }

    fn find(&self, symbol: u32) -> u32 {
        let mut at = symbol;
        while let Some(&above) = self.parent.get(at as usize)
            && above != at
        {
            at = above;
        }
        at
    }

    /// Makes the procedures of two symbols one. If they were two, both roots, the new one first.
    fn join(&mut self, a: u32, b: u32) -> Option<[u32; 2]> {
        let (mut a, mut b) = (self.find(a), self.find(b));
        if a == b {
            return None;
        }
        if self.size[a as usize] < self.size[b as usize] {
            (a, b) = (b, a);
        }
        self.parent[b as usize] = a;
        self.size[a as usize] += self.size[b as usize];
        self.next.swap(a as usize, b as usize);
        Some([a, b])
    }

    /// The symbols of the procedure that has this one.
    fn symbols(&self, symbol: u32) -> impl Iterator<Item = u32> {
        let known = ((symbol as usize) < self.next.len()).then_some(symbol);
        std::iter::successors(known, move |&at| {
            let next = self.next[at as usize];
            (next != symbol).then_some(next)
        })
    }
}

/// A weighted pushdown system whose rules come and go, and the summaries of its symbols.
pub struct Modular<D: Domain> {
    domain: D,
    options: Options,
    /// How many control states there are.
    control: u32,
    rules: Vec<Option<(Rule, D::Weight)>>,
    /// For each symbol, the rules that replace it; some may be gone.
    rules_of: Vec<Vec<u32>>,
    /// For each symbol, those whose rules lead to it, or have led; some several times.
    users: Vec<Users>,
    ranks: Ranks,
    procedures: Procedures,
    /// For each symbol what pre* of nothing gives: how it is popped.
    summaries: Vec<Vec<Entry<D::Weight>>>,
    /// Symbols whose rules or whose callees have changed since the last update.
    touched: Vec<u32>,
    /// What is reachable inside procedures, by their roots, for heads that they are entered by.
    entered: FxHashMap<u32, FxHashMap<Head, Weighted<D::Weight>>>,
    /// How many knots the last update has solved.
    solved: usize,
}

/// Symbols, some of them several times.
#[derive(Clone, Default)]
struct Users {
    list: Vec<u32>,
    /// How long the list was when each was there once.
    once: usize,
}

impl Users {
    fn add(&mut self, symbol: u32) {
        if self.list.last() == Some(&symbol) {
            return;
        }
        self.list.push(symbol);
        if self.list.len() > 2 * self.once + 8 {
            self.list.sort_unstable();
            self.list.dedup();
            self.once = self.list.len();
        }
    }
}

/// The symbols on the right-hand side.
fn right(rule: &Rule) -> impl Iterator<Item = u32> {
    let symbols = match rule.replace {
        Replace::Pop => [None, None],
        Replace::Step(first) => [Some(first), None],
        Replace::Push(first, second) => [Some(first), Some(second)],
    };
    symbols.into_iter().flatten().map(|symbol| symbol.0)
}

/// Summaries that are brought up to date.
struct Own<'a, W>(&'a mut Vec<Vec<Entry<W>>>);

impl<W> Store<W> for Own<'_, W> {
    fn get(&self, symbol: u32) -> impl Deref<Target = Vec<Entry<W>>> {
        &self.0[symbol as usize]
    }

    fn given(&self, _: u32) -> &[Entry<W>] {
        &[]
    }

    fn put(&mut self, symbol: u32, summary: Vec<Entry<W>>) {
        self.0[symbol as usize] = summary;
    }
}

impl<D: Domain> Modular<D> {
    /// A system with these control states and no rules.
    pub fn new(domain: D, control: u32, options: Options) -> Self {
        Modular {
            domain,
            options,
            control,
            rules: Vec::new(),
            rules_of: Vec::new(),
            users: Vec::new(),
            ranks: Ranks::default(),
            procedures: Procedures::default(),
            summaries: Vec::new(),
            touched: Vec::new(),
            entered: FxHashMap::default(),
            solved: 0,
        }
    }

    /// How many knots the last update has solved: symbols that depend on each other, or single ones.
    pub fn solved(&self) -> usize {
        self.solved
    }

    /// Makes all symbols known that are below this number.
    fn at_least(&mut self, symbols: u32) {
        let count = symbols as usize;
        if count <= self.rules_of.len() {
            return;
        }
        self.rules_of.resize(count, Vec::new());
        self.users.resize(count, Users::default());
        self.summaries.resize(count, Vec::new());
        self.ranks.at_least(symbols);
        self.procedures.at_least(symbols);
    }

    /// Adds a rule.
    pub fn add(&mut self, rule: Rule, weight: D::Weight) -> RuleId {
        self.control = self.control.max(rule.from.0 + 1).max(rule.to.0 + 1);
        let top = rule.top.0;
        self.at_least(right(&rule).fold(top, u32::max) + 1);
        for symbol in right(&rule) {
            self.users[symbol as usize].add(top);
            self.ranks.depends(top, symbol);
        }
        let same_height = match rule.replace {
            Replace::Pop => top,
            Replace::Step(first) => first.0,
            Replace::Push(_, second) => second.0,
        };
        if let Some(both) = self.procedures.join(top, same_height) {
            for root in both {
                self.entered.remove(&root);
            }
        }
        let id = self.rules.len() as u32;
        self.rules.push(Some((rule, weight)));
        self.rules_of[top as usize].push(id);
        self.touch(top);
        RuleId(id)
    }

    /// Removes a rule. `false` if it is not there any more.
    pub fn remove(&mut self, id: RuleId) -> bool {
        let Some((rule, _)) = self.rules.get_mut(id.0 as usize).and_then(Option::take) else {
            return false;
        };
        // Ranks and procedures stay as they are: that is never wrong. The rule is struck off its
        // list when summaries are brought up to date.
        self.touch(rule.top.0);
        true
    }

    /// The rules for a symbol have changed.
    fn touch(&mut self, symbol: u32) {
        if self.touched.last() != Some(&symbol) {
            self.touched.push(symbol);
        }
    }

    /// The rules that replace a symbol.
    fn rules_from(&self, symbol: u32) -> impl Iterator<Item = &(Rule, D::Weight)> {
        let ids = self.rules_of[symbol as usize].iter();
        ids.filter_map(|&id| self.rules[id as usize].as_ref())
    }

    /// The symbols that a symbol depends on, some several times.
    fn depends_on(&self, symbol: u32, out: &mut Vec<u32>) {
        for (rule, _) in self.rules_from(symbol) {
            out.extend(right(rule));
        }
    }

    /// Strikes off rules that are gone, and gives ranks to symbols that have none.
    fn prepare(&mut self) {
        self.touched.sort_unstable();
        self.touched.dedup();
        for &symbol in &self.touched {
            let rules = &self.rules;
            self.rules_of[symbol as usize].retain(|&id| rules[id as usize].is_some());
        }
        let mut ranks = std::mem::take(&mut self.ranks);
        ranks.mend(|symbol, out| self.depends_on(symbol, out));
        self.ranks = ranks;
    }

    /// Brings the summaries up to date.
    pub fn update(&mut self) -> Result<(), StopReason> {
        self.prepare();
        let mut dirty = Bits::new(self.ranks.len());
        for symbol in std::mem::take(&mut self.touched) {
            dirty.set(self.ranks.of(symbol) as usize);
        }
        let mut summaries = std::mem::take(&mut self.summaries);
        let mut solved = Vec::new();
        let done = self.renew_all(&mut dirty, &mut Own(&mut summaries), |rank| {
            solved.push(rank);
        });
        self.summaries = summaries;
        self.forget(&solved);
        while let Some(rank) = dirty.first() {
            // It would have been solved, had the work not been stopped.
            dirty.clear(rank);
            self.touched.extend(self.ranks.members(rank as u32));
        }
        done
    }

    /// Solves knots until no summary changes. Those that are left when the work is stopped stay in
    /// the set.
    fn renew_all<S: Store<D::Weight>>(
        &self,
        dirty: &mut Bits,
        store: &mut S,
        mut solved: impl FnMut(u32),
    ) -> Result<(), StopReason> {
        let mut guard = self.options.limits.guard();
        let mut sums = Sums::new();
        while let Some(rank) = dirty.first() {
            guard.check()?;
            let changed = self.renew(rank as u32, store, &mut sums)?;
            dirty.clear(rank);
            solved(rank as u32);
            for symbol in changed {
                for &user in &self.users[symbol as usize].list {
                    let user = self.ranks.of(user) as usize;
                    if user != rank {
                        dirty.set(user);
                    }
                }
            }
        }
        Ok(())
    }

    /// Forgets what was reachable inside procedures, some of whose symbols were solved again.
    fn forget(&mut self, solved: &[u32]) {
        self.solved = solved.len();
        for &rank in solved {
            if self.entered.is_empty() {
                return;
            }
            for &symbol in self.ranks.members(rank) {
                self.entered.remove(&self.procedures.find(symbol));
            }
        }
    }

    /// What a call weighs whose callee has this weight.
    fn called(
        &self,
        (rule, weight): (Rule, &D::Weight),
        callee: &D::Weight,
        returned: bool,
    ) -> Result<D::Weight, StopReason> {
        match rule.merge {
            Some(merge) if returned => self.domain.merge(merge, &self.domain.one(), callee),
            _ => self.domain.extend(weight, callee),
        }
    }
}
