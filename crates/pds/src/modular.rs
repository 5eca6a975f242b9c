//! Procedure by procedure: incremental solving (section 4.3 of the FWPDS paper), several cores, and
//! summaries that many questions share.
//!
//! What a procedure does depends on its own rules and on the summaries of its callees, and on
//! nothing else. So the parts of the call graph are solved one after the other, callees first, each
//! as a small system of its own in which a call of another part is a step with the callee's
//! summary. Parts that do not depend on each other can be solved at the same time. When rules come
//! or go, their part is solved again from the beginning, and its callers only if a summary that they
//! use has changed. No weight can support itself over a rule that is gone, because procedures that
//! call each other are one part.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Condvar, Mutex, OnceLock, PoisonError};

use droste_base::StopReason;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::automaton::{Automaton, Direction, Transition};
use crate::components::components;
use crate::domain::Domain;
use crate::post::poststar;
use crate::pre::prestar;
use crate::saturate::Options;
use crate::small::Small;
use crate::system::{Replace, Rule, StateId, SymbolId};

/// A rule of a [`Modular`] system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RuleId(u32);

/// A control state with a symbol on top.
type Head = (StateId, SymbolId);

/// Transitions with weights, sorted.
type Weighted<W> = Vec<(Transition, W)>;

/// Those from one head.
fn from_head<W>(all: &[(Transition, W)], (from, symbol): Head) -> &[(Transition, W)] {
    let key = |t: &Transition| (t.from, t.symbol);
    let begin = all.partition_point(|(t, _)| key(t) < (from, symbol));
    let rest = &all[begin..];
    &rest[..rest.partition_point(|(t, _)| key(t) == (from, symbol))]
}

/// Symbols that follow each other at one height of the stack.
struct Procedure<W> {
    rules: Vec<u32>,
    /// What its rules call.
    calls: Vec<Head>,
    /// What pre* of nothing gives: how each symbol can be popped.
    summary: Weighted<W>,
    /// Whether the summary, with those of the callees, is what the rules say.
    known: bool,
    /// What is reachable inside, for heads that it is entered by.
    entered: FxHashMap<Head, Weighted<W>>,
}

impl<W> Default for Procedure<W> {
    fn default() -> Self {
        Procedure {
            rules: Vec::new(),
            calls: Vec::new(),
            summary: Vec::new(),
            known: false,
            entered: FxHashMap::default(),
        }
    }
}

/// A weighted pushdown system whose rules come and go, and the summaries of its procedures.
pub struct Modular<D: Domain> {
    domain: D,
    options: Options,
    /// How many control states there are.
    control: u32,
    rules: Vec<Option<(Rule, D::Weight)>>,
    /// The trees of symbols that are the procedures.
    parent: Vec<u32>,
    /// By the root of the tree.
    procedures: FxHashMap<u32, Procedure<D::Weight>>,
    /// How many parts the last update has solved.
    solved: usize,
}

/// Parts of the call graph, callees first.
struct Plan<W> {
    /// For each part the roots of its procedures.
    parts: Vec<Vec<u32>>,
    part_of: FxHashMap<u32, u32>,
    /// For each part, those that call it.
    callers: Vec<Vec<u32>>,
    /// For each part, how many others it still waits for.
    waits_for: Vec<AtomicU32>,
    /// Which parts have a callee whose summary has changed.
    changed: Vec<AtomicBool>,
    /// What was found for parts that had to be solved.
    found: Vec<OnceLock<Weighted<W>>>,
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

impl<D: Domain> Modular<D> {
    /// A system with these control states and no rules.
    pub fn new(domain: D, control: u32, options: Options) -> Self {
        Modular {
            domain,
            options,
            control,
            rules: Vec::new(),
            parent: Vec::new(),
            procedures: FxHashMap::default(),
            solved: 0,
        }
    }

    /// How many parts of the call graph the last update has solved.
    pub fn solved(&self) -> usize {
        self.solved
    }

    fn find(&self, symbol: SymbolId) -> u32 {
        let mut at = symbol.0;
        while let Some(&above) = self.parent.get(at as usize)
            && above != at
        {
            at = above;
        }
        at
    }

