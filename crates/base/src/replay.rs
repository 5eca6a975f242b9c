//! Does a model really have the run that a [`Trace`] says it has?
//!
//! [`replay_trace`] walks over the trace with nothing but [`Model`]'s own functions. Every edge
//! must be one that the model offers, every folded run must lead from its entry to its exit, a
//! cycle must close, and the claim must be true. Replaying keeps no tables, shares no code with any
//! search, and takes time linear in the folded size of the trace.

use std::fmt;

use crate::{CallId, Cycle, Model, Position, PropId, RunId, Step, Steps, Trace, Via};

/// What a trace is claimed to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claim<'a> {
    /// The last state satisfies the proposition.
    Reaches(PropId),
    /// Nothing can happen at its end: the last state neither splits nor has a step, except for
    /// exits that the caller refuses.
    Stuck {
        /// Where one of these is true, a run may end and is not stuck.
        ends: &'a [PropId],
    },
    /// It is an infinite run that meets each of the propositions infinitely often.
    Repeats {
        /// The propositions, at most 32.
        marks: &'a [PropId],
        /// Whether the stack height must stay bounded.
        finite_stack: bool,
    },
}

/// Where and why a trace is not a run of the model, or does not show what is claimed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// The folded run, or `None` for the trace itself.
    pub run: Option<RunId>,
    /// Index of the position in the run or the trace.
    pub position: usize,
    /// What is wrong there.
    pub reason: &'static str,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "position {}", self.position)?;
        if let Some(run) = self.run {
            write!(f, " of run {}", run.0)?;
        }
        write!(f, ": {}", self.reason)
    }
}

impl std::error::Error for Mismatch {}

/// Parts of a split are tried in order; a search tries them in order as well, so a part it has
/// found is found here no later. Beyond this many no search can have been.
const MOST_PARTS: u64 = 1 << 32;

/// Checks `trace` edge by edge, and then `claim`.
pub fn replay_trace<M: Model>(
    model: &M,
    trace: &Trace<M::State>,
    claim: &Claim<'_>,
) -> Result<(), Mismatch> {
    let marks = match claim {
        Claim::Reaches(_) | Claim::Stuck { .. } => &[][..],
        Claim::Repeats { marks, .. } => marks,
    };
    if marks.len() > 32 {
        return Err(Mismatch {
            run: None,
            position: 0,
            reason: "more than 32 propositions cannot be kept apart",
        });
    }
    let mut walker = Walker {
        model,
        trace,
        marks,
        run_marks: Vec::new(),
        steps: Steps::new(),
        resumed: Vec::new(),
    };
    for id in 0..trace.runs.len() {
        let run_marks = walker
            .check_run(id)
            .map_err(|(position, reason)| Mismatch {
                run: Some(RunId(id as u32)),
                position,
                reason,
            })?;
        walker.run_marks.push(run_marks);
    }
    walker
        .check_trace(claim)
        .map_err(|(position, reason)| Mismatch {
            run: None,
            position,
            reason,
        })
}

/// A position and what is wrong there.
type Wrong = (usize, &'static str);

struct Walker<'a, M: Model> {
    model: &'a M,
    trace: &'a Trace<M::State>,
    marks: &'a [PropId],
    /// The marks met in each run that has been checked.
    run_marks: Vec<u32>,
    steps: Steps<M::State>,
    resumed: Vec<M::State>,
}

