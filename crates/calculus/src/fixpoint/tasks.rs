//! The tasks of a simultaneous fixpoint: parts of bodies that see only what is new.
//!
//! A part that distributes over union is evaluated with the *frontier* alone: what has come since
//! the part was evaluated last. In a conjunction of several such parts each in turn sees the
//! frontier, and the others see everything (semi-naive evaluation, as in Datalog).
//!
//! What keeps it honest: the random theories of [`super`].

use std::rc::Rc;

use droste_bdd::Bdd;
use rustc_hash::FxHashSet;

use super::image::Image;
use super::{Fixpoints, Result};
use crate::rewrite::{Parts, Product};
use crate::term::{DefId, Of, Term, TermId, VarId};

/// A diagram with at most this number of nodes is small.
const SMALL: usize = 500;

/// A part of a body that sees only what is new, and what that is.
pub(super) struct Task {
    /// Whose body.
    pub(super) member: usize,
    work: Work,
    /// The members it depends on, and what it has not seen of each yet.
    pub(super) pending: Vec<(usize, Bdd)>,
    /// Whether it has not been evaluated at all.
    fresh: bool,
    /// Whether what it gives may be outside of the types of the member's parameters.
    open: bool,
    /// How many steps of diagram operations it took lately. Not how much time: what is done next must
    /// not depend on the clock, or the same question would take another course on a busy machine.
    pub(super) steps: u64,
}

enum Work {
    /// Distributes over union.
    Linear(TermId),
    /// A part that distributes over union, as the image of a frontier.
    Image(TermId, Rc<Image>),
    /// A conjunction of parts that distribute over union.
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
    /// Whether there is something it has not seen.
    pub(super) fn is_waiting(&self) -> bool {
        self.fresh || self.pending.iter().any(|(_, set)| !set.is_false())
    }

    /// Whether it gives nothing new from what it has given itself.
    pub(super) fn is_closed(&self) -> bool {
        matches!(&self.work, Work::Image(_, image) if image.closed)
    }
}

impl Fixpoints<'_> {
    /// The tasks of all bodies. Everything is new to them: the values from which the members start,
    /// the empty ones included.
    pub(super) fn tasks(
        &mut self,
        members: &[DefId],
        bodies: &[Rc<Parts>],
        start: &[Bdd],
    ) -> Result<Vec<Task>> {
        let mut tasks = Vec::new();
        for (member, parts) in bodies.iter().enumerate() {
            for work in self.works(members[member], parts)? {
                let mentioned = self.mentions(&work, members);
                tasks.push(Task {
                    member,
                    open: self.is_open(members[member], &work),
                    work,
                    pending: mentioned
                        .into_iter()
                        .map(|i| (i, start[i].clone()))
                        .collect(),
                    fresh: true,
                    steps: 0,
                });
            }
        }
        Ok(tasks)
    }

    /// What of a body sees only the frontier.
    fn works(&mut self, def: DefId, parts: &Parts) -> Result<Vec<Work>> {
        let mut works = Vec::new();
        for &term in &parts.linear {
            works.push(match self.image(Some(def), term)? {
                Some(image) => Work::Image(term, image),
                None => Work::Linear(term),
            });
        }
        for product in &parts.products {
            works.push(Work::Product(self.join(product)?));
        }
        Ok(works)
    }

    /// Whether what the work gives may be outside of the types of the parameters of `def`.
    fn is_open(&mut self, def: DefId, work: &Work) -> bool {
        let whole = match work {
            Work::Image(_, image) if image.own => return false,
            Work::Linear(term) | Work::Image(term, _) => *term,
            Work::Product(join) => join.product.whole,
        };
        let theory = &self.engine.theory;
        let parameters = &theory.definition(def).parameters;
        let open = self.engine.ranged.open(theory, parameters, &[whole]);
        !open.is_empty()
    }

    /// Evaluates a task with what it has not seen yet; what it gives, within the types of its
    /// member (`spaces`).
    pub(super) fn perform(
        &mut self,
        task: &mut Task,
        members: &[DefId],
        grown: &[Bdd],
        spaces: &[Bdd],
    ) -> Result<Bdd> {
        let start = self.engine.manager.steps();
        for (i, pending) in &mut task.pending {
            let nothing = self.engine.manager.constant(false);
            let pending = std::mem::replace(pending, nothing);
            // Any set between what is new and what is known will do: the one with the smaller diagram is
            // taken. What is new is counted, and taken at once if it is small. Otherwise what is known is
            // counted, too, but only up to that number.
            let size = pending.node_count();
            let large = size > SMALL && !grown[*i].is_larger_than(size - 1);
            let frontier = if large { grown[*i].clone() } else { pending };
            self.engine.set(members[*i], Of::Frontier, frontier);
        }
        task.fresh = false;
        let new = match &mut task.work {
            Work::Linear(term) => self.engine.evaluate(*term)?,
            Work::Image(_, image) => self.engine.watched(|engine| image.evaluate(engine))?,
            Work::Product(join) => self.product(join)?,
        };
        let steps = self.engine.manager.steps().saturating_sub(start);
        task.steps = u64::midpoint(task.steps, steps);
        Ok(if task.open {
            new.and(&spaces[task.member])?
        } else {
            new
        })
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

    /// What a product gains from the frontier: one conjunct sees what is new, the others
    /// everything.
    fn product(&mut self, join: &mut Join) -> Result<Bdd> {
        let product = &join.product;
        let mut new = self.engine.manager.constant(false);
        let mut news = Vec::new();
        for (&factor, image) in product.factors.iter().zip(&join.images) {
            news.push(match image {
                Some(image) => self.engine.watched(|engine| image.evaluate(engine))?,
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
            let more = self
                .engine
                .watched(|engine| engine.exists(key, &product.vars, parts.clone()))?;
            new = new.or(&more)?;
        }
        Ok(new)
    }
}
