//! Runs a monitor, a nondeterministic automaton, along an execution.
//!
//! The monitor makes one move at every position. [`Watcher::read`] makes all moves that are
//! possible from a set of states, and keeps for each state whether an accepting state has been
//! entered on the way. What a folded run does to the monitor is a relation between the states
//! before and after it. The rows of this relation are computed when they are first needed and kept,
//! so that every run is read at most once for each state. Missing rows are computed with an
//! explicit stack of [`Frame`]s, since runs nest deeply.
//!
//! An infinite run reads the stem once and the cycle for ever, so the monitor can visit
//! repeating states infinitely often if and only if, in the finite graph whose edges are the
//! rounds of the cycle, some edge on which a repeating state is entered lies on a cycle that
//! the stem leads to. After `main` has returned, a round is one reading of the last configuration.
//!
//! Executions have been checked before they come here.

use std::collections::HashMap;

use droste_program::execution::{Action, Ending, Execution, Step, Valuation};
use droste_program::monitor::{Monitor, StateKind};
use droste_program::{NodeId, Program};

use crate::temporal::holds;

/// States of the monitor, and whether an accepting state has been entered on the way there.
pub(crate) type Set = Vec<(u32, bool)>;

pub(crate) struct Watcher<'a> {
    program: &'a Program,
    pub(crate) execution: &'a Execution,
    monitor: &'a Monitor,
    accepting: StateKind,
    /// For a run and a state before it: the states after it.
    rows: HashMap<(u32, u32), Set>,
    /// Whether an accepting state has been entered at all.
    entered: bool,
}

/// A sequence of steps that is being read.
struct Frame<'a> {
    steps: &'a [Step],
    /// The position of the return, for a callee's run, and the row that is being computed.
    exit: Option<(NodeId, (u32, u32))>,
    index: usize,
    /// Whether the monitor has made its move at the current position.
    read: bool,
    valuation: Valuation,
    set: Set,
}

/// Whether the monitor can enter a target state.
pub(crate) fn enters_target(program: &Program, execution: &Execution, monitor: &Monitor) -> bool {
    let mut watcher = Watcher::new(program, execution, monitor, StateKind::Target);
    let (set, valuation, cycle) = watcher.stem();
    if let Ending::At(node) = execution.ending {
        watcher.read(&set, Some(node), &valuation);
    } else {
        watcher.rounds(&set, &valuation, cycle);
    }
    watcher.entered
}

/// Whether the run is infinite and the monitor can enter repeating states infinitely often.
pub(crate) fn repeats(program: &Program, execution: &Execution, monitor: &Monitor) -> bool {
    if !matches!(execution.ending, Ending::Lasso { .. } | Ending::Terminated) {
        return false;
    }
    let mut watcher = Watcher::new(program, execution, monitor, StateKind::Repeating);
    let (set, valuation, cycle) = watcher.stem();
    let edges = watcher.rounds(&set, &valuation, cycle);
    edges.iter().any(|(&from, to)| {
        to.iter()
            .any(|&(state, entered)| entered && leads_to(&edges, state, from))
    })
}

/// Whether a path of any length leads from `from` to `to`.
pub(crate) fn leads_to(edges: &HashMap<u32, Set>, from: u32, to: u32) -> bool {
    let mut seen = vec![from];
    let mut next = 0;
    while let Some(&state) = seen.get(next) {
        if state == to {
            return true;
        }
        next += 1;
        for &(successor, _) in edges.get(&state).into_iter().flatten() {
            if !seen.contains(&successor) {
                seen.push(successor);
            }
        }
    }
    false
}

/// What is read for ever after the stem.
#[derive(Clone, Copy)]
pub(crate) enum Cycle<'a> {
    /// Nothing.
    None,
    /// These steps.
    Steps(&'a [Step]),
    /// The configuration in which `main` has returned.
    Terminated,
}

impl<'a> Watcher<'a> {
    pub(crate) fn new(
        program: &'a Program,
        execution: &'a Execution,
        monitor: &'a Monitor,
        accepting: StateKind,
    ) -> Self {
        Watcher {
            program,
            execution,
            monitor,
            accepting,
            rows: HashMap::new(),
            entered: false,
        }
    }

    /// Reads everything before the cycle: the states and the valuation after it, and the cycle.
    pub(crate) fn stem(&mut self) -> (Set, Valuation, Cycle<'a>) {
        let execution = self.execution;
        let steps = &execution.steps[..];
        let (stem, cycle) = match execution.ending {
            Ending::Lasso { start, .. } => {
                let (stem, cycle) = steps.split_at(start.min(steps.len()));
                (stem, Cycle::Steps(cycle))
            }
            _ if matches!(steps.last(), Some(s) if s.action == Action::Terminate) => {
                (steps, Cycle::Terminated)
            }
            _ => (steps, Cycle::None),
        };
        let set = vec![(self.monitor.initial, false)];
        let (set, valuation) = self.steps(stem, execution.start.clone(), set);
        (set, valuation, cycle)
    }

