//! From formulas to automata: the whole way.

use std::fmt;

use droste_base::{Limits, StopReason};
use droste_bdd::on_large_stack;

use crate::automaton::Tgba;
use crate::draft::MOST_DRAFT_MARKS;
use crate::formula::{FormulaId, Formulas};
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
                "the formula has more than {MOST_DRAFT_MARKS} different eventualities"
            ),
        }
    }
}

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
    _options: &Options,
    limits: &Limits,
) -> Result<Tgba, Untranslatable> {
    let used = formulas.atoms(root);
    let mut draft = Tableau::new(formulas, &used, limits).build(root, &mut |_, f| f)?;
    draft.prune();
    draft.simplify_marks(false);
    draft.merge_edges()?;
    draft.finish(atoms)?.ok_or(Untranslatable::TooManyMarks)
}
