//! The canonical numbering of the nodes of a heap: it depends on the isomorphism class alone.
//!
//! Nearly every heap is numbered by one walk: first the external nodes in order, then the targets
//! of the variables in the order of their names, then whatever selectors and tentacles lead to.
//! A tentacle is followed only if no other hyperedge at the node looks the same. Nodes that are
//! still missing are looked for against the direction of the selectors. What is left after that
//! is symmetric, or nearly so, and goes to the search in [`ties`]. Each decision is
//! made from numbers given before, so isomorphic heaps are walked alike.

use crate::hypergraph::{Heap, Node};
use crate::ties;

/// The number of a node that has none yet.
pub(crate) const UNSEEN: u16 = u16::MAX;

/// Whether the order of the external nodes matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Externals {
    /// It does: an isomorphism maps the first external node to the first.
    Ordered,
    /// It does not: an isomorphism maps external nodes to external nodes.
    Set,
}

/// Numbers for some nodes.
#[derive(Clone, Debug)]
pub(crate) struct Numbering {
    /// The nodes in the order of their numbers.
    pub(crate) order: Vec<Node>,
    /// The number of each node, or [`UNSEEN`].
    pub(crate) number: Vec<u16>,
}

impl Numbering {
    fn give(&mut self, node: Node) {
        let number = &mut self.number[node.at()];
        if *number == UNSEEN {
            *number = self.order.len() as u16;
            self.order.push(node);
        }
    }

    pub(crate) fn seen(&self, node: Node) -> bool {
        self.number[node.at()] != UNSEEN
    }
}

/// The nodes of the heap in canonical order.
pub(crate) fn canonical(heap: &Heap, externals: Externals) -> Numbering {
    let mut numbering = Numbering {
        order: Vec::with_capacity(heap.node_count()),
        number: vec![UNSEEN; heap.node_bound()],
    };
    if externals == Externals::Ordered {
        for &node in heap.externals() {
            numbering.give(node);
        }
    }
    for &(_, node) in heap.variables() {
        numbering.give(node);
    }
    let mut done = 0;
    loop {
        while let Some(&node) = numbering.order.get(done) {
            forward(heap, node, &mut numbering);
            done += 1;
        }
        if numbering.order.len() == heap.node_count() {
            return numbering;
        }
        backward(heap, &mut numbering);
        if done == numbering.order.len() {
            break;
        }
    }
    ties::complete(heap, externals, &mut numbering);
    numbering
}

/// Numbers what selectors and tentacles lead to from a node.
fn forward(heap: &Heap, node: Node, numbering: &mut Numbering) {
    for edge in heap.edges_of(node) {
        numbering.give(edge.target);
    }
    if numbering.order.len() == heap.node_count() {
        return;
    }
    // The hyperedges at the node that have something to number.
    let mut first = None;
    let mut many = Vec::new();
    for (at, hyperedge) in heap.hyperedges().enumerate() {
        let tentacles = hyperedge.tentacles;
        let useful = tentacles.contains(&node) && tentacles.iter().any(|&n| !numbering.seen(n));
        match first {
            _ if !useful => (),
            None => first = Some(at),
            Some(_) => many.push(at),
        }
    }
    let Some(first) = first else {
        return;
    };
    if many.is_empty() {
        for &node in heap.hyperedge(first).tentacles {
            numbering.give(node);
        }
        return;
    }
    many.push(first);
    let mut keyed: Vec<(Vec<u16>, usize)> = Vec::with_capacity(many.len());
    keyed.extend(many.iter().map(|&at| (key(heap, at, numbering), at)));
    keyed.sort();
    for at in 0..keyed.len() {
        let same = |other: Option<&(Vec<u16>, usize)>| other.is_some_and(|o| o.0 == keyed[at].0);
        if same(at.checked_sub(1).map(|at| &keyed[at])) || same(keyed.get(at + 1)) {
            continue;
        }
        for &node in heap.hyperedge(keyed[at].1).tentacles {
            numbering.give(node);
        }
    }
}

/// What is known of a hyperedge: its label, the numbers of its nodes, and which of the others
/// are the same.
fn key(heap: &Heap, at: usize, numbering: &Numbering) -> Vec<u16> {
    let hyperedge = heap.hyperedge(at);
    let tentacles = hyperedge.tentacles;
    let mut key = hyperedge.label.words().to_vec();
    key.extend(tentacles.iter().map(|node| numbering.number[node.at()]));
    let first = |node| tentacles.iter().position(|n| n == node).unwrap_or(0) as u16;
    key.extend(tentacles.iter().map(first));
    key
}

/// Numbers the nodes that are the only ones to point to a numbered node with some selector.
fn backward(heap: &Heap, numbering: &mut Numbering) {
    let from_unseen = heap
        .edges()
        .filter(|e| !numbering.seen(e.origin) && numbering.seen(e.target));
    let mut found: Vec<([u16; 3], Node)> = from_unseen
        .map(|edge| {
            let target = numbering.number[edge.target.at()];
            ([target, edge.selector.0, edge.annotation.0], edge.origin)
        })
        .collect();
    found.sort_unstable();
    for group in found.chunk_by(|a, b| a.0 == b.0) {
        if let [(_, node)] = group {
            numbering.give(*node);
        }
    }
}
