//! Refinement of a grammar for reachability: every nonterminal knows which of its tentacles reach
//! which.
//!
//! The scheme is that of Jansen, Katelaan, Matheja, Noll and Zuleger, *Unified reasoning about
//! robustness properties of symbolic-heap separation logic*, ESOP 2017: the state of a heap
//! automaton is the **kernel** of a fragment, here the relation "there is a path of at least one
//! selector" between its external nodes. A nonterminal becomes a pair of itself and a kernel, a
//! rule one rule for each way to choose the kernels of its hyperedges. Afterwards reachability
//! between nodes of an abstract heap is decided by the heap alone.

use std::collections::{BTreeMap, BTreeSet};

use crate::grammar::{Fragment, Grammar};
use crate::hypergraph::{Heap, Node};
use crate::symbols::{Label, Nonterminal, Selector, Symbols};

/// For each set of selectors, which tentacle reaches which: bit `i * rank + j`.
type Kernel = Vec<u64>;

/// A nonterminal has too many tentacles, or the refined grammar too many rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLarge;

const MOST_TENTACLES: usize = 8;
const MOST_RULES: usize = 20_000;

/// A refined grammar.
#[derive(Clone, Debug)]
pub struct Refinement {
    /// The refined grammar.
    pub grammar: Grammar,
    sets: Vec<Option<Vec<Selector>>>,
    /// The refined nonterminals of each nonterminal.
    variants: BTreeMap<Nonterminal, Vec<Nonterminal>>,
    kernels: BTreeMap<Nonterminal, (Nonterminal, Kernel)>,
}

impl Refinement {
    /// Refines a grammar for reachability along these sets of selectors; `None` stands for all
    /// selectors.
    pub fn new(
        symbols: &mut Symbols,
        grammar: &Grammar,
        sets: &[Option<Vec<Selector>>],
    ) -> Result<Refinement, TooLarge> {
        let mut refinement = Refinement {
            grammar: Grammar::default(),
            sets: sets.to_vec(),
            variants: BTreeMap::new(),
            kernels: BTreeMap::new(),
        };
        let known = grammar
            .rules()
            .iter()
            .flat_map(|rule| rule.graph.hyperedges());
        let known = known.map(|hyperedge| hyperedge.label.nonterminal);
        for nonterminal in known.chain(grammar.nonterminals().iter().copied()) {
            if symbols.rank(nonterminal) > MOST_TENTACLES {
                return Err(TooLarge);
            }
            refinement.variants.entry(nonterminal).or_default();
        }
        // Kernels are found until no rule gives a new one; rules are kept with their choices.
        let mut rules: BTreeMap<(usize, usize, Vec<Nonterminal>), Nonterminal> = BTreeMap::new();
        loop {
            let before = (rules.len(), refinement.kernels.len());
            for (part, fragment) in grammar.fragments().iter().enumerate() {
                for (number, graph) in fragment.rules.iter().enumerate() {
                    for choice in refinement.choices(graph) {
                        let key = (part, number, choice);
                        if rules.contains_key(&key) {
                            continue;
                        }
                        let graph = relabelled(graph, &key.2);
                        let kernel = refinement.kernel(&graph);
                        let refined = refinement.variant(symbols, fragment.nonterminal, kernel)?;
                        rules.insert(key, refined);
                        if rules.len() > MOST_RULES {
                            return Err(TooLarge);
                        }
                    }
                }
            }
            if before == (rules.len(), refinement.kernels.len()) {
                break;
            }
        }
        let mut fragments: Vec<Fragment> = Vec::new();
        for (part, fragment) in grammar.fragments().iter().enumerate() {
            for &refined in &refinement.variants[&fragment.nonterminal] {
                let own = rules
                    .iter()
                    .filter(|((p, ..), r)| *p == part && **r == refined);
                let own = own
                    .map(|((_, number, choice), _)| relabelled(&fragment.rules[*number], choice));
                let own: Vec<Heap> = own.collect();
                if !own.is_empty() {
                    fragments.push(Fragment {
                        nonterminal: refined,
                        rules: own,
                        ..fragment.clone()
                    });
                }
            }
        }
        refinement.grammar = Grammar::new(symbols, fragments);
        Ok(refinement)
    }

    /// All ways to choose refined nonterminals for the hyperedges of a heap.
    fn choices(&self, heap: &Heap) -> Vec<Vec<Nonterminal>> {
        let mut all = vec![Vec::new()];
        for hyperedge in heap.hyperedges() {
            let found = self.variants.get(&hyperedge.label.nonterminal);
            let mut next = Vec::new();
            for choice in &all {
                for &variant in found.into_iter().flatten() {
                    let mut choice: Vec<Nonterminal> = choice.clone();
                    choice.push(variant);
                    next.push(choice);
                }
            }
            all = next;
            if all.len() > MOST_RULES {
                break;
            }
        }
        all
    }

