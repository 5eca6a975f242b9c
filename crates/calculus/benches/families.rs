//! Families of theories, after the kinds of examples that came with MUCKE: a scheduler, two mutual-exclusion rings (steps of
//! one cell at a time, and of all cells with late gates), pigeons, a token ring (its steps in one predicate, and in one for each station), swaps, a counter nested under another fixpoint, and words that are copied bit by bit in an order that is bad for it. The theories are our own making, written from the
//! names of the families; they are not MUCKE's files, and times are not comparable one to one.
//!
//! `cargo bench -p droste-calculus [-- FAMILY]` prints one line per theory: family, size, answers, seconds (reading
//! included), rounds, peak nodes. Each is stopped after a minute.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use droste_base::Limits;
use droste_calculus::{Outcome, Solver, load_text, on_large_stack};

/// A transition system whose state is an array of cells, written out as one disjunct per step.
struct System {
    /// Components of a cell, as declared.
    cell: &'static str,
    /// Their names.
    names: &'static [&'static str],
    cells: usize,
    steps: Vec<String>,
}

impl System {
    fn new(cell: &'static str, names: &'static [&'static str], cells: usize) -> Self {
        System {
            cell,
            names,
            cells,
            steps: Vec::new(),
        }
    }

    /// A step that changes the listed components of cells and leaves all others as they are.
    fn step(&mut self, what: &str, changed: &[(usize, &str)]) {
        let mut text = what.to_owned();
        for i in 0..self.cells {
            for name in self.names {
                if !changed.contains(&(i, name)) {
                    let _ = write!(text, " & t.c[{i}].{name} = s.c[{i}].{name}");
                }
            }
        }
        self.steps.push(text);
    }

    fn theory(&self, types: &str, init: &[String], queries: &str) -> String {
        format!(
            "{types}class Cell {{ {} }};\nclass State {{ Cell c[{}]; }};\n\
             bool T(State s, State t)\n  {};\nbool Init(State s) {};\n\
             mu bool R(State s) Init(s) | (exists State t. R(t) & T(t, s));\n{queries}\n",
            self.cell,
            self.cells,
            self.steps.join("\n| "),
            init.join(" & "),
        )
    }
}

/// Milner's scheduler: a token goes round and starts tasks, which end in any order.
fn scheduler(n: usize) -> String {
    let mut system = System::new("bool tok; bool run; bool done;", &["tok", "run", "done"], n);
    for i in 0..n {
        let k = (i + 1) % n;
        system.step(
            &format!(
                "s.c[{i}].tok & !s.c[{i}].run & !s.c[{i}].done & t.c[{i}].run & !t.c[{i}].done & !t.c[{i}].tok & t.c[{k}].tok"
            ),
            &[(i, "tok"), (i, "run"), (i, "done"), (k, "tok")],
        );
        system.step(
            &format!("s.c[{i}].run & !t.c[{i}].run & t.c[{i}].done"),
            &[(i, "run"), (i, "done")],
        );
        system.step(&format!("s.c[{i}].done & !t.c[{i}].done"), &[(i, "done")]);
    }
    let init: Vec<String> = (0..n)
        .map(|i| {
            let not = if i == 0 { "" } else { "!" };
            format!("{not}s.c[{i}].tok & !s.c[{i}].run & !s.c[{i}].done")
        })
        .collect();
    system.theory(
        "",
        &init,
        "forall State s. R(s) -> (exists State t. T(s, t));",
    )
}

/// Distributed mutual exclusion: users ask, requests travel one way round, the token the other.
fn dme(n: usize) -> String {
    let mut system = System::new(
        "User user; bool asked; bool token;",
        &["user", "asked", "token"],
        n,
    );
    for i in 0..n {
        let left = (i + n - 1) % n;
        system.step(
            &format!("s.c[{i}].user = idle & t.c[{i}].user = waits"),
            &[(i, "user")],
        );
        system.step(
            &format!(
                "s.c[{i}].user = waits & s.c[{i}].token & t.c[{i}].user = critical & t.c[{i}].token"
            ),
            &[(i, "user"), (i, "token")],
        );
        system.step(
            &format!("s.c[{i}].user = critical & t.c[{i}].user = idle"),
            &[(i, "user")],
        );
        system.step(
            &format!(
                "(s.c[{i}].user = waits | s.c[{i}].asked) & !s.c[{i}].token & !s.c[{left}].asked & t.c[{left}].asked & t.c[{i}].asked = s.c[{i}].asked"
            ),
            &[(left, "asked"), (i, "asked")],
        );
        let right = (i + 1) % n;
        system.step(
            &format!(
                "s.c[{i}].token & s.c[{i}].asked & s.c[{i}].user != critical & !t.c[{i}].token & !t.c[{i}].asked & t.c[{right}].token"
            ),
            &[(i, "token"), (i, "asked"), (right, "token")],
        );
    }
    let init: Vec<String> = (0..n)
        .map(|i| {
            let not = if i == 0 { "" } else { "!" };
            format!("s.c[{i}].user = idle & !s.c[{i}].asked & {not}s.c[{i}].token")
        })
        .collect();
    let mut bad = Vec::new();
    for i in 0..n {
        for j in 0..i {
            bad.push(format!(
                "s.c[{i}].user = critical & s.c[{j}].user = critical"
            ));
        }
    }
    system.theory(
        "enum User { idle, waits, critical };\n",
        &init,
        &format!("!(exists State s. R(s) & ({}));", bad.join(" | ")),
    )
}

/// A ring of cells that are all passed to one predicate. In each, a request goes through gates, and
/// every gate may be late. Who has the token may work, and gives it away when it does not.
fn cells(n: usize) -> String {
    let mut next = vec![
        "(next.ask = own.ask | next.ask != own.d)".to_owned(),
        "(next.token <-> (own.token & !own.give | left.token & left.give))".to_owned(),
        "(next.give -> own.token & !own.give & !own.d & !next.d)".to_owned(),
    ];
    for (gate, input) in [
        ("a", "own.ask"),
        ("b", "own.a"),
        ("c", "own.b & !left.d"),
        ("d", "own.c & own.token & !own.give"),
    ] {
        next.push(format!(
            "((next.{gate} <-> ({input})) | next.{gate} = own.{gate})"
        ));
    }
    let names: Vec<String> = (0..n).map(|i| format!("e{i}")).collect();
    let step = |i: usize| {
        format!(
            "Next(s.e{}, s.e{i}, t.e{i}) assume Reach(s)",
            (i + n - 1) % n
        )
    };
    let steps: Vec<String> = (0..n).map(step).collect();
    let first: Vec<String> = (0..n)
        .map(|i| format!("Zero(s.e{i}, {})", u8::from(i == 0)))
        .collect();
    format!(
        "class Cell {{ bool ask, a, b, c, d, token, give; }};\nclass State {{ Cell {}; }};\n\
         bool Zero(Cell e, bool t) !e.ask & !e.a & !e.b & !e.c & !e.d & e.token = t & !e.give;\n\
         bool Next(Cell left, Cell own, Cell next) own ~+ next, left ~- own\n  {};\n\
         mu bool Reach(State s);\nmu bool Step(State s, State t) s ~+ t\n  {};\n\
         mu bool Reach(State s) ({}) | (exists State p. Step(p, s) & Reach(p));\n\
         #ons Reach;\nforall State s. Reach(s) -> !(s.e0.d & s.e1.d);\n",
        names.join(", "),
        next.join(" & "),
        steps.join(" & "),
        first.join(" & ")
    )
}

/// One pigeon more than there are holes.
fn pigeons(n: usize) -> String {
    let some: Vec<String> = (0..n).map(|i| format!("p.h[{i}]")).collect();
    let apart: Vec<String> = (0..n).map(|i| format!("!(p.h[{i}] & q.h[{i}])")).collect();
    let rows: Vec<String> = (0..=n).map(|i| format!("Row p{i}")).collect();
    let mut parts: Vec<String> = (0..=n).map(|i| format!("Some(p{i})")).collect();
    for i in 0..=n {
        for j in 0..i {
            parts.push(format!("Apart(p{i}, p{j})"));
        }
    }
    format!(
        "class Row {{ bool h[{n}]; }};\nbool Some(Row p) {};\nbool Apart(Row p, Row q) {};\n!(exists {}. {});\n",
        some.join(" | "),
        apart.join(" & "),
        rows.join(", "),
        parts.join(" & ")
    )
}

/// A token ring of stations with three states.
fn ring_system(n: usize) -> System {
    let mut system = System::new("Mode mode; bool token;", &["mode", "token"], n);
    for i in 0..n {
        let k = (i + 1) % n;
        system.step(
            &format!("s.c[{i}].mode = rest & t.c[{i}].mode = want"),
            &[(i, "mode")],
        );
        system.step(
            &format!("s.c[{i}].mode = want & s.c[{i}].token & t.c[{i}].mode = work"),
            &[(i, "mode")],
        );
        system.step(
            &format!("s.c[{i}].mode != want & s.c[{i}].token & t.c[{i}].mode = rest & !t.c[{i}].token & t.c[{k}].token"),
            &[(i, "mode"), (i, "token"), (k, "token")],
        );
    }
    system
}

fn ring_start(n: usize) -> Vec<String> {
    let station = |i: usize| {
        let not = if i == 0 { "" } else { "!" };
        format!("s.c[{i}].mode = rest & {not}s.c[{i}].token")
    };
    (0..n).map(station).collect()
}

/// Nobody works beside the first station.
fn ring(n: usize) -> String {
    let system = ring_system(n);
    let init = ring_start(n);
    let mut bad = Vec::new();
    for i in 1..n {
        bad.push(format!("s.c[0].mode = work & s.c[{i}].mode = work"));
    }
    system.theory(
        "enum Mode { rest, want, work };\n",
        &init,
        &format!("!(exists State s. R(s) & ({}));\n#ons R;", bad.join(" | ")),
    )
}

/// The token ring with a predicate for each station, closed under its steps, and one for all.
fn stations(n: usize) -> String {
    let system = ring_system(n);
    let mut text = format!(
        "enum Mode {{ rest, want, work }};\nclass Cell {{ {} }};\nclass State {{ Cell c[{n}]; }};\n\
         bool Init(State s) {};\nmu bool All(State s);\n",
        system.cell,
        ring_start(n).join(" & "),
    );
    let mut all = "Init(s)".to_owned();
    for (i, steps) in system.steps.chunks(system.steps.len() / n).enumerate() {
        let _ = write!(
            text,
            "bool T{i}(State s, State t) {};\n\
             mu bool R{i}(State s) All(s) | (exists State p. T{i}(p, s) & R{i}(p));\n",
            steps.join(" | ")
        );
        let _ = write!(all, " | R{i}(s)");
    }
    let _ = writeln!(text, "mu bool All(State s) {all};\n#ons All;");
    text
}

/// A mark that moves by swaps of neighbours.
fn swap(n: usize) -> String {
    let mut system = System::new("bool x;", &["x"], n);
    for i in 0..n - 1 {
        let k = i + 1;
        system.step(
            &format!("t.c[{i}].x = s.c[{k}].x & t.c[{k}].x = s.c[{i}].x"),
            &[(i, "x"), (k, "x")],
        );
    }
    let init: Vec<String> = (0..n)
        .map(|i| format!("{}s.c[{i}].x", if i == 0 { "" } else { "!" }))
        .collect();
    let query = format!("exists State s. R(s) & s.c[{}].x;\n#ons R;", n - 1);
    system.theory("", &init, &query)
}

/// A counter that must be seen at its end again and again: a least fixpoint in a greatest one.
fn again(n: usize) -> String {
    let mut next = Vec::new();
    for k in 0..n {
        let mut parts: Vec<String> = (0..k).map(|j| format!("s.b[{j}] & !t.b[{j}]")).collect();
        parts.push(format!("!s.b[{k}] & t.b[{k}]"));
        parts.extend((k + 1..n).map(|j| format!("s.b[{j}] = t.b[{j}]")));
        next.push(parts.join(" & "));
    }
    let all: Vec<String> = (0..n).map(|j| format!("s.b[{j}]")).collect();
    let wrap: Vec<String> = (0..n).map(|j| format!("s.b[{j}] & !t.b[{j}]")).collect();
    format!(
        "class W {{ bool b[{n}]; }};\nbool T(W s, W t) {} | {};\nbool End(W s) {};\n\
         mu bool Until(W s);\nnu bool Always(W s) Until(s);\n\
         mu bool Until(W s) exists W t. T(s, t) & (End(s) & Always(t) | Until(t));\nforall W s. Always(s);\n",
        next.join(" | "),
        wrap.join(" & "),
        all.join(" & ")
    )
}

/// Two words, declared one after the other; one is copied to the other bit by bit. In the order of
/// declaration, what is reached has more than 2^n nodes.
fn copied(n: usize) -> String {
    let names: Vec<String> = ["x", "y"]
        .iter()
        .flat_map(|word| (0..n).map(move |i| format!("{word}{i}")))
        .collect();
    let step = |i: usize| {
        let others = names.iter().filter(|name| **name != format!("y{i}"));
        let kept: Vec<String> = others.map(|name| format!("t.{name} = s.{name}")).collect();
        format!("t.y{i} = s.x{i} & {}", kept.join(" & "))
    };
    let steps: Vec<String> = (0..n).map(step).collect();
    let first: Vec<String> = (0..n).map(|i| format!("!s.y{i}")).collect();
    let wrong: Vec<String> = (0..n).map(|i| format!("s.y{i} & !s.x{i}")).collect();
    format!(
        "class State {{ bool {}; }};\nbool T(State s, State t) s ~+ t\n  {};\n\
         mu bool R(State s) {} | (exists State t. R(t) & T(t, s));\n\
         !(exists State s. R(s) & ({}));\n",
        names.join(", "),
        steps.join("\n| "),
        first.join(" & "),
        wrong.join(" | ")
    )
}

fn run(family: &str, n: usize, text: String) {
    let start = Instant::now();
    let theory = load_text(family, text);
    assert!(!theory.has_errors(), "{}", theory.messages(false, false));
    let limits = Limits::within(Duration::from_secs(60));
    let (answers, statistics) = on_large_stack(theory, |theory| {
        let actions = theory.actions().to_vec();
        let mut solver = Solver::new(theory, &limits, None);
        let mut answers = Vec::new();
        for action in &actions {
            answers.push(match solver.perform(action) {
                Ok(Outcome::Answer(value)) => value.to_string(),
                Ok(Outcome::Count(count, _)) => count.to_string(),
                Ok(_) => continue,
                Err(_) => "unknown".to_owned(),
            });
        }
        (answers, solver.statistics())
    });
    println!(
        "{family}\t{n}\t{}\t{:.3}\t{}\t{}",
        answers.join(","),
        start.elapsed().as_secs_f64(),
        statistics.rounds,
        statistics.peak_nodes
    );
}

fn main() {
    let wanted: Vec<String> = std::env::args()
        .skip(1)
        .filter(|a| !a.starts_with('-'))
        .collect();
    println!("family\tsize\tanswers\tseconds\trounds\tpeak nodes");
    type Family = (&'static str, fn(usize) -> String, &'static [usize]);
    let families: [Family; 9] = [
        ("scheduler", scheduler, &[24, 48, 64]),
        ("dme", dme, &[8, 12, 16]),
        ("cells", cells, &[8, 16, 32]),
        ("pigeons", pigeons, &[6, 8, 10]),
        ("ring", ring, &[48, 96]),
        ("stations", stations, &[48, 96]),
        ("swap", swap, &[128, 512]),
        ("again", again, &[8, 12]),
        ("copied", copied, &[12, 16, 24, 32]),
    ];
    for (name, family, sizes) in families {
        if wanted.is_empty() || wanted.iter().any(|w| w == name) {
            for &n in sizes {
                run(name, n, family(n));
            }
        }
    }
}
