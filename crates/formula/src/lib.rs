//! Programs as formulas: reachability as a question to the fixed-point calculus.
//!
//! La Torre, Madhusudan and Parlato, *Analyzing recursive programs using a fixed-point calculus*
//! (PLDI 2009), describe a program by a handful of relations and an algorithm for recursive
//! programs by a page of formulas over them. [`relations()`] writes the relations for a
//! [`Program`], as text in the language of `droste solve`; [`Algorithm`] has the three algorithms
//! of its section 4, and a variant of the first with one predicate for each procedure. Relations and
//! algorithm together are a file that anybody can read, change and solve. `docs/FORMULAS.md` describes the
//! relations for those who write their own algorithm.
//!
//! What keeps it honest: random programs are solved by all algorithms, and the answers must be those of an
//! oracle that works on the syntax tree (`tests/oracle.rs`).

mod concurrent;
mod fields;
mod inline;
mod points;
mod procedures;
mod relations;
mod term;
mod write;

use std::fmt;
use std::str::FromStr;

use droste_program::Program;

pub use concurrent::{MOST_SWITCHES, concurrent};
pub use points::{Point, Points};
pub use procedures::Procedure;
pub use relations::Reachability;

/// An algorithm of section 4 of the paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Algorithm {
    /// Section 4.1: all summaries.
    Simple,
    /// Section 4.2: summaries from entries that have been reached.
    Ef,
    /// Section 4.3: the same, from program counters with something new only.
    EfOpt,
    /// Section 4.1 with one predicate for each procedure.
    Procedures,
}

impl Algorithm {
    /// All of them.
    pub const ALL: [Algorithm; 4] = [
        Algorithm::Simple,
        Algorithm::Ef,
        Algorithm::EfOpt,
        Algorithm::Procedures,
    ];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Algorithm::Simple => "simple",
            Algorithm::Ef => "ef",
            Algorithm::EfOpt => "ef-opt",
            Algorithm::Procedures => "procedures",
        }
    }

    /// Its formulas for a program with these relations, and the query.
    pub fn text(self, relations: &Relations) -> String {
        match self {
            Algorithm::Simple => include_str!("../algorithms/simple.mu").to_owned(),
            Algorithm::Ef => include_str!("../algorithms/ef.mu").to_owned(),
            Algorithm::EfOpt => include_str!("../algorithms/ef-opt.mu").to_owned(),
            Algorithm::Procedures => procedures::text(relations),
        }
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Algorithm {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let found = Algorithm::ALL.into_iter().find(|a| a.name() == name);
        found.ok_or_else(|| {
            format!("there is no algorithm `{name}`: simple, ef, ef-opt, procedures, or a file")
        })
    }
}

/// A program as text of the calculus.
#[derive(Clone, Debug)]
pub struct Relations {
    /// Types and relations.
    pub text: String,
    /// What the program counters stand for.
    pub points: Points,
    /// The procedures that the relations speak of.
    pub procedures: Vec<Procedure>,
    /// How many bits a `State` has.
    pub bits: u32,
    /// Whether the query asks about one context after the other, each in a disjunct of its own, so
    /// that a formula for fewer contexts is no easier.
    pub gradual: bool,
}

/// The relations that describe `program`, which has one thread.
pub fn relations(program: &Program, question: &Reachability<'_>) -> Relations {
    let mut relations = relations::Relations::new(program, question, None, None);
    relations.write();
    relations.finish()
}
