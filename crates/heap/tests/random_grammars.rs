//! Random grammars: what the checks say about them is true.

mod common;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};

use common::languages::{Language, derive};
use droste_heap::{
    AbstractionOptions, Code, Fragment, Grammar, Heap, Index, Label, Node, Selector, Symbols,
    WarningKind, check,
};
use droste_testkit::random::Random;
use droste_testkit::sweep::seeds;

/// A grammar with one or two nonterminals of rank 2 and few rules.
fn random_grammar(random: &mut Random) -> Language {
    let mut symbols = Symbols::new();
    let id = symbols.add_type("T");
    let selectors: Vec<Selector> = ["f", "g"].map(|name| symbols.add_selector(name)).into();
    let names = &["M", "N"][..random.between(1, 2)];
    let nonterminals: Vec<_> = names
        .iter()
        .map(|name| symbols.add_nonterminal(name, 2).unwrap())
        .collect();
    let mut fragments = Vec::new();
    for &nonterminal in &nonterminals {
        let rules = (0..random.between(1, 3)).map(|number| {
            let mut graph = Heap::new();
            let nodes: Vec<Node> = (0..2 + random.below(2))
                .map(|_| graph.add_node(id))
                .collect();
            graph.set_externals(&nodes[..2]);
            // The first rule ends; the others often are chains.
            for _ in 0..random.between(usize::from(number == 0), 2) {
                let origin = nodes[random.below(3) % nodes.len() / 2];
                graph.set_selector(origin, *random.pick(&selectors), *random.pick(&nodes));
            }
            // Two hyperedges only beside a new node: otherwise heaps grow without nodes.
            let most = nodes.len() - 1;
            let hyperedges = if number == 0 {
                0
            } else {
                random.between(1, most)
            };
            for _ in 0..hyperedges {
                let tentacles = [*random.pick(&nodes), *random.pick(&nodes)];
                if tentacles[0] != tentacles[1] {
                    graph.add_hyperedge(Label::from(*random.pick(&nonterminals)), &tentacles);
                }
            }
            graph
        });
        fragments.push(Fragment {
            nonterminal,
            index: Index::NONE,
            reduction: None,
            rules: rules.collect(),
        });
    }
    let grammar = Grammar::new(&symbols, fragments);
    Language { symbols, grammar }
}

/// One hyperedge between two external nodes.
fn start(language: &Language) -> Heap {
    let mut heap = Heap::new();
    let id = language.symbols.type_id("T").unwrap();
    let nodes = [heap.add_node(id), heap.add_node(id)];
    heap.set_externals(&nodes);
    heap.add_hyperedge(Label::from(language.grammar.nonterminals()[0]), &nodes);
    heap
}

#[test]
fn confluent_grammars_abstract_to_where_they_came_from() {
    let options = AbstractionOptions {
        collapsed: false,
        ..AbstractionOptions::AGGRESSIVE
    };
    let used = AtomicUsize::new(0);
    seeds(0, 600, |seed| {
        let mut random = Random::new(seed);
        let language = random_grammar(&mut random);
        let found = check(&language.symbols, &language.grammar);
        let recursive = language.grammar.rules().len() > 1;
        let bad = [WarningKind::NotConfluent, WarningKind::NotIncreasing];
        if !recursive || found.iter().any(|warning| bad.contains(&warning.kind)) {
            return;
        }
        used.fetch_add(1, Ordering::Relaxed);
        let start = start(&language);
        let mut wanted = start.clone();
        language.grammar.abstract_heap(&mut wanted, &options);
        for _ in 0..10 {
            let mut heap = start.clone();
            for _ in 0..random.below(6) {
                heap = derive(&language, &heap, &mut random);
            }
            language.grammar.abstract_heap(&mut heap, &options);
            assert_eq!(heap.code(), wanted.code(), "seed {seed}\n{heap:?}");
        }
    });
    println!("{} grammars are confluent", used.into_inner());
}

#[test]
fn materialisation_loses_nothing() {
    let (local, others, endless) = (
        AtomicUsize::new(0),
        AtomicUsize::new(0),
        AtomicUsize::new(0),
    );
    seeds(0, 600, |seed| {
        let mut random = Random::new(seed);
        let language = random_grammar(&mut random);
        let found = check(&language.symbols, &language.grammar);
        let bad = WarningKind::NotLocallyConcretisable;
        let complains = found.iter().any(|warning| warning.kind == bad);
        let heap = start(&language);
        let before = language.derived(&heap, 4);
        for node in heap.nodes() {
            for selector in language.symbols.selectors() {
                if !language.grammar.hides(&heap, node, selector) {
                    continue;
                }
                let Some(revealed) = language.grammar.reveal(&heap, node, selector) else {
                    assert!(complains, "seed {seed}");
                    endless.fetch_add(1, Ordering::Relaxed);
                    continue;
                };
                let mut after: BTreeSet<Code> = BTreeSet::new();
                for one in revealed {
                    after.extend(language.derived(&one, 4));
                }
                assert!(before == after, "seed {seed}");
                let counter = if complains { &others } else { &local };
                counter.fetch_add(1, Ordering::Relaxed);
            }
        }
    });
    println!(
        "{} selectors in grammars that give them at once, {} in others, {} without end",
        local.into_inner(),
        others.into_inner(),
        endless.into_inner()
    );
}
