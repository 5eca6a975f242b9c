//! What people and machines see of a checked heap program.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::PoisonError;

use droste_base::words::{counted, seconds};
use droste_base::{Countable, StopReason};
use droste_heap::{Heap, heap_json};
use droste_report::visible;
use droste_shape::check::{Answer, MEMORY_SAFETY, Report, Unknown};
use droste_shape::machine::Fault;
use droste_shape::page::{page, run_sheets};
use droste_shape::returns::Endless;
use droste_shape::run::{Kind, Position, Reality, Run};
use droste_shape::settings::Settings;
use droste_shape::task::Task;
use droste_source::io_reason;
use serde_json::{Value, json};

use crate::args::CheckArgs;
use crate::console::{Console, Failure};
use crate::frame::{Frame, UNKNOWN};
use crate::heap::draw::first_run;
use crate::heap::text::{Sources, largest, lines, reality};
use crate::heap::{Known, Phases};
use crate::{input, output};

/// Says that a limit was reached before there were all answers, and which there were; the exit code.
pub(super) fn stopped(file: &str, json: bool, reason: &StopReason, known: &Known) -> u8 {
    let known = known.lock().unwrap_or_else(PoisonError::into_inner);
    let word = |violated: bool| if violated { "violated" } else { "unknown" };
    let violated = known.iter().find(|one| one.1);
    let worst = violated.or(known.first());
    let worst = worst.map_or((MEMORY_SAFETY, false), |one| (one.0.as_str(), one.1));
    if json {
        let mut object = json!({
            "verdict": word(worst.1),
            "property": worst.0,
            "engine": "explicit",
            "file": file,
            "version": env!("CARGO_PKG_VERSION"),
            "stats": {},
        });
        if !worst.1 {
            object["reason"] = json!(reason.to_string());
        }
        let each = known.iter().map(|(property, violated)| {
            let mut object = json!({ "property": property, "verdict": word(*violated) });
            if !violated {
                object["reason"] = json!(reason.to_string());
            }
            object
        });
        let each: Vec<Value> = each.collect();
        if !each.is_empty() {
            object["properties"] = json!(each);
        }
        if Console::print(&format!("{object}\n")).is_err() {
            return crate::COULD_NOT_BE_CHECKED;
        }
    } else if violated.is_some() {
        for (property, violated) in known.iter() {
            let text = format!("{}: {}", word(*violated), visible(property));
            let why = format!("\n  {reason}");
            Console::note(&format!("{text}{}\n", if *violated { "" } else { &why }));
        }
    } else {
        Console::note(&format!("unknown: {reason}\n"));
    }
    if worst.1 { 1 } else { UNKNOWN }
}

/// Shows all answers.
pub(super) fn show(
    args: &CheckArgs,
    frame: &Frame<'_>,
    task: &Task,
    settings: &Settings,
    reports: &[Report],
    phases: &Phases,
    sources: &Sources,
) -> Result<(), Failure> {
    let file = input::name(&args.file);
    if let Some(path) = &args.output.trace
        && let Some((report, run)) = first_run(reports)
    {
        write_trace(path, task, sources, report, run, &file)?;
    }
    if args.output.json {
        return output::print(&object(args, frame, task, settings, reports, phases));
    }
    if args.output.quiet {
        return Ok(());
    }
    let mut text = String::new();
    for report in reports {
        describe(&mut text, args, frame.console, task, sources, report);
        if args.output.verbose {
            text.push_str(&effort(report));
        }
    }
    let holds = |report: &Report| matches!(report.answer, Answer::Holds);
    if !phases.assumed.is_empty() && reports.iter().any(holds) {
        let spots = phases.assumed.iter();
        let spots: Vec<String> = spots.map(|(file, line)| format!("{file}:{line}")).collect();
        let spots = spots.join(", ");
        let spots = visible(&spots);
        let _ = writeln!(
            text,
            "note: `holds` takes for granted that what is not modelled (values of libraries, \
             arrays, static fields) is not null where it is used: {spots}"
        );
    }
    let states = reports.iter().map(|report| report.counts.total).max();
    let _ = write!(
        text,
        "{}, {}",
        counted(states.unwrap_or(0), "state"),
        seconds(frame.elapsed())
    );
    if let Some(time) = phases.compiling {
        let _ = write!(text, " ({} of it javac)", seconds(time));
    }
    text.push('\n');
    Console::print(&text)
}

