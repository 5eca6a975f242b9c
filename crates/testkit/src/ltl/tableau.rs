//! The Büchi automaton of a formula in the most naive way: a state says of *every* subformula whether it
//! holds, from here on.
//!
//! Source: the tableau of Lichtenstein and Pnueli, *Checking that finite state concurrent programs
//! satisfy their linear specification*, POPL 1985. Subformulas are written with `!`, `&&`, `X` and `U`
//! alone. An assignment of truth values is consistent if it agrees with the letter and with the meaning of
//! the connectives, and if `f U g` is no less and no more than `g || f && X(f U g)` allows.
//! One follows another if it keeps what `X` and `U` promised. Acceptance is generalised, with one
//! mark per `U`: infinitely often, `f U g` is false or `g` is true, so that no promise is put off for
//! ever. Every word has exactly one accepting run; which one is guessed.

use super::{Atom, Binary, Formula, Unary};

/// A set of subformulas that hold, as bits.
pub(crate) type Assignment = u64;

/// A subformula; operands come before operators.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Node {
    True,
    /// The number of the atom.
    Atom(usize),
    Not(usize),
    And(usize, usize),
    Next(usize),
    Until(usize, usize),
}

pub(crate) struct Tableau {
    nodes: Vec<Node>,
    pub(crate) atoms: Vec<Atom>,
    root: usize,
}

impl Tableau {
    /// For the words that satisfy `formula`; `None` if there are too many subformulas.
    pub(crate) fn new(formula: &Formula) -> Option<Self> {
        let mut tableau = Tableau {
            nodes: Vec::new(),
            atoms: Vec::new(),
            root: 0,
        };
        tableau.root = tableau.formula(formula);
        let fits = tableau.nodes.len() <= 64 && tableau.marks() <= 32;
        fits.then_some(tableau)
    }

    fn node(&mut self, node: Node) -> usize {
        let known = self.nodes.iter().position(|&n| n == node);
        known.unwrap_or_else(|| {
            self.nodes.push(node);
            self.nodes.len() - 1
        })
    }

    fn not(&mut self, f: usize) -> usize {
        self.node(Node::Not(f))
    }

    fn or(&mut self, f: usize, g: usize) -> usize {
        let (f, g) = (self.not(f), self.not(g));
        let neither = self.node(Node::And(f, g));
        self.not(neither)
    }

    fn formula(&mut self, formula: &Formula) -> usize {
        match formula {
            Formula::Constant(value) => {
                let top = self.node(Node::True);
                if *value { top } else { self.not(top) }
            }
            Formula::Atom(atom) => {
                let known = self.atoms.iter().position(|a| a == atom);
                let index = known.unwrap_or_else(|| {
                    self.atoms.push(atom.clone());
                    self.atoms.len() - 1
                });
                self.node(Node::Atom(index))
            }
            Formula::Unary(op, f) => {
                let f = self.formula(f);
                match op {
                    Unary::Not => self.not(f),
                    Unary::Next => self.node(Node::Next(f)),
                    Unary::Finally => {
                        let top = self.node(Node::True);
                        self.node(Node::Until(top, f))
                    }
                    Unary::Globally => {
                        let (top, never) = (self.node(Node::True), self.not(f));
                        let sometime = self.node(Node::Until(top, never));
                        self.not(sometime)
                    }
                }
            }
            Formula::Binary(op, f, g) => {
                let (f, g) = (self.formula(f), self.formula(g));
                match op {
                    Binary::And => self.node(Node::And(f, g)),
                    Binary::Or => self.or(f, g),
                    Binary::Implies => {
                        let f = self.not(f);
                        self.or(f, g)
                    }
                    Binary::Iff => {
                        let both = self.node(Node::And(f, g));
                        let (f, g) = (self.not(f), self.not(g));
                        let none = self.node(Node::And(f, g));
                        self.or(both, none)
                    }
                    Binary::Until => self.node(Node::Until(f, g)),
                    // Not: until `f` fails as well, `g` does not come.
                    Binary::WeakUntil => {
                        let (f, g) = (self.not(f), self.not(g));
                        let bad = self.node(Node::And(f, g));
                        let breaks = self.node(Node::Until(g, bad));
                        self.not(breaks)
                    }
                    Binary::Release => {
                        let (f, g) = (self.not(f), self.not(g));
                        let breaks = self.node(Node::Until(f, g));
                        self.not(breaks)
                    }
                    Binary::StrongRelease => {
                        let both = self.node(Node::And(f, g));
                        self.node(Node::Until(g, both))
                    }
                }
            }
        }
    }

    /// How many marks there are: one per `U`.
    fn marks(&self) -> usize {
        let untils = self.nodes.iter();
        untils.filter(|n| matches!(n, Node::Until(..))).count()
    }

    /// All marks.
    pub(crate) fn all_marks(&self) -> u32 {
        ((1_u64 << self.marks()) - 1) as u32
    }

    /// Every consistent assignment for a letter, given as the bits of the atoms that hold; `None` if
    /// they are more than `most`.
    pub(crate) fn assignments(&self, letter: u64, most: usize) -> Option<Vec<Assignment>> {
        let mut all: Vec<Assignment> = vec![0];
        for (i, &node) in self.nodes.iter().enumerate() {
            let mut extended = Vec::new();
            for assignment in all {
                let holds = |f: usize| has(assignment, f);
                let forced = match node {
                    Node::True => Some(true),
                    Node::Atom(atom) => Some(letter >> atom & 1 == 1),
                    Node::Not(f) => Some(!holds(f)),
                    Node::And(f, g) => Some(holds(f) && holds(g)),
                    Node::Until(_, g) if holds(g) => Some(true),
                    Node::Until(f, _) if !holds(f) => Some(false),
                    // It depends on what comes: guess.
                    Node::Until(..) | Node::Next(_) => None,
                };
                if forced != Some(false) {
                    extended.push(assignment | 1 << i);
                }
                if forced != Some(true) {
                    extended.push(assignment);
                }
            }
            if extended.len() > most {
                return None;
            }
            all = extended;
        }
        Some(all)
    }

    /// Whether a word whose first letter has the assignment satisfies the formula.
    pub(crate) fn is_initial(&self, assignment: Assignment) -> bool {
        has(assignment, self.root)
    }

    /// Whether `after` keeps what `before` promised.
    pub(crate) fn follows(&self, before: Assignment, after: Assignment) -> bool {
        self.nodes.iter().enumerate().all(|(i, &node)| match node {
            Node::Next(f) => has(before, i) == has(after, f),
            Node::Until(f, g) if has(before, f) && !has(before, g) => {
                has(before, i) == has(after, i)
            }
            _ => true,
        })
    }

    /// The marks that it has: those of the `U` that are false or whose right operand is true.
    pub(crate) fn marks_of(&self, assignment: Assignment) -> u32 {
        let untils = self.nodes.iter().enumerate();
        let untils = untils.filter_map(|(i, node)| match node {
            Node::Until(_, g) => Some(!has(assignment, i) || has(assignment, *g)),
            _ => None,
        });
        let marks = untils.enumerate();
        marks.fold(0, |marks, (k, fine)| marks | u32::from(fine) << k)
    }
}

fn has(assignment: Assignment, f: usize) -> bool {
    assignment >> f & 1 == 1
}
