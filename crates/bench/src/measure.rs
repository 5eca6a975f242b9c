//! One run: from the text to the verdict, with time and memory.

use std::fmt::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};

use droste_base::{Deadline, Limits, Verdict};
use droste_check::{
    Bound, Effort, Evidence, Ltl, Options, Order, Passes, Property, Report, Runs, Weighing, check,
};
use droste_lang::lexer::Dialect;
use droste_lang::lower::lower;
use droste_lang::{parser, properties};
use droste_program::Program;
use droste_program::monitor::Monitor;
use droste_source::SourceFile;
use droste_source::diagnostics::render;

use crate::{Ask, Setup};

/// What one run took. Passed from the child process to its parent as one line.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measurement {
    /// `holds`, `violated`, `unknown (…)`, or what went wrong.
    pub verdict: String,
    /// From the text to the verdict. If the run of a violation is written down, that and its replay
    /// are included.
    pub seconds: f64,
    /// The explicit search alone, without the trace.
    pub search: f64,
    /// Processor time of the process, which has one thread.
    pub cpu: f64,
    /// Path edges found.
    pub path_edges: u64,
    /// States found.
    pub states: u64,
    /// Images computed by the symbolic engine, or rounds of the solver of formulas.
    pub images: u64,
    /// Most nodes that decision diagrams had at any time, garbage included.
    pub nodes: u64,
    /// Steps of the trace as it is stored, calls folded.
    pub trace: u64,
    /// Resident memory before the check, in kB.
    pub before_kb: u64,
    /// Largest resident memory, in kB.
    pub peak_kb: u64,
}

impl Measurement {
    /// The line a child prints.
    pub fn to_line(&self) -> String {
        let Measurement {
            verdict,
            seconds,
            search,
            cpu,
            path_edges,
            states,
            images,
            nodes,
            trace,
            before_kb,
            peak_kb,
        } = self;
        format!(
            "{verdict}\t{seconds}\t{search}\t{cpu}\t{path_edges}\t{states}\t{images}\t{nodes}\t{trace}\t{before_kb}\t{peak_kb}"
        )
    }

    /// Reads such a line.
    pub fn from_line(line: &str) -> Option<Self> {
        let mut fields = line.trim_end().split('\t');
        let verdict = fields.next()?.to_owned();
        let seconds = fields.next()?.parse().ok()?;
        let search = fields.next()?.parse().ok()?;
        let cpu = fields.next()?.parse().ok()?;
        let mut number = || fields.next()?.parse().ok();
        Some(Measurement {
            verdict,
            seconds,
            search,
            cpu,
            path_edges: number()?,
            states: number()?,
            images: number()?,
            nodes: number()?,
            trace: number()?,
            before_kb: number()?,
            peak_kb: number()?,
        })
    }

    /// Memory per path edge, if there are enough of them for that to mean anything.
    pub fn bytes_per_context(&self) -> Option<f64> {
        let used = self.peak_kb.saturating_sub(self.before_kb) * 1024;
        (self.path_edges >= ENOUGH).then(|| used as f64 / self.path_edges as f64)
    }

    /// Path edges per second of processor time, if there are enough of them for that to mean
    /// anything.
    pub fn path_edges_per_second(&self) -> Option<f64> {
        (self.path_edges >= ENOUGH).then(|| self.path_edges as f64 / self.cpu.max(0.01))
    }
}

/// From this number of path edges on, averages per path edge are printed.
const ENOUGH: u64 = 100_000;

/// Limits of one run.
#[derive(Clone, Copy, Debug)]
pub struct Cap {
    /// Time.
    pub seconds: u64,
    /// Resident memory.
    pub megabytes: u64,
}

impl Cap {
    /// What every run gets.
    pub const DEFAULT: Cap = Cap {
        seconds: 60,
        megabytes: 8_000,
    };
}

/// The program with this text, or what the front end says about it.
pub fn load(text: &str) -> Result<Program, String> {
    let source = SourceFile::new("<bench>", text);
    let parsed = parser::parse(&source, Dialect::Union);
    if parsed.has_errors() {
        return Err(render(&parsed.diagnostics, &source, false));
    }
    let (program, diagnostics) = lower(&parsed.ast);
    program.ok_or_else(|| render(&diagnostics, &source, false))
}

fn load_monitor(text: &str, program: &Program) -> Result<Monitor, String> {
    let source = SourceFile::new("<monitor>", text);
    let (syntax, diagnostics) = parser::parse_monitor(&source, Dialect::Union);
    let syntax = syntax.ok_or_else(|| render(&diagnostics, &source, false))?;
    properties::monitor(&syntax, program).map_err(|d| render(&d, &source, false))
}

fn load_formula(text: &str, program: &Program) -> Result<Arc<Ltl>, String> {
    let source = SourceFile::new("<formula>", text);
    let ltl = Ltl::parse(program, &source, Dialect::Union);
    ltl.map(Arc::new).map_err(|d| render(&d, &source, false))
}

fn options(setup: Setup, cap: Option<Cap>) -> Options<'static> {
    Options {
        engine: setup.engine,
        weighing: Weighing {
            method: setup.method,
            ..Weighing::default()
        },
        order: if setup.bfs { Order::Bfs } else { Order::Dfs },
        passes: if setup.passes {
            Passes::default()
        } else {
            Passes::none()
        },
        eager: setup.eager,
        evidence: if setup.trace {
            Evidence::Replayed
        } else {
            Evidence::Verdict
        },
        limits: Limits {
            deadline: cap.map(|cap| Deadline::after(Duration::from_secs(cap.seconds))),
            memory: cap.map(|cap| cap.megabytes * 1_000_000),
            ..Limits::default()
        },
        shorten: false,
        ..Options::default()
    }
}

