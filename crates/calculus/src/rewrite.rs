//! Bodies taken apart for the fixpoint loop: what distributes over union, and what does not.
//!
//! A part that distributes over union may be evaluated with the frontier alone
//! ([`fixpoint`](crate::fixpoint)).

use rustc_hash::{FxHashMap, FxHashSet};

use crate::term::{DefId, Of, Term, TermId, Terms, VarId};

/// How a term depends on the relations of a component.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// Not at all.
    Constant,
    /// The term distributes over the union of relations that are not all empty.
    Linear,
    /// In another way.
    Other,
}

/// The terms below `root`, operands first.
fn below(terms: &Terms, root: TermId) -> Vec<TermId> {
    let mut seen = FxHashSet::default();
    let mut stack = vec![root];
    while let Some(id) = stack.pop() {
        if seen.insert(id) {
            terms.operands(id, |operand| stack.push(operand));
        }
    }
    let mut list: Vec<TermId> = seen.into_iter().collect();
    // Operands have lower numbers.
    list.sort_unstable();
    list
}

/// The shape of `root`, and of everything below it, in the relations `of` the members of a
/// component.
pub(crate) fn shapes(
    terms: &Terms,
    root: TermId,
    of: Of,
    member: impl Fn(DefId) -> bool,
) -> FxHashMap<TermId, Shape> {
    let mut shapes: FxHashMap<TermId, Shape> = FxHashMap::default();
    for id in below(terms, root) {
        let mut linear = 0;
        let mut other = 0;
        terms.operands(id, |operand| match shapes[&operand] {
            Shape::Constant => {}
            Shape::Linear => linear += 1,
            Shape::Other => other += 1,
        });
        let and = |linear: usize, other: usize| match (linear, other) {
            (0, 0) => Shape::Constant,
            (1, 0) => Shape::Linear,
            _ => Shape::Other,
        };
        let shape = match terms.get(id) {
            Term::Apply(def, kind, _) if member(*def) => {
                if *kind == of {
                    Shape::Linear
                } else {
                    Shape::Other
                }
            }
            // Of `exists` over a conjunction, the operands are the conjuncts.
            Term::And(_) | Term::Exists(..) => and(linear, other),
            Term::Or(_) if other > 0 => Shape::Other,
            // A constant disjunct does no harm: the first round takes it in.
            Term::Or(_) if linear > 0 => Shape::Linear,
            Term::Ite(c, ..) if shapes[c] == Shape::Constant && other == 0 && linear > 0 => {
                Shape::Linear
            }
            _ if linear + other == 0 => Shape::Constant,
            _ => Shape::Other,
        };
        shapes.insert(id, shape);
    }
    shapes
}

/// The term with some of the terms in it replaced.
pub(crate) fn replace(
    terms: &mut Terms,
    root: TermId,
    mut which: impl FnMut(&mut Terms, &Term) -> Option<TermId>,
) -> TermId {
    let mut new: FxHashMap<TermId, TermId> = FxHashMap::default();
    for id in below_all(terms, root) {
        let map = |id: &TermId| new[id];
        let term = terms.get(id).clone();
        let replaced = match which(terms, &term) {
            Some(other) => other,
            None => match term {
                Term::Not(a) => {
                    let a = map(&a);
                    terms.add(Term::Not(a))
                }
                Term::And(list) => {
                    let list = list.iter().map(map).collect();
                    terms.add(Term::And(list))
                }
                Term::Or(list) => {
                    let list = list.iter().map(map).collect();
                    terms.add(Term::Or(list))
                }
                Term::Iff(a, b) => {
                    let (a, b) = (map(&a), map(&b));
                    terms.add(Term::Iff(a, b))
                }
                Term::Care(kind, a, b) => {
                    let (a, b) = (map(&a), map(&b));
                    terms.add(Term::Care(kind, a, b))
                }
                Term::Ite(c, t, e) => {
                    let (c, t, e) = (map(&c), map(&t), map(&e));
                    terms.add(Term::Ite(c, t, e))
                }
                Term::Exists(vars, body) => {
                    let body = map(&body);
                    terms.add(Term::Exists(vars, body))
                }
                _ => id,
            },
        };
        new.insert(id, replaced);
    }
    new[&root]
}

/// The terms below `root`, conjunctions under `exists` included, operands first.
pub(crate) fn below_all(terms: &Terms, root: TermId) -> Vec<TermId> {
    let mut seen = FxHashSet::default();
    let mut stack = vec![root];
    while let Some(id) = stack.pop() {
        if seen.insert(id) {
            if let Term::Exists(_, body) = terms.get(id) {
                stack.push(*body);
            } else {
                terms.operands(id, |operand| stack.push(operand));
            }
        }
    }
    let mut list: Vec<TermId> = seen.into_iter().collect();
    list.sort_unstable();
    list
}

