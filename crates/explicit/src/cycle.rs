//! Is there an infinite run that meets every mark infinitely often?
//!
//! FAIR-CYCLE-DETECT of Alur, Chaudhuri, Etessami and Madhusudan (TACAS 2005), section 4,
//! in one depth-first search instead of phases. By their Lemma 1 there is such a run iff
//! the state graph (internal, call and summary edges) has a reachable cycle that meets the
//! marks, in its states or inside its summaries.
//!
//! **The graph.** Vertices are contexts (state, entry, marks met since the entry): path edges with
//! marks. Internal and summary edges stay with the entry; call edges go to the context of the
//! callee's entry. Infinite paths of this graph and of the state graph correspond one to one, so
//! cycles exist in both or in neither. A context stands for those that differ from it only by
//! having fewer of its marks: it has the same successors, and its summaries have at least the same
//! marks.
//!
//! **Why one search is enough.** Components are found with Gabow's path-based algorithm (Inf.
//! Process. Lett. 74, 2000): `open` holds the vertices of components not yet closed, and
//! `boundaries` says where each component of the current path starts. Summary edges appear while
//! the search runs. The paper collects them and searches again, phase by phase. Here is why that is
//! not necessary.
//!
//! An exit of an entry e is found only while e is open, because the exiting context is reachable
//! from e and still being explored. A caller v of e has an edge to e, so v is open as well. Unless
//! e was closed when v's call was explored, v and e are then in one component. A component that is
//! about to be closed is a single vertex of the contracted graph, and the edges of a vertex may be
//! explored in any order. So before it is closed, the summary edges that have appeared at any of
//! its members are explored from it (`late`). A closed component has all its edges, and no exit of
//! its entries is missing. Every context is expanded once. The search is linear in contexts and
//! edges, up to a heap of waiting callers.
//!
//! **Chains.** States with a single successor are passed, not stored (`chain`). An internal edge, a
//! summary edge or a call edge leads to the end of the chain that it begins, and has the marks of
//! the states on the way. If all that the end does is exit, it is not stored either. Calls of
//! closed entries with one exit are passed, too: the callee's infinite runs have been looked for by
//! then, and no cycle leads through it.
//!
//! **Early termination.** A back edge contracts the path into one component at once; the search
//! stops as soon as a component with a cycle has every mark.
//!
//! **Bounded stacks.** With [`Runs::FiniteStack`] a cycle must not contain call edges. Such a cycle
//! lies within a component of the whole graph. A component with every mark is searched for one,
//! ignoring call edges, when it first has every mark, whenever it has doubled since, and finally
//! when it is closed and has all its edges.

use std::collections::BinaryHeap;
use std::time::Instant;

use droste_base::{
    CallId, Certificate, Countable, Counterexample, Counters, Guard, Interner, Model, Progress,
    PropId, Step, Steps, StopReason, Verdict,
};

use crate::chain::{self, Buffers, Summaries};
use crate::lasso::{self, Component};
use crate::path::{Link, Ways};
use crate::shorten::shorten;
use crate::tables::{Alike, Calls, Context, Edge, NONE, Parts, TOO_MANY_SUMMARIES, stats};
use crate::{MOST_MARKS, Options, Outcome, Runs, Stats};

