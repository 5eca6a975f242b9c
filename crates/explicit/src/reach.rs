//! Is a state with the target proposition reachable?
//!
//! REACHABILITY of Alur, Chaudhuri, Etessami and Madhusudan, *On-the-fly Reachability and Cycle
//! Detection for Recursive State Machines* (TACAS 2005), section 3, Fig. 2. Comments of the form
//! `(line n)` refer to it. A context (`s`, `s_en`), or path edge, says that s is reachable from the
//! entry state `s_en` within the procedure. On a call the search goes on from the callee's entry
//! with that entry as its own context, and the caller waits in `VisitedCalls`. (The figure's lines
//! 19-20 say `s_en`; that is a slip.) Each exit found is followed in every waiting caller, and each
//! new caller follows every exit found before. So no summary is missed, whichever of the two comes
//! first.
//!
//! Departures from the figure:
//!
//! * The recursion is a work list, so that deep programs need no native stack.
//! * With [`Order::Bfs`] the list is a priority queue by the number of steps of the run so far. The
//!   length of a context is that of its entry plus a shortest way from there; a summary is as long
//!   as its shortest inner path. An entry is first called at its least length, and a resumed caller
//!   always lies further than the exit that resumes it, so contexts leave the queue in the order of
//!   their true length: this is Dijkstra's argument, and the first target to leave the queue ends a
//!   shortest run.
//! * A state that another one of its context covers is not expanded ([`Model::covered_by`]).
//! * States that split (see [`Model`]) are refined one part at a time; parts that are not asked for
//!   cost nothing.

use std::collections::{BTreeMap, VecDeque};
use std::time::Instant;

use droste_base::{
    CallId, Certificate, Countable, Counterexample, Counters, Guard, Interner, Model, Progress,
    PropId, Step, Steps, StopReason, Trace, Verdict,
};

use rustc_hash::FxHashMap;

use crate::path::{Link, Ways, trace_to};
use crate::stuck::{Refusal, Returns};
use crate::tables::{Alike, Caller, Calls, Context, Edge, NONE, Parts, TOO_MANY_SUMMARIES, stats};
use crate::{Options, Order, Outcome, Stats};

/// Explores until `target` is met, everything has been seen, or a limit is reached.
pub fn reach<M: Model>(model: &M, target: PropId, options: &Options<'_>) -> Outcome<M::State> {
    let mut search = Search::new(model, options);
    let found = search.run(|state, _| model.holds(state, target), |_| false);
    conclude(search, found, options)
}

/// The verdict of a search that is over.
pub(crate) fn conclude<M: Model>(
    search: Search<'_, M>,
    found: Result<Option<Witness>, StopReason>,
    options: &Options<'_>,
) -> Outcome<M::State> {
    search.report("done");
    let stats = search.stats();
    if found.is_ok() {
        options.answer();
    }
    let verdict = match found {
        Ok(Some(_)) if options.verdict_only => Verdict::Violated(Counterexample {
            run: None,
            pumping: false,
        }),
        Ok(Some(found)) => match search.trace(found) {
            Ok(trace) => Verdict::Violated(Counterexample {
                run: Some(trace),
                pumping: false,
            }),
            Err(reason) => Verdict::Unknown(reason.unwritten()),
        },
        Ok(None) => Verdict::Holds(Certificate::default()),
        Err(reason) => Verdict::Unknown(reason),
    };
    Outcome { verdict, stats }
}

/// Where the target was found.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Witness {
    /// In this context.
    At(u32),
    /// At a return that the caller refuses.
    Return(Refusal),
}

/// What is still to be done.
enum Agenda {
    /// Last in, first out. The rest of a split waits until nothing else is left, and then they take
    /// turns, so that a variable with many values does not stand in the way of everything else.
    Stack {
        stack: Vec<u32>,
        rest: VecDeque<u32>,
    },
    /// By length; contexts whose length has been improved since are skipped.
    Queue {
        buckets: BTreeMap<u64, Vec<u32>>,
        lengths: Vec<u64>,
        waiting: u64,
    },
}

