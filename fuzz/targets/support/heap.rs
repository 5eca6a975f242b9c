//! What is done with every heap and every grammar that was read.

use droste_heap::{
    AbstractionOptions, Grammar, Heap, Indices, Symbols, Variable, check, heap_dot, heap_json,
    read_heap,
};
use droste_source::SourceFile;
use droste_source::diagnostics::{Diagnostic, render};

/// What was refused is said.
pub fn refused(text: &str, errors: &[Diagnostic]) {
    assert!(!render(errors, &SourceFile::new("fuzz", text), false).is_empty());
}

/// A heap is written and read again, cut and glued, collected and abstracted.
pub fn examine(symbols: &mut Symbols, grammar: &Grammar, heap: &Heap) {
    if heap.node_count() > 30 || heap.hyperedge_count() > 20 {
        return;
    }
    let code = heap.code();
    assert_eq!(Heap::from_code(&code).code(), code);
    let text = heap_json(symbols, heap);
    let again = read_heap(symbols, &text, Indices::Read);
    assert_eq!(again.map(|heap| heap.code()).ok(), Some(code.clone()));
    assert!(!heap_dot(symbols, heap, "heap").is_empty());
    let parameters: Vec<Variable> = heap.variables().iter().map(|pair| pair.0).take(2).collect();
    let parameters: Vec<Variable> = parameters.into_iter().filter(|v| !v.is_constant()).collect();
    let cut = heap.cut(&parameters);
    let glued = cut.frame.glue(&cut.fragment);
    assert_eq!(glued.map(|heap| heap.code()), Some(code));
    let mut less = heap.clone();
    grammar.collect_garbage(&mut less);
    for node in less.nodes().take(4) {
        for selector in symbols.selectors().take(4) {
            for one in (grammar.reveal(&less, node, selector).iter().flatten()).take(4) {
                assert!(one.target(node, selector).is_some() || !grammar.hides(one, node, selector));
            }
        }
    }
    grammar.abstract_heap(&mut less, &AbstractionOptions::ADMISSIBLE);
    assert!(!grammar.abstract_heap(&mut less, &AbstractionOptions::ADMISSIBLE));
}

/// A grammar is checked, and its right-hand sides are heaps.
#[allow(dead_code, reason = "each target uses a part")]
pub fn examine_grammar(symbols: &mut Symbols, grammar: &Grammar) {
    let rules = grammar.rules().len();
    let small = |heap: &Heap| heap.node_count() <= 8 && heap.hyperedge_count() <= 4;
    if rules > 60 || !grammar.rules().iter().all(|rule| small(&rule.graph)) {
        return;
    }
    for warning in check(symbols, grammar) {
        assert!(!warning.message.is_empty());
    }
    for rule in grammar.rules().iter().take(10) {
        examine(symbols, grammar, &rule.graph);
    }
}
