//! Who gives a node a selector: whether a nonterminal does so in its rules at once, only later, or
//! never.
//!
//! A grammar is **locally concretisable** at a tentacle and a selector (Definition 5 of Heinen et al.,
//! *Juggrnaut*, FMSD 47(2), 2015) if the rules that give the node the selector at once stand for all heaps of
//! the nonterminal in which it has the selector. Then these rules are all that materialisation needs.
//! Otherwise they would lose heaps. So every rule is applied, until the selector is there or no rule can
//! give it. That may go on for ever; it is given up after a number of rules.
//!
//! That nothing is lost is tested on random grammars, `tests/random_grammars.rs`.

use std::collections::BTreeSet;

use crate::abstraction::AbstractionOptions;
use crate::code::Code;
use crate::grammar::{Grammar, Rule};
use crate::hypergraph::{Heap, Node};
use crate::symbols::{Nonterminal, Selector};

/// How a nonterminal gives the node at a tentacle a selector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Giving {
    /// No rule does.
    Never,
    /// The rules that do so at once stand for all.
    AtOnce,
    /// Some do so through a hyperedge, or not at all.
    Later,
}

impl Grammar {
    /// [`Grammar::reveal`] replaces at most so many hyperedges in search of one selector.
    pub const MOST_REPLACEMENTS: usize = 200;

    /// How a nonterminal gives the node at a tentacle a selector. It is found out when it is asked for.
    pub(crate) fn giving(
        &self,
        nonterminal: Nonterminal,
        tentacle: usize,
        selector: Selector,
    ) -> Giving {
        match self.noted_giving(nonterminal, tentacle, selector) {
            // A selector or nonterminal that no rule has.
            None => Giving::Never,
            Some(noted) => *noted.get_or_init(|| self.find_giving(nonterminal, tentacle, selector)),
        }
    }

    fn find_giving(&self, nonterminal: Nonterminal, tentacle: usize, selector: Selector) -> Giving {
        if !may_give(self, nonterminal, tentacle, selector) {
            return Giving::Never;
        }
        // What is left to others must be covered there, too.
        let mut seen = BTreeSet::from([(nonterminal, tentacle)]);
        let mut todo = vec![(nonterminal, tentacle)];
        while let Some((nonterminal, tentacle)) = todo.pop() {
            let at_once = !self.producers(nonterminal, tentacle, selector).is_empty();
            if !at_once
                || !uncovered(self, nonterminal, tentacle, selector, &mut || false).is_empty()
            {
                return Giving::Later;
            }
            for rule in self.rules_of(nonterminal) {
                let node = rule.tentacles[tentacle];
                if rule.graph.target(node, selector).is_none() {
                    let next = attached(&rule.graph, node);
                    let next = next.filter(|&(n, t)| may_give(self, n, t, selector));
                    todo.extend(next.filter(|&pair| seen.insert(pair)));
                }
            }
        }
        Giving::AtOnce
    }

    /// A hyperedge at the node that may hide the selector, with the tentacle.
    fn giver(&self, heap: &Heap, node: Node, selector: Selector) -> Option<(usize, usize, Giving)> {
        heap.hyperedges().enumerate().find_map(|(at, hyperedge)| {
            let nonterminal = hyperedge.label.nonterminal;
            let tentacles = hyperedge.tentacles.iter().enumerate();
            let mut own = tentacles.filter(|(_, attached)| **attached == node);
            own.find_map(|(tentacle, _)| {
                let giving = self.giving(nonterminal, tentacle, selector);
                (giving != Giving::Never).then_some((at, tentacle, giving))
            })
        })
    }

    /// Whether a hyperedge at the node may hide the selector.
    pub fn hides(&self, heap: &Heap, node: Node, selector: Selector) -> bool {
        self.giver(heap, node, selector).is_some()
    }

    /// What each derivation of a nonterminal gives: the nonterminal, a tentacle, and a selector of the node
    /// at it. It is the largest set such that every rule gives the selector at once, or by a hyperedge that
    /// must.
    pub fn must_give(&self) -> BTreeSet<(Nonterminal, usize, Selector)> {
        let selectors: BTreeSet<Selector> = (self.rules().iter())
            .flat_map(|rule| rule.graph.edges().map(|edge| edge.selector))
            .collect();
        let mut all: BTreeSet<(Nonterminal, usize, Selector)> = BTreeSet::new();
        for rule in self.rules() {
            for tentacle in 0..rule.tentacles.len() {
                let pairs = selectors.iter();
                all.extend(pairs.map(|&selector| (rule.nonterminal, tentacle, selector)));
            }
        }
        loop {
            let gives = |rule: &Rule, tentacle: usize, selector: Selector| {
                let node = rule.tentacles[tentacle];
                let mut attached = attached(&rule.graph, node);
                rule.graph.target(node, selector).is_some()
                    || attached.any(|(other, at)| all.contains(&(other, at, selector)))
            };
            let stays = |&&(nonterminal, tentacle, selector): &&(Nonterminal, usize, Selector)| {
                let mut rules = self.rules_of(nonterminal);
                rules.all(|rule| gives(rule, tentacle, selector))
            };
            let rest: BTreeSet<_> = all.iter().filter(stays).copied().collect();
            if rest.len() == all.len() {
                return all;
            }
            all = rest;
        }
    }

