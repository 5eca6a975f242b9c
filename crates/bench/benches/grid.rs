//! `cargo bench -p droste-bench --bench grid [-- [--seconds N] [--write FOLDER] [FILTER]]`
//!
//! Programs with threads under every small bound, by three engines: processor milliseconds, and
//! their ratios; for `auto`, which uses two cores, also by the clock. A question is asked again and
//! again until that has taken long enough to be measured. The exit code is 1 if engines do not agree.
//! `--write` writes the programs down instead.

use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use droste_bench::bluetooth::{self, Begin, Version};
use droste_bench::fibonacci::{self, Form, Question};
use droste_bench::measure::{Cap, cpu_seconds, limited};
use droste_bench::safe_stack::{self, Loops};
use droste_bench::{Ask, Setup};
use droste_check::Engine;

/// A question is asked again until this much processor time has passed.
const ENOUGH: f64 = 0.1;

const ENGINES: [Engine; 3] = [Engine::Explicit, Engine::Bdd, Engine::Auto];

fn drivers(programs: &mut Vec<(String, String)>) {
    for (adders, stoppers) in [(1, 1), (2, 1), (1, 2)] {
        for (bits, begin, recursive, name) in [
            (3, Begin::One, false, "3 bits"),
            (3, Begin::One, true, "3 bits, recursive"),
            (8, Begin::Any, false, "8 bits"),
            (16, Begin::Any, false, "16 bits"),
        ] {
            let text = bluetooth::program(&bluetooth::Shape {
                adders,
                stoppers,
                bits,
                begin,
                version: Version::Correct,
                recursive,
            });
            programs.push((format!("driver {adders}+{stoppers}, {name}"), text));
        }
    }
}

fn sums(programs: &mut Vec<(String, String)>) {
    for (threads, additions) in [(2, 5), (3, 3)] {
        for (form, how) in [
            (Form::Loop, "loop"),
            (Form::Recursive, "recursive"),
            (Form::Bits, "bits"),
        ] {
            for (question, what) in [(Question::Larger, "from 1"), (Question::Odd, "any")] {
                let text = fibonacci::program(&fibonacci::Shape {
                    threads,
                    additions,
                    bits: 8,
                    form,
                    question,
                });
                programs.push((format!("fibonacci {threads}, {how}, {what}"), text));
            }
        }
    }
}

fn programs() -> Vec<(String, String)> {
    let mut programs = Vec::new();
    drivers(&mut programs);
    sums(&mut programs);
    for (loops, name) in [(Loops::Kept, "kept"), (Loops::Unrolled(2), "unrolled")] {
        let text = safe_stack::program(3, loops, safe_stack::Version::Careful);
        programs.push((format!("safe stack, {name}"), text));
    }
    programs
}

/// Seconds, of processors and by the clock.
#[derive(Clone, Copy)]
struct Seconds {
    cpu: f64,
    clock: f64,
}

/// Waits until nothing runs in this process: a search that was stopped gives its memory back in the
/// background, and that must not be counted as time of the next question. Processor time is counted
/// in steps of a hundredth of a second, so it has to stand still for longer than that.
fn settle() {
    const PAUSE: Duration = Duration::from_millis(50);
    loop {
        let before = cpu_seconds();
        std::thread::sleep(PAUSE);
        if cpu_seconds() <= before {
            return;
        }
    }
}

/// The verdict, and how long it took; nothing if there is no answer.
fn ask(text: &str, question: Ask, engine: Engine, cap: Cap) -> (String, Option<Seconds>) {
    let setup = Setup {
        engine,
        trace: false,
        ..Setup::default()
    };
    settle();
    let (start, clock) = (cpu_seconds(), Instant::now());
    let mut times = 0;
    loop {
        let answer = limited(text, &question, setup, cap);
        let verdict = answer.map_or_else(|problem| problem, |report| report.verdict.word().into());
        times += 1;
        let spent = cpu_seconds() - start;
        let known = matches!(verdict.as_str(), "holds" | "violated");
        if !known || spent >= ENOUGH || clock.elapsed().as_secs() >= cap.seconds {
            let seconds = Seconds {
                cpu: spent / f64::from(times),
                clock: clock.elapsed().as_secs_f64() / f64::from(times),
            };
            return (verdict, known.then_some(seconds));
        }
    }
}

fn write(folder: &str, programs: &[(String, String)]) -> ExitCode {
    for (name, text) in programs {
        let name: String = name.replace(", ", "-").replace(' ', "-");
        let path = Path::new(folder).join(format!("{name}.bp"));
        if let Err(problem) = std::fs::write(&path, text) {
            eprintln!("{}: {problem}", path.display());
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}

fn main() -> ExitCode {
    let mut cap = Cap::DEFAULT;
    cap.seconds = 10;
    let mut filter = String::new();
    let mut folder = None;
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--bench" => {}
            "--seconds" => {
                let Some(seconds) = arguments.next().and_then(|n| n.parse().ok()) else {
                    eprintln!("--seconds needs a number");
                    return ExitCode::from(2);
                };
                cap.seconds = seconds;
            }
            "--write" => folder = arguments.next(),
            _ => filter = argument,
        }
    }
    let mut programs = programs();
    programs.retain(|(name, _)| name.contains(&filter));
    if let Some(folder) = folder {
        return write(&folder, &programs);
    }
    let bounds = (0..=6).map(Ask::Switches).chain((1..=4).map(Ask::Rounds));
    let bounds: Vec<Ask> = bounds.collect();
    println!(
        "program\tbound\tverdict\texplicit_ms\tbdd_ms\tauto_ms\tbdd/explicit\tauto/better\tauto/better by the clock"
    );
    let mut wrong = false;
    for (name, text) in &programs {
        for &bound in &bounds {
            let answers = ENGINES.map(|engine| ask(text, bound, engine, cap));
            let known = || answers.iter().filter(|answer| answer.1.is_some());
            let verdict = known().next().map_or("unknown", |answer| &answer.0);
            let agree = known().all(|answer| answer.0 == *verdict);
            wrong |= !agree;
            let [explicit, bdd, auto] = [0, 1, 2].map(|i| answers[i].1);
            let better = match (explicit, bdd) {
                (Some(a), Some(b)) => Some(Seconds {
                    cpu: a.cpu.min(b.cpu),
                    clock: a.clock.min(b.clock),
                }),
                (a, b) => a.or(b),
            };
            let ms =
                |s: Option<Seconds>| s.map_or("none".into(), |s| format!("{:.2}", s.cpu * 1000.0));
            let ratio =
                |a: Option<Seconds>, b: Option<Seconds>, of: fn(Seconds) -> f64| match (a, b) {
                    (Some(a), Some(b)) => format!("{:.1}", of(a) / of(b)),
                    _ => "-".into(),
                };
            println!(
                "{name}\t{bound}\t{}\t{}\t{}\t{}\t{}\t{}\t{}",
                if agree { verdict } else { "DISAGREE" },
                ms(explicit),
                ms(bdd),
                ms(auto),
                ratio(bdd, explicit, |s| s.cpu),
                ratio(auto, better, |s| s.cpu),
                ratio(auto, better, |s| s.clock),
            );
        }
    }
    ExitCode::from(u8::from(wrong))
}
