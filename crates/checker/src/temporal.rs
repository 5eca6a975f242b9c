//! Formulas of linear temporal logic about a model of the user's own.

use std::time::Instant;

use droste_base::{Event, Model, PropId, Trace, Verdict};
use droste_explicit::{Goal, Stats};
use droste_ltl::{Atom, AtomKind, Lasso, ResolvedFormula, Vocabulary, holds};
use droste_omega::{Buchi, Tableau};
use droste_source::SourceFile;
use droste_source::diagnostics::Diagnostic;
use droste_source::suggest::nearest;

use crate::checker::{Checker, Outcome};
use crate::error::Error;

/// Runs of at most so many steps are evaluated once more, by the meaning of the formula.
const WRITTEN_OUT: u64 = 1_000_000;

/// While a lasso is made shorter, candidates of so many steps are evaluated, all in all.
const EVALUATED: u64 = 1_000_000;

impl<M: Model> Checker<'_, M> {
    /// Does every infinite run satisfy `formula`, of linear temporal logic? The verdict is
    /// *violated*, with a run, if one does not. `propositions` says what the names in the formula
    /// are; a name that is not an identifier is written in braces, `G {x < 3}`. Which runs count is
    /// said by [`runs`](Self::runs).
    ///
    /// A run is checked twice before it is reported: that it is a run that an automaton for the
    /// negated formula accepts, and, unless it has more than a million steps, that it does not
    /// satisfy the formula, whose meaning is followed step by step.
    pub fn ltl(
        &self,
        formula: &str,
        propositions: &[(&str, PropId)],
    ) -> Result<Outcome<M::State>, Error> {
        let source = SourceFile::new("formula", formula);
        let formula = ResolvedFormula::parse(&source, &Names(propositions))
            .map_err(|diagnostics| Error::formula(diagnostics, &source))?;
        self.formula(&formula)
    }

    /// Like [`ltl`](Self::ltl), for a formula that has been read.
    pub fn formula(&self, formula: &ResolvedFormula<PropId>) -> Result<Outcome<M::State>, Error> {
        let start = Instant::now();
        let limits = self.limits();
        let automaton = if self.uses_tableau() {
            Ok(None)
        } else {
            formula.violations(false, &limits)
        };
        // The time for the automaton and that for the search are one.
        let goal = automaton.and_then(|automaton| {
            if let Some(automaton) = automaton {
                return Ok(Goal::Accept(Buchi::new(&automaton), formula.atoms.clone()));
            }
            let tableau = Tableau::new(&formula.formulas, formula.formula)?;
            Ok(Goal::Prove(tableau, formula.atoms.clone()))
        });
        let mut outcome = match goal {
            Ok(goal) => self.search(&goal, &limits)?,
            Err(reason) => Outcome::new(Verdict::Unknown(reason), Stats::default()),
        };
        if let Verdict::Violated(trace) = &mut outcome.verdict {
            let mut left = EVALUATED;
            self.shorten(trace, &[], &mut |candidate| {
                let cost = candidate.length();
                let affordable = cost <= left;
                left = left.saturating_sub(cost);
                affordable && !self.satisfies(candidate, formula)
            })?;
            if trace.length() <= WRITTEN_OUT && self.satisfies(trace, formula) {
                let last = trace.positions.len().saturating_sub(1);
                return Err(Error::wrong(last, "the run satisfies the formula"));
            }
        }
        Ok(self.finished(outcome, start))
    }

    /// Whether a run satisfies a formula, by its meaning.
    fn satisfies(&self, trace: &Trace<M::State>, formula: &ResolvedFormula<PropId>) -> bool {
        let flat = trace.flatten(usize::MAX);
        let positions = &flat.positions[..];
        // A state that was refined is at the same position as its part. The last one is the first
        // of the cycle again.
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
        holds(&formula.formulas, formula.formula, lasso, |atom, i| {
            let state = positions[read[i]].state;
            self.model().holds(state, formula.atoms[atom.0 as usize])
        })
    }
}

/// The names that the user gives propositions.
struct Names<'a>(&'a [(&'a str, PropId)]);

impl Vocabulary for Names<'_> {
    type Atom = PropId;

    fn resolve(&self, atom: &Atom, _: &SourceFile) -> Result<PropId, Vec<Diagnostic>> {
        let text = match atom.kind {
            AtomKind::Name | AtomKind::Expression | AtomKind::Var | AtomKind::Terminated => {
                atom.text.clone()
            }
            AtomKind::At | AtomKind::In => atom.to_string(),
        };
        if let Some(&(_, id)) = self.0.iter().find(|(name, _)| *name == text) {
            return Ok(id);
        }
        let mut diagnostic =
            Diagnostic::error(atom.span, format!("there is no proposition `{text}`"));
        if let Some(near) = nearest(&text, self.0.iter().map(|&(name, _)| name)) {
            diagnostic = diagnostic.help(format!("did you mean `{near}`?"));
        }
        Err(vec![diagnostic])
    }
}