    /// The procedure of both symbols, which may be new.
    fn join(&mut self, a: SymbolId, b: SymbolId) -> u32 {
        let most = a.0.max(b.0) as usize + 1;
        while self.parent.len() < most {
            self.parent.push(self.parent.len() as u32);
        }
        let (mut a, mut b) = (self.find(a), self.find(b));
        if a != b {
            let size = |root| self.procedures.get(&root).map_or(0, |p| p.rules.len());
            if size(a) < size(b) {
                (a, b) = (b, a);
            }
            self.parent[b as usize] = a;
            if let Some(other) = self.procedures.remove(&b) {
                let procedure = self.procedures.entry(a).or_default();
                procedure.rules.extend(other.rules);
                // Both, so that callers see what changes.
                procedure.summary.extend(other.summary);
                procedure.summary.sort_by_key(|(t, _)| *t);
            }
        }
        a
    }

    /// Adds a rule.
    pub fn add(&mut self, rule: Rule, weight: D::Weight) -> RuleId {
        self.control = self.control.max(rule.from.0 + 1).max(rule.to.0 + 1);
        let other = match rule.replace {
            Replace::Pop => rule.top,
            Replace::Step(first) => first,
            Replace::Push(_, second) => second,
        };
        let root = self.join(rule.top, other);
        let id = self.rules.len() as u32;
        self.rules.push(Some((rule, weight)));
        let procedure = self.procedures.entry(root).or_default();
        procedure.rules.push(id);
        procedure.known = false;
        RuleId(id)
    }

    /// Removes a rule. `false` if it is not there any more.
    pub fn remove(&mut self, id: RuleId) -> bool {
        let Some((rule, _)) = self.rules.get_mut(id.0 as usize).and_then(Option::take) else {
            return false;
        };
        // The procedure keeps its symbols, even if they are not connected any more: that is never
        // wrong.
        let root = self.find(rule.top);
        // It is struck off its list when summaries are brought up to date.
        if let Some(procedure) = self.procedures.get_mut(&root) {
            procedure.known = false;
        }
        true
    }

    /// The rules of a procedure.
    fn rules_of(&self, root: u32) -> impl Iterator<Item = &(Rule, D::Weight)> {
        let rules = self.procedures.get(&root).map(|p| p.rules.as_slice());
        let get = |id: &u32| self.rules[*id as usize].as_ref();
        rules.unwrap_or_default().iter().filter_map(get)
    }

    /// What a procedure knows.
    fn summary(&self, symbol: SymbolId) -> &[(Transition, D::Weight)] {
        let procedure = self.procedures.get(&self.find(symbol));
        procedure.map_or(&[], |procedure| procedure.summary.as_slice())
    }

    fn plan(&mut self) -> Plan<D::Weight> {
        let mut roots: Vec<u32> = self.procedures.keys().copied().collect();
        roots.sort_unstable();
        for root in &roots {
            if self.procedures[root].known {
                continue;
            }
            if let Some(procedure) = self.procedures.get_mut(root) {
                let rules = &self.rules;
                (procedure.rules).retain(|&id| rules[id as usize].is_some());
            }
            let right = |(rule, _): &(Rule, D::Weight)| match rule.replace {
                Replace::Push(first, _) => Some((rule.to, first)),
                Replace::Pop | Replace::Step(_) => None,
            };
            let mut calls: Vec<Head> = self.rules_of(*root).filter_map(right).collect();
            calls.sort_unstable();
            calls.dedup();
            if let Some(procedure) = self.procedures.get_mut(root) {
                procedure.calls = calls;
            }
        }
        let place: FxHashMap<u32, u32> = roots.iter().copied().zip(0..).collect();
        let called = |root: u32| {
            let calls = self.procedures[&root].calls.iter();
            calls.filter_map(|(_, first)| place.get(&self.find(*first)).copied())
        };
        let found = components(roots.len() as u32, |i, out| {
            out.extend(called(roots[i as usize]));
        });
        let mut part_of = vec![0; roots.len()];
        for (number, part) in (0..).zip(&found) {
            for &i in part {
                part_of[i as usize] = number;
            }
        }
        let mut callers = vec![Vec::new(); found.len()];
        let mut waits_for = Vec::with_capacity(found.len());
        for (number, part) in (0..).zip(&found) {
            let mut others: Vec<u32> = (part.iter())
                .flat_map(|&i| called(roots[i as usize]))
                .map(|callee| part_of[callee as usize])
                .filter(|&other| other != number)
                .collect();
            others.sort_unstable();
            others.dedup();
            waits_for.push(AtomicU32::new(others.len() as u32));
            for other in others {
                callers[other as usize].push(number);
            }
        }
        let count = found.len();
        let no_callee = |part: &u32| waits_for[*part as usize].load(Ordering::Relaxed) == 0;
        let ready = (0..count as u32).rev().filter(no_callee).collect();
        Plan {
            part_of: roots.iter().copied().zip(part_of).collect(),
            parts: (found.into_iter())
                .map(|part| part.into_iter().map(|i| roots[i as usize]).collect())
                .collect(),
            callers,
            waits_for,
            changed: (0..count).map(|_| AtomicBool::new(false)).collect(),
            found: (0..count).map(|_| OnceLock::new()).collect(),
            queue: Mutex::new(Queue {
                ready,
                left: count,
                stopped: None,
            }),
            bell: Condvar::new(),
        }
    }

