//! One context after the other: the sets of tuples.

use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

use droste_base::{Limits, Progress, Units};
use droste_bdd::{Bdd, Cube, Renaming, Var};
use droste_blast::order::Kind;
use droste_lang::effects::Effects;
use droste_lang::program::{NodeId, Op, ProcId, Program, Threads, VarRef};
use rustc_hash::{FxHashMap, FxHashSet};

use super::prepare::Prepared;
use super::{Answer, Question};
use crate::Stats;
use crate::encode::{Copy, Encoding, Result};
use crate::relation::{Action, Call, Compiler, Relation};

/// Which frame of a thread: the outermost, or one entered in some context.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
enum Frame {
    Outermost,
    Entered(usize),
}

/// A set of tuples is for a thread, a frame and a node.
type Key = (usize, Frame, NodeId);

/// What is known about one context.
#[derive(Default)]
struct Context {
    reached: FxHashMap<Key, Bdd>,
    /// By thread, context of the entry, and procedure.
    exits: FxHashMap<(usize, usize, ProcId), Bdd>,
    /// States in which a thread may be left, with the globals in the next context's copy.
    parked: BTreeMap<Key, Bdd>,
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
    pub(super) question: &'a Question<'a>,
    report: &'r dyn Fn(Progress),
    capacity: usize,
    /// At most so many rounds.
    pub(super) rounds: Option<usize>,
    nothing: Bdd,
    relations: Vec<Option<Rc<Relation>>>,
    callers: Vec<Vec<NodeId>>,
    identities: Vec<Option<Bdd>>,
    is_target: Vec<bool>,
    contexts: Vec<Context>,
    /// Of the context being explored.
    pending: FxHashMap<Key, Bdd>,
    /// Exits used by a call (context, thread, frame, node) in the context being explored.
    used: FxHashMap<(usize, Key), Bdd>,
    queue: VecDeque<Job>,
    queued: FxHashSet<(usize, Key, bool)>,
    /// Bits of the numbers of threads, per context.
    pub(super) thread_bits: Vec<Vec<Var>>,
    /// For each started thread, bits of the node it begins at.
    pub(super) start_bits: Vec<Vec<Var>>,
    /// Everything but what never changes.
    state: Cube,
    /// Of threads so far, with rounds: see `lengthen`.
    sequences: BTreeMap<(usize, usize), Bdd>,
    images: u64,
    threads: usize,
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
        question: &'a Question<'a>,
        capacity: usize,
        rounds: Option<usize>,
        limits: &Limits,
        report: &'r dyn Fn(Progress),
    ) -> Result<Self> {
        let program = &prepared.program;
        // One for `init`, one for the globals after the last.
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
        let mut is_target = vec![false; program.nodes.len()];
        for node in question.query.targets {
            is_target[node.0 as usize] = true;
        }
        let mut callers = vec![Vec::new(); program.procedures.len()];
        for (i, node) in program.nodes.iter().enumerate() {
            if let Op::Call { callee, .. } = node.op {
                callers[callee.0 as usize].push(NodeId(i as u32));
            }
        }
        let mut state = encoding.entries.vars();
        state.extend(encoding.current_locals.vars());
        for i in 0..program.globals.len() as u32 {
            state.extend(encoding.vars(program.main, VarRef::Global(i), Copy::Current));
        }
        // Whether a thread may be interrupted has to be known everywhere.
        let mut always = prepared.shared.clone();
        always.extend(prepared.atomic);
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
            callers,
            is_target,
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

    fn has_init(&self) -> bool {
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

    /// The number of the thread in context `context` is `thread`.
    fn thread_is(&self, context: usize, thread: usize) -> Result<Bdd> {
        let bits = self.thread_bits[context].iter().enumerate();
        self.encoding
            .manager
            .minterm(bits.map(|(k, &var)| (var, thread >> k & 1 != 0)))
    }

    /// The current values of the shared globals are those at the beginning of `context`.
    fn globals_are(&self, context: usize) -> Result<Bdd> {
        let manager = &self.encoding.manager;
        let mut all = manager.constant(true);
        for &i in &self.prepared.shared {
            let var = VarRef::Global(i);
            let current = self.encoding.vars(self.program().main, var, Copy::Current);
            let copy = self.encoding.extra(self.program().main, var, context);
            for (current, copy) in current.zip(copy) {
                all = all.and(&manager.var(current)?.iff(&manager.var(copy)?)?)?;
            }
        }
        Ok(all)
    }

    /// A global of any type has this code.
    fn current_is(&self, global: u32, code: u64) -> Result<Bdd> {
        let vars = self
            .encoding
            .vars(self.program().main, VarRef::Global(global), Copy::Current);
        let literals: Vec<(Var, bool)> = vars
            .enumerate()
            .map(|(k, var)| (var, code >> k & 1 != 0))
            .collect();
        self.encoding.manager.minterm(literals)
    }

    /// What the threads begin the context with; and whether there is anything.
    fn seeds(&mut self, context: usize) -> Result<(Vec<(Key, Bdd)>, bool)> {
        let mut seeds = Vec::new();
        let mut any = false;
        let not_init = usize::from(self.has_init());
        if context == 0 {
            let threads = match self.program().threads {
                Threads::Sections(_) => self.question.declared.len(),
                _ => 1,
            };
            for thread in 0..threads {
                let mut set = self.encoding.manager.constant(true);
                if let Some(started) = self.prepared.started {
                    set = set.and(&self.current_is(started, 0)?)?;
                }
                seeds.extend(self.beginning(thread, &set)?);
            }
            return Ok((seeds, true));
        }
        // Everything that can be interrupted or has ended before.
        let mut before = self.nothing.clone();
        let parked = std::mem::take(&mut self.contexts[context - 1].parked);
        for ((thread, _, _), set) in &parked {
            let set = set.exists(&self.state)?;
            let by = self.thread_is(context - 1, *thread)?;
            before = before.or(&set.and(&by)?)?;
        }
        self.contexts[context - 1].parked = parked;
        for thread in not_init..self.threads {
            let mut here = before.minus(&self.thread_is(context - 1, thread)?)?;
            if let Some(rounds) = self.rounds
                && context > not_init
            {
                here = here.and(&self.in_rounds(thread, rounds)?)?;
            }
            if here.is_false() {
                continue;
            }
            any = true;
            let now = here.and(&self.globals_are(context)?)?;
            // For the first time.
            let mut first = now.clone();
            for earlier in 0..context {
                first = first.minus(&self.thread_is(earlier, thread)?)?;
            }
            if !first.is_false() {
                seeds.extend(self.beginning(thread, &first)?);
            }
            // Back to where it was.
            for last in (not_init..context).rev() {
                let mut again = now.and(&self.thread_is(last, thread)?)?;
                for between in last + 1..context {
                    again = again.minus(&self.thread_is(between, thread)?)?;
                }
                if again.is_false() {
                    continue;
                }
                let parked: Vec<(Key, Bdd)> = self.contexts[last]
                    .parked
                    .iter()
                    .filter(|((by, _, node), _)| *by == thread && node.0 != ENDED)
                    .map(|(key, set)| (*key, set.clone()))
                    .collect();
                for (key, set) in parked {
                    let set = set.and(&again)?;
                    if !set.is_false() {
                        seeds.push((key, set));
                    }
                }
            }
        }
        Ok((seeds, any))
    }

    /// The threads before `context` and this one make no more rounds than allowed.
    fn in_rounds(&self, thread: usize, rounds: usize) -> Result<Bdd> {
        let mut all = self.nothing.clone();
        for (&(last, round), set) in &self.sequences {
            if round + usize::from(thread <= last) <= rounds {
                all = all.or(set)?;
            }
        }
        Ok(all)
    }

    /// The sequences of threads up to and including `context`, by the last thread and the number of rounds.
    fn lengthen(&mut self, context: usize, rounds: usize) -> Result<()> {
        let init = usize::from(self.has_init());
        let mut longer: BTreeMap<(usize, usize), Bdd> = BTreeMap::new();
        for next in init..self.threads {
            let is_next = self.thread_is(context, next)?;
            if context == init {
                longer.insert((next, 1), is_next);
                continue;
            }
            for (&(last, round), set) in &self.sequences {
                let round = round + usize::from(next <= last);
                if round <= rounds {
                    let known = longer
                        .entry((next, round))
                        .or_insert_with(|| self.nothing.clone());
                    *known = known.or(&set.and(&is_next)?)?;
                }
            }
        }
        self.sequences = longer;
        Ok(())
    }

    /// The first states of a thread, for each place it can begin at.
    fn beginning(&mut self, thread: usize, set: &Bdd) -> Result<Vec<(Key, Bdd)>> {
        let declared = self.question.declared.len();
        let mut set = set.clone();
        if let Some(atomic) = self.prepared.atomic {
            set = set.and(&self.current_is(atomic, 0)?)?;
        }
        if thread < declared {
            let procedure = self.question.declared[thread];
            let set = self.any_rest(procedure, &set, true)?;
            let entry = self.program().procedure(procedure).entry;
            return Ok(vec![((thread, Frame::Outermost, entry), set)]);
        }
        let slot = thread - declared;
        let Some(started) = self.prepared.started else {
            return Ok(Vec::new());
        };
        // It has been started.
        let mut enough = self.nothing.clone();
        for count in slot + 1..=self.prepared.slots {
            enough = enough.or(&self.current_is(started, count as u64)?)?;
        }
        let set = set.and(&enough)?;
        if set.is_false() {
            return Ok(Vec::new());
        }
        let mut seeds = Vec::new();
        for (index, &start) in self.prepared.starts.iter().enumerate() {
            let procedure = self.program().node(start).procedure;
            let set = set.and(&self.starts_at(slot, index)?)?;
            let set = set.and(&self.frame_is(slot, procedure)?)?;
            let set = self.any_rest(procedure, &set, false)?;
            if !set.is_false() {
                seeds.push(((thread, Frame::Outermost, start), set));
            }
        }
        Ok(seeds)
    }

    /// Started thread `slot` begins at the start with this index.
    fn starts_at(&self, slot: usize, index: usize) -> Result<Bdd> {
        let bits = self.start_bits[slot].iter().enumerate();
        self.encoding
            .manager
            .minterm(bits.map(|(k, &var)| (var, index >> k & 1 != 0)))
    }

    /// The locals of the procedure are those of the frame that started thread `slot` begins with.
    fn frame_is(&self, slot: usize, procedure: ProcId) -> Result<Bdd> {
        let manager = &self.encoding.manager;
        let mut all = manager.constant(true);
        for i in 0..self.program().procedure(procedure).locals.len() as u32 {
            let var = VarRef::Local(i);
            let current = self.encoding.vars(procedure, var, Copy::Current);
            for (current, copy) in current.zip(self.encoding.extra(procedure, var, slot)) {
                all = all.and(&manager.var(current)?.iff(&manager.var(copy)?)?)?;
            }
        }
        Ok(all)
    }

    /// Everything else has some value of its type.
    fn any_rest(&mut self, procedure: ProcId, set: &Bdd, locals: bool) -> Result<Bdd> {
        let mut set = set.clone();
        let globals = (0..self.program().globals.len() as u32).map(VarRef::Global);
        let count = self.program().procedure(procedure).locals.len() as u32;
        let locals = (0..if locals { count } else { 0 }).map(VarRef::Local);
        for var in globals.chain(locals) {
            let valid = self.encoding.in_range(procedure, var, Copy::Current)?;
            set = set.and(&valid)?;
        }
        Ok(set)
    }

    fn relation(&mut self, node: NodeId) -> Result<Rc<Relation>> {
        if let Some(relation) = &self.relations[node.0 as usize] {
            return Ok(Rc::clone(relation));
        }
        let relation = Compiler {
            encoding: &mut self.encoding,
            effects: &self.effects,
            violations: self.question.query.violations,
            live_at_entry: &|_, _| true,
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

    fn now(&self) -> usize {
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
                let entry = callers
                    .exists(&call.not_entry)?
                    .rename(&self.encoding.enter)?;
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
        let exits = exits.rename(&self.encoding.leave)?;
        let joined = call.back.join(callers, &exits)?;
        for (_, failure) in &call.back.failures {
            let failed = joined.and(failure)?;
            if !failed.is_false() {
                return Ok(Some(self.hit(key.0, &failed)));
            }
        }
        let after = call.back.finish(&joined)?;
        self.add((key.0, key.1, call.back.to), &after)
    }

    /// At the entry: current values are entry values; the locals have any.
    fn identity(&mut self, procedure: ProcId) -> Result<Bdd> {
        if let Some(identity) = &self.identities[procedure.0 as usize] {
            return Ok(identity.clone());
        }
        let manager = self.encoding.manager.clone();
        let mut identity = manager.constant(true);
        let params = self.program().procedure(procedure).params;
        let globals = (0..self.program().globals.len() as u32)
            .filter(|&i| self.effects.touches(procedure.0, i))
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

    /// The states after starting a thread that will be active, one set for each number it may have.
    fn started(&mut self, set: &Bdd, node: NodeId, start: NodeId) -> Result<Vec<Bdd>> {
        let Some(started) = self.prepared.started else {
            return Ok(Vec::new());
        };
        let procedure = self.program().node(node).procedure;
        let index = self
            .prepared
            .starts
            .iter()
            .position(|&s| s == start)
            .unwrap_or(0);
        let bits: Vec<Var> = self
            .encoding
            .vars(procedure, VarRef::Global(started), Copy::Current)
            .collect();
        let cube = self.encoding.manager.cube(&bits)?;
        let mut sets = Vec::new();
        for slot in 0..self.prepared.slots {
            let before = set.and_exists(&self.current_is(started, slot as u64)?, &cube)?;
            if before.is_false() {
                continue;
            }
            let after = before
                .and(&self.current_is(started, slot as u64 + 1)?)?
                .and(&self.starts_at(slot, index)?)?
                .and(&self.frame_is(slot, procedure)?)?;
            sets.push(after);
        }
        Ok(sets)
    }

    /// Where the threads can be interrupted at the end of the context.
    fn park(&mut self, context: usize) -> Result<()> {
        let program = self.program();
        let manager = self.encoding.manager.clone();
        let mut pairs = Vec::new();
        for &i in &self.prepared.shared {
            let var = VarRef::Global(i);
            let current = self.encoding.vars(program.main, var, Copy::Current);
            pairs.extend(current.zip(self.encoding.extra(program.main, var, context + 1)));
        }
        let away: Renaming = manager.renaming(&pairs);
        let is_init = context == 0 && self.has_init();
        let calm = match self.prepared.atomic {
            // `init` is not disturbed whatever it does.
            Some(atomic) if !is_init => Some(self.current_is(atomic, 0)?),
            _ => None,
        };
        let keys: Vec<Key> = self.contexts[context].reached.keys().copied().collect();
        for key in keys {
            let (thread, frame, node) = key;
            let set = self.contexts[context].reached[&key].clone();
            if is_init {
                if let Threads::Init { end_init, .. } = program.threads
                    && node != end_init
                {
                    continue;
                }
            } else if self.ends(frame, node) {
                // An atomic section ends with its thread.
                let ended = match &self.relation(node)?.action {
                    Action::Return(parts) => {
                        let mut set = set.clone();
                        for part in parts {
                            set = set.and(part)?;
                        }
                        set.exists(&self.result_cube()?)?
                    }
                    _ => set.clone(),
                };
                let ended = ended.rename(&away)?.exists(&self.state)?;
                let known = self.contexts[context]
                    .parked
                    .entry((thread, Frame::Outermost, NodeId(ENDED)))
                    .or_insert_with(|| self.nothing.clone());
                *known = known.or(&ended)?;
            }
            let mut set = set;
            if let Some(calm) = &calm {
                set = set.and(calm)?;
            }
            if set.is_false() {
                continue;
            }
            let set = set.rename(&away)?;
            self.contexts[context].parked.insert(key, set);
        }
        Ok(())
    }

    fn result_cube(&self) -> Result<Cube> {
        let program = self.program();
        let procedures = program.procedures.iter().enumerate();
        let vars: Vec<Var> = procedures
            .flat_map(|(p, procedure)| {
                (0..procedure.results.len())
                    .flat_map(move |i| self.encoding.result_vars(ProcId(p as u32), i))
            })
            .collect();
        self.encoding.manager.cube(&vars)
    }

    /// Whether the thread can end by executing the node.
    fn ends(&self, frame: Frame, node: NodeId) -> bool {
        match self.program().node(node).op {
            Op::EndThread => true,
            Op::Return(_) => frame == Frame::Outermost,
            _ => false,
        }
    }

    fn housekeeping(&self) {
        if self.images.is_multiple_of(64) {
            (self.report)(Progress {
                phase: "context",
                units: Units::Images,
                contexts: self.images,
                states: self.encoding.manager.node_count() as u64,
                waiting: self.queue.len() as u64,
            });
        }
    }
}

/// Stands for the end of a thread among the nodes.
const ENDED: u32 = u32::MAX;
