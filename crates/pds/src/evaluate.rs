//! The weights of path expressions (section 3.2 of the FWPDS paper).
//!
//! An expression depends on the expressions it is made of, and a label that stands for a callee depends on
//! the callee's expression. The strongly connected components of this dependence are taken one after the
//! other, so most expressions are evaluated once. The others, where procedures call each other, are
//! evaluated until nothing changes: when a weight has changed, only what is above it in the graph is
//! evaluated again (Fig. 7).

use droste_automata::components::components;
use droste_base::{Guard, StopReason};

use crate::domain::Domain;
use crate::expression::{ExprId, Expressions, Node};
use crate::paths::Sorted;
use crate::saturate::NONE;
use crate::weighing::Side;
use crate::worklist::Bits;

/// What labels mean.
pub(crate) struct Meaning<F, I, W> {
    /// The weight of a label that is always the same.
    pub(crate) fixed: F,
    /// The expression of another vertex whose weight is in that of a label.
    pub(crate) inside: I,
    /// The weight of such a label, given that of the other vertex.
    pub(crate) weigh: W,
}

/// The weights of expressions that have been evaluated: each is evaluated once, whoever asks.
pub(crate) struct Known<W> {
    weights: Vec<Option<W>>,
    /// For each node its place among those that are evaluated now, or [`NONE`].
    place: Vec<u32>,
}

impl<W> Known<W> {
    pub(crate) fn new() -> Self {
        Known {
            weights: Vec::new(),
            place: Vec::new(),
        }
    }

    /// The weight of an expression; `None` if it has not been evaluated.
    pub(crate) fn get(&self, id: ExprId) -> Option<&W> {
        self.weights.get(id.0 as usize)?.as_ref()
    }
}

/// Evaluates some expressions and what they are made of, where that is not known.
pub(crate) fn evaluate<'w, D, F, I, W>(
    domain: &D,
    side: Side,
    expressions: &Expressions,
    roots: &[ExprId],
    labels: &'w Meaning<F, I, W>,
    known: &mut Known<D::Weight>,
    guard: &mut Guard,
) -> Result<(), StopReason>
where
    D: Domain,
    D::Weight: 'w,
    F: Fn(u32) -> Option<&'w D::Weight>,
    I: Fn(u32) -> Option<ExprId>,
    W: Fn(u32, &D::Weight) -> Result<D::Weight, StopReason>,
{
    let below = |node: u32| match expressions.get(ExprId(node)) {
        Node::Either(a, b) | Node::Then(a, b) => [Some(a), Some(b)],
        Node::Star(a) => [Some(a), None],
        Node::Label(label) => [(labels.inside)(label), None],
        Node::Vertex(vertex) => [Some(expressions.definition(vertex)), None],
        Node::Empty | Node::Epsilon => [None, None],
    };
    known.weights.resize(expressions.len(), None);
    known.place.resize(expressions.len(), NONE);
    // The nodes to be evaluated.
    let mut nodes: Vec<u32> = Vec::new();
    let mut work: Vec<u32> = roots.iter().map(|root| root.0).collect();
    while let Some(node) = work.pop() {
        let place = &mut known.place[node as usize];
        if *place == NONE && known.weights[node as usize].is_none() {
            *place = 0;
            nodes.push(node);
            // A label that never changes is taken from where it is.
            let is_fixed = |id: &ExprId| match expressions.get(*id) {
                Node::Label(label) => (labels.fixed)(label).is_some(),
                _ => false,
            };
            let made_of = below(node).into_iter().flatten();
            work.extend(made_of.filter(|id| !is_fixed(id)).map(|id| id.0));
        }
    }
    // What is below has smaller numbers.
    nodes.sort_unstable();
    for (at, &node) in (0..).zip(&nodes) {
        known.place[node as usize] = at;
    }
    let mut all = Evaluation {
        domain,
        side,
        expressions,
        labels,
        zero: domain.zero(),
        weights: &mut known.weights,
    };
    let place = &known.place;
    let done = all.nodes(&nodes, place, below, guard);
    for node in nodes {
        if done.is_err() {
            // Not all of it is known.
            known.weights[node as usize] = None;
        }
        known.place[node as usize] = NONE;
    }
    done
}

struct Evaluation<'w, 'a, D: Domain, F, I, W> {
    domain: &'a D,
    side: Side,
    expressions: &'a Expressions,
    labels: &'w Meaning<F, I, W>,
    zero: D::Weight,
    weights: &'a mut Vec<Option<D::Weight>>,
}

