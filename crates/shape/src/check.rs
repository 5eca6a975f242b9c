//! A task in, verdicts out.
//!
//! Memory safety is a question of reachability, formulas are questions about infinite runs: both
//! are answered by the searches that every [`Model`](droste_base::Model) has. The modes differ in
//! what is generated when, and in what a call is:
//!
//! * `top-level`: all state spaces are generated; then a formula is checked on the states of the
//!   outermost method alone, in which a call is a single step.
//! * `on-the-fly`: the tableau of the formula asks for states, and nothing else is generated. Each
//!   formula starts afresh.
//! * `rsm`: all state spaces are generated first. Then each formula is checked on the recursive
//!   state machine.
//! * `shared`, the default: on the fly, and what was generated for one formula is there for the
//!   next.
//!
//! The modes are those of Chau, *Comparing Hierarchical and On-The-Fly Model Checking for Java Pointer
//! Programs* (2019), chapters 3 to 5 and 7; `shared` is proposed in its conclusion. Its model-checking
//! contracts are the summaries of the search over the product of machine and tableau: an entry state with
//! the formulas that are open there, and the exit states with those that are open then.
//!
//! What keeps it honest: all modes that look into calls must give the same answer to random formulas
//! (`tests/modes.rs`), and the thesis's table is repeated (`tests/table.rs`).

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use droste_base::{Limits, Reporter, StopReason};
use droste_checker::Error;
use droste_ltl::ResolvedFormula;

use crate::group::Group;
use crate::machine::Largest;
use crate::proposition::Proposition;
use crate::returns::Endless;
use crate::run::Run;
use crate::settings::Mode;
use crate::task::{Needs, Task};
use crate::vacuity::Vacuity;

/// Why there is no verdict.
#[derive(Clone, Debug, PartialEq)]
pub enum Unknown {
    /// A limit was reached.
    Stopped(StopReason),
    /// A value that is not modelled is used as an object.
    UnknownMemory,
    /// Code that is not at hand may run methods of the program: where, and which.
    UnknownCode(String),
    /// It may hold only because the abstraction hides what a proposition is about.
    Hidden,
    /// The formula speaks of a value that is not modelled: of which, and where.
    Unmodelled(String),
    /// No mark gets to some object: by a rule of this nonterminal there is an object to which no field
    /// leads.
    Unmarked(String),
    /// There is a violation if heights of trees are forgotten, as they are where there are marks. On
    /// so many heaps, with their heights, it was not found.
    Heights(usize),
}

/// The answer to one question.
#[derive(Clone, Debug)]
pub enum Answer {
    /// No run violates it.
    Holds,
    /// This run does.
    Violated(Box<Run>),
    /// It is not known. There may be a run that shows why.
    Unknown(Unknown, Option<Box<Run>>),
}

impl Answer {
    /// In a word.
    pub fn word(&self) -> &'static str {
        match self {
            Answer::Holds => "holds",
            Answer::Violated(_) => "violated",
            Answer::Unknown(..) => "unknown",
        }
    }
}

/// How many states there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// States of the outermost method.
    pub main: u64,
    /// States of all methods, for each heap in which they are entered.
    pub total: u64,
    /// States in which the outermost method ends.
    pub last: u64,
    /// Contracts: heaps in which methods are entered, each with those in which they are left.
    pub contracts: u64,
}

/// What was asked and what came out.
#[derive(Clone, Debug)]
pub struct Report {
    /// The question.
    pub property: String,
    /// Its name, if it is a formula with one.
    pub name: Option<String>,
    /// The answer.
    pub answer: Answer,
    /// If it holds: why that says little, where it does.
    pub vacuous: Option<Vacuity>,
    /// If it holds and calls are single steps: those that may not return. Runs that stay in them were
    /// not looked at.
    pub endless: BTreeSet<Endless>,
    /// How many states were looked at.
    pub counts: Counts,
    /// If a heap was larger than allowed: that heap.
    pub largest: Option<Largest>,
    /// How long state spaces were generated, apart from checking. With `on-the-fly` it is all one.
    pub generation: Duration,
    /// How long it was checked.
    pub checking: Duration,
}

/// How to check.
pub struct Checking<'a> {
    /// Which algorithm.
    pub mode: Mode,
    /// When to give up.
    pub limits: Limits,
    /// Whom to tell how far it has come.
    pub reporter: Option<Reporter<'a>>,
    /// Of a run, so many steps are written out.
    pub max_steps: usize,
    /// Whether violations are looked for on concrete heaps as well.
    pub concrete: bool,
    /// Whether the contracts that were found are wanted.
    pub contracts: bool,
    /// Formulas are not about these methods, by simple name: calls of them are single steps.
    pub skip: &'a [String],
}

/// All answers.
#[derive(Clone, Debug, Default)]
pub struct Checked {
    /// Memory safety first, unless ATTESTOR's way is asked for; then contracts that the user
    /// gave; then formulas.
    pub reports: Vec<Report>,
    /// The contracts that were found, as JSON, if they were wanted and there is no limit before.
    pub contracts: Option<String>,
    /// Where something unknown was taken not to be null: files and lines. A verdict of `holds` is right
    /// only if it was not null there.
    pub assumed: BTreeSet<(String, u32)>,
}

