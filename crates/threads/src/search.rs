//! All schedules within a bound, breadth first.
//!
//! A node of the search is the beginning of a context: who is active, the shared globals, and the
//! parked set of every thread. Nodes are explored by the number of switches (or rounds) they need,
//! each node once, so the first hit needs the fewest. A node whose parked sets are included in
//! those of a known one is left out: what it leads to is included in what that leads to. If no new
//! node is left, no further switch leads to anything new: the answer holds for every bound. Where
//! sets of stacks grow for ever, the set of visible states may still have stopped growing
//! (`watch`).
//!
//! If the text does not bound how many threads are started, or the bound is large, a run with `k`
//! switches left can make at most `k` of those started from now on active. So each thread that is
//! started may be remembered or forgotten, and at most `k` are remembered; the search is then made
//! for one bound at a time, and its answer is never about all bounds.
//!
//! # Runs in which no thread can move
//!
//! What a thread does depends on the others through two things only: the shared globals whenever it
//! becomes active, and the frame in which it was started. A node, with those on the way to it,
//! fixes both for all threads. So each thread may be in any configuration of its parked set,
//! whatever the others are in: the sets are independent of each other. When a context is left with
//! certain shared globals, there is a run in which no thread can move if and only if two things are
//! true: the parked set of every thread has a configuration that cannot move with these globals, or
//! the thread may have ended; and at least one thread has such a configuration. It does not matter
//! whether another switch would be within the bound: a thread that could make a step with one more
//! switch can move.
//!
//! Threads that are started and not remembered count, too: they are never active, and stay in the
//! frames in which they were started. Of these, the set of frames is kept.
//!
//! If the active thread cannot move and no other can become active (inside an atomic section, or in
//! `init`), the run is stuck, whatever the other threads could do.

use droste_base::{Counters, Limits, Progress, PropId, StopReason};
use droste_explicit::Stats;
use droste_program::concurrent::{declared, end_of_init, most_started};
use droste_program::schedule::{Finding, Levels, Schedule, Start, Stop, ThreadQuery, Turn, shared};
use droste_program::{NodeId, Threads, Value};
use droste_unfold::{Machine, Threading, Unfolding, Words};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::Options;
use crate::space::{Spaces, Starts, TOO_MANY_STATES};
use crate::watch::Watch;

/// The beginning of a context.
pub(super) struct Node {
    parent: u32,
    /// How many contexts came before.
    depth: u32,
    pub(super) active: u32,
    pub(super) globals: u32,
    /// The threads started in the context before: a list.
    starts: u32,
    /// What its context can do, if it has been explored.
    pub(super) space: u32,
    pub(super) threads: Box<[u32]>,
    /// The frames of threads that are never active, sorted, as parked sets; if that is of interest.
    passive: Box<[u32]>,
}

/// What tells nodes apart: who is active, the shared globals, and all parked sets.
type Key = (u32, u32, Box<[u32]>);

impl Node {
    /// If the search follows a schedule, each of its contexts has nodes of its own.
    fn key(&self, guided: bool) -> Key {
        let mut threads = self.threads.clone();
        if !self.passive.is_empty() {
            threads = [&threads, &[NONE][..], &self.passive].concat().into();
        }
        if guided {
            threads = [&threads, &[NONE, self.depth][..]].concat().into();
        }
        (self.active, self.globals, threads)
    }

    /// What nodes have in common of which one may include the other.
    fn kind(&self) -> Kind {
        (
            self.active,
            self.globals,
            self.threads.len(),
            self.passive.clone(),
        )
    }
}

/// Who is active, the shared globals, how many threads there are, and frames that are never active.
type Kind = (u32, u32, usize, Box<[u32]>);

/// With so many known nodes a new one is compared, to find one that includes it: without a bound, and
/// with one.
const COMPARED: usize = 64;
const COMPARED_BOUNDED: usize = 8;

/// No node, no context.
pub(super) const NONE: u32 = u32::MAX;

/// What is to be searched for.
pub(crate) struct Task<'a> {
    pub(crate) query: &'a ThreadQuery<'a>,
    pub(crate) machine: &'a Machine,
    pub(crate) target: PropId,
    pub(crate) options: &'a Options<'a>,
    /// Only this schedule is followed, as far as it says something.
    pub(crate) guide: Option<&'a Schedule>,
}

