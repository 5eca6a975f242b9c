//! Verdicts in words, and as JSON.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::time::Duration;

use droste_base::{Limits, StopReason, Verdict};
use droste_check::{ERROR_LABELS, Phase, Property, Report, Runs, Stats, SymbolicStats, Violators};
use droste_program::execution::{Action, Ending, Execution};
use droste_program::monitor::{Monitor, StateKind};
use droste_program::{NodeId, Op, Program, Type, Variable, Violation};
use droste_report::{Json, MonitorRun, Reasons, Remarks, Style};
use droste_source::SourceFile;
use serde_json::{Value, json};

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
        match &report.verdict {
            Verdict::Holds(_) => match self.property {
                Property::Default => self.all_is_well(),
                Property::Ltl(ltl) => format!("every run{bounded} satisfies {}", cut(&ltl.text)),
                _ => format!("no run{bounded} {}", self.deed(None)),
            },
            Verdict::Violated(execution) => match self.property {
                Property::Default => self.mishap(execution),
                _ => format!("a run{bounded} {}", self.deed(Some(execution))),
            },
            Verdict::Unknown(reason) if report.phase == Phase::Writing => unwritten(reason),
            Verdict::Unknown(reason) if report.phase == Phase::Translating => {
                let goal = known(&cut(&self.question()));
                match reason {
                    StopReason::Time(_) | StopReason::Memory(_) => format!(
                        "{reason} before {goal}\n\
                         The automaton of the negated formula grew too large; --engine tableau does without one."
                    ),
                    _ => undecided(reason, &goal),
                }
            }
            Verdict::Unknown(reason) => undecided(reason, &known(&cut(&self.question()))),
        }
    }

    /// What may be unknown, to be read after `whether`.
    pub(crate) fn question(&self) -> String {
        match self.property {
            Property::Default => DEFAULT_QUESTION.to_owned(),
            Property::Ltl(ltl) => format!("every run{} satisfies {}", self.bounded(), ltl.text),
            _ => format!("a run{} {}", self.bounded(), self.deed(None)),
        }
    }

    /// Whether the property is about infinite runs.
    pub(crate) fn is_about_infinite_runs(&self) -> bool {
        match self.property {
            Property::Default | Property::Reach(_) => false,
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

    /// What a run does that violates the property.
    fn deed(&self, execution: Option<&Execution>) -> String {
        match self.property {
            Property::Default => "violates the default property".to_owned(),
            Property::Reach(labels) => {
                let reached = execution.and_then(|execution| match execution.ending {
                    Ending::At(node) => self.asked(labels, node),
                    _ => None,
                });
                format!(
                    "reaches {}",
                    reached.map_or_else(|| labels.join(" or "), str::to_owned)
                )
            }
            Property::Repeat(labels) => format!("visits {} infinitely often", labels.join(" or ")),
            Property::Ltl(ltl) => format!("does not satisfy {}", cut(&ltl.text)),
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
        if self
            .variables()
            .any(|variable| matches!(variable.ty, Type::Range { .. }))
        {
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

    /// What goes wrong in a violation of the default property.
    fn mishap(&self, execution: &Execution) -> String {
        match (
            execution.ending,
            execution.steps.last().map(|step| &step.action),
        ) {
            (Ending::At(node), _) => {
                let labels = ERROR_LABELS.map(str::to_owned);
                let label = self.asked(&labels, node).unwrap_or("an error label");
                format!("a run reaches {label}")
            }
            (_, Some(Action::Fail(violation))) => failure(*violation).to_owned(),
            // Nobody wanted to see the run.
            _ => DEFAULT_QUESTION.to_owned(),
        }
    }

    /// Whether there is nothing that could violate the default property.
    pub(crate) fn is_vacuous(&self) -> bool {
        matches!(self.property, Property::Default)
            && !self.has_assertions()
            && !ERROR_LABELS.iter().any(|label| self.has_label(label))
            && self.variables().all(|variable| variable.ty == Type::Bool)
    }
}

/// A violation as it is shown: the run, and what a monitor or a formula has to say about it.
pub(crate) struct Trace<'a> {
    program: &'a Program,
    source: &'a SourceFile,
    execution: &'a Execution,
    monitor: Option<MonitorRun>,
    reasons: Reasons,
}

impl<'a> Trace<'a> {
    /// The run in a report, if there is one.
    pub(crate) fn of(
        subject: &Subject<'a>,
        source: &'a SourceFile,
        report: &'a Report,
    ) -> Option<Self> {
        let execution = report.witness()?;
        let program = subject.program;
        let finite_stack = subject.runs == Runs::FiniteStack;
        let monitor = match subject.property {
            Property::Monitor(monitor) => Some(monitor),
            Property::Automaton(automaton) => Some(&automaton.monitor),
            _ => None,
        };
        let monitor = monitor.and_then(|monitor| {
            droste_report::monitor_run(program, execution, monitor, finite_stack)
        });
        let reasons = match subject.property {
            Property::Ltl(ltl) => {
                let mut guard = Limits::default().guard();
                Reasons::new(program, execution, &ltl.meaning, &mut guard).unwrap_or_default()
            }
            _ => Reasons::default(),
        };
        Some(Trace {
            program,
            source,
            execution,
            monitor,
            reasons,
        })
    }

    pub(crate) fn text(&self, style: &Style) -> String {
        let remarks = Remarks {
            monitor: self.monitor.as_ref(),
            reasons: Some(&self.reasons),
        };
        droste_report::text_with_remarks(self.program, self.source, self.execution, remarks, style)
    }

    pub(crate) fn json(&self) -> Json<'_> {
        let remarks = Remarks {
            monitor: self.monitor.as_ref(),
            reasons: Some(&self.reasons),
        };
        droste_report::json_with_remarks(self.program, self.source, self.execution, remarks)
    }
}

/// Which runs violate the property, if there is something to say about it; lines of their own.
pub(crate) fn which_runs(violators: Violators, asked: Runs) -> &'static str {
    match (violators, asked) {
        (Violators::Bounded, Runs::FiniteStack) => "",
        (Violators::Bounded, _) => "The stack of this run stays bounded.\n",
        (Violators::OnlyUnbounded, _) => {
            "It holds on every finite-stack run; it is violated only by runs that recurse for ever.\n"
        }
        (Violators::Unbounded, Runs::Both) => {
            "This run recurses for ever. Whether a finite-stack run violates the property, too, was not known when a limit was reached.\n"
        }
        (Violators::Unbounded, _) => {
            "This run recurses for ever. Whether a finite-stack run violates the property, too, is not known;\n\
             --runs both finds out.\n"
        }
    }
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
    let mut sentence = format!("{reason} before {goal}");
    if let Some(hint) = hint(reason) {
        let _ = write!(sentence, "\n{hint}");
    }
    sentence
}

/// The sentence after `unknown:` if a violation has been found, but not its run.
pub(crate) fn unwritten(reason: &StopReason) -> String {
    format!(
        "{reason} when a violation had been found, but before its run was written down and replayed\n\
         --no-trace asks for the verdict alone."
    )
}

/// How to go on when there was no answer.
fn hint(reason: &StopReason) -> Option<&'static str> {
    match reason {
        StopReason::Time(_) => Some("A larger --timeout, or none, gives the search more time."),
        StopReason::Memory(_) => Some("A larger --memory, or none, gives the search more room."),
        StopReason::Contexts(_) | StopReason::Cancelled => None,
        StopReason::TooManySuccessors => {
            Some("Fewer `*` in one statement, or a smaller formula, would help.")
        }
        StopReason::TooManyStates => Some("Smaller types or fewer variables would help."),
        StopReason::TooManyMarks => {
            Some("If it is a conjunction, its parts can be checked one by one.")
        }
    }
}

