//! Heaps in JSON: accepted or refused, never a panic; what is accepted is written, cut, collected
//! and abstracted.
#![no_main]

#[path = "support/heap.rs"]
mod support;

use droste_heap::{Grammar, Indices, Predefined, Symbols, predefined, read_contracts, read_heap};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    let mut symbols = Symbols::new();
    let mut fragments = predefined(&mut symbols, Predefined::SinglyLinkedList);
    fragments.extend(predefined(&mut symbols, Predefined::BinaryTree));
    let grammar = Grammar::new(&symbols, fragments);
    match read_heap(&mut symbols, &text, Indices::Read) {
        Ok(heap) => support::examine(&mut symbols, &grammar, &heap),
        Err(errors) => support::refused(&text, &errors),
    }
    if let Err(errors) = read_contracts(&mut symbols, &text, Indices::Ignored) {
        support::refused(&text, &errors);
    }
});
