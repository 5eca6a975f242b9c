//! What the tests of heaps share: isomorphism by brute force, random heaps.
#![allow(dead_code, missing_docs, reason = "each test uses a part")]

pub(crate) mod languages;

use droste_heap::{Annotation, Edge, Heap, Label, Node, Nonterminal, Selector, TypeId, Variable};
use droste_testkit::random::Random;

/// Whether two heaps are isomorphic: tries all ways to map nodes, without any cleverness that the
/// canonical code shares.
pub(crate) fn isomorphic(a: &Heap, b: &Heap) -> bool {
    let sizes = |h: &Heap| {
        let edges = h.edges().len();
        let (variables, externals) = (h.variables().len(), h.externals().len());
        (
            h.node_count(),
            edges,
            h.hyperedge_count(),
            variables,
            externals,
        )
    };
    if sizes(a) != sizes(b) {
        return false;
    }
    let nodes: Vec<Node> = a.nodes().collect();
    let mut map = vec![None; a.node_bound()];
    extend(a, b, &nodes, &mut map)
}

fn extend(a: &Heap, b: &Heap, rest: &[Node], map: &mut Vec<Option<Node>>) -> bool {
    let Some((&node, rest)) = rest.split_first() else {
        return hyperedges(a, |n| map[n.0 as usize].unwrap()) == hyperedges(b, |n| n);
    };
    for image in b.nodes() {
        if map.contains(&Some(image)) || degrees(a, node) != degrees(b, image) {
            continue;
        }
        map[node.0 as usize] = Some(image);
        if fits(a, b, map) && extend(a, b, rest, map) {
            return true;
        }
        map[node.0 as usize] = None;
    }
    false
}

/// The type of a node, and how often it is an origin, a target, and attached to a tentacle.
fn degrees(heap: &Heap, node: Node) -> (TypeId, usize, usize, Vec<(Label, usize)>) {
    let origins = heap.edges_of(node).count();
    let targets = heap.edges().filter(|e| e.target == node).count();
    let mut attached = Vec::new();
    for h in heap.hyperedges() {
        let at = h.tentacles.iter().enumerate().filter(|(_, n)| **n == node);
        attached.extend(at.map(|(i, _)| (h.label, i)));
    }
    attached.sort_unstable();
    (heap.node_type(node), origins, targets, attached)
}

/// Whether what is mapped so far agrees in selectors, variables and externals.
fn fits(a: &Heap, b: &Heap, map: &[Option<Node>]) -> bool {
    let image = |n: Node| map[n.0 as usize];
    let variables = a.variables().iter().zip(b.variables());
    let mut variables = variables.map(|(x, y)| x.0 == y.0 && image(x.1).is_none_or(|n| n == y.1));
    let mut externals = a.externals().iter().zip(b.externals());
    let mapped: Vec<Node> = map.iter().flatten().copied().collect();
    let edges: Vec<Edge> = a.edges().collect();
    let inner = |e: &&Edge| image(e.origin).is_some() && image(e.target).is_some();
    let count = edges.iter().filter(inner).count();
    let same = |e: &Edge| {
        let origin = image(e.origin).unwrap();
        let found = b.edge(origin, e.selector);
        found.is_some_and(|f| Some(f.target) == image(e.target) && f.annotation == e.annotation)
    };
    let known = |h: &Heap, known: &dyn Fn(Node) -> bool| -> usize {
        h.hyperedges()
            .filter(|h| h.tentacles.iter().all(|n| known(*n)))
            .count()
    };
    variables.all(|ok| ok)
        && known(a, &|n| image(n).is_some()) == known(b, &|n| mapped.contains(&n))
        && externals.all(|(x, y)| image(*x).is_none_or(|n| n == *y))
        && edges.iter().filter(inner).all(same)
        && b.edges()
            .filter(|e| mapped.contains(&e.origin) && mapped.contains(&e.target))
            .count()
            == count
}

