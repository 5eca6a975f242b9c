//! The canonical order of nodes that a walk cannot tell apart: colour refinement, and where that
//! is not enough, a search that gives each of some equal nodes a colour of its own in turn.
//!
//! The scheme is that of `McKay` and Piperno, *Practical graph isomorphism, II*, JSC 60, 2014: of
//! all leaves of the search tree the least wins, first by what refinement saw on the way, then by
//! the code. Two leaves with the same code give an automorphism. Then the branch in which the
//! second was found is left, for it looks like that of the first; and a node is not tried if such
//! a symmetry that keeps the path maps one that was tried to it. Colours are ranks of hashes that
//! are computed from the colours around alone; a collision of hashes costs time, nothing else.
//!
//! Parts of the heap that hang together only through nodes that are known are searched one by one,
//! and then sorted: many equal parts, say garbage that nobody collects, cost no more than each.

use crate::canonical::{Externals, Numbering};
use crate::code;
use crate::hypergraph::{Heap, Node};

/// The colour of a node that was removed.
const NONE: u32 = u32::MAX;

/// A level of the search: nodes of one cell are tried in turn.
struct Level {
    colours: Vec<u32>,
    cell: Vec<Node>,
    /// How many of the cell have been tried or passed over.
    next: usize,
    tried: Vec<Node>,
    /// The least node of each orbit of the symmetries found that keep the path to this level.
    orbit: Vec<u16>,
}

/// The best leaf so far.
#[derive(Default)]
struct Leaf {
    traces: Vec<u64>,
    code: Vec<u16>,
    order: Vec<Node>,
}

/// Numbers the nodes that the walk has left out.
pub(crate) fn complete(heap: &Heap, externals: Externals, numbering: &mut Numbering) {
    let (colours, trace) = start(heap, externals, numbering);
    let parts = parts(heap, &colours);
    let order = if parts.len() < 2 {
        search(heap, externals, colours, trace).order
    } else {
        let mut searched: Vec<_> = (parts.iter())
            .map(|part| search_part(heap, externals, &colours, part))
            .collect();
        // Parts that agree in this are interchangeable.
        searched.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        let mut place = vec![0; heap.node_bound()];
        let order = searched.iter().flat_map(|found| &found.1);
        for (at, node) in order.enumerate() {
            place[node.at()] = at;
        }
        let mut order: Vec<Node> = heap.nodes().collect();
        order.sort_unstable_by_key(|node| (colours[node.at()], place[node.at()]));
        order
    };
    for (number, node) in order.iter().enumerate() {
        numbering.number[node.at()] = number as u16;
    }
    numbering.order = order;
}

/// The parts of the heap that are left if the nodes with a colour of their own are taken away.
fn parts(heap: &Heap, colours: &[u32]) -> Vec<Vec<Node>> {
    let mut count = vec![0_u32; heap.node_bound() + 1];
    for node in heap.nodes() {
        count[colours[node.at()] as usize] += 1;
    }
    let open = |node: Node| count[colours[node.at()] as usize] > 1;
    // The least node of each part, found by joining.
    let mut least: Vec<u16> = (0..heap.node_bound() as u16).collect();
    let find = |least: &[u16], node: Node| {
        let mut at = node.0;
        while least[usize::from(at)] != at {
            at = least[usize::from(at)];
        }
        at
    };
    let mut join = |a: Node, b: Node| {
        if open(a) && open(b) {
            let (a, b) = (find(&least, a), find(&least, b));
            least[usize::from(a.max(b))] = a.min(b);
        }
    };
    for edge in heap.edges() {
        join(edge.origin, edge.target);
    }
    for hyperedge in heap.hyperedges() {
        let mut nodes = hyperedge.tentacles.iter().filter(|&&node| open(node));
        if let Some(&first) = nodes.next() {
            nodes.for_each(|&node| join(first, node));
        }
    }
    let mut parts: Vec<Vec<Node>> = vec![Vec::new(); heap.node_bound()];
    for node in heap.nodes().filter(|&node| open(node)) {
        parts[usize::from(find(&least, node))].push(node);
    }
    parts.retain(|part| !part.is_empty());
    parts
}

/// What tells a part from others, and its nodes in canonical order.
type Searched = ((Vec<u32>, Vec<u16>), Vec<Node>);

