//! From parents to traces: writing down the run that a search has found.
//!
//! Each context (path edge) remembers the context and the edge through which it was found.
//! Following these back gives a path of the state graph. A summary edge names an exit. The callee's
//! own parents, from the context that exits back to the entry, give the run inside. Runs are built
//! once each, callees first, with an explicit stack. A context is found only after the exits that
//! its summary edges name, so the construction ends. States of chains, which the search has passed
//! and not stored, are found again by asking the model; so are the calls in chains.

use droste_base::{
    CallId, Guard, Interner, Model, Position, PropId, Run, RunId, Step, Steps, StopReason, Trace,
    Via,
};

use crate::chain::{self, Buffers, By, Summaries};
use crate::tables::{Calls, Edge, NONE};

/// How a context was found.
#[derive(Clone, Copy)]
pub(crate) struct Link {
    pub(crate) entry: u32,
    pub(crate) state: u32,
    pub(crate) parent: u32,
    pub(crate) edge: u32,
    /// Marks met since the entry, up to, not including, this state.
    pub(crate) marks: u32,
}

/// What is left of a search when a trace is built: traces are large, and the tables that only a
/// search needs have been freed by then.
pub(crate) struct Ways<'a, M: Model> {
    model: &'a M,
    states: Interner<M::State>,
    /// For each context.
    links: Vec<Link>,
    calls: Calls,
    /// If the search has passed chains: the marks that it looked for.
    chains: Option<&'a [PropId]>,
}

impl<'a, M: Model> Ways<'a, M> {
    pub(crate) fn new(
        model: &'a M,
        states: Interner<M::State>,
        mut calls: Calls,
        links: Vec<Link>,
        chains: Option<&'a [PropId]>,
    ) -> Self {
        calls.callers = Vec::new();
        Ways {
            model,
            states,
            links,
            calls,
            chains,
        }
    }

    fn parent(&self, context: u32) -> (u32, Edge) {
        let link = &self.links[context as usize];
        (link.parent, Edge::unpack(link.edge))
    }

    fn state(&self, context: u32) -> &M::State {
        self.states.get(self.links[context as usize].state)
    }

    fn exit_state(&self, exit: u32) -> &M::State {
        self.states.get(self.calls.exits[exit as usize].state)
    }

    fn known(&self) -> Summaries<'_, M> {
        Summaries {
            model: self.model,
            states: &self.states,
            calls: &self.calls,
            marks: self.chains.unwrap_or(&[]),
            before: NONE,
        }
    }
}

/// Where an edge leads.
#[derive(Clone, Copy)]
pub(crate) enum Target {
    Context(u32),
    /// To a state that leaves through this exit, and was not remembered.
    Exit(u32),
}

/// A run that is being built.
struct Building<S> {
    exit: u32,
    positions: Vec<Position<S>>,
    /// Up to here its calls have been built.
    done: usize,
}

/// Builds runs for exits, sharing them. While positions are being built, the runs of their
/// summaries have the numbers of their exits; see [`RunBuilder::finish`].
pub(crate) struct RunBuilder<'a, M: Model> {
    ways: &'a Ways<'a, M>,
    guard: Guard,
    known: Summaries<'a, M>,
    runs: Vec<Run<M::State>>,
    /// For each exit the run, or [`NONE`].
    ids: Vec<u32>,
    /// Buffers.
    steps: Steps<M::State>,
    passed: Buffers<M::State>,
    resumed: Vec<M::State>,
    path: Vec<(u32, u32, Edge)>,
    scratch: Vec<Position<M::State>>,
}

impl<'a, M: Model> RunBuilder<'a, M> {
    pub(crate) fn new(ways: &'a Ways<'a, M>, guard: Guard) -> Self {
        RunBuilder {
            ways,
            guard,
            known: ways.known(),
            runs: Vec::new(),
            ids: vec![NONE; ways.calls.exits.len()],
            steps: Steps::new(),
            passed: Buffers::default(),
            resumed: Vec::new(),
            path: Vec::new(),
            scratch: Vec::new(),
        }
    }

    /// The contexts from the one that `is_root` (included) to `context`, with their parents and the
    /// edge into each.
    fn contexts(&mut self, mut context: u32, is_root: impl Fn(u32, Edge) -> bool) {
        self.path.clear();
        loop {
            let (parent, edge) = self.ways.parent(context);
            self.path.push((context, parent, edge));
            if is_root(context, edge) {
                break;
            }
            context = parent;
        }
        self.path.reverse();
    }

