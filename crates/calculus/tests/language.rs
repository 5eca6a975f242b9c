//! The language, point by point: what MUCKE's page promises, where MUCKE is wrong and Droste must not be, what is
//! relaxed, and input that is very deep, long or wide.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use droste_base::{Limits, StopReason};
use droste_calculus::{Action, Outcome, Solver, Unanswered, load, load_text, on_large_stack};
use droste_source::SourceFile;

/// The answers to all queries, and counts, as text.
fn answers(text: &str) -> Vec<String> {
    let theory = load_text("t.mu", text);
    assert!(!theory.has_errors(), "{}", theory.messages(true, false));
    on_large_stack(theory, |theory| {
        let actions = theory.actions().to_vec();
        let mut solver = Solver::new(theory, &Limits::default(), None);
        let mut list = Vec::new();
        for action in &actions {
            match solver.perform(action) {
                Ok(Outcome::Answer(value)) => list.push(value.to_string()),
                Ok(Outcome::Count(count, _)) => list.push(count.to_string()),
                Ok(_) => {}
                Err(error) => list.push(format!("{error:?}")),
            }
        }
        list
    })
}

/// The first error, without its excerpt.
fn error(text: &str) -> String {
    let theory = load_text("t.mu", text);
    let shown = theory.messages(false, false);
    let mut lines = shown.lines();
    let first = lines.next().unwrap_or_default();
    let place = lines.next().unwrap_or_default();
    format!("{first} @{}", place.trim_start_matches(" -->").trim())
}

const TYPES: &str = "enum E { a, b, c }; enum R { 3 .. 7 }; class C { E e; bool f[2]; };\n";

#[test]
fn prototypes_may_be_repeated() {
    let text = "mu bool r(bool x); mu bool r(bool y); mu bool r(bool x) x | r(x); mu bool r(bool x); r(true); r(false);";
    assert_eq!(answers(text), ["true", "false"]);
}

/// A step that assumes what is being computed, made of conjunctions.
#[test]
fn conjunctions_take_the_place_of_a_step() {
    let text = "class S { bool a, b, c; };
bool Flip(bool x, bool y, bool z, bool w) (exists bool n. n != x & (y = n | y = x)) & (z | w);
mu bool Reach(S s);
mu bool Step(S s, S t) Flip(s.a, t.a, s.a, t.a) assume Reach(s) & Flip(s.b, t.b, s.a, s.c) assume Reach(s) & t.c = s.a;
mu bool Reach(S s) (s.a & !s.b & !s.c) | (exists S p. Step(p, s) & Reach(p));
#ons Reach;";
    // All four with c, and the two with a and without c.
    assert_eq!(answers(text), ["6"]);
}

#[test]
fn operators_bind_as_documented() {
    let queries = [
        ("true | false & false", true),
        ("!true | true", true),
        ("! (true | true)", false),
        ("false -> false | false", true),
        ("(false -> false) -> false", false),
        ("exists bool x. x & forall bool y. y | x", true),
        ("forall bool x. exists bool y: x <+> y", true),
        ("exists bool x. ! x = x", false),
        ("(1)", true),
        ("((1)) -> (0)", false),
        ("(/* 3 */ 1) & exists bool x. x = (/* 2 */ 0)", true),
        ("if (false) true", true),
        ("if (false) true else false", false),
        ("if (true) if (false) true else false", false),
        ("true & if (true) false else true", false),
        ("case false : true; esac", false),
        ("case false : true; true : true; esac", true),
        ("case true : false; true : true; esac", false),
        ("true <- false", true),
        ("1 & !0", true),
        ("exists bool x. x&!x", false),
        ("exists bool x. (x=true) assume (x) & x", true),
        ("exists bool x. x{assume x} & x", true),
    ];
    for (query, expected) in queries {
        assert_eq!(
            answers(&format!("{query};")),
            [expected.to_string()],
            "{query}"
        );
    }
}

#[test]
fn quantifiers_range_over_declared_values_only() {
    // MUCKE answers true to this one.
    assert_eq!(
        answers("enum E{a,b,c}; bool p(E x) forall E y. x != x; exists E x. p(x); #ons p;"),
        ["false", "0"]
    );
    let text = format!(
        "{TYPES} bool n(C x) !(x.e = a); #ons n; bool t(C x, R r) true; #ons t;
         forall E x. x = a | x = b | x = c; exists R r. r[2] & r[1];"
    );
    assert_eq!(answers(&text), ["8", "60", "true", "false"]);
}

