//! Tests of `dot`, on programs read by the front end.

use droste_lang::lower::lower;
use droste_lang::parser::{Dialect, parse};
use droste_program::dot::*;
use droste_source::SourceFile;

#[test]
fn the_picture_of_a_small_program() {
    let source = SourceFile::new(
        "test.bp",
        "decl {x\"y};\nvoid main() begin\n  L: if ({x\"y}) then\n    f();\n  fi\n  start_thread skip;\nend\nvoid f() begin\n  assume(0 = 0 | 1 = 1 | 2 = 2 | 3 = 3 | 4 = 4 | 5 = 5);\nend\n",
    );
    let parsed = parse(&source, Dialect::default());
    let program = lower(&parsed.ast).0.expect("the program is right");
    let picture = dot(&program, &source);
    for line in [
        "    label=\"main\";",
        "    n0 [label=\"3: L: if ({x\\\"y})\", style=bold];",
        "    n1 [label=\"4: f()\"];",
        "    n5 [label=\"7: end\", peripheries=2];",
        "    n6 [label=\"9: assume(0 = 0 | 1 = 1 | 2 = 2 | 3 = 3 | 4 …\", style=bold];",
        "    n4 [label=\"6: end_thread\"];",
        "  n0 -> n1 [label=\"T\"];",
        "  n0 -> n2 [label=\"F\"];",
        "  n1 -> n2 [style=dashed, label=\"f\"];",
        "  n2 -> n3 [style=dotted, label=\"start_thread\"];",
        "  n2 -> n5;",
        "  n3 -> n4;",
    ] {
        assert!(picture.lines().any(|l| l == line), "{line}\nin\n{picture}");
    }
}

/// Neither long lines nor long statements may be looked at once per node.
#[test]
fn the_picture_of_a_long_chain_takes_linear_time() {
    for separator in ["\n", " "] {
        let mut text = format!("decl x;{separator}void main() begin if x then skip;");
        for _ in 0..100_000 {
            text += separator;
            text += "elsif x then skip;";
        }
        let source = SourceFile::new("test.bp", text + " fi end");
        let parsed = parse(&source, Dialect::default());
        let program = lower(&parsed.ast).0.expect("the program is right");
        let before = std::time::Instant::now();
        let picture = dot(&program, &source);
        assert!(picture.len() < 40_000_000, "{}", picture.len());
        assert!(picture.lines().count() > 400_000);
        assert!(before.elapsed().as_secs() < 20);
    }
}
