//! Shapes of a whole heap: whether it is one structure of a grammar.

use crate::abstraction::AbstractionOptions;
use crate::grammar::Grammar;
use crate::hypergraph::{Heap, Hyperedge};
use crate::symbols::{Nonterminal, TypeId};

impl Grammar {
    /// Whether the heap, without its variables, is one structure of a nonterminal: with plain
    /// rules and without admissibility it becomes a single hyperedge with one of these labels,
    /// and no selector is left. Nodes with nothing attached do not count.
    pub fn is_shape(&self, heap: &Heap, one_of: &[Nonterminal]) -> bool {
        let options = AbstractionOptions {
            collapsed: false,
            ..AbstractionOptions::AGGRESSIVE
        };
        let heap = self.bare(heap, options);
        let mut labels = heap.hyperedges().map(|h| h.label.nonterminal);
        heap.edges().len() == 0
            && heap.hyperedge_count() == 1
            && labels.all(|label| one_of.contains(&label))
    }

    /// The same for a list or a tree in the usual sense: null may be at several ends of it, and it
    /// is no ring.
    pub fn is_list_or_tree(&self, heap: &Heap, one_of: &[Nonterminal]) -> bool {
        let heap = self.bare(heap, AbstractionOptions::AGGRESSIVE);
        let is_one = |hyperedge: Hyperedge<'_>| {
            let tentacles = hyperedge.tentacles.iter().enumerate();
            let mut objects = tentacles.filter(|(_, node)| heap.node_type(**node) != TypeId::NULL);
            one_of.contains(&hyperedge.label.nonterminal)
                && objects.all(|(at, node)| !hyperedge.tentacles[..at].contains(node))
        };
        heap.edges().len() == 0 && heap.hyperedge_count() == 1 && heap.hyperedges().all(is_one)
    }

    /// The heap without variables and external places, abstracted.
    pub(crate) fn bare(&self, heap: &Heap, options: AbstractionOptions) -> Heap {
        let mut heap = heap.clone();
        heap.retain_variables(|_| false);
        heap.set_externals(&[]);
        self.abstract_heap(&mut heap, &options);
        heap
    }

    /// The nonterminal of a shape that formulas know by name: `sll`, `dll` and `tree` are the
    /// lists and trees of the grammars that come with Droste, under any renaming.
    pub fn named_shape(shape: &str) -> Option<&'static str> {
        Some(match shape {
            "sll" => "RefSLList",
            "dll" => "RefDLList",
            "tree" => "RefBT",
            _ => return None,
        })
    }
}
