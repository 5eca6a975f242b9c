//! Structures with a hole: what is around a part of a heap while a callee works on that part.
//!
//! A recursive method that walks down a tree leaves behind the way from the root to where it is, with
//! a tree beside each node. A grammar of trees has no nonterminal for this, so the context of its
//! calls would grow for ever. The nonterminals are made here. `N without M` stands for a structure of
//! `N` from whose derivation a hyperedge `M` was left out:
//!
//! * a rule of `N`, without one of its hyperedges `M`;
//! * a structure `N without K`, its hole filled by a rule of `K`, without a hyperedge `M` of that.
//!
//! So the way grows at its lower end, as calls do. Its tentacles are those of `N`, then those of `M`
//! that are none of them. Its index is that of the hole, which has to be known to fill it. The index
//! of the whole is forgotten: it grows with the way. `N of any index` is a way with its hole filled.
//!
//! Abstraction with these rules stands for more heaps, as with all rules; `tests/holes.rs` fills holes
//! of random ways again.

use std::collections::BTreeMap;

use crate::grammar::{Fragment, Grammar};
use crate::hypergraph::{Heap, Node};
use crate::symbols::{End, Index, Label, Nonterminal, Symbols};

/// A grammar with nonterminals for structures with a hole.
#[derive(Clone, Debug)]
pub struct Holes {
    /// The rules of the grammar, and those for structures with a hole.
    pub grammar: Grammar,
    /// The nonterminals for structures of any index, each with the nonterminal they belong to.
    closed: Vec<(Nonterminal, Nonterminal)>,
    /// All nonterminals that were made.
    made: Vec<Nonterminal>,
}

/// Which structure with which hole: `N`, `M`, and for each tentacle of `M` the tentacle of `N` that
/// is at the same node, if one is.
pub(crate) type Key = (Nonterminal, Nonterminal, Vec<Option<usize>>);

/// More nonterminals, or rules, are too many.
const MOST_NONTERMINALS: usize = 64;
const MOST_RULES: usize = 2_000;

impl Holes {
    /// Adds nonterminals for structures with a hole to a grammar. `None` if it has no indices, for
    /// then its author can write them, or if there are too many.
    pub fn new(symbols: &mut Symbols, grammar: &Grammar) -> Option<Holes> {
        if !grammar.indexed {
            return None;
        }
        let mut making = Making::new(symbols, grammar);
        making.beginnings()?;
        while let Some(key) = making.todo.pop() {
            making.longer(&key)?;
        }
        making.finish()
    }

    /// Whether a heap has a hyperedge of these nonterminals.
    pub fn is_used(&self, heap: &Heap) -> bool {
        let mut labels = heap.hyperedges().map(|h| h.label.nonterminal);
        labels.any(|label| self.made.contains(&label))
    }

    /// Whether a heap has a hole.
    pub(crate) fn is_open(&self, heap: &Heap) -> bool {
        let mut labels = heap.hyperedges().map(|h| h.label.nonterminal);
        let closed = |label: Nonterminal| self.closed.iter().any(|pair| pair.0 == label);
        labels.any(|label| self.made.contains(&label) && !closed(label))
    }

    /// These nonterminals, also with any index.
    pub fn closed(&self, one_of: &[Nonterminal]) -> Vec<Nonterminal> {
        let closed = self.closed.iter();
        let closed = closed.filter(|(_, of)| one_of.contains(of));
        let closed = closed.map(|&(closed, _)| closed);
        one_of.iter().copied().chain(closed).collect()
    }
}

/// A rule of a structure with a hole.
pub(crate) struct Way {
    pub(crate) key: Key,
    index: Index,
    pub(crate) graph: Heap,
    /// Whether it begins at the root.
    begins: bool,
}

/// Nonterminals for structures with a hole, while they are made.
pub(crate) struct Making<'a> {
    pub(crate) symbols: &'a mut Symbols,
    pub(crate) grammar: &'a Grammar,
    pub(crate) known: BTreeMap<Key, Nonterminal>,
    pub(crate) rules: Vec<Way>,
    pub(crate) todo: Vec<Key>,
}

impl<'a> Making<'a> {
    pub(crate) fn new(symbols: &'a mut Symbols, grammar: &'a Grammar) -> Self {
        Making {
            symbols,
            grammar,
            known: BTreeMap::new(),
            rules: Vec::new(),
            todo: Vec::new(),
        }
    }

