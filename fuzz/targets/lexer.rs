//! Tokens cover the text in order, whatever the text.
#![no_main]

use droste_lang::lexer::{Dialect, TokenKind, lex};
use droste_source::SourceFile;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    let source = SourceFile::new("fuzz", &*text);
    for dialect in [Dialect::Union, Dialect::Satabs, Dialect::Getafix] {
        let (tokens, diagnostics) = lex(&source, dialect);
        let mut end = 0;
        for token in &tokens {
            assert!(token.span.start >= end && token.span.end <= text.len() as u32);
            assert!(token.span.start < token.span.end || token.kind == TokenKind::Eof);
            assert!(text.is_char_boundary(token.span.end as usize));
            end = token.span.end;
        }
        let ends = tokens.iter().filter(|t| t.kind == TokenKind::Eof).count();
        assert!(ends == 1 && tokens.last().is_some_and(|t| t.kind == TokenKind::Eof));
        for diagnostic in diagnostics {
            assert!(diagnostic.primary.0.end <= text.len() as u32);
        }
    }
});