fn ask(program: &Program, ask: &Ask, setup: Setup, cap: Option<Cap>) -> Result<Report, String> {
    let property = match ask {
        Ask::Default | Ask::Switches(_) | Ask::Rounds(_) => Property::Default,
        Ask::Reach(label) => Property::Reach(vec![(*label).to_owned()]),
        Ask::Repeat(label) => Property::Repeat(vec![(*label).to_owned()]),
        Ask::Monitor(text) => Property::Monitor(load_monitor(text, program)?),
        Ask::Ltl(text) | Ask::FiniteStack(text) => Property::Ltl(load_formula(text, program)?),
    };
    let mut options = options(setup, cap);
    match ask {
        Ask::FiniteStack(_) => options.runs = Runs::FiniteStack,
        Ask::Switches(most) => options.bound = Some(Bound::Switches(*most)),
        Ask::Rounds(most) => options.bound = Some(Bound::Rounds(*most)),
        _ => {}
    }
    check(program, &property, &options).map_err(|fault| fault.to_string())
}

/// Loads and checks, within limits.
pub fn limited(text: &str, question: &Ask, setup: Setup, cap: Cap) -> Result<Report, String> {
    ask(&load(text)?, question, setup, Some(cap))
}

/// Loads and checks, without limits.
pub fn answer(text: &str, question: &Ask, setup: Setup) -> Result<Report, String> {
    ask(&load(text)?, question, setup, None)
}

/// The verdict in the usual setup, or what went wrong.
pub fn verdict(text: &str, question: &Ask) -> String {
    match answer(text, question, Setup::default()) {
        Ok(report) => report.verdict.word().to_owned(),
        Err(problem) => problem,
    }
}

/// The verdict's word, and the reason if there is none.
fn word<T>(verdict: &Verdict<T>) -> String {
    let mut text = verdict.word().to_owned();
    if let Verdict::Unknown(reason) = verdict {
        // Writing to a string cannot fail.
        let _ = write!(text, " ({reason})");
    }
    text
}

/// Steps of the run of a violation in memory; none with threads.
fn trace_length(report: &Report) -> u64 {
    let Some(execution) = report.execution() else {
        return 0;
    };
    let folded = execution.runs.iter().map(|run| run.steps.len());
    (execution.steps.len() + folded.sum::<usize>()) as u64
}

/// Loads, checks and measures, in this process.
pub fn measure(text: &str, question: &Ask, setup: Setup, cap: Cap) -> Measurement {
    let start = Instant::now();
    let program = load(text);
    let before_kb = status_kb("VmRSS:");
    let answer = program.and_then(|program| ask(&program, question, setup, Some(cap)));
    let seconds = start.elapsed().as_secs_f64();
    let mut result = Measurement {
        seconds,
        before_kb,
        ..Measurement::default()
    };
    match answer {
        Err(problem) => {
            result.verdict = format!("error: {}", problem.replace(['\n', '\t'], " "));
        }
        Ok(report) => {
            result.verdict = word(&report.verdict);
            result.trace = trace_length(&report);
            if let Some(
                Effort::Symbolic(stats) | Effort::Calculus(stats) | Effort::Weighted(stats),
            ) = report.effort
            {
                result.images = stats.images;
                result.nodes = stats.peak_nodes;
            } else {
                let stats = report.explicit_stats();
                result.path_edges = stats.path_edges;
                result.states = stats.states;
                result.search = stats.search.as_secs_f64();
            }
        }
    }
    result.cpu = cpu_seconds();
    result.peak_kb = peak_kb();
    result
}

/// The largest resident memory of this process so far, in kB.
pub fn peak_kb() -> u64 {
    status_kb("VmHWM:")
}

/// Processor time of this process from `/proc/self/stat`, 0 where there is no such thing.
pub fn cpu_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The name of the program, in parentheses, may contain spaces; what follows is fields 3 on.
    let fields = text
        .rsplit(')')
        .next()
        .unwrap_or_default()
        .split_ascii_whitespace();
    // Fields 14 and 15, user and system time, in hundredths of a second.
    let ticks = fields
        .skip(11)
        .take(2)
        .filter_map(|field| field.parse::<f64>().ok());
    ticks.sum::<f64>() / 100.0
}

/// A line of `/proc/self/status` in kB, 0 where there is no such thing.
fn status_kb(key: &str) -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let value = text.lines().find_map(|line| line.strip_prefix(key));
    value
        .and_then(|v| v.split_ascii_whitespace().next()?.parse().ok())
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_read_back() {
        let m = Measurement {
            verdict: "holds".to_owned(),
            seconds: 0.5,
            search: 0.125,
            cpu: 0.25,
            path_edges: 1 << 20,
            states: 7,
            images: 11,
            nodes: 13,
            trace: 3,
            before_kb: 1000,
            peak_kb: 33_000,
        };
        assert_eq!(Measurement::from_line(&m.to_line()), Some(m.clone()));
        assert_eq!(m.path_edges_per_second(), Some(4_194_304.0));
        assert_eq!(m.bytes_per_context(), Some(31.25));
    }

    #[test]
    fn a_bad_program_is_an_error_not_a_panic() {
        let cap = Cap::DEFAULT;
        let m = measure(
            "void main() begin x := 1; end",
            &Ask::Default,
            Setup::default(),
            cap,
        );
        assert!(m.verdict.starts_with("error: "), "{}", m.verdict);
    }
}