    /// The refined nonterminal of a nonterminal and a kernel, new or not.
    fn variant(
        &mut self,
        symbols: &mut Symbols,
        nonterminal: Nonterminal,
        kernel: Kernel,
    ) -> Result<Nonterminal, TooLarge> {
        let variants = self.variants.entry(nonterminal).or_default();
        if let Some(found) = variants.iter().find(|v| self.kernels[v].1 == kernel) {
            return Ok(*found);
        }
        let rank = symbols.rank(nonterminal);
        let parts: Vec<String> = kernel.iter().map(|&bits| relation(bits, rank)).collect();
        let name = symbols.nonterminal_name(nonterminal);
        let name = format!("{name}[{}]", parts.join("; "));
        if !symbols.has_room(1) {
            return Err(TooLarge);
        }
        let refined = symbols.add_nonterminal(&name, rank).map_err(|_| TooLarge)?;
        variants.push(refined);
        self.kernels.insert(refined, (nonterminal, kernel));
        Ok(refined)
    }

    /// The kernel of a fragment with refined nonterminals.
    fn kernel(&self, heap: &Heap) -> Kernel {
        let sets = 0..self.sets.len();
        sets.map(|set| {
            let mut bits = 0;
            let externals = heap.externals();
            for (i, &from) in externals.iter().enumerate() {
                let reached = self.reached(heap, from, set);
                for (j, to) in externals.iter().enumerate() {
                    bits |= u64::from(reached[to.at()]) << (i * externals.len() + j);
                }
            }
            bits
        })
        .collect()
    }

    /// Which nodes a path of at least one selector leads to.
    fn reached(&self, heap: &Heap, from: Node, set: usize) -> Vec<bool> {
        let mut reached = vec![false; heap.node_bound()];
        let mut todo = vec![from];
        let mut expanded = vec![false; heap.node_bound()];
        while let Some(node) = todo.pop() {
            if std::mem::replace(&mut expanded[node.at()], true) {
                continue;
            }
            let selectors = &self.sets[set];
            let allowed = |s: Selector| selectors.as_ref().is_none_or(|set| set.contains(&s));
            for edge in heap.edges_of(node).filter(|edge| allowed(edge.selector)) {
                reached[edge.target.at()] = true;
                todo.push(edge.target);
            }
            for hyperedge in heap.hyperedges() {
                let Some((_, kernel)) = self.kernels.get(&hyperedge.label.nonterminal) else {
                    continue;
                };
                let rank = hyperedge.tentacles.len();
                for (i, _) in attached(hyperedge.tentacles, node) {
                    for (j, &other) in hyperedge.tentacles.iter().enumerate() {
                        if kernel[set] >> (i * rank + j) & 1 == 1 {
                            reached[other.at()] = true;
                            todo.push(other);
                        }
                    }
                }
            }
        }
        reached
    }

    /// Whether a path of at least one selector leads from a node to another, along the selectors
    /// of set number `set`. The heap has refined nonterminals.
    pub fn reaches(&self, heap: &Heap, from: Node, to: Node, set: usize) -> bool {
        self.reached(heap, from, set)[to.at()]
    }

    /// The heap with refined nonterminals, in every combination. Together they stand for the same
    /// concrete heaps. `Err` if there are too many.
    pub fn expand(&self, heap: &Heap) -> Result<Vec<Heap>, TooLarge> {
        let choices = self.choices(heap);
        if choices.len() > MOST_RULES {
            return Err(TooLarge);
        }
        let heaps = choices.iter().map(|choice| relabelled(heap, choice));
        Ok(heaps.collect())
    }

    /// The nonterminal that a refined one comes from.
    pub fn base(&self, refined: Nonterminal) -> Nonterminal {
        self.kernels.get(&refined).map_or(refined, |pair| pair.0)
    }

    /// All refined nonterminals of one.
    pub fn variants(&self, nonterminal: Nonterminal) -> BTreeSet<Nonterminal> {
        let found = self.variants.get(&nonterminal);
        found.into_iter().flatten().copied().collect()
    }
}

fn attached(tentacles: &[Node], node: Node) -> impl Iterator<Item = (usize, &Node)> {
    let all = tentacles.iter().enumerate();
    all.filter(move |(_, other)| **other == node)
}

/// A relation in words: `1>2,1>3`; tentacles are counted from 1.
fn relation(bits: u64, rank: usize) -> String {
    let pairs = (0..rank).flat_map(|i| (0..rank).map(move |j| (i, j)));
    let pairs = pairs.filter(|(i, j)| bits >> (i * rank + j) & 1 == 1);
    let pairs: Vec<String> = pairs.map(|(i, j)| format!("{}>{}", i + 1, j + 1)).collect();
    pairs.join(",")
}

/// The heap with other nonterminals on its hyperedges.
fn relabelled(heap: &Heap, choice: &[Nonterminal]) -> Heap {
    let mut heap = heap.clone();
    for (at, &nonterminal) in choice.iter().enumerate() {
        let index = heap.hyperedge(at).label.index;
        heap.relabel(at, Label { nonterminal, index });
    }
    heap
}
