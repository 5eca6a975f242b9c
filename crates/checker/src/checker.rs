//! One question about a model, and an answer that has been replayed.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use droste_base::lasso::{minimise, roll};
use droste_base::{
    CallId, Claim, Deadline, Limits, Mismatch, Model, PropId, Reporter, Trace, Verdict, Via, Where,
    replay_trace,
};
use droste_explicit::{Goal, Order, Runs, Stats, search_and_replay};
use droste_omega::Watcher;

use crate::error::Error;

/// Asks questions about a model. Set what you want, then call [`reach`](Self::reach),
/// [`repeat`](Self::repeat), [`ltl`](Self::ltl) or [`watch`](Self::watch).
///
/// Every violation is [replayed](replay_trace) before it is reported.
#[must_use = "a checker does nothing until it is asked: call `reach`, `repeat`, `ltl` or `watch`"]
pub struct Checker<'a, M> {
    model: &'a M,
    order: Order,
    runs: Runs,
    timeout: Option<Duration>,
    limits: Limits,
    reporter: Option<Reporter<'a>>,
    ignore_finished: bool,
    tableau: bool,
}

// Derived, it would ask for models that can be cloned.
impl<M: Model> Clone for Checker<'_, M> {
    fn clone(&self) -> Self {
        self.over(self.model)
    }
}

/// An answer and what it took.
#[derive(Clone, Debug)]
#[must_use]
pub struct Outcome<S> {
    /// The answer. The trace of a violation has been replayed.
    pub verdict: Verdict<Trace<S>>,
    /// What was explored.
    pub stats: Stats,
    /// How long it took, replay included.
    pub time: Duration,
    /// The names of the calls in the trace, as [`Model::call_name`] has them.
    pub calls: BTreeMap<CallId, String>,
}

impl<S> Outcome<S> {
    /// Not yet [finished](Checker::finished).
    pub(crate) fn new(verdict: Verdict<Trace<S>>, stats: Stats) -> Self {
        Outcome {
            verdict,
            stats,
            time: Duration::ZERO,
            calls: BTreeMap::new(),
        }
    }

    /// Whether no run does what was asked for.
    pub fn holds(&self) -> bool {
        self.verdict.holds()
    }

    /// The run that does what was asked for, if there is one.
    pub fn trace(&self) -> Option<&Trace<S>> {
        self.verdict.witness()
    }

    /// The run as text of about `limit` lines, with the states as `show` writes them and calls by
    /// their names; nothing if there is no run.
    pub fn to_text(&self, limit: usize, show: impl Fn(&S) -> String) -> Option<String> {
        let name = |call: CallId| match self.calls.get(&call) {
            Some(name) => name.clone(),
            None => call.0.to_string(),
        };
        Some(self.trace()?.to_named_text(limit, show, name))
    }
}

