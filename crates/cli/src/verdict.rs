//! Verdicts in words, and as JSON.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::time::Duration;

use droste_base::words::{counted, seconds};
use droste_base::{Countable, StopReason, Verdict};
use droste_check::{
    ERROR_LABELS, Effort, EngineId, Levels, Property, Report, Run, Runs, StopKind, Vacuity,
    Violators,
};
use droste_program::concurrent::ThreadAction;
use droste_program::execution::{Action, Ending};
use droste_program::monitor::{Monitor, StateKind};
use droste_program::{NodeId, Op, Program, Type, Variable, Violation};
use droste_report::{Shown, Watched};
use droste_source::SourceFile;
use serde_json::{Value, json};

use crate::critical;

/// What a verdict is about.
pub(crate) struct Subject<'a> {
    pub(crate) program: &'a Program,
    pub(crate) property: &'a Property,
    pub(crate) runs: Runs,
}

impl Subject<'_> {
    /// The sentence after `holds:`, `violated:` or `unknown:`.
    pub(crate) fn sentence(&self, report: &Report) -> String {
        let bounded = self.bounded();
        let explored = report.explored;
        let level = |level: usize| explored.map_or_else(String::new, |e| levels(e.levels, level));
        match &report.verdict {
            Verdict::Holds(_) => {
                let what = match self.property {
                    Property::Default => self.all_is_well(),
                    Property::Ltl(ltl) => {
                        format!("every run{bounded} satisfies {}", cut(&ltl.formula.text))
                    }
                    _ => format!("no run{bounded} {}", self.deed(None)),
                };
                match explored {
                    None => what,
                    Some(explored) => match (explored.exhaustive, explored.level) {
                        (false, Some(bound)) => format!("{what} within {}", level(bound)),
                        _ => format!("{what}, however often the active thread changes"),
                    },
                }
            }
            Verdict::Violated(violation) => {
                let run = violation.run.as_ref();
                let with = match explored.and_then(|explored| explored.level) {
                    Some(number) => format!(" with {}", level(number)),
                    None => String::new(),
                };
                match self.property {
                    Property::Default => self.mishap(run, &with),
                    Property::Critical { .. } if !report.critical.is_empty() => format!(
                        "a run {} and touches {} of {}",
                        self.deed(run),
                        critical::touched(&report.critical),
                        counted(report.critical.len() as u64, "critical label")
                    ),
                    _ => format!("a run{with}{bounded} {}", self.deed(run)),
                }
            }
            Verdict::Unknown(reason) => {
                let mut text = undecided(reason, &known(&cut(&self.question())));
                if let Some(number) = explored.and_then(|explored| explored.level) {
                    let count = level(number);
                    let _ = write!(text, "\nUp to {count}, no run violates the property.");
                }
                text
            }
        }
    }

    /// What may be unknown, to be read after `whether`.
    pub(crate) fn question(&self) -> String {
        match self.property {
            Property::Default => DEFAULT_QUESTION.to_owned(),
            Property::Ltl(ltl) => {
                format!("every run{} satisfies {}", self.bounded(), ltl.formula.text)
            }
            _ => format!("a run{} {}", self.bounded(), self.deed(None)),
        }
    }

    /// Whether the property is about infinite runs.
    pub(crate) fn is_about_infinite_runs(&self) -> bool {
        match self.property {
            Property::Default
            | Property::Reach(_)
            | Property::Critical { .. }
            | Property::Deadlock => false,
            Property::Repeat(_) | Property::Ltl(_) | Property::Automaton(_) => true,
            Property::Monitor(monitor) => !has_target(monitor),
        }
    }

    /// Which runs count, where that makes a difference.
    fn bounded(&self) -> &'static str {
        if self.is_about_infinite_runs() && self.runs == Runs::FiniteStack {
            " with a bounded stack"
        } else {
            ""
        }
    }

    /// Why a verdict of `holds` says little: a sentence.
    pub(crate) fn vacuous(&self, source: &SourceFile, vacuity: &Vacuity) -> String {
        let (stops, all) = match vacuity {
            Vacuity::NoRun { stops, all } => (stops, *all),
            Vacuity::NoBoundedRun => {
                return "No run was at stake: every infinite run recurses for ever.".to_owned();
            }
            Vacuity::NoAssertion => {
                return "No run gets to an assertion: there was nothing to check.".to_owned();
            }
            Vacuity::NoValue(node) => {
                let node = self.program.node(*node);
                return format!(
                    "Some runs are not at stake: they get to the end of `{}` at line {}, which \
                     should have returned a value, and are stuck there.",
                    self.program.procedure(node.procedure).name,
                    source.line_number(node.span.start),
                );
            }
        };
        let mut ways: Vec<&str> = (stops.iter())
            .map(|stop| match stop.how {
                StopKind::Stuck => "gets stuck",
                StopKind::Fails => "fails",
                StopKind::Ends => "ends with its thread",
            })
            .collect();
        ways.sort_unstable();
        ways.dedup();
        let how = match &ways[..] {
            [] => "gets stuck or fails".to_owned(),
            ways => ways.join(" or "),
        };
        let mut lines: Vec<u32> = (stops.iter())
            .map(|stop| source.line_number(self.program.node(stop.node).span.start))
            .collect();
        lines.sort_unstable();
        lines.dedup();
        let many = lines.len() > MOST_LINES;
        lines.truncate(MOST_LINES);
        let lines: Vec<String> = lines.iter().map(|line| format!("line {line}")).collect();
        let place = match (&lines[..], many || !all) {
            ([], _) => String::new(),
            (lines, false) => format!(" at {}", lines.join(" or ")),
            (lines, true) => format!(", for example at {}", lines.join(" or ")),
        };
        match self.property {
            Property::Default if self.has_assertions() && !self.has_error_label() => {
                format!("No run gets to an assertion: every run {how}{place}.")
            }
            _ if self.is_about_infinite_runs() => {
                format!("No run was at stake: every run {how}{place}.")
            }
            _ => format!("Every run {how}{place}."),
        }
    }

    /// What a run does that violates the property.
    fn deed(&self, run: Option<&Run>) -> String {
        match self.property {
            Property::Default => "violates the default property".to_owned(),
            Property::Reach(labels) | Property::Critical { reach: labels, .. } => {
                let reached = match run.map(ending) {
                    Some(Ending::At(node)) => self.asked(labels, node),
                    _ => None,
                };
                format!(
                    "reaches {}",
                    reached.map_or_else(|| labels.join(" or "), str::to_owned)
                )
            }
            Property::Deadlock => "gets stuck".to_owned(),
            Property::Repeat(labels) => format!("visits {} infinitely often", labels.join(" or ")),
            Property::Ltl(ltl) => format!("does not satisfy {}", cut(&ltl.formula.text)),
            Property::Automaton(automaton) => format!("is accepted by {}", automaton.name),
            Property::Monitor(monitor) => {
                let kind = if has_target(monitor) {
                    StateKind::Target
                } else {
                    StateKind::Repeating
                };
                let names = monitor.states.iter().filter(|state| state.kind == kind);
                let names: Vec<&str> = names.map(|state| &*state.name).collect();
                let states = names.join(" or ");
                match kind {
                    StateKind::Target => format!("takes monitor {} to {states}", monitor.name),
                    _ => format!(
                        "takes monitor {} to {states} infinitely often",
                        monitor.name
                    ),
                }
            }
        }
    }

    /// Which of the labels asked about `node` has.
    pub(crate) fn asked<'l>(&self, labels: &'l [String], node: NodeId) -> Option<&'l str> {
        let node = self.program.nodes.get(node.0 as usize)?;
        let found = labels.iter().find(|query| {
            let label = query.rsplit(':').next().unwrap_or(query).trim();
            node.labels.iter().any(|own| **own == *label)
        });
        found.map(String::as_str)
    }

    /// That the default property holds, as far as there is something that could violate it.
    pub(crate) fn all_is_well(&self) -> String {
        let mut parts = Vec::new();
        if self.has_assertions() {
            parts.push("no assertion fails".to_owned());
        }
        if self.has_ranges() {
            parts.push("no value leaves its range".to_owned());
        }
        let labels = ERROR_LABELS
            .into_iter()
            .filter(|label| self.has_label(label));
        parts.extend(labels.map(|label| format!("{label} is not reached")));
        match &parts[..] {
            [] => "nothing goes wrong".to_owned(),
            [only] => only.clone(),
            [most @ .., last] => format!("{} and {last}", most.join(", ")),
        }
    }

    fn has_assertions(&self) -> bool {
        let mut nodes = self.program.nodes.iter();
        nodes.any(|node| matches!(node.op, Op::Assert { .. }))
    }

    fn has_ranges(&self) -> bool {
        self.variables()
            .any(|variable| matches!(variable.ty, Type::Range { .. }))
    }

    /// Globals and locals.
    fn variables(&self) -> impl Iterator<Item = &Variable> {
        let locals = self
            .program
            .procedures
            .iter()
            .flat_map(|procedure| &procedure.locals);
        self.program.globals.iter().chain(locals)
    }

    fn has_label(&self, label: &str) -> bool {
        self.program
            .nodes
            .iter()
            .any(|node| node.labels.iter().any(|own| **own == *label))
    }

    /// What goes wrong in a violation of the default property, in a run `with` so many switches.
    fn mishap(&self, run: Option<&Run>, with: &str) -> String {
        let Some(run) = run else {
            // Nobody wanted to see the run. What it may do is known all the same.
            return format!("{}{with}", self.possible_mishap());
        };
        match (ending(run), failed(run)) {
            (Ending::At(node), _) => {
                let labels = ERROR_LABELS.map(str::to_owned);
                let label = self.asked(&labels, node).unwrap_or("an error label");
                format!("a run{with} reaches {label}")
            }
            (_, Some(violation)) if with.is_empty() => failure(violation).to_owned(),
            (_, Some(violation)) => format!("{} in a run{with}", failure(violation)),
            _ => self.possible_mishap(),
        }
    }

    /// What a violation of the default property may be, in this program.
    fn possible_mishap(&self) -> String {
        let mut parts = Vec::new();
        if self.has_assertions() {
            parts.push("an assertion fails".to_owned());
        }
        if self.has_ranges() {
            parts.push("a value leaves its range".to_owned());
        }
        let labels = ERROR_LABELS
            .into_iter()
            .filter(|label| self.has_label(label));
        parts.extend(labels.map(|label| format!("{label} is reached")));
        if parts.is_empty() {
            return "something goes wrong".to_owned();
        }
        parts.join(" or ")
    }

    fn has_error_label(&self) -> bool {
        ERROR_LABELS.iter().any(|label| self.has_label(label))
    }

    /// Whether there is nothing that could violate the default property.
    pub(crate) fn is_vacuous(&self) -> bool {
        matches!(self.property, Property::Default)
            && !self.has_error_label()
            && !self.program.can_fail()
    }
}

