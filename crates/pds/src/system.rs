//! Pushdown systems (section 2.1 of the FWPDS paper), as flat tables.
//!
//! A rule `⟨p, γ⟩ → ⟨p′, u⟩` replaces the symbol on top of the stack by `u`. Longer right-hand
//! sides than two symbols are cut into several rules when they are added. A control state with a
//! symbol on top is a *head*; heads are numbered. Two tables sort the rules by their heads on the
//! left and by those on the right: the rules of one head are next to each other, and each names its
//! other head by number. Weights are out of line, by the number of their rule.

use std::fmt;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use crate::calls::Calls;
use crate::procedures::Procedures;

/// A control state of a system, or a state of an automaton: those of the system come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StateId(pub u32);

/// A stack symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SymbolId(pub u32);

impl SymbolId {
    /// No symbol: the label of an epsilon transition.
    pub const EPSILON: SymbolId = SymbolId(u32::MAX);
}

/// A merge function of the weight domain (section 3.3): what becomes of the caller's weight when a
/// callee returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MergeId(pub u32);

/// What a rule puts on the stack instead of the top symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Replace {
    /// Nothing: the symbol is popped.
    Pop,
    /// Another symbol.
    Step(SymbolId),
    /// Two symbols, the new top first.
    Push(SymbolId, SymbolId),
}

/// A rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The control state it starts in.
    pub from: StateId,
    /// The symbol that must be on top.
    pub top: SymbolId,
    /// The control state it leads to.
    pub to: StateId,
    /// What replaces the symbol.
    pub replace: Replace,
    /// For a push: how the callee's weight is merged with the caller's. If there is none, the
    /// weights are extended.
    pub merge: Option<MergeId>,
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "<{}, {}> -> <{}", self.from.0, self.top.0, self.to.0)?;
        match self.replace {
            Replace::Pop => write!(f, ">"),
            Replace::Step(symbol) => write!(f, ", {}>", symbol.0),
            Replace::Push(first, second) => write!(f, ", {} {}>", first.0, second.0),
        }
    }
}

/// The pairs of a control state and a symbol that rules start from or lead to, numbered, sorted by
/// symbol and then by state.
#[derive(Debug, Default)]
pub(crate) struct Heads {
    /// For each symbol, where its heads begin; one more at the end.
    first: Vec<u32>,
    states: Vec<u32>,
    symbols: Vec<u32>,
}

impl Heads {
    fn new(symbols: u32, rules: &[Rule]) -> Self {
        let pairs = |rule: &Rule| {
            let right = match rule.replace {
                Replace::Pop => None,
                Replace::Step(first) | Replace::Push(first, _) => Some((first.0, rule.to.0)),
            };
            std::iter::once((rule.top.0, rule.from.0)).chain(right)
        };
        // Counting sort by symbol; the few states of one symbol are sorted by comparison.
        let mut first = vec![0u32; symbols as usize + 1];
        for (symbol, _) in rules.iter().flat_map(pairs) {
            first[symbol as usize + 1] += 1;
        }
        for i in 1..first.len() {
            first[i] += first[i - 1];
        }
        let mut states = vec![0u32; first[symbols as usize] as usize];
        for (symbol, state) in rules.iter().flat_map(pairs) {
            let place = &mut first[symbol as usize];
            states[*place as usize] = state;
            *place += 1;
        }
        // Now `first` says where the heads of a symbol end.
        let mut heads = Heads {
            first: Vec::with_capacity(symbols as usize + 1),
            ..Heads::default()
        };
        let (mut begin, mut kept) = (0, 0);
        for symbol in 0..symbols {
            let end = first[symbol as usize] as usize;
            heads.first.push(kept as u32);
            states[begin..end].sort_unstable();
            let start = kept;
            for i in begin..end {
                if kept == start || states[kept - 1] != states[i] {
                    states[kept] = states[i];
                    kept += 1;
                    heads.symbols.push(symbol);
                }
            }
            begin = end;
        }
        heads.first.push(kept as u32);
        states.truncate(kept);
        states.shrink_to_fit();
        heads.symbols.shrink_to_fit();
        heads.states = states;
        heads
    }

    pub(crate) fn len(&self) -> u32 {
        self.states.len() as u32
    }

