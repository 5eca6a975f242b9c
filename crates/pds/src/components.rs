//! Strongly connected components as lists.

use droste_automata::components::components as of_nodes;

/// The components of the graph on `0..count`, each after those that it leads to. `next` adds the
/// vertices that a vertex leads to.
pub(crate) fn components(count: u32, next: impl Fn(u32, &mut Vec<u32>)) -> Vec<Vec<u32>> {
    let mut targets = Vec::new();
    let found = of_nodes(
        count as usize,
        0..count,
        |node, out: &mut Vec<(u32, ())>| {
            targets.clear();
            next(node, &mut targets);
            out.extend(targets.iter().map(|&target| (target, ())));
        },
    );
    let mut lists = vec![Vec::new(); found.count as usize];
    for node in 0..count {
        lists[found.of[node as usize] as usize].push(node);
    }
    lists
}
