//! Few configurations: one after the other, without diagrams.
//!
//! The same search as in `product`, with a list of configurations in place of diagrams. An entry of the list
//! has the number of a valuation of the globals and, for each thread, the number of a stack or of a set of
//! stacks: those that a thread may have when it leaves one context with the same globals. It stands for all
//! configurations with one stack of each set. A variable may be without a value and stand for any
//! (`droste_unfold`). What a thread does in a context depends on its stacks and on the globals alone,
//! so this is found out once (`context`) and holds for whatever the other threads are doing.
//! (S. Qadeer and J. Rehof, TACAS 2005, section 4: aggregates.)
//!
//! Where there are few configurations, making relations and diagrams takes longer than going
//! through them. Where there are many, this search gets nowhere. Nobody knows beforehand how many
//! there are. So the search can be interrupted, and takes turns with the one that has diagrams. It
//! gives up for good if a step would multiply the list, because it reads a variable with many
//! values.
//!
//! **Stacks of any height** are folded, as in `product`: if a frame is pushed that is on the stack
//! already, all frames above the earlier one are forgotten, and a return from it may go on as after
//! either push. When a new place is found where such a return may go on, the search begins again.
//! The list may then have configurations that the program does not have, but none are missing. So
//! if no target is met, the question is answered; if one is met, it is not.
//!
//! What keeps it honest: `check/tests/concurrent.rs` compares it, alone and in turns, with all
//! interleavings; every schedule becomes a run that is replayed.

mod context;
mod counted;

use droste_base::{Countable, Guard, Interner, Limits, PropId, StopReason};
use droste_program::liveness::LiveLocals;
use droste_program::quiet::Accesses;
use droste_program::schedule::{Finding, Schedule, Start, Turn};
use droste_program::{NodeId, Program, Threads};
use droste_relations::Result;
use droste_unfold::{Machine, ThreadControl, Threading, Unfolding, Words};
use rustc_hash::{FxHashMap, FxHashSet};

use super::prepare::Prepared;
use super::{Obstacle, PreparedQuery};
use context::{Context, Explored};

/// More threads than this are not looked at one configuration at a time, unless they are [`mod@counted`].
pub(super) const MOST_THREADS: usize = 7;

/// More configurations than this are not few.
const MOST: usize = 1 << 21;

/// The search begins again at most so many times.
const MOST_RESTARTS: usize = 16;

/// The globals and, for each thread, its stacks, by number.
type Configuration = [u32; MOST_THREADS + 1];

/// In place of the number of a stack: the thread does not run. It has not been started, or has ended.
const NOWHERE: u32 = 0;

/// Set on the number of a set of several stacks.
const SET: u32 = 1 << 31;

/// In place of a configuration: there is none.
const NONE: u32 = u32::MAX;

/// What one state of a thread costs, where one configuration costs 1. About as much as a step of
/// diagram operations.
const STATE: i64 = 4;

/// How far the search has come.
pub(super) enum Pace {
    Answer(Finding),
    /// There is more to do.
    More,
    /// It is of no use here.
    Over(Obstacle),
}

/// A search that can be interrupted.
pub(super) trait Enumeration: Send {
    /// Goes on for so many steps. `level` is told before each level.
    fn go_on(&mut self, steps: u64, limits: &Limits, level: &mut dyn FnMut(usize)) -> Result<Pace>;

    /// How many configurations there are so far.
    fn configurations(&self) -> u64;

    /// The last level that has been explored completely.
    fn done(&self) -> Option<usize>;
}

/// A way to leave a context.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Out {
    globals: u32,
    /// A stack; after the whole context is known, perhaps a set.
    stack: u32,
    /// The threads that were started: a list of slots and stacks.
    starts: u32,
}

/// The beginning of the last context of a run.
#[derive(Clone, Copy)]
struct Seed {
    /// The configuration, or the one before.
    configuration: u32,
    /// If it is the one before: the thread that is active there, and how it leaves.
    left: Option<(u32, Out)>,
    /// The thread that is active now.
    thread: u32,
}

