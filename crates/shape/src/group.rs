//! Questions that share a machine. Each is answered by one of the searches that every [`Model`] has. If
//! there is a violation, it is looked for on concrete heaps, too.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use droste_base::{Deadline, Limits, Model, PropId, StopReason, Trace, Verdict};
use droste_checker::{Checker, Error};
use droste_explicit::{Order, Spaces, TopLevel, explore};
use droste_heap::Heap;
use droste_ltl::{Node, ResolvedFormula};
use rustc_hash::FxHashSet;

use crate::careful::{reason, resolved};
use crate::check::{
    Answer, Checking, Counts, MEMORY_SAFETY, NO_LEAKS, Report, Unknown, contract_holds,
};
use crate::concrete::{PATIENCE, instances};
use crate::contract::{Broken, found};
use crate::machine::{Machine, Options, State};
use crate::returns::{Endless, endless};
use crate::run::{Reality, Run};
use crate::settings::Mode;
use crate::task::{LEAK, NULL_DEREFERENCE, Prepared, Task, UNKNOWN_MEMORY};
use crate::vacuity::{Vacuity, has_no_run};

/// Formulas that share a machine.
pub(crate) struct Group<'a> {
    task: &'a Task,
    prepared: &'a Prepared,
    pub(crate) machine: Machine<'a>,
    checking: &'a Checking<'a>,
    /// All state spaces, once they have been generated.
    spaces: Option<Spaces<State>>,
    generation: Duration,
}

impl<'a> Group<'a> {
    pub(crate) fn new(
        task: &'a Task,
        prepared: &'a Prepared,
        machine: Machine<'a>,
        checking: &'a Checking<'a>,
    ) -> Self {
        Group {
            task,
            prepared,
            machine,
            checking,
            spaces: None,
            generation: Duration::ZERO,
        }
    }

    /// The answer about memory safety; and if something unknown is used as an object, why nothing is
    /// known then. After a violation the latter is asked only if there are `formulas`.
    pub(crate) fn memory_safety(
        &mut self,
        formulas: bool,
    ) -> Result<(Report, Option<Unknown>), Error> {
        let start = Instant::now();
        let mut answer = self.ask(&Question::Memory(NULL_DEREFERENCE))?;
        let unknown = match answer {
            Answer::Unknown(..) => None,
            Answer::Violated(_) if !formulas => None,
            _ => match self.ask(&Question::Memory(UNKNOWN_MEMORY))? {
                Answer::Violated(run) => {
                    let why = self.machine.doubt();
                    if matches!(answer, Answer::Holds) {
                        answer = Answer::Unknown(why.clone(), Some(run));
                    }
                    Some(why)
                }
                _ => None,
            },
        };
        let limits = &self.checking.limits;
        let counts = self.counts();
        let vacuous = match answer {
            Answer::Holds if self.machine.initial.is_empty() => Some(Vacuity::NoHeap),
            Answer::Holds if !self.task.options.hands && self.machine.uses_nothing(limits) => {
                Some(Vacuity::NoUse)
            }
            _ => None,
        };
        let report = Report {
            property: MEMORY_SAFETY.into(),
            answer,
            vacuous,
            endless: BTreeSet::new(),
            name: None,
            counts,
            largest: self.machine.largest(),
            generation: Duration::ZERO,
            checking: start.elapsed(),
        };
        Ok((report, unknown))
    }

    pub(crate) fn leaks(&mut self) -> Result<Report, Error> {
        let start = Instant::now();
        let mut answer = self.ask(&Question::Memory(LEAK))?;
        // What comes after something unknown is not followed.
        if matches!(answer, Answer::Holds) && self.machine.met_unknown_memory() {
            answer = Answer::Unknown(self.machine.doubt(), None);
        }
        Ok(Report {
            property: NO_LEAKS.into(),
            answer,
            vacuous: None,
            endless: BTreeSet::new(),
            name: None,
            counts: self.counts(),
            largest: self.machine.largest(),
            generation: Duration::ZERO,
            checking: start.elapsed(),
        })
    }