/// Searches for a run that meets every proposition of `marks` (at most 32) infinitely often;
/// with no marks, for any infinite run. More than [`MOST_MARKS`] of them cannot be kept apart.
pub fn repeat<M: Model>(
    model: &M,
    marks: &[PropId],
    runs: Runs,
    options: &Options<'_>,
) -> Outcome<M::State> {
    if marks.len() > MOST_MARKS {
        let reason = StopReason::TooMany(Countable::Eventualities, MOST_MARKS as u64);
        return Outcome {
            verdict: Verdict::Unknown(reason),
            stats: Stats::default(),
        };
    }
    let mut search = Search::new(model, marks, runs, options);
    let found = search.run();
    search.report("done");
    let stats = search.stats();
    if found.is_ok() {
        options.answer();
    }
    let verdict = match found {
        Ok(Some(component)) if options.verdict_only => {
            let flat = lasso::flat_component(&search, &component, search.all_marks);
            Verdict::Violated(Counterexample {
                run: None,
                pumping: flat.is_none(),
            })
        }
        Ok(Some(component)) => {
            let all_marks = search.all_marks;
            match lasso::lasso(search, component, all_marks, runs) {
                Ok(trace) => {
                    let trace = shorten(model, marks, trace, stats.path_edges, options);
                    Verdict::Violated(Counterexample {
                        pumping: trace.cycle.is_some_and(|cycle| cycle.pumping),
                        run: Some(trace),
                    })
                }
                Err(reason) => Verdict::Unknown(reason.unwritten()),
            }
        }
        Ok(None) => Verdict::Holds(Certificate::default()),
        Err(reason) => Verdict::Unknown(reason),
    };
    Outcome { verdict, stats }
}

/// What is kept of a context beside how it was reached.
#[derive(Clone, Copy)]
pub(crate) struct Visit {
    /// Marks met from the entry up to, not including, this state.
    pub(crate) marks: u32,
    /// 0: not visited; [`CLOSED`]; otherwise one more than its place in `open`.
    index: u32,
}

const CLOSED: u32 = u32::MAX;

/// A frame of the depth-first search: the path of Gabow's algorithm.
struct Frame {
    context: u32,
    /// Its successors are the items of `successors` from here on.
    successors: u32,
    /// Whether its state has been split: by the last of `splits` that no frame above has.
    split: bool,
}

/// An edge still to be explored.
struct Successor<S> {
    from: u32,
    edge: Edge,
    state: S,
}

/// A component of the current path.
struct Boundary {
    /// Where its vertices start in `open`.
    start: u32,
    /// Marks of its states and of the edges inside it.
    marks: u32,
    /// Marks of the tree edge that leads into it.
    in_marks: u32,
    /// Whether it contains an edge.
    cyclic: bool,
    /// With [`Runs::FiniteStack`]: its size when it was last searched for a cycle.
    searched: u32,
}

pub(crate) struct Search<'a, M: Model> {
    pub(crate) model: &'a M,
    marks: &'a [PropId],
    all_marks: u32,
    runs: Runs,
    options: &'a Options<'a>,
    guard: Guard,
    began: Instant,
    pub(crate) states: Interner<M::State>,
    pub(crate) contexts: Vec<Context<Visit>>,
    alike: Alike,
    pub(crate) calls: Calls,
    frames: Vec<Frame>,
    /// One for each frame with a split.
    splits: Vec<Parts>,
    successors: Vec<Successor<M::State>>,
    open: Vec<u32>,
    boundaries: Vec<Boundary>,
    /// Callers with exits they have not been resumed with, by their place in `open`.
    late: BinaryHeap<(u32, u32)>,
    resumed: Vec<M::State>,
    steps: Steps<M::State>,
    /// For following chains.
    passed: Buffers<M::State>,
    /// Whether the outermost procedure was left and the model does not say how to go on.
    ended: bool,
}

impl<'a, M: Model> Search<'a, M> {
    fn new(model: &'a M, marks: &'a [PropId], runs: Runs, options: &'a Options<'a>) -> Self {
        Search {
            model,
            marks,
            all_marks: (1u64 << marks.len()).wrapping_sub(1) as u32,
            runs,
            options,
            guard: options.limits.guard(),
            began: Instant::now(),
            states: Interner::new(),
            contexts: Vec::new(),
            alike: Alike::default(),
            calls: Calls::new(),
            frames: Vec::new(),
            splits: Vec::new(),
            successors: Vec::new(),
            open: Vec::new(),
            boundaries: Vec::new(),
            late: BinaryHeap::new(),
            resumed: Vec::new(),
            steps: Steps::new(),
            passed: Buffers::default(),
            ended: false,
        }
    }

