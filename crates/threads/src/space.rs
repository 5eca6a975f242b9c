//! One thread in one context: everything it can do from a set of stacks and given shared globals until it is
//! switched out.
//!
//! This is the sequential search over pairs of an *entry* and a state, with summaries, except that
//! a procedure may have been entered in an earlier context. An entry made in an earlier context has
//! all its callers already, because contexts are explored completely, one after the other;
//! returning from it goes on in those callers. This is the relation of La Torre, Madhusudan and
//! Parlato (PLDI 2009), section 5.1, computed explicitly and forwards only. The tuples of that
//! relation keep the number of the context in which a procedure was entered beside the number of
//! the current one.
//!
//! All that matters about such an entry is which stacks are below it: its callers, theirs, and so on.
//! So when a context is done, entries become sets of stacks ([`Stacks`]), which are canonical. A set
//! accepts the empty stack if the procedure may be the outermost one of its thread.
//!
//! What a thread can do in a context depends only on the set of its stacks and on the shared
//! globals. Stacks of one thread with the same shared globals are kept together as a *parked set*:
//! pairs of a set of stacks and a state without its shared globals. They are canonical, too, so
//! that a context that begins as an earlier one did is not explored again, whatever happened in
//! other threads in between, and however deep the stacks have grown. (The aggregates of Qadeer and
//! Rehof, TACAS 2005, section 4.)
//!
//! If runs are looked for in which no thread can move, a parked set also says whether the thread may
//! have ended, and [`Spaces::blocked`] says whether it may be where it cannot move. The argument why
//! that is enough is in `search`.

use std::hash::Hash;

use droste_base::{CallId, Countable, Guard, Interner, Model, PropId, Step, Steps, StopReason};
use droste_explicit::Stats;
use droste_pds::concurrent::stacks::{BOTTOM, Fresh, NEW, Stacks};
use droste_program::{NodeId, Op, Program};
use droste_unfold::{ThreadControl, Threading, Unfolding, Words};
use rustc_hash::{FxHashMap, FxHashSet};

/// More values of one variable than this are not tried out.
pub(super) const MOST: u64 = 1 << 20;
/// Ids have 32 bits, one of which tells new entries from old ones.
pub(super) const TOO_MANY_STATES: StopReason = StopReason::TooMany(Countable::States, 1 << 31);
pub(super) const TOO_MANY: StopReason = StopReason::TooMany(Countable::Choices, MOST);

/// The number of a value.
pub(super) fn number<T: Eq + Hash>(values: &mut Interner<T>, value: T) -> Result<u32, StopReason> {
    Ok(values.intern(value)?.0)
}

/// A parked set: pairs of a set of stacks and a state without shared globals, sorted by state.
pub(super) type Parked = Box<[(u32, u32)]>;

/// In a parked set, in place of a pair: the thread may have ended. Only if that is of interest.
pub(super) const ENDED: (u32, u32) = (u32::MAX, u32::MAX);

/// Set on the number of a started thread that is never active.
const PASSIVE: u32 = 1 << 31;

/// Shared globals and started threads, and the pairs that go with them.
type Group = ((u32, u32), Vec<(u32, u32)>);

/// A thread's state within a context.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Local<W> {
    pub(super) words: W,
    /// Inside an atomic section.
    pub(super) atomic: bool,
    /// The threads started so far in this context: a list of [`Spaces::starts`].
    pub(super) starts: u32,
}

#[derive(Default)]
pub(super) struct Entry {
    /// Entry and state of each caller.
    pub(super) callers: Vec<(u32, u32)>,
    /// What they get to see, as far as known.
    exits: Vec<u32>,
}

/// How the started threads are treated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Starts {
    /// All are kept.
    All,
    /// Each may be kept or forgotten; at most so many are kept.
    Some(u32),
}

/// A way to leave a context.
pub(super) struct Out {
    /// The shared globals.
    pub(super) globals: u32,
    /// The threads started.
    pub(super) starts: u32,
    /// The stacks with which the thread may go on later; none if it has ended.
    pub(super) parked: u32,
}

/// A context that has been explored.
#[derive(Default)]
pub(super) struct Space {
    /// Whether the target is met. If runs are looked for in which no thread can move: whether this
    /// one cannot, and no other can become active.
    pub(super) hit: bool,
    pub(super) outs: Vec<Out>,
    /// If visible states are watched: the shared globals and the top of the active thread, and the
    /// threads started so far. Sorted.
    pub(super) visible: Vec<(u32, u32, u32)>,
}