/// A property in words.
pub const MEMORY_SAFETY: &str = "no field of null is used";
/// Another one.
pub const NO_LEAKS: &str = "every object can be reached as long as the program runs";

pub(crate) fn contract_holds(method: &str) -> String {
    format!("the contract of {method} holds")
}

/// Checks memory safety, unless ATTESTOR's way is asked for, and all formulas.
///
/// With balanced trees a variable in the middle of a tree can keep the way to it concrete, and there is
/// no end of states. Where it comes to that, the question is asked again with heights forgotten. If that
/// is no answer either, it is looked for with heights as long as limits allow.
pub fn check(
    task: &mut Task,
    formulas: &[ResolvedFormula<Proposition>],
    checking: &Checking<'_>,
) -> Result<Checked, Error> {
    check_telling(task, formulas, checking, &|_| ())
}

/// The same; `tell` is told of each report as soon as it is there. A violation is final, what holds may
/// become unknown.
pub fn check_telling(
    task: &mut Task,
    formulas: &[ResolvedFormula<Proposition>],
    checking: &Checking<'_>,
    tell: &dyn Fn(&Report),
) -> Result<Checked, Error> {
    task.options.hierarchical = checking.mode != Mode::TopLevel;
    let all: Vec<&ResolvedFormula<Proposition>> = formulas.iter().collect();
    let most = task.options.max_states;
    if !task.options.abstraction.indexed {
        return Ok(answers(task, &all, checking, true, tell)?.checked());
    }
    task.options.max_states = most.min(FEW_STATES);
    let first = answers(task, &all, checking, true, tell);
    task.options.max_states = most;
    let mut first = first?;
    let open = |report: &Report| {
        let Answer::Unknown(Unknown::Stopped(reason), _) = &report.answer else {
            return false;
        };
        reason.is_own_bound()
    };
    let again: Vec<usize> = (0..all.len())
        .filter(|&at| open(&first.formulas[at]) && !is_about_shapes(all[at]))
        .collect();
    if first.safety.iter().any(open) || !again.is_empty() {
        let some: Vec<&ResolvedFormula<Proposition>> = again.iter().map(|&at| all[at]).collect();
        let other = answers(task, &some, checking, false, tell)?;
        first.assumed.extend(other.assumed);
        let known = |report: &Report| !matches!(report.answer, Answer::Unknown(..));
        for (old, new) in first.safety.iter_mut().zip(other.safety) {
            if open(old) && known(&new) {
                *old = new;
            }
        }
        for (at, new) in again.into_iter().zip(other.formulas) {
            if known(&new) {
                first.formulas[at] = new;
            }
        }
    }
    let unsaved = checking.contracts && first.saved.is_none();
    if most > FEW_STATES && (first.reports().any(open) || unsaved) {
        let mut last = answers(task, &all, checking, true, tell)?;
        first.assumed.append(&mut last.assumed);
        let (old, new) = (first.reports_mut(), last.reports());
        for (old, new) in old.zip(new) {
            if open(old) {
                *old = new.clone();
            }
        }
        first.saved = last.saved;
    }
    Ok(first.checked())
}

/// Whether a formula is about all that there is of a heap.
fn is_about_shapes(formula: &ResolvedFormula<Proposition>) -> bool {
    formula.atoms.iter().any(Proposition::is_about_shapes)
}

/// With balanced trees: so many states are looked at before heights are forgotten.
const FEW_STATES: usize = 20_000;

/// The answers to all questions.
#[derive(Default)]
struct Answers {
    /// Memory safety, then leaks.
    safety: Vec<Report>,
    contracts: Vec<Report>,
    formulas: Vec<Report>,
    saved: Option<String>,
    assumed: BTreeSet<(String, u32)>,
}

impl Answers {
    fn reports(&self) -> impl Iterator<Item = &Report> {
        let rest = self.contracts.iter().chain(&self.formulas);
        self.safety.iter().chain(rest)
    }

    fn reports_mut(&mut self) -> impl Iterator<Item = &mut Report> {
        let rest = self.contracts.iter_mut().chain(&mut self.formulas);
        self.safety.iter_mut().chain(rest)
    }

    fn checked(self) -> Checked {
        let mut reports = self.safety;
        reports.extend(self.contracts);
        reports.extend(self.formulas);
        Checked {
            reports,
            contracts: self.saved,
            assumed: self.assumed,
        }
    }
}

