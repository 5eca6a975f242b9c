//! Which predicates are computed together: strongly connected components, callees first, and what
//! kind each is.
//!
//! A component that is all `mu` or all `nu`, and monotone, is one simultaneous fixpoint (Bekić);
//! see [`super::simultaneous`]. Where the kinds mix, or a use is negative, its fixpoints are
//! nested.

use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::Fixpoints;
use crate::depend::components;
use crate::term::DefId;

/// Key of a division: where it begins and which predicates are in it.
pub(super) type Region = (Box<[DefId]>, Box<[DefId]>);

/// What a component is and how it is computed.
#[derive(Debug)]
pub(super) struct Component {
    pub(super) members: Vec<DefId>,
    pub(super) kind: Kind,
    /// Members that others use.
    pub(super) wanted: Vec<DefId>,
    /// What the members use that is no member.
    pub(super) outside: Vec<(DefId, crate::theory::Sign)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// One predicate that does not depend on itself.
    Once,
    /// All `mu` or all `nu`, and monotone.
    Simultaneous,
    /// Anything else; whether it is monotone.
    Nested(bool),
}

impl Fixpoints<'_> {
    pub(super) fn divide(
        &mut self,
        demand: &[DefId],
        inside: Option<&[DefId]>,
    ) -> Rc<Vec<Component>> {
        // No list and an empty one have the same key: inside of an empty one nothing is asked for.
        let key: Region = (demand.into(), inside.unwrap_or_default().into());
        if let Some(known) = self.divisions.get(&key) {
            return Rc::clone(known);
        }
        let theory = &self.engine.theory;
        let allowed: Option<FxHashSet<DefId>> = inside.map(|list| list.iter().copied().collect());
        let allows = |def: DefId| allowed.as_ref().is_none_or(|set| set.contains(&def));
        let roots: Vec<DefId> = demand.iter().copied().filter(|d| allows(*d)).collect();
        let lists = components(&roots, |def, out| {
            let uses = theory.definition(def).references.iter().map(|(d, _)| *d);
            out.extend(uses.filter(|d| allows(*d)));
        });
        let mut component_of: FxHashMap<DefId, usize> = FxHashMap::default();
        for (i, list) in lists.iter().enumerate() {
            component_of.extend(list.iter().map(|def| (*def, i)));
        }
        let mut used: FxHashSet<DefId> = roots.iter().copied().collect();
        for (i, list) in lists.iter().enumerate() {
            for &def in list {
                let uses = theory.definition(def).references.iter().map(|(d, _)| *d);
                used.extend(uses.filter(|d| component_of.get(d).is_some_and(|&c| c != i)));
            }
        }
        let division = lists.into_iter().map(|members| {
            let set: FxHashSet<DefId> = members.iter().copied().collect();
            let first = theory.definition(members[0]);
            let mut recursive = members.len() > 1;
            let mut monotone = true;
            let mut same = true;
            let mut outside: Vec<(DefId, crate::theory::Sign)> = Vec::new();
            let mut place: FxHashMap<DefId, usize> = FxHashMap::default();
            for &def in &members {
                let definition = theory.definition(def);
                same &= definition.fixpoint == first.fixpoint;
                for &(used, sign) in &definition.references {
                    if set.contains(&used) {
                        recursive = true;
                        monotone &= !sign.negative;
                    } else {
                        let at = *place.entry(used).or_insert_with(|| {
                            outside.push((used, crate::theory::Sign::default()));
                            outside.len() - 1
                        });
                        outside[at].1.positive |= sign.positive;
                        outside[at].1.negative |= sign.negative;
                    }
                }
            }
            let kind = if !recursive {
                Kind::Once
            } else if same && monotone {
                Kind::Simultaneous
            } else {
                Kind::Nested(monotone)
            };
            Component {
                wanted: members
                    .iter()
                    .copied()
                    .filter(|d| used.contains(d))
                    .collect(),
                members,
                kind,
                outside,
            }
        });
        let division = Rc::new(division.collect());
        self.divisions.insert(key, Rc::clone(&division));
        division
    }
}
