//! Markings: a node of the initial heap is marked, so that a formula can speak of it all along.
//!
//! `%visited` marks one node. `%neighbourhood` marks a node, and `%neighbourhood-f` its successor
//! by `f`. A marking moves from node to node through the heap, and each heap that it meets on its
//! way is an initial heap of its own: together they stand for every node of every concrete heap.

use std::collections::BTreeSet;
use std::fmt;

use crate::abstraction::AbstractionOptions;
use crate::code::Code;
use crate::grammar::Grammar;
use crate::hypergraph::{Heap, Node};
use crate::symbols::{Selector, Symbols, Variable};

/// Why not every node can be marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unmarked {
    /// There are more heaps than this, one for each place of a marking.
    TooMany(usize),
    /// A heap has more nodes than this.
    TooLarge(usize),
    /// There is no end of ways to show a field.
    Endless,
    /// Somebody wanted it to stop.
    Stopped,
}

/// Asks whether to stop.
#[derive(Clone, Copy)]
struct Stop<'a>(&'a dyn Fn() -> bool);

impl fmt::Debug for Stop<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Stop")
    }
}

/// The marking of a node and those of its successors.
#[derive(Clone, Debug)]
pub struct Markings<'a> {
    grammar: &'a Grammar,
    options: AbstractionOptions,
    /// Markings move along these.
    selectors: Vec<Selector>,
    /// Successors by these are marked.
    watched: Vec<Selector>,
    /// More heaps are not looked at.
    limit: usize,
    /// Larger heaps are not looked at.
    largest: usize,
    /// Whether to stop.
    stop: Option<Stop<'a>>,
}