/// The verdict in a word, the reason if it is unknown, and the trace in at most 200 lines if there
/// is one.
impl<S: fmt::Debug> fmt::Display for Outcome<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.verdict.word())?;
        if let Verdict::Unknown(reason) = &self.verdict {
            write!(f, ": {reason}")?;
        }
        if let Some(text) = self.to_text(200, |state| format!("{state:?}")) {
            write!(f, "\n{text}")?;
        }
        Ok(())
    }
}

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
            ignore_finished: false,
            tableau: false,
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

    /// Gives up at these limits. A [`timeout`](Self::timeout) counts from the beginning of each
    /// question; the deadline in the limits is one point in time.
    pub fn within(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Formulas are proved by a tableau, as the model is explored, without an automaton.
    pub fn by_tableau(mut self) -> Self {
        self.tableau = true;
        self
    }

    /// Gives up when the process uses more than this many bytes.
    pub fn memory(mut self, bytes: u64) -> Self {
        self.limits.memory = Some(bytes);
        self
    }

    /// Gives up when this is set to true.
    pub fn cancel(mut self, cancel: Arc<AtomicBool>) -> Self {
        self.limits.cancel = Some(cancel);
        self
    }

    /// Tells `reporter` how far the search has come, now and then.
    pub fn progress(mut self, reporter: Reporter<'a>) -> Self {
        self.reporter = Some(reporter);
        self
    }

    /// Questions about infinite runs are not about those that end, where the model does not say how
    /// they go on ([`Model::terminated`]). Without this, such a run makes *holds* an
    /// [error](Error::Unended): a model all of whose runs end satisfies every formula.
    pub fn ignore_finished_runs(mut self) -> Self {
        self.ignore_finished = true;
        self
    }

    /// Is there a run to a state with this proposition? The verdict is *violated* if there is:
    /// the proposition names what should not happen.
    pub fn reach(&self, proposition: PropId) -> Result<Outcome<M::State>, Error> {
        self.find(&Goal::Reach(proposition))
    }

    /// Is there an infinite run that meets each of these propositions again and again? The verdict is
    /// *violated* if there is, and *unknown* if there are more than 32 propositions, which cannot be
    /// kept apart. With no propositions: is there any infinite run? (Runs that end are none then,
    /// unless the model says how they go on.)
    pub fn repeat(&self, propositions: &[PropId]) -> Result<Outcome<M::State>, Error> {
        self.find(&Goal::Repeat(propositions.to_vec()))
    }

    /// Does the watcher enter a target, or, if it has none, is it in a repeating state again and
    /// again? The verdict is *violated* if so.
    pub fn watch(&self, watcher: &Watcher) -> Result<Outcome<M::State>, Error> {
        let edges = watcher.states.iter().flat_map(|state| {
            let guarded = state.edges.iter().map(|&(_, to)| to);
            guarded.chain(state.otherwise)
        });
        let mut targets = std::iter::once(watcher.initial).chain(edges);
        if let Some(state) = targets.find(|&to| to as usize >= watcher.states.len()) {
            return Err(Error::NoSuchState(state));
        }
        self.find(&Goal::Watch(watcher.clone()))
    }

    /// Like [`reach`](Self::reach), for states that satisfy `predicate`.
    pub fn reach_where(
        &self,
        predicate: impl Fn(&M::State) -> bool,
    ) -> Result<Outcome<M::State>, Error> {
        self.over(&self.where_(predicate)).reach(PropId(0))
    }

    /// Like [`repeat`](Self::repeat), for states that satisfy `predicate`.
    pub fn repeat_where(
        &self,
        predicate: impl Fn(&M::State) -> bool,
    ) -> Result<Outcome<M::State>, Error> {
        self.over(&self.where_(predicate)).repeat(&[PropId(0)])
    }

    fn where_<F: Fn(&M::State) -> bool>(&self, predicate: F) -> Where<'a, M, F> {
        Where {
            model: self.model,
            predicate,
        }
    }

    pub(crate) fn model(&self) -> &'a M {
        self.model
    }

    pub(crate) fn uses_tableau(&self) -> bool {
        self.tableau
    }

    /// The limits of a search that begins now.
    pub(crate) fn limits(&self) -> Limits {
        Limits {
            deadline: self.timeout.map(Deadline::after).or(self.limits.deadline),
            ..self.limits.clone()
        }
    }

    /// The same settings for another model.
    fn over<'b, N: Model>(&self, model: &'b N) -> Checker<'b, N>
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
            ignore_finished: self.ignore_finished,
            tableau: self.tableau,
        }
    }

    /// Searches for a run, replays it, and makes it shorter.
    fn find(&self, goal: &Goal) -> Result<Outcome<M::State>, Error> {
        let start = Instant::now();
        let mut outcome = self.search(goal, &self.limits())?;
        if let Verdict::Violated(trace) = &mut outcome.verdict {
            match goal {
                Goal::Repeat(marks) => self.shorten(trace, marks, &mut |_| true)?,
                // A shorter lasso would have to be replayed beside the automaton.
                _ => roll(trace),
            }
        }
        Ok(self.finished(outcome, start))
    }

    /// Searches for a run and replays it.
    pub(crate) fn search(&self, goal: &Goal, limits: &Limits) -> Result<Outcome<M::State>, Error> {
        let options = droste_explicit::Options {
            order: self.order,
            limits: limits.clone(),
            reporter: self.reporter,
            ..droste_explicit::Options::default()
        };
        let found = search_and_replay(self.model, goal, self.runs, &options)?;
        let any = matches!(goal, Goal::Repeat(marks) if marks.is_empty());
        if found.verdict.holds() && found.stats.ended && !any && !self.ignore_finished {
            return Err(Error::Unended);
        }
        let verdict = match found.verdict {
            Verdict::Holds(certificate) => Verdict::Holds(certificate),
            Verdict::Unknown(reason) => Verdict::Unknown(reason),
            Verdict::Violated(violation) => match violation.run {
                Some(trace) => Verdict::Violated(trace),
                None => return Err(Error::wrong(0, "the run was not written down")),
            },
        };
        Ok(Outcome::new(verdict, found.stats))
    }

    /// Makes the lasso of a violation shorter, and replays it. The cycle has to meet the `marks`,
    /// and `violates` says whether a shorter run is still a violation.
    pub(crate) fn shorten(
        &self,
        trace: &mut Trace<M::State>,
        marks: &[PropId],
        violates: &mut dyn FnMut(&Trace<M::State>) -> bool,
    ) -> Result<(), Mismatch> {
        // This one is still the same run.
        roll(trace);
        let claim = Claim::Repeats {
            marks,
            finite_stack: self.runs == Runs::FiniteStack,
        };
        let inside: usize = trace.runs.iter().map(|run| run.positions.len()).sum();
        let mut left = MINIMISING;
        minimise(trace, &mut |candidate: &Trace<M::State>| {
            let cost = inside + candidate.positions.len();
            let affordable = cost <= left;
            left = left.saturating_sub(cost);
            affordable && violates(candidate) && replay_trace(self.model, candidate, &claim).is_ok()
        });
        replay_trace(self.model, trace, &claim)
    }

    /// The outcome with the names of its calls and the time that it took since `start`.
    pub(crate) fn finished(
        &self,
        mut outcome: Outcome<M::State>,
        start: Instant,
    ) -> Outcome<M::State> {
        if let Some(trace) = outcome.verdict.witness() {
            let runs = trace.runs.iter().flat_map(|run| &run.positions);
            for position in trace.positions.iter().chain(runs) {
                if let Via::Call(call) | Via::Summary(call, _) = position.via {
                    let name = || self.model.call_name(call);
                    outcome.calls.entry(call).or_insert_with(name);
                }
            }
        }
        outcome.time = start.elapsed();
        outcome
    }
}

/// Candidates for a shorter lasso are copied and replayed; all in all, so many positions.
const MINIMISING: usize = 1_000_000;