impl Space {
    /// The target is met: nothing else is of interest.
    fn hit() -> Self {
        Space {
            hit: true,
            ..Space::default()
        }
    }
}

/// All contexts explored so far.
pub(super) struct Spaces<'a, W: Words> {
    pub(super) program: &'a Program,
    pub(super) model: &'a Unfolding<'a, W>,
    pub(super) threading: &'a Threading<'a, W>,
    target: PropId,
    /// Whether runs are looked for in which no thread can move.
    stops: bool,
    /// Whether visible states are watched.
    watches: bool,
    pub(super) guard: Guard,
    most_path_edges: Option<u64>,
    most_choices: Option<u64>,
    pub(super) states: Interner<Local<W>>,
    /// Entries of contexts that are done: what is below them. Symbols are the states of callers,
    /// whose globals are left out if the return does not need them. In the context being explored,
    /// the numbers of entries have [`NEW`].
    pub(super) stacks: Stacks,
    /// Shared globals.
    pub(super) globals: Interner<W>,
    /// States without shared globals.
    pub(super) rests: Interner<W>,
    pub(super) parked: Interner<Parked>,
    /// Lists of started threads, each a parked set: the list before and the last one. Number 0 is empty.
    starts: Interner<(u32, u32)>,
    known: FxHashMap<(u32, u32, Starts, bool), u32>,
    /// Whether the first parked set is known to be included in the second.
    included: FxHashMap<(u32, u32), bool>,
    /// Parked sets and shared globals: whether the thread may be blocked.
    pub(super) blocked: FxHashMap<(u32, u32), bool>,
    pub(super) all: Vec<Space>,
    pub(super) stats: Stats,
}

/// What is done with one context.
pub(super) struct Saturation<W> {
    seen: FxHashSet<(u32, u32)>,
    pub(super) order: Vec<(u32, u32)>,
    /// Pairs whose state was split: the parts stand for it.
    pub(super) split: FxHashSet<u32>,
    /// The entries made here, and their numbers by state.
    pub(super) entries: Vec<Entry>,
    entry_of: FxHashMap<u32, u32>,
    /// Pairs of an entry and an exit.
    exits: FxHashSet<(u32, u32)>,
    /// Shared globals and starts with which the thread has ended.
    pub(super) ended: Vec<(W, u32)>,
    hit: bool,
}

impl<'a, W: Words> Spaces<'a, W> {
    pub(super) fn new(
        program: &'a Program,
        model: &'a Unfolding<'a, W>,
        threading: &'a Threading<'a, W>,
        (target, stops, watches): (PropId, bool, bool),
        limits: &droste_base::Limits,
    ) -> Result<Self, StopReason> {
        let mut spaces = Spaces {
            program,
            model,
            threading,
            target,
            stops,
            watches,
            guard: limits.guard(),
            most_path_edges: limits.path_edges,
            most_choices: limits.choices,
            states: Interner::new(),
            stacks: Stacks::new(),
            globals: Interner::new(),
            rests: Interner::new(),
            parked: Interner::new(),
            starts: Interner::new(),
            known: FxHashMap::default(),
            included: FxHashMap::default(),
            blocked: FxHashMap::default(),
            all: Vec::new(),
            stats: Stats::default(),
        };
        number(&mut spaces.starts, (u32::MAX, u32::MAX))?;
        spaces.guard.check_now()?;
        Ok(spaces)
    }

    /// The parked set of a thread that has one frame, in this state (without shared globals).
    pub(super) fn fresh(&mut self, rest: &W) -> Result<u32, StopReason> {
        let rest = number(&mut self.rests, rest.clone())?;
        number(&mut self.parked, vec![(BOTTOM, rest)].into())
    }

    /// Bytes in the tables.
    pub(super) fn bytes(&self) -> u64 {
        let interned = self.states.bytes()
            + self.globals.bytes()
            + self.rests.bytes()
            + self.parked.bytes()
            + self.starts.bytes()
            + self.stacks.bytes();
        let parked = (0..self.parked.len() as u32).map(|id| self.parked.get(id).len());
        let pairs: usize = parked.sum();
        let outs: usize = self.all.iter().map(|space| space.outs.len()).sum();
        let others = pairs * size_of::<(u32, u32)>()
            + self.known.len() * size_of::<((u32, u32, Starts, bool), u32)>()
            + self.included.len() * size_of::<((u32, u32), bool)>()
            + self.all.len() * size_of::<Space>()
            + outs * size_of::<Out>();
        interned + others as u64
    }

