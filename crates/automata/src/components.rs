//! Strongly connected components: Tarjan's algorithm (SIAM J. Comput. 1972) with its own stack.

/// The components of what is reachable from some nodes.
#[derive(Clone, Debug, Default)]
pub struct Components {
    /// The component of each node, numbered so that edges lead to the same or a smaller number;
    /// [`NONE`] for nodes that are not reachable.
    pub of: Vec<u32>,
    /// How many there are.
    pub count: u32,
    /// The nodes that are reachable, in the order in which the search left them: most edges lead to
    /// earlier ones.
    pub postorder: Vec<u32>,
}

/// Not reachable.
pub const NONE: u32 = u32::MAX;

/// Nodes are below `nodes`; `successors` appends the targets of edges, with whatever is of interest
/// about them.
pub fn components<T: Copy>(
    nodes: usize,
    starts: impl IntoIterator<Item = u32>,
    mut successors: impl FnMut(u32, &mut Vec<(u32, T)>),
) -> Components {
    let mut of = vec![NONE; nodes];
    let mut low = vec![NONE; nodes];
    let mut postorder = Vec::new();
    let mut count = 0;
    let mut number = 0;
    let mut open: Vec<u32> = Vec::new();
    // Nodes on the path, with the range of their edges that are not followed yet.
    let mut path: Vec<(u32, u32, u32, usize)> = Vec::new();
    let mut edges: Vec<(u32, T)> = Vec::new();
    for start in starts {
        if low[start as usize] != NONE {
            continue;
        }
        let mut enter = Some(start);
        while enter.is_some() || !path.is_empty() {
            if let Some(node) = enter.take() {
                low[node as usize] = number;
                open.push(node);
                let from = edges.len();
                successors(node, &mut edges);
                path.push((node, number, from as u32, from));
                number += 1;
            }
            let Some(&mut (node, index, begin, ref mut at)) = path.last_mut() else {
                break;
            };
            if *at < edges.len() {
                let (target, _) = edges[*at];
                *at += 1;
                if low[target as usize] == NONE {
                    enter = Some(target);
                } else if of[target as usize] == NONE {
                    low[node as usize] = low[node as usize].min(low[target as usize]);
                }
                continue;
            }
            edges.truncate(begin as usize);
            path.pop();
            postorder.push(node);
            if low[node as usize] == index {
                while let Some(member) = open.pop() {
                    of[member as usize] = count;
                    if member == node {
                        break;
                    }
                }
                count += 1;
            }
            if let Some(&(parent, ..)) = path.last() {
                low[parent as usize] = low[parent as usize].min(low[node as usize]);
            }
        }
    }
    Components {
        of,
        count,
        postorder,
    }
}

/// Whether, from `start`, some cycle can be reached whose edges together have all the marks `all`.
pub fn has_accepting(
    nodes: usize,
    start: u32,
    all: u128,
    mut successors: impl FnMut(u32, &mut Vec<(u32, u128)>),
) -> bool {
    let found = components(nodes, [start], &mut successors);
    let mut marks = vec![None::<u128>; found.count as usize];
    let mut buffer = Vec::new();
    for node in 0..nodes as u32 {
        let component = found.of[node as usize];
        if component == NONE {
            continue;
        }
        buffer.clear();
        successors(node, &mut buffer);
        for &(target, edge) in &buffer {
            if found.of[target as usize] == component {
                *marks[component as usize].get_or_insert(0) |= edge;
            }
        }
    }
    marks
        .into_iter()
        .any(|marks| marks.is_some_and(|marks| marks & all == all))
}
