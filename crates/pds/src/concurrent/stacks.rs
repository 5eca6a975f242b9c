//! Regular sets of stacks in canonical form: equal sets have equal numbers.
//!
//! A set is a node of one deterministic automaton that all sets share: a stack is read from its top,
//! and belongs to the set if it leads to an accepting node. Nodes are minimal: two of them never
//! stand for the same set. So a search over sets of stacks has only to compare numbers to find out that it
//! has come to a set again.
//!
//! Sets are added by [`Stacks::intern`]. It determinises what it gets, and goes through the strongly
//! connected components, each after those that it leads to. What leads out of a component is
//! canonical then.
//!
//! * A component of one node without a loop is known if a node with the same edges is.
//! * Other components are minimised by partition refinement. If one of their nodes stands for the
//!   same set as a known node, so do all: every node of the component is reached from it, and the
//!   known automaton has a node for that. So one node is compared with candidates, by walking through
//!   both automata at the same time. Candidates are known nodes with the same *print*, a hash of what
//!   can be read within a few steps.
//!
//! Determinising may take exponentially many states. If it takes too many, the sets are taken as they are:
//! then equal sets may have different numbers, and the search may not see that it has come to one again.
//! Answers stay right.

use std::hash::{Hash, Hasher};

use droste_base::{Countable, Guard, StopReason};
use rustc_hash::{FxHashMap, FxHashSet, FxHasher};

use crate::components::components;

/// The set that has the empty stack only.
pub const BOTTOM: u32 = 0;

/// Set on the number of a node that is to be added.
pub const NEW: u32 = 1 << 31;

/// How far prints look.
const DEPTH: usize = 6;

/// How many pairs of nodes are looked at to find out whether one set is included in another.
const PAIRS: usize = 1 << 14;

/// A node that is to be added. Edges may be nondeterministic, and are a symbol and a target: a known
/// node, or [`NEW`] and the place of a new one in the list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fresh {
    /// Whether the empty stack belongs to the set.
    pub accepting: bool,
    /// What can be read.
    pub edges: Vec<(u32, u32)>,
}

/// Edges, sorted.
type Edges = Box<[(u32, u32)]>;

#[derive(Clone, Debug)]
struct Node {
    accepting: bool,
    edges: Edges,
    /// Hashes of what can be read in one step, in two, and so on.
    prints: [u64; DEPTH],
}

/// Sets of stacks.
#[derive(Clone, Debug)]
pub struct Stacks {
    nodes: Vec<Node>,
    by_edges: FxHashMap<(bool, Edges), u32>,
    /// Nodes on cycles, by their last print.
    by_print: FxHashMap<u64, Vec<u32>>,
    /// Whether the first is included in the second.
    included: FxHashMap<(u32, u32), bool>,
    edges: usize,
}

impl Default for Stacks {
    fn default() -> Self {
        let mut stacks = Stacks {
            nodes: Vec::new(),
            by_edges: FxHashMap::default(),
            by_print: FxHashMap::default(),
            included: FxHashMap::default(),
            edges: 0,
        };
        let bottom = stacks.plain(true, Box::default());
        debug_assert_eq!(bottom, Ok(BOTTOM));
        stacks
    }
}

/// What is being added, deterministic if that was possible.
struct Table {
    nodes: Vec<Fresh>,
    deterministic: bool,
}

impl Stacks {
    /// Only [`BOTTOM`] is known.
    pub fn new() -> Self {
        Self::default()
    }

    /// How many nodes there are.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// There is always one.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Bytes in the tables.
    pub fn bytes(&self) -> u64 {
        let nodes = self.nodes.len() * (2 * size_of::<Node>() + size_of::<u32>());
        let edges = 2 * self.edges * size_of::<(u32, u32)>();
        let pairs = self.included.len() * 2 * size_of::<(u32, u32)>();
        (nodes + edges + pairs) as u64
    }

    /// Whether the empty stack belongs to the set.
    #[inline]
    pub fn accepting(&self, node: u32) -> bool {
        self.nodes[node as usize].accepting
    }

