//! Structures with a hole: a random tree is cut in two at a random node, the upper part is abstracted,
//! and trees are put into the hole. The tree that was there makes a balanced tree again. If another
//! one is said to do so, the concrete tree is balanced.

mod common;

use common::languages::Language;
use droste_heap::{
    AbstractionOptions, Balance, Cut, End, Frame, Heap, Holes, Index, Label, Node, TypeId, Variable,
};
use droste_testkit::random::Random;
use droste_testkit::sweep::seeds;

const BALANCED: &str = include_str!("../../shape/tests/random/balanced.json");
const ROOT: Variable = Variable(50);
const HOLE: Variable = Variable(51);
const BESIDE: Variable = Variable(52);

/// A concrete tree of this height at a variable.
fn tree(language: &Language, height: u16, root: Variable, random: &mut Random) -> Heap {
    let mut heap = Heap::new();
    let node = heap.add_node(language.symbols.type_id("T").unwrap());
    let null = heap.add_node(TypeId::NULL);
    heap.set_variable(Variable::NULL, null);
    heap.set_variable(root, node);
    let label = Label {
        nonterminal: language.nonterminal("BT"),
        index: Index::new(height, End::Z).unwrap(),
    };
    heap.add_hyperedge(label, &[node, null]);
    while heap.hyperedge_count() > 0 {
        let rules: Vec<_> = language
            .grammar
            .rules_of(heap.hyperedge(0).label.nonterminal)
            .filter_map(|rule| heap.replace(0, rule))
            .collect();
        heap = random.pick(&rules).clone();
    }
    heap
}

fn one(language: &Language, balance: &Balance, holes: &Holes, seed: u64) {
    let random = &mut Random::new(seed);
    let height = 1 + random.below(4) as u16;
    let mut whole = tree(language, height, ROOT, random);
    let below: Vec<Node> = whole
        .nodes()
        .filter(|&node| whole.node_type(node) != TypeId::NULL && whole.variable(ROOT) != Some(node))
        .collect();
    whole.set_variable(HOLE, *random.pick(&below));
    let Cut { fragment, frame } = whole.cut(&[HOLE]);
    let mut context = frame.heap.clone();
    context.set_externals(&frame.attached);
    // A tree of an open index beside it keeps heights from being abstracted: they are compared with
    // those of concrete trees.
    let beside = context.add_node(language.symbols.type_id("T").unwrap());
    context.set_variable(BESIDE, beside);
    let label = Label {
        nonterminal: language.nonterminal("BT"),
        index: Index::new(0, End::X).unwrap(),
    };
    let null = context.variable(Variable::NULL).unwrap();
    context.add_hyperedge(label, &[beside, null]);
    let options = AbstractionOptions::AGGRESSIVE;
    holes.grammar.abstract_heap(&mut context, &options);
    context.remove_node(context.variable(BESIDE).unwrap());
    // All that is left is the way to the hole.
    assert_eq!(
        (context.edges().len(), context.hyperedge_count()),
        (0, 1),
        "SEED={seed}\n{whole:?}"
    );
    let around = Frame {
        attached: context.externals().to_vec(),
        heap: context,
    };
    let is_balanced = |heap: &Heap, holes| balance.is_balanced_tree(&language.grammar, holes, heap);
    let again = around.glue(&fragment).unwrap();
    assert!(is_balanced(&again, Some(holes)), "SEED={seed}\n{whole:?}");
    assert!(!is_balanced(&around.heap, Some(holes)), "SEED={seed}");
    for other in 0..4 {
        let other = tree(language, other, HOLE, random).cut(&[HOLE]).fragment;
        // The fragment has its root, too, as an external node.
        let mut other = other;
        let mut externals = other.externals().to_vec();
        let root = other.variable(HOLE).unwrap();
        if !externals.contains(&root) {
            externals.push(root);
        }
        other.set_externals(&externals);
        other.order_externals();
        let abstract_ = around.glue(&other).unwrap();
        let mut concrete = frame.glue(&other).unwrap();
        balance.annotate(&mut concrete);
        assert!(
            !is_balanced(&abstract_, Some(holes)) || is_balanced(&concrete, None),
            "SEED={seed}\n{concrete:?}"
        );
    }
}

fn sweep(first: u64, count: u64) {
    let mut language = Language::new(BALANCED);
    let balance = Balance::new(&mut language.symbols, &language.grammar).unwrap();
    let holes = Holes::new(&mut language.symbols, &language.grammar).unwrap();
    seeds(first, count, |seed| one(&language, &balance, &holes, seed));
}

#[test]
fn holes_are_filled() {
    sweep(0, 300);
}

#[test]
#[ignore = "long: for the sweeps"]
fn many_holes_are_filled() {
    sweep(10_000, 20_000);
}
