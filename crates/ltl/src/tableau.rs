//! From a formula in negation normal form to an automaton, on the fly.
//!
//! This is the construction of Couvreur, *On-the-fly verification of linear temporal logic* (FM
//! 1999), as refined by Duret-Lutz, *LTL translation improvements in Spot* (`VECoS` 2011). A state
//! is a formula. Its one-step unfolding is a decision diagram over three kinds of variables: atoms;
//! `next(g)`, which says that `g` must hold from the next position on; and `promise(g)`, which says
//! that an until whose right side is `g` has been put off. States whose unfoldings are the same
//! diagram are the same state. The atoms are on top of the order, so each diagram below them is
//! what is left to do for a set of letters, and its prime implicants are the edges for these
//! letters. An edge has the mark of `g` if it does not promise `g`. (What is promised may be
//! something else than the right side: see [`promises`](crate::promises).)
//!
//! Diagrams can be much larger than the automaton; then [`terms`](crate::terms) takes over.

use std::collections::BTreeMap;

use droste_base::StopReason;
use droste_bdd::{Bdd, Manager, Var};
use rustc_hash::FxHashMap;

use crate::cover::cover_at_most;
use crate::draft::{Draft, DraftEdge, Marks, all_marks};
use crate::promises::Promises;
use crate::translate::Untranslatable;
use droste_automata::formula::{AtomId, FormulaId, Formulas, Node};

/// What a variable that is no atom says.
#[derive(Clone, Copy, Debug)]
enum Meaning {
    Next(FormulaId),
    Promise(u32),
}

/// Diagrams with more nodes are too large. So are diagrams that leave more than so many different
/// things to do, depending on the letter.
#[derive(Clone, Copy)]
struct Most {
    nodes: usize,
    letters: usize,
}

const MOST: Most = Most {
    nodes: 1500,
    letters: 1000,
};

/// Where the letter decides what is left to do, there are as many edges as there are things to do,
/// and no other construction has fewer.
const MOST_DETERMINED: Most = Most {
    nodes: 1 << 18,
    letters: 1 << 16,
};

/// The most edges for the same letters.
const MOST_CUBES: usize = 10_000;

/// Why a construction ended.
enum Stop {
    Large,
    Failed(Untranslatable),
}

impl From<StopReason> for Stop {
    fn from(reason: StopReason) -> Self {
        Stop::Failed(reason.into())
    }
}

/// Whether a letter leaves at most one thing to do, in the formula and in all that come after it.
/// Only plain forms are recognised. They are those in which of two choices one is always about the
/// letter alone.
fn is_determined(formulas: &Formulas, root: FormulaId) -> bool {
    #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    enum Kind {
        Letter,
        Determined,
        Other,
    }
    use Kind::{Determined, Letter, Other};
    let mut kinds: FxHashMap<FormulaId, Kind> = FxHashMap::default();
    for id in formulas.closure(root) {
        let of = |f: FormulaId| kinds[&f];
        // Either `a`, or something that is put off, with or without `b`.
        let choice = |a, b| {
            if of(a) == Letter {
                of(b).max(Determined)
            } else {
                Other
            }
        };
        let kind = match formulas.node(id) {
            Node::True | Node::False | Node::Atom(_) => Letter,
            Node::Not(a) | Node::Globally(a) | Node::Next(a) => {
                let least = match formulas.node(id) {
                    Node::Not(_) => Letter,
                    _ => Determined,
                };
                of(a).max(least)
            }
            Node::And(operands) => operands.iter().map(|&f| of(f)).max().unwrap_or(Letter),
            Node::Or(operands) => {
                let mut others = operands.iter().map(|&f| of(f)).filter(|&k| k != Letter);
                match (others.next(), others.next()) {
                    (None, _) => Letter,
                    (Some(only), None) => only,
                    _ => Other,
                }
            }
            Node::Finally(a) => choice(a, a),
            Node::Until(a, b) | Node::WeakUntil(a, b) => choice(b, a),
            Node::Release(a, b) | Node::StrongRelease(a, b) => choice(a, b),
            Node::Implies(..) | Node::Iff(..) | Node::Xor(..) => Other,
        };
        kinds.insert(id, kind);
    }
    kinds[&root] != Other
}

pub(crate) struct Tableau<'a> {
    formulas: &'a mut Formulas,
    manager: Manager,
    atoms: Vec<(Var, AtomId)>,
    atom_vars: FxHashMap<AtomId, Var>,
    next: FxHashMap<FormulaId, Var>,
    promises: Promises,
    promise_vars: Vec<Var>,
    meanings: FxHashMap<Var, Meaning>,
    unfolded: FxHashMap<FormulaId, Bdd>,
    most: Most,
}

