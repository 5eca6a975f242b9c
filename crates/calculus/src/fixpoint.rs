//! Values of predicates: which fixpoints are nested in which, and how each is computed.
//!
//! The meaning is that of `Evaluate(R, Eq)` in La Torre, Madhusudan and Parlato, *Analyzing recursive programs using a
//! fixed-point calculus* (PLDI 2009), section 3: to evaluate a recursive predicate, start with nothing (`mu`) or
//! everything (`nu`), evaluate the predicates that its body applies with the present value of this one fixed, evaluate
//! the body, take the result as the new value, and repeat until it stays the same.
//!
//! Done literally, that starts inner fixpoints again in every outer round. Here the predicates are first divided into
//! strongly connected components. In a component that is all `mu` or all `nu`, and monotone, the nested fixpoints are one
//! simultaneous fixpoint (Bekić), and all members are iterated side by side; greatest ones as least ones of the complement.
//! The parts of bodies that distribute over union see only the *frontier*, what the last round added. In a conjunction of
//! several such parts each in turn sees the frontier and the others everything (semi-naive evaluation, as in Datalog), and
//! what a part has been so far is added up rather than computed again. What remains sees everything. Only where `mu` and `nu` mix, or a body is not monotone, is the component nested: the predicate that is used
//! from outside is the outermost, and what remains of the component without it is divided again. A component that is
//! evaluated again starts from its last value if what it depends on has only changed in the right direction.
//!
//! What keeps it honest: thousands of random theories are compared with a literal `Evaluate` over sets of
//! tuples (`tests/random.rs`).

use std::rc::Rc;
use std::time::{Duration, Instant};

use droste_base::StopReason;
use droste_bdd::Bdd;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::depend::components;
use crate::engine::Engine;
use crate::rewrite::{Parts, Product, parts, to_complement, to_frontier};
use crate::syntax::Fixpoint;
use crate::term::{DefId, Of, TermId};

/// Why there is no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unanswered {
    /// A limit was reached.
    Stopped(StopReason),
    /// The rounds of a predicate that is not monotone run in a circle.
    Oscillates {
        /// The predicate.
        predicate: DefId,
        /// After so many rounds a value came back.
        period: u64,
    },
    /// Too many fixpoints are nested.
    TooDeep,
}

impl From<StopReason> for Unanswered {
    fn from(reason: StopReason) -> Self {
        Unanswered::Stopped(reason)
    }
}

type Result<T> = std::result::Result<T, Unanswered>;

/// So many alternating fixpoints may be nested in each other. (Each doubles the work at least.)
const DEEPEST: u32 = 200;

/// A diagram with so many nodes is small.
const SMALL: usize = 500;

/// Rounds are reported at most so often: counting nodes takes time.
const EVERY: Duration = Duration::from_millis(50);

/// How far a fixpoint has come.
#[derive(Clone, Debug)]
pub struct Round<'a> {
    /// The predicate, or the first of several.
    pub predicate: &'a str,
    /// The number of the round.
    pub round: u64,
    /// Nodes of the present value.
    pub size: usize,
    /// BDD nodes in all.
    pub nodes: usize,
    /// Whether it is the last one.
    pub last: bool,
}

/// Somebody who wants to know.
pub type Reporter<'a> = Box<dyn FnMut(&Round<'_>) + 'a>;

/// What a component is and how it is computed.
#[derive(Debug)]
struct Component {
    members: Vec<DefId>,
    kind: Kind,
    /// Members that others use.
    wanted: Vec<DefId>,
    /// What the members use that is no member.
    outside: Vec<(DefId, crate::theory::Sign)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// One predicate that does not depend on itself.
    Once,
    /// All `mu` or all `nu`, and monotone.
    Simultaneous,
    /// Anything else; whether it is monotone.
    Nested(bool),
}

/// A computed value, and what it was computed from.
struct Known {
    outside: Vec<Bdd>,
    values: Vec<Bdd>,
    /// Whether it is the fixpoint, not a value on the way to it.
    complete: bool,
}

/// A part of a body that sees only what is new, and what that is.
struct Task {
    /// Whose body.
    member: usize,
    work: Work,
    /// For each member, what it has not seen yet.
    pending: Vec<Bdd>,
    /// Whether it has not been evaluated at all.
    fresh: bool,
    /// How long it took lately.
    time: Duration,
}

