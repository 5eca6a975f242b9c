//! The fixed point: sets of pairs (entry, now) for all nodes, summaries for all procedures.
//!
//! The fixed point is computed with a work list of nodes. Callees come before their callers (along
//! the components of the call graph), and within a procedure nodes are in reverse postorder, so
//! that both branches of a conditional are known before what follows it. Only what is new at a node
//! is propagated. (La Torre, Madhusudan and Parlato, PLDI 2009, section 4.2.)
//!
//! What keeps it honest: every label of random programs is compared with the oracle
//! (`check/tests/engines.rs`).

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::{Duration, Instant};

use droste_base::{Counters, Limits, Progress};
use droste_bdd::{Bdd, Cube, Sifter, Var};
use droste_blast::encode;
use droste_program::liveness::Liveness;
use droste_program::{NodeId, ProcId, Program, Value, VarRef};
use droste_relations::{Action, Call, Copy, Encoding, Relation, Result, Resumed, Scope};
use rustc_hash::FxHashMap;

use crate::control::{callers, marked, ranks, stored};
use crate::trace::layers::{Goal, Log};
use crate::{Query, Stats, Tuning};

pub(crate) struct Search<'a> {
    pub(crate) program: &'a Program,
    pub(crate) encoding: Encoding<'a>,
    pub(crate) scope: Scope<'a>,
    pub(crate) query: Query<'a>,
    report: &'a dyn Fn(Progress),
    pub(crate) nothing: Bdd,
    /// Per node.
    relations: Vec<Option<std::rc::Rc<Relation>>>,
    /// What is forgotten at each node, once known.
    dead: Vec<Option<Cube>>,
    is_target: Vec<bool>,
    /// Targets that are met with some values only.
    wanted: FxHashMap<NodeId, Bdd>,
    /// Per node: pairs found, and those of them not yet propagated.
    pub(crate) reached: Vec<Bdd>,
    pending: Vec<Bdd>,
    /// Whether the pairs found at a node are kept. Inside a basic block they are not: what is new
    /// at its beginning is new enough, and the sets of a long block would be many.
    is_stored: Vec<bool>,
    visited: Vec<bool>,
    /// Per procedure, over the entry copies.
    entries: Vec<Bdd>,
    /// Per procedure: entry, current globals, results.
    pub(crate) exits: Vec<Bdd>,
    /// Per procedure, if runs that get stuck are looked for: entry, current globals, and the
    /// description of its results (see `stuck.rs`).
    leaves: Vec<Bdd>,
    /// Per call: the exits already used.
    used: Vec<Bdd>,
    /// Per procedure: the calls of it.
    pub(crate) callers: Vec<Vec<NodeId>>,
    predecessors: Vec<Vec<NodeId>>,
    rank: Vec<u32>,
    queue: BinaryHeap<Reverse<(u32, u32, bool)>>,
    queued: Vec<[bool; 2]>,
    identities: Vec<Option<Bdd>>,
    pub(crate) images: u64,
    sifter: Sifter,
    /// What was found when, if that is wanted.
    pub(crate) log: Option<Log>,
    /// The time of the job at hand. The next job comes two later; what this one finds on the way
    /// comes one later.
    time: u64,
    next_report: Instant,
}

