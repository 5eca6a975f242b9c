//! `droste pds`: reads a weighted pushdown system, has it solved, shows the answer.

pub(crate) mod args;
mod concurrent;
mod convert;
mod known;
mod path;
mod show;

use std::ffi::OsStr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use droste_base::words::{counted, seconds};
use droste_base::{Limits, StopReason};
use droste_notation::build::{self, BuildError, Built};
use droste_notation::weight::{Json, Task};
use droste_notation::{
    Configurations, Document, DomainName, Format, Notation, ReadError, SetError, Signs, System,
    read, read_set,
};
use droste_pds::{
    Automaton, Direction, Options, Way, poststar, poststar_on, prestar, prestar_on, reach_on,
};
use droste_source::SourceFile;
use droste_source::diagnostics::Diagnostic;
use serde::Serialize;
use serde_json::json;

use crate::console::{Console, Failure};
use crate::frame::{Frame, UNKNOWN, Volume};
use crate::input::{self, Language};
use crate::output::{self, Cut};
use crate::progress::show_while;
use args::{
    AutomatonArgs, Ends, Method, PathArgs, PdsCommand, ReachArgs, SearchArgs, SystemArgs, WayArgs,
};
use known::Known;

/// Why there is no answer yet.
enum Stop {
    Failure(Failure),
    Limit(StopReason),
    /// A limit was reached while the answer was written.
    Cut(StopReason),
}

impl From<Cut> for Stop {
    fn from(cut: Cut) -> Self {
        match cut {
            Cut::Failure(failure) => Stop::Failure(failure),
            Cut::Limit(reason) => Stop::Cut(reason),
        }
    }
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Self {
        Stop::Failure(failure)
    }
}

impl From<StopReason> for Stop {
    fn from(reason: StopReason) -> Self {
        Stop::Limit(reason)
    }
}

/// Runs the command; the exit code.
pub(crate) fn run(command: &PdsCommand, console: &Console) -> Result<u8, Failure> {
    if let PdsCommand::Convert(args) = command {
        return convert::convert(args, console);
    }
    let (_, limits, show) = command.parts();
    let volume = Volume {
        json: command.json(),
        quiet: show.quiet,
        verbose: show.verbose,
    };
    let frame = Frame::new(console, limits, volume);
    frame.cut_is_unknown();
    let known = Arc::new(Known::new(command, frame.start));
    let shown = command.json().then(|| Arc::clone(&known));
    watch(&frame, shown.clone());
    let result = answer(command, &known, &frame);
    frame.claim();
    match result {
        Ok(code) => Ok(code),
        Err(Stop::Failure(failure)) => Err(failure),
        // A part of the object may have been written: no other one comes behind it.
        Err(Stop::Cut(reason)) => Ok(unknown(&reason, None)),
        Err(Stop::Limit(reason)) => {
            let code = unknown(&reason, shown.as_deref());
            if let (StopReason::OutOfRange, Some(what)) = (&reason, command.in_range()) {
                Console::note(&format!(
                    "help: {what}
"
                ));
            }
            Ok(code)
        }
    }
}

/// What is printed if the watchdog finds that a limit is reached: with `--json`, what is known.
fn watch(frame: &Frame<'_>, known: Option<Arc<Known>>) {
    frame.watch(move |reason| unknown(&reason, known.as_deref()));
}

fn unknown(reason: &StopReason, known: Option<&Known>) -> u8 {
    Console::note(&format!("unknown: {reason}\n"));
    if let Some(known) = known {
        let object = known.object(json!({ "reason": reason.to_string() }));
        if output::print(&object).is_err() {
            return 2;
        }
    }
    UNKNOWN
}

/// A system as it was read, with the text for messages.
struct Loaded {
    name: String,
    text: String,
    format: Format,
    system: System,
    domain: DomainName,
    /// Whether weights are forgotten.
    forget: bool,
    /// Whether weights count steps, and are none of the system's own.
    counted: bool,
}

