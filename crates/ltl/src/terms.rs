//! The automaton of a formula whose unfoldings are too large as decision diagrams.
//!
//! The construction is that of [`tableau`](crate::tableau), but the one-step unfolding of a formula
//! is a list of *terms*: letters, what must hold from the next position on, and the promises.
//! Diagrams over letters and obligations together grow exponentially where lists need not, as for
//! `G a | G b | ...` or `a U (b U (c U ...))`: each letter leaves another set of choices.
//!
//! **Terms that are dropped.** Say `f ⊑ g` if every term of `f` contains a term of `g`: its
//! letters, all its obligations, all its promises, and perhaps more. This holds if the ways down
//! from `f` and from `g` meet in some formula. From `f` the way leads through conjunctions, `G` and
//! the right sides of `R` and `M`; from `g` it leads through disjunctions, `F` and the right sides
//! of `U` and `W`.
//!
//! Lift the relation to sets: `A ⊑ B` if each member of `B` is above one of `A`. Then `B`, as a
//! state, simulates `A` directly: for each term of the product of `A` there is one of the product
//! of `B` with fewer obligations and promises. So a term is dropped, for the letters that another
//! term has as well, if the other has no promise that this one does not have and its obligations
//! are above. And an obligation is dropped if another one of the set is below. The same holds for
//! products of lists that were shortened like that, so it is done early. (That pruning and merging
//! along a direct simulation is sound: Etessami and Holzmann, CONCUR 2000.)
//!
//! **Levels.** For `G F a & G F b & ...` even the list is exponential, because each letter keeps
//! another set of promises. With levels, a state waits for one promise at a time, as when a
//! generalised Büchi automaton is made an ordinary one (Gerth, Peled, Vardi and Wolper, PSTV 1995).
//! The other promises are always made, so they are not listed. The automaton has one mark.
//!
//! Terms, with and without levels, are compared with the meaning of random formulas. They are
//! chosen only where diagrams are too large.

use std::rc::Rc;

use droste_base::StopReason;
use droste_bdd::{Bdd, Manager, Var};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::draft::{Draft, DraftEdge, MOST_DRAFT_MARKS, Marks, all_marks};
use crate::promises::Promises;
use crate::translate::Untranslatable;
use droste_automata::formula::{AtomId, FormulaId, Formulas, Node};

/// In longer lists, only terms that are equal but for their letters are compared.
const COMPARED: usize = 512;
/// How many formulas are taken apart on the way down from one formula, and how many are met at
/// most.
const DESCENT: usize = 16;
const MET: usize = 256;

/// One way to satisfy a formula now.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Term {
    guard: Bdd,
    /// What must hold from the next position on; in order.
    next: Rc<[FormulaId]>,
    /// The eventualities that are put off.
    promises: Marks,
}

type Terms = Rc<[Term]>;

/// How to go about it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    /// Whether there are levels.
    pub(crate) levels: bool,
    /// How long lists may become.
    pub(crate) terms: usize,
    /// How many edges there may be.
    pub(crate) edges: usize,
}

/// Why a construction ended.
enum End {
    /// A list became too long, or there are too many edges.
    Long,
    Failed(Untranslatable),
}

impl From<StopReason> for End {
    fn from(reason: StopReason) -> Self {
        End::Failed(reason.into())
    }
}

pub(crate) struct Expansion<'a> {
    formulas: &'a mut Formulas,
    manager: Manager,
    atoms: Vec<(Var, AtomId)>,
    atom_vars: FxHashMap<AtomId, Var>,
    promises: Promises,
    plan: Plan,
    /// For each level (there may be one only), the terms of formulas.
    expanded: Vec<FxHashMap<FormulaId, Terms>>,
    /// The promises that may occur in the terms of a formula.
    possible: FxHashMap<FormulaId, Marks>,
    below: FxHashMap<FormulaId, Rc<[FormulaId]>>,
    above: FxHashMap<FormulaId, Rc<[FormulaId]>>,
}

