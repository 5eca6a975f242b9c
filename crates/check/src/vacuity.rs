//! Whether a verdict of `holds` is about any run at all.
//!
//! If every run gets stuck or fails, there is no infinite run, and every formula is true. If no run
//! gets to an assertion, none fails. Such an answer is right and says little, and the reason is most
//! often a mistake in the program. So after `holds` four things are asked:
//!
//! * Is there an infinite run of the kind that counts, or one that terminates?
//! * If there is none: where do the runs stop?
//! * For the default property: does a run get to an assertion?
//! * Does a run come to the end of a procedure that should return a value?
//!
//! For programs with threads only the last two are asked.
//!
//! The explicit engine answers them, in the program as it was written. That is little work: where there is
//! a run, the first one found is enough, and what is not found out within [`Options::vacuity`] is left open.
//! The answers are compared with the oracle's (`tests/vacuity.rs`).

use std::cell::RefCell;
use std::collections::BTreeSet;

use droste_base::{Deadline, Limits, Model, PropId, Runs, Steps, Verdict, Where};
use droste_explicit::{reach, repeat, stuck};
use droste_program::schedule::{Finding, Target};
use droste_program::{NodeId, Op, Program};
use droste_unfold::{AllLive, Machine, ThreadControl, Threading, Unfolding, Words};

use crate::Options;
use crate::prepared::Prepared;
use crate::property::Resolved;

/// Why `holds` says little: which runs were not at stake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Vacuity {
    /// Every run stops: none goes on for ever, and none comes to the end of the program. If finite runs
    /// are asked about, none has got to an assertion, either.
    NoRun {
        /// Places where runs stop.
        stops: Vec<StopPlace>,
        /// Whether these are all.
        all: bool,
    },
    /// Only runs of bounded stack count, and every infinite run recurses for ever.
    NoBoundedRun,
    /// No run gets to an assertion.
    NoAssertion,
    /// Some run comes to this end of a procedure that should return a value, and is stuck there.
    NoValue(NodeId),
}

/// Where runs stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct StopPlace {
    /// The statement.
    pub node: NodeId,
    /// How.
    pub how: StopKind,
}

/// How runs stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum StopKind {
    /// Nothing can happen.
    Stuck,
    /// With a violation.
    Fails,
    /// With the only thread.
    Ends,
}

/// Larger programs are not looked at.
const MOST_NODES: usize = 20_000;
/// So many path edges are looked at for each question,
const PATH_EDGES: u64 = 4_000;
/// and so many choices in one state.
const CHOICES: u64 = 10_000;

/// What may be spent on finding out. The verdict must not be lost: less than half of the time that
/// is left, and no race.
fn limits(options: &Options<'_>) -> Limits {
    let left = options.limits.deadline.map(Deadline::left);
    let time = left.map_or(options.vacuity, |left| options.vacuity.min(left / 2));
    Limits {
        deadline: Some(Deadline::after(time)),
        choices: Some(CHOICES),
        rival: None,
        ..options.limits.with_path_edges(PATH_EDGES)
    }
}

/// Why `holds` says little about a program without threads, if that is so and easy to find out.
pub(crate) fn vacuity(prepared: &Prepared<'_>, options: &Options<'_>) -> Option<Vacuity> {
    let program = prepared.program;
    if program.nodes.len() > MOST_NODES {
        return None;
    }
    let mut machine = Machine::new(program, &AllLive, false);
    machine.localise(program);
    let mut ask = |nodes: &[NodeId]| {
        let prop = machine.ask_control(nodes, false);
        (!nodes.is_empty()).then_some(prop)
    };
    let assertion = ask(&assertions(&prepared.question, program));
    let falls = ask(&ends_without_value(program));
    let infinite = prepared.question.is_about_infinite_runs();
    let look = Look {
        program,
        machine: &machine,
        limits: limits(options),
        infinite,
        runs: if infinite { options.runs } else { Runs::All },
        assertion,
        falls,
    };
    match machine.words() {
        1 => look.look::<[u64; 1]>(),
        2 => look.look::<[u64; 2]>(),
        3 | 4 => look.look::<[u64; 4]>(),
        5..=8 => look.look::<[u64; 8]>(),
        _ => look.look::<Box<[u64]>>(),
    }
}

/// The same for a program with threads, where it is only asked which nodes are reached.
pub(crate) fn vacuity_of_threads(
    prepared: &Prepared<'_>,
    options: &Options<'_>,
) -> Option<Vacuity> {
    let program = prepared.program;
    if program.nodes.len() > MOST_NODES {
        return None;
    }
    let limits = limits(options);
    let reaches = |nodes: &[NodeId]| {
        if nodes.is_empty() {
            return None;
        }
        let query = droste_threads::query(program, Target::Reach(nodes), options.bound);
        let search = droste_threads::Options {
            limits: limits.clone(),
            reporter: None,
            level: None,
            watching: droste_threads::Watching::default(),
        };
        match droste_threads::search(&query, &search).0 {
            Finding::Hit(..) => Some(true),
            Finding::Nothing { .. } => Some(false),
            Finding::Stopped(..) => None,
        }
    };
    if reaches(&assertions(&prepared.question, program)) == Some(false) {
        return Some(Vacuity::NoAssertion);
    }
    let ends = ends_without_value(program);
    (ends.into_iter())
        .find(|&node| reaches(&[node]) == Some(true))
        .map(Vacuity::NoValue)
}

/// The nodes of all assertions, if they are what is asked about: a program that has other ways to
/// violate the property is left alone.
fn assertions(question: &Resolved<'_>, program: &Program) -> Vec<NodeId> {
    match question {
        Resolved::Default(errors) if errors.is_empty() => {
            nodes(program, |op| matches!(op, Op::Assert { .. }))
        }
        _ => Vec::new(),
    }
}

