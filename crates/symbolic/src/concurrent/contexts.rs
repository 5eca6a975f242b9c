//! One context after the other: the sets of tuples.
//!
//! This is the predicate *Reach* of La Torre, Madhusudan and Parlato (PLDI 2009, section 5.1), as
//! `concurrent` describes it. `seeds` makes the tuples with which a context begins, `park` collects
//! those with which it ends.
//!
//! What keeps it honest: `check/tests/concurrent.rs` compares this method alone with all
//! interleavings.

use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

use droste_base::{Counters, Limits, Progress};
use droste_bdd::{Bdd, Cube, Var};
use droste_blast::order::Kind;
use droste_program::effects::Effects;
use droste_program::liveness::AllLive;
use droste_program::quiet::{Accesses, interruptible};
use droste_program::{NodeId, Op, ProcId, Program, Threads, VarRef};
use droste_relations::{Action, Call, Compiler, Copy, Encoding, Relation, Result, Resumed};
use rustc_hash::{FxHashMap, FxHashSet};

use super::prepare::Prepared;
use super::{Answer, PreparedQuery};
use crate::Stats;
use crate::control::{callers, marked};

/// Which frame of a thread: the outermost, or one entered in some context.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(super) enum Frame {
    Outermost,
    Entered(usize),
}

/// A set of tuples is for a thread, a frame and a node.
pub(super) type Key = (usize, Frame, NodeId);

/// What is known about one context.
#[derive(Default)]
pub(super) struct Context {
    pub(super) reached: FxHashMap<Key, Bdd>,
    /// By thread, context of the entry, and procedure.
    pub(super) exits: FxHashMap<(usize, usize, ProcId), Bdd>,
    /// States in which a thread may be left, with the globals in the next context's copy.
    pub(super) parked: BTreeMap<Key, Bdd>,
}

enum Job {
    Expand(usize, Frame, NodeId),
    /// A call of an earlier or of this context, for which there may be new exits.
    Resume(usize, usize, Frame, NodeId),
}

pub(super) struct Search<'a, 'r> {
    pub(super) prepared: &'a Prepared,
    pub(super) encoding: Encoding<'a>,
    effects: Effects,
    pub(super) question: &'a PreparedQuery<'a>,
    report: &'r dyn Fn(Progress),
    capacity: usize,
    /// The most rounds, if rounds are bounded.
    pub(super) rounds: Option<usize>,
    pub(super) nothing: Bdd,
    relations: Vec<Option<Rc<Relation>>>,
    callers: Vec<Vec<NodeId>>,
    identities: Vec<Option<Bdd>>,
    is_target: Vec<bool>,
    /// By thread and node: whether the thread need be interrupted there.
    pub(super) interruptible: Vec<Vec<bool>>,
    pub(super) contexts: Vec<Context>,
    /// Tuples of the context being explored that have not been propagated.
    pending: FxHashMap<Key, Bdd>,
    /// Exits used by a call (context, thread, frame, node) in the context being explored.
    used: FxHashMap<(usize, Key), Bdd>,
    queue: VecDeque<Job>,
    queued: FxHashSet<(usize, Key, bool)>,
    /// Bits of the numbers of threads, per context.
    pub(super) thread_bits: Vec<Vec<Var>>,
    /// For each started thread, bits of the node it begins at.
    pub(super) start_bits: Vec<Vec<Var>>,
    /// All variables except those that never change.
    pub(super) state: Cube,
    /// With rounds: the sequences of threads so far, see `lengthen`.
    pub(super) sequences: BTreeMap<(usize, usize), Bdd>,
    images: u64,
    pub(super) threads: usize,
}

/// A tuple that meets a target: context, thread, set.
pub(super) struct Hit {
    pub(super) context: usize,
    pub(super) thread: usize,
    pub(super) set: Bdd,
}

