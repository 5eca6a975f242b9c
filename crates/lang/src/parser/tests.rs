//! Every form of statement and expression, every quirk, and every kind of error.

use super::*;
use crate::ast::{BinaryOp, ExprKind, Function, Item, StmtKind, Target, Type};
use crate::printer::{expr_to_string, print};
use droste_testkit::random::Random;

fn parse_as(text: &str, dialect: Dialect) -> Parsed {
    parse(&SourceFile::new("test.bp", text), dialect)
}

fn round_trips(ast: &Ast) {
    let text = print(ast);
    let again = parse_as(&text, Dialect::Union);
    assert_eq!(again.diagnostics, [], "{text}");
    assert_eq!(&again.ast, ast, "{text}");
    assert_eq!(parse_as(&text, Dialect::Satabs).ast, *ast, "{text}");
}

/// Parses a program that must be accepted without a word, and survive printing.
fn ok(text: &str) -> Ast {
    let parsed = parse_as(text, Dialect::Union);
    assert_eq!(parsed.diagnostics, [], "{text}");
    round_trips(&parsed.ast);
    parsed.ast
}

fn main_of(statements: &str) -> String {
    format!("void main() begin {statements} end")
}

fn function(ast: &Ast) -> &Function {
    ast.items
        .iter()
        .find_map(|item| match item {
            Item::Function(function) => Some(function),
            _ => None,
        })
        .expect("a function")
}

/// The statement of a `main` that has one.
fn only_statement(text: &str) -> StmtKind {
    let ast = ok(&main_of(text));
    let body = &function(&ast).body;
    assert_eq!(body.len(), 1, "{text}");
    ast.stmt(body[0]).kind.clone()
}

/// `main`'s statements in one line, as printed.
fn printed(statements: &str) -> String {
    let text = print(&ok(&main_of(statements)));
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    lines[2..lines.len() - 1].join(" ")
}

/// An expression with all parentheses.
fn full(text: &str, dialect: Dialect) -> String {
    let source = SourceFile::new("test", text);
    let (result, diagnostics) = parse_proposition(&source, dialect);
    let (ast, root) = result.unwrap_or_else(|| panic!("{text}: {diagnostics:?}"));
    let mut texts: Vec<String> = Vec::new();
    for expr in &ast.exprs {
        let t = |id: &ExprId| texts[id.0 as usize].clone();
        let text = match &expr.kind {
            ExprKind::Binary(op, l, r) => format!("({} {} {})", t(l), op.symbol(), t(r)),
            ExprKind::Unary(op, e) => format!("({op:?} {})", t(e)),
            ExprKind::Schoose(l, r) => format!("schoose[{}, {}]", t(l), t(r)),
            _ => expr_to_string(&ast, ExprId(texts.len() as u32)),
        };
        texts.push(text);
    }
    assert_eq!(root.0 as usize, ast.exprs.len() - 1, "children come first");
    texts.pop().unwrap_or_default()
}

fn union(text: &str) -> String {
    full(text, Dialect::Union)
}

fn satabs(text: &str) -> String {
    full(text, Dialect::Satabs)
}

/// The messages, each with the text it points at.
fn complaints(text: &str) -> Vec<(String, String)> {
    let source = SourceFile::new("test.bp", text);
    parse(&source, Dialect::Union)
        .diagnostics
        .iter()
        .map(|d| (source.slice(d.primary.0).to_owned(), d.message.clone()))
        .collect()
}

fn only_error(text: &str) -> Diagnostic {
    let parsed = parse_as(text, Dialect::Union);
    assert_eq!(
        parsed.diagnostics.len(),
        1,
        "{text}: {:#?}",
        parsed.diagnostics
    );
    assert_eq!(parsed.diagnostics[0].severity, Severity::Error);
    parsed.diagnostics[0].clone()
}

fn error_in_main(statements: &str) -> Diagnostic {
    only_error(&main_of(statements))
}

// Programs.

#[test]
fn slams_sample() {
    let ast = ok(
        "bool unk() begin if (*) then return T; else return F; fi end
void main() begin
enforce T;
goto L9;
L5:
c2bp_b_5: ASYNC_1: c2bp_i_5_1: C_52_5_1: worker_1();
c2bpreturnpt_5_2: goto L3;
L7:
c2bp_b_7: goto L4, L10;
L4:
assume(T);
SLIC_ERROR: goto L3;
end
",
    );
    let Item::Function(main) = &ast.items[1] else {
        panic!("main is a function")
    };
    let call = ast.stmt(main.body[2]);
    let labels: Vec<&str> = call.labels.iter().map(|l| &*l.text).collect();
    assert_eq!(
        labels,
        ["L5", "c2bp_b_5", "ASYNC_1", "c2bp_i_5_1", "C_52_5_1"]
    );
    assert!(matches!(call.kind, StmtKind::Call { .. }));
}

#[test]
fn satabs_sample() {
    let text = "decl b0;  // alloced[malloc_obj]
void main() begin
  L1: b0,b1 := *,*;
  L7: b0,b1 := 1,* constrain (!'b0 | 'b1);
 L13: assert(!b0 | b1);
end
";
    let ast = ok(text);
    assert_eq!(parse_as(text, Dialect::Satabs).ast, ast);
}

