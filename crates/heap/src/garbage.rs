//! Garbage collection: what no variable and no external node leads to is removed.

use crate::grammar::Grammar;
use crate::hypergraph::{Heap, Node};

impl Grammar {
    /// Removes the nodes that cannot be reached from variables and external nodes, and says
    /// whether there were any. A hyperedge leads on from each of its tentacles that is no
    /// reduction tentacle, to all its nodes.
    pub fn collect_garbage(&self, heap: &mut Heap) -> bool {
        let mut reached = vec![false; heap.node_bound()];
        let mut stack: Vec<Node> = Vec::with_capacity(heap.node_count());
        let mut reach = |node: Node, stack: &mut Vec<Node>| {
            if !std::mem::replace(&mut reached[node.at()], true) {
                stack.push(node);
            }
        };
        let mut count = 0;
        for &(_, node) in heap.variables() {
            reach(node, &mut stack);
        }
        for &node in heap.externals() {
            reach(node, &mut stack);
        }
        while let Some(node) = stack.pop() {
            count += 1;
            for edge in heap.edges_of(node) {
                reach(edge.target, &mut stack);
            }
            for hyperedge in heap.hyperedges() {
                let mut tentacles = hyperedge.tentacles.iter().enumerate();
                let leads = tentacles.any(|(tentacle, &attached)| {
                    attached == node && !self.is_reduction(hyperedge.label.nonterminal, tentacle)
                });
                if leads {
                    for &other in hyperedge.tentacles {
                        reach(other, &mut stack);
                    }
                }
            }
        }
        if count == heap.node_count() {
            return false;
        }
        heap.remove_nodes(|node| !reached[node.at()]);
        true
    }
}