/// What an answer took.
fn effort(report: &Report) -> String {
    let counts = report.counts;
    let mut text = format!(
        "  {}: {} of the outermost method, {} at its end; {}",
        counted(counts.total, "state"),
        counts.main,
        counts.last,
        counted(counts.contracts, "contract"),
    );
    if !report.generation.is_zero() {
        let _ = write!(text, "; generated in {}", seconds(report.generation));
    }
    let _ = writeln!(text, "; checked in {}", seconds(report.checking));
    text
}

fn write_trace(
    path: &std::path::Path,
    task: &Task,
    sources: &Sources,
    report: &Report,
    run: &Run,
    file: &str,
) -> Result<(), Failure> {
    let extension = path.extension().and_then(|extension| extension.to_str());
    let written = match extension {
        Some("json") => output::write_file(path, &trace(task, run)),
        Some("html") => {
            let line = |file: &str, number: u32| sources.line(file, number).map(str::to_owned);
            let sheets = run_sheets(run, &task.symbols, &report.property, &line);
            output::save_text(path, &page(file, &sheets))
        }
        _ if path.as_os_str() == "-" => return Console::print(&lines(task, sources, run)),
        _ => output::save_text(path, &lines(task, sources, run)),
    };
    written.map_err(|error| {
        Failure::Because(format!(
            "cannot write the trace to `{}`: {}",
            path.display(),
            io_reason(&error)
        ))
    })
}

fn describe(
    text: &mut String,
    args: &CheckArgs,
    console: &Console,
    task: &Task,
    sources: &Sources,
    report: &Report,
) {
    let property = visible(&report.property);
    let word = report.answer.word();
    let colour = match report.answer {
        Answer::Holds => "1;32",
        Answer::Violated(_) => "1;31",
        Answer::Unknown(..) => crate::check::UNKNOWN_COLOR,
    };
    text.push_str(&console.paint(colour, word));
    text.push_str(": ");
    if let Some(name) = &report.name {
        let _ = write!(text, "{name}: ");
    }
    let _ = writeln!(text, "{property}");
    match &report.answer {
        Answer::Holds => {
            if let Some(vacuity) = &report.vacuous {
                let _ = writeln!(text, "  {}", visible(&vacuity.to_string()));
            }
            if !report.endless.is_empty() {
                let _ = writeln!(text, "  {}", visible(&endless(&report.endless)));
            }
        }
        Answer::Violated(run) => {
            if !args.output.no_trace {
                text.push('\n');
                text.push_str(&lines(task, sources, run));
                text.push_str(&reality(task, run));
                text.push('\n');
            } else if matches!(run.reality, Reality::Unasked) && run.call_of.is_none() {
                text.push_str("  Whether this is real was not examined (--no-trace).\n");
            }
        }
        Answer::Unknown(Unknown::Stopped(reason), _) => {
            let _ = writeln!(text, "  {reason}");
            if matches!(reason, StopReason::TooMany(Countable::Replacements, _)) {
                text.push_str(
                    "  Rules that give an object its fields at once, as those of the built-in grammars do, would help.\n",
                );
            }
            if let (StopReason::TooMany(Countable::HeapNodes, _), Some(heap)) =
                (reason, &report.largest)
            {
                text.push_str(&largest(task, heap));
                text.push('\n');
            }
        }
        Answer::Unknown(unknown, run) => {
            let _ = writeln!(text, "  {}", reason(unknown));
            if let Some(run) = run
                && *unknown != Unknown::Hidden
                && !args.output.no_trace
            {
                text.push('\n');
                text.push_str(&lines(task, sources, run));
                text.push('\n');
            }
        }
    }
}

