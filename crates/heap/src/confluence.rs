//! Backward confluence: whether the order in which rules are applied backward matters.
//!
//! Two rules can get in each other's way only where they share a selector or a hyperedge, or a node
//! on which nothing hangs; there is a warning about the latter in any case. Every
//! such overlap of two right-hand sides is abstracted in both ways; if the results differ, the
//! grammar is not backward confluent (Plump, *Checking graph-transformation systems for
//! confluence*, ECEASST 26, 2010). Abstraction with admissibility is not looked at: there the
//! variables decide too. Nor are collapsed rules: they serve rings, and where a ring is closed is
//! a matter of choice. Effort is bounded; where that was not enough, the answer says so.

use crate::abstraction::{AbstractionOptions, apply};
use crate::check::{Warning, WarningKind, rule_name};
use crate::embedding::Embedding;
use crate::grammar::{Grammar, Rule};
use crate::hypergraph::{Edge, Heap, Node};
use crate::symbols::{Index, Label, Selector, Symbols};

/// Rules with more selectors and hyperedges are not looked at.
const MOST_ITEMS: usize = 12;
/// More overlaps are not looked at.
const MOST_OVERLAPS: usize = 20_000;

/// A selector or a hyperedge of a rule.
#[derive(Clone, PartialEq, Eq)]
enum Item {
    Edge(Selector, [Node; 2]),
    Hyperedge(usize, Label, Vec<Node>),
}

impl Item {
    fn nodes(&self) -> &[Node] {
        match self {
            Item::Edge(_, nodes) => nodes,
            Item::Hyperedge(_, _, nodes) => nodes,
        }
    }

    fn same_label(&self, other: &Item) -> bool {
        match (self, other) {
            (Item::Edge(a, _), Item::Edge(b, _)) => a == b,
            (Item::Hyperedge(_, a, _), Item::Hyperedge(_, b, _)) => a == b,
            _ => false,
        }
    }
}

fn items(rule: &Rule) -> Vec<Item> {
    let edges = rule.graph.edges();
    let edges = edges.map(|edge| Item::Edge(edge.selector, [edge.origin, edge.target]));
    let hyperedges = rule.graph.hyperedges().enumerate();
    let hyperedges = hyperedges.map(|(at, h)| Item::Hyperedge(at, h.label, h.tentacles.to_vec()));
    edges.chain(hyperedges).collect()
}

/// Looks for two rules whose order matters. One warning for each pair. Where `stop` says so, that is all.
pub(crate) fn check(
    symbols: &Symbols,
    grammar: &Grammar,
    warnings: &mut Vec<Warning>,
    stop: &mut dyn FnMut() -> bool,
) {
    let rules: Vec<&Rule> = grammar
        .rules()
        .iter()
        .filter(|rule| rule.is_increasing() && !rule.collapsed)
        .collect();
    let plain = |rule: &&Rule| rule.index == Index::NONE;
    let mut left = MOST_OVERLAPS;
    let mut partial = !rules
        .iter()
        .all(|rule| plain(rule) && items(rule).len() <= MOST_ITEMS);
    for rule in &rules {
        let lonely = |node: &Node| {
            let needs = rule.plan.needs[node.at()];
            !needs.external && needs.origins + needs.targets + needs.tentacles == 0
        };
        if rule.graph.nodes().any(|node| lonely(&node)) {
            let name = rule_name(symbols, rule);
            warnings.push(Warning {
                nonterminal: rule.nonterminal,
                rule: Some(rule.number),
                kind: WarningKind::Lonely,
                message: format!(
                    "{name} has a node on which nothing hangs: for abstraction any such node of \
                     the heap will do"
                ),
            });
        }
    }
    let all: Vec<Vec<Item>> = rules.iter().map(|rule| items(rule)).collect();
    'pairs: for (at, one) in rules.iter().enumerate() {
        for (other, two) in rules[..=at].iter().enumerate() {
            if left == 0 || stop() {
                partial = true;
                break 'pairs;
            }
            let (first, second) = (&all[at], &all[other]);
            if first.len() > MOST_ITEMS || second.len() > MOST_ITEMS {
                continue;
            }
            let mut pair = Pair {
                grammar,
                one,
                two,
                first,
                second,
                left: &mut left,
            };
            if pair.differs(0, &mut Vec::new()) {
                let (a, b) = (rule_name(symbols, two), rule_name(symbols, one));
                let who = if std::ptr::eq(one, two) {
                    format!("two places of {a}")
                } else {
                    format!("{a} and {b}")
                };
                warnings.push(Warning {
                    nonterminal: one.nonterminal,
                    rule: Some(one.number),
                    kind: WarningKind::NotConfluent,
                    message: format!("{who} overlap"),
                });
            }
            partial |= left == 0;
        }
    }
    if let Some(rule) = rules.first().filter(|_| partial) {
        let why = if rules.iter().all(plain) {
            "is large"
        } else {
            "has indices"
        };
        warnings.push(Warning {
            nonterminal: rule.nonterminal,
            rule: None,
            kind: WarningKind::TooLarge,
            message: format!(
                "the grammar {why}: whether the order of abstraction matters was looked at in part \
                 only"
            ),
        });
    }
}

/// Two rules, and what can be shared.
struct Pair<'a> {
    grammar: &'a Grammar,
    one: &'a Rule,
    two: &'a Rule,
    first: &'a [Item],
    second: &'a [Item],
    left: &'a mut usize,
}

