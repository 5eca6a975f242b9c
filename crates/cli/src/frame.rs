//! What every subcommand that may take long has around it: limits, the watchdog, Ctrl-C and SIGTERM,
//! progress, what `-v` says.
//!
//! A subcommand makes a [`Frame`], says with [`Frame::watch`] what is to be printed if a limit is
//! reached before it has an answer itself, works, and calls [`Frame::claim`] before it prints. The
//! deadline is made here, once, from the moment the command began; everybody else gets it handed
//! down.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use droste_base::memory::{available_bytes, resident_bytes};
use droste_base::words::{counted, seconds};
use droste_base::{Deadline, Limits, StopReason};
use droste_source::SourceFile;
use droste_source::diagnostics::{Diagnostic, Severity};

use crate::args::LimitArgs;
use crate::console::{Console, Failure};
use crate::input::{self, Language};
use crate::output;
use crate::progress::{ProgressLine, Shown};
use crate::watchdog::Watchdog;

/// The exit code of a shell command that Ctrl-C killed.
const KILLED: i32 = 130;
/// Signals that come so soon after the first count as one: `timeout` sends two at once.
const ONE_SIGNAL: Duration = Duration::from_millis(200);
/// The exit code if a limit was reached.
pub(crate) const UNKNOWN: u8 = 3;

/// How much is printed.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Volume {
    /// Standard output is for machines.
    pub(crate) json: bool,
    /// `-q`.
    pub(crate) quiet: bool,
    /// `-v`.
    pub(crate) verbose: bool,
}

/// Around a subcommand.
pub(crate) struct Frame<'a> {
    pub(crate) console: &'a Console,
    pub(crate) start: Instant,
    pub(crate) watchdog: Arc<Watchdog>,
    volume: Volume,
    limits: Limits,
    /// Whether an answer that was interrupted while it was written counts as unknown.
    cut_is_unknown: Arc<AtomicBool>,
}

impl<'a> Frame<'a> {
    /// The clock runs, and Ctrl-C is heard.
    pub(crate) fn new(console: &'a Console, limits: &LimitArgs, volume: Volume) -> Self {
        let start = Instant::now();
        let deadline = limits.timeout.map(|time| Deadline::from(start, time));
        let memory = match limits.memory {
            Some(megabytes) => Some(megabytes.saturating_mul(1_000_000)),
            // To exhaust the machine helps nobody.
            None => available_bytes().map(|bytes| bytes / 4 * 3),
        };
        if limits.memory.is_some() && resident_bytes().is_none() && !volume.quiet {
            console
                .warning("--memory has no effect: this system does not tell what a process uses");
        }
        let watchdog = Watchdog::new(deadline, memory);
        let heard = Arc::clone(&watchdog);
        let cut_is_unknown = Arc::new(AtomicBool::new(false));
        let cut = Arc::clone(&cut_is_unknown);
        // The first signal ends the search. The second one ends the process, and so does the first
        // one when the answer is being written. If there are no signals here, nobody can send one.
        let mut first: Option<Instant> = None;
        let _ = ctrlc::set_handler(move || {
            let since = first.get_or_insert_with(Instant::now).elapsed();
            let again = heard.cancel.swap(true, Ordering::Relaxed);
            if again && since < ONE_SIGNAL {
                return;
            }
            if again {
                output::exit(KILLED);
            }
            if heard.is_answering() {
                if cut.load(Ordering::Relaxed) {
                    Console::note(&format!("unknown: {}\n", StopReason::Cancelled));
                    output::exit(i32::from(UNKNOWN));
                }
                output::exit(KILLED);
            }
        });
        let limits = Limits {
            deadline,
            memory,
            cancel: Some(Arc::clone(&watchdog.cancel)),
            ..Limits::default()
        };
        Frame {
            console,
            start,
            watchdog,
            volume,
            limits,
            cut_is_unknown,
        }
    }

    /// What is written is all that is asked for: who interrupts it does not have it, and the exit code
    /// says so.
    pub(crate) fn cut_is_unknown(&self) {
        self.cut_is_unknown.store(true, Ordering::Relaxed);
    }

    /// The file itself says how much is printed, unless the command line does.
    pub(crate) fn set_volume(&mut self, quiet: bool, verbose: bool) {
        let volume = self.volume;
        if !volume.quiet && !volume.verbose {
            self.volume = Volume {
                quiet,
                verbose,
                ..volume
            };
        }
    }

