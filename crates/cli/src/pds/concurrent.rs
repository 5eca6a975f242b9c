//! Systems with several threads, as CUBA has them: `droste pds reach` and `path`.

use std::fmt::Write as _;
use std::path::Path;

use droste_base::words::{counted, seconds};
use droste_notation::{
    Concurrent as System, StackTop, Thread, concurrent_state, concurrent_target,
};
use droste_pds::concurrent::{
    Concurrent, Context, Finding, Options, Proof, Stats, Target, Top, search,
};
use droste_pds::{Move, Replace, Rule, StateId, SymbolId};
use droste_source::SourceFile;
use serde_json::{Value, json};

use super::args::{PathArgs, ReachArgs};
use super::known::Known;
use super::path::{exact, indent};
use super::{Stop, tell};
use crate::console::{Console, Failure};
use crate::frame::Frame;
use crate::output;

const INITIAL: &str = "--initial";
const TARGET: &str = "--target";

/// Whether a state is reached, with which contexts.
pub(super) fn answer(
    name: &str,
    system: &System,
    args: &ReachArgs,
    path: Option<&PathArgs>,
    (known, frame): (&Known, &Frame<'_>),
) -> Result<u8, Stop> {
    let count = system.threads.iter().map(|thread| thread.rules.len()).sum();
    known.concurrent(system.threads.len(), count);
    if args.system.weight.as_deref().is_some_and(|w| w != "bool") {
        let what = "--weight: systems with several threads have no weights";
        return Err(Failure::Because(what.to_owned()).into());
    }
    let (way, order) = (&args.way, &args.way.search);
    for (given, flag) in [
        (way.method.is_some(), "--method"),
        (way.direction.is_some(), "--direction"),
        (order.cores.is_some(), "--cores"),
        (order.order.is_some(), "--order"),
    ] {
        if given {
            let what = format!("{flag} is for systems with one stack, not for threads");
            return Err(Failure::Because(what).into());
        }
    }
    let threads = rules(system);
    let (shared, stacks) = initial(name, system, args, frame)?;
    let target = target(name, system, args, frame)?;
    let threads: Vec<(Vec<Rule>, Vec<SymbolId>)> = threads.into_iter().zip(stacks).collect();
    let read = known.solving(None);
    frame.watchdog.search_begins();
    let numbers = Numbers::new(&threads, shared, &target);
    let whole = numbers.whole(&threads, shared);
    let options = Options {
        contexts: args.contexts,
        limits: frame.limits(),
        ..Options::default()
    };
    let (finding, stats) = search(&whole, &[numbers.target(&target)], &options);
    let time = frame.elapsed().saturating_sub(read);
    let (reachable, words, run) = match &finding {
        Finding::Reached(contexts) => (true, String::new(), contexts.as_slice()),
        Finding::NotWithin(most) => {
            let words = format!("not within {}", counted(*most as u64, "context"));
            (false, words, [].as_slice())
        }
        Finding::Never(proof) => (false, why(*proof).to_owned(), [].as_slice()),
        Finding::Stopped(reason, seen) => {
            known.add(json!({
                "contexts": seen,
                "aggregates": stats.aggregates,
                "transitions": stats.nodes,
            }));
            if let Some(seen) = seen {
                let seen = counted(*seen as u64, "context");
                frame.say(|| format!("not reachable within {seen}"));
            }
            return Err(Stop::Limit(reason.clone()));
        }
    };
    frame.claim();
    if args.show.json {
        let object = known.object(json!({
            "reachable": reachable,
            "weight": if reachable { Value::Bool(true) } else { Value::Null },
            "contexts": if reachable { run.len() } else { stats.contexts },
            "any_number_of_contexts": matches!(finding, Finding::Never(_)),
            "proof": (!reachable).then_some(&words),
            "aggregates": stats.aggregates,
            "transitions": stats.nodes,
            "seconds": time.as_secs_f64(),
            "schedule": path.is_some().then(|| schedule(run, &threads, &numbers)),
        }));
        output::print(&object)?;
    } else if !args.show.volume.quiet {
        let mut text = if reachable {
            let word = frame.console.paint("1;31", "reachable");
            format!("{word} with {}\n", counted(run.len() as u64, "context"))
        } else {
            let word = frame.console.paint("1;32", "not reachable");
            format!("{word}: {words}\n")
        };
        if let Some(path) = path
            && reachable
        {
            text += &shown(run, &threads, &numbers, path.max_steps);
        }
        text += &effort(&stats, time);
        Console::print(&text)?;
    }
    Ok(u8::from(reachable))
}

fn why(proof: Proof) -> &'static str {
    match proof {
        Proof::Abstraction => "whatever the number of contexts; an abstraction shows it",
        Proof::Configurations => {
            "whatever the number of contexts; no new sets of configurations come"
        }
        Proof::Visible => "whatever the number of contexts; no new visible states come",
    }
}

