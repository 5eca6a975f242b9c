//! One fixpoint of a whole component: all members side by side, from below; greatest fixpoints as
//! least ones of the complement.
//!
//! Bodies are taken apart ([`bodies`](super::bodies)). Parts that distribute over union become
//! [`tasks`](super::tasks), which see only what is new. The cheapest task that has something to do
//! goes first, so that cheap steps run to their end before an expensive one looks at their results.
//! The other parts are evaluated with all that has been found, whenever no task has anything left
//! to do.
//!
//! What keeps it honest: the random theories of [`super`].

use std::rc::Rc;

use droste_bdd::Bdd;
use rustc_hash::FxHashSet;

use super::bodies::Bodies;
use super::division::Component;
use super::tasks::Task;
use super::{Fixpoints, Key, Result};
use crate::rewrite::{to_complement, to_frontier};
use crate::syntax::Fixpoint;
use crate::term::{DefId, Of, TermId};

/// A question that may be decided before a fixpoint is reached.
#[derive(Clone, Copy, Debug)]
struct Early {
    /// Once this holds of what is new, the question is decided.
    root: TermId,
    /// The answer then.
    answer: bool,
}

/// A component on its way to the fixpoint.
struct Growth<'c> {
    members: &'c [DefId],
    /// What grows: the relation, or its complement.
    of: Of,
    /// What the types of each member's parameters allow.
    spaces: Vec<Bdd>,
    /// The values so far.
    grown: Vec<Bdd>,
    bodies: Rc<Bodies>,
    tasks: Vec<Task>,
    /// For each member, the tasks that depend on it.
    listeners: Vec<Vec<usize>>,
    /// What has to be evaluated with everything, and in whose body it is.
    whole: Vec<(usize, TermId)>,
    early: Vec<Early>,
    round: u64,
}

/// What an evaluation gave.
struct News {
    /// To which member.
    member: usize,
    /// Within the types of its parameters; some of it may be known.
    set: Bdd,
    /// The task that need not look at it.
    done: Option<usize>,
}