/// The run in a report, if there is one, as it is shown.
pub(crate) fn shown<'a>(
    subject: &Subject<'a>,
    source: &'a SourceFile,
    report: &'a Report,
) -> Option<Shown<'a>> {
    let run = report.verdict.run()?;
    let watched = Watched {
        monitor: subject.property.monitor(),
        formula: subject.property.meaning(),
        marks: critical::marks(&report.critical),
    };
    Some(Shown::new(subject.program, source, run, watched))
}

/// Which runs violate the property, if there is something to say about it; lines of their own.
pub(crate) fn which_runs(violators: Violators, asked: Runs, tell_apart: bool) -> &'static str {
    match (violators, asked) {
        (Violators::Bounded, Runs::FiniteStack) => "",
        (Violators::Bounded, _) => "The stack of this run stays bounded.\n",
        (Violators::OnlyUnbounded, _) => {
            "It holds on every finite-stack run; it is violated only by runs that recurse for ever.\n"
        }
        (Violators::Unbounded, _) if tell_apart => {
            "This run recurses for ever. Whether a finite-stack run violates the property, too, was not known when a limit was reached.\n"
        }
        (Violators::Unbounded, _) => {
            "This run recurses for ever. Whether a finite-stack run violates the property, too, is not known;\n\
             --runs both finds out.\n"
        }
    }
}

