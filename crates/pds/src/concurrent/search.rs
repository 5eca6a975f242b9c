//! All aggregates, breadth first (S. Qadeer, J. Rehof, TACAS 2005, section 4).
//!
//! An *aggregate* is a shared state and a set of stacks for every thread: it stands for all
//! configurations with one stack of each. A context of a thread turns one into several, one for each
//! shared state in which the context may end; post* gives the sets of stacks. Sets are canonical
//! (`stacks`), and an aggregate that is included in a known one is left out: what it leads to is
//! included in what that leads to.
//!
//! The thread that was active last need not be active again at once: what it would do then belongs to the
//! context that it has just finished, whose aggregates are known already. That also holds for an aggregate
//! that is left out because another one includes it.

use droste_base::{Guard, StopReason};
use rustc_hash::FxHashMap;

use super::rules::Rules;
use super::stacks::{Fresh, NEW, Stacks};
use super::visible::{Plateau, abstraction};
use super::{Concurrent, Finding, Options, Proof, Stats, Target, Top};
use crate::automaton::{Automaton, Direction, Transition};
use crate::domains::Boolean;
use crate::post::poststar;
use crate::system::{StateId, SymbolId};

/// How many states the abstraction may have at the first try, and at the last.
const FEW: usize = 1 << 12;
const MANY: usize = 1 << 20;

/// More visible states than this are not watched.
const VISIBLE: usize = 1 << 20;

/// No aggregate, no thread.
pub(super) const NONE: u32 = u32::MAX;

/// Searches for a configuration with a visible state of one of the targets.
pub fn search(system: &Concurrent, targets: &[Target], options: &Options) -> (Finding, Stats) {
    let mut search = Search {
        system,
        targets,
        options,
        guard: options.limits.guard(),
        stacks: Stacks::new(),
        aggregates: Vec::new(),
        by_shared: FxHashMap::default(),
        known: FxHashMap::default(),
        spaces: Vec::new(),
        stats: Stats::default(),
        done: None,
    };
    let found = search.run();
    let found = found.unwrap_or_else(|reason| Finding::Stopped(reason, search.done));
    search.stats.aggregates = search.aggregates.len();
    search.stats.saturations = search.spaces.len();
    search.stats.nodes = search.stacks.len();
    (found, search.stats)
}

/// A shared state, and a set of stacks for every thread.
pub(super) struct Aggregate {
    pub(super) parent: u32,
    /// The thread whose context led here.
    pub(super) last: u32,
    pub(super) shared: u32,
    pub(super) sets: Box<[u32]>,
}

pub(super) struct Search<'a> {
    pub(super) system: &'a Concurrent,
    pub(super) targets: &'a [Target],
    pub(super) options: &'a Options,
    guard: Guard,
    pub(super) stacks: Stacks,
    pub(super) aggregates: Vec<Aggregate>,
    by_shared: FxHashMap<u32, Vec<u32>>,
    /// For a thread, a shared state and a set of stacks: what a context leads to.
    known: FxHashMap<(u32, u32, u32), u32>,
    spaces: Vec<Box<[(u32, u32)]>>,
    stats: Stats,
    /// The greatest number of contexts that has been looked at completely.
    done: Option<usize>,
}

