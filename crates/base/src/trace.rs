//! A run of a [`Model`](crate::Model) as an engine found it: a path in the state graph.
//!
//! A call that returned is one edge of that graph, a summary. Writing out what happened
//! inside can take exponentially many steps (a procedure that calls itself twice, a
//! hundred levels deep), so a trace is kept folded: each summary refers to a [`Run`] of
//! the callee, and runs share their parts. A trace is never larger than the search that
//! found it, and can be checked in time linear in its folded size.

/// Index into [`Trace::runs`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RunId(pub u32);

/// How a position was reached from the one before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Via {
    /// The first position of the trace or of a run.
    Start,
    /// An internal step.
    Step,
    /// The state before was split; this is a part of it, at the same position of the run.
    Refine,
    /// A call that has not returned where the trace ends: this position is the entry.
    Call(crate::CallId),
    /// A call that returned; what the callee did is this run.
    Summary(crate::CallId, RunId),
    /// The outermost procedure was left through this exit state.
    Terminated,
}

/// A state of a trace and how it was reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Position<S> {
    /// The edge from the position before.
    pub via: Via,
    /// The state.
    pub state: S,
}

/// A procedure's run from an entry to an exit. It refers only to runs with smaller ids.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run<S> {
    /// From the entry state ([`Via::Start`]) to the state that exits. No [`Via::Call`].
    pub positions: Vec<Position<S>>,
    /// What the caller gets to see.
    pub exit: S,
}

/// Where a lasso goes back to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cycle {
    /// Index in [`Trace::positions`]: the last position has the same state as this one.
    pub start: usize,
    /// Whether there is a call that does not return between the two, so that the stack
    /// grows each time round.
    pub pumping: bool,
}

/// A finite run, or the stem and the cycle of an infinite one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace<S> {
    /// The runs that summaries refer to.
    pub runs: Vec<Run<S>>,
    /// From the initial state on.
    pub positions: Vec<Position<S>>,
    /// For an infinite run: where it goes on after the last position.
    pub cycle: Option<Cycle>,
}

// Derived, it would ask for states that have a default.
impl<S> Default for Trace<S> {
    /// Nothing at all.
    fn default() -> Self {
        Trace {
            runs: Vec::new(),
            positions: Vec::new(),
            cycle: None,
        }
    }
}

impl<S> Trace<S> {
    /// The same trace with other states.
    pub fn map<T>(self, f: impl Fn(S) -> T) -> Trace<T> {
        let positions = |positions: Vec<Position<S>>| -> Vec<Position<T>> {
            positions
                .into_iter()
                .map(|p| Position {
                    via: p.via,
                    state: f(p.state),
                })
                .collect()
        };
        Trace {
            runs: self
                .runs
                .into_iter()
                .map(|run| Run {
                    positions: positions(run.positions),
                    exit: f(run.exit),
                })
                .collect(),
            positions: positions(self.positions),
            cycle: self.cycle,
        }
    }
}
