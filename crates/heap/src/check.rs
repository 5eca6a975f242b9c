//! Checks of a grammar that a user wrote. What they find makes an analysis imprecise, or lets it
//! run for ever; it does not make the grammar wrong. Every warning names the rule.
//!
//! * **Increasing**: a rule that only renames a hyperedge, or makes nothing, is not used backward.
//! * **Locally concretisable**, see [`giving`](crate::giving): the rules that give a node a selector
//!   at once stand for all heaps in which the nonterminal gives it that selector.
//! * A **reduction tentacle** that the grammar claims is not believed if a rule gives its node a selector.
//!
//! Backward confluence has a file of its own, [`confluence`].

use std::collections::BTreeSet;

use crate::confluence;
use crate::giving::{may_give, uncovered};
use crate::grammar::{Grammar, Rule};
use crate::symbols::{Label, Nonterminal, Selector, Symbols};

/// What is to be said about a grammar.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// The nonterminal.
    pub nonterminal: Nonterminal,
    /// The rule, counted from 0 among the plain rules of the nonterminal.
    pub rule: Option<usize>,
    /// Which check it is.
    pub kind: WarningKind,
    /// What it means.
    pub message: String,
}

/// Which check a warning comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WarningKind {
    /// A rule does not make a heap smaller when it is applied backward.
    NotIncreasing,
    /// A tentacle is not the reduction tentacle that it is said to be.
    NoReduction,
    /// Materialisation needs all rules, and may not come to an end.
    NotLocallyConcretisable,
    /// Two rules, or two places of one, overlap so that it matters which is taken first: heaps that
    /// are the same may stay apart.
    NotConfluent,
    /// Nothing is attached to a node of a rule.
    Lonely,
    /// A nonterminal has no rules, or none that ends.
    Unproductive,
    /// The check was given up.
    TooLarge,
}

/// Checks a grammar.
pub fn check(symbols: &Symbols, grammar: &Grammar) -> Vec<Warning> {
    check_until(symbols, grammar, &mut || false)
}

/// Checks a grammar until `stop` says that this has taken long enough. What has not been looked at by
/// then is not warned of, but for one warning that says so.
pub fn check_until(
    symbols: &Symbols,
    grammar: &Grammar,
    stop: &mut dyn FnMut() -> bool,
) -> Vec<Warning> {
    let mut warnings = Vec::new();
    let name = |nonterminal| symbols.nonterminal_name(nonterminal);
    for rule in grammar.rules().iter().filter(|rule| !rule.collapsed) {
        if !rule.is_increasing() {
            let (name, number) = (name(rule.nonterminal), rule.number + 1);
            warnings.push(Warning {
                nonterminal: rule.nonterminal,
                rule: Some(rule.number),
                kind: WarningKind::NotIncreasing,
                message: format!(
                    "rule {number} of `{name}` has no selector, no node of its own and at most \
                     one hyperedge: it is not used for abstraction, which would not end"
                ),
            });
        }
    }
    claims(symbols, grammar, &mut warnings);
    unproductive(symbols, grammar, &mut warnings);
    for &nonterminal in grammar.nonterminals() {
        for tentacle in 0..symbols.rank(nonterminal) {
            for selector in symbols.selectors() {
                concretisable(
                    symbols,
                    grammar,
                    nonterminal,
                    tentacle,
                    selector,
                    &mut warnings,
                    stop,
                );
            }
        }
    }
    confluence::check(symbols, grammar, &mut warnings, stop);
    warnings
}

/// Reduction tentacles that are none.
fn claims(symbols: &Symbols, grammar: &Grammar, warnings: &mut Vec<Warning>) {
    for fragment in grammar.fragments() {
        let nonterminal = fragment.nonterminal;
        for (tentacle, &claimed) in fragment.reduction.iter().flatten().enumerate() {
            if claimed && !grammar.is_reduction(nonterminal, tentacle) {
                let name = symbols.nonterminal_name(nonterminal);
                let tentacle = tentacle + 1;
                warnings.push(Warning {
                    nonterminal,
                    rule: None,
                    kind: WarningKind::NoReduction,
                    message: format!(
                        "tentacle {tentacle} of `{name}` is said to be a reduction tentacle, but \
                         some rule gives its node a selector: it is taken for none"
                    ),
                });
            }
        }
    }
}

/// Nonterminals that stand for nothing.
fn unproductive(symbols: &Symbols, grammar: &Grammar, warnings: &mut Vec<Warning>) {
    let mut ends: BTreeSet<Nonterminal> = BTreeSet::new();
    loop {
        let before = ends.len();
        for rule in grammar.rules().iter().filter(|rule| !rule.collapsed) {
            let mut labels = rule.graph.hyperedges().map(|h| h.label.nonterminal);
            if labels.all(|label| ends.contains(&label)) {
                ends.insert(rule.nonterminal);
            }
        }
        if ends.len() == before {
            break;
        }
    }
    let used = grammar
        .rules()
        .iter()
        .flat_map(|rule| rule.graph.hyperedges());
    let used = used.map(|hyperedge| hyperedge.label.nonterminal);
    let all: BTreeSet<Nonterminal> = used.chain(grammar.nonterminals().iter().copied()).collect();
    for &nonterminal in all.difference(&ends) {
        let name = symbols.nonterminal_name(nonterminal);
        warnings.push(Warning {
            nonterminal,
            rule: None,
            kind: WarningKind::Unproductive,
            message: format!("no rules of `{name}` lead to a heap without hyperedges"),
        });
    }
}

/// Whether the rules that give the node at a tentacle a selector at once cover all others.
fn concretisable(
    symbols: &Symbols,
    grammar: &Grammar,
    nonterminal: Nonterminal,
    tentacle: usize,
    selector: Selector,
    warnings: &mut Vec<Warning>,
    stop: &mut dyn FnMut() -> bool,
) {
    if stop() || !may_give(grammar, nonterminal, tentacle, selector) {
        return;
    }
    for (rule, leaves_out) in uncovered(grammar, nonterminal, tentacle, selector, stop) {
        let (name, number) = (symbols.nonterminal_name(nonterminal), rule.number + 1);
        let (field, place) = (symbols.selector_name(selector), tentacle + 1);
        let message = if leaves_out {
            format!(
                "rule {number} of `{name}` does not give tentacle {place} the selector `{field}` at \
                 once, other rules may: what `{field}` holds there is found by trying all rules, \
                 and it may be nothing"
            )
        } else {
            format!(
                "rule {number} of `{name}` does not give tentacle {place} the selector `{field}` \
                 at once, and it was not shown that the rules that do cover it: what `{field}` \
                 holds there is found by trying all rules, which may not come to an end"
            )
        };
        warnings.push(Warning {
            nonterminal,
            rule: Some(rule.number),
            kind: WarningKind::NotLocallyConcretisable,
            message,
        });
    }
}

/// The name of a rule in a message.
pub(crate) fn rule_name(symbols: &Symbols, rule: &Rule) -> String {
    let label = Label {
        nonterminal: rule.nonterminal,
        index: rule.index,
    };
    let name = crate::write::label_text(symbols, label);
    format!("rule {} of `{name}`", rule.number + 1)
}