    /// The symbols on top, and the sets of what is below them; sorted by symbol.
    #[inline]
    pub fn edges(&self, node: u32) -> &[(u32, u32)] {
        &self.nodes[node as usize].edges
    }

    /// The set with one stack, its top first.
    pub fn word(&mut self, stack: &[u32]) -> Result<u32, StopReason> {
        let mut node = BOTTOM;
        for &symbol in stack.iter().rev() {
            node = self.plain(false, Box::new([(symbol, node)]))?;
        }
        Ok(node)
    }

    /// The union of sets. Its node is nondeterministic if several have a stack with the same top.
    pub fn union(&mut self, sets: &[u32]) -> Result<u32, StopReason> {
        if let &[only] = sets {
            return Ok(only);
        }
        let accepting = sets.iter().any(|&set| self.accepting(set));
        let edges = sets.iter().flat_map(|&set| self.edges(set)).copied();
        let mut edges: Vec<(u32, u32)> = edges.collect();
        edges.sort_unstable();
        edges.dedup();
        self.plain(accepting, edges.into())
    }

    /// Adds nodes, and gives for each list of nodes (known or new) those that stand for its union:
    /// none if it is empty, and otherwise one, unless determinising blows up.
    pub fn intern(
        &mut self,
        fresh: &[Fresh],
        roots: &[Vec<u32>],
        guard: &mut Guard,
    ) -> Result<Vec<Vec<u32>>, StopReason> {
        let (table, roots) = self.determinise(fresh, roots, guard)?;
        let table = table.live();
        let lists = components(table.nodes.len() as u32, |node, out| {
            let edges = table.nodes[node as usize].edges.iter();
            out.extend(edges.filter_map(|(_, to)| (to & NEW != 0).then_some(to & !NEW)));
        });
        let mut names = vec![NEW; table.nodes.len()];
        for list in lists {
            guard.check()?;
            self.component(&table, &list, &mut names)?;
        }
        let resolve = |&root: &u32| match root & NEW {
            0 => Some(root),
            _ => Some(names[(root & !NEW) as usize]).filter(|&name| name != NEW),
        };
        let all = roots.iter().map(|list| {
            let mut list: Vec<u32> = list.iter().filter_map(resolve).collect();
            list.sort_unstable();
            list.dedup();
            list
        });
        Ok(all.collect())
    }

    /// The subset construction.
    fn determinise(
        &self,
        fresh: &[Fresh],
        roots: &[Vec<u32>],
        guard: &mut Guard,
    ) -> Result<(Table, Vec<Vec<u32>>), StopReason> {
        let most = 4 * fresh.len() + 1024;
        let mut names: FxHashMap<Vec<u32>, u32> = FxHashMap::default();
        let mut sets: Vec<Vec<u32>> = Vec::new();
        let mut name = |sets: &mut Vec<Vec<u32>>, mut set: Vec<u32>| -> Option<u32> {
            set.sort_unstable();
            set.dedup();
            match set[..] {
                [] => None,
                [known] if known & NEW == 0 => Some(known),
                _ => Some(*names.entry(set).or_insert_with_key(|set| {
                    sets.push(set.clone());
                    NEW | (sets.len() - 1) as u32
                })),
            }
        };
        let named = roots.iter().map(|list| name(&mut sets, list.clone()));
        let named: Vec<Vec<u32>> = named.map(|name| name.into_iter().collect()).collect();
        let mut nodes: Vec<Fresh> = Vec::new();
        let mut all: Vec<(u32, u32)> = Vec::new();
        while let Some(set) = sets.get(nodes.len()) {
            guard.check()?;
            if sets.len() > most {
                let table = Table {
                    nodes: fresh.to_vec(),
                    deterministic: false,
                };
                return Ok((table, roots.to_vec()));
            }
            all.clear();
            let mut accepting = false;
            for &node in set {
                let (accepts, edges) = if node & NEW == 0 {
                    (self.accepting(node), self.edges(node))
                } else {
                    let fresh = &fresh[(node & !NEW) as usize];
                    (fresh.accepting, &fresh.edges[..])
                };
                accepting |= accepts;
                all.extend(edges);
            }
            all.sort_unstable();
            all.dedup();
            let mut edges = Vec::new();
            for group in all.chunk_by(|a, b| a.0 == b.0) {
                let targets = group.iter().map(|edge| edge.1).collect();
                edges.extend(name(&mut sets, targets).map(|to| (group[0].0, to)));
            }
            nodes.push(Fresh { accepting, edges });
        }
        let table = Table {
            nodes,
            deterministic: true,
        };
        Ok((table, named))
    }