    /// The nonterminal of a structure with a hole, new or not.
    pub(crate) fn nonterminal(&mut self, key: &Key) -> Option<Nonterminal> {
        if let Some(&known) = self.known.get(key) {
            return Some(known);
        }
        let (whole, hole, places) = key;
        let name = |nonterminal| self.symbols.nonterminal_name(nonterminal);
        let places_text: Vec<String> = (places.iter())
            .map(|place| place.map_or("_".into(), |at| (at + 1).to_string()))
            .collect();
        let places_text = places_text.join(" ");
        let name = format!("{} without {}({places_text})", name(*whole), name(*hole));
        let own = places.iter().filter(|place| place.is_none()).count();
        let rank = self.symbols.rank(*whole) + own;
        if self.known.len() >= MOST_NONTERMINALS || !self.symbols.has_room(2) {
            return None;
        }
        let made = self.symbols.add_nonterminal(&name, rank).ok()?;
        self.known.insert(key.clone(), made);
        self.todo.push(key.clone());
        Some(made)
    }

    /// Rules of the grammar without a hyperedge.
    pub(crate) fn beginnings(&mut self) -> Option<()> {
        let grammar = self.grammar;
        for rule in grammar.rules().iter().filter(|rule| !rule.collapsed) {
            for at in 0..rule.graph.hyperedge_count() {
                self.left_out(rule.nonterminal, &rule.graph, at, true)?;
            }
        }
        Some(())
    }

    /// Ways whose hole is filled by a rule without a hyperedge.
    fn longer(&mut self, key: &Key) -> Option<()> {
        let (whole, middle, places) = key;
        let way = self.nonterminal(key)?;
        let grammar = self.grammar;
        for rule in grammar.rules_of(*middle) {
            // Nodes of the rule that are tentacles of the whole as well are the same.
            let mut graph = rule.graph.clone();
            let mut externals = Vec::new();
            for tentacle in 0..self.symbols.rank(*whole) {
                let same = places.iter().position(|place| *place == Some(tentacle));
                let node = match same {
                    Some(at) => rule.tentacles[at],
                    None => graph.add_node(self.tentacle_type(*whole, tentacle)?),
                };
                externals.push(node);
            }
            let own = (places.iter().zip(&rule.tentacles))
                .filter(|(place, _)| place.is_none())
                .map(|(_, &node)| node);
            let tentacles: Vec<Node> = externals.iter().copied().chain(own).collect();
            graph.set_externals(&externals);
            let label = Label {
                nonterminal: way,
                index: rule.index,
            };
            graph.add_hyperedge(label, &tentacles);
            for at in 0..rule.graph.hyperedge_count() {
                self.left_out(*whole, &graph, at, false)?;
            }
        }
        Some(())
    }

    /// The type of the node at a tentacle, by the first rule.
    pub(crate) fn tentacle_type(
        &self,
        whole: Nonterminal,
        tentacle: usize,
    ) -> Option<crate::TypeId> {
        let rule = self.grammar.rules_of(whole).next()?;
        Some(rule.graph.node_type(rule.tentacles[tentacle]))
    }

    /// The rule for a graph of `whole` from which a hyperedge is left out.
    pub(crate) fn left_out(
        &mut self,
        whole: Nonterminal,
        graph: &Heap,
        at: usize,
        begins: bool,
    ) -> Option<()> {
        let hole = graph.hyperedge(at);
        let externals = graph.externals();
        let place = |node: &Node| externals.iter().position(|one| one == node);
        let places: Vec<Option<usize>> = hole.tentacles.iter().map(place).collect();
        let own = hole.tentacles.iter().zip(&places);
        let own = own.filter(|(_, place)| place.is_none());
        let own: Vec<Node> = own.map(|(&node, _)| node).collect();
        let (label, twice) = (hole.label, has_twice(&own));
        // What the index variable stands for must be known from what is left.
        let is_any = |index: Index| matches!(index.parts(), Some((_, End::Any)));
        let others = graph.hyperedges().enumerate().filter(|(one, _)| *one != at);
        let bound = !is_any(label.index) || others.into_iter().any(|(_, h)| is_any(h.label.index));
        if twice || !bound {
            return Some(());
        }
        let all: Vec<Node> = externals.iter().copied().chain(own).collect();
        let mut graph = graph.clone();
        graph.remove_hyperedge(at);
        graph.set_externals(&all);
        let key = (whole, label.nonterminal, places);
        self.nonterminal(&key)?;
        self.rules.push(Way {
            key,
            index: label.index,
            graph,
            begins,
        });
        (self.rules.len() <= MOST_RULES).then_some(())
    }