    /// Brings the summaries up to date.
    pub fn update(&mut self) -> Result<(), StopReason> {
        let plan = self.plan();
        self.work(&plan);
        self.store(plan)
    }

    /// Brings the summaries up to date, on that many threads.
    pub fn update_on(&mut self, threads: usize) -> Result<(), StopReason>
    where
        D: Sync,
        D::Weight: Send + Sync,
    {
        let plan = self.plan();
        let this = &*self;
        std::thread::scope(|scope| {
            for _ in 1..threads {
                scope.spawn(|| this.work(&plan));
            }
            this.work(&plan);
        });
        self.store(plan)
    }

    /// Solves parts until all are done.
    fn work(&self, plan: &Plan<D::Weight>) {
        let lock = || plan.queue.lock().unwrap_or_else(PoisonError::into_inner);
        let mut queue = lock();
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
            let done = self.renew(plan, part);
            let mut ready = Vec::new();
            for &caller in &plan.callers[part as usize] {
                if plan.waits_for[caller as usize].fetch_sub(1, Ordering::AcqRel) == 1 {
                    ready.push(caller);
                }
            }
            queue = lock();
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

    /// Solves a part, if it must be, and tells its callers whether something has changed.
    fn renew(&self, plan: &Plan<D::Weight>, part: u32) -> Result<(), StopReason> {
        let roots = &plan.parts[part as usize];
        let known = roots.iter().all(|root| self.procedures[root].known);
        if known && !plan.changed[part as usize].load(Ordering::Acquire) {
            return Ok(());
        }
        let look = |head: Head| {
            let other = plan.part_of.get(&self.find(head.1));
            let found = other.and_then(|other| plan.found[*other as usize].get());
            let all = found.map_or_else(|| self.summary(head.1), Vec::as_slice);
            from_head(all, head)
        };
        let found = self.solve(roots, &[], &look)?;
        for &caller in &plan.callers[part as usize] {
            let calls =
                (plan.parts[caller as usize].iter()).flat_map(|root| &self.procedures[root].calls);
            let differs = |head: &Head| {
                let (old, new) = (
                    from_head(self.summary(head.1), *head),
                    from_head(&found, *head),
                );
                let same = |(a, b): (&(Transition, _), &(Transition, _))| {
                    a.0 == b.0 && self.domain.equal(&a.1, &b.1)
                };
                old.len() != new.len() || !old.iter().zip(new).all(same)
            };
            let mut here = calls.filter(|head| roots.contains(&self.find(head.1)));
            if here.any(differs) {
                plan.changed[caller as usize].store(true, Ordering::Release);
            }
        }
        // Nobody else solves this part.
        _ = plan.found[part as usize].set(found);
        Ok(())
    }

    /// Stores what was found.
    fn store(&mut self, plan: Plan<D::Weight>) -> Result<(), StopReason> {
        self.solved = 0;
        let parts = plan.parts.iter().zip(plan.found).zip(plan.changed);
        for ((roots, found), changed) in parts {
            let Some(found) = found.into_inner() else {
                // It would have been solved, had the work not been stopped.
                if changed.into_inner() {
                    for root in roots {
                        if let Some(procedure) = self.procedures.get_mut(root) {
                            procedure.known = false;
                        }
                    }
                }
                continue;
            };
            self.solved += 1;
            for root in roots {
                if let Some(procedure) = self.procedures.get_mut(root) {
                    procedure.summary.clear();
                    procedure.entered.clear();
                    procedure.known = true;
                }
            }
            for (transition, weight) in found {
                let root = self.find(transition.symbol);
                if let Some(procedure) = self.procedures.get_mut(&root) {
                    procedure.summary.push((transition, weight));
                }
            }
        }
        let queue = plan.queue.into_inner();
        match queue.unwrap_or_else(PoisonError::into_inner).stopped {
            Some(reason) => Err(reason),
            None => Ok(()),
        }
    }

    /// pre* of some transitions for a part. `look` gives the transitions of other parts from a head.
    fn solve<'a>(
        &self,
        part: &[u32],
        given: &[(Transition, D::Weight)],
        look: &dyn Fn(Head) -> &'a [(Transition, D::Weight)],
    ) -> Result<Weighted<D::Weight>, StopReason>
    where
        D::Weight: 'a,
    {
        let mut small = Small::new(&self.domain);
        let control = |state: StateId| state.0 < self.control;
        let mut given = given.to_vec();
        for &root in part {
            for (rule, weight) in self.rules_of(root) {
                let Replace::Push(first, second) = rule.replace else {
                    small.rule(*rule, weight.clone());
                    continue;
                };
                if part.contains(&self.find(first)) {
                    small.rule(*rule, weight.clone());
                    continue;
                }
                for (callee, summary) in look((rule.to, first)) {
                    let weight = self.called((*rule, weight), summary, control(callee.to))?;
                    if control(callee.to) {
                        small.rule(across(*rule, callee.to, second), weight);
                        continue;
                    }
                    // The callee has got to the target: what is below it is read there.
                    let mut reads = Vec::new();
                    for (read, last) in &given {
                        if (read.from, read.symbol) == (callee.to, second) {
                            let made = Transition::new(rule.from, rule.top, read.to);
                            reads.push((made, self.domain.extend(&weight, last)?));
                        }
                    }
                    given.append(&mut reads);
                }
            }
        }
        small.solve(&given, control, Direction::Forward, |pds, target| {
            prestar(&self.domain, pds, target, &self.options)
        })
    }

