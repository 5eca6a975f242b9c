//! All schedules within a bound, breadth first.
//!
//! A node of the search is the beginning of a context: who is active, the shared globals, and the parked set of
//! every thread. Nodes are explored by the number of switches (or rounds) they need, each node once, so the first
//! hit needs the fewest. If no new node is left, no further switch leads anywhere: the answer is
//! good for every bound.
//!
//! If the text does not bound how many threads are started, or says that they are many, a run with `k` switches left can make at most `k` of those
//! started from now on active. So each start may be remembered or forgotten, and at most `k` are remembered; the search
//! is then made for one bound at a time and never says that it is good for all.

use droste_base::{Progress, PropId, Reporter, StopReason, Units};
use droste_explicit::Stats;
use droste_program::concurrent::{declared, end_of_init, most_started};
use droste_program::{NodeId, Program, Threads, Value};
use droste_unfold::{Machine, Threading, Unfolding, Words};
use rustc_hash::FxHashSet;

use super::schedule::{Schedule, Start, Turn, declared_count, shared};
use super::space::{Spaces, Starts};
use crate::Levels;

/// What a search has come to.
pub(super) enum Found {
    /// The target is met, with this many switches or in this round.
    Hit(Schedule, usize),
    /// It is not within the bound; with `true`, it is not at all.
    Nothing(bool),
    /// A limit was reached; up to this many switches (or rounds) there is nothing.
    Stopped(StopReason, Option<usize>),
}

/// The beginning of a context.
struct Node {
    parent: u32,
    /// How many contexts came before.
    depth: u32,
    active: u32,
    globals: u32,
    /// The threads started in the context before: a list.
    starts: u32,
    threads: Box<[u32]>,
}

const NONE: u32 = u32::MAX;

pub(super) struct Question<'a> {
    pub(super) program: &'a Program,
    pub(super) machine: &'a Machine,
    pub(super) target: PropId,
    pub(super) levels: Levels,
    /// The greatest level; `None` for no bound.
    pub(super) most: Option<usize>,
    pub(super) limits: &'a droste_base::Limits,
    pub(super) reporter: Option<Reporter<'a>>,
    /// Told before each level.
    pub(super) progress: Option<&'a dyn Fn(Levels, usize)>,
    /// Only this schedule is followed, as far as it says something.
    pub(super) guide: Option<&'a Schedule>,
}

/// More threads than this count as unboundedly many.
const MANY: usize = 16;

/// Searches level by level.
pub(super) fn search<W: Words>(question: &Question<'_>) -> (Found, Stats) {
    if let Some(guide) = question.guide {
        let most = Some(guide.turns.len());
        return one::<W>(question, most, Starts::Some(0), question.limits, None);
    }
    // Keeping track of very many threads is of no use where few of them can run.
    if most_started(question.program) <= MANY {
        return one::<W>(question, question.most, Starts::All, question.limits, None);
    }
    // One bound at a time.
    let guard = question.limits.guard();
    let mut stats = Stats::default();
    let mut level = 0;
    loop {
        let mut limits = question.limits.clone();
        if let Some(timeout) = &mut limits.timeout {
            *timeout = timeout.saturating_sub(guard.elapsed());
        }
        if let Some(contexts) = &mut limits.contexts {
            *contexts = contexts.saturating_sub(stats.contexts);
        }
        let starts = Starts::Some(level as u32);
        let (found, more) = one::<W>(question, Some(level), starts, &limits, Some(level));
        stats.contexts += more.contexts;
        stats.states = stats.states.max(more.states);
        stats.entries = stats.entries.max(more.entries);
        stats.summaries += more.summaries;
        stats.bytes = stats.bytes.max(more.bytes);
        match found {
            Found::Nothing(_) if question.most.is_none_or(|most| level < most) => level += 1,
            Found::Nothing(_) => return (Found::Nothing(false), stats),
            Found::Stopped(reason, _) => {
                let reason = match (reason, question.limits.timeout) {
                    (StopReason::Time(_), Some(timeout)) => StopReason::Time(timeout),
                    (StopReason::Contexts(_), _) => {
                        StopReason::Contexts(question.limits.contexts.unwrap_or(0))
                    }
                    (reason, _) => reason,
                };
                return (Found::Stopped(reason, level.checked_sub(1)), stats);
            }
            found @ Found::Hit(..) => return (found, stats),
        }
    }
}

fn one<W: Words>(
    question: &Question<'_>,
    most: Option<usize>,
    starts: Starts,
    limits: &droste_base::Limits,
    only: Option<usize>,
) -> (Found, Stats) {
    let model = Unfolding::<W>::new(question.machine);
    let threading = Threading::<W>::new(question.machine, &shared(question.program));
    let spaces = Spaces::new(
        question.program,
        &model,
        &threading,
        question.target,
        limits,
    );
    let spaces = match spaces {
        Ok(spaces) => spaces,
        Err(reason) => return (Found::Stopped(reason, None), Stats::default()),
    };
    let mut search = Search {
        question,
        spaces,
        nodes: Vec::new(),
        seen: FxHashSet::default(),
        waiting: FxHashSet::default(),
        init: end_of_init(question.program),
        done: None,
    };
    let found = search.run(most, starts, only);
    let found = found.unwrap_or_else(|reason| Found::Stopped(reason, search.done));
    let stats = Stats {
        bytes: search.bytes() as u64,
        ..search.spaces.stats
    };
    (found, stats)
}

struct Search<'a, W: Words> {
    question: &'a Question<'a>,
    spaces: Spaces<'a, W>,
    nodes: Vec<Node>,
    seen: FxHashSet<(u32, u32, Box<[u32]>)>,
    /// Those of the next level.
    waiting: FxHashSet<(u32, u32, Box<[u32]>)>,
    init: Option<NodeId>,
    /// The last level that has been explored completely.
    done: Option<usize>,
}