impl Loaded {
    /// Every rule weighs one step, so that a lightest run is a shortest one.
    fn count_steps(&mut self, args: &ReachArgs) -> Result<(), Failure> {
        let bool_is_asked_for = args.system.weight.as_deref() == Some("bool");
        let other = args.system.weight.is_some() && !self.forget && !bool_is_asked_for;
        if self.domain != DomainName::Bool || other {
            let what =
                "--shortest counts steps: it is for systems without weights, or --weight bool";
            return Err(Failure::Because(what.to_owned()));
        }
        self.system.forget_merges();
        if self.system.has_merges() {
            let what = "--shortest counts steps, but a merge function hides those of a call; leave \
                        --shortest out";
            return Err(Failure::Because(what.to_owned()));
        }
        self.system.count_steps();
        self.domain = DomainName::MinPlus;
        self.forget = false;
        self.counted = true;
        Ok(())
    }

    /// The domain of the system's own weights, unless they are forgotten.
    fn shown_domain(&self) -> DomainName {
        if self.counted {
            DomainName::Bool
        } else {
            self.domain.clone()
        }
    }

    fn tell(&self, frame: &Frame<'_>, list: &[Diagnostic]) -> Failure {
        tell(frame, &self.name, &self.text, list)
    }
}

/// Shows what is wrong with a text.
fn tell(frame: &Frame<'_>, name: &str, text: &str, list: &[Diagnostic]) -> Failure {
    frame.claim();
    let source = SourceFile::new(name, text);
    frame.console.diagnostics(list, &source, false);
    Failure::Told
}

/// A file as it was read: its text, what is in it, and in which format.
fn document(
    args: &SystemArgs,
    quiet: bool,
    frame: &Frame<'_>,
) -> Result<(String, Document, Format), Stop> {
    let sets = [
        Some(args.file.as_os_str()),
        args.initial.as_deref().map(OsStr::new),
    ];
    let sets = sets
        .into_iter()
        .chain([args.target.as_deref().map(OsStr::new)]);
    if sets.flatten().filter(|&file| file == "-").count() > 1 {
        let what = "the system, --initial and --target cannot come from standard input together";
        return Err(Failure::Because(what.to_owned()).into());
    }
    let name = input::name(&args.file);
    let text = frame.text(&args.file)?;
    let (document, format, warnings) = match read(&text, &frame.limits()) {
        Ok(read) => read,
        Err(ReadError::Wrong(list)) => {
            let failure = tell(frame, &name, &text, &list);
            if let Some(hint) = Language::Pushdown.hint(&name, &text) {
                Console::note(hint);
            }
            return Err(failure.into());
        }
        Err(ReadError::Stopped(reason)) => return Err(reason.into()),
    };
    if !warnings.is_empty() && !quiet {
        let source = SourceFile::new(&*name, &*text);
        frame.console.diagnostics(&warnings, &source, quiet);
    }
    Ok((text, document, format))
}

/// Why a system with several threads is refused.
fn threads_refused(name: &str) -> Failure {
    let what = format!(
        "`{name}` is a concurrent system, with a stack for each thread: it is for `reach` and `path`"
    );
    Failure::Because(what)
}

fn load(
    args: &SystemArgs,
    (text, mut system, format): (String, System, Format),
    quiet: bool,
    frame: &Frame<'_>,
) -> Result<Loaded, Stop> {
    let name = input::name(&args.file);
    let asked = args.weight.as_deref().map(DomainName::parse).transpose();
    let asked = asked.map_err(|wrong| Failure::Because(format!("--weight: {wrong}")))?;
    let domain = domain(asked.clone(), &system)?;
    let weighted = (system.domain.as_ref()).is_some_and(|own| *own != DomainName::Bool);
    let forget = domain == DomainName::Bool && weighted;
    if forget {
        system.forget_merges();
    }
    frame.say(|| {
        format!(
            "{format}: {}, {}, {}, weights {domain}",
            counted(u64::from(system.states.len()), "control state"),
            counted(u64::from(system.symbols.len()), "symbol"),
            counted(system.rules.len() as u64, "rule"),
        )
    });
    if asked.is_some() && !forget {
        let own = system.domain.as_ref().filter(|_| !system.supposed);
        if domain.is_numeric() && own.is_some_and(DomainName::is_numeric) {
            let read = system.read_numbers_as(&domain);
            read.map_err(|list| tell(frame, &name, &text, &list))?;
        }
        system.domain = asked;
    }
    for (given, is_target) in [(&args.initial, false), (&args.target, true)] {
        if let Some(given) = given {
            let set = given_set(
                given,
                &mut system,
                (is_target, &domain, forget),
                quiet,
                frame,
            )?;
            if is_target {
                system.target = set;
            } else {
                system.initial = set;
            }
        }
    }
    Ok(Loaded {
        name,
        text,
        format,
        system,
        domain,
        forget,
        counted: false,
    })
}

