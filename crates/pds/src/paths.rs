//! Path expressions from one source of a graph (Tarjan, A unified approach to path problems, 1981;
//! the SSPE problem of section 3.2 of the FWPDS paper).
//!
//! Strongly connected parts come one after the other. A vertex that is a part of its own is the sum
//! of the edges that lead there, each behind the expression of where it starts: expressions are
//! shared, so that each edge is multiplied once. Inside a larger part vertices are eliminated, as in
//! Gauss's method for sparse matrices: next is the one with the fewest ways through it (Markowitz,
//! 1957), and those where the part is entered come last. So a loop becomes one star at its head,
//! whatever is inside, and the expressions of irreducible graphs stay small.
//!
//! The FWPDS paper cuts graphs along dominators instead (Tarjan, Fast algorithms for solving path
//! problems, 1981). For graphs without loops that takes several products for each edge, where one is
//! enough.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use droste_automata::components::{NONE as NOWHERE, components};
use droste_base::{Guard, StopReason};

use crate::expression::{ExprId, Expressions};

/// An edge with its label.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Edge {
    pub(crate) from: u32,
    pub(crate) to: u32,
    pub(crate) label: u32,
}

/// For each vertex, the expression of all paths from vertex 0.
pub(crate) fn paths_from_source(
    vertices: u32,
    edges: &[Edge],
    expressions: &mut Expressions,
    guard: &mut Guard,
) -> Result<Vec<ExprId>, StopReason> {
    let leaving = Sorted::new(vertices, edges.iter().map(|edge| edge.from));
    let found = components(
        vertices as usize,
        [0],
        |vertex, out: &mut Vec<(u32, ())>| {
            let to = |&edge: &u32| (edges[edge as usize].to, ());
            out.extend(leaving.of(vertex).iter().map(to));
        },
    );
    drop(leaving);
    let into = Sorted::new(vertices, edges.iter().map(|edge| edge.to));
    let part_of = |vertex: u32| found.of[vertex as usize];
    // Vertices that are not reachable are in the last list.
    let list = (0..vertices).map(|vertex| part_of(vertex).min(found.count));
    let parts = Sorted::new(found.count + 1, list);
    let mut solved = vec![Expressions::EMPTY; vertices as usize];
    let mut elimination = Elimination::new(vertices);
    // Edges lead to the same part or to one with a smaller number.
    for part in (0..found.count).rev() {
        guard.check()?;
        let members = parts.of(part);
        for &vertex in members {
            let mut sum = if vertex == 0 {
                Expressions::EPSILON
            } else {
                Expressions::EMPTY
            };
            for &edge in into.of(vertex) {
                let Edge { from, label, .. } = edges[edge as usize];
                let from_part = part_of(from);
                if from_part != part && from_part != NOWHERE {
                    let label = expressions.label(label)?;
                    let through = expressions.then(solved[from as usize], label)?;
                    sum = expressions.either(sum, through)?;
                }
            }
            solved[vertex as usize] = sum;
        }
        let inside = |vertex: u32| {
            let edges = into.of(vertex).iter().map(|&edge| edges[edge as usize]);
            edges.filter(|edge| part_of(edge.from) == part)
        };
        match members {
            [only] => {
                let mut round = Expressions::EMPTY;
                for edge in inside(*only) {
                    let label = expressions.label(edge.label)?;
                    round = expressions.either(round, label)?;
                }
                let round = expressions.star(round)?;
                let place = &mut solved[*only as usize];
                *place = expressions.then(*place, round)?;
            }
            members => {
                let inside = members.iter().flat_map(|&vertex| inside(vertex));
                elimination.solve(members, inside, &mut solved, expressions, guard)?;
            }
        }
    }
    Ok(solved)
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
struct Gone {
    vertex: u32,
    /// If it has a name, what others call it.
    name: Option<ExprId>,
    round: ExprId,
    before: Vec<(u32, ExprId)>,
}

/// See [`Elimination::cost`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Cost {
    is_entered: bool,
    adds_edges: bool,
    ways: usize,
}

/// Solves `x = start + x · edges` inside a strongly connected part.
struct Elimination {
    /// For each vertex that is still there, where its edges lead, itself left out.
    next: Vec<Vec<(u32, ExprId)>>,
    /// For each such vertex, where edges to it come from, itself left out.
    before: Vec<Vec<u32>>,
    /// For each such vertex, its edges to itself.
    own: Vec<ExprId>,
    is_gone: Vec<bool>,
}

impl Elimination {
    fn new(vertices: u32) -> Self {
        let count = vertices as usize;
        Elimination {
            next: vec![Vec::new(); count],
            before: vec![Vec::new(); count],
            own: vec![Expressions::EMPTY; count],
            is_gone: vec![false; count],
        }
    }