/// Searches a part alone, with the nodes that have colours of their own.
fn search_part(heap: &Heap, externals: Externals, colours: &[u32], part: &[Node]) -> Searched {
    let mut count = vec![0_u32; heap.node_bound() + 1];
    for node in heap.nodes() {
        count[colours[node.at()] as usize] += 1;
    }
    let mut alone = heap.clone();
    alone.remove_nodes(|node| count[colours[node.at()] as usize] > 1 && !part.contains(&node));
    let mut own: Vec<u32> = part.iter().map(|node| colours[node.at()]).collect();
    own.sort_unstable();
    let mut kept = colours.to_vec();
    for (at, colour) in kept.iter_mut().enumerate() {
        if !alone.contains(Node(at as u16)) {
            *colour = NONE;
        }
    }
    let trace = refine(&alone, &mut kept);
    let leaf = search(&alone, externals, kept, trace);
    let order = leaf.order.iter().copied();
    let order = order.filter(|node| part.contains(node)).collect();
    ((own, leaf.code), order)
}

/// The least leaf below these colours.
fn search(heap: &Heap, externals: Externals, colours: Vec<u32>, mut trace: u64) -> Leaf {
    let mut best: Option<Leaf> = None;
    let mut levels: Vec<Level> = Vec::new();
    let mut traces: Vec<u64> = Vec::new();
    // Whether the path is already better than that of the best leaf.
    let mut better = 0_usize;
    let mut pending = Some(colours);
    loop {
        if let Some(colours) = pending.take() {
            let depth = traces.len();
            let old = best.as_ref().map(|leaf| leaf.traces.get(depth).copied());
            let worse = match old {
                Some(Some(old)) if better == 0 => {
                    better = if trace < old { depth + 1 } else { 0 };
                    trace > old
                }
                _ => false,
            };
            traces.push(trace);
            if worse {
                traces.pop();
            } else if let Some(cell) = smallest_cell(heap, &colours) {
                levels.push(Level {
                    orbit: (0..heap.node_bound() as u16).collect(),
                    colours,
                    cell,
                    next: 0,
                    tried: Vec::new(),
                });
            } else {
                let keep = leaf(heap, externals, &colours, &traces, &mut levels, &mut best);
                better = 0;
                levels.truncate(keep);
                traces.truncate(keep);
            }
        }
        let Some(level) = levels.last_mut() else {
            break;
        };
        // A path can only be better below where it became so.
        if better > traces.len() {
            better = 0;
        }
        let orbit = &level.orbit;
        let tried = &level.tried;
        let fresh = |node: &&Node| tried.iter().all(|t| orbit[t.at()] != orbit[node.at()]);
        let rest = level.cell[level.next..].iter().position(|n| fresh(&n));
        let Some(skipped) = rest else {
            levels.pop();
            traces.pop();
            continue;
        };
        let node = level.cell[level.next + skipped];
        level.next += skipped + 1;
        level.tried.push(node);
        let mut colours = level.colours.clone();
        // The node comes before the rest of its cell.
        let own = colours[node.at()];
        for colour in colours.iter_mut().filter(|c| **c != NONE && **c >= own) {
            *colour += 1;
        }
        colours[node.at()] = own;
        trace = refine(heap, &mut colours);
        pending = Some(colours);
    }
    best.unwrap_or_default()
}

/// The first colours: numbered nodes keep their order, the others have their type. Nodes with
/// nothing attached are interchangeable, so each gets a colour at once.
fn start(heap: &Heap, externals: Externals, numbering: &Numbering) -> (Vec<u32>, u64) {
    let mut attached = vec![false; heap.node_bound()];
    for edge in heap.edges() {
        attached[edge.origin.at()] = true;
        attached[edge.target.at()] = true;
    }
    for node in heap.hyperedges().flat_map(|h| h.tentacles) {
        attached[node.at()] = true;
    }
    let external = |node| externals == Externals::Set && heap.externals().contains(&node);
    let mut keys: Vec<([u16; 3], Node)> = Vec::with_capacity(heap.node_count());
    for node in heap.nodes() {
        let number = numbering.number[node.at()];
        let kind = u16::from(external(node)) * 2 + u16::from(attached[node.at()]);
        keys.push(([number, heap.node_type(node).0, kind], node));
    }
    keys.sort_unstable();
    let mut colours = vec![NONE; heap.node_bound()];
    let mut colour = 0;
    let mut last = None;
    for &(key, node) in &keys {
        if last.is_some_and(|last| last != key) || !attached[node.at()] {
            colour += 1;
        }
        colours[node.at()] = colour;
        last = Some(key);
    }
    let trace = refine(heap, &mut colours);
    (colours, trace)
}

