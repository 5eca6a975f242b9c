//! Automata whose weights are evaluated when somebody asks for them (the end of section 3.2 of the FWPDS
//! paper).
//!
//! The weights of out-nodes, the summaries of callees, are known from the beginning. Any other
//! transition depends on those and on transitions of its own piece. The first time that a piece is
//! asked about, its path expressions are made, shared and hash-consed. What they are made of is
//! evaluated once, however many transitions are asked for.

use droste_base::{Limits, StopReason};
use rustc_hash::{FxHashMap, FxHashSet};

use super::{CallWeights, Label, Piece, ROOM, Solution, backwards, forwards, labelled};
use crate::automaton::{Automaton, Direction, Transition};
use crate::domain::Domain;
use crate::evaluate::{Known, Meaning, evaluate};
use crate::expression::{ExprId, Expressions};
use crate::paths::{Edge, paths_from_source};
use crate::saturate::{NONE, Options};
use crate::system::{Pds, StateId, SymbolId};
use crate::weighing::{Path, Side, Weights};

/// What [`prestar`](crate::prestar) gives, by path expressions and with lazy weights.
///
/// # Examples
///
/// ```
/// use droste_pds::domains::MinPlus;
/// use droste_pds::{
///     Automaton, Direction, Options, PdsBuilder, Replace, Rule, StateId, SymbolId, prestar_lazy,
/// };
///
/// // A counter that goes down from symbol 3 to symbol 0 and is popped.
/// let mut rules = PdsBuilder::new(1, 4);
/// let p = StateId(0);
/// for top in 0..4 {
///     let replace = match top {
///         0 => Replace::Pop,
///         _ => Replace::Step(SymbolId(top - 1)),
///     };
///     let rule = Rule { from: p, top: SymbolId(top), to: p, replace, merge: None };
///     rules.rule(rule, i64::from(top));
/// }
/// let (domain, pds) = (MinPlus::non_negative(), rules.build());
/// let mut empty = Automaton::new(1, Direction::Forward);
/// empty.accept(&domain, p, 0)?;
/// let mut lazy = prestar_lazy(&domain, &pds, &empty, &Options::default())?;
/// assert_eq!(lazy.weight_of(p, &[SymbolId(2), SymbolId(1)])?, 4);
/// assert!(lazy.evaluated() < lazy.len());
/// # Ok::<(), droste_base::StopReason>(())
/// ```
pub fn prestar_lazy<'a, D: Domain>(
    domain: &'a D,
    pds: &'a Pds<D::Weight>,
    to: &Automaton<D::Weight>,
    options: &Options,
) -> Result<LazyAutomaton<'a, D>, StopReason> {
    let target = to.normalised(domain)?;
    backwards(domain, pds, &target, None, options)
}

/// What [`poststar`](crate::poststar) gives, by path expressions and with lazy weights.
pub fn poststar_lazy<'a, D: Domain>(
    domain: &'a D,
    pds: &'a Pds<D::Weight>,
    from: &Automaton<D::Weight>,
    options: &Options,
) -> Result<LazyAutomaton<'a, D>, StopReason> {
    let start = from.normalised(domain)?;
    forwards(domain, pds, &start, None, options)
}

/// A state, and how much of a stack has been read.
type Read = (StateId, usize);

/// A weighted automaton whose weights are evaluated when they are asked for, and then kept.
pub struct LazyAutomaton<'a, D: Domain> {
    domain: &'a D,
    pds: &'a Pds<D::Weight>,
    one: D::Weight,
    side: Side,
    limits: Limits,
    /// Its states, without transitions.
    bare: Automaton<D::Weight>,
    transitions: Vec<Transition>,
    /// Epsilon transitions to states from this one on are no part of the automaton.
    inner: u32,
    /// For each transition its weight, if it has been evaluated.
    values: Vec<Option<Path<'a, D::Weight>>>,
    /// For each transition its vertex in its piece.
    place: Vec<u32>,
    /// For each transition its piece, or [`NONE`].
    piece_of: Vec<u32>,
    pieces: Vec<Kept<'a, D::Weight>>,
    /// The transitions by where they start and what they read. Made when first asked for.
    index: Option<FxHashMap<(StateId, SymbolId), Vec<u32>>>,
}

/// A piece with transitions that may be asked for.
struct Kept<'a, W> {
    piece: Piece<'a, W>,
    /// Its expressions, if they have been made.
    made: Option<Made<'a, W>>,
}

struct Made<'a, W> {
    expressions: Expressions,
    /// For each vertex its expression.
    paths: Vec<Option<ExprId>>,
    /// For each label its weight.
    labels: Vec<Path<'a, W>>,
    known: Known<W>,
}