impl<'a> Search<'a> {
    pub(crate) fn new(
        program: &'a Program,
        live: &'a dyn Liveness,
        query: Query<'a>,
        tuning: Tuning,
        limits: &Limits,
        report: &'a dyn Fn(Progress),
    ) -> Result<Self> {
        let encoding = Encoding::new(program, limits)?;
        let nothing = encoding.manager.constant(false);
        let nodes = program.nodes.len();
        let procedures = program.procedures.len();
        Ok(Search {
            program,
            scope: Scope::new(program, live, query.stops),
            query,
            report,
            relations: vec![None; nodes],
            dead: vec![None; nodes],
            is_target: if query.stops {
                vec![false; nodes]
            } else {
                marked(program, query.targets)
            },
            wanted: FxHashMap::default(),
            reached: vec![nothing.clone(); nodes],
            pending: vec![nothing.clone(); nodes],
            is_stored: stored(program),
            visited: vec![false; nodes],
            entries: vec![nothing.clone(); procedures],
            exits: vec![nothing.clone(); procedures],
            leaves: vec![nothing.clone(); procedures],
            used: vec![nothing.clone(); nodes],
            callers: callers(program),
            predecessors: Vec::new(),
            rank: ranks(program),
            queue: BinaryHeap::new(),
            queued: vec![[false; 2]; nodes],
            identities: vec![None; procedures],
            images: 0,
            sifter: Sifter::new(tuning.sift_from),
            log: None,
            time: 0,
            next_report: Instant::now() + Duration::from_millis(200),
            nothing,
            encoding,
        })
    }

    /// Whether all pairs found at the node are kept.
    pub(crate) fn is_stored(&self, node: NodeId) -> bool {
        self.is_stored[node.0 as usize]
    }

    /// Makes the node a target where variables have these values.
    pub(crate) fn want(&mut self, node: NodeId, values: &[(VarRef, Value)]) -> Result<()> {
        let procedure = self.program.node(node).procedure;
        let mut literals = Vec::new();
        for &(var, value) in values {
            let code = encode(self.program.variable(procedure, var).ty, value);
            let bits = self.encoding.vars(procedure, var, Copy::Current);
            literals.extend(bits.enumerate().map(|(k, bit)| (bit, code >> k & 1 == 1)));
        }
        let values = self.encoding.manager.minterm(literals)?;
        self.wanted.insert(node, values);
        Ok(())
    }

    /// Whether control at the node, with one of these pairs, is what is looked for.
    pub(crate) fn meets(&self, node: NodeId, set: &Bdd) -> Result<Option<Goal>> {
        if self.is_target[node.0 as usize] {
            return Ok(Some(Goal::At(node, set.clone())));
        }
        let Some(values) = self.wanted.get(&node) else {
            return Ok(None);
        };
        let met = set.and(values)?;
        Ok((!met.is_false()).then_some(Goal::At(node, met)))
    }

    /// What the node does.
    pub(crate) fn relation(&mut self, node: NodeId) -> Result<std::rc::Rc<Relation>> {
        if let Some(relation) = &self.relations[node.0 as usize] {
            return Ok(std::rc::Rc::clone(relation));
        }
        let stops = self.query.stops_at(self.program, node);
        let violations = self.query.violations;
        let relation = self
            .scope
            .compiler(&mut self.encoding, violations, stops)
            .relation(node)?;
        let relation = std::rc::Rc::new(relation);
        self.relations[node.0 as usize] = Some(std::rc::Rc::clone(&relation));
        Ok(relation)
    }

    /// Forgets the values that do not matter at the node.
    pub(crate) fn arrive(&mut self, node: NodeId, set: &Bdd) -> Result<Bdd> {
        if self.dead[node.0 as usize].is_none() {
            let procedure = self.program.node(node).procedure;
            let vars = self.scope.vars(procedure);
            let bits: Vec<Var> = vars
                .filter(|&var| !self.scope.keeps(node, var))
                .flat_map(|var| self.encoding.vars(procedure, var, Copy::Current))
                .collect();
            self.dead[node.0 as usize] = Some(self.encoding.manager.cube(&bits)?);
        }
        match &self.dead[node.0 as usize] {
            Some(cube) => set.exists(cube),
            None => Ok(set.clone()),
        }
    }

