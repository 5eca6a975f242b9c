//! What was found when: layers of sets, by rounds or by the time of the search.
//!
//! The walk back relies on one thing: what leads to a pair was found strictly before it.

use droste_bdd::{Bdd, Var};
use droste_program::{NodeId, Program, Violation};
use droste_relations::Result;
use rustc_hash::FxHashMap;

/// What was new in a round, and everything up to then.
#[derive(Clone)]
struct Layer {
    round: u64,
    new: Bdd,
    all: Bdd,
}

/// Layers of a node or of a procedure's exits, by round.
#[derive(Clone, Default)]
pub(crate) struct Layers(Vec<Layer>);

impl Layers {
    /// What was found in exactly this round.
    pub(super) fn at(&self, round: u64) -> Option<&Bdd> {
        let i = self
            .0
            .binary_search_by_key(&round, |layer| layer.round)
            .ok()?;
        Some(&self.0[i].new)
    }

    /// What was found up to this round.
    pub(super) fn up_to(&self, round: u64) -> Option<&Bdd> {
        let i = self.0.partition_point(|layer| layer.round <= round);
        Some(&self.0[i.checked_sub(1)?].all)
    }

    /// The round in which this was found. It is none after `round`, and most often not long before
    /// it.
    pub(super) fn round_of(&self, values: &Values, round: u64) -> u64 {
        let has = |layer: &Layer| layer.all.eval(|var| values.get(var));
        // In the last of these layers, and perhaps in earlier ones.
        let mut end = self.0.partition_point(|layer| layer.round <= round);
        let mut step = 1;
        let start = loop {
            let Some(start) = end.checked_sub(1 + step) else {
                break 0;
            };
            if !has(&self.0[start]) {
                break start + 1;
            }
            end = start + 1;
            step *= 2;
        };
        let i = start + self.0[start..end].partition_point(|layer| !has(layer));
        self.0[i.min(end - 1)].round
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What is known to be new.
    pub(crate) fn push(&mut self, round: u64, new: &Bdd, all: &Bdd) {
        self.0.push(Layer {
            round,
            new: new.clone(),
            all: all.clone(),
        });
    }

    /// Adds what is new of `set`, if anything.
    pub(super) fn add(&mut self, round: u64, set: &Bdd, nothing: &Bdd) -> Result<Option<Bdd>> {
        let known = self.0.last().map_or(nothing, |layer| &layer.all);
        let new = set.minus(known)?;
        if new.is_false() {
            return Ok(None);
        }
        let all = known.or(&new)?;
        self.push(round, &new, &all);
        Ok(Some(new))
    }
}

/// An assignment to variables of the diagrams.
#[derive(Clone, Debug, Default)]
pub(super) struct Values(pub(super) FxHashMap<Var, bool>);

impl Values {
    pub(super) fn get(&self, var: Var) -> bool {
        self.0.get(&var).copied().unwrap_or(false)
    }
}

/// Layers for all nodes and for the exits of all procedures.
pub(crate) struct Log {
    pub(crate) nodes: Vec<Layers>,
    pub(crate) exits: Vec<Layers>,
}

impl Log {
    pub(super) fn new(program: &Program) -> Self {
        Log {
            nodes: vec![Layers::default(); program.nodes.len()],
            exits: vec![Layers::default(); program.procedures.len()],
        }
    }
}

/// How the target was met.
pub(crate) enum Goal {
    /// Control is there, with these pairs.
    At(NodeId, Bdd),
    /// Executing the node fails for these pairs.
    Fails(NodeId, Violation, Bdd),
    /// Nothing can happen at the node with these pairs.
    Stuck(NodeId, Bdd),
    /// The call refuses the return: these callers, with what the callee leaves with.
    Refused(NodeId, Bdd),
    /// Storing the results of the call fails: the failure, over what is left after the join.
    FailsAfter(NodeId, Violation, Bdd),
}