impl<'a, 'r> Search<'a, 'r> {
    pub(super) fn new(
        prepared: &'a Prepared,
        question: &'a PreparedQuery<'a>,
        capacity: usize,
        rounds: Option<usize>,
        limits: &Limits,
        report: &'r dyn Fn(Progress),
    ) -> Result<Self> {
        let program = &prepared.program;
        // One copy more for `init`, and one for the globals after the last switch.
        let contexts = capacity + 3;
        let threads = question.declared.len() + prepared.slots;
        let width = (usize::BITS - threads.leading_zeros()) as usize;
        let start_width = (usize::BITS - prepared.starts.len().leading_zeros()) as usize;
        let first = contexts * width + prepared.slots * start_width;
        let encoding = Encoding::with_extra(program, limits, first as u32, |kind| match kind {
            Kind::Global => contexts as u32,
            Kind::Local => prepared.slots as u32,
            Kind::Result => 0,
        })?;
        let mut vars = (0..first as u32).map(Var);
        let mut take = |count: usize| -> Vec<Var> { vars.by_ref().take(count).collect() };
        let thread_bits = (0..contexts).map(|_| take(width)).collect();
        let start_bits = (0..prepared.slots).map(|_| take(start_width)).collect();
        let nothing = encoding.manager.constant(false);
        let mut state = encoding.entries.vars();
        state.extend(encoding.current_locals.vars());
        for i in 0..program.globals.len() as u32 {
            state.extend(encoding.vars(program.main, VarRef::Global(i), Copy::Current));
        }
        // Whether a thread may be interrupted has to be known everywhere.
        let mut always = prepared.shared.clone();
        always.extend(prepared.atomic);
        let accesses = Accesses::new(question.program, &prepared.roots(question.declared));
        Ok(Search {
            effects: Effects::new(program).with(&always),
            relations: vec![None; program.nodes.len()],
            identities: vec![None; program.procedures.len()],
            state: encoding.manager.cube(&state)?,
            prepared,
            encoding,
            question,
            report,
            capacity,
            rounds,
            nothing,
            callers: callers(program),
            is_target: marked(program, question.query.targets),
            interruptible: (0..threads)
                .map(|thread| interruptible(question.program, &accesses, thread))
                .collect(),
            contexts: Vec::new(),
            pending: FxHashMap::default(),
            used: FxHashMap::default(),
            queue: VecDeque::new(),
            queued: FxHashSet::default(),
            thread_bits,
            start_bits,
            sequences: BTreeMap::new(),
            images: 0,
            threads,
        })
    }

