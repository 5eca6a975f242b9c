//! Boolean programs from Rust: parse, check, show.
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
//! let execution = report.verdict.witness().expect("twist may run an odd number of times");
//! println!("{}", program.text(execution));
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

use std::fmt;

pub use droste_check::{ERROR_LABELS, Evidence, Fault, Options, Passes, Property, Report};
pub use droste_lang::lexer::Dialect;
pub use droste_program::Program;
pub use droste_program::execution::{
    Action, CalleeRun, CalleeRunId, Ending, Execution, Step, Valuation,
};
pub use droste_program::monitor::Monitor;
pub use droste_report::Style;
pub use droste_source::SourceFile;
pub use droste_source::diagnostics::{Diagnostic, Severity};

use droste_lang::{lower, parser, properties};
use droste_source::diagnostics::render;

/// Why there is no answer.
#[derive(Clone, Debug)]
pub enum Error {
    /// The text is not a program, or not a monitor for it.
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
    if text.len() > SourceFile::LARGEST {
        let reason = format!("{name} is larger than {} bytes", SourceFile::LARGEST);
        return Err(Error::Fault(Fault::Refused(reason)));
    }
    let source = SourceFile::new(name, text);
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
    /// Answers whether the program has the property. A violation has been replayed.
    pub fn check(&self, property: &Property, options: &Options<'_>) -> Result<Report, Fault> {
        droste_check::check(&self.program, property, options)
    }

    /// Reads a monitor over the names of this program, for [`Property::Monitor`].
    pub fn monitor(&self, name: &str, text: &str) -> Result<Monitor, Error> {
        let source = SourceFile::new(name, text);
        let (syntax, diagnostics) = parser::parse_monitor(&source, self.dialect);
        let Some(syntax) = syntax else {
            return Err(Error::source(diagnostics, &source));
        };
        properties::monitor(&syntax, &self.program)
            .map_err(|diagnostics| Error::source(diagnostics, &source))
    }

    /// An execution as text, in the usual style.
    pub fn text(&self, execution: &Execution) -> String {
        self.text_with(execution, &Style::default())
    }

    /// An execution as text.
    pub fn text_with(&self, execution: &Execution, style: &Style) -> String {
        droste_report::text(&self.program, &self.source, execution, style)
    }

    /// An execution as JSON text.
    pub fn json(&self, execution: &Execution) -> String {
        droste_report::json(&self.program, &self.source, execution).to_string()
    }
}
