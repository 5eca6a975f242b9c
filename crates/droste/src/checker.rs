//! One question about a model, and an answer one can rely on.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use droste_base::{
    Claim, Deadline, Limits, Mismatch, Model, PropId, Reporter, Trace, Verdict, Where, replay_trace,
};
use droste_explicit::{Order, Runs, Stats, reach, repeat};
use droste_omega::{Product, Watcher};

/// Asks questions about a model. Set what you want, then call [`reach`](Self::reach),
/// [`repeat`](Self::repeat), [`ltl`](Self::ltl) or [`watch`](Self::watch).
///
/// Every violation is [replayed](replay_trace) before it is reported.
#[derive(Clone)]
#[must_use = "a checker does nothing until it is asked: call `reach`, `repeat`, `ltl` or `watch`"]
pub struct Checker<'a, M> {
    model: &'a M,
    order: Order,
    runs: Runs,
    timeout: Option<Duration>,
    limits: Limits,
    reporter: Option<Reporter<'a>>,
}

/// An answer and what it took.
#[derive(Clone, Debug)]
#[must_use]
pub struct Outcome<S> {
    /// The answer. The trace of a violation has been replayed.
    pub verdict: Verdict<Trace<S>>,
    /// What was looked at.
    pub stats: Stats,
    /// How long it took, replay included.
    pub time: Duration,
}

impl<S> Outcome<S> {
    /// Whether no run does what was asked for.
    pub fn holds(&self) -> bool {
        self.verdict.holds()
    }

    /// The run that does what was asked for, if there is one.
    pub fn trace(&self) -> Option<&Trace<S>> {
        self.verdict.witness()
    }
}

/// The verdict in a word, the reason if it is unknown, and the trace if there is one.
impl<S: fmt::Debug> fmt::Display for Outcome<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.verdict.word())?;
        match &self.verdict {
            Verdict::Holds(_) => Ok(()),
            Verdict::Unknown(reason) => write!(f, ": {reason}"),
            Verdict::Violated(trace) => write!(f, "\n{trace}"),
        }
    }
}

/// What the search found is not a run of the model.
///
/// The likely reason is a model that answers the same question differently at different times:
/// it iterates over a `HashMap` made anew each time, reads a clock, or changes what is behind a
/// `RefCell`. (The other possible reason is a defect in Droste; please report it.)
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inconsistent {
    /// Where the trace went wrong.
    pub mismatch: Mismatch,
}

impl fmt::Display for Inconsistent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the run that was found does not replay ({}): does the model always give the same \
             answers for the same state? If so, this is a defect in Droste, please report it",
            self.mismatch
        )
    }
}

impl std::error::Error for Inconsistent {}

impl<'a, M: Model> Checker<'a, M> {
    /// A checker with no limits, which searches depth first and counts every infinite run.
    pub fn new(model: &'a M) -> Self {
        Checker {
            model,
            order: Order::default(),
            runs: Runs::default(),
            timeout: None,
            limits: Limits::default(),
            reporter: None,
        }
    }

    /// In which order [`reach`](Self::reach) explores. [`Order::Bfs`] finds a shortest run.
    pub fn order(mut self, order: Order) -> Self {
        self.order = order;
        self
    }

    /// Which infinite runs count for [`repeat`](Self::repeat), [`ltl`](Self::ltl) and [`watch`](Self::watch).
    pub fn runs(mut self, runs: Runs) -> Self {
        self.runs = runs;
        self
    }

    /// Gives up after this time.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Gives up when the process uses more than this many bytes.
    pub fn memory(mut self, bytes: u64) -> Self {
        self.limits.memory = Some(bytes);
        self
    }

    /// Gives up when somebody sets this to true.
    pub fn cancel(mut self, cancel: Arc<AtomicBool>) -> Self {
        self.limits.cancel = Some(cancel);
        self
    }

    /// Tells `reporter` how far the search has come, now and then.
    pub fn progress(mut self, reporter: Reporter<'a>) -> Self {
        self.reporter = Some(reporter);
        self
    }

