//! The line on a terminal that shows how far a search has come.

use std::cell::{Cell, RefCell};
use std::time::{Duration, Instant};

use droste_base::{Progress, Units};

use crate::console::Console;
use crate::verdict::count;

/// A search that is over by then shows nothing.
const FIRST: Duration = Duration::from_millis(500);
/// How often the line changes at most.
const EVERY: Duration = Duration::from_millis(200);

/// A line on standard error that is written over again and again.
pub(crate) struct ProgressLine {
    start: Instant,
    next: Cell<Duration>,
    shown: Cell<bool>,
    /// What is searched, to be read before the rest.
    label: RefCell<String>,
}

impl ProgressLine {
    pub(crate) fn new() -> Self {
        ProgressLine {
            start: Instant::now(),
            next: Cell::new(FIRST),
            shown: Cell::new(false),
            label: RefCell::default(),
        }
    }

    /// Says what is searched from now on.
    pub(crate) fn label(&self, label: String) {
        self.label.replace(label);
    }

    /// Shows `progress`, unless the last time was a moment ago.
    pub(crate) fn show(&self, progress: Progress) {
        let elapsed = self.start.elapsed();
        if elapsed < self.next.get() {
            return;
        }
        self.next.set(elapsed + EVERY);
        self.shown.set(true);
        let line = line(&self.label.borrow(), &progress, elapsed);
        Console::note(&format!("\r\x1b[K{line}"));
    }

    /// Erases the line.
    pub(crate) fn erase(&self) {
        if self.shown.replace(false) {
            Console::note("\r\x1b[K");
        }
    }
}

/// Short enough for eighty columns whatever the numbers.
fn line(label: &str, progress: &Progress, elapsed: Duration) -> String {
    let seconds = elapsed.as_secs_f64();
    let rate = (progress.contexts as f64 / seconds.max(0.001)) as u64;
    let units = match progress.units {
        Units::Contexts => ("contexts", "states"),
        Units::Images => ("images", "nodes"),
    };
    let mut line = format!(
        "{}{label}: {} {}, {} {}, {}/s, {seconds:.1} s",
        progress.phase,
        count(progress.contexts),
        units.0,
        count(progress.states),
        units.1,
        count(rate),
    );
    if let Some((at, _)) = line.char_indices().nth(79) {
        line.truncate(at);
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_fits_a_terminal() {
        let progress = Progress {
            phase: "searching",
            units: Units::Contexts,
            contexts: u64::MAX,
            states: u64::MAX,
            waiting: u64::MAX,
        };
        assert!(
            line("", &progress, Duration::from_secs(1_000_000))
                .chars()
                .count()
                < 80
        );
        let progress = Progress {
            phase: "searching",
            units: Units::Contexts,
            contexts: 3_000,
            states: 200,
            waiting: 0,
        };
        assert_eq!(
            line("", &progress, Duration::from_millis(1500)),
            "searching: 3,000 contexts, 200 states, 2,000/s, 1.5 s"
        );
    }
}