impl<'w, D, F, I, W> Evaluation<'w, '_, D, F, I, W>
where
    D: Domain,
    D::Weight: 'w,
    F: Fn(u32) -> Option<&'w D::Weight>,
    I: Fn(u32) -> Option<ExprId>,
    W: Fn(u32, &D::Weight) -> Result<D::Weight, StopReason>,
{
    /// Evaluates nodes along the strongly connected components of what they are made of.
    fn nodes(
        &mut self,
        nodes: &[u32],
        place: &[u32],
        below: impl Fn(u32) -> [Option<ExprId>; 2],
        guard: &mut Guard,
    ) -> Result<(), StopReason> {
        let below = |at: u32| {
            let ids = below(nodes[at as usize]).into_iter().flatten();
            let places = ids.map(|id| place[id.0 as usize]);
            // Others are known.
            places.filter(|&at| at != NONE)
        };
        let found = components(
            nodes.len(),
            0..nodes.len() as u32,
            |at, out: &mut Vec<(u32, ())>| out.extend(below(at).map(|at| (at, ()))),
        );
        let parts = Sorted::new(found.count, found.of.iter().copied());
        // For each node of the part at hand, its place there.
        let mut inner = vec![0u32; nodes.len()];
        for part in 0..found.count {
            guard.check()?;
            let members = parts.of(part);
            let [only] = *members else {
                for (at, &node) in (0..).zip(members) {
                    inner[node as usize] = at;
                }
                let inside = |at: u32| below(at).filter(|&at| found.of[at as usize] == part);
                let uses: Vec<(u32, u32)> = (0..)
                    .zip(members)
                    .flat_map(|(at, &node)| inside(node).map(move |used| (used, at)))
                    .map(|(used, at)| (inner[used as usize], at))
                    .collect();
                let members: Vec<u32> = members.iter().map(|&at| nodes[at as usize]).collect();
                self.repeat(&members, &uses, guard)?;
                continue;
            };
            // A vertex that is its own callee, and nothing else, has no path.
            let only = nodes[only as usize];
            self.weights[only as usize] = Some(self.weight(ExprId(only))?);
        }
        Ok(())
    }

    /// What is known of a node's weight.
    fn get(&self, id: ExprId) -> &D::Weight {
        self.weights[id.0 as usize].as_ref().unwrap_or(&self.zero)
    }

    /// The same; the weight of a label that never changes is where it was.
    fn part(&self, id: ExprId) -> &D::Weight {
        if let Node::Label(label) = self.expressions.get(id)
            && let Some(fixed) = (self.labels.fixed)(label)
        {
            return fixed;
        }
        self.get(id)
    }

    /// The weight of a node, by those of what it is made of.
    fn weight(&self, id: ExprId) -> Result<D::Weight, StopReason> {
        let domain = self.domain;
        match self.expressions.get(id) {
            Node::Empty => Ok(domain.zero()),
            Node::Epsilon => Ok(domain.one()),
            Node::Label(label) => {
                if let Some(fixed) = (self.labels.fixed)(label) {
                    return Ok(fixed.clone());
                }
                match (self.labels.inside)(label).map(|inside| self.part(inside)) {
                    Some(inside) if !domain.is_zero(inside) => (self.labels.weigh)(label, inside),
                    _ => Ok(domain.zero()),
                }
            }
            Node::Vertex(vertex) => {
                let definition = self.expressions.definition(vertex);
                Ok(self.part(definition).clone())
            }
            Node::Either(a, b) => domain.combine(self.part(a), self.part(b)),
            Node::Then(a, b) => {
                let (a, b) = (self.part(a), self.part(b));
                if domain.is_zero(a) || domain.is_zero(b) {
                    return Ok(domain.zero());
                }
                match self.side {
                    Side::Left => domain.extend(b, a),
                    Side::Right => domain.extend(a, b),
                }
            }
            Node::Star(a) => domain.star(self.part(a)),
        }
    }

    /// Evaluates nodes that depend on each other. `uses` says, by their places among the members,
    /// who is used by whom.
    fn repeat(
        &mut self,
        members: &[u32],
        uses: &[(u32, u32)],
        guard: &mut Guard,
    ) -> Result<(), StopReason> {
        let users = Sorted::new(members.len() as u32, uses.iter().map(|&(used, _)| used));
        let is_label = |&&node: &&u32| {
            let node = self.expressions.get(ExprId(node));
            matches!(node, Node::Label(_) | Node::Vertex(_))
        };
        let labels = members.iter().filter(is_label).count();
        let bottom = self.domain.bottom();
        let mut changed = Bits::new(members.len());
        (0..members.len()).for_each(|at| changed.set(at));
        let (mut from, mut round) = (0, 0);
        // Round by round, what is below first: nodes are made of others with smaller numbers.
        while let Some(at) = changed.next(from).or_else(|| changed.first()) {
            guard.check()?;
            if at < from {
                round += 1;
            }
            from = at + 1;
            changed.clear(at);
            let id = ExprId(members[at]);
            let mut weight = self.weight(id)?;
            if let (Some(known), Some(bottom)) = (&self.weights[id.0 as usize], &bottom) {
                // What falls for ever stays where it was put.
                weight = self.domain.combine(known, &weight)?;
                let falls = !self.domain.equal(known, &weight);
                if falls && round > labels + 1 && is_label(&&id.0) {
                    // A callee's weight that still falls after so many rounds has itself below it,
                    // with a larger weight: it falls for ever.
                    weight = bottom.clone();
                }
            }
            let known = &mut self.weights[id.0 as usize];
            let same = known
                .as_ref()
                .is_some_and(|known| self.domain.equal(known, &weight));
            let stays = same || (known.is_none() && self.domain.is_zero(&weight));
            if !same {
                *known = Some(weight);
            }
            if !stays {
                for &number in users.of(at as u32) {
                    changed.set(uses[number as usize].1 as usize);
                }
            }
        }
        Ok(())
    }
}