#[test]
fn ranges_begin_anywhere_and_bits_count_from_the_least_significant() {
    let text = format!(
        "{TYPES} exists R r. r = 7 & r[2] & !r[1] & !r[0]; exists R r. 4 = r & r[0]; exists E x. x = 1 & x = b;"
    );
    assert_eq!(answers(&text), ["true", "true", "true"]);
    assert_eq!(
        error("enum R { 3 .. 7 }; exists R r. r = 2;"),
        "error: 2 is out of range @t.mu:1:36"
    );
    assert_eq!(
        answers("enum R { 9 ... 2 }; bool all(R r) true; #ons all;"),
        ["8"]
    );
}

#[test]
fn constants_come_before_variables_on_the_right() {
    assert_eq!(answers("enum F {g,h}; exists F g. g != g;"), ["true"]);
    // Two types may share names of constants.
    assert_eq!(
        answers("enum F {g,h}; enum G {h,g}; exists F x, G y. x = g & y = g;"),
        ["true"]
    );
}

#[test]
fn two_negations_do_not_make_a_recursion_direct() {
    let theory = "mu bool A(bool s); mu bool B(bool s);
        mu bool A(bool s) !B(s); mu bool B(bool s) s | !A(s);";
    assert_eq!(answers(&format!("{theory} B(false);")), ["false"]);
    // What is asked later makes no difference.
    let text = format!("{theory} B(false); A(true); #ons B;");
    assert_eq!(answers(&text), ["false", "false", "1"]);
}

#[test]
fn classes_interleaved_by_constraint_keep_their_values() {
    // Components of different widths; MUCKE prints `<not true or false>`.
    let text = "enum W {0..9}; class C { W w; bool b; } w ~+ b;
        bool p(C x) x.w = 9 & x.b; #ons p; exists C x, C y. x = y & p(y) & x.w[3] & x.w[0];";
    assert_eq!(answers(text), ["1", "true"]);
}

const STEPS: &str = "enum N { 0..7 };
    bool T(N x, N y) (x=0&y=1)|(x=1&y=2)|(x=2&y=3)|(x=3&y=4)|(x=4&y=5)|(x=5&y=6)|(x=6&y=7);\n";

#[test]
fn a_quadratic_body_is_not_cut_short_by_the_frontier() {
    let text = format!(
        "{STEPS} #frontier on; mu bool P(N x, N y) T(x,y) | (exists N z. P(x,z) & P(z,y)); #ons P;
         mu bool L(N x, N y) T(x,y) | (exists N z. L(x,z) & T(z,y)); #ons L; forall N x, N y. P(x,y) <-> L(x,y);"
    );
    assert_eq!(answers(&text), ["28", "28", "true"]);
}

#[test]
fn mutual_recursion_that_mucke_refuses() {
    let text = format!(
        "{STEPS} mu bool Odd(N x); mu bool Even(N x) x = 0 | (exists N y. T(y,x) & Odd(y));
         mu bool Odd(N x) exists N y. T(y,x) & Even(y); Even(4) & Odd(5); Even(5); #ons Even;"
    );
    assert_eq!(answers(&text), ["true", "false", "4"]);
    let text = format!(
        "{STEPS} mu bool B(N x); mu bool C(N x);
         mu bool A(N x) x = 0 | B(x) | C(x);
         mu bool B(N x) (exists N y. T(y,x) & A(y)) & !(x = 5) | C(x);
         mu bool C(N x) exists N y. T(y,x) & (A(y) | B(y)); #ons A; #ons B; #ons C;"
    );
    assert_eq!(answers(&text), ["8", "7", "7"]);
}

#[test]
fn the_outermost_fixpoint_is_the_one_used_from_outside() {
    let text =
        "mu bool B(bool x); nu bool A(bool x) B(x); mu bool B(bool x) A(x); A(true); B(true);";
    assert_eq!(answers(text), ["true", "false"]);
}

#[test]
fn rounds_that_run_in_a_circle_are_reported() {
    let list = answers("mu bool osc(bool x) !osc(x); osc(true); true;");
    assert!(
        list[0].contains("Oscillates") && list[0].contains("period: 2"),
        "{list:?}"
    );
    assert_eq!(list[1], "true");
}

#[test]
fn rounds_of_a_body_that_is_not_monotone_replace_the_value() {
    // Marks as in the paper's section 4.3: the second argument false says that a tuple is not new.
    let text = format!(
        "{STEPS} mu bool S(bool fr, N x) (fr & x = 0) | S(true, x) | (fr & (exists N y. Rel(y) & T(y, x)));
         true;"
    );
    // `Rel` is not declared.
    assert!(load_text("t.mu", text.as_str()).has_errors());
    let text = format!(
        "{STEPS} mu bool S(bool fr, N x);
         mu bool Rel(N x) S(true, x) & !S(false, x);
         mu bool S(bool fr, N x) (fr & x = 0) | S(true, x) | (fr & (exists N y. Rel(y) & T(y, x)));
         S(true, 7); #ons S;"
    );
    assert_eq!(answers(&text), ["true", "16"]);
}