    /// What a call weighs whose callee has this weight.
    fn called(
        &self,
        (rule, weight): (Rule, &D::Weight),
        callee: &D::Weight,
        returned: bool,
    ) -> Result<D::Weight, StopReason> {
        match rule.merge {
            Some(merge) if returned => self.domain.merge(merge, &self.domain.one(), callee),
            _ => self.domain.extend(weight, callee),
        }
    }

    /// The automaton of all configurations from which those of `to` can be reached, as
    /// [`prestar`] gives it. Only procedures from which a configuration is reached are looked at
    /// again.
    pub fn prestar(
        &mut self,
        to: &Automaton<D::Weight>,
    ) -> Result<Automaton<D::Weight>, StopReason> {
        self.control = self.control.max(to.control());
        let plan = self.plan();
        self.work(&plan);
        let parts = plan.parts.clone();
        self.store(plan)?;
        let target = self.with_control(to)?;
        let mut given: FxHashMap<u32, Weighted<D::Weight>> = FxHashMap::default();
        for (transition, weight) in target.iter() {
            if self.domain.is_zero(weight) {
                continue;
            }
            let root = self.find(transition.symbol);
            let list = given.entry(root).or_default();
            list.push((transition, weight.clone()));
        }
        // What was found for procedures that have something to do with the target.
        let mut found: FxHashMap<u32, Weighted<D::Weight>> = FxHashMap::default();
        for (root, seeds) in &mut given {
            seeds.sort_by_key(|(transition, _)| *transition);
            if !self.procedures.contains_key(root) {
                // No rule has the symbol.
                found.insert(*root, seeds.clone());
            }
        }
        for part in &parts {
            let calls = (part.iter()).flat_map(|root| &self.procedures[root].calls);
            let touched = part.iter().any(|root| given.contains_key(root))
                || calls
                    .into_iter()
                    .any(|(_, first)| found.contains_key(&self.find(*first)));
            if !touched {
                continue;
            }
            let seeds: Weighted<D::Weight> = (part.iter())
                .flat_map(|root| given.get(root).into_iter().flatten().cloned())
                .collect();
            let look = |head: Head| {
                let found = found.get(&self.find(head.1));
                from_head(
                    found.map_or_else(|| self.summary(head.1), Vec::as_slice),
                    head,
                )
            };
            let all = self.solve(part, &seeds, &look)?;
            for root in part {
                found.insert(*root, Vec::new());
            }
            for (transition, weight) in all {
                let list = found.entry(self.find(transition.symbol)).or_default();
                list.push((transition, weight));
            }
        }
        let mut automaton = target.bare(Direction::Forward);
        let mut all: Weighted<D::Weight> = Vec::new();
        for (root, procedure) in &self.procedures {
            if !found.contains_key(root) {
                all.extend(procedure.summary.iter().cloned());
            }
        }
        all.extend(found.into_values().flatten());
        automaton.fill(all.into_iter());
        Ok(automaton)
    }

