//! A fixed-point calculus over finite types, in the language of MUCKE, solved with BDDs.
//!
//! GETAFIX (La Torre, Madhusudan, Parlato, PLDI 2009) writes model-checking algorithms as equations
//! and has MUCKE (Biere, CAV 1997) solve them. This crate reads the same language: [`load`] makes a
//! [`Theory`] of a file, a [`Solver`] does what the theory asks for.
//!
//! ```
//! use droste_base::Limits;
//! use droste_calculus::{Outcome, Solver, load_text};
//!
//! let theory = load_text(
//!     "example.mu",
//!     "enum S { 0..3 };
//!      bool T(S s, S t) (s = 0 & t = 1) | (s = 1 & t = 2);
//!      mu bool R(S s) s = 0 | (exists S t. R(t) & T(t, s));
//!      R(2); R(3);",
//! );
//! assert!(!theory.has_errors());
//! let actions = theory.actions().to_vec();
//! let mut solver = Solver::new(theory, &Limits::default(), None);
//! assert!(matches!(solver.perform(&actions[0]), Ok(Outcome::Answer(true))));
//! assert!(matches!(solver.perform(&actions[1]), Ok(Outcome::Answer(false))));
//! ```
//!
//! The stages: `token`, `parser` and `expressions` make syntax; `resolve` and `formula` make
//! types, variables and terms in negation normal form; `depend` finds what is recursive and warns;
//! `unfold` makes recursion direct; `order` (with `layout`) and `trial` choose one order of BDD
//! variables for everything, which `reorder` may improve; `engine` (with `product` and `ranged`)
//! evaluates terms; `fixpoint` (with `rewrite`) computes values of predicates; `witness` shows why an
//! answer is what it is; `report` writes answers as text.
//!
//! What keeps it honest: random theories are compared with a naive evaluator over sets of tuples
//! (`tests/random`).

mod depend;
mod engine;
mod expressions;
mod fixpoint;
mod formula;
mod layout;
mod order;
mod parser;
mod printer;
mod product;
mod ranged;
mod reorder;
pub mod report;
mod resolve;
mod rewrite;
mod solver;
pub mod syntax;
pub mod term;
mod theory;
pub mod token;
mod trial;
pub mod types;
mod unfold;
mod witness;

pub use fixpoint::{Reporter, Round, Unanswered};
pub use parser::parse;
pub use resolve::{Loader, load, load_text};
pub use solver::{Outcome, Solver, Statistics, Tuple, on_large_stack};
pub use theory::{
    Action, ClosedFormula, Definition, FileSpan, Printed, Sign, Theory, Variable, Wish,
};
pub use trial::{ChosenOrder, PreferredOrder};
pub use witness::{Step, Witness};
