//! What a reader of heaps and grammars has met on the way: which types and selectors a text names and
//! where, and unknown keys.

use droste_source::Span;
use droste_source::diagnostics::Diagnostic;
use droste_source::suggest::nearest;

use crate::hypergraph::Node;
use crate::symbols::{Nonterminal, Selector, TypeId, Variable};

/// A type in a text, or a selector of an object of that type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mention {
    /// The type.
    pub object: TypeId,
    /// The selector, unless it is the type alone that is named here.
    pub selector: Option<Selector>,
    /// Where.
    pub place: Span,
}

/// What a reader has met.
#[derive(Clone, Debug, Default)]
pub struct Notes {
    /// The types of nodes, and the selectors that nodes have.
    pub mentions: Vec<Mention>,
    /// The nodes of the last graph, and where they stand.
    pub nodes: Vec<(Node, Span)>,
    /// Its external nodes.
    pub externals: Vec<Span>,
    /// Its variables, where they point to, and where that is said.
    pub variables: Vec<(Variable, Node, Span)>,
    /// The nodes at which its selectors begin.
    pub origins: Vec<(Node, Span)>,
    /// Its hyperedges.
    pub hyperedges: Vec<(Nonterminal, Vec<Node>, Span)>,
    /// What is ignored.
    pub warnings: Vec<Diagnostic>,
}

/// More warnings are not told of one text.
const MOST_WARNINGS: usize = 20;

impl Notes {
    /// Another graph begins. The places inside a graph are only of use if the whole text is one graph.
    pub(crate) fn begin_graph(&mut self) {
        self.nodes.clear();
        self.externals.clear();
        self.variables.clear();
        self.origins.clear();
        self.hyperedges.clear();
    }

    /// A key that is none of those that an object of this kind has.
    pub(crate) fn unknown_key(&mut self, key: &str, place: Span, known: &[&str]) {
        if self.warnings.len() >= MOST_WARNINGS {
            return;
        }
        let message = format!(
            "the key `{}` is not known, so it is ignored",
            key.escape_debug()
        );
        let warning = Diagnostic::warning(place, message);
        self.warnings
            .push(match nearest(key, known.iter().copied()) {
                Some(close) => warning.help(format!("did you mean `{close}`?")),
                None => warning.help(format!(
                    "the keys of such an object are {}",
                    known.join(", ")
                )),
            });
    }
}
