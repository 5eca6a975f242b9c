//! Path expressions from one source of a graph (Tarjan, A unified approach to path problems, 1981;
//! the SSPE problem of section 3.2 of the FWPDS paper).
//!
//! Strongly connected parts are taken one after the other. The expression of a vertex that is a part of its
//! own is the sum over the edges that lead there, each multiplied once with the expression of the vertex
//! where it starts. Larger parts are [eliminated](elimination): a loop becomes one star at its head,
//! whatever is inside.
//!
//! Where weights are computed at once, a larger part is [iterated](iteration) first, for a few rounds:
//! most loops change nothing after two or three, and then elimination would cost more than it saves.
//! Parts that go on changing are eliminated. So neither a loop that goes on for very long nor a graph that
//! elimination makes dense can cost much more than with the better of the two methods.
//!
//! The FWPDS paper cuts graphs along dominators instead (Tarjan, Fast algorithms for solving path
//! problems, 1981). For graphs without loops that takes several products for each edge, where one is
//! enough.

mod elimination;
pub(crate) mod iteration;

use droste_automata::components::{Components, NONE as NOWHERE, components};
use droste_base::{Guard, StopReason};

use elimination::Elimination;
use iteration::{Knot, KnotCall};

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

    /// How strongly connected parts are solved.
    fn knots(&self) -> Knots;

    /// A name for a vertex.
    fn name(&mut self, vertex: u32) -> Result<Self::Path, StopReason>;

    /// Says what a vertex with a name is. The path may contain the name itself: it is an equation.
    fn define(&mut self, vertex: u32, path: Self::Path);

    /// What a [`Call`] multiplies with, if this is what leads to its out-node.
    fn call(&self, call: u32, out: &Self::Path) -> Result<Self::Path, StopReason>;

    /// Iterates on a knot. `solved` has what leads to each of its vertices from outside, and then all that
    /// leads there. Gives up, and says `false`, after following that many edges.
    fn iterate(
        &mut self,
        knot: &Knot<Self::Path>,
        solved: &mut [Self::Path],
        most: usize,
        guard: &mut Guard,
    ) -> Result<bool, StopReason>;
}

/// See [`Algebra::knots`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Knots {
    /// By elimination. Where it would add edges, a vertex gets a name, and the others are made of it.
    Name,
    /// By iteration. If each edge has been followed that often, by elimination, and where that would add
    /// edges, by iteration again.
    Iterate(u32),
    /// By elimination, whatever it adds.
    Eliminate,
}

/// An edge with what it multiplies with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Edge<P> {
    pub(crate) from: u32,
    pub(crate) to: u32,
    pub(crate) path: P,
}

/// An edge that multiplies with something made of what leads to another vertex, its out-node. Only
/// [`Knots::Iterate`] can deal with them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Call {
    pub(crate) from: u32,
    pub(crate) to: u32,
    pub(crate) out: u32,
    /// What the [algebra](Algebra::call) knows it by.
    pub(crate) number: u32,
}