/// What it took whom.
#[derive(Clone, Copy)]
pub(crate) struct Effort<'a> {
    pub(crate) engine: &'static str,
    pub(crate) stats: &'a Stats,
    pub(crate) symbolic: Option<&'a SymbolicStats>,
    /// Whether there was a rival.
    pub(crate) raced: bool,
    /// How long it took to find a violation, if writing it down took much longer.
    pub(crate) found: Option<Duration>,
}

impl<'a> Effort<'a> {
    pub(crate) fn of(report: &'a Report) -> Self {
        Effort {
            engine: report.engine,
            stats: &report.stats,
            symbolic: report.symbolic.as_ref(),
            raced: report.raced,
            found: Some(report.stats.search).filter(|&search| {
                let enough = search + search / 4 + Duration::from_millis(100);
                matches!(report.verdict, Verdict::Violated(_)) && report.time > enough
            }),
        }
    }
}

/// One line: what it took.
pub(crate) fn statistics(effort: &Effort<'_>, total: Duration) -> String {
    if let Some(stats) = effort.symbolic {
        let unit = if effort.engine == "calculus" {
            "round"
        } else {
            "image"
        };
        return format!(
            "{}: {}, {}, {}",
            effort.engine,
            counted(stats.images, unit),
            counted(stats.peak_nodes, "node"),
            seconds(total)
        );
    }
    if matches!(effort.engine, "bdd" | "calculus") {
        return format!(
            "{}: stopped before the first step, {}",
            effort.engine,
            seconds(total)
        );
    }
    let who = if effort.raced { "explicit: " } else { "" };
    format!(
        "{who}{}, {}, {}",
        counted(effort.stats.contexts, "context"),
        counted(effort.stats.states, "state"),
        match effort.found {
            Some(search) => format!(
                "{} ({} to find the answer)",
                seconds(total),
                seconds(search)
            ),
            None => seconds(total),
        }
    )
}