    /// Gives the nodes of a component their names. Those that it leads to have theirs.
    fn component(
        &mut self,
        table: &Table,
        list: &[u32],
        names: &mut [u32],
    ) -> Result<(), StopReason> {
        let place: FxHashMap<u32, u32> = (list.iter().copied()).zip(0..).collect();
        // Edges inside the component have `NEW` and a place in the list.
        let mut nodes: Vec<Fresh> = Vec::with_capacity(list.len());
        let mut inside = false;
        for &node in list {
            let node = &table.nodes[node as usize];
            let mut edges: Vec<(u32, u32)> = Vec::with_capacity(node.edges.len());
            for &(symbol, to) in &node.edges {
                if to & NEW == 0 {
                    edges.push((symbol, to));
                } else if let Some(place) = place.get(&(to & !NEW)) {
                    inside = true;
                    edges.push((symbol, NEW | place));
                } else if names[(to & !NEW) as usize] != NEW {
                    edges.push((symbol, names[(to & !NEW) as usize]));
                }
            }
            edges.sort_unstable();
            edges.dedup();
            nodes.push(Fresh {
                accepting: node.accepting,
                edges,
            });
        }
        if !inside {
            for (&node, fresh) in list.iter().zip(nodes) {
                // A node that leads nowhere stands for no stack at all.
                if fresh.accepting || !fresh.edges.is_empty() {
                    names[node as usize] = self.plain(fresh.accepting, fresh.edges.into())?;
                }
            }
            return Ok(());
        }
        if !table.deterministic {
            let first = self.nodes.len() as u32;
            for (&node, place) in list.iter().zip(0..) {
                names[node as usize] = first + place;
            }
            return self.cycle(&nodes, first);
        }
        let (nodes, class) = minimised(nodes);
        let prints = self.prints(&nodes);
        let candidates = self.by_print.get(&prints[0][DEPTH - 1]);
        let known = candidates.into_iter().flatten();
        let known = known.copied().find_map(|node| self.same(&nodes, node));
        let found = if let Some(found) = known {
            found
        } else {
            let first = self.nodes.len() as u32;
            self.cycle(&nodes, first)?;
            for (place, prints) in (first..).zip(prints) {
                let list = self.by_print.entry(prints[DEPTH - 1]);
                list.or_default().push(place);
            }
            (first..).take(nodes.len()).collect()
        };
        for (&node, class) in list.iter().zip(class) {
            names[node as usize] = found[class as usize];
        }
        Ok(())
    }

    /// A node that is on no cycle.
    fn plain(&mut self, accepting: bool, edges: Edges) -> Result<u32, StopReason> {
        if let Some(&known) = self.by_edges.get(&(accepting, edges.clone())) {
            return Ok(known);
        }
        self.push(accepting, edges)
    }

    fn push(&mut self, accepting: bool, edges: Edges) -> Result<u32, StopReason> {
        let id = self.nodes.len() as u32;
        if id & NEW != 0 {
            return Err(StopReason::TooMany(Countable::States, u64::from(NEW)));
        }
        let mut prints = [0; DEPTH];
        for (step, own) in prints.iter_mut().enumerate() {
            *own = print(accepting, &edges, |to| match step {
                0 => 0,
                // When a component is added, some targets are not in the table yet: `cycle` corrects this.
                _ => self
                    .nodes
                    .get(to as usize)
                    .map_or(0, |n| n.prints[step - 1]),
            });
        }
        self.edges += edges.len();
        self.nodes.push(Node {
            accepting,
            edges: edges.clone(),
            prints,
        });
        self.by_edges.entry((accepting, edges)).or_insert(id);
        Ok(id)
    }

