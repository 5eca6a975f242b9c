//! pre* and post* by path expressions (section 3.2 of the FWPDS paper).
//!
//! Transitions are the vertices of a graph, the transition dependence graph. A step of a rule is an
//! edge that multiplies. A call is an edge whose label has the weight of another transition in it,
//! the callee's summary; that transition is an *out-node*. The graph is made and solved piece by piece,
//! callees first; a piece is one procedure, or several that call each other. Only procedures that are
//! entered are looked at, and a caller goes on behind a call only if the callee's summary is not zero.
//!
//! [The weights](crate::weighing) of a piece are computed at once, one strongly connected part after the
//! other. Where a piece uses its own out-nodes, they are in the part that uses them, and are iterated
//! there. Only where weights may fall for ever would that not end. Then out-nodes get
//! [expressions](crate::expression), which are [evaluated](crate::evaluate) until nothing changes.
//!
//! Other weights can be [lazy](LazyAutomaton): out-nodes, and what they are made of, are evaluated at once,
//! any other weight when somebody asks for it. If a pre* is asked for the weight of one transition alone,
//! only procedures that the question leads to are looked at.

mod backwards;
mod forwards;
mod lazy;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use droste_base::{Guard, StopReason};

use crate::automaton::{Automaton, Transition};
use crate::domain::Domain;
use crate::domains::Boolean;
use crate::evaluate::{Known, Meaning, evaluate};
use crate::expression::{ExprId, Expressions};
use crate::paths::{Call, Edge, paths_from_source};
use crate::pre::called;
use crate::procedures::Procedures;
use crate::saturate::{Goal, HeadNames, NONE, Options, Order, Table};
use crate::system::{Pds, StateId, SymbolId};
use crate::weighing::{Path, Side, Weights};

pub(crate) use backwards::{backwards, prestar};
pub(crate) use forwards::{forwards, poststar};
pub use lazy::{LazyAutomaton, poststar_lazy, prestar_lazy};

/// About how many expressions there are for each edge of a piece.
const ROOM: usize = 4;

/// Which weights are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wanted {
    All,
    /// Those that somebody will ask for.
    Later,
    /// One.
    Only(Transition),
}

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

/// The transitions and what is known of their weights. `'s` is for what is needed on the way only.
pub(crate) struct Solution<'a, 's, D: Domain> {
    domain: &'a D,
    one: D::Weight,
    pds: &'a Pds<D::Weight>,
    parts: &'a Procedures,
    side: Side,
    table: Table<'s, Boolean>,
    /// For each transition its weight, if it has been evaluated.
    values: Vec<Option<Path<'a, D::Weight>>>,
    /// For each transition its vertex in its piece.
    place: Vec<u32>,
    wanted: Wanted,
    /// See [`Options::rounds`].
    rounds: Option<u32>,
    /// The pieces with weights that are wanted later.
    kept: Vec<Piece<'a, D::Weight>>,
    /// See [`Options::found`].
    found: Option<Arc<AtomicU64>>,
}

impl<'a, 's, D: Domain> Solution<'a, 's, D> {
    fn new(
        domain: &'a D,
        (pds, skeleton): (&'a Pds<D::Weight>, &'s Pds<bool>),
        names: HeadNames<'s>,
        side: Side,
        (options, wanted): (&Options, Wanted),
    ) -> Self {
        let shape = Options {
            order: Order::LastIn,
            witness: false,
            ..options.clone()
        };
        Solution {
            domain,
            one: domain.one(),
            pds,
            parts: pds.all_procedures(),
            side,
            table: Table::new(&Boolean, names, Vec::new(), skeleton, (&shape, Goal(None))),
            values: Vec::new(),
            place: Vec::new(),
            wanted,
            rounds: options.rounds,
            kept: Vec::new(),
            found: options.found.clone(),
        }
    }