/// How a run ends.
fn ending(run: &Run) -> Ending {
    match run {
        Run::Sequential(execution) => execution.ending,
        Run::Threads(execution) => execution.ending,
    }
}

/// What goes wrong in the last step of a run.
fn failed(run: &Run) -> Option<Violation> {
    let action = match run {
        Run::Sequential(execution) => &execution.steps.last()?.action,
        Run::Threads(execution) => match &execution.contexts.last()?.steps.last()?.action {
            ThreadAction::Step(action) => action,
            _ => return None,
        },
    };
    match action {
        Action::Fail(violation) => Some(*violation),
        _ => None,
    }
}

/// `3 switches`, `2 rounds`.
pub(crate) fn levels(levels: Levels, number: usize) -> String {
    let what = match levels {
        Levels::Switches => "switch",
        Levels::Rounds => "round",
    };
    counted(number as u64, what)
}

/// A violation in words.
pub(crate) fn failure(violation: Violation) -> &'static str {
    match violation {
        Violation::Assertion => "an assertion fails",
        Violation::OutOfRange => "a value leaves its range",
        Violation::DivisionByZero => "there is a division by zero",
        Violation::NegativeShift => "there is a shift by a negative distance",
    }
}

fn has_target(monitor: &Monitor) -> bool {
    let mut states = monitor.states.iter();
    states.any(|state| state.kind == StateKind::Target)
}