/// The ends of procedures that should have returned a value before, where control may get there.
fn ends_without_value(program: &Program) -> Vec<NodeId> {
    let ends = nodes(program, |op| *op == Op::Stuck);
    if ends.is_empty() {
        return ends;
    }
    let mut reached = vec![false; program.nodes.len()];
    for node in &program.nodes {
        node.op
            .for_each_next(|next| reached[next.0 as usize] = true);
    }
    let mut ends = ends;
    ends.retain(|end| reached[end.0 as usize]);
    ends
}

fn nodes(program: &Program, wanted: impl Fn(&Op) -> bool) -> Vec<NodeId> {
    let nodes = (0..).map(NodeId).zip(&program.nodes);
    let nodes = nodes.filter(|(_, node)| wanted(&node.op));
    nodes.map(|(id, _)| id).collect()
}

struct Look<'a> {
    program: &'a Program,
    machine: &'a Machine,
    limits: Limits,
    /// Whether infinite runs are asked about. If not, a run that ends is as good as one that goes
    /// on for ever.
    infinite: bool,
    runs: Runs,
    /// Control is at an assertion, if that is of interest.
    assertion: Option<PropId>,
    /// Control is at the end of a procedure that should have returned a value, if there is one.
    falls: Option<PropId>,
}

impl Look<'_> {
    fn options(&self, verdict_only: bool) -> droste_explicit::Options<'static> {
        droste_explicit::Options {
            limits: self.limits.clone(),
            verdict_only,
            ..droste_explicit::Options::default()
        }
    }

    fn look<W: Words>(&self) -> Option<Vacuity> {
        let model = Unfolding::<W>::within(self.machine, &self.limits);
        // Runs that have been looked at may stop after that.
        if let Some(assertion) = self.assertion
            && is_found(&reach(&model, assertion, &self.options(true)).verdict)?
        {
            return self.falls(&model);
        }
        let goes_on = |runs| is_found(&repeat(&model, &[], runs, &self.options(true)).verdict);
        match goes_on(self.runs) {
            Some(true) | None => self.nothing_stops(&model),
            Some(false) if self.runs == Runs::FiniteStack && goes_on(Runs::All)? => {
                Some(Vacuity::NoBoundedRun)
            }
            Some(false) => {
                let mut machine = Machine::for_stops(self.program, &AllLive);
                machine.localise(self.program);
                let (stops, all) = self.stops::<W>(&machine);
                let ends = |stop: &StopPlace| stop.how == StopKind::Ends;
                if self.infinite || !stops.iter().any(ends) {
                    return Some(Vacuity::NoRun { stops, all });
                }
                self.nothing_stops(&model)
            }
        }
    }

    /// What is to be said if not every run stops.
    fn nothing_stops<W: Words>(&self, model: &Unfolding<'_, W>) -> Option<Vacuity> {
        match self.assertion {
            Some(_) => Some(Vacuity::NoAssertion),
            None => self.falls(model),
        }
    }

    /// What is to be said because of a procedure that returns no value.
    fn falls<W: Words>(&self, model: &Unfolding<'_, W>) -> Option<Vacuity> {
        let verdict = reach(model, self.falls?, &self.options(false)).verdict;
        let state = verdict.run()?.positions.last()?;
        match Threading::<W>::new(self.machine, &[]).control(&state.state) {
            ThreadControl::At(node) => Some(Vacuity::NoValue(node)),
            _ => None,
        }
    }

    /// Where runs stop, and whether these are all such places.
    fn stops<W: Words>(&self, machine: &Machine) -> (Vec<StopPlace>, bool) {
        let model = Unfolding::<W>::within(machine, &self.limits);
        let threading = Threading::<W>::new(machine, &[]);
        let found = RefCell::new(BTreeSet::new());
        let is_stuck = |state: &W| {
            let mut steps = Steps::new();
            model.steps(state, &mut steps);
            steps.items().is_empty() && steps.as_split().is_none() && !steps.overflowed()
        };
        let add = |node, how| found.borrow_mut().insert(StopPlace { node, how });
        let note = |state: &W| {
            match threading.control(state) {
                ThreadControl::Failed(node) => _ = add(node, StopKind::Fails),
                ThreadControl::At(node) if self.program.node(node).op == Op::EndThread => {
                    add(node, StopKind::Ends);
                }
                ThreadControl::At(node) if is_stuck(state) => _ = add(node, StopKind::Stuck),
                ThreadControl::At(_) | ThreadControl::Exited => {}
            }
            false
        };
        let everything = Where {
            model: &model,
            predicate: note,
        };
        let seen = reach(&everything, PropId(0), &self.options(true)).verdict;
        // Returns that callers refuse are not states without steps.
        let returns = Where {
            model: &model,
            predicate: is_stuck,
        };
        let refused = stuck(&returns, &[PropId(0)], &self.options(false)).verdict;
        if let Some(state) = refused.run().and_then(|trace| trace.positions.last())
            && let ThreadControl::At(node) = threading.control(&state.state)
        {
            add(node, StopKind::Stuck);
        }
        let all = seen.holds() && refused.holds();
        (found.take().into_iter().collect(), all)
    }
}

/// Whether there is one; nothing if that is not known.
fn is_found<T>(verdict: &Verdict<T>) -> Option<bool> {
    match verdict {
        Verdict::Violated(_) => Some(true),
        Verdict::Holds(_) => Some(false),
        Verdict::Unknown(_) => None,
    }
}
