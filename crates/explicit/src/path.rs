//! From parents to traces.
//!
//! Each context remembers the context and the edge it was found through; following them
//! back gives a path of the state graph. A summary edge names an exit; the callee's own
//! parents, from the context that exits back to the entry, give the run inside. Runs are built
//! once each, callees first, with an explicit stack. A context is found only after the exits its
//! summary edges name, so this is well-founded.

use droste_base::{CallId, Model, Position, Run, RunId, Step, Steps, Trace, Via};
use rustc_hash::FxHashMap;

use crate::chain;
use crate::tables::{Calls, Edge, Entry, Exit, Interner};

/// How a context was found.
#[derive(Clone, Copy)]
pub(crate) struct Link {
    pub(crate) state: u32,
    pub(crate) parent: u32,
    pub(crate) edge: u32,
}

/// What is left of a search when a trace is built: traces are large, and the tables that only a
/// search needs have been freed by then.
pub(crate) struct Ways<'a, M: Model> {
    model: &'a M,
    states: Vec<M::State>,
    /// For each context.
    links: Vec<Link>,
    entries: Vec<Entry>,
    exits: Vec<Exit>,
}

impl<'a, M: Model> Ways<'a, M> {
    pub(crate) fn new(
        model: &'a M,
        states: Interner<M::State>,
        calls: Calls,
        links: Vec<Link>,
    ) -> Self {
        Ways {
            model,
            states: states.into_states(),
            links,
            entries: calls.entries,
            exits: calls.exits,
        }
    }

    fn parent(&self, context: u32) -> (u32, Edge) {
        let link = &self.links[context as usize];
        (link.parent, Edge::unpack(link.edge))
    }

    pub(crate) fn state(&self, context: u32) -> &M::State {
        &self.states[self.links[context as usize].state as usize]
    }
}

/// Builds runs for exits, sharing them.
pub(crate) struct RunBuilder<'a, M: Model> {
    ways: &'a Ways<'a, M>,
    runs: Vec<Run<M::State>>,
    ids: FxHashMap<u32, RunId>,
}

impl<'a, M: Model> RunBuilder<'a, M> {
    pub(crate) fn new(ways: &'a Ways<'a, M>) -> Self {
        RunBuilder {
            ways,
            runs: Vec::new(),
            ids: FxHashMap::default(),
        }
    }

    /// The contexts from `root` (included) to `context`, with the edge into each.
    fn contexts(
        &self,
        mut context: u32,
        root: impl Fn(u32, Edge) -> bool,
    ) -> Vec<(u32, u32, Edge)> {
        let mut path = Vec::new();
        loop {
            let (parent, edge) = self.ways.parent(context);
            path.push((context, parent, edge));
            if root(context, edge) {
                break;
            }
            context = parent;
        }
        path.reverse();
        path
    }

    /// The run behind an exit.
    pub(crate) fn run(&mut self, exit: u32) -> RunId {
        let mut stack = vec![exit];
        while let Some(&exit) = stack.last() {
            if self.ids.contains_key(&exit) {
                stack.pop();
                continue;
            }
            let record = self.ways.exits[exit as usize];
            let start = self.ways.entries[record.entry as usize].context;
            let path = self.contexts(record.context, |context, _| context == start);
            let before = stack.len();
            for &(context, _, edge) in &path {
                if let Edge::Summary(inner) = edge
                    && context != start
                    && !self.ids.contains_key(&inner)
                {
                    stack.push(inner);
                }
            }
            if stack.len() > before {
                continue; // Callees first.
            }
            let mut positions = Vec::with_capacity(path.len());
            for &(context, parent, edge) in &path {
                if context == start {
                    positions.push(Position {
                        via: Via::Start,
                        state: self.ways.state(context).clone(),
                    });
                } else {
                    self.arrive(parent, edge, context, &mut positions);
                }
            }
            let id = RunId(self.runs.len() as u32);
            let exit_state = self.ways.states[record.state as usize].clone();
            self.runs.push(Run {
                positions,
                exit: exit_state,
            });
            self.ids.insert(exit, id);
            stack.pop();
        }
        self.ids[&exit]
    }