enum Work {
    /// Distributes over union.
    Linear(TermId),
    /// With what each conjunct has been so far: the union over all frontiers.
    Product(Product, Vec<Bdd>),
}

impl Task {
    fn is_waiting(&self) -> bool {
        self.fresh || self.pending.iter().any(|set| !set.is_false())
    }
}

/// A question that may be decided before a fixpoint is reached.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Early {
    /// Once this holds of what is new, the question is decided.
    root: TermId,
    /// The answer then.
    answer: bool,
}

/// Key of a known value: the members, and the outermost one if it is nested.
type Key = (Box<[DefId]>, Option<DefId>);
/// Key of a division: where it begins and which predicates are in it.
type Region = (Box<[DefId]>, Box<[DefId]>);

/// Computes values of predicates.
pub(crate) struct Fixpoints<'a> {
    pub(crate) engine: Engine,
    known: FxHashMap<Key, Known>,
    divisions: FxHashMap<Region, Rc<Vec<Component>>>,
    parts: FxHashMap<(DefId, Box<[DefId]>), Rc<Parts>>,
    pub(crate) reporter: Option<Reporter<'a>>,
    /// Rounds of fixpoints, in all.
    pub(crate) rounds: u64,
    /// No report before then, unless of a last round.
    next_report: Instant,
}

impl<'a> Fixpoints<'a> {
    pub(crate) fn new(engine: Engine, reporter: Option<Reporter<'a>>) -> Self {
        Fixpoints {
            engine,
            known: FxHashMap::default(),
            divisions: FxHashMap::default(),
            parts: FxHashMap::default(),
            reporter,
            rounds: 0,
            next_report: Instant::now(),
        }
    }

    /// Forgets the value of a predicate and of all that depend on it, or everything.
    pub(crate) fn reset(&mut self, def: Option<DefId>) {
        match def {
            None => {
                self.known.clear();
                self.engine.forget();
            }
            Some(def) => self.known.retain(|(members, _), _| !members.contains(&def)),
        }
    }

    /// The value of a predicate.
    pub(crate) fn value(&mut self, def: DefId) -> Result<Bdd> {
        self.region(&[def], None, None, 0)?;
        Ok(self.engine.get(def, Of::Value))
    }

    /// The value of a closed formula, given it and its negation. Stops early if it can.
    pub(crate) fn decide(&mut self, root: TermId, dual: TermId, uses: &[DefId]) -> Result<bool> {
        if let Some(answer) = self.region(uses, None, Some((root, dual)), 0)? {
            return Ok(answer);
        }
        Ok(self.engine.evaluate(root)?.is_true())
    }

    /// Evaluates what `demand` needs of the predicates in `inside` (all of them, if nothing); the answer to
    /// `question` if it was decided on the way.
    fn region(
        &mut self,
        demand: &[DefId],
        inside: Option<&[DefId]>,
        question: Option<(TermId, TermId)>,
        depth: u32,
    ) -> Result<Option<bool>> {
        if depth > DEEPEST {
            return Err(Unanswered::TooDeep);
        }
        let division = self.divide(demand, inside);
        for (i, component) in division.iter().enumerate() {
            let early = question.filter(|_| i + 1 == division.len());
            match component.kind {
                Kind::Once => self.once(component)?,
                Kind::Simultaneous => {
                    if let Some(answer) = self.simultaneous(component, early)? {
                        return Ok(Some(answer));
                    }
                }
                Kind::Nested(monotone) => {
                    let mut values = Vec::new();
                    for &outer in &component.wanted {
                        values.push(self.nested(component, outer, monotone, depth)?);
                    }
                    // Computing one may have overwritten the others.
                    for (&outer, value) in component.wanted.iter().zip(values) {
                        self.engine.set(outer, Of::Value, value);
                    }
                }
            }
        }
        Ok(None)
    }

