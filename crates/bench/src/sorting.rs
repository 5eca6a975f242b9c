//! Bubble sort of a few numbers, in `main` or in procedures that are called in one place.
//!
//! Each round swaps neighbours that are out of order, until none is. The values reached are few
//! compared with the relation between those before and those after: an engine that remembers with
//! which values a procedure was entered has to tell all permutations apart.

use std::fmt::Write;

/// Where the loop is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In `main`.
    Main,
    /// In a procedure that `main` calls, each round in another one.
    Procedure,
}

/// The program: `count` numbers of `bits` bits, with any values, are in order at the end.
pub fn program(count: usize, bits: usize, place: Place) -> String {
    let names: Vec<String> = (0..count).map(|i| format!("x{i}")).collect();
    let pairs = || names.windows(2).map(|pair| (&pair[0], &pair[1]));
    let joined = |operator: &str, with: &str| {
        let pairs = pairs().map(|(a, b)| format!("{a} {operator} {b}"));
        pairs.collect::<Vec<_>>().join(with)
    };
    let (unsorted, sorted) = (joined(">", " | "), joined("<=", " & "));
    let mut round = String::new();
    for (a, b) in pairs() {
        // Writing to a string cannot fail.
        let _ = writeln!(round, "    if ({a} > {b}) then {a}, {b} := {b}, {a}; fi");
    }
    let mut text = format!("decl {} : u{bits};\n", names.join(", "));
    let _ = match place {
        Place::Main => write!(
            text,
            "void main() begin\n  while ({unsorted}) do\n{round}  od\n  assert({sorted});\nend\n"
        ),
        Place::Procedure => write!(
            text,
            "void main() begin\n  sort();\n  assert({sorted});\nend\n\
             void sort() begin\n  while ({unsorted}) do\n    round();\n  od\nend\n\
             void round() begin\n{round}end\n"
        ),
    };
    text
}
