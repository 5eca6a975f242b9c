//! Shorter lassos.
//!
//! Depth-first search stops at the first cycle it closes, and reaches it by whatever path it
//! happens to take. Breadth-first search, which counts every step inside calls, looks for a shorter
//! cycle and a shorter stem:
//!
//! * **The cycle.** From a state of the cycle, the shortest way back to it that meets every mark.
//!   That is a question of reachability for the model whose states also know which marks have been
//!   met.
//! * **The stem.** The cycle may be entered at any of its states: what lies below on the stack does
//!   not matter, since the run never returns there. The nearest state is looked for, and the cycle
//!   is rotated to begin there. A cycle of one step (where the program has ended, say) may be
//!   replaced by another one of one step.
//!
//! If that takes much more than finding the cycle did, the lasso stays as it is. The result is
//! replayed.

use std::hash::{BuildHasher as _, BuildHasherDefault, Hash};

use droste_base::{Cycle, Model, Position, PropId, Run, RunId, Step, Steps, Trace, Via, Where};
use droste_omega::{Memory, Remembering};
use hashbrown::HashTable;
use rustc_hash::FxHasher;

use crate::{Options, Order, reach};

/// Some states of a model, which are what a search is to find.
struct Wanted<'a, S> {
    positions: &'a [Position<S>],
    /// Indices into `positions`.
    table: HashTable<u32>,
}

type Hasher = BuildHasherDefault<FxHasher>;

impl<'a, S: Eq + Hash> Wanted<'a, S> {
    fn new(positions: &'a [Position<S>]) -> Self {
        let mut wanted = Wanted {
            positions,
            table: HashTable::with_capacity(positions.len()),
        };
        let hash = |i: u32| Hasher::default().hash_one(&positions[i as usize].state);
        for i in 0..positions.len() as u32 {
            if wanted.find(&positions[i as usize].state).is_none() {
                wanted.table.insert_unique(hash(i), i, |&i| hash(i));
            }
        }
        wanted
    }

    fn find(&self, state: &S) -> Option<usize> {
        let hash = Hasher::default().hash_one(state);
        let found = self
            .table
            .find(hash, |&i| self.positions[i as usize].state == *state);
        found.map(|&i| i as usize)
    }
}

/// Remembers the marks that have been met, on the way back to where the run began.
struct Round<'a, S> {
    marks: &'a [PropId],
    from: S,
}

/// True where all marks have been met and the run is back.
const BACK: PropId = PropId(0);

/// Set when there has been a step.
const MOVED: u64 = 1 << 32;

impl<M: Model> Memory<M> for Round<'_, M::State> {
    type Value = u64;

    fn start(&self, out: &mut Vec<u64>) {
        out.push(0);
    }

    fn after(&self, model: &M, state: &M::State, &met: &u64, out: &mut Vec<u64>) -> bool {
        let marks = self.marks.iter().enumerate();
        out.push(marks.fold(met | MOVED, |met, (i, &mark)| {
            met | u64::from(model.holds(state, mark)) << i
        }));
        true
    }

    fn holds(&self, _: &M, state: &M::State, met: &u64, _: PropId) -> bool {
        let all = ((1 << self.marks.len()) - 1) | MOVED;
        met & all == all && *state == self.from
    }
}

/// The proposition of [`Where`].
const SOUGHT: PropId = PropId(0);

/// A stem or a cycle of at most this number of steps is short enough.
const SHORT: u64 = 4;

/// From how many states of the cycle a shorter one is looked for.
const TRIES: usize = 4;

/// The same lasso with a shorter cycle or stem, if one is found among not many more path edges than
/// the first search needed (`contexts`).
pub(crate) fn shorten<M: Model>(
    model: &M,
    marks: &[PropId],
    trace: Trace<M::State>,
    contexts: u64,
    options: &Options<'_>,
) -> Trace<M::State> {
    let most = contexts.saturating_mul(16).clamp(2_000, 100_000);
    let options = Options {
        order: Order::Bfs,
        limits: options.limits.with_path_edges(most),
        ..Options::default()
    };
    let trace = shorten_cycle(model, marks, trace, &options);
    shorten_stem(model, marks, trace, &options)
}

/// Whether a state can be repeated for ever, and has every mark.
fn repeats<M: Model>(model: &M, marks: &[PropId], state: &M::State) -> bool {
    if !marks.iter().all(|&mark| model.holds(state, mark)) {
        return false;
    }
    let mut steps = Steps::new();
    model.steps(state, &mut steps);
    let mut all = steps.items().iter();
    all.any(|step| matches!(step, Step::Internal(next) if next == state))
}

