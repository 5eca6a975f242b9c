//! Traces for people: runs are written out, calls are indented, and what would be too long stays
//! folded.

use std::fmt::{self, Write as _};

use crate::{CallId, Position, Run, RunId, Trace, Via};

/// How a [`FlatPosition`] was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The run starts.
    Start,
    /// An internal step.
    Step,
    /// A part of the state before; not a step.
    Refine,
    /// A call: this is the callee's entry.
    Call(CallId),
    /// The callee has returned: the caller goes on here.
    Return(CallId),
    /// A call, the callee's whole run, and its return. The run is not written out, because it
    /// was before or because there is no room.
    Folded {
        /// Which call.
        call: CallId,
        /// What the callee did.
        run: RunId,
        /// How many steps this is, call and return included; saturates.
        steps: u64,
    },
    /// The outermost procedure has been left.
    Terminated,
    /// This many steps are left out; the state is the one after them.
    Skipped(u64),
}

/// A position of a trace that has been written out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlatPosition<'a, S> {
    /// How many calls are pending.
    pub depth: usize,
    /// How it was reached.
    pub event: Event,
    /// The state.
    pub state: &'a S,
}

/// What [`Trace::flatten`] makes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlatTrace<'a, S> {
    /// From the initial state on.
    pub positions: Vec<FlatPosition<'a, S>>,
    /// For an infinite run: where in `positions` the cycle starts.
    pub cycle: Option<usize>,
}

impl<S> Trace<S> {
    /// How many steps the trace has when every folded run is written out. A call and a return
    /// are a step each, refining is none. Saturates. For a lasso: the stem and one round.
    pub fn length(&self) -> u64 {
        steps_of(&self.positions, &self.run_lengths())
    }

    /// The steps of each run, without its call and its return.
    fn run_lengths(&self) -> Vec<u64> {
        let mut lengths = Vec::with_capacity(self.runs.len());
        for run in &self.runs {
            let length = steps_of(&run.positions, &lengths);
            lengths.push(length);
        }
        lengths
    }

    /// Writes the trace out, in about `limit` positions. If it does not fit, a run is written
    /// out where it first occurs, as long as there is room, and stays folded
    /// elsewhere; if even the outermost positions do not fit, some in the middle are left out.
    pub fn flatten(&self, limit: usize) -> FlatTrace<'_, S> {
        let lengths = self.run_lengths();
        let total = steps_of(&self.positions, &lengths);
        let mut writer = Writer {
            runs: &self.runs,
            all: total <= limit as u64,
            room: limit.saturating_sub(self.positions.len()),
            shown: vec![false; self.runs.len()],
            out: Vec::new(),
            lengths,
        };
        let cycle = self.cycle.map(|cycle| cycle.start);
        let mut cycle_line = None;
        let mut depth = 0;
        let mut skipping = Skipping::new(self.positions.len(), limit, cycle);
        for (i, position) in self.positions.iter().enumerate() {
            depth += usize::from(matches!(position.via, Via::Call(_)));
            if skipping.skips(i) {
                skipping.steps = skipping
                    .steps
                    .saturating_add(cost(position.via, &writer.lengths));
                continue;
            }
            match std::mem::take(&mut skipping.steps) {
                0 => writer.write(depth, position),
                skipped => {
                    let steps = skipped.saturating_add(cost(position.via, &writer.lengths));
                    let event = Event::Skipped(steps);
                    writer.out.push(FlatPosition {
                        depth,
                        event,
                        state: &position.state,
                    });
                }
            }
            if cycle == Some(i) {
                cycle_line = Some(writer.out.len() - 1);
            }
        }
        FlatTrace {
            positions: writer.out,
            cycle: cycle_line,
        }
    }

    /// The trace as text of about `limit` lines, with the states as `show` writes them, indented
    /// by call depth. Calls have their numbers; see [`to_named_text`](Self::to_named_text).
    pub fn to_text(&self, limit: usize, show: impl Fn(&S) -> String) -> String {
        self.to_named_text(limit, show, |call| call.0.to_string())
    }

    /// Like [`to_text`](Self::to_text), with calls as `name` names them: for instance
    /// [`Model::call_name`](crate::Model::call_name).
    pub fn to_named_text(
        &self,
        limit: usize,
        show: impl Fn(&S) -> String,
        name: impl Fn(CallId) -> String,
    ) -> String {
        let flat = self.flatten(limit);
        let word = |event: Event| match event {
            Event::Start => "start".to_owned(),
            Event::Step => "step".to_owned(),
            Event::Refine => "  with".to_owned(),
            Event::Call(call) => format!("call {}", name(call)),
            Event::Return(call) => format!("return {}", name(call)),
            Event::Folded { call, steps, .. } => format!("call {}, {steps} steps", name(call)),
            Event::Terminated => "terminated".to_owned(),
            Event::Skipped(steps) => format!("... {steps} steps ..."),
        };
        let words: Vec<String> = flat.positions.iter().map(|p| word(p.event)).collect();
        let width = words
            .iter()
            .map(|word| word.chars().count())
            .max()
            .unwrap_or(0);
        let mut text = String::new();
        for (i, (position, word)) in flat.positions.iter().zip(words).enumerate() {
            // Deeper than this, the depth is a number: a million levels are not a million columns.
            let indent = match position.depth {
                depth @ 0..=20 => "  ".repeat(depth),
                depth => format!("{}[{depth}] ", "  ".repeat(20)),
            };
            let state = show(position.state);
            _ = write!(text, "{word:width$}  {indent}{state}");
            text.truncate(text.trim_end().len());
            text.push('\n');
            if flat.cycle == Some(i) {
                text.push_str("from here, for ever:\n");
            }
        }
        text
    }
}

