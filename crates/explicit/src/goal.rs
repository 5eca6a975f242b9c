//! Every kind of question about a model, answered by [`reach()`], [`stuck()`] or [`repeat()`].
//!
//! A monitor, an automaton or a tableau is run beside the model. The product is a model again
//! (crate `omega`), and what is asked of it is reachability or repetition. This is the one place
//! where a question becomes a search: Boolean programs and users' own models come through it.

use std::convert::Infallible;

use droste_base::{Claim, Mismatch, Model, PropId, Runs, Trace, replay_trace};
use droste_omega::{Buchi, Observed, Product, Tableau, Watcher};

use crate::touch::{TOUCHED, touch};
use crate::{Options, Outcome, Tour, reach, repeat, stuck};

/// What is looked for in the runs of a model.
pub enum Goal {
    /// A state with this proposition.
    Reach(PropId),
    /// A state with the target's proposition, by a run that touches the most marks, and of those a
    /// shortest one.
    Touch(Tour),
    /// A state without steps, or a return that the caller refuses. Where one of these propositions is
    /// true, a run may end and is not stuck.
    Stuck(Vec<PropId>),
    /// An infinite run that meets each of these propositions again and again; with none of them,
    /// any infinite run.
    Repeat(Vec<PropId>),
    /// A run that takes the watcher to a target, or if it has none, through its repeating states
    /// again and again.
    Watch(Watcher),
    /// An infinite run that an automaton accepts, whose atoms are these propositions.
    Accept(Buchi, Vec<PropId>),
    /// An infinite run that refutes the formula of a tableau, whose atoms are these propositions.
    Prove(Tableau, Vec<PropId>),
}

impl Goal {
    /// Whether it is about infinite runs.
    pub fn is_about_infinite_runs(&self) -> bool {
        match self {
            Goal::Reach(_) | Goal::Touch(_) | Goal::Stuck(_) => false,
            Goal::Watch(watcher) => !is_safety(watcher),
            Goal::Repeat(_) | Goal::Accept(..) | Goal::Prove(..) => true,
        }
    }
}

/// Whether the watcher has targets.
fn is_safety(watcher: &Watcher) -> bool {
    watcher.states.iter().any(|state| state.target)
}

/// Searches for a run that is as the goal says; `runs` says which infinite runs count.
pub fn search<M: Model>(
    model: &M,
    goal: &Goal,
    runs: Runs,
    options: &Options<'_>,
) -> Outcome<M::State> {
    let Ok(outcome) = answer(model, goal, runs, options, &Believing);
    outcome
}

/// Like [`search`], and [replays](replay_trace) the run of a violation, if it is written down. A
/// run that was found beside an automaton is replayed beside it, before its states are left out.
pub fn search_and_replay<M: Model>(
    model: &M,
    goal: &Goal,
    runs: Runs,
    options: &Options<'_>,
) -> Result<Outcome<M::State>, Mismatch> {
    answer(model, goal, runs, options, &Replaying)
}

/// What is done with a trace that was found.
trait Judge {
    type Error;

    fn judge<M: Model>(
        &self,
        model: &M,
        trace: &Trace<M::State>,
        claim: &Claim<'_>,
    ) -> Result<(), Self::Error>;
}

/// Somebody else will replay it.
struct Believing;

impl Judge for Believing {
    type Error = Infallible;

    fn judge<M: Model>(&self, _: &M, _: &Trace<M::State>, _: &Claim<'_>) -> Result<(), Infallible> {
        Ok(())
    }
}

struct Replaying;

impl Judge for Replaying {
    type Error = Mismatch;

    fn judge<M: Model>(
        &self,
        model: &M,
        trace: &Trace<M::State>,
        claim: &Claim<'_>,
    ) -> Result<(), Mismatch> {
        replay_trace(model, trace, claim)
    }
}

fn answer<M: Model, J: Judge>(
    model: &M,
    goal: &Goal,
    runs: Runs,
    options: &Options<'_>,
    judge: &J,
) -> Result<Outcome<M::State>, J::Error> {
    let finite_stack = runs == Runs::FiniteStack;
    let repeats = |marks| Claim::Repeats {
        marks,
        finite_stack,
    };
    match goal {
        Goal::Reach(target) => find(model, &Claim::Reaches(*target), options, judge),
        Goal::Touch(tour) => {
            let (product, outcome) = touch(model, tour, options);
            if let Some(trace) = outcome.verdict.run() {
                judge.judge(&product, trace, &Claim::Reaches(TOUCHED))?;
            }
            Ok(outcome.map(|(state, _)| state))
        }
        Goal::Stuck(ends) => find(model, &Claim::Stuck { ends }, options, judge),
        Goal::Repeat(marks) => find(model, &repeats(marks), options, judge),
        Goal::Watch(watcher) => {
            let product = Product::new(model, watcher);
            let claim = if is_safety(watcher) {
                Claim::Reaches(Product::<M>::TARGET)
            } else {
                repeats(&[Product::<M>::REPEATING])
            };
            let outcome = find(&product, &claim, options, judge)?;
            Ok(outcome.map(|(state, _)| state))
        }
        Goal::Accept(automaton, atoms) => {
            let product = Observed::of(model, automaton, atoms);
            let outcome = find(&product, &repeats(&product.marks()), options, judge)?;
            Ok(outcome.map(|(state, _)| state))
        }
        Goal::Prove(tableau, atoms) => {
            let product = Observed::of(model, tableau, atoms);
            let outcome = find(&product, &repeats(&product.marks()), options, judge)?;
            Ok(outcome.map(|(state, _)| state))
        }
    }
}

/// Searches for a run of which the claim is true.
fn find<M: Model, J: Judge>(
    model: &M,
    claim: &Claim<'_>,
    options: &Options<'_>,
    judge: &J,
) -> Result<Outcome<M::State>, J::Error> {
    let outcome = match *claim {
        Claim::Reaches(target) => reach(model, target, options),
        Claim::Stuck { ends } => stuck(model, ends, options),
        Claim::Repeats {
            marks,
            finite_stack: true,
        } => repeat(model, marks, Runs::FiniteStack, options),
        Claim::Repeats { marks, .. } => repeat(model, marks, Runs::All, options),
    };
    if let Some(trace) = outcome.verdict.run() {
        judge.judge(model, trace, claim)?;
    }
    Ok(outcome)
}
