//! What an engine has to say about a concurrent run so that the run can be rebuilt: which thread is active in
//! which context, with which shared globals, and which threads are started with which frames.

use droste_program::concurrent::declared;
use droste_program::{ExprNode, NodeId, Op, Program, Threads, Value, VarRef};

/// The contexts of a run, in order. With [`Threads::Init`] the first is that of `init` (number 0).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Schedule {
    /// At least one.
    pub turns: Vec<Turn>,
}

/// A context.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn {
    /// The active thread: the declared ones first ([`declared`]), then those of
    /// [`Turn::starts`], in the order of the turns.
    pub thread: usize,
    /// The globals when it becomes active, in the order of the program's; `None` where they are not known. Those that
    /// are not [`shared`] are not looked at.
    pub globals: Vec<Option<Value>>,
    /// The threads that it starts and that are active in some later turn, in order. It may start others.
    pub starts: Vec<Start>,
}

/// A thread that is started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Start {
    /// Where it begins.
    pub start: NodeId,
    /// The values of its locals there: a copy of its creator's.
    pub locals: Vec<Value>,
}

impl Schedule {
    /// Whether the shared globals are known at every switch.
    pub(super) fn is_complete(&self, program: &Program) -> bool {
        let shared = shared(program);
        let known = |turn: &Turn| shared.iter().all(|&i| turn.globals[i as usize].is_some());
        self.turns.iter().skip(1).all(known)
    }
}

/// The globals that threads can tell each other something with, by index: those that occur in the program, but for
/// those of a `thread` section that starts no threads itself.
pub fn shared(program: &Program) -> Vec<u32> {
    let mut occurs = vec![false; program.globals.len()];
    let mut mark = |var: &VarRef| {
        if let VarRef::Global(i) = var {
            occurs[*i as usize] = true;
        }
    };
    let mut starts = false;
    for node in &program.nodes {
        let mut visit = |nodes: &[ExprNode]| {
            for part in nodes {
                if let ExprNode::Var(var) | ExprNode::Next(var) = part {
                    mark(var);
                }
            }
        };
        node.op.for_each_expr(|expr| visit(&expr.nodes));
        if let Some(ensure) = &node.ensure {
            visit(&ensure.nodes);
        }
        match &node.op {
            Op::Assign { assigns, .. } => assigns.iter().for_each(|(var, _)| mark(var)),
            Op::Call { targets, .. } => targets.iter().flatten().for_each(&mut mark),
            Op::StartThread { .. } => starts = true,
            _ => {}
        }
    }
    let own = matches!(program.threads, Threads::Sections(_)) && !starts;
    let all = program.globals.iter().zip(&occurs).enumerate();
    all.filter(|(_, (global, occurs))| **occurs && !(own && global.thread.is_some()))
        .map(|(i, _)| i as u32)
        .collect()
}

/// How many threads there are from the start; `init` counts.
pub(crate) fn declared_count(program: &Program) -> usize {
    declared(program).len()
}
