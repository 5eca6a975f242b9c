//! Binary decision diagrams for the symbolic engines.
//!
//! A [`Bdd`] is a Boolean function of the variables of its [`Manager`]; equality of functions is
//! equality of handles. Handles are reference counted; unreferenced nodes are collected between
//! operations. Any operation stops with a [`StopReason`] when a limit is
//! reached or it is cancelled, and leaves everything as it was.
//!
//! Why our own: the engines need operations that can be interrupted, tables that start small and
//! grow (a test run makes tens of thousands of managers), collection that keeps what has been
//! computed, and reordering. `docs/SYMBOLIC.md` says what was measured.
//!
//! Every operation is compared with truth tables and with another package
//! (`tests/truth_tables.rs`).

mod apply;
mod reorder;
mod sifter;
mod store;

use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::rc::Rc;

use droste_base::{Limits, StopReason};
use num_bigint::BigUint;

pub use sifter::Sifter;
use store::{BOTTOM, Edge, FALSE, Store, TRUE};

type Result<T> = std::result::Result<T, StopReason>;

/// A variable; its place in the order may change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Var(pub u32);

struct Core {
    store: RefCell<Store>,
    renamings: RefCell<Renamings>,
}

#[derive(Default)]
struct Renamings {
    ids: HashMap<Vec<(Var, Var)>, u32>,
    /// Computed renamings, forgotten when the order changes.
    pairs: Vec<Rc<[(Var, Var)]>>,
    levels: Vec<Option<Rc<Levels>>>,
}

/// A renaming in terms of levels.
struct Levels {
    to: Vec<u32>,
    below: u32,
}

/// A set of variables and the functions over them.
#[derive(Clone)]
pub struct Manager {
    core: Rc<Core>,
}

/// A set of variables to quantify.
#[derive(Clone, Debug)]
pub struct Cube {
    conjunction: Bdd,
}

impl Cube {
    /// The variables.
    pub fn vars(&self) -> Vec<Var> {
        self.conjunction.support()
    }
}

/// A simultaneous renaming of variables.
#[derive(Clone)]
pub struct Renaming {
    id: u32,
}

/// A Boolean function.
pub struct Bdd {
    core: Rc<Core>,
    edge: Edge,
}

impl Clone for Bdd {
    fn clone(&self) -> Self {
        self.core.store.borrow_mut().reference(self.edge);
        Bdd {
            core: Rc::clone(&self.core),
            edge: self.edge,
        }
    }
}

impl Drop for Bdd {
    fn drop(&mut self) {
        self.core.store.borrow_mut().release(self.edge);
    }
}

impl PartialEq for Bdd {
    fn eq(&self, other: &Self) -> bool {
        self.edge == other.edge && Rc::ptr_eq(&self.core, &other.core)
    }
}

impl Eq for Bdd {}

impl Hash for Bdd {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.edge.hash(state);
    }
}

impl fmt::Debug for Bdd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Bdd({}, {} nodes)", self.edge.0, self.node_count())
    }
}

impl Manager {
    /// No variables yet. The limits hold for everything done with the manager, from now on.
    pub fn new(limits: &Limits) -> Self {
        Manager {
            core: Rc::new(Core {
                store: RefCell::new(Store::new(limits)),
                renamings: RefCell::default(),
            }),
        }
    }

    fn wrap(&self, edge: Edge) -> Bdd {
        wrap(&self.core, edge)
    }

    /// Adds variables below all others in the order.
    pub fn new_vars(&self, count: u32) -> Vec<Var> {
        let mut store = self.core.store.borrow_mut();
        let first = store.level_of.len() as u32;
        store.level_of.extend(first..first + count);
        store.var_at.extend(first..first + count);
        // Known renamings do not cover the new variables.
        self.core.renamings.borrow_mut().levels.fill(None);
        (first..first + count).map(Var).collect()
    }

    /// How many variables there are.
    pub fn var_count(&self) -> u32 {
        self.core.store.borrow().level_of.len() as u32
    }

    /// The variables from top to bottom.
    pub fn order(&self) -> Vec<Var> {
        self.core
            .store
            .borrow()
            .var_at
            .iter()
            .map(|&v| Var(v))
            .collect()
    }

