//! Heaps as hypergraphs: nodes with a type, selectors, variables, and hyperedges that stand for
//! whole parts of a heap.
//!
//! The notions are those of Heinen, Jansen, Katoen and Noll, *Juggrnaut: using graph grammars for
//! abstracting unbounded heap structures*, FMSD 47(2), 2015: a hyperedge carries a nonterminal,
//! and the rules of a hyperedge replacement grammar say what it stands for. Applied forward they
//! **materialise** a selector, applied backward they **abstract**.
//!
//! * [`Symbols`] names types, selectors, variables and nonterminals.
//! * [`Heap`] is one heap, [`Code`] its canonical form: two heaps have the same code if and only if they
//!   are isomorphic.
//!
//! What keeps it honest: operations are checked on the concrete heaps that an abstract heap stands for
//! (`tests/grammars.rs`), and codes against isomorphism by brute force (`tests/codes.rs`).

mod abstraction;
mod canonical;
mod check;
mod code;
mod collapse;
mod concretise;
mod confluence;
mod embedding;
mod garbage;
mod giving;
mod grammar;
mod graph_json;
mod holes;
mod hypergraph;
mod indices;
mod kernels;
mod markings;
mod notes;
mod plan;
mod predefined;
mod read_json;
mod rename;
mod scope;
mod shapes;
mod sid;
mod sid_syntax;
mod symbols;
mod ties;
mod unreached;
mod ways;
mod write;

pub use abstraction::AbstractionOptions;
pub use check::{Warning, WarningKind, check, check_until};
pub use code::Code;
pub use grammar::{Fragment, Grammar, Rule};
pub use holes::Holes;
pub use hypergraph::{Edge, Heap, Hyperedge, Node};
pub use indices::Balance;
pub use kernels::{Refinement, TooLarge};
pub use markings::{Markings, Unmarked};
pub use notes::{Mention, Notes};
pub use predefined::{Predefined, predefined};
pub use read_json::{
    Contract, Indices, MethodContracts, read_contracts, read_contracts_noting, read_grammar,
    read_grammar_noting, read_heap, read_heap_noting,
};
pub use rename::{NoRenaming, Renaming};
pub use scope::{Cut, Frame};
pub use sid::{read_sid, read_symbolic_heap, read_symbolic_heap_noting};
pub use symbols::{
    Annotation, End, Index, Label, Nonterminal, RankMismatch, Selector, Symbols, TypeId, Variable,
};
pub use write::{
    contracts_json, grammar_dot, grammar_json, heap_dot, heap_json, heaps_dot, label_text,
};
