//! The answer of an engine, and which runs it is about.

use crate::StopReason;

/// Which infinite runs count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Runs {
    /// Every one, also those that recurse for ever.
    #[default]
    All,
    /// Those whose stack height stays bounded.
    FiniteStack,
}

/// Holds, violated with a witness, or unknown with the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "a verdict is the point of the exercise"]
pub enum Verdict<T> {
    /// No run violates the property.
    Holds(Certificate),
    /// Some run violates it: this one.
    Violated(T),
    /// A limit was reached first.
    Unknown(StopReason),
}

/// What is known of a run that violates a property.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counterexample<T> {
    /// The run, if it was to be written down.
    pub run: Option<T>,
    /// Whether it is an infinite run whose stack grows without bound.
    pub pumping: bool,
}

impl<T> Counterexample<T> {
    /// The same violation with its run in another form.
    pub fn map<U>(self, f: impl FnOnce(T) -> U) -> Counterexample<U> {
        Counterexample {
            run: self.run.map(f),
            pumping: self.pumping,
        }
    }
}

/// What makes a [`Verdict::Holds`] checkable without search. Empty for now: the place
/// is kept so that engines can fill it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Certificate {}

impl<T> Verdict<T> {
    /// The same verdict with another form of witness.
    pub fn map<U>(self, f: impl FnOnce(T) -> U) -> Verdict<U> {
        match self {
            Verdict::Holds(certificate) => Verdict::Holds(certificate),
            Verdict::Violated(witness) => Verdict::Violated(f(witness)),
            Verdict::Unknown(reason) => Verdict::Unknown(reason),
        }
    }

    /// Whether the property holds.
    pub fn holds(&self) -> bool {
        matches!(self, Verdict::Holds(_))
    }

    /// Whether the property is violated.
    pub fn is_violated(&self) -> bool {
        matches!(self, Verdict::Violated(_))
    }

    /// The witness of a violation.
    pub fn witness(&self) -> Option<&T> {
        match self {
            Verdict::Violated(witness) => Some(witness),
            _ => None,
        }
    }

    /// The word used on the command line and in JSON.
    pub fn word(&self) -> &'static str {
        match self {
            Verdict::Holds(_) => "holds",
            Verdict::Violated(_) => "violated",
            Verdict::Unknown(_) => "unknown",
        }
    }
}

impl<T> Verdict<Counterexample<T>> {
    /// The run of a violation, if it was written down.
    pub fn run(&self) -> Option<&T> {
        self.witness()?.run.as_ref()
    }

    /// The run of a violation, if it was written down, and nothing else.
    pub fn into_run(self) -> Option<T> {
        match self {
            Verdict::Violated(violation) => violation.run,
            _ => None,
        }
    }
}
