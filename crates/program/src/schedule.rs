//! Bounds on runs with threads, and schedules: what an engine has to tell about such a run so that
//! the run can be rebuilt.
//!
//! A schedule says which thread is active in which context, with which shared globals, and which
//! threads are started with which frames. Every engine for threads answers with one.

use droste_base::StopReason;

use crate::{ExprNode, NodeId, Op, Program, Threads, Value, VarRef};

/// What is bounded in a run with threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Levels {
    /// The number of changes of the active thread.
    Switches,
    /// The number of rounds in which every thread has one turn, in the order of their numbers.
    Rounds,
}

/// How many switches or rounds a run may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// At most this number of switches.
    Switches(usize),
    /// At most this number of rounds.
    Rounds(usize),
}

impl Bound {
    /// At most this number of switches or rounds.
    pub fn new(levels: Levels, most: usize) -> Self {
        match levels {
            Levels::Switches => Bound::Switches(most),
            Levels::Rounds => Bound::Rounds(most),
        }
    }

    /// What is bounded.
    pub fn levels(self) -> Levels {
        match self {
            Bound::Switches(_) => Levels::Switches,
            Bound::Rounds(_) => Levels::Rounds,
        }
    }

    /// How many there may be.
    pub fn most(self) -> usize {
        match self {
            Bound::Switches(most) | Bound::Rounds(most) => most,
        }
    }
}

/// What is looked for in the runs of a program with threads.
#[derive(Clone, Copy, Debug)]
pub enum Target<'a> {
    /// The active thread is at one of these nodes.
    Reach(&'a [NodeId]),
    /// The same, or a violation.
    Default(&'a [NodeId]),
    /// No thread can move, and not all have ended. In a program without threads: the run is stuck,
    /// at one of these nodes if there are any.
    Stuck(&'a [NodeId]),
}

impl<'a> Target<'a> {
    /// The nodes that are looked for.
    pub fn nodes(self) -> &'a [NodeId] {
        match self {
            Target::Reach(nodes) | Target::Default(nodes) => nodes,
            Target::Stuck(_) => &[],
        }
    }

    /// Whether a run is looked for in which no thread can move.
    pub fn stops(self) -> bool {
        matches!(self, Target::Stuck(_))
    }

    /// Whether violations are looked for, too.
    pub fn violations(self) -> bool {
        matches!(self, Target::Default(_))
    }
}

/// A question about a program with threads.
#[derive(Clone, Copy, Debug)]
pub struct ThreadQuery<'a> {
    /// The program.
    pub program: &'a Program,
    /// What is looked for.
    pub target: Target<'a>,
    /// What is counted, one by one.
    pub levels: Levels,
    /// The greatest number of switches or rounds that is tried; `None` for no bound.
    pub most: Option<usize>,
}

/// What an engine has found out about a program with threads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// The target is met with this schedule. It has this number of switches (or rounds), and fewer
    /// do not suffice.
    Hit(Schedule, usize),
    /// The target is not met within the bound.
    Nothing {
        /// Whether the target is not met beyond the bound, either.
        exhaustive: bool,
    },
    /// A limit was reached. Up to this number of switches (or rounds), if any, the target is not
    /// met.
    Stopped(StopReason, Option<usize>),
}

/// The contexts of a run, in order. With [`Threads::Init`] the first is that of `init` (number 0).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Schedule {
    /// At least one.
    pub turns: Vec<Turn>,
    /// How the run ends, if no thread can move then.
    pub stop: Option<Stop>,
}

/// The end of a run in which no thread can move.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stop {
    /// The globals, as in [`Turn::globals`].
    pub globals: Vec<Option<Value>>,
    /// Whether it is the last turn's thread alone that is blocked, because no other can become
    /// active: it is inside an atomic section, or it is `init`. The rest says nothing then.
    pub alone: bool,
    /// For each thread, numbered as in [`Turn::thread`]: whether it has ended. If not, it is
    /// blocked.
    pub ended: Vec<bool>,
    /// The frames in which other threads may be started: they are blocked there.
    pub others: Vec<Start>,
    /// If no other thread is blocked: a thread that starts at least one of those.
    pub starter: Option<usize>,
}

/// A context.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn {
    /// The active thread: the declared ones first
    /// ([`declared`](crate::concurrent::declared)), then those of [`Turn::starts`], in the order
    /// of the turns.
    pub thread: usize,
    /// The globals when the thread becomes active, in the order of the program's; `None` where they
    /// are not known. Globals that are not [`shared`] are ignored.
    pub globals: Vec<Option<Value>>,
    /// The threads that it starts and that are active in some later turn, in order. It may start
    /// others.
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
    pub fn is_complete(&self, program: &Program) -> bool {
        let shared = shared(program);
        let known = |turn: &Turn| shared.iter().all(|&i| turn.globals[i as usize].is_some());
        self.turns.iter().skip(1).all(known)
    }
}

/// The globals through which threads can influence each other, by index: those that occur in the
/// program, except for those of a `thread` section that starts no threads itself.
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
