//! Which sets of critical labels the runs to a target touch, and how short the shortest is for each.
//!
//! The watcher's mode is the set of labels touched so far. Every set is kept, and lengths are found
//! by going through all ways again and again until none gets shorter.

use std::collections::BTreeMap;

use super::graph::{ROOT, Via};
use super::machine::Machine;
use super::monitor::AtLabels;
use super::product::{State, Watcher, saturate};
use super::{Label, Oracle, Refusal};

/// Remembers which labels have been touched.
struct Touched<'a> {
    machine: &'a Machine<'a>,
    labels: &'a [Label],
}

impl Touched<'_> {
    fn at(&self, label: &Label, state: &State) -> bool {
        let labels = std::slice::from_ref(label);
        let machine = self.machine;
        AtLabels { machine, labels }.good(0, state)
    }
}

impl Watcher for Touched<'_> {
    fn moves(&self, mode: usize, state: &State) -> Vec<usize> {
        let labels = self.labels.iter().enumerate();
        let here = labels.filter(|(_, label)| self.at(label, state));
        vec![here.fold(mode, |set, (i, _)| set | 1 << i)]
    }

    fn good(&self, _: usize, _: &State) -> bool {
        false
    }
}

impl Oracle<'_> {
    /// The sets of critical labels, as bits, that runs to the target touch; each with the number of
    /// steps of a shortest such run.
    pub fn critical(
        &self,
        target: &Label,
        critical: &[Label],
    ) -> Result<BTreeMap<usize, u64>, Refusal> {
        let watcher = Touched {
            machine: &self.machine,
            labels: critical,
        };
        let graph = saturate(&self.machine, &watcher)?.graph;
        let far = u64::MAX / 4;
        // From the entry of the procedure; of summaries; from the start of the run.
        let mut inside = vec![far; graph.contexts.len()];
        let mut summaries = vec![
            far;
            graph
                .leaves
                .iter()
                .map(|leaf| leaf.1 + 1)
                .max()
                .unwrap_or(0)
        ];
        let mut entries = vec![far; graph.first.len()];
        entries[ROOT] = 0;
        for &first in graph.first.iter().flatten() {
            inside[first] = 0;
        }
        let mut changed = true;
        let shorter = |known: &mut u64, length: u64| {
            let better = length < *known;
            *known = length.min(*known);
            better
        };
        while changed {
            changed = false;
            for &(from, via, to) in &graph.flows {
                let way = match via {
                    Via::Step => 1,
                    // The call, and what the callee does.
                    Via::Summary(summary) => 1 + summaries[summary],
                };
                let length = inside[from] + way;
                changed |= shorter(&mut inside[to], length.min(far));
            }
            for &(context, summary) in &graph.leaves {
                // The return is a step.
                changed |= shorter(&mut summaries[summary], (inside[context] + 1).min(far));
            }
            for (entry, callers) in graph.callers.iter().enumerate() {
                for &caller in callers {
                    let length = entries[graph.contexts[caller].0] + inside[caller] + 1;
                    changed |= shorter(&mut entries[entry], length.min(far));
                }
            }
        }
        let mut sets = BTreeMap::new();
        for (&(entry, node), &length) in graph.contexts.iter().zip(&inside) {
            let (state, mode) = &graph.nodes[node];
            if watcher.at(target, state) {
                let known = sets.entry(*mode).or_insert(far);
                shorter(known, entries[entry] + length);
            }
        }
        Ok(sets)
    }
}