/// Set on an agenda item whose split is under way; its cursor is in `Search::cursors`.
const SPLIT: u32 = 1 << 31;

pub(crate) struct Search<'a, M: Model> {
    model: &'a M,
    options: &'a Options<'a>,
    guard: Guard,
    began: Instant,
    pub(crate) states: Interner<M::State>,
    pub(crate) contexts: Vec<Context<()>>,
    alike: Alike,
    pub(crate) calls: Calls,
    agenda: Agenda,
    cursors: FxHashMap<u32, Parts>,
    /// New contexts of the state being expanded: put on the stack in reverse, so that the
    /// first successor is explored first.
    fresh: Vec<u32>,
    resumed: Vec<M::State>,
    /// In a search for runs that get stuck: returns that lead nowhere. Such a search does not go
    /// beyond the end of a run.
    pub(crate) returns: Option<Returns>,
}

impl<'a, M: Model> Search<'a, M> {
    pub(crate) fn new(model: &'a M, options: &'a Options<'a>) -> Self {
        Search {
            model,
            options,
            guard: options.limits.guard(),
            began: Instant::now(),
            states: Interner::new(),
            contexts: Vec::new(),
            alike: Alike::default(),
            calls: Calls::new(),
            agenda: match options.order {
                Order::Dfs => Agenda::Stack {
                    stack: Vec::new(),
                    rest: VecDeque::new(),
                },
                Order::Bfs => Agenda::Queue {
                    buckets: BTreeMap::new(),
                    lengths: Vec::new(),
                    waiting: 0,
                },
            },
            cursors: FxHashMap::default(),
            fresh: Vec::new(),
            resumed: Vec::new(),
            returns: None,
        }
    }

