//! The rules for `F`, `U` and `W`, and under negation for `G`, `R` and `M`: those of Somenzi and
//! Bloem (CAV 2000), Etessami and Holzmann (CONCUR 2000) and Duret-Lutz (`VECoS` 2011). Equations
//! stand beside the code; all of them are tested on random words.

use super::Work;
use droste_automata::formula::{FormulaId, Formulas, Node};

impl Work<'_> {
    pub(super) fn finally_rules(&mut self, a: FormulaId) -> FormulaId {
        // F e = e.
        if self.traits(a).eventual() {
            return a;
        }
        match self.formulas.node(a) {
            // F X a = X F a.
            Node::Next(b) => {
                let inner = self.finally(b);
                self.next(inner)
            }
            // F (a U b) = F b.
            Node::Until(_, b) => self.finally(b),
            // F (a M b) = F (a & b).
            Node::StrongRelease(x, y) => {
                let inner = self.and(vec![x, y]);
                self.finally(inner)
            }
            // F (a W b) = F (G a | b).
            Node::WeakUntil(x, y) => {
                let always = self.globally(x);
                let inner = self.or(vec![always, y]);
                self.finally(inner)
            }
            // F (a R b) = F (G b | (a & b)).
            Node::Release(x, y) => {
                let always = self.globally(y);
                let now = self.and(vec![x, y]);
                let inner = self.or(vec![always, now]);
                self.finally(inner)
            }
            // F (e | a) = e | F a.
            Node::Or(operands) => {
                let operands = operands.to_vec();
                let (outside, inside): (Vec<_>, Vec<_>) = operands
                    .into_iter()
                    .partition(|&f| self.traits(f).eventual());
                let inner = self.formulas.or(inside);
                let inner = if outside.is_empty() {
                    self.formulas.finally(inner)
                } else {
                    self.finally(inner)
                };
                let mut list = outside;
                list.push(inner);
                self.formulas.or(list)
            }
            // F (s & a) = s & F a.
            Node::And(operands) => {
                let operands = operands.to_vec();
                let (outside, inside): (Vec<_>, Vec<_>) = operands
                    .into_iter()
                    .partition(|&f| self.traits(f).suspendable());
                let inner = self.formulas.and(inside);
                if outside.is_empty() {
                    return self.formulas.finally(inner);
                }
                let mut list = outside;
                list.push(self.finally(inner));
                self.and(list)
            }
            _ => self.formulas.finally(a),
        }
    }

    /// `a U b`, or `a W b` if `weak`.
    pub(super) fn until_rules(&mut self, a: FormulaId, b: FormulaId, weak: bool) -> FormulaId {
        if b == Formulas::TRUE || b == a || self.implies(a, b) {
            return b;
        }
        match (a, b) {
            (Formulas::FALSE, _) => return b,
            (Formulas::TRUE, _) => {
                return if weak {
                    Formulas::TRUE
                } else {
                    self.finally(b)
                };
            }
            (_, Formulas::FALSE) => {
                return if weak {
                    self.globally(a)
                } else {
                    Formulas::FALSE
                };
            }
            _ => {}
        }
        let not_a = self.negate(a);
        if self.implies(not_a, b) {
            // Where b does not hold, a does.
            return if weak {
                Formulas::TRUE
            } else {
                self.finally(b)
            };
        }
        if self.traits(b).eventual() {
            // a U e = e, a W e = G a | e.
            if !weak {
                return b;
            }
            let always = self.globally(a);
            return self.or(vec![always, b]);
        }
        if self.traits(a).universal() {
            // u W b = u | b, u U b = (u & F b) | b.
            if weak {
                return self.or(vec![a, b]);
            }
            let later = self.finally(b);
            let wait = self.and(vec![a, later]);
            return self.or(vec![wait, b]);
        }
        if let (Node::Next(x), Node::Next(y)) = (self.formulas.node(a), self.formulas.node(b)) {
            // X x U X y = X (x U y).
            let inner = if weak {
                self.weak_until(x, y)
            } else {
                self.until(x, y)
            };
            return self.next(inner);
        }
        if let Some(result) = self.until_right(a, b, weak) {
            return result;
        }
        if let Some(result) = self.until_left(a, b, weak) {
            return result;
        }
        if weak {
            self.formulas.weak_until(a, b)
        } else {
            self.formulas.until(a, b)
        }
    }

    /// Rules that look into the right side of `a U b` or `a W b`.
    fn until_right(&mut self, a: FormulaId, b: FormulaId, weak: bool) -> Option<FormulaId> {
        match self.formulas.node(b) {
            // a U (x U y) = x U y if a => x; the same for weak ones, and for what is released by
            // something.
            Node::Until(x, _) if !weak => self.implies(a, x).then_some(b),
            Node::StrongRelease(_, y) if !weak => self.implies(a, y).then_some(b),
            Node::WeakUntil(x, _) | Node::Globally(x) | Node::Release(_, x) => {
                self.implies(a, x).then_some(b)
            }
            // a W (a U y) = a W y.
            Node::Until(x, y) if a == x => Some(self.weak_until(x, y)),
            Node::And(operands) => {
                let operands = operands.to_vec();
                // a U (a & b) = b M a, a W (a & b) = b R a.
                if operands.contains(&a) {
                    let rest: Vec<_> = operands.into_iter().filter(|&f| f != a).collect();
                    let rest = self.formulas.and(rest);
                    return Some(if weak {
                        self.release(rest, a)
                    } else {
                        self.strong_release(rest, a)
                    });
                }
                if let Node::And(mine) = self.formulas.node(a) {
                    let mine = mine.to_vec();
                    if mine.iter().all(|f| operands.contains(f)) {
                        let rest: Vec<_> =
                            operands.into_iter().filter(|f| !mine.contains(f)).collect();
                        let rest = self.formulas.and(rest);
                        return Some(if weak {
                            self.release(rest, a)
                        } else {
                            self.strong_release(rest, a)
                        });
                    }
                }
                // a U (b & s) = (a U b) & s.
                let (outside, inside): (Vec<_>, Vec<_>) = operands
                    .into_iter()
                    .partition(|&f| self.traits(f).suspendable());
                if outside.is_empty() || weak {
                    return None;
                }
                let inner = self.formulas.and(inside);
                let mut list = outside;
                list.push(self.until(a, inner));
                Some(self.and(list))
            }
            Node::Or(operands) => {
                let operands = operands.to_vec();
                // a U (b | G a) = a W b.
                let always = self.formulas.globally(a);
                if operands.contains(&always) {
                    let rest: Vec<_> = operands.into_iter().filter(|&f| f != always).collect();
                    let rest = self.formulas.or(rest);
                    return Some(self.weak_until(a, rest));
                }
                // a U (b | e) = (a U b) | e, the same for W.
                let (outside, inside): (Vec<_>, Vec<_>) = operands
                    .into_iter()
                    .partition(|&f| self.traits(f).eventual());
                if outside.is_empty() {
                    return None;
                }
                let inner = self.formulas.or(inside);
                let until = if weak {
                    self.weak_until(a, inner)
                } else {
                    self.until(a, inner)
                };
                let mut list = outside;
                list.push(until);
                Some(self.or(list))
            }
            _ => None,
        }
    }

    /// Rules that look into the left side of `a U b` or `a W b`.
    fn until_left(&mut self, a: FormulaId, b: FormulaId, weak: bool) -> Option<FormulaId> {
        match self.formulas.node(a) {
            // (x U y) U b = (x U y) | b if y => b; the same with W twice.
            Node::Until(_, y) => self.implies(y, b).then(|| self.or(vec![a, b])),
            Node::WeakUntil(_, y) if weak => self.implies(y, b).then(|| self.or(vec![a, b])),
            // What implies b is not needed before b: (x | y) U b = y U b if x => b.
            Node::Or(operands) => {
                let operands = operands.to_vec();
                let kept: Vec<_> = operands
                    .iter()
                    .copied()
                    .filter(|&f| !self.implies(f, b))
                    .collect();
                if kept.len() == operands.len() {
                    return None;
                }
                let a = self.formulas.or(kept);
                Some(self.until_or_weak(a, b, weak))
            }
            // What holds wherever b does not need not be asked for: (x & y) U b = y U b if !x => b.
            Node::And(operands) => {
                let operands = operands.to_vec();
                let mut kept = Vec::new();
                for &f in &operands {
                    let not = self.negate(f);
                    if !self.implies(not, b) {
                        kept.push(f);
                    }
                }
                if kept.len() == operands.len() {
                    return None;
                }
                let a = self.formulas.and(kept);
                Some(self.until_or_weak(a, b, weak))
            }
            _ => None,
        }
    }

    fn until_or_weak(&mut self, a: FormulaId, b: FormulaId, weak: bool) -> FormulaId {
        if weak {
            self.weak_until(a, b)
        } else {
            self.until(a, b)
        }
    }
}
