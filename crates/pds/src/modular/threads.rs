//! Several cores for a [`Modular`] system: procedures that call each other are a *part* of the call
//! graph, and parts that do not wait for each other are solved at the same time.

use std::ops::Deref;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError, RwLock};

use droste_base::StopReason;

use super::knots::{Store, Sums};
use super::{Entry, Modular};
use crate::components::components;
use crate::domain::Domain;
use crate::paths::Sorted;
use crate::system::Replace;
use crate::worklist::Bits;

/// Summaries that several threads bring up to date. A part is read by those who wait for it, when it
/// is done, and by the thread that solves it: nobody ever waits for a lock.
struct Shared<'a, W>(&'a [RwLock<Vec<Entry<W>>>]);

impl<W> Store<W> for Shared<'_, W> {
    fn get(&self, symbol: u32) -> impl Deref<Target = Vec<Entry<W>>> {
        let summary = self.0[symbol as usize].read();
        summary.unwrap_or_else(PoisonError::into_inner)
    }

    fn given(&self, _: u32) -> &[Entry<W>] {
        &[]
    }

    fn put(&mut self, symbol: u32, summary: Vec<Entry<W>>) {
        let place = self.0[symbol as usize].write();
        *place.unwrap_or_else(PoisonError::into_inner) = summary;
    }
}

/// Parts of the call graph, callees first.
struct Plan {
    /// For each rank its part.
    part_of: Vec<u32>,
    /// For each rank its place among those of its part.
    place: Vec<u32>,
    /// The ranks of each part, in their order.
    ranks: Sorted,
    /// For each part, those that call it.
    callers: Vec<Vec<u32>>,
    /// For each part, how many others it still waits for.
    waits_for: Vec<AtomicU32>,
    /// For each part, ranks that are to be solved again.
    mail: Vec<Mutex<Vec<u32>>>,
    /// The ranks that were solved.
    solved: Mutex<Vec<u32>>,
    queue: Mutex<Queue>,
    bell: Condvar,
}

