//! Every error and warning.

use super::*;

#[track_caller]
fn one(messages: &[String], expected: &str) {
    assert_eq!(messages.len(), 1, "{messages:#?}");
    assert_eq!(messages[0], expected);
}

#[track_caller]
fn body(body: &str, expected: &str) {
    one(&body_messages(body), expected);
}

#[track_caller]
fn whole(text: &str, expected: &str) {
    one(&messages(text), expected);
}

/// Labels, other places and help of the only diagnostic.
fn details(text: &str) -> Diagnostic {
    let (_, mut diagnostics) = run(text);
    assert_eq!(diagnostics.len(), 1, "{diagnostics:#?}");
    diagnostics.remove(0)
}

#[test]
fn unknown_names() {
    body("x := T", "`x` is not declared in procedure `main`");
    body("x := T; x := x", "`x` is not declared in procedure `main`");
    body("dead x", "`x` is not declared in procedure `main`");
    body(
        "g := two(zz, n)",
        "`zz` is not declared in procedure `main`",
    );
    body("pear()", "there is no procedure `pear`");
    body("goto L", "procedure `main` has no label `L`");
    body("start_thread goto L", "procedure `main` has no label `L`");
    let d = details("decl count; void main() begin coutn := T; end");
    assert_eq!(d.help, ["did you mean `count`?"]);
    let d = details("void main() begin x := T; end void f(x) begin end");
    assert_eq!(d.secondary[0].1, "declared here, in `f`");
    let d = details("void main() begin goto here; end void f() begin here: skip; end");
    assert_eq!(d.secondary[0].1, "a label of `f`");
    let d = details("void main() begin loop1: goto lop1; end");
    assert_eq!(d.help, ["did you mean `loop1`?"]);
    let d = details("void main() begin worke(); end void work() begin end");
    assert_eq!(d.help, ["did you mean `work`?"]);
    let d = details(
        "thread A begin decl x; void main() begin end end thread B begin void main() begin x := T; end end",
    );
    assert_eq!(d.secondary[0].1, "declared here, in a thread section");
}

#[test]
fn duplicates() {
    whole(
        "decl a; decl a; void main() begin end",
        "the global variable `a` is declared twice",
    );
    whole(
        "void main() begin end void main() begin end",
        "two procedures are called `main`",
    );
    whole(
        "void main() begin end void f(a, a) begin end",
        "two parameters of `f` are called `a`",
    );
    whole(
        "void main() begin L: skip; L: skip; end",
        "the label `L` stands on several statements",
    );
    // GETAFIX's programs have that, but no `goto` may go there.
    let getafix = |text: &str| {
        let source = SourceFile::new("test.bp", text);
        lower(&parse(&source, Dialect::Getafix).ast)
    };
    let (program, diagnostics) = getafix("void main() begin L: skip; L: skip; goto L; end");
    assert!(program.is_none());
    let messages = diagnostics.iter().map(|d| &*d.message);
    assert!(
        messages
            .into_iter()
            .any(|m| m == "there are several labels `L`")
    );
    let (program, diagnostics) = getafix("void main() begin L: skip; L: skip; end");
    assert_eq!(diagnostics[0].severity, Severity::Warning);
    let found = droste_program::labels::find(&program.expect("accepted"), "L");
    assert_eq!(found.expect("both").len(), 2);
    let (program, diagnostics) = run("void main() begin A: A: B: skip; end");
    assert_eq!(diagnostics[0].severity, Severity::Warning);
    assert_eq!(
        diagnostics[0].message,
        "the label `A` stands twice on this statement"
    );
    let labels = &program.expect("accepted").nodes[0].labels;
    assert_eq!(labels[..], ["A".into(), "B".into()]);
    body("g, g := T, F", "`g` is assigned twice");
    body("g, g := pair()", "`g` is assigned twice");
    body(
        "decl a; decl a : u3",
        "`a` is declared again with another type",
    );
    body("decl a, a", "`a` is listed twice");
    whole(
        "void main() begin end void f(a) begin decl a; end",
        "the local variable `a` hides a parameter",
    );
    whole(
        "thread A begin void main() begin end end thread A begin void main() begin end end",
        "two threads are called `A`",
    );
    let d = details("void main() begin end void main() begin end");
    assert_eq!(d.secondary.len(), 1);
}