    /// The positions of the run that leads to an exit.
    fn positions(&mut self, exit: u32) -> Vec<Position<M::State>> {
        let calls = &self.ways.calls;
        let record = calls.exits[exit as usize];
        let entry = calls.entries[record.entry as usize];
        // What was found later did not lead here, and its run may make this very call.
        self.known.before = exit;
        let mut positions = std::mem::take(&mut self.scratch);
        positions.clear();
        if record.context == NONE {
            let first = self.ways.states.get(entry.state).clone();
            self.go_on(Via::Start, first, Target::Exit(exit), &mut positions);
        } else {
            self.inside(Via::Start, record.context, &mut positions);
            let last = Edge::unpack(record.edge);
            if last != Edge::Start {
                self.arrive(record.context, last, Target::Exit(exit), &mut positions);
            }
        }
        let mut exact = Vec::with_capacity(positions.len());
        exact.append(&mut positions);
        self.scratch = positions;
        self.known.before = NONE;
        exact
    }

    /// Adds the positions from the entry of `context`, which is come to in this way, to `context`.
    fn inside(&mut self, via: Via, context: u32, positions: &mut Vec<Position<M::State>>) {
        let entry = self.ways.links[context as usize].entry;
        let first = self.ways.calls.entries[entry as usize].context;
        self.contexts(context, |context, _| context == first);
        self.enter(via, first, positions);
        for i in 1..self.path.len() {
            let (context, parent, edge) = self.path[i];
            self.arrive(parent, edge, Target::Context(context), positions);
        }
    }

    /// Builds the run that leads to an exit, and those that it calls.
    fn run(&mut self, exit: u32) -> Result<(), StopReason> {
        let mut stack: Vec<Building<M::State>> = Vec::new();
        let mut next = Some(exit);
        loop {
            self.guard.check()?;
            if let Some(exit) = next.take()
                && self.ids[exit as usize] == NONE
            {
                let positions = self.positions(exit);
                stack.push(Building {
                    exit,
                    positions,
                    done: 0,
                });
            }
            let Some(building) = stack.last_mut() else {
                return Ok(());
            };
            while let Some(position) = building.positions.get_mut(building.done) {
                if let Via::Summary(_, run) = &mut position.via {
                    let id = self.ids[run.0 as usize];
                    if id == NONE {
                        next = Some(run.0); // Callees first.
                        break;
                    }
                    *run = RunId(id);
                }
                building.done += 1;
            }
            if next.is_none()
                && let Some(Building {
                    exit, positions, ..
                }) = stack.pop()
            {
                self.ids[exit as usize] = self.runs.len() as u32;
                self.runs.push(Run {
                    positions,
                    exit: self.ways.exit_state(exit).clone(),
                });
            }
        }
    }

    /// Adds the positions to which an edge from `parent`, the last position, leads.
    fn arrive(
        &mut self,
        parent: u32,
        edge: Edge,
        target: Target,
        positions: &mut Vec<Position<M::State>>,
    ) {
        let way = match edge {
            Edge::Summary(exit) => self.way(parent, exit, target),
            _ => (CallId(0), 0),
        };
        self.edge(edge, way, target, positions);
    }

    /// Adds the positions to which an edge from the last one leads; for a summary, with the call
    /// and the way to go on that `way` names.
    pub(crate) fn edge(
        &mut self,
        edge: Edge,
        (call, which): (CallId, u32),
        target: Target,
        positions: &mut Vec<Position<M::State>>,
    ) {
        let model = self.ways.model;
        let (via, first) = match (edge, target) {
            (Edge::Chain(index), _) => {
                let Some(last) = positions.last() else { return };
                self.steps.clear();
                model.steps(&last.state, &mut self.steps);
                let step = self.steps.drain().nth(index as usize);
                let Some(Step::Internal(first)) = step else {
                    return;
                };
                (Via::Step, first)
            }
            (Edge::Summary(exit), _) => {
                let Some(last) = positions.last() else { return };
                self.resumed.clear();
                let exit_state = self.ways.exit_state(exit);
                model.resume(&last.state, call, exit_state, &mut self.resumed);
                let first = self.resumed.drain(..).nth(which as usize);
                let Some(first) = first else { return };
                (Via::Summary(call, RunId(exit)), first)
            }
            (Edge::Call(call), Target::Context(context)) => {
                return self.enter(Via::Call(CallId(call)), context, positions);
            }
            (_, Target::Context(context)) => {
                let via = match edge {
                    Edge::Start => Via::Start,
                    Edge::Refine => Via::Refine,
                    Edge::Terminated => Via::Terminated,
                    _ => Via::Step,
                };
                let state = self.ways.state(context).clone();
                return positions.push(Position { via, state });
            }
            // Only chains and summaries lead to states that are not remembered.
            (_, Target::Exit(_)) => return,
        };
        self.go_on(via, first, target, positions);
    }

    /// From the state of an entry to the entry's context.
    fn enter(&mut self, via: Via, context: u32, positions: &mut Vec<Position<M::State>>) {
        let ways = self.ways;
        let entry = &ways.calls.entries[ways.links[context as usize].entry as usize];
        let first = ways.states.get(entry.state).clone();
        if entry.initial {
            // There the search begins with the state itself.
            return positions.push(Position { via, state: first });
        }
        self.go_on(via, first, Target::Context(context), positions);
    }

