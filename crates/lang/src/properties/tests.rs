//! Propositions and monitors, from text.

use super::*;
use crate::lower::lower;
use crate::parser::{Dialect, parse, parse_monitor, parse_proposition};
use droste_program::display::expr_to_string;
use droste_source::SourceFile;

fn program(text: &str) -> Program {
    let parsed = parse(&SourceFile::new("test.bp", text), Dialect::default());
    let (program, diagnostics) = lower(&parsed.ast);
    program.unwrap_or_else(|| panic!("{diagnostics:#?}"))
}

fn example() -> Program {
    program(
        "decl g, both, done; decl n : u8;
         void main() begin decl x; L: f(T, 3); both: skip; end
         void f(p, k : u8) begin decl q; L: M: skip; end
         void h() begin end",
    )
}

fn resolve(program: &Program, text: &str) -> Result<Proposition, Vec<Diagnostic>> {
    let source = SourceFile::new("property", text);
    let (parsed, diagnostics) = parse_proposition(&source, Dialect::default());
    let (ast, root) = parsed.unwrap_or_else(|| panic!("{text}: {diagnostics:#?}"));
    proposition(program, &ast, root)
}

/// The proposition in `main`, `f` and `h`, and after the end.
fn shown(text: &str) -> [String; 4] {
    let program = example();
    let proposition = resolve(&program, text).unwrap_or_else(|d| panic!("{text}: {d:#?}"));
    let show = |p: u32, e: &Expr| expr_to_string(&program, ProcId(p), e);
    [
        show(0, &proposition.by_procedure[0]),
        show(1, &proposition.by_procedure[1]),
        show(2, &proposition.by_procedure[2]),
        show(0, &proposition.terminated),
    ]
}

fn error(text: &str) -> (String, String) {
    let diagnostics = resolve(&example(), text).expect_err("the proposition is wrong");
    assert_eq!(diagnostics.len(), 1, "{diagnostics:#?}");
    (
        diagnostics[0].message.clone(),
        diagnostics[0].help.join("; "),
    )
}

#[test]
fn globals_mean_the_same_everywhere() {
    assert_eq!(shown("g & (n > 3)"), ["g & (n > 3)"; 4]);
}

#[test]
fn labels_and_procedures_are_places() {
    assert_eq!(shown("L"), ["at(L)", "at(L)", "0", "0"]);
    assert_eq!(
        shown("at(L) | g"),
        ["at(L) | g", "at(L) | g", "0 | g", "0 | g"]
    );
    assert_eq!(shown("at(f:L)"), ["0", "at(L)", "0", "0"]);
    assert_eq!(shown("at(both)"), ["at(both)", "0", "0", "0"]);
    assert_eq!(shown("in(f)"), ["0", "1", "0", "0"]);
    assert_eq!(shown("terminated"), ["0", "0", "0", "1"]);
}

#[test]
fn locals_are_false_elsewhere() {
    assert_eq!(shown("f::p"), ["0", "p", "0", "0"]);
    assert_eq!(shown("!f::p"), ["!0", "!p", "!0", "!0"]);
    assert_eq!(shown("f::k = 3"), ["0", "k = 3", "0", "0"]);
    assert_eq!(shown("f::k != 3"), ["0", "k != 3", "0", "0"]);
    assert_eq!(
        shown("g | !(n + f::k * 2 < 3)"),
        ["g | !0", "g | !(n + k * 2 < 3)", "g | !0", "g | !0"]
    );
    // Only the innermost comparison is false.
    assert_eq!(
        shown("(f::k = 3) = g"),
        ["0 = g", "(k = 3) = g", "0 = g", "0 = g"]
    );
    assert_eq!(shown("(f::p & g) = g"), ["0", "(p & g) = g", "0", "0"]);
    assert_eq!(
        shown("f::q & main::x"),
        ["0 & x", "q & 0", "0 & 0", "0 & 0"]
    );
}

#[test]
fn what_is_wrong_with_a_proposition() {
    assert_eq!(
        error("x"),
        (
            "`x` is neither a global variable nor a label".into(),
            "`x` is a local variable of `main`; write `main::x`".into()
        )
    );
    assert_eq!(
        error("h"),
        (
            "`h` is neither a global variable nor a label".into(),
            "`h` is a procedure; write `in(h)` for being in it".into()
        )
    );
    assert_eq!(error("dine").1, "did you mean `done`?");
    assert_eq!(
        error("both"),
        (
            "`both` is both a variable and a label".into(),
            "write `var(both)` for the variable, `at(both)` for the label".into()
        )
    );
    assert_eq!(error("n").0, "a Boolean is expected here, not an integer");
    assert_eq!(
        error("n + T = 1").0,
        "an integer is expected here, not a Boolean"
    );
    assert_eq!(error("g & *").0, "`*` cannot be used in a property");
    assert_eq!(error("'g").0, "`'x` can be used in `constrain` only");
    assert_eq!(error("f::z").0, "procedure `f` has no variable `z`");
    assert_eq!(error("f::g").1, "`g` is a global; write `g`");
    assert_eq!(
        error("ff::q").0,
        "there is no procedure `ff`; did you mean `f`?"
    );
    assert_eq!(
        error("in(mein)").0,
        "there is no procedure `mein`; did you mean `main`?"
    );
    assert_eq!(
        error("at(f:both)").0,
        "procedure `f` has no label `both`; procedure `main` has one"
    );
    assert_eq!(error("1 / n = 1").0, "this divisor may be zero");
    assert_eq!(error("n << (n - 1) = 1").0, "this distance may be negative");
}