impl<'a> Expansion<'a> {
    /// For a formula over some atoms; nothing if it has too many eventualities.
    pub(crate) fn new(
        formulas: &'a mut Formulas,
        root: FormulaId,
        manager: &Manager,
        atoms: &[(Var, AtomId)],
        mut promises: Promises,
        plan: Plan,
    ) -> Option<Self> {
        for id in formulas.closure(root) {
            if Promises::is_eventuality(formulas, id) {
                promises.mark(formulas, id)?;
            }
        }
        let levels = if plan.levels {
            promises.count().max(1)
        } else {
            1
        };
        Some(Expansion {
            formulas,
            manager: manager.clone(),
            atom_vars: atoms.iter().map(|&(var, atom)| (atom, var)).collect(),
            atoms: atoms.to_vec(),
            promises,
            plan,
            expanded: vec![FxHashMap::default(); levels],
            possible: FxHashMap::default(),
            below: FxHashMap::default(),
            above: FxHashMap::default(),
        })
    }

    /// The formulas whose terms are contained in the terms of `f` (if `conjunctive`), or are terms
    /// of `f`; in order.
    fn descent(&mut self, f: FormulaId, conjunctive: bool) -> Rc<[FormulaId]> {
        let known = if conjunctive {
            &self.below
        } else {
            &self.above
        };
        if let Some(known) = known.get(&f) {
            return Rc::clone(known);
        }
        let mut found = vec![f];
        let mut at = 0;
        while at < found.len().min(DESCENT) {
            let id = found[at];
            at += 1;
            match (self.formulas.node(id), conjunctive) {
                (Node::And(operands), true) | (Node::Or(operands), false) => {
                    let room = MET.saturating_sub(found.len());
                    found.extend(operands.iter().take(room));
                }
                (Node::Globally(a) | Node::Release(_, a) | Node::StrongRelease(_, a), true)
                | (Node::Finally(a) | Node::Until(_, a) | Node::WeakUntil(_, a), false) => {
                    found.push(a);
                }
                _ => {}
            }
        }
        found.sort_unstable();
        found.dedup();
        let found: Rc<[FormulaId]> = found.into();
        let known = if conjunctive {
            &mut self.below
        } else {
            &mut self.above
        };
        known.insert(f, Rc::clone(&found));
        found
    }

    /// `f ⊑ g`, as far as it is seen.
    fn is_below(&mut self, f: FormulaId, g: FormulaId) -> bool {
        if f == g {
            return true;
        }
        let (down, up) = (self.descent(f, true), self.descent(g, false));
        down.iter().any(|id| up.binary_search(id).is_ok())
    }

    /// Whether `better` makes `worse` superfluous, for the letters that both have.
    fn absorbs(&mut self, better: &Term, worse: &Term) -> bool {
        better.promises & !worse.promises == 0
            && better.next.iter().all(|&g| {
                worse.next.binary_search(&g).is_ok()
                    || worse.next.iter().any(|&f| self.is_below(f, g))
            })
    }

    /// The union of two sets of obligations, without those that others imply.
    fn both(&mut self, a: &Rc<[FormulaId]>, b: &Rc<[FormulaId]>) -> Rc<[FormulaId]> {
        if a.is_empty() || a == b {
            return Rc::clone(b);
        }
        if b.is_empty() {
            return Rc::clone(a);
        }
        let mut list: Vec<FormulaId> = a.iter().chain(b.iter()).copied().collect();
        list.sort_unstable();
        list.dedup();
        if list.len() <= COMPARED {
            let mut i = 0;
            while i < list.len() {
                let g = list[i];
                if (0..list.len()).any(|j| j != i && self.is_below(list[j], g)) {
                    list.remove(i);
                } else {
                    i += 1;
                }
            }
        }
        list.into()
    }

