//! Returns that a caller refuses, because a `constrain` or an `enforce` of the call cannot be met: a run gets
//! stuck there (`--deadlock`). `relations/src/stuck.rs` says how such a return is described as a relation.

use droste_bdd::Bdd;
use droste_program::{NodeId, ProcId};
use droste_relations::{Call, Result};

use crate::search::Search;
use crate::trace::layers::Goal;

impl Search<'_> {
    /// Whether one of these callers, with their arguments, refuses one of these returns.
    pub(crate) fn refused(
        &mut self,
        node: NodeId,
        call: &Call,
        callers: &Bdd,
        leaves: &Bdd,
    ) -> Result<Option<Goal>> {
        if call.refuses.is_none() || callers.is_false() || leaves.is_false() {
            return Ok(None);
        }
        self.images += 1;
        let refused = call.refused(&self.encoding, callers, leaves)?;
        if refused.is_false() {
            return Ok(None);
        }
        Ok(Some(Goal::Refused(node, refused)))
    }

    /// What callers with conditions get to see when these pairs return and cannot fail.
    pub(crate) fn leaves_of(
        &mut self,
        procedure: ProcId,
        leaving: Option<&[Bdd]>,
        set: &Bdd,
    ) -> Result<Bdd> {
        match leaving {
            None => Ok(self.nothing.clone()),
            Some(parts) => self.exits_of(procedure, parts, set),
        }
    }
}