#[test]
fn items_of_every_kind() {
    let ast = ok("decl a, b : u8, c; decl d : int[-3..4];
        dfs void main() begin end
        bool<3> f(x, y : s4) begin return T, F, *; end
        u8, bool g() begin return 3, T end;
        bool h() begin return T; end
        decl late;
        thread t1 begin decl own; void main() begin skip; end end"
        .replace("u8, c;", "u8; decl c;")
        .as_str());
    assert_eq!(ast.items.len(), 9);
    let Item::Function(f) = &ast.items[4] else {
        panic!("f")
    };
    assert_eq!(f.results, [Type::Bool; 3]);
    assert_eq!(
        f.params[1].1,
        Type::Bits {
            signed: true,
            width: 4
        }
    );
    let Item::Thread(name, inner) = &ast.items[8] else {
        panic!("thread")
    };
    assert_eq!((&*name.text, inner.len()), ("t1", 2));
    assert!(function(&ast).dfs);
}

#[test]
fn contextual_words_are_names_elsewhere() {
    ok("decl u8, int, bool, at, in, terminated, monitor, state, print, dead, call, sync, thread, var;
        decl x : u8;
        void print(thread) begin end
        void call(void) begin end
        bool bool() begin return u8 & int end
        void main() begin
            u8, int := in, at; print := call; call := T; dead, sync := state, monitor;
            call(T); call print(x); x := call; x := call call(T); x := call(F);
            dead: sync: print: skip; goto dead, sync, call, T, 12; T: 12: skip; dead dead; sync sync;
            enforce := T; call enforce(x); enforce(x); schoose := schoose[schoose, T];
        end");
}

#[test]
fn declarations_and_types() {
    assert_eq!(printed("decl x, y : s64;"), "decl x, y : s64;");
    assert_eq!(
        printed("decl x : int[-9223372036854775808..9223372036854775807]"),
        "decl x : int[-9223372036854775808..9223372036854775807];"
    );
    assert_eq!(printed("skip; decl x : bool; skip"), "skip; decl x; skip;");
    for (ty, message) in [
        ("u0", "a bit vector has 1 to 64 bits, not 0"),
        ("s65", "a bit vector has 1 to 64 bits, not 65"),
        ("u99999999999999999999", "a bit vector has 1 to 64 bits"),
        ("int[3..2]", "this range is empty"),
        ("int[0..18446744073709551616]", "within -2^63 and 2^64-1"),
        ("int[-9223372036854775809..0]", "within -2^63 and 2^64-1"),
        ("int[-1..18446744073709551615]", "more than 2^64 values"),
        (
            "int[0..999999999999999999999999999999999999999999999]",
            "within -2^63 and 2^64-1",
        ),
        ("int", "expected `[` after `int`"),
        ("float", "expected a type, found `float`"),
        ("int[a..3]", "expected a number, found `a`"),
    ] {
        let error = only_error(&format!("decl x : {ty}; void main() begin end"));
        assert!(error.message.contains(message), "{ty}: {}", error.message);
    }
}

#[test]
fn statements_of_every_kind() {
    for text in [
        "skip;",
        "x := T;",
        "x, _ := y, 3;",
        "x := * constrain(!'x | y);",
        "f();",
        "f(x, T);",
        "x, _ := f(x) constrain('x);",
        "f() constrain('x);",
        "assert(x);",
        "assume(x);",
        "constrain('x);",
        "abortif(x);",
        "enforce(x);",
        "goto a, 12;",
        "return;",
        "return x, T;",
        "print();",
        "print(x, y & z);",
        "dead x, y;",
        "end_thread;",
        "sync x;",
        "atomic_begin;",
        "atomic_end;",
        "start_thread f(x);",
        "start_thread goto L;",
        "a: start_thread b: start_thread c: skip;",
        "a: 12: {x<y}: skip;",
        "decl x, y;",
        "while * do od;",
        "while x do skip; od;",
        "if * then fi;",
        "if x then skip; else fi;",
        "if x then skip; elsif y then skip; elsif * then else skip; fi;",
        "start_thread if x then skip; fi;",
        "start_thread while x do f(); od;",
    ] {
        assert_eq!(printed(text), text);
    }
    for (text, expected) in [
        ("call f(x)", "f(x);"),
        ("x := call f(x)", "x := f(x);"),
        ("assert x & y", "assert(x & y);"),
        ("if (x) & (y) then skip fi", "if x & y then skip; fi;"),
        ("print x, \"text\", y", "print(x, y);"),
        ("print(x) & (y)", "print(x & y);"),
        ("print(\"only text\")", "print();"),
        ("print", "print();"),
        ("abortif x = y", "abortif(x = y);"),
        ("x := y constrain x & 'x", "x := y constrain(x & 'x);"),
    ] {
        assert_eq!(printed(text), expected, "{text}");
    }
}

#[test]
fn semicolons_may_be_missing_where_the_grammar_says() {
    assert_eq!(
        printed("if a then skip fi if b then skip else skip fi while c do skip od skip"),
        "if a then skip; fi; if b then skip; else skip; fi; while c do skip; od; skip;"
    );
    assert_eq!(
        printed("if a then skip elsif b then skip fi; ; skip;"),
        "if a then skip; elsif b then skip; fi; skip;"
    );
}

#[test]
fn a_label_before_a_closing_word_stands_on_skip() {
    assert_eq!(
        printed("if a then L1: elsif b then L2: else L3: fi while c do L4: L5: od L6:"),
        "if a then L1: skip; elsif b then L2: skip; else L3: skip; fi; \
         while c do L4: L5: skip; od; L6: skip;"
    );
    assert_eq!(printed("start_thread L: "), "start_thread L: skip;");
}

#[test]
fn targets_and_discards() {
    let StmtKind::Assign { targets, .. } = only_statement("_, x := T, F") else {
        panic!("an assignment")
    };
    assert!(matches!(targets[..], [Target::Discard(_), Target::Var(_)]));
}

#[test]
fn spans_are_as_documented() {
    let text = "void main() begin a: x := (y) & z ; b: if (x) then skip; fi end";
    let source = SourceFile::new("test", text);
    let ast = parse(&source, Dialect::Union).ast;
    let body = &function(&ast).body;
    assert_eq!(source.slice(ast.stmt(body[0]).span), "x := (y) & z");
    assert_eq!(source.slice(ast.stmt(body[1]).span), "if (x)");
    assert_eq!(source.slice(function(&ast).end.0), "end");
    let StmtKind::Assign { values, .. } = &ast.stmt(body[0]).kind else {
        panic!("an assignment")
    };
    assert_eq!(source.slice(ast.expr(values[0]).span), "(y) & z");
    let StmtKind::If { arms, .. } = &ast.stmt(body[1]).kind else {
        panic!("an if")
    };
    assert_eq!(source.slice(ast.expr(arms[0].0).span), "x");
}

// Expressions.

#[test]
fn union_precedence() {
    assert_eq!(
        union("a => b | c ^ d & e = f << g + h * !i"),
        "(a => (b | (c ^ (d & (e = (f << (g + (h * (Not i)))))))))"
    );
    assert_eq!(union("a => b => c"), "((a => b) => c)");
    assert_eq!(union("a - b - c"), "((a - b) - c)");
    assert_eq!(union("a = b & c"), "((a = b) & c)");
    assert_eq!(union("a ^ b | c"), "((a ^ b) | c)");
    assert_eq!(union("a || b && c"), "(a | (b & c))");
    assert_eq!(union("a < b = c"), "((a < b) = c)");
    assert_eq!(union("- -a - ~!b"), "((Neg (Neg a)) - (Not (Not b)))");
    assert_eq!(union("a % b / c"), "((a % b) / c)");
}

#[test]
fn satabs_precedence() {
    assert_eq!(satabs("a = b & c"), "(a = (b & c))");
    assert_eq!(satabs("a ^ b | c"), "(a ^ (b | c))");
    assert_eq!(satabs("a => b = c != d"), "(a => (b = (c != d)))");
    assert_eq!(satabs("a = b => c"), "(a = (b => c))");
    assert_eq!(satabs("a | b & c"), "(a | (b & c))");
    assert_eq!(satabs("x < 1 & y + 1 >= 2"), "((x < 1) & ((y + 1) >= 2))");
    assert_eq!(satabs("a-b & c"), "(a-b & c)");
}

#[test]
fn star_is_an_operand_or_an_operator() {
    assert_eq!(union("* * *"), "(* * *)");
    assert_eq!(union("*"), "*");
    assert_eq!(union("a * * + ?"), "((a * *) + *)");
    assert_eq!(union("!* | *"), "((Not *) | *)");
}

#[test]
fn operands() {
    assert_eq!(
        union("T & F & true & false & 1 & 0"),
        "(((((T & F) & T) & F) & 1) & 0)"
    );
    assert_eq!(
        union("schoose[a & b, !c] | {x<y}"),
        "(schoose[(a & b), (Not c)] | {x<y})"
    );
    assert_eq!(union("'x = ' {y}"), "('x = '{y})");
    assert_eq!(union("18446744073709551615"), "18446744073709551615");
    assert_eq!(
        union("schoose[schoose[a, b], (c)]"),
        "schoose[schoose[a, b], c]"
    );
}

#[test]
fn property_operands() {
    assert_eq!(
        union("p::x = 3 & at(L) | at(p:L) & in(p) | terminated | at(12) | at(p:12)"),
        "((((((p::x = 3) & at(L)) | (at(p:L) & in(p))) | terminated) | at(12)) | at(p:12))"
    );
    assert_eq!(
        union("in(t :: main) & t::main::x"),
        "(in(t::main) & t::main::x)"
    );
    assert_eq!(
        union("at(t::main:L) & var(terminated)"),
        "(at(t::main:L) & var(terminated))"
    );
    assert_eq!(union("in & at"), "(in & at)");
}

#[test]
fn propositions_end_with_the_text() {
    for text in [
        "", "a b", "a &", "(a", "f(x)", "a)", "at(", "at(a", "in()", "p::", "a := b",
    ] {
        let source = SourceFile::new("test", text);
        let (result, diagnostics) = parse_proposition(&source, Dialect::Union);
        assert!(result.is_none(), "{text}");
        assert_eq!(diagnostics.len(), 1, "{text}: {diagnostics:?}");
    }
}

#[test]
fn equal_programs_give_equal_trees() {
    let a = ok(&main_of("x := (a & b) | !c;"));
    let b = ok(&main_of("x := ((a && (b))) || (~c);  // same\n"));
    assert_eq!(a, b);
}

// Expressions that read differently.

fn warnings(expression: &str) -> Vec<String> {
    let parsed = parse_as(&main_of(&format!("x := {expression};")), Dialect::Union);
    assert!(!parsed.has_errors(), "{expression}");
    round_trips(&parsed.ast);
    let satabs = parse_as(&main_of(&format!("x := {expression};")), Dialect::Satabs);
    assert_eq!(satabs.diagnostics, []);
    // Exactly the expressions whose trees differ are warned about, unless SATABS cannot mean them.
    let integers = parsed.ast.exprs.iter().any(|expr| match expr.kind {
        ExprKind::Int(value) => value > 1,
        ExprKind::Unary(op, _) => op == crate::ast::UnaryOp::Neg,
        ExprKind::Binary(op, ..) => !["=>", "|", "^", "&", "=", "!="].contains(&op.symbol()),
        _ => false,
    });
    assert_eq!(
        satabs.ast != parsed.ast && !integers,
        !parsed.diagnostics.is_empty(),
        "{expression}"
    );
    parsed.diagnostics.into_iter().map(|d| d.message).collect()
}

#[test]
fn expressions_that_read_differently_are_warned_about() {
    assert_eq!(
        warnings("a = b & c"),
        ["read as `(a = b) & c`, but SATABS reads `a = (b & c)`"]
    );
    assert_eq!(
        warnings("a ^ b | c"),
        ["read as `(a ^ b) | c`, but SATABS reads `a ^ (b | c)`"]
    );
    assert_eq!(
        warnings("a => b => !(c)"),
        ["read as `(a => b) => !c`, but SATABS reads `a => (b => !c)`"]
    );
    assert_eq!(
        warnings("a | b & c ^ (d | e)"),
        ["read as `a | (b & c ^ (d | e))`, but SATABS reads `(a | b & c) ^ (d | e)`"]
    );
    assert_eq!(warnings("T & (a = b & c)").len(), 1);
    assert_eq!(warnings("(a = b & c) | (a = b & c)").len(), 1);
    for harmless in [
        "a | b & c",
        "(a = b) & c",
        "a & b => c | d",
        "a = b",
        "a = b => c",
        "!a = b",
        "a => b | c",
        "x + 1 < y & z",
    ] {
        if harmless != "a = b => c" {
            assert_eq!(warnings(harmless), [""; 0], "{harmless}");
        }
    }
}

#[test]
fn the_warning_shows_the_whole_expression() {
    assert_eq!(
        warnings("n = 1 & m = 0"),
        ["read as `(n = 1) & (m = 0)`, but SATABS reads `n = ((1 & m) = 0)`"]
    );
    assert_eq!(
        warnings("(a = b & /* not this */ c) | d\n => e"),
        ["read as `(a = b) & c | d => e`, but SATABS reads `(a = (b & c)) | d => e`"]
    );
    let text = main_of("x := schoose[a = b & c, *] = F;");
    let parsed = parse_as(&text, Dialect::Union);
    let [d] = &parsed.diagnostics[..] else {
        panic!("{:?}", parsed.diagnostics)
    };
    assert_eq!(
        d.message,
        "read as `schoose[(a = b) & c, *] = F`, but SATABS reads `schoose[a = (b & c), *] = F`"
    );
    let (from, to) = (d.primary.0.start as usize, d.primary.0.end as usize);
    assert_eq!(&text[from..to], "schoose[a = b & c, *] = F");
    // Too long to show.
    let long = format!("a = b & c{}", " & d".repeat(200));
    assert_eq!(
        warnings(&long),
        ["SATABS reads this expression differently"]
    );
}

#[test]
fn integers_are_not_for_satabs() {
    for integers in [
        "n = 1 & m = 2",
        "a = b & (c = n + 1)",
        "a = b & n < m",
        "a ^ b | (n >> 1 = m)",
        "a = -n & c",
    ] {
        assert_eq!(warnings(integers), [""; 0], "{integers}");
    }
}

#[test]
fn what_is_declared_as_an_integer_is_not_for_satabs() {
    let warnings = |text: &str| parse_as(text, Dialect::Union).diagnostics.len();
    let body = "begin assert(state = 0 & ev = 1); end";
    assert_eq!(warnings(&format!("void main() {body}")), 1);
    assert_eq!(warnings(&format!("decl state, ev; void main() {body}")), 1);
    // Declared before or after, somewhere in the procedure, or as a parameter.
    assert_eq!(
        warnings(&format!("decl state, ev : u2; void main() {body}")),
        0
    );
    assert_eq!(
        warnings(&format!("void main() {body} decl ev : int[0..3];")),
        0
    );
    assert_eq!(warnings(&format!("void main(ev : u1) {body}")), 0);
    let inside = "void main() begin assert(state = 0 & ev = 1); decl ev : s4; end";
    assert_eq!(warnings(inside), 0);
    // A local hides a global, and nothing of another procedure.
    let hidden = format!("decl ev : u2; void f(ev : u2) begin end void main(ev) {body}");
    assert_eq!(warnings(&hidden), 1);
    let section = format!("thread t begin decl ev : u2; void main() {body} end");
    assert_eq!(warnings(&section), 0);
}

#[test]
fn declarations_have_no_values_and_no_arrays() {
    for (text, message, help) in [
        (
            "decl x := T;",
            "a declaration cannot give a value",
            "`x := T;`",
        ),
        (
            "decl x = f(1, 2), y;",
            "a declaration cannot give a value",
            "`x := f(1, 2);`",
        ),
        (
            "decl x : u8 := 3;",
            "a declaration cannot give a value",
            "`x := 3;`",
        ),
        ("decl a[3];", "there are no arrays", "`decl a0, a1;`"),
        (
            "decl a[3], b : u8;",
            "there are no arrays",
            "`decl a0, a1;`",
        ),
    ] {
        for text in [format!("{text} void main() begin end"), main_of(text)] {
            let parsed = parse_as(&text, Dialect::Union);
            let [error] = &parsed.diagnostics[..] else {
                panic!("{text}: {:#?}", parsed.diagnostics)
            };
            assert_eq!(error.message, message, "{text}");
            assert!(error.help[0].contains(help), "{text}: {error:#?}");
        }
    }
}

#[test]
fn the_warning_is_exact() {
    // All expressions with three operators, against comparing the trees.
    let ops = ["=>", "|", "^", "&", "=", "<", "<<", "+", "*"];
    for a in ops {
        for b in ops {
            for c in ops {
                warnings(&format!("p {a} q {b} r {c} s"));
            }
        }
    }
}

#[test]
fn many_warnings_are_summarised() {
    let parsed = parse_as(&main_of(&"x := a = b & c;".repeat(50)), Dialect::Union);
    assert_eq!(parsed.diagnostics.len(), 21);
    assert!(parsed.diagnostics[20].message.starts_with("30 more"));
    assert!(!parsed.has_errors());
}

// Errors.

#[test]
fn reserved_words_are_no_labels() {
    for (text, words) in [
        ("skip: skip;", &["skip"][..]),
        ("if: skip;", &["if"]),
        ("while x do end: skip; od", &["end"]),
        ("goto end; end: skip", &["end", "end"]),
        ("goto a, fi; a: od: x := T;", &["fi", "od"]),
    ] {
        let messages: Vec<String> = parse_as(&main_of(text), Dialect::Union)
            .diagnostics
            .into_iter()
            .map(|d| d.message)
            .collect();
        let expected: Vec<String> = words
            .iter()
            .map(|word| format!("`{word}` is a reserved word and cannot be a label"))
            .collect();
        assert_eq!(messages, expected, "{text}");
    }
}

#[test]
fn names_in_braces_are_explained() {
    for (text, help) in [
        ("decl {a b};", "cannot contain spaces"),
        ("decl {};", "cannot be empty"),
        ("decl {x;\n", "ends with `}`"),
        ("decl a, {a b};", "cannot contain spaces"),
        (
            "decl x; void main() begin x := {a b}; end",
            "cannot contain spaces",
        ),
        ("decl x; void main() begin decl {}; end", "cannot be empty"),
    ] {
        let parsed = parse_as(text, Dialect::Union);
        let d = &parsed.diagnostics[0];
        assert_eq!(d.help.len(), 1, "{text}: {d:?}");
        assert!(d.help[0].contains(help), "{text}: {d:?}");
    }
}

#[test]
fn common_mistakes_are_explained() {
    for (text, message, help) in [
        ("x = 1;", "`=` compares", "write `:=`"),
        ("x == 1;", "`==` compares", "write `:=`"),
        (
            "if x skip; fi",
            "expected `then`, found `skip`",
            "write `then`",
        ),
        (
            "while x skip; od",
            "expected `do`, found `skip`",
            "write `do`",
        ),
        (
            "if x := 1 then skip; fi",
            "expected `then`",
            "to compare, write `=`",
        ),
        (
            "if (x := 1) then skip; fi",
            "expected an operator or `)`",
            "to compare, write `=`",
        ),
        ("while x then skip; od", "expected `do`", "write `do`"),
        (
            "if x then skip; else if y then skip; fi",
            "`fi` is missing before `end`",
            "elsif",
        ),
        (
            "if x then skip;",
            "`fi` is missing before `end`",
            "add `fi`",
        ),
        (
            "while x do skip;",
            "`od` is missing before `end`",
            "add `od`",
        ),
        (
            "while x do if y then skip; od",
            "`fi` is missing before `od`",
            "add `fi`",
        ),
        ("fi", "`fi` without an open `if`", "remove it"),
        (
            "skip; od; skip;",
            "`od` without an open `while`",
            "remove it",
        ),
        (
            "if x then skip; else skip; else skip; fi",
            "`else` without an open `if`",
            "",
        ),
        (
            "if (x) { y := 1; }",
            "expected `then`, found `{`",
            "no braces",
        ),
        (
            "if (x) { y := 1; } else { y := 0; } skip;",
            "expected `then`, found `{`",
            "no braces",
        ),
        (
            "while (x) {\n y := 1; }",
            "expected `do`, found `{`",
            "no braces",
        ),
        (
            "begin skip; end",
            "`begin` opens the body of a function only",
            "",
        ),
        (
            "x := a -> b;",
            "expected an expression, found `>`",
            "implication is `=>`",
        ),
        (
            "x := f(y) & z;",
            "`&` after the call of `f`",
            "a call is a statement",
        ),
        (
            "x := z & f(y);",
            "the call of `f` is part of an expression",
            "a call is a statement",
        ),
        (
            "return f(y);",
            "the call of `f` is part of an expression",
            "a call is a statement",
        ),
        ("x := at(L) & T;", "`&` after the call of `at`", ""),
        ("x := T & at(L);", "the call of `at`", "for properties"),
        (
            "x := p::y;",
            "a variable of another procedure",
            "for properties",
        ),
        (
            "x := 18446744073709551616;",
            "this number is too large",
            "2^64-1",
        ),
        (
            "x := 9999999999999999999999999999999999999999999;",
            "this number is too large",
            "",
        ),
        ("x := (a & b;", "expected an operator or `)`, found `;`", ""),
        ("x := a & ;", "expected an expression, found `;`", ""),
        ("x := ;", "expected an expression, found `;`", ""),
        ("x := schoose[a; y := b;", "expected an operator or `,`", ""),
        ("x := schoose[a, b;", "expected an operator or `]`", ""),
        ("x := 1 y := 2;", "expected `;`, found `y`", ""),
        ("f() g();", "expected `;`, found `g`", ""),
        (
            "whlie x do skip;",
            "expected a statement, found `whlie`",
            "did you mean `while`?",
        ),
        ("if x then skip; elseif y; fi", "found `elseif`", "`elsif`"),
        (
            "foo;",
            "expected a statement, found `foo`",
            "write `foo();`",
        ),
        ("goto;", "expected a label, found `;`", ""),
        (
            "goto end;",
            "`end` is a reserved word and cannot be a label",
            "`end1`",
        ),
        (
            "start_thread;",
            "expected a statement after `start_thread`",
            "",
        ),
        (
            "x, := 1;",
            "expected the name of a variable, found `:=`",
            "",
        ),
        (
            "decl T;",
            "expected the name of a variable, found `T`",
            "is a constant",
        ),
        (
            "decl _;",
            "expected the name of a variable, found `_`",
            "can only be assigned to",
        ),
        (
            "decl bool x;",
            "the type comes after the name",
            "write `x : bool`",
        ),
        ("decl while;", "found `while`", "reserved word"),
        ("decl 3;", "found the number `3`", "begins with a letter"),
        (
            "x := _ & y;",
            "expected an expression, found `_`",
            "only be assigned to",
        ),
        ("x := y ? 1 : 0;", "expected `;`, found `?`", ""),
        (
            "12;",
            "expected a statement, found the number `12`",
            "label",
        ),
        (
            "x := \"a\";",
            "expected an expression, found text in quotes",
            "",
        ),
        ("@ skip;", "unknown character `@`", ""),
        ("T := x;", "expected a statement, found `T`", "constant"),
        ("int x := 3;", "expected a statement, found `int`", "`decl`"),
        (
            "return (a, b);",
            "expected an operator or `)`, found `,`",
            "no parentheses",
        ),
        ("then skip;", "expected a statement, found `then`", ""),
        ("call f;", "expected `(`, found `;`", ""),
        ("f(x;", "expected `,` or `)`, found `;`", ""),
    ] {
        let error = error_in_main(text);
        assert!(error.message.contains(message), "{text}: {error:#?}");
        assert!(
            help.is_empty() || error.help.iter().any(|h| h.contains(help)),
            "{text}: {error:#?}"
        );
    }
}

#[test]
fn mistakes_at_the_top_level() {
    for (text, message) in [
        ("", "the program is empty"),
        (";", "the program is empty"),
        ("@", "unknown character `@`"),
        (
            "main() begin skip; end",
            "the procedure `main` has no result type",
        ),
        ("void main() { skip; }", "expected `begin`, found `{`"),
        (
            "void main() begin skip; end end",
            "expected a declaration or a procedure, found `end`",
        ),
        (
            "void main() begin skip;",
            "`end` is missing before the end of the text",
        ),
        (
            "void main() begin skip; void f() begin end",
            "`end` is missing before `void`",
        ),
        ("void main() skip; end", "expected `begin`, found `skip`"),
        (
            "void main(bool x) begin end",
            "the type comes after the name",
        ),
        ("void main(x y) begin end", "expected `,` or `)`, found `y`"),
        (
            "void (x) begin end",
            "expected the name of a procedure, found `(`",
        ),
        (
            "decl x\ndecl y; void main() begin end",
            "expected `,`, `:` or `;`, found `decl`",
        ),
        (
            "decl x\nvoid main() begin end",
            "expected `,`, `:` or `;`, found `void`",
        ),
        (
            "decl x : u8, y : u8; void main() begin end",
            "expected `;`, found `,`",
        ),
        (
            "decl x : u8\nvoid main() begin end",
            "expected `;`, found `void`",
        ),
        ("bool<9999999> f() begin end", "at most 4096 results"),
        (
            "thread a begin void main() begin end",
            "expected `end`, found the end of the text",
        ),
        (
            "thread a begin thread b begin end end",
            "thread section `b` inside",
        ),
        (
            "x := 1; void main() begin end",
            "expected a declaration or a procedure, found `x`",
        ),
        ("/* void main() begin end", "this comment does not end"),
    ] {
        let parsed = parse_as(text, Dialect::Union);
        let messages: Vec<_> = parsed.diagnostics.iter().map(|d| &d.message).collect();
        assert!(messages[0].contains(message), "{text}: {messages:?}");
        // The unfinished comment hides the program; the stray section leaves an `end` behind.
        let consequences = usize::from(text.starts_with("/*") || text.contains("thread b"));
        assert!(messages.len() <= 1 + consequences, "{text}: {messages:?}");
    }
}

#[test]
fn several_errors_are_found_in_one_run() {
    let found = complaints(
        "decl g;
         void f() begin x = 1; y := & ; if a skip; fi g := 1 end
         void main() begin while do skip; od; goto ; skip; end
         void 3() begin skip; end
         void last() begin zz yy; end",
    );
    let messages: Vec<&str> = found.iter().map(|(_, m)| &m[..]).collect();
    assert_eq!(
        messages,
        [
            "`=` compares; it does not assign",
            "expected an expression, found `&`",
            "expected `then`, found `skip`",
            "expected an expression, found `do`",
            "expected a label, found `;`",
            "expected the name of a procedure, found the number `3`",
            "expected a statement, found `zz`",
        ]
    );
}

#[test]
fn a_missing_closing_word_points_at_its_opener() {
    let text = main_of("while x do if y then skip;");
    let error = only_error(&text);
    let source = SourceFile::new("test", text);
    let openers: Vec<_> = error
        .secondary
        .iter()
        .map(|(span, text)| (source.slice(*span), &text[..]))
        .collect();
    assert_eq!(
        openers,
        [
            ("if", "this `if` has no `fi`"),
            ("while", "this `while` has no `od`")
        ]
    );
}

#[test]
fn errors_are_capped() {
    for text in [
        "x = 1; ".repeat(5000),
        "@ ".repeat(5000),
        "fi ".repeat(5000),
    ] {
        let parsed = parse_as(&main_of(&text), Dialect::Union);
        assert_eq!(parsed.diagnostics.len(), MAX_ERRORS + 1);
        assert!(parsed.diagnostics[MAX_ERRORS].message.contains("too many"));
    }
}

// Depth.

const DEEP: usize = 200_000;

#[test]
fn deep_expressions_need_no_stack() {
    let open = "(".repeat(DEEP);
    let close = ")".repeat(DEEP);
    let not = "!".repeat(DEEP);
    let chain = "a & ".repeat(DEEP);
    let right = "a + (".repeat(DEEP);
    let choose = "schoose[a, ".repeat(DEEP);
    let end = "]".repeat(DEEP);
    for text in [
        format!("x := {open}a{close};"),
        format!("x := {not}a;"),
        format!("x := {chain}a;"),
        format!("x := {right}a{close};"),
        format!("x := {choose}a{end};"),
    ] {
        ok(&main_of(&text));
    }
    // Unclosed, and closed too often.
    assert_eq!(error_in_main(&format!("x := {open}a;")).secondary.len(), 1);
    assert_eq!(complaints(&main_of(&format!("x := a{close};"))).len(), 1);
}

#[test]
fn deep_statements_need_no_stack() {
    let ifs = "if a then ".repeat(DEEP);
    let fis = "fi ".repeat(DEEP);
    let whiles = "while a do ".repeat(DEEP);
    let ods = "od ".repeat(DEEP);
    let threads = "start_thread ".repeat(DEEP);
    let else_ifs = "if a then skip; else ".repeat(DEEP);
    let elsifs = "elsif b then skip; ".repeat(DEEP);
    let labels = "L: ".repeat(DEEP);
    for text in [
        format!("{ifs}skip {fis}"),
        format!("{whiles}{ods}"),
        format!("{threads}skip;"),
        format!("{else_ifs}skip; {fis}"),
        format!("if a then skip; {elsifs} fi"),
        format!("{labels} skip;"),
    ] {
        let parsed = parse_as(&main_of(&text), Dialect::Union);
        assert_eq!(parsed.diagnostics, []);
        let again = parse_as(&print(&parsed.ast), Dialect::Union);
        assert!(again.ast == parsed.ast);
    }
    assert_eq!(complaints(&main_of(&ifs)).len(), 1);
}

// Monitors.

fn monitor(text: &str) -> (Option<MonitorSyntax>, Vec<Diagnostic>) {
    parse_monitor(&SourceFile::new("test.mon", text), Dialect::Union)
}

#[test]
fn the_documented_monitor() {
    use crate::monitor::{Otherwise, StateKind};
    let (result, diagnostics) = monitor(
        "// Nobody takes the lock twice in a row.
         monitor double_lock {
             initial state free   { when at(lock) goto held; }
             state held           { when at(unlock) goto free; when at(lock) goto error; }
             target state error;
         }",
    );
    assert_eq!(diagnostics, []);
    let monitor = result.expect("a monitor");
    assert_eq!(&*monitor.name.text, "double_lock");
    let names: Vec<_> = monitor.states.iter().map(|s| &*s.name.text).collect();
    assert_eq!(names, ["free", "held", "error"]);
    assert!(monitor.states[0].initial && !monitor.states[1].initial);
    assert_eq!(monitor.states[1].edges.len(), 2);
    assert_eq!(monitor.states[2].kind, StateKind::Target);
    assert_eq!(monitor.states[0].otherwise, Otherwise::Stay);
    assert!(matches!(
        monitor.ast.expr(monitor.states[0].edges[0].0).kind,
        ExprKind::At(None, _)
    ));
}

#[test]
fn monitors_of_every_kind() {
    use crate::monitor::Otherwise;
    let (result, diagnostics) = monitor(
        "monitor m{initial repeating state state{when {x<y} & p::z goto {other}; otherwise block;}
           state {other}{otherwise goto state} repeating initial state empty {} target state initial;}",
    );
    assert_eq!(diagnostics, []);
    let monitor = result.expect("a monitor");
    assert_eq!(monitor.states.len(), 4);
    assert_eq!(monitor.states[0].otherwise, Otherwise::Block);
    assert_eq!(
        monitor.states[1].otherwise,
        Otherwise::Goto(Name::new("state"))
    );
}

