//! What is wrong with a file: as many mistakes as one run can find, up to a bound.

use droste_source::Span;
use droste_source::diagnostics::Diagnostic;

/// More mistakes than this are not told at once.
const MOST: usize = 20;

/// The mistakes found so far.
#[derive(Clone, Debug, Default)]
pub struct Problems {
    list: Vec<Diagnostic>,
    errors: usize,
}

/// There are so many mistakes that more would not help, or one after which reading cannot continue.
#[derive(Clone, Copy, Debug)]
pub struct Enough;

impl Problems {
    /// An error.
    pub fn error(&mut self, error: Diagnostic) -> Result<(), Enough> {
        self.errors += 1;
        self.list.push(error);
        if self.errors < MOST {
            Ok(())
        } else {
            Err(Enough)
        }
    }

    /// A warning; too many of them are left out.
    pub fn warning(&mut self, warning: Diagnostic) {
        if self.list.len() < 2 * MOST {
            self.list.push(warning);
        }
    }

    /// Whether there are errors.
    pub fn has_errors(&self) -> bool {
        self.errors > 0
    }

    /// What was found: with errors, all of it is the error.
    pub fn finish<T>(self, value: T) -> Result<(T, Vec<Diagnostic>), Vec<Diagnostic>> {
        if self.has_errors() {
            Err(self.list)
        } else {
            Ok((value, self.list))
        }
    }
}

/// The span of these bytes.
pub(crate) fn span(start: usize, end: usize) -> Span {
    Span::new(start as u32, end as u32)
}

/// There are more names than can be numbered.
pub(crate) fn too_many_names(place: Span) -> Diagnostic {
    Diagnostic::error(place, "there are too many names")
}
