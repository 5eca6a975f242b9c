//! Which types and selectors an initial heap may name: classes of the program with their fields, and what
//! the grammar speaks of. Anything else is a mistake: no statement and no rule would ever see it.

use std::collections::BTreeSet;

use droste_heap::{Grammar, Heap, Mention, Selector, Symbols, TypeId};
use droste_pointer::PointerProgram;
use droste_source::diagnostics::Diagnostic;
use droste_source::suggest::nearest;

use crate::load::{any_of, rename};
use crate::settings::Settings;

/// What there is.
pub(crate) struct Vocabulary<'a> {
    program: &'a PointerProgram,
    /// The types that rules have, with the selectors of each.
    types: BTreeSet<TypeId>,
    selectors: BTreeSet<(TypeId, Selector)>,
}

impl<'a> Vocabulary<'a> {
    pub(crate) fn new(program: &'a PointerProgram, grammar: &Grammar) -> Self {
        let graphs = || grammar.rules().iter().map(|rule| &rule.graph);
        let types = graphs().flat_map(|graph| graph.nodes().map(|node| graph.node_type(node)));
        let selectors = graphs().flat_map(|graph| {
            let edges = graph.edges();
            edges.map(|edge| (graph.node_type(edge.origin), edge.selector))
        });
        Vocabulary {
            program,
            types: types.collect(),
            selectors: selectors.collect(),
        }
    }

    /// What is wrong with something that a heap names, if anything is.
    pub(crate) fn problem(
        &self,
        settings: &Settings,
        symbols: &mut Symbols,
        mention: &Mention,
    ) -> Option<Diagnostic> {
        let (object, selector) = renamed(settings, self.program, symbols, mention);
        if object.is_constant() {
            return None;
        }
        let written = symbols.type_name(mention.object).to_owned();
        let name = symbols.type_name(object);
        let class = self
            .program
            .class_named(name)
            .map(|id| self.program.class(id));
        let Some(selector) = selector else {
            if class.is_some() || self.types.contains(&object) {
                return None;
            }
            if let Some(all) = any_of(self.program, name) {
                let message = format!("the type `{name}` may be any of {all}");
                return Some(Diagnostic::error(mention.place, message));
            }
            let message = format!("neither the program nor the grammar has the type `{written}`");
            let message = if name == written {
                message
            } else {
                format!("{message}, which is renamed to `{name}`")
            };
            let known = self.type_names(symbols);
            let error = Diagnostic::error(mention.place, message);
            return Some(with_nearest(error, name, &known));
        };
        if self.selectors.contains(&(object, selector)) {
            return None;
        }
        let mut known: Vec<&str> = (self.selectors.iter())
            .filter(|pair| pair.0 == object)
            .map(|pair| symbols.selector_name(pair.1))
            .collect();
        if let Some(class) = class {
            let used = class.fields.iter().map(|(id, _)| self.program.field(*id));
            known.extend(used.chain(class.unused.iter().map(|(name, _)| name.as_str())));
        } else if !self.types.contains(&object) {
            // That is told where the type is named.
            return None;
        }
        let label = symbols.selector_name(selector);
        if known.contains(&label) {
            return None;
        }
        let message = format!("an object of type `{name}` has no field `{label}`");
        let error = Diagnostic::error(mention.place, message);
        Some(with_nearest(error, label, &known))
    }

    fn type_names<'s>(&'s self, symbols: &'s Symbols) -> Vec<&'s str> {
        let classes = self.program.classes.iter().map(|class| class.name.as_str());
        let types = self.types.iter().filter(|one| !one.is_constant());
        classes
            .chain(types.map(|&one| symbols.type_name(one)))
            .collect()
    }
}

/// What a type and a selector are after all renamings.
fn renamed(
    settings: &Settings,
    program: &PointerProgram,
    symbols: &mut Symbols,
    mention: &Mention,
) -> (TypeId, Option<Selector>) {
    let mut heap = Heap::new();
    let node = heap.add_node(mention.object);
    if let Some(selector) = mention.selector {
        heap.set_selector(node, selector, node);
    }
    rename(settings, program, symbols, &mut heap);
    let edge = heap.edges_of(node).next();
    (heap.node_type(node), edge.map(|edge| edge.selector))
}

/// The error with the name that was meant, probably: the same one in a package or a class, or one that is
/// spelt nearly so.
fn with_nearest(error: Diagnostic, name: &str, known: &[&str]) -> Diagnostic {
    let inside = |one: &&&str| {
        one.strip_suffix(name)
            .is_some_and(|rest| rest.ends_with(['.', '$']))
    };
    let close = known.iter().find(inside).copied();
    match close.or_else(|| nearest(name, known.iter().copied())) {
        Some(close) => error.help(format!("did you mean `{close}`?")),
        None if known.is_empty() => error,
        None => {
            let mut some: Vec<&str> = known.to_vec();
            some.sort_unstable();
            some.dedup();
            some.truncate(SHOWN);
            error.help(format!("there are: {}", some.join(", ")))
        }
    }
}

/// So many names are listed.
const SHOWN: usize = 10;