    /// Whether the contracts that the user gave allow what methods do; and all that were found.
    pub(crate) fn contracts(&mut self) -> (Vec<Report>, Option<String>) {
        let start = Instant::now();
        let contracts = &self.task.contracts;
        let report = |method: &str, answer| Report {
            property: contract_holds(method),
            answer,
            vacuous: None,
            endless: BTreeSet::new(),
            name: None,
            counts: Counts::default(),
            largest: None,
            generation: Duration::ZERO,
            checking: start.elapsed(),
        };
        let limits = &self.checking.limits;
        let ran = spaces(&self.machine, limits)
            .and_then(|spaces| Ok((contracts.broken(self.task, &self.machine, limits)?, spaces)));
        let (broken, spaces) = match ran {
            Ok(ran) => ran,
            Err(reason) => {
                let unknown = Answer::Unknown(Unknown::Stopped(reason), None);
                let all = contracts.methods().iter();
                let all = all.map(|method| report(method, unknown.clone()));
                return (all.collect(), None);
            }
        };
        let mut reports = Vec::new();
        for signature in contracts.methods() {
            // What has no body is believed.
            if self.task.program.method_signed(signature).is_none() {
                continue;
            }
            let own = |one: &&Broken| self.task.program.method(one.method).signature == *signature;
            let own = || broken.iter().filter(own);
            let answer = match own().find(|one| one.surely).or_else(|| own().next()) {
                None => Answer::Holds,
                Some(one) => {
                    let run = Run::of_call(self.task, one);
                    let run = Box::new(run);
                    if one.surely {
                        Answer::Violated(run)
                    } else {
                        Answer::Unknown(Unknown::Hidden, Some(run))
                    }
                }
            };
            reports.push(report(signature, answer));
        }
        let found = found(self.task, &self.task.symbols, &self.machine, &spaces);
        (reports, self.checking.contracts.then_some(found))
    }

    /// Generates all state spaces, if that has not been done.
    fn generate(&mut self) -> Result<(), StopReason> {
        if self.spaces.is_some() {
            return Ok(());
        }
        let start = Instant::now();
        let spaces = spaces(&self.machine, &self.checking.limits);
        self.generation = start.elapsed();
        self.spaces = Some(spaces?);
        Ok(())
    }

    pub(crate) fn formula(&mut self, formula: &ResolvedFormula<PropId>) -> Result<Report, Error> {
        let first = self.spaces.is_none();
        let generated = match self.checking.mode {
            Mode::TopLevel | Mode::Rsm => self.generate(),
            // A call that is a single step has to be known to its end.
            Mode::OnTheFly | Mode::Shared if !self.checking.skip.is_empty() => self.generate(),
            Mode::OnTheFly | Mode::Shared => Ok(()),
        };
        let start = Instant::now();
        let mut answer = match generated {
            Err(reason) => Answer::Unknown(Unknown::Stopped(reason), None),
            Ok(()) => self.ask(&Question::Formula(formula))?,
        };
        // A run on which something unknown is used as an object is not followed. What holds on the
        // others is not known to hold. All that the answer depends on has been generated.
        if matches!(answer, Answer::Holds) && self.machine.met_unknown_memory() {
            answer = Answer::Unknown(self.machine.doubt(), None);
        }
        if matches!(answer, Answer::Holds)
            && (self.machine.met_hidden_field() || self.denies_a_shape(formula))
        {
            answer = Answer::Unknown(Unknown::Hidden, None);
        }
        if let (Answer::Holds, Some(nonterminal)) = (&answer, &self.prepared.unreached) {
            answer = Answer::Unknown(Unknown::Unmarked(nonterminal.clone()), None);
        }
        let (checking, counts) = (start.elapsed(), self.counts());
        let endless = match answer {
            Answer::Holds => self.endless(),
            _ => BTreeSet::new(),
        };
        // A run that stays in a call counts as a run.
        let vacuous = match answer {
            Answer::Holds if endless.is_empty() => self.vacuity(),
            _ => None,
        };
        Ok(Report {
            property: formula.text.clone(),
            answer,
            vacuous,
            endless,
            name: None,
            counts,
            largest: self.machine.largest(),
            generation: if first {
                self.generation
            } else {
                Duration::ZERO
            },
            checking,
        })
    }

    /// Calls that are single steps and may not return.
    fn endless(&self) -> BTreeSet<Endless> {
        let top_level = self.checking.mode == Mode::TopLevel;
        let skipped = self.machine.calls_of(self.checking.skip);
        match &self.spaces {
            Some(spaces) if top_level || !skipped.is_empty() => {
                endless(&self.machine, spaces, |outermost, call| {
                    if top_level {
                        outermost
                    } else {
                        skipped.contains(&call)
                    }
                })
            }
            _ => BTreeSet::new(),
        }
    }

    /// Why it says little that a formula holds, if that is so.
    fn vacuity(&self) -> Option<Vacuity> {
        let (checking, limits) = (self.checking, &self.checking.limits);
        if self.prepared.has_no_object {
            return Some(Vacuity::NoObject);
        }
        if self.machine.initial.is_empty() {
            return Some(Vacuity::NoHeap);
        }
        let spaces = self.spaces.as_ref();
        let none = match folded(&self.machine, spaces, checking) {
            Some(folded) => has_no_run(&folded, limits),
            None => has_no_run(&self.machine, limits),
        };
        none.then(|| Vacuity::NoRun(self.machine.stops(limits)))
    }

