//! A proof for any number of threads and of switches, by counting threads.
//!
//! Threads that are started are told apart by their stacks only. So a configuration is the globals,
//! the stacks of the threads that exist from the start, and how many started threads have which
//! stack. That number is exact up to a bound; more are *many*, and many stay many when one of them
//! goes on. So there are finitely many configurations. They cover all that the program has, and
//! perhaps more: if none meets the target, no run does, however many threads it has and however
//! often it switches. If one does, the bound is raised a few times, and then this search gives up:
//! other methods look for a run.
//!
//! More threads can do whatever fewer can. So a configuration that has the same globals and stacks as a known
//! one, and nowhere more started threads, is left out.
//!
//! Counters with a bound: A. Pnueli, J. Xu, L. Zuck, *Liveness with (0, 1, ∞)-counter abstraction* (CAV
//! 2002). That raising the bound decides the question in the end: G. Geeraerts, J.-F. Raskin, L. Van Begin,
//! *Expand, enlarge and check* (JCSS 72, 2006).
//!
//! What keeps it honest: `check/tests/any_switches.rs` compares its answers with those for many switches.

use droste_base::{Guard, Limits, PropId};
use droste_program::Threads;
use droste_program::schedule::Finding;
use droste_relations::Result;
use droste_unfold::{Machine, Unfolding, Words};
use rustc_hash::FxHashMap;

use super::context::{Context, Explored};
use super::{Enumeration, Few, MOST, MOST_RESTARTS, NOWHERE, Obstacle, Pace, Seed};
use crate::concurrent::PreparedQuery;
use crate::concurrent::prepare::Prepared;

/// In place of a number: more than are counted.
const MANY: u32 = u32::MAX;

/// With this bound the search begins, ...
const FIRST_BOUND: u32 = 1;

/// ... and with this one it ends, ...
const LAST_BOUND: u32 = 4;

/// ... unless the text bounds the number of threads by this or less: then counting can be exact.
const FEW_THREADS: usize = 16;

/// Started threads that others are compared with to see which steps they notice: two begin at each place.
pub(in crate::concurrent) const SLOTS: usize = 2;

/// Stacks, sorted, and how many threads have each.
type Counts = Vec<(u32, u32)>;

/// Threads more with a stack.
pub(super) fn add(counts: &mut Counts, stack: u32, more: u32, bound: u32) {
    let most = |count: u32| if count > bound { MANY } else { count };
    match counts.binary_search_by_key(&stack, |&(stack, _)| stack) {
        Ok(at) => counts[at].1 = most(counts[at].1.saturating_add(more)),
        Err(at) => counts.insert(at, (stack, most(more))),
    }
}

/// A thread less with a stack.
fn remove(counts: &mut Counts, stack: u32) {
    if let Ok(at) = counts.binary_search_by_key(&stack, |&(stack, _)| stack) {
        match counts[at].1 {
            MANY => {}
            1 => {
                counts.remove(at);
            }
            _ => counts[at].1 -= 1,
        }
    }
}

/// Whether there are nowhere more threads in the first than in the second.
fn is_covered(less: &[(u32, u32)], more: &[(u32, u32)]) -> bool {
    let mut more = more.iter();
    less.iter().all(|&(stack, count)| {
        let there = more.find(|&&(other, _)| other >= stack);
        there.is_some_and(|&(other, most)| other == stack && count <= most)
    })
}

/// The globals and the stacks of the threads that exist from the start; and the started threads.
struct Configuration {
    fixed: u32,
    counts: Box<[(u32, u32)]>,
    /// A later one covers it.
    is_covered: bool,
}

struct Counted<'a, W: Words> {
    few: Few<'a, W>,
    /// The globals and the stacks of the threads that exist from the start, by number.
    fixed: FxHashMap<Box<[u32]>, u32>,
    fixed_of: Vec<Box<[u32]>>,
    configurations: Vec<Configuration>,
    /// By `fixed`: those that no other covers.
    largest: Vec<Vec<u32>>,
    /// Configurations before this one have been looked at, and of this one so many threads.
    next: (usize, usize),
    /// Of all bounds and attempts.
    seen: u64,
    /// Steps that have been taken and not been accounted for.
    steps: i64,
}

/// So many comparisons of configurations cost a step.
const COMPARISONS: usize = 4;

