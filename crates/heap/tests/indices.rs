//! Indexed grammars: full binary trees and AVL trees.

mod common;

use std::collections::BTreeSet;

use common::languages::Language;
use common::shuffled;
use droste_heap::{
    AbstractionOptions, Balance, Code, End, Heap, Index, Label, Node, TypeId, Variable,
};
use droste_testkit::random::Random;
use droste_testkit::sweep::seeds;

/// At which tentacle the root is; null is at the other.
#[derive(Clone, Copy, PartialEq)]
enum Root {
    First,
    Last,
}

impl Root {
    /// The root and null in the order of tentacles.
    fn order<T>(self, root: T, null: T) -> [T; 2] {
        match self {
            Root::First => [root, null],
            Root::Last => [null, root],
        }
    }
}

/// A rule: the selectors of the root (target, annotation), and the trees with their indices.
fn rule(at: Root, left: (u32, &str), right: (u32, &str), trees: &[(u32, &str)]) -> String {
    let count = 1 + trees.len();
    let null = count;
    let node = |n: u32| if n == 0 { null } else { n as usize };
    let selectors = [("left", left), ("right", right)].map(|(name, (target, annotation))| {
        let target = node(target);
        format!(r#"{{"label":"{name}","origin":0,"target":{target},"annotation":"{annotation}"}}"#)
    });
    let trees: Vec<String> = trees
        .iter()
        .map(|(n, index)| {
            let ends = at.order(*n as usize, null);
            format!(r#"{{"label":"BT","index":[{index}],"tentacles":{ends:?}}}"#)
        })
        .collect();
    format!(
        r#"{{"nodes":[{{"type":"T","number":{count}}},{{"type":"NULL","number":1}}],
            "externals":{:?},"variables":[],"selectors":[{}],"hyperedges":[{}]}}"#,
        at.order(0, null),
        selectors.join(","),
        trees.join(",")
    )
}

