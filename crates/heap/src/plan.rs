//! The order in which an embedding of a right-hand side is looked for.
//!
//! The search starts at a node that vanishes when the rule is applied backward, because few nodes of a heap
//! may vanish. If the rule has none, it starts at a node with selectors, or at a hyperedge. From what is
//! found it follows selectors first, since they determine their targets.

use crate::hypergraph::{Edge, Heap, Node};
use crate::symbols::{Nonterminal, Selector};

/// One step of the search. Nodes are those of the right-hand side.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step {
    /// A node that is not external: each node is tried that may vanish.
    Free(Node),
    /// A node with selectors: each node is tried that has some and may lose them.
    Open(Node),
    /// The origin is known: the target is determined.
    Follow(Edge),
    /// The target is known: each origin that points to it is tried.
    Into(Edge),
    /// Neither is known: each selector of this name is tried.
    Anywhere(Edge),
    /// Each hyperedge with the label of this one is tried that fits what is known.
    Hyperedge(usize),
    /// A node without connection: each node is tried.
    Isolated(Node),
}

/// What a node of the heap must have to be the image of a node of the right-hand side.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Needs {
    /// How many selectors start here.
    pub(crate) origins: u16,
    /// How many selectors end here.
    pub(crate) targets: u16,
    /// How many tentacles are attached.
    pub(crate) tentacles: u16,
    /// Which selectors and tentacles there are: see [`Mask`].
    pub(crate) mask: Mask,
    /// The node is external; then it may have more of all of these.
    pub(crate) external: bool,
    /// It is external, but nothing else leads to it.
    pub(crate) root: bool,
}

/// Which selectors start and end at a node, and which tentacles are attached: a bit for each,
/// perhaps shared with others. What a node lacks is found at one glance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Mask(u64);

impl Mask {
    pub(crate) fn origin(&mut self, selector: Selector) {
        self.0 |= 1 << (selector.0 & 15);
    }

    pub(crate) fn target(&mut self, selector: Selector) {
        self.0 |= 1 << (16 + (selector.0 & 15));
    }

    pub(crate) fn tentacle(&mut self, nonterminal: Nonterminal, tentacle: usize) {
        let bit = usize::from(nonterminal.0) * 7 + tentacle;
        self.0 |= 1 << (32 + (bit & 31));
    }

    pub(crate) fn within(self, other: Mask) -> bool {
        self.0 & !other.0 == 0
    }
}

/// The steps, and what each node needs.
#[derive(Clone, Debug, Default)]
pub(crate) struct Plan {
    pub(crate) steps: Vec<Step>,
    pub(crate) needs: Vec<Needs>,
    /// A bit for each nonterminal of the right-hand side, perhaps shared with others.
    uses: u64,
    /// There is a selector, a node that is not external, or more than one hyperedge.
    pub(crate) increasing: bool,
}

fn bit(nonterminal: Nonterminal) -> u64 {
    1 << (nonterminal.0 & 63)
}

impl Plan {
    pub(crate) fn new(graph: &Heap) -> Plan {
        let mut plan = Plan {
            steps: Vec::new(),
            needs: vec![Needs::default(); graph.node_bound()],
            uses: 0,
            increasing: graph.edges().len() > 0
                || graph.node_count() > graph.externals().len()
                || graph.hyperedge_count() > 1,
        };
        for edge in graph.edges() {
            let origin = &mut plan.needs[edge.origin.at()];
            origin.origins += 1;
            origin.mask.origin(edge.selector);
            let target = &mut plan.needs[edge.target.at()];
            target.targets += 1;
            target.mask.target(edge.selector);
        }
        for hyperedge in graph.hyperedges() {
            plan.uses |= bit(hyperedge.label.nonterminal);
            for (tentacle, node) in hyperedge.tentacles.iter().enumerate() {
                let node = &mut plan.needs[node.at()];
                node.tentacles += 1;
                node.mask.tentacle(hyperedge.label.nonterminal, tentacle);
            }
        }
        for node in graph.externals() {
            plan.needs[node.at()].external = true;
        }
        plan.order(graph);
        plan
    }

    /// Whether the right-hand side may have such a hyperedge.
    pub(crate) fn uses(&self, nonterminal: Nonterminal) -> bool {
        self.uses & bit(nonterminal) != 0
    }

    fn order(&mut self, graph: &Heap) {
        let mut edges: Vec<Edge> = graph.edges().collect();
        let mut hyperedges: Vec<usize> = (0..graph.hyperedge_count()).collect();
        let mut known = vec![false; graph.node_bound()];
        let needs = |node: &Node| self.needs[node.at()];
        let free = graph.nodes().filter(|node| !needs(node).external);
        let open = graph.nodes().filter(|node| needs(node).origins > 0);
        let connected = |needs: Needs| needs.origins + needs.targets + needs.tentacles;
        let free = free.max_by_key(|node| connected(needs(node)));
        let open = open.max_by_key(|node| needs(node).origins);
        if let Some(node) = free {
            known[node.at()] = true;
            self.steps.push(Step::Free(node));
        } else if let Some(node) = open {
            known[node.at()] = true;
            self.steps.push(Step::Open(node));
        }
        loop {
            let follow = edges.iter().position(|edge| known[edge.origin.at()]);
            if let Some(at) = follow {
                let edge = edges.remove(at);
                known[edge.target.at()] = true;
                self.steps.push(Step::Follow(edge));
                continue;
            }
            let attached = |&at: &usize| graph.hyperedge(at).tentacles.iter();
            let near = hyperedges
                .iter()
                .position(|at| attached(at).any(|node| known[node.at()]));
            // A node that vanishes has few selectors to it.
            let inner = |edge: &&Edge| !self.needs[edge.target.at()].external;
            let into = edges.iter().filter(|edge| known[edge.target.at()]);
            let into = into.clone().find(inner).or(into.clone().next()).copied();
            if let Some(into) = into
                && (near.is_none() || inner(&&into))
                && let Some(at) = edges.iter().position(|edge| *edge == into)
            {
                let edge = edges.remove(at);
                known[edge.origin.at()] = true;
                self.steps.push(Step::Into(edge));
            } else if !hyperedges.is_empty() {
                let at = hyperedges.remove(near.unwrap_or(0));
                for node in attached(&at) {
                    known[node.at()] = true;
                }
                self.steps.push(Step::Hyperedge(at));
            } else if !edges.is_empty() {
                let edge = edges.remove(0);
                known[edge.origin.at()] = true;
                known[edge.target.at()] = true;
                self.steps.push(Step::Anywhere(edge));
            } else {
                break;
            }
        }
        let isolated = graph.nodes().filter(|node| !known[node.at()]);
        self.steps.extend(isolated.map(Step::Isolated));
    }
}