    /// At the entry: current values are entry values, and what is not passed on has any value of
    /// its type.
    pub(crate) fn identity(&mut self, procedure: ProcId) -> Result<Bdd> {
        if let Some(identity) = &self.identities[procedure.0 as usize] {
            return Ok(identity.clone());
        }
        let manager = self.encoding.manager.clone();
        let mut identity = manager.constant(true);
        for var in self.scope.vars(procedure) {
            if self.scope.enters(procedure, var) {
                let entry = self.encoding.vars(procedure, var, Copy::Entry);
                let pairs = entry.zip(self.encoding.vars(procedure, var, Copy::Current));
                for (entry, current) in pairs {
                    let same = manager.var(entry)?.iff(&manager.var(current)?)?;
                    identity = identity.and(&same)?;
                }
            } else if self.scope.begins_with_any(procedure, var) {
                let valid = self.encoding.in_range(procedure, var, Copy::Current)?;
                identity = identity.and(&valid)?;
            }
        }
        self.identities[procedure.0 as usize] = Some(identity.clone());
        Ok(identity)
    }

    /// The first pairs: `main` with any values.
    pub(crate) fn initial(&mut self) -> Result<Bdd> {
        let main = self.program.main;
        let mut initial = self.encoding.manager.constant(true);
        for var in self.scope.vars(main) {
            let valid = self.encoding.in_range(main, var, Copy::Current)?;
            initial = initial.and(&valid)?;
        }
        if !self.callers[main.0 as usize].is_empty() {
            let identity = self.identity(main)?;
            initial = initial.and(&identity)?;
        }
        let entry = self.program.procedure(main).entry;
        self.arrive(entry, &initial)
    }

    /// Searches until a target is reached or there is nothing new; how the target was met, and
    /// when: after everything that led to it.
    pub(crate) fn run(&mut self) -> Result<Option<(u64, Goal)>> {
        let initial = self.initial()?;
        let entry = self.program.procedure(self.program.main).entry;
        if let Some(goal) = self.add(entry, &initial)? {
            return Ok(Some((self.time, goal)));
        }
        while let Some(Reverse((_, node, is_return))) = self.queue.pop() {
            self.queued[node as usize][usize::from(is_return)] = false;
            let node = NodeId(node);
            let goal = if is_return {
                self.resume(node)?
            } else {
                self.expand(node)?
            };
            if let Some(goal) = goal {
                // Control comes to a target after the job that leads there.
                let later = u64::from(matches!(goal, Goal::At(..)));
                return Ok(Some((self.time + later, goal)));
            }
            self.time += 2;
            self.housekeeping()?;
        }
        self.tell("done");
        Ok(None)
    }

    fn tell(&self, phase: &'static str) {
        (self.report)(Progress {
            phase,
            counters: Counters::Symbolic {
                images: self.images,
                nodes: self.encoding.manager.node_count() as u64,
            },
        });
    }

    pub(crate) fn housekeeping(&mut self) -> Result<()> {
        if self.images.is_multiple_of(16) && Instant::now() >= self.next_report {
            self.next_report = Instant::now() + Duration::from_millis(200);
            self.tell("images");
            self.encoding.manager.check_limits()?;
        }
        let mut sifter = self.sifter;
        let groups = || self.encoding.groups();
        sifter.tend(&self.encoding.manager, groups, || self.tell("reordering"))?;
        self.sifter = sifter;
        Ok(())
    }

    fn enqueue(&mut self, node: NodeId, is_return: bool) {
        let queued = &mut self.queued[node.0 as usize][usize::from(is_return)];
        if !std::mem::replace(queued, true) {
            let rank = self.rank[node.0 as usize];
            self.queue.push(Reverse((rank, node.0, is_return)));
        }
    }

    /// New pairs at a node, which may be a target.
    fn add(&mut self, node: NodeId, set: &Bdd) -> Result<Option<Goal>> {
        if set.is_false() {
            return Ok(None);
        }
        if let Some(goal) = self.meets(node, set)? {
            return Ok(Some(goal));
        }
        let pending = &mut self.pending[node.0 as usize];
        *pending = pending.or(set)?;
        self.enqueue(node, false);
        Ok(None)
    }

