//! Carries out what a theory asks for, action by action: queries, witnesses, counts, lists of tuples.

use std::time::{Duration, Instant};

use droste_base::Limits;
use droste_bdd::Bdd;
use droste_source::diagnostics::Diagnostic;
use num_bigint::BigUint;

use crate::fixpoint::{Fixpoints, Reporter, Unanswered};
use crate::order::order;
use crate::report::dump;
use crate::term::{DefId, Of};
use crate::theory::{Action, ClosedFormula, Theory};
use crate::trial::{ChosenOrder, PreferredOrder, engine};
use crate::types::TypeId;
use crate::witness::Witness;

/// A member of a relation: for each parameter its bits.
pub type Tuple = Vec<Vec<bool>>;

/// What came of an action.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// The formula is true or false.
    Answer(bool),
    /// The formula has the value that was wanted, and this is why.
    Witness(Witness),
    /// The formula does not have the value that was wanted, so there is nothing to show.
    NoWitness(bool),
    /// The number of members, and the number of all tuples.
    Count(BigUint, BigUint),
    /// The number of BDD nodes.
    Size(usize),
    /// The BDD, as equations.
    Dump(String),
    /// Some members, and how many there are in all.
    Tuples(Vec<Tuple>, BigUint),
    /// The time on the clock.
    Time(Duration),
    /// There is nothing to say.
    Done,
}

/// What it took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Rounds of all fixpoints.
    pub rounds: u64,
    /// BDD variables.
    pub variables: u32,
    /// BDD nodes in use.
    pub nodes: usize,
    /// The most BDD nodes there have been.
    pub peak_nodes: usize,
    /// Memory of the BDD tables.
    pub bytes: usize,
    /// Garbage collections.
    pub collections: usize,
    /// How often variables were reordered.
    pub reorderings: u64,
    /// Nodes in use before and after that, the last time that it made diagrams much smaller.
    pub reordered: Option<(usize, usize)>,
}

/// Evaluates what is in a theory. Values of predicates are kept from one action to the next.
///
/// BDD operations recurse as deep as there are BDD variables: where there may be many, make and use
/// the solver on a large stack, see [`on_large_stack`].
pub struct Solver<'a> {
    pub(crate) fixpoints: Fixpoints<'a>,
    order: ChosenOrder,
    clock: Clock,
}

/// The clock of `#timer`.
struct Clock {
    past: Duration,
    since: Option<Instant>,
}

/// Runs `work` where a [`Solver`] for the theory has enough stack.
pub fn on_large_stack<T: Send>(mut theory: Theory, work: impl FnOnce(Theory) -> T + Send) -> T {
    let order = order(&theory);
    let variables = order.declared.count as usize;
    theory.order = Some(order);
    droste_bdd::on_large_stack(variables, || work(theory))
}

impl<'a> Solver<'a> {
    /// Chooses the order of variables; evaluates nothing else yet. The limits count from now on.
    pub fn new(theory: Theory, limits: &Limits, reporter: Option<Reporter<'a>>) -> Self {
        Self::with_order(theory, limits, reporter, PreferredOrder::default())
    }

    /// The same with the order of variables that is preferred.
    pub fn with_order(
        theory: Theory,
        limits: &Limits,
        reporter: Option<Reporter<'a>>,
        preferred: PreferredOrder,
    ) -> Self {
        let (mut engine, order) = engine(theory, limits, preferred);
        engine.reorder(false);
        Solver {
            fixpoints: Fixpoints::new(engine, reporter),
            order,
            clock: Clock {
                past: Duration::ZERO,
                since: Some(Instant::now()),
            },
        }
    }

    /// What is solved.
    pub fn theory(&self) -> &Theory {
        &self.fixpoints.engine.theory
    }

    /// How the order of variables was chosen.
    pub fn order(&self) -> ChosenOrder {
        self.order
    }

    /// Reorders variables as often as possible, and not only where it seems to be worth it: for
    /// tests.
    pub fn reorder_eagerly(&mut self) {
        self.fixpoints.engine.reorder(true);
    }

