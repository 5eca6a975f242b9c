//! Programs with threads: `--contexts`, `--rounds`, or more and more switches.

use std::fmt::Write as _;
use std::sync::atomic::Ordering;

use droste_base::{StopReason, Verdict};
use droste_check::{ConcurrentReport, Contexts, Levels, Property, check_concurrent};
use droste_program::concurrent::{ConcurrentExecution, ThreadAction};
use droste_program::execution::{Action, Ending};
use droste_report::{Style, concurrent_json};
use droste_source::SourceFile;

use crate::check::{Run, UNKNOWN_COLOR, exit_code};
use crate::console::{Console, Failure};
use crate::output::{self, Answer};
use crate::progress::ProgressLine;
use crate::verdict::{self, Subject, counted};

/// `3 switches`, `2 rounds`.
fn levels(levels: Levels, number: usize) -> String {
    match (levels, number) {
        (Levels::Switches, 1) => "1 switch".to_owned(),
        (Levels::Switches, n) => format!("{} switches", verdict::count(n as u64)),
        (Levels::Rounds, n) => counted(n as u64, "round"),
    }
}

impl Run<'_> {
    /// How many switches or rounds are looked at.
    pub(crate) fn contexts(&self) -> Contexts {
        let threads = &self.args.threads;
        match (threads.contexts, threads.rounds) {
            (Some(most), _) => Contexts::Switches(most),
            (None, Some(most)) => Contexts::Rounds(most),
            (None, None) => Contexts::Unbounded,
        }
    }

    /// Checks a program with threads and shows the answer.
    pub(crate) fn concurrent(
        &self,
        source: &SourceFile,
        subject: &Subject<'_>,
    ) -> Result<u8, Failure> {
        let args = self.args;
        for (given, flag) in [
            (args.search.order.is_some(), "--order"),
            (args.search.eager, "--eager"),
        ] {
            if given {
                self.warn(&format!("{flag} has no effect: the program has threads"));
            }
        }
        let contexts = self.contexts();
        self.watchdog.search_begins();
        let line = ProgressLine::new();
        let shows_progress = self.shows_progress();
        let reporter = |progress| {
            self.watchdog.note(progress);
            if shows_progress {
                line.show(progress);
            }
        };
        let options = self.options(&reporter)?;
        let progress = |kind: Levels, level: usize| {
            let what = levels(kind, level);
            self.say(|| format!("searching: {what}"));
            line.label(format!(", {what}"));
        };
        let report = check_concurrent(
            subject.program,
            subject.property,
            contexts,
            &options,
            Some(&progress),
        );
        line.erase();
        let mut report = report.map_err(|fault| Failure::Because(fault.to_string()))?;
        if let (Verdict::Unknown(StopReason::Time(limit)), Some(given)) =
            (&mut report.verdict, args.limits.timeout)
        {
            *limit = given;
        }
        let found = matches!(report.verdict, Verdict::Violated(_));
        self.found.store(found, Ordering::Relaxed);
        self.show_concurrent(source, subject, &report)
    }

    fn show_concurrent(
        &self,
        source: &SourceFile,
        subject: &Subject<'_>,
        report: &ConcurrentReport,
    ) -> Result<u8, Failure> {
        let flags = &self.args.output;
        let total = self.start.elapsed();
        let execution = report.verdict.witness().filter(|_| !flags.no_trace);
        let effort = verdict::Effort {
            engine: report.engine,
            stats: &report.stats,
            symbolic: report.symbolic.as_ref(),
            raced: report.raced,
            found: None,
        };
        let text = |execution: &ConcurrentExecution, color: bool, width: usize| {
            let style = Style {
                color,
                max_steps: flags.max_steps,
                width,
            };
            droste_report::concurrent_text(subject.program, source, execution, &style)
        };
        if flags.json {
            let answer = (&report.verdict, report.engine, effort);
            let question = subject.question();
            let mut object = verdict::object_of(source.name(), &question, answer, total);
            let key = match report.levels {
                Levels::Switches => "context_switches",
                Levels::Rounds => "thread_rounds",
            };
            object["stats"][key] = report.level.into();
            object["exhaustive"] = report.exhaustive.into();
            let answer = Answer {
                fields: object,
                trace: execution.map(|run| concurrent_json(subject.program, source, run)),
            };
            self.watchdog.claim();
            output::print(&answer)?;
        } else if !flags.quiet {
            let color = match report.verdict {
                Verdict::Holds(_) => "1;32",
                Verdict::Violated(_) => "1;31",
                Verdict::Unknown(_) => UNKNOWN_COLOR,
            };
            let word = self.console.paint(color, report.verdict.word());
            let mut page = format!("{word}: {}\n", sentence(subject, report));
            if let Some(execution) = execution {
                page.push('\n');
                page += &text(execution, self.console.out_color(), Console::width());
                page.push('\n');
            }
            let statistics = verdict::statistics(&effort, total);
            page += &self.console.paint("2", &statistics);
            page.push('\n');
            self.watchdog.claim();
            Console::print(&page)?;
        }
        self.watchdog.claim();
        if let Some(execution) = execution {
            let text = |color, width| text(execution, color, width);
            let json = || concurrent_json(subject.program, source, execution);
            self.write_trace(&text, json)?;
        }
        Ok(exit_code(&report.verdict))
    }
}

/// The sentence after the verdict.
fn sentence(subject: &Subject<'_>, report: &ConcurrentReport) -> String {
    let count = |level: usize| levels(report.levels, level);
    match &report.verdict {
        Verdict::Holds(_) => {
            let what = match subject.property {
                Property::Default => subject.all_is_well(),
                Property::Reach(labels) => format!("no run reaches {}", labels.join(" or ")),
                _ => "no run violates the property".to_owned(),
            };
            match (report.exhaustive, report.level) {
                (false, Some(level)) => format!("{what} within {}", count(level)),
                _ => format!(
                    "{what}, however often the active thread changes\n\
                     More switches lead to no new combination of shared values and stacks."
                ),
            }
        }
        Verdict::Violated(execution) => {
            let level = report.level.map(count).unwrap_or_default();
            match failure(execution) {
                Some(failure) => format!("{failure} in a run with {level}"),
                None => format!("a run with {level} reaches {}", reached(subject, execution)),
            }
        }
        Verdict::Unknown(reason) => {
            let mut text = verdict::undecided(reason, &verdict::known(&subject.question()));
            if let Some(level) = report.level {
                let count = count(level);
                let _ = write!(text, "\nUp to {count}, no run violates the property.");
            }
            text
        }
    }
}

fn failure(execution: &ConcurrentExecution) -> Option<&'static str> {
    let last = execution.contexts.last()?.steps.last()?;
    match (&last.action, execution.ending) {
        (ThreadAction::Step(Action::Fail(violation)), Ending::Final) => {
            Some(verdict::failure(*violation))
        }
        _ => None,
    }
}

fn reached(subject: &Subject<'_>, execution: &ConcurrentExecution) -> String {
    let labels = match subject.property {
        Property::Reach(labels) => labels.clone(),
        _ => droste_check::ERROR_LABELS.map(str::to_owned).to_vec(),
    };
    let label = match execution.ending {
        Ending::At(node) => subject.asked(&labels, node),
        _ => None,
    };
    label.map_or_else(|| labels.join(" or "), str::to_owned)
}
