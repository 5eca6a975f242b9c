//! Table A.1 of Chau's thesis (*Comparing Hierarchical and On-The-Fly Model Checking for Java Pointer
//! Programs*, RWTH Aachen, 2019): our programs for its methods, in each of the three modes and in the
//! default one. `examples/heap/table.tsv` has the verdicts.
//!
//! The programs are compiled once.

mod javac;

use std::path::{Path, PathBuf};
use std::time::Duration;

use droste_base::Limits;
use droste_ltl::ResolvedFormula;
use droste_shape::check::{Answer, Checking, MEMORY_SAFETY, Report, check};
use droste_shape::load::load;
use droste_shape::proposition::{Proposition, parse};
use droste_shape::settings::{Mode, Settings};
use droste_shape::task::Task;
use droste_source::SourceFile;
use javac::has_javac;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/heap")
}

/// Compiles the programs into a folder of their own.
fn classes(name: &str) -> PathBuf {
    let out = std::env::temp_dir().join(format!("droste-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&out).unwrap();
    let sources = std::fs::read_dir(folder().join("code")).unwrap();
    let sources = sources.map(|entry| entry.unwrap().path());
    let sources: Vec<PathBuf> = sources
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "java")
        })
        .collect();
    let done = std::process::Command::new("javac")
        .args(["-g", "-d"])
        .arg(&out)
        .args(&sources)
        .status();
    assert!(done.is_ok_and(|status| status.success()), "javac");
    out
}

/// The answer to the formula of a settings file.
fn answer(file: &str, mode: Mode, classes: &Path) -> Result<(String, u64, u64), String> {
    let reports = reports(&folder().join("table").join(file), mode, true, classes)?;
    let report = reports
        .iter()
        .find(|report| report.property != MEMORY_SAFETY);
    let report = report.ok_or("no formula")?;
    Ok((word(report), report.counts.main, report.counts.total))
}

fn word(report: &Report) -> String {
    match &report.answer {
        Answer::Unknown(unknown, _) => format!("unknown ({unknown:?})"),
        answer => answer.word().to_owned(),
    }
}

/// All answers to a settings file.
fn reports(path: &Path, mode: Mode, compat: bool, classes: &Path) -> Result<Vec<Report>, String> {
    reports_to(path, mode, compat, classes, |_, _| ())
}

/// The same, after the task has been changed.
fn reports_to(
    path: &Path,
    mode: Mode,
    compat: bool,
    classes: &Path,
    change: impl Fn(&mut Task, &mut Vec<ResolvedFormula<Proposition>>),
) -> Result<Vec<Report>, String> {
    let file = path.display().to_string();
    let source = SourceFile::new(file, &*std::fs::read_to_string(path).unwrap());
    let (mut settings, _) = Settings::parse(&source).map_err(|problems| format!("{problems:?}"))?;
    settings.classpath = None;
    let loaded = load(&settings, &folder(), &[classes.to_path_buf()], compat);
    let mut task = loaded.map_err(|error| error.to_string())?.task;
    let names = task.names();
    let mut formulas = Vec::new();
    for text in &settings.formulas {
        formulas.push(parse(text, &names).map_err(|(problems, _)| format!("{problems:?}"))?);
    }
    task.simplify(&formulas);
    change(&mut task, &mut formulas);
    if settings.mode.is_some_and(|own| own != mode) {
        return Ok(Vec::new());
    }
    let checking = Checking {
        mode,
        limits: Limits::within(Duration::from_secs(60)),
        reporter: None,
        max_steps: 100,
        concrete: false,
        contracts: false,
        skip: &[],
    };
    let checked = check(&mut task, &formulas, &checking).map_err(|error| error.to_string())?;
    Ok(checked.reports)
}