/// For each vertex, all paths from vertex 0. Where `wanted` says which vertices somebody asks for,
/// others may be left out, if they are not needed on the way.
pub(crate) fn paths_from_source<A: Algebra>(
    vertices: u32,
    (edges, calls): (&[Edge<A::Path>], &[Call]),
    wanted: Option<&[bool]>,
    algebra: &mut A,
    guard: &mut Guard,
) -> Result<Vec<Option<A::Path>>, StopReason> {
    let graph = Graph::new(vertices, edges, calls);
    // The members of parts, so that most edges lead forwards (reverse postorder).
    let order: Vec<u32> = graph.found.postorder.iter().rev().copied().collect();
    let part_of = order.iter().map(|&vertex| graph.part_of(vertex));
    let parts = Sorted::new(graph.found.count, part_of);
    let needed = wanted.map(|wanted| graph.needed(wanted));
    let is_needed = |vertex: u32| needed.as_ref().is_none_or(|needed| needed[vertex as usize]);
    let mut solved = vec![algebra.empty(); vertices as usize];
    // Those that are left out.
    let mut left_out = vec![false; vertices as usize];
    let mut elimination = None;
    let mut members: Vec<u32> = Vec::new();
    // For each vertex its place among the members of its part.
    let mut place = vec![0; vertices as usize];
    // Edges lead to the same part or to one with a smaller number.
    for part in (0..graph.found.count).rev() {
        guard.check()?;
        members.clear();
        members.extend(parts.of(part).iter().map(|&at| order[at as usize]));
        // All members lead to the same vertices.
        if !members.first().is_some_and(|&vertex| is_needed(vertex)) {
            for &vertex in &members {
                left_out[vertex as usize] = true;
            }
            continue;
        }
        for &vertex in &members {
            solved[vertex as usize] = graph.outside(vertex, &solved, algebra)?;
        }
        let (known, open) = graph.calls_inside(&members, &solved, algebra)?;
        let inside = members.iter().flat_map(|&vertex| graph.leaving.of(vertex));
        let inside = inside.map(|&edge| &edges[edge as usize]);
        let inside = inside.filter(|edge| graph.part_of(edge.to) == part);
        let inside = inside.chain(&known);
        if open.is_empty() && inside.clone().next().is_none() {
            continue;
        }
        if let Knots::Iterate(rounds) = algebra.knots() {
            for (at, &vertex) in (0..).zip(&members) {
                place[vertex as usize] = at;
            }
            let place = |vertex: u32| place[vertex as usize];
            let ends = |edge: &Edge<A::Path>| (place(edge.from), place(edge.to));
            let edges = inside.clone().map(|edge| (ends(edge), &edge.path));
            let calls = open.iter().map(|call| KnotCall {
                from: if graph.part_of(call.from) == part {
                    Ok(place(call.from))
                } else {
                    Err(solved[call.from as usize].clone())
                },
                to: place(call.to),
                out: place(call.out),
                number: call.number,
                round: algebra.epsilon(),
            });
            let knot = Knot::new(members.len(), edges, calls.collect());
            let values = members.iter().map(|&vertex| &solved[vertex as usize]);
            let mut values: Vec<A::Path> = values.cloned().collect();
            if algebra.iterate(&knot, &mut values, rounds as usize * knot.len(), guard)? {
                for (&vertex, value) in members.iter().zip(values) {
                    solved[vertex as usize] = value;
                }
                continue;
            }
        }
        if let [only] = *members
            && open.is_empty()
        {
            let mut round = algebra.empty();
            for edge in inside {
                round = algebra.either(&round, &edge.path)?;
            }
            let round = algebra.star(&round)?;
            let place = &mut solved[only as usize];
            *place = algebra.then(place, &round)?;
            continue;
        }
        // A vertex that only this part needs is not asked for.
        let asked = |vertex: u32| {
            let is_behind = |to: u32| graph.part_of(to) != part && is_needed(to);
            wanted.is_none_or(|wanted| wanted[vertex as usize] || graph.next(vertex).any(is_behind))
        };
        let all = (&mut solved[..], &mut left_out[..]);
        let elimination = elimination.get_or_insert_with(|| Elimination::new(vertices, algebra));
        elimination.solve((&members, &open), inside, asked, all, algebra, guard)?;
    }
    let known = solved.into_iter().zip(left_out);
    Ok(known.map(|(path, left)| (!left).then_some(path)).collect())
}

/// Edges and calls, and the strongly connected parts.
struct Graph<'g, P> {
    edges: &'g [Edge<P>],
    /// The edges by where they start, and by where they lead.
    leaving: Sorted,
    arriving: Sorted,
    calls: Calls<'g>,
    /// A call leads on from its out-node, too.
    found: Components,
}

impl<'g, P> Graph<'g, P> {
    fn new(vertices: u32, edges: &'g [Edge<P>], calls: &'g [Call]) -> Self {
        let mut graph = Graph {
            edges,
            leaving: Sorted::new(vertices, edges.iter().map(|edge| edge.from)),
            arriving: Sorted::new(vertices, edges.iter().map(|edge| edge.to)),
            calls: Calls::new(vertices, calls),
            found: Components::default(),
        };
        graph.found = components(
            vertices as usize,
            [0],
            |vertex, out: &mut Vec<(u32, ())>| {
                out.extend(graph.next(vertex).map(|to| (to, ())));
            },
        );
        graph
    }

    /// The part of a vertex, or [`NOWHERE`] if nothing leads there.
    fn part_of(&self, vertex: u32) -> u32 {
        self.found.of[vertex as usize]
    }