    /// Joins terms that differ in their letters only, and drops what is superfluous.
    fn tidy(&mut self, list: Vec<Term>) -> Result<Terms, End> {
        let mut places: FxHashMap<(Rc<[FormulaId]>, Marks), usize> = FxHashMap::default();
        let mut joined: Vec<Term> = Vec::with_capacity(list.len());
        for term in list {
            self.manager.check_limits()?;
            let next = joined.len();
            let place = *places
                .entry((Rc::clone(&term.next), term.promises))
                .or_insert(next);
            if place == next {
                joined.push(term);
            } else {
                joined[place].guard = joined[place].guard.or(&term.guard)?;
            }
        }
        if joined.len() > self.plan.terms {
            return Err(End::Long);
        }
        if joined.len() <= COMPARED {
            // Whenever a term loses letters, another one has them at that moment: none is lost,
            // whatever the order.
            for i in 0..joined.len() {
                for j in 0..joined.len() {
                    if i == j || joined[i].guard.is_false() || joined[j].guard.is_false() {
                        continue;
                    }
                    let (worse, better) = (joined[i].clone(), joined[j].clone());
                    if self.absorbs(&better, &worse) {
                        joined[i].guard = worse.guard.minus(&better.guard)?;
                    }
                }
            }
            joined.retain(|term| !term.guard.is_false());
        }
        joined.sort_by(|a, b| (&a.next, a.promises).cmp(&(&b.next, b.promises)));
        Ok(joined.into())
    }

    fn and(&mut self, a: &Terms, b: &Terms) -> Result<Terms, End> {
        let is_true = |t: &Terms| matches!(&t[..], [only] if only.guard.is_true() && only.next.is_empty() && only.promises == 0);
        if is_true(a) || b.is_empty() {
            return Ok(Rc::clone(b));
        }
        if is_true(b) || a.is_empty() {
            return Ok(Rc::clone(a));
        }
        let mut list = Vec::new();
        for x in a.iter() {
            for y in b.iter() {
                self.manager.check_limits()?;
                let guard = x.guard.and(&y.guard)?;
                if guard.is_false() {
                    continue;
                }
                list.push(Term {
                    guard,
                    next: self.both(&x.next, &y.next),
                    promises: x.promises | y.promises,
                });
            }
        }
        self.tidy(list)
    }

    fn or(&mut self, a: &Terms, b: &Terms) -> Result<Terms, End> {
        self.tidy(a.iter().chain(b.iter()).cloned().collect())
    }

    /// A single term for all letters.
    fn later(&self, formula: FormulaId, promises: Marks) -> Terms {
        let next: Rc<[FormulaId]> = match self.formulas.node(formula) {
            Node::True => Rc::new([]),
            Node::False => return Rc::new([]),
            // In order and none twice.
            Node::And(operands) => operands.into(),
            _ => Rc::new([formula]),
        };
        Rc::new([Term {
            guard: self.manager.constant(true),
            next,
            promises,
        }])
    }

    /// Only the letters for which an atom has a value.
    fn now(guard: Bdd) -> Terms {
        if guard.is_false() {
            return Rc::new([]);
        }
        Rc::new([Term {
            guard,
            next: Rc::new([]),
            promises: 0,
        }])
    }

    fn conjuncts(&self, f: FormulaId) -> Vec<FormulaId> {
        match self.formulas.node(f) {
            Node::And(operands) => operands.to_vec(),
            _ => vec![f],
        }
    }

