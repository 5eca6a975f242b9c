//! Is a violation real? The program is run without abstraction, on concrete heaps.
//!
//! The abstract heap in which a violation begins stands for concrete heaps, and so do the other heaps in
//! which the program may start. The concrete heaps are derived by the rules of the grammar, small ones first.
//! For each of them the same question is asked of the same machine, but nothing is abstracted. A violation
//! there is one of the program, and the heap is an input that shows it. If there is none among the small
//! heaps, the violation may be one of the abstraction alone.

use std::collections::BTreeMap;
use std::time::Duration;

use droste_base::Limits;
use droste_heap::{Code, Grammar, Heap};
use rustc_hash::FxHashSet;

/// Heaps with more nodes are not tried.
const MOST_NODES: usize = 14;
/// So many concrete heaps are tried.
const MOST_HEAPS: usize = 60;
/// So many steps of derivation are made.
const MOST_STEPS: usize = 20_000;
/// How long it may take, all in all.
pub(crate) const PATIENCE: Duration = Duration::from_secs(2);

/// The concrete heaps that some heaps stand for, the small ones, by size.
pub(crate) fn instances(grammar: &Grammar, heaps: &[Heap], limits: &Limits) -> Vec<Heap> {
    let mut guard = limits.guard();
    let mut found = Vec::new();
    let mut seen: FxHashSet<Code> = FxHashSet::default();
    // By the number of nodes, with one more for each hyperedge.
    let mut todo: BTreeMap<(usize, Code), Heap> = BTreeMap::new();
    let size = |heap: &Heap| heap.node_count() + heap.hyperedge_count();
    for heap in heaps {
        todo.insert((size(heap), heap.code()), heap.clone());
    }
    for _ in 0..MOST_STEPS {
        let Some((_, heap)) = todo.pop_first() else {
            break;
        };
        if found.len() >= MOST_HEAPS || guard.check().is_err() {
            break;
        }
        if heap.hyperedge_count() == 0 {
            found.push(heap);
            continue;
        }
        // Each concrete heap can be derived in any order of the hyperedges, so the first one will do.
        for rule in grammar.rules_of(heap.hyperedge(0).label.nonterminal) {
            let Some(next) = heap.replace(0, rule) else {
                continue;
            };
            if next.node_count() <= MOST_NODES && seen.insert(next.code()) {
                todo.insert((size(&next), next.code()), next);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use droste_heap::{Predefined, Symbols, predefined, read_symbolic_heap};

    #[test]
    fn small_lists_come_first() {
        let mut symbols = Symbols::new();
        let fragments = predefined(&mut symbols, Predefined::SinglyLinkedList);
        let grammar = Grammar::new(&symbols, fragments);
        let text = "List(x{ListNode}) <= RefSLList(x, null)";
        let heap = read_symbolic_heap(&mut symbols, text).unwrap();
        let heaps = instances(&grammar, &[heap], &Limits::default());
        let sizes: Vec<usize> = heaps.iter().map(Heap::node_count).collect();
        // Null, and one object more each time.
        assert_eq!(sizes[..4], [2, 3, 4, 5]);
    }
}
