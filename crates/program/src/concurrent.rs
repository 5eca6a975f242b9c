//! Programs with threads: which threads exist from the start, how many can be started, and the form
//! in which a concrete concurrent run is shown, stored and replayed.
//!
//! The meaning is that of `docs/CONCURRENCY.md`: the threads share the globals, each has a stack of
//! its own, and one at a time is active. A *context* is a stretch of a run in which one thread is
//! active; between two contexts there is a *switch*. Bounding the number of switches is due to
//! Qadeer and Rehof, *Context-bounded model checking of concurrent software* (TACAS 2005); see also
//! La Torre, Madhusudan and Parlato, *Analyzing recursive programs using a fixed-point calculus*
//! (PLDI 2009), section 5.
//!
//! A call that begins and ends within one context may be kept folded, as in
//! [`Execution`]; a call that is interrupted is written out, with a
//! step for the call and one for the return.

use std::sync::Arc;

use crate::execution::{Action, CalleeRun, Ending, Execution, Lengths};
use crate::program::{Node, NodeId, Op, ProcId, Program, Threads, Value, VarRef};

/// Index into [`ConcurrentExecution::threads`]. The threads that exist from the start come first,
/// in the order of their declarations; those that are started follow in the order of their
/// creation. With [`Threads::Init`], number 0 is `init`, which is no thread but runs like one
/// before the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ThreadId(pub u32);

/// Where a thread comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Birth {
    /// It is there from the start.
    Declared {
        /// What it executes.
        procedure: ProcId,
        /// The values of its locals at the start, parameters first.
        locals: Vec<Value>,
    },
    /// It is started by a step of the execution, with a copy of the frame that starts it.
    Started {
        /// Who starts it.
        by: ThreadId,
        /// The [`Op::StartThread`].
        node: NodeId,
    },
}

/// What a thread does at a position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ThreadAction {
    /// As in a sequential execution; but a call may return after all, and there is no
    /// [`Action::Terminate`].
    Step(Action),
    /// The return of a call that was made by [`Action::Call`], and the storing of the results.
    Return {
        /// The values returned, converted to the result types.
        results: Vec<Value>,
        /// The next position, after the call.
        to: NodeId,
        /// The globals and the caller's locals that have another value than just before the return.
        changes: Vec<(VarRef, Value)>,
    },
    /// A thread is started; it can become active from now on.
    Start {
        /// Which.
        thread: ThreadId,
        /// The next position.
        to: NodeId,
    },
    /// The thread ends: [`Op::EndThread`], or the return of its outermost procedure.
    End,
}

/// A position of the active thread and what happens there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadStep {
    /// The position.
    pub node: NodeId,
    /// What happens.
    pub action: ThreadAction,
}

/// A stretch of a run in which one thread is active; it may be empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Context {
    /// Which.
    pub thread: ThreadId,
    /// What it does.
    pub steps: Vec<ThreadStep>,
}

/// A run of a program with threads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConcurrentExecution {
    /// The globals at the start.
    pub globals: Vec<Value>,
    /// All threads that there are from the start or that are started.
    pub threads: Vec<Birth>,
    /// What [`Action::Folded`] refers to.
    pub runs: Vec<CalleeRun>,
    /// What happens, in order. At least one. Two that follow each other are of different threads.
    pub contexts: Vec<Context>,
    /// [`Ending::At`]: the last context's thread is at that position at the end.
    /// [`Ending::Stuck`]: no thread can make a step. The position is that of the first that is
    /// blocked, see [`Standing`](crate::standing::Standing).
    /// [`Ending::Final`]: the last step is [`Action::Fail`]. No other.
    pub ending: Ending,
}

/// A run of a program with or without threads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Run {
    /// Of a program without threads.
    Sequential(Execution),
    /// Of a program with threads.
    Threads(ConcurrentExecution),
}

impl ConcurrentExecution {
    /// The number of switches: every change of the active thread is one, but for the one from
    /// `init` to the first thread.
    pub fn switches(&self, program: &Program) -> usize {
        let init = usize::from(matches!(program.threads, Threads::Init { .. }));
        self.contexts.len().saturating_sub(1 + init)
    }

    /// The number of rounds: in a round each thread has at most one context, and they come in the
    /// order of their numbers.
    pub fn rounds(&self, program: &Program) -> usize {
        let init = usize::from(matches!(program.threads, Threads::Init { .. }));
        let contexts = self.contexts.get(init..).unwrap_or(&[]);
        let wraps = contexts
            .windows(2)
            .filter(|pair| pair[1].thread <= pair[0].thread);
        1 + wraps.count()
    }

