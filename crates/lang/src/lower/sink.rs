//! Where lowering puts its diagnostics: no more than are helpful.

use droste_base::words::counted;
use droste_source::diagnostics::{Diagnostic, Severity};

/// How many errors, and how many warnings, one run reports.
const MOST: usize = 100;

/// A list of diagnostics with a cap on each severity.
#[derive(Default)]
pub(crate) struct Sink {
    list: Vec<Diagnostic>,
    errors: usize,
    warnings: usize,
}

impl Sink {
    pub(crate) fn push(&mut self, diagnostic: Diagnostic) {
        let count = match diagnostic.severity {
            Severity::Error => &mut self.errors,
            Severity::Warning => &mut self.warnings,
        };
        *count += 1;
        if *count <= MOST {
            self.list.push(diagnostic);
        }
    }

    /// Pushes the error that `make` describes; if there are too many already, only counts it.
    pub(crate) fn error(&mut self, make: impl FnOnce() -> Diagnostic) {
        if self.errors < MOST {
            self.push(make());
        } else {
            self.errors += 1;
        }
    }

    /// Whether there has been an error.
    pub(crate) fn failed(&self) -> bool {
        self.errors > 0
    }

    /// The diagnostics, in the order of the source.
    pub(crate) fn finish(mut self) -> Vec<Diagnostic> {
        self.list.sort_by_key(|d| d.primary.0.start);
        let hidden = self.errors.saturating_sub(MOST);
        if hidden > 0
            && let Some(last) = self
                .list
                .iter_mut()
                .rev()
                .find(|d| d.severity == Severity::Error)
        {
            let more = counted(hidden as u64, "more error");
            last.help.push(format!("not shown: {more}"));
        }
        self.list
    }
}
