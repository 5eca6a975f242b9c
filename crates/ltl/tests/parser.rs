//! Formulas as text: spellings, precedence, errors and files of properties.

use droste_ltl::{
    AtomKind, Atoms, Formulas, parse, parse_formulas, parse_properties, parse_text, print,
};
use droste_source::SourceFile;
use droste_source::diagnostics::render;

/// The formula as it is printed, or the messages.
fn shown(text: &str) -> Result<String, String> {
    let (mut formulas, mut atoms) = (Formulas::new(), Atoms::new());
    let source = SourceFile::new("f", text);
    match parse(&source, &mut formulas, &mut atoms) {
        Ok(formula) => Ok(print(&formulas, &atoms, formula)),
        Err(list) => Err(render(&list, &source, false)),
    }
}

#[test]
fn spellings_and_precedence() {
    for (text, expected) in [
        ("[]<>p", "G F p"),
        ("a && b || c", "a & b | c"),
        ("a /\\ b \\/ ~c", "a & b | !c"),
        ("a U b U c", "a U b U c"),
        ("(a U b) U c", "(a U b) U c"),
        ("a V b W c M d", "a R b W c M d"),
        ("a -> b -> c", "a -> b -> c"),
        ("(a => b) => c", "(a -> b) -> c"),
        ("a <-> b <=> c", "a <-> b <-> c"),
        ("a <-> (b <-> c)", "a <-> (b <-> c)"),
        ("a ^ b xor c", "a xor b xor c"),
        ("!a U X b & c", "!a U X b & c"),
        ("a U (b & c)", "a U (b & c)"),
        ("F G a | b", "F G a | b"),
        ("a | b & c xor d -> e <-> g", "a | b & c xor d -> e <-> g"),
        ("1 U 0", "true U false"),
        ("{ x = 3 } U \"y\" | 'z }'", "{x = 3} U {y} | \"z }\""),
        (
            "var(F) & at(main:L) & in(f) & terminated",
            "var(F) & at(main:L) & in(f) & terminated",
        ),
        ("at & in & var", "at & in & var"),
        ("Fp & GFa", "Fp & GFa"),
        ("{ {a} }", "{{a}}"),
        ("$x & a#1", "$x & a#1"),
    ] {
        assert_eq!(shown(text).as_deref(), Ok(expected), "{text}");
    }
}

#[test]
fn atoms_have_kinds_texts_and_places() {
    let (mut formulas, mut atoms) = (Formulas::new(), Atoms::new());
    parse_text("p U { x = 3 } | at(m:L) & p", &mut formulas, &mut atoms).unwrap();
    let list: Vec<_> = atoms
        .list()
        .iter()
        .map(|a| {
            (
                a.kind,
                a.text.as_str(),
                a.span.start,
                a.span.end,
                a.text_span.start,
            )
        })
        .collect();
    assert_eq!(
        list,
        [
            (AtomKind::Name, "p", 0, 1, 0),
            (AtomKind::Expression, "x = 3", 4, 13, 6),
            (AtomKind::At, "m:L", 16, 23, 19),
        ]
    );
}

#[test]
fn mistakes_are_reported_with_what_was_expected() {
    for (text, places, words) in [
        ("", &["1:1"][..], "there is no formula"),
        ("a &", &["1:4"], "operand of `&`, found the end"),
        ("& a", &["1:1"], "expected a formula, found `&`"),
        ("a b", &["1:3"], "expected a binary operator, found `b`"),
        ("(a", &["1:1"], "not closed"),
        ("a)", &["1:2"], "no `(`"),
        ("main::x", &["1:1"], "write `{main::x}`"),
        ("F", &["1:2"], "var(F)"),
        ("a & U", &["1:5"], "var(U)"),
        ("x = 3", &["1:3", "1:5"], "`{x = 3}`"),
        ("{x", &["1:1"], "not closed"),
        ("{}", &["1:1"], "there is no expression"),
        ("on(f)", &["1:3"], "did you mean `in(...)`?"),
        ("at(f g)", &["1:3"], "takes a name"),
        ("at()", &["1:3"], "takes a name"),
        ("in(f:L)", &["1:3"], "takes a name"),
        ("GF p", &["1:4"], "`G F`"),
        ("f:L", &["1:1"], "at(f:L)"),
        ("f : L", &["1:3"], "at(proc:LABEL)"),
        (
            "(a & ) | b c & (d -> ",
            &["1:6", "1:12", "1:22", "1:16"],
            "expected",
        ),
        ("a ? b", &["1:3", "1:5"], "`?` is not part"),
        ("a;b", &["1:2"], "expected a binary operator, found `;`"),
        ("é", &["1:1"], "not part"),
    ] {
        let error = shown(text).expect_err(text);
        assert!(error.contains(words), "{text}: {error}");
        for place in places {
            assert!(
                error.contains(&format!("f:{place}\n")),
                "{text}: {place} in {error}"
            );
        }
    }
    assert!(shown(&"a b ".repeat(100_000)).is_err());
    assert!(shown(&"?".repeat(100_000)).is_err());
}

