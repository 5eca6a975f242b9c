//! One run of a monitor along an execution, to be shown to people.
//!
//! The steps are read once more with the sets of states that [`Watcher`] computes, and every state
//! in a set remembers one state that it came from. Going back from a state that shows the claim
//! gives a run. What the monitor does in a folded call depends on the states before and after the
//! call. It is found in the same way, once for each such pair.

use std::collections::HashMap;
use std::sync::Arc;

use droste_base::Limits;
use droste_program::execution::{Action, CalleeRunId, Ending, Execution, Step, Valuation};
use droste_program::monitor::{Monitor, StateKind};
use droste_program::{NodeId, Program};

use crate::check;
use crate::watch::{Cycle, Set, Watcher, apply, leads_to};

/// What the monitor does at one step. States are indices into [`MonitorRun::states`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Reading {
    /// The state after the move at the step's position.
    pub read: u32,
    /// The state after the step: another one only if the step is a folded call.
    pub after: u32,
    /// Whether an accepting state is entered in the folded call.
    pub within: bool,
}

/// A run of a monitor that shows that an execution violates it.
#[derive(Clone, Debug)]
pub struct MonitorRun {
    /// The monitor's name.
    pub name: Arc<str>,
    /// The names of the states.
    pub states: Vec<Arc<str>>,
    /// For each state, whether it is a target or repeating state.
    pub accepting: Vec<bool>,
    /// [`StateKind::Target`] or [`StateKind::Repeating`]: which states the claim is about.
    pub kind: StateKind,
    /// The state before the first position.
    pub before: u32,
    /// For each of the execution's own steps, what the monitor does.
    pub steps: Vec<Reading>,
    /// The state in which the shown round of the cycle begins. It may differ from the state at the
    /// end of the stem, if it takes several rounds to get there.
    pub cycle: Option<u32>,
    /// The state after the move at the position where the execution ends, or after the end of
    /// `main`.
    pub end: Option<u32>,
    /// An accepting state that is entered.
    pub entered: u32,
    inside: HashMap<(u32, Reading), Vec<Reading>>,
}

impl MonitorRun {
    /// What the monitor does in a folded call: a reading for each step of the run and one for its
    /// return. Empty if that call is not part of this run.
    pub fn inside(&self, run: CalleeRunId, reading: Reading) -> &[Reading] {
        self.inside.get(&(run.0, reading)).map_or(&[], |all| all)
    }

    /// Whether this is a target or repeating state.
    pub fn accepts(&self, state: u32) -> bool {
        self.accepting.get(state as usize) == Some(&true)
    }

    /// The name of a state.
    pub fn state(&self, state: u32) -> &str {
        self.states.get(state as usize).map_or("?", |name| name)
    }
}

