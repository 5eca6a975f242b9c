//! Collapsed rules: a right-hand side with some of its external nodes fused.
//!
//! A hyperedge whose tentacles meet at a node stands for such graphs. Without them a list whose
//! first and last neighbour are both `null` could not be abstracted, since embeddings are
//! injective.

use crate::hypergraph::{Edge, Heap, Node};

/// At most so many ways to fuse the external nodes of one rule are used. Rules with so many
/// tentacles of one type are not met in practice; with fewer collapsed rules less is abstracted.
const MOST: usize = 1024;

/// The collapsed forms of a right-hand side, each with the node at each tentacle. Only nodes of
/// the same type are fused, and at most one of them is at a tentacle that is no reduction
/// tentacle.
pub(crate) fn collapsed(graph: &Heap, reduction: &[bool]) -> Vec<(Heap, Vec<Node>)> {
    let externals = graph.externals();
    // `class[i]` is the least tentacle that is fused with tentacle `i`: counted through.
    let mut class: Vec<usize> = (0..externals.len()).collect();
    let mut found = Vec::new();
    let allowed = |class: &[usize], tentacle: usize, with: usize| {
        let same = graph.node_type(externals[tentacle]) == graph.node_type(externals[with]);
        let others = (0..tentacle).filter(|&other| class[other] == with);
        let selectors = others.filter(|&other| !reduction[other]).count();
        same && (selectors == 0 || reduction[tentacle])
    };
    loop {
        // The next partition: the last tentacle that can join a later class does.
        let mut at = externals.len();
        loop {
            if at == 0 {
                return found;
            }
            at -= 1;
            // A tentacle is first alone (its class is itself), then joins 0, 1, … before it.
            let from = if class[at] == at { 0 } else { class[at] + 1 };
            let next = (from..at).find(|&with| class[with] == with && allowed(&class, at, with));
            if let Some(with) = next {
                class[at] = with;
                break;
            }
            class[at] = at;
        }
        found.push(fused(graph, &class));
        if found.len() == MOST {
            return found;
        }
    }
}

fn fused(graph: &Heap, class: &[usize]) -> (Heap, Vec<Node>) {
    let externals = graph.externals();
    let mut image: Vec<Node> = (0..graph.node_bound() as u16).map(Node).collect();
    for (tentacle, &with) in class.iter().enumerate() {
        image[externals[tentacle].at()] = externals[with];
    }
    let place = |node: Node| image[node.at()];
    let mut heap = Heap::new();
    let mut fresh = vec![Node(0); graph.node_bound()];
    for node in graph.nodes().filter(|&node| place(node) == node) {
        fresh[node.at()] = heap.add_node(graph.node_type(node));
    }
    let place = |node: Node| fresh[place(node).at()];
    for edge in graph.edges() {
        let (origin, target) = (place(edge.origin), place(edge.target));
        heap.set_edge(Edge {
            origin,
            target,
            ..edge
        });
    }
    for hyperedge in graph.hyperedges() {
        let tentacles: Vec<Node> = hyperedge.tentacles.iter().map(|&n| place(n)).collect();
        heap.add_hyperedge(hyperedge.label, &tentacles);
    }
    let tentacles: Vec<Node> = externals.iter().map(|&node| place(node)).collect();
    for (at, &with) in class.iter().enumerate() {
        if at == with {
            heap.add_external(tentacles[at]);
        }
    }
    (heap, tentacles)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::symbols::{Selector, TypeId};

    #[test]
    fn partitions_with_a_merge_are_found_once() {
        let mut graph = Heap::new();
        let nodes: Vec<Node> = (0..4).map(|_| graph.add_node(TypeId(7))).collect();
        graph.set_externals(&nodes);
        graph.set_selector(nodes[0], Selector(0), nodes[3]);
        // Bell(4) - 1.
        assert_eq!(collapsed(&graph, &[true; 4]).len(), 14);
        // 1 and 2 must be apart: {0,1},{0,2},{0,3},{1,3},{2,3}, three of three, two pairs twice.
        let some = collapsed(&graph, &[true, false, false, true]);
        assert_eq!(some.len(), 9);
        assert!(collapsed(&graph, &[false; 4]).is_empty());
        for (heap, tentacles) in some {
            assert!(heap.externals().len() < 4 && tentacles.len() == 4);
            assert_eq!(heap.node_count(), heap.externals().len());
            assert_eq!(heap.target(tentacles[0], Selector(0)), Some(tentacles[3]));
        }
    }
}
