//! From formulas to automata: the whole way.

use std::fmt;

use droste_base::{Guard, Limits, StopReason};
use droste_bdd::{Manager, Var, on_large_stack};

use crate::automaton::{MOST_MARKS, Tgba};
use crate::draft::{Draft, MOST_DRAFT_MARKS};
use crate::formula::{AtomId, FormulaId, Formulas};
use crate::obligation;
use crate::simplify::Simplifier;
use crate::simulation::{self, Direction};
use crate::tableau::Tableau;

/// Why there is no automaton for a formula.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Untranslatable {
    /// A limit was reached.
    Stopped(StopReason),
    /// There are more different eventualities than can be kept apart.
    TooManyMarks,
}

impl From<StopReason> for Untranslatable {
    fn from(reason: StopReason) -> Self {
        Untranslatable::Stopped(reason)
    }
}

impl fmt::Display for Untranslatable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Untranslatable::Stopped(reason) => reason.fmt(f),
            Untranslatable::TooManyMarks => write!(
                f,
                "the formula has more than {MOST_DRAFT_MARKS} different eventualities, or its automaton needs more than {MOST_MARKS} marks"
            ),
        }
    }
}

/// To find out whether a formula is an obligation, the automaton of its negation may have so many edges.
const MOST_COMPLEMENT: usize = 10_000;

/// What is done to make automata small.
#[derive(Clone, Debug)]
pub struct Options {
    /// Simplify the formula first.
    pub simplify: bool,
    /// Reduce the automaton.
    pub reduce: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            simplify: true,
            reduce: true,
        }
    }
}

/// An automaton that accepts the words that satisfy `formula`, over atoms below `atoms`.
pub fn translate(
    formulas: &mut Formulas,
    formula: FormulaId,
    atoms: usize,
    options: &Options,
    limits: &Limits,
) -> Result<Tgba, Untranslatable> {
    let (root, _) = formulas.negation_normal_forms(formula);
    // At most so many variables: an atom, or what an operator puts off and promises.
    let variables = 2 * formulas.closure(root).len();
    let mut work = move || build(formulas, root, atoms, options, limits);
    if variables < 200 {
        work()
    } else {
        on_large_stack(variables, work)
    }
}

fn build(
    formulas: &mut Formulas,
    root: FormulaId,
    atoms: usize,
    options: &Options,
    limits: &Limits,
) -> Result<Tgba, Untranslatable> {
    let mut simplifier = Simplifier::default();
    let mut guard = limits.guard();
    let root = if options.simplify {
        simplifier.simplify(formulas, root, &mut guard)?
    } else {
        root
    };
    let manager = Manager::new(limits);
    let used = formulas.atoms(root);
    let vars = manager.new_vars(used.len() as u32);
    let used: Vec<(Var, AtomId)> = vars.into_iter().zip(used).collect();
    let mut maker = Maker {
        formulas,
        manager,
        used,
        simplifier,
        guard,
    };
    let Some(mut draft) = maker.tableau(root, usize::MAX)? else {
        unreachable!("there is no bound on edges");
    };
    if options.reduce {
        draft = reduced(draft)?;
        if let Some(weak) = maker.weak(root, &mut draft)?
            && (weak.len(), weak.nondeterministic_states()?)
                <= (draft.len(), draft.nondeterministic_states()?)
        {
            draft = weak;
        }
    }
    draft.finish(atoms)?.ok_or(Untranslatable::TooManyMarks)
}

struct Maker<'a> {
    formulas: &'a mut Formulas,
    manager: Manager,
    used: Vec<(Var, AtomId)>,
    simplifier: Simplifier,
    guard: Guard,
}

impl Maker<'_> {
    /// The automaton of a formula, without what is useless; nothing if it has more than `most` edges.
    fn tableau(&mut self, root: FormulaId, most: usize) -> Result<Option<Draft>, Untranslatable> {
        let tableau = Tableau::new(self.formulas, &self.manager, &self.used);
        let Some(mut draft) = tableau.build(root, most)? else {
            return Ok(None);
        };
        draft.prune();
        draft.simplify_marks(false);
        draft.merge_edges()?;
        Ok(Some(draft))
    }

    /// The minimal deterministic weak automaton, if there is one and it can be had without much effort.
    fn weak(
        &mut self,
        root: FormulaId,
        draft: &mut Draft,
    ) -> Result<Option<Draft>, Untranslatable> {
        if self.simplifier.traits(self.formulas, root).obligation() {
            return Ok(obligation::minimal_weak(draft, None)?);
        }
        let (_, negation) = self.formulas.negation_normal_forms(root);
        let negation = self
            .simplifier
            .simplify(self.formulas, negation, &mut self.guard)?;
        let complement = match self.tableau(negation, MOST_COMPLEMENT) {
            Ok(Some(complement)) => complement,
            Ok(None) | Err(Untranslatable::TooManyMarks) => return Ok(None),
            Err(stopped) => return Err(stopped),
        };
        Ok(obligation::minimal_weak(draft, Some(&complement))?)
    }
}

/// The smallest of the automata that simulations lead to.
fn reduced(draft: Draft) -> Result<Draft, StopReason> {
    let mut best: Option<Draft> = None;
    for generous in [false, true] {
        let candidate = simulated(draft.clone(), generous)?;
        let better = match &best {
            Some(best) => candidate.size()? < best.size()?,
            None => true,
        };
        if better {
            best = Some(candidate);
        }
    }
    Ok(best.unwrap_or(draft))
}

/// Both simulations in turn, as long as that makes the automaton smaller. Marks on edges between components mean nothing: if
/// `generous` these edges have all of them, otherwise none.
fn simulated(mut draft: Draft, generous: bool) -> Result<Draft, StopReason> {
    let mut size = (usize::MAX, usize::MAX);
    while (draft.len(), draft.edge_count()) < size {
        size = (draft.len(), draft.edge_count());
        for direction in [Direction::Direct, Direction::Reverse] {
            draft.simplify_marks(generous);
            simulation::reduce(&mut draft, direction)?;
            draft.prune();
        }
    }
    draft.simplify_marks(false);
    draft.merge_edges()?;
    Ok(draft)
}
