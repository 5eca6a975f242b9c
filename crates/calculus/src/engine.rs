//! From terms to BDDs.
//!
//! A body is evaluated along a *schedule*: its terms, operands first. A term's value is remembered
//! and stays good until a relation that it mentions changes. So in a fixpoint only the part of the
//! body that depends on the fixpoint is computed again; what depends on nothing that changes is
//! computed once. Values that no later round can use are dropped as soon as they have been used. A
//! conjunction under `exists` is multiplied out with early quantification (`product`).
//!
//! What keeps it honest: random theories are compared with a naive evaluator over sets of tuples
//! (`tests/random`).

use std::rc::Rc;

use droste_base::{Limits, StopReason};
use droste_bdd::{Bdd, Cube, Manager, Renaming, Var};
use rustc_hash::FxHashMap;

use crate::order::Places;
use crate::product::{self, Part};
use crate::ranged::Ranged;
use crate::reorder::Reordering;
use crate::term::{Argument, DefId, Of, Term, TermId, VarId};
use crate::theory::Theory;
use crate::types::code_bit;

type Result<T> = std::result::Result<T, StopReason>;

/// A relation that terms mention.
type Relation = (DefId, Of);

/// The terms of a body, operands first.
struct Schedule {
    order: Vec<TermId>,
    /// For each term the relations it depends on, as bits; the last bit stands for all from the
    /// 64th on.
    masks: Vec<u64>,
    /// For each term, whether its value may be used in a later round although its user's value may
    /// not.
    keep: Vec<bool>,
    /// How many terms of the schedule use it.
    uses: Vec<u32>,
    /// The relations.
    relations: Vec<Relation>,
    /// Places of terms in `order`.
    place: FxHashMap<TermId, u32>,
}

/// What an application does with the relation.
struct Application {
    /// Constants for some parameters.
    constants: Option<Bdd>,
    /// Parameters that get the same argument: they are equal, and one of them is not needed.
    twins: Option<(Bdd, Cube)>,
    renaming: Option<Renaming>,
}

/// Conjuncts that do not change from one time to the next, multiplied.
struct Merged {
    /// All conjuncts, at the last time.
    values: Vec<Bdd>,
    /// Which of them were the same as at the time before.
    same: Vec<bool>,
    products: Vec<Part>,
}

/// The most nodes that a product of unchanging conjuncts may have. Much larger ones cost more in every
/// round than they save, and so do much smaller ones.
const LARGEST_PRODUCT: usize = 2_000;

/// The value of a relation, and when it changed.
struct Current {
    value: Bdd,
    changed: u64,
}

/// Evaluates terms.
pub(crate) struct Engine {
    pub(crate) theory: Theory,
    pub(crate) manager: Manager,
    /// The BDD variable of each bit: its level before anything is reordered.
    bdd_var: Vec<u32>,
    current: FxHashMap<Relation, Current>,
    clock: u64,
    /// Values of terms, and when they were computed.
    memo: Vec<Option<(Bdd, u64)>>,
    schedules: FxHashMap<TermId, Rc<Schedule>>,
    applications: FxHashMap<TermId, Rc<Application>>,
    cubes: FxHashMap<Box<[VarId]>, Cube>,
    /// By term, and number of the conjunct that sees the frontier.
    merged: FxHashMap<(TermId, u32), Merged>,
    /// Values that are values of the variable's type; nothing if all are.
    ranges: FxHashMap<VarId, Option<Bdd>>,
    pub(crate) ranged: Ranged,
    /// By `exists`, the variables whose range has to be seen to.
    open: FxHashMap<TermId, Rc<[VarId]>>,
    pub(crate) reordering: Reordering,
}

impl Engine {
    /// Has nothing computed yet.
    pub(crate) fn new(theory: Theory, limits: &Limits, places: Places) -> Self {
        let manager = Manager::new(limits);
        manager.new_vars(places.count);
        Engine {
            theory,
            manager,
            reordering: Reordering::new(&places.clusters),
            bdd_var: places.level,
            current: FxHashMap::default(),
            clock: 0,
            memo: Vec::new(),
            schedules: FxHashMap::default(),
            applications: FxHashMap::default(),
            cubes: FxHashMap::default(),
            merged: FxHashMap::default(),
            ranges: FxHashMap::default(),
            ranged: Ranged::default(),
            open: FxHashMap::default(),
        }
    }

