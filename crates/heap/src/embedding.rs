//! Embeddings of a right-hand side into a heap: where a rule can be applied backward.
//!
//! An embedding is injective on nodes and maps selectors and hyperedges to such with the same
//! label. A node that is not external in the rule has an image with just the selectors,
//! tentacles and variables that the rule knows: none may hang on a node that vanishes. External
//! nodes may have more. `null` may stand for any node of the rule whose type is a class.

use crate::abstraction::AbstractionOptions;
use crate::grammar::Rule;
use crate::hypergraph::{Edge, Heap, Hyperedge, Node};
use crate::plan::{Mask, Needs, Step};
use crate::symbols::{End, Index, TypeId, Variable};

/// What the search needs to know about a node of the heap.
#[derive(Clone, Copy, Debug, Default)]
struct Place {
    origins: u16,
    targets: u16,
    tentacles: u16,
    mask: Mask,
    /// A variable or an external place: the node must not vanish.
    held: bool,
    /// A node with selectors in the rule must not be mapped here.
    blocked: bool,
    markings: u16,
}

impl Place {
    /// Whether a node of a rule can be mapped here, as far as the type does not matter.
    fn offers(&self, needs: &Needs) -> bool {
        if !needs.mask.within(self.mask) || needs.origins > 0 && self.blocked {
            return false;
        }
        let is_root = needs.targets == self.targets && needs.tentacles == self.tentacles;
        if needs.root && !is_root {
            return false;
        }
        if needs.external {
            return needs.origins <= self.origins
                && needs.targets <= self.targets
                && needs.tentacles <= self.tentacles;
        }
        !self.held
            && needs.origins == self.origins
            && needs.targets == self.targets
            && needs.tentacles == self.tentacles
    }
}

/// A heap as the search sees it.
#[derive(Clone, Debug, Default)]
pub(crate) struct View {
    places: Vec<Place>,
    /// The nodes that may vanish.
    free: Vec<Node>,
    /// The nodes with selectors that may be hidden.
    open: Vec<Node>,
    /// How many markings there are.
    marked: usize,
}

impl View {
    /// Looks at the heap anew. If one external node is given, only that one counts for
    /// admissibility.
    pub(crate) fn look(&mut self, heap: &Heap, options: AbstractionOptions, only: Option<usize>) {
        self.places.clear();
        self.places.resize(heap.node_bound(), Place::default());
        self.marked = 0;
        for edge in heap.edges() {
            let origin = &mut self.places[edge.origin.at()];
            origin.origins += 1;
            origin.mask.origin(edge.selector);
            let target = &mut self.places[edge.target.at()];
            target.targets += 1;
            target.mask.target(edge.selector);
        }
        for hyperedge in heap.hyperedges() {
            for (tentacle, node) in hyperedge.tentacles.iter().enumerate() {
                let place = &mut self.places[node.at()];
                place.tentacles += 1;
                place.mask.tentacle(hyperedge.label.nonterminal, tentacle);
            }
        }
        for &(variable, node) in heap.variables() {
            let place = &mut self.places[node.at()];
            place.held = true;
            place.blocked |= options.blocks(variable);
            if variable.is_marking() {
                place.markings += 1;
                self.marked += 1;
            }
        }
        for (at, &node) in heap.externals().iter().enumerate() {
            let place = &mut self.places[node.at()];
            place.held = true;
            let constant = heap.node_type(node).is_constant();
            let exempt =
                only.is_some_and(|only| only != at) || constant && !options.admissible_constants;
            place.blocked |= options.admissible && !exempt;
        }
        self.free.clear();
        self.open.clear();
        for node in heap.nodes() {
            let place = &self.places[node.at()];
            if !place.held {
                self.free.push(node);
            }
            if place.origins > 0 && !place.blocked {
                self.open.push(node);
            }
        }
    }
}

impl AbstractionOptions {
    /// Whether a node with this variable must not be mapped to by a node with selectors.
    fn blocks(self, variable: Variable) -> bool {
        self.admissible
            && (self.admissible_constants || !variable.is_constant())
            && (self.admissible_markings || !variable.is_composed())
    }
}