/// More threads than this count as unboundedly many.
const MANY: usize = 16;

/// Searches level by level.
pub(super) fn search<W: Words>(task: &Task<'_>) -> (Finding, Stats) {
    if let Some(guide) = task.guide {
        let most = Some(guide.turns.len());
        return one::<W>(task, most, Starts::Some(0), &task.options.limits, None);
    }
    // Keeping track of very many threads is of no use where few of them can run. In a round, all can.
    let rounds = task.query.levels == Levels::Rounds;
    if rounds || most_started(task.query.program) <= MANY {
        return one::<W>(
            task,
            task.query.most,
            Starts::All,
            &task.options.limits,
            None,
        );
    }
    // One bound at a time.
    let mut stats = Stats::default();
    let mut level = 0;
    loop {
        let mut limits = task.options.limits.clone();
        if let Some(most) = &mut limits.path_edges {
            *most = most.saturating_sub(stats.path_edges);
        }
        let starts = Starts::Some(level as u32);
        let (found, more) = one::<W>(task, Some(level), starts, &limits, Some(level));
        stats.path_edges += more.path_edges;
        stats.states = stats.states.max(more.states);
        stats.entries = stats.entries.max(more.entries);
        stats.summaries += more.summaries;
        stats.bytes = stats.bytes.max(more.bytes);
        match found {
            Finding::Nothing { .. } if task.query.most.is_none_or(|most| level < most) => {
                level += 1;
            }
            Finding::Nothing { .. } => return (Finding::Nothing { exhaustive: false }, stats),
            Finding::Stopped(reason, _) => {
                let reason = match (reason, task.options.limits.path_edges) {
                    // Each bound had what the ones before it left.
                    (StopReason::PathEdges(_), Some(most)) => StopReason::PathEdges(most),
                    (reason, _) => reason,
                };
                return (Finding::Stopped(reason, level.checked_sub(1)), stats);
            }
            found @ Finding::Hit(..) => return (found, stats),
        }
    }
}

fn one<W: Words>(
    task: &Task<'_>,
    most: Option<usize>,
    starts: Starts,
    limits: &Limits,
    only: Option<usize>,
) -> (Finding, Stats) {
    let model = Unfolding::<W>::within(task.machine, limits);
    let threading = Threading::<W>::new(task.machine, &shared(task.query.program));
    // Visible states are watched where the search may go on for ever.
    let watches = most.is_none()
        && starts == Starts::All
        && !task.query.target.stops()
        && task.query.levels == Levels::Switches;
    let target = (task.target, task.query.target.stops(), watches);
    let spaces = Spaces::new(task.query.program, &model, &threading, target, limits);
    let spaces = match spaces {
        Ok(spaces) => spaces,
        Err(reason) => return (Finding::Stopped(reason, None), Stats::default()),
    };
    let mut search = Search {
        task,
        spaces,
        nodes: Vec::new(),
        seen: FxHashSet::default(),
        kinds: FxHashMap::default(),
        watch: watches.then(Watch::default),
        waiting: FxHashSet::default(),
        init: end_of_init(task.query.program),
        done: None,
    };
    let found = search.run(most, starts, only);
    let found = found.unwrap_or_else(|reason| Finding::Stopped(reason, search.done));
    let stats = Stats {
        bytes: search.bytes(),
        ..search.spaces.stats
    };
    (found, stats)
}

pub(super) struct Search<'a, W: Words> {
    pub(super) task: &'a Task<'a>,
    pub(super) spaces: Spaces<'a, W>,
    pub(super) nodes: Vec<Node>,
    seen: FxHashSet<Key>,
    /// The first nodes of each kind.
    kinds: FxHashMap<Kind, Vec<u32>>,
    /// The visible states, if they are watched.
    watch: Option<Watch>,
    /// Those of the next level.
    waiting: FxHashSet<Key>,
    pub(super) init: Option<NodeId>,
    /// The last level that has been explored completely.
    done: Option<usize>,
}

