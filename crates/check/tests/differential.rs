//! Every configuration of the explicit engine against the naive oracle, on random programs, in both
//! directions and for every label; every violation is replayed on the way.
//!
//! `SEED=n` runs one program alone; `PROGRAMS=n` sets how many; `ALL=1` runs every configuration on every program, instead of
//! letting those that are not the usual one take turns. A failure is shrunk and printed.

use droste_base::Verdict;
use droste_check::{Engine, Options, Order, Passes, Property, Runs, check};
use droste_lang::ast::Ast;
use droste_lang::lower::lower;
use droste_lang::parser::{Dialect, parse};
use droste_program::Program;
use droste_source::SourceFile;
use droste_testkit::generate::{self, Config};
use droste_testkit::oracle::{Label, Oracle};
use droste_testkit::sweep;

/// Verdict of one configuration: `Ok(violated)` or what went wrong.
fn violated(program: &Program, property: &Property, options: &Options<'_>) -> Result<bool, String> {
    match check(program, property, options) {
        Err(fault) => Err(fault.to_string()),
        Ok(report) => match report.verdict {
            Verdict::Holds(_) => Ok(false),
            Verdict::Violated(_) => Ok(true),
            Verdict::Unknown(reason) => Err(format!("unknown: {reason}")),
        },
    }
}

/// The configurations that must agree.
fn configurations() -> Vec<(&'static str, Options<'static>)> {
    let base = || Options {
        engine: Engine::Explicit,
        ..Options::default()
    };
    let one = |passes: Passes| Options { passes, ..base() };
    let none = Passes::none;
    vec![
        ("dfs", base()),
        (
            "dfs, as found",
            Options {
                shorten: false,
                ..base()
            },
        ),
        (
            "bfs",
            Options {
                order: Order::Bfs,
                ..base()
            },
        ),
        (
            "auto, racing",
            Options {
                engine: Engine::Auto,
                trial: 3,
                ..base()
            },
        ),
        ("dfs, no passes", one(none())),
        (
            "dfs, eager, no passes",
            Options {
                eager: true,
                passes: none(),
                ..base()
            },
        ),
        (
            "dfs, eager",
            Options {
                eager: true,
                ..base()
            },
        ),
        (
            "dfs, constants only",
            one(Passes {
                constants: true,
                ..none()
            }),
        ),
        (
            "dfs, dead only",
            one(Passes {
                dead: true,
                ..none()
            }),
        ),
        (
            "dfs, slice only",
            one(Passes {
                slice: true,
                ..none()
            }),
        ),
    ]
}

/// A question, with the answer that the oracle gives to it for each kind of runs; reachability
/// asks nothing about infinite runs and has one answer.
type Question = (String, Property, Vec<(Runs, bool)>);

/// Labels with their procedures, as on the command line.
fn labels(oracle: &Oracle<'_>) -> impl Iterator<Item = String> {
    let labels = oracle.labels().into_iter();
    labels.map(|(procedure, label)| format!("{procedure}:{label}"))
}

/// The default property, and every label.
fn reachability(_: &Ast, _: &Program, oracle: &Oracle<'_>) -> Vec<Question> {
    let errors = ["ERROR", "SLIC_ERROR"].map(Label::parse);
    let expected = !oracle.violations().is_empty() || oracle.reachable(&errors);
    let mut questions = vec![(Property::Default, expected)];
    questions.extend(labels(oracle).map(|label| {
        let expected = oracle.reachable(&[Label::parse(&label)]);
        (Property::Reach(vec![label]), expected)
    }));
    let question = |(property, expected): (Property, bool)| {
        (property.to_string(), property, vec![(Runs::All, expected)])
    };
    questions.into_iter().map(question).collect()
}

/// The answers to a question about infinite runs.
fn both([all, bounded]: [bool; 2]) -> Vec<(Runs, bool)> {
    vec![(Runs::All, all), (Runs::FiniteStack, bounded)]
}

/// Every label, infinitely often.
fn liveness(_: &Ast, _: &Program, oracle: &Oracle<'_>) -> Vec<Question> {
    let question = |label: String| {
        let answers = both(oracle.repeatable(&[Label::parse(&label)]));
        let property = Property::Repeat(vec![label]);
        (property.to_string(), property, answers)
    };
    labels(oracle).map(question).collect()
}