    /// The terms of a formula, with the promises that count at this level.
    fn expand(&mut self, root: FormulaId, level: usize) -> Result<Terms, End> {
        if let Some(known) = self.expanded[level].get(&root) {
            return Ok(Rc::clone(known));
        }
        // What is below `X` is not looked at now.
        let mut needed = Vec::new();
        let mut stack = vec![root];
        let mut seen = FxHashSet::default();
        while let Some(id) = stack.pop() {
            if self.expanded[level].contains_key(&id) || !seen.insert(id) {
                continue;
            }
            needed.push(id);
            match self.formulas.node(id) {
                Node::Next(_) => {}
                Node::Globally(a) => stack.extend(self.conjuncts(a)),
                _ => self.formulas.children(id, |child| stack.push(child)),
            }
        }
        needed.sort_unstable();
        for id in needed {
            self.manager.check_limits()?;
            let terms = self.expand_one(id, level)?;
            self.expanded[level].insert(id, terms);
        }
        Ok(Rc::clone(&self.expanded[level][&root]))
    }

    fn expand_one(&mut self, id: FormulaId, level: usize) -> Result<Terms, End> {
        let known = |this: &Self, f: FormulaId| Rc::clone(&this.expanded[level][&f]);
        let counts = if self.plan.levels {
            1 << level
        } else {
            Marks::MAX
        };
        let promise = if Promises::is_eventuality(self.formulas, id) {
            let mark = self.promises.mark(self.formulas, id);
            let mark = mark.ok_or(End::Failed(Untranslatable::TooManyMarks(
                crate::draft::MOST_DRAFT_MARKS,
            )))?;
            (1 << mark) & counts
        } else {
            0
        };
        match self.formulas.node(id) {
            Node::True => Ok(Self::now(self.manager.constant(true))),
            Node::False => Ok(Self::now(self.manager.constant(false))),
            Node::Atom(atom) => Ok(Self::now(self.manager.var(self.atom_vars[&atom])?)),
            Node::Not(a) => match self.formulas.node(a) {
                Node::Atom(atom) => Ok(Self::now(self.manager.var(self.atom_vars[&atom])?.not())),
                _ => unreachable!("not in negation normal form"),
            },
            Node::And(operands) => {
                let operands = operands.to_vec();
                let mut result = Self::now(self.manager.constant(true));
                for operand in operands {
                    let next = known(self, operand);
                    result = self.and(&result, &next)?;
                }
                Ok(result)
            }
            Node::Or(operands) => {
                let mut list = Vec::new();
                for &operand in operands {
                    list.extend(known(self, operand).iter().cloned());
                }
                self.tidy(list)
            }
            Node::Next(a) => Ok(self.later(a, 0)),
            Node::Finally(a) => {
                let put_off = self.later(id, promise);
                self.or(&known(self, a), &put_off)
            }
            Node::Globally(a) => {
                // One after the other, so that what `G` asks for anyway is dropped before there are
                // many combinations.
                let mut result = self.later(id, 0);
                for part in self.conjuncts(a) {
                    result = self.and(&known(self, part), &result)?;
                }
                Ok(result)
            }
            Node::Until(a, b) | Node::WeakUntil(a, b) => {
                let put_off = self.later(id, promise);
                let wait = self.and(&known(self, a), &put_off)?;
                self.or(&known(self, b), &wait)
            }
            Node::Release(a, b) | Node::StrongRelease(a, b) => {
                let put_off = self.later(id, promise);
                let either = self.or(&known(self, a), &put_off)?;
                self.and(&known(self, b), &either)
            }
            Node::Implies(..) | Node::Iff(..) | Node::Xor(..) => {
                unreachable!("not in negation normal form")
            }
        }
    }

    /// The promises that may occur in the terms of a formula.
    fn possible(&mut self, root: FormulaId) -> Result<Marks, End> {
        let needed = self
            .formulas
            .read_now(root, |id| self.possible.contains_key(&id));
        for id in needed {
            let mut marks = 0;
            if Promises::is_eventuality(self.formulas, id) {
                let mark = self.promises.mark(self.formulas, id);
                marks |= 1
                    << mark.ok_or(End::Failed(Untranslatable::TooManyMarks(
                        crate::draft::MOST_DRAFT_MARKS,
                    )))?;
            }
            if !matches!(self.formulas.node(id), Node::Next(_)) {
                let known = &self.possible;
                self.formulas.children(id, |child| marks |= known[&child]);
            }
            self.possible.insert(id, marks);
        }
        Ok(self.possible[&root])
    }