    /// Searches for a state that does not split and is `met`, given what it can do. In a search for
    /// runs that get stuck, for a return as well that the caller refuses, in a state in which the run
    /// may not end.
    pub(crate) fn run(
        &mut self,
        met: impl Fn(&M::State, &Steps<M::State>) -> bool,
        may_end: impl Fn(&M::State) -> bool,
    ) -> Result<Option<Witness>, StopReason> {
        self.guard.check_now()?;
        let mut initial = Vec::new();
        self.model.initial(&mut initial);
        for state in initial {
            let (state, _) = self.states.intern(state)?;
            self.enter(state, NONE, Edge::Start, 0)?;
        }
        for entry in &mut self.calls.entries {
            entry.initial = true;
        }
        self.schedule_fresh();

        let mut steps = Steps::new();
        let mut ticks = 0u32;
        // The return found so far that ends the shortest run, and the length of that.
        let mut refusal: Option<(u64, Refusal)> = None;
        while let Some(item) = self.next_item() {
            if let Some((length, refusal)) = refusal
                && length <= self.length(item & !SPLIT)
            {
                return Ok(Some(Witness::Return(refusal)));
            }
            self.guard.check()?;
            ticks = ticks.wrapping_add(1);
            if ticks.trailing_zeros() >= crate::REPORTED {
                self.report("searching");
            }
            if let Some(limit) = self.options.limits.path_edges
                && self.contexts.len() as u64 > limit
            {
                return Err(StopReason::PathEdges(limit));
            }
            if item & SPLIT != 0 {
                self.refine(item & !SPLIT)?;
                self.schedule_fresh();
                continue;
            }
            let context = item;
            let Context { entry, state, .. } = self.contexts[context as usize];
            let state = self.states.get(state).clone();
            steps.clear();
            self.model.steps(&state, &mut steps);
            if let Some(split) = steps.as_split() {
                self.cursors.insert(
                    context,
                    Parts {
                        tag: split.tag,
                        next: 0,
                        count: split.count,
                    },
                );
                self.refine(context)?;
                self.schedule_fresh();
                continue;
            }
            // (lines 2-3); only now, because a state that splits is not yet one state.
            if met(&state, &steps) {
                return Ok(Some(Witness::At(context)));
            }
            if self.is_covered(&state, entry) {
                continue;
            }
            if steps.overflowed() {
                self.guard.check_now()?;
                return Err(self.model.gave_up());
            }
            let leaves = self.returns.is_some()
                && (steps.items().iter()).all(|step| matches!(step, Step::Exit(_)))
                && !may_end(&state);
            let mut exits = Vec::new();
            // A silent state is no position, and what it does is no step.
            let cost = u64::from(!self.model.silent(&state));
            for step in steps.drain() {
                match step {
                    Step::Internal(next) => {
                        // (lines 10-14)
                        self.visit(next, entry, context, Edge::Step, cost)?;
                    }
                    Step::Call(call, callee) => {
                        // (lines 15-24)
                        let (callee, _) = self.states.intern(callee)?;
                        if call.0 > Edge::LARGEST {
                            return Err(TOO_MANY_SUMMARIES);
                        }
                        let callee = self.enter(callee, context, Edge::Call(call.0), 1)?;
                        let caller = self.calls.add_caller(callee, context, call.0);
                        let mut exit = self.calls.entries[callee as usize].first_exit;
                        while exit != NONE {
                            self.resume(caller, exit)?;
                            exit = self.calls.exits[exit as usize].next;
                        }
                    }
                    Step::Exit(exit) => {
                        // (lines 4-9)
                        if self.calls.entries[entry as usize].initial
                            && self.returns.is_none()
                            && let Some(last) = self.model.terminated(&exit)
                        {
                            self.visit(last, entry, context, Edge::Terminated, 1)?;
                        }
                        let (exit, _) = self.states.intern(exit)?;
                        if let Some(exit) =
                            self.calls
                                .add_exit(entry, exit, 0, (context, Edge::Start))?
                        {
                            let mut caller = self.calls.entries[entry as usize].first_caller;
                            while caller != NONE {
                                self.resume(caller, exit)?;
                                caller = self.calls.callers[caller as usize].next;
                            }
                        }
                        if leaves {
                            exits.extend(self.calls.known_exit(entry, exit));
                        }
                    }
                }
            }
            if let Some(returns) = &mut self.returns {
                let leaving = leaves.then_some((context, exits));
                let mut found = Vec::new();
                returns.look(&self.calls, leaving, |refusal| found.push(refusal));
                for found in found {
                    let length = self.length_of(found);
                    if refusal.is_none_or(|(least, _)| length < least) {
                        refusal = Some((length, found));
                    }
                }
            }
            self.schedule_fresh();
        }
        Ok(refusal.map(|(_, refusal)| Witness::Return(refusal)))
    }

    /// Whether there is a context with a state that stands for this one and more. It is covered by
    /// none itself, so it has been expanded or will be.
    fn is_covered(&self, state: &M::State, entry: u32) -> bool {
        // Which runs get stuck is another question.
        if self.returns.is_some() {
            return false;
        }
        let cover = self.model.covered_by(state);
        let known = cover.and_then(|cover| self.states.find(&cover));
        known.is_some_and(|cover| {
            let found = self.alike.find(&self.contexts, (entry, cover), |()| true);
            found.is_ok()
        })
    }

    /// The length of the run so far, if that is known.
    fn length(&self, context: u32) -> u64 {
        match &self.agenda {
            Agenda::Stack { .. } => 0,
            Agenda::Queue { lengths, .. } => lengths[context as usize],
        }
    }

    /// The length of the run that is stuck at a return.
    fn length_of(&self, Refusal { caller, context }: Refusal) -> u64 {
        let Caller {
            context: from,
            entry,
            ..
        } = self.calls.callers[caller as usize];
        let start = self.calls.entries[entry as usize].context;
        let inside = self.length(context).saturating_sub(self.length(start));
        self.length(from).saturating_add(1).saturating_add(inside)
    }

