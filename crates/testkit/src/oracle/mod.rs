//! The naive oracle: what a sequential program can do, by eager enumeration.
//!
//! It works on the syntax tree, not on the lowered program, enumerates every value of every
//! variable, and keeps nothing symbolic, so that it is right by inspection and shares
//! no mistake with the front end or the engines. It is for small programs; larger ones are
//! refused.
//!
//! Where the documents leave a choice: if several parts of one step can fail, every possible
//! violation is reported; `schoose[a, b]` evaluates both operands; a condition of `enforce`
//! is checked after *every* statement it guards, also one that changes nothing.

#[cfg(test)]
mod bounded;
mod critical;
mod eval;
mod graph;
pub mod interleave;
pub mod lowered;
#[cfg(test)]
mod lowering_tests;
mod ltl;
mod machine;
mod monitor;
mod product;
pub mod stuck;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::sync::OnceLock;

use droste_lang::ast::Ast;
use droste_lang::monitor::MonitorSyntax;
use droste_program::Violation;

pub use lowered::Lowered;
pub use machine::{Step, Store};
pub use product::System;

use graph::Runs;
use ltl::pushdown::Pushdown;
use machine::Machine;
use monitor::{AtLabels, Watch};
use product::{Idle, State, saturate};

/// More valuations than this of the variables visible in one procedure are too many.
const LARGEST_DOMAIN: usize = 1 << 11;
/// More contexts (entry, state) than this are too many.
const LARGEST_CONTEXTS: usize = 150_000;

/// Why the oracle gives no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Too many states.
    TooLarge,
    /// The program has threads.
    Concurrent,
    /// There is no procedure `main`.
    NoMain,
    /// A formula has a name that the program does not have, or that is both a variable and a label.
    UnknownName,
}

/// A label, in one procedure or in all.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Label {
    /// The procedure, if only one is meant.
    pub procedure: Option<String>,
    /// The label.
    pub name: String,
}

impl Label {
    /// `LABEL` or `PROC:LABEL`, as on the command line.
    pub fn parse(text: &str) -> Self {
        // Names of procedures may hold colons (`T::f`), labels do not.
        match text.rsplit_once(':') {
            Some((procedure, name)) => Label {
                procedure: Some(procedure.to_owned()),
                name: name.to_owned(),
            },
            None => Label {
                procedure: None,
                name: text.to_owned(),
            },
        }
    }
}

/// Knows everything a program can do.
pub struct Oracle<'a> {
    machine: Machine<'a>,
    labels: BTreeSet<(String, String)>,
    violations: BTreeSet<(String, Violation)>,
    terminates: bool,
    /// Of the program alone, for any question about labels.
    runs: Runs,
    /// Of the program alone, for any formula.
    pushdown: OnceLock<Pushdown>,
}

impl<'a> Oracle<'a> {
    /// Explores the program, which must be one that the front end accepts.
    pub fn new(ast: &'a Ast) -> Result<Self, Refusal> {
        let machine = Machine::new(ast)?;
        let runs = saturate(&machine, &Idle)?;
        let name = |position: usize| {
            let procedure = machine.positions[position].procedure;
            machine.procedures[procedure].name.clone()
        };
        let mut labels = BTreeSet::new();
        let mut terminates = false;
        for (state, _) in &runs.graph.nodes {
            match state {
                State::At(position, _) => {
                    let here = machine.positions[*position].labels.iter();
                    labels.extend(here.map(|label| (name(*position), label.clone())));
                }
                State::Terminated(_) => terminates = true,
            }
        }
        let violations = runs.graph.violations.iter();
        let violations = violations.map(|&(position, kind)| (name(position), kind));
        Ok(Oracle {
            labels,
            terminates,
            violations: violations.collect(),
            runs,
            pushdown: OnceLock::new(),
            machine,
        })
    }

    /// Every label of the program, with its procedure.
    pub fn labels(&self) -> BTreeSet<(String, String)> {
        let positions = self.machine.positions.iter();
        positions
            .flat_map(|position| {
                let procedure = &self.machine.procedures[position.procedure].name;
                position
                    .labels
                    .iter()
                    .map(|label| (procedure.clone(), label.clone()))
            })
            .collect()
    }

    /// The labels, with their procedures, that some run comes to.
    pub fn reachable_labels(&self) -> &BTreeSet<(String, String)> {
        &self.labels
    }

    /// Whether some run comes to one of these labels.
    pub fn reachable(&self, labels: &[Label]) -> bool {
        self.labels.iter().any(|(procedure, name)| {
            labels.iter().any(|label| {
                label.name == *name && label.procedure.as_ref().is_none_or(|p| p == procedure)
            })
        })
    }

    /// The violations that some run ends in, with the procedure. If a step can fail in several
    /// ways at once, all of them are here; an engine may report any one.
    pub fn violations(&self) -> &BTreeSet<(String, Violation)> {
        &self.violations
    }

    /// Whether `main` can return.
    pub fn terminates(&self) -> bool {
        self.terminates
    }

    /// How many states (position, globals, locals) are reachable.
    pub fn states(&self) -> usize {
        self.runs.graph.nodes.len()
    }

    /// Whether some infinite run visits one of these labels infinitely often: among all runs, and
    /// among those whose stack stays bounded. Stuck and failed runs do not count.
    pub fn repeatable(&self, labels: &[Label]) -> [bool; 2] {
        self.runs.good_cycles(&AtLabels {
            machine: &self.machine,
            labels,
        })
    }

    /// Whether some run violates the monitor: takes it to a target, or infinitely often
    /// through repeating states. As for [`Oracle::repeatable`], among all runs and among those on
    /// a bounded stack. A monitor visits a state by moving there; starting in it is not yet a visit.
    pub fn monitor(&self, monitor: &MonitorSyntax) -> Result<[bool; 2], Refusal> {
        let watcher = Watch {
            machine: &self.machine,
            monitor,
        };
        let runs = saturate(&self.machine, &watcher)?;
        let mut nodes = runs.graph.nodes.iter();
        if nodes.any(|&(_, mode)| watcher.is_target(mode)) {
            return Ok([true, true]);
        }
        Ok(runs.good_cycles(&watcher))
    }
}
