//! The grammars that come with Droste: singly and doubly linked lists, binary trees.

use crate::grammar::Fragment;
use crate::sid::read_sid;
use crate::symbols::Symbols;

/// A grammar that comes with Droste.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Predefined {
    /// Singly linked lists of at least one element: type `ListNode`, selector `next`.
    SinglyLinkedList,
    /// Doubly linked lists of at least two: type `DLListNode`, selectors `next` and `prev`.
    DoublyLinkedList,
    /// Binary trees: type `BTNode`, selectors `left` and `right`.
    BinaryTree,
}

impl Predefined {
    /// The names under which they are known, and the grammars.
    pub const NAMES: [(&'static str, Predefined); 4] = [
        ("SLList", Predefined::SinglyLinkedList),
        ("DLList", Predefined::DoublyLinkedList),
        ("BT", Predefined::BinaryTree),
        ("BT_conf", Predefined::BinaryTree),
    ];

    /// The grammar of that name.
    pub fn named(name: &str) -> Option<Predefined> {
        let mut all = Self::NAMES.iter();
        all.find(|(known, _)| *known == name)
            .map(|(_, which)| *which)
    }

    /// The grammar as text.
    pub fn text(self) -> &'static str {
        match self {
            Predefined::SinglyLinkedList => LIST,
            Predefined::DoublyLinkedList => DOUBLE,
            Predefined::BinaryTree => TREE,
        }
    }
}

/// The fragments of a grammar that comes with Droste.
pub fn predefined(symbols: &mut Symbols, which: Predefined) -> Vec<Fragment> {
    read_sid(symbols, which.text()).expect("the grammars that come with Droste are correct")
}

const LIST: &str = "
RefSLList(x{ListNode}, !y{ListNode})
  <= x.next -> y
  <= z{ListNode} | x.next -> z * RefSLList(z, y)
  <= z{ListNode} | RefSLList(x, z) * RefSLList(z, y);
";

const DOUBLE: &str = "
RefDLList(!p{DLListNode}, a{DLListNode}, b{DLListNode}, !n{DLListNode})
  <= a.prev -> p * a.next -> b * b.prev -> a * b.next -> n
  <= m{DLListNode} | a.prev -> p * a.next -> m * RefDLList(a, m, b, n)
  <= m{DLListNode} | RefDLList(p, a, m, b) * b.prev -> m * b.next -> n
  <= c{DLListNode} d{DLListNode} | RefDLList(p, a, c, d) * RefDLList(c, d, b, n);
";

const TREE: &str = "
RefBT(r{BTNode}, !n{NULL})
  <= r.left -> n * r.right -> n
  <= l{BTNode} | r.left -> l * r.right -> n * RefBT(l, n)
  <= s{BTNode} | r.left -> n * r.right -> s * RefBT(s, n)
  <= l{BTNode} s{BTNode} | r.left -> l * r.right -> s * RefBT(l, n) * RefBT(s, n)
  <= x{BTNode} | RefTP(r, x, n) * RefBT(x, n);
RefTP(r{BTNode}, !x{BTNode}, !n{NULL})
  <= r.left -> x * r.right -> n
  <= r.left -> n * r.right -> x
  <= s{BTNode} | r.left -> x * r.right -> s * RefBT(s, n)
  <= l{BTNode} | r.left -> l * r.right -> x * RefBT(l, n)
  <= m{BTNode} | r.left -> m * r.right -> n * RefTP(m, x, n)
  <= m{BTNode} | r.left -> n * r.right -> m * RefTP(m, x, n)
  <= m{BTNode} s{BTNode} | r.left -> m * r.right -> s * RefTP(m, x, n) * RefBT(s, n)
  <= m{BTNode} l{BTNode} | r.left -> l * r.right -> m * RefTP(m, x, n) * RefBT(l, n)
  <= m{BTNode} | RefTP(r, m, n) * RefTP(m, x, n);
";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grammar::Grammar;

    #[test]
    fn reduction_tentacles_are_as_given() {
        for (_, which) in Predefined::NAMES {
            let mut symbols = Symbols::new();
            let mut fragments = predefined(&mut symbols, which);
            let given: Vec<_> = fragments.iter().map(|f| f.reduction.clone()).collect();
            for fragment in &mut fragments {
                fragment.reduction = None;
            }
            let grammar = Grammar::new(&symbols, fragments);
            for (fragment, given) in grammar.fragments().iter().zip(given) {
                for (tentacle, reduction) in given.iter().flatten().enumerate() {
                    let computed = grammar.is_reduction(fragment.nonterminal, tentacle);
                    assert_eq!(computed, *reduction, "{which:?}");
                }
            }
        }
    }
}
