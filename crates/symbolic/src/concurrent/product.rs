//! Threads whose stacks stay small: whole configurations, one context after the other.
//!
//! A configuration is the globals and, for each thread, its place (a node and the calls that are
//! open below it) and the locals of its frames. While a thread is active its place is explicit: for
//! each place there is a set of configurations. The places of the other threads are bits of these
//! sets. So a context is a search for one thread, in which the other threads are data that do not
//! change, and nothing of the contexts before has to be remembered. The tuples of `contexts`, by
//! contrast, keep the shared globals of all switches.
//!
//! A level is a number of switches, or of rounds. In each level, each thread goes on from the
//! configurations in which some thread may have been interrupted in an earlier level (with rounds:
//! or in this one, by a thread with a smaller number), unless it has been active there before. If
//! there are no such configurations, no number of switches leads to anything new.
//!
//! * `places`: stacks without their data.
//! * `run`: one thread in one context; `parts`: what its steps are made of.
//! * `back`: from a configuration that meets a target to the schedule of a run.
//!
//! A thread is interrupted only after steps that others can notice ([`droste_program::quiet`]), and
//! locals that do not matter are forgotten.
//!
//! This is the search of S. Qadeer and J. Rehof (TACAS 2005), section 3, for stacks of bounded
//! height.
//!
//! **If procedures call themselves**, stacks may have any height. Places are folded then (see
//! `places`): a return goes on after any of the calls that were folded, with any values of the
//! locals there. The search has all configurations, and perhaps more. If it does not meet the
//! target, no run does: that is an answer. If it does, after so many levels, the runs with stacks of
//! a bounded height are searched up to this level. If these do not meet the target, and stacks were
//! cut off, `contexts` answers.
//!
//! What keeps it honest: `check/tests/concurrent.rs` compares all ways with all interleavings; every
//! schedule becomes a run that is replayed.

mod back;
mod parts;
mod places;
mod run;

use std::rc::Rc;

use droste_base::{Counters, Limits, Progress};
use droste_bdd::{Bdd, Cube, Manager, Var};
use droste_blast::bits;
use droste_program::effects::Effects;
use droste_program::liveness::LiveLocals;
use droste_program::quiet::Accesses;
use droste_program::schedule::{Finding, Schedule};
use droste_program::{ExprNode, NodeId, Op, Procedure, Program, Threads, VarRef};
use droste_relations::compile::{Back, Enter};
use droste_relations::{Copy, Encoding, Relation, Result};
use rustc_hash::{FxHashMap, FxHashSet};

use super::PreparedQuery;
use super::few::{Enumeration, Pace};
use super::prepare::Prepared;
use crate::control::marked;
use crate::{Stats, Tuning};
use places::{Bounds, NOWHERE, Places};
use run::Goal;

/// Open calls of a thread, if procedures do not call themselves or are folded.
const MOST_DEPTH: usize = 64;

/// Places of a thread, if procedures call themselves and stacks are cut off.
const MOST_RECURSIVE: usize = 4095;

/// Open calls of a thread where stacks are cut off: one that grows higher may be of any height.
pub(super) const MOST_CALLS: usize = 32;

/// Started threads that may be active.
pub(super) const MOST_STARTED: usize = 16;

/// After so many steps of diagram operations the search without diagrams has a turn, ...
const TURN: u64 = 1 << 10;

/// ... which is so many times as long: there is less to gain from diagrams than to lose.
const SHARE: u64 = 6;

/// What becomes of the stacks of procedures that call themselves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Stacks {
    /// There are none.
    Small,
    /// They are folded: there may be more configurations than the program has.
    Folded,
    /// They have at most so many open calls. Those that have more are left out up to the level,
    /// which is the first in which there may be a target.
    Cut(usize, Option<usize>),
}

pub(super) enum Answer {
    Hit(Schedule, usize),
    /// The search without diagrams has an answer.
    Found(Finding),
    /// In this level there may be a target; and the most open calls of a folded stack.
    Perhaps(usize, usize),
    Nothing {
        exhaustive: bool,
    },
    /// More switches than started threads have been allowed for.
    Capacity,
    /// There are too many places.
    Deep,
}

/// A thread, as far as it can be active.
struct Thread {
    places: Places,
    /// The bits of the number of its place.
    control: Vec<Var>,
    /// The first of its frames.
    frame: usize,
    /// Configurations from which it has been active, or which it has left.
    visited: Bdd,
    /// By place.
    reached: FxHashMap<u32, Bdd>,
}

/// One thread in one context.
struct Activation {
    thread: usize,
    /// What it begins with.
    start: Bdd,
    /// Where it can be interrupted.
    parked: Bdd,
    /// What was new at each place.
    new: FxHashMap<u32, Bdd>,
}

