//! Objects inside what a hyperedge stands for to which no field leads from outside.
//!
//! A marking that walks along fields never comes to such an object. So it has to be known whether a
//! grammar has any.

use std::collections::BTreeMap;

use crate::grammar::{Grammar, Rule};
use crate::hypergraph::{Heap, Node};
use crate::symbols::{Nonterminal, Variable};

/// For each nonterminal and two of its tentacles whether fields lead from the one to the other, in
/// whatever is derived.
type Ways = BTreeMap<Nonterminal, Vec<Vec<bool>>>;

impl Grammar {
    /// A nonterminal that this heap may lead to, with a rule whose objects cannot all be reached by
    /// fields from the objects around them.
    pub fn unreached(&self, heap: &Heap) -> Option<Nonterminal> {
        let ways = self.ways();
        let mut known: Vec<Nonterminal> = Vec::new();
        let mut todo: Vec<Nonterminal> =
            heap.hyperedges().map(|one| one.label.nonterminal).collect();
        while let Some(nonterminal) = todo.pop() {
            if known.contains(&nonterminal) {
                continue;
            }
            known.push(nonterminal);
            for rule in self.rules_of(nonterminal) {
                let seen = reached(&rule.graph, &rule.tentacles, &ways);
                if rule
                    .graph
                    .nodes()
                    .any(|node| !seen.contains(&node) && is_object(&rule.graph, node))
                {
                    return Some(nonterminal);
                }
                todo.extend(rule.graph.hyperedges().map(|one| one.label.nonterminal));
            }
        }
        None
    }

    /// All are taken to be there until a rule says otherwise: what remains is so after any number of
    /// steps of a derivation.
    fn ways(&self) -> Ways {
        let mut ways = Ways::new();
        for rule in self.rules() {
            let rank = rule.tentacles.len();
            ways.entry(rule.nonterminal)
                .or_insert_with(|| vec![vec![true; rank]; rank]);
        }
        loop {
            let mut changed = false;
            for rule in self.rules() {
                for (from, to) in lost(rule, &ways) {
                    if let Some(own) = ways.get_mut(&rule.nonterminal) {
                        own[from][to] = false;
                        changed = true;
                    }
                }
            }
            if !changed {
                return ways;
            }
        }
    }
}

/// The pairs of tentacles that this rule does not connect.
fn lost(rule: &Rule, ways: &Ways) -> Vec<(usize, usize)> {
    let mut lost = Vec::new();
    let Some(own) = ways.get(&rule.nonterminal) else {
        return lost;
    };
    for (from, &node) in rule.tentacles.iter().enumerate() {
        let seen = reached(&rule.graph, &[node], ways);
        let there = rule.tentacles.iter().enumerate();
        lost.extend(
            there
                .filter(|&(to, target)| own[from][to] && !seen.contains(target))
                .map(|(to, _)| (from, to)),
        );
    }
    lost
}

/// Where fields lead from some nodes, also those inside of hyperedges.
fn reached(graph: &Heap, from: &[Node], ways: &Ways) -> Vec<Node> {
    let mut seen: Vec<Node> = from.to_vec();
    let mut at = 0;
    while let Some(&node) = seen.get(at) {
        at += 1;
        let mut next: Vec<Node> = graph.edges_of(node).map(|edge| edge.target).collect();
        for hyperedge in graph.hyperedges() {
            let Some(ways) = ways.get(&hyperedge.label.nonterminal) else {
                continue;
            };
            for (from, _) in hyperedge
                .tentacles
                .iter()
                .enumerate()
                .filter(|one| *one.1 == node)
            {
                let to = hyperedge.tentacles.iter().enumerate();
                next.extend(to.filter(|&(to, _)| ways[from][to]).map(|(_, &to)| to));
            }
        }
        for node in next {
            if !seen.contains(&node) {
                seen.push(node);
            }
        }
    }
    seen
}

fn is_object(graph: &Heap, node: Node) -> bool {
    !graph.node_type(node).is_constant() && !graph.variables_at(node).any(Variable::is_constant)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Indices, Predefined, Symbols, predefined, read_grammar, read_symbolic_heap};

    fn unreached(symbols: &mut Symbols, grammar: &Grammar, heap: &str) -> bool {
        let heap = read_symbolic_heap(symbols, heap).unwrap();
        grammar.unreached(&heap).is_some()
    }

    #[test]
    fn fields_lead_everywhere_in_lists_and_trees() {
        for (which, heap) in [
            (
                Predefined::SinglyLinkedList,
                "H(x{A}) <= RefSLList(x, null)",
            ),
            (Predefined::BinaryTree, "H(x{A}) <= RefBT(x, null)"),
            (
                Predefined::DoublyLinkedList,
                "H(x{A}, y{A}) <= RefDLList(null, x, y, null)",
            ),
        ] {
            let mut symbols = Symbols::new();
            let fragments = predefined(&mut symbols, which);
            let grammar = Grammar::new(&symbols, fragments);
            assert!(!unreached(&mut symbols, &grammar, heap), "{which:?}");
        }
    }

    /// One object of the rule points to another, and nothing points to it.
    #[test]
    fn an_object_that_nothing_points_to() {
        let text = r#"[{"nonterminal":"N","rank":2,"rules":[
            {"nodes":[{"type":"A","number":3}],"externals":[0,1],"variables":[],"hyperedges":[],
             "selectors":[{"label":"next","origin":0,"target":1},
                          {"label":"next","origin":2,"target":0}]}]},
            {"nonterminal":"M","rank":2,"rules":[
            {"nodes":[{"type":"A","number":2}],"externals":[0,1],"variables":[],"selectors":[],
             "hyperedges":[{"label":"N","tentacles":[0,1]}]}]}]"#;
        let mut symbols = Symbols::new();
        let read = read_grammar(&mut symbols, text, Indices::Read).unwrap();
        let grammar = Grammar::new(&symbols, read);
        for heap in ["H(x{A}) <= N(x, null)", "H(x{A}) <= M(x, null)"] {
            assert!(unreached(&mut symbols, &grammar, heap), "{heap}");
        }
        assert!(!unreached(
            &mut symbols,
            &grammar,
            "H(x{A}) <= x.next -> null"
        ));
    }
}