    fn add(
        &mut self,
        from: u32,
        to: u32,
        way: ExprId,
        expressions: &mut Expressions,
    ) -> Result<(), StopReason> {
        if from == to {
            let known = &mut self.own[from as usize];
            *known = expressions.either(*known, way)?;
            return Ok(());
        }
        let next = &mut self.next[from as usize];
        if let Some((_, known)) = next.iter_mut().find(|(other, _)| *other == to) {
            *known = expressions.either(*known, way)?;
        } else {
            next.push((to, way));
            self.before[to as usize].push(from);
        }
        Ok(())
    }

    /// What it costs to replace a vertex by the ways through it. First it counts whether there
    /// would be more edges afterwards, then whether the part is entered there.
    fn cost(&self, vertex: u32, solved: &[ExprId]) -> Cost {
        let before = self.before[vertex as usize].len();
        let next = self.next[vertex as usize].len();
        Cost {
            adds_edges: before.min(next) > 1,
            is_entered: solved[vertex as usize] != Expressions::EMPTY,
            ways: before * next,
        }
    }

    /// `solved` has for each member what leads there from outside, and then its expression.
    fn solve(
        &mut self,
        members: &[u32],
        inside: impl Iterator<Item = Edge>,
        solved: &mut [ExprId],
        expressions: &mut Expressions,
        guard: &mut Guard,
    ) -> Result<(), StopReason> {
        for Edge { from, to, label } in inside {
            let label = expressions.label(label)?;
            self.add(from, to, label, expressions)?;
        }
        let mut cheapest: BinaryHeap<_> = (members.iter())
            .map(|&vertex| Reverse((self.cost(vertex, solved), vertex)))
            .collect();
        let mut dearest: BinaryHeap<_> = (members.iter())
            .map(|&vertex| (self.cost(vertex, solved).ways, vertex))
            .collect();
        let mut all_gone: Vec<Gone> = Vec::with_capacity(members.len());
        while let Some(&Reverse((cost, cheap))) = cheapest.peek() {
            guard.check()?;
            // What costs something else by now is there again.
            if self.is_gone[cheap as usize] || cost != self.cost(cheap, solved) {
                cheapest.pop();
                continue;
            }
            let (mut vertex, mut named) = (cheap, false);
            if cost.adds_edges {
                while let Some((cost, dear)) = dearest.pop() {
                    if !self.is_gone[dear as usize] && cost == self.cost(dear, solved).ways {
                        (vertex, named) = (dear, true);
                        break;
                    }
                }
            }
            let gone = self.remove((vertex, named), solved, expressions, guard)?;
            let touched = gone.before.iter().map(|&(from, _)| from);
            let next = std::mem::take(&mut self.next[vertex as usize]);
            for other in touched.chain(next.iter().map(|&(to, _)| to)) {
                let cost = self.cost(other, solved);
                cheapest.push(Reverse((cost, other)));
                dearest.push((cost.ways, other));
            }
            all_gone.push(gone);
        }
        // The last to go is known first.
        for gone in all_gone.into_iter().rev() {
            let mut sum = solved[gone.vertex as usize];
            for (from, way) in gone.before {
                let through = expressions.then(solved[from as usize], way)?;
                sum = expressions.either(sum, through)?;
            }
            let whole = expressions.then(sum, gone.round)?;
            solved[gone.vertex as usize] = match gone.name {
                Some(name) => {
                    expressions.define(gone.vertex, whole);
                    name
                }
                None => whole,
            };
        }
        Ok(())
    }

    /// Replaces a vertex by the ways through it; or, if it is to be named, by its name for those
    /// behind it.
    fn remove(
        &mut self,
        (vertex, named): (u32, bool),
        solved: &mut [ExprId],
        expressions: &mut Expressions,
        guard: &mut Guard,
    ) -> Result<Gone, StopReason> {
        let at = vertex as usize;
        let own = std::mem::replace(&mut self.own[at], Expressions::EMPTY);
        let round = expressions.star(own)?;
        let next = std::mem::take(&mut self.next[at]);
        for &(to, _) in &next {
            self.before[to as usize].retain(|&other| other != vertex);
        }
        self.is_gone[at] = true;
        let (start, name) = if named {
            let name = expressions.vertex(vertex)?;
            (name, Some(name))
        } else {
            (expressions.then(solved[at], round)?, None)
        };
        for &(to, way) in &next {
            let through = expressions.then(start, way)?;
            let place = &mut solved[to as usize];
            *place = expressions.either(*place, through)?;
        }
        let mut before = Vec::new();
        for from in std::mem::take(&mut self.before[at]) {
            guard.check()?;
            let ways = &mut self.next[from as usize];
            let Some(place) = ways.iter().position(|(to, _)| *to == vertex) else {
                continue;
            };
            let (_, way) = ways.swap_remove(place);
            before.push((from, way));
            if named {
                continue;
            }
            let way = expressions.then(way, round)?;
            for &(to, rest) in &next {
                let through = expressions.then(way, rest)?;
                self.add(from, to, through, expressions)?;
            }
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
