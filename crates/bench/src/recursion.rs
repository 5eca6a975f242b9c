//! Threads that call themselves, and are safe however often the active thread changes.
//!
//! The shapes are those of the small systems that come with CUBA (P. Liu, T. Wahl, PLDI 2018); the
//! texts are ours. In all of them the label `ERROR` is never reached, and stacks may have any height
//! when threads are switched.
//!
//! What keeps them honest: the tests ask about variants in which the label is reached.

use std::fmt::Write;

/// What the threads do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// They call themselves as often as they like, take a lock and give it back.
    Lock,
    /// They call themselves as often as they like; half of them wait for a flag and reset it, the
    /// others wait until it is reset and set it.
    Flag,
    /// A thread calls itself once whenever another one has handed it a token. So stacks grow with
    /// the number of switches, and sets of configurations never stop growing.
    Ratchet,
    /// They go down a tree: each takes the lock, gives it back and calls itself.
    Descend,
}

/// The shapes, with names.
pub const SHAPES: [(Shape, &str); 4] = [
    (Shape::Lock, "lock"),
    (Shape::Flag, "flag"),
    (Shape::Ratchet, "ratchet"),
    (Shape::Descend, "descend"),
];

/// A program with so many threads. If `spoilt`, the label is reached.
pub fn program(shape: Shape, threads: usize, spoilt: bool) -> String {
    let (take, give) = if spoilt {
        ("lock := T;", "lock := F;")
    } else {
        ("lock := T constrain (!lock);", "lock := F;")
    };
    let own = |number: usize| match shape {
        Shape::Lock => format!(
            "  if (*) then t{number}(); fi\n  {take}\n  if (inside) then ERROR: skip; fi\n  \
             inside := T;\n  inside := F;\n  {give}\n  if (*) then t{number}(); fi\n"
        ),
        Shape::Flag => {
            let (wait, set) = if number.is_multiple_of(2) {
                ("lock", "T")
            } else {
                ("!lock", "F")
            };
            let inside = if spoilt { "T" } else { "F" };
            format!(
                "  if (*) then t{number}(); fi\n  while ({wait}) do skip; od\n  lock := {set};\n  \
                 if (inside) then ERROR: skip; fi\n  inside := {inside};\n"
            )
        }
        Shape::Ratchet if number == 0 => {
            let deep = if spoilt { "T" } else { "F" };
            format!(
                "  assume(lock);\n  lock := F;\n  if (*) then t{number}(); inside := {deep}; fi\n  \
                 if (inside) then ERROR: skip; fi\n"
            )
        }
        Shape::Ratchet => "  while (*) do\n    assume(!lock);\n    lock := T;\n  od\n".to_owned(),
        Shape::Descend => format!(
            "  {take}\n  if (inside) then ERROR: skip; fi\n  inside := T;\n  inside := F;\n  {give}\n  \
             if (*) then t{number}(); fi\n"
        ),
    };
    let mut text = "decl lock, inside;\nvoid main() begin\n  lock, inside := F, F;\n".to_owned();
    for number in 0..threads {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "  start_thread t{number}();");
    }
    text.push_str("end\n");
    for number in 0..threads {
        let _ = writeln!(text, "void t{number}() begin\n{}end", own(number));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Ask;
    use crate::measure::verdict;

    #[test]
    fn recursive_threads_are_safe_unless_spoilt() {
        for (shape, name) in SHAPES {
            let safe = program(shape, 2, false);
            assert_eq!(verdict(&safe, &Ask::Default), "holds", "{name}: {safe}");
            let spoilt = program(shape, 2, true);
            assert_eq!(
                verdict(&spoilt, &Ask::Default),
                "violated",
                "{name}: {spoilt}"
            );
        }
    }
}
