//! Program counters: the values of `PC` in the formulas.
//!
//! * every node of a procedure that can be called, except those that do nothing but go on to
//!   another one;
//! * for a procedure that reads locals before it has assigned them, an entry where only
//!   the parameters have values;
//! * for every procedure an exit: whatever `return` was executed, there are only results and
//!   globals left;
//! * for every kind of violation that is looked for, one in which such a run ends;
//! * one for threads that have not been started, where formulas are about whole configurations.

use droste_program::{NodeId, Op, ProcId, Program, Violation};
use rustc_hash::FxHashSet;

/// What a program counter stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Point {
    /// A procedure has been called and its locals have no values yet.
    Entry(ProcId),
    /// Control is at this node.
    Node(NodeId),
    /// The procedure has returned; its results are where its locals were.
    Exit(ProcId),
    /// The run has ended in a violation.
    Fail(Violation),
    /// The thread has not been started.
    Idle,
}

/// All program counters.
#[derive(Clone, Debug)]
pub struct Points {
    /// In the order of their numbers.
    pub list: Vec<Point>,
    /// Per node: itself, or the node that control goes on to without doing anything.
    forward: Vec<NodeId>,
    node: Vec<Option<u32>>,
    entry: Vec<Option<u32>>,
    exit: Vec<Option<u32>>,
    fail: [Option<u32>; 4],
    /// Procedures that can be called, in order.
    pub procedures: Vec<ProcId>,
}

impl Points {
    /// For `program`; nodes for which `keep` is true are not passed over.
    pub(crate) fn new(
        program: &Program,
        roots: &[ProcId],
        violations: bool,
        keep: &dyn Fn(NodeId) -> bool,
        havoc: &dyn Fn(ProcId) -> bool,
    ) -> Self {
        let forward = forward(program, keep);
        let mut points = Points {
            list: Vec::new(),
            node: vec![None; program.nodes.len()],
            entry: vec![None; program.procedures.len()],
            exit: vec![None; program.procedures.len()],
            fail: [None; 4],
            procedures: called(program, roots),
            forward,
        };
        let nodes = points.reached(program);
        for &procedure in &points.procedures.clone() {
            if havoc(procedure) {
                points.entry[procedure.0 as usize] = Some(points.push(Point::Entry(procedure)));
            }
            for &node in &nodes[procedure.0 as usize] {
                points.node[node.0 as usize] = Some(points.push(Point::Node(node)));
            }
            points.exit[procedure.0 as usize] = Some(points.push(Point::Exit(procedure)));
        }
        if violations {
            for violation in [
                Violation::Assertion,
                Violation::OutOfRange,
                Violation::DivisionByZero,
                Violation::NegativeShift,
            ] {
                points.fail[violation as usize] = Some(points.push(Point::Fail(violation)));
            }
        }
        points
    }

    /// Adds a program counter for threads that have not been started.
    pub(crate) fn push_idle(&mut self) -> u32 {
        self.push(Point::Idle)
    }

    fn push(&mut self, point: Point) -> u32 {
        self.list.push(point);
        self.list.len() as u32 - 1
    }

    /// The nodes that control can get to, per procedure, in order.
    fn reached(&self, program: &Program) -> Vec<Vec<NodeId>> {
        let mut seen = vec![false; program.nodes.len()];
        let mut open: Vec<NodeId> = Vec::new();
        for &procedure in &self.procedures {
            open.push(self.forward(program.procedure(procedure).entry));
        }
        while let Some(node) = open.pop() {
            if std::mem::replace(&mut seen[node.0 as usize], true) {
                continue;
            }
            program
                .node(node)
                .op
                .for_each_next(|next| open.push(self.forward(next)));
        }
        let mut nodes = vec![Vec::new(); program.procedures.len()];
        for (i, _) in seen.iter().enumerate().filter(|(_, seen)| **seen) {
            let node = NodeId(i as u32);
            nodes[program.node(node).procedure.0 as usize].push(node);
        }
        nodes
    }

    /// The node itself, or the one that control goes on to.
    pub(crate) fn forward(&self, node: NodeId) -> NodeId {
        self.forward[node.0 as usize]
    }

    /// The program counter of the node that control is at, or goes on to, after a step to `node`.
    pub(crate) fn at(&self, node: NodeId) -> u32 {
        self.node[self.forward(node).0 as usize].expect("steps lead to reached nodes")
    }

    /// The program counter of a node, if it has one.
    pub fn node(&self, node: NodeId) -> Option<u32> {
        self.node[node.0 as usize]
    }

    /// The program counter of a procedure's entry.
    pub fn entry(&self, program: &Program, procedure: ProcId) -> u32 {
        let own = self.entry[procedure.0 as usize];
        own.unwrap_or_else(|| self.at(program.procedure(procedure).entry))
    }

    /// Whether the procedure has an entry of its own.
    pub(crate) fn has_entry(&self, procedure: ProcId) -> bool {
        self.entry[procedure.0 as usize].is_some()
    }

    /// The program counter of a procedure's exit.
    pub fn exit(&self, procedure: ProcId) -> u32 {
        self.exit[procedure.0 as usize].expect("a procedure that can be called has an exit")
    }

    /// The program counter of a violation, if violations are looked for.
    pub fn fail(&self, violation: Violation) -> Option<u32> {
        self.fail[violation as usize]
    }
}

/// The procedures that can be called, in order.
fn called(program: &Program, roots: &[ProcId]) -> Vec<ProcId> {
    let mut calls = vec![Vec::new(); program.procedures.len()];
    for node in &program.nodes {
        if let Op::Call { callee, .. } = node.op {
            calls[node.procedure.0 as usize].push(callee);
        }
    }
    let mut seen: FxHashSet<ProcId> = FxHashSet::default();
    let mut open = roots.to_vec();
    while let Some(procedure) = open.pop() {
        if seen.insert(procedure) {
            open.extend(&calls[procedure.0 as usize]);
        }
    }
    let mut list: Vec<ProcId> = seen.into_iter().collect();
    list.sort_unstable();
    list
}

/// For each node, where control goes on if the node does nothing. In a circle of such nodes one
/// stays.
fn forward(program: &Program, keep: &dyn Fn(NodeId) -> bool) -> Vec<NodeId> {
    let next = |node: NodeId| match &program.node(node).op {
        Op::Goto(targets) if program.node(node).ensure.is_none() && !keep(node) => {
            match targets[..] {
                [only] if only != node => Some(only),
                _ => None,
            }
        }
        _ => None,
    };
    let mut forward: Vec<Option<NodeId>> = vec![None; program.nodes.len()];
    let mut open = vec![false; program.nodes.len()];
    for i in 0..program.nodes.len() as u32 {
        let mut path = Vec::new();
        let mut node = NodeId(i);
        let end = loop {
            let at = node.0 as usize;
            if let Some(end) = forward[at] {
                break end;
            }
            if open[at] {
                break node;
            }
            match next(node) {
                Some(next) => {
                    open[at] = true;
                    path.push(node);
                    node = next;
                }
                None => break node,
            }
        };
        forward[end.0 as usize] = Some(end);
        for node in path {
            open[node.0 as usize] = false;
            forward[node.0 as usize].get_or_insert(end);
        }
    }
    forward.into_iter().flatten().collect()
}
