//! `Erase` and the R-graph of a Büchi pushdown system, and its good cycles.
//!
//! Source: Basu, Kumar, Pokorny and Ramakrishnan, *Resource-Constrained Model Checking of Recursive
//! Programs*, TACAS 2002: Proposition 1 (`Erase`), Propositions 2 and 3 and Definition 4 (the R-graph),
//! Theorems 1 and 2 (which cycles matter). We differ in one thing: acceptance is generalised, so goodness
//! is not a bit but a set of marks. A cycle may take a different run through the callee each
//! time round, so each mark is a question of its own, and for each the paper's relation is kept:
//! mark `k` is in `Erase(h, p)` if some erasing run has it.

use std::collections::{BTreeMap, HashMap};

use crate::oracle::Refusal;
use crate::oracle::graph::components;

/// A control location with the symbol on top of the stack.
pub(super) type Head = usize;
/// A control location: what remains when the symbol on top has been erased.
pub(super) type Control = usize;

/// A Büchi pushdown system.
pub(super) trait Rules {
    /// The heads there are at first; `head` may add more.
    fn heads(&self) -> usize;
    /// The head made of a control location and the symbol that was pushed below by `pusher`.
    fn head(&mut self, control: Control, pusher: Head) -> Head;
    /// Heads that follow at the same height.
    fn steps(&self, head: Head) -> &[Head];
    /// Heads that follow one higher.
    fn pushes(&self, head: Head) -> &[Head];
    /// Control locations that remain when the symbol on top is popped.
    fn pops(&self, head: Head) -> &[Control];
    /// The sets of good heads to which it belongs.
    fn marks(&self, head: Head) -> u32;
}

/// An edge of the R-graph.
pub(super) struct Edge {
    from: Head,
    to: Head,
    /// Goodness: the marks of some run.
    good: u32,
    /// Whether the resource label is 1: the stack grows by one.
    grows: bool,
}

#[derive(Default)]
struct Saturation {
    /// For each head, what remains after runs that erase its symbol, with their marks.
    erase: Vec<BTreeMap<Control, u32>>,
    /// Pairs of `erase` whose consequences are to be drawn.
    todo: Vec<(Head, Control)>,
    size: usize,
    /// Rules backwards.
    steps_to: Vec<Vec<Head>>,
    pushes_to: Vec<Vec<Head>>,
    /// A push, and an erasure of what was pushed: from where to where, and the marks on the way.
    summaries: HashMap<(Head, Head), u32>,
    /// For each head, from where summaries lead to it.
    summaries_to: Vec<Vec<Head>>,
}

impl Saturation {
    fn new(heads: usize) -> Self {
        Saturation {
            erase: vec![BTreeMap::new(); heads],
            steps_to: vec![Vec::new(); heads],
            pushes_to: vec![Vec::new(); heads],
            summaries_to: vec![Vec::new(); heads],
            ..Saturation::default()
        }
    }

    /// The head's rules become known. They lead to heads there are already.
    fn add_rules(&mut self, rules: &dyn Rules, head: Head) {
        for &to in rules.steps(head) {
            self.steps_to[to].push(head);
        }
        for &to in rules.pushes(head) {
            self.pushes_to[to].push(head);
        }
        // Proposition 1, clause 1.
        for &control in rules.pops(head) {
            self.add(head, control, rules.marks(head));
        }
    }

    /// `(head, marks, control)` is in `Erase`.
    fn add(&mut self, head: Head, control: Control, marks: u32) {
        let size = &mut self.size;
        let mut new = false;
        let known = self.erase[head].entry(control).or_insert_with(|| {
            *size += 1;
            new = true;
            0
        });
        if new || *known | marks != *known {
            *known |= marks;
            self.todo.push((head, control));
        }
    }

    /// What follows from one pair.
    fn consequences(&mut self, rules: &mut dyn Rules, head: Head, control: Control) {
        let marks = self.erase[head][&control];
        // Proposition 1, clause 2.
        for from in self.steps_to[head].clone() {
            self.add(from, control, marks | rules.marks(from));
        }
        // Clause 3: the pair as its second erasure …
        for from in self.summaries_to[head].clone() {
            let good = self.summaries[&(from, head)];
            self.add(from, control, marks | good);
        }
        // … and as its first.
        for from in self.pushes_to[head].clone() {
            let to = rules.head(control, from);
            if to == self.erase.len() {
                self.erase.push(BTreeMap::new());
                self.steps_to.push(Vec::new());
                self.pushes_to.push(Vec::new());
                self.summaries_to.push(Vec::new());
                self.add_rules(rules, to);
                // Pairs of the heads it leads to are known already.
                for &next in rules.steps(to) {
                    for (control, marks) in self.erase[next].clone() {
                        self.add(to, control, marks | rules.marks(to));
                    }
                }
            }
            let good = marks | rules.marks(from);
            let known = self.summaries.get(&(from, to)).copied();
            if known.is_none_or(|known| known | good != known) {
                if known.is_none() {
                    self.summaries_to[to].push(from);
                }
                let good = known.unwrap_or(0) | good;
                self.summaries.insert((from, to), good);
                for (control, marks) in self.erase[to].clone() {
                    self.add(from, control, marks | good);
                }
            }
        }
    }
}