    /// The vertices that depend on one.
    fn next(&self, vertex: u32) -> impl Iterator<Item = u32> {
        let edges = self.leaving.of(vertex).iter();
        let to = edges.map(|&edge| self.edges[edge as usize].to);
        to.chain(self.calls.leaving(vertex).map(|call| call.to))
    }

    /// Which vertices are wanted, or needed by others that are.
    fn needed(&self, wanted: &[bool]) -> Vec<bool> {
        let mut needed = wanted.to_vec();
        let all = 0..wanted.len() as u32;
        let mut work: Vec<u32> = all.filter(|&vertex| needed[vertex as usize]).collect();
        while let Some(vertex) = work.pop() {
            let edges = self.arriving.of(vertex).iter();
            let from = edges.map(|&edge| self.edges[edge as usize].from);
            let called = self.calls.arriving(vertex);
            for before in from.chain(called.flat_map(|call| [call.from, call.out])) {
                if !std::mem::replace(&mut needed[before as usize], true) {
                    work.push(before);
                }
            }
        }
        needed
    }

    /// What leads to a vertex from other parts, which are solved.
    fn outside<A: Algebra<Path = P>>(
        &self,
        vertex: u32,
        solved: &[P],
        algebra: &mut A,
    ) -> Result<P, StopReason> {
        let is_outside =
            |other: u32| ![self.part_of(vertex), NOWHERE].contains(&self.part_of(other));
        let mut sum = match vertex {
            0 => algebra.epsilon(),
            _ => algebra.empty(),
        };
        for &edge in self.arriving.of(vertex) {
            let Edge { from, path, .. } = &self.edges[edge as usize];
            if is_outside(*from) {
                let through = algebra.then(&solved[*from as usize], path)?;
                sum = algebra.either(&sum, &through)?;
            }
        }
        for call in self.calls.arriving(vertex) {
            if is_outside(call.from) && is_outside(call.out) {
                let path = algebra.call(call.number, &solved[call.out as usize])?;
                let through = algebra.then(&solved[call.from as usize], &path)?;
                sum = algebra.either(&sum, &through)?;
            }
        }
        Ok(sum)
    }

    /// The calls inside a part: as edges, where the out-node is known, and the others.
    fn calls_inside<A: Algebra<Path = P>>(
        &self,
        members: &[u32],
        solved: &[P],
        algebra: &A,
    ) -> Result<(Vec<Edge<P>>, Vec<&'g Call>), StopReason> {
        let (mut known, mut open) = (Vec::new(), Vec::new());
        for &to in members {
            for call in self.calls.arriving(to) {
                let (from, out) = (self.part_of(call.from), self.part_of(call.out));
                if from == NOWHERE || out == NOWHERE {
                    continue;
                }
                if out == self.part_of(to) {
                    open.push(call);
                } else if from == self.part_of(to) {
                    known.push(Edge {
                        from: call.from,
                        to,
                        path: algebra.call(call.number, &solved[call.out as usize])?,
                    });
                }
            }
        }
        Ok((known, open))
    }
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

/// Calls by where they lead, and by what they depend on.
struct Calls<'c> {
    all: &'c [Call],
    /// Sorted by where they start, by their out-nodes, and by where they lead; if there are any.
    sorted: Option<[Sorted; 3]>,
}

impl<'c> Calls<'c> {
    fn new(vertices: u32, all: &'c [Call]) -> Self {
        let sorted = (!all.is_empty()).then(|| {
            [
                Sorted::new(vertices, all.iter().map(|call| call.from)),
                Sorted::new(vertices, all.iter().map(|call| call.out)),
                Sorted::new(vertices, all.iter().map(|call| call.to)),
            ]
        });
        Calls { all, sorted }
    }

    /// The calls that start at a vertex, and those that have it as their out-node.
    fn leaving(&self, vertex: u32) -> impl Iterator<Item = &'c Call> {
        let lists = self.sorted.iter().flat_map(|[from, out, _]| [from, out]);
        let numbers = lists.flat_map(move |list| list.of(vertex));
        numbers.map(|&number| &self.all[number as usize])
    }

    /// The calls that lead to a vertex.
    fn arriving(&self, vertex: u32) -> impl Iterator<Item = &'c Call> {
        let lists = self.sorted.iter().map(|[_, _, to]| to);
        let numbers = lists.flat_map(move |list| list.of(vertex));
        numbers.map(|&number| &self.all[number as usize])
    }
}