#[test]
fn nullary_predicates_are_propositions() {
    assert_eq!(
        answers("bool p() true; mu bool q() q() | p(); p() & q();"),
        ["true"]
    );
}

#[test]
fn a_query_stops_as_soon_as_it_is_decided() {
    let text = "enum N { 0..1023 };
        class B { bool b[10]; };
        mu bool R(N x) x = 0 | (exists N y. R(y) & S(y, x));
        R(3);";
    // Successor on bits, written out.
    let mut next = Vec::new();
    for k in 0..10 {
        let mut parts: Vec<String> = (0..k).map(|j| format!("x[{j}] & !y[{j}]")).collect();
        parts.push(format!("!x[{k}] & y[{k}]"));
        parts.extend((k + 1..10).map(|j| format!("x[{j}] = y[{j}]")));
        next.push(parts.join(" & "));
    }
    let head = "enum N { 0..1023 };";
    let text = text.replace(
        head,
        &format!("{head} bool S(N x, N y) {};", next.join(" | ")),
    );
    let theory = load_text("t.mu", text.as_str());
    assert!(!theory.has_errors(), "{}", theory.messages(true, false));
    let actions = theory.actions().to_vec();
    let mut solver = Solver::new(theory, &Limits::default(), None);
    assert!(matches!(
        solver.perform(&actions[0]),
        Ok(Outcome::Answer(true))
    ));
    assert!(solver.statistics().rounds < 10, "{:?}", solver.statistics());
}

#[test]
fn a_chain_of_predicates_each_used_twice_takes_no_time() {
    let mut text = "bool p0(bool x) x;\n".to_owned();
    for i in 1..=2000 {
        let j = i - 1;
        let _ = writeln!(text, "mu bool p{i}(bool x) p{j}(x) & p{j}(x) | p{i}(x);");
    }
    text += "p2000(true);";
    assert_eq!(answers(&text), ["true"]);
}

#[test]
fn depth_is_no_trouble() {
    let n = 100_000;
    let deep = [
        format!("{}true{};", "(".repeat(n), ")".repeat(n)),
        format!("{}true;", "! ".repeat(n)),
        format!("{}true{};", "(true -> ".repeat(n), ")".repeat(n)),
        format!("{}true;", "if (true) ".repeat(n)),
        format!("{}true{};", "case true : ".repeat(n), "; esac".repeat(n)),
        format!("{}true;", "exists bool x. ".repeat(1000)),
        format!("{}true{};", "(false | (true & ".repeat(n), "))".repeat(n)),
    ];
    for text in deep {
        assert_eq!(answers(&text), ["true"], "{}", &text[..30]);
    }
    let unclosed = load_text("t.mu", "(".repeat(n));
    assert!(unclosed.has_errors());
}

#[test]
fn length_and_width_are_no_trouble() {
    let n = 100_000;
    assert_eq!(answers(&format!("{}true;", "true & ".repeat(n))), ["true"]);
    let states = 1000;
    let mut text = format!(
        "enum N {{ 0..{} }}; class S {{ N pc; bool v[200]; }};\nbool T(S s, S t) ",
        states - 1
    );
    let frame: Vec<String> = (0..200).map(|k| format!("s.v[{k}] = t.v[{k}]")).collect();
    let frame = frame.join(" & ");
    for i in 0..states - 1 {
        if i > 0 {
            text += " | ";
        }
        let _ = write!(text, "s.pc = {i} & t.pc = {} & {frame}", i + 1);
    }
    text +=
        ";\nmu bool R(S s) s.pc = 0 | (exists S t. R(t) & T(t, s)); exists S s. R(s) & s.pc = 999;";
    assert_eq!(answers(&text), ["true"]);
    let parameters: Vec<String> = (0..3000).map(|k| format!("bool x{k}")).collect();
    let arguments: Vec<String> = (0..3000).map(|k| format!("y{k}")).collect();
    let quantified: Vec<String> = (0..3000).map(|k| format!("bool y{k}")).collect();
    let text = format!(
        "bool P({}) x0 & x2999; exists {}. P({});",
        parameters.join(", "),
        quantified.join(", "),
        arguments.join(", ")
    );
    assert_eq!(answers(&text), ["true"]);
}

