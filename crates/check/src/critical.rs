//! Critical labels: which of them the run that was found touches, and why not the others.
//!
//! The path optimisation of BTRACE (Lal and Reps, *Improving pushdown system model checking*, CAV
//! 2006, section 5.1). The search is [`Goal::Touch`]. This file adds what belongs to programs: the nodes
//! from which a label can still be reached, found in the control flow alone; where the run touches each
//! label; and, for every label that it does not touch, whether any run to the target touches it, and with
//! which of the touched labels no run combines it. Such a question is again a [`Goal::Touch`], with one or
//! two labels.
//!
//! What is said to be touched is read off the execution that is replayed. Random programs are
//! compared with an oracle that keeps every set and every length (`tests/critical.rs`).

use std::collections::HashMap;
use std::time::Duration;

use droste_base::{Deadline, Limits, Runs, Verdict};
use droste_explicit::{Goal, MOST_TOUCHED, Tour};
use droste_program::execution::{Action, Ending, Execution, Lengths, Step};
use droste_program::{NodeId, Op, Program, labels};

use crate::prepared::Prepared;
use crate::report::Halt;
use crate::{Evidence, Options, explicit};

/// A critical label.
#[derive(Clone, Debug)]
pub(crate) struct Critical {
    name: String,
    /// It is touched at any of these.
    pub(crate) nodes: Vec<NodeId>,
}

impl Critical {
    /// Looks the labels up; one that is given twice counts once.
    pub(crate) fn resolve(program: &Program, names: &[String]) -> Result<Vec<Self>, Halt> {
        let mut critical: Vec<Critical> = Vec::new();
        for name in names {
            let name = name.trim();
            if critical.iter().any(|known| known.name == name) {
                continue;
            }
            critical.push(Critical {
                name: name.to_owned(),
                nodes: labels::find(program, name).map_err(Halt::refused)?,
            });
        }
        if critical.len() > MOST_TOUCHED {
            return Err(Halt::refused(format!(
                "there are {} critical labels, but at most {MOST_TOUCHED} can be told apart",
                critical.len()
            )));
        }
        Ok(critical)
    }
}

/// For each label, the nodes from which control may still come to it, and then to a target. Data is
/// left aside, and which caller a procedure returns to, so these may be too many.
pub(crate) fn ahead(
    program: &Program,
    targets: &[NodeId],
    critical: &[Critical],
) -> Vec<Vec<NodeId>> {
    let flow = Flow::new(program, sets(critical));
    let returns = (0u32..).zip(&program.nodes);
    let returns = returns.filter(|(_, node)| matches!(node.op, Op::Return(_)));
    let to_return = flow.backwards(returns.map(|(id, _)| NodeId(id)), None);
    let to_target = flow.backwards(targets.iter().copied(), Some(&to_return));
    // What is ahead of a procedure that returns, in its callers and theirs.
    let mut after: Vec<Option<u64>> = vec![None; program.procedures.len()];
    let all = |after: &[Option<u64>], node: NodeId| {
        let at = node.0 as usize;
        let later = after[program.node(node).procedure.0 as usize];
        join(to_target[at], both(to_return[at], later))
    };
    let mut changed = true;
    while changed {
        changed = false;
        for node in &program.nodes {
            if let Op::Call { callee, next, .. } = node.op {
                let known = after[callee.0 as usize];
                let joined = join(known, flow.through(next, all(&after, next)));
                changed |= joined != known;
                after[callee.0 as usize] = joined;
            }
        }
    }
    let nodes = (0..program.nodes.len() as u32).map(NodeId);
    let sets: Vec<(NodeId, Option<u64>)> = nodes.map(|node| (node, all(&after, node))).collect();
    let has = |i: usize| {
        let nodes = sets
            .iter()
            .filter(move |(_, set)| set.is_some_and(|set| set >> i & 1 == 1));
        nodes.map(|&(node, _)| node).collect()
    };
    (0..critical.len()).map(has).collect()
}

/// What is ahead on either of two ways; `None` is no way at all.
fn join(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one | other),
        (one, other) => one.or(other),
    }
}

/// What is ahead on one way after the other.
fn both(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    Some(one? | other?)
}

/// The control flow of a program, whose calls are matched with returns.
struct Flow<'a> {
    program: &'a Program,
    /// The labels at each node that has some.
    here: HashMap<NodeId, u64>,
    /// The nodes that look at each node: those before it, and if it is an entry, its calls.
    before: Vec<Vec<u32>>,
}

