//! Elimination, as in Gauss's method for sparse matrices. Next is the vertex with the fewest ways through it
//! (Markowitz, 1957), and those where the part is entered come last. So a loop becomes one star at its
//! head.
//!
//! In irreducible graphs, eliminating any of the vertices that are left may add edges. What is left is then
//! called a *knot*. In expressions one of its vertices gets a name, and its expression becomes an equation.
//! Where weights are computed at once, they are iterated on the knot, which is much smaller than the part
//! was. So are vertices of calls whose weights are not known before the part is solved.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use droste_base::{Guard, StopReason};
use rustc_hash::FxHashSet;

use super::iteration::{Knot, KnotCall};
use super::{Algebra, Call, Edge, Knots};

/// A vertex that is gone: what was before it, and the way round it.
struct Gone<P> {
    vertex: u32,
    /// If it has a name, what others call it.
    name: Option<P>,
    round: P,
    before: Vec<(u32, P)>,
}

/// What it costs to replace a vertex by the ways through it, and the vertex, in one number that is
/// quickly compared. First it counts whether the part is entered there, then whether there would be
/// more edges afterwards, then how many ways there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Cost(u64);

impl Cost {
    const ENTERED: u64 = 1 << 63;
    const ADDS_EDGES: u64 = 1 << 62;

    fn new(vertex: u32, is_entered: bool, before: usize, next: usize) -> Self {
        let ways = (before * next).min((1 << 30) - 1) as u64;
        let mut cost = ways << 32 | u64::from(vertex);
        if is_entered {
            cost |= Self::ENTERED;
        }
        if before.min(next) > 1 {
            cost |= Self::ADDS_EDGES;
        }
        Cost(cost)
    }

    fn vertex(self) -> u32 {
        self.0 as u32
    }

    fn adds_edges(self) -> bool {
        self.0 & Self::ADDS_EDGES != 0
    }

    /// The same where only the number of ways counts.
    fn ways(self) -> Self {
        Cost(self.0 & !(Self::ENTERED | Self::ADDS_EDGES))
    }
}

/// Solves `x = start + x · edges` inside a strongly connected part.
pub(super) struct Elimination<P> {
    /// For each vertex that is still there, where its edges lead, itself left out.
    next: Vec<Vec<(u32, P)>>,
    /// For each such vertex, where edges to it come from, itself left out.
    before: Vec<Vec<u32>>,
    /// For each such vertex, its edges to itself.
    own: Vec<P>,
    is_gone: Vec<bool>,
    /// Whether a vertex is not to go: a call depends on it, or leads there.
    stays: Vec<bool>,
    /// What each member of the part at hand costs that is still there.
    costs: Vec<Cost>,
    /// For each vertex of a knot, its place there.
    place: Vec<u32>,
}

impl<P: Clone> Elimination<P> {
    pub(super) fn new<A: Algebra<Path = P>>(vertices: u32, algebra: &A) -> Self {
        let count = vertices as usize;
        Elimination {
            next: vec![Vec::new(); count],
            before: vec![Vec::new(); count],
            own: vec![algebra.empty(); count],
            is_gone: vec![false; count],
            stays: vec![false; count],
            costs: vec![Cost::default(); count],
            place: vec![0; count],
        }
    }

    fn add<A: Algebra<Path = P>>(
        &mut self,
        from: u32,
        to: u32,
        way: P,
        algebra: &mut A,
    ) -> Result<(), StopReason> {
        if algebra.is_empty(&way) {
            return Ok(());
        }
        if from == to {
            let known = &mut self.own[from as usize];
            *known = algebra.either(known, &way)?;
            return Ok(());
        }
        let next = &mut self.next[from as usize];
        if let Some((_, known)) = next.iter_mut().find(|(other, _)| *other == to) {
            *known = algebra.either(known, &way)?;
        } else {
            next.push((to, way));
            self.before[to as usize].push(from);
        }
        Ok(())
    }

    /// What it costs to replace a vertex now.
    fn cost<A: Algebra<Path = P>>(&self, vertex: u32, solved: &[P], algebra: &A) -> Cost {
        let at = vertex as usize;
        let is_entered = !algebra.is_empty(&solved[at]);
        Cost::new(
            vertex,
            is_entered,
            self.before[at].len(),
            self.next[at].len(),
        )
    }