    /// The number of a head, if a rule has it.
    #[inline]
    pub(crate) fn find(&self, state: StateId, symbol: SymbolId) -> Option<u32> {
        let begin = *self.first.get(symbol.0 as usize)?;
        let end = *self.first.get(symbol.0 as usize + 1)?;
        let states = &self.states[begin as usize..end as usize];
        match states {
            // The usual case, and the fastest.
            [only] => (*only == state.0).then_some(begin),
            states => (states.binary_search(&state.0).ok()).map(|at| begin + at as u32),
        }
    }

    #[inline]
    pub(crate) fn get(&self, head: u32) -> (StateId, SymbolId) {
        let head = head as usize;
        (StateId(self.states[head]), SymbolId(self.symbols[head]))
    }
}

/// A rule, as found from one of its two heads.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Item {
    /// The other head. For a pop, the control state it leads to.
    pub(crate) head: u32,
    /// [`POP`], [`STEP`], or the second symbol of a push.
    pub(crate) second: u32,
    /// The number of the rule.
    pub(crate) rule: u32,
}

/// In an [`Item`]: nothing is pushed.
pub(crate) const POP: u32 = u32::MAX;
/// In an [`Item`]: one symbol replaces the top.
pub(crate) const STEP: u32 = u32::MAX - 1;

/// Rules sorted by the heads on one of their sides.
#[derive(Debug)]
pub(crate) struct Side {
    /// For each head, where its rules begin; one more at the end.
    first: Vec<u32>,
    pub(crate) items: Vec<Item>,
}

impl Side {
    /// Sorts rules by the first head that `of` gives for each; those with none are left out.
    fn new(heads: u32, rules: &[Rule], of: impl Fn(&Rule) -> Option<(u32, u32)>) -> Self {
        let mut first = vec![0u32; heads as usize + 2];
        let found: Vec<Option<(u32, u32)>> = rules.iter().map(of).collect();
        for (head, _) in found.iter().flatten() {
            first[*head as usize + 2] += 1;
        }
        for i in 2..first.len() {
            first[i] += first[i - 1];
        }
        let none = Item {
            head: 0,
            second: 0,
            rule: 0,
        };
        let mut items = vec![none; *first.last().unwrap_or(&0) as usize];
        for (rule, found) in (0..).zip(&found) {
            let Some((head, other)) = *found else {
                continue;
            };
            let second = match rules[rule as usize].replace {
                Replace::Pop => POP,
                Replace::Step(_) => STEP,
                Replace::Push(_, second) => second.0,
            };
            let place = &mut first[head as usize + 1];
            items[*place as usize] = Item {
                head: other,
                second,
                rule,
            };
            *place += 1;
        }
        first.pop();
        Side { first, items }
    }

    /// Where the rules of a head are. A head that no rule has has none.
    #[inline]
    pub(crate) fn range(&self, head: u32) -> Range<usize> {
        let head = head as usize;
        if head + 1 >= self.first.len() {
            return 0..0;
        }
        self.first[head] as usize..self.first[head + 1] as usize
    }

    #[inline]
    pub(crate) fn of(&self, head: u32) -> &[Item] {
        &self.items[self.range(head)]
    }
}

/// The rules of a system, and where to find them.
#[derive(Debug)]
struct Rules {
    states: u32,
    /// See [`Pds::returns`].
    returns: u32,
    /// How many rules the procedures are made of.
    own: usize,
    symbols: u32,
    all: Vec<Rule>,
    heads: Heads,
    /// Made when first asked for: post* needs the one, pre* the other.
    left: OnceLock<Side>,
    right: OnceLock<Side>,
    procedures: OnceLock<Procedures>,
    /// With the rules of a question.
    all_procedures: OnceLock<Procedures>,
    calls: OnceLock<Calls>,
    pops: OnceLock<Vec<u32>>,
}

impl Rules {
    fn right_head(&self, rule: &Rule) -> Option<u32> {
        match rule.replace {
            Replace::Pop => None,
            Replace::Step(first) | Replace::Push(first, _) => self.heads.find(rule.to, first),
        }
    }

    fn left(&self) -> &Side {
        self.left.get_or_init(|| {
            Side::new(self.heads.len(), &self.all, |rule| {
                let left = self.heads.find(rule.from, rule.top)?;
                Some((left, self.right_head(rule).unwrap_or(rule.to.0)))
            })
        })
    }

    fn right(&self) -> &Side {
        self.right.get_or_init(|| {
            Side::new(self.heads.len(), &self.all, |rule| {
                let left = self.heads.find(rule.from, rule.top)?;
                Some((self.right_head(rule)?, left))
            })
        })
    }
}

