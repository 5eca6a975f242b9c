//! Answers that are about no run: what a report says against what the oracle knows, on random
//! programs, and on programs whose answer is known.
//!
//! `SEED=n` runs one program alone; `PROGRAMS=n` sets how many. A failure is shrunk and printed.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use droste_check::{Engine, Ltl, Options, Property, Runs, StopKind, StopPlace, Vacuity, check};
use droste_lang::ast::Ast;
use droste_lang::lower::lower;
use droste_lang::parser::Dialect;
use droste_program::{NodeId, Program};
use droste_source::SourceFile;
use droste_testkit::generate::Config;
use droste_testkit::oracle::Oracle;
use droste_testkit::source::parse;
use droste_testkit::sweep;

/// The kinds of answers: some run was at stake, or why `holds` says little.
type Counts = [AtomicU64; 5];

/// Whether the property holds, and what is said then.
fn said(program: &Program, property: &Property, runs: Runs) -> (bool, Option<Vacuity>) {
    let options = Options {
        engine: Engine::Explicit,
        runs,
        // Also on a busy machine.
        vacuity: Duration::from_secs(10),
        ..Options::default()
    };
    let report = check(program, property, &options).expect("an answer");
    (report.verdict.holds(), report.vacuous)
}

fn kind(vacuity: Option<&Vacuity>) -> usize {
    match vacuity {
        None => 0,
        Some(Vacuity::NoRun { .. }) => 1,
        Some(Vacuity::NoBoundedRun) => 2,
        Some(Vacuity::NoAssertion) => 3,
        Some(Vacuity::NoValue(_)) => 4,
    }
}

fn mismatch(ast: &Ast, counts: &Counts) -> Option<String> {
    let (program, _) = lower(ast);
    let program = program?;
    let oracle = Oracle::new(ast).ok()?;
    let [all, bounded] = oracle.goes_on();
    let labels = oracle.labels().into_iter();
    let labels = labels.map(|(procedure, label)| format!("{procedure}:{label}"));
    let labels: Vec<String> = labels.collect();
    // Where an error label is asked about as well, that no run gets to an assertion is no news.
    let errors = labels.iter().any(|label| label.ends_with("ERROR"));
    let mut questions = vec![
        (Property::Default, Runs::All),
        (Property::Deadlock, Runs::All),
    ];
    if !labels.is_empty() {
        questions.push((Property::Reach(labels.clone()), Runs::All));
        questions.push((Property::Repeat(labels.clone()), Runs::All));
        questions.push((Property::Repeat(labels), Runs::FiniteStack));
    }
    for (property, runs) in questions {
        let (holds, found) = said(&program, &property, runs);
        if !holds {
            continue;
        }
        let [asserts, checked] = match property {
            Property::Default if !errors => oracle.assertions(),
            _ => [false, false],
        };
        let expected = match runs {
            // Runs may stop after they have been checked.
            _ if !all && !checked => 1,
            Runs::FiniteStack if !bounded => 2,
            _ if asserts && !checked => 3,
            _ if oracle.lacks_value() => 4,
            _ => 0,
        };
        if kind(found.as_ref()) != expected {
            return Some(format!(
                "{property}, {runs:?}: {found:?}, expected {expected}"
            ));
        }
        if let Some(Vacuity::NoRun { stops, .. }) = &found
            && stops.is_empty()
        {
            return Some(format!("{property}: nobody knows where runs stop"));
        }
        counts[expected].fetch_add(1, Ordering::Relaxed);
    }
    None
}

fn sweep(config: &Config, first: u64, programs: u64) {
    let counts = Counts::default();
    let programs = sweep::programs(config, first, programs, |ast, _| mismatch(ast, &counts));
    let counts = counts.map(AtomicU64::into_inner);
    assert!(
        sweep::number("SEED").is_some() || counts[..2].iter().all(|&count| count > programs / 50),
        "{counts:?}"
    );
}

#[test]
fn vacuous_answers_agree_with_the_oracle() {
    sweep(&Config::tiny(), 0, 300);
    sweep(&Config::runaway(), 0, 300);
}

#[test]
#[ignore = "sweep; run in release"]
fn vacuous_answers_agree_with_the_oracle_on_many_programs() {
    sweep(&Config::tiny(), 6_000_000, 5_000);
    sweep(&Config::runaway(), 7_000_000, 5_000);
}