impl Search<'_> {
    fn run(&mut self) -> Result<Finding, StopReason> {
        self.guard.check_now()?;
        let mut watch = Watch::new(self);
        let mut sets = Vec::new();
        for thread in &self.system.threads {
            let stack: Vec<u32> = thread.stack.iter().map(|symbol| symbol.0).collect();
            sets.push(self.stacks.word(&stack)?);
        }
        let mut work = Vec::new();
        let start = Aggregate {
            parent: NONE,
            last: NONE,
            shared: self.system.shared.0,
            sets: sets.into(),
        };
        self.add(start, &mut work)?;
        let mut level = 0;
        loop {
            self.stats.contexts = level;
            for &id in &work {
                self.guard.check()?;
                if self.hits(id) {
                    return Ok(Finding::Reached(self.contexts(id)?));
                }
            }
            self.done = Some(level);
            if let Some(now) = &mut watch {
                if let Some(proof) = now.proof(self, &work, level)? {
                    return Ok(Finding::Never(proof));
                }
                watch = watch.filter(|watch| !watch.given_up);
            }
            if self.options.contexts.is_some_and(|most| level >= most) {
                return Ok(Finding::NotWithin(level));
            }
            let mut next = Vec::new();
            for id in work {
                self.successors(id, &mut next)?;
            }
            if next.is_empty() {
                return Ok(Finding::Never(Proof::Configurations));
            }
            work = next;
            level += 1;
        }
    }

    fn add(&mut self, aggregate: Aggregate, work: &mut Vec<u32>) -> Result<(), StopReason> {
        let list = self.by_shared.entry(aggregate.shared).or_default();
        for &other in list.iter() {
            let other = &self.aggregates[other as usize].sets;
            let mut pairs = aggregate.sets.iter().zip(other);
            if pairs.all(|(&a, &b)| self.stacks.included(a, b)) {
                return Ok(());
            }
        }
        if let Some(most) = self.options.limits.path_edges
            && self.aggregates.len() as u64 >= most
        {
            return Err(StopReason::PathEdges(most));
        }
        let id = self.aggregates.len() as u32;
        list.push(id);
        self.aggregates.push(aggregate);
        work.push(id);
        Ok(())
    }

    /// Whether a configuration of the aggregate is looked for.
    fn hits(&self, id: u32) -> bool {
        let aggregate = &self.aggregates[id as usize];
        let has = |thread: usize, set: u32, top: Top| {
            let thread = &self.system.threads[thread];
            let mut edges = self.stacks.edges(set).iter();
            self.stacks.accepting(set) && thread.has(None, top)
                || edges.any(|edge| thread.has(Some(edge.0), top))
        };
        self.targets.iter().any(|target| {
            let shared = target.shared.is_none_or(|s| s.0 == aggregate.shared);
            let mut tops = aggregate.sets.iter().zip(&target.tops).enumerate();
            shared && tops.all(|(thread, (&set, &top))| has(thread, set, top))
        })
    }

    /// Every context that can come next.
    fn successors(&mut self, id: u32, work: &mut Vec<u32>) -> Result<(), StopReason> {
        let Aggregate { last, shared, .. } = self.aggregates[id as usize];
        for thread in 0..self.system.threads.len() as u32 {
            if thread == last {
                continue;
            }
            let set = self.aggregates[id as usize].sets[thread as usize];
            let space = self.explore(thread, shared, set)?;
            for i in 0..self.spaces[space as usize].len() {
                self.guard.check()?;
                let (after, set) = self.spaces[space as usize][i];
                let mut sets = self.aggregates[id as usize].sets.clone();
                sets[thread as usize] = set;
                let next = Aggregate {
                    parent: id,
                    last: thread,
                    shared: after,
                    sets,
                };
                self.add(next, work)?;
            }
        }
        Ok(())
    }

    /// What a context of a thread can lead to: shared states and sets of stacks.
    fn explore(&mut self, thread: u32, shared: u32, set: u32) -> Result<u32, StopReason> {
        if let Some(&known) = self.known.get(&(thread, shared, set)) {
            return Ok(known);
        }
        let pds = &self.system.threads[thread as usize].pds;
        let (start, nodes) = automaton(pds.states(), shared, set, &self.stacks)?;
        let options = crate::Options {
            limits: self.options.limits.clone(),
            ..crate::Options::default()
        };
        let found = poststar(&Boolean, pds, &start, &options)?;
        // post* adds nothing to what leaves the states of the given set.
        let name = |state: StateId| {
            let place = state.0.checked_sub(pds.states());
            let node = place.and_then(|place| nodes.get(place as usize));
            node.copied().unwrap_or(NEW | state.0)
        };
        let states = found.states();
        let mut fresh = vec![Fresh::default(); states as usize];
        let mut skips: Vec<Vec<u32>> = vec![Vec::new(); states as usize];
        for state in (0..states).map(StateId) {
            fresh[state.0 as usize].accepting = found.is_final(state);
        }
        for (transition, _) in found.iter() {
            let (from, to) = (transition.from.0 as usize, name(transition.to));
            if transition.symbol == SymbolId::EPSILON {
                skips[from].push(to);
            } else {
                fresh[from].edges.push((transition.symbol.0, to));
            }
        }
        // What is read after nothing was read.
        let plain = fresh.clone();
        for (from, fresh) in (0..).zip(&mut fresh) {
            let mut seen = skips[from as usize].clone();
            let mut next = 0;
            while let Some(&state) = seen.get(next) {
                next += 1;
                if state & NEW == 0 {
                    fresh.accepting |= self.stacks.accepting(state);
                    fresh.edges.extend(self.stacks.edges(state));
                    continue;
                }
                let state = (state & !NEW) as usize;
                fresh.accepting |= plain[state].accepting;
                fresh.edges.extend(&plain[state].edges);
                for &more in &skips[state] {
                    if more != NEW | from && !seen.contains(&more) {
                        seen.push(more);
                    }
                }
            }
        }
        let roots: Vec<Vec<u32>> = (0..pds.states()).map(|state| vec![NEW | state]).collect();
        let sets = self.stacks.intern(&fresh, &roots, &mut self.guard)?;
        let mut space = Vec::new();
        for (state, sets) in (0..).zip(sets) {
            if !sets.is_empty() {
                space.push((state, self.stacks.union(&sets)?));
            }
        }
        let id = self.spaces.len() as u32;
        self.spaces.push(space.into());
        self.known.insert((thread, shared, set), id);
        Ok(id)
    }
}