#[test]
fn limits_are_kept() {
    // The multiplication of 14 by 14 bits has no small diagram in any order.
    let n = 14;
    let mut text = format!("class W {{ bool b[{n}]; }};\n");
    text += "mu bool Slow(W x, W y, W z) (exists W u, W v, W w. Slow(u, v, w) & !(u = x & v = y & w = z) & \
             (u = y | v = z | w = x) & ";
    let xor: Vec<String> = (0..n)
        .map(|i| {
            format!(
                "(x.b[{i}] <+> (u.b[{}] & (v.b[{}] <+> w.b[{}])))",
                (i + 5) % n,
                (i * 3) % n,
                (i * 5) % n
            )
        })
        .collect();
    text += &xor.join(" & ");
    text +=
        ") | (x = y & !(y = z)); exists W x, W y. Slow(x, x, y) & !Slow(y, x, x) & Slow(y, y, x);";
    let theory = load_text("t.mu", text.as_str());
    assert!(!theory.has_errors(), "{}", theory.messages(true, false));
    let start = Instant::now();
    let outcome = on_large_stack(theory, |theory| {
        let actions = theory.actions().to_vec();
        let limits = Limits::within(Duration::from_millis(300));
        Solver::new(theory, &limits, None).perform(&actions[0])
    });
    assert!(start.elapsed() < Duration::from_secs(30));
    if let Err(error) = outcome {
        assert!(
            matches!(error, Unanswered::Stopped(StopReason::Time(_))),
            "{error:?}"
        );
    }
}

