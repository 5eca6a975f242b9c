//! Markings and refinement for reachability, checked on concrete heaps.

mod common;

use std::collections::BTreeSet;

use common::languages::{GRAMMARS, Language, derive};
use droste_heap::{
    AbstractionOptions, Code, Heap, Markings, Node, Refinement, Selector, TypeId, Unmarked,
    Variable, read_symbolic_heap,
};
use droste_testkit::random::Random;
use droste_testkit::sweep::seeds;

/// Every concrete heap with one node marked, by `mark`.
fn marked(all: &BTreeSet<Code>, mark: impl Fn(&Heap, Node) -> Option<Heap>) -> BTreeSet<Code> {
    let mut result = BTreeSet::new();
    for code in all {
        let heap = Heap::from_code(code);
        for node in heap.nodes().filter(|n| heap.node_type(*n) != TypeId::NULL) {
            result.extend(mark(&heap, node).map(|heap| heap.code()));
        }
    }
    result
}

#[test]
fn marked_heaps_stand_for_every_node() {
    for text in GRAMMARS {
        seeds(0, 8, |seed| {
            let mut language = Language::new(text);
            let mut random = Random::new(seed);
            let mut heap = language.start(&mut random);
            if random.percent(30) {
                heap = derive(&language, &heap, &mut random);
            }
            // A program may mention some fields only. What lies behind others is there, too.
            let mut selectors: Vec<Selector> = language.symbols.selectors().collect();
            if random.percent(40) {
                selectors.retain(|_| random.percent(50));
            }
            let size = heap.node_count() + 2;
            let before = language.concrete(&heap, size);
            let grammar = language.grammar.clone();
            for options in [
                AbstractionOptions::ADMISSIBLE,
                AbstractionOptions::AGGRESSIVE,
            ] {
                let markings = Markings::new(&grammar, &options, &selectors, 10_000);
                let found = markings.visited(&mut language.symbols, &heap);
                // Without a rule that joins lists there is no end.
                let Ok(found) = found else {
                    assert_eq!(text, GRAMMARS[4]);
                    continue;
                };
                let visited = language.symbols.variable("%visited").unwrap();
                let mut covered: BTreeSet<Code> = BTreeSet::new();
                for heap in &found {
                    covered.extend(language.concrete(heap, size));
                }
                let wanted = marked(&before, |heap, node| {
                    let mut heap = heap.clone();
                    heap.set_variable(visited, node);
                    Some(heap)
                });
                assert!(wanted.is_subset(&covered), "seed {seed}");

                let found = markings
                    .neighbourhood(&mut language.symbols, &heap)
                    .unwrap();
                let symbols = &language.symbols;
                let centre = symbols.variable("%neighbourhood").unwrap();
                let mut covered: BTreeSet<Code> = BTreeSet::new();
                for heap in &found {
                    covered.extend(language.concrete(heap, size));
                }
                let wanted = marked(&before, |heap, node| {
                    let mut heap = heap.clone();
                    heap.set_variable(centre, node);
                    let mut edges = heap.edges_of(node);
                    edges.find(|edge| selectors.contains(&edge.selector))?;
                    drop(edges);
                    for &selector in &selectors {
                        let name = symbols.selector_name(selector);
                        let variable = symbols.variable(&format!("%neighbourhood-{name}"));
                        if let Some(target) = heap.target(node, selector) {
                            heap.set_variable(variable.unwrap(), target);
                        }
                    }
                    Some(heap)
                });
                assert!(wanted.is_subset(&covered), "seed {seed}");
                // The selectors of the marked node stay concrete.
                for heap in &found {
                    let node = heap.variable(centre).unwrap();
                    assert!(heap.edges_of(node).next().is_some());
                }
            }
        });
    }
}

#[test]
fn a_list_has_two_marked_heaps() {
    let mut language = Language::new("SLList");
    let text = "H(head{ListNode}) <= RefSLList(head, null)";
    let heap = read_symbolic_heap(&mut language.symbols, text).unwrap();
    let selectors: Vec<Selector> = language.symbols.selectors().collect();
    let options = AbstractionOptions::ADMISSIBLE;
    let markings = Markings::new(&language.grammar, &options, &selectors, 100);
    let found = markings.visited(&mut language.symbols, &heap).unwrap();
    assert_eq!(found.len(), 2);
    let markings = Markings::new(&language.grammar, &options, &selectors, 1);
    let found = markings.neighbourhood(&mut language.symbols, &heap);
    assert_eq!(found.err(), Some(Unmarked::TooMany(1)));
}

/// Whether a path of at least one of the selectors leads from a node to another.
fn path(heap: &Heap, from: Node, to: Node, selectors: Option<&[Selector]>) -> bool {
    let allowed = |s: Selector| selectors.is_none_or(|all| all.contains(&s));
    let mut reached = BTreeSet::new();
    loop {
        let size = reached.len();
        for edge in heap.edges().filter(|e| allowed(e.selector)) {
            if edge.origin == from || reached.contains(&edge.origin) {
                reached.insert(edge.target);
            }
        }
        if reached.len() == size {
            return reached.contains(&to);
        }
    }
}

