//! The order of BDD variables: the file's own is kept where it is good, and answers never depend on
//! it. Recursion through a step predicate, and `assume` in it.

use std::fmt::Write as _;

use droste_base::Limits;
use droste_calculus::{ChosenOrder, Outcome, PreferredOrder, Solver, load_text, on_large_stack};

/// How a theory was solved: answers, counts and sizes as text, and the order that was chosen.
fn solve(text: &str, preferred: PreferredOrder) -> (Vec<String>, ChosenOrder) {
    let theory = load_text("t.mu", text);
    assert!(!theory.has_errors(), "{}", theory.messages(true, false));
    on_large_stack(theory, |theory| {
        let actions = theory.actions().to_vec();
        let mut solver = Solver::with_order(theory, &Limits::default(), None, preferred);
        let mut list = Vec::new();
        for action in &actions {
            match solver.perform(action) {
                Ok(Outcome::Answer(value)) => list.push(value.to_string()),
                Ok(Outcome::Count(count, _)) => list.push(count.to_string()),
                Ok(Outcome::Size(nodes)) => list.push(format!("{nodes} nodes")),
                Ok(_) => {}
                Err(error) => list.push(format!("{error:?}")),
            }
        }
        (list, solver.order())
    })
}

fn nodes(answer: &str) -> u32 {
    answer.trim_end_matches(" nodes").parse().unwrap()
}

/// A ring of cells that are all passed to one predicate. A cell counts in `bits` bits and goes on
/// when its left neighbour has the token.
fn ring(cells: usize, bits: usize) -> String {
    let mut next = String::from("next.token = left.token");
    for k in 0..bits {
        let carry: Vec<String> = (0..k).map(|j| format!("own.c[{j}]")).collect();
        let carry = if k == 0 {
            "1".to_owned()
        } else {
            carry.join(" & ")
        };
        let _ = write!(
            next,
            " & (next.c[{k}] <-> (own.c[{k}] <+> (left.token & {carry})))"
        );
    }
    let names: Vec<String> = (0..cells).map(|i| format!("e{i}")).collect();
    let steps: Vec<String> = (0..cells)
        .map(|i| format!("Next(s.e{}, s.e{i}, t.e{i})", (i + cells - 1) % cells))
        .collect();
    let first: Vec<String> = (0..cells)
        .map(|i| {
            let zero: Vec<String> = (0..bits).map(|k| format!("!s.e{i}.c[{k}]")).collect();
            let not = if i == 0 { "" } else { "!" };
            format!("{not}s.e{i}.token & {}", zero.join(" & "))
        })
        .collect();
    format!(
        "class Cell {{ bool token, c[{bits}]; }};\nclass State {{ Cell {}; }};\n\
         bool Next(Cell left, Cell own, Cell next) own ~+ next, left ~- own {next};\n\
         bool Step(State s, State t) s ~+ t {};\n\
         mu bool Reach(State s)\n  ({}) | (exists State p. Step(p, s) & Reach(p));\n\
         #size Step; #ons Reach;\n",
        names.join(", "),
        steps.join(" & "),
        first.join(" & ")
    )
}

#[test]
fn cells_of_a_ring_stay_together() {
    let text = ring(5, 3);
    let (own, _) = solve(&text, PreferredOrder::Declared);
    let (other, _) = solve(&text, PreferredOrder::Clustered);
    let (kept, chosen) = solve(&text, PreferredOrder::Better);
    assert_eq!(own[1], other[1]);
    assert_eq!(own, kept);
    assert!(nodes(&own[0]) * 2 < nodes(&other[0]), "{own:?} {other:?}");
    assert!(matches!(chosen, ChosenOrder::DeclaredTried(..)), "{chosen}");
}

#[test]
fn parts_that_are_compared_become_neighbours() {
    let text = "class W { bool b[12]; }; class P { W x, y; };\n\
                bool Same(P p) p.x = p.y;\n#size Same; #ons Same;\n";
    let (own, _) = solve(text, PreferredOrder::Declared);
    let (other, chosen) = solve(text, PreferredOrder::Better);
    assert_eq!(
        (&own[1], &other[1]),
        (&"4096".to_owned(), &"4096".to_owned())
    );
    assert!(nodes(&other[0]) * 8 < nodes(&own[0]), "{own:?} {other:?}");
    assert!(
        matches!(chosen, ChosenOrder::ClusteredTried(..)),
        "{chosen}"
    );
}