    /// The threads of a list that may become active, first to last: parked sets.
    pub(super) fn started(&self, list: u32) -> Vec<u32> {
        let mut all: Vec<u32> = self.listed(list).filter(|id| id & PASSIVE == 0).collect();
        all.reverse();
        all
    }

    /// Those of a list that are never active.
    pub(super) fn passive(&self, list: u32) -> impl Iterator<Item = u32> {
        let passive = self.listed(list).filter(|id| id & PASSIVE != 0);
        passive.map(|id| id & !PASSIVE)
    }

    /// All threads of a list, last to first.
    fn listed(&self, mut list: u32) -> impl Iterator<Item = u32> {
        std::iter::from_fn(move || {
            let (before, thread) = match list {
                0 => return None,
                _ => *self.starts.get(list),
            };
            list = before;
            Some(thread)
        })
    }

    /// Whether a thread with this parked set can become active.
    pub(super) fn can_run(&self, parked: u32) -> bool {
        let mut pairs = self.parked.get(parked).iter();
        pairs.any(|&pair| pair != ENDED)
    }

    /// Whether a thread with this parked set may have ended.
    pub(super) fn may_have_ended(&self, parked: u32) -> bool {
        let pairs = self.parked.get(parked);
        pairs.is_empty() || pairs.contains(&ENDED)
    }

    /// Whether a thread with one parked set can do all that it can with another.
    pub(super) fn included(&mut self, first: u32, second: u32) -> bool {
        if first == second {
            return true;
        }
        let (small, large) = (self.parked.get(first), self.parked.get(second));
        // Each state is usually there once.
        if small.len() > large.len() {
            return false;
        }
        if let Some(&known) = self.included.get(&(first, second)) {
            return known;
        }
        let mut rest = &large[..];
        let found = small.iter().all(|&(set, state)| {
            rest = &rest[rest.partition_point(|pair| pair.1 < state)..];
            let mut same = rest.iter().take_while(|pair| pair.1 == state);
            same.any(|&(other, _)| set == other || self.stacks.included(set, other))
        });
        self.included.insert((first, second), found);
        found
    }

    /// The context of a thread with these stacks that begins with these globals. With `init`, it can be left at the
    /// end of `init` only.
    pub(super) fn explore(
        &mut self,
        parked: u32,
        globals: u32,
        starts: Starts,
        init: Option<NodeId>,
    ) -> Result<u32, StopReason> {
        let key = (parked, globals, starts, init.is_some());
        if let Some(&id) = self.known.get(&key) {
            return Ok(id);
        }
        let space = self.saturate(parked, globals, starts, init)?;
        let id = u32::try_from(self.all.len()).map_err(|_| TOO_MANY_STATES)?;
        self.all.push(space);
        self.known.insert(key, id);
        Ok(id)
    }

    fn saturate(
        &mut self,
        parked: u32,
        globals: u32,
        starts: Starts,
        init: Option<NodeId>,
    ) -> Result<Space, StopReason> {
        let mut work = Saturation {
            seen: FxHashSet::default(),
            order: Vec::new(),
            split: FxHashSet::default(),
            entries: Vec::new(),
            entry_of: FxHashMap::default(),
            exits: FxHashSet::default(),
            ended: Vec::new(),
            hit: false,
        };
        let shared = self.globals.get(globals).clone();
        for (entry, rest) in self.parked.get(parked).clone() {
            if (entry, rest) == ENDED {
                continue;
            }
            let words = self.threading.join(self.rests.get(rest), &shared);
            self.add(&mut work, entry, words, false, 0)?;
        }
        let mut steps = Steps::new();
        let mut next = 0;
        while let Some(&(entry, state)) = work.order.get(next) {
            next += 1;
            self.expand(&mut work, entry, state, starts, init, &mut steps)?;
            if work.hit {
                return Ok(Space::hit());
            }
        }
        self.stats.entries += work.entries.len() as u64;
        if self.stops && self.stuck_alone(&work, init)? {
            return Ok(Space::hit());
        }
        self.leave(&work, init)
    }