    /// The contexts of a component with a fair cycle, if there is one.
    fn run(&mut self) -> Result<Option<Component>, StopReason> {
        self.guard.check_now()?;
        let mut initial = Vec::new();
        self.model.initial(&mut initial);
        let mut roots = Vec::new();
        for state in initial {
            let (state, _) = self.states.intern(state)?;
            let (entry, new) = self.calls.entry(state);
            if new {
                self.calls.entries[entry as usize].initial = true;
                let root = self.context(state, entry, 0, NONE, Edge::Start)?;
                self.calls.entries[entry as usize].context = root;
                roots.push(root);
            }
        }
        for root in roots {
            if self.contexts[root as usize].more.index == 0 {
                self.visit(root, 0)?;
                if let Some(component) = self.search()? {
                    return Ok(Some(component));
                }
            }
        }
        Ok(None)
    }

    fn search(&mut self) -> Result<Option<Component>, StopReason> {
        let mut ticks = 0u32;
        loop {
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
            let Some(frame) = self.frames.last() else {
                return Ok(None);
            };
            let context = frame.context;
            let edge = if frame.split
                && let Some(parts) = self.splits.last_mut()
                && parts.next < parts.count
            {
                let state = self.contexts[context as usize].state;
                let state = self.states.get(state);
                let part = self.model.refine(state, parts.tag, parts.next);
                parts.next += 1;
                Some(Successor {
                    from: context,
                    edge: Edge::Refine,
                    state: part,
                })
            } else if self.successors.len() > frame.successors as usize {
                self.successors.pop()
            } else {
                None
            };
            if let Some(edge) = edge {
                if let Some(component) = self.follow(edge)? {
                    return Ok(Some(component));
                }
                continue;
            }
            // Every edge of this frame has been followed.
            let Some(boundary) = self.boundaries.last() else {
                return Ok(None);
            };
            let start = boundary.start;
            if self.contexts[context as usize].more.index == start + 1 {
                // The root of a component: first the edges that have appeared at its members.
                if self.resume_late(start)? {
                    continue;
                }
                if let Some(component) = self.close()? {
                    return Ok(Some(component));
                }
            }
            if let Some(frame) = self.frames.pop()
                && frame.split
            {
                self.splits.pop();
            }
        }
    }

    /// Follows an edge from a member of the top component (UPDATE-SCCs).
    fn follow(&mut self, edge: Successor<M::State>) -> Result<Option<Component>, StopReason> {
        let Successor {
            from,
            edge,
            mut state,
        } = edge;
        if let Edge::Call(call) = edge {
            return self.follow_call(from, call, state);
        }
        let source = self.contexts[from as usize];
        let mut edge_marks = 0;
        if let Edge::Chain(_) | Edge::Summary(_) = edge {
            let only_exit;
            (state, edge_marks, only_exit) = self.chain(state);
            if let Edge::Summary(exit) = edge {
                edge_marks |= self.calls.exits[exit as usize].marks;
            }
            let initial = self.calls.entries[source.entry as usize].initial;
            if let Some(exit) = only_exit.filter(|_| !initial) {
                // All that it does is exit: it need not be remembered.
                let own = self.own_marks(&state) | self.own_marks(self.states.get(source.state));
                let marks = source.more.marks | own | edge_marks;
                self.exit(source.entry, exit, marks, (from, edge))?;
                return Ok(None);
            }
        }
        let (state, _) = self.states.intern(state)?;
        let marks = match edge {
            Edge::Refine => source.more.marks,
            _ => source.more.marks | edge_marks | self.own_marks(self.states.get(source.state)),
        };
        let target = self.context(state, source.entry, marks, from, edge)?;
        self.arrive(target, edge_marks)
    }

