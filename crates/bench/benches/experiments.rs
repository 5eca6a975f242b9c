//! `cargo bench -p droste-bench [-- [--quick] [--strict] [--list | --print] [--seconds N] [FILTER]]`
//!
//! Runs every case whose name contains FILTER in a process of its own and prints tab-separated
//! values. The exit code is 1 if some verdict is wrong, or, with `--strict`, a goal is missed.
//! `--list` prints their names, and `--print` the program of the first one.
//! `--quick` runs the smaller cases only, each with a limit of five seconds.

use std::fmt::Write as _;
use std::io::Read;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use droste_bench::Case;
use droste_bench::cases;
use droste_bench::measure::{Cap, Measurement, measure};

/// What a case gets with `--quick`.
const QUICK_SECONDS: u64 = 5;

/// What a case gets that is there to show what is not feasible.
const GIVE_UP_SECONDS: u64 = 10;

/// What is done with the cases.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Task {
    Run,
    /// Their names are printed.
    List,
    /// The program of the first one is printed.
    Print,
}

struct Arguments {
    quick: bool,
    strict: bool,
    task: Task,
    cap: Cap,
    filter: Option<String>,
    /// The one case to run in this very process.
    child: Option<String>,
}

fn arguments() -> Result<Arguments, String> {
    let mut found = Arguments {
        quick: false,
        strict: false,
        task: Task::Run,
        cap: Cap::DEFAULT,
        filter: None,
        child: None,
    };
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            // Cargo says that this is a benchmark; we know.
            "--bench" => {}
            "--quick" => {
                found.quick = true;
                found.cap.seconds = QUICK_SECONDS;
            }
            "--strict" => found.strict = true,
            "--list" => found.task = Task::List,
            "--print" => found.task = Task::Print,
            "--seconds" => {
                let seconds = arguments.next().and_then(|n| n.parse().ok());
                found.cap.seconds = seconds.ok_or("--seconds needs a number")?;
            }
            "--child" => found.child = Some(arguments.next().ok_or("--child needs a name")?),
            option if option.starts_with('-') => return Err(format!("unknown option {option}")),
            filter => found.filter = Some(filter.to_owned()),
        }
    }
    Ok(found)
}

fn main() -> ExitCode {
    let arguments = match arguments() {
        Ok(arguments) => arguments,
        Err(problem) => {
            eprintln!("{problem}");
            return ExitCode::from(2);
        }
    };
    let all = cases::all();
    if let Some(name) = &arguments.child {
        let Some(case) = all.iter().find(|case| case.name() == *name) else {
            return ExitCode::from(2);
        };
        println!(
            "{}",
            measure(&case.text, &case.ask, case.setup, arguments.cap).to_line()
        );
        return ExitCode::SUCCESS;
    }
    let chosen = all
        .iter()
        .filter(|case| !arguments.quick || case.quick)
        .filter(|case| {
            arguments
                .filter
                .as_ref()
                .is_none_or(|filter| case.name().contains(filter.as_str()))
        });
    if arguments.task == Task::List {
        chosen.for_each(|case| println!("{}", case.name()));
        return ExitCode::SUCCESS;
    }
    if arguments.task == Task::Print {
        chosen.take(1).for_each(|case| print!("{}", case.text));
        return ExitCode::SUCCESS;
    }
    let (mut wrong, mut missed) = (0, 0);
    println!(
        "family\tparameter\tproperty\tconfig\tverdict\tseconds\tsearch_s\tcpu_s\tpath_edges\tstates\t\
         path_edges/s\tbytes/path_edge\timages\tnodes\tpeak_MB\ttrace\tper_doubling\tgoal\tpaper"
    );
    // The last measurement of each series, to compare a doubled parameter with.
    let mut last: Vec<(String, u64, Measurement)> = Vec::new();
    for case in chosen {
        let mut cap = arguments.cap;
        if case.may_give_up {
            cap.seconds = cap.seconds.min(GIVE_UP_SECONDS);
        }
        let m = run(case, cap);
        let met = case.goal.met(&m);
        let goal = if m.verdict == case.expect {
            match met {
                None => "-",
                Some(true) => "met",
                Some(false) => "MISSED",
            }
        } else if m.verdict.starts_with("unknown") {
            if case.may_give_up {
                "gave up"
            } else {
                "MISSED"
            }
        } else {
            "WRONG"
        };
        wrong += usize::from(goal == "WRONG");
        missed += usize::from(goal == "MISSED");
        println!(
            "{}\t{goal}\t{}",
            row(case, &m, &doubling(case, &m, &mut last)),
            case.paper
        );
    }
    eprintln!("{wrong} wrong, {missed} goals missed");
    ExitCode::from(u8::from(wrong > 0 || arguments.strict && missed > 0))
}

