//! `droste check` for heap programs: Java methods over linked structures.
//!
//! What is to be checked comes from flags or from a settings file; both become the same
//! [`Settings`]. The answer is one report for memory safety and one for each formula; the exit code
//! is the worst of them.

pub(crate) mod args;
mod draw;
mod show;
mod text;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use droste_base::words::counted;
use droste_heap::{Heap, Predefined, Renaming, Warning, WarningKind};
use droste_ltl::ResolvedFormula;
use droste_report::visible;
use droste_shape::check::{
    Answer, Checked, Checking, MEMORY_SAFETY, NO_LEAKS, Report, check_telling,
};
use droste_shape::load::{LoadError, Loaded, load, root_of};
use droste_shape::proposition::{self, NamedFormula, Proposition};
use droste_shape::settings::{Mode, Settings, Verbosity};
use droste_shape::task::Task;
use droste_source::diagnostics::Diagnostic;
use droste_source::{SourceFile, Span, io_reason};

use crate::args::{CheckArgs, Dialect, Emit, Engine};
use crate::check::check_trace_file;
use crate::console::{Console, Failure};
use crate::frame::{Frame, UNKNOWN, Volume};
use crate::heap::args::{HeapArgs, Picture, Word};
use crate::heap::draw::Drawing;
use crate::heap::text::Sources;
use crate::{input, output};

/// Whether a file is a heap program, says how to check one, or describes heaps.
pub(crate) fn is_heap_program(args: &CheckArgs) -> bool {
    let file = &args.file;
    let known = ["attestor", "java", "class", "jar", "sid"];
    is_one_of(file, &known)
        || is_one_of(file, &["json"])
        || file.is_dir()
        || args.heap.read
        || is_drawn_text(args)
}

/// A flag for heap programs, if standard input is to be one. It is none: nobody knows what its class is.
pub(crate) fn asks_of_input(args: &CheckArgs) -> Option<&'static str> {
    if args.file.as_os_str() != "-" {
        return None;
    }
    let method = args.search.method.as_deref();
    let method = method.filter(|method| !["chaotic", "path"].contains(method));
    let mut flags = args.heap.given();
    flags.next().or(method.map(|_| "--method"))
}

/// Whether a picture is wanted of a text that is a heap or inductive predicates, whatever it is called.
fn is_drawn_text(args: &CheckArgs) -> bool {
    let drawn = matches!(args.output.emit, Some(Emit::Dot | Emit::Html));
    if !drawn || !is_one_of(&args.file, &["txt"]) {
        return false;
    }
    let Ok(text) = std::fs::read_to_string(&args.file) else {
        return false;
    };
    // Both begin with a predicate and its parameters. It need not be right: what is wrong with it is
    // said by those who read it.
    let behind = text.split_once(')').map_or("", |(_, behind)| behind);
    behind.trim_start().starts_with("<=")
}

fn is_one_of(file: &Path, known: &[&str]) -> bool {
    let extension = file.extension().and_then(|extension| extension.to_str());
    extension.is_some_and(|extension| known.contains(&extension))
}

/// Whether the file is a list of settings.
fn is_settings(args: &CheckArgs) -> bool {
    args.heap.read || is_one_of(&args.file, &["attestor"])
}

/// Whether the file is a heap or a grammar, to be drawn.
fn is_description(args: &CheckArgs) -> bool {
    (is_one_of(&args.file, &["json", "sid"]) || is_drawn_text(args)) && !args.heap.read
}

/// Runs the command; the exit code.
pub(crate) fn check_heaps(args: &CheckArgs, console: &Console) -> Result<u8, Failure> {
    let volume = Volume {
        json: args.output.json,
        quiet: args.output.quiet,
        verbose: args.output.verbose,
    };
    let mut frame = Frame::new(console, &args.limits, volume);
    let (file, json) = (input::name(&args.file), args.output.json);
    let known = Arc::new(Mutex::default());
    let told = Arc::clone(&known);
    frame.watch(move |reason| show::stopped(&file, json, &reason, &told));
    let result = run(args, &mut frame, &known);
    frame.claim();
    result
}

/// How long the parts took, and what was taken for granted on the way.
#[derive(Default)]
pub(crate) struct Phases {
    pub(crate) compiling: Option<Duration>,
    pub(crate) loading: Duration,
    /// Where something unknown was taken not to be null: files and lines.
    pub(crate) assumed: Vec<(String, u32)>,
}

