//! Formulas whose atoms mean something.
//!
//! The logic knows nothing of what it is about. Whoever has a program, or a model in Rust, gives a
//! [`Vocabulary`], and gets a [`ResolvedFormula`] over the atoms of that vocabulary. It has a table
//! of subformulas of its own, in which atom `i` is the `i`-th of its atoms. The violations of a
//! formula are what an automaton of its negation accepts. That automaton is made here and nowhere
//! else.

use droste_base::{Countable, Limits, StopReason};
use droste_source::SourceFile;
use droste_source::diagnostics::Diagnostic;

use crate::{
    Atom, AtomId, Atoms, FormulaId, Formulas, Node, Options, Tgba, Untranslatable, parse, print,
    translate,
};

/// What the atoms of formulas mean.
pub trait Vocabulary {
    /// What an atom becomes.
    type Atom;

    /// The meaning of an atom that is written in `source`, or what is wrong with it.
    fn resolve(&self, atom: &Atom, source: &SourceFile) -> Result<Self::Atom, Vec<Diagnostic>>;
}

/// A formula over atoms of type `A`.
#[derive(Clone, Debug)]
pub struct ResolvedFormula<A> {
    /// The formula, for people.
    pub text: String,
    /// Its table of subformulas.
    pub formulas: Formulas,
    /// The formula in that table.
    pub formula: FormulaId,
    /// The atoms as they were written; only those that occur in the formula.
    pub names: Atoms,
    /// What they mean, in the same order.
    pub atoms: Vec<A>,
}

/// More problems than this are not listed.
const MOST_PROBLEMS: usize = 100;

/// Of an automaton with more edges, a check will see a small part only: it is better not made.
const MOST_EDGES: usize = 1_000_000;

impl<A> ResolvedFormula<A> {
    /// Parses and resolves a formula.
    pub fn parse(
        source: &SourceFile,
        vocabulary: &impl Vocabulary<Atom = A>,
    ) -> Result<Self, Vec<Diagnostic>> {
        let (mut formulas, mut atoms) = (Formulas::new(), Atoms::new());
        let formula = parse(source, &mut formulas, &mut atoms)?;
        ResolvedFormula::new(source, vocabulary, &formulas, &atoms, formula)
    }

    /// Resolves a formula that was parsed from `source`.
    pub fn new(
        source: &SourceFile,
        vocabulary: &impl Vocabulary<Atom = A>,
        formulas: &Formulas,
        atoms: &Atoms,
        formula: FormulaId,
    ) -> Result<Self, Vec<Diagnostic>> {
        let mut names = Atoms::new();
        let mut resolved = Vec::new();
        let mut problems = Vec::new();
        // Atoms of other formulas in the same file are none of ours.
        let mut renumbered = vec![AtomId(0); atoms.len()];
        for id in formulas.atoms(formula) {
            let atom = atoms.get(id);
            renumbered[id.0 as usize] = names.intern(atom.clone());
            match vocabulary.resolve(atom, source) {
                Ok(meaning) => resolved.push(meaning),
                Err(mut diagnostics) => problems.append(&mut diagnostics),
            }
        }
        if !problems.is_empty() {
            problems.truncate(MOST_PROBLEMS);
            return Err(problems);
        }
        let mut own = Formulas::new();
        let formula = copy(formulas, formula, &renumbered, &mut own);
        Ok(ResolvedFormula {
            text: print(&own, &names, formula),
            formulas: own,
            formula,
            names,
            atoms: resolved,
        })
    }

    /// The meanings of the atoms, and the formula without them.
    pub fn split(self) -> (ResolvedFormula<()>, Vec<A>) {
        let formula = ResolvedFormula {
            text: self.text,
            formulas: self.formulas,
            formula: self.formula,
            names: self.names,
            atoms: vec![(); self.atoms.len()],
        };
        (formula, self.atoms)
    }

