//! One heap: a hypergraph (Chau, *Comparing Hierarchical and On-The-Fly Model Checking for Java Pointer
//! Programs*, 2019, Definition 2.1), flat and small so that it is copied fast.
//!
//! Selectors and variables are hyperedges of rank 2 and 1 in the definition; here they have tables
//! of their own. Every table is a short sorted or unsorted list, searched without hashing.

use crate::symbols::{Annotation, Label, Selector, TypeId, Variable};

/// A node of a heap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Node(pub u16);

impl Node {
    #[inline]
    pub(crate) fn at(self) -> usize {
        usize::from(self.0)
    }
}

/// A selector of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Edge {
    /// Where it starts.
    pub origin: Node,
    /// Its name.
    pub selector: Selector,
    /// What is written on it.
    pub annotation: Annotation,
    /// Where it points.
    pub target: Node,
}

impl Edge {
    fn pack(self) -> u64 {
        u64::from(self.origin.0) << 48
            | u64::from(self.selector.0) << 32
            | u64::from(self.annotation.0) << 16
            | u64::from(self.target.0)
    }

    #[inline]
    fn unpack(packed: u64) -> Edge {
        Edge {
            origin: Node((packed >> 48) as u16),
            selector: Selector((packed >> 32) as u16),
            annotation: Annotation((packed >> 16) as u16),
            target: Node(packed as u16),
        }
    }
}

/// A hyperedge: its label, and the nodes that its tentacles are attached to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Hyperedge<'a> {
    /// What is written on it.
    pub label: Label,
    /// Tentacle `i` is attached to node `tentacles[i]`.
    pub tentacles: &'a [Node],
}

#[derive(Clone, Copy, Debug)]
struct Attached {
    label: Label,
    /// Where its tentacles begin.
    start: u16,
    rank: u16,
}

/// The type of a node that was removed.
const REMOVED: TypeId = TypeId(u16::MAX);

/// A heap. Nodes keep their ids when others are added or removed, except in [`Heap::compact`].
#[derive(Clone, Debug, Default)]
pub struct Heap {
    /// The type of each node, or [`REMOVED`].
    types: Vec<TypeId>,
    /// How many nodes are left.
    count: u16,
    /// The selectors, packed and sorted: by origin, then by name.
    edges: Vec<u64>,
    /// The variables with their nodes, sorted by variable.
    variables: Vec<(Variable, Node)>,
    externals: Vec<Node>,
    attached: Vec<Attached>,
    tentacles: Vec<Node>,
}

impl Heap {
    /// A heap has at most so many nodes, and so many tentacles in all. Readers refuse more; who
    /// lets a heap grow has a limit far below.
    pub const MOST_NODES: usize = 0xfff0;

    /// No node at all.
    pub fn new() -> Heap {
        Heap::default()
    }

    /// A new node.
    pub fn add_node(&mut self, id: TypeId) -> Node {
        assert!(
            self.types.len() < Self::MOST_NODES,
            "a heap has at most {} nodes",
            Self::MOST_NODES
        );
        self.types.push(id);
        self.count += 1;
        Node(self.types.len() as u16 - 1)
    }

    /// Removes a node with all selectors, hyperedges, variables and the external place at it.
    pub fn remove_node(&mut self, node: Node) {
        self.remove_nodes(|other| other == node);
    }

    /// Removes some nodes with all selectors, hyperedges, variables and external places at them.
    pub fn remove_nodes(&mut self, gone: impl Fn(Node) -> bool) {
        for (at, id) in self.types.iter_mut().enumerate() {
            if *id != REMOVED && gone(Node(at as u16)) {
                *id = REMOVED;
                self.count -= 1;
            }
        }
        let types = &self.types;
        let here = |node: Node| types[node.at()] != REMOVED;
        self.edges.retain(|&packed| {
            let edge = Edge::unpack(packed);
            here(edge.origin) && here(edge.target)
        });
        self.variables.retain(|&(_, node)| here(node));
        self.externals.retain(|&node| here(node));
        let mut at = self.attached.len();
        while at > 0 {
            at -= 1;
            let hyperedge = self.hyperedge(at);
            if !hyperedge.tentacles.iter().all(|&node| self.contains(node)) {
                self.remove_hyperedge(at);
            }
        }
    }

