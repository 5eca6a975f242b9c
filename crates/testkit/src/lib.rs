//! What Droste's own tests are made of: random programs, a shrinker, a naive oracle and
//! the corpus of hand-written programs. A dev-dependency of everything else.
//!
//! * [`generate`] makes random Boolean programs that the front end accepts, from a seed;
//! * [`ltl`] has formulas of linear temporal logic, random ones too, and what they mean on words;
//! * [`oracle`] answers reachability, repeatability, monitors and formulas by eager enumeration,
//!   straight from the syntax tree: it shares nothing with the lowering or the engines;
//! * [`rsm`] has recursive state machines as tables, random ones too;
//! * [`shrink`] makes a failing program small;
//! * [`source`] reads programs and monitors for tests;
//! * [`sweep`] tries many random programs, on all processors;
//! * [`walk`] goes through a program at random, and [`mutants`] spoils what came of it;
//! * [`corpus`] reads `corpus/*.bp` with the verdicts written in their comments.

pub mod corpus;
pub mod generate;
pub mod ltl;
pub mod mutants;
pub mod oracle;
pub mod random;
pub mod rsm;
pub mod shrink;
pub mod source;
pub mod sweep;
pub mod tree;
pub mod walk;
