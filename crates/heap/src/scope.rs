//! Scopes of calls: the part of a heap that a callee can reach is cut out, and glued back when it
//! returns.
//!
//! The fragment holds what the parameters reach through selectors, and through hyperedges in any
//! direction, and all constants; a constant is not followed. Its **cutpoints** are the nodes that
//! the rest of the heap knows too: by a variable that is no parameter, by a selector, as an
//! external node. They become the external nodes of the fragment, in an order that depends only
//! on the fragment: fragments that agree up to the order of their external nodes have the same
//! code, so a contract is found by its code. The frame lists its cutpoints in that same order.

use crate::canonical::{Externals, canonical};
use crate::hypergraph::{Edge, Heap, Node};
use crate::symbols::Variable;

/// A heap in two parts.
#[derive(Clone, Debug)]
pub struct Cut {
    /// What the callee can reach.
    pub fragment: Heap,
    /// The rest.
    pub frame: Frame,
}

/// A heap from which a fragment was cut out.
#[derive(Clone, Debug)]
pub struct Frame {
    /// The rest of the heap, with the cutpoints.
    pub heap: Heap,
    /// The node of this heap for each external node of the fragment.
    pub attached: Vec<Node>,
}

impl Heap {
    /// Cuts out the fragment that these variables reach. They are variables of the fragment only,
    /// constants are variables of both parts, all others are variables of the frame.
    pub fn cut(&self, parameters: &[Variable]) -> Cut {
        let constant = self.constants();
        let inside = self.reached(parameters, &constant);
        // Whose selectors and hyperedges belong to the fragment.
        let own = |node: Node| inside[node.at()] && !constant[node.at()];
        let mut shared = constant.clone();
        for &(variable, node) in self.variables() {
            shared[node.at()] |= !parameters.contains(&variable);
        }
        for &node in self.externals() {
            shared[node.at()] = true;
        }
        for edge in self.edges().filter(|edge| !own(edge.origin)) {
            shared[edge.target.at()] = true;
        }
        let in_fragment = |node: Node| inside[node.at()] || constant[node.at()];
        let in_frame = |node: Node| !own(node) || shared[node.at()];

        let (mut fragment, to_fragment) = self.part(true, in_fragment, own);
        let (mut frame, to_frame) = self.part(false, in_frame, own);
        for &(variable, node) in self.variables() {
            let parameter = parameters.contains(&variable);
            if parameter || variable.is_constant() {
                fragment.set_variable(variable, to_fragment[node.at()]);
            }
            if !parameter {
                frame.set_variable(variable, to_frame[node.at()]);
            }
        }
        let externals = self.externals().iter();
        let externals: Vec<Node> = externals.map(|node| to_frame[node.at()]).collect();
        frame.set_externals(&externals);

        let shared = self.nodes().filter(|&n| shared[n.at()] && in_fragment(n));
        let cutpoints: Vec<Node> = shared.collect();
        let unordered: Vec<Node> = cutpoints.iter().map(|n| to_fragment[n.at()]).collect();
        fragment.set_externals(&unordered);
        let order = fragment.order_externals();
        let attached = order.iter().map(|&at| to_frame[cutpoints[at].at()]);
        let attached = attached.collect();
        let frame = Frame {
            heap: frame,
            attached,
        };
        Cut { fragment, frame }
    }

    /// Puts the external nodes in the order that [fragments](Self::cut) have, which depends on the
    /// heap alone. Says for each place where its node was before.
    pub fn order_externals(&mut self) -> Vec<usize> {
        let numbering = canonical(self, Externals::Set);
        let unordered = self.externals().to_vec();
        let mut order: Vec<usize> = (0..unordered.len()).collect();
        order.sort_unstable_by_key(|&at| numbering.number[unordered[at].at()]);
        let ordered: Vec<Node> = order.iter().map(|&at| unordered[at]).collect();
        self.set_externals(&ordered);
        order
    }

