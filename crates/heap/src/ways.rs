//! A grammar without its indices, which can abstract a structure around a node deep inside of it.
//!
//! A variable or a mark in the middle of a balanced tree keeps the whole way from the root to it
//! concrete: a grammar of trees has no nonterminal for it, and its height would have to be told apart
//! from that of the tree below. Where heights do not matter, they are forgotten: every index goes, and
//! so does what is written on selectors. The grammar that is left derives all that the other one does,
//! and more. For it, a nonterminal `N without M` stands for a structure of `N` with a hole in which a
//! structure of `M` fits, as in [`Holes`](crate::Holes). But here the way can be looked at from both of
//! its ends, and be cut anywhere:
//!
//! * a rule of `N`, without one of its hyperedges `M`;
//! * a rule of `N`, one of whose hyperedges `K` has the hole: `K without M`;
//! * `N without K`, its hole filled by a `K without M`;
//! * and `N` itself is an `N without M`, its hole filled by an `M`.
//!
//! These are the rules that the predefined grammar of binary trees has for `RefTP`, for any grammar.
//! Each of them derives only what the rules of `N` derive, so nothing is added by them; `tests/ways.rs`
//! sees to that.

use std::collections::BTreeSet;

use crate::code::Code;
use crate::grammar::{Fragment, Grammar};
use crate::holes::{Key, Making};
use crate::hypergraph::{Edge, Heap, Node};
use crate::symbols::{Annotation, Index, Label, Nonterminal, Symbols};

impl Heap {
    /// Forgets all indices, and what is written on selectors.
    pub fn forget_heights(&mut self) {
        self.forget_indices();
        for at in 0..self.hyperedge_count() {
            let nonterminal = self.hyperedge(at).label.nonterminal;
            self.relabel(at, nonterminal.into());
        }
        let edges: Vec<Edge> = self.edges().collect();
        for edge in edges {
            let annotation = Annotation::NONE;
            self.set_edge(Edge { annotation, ..edge });
        }
    }
}

impl Grammar {
    /// The grammar without its indices, and with nonterminals for structures with a hole. `None` if
    /// there would be too many of them.
    pub fn without_heights(&self, symbols: &mut Symbols) -> Option<Grammar> {
        let mut seen: BTreeSet<(Nonterminal, Code)> = BTreeSet::new();
        let mut fragments = Vec::new();
        for fragment in self.fragments() {
            let mut rules = fragment.rules.clone();
            rules.iter_mut().for_each(Heap::forget_heights);
            // Rules that differed in nothing but heights are one.
            rules.retain(|rule| seen.insert((fragment.nonterminal, rule.code())));
            fragments.push(Fragment {
                index: Index::NONE,
                rules,
                ..fragment.clone()
            });
        }
        let plain = Grammar::new(symbols, fragments);
        let mut making = Making::new(symbols, &plain);
        making.beginnings()?;
        let mut joined: BTreeSet<(Key, Key)> = BTreeSet::new();
        while let Some(key) = making.todo.pop() {
            making.below_rules(&key)?;
            if making.todo.is_empty() {
                making.join(&mut joined)?;
            }
        }
        making.finish_ways()
    }
}

impl Making<'_> {
    /// Rules one of whose hyperedges has the hole.
    fn below_rules(&mut self, key: &Key) -> Option<()> {
        let grammar = self.grammar;
        for rule in grammar.rules().iter().filter(|rule| !rule.collapsed) {
            for at in 0..rule.graph.hyperedge_count() {
                let below = rule.graph.hyperedge(at);
                if below.label.nonterminal == key.0 {
                    let mut graph = rule.graph.clone();
                    graph.remove_hyperedge(at);
                    self.hang(rule.nonterminal, graph, key, below.tentacles)?;
                }
            }
        }
        Some(())
    }

    /// Ways whose hole is filled by the beginning of another one.
    fn join(&mut self, joined: &mut BTreeSet<(Key, Key)>) -> Option<()> {
        let keys: Vec<Key> = self.known.keys().cloned().collect();
        for upper in &keys {
            for lower in keys.iter().filter(|lower| lower.0 == upper.1) {
                if !joined.insert((upper.clone(), lower.clone())) {
                    continue;
                }
                let (mut graph, around, inside) = self.frame(upper)?;
                graph.add_hyperedge(self.nonterminal(upper)?.into(), &around);
                self.hang(upper.0, graph, lower, &inside)?;
            }
        }
        Some(())
    }

    /// Adds a way to a graph of `whole`, and the rule that results: what is in the hole of the way is
    /// left out.
    fn hang(&mut self, whole: Nonterminal, mut graph: Heap, way: &Key, at: &[Node]) -> Option<()> {
        let (_, hole, places) = way;
        let mut around = at.to_vec();
        let mut inside = Vec::new();
        for (tentacle, place) in places.iter().enumerate() {
            let node = match place {
                Some(place) => at[*place],
                None => graph.add_node(self.tentacle_type(*hole, tentacle)?),
            };
            if place.is_none() {
                around.push(node);
            }
            inside.push(node);
        }
        graph.add_hyperedge(self.nonterminal(way)?.into(), &around);
        graph.add_hyperedge((*hole).into(), &inside);
        let last = graph.hyperedge_count() - 1;
        self.left_out(whole, &graph, last, false)
    }

    fn finish_ways(self) -> Option<Grammar> {
        let mut fragments = self.grammar.fragments().to_vec();
        for (key, &way) in &self.known {
            let (mut graph, around, inside) = self.frame(key)?;
            graph.add_hyperedge(way.into(), &around);
            graph.add_hyperedge(Label::from(key.1), &inside);
            fragments.push(fragment(key.0, graph));
        }
        for way in self.rules {
            let nonterminal = *self.known.get(&way.key)?;
            fragments.push(fragment(nonterminal, way.graph));
        }
        Some(Grammar::new(self.symbols, fragments))
    }
}

/// A rule without an index.
fn fragment(nonterminal: Nonterminal, rule: Heap) -> Fragment {
    Fragment {
        nonterminal,
        index: Index::NONE,
        reduction: None,
        rules: vec![rule],
    }
}
