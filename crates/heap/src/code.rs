//! The canonical form of a heap as a short list of words, and back.

use crate::canonical::{Externals, canonical};
use crate::hypergraph::{Edge, Heap, Node};
use crate::symbols::{Annotation, Label, Selector, TypeId, Variable};

/// The canonical form of a heap: two heaps have the same code if and only if they are isomorphic. Types,
/// selectors with annotations, variables, labels of hyperedges and the order of the external nodes
/// count.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Code(Box<[u16]>);

impl Code {
    /// The words, for whoever stores codes in a table of its own.
    pub fn words(&self) -> &[u16] {
        &self.0
    }

    /// How many external nodes the heap has.
    pub fn externals(&self) -> usize {
        self.0.get(1).copied().map_or(0, usize::from)
    }
}

/// Set in the number of selectors if there are annotations.
const ANNOTATED: u16 = 0x8000;

impl Heap {
    /// The canonical form.
    pub fn code(&self) -> Code {
        let numbering = canonical(self, Externals::Ordered);
        let words = emit(
            self,
            Externals::Ordered,
            &numbering.order,
            &numbering.number,
        );
        Code(words.into())
    }

    /// The heap of a canonical form: node `i` is the one with number `i`.
    pub fn from_code(code: &Code) -> Heap {
        Heap::from_words(&code.0)
    }

    /// The heap of the [words](Code::words) of a canonical form.
    pub fn from_words(words: &[u16]) -> Heap {
        let mut words = words.iter().copied();
        let mut next = || words.next().unwrap_or(0);
        let [nodes, externals, variables, edges, hyperedges] = [(); 5].map(|()| next());
        let mut heap = Heap::new();
        heap.reserve(nodes, externals, variables, edges & !ANNOTATED, hyperedges);
        for _ in 0..nodes {
            heap.add_node(TypeId(next()));
        }
        for _ in 0..externals {
            heap.add_external(Node(next()));
        }
        for _ in 0..variables {
            heap.push_variable(Variable(next()), Node(next()));
        }
        for _ in 0..edges & !ANNOTATED {
            let (origin, selector) = (Node(next()), Selector(next()));
            let annotation = Annotation(if edges & ANNOTATED == 0 { 0 } else { next() });
            let target = Node(next());
            heap.push_edge(Edge {
                origin,
                selector,
                annotation,
                target,
            });
        }
        let mut tentacles = Vec::new();
        for _ in 0..hyperedges {
            let label = Label::from_words([next(), next()]);
            let rank = next();
            tentacles.clear();
            tentacles.extend((0..rank).map(|_| Node(next())));
            heap.add_hyperedge(label, &tentacles);
        }
        heap
    }

    /// Renumbers the nodes canonically.
    pub fn canonise(&mut self) {
        *self = Heap::from_code(&self.code());
    }
}

/// The code of a heap under a numbering of all its nodes.
pub(crate) fn emit(heap: &Heap, externals: Externals, order: &[Node], number: &[u16]) -> Vec<u16> {
    let edges = heap.edges().len() as u16;
    let annotated = heap.edges().any(|edge| edge.annotation != Annotation::NONE);
    let flag = if annotated { ANNOTATED } else { 0 };
    let tentacles: usize = heap.hyperedges().map(|h| h.tentacles.len() + 3).sum();
    let size = 5 + order.len() + heap.externals().len() + 2 * heap.variables().len();
    let mut code = Vec::with_capacity(size + 4 * usize::from(edges) + tentacles);
    code.extend([
        order.len() as u16,
        heap.externals().len() as u16,
        heap.variables().len() as u16,
        edges | flag,
        heap.hyperedge_count() as u16,
    ]);
    let number = |node: Node| number[node.at()];
    code.extend(order.iter().map(|&node| heap.node_type(node).0));
    let start = code.len();
    code.extend(heap.externals().iter().map(|&node| number(node)));
    if externals == Externals::Set {
        code[start..].sort_unstable();
    }
    for &(variable, node) in heap.variables() {
        code.extend([variable.0, number(node)]);
    }
    for &node in order {
        for edge in heap.edges_of(node) {
            code.extend([number(node), edge.selector.0]);
            if annotated {
                code.push(edge.annotation.0);
            }
            code.push(number(edge.target));
        }
    }
    let words = |at: usize| {
        let hyperedge = heap.hyperedge(at);
        let rank = hyperedge.tentacles.len() as u16;
        let numbers = hyperedge.tentacles.iter().map(|&node| number(node));
        let [first, second] = hyperedge.label.words();
        [first, second, rank].into_iter().chain(numbers)
    };
    if heap.hyperedge_count() < 2 {
        code.extend((0..heap.hyperedge_count()).flat_map(words));
    } else {
        let mut sorted: Vec<usize> = (0..heap.hyperedge_count()).collect();
        sorted.sort_unstable_by(|&a, &b| words(a).cmp(words(b)));
        code.extend(sorted.into_iter().flat_map(words));
    }
    code
}