    /// The edge from `parent` to `context`; the run of a summary must have been built.
    fn via(&self, parent: u32, edge: Edge, context: u32) -> Via {
        match edge {
            Edge::Start => Via::Start,
            Edge::Step | Edge::Chain(_) => Via::Step,
            Edge::Refine => Via::Refine,
            Edge::Call(call) => Via::Call(CallId(call)),
            Edge::Summary(exit) => {
                Via::Summary(self.call_of(parent, exit, context), self.ids[&exit])
            }
            Edge::Terminated => Via::Terminated,
        }
    }

    /// With which of its calls `parent` got from the entry of `exit` to `context`. A state may make
    /// several calls of one entry, which go on differently; the model is asked again.
    fn call_of(&self, parent: u32, exit: u32, context: u32) -> CallId {
        let (model, caller) = (self.ways.model, self.ways.state(parent));
        let exit = self.ways.exits[exit as usize];
        let entry = self.ways.entries[exit.entry as usize].context;
        let (entry, exit) = (
            self.ways.state(entry),
            &self.ways.states[exit.state as usize],
        );
        let mut steps = Steps::new();
        model.steps(caller, &mut steps);
        let calls = steps.items().iter().filter_map(|step| match step {
            Step::Call(call, callee) if callee == entry => Some(*call),
            _ => None,
        });
        let mut resumed = Vec::new();
        let mut last = None;
        for call in calls {
            resumed.clear();
            model.resume(caller, call, exit, &mut resumed);
            if resumed.contains(self.ways.state(context)) {
                return call;
            }
            last = Some(call);
        }
        // Only if the model is not a function of its arguments; the trace will not replay.
        last.unwrap_or(CallId(0))
    }

    /// Adds the position `context`, reached from `parent` by `edge`, after those of a chain that leads there. The run of a summary must
    /// have been built.
    fn arrive(
        &self,
        parent: u32,
        edge: Edge,
        context: u32,
        positions: &mut Vec<Position<M::State>>,
    ) {
        if let Edge::Chain(index) = edge {
            let states = chain::states(self.ways.model, self.ways.state(parent), index);
            positions.extend(states.into_iter().map(|state| Position {
                via: Via::Step,
                state,
            }));
            return;
        }
        positions.push(Position {
            via: self.via(parent, edge, context),
            state: self.ways.state(context).clone(),
        });
    }

    /// An edge that is not the one a context was found through.
    pub(crate) fn via_call(&mut self, edge: Edge, call: CallId) -> Via {
        match edge {
            Edge::Summary(exit) => Via::Summary(call, self.run(exit)),
            Edge::Call(_) => Via::Call(call),
            Edge::Start => Via::Start,
            Edge::Step | Edge::Chain(_) => Via::Step,
            Edge::Refine => Via::Refine,
            Edge::Terminated => Via::Terminated,
        }
    }

    /// The positions from the start of the run to `context`.
    pub(crate) fn stem(&mut self, context: u32) -> Vec<Position<M::State>> {
        let path = self.contexts(context, |_, edge| edge == Edge::Start);
        let mut positions = Vec::with_capacity(path.len());
        for (context, parent, edge) in path {
            if let Edge::Summary(exit) = edge {
                self.run(exit);
            }
            self.arrive(parent, edge, context, &mut positions);
        }
        positions
    }

    pub(crate) fn finish(self) -> Vec<Run<M::State>> {
        self.runs
    }
}

/// The finite trace that ends in `context`.
pub(crate) fn trace_to<M: Model>(ways: &Ways<'_, M>, context: u32) -> Trace<M::State> {
    let mut builder = RunBuilder::new(ways);
    let positions = builder.stem(context);
    Trace {
        runs: builder.finish(),
        positions,
        cycle: None,
    }
}