/// Calls that may not return, as a sentence.
fn endless(calls: &BTreeSet<Endless>) -> String {
    let shown: Vec<String> = (calls.iter().take(MOST_CALLS))
        .map(|(method, file, line)| format!("{method} ({file}:{line})"))
        .collect();
    let more = match calls.len() - shown.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!(
        "Calls of {}{more} may not return. Runs that stay in them were not looked at, because a call is a \
         single step here (--mode top-level, --skip-method).",
        shown.join(", ")
    )
}

/// So many calls that may not return are told.
const MOST_CALLS: usize = 3;

fn object(
    args: &CheckArgs,
    frame: &Frame<'_>,
    task: &Task,
    settings: &Settings,
    reports: &[Report],
    phases: &Phases,
) -> Value {
    let worst = worst(reports);
    let mode = settings.mode.unwrap_or_default().to_string();
    // The formula that took the most.
    let most = reports.iter().max_by_key(|report| report.counts.total);
    let counts = most.map(|report| report.counts).unwrap_or_default();
    let mut stats = json!({
        "seconds": frame.elapsed().as_secs_f64(),
        "loading_seconds": phases.loading.as_secs_f64(),
        "states": counts.total,
        "main_states": counts.main,
        "final_states": counts.last,
        "contracts": counts.contracts,
        "generation_seconds": reports.iter().map(|r| r.generation.as_secs_f64()).sum::<f64>(),
        "checking_seconds": reports.iter().map(|r| r.checking.as_secs_f64()).sum::<f64>(),
    });
    if let Some(time) = phases.compiling {
        stats["javac_seconds"] = json!(time.as_secs_f64());
    }
    let mut object = json!({
        "verdict": worst.answer.word(),
        "property": worst.property,
        "engine": "explicit",
        "mode": mode,
        "file": input::name(&args.file),
        "version": env!("CARGO_PKG_VERSION"),
        "stats": stats,
        "properties": reports.iter().map(|report| property(args, task, report)).collect::<Vec<_>>(),
    });
    if !phases.assumed.is_empty() {
        let spots = phases.assumed.iter();
        let spots = spots.map(|(file, line)| json!({"file": file, "line": line}));
        object["assumed_not_null"] = spots.collect();
    }
    if let Some(text) = &settings.description {
        object["description"] = json!(text);
    }
    if let Answer::Unknown(unknown, _) = &worst.answer {
        object["reason"] = json!(reason(unknown));
    }
    if let Answer::Violated(run) = &worst.answer
        && !args.output.no_trace
    {
        object["trace"] = trace(task, run);
    }
    object
}

/// The report that decides the exit code.
fn worst(reports: &[Report]) -> &Report {
    let rank = |report: &&Report| match report.answer {
        Answer::Violated(_) => 0,
        Answer::Unknown(..) => 1,
        Answer::Holds => 2,
    };
    reports.iter().min_by_key(rank).unwrap_or(&reports[0])
}

fn reason(unknown: &Unknown) -> String {
    match unknown {
        Unknown::Stopped(reason) => reason.to_string(),
        Unknown::UnknownCode(text) | Unknown::Unmodelled(text) => text.clone(),
        Unknown::UnknownMemory => "a value that is not modelled is used as an object".into(),
        Unknown::Hidden => {
            "no violation was found, but the abstraction hides what the formula speaks of".into()
        }
        Unknown::Unmarked(nonterminal) => format!(
            "no violation was found, but not every object gets the mark: by a rule of `{}` there is \
             one to which no field leads from outside",
            visible(nonterminal)
        ),
        Unknown::Heights(tried) => format!(
            "there is a violation if heights of trees are forgotten, as they are where there are \
             marks; on the {} it was not found",
            match tried {
                1 => "smallest heap".to_owned(),
                tried => format!("{tried} smallest heaps"),
            }
        ),
    }
}

