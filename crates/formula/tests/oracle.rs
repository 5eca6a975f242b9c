//! Random programs, asked as formulas in all algorithms, against the oracle that enumerates
//! the syntax tree: the default property and every label.
//!
//! `SEED=n` runs one program alone, `PROGRAMS=n` so many.

use droste_base::Limits;
use droste_calculus::{Action, Outcome, Solver, load_text};
use droste_formula::{Algorithm, Reachability, relations};
use droste_lang::ast::Ast;
use droste_lang::lower::lower;
use droste_passes::{Config as Passes, Query, clean};
use droste_program::labels;
use droste_program::{NodeId, Program};
use droste_testkit::generate::Config;
use droste_testkit::oracle::{Label, Oracle};
use droste_testkit::sweep;

/// The answer of the last query in the text.
fn solve(text: &str) -> bool {
    let theory = load_text("program.mu", text);
    assert!(
        !theory.has_errors(),
        "{}\n{text}",
        theory.messages(true, false)
    );
    let actions = theory.actions().to_vec();
    let mut solver = Solver::new(theory, &Limits::default(), None);
    let mut answer = None;
    for action in &actions {
        if let (Action::Query(_), Ok(Outcome::Answer(value))) = (action, solver.perform(action)) {
            answer = Some(value);
        }
    }
    answer.expect("there is a query")
}

/// Whether a target, or a violation, is found by each algorithm.
fn ask(program: &Program, targets: &[NodeId], violations: bool, passes: Passes) -> Vec<bool> {
    let query = Query {
        targets,
        violations,
        ..Query::default()
    };
    let cleaned = clean(program, &query, &passes);
    let question = Reachability {
        targets,
        violations,
        live: &cleaned.live,
    };
    let relations = relations(&cleaned.program, &question);
    let text = &relations.text;
    let answer = |algorithm: Algorithm| solve(&format!("{text}\n{}", algorithm.text(&relations)));
    Algorithm::ALL.into_iter().map(answer).collect()
}

/// What is wrong with the answer to some question, if anything.
fn mismatch(ast: &Ast, seed: u64) -> Option<String> {
    let program = lower(ast).0?;
    let oracle = Oracle::new(ast).ok()?;
    let errors = ["ERROR", "SLIC_ERROR"];
    let find = |label: &str| labels::find(&program, label).unwrap_or_default();
    let nodes: Vec<NodeId> = errors.iter().flat_map(|label| find(label)).collect();
    let expected = !oracle.violations().is_empty() || oracle.reachable(&errors.map(Label::parse));
    let mut questions = vec![("default".to_owned(), nodes, true, expected)];
    for (procedure, label) in oracle.labels().into_iter().take(3) {
        let label = format!("{procedure}:{label}");
        let expected = oracle.reachable(&[Label::parse(&label)]);
        questions.push((label.clone(), find(&label), false, expected));
    }
    let passes = if seed.is_multiple_of(2) {
        Passes::default()
    } else {
        Passes::none()
    };
    for (name, nodes, violations, expected) in questions {
        let found = ask(&program, &nodes, violations, passes);
        if found.iter().any(|answer| *answer != expected) {
            return Some(format!("{name}: expected {expected}, found {found:?}"));
        }
    }
    None
}

#[test]
fn formulas_agree_with_the_oracle() {
    sweep::programs(&Config::tiny(), 0, 60, mismatch);
}

#[test]
fn formulas_agree_with_the_oracle_on_booleans() {
    sweep::programs(&Config::boolean(), 1000, 40, mismatch);
}

#[test]
#[ignore = "sweep; run in release"]
fn formulas_agree_with_the_oracle_on_thousands() {
    sweep::programs(&Config::tiny(), 10_000, 20_000, mismatch);
}