/// The domain that is asked for, if it fits to what the file says.
fn domain(asked: Option<DomainName>, system: &System) -> Result<DomainName, Failure> {
    match (asked, system.domain.clone()) {
        (Some(asked), Some(declared)) if !system.supposed => {
            let numbers = declared.is_numeric() && asked.is_numeric();
            let bool = asked == DomainName::Bool || declared == DomainName::Bool;
            if asked == declared || numbers || bool {
                return Ok(asked);
            }
            Err(Failure::Because(format!(
                "--weight {asked}: the weights of the file are of the domain {declared}"
            )))
        }
        (asked, declared) => Ok(asked.or(declared).unwrap_or(DomainName::Bool)),
    }
}

/// A set that was given on the command line: an expression, or the name of a file.
fn given_set(
    given: &str,
    system: &mut System,
    (is_target, domain, forget): (bool, &DomainName, bool),
    quiet: bool,
    frame: &Frame<'_>,
) -> Result<Configurations, Stop> {
    let first = system.weights.len();
    let flag = if is_target { "--target" } else { "--initial" };
    if given.trim().is_empty() {
        let what = format!(
            "{flag}: it is empty; a set is written '<p, a>', a control state and the stack"
        );
        return Err(Failure::Because(what).into());
    }
    let source = if given.trim_start().starts_with('<') {
        SourceFile::new(flag, given)
    } else {
        let file = Path::new(given);
        frame.read(file).map_err(|failure| match failure {
            // Perhaps the brackets were forgotten.
            Failure::Because(what) if given != "-" && !file.exists() => Failure::Because(format!(
                "{flag}: a set is written '<p, a>', a control state and the stack; otherwise it is the \
                 name of a file: {what}"
            )),
            other => other,
        })?
    };
    match read_set(&source, system, &frame.limits()) {
        Ok((set, warnings)) => {
            frame.console.diagnostics(&warnings, &source, quiet);
            let check = CheckWeights {
                system,
                forget,
                first,
            };
            match domain.run(Signs::of(system), check) {
                Ok(()) => Ok(set),
                Err(BuildError::Wrong(list)) => {
                    Err(tell(frame, source.name(), source.text(), &list).into())
                }
                Err(BuildError::Stopped(reason)) => Err(reason.into()),
            }
        }
        Err(SetError::Wrong(list)) => Err(tell(frame, source.name(), source.text(), &list).into()),
        Err(SetError::Stopped(reason)) => Err(reason.into()),
    }
}

/// Whether the weights from a number on are of the domain.
struct CheckWeights<'a> {
    system: &'a System,
    forget: bool,
    first: usize,
}

impl Task for CheckWeights<'_> {
    type Output = Result<(), BuildError>;

    fn run<D: Notation>(self, domain: &D) -> Self::Output {
        build::check_weights(self.system, domain, self.forget, self.first)
    }
}

/// Refuses flags that have nothing to do with each other.
fn refuse(command: &PdsCommand) -> Result<(), Failure> {
    match command {
        PdsCommand::Pre(args) | PdsCommand::Post(args) => {
            args.search.refuse(args.method.into(), false)
        }
        PdsCommand::Reach(args) => args.way.refuse(false),
        PdsCommand::Path(PathArgs { reach, .. }) => reach.way.refuse(true),
        PdsCommand::Convert(_) => Ok(()),
    }
}