/// At most 200 lines, with the states as [`Debug`](fmt::Debug) writes them.
impl<S: fmt::Debug> fmt::Display for Trace<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_text(200, |state| format!("{state:?}")))
    }
}

fn cost(via: Via, lengths: &[u64]) -> u64 {
    match via {
        Via::Start | Via::Refine => 0,
        Via::Step | Via::Call(_) | Via::Terminated => 1,
        Via::Summary(_, run) => lengths[run.0 as usize].saturating_add(2),
    }
}

fn steps_of<S>(positions: &[Position<S>], lengths: &[u64]) -> u64 {
    positions.iter().fold(0, |sum: u64, position| {
        sum.saturating_add(cost(position.via, lengths))
    })
}

/// Which of the outermost positions are left out: those in the middle of the stem and those in
/// the middle of the cycle.
struct Skipping {
    sections: [(usize, usize); 2],
    /// Steps left out since the last position that was not.
    steps: u64,
}

impl Skipping {
    fn new(count: usize, limit: usize, cycle: Option<usize>) -> Self {
        let middle = |from: usize, to: usize| {
            let keep = (limit / 4).max(2);
            if count > limit && to - from > 2 * keep {
                (from + keep, to - keep)
            } else {
                (0, 0)
            }
        };
        // The position where the cycle starts is always shown.
        let start = cycle.unwrap_or(count.saturating_sub(1));
        Skipping {
            sections: [middle(0, start), middle(start, count)],
            steps: 0,
        }
    }

    fn skips(&self, i: usize) -> bool {
        self.sections.iter().any(|&(from, to)| from <= i && i < to)
    }
}

struct Writer<'a, S> {
    runs: &'a [Run<S>],
    lengths: Vec<u64>,
    /// Whether everything fits.
    all: bool,
    room: usize,
    shown: Vec<bool>,
    out: Vec<FlatPosition<'a, S>>,
}

impl<'a, S> Writer<'a, S> {
    /// Whether the run is to be written out here.
    fn opens(&mut self, run: RunId) -> bool {
        let size = self.runs[run.0 as usize].positions.len();
        let shown = &mut self.shown[run.0 as usize];
        if self.all {
            return true;
        }
        if *shown || size > self.room {
            return false;
        }
        *shown = true;
        self.room -= size;
        true
    }

    /// Writes a position, and the run of its summary before it.
    fn write(&mut self, depth: usize, position: &'a Position<S>) {
        // Each item: a run, how much of it is written, and the position to write after it.
        let mut stack: Vec<(RunId, usize, &'a Position<S>)> = Vec::new();
        let mut next = Some(position);
        loop {
            let at = depth + stack.len();
            let Some(position) = next.take() else {
                let Some((run, written, after)) = stack.last_mut() else {
                    return;
                };
                let positions = &self.runs[run.0 as usize].positions;
                if let Some(position) = positions.get(*written) {
                    *written += 1;
                    next = Some(position);
                } else {
                    let Via::Summary(call, _) = after.via else {
                        return;
                    };
                    let (event, state) = (Event::Return(call), &after.state);
                    stack.pop();
                    self.out.push(FlatPosition {
                        depth: depth + stack.len(),
                        event,
                        state,
                    });
                }
                continue;
            };
            let event = match position.via {
                Via::Start => match stack.last() {
                    Some((
                        _,
                        _,
                        Position {
                            via: Via::Summary(call, _),
                            ..
                        },
                    )) => Event::Call(*call),
                    _ => Event::Start,
                },
                Via::Step => Event::Step,
                Via::Refine => Event::Refine,
                Via::Call(call) => Event::Call(call),
                Via::Terminated => Event::Terminated,
                Via::Summary(_, run) if self.opens(run) => {
                    stack.push((run, 0, position));
                    continue;
                }
                Via::Summary(call, run) => Event::Folded {
                    call,
                    run,
                    steps: cost(position.via, &self.lengths),
                },
            };
            self.out.push(FlatPosition {
                depth: at,
                event,
                state: &position.state,
            });
        }
    }
}
