//! From parents to traces.
//!
//! Each context remembers the context and the edge it was found through; following them
//! back gives a path of the state graph. A summary edge names an exit; the callee's own
//! parents, from the context that exits back to the entry, give the run inside. Runs are built
//! once each, callees first, with an explicit stack. A context is found only after the exits its
//! summary edges name, so this is well-founded.

use droste_base::{CallId, Model, Position, Run, RunId, Step, Steps, Trace, Via};
use rustc_hash::FxHashMap;

use crate::tables::{Calls, Edge};

/// What path building needs to know about a search.
pub(crate) trait Parents {
    type Model: Model;
    fn model(&self) -> &Self::Model;
    fn parent(&self, context: u32) -> (u32, Edge);
    fn state(&self, context: u32) -> &StateOf<Self>;
    fn state_by_id(&self, state: u32) -> &StateOf<Self>;
    fn calls(&self) -> &Calls;
}

pub(crate) type StateOf<P> = <<P as Parents>::Model as Model>::State;

/// Builds runs for exits, sharing them.
pub(crate) struct RunBuilder<'a, P: Parents> {
    parents: &'a P,
    runs: Vec<Run<StateOf<P>>>,
    ids: FxHashMap<u32, RunId>,
}

impl<'a, P: Parents> RunBuilder<'a, P> {
    pub(crate) fn new(parents: &'a P) -> Self {
        RunBuilder {
            parents,
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
            let (parent, edge) = self.parents.parent(context);
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
            let record = self.parents.calls().exits[exit as usize];
            let start = self.parents.calls().entries[record.entry as usize].context;
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
            let positions = path
                .iter()
                .map(|&(context, parent, edge)| Position {
                    via: if context == start {
                        Via::Start
                    } else {
                        self.via(parent, edge, context)
                    },
                    state: self.parents.state(context).clone(),
                })
                .collect();
            let id = RunId(self.runs.len() as u32);
            let exit_state = self.parents.state_by_id(record.state).clone();
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
            Edge::Step => Via::Step,
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
        let (model, caller) = (self.parents.model(), self.parents.state(parent));
        let exit = self.parents.calls().exits[exit as usize];
        let entry = self.parents.calls().entries[exit.entry as usize].context;
        let (entry, exit) = (
            self.parents.state(entry),
            self.parents.state_by_id(exit.state),
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
            if resumed.contains(self.parents.state(context)) {
                return call;
            }
            last = Some(call);
        }
        // Only if the model is not a function of its arguments; the trace will not replay.
        last.unwrap_or(CallId(0))
    }

    /// The position `context` when reached from `parent` by `edge`.
    pub(crate) fn position(
        &mut self,
        parent: u32,
        edge: Edge,
        context: u32,
    ) -> Position<StateOf<P>> {
        if let Edge::Summary(exit) = edge {
            self.run(exit);
        }
        Position {
            via: self.via(parent, edge, context),
            state: self.parents.state(context).clone(),
        }
    }

    /// An edge that is not the one a context was found through.
    pub(crate) fn via_call(&mut self, edge: Edge, call: CallId) -> Via {
        match edge {
            Edge::Summary(exit) => Via::Summary(call, self.run(exit)),
            Edge::Call(_) => Via::Call(call),
            Edge::Start => Via::Start,
            Edge::Step => Via::Step,
            Edge::Refine => Via::Refine,
            Edge::Terminated => Via::Terminated,
        }
    }

    /// The positions from the start of the run to `context`.
    pub(crate) fn stem(&mut self, context: u32) -> Vec<Position<StateOf<P>>> {
        let path = self.contexts(context, |_, edge| edge == Edge::Start);
        path.into_iter()
            .map(|(context, parent, edge)| self.position(parent, edge, context))
            .collect()
    }

    pub(crate) fn finish(self) -> Vec<Run<StateOf<P>>> {
        self.runs
    }
}

/// The finite trace that ends in `context`.
pub(crate) fn trace_to<P: Parents>(parents: &P, context: u32) -> Trace<StateOf<P>> {
    let mut builder = RunBuilder::new(parents);
    let positions = builder.stem(context);
    Trace {
        runs: builder.finish(),
        positions,
        cycle: None,
    }
}
