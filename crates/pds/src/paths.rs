//! Path expressions from one source of a graph (Tarjan, A unified approach to path problems, 1981;
//! the SSPE problem of section 3.2 of the FWPDS paper).
//!
//! Strongly connected parts are taken one after the other. The expression of a vertex that is a part of its
//! own is the sum over the edges that lead there, each multiplied once with the expression of the vertex
//! where it starts. Inside a larger part vertices are eliminated, as in Gauss's method for sparse matrices:
//! next is the vertex with the fewest ways through it (Markowitz, 1957), and those where the part is entered
//! come last. So a loop becomes one star at its head, whatever is inside.
//!
//! In irreducible graphs, eliminating any of the vertices that are left may add edges. What is left is then
//! called a *knot*. In expressions one of its vertices gets a name, and its expression becomes an equation.
//! Where weights are computed at once, they are iterated on the knot, which is much smaller than the part
//! was.
//!
//! The FWPDS paper cuts graphs along dominators instead (Tarjan, Fast algorithms for solving path
//! problems, 1981). For graphs without loops that takes several products for each edge, where one is
//! enough.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use droste_automata::components::{NONE as NOWHERE, components};
use droste_base::{Guard, StopReason};
use rustc_hash::FxHashSet;

/// What expressions are made with: expressions, or at once the weights that they stand for.
pub(crate) trait Algebra {
    type Path: Clone;

    /// No path.
    fn empty(&self) -> Self::Path;

    /// The path without edges.
    fn epsilon(&self) -> Self::Path;

    fn is_empty(&self, path: &Self::Path) -> bool;

    fn either(&mut self, a: &Self::Path, b: &Self::Path) -> Result<Self::Path, StopReason>;

    fn then(&mut self, a: &Self::Path, b: &Self::Path) -> Result<Self::Path, StopReason>;

    fn star(&mut self, a: &Self::Path) -> Result<Self::Path, StopReason>;

    /// What is done with a knot: a part in which each vertex that goes would add edges.
    fn knots(&self) -> Knots;

    /// A name for a vertex.
    fn name(&mut self, vertex: u32) -> Result<Self::Path, StopReason>;

    /// Says what a vertex with a name is. The path may contain the name itself: it is an equation.
    fn define(&mut self, vertex: u32, path: Self::Path);

    /// Solves a knot. `next` has the edges of each of its vertices, by place; `solved` what leads to
    /// each from outside, and then all that leads there.
    fn iterate(
        &mut self,
        next: &[Vec<(u32, Self::Path)>],
        solved: &mut [Self::Path],
        guard: &mut Guard,
    ) -> Result<(), StopReason>;
}

/// See [`Algebra::knots`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Knots {
    /// A vertex gets a name, and the others are made of it.
    Name,
    /// It is solved by iteration.
    Iterate,
    /// Vertices go nevertheless.
    Eliminate,
}

/// An edge with what it multiplies with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Edge<P> {
    pub(crate) from: u32,
    pub(crate) to: u32,
    pub(crate) path: P,
}

/// For each vertex, all paths from vertex 0. Where `wanted` says which vertices somebody asks for,
/// others may be left out, if they are not needed on the way.
pub(crate) fn paths_from_source<A: Algebra>(
    vertices: u32,
    edges: &[Edge<A::Path>],
    wanted: Option<&[bool]>,
    algebra: &mut A,
    guard: &mut Guard,
) -> Result<Vec<Option<A::Path>>, StopReason> {
    let leaving = Sorted::new(vertices, edges.iter().map(|edge| edge.from));
    let found = components(
        vertices as usize,
        [0],
        |vertex, out: &mut Vec<(u32, ())>| {
            let to = |&edge: &u32| (edges[edge as usize].to, ());
            out.extend(leaving.of(vertex).iter().map(to));
        },
    );
    let into = Sorted::new(vertices, edges.iter().map(|edge| edge.to));
    let part_of = |vertex: u32| found.of[vertex as usize];
    // Vertices that are not reachable are in the last list.
    let list = (0..vertices).map(|vertex| part_of(vertex).min(found.count));
    let parts = Sorted::new(found.count + 1, list);
    let mut solved = vec![algebra.empty(); vertices as usize];
    // Those that are left out.
    let mut left_out = vec![false; vertices as usize];
    let mut elimination =
        Elimination::new(if found.count < vertices { vertices } else { 0 }, algebra);
    // For each vertex, whether its paths are needed.
    let needed = wanted.map(|wanted| {
        let mut needed = wanted.to_vec();
        let mut work: Vec<u32> = (0..vertices).filter(|&v| needed[v as usize]).collect();
        while let Some(vertex) = work.pop() {
            for &edge in into.of(vertex) {
                let from = edges[edge as usize].from;
                if !std::mem::replace(&mut needed[from as usize], true) {
                    work.push(from);
                }
            }
        }
        needed
    });
    let is_needed = |vertex: u32| needed.as_ref().is_none_or(|needed| needed[vertex as usize]);
    // Edges lead to the same part or to one with a smaller number.
    for part in (0..found.count).rev() {
        guard.check()?;
        let members = parts.of(part);
        // All members lead to the same vertices.
        if !members.first().is_some_and(|&vertex| is_needed(vertex)) {
            for &vertex in members {
                left_out[vertex as usize] = true;
            }
            continue;
        }
        for &vertex in members {
            let mut sum = if vertex == 0 {
                algebra.epsilon()
            } else {
                algebra.empty()
            };
            for &edge in into.of(vertex) {
                let Edge { from, path, .. } = &edges[edge as usize];
                let from_part = part_of(*from);
                if from_part != part && from_part != NOWHERE {
                    let through = algebra.then(&solved[*from as usize], path)?;
                    sum = algebra.either(&sum, &through)?;
                }
            }
            solved[vertex as usize] = sum;
        }
        let inside = |vertex: u32| {
            let edges = into.of(vertex).iter().map(|&edge| &edges[edge as usize]);
            edges.filter(|edge| part_of(edge.from) == part)
        };
        match members {
            [only] => {
                let mut round = algebra.empty();
                for edge in inside(*only) {
                    round = algebra.either(&round, &edge.path)?;
                }
                if !algebra.is_empty(&round) {
                    let round = algebra.star(&round)?;
                    let place = &mut solved[*only as usize];
                    *place = algebra.then(place, &round)?;
                }
            }
            members => {
                // A vertex that only this part needs is not asked for.
                let asked = |vertex: u32| {
                    wanted.is_none_or(|wanted| {
                        let mut next = leaving
                            .of(vertex)
                            .iter()
                            .map(|&edge| edges[edge as usize].to);
                        wanted[vertex as usize]
                            || next.any(|to| part_of(to) != part && is_needed(to))
                    })
                };
                let inside = members.iter().flat_map(|&vertex| inside(vertex));
                let all = (&mut solved[..], &mut left_out[..]);
                elimination.solve(members, inside, asked, all, algebra, guard)?;
            }
        }
    }
    let known = solved.into_iter().zip(left_out);
    Ok(known.map(|(path, left)| (!left).then_some(path)).collect())
}

