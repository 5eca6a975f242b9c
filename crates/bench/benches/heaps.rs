//! Table A.1 of Chau's thesis: heap programs, in its three modes, beside its seconds.
//!
//! ```text
//! cargo bench -p droste-bench --bench heaps [-- --quick] [-- ROW …]
//! ```
//!
//! Our programs for the methods of the table (`examples/heap`) are compiled once, which is reported
//! on its own. A time is that of generating states and checking the formula, loading left out; each is
//! the least of some runs. The seconds of the thesis are its own, on its machine (an i7-8650U of
//! 2017), with the Java virtual machine: `bench/papers/hierarchical-a1.tsv`. States are counted differently: the
//! reference counts a state space again whenever it grows.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use droste_base::Limits;
use droste_bench::measure::peak_kb;
use droste_shape::check::{Checking, check};
use droste_shape::load::load;
use droste_shape::proposition::parse;
use droste_shape::settings::{Mode, Settings};
use droste_source::SourceFile;

const THESIS: &str = include_str!("../../../bench/papers/hierarchical-a1.tsv");
const MODES: [Mode; 3] = [Mode::TopLevel, Mode::OnTheFly, Mode::Rsm];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let flag = |argument: &String| matches!(argument.as_str(), "--quick" | "--bench");
    let rows: Vec<usize> = arguments.iter().filter_map(|a| a.parse().ok()).collect();
    // Filters of the other benchmarks are not for this one.
    if !arguments
        .iter()
        .all(|a| flag(a) || a.parse::<usize>().is_ok())
    {
        return;
    }
    let quick = arguments.iter().any(|argument| argument == "--quick");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/heap");
    let start = Instant::now();
    let Some(classes) = compile(&folder) else {
        println!("heaps: there is no javac");
        return;
    };
    println!("javac: {:.2} s", start.elapsed().as_secs_f64());
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder.join("table"))
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path()))
        .collect();
    files.sort();
    println!("row\tmethod\tmode\tverdict\tstates\tms\tthesis states\tthesis ms\ttimes faster");
    let mut sums = [(0.0, 0.0); 3];
    let mut slower = Vec::new();
    for (file, thesis) in files.iter().zip(THESIS.lines().skip(2)) {
        let figures: Vec<f64> = thesis.split('\t').filter_map(|f| f.parse().ok()).collect();
        let row = figures[0] as usize;
        if !rows.is_empty() && !rows.contains(&row) {
            continue;
        }
        let name = file
            .file_stem()
            .map_or_else(String::new, |n| n.to_string_lossy().into_owned());
        for (at, mode) in MODES.into_iter().enumerate() {
            let (states, seconds) = (figures[1 + 2 * at], figures[2 + 2 * at]);
            let runs = if quick { 1 } else { 5 };
            let measured = (0..runs)
                .filter_map(|_| run(file, &folder, &classes, mode))
                .min_by_key(|m| m.2);
            let Some((verdict, ours, time)) = measured else {
                println!("{row}\t{name}\t{mode}\tcannot be run");
                continue;
            };
            let time = time.as_secs_f64();
            sums[at].0 += time;
            sums[at].1 += seconds;
            if time > seconds {
                slower.push(format!("{row} {mode}"));
            }
            println!(
                "{row}\t{name}\t{mode}\t{verdict}\t{ours}\t{:.3}\t{states}\t{:.3}\t{:.1}",
                time * 1e3,
                seconds * 1e3,
                seconds / time
            );
        }
    }
    for ((ours, thesis), mode) in sums.into_iter().zip(MODES) {
        println!(
            "sum\t\t{mode}\t\t\t{:.1}\t\t{:.1}\t{:.0}",
            ours * 1e3,
            thesis * 1e3,
            thesis / ours
        );
    }
    println!(
        "slower than the thesis: {}",
        if slower.is_empty() {
            "none".into()
        } else {
            slower.join(", ")
        }
    );
    println!("peak memory: {} MB", peak_kb() / 1000);
    let _ = std::fs::remove_dir_all(classes);
}

/// Compiles the examples into a folder.
fn compile(folder: &Path) -> Option<PathBuf> {
    let out = std::env::temp_dir().join(format!("droste-bench-{}", std::process::id()));
    std::fs::create_dir_all(&out).ok()?;
    let sources = std::fs::read_dir(folder.join("code")).ok()?;
    let sources = sources.filter_map(|entry| Some(entry.ok()?.path()));
    let sources = sources.filter(|path| path.extension().is_some_and(|e| e == "java"));
    let done = Command::new("javac")
        .args(["-g", "-d"])
        .arg(&out)
        .args(sources)
        .status();
    done.is_ok_and(|status| status.success()).then_some(out)
}

/// One row in one mode: the verdict, how many states there are, and how long it took.
fn run(
    file: &Path,
    folder: &Path,
    classes: &Path,
    mode: Mode,
) -> Option<(&'static str, u64, Duration)> {
    let text = std::fs::read_to_string(file).ok()?;
    let (mut settings, _) = Settings::parse(&SourceFile::new("row", &*text)).ok()?;
    settings.classpath = None;
    let mut task = load(&settings, folder, &[classes.to_path_buf()], true)
        .ok()?
        .task;
    let names = task.names();
    let formulas = settings
        .formulas
        .iter()
        .map(|text| parse(text, &names).ok());
    let formulas: Vec<_> = formulas.collect::<Option<_>>()?;
    task.simplify(&formulas);
    let checking = Checking {
        mode,
        limits: Limits::within(Duration::from_secs(60)),
        reporter: None,
        max_steps: 0,
        concrete: false,
        contracts: false,
        skip: &[],
    };
    let start = Instant::now();
    let checked = check(&mut task, &formulas, &checking).ok()?;
    let time = start.elapsed();
    let report = checked.reports.last()?;
    Some((report.answer.word(), report.counts.total, time))
}