/// A search that counts threads.
pub(in crate::concurrent) fn counted<'a>(
    prepared: &'a Prepared,
    question: &'a PreparedQuery<'a>,
    (machine, target): (&'a Machine, PropId),
) -> Result<Box<dyn Enumeration + 'a>> {
    let parts = (prepared, question, machine, target);
    Ok(match machine.words() {
        1 => Box::new(Counted::<[u64; 1]>::new(parts)?),
        2 => Box::new(Counted::<[u64; 2]>::new(parts)?),
        3 | 4 => Box::new(Counted::<[u64; 4]>::new(parts)?),
        5..=8 => Box::new(Counted::<[u64; 8]>::new(parts)?),
        _ => Box::new(Counted::<Box<[u64]>>::new(parts)?),
    })
}

impl<'a, W: Words + Send + 'a> Counted<'a, W> {
    fn new(parts: (&'a Prepared, &'a PreparedQuery<'a>, &'a Machine, PropId)) -> Result<Self> {
        let mut counted = Counted {
            few: Few::new(parts, 0, Some(FIRST_BOUND))?,
            fixed: FxHashMap::default(),
            fixed_of: Vec::new(),
            configurations: Vec::new(),
            largest: Vec::new(),
            next: (0, 0),
            seen: 0,
            steps: 0,
        };
        counted.begin()?;
        Ok(counted)
    }
}

impl<W: Words> Counted<'_, W> {
    /// The threads that exist from the start.
    fn declared(&self) -> usize {
        self.few.question.declared.len()
    }

    fn bound(&self) -> u32 {
        self.few.counts.unwrap_or(LAST_BOUND)
    }

    /// The largest bound.
    fn last_bound(&self) -> u32 {
        match self.few.question.most_started {
            few @ ..=FEW_THREADS => LAST_BOUND.max(few as u32),
            _ => LAST_BOUND,
        }
    }

    /// The configuration in which runs begin.
    fn begin(&mut self) -> Result<()> {
        self.few.current = None;
        self.few.begin()?;
        self.fixed.clear();
        self.fixed_of.clear();
        self.configurations.clear();
        self.largest.clear();
        self.next = (0, 0);
        let first = self.few.first_fixed()?;
        self.add(first, Vec::new());
        Ok(())
    }

    /// A configuration is reached.
    fn add(&mut self, fixed: Box<[u32]>, counts: Counts) {
        let number = self.fixed_of.len() as u32;
        let fixed = *self.fixed.entry(fixed).or_insert_with_key(|fixed| {
            self.fixed_of.push(fixed.clone());
            self.largest.push(Vec::new());
            number
        });
        let configurations = &mut self.configurations;
        let largest = &mut self.largest[fixed as usize];
        self.steps += 1 + (largest.len() / COMPARISONS) as i64;
        let known = |&one: &u32| is_covered(&counts, &configurations[one as usize].counts);
        if largest.iter().any(known) {
            return;
        }
        largest.retain(|&one| {
            let one = &mut configurations[one as usize];
            one.is_covered = is_covered(&one.counts, &counts);
            !one.is_covered
        });
        largest.push(configurations.len() as u32);
        self.seen += 1;
        configurations.push(Configuration {
            fixed,
            counts: counts.into(),
            is_covered: false,
        });
    }

    /// The next thread that can become active: the configuration, the thread, its stack, the globals.
    fn next(&mut self) -> Option<(usize, (u32, u32, u32))> {
        let declared = self.declared();
        let init = matches!(self.few.program().threads, Threads::Init { .. });
        while let Some(configuration) = self.configurations.get(self.next.0) {
            let (id, thread) = self.next;
            if configuration.is_covered || thread == declared + configuration.counts.len() {
                self.next = (id + 1, 0);
                continue;
            }
            self.next.1 += 1;
            let fixed = &self.fixed_of[configuration.fixed as usize];
            // `init` runs first and alone.
            if init && (id == 0) != (thread == 0) {
                continue;
            }
            let stack = match thread.checked_sub(declared) {
                None => fixed[1 + thread],
                Some(started) => configuration.counts[started].0,
            };
            if stack != NOWHERE {
                return Some((id, (thread.min(declared) as u32, stack, fixed[0])));
            }
        }
        None
    }

    /// A thread has been active in a configuration.
    fn leave(&mut self, id: usize, (thread, stack, _): (u32, u32, u32), outs: (u32, u32)) {
        let (declared, bound) = (self.declared(), self.bound());
        let before = &self.configurations[id];
        let fixed = self.fixed_of[before.fixed as usize].clone();
        let mut rest = before.counts.to_vec();
        let is_started = thread as usize == declared;
        if is_started {
            remove(&mut rest, stack);
        }
        for i in outs.0..outs.1 {
            let out = self.few.outs[i as usize];
            let (mut fixed, mut counts) = (fixed.clone(), rest.clone());
            fixed[0] = out.globals;
            if !is_started {
                fixed[1 + thread as usize] = out.stack;
            } else if out.stack != NOWHERE {
                add(&mut counts, out.stack, 1, bound);
            }
            for &(stack, more) in self.few.tables.starts.get(out.starts) {
                add(&mut counts, stack, more, bound);
            }
            self.add(fixed, counts);
        }
    }

    /// The search begins again with a larger bound, if there is one.
    fn raise(&mut self) -> Result<bool> {
        if self.bound() >= self.last_bound() {
            return Ok(false);
        }
        self.few.counts = Some(self.last_bound().min(2 * self.bound()));
        self.begin()?;
        Ok(true)
    }

    /// What has come of a context, or of a part of it.
    fn explored(&mut self, mut context: Context<W>, found: &Explored) -> Result<Option<Pace>> {
        let over = |obstacle| Ok(Some(Pace::Over(obstacle)));
        match found {
            Explored::Folded if self.few.restarts < MOST_RESTARTS => {
                self.few.restarts += 1;
                self.begin()?;
            }
            Explored::Folded => return over(Obstacle::Stacks),
            Explored::Hit(_) => {
                if !self.raise()? {
                    return over(Obstacle::Threads);
                }
            }
            Explored::Over(obstacle) => return over(*obstacle),
            Explored::Paused => self.few.current = Some(context),
            Explored::All => {
                let outs = &mut context.outs;
                outs.sort_unstable_by_key(|out| (out.globals, out.stack, out.starts));
                outs.dedup();
                let first = self.few.outs.len() as u32;
                self.few.outs.append(outs);
                let outs = (first, self.few.outs.len() as u32);
                self.few.contexts.insert(context.key, outs);
                self.leave(context.configuration as usize, context.key, outs);
            }
        }
        Ok(None)
    }
}