impl<M: Model> Walker<'_, M> {
    /// Checks a folded run; the answer is the marks met in it.
    fn check_run(&mut self, id: usize) -> Result<u32, Wrong> {
        let run = &self.trace.runs[id];
        let last = run
            .positions
            .len()
            .checked_sub(1)
            .ok_or((0, "a run has no positions"))?;
        if run.positions[0].via != Via::Start {
            return Err((0, "a run does not begin with a start"));
        }
        let mut marks = 0;
        for i in 0..last {
            if matches!(run.positions[i + 1].via, Via::Call(_) | Via::Terminated) {
                return Err((i + 1, "a run that returns has a call that does not"));
            }
            marks |= self
                .edge(&run.positions[i].state, &run.positions[i + 1])
                .map_err(|reason| (i + 1, reason))?;
        }
        let end = &run.positions[last].state;
        self.ask(end);
        if !self
            .steps
            .items()
            .iter()
            .any(|step| matches!(step, Step::Exit(e) if *e == run.exit))
        {
            return Err((
                last,
                "the last state of a run does not leave through its exit",
            ));
        }
        Ok(marks | self.own_marks(end))
    }

    /// Checks the outermost positions and the claim.
    fn check_trace(&mut self, claim: &Claim<'_>) -> Result<(), Wrong> {
        let positions = &self.trace.positions;
        let last = positions
            .len()
            .checked_sub(1)
            .ok_or((0, "the trace is empty"))?;
        let mut initial = Vec::new();
        self.model.initial(&mut initial);
        if positions[0].via != Via::Start || !initial.contains(&positions[0].state) {
            return Err((0, "the trace does not begin in an initial state"));
        }
        let cycle_start = self.trace.cycle.map_or(usize::MAX, |cycle| cycle.start);
        // The last call that has not returned: where, and which.
        let mut pending = None;
        let mut cycle_marks = 0;
        for i in 0..last {
            let next = &positions[i + 1];
            if next.via == Via::Terminated && pending.is_some() {
                return Err((i + 1, "the run ends while a call is pending"));
            }
            if let Via::Call(call) = next.via {
                pending = Some((i, call));
            }
            let marks = self
                .edge(&positions[i].state, next)
                .map_err(|reason| (i + 1, reason))?;
            if i >= cycle_start {
                cycle_marks |= marks;
            }
        }
        match (claim, self.trace.cycle) {
            (Claim::Reaches(_) | Claim::Stuck { .. }, Some(_)) => {
                Err((last, "a finite run with a cycle"))
            }
            (Claim::Repeats { .. }, None) => Err((last, "an infinite run without a cycle")),
            (Claim::Reaches(target), None) => {
                let end = &positions[last].state;
                self.ask(end);
                if self.steps.as_split().is_some() || !self.model.holds(end, *target) {
                    return Err((last, "the last state does not satisfy the proposition"));
                }
                Ok(())
            }
            (Claim::Stuck { ends }, None) => self
                .check_stuck(ends, pending)
                .map_err(|reason| (last, reason)),
            (Claim::Repeats { finite_stack, .. }, Some(cycle)) => {
                self.check_cycle(cycle, cycle_marks, *finite_stack)
            }
        }
    }

    fn check_cycle(&self, cycle: Cycle, marks: u32, finite_stack: bool) -> Result<(), Wrong> {
        let positions = &self.trace.positions;
        let last = positions.len() - 1;
        if cycle.start >= last || positions[cycle.start].state != positions[last].state {
            return Err((last, "the cycle does not close"));
        }
        let round = &positions[cycle.start + 1..];
        if round.iter().all(|position| position.via == Via::Refine) {
            return Err((last, "nothing happens in the cycle"));
        }
        let pumping = round
            .iter()
            .any(|position| matches!(position.via, Via::Call(_)));
        if pumping != cycle.pumping {
            return Err((last, "the cycle is wrong about the calls in it"));
        }
        if pumping && finite_stack {
            return Err((last, "the stack grows for ever"));
        }
        if pumping && round.iter().any(|position| position.via == Via::Terminated) {
            return Err((last, "the run ends while a call is pending"));
        }
        if marks != (1u64 << self.marks.len()).wrapping_sub(1) as u32 {
            return Err((last, "a proposition is not met in the cycle"));
        }
        Ok(())
    }

    /// Checks that nothing can happen in the last state; `pending` is the call that it may return
    /// from.
    fn check_stuck(
        &mut self,
        ends: &[PropId],
        pending: Option<(usize, CallId)>,
    ) -> Result<(), &'static str> {
        let Some(Position { state, via }) = self.trace.positions.last() else {
            return Err("the trace is empty");
        };
        if *via == Via::Terminated {
            return Err("the run has ended");
        }
        self.ask(state);
        if self.steps.as_split().is_some() || self.steps.overflowed() {
            return Err("not everything that can happen in the last state is known");
        }
        if ends.iter().any(|&end| self.model.holds(state, end)) {
            return Err("the run has ended");
        }
        for step in self.steps.items() {
            let (Step::Exit(exit), Some((from, call))) = (step, pending) else {
                return Err("the last state can go on");
            };
            let caller = &self.trace.positions[from].state;
            self.resumed.clear();
            let complete = self.model.resume(caller, call, exit, &mut self.resumed);
            if !complete || !self.resumed.is_empty() {
                return Err("the last state can return");
            }
        }
        Ok(())
    }

    fn ask(&mut self, state: &M::State) {
        self.steps.clear();
        self.model.steps(state, &mut self.steps);
    }

    /// The marks of a state that does not split.
    fn own_marks(&self, state: &M::State) -> u32 {
        self.marks.iter().enumerate().fold(0, |marks, (i, &mark)| {
            marks | u32::from(self.model.holds(state, mark)) << i
        })
    }

    /// Checks the edge from `state` to `next`; the answer is the marks of `state` and of the runs
    /// inside the edge.
    fn edge(&mut self, state: &M::State, next: &Position<M::State>) -> Result<u32, &'static str> {
        self.ask(state);
        if let Some(split) = self.steps.as_split() {
            if next.via != Via::Refine {
                return Err("the state before has to be refined first");
            }
            let mut parts = 0..split.count.min(MOST_PARTS);
            return if parts.any(|i| self.model.refine(state, split.tag, i) == next.state) {
                Ok(0)
            } else {
                Err("the state is not a part of the one before")
            };
        }
        let mut marks = self.own_marks(state);
        let mut steps = self.steps.items().iter();
        let offered = match next.via {
            Via::Start => return Err("a run starts in the middle"),
            Via::Refine => return Err("the state before does not split"),
            Via::Step => steps.any(|s| matches!(s, Step::Internal(to) if *to == next.state)),
            Via::Call(call) => {
                steps.any(|s| matches!(s, Step::Call(id, to) if *id == call && *to == next.state))
            }
            Via::Terminated => steps.any(|s| {
                matches!(s, Step::Exit(exit)
                    if self.model.terminated(exit).as_ref() == Some(&next.state))
            }),
            Via::Summary(call, id) => {
                let Some(&inside) = self.run_marks.get(id.0 as usize) else {
                    return Err("a call refers to a run that does not come before it");
                };
                marks |= inside;
                let run = &self.trace.runs[id.0 as usize];
                let entry = &run.positions[0].state;
                if !steps.any(|s| matches!(s, Step::Call(id, to) if *id == call && to == entry)) {
                    return Err("the state before does not make this call");
                }
                self.resumed.clear();
                self.model.resume(state, call, &run.exit, &mut self.resumed);
                self.resumed.contains(&next.state)
            }
        };
        if offered {
            Ok(marks)
        } else {
            Err("the model does not offer this step")
        }
    }
}