#[test]
fn errors_say_where_and_what() {
    let cases = [
        (
            "R(2, ;",
            "error: expected a constant or a variable, found `;` @t.mu:1:6",
        ),
        (
            "(2);",
            "error: expected a formula, found a number @t.mu:1:2",
        ),
        ("#foo;", "error: there is no command `#foo` @t.mu:1:1"),
        ("#tuple 3;", "error: there is no command `#tuple` @t.mu:1:1"),
        (
            "true & ;",
            "error: expected an expression, found `;` @t.mu:1:8",
        ),
        (
            "true",
            "error: expected `;` after the query, found the end of the file @t.mu:1:5",
        ),
        (
            "true -> true -> true;",
            "error: `->` after another operator that binds as tightly @t.mu:1:14",
        ),
        (
            "bool x;",
            "error: variables are declared by quantifiers and parameter lists only @t.mu:1:1",
        ),
        (
            "load f;",
            "error: variables are declared by quantifiers and parameter lists only @t.mu:1:1",
        ),
        ("enum E {};", "error: `E` has no values @t.mu:1:6"),
        ("enum E {a, a};", "error: `a` is in `E` twice @t.mu:1:12"),
        (
            "enum E {a}; enum E {b};",
            "error: `E` is declared twice @t.mu:1:18",
        ),
        (
            "mu bool p(bool x); nu bool p(bool x);",
            "error: `p` is declared twice, and not in the same way @t.mu:1:28",
        ),
        ("exists X x. true;", "error: there is no type `X` @t.mu:1:8"),
        ("foo(true);", "error: there is no predicate `foo` @t.mu:1:1"),
        (
            "bool p(bool x) x; p(true, true);",
            "error: `p` takes 1 argument, not 2 @t.mu:1:19",
        ),
        (
            "bool p(bool x) x; bool p(bool y) y;",
            "error: `p` is defined twice @t.mu:1:24",
        ),
        (
            "bool p(bool x) x & z;",
            "error: there is no variable `z` here @t.mu:1:20",
        ),
        (
            "class C { bool a; }; exists C c. c.b;",
            "error: `C` has no component `b` @t.mu:1:36",
        ),
        (
            "exists bool b[2]. b[2];",
            "error: there is no index 2: a `bool[2]` has 2 elements @t.mu:1:21",
        ),
        (
            "enum E {a,b}; exists E x. x[1];",
            "error: there is no index 1: a `E` has 1 bits @t.mu:1:29",
        ),
        (
            "enum E {a,b}; exists E x. x;",
            "error: expected a formula, found a `E` @t.mu:1:27",
        ),
        (
            "enum E {a,b}; enum F {a}; exists E x, F y. x = y;",
            "error: a `E` is compared with a `F` @t.mu:1:44",
        ),
        (
            "exists bool x. (x & x) = x;",
            "error: only variables and constants can be compared @t.mu:1:16",
        ),
        (
            "mu bool p(bool x); nu bool p(bool x) p(x);",
            "error: `p` is not defined as its prototype says @t.mu:1:28",
        ),
        (
            "mu bool p(bool x); p(true);",
            "error: this cannot be evaluated: `p` has a prototype but no definition @t.mu:1:20",
        ),
        (
            "bool p(bool x) p(x); p(true);",
            "error: `p` is used in its own definition @t.mu:1:6",
        ),
        ("x /* y", "error: this comment does not end @t.mu:1:3"),
        (
            "#load nothere;",
            "error: `nothere` cannot be loaded here @t.mu:1:7",
        ),
        (
            "#ons nothere;",
            "error: there is no predicate `nothere` @t.mu:1:6",
        ),
        ("x + y;", "error: `+` has no meaning here @t.mu:1:3"),
        (
            "bool p(bool x) x ~+ z x; ",
            "error: `z` is not in this list @t.mu:1:21",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(error(text), expected, "{text}");
    }
}

#[test]
fn after_an_error_reading_goes_on() {
    let theory = load_text(
        "t.mu",
        "bool p(bool x) x &; enum E { a; b }; true; class C { bool a } ; false;",
    );
    let errors = theory.diagnostics().count();
    assert_eq!(errors, 3, "{}", theory.messages(true, false));
    let queries = theory
        .actions()
        .iter()
        .filter(|a| matches!(a, Action::Query(_)))
        .count();
    assert_eq!(queries, 2);
}

#[test]
fn quit_ends_reading() {
    assert_eq!(
        answers("true; #quit\n Bemerkung: \u{e4} + (; /* \""),
        ["true"]
    );
    assert_eq!(answers("false; #quit; nothere(1); #load gone;"), ["false"]);
    // In a file that was loaded, it ends reading of all files.
    let outer = SourceFile::new("outer.mu", "true; #load inner; nothere(1); & ;");
    let theory = load(outer, &mut |name| {
        Ok(SourceFile::new(name, "false; #quit ; & ;"))
    });
    assert!(!theory.has_errors(), "{}", theory.messages(true, false));
    assert_eq!(theory.actions().len(), 2);
    // What is wrong before it is still told.
    let outer = SourceFile::new("outer.mu", "true & ; #load inner; false;");
    let theory = load(outer, &mut |name| Ok(SourceFile::new(name, "#quit")));
    assert_eq!(theory.diagnostics().count(), 1);
}

#[test]
fn a_plain_predicate_holds_because_of_the_tuples_its_body_needs() {
    let theory = load_text(
        "t.mu",
        "enum N { 0 .. 5 };
         mu bool Reach(N s) s = 0 | (exists N p. Reach(p) & (p = 0 & s = 1 | p = 1 & s = 2));
         nu bool Good(N s) s != 4 & (forall N t. s = 3 & t = 4 -> Good(t));
         bool Bad(N n) exists N s. Reach(s) & s = n;
         bool Worse() Bad(2);
         bool Fine() Good(3);
         #wit Worse(); #cex Fine();",
    );
    let actions = theory.actions().to_vec();
    let mut solver = Solver::new(theory, &Limits::default(), None);
    let lengths = actions.iter().map(|action| match solver.perform(action) {
        Ok(Outcome::Witness(witness)) => witness.paths.iter().map(Vec::len).collect(),
        other => panic!("{other:?}"),
    });
    assert_eq!(lengths.collect::<Vec<Vec<usize>>>(), [vec![3], vec![2]]);
}

#[test]
fn disjunctions_are_decided_part_by_part() {
    let rounds = |query: &str| {
        let theory = load_text(
            "t.mu",
            format!(
                "enum N {{ 0 .. 9 }};
                 mu bool Few(N s) s = 0 | (exists N p. Few(p) & p = 0 & s = 1);
                 mu bool Many(N s) Few(s) | (exists N p. Many(p) & (p = 1 & s = 2 | p = 2 & s = 3));
                 mu bool Odd(bool x) !Odd(x);
                 {query};"
            ),
        );
        let action = theory.actions()[0].clone();
        let mut solver = Solver::new(theory, &Limits::default(), None);
        match solver.perform(&action) {
            Ok(Outcome::Answer(value)) => Some((value, solver.statistics().rounds)),
            _ => None,
        }
    };
    let alone = rounds("Few(1)");
    assert!(alone.is_some_and(|(value, _)| value));
    assert_eq!(rounds("Many(9) | Few(1)"), alone);
    let (value, more) = rounds("Many(3) | Few(9)").unwrap();
    assert!(value && more > alone.unwrap().1);
    assert_eq!(
        rounds("!Many(9) & !Few(1)").map(|(value, _)| value),
        Some(false)
    );
    // What has no value has none anywhere.
    assert_eq!(rounds("Few(1) | Odd(true)"), None);
}