impl<'a, D: Domain> LazyAutomaton<'a, D> {
    pub(super) fn new(
        solution: Solution<'a, '_, D>,
        bare: Automaton<D::Weight>,
        inner: u32,
        options: &Options,
    ) -> Self {
        let transitions: Vec<Transition> = solution.table.names().collect();
        let mut piece_of = vec![NONE; transitions.len()];
        for (number, piece) in (0..).zip(&solution.kept) {
            for &id in &piece.members {
                piece_of[id as usize] = number;
            }
        }
        let kept = solution.kept.into_iter();
        LazyAutomaton {
            domain: solution.domain,
            pds: solution.pds,
            one: solution.one,
            side: solution.side,
            limits: options.limits.clone(),
            bare,
            transitions,
            inner,
            values: solution.values,
            place: solution.place,
            piece_of,
            pieces: kept.map(|piece| Kept { piece, made: None }).collect(),
            index: None,
        }
    }

    /// How many transitions there are. The weight of some may be zero.
    pub fn len(&self) -> usize {
        self.transitions.len()
    }

    /// Whether there is no transition.
    pub fn is_empty(&self) -> bool {
        self.transitions.is_empty()
    }

    /// How many states there are.
    pub fn states(&self) -> u32 {
        self.bare.states()
    }

    /// How many weights have been evaluated so far.
    pub fn evaluated(&self) -> usize {
        self.values.iter().flatten().count()
    }

    /// The transitions. The weight of some may be zero.
    pub fn transitions(&self) -> impl Iterator<Item = Transition> {
        let all = self.transitions.iter().copied();
        all.filter(|transition| self.is_shown(*transition))
    }

    fn is_shown(&self, transition: Transition) -> bool {
        is_shown(transition, self.inner)
    }

    /// The transitions from a state that read a symbol.
    fn reading(&mut self, state: StateId, symbol: SymbolId) -> &[u32] {
        let transitions = &self.transitions;
        let index = self.index.get_or_insert_with(|| {
            let mut index: FxHashMap<_, Vec<u32>> = FxHashMap::default();
            for (id, transition) in (0..).zip(transitions) {
                let head = (transition.from, transition.symbol);
                index.entry(head).or_default().push(id);
            }
            index
        });
        index.get(&(state, symbol)).map_or(&[], Vec::as_slice)
    }

    /// The weight of a transition: zero if there is none.
    pub fn weight(&mut self, transition: Transition) -> Result<D::Weight, StopReason> {
        let transitions = self.reading(transition.from, transition.symbol).to_vec();
        let to = |id: &u32| self.transitions[*id as usize].to;
        match transitions.into_iter().find(|id| to(id) == transition.to) {
            Some(id) => self.value(id),
            None => Ok(self.domain.zero()),
        }
    }

    /// The weight of a transition, by its number.
    fn value(&mut self, id: u32) -> Result<D::Weight, StopReason> {
        if self.values[id as usize].is_none() {
            self.evaluate(id)?;
        }
        let value = self.values[id as usize].clone().unwrap_or(Path::Zero);
        Ok(value.into_weight(self.domain, &self.one))
    }

