//! Canonical codes against isomorphism by brute force.

mod common;

use std::collections::HashSet;

use common::{doubled, isomorphic, random_heap, shuffled};
use droste_heap::{Heap, Nonterminal, Selector, TypeId};
use droste_testkit::random::Random;
use droste_testkit::sweep::seeds;

#[test]
fn codes_are_equal_just_if_the_heaps_are_isomorphic() {
    seeds(0, 300, |seed| {
        let mut random = Random::new(seed);
        let mut heaps: Vec<Heap> = (0..12).map(|_| random_heap(&mut random)).collect();
        for at in 0..6 {
            let double = doubled(&heaps[at], &mut random);
            heaps.push(double);
        }
        for at in 0..heaps.len() {
            let other = shuffled(&heaps[at], &mut random);
            assert_eq!(
                heaps[at].code(),
                other.code(),
                "seed {seed}: {:?}",
                heaps[at]
            );
            if random.percent(40) {
                heaps.push(mutated(&other, &mut random));
            }
        }
        // Heaps of one code are isomorphic, and those of different codes are not.
        for (at, a) in heaps.iter().enumerate() {
            for b in &heaps[..at] {
                let same = a.code() == b.code();
                assert_eq!(same, isomorphic(a, b), "seed {seed}\n{a:?}\n{b:?}");
            }
        }
    });
}

/// One thing is changed, so that the heap often is nearly the same.
fn mutated(heap: &Heap, random: &mut Random) -> Heap {
    let mut heap = heap.clone();
    let nodes: Vec<_> = heap.nodes().collect();
    let first = heap.edges().next();
    if heap.hyperedge_count() > 0 && random.percent(50) {
        let at = random.below(heap.hyperedge_count());
        let (label, mut tentacles) = {
            let hyperedge = heap.hyperedge(at);
            (hyperedge.label, hyperedge.tentacles.to_vec())
        };
        heap.remove_hyperedge(at);
        let tentacle = random.below(tentacles.len());
        tentacles[tentacle] = *random.pick(&nodes);
        heap.add_hyperedge(label, &tentacles);
    } else if let Some(edge) = first {
        heap.set_selector(edge.origin, edge.selector, *random.pick(&nodes));
    }
    heap
}

#[test]
fn a_code_is_read_back() {
    seeds(0, 2_000, |seed| {
        let mut random = Random::new(seed);
        let heap = random_heap(&mut random);
        let code = heap.code();
        let back = Heap::from_code(&code);
        assert!(isomorphic(&heap, &back), "seed {seed}");
        assert_eq!(back.code(), code, "seed {seed}");
    });
}

#[test]
fn symmetric_heaps_have_codes_in_time() {
    let selector = Selector(0);
    // Many lists that look the same, a large ring, a full graph of hyperedges.
    let mut lists = Heap::new();
    for _ in 0..30 {
        let a = lists.add_node(TypeId(7));
        let b = lists.add_node(TypeId(7));
        lists.set_selector(a, selector, b);
        lists.add_hyperedge(Nonterminal(0).into(), &[b, a]);
    }
    let mut ring = Heap::new();
    let nodes: Vec<_> = (0..60).map(|_| ring.add_node(TypeId(7))).collect();
    for at in 0..nodes.len() {
        ring.set_selector(nodes[at], selector, nodes[(at + 1) % nodes.len()]);
    }
    let mut full = Heap::new();
    let nodes: Vec<_> = (0..12).map(|_| full.add_node(TypeId(7))).collect();
    for &a in &nodes {
        for &b in &nodes {
            full.add_hyperedge(Nonterminal(0).into(), &[a, b]);
        }
    }
    let mut lonely = Heap::new();
    for _ in 0..1_000 {
        lonely.add_node(TypeId(7));
    }
    let mut random = Random::new(5);
    let mut codes = HashSet::new();
    for heap in [lists, ring, full, lonely] {
        let code = heap.code();
        assert_eq!(shuffled(&heap, &mut random).code(), code);
        assert!(codes.insert(code));
    }
}