    /// Puts the variables into this order, topmost first. Cheap as long as there are few nodes.
    ///
    /// # Panics
    /// If `order` is not a permutation of the variables.
    pub fn set_order(&self, order: &[Var]) -> Result<()> {
        let order: Vec<u32> = order.iter().map(|var| var.0).collect();
        let mut sorted = order.clone();
        sorted.sort_unstable();
        assert!(
            sorted.iter().copied().eq(0..self.var_count()),
            "an order mentions every variable once"
        );
        self.core.renamings.borrow_mut().levels.fill(None);
        self.core.store.borrow_mut().set_order(&order)
    }

    /// Looks for a better order of the variables by sifting: each is moved to the place
    /// where the diagrams in use are smallest.
    pub fn sift(&self) -> Result<()> {
        self.sift_groups(&[], u64::MAX)
    }

    /// The same for groups of variables: the variables of a group that are next to each other stay
    /// so. Once `effort` nodes have been visited, no further group is moved. Moving one variable
    /// past all others looks at all nodes about twice.
    pub fn sift_groups(&self, groups: &[Vec<Var>], effort: u64) -> Result<()> {
        self.core.renamings.borrow_mut().levels.fill(None);
        let alone = groups.len() as u32;
        let mut group: Vec<u32> = (alone..alone + self.var_count()).collect();
        for (number, vars) in groups.iter().enumerate() {
            for var in vars {
                group[var.0 as usize] = number as u32;
            }
        }
        self.core.store.borrow_mut().sift(&group, effort)
    }

    /// A constant function.
    pub fn constant(&self, value: bool) -> Bdd {
        self.wrap(if value { TRUE } else { FALSE })
    }

    /// The function that is the value of a variable.
    pub fn var(&self, var: Var) -> Result<Bdd> {
        let mut store = self.core.store.borrow_mut();
        let level = store.level_of[var.0 as usize];
        let edge = store.make(level, FALSE, TRUE)?;
        drop(store);
        Ok(self.wrap(edge))
    }

    /// The conjunction of these literals. No variable may occur twice.
    pub fn minterm(&self, literals: impl IntoIterator<Item = (Var, bool)>) -> Result<Bdd> {
        let mut store = self.core.store.borrow_mut();
        let mut literals: Vec<(u32, bool)> = literals
            .into_iter()
            .map(|(var, value)| (store.level_of[var.0 as usize], value))
            .collect();
        literals.sort_unstable();
        let mut edge = TRUE;
        for (level, value) in literals.into_iter().rev() {
            edge = if value {
                store.make(level, FALSE, edge)?
            } else {
                store.make(level, edge, FALSE)?
            };
        }
        drop(store);
        Ok(self.wrap(edge))
    }

    /// A set of variables to quantify.
    pub fn cube(&self, vars: &[Var]) -> Result<Cube> {
        let mut vars = vars.to_vec();
        vars.sort_unstable();
        vars.dedup();
        let conjunction = self.minterm(vars.into_iter().map(|var| (var, true)))?;
        Ok(Cube { conjunction })
    }

    /// A simultaneous renaming: each first variable is replaced by the second.
    /// No variable may be replaced twice.
    pub fn renaming(&self, pairs: &[(Var, Var)]) -> Renaming {
        let mut pairs: Vec<(Var, Var)> = pairs.iter().copied().filter(|(a, b)| a != b).collect();
        pairs.sort_unstable();
        debug_assert!(pairs.windows(2).all(|pair| pair[0].0 != pair[1].0));
        let renamings = &mut *self.core.renamings.borrow_mut();
        let next = renamings.pairs.len() as u32;
        let id = *renamings.ids.entry(pairs).or_insert_with_key(|pairs| {
            renamings.pairs.push(pairs.as_slice().into());
            renamings.levels.push(None);
            next
        });
        Renaming { id }
    }

    fn levels(core: &Core, renaming: &Renaming) -> Rc<Levels> {
        let renamings = &mut *core.renamings.borrow_mut();
        let slot = &mut renamings.levels[renaming.id as usize];
        if let Some(levels) = slot {
            return Rc::clone(levels);
        }
        let store = core.store.borrow();
        let mut to: Vec<u32> = (0..store.level_of.len() as u32).collect();
        let mut below = 0;
        for &(from, target) in renamings.pairs[renaming.id as usize].iter() {
            let level = store.level_of[from.0 as usize];
            to[level as usize] = store.level_of[target.0 as usize];
            below = below.max(level);
        }
        let levels = Rc::new(Levels { to, below });
        *slot = Some(Rc::clone(&levels));
        levels
    }

