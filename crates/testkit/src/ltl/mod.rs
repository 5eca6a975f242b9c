//! Formulas of linear temporal logic, for tests: a tree of their own, printed in the syntax that
//! `--ltl` reads.
//!
//! Nothing here is shared with the parser, the translation or the engines, so that a mistake of
//! theirs is not repeated. `generate` makes random formulas over the names of a program, `shrink`
//! makes a failing one small, and [`word`] says by direct definition whether an ultimately
//! periodic word satisfies one. Trees are small; walking them by native recursion is fine.

mod generate;
mod monitor;
mod shrink;
pub(crate) mod tableau;
pub mod word;

use std::fmt;

use droste_lang::ast::{Ast, ExprKind, Name};
use droste_lang::printer::expr_to_string;

pub use generate::{Shape, formula};
pub use monitor::monitor;
pub use shrink::shrink;

use crate::tree::Exp;

/// What a formula says about one position of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Atom {
    /// A bare name: a Boolean global or a label.
    Name(String),
    /// `{e}`: an expression over globals, locals `proc::x`, and all that a guard of a monitor may say.
    Expression(Exp),
    /// `at(L)` or `at(proc:L)`
    At(Option<String>, String),
    /// `var(x)`
    Var(String),
    /// `in(proc)`
    In(String),
    /// `terminated`
    Terminated,
}

/// Operators with one operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unary {
    /// `!`
    Not,
    /// `X`
    Next,
    /// `F`
    Finally,
    /// `G`
    Globally,
}

/// Operators with two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binary {
    /// `&&`
    And,
    /// `||`
    Or,
    /// `->`
    Implies,
    /// `<->`
    Iff,
    /// `U`: the right one comes, the left one holds until then.
    Until,
    /// `R`: the right one holds as long as the left one has not held before.
    Release,
    /// `W`: as `U`, but the right one need not come.
    WeakUntil,
    /// `M`: as `R`, but the left one comes.
    StrongRelease,
}

impl Unary {
    /// All of them.
    pub const ALL: [Unary; 4] = [Unary::Not, Unary::Next, Unary::Finally, Unary::Globally];
}

impl Binary {
    /// All of them.
    pub const ALL: [Binary; 8] = [
        Binary::And,
        Binary::Or,
        Binary::Implies,
        Binary::Iff,
        Binary::Until,
        Binary::Release,
        Binary::WeakUntil,
        Binary::StrongRelease,
    ];

    /// Whether it is about more than one position.
    pub fn is_temporal(self) -> bool {
        use Binary::{Release, StrongRelease, Until, WeakUntil};
        matches!(self, Until | Release | WeakUntil | StrongRelease)
    }

    /// How tightly it binds. Operators of the same tightness are never printed without parentheses.
    fn tightness(self) -> u32 {
        match self {
            Binary::Until | Binary::Release | Binary::WeakUntil | Binary::StrongRelease => 4,
            Binary::And => 3,
            Binary::Or => 2,
            Binary::Implies => 1,
            Binary::Iff => 0,
        }
    }
}

/// A formula.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Formula {
    /// `true` or `false`
    Constant(bool),
    /// About one position.
    Atom(Atom),
    /// One operand.
    Unary(Unary, Box<Formula>),
    /// Two operands.
    Binary(Binary, Box<Formula>, Box<Formula>),
}

impl Formula {
    /// `op f`
    pub fn unary(op: Unary, operand: Formula) -> Self {
        Formula::Unary(op, Box::new(operand))
    }

    /// `f op g`
    pub fn binary(op: Binary, left: Formula, right: Formula) -> Self {
        Formula::Binary(op, Box::new(left), Box::new(right))
    }

    /// `!f`
    #[must_use]
    pub fn negated(self) -> Self {
        Formula::unary(Unary::Not, self)
    }

    /// How many operators and atoms there are.
    pub fn size(&self) -> usize {
        1 + self.operands().map(Formula::size).sum::<usize>()
    }

    /// Whether `X` occurs.
    pub fn has_next(&self) -> bool {
        matches!(self, Formula::Unary(Unary::Next, _)) || self.operands().any(Formula::has_next)
    }

    /// What the outermost operator is applied to.
    pub fn operands(&self) -> impl Iterator<Item = &Formula> {
        let (first, second) = match self {
            Formula::Constant(_) | Formula::Atom(_) => (None, None),
            Formula::Unary(_, operand) => (Some(&**operand), None),
            Formula::Binary(_, left, right) => (Some(&**left), Some(&**right)),
        };
        first.into_iter().chain(second)
    }

