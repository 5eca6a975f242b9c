//! Path expressions from one source of a graph (Tarjan, Fast algorithms for solving path problems,
//! 1981; the SSPE problem of section 3.2 of the FWPDS paper).
//!
//! The dominator tree cuts the graph into pieces. The children of a vertex are connected by
//! *derived* edges: an edge into a child from below another child stands for the way from that
//! child to the edge. If the derived graph has no cycles, as in structured programs, its vertices
//! are taken in order. A strongly connected part of several vertices, where the graph is
//! irreducible, is solved by Gaussian elimination.

use droste_base::{Guard, StopReason};

use crate::components::components;
use crate::expression::{ExprId, Expressions};

/// An edge with its label.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Edge {
    pub(crate) from: u32,
    pub(crate) to: u32,
    pub(crate) label: u32,
}

const NONE: u32 = u32::MAX;

/// For each vertex, the expression of all paths from vertex 0.
pub(crate) fn paths_from_source(
    vertices: u32,
    edges: &[Edge],
    expressions: &mut Expressions,
    guard: &mut Guard,
) -> Result<Vec<ExprId>, StopReason> {
    let flow = Flow::new(vertices, edges);
    let idom = flow.dominators();
    let count = flow.vertex.len();
    let mut children = vec![Vec::new(); count];
    for w in 1..count {
        children[idom[w] as usize].push(w as u32);
    }
    let mut forest = Forest::new(count);
    for u in (0..count as u32).rev() {
        guard.check()?;
        if !children[u as usize].is_empty() {
            let solved = solve_siblings(u, &children[u as usize], &flow, &mut forest, expressions)?;
            for (&child, value) in children[u as usize].iter().zip(solved) {
                forest.link(child, u, value);
            }
        }
    }
    let mut result = vec![Expressions::EMPTY; vertices as usize];
    for v in 0..count as u32 {
        let (_, expression) = forest.eval(v, expressions)?;
        result[flow.vertex[v as usize] as usize] = expression;
    }
    Ok(result)
}

/// A graph by preorder numbers of a depth-first search.
struct Flow {
    /// The vertex with a number.
    vertex: Vec<u32>,
    parent: Vec<u32>,
    /// Edges into each number, as number and label.
    into: Vec<Vec<(u32, u32)>>,
}

impl Flow {
    fn new(vertices: u32, edges: &[Edge]) -> Self {
        let mut first = vec![0u32; vertices as usize + 1];
        for edge in edges {
            first[edge.from as usize + 1] += 1;
        }
        for i in 1..first.len() {
            first[i] += first[i - 1];
        }
        let mut next = first.clone();
        let mut order = vec![0u32; edges.len()];
        for (i, edge) in edges.iter().enumerate() {
            let place = &mut next[edge.from as usize];
            order[*place as usize] = i as u32;
            *place += 1;
        }
        let mut number = vec![NONE; vertices as usize];
        let mut flow = Flow {
            vertex: Vec::new(),
            parent: Vec::new(),
            into: Vec::new(),
        };
        let mut stack = vec![(0u32, 0u32)];
        while let Some((vertex, parent)) = stack.pop() {
            if number[vertex as usize] != NONE {
                continue;
            }
            let own = flow.vertex.len() as u32;
            number[vertex as usize] = own;
            flow.vertex.push(vertex);
            flow.parent.push(parent);
            let range = first[vertex as usize] as usize..first[vertex as usize + 1] as usize;
            for &edge in order[range].iter().rev() {
                stack.push((edges[edge as usize].to, own));
            }
        }
        flow.into = vec![Vec::new(); flow.vertex.len()];
        for edge in edges {
            let (from, to) = (number[edge.from as usize], number[edge.to as usize]);
            if from != NONE && to != 0 {
                flow.into[to as usize].push((from, edge.label));
            }
        }
        flow
    }

    /// Immediate dominators by preorder numbers (semi-NCA; Georgiadis, Tarjan and Werneck, 2006).
    fn dominators(&self) -> Vec<u32> {
        let count = self.vertex.len();
        let mut semi: Vec<u32> = (0..count as u32).collect();
        let mut label = semi.clone();
        let mut ancestor = self.parent.clone();
        let mut path = Vec::new();
        for w in (1..count as u32).rev() {
            let mut best = self.parent[w as usize];
            for &(v, _) in &self.into[w as usize] {
                let u = if v <= w {
                    v
                } else {
                    // Compresses the path from v up to the last vertex above w that is linked.
                    let mut at = v;
                    while ancestor[at as usize] > w {
                        path.push(at);
                        at = ancestor[at as usize];
                    }
                    let mut least = label[at as usize];
                    let top = ancestor[at as usize];
                    while let Some(x) = path.pop() {
                        let own = label[x as usize];
                        if semi[own as usize] < semi[least as usize] {
                            least = own;
                        }
                        label[x as usize] = least;
                        ancestor[x as usize] = top;
                    }
                    semi[label[v as usize] as usize]
                };
                best = best.min(u);
            }
            semi[w as usize] = best;
            label[w as usize] = w;
        }
        let mut idom = self.parent.clone();
        for w in 1..count {
            while idom[w] > semi[w] {
                idom[w] = idom[idom[w] as usize];
            }
        }
        idom
    }
}