/// A well-mixed number (the finaliser of `splitmix64`).
fn mix(value: u64) -> u64 {
    let value = (value ^ value >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ value >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ value >> 31
}

fn mix_all(words: &[u64]) -> u64 {
    let step = |sum: u64, &word| mix(sum.wrapping_add(0x9e37_79b9_7f4a_7c15) ^ mix(word));
    words.iter().fold(words.len() as u64, step)
}

/// Refines colours until nodes of one colour have equal surroundings, and makes them ranks. The
/// result is a number that is the same for isomorphic heaps with corresponding colours.
fn refine(heap: &Heap, colours: &mut [u32]) -> u64 {
    let mut classes = 0;
    let mut trace = 0_u64;
    loop {
        let colour = |node: Node| u64::from(colours[node.at()]);
        let mut hashes = vec![0_u64; colours.len()];
        let mut add = |node: Node, hash: u64| {
            let sum = &mut hashes[node.at()];
            *sum = sum.wrapping_add(hash);
        };
        for edge in heap.edges() {
            let name = u64::from(edge.selector.0) << 16 | u64::from(edge.annotation.0);
            add(edge.origin, mix_all(&[1, name, colour(edge.target)]));
            add(edge.target, mix_all(&[2, name, colour(edge.origin)]));
        }
        for hyperedge in heap.hyperedges() {
            let [first, second] = hyperedge.label.words().map(u64::from);
            let mut hash = mix_all(&[3, first, second]);
            for &node in hyperedge.tentacles {
                hash = mix_all(&[hash, colour(node)]);
            }
            for (tentacle, &node) in hyperedge.tentacles.iter().enumerate() {
                add(node, mix_all(&[hash, tentacle as u64]));
            }
        }
        let mut keys: Vec<(u32, u64, Node)> = Vec::with_capacity(heap.node_count());
        keys.extend(heap.nodes().map(|n| (colours[n.at()], hashes[n.at()], n)));
        keys.sort_unstable_by_key(|key| (key.0, key.1));
        let before = classes;
        classes = 0;
        for group in keys.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
            let size = group.len() as u64;
            trace = mix_all(&[trace, group[0].0.into(), group[0].1, size]);
            for key in group {
                colours[key.2.at()] = classes;
            }
            classes += 1;
        }
        if classes == before || classes as usize == heap.node_count() {
            return trace;
        }
    }
}

/// The nodes of the first of the smallest cells with more than one node.
fn smallest_cell(heap: &Heap, colours: &[u32]) -> Option<Vec<Node>> {
    let mut keys: Vec<(u32, Node)> = heap.nodes().map(|n| (colours[n.at()], n)).collect();
    keys.sort_unstable();
    let cells = keys.chunk_by(|a, b| a.0 == b.0);
    let cell = cells
        .filter(|cell| cell.len() > 1)
        .min_by_key(|cell| cell.len())?;
    Some(cell.iter().map(|key| key.1).collect())
}

/// All nodes have colours of their own: keeps the leaf if it is the best, and learns from it if
/// it is as good as the best. The result is how many levels are to be kept.
fn leaf(
    heap: &Heap,
    externals: Externals,
    colours: &[u32],
    traces: &[u64],
    levels: &mut [Level],
    best: &mut Option<Leaf>,
) -> usize {
    let mut order: Vec<Node> = heap.nodes().collect();
    order.sort_unstable_by_key(|node| colours[node.at()]);
    let mut number = vec![0; heap.node_bound()];
    for (at, node) in order.iter().enumerate() {
        number[node.at()] = at as u16;
    }
    let code = code::emit(heap, externals, &order, &number);
    if let Some(leaf) = best {
        let known = (&leaf.traces[..], &leaf.code[..]);
        match (traces, &code[..]).cmp(&known) {
            std::cmp::Ordering::Greater => return levels.len(),
            std::cmp::Ordering::Less => (),
            std::cmp::Ordering::Equal => {
                let mut image = vec![Node(0); heap.node_bound()];
                for (&from, &to) in leaf.order.iter().zip(&order) {
                    image[from.at()] = to;
                }
                return learn(&image, &order, levels);
            }
        }
    }
    let traces = traces.to_vec();
    *best = Some(Leaf {
        traces,
        code,
        order,
    });
    levels.len()
}

/// Joins the orbits of a symmetry at each level whose path it keeps. The result is how many such
/// levels there are.
fn learn(image: &[Node], nodes: &[Node], levels: &mut [Level]) -> usize {
    for (at, level) in levels.iter_mut().enumerate() {
        for &node in nodes {
            let (a, b) = (level.orbit[node.at()], level.orbit[image[node.at()].at()]);
            if a != b {
                for orbit in level.orbit.iter_mut().filter(|o| **o == a.max(b)) {
                    *orbit = a.min(b);
                }
            }
        }
        if level
            .tried
            .last()
            .is_some_and(|last| image[last.at()] != *last)
        {
            return at + 1;
        }
    }
    levels.len()
}
