//! Errors and warnings with a place in the source.

use crate::source::Span;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The program is accepted.
    Warning,
    /// The program is refused.
    Error,
}

/// One message to the user.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "push it to the list of diagnostics"]
pub struct Diagnostic {
    /// Error or warning.
    pub severity: Severity,
    /// What is wrong, one line, no full stop.
    pub message: String,
    /// Where, and what to say under the marked text (may be empty).
    pub primary: (Span, String),
    /// Other places worth showing, with what to say under each.
    pub secondary: Vec<(Span, String)>,
    /// How to fix it, one line each.
    pub help: Vec<String>,
}

impl Diagnostic {
    /// An error at `span`.
    pub fn error(span: Span, message: impl Into<String>) -> Self {
        Self::new(Severity::Error, span, message)
    }

    /// A warning at `span`.
    pub fn warning(span: Span, message: impl Into<String>) -> Self {
        Self::new(Severity::Warning, span, message)
    }

    fn new(severity: Severity, span: Span, message: impl Into<String>) -> Self {
        Diagnostic {
            severity,
            message: message.into(),
            primary: (span, String::new()),
            secondary: Vec::new(),
            help: Vec::new(),
        }
    }

    /// What to say under the marked text.
    pub fn label(mut self, text: impl Into<String>) -> Self {
        self.primary.1 = text.into();
        self
    }

    /// Another place to show.
    pub fn also(mut self, span: Span, text: impl Into<String>) -> Self {
        self.secondary.push((span, text.into()));
        self
    }

    /// How to fix it.
    pub fn help(mut self, text: impl Into<String>) -> Self {
        self.help.push(text.into());
        self
    }
}
