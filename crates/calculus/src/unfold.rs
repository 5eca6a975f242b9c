//! Recursion that goes through a step predicate, made direct.
//!
//! Many theories write the step as a predicate that mentions the states found so far:
//!
//! ```text
//! mu bool Step(State s, State t) Cell(s.a, t.a) assume Reach(s) & Cell(s.b, t.b) assume Reach(s);
//! mu bool Reach(State s) Start(s) | (exists State p. Step(p, s) & Reach(p));
//! ```
//!
//! Taken as it stands, all of `Step` is computed again in every round. Here the body of `Step` is
//! put in place of `Step(p, s)`, and equal conjuncts become one. Then `Reach` is linear in itself,
//! a round is the image of what is new, and `Cell` is computed once. The least solution is the same
//! (Bekić). This is done where a recursion is not linear before and is linear afterwards, and
//! nowhere else. If `Cell` is a conjunction, its conjuncts take its place, too.
//!
//! Within a recursion, `p assume g` and `p cofactor g` are `p & g` if they mention what is being
//! computed. Their values outside of `g` are not defined, so this is one of the values they may have, and
//! one that depends neither on the order of variables nor on the round.
//!
//! What keeps it honest: the random theories of `tests/random`, which have all of this in them.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::depend::{components, references};
use crate::rewrite::{Shape, below_all, shapes};
use crate::syntax::Fixpoint;
use crate::term::{Argument, DefId, Of, Term, TermId, VarId};
use crate::theory::{Action, Theory, Variable};

/// Bodies with more terms are left as they are.
const MOST_TERMS: usize = 20_000;
/// Neither is one that needs more bits.
const MOST_BITS: u32 = 1 << 20;
/// How deep they are put into each other.
const DEEPEST: u32 = 16;
/// Conjunctions are multiplied with disjunctions of at most this length.
const MOST_DISJUNCTS: usize = 64;

/// The recursive components, callees first.
fn recursive(theory: &Theory) -> Vec<Vec<DefId>> {
    let all: Vec<DefId> = (0..theory.definitions.len() as u32).map(DefId).collect();
    let mut list = components(&all, |def, out| {
        out.extend(theory.definition(def).references.iter().map(|(d, _)| *d));
    });
    list.retain(|members| {
        let own = |def: &DefId| {
            let used = &theory.definition(*def).references;
            used.iter().any(|(other, _)| other == def)
        };
        members.len() > 1 || members.iter().any(own)
    });
    list
}

/// Whether a term applies one of the predicates, for each in a list that has operands first.
fn mentions(
    theory: &Theory,
    list: &[TermId],
    members: &FxHashSet<DefId>,
) -> FxHashMap<TermId, bool> {
    let mut found: FxHashMap<TermId, bool> = FxHashMap::default();
    for &id in list {
        let mut any = match theory.terms.get(id) {
            Term::Apply(def, ..) => members.contains(def),
            Term::Exists(_, body) => found[body],
            _ => false,
        };
        if !matches!(theory.terms.get(id), Term::Exists(..)) {
            theory.terms.operands(id, |operand| any |= found[&operand]);
        }
        found.insert(id, any);
    }
    found
}

/// Makes conjunctions of `assume` and `cofactor` where they mention what is being computed.
pub(crate) fn replace_care(theory: &mut Theory) {
    let has_care = |id: u32| matches!(theory.terms.get(TermId(id)), Term::Care(..));
    if !(0..theory.terms.len() as u32).any(has_care) {
        return;
    }
    for members in recursive(theory) {
        let set: FxHashSet<DefId> = members.iter().copied().collect();
        for def in members {
            let definition = theory.definition(def);
            let (body, dual) = (definition.body, definition.dual);
            let body = body.map(|root| without_care(theory, root, &set));
            let dual = dual.map(|root| without_care(theory, root, &set));
            let used = body.map(|root| references(&theory.terms, root));
            let definition = &mut theory.definitions[def.0 as usize];
            (definition.body, definition.dual) = (body, dual);
            definition.references = used.unwrap_or_default();
        }
    }
}

