//! pre* and post* by path expressions (section 3.2 of the FWPDS paper).
//!
//! Transitions are the vertices of a graph, the transition dependence graph. A step of a rule is an
//! edge that multiplies. A call is an edge whose label has the weight of another transition in it,
//! the callee's summary: an *out-node*. The graph is made and solved piece by piece, callees first,
//! and a piece is one procedure or several that call each other. Where a callee's summary is zero,
//! what is behind its calls is not looked at, and neither are procedures that are not entered.
//!
//! If the summaries that a piece uses are known, [its weights](crate::weighing) are computed at once
//! by elimination. If it uses its own, its out-nodes get [expressions](crate::expression), which are
//! [evaluated](crate::evaluate) until nothing changes.
//!
//! Where the weight of one transition is asked for, the others are lazy: only out-nodes, and what they
//! are made of, are evaluated, and backwards only in procedures that the question leads to.

mod backwards;
mod forwards;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use droste_base::{Guard, StopReason};

use crate::automaton::{Automaton, Transition};
use crate::domain::Domain;
use crate::domains::Boolean;
use crate::evaluate::{Meaning, evaluate};
use crate::expression::Expressions;
use crate::paths::{Edge, paths_from_source};
use crate::pre::called;
use crate::procedures::Procedures;
use crate::saturate::{Goal, HeadNames, NONE, Options, Order, Table};
use crate::system::{Pds, StateId, SymbolId};
use crate::weighing::{Path, Side, Weights};

pub(crate) use backwards::{backwards, prestar};
pub(crate) use forwards::{forwards, poststar};

/// What an edge of the graph multiplies with.
#[derive(Clone, Debug)]
enum Label<'a, W> {
    Known(Path<'a, W>),
    /// A call by a rule, or, with [`NONE`], a callee that has returned: with the callee's transition,
    /// an out-node of the same piece.
    Inside(u32, u32),
}

/// A part of the graph that is solved at once.
struct Piece<'a, W> {
    /// Of the call graph.
    part: u32,
    /// Its transitions. They are the vertices from 1 on; vertex 0 is the source.
    members: Vec<u32>,
    edges: Vec<Edge<Label<'a, W>>>,
    /// Whether it uses its own out-nodes.
    is_recursive: bool,
    /// Members whose rules have not been applied yet.
    work: Vec<u32>,
}

impl<W> Piece<'_, W> {
    fn new(part: u32) -> Self {
        Piece {
            part,
            members: Vec::new(),
            edges: Vec::new(),
            is_recursive: false,
            work: Vec::new(),
        }
    }
}

/// The transitions and what is known of their weights.
pub(crate) struct Solution<'a, D: Domain> {
    domain: &'a D,
    one: &'a D::Weight,
    pds: &'a Pds<D::Weight>,
    parts: &'a Procedures,
    side: Side,
    table: Table<'a, Boolean>,
    /// For each transition its weight, if it has been evaluated.
    values: Vec<Option<Path<'a, D::Weight>>>,
    /// For each transition its vertex in its piece.
    place: Vec<u32>,
    /// Whether only out-nodes are evaluated.
    lazy: bool,
    /// The transition that is asked for.
    goal: Option<Transition>,
    /// See [`Options::found`].
    found: Option<Arc<AtomicU64>>,
}

impl<'a, D: Domain> Solution<'a, D> {
    fn new(
        (domain, one): (&'a D, &'a D::Weight),
        (pds, skeleton): (&'a Pds<D::Weight>, &'a Pds<bool>),
        names: HeadNames<'a>,
        side: Side,
        (options, goal): (&Options, Option<Transition>),
    ) -> Self {
        let shape = Options {
            order: Order::LastIn,
            witness: false,
            ..options.clone()
        };
        Solution {
            domain,
            one,
            pds,
            parts: pds.all_procedures(),
            side,
            table: Table::new(&Boolean, names, Vec::new(), skeleton, (&shape, Goal(None))),
            values: Vec::new(),
            place: Vec::new(),
            lazy: goal.is_some(),
            goal,
            found: options.found.clone(),
        }
    }

