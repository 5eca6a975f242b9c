//! Abstraction, materialisation, garbage collection and scopes, checked on the concrete heaps that
//! an abstract heap stands for.

mod common;

use std::collections::BTreeSet;

use common::languages::{GRAMMARS, Language, derive};
use common::{isomorphic, shuffled};
use droste_heap::{AbstractionOptions, Code, Heap, Node, Variable};
use droste_testkit::random::Random;
use droste_testkit::sweep::seeds;

const OPTIONS: [AbstractionOptions; 4] = [
    AbstractionOptions::AGGRESSIVE,
    AbstractionOptions::ADMISSIBLE,
    AbstractionOptions {
        admissible_constants: true,
        ..AbstractionOptions::ADMISSIBLE
    },
    AbstractionOptions {
        collapsed: false,
        ..AbstractionOptions::ADMISSIBLE
    },
];

#[test]
fn abstraction_depends_on_the_isomorphism_class_and_covers() {
    for text in GRAMMARS {
        seeds(0, 60, |seed| {
            let language = Language::new(text);
            let mut random = Random::new(seed);
            let heap = language.random_heap(&mut random, 7);
            for options in OPTIONS {
                let (mut one, mut two) = (heap.clone(), shuffled(&heap, &mut random));
                let changed = language.grammar.abstract_heap(&mut one, &options);
                language.grammar.abstract_heap(&mut two, &options);
                assert_eq!(one.code(), two.code(), "seed {seed}");
                assert_eq!(changed, !isomorphic(&heap, &one), "seed {seed}");
                // What was abstracted can be derived again, and nothing more can be abstracted.
                let size = heap.node_count();
                assert!(
                    language
                        .concrete(&heap, size)
                        .is_subset(&language.concrete(&one, size)),
                    "seed {seed}\n{heap:?}\n{one:?}"
                );
                assert!(!language.grammar.abstract_heap(&mut one, &options));
            }
        });
    }
}

#[test]
fn abstraction_undoes_concretisation() {
    // The grammars that come with Droste are backward confluent: all derivatives of a fully
    // abstract heap without variables inside have the same abstraction.
    for text in &GRAMMARS[..3] {
        seeds(0, 100, |seed| {
            let language = Language::new(text);
            let mut random = Random::new(seed);
            let start = language.start(&mut random);
            let mut heap = start.clone();
            for _ in 0..random.below(8) {
                heap = derive(&language, &heap, &mut random);
            }
            language
                .grammar
                .abstract_heap(&mut heap, &AbstractionOptions::AGGRESSIVE);
            assert_eq!(
                heap.code(),
                start.code(),
                "seed {seed}\n{heap:?}\n{start:?}"
            );
        });
    }
}

#[test]
fn materialisation_covers_exactly() {
    for text in GRAMMARS {
        seeds(0, 40, |seed| {
            let language = Language::new(text);
            let mut random = Random::new(seed);
            let mut heap = language.start(&mut random);
            for _ in 0..random.below(4) {
                heap = derive(&language, &heap, &mut random);
            }
            let size = heap.node_count() + 2;
            let before = language.derived(&heap, size);
            for node in heap.nodes() {
                for selector in language.symbols.selectors() {
                    if !language.grammar.hides(&heap, node, selector) {
                        continue;
                    }
                    let mut after: BTreeSet<Code> = BTreeSet::new();
                    for one in language.grammar.reveal(&heap, node, selector).unwrap() {
                        assert!(one.target(node, selector).is_some());
                        after.extend(language.derived(&one, size));
                    }
                    assert!(
                        before == after,
                        "seed {seed}: {} {}",
                        before.len(),
                        after.len()
                    );
                }
            }
        });
    }
}

