//! The size of automata: for the specification patterns, and for random formulas, in a table of docs/LTL.md.
//!
//! `BLESS=1 cargo test -p droste-ltl --test patterns` writes the table.

mod common;

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use droste_base::Limits;
use droste_ltl::{AtomId, Atoms, FormulaId, Formulas, Options, Tgba, parse_properties, translate};
use droste_source::SourceFile;
use droste_testkit::random::Random;

/// Edges, each counted once for every letter it can be taken with.
fn transitions(automaton: &Tgba, atoms: &[AtomId]) -> usize {
    let mut count = 0;
    for edge in automaton.edges() {
        for letter in 0..1u32 << atoms.len() {
            let holds = |atom: AtomId| {
                let place = atoms.iter().position(|&a| a == atom);
                place.is_some_and(|i| letter >> i & 1 != 0)
            };
            count += usize::from(automaton.guards().holds(edge.guard, holds));
        }
    }
    count
}

/// States, transitions, and whether it is deterministic.
fn size(formulas: &mut Formulas, formula: FormulaId, atoms: usize) -> (usize, usize, bool) {
    let limits = Limits::default();
    let automaton =
        translate(formulas, formula, atoms, &Options::default(), &limits).expect("no limits");
    let own = formulas.atoms(formula);
    (
        automaton.state_count(),
        transitions(&automaton, &own),
        automaton.is_deterministic(),
    )
}

fn patterns() -> String {
    let (mut formulas, mut atoms) = (Formulas::new(), Atoms::new());
    let source = SourceFile::new("dwyer.ltl", include_str!("dwyer.ltl"));
    let properties = parse_properties(&source, &mut formulas, &mut atoms).expect("it is right");
    assert_eq!(properties.len(), 55);
    let spot: Vec<Vec<usize>> = include_str!("spot.tsv")
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| {
            line.split('\t')
                .map(|n| n.parse().expect("a number"))
                .collect()
        })
        .collect();
    let mut table = String::from(
        "| pattern and scope | states | transitions | Spot | negation: states | transitions | Spot |\n\
         |---|---|---|---|---|---|---|\n",
    );
    let mut total = [0; 8];
    let mut deterministic = [0; 2];
    for (property, spot) in properties.iter().zip(&spot) {
        let negation = formulas.not(property.formula);
        let (states, edges, yes) = size(&mut formulas, property.formula, atoms.len());
        let (not_states, not_edges, no) = size(&mut formulas, negation, atoms.len());
        let row = [
            states, edges, spot[0], spot[1], not_states, not_edges, spot[2], spot[3],
        ];
        for (sum, n) in total.iter_mut().zip(row) {
            *sum += n;
        }
        deterministic[0] += usize::from(yes);
        deterministic[1] += usize::from(no);
        let name = property.name.replace('_', " ");
        let [a, b, c, d, e, f, g, h] = row;
        let _ = writeln!(
            table,
            "| {name} | {a} | {b} | {c}, {d} | {e} | {f} | {g}, {h} |"
        );
    }
    let [a, b, c, d, e, f, g, h] = total;
    let _ = writeln!(
        table,
        "| **all** | **{a}** | **{b}** | **{c}, {d}** | **{e}** | **{f}** | **{g}, {h}** |"
    );
    let _ = writeln!(
        table,
        "\nOf the 55 automata, {} are deterministic; of those of the negations, {}.",
        deterministic[0], deterministic[1]
    );
    table
}

fn random() -> String {
    let mut total = [0; 3];
    for seed in 0..1000 {
        let mut random = Random::new(seed);
        let mut formulas = Formulas::new();
        let formula = common::formula(&mut random, &mut formulas, 12, 4);
        let (states, transitions, deterministic) = size(&mut formulas, formula, 4);
        total[0] += states;
        total[1] += transitions;
        total[2] += usize::from(deterministic);
    }
    format!(
        "1000 random formulas with 12 operators over 4 atoms (seeds 0 to 999): {} states, {} transitions\n\
         in all; {} automata are deterministic.\n",
        total[0], total[1], total[2]
    )
}

#[test]
fn the_documentation_has_the_sizes() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/LTL.md");
    let text = fs::read_to_string(&path).expect("docs/LTL.md can be read");
    let (begin, end) = ("<!-- sizes: begin -->\n", "<!-- sizes: end -->");
    let from = text.find(begin).expect("the table has a beginning") + begin.len();
    let to = text.find(end).expect("the table has an end");
    let found = format!("\n{}\n{}\n", patterns(), random());
    if text[from..to] == found {
        return;
    }
    if std::env::var_os("BLESS").is_some() {
        let new = format!("{}{found}{}", &text[..from], &text[to..]);
        fs::write(&path, new).expect("docs/LTL.md can be written");
    } else {
        panic!("the sizes have changed (BLESS=1 writes them):\n{found}");
    }
}
