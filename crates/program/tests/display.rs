//! Tests of `display`, on programs read by the front end.

use droste_lang::lower::lower;
use droste_lang::parser::{Dialect, parse};
use droste_program::Op;
use droste_program::display::*;
use droste_program::*;
use droste_source::SourceFile;

/// What becomes of `assume(…)`.
fn shown(condition: &str) -> String {
    let text = format!("decl a, b, c; void main() begin decl n : u8; constrain({condition}); end");
    let parsed = parse(&SourceFile::new("test.bp", text), Dialect::default());
    let (program, diagnostics) = lower(&parsed.ast);
    let program = program.unwrap_or_else(|| panic!("{condition}: {diagnostics:#?}"));
    let mut conditions = program.nodes.iter().filter_map(|node| match &node.op {
        Op::Assign { constrain, .. } => constrain.as_ref(),
        _ => None,
    });
    let condition = conditions.next().expect("there is a condition");
    expr_to_string(&program, ProcId(0), condition)
}

#[test]
fn expressions_are_written_as_they_are_read() {
    for text in [
        "a",
        "!a",
        "!!a",
        "a & b & c",
        "a & (b & c)",
        "(a & b) | c",
        "!(a | b)",
        "(a => b) => c",
        "a = (b != c)",
        "n + 1 < 3 * n - 2",
        "n - (n - 1) = 0",
        "(n << 2) >= ~n",
        "-(-n) < -n",
        "-(n + 1) = 5",
        "schoose[a, b | c] ^ 'a",
        "'n = n + 1",
        "(n & 3) = 1",
        "* | a",
    ] {
        assert_eq!(shown(text), text);
    }
    assert_eq!(shown("a & b = T"), "a & (b = 1)");
}

#[test]
fn what_is_written_reads_back_the_same() {
    for text in [
        "a & b | c => a ^ b",
        "n * (n + 1) / 2 % 3 > n",
        "a = b & c",
        "!(n = 1) | b",
    ] {
        let once = shown(text);
        assert_eq!(shown(&once), once);
    }
}
