//! Tests of `labels`, on programs read by the front end.

use droste_lang::lower::lower;
use droste_lang::parser::{Dialect, parse};
use droste_program::labels::*;
use droste_program::{NodeId, Program};
use droste_source::SourceFile;

fn program(text: &str) -> Program {
    let parsed = parse(&SourceFile::new("test.bp", text), Dialect::default());
    lower(&parsed.ast).0.expect("the program is right")
}

fn error(program: &Program, query: &str) -> String {
    find(program, query).expect_err("there is no such label")
}

#[test]
fn a_label_is_looked_up_everywhere_or_in_one_procedure() {
    let program =
        program("void main() begin L: skip; 12: skip; end void f() begin K: L: skip; end");
    assert_eq!(find(&program, "L"), Ok(vec![NodeId(0), NodeId(3)]));
    assert_eq!(find(&program, "f:L"), Ok(vec![NodeId(3)]));
    assert_eq!(find(&program, " f : K "), Ok(vec![NodeId(3)]));
    assert_eq!(find(&program, "12"), Ok(vec![NodeId(1)]));
    assert_eq!(
        error(&program, "ERROR"),
        "there is no label `ERROR`; there are `12`, `K` and `L`"
    );
    assert_eq!(
        error(&program, "main:K"),
        "procedure `main` has no label `K`; procedure `f` has one"
    );
    assert_eq!(
        error(&program, "mian:L"),
        "there is no procedure `mian`; did you mean `main`?"
    );
    for query in [":", ":L", " : "] {
        let message = format!("`{}` is not a label; write PROC:LABEL", query.trim());
        assert_eq!(error(&program, query), message);
    }
    assert_eq!(
        error(&program, "x:L"),
        "there is no procedure `x`; there are `main` and `f`"
    );
}

#[test]
fn threads_have_labels_of_their_own() {
    let program = program(
        "thread A begin void main() begin L: skip; end end
         thread B begin void main() begin skip; L: skip; end end",
    );
    assert_eq!(find(&program, "L"), Ok(vec![NodeId(0), NodeId(3)]));
    assert_eq!(find(&program, "B::main:L"), Ok(vec![NodeId(3)]));
    assert_eq!(find(&program, "main:L"), Ok(vec![NodeId(0), NodeId(3)]));
    assert_eq!(
        error(&program, "A::main"),
        "`A::main` is not a label; write PROC:LABEL"
    );
}

#[test]
fn the_message_suggests_and_lists() {
    let program = program("void main() begin SLIC_ERROR: skip; end void f() begin skip; end");
    assert_eq!(
        error(&program, "SLIC_EROR"),
        "there is no label `SLIC_EROR`; did you mean `SLIC_ERROR`?"
    );
    assert_eq!(
        error(&program, "f:zzz"),
        "procedure `f` has no label `zzz`; there are no labels at all"
    );
    assert_eq!(
        error(&program, "zzz"),
        "there is no label `zzz`; there is `SLIC_ERROR`"
    );
    let many: Vec<String> = (0..50).map(|i| format!("label_{i}: ")).collect();
    let program = self::program(&format!("void main() begin {} skip; end", many.concat()));
    let message = error(&program, "E");
    assert!(
        message.starts_with("there is no label `E`; there are 50 labels, among them `label_0`")
    );
}
