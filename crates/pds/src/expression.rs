//! Regular expressions over edges, shared and hash-consed, and their weights (section 3.2 of the
//! FWPDS paper).
//!
//! An expression is a node of a graph without cycles: equal expressions are the same node. The
//! weight of a node is kept. When leaves have changed, only what is above them is computed again
//! (Fig. 7): a node remembers when its weight changed last, and when it was last known to be up to
//! date.

use droste_base::interner::Interner;
use droste_base::{Guard, StopReason};

use crate::domain::Domain;

/// An expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ExprId(u32);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Node {
    /// No path.
    Empty,
    /// The path without edges.
    Epsilon,
    /// An edge with this label.
    Label(u32),
    Either(ExprId, ExprId),
    Then(ExprId, ExprId),
    Star(ExprId),
}

/// All expressions that have been made.
pub(crate) struct Expressions {
    nodes: Interner<Node>,
}

impl Expressions {
    pub(crate) const EMPTY: ExprId = ExprId(0);
    pub(crate) const EPSILON: ExprId = ExprId(1);

    pub(crate) fn new() -> Result<Self, StopReason> {
        let mut nodes = Interner::new();
        nodes.intern(Node::Empty)?;
        nodes.intern(Node::Epsilon)?;
        Ok(Expressions { nodes })
    }

    fn make(&mut self, node: Node) -> Result<ExprId, StopReason> {
        Ok(ExprId(self.nodes.intern(node)?.0))
    }

    pub(crate) fn label(&mut self, label: u32) -> Result<ExprId, StopReason> {
        self.make(Node::Label(label))
    }

    pub(crate) fn either(&mut self, a: ExprId, b: ExprId) -> Result<ExprId, StopReason> {
        match (a, b) {
            (Self::EMPTY, other) | (other, Self::EMPTY) => Ok(other),
            (a, b) if a == b => Ok(a),
            (a, b) => self.make(Node::Either(a.min(b), a.max(b))),
        }
    }

    pub(crate) fn then(&mut self, a: ExprId, b: ExprId) -> Result<ExprId, StopReason> {
        match (a, b) {
            (Self::EMPTY, _) | (_, Self::EMPTY) => Ok(Self::EMPTY),
            (Self::EPSILON, other) | (other, Self::EPSILON) => Ok(other),
            (a, b) => self.make(Node::Then(a, b)),
        }
    }

    pub(crate) fn star(&mut self, a: ExprId) -> Result<ExprId, StopReason> {
        match self.nodes.get(a.0) {
            Node::Empty | Node::Epsilon => Ok(Self::EPSILON),
            Node::Star(_) => Ok(a),
            _ => self.make(Node::Star(a)),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// The labels in an expression.
    pub(crate) fn labels(&self, root: ExprId, seen: &mut Vec<u32>, mark: u32) -> Vec<u32> {
        seen.resize(self.nodes.len(), 0);
        let (mut labels, mut stack) = (Vec::new(), vec![root]);
        while let Some(at) = stack.pop() {
            if std::mem::replace(&mut seen[at.0 as usize], mark) == mark {
                continue;
            }
            match *self.nodes.get(at.0) {
                Node::Label(label) => labels.push(label),
                Node::Either(a, b) | Node::Then(a, b) => stack.extend([a, b]),
                Node::Star(a) => stack.push(a),
                Node::Empty | Node::Epsilon => {}
            }
        }
        labels
    }
}

/// On which side a path's next edge is multiplied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// pre*: the edges of a path are read from its end.
    Left,
    /// post*.
    Right,
}

/// The weights of expressions.
pub(crate) struct Evaluation<'a, D: Domain> {
    domain: &'a D,
    side: Side,
    weights: Vec<Option<D::Weight>>,
    /// When the weight changed last.
    changed: Vec<u32>,
    /// When it was last known to be right.
    seen: Vec<u32>,
    /// Grows whenever a leaf changes.
    now: u32,
}

impl<'a, D: Domain> Evaluation<'a, D> {
    pub(crate) fn new(domain: &'a D, side: Side, expressions: &Expressions) -> Self {
        let count = expressions.len();
        Evaluation {
            domain,
            side,
            weights: vec![None; count],
            changed: vec![0; count],
            seen: vec![0; count],
            now: 1,
        }
    }

    /// A leaf has changed: what was known before is looked at again.
    pub(crate) fn leaf_changed(&mut self) {
        self.now += 1;
    }

    /// The weight of an expression, with these weights of labels. `fresh` says whether a label's
    /// weight has changed since the given time.
    pub(crate) fn weight(
        &mut self,
        expressions: &Expressions,
        root: ExprId,
        label: &dyn Fn(u32) -> Result<D::Weight, StopReason>,
        changed: &dyn Fn(u32) -> u32,
        guard: &mut Guard,
    ) -> Result<D::Weight, StopReason> {
        let mut stack = vec![(root, false)];
        while let Some((at, children_done)) = stack.pop() {
            guard.check()?;
            let place = at.0 as usize;
            if self.seen[place] == self.now {
                continue;
            }
            let node = *expressions.nodes.get(at.0);
            if !children_done {
                stack.push((at, true));
                match node {
                    Node::Either(a, b) | Node::Then(a, b) => stack.extend([(a, false), (b, false)]),
                    Node::Star(a) => stack.push((a, false)),
                    Node::Empty | Node::Epsilon | Node::Label(_) => {}
                }
                continue;
            }
            self.renew(at, node, label, changed)?;
        }
        Ok(self.get(root))
    }

    fn get(&self, at: ExprId) -> D::Weight {
        let weight = self.weights[at.0 as usize].clone();
        weight.unwrap_or_else(|| self.domain.zero())
    }

    /// Computes a node's weight again if what is below it has changed.
    fn renew(
        &mut self,
        at: ExprId,
        node: Node,
        label: &dyn Fn(u32) -> Result<D::Weight, StopReason>,
        changed: &dyn Fn(u32) -> u32,
    ) -> Result<(), StopReason> {
        let place = at.0 as usize;
        let seen = std::mem::replace(&mut self.seen[place], self.now);
        let when = |id: ExprId| self.changed[id.0 as usize];
        let latest = match node {
            Node::Empty | Node::Epsilon => 0,
            Node::Label(label) => changed(label),
            Node::Either(a, b) | Node::Then(a, b) => when(a).max(when(b)),
            Node::Star(a) => when(a),
        };
        if self.weights[place].is_some() && latest <= seen {
            return Ok(());
        }
        let domain = self.domain;
        let weight = match node {
            Node::Empty => domain.zero(),
            Node::Epsilon => domain.one(),
            Node::Label(number) => label(number)?,
            Node::Either(a, b) => domain.combine(&self.get(a), &self.get(b))?,
            Node::Then(a, b) => match self.side {
                Side::Left => domain.extend(&self.get(b), &self.get(a))?,
                Side::Right => domain.extend(&self.get(a), &self.get(b))?,
            },
            Node::Star(a) => domain.star(&self.get(a))?,
        };
        let old = &mut self.weights[place];
        if !old.as_ref().is_some_and(|old| domain.equal(old, &weight)) {
            *old = Some(weight);
            self.changed[place] = self.now;
        }
        Ok(())
    }

    pub(crate) fn now(&self) -> u32 {
        self.now
    }
}