/// What is known before all is: each property, and whether it is violated.
pub(crate) type Known = Mutex<Vec<(String, bool)>>;

fn run(args: &CheckArgs, frame: &mut Frame<'_>, known: &Known) -> Result<u8, Failure> {
    refuse_other_flags(args)?;
    check_trace_file(args)?;
    if args.file.is_dir() && args.heap.class.is_none() {
        return Err(Failure::Because(format!(
            "`{}` is a directory: name a program in it, or for Java classes say which with --class",
            args.file.display()
        )));
    }
    if is_description(args) {
        return draw::file(args, frame);
    }
    let (settings, written) = settings(args, frame)?;
    let start = Instant::now();
    let mut classpath = args.heap.classpath.clone();
    let root = if is_settings(args) {
        let root = args.heap.root_path.clone();
        root.unwrap_or_else(|| root_of(&args.file, &settings))
    } else {
        classpath.insert(0, args.file.clone());
        PathBuf::new()
    };
    let loaded = load(&settings, &root, &classpath, args.heap.compat);
    let Loaded {
        mut task,
        warnings,
        remarks,
        misfits,
        compiling,
    } = match loaded {
        Ok(loaded) => loaded,
        Err(LoadError::Wrong(problems, source)) => {
            frame.refused(&problems, &source)?;
            return Err(Failure::Told);
        }
        Err(error) => {
            // Suites of settings files are often run from a directory above them.
            let astray = error.is_about_a_path() && args.heap.root_path.is_none();
            let astray = astray && is_settings(args);
            let help =
                "; paths in the file begin where the file is, unless --root-path says otherwise";
            let help = if astray { help } else { "" };
            return Err(Failure::Because(format!("{error}{help}")));
        }
    };
    task.options.leaks = args.heap.leaks;
    // ATTESTOR collects no garbage where there are balanced trees, and formulas rely on it.
    let as_reference = is_settings(args) || args.heap.compat;
    if as_reference && settings.abstraction.indexed {
        let balanced = task.symbols.nonterminal("BT").is_some();
        task.options.abstraction.garbage_collection &= !balanced;
    }
    for (diagnostics, source) in &remarks {
        frame.refused(diagnostics, source)?;
    }
    for warning in &warnings {
        // What a contract says about is known.
        let told = |method: &String| warning.message.contains(&**method);
        if !task.contracts.methods().iter().any(told) {
            frame.warn(&warning.to_string());
        }
    }
    for misfit in misfits.iter().take(MISFITS) {
        frame.warn(&visible(misfit));
    }
    warn_about(&task, &settings, args, frame);
    let mut phases = Phases {
        compiling,
        loading: start.elapsed(),
        assumed: Vec::new(),
    };
    frame.say(|| {
        format!(
            "{}, {}",
            counted(task.program.classes.len() as u64, "class"),
            counted(task.program.methods.len() as u64, "method")
        )
    });
    let (names, formulas): (Vec<_>, Vec<_>) =
        formulas(args, frame, &task, &settings, written.as_ref())?
            .into_iter()
            .unzip();
    task.simplify(&formulas);
    classpath.extend(settings.classpath.iter().map(|path| root.join(path)));
    classpath.push(root.clone());
    let sources = Sources::find(&task, &classpath);
    let drawing = match args.output.emit {
        None => None,
        Some(emit @ (Emit::Dot | Emit::Html)) => Some((emit, draw::wanted(args))),
        Some(Emit::Program) => {
            frame.claim();
            Console::print(&task.program.to_string())?;
            return Ok(0);
        }
        Some(Emit::Formula) => {
            return Err(Failure::Because(
                "--emit formula is for Boolean programs".to_owned(),
            ));
        }
    };
    let mut reports = Vec::new();
    // Whoever wants a picture of the program alone waits for no verdict.
    let needs_run = |wanted: &Vec<Picture>| wanted.contains(&Picture::Run);
    if drawing.as_ref().is_none_or(|(_, wanted)| needs_run(wanted)) {
        let checked = checked(args, frame, &mut task, &formulas, &settings, &root, known)?;
        (reports, phases.assumed) = (checked.reports, checked.assumed.into_iter().collect());
        // Formulas come last.
        for (report, name) in reports.iter_mut().rev().zip(names.into_iter().rev()) {
            report.name = name;
        }
    }
    let mut pictures = Drawing {
        task: &mut task,
        formulas: &formulas,
        sources: &sources,
        limits: frame.limits(),
        title: draw::title(&args.file),
    };
    if let Some((emit, wanted)) = drawing {
        let text = match emit {
            Emit::Html => pictures.html(&wanted, &reports)?,
            _ => pictures.dot(&wanted, &reports)?,
        };
        frame.claim();
        Console::print(&text)?;
        return Ok(exit_code(&reports));
    }
    pictures.export(&settings, &root, &reports)?;
    frame.claim();
    show::show(args, frame, &task, &settings, &reports, &phases, &sources)?;
    Ok(exit_code(&reports))
}