#[test]
fn a_variable_that_is_also_a_label_can_be_written() {
    assert_eq!(shown("var(both)"), ["both"; 4]);
}

#[test]
fn variables_of_thread_sections() {
    let program = program(
        "decl s;
         thread A begin decl x, only; void main() begin decl l; skip; end end
         thread B begin decl x, s; void main() begin decl l; skip; end end",
    );
    let show = |text: &str| resolve(&program, text).map(|p| p.by_procedure[1].clone());
    assert_eq!(show("s"), Ok(Expr::var(VarRef::Global(0))));
    assert_eq!(show("B::s"), Ok(Expr::var(VarRef::Global(4))));
    assert_eq!(show("B::x"), Ok(Expr::var(VarRef::Global(3))));
    assert_eq!(show("only"), Ok(Expr::var(VarRef::Global(2))));
    assert_eq!(show("B::main::l"), Ok(Expr::var(VarRef::Local(0))));
    assert_eq!(show("A::main::l"), Ok(Expr::constant(0)));
    let help = |text: &str| resolve(&program, text).expect_err("ambiguous")[0].help[0].clone();
    assert_eq!(help("x"), "write `A::x` or `B::x`");
    assert_eq!(help("main::l"), "write `A::main::l` or `B::main::l`");
}

fn watch(text: &str) -> Result<Monitor, Vec<String>> {
    let source = SourceFile::new("test.monitor", text);
    let (syntax, diagnostics) = parse_monitor(&source, Dialect::default());
    let syntax = syntax.unwrap_or_else(|| panic!("{diagnostics:#?}"));
    monitor(&syntax, &example())
        .map_err(|diagnostics| diagnostics.into_iter().map(|d| d.message).collect())
}

use droste_program::monitor::Monitor;

#[test]
fn a_monitor_is_resolved() {
    let monitor = watch(
        "monitor m {
           state idle { when at(L) goto busy; otherwise block; }
           initial state busy { when g goto idle; when f::q goto bad; }
           target state bad { otherwise goto idle; }
         }",
    )
    .expect("the monitor is right");
    assert_eq!(monitor.initial, 1);
    assert_eq!(monitor.states[0].otherwise, None);
    assert_eq!(monitor.states[1].otherwise, Some(1));
    assert_eq!(monitor.states[2].otherwise, Some(0));
    assert_eq!(monitor.states[1].edges[1].1, 2);
}

#[test]
fn what_is_wrong_with_a_monitor() {
    let errors = |text: &str| watch(text).expect_err("the monitor is wrong");
    assert_eq!(
        errors("monitor m { target state a; }"),
        ["the monitor has no initial state"]
    );
    assert_eq!(
        errors("monitor m { initial state a; initial target state b; }"),
        ["the monitor has two initial states"]
    );
    assert_eq!(
        errors("monitor m { initial state a; target state a; }"),
        ["two states are called `a`"]
    );
    assert_eq!(
        errors("monitor m { initial state a; }"),
        ["the monitor has neither a target nor a repeating state"]
    );
    assert_eq!(
        errors("monitor m { initial target state a; repeating state b; }"),
        ["the monitor has both target and repeating states"]
    );
    assert_eq!(
        errors("monitor m { initial target state bad { when gg goto baad; otherwise goto x; } }"),
        [
            "the monitor has no state `baad`",
            "`gg` is neither a global variable nor a label",
            "the monitor has no state `x`"
        ]
    );
}

#[test]
fn unreachable_states_get_a_warning() {
    let source = SourceFile::new(
        "test.monitor",
        "monitor m { initial state a { when g goto b; } target state b; state c { when g goto b; } }",
    );
    let (syntax, _) = parse_monitor(&source, Dialect::default());
    let warnings = monitor_warnings(&syntax.expect("the monitor parses"));
    assert_eq!(warnings.len(), 1);
    assert_eq!(
        warnings[0].message,
        "no move of the monitor leads to the state `c`"
    );
}