    /// What it has taken so far.
    pub fn statistics(&self) -> Statistics {
        let manager = &self.fixpoints.engine.manager;
        let (reorderings, reordered) = self.fixpoints.engine.reordering.reorderings();
        Statistics {
            rounds: self.fixpoints.rounds,
            variables: manager.var_count(),
            nodes: manager.node_count(),
            peak_nodes: manager.peak_nodes(),
            bytes: manager.memory_bytes(),
            collections: manager.collections(),
            reorderings,
            reordered,
        }
    }

    /// Whether a closed formula is true.
    pub fn decide(&mut self, question: &ClosedFormula) -> Result<bool, Unanswered> {
        let uses: Vec<DefId> = question.references.iter().map(|(def, _)| *def).collect();
        self.fixpoints.decide(question.root, question.dual, &uses)
    }

    /// The same, if operations on diagrams take about so many steps at most.
    pub fn decide_within(
        &mut self,
        question: &ClosedFormula,
        steps: u64,
    ) -> Result<Option<bool>, Unanswered> {
        let manager = self.fixpoints.engine.manager.clone();
        let answer = manager.within(steps, || match self.decide(question) {
            Err(Unanswered::Stopped(reason)) => Err(reason),
            other => Ok(other),
        })?;
        answer.transpose()
    }

    /// The number of members of a predicate.
    pub fn count(&mut self, def: DefId) -> Result<BigUint, Unanswered> {
        let value = self.fixpoints.value(def)?;
        let vars = self.fixpoints.engine.parameter_vars(def);
        Ok(value.count(&vars))
    }

    /// At most `most` members of a predicate.
    pub fn tuples(&mut self, def: DefId, most: usize) -> Result<Vec<Tuple>, Unanswered> {
        let value = self.fixpoints.value(def)?;
        Ok(self.list(def, &value, most))
    }

    /// The types of a predicate's parameters, with their names.
    pub fn parameters(&self, def: DefId) -> Vec<(String, TypeId)> {
        let theory = self.theory();
        let parameters = theory.definition(def).parameters.iter();
        parameters
            .map(|&id| {
                let variable = theory.variable(id);
                (variable.name.clone(), variable.ty)
            })
            .collect()
    }

    /// Does one thing. A theory's actions are done in their order.
    pub fn perform(&mut self, action: &Action) -> Result<Outcome, Unanswered> {
        Ok(match action {
            Action::Query(question) => Outcome::Answer(self.decide(question)?),
            Action::Witness(wanted, question) => {
                let value = self.decide(question)?;
                if value == *wanted {
                    Outcome::Witness(self.witness(question, *wanted)?)
                } else {
                    Outcome::NoWitness(value)
                }
            }
            Action::Count(def, _) => {
                let count = self.count(*def)?;
                Outcome::Count(count, self.space_size(*def)?)
            }
            Action::Size(def, _) => Outcome::Size(self.fixpoints.value(*def)?.node_count()),
            Action::Dump(def, _) => {
                let value = self.fixpoints.value(*def)?;
                let engine = &self.fixpoints.engine;
                let names = engine
                    .theory
                    .definition(*def)
                    .parameters
                    .iter()
                    .flat_map(|&id| {
                        let name = &engine.theory.variable(id).name;
                        let vars = engine.vars_of(id);
                        (0..vars.len()).map(move |k| (vars[k], format!("{name}.{k}")))
                    });
                Outcome::Dump(dump(&value, &names.collect()))
            }
            Action::Tuples(def, most, _) => {
                let tuples = self.tuples(*def, *most)?;
                Outcome::Tuples(tuples, self.count(*def)?)
            }
            Action::Reset(def) => {
                self.fixpoints.reset(*def);
                Outcome::Done
            }
            Action::Timer => Outcome::Time(self.clock.read()),
            Action::TimerReset => {
                self.clock.past = Duration::ZERO;
                self.clock.since = self.clock.since.map(|_| Instant::now());
                Outcome::Done
            }
            Action::TimerRun(run) => {
                self.clock.past = self.clock.read();
                self.clock.since = run.then(Instant::now);
                Outcome::Done
            }
            Action::Print(_) | Action::Verbose(_) => Outcome::Done,
        })
    }

