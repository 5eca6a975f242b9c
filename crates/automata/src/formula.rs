//! Formulas of linear temporal logic, hash-consed: equal formulas have equal ids.
//!
//! Syntax and meaning are Pnueli's (FOCS 1977), with the weak until `W` and strong release `M`
//! beside `U` and `R`; `droste_ltl::word` implements the meaning, without automata. Conjunction and
//! disjunction have any number of operands. These are sorted, none occurs twice, none is of the
//! same kind as its parent, and none is `true` or `false`. Operands have smaller ids than the
//! formulas they occur in. So a pass from the bottom to the top is a loop over ids, and nothing
//! here recurses: a formula may be nested as deep as memory allows.

use hashbrown::HashTable;
use rustc_hash::{FxHashMap, FxHashSet, FxHasher};
use std::hash::Hasher as _;

/// A formula; belongs to a [`Formulas`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FormulaId(pub u32);

/// An atom, by its place in the table of `droste_ltl::Atoms`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AtomId(pub u32);

/// What a formula is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Node<'a> {
    /// Always.
    True,
    /// Never.
    False,
    /// A proposition.
    Atom(AtomId),
    /// Negation.
    Not(FormulaId),
    /// All of these, at least two.
    And(&'a [FormulaId]),
    /// One of these, at least two.
    Or(&'a [FormulaId]),
    /// If the first then the second.
    Implies(FormulaId, FormulaId),
    /// Both or neither.
    Iff(FormulaId, FormulaId),
    /// One but not both.
    Xor(FormulaId, FormulaId),
    /// At the next position.
    Next(FormulaId),
    /// Now or later.
    Finally(FormulaId),
    /// Now and for ever.
    Globally(FormulaId),
    /// The second, now or later, and the first until then.
    Until(FormulaId, FormulaId),
    /// The second, up to and including the moment of the first, or for ever.
    Release(FormulaId, FormulaId),
    /// The first until the second, or for ever.
    WeakUntil(FormulaId, FormulaId),
    /// The second, up to and including the moment of the first, which comes.
    StrongRelease(FormulaId, FormulaId),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum Op {
    True,
    False,
    Atom,
    Not,
    And,
    Or,
    Implies,
    Iff,
    Xor,
    Next,
    Finally,
    Globally,
    Until,
    Release,
    WeakUntil,
    StrongRelease,
}

/// For `And` and `Or`, `a` and `b` are where the operands begin and end in the pool.
#[derive(Clone, Copy, Debug)]
struct Stored {
    op: Op,
    a: u32,
    b: u32,
}

/// A table of formulas.
#[derive(Clone, Debug)]
pub struct Formulas {
    nodes: Vec<Stored>,
    pool: Vec<FormulaId>,
    table: HashTable<u32>,
    /// The operands in the order in which they were written, where that is another one.
    written: FxHashMap<FormulaId, Box<[FormulaId]>>,
}

impl Default for Formulas {
    fn default() -> Self {
        Self::new()
    }
}

fn hash(op: Op, a: u32, b: u32, operands: &[FormulaId]) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write_u8(op as u8);
    if matches!(op, Op::And | Op::Or) {
        for operand in operands {
            hasher.write_u32(operand.0);
        }
    } else {
        hasher.write_u32(a);
        hasher.write_u32(b);
    }
    hasher.finish()
}

impl Formulas {
    /// `true`, in every table.
    pub const TRUE: FormulaId = FormulaId(0);
    /// `false`, in every table.
    pub const FALSE: FormulaId = FormulaId(1);

    /// Only the constants.
    pub fn new() -> Self {
        let mut formulas = Formulas {
            nodes: Vec::new(),
            pool: Vec::new(),
            table: HashTable::new(),
            written: FxHashMap::default(),
        };
        formulas.intern(Op::True, 0, 0);
        formulas.intern(Op::False, 0, 0);
        formulas
    }

    /// How many there are: ids are below.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Never: the constants are there from the start.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    fn operands(&self, stored: Stored) -> &[FormulaId] {
        &self.pool[stored.a as usize..stored.b as usize]
    }

    /// What a formula is made of.
    pub fn node(&self, id: FormulaId) -> Node<'_> {
        let stored = self.nodes[id.0 as usize];
        let (a, b) = (FormulaId(stored.a), FormulaId(stored.b));
        match stored.op {
            Op::True => Node::True,
            Op::False => Node::False,
            Op::Atom => Node::Atom(AtomId(stored.a)),
            Op::Not => Node::Not(a),
            Op::And => Node::And(self.operands(stored)),
            Op::Or => Node::Or(self.operands(stored)),
            Op::Implies => Node::Implies(a, b),
            Op::Iff => Node::Iff(a, b),
            Op::Xor => Node::Xor(a, b),
            Op::Next => Node::Next(a),
            Op::Finally => Node::Finally(a),
            Op::Globally => Node::Globally(a),
            Op::Until => Node::Until(a, b),
            Op::Release => Node::Release(a, b),
            Op::WeakUntil => Node::WeakUntil(a, b),
            Op::StrongRelease => Node::StrongRelease(a, b),
        }
    }

    /// The formulas directly below this one.
    pub fn children(&self, id: FormulaId, mut each: impl FnMut(FormulaId)) {
        match self.node(id) {
            Node::True | Node::False | Node::Atom(_) => {}
            Node::And(operands) | Node::Or(operands) => operands.iter().copied().for_each(each),
            Node::Not(a) | Node::Next(a) | Node::Finally(a) | Node::Globally(a) => each(a),
            Node::Implies(a, b)
            | Node::Iff(a, b)
            | Node::Xor(a, b)
            | Node::Until(a, b)
            | Node::Release(a, b)
            | Node::WeakUntil(a, b)
            | Node::StrongRelease(a, b) => {
                each(a);
                each(b);
            }
        }
    }

    /// The formula and those below it that are not `known` and not behind an `X`, operands first.
    pub fn read_now(&self, root: FormulaId, known: impl Fn(FormulaId) -> bool) -> Vec<FormulaId> {
        let mut needed = Vec::new();
        let mut stack = vec![root];
        let mut seen = FxHashSet::default();
        while let Some(id) = stack.pop() {
            if known(id) || !seen.insert(id) {
                continue;
            }
            needed.push(id);
            if !matches!(self.node(id), Node::Next(_)) {
                self.children(id, |child| stack.push(child));
            }
        }
        needed.sort_unstable();
        needed
    }

    /// This formula and all it is made of, each once, operands before operators.
    pub fn closure(&self, root: FormulaId) -> Vec<FormulaId> {
        let mut seen = vec![false; root.0 as usize + 1];
        let mut stack = vec![root];
        let mut found = Vec::new();
        seen[root.0 as usize] = true;
        while let Some(id) = stack.pop() {
            found.push(id);
            self.children(id, |child| {
                if !std::mem::replace(&mut seen[child.0 as usize], true) {
                    stack.push(child);
                }
            });
        }
        found.sort_unstable();
        found
    }

    /// The atoms that occur in a formula, in order.
    pub fn atoms(&self, root: FormulaId) -> Vec<AtomId> {
        let mut atoms: Vec<AtomId> = Vec::new();
        for id in self.closure(root) {
            if let Node::Atom(atom) = self.node(id) {
                atoms.push(atom);
            }
        }
        atoms.sort_unstable();
        atoms
    }

    fn intern(&mut self, op: Op, a: u32, b: u32) -> FormulaId {
        let key = hash(op, a, b, &[]);
        let nodes = &self.nodes;
        let found = self.table.find(key, |&id| {
            let stored = nodes[id as usize];
            stored.op == op && stored.a == a && stored.b == b
        });
        if let Some(&id) = found {
            return FormulaId(id);
        }
        self.push(key, Stored { op, a, b })
    }

    fn push(&mut self, key: u64, stored: Stored) -> FormulaId {
        let id = u32::try_from(self.nodes.len()).expect("fewer than 2^32 formulas");
        self.nodes.push(stored);
        let (nodes, pool) = (&self.nodes, &self.pool);
        self.table.insert_unique(key, id, |&other| {
            let stored = nodes[other as usize];
            let operands = match stored.op {
                Op::And | Op::Or => &pool[stored.a as usize..stored.b as usize],
                _ => &[],
            };
            hash(stored.op, stored.a, stored.b, operands)
        });
        FormulaId(id)
    }

    /// A proposition.
    pub fn atom(&mut self, atom: AtomId) -> FormulaId {
        self.intern(Op::Atom, atom.0, 0)
    }

    /// A constant.
    pub fn constant(value: bool) -> FormulaId {
        if value { Self::TRUE } else { Self::FALSE }
    }

    /// Negation, as it is written; constants and double negations disappear.
    pub fn not(&mut self, a: FormulaId) -> FormulaId {
        match self.node(a) {
            Node::True => Self::FALSE,
            Node::False => Self::TRUE,
            Node::Not(inner) => inner,
            _ => self.intern(Op::Not, a.0, 0),
        }
    }

    fn nary(&mut self, op: Op, operands: &[FormulaId]) -> FormulaId {
        let (neutral, dominant) = match op {
            Op::And => (Self::TRUE, Self::FALSE),
            _ => (Self::FALSE, Self::TRUE),
        };
        let mut flat = Vec::with_capacity(operands.len());
        for &operand in operands {
            let stored = self.nodes[operand.0 as usize];
            if stored.op == op {
                flat.extend_from_slice(self.operands(stored));
            } else if operand == dominant {
                return dominant;
            } else if operand != neutral {
                flat.push(operand);
            }
        }
        flat.sort_unstable();
        flat.dedup();
        match flat[..] {
            [] => return neutral,
            [only] => return only,
            _ => {}
        }
        let key = hash(op, 0, 0, &flat);
        let (nodes, pool) = (&self.nodes, &self.pool);
        let found = self.table.find(key, |&id| {
            let stored = nodes[id as usize];
            stored.op == op && pool[stored.a as usize..stored.b as usize] == flat[..]
        });
        if let Some(&id) = found {
            return FormulaId(id);
        }
        let a = u32::try_from(self.pool.len()).expect("fewer than 2^32 operands");
        self.pool.extend_from_slice(&flat);
        let b = u32::try_from(self.pool.len()).expect("fewer than 2^32 operands");
        self.push(key, Stored { op, a, b })
    }

    /// The conjunction of any number of formulas.
    pub fn and(&mut self, operands: impl IntoIterator<Item = FormulaId>) -> FormulaId {
        self.nary(Op::And, &operands.into_iter().collect::<Vec<_>>())
    }

    /// The disjunction of any number of formulas.
    pub fn or(&mut self, operands: impl IntoIterator<Item = FormulaId>) -> FormulaId {
        self.nary(Op::Or, &operands.into_iter().collect::<Vec<_>>())
    }

    /// A conjunction, or a disjunction, whose operands are shown in this order.
    pub fn as_written(&mut self, conjunction: bool, operands: &[FormulaId]) -> FormulaId {
        let op = if conjunction { Op::And } else { Op::Or };
        let known = self.nodes.len();
        let id = self.nary(op, operands);
        // An old one has been shown in another order before.
        if (id.0 as usize) < known {
            return id;
        }
        let mut order = Vec::with_capacity(operands.len());
        let mut seen = FxHashSet::default();
        for &operand in operands {
            let parts = match self.nodes[operand.0 as usize].op {
                own if own == op => self.shown(operand),
                _ => std::slice::from_ref(&operand),
            };
            for &part in parts {
                if part != Self::TRUE && part != Self::FALSE && seen.insert(part) {
                    order.push(part);
                }
            }
        }
        if !order.is_sorted() {
            self.written.insert(id, order.into());
        }
        id
    }

    /// The operands of a conjunction or disjunction, in the order in which they were written if
    /// that is known.
    pub fn shown(&self, id: FormulaId) -> &[FormulaId] {
        match self.written.get(&id) {
            Some(order) => order,
            None => self.operands(self.nodes[id.0 as usize]),
        }
    }

    /// `a -> b`.
    pub fn implies(&mut self, a: FormulaId, b: FormulaId) -> FormulaId {
        self.intern(Op::Implies, a.0, b.0)
    }

    /// `a <-> b`.
    pub fn iff(&mut self, a: FormulaId, b: FormulaId) -> FormulaId {
        self.intern(Op::Iff, a.0, b.0)
    }

    /// `a xor b`.
    pub fn xor(&mut self, a: FormulaId, b: FormulaId) -> FormulaId {
        self.intern(Op::Xor, a.0, b.0)
    }

    /// `X a`.
    pub fn next(&mut self, a: FormulaId) -> FormulaId {
        self.intern(Op::Next, a.0, 0)
    }

    /// `F a`.
    pub fn finally(&mut self, a: FormulaId) -> FormulaId {
        self.intern(Op::Finally, a.0, 0)
    }

    /// `G a`.
    pub fn globally(&mut self, a: FormulaId) -> FormulaId {
        self.intern(Op::Globally, a.0, 0)
    }

    /// `a U b`.
    pub fn until(&mut self, a: FormulaId, b: FormulaId) -> FormulaId {
        self.intern(Op::Until, a.0, b.0)
    }

    /// `a R b`.
    pub fn release(&mut self, a: FormulaId, b: FormulaId) -> FormulaId {
        self.intern(Op::Release, a.0, b.0)
    }

    /// `a W b`.
    pub fn weak_until(&mut self, a: FormulaId, b: FormulaId) -> FormulaId {
        self.intern(Op::WeakUntil, a.0, b.0)
    }

    /// `a M b`.
    pub fn strong_release(&mut self, a: FormulaId, b: FormulaId) -> FormulaId {
        self.intern(Op::StrongRelease, a.0, b.0)
    }

    /// The negation normal form of a formula, and of its negation: only atoms are negated, and
    /// `->`, `<->`, `xor` are gone.
    ///
    /// Both are made of the closure in one pass; each subformula occurs in both polarities at most
    /// once, so the result is linear in the number of distinct subformulas.
    pub fn negation_normal_forms(&mut self, root: FormulaId) -> (FormulaId, FormulaId) {
        let closure = self.closure(root);
        // Indexed by id: positive and negative form.
        let mut forms = vec![(Self::FALSE, Self::FALSE); root.0 as usize + 1];
        let mut buffer: Vec<FormulaId> = Vec::new();
        for &id in &closure {
            let form = |f: FormulaId| forms[f.0 as usize];
            let pair = match self.node(id) {
                Node::True => (Self::TRUE, Self::FALSE),
                Node::False => (Self::FALSE, Self::TRUE),
                Node::Atom(_) => (id, self.not(id)),
                Node::Not(a) => {
                    let (positive, negative) = form(a);
                    (negative, positive)
                }
                Node::And(operands) | Node::Or(operands) => {
                    buffer.clear();
                    buffer.extend_from_slice(operands);
                    let conjunction = self.nodes[id.0 as usize].op == Op::And;
                    let positive: Vec<_> = buffer.iter().map(|&f| form(f).0).collect();
                    let negative: Vec<_> = buffer.iter().map(|&f| form(f).1).collect();
                    if conjunction {
                        (self.and(positive), self.or(negative))
                    } else {
                        (self.or(positive), self.and(negative))
                    }
                }
                Node::Implies(a, b) => {
                    let (a, b) = (form(a), form(b));
                    (self.or([a.1, b.0]), self.and([a.0, b.1]))
                }
                Node::Iff(a, b) => {
                    let (a, b) = (form(a), form(b));
                    self.equivalence(a, b)
                }
                Node::Xor(a, b) => {
                    let (a, b) = (form(a), form(b));
                    let (same, different) = self.equivalence(a, b);
                    (different, same)
                }
                Node::Next(a) => {
                    let a = form(a);
                    (self.next(a.0), self.next(a.1))
                }
                Node::Finally(a) => {
                    let a = form(a);
                    (self.finally(a.0), self.globally(a.1))
                }
                Node::Globally(a) => {
                    let a = form(a);
                    (self.globally(a.0), self.finally(a.1))
                }
                Node::Until(a, b) => {
                    let (a, b) = (form(a), form(b));
                    (self.until(a.0, b.0), self.release(a.1, b.1))
                }
                Node::Release(a, b) => {
                    let (a, b) = (form(a), form(b));
                    (self.release(a.0, b.0), self.until(a.1, b.1))
                }
                Node::WeakUntil(a, b) => {
                    let (a, b) = (form(a), form(b));
                    (self.weak_until(a.0, b.0), self.strong_release(a.1, b.1))
                }
                Node::StrongRelease(a, b) => {
                    let (a, b) = (form(a), form(b));
                    (self.strong_release(a.0, b.0), self.weak_until(a.1, b.1))
                }
            };
            forms[id.0 as usize] = pair;
        }
        forms[root.0 as usize]
    }

    /// `a <-> b` and its negation, of formulas with their negations.
    fn equivalence(
        &mut self,
        a: (FormulaId, FormulaId),
        b: (FormulaId, FormulaId),
    ) -> (FormulaId, FormulaId) {
        let both = self.and([a.0, b.0]);
        let neither = self.and([a.1, b.1]);
        let first = self.and([a.0, b.1]);
        let second = self.and([a.1, b.0]);
        (self.or([both, neither]), self.or([first, second]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_formulas_have_equal_ids() {
        let mut f = Formulas::new();
        let (a, b, c) = (f.atom(AtomId(0)), f.atom(AtomId(1)), f.atom(AtomId(2)));
        let ab = f.and([a, b]);
        let left = f.and([ab, c]);
        let bc = f.and([c, b]);
        let right = f.and([a, bc, a]);
        assert_eq!(left, right);
        assert_eq!(f.and([a, Formulas::TRUE]), a);
        assert_eq!(f.or([a, Formulas::TRUE]), Formulas::TRUE);
        assert_eq!(f.and([]), Formulas::TRUE);
        let (not_a, not_b) = (f.not(a), f.not(b));
        let until = f.until(a, b);
        let negated = f.not(until);
        let release = f.release(not_a, not_b);
        assert_eq!(f.negation_normal_forms(negated), (release, until));
    }

    #[test]
    fn depth_is_no_trouble() {
        let mut f = Formulas::new();
        let a = f.atom(AtomId(0));
        let mut g = a;
        for _ in 0..100_000 {
            let x = f.iff(g, a);
            g = f.until(a, x);
        }
        let (p, n) = f.negation_normal_forms(g);
        assert_ne!(p, n);
        assert_eq!(f.atoms(p), [AtomId(0)]);
    }
}
