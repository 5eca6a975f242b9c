//! The question as a formula of the fixed-point calculus.
//!
//! The program becomes relations, an algorithm is a page of formulas over them (`droste-formula`), and `droste-calculus`
//! solves both together. A formula that is true says that there is a violation, not which: the run comes from the symbolic
//! engine, and that is a check of the formula, too.

use std::sync::mpsc;
use std::time::Instant;

use droste_base::progress::Units;
use droste_base::{Certificate, Progress, StopReason, Verdict};
use droste_calculus::{Action, Round, Solver, Statistics, Theory, Unanswered};
use droste_formula::Relations;
use droste_passes::Cleaned;
use droste_program::Program;
use droste_source::SourceFile;

use crate::explicit::Runs;
use crate::{
    Contexts, Fault, Found, Options, Property, Question, SymbolicStats, concurrent, symbolic,
};

/// The formulas that decide whether a target can be reached.
#[derive(Clone, Debug)]
pub enum Algorithm {
    /// One that comes with Droste.
    Named(droste_formula::Algorithm),
    /// Somebody's own: a text that ends in a query. `docs/FORMULAS.md` says what it may rely on.
    Own(SourceFile),
}

impl Default for Algorithm {
    fn default() -> Self {
        Algorithm::Named(droste_formula::Algorithm::Ef)
    }
}

impl Algorithm {
    fn source(&self) -> SourceFile {
        match self {
            Algorithm::Named(algorithm) => {
                SourceFile::new(format!("{algorithm}.mu"), algorithm.text())
            }
            Algorithm::Own(source) => source.clone(),
        }
    }
}

/// The complete input for the calculus: relations, algorithm, query. For a program with threads, with so many switches.
pub fn formula(
    program: &Program,
    property: &Property,
    contexts: Contexts,
    options: &Options<'_>,
) -> Result<String, Fault> {
    if program.is_concurrent() {
        return concurrent::formula(program, property, contexts, options);
    }
    let question = Question::without_limits(program, property)?;
    let (relations, _) = relations(program, &question, options)?
        .map_err(|reason| Fault::Refused(reason.to_string()))?;
    let algorithm = options.algorithm.source();
    Ok(format!("{}{}", relations.text, algorithm.text()))
}

/// The relations, and what the passes did.
type Written = (Relations, Vec<String>);

fn relations(
    program: &Program,
    question: &Question<'_>,
    options: &Options<'_>,
) -> Result<Result<Written, StopReason>, Fault> {
    let (targets, violations) = symbolic::targets(question).ok_or_else(|| {
        Fault::Refused(
            "the calculus engine answers questions about reachability (assertions, --reach); \
             use --engine auto, explicit or bdd for others"
                .to_owned(),
        )
    })?;
    let mut guard = options.limits.guard();
    let Cleaned {
        program,
        live,
        report,
    } = match symbolic::cleaned(program, targets, violations, options.passes, &mut guard) {
        Ok(cleaned) => cleaned,
        Err(reason) => return Ok(Err(reason)),
    };
    let question = droste_formula::Question {
        targets,
        violations,
        live: &live,
    };
    Ok(Ok((droste_formula::relations(&program, &question), report)))
}

/// The name under which the algorithm is loaded behind the relations.
const ALGORITHM: &str = "the algorithm";

/// Puts the algorithm behind the relations, so that mistakes are reported where they are.
fn load(relations: &str, algorithm: &SourceFile) -> Theory {
    let text = format!("{relations}\n#load \"{ALGORITHM}\";\n");
    let mut loader = |name: &str| {
        if name == ALGORITHM {
            return Ok(algorithm.clone());
        }
        let read = |file: &str| std::fs::read_to_string(file);
        let text = read(name).or_else(|error| read(&format!("{name}.mu")).map_err(|_| error));
        text.map(|text| SourceFile::new(name, text))
            .map_err(|error| format!("cannot read `{name}`: {error}"))
    };
    droste_calculus::load(SourceFile::new("<relations>", text), &mut loader)
}

