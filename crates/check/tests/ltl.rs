//! Formulas of linear temporal logic: every engine against the naive oracle, on random programs and random
//! formulas, for each kind of runs; every violation is replayed on the way.
//!
//! The oracle builds the whole Büchi pushdown system from the syntax tree and shares nothing with the front end, the
//! translation of formulas or the engines. Formulas are also asked as monitors, which do not need the
//! translation.
//!
//! `SEED=n` runs one program alone; `PROGRAMS=n` sets how many. A failure is shrunk and printed with the command that
//! shows it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use droste_base::{Limits, Verdict};
use droste_check::{Engine, Evidence, Ltl, Options, Passes, Property, Runs, Violators, check};
use droste_lang::ast::Ast;
use droste_lang::lower::lower;
use droste_lang::parser::Dialect;
use droste_lang::printer::print;
use droste_ltl::{Atoms, Formulas, parse};
use droste_program::Program;
use droste_program::execution::Execution;
use droste_program::temporal::Formula as Meaning;
use droste_replay::Truth;
use droste_source::SourceFile;
use droste_testkit::generate::{self, Config};
use droste_testkit::ltl::{self, Formula, Shape};
use droste_testkit::oracle::{Oracle, Refusal};
use droste_testkit::sweep;

/// A formula as a monitor has at most this many edges, or is not asked.
const EDGES: usize = 300;

/// Which runs are asked about, as on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    All,
    FiniteStack,
    Both,
}

/// How to ask.
struct Way {
    /// For people.
    name: &'static str,
    options: Options<'static>,
    as_monitor: bool,
}

/// The ways that must agree. Those that users take see every pair; the others take turns.
fn ways(turn: u64) -> Vec<Way> {
    let way = |name, engine, passes| Way {
        name,
        options: Options {
            engine,
            passes,
            ..Options::default()
        },
        as_monitor: false,
    };
    let (some, none) = (Passes::default, Passes::none);
    let mut ways = vec![
        way("--engine explicit", Engine::Explicit, some()),
        way("--engine tableau", Engine::Tableau, some()),
        way("--engine bdd", Engine::Bdd, some()),
    ];
    let mut others = vec![
        way("--engine explicit, no passes", Engine::Explicit, none()),
        way("--engine tableau, no passes", Engine::Tableau, none()),
        way("--engine bdd, no passes", Engine::Bdd, none()),
        way("--engine explicit, eager", Engine::Explicit, some()),
        way("--engine auto, racing", Engine::Auto, some()),
        way("as a monitor", Engine::Explicit, some()),
        way("as a monitor, no passes", Engine::Explicit, none()),
        way("--engine explicit, no trace", Engine::Explicit, some()),
        way("--engine bdd, no trace", Engine::Bdd, some()),
    ];
    others[7].options.evidence = Evidence::Verdict;
    others[8].options.evidence = Evidence::Verdict;
    others[3].options.eager = true;
    // Random programs are small: without this, none of them would come to a race.
    others[4].options.trial = 3;
    others[5].as_monitor = true;
    others[6].as_monitor = true;
    // Every second pair.
    if turn.is_multiple_of(2) {
        let turn = turn as usize / 2 % others.len();
        ways.push(others.swap_remove(turn));
    }
    ways
}

/// What is wrong with an answer.
enum Problem {
    /// It is not the oracle's.
    Wrong(String),
    /// There is none.
    None(String),
}

/// The property, asked in this way; `None` if it cannot be.
fn property(
    program: &Program,
    formula: &Formula,
    way: &Way,
    turn: u64,
) -> Option<Result<Property, String>> {
    if way.as_monitor {
        let monitor = ltl::monitor(formula, EDGES)?;
        let monitor = droste_lang::properties::monitor(&monitor, program);
        return Some(match monitor {
            Ok(monitor) => Ok(Property::Monitor(monitor)),
            Err(diagnostics) => Err(format!("{diagnostics:?}")),
        });
    }
    let text = if turn.is_multiple_of(2) {
        formula.to_string()
    } else {
        format!("{formula:#}")
    };
    let source = SourceFile::new("formula", text);
    let (mut formulas, mut atoms) = (Formulas::new(), Atoms::new());
    let property = parse(&source, &mut formulas, &mut atoms).and_then(|formula| {
        let dialect = Dialect::Union;
        Ltl::new(program, &source, dialect, &formulas, &atoms, formula)
    });
    Some(match property {
        Ok(property) => Ok(Property::Ltl(Arc::new(property))),
        Err(diagnostics) => Err(format!("{diagnostics:?}")),
    })
}

