//! `droste check`: reads the program and the property, has them checked, shows the answer.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use droste_base::Verdict;
use droste_base::words::{count, counted};
use droste_check::{
    Algorithm, Bound, Effort, Evidence, Explored, Options, Passes, Property, Report, Weighing,
};
use droste_lang::lower::lower;
use droste_lang::parser::{self, parse, parse_monitor};
use droste_lang::{printer, properties};
use droste_program::Program;
use droste_program::dot;
use droste_program::monitor::Monitor;
use droste_report::{RunJson, Shown, Style, visible};
use droste_source::diagnostics::Diagnostic;
use droste_source::{SourceFile, io_reason};
use serde::Serialize;

use crate::args::{CheckArgs, Emit, Engine, Order, Pass, Runs, SearchArgs};
use crate::console::{Console, Failure};
use crate::critical;
use crate::frame::{Frame, UNKNOWN, Volume};
use crate::input;
use crate::output::{self, Answer};
use crate::temporal::Several;
use crate::verdict::{self, Subject};

/// Yellow.
pub(crate) const UNKNOWN_COLOR: &str = "1;33";

/// Runs the command; the exit code.
pub(crate) fn check(args: &CheckArgs, console: &Console) -> Result<u8, Failure> {
    let volume = Volume {
        json: args.output.json,
        quiet: args.output.quiet,
        verbose: args.output.verbose,
    };
    let run = Run {
        args,
        frame: Frame::new(console, &args.limits, volume),
        question: Arc::new(Mutex::new(question_before_reading(args))),
        several: Arc::new(Mutex::new(
            // How many there are is not known yet.
            (args.property.ltl_file.is_some()).then(Several::default),
        )),
        explored: Arc::default(),
        found: Arc::default(),
    };
    run.watch();
    let result = run.check();
    // The watchdog does not speak after an error either.
    run.frame.claim();
    result
}

/// What is asked, as far as the command line tells; to be read after `whether`.
fn question_before_reading(args: &CheckArgs) -> String {
    let property = &args.property;
    if let Some(file) = &property.monitor {
        let file = visible(&input::name(file));
        format!("a run takes the monitor in `{file}` to a target or repeating state")
    } else if let [text, ..] = &property.ltl[..] {
        format!("every run satisfies {text}")
    } else if let Some(file) = &property.ltl_file {
        format!(
            "every run satisfies the formulas in `{}`",
            visible(&input::name(file))
        )
    } else if let Some(file) = &property.hoa {
        format!(
            "a run is accepted by the automaton in `{}`",
            visible(&input::name(file))
        )
    } else if !property.reach.is_empty() {
        format!("a run reaches {}", property.reach.join(" or "))
    } else if property.deadlock {
        "a run gets stuck".to_owned()
    } else if !property.repeat.is_empty() {
        format!(
            "a run visits {} infinitely often",
            property.repeat.join(" or ")
        )
    } else {
        verdict::DEFAULT_QUESTION.to_owned()
    }
}