impl<W: Words> Search<'_, W> {
    /// Bytes in the tables.
    fn bytes(&self) -> usize {
        let seen = (self.seen.len() + self.waiting.len()) * size_of::<(u32, u32, Box<[u32]>)>();
        let lists = self.nodes.iter().map(|node| node.threads.len());
        let lists = lists.chain(self.seen.iter().map(|(_, _, list)| list.len()));
        let lists: usize = lists.sum();
        self.spaces.bytes() + self.nodes.len() * size_of::<Node>() + seen + lists * size_of::<u32>()
    }

    fn run(
        &mut self,
        most: Option<usize>,
        starts: Starts,
        only: Option<usize>,
    ) -> Result<Found, StopReason> {
        let rounds = self.question.levels == Levels::Rounds;
        let mut work = self.initial()?;
        let mut level = usize::from(rounds);
        loop {
            if let Some(progress) = self.question.progress
                && only.is_none_or(|only| only == level)
            {
                progress(self.question.levels, level);
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
                // How many threads that start now can become active.
                let kept = match (starts, self.question.guide) {
                    (_, Some(guide)) => Starts::Some(guide.turns[depth].starts.len() as u32),
                    (Starts::All, _) => Starts::All,
                    (Starts::Some(most), _) => Starts::Some(most.saturating_sub(level as u32)),
                };
                let space = self.spaces.explore(parked, globals, kept, init)?;
                if self.spaces.all[space as usize].hit {
                    return Ok(Found::Hit(self.schedule(id), level));
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
                return Ok(Found::Nothing(starts == Starts::All));
            }
            if last {
                return Ok(Found::Nothing(false));
            }
            work = std::mem::take(&mut later);
            // What needed one more when it was found may have been reached with less since.
            work.retain(|&id| {
                let node = &self.nodes[id as usize];
                let key = (node.active, node.globals, node.threads.clone());
                self.seen.insert(key)
            });
            self.waiting.clear();
            level += 1;
        }
    }

    fn report(&self, waiting: u64) {
        if let Some(reporter) = self.question.reporter {
            reporter(Progress {
                units: Units::Contexts,
                phase: "searching",
                contexts: self.spaces.stats.contexts,
                states: self.spaces.stats.states,
                waiting,
            });
        }
    }

    /// Every first context.
    fn initial(&mut self) -> Result<Vec<u32>, StopReason> {
        let program = self.question.program;
        let threads = declared(program);
        let mut parked = Vec::with_capacity(threads.len());
        for thread in &threads {
            let state = self.spaces.threading.enter(thread.procedure);
            let rest = self.spaces.threading.rest(&state);
            parked.push(self.spaces.fresh(&rest)?);
        }
        let any = W::zeroed(self.question.machine.words());
        let globals = self.spaces.globals.intern(&any)?;
        let first = match program.threads {
            Threads::Sections(_) => threads.len() as u32,
            _ => 1,
        };
        let mut work = Vec::new();
        let guided = self
            .question
            .guide
            .map(|guide| guide.turns[0].thread as u32);
        for active in (0..first).filter(|&active| guided.is_none_or(|g| g == active)) {
            let node = Node {
                parent: NONE,
                depth: 0,
                active,
                globals,
                starts: 0,
                threads: parked.clone().into(),
            };
            self.add(node, &mut work)?;
        }
        Ok(work)
    }

    fn add(&mut self, node: Node, list: &mut Vec<u32>) -> Result<(), StopReason> {
        let key = (node.active, node.globals, node.threads.clone());
        if self.seen.insert(key) {
            let id = u32::try_from(self.nodes.len()).map_err(|_| StopReason::TooManyStates)?;
            self.nodes.push(node);
            list.push(id);
        }
        Ok(())
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
        let threading = self.spaces.threading;
        let frame = |parked: u32| {
            let (_, rest) = self.spaces.parked.get(parked)[0];
            let rest = self.spaces.rests.get(rest);
            let droste_unfold::Place::At(start) = threading.place(rest) else {
                unreachable!("a thread starts at a node");
            };
            let locals = threading.locals(rest).into_iter();
            Start {
                start,
                // All have one: see `open_local` in `space`.
                locals: locals.map(Option::unwrap_or_default).collect(),
            }
        };
        self.spaces.started(starts).into_iter().map(frame).collect()
    }

    /// A context that needs one level more, unless it is found with less before this level is done.
    fn put_off(&mut self, node: Node, later: &mut Vec<u32>) -> Result<(), StopReason> {
        let key = (node.active, node.globals, node.threads.clone());
        if !self.seen.contains(&key) && self.waiting.insert(key) {
            let id = u32::try_from(self.nodes.len()).map_err(|_| StopReason::TooManyStates)?;
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
        let nothing = self.spaces.parked.intern(&Vec::new().into())?;
        let rounds = self.question.levels == Levels::Rounds;
        let active = self.nodes[id as usize].active;
        let mut beyond = false;
        let depth = self.nodes[id as usize].depth + 1;
        let guide = self.question.guide;
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
            let mut threads = self.nodes[id as usize].threads.to_vec();
            threads[active as usize] = parked;
            threads.extend(self.spaces.started(starts));
            for other in 0..threads.len() as u32 {
                if other == active || threads[other as usize] == nothing {
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
                    threads: threads.clone().into(),
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

    /// The contexts up to this one.
    fn schedule(&self, id: u32) -> Schedule {
        let threading = self.spaces.threading;
        let mut turns = Vec::new();
        let mut at = id;
        let mut starts = 0;
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
        debug_assert!(turns[0].thread < declared_count(self.question.program));
        Schedule { turns }
    }
}