impl<'a> Tableau<'a> {
    /// For formulas over some atoms, whose variables are the topmost ones of `manager`.
    pub(crate) fn new(
        formulas: &'a mut Formulas,
        manager: &Manager,
        atoms: &[(Var, AtomId)],
        promises: Promises,
    ) -> Self {
        Tableau {
            formulas,
            manager: manager.clone(),
            atom_vars: atoms.iter().map(|&(var, atom)| (atom, var)).collect(),
            atoms: atoms.to_vec(),
            next: FxHashMap::default(),
            promises,
            promise_vars: Vec::new(),
            meanings: FxHashMap::default(),
            unfolded: FxHashMap::default(),
            most: MOST,
        }
    }

    fn new_var(&mut self, meaning: Meaning) -> Var {
        let var = self.manager.new_vars(1)[0];
        self.meanings.insert(var, meaning);
        var
    }

    /// `formula` holds from the next position on. A conjunction is taken apart.
    fn next(&mut self, formula: FormulaId) -> Result<Bdd, StopReason> {
        let parts: Vec<FormulaId> = match self.formulas.node(formula) {
            Node::True => return Ok(self.manager.constant(true)),
            Node::False => return Ok(self.manager.constant(false)),
            Node::And(operands) => operands.to_vec(),
            _ => vec![formula],
        };
        let mut result = self.manager.constant(true);
        for part in parts {
            let var = if let Some(&var) = self.next.get(&part) {
                var
            } else {
                let var = self.new_var(Meaning::Next(part));
                self.next.insert(part, var);
                var
            };
            result = result.and(&self.manager.var(var)?)?;
        }
        Ok(result)
    }

    /// The promise made where this eventuality is put off.
    fn promise(&mut self, eventuality: FormulaId) -> Result<Bdd, Stop> {
        let mark = self.promises.mark(self.formulas, eventuality);
        let mark = mark.ok_or(Stop::Failed(Untranslatable::TooManyMarks(
            crate::draft::MOST_DRAFT_MARKS,
        )))?;
        if mark as usize == self.promise_vars.len() {
            let var = self.new_var(Meaning::Promise(mark));
            self.promise_vars.push(var);
        }
        Ok(self.manager.var(self.promise_vars[mark as usize])?)
    }

    fn small(&self, diagram: Bdd) -> Result<Bdd, Stop> {
        if diagram.is_larger_than(self.most.nodes) {
            return Err(Stop::Large);
        }
        Ok(diagram)
    }

    /// The one-step unfolding of a formula.
    fn unfold(&mut self, root: FormulaId) -> Result<Bdd, Stop> {
        let needed = self
            .formulas
            .read_now(root, |id| self.unfolded.contains_key(&id));
        for id in needed {
            self.manager.check_limits()?;
            let diagram = self.unfold_one(id)?;
            let diagram = self.small(diagram)?;
            self.unfolded.insert(id, diagram);
        }
        Ok(self.unfolded[&root].clone())
    }

    fn unfold_one(&mut self, id: FormulaId) -> Result<Bdd, Stop> {
        let known = |this: &Self, f: FormulaId| this.unfolded[&f].clone();
        Ok(match self.formulas.node(id) {
            Node::True => self.manager.constant(true),
            Node::False => self.manager.constant(false),
            Node::Atom(atom) => self.manager.var(self.atom_vars[&atom])?,
            Node::Not(a) => known(self, a).not(),
            Node::And(operands) => {
                let mut result = self.manager.constant(true);
                for &operand in operands {
                    result = self.small(result.and(&known(self, operand))?)?;
                }
                result
            }
            Node::Or(operands) => {
                let mut result = self.manager.constant(false);
                for &operand in operands {
                    result = self.small(result.or(&known(self, operand))?)?;
                }
                result
            }
            Node::Next(a) => self.next(a)?,
            Node::Finally(a) => {
                let put_off = self.promise(id)?.and(&self.next(id)?)?;
                known(self, a).or(&put_off)?
            }
            Node::Globally(a) => known(self, a).and(&self.next(id)?)?,
            Node::Until(a, b) => {
                let put_off = self.promise(id)?.and(&self.next(id)?)?;
                known(self, b).or(&known(self, a).and(&put_off)?)?
            }
            Node::WeakUntil(a, b) => {
                let next = self.next(id)?;
                known(self, b).or(&known(self, a).and(&next)?)?
            }
            Node::Release(a, b) => {
                let next = self.next(id)?;
                known(self, b).and(&known(self, a).or(&next)?)?
            }
            Node::StrongRelease(a, b) => {
                let put_off = self.promise(id)?.and(&self.next(id)?)?;
                known(self, b).and(&known(self, a).or(&put_off)?)?
            }
            Node::Implies(..) | Node::Iff(..) | Node::Xor(..) => {
                unreachable!("not in negation normal form")
            }
        })
    }