/// The parts that can be solved now.
struct Queue {
    ready: Vec<u32>,
    /// How many have not been done.
    left: usize,
    stopped: Option<StopReason>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<D: Domain> Modular<D> {
    /// Brings the summaries up to date, on that many threads.
    pub fn update_on(&mut self, threads: usize) -> Result<(), StopReason>
    where
        D: Sync,
        D::Weight: Send + Sync,
    {
        if threads <= 1 {
            return self.update();
        }
        self.prepare();
        let plan = self.plan();
        for symbol in std::mem::take(&mut self.touched) {
            let rank = self.ranks.of(symbol);
            let part = plan.part_of[rank as usize];
            lock(&plan.mail[part as usize]).push(rank);
        }
        let summaries = std::mem::take(&mut self.summaries);
        let summaries: Vec<RwLock<_>> = summaries.into_iter().map(RwLock::new).collect();
        let this = &*self;
        std::thread::scope(|scope| {
            for _ in 1..threads {
                scope.spawn(|| this.work(&plan, &summaries));
            }
            this.work(&plan, &summaries);
        });
        let summaries = summaries.into_iter().map(RwLock::into_inner);
        self.summaries = summaries
            .map(|summary| summary.unwrap_or_else(PoisonError::into_inner))
            .collect();
        self.forget(&lock(&plan.solved));
        // These would have been solved, had the work not been stopped.
        for mail in &plan.mail {
            for &rank in lock(mail).iter() {
                self.touched.extend(self.ranks.members(rank));
            }
        }
        let stopped = lock(&plan.queue).stopped.take();
        stopped.map_or(Ok(()), Err)
    }

    fn plan(&self) -> Plan {
        let count = self.ranks.len() as u32;
        let mut number = vec![u32::MAX; self.summaries.len()];
        let mut roots = 0;
        for symbol in 0..number.len() as u32 {
            let place = &mut number[self.procedures.find(symbol) as usize];
            if *place == u32::MAX {
                *place = roots;
                roots += 1;
            }
        }
        let procedure = |symbol: u32| number[self.procedures.find(symbol) as usize];
        let pushes = self.rules.iter().flatten().filter_map(|(rule, _)| {
            let Replace::Push(first, _) = rule.replace else {
                return None;
            };
            Some((procedure(rule.top.0), procedure(first.0)))
        });
        let mut calls: Vec<(u32, u32)> = pushes.collect();
        calls.sort_unstable();
        calls.dedup();
        let callees = Sorted::new(roots, calls.iter().map(|&(caller, _)| caller));
        let called = |caller: u32| {
            let calls = callees.of(caller).iter().map(|&call| calls[call as usize]);
            calls.map(|(_, callee)| callee)
        };
        let found = components(roots, |caller, out| out.extend(called(caller)));
        let mut part = vec![0; roots as usize];
        for (number, procedures) in (0..).zip(&found) {
            for &procedure in procedures {
                part[procedure as usize] = number;
            }
        }
        let mut callers = vec![Vec::new(); found.len()];
        let mut waits_for = Vec::with_capacity(found.len());
        for (number, procedures) in (0..).zip(&found) {
            let mut others: Vec<u32> = (procedures.iter())
                .flat_map(|&caller| called(caller))
                .map(|callee| part[callee as usize])
                .filter(|&other| other != number)
                .collect();
            others.sort_unstable();
            others.dedup();
            waits_for.push(AtomicU32::new(others.len() as u32));
            for other in others {
                callers[other as usize].push(number);
            }
        }
        // A rank that has no symbols any more is in some part.
        let of_rank = |rank: u32| {
            let first = self.ranks.members(rank).first();
            first.map_or(0, |&symbol| part[procedure(symbol) as usize])
        };
        let part_of: Vec<u32> = (0..count).map(of_rank).collect();
        let ranks = Sorted::new(found.len() as u32, part_of.iter().copied());
        let mut place = vec![0; count as usize];
        for part in 0..found.len() as u32 {
            for (at, &rank) in (0..).zip(ranks.of(part)) {
                place[rank as usize] = at;
            }
        }
        let no_callee = |part: &u32| waits_for[*part as usize].load(Ordering::Relaxed) == 0;
        let ready = (0..found.len() as u32).rev().filter(no_callee).collect();
        Plan {
            part_of,
            place,
            ranks,
            callers,
            waits_for,
            mail: found.iter().map(|_| Mutex::default()).collect(),
            solved: Mutex::default(),
            queue: Mutex::new(Queue {
                ready,
                left: found.len(),
                stopped: None,
            }),
            bell: Condvar::new(),
        }
    }

    /// Solves parts until all are done.
    fn work(&self, plan: &Plan, summaries: &[RwLock<Vec<Entry<D::Weight>>>]) {
        let mut sums = Sums::new();
        let mut queue = lock(&plan.queue);
        loop {
            if queue.left == 0 || queue.stopped.is_some() {
                plan.bell.notify_all();
                return;
            }
            let Some(part) = queue.ready.pop() else {
                queue = plan
                    .bell
                    .wait(queue)
                    .unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            drop(queue);
            let done = self.renew_part(plan, part, &mut Shared(summaries), &mut sums);
            let mut ready = Vec::new();
            for &caller in &plan.callers[part as usize] {
                if plan.waits_for[caller as usize].fetch_sub(1, Ordering::AcqRel) == 1 {
                    ready.push(caller);
                }
            }
            queue = lock(&plan.queue);
            queue.left -= 1;
            if !ready.is_empty() {
                plan.bell.notify_all();
            }
            queue.ready.append(&mut ready);
            if let Err(reason) = done {
                queue.stopped = Some(reason);
            }
        }
    }

    /// Solves the knots of a part that must be, and tells those that use them.
    fn renew_part(
        &self,
        plan: &Plan,
        part: u32,
        store: &mut Shared<'_, D::Weight>,
        sums: &mut Sums<D::Weight>,
    ) -> Result<(), StopReason> {
        let mail = std::mem::take(&mut *lock(&plan.mail[part as usize]));
        if mail.is_empty() {
            return Ok(());
        }
        let ranks = plan.ranks.of(part);
        let mut dirty = Bits::new(ranks.len());
        let place = |rank: u32| plan.place[rank as usize] as usize;
        mail.into_iter().for_each(|rank| dirty.set(place(rank)));
        let mut guard = self.options.limits.guard();
        let (mut solved, mut done) = (Vec::new(), Ok(()));
        while let Some(at) = dirty.first() {
            let rank = ranks[at];
            let renewed = (guard.check()).and_then(|()| self.renew(rank, store, sums));
            let changed = match renewed {
                Ok(changed) => changed,
                Err(reason) => {
                    done = Err(reason);
                    break;
                }
            };
            dirty.clear(at);
            solved.push(rank);
            for symbol in changed {
                for &user in &self.users[symbol as usize].list {
                    let user = self.ranks.of(user);
                    let other = plan.part_of[user as usize];
                    if other != part {
                        lock(&plan.mail[other as usize]).push(user);
                    } else if user != rank {
                        dirty.set(place(user));
                    }
                }
            }
        }
        lock(&plan.solved).append(&mut solved);
        // What is left is for the next time.
        while let Some(at) = dirty.first() {
            dirty.clear(at);
            lock(&plan.mail[part as usize]).push(ranks[at]);
        }
        done
    }
}