    fn write(&self, f: &mut fmt::Formatter<'_>, around: Option<Binary>) -> fmt::Result {
        match self {
            Formula::Constant(value) => write!(f, "{value}"),
            Formula::Atom(atom) => write!(f, "{atom}"),
            Formula::Unary(op, operand) => {
                let other = f.alternate();
                f.write_str(match op {
                    Unary::Not => "!",
                    Unary::Next => "X ",
                    Unary::Finally if other => "<>",
                    Unary::Finally => "F ",
                    Unary::Globally if other => "[]",
                    Unary::Globally => "G ",
                })?;
                if matches!(**operand, Formula::Binary(..)) {
                    f.write_str("(")?;
                    operand.write(f, None)?;
                    f.write_str(")")
                } else {
                    operand.write(f, None)
                }
            }
            Formula::Binary(op, left, right) => {
                let other = f.alternate();
                let open = around.is_some_and(|around| op.tightness() <= around.tightness());
                if open {
                    f.write_str("(")?;
                }
                left.write(f, Some(*op))?;
                f.write_str(match op {
                    Binary::And if other => " & ",
                    Binary::And => " && ",
                    Binary::Or if other => " | ",
                    Binary::Or => " || ",
                    Binary::Implies => " -> ",
                    Binary::Iff => " <-> ",
                    Binary::Until => " U ",
                    Binary::Release => " R ",
                    Binary::WeakUntil => " W ",
                    Binary::StrongRelease => " M ",
                })?;
                right.write(f, Some(*op))?;
                if open {
                    f.write_str(")")?;
                }
                Ok(())
            }
        }
    }
}

/// As on the command line; `{:#}` has the other spellings, `[] <> & |`.
impl fmt::Display for Formula {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, None)
    }
}

impl Atom {
    /// The atom as an expression of a property. A bare name stays one.
    pub fn exp(&self) -> Exp {
        let name = |text: &String| Name::new(text);
        match self {
            Atom::Name(text) | Atom::Var(text) => Exp::var(text),
            Atom::Expression(exp) => exp.clone(),
            Atom::At(procedure, label) => {
                Exp::Leaf(ExprKind::At(procedure.as_ref().map(name), name(label)))
            }
            Atom::In(procedure) => Exp::Leaf(ExprKind::In(name(procedure))),
            Atom::Terminated => Exp::Leaf(ExprKind::Terminated),
        }
    }
}

impl fmt::Display for Atom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Atom::Name(name) => f.write_str(name),
            Atom::Var(name) => write!(f, "var({name})"),
            Atom::At(None, label) => write!(f, "at({label})"),
            Atom::At(Some(procedure), label) => write!(f, "at({procedure}:{label})"),
            Atom::In(procedure) => write!(f, "in({procedure})"),
            Atom::Terminated => f.write_str("terminated"),
            Atom::Expression(exp) => {
                let mut ast = Ast::default();
                let id = exp.write(&mut ast);
                let text = expr_to_string(&ast, id);
                // A name may be in braces itself.
                if text.contains(['{', '}']) {
                    write!(f, "\"{text}\"")
                } else {
                    write!(f, "{{{text}}}")
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Atom, Binary, Formula, Unary};
    use crate::tree::Exp;

    #[test]
    fn parentheses_are_there_where_readers_may_differ() {
        let atom = |name: &str| Formula::Atom(Atom::Name(name.to_owned()));
        let both = |op, l, r| Formula::binary(op, l, r);
        let until = both(Binary::Until, atom("a"), atom("b"));
        let nested = both(Binary::Until, atom("c"), until.clone());
        assert_eq!(nested.to_string(), "c U (a U b)");
        let and = both(Binary::And, until, atom("c"));
        let or = both(Binary::Or, and.clone(), atom("d"));
        assert_eq!(or.to_string(), "a U b && c || d");
        let always = Formula::unary(Unary::Globally, or.negated());
        assert_eq!(always.to_string(), "G !(a U b && c || d)");
        assert_eq!(format!("{always:#}"), "[]!(a U b & c | d)");
        assert_eq!(
            both(Binary::And, and.clone(), and).to_string(),
            "(a U b && c) && (a U b && c)"
        );
        let braces = |name: &str| Atom::Expression(Exp::var(name)).to_string();
        assert_eq!(braces("x"), "{x}");
        assert_eq!(braces("{x>0}"), "\"{x>0}\"");
    }
}