    /// Follows a call.
    fn follow_call(
        &mut self,
        from: u32,
        call: u32,
        callee: M::State,
    ) -> Result<Option<Component>, StopReason> {
        let (state, _) = self.states.intern(callee)?;
        let (entry, new) = self.calls.entry(state);
        let caller = self.calls.add_caller(entry, from, call);
        if new {
            let first = self.states.get(state).clone();
            let (end, marks, only_exit) = self.chain(first);
            if let Some(exit) = only_exit {
                let marks = marks | self.own_marks(&end);
                self.calls.entries[entry as usize].closed = true;
                self.exit(entry, exit, marks, (NONE, Edge::Start))?;
                return Ok(None);
            }
            let (end, _) = self.states.intern(end)?;
            let context = self.context(end, entry, marks, from, Edge::Call(call))?;
            self.calls.entries[entry as usize].context = context;
        } else if self.calls.entries[entry as usize].first_exit != NONE {
            self.queue(caller);
        }
        // The context of the entry itself, not one with more marks that came back to it.
        match self.calls.entries[entry as usize].context {
            NONE => Ok(None),
            target => self.arrive(target, self.contexts[target as usize].more.marks),
        }
    }

    /// The end of the chain that begins in a state, the marks of the states before it, and what it
    /// exits with, if that is all it does.
    fn chain(&mut self, first: M::State) -> (M::State, u32, Option<M::State>) {
        let known = Summaries {
            model: self.model,
            states: &self.states,
            calls: &self.calls,
            marks: self.marks,
            before: NONE,
        };
        let mut marks = 0;
        let end = chain::follow(&known, &mut self.passed, first, None, |state, by| {
            marks |= known.passed_marks(state, by);
        });
        (end, marks, chain::only_exit(&mut self.passed.steps))
    }

    /// An edge with these marks leads from the top component to a context.
    fn arrive(&mut self, target: u32, edge_marks: u32) -> Result<Option<Component>, StopReason> {
        match self.contexts[target as usize].more.index {
            0 => {
                self.visit(target, edge_marks)?;
                Ok(None)
            }
            CLOSED => Ok(None),
            index => self.contract(index, edge_marks),
        }
    }

    /// An edge from the top component to the component that holds place `index`: all
    /// between them become one.
    fn contract(&mut self, index: u32, edge_marks: u32) -> Result<Option<Component>, StopReason> {
        let mut marks = edge_marks;
        let mut searched = 0;
        while let Some(top) = self.boundaries.last()
            && top.start >= index
        {
            marks |= top.marks | top.in_marks;
            searched += top.searched;
            self.boundaries.pop();
        }
        let open = self.open.len() as u32;
        let Some(top) = self.boundaries.last_mut() else {
            return Ok(None);
        };
        top.marks |= marks;
        top.searched += searched;
        top.cyclic = true;
        if top.marks != self.all_marks {
            return Ok(None);
        }
        let start = top.start;
        match self.runs {
            Runs::All => Ok(Some(self.component(start))),
            Runs::FiniteStack => {
                let size = open - start;
                if size < 2 * top.searched {
                    return Ok(None);
                }
                top.searched = size;
                self.find_flat_cycle(start)
            }
        }
    }

    fn component(&self, start: u32) -> Component {
        Component {
            contexts: self.open[start as usize..].to_vec(),
        }
    }

    fn find_flat_cycle(&mut self, start: u32) -> Result<Option<Component>, StopReason> {
        self.guard.check_now()?;
        let component = self.component(start);
        Ok(lasso::flat_component(self, &component, self.all_marks))
    }

    /// The top component has all its edges (CREATE-COMPONENT).
    fn close(&mut self) -> Result<Option<Component>, StopReason> {
        let Some(boundary) = self.boundaries.pop() else {
            return Ok(None);
        };
        if self.runs == Runs::FiniteStack && boundary.cyclic && boundary.marks == self.all_marks {
            let found = self.find_flat_cycle(boundary.start)?;
            if found.is_some() {
                return Ok(found);
            }
        }
        for id in self.open.drain(boundary.start as usize..) {
            let context = &mut self.contexts[id as usize];
            context.more.index = CLOSED;
            let entry = &mut self.calls.entries[context.entry as usize];
            entry.closed |= entry.context == id;
        }
        Ok(None)
    }

