//! Regular expressions over edges, shared and hash-consed (section 3.2 of the FWPDS paper).
//!
//! An expression is a node of a graph without cycles. Equal expressions are the same node, and the
//! expressions that a node is made of have smaller numbers.

use droste_base::interner::Interner;
use droste_base::{Guard, StopReason};
use rustc_hash::FxHashMap;

use crate::paths::iteration::Knot;
use crate::paths::{Algebra, Knots};

/// An expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ExprId(pub(crate) u32);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Node {
    /// No path.
    Empty,
    /// The path without edges.
    Epsilon,
    /// An edge with this label.
    Label(u32),
    /// Whatever the [definition](Expressions::definition) of a vertex says.
    Vertex(u32),
    Either(ExprId, ExprId),
    Then(ExprId, ExprId),
    Star(ExprId),
}

/// All expressions that have been made.
pub(crate) struct Expressions {
    nodes: Interner<Node>,
    defined: FxHashMap<u32, ExprId>,
}

impl Expressions {
    pub(crate) const EMPTY: ExprId = ExprId(0);
    pub(crate) const EPSILON: ExprId = ExprId(1);

    /// There is room for that many at first.
    pub(crate) fn with_room(count: usize) -> Result<Self, StopReason> {
        let mut nodes = Interner::with_capacity(count);
        nodes.intern(Node::Empty)?;
        nodes.intern(Node::Epsilon)?;
        Ok(Expressions {
            nodes,
            defined: FxHashMap::default(),
        })
    }

    fn make(&mut self, node: Node) -> Result<ExprId, StopReason> {
        Ok(ExprId(self.nodes.intern(node)?.0))
    }

    /// An edge.
    pub(crate) fn label(&mut self, label: u32) -> Result<ExprId, StopReason> {
        self.make(Node::Label(label))
    }

    /// What a vertex with a name is.
    pub(crate) fn definition(&self, vertex: u32) -> ExprId {
        (self.defined.get(&vertex).copied()).unwrap_or(Self::EMPTY)
    }

    pub(crate) fn len(&self) -> usize {
        self.nodes.len()
    }

    #[inline]
    pub(crate) fn get(&self, id: ExprId) -> Node {
        *self.nodes.get(id.0)
    }
}

impl Algebra for Expressions {
    type Path = ExprId;

    fn empty(&self) -> ExprId {
        Self::EMPTY
    }

    fn epsilon(&self) -> ExprId {
        Self::EPSILON
    }

    fn is_empty(&self, path: &ExprId) -> bool {
        *path == Self::EMPTY
    }

    fn either(&mut self, a: &ExprId, b: &ExprId) -> Result<ExprId, StopReason> {
        match (*a, *b) {
            (Self::EMPTY, other) | (other, Self::EMPTY) => Ok(other),
            (a, b) if a == b => Ok(a),
            (a, b) => self.make(Node::Either(a.min(b), a.max(b))),
        }
    }

    fn then(&mut self, a: &ExprId, b: &ExprId) -> Result<ExprId, StopReason> {
        match (*a, *b) {
            (Self::EMPTY, _) | (_, Self::EMPTY) => Ok(Self::EMPTY),
            (Self::EPSILON, other) | (other, Self::EPSILON) => Ok(other),
            (a, b) => self.make(Node::Then(a, b)),
        }
    }

    fn star(&mut self, a: &ExprId) -> Result<ExprId, StopReason> {
        match self.nodes.get(a.0) {
            Node::Empty | Node::Epsilon => Ok(Self::EPSILON),
            Node::Star(_) => Ok(*a),
            _ => self.make(Node::Star(*a)),
        }
    }

    fn knots(&self) -> Knots {
        Knots::Name
    }

    fn name(&mut self, vertex: u32) -> Result<ExprId, StopReason> {
        self.make(Node::Vertex(vertex))
    }

    fn define(&mut self, vertex: u32, path: ExprId) {
        self.defined.insert(vertex, path);
    }

    fn call(&self, _: u32, _: &ExprId) -> Result<ExprId, StopReason> {
        // A call is a label here.
        Ok(Self::EMPTY)
    }

    fn iterate(
        &mut self,
        _: &Knot<ExprId>,
        _: &mut [ExprId],
        _: usize,
        _: &mut Guard,
    ) -> Result<bool, StopReason> {
        // Names are given until nothing is left.
        Ok(true)
    }
}