/// Numbers sorted by a key.
pub(crate) struct Sorted {
    /// For each key, where its numbers begin; one more at the end.
    first: Vec<u32>,
    numbers: Vec<u32>,
}

impl Sorted {
    /// The numbers from 0 on have these keys.
    pub(crate) fn new(keys: u32, of: impl Iterator<Item = u32> + Clone) -> Self {
        let mut first = vec![0u32; keys as usize + 2];
        for key in of.clone() {
            first[key as usize + 2] += 1;
        }
        for i in 2..first.len() {
            first[i] += first[i - 1];
        }
        let mut numbers = vec![0u32; *first.last().unwrap_or(&0) as usize];
        for (number, key) in (0..).zip(of) {
            let place = &mut first[key as usize + 1];
            numbers[*place as usize] = number;
            *place += 1;
        }
        Sorted { first, numbers }
    }

    pub(crate) fn of(&self, key: u32) -> &[u32] {
        let key = key as usize;
        &self.numbers[self.first[key] as usize..self.first[key + 1] as usize]
    }
}

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
struct Elimination<P> {
    /// For each vertex that is still there, where its edges lead, itself left out.
    next: Vec<Vec<(u32, P)>>,
    /// For each such vertex, where edges to it come from, itself left out.
    before: Vec<Vec<u32>>,
    /// For each such vertex, its edges to itself.
    own: Vec<P>,
    is_gone: Vec<bool>,
    /// What each member of the part at hand costs that is still there.
    costs: Vec<Cost>,
    /// For each vertex of a knot, its place there.
    place: Vec<u32>,
}

impl<P: Clone> Elimination<P> {
    fn new<A: Algebra<Path = P>>(vertices: u32, algebra: &A) -> Self {
        let count = vertices as usize;
        Elimination {
            next: vec![Vec::new(); count],
            before: vec![Vec::new(); count],
            own: vec![algebra.empty(); count],
            is_gone: vec![false; count],
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
    /// that leads there.
    fn solve<'e, A: Algebra<Path = P>>(
        &mut self,
        members: &[u32],
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
        for &vertex in members {
            self.costs[vertex as usize] = self.cost(vertex, solved, algebra);
        }
        let costs = members.iter().map(|&vertex| self.costs[vertex as usize]);
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
            if cost.adds_edges() && knots == Knots::Iterate {
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
                if cost == std::mem::replace(&mut self.costs[other as usize], cost) {
                    continue;
                }
                if !cost.adds_edges() || knots != Knots::Iterate {
                    cheapest.push(Reverse(cost));
                }
                if knots == Knots::Name {
                    dearest.push(cost.ways());
                }
            }
            all_gone.push(gone);
        }
        self.iterate(members, solved, algebra, guard)?;
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
        members: &[u32],
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
        let mut edges = Vec::new();
        for &vertex in &knot {
            let mut next = std::mem::take(&mut self.next[vertex as usize]);
            for (to, way) in &mut next {
                *to = self.place[*to as usize];
                *way = algebra.then(way, &rounds[*to as usize])?;
            }
            edges.push(next);
        }
        algebra.iterate(&edges, &mut values, guard)?;
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