/// A pushdown system with a weight for every rule.
#[derive(Clone, Debug)]
pub struct Pds<W> {
    rules: Arc<Rules>,
    weights: Vec<W>,
}

/// Rules are added here, and then sorted once.
#[derive(Clone, Debug)]
pub struct PdsBuilder<W> {
    states: u32,
    symbols: u32,
    rules: Vec<Rule>,
    weights: Vec<W>,
}

impl<W: Clone> PdsBuilder<W> {
    /// A system with these numbers of control states and symbols, and no rules yet.
    pub fn new(states: u32, symbols: u32) -> Self {
        PdsBuilder {
            states,
            symbols,
            rules: Vec::new(),
            weights: Vec::new(),
        }
    }

    /// The same rules with other weights, which depend on the number of a rule and its weight.
    pub fn map<V>(self, weight: impl Fn(u32, W) -> V) -> PdsBuilder<V> {
        let weights = (0..).zip(self.weights).map(|(rule, old)| weight(rule, old));
        PdsBuilder {
            weights: weights.collect(),
            states: self.states,
            symbols: self.symbols,
            rules: self.rules,
        }
    }

    /// Makes at least that many control states and symbols known.
    pub fn at_least(&mut self, states: u32, symbols: u32) {
        self.states = self.states.max(states);
        self.symbols = self.symbols.max(symbols);
    }

    /// Adds a rule; its number is how many there were before. Control states and symbols that are
    /// beyond those known become known.
    pub fn rule(&mut self, rule: Rule, weight: W) -> u32 {
        self.states = self.states.max(rule.from.0 + 1).max(rule.to.0 + 1);
        let symbols = match rule.replace {
            Replace::Pop => [rule.top, rule.top, rule.top],
            Replace::Step(symbol) => [rule.top, symbol, symbol],
            Replace::Push(first, second) => [rule.top, first, second],
        };
        for symbol in symbols {
            self.symbols = self.symbols.max(symbol.0 + 1);
        }
        let id = self.rules.len() as u32;
        self.rules.push(rule);
        self.weights.push(weight);
        id
    }

    /// Adds a rule with any number of symbols on the right, top first, as several rules of at most
    /// two. New symbols stand for what is still to be pushed. The first rule has the weight, the
    /// others have `one`.
    pub fn long_rule(
        &mut self,
        (from, top): (StateId, SymbolId),
        (to, stack): (StateId, &[SymbolId]),
        weight: W,
        one: &W,
    ) {
        let rule = |from, top, replace| Rule {
            from,
            top,
            to,
            replace,
            merge: None,
        };
        match *stack {
            [] => _ = self.rule(rule(from, top, Replace::Pop), weight),
            [only] => _ = self.rule(rule(from, top, Replace::Step(only)), weight),
            [first, second] => {
                self.rule(rule(from, top, Replace::Push(first, second)), weight);
            }
            [.., last] => {
                for symbol in stack {
                    self.symbols = self.symbols.max(symbol.0 + 1);
                }
                // A new symbol stands for all but the last, and so on from the bottom.
                let (mut from, mut top, mut weight) = (from, top, weight);
                let (mut rest, mut bottom) = (&stack[..stack.len() - 1], last);
                while let [less @ .., next] = rest
                    && !less.is_empty()
                {
                    let helper = SymbolId(self.symbols);
                    self.rule(rule(from, top, Replace::Push(helper, bottom)), weight);
                    (from, top, weight) = (to, helper, one.clone());
                    (rest, bottom) = (less, *next);
                }
                self.rule(rule(from, top, Replace::Push(rest[0], bottom)), weight);
            }
        }
    }

    /// Sorts the rules.
    pub fn build(self) -> Pds<W> {
        self.build_for(None, None)
    }

    /// Sorts the rules. In control states from `returns` on no callee returns; rules from `own` on
    /// belong to a question about the system.
    fn build_for(self, returns: Option<u32>, own: Option<usize>) -> Pds<W> {
        let PdsBuilder {
            states,
            symbols,
            rules,
            weights,
        } = self;
        let rules = Rules {
            states,
            returns: returns.unwrap_or(states),
            own: own.unwrap_or(rules.len()),
            symbols,
            heads: Heads::new(symbols, &rules),
            all: rules,
            left: OnceLock::new(),
            right: OnceLock::new(),
            procedures: OnceLock::new(),
            all_procedures: OnceLock::new(),
            calls: OnceLock::new(),
            pops: OnceLock::new(),
        };
        Pds {
            rules: Arc::new(rules),
            weights,
        }
    }
}

