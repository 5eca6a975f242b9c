//! The state graph of a program watched by an automaton, by saturation.
//!
//! A *node* is a state together with the mode the watcher is in after its move there. A
//! *context* (entry, node, bit) says: some run that entered a procedure with `entry` is now,
//! at the same height of the stack, at `node`, and the bit tells whether a good node has
//! been visited since. Leaving contexts are the summaries. The infinite runs are the infinite
//! paths of the graph whose edges are internal steps, calls that never return, and
//! summaries; such an edge is good if a path through the callee is.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::rc::Rc;

use droste_lang::program::{Value, Violation};

use super::machine::{Step, Store};
use super::{LARGEST_CONTEXTS, Refusal};

/// What can be explored.
pub(super) trait System {
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
/// Entry, node, and whether something good has been visited.
type Context = (usize, usize, bool);
/// Globals and results, the watcher's mode at the return, and whether something good was visited.
type Exit = (Store, usize, bool);

/// The entry of the bottommost frame: nobody waits for its exits.
const ROOT: usize = 0;

pub(super) struct Product<'a> {
    system: &'a dyn System,
    watcher: &'a dyn Watcher,
    pub(super) nodes: Vec<(State, usize)>,
    node_ids: HashMap<(State, usize), usize>,
    steps: Vec<Option<Rc<Vec<Step>>>>,
    entries: Vec<Entry>,
    entry_ids: HashMap<Entry, usize>,
    exits: Vec<BTreeSet<Exit>>,
    callers: Vec<BTreeSet<Context>>,
    contexts: HashSet<Context>,
    todo: Vec<Context>,
    /// Position and kind of every violation that was reached.
    pub(super) violations: BTreeSet<(usize, Violation)>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Edge {
    Internal,
    Call,
    Summary { good: bool },
}

/// A node, and whether it belongs to the bottommost frame.
type Vertex = (usize, bool);

impl<'a> Product<'a> {
    pub(super) fn new(system: &'a dyn System, watcher: &'a dyn Watcher) -> Result<Self, Refusal> {
        let mut product = Product {
            system,
            watcher,
            nodes: Vec::new(),
            node_ids: HashMap::new(),
            steps: Vec::new(),
            // Never looked at: the root is not entered by a call.
            entries: vec![(0, Vec::new(), 0)],
            entry_ids: HashMap::new(),
            exits: vec![BTreeSet::new()],
            callers: vec![BTreeSet::new()],
            contexts: HashSet::new(),
            todo: Vec::new(),
            violations: BTreeSet::new(),
        };
        for (position, store) in system.initial() {
            product.visit(ROOT, 0, &State::At(position, store), false);
        }
        while let Some(context) = product.todo.pop() {
            if product.contexts.len() > LARGEST_CONTEXTS {
                return Err(Refusal::TooLarge);
            }
            product.expand(context);
        }
        Ok(product)
    }

    fn node(&mut self, node: (State, usize)) -> usize {
        if let Some(&id) = self.node_ids.get(&node) {
            return id;
        }
        let id = self.nodes.len();
        self.nodes.push(node.clone());
        self.node_ids.insert(node, id);
        self.steps.push(None);
        id
    }

    /// The nodes at which the run is when it comes to `state` with the watcher in `mode`.
    fn arrive(&mut self, mode: usize, state: &State) -> Vec<usize> {
        let modes = self.watcher.moves(mode, state);
        let nodes = modes
            .into_iter()
            .map(|mode| self.node((state.clone(), mode)));
        nodes.collect()
    }

    fn is_good(&self, node: usize) -> bool {
        let (state, mode) = &self.nodes[node];
        self.watcher.good(*mode, state)
    }

    fn visit(&mut self, entry: usize, mode: usize, state: &State, bit: bool) {
        for node in self.arrive(mode, state) {
            let context = (entry, node, bit || self.is_good(node));
            if self.contexts.insert(context) {
                self.todo.push(context);
            }
        }
    }

    fn steps(&mut self, node: usize) -> Rc<Vec<Step>> {
        if let Some(steps) = &self.steps[node] {
            return Rc::clone(steps);
        }
        let steps = Rc::new(match &self.nodes[node].0 {
            State::At(position, store) => self.system.steps(*position, store),
            State::Terminated(_) => Vec::new(),
        });
        self.steps[node] = Some(Rc::clone(&steps));
        steps
    }

    /// The entry's number; a new one is entered.
    fn enter(&mut self, entry: &Entry) -> usize {
        if let Some(&id) = self.entry_ids.get(entry) {
            return id;
        }
        let id = self.entries.len();
        self.entries.push(entry.clone());
        self.entry_ids.insert(entry.clone(), id);
        self.exits.push(BTreeSet::new());
        self.callers.push(BTreeSet::new());
        for state in self.entry_states(entry) {
            self.visit(id, entry.2, &state, false);
        }
        id
    }

    fn entry_states(&self, (callee, store, _): &Entry) -> Vec<State> {
        let entries = self.system.entries(*callee, store).into_iter();
        entries
            .map(|(position, store)| State::At(position, store))
            .collect()
    }