fn effort(stats: &Stats, time: std::time::Duration) -> String {
    format!(
        "{}, {} of configurations, {}\n",
        counted(stats.contexts as u64, "context"),
        counted(stats.aggregates as u64, "set"),
        seconds(time)
    )
}

/// The rules of each thread.
fn rules(system: &System) -> Vec<Vec<Rule>> {
    let rule = |rule: &droste_notation::ThreadRule| Rule {
        from: StateId(rule.from),
        top: rule.top.map_or(SymbolId::EPSILON, SymbolId),
        to: StateId(rule.to),
        replace: match rule.right.as_slice() {
            [] => Replace::Pop,
            [only] => Replace::Step(SymbolId(*only)),
            [first, second, ..] => Replace::Push(SymbolId(*first), SymbolId(*second)),
        },
        merge: None,
    };
    let threads = system.threads.iter();
    threads
        .map(|t| t.rules.iter().map(rule).collect())
        .collect()
}

/// The shared states and symbols that occur. A file may announce any number of them, and the tables of
/// the search have a place for each: so there they are numbered anew, in the same order.
struct Numbers {
    shared: Vec<u32>,
    /// For each thread.
    symbols: Vec<Vec<u32>>,
}

/// The new number of one that occurs.
fn rank(all: &[u32], number: u32) -> u32 {
    all.binary_search(&number).unwrap_or_else(|at| at) as u32
}

impl Numbers {
    fn new(threads: &[(Vec<Rule>, Vec<SymbolId>)], start: u32, target: &Target) -> Self {
        let sorted = |mut all: Vec<u32>| {
            all.sort_unstable();
            all.dedup();
            all
        };
        let mut shared = vec![start];
        shared.extend(target.shared.map(|state| state.0));
        let mut symbols = Vec::with_capacity(threads.len());
        for (thread, (rules, stack)) in threads.iter().enumerate() {
            let mut own: Vec<u32> = stack.iter().map(|symbol| symbol.0).collect();
            if let Some(Top::Is(symbol)) = target.tops.get(thread) {
                own.push(symbol.0);
            }
            for rule in rules {
                shared.extend([rule.from.0, rule.to.0]);
                own.extend((rule.top != SymbolId::EPSILON).then_some(rule.top.0));
                match rule.replace {
                    Replace::Pop => {}
                    Replace::Step(symbol) => own.push(symbol.0),
                    Replace::Push(first, second) => own.extend([first.0, second.0]),
                }
            }
            symbols.push(sorted(own));
        }
        Numbers {
            shared: sorted(shared),
            symbols,
        }
    }

    fn state(&self, state: StateId) -> StateId {
        StateId(rank(&self.shared, state.0))
    }

    fn symbol(&self, thread: usize, symbol: SymbolId) -> SymbolId {
        match symbol {
            SymbolId::EPSILON => symbol,
            SymbolId(number) => SymbolId(rank(&self.symbols[thread], number)),
        }
    }

    /// The system with the new numbers.
    fn whole(&self, threads: &[(Vec<Rule>, Vec<SymbolId>)], start: u32) -> Concurrent {
        let thread = |(thread, (rules, stack)): (usize, &(Vec<Rule>, Vec<SymbolId>))| {
            let symbol = |symbol| self.symbol(thread, symbol);
            let rules = rules.iter().map(|rule| Rule {
                from: self.state(rule.from),
                top: symbol(rule.top),
                to: self.state(rule.to),
                replace: match rule.replace {
                    Replace::Pop => Replace::Pop,
                    Replace::Step(only) => Replace::Step(symbol(only)),
                    Replace::Push(first, second) => Replace::Push(symbol(first), symbol(second)),
                },
                merge: rule.merge,
            });
            let stack = stack.iter().map(|&own| symbol(own));
            (rules.collect(), stack.collect())
        };
        let threads: Vec<_> = threads.iter().enumerate().map(thread).collect();
        let states = self.shared.len() as u32;
        Concurrent::new(states, self.state(StateId(start)), &threads)
    }