/// What is said about a program after `holds`.
fn about(text: &str, question: &str) -> Option<Vacuity> {
    let (program, _) = lower(&parse(text));
    let program = program.expect("a program");
    let (runs, question) = match question.strip_prefix("bounded: ") {
        Some(question) => (Runs::FiniteStack, question),
        None => (Runs::All, question),
    };
    let property = match question.split_once(' ') {
        Some(("reach", label)) => Property::Reach(vec![label.to_owned()]),
        Some(("repeat", label)) => Property::Repeat(vec![label.to_owned()]),
        Some(("ltl", formula)) => {
            let source = SourceFile::new("<formula>", formula);
            let ltl = Ltl::parse(&program, &source, Dialect::Union);
            Property::Ltl(Arc::new(ltl.expect("a formula")))
        }
        _ => Property::Default,
    };
    let (holds, said) = said(&program, &property, runs);
    assert!(holds, "{text}");
    said
}

#[test]
fn it_is_said_for_threads_as_well() {
    let text = "decl g; void main() begin start_thread f(); assume(F); assert(g); end
                void f() begin g := T; end";
    assert_eq!(about(text, "default"), Some(Vacuity::NoAssertion));
    let text = "decl g; void main() begin start_thread f(); end
                void f() begin g := h(); end bool h() begin skip; end";
    assert_eq!(about(text, "default"), Some(Vacuity::NoValue(NodeId(7))));
    let text = "decl g; void main() begin start_thread f(); assume(!g); assert(!g | T); end
                void f() begin g := T; end";
    assert_eq!(about(text, "default"), None);
}

/// One place where all runs stop.
fn only(node: u32, how: StopKind) -> Vacuity {
    let node = NodeId(node);
    Vacuity::NoRun {
        stops: vec![StopPlace { node, how }],
        all: true,
    }
}

#[test]
fn it_is_said_that_no_run_was_at_stake() {
    let fails = "decl g; void main() begin g := F; assert(g); while (T) do skip; od end";
    assert_eq!(about(fails, "ltl G g"), Some(only(1, StopKind::Fails)));
    let stuck = "decl g; void main() begin g := F; assume(g); L: assert(g); end";
    for question in ["default", "reach L", "repeat L", "ltl F g"] {
        assert_eq!(
            about(stuck, question),
            Some(only(1, StopKind::Stuck)),
            "{question}"
        );
    }
    // The end of a procedure that should return a value, and a return that nobody takes.
    let falls = "decl g; void main() begin g := f(); L: skip; end bool f() begin skip; end";
    assert_eq!(about(falls, "reach L"), Some(only(4, StopKind::Stuck)));
    let refused = "decl g; void main() begin g := f() constrain ('g); L: skip; end
                   bool f() begin return F; end";
    let Some(Vacuity::NoRun { stops, .. }) = about(refused, "reach L") else {
        panic!("no run takes the return");
    };
    assert_eq!(stops[0].how, StopKind::Stuck);
    let down = "void main() begin L: main(); end";
    assert_eq!(
        about(down, "bounded: ltl F terminated"),
        Some(Vacuity::NoBoundedRun)
    );
    // Some runs fall off the end of a procedure.
    let some = "decl g; void main() begin g := f(); L: skip; end
                bool f() begin if (g) then return T; fi end";
    assert_eq!(about(some, "ltl F g"), Some(Vacuity::NoValue(NodeId(5))));
    let around = "decl g; void main() begin g := F; if (g) then assert(F); fi end";
    assert_eq!(about(around, "default"), Some(Vacuity::NoAssertion));
}

#[test]
fn nothing_is_said_where_a_run_was_at_stake() {
    // Some runs are stuck, others are not.
    let some = "decl g; void main() begin assume(g); L: assert(g); end";
    assert_eq!(about(some, "default"), None);
    assert_eq!(about(some, "ltl F terminated"), None);
    // They stop after they have been checked.
    let checked = "decl g; void main() begin g := T; assert(g); assume(F); end";
    assert_eq!(about(checked, "default"), None);
    let label = "void main() begin if (F) then L: skip; fi end";
    assert_eq!(about(label, "reach L"), None);
    // It ends, and so do runs that do not have to be infinite.
    let ends = "void main() begin if (F) then L: skip; fi end_thread; end";
    assert_eq!(about(ends, "reach L"), None);
    assert_eq!(about(ends, "repeat L"), Some(only(2, StopKind::Ends)));
}