/// So many of the places where runs stop are named.
const MOST_LINES: usize = 3;

/// Longer formulas are cut in the middle where people read them.
const LONGEST: usize = 200;

/// A formula, or a sentence with one, not longer than is good to read.
pub(crate) fn cut(text: &str) -> Cow<'_, str> {
    let count = text.chars().count();
    if count <= LONGEST {
        return Cow::Borrowed(text);
    }
    let (begin, end) = (LONGEST * 3 / 5, LONGEST * 2 / 5);
    let mut short: String = text.chars().take(begin).collect();
    short.push_str(" … ");
    short.extend(text.chars().skip(count - end));
    Cow::Owned(short)
}

/// What may be unknown when nothing is asked about in particular.
pub(crate) const DEFAULT_QUESTION: &str = "an assertion fails or an error label is reached";

/// What did not happen when the answer to `question` is unknown, to be read after `before`.
pub(crate) fn known(question: &str) -> String {
    format!("it was known whether {question}")
}

/// The sentence after `unknown:`, and how to go on. `goal` is what did not happen.
pub(crate) fn undecided(reason: &StopReason, goal: &str) -> String {
    match reason {
        StopReason::Unwritten(reason) => format!(
            "{reason} when a violation had been found, but before its run was written down and \
             replayed\n--no-trace asks for the verdict alone."
        ),
        StopReason::Unsurpassed(reason) => format!(
            "{reason} when a run that gets there had been found, but before it was known which one \
             touches the most critical labels\n\
             Without --critical, a run is shown."
        ),
        StopReason::Untranslated(reason) => match &**reason {
            StopReason::Time(_) | StopReason::Memory(_) => format!(
                "{reason} before {goal}\n\
                 The automaton of the negated formula grew too large; --engine tableau does \
                 without one."
            ),
            reason => undecided(reason, goal),
        },
        reason => {
            let mut sentence = format!("{reason} before {goal}");
            if let Some(hint) = hint(reason) {
                let _ = write!(sentence, "\n{hint}");
            }
            sentence
        }
    }
}

/// How to go on when there was no answer.
fn hint(reason: &StopReason) -> Option<&'static str> {
    match reason {
        StopReason::Time(_) => Some("A larger --timeout, or none, gives the search more time."),
        StopReason::Memory(_) => Some("A larger --memory gives the search more room."),
        StopReason::TooMany(Countable::Choices, _) => {
            Some("Smaller types, fewer `*` in one statement, or a smaller formula would help.")
        }
        StopReason::TooMany(Countable::Eventualities, _) => {
            Some("If it is a conjunction, its parts can be checked one by one.")
        }
        StopReason::TooMany(..) => Some("Smaller types or fewer variables would help."),
        StopReason::Share(_)
        | StopReason::PathEdges(_)
        | StopReason::Cancelled
        | StopReason::OutOfRange
        | StopReason::Unwritten(_)
        | StopReason::Unsurpassed(_)
        | StopReason::Untranslated(_) => None,
    }
}

