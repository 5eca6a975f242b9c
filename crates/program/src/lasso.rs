//! Executions as lassos that can be made shorter (see [`droste_base::lasso`]).

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use droste_base::lasso::Looping;

use crate::NodeId;
use crate::execution::{Action, Ending, Execution, Valuation};

impl Looping for Execution {
    fn step_count(&self) -> usize {
        self.steps.len()
    }

    fn configurations(&self) -> Vec<u32> {
        let mut known: HashMap<(NodeId, Valuation), u32> = HashMap::new();
        let mut now = self.start.clone();
        let mut numbers = Vec::with_capacity(self.steps.len());
        for step in &self.steps {
            let next = known.len() as u32;
            numbers.push(*known.entry((step.node, now.clone())).or_insert(next));
            match &step.action {
                Action::Internal { changes, .. } | Action::Folded { changes, .. } => {
                    for &(var, value) in changes {
                        now.set(var, value);
                    }
                }
                Action::Call { locals } => now.locals = locals.to_vec(),
                Action::Terminate | Action::Fail(_) => {}
            }
        }
        numbers
    }

    fn start(&self) -> Option<usize> {
        match self.ending {
            Ending::Lasso { start, .. } => Some(start),
            _ => None,
        }
    }

    fn same_step(&self, a: usize, b: usize) -> bool {
        self.steps[a] == self.steps[b]
    }

    fn rebuilt(&self, pieces: &[Range<usize>], start: usize) -> Self {
        let steps = pieces.iter().cloned().flatten();
        let steps: Vec<_> = steps.map(|i| self.steps[i].clone()).collect();
        let mut round = steps.iter().skip(start);
        let pumping = round.any(|step| matches!(step.action, Action::Call { .. }));
        Execution {
            start: self.start.clone(),
            runs: Arc::clone(&self.runs),
            steps,
            ending: Ending::Lasso { start, pumping },
        }
    }
}
