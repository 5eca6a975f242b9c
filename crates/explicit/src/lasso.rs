//! From a strongly connected component to a stem and a short cycle.
//!
//! The search keeps no edges. Once it knows that a component contains a fair cycle, the edges among
//! the component's members are generated again here, from the model and the table of exits. Marks
//! of contexts (path edges) play no part any more: vertices are pairs (entry, state), and marks are
//! on states and on summary edges. The result is replayed like any other trace.

use droste_base::{CallId, Cycle, Model, Step, Steps, StopReason, Trace};
use rustc_hash::FxHashMap;

use crate::Runs;
use crate::chain::{self, Buffers, By};
use crate::cycle::Search;
use crate::path::{RunBuilder, Target};
use crate::tables::{Edge, NONE};

/// Contexts that are strongly connected.
pub(crate) struct Component {
    pub(crate) contexts: Vec<u32>,
}

/// An edge among the members of a component.
#[derive(Clone, Copy)]
struct Arc {
    from: u32,
    to: u32,
    edge: Edge,
    /// For summaries: the call, and which of the ways to go on after it.
    call: u32,
    which: u32,
    marks: u32,
}

/// The component as a graph of its own; vertices are numbered from 0.
struct Graph {
    /// A context for each vertex.
    contexts: Vec<u32>,
    marks: Vec<u32>,
    /// Sorted by source.
    arcs: Vec<Arc>,
    first: Vec<u32>,
}

impl Graph {
    fn new<M: Model>(search: &Search<'_, M>, component: &Component, calls: bool) -> Self {
        let mut vertices: FxHashMap<(u32, u32), u32> = FxHashMap::default();
        let mut graph = Graph {
            contexts: Vec::new(),
            marks: Vec::new(),
            arcs: Vec::new(),
            first: Vec::new(),
        };
        for &context in &component.contexts {
            let record = search.contexts[context as usize];
            vertices
                .entry((record.entry, record.state))
                .or_insert_with(|| {
                    graph.contexts.push(context);
                    graph.contexts.len() as u32 - 1
                });
        }
        let known = search.known();
        let mut steps = Steps::new();
        let mut passed = Buffers::default();
        let mut goes_on = Vec::new();
        for from in 0..graph.contexts.len() as u32 {
            graph.first.push(graph.arcs.len() as u32);
            let record = search.contexts[graph.contexts[from as usize] as usize];
            let state = search.states.get(record.state);
            let vertex = |state: &M::State| {
                let state = search.states.find(state)?;
                vertices.get(&(record.entry, state)).copied()
            };
            steps.clear();
            search.model.steps(state, &mut steps);
            if let Some(split) = steps.as_split() {
                graph.marks.push(0);
                // Parts are looked at in order. The search has looked at all parts before the first
                // that is unknown, and at none after it.
                for index in 0..split.count {
                    let part = search.model.refine(state, split.tag, index);
                    if search.states.find(&part).is_none() {
                        break;
                    }
                    graph.add(from, vertex(&part), Edge::Refine, (0, 0), 0);
                }
                continue;
            }
            graph.marks.push(search.own_marks(state));
            let mut follow = |graph: &mut Graph, first: M::State, edge: Edge, call, marks: u32| {
                let mut marks = marks;
                // Members at which the chain may have ended when the search followed it: calls that
                // have become known since.
                let mut stops: Vec<(u32, u32)> = Vec::new();
                let end = chain::follow(&known, &mut passed, first, None, |state, by| {
                    if let By::Call(..) = by
                        && let Some(stop) = vertex(state)
                        && stops.iter().all(|&(known, _)| known != stop)
                    {
                        stops.push((stop, marks));
                    }
                    marks |= known.passed_marks(state, by);
                });
                let end = vertex(&end).filter(|end| stops.iter().all(|(stop, _)| stop != end));
                for (to, marks) in stops.into_iter().chain(end.map(|end| (end, marks))) {
                    graph.add(from, Some(to), edge, call, marks);
                }
            };
            for (index, step) in steps.items().iter().enumerate() {
                match step {
                    Step::Internal(next) => {
                        let edge = Edge::Chain(index as u32);
                        follow(&mut graph, next.clone(), edge, (0, 0), 0);
                    }
                    Step::Call(call, callee) => {
                        let callee = search.states.find(callee);
                        let Some(entry) = callee.and_then(|state| search.calls.find_entry(state))
                        else {
                            continue;
                        };
                        let context = search.calls.entries[entry as usize].context;
                        if calls && context != NONE {
                            let first = search.contexts[context as usize];
                            let to = vertices.get(&(entry, first.state)).copied();
                            graph.add(from, to, Edge::Call(call.0), (call.0, 0), first.more.marks);
                        }
                        let mut exit = search.calls.entries[entry as usize].first_exit;
                        while exit != NONE {
                            let summary = search.calls.exits[exit as usize];
                            let exit_state = search.states.get(summary.state);
                            search.model.resume(state, *call, exit_state, &mut goes_on);
                            for (which, next) in goes_on.drain(..).enumerate() {
                                let edge = Edge::Summary(exit);
                                let call = (call.0, which as u32);
                                follow(&mut graph, next, edge, call, summary.marks);
                            }
                            exit = summary.next;
                        }
                    }
                    Step::Exit(exit) => {
                        if search.calls.entries[record.entry as usize].initial
                            && let Some(last) = search.model.terminated(exit)
                        {
                            graph.add(from, vertex(&last), Edge::Terminated, (0, 0), 0);
                        }
                    }
                }
            }
        }
        graph.first.push(graph.arcs.len() as u32);
        graph
    }