    /// Nodes in use, those not yet collected included.
    pub fn node_count(&self) -> usize {
        self.core.store.borrow().used()
    }

    /// The largest number of nodes there has been.
    pub fn peak_nodes(&self) -> usize {
        let store = self.core.store.borrow();
        store.peak.max(store.used())
    }

    /// Memory of the tables, in bytes.
    pub fn memory_bytes(&self) -> usize {
        self.core.store.borrow().bytes()
    }

    /// How many steps operations have taken so far: a measure of effort that does not depend on the
    /// machine.
    pub fn steps(&self) -> u64 {
        self.core.store.borrow().ticks
    }

    /// Runs work whose operations may take about this number of `steps` together. If that is not
    /// enough, one of them stops, and the result is nothing, whatever the work makes of it.
    pub fn within<T>(&self, steps: u64, work: impl FnOnce() -> Result<T>) -> Result<Option<T>> {
        let before = self.core.store.borrow_mut().limit(steps);
        let result = work();
        let exhausted = self.core.store.borrow_mut().lift(&before);
        match result {
            Err(_) if exhausted => Ok(None),
            other => other.map(Some),
        }
    }

    /// How often garbage has been collected.
    pub fn collections(&self) -> usize {
        self.core.store.borrow().collections
    }

    /// Collects garbage now.
    pub fn collect(&self) {
        self.core.store.borrow_mut().collect();
    }

    /// Whether a limit has been reached.
    pub fn check_limits(&self) -> Result<()> {
        self.core.store.borrow_mut().check_limits()
    }
}

fn wrap(core: &Rc<Core>, edge: Edge) -> Bdd {
    core.store.borrow_mut().reference(edge);
    Bdd {
        core: Rc::clone(core),
        edge,
    }
}

impl Bdd {
    /// Runs an operation at a moment when garbage may be collected.
    fn run(&self, operation: impl FnOnce(&mut Store) -> Result<Edge>) -> Result<Bdd> {
        let edge = {
            let mut store = self.core.store.borrow_mut();
            store.collect_if_worth_while();
            operation(&mut store)?
        };
        Ok(wrap(&self.core, edge))
    }

    /// Negation.
    #[must_use]
    pub fn not(&self) -> Bdd {
        wrap(&self.core, self.edge.not())
    }

    /// Conjunction.
    pub fn and(&self, other: &Bdd) -> Result<Bdd> {
        self.run(|store| store.and(self.edge, other.edge))
    }

    /// Disjunction.
    pub fn or(&self, other: &Bdd) -> Result<Bdd> {
        self.run(|store| store.or(self.edge, other.edge))
    }

    /// Exclusive or.
    pub fn xor(&self, other: &Bdd) -> Result<Bdd> {
        self.run(|store| store.xor(self.edge, other.edge))
    }

    /// Equivalence.
    pub fn iff(&self, other: &Bdd) -> Result<Bdd> {
        self.run(|store| store.xor(self.edge, other.edge.not()))
    }

    /// Implication.
    pub fn implies(&self, other: &Bdd) -> Result<Bdd> {
        self.run(|store| store.or(self.edge.not(), other.edge))
    }

    /// What is in `self` and not in `other`.
    pub fn minus(&self, other: &Bdd) -> Result<Bdd> {
        self.run(|store| store.and(self.edge, other.edge.not()))
    }

    /// `then` where `self` is true, `otherwise` elsewhere.
    pub fn ite(&self, then: &Bdd, otherwise: &Bdd) -> Result<Bdd> {
        self.run(|store| store.ite(self.edge, then.edge, otherwise.edge))
    }

    /// Existential quantification.
    pub fn exists(&self, cube: &Cube) -> Result<Bdd> {
        self.run(|store| store.exists(self.edge, cube.conjunction.edge))
    }

    /// Universal quantification.
    pub fn forall(&self, cube: &Cube) -> Result<Bdd> {
        self.run(|store| Ok(store.exists(self.edge.not(), cube.conjunction.edge)?.not()))
    }

    /// `self` and `other`, then existential quantification: the relational product.
    pub fn and_exists(&self, other: &Bdd, cube: &Cube) -> Result<Bdd> {
        self.run(|store| store.and_exists(self.edge, other.edge, cube.conjunction.edge))
    }

