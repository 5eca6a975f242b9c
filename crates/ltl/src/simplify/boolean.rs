//! The rules for disjunctions, and under negation for conjunctions: operands that say nothing new
//! go, and those that have an operator in common are joined, as in Babiak, Křetínský, Řehák and
//! Strejček (TACAS 2012) and Duret-Lutz (`VECoS` 2011).

use super::Work;
use droste_automata::formula::{FormulaId, Formulas, Node};

/// In longer conjunctions and disjunctions not every two operands are compared.
const OPERANDS: usize = 40;

impl Work<'_> {
    pub(super) fn or_rules(&mut self, list: Vec<FormulaId>) -> FormulaId {
        let flat = self.formulas.or(list);
        let mut list = match self.formulas.node(flat) {
            Node::Or(operands) => operands.to_vec(),
            _ => return flat,
        };
        for &f in &list {
            let not = self.negate(f);
            if list.binary_search(&not).is_ok() {
                return Formulas::TRUE;
            }
        }
        if self.absorb_or(&mut list) {
            return Formulas::TRUE;
        }
        self.shorten(&mut list);
        self.join(&mut list);
        self.formulas.or(list)
    }

    /// Drops what implies something else; whether two operands make everything true.
    fn absorb_or(&mut self, list: &mut Vec<FormulaId>) -> bool {
        if list.len() > OPERANDS {
            return false;
        }
        let mut i = 0;
        while i < list.len() {
            let f = list[i];
            let not = self.negate(f);
            let mut absorbed = false;
            for &g in list.iter() {
                if g == f {
                    continue;
                }
                if self.implies(not, g) {
                    return true;
                }
                if self.implies(f, g) {
                    absorbed = true;
                    break;
                }
            }
            if absorbed {
                list.remove(i);
            } else {
                i += 1;
            }
        }
        false
    }

    /// `p | (q & r) = p | r` if `!q => p`.
    fn shorten(&mut self, list: &mut [FormulaId]) {
        if list.len() > OPERANDS {
            return;
        }
        for i in 0..list.len() {
            let Node::And(operands) = self.formulas.node(list[i]) else {
                continue;
            };
            let operands = operands.to_vec();
            if operands.len() > OPERANDS {
                continue;
            }
            let mut kept = Vec::new();
            for &q in &operands {
                let not = self.negate(q);
                let needed = (0..list.len()).all(|j| j == i || !self.implies(not, list[j]));
                if needed {
                    kept.push(q);
                }
            }
            if kept.len() < operands.len() {
                list[i] = self.formulas.and(kept);
            }
        }
    }

    /// Joins operands of a disjunction that have an operator in common.
    fn join(&mut self, list: &mut Vec<FormulaId>) {
        let mut finally = Vec::new();
        let mut recurring = Vec::new();
        let mut next = Vec::new();
        // Until and weak until by their left side, release and strong release by their right side.
        let mut untils: Vec<(FormulaId, Vec<FormulaId>, bool)> = Vec::new();
        let mut releases: Vec<(FormulaId, Vec<FormulaId>, bool)> = Vec::new();
        let mut rest = Vec::new();
        let add =
            |groups: &mut Vec<(FormulaId, Vec<FormulaId>, bool)>, key, member, weak| match groups
                .iter_mut()
                .find(|(k, ..)| *k == key)
            {
                Some((_, members, any)) => {
                    members.push(member);
                    *any |= weak;
                }
                None => groups.push((key, vec![member], weak)),
            };
        for &f in list.iter() {
            match self.formulas.node(f) {
                Node::Finally(a) => finally.push(a),
                Node::Next(a) => next.push(a),
                Node::Globally(a) => match self.formulas.node(a) {
                    Node::Finally(b) => recurring.push(b),
                    _ => rest.push(f),
                },
                Node::Until(a, b) => add(&mut untils, a, b, false),
                Node::WeakUntil(a, b) => add(&mut untils, a, b, true),
                Node::Release(a, b) => add(&mut releases, b, a, true),
                Node::StrongRelease(a, b) => add(&mut releases, b, a, false),
                _ => rest.push(f),
            }
        }
        // G a | (a U b) = a W b, G b | (a M b) = a R b.
        rest.retain(|&f| {
            let Node::Globally(a) = self.formulas.node(f) else {
                return true;
            };
            for groups in [&mut untils, &mut releases] {
                if let Some((.., weak)) = groups.iter_mut().find(|(k, ..)| *k == a) {
                    *weak = true;
                    return false;
                }
            }
            true
        });
        // G a | F (!a & e) = a W (!a & e): if e holds at some moment, it does at all before, so the
        // first !a will do.
        for f in &mut rest {
            let Node::Globally(a) = self.formulas.node(*f) else {
                continue;
            };
            let not = self.negate(a);
            let Some(place) = finally.iter().position(|&b| self.begins_with(b, not)) else {
                continue;
            };
            *f = self.formulas.weak_until(a, finally[place]);
            finally.remove(place);
        }
        // a | X F a = F a.
        let mut i = 0;
        while i < next.len() {
            if let Node::Finally(a) = self.formulas.node(next[i]) {
                let parts: Vec<FormulaId> = match self.formulas.node(a) {
                    Node::Or(operands) => operands.to_vec(),
                    _ => vec![a],
                };
                if parts.iter().all(|f| rest.contains(f)) {
                    rest.retain(|f| !parts.contains(f));
                    finally.push(a);
                    next.remove(i);
                    continue;
                }
            }
            i += 1;
        }
        list.clear();
        list.append(&mut rest);
        if !finally.is_empty() {
            let several = finally.len() > 1;
            let inner = self.formulas.or(finally);
            list.push(if several {
                self.finally(inner)
            } else {
                self.formulas.finally(inner)
            });
        }
        if !recurring.is_empty() {
            let inner = self.formulas.or(recurring);
            let later = self.formulas.finally(inner);
            list.push(self.formulas.globally(later));
        }
        if !next.is_empty() {
            let several = next.len() > 1;
            let inner = if several { self.or(next) } else { next[0] };
            list.push(if several {
                self.next(inner)
            } else {
                self.formulas.next(inner)
            });
        }
        for (a, members, weak) in untils {
            let several = members.len() > 1;
            let b = if several {
                self.or(members)
            } else {
                members[0]
            };
            list.push(match (weak, several) {
                (true, true) => self.weak_until(a, b),
                (false, true) => self.until(a, b),
                (true, false) => self.formulas.weak_until(a, b),
                (false, false) => self.formulas.until(a, b),
            });
        }
        for (b, members, weak) in releases {
            let several = members.len() > 1;
            let a = if several {
                self.or(members)
            } else {
                members[0]
            };
            list.push(match (weak, several) {
                (true, true) => self.release(a, b),
                (false, true) => self.strong_release(a, b),
                (true, false) => self.formulas.release(a, b),
                (false, false) => self.formulas.strong_release(a, b),
            });
        }
    }

    /// Whether `f` is a conjunction of `first` and eventual formulas.
    fn begins_with(&mut self, f: FormulaId, first: FormulaId) -> bool {
        let (operands, parts) = match (self.formulas.node(f), self.formulas.node(first)) {
            (Node::And(operands), Node::And(parts)) => (operands.to_vec(), parts.to_vec()),
            (Node::And(operands), _) => (operands.to_vec(), vec![first]),
            _ => return false,
        };
        parts.iter().all(|part| operands.contains(part))
            && operands
                .iter()
                .all(|&g| parts.contains(&g) || self.traits(g).eventual())
    }
}
