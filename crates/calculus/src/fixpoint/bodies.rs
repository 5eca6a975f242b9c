//! The bodies of a component, taken apart; predicates that include each other are made one.
//!
//! Some theories have a predicate for each kind of step, which is closed under these steps alone,
//! and one for all of them:
//!
//! ```text
//! mu bool A(State s) All(s) | (exists State p. A(p) & StepA(p, s));
//! mu bool B(State s) All(s) | (exists State p. B(p) & StepB(p, s));
//! mu bool All(State s) Start(s) | A(s) | B(s);
//! ```
//!
//! Each of these predicates includes the others, so in the least solution they are equal. If they
//! are taken as they stand, each tuple that one of them finds is handed to all the others, and is
//! new to each. Here one of them, the one that is *kept*, has the bodies of all. What solves the
//! one system solves the other, with all of them equal; so the least solutions are the same.
//! Greatest fixpoints are least ones of complements here, and the same holds of them.
//!
//! What keeps it honest: the random theories of [`super`], some of which have such circles.

use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::Fixpoints;
use crate::depend::components;
use crate::rewrite::{Parts, parts, replace, to_complement};
use crate::term::{Argument, DefId, FALSE, Of, TRUE, Term, TermId, VarId};
use crate::theory::Theory;

/// The bodies of a component's members.
pub(super) struct Bodies {
    /// For each member, the one that is computed in its place: itself, mostly.
    pub(super) kept: Vec<usize>,
    /// For each member its body; that of a member that is not kept is empty.
    pub(super) parts: Vec<Rc<Parts>>,
    /// Members that are not kept, and what is computed in their place.
    replaced: FxHashMap<DefId, DefId>,
}

impl Bodies {
    /// The term with what is kept in place of what is not.
    pub(super) fn in_kept(&self, theory: &mut Theory, root: TermId) -> TermId {
        if self.replaced.is_empty() {
            return root;
        }
        replace(&mut theory.terms, root, |terms, term| match term {
            Term::Apply(def, of, arguments) => {
                let kept = *self.replaced.get(def)?;
                Some(terms.add(Term::Apply(kept, *of, arguments.clone())))
            }
            _ => None,
        })
    }
}

impl Fixpoints<'_> {
    /// The bodies of a component, in the relations `of` its members.
    pub(super) fn bodies_of(&mut self, members: &[DefId], of: Of) -> Rc<Bodies> {
        if let Some(known) = self.bodies.get(members) {
            return Rc::clone(known);
        }
        let set: FxHashSet<DefId> = members.iter().copied().collect();
        let mut roots = Vec::new();
        for &def in members {
            let body = self.body(def);
            let theory = &mut self.engine.theory;
            roots.push(if of == Of::Value {
                body
            } else {
                let dual = theory.definition(def).dual.unwrap_or(TRUE);
                to_complement(&mut theory.terms, dual, |def| set.contains(&def))
            });
        }
        let place: FxHashMap<DefId, usize> = members.iter().copied().zip(0..).collect();
        let mut kept: Vec<usize> = (0..members.len()).collect();
        let circles = components(members, |def, out| {
            let included = included(&self.engine.theory, def, roots[place[&def]], of);
            let same = |other: &DefId| self.have_same_variables(def, *other);
            out.extend(included.filter(|other| set.contains(other) && same(other)));
        });
        let mut replaced = FxHashMap::default();
        for circle in circles.into_iter().filter(|circle| circle.len() > 1) {
            let Some(first) = circle.iter().map(|def| place[def]).min() else {
                continue;
            };
            for def in circle {
                kept[place[&def]] = first;
                if place[&def] != first {
                    replaced.insert(def, members[first]);
                }
            }
        }
        let mut bodies = Bodies {
            kept,
            parts: Vec::new(),
            replaced,
        };
        if !bodies.replaced.is_empty() {
            self.unite(members, &mut roots, &bodies, of);
        }
        for root in roots {
            let theory = &mut self.engine.theory;
            let apart = parts(&mut theory.terms, root, of, |def| set.contains(&def));
            bodies.parts.push(Rc::new(apart));
        }
        let bodies = Rc::new(bodies);
        self.bodies.insert(members.into(), Rc::clone(&bodies));
        bodies
    }

    /// Whether the parameters of two predicates have the same BDD variables. Then what a quantifier
    /// in the body of one has does not get into the way of the other's parameters.
    fn have_same_variables(&self, a: DefId, b: DefId) -> bool {
        self.engine.parameter_vars(a) == self.engine.parameter_vars(b)
    }

    /// Gives the bodies of those that are not kept to those that are.
    fn unite(&mut self, members: &[DefId], roots: &mut [TermId], bodies: &Bodies, of: Of) {
        let theory = &mut self.engine.theory;
        let mut lists: Vec<Vec<TermId>> = vec![Vec::new(); members.len()];
        for (i, root) in roots.iter_mut().enumerate() {
            let first = bodies.kept[i];
            let root = bodies.in_kept(theory, std::mem::replace(root, FALSE));
            let root = moved(theory, root, members[i], members[first]);
            let kept = members[first];
            let own = |id: &TermId| applies(theory, kept, *id, of) == Some(kept);
            let list = disjuncts(theory, root).into_iter();
            lists[first].extend(list.filter(|id| !own(id)));
        }
        for (root, list) in roots.iter_mut().zip(lists) {
            *root = theory.terms.or(list);
        }
    }
}