    /// The entry of a callee (or of the run) and its context, scheduled if it is new.
    fn enter(&mut self, state: u32, parent: u32, edge: Edge, cost: u64) -> Result<u32, StopReason> {
        let (entry, new) = self.calls.entry(state);
        if new {
            let context = self.visit_id(state, entry, parent, edge, cost)?;
            self.calls.entries[entry as usize].context = context;
        }
        Ok(entry)
    }

    /// GETRETURNSTATE (lines 7 and 22), and the contexts it leads to.
    fn resume(&mut self, index: u32, exit: u32) -> Result<(), StopReason> {
        let caller = self.calls.callers[index as usize];
        let call_context = self.contexts[caller.context as usize];
        let exit_record = self.calls.exits[exit as usize];
        let mut resumed = std::mem::take(&mut self.resumed);
        let complete = self.model.resume(
            self.states.get(call_context.state),
            CallId(caller.call),
            self.states.get(exit_record.state),
            &mut resumed,
        );
        if !complete {
            self.guard.check_now()?;
            return Err(self.model.gave_up());
        }
        let cost = match &self.agenda {
            Agenda::Stack { .. } => 0,
            // The call, the callee's way to its exit, the return.
            Agenda::Queue { lengths, .. } => {
                let start = self.calls.entries[exit_record.entry as usize].context;
                lengths[exit_record.context as usize]
                    .saturating_sub(lengths[start as usize])
                    .saturating_add(2)
            }
        };
        if resumed.is_empty()
            && let Some(returns) = &mut self.returns
        {
            returns.refuse(index, exit);
        }
        for state in resumed.drain(..) {
            self.visit(
                state,
                call_context.entry,
                caller.context,
                Edge::Summary(exit),
                cost,
            )?;
        }
        self.resumed = resumed;
        Ok(())
    }

    /// Looks at one more part of a split.
    fn refine(&mut self, context: u32) -> Result<(), StopReason> {
        let Context { entry, state, .. } = self.contexts[context as usize];
        let Some(cursor) = self.cursors.get_mut(&context) else {
            return Ok(());
        };
        let part = self
            .model
            .refine(self.states.get(state), cursor.tag, cursor.next);
        cursor.next += 1;
        if cursor.next >= cursor.count {
            self.cursors.remove(&context);
        } else {
            // The rest comes later; in a queue, at the same length.
            match &mut self.agenda {
                Agenda::Stack { rest, .. } => rest.push_back(context | SPLIT),
                Agenda::Queue {
                    buckets,
                    lengths,
                    waiting,
                } => {
                    *waiting += 1;
                    buckets
                        .entry(lengths[context as usize])
                        .or_default()
                        .push(context | SPLIT);
                }
            }
        }
        self.visit(part, entry, context, Edge::Refine, 0)
    }

    #[inline]
    fn visit(
        &mut self,
        state: M::State,
        entry: u32,
        parent: u32,
        edge: Edge,
        cost: u64,
    ) -> Result<(), StopReason> {
        let (state, _) = self.states.intern(state)?;
        self.visit_id(state, entry, parent, edge, cost)?;
        Ok(())
    }

    /// Adds the context (state, entry) if it is new (lines 1, 8, 13, 19, 23).
    #[inline]
    fn visit_id(
        &mut self,
        state: u32,
        entry: u32,
        parent: u32,
        edge: Edge,
        cost: u64,
    ) -> Result<u32, StopReason> {
        let place = match self.alike.find(&self.contexts, (entry, state), |()| true) {
            Ok(id) => {
                self.improve(id, parent, edge, cost);
                return Ok(id);
            }
            Err(place) => place,
        };
        let contexts = &mut self.contexts;
        let id = contexts.len() as u32;
        if id >= SPLIT - 1 {
            let most = u64::from(SPLIT - 1);
            return Err(StopReason::TooMany(Countable::PathEdges, most));
        }
        contexts.push(Context::new((entry, state), parent, edge, ()));
        self.alike.add(contexts, id, place);
        if let Agenda::Queue { lengths, .. } = &mut self.agenda {
            let length = match parent {
                NONE => 0,
                _ => lengths[parent as usize].saturating_add(cost),
            };
            lengths.push(length);
        }
        self.fresh.push(id);
        Ok(id)
    }