/// Trees of vertices that have been solved, with the expression from the parent to each.
struct Forest {
    ancestor: Vec<u32>,
    value: Vec<ExprId>,
    path: Vec<u32>,
}

impl Forest {
    fn new(count: usize) -> Self {
        Forest {
            ancestor: vec![NONE; count],
            value: vec![Expressions::EPSILON; count],
            path: Vec::new(),
        }
    }

    fn link(&mut self, child: u32, parent: u32, value: ExprId) {
        self.ancestor[child as usize] = parent;
        self.value[child as usize] = value;
    }

    /// The root of the tree, and the expression from there to `v`.
    fn eval(&mut self, v: u32, expressions: &mut Expressions) -> Result<(u32, ExprId), StopReason> {
        if self.ancestor[v as usize] == NONE {
            return Ok((v, Expressions::EPSILON));
        }
        let mut at = v;
        while self.ancestor[at as usize] != NONE {
            self.path.push(at);
            at = self.ancestor[at as usize];
        }
        let root = at;
        // The one below the root is right already.
        let mut above = Expressions::EPSILON;
        while let Some(x) = self.path.pop() {
            let value = expressions.then(above, self.value[x as usize])?;
            self.value[x as usize] = value;
            self.ancestor[x as usize] = root;
            above = value;
        }
        Ok((root, above))
    }
}

/// The expressions of all paths from `u` to its children in the dominator tree.
fn solve_siblings(
    u: u32,
    children: &[u32],
    flow: &Flow,
    forest: &mut Forest,
    expressions: &mut Expressions,
) -> Result<Vec<ExprId>, StopReason> {
    let local = |child: u32| {
        // Children are in ascending order.
        children.binary_search(&child).unwrap_or(usize::MAX)
    };
    let mut direct = vec![Expressions::EMPTY; children.len()];
    let mut derived: Vec<Vec<(usize, ExprId)>> = vec![Vec::new(); children.len()];
    for (i, &w) in children.iter().enumerate() {
        for &(v, label) in &flow.into[w as usize] {
            let edge = expressions.label(label)?;
            if v == u {
                direct[i] = expressions.either(direct[i], edge)?;
                continue;
            }
            let (root, way) = forest.eval(v, expressions)?;
            let way = expressions.then(way, edge)?;
            let from = local(root);
            debug_assert!(
                from < children.len(),
                "an edge into a child comes from below a child"
            );
            match derived[i].iter_mut().find(|(known, _)| *known == from) {
                Some((_, known)) => *known = expressions.either(*known, way)?,
                None => derived[i].push((from, way)),
            }
        }
    }
    let mut solved = vec![Expressions::EMPTY; children.len()];
    let into = |i: u32, out: &mut Vec<u32>| {
        out.extend(derived[i as usize].iter().map(|&(from, _)| from as u32));
    };
    // What is depended on comes first.
    for part in components(children.len() as u32, into) {
        let is_inside = |i: usize| part.contains(&(i as u32));
        let mut start = Vec::with_capacity(part.len());
        for &i in &part {
            let mut sum = direct[i as usize];
            for &(from, way) in &derived[i as usize] {
                if !is_inside(from) {
                    let through = expressions.then(solved[from], way)?;
                    sum = expressions.either(sum, through)?;
                }
            }
            start.push(sum);
        }
        let values = eliminate(&part, start, &derived, expressions)?;
        for (&i, value) in part.iter().zip(values) {
            solved[i as usize] = value;
        }
    }
    Ok(solved)
}

/// Solves `X = start + X · derived` inside one strongly connected part.
fn eliminate(
    part: &[u32],
    mut start: Vec<ExprId>,
    derived: &[Vec<(usize, ExprId)>],
    expressions: &mut Expressions,
) -> Result<Vec<ExprId>, StopReason> {
    let count = part.len();
    let mut matrix = vec![Expressions::EMPTY; count * count];
    for (column, &i) in part.iter().enumerate() {
        for &(from, way) in &derived[i as usize] {
            if let Some(row) = part.iter().position(|&p| p as usize == from) {
                matrix[row * count + column] = way;
            }
        }
    }
    let mut stars = Vec::with_capacity(count);
    for i in 0..count {
        let star = expressions.star(matrix[i * count + i])?;
        stars.push(star);
        let reach = expressions.then(start[i], star)?;
        for j in i + 1..count {
            let edge = matrix[i * count + j];
            if edge == Expressions::EMPTY {
                continue;
            }
            let more = expressions.then(reach, edge)?;
            start[j] = expressions.either(start[j], more)?;
            let edge = expressions.then(star, edge)?;
            for l in i + 1..count {
                let more = expressions.then(matrix[l * count + i], edge)?;
                let cell = &mut matrix[l * count + j];
                *cell = expressions.either(*cell, more)?;
            }
        }
    }
    let mut solved = start;
    for i in (0..count).rev() {
        let mut sum = solved[i];
        for l in i + 1..count {
            let more = expressions.then(solved[l], matrix[l * count + i])?;
            sum = expressions.either(sum, more)?;
        }
        solved[i] = expressions.then(sum, stars[i])?;
    }
    Ok(solved)
}