/// The visible states of a search without a bound.
struct Watch<'a> {
    system: Rules<'a>,
    plateau: Option<Plateau>,
    /// How many states the abstraction may have, and at which level it is tried.
    most: usize,
    next: usize,
    /// There is too much to watch.
    given_up: bool,
}

impl<'a> Watch<'a> {
    fn new(search: &Search<'a>) -> Option<Self> {
        let options = search.options;
        let wanted = options.by_abstraction || options.by_visible;
        (options.contexts.is_none() && wanted).then(|| Watch {
            system: Rules::new(search.system, search.targets),
            plateau: None,
            most: FEW,
            next: options.after,
            given_up: false,
        })
    }

    /// Why the target is not met at all, if that is known; these aggregates are new in this level.
    fn proof(
        &mut self,
        search: &mut Search<'a>,
        new: &[u32],
        level: usize,
    ) -> Result<Option<Proof>, StopReason> {
        if self.plateau.is_some() {
            self.see(search, new.iter().copied());
        } else {
            if level < self.next {
                return Ok(None);
            }
            let (shared, stacks) = (search.system.shared.0, self.system.stacks());
            let guard = &mut search.guard;
            let found = abstraction(&mut self.system, shared, &stacks, self.most, guard)?;
            let Some(found) = found else {
                self.given_up = self.most == MANY;
                self.most = (4 * self.most).min(MANY);
                self.next = level + level / 2 + 1;
                return Ok(None);
            };
            search.stats.abstraction = found.states;
            if search.options.by_abstraction && !found.hit {
                return Ok(Some(Proof::Abstraction));
            }
            if !search.options.by_visible {
                self.given_up = true;
                return Ok(None);
            }
            self.plateau = Some(Plateau::new(found.generators, VISIBLE));
            self.see(search, 0..search.aggregates.len() as u32);
        }
        let Some(plateau) = &mut self.plateau else {
            return Ok(None);
        };
        search.stats.visible = plateau.seen();
        let complete = !self.given_up && plateau.is_complete();
        Ok(complete.then_some(Proof::Visible))
    }

    /// Sees what aggregates show.
    fn see(&mut self, search: &Search<'_>, aggregates: impl Iterator<Item = u32>) {
        let Some(plateau) = &mut self.plateau else {
            return;
        };
        for id in aggregates {
            let aggregate = &search.aggregates[id as usize];
            let sets = aggregate.sets.iter().enumerate();
            let tops = sets.map(|(thread, &set)| self.system.tops(thread, set, &search.stacks));
            let tops: Vec<Vec<u32>> = tops.collect();
            if !plateau.see(aggregate.shared, &tops) {
                self.given_up = true;
                return;
            }
        }
    }
}

/// An automaton that accepts a set of stacks in one control state; and the nodes that its other
/// states are.
pub(super) fn automaton(
    control: u32,
    shared: u32,
    set: u32,
    stacks: &Stacks,
) -> Result<(Automaton<bool>, Vec<u32>), StopReason> {
    let mut automaton = Automaton::new(control, Direction::Backward);
    let mut nodes: Vec<u32> = Vec::new();
    let mut places: FxHashMap<u32, StateId> = FxHashMap::default();
    if stacks.accepting(set) {
        automaton.accept(&Boolean, StateId(shared), true)?;
    }
    let mut work = vec![(StateId(shared), set)];
    while let Some((from, node)) = work.pop() {
        for &(symbol, to) in stacks.edges(node) {
            let target = if let Some(&known) = places.get(&to) {
                known
            } else {
                let state = automaton.state();
                places.insert(to, state);
                nodes.push(to);
                if stacks.accepting(to) {
                    automaton.accept(&Boolean, state, true)?;
                }
                work.push((state, to));
                state
            };
            let transition = Transition::new(from, SymbolId(symbol), target);
            automaton.add(&Boolean, transition, true)?;
        }
    }
    Ok((automaton, nodes))
}
