//! Boolean programs from Rust: parse, check, show. This does what the command `droste check` does,
//! by default with the same engine.
//!
//! ```
//! use droste::program::{self, Options, Property};
//!
//! let text = "\
//! decl g;
//! void main() begin
//!   g := F;
//!   twist();
//!   if (g) then ERROR: skip; fi
//! end
//! void twist() begin
//!   if (*) then twist(); twist(); fi
//!   g := !g;
//! end
//! ";
//! let program = program::load("twist.bp", text)?;
//! let report = program.check(&Property::Default, &Options::default())?;
//! let run = report.verdict.run().expect("twist may run an odd number of times");
//! println!("{}", program.text(run));
//!
//! // Or all at once:
//! let never = Property::Reach(vec!["ERROR".to_owned()]);
//! let (_, report) = program::check_source("twist.bp", text, &never, &Options::default())?;
//! assert!(report.verdict.is_violated());
//! # Ok::<(), droste::program::Error>(())
//! ```
//!
//! A mistake in the text is a value, with the lines it is about:
//!
//! ```
//! let error = droste::program::load("oops.bp", "void main() begin x := T; end").unwrap_err();
//! assert!(error.to_string().starts_with("error: "));
//! assert!(error.to_string().contains("--> oops.bp:1:19"));
//! ```
//!
//! # Formulas, automata, monitors
//!
//! [`Loaded::ltl`] reads a formula of linear temporal logic, [`Loaded::formulas`] a file of them,
//! [`Loaded::automata`] automata in the Hanoi format, [`Loaded::monitor`] a monitor. The names in
//! them are those of the program. [`Options::runs`] says which infinite runs count, and
//! [`Report::violators`] which of them violate the property:
//!
//! ```
//! use droste::program::{self, Engine, Options, Violators};
//!
//! let program = program::load("wait.bp", "\
//! decl done;
//! void main() begin
//!   done := F;
//!   work();
//!   done := T;
//! end
//! void work() begin
//!   if (*) then work(); fi
//! end
//! ")?;
//! let property = program.ltl("F done")?;
//! let report = program.check(&property, &Options::default())?;
//! // Only a run that recurses for ever is never done.
//! assert_eq!(report.violators, Some(Violators::OnlyUnbounded));
//! let run = report.verdict.run().expect("a lasso");
//! assert!(program.shown(run, &property).json().to_string().contains("work"));
//!
//! let symbolic = Options { engine: Engine::Bdd, ..Options::default() };
//! assert!(program.check(&program.ltl("G (terminated -> done)")?, &symbolic)?.verdict.holds());
//!
//! let error = program.ltl("F dome").unwrap_err();
//! assert!(error.to_string().contains("did you mean `done`?"));
//! # Ok::<(), droste::program::Error>(())
//! ```
//!
//! # Threads
//!
//! A program with threads is checked up to a number of context switches ([`Options::bound`]), or
//! for more and more of them. [`Report::explored`] says for how many the answer holds.
//!
//! ```
//! use droste::program::{self, Bound, Options, Property};
//!
//! let program = program::load("race.bp", "\
//! decl busy, twice;
//! void main() begin
//!   busy := F; twice := F;
//!   start_thread worker();
//!   worker();
//! end
//! void worker() begin
//!   if (!busy) then
//!     busy := T;
//!     if (twice) then ERROR: skip; fi
//!     twice := T;
//!   fi
//! end
//! ")?;
//! let within = |switches| Options { bound: Some(Bound::Switches(switches)), ..Options::default() };
//! assert!(program.check(&Property::Default, &within(0))?.verdict.holds());
//!
//! let report = program.check(&Property::Default, &within(2))?;
//! let execution = report.concurrent().expect("both see that nobody is busy");
//! assert_eq!(execution.switches(&program.program), 2);
//! assert!(report.verdict.run().is_some_and(|run| program.text(run).contains("ERROR")));
//! # Ok::<(), droste::program::Error>(())
//! ```
//!
//! [`Evidence`] says what a report of a violation contains: with [`Evidence::Verdict`] no run is
//! written down.

use std::fmt;

use std::sync::Arc;

