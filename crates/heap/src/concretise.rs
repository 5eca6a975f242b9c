//! Concretisation: rules applied forward. A hyperedge is replaced by a right-hand side, and a
//! selector that a hyperedge hides is **materialised**.

use crate::abstraction::instantiate;
use crate::grammar::{Grammar, Rule};
use crate::hypergraph::{Edge, Heap, Node};
use crate::symbols::{End, Index, Label, Selector};

impl Heap {
    /// The heap with a hyperedge replaced by the right-hand side of a rule for its nonterminal.
    /// Nodes keep their ids, new ones come last. `None` if the rule does not fit: a node would
    /// have a selector twice, or the indices do not agree. An abstract index is split as the rule
    /// needs it, everywhere in the heap.
    pub fn replace(&self, at: usize, rule: &Rule) -> Option<Heap> {
        let mut heap = self.clone();
        let old = self.hyperedge(at);
        debug_assert_eq!(old.label.nonterminal, rule.nonterminal);
        let variable = heap.split(old.label.index, rule.index)?;
        heap.remove_hyperedge(at);
        let mut image = vec![None; rule.graph.node_bound()];
        for (&node, &tentacle) in rule.tentacles.iter().zip(old.tentacles) {
            // The nodes of a collapsed rule are fused, so must be the tentacles.
            if *image[node.at()].get_or_insert(tentacle) != tentacle {
                return None;
            }
        }
        for node in rule.graph.nodes() {
            if image[node.at()].is_none() {
                image[node.at()] = Some(heap.add_node(rule.graph.node_type(node)));
            }
        }
        let image = |node: Node| image[node.at()].unwrap_or(node);
        for edge in rule.graph.edges() {
            let (origin, target) = (image(edge.origin), image(edge.target));
            if heap.target(origin, edge.selector).is_some() {
                return None;
            }
            heap.set_edge(Edge {
                origin,
                target,
                ..edge
            });
        }
        for hyperedge in rule.graph.hyperedges() {
            let label = Label {
                index: instantiate(hyperedge.label.index, Some(variable))?,
                ..hyperedge.label
            };
            let tentacles: Vec<Node> = hyperedge.tentacles.iter().map(|&n| image(n)).collect();
            heap.add_hyperedge(label, &tentacles);
        }
        Some(heap)
    }

    /// Makes the index of a hyperedge fit that of a rule, and says what the rule's index variable
    /// then stands for ([`Index::NONE`] if it has none). `X` becomes `sX` or `Z` in all hyperedges
    /// together, `Y` likewise.
    fn split(&mut self, index: Index, rule: Index) -> Option<Index> {
        let (Some((count, end)), Some((wanted, rule_end))) = (index.parts(), rule.parts()) else {
            return (index == rule).then_some(Index::NONE);
        };
        let bottom = match end {
            End::X => Some(End::Z),
            End::Y => Some(End::C),
            _ => None,
        };
        if rule_end == End::Any {
            if let Some(rest) = count.checked_sub(wanted) {
                return Index::new(rest, end);
            }
            // Too short: an abstract end is at least so long.
            bottom?;
            self.unroll(end, wanted - count, end)?;
            return Index::new(0, end);
        }
        if index == rule {
            return Some(Index::NONE);
        }
        let missing = wanted.checked_sub(count)?;
        if bottom != Some(rule_end) {
            return None;
        }
        self.unroll(end, missing, rule_end)?;
        Some(Index::NONE)
    }

    /// Puts `s` so many times and `end` in the place of an abstract end, everywhere.
    pub(crate) fn unroll(&mut self, place: End, more: u16, end: End) -> Option<()> {
        for at in 0..self.hyperedge_count() {
            let label = self.hyperedge(at).label;
            if let Some((count, found)) = label.index.parts()
                && found == place
            {
                let index = Index::new(count + more, end)?;
                self.relabel(at, Label { index, ..label });
            }
        }
        Some(())
    }
}

impl Grammar {
    /// The heaps in which a node has a selector: the heap itself if it has it, otherwise every way
    /// to replace a hyperedge at the node by a rule that gives it the selector at once. Together
    /// they stand for the same concrete heaps only if the grammar is locally concretisable there:
    /// [`Grammar::reveal`] is for all grammars. Nodes keep their ids.
    pub(crate) fn materialise(&self, heap: &Heap, node: Node, selector: Selector) -> Vec<Heap> {
        if heap.target(node, selector).is_some() {
            return vec![heap.clone()];
        }
        let mut results = Vec::new();
        for (at, hyperedge) in heap.hyperedges().enumerate() {
            for (tentacle, &attached) in hyperedge.tentacles.iter().enumerate() {
                if attached != node {
                    continue;
                }
                let rules = self.producers(hyperedge.label.nonterminal, tentacle, selector);
                let rules = rules.iter().map(|&rule| &self.rules()[rule as usize]);
                results.extend(rules.filter_map(|rule| heap.replace(at, rule)));
            }
        }
        results
    }

    /// The heaps in which a node has all of these selectors, as far as hyperedges hide them. A
    /// selector that neither the node nor a hyperedge has is passed over. `None` if there are too
    /// many.
    pub fn reveal_all(&self, heap: &Heap, node: Node, selectors: &[Selector]) -> Option<Vec<Heap>> {
        let mut all = vec![heap.clone()];
        for &selector in selectors {
            let mut next = Vec::with_capacity(all.len());
            for heap in all {
                next.extend(self.reveal(&heap, node, selector)?);
            }
            all = next;
        }
        Some(all)
    }
}