    /// The transition that is asked for, if it is only one.
    fn goal(&self) -> Option<Transition> {
        match self.wanted {
            Wanted::Only(goal) => Some(goal),
            Wanted::All | Wanted::Later => None,
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
        Label::Known(Path::given(self.domain, &self.one, self.pds.weight(rule)))
    }

    /// What a call weighs, or with [`NONE`] a callee that has returned, by the callee's transition.
    fn call(&self, rule: u32, out: u32) -> Result<Label<'a, D::Weight>, StopReason> {
        match &self.values[out as usize] {
            None => Ok(Label::Inside(rule, out)),
            Some(path) => {
                let ends = self.table.get(out).to;
                Ok(Label::Known(self.calls().path((rule, ends), path)?))
            }
        }
    }

    fn calls(&self) -> CallWeights<'_, D> {
        CallWeights {
            domain: self.domain,
            pds: self.pds,
            one: &self.one,
            side: self.side,
        }
    }

    /// An edge from a member of the piece, or from the source, to a transition that may be new.
    /// An edge with the weight zero is left out. Gives the transition, and whether it is new.
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

    /// Evaluates the transitions of a piece: all, or those that are `wanted` now.
    fn solve(
        &mut self,
        piece: Piece<'a, D::Weight>,
        guard: &mut Guard,
        wanted: impl Fn(&Self, u32) -> bool,
    ) -> Result<(), StopReason> {
        if let Some(found) = &self.found {
            found.fetch_max(self.table.len() as u64, Ordering::Relaxed);
        }
        let wanted: Option<Vec<bool>> = (self.wanted != Wanted::All).then(|| {
            let members = piece.members.iter().map(|&id| wanted(self, id));
            std::iter::once(false).chain(members).collect()
        });
        // Where weights may fall for ever, iterating might not end.
        let values = if piece.is_recursive && self.domain.bottom().is_some() {
            self.by_expressions(&piece, wanted.as_deref(), guard)?
        } else {
            self.at_once(&piece, wanted.as_deref(), guard)?
        };
        let mut all = true;
        for (&id, value) in piece.members.iter().zip(values.into_iter().skip(1)) {
            let known = &mut self.values[id as usize];
            if known.is_none() {
                *known = value;
            }
            all &= known.is_some();
        }
        if self.wanted == Wanted::Later && !all {
            self.kept.push(piece);
        }
        Ok(())
    }

    /// The weights of the vertices of a piece, computed by elimination. Where it uses its own
    /// out-nodes, what is left is iterated.
    fn at_once(
        &self,
        piece: &Piece<'a, D::Weight>,
        wanted: Option<&[bool]>,
        guard: &mut Guard,
    ) -> Result<Vec<Option<Path<'a, D::Weight>>>, StopReason> {
        let (mut edges, mut calls, mut labels) = (Vec::new(), Vec::new(), Vec::new());
        for &Edge { from, to, ref path } in &piece.edges {
            match path {
                Label::Known(path) => edges.push(Edge {
                    from,
                    to,
                    path: path.clone(),
                }),
                Label::Inside(rule, out) => {
                    calls.push(Call {
                        from,
                        to,
                        out: self.place[*out as usize],
                        number: labels.len() as u32,
                    });
                    labels.push((*rule, self.table.get(*out).to));
                }
            }
        }
        let vertices = piece.members.len() as u32 + 1;
        let of_calls = self.calls();
        let call =
            |number: u32, out: &Path<'a, D::Weight>| of_calls.path(labels[number as usize], out);
        let weights = Weights::new(self.domain, &self.one, self.side, self.rounds);
        let mut weights = weights.with_calls(&call);
        paths_from_source(vertices, (&edges, &calls), wanted, &mut weights, guard)
    }

    /// The same by expressions, for weights that may fall for ever.
    fn by_expressions(
        &self,
        piece: &Piece<'a, D::Weight>,
        wanted: Option<&[bool]>,
        guard: &mut Guard,
    ) -> Result<Vec<Option<Path<'a, D::Weight>>>, StopReason> {
        let mut expressions = Expressions::with_room(ROOM * piece.edges.len())?;
        let edges = labelled(&mut expressions, &piece.edges, |label| match label {
            Label::Known(path) => Some(path),
            Label::Inside(..) => None,
        })?;
        let vertices = piece.members.len() as u32 + 1;
        let paths = paths_from_source(vertices, (&edges, &[]), wanted, &mut expressions, guard)?;
        let path = |place: usize| paths[place].unwrap_or(Expressions::EMPTY);
        let meaning = Meaning {
            fixed: |label: u32| match &piece.edges[label as usize].path {
                Label::Known(path) => Some(path.weight().unwrap_or(&self.one)),
                Label::Inside(..) => None,
            },
            inside: |label: u32| match piece.edges[label as usize].path {
                Label::Known(_) => None,
                Label::Inside(_, out) => Some(path(self.place[out as usize] as usize)),
            },
            weigh: |label: u32, weight: &D::Weight| match piece.edges[label as usize].path {
                Label::Known(_) => Ok(weight.clone()),
                Label::Inside(rule, out) => {
                    let ends = self.table.get(out).to;
                    self.calls().weight((rule, ends), weight)
                }
            },
        };
        let is_wanted = |place: usize| wanted.is_none_or(|wanted| wanted[place]);
        let places = 0..vertices as usize;
        let roots = places.clone().filter(|&place| is_wanted(place)).map(path);
        let roots: Vec<_> = roots.collect();
        let mut known = Known::new();
        evaluate(
            self.domain,
            self.side,
            &expressions,
            &roots,
            &meaning,
            &mut known,
            guard,
        )?;
        let value = |place: usize| {
            let weight = known.get(path(place))?;
            Some(Path::made(self.domain, weight.clone()))
        };
        Ok(places
            .map(|place| value(place).filter(|_| is_wanted(place)))
            .collect())
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
        let (domain, one, table) = (self.domain, &self.one, &self.table);
        automaton.fill(
            (table.names().zip(self.values)).filter_map(|(transition, value)| {
                let value = value.filter(|value| !matches!(value, Path::Zero))?;
                wanted(transition).then(|| (transition, value.into_weight(domain, one)))
            }),
        );
        automaton
    }
}

