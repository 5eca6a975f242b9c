//! Holds a check to its limits where the check itself does not look at them.
//!
//! A search stops by itself when a limit is reached. What comes before and after it (simplifying the
//! program, making a trace concrete, replaying it) does not look at the clock. So a thread of
//! its own waits for a limit and, if there is no answer a moment later, answers `unknown` in the
//! check's place and ends the process.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use droste_base::limits::resident_bytes;
use droste_base::{Progress, StopReason};

/// How often the limits are looked at.
const EVERY: Duration = Duration::from_millis(50);
/// How long the search has to stop by itself.
const GRACE: Duration = Duration::from_millis(500);

/// What is watched; shared with the thread that watches.
#[derive(Debug)]
pub(crate) struct Watchdog {
    start: Instant,
    timeout: Option<Duration>,
    memory: Option<u64>,
    /// Set by Ctrl-C.
    pub(crate) cancel: Arc<AtomicBool>,
    /// Whoever sets this may answer.
    answered: AtomicBool,
    contexts: AtomicU64,
    states: AtomicU64,
}

impl Watchdog {
    pub(crate) fn new(start: Instant, timeout: Option<Duration>, memory: Option<u64>) -> Arc<Self> {
        Arc::new(Watchdog {
            start,
            timeout,
            memory,
            cancel: Arc::default(),
            answered: AtomicBool::new(false),
            contexts: AtomicU64::new(0),
            states: AtomicU64::new(0),
        })
    }

    /// Remembers how far the search has come.
    pub(crate) fn note(&self, progress: Progress) {
        self.contexts.store(progress.contexts, Ordering::Relaxed);
        self.states.store(progress.states, Ordering::Relaxed);
    }

    /// Contexts and states, as far as is known.
    pub(crate) fn known(&self) -> (u64, u64) {
        (
            self.contexts.load(Ordering::Relaxed),
            self.states.load(Ordering::Relaxed),
        )
    }

    /// To be called before an answer is given; does not return if the watchdog has answered.
    pub(crate) fn claim(&self) {
        if self.answered.swap(true, Ordering::SeqCst) {
            loop {
                std::thread::park();
            }
        }
    }

    /// Watches from now on. `answer` must end the process.
    pub(crate) fn watch(self: &Arc<Self>, answer: impl FnOnce(StopReason) + Send + 'static) {
        let watchdog = Arc::clone(self);
        let watching = std::thread::Builder::new().name("watchdog".to_owned());
        // Without a thread, the search still looks at its limits itself.
        let _ = watching.spawn(move || {
            let mut reached: Option<(Instant, StopReason)> = None;
            loop {
                std::thread::sleep(EVERY);
                if watchdog.answered.load(Ordering::SeqCst) {
                    return;
                }
                match &reached {
                    None => reached = watchdog.reached().map(|reason| (Instant::now(), reason)),
                    Some((since, _)) if since.elapsed() < GRACE => {}
                    Some((_, reason)) => {
                        if !watchdog.answered.swap(true, Ordering::SeqCst) {
                            answer(reason.clone());
                        }
                        return;
                    }
                }
            }
        });
    }

    /// The limit that has been reached, if any.
    fn reached(&self) -> Option<StopReason> {
        if self.cancel.load(Ordering::Relaxed) {
            return Some(StopReason::Cancelled);
        }
        if let Some(timeout) = self.timeout
            && self.start.elapsed() >= timeout
        {
            return Some(StopReason::Time(timeout));
        }
        if let Some(memory) = self.memory
            && resident_bytes().is_some_and(|used| used > memory)
        {
            return Some(StopReason::Memory(memory));
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    #[test]
    fn it_answers_if_nobody_else_does() {
        let limit = Duration::from_millis(1);
        let watchdog = Watchdog::new(Instant::now(), Some(limit), None);
        let (send, receive) = mpsc::channel();
        watchdog.watch(move |reason| send.send(reason).expect("somebody listens"));
        let reason = receive.recv_timeout(Duration::from_secs(20));
        assert_eq!(reason, Ok(StopReason::Time(limit)));
    }

    #[test]
    fn it_is_silent_after_an_answer() {
        let watchdog = Watchdog::new(Instant::now(), Some(Duration::from_millis(1)), None);
        watchdog.claim();
        let (send, receive) = mpsc::channel::<StopReason>();
        watchdog.watch(move |reason| send.send(reason).expect("somebody listens"));
        // The thread ends without a word.
        let error = receive.recv_timeout(Duration::from_secs(20));
        assert_eq!(error, Err(mpsc::RecvTimeoutError::Disconnected));
    }
}
