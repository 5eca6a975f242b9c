//! Calls that may not return, where they are single steps.
//!
//! A call that is a single step goes on where the callee returns. A run that stays in the callee for
//! ever is not looked at, and a formula may hold only because of that. So a verdict says which calls may
//! have such runs.
//!
//! The states of all methods are a graph: a state leads to the next one of its method, over a call
//! to where this comes back, and into the callee. States without a successor are taken away until there are
//! none. From those that are left a cycle can be reached: a loop, or a recursion. `tests/returns.rs` compares
//! the calls that are named with the concrete interpreter.

use std::collections::BTreeSet;

use droste_base::{CallId, Model as _, Step, Steps};
use droste_explicit::Spaces;
use rustc_hash::FxHashMap;

use crate::machine::{Machine, State};

/// A call that may not return: the name of the method, and the file and the line of the call.
pub type Endless = (String, String, u32);

/// The calls that may not return, of those that are single steps. `folds` says which are, given whether
/// the caller is the outermost method.
pub(crate) fn endless(
    machine: &Machine<'_>,
    spaces: &Spaces<State>,
    folds: impl Fn(bool, CallId) -> bool,
) -> BTreeSet<Endless> {
    // A state may be in several spaces: each time it is a node of its own.
    let mut nodes: FxHashMap<(usize, State), usize> = FxHashMap::default();
    let mut entries: FxHashMap<State, usize> = FxHashMap::default();
    for (number, space) in spaces.list.iter().enumerate() {
        entries.insert(space.entry, number);
        for &state in &space.states {
            let next = nodes.len();
            nodes.entry((number, state)).or_insert(next);
        }
    }
    let mut ways = vec![0u32; nodes.len()];
    let mut before: Vec<Vec<usize>> = vec![Vec::new(); nodes.len()];
    // Calls that are single steps, with the node in which the callee begins.
    let mut calls: Vec<(State, CallId, usize)> = Vec::new();
    for (number, space) in spaces.list.iter().enumerate() {
        for &state in &space.states {
            let here = nodes[&(number, state)];
            let mut next: Vec<(usize, State)> = Vec::new();
            // The search does not go on from a state that another one covers.
            next.extend(machine.cover(state).map(|cover| (number, cover)));
            let mut steps = Steps::new();
            machine.steps(&state, &mut steps);
            for step in steps.drain() {
                match step {
                    Step::Internal(to) => next.push((number, to)),
                    Step::Exit(_) => {}
                    Step::Call(call, entry) => {
                        let Some(&callee) = entries.get(&entry) else {
                            continue;
                        };
                        next.push((callee, entry));
                        if folds(space.initial, call)
                            && let Some(&node) = nodes.get(&(callee, entry))
                        {
                            calls.push((state, call, node));
                        }
                        let mut after = Vec::new();
                        for exit in &spaces.list[callee].exits {
                            machine.resume(&state, call, exit, &mut after);
                        }
                        next.extend(after.into_iter().map(|to| (number, to)));
                    }
                }
            }
            for to in next {
                if let Some(&to) = nodes.get(&to) {
                    ways[here] += 1;
                    before[to].push(here);
                }
            }
        }
    }
    let mut over: Vec<usize> = (0..ways.len()).filter(|&node| ways[node] == 0).collect();
    while let Some(node) = over.pop() {
        for &previous in &before[node] {
            ways[previous] -= 1;
            if ways[previous] == 0 {
                over.push(previous);
            }
        }
    }
    let stays = calls.into_iter().filter(|&(_, _, node)| ways[node] > 0);
    let told = stays.map(|(caller, call, _)| {
        let place = machine.place(caller);
        let (file, line) = machine.spot(place.method, place.pc);
        (machine.call_name(call), file, line)
    });
    told.collect()
}
