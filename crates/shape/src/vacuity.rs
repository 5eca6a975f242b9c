//! Whether a verdict of `holds` is about any run at all.
//!
//! If no run goes on for ever and none comes to the end of the program, every formula holds. If no run uses
//! an object, none uses null. Such an answer is right but says little; most often there is a mistake in the
//! initial heap or the choice of the method. Boolean programs have the same remark (docs/LANGUAGE.md,
//! "Answers about no run"). Little time is spent on finding this out; if that is not enough, nothing is said.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

use droste_base::{Deadline, Limits, Model, PropId, Runs, Steps, Verdict, Where};
use droste_explicit::{Options, reach, repeat};
use droste_pointer::{Statement, Value};

use crate::machine::{Fault, Machine, State};

/// Why `holds` says little.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Vacuity {
    /// No run goes on for ever, and none comes to the end of the program. If it is known, where
    /// they stop.
    NoRun(BTreeSet<Stop>),
    /// No run uses a field or calls a method of an object, or gives one to a library.
    NoUse,
    /// The initial heaps stand for no concrete heap.
    NoHeap,
    /// No initial heap has an object on which a mark could be put.
    NoObject,
}

/// Where runs stop: the way, the file, the line.
pub type Stop = (StopKind, String, u32);

/// How runs stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum StopKind {
    /// With a fault.
    Null,
    /// With an exception.
    Throws,
    /// Nothing can happen: a contract has no heap for what comes after a call.
    Stuck,
}

/// So many places are named.
const MOST_PLACES: usize = 3;
/// So much time may be spent.
const PATIENCE: Duration = Duration::from_millis(100);
/// So many path edges are looked at.
const PATH_EDGES: u64 = 5_000;

impl fmt::Display for Vacuity {
    /// As a sentence.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stops = match self {
            Vacuity::NoHeap => {
                return f.write_str(
                    "No run was at stake: the initial heap stands for no heap, since no rules of the \
                     grammar derive one.",
                );
            }
            Vacuity::NoObject => {
                return f.write_str(
                    "No run was at stake: the formula is about a marked object, and the initial heap \
                     has none to mark.",
                );
            }
            Vacuity::NoUse => {
                return f.write_str("No run uses an object: there was nothing to check.");
            }
            Vacuity::NoRun(stops) if stops.is_empty() => {
                return f.write_str("No run was at stake: no run goes on or comes to its end.");
            }
            Vacuity::NoRun(stops) => stops,
        };
        let mut ways: Vec<&str> = (stops.iter())
            .map(|(how, ..)| match how {
                StopKind::Null => "uses null",
                StopKind::Throws => "ends with an exception",
                StopKind::Stuck => "gets stuck",
            })
            .collect();
        ways.dedup();
        let places = stops.iter().filter(|(_, file, _)| !file.is_empty());
        let places: BTreeSet<String> = places
            .map(|(_, file, line)| format!("{file}:{line}"))
            .collect();
        let shown: Vec<&str> = places
            .iter()
            .take(MOST_PLACES)
            .map(String::as_str)
            .collect();
        let place = match shown.len() {
            0 => String::new(),
            few if few == places.len() => format!(" at {}", shown.join(" or ")),
            _ => format!(", for example at {}", shown.join(" or ")),
        };
        let how = ways.join(" or ");
        write!(f, "No run was at stake: every run {how}{place}.")
    }
}

/// What may be spent on finding out. The verdict must not be lost.
fn options(limits: &Limits) -> Options<'static> {
    let left = limits.deadline.map(Deadline::left);
    let time = left.map_or(PATIENCE, |left| PATIENCE.min(left / 2));
    Options {
        limits: Limits {
            deadline: Some(Deadline::after(time)),
            ..limits.with_path_edges(PATH_EDGES)
        },
        verdict_only: true,
        ..Options::default()
    }
}

/// Whether it is known that no run of a model goes on for ever; one that has ended does.
pub(crate) fn has_no_run<M: Model>(model: &M, limits: &Limits) -> bool {
    let found = repeat(model, &[], Runs::All, &options(limits)).verdict;
    matches!(found, Verdict::Holds(_))
}

impl Machine<'_> {
    /// Whether it is known that no run gets to a state of this kind.
    fn never(&self, kind: impl Fn(&State) -> bool, limits: &Limits) -> bool {
        let model = Where {
            model: self,
            predicate: kind,
        };
        let found = reach(&model, PropId(0), &options(limits)).verdict;
        matches!(found, Verdict::Holds(_))
    }

    /// Whether it is known that no run uses an object.
    pub(crate) fn uses_nothing(&self, limits: &Limits) -> bool {
        self.never(|&state| self.is_use(state), limits)
    }

    /// Where runs stop, if that can be found out.
    pub(crate) fn stops(&self, limits: &Limits) -> BTreeSet<Stop> {
        let found = RefCell::new(BTreeSet::new());
        let note = |&state: &State| {
            found.borrow_mut().extend(self.stop_at(state));
            false
        };
        if self.never(note, limits) {
            found.take()
        } else {
            BTreeSet::new()
        }
    }

    /// How and where runs stop in a state, if they do.
    fn stop_at(&self, state: State) -> Option<Stop> {
        let place = self.place(state);
        let method = self.program.method(place.method);
        let mut steps = Steps::new();
        if place.fault.is_none() {
            self.steps(&state, &mut steps);
        }
        let how = match place.fault {
            Some(Fault::Leak) => return None,
            // What leaves a callee may be caught.
            Some(Fault::Thrown) if !self.is_outermost(place.method, &self.heap(state)) => {
                return None;
            }
            Some(Fault::Thrown) => StopKind::Throws,
            Some(_) => StopKind::Null,
            None if !steps.items().is_empty() => return None,
            None => StopKind::Stuck,
        };
        let file = self.program.files.get(method.file as usize);
        let line = method.lines.get(place.pc as usize).copied().unwrap_or(0);
        let file = file.filter(|_| line > 0).cloned().unwrap_or_default();
        Some((how, file, line))
    }

    /// Whether the statement of a state needs an object to be there, or gives one to code that is not
    /// at hand, which may run methods that do.
    fn is_use(&self, state: State) -> bool {
        let place = self.place(state);
        let code = &self.program.method(place.method).code;
        if let Some(Statement::Hand { objects, .. }) = code.get(place.pc as usize) {
            return !objects.is_empty();
        }
        matches!(
            code.get(place.pc as usize),
            Some(
                Statement::Store { .. }
                    | Statement::Require(_)
                    | Statement::Assign {
                        value: Value::Field(..),
                        ..
                    }
                    | Statement::Call {
                        receiver: Some(_),
                        ..
                    }
            )
        )
    }
}