impl Run<'_> {
    fn check(&self) -> Result<u8, Failure> {
        let (run, args) = (self, self.args);
        check_trace_file(args)?;
        if args.property.ltl.len() > 1 {
            return Err(Failure::Because(
                "a Boolean program is asked about one --ltl at a time; write several formulas into \
                 a file, each as `name: formula`, and give it with --ltl-file"
                    .to_owned(),
            ));
        }
        run.warn_about_flags();
        let source = run.frame.read(&args.file)?;
        run.frame.say(|| {
            format!(
                "{}: {} bytes",
                source.name(),
                count(source.text().len() as u64)
            )
        });
        let Some(program) = run.front_end(&source)? else {
            return Ok(0);
        };
        *run.explored.lock().unwrap_or_else(PoisonError::into_inner) =
            Explored::not_yet(&program, run.bound());
        if let Some(file) = &args.property.ltl_file {
            return run.check_file(&source, &program, file);
        }
        let mut automata = match &args.property.hoa {
            Some(file) => run.hoa(file, &program)?,
            None => Vec::new(),
        };
        if automata.len() > 1 && !program.is_concurrent() {
            return run.check_all(&source, &program, &automata);
        }
        let property = match automata.pop() {
            Some((_, property)) => property,
            None => run.property(&program)?,
        };
        if args.output.emit == Some(Emit::Formula) {
            return run.emit_formula(&program, &property);
        }
        let subject = Subject {
            program: &program,
            property: &property,
            runs: runs(args.search.runs),
        };
        if subject.is_vacuous() {
            let ask = if program.is_concurrent() {
                "ask about a label with --reach, or use --deadlock"
            } else {
                "ask about a label with --reach or --repeat, or use --ltl, --deadlock or a --monitor"
            };
            run.frame.warn(&format!(
                "there is nothing to check: no assertion, no label ERROR or SLIC_ERROR, and only \
                 Booleans; {ask}"
            ));
        }
        if args.search.runs.is_some() && !subject.is_about_infinite_runs() {
            run.frame
                .warn("--runs has no effect: the property is not about infinite runs");
        }
        if args.search.order.is_some() && subject.is_about_infinite_runs() {
            run.frame
                .warn("--order has no effect: the property is about infinite runs");
        }
        *run.question.lock().unwrap_or_else(PoisonError::into_inner) = subject.question();
        run.warn_about_threads(&program);
        let report = run.search(&subject)?;
        run.show(&source, &subject, &report)
    }

    /// Warns about flags that have no effect for programs with threads, or for others.
    fn warn_about_threads(&self, program: &Program) {
        let (threads, search) = (&self.args.threads, &self.args.search);
        let (flags, why) = if program.is_concurrent() {
            // That of other engines is warned about anyway.
            let calculus =
                search.engine == Engine::Calculus || self.args.output.emit == Some(Emit::Formula);
            let flags = vec![
                (search.order.is_some(), "--order"),
                (search.eager, "--eager"),
                (search.algorithm.is_some() && calculus, "--algorithm"),
            ];
            (flags, "the program has threads")
        } else {
            let flags = vec![
                (threads.contexts.is_some(), "--contexts"),
                (threads.rounds.is_some(), "--rounds"),
            ];
            (flags, "the program has no threads")
        };
        for (given, flag) in flags {
            if given {
                self.frame.warn(&format!("{flag} has no effect: {why}"));
            }
        }
    }

    /// Warns about flags that have no effect, whatever the program is.
    fn warn_about_flags(&self) {
        let CheckArgs {
            property,
            threads,
            search,
            output,
            ..
        } = self.args;
        for flag in self.args.heap.given() {
            self.frame
                .warn(&format!("{flag} has no effect: it is for heap programs"));
        }
        if search.no_passes && !search.skip_pass.is_empty() {
            self.frame
                .warn("--skip-pass has no effect: --no-passes leaves out all of them");
        }
        if search.order.is_some() && !property.critical.is_empty() {
            self.frame
                .warn("--order has no effect: the run with critical labels is a shortest one");
        }
        let explicit = matches!(search.engine, Engine::Auto | Engine::Explicit);
        let explores = explicit || search.engine == Engine::Tableau;
        for (given, flag) in [
            (search.order.is_some() && !explicit, "--order"),
            (search.eager && !explores, "--eager"),
        ] {
            if given {
                self.frame.warn(&format!(
                    "{flag} has no effect: it is for engines that search state by state"
                ));
            }
        }
        if search.algorithm.is_some()
            && search.engine != Engine::Calculus
            && output.emit != Some(Emit::Formula)
        {
            self.frame
                .warn("--algorithm has no effect: it is for --engine calculus");
        }
        let formulas = matches!(search.engine, Engine::Auto | Engine::Calculus);
        if !formulas && output.emit == Some(Emit::Formula) {
            self.frame
                .warn("--engine has no effect: with --emit formula, nothing is checked");
        }
        if search.method.is_some() && search.engine != Engine::Wpds {
            self.frame
                .warn("--method has no effect: it is for --engine wpds");
        }
        if output.emit.is_none_or(|what| what == Emit::Formula) {
            return;
        }
        for (given, flag) in [
            (!property.reach.is_empty(), "--reach"),
            (!property.critical.is_empty(), "--critical"),
            (property.deadlock, "--deadlock"),
            (!property.repeat.is_empty(), "--repeat"),
            (property.monitor.is_some(), "--monitor"),
            (!property.ltl.is_empty(), "--ltl"),
            (property.ltl_file.is_some(), "--ltl-file"),
            (property.hoa.is_some(), "--hoa"),
            (threads.contexts.is_some(), "--contexts"),
            (threads.rounds.is_some(), "--rounds"),
            (search.runs.is_some(), "--runs"),
            (search.order.is_some(), "--order"),
        ] {
            if given {
                self.frame.warn(&format!(
                    "{flag} has no effect: with --emit, nothing is checked"
                ));
            }
        }
    }
}