fn fragment(index: &str, rules: &[String]) -> String {
    let rules = rules.join(",");
    format!(r#"{{"nonterminal":"BT","rank":2,"index":[{index}],"rules":[{rules}]}}"#)
}

/// Trees whose subtrees differ in height by at most one; or by none.
fn grammar(at: Root, differences: bool) -> String {
    let rule = |left, right, trees: &[_]| rule(at, left, right, trees);
    let same = rule((1, "0"), (2, "0"), &[(1, r#""()""#), (2, r#""()""#)]);
    let mut taller = vec![same];
    let mut parts = vec![fragment(r#""Z""#, &[rule((0, "0"), (0, "0"), &[])])];
    if differences {
        let left = rule((1, "1"), (0, "-1"), &[(1, r#""Z""#)]);
        let right = rule((0, "-1"), (1, "1"), &[(1, r#""Z""#)]);
        parts.push(fragment(r#""s","Z""#, &[left, right]));
        let left = rule((1, "1"), (2, "-1"), &[(1, r#""s","()""#), (2, r#""()""#)]);
        let right = rule((1, "-1"), (2, "1"), &[(1, r#""()""#), (2, r#""s","()""#)]);
        parts.push(fragment(r#""s","s","()""#, &[left, right]));
    }
    taller.truncate(1);
    parts.push(fragment(r#""s","()""#, &taller));
    format!("[{}]", parts.join(","))
}

/// A tree at a variable, with an index.
fn tree(at: Root, language: &Language, index: Index) -> Heap {
    let mut heap = Heap::new();
    let root = heap.add_node(language.symbols.type_id("T").unwrap());
    let null = heap.add_node(TypeId::NULL);
    heap.set_variable(Variable::NULL, null);
    heap.set_variable(Variable(50), root);
    let nonterminal = language.nonterminal("BT");
    heap.add_hyperedge(Label { nonterminal, index }, &at.order(root, null));
    heap
}

#[test]
fn heights_are_counted() {
    let language = Language::new(&grammar(Root::First, false));
    for (count, nodes) in [(0, 1), (1, 3), (2, 7)] {
        let heap = tree(Root::First, &language, Index::new(count, End::Z).unwrap());
        let all = language.concrete(&heap, 12);
        let sizes: Vec<usize> = all
            .iter()
            .map(|c| Heap::from_code(c).node_count())
            .collect();
        assert_eq!(sizes, [nodes + 1]);
    }
    let any = tree(Root::First, &language, Index::new(0, End::X).unwrap());
    assert_eq!(language.concrete(&any, 12).len(), 3);
    // AVL trees with 1 to 7 nodes: OEIS A006265.
    let language = Language::new(&grammar(Root::First, true));
    let any = tree(Root::First, &language, Index::new(0, End::X).unwrap());
    let mut sizes = [0; 9];
    for code in language.concrete(&any, 8) {
        sizes[Heap::from_code(&code).node_count()] += 1;
    }
    assert_eq!(sizes[2..], [1, 2, 1, 4, 6, 4, 17]);
}

#[test]
fn indexed_trees_are_abstracted_and_materialised() {
    for differences in [false, true] {
        seeds(0, 80, |seed| {
            let language = Language::new(&grammar(Root::First, differences));
            let mut random = Random::new(seed);
            let start = tree(Root::First, &language, Index::new(0, End::X).unwrap());
            let mut heap = start.clone();
            for _ in 0..random.below(5) {
                heap = common::languages::derive(&language, &heap, &mut random);
            }
            let size = heap.node_count() + 3;
            let before = language.concrete(&heap, size);
            let plain = heap.clone();
            if random.percent(50) {
                let nodes: Vec<Node> = heap.nodes().collect();
                heap.set_variable(Variable(51), *random.pick(&nodes));
            }
            for options in [
                AbstractionOptions::AGGRESSIVE,
                AbstractionOptions::ADMISSIBLE,
            ] {
                let mut less = heap.clone();
                language.grammar.abstract_heap(&mut less, &options);
                let mut other = shuffled(&heap, &mut random);
                language.grammar.abstract_heap(&mut other, &options);
                assert_eq!(less.code(), other.code(), "seed {seed}");
                let covered = language.concrete(&less, size);
                assert!(
                    language.concrete(&heap, size).is_subset(&covered),
                    "seed {seed}"
                );
            }
            let mut whole = plain.clone();
            language
                .grammar
                .abstract_heap(&mut whole, &AbstractionOptions::AGGRESSIVE);
            assert_eq!(whole.code(), start.code(), "seed {seed}\n{plain:?}");
            for node in plain.nodes() {
                for selector in language.symbols.selectors() {
                    if !language.grammar.hides(&plain, node, selector) {
                        continue;
                    }
                    let mut after: BTreeSet<Code> = BTreeSet::new();
                    for one in language.grammar.reveal(&plain, node, selector).unwrap() {
                        after.extend(language.concrete(&one, size));
                    }
                    assert!(after == before, "seed {seed}");
                }
            }
        });
    }
}

#[test]
fn balance_is_recomputed() {
    for at in [Root::First, Root::Last] {
        balance_at(at);
    }
}

fn balance_at(at: Root) {
    let mut language = Language::new(&grammar(at, true));
    let balance = Balance::new(&mut language.symbols, &language.grammar).unwrap();
    let start = tree(at, &language, Index::new(0, End::X).unwrap());
    assert!(balance.is_balanced_tree(&language.grammar, None, &start));
    for code in language.concrete(&start, 9) {
        let heap = Heap::from_code(&code);
        // Without annotations, as a program builds it.
        let mut bare = heap.clone();
        for edge in heap.edges() {
            bare.set_selector(edge.origin, edge.selector, edge.target);
        }
        balance.annotate(&mut bare);
        assert_eq!(bare.code(), code);
        assert!(balance.is_balanced_tree(&language.grammar, None, &heap));
        // A root above it with no other child is not balanced if the tree is high.
        let mut higher = heap.clone();
        let root = higher.add_node(language.symbols.type_id("T").unwrap());
        let [left, right] = ["left", "right"].map(|n| language.symbols.selector(n).unwrap());
        higher.set_selector(root, left, heap.variable(Variable(50)).unwrap());
        higher.set_selector(root, right, heap.variable(Variable::NULL).unwrap());
        let leaf = heap.node_count() == 2;
        assert_eq!(
            balance.is_balanced_tree(&language.grammar, None, &higher),
            leaf
        );
    }
}