    /// Adds the nodes of a component, the first with this number.
    fn cycle(&mut self, nodes: &[Fresh], first: u32) -> Result<(), StopReason> {
        let prints = self.prints(nodes);
        for (node, prints) in nodes.iter().zip(prints) {
            let named = node.edges.iter().map(|&(symbol, to)| match to & NEW {
                0 => (symbol, to),
                _ => (symbol, first + (to & !NEW)),
            });
            let mut edges: Vec<(u32, u32)> = named.collect();
            edges.sort_unstable();
            let id = self.push(node.accepting, edges.into())?;
            self.nodes[id as usize].prints = prints;
        }
        Ok(())
    }

    /// The prints of the nodes of a component.
    fn prints(&self, nodes: &[Fresh]) -> Vec<[u64; DEPTH]> {
        let mut all = vec![[0; DEPTH]; nodes.len()];
        for step in 0..DEPTH {
            for place in 0..nodes.len() {
                let node = &nodes[place];
                all[place][step] =
                    print(node.accepting, &node.edges, |to| match (step, to & NEW) {
                        (0, _) => 0,
                        (_, 0) => self.nodes[to as usize].prints[step - 1],
                        _ => all[(to & !NEW) as usize][step - 1],
                    });
            }
        }
        all
    }

    /// The known nodes that stand for the same sets, if the first node stands for that of `start`.
    fn same(&self, nodes: &[Fresh], start: u32) -> Option<Vec<u32>> {
        let mut found = vec![NEW; nodes.len()];
        found[0] = start;
        let mut work = vec![0];
        while let Some(place) = work.pop() {
            let (node, known) = (&nodes[place], &self.nodes[found[place] as usize]);
            if node.accepting != known.accepting || node.edges.len() != known.edges.len() {
                return None;
            }
            for (&(symbol, to), &(other, target)) in node.edges.iter().zip(&known.edges) {
                if symbol != other {
                    return None;
                }
                if to & NEW == 0 {
                    if to != target {
                        return None;
                    }
                    continue;
                }
                let to = (to & !NEW) as usize;
                if found[to] == NEW {
                    found[to] = target;
                    work.push(to);
                } else if found[to] != target {
                    return None;
                }
            }
        }
        Some(found)
    }

    /// Whether all stacks of one set are known to be in another.
    ///
    /// That is so if the second simulates the first. On deterministic automata the converse holds,
    /// too. The pairs that the question leads to are collected, and those without a simulation are
    /// removed until nothing changes.
    pub fn included(&mut self, first: u32, second: u32) -> bool {
        if first == second {
            return true;
        }
        if let Some(&known) = self.included.get(&(first, second)) {
            return known;
        }
        let mut pairs = vec![(first, second)];
        let mut seen: FxHashSet<(u32, u32)> = pairs.iter().copied().collect();
        let mut next = 0;
        while let Some(&(a, b)) = pairs.get(next) {
            next += 1;
            let (x, y) = (&self.nodes[a as usize], &self.nodes[b as usize]);
            for &(symbol, to) in &x.edges {
                for &(_, target) in matching(&y.edges, symbol) {
                    let pair = (to, target);
                    if to != target && !self.included.contains_key(&pair) && seen.insert(pair) {
                        pairs.push(pair);
                    }
                }
            }
            if pairs.len() > PAIRS {
                self.included.insert((first, second), false);
                return false;
            }
        }
        loop {
            let before = seen.len();
            for &(a, b) in &pairs {
                let (x, y) = (&self.nodes[a as usize], &self.nodes[b as usize]);
                let holds = |to: u32, target: u32| {
                    let known = self.included.get(&(to, target));
                    to == target
                        || known.map_or_else(|| seen.contains(&(to, target)), |known| *known)
                };
                let simulated = x.edges.iter().all(|&(symbol, to)| {
                    let mut targets = matching(&y.edges, symbol).iter();
                    targets.any(|&(_, target)| holds(to, target))
                });
                if !simulated || x.accepting && !y.accepting {
                    seen.remove(&(a, b));
                }
            }
            if seen.len() == before {
                break;
            }
        }
        for pair in pairs {
            self.included.insert(pair, seen.contains(&pair));
        }
        seen.contains(&(first, second))
    }
}