/// A body in the relations `of` a component, in parts whose disjunction it is.
#[derive(Clone, Debug)]
pub(crate) struct Parts {
    /// What does not depend on the component.
    pub(crate) base: TermId,
    /// What distributes over union, with the frontier in place of the relations.
    pub(crate) linear: Vec<TermId>,
    /// Conjunctions of several conjuncts each of which distributes over union.
    pub(crate) products: Vec<Product>,
    /// The rest.
    pub(crate) rest: TermId,
}

/// A conjunction under `exists`, of conjuncts that distribute over union and others that do not
/// change.
#[derive(Clone, Debug)]
pub(crate) struct Product {
    /// The term it was made of.
    pub(crate) whole: TermId,
    pub(crate) vars: Box<[VarId]>,
    /// What does not depend on the component.
    pub(crate) constants: Vec<TermId>,
    /// With the frontier in place of the relations.
    pub(crate) factors: Vec<TermId>,
}

/// The most groups of disjuncts that distribute over union and are told apart.
const MOST_GROUPS: usize = 8;

/// Takes a body apart.
pub(crate) fn parts(
    terms: &mut Terms,
    root: TermId,
    of: Of,
    member: impl Fn(DefId) -> bool + Copy,
) -> Parts {
    let shapes = shapes(terms, root, of, member);
    let disjuncts: Vec<TermId> = match terms.get(root) {
        Term::Or(list) => list.to_vec(),
        _ => vec![root],
    };
    let pick = |shape: Shape| -> Vec<TermId> {
        let all = disjuncts.iter().copied();
        all.filter(|id| shapes[id] == shape).collect()
    };
    let (base, linear, rest) = (
        pick(Shape::Constant),
        pick(Shape::Linear),
        pick(Shape::Other),
    );
    // A few groups: what is evaluated on its own costs a little each time.
    let size = linear.len().div_ceil(MOST_GROUPS).max(1);
    let groups: Vec<Vec<TermId>> = linear.chunks(size).map(<[TermId]>::to_vec).collect();
    let mut linear = Vec::new();
    for group in groups {
        let group = terms.balanced(group, false);
        linear.push(to_frontier(terms, group, of, member));
    }
    let mut products = Vec::new();
    let mut others = Vec::new();
    for id in rest {
        // Of `exists` over a conjunction, the operands are the conjuncts.
        let vars: Box<[VarId]> = match terms.get(id) {
            Term::Exists(vars, _) => vars.iter().copied().collect(),
            Term::And(_) => Box::default(),
            _ => {
                others.push(id);
                continue;
            }
        };
        let mut conjuncts = Vec::new();
        terms.operands(id, |operand| conjuncts.push(operand));
        if conjuncts.iter().any(|part| shapes[part] == Shape::Other) {
            others.push(id);
            continue;
        }
        let (factors, constants): (Vec<TermId>, Vec<TermId>) = conjuncts
            .into_iter()
            .partition(|part| shapes[part] == Shape::Linear);
        let factors = factors
            .into_iter()
            .map(|part| to_frontier(terms, part, of, member));
        let factors = factors.collect();
        products.push(Product {
            whole: id,
            vars,
            constants,
            factors,
        });
    }
    Parts {
        base: terms.balanced(base, false),
        linear,
        products,
        rest: terms.balanced(others, false),
    }
}

/// The term with the frontier in place of the relations `of` a component.
pub(crate) fn to_frontier(
    terms: &mut Terms,
    root: TermId,
    of: Of,
    member: impl Fn(DefId) -> bool,
) -> TermId {
    replace(terms, root, |terms, term| match term {
        Term::Apply(def, kind, arguments) if *kind == of && member(*def) => {
            Some(terms.add(Term::Apply(*def, Of::Frontier, arguments.clone())))
        }
        _ => None,
    })
}

/// The term with (negated) complements in place of the relations of a component.
pub(crate) fn to_complement(
    terms: &mut Terms,
    root: TermId,
    member: impl Fn(DefId) -> bool,
) -> TermId {
    let complement = |term: &Term| match term {
        Term::Apply(def, Of::Value, arguments) if member(*def) => {
            Some(Term::Apply(*def, Of::Complement, arguments.clone()))
        }
        _ => None,
    };
    replace(terms, root, |terms, term| {
        if let Term::Not(inner) = term {
            let other = complement(terms.get(*inner))?;
            Some(terms.add(other))
        } else {
            let other = complement(term)?;
            let other = terms.add(other);
            Some(terms.add(Term::Not(other)))
        }
    })
}
