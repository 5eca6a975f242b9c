//! Values of predicates: which fixpoints are nested in which, and how each is computed.
//!
//! The meaning is that of `Evaluate(R, Eq)` in La Torre, Madhusudan and Parlato, *Analyzing
//! recursive programs using a fixed-point calculus* (PLDI 2009), section 3. To evaluate a recursive
//! predicate, start with nothing (`mu`) or everything (`nu`). Evaluate the predicates that its body
//! applies with the present value of this one fixed, then the body. Take the result as the new
//! value, and repeat until the value stays the same.
//!
//! Done literally, this starts inner fixpoints again in every outer round. Here the predicates are
//! first divided into strongly connected components. In a component that is all `mu` or all `nu`,
//! and monotone, the nested fixpoints are one simultaneous fixpoint (Bekić), and all members are
//! iterated side by side ([`simultaneous`]). A component is nested only where `mu` and `nu` mix, or
//! a body is not monotone. Then the predicate that is used from outside is the outermost, and what
//! remains of the component without it is divided again. A component that is evaluated again starts
//! from its last value if what it depends on has only changed in the right direction.
//!
//! What keeps it honest: thousands of random theories are compared with a literal `Evaluate` over
//! sets of tuples (`tests/random`).

mod bodies;
mod closure;
mod division;
mod image;
mod simultaneous;
mod tasks;

use std::rc::Rc;
use std::time::{Duration, Instant};

use droste_base::StopReason;
use droste_bdd::Bdd;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::depend::{components, references};
use crate::engine::Engine;
use crate::syntax::Fixpoint;
use crate::term::{DefId, Of, Term, TermId};
use division::{Component, Kind, Region};

/// Why there is no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unanswered {
    /// A limit was reached.
    Stopped(StopReason),
    /// The rounds of a predicate that is not monotone run in a circle.
    Oscillates {
        /// The predicate.
        predicate: DefId,
        /// The number of rounds after which a value came back.
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

/// How deep alternating fixpoints may be nested in each other. (Each doubles the work at least.)
const DEEPEST: u32 = 200;

/// The least time between two reports of rounds: counting nodes takes time.
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

/// A computed value, and what it was computed from.
struct KnownValue {
    outside: Vec<Bdd>,
    values: Vec<Bdd>,
    /// Whether it is the fixpoint, not a value on the way to it.
    complete: bool,
}

/// Key of a known value: the members, and the outermost one if it is nested.
type Key = (Box<[DefId]>, Option<DefId>);
/// Computes values of predicates.
pub(crate) struct Fixpoints<'a> {
    pub(crate) engine: Engine,
    known: FxHashMap<Key, KnownValue>,
    divisions: FxHashMap<Region, Rc<Vec<Component>>>,
    bodies: FxHashMap<Box<[DefId]>, Rc<bodies::Bodies>>,
    images: FxHashMap<(Option<DefId>, TermId), image::KnownImage>,
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
            bodies: FxHashMap::default(),
            images: FxHashMap::default(),
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

    /// The value of a closed formula, given it and its negation. Stops early if it can: of a
    /// disjunction whose parts need different predicates, the part that needs fewest is looked at
    /// first.
    pub(crate) fn decide(&mut self, root: TermId, dual: TermId, uses: &[DefId]) -> Result<bool> {
        for (root, answer) in [(root, true), (dual, false)] {
            let Some(parts) = self.alternatives(root) else {
                continue;
            };
            for (part, uses) in parts {
                if self.decide_whole(part, crate::term::FALSE, &uses)? {
                    return Ok(answer);
                }
            }
            return Ok(!answer);
        }
        self.decide_whole(root, dual, uses)
    }

    /// The parts of a disjunction, those that need few predicates first, and what each applies.
    /// Nothing if that makes no difference.
    fn alternatives(&self, root: TermId) -> Option<Vec<(TermId, Vec<DefId>)>> {
        let theory = &self.engine.theory;
        let Term::Or(parts) = theory.terms.get(root) else {
            return None;
        };
        let mut list = Vec::new();
        for &part in parts {
            let applied = references(&theory.terms, part).into_iter();
            let applied: Vec<DefId> = applied.map(|(def, _)| def).collect();
            let needed = components(&applied, |def, out| {
                out.extend(theory.definition(def).references.iter().map(|(d, _)| *d));
            });
            list.push((needed.len(), part, applied));
        }
        list.sort_by_key(|(needed, ..)| *needed);
        let differ = list.first()?.0 < list.last()?.0;
        differ.then(|| {
            list.into_iter()
                .map(|(_, part, uses)| (part, uses))
                .collect()
        })
    }

    fn decide_whole(&mut self, root: TermId, dual: TermId, uses: &[DefId]) -> Result<bool> {
        if let Some(answer) = self.region(uses, None, Some((root, dual)), 0)? {
            return Ok(answer);
        }
        Ok(self.engine.evaluate(root)?.is_true())
    }

    /// Evaluates what `demand` needs of the predicates in `inside` (all of them, if nothing); the
    /// answer to `question` if it was decided on the way.
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
            KnownValue {
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

    /// Whether what a component uses has only moved so that its fixpoint moves on in its own
    /// direction.
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
}