fn without_care(theory: &mut Theory, root: TermId, members: &FxHashSet<DefId>) -> TermId {
    let list = below_all(&theory.terms, root);
    let mentions = mentions(theory, &list, members);
    let is_care = |id: &TermId| mentions[id] && matches!(theory.terms.get(*id), Term::Care(..));
    if !list.iter().any(is_care) {
        return root;
    }
    let mut new: FxHashMap<TermId, TermId> = FxHashMap::default();
    for id in list {
        let replaced = match theory.terms.get(id) {
            Term::Care(_, f, g) if mentions[&id] => {
                let both = vec![new[f], new[g]];
                theory.terms.and(both)
            }
            _ => rebuilt(theory, id, &new),
        };
        new.insert(id, replaced);
    }
    new[&root]
}

/// The term with its operands replaced.
fn rebuilt(theory: &mut Theory, id: TermId, new: &FxHashMap<TermId, TermId>) -> TermId {
    let map = |list: &[TermId]| -> Vec<TermId> { list.iter().map(|id| new[id]).collect() };
    let terms = &mut theory.terms;
    match terms.get(id).clone() {
        Term::Not(a) => terms.not(new[&a]),
        Term::And(list) => terms.and(map(&list)),
        Term::Or(list) => terms.or(map(&list)),
        Term::Iff(a, b) => terms.iff(new[&a], new[&b]),
        Term::Ite(c, t, e) => terms.ite(new[&c], new[&t], new[&e]),
        Term::Care(kind, f, g) => terms.add(Term::Care(kind, new[&f], new[&g])),
        Term::Exists(vars, body) => terms.exists(&vars, new[&body]),
        Term::Constant(_) | Term::Equal(..) | Term::Code(..) | Term::Apply(..) => id,
    }
}

/// Makes recursions direct.
pub(crate) fn unfold(theory: &mut Theory) {
    let mut asked: FxHashSet<DefId> = FxHashSet::default();
    for action in &theory.actions {
        match action {
            Action::Query(question) | Action::Witness(_, question) => {
                asked.extend(question.references.iter().map(|(def, _)| *def));
            }
            Action::Count(def, _)
            | Action::Size(def, _)
            | Action::Dump(def, _)
            | Action::Tuples(def, ..) => {
                asked.insert(*def);
            }
            _ => {}
        }
    }
    let components = recursive(theory);
    let circular: FxHashSet<DefId> = components.iter().flatten().copied().collect();
    for members in components {
        if members.len() == 1 || !is_sound(theory, &members) || is_linear(theory, &members) {
            continue;
        }
        let set: FxHashSet<DefId> = members.iter().copied().collect();
        let is_outside = |def: u32| !set.contains(&DefId(def));
        let all = (0..theory.definitions.len() as u32).filter(|&def| is_outside(def));
        let used = all.flat_map(|def| &theory.definitions[def as usize].references);
        let used: FxHashSet<DefId> = used.map(|(def, _)| *def).collect();
        let wanted = members.iter().copied();
        let wanted = wanted.filter(|def| asked.contains(def) || used.contains(def));
        for outer in wanted.collect::<Vec<DefId>>() {
            let bits = theory.bits;
            let variables = theory.variables.len();
            if let Some((body, locals)) = direct(theory, outer, (&set, &circular)) {
                let used = references(&theory.terms, body);
                let definition = &mut theory.definitions[outer.0 as usize];
                definition.body = Some(body);
                definition.references = used;
                definition.locals.extend(locals);
                break;
            }
            theory.bits = bits;
            theory.variables.truncate(variables);
        }
    }
}

/// Whether all of a component are least fixpoints that can be computed, and grow with each other.
/// Where one uses another negatively, the result depends on which fixpoint is the outer one, and
/// two negations that meet in a body would hide that.
fn is_sound(theory: &Theory, members: &[DefId]) -> bool {
    members.iter().all(|&def| {
        let definition = theory.definition(def);
        let mut used = definition.references.iter();
        definition.fixpoint == Fixpoint::Mu
            && definition.body.is_some()
            && !definition.broken
            && used.all(|(other, sign)| !sign.negative || !members.contains(other))
    })
}

fn disjuncts(theory: &Theory, root: TermId) -> Vec<TermId> {
    match theory.terms.get(root) {
        Term::Or(list) => list.to_vec(),
        _ => vec![root],
    }
}

/// Whether all disjuncts of all bodies distribute over union.
fn is_linear(theory: &Theory, members: &[DefId]) -> bool {
    let bodies = members
        .iter()
        .filter_map(|def| theory.definition(*def).body);
    bodies.into_iter().all(|body| {
        let shapes = shapes(&theory.terms, body, Of::Value, |def| members.contains(&def));
        let mut list = disjuncts(theory, body).into_iter();
        list.all(|id| shapes[&id] != Shape::Other)
    })
}