/// All formulas: those of the settings, then those of a file.
fn formulas(
    args: &CheckArgs,
    frame: &Frame<'_>,
    task: &Task,
    settings: &Settings,
    written: Option<&SourceFile>,
) -> Result<Vec<NamedFormula>, Failure> {
    let names = proposition::Names {
        // In ATTESTOR a variable that does not exist is undefined.
        any_variable: args.heap.compat,
        ..task.names()
    };
    let mut formulas = Vec::new();
    for (at, text) in settings.formulas.iter().enumerate() {
        match proposition::parse(text, &names) {
            Ok(formula) => formulas.push((None, formula)),
            Err((problems, source)) => {
                let place = settings.places.get(at);
                match written.zip(place).and_then(|(file, place)| {
                    Some((file, place.start + offset(file, *place, text)?))
                }) {
                    Some((file, start)) => frame.refused(&later(problems, start), file)?,
                    None => frame.refused(&problems, &source)?,
                }
            }
        }
    }
    if let Some(file) = &args.property.ltl_file {
        match proposition::parse_file(&frame.read(file)?, &names) {
            Ok(read) => formulas.extend(read),
            Err((problems, source)) => frame.refused(&problems, &source)?,
        }
    }
    for (_, formula) in &formulas {
        for name in names.strangers(formula) {
            frame.warn(&format!(
                "there is no variable `{}`: with --compat all that `{}` says of it is false",
                visible(name),
                visible(&formula.text)
            ));
        }
    }
    Ok(formulas)
}

/// Where the text of a word begins in it: behind its quote, if it has one.
fn offset(file: &SourceFile, place: Span, text: &str) -> Option<u32> {
    let word = file.text().get(place.start as usize..place.end as usize)?;
    u32::try_from(word.find(text)?).ok()
}

/// Problems of a text that begins at this place of a file.
fn later(mut problems: Vec<Diagnostic>, start: u32) -> Vec<Diagnostic> {
    for problem in &mut problems {
        let others = problem.secondary.iter_mut().map(|(span, _)| span);
        for span in std::iter::once(&mut problem.primary.0).chain(others) {
            *span = Span::new(span.start + start, span.end + start);
        }
    }
    problems
}

/// So many warnings are shown about what of a grammar does not fit.
const MISFITS: usize = 5;

/// So many warnings about a grammar are shown, besides one about the order of rules.
const SHOWN: usize = 2;

/// A grammar is looked at for so long.
const PATIENCE: Duration = Duration::from_secs(2);

/// What a grammar of the user's own means for precision, for termination, and for the number of states.
fn warn_about_grammar(task: &Task, args: &CheckArgs, frame: &Frame<'_>) {
    let verbose = args.output.verbose;
    // This is advice: the answer does not wait for it for long.
    let (start, limits) = (Instant::now(), frame.limits());
    let mut guard = limits.guard();
    let mut stop = || start.elapsed() > PATIENCE || guard.check().is_err();
    let all = droste_heap::check_until(&task.symbols, &task.grammar, &mut stop);
    let overlap = |warning: &Warning| warning.kind == WarningKind::NotConfluent;
    let (overlaps, mut others): (Vec<Warning>, Vec<Warning>) = all.into_iter().partition(overlap);
    // That not all was looked at is nothing to act upon.
    others.retain(|warning| verbose || warning.kind != WarningKind::TooLarge);
    let many = others.len();
    if !verbose {
        others.truncate(SHOWN);
    }
    for warning in &others {
        frame.warn(&visible(&warning.message));
    }
    if others.len() < many {
        let more = many - others.len();
        frame.warn(&format!(
            "{more} more about the grammar: -v shows all of them"
        ));
    }
    if let Some((first, more)) = overlaps.split_first() {
        let shown = if verbose { more } else { &[] };
        let hidden = match more.len() - shown.len() {
            0 => String::new(),
            more => format!(", and so do {more} more pairs, which -v shows"),
        };
        frame.warn(&format!(
            "heaps that stand for the same may stay apart, because the order of abstraction matters: {}{hidden}",
            visible(&first.message)
        ));
        for warning in shown {
            frame.warn(&visible(&warning.message));
        }
    }
}