    /// Which nodes carry constants.
    fn constants(&self) -> Vec<bool> {
        let mut constant = vec![false; self.node_bound()];
        let constants = self.variables().iter().filter(|(v, _)| v.is_constant());
        for (_, node) in constants {
            constant[node.at()] = true;
        }
        constant
    }

    /// Which nodes some variables reach, through hyperedges in any direction.
    fn reached(&self, from: &[Variable], constant: &[bool]) -> Vec<bool> {
        let mut reached = vec![false; self.node_bound()];
        let mut stack: Vec<Node> = from.iter().filter_map(|&v| self.variable(v)).collect();
        while let Some(node) = stack.pop() {
            if std::mem::replace(&mut reached[node.at()], true) || constant[node.at()] {
                continue;
            }
            stack.extend(self.edges_of(node).map(|edge| edge.target));
            let attached = self.hyperedges().filter(|h| h.tentacles.contains(&node));
            stack.extend(attached.flat_map(|h| h.tentacles));
        }
        reached
    }

    /// The fragment, or the frame: the nodes to keep, and the selectors and hyperedges at nodes of
    /// the fragment's own, or the others. Also the place of each node in the new heap.
    fn part(
        &self,
        fragment: bool,
        keep: impl Fn(Node) -> bool,
        own: impl Fn(Node) -> bool,
    ) -> (Heap, Vec<Node>) {
        let mut heap = Heap::new();
        let mut place = vec![Node(0); self.node_bound()];
        for node in self.nodes().filter(|&node| keep(node)) {
            place[node.at()] = heap.add_node(self.node_type(node));
        }
        for edge in self.edges().filter(|edge| own(edge.origin) == fragment) {
            let (origin, target) = (place[edge.origin.at()], place[edge.target.at()]);
            heap.push_edge(Edge {
                origin,
                target,
                ..edge
            });
        }
        let mut tentacles = Vec::new();
        for hyperedge in self.hyperedges() {
            if hyperedge.tentacles.iter().any(|&node| own(node)) == fragment {
                tentacles.clear();
                tentacles.extend(hyperedge.tentacles.iter().map(|node| place[node.at()]));
                heap.add_hyperedge(hyperedge.label, &tentacles);
            }
        }
        (heap, place)
    }
}

impl Frame {
    /// Glues a fragment into the frame: its external nodes become the cutpoints. If a variable is
    /// in both, that of the fragment counts. Indices of the frame become what they are by what the
    /// fragment [remembers](crate::Grammar::remember_indices). `None` if the fragment has another number of
    /// external nodes, a node would have a selector twice, or an index is too long.
    pub fn glue(&self, fragment: &Heap) -> Option<Heap> {
        if fragment.externals().len() != self.attached.len() {
            return None;
        }
        let mut heap = self.heap.clone();
        heap.recall_indices(fragment)?;
        let mut place: Vec<Option<Node>> = vec![None; fragment.node_bound()];
        for (node, &attached) in fragment.externals().iter().zip(&self.attached) {
            place[node.at()] = Some(attached);
        }
        for node in fragment.nodes() {
            if place[node.at()].is_none() {
                place[node.at()] = Some(heap.add_node(fragment.node_type(node)));
            }
        }
        let place = |node: Node| place[node.at()].unwrap_or(node);
        for edge in fragment.edges() {
            let (origin, target) = (place(edge.origin), place(edge.target));
            if heap.target(origin, edge.selector).is_some() {
                return None;
            }
            heap.set_edge(Edge {
                origin,
                target,
                ..edge
            });
        }
        for hyperedge in fragment.hyperedges() {
            if hyperedge.label.nonterminal.remembered().is_none() {
                let tentacles: Vec<Node> = hyperedge.tentacles.iter().map(|&n| place(n)).collect();
                heap.add_hyperedge(hyperedge.label, &tentacles);
            }
        }
        for &(variable, node) in fragment.variables() {
            heap.set_variable(variable, place(node));
        }
        Some(heap)
    }
}