/// Answers a question about reachability.
pub(crate) fn search(
    program: &Program,
    question: &Question<'_>,
    options: &Options<'_>,
) -> Result<Found, Fault> {
    let start = Instant::now();
    let (relations, notes) = match relations(program, question, options)? {
        Ok(written) => written,
        Err(reason) => return Ok(Found::stopped("calculus", reason)),
    };
    let algorithm = options.algorithm.source();
    let theory = load(&relations.text, &algorithm);
    if theory.has_errors() {
        let messages = theory.messages(false, false);
        return Err(match options.algorithm {
            Algorithm::Named(_) => Fault::Wrong(messages),
            Algorithm::Own(_) => Fault::Refused(format!(
                "`{}` is not an algorithm\n{}",
                algorithm.name(),
                messages.trim_end()
            )),
        });
    }
    let mut rest = options.clone();
    if let Some(timeout) = &mut rest.limits.timeout {
        *timeout = timeout.saturating_sub(start.elapsed());
    }
    let (answer, statistics) = solve(theory, relations.bits, &rest);
    let stats = answer_stats(&statistics);
    let found = |verdict| Found {
        verdict,
        violators: None,
        engine: "calculus",
        raced: false,
        stats: droste_explicit::Stats::default(),
        symbolic: Some(stats),
        notes: notes.clone(),
    };
    match answer {
        Ok(Some(false)) => Ok(found(Verdict::Holds(Certificate::default()))),
        Ok(Some(true)) => {
            let mut rest = options.clone();
            if let Some(timeout) = &mut rest.limits.timeout {
                *timeout = timeout.saturating_sub(start.elapsed());
            }
            let run = symbolic::search(program, question, &rest, Runs::All);
            let verdict = run.map(|run| run.verdict);
            match (verdict, &options.algorithm) {
                (Some(Verdict::Holds(_)), Algorithm::Own(source)) => Err(Fault::Refused(format!(
                    "the query in `{}` is true, but no run reaches a target: the algorithm is wrong",
                    source.name()
                ))),
                (Some(Verdict::Holds(_)) | None, _) => Err(Fault::Wrong(format!(
                    "the formula {} is true, but there is no run",
                    algorithm.name()
                ))),
                (Some(verdict), _) => Ok(found(verdict)),
            }
        }
        Ok(None) => Err(Fault::Refused(format!(
            "`{}` has no query: it must end in a formula that is true if a target can be reached",
            algorithm.name()
        ))),
        Err(Unanswered::Stopped(reason)) => Ok(found(Verdict::Unknown(reason))),
        Err(Unanswered::Oscillates { period, .. }) => Err(Fault::Refused(format!(
            "the formulas in `{}` are not monotone, and a value comes back every {period} rounds: they have no answer",
            algorithm.name()
        ))),
        Err(Unanswered::TooDeep) => Err(Fault::Refused(format!(
            "too many alternating fixpoints are nested in `{}`",
            algorithm.name()
        ))),
    }
}

/// The effort, in the symbolic engine's terms.
pub(crate) fn answer_stats(statistics: &Statistics) -> SymbolicStats {
    SymbolicStats {
        images: statistics.rounds,
        rounds: statistics.rounds,
        variables: statistics.variables.into(),
        peak_nodes: statistics.peak_nodes as u64,
        bytes: statistics.bytes as u64,
        ..SymbolicStats::default()
    }
}

type Answer = (Result<Option<bool>, Unanswered>, Statistics);

/// More BDD variables than an algorithm has for every bit of a state, by far.
const COPIES: usize = 64;

/// The answer of the last query, computed where there is stack enough for diagrams over the states' bits.
pub(crate) fn solve(theory: Theory, bits: u32, options: &Options<'_>) -> Answer {
    let (sender, receiver) = mpsc::channel::<Progress>();
    let limits = &options.limits;
    let stack = droste_bdd::stack_size(COPIES * (bits as usize + 64));
    std::thread::scope(|scope| {
        let work = move || {
            let mut queries = theory.actions().iter().filter_map(|action| match action {
                Action::Query(question) => Some(question.clone()),
                _ => None,
            });
            let last = queries.next_back();
            let report = Box::new(move |round: &Round<'_>| {
                // If nobody listens any more, nobody wants to know.
                let progress = Progress {
                    phase: "solving",
                    units: Units::Images,
                    contexts: round.round,
                    states: round.nodes as u64,
                    waiting: 0,
                };
                sender.send(progress).unwrap_or_default();
            });
            let mut solver = Solver::new(theory, limits, Some(report));
            let answer = last.map(|question| solver.decide(&question)).transpose();
            (answer, solver.statistics())
        };
        let worker = std::thread::Builder::new()
            .stack_size(stack)
            .spawn_scoped(scope, work)
            .expect("a thread can be started");
        for progress in receiver {
            if let Some(reporter) = options.reporter {
                reporter(progress);
            }
        }
        match worker.join() {
            Ok(answer) => answer,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}
