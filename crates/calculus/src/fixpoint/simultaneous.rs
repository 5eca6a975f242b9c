//! One fixpoint of a whole component: all members side by side, from below; greatest fixpoints as least ones of the
//! complement.
//!
//! Bodies are taken apart ([`crate::rewrite`]). What distributes over union sees only the *frontier*, what is new since it
//! was evaluated last; in a conjunction of several such parts each in turn sees the frontier and the others everything
//! (semi-naive evaluation, as in Datalog). These are *tasks*; the cheapest that has something to do goes first, so that
//! cheap steps run to their end before an expensive one looks at their results. What remains sees everything, once no
//! task has anything to do.

use std::rc::Rc;
use std::time::{Duration, Instant};

use droste_bdd::Bdd;
use rustc_hash::FxHashSet;

use super::division::Component;
use super::image::Image;
use super::{Fixpoints, Key, Result};
use crate::rewrite::{Parts, Product, parts, to_complement, to_frontier};
use crate::syntax::Fixpoint;
use crate::term::{DefId, Of, Term, TermId, VarId};

/// A diagram with so many nodes is small.
const SMALL: usize = 500;

/// A part of a body that sees only what is new, and what that is.
struct Task {
    /// Whose body.
    member: usize,
    work: Work,
    /// The members it depends on, and what it has not seen of each yet.
    pending: Vec<(usize, Bdd)>,
    /// Whether it has not been evaluated at all.
    fresh: bool,
    /// Whether what it gives may be outside of the types of the member's parameters.
    open: bool,
    /// How long it took lately.
    time: Duration,
}

enum Work {
    /// Distributes over union.
    Linear(TermId),
    /// The same, as the image of a frontier.
    Image(TermId, Rc<Image>),
    /// A conjunction of such.
    Product(Join),
}

/// A conjunction of parts that distribute over union.
struct Join {
    product: Product,
    /// The variables whose range has to be seen to.
    open: Vec<VarId>,
    /// The factors that are images.
    images: Vec<Option<Rc<Image>>>,
    /// What each factor has been so far: the union over all frontiers.
    sums: Vec<Bdd>,
}

impl Task {
    fn is_waiting(&self) -> bool {
        self.fresh || self.pending.iter().any(|(_, set)| !set.is_false())
    }
}

/// A question that may be decided before a fixpoint is reached.
#[derive(Clone, Copy, Debug)]
struct Early {
    /// Once this holds of what is new, the question is decided.
    root: TermId,
    /// The answer then.
    answer: bool,
}

