//! Symbolic heaps and definitions of predicates: accepted or refused, never a panic.
#![no_main]

#[path = "support/heap.rs"]
mod support;

use droste_heap::{Grammar, Predefined, Symbols, predefined, read_sid, read_symbolic_heap};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    let mut symbols = Symbols::new();
    match read_sid(&mut symbols, &text) {
        Ok(fragments) => {
            let grammar = Grammar::new(&symbols, fragments);
            support::examine_grammar(&mut symbols, &grammar);
        }
        Err(errors) => support::refused(&text, &errors),
    }
    let mut symbols = Symbols::new();
    let fragments = predefined(&mut symbols, Predefined::SinglyLinkedList);
    let grammar = Grammar::new(&symbols, fragments);
    match read_symbolic_heap(&mut symbols, &text) {
        Ok(heap) => support::examine(&mut symbols, &grammar, &heap),
        Err(errors) => support::refused(&text, &errors),
    }
});