    /// In breadth-first order: a shorter way to a context that has not been expanded.
    fn improve(&mut self, id: u32, parent: u32, edge: Edge, cost: u64) {
        if let Agenda::Queue { lengths, .. } = &mut self.agenda
            && parent != NONE
        {
            let length = lengths[parent as usize].saturating_add(cost);
            if length < lengths[id as usize] {
                lengths[id as usize] = length;
                let context = &mut self.contexts[id as usize];
                context.parent = parent;
                context.edge = edge.pack();
                self.fresh.push(id);
            }
        }
    }

    fn schedule_fresh(&mut self) {
        match &mut self.agenda {
            Agenda::Stack { stack, .. } => stack.extend(self.fresh.drain(..).rev()),
            Agenda::Queue {
                buckets,
                lengths,
                waiting,
            } => {
                *waiting += self.fresh.len() as u64;
                for id in self.fresh.drain(..) {
                    buckets.entry(lengths[id as usize]).or_default().push(id);
                }
            }
        }
    }

    fn next_item(&mut self) -> Option<u32> {
        match &mut self.agenda {
            Agenda::Stack { stack, rest } => stack.pop().or_else(|| rest.pop_front()),
            Agenda::Queue {
                buckets,
                lengths,
                waiting,
            } => loop {
                let mut bucket = buckets.first_entry()?;
                let length = *bucket.key();
                let item = bucket.get_mut().pop();
                let Some(item) = item else {
                    bucket.remove();
                    continue;
                };
                *waiting -= 1;
                if lengths[(item & !SPLIT) as usize] < length {
                    continue; // Improved, and expanded, since.
                }
                return Some(item);
            },
        }
    }

    fn report(&self, phase: &'static str) {
        if let Some(reporter) = self.options.reporter {
            reporter(Progress {
                phase,
                counters: Counters::Explicit {
                    path_edges: self.contexts.len() as u64,
                    states: self.states.len() as u64,
                    waiting: match &self.agenda {
                        Agenda::Stack { stack, rest } => (stack.len() + rest.len()) as u64,
                        Agenda::Queue { waiting, .. } => *waiting,
                    },
                },
            });
        }
    }

    pub(crate) fn stats(&self) -> Stats {
        let agenda = match &self.agenda {
            Agenda::Stack { stack, rest } => (stack.capacity() + rest.capacity()) * 4,
            Agenda::Queue { lengths, .. } => lengths.len() * 12,
        };
        let contexts = self.contexts.len();
        let others = contexts * size_of::<Context<()>>() + self.alike.bytes() + agenda;
        stats(self.began, contexts, &self.states, &self.calls, others)
    }

    /// The run that ends there.
    fn trace(self, found: Witness) -> Result<Trace<M::State>, StopReason> {
        let links = self.contexts.into_iter().map(|context| Link {
            entry: context.entry,
            state: context.state,
            parent: context.parent,
            edge: context.edge,
            marks: 0,
        });
        let caller = |caller: u32| {
            let caller = self.calls.callers[caller as usize];
            (caller.context, CallId(caller.call))
        };
        let (end, call) = match found {
            Witness::At(context) => (context, None),
            Witness::Return(refusal) => (refusal.context, Some(caller(refusal.caller))),
        };
        // Only what a trace needs.
        let ways = Ways::new(self.model, self.states, self.calls, links.collect(), None);
        trace_to(&ways, end, call, self.guard)
    }
}
