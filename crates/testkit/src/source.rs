//! Programs and monitors from source text, for tests: bad input is a panic.

use droste_lang::ast::Ast;
use droste_lang::lexer::Dialect;
use droste_lang::lower::lower;
use droste_lang::monitor::MonitorSyntax;
use droste_lang::parser;
use droste_source::SourceFile;

/// The program with this text. Panics if the front end refuses it.
pub fn parse(text: &str) -> Ast {
    let source = SourceFile::new("<test>", text);
    let parsed = parser::parse(&source, Dialect::Union);
    assert!(!parsed.has_errors(), "{:?}\n{text}", parsed.diagnostics);
    let (lowered, diagnostics) = lower(&parsed.ast);
    assert!(lowered.is_some(), "{diagnostics:?}\n{text}");
    parsed.ast
}

/// The monitor with this text. Panics if it cannot be parsed.
pub fn parse_monitor(text: &str) -> MonitorSyntax {
    let source = SourceFile::new("<test>", text);
    let (monitor, diagnostics) = parser::parse_monitor(&source, Dialect::Union);
    monitor.unwrap_or_else(|| panic!("{diagnostics:?}\n{text}"))
}