    /// An automaton, normalised, with the control states of this system.
    fn with_control(
        &self,
        automaton: &Automaton<D::Weight>,
    ) -> Result<Automaton<D::Weight>, StopReason> {
        let plain = automaton.normalised(&self.domain)?;
        if plain.control() == self.control {
            return Ok(plain);
        }
        let mut wider = Automaton::new(self.control, plain.direction());
        let rename = |state: StateId| {
            let inner = state.0.checked_sub(plain.control());
            StateId(inner.map_or(state.0, |inner| self.control + inner))
        };
        for state in (0..plain.states()).map(StateId) {
            if rename(state).0 >= wider.states() {
                wider.state();
            }
            if let Some(weight) = plain.final_weight(state) {
                wider.accept(&self.domain, rename(state), weight.clone())?;
            }
        }
        for (Transition { from, symbol, to }, weight) in plain.iter() {
            let transition = Transition::new(rename(from), symbol, rename(to));
            wider.add(&self.domain, transition, weight.clone())?;
        }
        Ok(wider)
    }

    /// The automaton of all configurations that are reachable from those of `from`, as
    /// [`poststar`] gives it, up to the names of states. What is reachable inside a procedure is
    /// found once and kept.
    pub fn poststar(
        &mut self,
        from: &Automaton<D::Weight>,
    ) -> Result<Automaton<D::Weight>, StopReason> {
        self.control = self.control.max(from.control());
        self.update()?;
        let start = self.with_control(from)?;
        let mut all = start.bare(Direction::Backward);
        // The first configurations: what their symbols can do, one below the other.
        let mut seeds: FxHashMap<u32, FxHashMap<Transition, D::Weight>> = FxHashMap::default();
        let mut work: Vec<u32> = Vec::new();
        for (transition, weight) in start.iter() {
            if transition.from.0 >= self.control {
                all.add(&self.domain, transition, weight.clone())?;
                continue;
            }
            let root = self.find(transition.symbol);
            seeds
                .entry(root)
                .or_default()
                .insert(transition, weight.clone());
            work.push(root);
        }
        let mut reached: FxHashMap<u32, Weighted<D::Weight>> = FxHashMap::default();
        for round in 0.. {
            work.sort_unstable();
            work.dedup();
            if work.is_empty() {
                break;
            }
            let mut more: Vec<(Transition, D::Weight)> = Vec::new();
            for root in work.drain(..) {
                let given: Weighted<D::Weight> = (seeds[&root].iter())
                    .map(|(transition, weight)| (*transition, weight.clone()))
                    .collect();
                let found = self.spread(root, &given)?;
                let gone = |(t, _): &&(Transition, _)| t.symbol == SymbolId::EPSILON;
                for (returned, summary) in found.iter().filter(gone) {
                    for (below, weight) in start.iter() {
                        if below.from == returned.to {
                            let weight = self.domain.extend(weight, summary)?;
                            let seed = Transition::new(returned.from, below.symbol, below.to);
                            more.push((seed, weight));
                        }
                    }
                }
                reached.insert(root, found);
            }
            // What gets better in a round does so because something did in the round before. If
            // there are more rounds than seeds, one of them gets better because of itself, and does
            // so for ever.
            let count: usize = seeds.values().map(FxHashMap::len).sum();
            for (seed, weight) in more {
                let root = self.find(seed.symbol);
                let place = seeds.entry(root).or_default().entry(seed);
                let known = place.or_insert_with(|| self.domain.zero());
                let both = self.domain.combine(known, &weight)?;
                if !self.domain.equal(known, &both) {
                    *known = match self.domain.bottom() {
                        Some(bottom) if round > count => bottom,
                        _ => both,
                    };
                    work.push(root);
                }
            }
        }
        let mut middles: FxHashMap<Head, StateId> = FxHashMap::default();
        let mut entered: Vec<Head> = Vec::new();
        for (root, found) in reached {
            self.put(&mut all, (root, None), &found, &mut middles, &mut entered)?;
        }
        let mut done: FxHashSet<Head> = FxHashSet::default();
        while let Some(head) = entered.pop() {
            if !done.insert(head) {
                continue;
            }
            let root = self.find(head.1);
            // A state that no control state and no other state has.
            let inside = StateId(self.control);
            let entry = Transition::new(head.0, head.1, inside);
            let known = self.procedures.get_mut(&root);
            let known = known.and_then(|procedure| procedure.entered.remove(&head));
            let found = match known {
                Some(found) => found,
                None => self.spread(root, &[(entry, self.domain.one())])?,
            };
            let middle = (root, Some(middles[&head]));
            self.put(&mut all, middle, &found, &mut middles, &mut entered)?;
            if let Some(procedure) = self.procedures.get_mut(&root) {
                procedure.entered.insert(head, found);
            }
        }
        Ok(all.trimmed())
    }

