//! What the syntax of two formulas shows about one implying the other: the rules of Somenzi and
//! Bloem (CAV 2000), with those for eventual and universal formulas. What is not shown may still be
//! true. Results are kept; their number and the depth of one derivation are bounded.

use super::Work;
use droste_automata::formula::{FormulaId, Formulas, Node};

/// How deep one implication may depend on others.
const IMPLICATION_DEPTH: u32 = 24;
/// How many implications may be tried.
const IMPLICATIONS: u32 = 1_000_000;

impl Work<'_> {
    /// Whether the syntax shows that `f` implies `g`.
    pub(super) fn implies(&mut self, f: FormulaId, g: FormulaId) -> bool {
        self.implication(f, g, IMPLICATION_DEPTH)
    }

    fn implication(&mut self, f: FormulaId, g: FormulaId, depth: u32) -> bool {
        if f == g || f == Formulas::FALSE || g == Formulas::TRUE {
            return true;
        }
        let simple = |node: Node<'_>| {
            matches!(
                node,
                Node::True | Node::False | Node::Atom(_) | Node::Not(_)
            )
        };
        if depth == 0
            || self.own.tried >= IMPLICATIONS
            || (simple(self.formulas.node(f)) && simple(self.formulas.node(g)))
        {
            return false;
        }
        if let Some(&known) = self.own.implications.get(&(f, g)) {
            return known;
        }
        self.own.tried += 1;
        let result = self.implication_rules(f, g, depth - 1);
        self.own.implications.insert((f, g), result);
        result
    }

    fn implication_rules(&mut self, f: FormulaId, g: FormulaId, depth: u32) -> bool {
        let imp = |work: &mut Self, a, b| work.implication(a, b, depth);
        // By the operator of f.
        let (eventual, universal) = (self.traits(g).eventual(), self.traits(f).universal());
        let left = match self.formulas.node(f) {
            Node::Or(operands) => {
                let operands = operands.to_vec();
                return operands.into_iter().all(|a| imp(self, a, g));
            }
            Node::And(operands) => {
                let operands = operands.to_vec();
                operands.into_iter().any(|a| imp(self, a, g))
            }
            Node::Next(a) | Node::Finally(a) => eventual && imp(self, a, g),
            Node::Globally(a) => imp(self, a, g),
            Node::Until(a, b) => imp(self, b, g) && (eventual || imp(self, a, g)),
            Node::WeakUntil(a, b) => imp(self, a, g) && imp(self, b, g),
            Node::Release(_, b) => imp(self, b, g),
            Node::StrongRelease(a, b) => imp(self, b, g) || (eventual && imp(self, a, g)),
            _ => false,
        };
        if left {
            return true;
        }
        // By the operator of g.
        let right = match self.formulas.node(g) {
            Node::And(operands) => {
                let operands = operands.to_vec();
                return operands.into_iter().all(|b| imp(self, f, b));
            }
            Node::Or(operands) => {
                let operands = operands.to_vec();
                operands.into_iter().any(|b| imp(self, f, b))
            }
            Node::Next(b) | Node::Globally(b) => universal && imp(self, f, b),
            Node::Finally(b) | Node::Until(_, b) => imp(self, f, b),
            Node::WeakUntil(a, b) => imp(self, f, b) || (universal && imp(self, f, a)),
            Node::Release(a, b) => imp(self, f, b) && (universal || imp(self, f, a)),
            Node::StrongRelease(a, b) => imp(self, f, a) && imp(self, f, b),
            _ => false,
        };
        if right {
            return true;
        }
        // By both.
        match (self.formulas.node(f), self.formulas.node(g)) {
            (Node::Next(a), Node::Next(b)) => imp(self, a, b),
            (Node::Until(a, b), Node::Until(c, d) | Node::WeakUntil(c, d))
            | (Node::WeakUntil(a, b), Node::WeakUntil(c, d))
            | (Node::StrongRelease(a, b), Node::StrongRelease(c, d) | Node::Release(c, d))
            | (Node::Release(a, b), Node::Release(c, d)) => imp(self, a, c) && imp(self, b, d),
            (Node::StrongRelease(a, b), Node::Until(c, d) | Node::WeakUntil(c, d))
            | (Node::Release(a, b), Node::WeakUntil(c, d)) => {
                imp(self, b, c) && (imp(self, a, d) || imp(self, b, d))
            }
            (Node::Until(a, b), Node::StrongRelease(c, d) | Node::Release(c, d))
            | (Node::WeakUntil(a, b), Node::Release(c, d)) => {
                imp(self, a, d) && imp(self, b, c) && imp(self, b, d)
            }
            _ => false,
        }
    }
}