/// Whether the formula is violated, as this way of asking says, and by which runs.
fn answer(
    program: &Program,
    property: &Property,
    way: &Way,
    runs: Kind,
) -> Result<(bool, Option<Violators>), String> {
    let options = Options {
        runs: match runs {
            Kind::All | Kind::Both => Runs::All,
            Kind::FiniteStack => Runs::FiniteStack,
        },
        tell_apart: runs == Kind::Both,
        ..way.options.clone()
    };
    match check(program, property, &options) {
        Err(fault) => Err(fault.to_string()),
        Ok(report) => match report.verdict {
            Verdict::Holds(_) => Ok((false, report.violators)),
            Verdict::Violated(_) => {
                if let (Property::Ltl(ltl), Some(execution)) = (property, report.execution()) {
                    nests(program, execution, &ltl.meaning);
                }
                Ok((true, report.violators))
            }
            Verdict::Unknown(reason) => Err(format!("unknown: {reason}")),
        },
    }
}

/// What is true inside of calls is what is true at the steps of callees, of which those who explain a violation speak.
fn nests(program: &Program, execution: &Execution, formula: &Meaning) {
    let mut guard = Limits::default().guard();
    let truth = Truth::new(program, execution, formula, &mut guard).expect("there is no limit");
    let truth = truth.expect("the run is infinite");
    let mut agenda = truth.moments();
    let mut seen = 0;
    while let Some(moment) = agenda.pop()
        && seen < 200
    {
        let Some(call) = moment.call() else { continue };
        seen += 1;
        let inside = truth.moments_of(call);
        for node in 0..formula.nodes.len() as u32 {
            for value in [false, true] {
                let mut all = inside.iter();
                let found = all.any(|moment| {
                    truth.at(moment, node) == value || truth.inside(moment, node, value)
                });
                assert_eq!(found, truth.inside(&moment, node, value));
            }
        }
        agenda.extend(inside);
    }
}

/// Whether that is what the oracle says of all runs and of those on a bounded stack.
fn is_right(
    (violated, violators): (bool, Option<Violators>),
    runs: Kind,
    [all, bounded]: [bool; 2],
) -> bool {
    let known = match violators {
        None => !violated,
        Some(Violators::Bounded) => bounded,
        Some(Violators::OnlyUnbounded) => all && !bounded,
        // Nothing is said about the others, which is too little if it was asked.
        Some(Violators::Unbounded) => all && runs == Kind::All,
    };
    let expected = if runs == Kind::FiniteStack {
        bounded
    } else {
        all
    };
    known && violated == expected
}

/// How many pairs were compared, and on how many the kinds of runs differ, and so on.
#[derive(Default)]
struct Tally {
    pairs: AtomicUsize,
    refused: AtomicUsize,
    holds: AtomicUsize,
    violated: AtomicUsize,
    differ: AtomicUsize,
    asked: AtomicUsize,
}

fn count(counter: &AtomicUsize, yes: bool) {
    counter.fetch_add(usize::from(yes), Ordering::Relaxed);
}

/// What is wrong in some way of asking, if anything.
fn mismatch(
    program: &Program,
    oracle: &Oracle<'_>,
    formula: &Formula,
    turn: u64,
    tally: Option<&Tally>,
) -> Option<Problem> {
    let expected = match oracle.ltl(formula) {
        Ok(expected) => expected,
        Err(refusal) => {
            if let Some(tally) = tally {
                assert_eq!(refusal, Refusal::TooLarge, "{formula}");
                count(&tally.refused, true);
            }
            return None;
        }
    };
    if let Some(tally) = tally {
        let [all, bounded] = expected;
        count(&tally.pairs, true);
        count(&tally.holds, !all);
        count(&tally.violated, all);
        count(&tally.differ, all != bounded);
    }
    for way in ways(turn) {
        let name = way.name;
        let property = match property(program, formula, &way, turn) {
            None => continue,
            Some(Ok(property)) => property,
            Some(Err(reason)) => return Some(Problem::None(format!("{name}: {reason}"))),
        };
        // Which runs violate it is found out in one place, for all engines: there, `all` and `both` take turns.
        let kinds: &[Kind] = match (way.options.engine, turn % 2) {
            (Engine::Explicit, _) => &[Kind::All, Kind::FiniteStack, Kind::Both],
            (_, 0) => &[Kind::FiniteStack, Kind::All],
            (_, _) => &[Kind::FiniteStack, Kind::Both],
        };
        for &runs in kinds {
            if let Some(tally) = tally {
                count(&tally.asked, true);
            }
            let found = answer(program, &property, &way, runs);
            let text = format!(
                "{name}, {runs:?} runs: all and bounded runs violate: {expected:?}, found {found:?}"
            );
            match found {
                Ok(found) if is_right(found, runs, expected) => {}
                Ok(_) => return Some(Problem::Wrong(text)),
                Err(_) => return Some(Problem::None(text)),
            }
        }
    }
    None
}

/// The same for any program and formula; those that the front end refuses have no problem.
fn problem(ast: &Ast, formula: &Formula, turn: u64) -> Option<Problem> {
    let program = lower(ast).0?;
    let oracle = Oracle::new(ast).ok()?;
    mismatch(&program, &oracle, formula, turn, None)
}

