//! Formulas as the evaluator sees them: a shared table of terms in negation normal form.
//!
//! Every term is stored once, operands before what they are operands of. Negation stands in front
//! of predicates, comparisons and quantifiers only; `forall` is `! exists !`, and `exists` has been
//! moved into disjunctions. Variables are rows of bits, numbered through the whole session.

use rustc_hash::FxHashMap;

/// A row of [`Terms`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TermId(pub u32);

/// A predicate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DefId(pub u32);

/// A variable: a parameter, or bound by a quantifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct VarId(pub u32);

/// Which relation an application means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Of {
    /// The predicate's value.
    Value,
    /// What is not in the predicate's value: greatest fixpoints are computed as least ones of the
    /// complement.
    Complement,
    /// What the last round added to the value, or to the complement: the frontier.
    Frontier,
}

/// An argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Argument {
    /// A variable or part of one, by its first bit.
    Bits(u32),
    /// A constant, by its code.
    Code(u64),
}

/// A formula.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Term {
    /// True or false.
    Constant(bool),
    /// The bits from the first place and those from the second are the same; the third number says
    /// how many.
    Equal(u32, u32, u32),
    /// The bits from a place, as many as the second number says (at most 64), are this code.
    Code(u32, u32, u64),
    /// A predicate holds of arguments.
    Apply(DefId, Of, Box<[Argument]>),
    /// Negation.
    Not(TermId),
    /// Conjunction.
    And(Box<[TermId]>),
    /// Disjunction.
    Or(Box<[TermId]>),
    /// Equivalence.
    Iff(TermId, TermId),
    /// If, then, else.
    Ite(TermId, TermId, TermId),
    /// There are values of the variables.
    Exists(Box<[VarId]>, TermId),
    /// The first, simplified where the second does not hold; by restriction if true, else by the
    /// generalised cofactor.
    Care(bool, TermId, TermId),
}

/// False.
pub const FALSE: TermId = TermId(0);
/// True.
pub const TRUE: TermId = TermId(1);

/// Longer chains become trees, so that half-done results need not all be kept.
const FAN_IN: usize = 16;

/// All terms of a session.
#[derive(Debug)]
pub struct Terms {
    rows: Vec<Term>,
    known: FxHashMap<Term, TermId>,
}

impl Default for Terms {
    fn default() -> Self {
        let mut terms = Terms {
            rows: Vec::new(),
            known: FxHashMap::default(),
        };
        terms.add(Term::Constant(false));
        terms.add(Term::Constant(true));
        terms
    }
}

impl Terms {
    /// The term.
    pub fn get(&self, id: TermId) -> &Term {
        &self.rows[id.0 as usize]
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// There are always two.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// All terms.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Term> {
        self.rows.iter()
    }

    pub(crate) fn add(&mut self, term: Term) -> TermId {
        if let Some(&id) = self.known.get(&term) {
            return id;
        }
        let id = TermId(self.rows.len() as u32);
        self.rows.push(term.clone());
        self.known.insert(term, id);
        id
    }

    pub(crate) fn constant(value: bool) -> TermId {
        if value { TRUE } else { FALSE }
    }

    pub(crate) fn equal(&mut self, a: u32, b: u32, bits: u32) -> TermId {
        if a == b || bits == 0 {
            return TRUE;
        }
        self.add(Term::Equal(a.min(b), a.max(b), bits))
    }

    pub(crate) fn code(&mut self, a: u32, bits: u32, code: u64) -> TermId {
        if bits == 0 {
            return TRUE;
        }
        self.add(Term::Code(a, bits, code))
    }

    /// Negation of a predicate, a comparison, a quantifier, or of a chain of these.
    pub(crate) fn not(&mut self, id: TermId) -> TermId {
        match self.get(id) {
            Term::Constant(value) => Self::constant(!value),
            Term::Not(inner) => *inner,
            Term::Code(first, 1, code) => {
                let (first, code) = (*first, 1 - code);
                self.code(first, 1, code)
            }
            // `exists` was moved into a disjunction: one step is enough.
            Term::Or(operands) => {
                let operands = operands.to_vec();
                let parts = operands.into_iter().map(|o| self.not_once(o)).collect();
                self.and(parts)
            }
            _ => self.add(Term::Not(id)),
        }
    }

    fn not_once(&mut self, id: TermId) -> TermId {
        match *self.get(id) {
            Term::Constant(value) => Self::constant(!value),
            Term::Not(inner) => inner,
            _ => self.add(Term::Not(id)),
        }
    }