impl<W: Words> Few<'_, W> {
    /// The globals and the stacks with which runs begin.
    fn first_fixed(&mut self) -> Result<Box<[u32]>> {
        let globals = self.first_globals()?;
        let mut first = vec![globals];
        for &procedure in self.question.declared {
            let frame = self.all.rest(&self.all.enter(procedure));
            first.push(self.stack(NOWHERE, frame)?);
        }
        Ok(first.into())
    }
}

impl<W: Words + Send> Enumeration for Counted<'_, W> {
    fn configurations(&self) -> u64 {
        self.seen
    }

    /// Levels are not told apart.
    fn done(&self) -> Option<usize> {
        None
    }

    fn go_on(&mut self, steps: u64, limits: &Limits, _: &mut dyn FnMut(usize)) -> Result<Pace> {
        let model = Unfolding::<W>::within(self.few.machine, limits);
        let mut guard: Guard = limits.guard();
        guard.check_now()?;
        let mut left = i64::try_from(steps).unwrap_or(i64::MAX);
        while left > 0 {
            left -= std::mem::take(&mut self.steps);
            if self.configurations.len() > MOST {
                return Ok(Pace::Over(Obstacle::Values));
            }
            if let Some(mut context) = self.few.current.take() {
                let found = (self.few).explore(&mut context, &model, &mut guard, &mut left)?;
                if let Some(pace) = self.explored(context, &found)? {
                    return Ok(pace);
                }
                continue;
            }
            let Some((id, key)) = self.next() else {
                let found = Finding::Nothing { exhaustive: true };
                return Ok(Pace::Answer(found));
            };
            guard.check()?;
            left -= 1;
            if let Some(&outs) = self.few.contexts.get(&key) {
                self.leave(id, key, outs);
            } else {
                let seed = Seed {
                    configuration: id as u32,
                    left: None,
                    thread: key.0,
                };
                let mut context = Context::new(id as u32, key, vec![seed]);
                self.few
                    .begin_with(&mut context, &model, 0, (key.1, key.2))?;
                self.few.current = Some(context);
            }
        }
        Ok(Pace::More)
    }
}
