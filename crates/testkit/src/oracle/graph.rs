//! The state graph of a watched program, and which infinite runs it has.
//!
//! Infinite runs are the infinite paths of the graph whose edges are internal steps, calls that
//! never return, and summaries; a summary is good if some path through the callee, from the
//! entry to the exit, visits a good node. The stack of a run stays bounded if it makes
//! only finitely many of the calls that never return.
//!
//! What is good may be asked anew, label by label, of the same graph: neither contexts nor
//! summaries nor cycles depend on it. Searches through whole configurations, in `bounded.rs`,
//! tell whether the answers are right.

use std::collections::BTreeSet;

use droste_program::Violation;

use super::product::{State, Watcher};

/// The entry of the bottommost frame: nobody waits for its exits.
pub(super) const ROOT: usize = 0;

/// How a context comes to another at the same height.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Via {
    /// A step.
    Step,
    /// A call that returns: the number of the summary.
    Summary(usize),
}

/// Everything the runs of a watched program do.
#[derive(Default)]
pub(super) struct Graph {
    /// States, and modes of the watcher.
    pub(super) nodes: Vec<(State, usize)>,
    /// Entry and node.
    pub(super) contexts: Vec<(usize, usize)>,
    /// For each entry, the contexts in which it begins.
    pub(super) first: Vec<Vec<usize>>,
    /// For each entry, the contexts that call it.
    pub(super) callers: Vec<Vec<usize>>,
    /// Ways from context to context at the same height.
    pub(super) flows: Vec<(usize, Via, usize)>,
    /// Contexts at a return, and the summary this belongs to.
    pub(super) leaves: Vec<(usize, usize)>,
    /// Position and kind of every violation that was reached.
    pub(super) violations: BTreeSet<(usize, Violation)>,
}

/// A graph with what every question about infinite runs needs of it.
pub(super) struct Runs {
    pub(super) graph: Graph,
    /// For each context, where it goes at the same height.
    of_context: Vec<Vec<usize>>,
    /// For each context, the summaries it completes.
    left: Vec<Vec<usize>>,
    /// For each summary, where it leads to, whoever the caller is.
    of_summary: Vec<Vec<usize>>,
    /// The edges that lie on cycles: of all runs, and of those on a bounded stack.
    cycles: [Vec<Edge>; 2],
}

/// From a vertex, how, to a vertex. A vertex is twice the node, plus one in the bottommost frame
/// (which may terminate).
type Edge = (usize, Via, usize);

impl Runs {
    pub(super) fn new(graph: Graph) -> Self {
        let summaries = graph.leaves.iter().map(|&(_, summary)| summary + 1);
        let mut of_summary = vec![Vec::new(); summaries.max().unwrap_or(0)];
        let mut of_context = vec![Vec::new(); graph.contexts.len()];
        for &(from, via, to) in &graph.flows {
            of_context[from].push(to);
            if let Via::Summary(summary) = via {
                of_summary[summary].push(to);
            }
        }
        let mut left = vec![Vec::new(); graph.contexts.len()];
        for &(context, summary) in &graph.leaves {
            left[context].push(summary);
        }
        let vertex = |context: usize| {
            let (entry, node) = graph.contexts[context];
            2 * node + usize::from(entry == ROOT)
        };
        let flows = graph.flows.iter();
        let flows = flows.map(|&(from, via, to)| (vertex(from), via, vertex(to)));
        let bounded: BTreeSet<Edge> = flows.collect();
        // Every call edge of an infinite path raises the stack for good.
        let mut all = bounded.clone();
        for (first, callers) in graph.first.iter().zip(&graph.callers) {
            for &from in callers {
                all.extend(
                    first
                        .iter()
                        .map(|&to| (vertex(from), Via::Step, vertex(to))),
                );
            }
        }
        let cycles = [all, bounded].map(|mut edges| {
            let pairs = edges.iter().map(|&(from, _, to)| (from, to));
            let component = components(2 * graph.nodes.len(), pairs);
            edges.retain(|&(from, _, to)| component[from] == component[to]);
            edges.into_iter().collect()
        });
        Runs {
            graph,
            of_context,
            left,
            of_summary,
            cycles,
        }
    }

    /// Whether there is an infinite run at all: among all runs, and among those whose stack stays
    /// bounded.
    pub(super) fn have_cycles(&self) -> [bool; 2] {
        self.cycles.each_ref().map(|edges| !edges.is_empty())
    }

    /// Whether some infinite run visits nodes that the watcher calls good infinitely often: among
    /// all runs, and among those whose stack stays bounded.
    pub(super) fn good_cycles(&self, watcher: &dyn Watcher) -> [bool; 2] {
        let nodes = self.graph.nodes.iter();
        let good = nodes.map(|(state, mode)| watcher.good(*mode, state));
        let good: Vec<bool> = good.collect();
        let summaries = self.good_summaries(&good);
        self.cycles.each_ref().map(|edges| {
            edges.iter().any(|&(from, via, to)| {
                matches!(via, Via::Summary(summary) if summaries[summary])
                    || good[from / 2]
                    || good[to / 2]
            })
        })
    }

    /// The summaries with a path through the callee that visits a good node.
    fn good_summaries(&self, good: &[bool]) -> Vec<bool> {
        let contexts = &self.graph.contexts;
        let mut summary_is_good = vec![false; self.of_summary.len()];
        // Contexts that some run comes to over a good node visited since the entry.
        let mut after_good = vec![false; contexts.len()];
        let mut todo: Vec<usize> = (0..contexts.len())
            .filter(|&context| good[contexts[context].1])
            .collect();
        while let Some(context) = todo.pop() {
            if std::mem::replace(&mut after_good[context], true) {
                continue;
            }
            todo.extend(&self.of_context[context]);
            for &summary in &self.left[context] {
                if !std::mem::replace(&mut summary_is_good[summary], true) {
                    todo.extend(&self.of_summary[summary]);
                }
            }
        }
        summary_is_good
    }
}

/// The strongly connected component of every vertex, by two depth-first searches (Kosaraju).
pub(super) fn components(
    vertices: usize,
    edges: impl Iterator<Item = (usize, usize)>,
) -> Vec<usize> {
    let mut forward = vec![Vec::new(); vertices];
    let mut backward = vec![Vec::new(); vertices];
    for (from, to) in edges {
        forward[from].push(to);
        backward[to].push(from);
    }
    let mut seen = vec![false; vertices];
    let mut finished = Vec::new();
    for root in 0..vertices {
        if std::mem::replace(&mut seen[root], true) {
            continue;
        }
        let mut stack = vec![(root, 0)];
        while let Some((vertex, next)) = stack.pop() {
            if let Some(&to) = forward[vertex].get(next) {
                stack.push((vertex, next + 1));
                if !std::mem::replace(&mut seen[to], true) {
                    stack.push((to, 0));
                }
            } else {
                finished.push(vertex);
            }
        }
    }
    let none = usize::MAX;
    let mut component = vec![none; vertices];
    for &root in finished.iter().rev() {
        let mut stack = vec![root];
        while let Some(vertex) = stack.pop() {
            if component[vertex] == none {
                component[vertex] = root;
                stack.extend(backward[vertex].iter().filter(|&&v| component[v] == none));
            }
        }
    }
    component
}