#[test]
fn kernels_say_what_is_reachable() {
    for text in GRAMMARS {
        seeds(0, 30, |seed| {
            let mut language = Language::new(text);
            let mut random = Random::new(seed);
            let mut heap = language.random_heap(&mut random, 6);
            let nodes: Vec<Node> = heap.nodes().collect();
            let (x, y) = (Variable(60), Variable(61));
            heap.set_variable(x, *random.pick(&nodes));
            heap.set_variable(y, *random.pick(&nodes));
            let all: Vec<Selector> = language.symbols.selectors().collect();
            let sets = [
                None,
                Some(vec![all[0]]),
                Some(all[all.len() - 1..].to_vec()),
            ];
            let grammar = language.grammar.clone();
            let refinement = Refinement::new(&mut language.symbols, &grammar, &sets).unwrap();
            let size = heap.node_count() + 2;
            let refined = Language {
                symbols: language.symbols.clone(),
                grammar: refinement.grammar.clone(),
            };
            let mut together = BTreeSet::new();
            for one in refinement.expand(&heap).unwrap() {
                let concrete = refined.concrete(&one, size);
                let (from, to) = (one.variable(x).unwrap(), one.variable(y).unwrap());
                for code in &concrete {
                    let heap = Heap::from_code(code);
                    let (a, b) = (heap.variable(x).unwrap(), heap.variable(y).unwrap());
                    for (set, selectors) in sets.iter().enumerate() {
                        let expected = path(&heap, a, b, selectors.as_deref());
                        let found = refinement.reaches(&one, from, to, set);
                        assert_eq!(found, expected, "seed {seed} set {set}\n{one:?}");
                    }
                }
                together.extend(concrete);
                // Abstraction keeps what is reachable.
                let mut less = one.clone();
                refined
                    .grammar
                    .abstract_heap(&mut less, &AbstractionOptions::AGGRESSIVE);
                let (from, to) = (less.variable(x).unwrap(), less.variable(y).unwrap());
                for code in &refined.concrete(&less, size) {
                    let heap = Heap::from_code(code);
                    let (a, b) = (heap.variable(x).unwrap(), heap.variable(y).unwrap());
                    let expected = path(&heap, a, b, None);
                    assert_eq!(refinement.reaches(&less, from, to, 0), expected);
                }
            }
            assert!(together == language.concrete(&heap, size), "seed {seed}");
        });
    }
}

#[test]
fn shapes_are_recognised() {
    let cases = [
        ("SLList", "H(x{ListNode}) <= RefSLList(x, null)", true),
        (
            "SLList",
            "H(x{ListNode}, y{ListNode}) <= x.next -> y * RefSLList(y, null)",
            true,
        ),
        (
            "SLList",
            "H(x{ListNode}, y{ListNode}) <= RefSLList(x, null) * RefSLList(y, null)",
            false,
        ),
        (
            "DLList",
            "H(x{DLListNode}, y{DLListNode}, z{DLListNode}) <= RefDLList(x, y, z, null)",
            true,
        ),
        (
            "BT",
            "H(x{BTNode}) <= y{BTNode} | x.left -> y * x.right -> null * RefBT(y, null)",
            true,
        ),
        ("BT", "H(x{BTNode}) <= x.left -> x * x.right -> null", false),
    ];
    for (grammar, text, expected) in cases {
        let mut language = Language::new(grammar);
        let heap = read_symbolic_heap(&mut language.symbols, text).unwrap();
        let first = language.grammar.nonterminals()[0];
        let found = language.grammar.is_shape(&heap, &[first]);
        assert_eq!(found, expected, "{text}");
    }
}

/// Whoever waits for marks can have it stop.
#[test]
fn marking_stops_when_it_is_told_to() {
    let mut language = Language::new(GRAMMARS[0]);
    let mut random = Random::new(1);
    let heap = language.start(&mut random);
    let selectors: Vec<Selector> = language.symbols.selectors().collect();
    let grammar = language.grammar.clone();
    let options = AbstractionOptions::ADMISSIBLE;
    let markings = Markings::new(&grammar, &options, &selectors, 10_000);
    assert!(
        markings
            .visited(&mut language.symbols, &heap)
            .is_ok_and(|found| !found.is_empty())
    );
    let stopping = markings.stopping(&|| true);
    let found = stopping.visited(&mut language.symbols, &heap);
    assert_eq!(found.err(), Some(Unmarked::Stopped));
    let found = stopping.neighbourhood(&mut language.symbols, &heap);
    assert_eq!(found.err(), Some(Unmarked::Stopped));
}
