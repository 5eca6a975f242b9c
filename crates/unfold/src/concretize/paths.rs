//! The paths of a trace, flat: one state and one edge per position, without refinements.
//!
//! A trace of millions of positions is taken apart run by run. Each run is freed as soon as it has
//! been copied here. A position takes 4 bytes and its state.

use droste_base::{Position, Trace, Via};

/// How a position is reached from the one before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Edge {
    /// It is the first position.
    Start,
    /// By a step.
    Step,
    /// By a call that does not return.
    Call,
    /// By `main`'s return.
    Terminated,
    /// By a call that returns, and this run of the callee.
    Summary(u32),
}

/// An [`Edge`] in 32 bits: the run of a summary, or one of four large numbers.
#[derive(Clone, Copy)]
struct Packed(u32);

impl Packed {
    const START: u32 = u32::MAX;
    const STEP: u32 = u32::MAX - 1;
    const CALL: u32 = u32::MAX - 2;
    const TERMINATED: u32 = u32::MAX - 3;

    fn new(via: Via) -> Self {
        Packed(match via {
            Via::Start | Via::Refine => Self::START,
            Via::Step => Self::STEP,
            Via::Call(_) => Self::CALL,
            Via::Terminated => Self::TERMINATED,
            // There are fewer than 2²⁹ summaries.
            Via::Summary(_, run) => run.0,
        })
    }

    fn edge(self) -> Edge {
        match self.0 {
            Self::START => Edge::Start,
            Self::STEP => Edge::Step,
            Self::CALL => Edge::Call,
            Self::TERMINATED => Edge::Terminated,
            run => Edge::Summary(run),
        }
    }
}

/// The runs of a trace and, after them, its main path.
pub(super) struct Paths<W> {
    states: Vec<W>,
    edges: Vec<Packed>,
    /// For each path where it begins, and where the last one ends.
    first: Vec<usize>,
    /// For each run what the caller gets to see.
    exits: Vec<W>,
}

/// One of these paths.
pub(super) struct Path<'a, W> {
    pub(super) states: &'a [W],
    edges: &'a [Packed],
}

// Derived, these would ask for states that are `Copy`.
impl<W> Clone for Path<'_, W> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<W> Copy for Path<'_, W> {}

impl<W> Path<'_, W> {
    /// How the position is reached.
    pub(super) fn edge(&self, position: usize) -> Edge {
        self.edges[position].edge()
    }

    /// How many of the positions up to this one are reached by a call that returns.
    pub(super) fn summaries(&self, position: usize) -> usize {
        let edges = self.edges[..=position].iter();
        edges
            .filter(|edge| matches!(edge.edge(), Edge::Summary(_)))
            .count()
    }
}

impl<W> Paths<W> {
    /// Takes a trace apart. Also says where the cycle of a lasso begins.
    pub(super) fn new(trace: Trace<W>) -> (Self, Option<usize>) {
        let stays = |position: &&Position<W>| position.via != Via::Refine;
        let runs = trace.runs.iter().map(|run| &run.positions);
        let positions = runs.chain([&trace.positions]).flatten();
        let positions = positions.filter(stays).count();
        let mut paths = Paths {
            states: Vec::with_capacity(positions),
            edges: Vec::with_capacity(positions),
            first: Vec::with_capacity(trace.runs.len() + 2),
            exits: Vec::with_capacity(trace.runs.len()),
        };
        let cycle = trace.cycle.map(|cycle| {
            let before = trace.positions[..=cycle.start].iter();
            before.filter(stays).count() - 1
        });
        for run in trace.runs {
            paths.push(run.positions);
            paths.exits.push(run.exit);
        }
        paths.push(trace.positions);
        paths.first.push(paths.states.len());
        (paths, cycle)
    }

    /// Appends a path. A refined state replaces the one it is a part of.
    fn push(&mut self, positions: Vec<Position<W>>) {
        let first = self.states.len();
        self.first.push(first);
        for Position { via, state } in positions {
            if via == Via::Refine && self.states.len() > first {
                self.states.pop();
                self.states.push(state);
            } else {
                self.states.push(state);
                self.edges.push(Packed::new(via));
            }
        }
    }

    /// A run, or the main path.
    pub(super) fn run(&self, run: u32) -> Path<'_, W> {
        let range = self.first[run as usize]..self.first[run as usize + 1];
        Path {
            states: &self.states[range.clone()],
            edges: &self.edges[range],
        }
    }

    /// What the caller of a run gets to see.
    pub(super) fn exit(&self, run: u32) -> &W {
        &self.exits[run as usize]
    }

    /// The number of the main path.
    pub(super) fn main_id(&self) -> u32 {
        self.exits.len() as u32
    }

    /// The main path.
    pub(super) fn main(&self) -> Path<'_, W> {
        self.run(self.main_id())
    }
}
