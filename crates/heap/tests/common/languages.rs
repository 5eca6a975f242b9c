//! Grammars for tests, random abstract heaps, and the concrete heaps they stand for.

use std::collections::{BTreeSet, HashSet};

use droste_heap::{
    Code, Grammar, Heap, Indices, Label, Node, Nonterminal, Predefined, Rule, Symbols, TypeId,
    Variable, read_grammar, read_sid,
};
use droste_testkit::random::Random;

/// Predefined ones first. The others: a list whose elements share an owner, a list of lists.
pub(crate) const GRAMMARS: [&str; 5] = [
    "SLList",
    "DLList",
    "BT",
    "Owned(a{Item}, !b{Item}, !o{Item}) <= a.nx -> b * a.own -> o
        <= m{Item} | a.nx -> m * a.own -> o * Owned(m, b, o)
        <= m{Item} | Owned(a, m, o) * Owned(m, b, o);",
    "Inner(a{In}, !b{In}) <= a.next -> b <= m{In} | a.next -> m * Inner(m, b);
     Outer(a{Out}, !b{Out}, !n{In}) <= i{In} | a.next -> b * a.in -> i * Inner(i, n)
        <= i{In} m{Out} | a.next -> m * a.in -> i * Inner(i, n) * Outer(m, b, n);",
];

pub(crate) struct Language {
    pub(crate) symbols: Symbols,
    pub(crate) grammar: Grammar,
}

impl Language {
    pub(crate) fn new(text: &str) -> Language {
        let mut symbols = Symbols::new();
        let text = Predefined::named(text).map_or(text, |which| which.text());
        let fragments = if text.starts_with('[') {
            read_grammar(&mut symbols, text, Indices::Read).unwrap()
        } else {
            read_sid(&mut symbols, text).unwrap()
        };
        let grammar = Grammar::new(&symbols, fragments);
        Language { symbols, grammar }
    }

    /// One hyperedge of the first nonterminal; nodes are at least as many as it has tentacles. In
    /// half of the cases a variable at the first node, and `null` where that is possible.
    pub(crate) fn start(&self, random: &mut Random) -> Heap {
        let mut heap = Heap::new();
        let nonterminal = self.grammar.nonterminals()[0];
        let rule = self.grammar.rules_of(nonterminal).next().unwrap();
        let mut tentacles = Vec::new();
        for (tentacle, &node) in rule.tentacles.iter().enumerate() {
            let reduction = self.grammar.is_reduction(nonterminal, tentacle);
            let id = rule.graph.node_type(node);
            let null = id == TypeId::NULL || reduction && random.percent(50);
            let node = match heap.variable(Variable::NULL) {
                Some(node) if null => node,
                _ => heap.add_node(if null { TypeId::NULL } else { id }),
            };
            if null {
                heap.set_variable(Variable::NULL, node);
            }
            tentacles.push(node);
        }
        heap.add_hyperedge(Label::from(nonterminal), &tentacles);
        if random.percent(50) {
            heap.set_variable(Variable(50), tentacles[0]);
        }
        heap
    }

    /// A derived heap with some variables, of about that size.
    pub(crate) fn random_heap(&self, random: &mut Random, size: usize) -> Heap {
        let mut heap = self.start(random);
        for _ in 0..random.below(12) {
            let next = derive(self, &heap, random);
            if next.node_count() > size {
                break;
            }
            heap = next;
        }
        let nodes: Vec<Node> = heap.nodes().collect();
        for variable in 0..random.below(3) {
            heap.set_variable(Variable(51 + variable as u16), *random.pick(&nodes));
        }
        heap
    }

    /// All heaps without hyperedges and with at most `size` nodes that a heap stands for, by every
    /// derivation.
    pub(crate) fn derived(&self, heap: &Heap, size: usize) -> BTreeSet<Code> {
        self.enumerate(heap, size, |_| true)
    }

    /// The same, only by rules that give the first node with selectors one at once. For a locally
    /// concretisable grammar that is enough, and much faster.
    pub(crate) fn concrete(&self, heap: &Heap, size: usize) -> BTreeSet<Code> {
        self.enumerate(heap, size, |rule| {
            let first = (0..rule.tentacles.len())
                .find(|&tentacle| !self.grammar.is_reduction(rule.nonterminal, tentacle));
            first.is_none_or(|t| rule.graph.edges_of(rule.tentacles[t]).next().is_some())
        })
    }

    fn enumerate(
        &self,
        heap: &Heap,
        size: usize,
        allowed: impl Fn(&Rule) -> bool,
    ) -> BTreeSet<Code> {
        let mut seen: HashSet<Code> = HashSet::new();
        let mut stack = vec![heap.clone()];
        let mut found = BTreeSet::new();
        while let Some(heap) = stack.pop() {
            let code = heap.code();
            if heap.node_count() > size || seen.contains(&code) {
                continue;
            }
            if heap.hyperedge_count() == 0 {
                found.insert(code);
                continue;
            }
            seen.insert(code);
            let nonterminal = heap.hyperedge(0).label.nonterminal;
            let rules = self
                .grammar
                .rules_of(nonterminal)
                .filter(|rule| allowed(rule));
            stack.extend(rules.filter_map(|rule| heap.replace(0, rule)));
        }
        found
    }

    pub(crate) fn nonterminal(&self, name: &str) -> Nonterminal {
        self.symbols.nonterminal(name).unwrap()
    }
}

/// Replaces some hyperedge by some rule.
pub(crate) fn derive(language: &Language, heap: &Heap, random: &mut Random) -> Heap {
    if heap.hyperedge_count() == 0 {
        return heap.clone();
    }
    let at = random.below(heap.hyperedge_count());
    let nonterminal = heap.hyperedge(at).label.nonterminal;
    let rules: Vec<_> = language.grammar.rules_of(nonterminal).collect();
    let rule: &Rule = rules[random.below(rules.len())];
    let next = heap.replace(at, rule);
    next.unwrap_or_else(|| heap.clone())
}