/// The names of a renaming that nobody knows.
fn idle_names(task: &Task, renaming: &Renaming) -> Vec<String> {
    let mut problems = Vec::new();
    let (from, to) = renaming.types();
    let symbols = &task.symbols;
    if !(symbols.types()).any(|id| renaming.is_about(symbols.type_name(id))) {
        problems.push(format!("no grammar and no heap has a type `{from}`"));
    }
    let class = task.program.class_called(to);
    if class.is_none() {
        problems.push(format!("the program has no class `{to}`"));
    }
    for (from, to) in renaming.selectors() {
        if symbols.selector(from).is_none() {
            problems.push(format!("no grammar and no heap has a selector `{from}`"));
        }
        let has = |class| {
            let class = task.program.class(class);
            let mut used = class.fields.iter();
            used.any(|&(field, _)| task.program.field(field) == to)
                || class.unused.iter().any(|(field, _)| field == to)
        };
        if class.is_some_and(|class| !has(class)) {
            problems.push(format!("the class has no field `{to}`"));
        }
    }
    problems
}

/// What may surprise, before anything is checked.
fn warn_about(task: &Task, settings: &Settings, args: &CheckArgs, frame: &Frame<'_>) {
    let missing = task.not_given();
    if !missing.is_empty() && !args.heap.compat {
        let entry = task.program.entry;
        let names = missing.iter().map(|name| task.source_name(entry, name));
        let names: Vec<String> = names.collect();
        frame.warn(&format!(
            "nothing is known of {}: --initial says in which heap `{}` starts ({})",
            names.join(" and "),
            task.program.method(task.program.entry).name,
            missing.join(", ")
        ));
        for (name, parameter) in names.iter().zip(&missing) {
            let variable = task.symbols.variable(name);
            let has = |heap: &Heap| variable.is_some_and(|one| heap.variable(one).is_some());
            if task.initial.iter().any(has) {
                frame.warn(&format!(
                    "the initial heap has a variable `{name}`, which the program does not see: did \
                     you mean `{parameter}`?"
                ));
            }
        }
    }
    // The predefined grammars have been looked at.
    let own = |name: &String| Predefined::named(name).is_none();
    if settings.grammars.iter().any(own) || !settings.predicates.is_empty() {
        warn_about_grammar(task, args, frame);
    }
    for renaming in &settings.renames {
        for problem in idle_names(task, renaming) {
            frame.warn(&format!("--rename: {}", visible(&problem)));
        }
    }
    for signature in task.contracts.methods() {
        if !task.program.mentions(signature) {
            frame.warn(&format!(
                "there is a contract of {}, but no such method in the program",
                visible(signature)
            ));
        }
    }
    for name in &settings.skip {
        if !task
            .program
            .methods
            .iter()
            .any(|method| method.name == *name)
        {
            frame.warn(&format!("no method `{}` is ever called", visible(name)));
        }
    }
}