impl<W: Words> Search<'_, W> {
    /// Bytes in the tables.
    fn bytes(&self) -> u64 {
        let seen = (self.seen.len() + self.waiting.len()) * size_of::<Key>();
        let lists = self.nodes.iter().map(|node| node.threads.len());
        let lists = lists.chain(self.seen.iter().map(|(_, _, list)| list.len()));
        let lists: usize = lists.sum();
        let others = self.nodes.len() * size_of::<Node>() + seen + lists * size_of::<u32>();
        self.spaces.bytes() + others as u64
    }

    fn run(
        &mut self,
        most: Option<usize>,
        starts: Starts,
        only: Option<usize>,
    ) -> Result<Finding, StopReason> {
        let rounds = self.task.query.levels == Levels::Rounds;
        let mut work = self.initial()?;
        let mut level = usize::from(rounds);
        loop {
            if let Some(tell) = self.task.options.level
                && only.is_none_or(|only| only == level)
            {
                tell(level);
            }
            let last = most.is_some_and(|most| level >= most);
            let mut later = Vec::new();
            let mut beyond = false;
            let mut next = 0;
            while let Some(&id) = work.get(next) {
                next += 1;
                self.report((work.len() - next) as u64);
                self.spaces.guard.check_now()?;
                let node = &self.nodes[id as usize];
                let (active, globals) = (node.active, node.globals);
                let parked = node.threads[active as usize];
                let init = self.init.filter(|_| active == 0);
                let depth = self.nodes[id as usize].depth as usize;
                // How many threads that start now can become active. Going on from `init` to the first
                // of them is no switch.
                let first = u32::from(init.is_some());
                let kept = match (starts, self.task.guide) {
                    (_, Some(guide)) => Starts::Some(guide.turns[depth].starts.len() as u32),
                    (Starts::All, _) => Starts::All,
                    (Starts::Some(most), _) => {
                        Starts::Some(most.saturating_sub(level as u32) + first)
                    }
                };
                let space = self.spaces.explore(parked, globals, kept, init)?;
                self.nodes[id as usize].space = space;
                if self.spaces.all[space as usize].hit {
                    let stops = self.task.query.target.stops();
                    let stop = stops.then(|| self.stop_alone());
                    return Ok(Finding::Hit(self.schedule(id, 0, stop), level));
                }
                if self.task.query.target.stops()
                    && let Some(schedule) = self.stuck_after(id, space)?
                {
                    return Ok(Finding::Hit(schedule, level));
                }
                // In the last level of switches nothing comes after; in a round, later threads do.
                if last && !rounds && init.is_none() {
                    // Whether there would be anything new does not matter then, except for the verdict.
                    beyond = true;
                    continue;
                }
                let lists = (&mut work, &mut later);
                beyond |= self.successors(id, space, init.is_some(), last, lists)?;
            }
            self.done = Some(level);
            if later.is_empty() && !beyond {
                return Ok(Finding::Nothing {
                    exhaustive: starts == Starts::All,
                });
            }
            if last {
                return Ok(Finding::Nothing { exhaustive: false });
            }
            if let Some(mut watch) = self.watch.take() {
                if watch.converges(self, &work, level)? {
                    return Ok(Finding::Nothing { exhaustive: true });
                }
                self.watch = Some(watch).filter(|watch| !watch.given_up);
            }
            work = std::mem::take(&mut later);
            // What needed one more when it was found may have been reached with less since.
            work.retain(|&id| self.is_new(id));
            self.waiting.clear();
            level += 1;
        }
    }

    fn report(&self, waiting: u64) {
        if let Some(reporter) = self.task.options.reporter {
            reporter(Progress {
                phase: "searching",
                counters: Counters::Explicit {
                    path_edges: self.spaces.stats.path_edges,
                    states: self.spaces.stats.states,
                    waiting,
                },
            });
        }
    }

    /// Every first context.
    fn initial(&mut self) -> Result<Vec<u32>, StopReason> {
        let program = self.task.query.program;
        let threads = declared(program);
        let mut parked = Vec::with_capacity(threads.len());
        for thread in &threads {
            let state = self.spaces.threading.enter(thread.procedure);
            let rest = self.spaces.threading.rest(&state);
            parked.push(self.spaces.fresh(&rest)?);
        }
        let any = W::zeroed(self.task.machine.words());
        let globals = self.spaces.globals.intern(any)?.0;
        let first = match program.threads {
            Threads::Sections(_) => threads.len() as u32,
            _ => 1,
        };
        let mut work = Vec::new();
        let guided = self.task.guide.map(|guide| guide.turns[0].thread as u32);
        for active in (0..first).filter(|&active| guided.is_none_or(|g| g == active)) {
            let node = Node {
                parent: NONE,
                depth: 0,
                active,
                globals,
                starts: 0,
                space: NONE,
                threads: parked.clone().into(),
                passive: Box::default(),
            };
            self.add(node, &mut work)?;
        }
        Ok(work)
    }

    fn add(&mut self, node: Node, list: &mut Vec<u32>) -> Result<(), StopReason> {
        if self.seen.contains(&node.key(self.task.guide.is_some())) {
            return Ok(());
        }
        let id = u32::try_from(self.nodes.len()).map_err(|_| TOO_MANY_STATES)?;
        self.nodes.push(node);
        if self.is_new(id) {
            list.push(id);
        } else {
            self.nodes.pop();
        }
        Ok(())
    }

    /// Whether a node is neither known nor included in a known one. It is known then.
    fn is_new(&mut self, id: u32) -> bool {
        let guided = self.task.guide.is_some();
        let node = &self.nodes[id as usize];
        if !self.seen.insert(node.key(guided)) {
            return false;
        }
        if guided {
            return true;
        }
        let list = self.kinds.entry(node.kind()).or_default();
        let mut others = list
            .iter()
            .map(|&other| &self.nodes[other as usize].threads);
        let included = others.any(|other| {
            let mut pairs = node.threads.iter().zip(other);
            pairs.all(|(&a, &b)| self.spaces.included(a, b))
        });
        let most = match self.task.query.most {
            None => COMPARED,
            Some(_) => COMPARED_BOUNDED,
        };
        if !included && list.len() < most {
            list.push(id);
        }
        !included
    }

    /// Whether a context that is left so is one of the schedule's.
    fn follows(&self, guide: &Schedule, next: usize, globals: u32, starts: u32) -> bool {
        let wanted = &guide.turns[next].globals;
        let found = self
            .spaces
            .threading
            .globals(self.spaces.globals.get(globals));
        let agrees = |(wanted, found): (&Option<Value>, &Option<Value>)| {
            wanted.is_none() || found.is_none() || wanted == found
        };
        wanted.iter().zip(&found).all(agrees) && self.frames(starts) == guide.turns[next - 1].starts
    }

    /// The threads of a list, as they start.
    fn frames(&self, starts: u32) -> Vec<Start> {
        let started = self.spaces.started(starts).into_iter();
        started.map(|parked| self.frame(parked)).collect()
    }

    /// A thread as it starts.
    fn frame(&self, parked: u32) -> Start {
        let threading = self.spaces.threading;
        let (_, rest) = self.spaces.parked.get(parked)[0];
        let rest = self.spaces.rests.get(rest);
        let droste_unfold::ThreadControl::At(start) = threading.control(rest) else {
            unreachable!("a thread starts at a node");
        };
        let locals = threading.locals(rest).into_iter();
        Start {
            start,
            // All have one: see `open_local` in `space`.
            locals: locals.map(Option::unwrap_or_default).collect(),
        }
    }

    /// A context that needs one level more, unless it is found with less before this level is done.
    fn put_off(&mut self, node: Node, later: &mut Vec<u32>) -> Result<(), StopReason> {
        let key = node.key(self.task.guide.is_some());
        if !self.seen.contains(&key) && self.waiting.insert(key) {
            let id = u32::try_from(self.nodes.len()).map_err(|_| TOO_MANY_STATES)?;
            self.nodes.push(node);
            later.push(id);
        }
        Ok(())
    }

    /// What can come after a context; whether there would be more if this were not the last level.
    fn successors(
        &mut self,
        id: u32,
        space: u32,
        init: bool,
        last: bool,
        (work, later): (&mut Vec<u32>, &mut Vec<u32>),
    ) -> Result<bool, StopReason> {
        let rounds = self.task.query.levels == Levels::Rounds;
        let active = self.nodes[id as usize].active;
        let mut beyond = false;
        let depth = self.nodes[id as usize].depth + 1;
        let guide = self.task.guide;
        let turn = guide.map(|guide| guide.turns.get(depth as usize));
        if let Some(None) = turn {
            return Ok(false);
        }
        for i in 0..self.spaces.all[space as usize].outs.len() {
            self.spaces.guard.check()?;
            let out = &self.spaces.all[space as usize].outs[i];
            let (globals, starts, parked) = (out.globals, out.starts, out.parked);
            if let Some(guide) = guide
                && !self.follows(guide, depth as usize, globals, starts)
            {
                continue;
            }
            let (threads, passive) = self.after(id, starts, parked);
            for other in 0..threads.len() as u32 {
                if other == active || !self.spaces.can_run(threads[other as usize]) {
                    continue;
                }
                if let Some(Some(turn)) = turn
                    && turn.thread != other as usize
                {
                    continue;
                }
                let node = Node {
                    parent: id,
                    depth,
                    active: other,
                    globals,
                    starts,
                    space: NONE,
                    threads: threads.clone().into(),
                    passive: passive.clone().into(),
                };
                // From `init` to the first thread there is no switch.
                if init || (rounds && other > active) {
                    self.add(node, work)?;
                } else if !last {
                    self.put_off(node, later)?;
                } else {
                    beyond = true;
                }
            }
        }
        Ok(beyond)
    }

    /// The parked sets of all threads after a context of node `id`, which starts these threads and
    /// leaves the active one so; and the frames of threads that are never active.
    fn after(&self, id: u32, starts: u32, parked: u32) -> (Vec<u32>, Vec<u32>) {
        let node = &self.nodes[id as usize];
        let mut threads = node.threads.to_vec();
        threads[node.active as usize] = parked;
        threads.extend(self.spaces.started(starts));
        let mut passive = node.passive.to_vec();
        passive.extend(self.spaces.passive(starts));
        passive.sort_unstable();
        passive.dedup();
        (threads, passive)
    }

    /// A schedule that ends with this context such that no thread can move then, if there is one.
    fn stuck_after(&mut self, id: u32, space: u32) -> Result<Option<Schedule>, StopReason> {
        'outs: for i in 0..self.spaces.all[space as usize].outs.len() {
            self.spaces.guard.check()?;
            let out = &self.spaces.all[space as usize].outs[i];
            let (globals, starts, parked) = (out.globals, out.starts, out.parked);
            let (threads, passive) = self.after(id, starts, parked);
            let mut ended = Vec::with_capacity(threads.len());
            for &thread in &threads {
                let blocked = self.spaces.blocked(thread, globals)?;
                if !blocked && !self.spaces.may_have_ended(thread) {
                    continue 'outs;
                }
                ended.push(!blocked);
            }
            if !ended.contains(&false) && passive.is_empty() {
                continue;
            }
            for &thread in &passive {
                if !self.spaces.blocked(thread, globals)? {
                    continue 'outs;
                }
            }
            let starter = if ended.contains(&false) {
                None
            } else {
                self.starter(id, starts)
            };
            let threading = self.spaces.threading;
            let stop = Stop {
                globals: threading.globals(self.spaces.globals.get(globals)),
                alone: false,
                ended,
                others: passive.iter().map(|&thread| self.frame(thread)).collect(),
                starter,
            };
            return Ok(Some(self.schedule(id, starts, Some(stop))));
        }
        Ok(None)
    }

    /// Who has started a thread that is never active, if the context of node `id` starts these.
    fn starter(&self, id: u32, starts: u32) -> Option<usize> {
        let (mut at, mut starts) = (id, starts);
        while at != NONE {
            let node = &self.nodes[at as usize];
            if self.spaces.passive(starts).next().is_some() {
                return Some(node.active as usize);
            }
            (at, starts) = (node.parent, node.starts);
        }
        None
    }

    /// The end of a run in which only the active thread counts. The globals are those that it has.
    fn stop_alone(&self) -> Stop {
        Stop {
            globals: vec![None; self.task.query.program.globals.len()],
            alone: true,
            ended: Vec::new(),
            others: Vec::new(),
            starter: None,
        }
    }

    /// The contexts up to this one, in which these threads are started.
    fn schedule(&self, id: u32, starts: u32, stop: Option<Stop>) -> Schedule {
        let threading = self.spaces.threading;
        let mut turns = Vec::new();
        let mut at = id;
        let mut starts = starts;
        while at != NONE {
            let node = &self.nodes[at as usize];
            turns.push(Turn {
                thread: node.active as usize,
                globals: threading.globals(self.spaces.globals.get(node.globals)),
                starts: self.frames(starts),
            });
            starts = node.starts;
            at = node.parent;
        }
        turns.reverse();
        debug_assert!(turns[0].thread < declared(self.task.query.program).len());
        Schedule { turns, stop }
    }
}