#[test]
fn deep_formulas_are_no_trouble() {
    let n = 1_000_000;
    assert_eq!(
        shown(&format!("{}p{}", "(".repeat(n), ")".repeat(n))).as_deref(),
        Ok("p")
    );
    assert!(shown(&"(".repeat(n)).is_err());
    assert!(shown(&")".repeat(n)).is_err());
    let deep = format!("{}p", "X ".repeat(n));
    assert_eq!(shown(&deep), Ok(deep));
    let wide = vec!["p"; n].join(" & ");
    assert_eq!(shown(&wide).as_deref(), Ok("p"));
    let right = vec!["p"; n].join(" U ");
    assert_eq!(shown(&right), Ok(right));
    let left = vec!["p"; n].join(" <-> ");
    assert_eq!(shown(&left), Ok(left));
}

fn properties(text: &str) -> Result<Vec<(String, String)>, String> {
    let (mut formulas, mut atoms) = (Formulas::new(), Atoms::new());
    let source = SourceFile::new("p.ltl", text);
    match parse_properties(&source, &mut formulas, &mut atoms) {
        Ok(list) => Ok(list
            .into_iter()
            .map(|p| (p.name, print(&formulas, &atoms, p.formula)))
            .collect()),
        Err(list) => Err(render(&list, &source, false)),
    }
}

#[test]
fn files_hold_several_properties() {
    let text = "
# A comment; with a semicolon
safe: G !error // another
live:
    G (request
       -> F grant);
last : at(main:L) | {x = 3} U terminated";
    let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
    assert_eq!(
        properties(text),
        Ok(vec![
            pair("safe", "G !error"),
            pair("live", "G (request -> F grant)"),
            pair("last", "at(main:L) | {x = 3} U terminated"),
        ])
    );
}

#[test]
fn mistakes_in_files_are_reported() {
    for (text, places, words) in [
        ("", &["1:1"][..], "there is no property"),
        ("# nothing\n", &["2:1"], "there is no property"),
        ("G p", &["1:1"], "a property has a name"),
        ("a: p; a: q", &["1:7"], "two properties named `a`"),
        ("a: ; b: q", &["1:4"], "there is no formula"),
        ("a: p &\nb: (q\nc: r", &["2:1", "2:4"], "not closed"),
        ("a: p q; G r", &["1:6", "1:9"], "expected"),
    ] {
        let error = properties(text).expect_err(text);
        assert!(error.contains(words), "{text}: {error}");
        for place in places {
            assert!(
                error.contains(&format!("p.ltl:{place}\n")),
                "{text}: {place} in {error}"
            );
        }
    }
}

/// After a mistake the parser may be where nothing comes before.
#[test]
fn mistakes_at_the_beginning_are_survived() {
    let pieces = [
        ":", "::", "(", ")", "a", "!", "U", ";", "p:", "at(", "{x}", "[]", "\n",
    ];
    for a in pieces {
        for b in pieces {
            for c in pieces {
                for text in [format!("{a}{b}{c}"), format!("{a} {b} {c}")] {
                    let source = SourceFile::new("pieces", text);
                    let (mut formulas, mut atoms) = (Formulas::new(), Atoms::new());
                    let _ = parse_properties(&source, &mut formulas, &mut atoms);
                    let _ = parse_formulas(&source, &mut formulas, &mut atoms);
                    let _ = parse(&source, &mut formulas, &mut atoms);
                }
            }
        }
    }
}

#[test]
fn operands_are_shown_in_the_order_in_which_they_were_written() {
    for text in [
        "a & F b & b",
        "F a | (b & F a & a) | a",
        "G (F grant | !request) & grant & request",
        "(b | a) U (c & a & b)",
    ] {
        let plain = text.replace("(b & F a & a)", "b & F a & a");
        assert_eq!(shown(text).as_deref(), Ok(&*plain), "{text}");
    }
    // The same formula twice has the order in which it was written first.
    assert_eq!(shown("b & a -> a & b").as_deref(), Ok("b & a -> b & a"));
    assert_eq!(shown("c & (b & a)").as_deref(), Ok("c & b & a"));
}