    fn finish(mut self) -> Option<Holes> {
        let mut fragments = self.grammar.fragments().to_vec();
        // A way that is there is made longer before another one begins.
        self.rules.sort_by_key(|way| way.begins);
        let mut beginnings: Vec<Beginning> = Vec::new();
        let mut counts: BTreeMap<Nonterminal, usize> = BTreeMap::new();
        for way in &self.rules {
            let nonterminal = *self.known.get(&way.key)?;
            let number = counts.entry(nonterminal).or_default();
            if way.begins {
                beginnings.push((nonterminal, *number, way.key.0));
            }
            *number += 1;
            fragments.push(Fragment {
                nonterminal,
                index: way.index,
                reduction: None,
                rules: vec![way.graph.clone()],
            });
        }
        let mut closed: Vec<(Nonterminal, Nonterminal)> = Vec::new();
        let keys: Vec<(Key, Nonterminal)> = (self.known.iter())
            .map(|(key, &way)| (key.clone(), way))
            .collect();
        for (key, way) in keys {
            let whole = key.0;
            let name = self.symbols.nonterminal_name(whole);
            let name = format!("{name} of any index");
            let rank = self.symbols.rank(whole);
            let made = self.symbols.add_nonterminal(&name, rank).ok()?;
            if !closed.contains(&(made, whole)) {
                closed.push((made, whole));
            }
            let rules = self.filled(&key, way)?;
            fragments.push(Fragment {
                nonterminal: made,
                index: Index::NONE,
                reduction: None,
                rules,
            });
        }
        let mut grammar = Grammar::new(self.symbols, fragments);
        grammar.begin_at_roots(&beginnings);
        let made = self.known.into_values();
        let made = made.chain(closed.iter().map(|pair| pair.0)).collect();
        Some(Holes {
            grammar,
            closed,
            made,
        })
    }

    /// The hole filled, by a structure of the index that fits.
    fn filled(&self, key: &Key, way: Nonterminal) -> Option<Vec<Heap>> {
        let (graph, around, inside) = self.frame(key)?;
        let any = Index::new(0, End::Any)?;
        let indices = [any, Index::NONE].into_iter();
        let with = |index: Index| {
            let mut graph = graph.clone();
            let nonterminal = way;
            graph.add_hyperedge(Label { nonterminal, index }, &around);
            let nonterminal = key.1;
            graph.add_hyperedge(Label { nonterminal, index }, &inside);
            graph
        };
        Some(indices.map(with).collect())
    }

    /// The nodes of a structure and of its hole, the tentacles of the structure being external; where
    /// the tentacles of the way are, and those of what is in the hole.
    pub(crate) fn frame(&self, key: &Key) -> Option<(Heap, Vec<Node>, Vec<Node>)> {
        let (whole, hole, places) = key;
        let mut graph = Heap::new();
        for tentacle in 0..self.symbols.rank(*whole) {
            let node = graph.add_node(self.tentacle_type(*whole, tentacle)?);
            graph.add_external(node);
        }
        let externals = graph.externals().to_vec();
        let mut around = externals.clone();
        let mut inside = Vec::new();
        for (tentacle, place) in places.iter().enumerate() {
            if let Some(at) = place {
                inside.push(externals[*at]);
            } else {
                let node = graph.add_node(self.tentacle_type(*hole, tentacle)?);
                around.push(node);
                inside.push(node);
            }
        }
        Some((graph, around, inside))
    }
}

/// A rule that begins a way, by its nonterminal and number, and the nonterminal of the whole.
type Beginning = (Nonterminal, usize, Nonterminal);

fn has_twice(nodes: &[Node]) -> bool {
    let mut nodes = nodes.iter().enumerate();
    let all = nodes.clone();
    nodes.any(|(at, node)| all.clone().skip(at + 1).any(|(_, other)| other == node))
}

impl Grammar {
    /// For rules that begin a way: the node from which selectors go out must be a root, to which
    /// nothing leads. Otherwise a way might begin in the middle.
    fn begin_at_roots(&mut self, beginnings: &[Beginning]) {
        let mut roots: Vec<Vec<Node>> = Vec::new();
        for rule in self.rules() {
            let mut all = beginnings.iter();
            let begins = all.find(|one| (one.0, one.1) == (rule.nonterminal, rule.number));
            let whole = begins.map(|one| one.2);
            let tentacles = rule.tentacles.iter().enumerate();
            let own = tentacles
                .filter(|(at, _)| whole.is_some_and(|whole| !self.is_reduction(whole, *at)));
            let leaves = |node: &Node| rule.graph.edges_of(*node).next().is_some();
            roots.push(own.map(|(_, &node)| node).filter(leaves).collect());
        }
        for (rule, roots) in self.rules_mut().iter_mut().zip(roots) {
            for node in roots {
                rule.plan.needs[node.at()].root = true;
            }
        }
    }
}
