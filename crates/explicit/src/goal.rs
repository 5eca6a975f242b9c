//! Every kind of question about a model, answered by [`reach`], [`stuck`] or [`repeat`].
//!
//! A monitor, an automaton and a tableau are run beside the model; the product is a model again
//! (crate `omega`), and what is asked of it is reachability or repetition. This is the one place
//! where a question becomes a search: Boolean programs and users' own models come through it.

use droste_base::{Model, PropId, Runs};
use droste_omega::{Buchi, Observed, Observer, Product, Tableau, Watcher};

use crate::{Options, Outcome, reach, repeat, stuck};

/// What is looked for in the runs of a model.
pub enum Goal {
    /// A state with this proposition.
    Reach(PropId),
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
            Goal::Reach(_) | Goal::Stuck(_) => false,
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
    match goal {
        Goal::Reach(target) => reach(model, *target, options),
        Goal::Stuck(ends) => stuck(model, ends, options),
        Goal::Repeat(marks) => repeat(model, marks, runs, options),
        Goal::Watch(watcher) => {
            let product = Product::new(model, watcher);
            let outcome = if is_safety(watcher) {
                reach(&product, Product::<M>::TARGET, options)
            } else {
                repeat(&product, &[Product::<M>::REPEATING], runs, options)
            };
            outcome.map(|(state, _)| state)
        }
        Goal::Accept(automaton, atoms) => observe(model, automaton, atoms, runs, options),
        Goal::Prove(tableau, atoms) => observe(model, tableau, atoms, runs, options),
    }
}

fn observe<M: Model, O: Observer>(
    model: &M,
    observer: &O,
    atoms: &[PropId],
    runs: Runs,
    options: &Options<'_>,
) -> Outcome<M::State> {
    let product = Observed::new(model, observer, atoms);
    repeat(&product, &product.marks(), runs, options).map(|(state, _)| state)
}