    /// [`and_exists`](Self::and_exists), if it takes no more than about this number of `steps`;
    /// otherwise nothing.
    pub fn and_exists_within(&self, other: &Bdd, cube: &Cube, steps: u64) -> Result<Option<Bdd>> {
        self.manager()
            .within(steps, || self.and_exists(other, cube))
    }

    /// Simultaneous renaming.
    pub fn rename(&self, renaming: &Renaming) -> Result<Bdd> {
        let levels = Manager::levels(&self.core, renaming);
        self.run(|store| store.rename(self.edge, renaming.id, &levels.to, levels.below))
    }

    /// The generalised cofactor: agrees with `self` on `care`. False if `care` is empty.
    pub fn constrain(&self, care: &Bdd) -> Result<Bdd> {
        if care.is_false() {
            return Ok(care.clone());
        }
        self.run(|store| store.constrain(self.edge, care.edge))
    }

    /// A function, usually smaller, that agrees with `self` on `care`. False if `care` is empty.
    pub fn restrict(&self, care: &Bdd) -> Result<Bdd> {
        if care.is_false() {
            return Ok(care.clone());
        }
        self.run(|store| store.restrict(self.edge, care.edge))
    }

    /// Whether `self` implies `other` everywhere.
    pub fn implies_all(&self, other: &Bdd) -> Result<bool> {
        let mut store = self.core.store.borrow_mut();
        store.collect_if_worth_while();
        store.implies(self.edge, other.edge)
    }

    /// Whether this is the constant true.
    pub fn is_true(&self) -> bool {
        self.edge == TRUE
    }

    /// Whether this is the constant false.
    pub fn is_false(&self) -> bool {
        self.edge == FALSE
    }

    /// The manager it belongs to.
    pub fn manager(&self) -> Manager {
        Manager {
            core: Rc::clone(&self.core),
        }
    }

    /// The nodes of the diagram, the constant included, topmost first.
    fn nodes(&self) -> Vec<u32> {
        let mut nodes: Vec<(u32, u32)> = Vec::new();
        let mut store = self.core.store.borrow_mut();
        store.walk(self.edge, |id, node| nodes.push((node.level, id)));
        nodes.sort_unstable();
        nodes.into_iter().map(|(_, id)| id).collect()
    }

    /// The topmost variable, and the functions that are left when it is false and when it is true;
    /// nothing if this is a constant.
    pub fn decision(&self) -> Option<(Var, Bdd, Bdd)> {
        let (var, low, high) = {
            let store = self.core.store.borrow();
            if self.edge.is_constant() {
                return None;
            }
            let level = store.level(self.edge);
            let (low, high) = store.cofactors(self.edge, level);
            (Var(store.var_at[level as usize]), low, high)
        };
        Some((var, wrap(&self.core, low), wrap(&self.core, high)))
    }

    /// How many nodes the diagram has, the constant included.
    pub fn node_count(&self) -> usize {
        let mut count = 0;
        self.core
            .store
            .borrow_mut()
            .walk(self.edge, |_, _| count += 1);
        count
    }

    /// Whether the diagram has more than `limit` nodes. This takes no longer than counting `limit`
    /// nodes.
    pub fn is_larger_than(&self, limit: usize) -> bool {
        let mut store = self.core.store.borrow_mut();
        store.is_larger(self.edge, limit)
    }

    /// The variables it depends on, in the order from top to bottom.
    pub fn support(&self) -> Vec<Var> {
        self.support_and_size().0
    }

    /// Its [`support`](Self::support) and its [`node_count`](Self::node_count).
    pub fn support_and_size(&self) -> (Vec<Var>, usize) {
        let mut store = self.core.store.borrow_mut();
        let mut occurs = vec![false; store.var_at.len()];
        let mut count = 0;
        store.walk(self.edge, |_, node| {
            count += 1;
            if node.level != BOTTOM {
                occurs[node.level as usize] = true;
            }
        });
        let levels = occurs.iter().enumerate().filter(|&(_, &occurs)| occurs);
        let vars = levels.map(|(level, _)| Var(store.var_at[level]));
        (vars.collect(), count)
    }

