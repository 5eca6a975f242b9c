//! Indices: a nonterminal may carry a number, say the height of a tree, so that a grammar can
//! speak of balanced trees.
//!
//! An index is `s…s` with an end. The ends `Z` and `C` are bottoms, `X` stands for `s…sZ` and `Y`
//! for `s…sC`, each with one and the same number of `s` wherever it occurs in a heap. Indices are
//! abstracted for all hyperedges of a heap together: `Z` becomes `X` if every index of that kind
//! ends so, and `sX` becomes `X` if every one has an `s` to lose. Either way the new heap stands
//! for more concrete heaps. Materialisation splits `X` again, see [`Heap::replace`].
//!
//! **Calls.** A callee sees a part of the heap and splits and abstracts its indices, while those of
//! the frame stay as they are. So that the same `X` in both is still the same number when the callee
//! returns, its part has a hyperedge without tentacles that carries the end with which it was
//! entered. What is done to all indices is done to this one, and what has become of it says what
//! has become of the indices in the frame. (ATTESTOR glues indices as they are, which compares heights that
//! have nothing to do with each other.)

use crate::abstraction::AbstractionOptions;
use crate::grammar::Grammar;
use crate::holes::Holes;
use crate::hypergraph::{Edge, Heap, Node};
use crate::symbols::{Annotation, End, Index, Label, Nonterminal, Selector, Symbols, TypeId};

impl Grammar {
    /// Notes what index abstraction needs to know.
    pub(crate) fn note_indices(&mut self) {
        let rules = self.rules().iter();
        let indexed = rules.clone().any(|rule| rule.index != Index::NONE);
        let mut bottom: Vec<Selector> = rules
            .filter(|rule| matches!(rule.index.parts(), Some((_, End::Z | End::C))))
            .flat_map(|rule| {
                let null = |node: Node| rule.graph.node_type(node) == TypeId::NULL;
                rule.graph.edges().filter(move |edge| null(edge.target))
            })
            .map(|edge| edge.selector)
            .collect();
        bottom.sort_unstable();
        bottom.dedup();
        self.indexed = indexed;
        self.bottom = bottom;
    }

    /// Abstracts the indices of a heap, and says whether that changed something. Nothing is done
    /// while a selector by which the least structures are known points to `null`: what is small
    /// is abstracted by rules first.
    pub fn abstract_indices(&self, heap: &mut Heap) -> bool {
        if !self.indexed {
            return false;
        }
        if self.shows_bottom(heap) {
            return false;
        }
        let z = abstract_end(heap, End::Z, End::X);
        let c = abstract_end(heap, End::C, End::Y);
        z || c
    }

    /// Whether a selector by which the least structures are known points to `null`.
    fn shows_bottom(&self, heap: &Heap) -> bool {
        let small = |edge: &Edge| {
            heap.node_type(edge.target) == TypeId::NULL && self.bottom.contains(&edge.selector)
        };
        heap.edges().any(|edge| small(&edge))
    }

    /// Adds to a fragment what it needs to know of the indices around it.
    pub fn remember_indices(&self, fragment: &mut Heap, around: &[&Heap]) {
        if !self.indexed {
            return;
        }
        let shown = around.iter().any(|heap| self.shows_bottom(heap));
        for (bottom, open) in KINDS {
            let outside = |end: End| around.iter().any(|heap| heap.has_end(end));
            // An open end also keeps the callee from turning bottoms into an open end of its own:
            // bottoms beside open ends stay. That is needed if there is an open end on either side,
            // and also if the least structures are seen around the fragment: they are compared with
            // bottoms when it is back in its place.
            let start = if (outside(bottom) || outside(open))
                && (outside(open) || fragment.has_end(open))
                || shown && fragment.has_end(bottom)
            {
                open
            } else if outside(bottom) && fragment.has_end(bottom) {
                bottom
            } else {
                continue;
            };
            fragment.remember(start);
        }
    }
}