    fn expand(&mut self, context: Context) {
        let (entry, node, bit) = context;
        let (state, mode) = self.nodes[node].clone();
        let State::At(position, _) = state else {
            // The final configuration is repeated for ever.
            self.visit(entry, mode, &state, bit);
            return;
        };
        for step in self.steps(node).iter() {
            match step {
                Step::To(next, store) => {
                    self.visit(entry, mode, &State::At(*next, store.clone()), bit);
                }
                Step::Call(callee, store) => {
                    let callee = self.enter(&(*callee, store.clone(), mode));
                    if self.callers[callee].insert(context) {
                        for exit in self.exits[callee].clone() {
                            self.resume(context, &exit);
                        }
                    }
                }
                Step::Return(store) if entry == ROOT => {
                    let globals = self.system.globals();
                    let state = State::Terminated(store[..globals].to_vec());
                    self.visit(entry, mode, &state, bit);
                }
                Step::Return(store) => {
                    let exit = (store.clone(), mode, bit);
                    if self.exits[entry].insert(exit.clone()) {
                        for caller in self.callers[entry].clone() {
                            self.resume(caller, &exit);
                        }
                    }
                }
                Step::Fail(violation) => {
                    self.violations.insert((position, *violation));
                }
            }
        }
    }

    fn resume(&mut self, (entry, node, bit): Context, exit: &Exit) {
        let (store, mode, exit_bit) = exit;
        let State::At(position, caller) = self.nodes[node].0.clone() else {
            unreachable!("calls happen at positions");
        };
        for step in self.system.resume(position, &caller, store) {
            match step {
                Step::To(next, store) => {
                    self.visit(entry, *mode, &State::At(next, store), bit || *exit_bit);
                }
                Step::Fail(violation) => {
                    self.violations.insert((position, violation));
                }
                Step::Call(..) | Step::Return(_) => unreachable!("a resumed call goes on or fails"),
            }
        }
    }

    /// Whether some infinite run visits good nodes infinitely often; with `finite_stack`,
    /// one whose stack stays bounded.
    pub(super) fn has_good_cycle(&mut self, finite_stack: bool) -> bool {
        let mut edges = self.edges();
        if finite_stack {
            // Every call edge of an infinite path raises the stack for good.
            edges.retain(|&(_, _, edge)| edge != Edge::Call);
        }
        let component = components(&edges);
        edges.iter().any(|&(from, to, edge)| {
            component[&from] == component[&to]
                && (edge == Edge::Summary { good: true }
                    || self.is_good(from.0)
                    || self.is_good(to.0))
        })
    }

    fn edges(&mut self) -> BTreeSet<(Vertex, Vertex, Edge)> {
        let vertices: BTreeSet<Vertex> = self
            .contexts
            .iter()
            .map(|&(entry, node, _)| (node, entry == ROOT))
            .collect();
        let mut edges = BTreeSet::new();
        for &(node, bottom) in &vertices {
            let (state, mode) = self.nodes[node].clone();
            let mut add = |product: &mut Self, mode, state: &State, bottom_after, edge| {
                for to in product.arrive(mode, state) {
                    edges.insert(((node, bottom), (to, bottom_after), edge));
                }
            };
            let State::At(position, caller) = &state else {
                add(self, mode, &state, bottom, Edge::Internal);
                continue;
            };
            for step in self.steps(node).iter() {
                match step {
                    Step::To(next, store) => {
                        let state = State::At(*next, store.clone());
                        add(self, mode, &state, bottom, Edge::Internal);
                    }
                    Step::Call(callee, store) => {
                        let entry = (*callee, store.clone(), mode);
                        for state in self.entry_states(&entry) {
                            add(self, mode, &state, false, Edge::Call);
                        }
                        for (exit, mode, good) in self.exits[self.entry_ids[&entry]].clone() {
                            for step in self.system.resume(*position, caller, &exit) {
                                if let Step::To(next, store) = step {
                                    let state = State::At(next, store);
                                    add(self, mode, &state, bottom, Edge::Summary { good });
                                }
                            }
                        }
                    }
                    Step::Return(store) if bottom => {
                        let globals = self.system.globals();
                        let state = State::Terminated(store[..globals].to_vec());
                        add(self, mode, &state, bottom, Edge::Internal);
                    }
                    // Returns of called procedures are part of the summaries.
                    Step::Return(_) | Step::Fail(_) => {}
                }
            }
        }
        edges
    }
}

/// The strongly connected component of every vertex, by two depth-first searches (Kosaraju).
fn components(edges: &BTreeSet<(Vertex, Vertex, Edge)>) -> BTreeMap<Vertex, usize> {
    let mut forward: BTreeMap<Vertex, Vec<Vertex>> = BTreeMap::new();
    let mut backward: BTreeMap<Vertex, Vec<Vertex>> = BTreeMap::new();
    for &(from, to, _) in edges {
        forward.entry(from).or_default().push(to);
        forward.entry(to).or_default();
        backward.entry(to).or_default().push(from);
        backward.entry(from).or_default();
    }
    let mut seen = BTreeSet::new();
    let mut finished = Vec::new();
    for &root in forward.keys() {
        if !seen.insert(root) {
            continue;
        }
        let mut stack = vec![(root, 0)];
        while let Some((vertex, next)) = stack.pop() {
            if let Some(&to) = forward[&vertex].get(next) {
                stack.push((vertex, next + 1));
                if seen.insert(to) {
                    stack.push((to, 0));
                }
            } else {
                finished.push(vertex);
            }
        }
    }
    let mut component = BTreeMap::new();
    for (number, &root) in finished.iter().rev().enumerate() {
        let mut stack = vec![root];
        while let Some(vertex) = stack.pop() {
            if component.contains_key(&vertex) {
                continue;
            }
            component.insert(vertex, number);
            stack.extend(
                backward[&vertex]
                    .iter()
                    .filter(|v| !component.contains_key(v)),
            );
        }
    }
    component
}