/// Everything by number.
struct Tables<W> {
    globals: Interner<W>,
    /// The number of what is below (0 for nothing) and a frame: its state without globals, unless a
    /// return looks at what they were. Numbers begin with 1.
    stacks: Interner<(u32, W)>,
    /// Sets of at least two stacks, sorted.
    sets: Interner<Box<[u32]>>,
    /// Slots and stacks, or stacks and how often each is there ([`mod@counted`]). Number 0 is empty.
    starts: Interner<Box<[(u32, u32)]>>,
    /// By stack: what else may be below its frame, because it was folded.
    folded: FxHashMap<u32, Vec<u32>>,
}

struct Few<'a, W: Words> {
    prepared: &'a Prepared,
    question: &'a PreparedQuery<'a>,
    machine: &'a Machine,
    /// With all globals.
    all: Threading<'a, W>,
    /// With those that are shared.
    shared: Threading<'a, W>,
    target: PropId,
    accesses: Accesses,
    /// By thread and node, once known.
    quiet: Vec<Vec<Option<bool>>>,
    tables: Tables<W>,
    /// Number 0 is the one in which runs begin.
    configurations: Interner<Configuration>,
    /// By configuration: where it comes from, and which thread was active.
    parents: Vec<(u32, u32)>,
    /// By configuration: the threads that have been active there, or have left it.
    visited: Vec<u8>,
    /// By thread: the configurations before this one have been looked at.
    cursors: [usize; MOST_THREADS],
    /// By thread, stacks and globals: where the ways to leave the context are.
    contexts: FxHashMap<(u32, u32, u32), (u32, u32)>,
    outs: Vec<Out>,
    current: Option<Context<W>>,
    /// Where the last contexts of runs begin: nothing matters there but one thread and the globals.
    seeds: Vec<Seed>,
    /// Their stacks and globals.
    seeded: FxHashSet<(u32, u32)>,
    /// Not all configurations are known: the last ones do not matter as a whole.
    is_cut: bool,
    /// Contexts, and the threads and stacks that go on after them.
    pairs: FxHashSet<(u32, u32, u32)>,
    /// In the last round: configurations without the threads that have had their turns.
    projected: FxHashSet<Configuration>,
    /// `init` has still to run.
    init: bool,
    level: usize,
    done: Option<usize>,
    /// Whether the level has begun.
    begun: bool,
    thread: usize,
    /// The configurations of the level before.
    end: usize,
    /// How often the search has begun again.
    restarts: usize,
    /// Started threads may be active up to this level, unless all are kept.
    capacity: usize,
    /// Switches are not counted, and started threads are: up to this number exactly ([`mod@counted`]).
    counts: Option<u32>,
}

/// The machine that makes steps, and what is looked for.
pub(super) fn machine(prepared: &Prepared, question: &PreparedQuery<'_>) -> (Machine, PropId) {
    let program = &prepared.program;
    let violations = question.query.violations;
    let mut machine = Machine::new(program, &LiveLocals::new(program), violations);
    let target = machine.ask_control(question.query.targets, violations);
    (machine, target)
}

/// A search by configurations; `None` if there are too many threads.
pub(super) fn few<'a>(
    prepared: &'a Prepared,
    question: &'a PreparedQuery<'a>,
    (machine, target): (&'a Machine, PropId),
    capacity: usize,
) -> Result<Option<Box<dyn Enumeration + 'a>>> {
    if question.declared.len() + prepared.slots > MOST_THREADS {
        return Ok(None);
    }
    let parts = (prepared, question, machine, target);
    Ok(Some(match machine.words() {
        1 => Box::new(Few::<[u64; 1]>::new(parts, capacity, None)?),
        2 => Box::new(Few::<[u64; 2]>::new(parts, capacity, None)?),
        3 | 4 => Box::new(Few::<[u64; 4]>::new(parts, capacity, None)?),
        5..=8 => Box::new(Few::<[u64; 8]>::new(parts, capacity, None)?),
        _ => Box::new(Few::<Box<[u64]>>::new(parts, capacity, None)?),
    }))
}

pub(super) use counted::{SLOTS, counted};

/// What to do next.
enum Next {
    /// A thread is active in a configuration.
    From(u32, usize),
    /// The last contexts.
    Last,
    Answer(Finding),
    Over,
}