#[test]
fn mistakes_in_monitors() {
    for (text, message) in [
        ("", "expected `monitor`"),
        ("monitor { }", "expected the name of the monitor"),
        ("monitor m { state a; ", "expected `}`"),
        ("monitor m { stat a; }", "expected `state`"),
        (
            "monitor m { target repeating state a; }",
            "`repeating` does not go with",
        ),
        (
            "monitor m { state a { when x goto; } }",
            "expected the name of a state",
        ),
        (
            "monitor m { state a { when goto b; } }",
            "expected an expression",
        ),
        (
            "monitor m { state a { when x b; } }",
            "expected an operator or `goto`",
        ),
        (
            "monitor m { state a { otherwise b; } }",
            "expected `stay`, `block` or `goto`",
        ),
        (
            "monitor m { state a { otherwise stay; otherwise stay; } }",
            "`otherwise` is given twice",
        ),
        (
            "monitor m { state a { foo; } }",
            "expected `when`, `otherwise` or `}`",
        ),
        (
            "monitor m { state a { when x goto b; ",
            "expected `when`, `otherwise` or `}`",
        ),
        ("monitor m { } x", "expected the end of the text"),
    ] {
        let (result, diagnostics) = monitor(text);
        assert!(result.is_none(), "{text}");
        assert_eq!(diagnostics.len(), 1, "{text}: {diagnostics:#?}");
        assert!(
            diagnostics[0].message.contains(message),
            "{text}: {diagnostics:#?}"
        );
    }
}