    /// The heaps in which a node has a selector, or nobody can give it one: together they stand for
    /// the same concrete heaps. Nodes keep their ids. `None` if [`Self::MOST_REPLACEMENTS`] are not
    /// enough.
    pub fn reveal(&self, heap: &Heap, node: Node, selector: Selector) -> Option<Vec<Heap>> {
        let mut found = Vec::new();
        let mut todo = vec![heap.clone()];
        let mut count = 0;
        while let Some(heap) = todo.pop() {
            if heap.target(node, selector).is_some() {
                found.push(heap);
                continue;
            }
            let Some((at, tentacle, giving)) = self.giver(&heap, node, selector) else {
                found.push(heap);
                continue;
            };
            let nonterminal = heap.hyperedge(at).label.nonterminal;
            if giving == Giving::AtOnce {
                let rules = self.producers(nonterminal, tentacle, selector).iter();
                let rules = rules.map(|&rule| &self.rules()[rule as usize]);
                found.extend(rules.filter_map(|rule| heap.replace(at, rule)));
                continue;
            }
            count += 1;
            if count > Self::MOST_REPLACEMENTS {
                return None;
            }
            let rules = self.rules_of(nonterminal);
            todo.extend(rules.filter_map(|rule| heap.replace(at, rule)));
        }
        Some(found)
    }
}

/// The hyperedges at a node, each with the tentacle.
fn attached(graph: &Heap, node: Node) -> impl Iterator<Item = (Nonterminal, usize)> + '_ {
    graph.hyperedges().flat_map(move |hyperedge| {
        let tentacles = hyperedge.tentacles.iter().enumerate();
        let own = tentacles.filter(move |(_, other)| **other == node);
        own.map(move |(at, _)| (hyperedge.label.nonterminal, at))
    })
}

/// Whether a nonterminal may give the node at a tentacle a selector, at once or later.
pub(crate) fn may_give(
    grammar: &Grammar,
    nonterminal: Nonterminal,
    tentacle: usize,
    selector: Selector,
) -> bool {
    let mut seen = BTreeSet::from([(nonterminal, tentacle)]);
    let mut todo = vec![(nonterminal, tentacle)];
    while let Some((nonterminal, tentacle)) = todo.pop() {
        for rule in grammar.rules_of(nonterminal) {
            let node = rule.tentacles[tentacle];
            if rule.graph.target(node, selector).is_some() {
                return true;
            }
            todo.extend(attached(&rule.graph, node).filter(|&pair| seen.insert(pair)));
        }
    }
    false
}

/// The rules that are not seen to be covered by those that give the selector at once. Those that
/// leave it to a hyperedge are derived one step further, and what results must be one of the rules
/// again, up to abstraction away from that node. With each rule comes whether it leaves the selector
/// out altogether.
pub(crate) fn uncovered<'a>(
    grammar: &'a Grammar,
    nonterminal: Nonterminal,
    tentacle: usize,
    selector: Selector,
    stop: &mut dyn FnMut() -> bool,
) -> Vec<(&'a Rule, bool)> {
    let options = AbstractionOptions {
        admissible_constants: true,
        ..AbstractionOptions::ADMISSIBLE
    };
    let normal = |heap: &Heap| -> Code {
        let mut heap = heap.clone();
        grammar.abstract_around(&mut heap, options, Some(tentacle));
        heap.code()
    };
    let at_once = |rule: &&Rule| {
        rule.graph
            .target(rule.tentacles[tentacle], selector)
            .is_some()
    };
    if grammar.rules_of(nonterminal).all(|rule| at_once(&rule)) {
        return Vec::new();
    }
    let mut known: BTreeSet<Code> = BTreeSet::new();
    for rule in grammar.rules_of(nonterminal).filter(at_once) {
        if stop() {
            return Vec::new();
        }
        known.insert(rule.graph.code());
        known.insert(normal(&rule.graph));
    }
    let rest = grammar.rules_of(nonterminal).filter(|rule| !at_once(rule));
    rest.filter_map(|rule| {
        if stop() {
            return None;
        }
        let node = rule.tentacles[tentacle];
        let next = grammar.materialise(&rule.graph, node, selector);
        let covered = next.iter().all(|heap| known.contains(&normal(heap)));
        (next.is_empty() || !covered).then_some((rule, next.is_empty()))
    })
    .collect()
}