    /// The part of the call graph that a symbol is in.
    fn part(&self, symbol: SymbolId) -> u32 {
        self.parts.part(self.parts.of(symbol.0))
    }

    /// The number of a transition, which may be new, and whether it is. Then it belongs to the piece.
    fn vertex(
        &mut self,
        piece: &mut Piece<'a, D::Weight>,
        head: u32,
        to: StateId,
    ) -> Result<(u32, bool), StopReason> {
        let (id, fresh) = self.table.intern(head, to)?;
        if fresh {
            self.values.push(None);
            piece.members.push(id);
            self.place.push(piece.members.len() as u32);
            // Backwards, rules may wait behind any transition.
            if self.side == Side::Left || head < self.pds.heads().len() {
                piece.work.push(id);
            }
        }
        Ok((id, fresh))
    }

    /// The weight of a rule.
    fn rule(&self, rule: u32) -> Label<'a, D::Weight> {
        Label::Known(Path::given(self.domain, self.one, self.pds.weight(rule)))
    }

    /// What a call weighs, or with [`NONE`] a callee that has returned, by the callee's transition.
    fn call(&self, rule: u32, out: u32) -> Result<Label<'a, D::Weight>, StopReason> {
        match &self.values[out as usize] {
            None => Ok(Label::Inside(rule, out)),
            Some(Path::Zero) => Ok(Label::Known(Path::Zero)),
            Some(path) if rule == NONE => Ok(Label::Known(path.clone())),
            Some(path) => {
                let weight = self.weigh(rule, out, path.weight().unwrap_or(self.one))?;
                Ok(Label::Known(Path::made(self.domain, weight)))
            }
        }
    }

    /// The same, where the callee has this weight.
    fn weigh(&self, rule: u32, out: u32, weight: &D::Weight) -> Result<D::Weight, StopReason> {
        if rule == NONE {
            return Ok(weight.clone());
        }
        match self.side {
            Side::Left => called(self.domain, self.pds, rule, weight, self.table.get(out).to),
            // Only what merge functions do is a label of its own.
            Side::Right => match self.pds.rules()[rule as usize].merge {
                Some(merge) => self.domain.merge(merge, self.one, weight),
                None => self.domain.extend(self.pds.weight(rule), weight),
            },
        }
    }

    /// An edge from a member of the piece, or from the source, to a transition that may be new.
    /// An edge that weighs nothing is none. The transition, and whether it is new.
    fn link(
        &mut self,
        piece: &mut Piece<'a, D::Weight>,
        from: Option<u32>,
        (head, to): (u32, StateId),
        label: Label<'a, D::Weight>,
    ) -> Result<Option<(u32, bool)>, StopReason> {
        if matches!(label, Label::Known(Path::Zero)) {
            return Ok(None);
        }
        piece.is_recursive |= matches!(label, Label::Inside(..));
        let (id, fresh) = self.vertex(piece, head, to)?;
        piece.edges.push(Edge {
            from: from.map_or(0, |from| self.place[from as usize]),
            to: self.place[id as usize],
            path: label,
        });
        Ok(Some((id, fresh)))
    }

    /// Evaluates the transitions of a piece: all, or those that are `wanted`.
    fn solve(
        &mut self,
        piece: Piece<'a, D::Weight>,
        guard: &mut Guard,
        wanted: impl Fn(&Self, u32) -> bool,
    ) -> Result<(), StopReason> {
        if let Some(found) = &self.found {
            found.fetch_max(self.table.len() as u64, Ordering::Relaxed);
        }
        let vertices = piece.members.len() as u32 + 1;
        let wanted: Option<Vec<bool>> = self.lazy.then(|| {
            let members = piece.members.iter().map(|&id| wanted(self, id));
            std::iter::once(false).chain(members).collect()
        });
        let values = if piece.is_recursive {
            self.by_expressions(&piece, wanted.as_deref(), guard)?
        } else {
            let known = piece.edges.into_iter().filter_map(|edge| match edge.path {
                Label::Known(path) => Some(Edge {
                    from: edge.from,
                    to: edge.to,
                    path,
                }),
                Label::Inside(..) => None,
            });
            let edges: Vec<Edge<Path<'a, D::Weight>>> = known.collect();
            let mut weights = Weights::new(self.domain, self.one, self.side);
            paths_from_source(vertices, &edges, wanted.as_deref(), &mut weights, guard)?
        };
        for (place, value) in values.into_iter().enumerate().skip(1) {
            if wanted.as_ref().is_none_or(|wanted| wanted[place]) {
                self.values[piece.members[place - 1] as usize] = Some(value);
            }
        }
        Ok(())
    }

    /// The weights of the vertices of a piece that uses its own out-nodes.
    fn by_expressions(
        &self,
        piece: &Piece<'a, D::Weight>,
        wanted: Option<&[bool]>,
        guard: &mut Guard,
    ) -> Result<Vec<Path<'a, D::Weight>>, StopReason> {
        let mut expressions = Expressions::new()?;
        let mut edges = Vec::with_capacity(piece.edges.len());
        for (number, edge) in (0..).zip(&piece.edges) {
            edges.push(Edge {
                from: edge.from,
                to: edge.to,
                path: match edge.path {
                    Label::Known(Path::One) => Expressions::EPSILON,
                    _ => expressions.label(number)?,
                },
            });
        }
        let vertices = piece.members.len() as u32 + 1;
        let paths = paths_from_source(vertices, &edges, wanted, &mut expressions, guard)?;
        let meaning = Meaning {
            fixed: |label: u32| match &piece.edges[label as usize].path {
                Label::Known(path) => Some(path.weight().unwrap_or(self.one)),
                Label::Inside(..) => None,
            },
            inside: |label: u32| match piece.edges[label as usize].path {
                Label::Known(_) => None,
                Label::Inside(_, out) => Some(paths[self.place[out as usize] as usize]),
            },
            weigh: |label: u32, weight: &D::Weight| match piece.edges[label as usize].path {
                Label::Known(_) => Ok(weight.clone()),
                Label::Inside(rule, out) => self.weigh(rule, out, weight),
            },
        };
        let is_wanted = |place: usize| wanted.is_none_or(|wanted| wanted[place]);
        let roots: Vec<_> = (paths.iter().enumerate())
            .map(|(place, path)| {
                if is_wanted(place) {
                    *path
                } else {
                    Expressions::EMPTY
                }
            })
            .collect();
        let found = evaluate(
            self.domain,
            self.side,
            &expressions,
            &roots,
            &meaning,
            guard,
        )?;
        let made = found
            .into_iter()
            .map(|weight| Path::made(self.domain, weight));
        Ok(made.collect())
    }

    /// Puts the weights on the transitions that are wanted.
    fn automaton(
        self,
        mut automaton: Automaton<D::Weight>,
        states: u32,
        wanted: impl Fn(Transition) -> bool,
    ) -> Automaton<D::Weight> {
        while automaton.states() < states {
            automaton.state();
        }
        let (domain, table) = (self.domain, &self.table);
        automaton.fill(
            (table.names().zip(self.values)).filter_map(|(transition, value)| {
                let value = value.filter(|value| !matches!(value, Path::Zero))?;
                wanted(transition).then(|| (transition, value.into_weight(domain)))
            }),
        );
        automaton
    }

    /// The weight of the transition that was asked for, and how many transitions there are.
    fn answer(self) -> (D::Weight, usize) {
        let id = self.goal.and_then(|goal| self.table.id(goal));
        let value = id.and_then(|id| self.values[id as usize].clone());
        let weight = value.unwrap_or(Path::Zero).into_weight(self.domain);
        (weight, self.table.len())
    }
}