/// Abstracts the indices with one kind of end.
fn abstract_end(heap: &mut Heap, bottom: End, open: End) -> bool {
    let own = |heap: &Heap, at: usize| {
        let parts = heap.hyperedge(at).label.index.parts();
        parts.filter(|(_, end)| *end == bottom || *end == open)
    };
    let found: Vec<(u16, End)> = (0..heap.hyperedge_count())
        .filter_map(|at| own(heap, at))
        .collect();
    let Some(least) = found.iter().map(|(count, _)| *count).min() else {
        return false;
    };
    // Bottoms beside open ends: that `X` is some other number must not be forgotten.
    let same = found.iter().all(|(_, end)| *end == found[0].1);
    if !same || least == 0 && found[0].1 == open {
        return false;
    }
    for at in 0..heap.hyperedge_count() {
        if let Some((count, _)) = own(heap, at)
            && let Some(index) = Index::new(count - least, open)
        {
            let label = heap.hyperedge(at).label;
            heap.relabel(at, Label { index, ..label });
        }
    }
    true
}

/// The bottom and the open end of each kind.
const KINDS: [(End, End); 2] = [(End::Z, End::X), (End::C, End::Y)];

impl Heap {
    /// Remembers the same ends as a fragment does.
    pub fn remember_as(&mut self, fragment: &Heap) {
        for (start, _) in fragment.remembered() {
            self.remember(start);
        }
    }

    fn remember(&mut self, start: End) {
        let nonterminal = Nonterminal::remembering(start);
        if let Some(index) = Index::new(0, start) {
            self.add_hyperedge(Label { nonterminal, index }, &[]);
        }
    }

    /// Forgets what is remembered.
    pub fn forget_indices(&mut self) {
        for at in (0..self.hyperedge_count()).rev() {
            if self.hyperedge(at).label.nonterminal.remembered().is_some() {
                self.remove_hyperedge(at);
            }
        }
    }

    /// Brings the indices up to date by what a fragment of this heap remembers. `None` if an index
    /// becomes too long.
    pub(crate) fn recall_indices(&mut self, fragment: &Heap) -> Option<()> {
        for (start, index) in fragment.remembered() {
            if let Some((count, end)) = index.parts() {
                self.unroll(start, count, end)?;
            }
        }
        Some(())
    }

    /// The same for the context of a fragment, which remembers the same ends as the fragment.
    pub fn recall_context(&mut self, fragment: &Heap) -> Option<()> {
        let own: Vec<(End, Index)> = self.remembered().collect();
        self.forget_indices();
        for (start, index) in fragment.remembered() {
            let now = own.iter().find(|pair| pair.0 == start);
            let now = now.and_then(|pair| pair.1.parts());
            if let Some((count, end)) = index.parts() {
                self.unroll(now.map_or(start, |(_, end)| end), count, end)?;
            }
        }
        Some(())
    }

    /// The ends that are remembered, and what they are now.
    fn remembered(&self) -> impl Iterator<Item = (End, Index)> + '_ {
        self.hyperedges().filter_map(|hyperedge| {
            let start = hyperedge.label.nonterminal.remembered()?;
            Some((start, hyperedge.label.index))
        })
    }

    fn has_end(&self, wanted: End) -> bool {
        let mut indices = self.hyperedges().filter_map(|h| h.label.index.parts());
        indices.any(|(_, end)| end == wanted)
    }
}

/// Balanced trees as ATTESTOR knows them: the nonterminal `BT` with its height as index,
/// and selectors `left` and `right` that say how much higher their tree is than the other.
#[derive(Clone, Debug)]
pub struct Balance {
    tree: Nonterminal,
    /// The tentacle of the tree at which its root is: the only one where it has selectors.
    root: usize,
    /// A tree with a hole.
    path: Option<Nonterminal>,
    left: Selector,
    right: Selector,
    /// The annotations for the differences from `-FARTHEST` on.
    differences: Vec<Annotation>,
}

const FARTHEST: i32 = 3;

impl Balance {
    /// The names of balanced trees. `None` if there is no nonterminal `BT` with a root, or no
    /// selectors `left` and `right`.
    pub fn new(symbols: &mut Symbols, grammar: &Grammar) -> Option<Balance> {
        let tree = symbols.nonterminal("BT")?;
        let mut tentacles = 0..symbols.rank(tree);
        let root = tentacles.find(|&tentacle| !grammar.is_reduction(tree, tentacle))?;
        let path = symbols.nonterminal("P");
        let (left, right) = (symbols.selector("left")?, symbols.selector("right")?);
        let differences = -FARTHEST..=FARTHEST;
        Some(Balance {
            tree,
            root,
            path,
            left,
            right,
            differences: differences
                .map(|difference| symbols.add_annotation(&difference.to_string()))
                .collect(),
        })
    }