#[test]
fn counts() {
    body("g, h := T", "2 variables cannot take 1 value");
    body("g := T, F", "1 variable cannot take 2 values");
    body("f(T)", "`f` takes 0 arguments, not 1");
    body("g := two(T)", "`two` takes 2 arguments, not 1");
    body("g := pair()", "`pair` returns 2 values, but 1 is assigned");
    body("g := f()", "`f` returns 0 values, but 1 is assigned");
    body("return T", "`main` returns 0 values, not 1");
    whole(
        "void main() begin end bool f() begin return; end",
        "`f` returns 1 value, not 0",
    );
}

#[test]
fn kinds() {
    let integer = "an integer is expected here, not a Boolean";
    let boolean = "a Boolean is expected here, not an integer";
    for wrong in [
        "assert(n)",
        "assume(n)",
        "abortif n",
        "enforce n",
        "constrain(n)",
        "if (n) then fi",
        "if (g) then elsif (n) then fi",
        "while (n) do od",
        "g := n",
        "g := 2",
        "g := * constrain n",
        "g := two(n, n)",
        "assume(g => n)",
        "assume(schoose[n, g])",
        "g := !n",
    ] {
        body(wrong, boolean);
    }
    for wrong in [
        "n := T + 1",
        "n := g",
        "n := -g",
        "assume(g < n)",
        "n := n << g",
        "n := n + (n = n)",
        "n := !g",
    ] {
        body(wrong, integer);
    }
    body(
        "assume(g = n)",
        "`=` cannot be used between a Boolean and an integer",
    );
    body(
        "g := g & n",
        "`&` cannot be used between a Boolean and an integer",
    );
    body(
        "n := g ^ n",
        "`^` cannot be used between a Boolean and an integer",
    );
    body("n := pair2()", "there is no procedure `pair2`");
    body("n := two(T, 1)", "`n` cannot hold this result of `two`");
    body("g := num(1)", "`g` cannot hold this result of `num`");
    let star = "`*` is a Boolean inside an expression, but an integer is needed here";
    for wrong in ["n := * + 1", "assume(n = *)", "n := n & *", "assume(* < 3)"] {
        body(wrong, star);
    }
    whole("void main() begin end u8 f() begin return T; end", integer);
    let d = details("decl n : u8; void main() begin n := T; end");
    assert_eq!(d.secondary[0].1, "variable `n` has type `u8`");
    assert!(body_messages("print(n + T)").len() == 1);
    for right in [
        "g := 1 = 0",
        "g := n = 1",
        "n := 1",
        "g := n < 1 & 1",
        "g := 0 | (n = 0)",
        "g := schoose[g, 1]",
        "g := * = 1",
    ] {
        assert!(body_messages(right).is_empty(), "{right}");
    }
}

#[test]
fn next_values_belong_to_constrain() {
    body("assume('g)", "`'g` can be used in `constrain` only");
    body("enforce 'g", "`'g` can be used in `constrain` only");
    body(
        "g := 'h constrain 'g",
        "`'h` can be used in `constrain` only",
    );
}

#[test]
fn property_forms_have_no_place_in_programs() {
    use crate::ast::{Ast, EndSpan, ExprKind, Function, Item, Name, StmtKind};
    use droste_source::Span;
    let forms = [
        (
            ExprKind::Qualified(Name::new("f"), Name::new("x")),
            "`f::x`",
        ),
        (ExprKind::At(None, Name::new("L")), "`at(L)`"),
        (ExprKind::In(Name::new("f")), "`in(f)`"),
        (ExprKind::Terminated, "`terminated`"),
    ];
    for (kind, what) in forms {
        let mut ast = Ast::default();
        let condition = ast.add_expr(kind, Span::default());
        let assume = ast.add_stmt(Vec::new(), StmtKind::Assume(condition), Span::default());
        ast.items.push(Item::Function(Function {
            dfs: false,
            results: Vec::new(),
            name: Name::new("main"),
            params: Vec::new(),
            body: vec![assume],
            end: EndSpan::default(),
        }));
        let (program, diagnostics) = lower(&ast);
        assert!(program.is_none());
        assert_eq!(
            diagnostics[0].message,
            format!("{what} can be used in properties only")
        );
    }
}