    /// An automaton of the runs that violate the formula. If it is not `needed`: nothing if it is
    /// very large.
    pub fn violations(&self, needed: bool, limits: &Limits) -> Result<Option<Tgba>, StopReason> {
        let mut formulas = self.formulas.clone();
        let negated = formulas.not(self.formula);
        let options = Options {
            most_edges: (!needed).then_some(MOST_EDGES),
            ..Options::default()
        };
        match translate(&mut formulas, negated, self.atoms.len(), &options, limits) {
            Ok(automaton) => Ok(Some(automaton)),
            Err(Untranslatable::Stopped(reason)) => Err(reason.untranslated()),
            Err(Untranslatable::TooManyMarks(most)) => {
                Err(StopReason::TooMany(Countable::Eventualities, most as u64))
            }
            Err(Untranslatable::TooLarge) => Ok(None),
        }
    }
}

/// A formula in another table, with other numbers for its atoms.
fn copy(from: &Formulas, root: FormulaId, atoms: &[AtomId], to: &mut Formulas) -> FormulaId {
    let closure = from.closure(root);
    let mut copies = vec![Formulas::FALSE; root.0 as usize + 1];
    for id in closure {
        let at = |id: FormulaId| copies[id.0 as usize];
        let shown = |id: FormulaId| -> Vec<_> { from.shown(id).iter().map(|&id| at(id)).collect() };
        let copy = match from.node(id) {
            Node::True => Formulas::TRUE,
            Node::False => Formulas::FALSE,
            Node::Atom(atom) => to.atom(atoms[atom.0 as usize]),
            Node::Not(a) => to.not(at(a)),
            Node::And(_) => to.as_written(true, &shown(id)),
            Node::Or(_) => to.as_written(false, &shown(id)),
            Node::Implies(a, b) => to.implies(at(a), at(b)),
            Node::Iff(a, b) => to.iff(at(a), at(b)),
            Node::Xor(a, b) => to.xor(at(a), at(b)),
            Node::Next(a) => to.next(at(a)),
            Node::Finally(a) => to.finally(at(a)),
            Node::Globally(a) => to.globally(at(a)),
            Node::Until(a, b) => to.until(at(a), at(b)),
            Node::Release(a, b) => to.release(at(a), at(b)),
            Node::WeakUntil(a, b) => to.weak_until(at(a), at(b)),
            Node::StrongRelease(a, b) => to.strong_release(at(a), at(b)),
        };
        copies[id.0 as usize] = copy;
    }
    copies[root.0 as usize]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse_properties;

    /// Lower-case names are known, by their first letter.
    struct Letters;

    impl Vocabulary for Letters {
        type Atom = u8;

        fn resolve(&self, atom: &Atom, _: &SourceFile) -> Result<u8, Vec<Diagnostic>> {
            match atom.text.bytes().next() {
                Some(letter) if letter.is_ascii_lowercase() => Ok(letter),
                _ => Err(vec![Diagnostic::error(atom.span, "not a letter")]),
            }
        }
    }

    #[test]
    fn atoms_of_other_formulas_are_left_out() {
        let source = SourceFile::new("two", "one: G (a -> F b)\ntwo: F (c & b & !a | d)\n");
        let (mut formulas, mut atoms) = (Formulas::new(), Atoms::new());
        let parsed = parse_properties(&source, &mut formulas, &mut atoms).expect("two formulas");
        let two = ResolvedFormula::new(&source, &Letters, &formulas, &atoms, parsed[1].formula);
        let two = two.expect("letters");
        assert_eq!(two.text, "F (c & b & !a | d)");
        let names: Vec<u8> = two
            .names
            .list()
            .iter()
            .map(|a| a.text.as_bytes()[0])
            .collect();
        assert_eq!(names, two.atoms);
        assert_eq!(two.atoms, b"abcd");
        let violations = two.violations(true, &Limits::default());
        assert_eq!(violations.map(|a| a.map(|a| a.state_count())), Ok(Some(1)));
        let (formula, atoms) = two.split();
        assert_eq!((formula.atoms.len(), atoms.len()), (4, 4));
    }

    #[test]
    fn every_atom_that_means_nothing_is_told() {
        let source = SourceFile::new("formula", "G (a -> F (B & C))");
        let problems = ResolvedFormula::parse(&source, &Letters).map(|f| f.text);
        assert_eq!(problems.expect_err("two of them").len(), 2);
    }
}