fn answer(command: &PdsCommand, known: &Known, frame: &Frame<'_>) -> Result<u8, Stop> {
    refuse(command)?;
    let (args, _, show) = command.parts();
    let (text, document, format) = document(args, show.quiet, frame)?;
    let system = match document {
        Document::System(system) => *system,
        Document::Concurrent(system) => {
            let name = input::name(&args.file);
            return match command {
                PdsCommand::Reach(args) => {
                    concurrent::answer(&name, &system, args, None, (known, frame))
                }
                PdsCommand::Path(path) => {
                    concurrent::answer(&name, &system, &path.reach, Some(path), (known, frame))
                }
                _ => Err(threads_refused(&name).into()),
            };
        }
    };
    if let PdsCommand::Reach(reach) | PdsCommand::Path(PathArgs { reach, .. }) = command
        && reach.contexts.is_some()
    {
        let what = "--contexts is for concurrent systems, with a stack for each thread";
        return Err(Failure::Because(what.to_owned()).into());
    }
    let mut loaded = load(args, (text, system, format), show.quiet, frame)?;
    if let PdsCommand::Path(args) = command
        && args.shortest
    {
        loaded.count_steps(&args.reach)?;
    }
    known.loaded(&loaded);
    let domain = loaded.domain.clone();
    let signs = Signs::of(&loaded.system);
    domain.run(
        signs,
        Solve {
            command,
            loaded,
            known,
            frame,
        },
    )
}

/// A command in a domain.
struct Solve<'a> {
    command: &'a PdsCommand,
    loaded: Loaded,
    known: &'a Known,
    frame: &'a Frame<'a>,
}

impl Task for Solve<'_> {
    type Output = Result<u8, Stop>;

    fn run<D: Notation>(self, domain: &D) -> Self::Output {
        match self.command {
            PdsCommand::Pre(args) => self.automaton(args, domain, Direction::Forward),
            PdsCommand::Post(args) => self.automaton(args, domain, Direction::Backward),
            PdsCommand::Reach(args) => self.reach(args, None, domain),
            PdsCommand::Path(args) => self.reach(&args.reach, Some(args), domain),
            // It needs no domain.
            PdsCommand::Convert(_) => Ok(0),
        }
    }
}

/// What the solver takes.
struct Tables<W> {
    built: Built<W>,
    initial: Option<Automaton<W>>,
    target: Option<Automaton<W>>,
}

