//! From parents to traces.
//!
//! Each context remembers the context and the edge it was found through; following them
//! back gives a path of the state graph. A summary edge names an exit; the callee's own
//! parents, from the context that exits back to the entry, give the run inside. Runs are built
//! once each, callees first, with an explicit stack. A context is found only after the exits its
//! summary edges name, so this is well-founded. States of chains, which the search has passed, are
//! found again by asking the model.

use droste_base::{CallId, Model, Position, PropId, Run, RunId, Step, Steps, Trace, Via};

use crate::chain;
use crate::tables::{Calls, Edge, Entry, Exit, Interner, NONE};

/// How a context was found.
#[derive(Clone, Copy)]
pub(crate) struct Link {
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
    states: Vec<M::State>,
    /// For each context.
    links: Vec<Link>,
    entries: Vec<Entry>,
    exits: Vec<Exit>,
    /// If the search has passed chains: the marks that it looked for.
    chains: Option<&'a [PropId]>,
}

impl<'a, M: Model> Ways<'a, M> {
    pub(crate) fn new(
        model: &'a M,
        states: Interner<M::State>,
        calls: Calls,
        links: Vec<Link>,
        chains: Option<&'a [PropId]>,
    ) -> Self {
        Ways {
            model,
            states: states.into_states(),
            links,
            entries: calls.entries,
            exits: calls.exits,
            chains,
        }
    }

    fn parent(&self, context: u32) -> (u32, Edge) {
        let link = &self.links[context as usize];
        (link.parent, Edge::unpack(link.edge))
    }

    fn state(&self, context: u32) -> &M::State {
        &self.states[self.links[context as usize].state as usize]
    }

    fn own_marks(&self, state: &M::State) -> u32 {
        let marks = self.chains.unwrap_or(&[]).iter().enumerate();
        marks.fold(0, |marks, (i, &mark)| {
            marks | u32::from(self.model.holds(state, mark)) << i
        })
    }

    /// The end of the chain that begins in a state; the state itself, if there are no chains.
    fn follow(
        &self,
        first: M::State,
        steps: &mut Steps<M::State>,
        pass: impl FnMut(&M::State),
    ) -> M::State {
        match self.chains {
            Some(_) => chain::follow(self.model, first, steps, pass),
            None => first,
        }
    }
}

/// Where an edge leads.
#[derive(Clone, Copy)]
enum Target {
    Context(u32),
    /// To a state that leaves through this exit, and was not remembered.
    Exit(u32),
}

/// Builds runs for exits, sharing them.
pub(crate) struct RunBuilder<'a, M: Model> {
    ways: &'a Ways<'a, M>,
    runs: Vec<Run<M::State>>,
    /// For each exit the run, or [`NONE`].
    ids: Vec<u32>,
    /// Buffers.
    steps: Steps<M::State>,
    passed: Steps<M::State>,
    resumed: Vec<M::State>,
}

impl<'a, M: Model> RunBuilder<'a, M> {
    pub(crate) fn new(ways: &'a Ways<'a, M>) -> Self {
        RunBuilder {
            ways,
            runs: Vec::new(),
            ids: vec![NONE; ways.exits.len()],
            steps: Steps::new(),
            passed: Steps::new(),
            resumed: Vec::new(),
        }
    }

    /// The contexts from `root` (included) to `context`, with the edge into each.
    fn contexts(
        &self,
        mut context: u32,
        root: impl Fn(u32, Edge) -> bool,
        path: &mut Vec<(u32, u32, Edge)>,
    ) {
        path.clear();
        loop {
            let (parent, edge) = self.ways.parent(context);
            path.push((context, parent, edge));
            if root(context, edge) {
                break;
            }
            context = parent;
        }
        path.reverse();
    }

    /// The run behind an exit.
    fn run(&mut self, exit: u32) -> RunId {
        let ways = self.ways;
        let mut stack = vec![exit];
        let mut path = Vec::new();
        while let Some(&exit) = stack.last() {
            if self.ids[exit as usize] != NONE {
                stack.pop();
                continue;
            }
            let record = ways.exits[exit as usize];
            let last = Edge::unpack(record.edge);
            let start = ways.entries[record.entry as usize].context;
            self.contexts(record.context, |context, _| context == start, &mut path);
            let before = stack.len();
            let inside = path.iter().filter(|&&(context, ..)| context != start);
            for edge in inside.map(|&(_, _, edge)| edge).chain([last]) {
                if let Edge::Summary(inner) = edge
                    && self.ids[inner as usize] == NONE
                {
                    stack.push(inner);
                }
            }
            if stack.len() > before {
                continue; // Callees first.
            }
            let mut positions = Vec::with_capacity(2 * path.len());
            for &(context, parent, edge) in &path {
                if context == start {
                    positions.push(Position {
                        via: Via::Start,
                        state: ways.state(context).clone(),
                    });
                } else {
                    self.arrive(parent, edge, Target::Context(context), &mut positions);
                }
            }
            if last != Edge::Start {
                self.arrive(record.context, last, Target::Exit(exit), &mut positions);
            }
            positions.shrink_to_fit();
            self.ids[exit as usize] = self.runs.len() as u32;
            self.runs.push(Run {
                positions,
                exit: ways.states[record.state as usize].clone(),
            });
            stack.pop();
        }
        RunId(self.ids[exit as usize])
    }