    fn expand(&mut self, node: NodeId) -> Result<Option<Goal>> {
        let i = node.0 as usize;
        let pending = std::mem::replace(&mut self.pending[i], self.nothing.clone());
        let new = if self.is_stored[i] || self.log.is_some() {
            let new = pending.minus(&self.reached[i])?;
            self.reached[i] = self.reached[i].or(&new)?;
            new
        } else {
            pending
        };
        if new.is_false() {
            return Ok(None);
        }
        self.visited[i] = true;
        if let Some(log) = &mut self.log {
            log.nodes[i].push(self.time, &new, &self.reached[i]);
        }
        let relation = self.relation(node)?;
        for (violation, failure) in &relation.failures {
            let failing = new.and(failure)?;
            if !failing.is_false() {
                return Ok(Some(Goal::Fails(node, *violation, failing)));
            }
        }
        if let Some(stuck) = &relation.stuck {
            let stuck = new.and(stuck)?;
            if !stuck.is_false() {
                return Ok(Some(Goal::Stuck(node, stuck)));
            }
        }
        match &relation.action {
            Action::Steps(edges) => {
                for edge in edges {
                    self.images += 1;
                    let image = edge.image(&new)?;
                    let image = self.arrive(edge.to, &image)?;
                    let goal = self.add(edge.to, &image)?;
                    if goal.is_some() {
                        return Ok(goal);
                    }
                }
            }
            Action::Call(call) => {
                self.images += 1;
                let callers = call.prepare(&new)?;
                let entry = call.entries(&self.encoding, &callers)?;
                let goal = self.enter(call.callee, &entry)?;
                if goal.is_some() {
                    return Ok(goal);
                }
                let leaves = self.leaves[call.callee.0 as usize].clone();
                let goal = self.refused(node, call, &callers, &leaves)?;
                if goal.is_some() {
                    return Ok(goal);
                }
                let exits = self.exits[call.callee.0 as usize].clone();
                if exits != self.used[i] {
                    // Exits that the pairs known before have not seen yet.
                    self.enqueue(node, true);
                }
                let exits = self.used[i].clone();
                return self.join(node, call, &callers, &exits);
            }
            Action::Return(parts) => {
                let procedure = self.program.node(node).procedure;
                let goal = self.leave(procedure, relation.leaving.as_deref(), &new)?;
                if goal.is_some() {
                    return Ok(goal);
                }
                let exits = self.exits_of(procedure, parts, &new)?;
                let known = &mut self.exits[procedure.0 as usize];
                let new = exits.minus(known)?;
                if !new.is_false() {
                    *known = known.or(&new)?;
                    if let Some(log) = &mut self.log {
                        log.exits[procedure.0 as usize].push(self.time + 1, &new, known);
                    }
                    for caller in self.callers[procedure.0 as usize].clone() {
                        if !self.reached[caller.0 as usize].is_false() {
                            self.enqueue(caller, true);
                        }
                    }
                }
            }
        }
        Ok(None)
    }

    /// New entries of a procedure, over the entry copies.
    fn enter(&mut self, procedure: ProcId, entry: &Bdd) -> Result<Option<Goal>> {
        let p = procedure.0 as usize;
        let new = entry.minus(&self.entries[p])?;
        if new.is_false() {
            return Ok(None);
        }
        self.entries[p] = self.entries[p].or(&new)?;
        let first = self.program.procedure(procedure).entry;
        let pairs = new.and(&self.identity(procedure)?)?;
        let pairs = self.arrive(first, &pairs)?;
        self.add(first, &pairs)
    }

    /// These pairs return; whether a caller refuses that.
    fn leave(
        &mut self,
        procedure: ProcId,
        leaving: Option<&[Bdd]>,
        set: &Bdd,
    ) -> Result<Option<Goal>> {
        let p = procedure.0 as usize;
        let leaves = self.leaves_of(procedure, leaving, set)?;
        let new = leaves.minus(&self.leaves[p])?;
        if new.is_false() {
            return Ok(None);
        }
        self.leaves[p] = self.leaves[p].or(&new)?;
        for caller in self.callers[p].clone() {
            let relation = self.relation(caller)?;
            if let Action::Call(call) = &relation.action {
                let callers = call.prepare(&self.reached[caller.0 as usize])?;
                let goal = self.refused(caller, call, &callers, &new)?;
                if goal.is_some() {
                    return Ok(goal);
                }
            }
        }
        Ok(None)
    }