    /// Whether the formula may hold because a shape is not there. A shape is recognised on abstract
    /// heaps; that it is not recognised does not mean that no heap they stand for has it.
    fn denies_a_shape(&self, formula: &ResolvedFormula<PropId>) -> bool {
        let mut formulas = formula.formulas.clone();
        let (positive, _) = formulas.negation_normal_forms(formula.formula);
        let closure = formulas.closure(positive);
        closure.iter().any(|&id| {
            let Node::Not(inner) = formulas.node(id) else {
                return false;
            };
            let Node::Atom(atom) = formulas.node(inner) else {
                return false;
            };
            let proposition = formula.atoms.get(atom.0 as usize);
            proposition.is_some_and(|&one| self.machine.is_about_shapes(one))
        })
    }

    /// The answer of this machine; a violation is looked for on concrete heaps, too.
    fn ask(&self, question: &Question<'_>) -> Result<Answer, Error> {
        let (checking, limits) = (self.checking, &self.checking.limits);
        let spaces = self.spaces.as_ref();
        let machine = &self.machine;
        machine.met_open();
        let mut verdict = question.ask(machine, spaces, checking, limits)?;
        // Where something was asked about a value that is not modelled, the verdict has to be right
        // for all values.
        if let Question::Formula(formula) = question
            && machine.met_open()
            && !matches!(verdict, Verdict::Unknown(_))
        {
            let holds = matches!(verdict, Verdict::Holds(_));
            let careful = resolved(formula, !holds);
            let other = Question::Formula(&careful).ask(machine, spaces, checking, limits)?;
            verdict = match (verdict, other) {
                (Verdict::Holds(_), Verdict::Violated(trace))
                | (Verdict::Violated(trace), Verdict::Holds(_)) => {
                    let mut run = Run::new(self.task, machine, &trace, checking.max_steps, spaces);
                    run.mark(machine, question.propositions());
                    let why = Unknown::Unmodelled(reason(self.task, machine, formula, &run));
                    return Ok(Answer::Unknown(why, Some(Box::new(run))));
                }
                (_, other) => other,
            };
        }
        Ok(match verdict {
            Verdict::Holds(_) => Answer::Holds,
            Verdict::Unknown(reason) => Answer::Unknown(Unknown::Stopped(reason), None),
            Verdict::Violated(trace) => {
                let mut run = Run::new(self.task, machine, &trace, checking.max_steps, spaces);
                run.mark(&self.machine, question.propositions());
                let forgetful = self.prepared.forgets_heights();
                if (checking.concrete || forgetful)
                    && let Some(first) = trace.positions.first()
                {
                    run.reality = self.concrete(question, first.state)?;
                }
                match run.reality {
                    // Balanced trees may have no such run.
                    Reality::Doubtful(tried, _) if forgetful => {
                        Answer::Unknown(Unknown::Heights(tried), Some(Box::new(run)))
                    }
                    _ => Answer::Violated(Box::new(run)),
                }
            }
        })
    }

    /// Asks the same on concrete heaps: those that the violation begins with, then others with which
    /// the program may start.
    fn concrete(&self, question: &Question<'_>, first: State) -> Result<Reality, Error> {
        let mut limits = self.checking.limits.clone();
        let left = limits
            .deadline
            .map_or(PATIENCE, |deadline| deadline.left() / 2);
        limits.deadline = Some(Deadline::after(left.min(PATIENCE)));
        let options = Options {
            concrete: true,
            max_heap: MOST_NODES,
            max_states: MOST_STATES,
            max_state_space: usize::MAX,
            ..self.task.options.clone()
        };
        let mut heaps: Vec<Heap> = Vec::new();
        // If heights are forgotten, the violation may begin with a heap that is none.
        if !self.prepared.forgets_heights() {
            let given = self.machine.given(first).into_iter();
            let first: Vec<Heap> = given.map(|(heap, _)| heap).collect();
            heaps.extend(instances(&self.prepared.grammar, &first, &limits));
        }
        heaps.extend(self.task.true_instances(self.prepared, &limits));
        let mut seen = FxHashSet::default();
        heaps.retain(|heap| seen.insert(heap.code()));
        let mut tried = 0;
        for heap in &heaps {
            if limits.guard().check_now().is_err() {
                break;
            }
            let initial = std::slice::from_ref(heap);
            let Ok(machine) = self.task.machine_on(self.prepared, &options, initial) else {
                continue;
            };
            let machine = machine.within(&limits);
            let checking = self.checking;
            let folds = checking.mode == Mode::TopLevel || !checking.skip.is_empty();
            let spaces = match question {
                Question::Formula(_) if folds => match spaces(&machine, &limits) {
                    Ok(spaces) => Some(spaces),
                    Err(_) => continue,
                },
                _ => None,
            };
            let mut verdict = question.ask(&machine, spaces.as_ref(), checking, &limits)?;
            if let Question::Formula(formula) = question
                && matches!(verdict, Verdict::Violated(_))
                && machine.met_open()
            {
                let careful = resolved(formula, true);
                let question = Question::Formula(&careful);
                verdict = question.ask(&machine, spaces.as_ref(), checking, &limits)?;
            }
            if let Verdict::Violated(trace) = &verdict {
                let mut run = Run::new(
                    self.task,
                    &machine,
                    trace,
                    checking.max_steps,
                    spaces.as_ref(),
                );
                run.mark(&machine, question.propositions());
                return Ok(Reality::Real(heap.clone(), Box::new(run)));
            }
            // Where the search gave up, nobody knows.
            tried += usize::from(matches!(verdict, Verdict::Holds(_)) && machine.is_complete());
        }
        // What was left out for lack of time says nothing.
        let late = limits.guard().check_now().is_err();
        Ok(Reality::Doubtful(tried, late))
    }