    /// The letters for which each of the diagrams below the atoms is what is left of `diagram`.
    fn letters(&self, diagram: &Bdd) -> Result<Vec<(Bdd, Bdd)>, Stop> {
        let atoms = self.atoms.len() as u32;
        // By level, topmost first: diagrams and the letters that lead to them.
        let mut waiting: BTreeMap<u32, Vec<(Bdd, Bdd)>> = BTreeMap::new();
        let mut leaves: Vec<(Bdd, Bdd)> = Vec::new();
        let mut places: FxHashMap<Bdd, usize> = FxHashMap::default();
        let mut add = |waiting: &mut BTreeMap<u32, Vec<(Bdd, Bdd)>>,
                       leaves: &mut Vec<(Bdd, Bdd)>,
                       f: Bdd,
                       letters: Bdd| {
            if f.is_false() || letters.is_false() {
                return Ok(());
            }
            let list = match f.decision() {
                Some((var, ..)) if var.0 < atoms => waiting.entry(var.0).or_default(),
                _ => leaves,
            };
            if let Some(&place) = places.get(&f) {
                list[place].1 = list[place].1.or(&letters)?;
            } else {
                places.insert(f.clone(), list.len());
                list.push((f, letters));
            }
            if leaves.len() > self.most.letters {
                return Err(Stop::Large);
            }
            Ok(())
        };
        add(
            &mut waiting,
            &mut leaves,
            diagram.clone(),
            self.manager.constant(true),
        )?;
        while let Some((level, list)) = waiting.pop_first() {
            let var = self.manager.var(Var(level))?;
            for (f, letters) in list {
                if let Some((_, low, high)) = f.decision() {
                    add(&mut waiting, &mut leaves, low, letters.minus(&var)?)?;
                    add(&mut waiting, &mut leaves, high, letters.and(&var)?)?;
                }
            }
        }
        Ok(leaves)
    }

    /// The automaton of a formula.
    ///
    /// The conjunction that a state stands for must not be replaced by an equivalent one: which
    /// untils wait in it matters for the promises. Nothing if there are more than `most` edges, or
    /// diagrams become large.
    pub(crate) fn build(
        self,
        root: FormulaId,
        most: usize,
    ) -> Result<Option<Draft>, Untranslatable> {
        match self.explore(root, most) {
            Ok(draft) => Ok(Some(draft)),
            Err(Stop::Large) => Ok(None),
            Err(Stop::Failed(reason)) => Err(reason),
        }
    }

    fn explore(mut self, root: FormulaId, most: usize) -> Result<Draft, Stop> {
        let mut left = most;
        let mut deterministic = true;
        if self.promises.is_common() && is_determined(self.formulas, root) {
            self.most = MOST_DETERMINED;
        }
        let mut states: FxHashMap<Bdd, u32> = FxHashMap::default();
        let mut by_formula: FxHashMap<FormulaId, u32> = FxHashMap::default();
        let mut queue: Vec<(FormulaId, Bdd)> = Vec::new();
        let mut edges: Vec<Vec<DraftEdge>> = Vec::new();
        let diagram = self.unfold(root)?;
        states.insert(diagram.clone(), 0);
        by_formula.insert(root, 0);
        queue.push((root, diagram));
        let mut at = 0;
        while at < queue.len() {
            let diagram = queue[at].1.clone();
            at += 1;
            let mut list = Vec::new();
            for (rest, letters) in self.letters(&diagram)? {
                let most = left.min(MOST_CUBES);
                let Some(cubes) = cover_at_most(&self.manager, &rest, most)? else {
                    return Err(Stop::Large);
                };
                left -= cubes.len();
                // Diagrams that are left for different letters have no letter in common.
                deterministic &= cubes.len() == 1;
                for cube in cubes {
                    self.manager.check_limits()?;
                    let mut put_off: Marks = 0;
                    let mut parts = Vec::new();
                    for (var, positive) in cube {
                        debug_assert!(positive, "the unfolding is monotone");
                        match self.meanings[&var] {
                            Meaning::Next(formula) => parts.push(formula),
                            Meaning::Promise(mark) => put_off |= 1 << mark,
                        }
                    }
                    let conjunction = self.formulas.and(parts);
                    let target = if let Some(&target) = by_formula.get(&conjunction) {
                        target
                    } else {
                        let diagram = self.unfold(conjunction)?;
                        let next = queue.len() as u32;
                        let target = *states.entry(diagram.clone()).or_insert(next);
                        if target == next {
                            queue.push((conjunction, diagram));
                        }
                        by_formula.insert(conjunction, target);
                        target
                    };
                    // Later, when all marks are known, these become the marks it has.
                    list.push(DraftEdge {
                        guard: letters.clone(),
                        marks: put_off,
                        target,
                    });
                }
            }
            edges.push(list);
        }
        let marks = self.promises.count();
        let all = all_marks(marks);
        for edge in edges.iter_mut().flatten() {
            edge.marks = all & !edge.marks;
        }
        let mut draft = Draft {
            manager: self.manager,
            atoms: self.atoms,
            initial: 0,
            edges,
            formulas: queue
                .into_iter()
                .map(|(formula, _)| Some(formula))
                .collect(),
            marks,
            deterministic,
            spare: Vec::new(),
        };
        draft.merge_edges()?;
        Ok(draft)
    }
}
