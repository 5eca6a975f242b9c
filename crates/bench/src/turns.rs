//! Two threads that compute Fibonacci numbers, made sequential.
//!
//! One thread adds `j` to `i`, the other `i` to `j`; both are numbers of n bits in global variables,
//! added bit by bit with the carries in locals. A loop in `main` runs either. The shape is that of
//! the Fibonacci programs among GETAFIX's regression tests; the text is ours. From 1 and 1 both
//! numbers never become 0 at once, because their greatest common divisor stays odd.
//!
//! What keeps them honest: the tests ask the explicit engine about small ones.

use std::fmt::Write;

/// Whether a thread adds once when it runs, or any number of times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// Once.
    Once,
    /// It calls itself again, or not.
    Recursive,
}

/// The program for numbers of `bits` bits. If `violated`, the label `ERROR` is reached where both
/// numbers are the largest ones; otherwise it is where both are 0.
pub fn program(bits: usize, turn: Turn, violated: bool) -> String {
    let names =
        |letter: char| -> Vec<String> { (0..bits).map(|k| format!("{letter}{k}")).collect() };
    let (i, j, carries) = (names('i'), names('j'), names('c'));
    let all = i.iter().chain(&j);
    let bad: Vec<String> = all
        .map(|bit| format!("{}{bit}", if violated { "" } else { "!" }))
        .collect();
    let one: Vec<&str> = (0..bits).map(|k| if k == 0 { "T" } else { "F" }).collect();
    let mut text = format!(
        "decl {0};\ndecl {1};\nvoid main()\nbegin\n  {0} := {2};\n  {1} := {2};\n  while (*) do\n    \
         if (*) then first(); else second(); fi;\n  od;\n  if ({3}) then ERROR: skip; fi;\nend\n",
        i.join(", "),
        j.join(", "),
        one.join(", "),
        bad.join(" & ")
    );
    for (name, sum, other) in [("first", &i, &j), ("second", &j, &i)] {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "void {name}()\nbegin\n  decl {};", carries.join(", "));
        for k in 0..bits {
            let (a, b, c) = (&sum[k], &other[k], &carries[k]);
            let carry = k.checked_sub(1).map_or("F", |below| &carries[below]);
            let _ = writeln!(
                text,
                "  {a}, {c} := {a} ^ {b} ^ {carry}, ({a} & {b}) | ({carry} & ({a} | {b}));"
            );
        }
        if turn == Turn::Recursive {
            let _ = writeln!(text, "  if (*) then {name}(); fi;");
        }
        text.push_str("end\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::{Cap, limited, verdict};
    use crate::{Ask, Setup};
    use droste_check::Engine;

    /// Large enough for `ef` to be joined by `simple`.
    #[test]
    fn both_formulas_of_the_calculus_agree() {
        let setup = Setup {
            engine: Engine::Calculus,
            trace: false,
            ..Setup::default()
        };
        for (violated, expect) in [(false, "holds"), (true, "violated")] {
            let text = program(6, Turn::Recursive, violated);
            let answer = limited(&text, &Ask::Default, setup, Cap::DEFAULT).unwrap();
            assert_eq!(answer.verdict.word(), expect);
        }
    }

    #[test]
    fn the_explicit_engine_agrees() {
        for bits in [1, 2, 3] {
            for turn in [Turn::Once, Turn::Recursive] {
                for (violated, expect) in [(false, "holds"), (true, "violated")] {
                    let text = program(bits, turn, violated);
                    assert_eq!(verdict(&text, &Ask::Default), expect, "{bits} {turn:?}");
                }
            }
        }
    }
}