pub use droste_base::{Counterexample, Deadline, Limits, StopReason, Verdict};
pub use droste_check::{
    Algorithm, Automaton, Bound, ERROR_LABELS, Effort, Engine, EngineId, Evidence, Explored, Fault,
    Levels, Ltl, Options, Order, Passes, Property, Report, Run, Runs, Violators,
};
pub use droste_lang::lexer::Dialect;
pub use droste_program::Program;
pub use droste_program::concurrent::ConcurrentExecution;
pub use droste_program::execution::{
    Action, CalleeRun, CalleeRunId, Ending, Execution, Step, Valuation,
};
pub use droste_program::monitor::Monitor;
pub use droste_report::{RunJson, Shown, Style};
pub use droste_source::SourceFile;
pub use droste_source::diagnostics::{Diagnostic, Severity};

use droste_lang::{lower, parser, properties};
use droste_ltl::{Atoms, Formulas, HoaError, parse_properties, read_hoas};
use droste_report::Watched;
use droste_source::diagnostics::render;

/// Why there is no answer.
#[derive(Clone, Debug)]
pub enum Error {
    /// The text is not a program, or not a formula, an automaton or a monitor for it.
    Source {
        /// What is wrong.
        diagnostics: Vec<Diagnostic>,
        /// The same as text, each with the lines it is about.
        text: String,
    },
    /// The question cannot be answered.
    Fault(Fault),
}

impl Error {
    fn source(diagnostics: Vec<Diagnostic>, source: &SourceFile) -> Self {
        let text = render(&diagnostics, source, false);
        Error::Source { diagnostics, text }
    }

    /// Propositions of an automaton that mean nothing: their texts, and what is wrong with them.
    fn propositions(name: &str, problems: Vec<(String, Vec<Diagnostic>)>) -> Self {
        let (mut all, mut text) = (Vec::new(), String::new());
        for (proposition, diagnostics) in problems {
            let source = SourceFile::new(format!("{name}, proposition"), proposition);
            if !text.is_empty() {
                text.push_str("\n\n");
            }
            text += &render(&diagnostics, &source, false);
            all.extend(diagnostics);
        }
        Error::Source {
            diagnostics: all,
            text,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Source { text, .. } => f.write_str(text),
            Error::Fault(fault) => fault.fmt(f),
        }
    }
}

impl std::error::Error for Error {}

impl From<Fault> for Error {
    fn from(fault: Fault) -> Self {
        Error::Fault(fault)
    }
}

/// A program and the text it was read from.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The recursive state machine.
    pub program: Program,
    /// The text.
    pub source: SourceFile,
    /// What is odd about it, though it is a program.
    pub warnings: Vec<Diagnostic>,
    dialect: Dialect,
}

/// Reads a program. `name` is used in messages.
pub fn load(name: &str, text: &str) -> Result<Loaded, Error> {
    load_dialect(name, text, Dialect::default())
}

/// Reads a program in the given dialect.
pub fn load_dialect(name: &str, text: &str, dialect: Dialect) -> Result<Loaded, Error> {
    let source = self::text(name, text)?;
    let parsed = parser::parse(&source, dialect);
    if parsed.has_errors() {
        return Err(Error::source(parsed.diagnostics, &source));
    }
    let mut diagnostics = parsed.diagnostics;
    let (program, more) = lower::lower(&parsed.ast);
    diagnostics.extend(more);
    match program {
        Some(program) => Ok(Loaded {
            program,
            source,
            warnings: diagnostics,
            dialect,
        }),
        None => Err(Error::source(diagnostics, &source)),
    }
}

/// A text that is not too large.
fn text(name: &str, text: &str) -> Result<SourceFile, Error> {
    if text.len() > SourceFile::LARGEST {
        let reason = format!("{name} is larger than {} bytes", SourceFile::LARGEST);
        return Err(Error::Fault(Fault::Refused(reason)));
    }
    Ok(SourceFile::new(name, text))
}

/// Reads a program and checks it.
pub fn check_source(
    name: &str,
    text: &str,
    property: &Property,
    options: &Options<'_>,
) -> Result<(Loaded, Report), Error> {
    let loaded = load(name, text)?;
    let report = loaded.check(property, options)?;
    Ok((loaded, report))
}

impl Loaded {
    /// Answers whether the program has the property. A violation has been replayed, unless less
    /// [`Evidence`] is asked for.
    pub fn check(&self, property: &Property, options: &Options<'_>) -> Result<Report, Fault> {
        droste_check::check(&self.program, property, options)
    }