#[test]
fn strange_names_of_properties() {
    let messages = |text: &str| {
        let (mut formulas, mut atoms) = (Formulas::new(), Atoms::new());
        let source = SourceFile::new("f", text);
        let list = parse_properties(&source, &mut formulas, &mut atoms).expect_err("a mistake");
        (list.len(), render(&list, &source, false))
    };
    for (text, what, fix) in [
        ("G: a", "`G` is an operator, not a name", "`property_G:`"),
        (
            "true: a",
            "`true` is a constant, not a name",
            "`property_true:`",
        ),
        (
            "p: G a\na-b: F b\nq: c",
            "`-` cannot be part of a name",
            "`a_b:`",
        ),
        (
            "p: G (a\n & b); x.y: F b",
            "`.` cannot be part of a name",
            "`x_y:`",
        ),
        ("3x: G a", "a name does not begin with a digit", "`p3x:`"),
        (
            "main:both: G a",
            "`main:both` is a label of a procedure, not a name",
            "write `both:`",
        ),
        (
            "p: main:both -> F a",
            "`main:both` is not a bare name",
            "write `at(main:both)`",
        ),
        (
            "p: G (a & main:both)",
            "`main:both` is not a bare name",
            "write `at(main:both)`",
        ),
    ] {
        let (count, message) = messages(text);
        assert_eq!(count, 1, "{text}: {message}");
        assert!(
            message.contains(what) && message.contains(fix),
            "{text}: {message}"
        );
    }
    // Not strange at all.
    let (mut formulas, mut atoms) = (Formulas::new(), Atoms::new());
    let text = "p:q & r s:at(main:both) | t\nu: v ->\n w;x:y";
    let source = SourceFile::new("f", text);
    let list = parse_properties(&source, &mut formulas, &mut atoms).expect("it is right");
    let names: Vec<&str> = list.iter().map(|p| p.name.as_str()).collect();
    assert_eq!(names, ["p", "s", "u", "x"]);
}

#[test]
fn boxes_diamonds_and_circles() {
    let (mut formulas, mut atoms) = (Formulas::new(), Atoms::new());
    let signs = parse_text("□(p → ◇ q) ∧ ○¬p", &mut formulas, &mut atoms);
    let words = parse_text("G (p -> F q) & X !p", &mut formulas, &mut atoms);
    assert_eq!(signs.expect("a formula"), words.expect("a formula"));
}

#[test]
fn operators_that_are_run_together_with_a_name() {
    let warnings = |text: &str| -> Vec<String> {
        let (mut formulas, mut atoms) = (Formulas::new(), Atoms::new());
        parse_text(text, &mut formulas, &mut atoms).expect("a formula");
        let list = droste_ltl::warnings(&atoms);
        list.into_iter().map(|d| d.help.concat()).collect()
    };
    let write = |operator: &str, name: &str| {
        format!("write `{operator}` for the operator, `{{{name}}}` for the name")
    };
    assert_eq!(warnings("G(p->Fq)"), [write("F q", "Fq")]);
    assert_eq!(
        warnings("GFp1 & Gp1"),
        [write("G F p1", "GFp1"), write("G p1", "Gp1")]
    );
    assert_eq!(warnings("G (req -> Freq)"), [write("F req", "Freq")]);
    for text in [
        "G (request -> F Grant)",
        "G {Fq}",
        "G var(Fq)",
        "G F1",
        "F FG",
        "G(p -> F q)",
    ] {
        assert_eq!(warnings(text), [""; 0], "{text}");
    }
}

/// A file of formulas without names has one on each line.
#[test]
fn formulas_need_no_names() {
    let read = |text: &str| {
        let source = SourceFile::new("t", text);
        let (mut formulas, mut atoms) = (Formulas::new(), Atoms::new());
        let list = parse_formulas(&source, &mut formulas, &mut atoms);
        let shown = |(name, formula): (Option<String>, _)| {
            (name.unwrap_or_default(), print(&formulas, &atoms, formula))
        };
        let list = list.map(|list| list.into_iter().map(shown).collect::<Vec<_>>());
        list.map_err(|problems| {
            problems
                .into_iter()
                .map(|one| one.message)
                .collect::<Vec<_>>()
        })
    };
    let pair = |name: &str, formula: &str| (name.to_owned(), formula.to_owned());
    let lines = read("# first\nG a // always\n\n  F b ;\n;\n");
    assert_eq!(lines, Ok(vec![pair("", "G a"), pair("", "F b")]));
    let named = read("x: G\n a\ny: F b");
    assert_eq!(named, Ok(vec![pair("x", "G a"), pair("y", "F b")]));
    let mixed = read("G a\ny: F b\nG (\n");
    let name = "this formula has a name, the first has none";
    assert_eq!(
        mixed.map_err(|problems| problems[0].clone()),
        Err(name.to_owned())
    );
    // The other way round, also behind a semicolon.
    for text in ["y: F b\nG a\n", "y: F b\n(G a)\n", "y: F b;\nG a\n"] {
        let name = "this formula has no name, the first has one";
        assert_eq!(read(text), Err(vec![name.to_owned()]), "{text}");
    }
    let source = SourceFile::new("t", "y: F b\nG a");
    let read_at = parse_formulas(&source, &mut Formulas::new(), &mut Atoms::new());
    assert_eq!(source.slice(read_at.unwrap_err()[0].primary.0), "G");
    assert!(read("").is_err() && read("// nothing\n").is_err());
}