/// What would go wrong after a long search goes wrong before it.
pub(crate) fn check_trace_file(args: &CheckArgs) -> Result<(), Failure> {
    let Some(file) = &args.output.trace else {
        return Ok(());
    };
    let refuse = |reason: &str| {
        Err(Failure::Because(format!(
            "cannot write the trace to `{}`: {reason}",
            file.display()
        )))
    };
    if file.as_os_str() == "-" {
        return if args.output.json {
            refuse("with --json, standard output holds one object, which contains the trace")
        } else {
            Ok(())
        };
    }
    let property = &args.property;
    let properties = [&property.monitor, &property.ltl_file, &property.hoa];
    let inputs = [Some(&args.file)]
        .into_iter()
        .chain(properties.map(Option::as_ref));
    if let Ok(file) = file.canonicalize() {
        if file.is_dir() {
            return refuse("it is a directory");
        }
        if inputs
            .flatten()
            .any(|input| input.canonicalize().is_ok_and(|i| i == file))
        {
            return refuse("it is read by this check");
        }
    } else if let Some(dir) = file.parent().filter(|dir| !dir.as_os_str().is_empty())
        && !dir.is_dir()
    {
        return refuse(&format!("there is no directory `{}`", dir.display()));
    }
    Ok(())
}

/// A check under way.
pub(crate) struct Run<'a> {
    pub(crate) args: &'a CheckArgs,
    pub(crate) frame: Frame<'a>,
    /// What is asked, to be read after `whether`.
    pub(crate) question: Arc<Mutex<String>>,
    /// If there are several questions: all of them.
    pub(crate) several: Arc<Mutex<Option<Several>>>,
    /// If the program has threads: what is said of them before there is an answer.
    explored: Arc<Mutex<Option<Explored>>>,
    /// Whether there is an answer, and a run is being written down.
    pub(crate) found: Arc<AtomicBool>,
}