/// A run of `monitor` that shows how `execution` takes it to a target state, or, if it has none,
/// through repeating states again and again. `None` if it does not, or is not a run of `program`.
pub fn monitor_run(
    program: &Program,
    execution: &Execution,
    monitor: &Monitor,
    finite_stack: bool,
) -> Option<MonitorRun> {
    let facts = check::check(program, execution, &mut Limits::default().guard()).ok()?;
    let is = |kind| monitor.states.iter().any(|state| state.kind == kind);
    let target = is(StateKind::Target);
    let kind = if target {
        StateKind::Target
    } else {
        StateKind::Repeating
    };
    let infinite = matches!(execution.ending, Ending::Lasso { .. } | Ending::Terminated);
    if !target && (!infinite || finite_stack && facts.pumped > 0) {
        return None;
    }
    let accepting: Vec<bool> = monitor.states.iter().map(|s| s.kind == kind).collect();
    let mut watcher = Watcher::new(program, execution, monitor, kind);
    let (stem_end, valuation, cycle) = watcher.stem();
    let (stem, round) = match (execution.ending, cycle) {
        (Ending::Lasso { .. }, Cycle::Steps(steps)) => {
            let stem = execution.steps.len().saturating_sub(steps.len());
            execution.steps.split_at(stem)
        }
        _ => (&execution.steps[..], &[][..]),
    };
    let mut tracer = Tracer { watcher, accepting };
    let mut layers = Layers::new(monitor.initial);
    let mut now = execution.start.clone();
    tracer.steps(&mut layers, stem, &mut now);
    if let Ending::At(node) = execution.ending {
        tracer.read(&mut layers, Some(node), &valuation);
    }
    let mut steps;
    let mut begins = None;
    let mut end = None;
    let done = layers.last().iter().position(|cell| cell.entered);
    if let Some(cell) = done.filter(|_| target) {
        let states = layers.back(cell);
        steps = readings(stem, &states);
        end = match execution.ending {
            Ending::At(_) => states.last().map(|cell| cell.0),
            _ => None,
        };
    } else {
        // A round in which an accepting state is entered, as early and simple as possible.
        let edges = tracer.watcher.rounds(&stem_end, &valuation, cycle);
        let reached = |state: u32| stem_end.iter().any(|&(own, _)| own == state);
        let (from, to) = edges
            .iter()
            .flat_map(|(&from, to)| to.iter().map(move |&(to, entered)| (from, to, entered)))
            .filter(|&(from, to, entered)| entered && (target || leads_to(&edges, to, from)))
            .map(|(from, to, _)| (!reached(from), from != to, from, to))
            .min()
            .map(|(_, _, from, to)| (from, to))?;
        let cell = layers
            .last()
            .iter()
            .position(|cell| reached(from) && cell.state == from)
            .or_else(|| {
                let mut cells = layers.last().iter();
                cells.position(|cell| leads_to(&edges, cell.state, from))
            })?;
        steps = readings(stem, &layers.back(cell));
        if matches!(cycle, Cycle::Terminated) {
            end = Some(to);
        } else {
            begins = Some(from);
            let mut layers = Layers::new(from);
            let mut now = valuation.clone();
            tracer.steps(&mut layers, round, &mut now);
            let mut cells = layers.last().iter();
            let cell = cells.position(|cell| cell.entered && cell.state == to)?;
            steps.extend(readings(round, &layers.back(cell)));
        }
    }
    let inside = tracer.inside(&execution.steps, &steps);
    let accepting = tracer.accepting;
    let all = steps.iter().chain(inside.values().flatten());
    let mut entered = all
        .flat_map(|reading| [reading.read, reading.after])
        .chain(end);
    let entered = end
        .filter(|&state| accepting[state as usize])
        .or_else(|| entered.find(|&state| accepting[state as usize]))?;
    Some(MonitorRun {
        name: Arc::clone(&monitor.name),
        states: monitor.states.iter().map(|s| Arc::clone(&s.name)).collect(),
        accepting,
        kind,
        before: monitor.initial,
        steps,
        cycle: begins,
        end,
        entered,
        inside,
    })
}

/// A state that is possible, and which one of the layer before it came from.
#[derive(Clone, Copy)]
struct Cell {
    state: u32,
    entered: bool,
    from: u32,
}

/// The states that are possible at the start, after the move at each position, and after each step.
struct Layers(Vec<Vec<Cell>>);

impl Layers {
    fn new(state: u32) -> Self {
        Layers(vec![vec![Cell {
            state,
            entered: false,
            from: 0,
        }]])
    }

    fn last(&self) -> &[Cell] {
        self.0.last().map_or(&[], |layer| layer)
    }

    fn push(&mut self, mut layer: Vec<Cell>) {
        layer.sort_by_key(|cell| (cell.state, cell.entered));
        layer.dedup_by_key(|cell| (cell.state, cell.entered));
        self.0.push(layer);
    }

    /// The states that lead to a cell of the last layer, and whether an accepting one was entered
    /// by then.
    fn back(&self, cell: usize) -> Vec<(u32, bool)> {
        let mut at = cell;
        let mut states = Vec::with_capacity(self.0.len());
        for layer in self.0.iter().rev() {
            let Some(cell) = layer.get(at) else { break };
            states.push((cell.state, cell.entered));
            at = cell.from as usize;
        }
        states.reverse();
        states
    }
}