/// The report as a JSON object, but for the trace.
pub(crate) fn object(file: &str, question: &str, report: &Report, total: Duration) -> Value {
    let answer = (&report.verdict, report.engine, Effort::of(report));
    let mut object = object_of(file, question, answer, total);
    if let Some(violators) = report.violators {
        object["violated_by"] = match violators {
            Violators::Bounded => "finite-stack run",
            Violators::OnlyUnbounded => "only runs that recurse for ever",
            Violators::Unbounded => "run that recurses for ever",
        }
        .into();
    }
    object
}

/// The object for a verdict, an engine and what it took.
pub(crate) fn object_of<T>(
    file: &str,
    question: &str,
    (verdict, engine, effort): (&Verdict<T>, &str, Effort<'_>),
    total: Duration,
) -> Value {
    let mut object = json!({
        "verdict": verdict.word(),
        "property": question,
        "engine": engine,
        "file": file,
        "version": env!("CARGO_PKG_VERSION"),
        "stats": match effort.symbolic {
            None => json!({
                "seconds": total.as_secs_f64(),
                "search_seconds": effort.stats.search.as_secs_f64(),
                "contexts": effort.stats.contexts,
                "states": effort.stats.states,
                "entries": effort.stats.entries,
                "summaries": effort.stats.summaries,
                "bytes": effort.stats.bytes,
            }),
            Some(stats) => json!({
                "seconds": total.as_secs_f64(),
                "images": stats.images,
                "nodes_reached": stats.nodes_reached,
                "variables": stats.variables,
                "peak_nodes": stats.peak_nodes,
                "rounds": stats.rounds,
                "reorderings": stats.reorderings,
                "bytes": stats.bytes,
            }),
        },
    });
    if let Verdict::Unknown(reason) = verdict {
        object["reason"] = reason.to_string().into();
    }
    object
}

/// `1 state`, `2,000 states`.
pub(crate) fn counted(number: u64, what: &str) -> String {
    format!(
        "{} {what}{}",
        count(number),
        if number == 1 { "" } else { "s" }
    )
}

/// A number with a comma between thousands.
pub(crate) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `20 ms`, `1.23 s`, `12 min 3 s`.
pub(crate) fn seconds(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    if seconds < 0.1 {
        format!("{} ms", (time.as_micros() + 500) / 1000)
    } else if seconds < 10.0 {
        format!("{seconds:.2} s")
    } else if seconds < 600.0 {
        format!("{seconds:.1} s")
    } else {
        format!("{} min {} s", time.as_secs() / 60, time.as_secs() % 60)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_readable() {
        assert_eq!(counted(1, "state"), "1 state");
        assert_eq!(counted(0, "state"), "0 states");
        assert_eq!(counted(1_234_567, "context"), "1,234,567 contexts");
        assert_eq!(seconds(Duration::from_micros(2600)), "3 ms");
        assert_eq!(seconds(Duration::from_millis(1234)), "1.23 s");
        assert_eq!(seconds(Duration::from_millis(12345)), "12.3 s");
        assert_eq!(seconds(Duration::from_secs(3671)), "61 min 11 s");
    }

    #[test]
    fn engines_without_contexts_do_not_speak_of_them() {
        let stats = Stats::default();
        for engine in ["bdd", "calculus"] {
            let effort = Effort {
                engine,
                stats: &stats,
                symbolic: None,
                raced: false,
                found: None,
            };
            let line = statistics(&effort, Duration::from_secs(2));
            let expected = format!("{engine}: stopped before the first step, 2.00 s");
            assert_eq!(line, expected);
        }
    }

    #[test]
    fn long_texts_are_cut_in_the_middle() {
        assert_eq!(cut("G p"), "G p");
        let long = "é".repeat(150) + &"ß".repeat(150);
        let short = cut(&long);
        assert_eq!(short.chars().count(), LONGEST + 3);
        assert!(short.starts_with("éé") && short.ends_with("ßß"));
    }
}
