//! How far a search has come: a line that changes on a terminal, lines in a log elsewhere.

use std::cell::{Cell, RefCell};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use droste_base::words::{count, counted};
use droste_base::{Counters, Progress};

use crate::console::Console;
use crate::frame::log;

/// A search that is over by then shows nothing.
const FIRST: Duration = Duration::from_millis(500);
/// How often the line changes at most.
const EVERY: Duration = Duration::from_millis(200);

/// How often a log gets a line.
const EVERY_LINE: Duration = Duration::from_secs(5);

/// Where progress is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shown {
    /// A line on a terminal that is written over again and again.
    Line,
    /// Lines of a log.
    Log,
    /// Nowhere.
    Nothing,
}

/// Shows on standard error how far a search has come.
pub(crate) struct ProgressLine {
    shown: Shown,
    /// When the command began.
    start: Instant,
    /// When this search began.
    began: Instant,
    next: Cell<Duration>,
    is_there: Cell<bool>,
    /// What is searched, to be read before the rest.
    label: RefCell<String>,
}

impl ProgressLine {
    /// Erases a line.
    pub(crate) const ERASE: &'static str = "\r\x1b[K";

    pub(crate) fn new(shown: Shown, start: Instant) -> Self {
        ProgressLine {
            shown,
            start,
            began: Instant::now(),
            next: Cell::new(match shown {
                Shown::Line => FIRST,
                Shown::Log | Shown::Nothing => EVERY_LINE,
            }),
            is_there: Cell::new(false),
            label: RefCell::default(),
        }
    }

    /// Says what is searched from now on.
    pub(crate) fn label(&self, label: String) {
        self.label.replace(label);
    }

    /// Shows `progress`, unless the last time was a moment ago.
    pub(crate) fn show(&self, progress: Progress) {
        self.show_text(|elapsed| line(&self.label.borrow(), &progress, elapsed));
    }

    /// Shows a text, unless the last time was a moment ago.
    pub(crate) fn show_text(&self, text: impl FnOnce(Duration) -> String) {
        let elapsed = self.began.elapsed();
        if self.shown == Shown::Nothing || elapsed < self.next.get() {
            return;
        }
        let text = text(elapsed);
        if self.shown == Shown::Log {
            self.next.set(elapsed + EVERY_LINE);
            log(self.start, &text);
            return;
        }
        self.next.set(elapsed + EVERY);
        self.is_there.set(true);
        // Short enough for eighty columns.
        let text: String = text.chars().take(79).collect();
        Console::note(&format!("{}{text}", Self::ERASE));
    }

    /// Erases the line.
    pub(crate) fn erase(&self) {
        if self.is_there.replace(false) {
            Console::note(Self::ERASE);
        }
    }
}

/// Does some work while a thread shows its progress now and then.
pub(crate) fn show_while<T>(
    line: ProgressLine,
    show: impl Fn(&ProgressLine) + Send,
    work: impl FnOnce() -> T,
) -> T {
    if line.shown == Shown::Nothing {
        return work();
    }
    let (over, wait) = mpsc::channel::<()>();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            while wait.recv_timeout(EVERY) == Err(mpsc::RecvTimeoutError::Timeout) {
                show(&line);
            }
            line.erase();
        });
        let result = work();
        drop(over);
        result
    })
}

/// A search in one line.
fn line(label: &str, progress: &Progress, elapsed: Duration) -> String {
    let seconds = elapsed.as_secs_f64();
    let rate = |number: u64| count((number as f64 / seconds.max(0.001)) as u64);
    let (numbers, rate) = match progress.counters {
        Counters::Explicit {
            path_edges, states, ..
        } => (
            format!(
                "{}, {}",
                counted(path_edges, "path edge"),
                counted(states, "state")
            ),
            rate(path_edges),
        ),
        Counters::Symbolic { images, nodes } => (
            format!("{}, {}", counted(images, "image"), counted(nodes, "node")),
            rate(images),
        ),
        Counters::Weighted { products, nodes } => (
            format!(
                "{}, {}",
                counted(products, "product"),
                counted(nodes, "node")
            ),
            rate(products),
        ),
        Counters::Calculus { rounds, nodes } => (
            format!("{}, {}", counted(rounds, "round"), counted(nodes, "node")),
            rate(rounds),
        ),
    };
    let phase = progress.phase;
    format!("{phase}{label}: {numbers}, {rate}/s, {seconds:.1} s")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_in_one_line() {
        let progress = |number, states| Progress {
            phase: "searching",
            counters: Counters::Explicit {
                path_edges: number,
                states,
                waiting: number,
            },
        };
        assert_eq!(
            line("", &progress(3_000, 200), Duration::from_millis(1500)),
            "searching: 3,000 path edges, 200 states, 2,000/s, 1.5 s"
        );
    }
}
