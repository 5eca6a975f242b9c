//! Cuts the nodes from which nothing that is asked about can be reached any more.
//!
//! A node stays if the control flow, without regard to data, has a path from it to a target: inside
//! its procedure and the procedures called from there, or after returning to some caller. The run
//! to a target (or the run that visits one again and again) is only ever at nodes that stay. So it
//! is still there when all others become `Stuck`; and making nodes `Stuck` adds no run. Paths match
//! calls with returns: a path goes past a call only if the callee can return, and a call that does
//! not lead to a target is cut, even if other calls of the same procedure do.
//!
//! If runs that get stuck are asked about, the targets are the nodes at which a run may have to
//! stop. From a node that does not lead to one of them no run gets stuck. A cut node must not get
//! runs stuck either: it is made to idle for ever.

use crate::fold::Folder;
use crate::graph::{self, Graph};
use crate::{Query, idles};
use droste_program::{Node, NodeId, Op, Program};

/// Which of the nodes reach something, going backwards.
struct Backwards<'a> {
    program: &'a Program,
    graph: &'a Graph,
    marked: Vec<bool>,
    work: Vec<u32>,
}

impl Backwards<'_> {
    fn mark(&mut self, node: u32) {
        if !std::mem::replace(&mut self.marked[node as usize], true) {
            self.work.push(node);
        }
    }

    /// Whether a path can go through the call `node` to the node after it; true if it is no
    /// call.
    fn passes(&self, node: u32, returning: &[bool]) -> bool {
        match self.program.nodes[node as usize].op {
            Op::Call { callee, .. } => returning[self.program.procedure(callee).entry.0 as usize],
            _ => true,
        }
    }

    /// Marks the nodes that come before a marked one within the procedure.
    fn mark_predecessors(&mut self, node: u32, returning: &[bool]) {
        let graph = self.graph;
        for &before in graph.predecessors.get(node) {
            if self.passes(before, returning) {
                self.mark(before);
            }
        }
    }

    /// The calls of the procedure whose entry `node` is, if it is one.
    fn calls_of(&self, node: u32) -> &[u32] {
        let procedure = self.program.nodes[node as usize].procedure;
        if self.program.procedure(procedure).entry.0 == node {
            self.graph.calls.get(procedure.0)
        } else {
            &[]
        }
    }
}

/// The nodes from which the procedure can return.
pub(crate) fn returning(program: &Program, graph: &Graph) -> Vec<bool> {
    let mut search = Backwards {
        program,
        graph,
        marked: vec![false; program.nodes.len()],
        work: Vec::new(),
    };
    for (node, id) in program.nodes.iter().zip(0..) {
        if let Op::Return(_) = node.op {
            search.mark(id);
        }
    }
    while let Some(at) = search.work.pop() {
        for &before in graph.predecessors.get(at) {
            // If the callee cannot return yet, the call is looked at again when it can.
            if search.passes(before, &search.marked) {
                search.mark(before);
            }
        }
        for call in search.calls_of(at).to_vec() {
            if let Op::Call { next, .. } = program.nodes[call as usize].op
                && search.marked[next.0 as usize]
            {
                search.mark(call);
            }
        }
    }
    search.marked
}

/// Whether executing the node can be a violation.
pub(crate) fn can_violate(program: &Program, node: &Node, folder: &mut Folder) -> bool {
    let procedure = node.procedure;
    let mut fails = false;
    node.op.for_each_expr(|expr| {
        fails = fails || folder.facts(program, procedure, expr).can_fail;
    });
    if let Some(ensure) = &node.ensure {
        fails = fails || folder.facts(program, procedure, ensure).can_fail;
    }
    let mut stored = |expr, ty| {
        let facts = folder.facts(program, procedure, expr);
        facts.store_can_fail(ty)
    };
    fails
        || match &node.op {
            Op::Assert { condition, .. } => condition.as_const() != Some(1),
            Op::Assign { assigns, .. } => assigns
                .iter()
                .any(|(var, expr)| stored(expr, program.variable(procedure, *var).ty)),
            Op::Call {
                callee,
                args,
                targets,
                ..
            } => {
                let callee = program.procedure(*callee);
                let mut args = args.iter().zip(&callee.locals);
                let mut targets = targets.iter().zip(&callee.results);
                args.any(|(expr, param)| stored(expr, param.ty))
                    || targets.any(|(target, &result)| {
                        target.is_some_and(|var| {
                            graph::conversion_can_fail(result, program.variable(procedure, var).ty)
                        })
                    })
            }
            Op::Return(results) => {
                let types = &program.procedure(procedure).results;
                results.iter().zip(types).any(|(e, &ty)| stored(e, ty))
            }
            _ => false,
        }
}

/// Whether there may be no step at the node; for a call, when it returns. (The end of a thread is
/// not asked about.)
fn can_stop(node: &Node) -> bool {
    node.ensure.is_some()
        || match &node.op {
            Op::Stuck | Op::Assume { .. } => true,
            Op::Assign { constrain, .. } | Op::Call { constrain, .. } => constrain.is_some(),
            _ => false,
        }
}

/// Cuts nodes that lead to nothing that `query` asks about. How many were cut.
pub(crate) fn slice(program: &mut Program, graph: &Graph, query: &Query) -> usize {
    let returning = returning(program, graph);
    let mut search = Backwards {
        program,
        graph,
        marked: vec![false; program.nodes.len()],
        work: Vec::new(),
    };
    for target in query.targets {
        search.mark(target.0);
    }
    // Calls that are asked about when they return and results are stored.
    let mut returned_to = Vec::new();
    let mut folder = Folder::default();
    for (node, id) in program.nodes.iter().zip(0..) {
        if query.violations && can_violate(program, node, &mut folder)
            || query.stops && query.targets.is_empty() && can_stop(node)
        {
            search.mark(id);
            if let Op::Call { callee, .. } = node.op {
                returned_to.push(callee);
            }
        }
    }
    // First without returning from the procedure a path starts in.
    while let Some(at) = search.work.pop() {
        search.mark_predecessors(at, &returning);
        for call in search.calls_of(at).to_vec() {
            search.mark(call);
        }
    }
    // Then with: where a call goes on towards a target, the callee's returns do.
    for id in 0..program.nodes.len() as u32 {
        if search.marked[id as usize] {
            search.work.push(id);
        }
    }
    for callee in returned_to {
        for &exit in graph.returns.get(callee.0) {
            search.mark(exit);
        }
    }
    while let Some(at) = search.work.pop() {
        for &before in graph.predecessors.get(at) {
            if search.passes(before, &returning) {
                search.mark(before);
            }
            if let Op::Call { callee, .. } = program.nodes[before as usize].op {
                for &exit in graph.returns.get(callee.0) {
                    search.mark(exit);
                }
            }
        }
    }
    let marked = search.marked;
    let mut count = 0;
    for ((node, keep), id) in program.nodes.iter_mut().zip(marked).zip((0..).map(NodeId)) {
        if keep || node.op == Op::Stuck || query.stops && idles(id, node) {
            continue;
        }
        graph::cut(node);
        if query.stops {
            node.op = Op::Goto(vec![id]);
        }
        count += 1;
    }
    count
}
