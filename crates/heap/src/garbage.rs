//! Garbage collection: what no variable and no external node leads to is removed.
//!
//! A hyperedge stands for many concrete parts of a heap, and in some of them fewer nodes can be reached from
//! a tentacle than in others. So there are two notions of what is reached. What *may* be reached, in some
//! concrete heap, must not be removed. What *must* be reached, in every concrete heap, is certainly not lost.

use crate::grammar::Grammar;
use crate::hypergraph::{Heap, Node};
use crate::symbols::{Nonterminal, TypeId};

impl Grammar {
    /// Removes the nodes that cannot be reached from variables and external nodes, and says
    /// whether there were any. A hyperedge leads on from each of its tentacles that is no
    /// reduction tentacle, to all its nodes.
    pub fn collect_garbage(&self, heap: &mut Heap) -> bool {
        let leads = |nonterminal, tentacle| !self.is_reduction(nonterminal, tentacle);
        let reached = reached(heap, roots(heap), leads);
        if heap.nodes().all(|node| reached[node.at()]) {
            return false;
        }
        heap.remove_nodes(|node| !reached[node.at()]);
        true
    }

    /// Whether there may be an object that no variable and no external node leads to, in one of the
    /// concrete heaps that this one stands for. Objects of types without fields may be passed over.
    pub fn may_have_garbage(&self, heap: &Heap, passed_over: impl Fn(TypeId) -> bool) -> bool {
        let table = self.leading.get_or_init(|| self.leading_tentacles());
        let leads = |nonterminal, tentacle| leads(table, nonterminal, tentacle);
        let reached = reached(heap, roots(heap), leads);
        let lost = |node: Node| !reached[node.at()] && !passed_over(heap.node_type(node));
        heap.nodes().any(lost) || self.hides_unreached(heap, &reached, leads)
    }

    /// Whether a hyperedge may hide objects to which no node leads that is reached. One without rules,
    /// such as a remembered index, hides nothing.
    fn hides_unreached(
        &self,
        heap: &Heap,
        reached: &[bool],
        leads: impl Fn(Nonterminal, usize) -> bool,
    ) -> bool {
        heap.hyperedges().any(|hyperedge| {
            let nonterminal = hyperedge.label.nonterminal;
            let mut tentacles = hyperedge.tentacles.iter().enumerate();
            self.rules_of(nonterminal).next().is_some()
                && !tentacles.any(|(at, node)| reached[node.at()] && leads(nonterminal, at))
        })
    }

    /// For each nonterminal and each of its tentacles: whether the node at the tentacle leads to all
    /// that the hyperedge stands for, whichever rules are applied. It is the greatest table in which a rule
    /// has this property if its own hyperedges have it; so every derivation has it.
    fn leading_tentacles(&self) -> Vec<Vec<bool>> {
        let mut table: Vec<Vec<bool>> = Vec::new();
        for rule in self.rules() {
            let at = usize::from(rule.nonterminal.0);
            if table.len() <= at {
                table.resize(at + 1, Vec::new());
            }
            table[at] = vec![true; rule.tentacles.len()];
        }
        loop {
            let mut changed = false;
            for rule in self.rules().iter().filter(|rule| !rule.collapsed) {
                let at = usize::from(rule.nonterminal.0);
                for (tentacle, &node) in rule.tentacles.iter().enumerate() {
                    if !table[at][tentacle] {
                        continue;
                    }
                    let graph = &rule.graph;
                    let leads = |nonterminal, tentacle| leads(&table, nonterminal, tentacle);
                    let reached = reached(graph, vec![node], leads);
                    // Constants are always held.
                    let lost =
                        |node: Node| !reached[node.at()] && !graph.node_type(node).is_constant();
                    if graph.nodes().any(lost) || self.hides_unreached(graph, &reached, leads) {
                        table[at][tentacle] = false;
                        changed = true;
                    }
                }
            }
            if !changed {
                return table;
            }
        }
    }
}

fn leads(table: &[Vec<bool>], nonterminal: Nonterminal, tentacle: usize) -> bool {
    let row = table.get(usize::from(nonterminal.0));
    row.and_then(|row| row.get(tentacle))
        .is_some_and(|&one| one)
}

/// What variables and external nodes point to.
fn roots(heap: &Heap) -> Vec<Node> {
    let variables = heap.variables().iter().map(|&(_, node)| node);
    variables.chain(heap.externals().iter().copied()).collect()
}

/// For each node whether these lead to it. A hyperedge leads from some of its tentacles to all its
/// nodes; `leads` says from which.
fn reached(heap: &Heap, roots: Vec<Node>, leads: impl Fn(Nonterminal, usize) -> bool) -> Vec<bool> {
    let mut reached = vec![false; heap.node_bound()];
    let mut stack = roots;
    while let Some(node) = stack.pop() {
        if std::mem::replace(&mut reached[node.at()], true) {
            continue;
        }
        stack.extend(heap.edges_of(node).map(|edge| edge.target));
        for hyperedge in heap.hyperedges() {
            let mut tentacles = hyperedge.tentacles.iter().enumerate();
            let on = tentacles.any(|(tentacle, &attached)| {
                attached == node && leads(hyperedge.label.nonterminal, tentacle)
            });
            if on {
                stack.extend(hyperedge.tentacles);
            }
        }
    }
    reached
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Predefined, Symbols, predefined, read_sid, read_symbolic_heap};

    /// Whether a symbolic heap may have garbage.
    fn loses(rules: &str, heap: &str) -> bool {
        let mut symbols = Symbols::new();
        let mut fragments = predefined(&mut symbols, Predefined::SinglyLinkedList);
        fragments.extend(predefined(&mut symbols, Predefined::DoublyLinkedList));
        fragments.extend(read_sid(&mut symbols, rules).unwrap());
        let grammar = Grammar::new(&symbols, fragments);
        let heap = read_symbolic_heap(&mut symbols, heap).unwrap();
        grammar.may_have_garbage(&heap, |_| false)
    }

    const TWO: &str =
        "Two(a{ListNode}, b{ListNode}, n{NULL}) <= RefSLList(a, n) * RefSLList(b, n) ;";

    #[test]
    fn what_a_list_holds_is_reached_from_its_beginning() {
        assert!(!loses(TWO, "H(x{ListNode}) <= RefSLList(x, null)"));
        assert!(loses(
            TWO,
            "H(x{ListNode}) <= y{ListNode} | RefSLList(y, x)"
        ));
    }

    #[test]
    fn a_doubly_linked_list_is_reached_from_both_ends() {
        let heap = "H(x{DLListNode}) <= y{DLListNode} | RefDLList(null, y, x, null)";
        assert!(!loses(TWO, heap));
    }

    /// The collector keeps such a part: some of it may be reached. That two nodes together lead to all
    /// of it is not found out.
    #[test]
    fn half_of_a_structure_is_not_all_of_it() {
        let heap = "H(x{ListNode}) <= y{ListNode} | Two(x, y, null)";
        assert!(loses(TWO, heap));
        assert!(loses(TWO, "H(x{ListNode}, y{ListNode}) <= Two(x, y, null)"));
    }
}
