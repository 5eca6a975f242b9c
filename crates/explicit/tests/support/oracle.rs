//! What is true of a machine, computed as plainly as possible.
//!
//! Summaries with sets of marks are saturated until nothing changes; then the whole state graph is laid
//! out, with the bottom of the stack told apart from the rest, and its transitive closure
//! gives reachability and cycles. Shortest runs are a fixpoint of sums in the manner of Bellman and Ford.

use std::collections::{BTreeMap, BTreeSet};

use droste_testkit::rsm::{Move, Rsm};

/// Ways out of each entry: the exit, and the marks met on the way.
type Summaries = Vec<BTreeSet<(u8, u8)>>;

fn summaries(rsm: &Rsm) -> Summaries {
    let n = rsm.nodes.len();
    // For each entry: the states reachable in its procedure, with the marks met before them.
    let mut within: Vec<BTreeSet<(u8, u8)>> = (0..n).map(|e| [(e as u8, 0)].into()).collect();
    let mut exits: Summaries = vec![BTreeSet::new(); n];
    loop {
        let mut changed = false;
        for entry in 0..n {
            for (state, before) in within[entry].clone() {
                let node = &rsm.nodes[state as usize];
                for &part in &node.parts {
                    changed |= within[entry].insert((part, before));
                }
                let marks = before | node.props;
                for &each in &node.moves {
                    match each {
                        Move::Internal(to) => changed |= within[entry].insert((to, marks)),
                        Move::Exit(exit) => changed |= exits[entry].insert((exit, marks)),
                        Move::Call(call, callee) => {
                            for (exit, inside) in exits[callee as usize].clone() {
                                for &to in
                                    rsm.resume.get(&(state, call, exit)).into_iter().flatten()
                                {
                                    changed |= within[entry].insert((to, marks | inside));
                                }
                            }
                        }
                    }
                }
            }
        }
        if !changed {
            return exits;
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct Arc {
    from: usize,
    to: usize,
    marks: u8,
    is_call: bool,
}

/// The state graph. Vertex 2s + b is the state s; b is 1 while no call is pending.
struct Graph {
    arcs: Vec<Arc>,
    reachable: Vec<bool>,
}

fn graph(rsm: &Rsm) -> Graph {
    let exits = summaries(rsm);
    let mut arcs = Vec::new();
    for (s, node) in rsm.nodes.iter().enumerate() {
        for bottom in 0..2 {
            let from = 2 * s + bottom;
            let same = |to: u8, marks| Arc {
                from,
                to: 2 * to as usize + bottom,
                marks,
                is_call: false,
            };
            arcs.extend(node.parts.iter().map(|&part| same(part, 0)));
            for &each in &node.moves {
                match each {
                    Move::Internal(to) => arcs.push(same(to, 0)),
                    Move::Call(call, callee) => {
                        arcs.push(Arc {
                            from,
                            to: 2 * callee as usize,
                            marks: 0,
                            is_call: true,
                        });
                        for &(exit, marks) in &exits[callee as usize] {
                            let next = rsm.resume.get(&(s as u8, call, exit));
                            arcs.extend(next.into_iter().flatten().map(|&to| same(to, marks)));
                        }
                    }
                    Move::Exit(exit) => {
                        let last = rsm.terminated.get(&exit).filter(|_| bottom == 1);
                        arcs.extend(last.map(|&to| same(to, 0)));
                    }
                }
            }
        }
    }
    let paths = closure(2 * rsm.nodes.len(), &arcs, true);
    let initial: Vec<usize> = rsm.initial.iter().map(|&s| 2 * s as usize + 1).collect();
    let reachable = (0..2 * rsm.nodes.len())
        .map(|v| initial.iter().any(|&i| i == v || paths[i] >> v & 1 == 1))
        .collect();
    Graph { arcs, reachable }
}

/// For each vertex the set of those that can be reached over one arc or more.
fn closure(n: usize, arcs: &[Arc], calls: bool) -> Vec<u64> {
    assert!(n <= 64, "machines are small");
    let mut paths = vec![0u64; n];
    for arc in arcs.iter().filter(|arc| calls || !arc.is_call) {
        paths[arc.from] |= 1 << arc.to;
    }
    for middle in 0..n {
        for from in 0..n {
            if paths[from] >> middle & 1 == 1 {
                paths[from] |= paths[middle];
            }
        }
    }
    paths
}

/// Everything the tests ask about a machine.
pub(crate) struct Oracle<'a> {
    rsm: &'a Rsm,
    graph: Graph,
    all: Vec<u64>,
    flat: Vec<u64>,
}

impl<'a> Oracle<'a> {
    pub(crate) fn new(rsm: &'a Rsm) -> Self {
        let graph = graph(rsm);
        let n = 2 * rsm.nodes.len();
        let (all, flat) = (
            closure(n, &graph.arcs, true),
            closure(n, &graph.arcs, false),
        );
        Oracle {
            rsm,
            graph,
            all,
            flat,
        }
    }

    /// The propositions of a vertex; none if the state splits.
    fn props(&self, vertex: usize) -> u8 {
        let node = &self.rsm.nodes[vertex / 2];
        if node.parts.is_empty() { node.props } else { 0 }
    }

    pub(crate) fn reaches(&self, prop: u32) -> bool {
        (0..self.all.len()).any(|v| self.graph.reachable[v] && self.props(v) >> prop & 1 == 1)
    }

    /// Whether some infinite run meets all propositions of `marks` again and again.
    pub(crate) fn repeats(&self, marks: u8, finite_stack: bool) -> bool {
        let paths = if finite_stack { &self.flat } else { &self.all };
        let together = |v: usize, w: usize| paths[v] >> w & 1 == 1 && paths[w] >> v & 1 == 1;
        (0..paths.len())
            .filter(|&v| self.graph.reachable[v] && together(v, v))
            .any(|v| {
                let states = (0..paths.len())
                    .filter(|&w| together(v, w))
                    .map(|w| self.props(w));
                let arcs = self.graph.arcs.iter();
                let inside = arcs.filter(|arc| {
                    together(v, arc.from) && together(v, arc.to) && !(finite_stack && arc.is_call)
                });
                states
                    .chain(inside.map(|arc| arc.marks))
                    .fold(0, |met, m| met | m)
                    & marks
                    == marks
            })
    }

    /// The number of steps of a shortest run that reaches `prop`.
    pub(crate) fn shortest(&self, prop: u32) -> Option<u64> {
        let (runs, _) = self.lengths();
        let hits = runs
            .iter()
            .filter(|&(&v, _)| self.props(v) >> prop & 1 == 1);
        hits.map(|(_, &length)| length).min()
    }

    /// The number of steps of a shortest run that is stuck where `end` is not true: in a state that
    /// can do nothing, or in one that can only leave, with exits that its caller refuses. What comes
    /// after the end of a run does not count.
    pub(crate) fn stuck(&self, end: u32) -> Option<u64> {
        let mut rsm = self.rsm.clone();
        rsm.terminated.clear();
        let (runs, within) = Oracle::new(&rsm).lengths();
        let mut least: Option<u64> = None;
        for (&vertex, &length) in &runs {
            let caller = (vertex / 2) as u8;
            let node = &rsm.nodes[vertex / 2];
            if node.parts.is_empty() && node.moves.is_empty() && node.props >> end & 1 == 0 {
                least = Some(length.min(least.unwrap_or(length)));
            }
            for &each in &node.moves {
                let Move::Call(call, entry) = each else {
                    continue;
                };
                for (&state, &inside) in &within[entry as usize] {
                    if rsm.nodes[state as usize].props >> end & 1 == 1 {
                        continue;
                    }
                    let leaving = &rsm.nodes[state as usize].moves;
                    let refused = leaving.iter().all(|&each| match each {
                        Move::Exit(exit) => {
                            (rsm.resume.get(&(caller, call, exit))).is_none_or(Vec::is_empty)
                        }
                        _ => false,
                    });
                    if refused && !leaving.is_empty() {
                        let length = length + 1 + inside;
                        least = Some(length.min(least.unwrap_or(length)));
                    }
                }
            }
        }
        least
    }

    /// The least number of steps to every vertex, and from every entry to the states of its procedure.
    fn lengths(&self) -> (BTreeMap<usize, u64>, Vec<BTreeMap<u8, u64>>) {
        let rsm = self.rsm;
        let n = rsm.nodes.len();
        let mut exits: Vec<BTreeMap<u8, u64>> = vec![BTreeMap::new(); n];
        let mut within: Vec<BTreeMap<u8, u64>> = (0..n).map(|e| [(e as u8, 0)].into()).collect();
        let mut runs: BTreeMap<usize, u64> = rsm
            .initial
            .iter()
            .map(|&s| (2 * s as usize + 1, 0))
            .collect();
        loop {
            let mut changed = false;
            for entry in 0..n {
                for (state, length) in within[entry].clone() {
                    for (way, to, cost) in ways(rsm, state, &exits) {
                        changed |= match way {
                            Way::Same => lower(&mut within[entry], to, length + cost),
                            Way::Exit => lower(&mut exits[entry], to, length + cost),
                            Way::Call => false,
                        };
                    }
                }
            }
            for (vertex, length) in runs.clone() {
                let bottom = vertex % 2;
                for (way, to, cost) in ways(rsm, (vertex / 2) as u8, &exits) {
                    let (to, cost) = match way {
                        Way::Same => (2 * to as usize + bottom, cost),
                        Way::Call => (2 * to as usize, cost),
                        Way::Exit => match rsm.terminated.get(&to) {
                            Some(&last) if bottom == 1 => (2 * last as usize + 1, 1),
                            _ => continue,
                        },
                    };
                    changed |= lower(&mut runs, to, length + cost);
                }
            }
            if !changed {
                return (runs, within);
            }
        }
    }
}
enum Way {
    Same,
    Call,
    Exit,
}

/// Every way on from `state`: where to, and at what cost.
fn ways(rsm: &Rsm, state: u8, exits: &[BTreeMap<u8, u64>]) -> Vec<(Way, u8, u64)> {
    let node = &rsm.nodes[state as usize];
    let mut ways: Vec<_> = node
        .parts
        .iter()
        .map(|&part| (Way::Same, part, 0))
        .collect();
    for &each in &node.moves {
        match each {
            Move::Internal(to) => ways.push((Way::Same, to, 1)),
            Move::Exit(exit) => ways.push((Way::Exit, exit, 0)),
            Move::Call(call, callee) => {
                ways.push((Way::Call, callee, 1));
                for (&exit, &inside) in &exits[callee as usize] {
                    for &to in rsm.resume.get(&(state, call, exit)).into_iter().flatten() {
                        ways.push((Way::Same, to, inside + 2));
                    }
                }
            }
        }
    }
    ways
}

fn lower<K: Ord>(map: &mut BTreeMap<K, u64>, key: K, length: u64) -> bool {
    let known = map.entry(key).or_insert(u64::MAX);
    let better = length < *known;
    *known = length.min(*known);
    better
}
