//! Linear temporal logic: formulas, their simplification, and Büchi automata for them. Nothing here
//! knows about programs.
//!
//! ```
//! use droste_base::Limits;
//! use droste_ltl::{Atoms, Formulas, Options, parse_text, translate};
//!
//! let (mut formulas, mut atoms) = (Formulas::new(), Atoms::new());
//! let formula = parse_text("G (request -> F grant)", &mut formulas, &mut atoms).unwrap();
//! let violation = formulas.not(formula);
//! let (options, limits) = (Options::default(), Limits::default());
//! let automaton =
//!     translate(&mut formulas, violation, atoms.len(), &options, &limits).unwrap();
//! assert_eq!(automaton.state_count(), 2);
//! ```
//!
//! From text to automaton: [`syntax`] and [`parser`] make a [`FormulaId`] with a table of atoms, to
//! which the caller gives a meaning. `tableau` makes a `draft` of an automaton, which becomes a
//! [`Tgba`]. [`word`] says what formulas mean, without automata, and whether an automaton accepts a
//! word; the translation is tested against it.

#![allow(
    clippy::mutable_key_type,
    reason = "a diagram is hashed and compared by its edge, which does not change"
)]

pub mod classes;
mod cover;
mod draft;
pub mod hoa;
mod hoa_acceptance;
mod hoa_tokens;
mod obligation;
pub mod output;
pub mod parser;
pub mod printer;
mod promises;
pub mod resolved;
pub mod simplify;
mod simulation;
pub mod syntax;
mod tableau;
mod terms;
pub mod translate;
pub mod word;

pub use classes::{Class, class};
pub use droste_automata::{AtomId, FormulaId, Formulas, Node};
pub use droste_automata::{Edge, Guards, Literal, StateInfo, Tgba};
pub use hoa::{HoaAutomaton, HoaError, read_hoa, read_hoas};
pub use output::{write_dot, write_hoa};
pub use parser::{Property, atom_from_text, parse, parse_formulas, parse_properties, parse_text};
pub use printer::{print, print_short};
pub use resolved::{ResolvedFormula, Vocabulary};
pub use simplify::{Simplifier, simplify};
pub use syntax::{Atom, AtomKind, Atoms, run_together, warnings};
pub use translate::{Construction, Options, Untranslatable, translate};
pub use word::{Lasso, accepts, evaluate, holds};
