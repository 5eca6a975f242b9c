//! Which predicate depends on which, and how: references with signs, strongly connected components,
//! and the mistakes that can be seen there.
//!
//! Everything is linear in the size of the formulas (MUCKE's check takes 2^k steps for a chain of k
//! predicates that are each used twice). Components are Tarjan's (SIAM J. Comput. 1, 1972), without
//! recursion.

use droste_source::diagnostics::Diagnostic;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::syntax::Fixpoint;
use crate::term::{DefId, Term, TermId, Terms};
use crate::theory::{Action, FileSpan, Sign, Theory};

/// The predicates that a term applies, in the order in which they are met, and with which signs.
pub(crate) fn references(terms: &Terms, root: TermId) -> Vec<(DefId, Sign)> {
    let mut order = Vec::new();
    let mut found: FxHashMap<DefId, Sign> = FxHashMap::default();
    let mut seen: FxHashMap<TermId, Sign> = FxHashMap::default();
    let mut stack = vec![root];
    while let Some(id) = stack.pop() {
        if seen.insert(id, Sign::default()).is_some() {
            continue;
        }
        if let Term::Apply(def, ..) = terms.get(id)
            && !found.contains_key(def)
        {
            found.insert(*def, Sign::default());
            order.push(*def);
        }
        let start = stack.len();
        terms.operands(id, |operand| stack.push(operand));
        stack[start..].reverse();
    }
    // Operands have lower numbers than what they are operands of.
    let mut ids: Vec<TermId> = seen.keys().copied().collect();
    ids.sort_unstable_by(|a, b| b.cmp(a));
    let positive = Sign {
        positive: true,
        negative: false,
    };
    seen.insert(root, positive);
    for id in ids {
        let sign = seen[&id];
        let both = Sign {
            positive: true,
            negative: true,
        };
        let mut pass = |operand: TermId, sign: Sign| {
            let known = seen.entry(operand).or_default();
            known.positive |= sign.positive;
            known.negative |= sign.negative;
        };
        match terms.get(id) {
            Term::Apply(def, of, _) => {
                let flip = *of == crate::term::Of::Complement;
                let known = found.entry(*def).or_default();
                known.positive |= if flip { sign.negative } else { sign.positive };
                known.negative |= if flip { sign.positive } else { sign.negative };
            }
            Term::Not(a) => pass(
                *a,
                Sign {
                    positive: sign.negative,
                    negative: sign.positive,
                },
            ),
            Term::Iff(a, b) | Term::Care(_, a, b) => {
                pass(*a, both);
                pass(*b, both);
            }
            Term::Ite(c, t, e) => {
                pass(*c, both);
                pass(*t, sign);
                pass(*e, sign);
            }
            _ => terms.operands(id, |operand| pass(operand, sign)),
        }
    }
    order.into_iter().map(|def| (def, found[&def])).collect()
}

/// Strongly connected components of the graph below `roots`, each after those it leads to.
pub(crate) fn components(
    roots: &[DefId],
    mut edges: impl FnMut(DefId, &mut Vec<DefId>),
) -> Vec<Vec<DefId>> {
    struct Visit {
        node: DefId,
        successors: Vec<DefId>,
        next: usize,
    }
    let mut index: FxHashMap<DefId, u32> = FxHashMap::default();
    let mut low: FxHashMap<DefId, u32> = FxHashMap::default();
    let mut on_stack: FxHashSet<DefId> = FxHashSet::default();
    let mut stack: Vec<DefId> = Vec::new();
    let mut result = Vec::new();
    let mut visits: Vec<Visit> = Vec::new();
    for &root in roots {
        if index.contains_key(&root) {
            continue;
        }
        let mut enter = Some(root);
        loop {
            if let Some(node) = enter.take() {
                let number = index.len() as u32;
                index.insert(node, number);
                low.insert(node, number);
                stack.push(node);
                on_stack.insert(node);
                let mut successors = Vec::new();
                edges(node, &mut successors);
                visits.push(Visit {
                    node,
                    successors,
                    next: 0,
                });
            }
            let Some(visit) = visits.last_mut() else {
                break;
            };
            let node = visit.node;
            if let Some(&successor) = visit.successors.get(visit.next) {
                visit.next += 1;
                match index.get(&successor) {
                    None => enter = Some(successor),
                    Some(&number) if on_stack.contains(&successor) => {
                        let own = low[&node].min(number);
                        low.insert(node, own);
                    }
                    Some(_) => {}
                }
                continue;
            }
            let own = low[&node];
            if own == index[&node] {
                let mut component = Vec::new();
                while let Some(member) = stack.pop() {
                    on_stack.remove(&member);
                    component.push(member);
                    if member == node {
                        break;
                    }
                }
                component.reverse();
                result.push(component);
            }
            visits.pop();
            if let Some(parent) = visits.last() {
                let lower = low[&parent.node].min(own);
                low.insert(parent.node, lower);
            }
        }
    }
    result
}