    pub(super) fn program(&self) -> &'a Program {
        &self.prepared.program
    }

    pub(super) fn has_init(&self) -> bool {
        matches!(self.program().threads, Threads::Init { .. })
    }

    pub(super) fn count(&self, stats: &mut Stats) {
        stats.images += self.images;
        let manager = &self.encoding.manager;
        stats.variables = stats.variables.max(u64::from(manager.var_count()));
        stats.peak_nodes = stats.peak_nodes.max(manager.peak_nodes() as u64);
        stats.bytes = stats.bytes.max(manager.memory_bytes() as u64);
        let nodes: FxHashSet<NodeId> = self
            .contexts
            .iter()
            .flat_map(|c| c.reached.keys().map(|key| key.2))
            .collect();
        stats.nodes_reached = stats.nodes_reached.max(nodes.len() as u64);
    }

    /// Context after context.
    pub(super) fn run(
        &mut self,
        most: Option<usize>,
        level: &dyn Fn(usize),
        done: &mut Option<usize>,
    ) -> Result<Answer> {
        // The change from `init` to the first thread is no switch.
        let init = usize::from(self.has_init());
        for context in 0usize.. {
            let switches = context.checked_sub(init);
            if self.rounds.is_none() {
                if let (Some(switches), Some(most)) = (switches, most)
                    && switches > most
                {
                    return Ok(Answer::Exhausted);
                }
                if let Some(switches) = switches
                    && done.is_none_or(|done| switches > done)
                {
                    level(switches);
                }
            }
            if context > self.capacity + init {
                return Ok(Answer::Capacity);
            }
            let (seeds, any) = self.seeds(context)?;
            if !any {
                return Ok(Answer::Exhausted);
            }
            self.contexts.push(Context::default());
            self.pending.clear();
            self.used.clear();
            for (key, set) in seeds {
                if let Some(hit) = self.add(key, &set)? {
                    return Ok(self.answer(&hit, init));
                }
            }
            // Callers of earlier contexts have new exits to wait for; they are woken by them.
            while let Some(job) = self.queue.pop_front() {
                let hit = match job {
                    Job::Expand(thread, frame, node) => {
                        self.queued.remove(&(context, (thread, frame, node), false));
                        self.expand((thread, frame, node))?
                    }
                    Job::Resume(from, thread, frame, node) => {
                        self.queued.remove(&(from, (thread, frame, node), true));
                        self.resume(from, (thread, frame, node))?
                    }
                };
                if let Some(hit) = hit {
                    return Ok(self.answer(&hit, init));
                }
            }
            self.park(context)?;
            if let Some(rounds) = self.rounds
                && context >= init
            {
                self.lengthen(context, rounds)?;
            }
            if self.rounds.is_none()
                && let Some(switches) = switches
            {
                *done = Some(done.map_or(switches, |done| done.max(switches)));
            }
        }
        unreachable!("contexts are bounded")
    }

    pub(super) fn relation(&mut self, node: NodeId) -> Result<Rc<Relation>> {
        if let Some(relation) = &self.relations[node.0 as usize] {
            return Ok(Rc::clone(relation));
        }
        let relation = Compiler {
            stops: false,
            encoding: &mut self.encoding,
            effects: &self.effects,
            violations: self.question.query.violations,
            live: &AllLive,
        }
        .relation(node)?;
        let relation = Rc::new(relation);
        self.relations[node.0 as usize] = Some(Rc::clone(&relation));
        Ok(relation)
    }

    fn enqueue(&mut self, from: usize, key: Key, is_return: bool) {
        if self.queued.insert((from, key, is_return)) {
            let (thread, frame, node) = key;
            self.queue.push_back(if is_return {
                Job::Resume(from, thread, frame, node)
            } else {
                Job::Expand(thread, frame, node)
            });
        }
    }

    pub(super) fn now(&self) -> usize {
        self.contexts.len() - 1
    }

    fn hit(&self, thread: usize, set: &Bdd) -> Hit {
        Hit {
            context: self.now(),
            thread,
            set: set.clone(),
        }
    }

    fn add(&mut self, key: Key, set: &Bdd) -> Result<Option<Hit>> {
        if set.is_false() {
            return Ok(None);
        }
        if self.is_target[key.2.0 as usize] {
            return Ok(Some(self.hit(key.0, set)));
        }
        let pending = self
            .pending
            .entry(key)
            .or_insert_with(|| self.nothing.clone());
        *pending = pending.or(set)?;
        let now = self.now();
        self.enqueue(now, key, false);
        Ok(None)
    }

    fn expand(&mut self, key: Key) -> Result<Option<Hit>> {
        let (thread, frame, node) = key;
        let now = self.now();
        let Some(pending) = self.pending.remove(&key) else {
            return Ok(None);
        };
        let nothing = self.nothing.clone();
        let reached = self.contexts[now].reached.entry(key).or_insert(nothing);
        let new = pending.minus(reached)?;
        if new.is_false() {
            return Ok(None);
        }
        *reached = reached.or(&new)?;
        self.housekeeping();
        if let Threads::Init { end_init, .. } = self.program().threads
            && thread == 0
            && node == end_init
        {
            return Ok(None); // `init` hands over here.
        }
        let relation = self.relation(node)?;
        for (_, failure) in &relation.failures {
            let failed = new.and(failure)?;
            if !failed.is_false() {
                return Ok(Some(self.hit(thread, &failed)));
            }
        }
        match &relation.action {
            Action::Steps(edges) => {
                let mut sets = vec![new.clone()];
                if let Op::StartThread { start, .. } = self.program().node(node).op {
                    sets.extend(self.started(&new, node, start)?);
                }
                for set in sets {
                    for edge in edges {
                        self.images += 1;
                        let image = edge.image(&set)?;
                        if let Some(hit) = self.add((thread, frame, edge.to), &image)? {
                            return Ok(Some(hit));
                        }
                    }
                }
            }
            Action::Call(call) => {
                self.images += 1;
                let callers = call.prepare(&new)?;
                let entry = call.entries(&self.encoding, &callers)?;
                let pairs = entry.and(&self.identity(call.callee)?)?;
                let first = self.program().procedure(call.callee).entry;
                if let Some(hit) = self.add((thread, Frame::Entered(now), first), &pairs)? {
                    return Ok(Some(hit));
                }
                let exits = self.contexts[now]
                    .exits
                    .get(&(thread, now, call.callee))
                    .cloned();
                let used = self.used.get(&(now, key)).cloned();
                if exits != used {
                    self.enqueue(now, key, true);
                }
                if let Some(used) = used {
                    return self.join(call, key, &callers, &used);
                }
            }
            Action::Return(parts) => {
                let Frame::Entered(entered) = frame else {
                    return Ok(None); // The thread has ended.
                };
                self.images += 1;
                let procedure = self.program().node(node).procedure;
                let mut exits = new.clone();
                for part in parts {
                    exits = exits.and(part)?;
                }
                let exits = exits.exists(&self.encoding.current_locals)?;
                let nothing = self.nothing.clone();
                let known = self.contexts[now]
                    .exits
                    .entry((thread, entered, procedure))
                    .or_insert(nothing);
                let new = exits.minus(known)?;
                if !new.is_false() {
                    *known = known.or(&new)?;
                    // Callers are those of the context of the entry.
                    for caller in self.callers[procedure.0 as usize].clone() {
                        let keys: Vec<Key> = self.contexts[entered]
                            .reached
                            .keys()
                            .filter(|key| key.0 == thread && key.2 == caller)
                            .copied()
                            .collect();
                        for key in keys {
                            self.enqueue(entered, key, true);
                        }
                    }
                }
            }
        }
        Ok(None)
    }

    /// New exits for a call that was made in context `from`.
    fn resume(&mut self, from: usize, key: Key) -> Result<Option<Hit>> {
        let now = self.now();
        let relation = self.relation(key.2)?;
        let Action::Call(call) = &relation.action else {
            return Ok(None);
        };
        let Some(exits) = self.contexts[now]
            .exits
            .get(&(key.0, from, call.callee))
            .cloned()
        else {
            return Ok(None);
        };
        let used = self.used.insert((from, key), exits.clone());
        let new = match used {
            Some(used) => exits.minus(&used)?,
            None => exits,
        };
        let Some(reached) = self.contexts[from].reached.get(&key).cloned() else {
            return Ok(None);
        };
        let callers = call.prepare(&reached)?;
        self.join(call, key, &callers, &new)
    }

    /// Callers (with arguments) that go on with these exits, in the context being explored.
    fn join(&mut self, call: &Call, key: Key, callers: &Bdd, exits: &Bdd) -> Result<Option<Hit>> {
        if exits.is_false() || callers.is_false() {
            return Ok(None);
        }
        self.images += 1;
        let after = match call.resume(&self.encoding, callers, exits)? {
            Resumed::Fails { failing, .. } => return Ok(Some(self.hit(key.0, &failing))),
            Resumed::At(after) => after,
        };
        self.add((key.0, key.1, call.back.to), &after)
    }

    /// At the entry: current values are entry values; the locals have any.
    pub(super) fn identity(&mut self, procedure: ProcId) -> Result<Bdd> {
        if let Some(identity) = &self.identities[procedure.0 as usize] {
            return Ok(identity.clone());
        }
        let manager = self.encoding.manager.clone();
        let mut identity = manager.constant(true);
        let params = self.program().procedure(procedure).params;
        let globals = (0..self.program().globals.len() as u32)
            .filter(|&i| self.effects.touches(procedure, i))
            .map(VarRef::Global);
        let vars: Vec<VarRef> = globals.chain((0..params).map(VarRef::Local)).collect();
        for var in vars {
            let entry = self.encoding.vars(procedure, var, Copy::Entry);
            let pairs = entry.zip(self.encoding.vars(procedure, var, Copy::Current));
            for (entry, current) in pairs {
                let same = manager.var(entry)?.iff(&manager.var(current)?)?;
                identity = identity.and(&same)?;
            }
        }
        let locals = self.program().procedure(procedure).locals.len() as u32;
        for i in params..locals {
            let valid = self
                .encoding
                .in_range(procedure, VarRef::Local(i), Copy::Current)?;
            identity = identity.and(&valid)?;
        }
        self.identities[procedure.0 as usize] = Some(identity.clone());
        Ok(identity)
    }

    fn housekeeping(&self) {
        if self.images.is_multiple_of(64) {
            (self.report)(Progress {
                phase: "context",
                counters: Counters::Symbolic {
                    images: self.images,
                    nodes: self.encoding.manager.node_count() as u64,
                },
            });
        }
    }
}