    /// What callers get to see when these pairs return.
    pub(crate) fn exits_of(&mut self, procedure: ProcId, parts: &[Bdd], set: &Bdd) -> Result<Bdd> {
        self.images += 1;
        let mut set = set.clone();
        for part in parts {
            set = set.and(part)?;
        }
        let set = set.exists(&self.encoding.current_locals)?;
        let forgotten: Vec<Var> = (0..self.program.globals.len() as u32)
            .filter(|&i| !self.scope.leaves(procedure, i))
            .flat_map(|i| {
                self.encoding
                    .vars(procedure, VarRef::Global(i), Copy::Current)
            })
            .collect();
        if forgotten.is_empty() {
            return Ok(set);
        }
        set.exists(&self.encoding.manager.cube(&forgotten)?)
    }

    fn join(
        &mut self,
        node: NodeId,
        call: &Call,
        callers: &Bdd,
        exits: &Bdd,
    ) -> Result<Option<Goal>> {
        if exits.is_false() || callers.is_false() {
            return Ok(None);
        }
        self.images += 1;
        let after = match call.resume(&self.encoding, callers, exits)? {
            Resumed::Fails {
                violation, failure, ..
            } => return Ok(Some(Goal::FailsAfter(node, violation, failure))),
            Resumed::At(after) => self.arrive(call.back.to, &after)?,
        };
        self.add(call.back.to, &after)
    }

    /// New exits for the pairs known at a call.
    fn resume(&mut self, node: NodeId) -> Result<Option<Goal>> {
        let i = node.0 as usize;
        let relation = self.relation(node)?;
        let Action::Call(call) = &relation.action else {
            return Ok(None);
        };
        let exits = self.exits[call.callee.0 as usize].clone();
        let new = exits.minus(&self.used[i])?;
        self.used[i] = exits;
        let callers = call.prepare(&self.reached[i])?;
        self.join(node, call, &callers, &new)
    }

    pub(crate) fn count(&self, stats: &mut Stats) {
        stats.images += self.images;
        let visited = self.visited.iter().filter(|&&visited| visited);
        stats.nodes_reached = stats.nodes_reached.max(visited.count() as u64);
        let manager = &self.encoding.manager;
        stats.variables = u64::from(manager.var_count());
        stats.peak_nodes = stats.peak_nodes.max(manager.peak_nodes() as u64);
        stats.bytes = stats.bytes.max(manager.memory_bytes() as u64);
        stats.reorderings += self.sifter.reorderings;
    }

    /// Nodes of the procedure from which control can come to this one.
    pub(crate) fn predecessors(&mut self, node: NodeId) -> &[NodeId] {
        if self.predecessors.is_empty() {
            self.predecessors = vec![Vec::new(); self.program.nodes.len()];
            for (i, from) in self.program.nodes.iter().enumerate() {
                from.op.for_each_next(|to| {
                    self.predecessors[to.0 as usize].push(NodeId(i as u32));
                });
            }
            for list in &mut self.predecessors {
                list.dedup();
            }
        }
        &self.predecessors[node.0 as usize]
    }

    /// Starts again from nothing, with everything that is known about the program.
    pub(crate) fn forget(&mut self) {
        self.reached.fill(self.nothing.clone());
        self.pending.fill(self.nothing.clone());
        self.visited.fill(false);
        self.entries.fill(self.nothing.clone());
        self.exits.fill(self.nothing.clone());
        self.leaves.fill(self.nothing.clone());
        self.used.fill(self.nothing.clone());
        self.queue.clear();
        self.queued.fill([false; 2]);
        self.time = 0;
        self.images = 0;
        self.sifter.reorderings = 0;
    }
}