impl<'a, W: Words + Send + 'a> Few<'a, W> {
    fn new(
        (prepared, question, machine, target): (
            &'a Prepared,
            &'a PreparedQuery<'a>,
            &'a Machine,
            PropId,
        ),
        capacity: usize,
        counts: Option<u32>,
    ) -> Result<Self> {
        let program = &prepared.program;
        let all: Vec<u32> = (0..program.globals.len() as u32).collect();
        let all = Threading::<W>::new(machine, &all);
        let threads = question.declared.len() + prepared.slots;
        let mut few = Few {
            prepared,
            question,
            machine,
            all,
            shared: Threading::new(machine, &prepared.shared),
            target,
            accesses: Accesses::new(question.program, &prepared.roots(question.declared)),
            quiet: vec![vec![None; program.nodes.len()]; threads],
            tables: Tables {
                globals: Interner::new(),
                stacks: Interner::new(),
                sets: Interner::new(),
                starts: Interner::new(),
                folded: FxHashMap::default(),
            },
            configurations: Interner::new(),
            parents: Vec::new(),
            visited: Vec::new(),
            cursors: [0; MOST_THREADS],
            contexts: FxHashMap::default(),
            outs: Vec::new(),
            current: None,
            seeds: Vec::new(),
            seeded: FxHashSet::default(),
            is_cut: false,
            pairs: FxHashSet::default(),
            projected: FxHashSet::default(),
            init: matches!(program.threads, Threads::Init { .. }),
            level: usize::from(question.rounds),
            done: None,
            begun: false,
            thread: 0,
            end: 0,
            restarts: 0,
            capacity,
            counts,
        };
        few.begin()?;
        Ok(few)
    }
}

