//! Boolean programs: from source text to the recursive state machine that engines explore.
//!
//! The way of the data, one module each:
//!
//! [`source`] text with line numbers → [`lexer`] → [`parser`] → [`ast`] (what was written)
//! → [`lower`](mod@lower) (names and types resolved) → [`program`] (the extended recursive state
//! machine). On the side: [`diagnostics`] (errors with spans), [`printer`] (back to text)
//! and [`execution`] (concrete runs, for people, JSON and the replayer; [`concurrent`] for those
//! of programs with threads). About a program:
//! [`labels`] (looking them up), [`properties`] (propositions and [`monitor`]s resolved), [`temporal`] (formulas),
//! [`display`] (expressions as text) and [`mod@dot`] (a picture).

pub mod ast;
pub mod concurrent;
pub mod diagnostics;
pub mod display;
pub mod dot;
pub mod effects;
pub mod execution;
pub mod labels;
pub mod lexer;
pub mod liveness;
pub mod lower;
pub mod monitor;
pub mod parser;
mod precedence;
pub mod printer;
pub mod program;
pub mod properties;
pub mod source;
pub mod suggest;
pub mod temporal;