    /// What is reachable inside a procedure from some transitions.
    fn spread(
        &self,
        root: u32,
        given: &[(Transition, D::Weight)],
    ) -> Result<Weighted<D::Weight>, StopReason> {
        let mut small = Small::new(&self.domain);
        for (rule, weight) in self.rules_of(root) {
            let Replace::Push(first, second) = rule.replace else {
                small.rule(*rule, weight.clone());
                continue;
            };
            for (callee, summary) in from_head(self.summary(first), (rule.to, first)) {
                let weight = self.called((*rule, weight), summary, true)?;
                small.rule(across(*rule, callee.to, second), weight);
            }
        }
        let control = |state: StateId| state.0 < self.control;
        small.solve(given, control, Direction::Backward, |pds, start| {
            poststar(&self.domain, pds, start, &self.options)
        })
    }

    /// Puts what is reachable inside a procedure into the automaton of all, with what is behind its
    /// calls. `middle` is the state of the callee, if it is one.
    fn put(
        &self,
        all: &mut Automaton<D::Weight>,
        (root, middle): (u32, Option<StateId>),
        found: &[(Transition, D::Weight)],
        middles: &mut FxHashMap<Head, StateId>,
        entered: &mut Vec<Head>,
    ) -> Result<(), StopReason> {
        let to = |state: StateId| middle.unwrap_or(state);
        for (transition, weight) in found {
            // A callee that has returned is a step of its caller.
            if transition.symbol != SymbolId::EPSILON || middle.is_none() {
                let Transition { from, symbol, .. } = *transition;
                let made = Transition::new(from, symbol, to(transition.to));
                all.add(&self.domain, made, weight.clone())?;
            }
        }
        for (rule, own) in self.rules_of(root) {
            let Replace::Push(first, second) = rule.replace else {
                continue;
            };
            for (transition, weight) in from_head(found, (rule.from, rule.top)) {
                let callee = *(middles.entry((rule.to, first))).or_insert_with(|| all.state());
                entered.push((rule.to, first));
                let weight = self.domain.extend(weight, own)?;
                let behind = Transition::new(callee, second, to(transition.to));
                all.add(&self.domain, behind, weight)?;
            }
        }
        Ok(())
    }
}

/// A step over a call.
fn across(rule: Rule, to: StateId, second: SymbolId) -> Rule {
    Rule {
        to,
        replace: Replace::Step(second),
        merge: None,
        ..rule
    }
}
