//! Renaming: a grammar for `ListNode` and `next` is used for the classes and fields of a program.
//!
//! `A=B f=g h=k`: nodes of type `A` get type `B`, and at nodes of type `B` the selectors `f` and
//! `h` become `g` and `k`.

use crate::grammar::Fragment;
use crate::hypergraph::{Edge, Heap};
use crate::symbols::Symbols;

/// A renaming of one type and its selectors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Renaming {
    from: String,
    to: String,
    selectors: Vec<(String, String)>,
}

/// A piece of a renaming that has no `=` between two names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoRenaming(pub String);

impl std::fmt::Display for NoRenaming {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "`{}` is no renaming: expected `Old=New`", self.0)
    }
}

impl std::error::Error for NoRenaming {}

impl Renaming {
    /// Reads `A=B f=g h=k`, given word by word.
    pub fn read<'a>(words: impl IntoIterator<Item = &'a str>) -> Result<Renaming, NoRenaming> {
        let mut pairs = Vec::new();
        for word in words {
            match word.split_once('=') {
                Some((old, new)) if !old.is_empty() && !new.is_empty() => {
                    pairs.push((old.to_owned(), new.to_owned()));
                }
                _ => return Err(NoRenaming(word.to_owned())),
            }
        }
        if pairs.is_empty() {
            return Err(NoRenaming(String::new()));
        }
        let (from, to) = pairs.remove(0);
        Ok(Renaming {
            from,
            to,
            selectors: pairs,
        })
    }

    /// The type that gets another name, and that name.
    pub fn types(&self) -> (&str, &str) {
        (&self.from, &self.to)
    }

    /// The selectors that get other names, and these.
    pub fn selectors(&self) -> &[(String, String)] {
        &self.selectors
    }

    /// Whether a type gets another name: it is known by its full name or by the end of it, `p.X$Y` by `Y`
    /// and by `X.Y`.
    pub fn is_about(&self, name: &str) -> bool {
        let is_break = |byte: u8| byte == b'.' || byte == b'$';
        let same = |(a, b): (u8, u8)| a == b || is_break(a) && is_break(b);
        let (name, from) = (name.as_bytes(), self.from.as_bytes());
        let Some(before) = name.len().checked_sub(from.len()) else {
            return false;
        };
        let (before, end) = name.split_at(before);
        end.iter().copied().zip(from.iter().copied()).all(same)
            && before.last().is_none_or(|&last| is_break(last))
    }

    /// Renames a heap.
    pub fn rename(&self, symbols: &mut Symbols, heap: &mut Heap) {
        let old: Vec<_> = symbols
            .types()
            .filter(|&id| self.is_about(symbols.type_name(id)))
            .collect();
        let new = symbols.add_type(&self.to);
        let mut selectors = Vec::new();
        for (from, to) in &self.selectors {
            if let Some(from) = symbols.selector(from) {
                selectors.push((from, symbols.add_selector(to)));
            }
        }
        for node in 0..heap.node_bound() as u16 {
            let node = crate::Node(node);
            if heap.contains(node) && old.contains(&heap.node_type(node)) {
                heap.set_type(node, new);
            }
        }
        // All selectors at once, so that two names can be exchanged.
        let edges: Vec<Edge> = heap.edges().collect();
        let here = edges.iter().filter(|e| heap.node_type(e.origin) == new);
        let here: Vec<Edge> = here.copied().collect();
        for edge in &here {
            heap.remove_selector(edge.origin, edge.selector);
        }
        for edge in here {
            let found = selectors.iter().find(|(from, _)| *from == edge.selector);
            let selector = found.map_or(edge.selector, |(_, to)| *to);
            heap.set_edge(Edge { selector, ..edge });
        }
    }

    /// Renames the rules of a grammar.
    pub fn rename_all(&self, symbols: &mut Symbols, fragments: &mut [Fragment]) {
        for heap in fragments
            .iter_mut()
            .flat_map(|fragment| &mut fragment.rules)
        {
            self.rename(symbols, heap);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grammar::Grammar;
    use crate::predefined::{Predefined, predefined};

    #[test]
    fn a_predefined_grammar_is_renamed() {
        let mut symbols = Symbols::new();
        let mut fragments = predefined(&mut symbols, Predefined::DoublyLinkedList);
        let words = ["DLListNode=Ring", "next=prev", "prev=next"];
        let renaming = Renaming::read(words).unwrap();
        renaming.rename_all(&mut symbols, &mut fragments);
        let ring = symbols.type_id("Ring").unwrap();
        let [next, prev] = ["next", "prev"].map(|name| symbols.selector(name).unwrap());
        let base = &fragments[0].rules[0];
        let [p, a, b, n] = *base.externals() else {
            panic!("four tentacles");
        };
        assert_eq!(base.node_type(a), ring);
        assert_eq!(base.target(a, prev), Some(b));
        assert_eq!(base.target(a, next), Some(p));
        assert_eq!(base.target(b, prev), Some(n));
        Grammar::new(&symbols, fragments);
    }

    #[test]
    fn ends_of_names_are_known() {
        let known = |from: &str, name: &str| {
            let words = format!("{from}=X");
            Renaming::read([words.as_str()]).unwrap().is_about(name)
        };
        assert!(
            ["p.L$Node", "L.Node", "L$Node", "Node"].map(|one| known(one, "p.L$Node")) == [true; 4]
        );
        assert!(!known("ode", "p.L$Node") && !known("q.p.L.Node", "p.L$Node"));
    }

    #[test]
    fn words_without_two_names_are_refused() {
        assert_eq!(Renaming::read(["A=B", "f"]), Err(NoRenaming("f".into())));
        assert_eq!(Renaming::read(["=B"]), Err(NoRenaming("=B".into())));
        assert!(Renaming::read([]).is_err());
    }
}
