//! Lowering gives a program exactly if it reports no error, and what it gives can be shown.
#![no_main]

use droste_source::diagnostics::{Severity, render};
use droste_program::dot::dot;
use droste_program::labels;
use droste_lang::lower::lower;
use droste_lang::parser::{Dialect, parse};
use droste_source::SourceFile;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    let source = SourceFile::new("fuzz", &*text);
    let parsed = parse(&source, Dialect::Union);
    // What was understood of a wrong program must not make lowering panic either.
    let (program, diagnostics) = lower(&parsed.ast);
    let errors = diagnostics.iter().any(|d| d.severity == Severity::Error);
    assert_eq!(program.is_none(), errors);
    let _ = render(&diagnostics, &source, false);
    if let Some(program) = program {
        let _ = dot(&program, &source);
        for node in &program.nodes {
            node.op
                .for_each_next(|next| assert_eq!(program.node(next).procedure, node.procedure));
            for label in &node.labels {
                assert!(labels::find(&program, label).is_ok());
            }
        }
    }
});