impl<'a> Flow<'a> {
    fn new(program: &'a Program, here: HashMap<NodeId, u64>) -> Self {
        let mut before: Vec<Vec<u32>> = vec![Vec::new(); program.nodes.len()];
        for (node, id) in program.nodes.iter().zip(0u32..) {
            node.op.for_each_next(|to| before[to.0 as usize].push(id));
            if let Op::Call { callee, .. } = node.op {
                before[program.procedure(callee).entry.0 as usize].push(id);
            }
        }
        Flow {
            program,
            here,
            before,
        }
    }

    /// What is ahead on the way that goes to `node` first.
    fn through(&self, node: NodeId, ahead: Option<u64>) -> Option<u64> {
        Some(ahead? | self.here.get(&node).copied().unwrap_or(0))
    }

    /// What is ahead of each node on its ways to an end. With `to_return`, which says that for ways
    /// to the return, a way may also end inside a call.
    fn backwards(
        &self,
        ends: impl Iterator<Item = NodeId>,
        to_return: Option<&[Option<u64>]>,
    ) -> Vec<Option<u64>> {
        let mut sets: Vec<Option<u64>> = vec![None; self.program.nodes.len()];
        let mut work: Vec<u32> = Vec::new();
        for end in ends {
            sets[end.0 as usize] = Some(0);
            work.push(end.0);
        }
        while let Some(at) = work.pop() {
            for &from in &self.before[at as usize] {
                let known = sets[from as usize];
                let joined = join(known, self.ahead_of(from, &sets, to_return));
                if joined != known {
                    sets[from as usize] = joined;
                    work.push(from);
                }
            }
        }
        sets
    }

    fn ahead_of(
        &self,
        node: u32,
        sets: &[Option<u64>],
        to_return: Option<&[Option<u64>]>,
    ) -> Option<u64> {
        let op = &self.program.nodes[node as usize].op;
        let mut ways = None;
        op.for_each_next(|to| ways = join(ways, self.through(to, sets[to.0 as usize])));
        let Op::Call { callee, .. } = op else {
            return ways;
        };
        let entry = self.program.procedure(*callee).entry;
        let inside = |sets: &[Option<u64>]| self.through(entry, sets[entry.0 as usize]);
        let past = both(inside(to_return.unwrap_or(sets)), ways);
        match to_return {
            Some(_) => join(past, inside(sets)),
            None => past,
        }
    }
}

/// The labels at each node that has some, as bits.
fn sets(critical: &[Critical]) -> HashMap<NodeId, u64> {
    let mut sets = HashMap::new();
    for (i, label) in critical.iter().enumerate() {
        for &node in &label.nodes {
            *sets.entry(node).or_default() |= 1 << i;
        }
    }
    sets
}

/// A critical label and what the run has to do with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CriticalLabel {
    /// As it was given.
    pub name: String,
    /// Where it is.
    pub nodes: Vec<NodeId>,
    /// What became of it.
    pub fate: Fate,
}

/// What became of a critical label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The run touches it.
    Touched {
        /// Where it is touched for the first time,
        node: NodeId,
        /// and after how many steps.
        steps: u64,
    },
    /// No run to the target touches it.
    Impossible,
    /// Some run to the target touches it, but none that also touches one of these labels, which the
    /// run touches. If there are none of them: no run touches it and all of those.
    Apart(Vec<String>),
    /// The run does not touch it. Whether another one could was not found out.
    Missed,
}

/// What may be spent on finding out what becomes of labels that are not touched: at least this, or
/// as much as the search took, but not more than half of the time that is left.
const LEAST_TIME: Duration = Duration::from_secs(1);