    /// Why an action came to nothing, with the place in the file, as text.
    pub fn explain(&self, action: &Action, error: &Unanswered, color: bool) -> String {
        let theory = self.theory();
        let place = match action {
            Action::Query(question) | Action::Witness(_, question) => Some(question.place),
            Action::Count(_, place)
            | Action::Size(_, place)
            | Action::Dump(_, place)
            | Action::Tuples(_, _, place) => Some(*place),
            _ => None,
        };
        let (place, diagnostic) = match error {
            Unanswered::Stopped(reason) => return format!("unknown: {reason}\n"),
            Unanswered::Oscillates { predicate, period } => {
                let definition = theory.definition(*predicate);
                let name = &definition.name;
                let mut error = Diagnostic::error(
                    definition.place.span,
                    format!("`{name}` has no value: its rounds run in a circle of {period}"),
                )
                .label("not monotone")
                .help("use it positively in its own definition, or make sure that it stabilises");
                if let Some(place) = place.filter(|p| p.file == definition.place.file) {
                    error = error.also(place.span, "needed here");
                }
                (definition.place, error)
            }
            Unanswered::TooDeep => {
                let Some(place) = place else {
                    return "too many fixpoints are nested\n".to_owned();
                };
                let message = "too many fixpoints of `mu` and `nu` are nested in each other";
                (place, Diagnostic::error(place.span, message))
            }
        };
        theory.render(&[(place.file, diagnostic)], true, color)
    }

    fn space_size(&mut self, def: DefId) -> Result<BigUint, Unanswered> {
        let engine = &mut self.fixpoints.engine;
        let space = engine.space(def)?;
        Ok(space.count(&engine.parameter_vars(def)))
    }

    /// Members of a relation over the parameters of `def`, in the order of the diagram.
    fn list(&self, def: DefId, value: &Bdd, most: usize) -> Vec<Tuple> {
        let engine = &self.fixpoints.engine;
        let parameters = &engine.theory.definition(def).parameters;
        let widths: Vec<usize> = parameters
            .iter()
            .map(|&id| engine.theory.width(id) as usize)
            .collect();
        let vars = engine.parameter_vars(def);
        let mut list = Vec::new();
        for cube in value.cubes() {
            let fixed: rustc_hash::FxHashMap<_, _> = cube.into_iter().collect();
            let mut bits: Vec<bool> = vars
                .iter()
                .map(|var| fixed.get(var).copied().unwrap_or(false))
                .collect();
            let free: Vec<usize> = (0..vars.len())
                .filter(|&i| !fixed.contains_key(&vars[i]))
                .collect();
            // All values of what the cube leaves open, counting up.
            loop {
                if list.len() >= most {
                    return list;
                }
                list.push(split(&bits, &widths));
                let Some(&zero) = free.iter().rev().find(|&&i| !bits[i]) else {
                    break;
                };
                for &i in free.iter().rev() {
                    bits[i] = i == zero;
                    if i == zero {
                        break;
                    }
                }
            }
        }
        list
    }

    /// The present value of a predicate that has been evaluated.
    pub(crate) fn present(&self, def: DefId) -> Bdd {
        self.fixpoints.engine.get(def, Of::Value)
    }
}

/// Bits in rows of these widths.
pub(crate) fn split(bits: &[bool], widths: &[usize]) -> Tuple {
    let mut rest = bits;
    widths
        .iter()
        .map(|&width| {
            let (row, more) = rest.split_at(width);
            rest = more;
            row.to_vec()
        })
        .collect()
}

impl Clock {
    fn read(&self) -> Duration {
        self.past + self.since.map_or(Duration::ZERO, |since| since.elapsed())
    }
}
