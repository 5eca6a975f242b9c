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

/// A conjunct of a relation, and the variables that nothing reads after it.
pub struct Part {
    /// The conjunct.
    pub relation: Bdd,
    /// The variables.
    pub last: Cube,
}

/// One way to go on.
pub struct Edge {
    /// Where it leads.
    pub to: NodeId,
    /// The relation.
    pub parts: Vec<Part>,
    /// Written variables, next to current.
    pub rename: Option<Renaming>,
    /// The valid codes of variables that may now have any value.
    pub range: Bdd,
    /// All variables written: their current copies.
    pub written: Vec<Var>,
    /// The copies in which the relation has their new values, if it says anything about them, and
    /// where they go.
    pub moves: Vec<(Var, Var)>,
}

/// A call.
pub struct Call {
    /// Who is called.
    pub callee: ProcId,
    /// Between the caller's current values and the callee's parameters (their next copies).
    pub arguments: Vec<Bdd>,
    /// To be quantified to get the callee's entry.
    pub not_entry: Cube,
    /// What happens when the callee returns.
    pub back: Back,
    /// If runs that get stuck are looked for and there are conditions on the return: callers, and
    /// what callees leave with, that they refuse.
    pub refuses: Option<Bdd>,
}

/// The return into a caller.
pub struct Back {
    /// Where the caller goes on.
    pub to: NodeId,
    /// Exit values that are overwritten by results.
    pub overwritten: Option<Cube>,
    /// Quantified when caller and callee are joined.
    pub join: Cube,
    /// For conversions and conditions: the relation that stores the results, and what is quantified
    /// then.
    pub store: Option<(Bdd, Cube)>,
    /// New values to their places.
    pub rename: Renaming,
    /// Violations while storing: over what is left after the join.
    pub failures: Vec<(Violation, Bdd)>,
    /// The caller's variables that are changed: the bits of the new values as they are before
    /// `rename`, and where they go.
    pub moves: Vec<(Var, Var)>,
    /// Next copies of the variables that get results, where a relation stores them.
    pub targets: Vec<Var>,
}

/// What the operation of a node does.
pub enum Action {
    /// It goes on within the procedure.
    Steps(Vec<Edge>),
    /// It calls.
    Call(Box<Call>),
    /// It returns: between current values and results.
    Return(Vec<Bdd>),
}

/// What a node does to sets of states.
pub struct Relation {
    /// What fails, over the current values.
    pub failures: Vec<(Violation, Bdd)>,
    /// What happens otherwise.
    pub action: Action,
    /// If runs that get stuck are looked for: the current values with which nothing can happen.
    pub stuck: Option<Bdd>,
    /// Likewise, for a return to callers with conditions: what the return leaves with (see
    /// `stuck.rs`).
    pub leaving: Option<Vec<Bdd>>,
}

impl Edge {
    /// Where the step leads from `set`.
    pub fn image(&self, set: &Bdd) -> Result<Bdd> {
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
    pub fn before(&self, encoding: &Encoding<'_>, set: &Bdd) -> Result<Bdd> {
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
    pub fn prepare(&self, set: &Bdd) -> Result<Bdd> {
        let mut set = set.clone();
        for argument in &self.arguments {
            set = set.and(argument)?;
        }
        Ok(set)
    }

    /// What callers, with their arguments, enter the callee with, over its entry copies.
    pub fn entries(&self, encoding: &Encoding<'_>, callers: &Bdd) -> Result<Bdd> {
        callers.exists(&self.not_entry)?.rename(&encoding.enter)
    }

    /// Callers, with their arguments, and exits of the callee: how the callers go on.
    pub fn resume(&self, encoding: &Encoding<'_>, callers: &Bdd, exits: &Bdd) -> Result<Resumed> {
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

impl Call {
    /// The callers, with their arguments, that refuse one of these returns: together with what the
    /// callee leaves with. `leaves` is over the callee's entry, its globals, and the description of
    /// its results.
    pub fn refused(&self, encoding: &Encoding<'_>, callers: &Bdd, leaves: &Bdd) -> Result<Bdd> {
        let Some(refuses) = &self.refuses else {
            return Ok(encoding.manager.constant(false));
        };
        let leaves = leaves.rename(&encoding.leave)?;
        let seen = self.back.visible(&leaves)?.and(refuses)?;
        // What the results overwrite is still what it was when the callee returned.
        callers.and(&seen)?.and(&leaves)
    }
}

/// How a caller goes on after a call.
pub enum Resumed {
    /// Storing the results can be a violation.
    Fails {
        /// Which.
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
    /// The callee's exits, already seen from the caller, without what nothing will read.
    pub fn visible(&self, exits: &Bdd) -> Result<Bdd> {
        match &self.overwritten {
            Some(cube) => exits.exists(cube),
            None => Ok(exits.clone()),
        }
    }

    /// Callers with their arguments, and exits seen from the caller: before the results are stored.
    pub fn join(&self, callers: &Bdd, exits: &Bdd) -> Result<Bdd> {
        callers.and_exists(&self.visible(exits)?, &self.join)
    }

    /// The results are stored.
    pub fn finish(&self, joined: &Bdd) -> Result<Bdd> {
        let stored = match &self.store {
            Some((relation, cube)) => joined.and_exists(relation, cube)?,
            None => joined.clone(),
        };
        stored.rename(&self.rename)
    }
}
