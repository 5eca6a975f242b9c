//! Many uninitialised variables, to compare values on demand with values at once.

use std::fmt::Write;

/// When the variables matter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// Each is read in one place and never again: on demand, one is known at a time.
    Once,
    /// Each is read twice, the second time after all have been read once: all have to be known
    /// together.
    Twice,
}

/// The program: two parities over the same `count` variables, computed differently, never differ.
pub fn program(count: u32, reading: Reading) -> String {
    let names: Vec<String> = (0..count).map(|i| format!("v{i}")).collect();
    let mut text = format!(
        "// Two parities over {count} uninitialised variables.\ndecl {};\n\nvoid main() begin\n  decl p, q;\n  p, q := F, F;\n",
        names.join(", ")
    );
    // Writing to a string cannot fail.
    let mut line = |line: String| writeln!(text, "  {line}").unwrap_or_default();
    match reading {
        Reading::Once => {
            for name in &names {
                line(format!("if {name} then p := !p; q := !q; fi"));
            }
        }
        Reading::Twice => {
            for name in &names {
                line(format!("if {name} then p := !p; fi"));
            }
            for name in &names {
                line(format!("if {name} then q := !q; fi"));
            }
        }
    }
    line("if p ^ q then ERROR: skip; fi".to_owned());
    text.push_str("end\n");
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Ask;
    use crate::measure::verdict;

    #[test]
    fn the_parities_agree() {
        assert_eq!(verdict(&program(5, Reading::Once), &Ask::Default), "holds");
        assert_eq!(verdict(&program(5, Reading::Twice), &Ask::Default), "holds");
    }
}