    /// The BDD variable of a bit.
    pub(crate) fn var(&self, bit: u32) -> Var {
        Var(self.bdd_var[bit as usize])
    }

    /// The BDD variables of a variable's bits.
    pub(crate) fn vars_of(&self, id: VarId) -> Vec<Var> {
        self.theory.bits_of(id).map(|bit| self.var(bit)).collect()
    }

    /// The BDD variables of a predicate's parameters.
    pub(crate) fn parameter_vars(&self, def: DefId) -> Vec<Var> {
        let parameters = &self.theory.definition(def).parameters;
        parameters.iter().flat_map(|&id| self.vars_of(id)).collect()
    }

    /// Sets the value of a relation.
    pub(crate) fn set(&mut self, def: DefId, of: Of, value: Bdd) {
        match self.current.get_mut(&(def, of)) {
            Some(current) if current.value == value => {}
            other => {
                self.clock += 1;
                let changed = self.clock;
                let new = Current { value, changed };
                match other {
                    Some(current) => *current = new,
                    None => {
                        self.current.insert((def, of), new);
                    }
                }
            }
        }
    }

    /// The value of a relation; empty if it has none yet.
    pub(crate) fn get(&self, def: DefId, of: Of) -> Bdd {
        match self.current.get(&(def, of)) {
            Some(current) => current.value.clone(),
            None => self.manager.constant(false),
        }
    }

    /// Forgets all that has been computed from relations.
    pub(crate) fn forget(&mut self) {
        self.current.clear();
        self.memo.clear();
        self.merged.clear();
    }

    /// What is in the variable's type; nothing if everything is.
    pub(crate) fn range(&mut self, id: VarId) -> Result<Option<Bdd>> {
        let ty = self.theory.variable(id).ty;
        if self.theory.types.get(ty).full {
            return Ok(None);
        }
        if let Some(known) = self.ranges.get(&id) {
            return Ok(known.clone());
        }
        let mut parts = Vec::new();
        for leaf in self.theory.types.leaves(ty) {
            let leaf_type = self.theory.types.get(leaf.ty);
            if leaf_type.full {
                continue;
            }
            let width = leaf_type.width;
            let last = self.theory.types.last_code(leaf.ty);
            let first = self.theory.variable(id).first + leaf.offset;
            // Codes up to `last`, from the least significant bit.
            let mut fits = self.manager.constant(true);
            for k in (0..width).rev() {
                let bit = self.manager.var(self.var(first + k))?;
                fits = if code_bit(last, width, k) {
                    bit.not().or(&fits)?
                } else {
                    bit.not().and(&fits)?
                };
            }
            parts.push(fits);
        }
        let range = product::conjunction(&self.manager, parts)?;
        self.ranges.insert(id, Some(range.clone()));
        Ok(Some(range))
    }

    /// All values of a predicate's parameters.
    pub(crate) fn space(&mut self, def: DefId) -> Result<Bdd> {
        let parameters = self.theory.definition(def).parameters.clone();
        let mut parts = Vec::new();
        for id in parameters {
            parts.extend(self.range(id)?);
        }
        product::conjunction(&self.manager, parts)
    }

