//! Pushdown systems (section 2.1 of the FWPDS paper), as flat tables.
//!
//! A rule `⟨p, γ⟩ → ⟨p′, u⟩` replaces the symbol on top of the stack by `u`. Longer right-hand
//! sides than two symbols are cut into several rules when they are added. Rules are sorted by
//! their left-hand sides, so that the rules of one head are next to each other; a second table
//! finds them by the control state and top symbol that they lead to. Weights are out of line, by
//! the number of their rule.

use std::fmt;
use std::sync::Arc;

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

/// Ranges of a table, found by two numbers: `keys` of the group `outer` are sorted by `inner`.
#[derive(Clone, Debug, Default)]
struct Index {
    /// For each `outer`, where its groups begin.
    groups: Vec<u32>,
    inner: Vec<u32>,
    /// For each group, where its items begin; one more at the end.
    items: Vec<u32>,
    /// The items, sorted by group.
    order: Vec<u32>,
}

impl Index {
    /// Groups the items `0..count` by their keys, which are pairs with the first below `outer`.
    /// Items without a key are left out.
    fn new(outer: usize, count: usize, key: impl Fn(usize) -> Option<(u32, u32)>) -> Self {
        // Two passes of counting sort would need a table as long as there are states; there may
        // be as many as rules. Sorting is by comparison inside one symbol only.
        let mut sizes = vec![0u32; outer + 1];
        for (first, _) in (0..count).filter_map(&key) {
            sizes[first as usize + 1] += 1;
        }
        for i in 1..sizes.len() {
            sizes[i] += sizes[i - 1];
        }
        let mut next = sizes.clone();
        let mut order = vec![0u32; *sizes.last().unwrap_or(&0) as usize];
        for item in 0..count {
            if let Some((first, _)) = key(item) {
                let place = &mut next[first as usize];
                order[*place as usize] = item as u32;
                *place += 1;
            }
        }
        let second = |item: u32| key(item as usize).map_or(0, |(_, second)| second);
        let mut index = Index {
            groups: Vec::with_capacity(outer + 1),
            ..Index::default()
        };
        for first in 0..outer {
            index.groups.push(index.inner.len() as u32);
            let range = sizes[first] as usize..sizes[first + 1] as usize;
            let group = &mut order[range.clone()];
            if group.windows(2).any(|two| second(two[0]) > second(two[1])) {
                group.sort_by_key(|&item| second(item));
            }
            let mut last = None;
            for (at, &item) in range.zip(group.iter()) {
                let inner = second(item);
                if last != Some(inner) {
                    index.inner.push(inner);
                    index.items.push(at as u32);
                    last = Some(inner);
                }
            }
        }
        index.groups.push(index.inner.len() as u32);
        index.items.push(order.len() as u32);
        index.order = order;
        index
    }

    /// The items with this key.
    #[inline]
    fn get(&self, outer: u32, inner: u32) -> &[u32] {
        let (Some(&begin), Some(&end)) = (
            self.groups.get(outer as usize),
            self.groups.get(outer as usize + 1),
        ) else {
            return &[];
        };
        let keys = &self.inner[begin as usize..end as usize];
        let found = match keys {
            // The usual case, and the fastest.
            [only] if *only == inner => 0,
            keys => match keys.binary_search(&inner) {
                Ok(found) => found,
                Err(_) => return &[],
            },
        };
        let group = begin as usize + found;
        &self.order[self.items[group] as usize..self.items[group + 1] as usize]
    }
}

/// The rules of a system, and where to find them.
#[derive(Debug)]
struct Rules {
    states: u32,
    symbols: u32,
    all: Vec<Rule>,
    by_left: Index,
    by_right: Index,
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
        let PdsBuilder {
            states,
            symbols,
            rules,
            weights,
        } = self;
        let by_left = Index::new(symbols as usize, rules.len(), |i| {
            Some((rules[i].top.0, rules[i].from.0))
        });
        let by_right = Index::new(symbols as usize, rules.len(), |i| match rules[i].replace {
            Replace::Pop => None,
            Replace::Step(first) | Replace::Push(first, _) => Some((first.0, rules[i].to.0)),
        });
        let rules = Rules {
            states,
            symbols,
            all: rules,
            by_left,
            by_right,
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

    /// The weight of a rule.
    #[inline]
    pub fn weight(&self, rule: u32) -> &W {
        &self.weights[rule as usize]
    }

    /// The same rules without weights: only whether there is a path.
    pub(crate) fn skeleton(&self) -> Pds<bool> {
        Pds {
            rules: self.rules.clone(),
            weights: vec![true; self.weights.len()],
        }
    }

    /// The rules for a head.
    #[inline]
    pub fn from(&self, state: StateId, top: SymbolId) -> &[u32] {
        self.rules.by_left.get(top.0, state.0)
    }

    /// The rules that lead to a control state with this symbol on top. A pop has none.
    #[inline]
    pub fn into(&self, state: StateId, top: SymbolId) -> &[u32] {
        self.rules.by_right.get(top.0, state.0)
    }
}