    fn target(&self, target: &Target) -> Target {
        let top = |(thread, top): (usize, &Top)| match *top {
            Top::Is(symbol) => Top::Is(self.symbol(thread, symbol)),
            other => other,
        };
        Target {
            shared: target.shared.map(|state| self.state(state)),
            tops: target.tops.iter().enumerate().map(top).collect(),
        }
    }

    /// A configuration of a thread as CUBA writes it, with the numbers of the file.
    fn configuration(&self, thread: usize, own: &(StateId, Vec<SymbolId>)) -> String {
        let (state, stack) = own;
        let old = |all: &[u32], at: u32| all.get(at as usize).copied().unwrap_or(at).to_string();
        let symbols: Vec<String> = (stack.iter())
            .map(|symbol| old(&self.symbols[thread], symbol.0))
            .collect();
        let stack = if symbols.is_empty() {
            "-".to_owned()
        } else {
            symbols.join(".")
        };
        format!("{}|{stack}", old(&self.shared, state.0))
    }
}

/// What a flag says: a state, or the name of a file with one.
fn given(flag: &str, text: &str, frame: &Frame<'_>) -> Result<SourceFile, Failure> {
    if text.contains('|') {
        return Ok(SourceFile::new(flag, text));
    }
    if text.trim().is_empty() {
        let what = format!("{flag}: it is empty; {}", form(flag));
        return Err(Failure::Because(what));
    }
    let file = Path::new(text);
    frame.read(file).map_err(|failure| match failure {
        // Perhaps it was not meant as a file.
        Failure::Because(what) if text != "-" && !file.exists() => Failure::Because(format!(
            "{flag}: {}; otherwise it is the name of a file: {what}",
            form(flag)
        )),
        other => other,
    })
}

fn form(flag: &str) -> &'static str {
    if flag == INITIAL {
        "a state is written '0|1.2,4', the shared state, then a stack for each thread, with dots \
         between symbols"
    } else {
        "a target is written '3|2,*', the shared state, then the top of each stack, `-` for an \
         empty one, `*` for anything"
    }
}

/// Shared state and stacks at the start.
fn initial(
    name: &str,
    system: &System,
    args: &ReachArgs,
    frame: &Frame<'_>,
) -> Result<(u32, Vec<Vec<SymbolId>>), Stop> {
    let (shared, stacks) = match (&args.system.initial, &system.initial) {
        (Some(text), _) => {
            let source = given(INITIAL, text, frame)?;
            let state = concurrent_state(source.text());
            state.map_err(|wrong| tell(frame, source.name(), source.text(), &[wrong]))?
        }
        (None, Some(initial)) => initial.clone(),
        (None, None) => {
            let what = format!(
                "`{name}` does not say where runs begin; say it with --initial '0|1,4': the shared \
                 state, then a stack for each thread, with dots between symbols"
            );
            return Err(Failure::Because(what).into());
        }
    };
    check(INITIAL, system, Some(shared), stacks.len())?;
    for (stack, thread) in stacks.iter().zip(&system.threads) {
        for &symbol in stack {
            within(INITIAL, symbol, thread)?;
        }
    }
    let stack = |stack: Vec<u32>| stack.into_iter().map(SymbolId).collect();
    Ok((shared, stacks.into_iter().map(stack).collect()))
}

fn check(flag: &str, system: &System, shared: Option<u32>, stacks: usize) -> Result<(), Failure> {
    if let Some(shared) = shared
        && shared >= system.shared
    {
        let there = match system.shared {
            0 => "there are none".to_owned(),
            count => format!("they are 0 to {}", count - 1),
        };
        let what = format!("{flag}: there is no shared state {shared}; {there}");
        return Err(Failure::Because(what));
    }
    if stacks != system.threads.len() {
        let what = format!(
            "{flag}: {} for {}",
            counted(stacks as u64, "stack"),
            counted(system.threads.len() as u64, "thread")
        );
        return Err(Failure::Because(what));
    }
    Ok(())
}

fn within(flag: &str, symbol: u32, thread: &Thread) -> Result<(), Failure> {
    if thread.has(symbol) {
        return Ok(());
    }
    let (least, greatest) = thread.symbols;
    let others = match thread.others.len() {
        0 => String::new(),
        // They may be many.
        _ => ", and others that its rules have".to_owned(),
    };
    Err(Failure::Because(format!(
        "{flag}: the thread has the symbols {least} to {greatest}{others}, not {symbol}"
    )))
}

