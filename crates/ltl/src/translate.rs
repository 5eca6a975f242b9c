//! From formulas to automata: all steps together.
//!
//! There are three constructions. `tableau` gives the best automata. Where its diagrams become too
//! large, `terms` are tried, first with all the marks, then with levels, as long as their lists are
//! short. If all of these fail, the automaton is probably inherently large, and terms without a
//! bound go on until a limit is reached.

use std::fmt;

use droste_base::{Countable, Guard, Limits, StopReason};
use droste_bdd::{Manager, Var, on_large_stack};

use crate::draft::{Draft, MOST_DRAFT_MARKS};
use crate::obligation;
use crate::promises::Promises;
use crate::simplify::Simplifier;
use crate::simulation::{self, Direction};
use crate::tableau::Tableau;
use crate::terms::{Expansion, Plan};
use droste_automata::automaton::{MOST_MARKS, Tgba};
use droste_automata::formula::{AtomId, FormulaId, Formulas};

/// Why there is no automaton for a formula.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Untranslatable {
    /// A limit was reached.
    Stopped(StopReason),
    /// There are more different eventualities than can be kept apart; the number is how many can.
    TooManyMarks(usize),
    /// There are more edges than were allowed.
    TooLarge,
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
            Untranslatable::TooManyMarks(most) => {
                StopReason::TooMany(Countable::Eventualities, *most as u64).fmt(f)
            }
            Untranslatable::TooLarge => f.write_str("the automaton of the formula grew too large"),
        }
    }
}

/// The most edges of the automaton of the negation, when it is made to find out whether a formula
/// is an obligation.
const MOST_COMPLEMENT: usize = 10_000;

/// The longest list of terms where there is another way.
const MOST_TERMS: usize = 256;
/// If the edges of one formula alone are more than this fraction (one in `SHARE`) of those that are
/// allowed, the whole automaton will have too many.
const SHARE: usize = 100;

/// How an automaton is made of a formula.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Construction {
    /// By diagrams if they are small, otherwise by terms.
    #[default]
    Chosen,
    /// By lists of terms.
    Terms,
    /// By lists of terms, waiting for one eventuality at a time.
    Levels,
}

/// What is done to make automata small.
#[derive(Clone, Debug)]
pub struct Options {
    /// Simplify the formula first.
    pub simplify: bool,
    /// Reduce the automaton.
    pub reduce: bool,
    /// How the automaton is made.
    pub construction: Construction,
    /// How many edges it may have before it is reduced, if there is a bound.
    pub most_edges: Option<usize>,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            simplify: true,
            reduce: true,
            construction: Construction::Chosen,
            most_edges: None,
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
    // The most variables: an atom, or what an operator puts off and promises.
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
    let mut draft = maker.automaton(root, options)?;
    if options.reduce {
        draft = maker.reduced(root, draft)?;
    }
    draft
        .finish(atoms)?
        .ok_or(Untranslatable::TooManyMarks(MOST_MARKS as usize))
}

struct Maker<'a> {
    formulas: &'a mut Formulas,
    manager: Manager,
    used: Vec<(Var, AtomId)>,
    simplifier: Simplifier,
    guard: Guard,
}

impl Maker<'_> {
    /// The automaton of a formula, without what is useless.
    fn automaton(&mut self, root: FormulaId, options: &Options) -> Result<Draft, Untranslatable> {
        let edges = options.most_edges.unwrap_or(usize::MAX);
        let short = |levels| Plan {
            levels,
            terms: MOST_TERMS,
            edges,
        };
        let long = |levels| Plan {
            levels,
            terms: edges / SHARE,
            edges,
        };
        let mut many_marks = options.construction == Construction::Levels;
        if options.construction == Construction::Chosen {
            match self.tableau(root, edges) {
                Ok(Some(draft)) if draft.marks <= MOST_MARKS as usize => return Ok(draft),
                Ok(Some(_)) | Err(Untranslatable::TooManyMarks(_)) => many_marks = true,
                Ok(None) => {}
                Err(stopped) => return Err(stopped),
            }
            for levels in [false, true] {
                if many_marks && !levels {
                    continue;
                }
                match self.terms(root, short(levels))? {
                    Some(draft) if draft.marks <= MOST_MARKS as usize => return Ok(draft),
                    Some(_) => many_marks = true,
                    None => {}
                }
            }
        }
        self.terms(root, long(many_marks))?
            .ok_or(Untranslatable::TooLarge)
    }

    fn promises(&mut self, root: FormulaId) -> Promises {
        Promises::new(self.simplifier.traits(self.formulas, root).guarantee())
    }

    /// By diagrams; nothing if there are more than `most` edges, or diagrams become large.
    fn tableau(&mut self, root: FormulaId, most: usize) -> Result<Option<Draft>, Untranslatable> {
        let promises = self.promises(root);
        let tableau = Tableau::new(self.formulas, &self.manager, &self.used, promises);
        tidy(tableau.build(root, most)?)
    }

    /// By terms; nothing if their lists become too long.
    fn terms(&mut self, root: FormulaId, plan: Plan) -> Result<Option<Draft>, Untranslatable> {
        let promises = self.promises(root);
        let expansion = Expansion::new(
            self.formulas,
            root,
            &self.manager,
            &self.used,
            promises,
            plan,
        );
        let expansion = expansion.ok_or(Untranslatable::TooManyMarks(MOST_DRAFT_MARKS))?;
        tidy(expansion.build(root)?)
    }

    /// The smallest automaton that reductions lead to.
    fn reduced(&mut self, root: FormulaId, mut draft: Draft) -> Result<Draft, Untranslatable> {
        // Simulations join states of a deterministic automaton only if they accept the same words;
        // the minimal deterministic automaton has one state for all of these.
        if draft.deterministic
            && self.simplifier.traits(self.formulas, root).obligation()
            && let Some(weak) = obligation::minimal_weak(&mut draft, None)?
        {
            return Ok(weak);
        }
        let mut draft = reduced(draft)?;
        if let Some(weak) = self.weak(root, &mut draft)?
            && (weak.len(), weak.nondeterministic_states()?)
                <= (draft.len(), draft.nondeterministic_states()?)
        {
            draft = weak;
        }
        Ok(draft)
    }

    /// The minimal deterministic weak automaton, if there is one and it can be had without much
    /// effort.
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
            Ok(None) | Err(Untranslatable::TooManyMarks(_)) => return Ok(None),
            Err(stopped) => return Err(stopped),
        };
        Ok(obligation::minimal_weak(draft, Some(&complement))?)
    }
}

/// Drops what is useless.
fn tidy(draft: Option<Draft>) -> Result<Option<Draft>, Untranslatable> {
    let Some(mut draft) = draft else {
        return Ok(None);
    };
    draft.prune();
    draft.simplify_marks(false);
    draft.merge_edges()?;
    Ok(Some(draft))
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

/// Both simulations in turn, as long as that makes the automaton smaller. Marks on edges between
/// components mean nothing: if `generous` these edges have all of them, otherwise none.
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
