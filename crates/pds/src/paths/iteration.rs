//! What is iterated: a strongly connected part of a graph, or what elimination leaves of it.

use super::Sorted;

/// Vertices that depend on each other, named by their places: `0..size`. Most edges should lead to later
/// ones, because that is the order in which vertices are visited.
pub(crate) struct Knot<P> {
    /// For each vertex, where its edges begin; one more at the end.
    first: Vec<u32>,
    /// Where edges lead, and what they multiply with.
    edges: Vec<(u32, P)>,
    calls: Vec<KnotCall<P>>,
    /// The calls by where they start, and by their out-nodes.
    by_from: Sorted,
    by_out: Sorted,
}

/// A call whose out-node is in the knot.
#[derive(Clone, Debug)]
pub(crate) struct KnotCall<P> {
    /// The vertex where it starts; or what leads to that vertex, if it is outside.
    pub(crate) from: Result<u32, P>,
    pub(crate) to: u32,
    pub(crate) out: u32,
    pub(crate) number: u32,
    /// The way round the vertex where it leads.
    pub(crate) round: P,
}

impl<P: Clone> Knot<P> {
    /// The edges are sorted here.
    pub(crate) fn new<'e>(
        size: usize,
        edges: impl Iterator<Item = ((u32, u32), &'e P)> + Clone,
        calls: Vec<KnotCall<P>>,
    ) -> Self
    where
        P: 'e,
    {
        let mut first = vec![0u32; size + 2];
        let mut sorted = true;
        let (mut last, mut count) = (0, 0);
        for ((from, _), _) in edges.clone() {
            first[from as usize + 2] += 1;
            sorted &= last <= from;
            (last, count) = (from, count + 1);
        }
        for at in 2..first.len() {
            first[at] += first[at - 1];
        }
        let edges = if sorted {
            first.remove(0);
            edges.map(|((_, to), path)| (to, path.clone())).collect()
        } else {
            let mut places: Vec<Option<(u32, &P)>> = vec![None; count];
            for ((from, to), path) in edges {
                let place = &mut first[from as usize + 1];
                places[*place as usize] = Some((to, path));
                *place += 1;
            }
            first.truncate(size + 1);
            let places = places.into_iter().flatten();
            places.map(|(to, path)| (to, path.clone())).collect()
        };
        let nowhere = size as u32;
        let from = calls
            .iter()
            .map(|call| *call.from.as_ref().unwrap_or(&nowhere));
        Knot {
            first,
            edges,
            by_from: Sorted::new(nowhere + 1, from),
            by_out: Sorted::new(nowhere + 1, calls.iter().map(|call| call.out)),
            calls,
        }
    }

    /// How many vertices there are.
    pub(crate) fn size(&self) -> usize {
        self.first.len() - 1
    }

    /// How many edges and calls there are.
    pub(crate) fn len(&self) -> usize {
        self.edges.len() + self.calls.len()
    }

    /// The edges from a vertex.
    pub(crate) fn edges(&self, at: usize) -> &[(u32, P)] {
        &self.edges[self.first[at] as usize..self.first[at + 1] as usize]
    }

    pub(crate) fn calls(&self) -> &[KnotCall<P>] {
        &self.calls
    }

    /// The numbers of the calls that start at a vertex.
    pub(crate) fn calls_from(&self, at: usize) -> &[u32] {
        self.by_from.of(at as u32)
    }

    /// The numbers of the calls with this out-node.
    pub(crate) fn calls_of(&self, at: usize) -> &[u32] {
        self.by_out.of(at as u32)
    }
}
