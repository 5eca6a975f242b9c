//! The line on a terminal that shows how far a search has come.

use std::cell::{Cell, RefCell};
use std::time::{Duration, Instant};

use droste_base::words::count;
use droste_base::{Counters, Progress};

use crate::console::Console;

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
    let rate = |number: u64| count((number as f64 / seconds.max(0.001)) as u64);
    let (numbers, rate) = match progress.counters {
        Counters::Explicit {
            path_edges, states, ..
        } => (
            format!("{} path edges, {} states", count(path_edges), count(states)),
            rate(path_edges),
        ),
        Counters::Symbolic { images, nodes } => (
            format!("{} images, {} nodes", count(images), count(nodes)),
            rate(images),
        ),
        Counters::Calculus { rounds, nodes } => (
            format!("{} rounds, {} nodes", count(rounds), count(nodes)),
            rate(rounds),
        ),
    };
    let phase = progress.phase;
    let mut line = format!("{phase}{label}: {numbers}, {rate}/s, {seconds:.1} s");
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
        let progress = |number, states| Progress {
            phase: "searching",
            counters: Counters::Explicit {
                path_edges: number,
                states,
                waiting: number,
            },
        };
        let long = progress(u64::MAX, u64::MAX);
        let long = line("", &long, Duration::from_secs(1_000_000));
        assert!(long.chars().count() < 80);
        assert_eq!(
            line("", &progress(3_000, 200), Duration::from_millis(1500)),
            "searching: 3,000 path edges, 200 states, 2,000/s, 1.5 s"
        );
    }
}
