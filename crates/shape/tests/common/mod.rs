//! Java sources in, reports out.

#![allow(dead_code, reason = "each test uses a part of this")]

use std::path::PathBuf;

use droste_base::Limits;
use droste_heap::{Grammar, Heap, Predefined, Symbols, predefined, read_symbolic_heap};
use droste_java::{Options as Which, load};
use droste_ltl::ResolvedFormula;
use droste_shape::check::{Answer, Checking, Report, check};
use droste_shape::contract::Contracts;
use droste_shape::machine::Options;
use droste_shape::proposition::{Proposition, parse};
use droste_shape::settings::{Abstraction, Mode};
use droste_shape::task::Task;

/// A task that is being put together.
pub(crate) struct Setting {
    pub(crate) source: &'static str,
    pub(crate) class: &'static str,
    pub(crate) method: &'static str,
    pub(crate) grammar: Option<Predefined>,
    /// Symbolic heaps.
    pub(crate) initial: &'static [&'static str],
    pub(crate) abstraction: Abstraction,
}

impl Setting {
    pub(crate) fn task(&self) -> Task {
        let folder = std::env::temp_dir().join(format!(
            "droste-shape-{}-{:?}",
            std::process::id(),
            std::thread::current().id()
        ));
        std::fs::create_dir_all(&folder).unwrap();
        let file: PathBuf = folder.join(format!("{}.java", self.class));
        std::fs::write(&file, self.source).unwrap();
        let which = Which {
            class: self.class.into(),
            method: self.method.into(),
        };
        let loaded = load(&[file], &which).unwrap_or_else(|error| panic!("{error}"));
        let _ = std::fs::remove_dir_all(&folder);
        let mut symbols = Symbols::new();
        let fragments = match self.grammar {
            Some(which) => predefined(&mut symbols, which),
            None => Vec::new(),
        };
        let initial: Vec<Heap> = (self.initial.iter())
            .map(|text| read_symbolic_heap(&mut symbols, text).unwrap())
            .collect();
        let mut task = Task {
            program: loaded.program,
            grammar: Grammar::new(&symbols, fragments),
            symbols,
            initial,
            options: Options {
                abstraction: self.abstraction.clone(),
                compat: false,
                hierarchical: true,
                leaks: false,
                hands: false,
                concrete: false,
                max_heap: 50,
                max_states: 100_000,
                max_state_space: usize::MAX,
            },
            contracts: Contracts::default(),
        };
        task.adopt_fields();
        task
    }

    pub(crate) fn check(&self, mode: Mode, formulas: &[&str]) -> Vec<Report> {
        let mut task = self.task();
        let names = task.names();
        let formulas: Vec<_> = (formulas.iter())
            .map(|text| parse(text, &names).unwrap_or_else(|(problems, _)| panic!("{problems:?}")))
            .collect();
        task.simplify(&formulas);
        answers(&mut task, &formulas, mode)
    }
}

pub(crate) fn answers(
    task: &mut Task,
    formulas: &[ResolvedFormula<Proposition>],
    mode: Mode,
) -> Vec<Report> {
    let checking = Checking {
        mode,
        limits: Limits::default(),
        reporter: None,
        max_steps: 200,
        concrete: true,
        contracts: false,
        skip: &[],
    };
    check(task, formulas, &checking).unwrap().reports
}

/// The answers in a word each.
pub(crate) fn words(reports: &[Report]) -> Vec<&'static str> {
    reports.iter().map(|report| report.answer.word()).collect()
}

/// The statements of a run, indented.
pub(crate) fn statements(report: &Report) -> Vec<String> {
    match &report.answer {
        Answer::Violated(run) => (run.positions.iter())
            .map(|position| format!("{}{}", "  ".repeat(position.depth), position.statement))
            .collect(),
        other => panic!("{}", other.word()),
    }
}