impl Run<'_> {
    /// Shows what is to be said about a file, and whether there is an error in it.
    pub(crate) fn refused(
        &self,
        diagnostics: &[Diagnostic],
        source: &SourceFile,
    ) -> Result<(), Failure> {
        self.frame.refused(diagnostics, source)
    }

    pub(crate) fn dialect(&self) -> parser::Dialect {
        self.args.search.dialect.into()
    }

    /// Parses and resolves the program; `None` if it was to be printed only, and has been.
    fn front_end(&self, source: &SourceFile) -> Result<Option<Program>, Failure> {
        let parsed = parse(source, self.dialect());
        self.frame.refused_program(&parsed.diagnostics, source)?;
        self.frame.say(|| "parsed".to_owned());
        let (program, diagnostics) = lower(&parsed.ast);
        self.refused(&diagnostics, source)?;
        let program = program.ok_or_else(|| {
            Failure::Because(
                "the program was refused without a reason: a defect in Droste".to_owned(),
            )
        })?;
        self.frame.say(|| {
            format!(
                "resolved: {}, {}, {}",
                counted(program.procedures.len() as u64, "procedure"),
                counted(program.nodes.len() as u64, "node"),
                counted(program.globals.len() as u64, "global")
            )
        });
        let text = match self.args.output.emit {
            None | Some(Emit::Formula) => return Ok(Some(program)),
            Some(Emit::Program) => printer::print(&parsed.ast),
            Some(Emit::Dot) => dot::dot(&program, source),
            Some(Emit::Html) => {
                return Err(Failure::Because(
                    "--emit html is for heap programs".to_owned(),
                ));
            }
        };
        self.frame.claim();
        Console::print(&text)?;
        Ok(None)
    }

    fn property(&self, program: &Program) -> Result<Property, Failure> {
        let args = &self.args.property;
        Ok(match &args.monitor {
            Some(file) => Property::Monitor(self.monitor(file, program)?),
            None if !args.critical.is_empty() => Property::Critical {
                reach: args.reach.clone(),
                critical: args.critical.clone(),
            },
            None if !args.reach.is_empty() => Property::Reach(args.reach.clone()),
            None if args.deadlock => Property::Deadlock,
            None if !args.repeat.is_empty() => Property::Repeat(args.repeat.clone()),
            None => match &args.ltl[..] {
                [] => Property::Default,
                [text, ..] => self.ltl(text, program)?,
            },
        })
    }

    fn monitor(&self, file: &Path, program: &Program) -> Result<Monitor, Failure> {
        if file.as_os_str() == "-" && self.args.file.as_os_str() == "-" {
            return Err(Failure::Because(
                "the program and the monitor cannot both come from standard input".to_owned(),
            ));
        }
        let source = self.frame.read(file)?;
        let (syntax, diagnostics) = parse_monitor(&source, self.dialect());
        self.refused(&properties::relevant(program, diagnostics), &source)?;
        let syntax = syntax.ok_or(Failure::Told)?;
        let monitor = properties::monitor(&syntax, program).or_else(|diagnostics| {
            self.refused(&diagnostics, &source)?;
            Err(Failure::Told)
        })?;
        self.refused(&properties::monitor_warnings(&syntax), &source)?;
        Ok(monitor)
    }

    /// The formulas of the calculus engine: a name first, then a file.
    fn algorithm(&self) -> Result<Algorithm, Failure> {
        let Some(given) = &self.args.search.algorithm else {
            return Ok(Algorithm::default());
        };
        if let Some(Ok(named)) = given.to_str().map(str::parse) {
            return Ok(Algorithm::Named(named));
        }
        if given.as_os_str() == "-" && self.args.file.as_os_str() == "-" {
            return Err(Failure::Because(
                "the program and the algorithm cannot both come from standard input".to_owned(),
            ));
        }
        let source =
            input::read(given, || self.frame.watchdog.pause_at_limit()).map_err(|reason| {
                Failure::Because(format!(
                    "{reason}; the algorithms that come with droste are simple, ef, ef-opt and procedures"
                ))
            })?;
        Ok(Algorithm::Own(source))
    }

    /// Prints the question as a formula.
    fn emit_formula(&self, program: &Program, property: &Property) -> Result<u8, Failure> {
        let options = Options {
            algorithm: self.algorithm()?,
            passes: passes(&self.args.search),
            bound: self.bound(),
            ..Options::default()
        };
        let text = droste_check::formula(program, property, &options)
            .map_err(|fault| Failure::Because(fault.to_string()))?;
        self.frame.claim();
        Console::print(&text)?;
        Ok(0)
    }

    /// Has the question answered, within the limits and until Ctrl-C.
    pub(crate) fn search(&self, subject: &Subject<'_>) -> Result<Report, Failure> {
        let watchdog = &self.frame.watchdog;
        watchdog.search_begins();
        let line = self.frame.progress();
        let reporter = |progress| {
            watchdog.note(progress);
            line.show(progress);
        };
        self.found.store(false, Ordering::Relaxed);
        let answered = || self.found.store(true, Ordering::Relaxed);
        let log = |message: &str| self.frame.say(|| message.to_owned());
        let level = |levels, level| {
            let what = verdict::levels(levels, level);
            self.frame.say(|| format!("searching: {what}"));
            line.label(format!(", {what}"));
        };
        let mut options = self.options(&reporter)?;
        options.answered = Some(&answered);
        options.log = Some(&log);
        options.level = Some(&level);
        let report = droste_check::check(subject.program, subject.property, &options);
        line.erase();
        let report = report.map_err(|fault| Failure::Because(fault.to_string()))?;
        self.frame.say(|| effort(&report));
        Ok(report)
    }

    /// How to search, within the limits and until Ctrl-C.
    pub(crate) fn options<'r>(
        &self,
        reporter: droste_base::Reporter<'r>,
    ) -> Result<Options<'r>, Failure> {
        let search = &self.args.search;
        Ok(Options {
            engine: engine(search.engine),
            algorithm: self.algorithm()?,
            weighing: match search.method.as_deref() {
                None => Weighing::default(),
                Some(method) => Weighing {
                    method: match method {
                        "chaotic" => Some(droste_check::Method::Chaotic),
                        "path" => Some(droste_check::Method::Paths),
                        _ => {
                            return Err(Failure::Because(format!(
                                "there is no method `{method}`; there are `chaotic` and `path`"
                            )));
                        }
                    },
                    ..Weighing::default()
                },
            },
            order: match search.order {
                None | Some(Order::Dfs) => droste_check::Order::Dfs,
                Some(Order::Bfs) => droste_check::Order::Bfs,
            },
            shorten: search.order.is_none(),
            runs: runs(search.runs),
            tell_apart: self.tells_apart(),
            bound: self.bound(),
            passes: passes(search),
            eager: search.eager,
            tuning: droste_check::Tuning::default(),
            evidence: match (self.args.output.no_trace, search.no_replay) {
                (true, _) => Evidence::Verdict,
                (false, true) => Evidence::Written,
                (false, false) => Evidence::Replayed,
            },
            limits: self.frame.limits(),
            reporter: Some(reporter),
            ..Options::default()
        })
    }

    /// How many switches or rounds are tried.
    fn bound(&self) -> Option<Bound> {
        let threads = &self.args.threads;
        threads
            .contexts
            .map(Bound::Switches)
            .or(threads.rounds.map(Bound::Rounds))
    }

    /// Whether runs of bounded stack are told apart from others, whatever it takes.
    fn tells_apart(&self) -> bool {
        self.args.search.runs == Some(Runs::Both)
    }

    /// What is printed if a limit is reached before there is an answer.
    fn watch(&self) {
        let file = input::name(&self.args.file);
        let question = Arc::clone(&self.question);
        let several = Arc::clone(&self.several);
        let explored = Arc::clone(&self.explored);
        let emit = self.args.output.emit.is_some();
        let start = self.frame.start;
        let (json, quiet) = (self.args.output.json, self.args.output.quiet);
        let word = self.frame.console.paint(UNKNOWN_COLOR, "unknown");
        let known = Arc::clone(&self.frame.watchdog);
        let found = Arc::clone(&self.found);
        let engine = engine(self.args.search.engine);
        self.frame.watch(move |reason| {
            let time = start.elapsed();
            let question = question.lock().unwrap_or_else(PoisonError::into_inner);
            if emit {
                // Standard output is for the program.
                let text = verdict::undecided(&reason, "the program was printed");
                if !quiet {
                    Console::note(&format!("unknown: {text}\n"));
                }
                return UNKNOWN;
            }
            let reason = if found.load(Ordering::Relaxed) {
                reason.unwritten()
            } else {
                reason
            };
            let goal = verdict::known(&verdict::cut(&question));
            let text = verdict::undecided(&reason, &goal);
            let effort = known.effort();
            let engine = engine.at_work(effort.as_ref());
            let report = Report {
                effort: effort.filter(|effort| effort.is_of(engine)),
                explored: *explored.lock().unwrap_or_else(PoisonError::into_inner),
                time,
                ..Report::stopped(engine, reason.clone())
            };
            let object = |question: &str| verdict::object(&file, question, &report, time);
            let mut several = several.lock().unwrap_or_else(PoisonError::into_inner);
            let name = match &mut *several {
                Some(several) => several.give_up(&word, &reason, object),
                None => String::new(),
            };
            let printed = match &*several {
                Some(several) if json => output::print(&several.object(&file, time)),
                None if json => output::print(&object(&question)),
                _ if quiet => Ok(()),
                several => Console::print(&format!(
                    "{name}{word}: {text}\n{}\n{}",
                    verdict::statistics(&report, time),
                    (several.as_ref().map(Several::summary))
                        .filter(|summary| !summary.is_empty())
                        .map_or_else(String::new, |summary| format!("\n{summary}"))
                )),
            };
            match printed {
                Ok(()) => several.as_ref().map_or(UNKNOWN, Several::code),
                Err(_) => 2,
            }
        });
    }

    /// Writes the answer to standard output, and the trace where it was asked for.
    fn show(
        &self,
        source: &SourceFile,
        subject: &Subject<'_>,
        report: &Report,
    ) -> Result<u8, Failure> {
        let flags = &self.args.output;
        let trace = verdict::shown(subject, source, report);
        let object = (flags.json).then(|| self.object(source, subject, report, trace.as_ref()));
        let page = (!flags.json && !flags.quiet)
            .then(|| self.page(source, subject, report, trace.as_ref()));
        self.frame.claim();
        // If the file of --trace cannot be written, standard output stays empty.
        if let Some(trace) = &trace {
            let text = |color, width| self.trace(trace, color, width);
            self.write_trace(&text, || trace.json())?;
        }
        if let Some(object) = object {
            output::print(&object)?;
        }
        if let Some(page) = page {
            Console::print(&page)?;
        }
        Ok(exit_code(&report.verdict))
    }

    /// The answer as JSON.
    pub(crate) fn object<'t>(
        &self,
        source: &SourceFile,
        subject: &Subject<'_>,
        report: &Report,
        trace: Option<&'t Shown<'_>>,
    ) -> Answer<RunJson<'t>> {
        let total = self.frame.elapsed();
        let mut fields = verdict::object(source.name(), &subject.question(), report, total);
        if let Some(vacuity) = &report.vacuous {
            fields["vacuous"] = subject.vacuous(source, vacuity).into();
        }
        if !report.critical.is_empty() {
            fields["critical"] = critical::object(subject.program, source, &report.critical);
        }
        Answer {
            fields,
            trace: trace.map(Shown::json),
        }
    }

    fn trace(&self, trace: &Shown<'_>, color: bool, width: usize) -> String {
        trace.text(&Style {
            color,
            max_steps: self.args.output.max_steps,
            width,
        })
    }

    /// The answer as text.
    pub(crate) fn page(
        &self,
        source: &SourceFile,
        subject: &Subject<'_>,
        report: &Report,
        trace: Option<&Shown<'_>>,
    ) -> String {
        let word = self.word(&report.verdict);
        let mut page = format!("{word}: {}\n", subject.sentence(report));
        if let Some(violators) = report.violators {
            page += verdict::which_runs(violators, subject.runs, self.tells_apart());
        }
        if let Some(vacuity) = &report.vacuous {
            page += &subject.vacuous(source, vacuity);
            page.push('\n');
        }
        page += &critical::text(subject.program, source, &report.critical);
        if let Some(trace) = trace {
            page.push('\n');
            page += &self.trace(trace, self.frame.console.out_color(), Console::width());
            page.push('\n');
        }
        let statistics = verdict::statistics(report, self.frame.elapsed());
        page += &self.frame.console.paint("2", &statistics);
        page.push('\n');
        page
    }

    /// `holds`, `violated` or `unknown`, in its colour.
    pub(crate) fn word<T>(&self, verdict: &Verdict<T>) -> String {
        let color = match verdict {
            Verdict::Holds(_) => "1;32",
            Verdict::Violated(_) => "1;31",
            Verdict::Unknown(_) => UNKNOWN_COLOR,
        };
        self.frame.console.paint(color, verdict.word())
    }

    /// Writes the trace to the file of `--trace`, if there is one.
    pub(crate) fn write_trace<T: Serialize>(
        &self,
        text: &dyn Fn(bool, usize) -> String,
        json: impl FnOnce() -> T,
    ) -> Result<(), Failure> {
        let flags = &self.args.output;
        let Some(file) = &flags.trace else {
            return Ok(());
        };
        let to_stdout = file.as_os_str() == "-";
        if to_stdout && !flags.quiet {
            // It is there already.
            return Ok(());
        }
        if to_stdout {
            return Console::print(&text(self.frame.console.out_color(), Console::width()));
        }
        let is_json = file
            .extension()
            .is_some_and(|e| e.eq_ignore_ascii_case("json"));
        let written = if is_json {
            output::write_file(file, &json())
        } else {
            output::save_text(file, &text(false, Style::default().width))
        };
        written.map_err(|error| {
            let (file, why) = (file.display(), io_reason(&error));
            Failure::Because(format!("cannot write the trace to `{file}`: {why}"))
        })
    }
}