/// All answers.
fn checked(
    args: &CheckArgs,
    frame: &Frame<'_>,
    task: &mut Task,
    formulas: &[ResolvedFormula<Proposition>],
    settings: &Settings,
    root: &Path,
    known: &Known,
) -> Result<Checked, Failure> {
    let mut asked: Vec<String> = Vec::new();
    if !task.options.compat {
        asked.push(MEMORY_SAFETY.to_owned());
    }
    if task.options.leaks {
        asked.push(NO_LEAKS.to_owned());
    }
    asked.extend(formulas.iter().map(|formula| formula.text.clone()));
    let list = || known.lock().unwrap_or_else(PoisonError::into_inner);
    *list() = asked.into_iter().map(|one| (one, false)).collect();
    let tell = |report: &Report| {
        let violated = matches!(report.answer, Answer::Violated(_));
        let mut list = list();
        let mut asked = list.iter_mut().filter(|one| one.0 == report.property);
        asked.by_ref().for_each(|one| one.1 |= violated);
    };
    frame.watchdog.search_begins();
    let progress = frame.progress();
    let report = |state| progress.show(state);
    let checking = Checking {
        mode: settings.mode.unwrap_or_default(),
        limits: frame.limits(),
        reporter: Some(&report),
        max_steps: args.output.max_steps,
        concrete: !args.output.no_trace,
        contracts: settings.save_contracts.is_some(),
        skip: &settings.skip,
    };
    let checked = check_telling(task, formulas, &checking, &tell)
        .map_err(|error| Failure::Because(format!("a defect in Droste: {error}")))?;
    progress.erase();
    if let (Some(path), Some(text)) = (&settings.save_contracts, &checked.contracts) {
        let path = root.join(path);
        output::save_text(&path, text).map_err(|error| {
            Failure::Because(format!(
                "cannot write the contracts to `{}`: {}",
                path.display(),
                io_reason(&error)
            ))
        })?;
    }
    Ok(checked)
}

/// The worst of all answers.
fn exit_code(reports: &[Report]) -> u8 {
    let code = |report: &Report| match report.answer {
        Answer::Holds => 0,
        Answer::Violated(_) => 1,
        Answer::Unknown(..) => UNKNOWN,
    };
    let codes: Vec<u8> = reports.iter().map(code).collect();
    // A violation is worse than not to know.
    if codes.contains(&1) {
        return 1;
    }
    codes.into_iter().max().unwrap_or(0)
}

/// Flags that mean nothing here.
fn refuse_other_flags(args: &CheckArgs) -> Result<(), Failure> {
    let (property, search, threads) = (&args.property, &args.search, &args.threads);
    const ASK: &str = "ask with --ltl";
    const MODE: &str = "--mode says how it is searched";
    const NONE: &str = "there is nothing like it there";
    for (given, flag, instead) in [
        (!property.reach.is_empty(), "--reach", ASK),
        (property.deadlock, "--deadlock", ASK),
        (!property.repeat.is_empty(), "--repeat", ASK),
        (property.monitor.is_some(), "--monitor", ASK),
        (property.hoa.is_some(), "--hoa", ASK),
        (
            threads.contexts.is_some(),
            "--contexts",
            "one thread is analysed",
        ),
        (
            threads.rounds.is_some(),
            "--rounds",
            "one thread is analysed",
        ),
        (search.algorithm.is_some(), "--algorithm", MODE),
        (search.order.is_some(), "--order", MODE),
        (
            search.runs.is_some(),
            "--runs",
            "formulas are about infinite runs, and a program that has ended stays there",
        ),
        (
            !matches!(search.engine, Engine::Auto | Engine::Explicit),
            "--engine",
            MODE,
        ),
        (search.no_passes, "--no-passes", NONE),
        (!search.skip_pass.is_empty(), "--skip-pass", NONE),
        (search.eager, "--eager", MODE),
        (search.dialect != Dialect::Default, "--dialect", NONE),
    ] {
        if given {
            return Err(Failure::Because(format!(
                "{flag} is for Boolean programs; `{}` is a heap program: {instead}",
                visible(&input::name(&args.file))
            )));
        }
    }
    Ok(())
}