impl<W> Pds<W> {
    /// How many control states there are.
    pub fn states(&self) -> u32 {
        self.rules.states
    }

    /// How many stack symbols there are.
    pub fn symbols(&self) -> u32 {
        self.rules.symbols
    }

    /// The rules, in the order in which they were added.
    pub fn rules(&self) -> &[Rule] {
        &self.rules.all
    }

    /// The same system with that many control states, and with more rules, which read and write
    /// stacks: in their control states no callee returns. If `joined`, these rules make
    /// [procedures](Self::procedures) as the others do.
    pub(crate) fn with(
        &self,
        states: u32,
        joined: bool,
        more: impl IntoIterator<Item = (Rule, W)>,
    ) -> Self
    where
        W: Clone,
    {
        let own = self.rules().len();
        let mut builder = PdsBuilder {
            states: self.states().max(states),
            symbols: self.symbols(),
            rules: self.rules().to_vec(),
            weights: self.weights.clone(),
        };
        for (rule, weight) in more {
            builder.rule(rule, weight);
        }
        builder.build_for(Some(self.returns()), (!joined).then_some(own))
    }

    /// In control states below this one, a symbol that is gone stands for a callee that has
    /// returned: merge functions apply.
    #[inline]
    pub(crate) fn returns(&self) -> u32 {
        self.rules.returns
    }

    /// The weight of a rule.
    #[inline]
    pub fn weight(&self, rule: u32) -> &W {
        &self.weights[rule as usize]
    }

    /// The same rules with other weights.
    pub(crate) fn map<V>(&self, weight: impl Fn(&W) -> V) -> Pds<V> {
        Pds {
            rules: self.rules.clone(),
            weights: self.weights.iter().map(weight).collect(),
        }
    }

    /// The same rules without weights: only whether there is a path.
    pub(crate) fn skeleton(&self) -> Pds<bool> {
        Pds {
            rules: self.rules.clone(),
            weights: vec![true; self.weights.len()],
        }
    }

    /// The rules for a control state with this symbol on top.
    pub fn from(&self, state: StateId, top: SymbolId) -> impl Iterator<Item = u32> {
        let head = self.rules.heads.find(state, top).unwrap_or(u32::MAX - 1);
        self.rules.left().of(head).iter().map(|item| item.rule)
    }

    /// The rules that lead to a control state with this symbol on top. A pop has none.
    pub fn into(&self, state: StateId, top: SymbolId) -> impl Iterator<Item = u32> {
        let head = self.rules.heads.find(state, top).unwrap_or(u32::MAX - 1);
        self.rules.right().of(head).iter().map(|item| item.rule)
    }

    pub(crate) fn procedures(&self) -> &Procedures {
        let Rules {
            symbols, all, own, ..
        } = &*self.rules;
        (self.rules.procedures).get_or_init(|| Procedures::new(*symbols, &all[..*own]))
    }

    /// The procedures, with the rules of a question counted like the others. Then it holds without
    /// exception that a step, and what is behind a call, stays in its procedure, and that no callee is in a
    /// later part.
    pub(crate) fn all_procedures(&self) -> &Procedures {
        let Rules {
            symbols, all, own, ..
        } = &*self.rules;
        if *own == all.len() {
            return self.procedures();
        }
        (self.rules.all_procedures).get_or_init(|| Procedures::new(*symbols, all))
    }

    /// The calls of the system.
    pub(crate) fn calls(&self) -> &Calls {
        self.rules.calls.get_or_init(|| Calls::new(self))
    }

    /// The rules that pop.
    pub(crate) fn pops(&self) -> &[u32] {
        self.rules.pops.get_or_init(|| {
            let rules = (0..).zip(&self.rules.all);
            let pops = rules.filter(|(_, rule)| rule.replace == Replace::Pop);
            pops.map(|(number, _)| number).collect()
        })
    }

    pub(crate) fn heads(&self) -> &Heads {
        &self.rules.heads
    }

    /// The rules by their left-hand sides; the other head is the right one.
    pub(crate) fn left(&self) -> &Side {
        self.rules.left()
    }

    /// The rules by the tops of their right-hand sides; the other head is the left one.
    pub(crate) fn right(&self) -> &Side {
        self.rules.right()
    }
}