fn property(args: &CheckArgs, task: &Task, report: &Report) -> Value {
    let counts = report.counts;
    let mut object = json!({
        "property": report.property,
        "verdict": report.answer.word(),
        "states": {
            "main": counts.main,
            "total": counts.total,
            "final": counts.last,
            "contracts": counts.contracts,
        },
        "generation_seconds": report.generation.as_secs_f64(),
        "checking_seconds": report.checking.as_secs_f64(),
    });
    if let Some(name) = &report.name {
        object["name"] = json!(name);
    }
    if let Some(vacuity) = &report.vacuous {
        object["vacuous"] = json!(vacuity.to_string());
    }
    if !report.endless.is_empty() {
        let calls = report.endless.iter();
        let calls =
            calls.map(|(method, file, line)| json!({"method": method, "file": file, "line": line}));
        object["may_not_return"] = calls.collect();
    }
    match &report.answer {
        Answer::Unknown(unknown, _) => {
            object["reason"] = json!(reason(unknown));
            if let Some(largest) = &report.largest {
                object["largest_heap"] = heap(task, &largest.heap);
            }
        }
        Answer::Violated(run) if !args.output.no_trace => object["trace"] = trace(task, run),
        _ => {}
    }
    object
}

fn trace(task: &Task, run: &Run) -> Value {
    let steps: Vec<Value> = (run.positions.iter())
        .map(|position| {
            let action = match position.kind {
                Kind::Step => json!("step"),
                Kind::Call => json!("call"),
                Kind::End => json!("return"),
                Kind::Terminated => json!("terminated"),
                Kind::Fault(Fault::NullDereference) => json!("null dereference"),
                Kind::Fault(Fault::UnknownMemory) => json!("unknown memory"),
                Kind::Fault(Fault::Thrown) => json!("exception"),
                Kind::Fault(Fault::Leak) => json!("leak"),
                Kind::Folded(steps) => json!({ "folded": steps }),
                Kind::Skipped(steps) => json!({ "skipped": steps }),
            };
            json!({
                "depth": position.depth,
                "action": action,
                "method": position.method,
                "file": position.file,
                "line": position.line,
                "statement": position.statement,
                "holds": holds(run, position),
                "heap": heap(task, &position.heap),
            })
        })
        .collect();
    let mut object = json!({
        "length": run.length,
        "cycle": run.cycle,
        "propositions": run.propositions,
        "steps": steps,
    });
    match &run.reality {
        Reality::Unasked => {}
        Reality::Real(input, concrete) => {
            object["input"] = heap(task, input);
            object["concrete"] = trace(task, concrete);
            object["guesses"] = json!(!concrete.guesses.is_empty());
            if !concrete.doubts.is_empty() {
                object["doubts"] = json!(true);
            }
            if concrete.overlooks {
                object["overlooks"] = json!(true);
            }
        }
        Reality::Doubtful(tried, late) => {
            object["doubtful"] = json!({ "heaps_tried": tried });
            if !run.contracts.is_empty() {
                object["doubtful"]["contracts"] = json!(run.contracts);
            }
            if *late {
                object["doubtful"]["out_of_time"] = json!(true);
            }
        }
    }
    object
}

/// The propositions of the formula that hold at a position.
fn holds<'a>(run: &'a Run, position: &Position) -> Vec<&'a str> {
    let all = run.propositions.iter().zip(&position.holds);
    all.filter(|pair| *pair.1)
        .map(|pair| pair.0.as_str())
        .collect()
}

fn heap(task: &Task, heap: &Heap) -> Value {
    let text = heap_json(&task.symbols, heap);
    serde_json::from_str(&text).unwrap_or(Value::Null)
}