/// What the settings file says, and then the flags; and that file.
fn settings(
    args: &CheckArgs,
    frame: &mut Frame<'_>,
) -> Result<(Settings, Option<SourceFile>), Failure> {
    let heap = &args.heap;
    let mut written = None;
    let from_file = is_settings(args);
    let mut settings = if from_file {
        // The root comes before everything, also before the settings file.
        let below = heap.root_path.as_ref().map(|root| root.join(&args.file));
        let source = match below {
            Some(below) if !args.file.exists() && below.exists() => frame.read(&below)?,
            _ => frame.read(&args.file)?,
        };
        let (settings, warnings) = match Settings::parse(&source) {
            Ok(read) => read,
            Err(problems) => {
                frame.refused(&problems, &source)?;
                return Err(Failure::Told);
            }
        };
        frame.set_volume(
            settings.verbosity == Verbosity::Less,
            settings.verbosity == Verbosity::More,
        );
        frame.refused(&warnings, &source)?;
        written = Some(source);
        settings
    } else {
        let mut settings = Settings::default();
        settings.abstraction.admissible = true;
        settings
    };
    if let Some(class) = &heap.class {
        settings.class = Some(class.clone());
    }
    if let Some(method) = &args.search.method {
        settings.method = Some(method.clone());
    }
    // What the command line names is found from where the command is given, unless a root is named.
    let found = |path: &Path| {
        let whole = std::path::absolute(path).ok();
        let whole = whole.filter(|_| from_file && heap.root_path.is_none());
        whole
            .unwrap_or_else(|| path.to_path_buf())
            .display()
            .to_string()
    };
    for grammar in &heap.grammar {
        let path = Path::new(grammar);
        let named = Predefined::named(grammar).is_some() && !path.exists();
        let grammar = if named { grammar.clone() } else { found(path) };
        settings.grammars.push(grammar);
    }
    settings
        .initial
        .extend(heap.initial.iter().map(|path| found(path)));
    settings
        .contracts
        .extend(heap.contract.iter().map(|path| found(path)));
    if let Some(path) = &heap.save_contracts {
        settings.save_contracts = Some(found(path));
    }
    settings.skip.extend(heap.skip_method.iter().cloned());
    for rename in &heap.rename {
        settings.renames.push(parse_rename(rename)?);
    }
    settings.formulas.extend(args.property.ltl.iter().cloned());
    // If nothing is asked, the question is whether the program can be followed to its end.
    let others = heap.leaks
        || args.property.ltl_file.is_some()
        || settings.save_contracts.is_some()
        || !settings.contracts.is_empty();
    if heap.compat && settings.formulas.is_empty() && !others {
        frame.warn(
            "nothing is checked: with --compat null dereferences go unnoticed, and there is no formula",
        );
        settings.formulas.push("true".into());
    }
    if let Some(mode) = heap.mode {
        settings.mode = Some(mode.into());
    } else if from_file {
        // A settings file means what ATTESTOR means by it.
        settings.mode.get_or_insert(Mode::TopLevel);
    }
    apply(heap, &mut settings)?;
    if let Some(most) = heap.max_heap {
        settings.max_heap = Some(most as u64);
    }
    if let Some(most) = heap.max_states {
        settings.max_states = Some(most as u64);
        settings.max_state_space = None;
    }
    if settings.class.is_none() {
        let stem = args.file.file_stem().and_then(|stem| stem.to_str());
        let source = args
            .file
            .extension()
            .is_some_and(|e| e == "java" || e == "class");
        settings.class = stem.filter(|_| source).map(str::to_owned);
    }
    Ok((settings, written))
}

fn apply(args: &HeapArgs, settings: &mut Settings) -> Result<(), Failure> {
    let words = &args.abstraction;
    let about_variables = words.iter().find(|word| word.minds_variables());
    if let (true, Some(other)) = (words.contains(&Word::Free), about_variables) {
        return Err(Failure::Because(format!(
            "--abstraction: `free` and `{}` exclude each other; with `free`, heaps are abstracted \
             whatever variables point to",
            other.name()
        )));
    }
    let abstraction = &mut settings.abstraction;
    for word in words {
        match word {
            Word::Admissible => abstraction.admissible = true,
            Word::Constants => abstraction.admissible_constants = true,
            Word::Markings => abstraction.admissible_markings = true,
            Word::Full => abstraction.admissible_full = true,
            Word::NoChain => abstraction.no_chain = true,
            Word::Canonical => {
                settings.canonical = true;
                abstraction.make_canonical();
            }
            Word::NoCollapse => abstraction.collapsing = false,
            Word::NoSubsumption => abstraction.subsumption = false,
            Word::Indexed => abstraction.indexed = true,
            Word::NoGarbageCollection => abstraction.garbage_collection = false,
            Word::Free => abstraction.admissible = false,
            Word::PostProcessing => abstraction.post_processing = true,
        }
    }
    if settings.contradicts_itself() {
        return Err(Failure::Because(
            "--abstraction: `canonical` and `post-processing` exclude each other".to_owned(),
        ));
    }
    Ok(())
}

fn parse_rename(text: &str) -> Result<Renaming, Failure> {
    Renaming::read(text.split(' ').filter(|word| !word.is_empty())).map_err(|error| {
        Failure::Because(format!(
            "{error}; for example `--rename 'ListNode=Ring next=succ'`"
        ))
    })
}
