//! Which variables a formula keeps within their types, seen from its form.
//!
//! A type whose number of values is no power of two has codes that mean nothing, and a quantifier
//! has to keep away from them. It does so by multiplying with the range of its variable. Where a
//! conjunct keeps the variable within its type already, that changes nothing and takes time in
//! every round. (Members of relations are values of their types; what equals such a value is one.)
//!
//! What is known of a term is a list of *leaves*, parts of variables that have no parts, as in
//! [`crate::types`]; only leaves that have meaningless codes are listed. Forgetting some is sound,
//! so lists are cut at [`MOST`].
//!
//! What keeps it honest: the random theories of `tests/random`, whose types do not fill their
//! codes.

use std::rc::Rc;

use rustc_hash::FxHashMap;

use crate::term::{Argument, Term, TermId, VarId};
use crate::theory::Theory;
use crate::types::TypeId;

/// A part of a variable: its first bit and its type.
type VariablePart = (u32, TypeId);

/// The most leaves of a term that are remembered.
const MOST: usize = 32;

/// What is known of terms.
#[derive(Default)]
pub(crate) struct Ranged {
    known: FxHashMap<TermId, Rc<[VariablePart]>>,
}

/// The leaves of something at `first` that have meaningless codes.
fn leaves(theory: &Theory, first: u32, ty: TypeId, out: &mut Vec<VariablePart>) {
    if theory.types.get(ty).full {
        return;
    }
    for leaf in theory.types.leaves(ty) {
        if !theory.types.get(leaf.ty).full {
            out.push((first + leaf.offset, leaf.ty));
        }
    }
}

impl Ranged {
    /// The variables among `vars` that the conjunction of terms does not keep within their types.
    pub(crate) fn open(
        &mut self,
        theory: &Theory,
        vars: &[VarId],
        conjuncts: &[TermId],
    ) -> Vec<VarId> {
        let partial = |id: &VarId| !theory.types.get(theory.variable(*id).ty).full;
        let vars: Vec<VarId> = vars.iter().copied().filter(partial).collect();
        if vars.is_empty() {
            return vars;
        }
        for &id in conjuncts {
            self.learn(theory, id);
        }
        let held = self.conjunction(theory, conjuncts);
        let is_open = |id: &VarId| {
            let variable = theory.variable(*id);
            let mut wanted = Vec::new();
            leaves(theory, variable.first, variable.ty, &mut wanted);
            wanted
                .iter()
                .any(|place| held.binary_search(place).is_err())
        };
        vars.into_iter().filter(is_open).collect()
    }

    /// Finds out about a term and all below it.
    fn learn(&mut self, theory: &Theory, root: TermId) {
        let terms = &theory.terms;
        let mut stack = vec![(root, false)];
        while let Some((id, operands_done)) = stack.pop() {
            if self.known.contains_key(&id) {
                continue;
            }
            if !operands_done {
                stack.push((id, true));
                terms.operands(id, |operand| stack.push((operand, false)));
                continue;
            }
            let mut places = self.of(theory, id);
            places.truncate(MOST);
            self.known.insert(id, places.into());
        }
    }

    /// The sorted leaves that a term holds, its operands being known.
    fn of(&self, theory: &Theory, id: TermId) -> Vec<VariablePart> {
        let terms = &theory.terms;
        match terms.get(id) {
            Term::Apply(def, _, arguments) => {
                let mut places = Vec::new();
                let parameters = &theory.definition(*def).parameters;
                for (argument, &parameter) in arguments.iter().zip(parameters) {
                    if let Argument::Bits(first) = *argument {
                        leaves(theory, first, theory.variable(parameter).ty, &mut places);
                    }
                }
                places.sort_unstable();
                places.dedup();
                places
            }
            Term::And(list) => self.conjunction(theory, list),
            Term::Or(list) => self.common(list),
            Term::Ite(_, then, otherwise) => self.common(&[*then, *otherwise]),
            Term::Exists(vars, _) => {
                let mut conjuncts = Vec::new();
                terms.operands(id, |operand| conjuncts.push(operand));
                let mut places = self.conjunction(theory, &conjuncts);
                places
                    .retain(|(bit, _)| !vars.iter().any(|&var| theory.bits_of(var).contains(bit)));
                places
            }
            Term::Constant(_)
            | Term::Equal(..)
            | Term::Code(..)
            | Term::Not(_)
            | Term::Iff(..)
            | Term::Care(..) => Vec::new(),
        }
    }

    /// What all disjuncts hold.
    fn common(&self, list: &[TermId]) -> Vec<VariablePart> {
        let Some((first, rest)) = list.split_first() else {
            return Vec::new();
        };
        let mut places = self.known[first].to_vec();
        for id in rest {
            let other = &self.known[id];
            places.retain(|place| other.binary_search(place).is_ok());
        }
        places
    }

    /// What some conjunct holds, and what equals that.
    fn conjunction(&self, theory: &Theory, list: &[TermId]) -> Vec<VariablePart> {
        let mut places: Vec<VariablePart> = Vec::new();
        let mut equalities = Vec::new();
        for id in list {
            places.extend(self.known[id].iter());
            if let Term::Equal(a, b, bits) = *theory.terms.get(*id) {
                equalities.extend([(a, b, bits), (b, a, bits)]);
            }
        }
        places.sort_unstable();
        places.dedup();
        // Along a chain of equalities, as far as `MOST` leaves go.
        let mut seen = 0;
        let mut queue = places.clone();
        while seen < queue.len() && queue.len() <= MOST && !equalities.is_empty() {
            let (bit, ty) = queue[seen];
            seen += 1;
            let width = theory.types.get(ty).width;
            for &(from, to, bits) in &equalities {
                if bit >= from && bit + width <= from + bits {
                    let place = (bit - from + to, ty);
                    if let Err(at) = places.binary_search(&place) {
                        places.insert(at, place);
                        queue.push(place);
                    }
                }
            }
        }
        places
    }
}