    /// `solved` has for each member what leads there from outside, and then, if it is asked for, all
    /// that leads there. Vertices of calls stay until the end.
    pub(super) fn solve<'e, A: Algebra<Path = P>>(
        &mut self,
        (members, calls): (&[u32], &[&Call]),
        inside: impl Iterator<Item = &'e Edge<P>>,
        asked: impl Fn(u32) -> bool,
        (solved, left_out): (&mut [P], &mut [bool]),
        algebra: &mut A,
        guard: &mut Guard,
    ) -> Result<(), StopReason>
    where
        P: 'e,
    {
        for Edge { from, to, path } in inside {
            self.add(*from, *to, path.clone(), algebra)?;
        }
        let knots = algebra.knots();
        for call in calls {
            for vertex in [call.from, call.to, call.out] {
                self.stays[vertex as usize] = true;
            }
        }
        for &vertex in members {
            self.costs[vertex as usize] = self.cost(vertex, solved, algebra);
        }
        let goes = members
            .iter()
            .filter(|&&vertex| !self.stays[vertex as usize]);
        let costs = goes.map(|&vertex| self.costs[vertex as usize]);
        let mut cheapest: BinaryHeap<_> = costs.clone().map(Reverse).collect();
        let mut dearest: BinaryHeap<Cost> = BinaryHeap::new();
        if knots == Knots::Name {
            dearest = costs.map(Cost::ways).collect();
        }
        let mut all_gone: Vec<Gone<P>> = Vec::with_capacity(members.len());
        while let Some(&Reverse(cost)) = cheapest.peek() {
            guard.check()?;
            // What costs something else by now is there again.
            let cheap = cost.vertex();
            if self.is_gone[cheap as usize] || cost != self.costs[cheap as usize] {
                cheapest.pop();
                continue;
            }
            let (mut vertex, mut named) = (cheap, false);
            if cost.adds_edges() && matches!(knots, Knots::Iterate(_)) {
                // Unless it costs less some day, it stays.
                cheapest.pop();
                continue;
            }
            if cost.adds_edges() && knots == Knots::Name {
                while let Some(cost) = dearest.pop() {
                    let dear = cost.vertex();
                    if !self.is_gone[dear as usize] && cost == self.costs[dear as usize].ways() {
                        (vertex, named) = (dear, true);
                        break;
                    }
                }
            }
            let gone = self.remove((vertex, named), solved, algebra, guard)?;
            let next = std::mem::take(&mut self.next[vertex as usize]);
            let touched = gone.before.iter().map(|&(from, _)| from);
            for other in touched.chain(next.iter().map(|&(to, _)| to)) {
                let cost = self.cost(other, solved, algebra);
                if cost == std::mem::replace(&mut self.costs[other as usize], cost)
                    || self.stays[other as usize]
                {
                    continue;
                }
                if !cost.adds_edges() || !matches!(knots, Knots::Iterate(_)) {
                    cheapest.push(Reverse(cost));
                }
                if knots == Knots::Name {
                    dearest.push(cost.ways());
                }
            }
            all_gone.push(gone);
        }
        self.iterate((members, calls), solved, algebra, guard)?;
        // Those that are asked for, and those that they are made of.
        let mut asks = vec![false; all_gone.len()];
        let mut is_asked: FxHashSet<u32> = FxHashSet::default();
        for (asks, gone) in asks.iter_mut().zip(&all_gone) {
            *asks = gone.name.is_some() || asked(gone.vertex) || is_asked.contains(&gone.vertex);
            if *asks {
                is_asked.extend(gone.before.iter().map(|(from, _)| *from));
            }
        }
        // The last to go is known first.
        for (gone, asks) in all_gone.into_iter().zip(asks).rev() {
            if !asks {
                left_out[gone.vertex as usize] = true;
                continue;
            }
            let mut sum = solved[gone.vertex as usize].clone();
            for (from, way) in gone.before {
                let through = algebra.then(&solved[from as usize], &way)?;
                sum = algebra.either(&sum, &through)?;
            }
            let whole = algebra.then(&sum, &gone.round)?;
            solved[gone.vertex as usize] = match gone.name {
                Some(name) => {
                    algebra.define(gone.vertex, whole);
                    name
                }
                None => whole,
            };
        }
        Ok(())
    }

    /// Solves what is left: a knot.
    fn iterate<A: Algebra<Path = P>>(
        &mut self,
        (members, calls): (&[u32], &[&Call]),
        solved: &mut [P],
        algebra: &mut A,
        guard: &mut Guard,
    ) -> Result<(), StopReason> {
        let left = members
            .iter()
            .filter(|&&vertex| !self.is_gone[vertex as usize]);
        let knot: Vec<u32> = left.copied().collect();
        if knot.is_empty() {
            return Ok(());
        }
        let (mut rounds, mut values) = (Vec::new(), Vec::new());
        for (place, &vertex) in (0..).zip(&knot) {
            self.place[vertex as usize] = place;
            let own = &self.own[vertex as usize];
            let round = if algebra.is_empty(own) {
                algebra.epsilon()
            } else {
                algebra.star(own)?
            };
            values.push(algebra.then(&solved[vertex as usize], &round)?);
            rounds.push(round);
        }
        for &vertex in &knot {
            for (to, way) in &mut self.next[vertex as usize] {
                *to = self.place[*to as usize];
                *way = algebra.then(way, &rounds[*to as usize])?;
            }
        }
        let edges = (0..).zip(&knot).flat_map(|(place, &vertex)| {
            let next = self.next[vertex as usize].iter();
            next.map(move |(to, way)| ((place, *to), way))
        });
        let calls = calls.iter().map(|call| {
            let (from, to) = (self.place[call.from as usize], self.place[call.to as usize]);
            KnotCall {
                from: if knot.get(from as usize) == Some(&call.from) {
                    Ok(from)
                } else {
                    Err(solved[call.from as usize].clone())
                },
                to,
                out: self.place[call.out as usize],
                number: call.number,
                round: rounds[to as usize].clone(),
            }
        });
        let solving = Knot::new(knot.len(), edges, calls.collect());
        algebra.iterate(&solving, &mut values, usize::MAX, guard)?;
        for (vertex, value) in knot.into_iter().zip(values) {
            solved[vertex as usize] = value;
        }
        Ok(())
    }

    /// Replaces a vertex by the ways through it; or, if it is to be named, by its name for those
    /// behind it.
    fn remove<A: Algebra<Path = P>>(
        &mut self,
        (vertex, named): (u32, bool),
        solved: &mut [P],
        algebra: &mut A,
        guard: &mut Guard,
    ) -> Result<Gone<P>, StopReason> {
        let at = vertex as usize;
        let own = std::mem::replace(&mut self.own[at], algebra.empty());
        let round = if algebra.is_empty(&own) {
            algebra.epsilon()
        } else {
            algebra.star(&own)?
        };
        let next = std::mem::take(&mut self.next[at]);
        for &(to, _) in &next {
            self.before[to as usize].retain(|&other| other != vertex);
        }
        self.is_gone[at] = true;
        let (start, name) = if named {
            let name = algebra.name(vertex)?;
            (name.clone(), Some(name))
        } else {
            (algebra.then(&solved[at], &round)?, None)
        };
        if !algebra.is_empty(&start) {
            for (to, way) in &next {
                let through = algebra.then(&start, way)?;
                let place = &mut solved[*to as usize];
                *place = algebra.either(place, &through)?;
            }
        }
        let mut before = Vec::new();
        for from in std::mem::take(&mut self.before[at]) {
            guard.check()?;
            let ways = &mut self.next[from as usize];
            let Some(place) = ways.iter().position(|(to, _)| *to == vertex) else {
                continue;
            };
            let (_, way) = ways.swap_remove(place);
            if !named {
                let around = algebra.then(&way, &round)?;
                for (to, rest) in &next {
                    let through = algebra.then(&around, rest)?;
                    self.add(from, *to, through, algebra)?;
                }
            }
            before.push((from, way));
        }
        self.next[at] = next;
        Ok(Gone {
            vertex,
            name,
            round,
            before,
        })
    }
}
