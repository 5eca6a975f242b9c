//! Steps that are taken many at a time: the transitive closure of an image, if it is small.
//!
//! A disjunct `exists x. S(.., x, ..) & C` in the body of `S(.., p, ..)` itself leads from a tuple
//! of `S` to others, as the steps of a program do. So `S` is also closed under `C ; C`, and adding
//! that to `C` changes no fixpoint. Squaring until nothing is added gives the transitive closure
//! (iterative squaring; Burch, Clarke and others, *Symbolic model checking: 10²⁰ states and
//! beyond*, 1992). With the closure, the disjunct is done in one round, and need not look at its
//! own results.
//!
//! The closure is often much larger than the steps. So squaring stops when a power has grown too
//! large or took too long. The last power is then used, which takes a few steps at a time.
//!
//! What keeps it honest: reachability in random graphs (`tests/closure.rs`).

use droste_bdd::{Bdd, Cube, Renaming, Var};
use rustc_hash::FxHashSet;

use super::Result;
use crate::engine::Engine;
use crate::term::{DefId, VarId};

/// A power of the steps may have `GROWTH` times as many nodes as the steps, and `FEW` more.
const GROWTH: usize = 3;
const FEW: usize = 300;
/// Operations on diagrams that squaring may take, for each node of the steps, and at least.
const EFFORT: u64 = 40;
const LEAST_EFFORT: u64 = 20_000;

/// Variables are near if they have at most this distance in the order.
const NEAR: u32 = 8;

/// How to put one step after another.
pub(super) struct Squaring {
    /// Variables between two steps.
    between: Cube,
    from_to_between: Renaming,
    to_to_between: Renaming,
}

impl Squaring {
    /// For steps from the first of each pair of variables to the second, a parameter of `def`,
    /// under a quantifier of `vars`. Nothing if there are no variables that could stand between.
    pub(super) fn new(
        engine: &Engine,
        def: DefId,
        vars: &[VarId],
        moved: &[(VarId, VarId)],
    ) -> Result<Option<Self>> {
        let theory = &engine.theory;
        let mut taken: FxHashSet<Var> = engine.parameter_vars(def).into_iter().collect();
        taken.extend(vars.iter().flat_map(|&id| engine.vars_of(id)));
        let (mut first, mut second) = (Vec::new(), Vec::new());
        let mut between = Vec::new();
        for &(x, parameter) in moved {
            // Any variable of the type will do, wherever it comes from, if its place in the order
            // is free and near. To move steps to other places may take longer than anything else.
            let ty = theory.variable(x).ty;
            let home = engine.vars_of(parameter);
            let all = (0..theory.variables.len() as u32).map(VarId);
            let mut rows = all.filter(|&id| theory.variable(id).ty == ty);
            let Some(row) = rows.find_map(|id| {
                let row = engine.vars_of(id);
                let near = |(a, b): (&Var, &Var)| a.0.abs_diff(b.0) <= NEAR;
                let free = row.iter().all(|var| !taken.contains(var));
                (free && row.iter().zip(&home).all(near)).then_some(row)
            }) else {
                return Ok(None);
            };
            taken.extend(&row);
            first.extend(home.into_iter().zip(row.iter().copied()));
            second.extend(engine.vars_of(x).into_iter().zip(row.iter().copied()));
            between.extend(row);
        }
        Ok(Some(Squaring {
            between: engine.manager.cube(&between)?,
            to_to_between: engine.manager.renaming(&first),
            from_to_between: engine.manager.renaming(&second),
        }))
    }

    /// Some union of powers of the steps, the steps included, and whether it is the transitive
    /// closure.
    pub(super) fn close(&self, steps: Bdd) -> Result<(Bdd, bool)> {
        let size = steps.node_count();
        let effort = LEAST_EFFORT.max(size as u64 * EFFORT);
        let mut relation = steps;
        loop {
            let first = relation.rename(&self.to_to_between)?;
            let second = relation.rename(&self.from_to_between)?;
            let Some(twice) = first.and_exists_within(&second, &self.between, effort)? else {
                return Ok((relation, false));
            };
            let union = relation.or(&twice)?;
            if union == relation {
                return Ok((relation, true));
            }
            if union.is_larger_than(size * GROWTH + FEW) {
                return Ok((relation, false));
            }
            relation = union;
        }
    }
}
