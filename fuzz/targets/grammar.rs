//! Grammars in JSON: accepted or refused, never a panic; what is accepted is checked and used.
#![no_main]

#[path = "support/heap.rs"]
mod support;

use droste_heap::{Grammar, Indices, Symbols, grammar_json, read_grammar};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    let mut symbols = Symbols::new();
    match read_grammar(&mut symbols, &text, Indices::Read) {
        Ok(fragments) => {
            let written = grammar_json(&symbols, &fragments);
            assert!(read_grammar(&mut symbols, &written, Indices::Read).is_ok());
            let grammar = Grammar::new(&symbols, fragments);
            support::examine_grammar(&mut symbols, &grammar);
        }
        Err(errors) => support::refused(&text, &errors),
    }
});