impl Fixpoints<'_> {
    /// All members at once.
    pub(super) fn simultaneous(
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
            let mut works: Vec<Work> = Vec::new();
            for &term in &parts.linear {
                works.push(match self.image(Some(members[member]), term)? {
                    Some(image) => Work::Image(term, image),
                    None => Work::Linear(term),
                });
            }
            for product in &parts.products {
                works.push(Work::Product(self.join(product)?));
            }
            for work in works {
                let mentioned = self.mentions(&work, members);
                let theory = &self.engine.theory;
                let parameters = &theory.definition(members[member]).parameters;
                let whole = match &work {
                    Work::Image(_, image) if image.own => None,
                    Work::Linear(term) | Work::Image(term, _) => Some(*term),
                    Work::Product(join) => Some(join.product.whole),
                };
                let open = whole.is_some_and(|term| {
                    let ranged = &mut self.engine.ranged;
                    !ranged.open(theory, parameters, &[term]).is_empty()
                });
                tasks.push(Task {
                    member,
                    work,
                    open,
                    // Everything is new at first, the empty relations included.
                    pending: mentioned
                        .into_iter()
                        .map(|i| (i, grown[i].clone()))
                        .collect(),
                    fresh: true,
                    time: Duration::ZERO,
                });
            }
        }
        // For each member, the tasks that depend on it.
        let mut listeners: Vec<Vec<usize>> = vec![Vec::new(); members.len()];
        for (number, task) in tasks.iter().enumerate() {
            for (member, _) in &task.pending {
                listeners[*member].push(number);
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
            // For members what may be new, within the parameters' types, and which task need not look at it.
            let mut news: Vec<(usize, Bdd, Option<usize>)> = Vec::new();
            // The cheapest task that has something to do goes first.
            let waiting = tasks.iter_mut().enumerate();
            let waiting = waiting.filter(|(_, task)| task.is_waiting());
            if !whole.is_empty() {
                for (i, &def) in members.iter().enumerate() {
                    self.engine.set(def, of, grown[i].clone());
                }
                for (member, term) in whole.drain(..) {
                    let new = self.engine.evaluate(term)?.and(&spaces[member])?;
                    news.push((member, new, None));
                }
            } else if let Some((number, task)) = waiting.min_by_key(|(_, task)| task.time) {
                let start = Instant::now();
                for (i, pending) in &mut task.pending {
                    let (i, def) = (*i, members[*i]);
                    let pending = std::mem::replace(pending, nothing.clone());
                    // Anything between what is new and what is known will do: the smaller diagram. Of a
                    // small one that need not be asked.
                    let large = pending.is_larger_than(SMALL)
                        && pending.is_larger_than(grown[i].node_count());
                    let frontier = if large { grown[i].clone() } else { pending };
                    self.engine.set(def, Of::Frontier, frontier);
                }
                task.fresh = false;
                let mut done = None;
                let new = match &mut task.work {
                    Work::Linear(term) => self.engine.evaluate(*term)?,
                    Work::Image(_, image) => {
                        done = image.closed.then_some(number);
                        image.evaluate(&self.engine)?
                    }
                    Work::Product(join) => self.product(join)?,
                };
                task.time = (task.time + start.elapsed()) / 2;
                let new = if task.open {
                    new.and(&spaces[task.member])?
                } else {
                    new
                };
                news.push((task.member, new, done));
            } else {
                break;
            }
            round += 1;
            for (i, new, done) in news {
                let fresh = new.minus(&grown[i])?;
                debug_assert!(fresh.implies_all(&spaces[i])?);
                if fresh.is_false() {
                    continue;
                }
                grown[i] = grown[i].or(&fresh)?;
                for &number in listeners[i].iter().filter(|n| done != Some(**n)) {
                    let task: &mut Task = &mut tasks[number];
                    for (_, pending) in task.pending.iter_mut().filter(|(j, _)| *j == i) {
                        *pending = pending.or(&fresh)?;
                    }
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

    /// The members whose frontiers a task sees.
    fn mentions(&self, work: &Work, members: &[DefId]) -> Vec<usize> {
        let roots: &[TermId] = match work {
            Work::Linear(term) | Work::Image(term, _) => std::slice::from_ref(term),
            Work::Product(join) => &join.product.factors,
        };
        let terms = &self.engine.theory.terms;
        let mut mentioned: FxHashSet<DefId> = FxHashSet::default();
        let mut seen: FxHashSet<TermId> = FxHashSet::default();
        let mut stack = roots.to_vec();
        while let Some(id) = stack.pop() {
            if !seen.insert(id) {
                continue;
            }
            if let Term::Apply(def, Of::Frontier, _) = terms.get(id) {
                mentioned.insert(*def);
            }
            terms.operands(id, |operand| stack.push(operand));
        }
        let all = members.iter().enumerate();
        all.filter(|(_, def)| mentioned.contains(def))
            .map(|(i, _)| i)
            .collect()
    }

    fn join(&mut self, product: &Product) -> Result<Join> {
        let mut conjuncts = product.constants.clone();
        conjuncts.extend(&product.factors);
        let ranged = &mut self.engine.ranged;
        let open = ranged.open(&self.engine.theory, &product.vars, &conjuncts);
        let mut images = Vec::new();
        for &factor in &product.factors {
            images.push(self.image(None, factor)?);
        }
        let nothing = self.engine.manager.constant(false);
        Ok(Join {
            product: product.clone(),
            open,
            images,
            sums: vec![nothing; product.factors.len()],
        })
    }

    /// What a product gains from the frontier: one conjunct sees what is new, the others everything.
    fn product(&mut self, join: &mut Join) -> Result<Bdd> {
        let product = &join.product;
        let mut new = self.engine.manager.constant(false);
        let mut news = Vec::new();
        for (&factor, image) in product.factors.iter().zip(&join.images) {
            news.push(match image {
                Some(image) => image.evaluate(&self.engine)?,
                None => self.engine.evaluate(factor)?,
            });
        }
        let mut constants = Vec::new();
        for &constant in &product.constants {
            constants.push(self.engine.evaluate(constant)?);
        }
        for &var in &join.open {
            constants.extend(self.engine.range(var)?);
        }
        for (sum, new) in join.sums.iter_mut().zip(&news) {
            *sum = sum.or(new)?;
        }
        for (i, factor) in news.iter().enumerate() {
            if factor.is_false() {
                continue;
            }
            let mut parts = constants.clone();
            parts.push(factor.clone());
            let others = join.sums.iter().enumerate().filter(|(j, _)| *j != i);
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