    /// The number of models over `vars`, which contain everything it depends on.
    pub fn count(&self, vars: &[Var]) -> BigUint {
        let nodes = self.nodes();
        let store = self.core.store.borrow();
        let mut levels: Vec<u32> = vars.iter().map(|v| store.level_of[v.0 as usize]).collect();
        levels.sort_unstable();
        levels.dedup();
        // How many of `vars` are above a level.
        let above = |level: u32| levels.partition_point(|&l| l < level) as u64;
        let all = levels.len() as u64;
        let rank = |level: u32| if level == BOTTOM { all } else { above(level) };
        // Models of each node over the variables from its level downwards.
        let mut models: HashMap<u32, BigUint> = HashMap::new();
        let of = |models: &HashMap<u32, BigUint>, edge: Edge, from: u64| -> BigUint {
            let level = store.level(edge);
            let positive = &models[&edge.node()];
            let here = all - rank(level);
            let count = if edge.is_complement() {
                (BigUint::from(1u32) << here) - positive
            } else {
                positive.clone()
            };
            count << (rank(level) - from)
        };
        for &id in nodes.iter().rev() {
            let node = store.nodes[id as usize];
            let count = if id == 0 {
                BigUint::from(1u32)
            } else {
                let from = rank(node.level) + 1;
                of(&models, node.low, from) + of(&models, node.high, from)
            };
            models.insert(id, count);
        }
        of(&models, self.edge, 0)
    }

    /// One model, by position in `vars`; what does not matter is false. `vars` contain
    /// everything the function depends on.
    pub fn pick(&self, vars: &[Var]) -> Option<Vec<bool>> {
        if self.is_false() {
            return None;
        }
        let store = self.core.store.borrow();
        let mut values: HashMap<u32, bool> = HashMap::new();
        let mut edge = self.edge;
        while !edge.is_constant() {
            let level = store.level(edge);
            let (low, high) = store.cofactors(edge, level);
            let value = low == FALSE;
            values.insert(store.var_at[level as usize], value);
            edge = if value { high } else { low };
        }
        Some(
            vars.iter()
                .map(|v| values.get(&v.0).copied().unwrap_or(false))
                .collect(),
        )
    }

    /// The value under an assignment.
    pub fn eval(&self, value: impl Fn(Var) -> bool) -> bool {
        let mut edge = self.edge;
        while !edge.is_constant() {
            let (var, low, high) = {
                let store = self.core.store.borrow();
                let level = store.level(edge);
                let (low, high) = store.cofactors(edge, level);
                (Var(store.var_at[level as usize]), low, high)
            };
            edge = if value(var) { high } else { low };
        }
        edge == TRUE
    }

    /// Disjoint cubes whose disjunction is the function: the paths to true.
    pub fn cubes(&self) -> Cubes {
        Cubes {
            function: self.clone(),
            stack: vec![(self.edge, 0)],
            path: Vec::new(),
        }
    }
}

/// Iterator over the paths to true, see [`Bdd::cubes`].
pub struct Cubes {
    function: Bdd,
    /// Edges still to be followed, with the length of the path they continue.
    stack: Vec<(Edge, usize)>,
    path: Vec<(Var, bool)>,
}

impl Iterator for Cubes {
    type Item = Vec<(Var, bool)>;

    fn next(&mut self) -> Option<Self::Item> {
        let store = self.function.core.store.borrow();
        while let Some((mut edge, length)) = self.stack.pop() {
            // The entry stands for the high branch of the last decision kept.
            self.path.truncate(length);
            if let Some(last) = self.path.last_mut()
                && length > 0
            {
                last.1 = true;
            }
            while !edge.is_constant() {
                let level = store.level(edge);
                let (low, high) = store.cofactors(edge, level);
                let var = Var(store.var_at[level as usize]);
                if low == FALSE {
                    self.path.push((var, true));
                    edge = high;
                } else {
                    self.path.push((var, false));
                    if high != FALSE {
                        self.stack.push((high, self.path.len()));
                    }
                    edge = low;
                }
            }
            if edge == TRUE {
                return Some(self.path.clone());
            }
        }
        None
    }
}

/// The stack that operations on diagrams over `variables` variables need at most. Only what
/// is used of it is ever committed.
pub fn stack_size(variables: usize) -> usize {
    (16 << 20) + variables.saturating_mul(4 << 10)
}

/// Runs `work` on a thread with a stack large enough for operations on diagrams over
/// `variables` variables, and returns its result.
///
/// # Panics
/// If `work` panics, or no thread can be started.
pub fn on_large_stack<T: Send>(variables: usize, work: impl FnOnce() -> T + Send) -> T {
    droste_base::on_worker(stack_size(variables), |()| {}, |_| work())
}