/// The state of a search, kept between searches for its memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct Search {
    /// The image of each node of the rule.
    map: Vec<Option<Node>>,
    /// The nodes of the rule in the order in which they got images.
    trail: Vec<Node>,
    /// The hyperedges that are images.
    used: Vec<u16>,
    /// What the index variable stands for.
    index: Option<Index>,
    stack: Vec<Frame>,
}

/// A step that was begun.
#[derive(Clone, Copy, Debug, Default)]
struct Frame {
    /// Where to go on if the rest fails.
    next: usize,
    trail: usize,
    used: usize,
    index: Option<Index>,
}

/// A rule that can be applied backward.
#[derive(Clone, Debug, Default)]
pub(crate) struct Embedding {
    /// The image of each node of the rule.
    pub(crate) map: Vec<Option<Node>>,
    /// The hyperedges that are images.
    pub(crate) used: Vec<u16>,
    /// What the index variable stands for.
    pub(crate) index: Option<Index>,
}

impl Embedding {
    pub(crate) fn image(&self, node: Node) -> Node {
        self.map[node.at()].expect("an embedding maps every node of its rule")
    }
}

impl Search {
    /// The first embedding of a rule into a heap.
    pub(crate) fn find(&mut self, rule: &Rule, heap: &Heap, view: &View) -> bool {
        let steps = &rule.plan.steps;
        // Most rules fail at the first glance.
        let candidates = match steps.first() {
            Some(Step::Free(node)) => Some((node, &view.free)),
            Some(Step::Open(node)) => Some((node, &view.open)),
            _ => None,
        };
        if let Some((node, candidates)) = candidates {
            let needs = &rule.plan.needs[node.at()];
            let mut places = candidates.iter().map(|n| &view.places[n.at()]);
            if !places.any(|place| place.offers(needs)) {
                return false;
            }
        }
        self.map.clear();
        self.map.resize(rule.graph.node_bound(), None);
        self.trail.clear();
        self.used.clear();
        self.index = None;
        self.stack.clear();
        self.stack.push(Frame::default());
        loop {
            let depth = self.stack.len() - 1;
            let done = depth == steps.len();
            if done && self.markings_apart(heap, view) {
                return true;
            }
            let next = self.stack[depth].next;
            let next = match steps.get(depth) {
                Some(&step) => self.step(step, next, rule, heap, view),
                None => None,
            };
            if let Some(next) = next {
                self.stack[depth].next = next;
                self.stack.push(Frame {
                    next: 0,
                    trail: self.trail.len(),
                    used: self.used.len(),
                    index: self.index,
                });
            } else {
                self.stack.pop();
                let Some(&frame) = self.stack.last() else {
                    return false;
                };
                self.undo(frame);
            }
        }
    }

    /// What was found.
    pub(crate) fn embedding(&self) -> Embedding {
        Embedding {
            map: self.map.clone(),
            used: self.used.clone(),
            index: self.index,
        }
    }

    fn undo(&mut self, frame: Frame) {
        for node in &self.trail[frame.trail..] {
            self.map[node.at()] = None;
        }
        self.trail.truncate(frame.trail);
        self.used.truncate(frame.used);
        self.index = frame.index;
    }

