//! Grammars without heights: they derive what the grammar did, and no more than its rules do without
//! indices. Every node of a balanced tree can be marked with them.

mod common;

use std::collections::BTreeSet;

use common::languages::{GRAMMARS, Language};
use droste_heap::{
    AbstractionOptions, Code, End, Fragment, Grammar, Heap, Index, Label, Markings, Selector,
    TypeId, Variable,
};
use droste_testkit::random::Random;
use droste_testkit::sweep::seeds;

const BALANCED: &str = include_str!("../../shape/tests/random/balanced.json");

/// The rules without indices, and nothing else.
fn stripped(language: &Language) -> Language {
    let fragments = language.grammar.fragments().iter().map(|fragment| {
        let mut rules = fragment.rules.clone();
        rules.iter_mut().for_each(Heap::forget_heights);
        Fragment {
            index: Index::NONE,
            rules,
            ..fragment.clone()
        }
    });
    let symbols = language.symbols.clone();
    let grammar = Grammar::new(&symbols, fragments.collect());
    Language { symbols, grammar }
}

fn without_heights(language: &mut Language) -> Language {
    let grammar = language.grammar.clone();
    let grammar = grammar.without_heights(&mut language.symbols).unwrap();
    let symbols = language.symbols.clone();
    Language { symbols, grammar }
}

/// A tree of any height.
fn tree(language: &Language) -> Heap {
    let mut heap = Heap::new();
    let root = heap.add_node(language.symbols.type_id("T").unwrap());
    let null = heap.add_node(TypeId::NULL);
    heap.set_variable(Variable::NULL, null);
    heap.set_variable(Variable(50), root);
    let label = Label {
        nonterminal: language.nonterminal("BT"),
        index: Index::new(0, End::X).unwrap(),
    };
    heap.add_hyperedge(label, &[root, null]);
    heap
}

fn forgotten(codes: &BTreeSet<Code>) -> BTreeSet<Code> {
    let codes = codes.iter().map(|code| {
        let mut heap = Heap::from_code(code);
        heap.forget_heights();
        heap.code()
    });
    codes.collect()
}

#[test]
fn ways_add_nothing() {
    for text in GRAMMARS.into_iter().chain([BALANCED]) {
        let mut language = Language::new(text);
        let ways = without_heights(&mut language);
        let plain = stripped(&language);
        seeds(0, 6, |seed| {
            let mut heap = if text == BALANCED {
                tree(&language)
            } else {
                language.start(&mut Random::new(seed))
            };
            let size = heap.node_count() + 3;
            let before = language.derived(&heap, size);
            heap.forget_heights();
            let (with, without) = (ways.derived(&heap, size), plain.derived(&heap, size));
            assert!(with == without, "seed {seed}\n{text}");
            assert!(forgotten(&before).is_subset(&without), "seed {seed}");
        });
    }
}

/// What lies between the root and a mark is one hyperedge, however deep the mark is, and the fields of
/// the root are found in finitely many ways.
#[test]
fn every_node_of_a_balanced_tree_can_be_marked() {
    let mut language = Language::new(BALANCED);
    let mut ways = without_heights(&mut language);
    let start = tree(&language);
    let size = 7;
    let concrete = forgotten(&language.concrete(&start, size));
    let mut heap = start.clone();
    heap.forget_heights();
    let selectors: Vec<Selector> = ways.symbols.selectors().collect();
    for options in [
        AbstractionOptions::ADMISSIBLE,
        AbstractionOptions::AGGRESSIVE,
    ] {
        let grammar = ways.grammar.clone();
        let markings = Markings::new(&grammar, &options, &selectors, 1_000).largest(20);
        let visited = markings.visited(&mut ways.symbols, &heap).unwrap();
        assert!(visited.len() < 10, "{}", visited.len());
        let neighbours = markings.neighbourhood(&mut ways.symbols, &heap).unwrap();
        assert!(neighbours.len() < 60, "{}", neighbours.len());
        let mut covered = BTreeSet::new();
        for heap in visited.iter().chain(&neighbours) {
            covered.extend(ways.derived(heap, size));
        }
        for code in &concrete {
            let heap = Heap::from_code(code);
            let visited = markings.visited_concretely(&mut ways.symbols, &heap);
            let neighbours = markings.neighbourhood_concretely(&mut ways.symbols, &heap);
            assert_eq!(visited.len(), heap.node_count() - 1);
            assert_eq!(neighbours.len(), heap.node_count() - 1);
            for marked in visited.iter().chain(&neighbours) {
                assert!(covered.contains(&marked.code()), "{marked:?}");
            }
        }
        // A field of the root is shown in a few ways.
        for heap in visited.iter().chain(&neighbours) {
            let root = heap.variable(Variable(50)).unwrap();
            let shown = grammar.reveal_all(heap, root, &selectors).unwrap();
            assert!((1..40).contains(&shown.len()), "{}", shown.len());
        }
    }
}
