//! The lowered program, explored by the same saturation: tests that lowering keeps what the
//! oracle reads from the syntax tree. Only the saturation is shared; what a step does is written down
//! twice, once per representation.

use std::collections::BTreeSet;

use droste_lang::lower::lower;
use droste_lang::properties;
use droste_program::monitor::{Monitor, StateKind};
use droste_program::{Expr, ExprNode, NodeId, Program, Proposition, Value};

use super::lowered::Lowered;
use super::product::{Idle, State, Watcher, saturate};
use super::{Label, Oracle};
use crate::generate::{Config, monitor, program};
use crate::random::seeds;

struct AtLabel<'a>(&'a Program, &'a Label);

impl Watcher for AtLabel<'_> {
    fn moves(&self, _: usize, _: &State) -> Vec<usize> {
        vec![0]
    }

    fn good(&self, _: usize, state: &State) -> bool {
        let State::At(position, _) = state else {
            return false;
        };
        let node = &self.0.nodes[*position];
        let procedure = &*self.0.procedure(node.procedure).name;
        node.labels.iter().any(|label| **label == *self.1.name)
            && self
                .1
                .procedure
                .as_deref()
                .is_none_or(|name| name == procedure)
    }
}

/// Compares everything the oracle knows about one program with what its lowered form does.
fn compare(seed: u64, config: &Config) {
    let ast = program(seed, config);
    let Ok(oracle) = Oracle::new(&ast) else {
        return;
    };
    let text = || droste_lang::printer::print(&ast);
    let (lowered, _) = lower(&ast);
    let lowered = lowered.expect("random programs are accepted");
    let system = Lowered(&lowered);
    let runs = saturate(&system, &Idle).expect("as large as the oracle's");
    let name = |node: usize| {
        let procedure = lowered.nodes[node].procedure;
        lowered.procedure(procedure).name.to_string()
    };
    let mut labels = BTreeSet::new();
    for (state, _) in &runs.graph.nodes {
        if let State::At(node, _) = state {
            let here = lowered.nodes[*node].labels.iter();
            labels.extend(here.map(|label| (name(*node), label.to_string())));
        }
    }
    assert_eq!(
        &labels,
        oracle.reachable_labels(),
        "seed {seed}\n{}",
        text()
    );
    let nodes = runs.graph.nodes.iter();
    let positions = nodes.filter(|(state, _)| !is_silent(&lowered, state));
    assert_eq!(
        positions.count(),
        oracle.states(),
        "seed {seed}: states\n{}",
        text()
    );
    let violations: BTreeSet<_> = runs
        .graph
        .violations
        .iter()
        .map(|&(n, kind)| (name(n), kind))
        .collect();
    assert_eq!(&violations, oracle.violations(), "seed {seed}\n{}", text());
    for (procedure, name) in labels.into_iter().take(2) {
        let label = Label {
            procedure: Some(procedure),
            name,
        };
        let found = runs.good_cycles(&AtLabel(&lowered, &label));
        let expected = oracle.repeatable(std::slice::from_ref(&label));
        assert_eq!(found, expected, "seed {seed}, {label:?}\n{}", text());
    }
}

#[test]
fn lowering_keeps_the_meaning() {
    for seed in seeds(0, 250) {
        compare(seed, &Config::tiny());
    }
    for seed in seeds(10_000, 100) {
        compare(seed, &Config::liveness());
        compare(seed, &Config::declaring());
    }
}

#[test]
#[ignore = "sweep; run in release"]
fn lowering_keeps_the_meaning_of_many_programs() {
    for seed in seeds(20_000, 2_000) {
        compare(seed, &Config::tiny());
        compare(seed, &Config::liveness());
        compare(seed, &Config::declaring());
    }
}

/// Whether this is a declaration on the way to a position.
fn is_silent(program: &Program, state: &State) -> bool {
    matches!(state, State::At(node, _) if program.nodes[*node].silent)
}

struct Watching<'a>(&'a Program, &'a Monitor);

impl Watching<'_> {
    fn is_true(&self, proposition: &Proposition, state: &State) -> bool {
        let system = Lowered(self.0);
        match state {
            State::Terminated(store) => {
                let expr = with_control(&proposition.terminated, None);
                system.values(&expr, store, store).contains(&Ok(1))
            }
            State::At(node, store) => {
                let procedure = self.0.nodes[*node].procedure.0 as usize;
                let here = NodeId(*node as u32);
                let expr = with_control(&proposition.by_procedure[procedure], Some(here));
                system.values(&expr, store, store).contains(&Ok(1))
            }
        }
    }
}

/// The expression when control is at this node.
fn with_control(expr: &Expr, here: Option<NodeId>) -> Expr {
    let mut expr = expr.clone();
    for node in &mut expr.nodes {
        if let ExprNode::At(nodes) = node {
            let at = here.is_some_and(|here| nodes.contains(&here));
            *node = ExprNode::Const(Value::from(at));
        }
    }
    expr
}

impl Watcher for Watching<'_> {
    fn moves(&self, mode: usize, state: &State) -> Vec<usize> {
        let Watching(program, monitor) = self;
        if is_silent(program, state) {
            return vec![mode];
        }
        let from = match mode {
            0 => monitor.initial as usize,
            _ => mode - 1,
        };
        let from = &monitor.states[from];
        let enabled = from.edges.iter().filter(|(p, _)| self.is_true(p, state));
        let next: BTreeSet<usize> = enabled.map(|&(_, to)| to as usize + 1).collect();
        if next.is_empty() {
            return from.otherwise.iter().map(|&to| to as usize + 1).collect();
        }
        next.into_iter().collect()
    }

    fn good(&self, mode: usize, _: &State) -> bool {
        mode > 0 && self.1.states[mode - 1].kind == StateKind::Repeating
    }
}

#[test]
fn resolving_monitors_keeps_their_meaning() {
    let mut violated = 0;
    let mut answers = 0;
    for seed in seeds(0, 300) {
        let config = match seed % 2 {
            0 => Config::declaring(),
            _ => Config::liveness(),
        };
        let ast = program(seed, &config);
        let syntax = monitor(seed, &ast, seed % 3 != 0);
        let (lowered, _) = lower(&ast);
        let lowered = lowered.expect("random programs are accepted");
        let resolved = match properties::monitor(&syntax, &lowered) {
            Ok(resolved) => resolved,
            Err(problems) => panic!("seed {seed}: {problems:?}"),
        };
        let Ok(oracle) = Oracle::new(&ast) else {
            continue;
        };
        let watcher = Watching(&lowered, &resolved);
        let system = Lowered(&lowered);
        let Ok(runs) = saturate(&system, &watcher) else {
            continue;
        };
        let target = runs
            .graph
            .nodes
            .iter()
            .any(|&(_, mode)| resolved.states[mode - 1].kind == StateKind::Target);
        let found = runs.good_cycles(&watcher).map(|found| target || found);
        assert_eq!(Ok(found), oracle.monitor(&syntax), "seed {seed}");
        violated += found.into_iter().map(usize::from).sum::<usize>();
        answers += 2;
    }
    println!("{violated} of {answers} monitors violated");
    assert!(answers < 2 || violated * 5 > answers && violated * 5 < answers * 4);
}