    /// Puts the summary edges of a waiting caller in the top component on the agenda.
    fn resume_late(&mut self, start: u32) -> Result<bool, StopReason> {
        let before = self.successors.len();
        while let Some(&(place, id)) = self.late.peek()
            && place > start
        {
            self.late.pop();
            let caller = self.calls.callers[id as usize];
            let entry = self.calls.entries[caller.entry as usize];
            let mut exit = match caller.seen {
                NONE => entry.first_exit,
                seen => self.calls.exits[seen as usize].next,
            };
            let state = self.contexts[caller.context as usize].state;
            while exit != NONE {
                let record = self.calls.exits[exit as usize];
                let complete = self.model.resume(
                    self.states.get(state),
                    CallId(caller.call),
                    self.states.get(record.state),
                    &mut self.resumed,
                );
                if !complete {
                    self.guard.check_now()?;
                    return Err(self.model.gave_up());
                }
                self.successors
                    .extend(self.resumed.drain(..).map(|state| Successor {
                        from: caller.context,
                        edge: Edge::Summary(exit),
                        state,
                    }));
                exit = record.next;
            }
            let caller = &mut self.calls.callers[id as usize];
            caller.seen = entry.last_exit;
            caller.queued = false;
            if self.successors.len() > before {
                self.successors[before..].reverse();
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Makes a caller wait until its component is about to be closed.
    fn queue(&mut self, caller: u32) {
        let record = &mut self.calls.callers[caller as usize];
        if !record.queued {
            record.queued = true;
            let place = self.contexts[record.context as usize].more.index;
            debug_assert!(place != CLOSED, "a caller is open as long as its callee is");
            self.late.push((place, caller));
        }
    }

    /// Expands a new context and makes it the top component.
    fn visit(&mut self, context: u32, in_marks: u32) -> Result<(), StopReason> {
        let place = self.open.len() as u32;
        self.open.push(context);
        let record = &mut self.contexts[context as usize];
        record.more.index = place + 1;
        let (entry, marks) = (record.entry, record.more.marks);
        let state = self.states.get(record.state).clone();
        let mut frame = Frame {
            context,
            // There is no room for so many that they do not fit.
            successors: self.successors.len() as u32,
            split: false,
        };
        let mut own = 0;
        let mut steps = std::mem::take(&mut self.steps);
        steps.clear();
        self.model.steps(&state, &mut steps);
        if let Some(split) = steps.as_split() {
            frame.split = true;
            self.splits.push(Parts {
                tag: split.tag,
                next: 0,
                count: split.count,
            });
        } else {
            if steps.overflowed() {
                self.guard.check_now()?;
                return Err(self.model.gave_up());
            }
            own = self.own_marks(&state);
            for (index, step) in steps.drain().enumerate() {
                let (edge, state) = match step {
                    // There are not so many steps that the index does not fit.
                    Step::Internal(state) => (Edge::Chain(index as u32), state),
                    Step::Call(call, state) => {
                        if call.0 > Edge::LARGEST {
                            return Err(TOO_MANY_SUMMARIES);
                        }
                        (Edge::Call(call.0), state)
                    }
                    Step::Exit(exit) => {
                        let outermost = self.calls.entries[entry as usize].initial;
                        let last = if outermost {
                            self.model.terminated(&exit)
                        } else {
                            None
                        };
                        self.ended |= outermost && last.is_none();
                        self.exit(entry, exit, marks | own, (context, Edge::Start))?;
                        let Some(last) = last else { continue };
                        (Edge::Terminated, last)
                    }
                };
                self.successors.push(Successor {
                    from: context,
                    edge,
                    state,
                });
            }
            self.successors[frame.successors as usize..].reverse();
        }
        self.steps = steps;
        self.frames.push(frame);
        self.boundaries.push(Boundary {
            start: place,
            marks: own,
            in_marks,
            cyclic: false,
            searched: 0,
        });
        Ok(())
    }

    /// A way out of an entry has been found.
    fn exit(
        &mut self,
        entry: u32,
        exit: M::State,
        marks: u32,
        way: (u32, Edge),
    ) -> Result<(), StopReason> {
        let (exit, _) = self.states.intern(exit)?;
        if self.calls.add_exit(entry, exit, marks, way)?.is_some() {
            let mut caller = self.calls.entries[entry as usize].first_caller;
            while caller != NONE {
                self.queue(caller);
                caller = self.calls.callers[caller as usize].next;
            }
        }
        Ok(())
    }

    /// The marks of a state that does not split.
    pub(crate) fn own_marks(&self, state: &M::State) -> u32 {
        self.known().own_marks(state)
    }

    /// What is known about calls so far.
    pub(crate) fn known(&self) -> Summaries<'_, M> {
        Summaries {
            model: self.model,
            states: &self.states,
            calls: &self.calls,
            marks: self.marks,
            before: NONE,
        }
    }

    /// The context (state, entry) with at least these marks; made if there is none.
    fn context(
        &mut self,
        state: u32,
        entry: u32,
        marks: u32,
        parent: u32,
        edge: Edge,
    ) -> Result<u32, StopReason> {
        let id = self.contexts.len() as u32;
        if id >= NONE - 2 {
            let most = u64::from(NONE - 2);
            return Err(StopReason::TooMany(Countable::PathEdges, most));
        }
        let contexts = &mut self.contexts;
        let covers = |visit: &Visit| visit.marks & marks == marks;
        let place = match self.alike.find(contexts, (entry, state), covers) {
            Ok(known) => return Ok(known),
            Err(place) => place,
        };
        let visit = Visit { marks, index: 0 };
        contexts.push(Context::new((entry, state), parent, edge, visit));
        self.alike.add(contexts, id, place);
        Ok(id)
    }

    /// The first context found with the same entry and state, whatever its marks.
    pub(crate) fn first_like(&self, context: u32) -> u32 {
        let pair = self.contexts[context as usize].pair();
        let alike = self.alike.all(&self.contexts, pair);
        alike.min().unwrap_or(context)
    }

    fn report(&self, phase: &'static str) {
        if let Some(reporter) = self.options.reporter {
            reporter(Progress {
                phase,
                counters: Counters::Explicit {
                    path_edges: self.contexts.len() as u64,
                    states: self.states.len() as u64,
                    waiting: self.frames.len() as u64,
                },
            });
        }
    }

    fn stats(&self) -> Stats {
        let stacks = self.frames.capacity() * size_of::<Frame>()
            + self.splits.capacity() * size_of::<Parts>()
            + self.successors.capacity() * size_of::<Successor<M::State>>()
            + self.open.capacity() * 4
            + self.boundaries.capacity() * size_of::<Boundary>();
        let contexts = self.contexts.len();
        let others = contexts * size_of::<Context<Visit>>() + self.alike.bytes() + stacks;
        Stats {
            ended: self.ended,
            ..stats(self.began, contexts, &self.states, &self.calls, others)
        }
    }

    /// Only what a trace needs.
    pub(crate) fn into_ways(self) -> (Ways<'a, M>, Guard) {
        let links = self.contexts.into_iter().map(|context| Link {
            entry: context.entry,
            state: context.state,
            parent: context.parent,
            edge: context.edge,
            marks: context.more.marks,
        });
        let chains = Some(self.marks);
        let ways = Ways::new(self.model, self.states, self.calls, links.collect(), chains);
        (ways, self.guard)
    }
}
