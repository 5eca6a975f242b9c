//! Concurrent pushdown systems: threads with a stack each that share their control state.
//!
//! Which configurations are reachable is undecidable in general. With a bound on the number of
//! contexts it is decidable (S. Qadeer, J. Rehof, TACAS 2005), and often more contexts lead nowhere
//! new; then the answer is good for any number (P. Liu, T. Wahl: Interprocedural context-unbounded
//! program analysis using observation sequences, PLDI 2018; the tool CUBA). [`search`](fn@search) goes
//! through the numbers of contexts and stops for one of these reasons:
//!
//! * The target is met. The answer is the least number of contexts, and a run of each.
//! * A finite abstraction does not meet it (`visible`).
//! * No new sets of configurations are found (`search`, `stacks`).
//! * All visible states have been seen (`visible`).
//! * A limit is reached.

mod rules;
mod search;
pub mod stacks;
pub mod visible;
mod witness;

use droste_base::{Limits, StopReason};

use crate::system::{Pds, PdsBuilder, Replace, Rule, StateId, SymbolId};
use crate::witness::Witness;

pub use search::search;

/// A thread.
///
/// Rules may apply to the empty stack. A pushdown system has no such rules. If a thread has some, its
/// lowest symbol is a marked copy of the symbol, and the empty stack is a symbol of its own. Every
/// configuration and every step have exactly one copy then.
#[derive(Clone, Debug)]
struct Thread {
    pds: Pds<bool>,
    /// The stack at the start, top first.
    stack: Vec<SymbolId>,
    /// For each rule, the given one that it is.
    origin: Vec<u32>,
    /// How many symbols there are without the copies, if there are copies.
    marked: Option<u32>,
}

impl Thread {
    fn new(states: u32, rules: &[Rule], stack: &[SymbolId]) -> Self {
        let symbols = rules.iter().flat_map(|rule| match rule.replace {
            Replace::Pop => [rule.top; 3],
            Replace::Step(symbol) => [rule.top, symbol, symbol],
            Replace::Push(first, second) => [rule.top, first, second],
        });
        let symbols = symbols.filter(|&symbol| symbol != SymbolId::EPSILON);
        let symbols = symbols.chain(stack.iter().copied());
        let count = symbols.map(|symbol| symbol.0 + 1).max().unwrap_or(0);
        let on_empty = rules.iter().any(|rule| rule.top == SymbolId::EPSILON);
        let marked = on_empty.then_some(count);
        let mark = |symbol: SymbolId| SymbolId(count + symbol.0);
        let empty = SymbolId(2 * count);
        let mut builder = PdsBuilder::new(states, if on_empty { 2 * count + 1 } else { count });
        let mut origin = Vec::new();
        for (id, rule) in (0..).zip(rules) {
            if rule.top != SymbolId::EPSILON {
                builder.rule(*rule, true);
                origin.push(id);
            }
            if on_empty {
                let top = match rule.top {
                    SymbolId::EPSILON => empty,
                    top => mark(top),
                };
                let replace = match rule.replace {
                    Replace::Pop => Replace::Step(empty),
                    Replace::Step(symbol) => Replace::Step(mark(symbol)),
                    Replace::Push(first, second) => Replace::Push(first, mark(second)),
                };
                let copy = Rule {
                    top,
                    replace,
                    ..*rule
                };
                builder.rule(copy, true);
                origin.push(id);
            }
        }
        let mut stack = stack.to_vec();
        if on_empty {
            match stack.last_mut() {
                Some(last) => *last = mark(*last),
                None => stack.push(empty),
            }
        }
        Thread {
            pds: builder.build(),
            stack,
            origin,
            marked,
        }
    }

    /// The symbol of which this is a copy; none if it stands for the empty stack.
    fn plain(&self, symbol: u32) -> Option<u32> {
        match self.marked {
            Some(count) if symbol == 2 * count => None,
            Some(count) if symbol >= count => Some(symbol - count),
            _ => Some(symbol),
        }
    }