/// The edges with this symbol.
fn matching(edges: &[(u32, u32)], symbol: u32) -> &[(u32, u32)] {
    let begin = edges.partition_point(|edge| edge.0 < symbol);
    let end = begin + edges[begin..].partition_point(|edge| edge.0 == symbol);
    &edges[begin..end]
}

fn print(accepting: bool, edges: &[(u32, u32)], of: impl Fn(u32) -> u64) -> u64 {
    let mut hasher = FxHasher::default();
    accepting.hash(&mut hasher);
    for &(symbol, to) in edges {
        (symbol, of(to)).hash(&mut hasher);
    }
    hasher.finish()
}

/// The class of a node, whether it accepts, and the classes that it leads to.
type Signature = (u32, bool, Vec<(u32, u32)>);

/// A component without nodes that stand for the same set, and the class of each of its nodes: where
/// that stands in the result. Moore's partition refinement.
fn minimised(nodes: Vec<Fresh>) -> (Vec<Fresh>, Vec<u32>) {
    let mut class: Vec<u32> = vec![0; nodes.len()];
    let mut count = 0;
    loop {
        let mut names: FxHashMap<Signature, u32> = FxHashMap::default();
        let mut next = Vec::with_capacity(nodes.len());
        for (node, &old) in nodes.iter().zip(&class) {
            let edges = node.edges.iter().map(|&(symbol, to)| match to & NEW {
                0 => (symbol, to),
                _ => (symbol, NEW | class[(to & !NEW) as usize]),
            });
            let fresh = names.len() as u32;
            let key = (old, node.accepting, edges.collect());
            next.push(*names.entry(key).or_insert(fresh));
        }
        let more = names.len();
        class = next;
        if more == count {
            break;
        }
        count = more;
    }
    let mut result: Vec<Option<Fresh>> = vec![None; count];
    for (node, &place) in nodes.into_iter().zip(&class) {
        let edges = node.edges.into_iter().map(|(symbol, to)| match to & NEW {
            0 => (symbol, to),
            _ => (symbol, NEW | class[(to & !NEW) as usize]),
        });
        result[place as usize].get_or_insert(Fresh {
            accepting: node.accepting,
            edges: edges.collect(),
        });
    }
    (result.into_iter().flatten().collect(), class)
}

impl Table {
    /// Without edges to nodes from which nothing is accepted.
    fn live(mut self) -> Self {
        let mut into: Vec<Vec<u32>> = vec![Vec::new(); self.nodes.len()];
        let mut live = vec![false; self.nodes.len()];
        let mut work = Vec::new();
        for (place, node) in (0..).zip(&self.nodes) {
            for (_, to) in &node.edges {
                if to & NEW != 0 {
                    into[(to & !NEW) as usize].push(place);
                }
            }
            if node.accepting || node.edges.iter().any(|(_, to)| to & NEW == 0) {
                live[place as usize] = true;
                work.push(place);
            }
        }
        while let Some(place) = work.pop() {
            for &from in &into[place as usize] {
                if !std::mem::replace(&mut live[from as usize], true) {
                    work.push(from);
                }
            }
        }
        for node in &mut self.nodes {
            node.edges
                .retain(|(_, to)| to & NEW == 0 || live[(to & !NEW) as usize]);
        }
        self
    }
}