    /// Adds the positions to which an edge from `parent` leads. The run of a summary must have been built.
    fn arrive(
        &mut self,
        parent: u32,
        edge: Edge,
        target: Target,
        positions: &mut Vec<Position<M::State>>,
    ) {
        match (edge, target) {
            (Edge::Chain(index), _) => self.step(index, positions),
            (Edge::Summary(exit), _) => {
                let way = self.way(parent, exit, target);
                self.summary(exit, way, positions);
            }
            (_, Target::Context(context)) => self.other(edge, context, positions),
            // Only chains and summaries lead to states that are not remembered.
            (_, Target::Exit(_)) => {}
        }
    }

    /// Step number `index` of the last position, and the chain that it begins.
    pub(crate) fn step(&mut self, index: u32, positions: &mut Vec<Position<M::State>>) {
        let Some(last) = positions.last() else { return };
        self.steps.clear();
        self.ways.model.steps(&last.state, &mut self.steps);
        let step = self.steps.drain().nth(index as usize);
        if let Some(Step::Internal(first)) = step {
            self.go_on(Via::Step, first, positions);
        }
    }

    /// A call at the last position, made and returned from as `way` says, and the chain that follows.
    pub(crate) fn summary(
        &mut self,
        exit: u32,
        (call, which): (CallId, u32),
        positions: &mut Vec<Position<M::State>>,
    ) {
        let via = Via::Summary(call, self.run(exit));
        let Some(last) = positions.last() else { return };
        let exit = self.ways.exits[exit as usize].state;
        let exit = &self.ways.states[exit as usize];
        self.resumed.clear();
        let model = self.ways.model;
        model.resume(&last.state, call, exit, &mut self.resumed);
        let first = self.resumed.drain(..).nth(which as usize);
        if let Some(first) = first {
            self.go_on(via, first, positions);
        }
    }

    /// An edge of another kind.
    pub(crate) fn other(&self, edge: Edge, context: u32, positions: &mut Vec<Position<M::State>>) {
        positions.push(Position {
            via: match edge {
                Edge::Start => Via::Start,
                Edge::Step | Edge::Chain(_) | Edge::Summary(_) => Via::Step,
                Edge::Refine => Via::Refine,
                Edge::Call(call) => Via::Call(CallId(call)),
                Edge::Terminated => Via::Terminated,
            },
            state: self.ways.state(context).clone(),
        });
    }

    /// The position `first` and those of the chain that begins there.
    fn go_on(&mut self, via: Via, first: M::State, positions: &mut Vec<Position<M::State>>) {
        let mut via = via;
        let end = self.ways.follow(first, &mut self.passed, |state| {
            let via = std::mem::replace(&mut via, Via::Step);
            let state = state.clone();
            positions.push(Position { via, state });
        });
        positions.push(Position { via, state: end });
    }

    /// With which of its calls, and in which of the ways to go on after it, `parent` got from the entry of `exit` to the target. A
    /// state may make several calls of one entry, which go on differently; the model is asked again.
    fn way(&mut self, parent: u32, exit: u32, target: Target) -> (CallId, u32) {
        let ways = self.ways;
        let caller = ways.state(parent);
        let record = ways.exits[exit as usize];
        let entry = ways.state(ways.entries[record.entry as usize].context);
        let exit = &ways.states[record.state as usize];
        self.steps.clear();
        ways.model.steps(caller, &mut self.steps);
        let calls = self.steps.items().iter().filter_map(|step| match step {
            Step::Call(call, callee) if callee == entry => Some(*call),
            _ => None,
        });
        let alone = calls.clone().count() == 1;
        let mut best = None;
        for call in calls {
            self.resumed.clear();
            ways.model.resume(caller, call, exit, &mut self.resumed);
            if alone && self.resumed.len() == 1 {
                return (call, 0);
            }
            for (which, first) in self.resumed.drain(..).enumerate() {
                let mut marks = ways.links[parent as usize].marks | record.marks;
                marks |= ways.own_marks(caller);
                self.passed.clear();
                let end = ways.follow(first, &mut self.passed, |state| {
                    marks |= ways.own_marks(state);
                });
                let (there, wanted) = match target {
                    Target::Context(context) => (
                        end == *ways.state(context),
                        ways.links[context as usize].marks,
                    ),
                    Target::Exit(id) => {
                        let wanted = ways.exits[id as usize];
                        let exit = chain::only_exit(&mut self.passed);
                        let there = exit.as_ref() == Some(&ways.states[wanted.state as usize]);
                        if there {
                            marks |= ways.own_marks(&end);
                        }
                        (there, wanted.marks)
                    }
                };
                if there && (marks == wanted || ways.chains.is_none()) {
                    return (call, which as u32);
                }
                best = best.or(Some((call, which as u32)));
            }
        }
        // Only if the model is not a function of its arguments; the trace will not replay.
        best.unwrap_or((CallId(0), 0))
    }

    /// The positions from the start of the run to `context`.
    pub(crate) fn stem(&mut self, context: u32) -> Vec<Position<M::State>> {
        let mut path = Vec::new();
        self.contexts(context, |_, edge| edge == Edge::Start, &mut path);
        let mut positions = Vec::with_capacity(path.len());
        for (context, parent, edge) in path {
            if let Edge::Summary(exit) = edge {
                self.run(exit);
            }
            self.arrive(parent, edge, Target::Context(context), &mut positions);
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
