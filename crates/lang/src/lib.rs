//! Boolean programs: from source text to the recursive state machine that engines explore.
//!
//! The stages, one module each: text → [`lexer`] → [`parser`] → [`ast`] (what was written) →
//! [`lower`](mod@lower) (names and types resolved) → a [`droste_program::Program`]. Besides:
//! `getafix` (another meaning of threads, written out), [`printer`] (back to text), [`properties`]
//! (propositions and monitors resolved in a program), and [`monitor`] (monitors as they were
//! written).

pub mod ast;
mod getafix;
pub mod lexer;
pub mod lower;
pub mod monitor;
pub mod parser;
mod precedence;
pub mod printer;
pub mod properties;