    /// Negation, or not.
    pub(crate) fn not_if(&mut self, id: TermId, negate: bool) -> TermId {
        if negate { self.not(id) } else { id }
    }

    pub(crate) fn and(&mut self, operands: Vec<TermId>) -> TermId {
        self.chain(operands, true)
    }

    pub(crate) fn or(&mut self, operands: Vec<TermId>) -> TermId {
        self.chain(operands, false)
    }

    /// `and` or `or`: nested chains become one, neutral operands are dropped.
    fn chain(&mut self, operands: Vec<TermId>, and: bool) -> TermId {
        let (neutral, zero) = if and { (TRUE, FALSE) } else { (FALSE, TRUE) };
        let mut list = Vec::with_capacity(operands.len());
        for id in operands {
            if id == zero {
                return zero;
            }
            match self.get(id) {
                Term::And(inner) if and => list.extend_from_slice(inner),
                Term::Or(inner) if !and => list.extend_from_slice(inner),
                _ if id == neutral => {}
                _ => list.push(id),
            }
        }
        let mut seen = rustc_hash::FxHashSet::default();
        list.retain(|id| seen.insert(*id));
        match list.len() {
            0 => neutral,
            1 => list[0],
            _ if and => self.add(Term::And(list.into())),
            _ => self.add(Term::Or(list.into())),
        }
    }

    pub(crate) fn iff(&mut self, a: TermId, b: TermId) -> TermId {
        match (self.get(a), self.get(b)) {
            (Term::Constant(true), _) => b,
            (_, Term::Constant(true)) => a,
            _ if a == b => TRUE,
            _ => self.add(Term::Iff(a, b)),
        }
    }

    pub(crate) fn ite(&mut self, c: TermId, t: TermId, e: TermId) -> TermId {
        if c == TRUE || t == e {
            t
        } else if c == FALSE {
            e
        } else if e == FALSE {
            self.and(vec![c, t])
        } else if t == TRUE {
            self.or(vec![c, e])
        } else {
            self.add(Term::Ite(c, t, e))
        }
    }

    pub(crate) fn exists(&mut self, vars: &[VarId], body: TermId) -> TermId {
        match self.get(body) {
            Term::Constant(_) => body,
            Term::Or(operands) => {
                let operands = operands.to_vec();
                let parts = operands
                    .into_iter()
                    .map(|operand| self.exists_here(vars, operand))
                    .collect();
                self.or(parts)
            }
            _ => self.exists_here(vars, body),
        }
    }

    /// `exists` over something that is no disjunction.
    fn exists_here(&mut self, vars: &[VarId], body: TermId) -> TermId {
        if vars.is_empty() {
            return body;
        }
        if let Term::Exists(inner, under) = self.get(body) {
            let mut all: Vec<VarId> = vars.iter().chain(inner.iter()).copied().collect();
            let under = *under;
            all.sort_unstable();
            all.dedup();
            return self.add(Term::Exists(all.into(), under));
        }
        self.add(Term::Exists(vars.into(), body))
    }

    /// Calls `f` for each operand. Of a conjunction under `exists` the operands are the conjuncts:
    /// it is multiplied out and quantified in one go.
    pub(crate) fn operands(&self, id: TermId, mut f: impl FnMut(TermId)) {
        match self.get(id) {
            Term::Constant(_) | Term::Equal(..) | Term::Code(..) | Term::Apply(..) => {}
            Term::Not(a) => f(*a),
            Term::And(list) | Term::Or(list) => list.iter().copied().for_each(f),
            Term::Iff(a, b) | Term::Care(_, a, b) => {
                f(*a);
                f(*b);
            }
            Term::Ite(a, b, c) => {
                f(*a);
                f(*b);
                f(*c);
            }
            Term::Exists(_, body) => match self.get(*body) {
                Term::And(list) => list.iter().copied().for_each(f),
                _ => f(*body),
            },
        }
    }

    /// The term with long disjunctions, and long conjunctions that are not under `exists`, as
    /// trees.
    pub(crate) fn balanced(&mut self, mut list: Vec<TermId>, and: bool) -> TermId {
        while list.len() > FAN_IN {
            list = list
                .chunks(FAN_IN)
                .map(|chunk| match chunk {
                    [one] => *one,
                    many if and => self.add(Term::And(many.into())),
                    many => self.add(Term::Or(many.into())),
                })
                .collect();
        }
        match &list[..] {
            [] => Self::constant(and),
            [one] => *one,
            many if and => self.add(Term::And(many.into())),
            many => self.add(Term::Or(many.into())),
        }
    }
}
