//! Formulas of linear temporal logic, and generalised Büchi automata: types only.
//!
//! [`formula`] holds formulas as shared graphs, [`automaton`] holds automata as flat tables, and
//! [`components`] finds strongly connected components. Parsing, translating and printing is done by
//! `droste-ltl`, which engines that only run an automaton need not link.

pub mod automaton;
pub mod components;
pub mod formula;

pub use automaton::{Edge, Guards, Literal, StateInfo, Tgba};
pub use formula::{AtomId, FormulaId, Formulas, Node};