impl Solve<'_> {
    fn limits(&self) -> Limits {
        self.frame.limits()
    }

    /// The tables of the system and of the sets that are wanted. After that the text is not needed
    /// any more.
    fn tables<D: Notation>(
        &mut self,
        domain: &D,
        initial: bool,
        target: bool,
    ) -> Result<Tables<D::Weight>, Stop> {
        let limits = self.limits();
        let loaded = &self.loaded;
        let system = &loaded.system;
        let wrong = |error| match error {
            BuildError::Wrong(list) => Stop::Failure(loaded.tell(self.frame, &list)),
            BuildError::Stopped(reason) => Stop::Limit(reason),
        };
        for (wanted, set, word, flag, line) in [
            (initial, &system.initial, "begin", "--initial", "init"),
            (target, &system.target, "are to lead", "--target", "target"),
        ] {
            if wanted && let Some(error) = set.without_end() {
                let error = error.help(format!("for example `{line} final @1`"));
                return Err(loaded.tell(self.frame, &[error]).into());
            }
            if wanted && set.is_empty() {
                let what = format!(
                    "`{}` does not say where runs {word}; say it with {flag} '<p, a>'",
                    loaded.name
                );
                return Err(Failure::Because(what).into());
            }
        }
        let weights = build::weights(system, domain, loaded.forget).map_err(wrong)?;
        let make = |wanted: bool, set, direction| {
            let make = || build::automaton(system, set, domain, &weights, direction, &limits);
            wanted.then(make).transpose()
        };
        let initial = make(initial, &system.initial, Direction::Backward).map_err(wrong)?;
        let target = make(target, &system.target, Direction::Forward).map_err(wrong)?;
        let built = build::pds(system, domain, &weights, &limits).map_err(wrong)?;
        self.loaded.text = String::new();
        Ok(Tables {
            built,
            initial,
            target,
        })
    }

    fn options(&self, method: Method, search: &SearchArgs) -> Options {
        Options {
            order: search.order(),
            method: match method {
                Method::Path => droste_pds::Method::Paths,
                Method::Chaotic | Method::Dual => droste_pds::Method::Chaotic,
            },
            limits: self.limits(),
            found: Some(Arc::default()),
            ..Options::default()
        }
    }

    /// Does the work while a line shows how many transitions have been found.
    fn shown<T>(&self, options: &Options, work: impl FnOnce() -> T) -> T {
        let Some(found) = options.found.clone() else {
            return work();
        };
        let line = self.frame.progress();
        show_while(
            line,
            move |line| {
                let number = found.load(Ordering::Relaxed);
                line.show_text(|elapsed| {
                    let transitions = counted(number, "transition");
                    format!("solving: {transitions}, {:.1} s", elapsed.as_secs_f64())
                });
            },
            work,
        )
    }

    fn reach<D: Notation>(
        mut self,
        args: &ReachArgs,
        path: Option<&PathArgs>,
        domain: &D,
    ) -> Result<u8, Stop> {
        let mut tables = self.tables(domain, true, true)?;
        let rules = self.loaded.system.rules.len();
        if path.is_none() {
            self.loaded.system.rules = Vec::new();
            tables.built.origin = Vec::new();
        }
        let (Some(from), Some(to)) = (&tables.initial, &tables.target) else {
            return Ok(2);
        };
        let mut options = self.options(args.way.method(), &args.way.search);
        options.witness = path.is_some();
        let read = self.known.solving(options.found.clone());
        let pds = &tables.built.pds;
        let reached = self.shown(&options, || {
            let cores = args.way.search.cores.unwrap_or(1);
            reach_on(cores, domain, pds, from, to, way(&args.way), &options)
        })?;
        let time = self.frame.elapsed().saturating_sub(read);
        let reachable = !domain.is_zero(&reached.weight);
        let mut guard = self.limits().guard();
        path::replay(&reached, domain, pds, (from, to), &mut guard)?;
        self.frame.claim();
        let system = &self.loaded.system;
        let shown = reached.witness.as_ref().map(|witness| path::Path {
            witness,
            system,
            built: &tables.built,
            plain: self.loaded.counted || self.loaded.forget,
        });
        if args.show.json {
            let weight = if !reachable {
                None
            } else if self.loaded.counted {
                Some(Json::Value(json!(true)))
            } else {
                Some(domain.json(&reached.weight))
            };
            let mut object = self.known.object(json!({
                "reachable": reachable,
                "direction": direction(reached.way),
                "transitions": reached.transitions,
                "seconds": time.as_secs_f64(),
            }));
            if domain.vaguely(&reached.weight).is_some() && !self.loaded.counted {
                object["saturated"] = json!(true);
            }
            let whole = output::With {
                object: &object,
                first: ("weight", weight),
                second: shown.map(|shown| ("witness", shown)),
            };
            output::print_json_until(&self.limits(), &whole)?;
        } else if !args.show.volume.quiet {
            let (verdict, weighed) = if reachable {
                let word = self.frame.console.paint("1;31", "reachable");
                (word, self.loaded.shown_domain() != DomainName::Bool)
            } else {
                (self.frame.console.paint("1;32", "not reachable"), false)
            };
            let run = match (&shown, path) {
                (Some(shown), Some(args)) => {
                    let text = shown.text(args.max_steps, &mut guard);
                    format!("\n{}\n", text.map_err(Stop::Cut)?)
                }
                (None, Some(_)) if reachable => "There is no single run to show.\n".to_owned(),
                _ => String::new(),
            };
            let effort = format!(
                "{}, {}, {}\n",
                counted(rules as u64, "rule"),
                counted(reached.transitions as u64, "transition"),
                seconds(time)
            );
            output::print_until(&self.limits(), |out| {
                out.write_all(verdict.as_bytes())?;
                if weighed {
                    out.write_all(b": weight ")?;
                    domain.write(&reached.weight, out)?;
                }
                let relations = if weighed {
                    show::relations(domain, &reached.weight)
                } else {
                    String::new()
                };
                write!(out, "\n{relations}{run}{effort}")
            })?;
        }
        Ok(u8::from(reachable))
    }

    fn automaton<D: Notation>(
        mut self,
        args: &AutomatonArgs,
        domain: &D,
        direction: Direction,
    ) -> Result<u8, Stop> {
        let forward = direction == Direction::Forward;
        let quiet = args.show.volume.quiet;
        // Standard output is where it goes anyhow, but for what else is asked.
        let to_output = args.output.as_deref() == Some(Path::new("-"));
        let file = args.output.as_deref().filter(|_| !to_output);
        if to_output && args.show.json {
            let what = "--output -: with --json the automaton is in the object; leave --output out";
            return Err(Failure::Because(what.to_owned()).into());
        }
        let mut of = Vec::new();
        for text in &args.of {
            of.push((
                text,
                show::configuration(text, &mut self.loaded.system, quiet, self.frame)?,
            ));
        }
        let tables = self.tables(domain, !forward, forward)?;
        self.loaded.system.rules = Vec::new();
        let Some(start) = tables.initial.or(tables.target) else {
            return Ok(2);
        };
        let options = self.options(args.method.into(), &args.search);
        let read = self.known.solving(options.found.clone());
        let cores = args.search.cores.unwrap_or(1);
        let start = start.normalised(domain)?;
        let pds = &tables.built.pds;
        let result = self.shown(&options, || match (forward, cores) {
            (true, 1) => prestar(domain, pds, &start, &options),
            (false, 1) => poststar(domain, pds, &start, &options),
            (true, _) => prestar_on(cores, domain, pds, &start, &options),
            (false, _) => poststar_on(cores, domain, pds, &start, &options),
        })?;
        let time = self.frame.elapsed().saturating_sub(read);
        let mut weights = Vec::new();
        for (text, (state, stack)) in of {
            weights.push((text.clone(), result.weight_of(domain, state, &stack)?));
        }
        self.frame.claim();
        let shown = show::Shown {
            system: &self.loaded.system,
            domain,
            automaton: &result,
        };
        self.frame.say(|| {
            format!(
                "{} in {}",
                counted(result.len() as u64, "transition"),
                seconds(time)
            )
        });
        if let Some(file) = file {
            shown.save(file, args.dot, &self.limits())?;
        }
        if args.show.json {
            let object = self.known.object(json!({
                "transitions": result.len(),
                "seconds": time.as_secs_f64(),
            }));
            let limits = self.limits();
            if !weights.is_empty() {
                let of = weights.iter().map(|(text, weight)| {
                    let accepted = !domain.is_zero(weight);
                    Of {
                        accepted,
                        configuration: text,
                        saturated: domain.vaguely(weight).is_some(),
                        weight: accepted.then(|| domain.json(weight)),
                    }
                });
                let whole = output::With {
                    object: &object,
                    first: ("of", of.collect::<Vec<_>>()),
                    second: None::<output::Field<()>>,
                };
                output::print_json_until(&limits, &whole)?;
            } else if file.is_none() {
                let whole = output::With {
                    object: &object,
                    first: ("automaton", shown),
                    second: None::<output::Field<()>>,
                };
                output::print_json_until(&limits, &whole)?;
            } else {
                output::print(&object)?;
            }
        } else {
            if to_output || !quiet && weights.is_empty() && file.is_none() {
                shown.print(args.dot, &self.limits())?;
            }
            // No exit code says what they are, so they are told in any case.
            for (text, weight) in &weights {
                let relations = show::relations(domain, weight);
                let note = match (domain.is_zero(weight), forward) {
                    (false, _) => "",
                    (true, true) => "   # does not reach the target",
                    (true, false) => "   # not reached",
                };
                output::print_until(&self.limits(), |out| {
                    write!(out, "{text} : ")?;
                    domain.write(weight, out)?;
                    write!(out, "{note}\n{relations}")
                })?;
            }
            if file.is_some() && !quiet {
                let (states, transitions) = shown.counts();
                Console::print(&format!(
                    "{}, {}, {}\n",
                    counted(states, "state"),
                    counted(transitions, "transition"),
                    seconds(time)
                ))?;
            }
        }
        Ok(0)
    }
}

/// The weight of a configuration, as JSON.
#[derive(Serialize)]
struct Of<'a> {
    accepted: bool,
    configuration: &'a str,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    saturated: bool,
    weight: Option<Json<'a>>,
}

/// From which end it is solved.
fn way(args: &WayArgs) -> Way {
    match args.ends() {
        Ends::Both => Way::Dual,
        Ends::Either => Way::Either,
        Ends::One(args::Direction::Pre) => Way::Pre,
        Ends::One(args::Direction::Post) => Way::Post,
    }
}

/// From which end it was solved.
fn direction(way: Way) -> &'static str {
    match way {
        Way::Pre => args::Direction::Pre.name(),
        Way::Post => args::Direction::Post.name(),
        Way::Dual | Way::Either => "both",
    }
}