fn shorten_cycle<M: Model>(
    model: &M,
    marks: &[PropId],
    trace: Trace<M::State>,
    options: &Options<'_>,
) -> Trace<M::State> {
    let Some(Cycle { start, pumping }) = trace.cycle else {
        return trace;
    };
    let end = trace.positions.len() - 1;
    let mut best: Option<(u64, usize, Trace<M::State>)> = None;
    let mut known = length(&trace.runs, &trace.positions[start + 1..]);
    for i in (start..end).step_by((end - start).div_ceil(TRIES).max(1)) {
        // A state that splits is no place to begin.
        if known <= SHORT || trace.positions[i + 1].via == Via::Refine {
            continue;
        }
        let from = trace.positions[i].state.clone();
        let round = Round {
            marks,
            from: from.clone(),
        };
        let round = Remembering::new(model, round).beginning_in(from);
        let Some(found) = reach(&round, BACK, options).verdict.into_run() else {
            continue;
        };
        let calls = found
            .positions
            .iter()
            .any(|p| matches!(p.via, Via::Call(_)));
        let length = length(&found.runs, &found.positions);
        if length < known && (pumping || !calls) {
            known = length;
            best = Some((length, i, found.map(|(state, _)| state)));
        }
    }
    let Some((_, i, found)) = best else {
        return trace;
    };
    // The way to where it begins, then the new cycle.
    let mut runs = Vec::new();
    let moved = keep_runs(&trace.runs, &trace.positions[..=i], &mut runs);
    let mut positions: Vec<Position<M::State>> = trace.positions[..=i]
        .iter()
        .map(|position| Position {
            via: moved_via(position.via, &moved),
            state: position.state.clone(),
        })
        .collect();
    let moved = keep_runs(&found.runs, &found.positions, &mut runs);
    let cycle = found.positions.into_iter().skip(1);
    positions.extend(cycle.map(|position| Position {
        via: moved_via(position.via, &moved),
        state: position.state,
    }));
    let pumping = positions[i + 1..]
        .iter()
        .any(|position| matches!(position.via, Via::Call(_)));
    Trace {
        runs,
        positions,
        cycle: Some(Cycle { start: i, pumping }),
    }
}

fn shorten_stem<M: Model>(
    model: &M,
    marks: &[PropId],
    trace: Trace<M::State>,
    options: &Options<'_>,
) -> Trace<M::State> {
    let Some(Cycle { start, pumping }) = trace.cycle else {
        return trace;
    };
    let known = length(&trace.runs, &trace.positions[..=start]);
    if known <= SHORT {
        return trace;
    }
    let cycle = &trace.positions[start..trace.positions.len() - 1];
    let wanted = Wanted::new(cycle);
    let seek = Where {
        model,
        predicate: |state: &M::State| {
            wanted.find(state).is_some() || cycle.len() == 1 && repeats(model, marks, state)
        },
    };
    // States that split are not asked about and are not found; another one of the cycle is.
    let Some(stem) = reach(&seek, SOUGHT, options).verdict.into_run() else {
        return trace;
    };
    let Some(last) = stem.positions.last() else {
        return trace;
    };
    if length(&stem.runs, &stem.positions) >= known {
        return trace;
    }
    let entered = wanted.find(&last.state);
    let state = last.state.clone();
    let mut runs = stem.runs;
    let mut positions = stem.positions;
    let start = positions.len() - 1;
    let Some(entered) = entered else {
        // Another cycle of one step.
        let via = Via::Step;
        positions.push(Position { via, state });
        let pumping = false;
        return Trace {
            runs,
            positions,
            cycle: Some(Cycle { start, pumping }),
        };
    };
    // Round once, from the position after the one that is entered.
    let arrivals = &trace.positions[trace.positions.len() - cycle.len()..];
    let moved = keep_runs(&trace.runs, arrivals, &mut runs);
    for i in 0..arrivals.len() {
        let arrival = &arrivals[(entered + i) % arrivals.len()];
        positions.push(Position {
            via: moved_via(arrival.via, &moved),
            state: arrival.state.clone(),
        });
    }
    Trace {
        runs,
        positions,
        cycle: Some(Cycle { start, pumping }),
    }
}

fn moved_via(via: Via, moved: &[u32]) -> Via {
    match via {
        Via::Summary(call, run) => Via::Summary(call, RunId(moved[run.0 as usize])),
        via => via,
    }
}

/// Adds the runs that `positions` refer to; their new numbers.
fn keep_runs<S: Clone>(
    runs: &[Run<S>],
    positions: &[Position<S>],
    out: &mut Vec<Run<S>>,
) -> Vec<u32> {
    let mut needed = vec![false; runs.len()];
    let mark = |needed: &mut Vec<bool>, positions: &[Position<S>]| {
        for position in positions {
            if let Via::Summary(_, run) = position.via {
                needed[run.0 as usize] = true;
            }
        }
    };
    mark(&mut needed, positions);
    // Runs refer to smaller ones only.
    for i in (0..runs.len()).rev() {
        if needed[i] {
            mark(&mut needed, &runs[i].positions);
        }
    }
    let mut moved = vec![0; runs.len()];
    for (i, run) in runs.iter().enumerate() {
        if !needed[i] {
            continue;
        }
        moved[i] = out.len() as u32;
        let positions = run.positions.iter().map(|position| Position {
            via: moved_via(position.via, &moved),
            state: position.state.clone(),
        });
        out.push(Run {
            positions: positions.collect(),
            exit: run.exit.clone(),
        });
    }
    moved
}

/// How many steps there are, those inside of calls included.
fn length<S>(runs: &[Run<S>], positions: &[Position<S>]) -> u64 {
    let mut lengths: Vec<u64> = Vec::with_capacity(runs.len());
    let count = |positions: &[Position<S>], lengths: &[u64]| {
        positions.iter().fold(0u64, |sum, position| {
            sum.saturating_add(match position.via {
                Via::Start | Via::Refine => 0,
                Via::Step | Via::Call(_) | Via::Terminated => 1,
                Via::Summary(_, run) => lengths[run.0 as usize].saturating_add(2),
            })
        })
    };
    for run in runs {
        let length = count(&run.positions, &lengths);
        lengths.push(length);
    }
    count(positions, &lengths)
}
