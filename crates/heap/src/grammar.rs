//! Hyperedge replacement grammars (Chau, *Comparing Hierarchical and On-The-Fly Model Checking for Java
//! Pointer Programs*, 2019, Definition 2.2): what a nonterminal stands for.
//!
//! Besides its rules, a grammar has three things that are computed from them. **Reduction tentacles**: no
//! rule ever gives the node at such a tentacle a selector. **Collapsed rules**: a rule with some
//! of its external nodes fused, used for abstraction only. **Producers**: the rules that give the
//! node at a tentacle a certain selector at once, used for materialisation.

use std::sync::OnceLock;

use crate::collapse;
use crate::giving::Giving;
use crate::hypergraph::{Heap, Node};
use crate::plan::Plan;
use crate::symbols::{Index, Nonterminal, Selector, Symbols};

/// The rules of a nonterminal that stand together in a grammar. The same nonterminal may have
/// several such parts, with different indices.
#[derive(Clone, Debug)]
pub struct Fragment {
    /// The nonterminal on the left-hand side.
    pub nonterminal: Nonterminal,
    /// Its index on the left-hand side.
    pub index: Index,
    /// The reduction tentacles, if they are given.
    pub reduction: Option<Vec<bool>>,
    /// The right-hand sides. External node `i` is glued to tentacle `i`.
    pub rules: Vec<Heap>,
}

/// A rule.
#[derive(Clone, Debug)]
pub struct Rule {
    /// The nonterminal on the left-hand side.
    pub nonterminal: Nonterminal,
    /// Its index on the left-hand side.
    pub index: Index,
    /// The right-hand side.
    pub graph: Heap,
    /// The node of the right-hand side at each tentacle. In a collapsed rule nodes occur twice.
    pub tentacles: Vec<Node>,
    /// Whether external nodes are fused.
    pub collapsed: bool,
    /// Which rule this is (or was collapsed from): its number among the rules of the nonterminal,
    /// from 0.
    pub number: usize,
    pub(crate) plan: Plan,
}

impl Rule {
    fn new(nonterminal: Nonterminal, index: Index, number: usize, graph: Heap) -> Rule {
        let plan = Plan::new(&graph);
        let tentacles = graph.externals().to_vec();
        Rule {
            nonterminal,
            index,
            tentacles,
            collapsed: false,
            number,
            plan,
            graph,
        }
    }

    /// Whether the right-hand side has more than one hyperedge, or a selector, or a node that is
    /// not external. Other rules do not make a heap smaller when they are applied backward, and
    /// are not used for abstraction.
    pub fn is_increasing(&self) -> bool {
        self.plan.increasing
    }
}

/// What a grammar knows about a nonterminal.
#[derive(Clone, Debug, Default)]
struct Known {
    reduction: Vec<bool>,
    /// The rules that give the node at a tentacle a selector.
    producers: Vec<(u16, Selector, Vec<u32>)>,
    /// The rules, collapsed ones last.
    rules: Vec<u32>,
    /// For each tentacle and each selector: how it is given, once that is known.
    giving: Vec<OnceLock<Giving>>,
}

/// A hyperedge replacement grammar.
#[derive(Clone, Debug, Default)]
pub struct Grammar {
    fragments: Vec<Fragment>,
    /// In the order in which they are tried for abstraction.
    rules: Vec<Rule>,
    known: Vec<Known>,
    /// The nonterminals in the order of the fragments.
    order: Vec<Nonterminal>,
    /// How many selectors rules can have.
    selectors: usize,
    /// Whether some rule has an index.
    pub(crate) indexed: bool,
    /// The selectors that point to `null` in rules for the least indices.
    pub(crate) bottom: Vec<Selector>,
    /// From which tentacles all that a hyperedge stands for is reached, once that is known.
    pub(crate) leading: OnceLock<Vec<Vec<bool>>>,
}

impl Grammar {
    /// The grammar of these fragments. Each right-hand side has as many external nodes as its
    /// nonterminal has tentacles, and every hyperedge as many tentacles as its nonterminal's rank.
    pub fn new(symbols: &Symbols, fragments: Vec<Fragment>) -> Grammar {
        let mut grammar = Grammar::default();
        let count = symbols.nonterminals().count();
        grammar.known.resize_with(count, Known::default);
        for fragment in &fragments {
            let rank = symbols.rank(fragment.nonterminal);
            debug_assert!(fragment.rules.iter().all(|r| r.externals().len() == rank));
            if !grammar.order.contains(&fragment.nonterminal) {
                grammar.order.push(fragment.nonterminal);
            }
        }
        let mut plain: Vec<Vec<Rule>> = vec![Vec::new(); count];
        for fragment in &fragments {
            let rules = &mut plain[usize::from(fragment.nonterminal.0)];
            for graph in &fragment.rules {
                let (nonterminal, number) = (fragment.nonterminal, rules.len());
                let graph = graph.clone();
                rules.push(Rule::new(nonterminal, fragment.index, number, graph));
            }
        }
        grammar.reduction_tentacles(symbols, &fragments, &plain);
        for &nonterminal in &grammar.order {
            let at = usize::from(nonterminal.0);
            let mut rules = std::mem::take(&mut plain[at]);
            let reduction = &grammar.known[at].reduction;
            let collapsed: Vec<Rule> = rules
                .iter()
                .flat_map(|rule| {
                    collapse::collapsed(&rule.graph, reduction).into_iter().map(
                        |(graph, tentacles)| Rule {
                            tentacles,
                            collapsed: true,
                            ..Rule::new(nonterminal, rule.index, rule.number, graph)
                        },
                    )
                })
                .collect();
            rules.extend(collapsed);
            for rule in rules {
                let number = grammar.rules.len() as u32;
                let known = &mut grammar.known[at];
                known.rules.push(number);
                if !rule.collapsed {
                    known.produce(number, &rule);
                }
                grammar.rules.push(rule);
            }
        }
        grammar.fragments = fragments;
        grammar.selectors = symbols.selectors().count();
        for (nonterminal, known) in symbols.nonterminals().zip(&mut grammar.known) {
            let count = symbols.rank(nonterminal) * grammar.selectors;
            known.giving.resize_with(count, OnceLock::new);
        }
        grammar.note_indices();
        grammar
    }

