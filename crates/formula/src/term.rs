//! Boolean terms: the logic in which operations become text.
//!
//! Terms are hash-consed into a table, children before parents, so that what the arithmetic shares
//! stays shared. [`Terms::mark`] and [`Terms::forget`] let one table serve all operations of a
//! program.

use std::convert::Infallible;

use droste_blast::Logic;
use rustc_hash::FxHashMap;

/// Index into [`Terms`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Term(pub(crate) u32);

/// What a term is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Node {
    Constant(bool),
    /// A name, by its index into [`Terms::names`].
    Atom(u32),
    /// A choice, by its number.
    Choice(u32),
    Not(Term),
    And(Term, Term),
    Or(Term, Term),
    Xor(Term, Term),
    Ite(Term, Term, Term),
}

impl Node {
    pub(crate) fn children(self) -> impl Iterator<Item = Term> {
        let list = match self {
            Node::Constant(_) | Node::Atom(_) | Node::Choice(_) => [None, None, None],
            Node::Not(a) => [Some(a), None, None],
            Node::And(a, b) | Node::Or(a, b) | Node::Xor(a, b) => [Some(a), Some(b), None],
            Node::Ite(c, a, b) => [Some(c), Some(a), Some(b)],
        };
        list.into_iter().flatten()
    }
}

/// A table of terms.
#[derive(Debug)]
pub(crate) struct Terms {
    pub(crate) nodes: Vec<Node>,
    pub(crate) names: Vec<String>,
    known: FxHashMap<Node, Term>,
    choices: u32,
}

const FALSE: Term = Term(0);
const TRUE: Term = Term(1);

impl Terms {
    pub(crate) const FALSE: Term = FALSE;

    pub(crate) fn new() -> Self {
        let mut terms = Terms {
            nodes: Vec::new(),
            names: Vec::new(),
            known: FxHashMap::default(),
            choices: 0,
        };
        terms.intern(Node::Constant(false));
        terms.intern(Node::Constant(true));
        terms
    }

    fn intern(&mut self, node: Node) -> Term {
        *self.known.entry(node).or_insert_with(|| {
            self.nodes.push(node);
            Term(self.nodes.len() as u32 - 1)
        })
    }

    pub(crate) fn node(&self, term: Term) -> Node {
        self.nodes[term.0 as usize]
    }

    /// A named bit.
    pub(crate) fn atom(&mut self, name: String) -> Term {
        self.names.push(name);
        self.intern(Node::Atom(self.names.len() as u32 - 1))
    }

    /// Where the table ends; choices are counted from 0 again.
    pub(crate) fn mark(&mut self) -> usize {
        self.choices = 0;
        self.nodes.len()
    }

    /// Forgets what came after the mark.
    pub(crate) fn forget(&mut self, mark: usize) {
        for node in self.nodes.drain(mark..) {
            self.known.remove(&node);
        }
    }
}

impl Logic for Terms {
    type Bit = Term;
    type Error = Infallible;

    fn constant(&mut self, value: bool) -> Term {
        if value { TRUE } else { FALSE }
    }

    fn as_constant(&self, bit: &Term) -> Option<bool> {
        match *bit {
            FALSE => Some(false),
            TRUE => Some(true),
            _ => None,
        }
    }

    fn not(&mut self, a: &Term) -> Result<Term, Infallible> {
        Ok(match self.node(*a) {
            Node::Constant(value) => self.constant(!value),
            Node::Not(inner) => inner,
            _ => self.intern(Node::Not(*a)),
        })
    }

    fn and(&mut self, a: &Term, b: &Term) -> Result<Term, Infallible> {
        let (a, b) = (*a.min(b), *a.max(b));
        Ok(match (a, b) {
            (FALSE, _) => FALSE,
            (TRUE, other) => other,
            _ if a == b => a,
            _ if self.not(&a)? == b => FALSE,
            _ => self.intern(Node::And(a, b)),
        })
    }

    fn or(&mut self, a: &Term, b: &Term) -> Result<Term, Infallible> {
        let (a, b) = (*a.min(b), *a.max(b));
        Ok(match (a, b) {
            (FALSE, other) => other,
            (TRUE, _) => TRUE,
            _ if a == b => a,
            _ if self.not(&a)? == b => TRUE,
            _ => self.intern(Node::Or(a, b)),
        })
    }

    fn xor(&mut self, a: &Term, b: &Term) -> Result<Term, Infallible> {
        let (a, b) = (*a.min(b), *a.max(b));
        match (a, b) {
            (FALSE, other) => return Ok(other),
            (TRUE, other) => return self.not(&other),
            _ if a == b => return Ok(FALSE),
            _ => {}
        }
        // Negations move out, so that equal terms are found to be equal.
        if let Node::Not(inner) = self.node(a) {
            let rest = self.xor(&inner, &b)?;
            return self.not(&rest);
        }
        if let Node::Not(inner) = self.node(b) {
            let rest = self.xor(&a, &inner)?;
            return self.not(&rest);
        }
        Ok(self.intern(Node::Xor(a, b)))
    }

    fn ite(&mut self, c: &Term, yes: &Term, no: &Term) -> Result<Term, Infallible> {
        match (*c, *yes, *no) {
            (TRUE, yes, _) => Ok(yes),
            (FALSE, _, no) => Ok(no),
            (_, yes, no) if yes == no => Ok(yes),
            (c, yes, no) if yes == c => self.or(&c, &no),
            (c, yes, no) if no == c => self.and(&c, &yes),
            (c, TRUE, no) => self.or(&c, &no),
            (c, yes, FALSE) => self.and(&c, &yes),
            (c, FALSE, no) => {
                let c = self.not(&c)?;
                self.and(&c, &no)
            }
            (c, yes, TRUE) => {
                let c = self.not(&c)?;
                self.or(&c, &yes)
            }
            (c, yes, no) => {
                if let Node::Not(inner) = self.node(c) {
                    return Ok(self.intern(Node::Ite(inner, no, yes)));
                }
                Ok(self.intern(Node::Ite(c, yes, no)))
            }
        }
    }

    fn fresh(&mut self) -> Result<Term, Infallible> {
        self.choices += 1;
        Ok(self.intern(Node::Choice(self.choices - 1)))
    }
}