    /// Is there a run to a state with this proposition? The verdict is *violated* if there is:
    /// the proposition names what should not happen.
    pub fn reach(&self, proposition: PropId) -> Result<Outcome<M::State>, Inconsistent> {
        let start = Instant::now();
        let found = reach(self.model, proposition, &self.options());
        let claim = Claim::Reaches(proposition);
        confirm(self.model, found, &claim, start)
    }

    /// Is there an infinite run that meets each of these propositions (at most 32) again and again?
    /// The verdict is *violated* if there is. With no propositions: is there any infinite run?
    pub fn repeat(&self, propositions: &[PropId]) -> Result<Outcome<M::State>, Inconsistent> {
        let start = Instant::now();
        let found = repeat(self.model, propositions, self.runs, &self.options());
        let finite_stack = self.runs == Runs::FiniteStack;
        let claim = Claim::Repeats {
            marks: propositions,
            finite_stack,
        };
        confirm(self.model, found, &claim, start)
    }

    /// Does the watcher enter a target, or, if it has none, is it in a repeating state again and
    /// again? The verdict is *violated* if so. States of the trace are those of the model, each
    /// with the watcher's state before it has read it.
    pub fn watch(&self, watcher: &Watcher) -> Result<Outcome<(M::State, u32)>, Inconsistent> {
        let product = Product::new(self.model, watcher);
        let checker = self.over(&product);
        if watcher.states.iter().any(|state| state.target) {
            checker.reach(Product::<M>::TARGET)
        } else {
            checker.repeat(&[Product::<M>::REPEATING])
        }
    }

    /// Like [`reach`](Self::reach), for states that satisfy `predicate`.
    pub fn reach_where(
        &self,
        predicate: impl Fn(&M::State) -> bool,
    ) -> Result<Outcome<M::State>, Inconsistent> {
        self.over(&Where {
            model: self.model,
            predicate,
        })
        .reach(PropId(0))
    }

    /// Like [`repeat`](Self::repeat), for states that satisfy `predicate`.
    pub fn repeat_where(
        &self,
        predicate: impl Fn(&M::State) -> bool,
    ) -> Result<Outcome<M::State>, Inconsistent> {
        self.over(&Where {
            model: self.model,
            predicate,
        })
        .repeat(&[PropId(0)])
    }

    pub(crate) fn model(&self) -> &'a M {
        self.model
    }

    /// The limits of a search that begins now.
    pub(crate) fn limits(&self) -> Limits {
        Limits {
            deadline: self.timeout.map(Deadline::after),
            ..self.limits.clone()
        }
    }

    /// The same settings for another model.
    pub(crate) fn over<'b, N: Model>(&self, model: &'b N) -> Checker<'b, N>
    where
        'a: 'b,
    {
        Checker {
            model,
            order: self.order,
            runs: self.runs,
            timeout: self.timeout,
            limits: self.limits.clone(),
            reporter: self.reporter,
        }
    }

    fn options(&self) -> droste_explicit::Options<'a> {
        droste_explicit::Options {
            order: self.order,
            limits: self.limits(),
            reporter: self.reporter,
            ..droste_explicit::Options::default()
        }
    }
}

/// Replays a violation.
fn confirm<M: Model>(
    model: &M,
    found: droste_explicit::Outcome<M::State>,
    claim: &Claim<'_>,
    start: Instant,
) -> Result<Outcome<M::State>, Inconsistent> {
    if let Some(trace) = found.verdict.run() {
        replay_trace(model, trace, claim).map_err(|mismatch| Inconsistent { mismatch })?;
    }
    let verdict = match found.verdict {
        Verdict::Holds(certificate) => Verdict::Holds(certificate),
        Verdict::Unknown(reason) => Verdict::Unknown(reason),
        Verdict::Violated(violation) => match violation.run {
            Some(trace) => Verdict::Violated(trace),
            None => unreachable!("runs are written down here"),
        },
    };
    Ok(Outcome {
        verdict,
        stats: found.stats,
        time: start.elapsed(),
    })
}
