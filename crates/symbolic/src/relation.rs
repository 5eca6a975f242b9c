//! What the operation of a node does to sets of states.
//!
//! A step is a few small relations between current and next values of the variables it touches;
//! everything else stays where it is. An image is a relational product with each of them, in which
//! a current value is quantified as soon as no later relation reads it, and then a renaming of next
//! to current. [`compile`](crate::compile) makes the relations.

use droste_bdd::{Bdd, Cube, Renaming, Var};
use droste_program::{NodeId, ProcId, Violation};
use rustc_hash::FxHashSet;

use crate::encode::{Encoding, Result};

/// A conjunct of a relation, and the variables nobody reads after it.
pub(crate) struct Part {
    pub(crate) relation: Bdd,
    pub(crate) last: Cube,
}

/// One way to go on.
pub(crate) struct Edge {
    pub(crate) to: NodeId,
    pub(crate) parts: Vec<Part>,
    /// Written variables, next to current.
    pub(crate) rename: Option<Renaming>,
    /// The valid codes of variables that may now have any value.
    pub(crate) range: Bdd,
    /// All variables written: their current copies.
    pub(crate) written: Vec<Var>,
    /// The copies in which the relation has their new values, if it says anything about them, and
    /// where they go.
    pub(crate) moves: Vec<(Var, Var)>,
}

/// A call.
pub(crate) struct Call {
    pub(crate) callee: ProcId,
    /// Between the caller's current values and the callee's parameters (their next copies).
    pub(crate) arguments: Vec<Bdd>,
    /// To be quantified to get the callee's entry.
    pub(crate) not_entry: Cube,
    pub(crate) back: Back,
    /// If runs that get stuck are looked for and there are conditions on the return: callers, and
    /// what callees leave with, that they refuse.
    pub(crate) refuses: Option<Bdd>,
}

/// The return into a caller.
pub(crate) struct Back {
    pub(crate) to: NodeId,
    /// Exit values that are overwritten by results.
    pub(crate) overwritten: Option<Cube>,
    /// Quantified when caller and callee are joined.
    pub(crate) join: Cube,
    /// For conversions and conditions: the relation that stores the results, and what is quantified
    /// then.
    pub(crate) store: Option<(Bdd, Cube)>,
    pub(crate) rename: Renaming,
    /// Violations while storing: over what is left after the join.
    pub(crate) failures: Vec<(Violation, Bdd)>,
    /// The caller's variables that are changed: the bits of the new values as they are before
    /// `rename`, and where they go.
    pub(crate) moves: Vec<(Var, Var)>,
    /// Next copies of the variables that get results, where a relation stores them.
    pub(crate) targets: Vec<Var>,
}

pub(crate) enum Action {
    Steps(Vec<Edge>),
    Call(Box<Call>),
    /// Between current values and results.
    Return(Vec<Bdd>),
}

pub(crate) struct Relation {
    /// Over the current values.
    pub(crate) failures: Vec<(Violation, Bdd)>,
    pub(crate) action: Action,
    /// If runs that get stuck are looked for: the current values with which nothing can happen.
    pub(crate) stuck: Option<Bdd>,
    /// Likewise, for a return to callers with conditions: what the return leaves with (see
    /// `stuck.rs`).
    pub(crate) leaving: Option<Vec<Bdd>>,
}

impl Edge {
    pub(crate) fn image(&self, set: &Bdd) -> Result<Bdd> {
        let mut set = set.clone();
        for part in &self.parts {
            set = set.and_exists(&part.relation, &part.last)?;
        }
        if let Some(rename) = &self.rename {
            set = set.rename(rename)?;
        }
        set.and(&self.range)
    }

    /// Where the step leads into `set` from: the image from right to left.
    pub(crate) fn before(&self, encoding: &Encoding<'_>, set: &Bdd) -> Result<Bdd> {
        let manager = &encoding.manager;
        let moved: FxHashSet<Var> = self.moves.iter().map(|&(_, to)| to).collect();
        // Variables that get any value.
        let any: Vec<Var> = self
            .written
            .iter()
            .copied()
            .filter(|var| !moved.contains(var))
            .collect();
        let set = set.exists(&manager.cube(&any)?)?;
        let back: Vec<(Var, Var)> = self.moves.iter().map(|&(from, to)| (to, from)).collect();
        let mut set = set.rename(&manager.renaming(&back))?;
        for part in &self.parts {
            set = set.and(&part.relation)?;
        }
        set.exists(&encoding.nexts)
    }
}

impl Call {
    /// The callers with their arguments.
    pub(crate) fn prepare(&self, set: &Bdd) -> Result<Bdd> {
        let mut set = set.clone();
        for argument in &self.arguments {
            set = set.and(argument)?;
        }
        Ok(set)
    }

    /// What callers, with their arguments, enter the callee with, over its entry copies.
    pub(crate) fn entries(&self, encoding: &Encoding<'_>, callers: &Bdd) -> Result<Bdd> {
        callers.exists(&self.not_entry)?.rename(&encoding.enter)
    }

    /// Callers, with their arguments, and exits of the callee: how the callers go on.
    pub(crate) fn resume(
        &self,
        encoding: &Encoding<'_>,
        callers: &Bdd,
        exits: &Bdd,
    ) -> Result<Resumed> {
        let exits = exits.rename(&encoding.leave)?;
        let joined = self.back.join(callers, &exits)?;
        for (violation, failure) in &self.back.failures {
            let failing = joined.and(failure)?;
            if !failing.is_false() {
                return Ok(Resumed::Fails {
                    violation: *violation,
                    failure: failure.clone(),
                    failing,
                });
            }
        }
        Ok(Resumed::At(self.back.finish(&joined)?))
    }
}

/// How a caller goes on after a call.
pub(crate) enum Resumed {
    /// Storing the results can be a violation.
    Fails {
        violation: Violation,
        /// The failure, over what is left after caller and exit are joined.
        failure: Bdd,
        /// What is left of these callers and exits.
        failing: Bdd,
    },
    /// Control goes on with these pairs.
    At(Bdd),
}

impl Back {
    /// The callee's exits, already seen from the caller, without what nobody will see.
    pub(crate) fn visible(&self, exits: &Bdd) -> Result<Bdd> {
        match &self.overwritten {
            Some(cube) => exits.exists(cube),
            None => Ok(exits.clone()),
        }
    }

    /// Callers with their arguments, and exits seen from the caller: before the results are stored.
    pub(crate) fn join(&self, callers: &Bdd, exits: &Bdd) -> Result<Bdd> {
        callers.and_exists(&self.visible(exits)?, &self.join)
    }

    /// The results are stored.
    pub(crate) fn finish(&self, joined: &Bdd) -> Result<Bdd> {
        let stored = match &self.store {
            Some((relation, cube)) => joined.and_exists(relation, cube)?,
            None => joined.clone(),
        };
        stored.rename(&self.rename)
    }
}