pub(super) struct Product<'a, 'r> {
    prepared: &'a Prepared,
    question: &'a PreparedQuery<'a>,
    report: &'r dyn Fn(Progress),
    manager: Manager,
    nothing: Bdd,
    /// The frames of all threads.
    frames: Vec<Encoding<'a>>,
    effects: Effects,
    live: LiveLocals,
    accesses: Accesses,
    is_target: Vec<bool>,
    threads: Vec<Thread>,
    /// By frame and node.
    relations: FxHashMap<(usize, NodeId), Rc<Relation>>,
    enters: FxHashMap<(usize, NodeId), Rc<Enter>>,
    backs: FxHashMap<(usize, NodeId), Rc<Back>>,
    dead: FxHashMap<(usize, NodeId), Cube>,
    dead_below: FxHashMap<(usize, NodeId), Cube>,
    quiet: FxHashMap<(usize, NodeId), bool>,
    /// The configurations in which runs begin.
    initial: Bdd,
    log: Vec<Activation>,
    /// There are too many places.
    deep: bool,
    stacks: Stacks,
    /// By thread and folded call: the frames that were forgotten have some values.
    forgotten: FxHashMap<(usize, u32), Bdd>,
    images: u64,
    /// The search without diagrams, which takes turns with this one.
    pub(super) list: Option<Box<dyn Enumeration + 'r>>,
    limits: Limits,
    /// The steps of diagram operations at its last turn.
    turn: u64,
    /// Its answer.
    found: Option<Finding>,
}

impl<'a, 'r> Product<'a, 'r> {
    /// `None` if the program has too many places.
    pub(super) fn new(
        prepared: &'a Prepared,
        question: &'a PreparedQuery<'a>,
        (tuning, stacks): (Tuning, Stacks),
        limits: &Limits,
        report: &'r dyn Fn(Progress),
    ) -> Result<Option<Self>> {
        let program = &prepared.program;
        if prepared.slots > MOST_STARTED || program.nodes.iter().any(|node| remembers(&node.op)) {
            return Ok(None);
        }
        let accesses = Accesses::new(question.program, &prepared.roots(question.declared));
        let entries = question.declared.iter();
        let entries = entries.map(|&procedure| vec![program.procedure(procedure).entry]);
        let started = std::iter::repeat_n(prepared.starts.clone(), prepared.slots);
        let mut frame = 0;
        let mut drafts = Vec::new();
        let mut widths = Vec::new();
        for roots in entries.chain(started) {
            let Some((places, count, depth)) = draft(program, &roots, tuning, stacks) else {
                return Ok(None);
            };
            widths.push((usize::BITS - count.leading_zeros()) as usize);
            drafts.push((places, frame));
            frame += depth + 1;
        }
        let first: usize = widths.iter().sum();
        let mut frames = Encoding::frames(program, limits, first as u32, frame)?;
        let manager = frames[0].manager.clone();
        let nothing = manager.constant(false);
        let mut vars = (0..first as u32).map(Var);
        let mut threads = Vec::new();
        for ((places, frame), width) in drafts.into_iter().zip(widths) {
            let control: Vec<Var> = vars.by_ref().take(width).collect();
            threads.push(Thread {
                places,
                control,
                frame,
                visited: nothing.clone(),
                reached: FxHashMap::default(),
            });
        }
        manager.set_order(&order(program, &threads, &frames))?;
        // Runs begin with any values.
        let mut initial = manager.constant(true);
        for i in 0..program.globals.len() as u32 {
            let global = VarRef::Global(i);
            initial = initial.and(&frames[0].in_range(program.main, global, Copy::Current)?)?;
        }
        for (thread, &procedure) in threads.iter().zip(question.declared) {
            for i in 0..program.procedure(procedure).locals.len() as u32 {
                let local = VarRef::Local(i);
                let frame = &mut frames[thread.frame];
                initial = initial.and(&frame.in_range(procedure, local, Copy::Current)?)?;
            }
        }
        let mut product = Product {
            live: LiveLocals::new(program),
            accesses,
            effects: Effects::new(program),
            is_target: marked(program, question.query.targets),
            prepared,
            question,
            report,
            manager,
            nothing,
            frames,
            threads,
            relations: FxHashMap::default(),
            enters: FxHashMap::default(),
            backs: FxHashMap::default(),
            dead: FxHashMap::default(),
            dead_below: FxHashMap::default(),
            quiet: FxHashMap::default(),
            initial,
            log: Vec::new(),
            deep: false,
            stacks,
            forgotten: FxHashMap::default(),
            images: 0,
            list: None,
            limits: limits.clone(),
            turn: 0,
            found: None,
        };
        let entries = question.declared.iter();
        let entries: Vec<u32> = (0..)
            .zip(entries)
            .map(|(thread, &procedure)| product.begin(thread, program.procedure(procedure).entry))
            .collect();
        let mut initial = product.initial.clone();
        for thread in 0..product.threads.len() {
            let place = entries.get(thread).copied().unwrap_or(NOWHERE);
            initial = initial.and(&product.is_at(thread, place)?)?;
        }
        for global in [prepared.started, prepared.atomic].into_iter().flatten() {
            initial = initial.and(&product.current_is(global, 0)?)?;
        }
        product.initial = initial;
        Ok(Some(product))
    }