/// Two monitors of each kind for each program.
fn monitors(ast: &Ast, program: &Program, oracle: &Oracle<'_>) -> Vec<Question> {
    let mut questions = Vec::new();
    for (seed, repeating) in [(1, false), (2, false), (3, true), (4, true)] {
        let name = format!("monitor {seed}");
        let syntax = generate::monitor(seed, ast, repeating);
        let monitor = droste_lang::properties::monitor(&syntax, program);
        let monitor = monitor.unwrap_or_else(|_| panic!("{name} is refused"));
        // What is too large for the oracle is no question.
        if let Ok(answers) = oracle.monitor(&syntax) {
            questions.push((name, Property::Monitor(monitor), both(answers)));
        }
    }
    questions
}

/// What is wrong in some configuration with the answer to some question, if anything.
fn mismatch(
    ast: &Ast,
    turn: Option<u64>,
    questions: impl Fn(&Ast, &Program, &Oracle<'_>) -> Vec<Question>,
) -> Option<String> {
    let (program, _) = lower(ast);
    let program = program?;
    let oracle = Oracle::new(ast).ok()?;
    let mut configurations = configurations();
    if let Some(turn) = turn {
        // What users get sees everything; of the others, each sees every eighth program.
        let mut index = turn;
        configurations.retain(|(name, _)| {
            index += 1;
            *name == "dfs" || index.is_multiple_of(8)
        });
    }
    for (question, property, answers) in questions(ast, &program, &oracle) {
        // Breadth-first search is one of reachability only.
        let repeating = answers.len() > 1 && !matches!(property, Property::Monitor(_));
        for (runs, expected) in answers {
            for (name, options) in &configurations {
                if repeating && options.order == Order::Bfs {
                    continue;
                }
                let options = Options {
                    runs,
                    ..options.clone()
                };
                let found = violated(&program, &property, &options);
                if found != Ok(expected) {
                    return Some(format!(
                        "{question} [{name}, {runs:?}]: expected {expected}, found {found:?}"
                    ));
                }
            }
        }
    }
    None
}

/// Asks the questions of random programs, in configurations that take turns, or in all of them.
fn sweep(
    config: &Config,
    first: u64,
    programs: u64,
    questions: impl Fn(&Ast, &Program, &Oracle<'_>) -> Vec<Question> + Sync,
) {
    let all = sweep::number("ALL") == Some(1);
    sweep::programs(config, first, programs, |ast, seed| {
        mismatch(ast, (!all).then_some(seed), &questions)
    });
}

/// Two calls go on at the same node. One has to be looked at after its return, because its
/// result is enforced; the other, whose result nobody needs, leaves an old value there.
#[test]
fn what_is_kept_after_one_call_is_not_kept_after_another() {
    let text = "void main() begin
        decl g0;
        if * then while T do main(); od;
        elsif F then enforce(g0); g0 := f2();
        elsif T then
            if T then enforce(g0); L9: g0 := f1(); fi;
            g0 := f2();
        fi;
    end
    bool f1() begin return T; end
    bool f2() begin return F; end";
    let source = SourceFile::new("kept", text);
    let parsed = parse(&source, Dialect::Union);
    assert!(!parsed.has_errors());
    assert_eq!(mismatch(&parsed.ast, None, liveness), None);
}

#[test]
fn reachability_agrees_with_the_oracle() {
    sweep(&Config::tiny(), 0, 300, reachability);
}

#[test]
fn liveness_agrees_with_the_oracle() {
    sweep(&Config::liveness(), 0, 200, liveness);
    sweep(&Config::declaring(), 500_000, 100, liveness);
}

#[test]
fn monitors_agree_with_the_oracle() {
    sweep(&Config::liveness(), 0, 150, monitors);
    sweep(&Config::declaring(), 500_000, 100, monitors);
}

#[test]
#[ignore = "sweep; run in release"]
fn reachability_agrees_with_the_oracle_on_many_programs() {
    sweep(&Config::tiny(), 1_000_000, 12_000, reachability);
}

#[test]
#[ignore = "sweep; run in release"]
fn liveness_agrees_with_the_oracle_on_many_programs() {
    sweep(&Config::liveness(), 2_000_000, 12_000, liveness);
}

#[test]
#[ignore = "sweep; run in release"]
fn monitors_agree_with_the_oracle_on_many_programs() {
    sweep(&Config::liveness(), 3_000_000, 2_000, monitors);
    sweep(&Config::declaring(), 3_500_000, 2_000, monitors);
}
