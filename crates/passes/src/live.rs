//! Which variables still matter where.

use droste_program::liveness::Liveness;
use droste_program::{NodeId, ProcId, Program, VarRef};

/// For each node, the variables whose value may still matter when control is there.
///
/// A variable that is not live at a node may be given any value whenever control is there, at
/// every visit another one, without changing which runs (as sequences of nodes) lead to what
/// was asked about, or what the query's propositions say at any position.
#[derive(Clone, Debug)]
pub struct Live {
    /// `None`: everything is live everywhere.
    sets: Option<Sets>,
}

/// Bit sets over globals, then locals.
#[derive(Clone, Debug)]
pub(crate) struct Sets {
    pub(crate) globals: u32,
    /// For each node, where its set starts; and where the last one ends.
    pub(crate) starts: Vec<usize>,
    pub(crate) words: Vec<u64>,
    /// For each procedure, a set of globals.
    pub(crate) exits: Vec<u64>,
    /// Globals.
    pub(crate) terminated: Vec<u64>,
}

/// Whether `set` has `index` in it.
#[inline]
pub(crate) fn has(set: &[u64], index: u32) -> bool {
    set[index as usize / 64] >> (index % 64) & 1 != 0
}

/// Adds `index`.
#[inline]
pub(crate) fn add(set: &mut [u64], index: u32) {
    set[index as usize / 64] |= 1 << (index % 64);
}

/// Takes `index` out.
#[inline]
pub(crate) fn remove(set: &mut [u64], index: u32) {
    set[index as usize / 64] &= !(1 << (index % 64));
}

/// Adds all of `more`, as far as `set` reaches; whether that made a difference.
#[inline]
pub(crate) fn unite(set: &mut [u64], more: &[u64]) -> bool {
    let mut grown = 0;
    for (old, more) in set.iter_mut().zip(more) {
        grown |= more & !*old;
        *old |= more;
    }
    grown != 0
}

impl Sets {
    /// Nothing is live.
    pub(crate) fn new(program: &Program) -> Self {
        let globals = program.globals.len();
        let mut starts = Vec::with_capacity(program.nodes.len() + 1);
        let mut start = 0;
        for node in &program.nodes {
            starts.push(start);
            let locals = program.procedure(node.procedure).locals.len();
            start += (globals + locals).div_ceil(64);
        }
        starts.push(start);
        Sets {
            globals: globals as u32,
            starts,
            words: vec![0; start],
            exits: vec![0; globals.div_ceil(64) * program.procedures.len()],
            terminated: vec![0; globals.div_ceil(64)],
        }
    }

    pub(crate) fn at(&self, node: u32) -> &[u64] {
        let node = node as usize;
        &self.words[self.starts[node]..self.starts[node + 1]]
    }

    pub(crate) fn at_mut(&mut self, node: u32) -> &mut [u64] {
        let node = node as usize;
        &mut self.words[self.starts[node]..self.starts[node + 1]]
    }

    pub(crate) fn exit(&self, procedure: ProcId) -> &[u64] {
        let words = self.terminated.len();
        &self.exits[procedure.0 as usize * words..][..words]
    }

    pub(crate) fn exit_mut(&mut self, procedure: ProcId) -> &mut [u64] {
        let words = self.terminated.len();
        &mut self.exits[procedure.0 as usize * words..][..words]
    }
}

impl From<Sets> for Live {
    fn from(sets: Sets) -> Self {
        Live { sets: Some(sets) }
    }
}

impl Live {
    /// Everything is live everywhere: right for every program and query.
    pub fn all(_program: &Program) -> Live {
        Live { sets: None }
    }

    /// How many pairs of a node and a variable are live, and how many pairs there are.
    pub fn count(&self, program: &Program) -> (usize, usize) {
        let globals = program.globals.len();
        let locals = |node: &droste_program::Node| program.procedure(node.procedure).locals.len();
        let all = program
            .nodes
            .iter()
            .map(|node| globals + locals(node))
            .sum();
        let live = self.sets.as_ref().map_or(all, |sets| {
            let ones = sets.words.iter().map(|word| word.count_ones() as usize);
            ones.sum()
        });
        (live, all)
    }
}

impl Liveness for Live {
    /// Before the operation of the node is executed.
    #[inline]
    fn live(&self, node: NodeId, var: VarRef) -> bool {
        self.sets.as_ref().is_none_or(|sets| {
            let index = match var {
                VarRef::Global(i) => i,
                VarRef::Local(i) => sets.globals + i,
            };
            has(sets.at(node.0), index)
        })
    }

    /// After the results have been evaluated, before they are stored.
    #[inline]
    fn live_at_exit(&self, procedure: ProcId, global: u32) -> bool {
        let sets = self.sets.as_ref();
        sets.is_none_or(|sets| has(sets.exit(procedure), global))
    }

    #[inline]
    fn live_after_termination(&self, global: u32) -> bool {
        let sets = self.sets.as_ref();
        sets.is_none_or(|sets| has(&sets.terminated, global))
    }
}