    fn add(&mut self, from: u32, to: Option<u32>, edge: Edge, call: (u32, u32), marks: u32) {
        let Some(to) = to else { return };
        self.arcs.push(Arc {
            from,
            to,
            edge,
            call: call.0,
            which: call.1,
            marks,
        });
    }

    fn arcs_from(&self, vertex: u32) -> &[Arc] {
        &self.arcs[self.first[vertex as usize] as usize..self.first[vertex as usize + 1] as usize]
    }

    /// The strongly connected component, as a mask of vertices, of some cycle that meets all marks.
    /// Tarjan's algorithm with an explicit stack.
    fn fair_component(&self, all_marks: u32) -> Option<Vec<bool>> {
        const DONE: u32 = u32::MAX;
        let n = self.contexts.len();
        let mut low = vec![0u32; n]; // 0: not visited.
        let mut stack: Vec<u32> = Vec::new();
        let mut frames: Vec<(u32, u32, u32)> = Vec::new(); // vertex, next arc, number
        let mut counter = 0;
        for root in 0..n as u32 {
            if low[root as usize] != 0 {
                continue;
            }
            frames.push((root, self.first[root as usize], counter + 1));
            while let Some(&mut (vertex, ref mut next, number)) = frames.last_mut() {
                if low[vertex as usize] == 0 {
                    counter += 1;
                    low[vertex as usize] = number;
                    stack.push(vertex);
                }
                if *next < self.first[vertex as usize + 1] {
                    let to = self.arcs[*next as usize].to;
                    *next += 1;
                    if low[to as usize] == 0 {
                        frames.push((to, self.first[to as usize], counter + 1));
                    } else if low[to as usize] != DONE {
                        low[vertex as usize] = low[vertex as usize].min(low[to as usize]);
                    }
                    continue;
                }
                let lowest = low[vertex as usize];
                frames.pop();
                if let Some(&(parent, ..)) = frames.last() {
                    low[parent as usize] = low[parent as usize].min(lowest);
                }
                if lowest == number {
                    let start = stack.iter().rposition(|&v| v == vertex).unwrap_or(0);
                    let members = &stack[start..];
                    if let Some(mask) = self.fair_mask(members, all_marks) {
                        return Some(mask);
                    }
                    for member in stack.drain(start..) {
                        low[member as usize] = DONE;
                    }
                }
            }
        }
        None
    }

    fn fair_mask(&self, members: &[u32], all_marks: u32) -> Option<Vec<bool>> {
        let mut mask = vec![
            false;
            if members.len() == 1 {
                0
            } else {
                self.contexts.len()
            }
        ];
        if let [only] = members {
            // The common case, without a mask: a cycle needs an edge to itself.
            let loops = self.arcs_from(*only).iter().filter(|arc| arc.to == *only);
            let marks = loops.fold(None, |m: Option<u32>, arc| Some(m.unwrap_or(0) | arc.marks))?;
            if marks | self.marks[*only as usize] != all_marks {
                return None;
            }
            mask = vec![false; self.contexts.len()];
            mask[*only as usize] = true;
            return Some(mask);
        }
        for &member in members {
            mask[member as usize] = true;
        }
        let marks = members.iter().fold(0, |marks, &member| {
            let inside = self
                .arcs_from(member)
                .iter()
                .filter(|arc| mask[arc.to as usize]);
            inside.fold(marks | self.marks[member as usize], |marks, arc| {
                marks | arc.marks
            })
        });
        (marks == all_marks).then_some(mask)
    }

