//! Which variables still matter after each statement.
//!
//! The usual backward analysis: a variable is live where some way leads to a read of it before it
//! is written.

use crate::{LocalId, Method, Pc};

/// A set of local variables of one method.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct LocalSet(Vec<u64>);

impl LocalSet {
    /// No variable, with room for `count`.
    pub fn new(count: usize) -> LocalSet {
        LocalSet(vec![0; count.div_ceil(64)])
    }

    /// Whether the variable is in the set.
    pub fn contains(&self, local: LocalId) -> bool {
        let word = self.0.get(local.index() / 64).copied().unwrap_or(0);
        word >> (local.0 % 64) & 1 == 1
    }

    /// Adds a variable for which there is room.
    pub fn insert(&mut self, local: LocalId) {
        self.0[local.index() / 64] |= 1 << (local.0 % 64);
    }

    /// Takes a variable away.
    pub fn remove(&mut self, local: LocalId) {
        if let Some(word) = self.0.get_mut(local.index() / 64) {
            *word &= !(1 << (local.0 % 64));
        }
    }

    /// Adds all of `other`, which has no more room; says whether there was a new one.
    pub fn union_with(&mut self, other: &LocalSet) -> bool {
        let mut changed = false;
        for (word, more) in self.0.iter_mut().zip(&other.0) {
            changed |= more & !*word != 0;
            *word |= more;
        }
        changed
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl Iterator<Item = LocalId> + '_ {
        self.0.iter().enumerate().flat_map(|(at, &word)| {
            let bits = (0..64).filter(move |bit| word >> bit & 1 == 1);
            bits.map(move |bit| LocalId(at as u32 * 64 + bit))
        })
    }
}

/// The live variables of a method.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Liveness {
    before: Vec<LocalSet>,
    after: Vec<LocalSet>,
}

impl Liveness {
    /// Analyses a method.
    pub fn new(method: &Method) -> Liveness {
        let code = &method.code;
        let empty = LocalSet::new(method.locals.len());
        let mut after = vec![empty.clone(); code.len()];
        let mut before = vec![empty; code.len()];
        let mut predecessors: Vec<Vec<Pc>> = vec![Vec::new(); code.len()];
        for (pc, statement) in code.iter().enumerate() {
            statement.successors(pc as Pc, |next| predecessors[next as usize].push(pc as Pc));
        }
        // From the end: most statements need one visit.
        let mut waiting: Vec<Pc> = (0..code.len() as Pc).collect();
        let mut queued = vec![true; code.len()];
        while let Some(pc) = waiting.pop() {
            let at = pc as usize;
            queued[at] = false;
            let mut live = after[at].clone();
            if let Some(local) = code[at].defines() {
                live.remove(local);
            }
            code[at].uses(|local| live.insert(local));
            if live == before[at] {
                continue;
            }
            for &previous in &predecessors[at] {
                let changed = after[previous as usize].union_with(&live);
                if changed && !queued[previous as usize] {
                    queued[previous as usize] = true;
                    waiting.push(previous);
                }
            }
            before[at] = live;
        }
        Liveness { before, after }
    }

    /// The variables that are live before a statement.
    pub fn before(&self, pc: Pc) -> &LocalSet {
        &self.before[pc as usize]
    }

    /// The variables that are live after a statement.
    pub fn after(&self, pc: Pc) -> &LocalSet {
        &self.after[pc as usize]
    }
}