    /// What is left of a piece: edges to transitions that have not been evaluated. One that has been
    /// is reached from the source, with its weight. All callees are known by now.
    fn rest(
        &self,
        piece: &Piece<'a, D::Weight>,
    ) -> Result<Vec<Edge<Path<'a, D::Weight>>>, StopReason> {
        let calls = CallWeights {
            domain: self.domain,
            pds: self.pds,
            one: &self.one,
            side: self.side,
        };
        // Vertex 0 is the source.
        let value = |vertex: u32| {
            let member = (vertex as usize).checked_sub(1)?;
            self.values[piece.members[member] as usize].as_ref()
        };
        let mut is_begun = vec![false; piece.members.len() + 1];
        let mut rest = Vec::new();
        for Edge { from, to, path } in &piece.edges {
            if value(*to).is_some() {
                continue;
            }
            if let Some(value) = value(*from)
                && !std::mem::replace(&mut is_begun[*from as usize], true)
            {
                rest.push(Edge {
                    from: 0,
                    to: *from,
                    path: value.clone(),
                });
            }
            let path = match path {
                Label::Known(path) => path.clone(),
                Label::Inside(rule, out) => {
                    let ends = self.transitions[*out as usize].to;
                    let callee = self.values[*out as usize].as_ref();
                    calls.path((*rule, ends), callee.unwrap_or(&Path::Zero))?
                }
            };
            rest.push(Edge {
                from: *from,
                to: *to,
                path,
            });
        }
        rest.retain(|edge| !matches!(edge.path, Path::Zero));
        Ok(rest)
    }

    /// Evaluates one transition, and what it is made of.
    fn evaluate(&mut self, id: u32) -> Result<(), StopReason> {
        let mut guard = self.limits.guard();
        let Some(kept) = self.pieces.get(self.piece_of[id as usize] as usize) else {
            return Ok(());
        };
        if kept.made.is_none() {
            let rest = self.rest(&kept.piece)?;
            let mut expressions = Expressions::with_room(ROOM * rest.len())?;
            let edges = labelled(&mut expressions, &rest, Some)?;
            let vertices = kept.piece.members.len() as u32 + 1;
            let paths =
                paths_from_source(vertices, (&edges, &[]), None, &mut expressions, &mut guard)?;
            self.pieces[self.piece_of[id as usize] as usize].made = Some(Made {
                expressions,
                paths,
                labels: rest.into_iter().map(|edge| edge.path).collect(),
                known: Known::new(),
            });
        }
        let kept = &mut self.pieces[self.piece_of[id as usize] as usize];
        let Some(made) = &mut kept.made else {
            return Ok(());
        };
        let root = made.paths[self.place[id as usize] as usize];
        let root = root.unwrap_or(Expressions::EMPTY);
        let (labels, one) = (&made.labels, &self.one);
        let meaning = Meaning {
            fixed: |label: u32| Some(labels[label as usize].weight().unwrap_or(one)),
            inside: |_| None,
            weigh: |_, weight: &D::Weight| Ok(weight.clone()),
        };
        evaluate(
            self.domain,
            self.side,
            &made.expressions,
            &[root],
            &meaning,
            &mut made.known,
            &mut guard,
        )?;
        let weight = made.known.get(root).cloned();
        let value = weight.map_or(Path::Zero, |weight| Path::made(self.domain, weight));
        self.values[id as usize] = Some(value);
        Ok(())
    }

    /// The weight of a configuration, the top of its stack first: zero if it is not accepted. Only
    /// what is on paths that accept it is evaluated.
    pub fn weight_of(
        &mut self,
        state: StateId,
        stack: &[SymbolId],
    ) -> Result<D::Weight, StopReason> {
        let mut seen: FxHashSet<Read> = FxHashSet::from_iter([(state, 0)]);
        let mut work = vec![(state, 0)];
        let mut steps: FxHashMap<Read, Vec<(Read, u32)>> = FxHashMap::default();
        while let Some((from, read)) = work.pop() {
            let silent = self.reading(from, SymbolId::EPSILON).to_vec();
            let next = stack.get(read).map(|&symbol| self.reading(from, symbol));
            let next = next.unwrap_or_default().to_vec();
            let silent = silent.into_iter().map(|id| (id, read));
            for (id, read_then) in silent.chain(next.into_iter().map(|id| (id, read + 1))) {
                let transition = self.transitions[id as usize];
                if !self.is_shown(transition) {
                    continue;
                }
                let there = (transition.to, read_then);
                steps.entry(there).or_default().push(((from, read), id));
                if seen.insert(there) {
                    work.push(there);
                }
            }
        }
        // Those from which the configuration is accepted, and the transitions between them.
        let ends = seen.iter().copied();
        let mut work: Vec<_> = ends
            .filter(|&(state, read)| read == stack.len() && self.bare.is_final(state))
            .collect();
        let mut useful: FxHashSet<Read> = work.iter().copied().collect();
        let mut asked: FxHashSet<u32> = FxHashSet::default();
        while let Some(there) = work.pop() {
            for &(before, id) in steps.get(&there).into_iter().flatten() {
                asked.insert(id);
                if useful.insert(before) {
                    work.push(before);
                }
            }
        }
        let mut asked: Vec<u32> = asked.into_iter().collect();
        asked.sort_unstable();
        let mut small = self.bare.clone();
        let mut weights = Vec::with_capacity(asked.len());
        for id in asked {
            weights.push((self.transitions[id as usize], self.value(id)?));
        }
        weights.retain(|(_, weight)| !self.domain.is_zero(weight));
        small.fill(weights.into_iter());
        small.weight_of(self.domain, state, stack)
    }

    /// The automaton with all its weights.
    pub fn force(mut self) -> Result<Automaton<D::Weight>, StopReason> {
        let mut guard = self.limits.guard();
        for kept in &self.pieces {
            let edges = self.rest(&kept.piece)?;
            let vertices = kept.piece.members.len() as u32 + 1;
            let mut weights = Weights::new(self.domain, &self.one, self.side, None);
            let found = paths_from_source(vertices, (&edges, &[]), None, &mut weights, &mut guard)?;
            for (&id, value) in kept.piece.members.iter().zip(found.into_iter().skip(1)) {
                let place = &mut self.values[id as usize];
                if place.is_none() {
                    *place = value;
                }
            }
        }
        let (domain, one, inner) = (self.domain, &self.one, self.inner);
        let mut automaton = self.bare;
        let all = self.transitions.into_iter().zip(self.values);
        automaton.fill(all.filter_map(|(transition, value)| {
            let value = value.filter(|value| !matches!(value, Path::Zero))?;
            is_shown(transition, inner).then(|| (transition, value.into_weight(domain, one)))
        }));
        Ok(match automaton.direction() {
            Direction::Forward => automaton,
            Direction::Backward => automaton.trimmed(),
        })
    }
}

/// Whether a transition is a part of the automaton. What is behind a call has been added for every
/// callee that returns: the way over the callee's own state would count it twice.
fn is_shown(transition: Transition, inner: u32) -> bool {
    transition.symbol != SymbolId::EPSILON || transition.to.0 < inner
}
