//! Formulas made simpler before they are translated.
//!
//! The rules are those of Somenzi and Bloem (*Efficient Büchi automata from LTL formulae*, CAV
//! 2000), of Etessami and Holzmann (*Optimizing Büchi automata*, CONCUR 2000) for eventual and
//! universal formulas, and of Babiak, Křetínský, Řehák and Strejček (*LTL to Büchi automata
//! translation: fast and more deterministic*, TACAS 2012). The list in Duret-Lutz, *LTL translation
//! improvements in Spot* (`VECoS` 2011), was the guide. Everything is in negation normal form.
//! Rules are written for `|`, `F`, `U` and `W`. Those for `&`, `G`, `R` and `M` are the same rules
//! under negation; negations are remembered.
//!
//! This file applies the rules. The rules themselves are in `temporal` (`F`, `U` and `W`) and
//! `boolean` (`|`); `implication` says which formula implies which.
//!
//! A rule may call another. The depth of such calls is bounded, and beyond it the formula is left
//! as it is. The number of implications that are tried is bounded, too. Random formulas are
//! compared before and after on random words.

mod boolean;
mod implication;
mod temporal;

use droste_base::{Guard, Limits, StopReason};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::classes::{Table, Traits};
use droste_automata::formula::{FormulaId, Formulas, Node};

/// How deep rules may call rules.
const DEPTH: u32 = 40;
/// How often the whole formula is gone over.
const ROUNDS: usize = 8;

/// Simplifies formulas of one table, and remembers what it learns about them.
#[derive(Debug, Default)]
pub struct Simplifier {
    traits: Table,
    negations: FxHashMap<FormulaId, FormulaId>,
    implications: FxHashMap<(FormulaId, FormulaId), bool>,
    tried: u32,
    depth: u32,
}

/// The simplified negation normal form of any formula.
pub fn simplify(formulas: &mut Formulas, formula: FormulaId) -> FormulaId {
    let (positive, _) = formulas.negation_normal_forms(formula);
    let simpler =
        Simplifier::default().simplify(formulas, positive, &mut Limits::default().guard());
    simpler.unwrap_or(positive)
}

impl Simplifier {
    /// A simpler equivalent of a formula in negation normal form.
    pub fn simplify(
        &mut self,
        formulas: &mut Formulas,
        formula: FormulaId,
        guard: &mut Guard,
    ) -> Result<FormulaId, StopReason> {
        let mut root = formula;
        let mut work = Work {
            own: self,
            formulas,
        };
        for _ in 0..ROUNDS {
            let next = work.round(root, guard)?;
            if next == root {
                break;
            }
            root = next;
        }
        Ok(root)
    }

    pub(crate) fn traits(&mut self, formulas: &Formulas, formula: FormulaId) -> Traits {
        self.traits.get(formulas, formula)
    }
}

struct Work<'a> {
    own: &'a mut Simplifier,
    formulas: &'a mut Formulas,
}

