//! Abstraction: rules are applied backward until none fits any more.
//!
//! Nonterminals are tried in the order of the grammar, for each its plain rules, then its
//! collapsed ones; after a rule was applied the search starts again. Where the grammar is
//! backward confluent, the result does not depend on the order. Where it is not, it still depends
//! on the isomorphism class alone, because the search runs on the canonical numbering.

use std::cell::RefCell;

use crate::embedding::{Embedding, Search, View};
use crate::grammar::{Grammar, Rule};
use crate::hypergraph::Heap;
use crate::symbols::{End, Index, Label, Nonterminal};

/// How far abstraction goes.
#[allow(clippy::struct_excessive_bools)] // Four switches that users set one by one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AbstractionOptions {
    /// A node that has selectors in the rule is not mapped to a node with a variable, nor to an
    /// external one: what is near a variable stays concrete.
    pub admissible: bool,
    /// Constants count as variables for admissibility.
    pub admissible_constants: bool,
    /// Composed markings, `%a-b`, count as variables for admissibility.
    pub admissible_markings: bool,
    /// Collapsed rules are used too.
    pub collapsed: bool,
}

impl AbstractionOptions {
    /// No admissibility: as much is abstracted as the grammar allows.
    pub const AGGRESSIVE: AbstractionOptions = AbstractionOptions {
        admissible: false,
        admissible_constants: false,
        admissible_markings: false,
        collapsed: true,
    };

    /// Admissible abstraction; constants and composed markings are exempt.
    pub const ADMISSIBLE: AbstractionOptions = AbstractionOptions {
        admissible: true,
        ..AbstractionOptions::AGGRESSIVE
    };

    /// The same without admissibility.
    #[must_use]
    pub fn aggressive(self) -> AbstractionOptions {
        let admissible = false;
        AbstractionOptions { admissible, ..self }
    }
}

/// Memory that is kept from call to call.
#[derive(Default)]
struct Scratch {
    view: View,
    search: Search,
    /// The rules that are known not to fit.
    failed: Vec<bool>,
}

thread_local! {
    static SCRATCH: RefCell<Scratch> = RefCell::default();
}

impl Grammar {
    /// Applies rules backward until none fits any more, and says whether one did. Nodes are
    /// renumbered if so.
    pub fn abstract_heap(&self, heap: &mut Heap, options: &AbstractionOptions) -> bool {
        self.abstract_around(heap, *options, None)
    }

    /// Whether a rule can be applied backward, or an index be abstracted.
    pub fn can_abstract(&self, heap: &Heap, options: &AbstractionOptions) -> bool {
        if self.indexed && self.abstract_indices(&mut heap.clone()) {
            return true;
        }
        SCRATCH.with_borrow_mut(|scratch| {
            scratch.failed.clear();
            scratch.failed.resize(self.rules().len(), false);
            scratch.view.look(heap, *options, None);
            self.applicable(heap, *options, scratch).is_some()
        })
    }

    /// Abstracts a heap; if an external node is given, no other one counts for admissibility.
    pub(crate) fn abstract_around(
        &self,
        heap: &mut Heap,
        options: AbstractionOptions,
        only: Option<usize>,
    ) -> bool {
        SCRATCH.with_borrow_mut(|scratch| {
            let changed = self.abstract_indices(heap);
            scratch.failed.clear();
            scratch.failed.resize(self.rules().len(), false);
            scratch.view.look(heap, options, only);
            if self.applicable(heap, options, scratch).is_none() {
                return changed;
            }
            heap.canonise();
            scratch.view.look(heap, options, only);
            while let Some(rule) = self.applicable(heap, options, scratch) {
                apply(heap, rule, &scratch.search.embedding());
                scratch.forget(self.rules(), rule.nonterminal, self.abstract_indices(heap));
                scratch.view.look(heap, options, only);
            }
            heap.compact();
            true
        })
    }

    /// The first rule that can be applied backward. What is found depends on the isomorphism class
    /// of the heap alone.
    fn applicable(
        &self,
        heap: &Heap,
        options: AbstractionOptions,
        scratch: &mut Scratch,
    ) -> Option<&Rule> {
        let Scratch {
            view,
            search,
            failed,
        } = scratch;
        for (rule, failed) in self.rules().iter().zip(failed) {
            if *failed || rule.collapsed && !options.collapsed {
                continue;
            }
            if rule.plan.increasing && search.find(rule, heap, view) {
                return Some(rule);
            }
            *failed = true;
        }
        None
    }
}

impl Scratch {
    /// A rule was applied. One that did not fit before can fit now only with the new hyperedge:
    /// selectors and hyperedges are gone, and a node that has lost some is attached to it.
    fn forget(&mut self, rules: &[Rule], nonterminal: Nonterminal, indices_changed: bool) {
        for (rule, failed) in rules.iter().zip(&mut self.failed) {
            *failed &= !(indices_changed || rule.plan.uses(nonterminal));
        }
    }
}

/// Puts a hyperedge in the place of the image of a right-hand side.
pub(crate) fn apply(heap: &mut Heap, rule: &Rule, embedding: &Embedding) {
    for edge in rule.graph.edges() {
        heap.remove_selector(embedding.image(edge.origin), edge.selector);
    }
    let mut used = embedding.used.clone();
    used.sort_unstable();
    for &at in used.iter().rev() {
        heap.remove_hyperedge(at.into());
    }
    for node in rule.graph.nodes() {
        if !rule.plan.needs[node.at()].external {
            heap.discard(embedding.image(node));
        }
    }
    let index = instantiate(rule.index, embedding.index).unwrap_or(rule.index);
    let nonterminal = rule.nonterminal;
    let tentacles: Vec<_> = rule.tentacles.iter().map(|&n| embedding.image(n)).collect();
    heap.add_hyperedge(Label { nonterminal, index }, &tentacles);
}

/// An index of a rule, with what the index variable stands for put in. `None` if the result is
/// too long.
pub(crate) fn instantiate(index: Index, variable: Option<Index>) -> Option<Index> {
    match (index.parts(), variable.and_then(Index::parts)) {
        (Some((count, End::Any)), Some((more, end))) => Index::new(count + more, end),
        _ => Some(index),
    }
}