impl<'a> Markings<'a> {
    /// Markings that move along these selectors, and along those of the grammar: a program that does
    /// not mention a field does not hide what lies behind it. Successors by `selectors` are marked.
    /// The options are those of the analysis; constants count for admissibility, composed markings
    /// do not. More heaps than `limit` are not looked at, nor are very large ones: a grammar that
    /// cannot abstract what lies behind a marking makes heaps grow without bound.
    pub fn new(
        grammar: &'a Grammar,
        options: &AbstractionOptions,
        selectors: &[Selector],
        limit: usize,
    ) -> Markings<'a> {
        let edges = (grammar.rules().iter()).flat_map(|rule| rule.graph.edges());
        let mut all: Vec<Selector> = edges.map(|edge| edge.selector).collect();
        all.extend(selectors);
        all.sort_unstable();
        all.dedup();
        Markings {
            grammar,
            options: AbstractionOptions {
                admissible_constants: true,
                admissible_markings: false,
                ..*options
            },
            selectors: all,
            watched: selectors.to_vec(),
            limit,
            largest: 50,
            stop: None,
        }
    }

    /// Heaps with more nodes than this are not looked at; 50 if nothing else is said.
    #[must_use]
    pub fn largest(self, largest: usize) -> Markings<'a> {
        Markings { largest, ..self }
    }

    /// Asks often whether to stop.
    #[must_use]
    pub fn stopping(self, stop: &'a dyn Fn() -> bool) -> Markings<'a> {
        let stop = Some(Stop(stop));
        Markings { stop, ..self }
    }

    /// The heap with `%visited` at each node that is no constant, abstracted as far as possible.
    pub fn visited(&self, symbols: &mut Symbols, heap: &Heap) -> Result<Vec<Heap>, Unmarked> {
        let marking = symbols.add_variable("%visited");
        let mut reached = BTreeSet::new();
        let mut results = BTreeSet::new();
        let mut todo = starts(heap, marking);
        while let Some(mut heap) = todo.pop() {
            if !reached.insert(heap.code()) {
                continue;
            }
            self.look_at(&heap, reached.len())?;
            if let Some(node) = heap.variable(marking) {
                for mut next in self.reveal(&heap, node)? {
                    self.go_on()?;
                    for &selector in &self.selectors {
                        let target = next.target(node, selector);
                        if let Some(target) = target.filter(|&n| !is_constant(&next, n)) {
                            let mut moved = next.clone();
                            moved.set_variable(marking, target);
                            self.grammar.abstract_heap(&mut moved, &self.options);
                            todo.push(moved);
                        }
                    }
                    self.grammar
                        .abstract_heap(&mut next, &self.options.aggressive());
                    results.insert(next.code());
                }
            }
            self.grammar
                .abstract_heap(&mut heap, &self.options.aggressive());
            results.insert(heap.code());
        }
        Ok(results.iter().map(Heap::from_code).collect())
    }

    /// The heap with `%neighbourhood` at each node that is no constant, and `%neighbourhood-f` at
    /// each of its successors. What lies between them stays concrete.
    pub fn neighbourhood(&self, symbols: &mut Symbols, heap: &Heap) -> Result<Vec<Heap>, Unmarked> {
        let (marking, neighbours) = self.neighbours(symbols);
        let mut reached = BTreeSet::new();
        let mut results: BTreeSet<Code> = BTreeSet::new();
        let mut todo = starts(heap, marking);
        while let Some(heap) = todo.pop() {
            if !reached.insert(heap.code()) {
                continue;
            }
            self.look_at(&heap, reached.len())?;
            let Some(node) = heap.variable(marking) else {
                continue;
            };
            for mut next in self.reveal(&heap, node)? {
                self.go_on()?;
                let targets = (self.selectors.iter()).filter_map(|&one| next.target(node, one));
                for target in targets.filter(|&one| !is_constant(&next, one)) {
                    let mut moved = next.clone();
                    moved.set_variable(marking, target);
                    self.grammar.abstract_heap(&mut moved, &self.options);
                    todo.push(moved);
                }
                if mark_neighbours(&mut next, node, &neighbours) {
                    self.grammar.abstract_heap(&mut next, &self.options);
                    results.insert(next.code());
                }
            }
        }
        Ok(results.iter().map(Heap::from_code).collect())
    }

    /// A concrete heap with `%visited` at each node that is no constant.
    pub fn visited_concretely(&self, symbols: &mut Symbols, heap: &Heap) -> Vec<Heap> {
        starts(heap, symbols.add_variable("%visited"))
    }

    /// A concrete heap with `%neighbourhood` at each node that is no constant, and the markings of its
    /// successors.
    pub fn neighbourhood_concretely(&self, symbols: &mut Symbols, heap: &Heap) -> Vec<Heap> {
        let (marking, neighbours) = self.neighbours(symbols);
        let mut heaps = starts(heap, marking);
        heaps.retain_mut(|heap| {
            let node = heap.variable(marking);
            node.is_some_and(|node| mark_neighbours(heap, node, &neighbours))
        });
        heaps
    }

    /// The marking of a node, and those of its successors.
    fn neighbours(&self, symbols: &mut Symbols) -> (Variable, Vec<(Selector, Variable)>) {
        let marking = symbols.add_variable("%neighbourhood");
        let neighbours = self.watched.iter().map(|&selector| {
            let name = symbols.selector_name(selector);
            let name = format!("%neighbourhood-{name}");
            (selector, symbols.add_variable(&name))
        });
        (marking, neighbours.collect())
    }

    /// The heaps in which all selectors of a node can be seen.
    fn reveal(&self, heap: &Heap, node: Node) -> Result<Vec<Heap>, Unmarked> {
        let all = self.grammar.reveal_all(heap, node, &self.selectors);
        all.ok_or(Unmarked::Endless)
    }

    /// Whether it has gone too far with this heap, and so many in all.
    fn look_at(&self, heap: &Heap, reached: usize) -> Result<(), Unmarked> {
        self.go_on()?;
        if heap.node_count() > self.largest {
            return Err(Unmarked::TooLarge(self.largest));
        }
        if reached > self.limit {
            return Err(Unmarked::TooMany(self.limit));
        }
        Ok(())
    }
}

impl Markings<'_> {
    fn go_on(&self) -> Result<(), Unmarked> {
        match self.stop {
            Some(Stop(stop)) if stop() => Err(Unmarked::Stopped),
            _ => Ok(()),
        }
    }
}

/// Marks the successors of a node, and says whether there are any.
fn mark_neighbours(heap: &mut Heap, node: Node, neighbours: &[(Selector, Variable)]) -> bool {
    let mut marked = false;
    for &(selector, neighbour) in neighbours {
        if let Some(target) = heap.target(node, selector) {
            heap.set_variable(neighbour, target);
            marked = true;
        }
    }
    marked
}

/// The heap with a marking at each node that is no constant.
fn starts(heap: &Heap, marking: Variable) -> Vec<Heap> {
    let nodes = heap.nodes().filter(|&node| !is_constant(heap, node));
    let marked = |node: Node| {
        let mut heap = heap.clone();
        heap.set_variable(marking, node);
        heap
    };
    nodes.map(marked).collect()
}

fn is_constant(heap: &Heap, node: Node) -> bool {
    heap.node_type(node).is_constant() || heap.variables_at(node).any(Variable::is_constant)
}