/// The exit code for a verdict.
pub(crate) fn exit_code<T>(verdict: &Verdict<T>) -> u8 {
    match verdict {
        Verdict::Holds(_) => 0,
        Verdict::Violated(_) => 1,
        Verdict::Unknown(_) => 3,
    }
}

pub(crate) fn runs(runs: Option<Runs>) -> droste_check::Runs {
    match runs {
        None | Some(Runs::All | Runs::Both) => droste_check::Runs::All,
        Some(Runs::FiniteStack) => droste_check::Runs::FiniteStack,
    }
}

fn engine(engine: Engine) -> droste_check::Engine {
    match engine {
        Engine::Auto => droste_check::Engine::Auto,
        Engine::Explicit => droste_check::Engine::Explicit,
        Engine::Bdd => droste_check::Engine::Bdd,
        Engine::Calculus => droste_check::Engine::Calculus,
        Engine::Tableau => droste_check::Engine::Tableau,
        Engine::Wpds => droste_check::Engine::Wpds,
    }
}

/// What it took, for the curious.
fn effort(report: &Report) -> String {
    let engine = report.engine;
    match &report.effort {
        None => match report.verdict {
            Verdict::Unknown(_) => format!("{engine} engine: stopped before the first step"),
            _ => format!("{engine} engine: nothing to search"),
        },
        Some(Effort::Explicit(stats)) => format!(
            "{engine} engine: {}, {}, {}, {}, {} bytes in tables",
            counted(stats.path_edges, "path edge"),
            counted(stats.states, "state"),
            counted(stats.entries, "entry state"),
            counted(stats.summaries, "summary"),
            count(stats.bytes),
        ),
        Some(
            effort @ (Effort::Symbolic(stats) | Effort::Calculus(stats) | Effort::Weighted(stats)),
        ) => format!(
            "{engine} engine: {}, {}, {}, at most {}, {} bytes in tables, {}",
            counted(
                stats.images,
                match effort {
                    Effort::Weighted(_) => "product",
                    _ => "image",
                }
            ),
            counted(stats.nodes_reached, "program node"),
            counted(stats.variables, "variable"),
            counted(stats.peak_nodes, "diagram node"),
            count(stats.bytes),
            counted(stats.reorderings, "reordering"),
        ),
    }
}

fn passes(args: &SearchArgs) -> Passes {
    if args.no_passes {
        return Passes::none();
    }
    let mut passes = Passes::default();
    for pass in &args.skip_pass {
        match pass {
            Pass::Constants => passes.constants = false,
            Pass::Unreachable => passes.unreachable = false,
            Pass::Slice => passes.slice = false,
            Pass::Dead => passes.dead = false,
            Pass::Absorb => passes.absorb = false,
        }
    }
    passes
}
