//! Formulas of linear temporal logic about a model of the user's own.

use std::fmt;
use std::time::Instant;

use droste_base::{Event, Model, PropId, Trace, Verdict};
use droste_ltl::{
    AtomKind, Atoms, FormulaId, Formulas, Lasso, Options, Untranslatable, holds, parse, translate,
};
use droste_omega::{Buchi, Observed};
use droste_source::SourceFile;
use droste_source::diagnostics::render;
use droste_source::suggest::nearest;

use crate::checker::{Checker, Inconsistent, Outcome};

/// Why a formula was not checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LtlError {
    /// The formula is not one; the text says why, and where.
    Syntax(String),
    /// The formula mentions something that is not among the propositions.
    Unknown {
        /// What it mentions.
        name: String,
        /// What may have been meant.
        suggestion: Option<String>,
    },
    /// There is no automaton for the formula: it has too many eventualities.
    TooLarge(String),
    /// The run that was found does not replay.
    Inconsistent(Inconsistent),
}

impl fmt::Display for LtlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LtlError::Syntax(text) | LtlError::TooLarge(text) => f.write_str(text),
            LtlError::Unknown { name, suggestion } => {
                write!(f, "there is no proposition `{name}`")?;
                if let Some(suggestion) = suggestion {
                    write!(f, "; did you mean `{suggestion}`?")?;
                }
                Ok(())
            }
            LtlError::Inconsistent(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for LtlError {}

impl From<Inconsistent> for LtlError {
    fn from(error: Inconsistent) -> Self {
        LtlError::Inconsistent(error)
    }
}

/// Runs of at most so many steps are evaluated once more, by the meaning of the formula.
const WRITTEN_OUT: u64 = 1_000_000;

impl<M: Model> Checker<'_, M> {
    /// Does every infinite run satisfy `formula`, of linear temporal logic? The verdict is *violated*, with a run, if
    /// one does not. `propositions` says what the names in the formula are; a name that is not an identifier is written in
    /// braces, `G {x < 3}`. Which runs count is said by [`runs`](Self::runs).
    ///
    /// A run is checked twice before it is reported: that it is a run that an automaton for the negated formula
    /// accepts, and, unless it has more than a million steps, that it does not satisfy the formula, whose meaning is followed step
    /// by step.
    pub fn ltl(
        &self,
        formula: &str,
        propositions: &[(&str, PropId)],
    ) -> Result<Outcome<M::State>, LtlError> {
        let start = Instant::now();
        let source = SourceFile::new("formula", formula);
        let (mut formulas, mut atoms) = (Formulas::new(), Atoms::new());
        let formula = parse(&source, &mut formulas, &mut atoms)
            .map_err(|diagnostics| LtlError::Syntax(render(&diagnostics, &source, false)))?;
        let known = meanings(&atoms, propositions)?;
        let negated = formulas.not(formula);
        let (options, limits) = (Options::default(), self.limits());
        let automaton = match translate(&mut formulas, negated, atoms.len(), &options, &limits) {
            Ok(automaton) => automaton,
            Err(Untranslatable::Stopped(reason)) => {
                return Ok(Outcome {
                    verdict: Verdict::Unknown(reason),
                    stats: droste_explicit::Stats::default(),
                    time: start.elapsed(),
                });
            }
            Err(reason @ (Untranslatable::TooManyMarks(_) | Untranslatable::TooLarge)) => {
                return Err(LtlError::TooLarge(reason.to_string()));
            }
        };
        let observer = Buchi::new(&automaton);
        let product = Observed::new(self.model(), &observer, &known);
        let found = self.over(&product).repeat(&product.marks())?;
        let verdict = found.verdict.map(|trace| {
            let mut trace = trace.map(|(state, _)| state);
            trace.roll();
            trace
        });
        if let Some(trace) = verdict.witness()
            && trace.length() <= WRITTEN_OUT
        {
            assert!(
                !self.satisfies(trace, &formulas, formula, &known),
                "a run that satisfies the formula is taken for one that does not: a defect in Droste, please report it"
            );
        }
        Ok(Outcome {
            verdict,
            stats: found.stats,
            time: start.elapsed(),
        })
    }

    /// Whether a run satisfies a formula, by its meaning.
    fn satisfies(
        &self,
        trace: &Trace<M::State>,
        formulas: &Formulas,
        formula: FormulaId,
        known: &[PropId],
    ) -> bool {
        let flat = trace.flatten(usize::MAX);
        let positions = &flat.positions[..];
        // A state that was refined is at the same position as its part; and the last one is the first of the cycle again.
        let is_read = |i: usize| {
            let next = positions.get(i + 1);
            next.is_some_and(|next| next.event != Event::Refine)
                && !self.model().silent(positions[i].state)
        };
        let read: Vec<usize> = (0..positions.len()).filter(|&i| is_read(i)).collect();
        let cycle = flat.cycle.unwrap_or(0);
        let prefix = read.iter().filter(|&&i| i < cycle).count();
        let lasso = Lasso {
            prefix,
            period: read.len() - prefix,
        };
        holds(formulas, formula, lasso, |atom, i| {
            let state = positions[read[i]].state;
            self.model().holds(state, known[atom.0 as usize])
        })
    }
}

/// The proposition of each atom.
fn meanings(atoms: &Atoms, propositions: &[(&str, PropId)]) -> Result<Vec<PropId>, LtlError> {
    let meaning = |atom: &droste_ltl::Atom| {
        let text = match atom.kind {
            AtomKind::Name | AtomKind::Expression | AtomKind::Var | AtomKind::Terminated => {
                atom.text.clone()
            }
            AtomKind::At | AtomKind::In => atom.to_string(),
        };
        let found = propositions.iter().find(|(name, _)| *name == text);
        found.map(|&(_, id)| id).ok_or_else(|| {
            let names = propositions.iter().map(|&(name, _)| name);
            LtlError::Unknown {
                suggestion: nearest(&text, names).map(str::to_owned),
                name: text,
            }
        })
    };
    atoms.list().iter().map(meaning).collect()
}
