//! Programs for tests.

use droste_lang::lower::lower;
use droste_lang::parser::{Dialect, parse};
use droste_program::Program;
use droste_source::SourceFile;

/// The program that the text is, called `test.bp`.
pub(crate) fn load(content: &str) -> (Program, SourceFile) {
    let source = SourceFile::new("test.bp", content);
    let parsed = parse(&source, Dialect::default());
    assert!(!parsed.has_errors(), "{:?}", parsed.diagnostics);
    let (program, diagnostics) = lower(&parsed.ast);
    (program.unwrap_or_else(|| panic!("{diagnostics:?}")), source)
}
