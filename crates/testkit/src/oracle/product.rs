//! The state graph of a program watched by an automaton, by saturation.
//!
//! A *node* is a state together with the mode the watcher is in after its move there. A
//! *context* (entry, node) says: some run that entered a procedure with `entry` is now, at the
//! same height of the stack, at `node`. An entry and an exit that a context of it leaves through
//! are a *summary*. Every way from a context to another is written down once, in a [`Graph`].

use std::collections::HashMap;
use std::rc::Rc;

use droste_program::Value;

use super::graph::{Graph, ROOT, Runs, Via};
use super::machine::{Step, Store};
use super::{LARGEST_CONTEXTS, Refusal};

/// What can be explored.
pub trait System {
    /// How many globals there are.
    fn globals(&self) -> usize;
    /// Positions and stores with which a run can start.
    fn initial(&self) -> Vec<(usize, Store)>;
    /// Those with which a callee can start: the entry store has globals and arguments, locals
    /// have any value.
    fn entries(&self, callee: usize, entry: &[Value]) -> Vec<(usize, Store)>;
    /// Everything that can happen at a position.
    fn steps(&self, position: usize, store: &[Value]) -> Vec<Step>;
    /// What can happen when the callee of the call at a position returns; the exit store has
    /// globals and results.
    fn resume(&self, position: usize, caller: &[Value], exit: &[Value]) -> Vec<Step>;
}

/// What a watcher sees.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum State {
    /// Control is at a position.
    At(usize, Store),
    /// `main` has returned; the globals.
    Terminated(Store),
}

/// An automaton that makes one move at every position of a run.
pub(super) trait Watcher {
    /// Modes in which it may be after its move at `state`. It starts in mode 0.
    fn moves(&self, mode: usize, state: &State) -> Vec<usize>;
    /// Whether being at `state` in `mode` is what a run should do infinitely often.
    fn good(&self, mode: usize, state: &State) -> bool;
}

/// Sees everything and likes nothing.
pub(super) struct Idle;

impl Watcher for Idle {
    fn moves(&self, _: usize, _: &State) -> Vec<usize> {
        vec![0]
    }

    fn good(&self, _: usize, _: &State) -> bool {
        false
    }
}

/// A procedure, globals and arguments, and the watcher's mode before the entry.
type Entry = (usize, Store, usize);
/// Globals and results, and the watcher's mode at the return.
type Exit = (Store, usize);

/// Everything that runs of the system can do, watched by the watcher.
pub(super) fn saturate(system: &dyn System, watcher: &dyn Watcher) -> Result<Runs, Refusal> {
    let mut product = Product {
        system,
        watcher,
        graph: Graph::default(),
        node_ids: HashMap::new(),
        steps: Vec::new(),
        entry_ids: HashMap::new(),
        exits: Vec::new(),
        exit_ids: HashMap::new(),
        context_ids: HashMap::new(),
    };
    let root = product.new_entry();
    assert_eq!(root, ROOT);
    for (position, store) in system.initial() {
        product.begin(ROOT, 0, &State::At(position, store));
    }
    // Contexts are expanded in the order in which they were found.
    let mut next = 0;
    while next < product.graph.contexts.len() {
        if product.graph.contexts.len() > LARGEST_CONTEXTS {
            return Err(Refusal::TooLarge);
        }
        product.expand(next);
        next += 1;
    }
    Ok(Runs::new(product.graph))
}

struct Product<'a> {
    system: &'a dyn System,
    watcher: &'a dyn Watcher,
    graph: Graph,
    node_ids: HashMap<(State, usize), usize>,
    /// The steps at each node, once they were asked for.
    steps: Vec<Option<Rc<Vec<Step>>>>,
    entry_ids: HashMap<Entry, usize>,
    /// For each entry its summaries.
    exits: Vec<Vec<(usize, Exit)>>,
    /// The number of the summary.
    exit_ids: HashMap<(usize, Exit), usize>,
    context_ids: HashMap<(usize, usize), usize>,
}