/// The readings of `steps`, from a state before the first and two for each.
fn readings(steps: &[Step], states: &[(u32, bool)]) -> Vec<Reading> {
    let pairs = states.get(1..).unwrap_or(&[]).chunks_exact(2);
    let pairs = pairs.take(steps.len());
    pairs.map(|pair| (pair[0], pair[1])).map(reading).collect()
}

fn reading((read, after): ((u32, bool), (u32, bool))) -> Reading {
    Reading {
        read: read.0,
        after: after.0,
        within: after.1 && !read.1,
    }
}

struct Tracer<'a> {
    watcher: Watcher<'a>,
    accepting: Vec<bool>,
}

impl Tracer<'_> {
    /// Adds a layer: the states that each cell of the last one leads to.
    fn extend(&mut self, layers: &mut Layers, mut to: impl FnMut(&mut Self, u32) -> Set) {
        let mut layer = Vec::new();
        for (from, cell) in layers.last().iter().enumerate() {
            for (state, entered) in to(self, cell.state) {
                layer.push(Cell {
                    state,
                    entered: entered || cell.entered,
                    from: from as u32,
                });
            }
        }
        layers.push(layer);
    }

    fn read(&mut self, layers: &mut Layers, node: Option<NodeId>, now: &Valuation) {
        self.extend(layers, |tracer, state| {
            tracer.watcher.read(&vec![(state, false)], node, now)
        });
    }

    /// Two layers for each step.
    fn steps(&mut self, layers: &mut Layers, steps: &[Step], now: &mut Valuation) {
        for step in steps {
            self.read(layers, Some(step.node), now);
            match &step.action {
                Action::Folded { run, changes, .. } => {
                    self.extend(layers, |tracer, state| tracer.watcher.row(run.0, state));
                    apply(now, changes);
                    continue;
                }
                Action::Internal { changes, .. } => apply(now, changes),
                Action::Call { locals } => now.locals = locals.to_vec(),
                Action::Terminate | Action::Fail(_) => {}
            }
            self.extend(layers, |_, state| vec![(state, false)]);
        }
    }

    /// What the monitor does in the folded calls of these steps, and in the folded calls inside of
    /// those.
    fn inside(
        &mut self,
        steps: &[Step],
        readings: &[Reading],
    ) -> HashMap<(u32, Reading), Vec<Reading>> {
        let mut inside = HashMap::new();
        let mut open: Vec<(u32, Reading)> = folded(steps, readings).collect();
        while let Some(key) = open.pop() {
            if inside.contains_key(&key) {
                continue;
            }
            let (id, reading) = key;
            let Some(run) = self.watcher.execution.runs.get(id as usize) else {
                continue;
            };
            let mut layers = Layers::new(reading.read);
            let mut now = run.entry.clone();
            self.steps(&mut layers, &run.steps, &mut now);
            self.read(&mut layers, Some(run.exit), &now);
            let mut cells = layers.last().iter();
            let wanted = |cell: &Cell| cell.state == reading.after;
            let found = cells
                .position(|cell| wanted(cell) && cell.entered >= reading.within)
                .map(|cell| layers.back(cell))
                .unwrap_or_default();
            let mut all = self::readings(&run.steps, &found);
            all.extend(found.last().map(|&(state, _)| Reading {
                read: state,
                after: state,
                within: false,
            }));
            open.extend(folded(&run.steps, &all));
            inside.insert(key, all);
        }
        inside
    }
}

/// The folded calls in some steps, and what the monitor does there.
fn folded<'s>(
    steps: &'s [Step],
    readings: &'s [Reading],
) -> impl Iterator<Item = (u32, Reading)> + 's {
    let steps = steps.iter().zip(readings);
    steps.filter_map(|(step, &reading)| match step.action {
        Action::Folded { run, .. } => Some((run.0, reading)),
        _ => None,
    })
}