/// The disjuncts of a body, however they are nested.
fn disjuncts(theory: &Theory, root: TermId) -> Vec<TermId> {
    let mut list = Vec::new();
    let mut stack = vec![root];
    while let Some(id) = stack.pop() {
        match theory.terms.get(id) {
            Term::Or(operands) => stack.extend(operands.iter().rev()),
            _ => list.push(id),
        }
    }
    list
}

/// The predicate, if the term is one of just the parameters of `def`, in their order.
fn applies(theory: &Theory, def: DefId, term: TermId, of: Of) -> Option<DefId> {
    let Term::Apply(other, kind, arguments) = theory.terms.get(term) else {
        return None;
    };
    let own = &theory.definition(def).parameters;
    let others = &theory.definition(*other).parameters;
    let is_same = |(argument, (own, other)): (&Argument, (&VarId, &VarId))| {
        let (own, other) = (theory.variable(*own), theory.variable(*other));
        *argument == Argument::Bits(own.first) && own.ty == other.ty
    };
    let mut pairs = arguments.iter().zip(own.iter().zip(others));
    (*kind == of && own.len() == others.len() && pairs.all(is_same)).then_some(*other)
}

/// The predicates that are disjuncts of the body as they are.
fn included(theory: &Theory, def: DefId, root: TermId, of: Of) -> impl Iterator<Item = DefId> + '_ {
    let list = disjuncts(theory, root).into_iter();
    list.filter_map(move |term| applies(theory, def, term, of))
}

/// A body of `from` with the parameters of `to`.
fn moved(theory: &mut Theory, body: TermId, from: DefId, to: DefId) -> TermId {
    if from == to {
        return body;
    }
    let pairs = theory.definition(from).parameters.iter();
    let pairs = pairs.zip(&theory.definition(to).parameters);
    let rows: Vec<(std::ops::Range<u32>, u32)> = pairs
        .map(|(&from, &to)| (theory.bits_of(from), theory.variable(to).first))
        .collect();
    let place = |bit: u32| {
        let row = rows.iter().find(|(bits, _)| bits.contains(&bit));
        row.map_or(bit, |(bits, first)| bit - bits.start + first)
    };
    replace(&mut theory.terms, body, |terms, term| match term {
        Term::Equal(a, b, bits) => Some(terms.equal(place(*a), place(*b), *bits)),
        Term::Code(first, width, code) => Some(terms.code(place(*first), *width, *code)),
        Term::Apply(def, of, arguments) => {
            let mut arguments = arguments.clone();
            for argument in &mut arguments {
                if let Argument::Bits(first) = argument {
                    *first = place(*first);
                }
            }
            Some(terms.add(Term::Apply(*def, *of, arguments)))
        }
        _ => None,
    })
}