#[test]
fn operators_have_the_symbols_they_are_parsed_from() {
    for op in [
        BinaryOp::Implies,
        BinaryOp::Or,
        BinaryOp::Xor,
        BinaryOp::And,
        BinaryOp::Eq,
        BinaryOp::Ne,
        BinaryOp::Lt,
        BinaryOp::Le,
        BinaryOp::Gt,
        BinaryOp::Ge,
        BinaryOp::Shl,
        BinaryOp::Shr,
        BinaryOp::Add,
        BinaryOp::Sub,
        BinaryOp::Mul,
        BinaryOp::Div,
        BinaryOp::Rem,
    ] {
        let text = format!("a {} b", op.symbol());
        assert_eq!(union(&text), format!("({text})"));
    }
}

// Random input.

/// An expression with few parentheses, every other time without integers.
fn expression(random: &mut Random) -> String {
    const OPERATORS: [&str; 11] = [
        " & ", " | ", " ^ ", " => ", " = ", " != ", " < ", " + ", " - ", " * ", " << ",
    ];
    const OPERANDS: [&str; 8] = ["a", "b", "*", "?", "T", "schoose[a | b, c]", "{x<y}", "3"];
    let (operators, operands, prefixes) = if random.below(2) == 0 {
        (&OPERATORS[..6], &OPERANDS[..7], &["!", "~"][..])
    } else {
        (&OPERATORS[..], &OPERANDS[..], &["!", "-", "~"][..])
    };
    let mut text = String::new();
    let mut open = 0;
    for i in 0..random.below(12) {
        if i > 0 {
            text += *random.pick(operators);
        }
        while random.below(5) == 0 {
            text += *random.pick(prefixes);
        }
        if random.below(5) == 0 {
            text.push('(');
            open += 1;
        }
        text += *random.pick(operands);
        while open > 0 && random.below(3) == 0 {
            text.push(')');
            open -= 1;
        }
    }
    if text.is_empty() || text.ends_with('(') {
        text.push('c');
    }
    text + &")".repeat(open)
}