    /// The number of steps; see [`Lengths`].
    pub fn length(&self, program: &Program) -> u64 {
        let lengths = Lengths::new(program, &self.runs);
        let steps = self.contexts.iter().flat_map(|context| &context.steps);
        let steps = steps.map(|step| match &step.action {
            ThreadAction::Step(action) => lengths.of_action(step.node, action),
            _ => 1,
        });
        steps.fold(0, u64::saturating_add)
    }
}

/// A thread that a program has from the start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declared {
    /// Its name: that of the section or of the procedure.
    pub name: Arc<str>,
    /// What it executes.
    pub procedure: ProcId,
}

/// The threads that a program has from the start, in the order of their numbers; with
/// [`Threads::Init`], `init` first.
pub fn declared(program: &Program) -> Vec<Declared> {
    let by_procedure = |procedure: ProcId| Declared {
        name: program.procedure(procedure).name.clone(),
        procedure,
    };
    match &program.threads {
        Threads::Dynamic => vec![by_procedure(program.main)],
        Threads::Init { threads, .. } => {
            let all = [&[program.main], &threads[..]].concat();
            all.into_iter().map(by_procedure).collect()
        }
        Threads::Sections(sections) => sections
            .iter()
            .map(|(name, procedure)| Declared {
                name: name.clone(),
                procedure: *procedure,
            })
            .collect(),
    }
}

/// The node `endinit` of GETAFIX's convention, at which `init` hands over to the threads.
pub fn end_of_init(program: &Program) -> Option<NodeId> {
    match program.threads {
        Threads::Init { end_init, .. } => Some(end_init),
        _ => None,
    }
}

/// Which nodes a thread may get to, judging by the text alone: whatever the values, but only behind
/// calls that may return.
fn met(program: &Program) -> Vec<bool> {
    let mut met = vec![false; program.nodes.len()];
    // For each procedure, whether it may return; and if that is not known yet, where calls go on.
    let mut returns = vec![false; program.procedures.len()];
    let mut waiting: Vec<Vec<NodeId>> = vec![Vec::new(); program.procedures.len()];
    let entry = |procedure: ProcId| program.procedure(procedure).entry;
    let threads = declared(program);
    let mut work: Vec<NodeId> = threads.iter().map(|t| entry(t.procedure)).collect();
    while let Some(node) = work.pop() {
        if std::mem::replace(&mut met[node.0 as usize], true) {
            continue;
        }
        let Node { op, procedure, .. } = program.node(node);
        match op {
            Op::Call { callee, next, .. } => {
                work.push(entry(*callee));
                if returns[callee.0 as usize] {
                    work.push(*next);
                } else {
                    waiting[callee.0 as usize].push(*next);
                }
            }
            Op::Return(_) => {
                returns[procedure.0 as usize] = true;
                work.append(&mut waiting[procedure.0 as usize]);
            }
            _ => {
                op.for_each_next(|next| work.push(next));
                if let Op::StartThread { start, .. } = op {
                    work.push(*start);
                }
            }
        }
    }
    met
}

/// A node at which an unbounded number of threads may be started, if there is one: it can be
/// executed again and again, judging by the text alone. Without one, the number of threads is
/// bounded.
///
/// A node is *repeated* if it lies on a cycle of the graph of statements, calls, starts and returns
/// among procedures that call each other, or if it belongs to what is called or started at a
/// repeated node. Nodes that no thread gets to do not count.
pub fn unbounded_start(program: &Program) -> Option<NodeId> {
    let nodes = program.nodes.len();
    let met = met(program);
    let groups = recursive_groups(program);
    // Where a return of each procedure may lead, in another activation of a procedure of the same
    // group.
    let mut returns: Vec<Vec<usize>> = vec![Vec::new(); program.procedures.len()];
    for node in &program.nodes {
        if let Op::Call { callee, next, .. } = &node.op
            && groups[node.procedure.0 as usize] == groups[callee.0 as usize]
        {
            returns[callee.0 as usize].push(next.0 as usize);
        }
    }
    // Where one gets from a node: on in the procedure, into a callee, into a started thread.
    let successors = |node: usize, out: &mut Vec<usize>| {
        out.clear();
        if !met[node] {
            return;
        }
        let op = &program.nodes[node].op;
        op.for_each_next(|next| out.push(next.0 as usize));
        if let Op::Call { callee, .. } = op {
            out.push(program.procedure(*callee).entry.0 as usize);
        }
        if let Op::Return(_) = op {
            out.extend(&returns[program.nodes[node].procedure.0 as usize]);
        }
    };
    let (mut repeated, _) = components(nodes, successors);
    // What repeated calls and starts lead to is repeated.
    let mut work: Vec<usize> = Vec::new();
    let into = |node: usize| match &program.nodes[node].op {
        Op::Call { callee, .. } => Some(program.procedure(*callee).entry.0 as usize),
        Op::StartThread { start, .. } => Some(start.0 as usize),
        _ => None,
    };
    let first = (0..nodes).filter(|&node| repeated[node]).filter_map(into);
    let first: Vec<usize> = first.collect();
    for node in first {
        if !std::mem::replace(&mut repeated[node], true) {
            work.push(node);
        }
    }
    let mut next = Vec::new();
    while let Some(node) = work.pop() {
        successors(node, &mut next);
        for &to in &next {
            if !std::mem::replace(&mut repeated[to], true) {
                work.push(to);
            }
        }
    }
    let is_start = |node: &usize| matches!(program.nodes[*node].op, Op::StartThread { .. });
    let found = (0..nodes).find(|node| met[*node] && repeated[*node] && is_start(node));
    found.map(|node| NodeId(node as u32))
}