    /// A shortest path of at least one arc within `mask` from `from` to an arc or vertex that
    /// `goal` accepts.
    fn walk(&self, mask: &[bool], from: u32, goal: impl Fn(&Arc) -> bool) -> Option<Vec<Arc>> {
        let mut reached: FxHashMap<u32, Arc> = FxHashMap::default();
        let mut layer = vec![from];
        while !layer.is_empty() {
            let mut next = Vec::new();
            for vertex in layer {
                for arc in self.arcs_from(vertex) {
                    if !mask[arc.to as usize] {
                        continue;
                    }
                    if goal(arc) {
                        let mut path = vec![*arc];
                        let mut at = arc.from;
                        while at != from {
                            let arc = reached[&at];
                            path.push(arc);
                            at = arc.from;
                        }
                        path.reverse();
                        return Some(path);
                    }
                    if arc.to != from && !reached.contains_key(&arc.to) {
                        reached.insert(arc.to, *arc);
                        next.push(arc.to);
                    }
                }
            }
            layer = next;
        }
        None
    }

    /// A cycle within `mask` that starts at `start` and meets all marks, each time going
    /// to the nearest one that is missing.
    fn cycle_from(&self, mask: &[bool], start: u32, all_marks: u32) -> Option<Vec<Arc>> {
        let mut cycle: Vec<Arc> = Vec::new();
        let mut met = self.marks[start as usize];
        let mut at = start;
        while met & all_marks != all_marks {
            let missing = all_marks & !met;
            let path = self.walk(mask, at, |arc| {
                (arc.marks | self.marks[arc.to as usize]) & missing != 0
            })?;
            for arc in &path {
                met |= arc.marks | self.marks[arc.to as usize];
            }
            at = path.last()?.to;
            cycle.extend(path);
        }
        if at != start || cycle.is_empty() {
            cycle.extend(self.walk(mask, at, |arc| arc.to == start)?);
        }
        Some(cycle)
    }

    /// A short fair cycle: the best of those that start at a few promising vertices.
    fn short_cycle(&self, mask: &[bool], all_marks: u32) -> Option<Vec<Arc>> {
        const TRIES: usize = 16;
        let marked = (0..self.contexts.len() as u32)
            .filter(|&v| mask[v as usize] && self.marks[v as usize] != 0)
            .take(TRIES);
        let crossing = self
            .arcs
            .iter()
            .filter(|arc| arc.marks != 0 && mask[arc.from as usize] && mask[arc.to as usize])
            .map(|arc| arc.from)
            .take(TRIES);
        let any = (0..self.contexts.len() as u32)
            .filter(|&v| mask[v as usize])
            .take(1);
        marked
            .chain(crossing)
            .chain(any)
            .filter_map(|start| self.cycle_from(mask, start, all_marks))
            .min_by_key(Vec::len)
    }
}

/// The part of `component` that contains a fair cycle without calls, if there is one.
pub(crate) fn flat_component<M: Model>(
    search: &Search<'_, M>,
    component: &Component,
    all_marks: u32,
) -> Option<Component> {
    let graph = Graph::new(search, component, false);
    let mask = graph.fair_component(all_marks)?;
    let contexts = graph
        .contexts
        .iter()
        .zip(mask)
        .filter(|&(_, inside)| inside);
    Some(Component {
        contexts: contexts.map(|(&context, _)| context).collect(),
    })
}

/// The stem and a cycle of a component with every mark. If it has a cycle without calls
/// that is the one shown, whichever runs were asked for: it says more.
pub(crate) fn lasso<M: Model>(
    search: Search<'_, M>,
    component: Component,
    all_marks: u32,
    runs: Runs,
) -> Result<Trace<M::State>, StopReason> {
    let find = |calls: bool| {
        let graph = Graph::new(&search, &component, calls);
        let mask = graph.fair_component(all_marks)?;
        let cycle = graph.short_cycle(&mask, all_marks)?;
        let context = |vertex: u32| graph.contexts[vertex as usize];
        let start = context(cycle[0].from);
        let arcs = cycle.into_iter().map(|arc| (arc, context(arc.to)));
        Some((start, arcs.collect::<Vec<_>>()))
    };
    let (start, cycle) = find(false)
        .or_else(|| {
            assert!(
                runs == Runs::All,
                "the component was found by its cycle without calls"
            );
            find(true)
        })
        .expect("a component with every mark has a fair cycle");
    // The way there need not have met any marks: the shortest one known will do.
    let first = search.first_like(start);
    drop(component);
    let (ways, guard) = search.into_ways();
    let mut builder = RunBuilder::new(&ways, guard);
    let mut positions = builder.stem(first);
    let start = positions.len() - 1;
    let mut pumping = false;
    for (arc, context) in cycle {
        pumping |= matches!(arc.edge, Edge::Call(_));
        let way = (CallId(arc.call), arc.which);
        builder.edge(arc.edge, way, Target::Context(context), &mut positions);
    }
    Ok(Trace {
        runs: builder.finish(&mut positions)?,
        positions,
        cycle: Some(Cycle { start, pumping }),
    })
}
