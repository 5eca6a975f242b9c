//! What the symbolic searches need to know about control: which procedure calls which, in which order nodes
//! are worked on, at which nodes sets are kept.

use droste_program::{NodeId, Op, Program};
use rustc_hash::FxHashSet;

/// For each node whether it is one of these.
pub(crate) fn marked(program: &Program, targets: &[NodeId]) -> Vec<bool> {
    let mut marked = vec![false; program.nodes.len()];
    for node in targets {
        marked[node.0 as usize] = true;
    }
    marked
}

/// For each procedure the calls of it.
pub(crate) fn callers(program: &Program) -> Vec<Vec<NodeId>> {
    let mut callers = vec![Vec::new(); program.procedures.len()];
    for (i, node) in program.nodes.iter().enumerate() {
        if let Op::Call { callee, .. } = node.op {
            callers[callee.0 as usize].push(NodeId(i as u32));
        }
    }
    callers
}

/// The nodes at which the pairs found are kept: at calls, which have to meet exits that come later,
/// and wherever control comes from nowhere or from more than one place. Every cycle has such a
/// node.
pub(crate) fn stored(program: &Program) -> Vec<bool> {
    let mut ways = vec![0u32; program.nodes.len()];
    for node in &program.nodes {
        node.op
            .for_each_next(|to| ways[to.0 as usize] = ways[to.0 as usize].saturating_add(1));
        if let Op::Call { callee, .. } = node.op {
            ways[program.procedure(callee).entry.0 as usize] = 2;
        }
    }
    ways[program.procedure(program.main).entry.0 as usize] = 2;
    let nodes = program.nodes.iter().zip(ways);
    nodes
        .map(|(node, ways)| ways != 1 || matches!(node.op, Op::Call { .. }))
        .collect()
}

/// The order of work: components of the call graph from the leaves up, reverse postorder within
/// a procedure.
pub(crate) fn ranks(program: &Program) -> Vec<u32> {
    let procedures = program.procedures.len();
    let mut callees: Vec<Vec<u32>> = vec![Vec::new(); procedures];
    for node in &program.nodes {
        if let Op::Call { callee, .. } = node.op {
            callees[node.procedure.0 as usize].push(callee.0);
        }
    }
    // Postorder from `main`: a callee comes before its callers, except along cycles.
    let order = postorder(program.main.0, |p, out| {
        out.extend_from_slice(&callees[p as usize]);
    });
    let mut rank = vec![u32::MAX; program.nodes.len()];
    let mut next = 0;
    for procedure in order {
        let entry = program.procedures[procedure as usize].entry;
        let mut nodes = postorder(entry.0, |node, out| {
            program.nodes[node as usize]
                .op
                .for_each_next(|to| out.push(to.0));
        });
        nodes.reverse();
        for node in nodes {
            rank[node as usize] = next;
            next += 1;
        }
    }
    rank
}

/// Depth-first postorder of what is reachable from `start`.
pub(crate) fn postorder(start: u32, successors: impl Fn(u32, &mut Vec<u32>)) -> Vec<u32> {
    let mut seen = FxHashSet::default();
    let mut order = Vec::new();
    let mut stack: Vec<(u32, Vec<u32>)> = Vec::new();
    let open = |node: u32| {
        let mut next = Vec::new();
        successors(node, &mut next);
        next.reverse();
        (node, next)
    };
    seen.insert(start);
    stack.push(open(start));
    while let Some((node, next)) = stack.last_mut() {
        if let Some(child) = next.pop() {
            if seen.insert(child) {
                stack.push(open(child));
            }
        } else {
            order.push(*node);
            stack.pop();
        }
    }
    order
}