    fn divide(&mut self, demand: &[DefId], inside: Option<&[DefId]>) -> Rc<Vec<Component>> {
        // All predicates are never listed.
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

    /// The present values of what a component uses.
    fn outside(&self, component: &Component) -> Vec<Bdd> {
        let uses = component.outside.iter();
        uses.map(|(def, _)| self.engine.get(*def, Of::Value))
            .collect()
    }

    fn body(&self, def: DefId) -> TermId {
        // Predicates without a body are refused before anything is evaluated.
        let body = self.engine.theory.definition(def).body;
        body.unwrap_or(crate::term::FALSE)
    }

    /// Evaluates the body within the predicate's types.
    fn evaluate_body(&mut self, def: DefId) -> Result<Bdd> {
        let body = self.body(def);
        let value = self.engine.evaluate(body)?;
        let space = self.engine.space(def)?;
        Ok(value.and(&space)?)
    }

    fn once(&mut self, component: &Component) -> Result<()> {
        let def = component.members[0];
        let key: Key = (component.members[..].into(), None);
        let outside = self.outside(component);
        if let Some(known) = self.known.get(&key)
            && known.outside == outside
        {
            let value = known.values[0].clone();
            self.engine.set(def, Of::Value, value);
            return Ok(());
        }
        let value = self.evaluate_body(def)?;
        self.engine.set(def, Of::Value, value.clone());
        let values = vec![value];
        self.remember(key, outside, values, true);
        Ok(())
    }

    fn remember(&mut self, key: Key, outside: Vec<Bdd>, values: Vec<Bdd>, complete: bool) {
        self.known.insert(
            key,
            Known {
                outside,
                values,
                complete,
            },
        );
    }

    /// The component's fixpoint with `outer` outermost.
    fn nested(
        &mut self,
        component: &Component,
        outer: DefId,
        monotone: bool,
        depth: u32,
    ) -> Result<Bdd> {
        let key: Key = (component.members[..].into(), Some(outer));
        let outside = self.outside(component);
        if let Some(known) = self.known.get(&key)
            && known.outside == outside
        {
            return Ok(known.values[0].clone());
        }
        let inside: Vec<DefId> = component
            .members
            .iter()
            .copied()
            .filter(|def| *def != outer)
            .collect();
        let set: FxHashSet<DefId> = inside.iter().copied().collect();
        let definition = self.engine.theory.definition(outer);
        let least = definition.fixpoint != Fixpoint::Nu;
        let demand: Vec<DefId> = definition
            .references
            .iter()
            .map(|(def, _)| *def)
            .filter(|def| set.contains(def))
            .collect();
        let space = self.engine.space(outer)?;
        let bottom = self.engine.manager.constant(false);
        let (start, end) = if least {
            (bottom, space)
        } else {
            (space, bottom)
        };
        let mut value = start;
        if monotone && let Some(known) = self.known.get(&key) {
            let values = known.values[0].clone();
            let old = known.outside.clone();
            if Self::moved_on(component, &old, &outside, least)? {
                value = values;
            }
        }
        // Brent's algorithm: a value that comes back is met again by the one that waits.
        let mut waiting = value.clone();
        let (mut power, mut steps) = (1u64, 0u64);
        let mut round = 0;
        loop {
            round += 1;
            self.engine.set(outer, Of::Value, value.clone());
            self.region(&demand, Some(&inside), None, depth + 1)?;
            let new = self.evaluate_body(outer)?;
            let done = new == value || monotone && new == end;
            self.report(outer, round, &new, done);
            if done {
                self.remember(key, outside, vec![new.clone()], true);
                return Ok(new);
            }
            if !monotone {
                steps += 1;
                if new == waiting {
                    return Err(Unanswered::Oscillates {
                        predicate: outer,
                        period: steps,
                    });
                }
                if steps == power {
                    waiting = new.clone();
                    power = power.saturating_mul(2);
                    steps = 0;
                }
            }
            value = new;
        }
    }

    /// Whether what a component uses has only moved so that its fixpoint moves on in its own direction.
    fn moved_on(component: &Component, old: &[Bdd], new: &[Bdd], least: bool) -> Result<bool> {
        for ((old, new), (_, sign)) in old.iter().zip(new).zip(&component.outside) {
            if old == new {
                continue;
            }
            if sign.positive == sign.negative {
                return Ok(false);
            }
            let (lower, upper) = if least == sign.positive {
                (old, new)
            } else {
                (new, old)
            };
            if !lower.implies_all(upper)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn report(&mut self, def: DefId, round: u64, value: &Bdd, last: bool) {
        self.rounds += 1;
        let now = Instant::now();
        if !last && now < self.next_report {
            return;
        }
        if let Some(reporter) = &mut self.reporter {
            self.next_report = now + EVERY;
            reporter(&Round {
                predicate: &self.engine.theory.definition(def).name,
                round,
                size: value.node_count(),
                nodes: self.engine.manager.node_count(),
                last,
            });
        }
    }

    /// All members at once.
    fn simultaneous(
        &mut self,
        component: &Component,
        question: Option<(TermId, TermId)>,
    ) -> Result<Option<bool>> {
        let members = &component.members;
        let key: Key = (members[..].into(), None);
        let outside = self.outside(component);
        let least = self.engine.theory.definition(members[0]).fixpoint == Fixpoint::Mu;
        // What grows: the relation, or its complement.
        let of = if least { Of::Value } else { Of::Complement };
        let mut spaces = Vec::new();
        for &def in members {
            spaces.push(self.engine.space(def)?);
        }
        let nothing = self.engine.manager.constant(false);
        let mut grown: Vec<Bdd> = vec![nothing.clone(); members.len()];
        if let Some(known) = self.known.get(&key) {
            if known.complete && known.outside == outside {
                let values = known.values.clone();
                self.publish(members, &values, &spaces, least)?;
                return Ok(None);
            }
            let (old, values) = (known.outside.clone(), known.values.clone());
            if Self::moved_on(component, &old, &outside, least)? {
                grown = values;
            }
        }
        let early = match question {
            Some((root, dual)) => self.early(members, root, dual, of),
            None => Vec::new(),
        };
        let mut bodies = Vec::new();
        for &def in members {
            bodies.push(self.parts_of(def, members, of));
        }
        let mut tasks = Vec::new();
        for (member, parts) in bodies.iter().enumerate() {
            let products = parts.products.iter().map(|product| {
                let sums = vec![nothing.clone(); product.factors.len()];
                Work::Product(product.clone(), sums)
            });
            for work in parts
                .linear
                .iter()
                .map(|&term| Work::Linear(term))
                .chain(products)
            {
                tasks.push(Task {
                    member,
                    work,
                    // Everything is new at first, the empty relations included.
                    pending: grown.clone(),
                    fresh: true,
                    time: Duration::ZERO,
                });
            }
        }
        let mut round = 0;
        let mut seen: Option<Vec<Bdd>> = None;
        // What has to be evaluated with everything: at first all that is constant, then the rest.
        let mut whole: Vec<(usize, TermId)> = Vec::new();
        for (member, parts) in bodies.iter().enumerate() {
            whole.push((member, parts.base));
        }
        loop {
            let mut news: Vec<(usize, Bdd)> = Vec::new();
            // The cheapest task that has something to do goes first.
            let waiting = tasks.iter_mut().filter(|task| task.is_waiting());
            if !whole.is_empty() {
                for (i, &def) in members.iter().enumerate() {
                    self.engine.set(def, of, grown[i].clone());
                }
                for (member, term) in whole.drain(..) {
                    news.push((member, self.engine.evaluate(term)?));
                }
            } else if let Some(task) = waiting.min_by_key(|task| task.time) {
                let start = Instant::now();
                for (i, &def) in members.iter().enumerate() {
                    let pending = std::mem::replace(&mut task.pending[i], nothing.clone());
                    // Anything between what is new and what is known will do: the smaller diagram. Of a
                    // small one that need not be asked.
                    let size = pending.node_count();
                    let large = size > SMALL && size > grown[i].node_count();
                    let frontier = if large { grown[i].clone() } else { pending };
                    self.engine.set(def, Of::Frontier, frontier);
                }
                task.fresh = false;
                let new = match &mut task.work {
                    Work::Linear(term) => self.engine.evaluate(*term)?,
                    Work::Product(product, sums) => self.product(product, sums)?,
                };
                task.time = (task.time + start.elapsed()) / 2;
                news.push((task.member, new));
            } else {
                break;
            }
            round += 1;
            for (i, new) in news {
                let fresh = new.and(&spaces[i])?.minus(&grown[i])?;
                if fresh.is_false() {
                    continue;
                }
                grown[i] = grown[i].or(&fresh)?;
                for task in &mut tasks {
                    task.pending[i] = task.pending[i].or(&fresh)?;
                }
                if !early.is_empty() {
                    for &def in members {
                        self.engine.set(def, Of::Frontier, nothing.clone());
                    }
                    self.engine.set(members[i], Of::Frontier, fresh);
                }
                for question in &early {
                    if self.engine.evaluate(question.root)?.is_true() {
                        self.report(members[0], round, &grown[0], true);
                        self.remember(key, outside, grown, false);
                        return Ok(Some(question.answer));
                    }
                }
            }
            if tasks.iter().any(Task::is_waiting) {
                self.report(members[0], round, &grown[0], false);
            } else {
                // Nothing is left but what has to see everything; if that has seen it, this is the fixpoint.
                if seen.as_ref() != Some(&grown) {
                    seen = Some(grown.clone());
                    let rest = bodies.iter().enumerate();
                    let rest = rest.filter(|(_, parts)| parts.rest != crate::term::FALSE);
                    whole.extend(rest.map(|(member, parts)| (member, parts.rest)));
                }
                self.report(members[0], round, &grown[0], whole.is_empty());
            }
        }
        for &def in members {
            self.engine.set(def, Of::Frontier, nothing.clone());
        }
        self.publish(members, &grown, &spaces, least)?;
        self.remember(key, outside, grown, true);
        Ok(None)
    }

    /// What a product gains from the frontier: one conjunct sees what is new, the others everything.
    fn product(&mut self, product: &Product, sums: &mut [Bdd]) -> Result<Bdd> {
        let mut new = self.engine.manager.constant(false);
        let mut news = Vec::new();
        for &factor in &product.factors {
            news.push(self.engine.evaluate(factor)?);
        }
        let mut constants = Vec::new();
        for &constant in &product.constants {
            constants.push(self.engine.evaluate(constant)?);
        }
        for &var in &product.vars {
            constants.extend(self.engine.range(var)?);
        }
        for (sum, new) in sums.iter_mut().zip(&news) {
            *sum = sum.or(new)?;
        }
        for (i, factor) in news.iter().enumerate() {
            if factor.is_false() {
                continue;
            }
            let mut parts = constants.clone();
            parts.push(factor.clone());
            let others = sums.iter().enumerate().filter(|(j, _)| *j != i);
            parts.extend(others.map(|(_, sum)| sum.clone()));
            let key = (product.whole, i as u32 + 1);
            new = new.or(&self.engine.exists(key, &product.vars, parts)?)?;
        }
        Ok(new)
    }

    /// Sets the values of a component from what has grown.
    fn publish(
        &mut self,
        members: &[DefId],
        grown: &[Bdd],
        spaces: &[Bdd],
        least: bool,
    ) -> Result<()> {
        for ((&def, grown), space) in members.iter().zip(grown).zip(spaces) {
            let value = if least {
                grown.clone()
            } else {
                space.minus(grown)?
            };
            self.engine.set(def, Of::Value, value);
        }
        Ok(())
    }

    /// The body of a member, in parts.
    fn parts_of(&mut self, def: DefId, members: &[DefId], of: Of) -> Rc<Parts> {
        let key = (def, members.into());
        if let Some(known) = self.parts.get(&key) {
            return Rc::clone(known);
        }
        let set: FxHashSet<DefId> = members.iter().copied().collect();
        let body = self.body(def);
        let theory = &mut self.engine.theory;
        let root = if of == Of::Value {
            body
        } else {
            let dual = theory.definition(def).dual.unwrap_or(crate::term::TRUE);
            to_complement(&mut theory.terms, dual, |def| set.contains(&def))
        };
        let parts = Rc::new(parts(&mut theory.terms, root, of, |def| set.contains(&def)));
        self.parts.insert(key, Rc::clone(&parts));
        parts
    }

    /// The ways to decide a question from the frontier.
    fn early(&mut self, members: &[DefId], root: TermId, dual: TermId, of: Of) -> Vec<Early> {
        let set: FxHashSet<DefId> = members.iter().copied().collect();
        let terms = &mut self.engine.theory.terms;
        let mut list = Vec::new();
        for (root, answer) in [(root, true), (dual, false)] {
            let root = match of {
                Of::Complement => to_complement(terms, root, |def| set.contains(&def)),
                _ => root,
            };
            let shape = crate::rewrite::shapes(terms, root, of, |def| set.contains(&def))[&root];
            if shape == crate::rewrite::Shape::Linear {
                let root = to_frontier(terms, root, of, |def| set.contains(&def));
                list.push(Early { root, answer });
            }
        }
        list
    }
}
