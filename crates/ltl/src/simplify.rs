//! Formulas made simpler before they are translated.
//!
//! The rules are those of Somenzi and Bloem (*Efficient Büchi automata from LTL formulae*, CAV 2000), of Etessami and Holzmann
//! (*Optimizing Büchi automata*, CONCUR 2000) for eventual and universal formulas, and of Babiak, Křetínský, Řehák and Strejček
//! (*LTL to Büchi automata translation: fast and more deterministic*, TACAS 2012); the list in Duret-Lutz, *LTL
//! translation improvements in Spot* (`VECoS` 2011), was the guide. Everything is in negation normal form. Rules are written
//! for `|`, `F`, `U` and `W`; those for `&`, `G`, `R` and `M` are the same ones under negation, which is remembered.
//!
//! A rule may call another; the depth of such calls is bounded, and beyond it the formula is left as it is. So is the number of
//! implications that are tried. Random formulas are compared before and after on random words.

use droste_base::{Guard, Limits, StopReason};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::classes::{Table, Traits};
use crate::formula::{FormulaId, Formulas, Node};

/// How deep rules may call rules.
const DEPTH: u32 = 40;
/// How deep one implication may depend on others.
const IMPLICATION_DEPTH: u32 = 24;
/// How many implications may be tried.
const IMPLICATIONS: u32 = 1_000_000;
/// Of longer conjunctions and disjunctions not every two operands are compared.
const OPERANDS: usize = 40;
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

    fn finally_rules(&mut self, a: FormulaId) -> FormulaId {
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
    fn until_rules(&mut self, a: FormulaId, b: FormulaId, weak: bool) -> FormulaId {
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
            // a U (x U y) = x U y if a => x; the same for weak ones, and for what is released by something.
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

    fn or_rules(&mut self, list: Vec<FormulaId>) -> FormulaId {
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
        // G a | F (!a & e) = a W (!a & e): if e holds at some moment, it does at all before, so the first !a will do.
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

    /// Whether the syntax shows that `f` implies `g`.
    fn implies(&mut self, f: FormulaId, g: FormulaId) -> bool {
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