    fn program(&self) -> &'a Program {
        &self.prepared.program
    }

    /// The place of a thread that begins at a node.
    fn begin(&mut self, thread: usize, node: NodeId) -> u32 {
        let place = self.threads[thread].places.number(None, node);
        self.deep |= place.is_none();
        place.unwrap_or(NOWHERE)
    }

    /// The thread is at the place with this number.
    fn is_at(&self, thread: usize, place: u32) -> Result<Bdd> {
        let bits = self.threads[thread].control.iter().enumerate();
        self.manager
            .minterm(bits.map(|(k, &var)| (var, place >> k & 1 != 0)))
    }

    fn global_bits(&self, global: u32) -> Vec<Var> {
        let var = VarRef::Global(global);
        let bits = self.frames[0].vars(self.program().main, var, Copy::Current);
        bits.collect()
    }

    /// A global has this code.
    fn current_is(&self, global: u32, code: u64) -> Result<Bdd> {
        let bits = self.global_bits(global).into_iter().enumerate();
        self.manager
            .minterm(bits.map(|(k, var)| (var, code >> k & 1 != 0)))
    }

    /// Whether no other thread can notice a step.
    fn is_quiet(&mut self, thread: usize, node: NodeId) -> bool {
        let program = self.question.program;
        *self
            .quiet
            .entry((thread, node))
            .or_insert_with(|| self.accesses.is_quiet(program, thread, node))
    }

    pub(super) fn count(&self, stats: &mut Stats) {
        stats.images += self.images;
        if let Some(list) = &self.list {
            stats.configurations = list.configurations();
        }
        stats.variables = stats.variables.max(u64::from(self.manager.var_count()));
        stats.peak_nodes = stats.peak_nodes.max(self.manager.peak_nodes() as u64);
        stats.bytes = stats.bytes.max(self.manager.memory_bytes() as u64);
        let mut nodes: FxHashSet<NodeId> = FxHashSet::default();
        for thread in &self.threads {
            let places = thread.reached.keys();
            nodes.extend(places.map(|&place| thread.places.get(place).node));
        }
        stats.nodes_reached = stats.nodes_reached.max(nodes.len() as u64);
    }

    /// The search without diagrams has a turn, if this one has gone on for long enough.
    fn take_turns(&mut self) -> Result<()> {
        let steps = self.manager.steps();
        let due = steps.saturating_sub(self.turn);
        if due < TURN {
            return Ok(());
        }
        self.turn = steps;
        if let Some(list) = &mut self.list {
            match list.go_on(due * SHARE, &self.limits, &mut |_| {})? {
                Pace::Answer(found) => self.found = Some(found),
                Pace::More => {}
                Pace::Over(_) => self.list = None,
            }
        }
        Ok(())
    }

    fn tell(&self) {
        (self.report)(Progress {
            phase: "context",
            counters: Counters::Symbolic {
                images: self.images,
                nodes: self.manager.node_count() as u64,
            },
        });
    }

    /// Level after level.
    pub(super) fn search(
        &mut self,
        capacity: usize,
        level: &dyn Fn(usize),
        done: &mut Option<usize>,
    ) -> Result<Answer> {
        let rounds = self.question.rounds;
        let all_kept = self.prepared.slots >= self.question.most_started;
        let mut all = self.initial.clone();
        let mut first = 0;
        if let Threads::Init { .. } = self.program().threads {
            first = 1;
            let start = all.clone();
            if let Some(goal) = self.activate(0, &start)? {
                return self.answer(&goal, usize::from(rounds));
            }
            if let Some(found) = self.found.take() {
                return Ok(Answer::Found(found));
            }
            all = self.log[0].parked.clone();
        }
        for now in usize::from(rounds).. {
            if self.gives_up(now) {
                return Ok(Answer::Deep);
            }
            if !all_kept && now > capacity {
                return Ok(Answer::Capacity);
            }
            if done.is_none_or(|done| now > done) {
                level(now);
            }
            let before = all.clone();
            for thread in first..self.threads.len() {
                let from = if rounds { &all } else { &before };
                let start = self.not_visited(thread, from)?;
                if start.is_false() {
                    continue;
                }
                if let Some(goal) = self.activate(thread, &start)? {
                    return self.answer(&goal, now);
                }
                if let Some(found) = self.found.take() {
                    return Ok(Answer::Found(found));
                }
                if self.gives_up(now) {
                    return Ok(Answer::Deep);
                }
                let parked = self.log.last().map(|activation| &activation.parked);
                all = all.or(parked.unwrap_or(&self.nothing))?;
            }
            if !self.deep {
                *done = Some(done.map_or(now, |done| done.max(now)));
            }
            let mut more = false;
            for thread in first..self.threads.len() {
                more |= !self.not_visited(thread, &all)?.is_false();
            }
            if !more || self.question.most == Some(now) {
                if self.deep {
                    return Ok(Answer::Deep);
                }
                return Ok(Answer::Nothing {
                    exhaustive: !more && all_kept,
                });
            }
        }
        unreachable!("levels go on")
    }

    /// Whether stacks were cut off, and nothing can be said about this level without them.
    fn gives_up(&self, level: usize) -> bool {
        let Stacks::Cut(_, Some(first)) = self.stacks else {
            return self.deep;
        };
        self.deep && level > first
    }

    /// A target may have been met in this level.
    fn answer(&mut self, (place, set): &Goal, level: usize) -> Result<Answer> {
        if self.stacks == Stacks::Folded {
            let depths = self.threads.iter().map(|thread| thread.places.depth());
            return Ok(Answer::Perhaps(level, depths.max().unwrap_or(0)));
        }
        Ok(Answer::Hit(self.schedule(*place, set)?, level))
    }

    /// The configurations in which the thread can become active and has not been.
    fn not_visited(&self, thread: usize, all: &Bdd) -> Result<Bdd> {
        let new = all.minus(&self.threads[thread].visited)?;
        new.minus(&self.is_at(thread, NOWHERE)?)
    }
}