/// Runs a case in a process of its own, which gets a while longer than its own limit.
fn run(case: &Case, cap: Cap) -> Measurement {
    let failed = |what: &str| Measurement {
        verdict: format!("error: {what}"),
        ..Measurement::default()
    };
    let Ok(program) = std::env::current_exe() else {
        return failed("no executable");
    };
    let child = Command::new(program)
        .args([
            "--child",
            &case.name(),
            "--seconds",
            &cap.seconds.to_string(),
        ])
        .stdout(Stdio::piped())
        .spawn();
    let Ok(mut child) = child else {
        return failed("cannot start");
    };
    let deadline = Instant::now() + Duration::from_secs(2 * cap.seconds + 5);
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if Instant::now() < deadline => std::thread::sleep(Duration::from_millis(2)),
            _ => {
                let _ = child.kill();
                let _ = child.wait();
                return failed("killed after twice its time");
            }
        }
    };
    let mut line = String::new();
    if let Some(mut out) = child.stdout.take() {
        let _ = out.read_to_string(&mut line);
    }
    Measurement::from_line(&line)
        .unwrap_or_else(|| failed(&format!("the child ended with {status}")))
}

/// Time and memory compared with half the parameter, where there is such a case.
fn doubling(case: &Case, m: &Measurement, last: &mut Vec<(String, u64, Measurement)>) -> String {
    let Ok(parameter) = case.parameter.parse::<u64>() else {
        return "-".to_owned();
    };
    let series = format!("{} {} {}", case.family, case.ask, case.setup);
    let found = last.iter().position(|(name, ..)| *name == series);
    let before = found.map(|i| last.swap_remove(i));
    last.push((series, parameter, m.clone()));
    match before {
        Some((_, half, before)) if half * 2 == parameter && case.family.starts_with("flip") => {
            let memory = |m: &Measurement| m.peak_kb.saturating_sub(m.before_kb) as f64;
            format!(
                "x{:.2} s, x{:.2} MB",
                m.cpu.max(0.01) / before.cpu.max(0.01),
                memory(m) / memory(&before)
            )
        }
        _ => "-".to_owned(),
    }
}

/// The measured columns.
fn row(case: &Case, m: &Measurement, doubling: &str) -> String {
    let or_dash = |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{value:.0}"));
    let mut row = String::new();
    // Writing to a string cannot fail.
    let _ = write!(
        row,
        "{}\t{}\t{}\t{}\t{}\t{:.3}\t{:.3}\t{:.2}\t{}\t{}\t{}\t{}\t{}\t{}\t{:.1}\t{}\t{doubling}",
        case.family,
        case.parameter,
        case.ask,
        case.setup,
        m.verdict,
        m.seconds,
        m.search,
        m.cpu,
        m.path_edges,
        m.states,
        or_dash(m.path_edges_per_second()),
        or_dash(m.bytes_per_context()),
        m.images,
        m.nodes,
        m.peak_kb as f64 / 1024.0,
        m.trace,
    );
    row
}