impl Work<'_> {
    fn traits(&mut self, f: FormulaId) -> Traits {
        self.own.traits.get(self.formulas, f)
    }

    /// The negation in negation normal form.
    fn negate(&mut self, root: FormulaId) -> FormulaId {
        if let Some(&known) = self.own.negations.get(&root) {
            return known;
        }
        let mut needed = Vec::new();
        let mut stack = vec![root];
        let mut seen = FxHashSet::default();
        while let Some(id) = stack.pop() {
            if self.own.negations.contains_key(&id) || !seen.insert(id) {
                continue;
            }
            needed.push(id);
            self.formulas.children(id, |child| stack.push(child));
        }
        needed.sort_unstable();
        for id in needed {
            let known = &self.own.negations;
            let not = |f: &FormulaId| known[f];
            let f = &mut *self.formulas;
            let negation = match f.node(id) {
                Node::And(operands) => {
                    let list: Vec<_> = operands.iter().map(not).collect();
                    f.or(list)
                }
                Node::Or(operands) => {
                    let list: Vec<_> = operands.iter().map(not).collect();
                    f.and(list)
                }
                Node::Next(a) => f.next(not(&a)),
                Node::Finally(a) => f.globally(not(&a)),
                Node::Globally(a) => f.finally(not(&a)),
                Node::Until(a, b) => f.release(not(&a), not(&b)),
                Node::Release(a, b) => f.until(not(&a), not(&b)),
                Node::WeakUntil(a, b) => f.strong_release(not(&a), not(&b)),
                Node::StrongRelease(a, b) => f.weak_until(not(&a), not(&b)),
                _ => f.not(id),
            };
            self.own.negations.insert(id, negation);
            self.own.negations.insert(negation, id);
        }
        self.own.negations[&root]
    }

    /// Rebuilds a formula from the bottom up, by the rules.
    fn round(&mut self, root: FormulaId, guard: &mut Guard) -> Result<FormulaId, StopReason> {
        let closure = self.formulas.closure(root);
        let mut new = vec![Formulas::FALSE; root.0 as usize + 1];
        for id in closure {
            guard.check()?;
            let of = |f: &FormulaId| new[f.0 as usize];
            let simpler = match self.formulas.node(id) {
                Node::And(operands) => {
                    let list: Vec<_> = operands.iter().map(of).collect();
                    self.and(list)
                }
                Node::Or(operands) => {
                    let list: Vec<_> = operands.iter().map(of).collect();
                    self.or(list)
                }
                Node::Next(a) => self.next(of(&a)),
                Node::Finally(a) => self.finally(of(&a)),
                Node::Globally(a) => self.globally(of(&a)),
                Node::Until(a, b) => self.until(of(&a), of(&b)),
                Node::Release(a, b) => self.release(of(&a), of(&b)),
                Node::WeakUntil(a, b) => self.weak_until(of(&a), of(&b)),
                Node::StrongRelease(a, b) => self.strong_release(of(&a), of(&b)),
                _ => id,
            };
            new[id.0 as usize] = simpler;
        }
        Ok(new[root.0 as usize])
    }

    /// Runs a rule, or `plain` if rules are nested too deep.
    fn nested(
        &mut self,
        rule: impl FnOnce(&mut Self) -> FormulaId,
        plain: impl FnOnce(&mut Formulas) -> FormulaId,
    ) -> FormulaId {
        if self.own.depth >= DEPTH {
            return plain(self.formulas);
        }
        self.own.depth += 1;
        let result = rule(self);
        self.own.depth -= 1;
        result
    }

    fn or(&mut self, list: Vec<FormulaId>) -> FormulaId {
        let copy = list.clone();
        self.nested(|work| work.or_rules(list), |f| f.or(copy))
    }

    fn and(&mut self, list: Vec<FormulaId>) -> FormulaId {
        let copy = list.clone();
        self.nested(
            |work| {
                let negated: Vec<_> = list.into_iter().map(|f| work.negate(f)).collect();
                let result = work.or_rules(negated);
                work.negate(result)
            },
            |f| f.and(copy),
        )
    }

    fn finally(&mut self, a: FormulaId) -> FormulaId {
        self.nested(|work| work.finally_rules(a), |f| f.finally(a))
    }

    fn globally(&mut self, a: FormulaId) -> FormulaId {
        self.nested(
            |work| {
                let not = work.negate(a);
                let result = work.finally_rules(not);
                work.negate(result)
            },
            |f| f.globally(a),
        )
    }

    fn until(&mut self, a: FormulaId, b: FormulaId) -> FormulaId {
        self.nested(|work| work.until_rules(a, b, false), |f| f.until(a, b))
    }

    fn weak_until(&mut self, a: FormulaId, b: FormulaId) -> FormulaId {
        self.nested(|work| work.until_rules(a, b, true), |f| f.weak_until(a, b))
    }

    fn release(&mut self, a: FormulaId, b: FormulaId) -> FormulaId {
        self.nested(
            |work| {
                let (not_a, not_b) = (work.negate(a), work.negate(b));
                let result = work.until_rules(not_a, not_b, false);
                work.negate(result)
            },
            |f| f.release(a, b),
        )
    }

    fn strong_release(&mut self, a: FormulaId, b: FormulaId) -> FormulaId {
        self.nested(
            |work| {
                let (not_a, not_b) = (work.negate(a), work.negate(b));
                let result = work.until_rules(not_a, not_b, true);
                work.negate(result)
            },
            |f| f.strong_release(a, b),
        )
    }

    fn next(&mut self, a: FormulaId) -> FormulaId {
        // No prefix matters to it: X a = a.
        if self.traits(a).suspendable() {
            return a;
        }
        let (operands, conjunction) = match self.formulas.node(a) {
            Node::And(operands) => (operands.to_vec(), true),
            Node::Or(operands) => (operands.to_vec(), false),
            _ => return self.formulas.next(a),
        };
        // X (s & a) = s & X a, X (s | a) = s | X a.
        let (outside, inside): (Vec<_>, Vec<_>) = operands
            .into_iter()
            .partition(|&f| self.traits(f).suspendable());
        if outside.is_empty() {
            return self.formulas.next(a);
        }
        let mut list = outside;
        if conjunction {
            let inner = self.formulas.and(inside);
            list.push(self.formulas.next(inner));
            self.formulas.and(list)
        } else {
            let inner = self.formulas.or(inside);
            list.push(self.formulas.next(inner));
            self.formulas.or(list)
        }
    }
}
