//! What is accepted survives printing; what is not is reported.
#![no_main]

use droste_source::diagnostics::render;
use droste_lang::parser::{Dialect, parse};
use droste_lang::printer::print;
use droste_source::SourceFile;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    let source = SourceFile::new("fuzz", &*text);
    for dialect in [Dialect::Union, Dialect::Satabs, Dialect::Getafix] {
        let parsed = parse(&source, dialect);
        // Drawing them all would take most of the time.
        let few = &parsed.diagnostics[..parsed.diagnostics.len().min(2)];
        assert_eq!(render(few, &source, false).is_empty(), few.is_empty());
        if parsed.has_errors() {
            continue;
        }
        let printed = print(&parsed.ast);
        if dialect == Dialect::Getafix {
            // It is written in the words of the others.
            let again = parse(&SourceFile::new("printed", &*printed), Dialect::Union);
            assert!(!again.has_errors(), "{printed}");
            assert_eq!(print(&again.ast), printed);
            continue;
        }
        let again = parse(&SourceFile::new("printed", &*printed), dialect);
        assert_eq!(again.diagnostics, [], "{printed}");
        assert_eq!(again.ast, parsed.ast, "{printed}");
        if dialect == Dialect::Union {
            // Parentheses are written for both.
            let satabs = parse(&SourceFile::new("printed", &*printed), Dialect::Satabs);
            assert_eq!(satabs.ast, parsed.ast, "{printed}");
        }
    }
});
