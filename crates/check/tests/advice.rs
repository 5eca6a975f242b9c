//! What is said about propositions of formulas that mean nothing in the program.

use droste_check::Ltl;
use droste_lang::lower::lower;
use droste_lang::parser::{Dialect, parse};
use droste_source::SourceFile;

/// The help for a formula that is refused.
fn advice(program: &str, formula: &str) -> Vec<String> {
    let ast = parse(&SourceFile::new("program.bp", program), Dialect::Union).ast;
    let program = lower(&ast).0.expect("a program");
    let source = SourceFile::new("formula", formula);
    let problems = Ltl::parse(&program, &source, Dialect::Union).expect_err("refused");
    problems
        .into_iter()
        .flat_map(|problem| problem.help)
        .collect()
}

#[test]
fn names_that_mean_nothing() {
    let one = "decl g; void main() begin skip; end";
    assert_eq!(advice(one, "F h"), ["there is `g`"]);
    assert_eq!(
        advice(one, "G Fg"),
        ["operators are words of their own: write `F g`"]
    );
    assert_eq!(advice(one, "F terminatd"), ["did you mean `terminated`?"]);
    let more = "decl g; void main() begin L: M: skip; end";
    assert_eq!(advice(more, "F h"), ["there are `L`, `M` and `g`"]);
}

#[test]
fn braces_that_belong_to_a_name() {
    let global = "decl {x==0}; void main() begin decl {y>1}; skip; end";
    let written = |name: &str, formula: &str| {
        format!("braces stand around an expression; the variable `{name}` is written `{formula}`")
    };
    assert_eq!(advice(global, "F {x==0}"), [written("{x==0}", "{{x==0}}")]);
    assert_eq!(
        advice(global, "F {y>1}"),
        [written("{y>1}", "{main::{y>1}}")]
    );
    assert_eq!(advice(global, "F {z>1}"), ["there is `{x==0}`"]);
}

#[test]
fn locals_and_divisors() {
    let program = "decl m : u4; void main() begin decl x; skip; end";
    assert_eq!(
        advice(program, "F x"),
        ["`x` is a local variable of `main`; write `{main::x}`"]
    );
    let divided = advice(program, "F {6 / m > 1}");
    assert!(
        divided[1].contains("compare without dividing"),
        "{divided:?}"
    );
}