impl<W: Words> Few<'_, W> {
    fn program(&self) -> &Program {
        &self.prepared.program
    }

    fn threads(&self) -> usize {
        self.question.declared.len() + self.prepared.slots
    }

    /// Whether all threads that are ever started may become active.
    fn all_kept(&self) -> bool {
        self.prepared.slots >= self.question.most_started
    }

    /// The first thread of a level.
    fn first(&self) -> usize {
        usize::from(matches!(self.program().threads, Threads::Init { .. }))
    }

    /// The configuration in which runs begin.
    fn begin(&mut self) -> Result<()> {
        self.configurations = Interner::new();
        self.parents.clear();
        self.visited.clear();
        self.cursors = [0; MOST_THREADS];
        self.contexts.clear();
        self.outs.clear();
        self.seeds.clear();
        self.seeded.clear();
        self.pairs.clear();
        self.projected.clear();
        self.is_cut = false;
        self.init = matches!(self.program().threads, Threads::Init { .. });
        self.level = usize::from(self.question.rounds);
        self.begun = false;
        self.tables.starts.intern(Box::default())?;
        if self.counts.is_some() {
            return Ok(());
        }
        let mut first: Configuration = [NOWHERE; MOST_THREADS + 1];
        first[0] = self.first_globals()?;
        for (thread, &procedure) in self.question.declared.iter().enumerate() {
            let frame = self.all.rest(&self.all.enter(procedure));
            first[1 + thread] = self.stack(0, frame)?;
        }
        self.configurations.intern(first)?;
        self.parents.push((NONE, 0));
        // Nobody but `init` is active before `init` is done.
        self.visited.push(if self.init { u8::MAX } else { 0 });
        Ok(())
    }

    /// The globals with which runs begin.
    fn first_globals(&mut self) -> Result<u32> {
        let mut globals = W::zeroed(self.machine.words());
        let own = [self.prepared.started, self.prepared.atomic];
        for global in own.into_iter().flatten() {
            self.all.set_global(&mut globals, global, 0);
        }
        Ok(self.tables.globals.intern(globals)?.0)
    }

    /// The number of a stack.
    fn stack(&mut self, below: u32, frame: W) -> Result<u32> {
        let number = self.tables.stacks.intern((below, frame))?.0 + 1;
        if number & SET != 0 {
            let most = u64::from(SET);
            return Err(StopReason::TooMany(Countable::States, most));
        }
        Ok(number)
    }

    /// Puts stacks together that a thread leaves a context with, where all else is the same. A thread
    /// that has ended goes on with none.
    fn aggregate(&mut self, found: &mut Vec<Out>) -> Result<()> {
        found.sort_unstable_by_key(|out| (out.globals, out.starts, out.stack));
        let mut kept = 0;
        let mut begin = 0;
        while begin < found.len() {
            let first = found[begin];
            let is_like = |out: &&Out| (out.globals, out.starts) == (first.globals, first.starts);
            let end = begin + found[begin..].iter().take_while(is_like).count();
            let mut stacks: Vec<u32> = found[begin..end].iter().map(|out| out.stack).collect();
            stacks.dedup();
            stacks.retain(|&stack| stack != NOWHERE);
            let stack = match stacks[..] {
                [] => NOWHERE,
                [stack] => stack,
                _ => self.tables.sets.intern(stacks.into())?.0 | SET,
            };
            found[kept] = Out { stack, ..first };
            kept += 1;
            begin = end;
        }
        found.truncate(kept);
        Ok(())
    }

    /// Whether a thread can become active in a configuration and has not been.
    fn is_new(&self, id: usize, thread: usize) -> bool {
        self.visited[id] >> thread & 1 == 0
            && self.configurations.get(id as u32)[1 + thread] != NOWHERE
    }

    /// The next configuration, level after level.
    fn next(&mut self, level: &mut dyn FnMut(usize)) -> Next {
        if std::mem::take(&mut self.init) {
            return Next::From(0, 0);
        }
        loop {
            if !self.begun {
                if !self.all_kept() && self.level > self.capacity {
                    return Next::Over;
                }
                self.begun = true;
                self.thread = self.first();
                self.end = self.configurations.len();
                if self.restarts == 0 || self.done.is_none_or(|done| self.level > done) {
                    level(self.level);
                }
            }
            while self.thread < self.threads() {
                // In a round, threads see what those before them have done in it.
                if self.question.rounds {
                    self.end = self.configurations.len();
                }
                let thread = self.thread;
                while self.cursors[thread] < self.end {
                    let id = self.cursors[thread];
                    self.cursors[thread] += 1;
                    if !self.is_new(id, thread) {
                        continue;
                    }
                    self.visited[id] |= 1 << thread;
                    if self.is_last(thread) {
                        self.seed(Seed {
                            configuration: id as u32,
                            left: None,
                            thread: thread as u32,
                        });
                    } else if self.is_projected_new(id, thread) {
                        return Next::From(id as u32, thread);
                    }
                }
                self.thread += 1;
            }
            if !self.seeds.is_empty() && self.question.most == Some(self.level) {
                return Next::Last;
            }
            self.done = self.done.max(Some(self.level));
            if self.question.most == Some(self.level) {
                // Whether there would be more is not known.
                return Next::Answer(Finding::Nothing { exhaustive: false });
            }
            let mut threads = self.first()..self.threads();
            let more = threads.any(|thread| {
                let mut ids = self.cursors[thread]..self.configurations.len();
                ids.any(|id| self.is_new(id, thread))
            });
            if !more && !self.is_cut {
                return Next::Answer(Finding::Nothing {
                    exhaustive: self.all_kept(),
                });
            }
            self.level += 1;
            self.begun = false;
        }
    }

    /// Whether a context of the thread in this level is the last of its run.
    fn is_last(&self, thread: usize) -> bool {
        self.question.most == Some(self.level)
            && (!self.question.rounds || thread + 1 == self.threads())
    }

    /// Whether a configuration is new as far as it matters. In the last round, what threads do that
    /// have had their turns does not.
    fn is_projected_new(&mut self, id: usize, thread: usize) -> bool {
        if self.question.most != Some(self.level) {
            return true;
        }
        let mut configuration = *self.configurations.get(id as u32);
        configuration[1..=thread].fill(NOWHERE);
        self.projected.insert(configuration)
    }

    /// The last context of a run may begin here.
    fn seed(&mut self, seed: Seed) {
        let (stack, globals) = self.beginning(seed);
        let key = (seed.thread, stack, globals);
        if stack != NOWHERE
            && !self.contexts.contains_key(&key)
            && self.seeded.insert((stack, globals))
        {
            self.seeds.push(seed);
        }
    }

    /// The stacks of the thread that is active in the last context, and the globals.
    fn beginning(&self, seed: Seed) -> (u32, u32) {
        let configuration = self.configurations.get(seed.configuration);
        let stack = configuration[1 + seed.thread as usize];
        let Some((_, out)) = seed.left else {
            return (stack, configuration[0]);
        };
        let slot = seed
            .thread
            .wrapping_sub(self.question.declared.len() as u32);
        let mut starts = self.tables.starts.get(out.starts).iter();
        let started = starts.find(|start| start.0 == slot);
        (started.map_or(stack, |start| start.1), out.globals)
    }

    /// What becomes of a configuration when a thread has been active.
    fn after(&self, before: Configuration, thread: usize, out: Out) -> Configuration {
        let mut after = before;
        after[0] = out.globals;
        after[1 + thread] = out.stack;
        for &(slot, stack) in self.tables.starts.get(out.starts) {
            after[1 + self.question.declared.len() + slot as usize] = stack;
        }
        if self.begun && self.question.rounds && self.question.most == Some(self.level) {
            after[1..=1 + thread].fill(NOWHERE);
        }
        after
    }

    /// A thread has been active in a configuration.
    fn leave(&mut self, id: u32, thread: usize, outs: (u32, u32), left: &mut i64) -> Result<()> {
        *left -= i64::from(outs.1 - outs.0);
        let before = *self.configurations.get(id);
        let is_next_last = self.begun && self.question.most == Some(self.level + 1);
        if is_next_last && !self.question.rounds {
            self.leave_to_last(id, thread, outs);
            return Ok(());
        }
        for i in outs.0..outs.1 {
            let after = self.after(before, thread, self.outs[i as usize]);
            let (after, is_new) = self.configurations.intern(after)?;
            if is_new {
                self.parents.push((id, thread as u32));
                self.visited.push(0);
            }
            // From where it stopped it does what it would have done anyway.
            self.visited[after as usize] |= 1 << thread;
        }
        Ok(())
    }

    /// A thread has been active in a configuration, and one more context follows.
    fn leave_to_last(&mut self, id: u32, thread: usize, outs: (u32, u32)) {
        if outs.0 == outs.1 {
            return;
        }
        self.is_cut = true;
        for next in (self.first()..self.threads()).filter(|&next| next != thread) {
            let stack = self.configurations.get(id)[1 + next];
            if !self.pairs.insert((outs.0, next as u32, stack)) {
                continue;
            }
            for i in outs.0..outs.1 {
                self.seed(Seed {
                    configuration: id,
                    left: Some((thread as u32, self.outs[i as usize])),
                    thread: next as u32,
                });
            }
        }
    }

    /// The schedule of a run whose last context begins like this.
    fn schedule_of(&mut self, seed: Seed) -> Result<Schedule> {
        let Some((thread, out)) = seed.left else {
            return Ok(self.schedule(seed.configuration, seed.thread as usize));
        };
        let before = *self.configurations.get(seed.configuration);
        let after = self.after(before, thread as usize, out);
        let (after, is_new) = self.configurations.intern(after)?;
        if is_new {
            self.parents.push((seed.configuration, thread));
        }
        Ok(self.schedule(after, seed.thread as usize))
    }

    /// The schedule of a run in which the thread, from this configuration, meets the target.
    fn schedule(&self, id: u32, thread: usize) -> Schedule {
        let mut contexts = vec![(thread, id)];
        let mut at = id;
        loop {
            let (parent, thread) = self.parents[at as usize];
            if parent == NONE {
                break;
            }
            contexts.push((thread as usize, parent));
            at = parent;
        }
        contexts.reverse();
        let declared = self.question.declared.len();
        let mut active: Vec<usize> = contexts.iter().map(|(thread, _)| *thread).collect();
        active.retain(|&thread| thread >= declared);
        active.sort_unstable();
        active.dedup();
        let mut turns = Vec::new();
        for (context, &(thread, id)) in contexts.iter().enumerate() {
            let begin = self.configurations.get(id);
            let mut starts = Vec::new();
            if let Some(&(_, end)) = contexts.get(context + 1) {
                let end = self.configurations.get(end);
                for &started in active.iter().filter(|&&started| started != thread) {
                    if begin[1 + started] == NOWHERE && end[1 + started] != NOWHERE {
                        starts.push(self.start(end[1 + started]));
                    }
                }
            }
            let values = self.all.globals(self.tables.globals.get(begin[0]));
            let originals = (0..).zip(values).take(self.question.program.globals.len());
            let globals = originals.map(|(i, value)| {
                let is_wanted = context > 0 && self.prepared.shared.contains(&i);
                value.filter(|_| is_wanted)
            });
            let renumbered = active.iter().position(|&other| other == thread);
            turns.push(Turn {
                thread: renumbered.map_or(thread, |number| declared + number),
                globals: globals.collect(),
                starts,
            });
        }
        Schedule { turns, stop: None }
    }

    /// A thread that has been started and has not been active.
    fn start(&self, stack: u32) -> Start {
        let (_, frame) = self.tables.stacks.get(stack - 1);
        let start = match self.all.control(frame) {
            ThreadControl::At(node) => node,
            _ => NodeId(0),
        };
        let procedure = self.program().node(start).procedure;
        let types = self.program().procedure(procedure).locals.iter();
        let locals = types.zip(self.all.locals(frame));
        let locals = locals.map(|(variable, value)| value.unwrap_or(variable.ty.lo()));
        Start {
            start,
            locals: locals.collect(),
        }
    }
}

