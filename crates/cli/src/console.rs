//! Standard output and standard error: colours, errors, closed pipes, panics.

use std::io::{self, IsTerminal, Write};
use std::panic::PanicHookInfo;

use droste_report::visible;
use droste_source::diagnostics::{Diagnostic, Severity, render};
use droste_source::{SourceFile, io_reason};

use crate::args::Color;

/// Why there is no answer.
#[derive(Debug)]
pub(crate) enum Failure {
    /// To be told to the user.
    Because(String),
    /// The user has been told.
    Told,
}

/// How wide text is by default.
const WIDTH: usize = 100;

/// Where text goes, and whether it may have colours there.
#[derive(Debug)]
pub(crate) struct Console {
    out_color: bool,
    err_color: bool,
    err_terminal: bool,
}

impl Console {
    pub(crate) fn new(color: Color) -> Self {
        let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty());
        let plain = variable("NO_COLOR").is_some() || variable("TERM").is_some_and(|t| t == "dumb");
        let decide = |terminal: bool| match color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => terminal && !plain,
        };
        let err_terminal = io::stderr().is_terminal();
        Console {
            out_color: decide(io::stdout().is_terminal()),
            err_color: decide(err_terminal),
            err_terminal,
        }
    }

    /// Whether text on standard output may have colours.
    pub(crate) fn out_color(&self) -> bool {
        self.out_color
    }

    /// Whether text on standard error may have colours.
    pub(crate) fn err_color(&self) -> bool {
        self.err_color
    }

    /// Whether standard error is a terminal.
    pub(crate) fn err_terminal(&self) -> bool {
        self.err_terminal
    }

    /// How many columns standard output has.
    pub(crate) fn width() -> usize {
        match terminal_size::terminal_size_of(io::stdout()) {
            Some((width, _)) => usize::from(width.0).clamp(40, 200),
            None => WIDTH,
        }
    }

    /// `text` in the colour `code`, for standard output.
    pub(crate) fn paint(&self, code: &str, text: &str) -> String {
        paint(self.out_color, code, text)
    }

    /// Writes to standard output. It is not an error if the reader has gone.
    pub(crate) fn print(text: &str) -> Result<(), Failure> {
        let mut out = io::stdout().lock();
        match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Failure::Because(
                format!("cannot write to standard output: {}", io_reason(&error)),
            )),
            _ => Ok(()),
        }
    }

    /// Writes to standard error; if that fails, it cannot be reported.
    pub(crate) fn note(text: &str) {
        let _ = io::stderr().lock().write_all(text.as_bytes());
    }

    /// An error without a place in a file.
    pub(crate) fn error(&self, message: &str) {
        Self::note(&format!(
            "{}: {}\n",
            paint(self.err_color, "1;31", "error"),
            shown(message)
        ));
    }

    /// A warning without a place in a file.
    pub(crate) fn warning(&self, message: &str) {
        Self::note(&format!(
            "{}: {}\n",
            paint(self.err_color, "1;33", "warning"),
            shown(message)
        ));
    }

    /// Shows what the front end says about a file, without warnings if `quiet`.
    pub(crate) fn diagnostics(&self, list: &[Diagnostic], source: &SourceFile, quiet: bool) {
        let shown: Vec<Diagnostic> = list
            .iter()
            .filter(|diagnostic| !quiet || diagnostic.severity == Severity::Error)
            .cloned()
            .collect();
        if shown.is_empty() {
            return;
        }
        let mut text = render(&shown, source, self.err_color);
        text.push('\n');
        Self::note(&text);
    }
}

/// Names of files may contain anything; what would move the cursor is made visible.
fn shown(message: &str) -> String {
    let lines = message.split('\n').map(visible);
    lines.collect::<Vec<_>>().join("\n")
}

fn paint(color: bool, code: &str, text: &str) -> String {
    if color {
        format!("\x1b[{code}m{text}\x1b[0m")
    } else {
        text.to_owned()
    }
}

/// The message when Droste itself is wrong.
pub(crate) fn report_panic(panic: &PanicHookInfo<'_>) {
    let payload = panic.payload();
    let message = payload
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message")
        .replace('\n', " ");
    let place = panic
        .location()
        .map_or_else(String::new, |at| format!(" ({}:{})", at.file(), at.line()));
    Console::note(&format!(
        "error: a fault in droste {}: {message}{place}\n\
         There is no verdict. Please report this, together with the program and the command line.\n",
        env!("CARGO_PKG_VERSION"),
    ));
}