    /// The greatest assignment such that the node at a reduction tentacle gets no selector, in no
    /// rule, neither directly nor through a hyperedge. A tentacle that the grammar declares not to be one
    /// is none.
    fn reduction_tentacles(
        &mut self,
        symbols: &Symbols,
        fragments: &[Fragment],
        rules: &[Vec<Rule>],
    ) {
        for (nonterminal, known) in symbols.nonterminals().zip(&mut self.known) {
            known.reduction = vec![true; symbols.rank(nonterminal)];
        }
        for fragment in fragments {
            let known = &mut self.known[usize::from(fragment.nonterminal.0)];
            for (place, given) in known
                .reduction
                .iter_mut()
                .zip(fragment.reduction.iter().flatten())
            {
                *place &= given;
            }
        }
        loop {
            let mut changed = false;
            for rule in rules.iter().flatten() {
                let at = usize::from(rule.nonterminal.0);
                for (tentacle, &node) in rule.tentacles.iter().enumerate() {
                    if self.known[at].reduction[tentacle] && self.gets_selector(&rule.graph, node) {
                        self.known[at].reduction[tentacle] = false;
                        changed = true;
                    }
                }
            }
            if !changed {
                return;
            }
        }
    }

    /// Whether a node has a selector, or a hyperedge at it may give it one.
    fn gets_selector(&self, graph: &Heap, node: Node) -> bool {
        graph.edges_of(node).next().is_some()
            || graph.hyperedges().any(|hyperedge| {
                let mut tentacles = hyperedge.tentacles.iter().enumerate();
                tentacles.any(|(tentacle, &other)| {
                    other == node && !self.is_reduction(hyperedge.label.nonterminal, tentacle)
                })
            })
    }

    /// Whether no rule ever gives the node at this tentacle a selector.
    pub fn is_reduction(&self, nonterminal: Nonterminal, tentacle: usize) -> bool {
        let known = self.known.get(usize::from(nonterminal.0));
        let place = known.and_then(|known| known.reduction.get(tentacle));
        place.is_none_or(|&reduction| reduction)
    }

    /// The rules that give the node at a tentacle this selector at once.
    pub(crate) fn producers(
        &self,
        nonterminal: Nonterminal,
        tentacle: usize,
        selector: Selector,
    ) -> &[u32] {
        let known = self.known.get(usize::from(nonterminal.0));
        let all = known.map_or(&[][..], |known| &known.producers);
        let found = all
            .iter()
            .find(|(t, s, _)| usize::from(*t) == tentacle && *s == selector);
        found.map_or(&[], |(_, _, rules)| rules)
    }

    /// Where it is noted how a nonterminal gives the node at a tentacle a selector.
    pub(crate) fn noted_giving(
        &self,
        nonterminal: Nonterminal,
        tentacle: usize,
        selector: Selector,
    ) -> Option<&OnceLock<Giving>> {
        let known = self.known.get(usize::from(nonterminal.0))?;
        let selector = usize::from(selector.0);
        let place = tentacle * self.selectors + selector;
        known
            .giving
            .get(place)
            .filter(|_| selector < self.selectors)
    }

    /// All rules, in the order in which they are tried for abstraction: nonterminal by
    /// nonterminal, plain rules before collapsed ones.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    pub(crate) fn rules_mut(&mut self) -> &mut [Rule] {
        &mut self.rules
    }

    /// The rules of a nonterminal, without collapsed ones.
    pub fn rules_of(&self, nonterminal: Nonterminal) -> impl Iterator<Item = &Rule> {
        let known = self.known.get(usize::from(nonterminal.0));
        let rules = known.map_or(&[][..], |known| &known.rules);
        let rules = rules.iter().map(|&rule| &self.rules[rule as usize]);
        rules.take_while(|rule| !rule.collapsed)
    }

    /// The nonterminals from which no concrete heap is derived, at any index: there is no rule, or
    /// every rule needs another one of them.
    pub fn unproductive(&self) -> Vec<Nonterminal> {
        let mut empty: Vec<Nonterminal> = self.nonterminals().to_vec();
        loop {
            let before = empty.len();
            let ends = |rule: &Rule| {
                let mut parts = rule.graph.hyperedges();
                parts.all(|part| !empty.contains(&part.label.nonterminal))
            };
            let full: Vec<Nonterminal> = (empty.iter().copied())
                .filter(|&one| self.rules_of(one).any(&ends))
                .collect();
            empty.retain(|one| !full.contains(one));
            if empty.len() == before {
                return empty;
            }
        }
    }

    /// The nonterminals that have rules, in the order of their first fragments.
    pub fn nonterminals(&self) -> &[Nonterminal] {
        &self.order
    }

    /// What the grammar was made from.
    pub fn fragments(&self) -> &[Fragment] {
        &self.fragments
    }
}

impl Known {
    fn produce(&mut self, number: u32, rule: &Rule) {
        for (tentacle, &node) in rule.tentacles.iter().enumerate() {
            for edge in rule.graph.edges_of(node) {
                let key = (tentacle as u16, edge.selector);
                match self.producers.iter_mut().find(|p| (p.0, p.1) == key) {
                    Some(found) => found.2.push(number),
                    None => self.producers.push((key.0, key.1, vec![number])),
                }
            }
        }
    }
}