impl Product<'_> {
    fn node(&mut self, node: (State, usize)) -> usize {
        if let Some(&id) = self.node_ids.get(&node) {
            return id;
        }
        let id = self.graph.nodes.len();
        self.graph.nodes.push(node.clone());
        self.node_ids.insert(node, id);
        self.steps.push(None);
        id
    }

    /// The contexts in which the run is when it comes to `state` with the watcher in `mode`.
    fn arrive(&mut self, entry: usize, mode: usize, state: &State) -> Vec<usize> {
        let modes = self.watcher.moves(mode, state);
        let contexts = modes.into_iter().map(|mode| {
            let node = self.node((state.clone(), mode));
            let contexts = &mut self.graph.contexts;
            *self.context_ids.entry((entry, node)).or_insert_with(|| {
                contexts.push((entry, node));
                contexts.len() - 1
            })
        });
        contexts.collect()
    }

    /// An entry is entered.
    fn begin(&mut self, entry: usize, mode: usize, state: &State) {
        let contexts = self.arrive(entry, mode, state);
        self.graph.first[entry].extend(contexts);
    }

    /// `context` comes to `state`, at the same height.
    fn go(&mut self, context: usize, via: Via, mode: usize, state: &State) {
        let (entry, _) = self.graph.contexts[context];
        for to in self.arrive(entry, mode, state) {
            self.graph.flows.push((context, via, to));
        }
    }

    fn steps(&mut self, node: usize) -> Rc<Vec<Step>> {
        if let Some(steps) = &self.steps[node] {
            return Rc::clone(steps);
        }
        let steps = Rc::new(match &self.graph.nodes[node].0 {
            State::At(position, store) => self.system.steps(*position, store),
            State::Terminated(_) => Vec::new(),
        });
        self.steps[node] = Some(Rc::clone(&steps));
        steps
    }

    fn new_entry(&mut self) -> usize {
        self.exits.push(Vec::new());
        self.graph.callers.push(Vec::new());
        self.graph.first.push(Vec::new());
        self.graph.first.len() - 1
    }

    /// The entry's number; a new one is entered.
    fn enter(&mut self, entry: Entry) -> usize {
        if let Some(&id) = self.entry_ids.get(&entry) {
            return id;
        }
        let id = self.new_entry();
        for (position, store) in self.system.entries(entry.0, &entry.1) {
            self.begin(id, entry.2, &State::At(position, store));
        }
        self.entry_ids.insert(entry, id);
        id
    }

    fn expand(&mut self, context: usize) {
        let (entry, node) = self.graph.contexts[context];
        let (state, mode) = self.graph.nodes[node].clone();
        let State::At(position, _) = state else {
            // The final configuration is repeated for ever.
            self.go(context, Via::Step, mode, &state);
            return;
        };
        for step in self.steps(node).iter() {
            match step {
                Step::To(next, store) => {
                    self.go(context, Via::Step, mode, &State::At(*next, store.clone()));
                }
                Step::Call(callee, store) => {
                    let callee = self.enter((*callee, store.clone(), mode));
                    // Each context is expanded once, but may make the same call in two ways.
                    if !self.graph.callers[callee].contains(&context) {
                        self.graph.callers[callee].push(context);
                        for (summary, exit) in self.exits[callee].clone() {
                            self.resume(context, summary, &exit);
                        }
                    }
                }
                Step::Return(store) if entry == ROOT => {
                    let globals = self.system.globals();
                    let state = State::Terminated(store[..globals].to_vec());
                    self.go(context, Via::Step, mode, &state);
                }
                Step::Return(store) => self.leave(context, &(store.clone(), mode)),
                Step::Fail(violation) => {
                    self.graph.violations.insert((position, *violation));
                }
            }
        }
    }

    /// `context` leaves its procedure; a new exit is followed in every caller.
    fn leave(&mut self, context: usize, exit: &Exit) {
        let (entry, _) = self.graph.contexts[context];
        let new = self.exit_ids.len();
        let summary = *self.exit_ids.entry((entry, exit.clone())).or_insert(new);
        self.graph.leaves.push((context, summary));
        if summary == new {
            self.exits[entry].push((summary, exit.clone()));
            for caller in self.graph.callers[entry].clone() {
                self.resume(caller, summary, exit);
            }
        }
    }

    fn resume(&mut self, context: usize, summary: usize, (exit, mode): &Exit) {
        let (_, node) = self.graph.contexts[context];
        let State::At(position, caller) = self.graph.nodes[node].0.clone() else {
            unreachable!("calls happen at positions");
        };
        for step in self.system.resume(position, &caller, exit) {
            match step {
                Step::To(next, store) => {
                    let via = Via::Summary(summary);
                    self.go(context, via, *mode, &State::At(next, store));
                }
                Step::Fail(violation) => {
                    self.graph.violations.insert((position, violation));
                }
                Step::Call(..) | Step::Return(_) => unreachable!("a resumed call goes on or fails"),
            }
        }
    }
}