    /// Tries a step from its choice `next` on; the result is the choice behind the one that fits.
    fn step(
        &mut self,
        step: Step,
        next: usize,
        rule: &Rule,
        heap: &Heap,
        view: &View,
    ) -> Option<usize> {
        let frame = Frame {
            next,
            trail: self.trail.len(),
            used: self.used.len(),
            index: self.index,
        };
        match step {
            Step::Free(node) | Step::Open(node) => {
                let free = matches!(step, Step::Free(_));
                let candidates = if free { &view.free } else { &view.open };
                let mut rest = candidates[next..].iter();
                let found = rest.position(|&n| self.bind(node, n, rule, heap, view))?;
                Some(next + found + 1)
            }
            Step::Follow(edge) => {
                let origin = self.map[edge.origin.at()].filter(|_| next == 0)?;
                let found = heap.edge(origin, edge.selector)?;
                let fits = found.annotation == edge.annotation;
                (fits && self.bind(edge.target, found.target, rule, heap, view)).then_some(1)
            }
            Step::Into(edge) | Step::Anywhere(edge) => {
                let target = self.map[edge.target.at()];
                let candidates = heap.edges().enumerate().skip(next);
                let fits = |found: &Edge| {
                    found.selector == edge.selector
                        && found.annotation == edge.annotation
                        && target.is_none_or(|target| target == found.target)
                };
                for (at, found) in candidates.filter(|(_, found)| fits(found)) {
                    if self.bind(edge.origin, found.origin, rule, heap, view)
                        && self.bind(edge.target, found.target, rule, heap, view)
                    {
                        return Some(at + 1);
                    }
                    self.undo(frame);
                }
                None
            }
            Step::Hyperedge(pattern) => {
                let pattern = rule.graph.hyperedge(pattern);
                for at in next..heap.hyperedge_count() {
                    let found = heap.hyperedge(at);
                    if found.label.nonterminal != pattern.label.nonterminal
                        || self.used.contains(&(at as u16))
                    {
                        continue;
                    }
                    if self.attach(pattern, found, rule, heap, view) {
                        self.used.push(at as u16);
                        return Some(at + 1);
                    }
                    self.undo(frame);
                }
                None
            }
            Step::Isolated(node) => {
                let mut candidates = heap.nodes().filter(|found| found.at() >= next);
                candidates
                    .find(|&found| self.bind(node, found, rule, heap, view))
                    .map(|found| found.at() + 1)
            }
        }
    }

    fn attach(
        &mut self,
        pattern: Hyperedge<'_>,
        found: Hyperedge<'_>,
        rule: &Rule,
        heap: &Heap,
        view: &View,
    ) -> bool {
        self.unify(pattern.label.index, found.label.index)
            && pattern
                .tentacles
                .iter()
                .zip(found.tentacles)
                .all(|(&node, &image)| self.bind(node, image, rule, heap, view))
    }

    /// Whether an index fits one of the rule; the index variable stands for the rest.
    fn unify(&mut self, pattern: Index, found: Index) -> bool {
        let (Some((count, End::Any)), Some((have, end))) = (pattern.parts(), found.parts()) else {
            return pattern == found;
        };
        let rest = have.checked_sub(count);
        let Some(rest) = rest.and_then(|rest| Index::new(rest, end)) else {
            return false;
        };
        *self.index.get_or_insert(rest) == rest
    }

    /// Maps a node of the rule to a node of the heap, if that is possible.
    fn bind(&mut self, node: Node, image: Node, rule: &Rule, heap: &Heap, view: &View) -> bool {
        if let Some(old) = self.map[node.at()] {
            return old == image;
        }
        let needs = &rule.plan.needs[node.at()];
        let place = &view.places[image.at()];
        let (wanted, found) = (rule.graph.node_type(node), heap.node_type(image));
        if wanted != found && (found != TypeId::NULL || wanted.is_constant()) {
            return false;
        }
        if !place.offers(needs) {
            return false;
        }
        if self.trail.iter().any(|n| self.map[n.at()] == Some(image)) {
            return false;
        }
        self.map[node.at()] = Some(image);
        self.trail.push(node);
        true
    }

    /// Whether no two markings in the embedding are joined by a selector.
    fn markings_apart(&self, heap: &Heap, view: &View) -> bool {
        if view.marked < 2 {
            return true;
        }
        let marked =
            |node: Node| view.places[node.at()].markings > 0 && self.map.contains(&Some(node));
        !heap.edges().any(|e| {
            let apart = e.origin != e.target || view.places[e.origin.at()].markings > 1;
            apart && marked(e.origin) && marked(e.target)
        })
    }
}
