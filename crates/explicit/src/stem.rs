//! A shorter way into a cycle.
//!
//! Depth-first search comes to a cycle by whatever way it happens to take. Any state of the cycle will do as the place
//! where it is entered: what lies below on the stack does not matter, since the run never returns there. So
//! breadth-first search looks for the nearest one, counting every step inside calls, and the cycle is turned round to begin
//! there. If that takes much more than finding the cycle did, the way that is known has to do.

use std::hash::{BuildHasher as _, BuildHasherDefault};

use droste_base::{CallId, Cycle, Model, Position, PropId, Run, RunId, Steps, Trace, Verdict, Via};
use hashbrown::HashTable;
use rustc_hash::FxHasher;

use crate::{Options, Order, reach};

/// A model and some of its states, which are what a search is to find.
struct Seek<'a, M: Model> {
    model: &'a M,
    wanted: &'a [Position<M::State>],
    /// Indices into `wanted`.
    table: HashTable<u32>,
}

type Hasher = BuildHasherDefault<FxHasher>;

impl<'a, M: Model> Seek<'a, M> {
    const FOUND: PropId = PropId(0);

    fn new(model: &'a M, wanted: &'a [Position<M::State>]) -> Self {
        let mut seek = Seek {
            model,
            wanted,
            table: HashTable::with_capacity(wanted.len()),
        };
        let hash = |i: u32| Hasher::default().hash_one(&wanted[i as usize].state);
        for i in 0..wanted.len() as u32 {
            if seek.find(&wanted[i as usize].state).is_none() {
                seek.table.insert_unique(hash(i), i, |&i| hash(i));
            }
        }
        seek
    }

    fn find(&self, state: &M::State) -> Option<usize> {
        let hash = Hasher::default().hash_one(state);
        let found = self
            .table
            .find(hash, |&i| self.wanted[i as usize].state == *state);
        found.map(|&i| i as usize)
    }
}

impl<M: Model> Model for Seek<'_, M> {
    type State = M::State;

    fn initial(&self, out: &mut Vec<M::State>) {
        self.model.initial(out);
    }

    fn steps(&self, state: &M::State, out: &mut Steps<M::State>) {
        self.model.steps(state, out);
    }

    fn resume(
        &self,
        caller: &M::State,
        call: CallId,
        exit: &M::State,
        out: &mut Vec<M::State>,
    ) -> bool {
        self.model.resume(caller, call, exit, out)
    }

    fn holds(&self, state: &M::State, _: PropId) -> bool {
        self.find(state).is_some()
    }

    fn refine(&self, state: &M::State, tag: u32, index: u64) -> M::State {
        self.model.refine(state, tag, index)
    }

    fn terminated(&self, exit: &M::State) -> Option<M::State> {
        self.model.terminated(exit)
    }
}

/// A stem of so many steps is short enough.
const SHORT: u64 = 8;

/// The same lasso with a shorter stem, if one is found among not many more contexts than were found before.
pub(crate) fn shorten<M: Model>(
    model: &M,
    trace: Trace<M::State>,
    contexts: u64,
    options: &Options<'_>,
) -> Trace<M::State> {
    let Some(Cycle { start, pumping }) = trace.cycle else {
        return trace;
    };
    let known = length(&trace.runs, &trace.positions[..=start]);
    if known <= SHORT {
        return trace;
    }
    let mut limits = options.limits.clone();
    let most = (2 * contexts).max(10_000);
    limits.contexts = Some(limits.contexts.map_or(most, |limit| limit.min(most)));
    let options = Options {
        order: Order::Bfs,
        limits,
        reporter: None,
    };
    let cycle = &trace.positions[start..trace.positions.len() - 1];
    let seek = Seek::new(model, cycle);
    // States that split are not asked about and are not found; another one of the cycle is.
    let Verdict::Violated(stem) = reach(&seek, Seek::<M>::FOUND, &options).verdict else {
        return trace;
    };
    let entered = stem.positions.last().and_then(|last| seek.find(&last.state));
    let Some(entered) = entered else { return trace };
    if length(&stem.runs, &stem.positions) >= known {
        return trace;
    }
    let mut runs = stem.runs;
    let mut positions = stem.positions;
    let start = positions.len() - 1;
    let moved = keep_runs(&trace.runs, &trace.positions[trace.positions.len() - cycle.len()..], &mut runs);
    // Round once, from the position after the one that is entered.
    let arrivals = &trace.positions[trace.positions.len() - cycle.len()..];
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