/// What becomes of each label.
pub(crate) fn fates(
    prepared: &Prepared<'_>,
    options: &Options<'_>,
    critical: &[Critical],
    execution: &Execution,
    searched: Duration,
) -> Vec<CriticalLabel> {
    let walk = Walk::new(prepared.program, execution, critical);
    let touched: Vec<usize> = (0..critical.len()).filter(|&i| walk.touches(i)).collect();
    let left = options.limits.deadline.map(|deadline| deadline.left() / 2);
    let time = searched.max(LEAST_TIME);
    let own = Options {
        evidence: Evidence::Verdict,
        limits: Limits {
            deadline: Some(Deadline::after(left.map_or(time, |left| left.min(time)))),
            ..options.limits.clone()
        },
        reporter: None,
        answered: None,
        log: None,
        ..options.clone()
    };
    let fate = |i: usize| match walk.first(i) {
        Some((node, steps)) => Fate::Touched { node, steps },
        None => untouched(prepared, &own, i, &touched, critical).unwrap_or(Fate::Missed),
    };
    let labels = critical.iter().enumerate();
    let labels = labels.map(|(i, label)| CriticalLabel {
        name: label.name.clone(),
        nodes: label.nodes.clone(),
        fate: fate(i),
    });
    labels.collect()
}

/// Why a label is not touched, if that is found out within the limits.
fn untouched(
    prepared: &Prepared<'_>,
    options: &Options<'_>,
    label: usize,
    touched: &[usize],
    critical: &[Critical],
) -> Option<Fate> {
    if !together(prepared, options, &[label])? {
        return Some(Fate::Impossible);
    }
    let mut apart = Vec::new();
    for &other in touched {
        if !together(prepared, options, &[label, other])? {
            apart.push(critical[other].name.clone());
        }
    }
    Some(Fate::Apart(apart))
}

/// Whether some run to the target touches all of these labels; nothing if a limit is reached.
fn together(prepared: &Prepared<'_>, options: &Options<'_>, labels: &[usize]) -> Option<bool> {
    let compiled = prepared.compiled(options).ok()?;
    let Ok(Goal::Touch(tour)) = prepared.goal(compiled) else {
        return None;
    };
    let goal = Goal::Touch(Tour {
        target: tour.target,
        marks: labels.iter().map(|&i| tour.marks[i]).collect(),
        least: labels.len() as u32,
    });
    match explicit::find(prepared, compiled, goal, options, (Runs::All, &[]))
        .ok()?
        .0
    {
        Verdict::Violated(_) => Some(true),
        Verdict::Holds(_) => Some(false),
        Verdict::Unknown(_) => None,
    }
}

/// The critical labels along an execution, whose calls stay folded.
struct Walk<'a> {
    execution: &'a Execution,
    lengths: Lengths<'a>,
    here: HashMap<NodeId, u64>,
    /// The labels that each run of a callee touches.
    runs: Vec<u64>,
}

impl<'a> Walk<'a> {
    fn new(program: &'a Program, execution: &'a Execution, critical: &[Critical]) -> Self {
        let mut walk = Walk {
            execution,
            lengths: Lengths::new(program, &execution.runs),
            here: sets(critical),
            runs: Vec::with_capacity(execution.runs.len()),
        };
        for run in execution.runs.iter() {
            // Runs refer to earlier ones only.
            let inside = run.steps.iter().map(|step| walk.of_step(step));
            let set = inside.fold(walk.at(run.exit), |set, step| set | step);
            walk.runs.push(set);
        }
        walk
    }

    fn at(&self, node: NodeId) -> u64 {
        self.here.get(&node).copied().unwrap_or(0)
    }

    fn of_step(&self, step: &Step) -> u64 {
        let inside = match step.action {
            Action::Folded { run, .. } => self.runs.get(run.0 as usize).copied().unwrap_or(0),
            _ => 0,
        };
        self.at(step.node) | inside
    }

    fn touches(&self, label: usize) -> bool {
        self.first(label).is_some()
    }

    /// Where the label is touched for the first time, and after how many steps.
    fn first(&self, label: usize) -> Option<(NodeId, u64)> {
        let has = |set: u64| set >> label & 1 == 1;
        let mut steps = &self.execution.steps[..];
        let mut end = match self.execution.ending {
            Ending::At(node) => Some(node),
            _ => None,
        };
        let mut before = 0u64;
        'inside: loop {
            for step in steps {
                if has(self.at(step.node)) {
                    return Some((step.node, before));
                }
                if let Action::Folded { run, .. } = step.action
                    && has(self.of_step(step))
                {
                    let run = &self.execution.runs[run.0 as usize];
                    (steps, end) = (&run.steps, Some(run.exit));
                    before = before.saturating_add(1);
                    continue 'inside;
                }
                let length = self.lengths.of_action(step.node, &step.action);
                before = before.saturating_add(length);
            }
            return end
                .filter(|&end| has(self.at(end)))
                .map(|end| (end, before));
        }
    }
}