fn hyperedges(heap: &Heap, image: impl Fn(Node) -> Node) -> Vec<(Label, Vec<Node>)> {
    let images = heap.hyperedges();
    let mut all: Vec<_> = images
        .map(|h| (h.label, h.tentacles.iter().map(|n| image(*n)).collect()))
        .collect();
    all.sort();
    all
}

/// The same heap with its nodes and hyperedges in another order.
pub(crate) fn shuffled(heap: &Heap, random: &mut Random) -> Heap {
    let mut order: Vec<Node> = heap.nodes().collect();
    random.shuffle(&mut order);
    let mut image = vec![Node(0); heap.node_bound()];
    let mut new = Heap::new();
    for node in order {
        image[node.0 as usize] = new.add_node(heap.node_type(node));
    }
    let image = |n: Node| image[n.0 as usize];
    for edge in heap.edges() {
        let (origin, target) = (image(edge.origin), image(edge.target));
        new.set_edge(Edge {
            origin,
            target,
            ..edge
        });
    }
    for &(variable, node) in heap.variables() {
        new.set_variable(variable, image(node));
    }
    for &node in heap.externals() {
        new.add_external(image(node));
    }
    let mut all = hyperedges(heap, image);
    random.shuffle(&mut all);
    for (label, tentacles) in all {
        new.add_hyperedge(label, &tentacles);
    }
    new
}

/// A random heap with few names, so that much of it looks alike.
pub(crate) fn random_heap(random: &mut Random) -> Heap {
    let mut heap = Heap::new();
    let count = random.between(1, 7);
    for _ in 0..count {
        heap.add_node(TypeId(7 + random.below(8) as u16 / 7));
    }
    let nodes: Vec<Node> = heap.nodes().collect();
    for _ in 0..random.below(8) {
        let (origin, target) = (*random.pick(&nodes), *random.pick(&nodes));
        let selector = Selector(random.below(3) as u16 / 2);
        let annotation = Annotation(random.below(12) as u16 / 11);
        heap.set_edge(Edge {
            origin,
            selector,
            annotation,
            target,
        });
    }
    for _ in 0..random.below(7) {
        let label = Nonterminal(random.below(5) as u16 / 3);
        let rank = 2 + usize::from(label.0 == 1);
        let tentacles: Vec<Node> = (0..rank).map(|_| *random.pick(&nodes)).collect();
        for _ in 0..=random.below(6) / 5 {
            heap.add_hyperedge(label.into(), &tentacles);
        }
    }
    for variable in 0..random.below(3) {
        heap.set_variable(Variable(9 + variable as u16), *random.pick(&nodes));
    }
    let mut externals = nodes.clone();
    random.shuffle(&mut externals);
    externals.truncate(random.below(5) / 2);
    heap.set_externals(&externals);
    if random.percent(30) {
        heap.remove_node(*random.pick(&nodes));
    }
    heap
}

/// The heap beside a copy of itself, perhaps with links between the two.
pub(crate) fn doubled(heap: &Heap, random: &mut Random) -> Heap {
    let mut new = heap.clone();
    new.compact();
    new.retain_variables(|_| false);
    new.set_externals(&[]);
    let half = new.clone();
    let offset = half.node_count() as u16;
    for node in half.nodes() {
        new.add_node(half.node_type(node));
    }
    let image = |n: Node| Node(n.0 + offset);
    for edge in half.edges() {
        let (origin, target) = (image(edge.origin), image(edge.target));
        new.set_edge(Edge {
            origin,
            target,
            ..edge
        });
    }
    for (label, tentacles) in hyperedges(&half, image) {
        new.add_hyperedge(label, &tentacles);
    }
    if random.percent(50) && offset > 0 {
        let node = Node(random.below(offset.into()) as u16);
        new.add_hyperedge(Nonterminal(0).into(), &[node, image(node)]);
        if random.percent(50) {
            new.add_hyperedge(Nonterminal(0).into(), &[image(node), node]);
        }
    }
    new
}