#[test]
fn classes_compared_bit_by_bit_are_interleaved() {
    // Not of one type, and 24 bits: far from each other this would have millions of nodes.
    let names: Vec<String> = (0..24).map(|i| format!("b{i}")).collect();
    let same: Vec<String> = names.iter().map(|n| format!("g.{n} = c.{n}")).collect();
    let text = format!(
        "class Global {{ bool {0}; }}; class Copy {{ bool {0}; }};\n\
         bool Share(Global g, Copy c) {1};\n#size Share;\n",
        names.join(", "),
        same.join(" & ")
    );
    let (list, _) = solve(&text, PreferredOrder::Better);
    assert!(nodes(&list[0]) < 100, "{list:?}");
}

/// Numbers that are stepped through; the step mentions what has been reached, in different words.
fn through_a_step(word: &str, last: &str) -> String {
    format!(
        "enum N {{ 0 .. 99 }}; class S {{ N a, b; }};\n\
         bool Inc(N x, N y) (x = 0 & y = 7) | (x = 7 & y = 3) | (x = 3 & y = 50) | (x = 50 & y = 0);\n\
         bool Swap(S s, S t) s.a = t.b & s.b = t.a;\n\
         mu bool Reach(S s);\n\
         mu bool One(S s, S t) s ~+ t (Inc(s.a, t.a) & s.b = t.b) {word} Reach(s);\n\
         mu bool Step(S s, S t) One(s, t) {word} Reach(s) | Swap(s, t) {word} Reach(s);\n\
         mu bool Reach(S s) (s.a = 0 & s.b = 3) | (exists S p. {last});\n\
         #ons Reach; exists S s. Reach(s) & s.a = s.b; #ons Step; exists S s. Reach(s) & s.a = 1;\n"
    )
}

#[test]
fn recursion_through_a_step_is_the_same_recursion() {
    let plain = through_a_step("&", "Step(p, s) & Reach(p)");
    let (expected, _) = solve(&plain, PreferredOrder::Better);
    assert_eq!(expected, ["16", "true", "32", "false"]);
    for word in ["assume", "cofactor", "&"] {
        for last in [
            "Step(p, s) & Reach(p)",
            "Step(p, s)",
            "Reach(p) & Step(p, s)",
        ] {
            for order in [PreferredOrder::Declared, PreferredOrder::Clustered] {
                let text = through_a_step(word, last);
                assert_eq!(solve(&text, order).0, expected, "{text}");
            }
        }
    }
}

#[test]
fn assume_in_a_recursion_is_no_reason_for_a_warning() {
    let theory = load_text("t.mu", through_a_step("assume", "Step(p, s) & Reach(p)"));
    assert_eq!(theory.messages(true, false), "");
}

/// Words that are copied bit by bit. They are declared one after the other, so each pair of bits is
/// far apart, and no bits are compared in rows: the order of declaration is as bad as can be.
fn copied(bits: usize) -> String {
    let names: Vec<String> = ["x", "y"]
        .iter()
        .flat_map(|word| (0..bits).map(move |i| format!("{word}{i}")))
        .collect();
    let steps: Vec<String> = (0..bits)
        .map(|i| {
            let others = names.iter().filter(|name| **name != format!("y{i}"));
            let kept: Vec<String> = others.map(|name| format!("t.{name} = s.{name}")).collect();
            format!("t.y{i} = s.x{i} & {}", kept.join(" & "))
        })
        .collect();
    let first: Vec<String> = (0..bits).map(|i| format!("!s.y{i}")).collect();
    let wrong: Vec<String> = (0..bits).map(|i| format!("s.y{i} & !s.x{i}")).collect();
    format!(
        "class State {{ bool {}; }};\nbool Step(State s, State t) s ~+ t\n  {};\n\
         mu bool Reach(State s) {} | (exists State p. Step(p, s) & Reach(p));\n\
         !(exists State s. Reach(s) & ({})); #ons Reach; #size Reach;\n",
        names.join(", "),
        steps.join("\n| "),
        first.join(" & "),
        wrong.join(" | "),
    )
}

#[test]
fn a_bad_order_is_left() {
    // Each bit of the copy is false or right: 3 to the power of 22. In the order of declaration,
    // what is reached has more than four million nodes.
    let (list, chosen) = solve(&copied(22), PreferredOrder::Better);
    assert_eq!(list[0], "true");
    assert_eq!(list[1], 3u64.pow(22).to_string());
    assert!(nodes(&list[2]) < 200, "{list:?}");
    assert_eq!(chosen, ChosenOrder::Declared);
}