/// What is looked for: a shared state and the top of each stack.
fn target(
    name: &str,
    system: &System,
    args: &ReachArgs,
    frame: &Frame<'_>,
) -> Result<Target, Failure> {
    let Some(text) = &args.system.target else {
        let what = format!(
            "`{name}` does not say where runs are to lead; say it with --target: {}",
            form(TARGET)
        );
        return Err(Failure::Because(what));
    };
    let source = given(TARGET, text, frame)?;
    let target = concurrent_target(source.text());
    let (shared, tops) =
        target.map_err(|wrong| tell(frame, source.name(), source.text(), &[wrong]))?;
    check(TARGET, system, shared, tops.len())?;
    for (top, thread) in tops.iter().zip(&system.threads) {
        if let StackTop::Symbol(symbol) = *top {
            within(TARGET, symbol, thread)?;
        }
    }
    let top = |top: &StackTop| match *top {
        StackTop::Any => Top::Any,
        StackTop::Empty => Top::Empty,
        StackTop::Symbol(symbol) => Top::Is(SymbolId(symbol)),
    };
    Ok(Target {
        shared: shared.map(StateId),
        tops: tops.iter().map(top).collect(),
    })
}

fn written(rule: &Rule) -> String {
    let top = match rule.top {
        SymbolId::EPSILON => "-".to_owned(),
        top => top.0.to_string(),
    };
    let right = match rule.replace {
        Replace::Pop => "-".to_owned(),
        Replace::Step(symbol) => symbol.0.to_string(),
        Replace::Push(first, second) => format!("{} {}", first.0, second.0),
    };
    format!("{} {top} -> {} {right}", rule.from.0, rule.to.0)
}

/// The contexts as JSON: runs by number, the main one last, as for other systems.
fn schedule(
    run: &[Context],
    threads: &[(Vec<Rule>, Vec<SymbolId>)],
    numbers: &Numbers,
) -> Vec<Value> {
    let context = |context: &Context| {
        let rules = &threads[context.thread].0;
        // Rules are counted through the file.
        let before: usize = (threads[..context.thread].iter())
            .map(|(rules, _)| rules.len())
            .sum();
        let step = |step: &Move| {
            let number = step.rule().map(|rule| before + rule as usize);
            let text = step.rule().map(|rule| written(&rules[rule as usize]));
            let mut object = json!({ "rule": number, "text": text });
            if let Some(run) = step.run() {
                object["call"] = json!(run);
            }
            object
        };
        let runs = context.run.runs.iter();
        let runs: Vec<Vec<Value>> = runs.map(|run| run.iter().map(step).collect()).collect();
        json!({
            "thread": context.thread + 1,
            "start": numbers.configuration(context.thread, &context.run.start),
            "end": numbers.configuration(context.thread, &context.run.end),
            "steps": exact(context.run.len()),
            "runs": runs,
        })
    };
    run.iter().map(context).collect()
}

/// The contexts as text, at most about so many lines of steps.
fn shown(
    run: &[Context],
    threads: &[(Vec<Rule>, Vec<SymbolId>)],
    numbers: &Numbers,
    most: usize,
) -> String {
    let (mut text, mut lines) = (String::new(), 0);
    for context in run {
        let _ = writeln!(
            text,
            "\nthread {}: {} to {}",
            context.thread + 1,
            numbers.configuration(context.thread, &context.run.start),
            numbers.configuration(context.thread, &context.run.end)
        );
        let rules = &threads[context.thread].0;
        let mut stack = vec![(context.run.main().iter(), 1)];
        while let Some((moves, depth)) = stack.last_mut() {
            let Some(step) = moves.next() else {
                stack.pop();
                continue;
            };
            let depth = *depth;
            if let Some(rule) = step.rule() {
                if lines == most {
                    let _ = writeln!(text, "  … (--max-steps shows more, --json everything)");
                    return text;
                }
                lines += 1;
                let _ = writeln!(text, "{}{}", indent(depth), written(&rules[rule as usize]));
            }
            if let Some(run) = step.run() {
                let inner = depth + usize::from(step.rule().is_some());
                stack.push((context.run.runs[run as usize].iter(), inner));
            }
        }
    }
    text + "\n"
}