/// The body of `outer` with all other members of its component replaced, if it is linear, and its
/// new variables.
fn direct(
    theory: &mut Theory,
    outer: DefId,
    (members, circular): (&FxHashSet<DefId>, &FxHashSet<DefId>),
) -> Option<(TermId, Vec<VarId>)> {
    let inner = |def: DefId| def != outer && members.contains(&def);
    let lists = components(&[outer], |def, out| {
        let used = theory.definition(def).references.iter().map(|(d, _)| *d);
        out.extend(used.filter(|used| inner(*used)));
    });
    let recursive = |list: &Vec<DefId>| {
        let used = &theory.definition(list[0]).references;
        list.len() > 1 || list[0] != outer && used.iter().any(|(def, _)| *def == list[0])
    };
    if lists.iter().any(recursive) {
        return None;
    }
    let mut unfolder = Unfolder {
        theory,
        members,
        circular,
        bodies: FxHashMap::default(),
        locals: Vec::new(),
        count: 0,
        depth: 0,
    };
    for def in lists.into_iter().flatten() {
        let body = unfolder.theory.definition(def).body?;
        let body = unfolder.unfolded(body, None)?;
        unfolder.bodies.insert(def, body);
    }
    let Unfolder { bodies, locals, .. } = unfolder;
    let body = bodies[&outer];
    let shapes = shapes(&theory.terms, body, Of::Value, |def| def == outer);
    let mut list = disjuncts(theory, body).into_iter();
    list.all(|id| shapes[&id] != Shape::Other)
        .then_some((body, locals))
}

struct Unfolder<'a> {
    theory: &'a mut Theory,
    members: &'a FxHashSet<DefId>,
    /// All predicates that depend on themselves.
    circular: &'a FxHashSet<DefId>,
    /// Bodies that mention no member but the outer one.
    bodies: FxHashMap<DefId, TermId>,
    /// New variables.
    locals: Vec<VarId>,
    /// Terms that have been made.
    count: usize,
    /// How many conjunctions are being put into each other.
    depth: u32,
}

/// Where the bits of a body's variables go.
struct Places<'a> {
    /// Parameters and their arguments.
    parameters: &'a [(VarId, u32)],
    /// Variables of quantifiers and their copies.
    copies: FxHashMap<VarId, VarId>,
}