    /// Reads a formula of linear temporal logic over the names of this program.
    pub fn ltl(&self, formula: &str) -> Result<Property, Error> {
        let source = text("formula", formula)?;
        Ltl::parse(&self.program, &source, self.dialect)
            .map(|ltl| Property::Ltl(Arc::new(ltl)))
            .map_err(|diagnostics| Error::source(diagnostics, &source))
    }

    /// Reads a file of formulas with names, `name: formula`, one after the other.
    pub fn formulas(&self, name: &str, formulas: &str) -> Result<Vec<(String, Property)>, Error> {
        let source = text(name, formulas)?;
        let (mut formulas, mut atoms) = (Formulas::new(), Atoms::new());
        let parsed = parse_properties(&source, &mut formulas, &mut atoms)
            .map_err(|diagnostics| Error::source(diagnostics, &source))?;
        let mut problems = Vec::new();
        let mut properties = Vec::with_capacity(parsed.len());
        for one in parsed {
            let (program, dialect) = (&self.program, self.dialect);
            match Ltl::new(program, &source, dialect, &formulas, &atoms, one.formula) {
                Ok(ltl) => properties.push((one.name, Property::Ltl(Arc::new(ltl)))),
                Err(mut diagnostics) => problems.append(&mut diagnostics),
            }
        }
        if problems.is_empty() {
            Ok(properties)
        } else {
            problems.dedup();
            Err(Error::source(problems, &source))
        }
    }

    /// Reads automata in the Hanoi format, whose propositions are over the names of this program;
    /// each with its own name, if it has one. The property is that an automaton accepts no run.
    pub fn automata(
        &self,
        name: &str,
        automata: &str,
    ) -> Result<Vec<(Option<String>, Property)>, Error> {
        let source = text(name, automata)?;
        let list = read_hoas(&source, &Limits::default()).map_err(|error| match error {
            HoaError::Refused(diagnostic) => Error::source(vec![*diagnostic], &source),
            HoaError::Stopped(reason) => Error::Fault(Fault::Refused(reason.to_string())),
        })?;
        let mut properties = Vec::with_capacity(list.len());
        for one in list {
            let described = match &one.name {
                Some(own) => format!("the automaton `{own}` in `{name}`"),
                None => format!("the automaton in `{name}`"),
            };
            let names = (name, described);
            let atoms = one.atoms.list();
            let automaton =
                Automaton::new(&self.program, self.dialect, names, one.automaton, atoms);
            match automaton {
                Ok(automaton) => {
                    properties.push((one.name, Property::Automaton(Arc::new(automaton))));
                }
                Err(problems) => return Err(Error::propositions(name, problems)),
            }
        }
        Ok(properties)
    }

    /// Reads a monitor over the names of this program, for [`Property::Monitor`].
    pub fn monitor(&self, name: &str, monitor: &str) -> Result<Monitor, Error> {
        let source = text(name, monitor)?;
        let (syntax, diagnostics) = parser::parse_monitor(&source, self.dialect);
        let Some(syntax) = syntax else {
            return Err(Error::source(diagnostics, &source));
        };
        properties::monitor(&syntax, &self.program)
            .map_err(|diagnostics| Error::source(diagnostics, &source))
    }

    /// A run that violates `property`, as the command line shows it: with what a monitor, an
    /// automaton or a formula has to say about its steps.
    pub fn shown<'a>(&'a self, run: &'a Run, property: &Property) -> Shown<'a> {
        let watched = Watched {
            monitor: property.monitor(),
            formula: property.meaning(),
            ..Watched::default()
        };
        Shown::new(&self.program, &self.source, run, watched)
    }

    /// A run as text, in the usual style, with no remarks beside its steps.
    pub fn text(&self, run: &Run) -> String {
        self.text_with(run, &Style::default())
    }

    /// A run as text, with no remarks beside its steps.
    pub fn text_with(&self, run: &Run, style: &Style) -> String {
        self.plain(run).text(style)
    }

    /// A run as JSON text.
    pub fn json(&self, run: &Run) -> String {
        self.plain(run).json().to_string()
    }

    fn plain<'a>(&'a self, run: &'a Run) -> Shown<'a> {
        Shown::new(&self.program, &self.source, run, Watched::default())
    }
}