    /// A pair of an entry and a state is reached.
    fn add(
        &mut self,
        work: &mut Saturation<W>,
        entry: u32,
        words: W,
        atomic: bool,
        starts: u32,
    ) -> Result<(), StopReason> {
        work.hit |= self.model.holds(&words, self.target);
        let state = number(
            &mut self.states,
            Local {
                words,
                atomic,
                starts,
            },
        )?;
        if work.seen.insert((entry, state)) {
            work.order.push((entry, state));
            self.stats.path_edges += 1;
            self.stats.states = self.states.len() as u64;
            if let Some(most) = self.most_path_edges
                && self.stats.path_edges > most
            {
                return Err(StopReason::PathEdges(most));
            }
        }
        self.guard.check()
    }

    /// All that the thread can do in a state.
    fn expand(
        &mut self,
        work: &mut Saturation<W>,
        entry: u32,
        state: u32,
        kept: Starts,
        init: Option<NodeId>,
        steps: &mut Steps<W>,
    ) -> Result<(), StopReason> {
        let local = self.states.get(state).clone();
        let ThreadControl::At(node) = self.threading.control(&local.words) else {
            return Ok(());
        };
        if init == Some(node) {
            return Ok(());
        }
        let op = &self.program.node(node).op;
        if let Op::EndThread = op {
            let shared = self.threading.shared(&local.words);
            work.ended.push((shared, local.starts));
            return Ok(());
        }
        if let Op::StartThread { .. } = op
            && let Some((slot, top)) = self.threading.open_local(&local.words)
        {
            return self.refine(work, (entry, state), &local, slot, top);
        }
        steps.clear();
        self.model.steps(&local.words, steps);
        if let Some(split) = steps.as_split() {
            let top = split.count.saturating_sub(1);
            return self.refine(work, (entry, state), &local, split.tag, top);
        }
        if steps.overflowed() {
            self.guard.check_now()?;
            return Err(TOO_MANY);
        }
        let atomic = match op {
            Op::AtomicBegin(_) => true,
            Op::AtomicEnd(_) => false,
            _ => local.atomic,
        };
        let items: Vec<Step<W>> = steps.drain().collect();
        for step in items {
            match step {
                Step::Internal(words) => {
                    if let Op::StartThread { start, .. } = op
                        && !matches!(self.threading.control(&words), ThreadControl::Failed(_))
                    {
                        let frame = self.threading.move_to(&local.words, *start);
                        let frame = self.threading.rest(&frame);
                        let list = self.start(&frame, local.starts, kept)?;
                        if let Some(list) = list {
                            self.add(work, entry, words.clone(), atomic, list)?;
                        }
                        if kept == Starts::All {
                            continue;
                        }
                        if self.stops {
                            let list = self.start_passive(&frame, local.starts)?;
                            self.add(work, entry, words, atomic, list)?;
                            continue;
                        }
                    }
                    self.add(work, entry, words, atomic, local.starts)?;
                }
                Step::Call(_, words) => {
                    self.call(work, (entry, state), words, atomic, local.starts)?;
                }
                Step::Exit(words) => {
                    let exit = number(
                        &mut self.states,
                        Local {
                            words,
                            atomic,
                            starts: local.starts,
                        },
                    )?;
                    self.exit(work, entry, exit)?;
                }
            }
        }
        Ok(())
    }

    /// The list with one more thread, if it can be kept.
    fn start(&mut self, frame: &W, list: u32, kept: Starts) -> Result<Option<u32>, StopReason> {
        if let Starts::Some(most) = kept
            && self.started(list).len() >= most as usize
        {
            return Ok(None);
        }
        let parked = self.fresh(frame)?;
        number(&mut self.starts, (list, parked)).map(Some)
    }

    /// The list with one more thread that is never active; there may be many such, but what counts is
    /// in which frames.
    fn start_passive(&mut self, frame: &W, list: u32) -> Result<u32, StopReason> {
        let parked = self.fresh(frame)?;
        if parked & PASSIVE != 0 {
            return Err(TOO_MANY_STATES);
        }
        if self.passive(list).any(|other| other == parked) {
            return Ok(list);
        }
        number(&mut self.starts, (list, PASSIVE | parked))
    }

    /// One state after the other for each value of a variable.
    fn refine(
        &mut self,
        work: &mut Saturation<W>,
        (entry, state): (u32, u32),
        local: &Local<W>,
        slot: u32,
        top: u64,
    ) -> Result<(), StopReason> {
        if top >= MOST {
            return Err(TOO_MANY);
        }
        work.split.insert(state);
        for index in 0..=top {
            let words = self.model.refine(&local.words, slot, index);
            self.add(work, entry, words, local.atomic, local.starts)?;
        }
        Ok(())
    }