    /// The position `first` and those of the chain that begins there.
    fn go_on(
        &mut self,
        via: Via,
        first: M::State,
        target: Target,
        positions: &mut Vec<Position<M::State>>,
    ) {
        let until = match target {
            Target::Context(context) => Some(self.ways.state(context)),
            Target::Exit(_) => None,
        };
        if self.ways.chains.is_none() {
            return positions.push(Position { via, state: first });
        }
        let mut via = via;
        let end = chain::follow(&self.known, &mut self.passed, first, until, |state, by| {
            let then = match by {
                By::Step => Via::Step,
                By::Call(call, exit) => Via::Summary(call, RunId(exit)),
            };
            let via = std::mem::replace(&mut via, then);
            let state = state.clone();
            positions.push(Position { via, state });
        });
        positions.push(Position { via, state: end });
    }

    /// With which of its calls, and in which of the ways to go on after it, `parent` got from the
    /// entry of `exit` to the target. A state may make several calls of one entry, which go on
    /// differently; the model is asked again.
    fn way(&mut self, parent: u32, exit: u32, target: Target) -> (CallId, u32) {
        let ways = self.ways;
        let caller = ways.state(parent);
        let record = ways.calls.exits[exit as usize];
        let entry = ways.calls.entries[record.entry as usize].state;
        let entry = ways.states.get(entry);
        let exit = ways.states.get(record.state);
        self.steps.clear();
        ways.model.steps(caller, &mut self.steps);
        let calls = self.steps.items().iter().filter_map(|step| match step {
            Step::Call(call, callee) if callee == entry => Some(*call),
            _ => None,
        });
        let alone = calls.clone().count() == 1;
        let mut best = None;
        let mut goes_on = Vec::new();
        for call in calls {
            goes_on.clear();
            ways.model.resume(caller, call, exit, &mut goes_on);
            if alone && goes_on.len() == 1 {
                return (call, 0);
            }
            for (which, first) in goes_on.drain(..).enumerate() {
                let way = (call, which as u32);
                best = best.or(Some(way));
                let until = match target {
                    Target::Context(context) => Some(ways.state(context)),
                    Target::Exit(_) => None,
                };
                if ways.chains.is_none() {
                    if until == Some(&first) {
                        return way;
                    }
                    continue;
                }
                let known = &self.known;
                let mut marks = ways.links[parent as usize].marks | record.marks;
                marks |= known.own_marks(caller);
                let end = chain::follow(known, &mut self.passed, first, until, |state, by| {
                    marks |= known.passed_marks(state, by);
                });
                let (there, wanted) = match target {
                    Target::Context(context) => (
                        end == *ways.state(context),
                        ways.links[context as usize].marks,
                    ),
                    Target::Exit(id) => {
                        let exit = chain::only_exit(&mut self.passed.steps);
                        let there = exit.as_ref() == Some(ways.exit_state(id));
                        if there {
                            marks |= self.known.own_marks(&end);
                        }
                        (there, ways.calls.exits[id as usize].marks)
                    }
                };
                if there && marks == wanted {
                    return way;
                }
            }
        }
        // Only if the model is not a function of its arguments; the trace will not replay.
        best.unwrap_or((CallId(0), 0))
    }

    /// The positions from the start of the run to `context`.
    pub(crate) fn stem(&mut self, context: u32) -> Vec<Position<M::State>> {
        self.contexts(context, |_, edge| edge == Edge::Start);
        let mut positions = Vec::with_capacity(self.path.len());
        for i in 0..self.path.len() {
            let (context, parent, edge) = self.path[i];
            self.arrive(parent, edge, Target::Context(context), &mut positions);
        }
        positions
    }

    /// The runs that the positions refer to; theirs are the numbers of the summaries from now on.
    pub(crate) fn finish(
        mut self,
        positions: &mut [Position<M::State>],
    ) -> Result<Vec<Run<M::State>>, StopReason> {
        for position in positions {
            if let Via::Summary(_, run) = &mut position.via {
                self.run(run.0)?;
                *run = RunId(self.ids[run.0 as usize]);
            }
        }
        Ok(self.runs)
    }
}

/// The finite trace that ends in `context`. With `call`, the procedure it is in is called by that
/// context.
pub(crate) fn trace_to<M: Model>(
    ways: &Ways<'_, M>,
    context: u32,
    call: Option<(u32, CallId)>,
    guard: Guard,
) -> Result<Trace<M::State>, StopReason> {
    let mut builder = RunBuilder::new(ways, guard);
    let mut positions = match call {
        None => builder.stem(context),
        Some((caller, call)) => {
            let mut positions = builder.stem(caller);
            builder.inside(Via::Call(call), context, &mut positions);
            positions
        }
    };
    Ok(Trace {
        runs: builder.finish(&mut positions)?,
        positions,
        cycle: None,
    })
}