#[test]
fn garbage_is_what_no_concrete_heap_reaches() {
    for text in GRAMMARS {
        seeds(0, 100, |seed| {
            let language = Language::new(text);
            let mut random = Random::new(seed);
            let mut heap = language.random_heap(&mut random, 8);
            heap.retain_variables(Variable::is_constant);
            let nodes: Vec<Node> = heap.nodes().collect();
            let x = *random.pick(&nodes);
            heap.set_variable(Variable(100), x);
            let mut collected = heap.clone();
            let some = language.grammar.collect_garbage(&mut collected);
            assert_eq!(some, collected.node_count() < heap.node_count());
            // Naive: on every concrete heap, what is reachable by selectors.
            let size = heap.node_count() + 2;
            let naive = |heap: &Heap| -> BTreeSet<Code> {
                let all = language.concrete(heap, size);
                all.iter()
                    .map(|code| reachable(&Heap::from_code(code)).code())
                    .collect()
            };
            let (before, after) = (naive(&heap), naive(&collected));
            let small = |codes: &BTreeSet<Code>, size: usize| -> BTreeSet<Code> {
                codes
                    .iter()
                    .filter(|c| Heap::from_code(c).node_count() <= size)
                    .cloned()
                    .collect()
            };
            // Garbage takes room, so heaps of the bounded size are compared one way each.
            assert!(before.is_subset(&after), "seed {seed}");
            let fits = size - (heap.node_count() - collected.node_count());
            let wide = language.concrete(&heap, size + 2);
            let wide: BTreeSet<Code> = wide
                .iter()
                .map(|c| reachable(&Heap::from_code(c)).code())
                .collect();
            assert!(
                small(&after, fits).is_subset(&wide),
                "seed {seed}\n{heap:?}"
            );
        });
    }
}

fn reachable(heap: &Heap) -> Heap {
    let mut reached: BTreeSet<Node> = heap.variables().iter().map(|v| v.1).collect();
    reached.extend(heap.externals());
    loop {
        let size = reached.len();
        for edge in heap.edges() {
            if reached.contains(&edge.origin) {
                reached.insert(edge.target);
            }
        }
        if reached.len() == size {
            break;
        }
    }
    let mut heap = heap.clone();
    heap.remove_nodes(|node| !reached.contains(&node));
    heap
}

#[test]
fn cutting_and_gluing_is_the_identity() {
    for text in GRAMMARS {
        seeds(0, 200, |seed| {
            let language = Language::new(text);
            let mut random = Random::new(seed);
            let mut heap = language.random_heap(&mut random, 9);
            let nodes: Vec<Node> = heap.nodes().collect();
            let parameters = [Variable(100), Variable(101)];
            for parameter in parameters {
                if random.percent(80) {
                    heap.set_variable(parameter, *random.pick(&nodes));
                }
            }
            if random.percent(20) {
                heap.add_external(*random.pick(&nodes));
            }
            let cut = heap.cut(&parameters);
            let glued = cut.frame.glue(&cut.fragment).unwrap();
            assert_eq!(glued.code(), heap.code(), "seed {seed}\n{heap:?}\n{cut:?}");
            // The fragment depends on the isomorphism class alone, and so does the frame.
            let other = shuffled(&heap, &mut random).cut(&parameters);
            assert_eq!(other.fragment.code(), cut.fragment.code(), "seed {seed}");
            assert_eq!(other.frame.glue(&cut.fragment).unwrap().code(), heap.code());
            let small = Heap::from_code(&cut.fragment.code());
            assert_eq!(cut.frame.glue(&small).unwrap().code(), heap.code());
        });
    }
}

#[test]
fn rules_that_give_a_selector_at_once_are_enough() {
    for text in GRAMMARS {
        seeds(0, 20, |seed| {
            let language = Language::new(text);
            let mut random = Random::new(seed);
            let heap = language.random_heap(&mut random, 6);
            let size = heap.node_count() + 2;
            let (all, some) = (
                language.derived(&heap, size),
                language.concrete(&heap, size),
            );
            assert!(all == some, "seed {seed}: {} {}", all.len(), some.len());
        });
    }
}