/// The places of a thread, how many there may be, and how many calls may be open; `None` if there
/// are too many.
fn draft(
    program: &Program,
    roots: &[NodeId],
    tuning: Tuning,
    stacks: Stacks,
) -> Option<(Places, usize, usize)> {
    let mut bounds = Bounds {
        places: tuning.most_places,
        calls: MOST_DEPTH,
        folding: false,
    };
    let (places, all) = Places::new(program, roots, bounds);
    if all {
        let (count, depth) = (places.len(), places.depth());
        return Some((places, count, depth));
    }
    match stacks {
        Stacks::Small => None,
        Stacks::Folded => {
            bounds.folding = true;
            let (places, all) = Places::new(program, roots, bounds);
            // A call that is folded has a frame for the callee above it first.
            let (count, depth) = (places.len(), places.depth() + 1);
            all.then_some((places, count, depth))
        }
        Stacks::Cut(calls, _) => {
            bounds.places = bounds.places.min(MOST_RECURSIVE);
            bounds.calls = calls;
            let fits = bounds.places >= roots.len();
            fits.then(|| (Places::new(program, roots, bounds).0, bounds.places, calls))
        }
    }
}

/// Locals of a thread that have more bits than this stay where the globals are that they are
/// computed from.
const MOST_LOCALS: usize = 10;

/// Each thread's bits together, one thread behind the other: its place, and its locals if they are
/// few. Behind them come the globals. The place of a thread says most about its locals, and those
/// of different threads say little about each other.
fn order(program: &Program, threads: &[Thread], frames: &[Encoding<'_>]) -> Vec<Var> {
    let mut order = Vec::new();
    let local_bits = |p: &Procedure| p.locals.iter().map(|v| bits(v.ty)).sum::<usize>();
    let most = program.procedures.iter().map(local_bits).max().unwrap_or(0);
    let ends = threads.iter().skip(1).map(|thread| thread.frame);
    for (thread, end) in threads.iter().zip(ends.chain([frames.len()])) {
        // The highest bit first: places that are near each other have near numbers.
        order.extend(thread.control.iter().rev());
        let frames = &frames[thread.frame..end];
        if frames.len() * most <= MOST_LOCALS {
            let locals = frames.iter().map(|frame| frame.current_locals.vars());
            let nexts = frames.iter().map(|frame| frame.next_locals.vars());
            let mut locals: Vec<Var> = locals.chain(nexts).flatten().collect();
            locals.sort_unstable();
            order.extend(locals);
        }
    }
    let placed: FxHashSet<Var> = order.iter().copied().collect();
    let others = frames[0].manager.order().into_iter();
    order.extend(others.filter(|var| !placed.contains(var)));
    order
}

/// Whether a call has a condition on the globals as they were at the call. They would have to be
/// kept in the frame.
fn remembers(op: &Op) -> bool {
    let Op::Call {
        constrain: Some(expr),
        ..
    } = op
    else {
        return false;
    };
    let is_global = |part: &ExprNode| matches!(part, ExprNode::Var(VarRef::Global(_)));
    expr.nodes.iter().any(is_global)
}