/// What calls weigh.
struct CallWeights<'c, D: Domain> {
    domain: &'c D,
    pds: &'c Pds<D::Weight>,
    one: &'c D::Weight,
    side: Side,
}

impl<D: Domain> CallWeights<'_, D> {
    /// What a call weighs by a rule, or with [`NONE`] a callee that has returned, if the callee ends
    /// in this state with this weight.
    fn weight(
        &self,
        (rule, ends): (u32, StateId),
        callee: &D::Weight,
    ) -> Result<D::Weight, StopReason> {
        if rule == NONE {
            return Ok(callee.clone());
        }
        match self.side {
            Side::Left => called(self.domain, self.pds, rule, callee, ends),
            // Only what merge functions do is a label of its own.
            Side::Right => match self.pds.rules()[rule as usize].merge {
                Some(merge) => self.domain.merge(merge, self.one, callee),
                None => self.domain.extend(self.pds.weight(rule), callee),
            },
        }
    }

    fn path<'a>(
        &self,
        (rule, ends): (u32, StateId),
        callee: &Path<'a, D::Weight>,
    ) -> Result<Path<'a, D::Weight>, StopReason> {
        match callee {
            Path::Zero => Ok(Path::Zero),
            path if rule == NONE => Ok(path.clone()),
            path => {
                let weight = self.weight((rule, ends), path.weight().unwrap_or(self.one))?;
                Ok(Path::made(self.domain, weight))
            }
        }
    }
}

/// Edges with expressions: a label with the number of the edge, where there is something to be
/// multiplied.
fn labelled<'e, 'a: 'e, W: 'a, L: 'e>(
    expressions: &mut Expressions,
    edges: &'e [Edge<L>],
    known: impl Fn(&'e L) -> Option<&'e Path<'a, W>>,
) -> Result<Vec<Edge<ExprId>>, StopReason> {
    (0..)
        .zip(edges)
        .map(|(number, edge)| {
            let path = match known(&edge.path) {
                Some(Path::One) => Expressions::EPSILON,
                Some(Path::Zero) => Expressions::EMPTY,
                _ => expressions.label(number)?,
            };
            Ok(Edge {
                from: edge.from,
                to: edge.to,
                path,
            })
        })
        .collect()
}