impl Fixpoints<'_> {
    /// All members at once; the answer to `question` if it was decided on the way.
    pub(super) fn simultaneous(
        &mut self,
        component: &Component,
        question: Option<(TermId, TermId)>,
    ) -> Result<Option<bool>> {
        let members = &component.members;
        let key: Key = (members[..].into(), None);
        let outside = self.outside(component);
        let least = self.engine.theory.definition(members[0]).fixpoint == Fixpoint::Mu;
        let mut spaces = Vec::new();
        for &def in members {
            spaces.push(self.engine.space(def)?);
        }
        let mut start = vec![self.engine.manager.constant(false); members.len()];
        if let Some(known) = self.known.get(&key) {
            let (old, values) = (known.outside.clone(), known.values.clone());
            if known.complete && old == outside {
                self.publish(members, &values, &spaces, least)?;
                return Ok(None);
            }
            if Self::moved_on(component, &old, &outside, least)? {
                start = values;
            }
        }
        let mut growth = self.growth(members, spaces, start, least, question)?;
        let answer = self.grow(&mut growth)?;
        let Growth {
            mut grown,
            spaces,
            bodies,
            ..
        } = growth;
        for (member, &kept) in bodies.kept.iter().enumerate() {
            grown[member] = grown[kept].clone();
        }
        if answer.is_none() {
            let nothing = self.engine.manager.constant(false);
            for &def in members {
                self.engine.set(def, Of::Frontier, nothing.clone());
            }
            self.publish(members, &grown, &spaces, least)?;
        }
        self.remember(key, outside, grown, answer.is_none());
        Ok(answer)
    }

    /// The component before its first round.
    fn growth<'c>(
        &mut self,
        members: &'c [DefId],
        spaces: Vec<Bdd>,
        mut start: Vec<Bdd>,
        least: bool,
        question: Option<(TermId, TermId)>,
    ) -> Result<Growth<'c>> {
        let of = if least { Of::Value } else { Of::Complement };
        let bodies = self.bodies_of(members, of);
        let early = match question {
            Some((root, dual)) => {
                let theory = &mut self.engine.theory;
                let [root, dual] = [root, dual].map(|root| bodies.in_kept(theory, root));
                self.early(members, root, dual, of)
            }
            None => Vec::new(),
        };
        for (member, &kept) in bodies.kept.iter().enumerate() {
            if kept != member {
                start[kept] = start[kept].or(&start[member])?;
            }
        }
        let tasks = self.tasks(members, &bodies.parts, &start)?;
        let mut listeners: Vec<Vec<usize>> = vec![Vec::new(); members.len()];
        for (number, task) in tasks.iter().enumerate() {
            for (member, _) in &task.pending {
                listeners[*member].push(number);
            }
        }
        // At first all that is constant, then the rest.
        let bases = bodies.parts.iter().enumerate();
        let whole = bases.map(|(member, parts)| (member, parts.base)).collect();
        Ok(Growth {
            members,
            of,
            spaces,
            grown: start,
            bodies,
            tasks,
            listeners,
            whole,
            early,
            round: 0,
        })
    }

    /// Rounds until nothing is new, or until the question is decided.
    fn grow(&mut self, growth: &mut Growth<'_>) -> Result<Option<bool>> {
        let first = growth.members[0];
        // The values that the rest of the bodies was evaluated with last.
        let mut seen: Option<Vec<Bdd>> = None;
        while let Some(news) = self.evaluate_next(growth)? {
            growth.round += 1;
            for news in news {
                if let Some(answer) = self.absorb(growth, news)? {
                    self.report(first, growth.round, &growth.grown[0], true);
                    return Ok(Some(answer));
                }
            }
            let mut last = false;
            if !growth.tasks.iter().any(Task::is_waiting) {
                // Nothing is left but what has to see everything; if that has seen it, this is the
                // fixpoint.
                if seen.as_ref() != Some(&growth.grown) {
                    seen = Some(growth.grown.clone());
                    let rest = growth.bodies.parts.iter().enumerate();
                    let rest = rest.filter(|(_, parts)| parts.rest != crate::term::FALSE);
                    let rest = rest.map(|(member, parts)| (member, parts.rest));
                    growth.whole.extend(rest);
                }
                last = growth.whole.is_empty();
            }
            self.report(first, growth.round, &growth.grown[0], last);
        }
        Ok(None)
    }

    /// Evaluates what has to see everything, or else the cheapest task that has something to do;
    /// `None` if there is nothing to evaluate.
    fn evaluate_next(&mut self, growth: &mut Growth<'_>) -> Result<Option<Vec<News>>> {
        if !growth.whole.is_empty() {
            for (&def, grown) in growth.members.iter().zip(&growth.grown) {
                self.engine.set(def, growth.of, grown.clone());
            }
            let mut news = Vec::new();
            for (member, term) in growth.whole.drain(..) {
                let set = self.engine.evaluate(term)?.and(&growth.spaces[member])?;
                let done = None;
                news.push(News { member, set, done });
            }
            return Ok(Some(news));
        }
        let waiting = growth.tasks.iter_mut().enumerate();
        let waiting = waiting.filter(|(_, task)| task.is_waiting());
        let Some((number, task)) = waiting.min_by_key(|(_, task)| task.steps) else {
            return Ok(None);
        };
        let set = self.perform(task, growth.members, &growth.grown, &growth.spaces)?;
        Ok(Some(vec![News {
            member: task.member,
            set,
            done: task.is_closed().then_some(number),
        }]))
    }

    /// Adds what is new to the member, and tells the tasks that depend on it; the answer to the
    /// question if that decides it.
    fn absorb(&mut self, growth: &mut Growth<'_>, news: News) -> Result<Option<bool>> {
        let News { member, set, done } = news;
        let fresh = set.minus(&growth.grown[member])?;
        debug_assert!(fresh.implies_all(&growth.spaces[member])?);
        if fresh.is_false() {
            return Ok(None);
        }
        growth.grown[member] = growth.grown[member].or(&fresh)?;
        for &number in &growth.listeners[member] {
            if done == Some(number) {
                continue;
            }
            let pending = growth.tasks[number].pending.iter_mut();
            for (_, pending) in pending.filter(|(i, _)| *i == member) {
                *pending = pending.or(&fresh)?;
            }
        }
        if growth.early.is_empty() {
            return Ok(None);
        }
        let nothing = self.engine.manager.constant(false);
        for &def in growth.members {
            self.engine.set(def, Of::Frontier, nothing.clone());
        }
        let def = growth.members[member];
        self.engine.set(def, Of::Frontier, fresh);
        for question in &growth.early {
            if self.engine.evaluate(question.root)?.is_true() {
                return Ok(Some(question.answer));
            }
        }
        Ok(None)
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