    /// Until when, and with how much.
    pub(crate) fn limits(&self) -> Limits {
        self.limits.clone()
    }

    /// How long the command has run.
    pub(crate) fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }

    /// Has `answer` print what there is to say if a limit is reached before [`claim`](Self::claim)
    /// is called; it gives the exit code.
    pub(crate) fn watch(&self, answer: impl FnOnce(StopReason) -> u8 + Send + 'static) {
        let erase = self.shown() == Shown::Line;
        self.watchdog.watch(move |reason| {
            if erase {
                Console::note(ProgressLine::ERASE);
            }
            output::exit(i32::from(answer(reason)));
        });
    }

    /// To be called before an answer is given, or an error; does not return if a limit was reached
    /// and the answer has been given for us.
    pub(crate) fn claim(&self) {
        self.watchdog.claim();
    }

    /// Reads a file, unless a limit is reached.
    pub(crate) fn read(&self, path: &Path) -> Result<SourceFile, Failure> {
        input::read(path, || self.watchdog.pause_at_limit()).map_err(Failure::Because)
    }

    /// The same for a text that may end before its file does, see [`input::read_until`].
    pub(crate) fn read_until(
        &self,
        path: &Path,
        end: impl Fn(&str) -> Option<usize>,
    ) -> Result<SourceFile, Failure> {
        let pause = || self.watchdog.pause_at_limit();
        input::read_until(path, pause, end).map_err(Failure::Because)
    }

    /// Shows what is to be said about a file, and whether there is an error in it.
    pub(crate) fn refused(
        &self,
        diagnostics: &[Diagnostic],
        source: &SourceFile,
    ) -> Result<(), Failure> {
        let errors = diagnostics
            .iter()
            .filter(|d| d.severity == Severity::Error)
            .count();
        if errors > 0 {
            self.claim();
        }
        self.console
            .diagnostics(diagnostics, source, self.volume.quiet);
        if errors == 0 {
            return Ok(());
        }
        if errors > 1 {
            self.console.error(&format!(
                "{} in `{}`",
                counted(errors as u64, "error"),
                source.name()
            ));
        }
        Err(Failure::Told)
    }

    /// The same for the syntax of a program. If the text looks like another language, that is said, too.
    pub(crate) fn refused_program(
        &self,
        diagnostics: &[Diagnostic],
        source: &SourceFile,
    ) -> Result<(), Failure> {
        self.refused(diagnostics, source).inspect_err(|_| {
            if let Some(hint) = Language::Program.hint(source.name(), source.text()) {
                Console::note(hint);
            }
        })
    }

    /// The text of a file that may be large, unless a limit is reached.
    pub(crate) fn text(&self, path: &Path) -> Result<String, Failure> {
        input::text(path, || self.watchdog.pause_at_limit()).map_err(Failure::Because)
    }

    /// Warns, unless warnings are not wanted.
    pub(crate) fn warn(&self, message: &str) {
        if !self.volume.quiet {
            self.console.warning(message);
        }
    }

    /// Tells those who asked for it with `-v`.
    pub(crate) fn say(&self, message: impl FnOnce() -> String) {
        if self.volume.verbose {
            log(self.start, &message());
        }
    }

    /// How progress is shown: a line that changes on a terminal; off it, to those who asked with
    /// `-v`, a line every some seconds.
    fn shown(&self) -> Shown {
        let Volume {
            json,
            quiet,
            verbose,
        } = self.volume;
        if self.console.err_terminal() && !quiet && !json {
            Shown::Line
        } else if verbose && !self.console.err_terminal() {
            Shown::Log
        } else {
            Shown::Nothing
        }
    }

    /// The line that shows progress.
    pub(crate) fn progress(&self) -> ProgressLine {
        ProgressLine::new(self.shown(), self.start)
    }
}

/// A line of the log: time, memory, what happens.
pub(crate) fn log(start: Instant, message: &str) {
    let memory =
        resident_bytes().map_or_else(String::new, |bytes| format!("{} MB", bytes / 1_000_000));
    let time = seconds(start.elapsed());
    Console::note(&format!("{time:>8} {memory:>9}  {message}\n"));
}