    /// The value of a term under the present values of relations.
    pub(crate) fn evaluate(&mut self, root: TermId) -> Result<Bdd> {
        let schedule = self.schedule(root);
        if self.memo.len() < self.theory.terms.len() {
            self.memo.resize(self.theory.terms.len(), None);
        }
        let changed: Vec<u64> = schedule
            .relations
            .iter()
            .map(|relation| self.current.get(relation).map_or(0, |c| c.changed))
            .collect();
        let newest = |mask: u64| {
            let mut newest = 0;
            let mut rest = mask;
            while rest != 0 {
                let bit = rest.trailing_zeros() as usize;
                rest &= rest - 1;
                if bit == 63 {
                    newest = changed[63..].iter().copied().fold(newest, u64::max);
                } else {
                    newest = newest.max(changed[bit]);
                }
            }
            newest
        };
        let count = schedule.order.len();
        // From the root down: whose values are missing?
        let mut needed = vec![false; count];
        needed[count - 1] = true;
        for i in (0..count).rev() {
            if !needed[i] {
                continue;
            }
            let id = schedule.order[i];
            let slot = &mut self.memo[id.0 as usize];
            let good = |(_, at): &(Bdd, u64)| *at >= newest(schedule.masks[i]);
            if slot.as_ref().is_some_and(good) {
                needed[i] = false;
            } else {
                *slot = None;
                self.theory.terms.operands(id, |operand| {
                    needed[schedule.place[&operand] as usize] = true;
                });
            }
        }
        let mut uses = schedule.uses.clone();
        for (&id, _) in schedule.order.iter().zip(&needed).filter(|(_, n)| **n) {
            let value = self.watched(|engine| engine.compute(id))?;
            self.memo[id.0 as usize] = Some((value, self.clock));
            let mut done = Vec::new();
            self.theory.terms.operands(id, |operand| {
                let place = schedule.place[&operand] as usize;
                uses[place] = uses[place].saturating_sub(1);
                if uses[place] == 0 && !schedule.keep[place] {
                    done.push(operand);
                }
            });
            for operand in done {
                self.memo[operand.0 as usize] = None;
            }
        }
        Ok(self.value(root))
    }

    fn value(&self, id: TermId) -> Bdd {
        match &self.memo[id.0 as usize] {
            Some((value, _)) => value.clone(),
            None => unreachable!("operands are computed before what uses them"),
        }
    }

    fn schedule(&mut self, root: TermId) -> Rc<Schedule> {
        if let Some(known) = self.schedules.get(&root) {
            return Rc::clone(known);
        }
        let terms = &self.theory.terms;
        let mut order = Vec::new();
        let mut place: FxHashMap<TermId, u32> = FxHashMap::default();
        let mut stack = vec![(root, false)];
        while let Some((id, operands_done)) = stack.pop() {
            if place.contains_key(&id) {
                continue;
            }
            if operands_done {
                place.insert(id, order.len() as u32);
                order.push(id);
                continue;
            }
            stack.push((id, true));
            let start = stack.len();
            terms.operands(id, |operand| stack.push((operand, false)));
            stack[start..].reverse();
        }
        let mut relations: Vec<Relation> = Vec::new();
        let mut number: FxHashMap<Relation, usize> = FxHashMap::default();
        let mut masks = vec![0u64; order.len()];
        let mut uses = vec![0u32; order.len()];
        for (i, &id) in order.iter().enumerate() {
            let mut mask = 0;
            if let Term::Apply(def, of, _) = terms.get(id) {
                let relation = (*def, *of);
                let n = *number.entry(relation).or_insert_with(|| {
                    relations.push(relation);
                    relations.len() - 1
                });
                mask |= 1 << n.min(63);
            }
            terms.operands(id, |operand| {
                let at = place[&operand] as usize;
                mask |= masks[at];
                uses[at] += 1;
            });
            masks[i] = mask;
        }
        let mut keep = vec![false; order.len()];
        for (i, &id) in order.iter().enumerate() {
            terms.operands(id, |operand| {
                let at = place[&operand] as usize;
                keep[at] |= masks[at] != masks[i];
            });
        }
        if let Some(last) = keep.last_mut() {
            *last = true;
        }
        let schedule = Rc::new(Schedule {
            order,
            masks,
            keep,
            uses,
            relations,
            place,
        });
        self.schedules.insert(root, Rc::clone(&schedule));
        schedule
    }