/// A number for each procedure; procedures that call each other, directly or not, have the same
/// number.
fn recursive_groups(program: &Program) -> Vec<usize> {
    let procedures = program.procedures.len();
    let mut callees = vec![Vec::new(); procedures];
    for node in &program.nodes {
        if let Op::Call { callee, .. } = node.op {
            callees[node.procedure.0 as usize].push(callee.0 as usize);
        }
    }
    for list in &mut callees {
        list.sort_unstable();
        list.dedup();
    }
    let (_, groups) = components(procedures, |procedure, out| {
        out.clear();
        out.extend(&callees[procedure]);
    });
    groups
}

/// The most threads that are ever started, judging by the text alone; `usize::MAX` if the text does
/// not tell, or if they are very many.
pub fn most_started(program: &Program) -> usize {
    const VERY_MANY: usize = 1000;
    if unbounded_start(program).is_some() {
        return usize::MAX;
    }
    // What is started from each node on, in its frame: no start lies on a cycle, so the least
    // solution is finite. Later nodes tend to come later.
    let met = met(program);
    let mut most = vec![0usize; program.nodes.len()];
    let entry = |procedure: ProcId| program.procedure(procedure).entry.0 as usize;
    loop {
        let mut changed = false;
        for (i, node) in program.nodes.iter().enumerate().rev() {
            if !met[i] {
                continue;
            }
            let mut here = 0;
            node.op
                .for_each_next(|to| here = here.max(most[to.0 as usize]));
            match &node.op {
                Op::StartThread { start, next } => {
                    here = 1 + most[start.0 as usize] + most[next.0 as usize];
                }
                Op::Call { callee, .. } => here += most[entry(*callee)],
                _ => {}
            }
            if here > VERY_MANY {
                return usize::MAX;
            }
            changed |= here > most[i];
            most[i] = most[i].max(here);
        }
        if !changed {
            let threads = declared(program);
            return threads
                .iter()
                .map(|thread| most[entry(thread.procedure)])
                .sum();
        }
    }
}

/// Which nodes of a graph lie on a cycle, and one of the members of each one's strongly connected
/// component: Tarjan's algorithm (1972) with a stack of its own.
fn components(
    nodes: usize,
    successors: impl Fn(usize, &mut Vec<usize>),
) -> (Vec<bool>, Vec<usize>) {
    const NEW: u32 = u32::MAX;
    let mut index = vec![NEW; nodes];
    let mut low = vec![NEW; nodes];
    let mut open = vec![false; nodes];
    let mut cyclic = vec![false; nodes];
    let mut number = vec![0; nodes];
    let mut component = Vec::new();
    let mut count = 0;
    for root in 0..nodes {
        if index[root] != NEW {
            continue;
        }
        // Nodes being visited, with their successors still to be looked at.
        let mut stack: Vec<(usize, Vec<usize>)> = Vec::new();
        let mut enter = Some(root);
        loop {
            if let Some(node) = enter.take() {
                index[node] = count;
                low[node] = count;
                count += 1;
                open[node] = true;
                component.push(node);
                let mut next = Vec::new();
                successors(node, &mut next);
                if next.contains(&node) {
                    cyclic[node] = true;
                }
                stack.push((node, next));
            }
            let Some((node, next)) = stack.last_mut() else {
                break;
            };
            let node = *node;
            if let Some(to) = next.pop() {
                if index[to] == NEW {
                    enter = Some(to);
                } else if open[to] {
                    low[node] = low[node].min(index[to]);
                }
                continue;
            }
            stack.pop();
            if let Some((parent, _)) = stack.last() {
                low[*parent] = low[*parent].min(low[node]);
            }
            if low[node] == index[node] {
                let start = component.iter().rposition(|&n| n == node).unwrap_or(0);
                let many = component.len() - start > 1;
                for member in component.drain(start..) {
                    open[member] = false;
                    cyclic[member] |= many;
                    number[member] = node;
                }
            }
        }
    }
    (cyclic, number)
}
