//! What the shape of a formula says about the set of words that satisfy it.
//!
//! A property is *eventual* if it holds now whenever it holds later, and *universal* if it holds
//! later whenever it holds now (Etessami and Holzmann, *Optimizing Büchi automata*, CONCUR 2000). A
//! property that is both does not depend on any prefix. The classes of the hierarchy of Manna and
//! Pnueli (PODC 1990) follow the grammars of Chang, Manna and Pnueli (ICALP 1992). All this is read
//! off the syntax: a formula may be in a class although its syntax does not show it.

use droste_automata::formula::{FormulaId, Formulas, Node};

/// What is known about a formula in negation normal form; one bit each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Traits(u8);

impl Traits {
    const EVENTUAL: u8 = 1;
    const UNIVERSAL: u8 = 2;
    const SAFETY: u8 = 4;
    const GUARANTEE: u8 = 8;
    const OBLIGATION: u8 = 16;
    const RECURRENCE: u8 = 32;
    const PERSISTENCE: u8 = 64;
    const CLASSES: u8 =
        Self::SAFETY | Self::GUARANTEE | Self::OBLIGATION | Self::RECURRENCE | Self::PERSISTENCE;

    fn has(self, bit: u8) -> bool {
        self.0 & bit != 0
    }

    pub(crate) fn eventual(self) -> bool {
        self.has(Self::EVENTUAL)
    }

    pub(crate) fn universal(self) -> bool {
        self.has(Self::UNIVERSAL)
    }

    /// Whether no prefix matters.
    pub(crate) fn suspendable(self) -> bool {
        self.eventual() && self.universal()
    }

    /// Whether it says only that something good happens.
    pub(crate) fn guarantee(self) -> bool {
        self.has(Self::GUARANTEE)
    }

    pub(crate) fn obligation(self) -> bool {
        self.has(Self::OBLIGATION)
    }
}

/// The classes of the hierarchy of temporal properties.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Something bad never happens.
    Safety,
    /// Something good happens.
    Guarantee,
    /// Boolean combinations of these.
    Obligation,
    /// Something good happens again and again.
    Recurrence,
    /// From some moment on nothing bad happens.
    Persistence,
    /// Anything: Boolean combinations of the last two.
    Reactivity,
}

impl Class {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Class::Safety => "safety",
            Class::Guarantee => "guarantee",
            Class::Obligation => "obligation",
            Class::Recurrence => "recurrence",
            Class::Persistence => "persistence",
            Class::Reactivity => "reactivity",
        }
    }
}

/// The least class that a formula in negation normal form is in by its syntax.
pub fn class(formulas: &Formulas, formula: FormulaId) -> Class {
    let mut table = Table::default();
    let traits = table.get(formulas, formula);
    for (bit, class) in [
        (Traits::SAFETY, Class::Safety),
        (Traits::GUARANTEE, Class::Guarantee),
        (Traits::OBLIGATION, Class::Obligation),
        (Traits::RECURRENCE, Class::Recurrence),
        (Traits::PERSISTENCE, Class::Persistence),
    ] {
        if traits.has(bit) {
            return class;
        }
    }
    Class::Reactivity
}

/// The traits of all formulas of a table, computed when they are asked for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Table(Vec<Traits>);

impl Table {
    pub(crate) fn get(&mut self, formulas: &Formulas, id: FormulaId) -> Traits {
        // Operands have smaller ids.
        for next in self.0.len()..=id.0 as usize {
            let traits = self.compute(formulas, FormulaId(next as u32));
            self.0.push(traits);
        }
        self.0[id.0 as usize]
    }

    fn compute(&self, formulas: &Formulas, id: FormulaId) -> Traits {
        use Traits as T;
        let of = |f: FormulaId| self.0[f.0 as usize];
        let both = T::EVENTUAL | T::UNIVERSAL;
        let mut traits = match formulas.node(id) {
            Node::True | Node::False => both | T::CLASSES,
            Node::Atom(_) | Node::Not(_) => T::CLASSES,
            Node::And(operands) | Node::Or(operands) => {
                operands.iter().fold(u8::MAX, |all, &f| all & of(f).0)
            }
            Node::Next(a) => of(a).0,
            Node::Finally(a) => {
                let a = of(a);
                T::EVENTUAL
                    | a.0 & (T::UNIVERSAL | T::GUARANTEE | T::PERSISTENCE)
                    | when(a.has(T::GUARANTEE), T::OBLIGATION | T::RECURRENCE)
            }
            Node::Globally(a) => {
                let a = of(a);
                T::UNIVERSAL
                    | a.0 & (T::EVENTUAL | T::SAFETY | T::RECURRENCE)
                    | when(a.has(T::SAFETY), T::OBLIGATION | T::PERSISTENCE)
            }
            Node::Until(a, b) => {
                let (a, b) = (of(a), of(b));
                a.0 & b.0 & (T::UNIVERSAL | T::GUARANTEE | T::PERSISTENCE)
                    | b.0 & T::EVENTUAL
                    | when(b.has(T::GUARANTEE), a.0 & (T::OBLIGATION | T::RECURRENCE))
            }
            Node::Release(a, b) => {
                let (a, b) = (of(a), of(b));
                a.0 & b.0 & (T::EVENTUAL | T::SAFETY | T::RECURRENCE)
                    | b.0 & T::UNIVERSAL
                    | when(b.has(T::SAFETY), a.0 & (T::OBLIGATION | T::PERSISTENCE))
            }
            Node::WeakUntil(a, b) => {
                let (a, b) = (of(a), of(b));
                a.0 & b.0 & (both | T::SAFETY | T::RECURRENCE)
                    | when(a.has(T::SAFETY), b.0 & (T::OBLIGATION | T::PERSISTENCE))
            }
            Node::StrongRelease(a, b) => {
                let (a, b) = (of(a), of(b));
                a.0 & b.0 & (both | T::GUARANTEE | T::PERSISTENCE)
                    | when(a.has(T::GUARANTEE), b.0 & (T::OBLIGATION | T::RECURRENCE))
            }
            // Not in negation normal form: nothing is known.
            Node::Implies(..) | Node::Iff(..) | Node::Xor(..) => 0,
        };
        if traits & (T::SAFETY | T::GUARANTEE) != 0 {
            traits |= T::OBLIGATION;
        }
        if traits & T::OBLIGATION != 0 {
            traits |= T::RECURRENCE | T::PERSISTENCE;
        }
        Traits(traits)
    }
}

fn when(condition: bool, bits: u8) -> u8 {
    if condition { bits } else { 0 }
}