    fn call(
        &mut self,
        work: &mut Saturation<W>,
        caller: (u32, u32),
        words: W,
        atomic: bool,
        starts: u32,
    ) -> Result<(), StopReason> {
        let state = number(
            &mut self.states,
            Local {
                words: words.clone(),
                atomic,
                starts,
            },
        )?;
        let fresh = work.entries.len() as u32;
        let index = *work.entry_of.entry(state).or_insert(fresh);
        if index == fresh {
            work.entries.push(Entry::default());
        }
        work.entries[index as usize].callers.push(caller);
        self.add(work, NEW | index, words, atomic, starts)?;
        // Exits known already.
        let exits = work.entries[index as usize].exits.clone();
        for exit in exits {
            self.resume(work, caller, exit)?;
        }
        Ok(())
    }

    fn exit(&mut self, work: &mut Saturation<W>, entry: u32, exit: u32) -> Result<(), StopReason> {
        if !work.exits.insert((entry, exit)) {
            return Ok(());
        }
        let callers = if entry & NEW == 0 {
            if self.stacks.accepting(entry) {
                let local = self.states.get(exit);
                let shared = self.threading.shared(&local.words);
                work.ended.push((shared, local.starts));
            }
            // No more callers come to an entry of an earlier context.
            let edges = self.stacks.edges(entry).iter();
            edges.map(|&(state, entry)| (entry, state)).collect()
        } else {
            let entry = &mut work.entries[(entry & !NEW) as usize];
            entry.exits.push(exit);
            entry.callers.clone()
        };
        self.stats.summaries += u64::from(!callers.is_empty());
        for caller in callers {
            self.resume(work, caller, exit)?;
        }
        Ok(())
    }

    fn resume(
        &mut self,
        work: &mut Saturation<W>,
        (entry, caller): (u32, u32),
        exit: u32,
    ) -> Result<(), StopReason> {
        let (caller, exit) = (self.states.get(caller), self.states.get(exit));
        let (atomic, starts) = (exit.atomic, exit.starts);
        let mut after = Vec::new();
        let complete = self
            .model
            .resume(&caller.words, CallId(0), &exit.words, &mut after);
        if !complete {
            self.guard.check_now()?;
            return Err(TOO_MANY);
        }
        for words in after {
            self.add(work, entry, words, atomic, starts)?;
        }
        Ok(())
    }

    /// The entries made in a context, with what is below them.
    fn settle(&mut self, work: &Saturation<W>) -> Result<Vec<Fresh>, StopReason> {
        let mut fresh = Vec::with_capacity(work.entries.len());
        for entry in &work.entries {
            self.guard.check()?;
            let mut edges = Vec::with_capacity(entry.callers.len());
            for &(caller, state) in &entry.callers {
                let words = self.states.get(state).words.clone();
                edges.push((self.caller(&words)?, caller));
            }
            fresh.push(Fresh {
                accepting: false,
                edges,
            });
        }
        Ok(fresh)
    }

    /// The state of a caller, without its shared globals if the return does not need them.
    pub(super) fn caller(&mut self, words: &W) -> Result<u32, StopReason> {
        let mut words = words.clone();
        if let ThreadControl::At(node) = self.threading.control(&words) {
            let node = self.program.node(node);
            let plain = matches!(
                &node.op,
                Op::Call {
                    constrain: None,
                    ..
                }
            );
            if plain && node.ensure.is_none() {
                words = self.threading.rest(&words);
            }
        }
        let local = Local {
            words,
            atomic: false,
            starts: 0,
        };
        number(&mut self.states, local)
    }

    /// Adds shared globals, in which those without a value are given one: every one in turn.
    pub(super) fn valued(&mut self, shared: W, all: &mut Vec<u32>) -> Result<(), StopReason> {
        if self.threading.open_global(&shared).is_none() {
            all.push(number(&mut self.globals, shared)?);
            return Ok(());
        }
        let mut open = vec![shared];
        while let Some(mut shared) = open.pop() {
            self.guard.check()?;
            if let Some((slot, top)) = self.threading.open_global(&shared) {
                if top >= MOST {
                    return Err(TOO_MANY);
                }
                for offset in (0..=top).rev() {
                    self.threading.set_global(&mut shared, slot, offset);
                    open.push(shared.clone());
                }
                continue;
            }
            all.push(number(&mut self.globals, shared)?);
            if let Some(most) = self.most_choices
                && all.len() as u64 > most
            {
                return Err(StopReason::TooMany(Countable::Choices, most));
            }
        }
        Ok(())
    }

