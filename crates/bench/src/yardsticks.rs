//! Four families of Boolean programs that are hard in one way each.
//!
//! * [`counter`]: a loop of 2ⁿ rounds; the carry goes from procedure to procedure.
//! * [`levels`]: many procedures, each with few states, after the level program of T. Ball and S.
//!   K. Rajamani, "Bebop: a symbolic model checker for Boolean programs" (SPIN 2000), section 5.
//! * [`recurse`]: recursion of depth 2ⁿ, one argument of n bits.
//! * [`adder`]: many arguments and results, all related.
//!
//! Each comes safe and unsafe. In the safe one the label `ERROR` is not reached; in the unsafe one
//! it is, but only after everything else. So the whole space has to be gone through in both. What
//! keeps them honest: the tests ask the explicit engine about small ones.

use std::fmt::Write;

/// The names `x0`, `x1`, … separated by commas.
fn names(prefix: &str, count: usize) -> String {
    list(count, |i| format!("{prefix}{i}"))
}

fn list(count: usize, item: impl Fn(usize) -> String) -> String {
    (0..count).map(item).collect::<Vec<_>>().join(", ")
}

/// Whether the label can be reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// The label cannot be reached.
    Safe,
    /// It cannot be reached, and all but the condition on it is as if it could.
    Twin,
    /// The label can be reached.
    Unsafe,
}

/// An n-bit counter in global variables, incremented for ever by n procedures: the one for a bit
/// flips it and calls the next one for the carry. A flag that is flipped with every increment
/// always equals the lowest bit.
pub fn counter(bits: usize, error: Error) -> String {
    let bad = match error {
        Error::Safe | Error::Twin => "odd != b0".to_owned(),
        // All bits set: the last state that the loop comes to.
        Error::Unsafe => (0..bits)
            .map(|i| format!("b{i}"))
            .collect::<Vec<_>>()
            .join(" & "),
    };
    let mut text = format!(
        "decl {0}, odd;\nvoid main()\nbegin\n  {0}, odd := {1}, F;\n  while (*) do\n    inc0();\n    odd := !odd;\n    \
         if ({bad}) then ERROR: skip; fi;\n  od;\nend\n",
        names("b", bits),
        list(bits, |_| "F".to_owned())
    );
    for i in 0..bits {
        let carry = if i + 1 < bits {
            format!("inc{}();", i + 1)
        } else {
            "skip;".to_owned()
        };
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "void inc{i}()\nbegin\n  if (b{i}) then b{i} := F; {carry} else b{i} := T; fi;\nend"
        );
    }
    text
}

/// Each of `count` procedures counts to seven in three local bits and calls the next one twice; the
/// last one flips the global twice instead. A run has about 2^count calls, and the global is as it
/// was.
pub fn levels(count: usize, error: Error) -> String {
    let bad = match error {
        Error::Safe | Error::Twin => "g",
        Error::Unsafe => "!g",
    };
    let mut text = format!(
        "decl g;\nvoid main()\nbegin\n  g := F;\n  level0();\n  level0();\n  if ({bad}) then ERROR: skip; fi;\nend\n"
    );
    for i in 0..count {
        let call = if i + 1 < count {
            format!("level{}();", i + 1)
        } else {
            "g := !g;".to_owned()
        };
        let _ = writeln!(
            text,
            "void level{i}()\nbegin\n  decl a, b, c;\n  a, b, c := F, F, F;\n  while (!(a & b & c)) do\n    \
             a, b, c := !a, b ^ a, c ^ (a & b);\n  od;\n  {call}\n  {call}\nend"
        );
    }
    text
}

/// One procedure calls itself with its n-bit parameter less one, down to zero; from any number it
/// gets there. If the label can be reached, it is only from the largest number.
pub fn recurse(bits: usize, error: Error) -> String {
    let xs = names("x", bits);
    let largest = list(bits, |_| "T".to_owned());
    let start = format!("  {xs} := {largest};\n");
    let (start, bad) = match error {
        Error::Safe => (String::new(), "!g"),
        Error::Twin => (start, "!g"),
        Error::Unsafe => (start, "g"),
    };
    // A bit changes if all lower ones are zero.
    let less = list(bits, |i| {
        let low: Vec<_> = (0..i).map(|j| format!("!x{j}")).collect();
        if low.is_empty() {
            format!("!x{i}")
        } else {
            format!("x{i} ^ ({})", low.join(" & "))
        }
    });
    let some = xs.replace(", ", " | ");
    format!(
        "decl g;\nvoid main()\nbegin\n  decl {xs};\n{start}  g := F;\n  f({xs});\n  if ({bad}) then ERROR: skip; fi;\nend\n\
         void f({xs})\nbegin\n  if ({some}) then\n    f({less});\n  else\n    g := T;\n  fi;\nend\n"
    )
}

/// A ripple-carry adder of n bits: a procedure with 2n parameters and n results. The loop adds two
/// for ever, so that the sum stays even.
pub fn adder(bits: usize, error: Error) -> String {
    let sum = names("s", bits);
    let all = sum.replace(", ", " & ");
    let bad = match error {
        Error::Safe => "s0".to_owned(),
        // The largest odd number, and the largest even one: both read all bits.
        Error::Twin => all,
        Error::Unsafe => format!("!{all}"),
    };
    let mut text = format!(
        "void main()\nbegin\n  decl {sum};\n  {sum} := {};\n  while (*) do\n    {sum} := add({sum}, {});\n    \
         if ({bad}) then ERROR: skip; fi;\n  od;\nend\n\
         bool<{bits}> add({}, {})\nbegin\n  decl c;\n  decl {};\n  c := F;\n",
        list(bits, |_| "F".to_owned()),
        list(bits, |i| if i == 1 { "T" } else { "F" }.to_owned()),
        names("a", bits),
        names("b", bits),
        names("r", bits)
    );
    for i in 0..bits {
        let _ = writeln!(
            text,
            "  r{i}, c := a{i} ^ b{i} ^ c, (a{i} & b{i}) | (c & (a{i} | b{i}));"
        );
    }
    let _ = writeln!(text, "  return {};\nend", names("r", bits));
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Ask;
    use crate::measure::verdict;

    #[test]
    fn the_explicit_engine_agrees() {
        for (name, family) in [
            ("counter", counter as fn(usize, Error) -> String),
            ("levels", levels),
            ("recurse", recurse),
            ("adder", adder),
        ] {
            for size in [2, 3, 5] {
                for (error, expect) in [
                    (Error::Safe, "holds"),
                    (Error::Twin, "holds"),
                    (Error::Unsafe, "violated"),
                ] {
                    let text = family(size, error);
                    assert_eq!(verdict(&text, &Ask::Default), expect, "{name} {size}");
                }
            }
        }
    }
}