/// One line: what it took.
pub(crate) fn statistics(report: &Report, total: Duration) -> String {
    let engine = report.engine;
    let (numbers, search) = match &report.effort {
        None if matches!(engine, EngineId::Bdd | EngineId::Calculus | EngineId::Wpds) => {
            let what = match report.verdict {
                Verdict::Unknown(_) => "stopped before the first step",
                _ => "nothing to search",
            };
            (what.to_owned(), None)
        }
        None => ("0 path edges, 0 states".to_owned(), None),
        Some(Effort::Explicit(stats)) => (
            format!(
                "{}, {}",
                counted(stats.path_edges, "path edge"),
                counted(stats.states, "state")
            ),
            Some(stats.search),
        ),
        // Nothing but configurations.
        Some(Effort::Symbolic(stats)) if stats.images == 0 && stats.configurations > 0 => {
            (counted(stats.configurations, "configuration"), None)
        }
        Some(Effort::Symbolic(stats)) => (
            format!(
                "{}, {}",
                counted(stats.images, "image"),
                counted(stats.peak_nodes, "node")
            ),
            None,
        ),
        Some(Effort::Weighted(stats)) => (
            format!(
                "{}, {}",
                counted(stats.images, "product"),
                counted(stats.peak_nodes, "node")
            ),
            None,
        ),
        Some(Effort::Calculus(stats)) => (
            format!(
                "{}, {}",
                counted(stats.rounds, "round"),
                counted(stats.peak_nodes, "node")
            ),
            None,
        ),
    };
    let who = match engine {
        EngineId::Explicit | EngineId::Tableau if !report.raced => String::new(),
        engine => format!("{engine}: "),
    };
    // How long it took to find a violation, if writing it down took much longer.
    let found = search.filter(|&search| {
        let enough = search + search / 4 + Duration::from_millis(100);
        report.verdict.is_violated() && report.time > enough
    });
    let total = seconds(total);
    match found {
        Some(search) => format!(
            "{who}{numbers}, {total} ({} to find the answer)",
            seconds(search)
        ),
        None => format!("{who}{numbers}, {total}"),
    }
}

/// The report as a JSON object, but for the trace.
pub(crate) fn object(file: &str, question: &str, report: &Report, total: Duration) -> Value {
    let mut object = json!({
        "verdict": report.verdict.word(),
        "property": question,
        "engine": report.engine.name(),
        "file": file,
        "version": env!("CARGO_PKG_VERSION"),
        "stats": stats(report, total),
    });
    if let Verdict::Unknown(reason) = &report.verdict {
        object["reason"] = reason.to_string().into();
        if matches!(
            reason,
            StopReason::Unwritten(_) | StopReason::Unsurpassed(_)
        ) {
            object["violation_found"] = true.into();
        }
    }
    if let Some(violators) = report.violators {
        object["violated_by"] = match violators {
            Violators::Bounded => "finite-stack run",
            Violators::OnlyUnbounded => "only runs that recurse for ever",
            Violators::Unbounded => "run that recurses for ever",
        }
        .into();
    }
    if let Some(explored) = report.explored {
        let key = match explored.levels {
            Levels::Switches => "context_switches",
            Levels::Rounds => "thread_rounds",
        };
        object["stats"][key] = explored.level.into();
        object["exhaustive"] = explored.exhaustive.into();
    }
    object
}

/// What it took, as JSON.
fn stats(report: &Report, total: Duration) -> Value {
    let seconds = total.as_secs_f64();
    let effort = report.effort.unwrap_or_else(|| Effort::none(report.engine));
    match effort {
        Effort::Symbolic(stats) | Effort::Calculus(stats) | Effort::Weighted(stats) => {
            json!({
                "seconds": seconds,
                "configurations": stats.configurations,
                "images": stats.images,
                "nodes_reached": stats.nodes_reached,
                "variables": stats.variables,
                "peak_nodes": stats.peak_nodes,
                "rounds": stats.rounds,
                "reorderings": stats.reorderings,
                "bytes": stats.bytes,
            })
        }
        Effort::Explicit(stats) => {
            json!({
                "seconds": seconds,
                "search_seconds": stats.search.as_secs_f64(),
                "path_edges": stats.path_edges,
                // The former name of the same number.
                "contexts": stats.path_edges,
                "states": stats.states,
                "entries": stats.entries,
                "summaries": stats.summaries,
                "bytes": stats.bytes,
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_cut_in_the_middle() {
        assert_eq!(cut("G p"), "G p");
        let long = "é".repeat(150) + &"ß".repeat(150);
        let short = cut(&long);
        assert_eq!(short.chars().count(), LONGEST + 3);
        assert!(short.starts_with("éé") && short.ends_with("ßß"));
    }
}
