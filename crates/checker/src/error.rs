//! Why a question about a model got no answer.

use std::fmt;

use droste_base::Mismatch;
use droste_source::SourceFile;
use droste_source::diagnostics::{Diagnostic, render};

/// Why a question about a model got no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// What the search found is not a run of the model, or not one that was asked for.
    ///
    /// The likely reason is a model that answers the same question differently at different times:
    /// it iterates over a `HashMap` made anew each time, reads a clock, or changes what is behind a
    /// `RefCell`. (The other possible reason is a defect in Droste; please report it.)
    Inconsistent(Mismatch),
    /// No infinite run is as asked for. But some run ends, and the model does not say how it goes
    /// on: [`Model::terminated`](droste_base::Model::terminated) gave `None`. So the answer would not be
    /// about that run, and in a model all of whose runs end, everything would be true.
    ///
    /// Have `terminated` give a state whose only step is to itself. If runs that end are not meant
    /// to count, say so with
    /// [`Checker::ignore_finished_runs`](crate::Checker::ignore_finished_runs).
    Unended,
    /// The text is not a formula, or it mentions something that is not among the propositions.
    Formula {
        /// What is wrong.
        diagnostics: Vec<Diagnostic>,
        /// The same as text, with the places in the formula.
        text: String,
    },
    /// The watcher begins in a state, or has an edge to a state, that it does not have.
    NoSuchState(u32),
}

impl Error {
    pub(crate) fn formula(diagnostics: Vec<Diagnostic>, source: &SourceFile) -> Self {
        let text = render(&diagnostics, source, false);
        Error::Formula { diagnostics, text }
    }

    /// The trace is not what it was taken for.
    pub(crate) fn wrong(position: usize, reason: &'static str) -> Self {
        Error::Inconsistent(Mismatch {
            run: None,
            position,
            reason,
        })
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Inconsistent(mismatch) => write!(
                f,
                "the run that was found does not replay ({mismatch}): does the model always give \
                 the same answers for the same state? If so, this is a defect in Droste, please \
                 report it"
            ),
            Error::Unended => f.write_str(
                "some run ends, and is no infinite run: have `Model::terminated` say how it goes \
                 on, or call `ignore_finished_runs` if only the other runs are meant",
            ),
            Error::Formula { text, .. } => f.write_str(text),
            Error::NoSuchState(state) => write!(f, "the watcher has no state {state}"),
        }
    }
}

impl std::error::Error for Error {}

impl From<Mismatch> for Error {
    fn from(mismatch: Mismatch) -> Self {
        Error::Inconsistent(mismatch)
    }
}
