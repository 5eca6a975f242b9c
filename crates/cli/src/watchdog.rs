//! Holds a check to its limits where the check itself does not look at them.
//!
//! A search stops by itself when a limit is reached. What comes before and after it (reading,
//! parsing and simplifying the program, making a trace concrete, replaying it) does not look at the
//! clock. So a thread of its own waits for a limit and answers `unknown` in the check's place and
//! ends the process: at once before the search, and otherwise if there is no answer a moment later.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::time::{Duration, Instant};

use std::sync::{Mutex, PoisonError};

use droste_base::memory::resident_bytes;
use droste_base::{Counters, Deadline, Progress, StopReason};
use droste_check::{Effort, Stats, SymbolicStats};

/// How often the limits are checked.
const EVERY: Duration = Duration::from_millis(50);
/// How long the search has to stop by itself.
const GRACE: Duration = Duration::from_millis(500);

/// Who answers.
const NOBODY: u8 = 0;
const CHECK: u8 = 1;
const WATCHDOG: u8 = 2;

/// What is watched; shared with the thread that watches.
#[derive(Debug)]
pub(crate) struct Watchdog {
    deadline: Option<Deadline>,
    memory: Option<u64>,
    /// Set by Ctrl-C.
    pub(crate) cancel: Arc<AtomicBool>,
    /// Whoever sets this first may answer.
    answers: AtomicU8,
    /// Whether the search looks at the limits itself.
    searching: AtomicBool,
    /// Whether there is a thread that watches.
    watching: AtomicBool,
    /// How far the search has come.
    counters: Mutex<Option<Counters>>,
}

impl Watchdog {
    pub(crate) fn new(deadline: Option<Deadline>, memory: Option<u64>) -> Arc<Self> {
        Arc::new(Watchdog {
            deadline,
            memory,
            cancel: Arc::default(),
            answers: AtomicU8::new(NOBODY),
            searching: AtomicBool::new(false),
            watching: AtomicBool::new(false),
            counters: Mutex::default(),
        })
    }

    /// Remembers how far the search has come.
    pub(crate) fn note(&self, progress: Progress) {
        *self.counters() = Some(progress.counters);
    }

    /// Another search begins.
    pub(crate) fn note_nothing(&self) {
        *self.counters() = None;
    }

    fn counters(&self) -> std::sync::MutexGuard<'_, Option<Counters>> {
        self.counters.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the search has taken so far, as far as is known.
    pub(crate) fn effort(&self) -> Option<Effort> {
        Some(match (*self.counters())? {
            Counters::Explicit {
                path_edges, states, ..
            } => Effort::Explicit(Stats {
                path_edges,
                states,
                ..Stats::default()
            }),
            Counters::Symbolic { images, nodes } => Effort::Symbolic(SymbolicStats {
                images,
                peak_nodes: nodes,
                ..SymbolicStats::default()
            }),
            Counters::Weighted { products, nodes } => Effort::Weighted(SymbolicStats {
                images: products,
                peak_nodes: nodes,
                ..SymbolicStats::default()
            }),
            Counters::Calculus { rounds, nodes } => Effort::Calculus(SymbolicStats {
                rounds,
                peak_nodes: nodes,
                ..SymbolicStats::default()
            }),
        })
    }

    /// To be called before an answer is given, or an error; does not return if the watchdog has
    /// answered.
    pub(crate) fn claim(&self) {
        if !self.take(CHECK) && self.answers.load(Ordering::SeqCst) == WATCHDOG {
            wait_for_the_end();
        }
    }

    /// Whether an answer is being given.
    pub(crate) fn is_answering(&self) -> bool {
        self.answers.load(Ordering::SeqCst) != NOBODY
    }

    fn take(&self, who: u8) -> bool {
        self.answers
            .compare_exchange(NOBODY, who, Ordering::SeqCst, Ordering::SeqCst)
            .is_ok()
    }

    /// From now on, who searches has a moment to stop by itself.
    pub(crate) fn search_begins(&self) {
        self.searching.store(true, Ordering::SeqCst);
    }

    /// Whether that has been said.
    pub(crate) fn is_searching(&self) -> bool {
        self.searching.load(Ordering::SeqCst)
    }

    /// Does not return if a limit has been reached: the watchdog is about to answer.
    pub(crate) fn pause_at_limit(&self) {
        if self.watching.load(Ordering::SeqCst) {
            // It does return if memory has become free again before the watchdog looked.
            while self.reached().is_some() {
                std::thread::sleep(EVERY);
            }
        }
    }

    /// Watches from now on. `answer` must end the process.
    pub(crate) fn watch(self: &Arc<Self>, answer: impl FnOnce(StopReason) + Send + 'static) {
        let watchdog = Arc::clone(self);
        let watching = std::thread::Builder::new().name("watchdog".to_owned());
        // Without a thread, the search still looks at its limits itself.
        let spawned = watching.spawn(move || {
            let mut reached: Option<(Instant, StopReason)> = None;
            loop {
                std::thread::sleep(EVERY);
                if watchdog.is_answering() {
                    return;
                }
                if reached.is_none() {
                    reached = watchdog.reached().map(|reason| (Instant::now(), reason));
                }
                let Some((since, reason)) = &reached else {
                    continue;
                };
                if since.elapsed() >= GRACE || !watchdog.searching.load(Ordering::SeqCst) {
                    if watchdog.take(WATCHDOG) {
                        answer(reason.clone());
                    }
                    return;
                }
            }
        });
        self.watching.store(spawned.is_ok(), Ordering::SeqCst);
    }

    /// The limit that has been reached, if any.
    fn reached(&self) -> Option<StopReason> {
        if self.cancel.load(Ordering::Relaxed) {
            return Some(StopReason::Cancelled);
        }
        if let Some(deadline) = self.deadline
            && deadline.is_over(Instant::now())
        {
            return Some(StopReason::Time(deadline.given()));
        }
        if let Some(memory) = self.memory
            && resident_bytes().is_some_and(|used| used > memory)
        {
            return Some(StopReason::Memory(memory));
        }
        None
    }
}

fn wait_for_the_end() -> ! {
    loop {
        std::thread::park();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    #[test]
    fn it_answers_if_nobody_else_does() {
        let limit = Duration::from_millis(1);
        let watchdog = Watchdog::new(Some(Deadline::after(limit)), None);
        let (send, receive) = mpsc::channel();
        watchdog.watch(move |reason| send.send(reason).expect("somebody listens"));
        let reason = receive.recv_timeout(Duration::from_secs(20));
        assert_eq!(reason, Ok(StopReason::Time(limit)));
    }

    #[test]
    fn it_is_silent_after_an_answer() {
        let watchdog = Watchdog::new(Some(Deadline::after(Duration::from_millis(1))), None);
        watchdog.claim();
        let (send, receive) = mpsc::channel::<StopReason>();
        watchdog.watch(move |reason| send.send(reason).expect("somebody listens"));
        // The thread ends without a word.
        let error = receive.recv_timeout(Duration::from_secs(20));
        assert_eq!(error, Err(mpsc::RecvTimeoutError::Disconnected));
    }
}