    fn counts(&self) -> Counts {
        let Some(spaces) = &self.spaces else {
            let (main, last) = self.machine.outermost();
            return Counts {
                main,
                total: self.machine.generated(),
                last,
                contracts: self.machine.entries(),
            };
        };
        let mut counts = Counts::default();
        for space in &spaces.list {
            let states = space.states.iter();
            let states = states.filter(|&&state| self.machine.counts(state)).count() as u64;
            counts.total += states;
            counts.contracts += 1;
            if space.initial {
                counts.main += states;
                let exits = space.exits.iter();
                let ends = exits.filter(|&&exit| self.machine.is_at_end(exit));
                counts.last += ends.count() as u64;
            }
        }
        counts
    }
}

/// Concrete heaps with more nodes are not followed, nor are more states.
const MOST_NODES: usize = 60;
const MOST_STATES: usize = 20_000;

/// All state spaces.
fn spaces(machine: &Machine<'_>, limits: &Limits) -> Result<Spaces<State>, StopReason> {
    let options = droste_explicit::Options {
        limits: limits.clone(),
        ..droste_explicit::Options::default()
    };
    explore(machine, &options).map_err(|(reason, _)| reason)
}

/// What is asked of a machine.
enum Question<'a> {
    /// Is there no state of which this holds?
    Memory(u32),
    /// Does every run satisfy this?
    Formula(&'a ResolvedFormula<PropId>),
}

impl Question<'_> {
    /// The propositions that people want to see along a run, with their names.
    fn propositions(&self) -> Vec<(PropId, String)> {
        match self {
            Question::Memory(_) => Vec::new(),
            Question::Formula(formula) => {
                let atoms = formula.atoms.iter().copied();
                let names = formula.names.list().iter();
                atoms
                    .zip(names.map(|atom| atom.text.trim().to_owned()))
                    .collect()
            }
        }
    }

    /// Asks; `spaces` are those of the machine, if they have been generated.
    fn ask(
        &self,
        machine: &Machine<'_>,
        spaces: Option<&Spaces<State>>,
        checking: &Checking<'_>,
        limits: &Limits,
    ) -> Result<Verdict<Trace<State>>, Error> {
        let formula = match self {
            Question::Formula(formula) => formula,
            Question::Memory(fault) => {
                let checker = checker(machine, checking, limits).order(Order::Bfs);
                return Ok(checker.reach(PropId(*fault))?.verdict);
            }
        };
        let outcome = match folded(machine, spaces, checking) {
            Some(folded) => checker(&folded, checking, limits).formula(formula)?,
            None if checking.mode == Mode::OnTheFly => checker(machine, checking, limits)
                .by_tableau()
                .formula(formula)?,
            None => checker(machine, checking, limits).formula(formula)?,
        };
        Ok(outcome.verdict)
    }
}

/// What looks for an answer. It reports how far it has come, and for formulas it leaves out the runs
/// that end in a fault.
fn checker<'a, M: Model>(
    model: &'a M,
    checking: &'a Checking<'_>,
    limits: &Limits,
) -> Checker<'a, M> {
    let checker = Checker::new(model)
        .within(limits.clone())
        .ignore_finished_runs();
    match checking.reporter {
        Some(reporter) => checker.progress(reporter),
        None => checker,
    }
}

/// The machine in which some calls are single steps, if there are to be such calls: with
/// `top-level` all of them, or else those of methods that formulas are not about.
fn folded<'a>(
    machine: &'a Machine<'a>,
    spaces: Option<&'a Spaces<State>>,
    checking: &Checking<'_>,
) -> Option<TopLevel<'a, Machine<'a>>> {
    let spaces = spaces?;
    if checking.mode == Mode::TopLevel {
        return Some(TopLevel::new(machine, spaces));
    }
    let only = |calls| TopLevel::new(machine, spaces).only(calls);
    (!checking.skip.is_empty()).then(|| only(machine.calls_of(checking.skip)))
}