    /// The rounds of the cycle: from every state in which one can begin, the states after it.
    pub(crate) fn rounds(
        &mut self,
        set: &Set,
        valuation: &Valuation,
        cycle: Cycle<'a>,
    ) -> HashMap<u32, Set> {
        let mut edges: HashMap<u32, Set> = HashMap::new();
        let mut open: Vec<u32> = set.iter().map(|&(state, _)| state).collect();
        while let Some(state) = open.pop() {
            if edges.contains_key(&state) {
                continue;
            }
            let begin = vec![(state, false)];
            let end = match cycle {
                Cycle::None => continue,
                Cycle::Steps(steps) => self.steps(steps, valuation.clone(), begin).0,
                Cycle::Terminated => self.read(&begin, None, valuation),
            };
            open.extend(end.iter().map(|&(state, _)| state));
            edges.insert(state, end);
        }
        edges
    }

    /// All moves from `set` at a position: at `node`, or after the end of the program. A silent
    /// node is not a position: the monitor stays where it is.
    pub(crate) fn read(&mut self, set: &Set, node: Option<NodeId>, valuation: &Valuation) -> Set {
        if node.is_some_and(|node| self.program.node(node).silent) {
            return set.clone();
        }
        let mut after = Set::new();
        for &(state, entered) in set {
            let state = &self.monitor.states[state as usize];
            let before = after.len();
            for (guard, target) in &state.edges {
                if holds(self.program, guard, node, valuation) {
                    after.push((*target, entered));
                }
            }
            if after.len() == before {
                after.extend(state.otherwise.map(|target| (target, entered)));
            }
        }
        for (state, entered) in &mut after {
            if self.monitor.states[*state as usize].kind == self.accepting {
                *entered = true;
                self.entered = true;
            }
        }
        after.sort_unstable();
        after.dedup();
        after
    }

    /// Reads `steps` from `valuation` and `set` on: the set and the valuation after them.
    fn steps(&mut self, steps: &'a [Step], valuation: Valuation, set: Set) -> (Set, Valuation) {
        self.drive(Frame {
            steps,
            exit: None,
            index: 0,
            read: false,
            valuation,
            set,
        })
    }

    /// The states after a run that begins in `state`.
    pub(crate) fn row(&mut self, run: u32, state: u32) -> Set {
        if !self.rows.contains_key(&(run, state)) {
            let frame = self.callee((run, state));
            self.drive(frame);
        }
        self.rows.get(&(run, state)).cloned().unwrap_or_default()
    }

    /// The frame that computes a row.
    fn callee(&self, row: (u32, u32)) -> Frame<'a> {
        let run = &self.execution.runs[row.0 as usize];
        Frame {
            steps: &run.steps,
            exit: Some((run.exit, row)),
            index: 0,
            read: false,
            valuation: run.entry.clone(),
            set: vec![(row.1, false)],
        }
    }

    /// Reads a frame to its end, and the callees that it needs: the set and the valuation
    /// before the return.
    fn drive(&mut self, mut frame: Frame<'a>) -> (Set, Valuation) {
        let mut stack = Vec::new();
        loop {
            if let Some(missing) = self.advance(&mut frame) {
                let callee = self.callee(missing);
                stack.push(std::mem::replace(&mut frame, callee));
                continue;
            }
            if let Some((exit, row)) = frame.exit {
                let set = self.read(&frame.set, Some(exit), &frame.valuation);
                self.rows.insert(row, set);
            }
            match stack.pop() {
                Some(caller) => frame = caller,
                None => return (frame.set, frame.valuation),
            }
        }
    }

    /// Reads the frame's steps to the end, or up to a folded call a row of which is missing.
    fn advance(&mut self, frame: &mut Frame<'a>) -> Option<(u32, u32)> {
        let steps = frame.steps;
        while let Some(step) = steps.get(frame.index) {
            if !frame.read {
                frame.set = self.read(&frame.set, Some(step.node), &frame.valuation);
                frame.read = true;
            }
            match &step.action {
                Action::Internal { changes, .. } => apply(&mut frame.valuation, changes),
                Action::Folded { run, changes, .. } => {
                    let mut after = Set::new();
                    for &(state, entered) in &frame.set {
                        let Some(row) = self.rows.get(&(run.0, state)) else {
                            return Some((run.0, state));
                        };
                        after.extend(row.iter().map(|&(state, e)| (state, e || entered)));
                    }
                    after.sort_unstable();
                    after.dedup();
                    frame.set = after;
                    apply(&mut frame.valuation, changes);
                }
                Action::Call { locals } => frame.valuation.locals = locals.to_vec(),
                Action::Terminate | Action::Fail(_) => {}
            }
            frame.index += 1;
            frame.read = false;
        }
        None
    }
}

pub(crate) fn apply(
    valuation: &mut Valuation,
    changes: &[(droste_program::VarRef, droste_program::Value)],
) {
    for &(var, value) in changes {
        valuation.set(var, value);
    }
}