/// Makes the failure small and says how to see it.
fn explain(seed: u64, turn: u64, ast: &Ast, formula: &Formula, first: &Problem) -> String {
    let wrong = matches!(first, Problem::Wrong(_));
    let mut fails = |ast: &Ast, formula: &Formula| {
        problem(ast, formula, turn).is_some_and(|p| matches!(p, Problem::Wrong(_)) == wrong)
    };
    let (ast, formula) = ltl::shrink(ast, formula, &mut fails);
    let (Problem::Wrong(text) | Problem::None(text)) = first;
    let small = match problem(&ast, &formula, turn) {
        Some(Problem::Wrong(text) | Problem::None(text)) => text,
        None => String::new(),
    };
    format!(
        "SEED={seed}: {text}\nshrunk to ({small}):\n{}\n    droste check FILE --ltl '{formula}' --runs all|finite-stack|both",
        print(&ast)
    )
}

/// The program of a seed: mostly such with recursion that can run away.
fn program(seed: u64) -> Ast {
    let config = match seed % 8 {
        0 | 1 => Config::liveness(),
        2 => Config::tiny(),
        3 | 4 => Config::declaring(),
        _ => Config::runaway(),
    };
    generate::program(seed, &config)
}

/// Compares random programs and formulas, on all processors.
fn sweep(first: u64, programs: u64, formulas: u64) {
    let tally = Tally::default();
    sweep::seeds(first, programs, |seed| {
        let ast = program(seed);
        let Ok(oracle) = Oracle::new(&ast) else {
            return;
        };
        let lowered = lower(&ast).0.expect("random programs are accepted");
        for i in 0..formulas {
            let shape = if i % 2 == 0 {
                Shape::default()
            } else {
                Shape::without_next()
            };
            let turn = formulas * seed + i;
            let formula = ltl::formula(turn, &ast, &shape);
            let problem = mismatch(&lowered, &oracle, &formula, turn, Some(&tally));
            if let Some(problem) = problem {
                panic!("{}", explain(seed, turn, &ast, &formula, &problem));
            }
        }
    });
    let all = |counter: &AtomicUsize| counter.load(Ordering::Relaxed);
    let (pairs, refused) = (all(&tally.pairs), all(&tally.refused));
    let (holds, violated) = (all(&tally.holds), all(&tally.violated));
    let differ = all(&tally.differ);
    println!(
        "{pairs} pairs ({refused} too large): {holds} hold, {violated} violated, of these {differ} not on a bounded stack; {} questions",
        all(&tally.asked)
    );
    if sweep::number("SEED").is_none() {
        // The comparison is worth something only if all verdicts are frequent.
        assert!(4 * holds >= pairs && 4 * violated >= pairs);
        assert!(10 * differ >= violated);
        assert!(50 * refused <= pairs);
    }
}

#[test]
fn engines_agree_with_the_oracle() {
    sweep(0, 150, 4);
}

/// Declarations are no positions of a run, wherever they stand; but with a label they are.
#[test]
fn declarations_are_no_positions() {
    let cases: [(&str, &[(&str, bool)]); 4] = [
        (
            "void main() begin decl l; L0: skip; end",
            &[("L0", true), ("X L0", false), ("X terminated", false)],
        ),
        (
            "void main() begin decl l; f(); B: skip; end
             void f() begin decl a, b : u8; decl c; L: skip; end",
            &[("X L", true), ("X X X B", true), ("X X B", false)],
        ),
        (
            "void main() begin A: skip; decl x; decl y; B: y := F; decl y;
             while (T) do C: skip; decl x; od end",
            &[
                ("A & X B", true),
                ("X X (!C & !{main::y})", false),
                ("X X !C & X X X C & X X X X !C", true),
                ("F G {main::x}", false),
            ],
        ),
        (
            "void main() begin A: skip; L: decl x; B: skip; end",
            &[("A & X L & X X B", true), ("X B", false)],
        ),
    ];
    for (text, formulas) in cases {
        let source = SourceFile::new("program.bp", text);
        let ast = droste_lang::parser::parse(&source, Dialect::Union).ast;
        let program = lower(&ast).0.expect("a program");
        for (formula, holds) in formulas {
            let source = SourceFile::new("formula", *formula);
            let (mut formulas, mut atoms) = (Formulas::new(), Atoms::new());
            let parsed = parse(&source, &mut formulas, &mut atoms).expect("a formula");
            let dialect = Dialect::Union;
            let ltl = Ltl::new(&program, &source, dialect, &formulas, &atoms, parsed);
            let property = Property::Ltl(Arc::new(ltl.expect("a formula")));
            for way in (0..18).flat_map(ways).filter(|way| !way.as_monitor) {
                let found = answer(&program, &property, &way, Kind::All).expect("an answer");
                assert_eq!(found.0, !holds, "{text}: {formula}, {}", way.name);
            }
        }
    }
}

#[test]
#[ignore = "sweep; run in release"]
fn engines_agree_with_the_oracle_on_many_pairs() {
    sweep(1_000_000, 5_200, 4);
}