    /// Writes the difference of the heights on each pair of selectors `left` and `right`, as far
    /// as the heights are known. Others lose what was written on them.
    pub fn annotate(&self, heap: &mut Heap) {
        let heights = self.heights(heap);
        let nodes: Vec<Node> = heap.nodes().collect();
        for node in nodes {
            let pair = [self.left, self.right].map(|selector| heap.edge(node, selector));
            let height = |edge: Option<Edge>| heights[edge?.target.at()];
            let difference = match pair.map(height) {
                [Some((a, end)), Some((b, other))] if end == other => Some(a - b),
                _ => None,
            };
            // If one of the two has no value, what was written on the other is out of date.
            for (edge, sign) in pair.into_iter().zip([1, -1]) {
                let Some(edge) = edge else {
                    continue;
                };
                let place = difference.map(|difference| sign * difference + FARTHEST);
                let place = place.and_then(|place| usize::try_from(place).ok());
                let annotation = place.and_then(|place| self.differences.get(place));
                let annotation = annotation.copied().unwrap_or(Annotation::NONE);
                heap.set_edge(Edge { annotation, ..edge });
            }
        }
    }

    /// The height of the tree at each node, above its end. A tree at `null` is one lower than the
    /// least tree.
    fn heights(&self, heap: &Heap) -> Vec<Option<(i32, End)>> {
        let mut heights: Vec<Option<(i32, End)>> = vec![None; heap.node_bound()];
        for node in heap.nodes() {
            if heap.node_type(node) == TypeId::NULL {
                heights[node.at()] = Some((-1, End::Z));
            }
        }
        for hyperedge in heap.hyperedges() {
            if hyperedge.label.nonterminal == self.tree
                && let (Some((count, end)), Some(node)) = (
                    hyperedge.label.index.parts(),
                    hyperedge.tentacles.get(self.root),
                )
            {
                heights[node.at()] = Some((count.into(), end));
            }
        }
        // A node whose two trees are known is known.
        for _ in 0..heap.node_count() {
            let mut changed = false;
            for node in heap.nodes() {
                let known = |selector| {
                    let target = heap.target(node, selector)?;
                    heights[target.at()]
                };
                if let (None, Some((a, end)), Some((b, other))) =
                    (heights[node.at()], known(self.left), known(self.right))
                    && end == other
                {
                    heights[node.at()] = Some((a.max(b) + 1, end));
                    changed = true;
                }
            }
            if !changed {
                break;
            }
        }
        heights
    }

    /// Whether the heap, without its variables, is one balanced tree: at most one selector is
    /// left, one hyperedge `BT` and at most one `P`. `holes` are needed if it has been around one.
    pub fn is_balanced_tree(&self, grammar: &Grammar, holes: Option<&Holes>, heap: &Heap) -> bool {
        let grammar = holes.map_or(grammar, |holes| &holes.grammar);
        let trees = holes.map_or(vec![self.tree], |holes| holes.closed(&[self.tree]));
        let mut heap = heap.clone();
        self.annotate(&mut heap);
        let heap = grammar.bare(&heap, AbstractionOptions::AGGRESSIVE);
        let count = |wanted: &[Nonterminal]| {
            let labels = heap.hyperedges().map(|h| h.label.nonterminal);
            labels.filter(|label| wanted.contains(label)).count()
        };
        let open = holes.is_some_and(|holes| holes.is_open(&heap));
        heap.edges().len() <= 1
            && !open
            && count(&trees) == 1
            && self.path.is_none_or(|path| count(&[path]) <= 1)
    }

    /// Whether the heap, without its variables, is a pair of balanced trees: at most eight
    /// selectors are left, and every index occurs twice on average.
    pub fn is_bimap(&self, grammar: &Grammar, heap: &Heap) -> bool {
        let mut heap = heap.clone();
        self.annotate(&mut heap);
        let heap = grammar.bare(&heap, AbstractionOptions::AGGRESSIVE);
        let mut indices: Vec<Index> = heap.hyperedges().map(|h| h.label.index).collect();
        let count = indices.len();
        indices.sort_unstable();
        indices.dedup();
        heap.edges().len() <= 8 && count.is_multiple_of(2) && indices.len() == count / 2
    }
}