impl Unfolder<'_> {
    /// The term with the bodies known so far in place of their predicates. If it is a body that is
    /// put in place of an application, `places` has the arguments; its quantifiers get new
    /// variables.
    fn unfolded(&mut self, root: TermId, mut places: Option<Places<'_>>) -> Option<TermId> {
        let list = below_all(&self.theory.terms, root);
        self.count += list.len();
        if self.count > MOST_TERMS || self.theory.bits > MOST_BITS {
            return None;
        }
        let mut new: FxHashMap<TermId, TermId> = FxHashMap::default();
        for id in list {
            let replaced = match (self.theory.terms.get(id).clone(), &mut places) {
                (Term::Equal(a, b, bits), Some(places)) => {
                    let (a, b) = (self.moved(a, places), self.moved(b, places));
                    self.theory.terms.equal(a, b, bits)
                }
                (Term::Code(first, width, code), Some(places)) => {
                    let first = self.moved(first, places);
                    self.theory.terms.code(first, width, code)
                }
                (Term::Apply(def, of, mut arguments), places) => {
                    if let Some(places) = places {
                        for argument in &mut arguments {
                            if let Argument::Bits(first) = argument {
                                *first = self.moved(*first, places);
                            }
                        }
                    }
                    match self.bodies.get(&def).copied() {
                        Some(body) => self.applied(def, body, &arguments)?,
                        None => match self.conjunction(def, of, &arguments) {
                            Some(body) => {
                                self.depth += 1;
                                let applied = self.applied(def, body, &arguments);
                                self.depth -= 1;
                                applied?
                            }
                            None => self.theory.terms.add(Term::Apply(def, of, arguments)),
                        },
                    }
                }
                (Term::Exists(vars, body), Some(places)) => {
                    let vars: Vec<VarId> = vars.iter().map(|&id| self.copy(id, places)).collect();
                    let body = self.distributed(new[&body]);
                    self.theory.terms.exists(&vars, body)
                }
                (Term::Exists(vars, body), None) => {
                    let body = self.distributed(new[&body]);
                    self.theory.terms.exists(&vars, body)
                }
                _ => rebuilt(self.theory, id, &new),
            };
            new.insert(id, replaced);
        }
        Some(self.distributed(new[&root]))
    }

    /// The body of a predicate that is a conjunction, if it can be put in place of the application.
    /// Multiplied out it would often be large, and its conjuncts are not: they are multiplied in one by
    /// one, or a few together.
    fn conjunction(&self, def: DefId, of: Of, arguments: &[Argument]) -> Option<TermId> {
        let is_code = |argument: &Argument| matches!(argument, Argument::Code(_));
        let body = self.theory.definition(def).body?;
        let fits = of == Of::Value
            && !self.circular.contains(&def)
            && self.depth < DEEPEST
            && !arguments.iter().any(is_code)
            && matches!(self.theory.terms.get(body), Term::And(_))
            && self.count + below_all(&self.theory.terms, body).len() <= MOST_TERMS;
        fits.then_some(body)
    }

    /// The body of a predicate, applied.
    fn applied(&mut self, def: DefId, body: TermId, arguments: &[Argument]) -> Option<TermId> {
        let parameters = &self.theory.definition(def).parameters;
        let mut pairs = Vec::new();
        for (argument, &parameter) in arguments.iter().zip(parameters) {
            match argument {
                Argument::Bits(first) => pairs.push((parameter, *first)),
                Argument::Code(_) => return None,
            }
        }
        let places = Places {
            parameters: &pairs,
            copies: FxHashMap::default(),
        };
        self.unfolded(body, Some(places))
    }

    /// Where a bit goes.
    fn moved(&mut self, bit: u32, places: &mut Places<'_>) -> u32 {
        let variables = &self.theory.variables;
        let after = variables.partition_point(|variable| variable.first <= bit);
        // Variables without bits have the number of the next one's first bit.
        let owner = VarId(after.saturating_sub(1) as u32);
        let offset = bit - self.theory.variable(owner).first;
        let mut parameters = places.parameters.iter();
        if let Some((_, first)) = parameters.find(|(id, _)| *id == owner) {
            return first + offset;
        }
        let copy = self.copy(owner, places);
        self.theory.variable(copy).first + offset
    }

    /// The new variable for a quantifier's variable.
    fn copy(&mut self, id: VarId, places: &mut Places<'_>) -> VarId {
        let theory = &mut *self.theory;
        *places.copies.entry(id).or_insert_with(|| {
            let new = VarId(theory.variables.len() as u32);
            let Variable { name, ty, .. } = theory.variable(id).clone();
            let first = theory.bits;
            theory.bits += theory.types.get(ty).width;
            // It shares no BDD variables with others: nobody asks where its scope ends.
            let scopes = vec![(0, u32::MAX)];
            theory.variables.push(Variable {
                name,
                ty,
                first,
                scopes,
            });
            self.locals.push(new);
            new
        })
    }

    /// A conjunction with a disjunction in it that both mention what is being computed, multiplied
    /// out: `(a & R | b & R) & R` is `a & R | b & R`.
    fn distributed(&mut self, id: TermId) -> TermId {
        let Term::And(list) = self.theory.terms.get(id) else {
            return id;
        };
        let list = list.to_vec();
        let below = below_all(&self.theory.terms, id);
        let mentions = mentions(self.theory, &below, self.members);
        let mut recursive = list.iter().filter(|id| mentions[id]);
        if recursive.clone().count() < 2 {
            return id;
        }
        let is_short = |id: &&TermId| match self.theory.terms.get(**id) {
            Term::Or(disjuncts) => disjuncts.len() <= MOST_DISJUNCTS,
            _ => false,
        };
        let Some(&chosen) = recursive.find(is_short) else {
            return id;
        };
        let rest: Vec<TermId> = list.into_iter().filter(|&part| part != chosen).collect();
        let mut parts = Vec::new();
        for disjunct in disjuncts(self.theory, chosen) {
            let mut conjuncts = vec![disjunct];
            conjuncts.extend(&rest);
            parts.push(self.theory.terms.and(conjuncts));
        }
        self.theory.terms.or(parts)
    }
}