#[test]
fn the_verdicts_of_the_table() {
    if !has_javac() {
        return;
    }
    let classes = classes("table");
    let table = std::fs::read_to_string(folder().join("table.tsv")).unwrap();
    let only = std::env::var("ROW").ok();
    let mut wrong = Vec::new();
    for line in table.lines().skip(1) {
        let columns: Vec<&str> = line.split('\t').collect();
        let [file, _, top, fly, rsm, _] = columns[..] else {
            panic!("{line}");
        };
        if only.as_ref().is_some_and(|only| !file.starts_with(&**only)) {
            continue;
        }
        for (mode, expected) in [
            (Mode::TopLevel, top),
            (Mode::OnTheFly, fly),
            (Mode::Rsm, rsm),
            (Mode::Shared, fly),
        ] {
            let start = std::time::Instant::now();
            let said = answer(file, mode, &classes);
            let time = start.elapsed();
            if only.is_some() || std::env::var_os("SHOW").is_some() {
                println!("{file} {mode}: {said:?} {time:?}");
            }
            if said.as_ref().map(|said| &*said.0) != Ok(expected) {
                wrong.push(format!("{file} {mode}: {said:?}, expected {expected}"));
            }
        }
    }
    let _ = std::fs::remove_dir_all(classes);
    assert!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

/// The settings files of a folder.
fn settings_in(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let settings = |path: &PathBuf| path.extension().is_some_and(|one| one == "attestor");
    let mut files: Vec<PathBuf> = paths.filter(settings).collect();
    files.sort();
    files
}

/// Where a heap covers others, the search for null dereferences does not go on from those. That saves
/// states, and changes no answer.
#[test]
fn heaps_that_cover_others_change_no_answer() {
    if !has_javac() {
        return;
    }
    let classes = classes("covers");
    let mut files = settings_in(&folder().join("table"));
    files.extend(settings_in(&folder()));
    let (mut with, mut without) = ((0, Duration::ZERO), (0, Duration::ZERO));
    for path in files {
        let safety = |subsumption: bool| {
            let change = |task: &mut Task, formulas: &mut Vec<_>| {
                task.options.abstraction.subsumption = subsumption;
                formulas.clear();
            };
            let reports = reports_to(&path, Mode::TopLevel, false, &classes, change).unwrap();
            let report = reports.first()?;
            Some((word(report), report.counts.total, report.checking))
        };
        let (Some(some), Some(all)) = (safety(true), safety(false)) else {
            continue;
        };
        if std::env::var_os("SHOW").is_some() && some.1 != all.1 {
            println!("{}: {some:?}, otherwise {all:?}", path.display());
        }
        assert_eq!(some.0, all.0, "{}", path.display());
        assert!(some.1 <= all.1, "{}", path.display());
        with = (with.0 + some.1, with.1 + some.2);
        without = (without.0 + all.1, without.1 + all.2);
    }
    let _ = std::fs::remove_dir_all(classes);
    println!("states, time: {with:?} with subsumption, {without:?} without");
}

#[test]
fn the_other_examples() {
    if !has_javac() {
        return;
    }
    let classes = classes("others");
    let mut wrong = Vec::new();
    let mut files = settings_in(&folder());
    let only = std::env::var("ROW").unwrap_or_default();
    files.retain(|path| path.to_string_lossy().contains(&only));
    for path in files {
        for mode in [Mode::TopLevel, Mode::OnTheFly, Mode::Rsm, Mode::Shared] {
            let start = std::time::Instant::now();
            let said = reports(&path, mode, false, &classes);
            if std::env::var_os("SHOW").is_some() {
                let counts = (said.iter().flatten()).map(|report| report.counts.total);
                let counts: Vec<u64> = counts.collect();
                let time = start.elapsed();
                println!("{} {mode}: {counts:?} states, {time:?}", path.display());
            }
            let words = said.map(|reports| reports.iter().map(word).collect::<Vec<String>>());
            if !words
                .as_ref()
                .is_ok_and(|words| words.iter().all(|word| word == "holds"))
            {
                wrong.push(format!("{} {mode}: {words:?}", path.display()));
            }
        }
    }
    let _ = std::fs::remove_dir_all(classes);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