/// Answers all questions; with `heights`, where that is possible.
fn answers(
    task: &mut Task,
    formulas: &[&ResolvedFormula<Proposition>],
    checking: &Checking<'_>,
    heights: bool,
    tell: &dyn Fn(&Report),
) -> Result<Answers, Error> {
    let mut reports: Vec<Option<Report>> = vec![None; formulas.len()];
    let mut answers = Answers::default();
    let mut in_doubt = None;
    let needs = formulas.iter();
    let needs = needs.map(|one| Needs::of(one, &task.options, heights));
    let needs: Vec<Needs> = needs.collect();
    // Formulas that need nothing more come first, together with memory safety.
    let mut groups: Vec<&Needs> = Vec::new();
    let basic = Needs::of_memory_safety(&task.options, heights);
    let leaks = Needs::of_leaks(&task.options, heights);
    let contracts = heights && (checking.contracts || !task.contracts.is_empty());
    if !task.options.compat || contracts || needs.contains(&basic) {
        groups.push(&basic);
    }
    if task.options.leaks {
        groups.push(&leaks);
    }
    for need in &needs {
        if !groups.contains(&need) {
            groups.push(need);
        }
    }
    for need in groups {
        let members: Vec<usize> = (0..formulas.len()).filter(|&i| needs[i] == *need).collect();
        let own: Vec<&ResolvedFormula<Proposition>> =
            members.iter().map(|&i| formulas[i]).collect();
        let start = Instant::now();
        let stopped = |reason: StopReason, property: String| Report {
            property,
            answer: Answer::Unknown(Unknown::Stopped(reason), None),
            vacuous: None,
            endless: BTreeSet::new(),
            name: None,
            counts: Counts::default(),
            largest: None,
            generation: Duration::ZERO,
            checking: start.elapsed(),
        };
        let (is_basic, is_leaks) = (*need == basic, *need == leaks);
        let prepared = task.prepare(need, &own, &checking.limits);
        let machine = match &prepared {
            Ok(prepared) => {
                let machine = task.machine(prepared);
                machine.map(|machine| (machine.within(&checking.limits), prepared))
            }
            Err(reason) => Err(reason.clone()),
        };
        let (machine, prepared) = match machine {
            Ok(made) => made,
            Err(reason) => {
                let most = task.options.max_heap;
                let heaps = match &prepared {
                    Ok(prepared) => &prepared.initial,
                    Err(_) => &task.initial,
                };
                let heap = heaps.iter().max_by_key(|heap| heap.node_count());
                let largest = heap.filter(|heap| heap.node_count() > most);
                let largest = largest.map(|heap| Largest {
                    method: task.program.entry,
                    pc: 0,
                    heap: heap.clone(),
                });
                let stopped = |reason, property| Report {
                    largest: largest.clone(),
                    ..stopped(reason, property)
                };
                // What is asked besides the formulas has no answer either.
                let mut safety = Vec::new();
                if is_basic && !task.options.compat {
                    safety.push(stopped(reason.clone(), MEMORY_SAFETY.into()));
                }
                if is_leaks {
                    safety.push(stopped(reason.clone(), NO_LEAKS.into()));
                }
                answers.safety.extend(safety);
                if is_basic && contracts {
                    let claims = task.contracts.methods().iter();
                    let claims = claims.map(|one| stopped(reason.clone(), contract_holds(one)));
                    answers.contracts.extend(claims);
                }
                for i in members {
                    reports[i] = Some(stopped(reason.clone(), formulas[i].text.clone()));
                }
                continue;
            }
        };
        let mut group = Group::new(task, prepared, machine, checking);
        if is_basic && !task.options.compat {
            let (report, unknown) = group.memory_safety(!formulas.is_empty())?;
            tell(&report);
            answers.safety.push(report);
            in_doubt = unknown;
        }
        if is_leaks {
            let report = group.leaks()?;
            tell(&report);
            answers.safety.push(report);
        }
        if is_basic && contracts {
            (answers.contracts, answers.saved) = group.contracts();
        }
        for (&i, propositions) in members.iter().zip(&prepared.propositions) {
            let formula = ResolvedFormula {
                text: formulas[i].text.clone(),
                formulas: formulas[i].formulas.clone(),
                formula: formulas[i].formula,
                names: formulas[i].names.clone(),
                atoms: propositions.clone(),
            };
            if checking.mode == Mode::OnTheFly {
                // Nothing of the formula before is left.
                answers.assumed.extend(group.machine.assumed());
                group.machine = match task.machine(prepared) {
                    Ok(machine) => machine.within(&checking.limits),
                    Err(reason) => {
                        reports[i] = Some(stopped(reason, formula.text));
                        continue;
                    }
                };
            }
            let report = group.formula(&formula)?;
            tell(&report);
            reports[i] = Some(report);
        }
        answers.assumed.extend(group.machine.assumed());
        // To free millions of states takes longer than there is time for an answer when a limit has
        // been reached. Nothing large is made any more.
        if checking.limits.guard().check_now().is_err() {
            std::mem::forget(group);
        }
    }
    // If the program uses unknown memory anywhere, that goes for every formula, whichever part of
    // the program its proof has seen: so that all modes give the same answers.
    for mut report in reports.into_iter().flatten() {
        if let (Some(why), Answer::Holds) = (&in_doubt, &report.answer) {
            report.answer = Answer::Unknown(Unknown::clone(why), None);
            report.vacuous = None;
            report.endless.clear();
        }
        answers.formulas.push(report);
    }
    Ok(answers)
}