impl Saturation {
    /// Whether Proposition 1 holds clause by clause, and every summary is there with its marks.
    fn check_saturated(&self, rules: &mut dyn Rules) -> bool {
        let contains = |head: Head, control: Control, marks: u32| {
            let known = self.erase[head].get(&control);
            known.is_some_and(|known| known & marks == marks)
        };
        (0..self.erase.len()).all(|from| {
            let here = rules.marks(from);
            let pops = rules.pops(from).iter();
            let popped = pops.copied().all(|control| contains(from, control, here));
            let stepped = rules.steps(from).iter().all(|&to| {
                let mut pairs = self.erase[to].iter();
                pairs.all(|(&control, marks)| contains(from, control, marks | here))
            });
            let pushed = rules.pushes(from).to_vec().into_iter().all(|first| {
                self.erase[first].iter().all(|(&control, marks)| {
                    let second = rules.head(control, from);
                    let good = marks | here;
                    let summary = self.summaries.get(&(from, second));
                    summary.is_some_and(|known| known & good == good)
                        && self.erase[second]
                            .iter()
                            .all(|(&control, marks)| contains(from, control, marks | good))
                })
            });
            popped && stepped && pushed
        })
    }
}

/// The R-graph; refused if `Erase` has more than `most` pairs.
pub(super) fn rgraph(rules: &mut dyn Rules, most: usize) -> Result<Vec<Edge>, Refusal> {
    let mut saturation = Saturation::new(rules.heads());
    for head in 0..rules.heads() {
        saturation.add_rules(rules, head);
    }
    while let Some((head, control)) = saturation.todo.pop() {
        if saturation.size > most {
            return Err(Refusal::TooLarge);
        }
        saturation.consequences(rules, head, control);
    }
    debug_assert!(saturation.check_saturated(rules), "Erase is not closed");
    let mut edges = Vec::new();
    for from in 0..saturation.erase.len() {
        let good = rules.marks(from);
        let edge = |to: Head, grows| Edge {
            from,
            to,
            good,
            grows,
        };
        // Proposition 2, clauses 1 and 2.
        edges.extend(rules.steps(from).iter().map(|&to| edge(to, false)));
        edges.extend(rules.pushes(from).iter().map(|&to| edge(to, true)));
    }
    // Clause 3.
    let summaries = saturation.summaries.into_iter();
    edges.extend(summaries.map(|((from, to), good)| Edge {
        from,
        to,
        good,
        grows: false,
    }));
    Ok(edges)
}

/// Whether a cycle with all these marks can be reached from `start`: any cycle (Theorem 1), and one on
/// which the stack does not grow (Theorem 2, Definition 4).
pub(super) fn good_cycles(edges: &[Edge], start: Head, all_marks: u32) -> [bool; 2] {
    let heads = edges.iter().map(|edge| edge.from.max(edge.to) + 1).max();
    let mut next = vec![Vec::new(); heads.unwrap_or(0).max(start + 1)];
    for (i, edge) in edges.iter().enumerate() {
        next[edge.from].push(i);
    }
    let mut reached = vec![false; next.len()];
    let mut todo = vec![start];
    while let Some(head) = todo.pop() {
        if !std::mem::replace(&mut reached[head], true) {
            todo.extend(next[head].iter().map(|&i| edges[i].to));
        }
    }
    [true, false].map(|growing| {
        let edges = edges.iter();
        let edges = edges.filter(|edge| reached[edge.from] && (growing || !edge.grows));
        let edges: Vec<&Edge> = edges.collect();
        let component = components(next.len(), edges.iter().map(|edge| (edge.from, edge.to)));
        // Every edge of a component lies on one cycle with all the others.
        let mut good = vec![None; next.len()];
        for edge in edges {
            if component[edge.from] == component[edge.to] {
                *good[component[edge.from]].get_or_insert(0) |= edge.good;
            }
        }
        good.contains(&Some(all_marks))
    })
}