/// Looks at what the actions need: refuses those that cannot be done, warns about what may
/// surprise.
pub(crate) fn check(theory: &mut Theory) {
    let edges = |theory: &Theory, def: DefId, out: &mut Vec<DefId>| {
        out.extend(theory.definition(def).references.iter().map(|(d, _)| *d));
    };
    let needs: Vec<(Vec<DefId>, Option<FileSpan>)> = theory
        .actions
        .iter()
        .map(|action| match action {
            Action::Query(question) | Action::Witness(_, question) => (
                question.references.iter().map(|(def, _)| *def).collect(),
                Some(question.place),
            ),
            Action::Count(def, place)
            | Action::Size(def, place)
            | Action::Dump(def, place)
            | Action::Tuples(def, _, place) => (vec![*def], Some(*place)),
            _ => (Vec::new(), None),
        })
        .collect();
    let roots: Vec<DefId> = needs.iter().flat_map(|(defs, _)| defs).copied().collect();
    let list = components(&roots, |def, out| edges(theory, def, out));
    let mut told = Vec::new();
    // Why a predicate cannot be evaluated.
    let mut hopeless: FxHashMap<DefId, String> = FxHashMap::default();
    for component in &list {
        let recursive = component.len() > 1
            || theory
                .definition(component[0])
                .references
                .iter()
                .any(|(def, _)| *def == component[0]);
        for &def in component {
            let definition = theory.definition(def);
            let name = &definition.name;
            let own = if definition.broken {
                Some(format!("there are errors in `{name}`"))
            } else if definition.body.is_none() {
                Some(format!("`{name}` has a prototype but no definition"))
            } else if recursive && definition.fixpoint == Fixpoint::Plain {
                told.push((
                    definition.place.file,
                    Diagnostic::error(
                        definition.place.span,
                        format!("`{name}` is used in its own definition"),
                    )
                    .label("recursive, but neither `mu` nor `nu`")
                    .help("write `mu bool` for the least solution, `nu bool` for the greatest"),
                ));
                Some(format!("`{name}` is recursive without `mu` or `nu`"))
            } else {
                None
            };
            let inherited = || {
                let mut all = definition.references.iter();
                all.find_map(|(d, _)| hopeless.get(d).cloned())
            };
            if let Some(reason) = own.or_else(inherited) {
                hopeless.insert(def, reason);
            }
        }
        if recursive {
            // Within a component one reason is everybody's.
            if let Some(reason) = component.iter().find_map(|def| hopeless.get(def).cloned()) {
                for def in component {
                    hopeless.entry(*def).or_insert_with(|| reason.clone());
                }
            } else {
                warn_about(theory, component, &mut told);
            }
        } else {
            let definition = theory.definition(component[0]);
            if definition.fixpoint != Fixpoint::Plain && definition.body.is_some() {
                told.push((
                    definition.place.file,
                    Diagnostic::warning(
                        definition.place.span,
                        format!("`{}` is not recursive", definition.name),
                    )
                    .help("without recursion, `mu` and `nu` have no effect"),
                ));
            }
        }
    }
    let mut keep = Vec::new();
    for (defs, place) in needs {
        let reason = defs.iter().find_map(|def| hopeless.get(def));
        keep.push(reason.is_none());
        if let (Some(reason), Some(place)) = (reason, place) {
            told.push((
                place.file,
                Diagnostic::error(place.span, format!("this cannot be evaluated: {reason}")),
            ));
        }
    }
    let mut keep = keep.into_iter();
    theory.actions.retain(|_| keep.next().unwrap_or(true));
    theory.diagnostics.extend(told);
}

/// Warns about components in which the order of nesting, or of rounds, matters.
fn warn_about(theory: &Theory, component: &[DefId], told: &mut Vec<(u32, Diagnostic)>) {
    let members: FxHashSet<DefId> = component.iter().copied().collect();
    let definition = theory.definition(component[0]);
    let place = definition.place;
    let negative = component.iter().find_map(|&def| {
        let definition = theory.definition(def);
        definition
            .references
            .iter()
            .find(|(d, sign)| members.contains(d) && sign.negative)
            .map(|(d, _)| (definition, theory.definition(*d)))
    });
    let mixed = component
        .iter()
        .map(|&def| theory.definition(def))
        .find(|other| other.fixpoint != definition.fixpoint);
    if let Some((user, used)) = negative {
        told.push((
            user.place.file,
            Diagnostic::warning(
                user.place.span,
                format!("`{}` is not monotone in `{}`", user.name, used.name),
            )
            .help(
                "rounds are computed until a value stays the same, each value replacing the \
                 last; that need not be a least or greatest solution",
            ),
        ));
    } else if let Some(other) = mixed {
        let warning = Diagnostic::warning(
            place.span,
            format!(
                "`{}` and `{}` depend on each other, one with `mu`, one with `nu`",
                definition.name, other.name
            ),
        )
        .help("the one that is used from outside is the outer fixpoint");
        told.push((place.file, warning));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn components_come_after_what_they_lead_to() {
        // 0 -> 1 -> 2 -> 1, 2 -> 3, 4 alone
        let edges = [vec![1], vec![2], vec![1, 3], vec![], vec![]];
        let list = components(&[DefId(0), DefId(4)], |def, out| {
            out.extend(edges[def.0 as usize].iter().map(|&i| DefId(i)));
        });
        let list: Vec<Vec<u32>> = list
            .iter()
            .map(|c| c.iter().map(|d| d.0).collect())
            .collect();
        assert_eq!(list, [vec![3], vec![1, 2], vec![0], vec![4]]);
    }

    #[test]
    fn a_long_chain_needs_no_stack() {
        let list = components(&[DefId(0)], |def, out| {
            if def.0 < 300_000 {
                out.push(DefId(def.0 + 1));
            }
        });
        assert_eq!(list.len(), 300_001);
    }
}