    /// A term's value from those of its operands.
    fn compute(&mut self, id: TermId) -> Result<Bdd> {
        match self.theory.terms.get(id).clone() {
            Term::Constant(value) => Ok(self.manager.constant(value)),
            Term::Equal(a, b, bits) => self.equal(a, b, bits),
            Term::Code(first, width, code) => self
                .manager
                .minterm((0..width).map(|k| (self.var(first + k), code_bit(code, width, k)))),
            Term::Apply(def, of, arguments) => {
                let application = self.application(id, def, &arguments)?;
                let mut value = self.get(def, of);
                if let Some(constants) = &application.constants {
                    value = value.constrain(constants)?;
                }
                if let Some((equal, cube)) = &application.twins {
                    value = value.and_exists(equal, cube)?;
                }
                match &application.renaming {
                    Some(renaming) => value.rename(renaming),
                    None => Ok(value),
                }
            }
            Term::Not(a) => Ok(self.value(a).not()),
            Term::And(list) => {
                let values = list.iter().map(|&id| self.value(id)).collect();
                product::conjunction(&self.manager, values)
            }
            Term::Or(list) => {
                let values = list.iter().map(|&id| self.value(id).not()).collect();
                Ok(product::conjunction(&self.manager, values)?.not())
            }
            Term::Iff(a, b) => self.value(a).iff(&self.value(b)),
            Term::Ite(c, t, e) => self.value(c).ite(&self.value(t), &self.value(e)),
            Term::Care(assume, f, g) => {
                let (f, g) = (self.value(f), self.value(g));
                if assume {
                    f.restrict(&g)
                } else {
                    f.constrain(&g)
                }
            }
            Term::Exists(vars, body) => {
                let open = self.open_vars(id, &vars);
                let mut values = Vec::new();
                let terms = &self.theory.terms;
                terms.operands(id, |operand| values.push(self.value(operand)));
                debug_assert!(body < id);
                for &var in open.iter() {
                    values.extend(self.range(var)?);
                }
                self.exists((id, 0), &vars, values)
            }
        }
    }

    /// The variables of an `exists` that its conjuncts do not keep within their types.
    fn open_vars(&mut self, id: TermId, vars: &[VarId]) -> Rc<[VarId]> {
        if let Some(known) = self.open.get(&id) {
            return Rc::clone(known);
        }
        let mut conjuncts = Vec::new();
        self.theory.terms.operands(id, |part| conjuncts.push(part));
        let open: Rc<[VarId]> = self.ranged.open(&self.theory, vars, &conjuncts).into();
        self.open.insert(id, Rc::clone(&open));
        open
    }

    /// The conjunction, quantified. Conjuncts that are the same as at the last time with this key
    /// are multiplied with each other once and for all.
    pub(crate) fn exists(
        &mut self,
        key: (TermId, u32),
        vars: &[VarId],
        values: Vec<Bdd>,
    ) -> Result<Bdd> {
        let values = self.merge(key, values)?;
        if vars.is_empty() {
            let values = values.into_iter().map(|part| part.bdd).collect();
            return product::conjunction(&self.manager, values);
        }
        let cube = self.cube(vars)?;
        product::exists(&self.manager, values, &cube, || {
            vars.iter().flat_map(|&id| self.vars_of(id)).collect()
        })
    }