#[test]
fn random_expressions_are_warned_about_exactly_and_survive_printing() {
    let mut random = Random::new(0x5eed);
    let mut different = 0;
    for _ in 0..20_000 {
        different += warnings(&expression(&mut random)).len();
    }
    assert!(different > 1000, "{different}");
}

#[test]
fn random_words_never_panic_and_survive_printing() {
    const WORDS: [&str; 72] = [
        "decl",
        "begin",
        "end",
        "if",
        "then",
        "elsif",
        "else",
        "fi",
        "while",
        "do",
        "od",
        "goto",
        "return",
        "skip",
        "assert",
        "assume",
        "constrain",
        "abortif",
        "enforce",
        "print",
        "dead",
        "call",
        "start_thread",
        "end_thread",
        "sync",
        "atomic_begin",
        "void",
        "bool",
        "u8",
        "int",
        "[",
        "]",
        "..",
        "dfs",
        "thread",
        "schoose",
        "T",
        "x",
        "y",
        "main",
        "{x<y}",
        "_",
        "12",
        "'",
        ":=",
        ":",
        ":",
        "::",
        ";",
        ";",
        ";",
        ";",
        ",",
        "(",
        ")",
        "(",
        ")",
        "*",
        "&",
        "|",
        "=",
        "<",
        ">",
        "-",
        "!",
        "{",
        "}",
        "\"s\"",
        "@",
        "fi",
        "x := y;",
        "if x then",
    ];
    let mut random = Random::new(0xd05e);
    let mut accepted = 0;
    for _ in 0..20_000 {
        let mut text = String::from("void main() begin ");
        for _ in 0..random.below(12) {
            text += *random.pick(&WORDS);
            text.push(' ');
        }
        if random.below(4) > 0 {
            text += "end";
        }
        for dialect in [Dialect::Union, Dialect::Satabs] {
            let parsed = parse_as(&text, dialect);
            let source = SourceFile::new("t", &*text);
            droste_source::diagnostics::render(&parsed.diagnostics, &source, false);
            parse_monitor(&source, dialect);
            if !parsed.has_errors() {
                accepted += 1;
                round_trips(&parsed.ast);
            }
        }
    }
    assert!(accepted > 1000, "{accepted}");
}

#[test]
fn a_statement_after_a_missing_condition_is_kept() {
    let parsed = parse_as(
        &main_of("if then x := 1; fi while do y := 1; od"),
        Dialect::Union,
    );
    assert_eq!(parsed.diagnostics.len(), 2);
    let assignments = parsed
        .ast
        .stmts
        .iter()
        .filter(|stmt| matches!(stmt.kind, StmtKind::Assign { .. }));
    assert_eq!(assignments.count(), 2);
}