    /// The level in a state after `level` at the edge to it, and whether all levels were passed.
    /// Levels whose promise is never made in the state are passed at once.
    fn level(&mut self, state: FormulaId, mut level: usize) -> Result<(usize, bool), End> {
        let possible = self.possible(state)?;
        let count = self.expanded.len();
        let pass = |level: &mut usize| {
            while *level < count && possible >> *level & 1 == 0 {
                *level += 1;
            }
        };
        pass(&mut level);
        let all = level == count;
        if all {
            level = 0;
            pass(&mut level);
        }
        Ok((if level == count { 0 } else { level }, all))
    }

    /// The automaton; nothing if it is larger than planned.
    pub(crate) fn build(mut self, root: FormulaId) -> Result<Option<Draft>, Untranslatable> {
        match self.explore(root) {
            Ok(draft) => Ok(Some(draft)),
            Err(End::Long) => Ok(None),
            Err(End::Failed(reason)) => Err(reason),
        }
    }

    fn explore(&mut self, root: FormulaId) -> Result<Draft, End> {
        let levels = self.plan.levels;
        // States with the same terms are the same.
        let mut states: FxHashMap<(Terms, usize), u32> = FxHashMap::default();
        let mut by_formula: FxHashMap<(FormulaId, usize), u32> = FxHashMap::default();
        let mut queue: Vec<(FormulaId, usize, Terms)> = Vec::new();
        let mut edges: Vec<Vec<DraftEdge>> = Vec::new();
        let mut count = 0;
        let level = if levels { self.level(root, 0)?.0 } else { 0 };
        let terms = self.expand(root, level)?;
        states.insert((Rc::clone(&terms), level), 0);
        by_formula.insert((root, level), 0);
        queue.push((root, level, terms));
        while edges.len() < queue.len() {
            let (_, level, terms) = &queue[edges.len()];
            let (level, terms) = (*level, Rc::clone(terms));
            count += terms.len();
            if count > self.plan.edges {
                return Err(End::Long);
            }
            let mut list = Vec::with_capacity(terms.len());
            for term in terms.iter() {
                self.manager.check_limits()?;
                let conjunction = self.formulas.and(term.next.iter().copied());
                let (next_level, marks) = if levels {
                    let (next, all) =
                        self.level(conjunction, level + usize::from(term.promises == 0))?;
                    (next, Marks::from(all))
                } else {
                    // Later, when all marks are known, these become the marks it has.
                    (0, term.promises)
                };
                let target = if let Some(&target) = by_formula.get(&(conjunction, next_level)) {
                    target
                } else {
                    let terms = self.expand(conjunction, next_level)?;
                    let next = queue.len() as u32;
                    let target = *states
                        .entry((Rc::clone(&terms), next_level))
                        .or_insert(next);
                    if target == next {
                        queue.push((conjunction, next_level, terms));
                    }
                    by_formula.insert((conjunction, next_level), target);
                    target
                };
                list.push(DraftEdge {
                    guard: term.guard.clone(),
                    marks,
                    target,
                });
            }
            edges.push(list);
        }
        let marks = if levels { 1 } else { self.promises.count() };
        if !levels {
            let all = all_marks(marks);
            for edge in edges.iter_mut().flatten() {
                edge.marks = all & !edge.marks;
            }
        }
        debug_assert!(marks <= MOST_DRAFT_MARKS);
        let mut draft = Draft {
            manager: self.manager.clone(),
            atoms: self.atoms.clone(),
            initial: 0,
            edges,
            formulas: queue
                .into_iter()
                .map(|(formula, ..)| Some(formula))
                .collect(),
            marks,
            deterministic: false,
            spare: Vec::new(),
        };
        draft.merge_edges()?;
        Ok(draft)
    }
}