    fn merge(&mut self, key: (TermId, u32), values: Vec<Bdd>) -> Result<Vec<Part>> {
        let parts = |values: Vec<Bdd>| Ok(values.into_iter().map(Part::new).collect());
        if values.len() < 3 {
            return parts(values);
        }
        let Some(last) = self
            .merged
            .get_mut(&key)
            .filter(|m| m.values.len() == values.len())
        else {
            let merged = Merged {
                values: values.clone(),
                same: Vec::new(),
                products: Vec::new(),
            };
            self.merged.insert(key, merged);
            return parts(values);
        };
        let known = last.values.iter().zip(&values);
        let same: Vec<bool> = known.map(|(old, new)| old == new).collect();
        last.values.clone_from(&values);
        if same.iter().filter(|&&same| same).count() < 2 {
            last.same.clear();
            return parts(values);
        }
        if last.same != same {
            // A product is seldom smaller than its factors together, and one that takes more steps
            // than it may have nodes is too large.
            let steps = 4 * LARGEST_PRODUCT as u64;
            let small = |a: &Bdd, b: &Bdd| a.node_count() + b.node_count() <= LARGEST_PRODUCT;
            let mut products: Vec<Bdd> = Vec::new();
            for (value, _) in values.iter().zip(&same).filter(|(_, same)| **same) {
                if let Some(product) = products.last_mut()
                    && small(product, value)
                    && let Some(both) = self.manager.within(steps, || product.and(value))?
                    && !both.is_larger_than(LARGEST_PRODUCT)
                {
                    *product = both;
                    continue;
                }
                products.push(value.clone());
            }
            last.same.clone_from(&same);
            last.products = products.into_iter().map(Part::new).collect();
        }
        let mut parts = last.products.clone();
        let rest = values.into_iter().zip(same);
        let rest = rest.filter(|(_, same)| !same);
        parts.extend(rest.map(|(value, _)| Part::new(value)));
        Ok(parts)
    }

    fn equal(&self, a: u32, b: u32, bits: u32) -> Result<Bdd> {
        let mut pairs: Vec<(Var, Var)> = (0..bits)
            .map(|k| (self.var(a + k), self.var(b + k)))
            .collect();
        // From the bottom: each step adds a few nodes on top.
        pairs.sort_unstable_by_key(|(x, y)| std::cmp::Reverse(x.0.min(y.0)));
        let mut all = self.manager.constant(true);
        for (x, y) in pairs {
            let same = self.manager.var(x)?.iff(&self.manager.var(y)?)?;
            all = all.and(&same)?;
        }
        Ok(all)
    }

    pub(crate) fn cube(&mut self, vars: &[VarId]) -> Result<Cube> {
        if let Some(cube) = self.cubes.get(vars) {
            return Ok(cube.clone());
        }
        let list: Vec<Var> = vars.iter().flat_map(|&id| self.vars_of(id)).collect();
        let cube = self.manager.cube(&list)?;
        self.cubes.insert(vars.into(), cube.clone());
        Ok(cube)
    }

    fn application(
        &mut self,
        id: TermId,
        def: DefId,
        arguments: &[Argument],
    ) -> Result<Rc<Application>> {
        if let Some(known) = self.applications.get(&id) {
            return Ok(Rc::clone(known));
        }
        let mut constants = Vec::new();
        let mut pairs = Vec::new();
        let mut twins = Vec::new();
        let mut source: FxHashMap<Var, Var> = FxHashMap::default();
        let parameters = &self.theory.definition(def).parameters;
        for (argument, &parameter) in arguments.iter().zip(parameters) {
            let width = self.theory.width(parameter);
            for (k, bit) in self.theory.bits_of(parameter).enumerate() {
                let from = self.var(bit);
                let k = k as u32;
                match argument {
                    Argument::Code(code) => constants.push((from, code_bit(*code, width, k))),
                    Argument::Bits(first) => {
                        let to = self.var(first + k);
                        if let Some(&twin) = source.get(&to) {
                            twins.push((twin, from));
                        } else {
                            source.insert(to, from);
                            pairs.push((from, to));
                        }
                    }
                }
            }
        }
        let constants = if constants.is_empty() {
            None
        } else {
            Some(self.manager.minterm(constants)?)
        };
        let twins = if twins.is_empty() {
            None
        } else {
            let mut parts = Vec::new();
            for &(a, b) in &twins {
                parts.push(self.manager.var(a)?.iff(&self.manager.var(b)?)?);
            }
            let gone: Vec<Var> = twins.iter().map(|(_, b)| *b).collect();
            let equal = product::conjunction(&self.manager, parts)?;
            Some((equal, self.manager.cube(&gone)?))
        };
        let moves = pairs.iter().any(|(from, to)| from != to);
        let renaming = moves.then(|| self.manager.renaming(&pairs));
        let application = Rc::new(Application {
            constants,
            twins,
            renaming,
        });
        self.applications.insert(id, Rc::clone(&application));
        Ok(application)
    }
}
