//! What is around the part of a heap that a callee sees.
//!
//! A context is a heap whose external nodes are those of the part, in the same order. It is Chau's scope
//! hierarchy (*Comparing Hierarchical and On-The-Fly Model Checking for Java Pointer Programs*, 2019,
//! section 3.2) with all its scopes in one heap. If the part has a variable of the same name as the context,
//! the one in the part counts.

use droste_heap::{Frame, Heap, Node};

use crate::execute::Names;

/// A part together with what is around it. No node is external then.
pub(crate) fn completed(context: &Heap, part: &Heap, names: &Names) -> Heap {
    let mut whole = context.clone();
    // An index that is too long is one that is not known.
    let _ = whole.recall_context(part);
    join(&mut whole, context.externals(), part, names);
    whole.set_externals(&[]);
    whole
}

/// The context of a callee whose caller keeps `frame`, and has this context itself.
pub(crate) fn around(outer: Option<&Heap>, frame: &Frame, names: &Names) -> Heap {
    let Some(outer) = outer else {
        let mut context = frame.heap.clone();
        context.set_externals(&frame.attached);
        context.forget_indices();
        return context;
    };
    let mut context = outer.clone();
    let _ = context.recall_context(&frame.heap);
    let places = join(&mut context, outer.externals(), &frame.heap, names);
    let attached: Vec<Node> = (frame.attached.iter())
        .map(|node| places[usize::from(node.0)])
        .collect();
    context.set_externals(&attached);
    context.forget_indices();
    context
}

/// Adds `part` to `whole`: its external nodes are `attached`, and constants are shared. Says where
/// each of its nodes is.
fn join(whole: &mut Heap, attached: &[Node], part: &Heap, names: &Names) -> Vec<Node> {
    const NOWHERE: Node = Node(u16::MAX);
    let mut places = vec![NOWHERE; part.node_bound()];
    for (&node, &at) in part.externals().iter().zip(attached) {
        places[usize::from(node.0)] = at;
    }
    for &(variable, node) in part.variables() {
        if variable.is_constant()
            && let Some(at) = whole.variable(variable)
        {
            places[usize::from(node.0)] = at;
        }
    }
    for node in part.nodes() {
        let place = &mut places[usize::from(node.0)];
        if *place == NOWHERE {
            *place = whole.add_node(part.node_type(node));
        }
    }
    let place = |node: Node| places[usize::from(node.0)];
    for edge in part.edges() {
        whole.set_edge(droste_heap::Edge {
            origin: place(edge.origin),
            target: place(edge.target),
            ..edge
        });
    }
    for hyperedge in part.hyperedges() {
        let tentacles: Vec<Node> = hyperedge
            .tentacles
            .iter()
            .map(|&node| place(node))
            .collect();
        whole.add_hyperedge(hyperedge.label, &tentacles);
    }
    for &(variable, node) in part.variables() {
        names.forget(whole, variable);
        whole.set_variable(variable, place(node));
    }
    places
}