    /// Parked sets of groups of pairs, whose entries may have been made in this context.
    fn park(&mut self, fresh: &[Fresh], groups: &mut [Group]) -> Result<(), StopReason> {
        // Sets of entries whose numbers are not known yet: each entry by itself, if it is wanted, and
        // sets of several.
        let mut roots: Vec<Vec<u32>> = vec![Vec::new(); fresh.len()];
        for (_, pairs) in &mut *groups {
            self.guard.check()?;
            pairs.sort_unstable_by_key(|&(entry, rest)| (rest, entry));
            pairs.dedup();
            for states in pairs.chunk_by(|a, b| a.1 == b.1) {
                let entry = states[0].0;
                if states.len() > 1 {
                    roots.push(states.iter().map(|pair| pair.0).collect());
                } else if entry & NEW != 0 && states[0] != ENDED {
                    let root = &mut roots[(entry & !NEW) as usize];
                    if root.is_empty() {
                        root.push(entry);
                    }
                }
            }
        }
        let sets = self.stacks.intern(fresh, &roots, &mut self.guard)?;
        let mut several = sets.iter().skip(fresh.len());
        for (_, pairs) in groups {
            let single = pairs.windows(2).all(|pair| pair[0].1 != pair[1].1);
            if single && pairs.iter().all(|pair| pair.0 & NEW == 0 || *pair == ENDED) {
                continue;
            }
            let mut parked = Vec::with_capacity(pairs.len());
            for states in pairs.chunk_by(|a, b| a.1 == b.1) {
                let (entry, rest) = states[0];
                let known = [entry];
                let sets = if states.len() > 1 {
                    several.next().map_or(&[][..], Vec::as_slice)
                } else if entry & NEW == 0 || states[0] == ENDED {
                    &known[..]
                } else {
                    &sets[(entry & !NEW) as usize][..]
                };
                parked.extend(sets.iter().map(|&set| (set, rest)));
            }
            *pairs = parked;
        }
        Ok(())
    }

    /// The ways to leave a context.
    fn leave(&mut self, work: &Saturation<W>, init: Option<NodeId>) -> Result<Space, StopReason> {
        let fresh = self.settle(work)?;
        let mut index: FxHashMap<(u32, u32), usize> = FxHashMap::default();
        let mut groups: Vec<Group> = Vec::new();
        let mut all = Vec::new();
        let mut put = |spaces: &mut Self, shared: W, starts: u32, pair: Option<(u32, u32)>| {
            all.clear();
            spaces.valued(shared, &mut all)?;
            for &globals in &all {
                let key = (globals, starts);
                let group = *index.entry(key).or_insert_with(|| {
                    groups.push((key, Vec::new()));
                    groups.len() - 1
                });
                groups[group].1.extend(pair);
            }
            Ok(())
        };
        for &(entry, state) in &work.order {
            if work.split.contains(&state) {
                continue;
            }
            let local = self.states.get(state).clone();
            let ThreadControl::At(node) = self.threading.control(&local.words) else {
                continue;
            };
            if init.is_some_and(|end| end != node) || (local.atomic && init.is_none()) {
                continue;
            }
            if let Op::EndThread = self.program.node(node).op
                && init.is_none()
            {
                // Leaving before the end is no better than leaving after it.
                continue;
            }
            let shared = self.threading.shared(&local.words);
            // `init` never goes on.
            let pair = match init {
                Some(_) => None,
                None => Some((
                    entry,
                    number(&mut self.rests, self.threading.rest(&local.words))?,
                )),
            };
            put(self, shared, local.starts, pair)?;
        }
        if init.is_none() {
            let pair = (self.stops || self.watches).then_some(ENDED);
            for (shared, starts) in &work.ended {
                put(self, shared.clone(), *starts, pair)?;
            }
        }
        self.park(&fresh, &mut groups)?;
        let mut outs = Vec::with_capacity(groups.len());
        for ((globals, starts), pairs) in groups {
            outs.push(Out {
                globals,
                starts,
                parked: number(&mut self.parked, pairs.into())?,
            });
        }
        let visible = if self.watches {
            self.visible(work, init)?
        } else {
            Vec::new()
        };
        Ok(Space {
            hit: false,
            outs,
            visible,
        })
    }
}
