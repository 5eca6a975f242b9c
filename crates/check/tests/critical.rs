//! Critical labels: the run that touches the most, and of those a shortest one, against the naive
//! oracle, on random programs; and what is said about labels that are not touched.
//!
//! `SEED=n` runs one program alone; `PROGRAMS=n` sets how many. A failure is shrunk and printed.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use droste_base::Verdict;
use droste_check::{CriticalLabel, Engine, Fate, Options, Passes, Property, Report, check};
use droste_lang::ast::Ast;
use droste_lang::lower::lower;
use droste_program::Program;
use droste_testkit::generate::Config;
use droste_testkit::oracle::{Label, Oracle};
use droste_testkit::source::parse;
use droste_testkit::sweep;

fn configurations() -> Vec<(&'static str, Options<'static>)> {
    let with = |passes, eager| Options {
        passes,
        eager,
        ..Options::default()
    };
    vec![
        ("as it is used", Options::default()),
        ("no passes", with(Passes::none(), false)),
        ("eager", with(Passes::default(), true)),
    ]
}

/// What the report should say, by the sets that the oracle knows.
fn wrong(report: &Report, program: &Program, sets: &BTreeMap<usize, u64>) -> Option<String> {
    let most = sets.keys().map(|set| set.count_ones()).max();
    let Some(most) = most else {
        return (!matches!(report.verdict, Verdict::Holds(_))).then(|| "should hold".to_owned());
    };
    let best = sets.iter().filter(|(set, _)| set.count_ones() == most);
    let shortest = best.map(|(_, &length)| length).min();
    let Some(execution) = report.execution() else {
        return Some("no run".to_owned());
    };
    let length = execution.length(program);
    let touched = |label: &CriticalLabel| matches!(label.fate, Fate::Touched { .. });
    let bits = report.critical.iter().enumerate();
    let set = bits.fold(0, |set, (i, label)| set | usize::from(touched(label)) << i);
    if set.count_ones() != most || shortest != Some(length) || sets.get(&set) != Some(&length) {
        return Some(format!(
            "touches {set:b} in {length} steps, should be {most} labels in {shortest:?}"
        ));
    }
    for (i, label) in report.critical.iter().enumerate() {
        let possible = |with: usize| sets.keys().any(|set| set & with == with);
        let expected = match &label.fate {
            Fate::Touched { steps, .. } if *steps > length => return Some("too late".to_owned()),
            Fate::Touched { .. } => continue,
            _ if !possible(1 << i) => Fate::Impossible,
            _ => {
                let others = report.critical.iter().enumerate();
                let apart = others
                    .filter(|(other, label)| touched(label) && !possible(1 << i | 1 << other));
                Fate::Apart(apart.map(|(_, label)| label.name.clone()).collect())
            }
        };
        if label.fate != expected {
            return Some(format!("{label:?}: should be {expected:?}"));
        }
    }
    None
}

/// What is wrong, if anything.
fn mismatch(ast: &Ast, seed: u64, several: &AtomicU64) -> Option<String> {
    let (program, _) = lower(ast);
    let program = program?;
    let oracle = Oracle::new(ast).ok()?;
    let labels = oracle.labels().into_iter();
    let labels: Vec<String> = labels.map(|(at, label)| format!("{at}:{label}")).collect();
    // All labels but some, another one in each program.
    let few = labels
        .iter()
        .enumerate()
        .filter(|(i, _)| labels.len() <= 3 || !(*i as u64 + seed).is_multiple_of(3));
    let critical: Vec<String> = few.map(|(_, label)| label.clone()).take(8).collect();
    let meant: Vec<Label> = critical.iter().map(|label| Label::parse(label)).collect();
    for target in &labels {
        let Ok(sets) = oracle.critical(&Label::parse(target), &meant) else {
            continue;
        };
        several.fetch_add(u64::from(sets.len() > 1), Ordering::Relaxed);
        let property = Property::Critical {
            reach: vec![target.clone()],
            critical: critical.clone(),
        };
        for (name, options) in configurations() {
            let problem = match check(&program, &property, &options) {
                Err(fault) => Some(fault.to_string()),
                Ok(report) => wrong(&report, &program, &sets),
            };
            if let Some(problem) = problem {
                return Some(format!("to {target}, {critical:?} [{name}]: {problem}"));
            }
        }
    }
    None
}

fn sweep(first: u64, count: u64) {
    let several = AtomicU64::new(0);
    sweep::programs(&Config::tiny(), first, count, |ast, seed| {
        mismatch(ast, seed, &several)
    });
    let several = several.into_inner();
    assert!(
        sweep::number("SEED").is_some() || several > 0,
        "no program with a choice"
    );
    println!("{several} targets with several sets");
}

#[test]
fn the_best_run_is_the_oracles() {
    sweep(0, 200);
}

#[test]
#[ignore = "sweep; run in release"]
fn the_best_run_is_the_oracles_on_many_programs() {
    sweep(4_000_000, 6_000);
}

fn ask(text: &str, critical: &[&str], options: &Options<'_>) -> Result<Report, String> {
    let ast = parse(text);
    let program = lower(&ast).0.expect("a program");
    let property = Property::Critical {
        reach: vec!["L".to_owned()],
        critical: critical.iter().map(|&label| label.to_owned()).collect(),
    };
    check(&program, &property, options).map_err(|fault| fault.to_string())
}

/// Twenty labels in a row, each of which a run may pass by: there are a million sets, and few of
/// them are made. Twenty labels of which a run touches one: twenty sets.
#[test]
fn sets_with_gaps_are_not_made() {
    let names: Vec<String> = (0..20).map(|i| format!("C{i}")).collect();
    let critical: Vec<&str> = names.iter().map(String::as_str).collect();
    let row = critical.iter().fold(String::new(), |text, label| {
        text + &format!("if (*) then {label}: skip; fi; f(); ")
    });
    let row = format!("void main() begin {row} L: skip; end void f() begin skip; end");
    let one = critical.join(", ");
    let one = critical
        .iter()
        .fold(format!("void main() begin while (*) do goto {one};"), {
            |text, label| text + &format!("{label}: goto NEXT; ")
        });
    let one = format!("{one} NEXT: skip; assume(F); od L: skip; end");
    for (text, most, path_edges) in [(&row, 20, 2_000), (&one, 0, 2_000)] {
        let report = ask(text, &critical, &Options::default()).expect("an answer");
        let touched = report.critical.iter();
        let touched = touched.filter(|label| matches!(label.fate, Fate::Touched { .. }));
        assert_eq!(touched.count(), most, "{text}");
        let made = report.explicit_stats().path_edges;
        assert!(made < path_edges, "{made} path edges: {text}");
    }
}

#[test]
fn what_cannot_be_asked_is_refused() {
    let text = "void main() begin A: skip; L: skip; end";
    let found = ask(text, &["B"], &Options::default());
    assert!(found.is_err_and(|why| why.contains("there is no label `B`")));
    let options = Options {
        engine: Engine::Bdd,
        ..Options::default()
    };
    let found = ask(text, &["A"], &options);
    assert!(found.is_err_and(|why| why.contains("use --engine explicit")));
    let threads = "void main() begin start_thread f(); L: skip; end void f() begin A: skip; end";
    let found = ask(threads, &["A"], &Options::default());
    assert!(found.is_err_and(|why| why.contains("without threads")));
}