    /// Removes a node on which nothing hangs any more.
    pub(crate) fn discard(&mut self, node: Node) {
        self.types[node.at()] = REMOVED;
        self.count -= 1;
    }

    /// Whether the node is there and was not removed.
    #[inline]
    pub fn contains(&self, node: Node) -> bool {
        self.types.get(node.at()).is_some_and(|&id| id != REMOVED)
    }

    /// How many nodes there are.
    pub fn node_count(&self) -> usize {
        self.count.into()
    }

    /// One more than the largest id of a node: the size of a table with a place for each.
    pub fn node_bound(&self) -> usize {
        self.types.len()
    }

    /// Every node.
    pub fn nodes(&self) -> impl Iterator<Item = Node> + '_ {
        let all = self.types.iter().enumerate();
        all.filter_map(|(at, &id)| (id != REMOVED).then_some(Node(at as u16)))
    }

    /// The type of a node.
    #[inline]
    pub fn node_type(&self, node: Node) -> TypeId {
        self.types[node.at()]
    }

    /// Where the selectors of `origin` from `selector` on begin.
    #[inline]
    fn edge_at(&self, origin: Node, selector: u16) -> usize {
        let least = u64::from(origin.0) << 48 | u64::from(selector) << 32;
        // Most heaps have so few selectors that going through them beats bisection.
        if self.edges.len() <= 16 {
            let found = self.edges.iter().position(|&packed| packed >= least);
            return found.unwrap_or(self.edges.len());
        }
        self.edges.partition_point(|&packed| packed < least)
    }

    /// Points a selector to a target, without an annotation. An older target is forgotten.
    pub fn set_selector(&mut self, origin: Node, selector: Selector, target: Node) {
        self.set_edge(Edge {
            origin,
            selector,
            annotation: Annotation::NONE,
            target,
        });
    }

    /// Puts this selector in the place of the one with the same origin and name, if there is one.
    pub fn set_edge(&mut self, edge: Edge) {
        let at = self.edge_at(edge.origin, edge.selector.0);
        let packed = edge.pack();
        match self.edges.get_mut(at) {
            Some(old) if *old >> 32 == packed >> 32 => *old = packed,
            _ => self.edges.insert(at, packed),
        }
    }

    /// Removes a selector and returns where it pointed.
    pub fn remove_selector(&mut self, origin: Node, selector: Selector) -> Option<Node> {
        let edge = self.edge(origin, selector)?;
        let at = self.edge_at(origin, selector.0);
        self.edges.remove(at);
        Some(edge.target)
    }

    /// A selector of a node, if it is there (and not hidden in a hyperedge).
    #[inline]
    pub fn edge(&self, origin: Node, selector: Selector) -> Option<Edge> {
        let packed = *self.edges.get(self.edge_at(origin, selector.0))?;
        let edge = Edge::unpack(packed);
        (edge.origin == origin && edge.selector == selector).then_some(edge)
    }

    /// Where a selector points, if it is there (and not hidden in a hyperedge).
    #[inline]
    pub fn target(&self, origin: Node, selector: Selector) -> Option<Node> {
        self.edge(origin, selector).map(|edge| edge.target)
    }

    /// The selectors of a node, sorted by name.
    pub fn edges_of(&self, origin: Node) -> impl Iterator<Item = Edge> + '_ {
        let rest = self.edges[self.edge_at(origin, 0)..].iter();
        let edges = rest.map(|&packed| Edge::unpack(packed));
        edges.take_while(move |edge| edge.origin == origin)
    }

    /// All selectors, sorted by origin and name.
    pub fn edges(&self) -> impl ExactSizeIterator<Item = Edge> + Clone + '_ {
        self.edges.iter().map(|&packed| Edge::unpack(packed))
    }

    /// Lets a variable point to a node.
    pub fn set_variable(&mut self, variable: Variable, node: Node) {
        match self
            .variables
            .binary_search_by_key(&variable, |pair| pair.0)
        {
            Ok(at) => self.variables[at].1 = node,
            Err(at) => self.variables.insert(at, (variable, node)),
        }
    }

    /// Removes a variable and returns where it pointed.
    pub fn remove_variable(&mut self, variable: Variable) -> Option<Node> {
        let at = self
            .variables
            .binary_search_by_key(&variable, |pair| pair.0);
        at.ok().map(|at| self.variables.remove(at).1)
    }

    /// Keeps only some variables.
    pub fn retain_variables(&mut self, mut keep: impl FnMut(Variable) -> bool) {
        self.variables.retain(|&(variable, _)| keep(variable));
    }

    /// Where a variable points.
    pub fn variable(&self, variable: Variable) -> Option<Node> {
        let mut all = self.variables.iter();
        all.find(|pair| pair.0 == variable).map(|pair| pair.1)
    }

    /// All variables with their nodes, sorted.
    pub fn variables(&self) -> &[(Variable, Node)] {
        &self.variables
    }

    /// The variables that point to a node.
    pub fn variables_at(&self, node: Node) -> impl Iterator<Item = Variable> + '_ {
        let pairs = self.variables.iter();
        pairs.filter_map(move |&(variable, at)| (at == node).then_some(variable))
    }

    /// The external nodes, in order.
    pub fn externals(&self) -> &[Node] {
        &self.externals
    }

    /// Makes a node external, behind the others. It must not be external yet.
    pub fn add_external(&mut self, node: Node) {
        debug_assert!(!self.externals.contains(&node), "a node is external once");
        self.externals.push(node);
    }

    /// Makes just these nodes external.
    pub fn set_externals(&mut self, nodes: &[Node]) {
        self.externals.clear();
        self.externals.extend_from_slice(nodes);
    }

    /// A new hyperedge, behind the others.
    pub fn add_hyperedge(&mut self, label: Label, tentacles: &[Node]) {
        assert!(
            self.tentacles.len() + tentacles.len() <= Self::MOST_NODES,
            "a heap has at most {} tentacles",
            Self::MOST_NODES
        );
        self.attached.push(Attached {
            label,
            start: self.tentacles.len() as u16,
            rank: tentacles.len() as u16,
        });
        self.tentacles.extend_from_slice(tentacles);
    }

    /// Removes a hyperedge. Those behind it move one place forward.
    pub fn remove_hyperedge(&mut self, at: usize) {
        let Attached { start, rank, .. } = self.attached.remove(at);
        let start = usize::from(start);
        self.tentacles.drain(start..start + usize::from(rank));
        for later in &mut self.attached[at..] {
            later.start -= rank;
        }
    }

    /// Changes what is written on a hyperedge, to a label of the same rank.
    pub fn relabel(&mut self, at: usize, label: Label) {
        self.attached[at].label = label;
    }

    /// How many hyperedges there are.
    pub fn hyperedge_count(&self) -> usize {
        self.attached.len()
    }

    /// A hyperedge.
    #[inline]
    pub fn hyperedge(&self, at: usize) -> Hyperedge<'_> {
        let Attached { label, start, rank } = self.attached[at];
        let start = usize::from(start);
        let tentacles = &self.tentacles[start..start + usize::from(rank)];
        Hyperedge { label, tentacles }
    }

    /// All hyperedges.
    pub fn hyperedges(&self) -> impl ExactSizeIterator<Item = Hyperedge<'_>> + Clone {
        (0..self.attached.len()).map(|at| self.hyperedge(at))
    }

    /// Adds the nodes of `null`, of 1 and `true`, and of 0 and `false` that are missing.
    pub fn add_constants(&mut self) {
        let groups: [(&[Variable], TypeId); 3] = [
            (&[Variable::NULL], TypeId::NULL),
            (&[Variable::ONE, Variable::TRUE], TypeId::INT),
            (&[Variable::ZERO, Variable::FALSE], TypeId::INT),
        ];
        for (variables, id) in groups {
            let known = variables.iter().find_map(|&v| self.variable(v));
            let node = known.unwrap_or_else(|| self.add_node(id));
            for &variable in variables {
                if self.variable(variable).is_none() {
                    self.set_variable(variable, node);
                }
            }
        }
    }

    /// Gives a node another type.
    pub fn set_type(&mut self, node: Node, id: TypeId) {
        self.types[node.at()] = id;
    }

    /// Makes room.
    pub(crate) fn reserve(
        &mut self,
        nodes: u16,
        externals: u16,
        variables: u16,
        edges: u16,
        hyperedges: u16,
    ) {
        self.types.reserve(usize::from(nodes) + 2);
        self.externals.reserve(externals.into());
        self.variables.reserve(usize::from(variables) + 1);
        self.edges.reserve(usize::from(edges) + 2);
        self.attached.reserve(usize::from(hyperedges) + 1);
        self.tentacles.reserve(usize::from(hyperedges) * 2 + 2);
    }

    /// A variable behind all others.
    pub(crate) fn push_variable(&mut self, variable: Variable, node: Node) {
        debug_assert!(self.variables.last().is_none_or(|last| last.0 < variable));
        self.variables.push((variable, node));
    }

    /// A selector behind all others.
    pub(crate) fn push_edge(&mut self, edge: Edge) {
        debug_assert!(self.edges.last().is_none_or(|&last| last < edge.pack()));
        self.edges.push(edge.pack());
    }

    /// Renumbers the nodes without gaps.
    pub fn compact(&mut self) {
        if self.node_count() == self.types.len() {
            return;
        }
        let mut fresh = vec![Node(0); self.types.len()];
        for (new, old) in self.nodes().enumerate() {
            fresh[old.at()] = Node(new as u16);
        }
        self.types.retain(|&id| id != REMOVED);
        let fresh = |node: Node| fresh[node.at()];
        // The order is kept, so what was sorted stays so.
        for packed in &mut self.edges {
            let mut edge = Edge::unpack(*packed);
            (edge.origin, edge.target) = (fresh(edge.origin), fresh(edge.target));
            *packed = edge.pack();
        }
        for (_, node) in &mut self.variables {
            *node = fresh(*node);
        }
        for node in self.externals.iter_mut().chain(&mut self.tentacles) {
            *node = fresh(*node);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::symbols::Nonterminal;

    #[test]
    fn removing_a_node_removes_what_hangs_on_it() {
        let mut heap = Heap::new();
        let nodes: Vec<Node> = (0..4).map(|_| heap.add_node(TypeId(7))).collect();
        let (next, list) = (Selector(0), Label::from(Nonterminal(0)));
        heap.set_selector(nodes[0], next, nodes[1]);
        heap.set_selector(nodes[1], next, nodes[2]);
        heap.set_selector(nodes[3], next, nodes[0]);
        heap.set_selector(nodes[3], next, nodes[2]);
        heap.add_hyperedge(list, &[nodes[1], nodes[2]]);
        heap.add_hyperedge(list, &[nodes[2], nodes[3]]);
        heap.set_variable(Variable(9), nodes[1]);
        heap.add_external(nodes[2]);
        heap.remove_node(nodes[1]);
        assert_eq!(heap.target(nodes[0], next), None);
        assert_eq!(heap.target(nodes[3], next), Some(nodes[2]));
        assert_eq!(heap.variable(Variable(9)), None);
        assert_eq!((heap.hyperedge_count(), heap.node_count()), (1, 3));
        heap.compact();
        assert_eq!(heap.hyperedge(0).tentacles, [Node(1), Node(2)]);
        assert_eq!(heap.target(Node(2), next), Some(Node(1)));
        assert_eq!(heap.externals(), [Node(1)]);
    }
}