impl Pair<'_> {
    /// Whether some overlap that extends the choices made for the first items has two different
    /// abstractions. The depth is at most [`MOST_ITEMS`].
    fn differs(&mut self, at: usize, shared: &mut Vec<(usize, usize)>) -> bool {
        if *self.left == 0 {
            return false;
        }
        if at == self.first.len() {
            return !shared.is_empty() && self.overlap(shared);
        }
        for other in 0..self.second.len() {
            let taken = shared.iter().any(|pair| pair.1 == other);
            if taken || !self.first[at].same_label(&self.second[other]) {
                continue;
            }
            shared.push((at, other));
            let found = self.image(shared).is_some() && self.differs(at + 1, shared);
            shared.pop();
            if found {
                return true;
            }
        }
        self.differs(at + 1, shared)
    }

    /// For each node of the first rule the node of the second that it is, if the shared items
    /// agree about that.
    fn image(&self, shared: &[(usize, usize)]) -> Option<Vec<Option<Node>>> {
        let mut image = vec![None; self.one.graph.node_bound()];
        for &(a, b) in shared {
            let (a, b) = (self.first[a].nodes(), self.second[b].nodes());
            for (a, b) in a.iter().zip(b) {
                if *image[a.at()].get_or_insert(*b) != *b {
                    return None;
                }
                let types = (self.one.graph.node_type(*a), self.two.graph.node_type(*b));
                if types.0 != types.1 {
                    return None;
                }
            }
        }
        let mut images: Vec<Node> = image.iter().flatten().copied().collect();
        let count = images.len();
        images.sort_unstable();
        images.dedup();
        (images.len() == count).then_some(image)
    }

    /// Whether the overlap has two different abstractions.
    fn overlap(&mut self, shared: &[(usize, usize)]) -> bool {
        *self.left -= 1;
        let Some(image) = self.image(shared) else {
            return false;
        };
        let (one, two) = (&self.one.graph, &self.two.graph);
        let mut heap = two.clone();
        let mut place = image.clone();
        for node in one.nodes() {
            place[node.at()].get_or_insert_with(|| heap.add_node(one.node_type(node)));
        }
        let at = |node: Node| place[node.at()].unwrap_or(node);
        let mut used_one = Vec::new();
        for (number, item) in self.first.iter().enumerate() {
            let found = shared.iter().find(|pair| pair.0 == number);
            match (item, found.map(|pair| &self.second[pair.1])) {
                (Item::Hyperedge(..), Some(Item::Hyperedge(other, ..))) => {
                    used_one.push(*other as u16);
                }
                (_, Some(_)) => (),
                (Item::Edge(selector, [origin, target]), None) => {
                    let (origin, target) = (at(*origin), at(*target));
                    if heap.target(origin, *selector).is_some() {
                        return false;
                    }
                    heap.set_selector(origin, *selector, target);
                }
                (Item::Hyperedge(_, label, nodes), None) => {
                    used_one.push(heap.hyperedge_count() as u16);
                    let nodes: Vec<Node> = nodes.iter().map(|&node| at(node)).collect();
                    heap.add_hyperedge(*label, &nodes);
                }
            }
        }
        let first = Embedding {
            map: place,
            used: used_one,
            index: None,
        };
        let second = Embedding {
            map: (0..two.node_bound() as u16)
                .map(|n| Some(Node(n)))
                .collect(),
            used: (0..two.hyperedge_count() as u16).collect(),
            index: None,
        };
        // What neither rule makes vanish is known outside.
        let inner_one = one.nodes().filter(|node| !one.externals().contains(node));
        let inner_one: Vec<Node> = inner_one.map(|node| first.image(node)).collect();
        let inner_two = two.nodes().filter(|node| !two.externals().contains(node));
        let inner_two: Vec<Node> = inner_two.collect();
        let outer = heap
            .nodes()
            .filter(|node| !inner_one.contains(node) && !inner_two.contains(node));
        let outer: Vec<Node> = outer.collect();
        heap.set_externals(&outer);
        if !exact(&heap, one, &first) || !exact(&heap, two, &second) {
            return false;
        }
        let options = AbstractionOptions::AGGRESSIVE;
        let codes = [(self.one, &first), (self.two, &second)].map(|(rule, embedding)| {
            let mut heap = heap.clone();
            apply(&mut heap, rule, embedding);
            heap.compact();
            self.grammar.abstract_heap(&mut heap, &options);
            heap.code()
        });
        codes[0] != codes[1]
    }
}

/// Whether the nodes that vanish have no more selectors and tentacles than the rule knows.
fn exact(heap: &Heap, rule: &Heap, embedding: &Embedding) -> bool {
    let degree = |heap: &Heap, node: Node| {
        let ends =
            |edge: &Edge| usize::from(edge.origin == node) + usize::from(edge.target == node);
        let ends: usize = heap.edges().map(|edge| ends(&edge)).sum();
        let tentacles = heap.hyperedges().flat_map(|h| h.tentacles);
        ends + tentacles.filter(|other| **other == node).count()
    };
    let mut inner = rule.nodes().filter(|node| !rule.externals().contains(node));
    inner.all(|node| degree(heap, embedding.image(node)) == degree(rule, node))
}