impl<W: Words + Send> Enumeration for Few<'_, W> {
    fn configurations(&self) -> u64 {
        self.configurations.len() as u64
    }

    fn done(&self) -> Option<usize> {
        self.done
    }

    fn go_on(&mut self, steps: u64, limits: &Limits, level: &mut dyn FnMut(usize)) -> Result<Pace> {
        let model = Unfolding::<W>::within(self.machine, limits);
        let mut guard: Guard = limits.guard();
        guard.check_now()?;
        let mut left = i64::try_from(steps).unwrap_or(i64::MAX);
        while left > 0 {
            if self.configurations.len() > MOST {
                return Ok(Pace::Over(Obstacle::Values));
            }
            if let Some(mut context) = self.current.take() {
                match self.explore(&mut context, &model, &mut guard, &mut left)? {
                    Explored::Folded if self.restarts < MOST_RESTARTS => {
                        self.restarts += 1;
                        self.begin()?;
                    }
                    Explored::Folded => return Ok(Pace::Over(Obstacle::Stacks)),
                    Explored::Hit(_) if !self.tables.folded.is_empty() => {
                        return Ok(Pace::Over(Obstacle::Stacks));
                    }
                    Explored::Hit(seed) => {
                        let schedule = self.schedule_of(seed)?;
                        return Ok(Pace::Answer(Finding::Hit(schedule, self.level)));
                    }
                    Explored::Over(obstacle) => return Ok(Pace::Over(obstacle)),
                    Explored::Paused => self.current = Some(context),
                    Explored::All if context.is_last() => {}
                    Explored::All => {
                        let (id, thread) = (context.configuration, context.thread);
                        self.aggregate(&mut context.outs)?;
                        let outs = (self.outs.len() as u32, context.outs.len() as u32);
                        let outs = (outs.0, outs.0 + outs.1);
                        self.outs.append(&mut context.outs);
                        self.contexts.insert(context.key, outs);
                        self.leave(id, thread, outs, &mut left)?;
                    }
                }
                continue;
            }
            match self.next(level) {
                Next::Answer(found) => return Ok(Pace::Answer(found)),
                Next::Over => return Ok(Pace::Over(Obstacle::Threads)),
                Next::Last => self.current = Some(self.enter_last(&model)?),
                Next::From(id, thread) => {
                    left -= 1;
                    let configuration = self.configurations.get(id);
                    let key = (thread as u32, configuration[1 + thread], configuration[0]);
                    match self.contexts.get(&key) {
                        Some(&outs) => self.leave(id, thread, outs, &mut left)?,
                        None => self.current = Some(self.enter(id, key, &model)?),
                    }
                }
            }
        }
        Ok(Pace::More)
    }
}