#[test]
fn arithmetic_must_be_exact() {
    let wide = "this value may need more than 127 bits here";
    for wrong in [
        "assume(w * w * w = 0)",
        "assume(w * w < 1)",
        "r := w * w",
        "n := w * w / 3",
        "n := w * w % 3",
        "n := (w * w) >> 1",
        "n := 1 << (w * w)",
        "n := num(w * w)",
        "assume(w << 64 = 0)",
        "assume(-(v * v * v) = 0)",
    ] {
        body(wrong, wide);
    }
    for right in [
        "w := w * w * w",
        "n := w << 64 << 64",
        "assume(v * w = 0)",
        "n := ~(w * w) ^ w",
        "assume((w * w & 255) = 3)",
        "assume(w * v + w < n)",
        "assume(v << 63 > w)",
        "g := two(g, w * w)",
        "_ := w * w",
        "print(w * w * w)",
    ] {
        assert!(
            body_messages(right).is_empty(),
            "{right}: {:?}",
            body_messages(right)
        );
    }
}

#[test]
fn constants_that_do_not_fit_get_a_warning() {
    body("n := 300", "300 does not fit `u8` and wraps to 44");
    body("n := -1", "-1 does not fit `u8` and wraps to 255");
    body(
        "v := 18446744073709551615",
        "18446744073709551615 does not fit `s64` and wraps to -1",
    );
    let range = "executing this is always a violation: the value is out of range";
    body("r := 7", range);
    body("r := 1", range);
    body("n := num(4)", range);
    body("r := n + 6", range);
    assert!(body_messages("r := n; n := 255; r := 2; n := n + 300").is_empty());
}

#[test]
fn sync_is_refused() {
    body("sync g", "`sync` is not supported");
}

#[test]
fn async_labels_belong_to_calls() {
    body("ASYNC_1: skip", "the label `ASYNC_1` starts no thread here");
    assert!(body_messages("ASYNC_1: f()").is_empty());
}

#[test]
fn constrain_statements_have_a_limit() {
    let names: Vec<String> = (0..5000).map(|i| format!("x{i}")).collect();
    let text = format!(
        "decl {}; void main() begin {} end",
        names.join(", "),
        "constrain(T);".repeat(1000)
    );
    whole(
        &text,
        "too many variables in too many `constrain` statements",
    );
}

#[test]
fn no_variable_holds_what_is_too_wide() {
    let d = details("decl c : u64; void main() begin assume(c * c = 1); end");
    assert_eq!(
        d.help,
        ["store a part of it in a variable first: every variable has at most 64 bits"]
    );
}

#[test]
fn a_program_needs_a_beginning() {
    whole(
        "void f() begin end",
        "there is no procedure `main`, where the program would start",
    );
    let d = details("void f() begin end void mian() begin end");
    assert_eq!(d.help, ["did you mean `mian`?"]);
    assert_eq!((d.primary.0.start, d.primary.0.end), (24, 28));
    let d = details("void f() begin end void go() begin end");
    assert_eq!(d.help, ["the procedures are `f`, `go`"]);
    assert_eq!((d.primary.0.start, d.primary.0.end), (35, 38));
    let d = details("void init() begin end void thread1() begin end");
    assert!(d.help.iter().any(|h| h.contains("`endinit`")));
    whole(
        "thread A begin void f() begin end end",
        "the thread `A` has no `main`",
    );
    whole(
        "void main() begin end thread A begin void main() begin end end",
        "a program with thread sections has no `main` of its own",
    );
    whole(
        "void main() begin end void init() begin endinit: skip; end void thread1() begin end",
        "`main` is not where this program starts",
    );
    let (program, diagnostics) = lower(&crate::ast::Ast::default());
    assert!(program.is_none());
    assert_eq!(diagnostics.len(), 1);
}

#[test]
fn many_errors_are_reported_at_once_but_not_too_many() {
    assert_eq!(
        body_messages("a := T; g := n; L: L: h := F, T; f(g); goto M").len(),
        6
    );
    let text = format!(
        "void main() begin {} end",
        "skip; goto nowhere;".repeat(1000)
    );
    let (_, diagnostics) = run(&text);
    assert_eq!(diagnostics.len(), 100);
    assert_eq!(
        diagnostics[99].help.last().map(String::as_str),
        Some("not shown: 900 more errors")
    );
}

#[test]
fn enforced_conditions_have_a_limit() {
    let text = format!(
        "decl g; void main() begin {} end",
        "enforce g;".repeat(3000)
    );
    whole(
        &text,
        "the conditions enforced in this program are too large",
    );
}

#[test]
fn messages_come_in_the_order_of_the_source() {
    let (_, diagnostics) =
        run("void main() begin x := T; end decl y; decl y; void f() begin z := F; end");
    let starts: Vec<u32> = diagnostics.iter().map(|d| d.primary.0.start).collect();
    assert!(starts.is_sorted());
    assert_eq!(starts.len(), 3);
}