    /// Whether a stack with this on top, or nothing, is looked for.
    fn has(&self, symbol: Option<u32>, top: Top) -> bool {
        let symbol = symbol.and_then(|symbol| self.plain(symbol));
        match top {
            Top::Any => true,
            Top::Empty => symbol.is_none(),
            Top::Is(wanted) => symbol == Some(wanted.0),
        }
    }
}

/// A concurrent pushdown system.
#[derive(Clone, Debug)]
pub struct Concurrent {
    /// The shared state at the start.
    shared: StateId,
    threads: Vec<Thread>,
}

impl Concurrent {
    /// A system with this number of shared states that starts in one of them. Each thread has rules,
    /// whose control states are the shared states, and a stack at the start, the top first. A rule
    /// whose top is [`SymbolId::EPSILON`] applies to the empty stack. Shared states beyond those
    /// known become known.
    pub fn new(states: u32, shared: StateId, threads: &[(Vec<Rule>, Vec<SymbolId>)]) -> Self {
        let rules = threads.iter().flat_map(|(rules, _)| rules);
        let used = rules.map(|rule| rule.from.0.max(rule.to.0) + 1).max();
        let states = states.max(shared.0 + 1).max(used.unwrap_or(0));
        let threads = threads.iter();
        let threads = threads.map(|(rules, stack)| Thread::new(states, rules, stack));
        Concurrent {
            shared,
            threads: threads.collect(),
        }
    }

    /// How many threads there are.
    pub fn threads(&self) -> usize {
        self.threads.len()
    }
}

/// What is on top of a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Top {
    /// Anything, or nothing.
    Any,
    /// Nothing: the stack is empty.
    Empty,
    /// This symbol.
    Is(SymbolId),
}

/// What is looked for: a set of visible states.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The shared state; `None` for any.
    pub shared: Option<StateId>,
    /// For each thread; threads that are not listed may have anything on top.
    pub tops: Vec<Top>,
}

/// How to search.
#[derive(Clone, Debug)]
pub struct Options {
    /// The greatest number of contexts that is looked at; `None` for any number.
    pub contexts: Option<usize>,
    /// Whether the abstraction alone may answer.
    pub by_abstraction: bool,
    /// Whether it is enough that all visible states have been seen.
    pub by_visible: bool,
    /// The abstraction is explored when so many contexts have been looked at: often fewer are enough,
    /// and it may be large.
    pub after: usize,
    /// When to give up. The limit on path edges is one on aggregates here.
    pub limits: Limits,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            contexts: None,
            by_abstraction: true,
            by_visible: true,
            after: 6,
            limits: Limits::default(),
        }
    }
}

/// A context of a run that meets the target.
#[derive(Clone, Debug)]
pub struct Context {
    /// The thread that is active.
    pub thread: usize,
    /// What it does: shared state and stack at the beginning and at the end of the context, and
    /// which of its rules it applies in between.
    pub run: Witness,
}

/// Why no number of contexts meets the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proof {
    /// The abstraction does not.
    Abstraction,
    /// No new sets of configurations are found.
    Configurations,
    /// All visible states have been seen.
    Visible,
}

/// What has been found out.
#[derive(Clone, Debug)]
pub enum Finding {
    /// The target is met by these contexts, and not by fewer.
    Reached(Vec<Context>),
    /// The target is not met within the bound.
    NotWithin(usize),
    /// The target is not met, whatever the number of contexts.
    Never(Proof),
    /// A limit was reached. Up to this number of contexts, if any, the target is not met.
    Stopped(StopReason, Option<usize>),
}

/// What it took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// The number of contexts that was reached.
    pub contexts: usize,
    /// Sets of configurations: a shared state, and a set of stacks for every thread.
    pub aggregates: usize,
    /// Contexts of single threads that were explored by post*.
    pub saturations: usize,
    /// Nodes of the automaton of all sets of stacks.
    pub nodes: usize,
    /// Visible states that were seen, if that was of interest.
    pub visible: usize,
    /// States of the abstraction, if it was explored completely.
    pub abstraction: usize,
}
