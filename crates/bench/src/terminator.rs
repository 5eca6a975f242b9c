//! Programs in the shape of the Terminator examples of S. La Torre, P. Madhusudan and G. Parlato,
//! "Analyzing recursive programs using a fixed-point calculus" (PLDI 2009), Fig. 2: one procedure
//! with very many locals.
//!
//! The originals, made by the Terminator tool from programs whose termination was to be proved, are
//! not at hand. What is known of them: their size, and that variables are made unknown by a
//! statement `dead`, which is written either as an if-then-else over `*` for one variable after the
//! other (`iterative`), or as an assignment of `schoose[F, F]` to all of them (`schoose`). The rest
//! is our guess at what such a program does:
//!
//! * A loop over predicates in groups of six. Those of a group say something about one variable of
//!   the original program and change together, in parallel assignments; between groups there are
//!   only flags, the globals.
//! * Once, at some time, the loop saves a copy of all predicates (A. Podelski and A. Rybalchenko,
//!   "Transition invariants", LICS 2004: the state now and a state before it have to be in a
//!   well-founded relation); from then on they are compared at the end of every round, group by
//!   group. Equal in all groups is an error: the loop may run for ever.
//! * One group, the rank, is a number that every round makes smaller. Where it does not
//!   ([`Shape::terminates`] is false), there is an error.
//!
//! What keeps it honest: the tests compare small shapes with the explicit engine.

use std::fmt::Write;

use crate::random::Xorshift;

/// How `dead` is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dead {
    /// `if (*) then x := T; else x := F; fi;` for each.
    Iterative,
    /// `x, y := schoose[F, F], schoose[F, F];`
    Schoose,
}

/// How groups depend on each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flags {
    /// Each group depends on the one before it.
    Chain,
    /// In every phase a group depends on other groups; directly or indirectly, it depends on all.
    Ring,
}

/// What a program looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Predicates; each has a saved copy, and there are two locals more.
    pub predicates: usize,
    /// Flags.
    pub globals: usize,
    /// How predicates are made unknown.
    pub dead: Dead,
    /// Which group looks at which flag.
    pub flags: Flags,
    /// Whether the rank decreases in every round.
    pub terminates: bool,
}

/// Predicates that change together.
const GROUP: usize = 6;

/// How often a round comes to each group.
const PHASES: usize = 3;

/// The program.
pub fn program(shape: &Shape) -> String {
    let mut writer = Writer {
        shape: *shape,
        text: String::new(),
        random: Xorshift(0x9e37_79b9_7f4a_7c15),
    };
    writer.program();
    writer.text
}

struct Writer {
    shape: Shape,
    text: String,
    random: Xorshift,
}

impl Writer {
    fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    /// The groups, each a range of predicates.
    fn groups(&self) -> Vec<Vec<String>> {
        let all: Vec<String> = (0..self.shape.predicates)
            .map(|i| format!("p{i}"))
            .collect();
        all.chunks(GROUP).map(<[String]>::to_vec).collect()
    }

    fn program(&mut self) {
        let groups = self.groups();
        let flags: Vec<String> = (0..self.shape.globals).map(|i| format!("g{i}")).collect();
        self.line(&format!("decl {};", flags.join(", ")));
        let clear = vec!["F"; flags.len()].join(", ");
        self.line(&format!(
            "void main()\nbegin\n  {} := {clear};\n  work();\nend",
            flags.join(", ")
        ));
        self.settle();
        self.line("void work()\nbegin");
        for group in &groups {
            // A predicate and its copy side by side, as they were made.
            let pairs: Vec<String> = group.iter().map(|p| format!("{p}, s{p}")).collect();
            self.line(&format!("  decl {};", pairs.join(", ")));
        }
        self.line("  decl copied, same;\n  copied, same := F, F;");
        // The loop ends when the rank is zero.
        self.line(&format!("  while ({}) do", groups[0].join(" | ")));
        self.decrease(&groups[0]);
        for phase in 0..PHASES {
            for (i, group) in groups.iter().enumerate().skip(1) {
                self.update(group, i, phase);
            }
        }
        self.compare(&groups);
        self.line("  od;\nend");
    }

    /// A procedure with results: three predicates in an order that makes sense (`x < 0` implies
    /// `x < 1`).
    fn settle(&mut self) {
        self.line(
            "bool<3> settle(x, y, z)\nbegin\n  if (x & !y) then\n    y := T;\n  fi;\n  if (y & !z) then\n    z := *;\n  fi;\n  \
             return x, y, z;\nend",
        );
    }

    /// The rank less one, unless it is zero. Where the program need not terminate, a flag decides
    /// whether that is done.
    fn decrease(&mut self, rank: &[String]) {
        let less: Vec<String> = (0..rank.len())
            .map(|i| {
                let low: Vec<String> = rank[..i].iter().map(|p| format!("!{p}")).collect();
                if low.is_empty() {
                    format!("!{}", rank[i])
                } else {
                    format!("{} ^ ({})", rank[i], low.join(" & "))
                }
            })
            .collect();
        let assign = format!("{} := {};", rank.join(", "), less.join(", "));
        if self.shape.terminates {
            self.line(&format!("    {assign}"));
        } else {
            self.line(&format!(
                "    g0 := *;\n    if (!g0) then\n      {assign}\n    fi;"
            ));
        }
    }

    fn dead(&mut self, indent: &str, variables: &[String]) {
        match self.shape.dead {
            Dead::Iterative => {
                for v in variables {
                    self.line(&format!("{indent}if (*) then {v} := T; else {v} := F; fi;"));
                }
            }
            Dead::Schoose => {
                let unknown = vec!["schoose[F, F]"; variables.len()].join(", ");
                self.line(&format!("{indent}{} := {unknown};", variables.join(", ")));
            }
        }
    }

    /// The flag that a group looks at and the one that it sets.
    fn flags(&self, index: usize, phase: usize) -> (String, String) {
        let (count, groups) = (self.shape.globals, self.groups().len());
        // Flags beyond the groups' own ones are a second flag of the first groups.
        let second = Some(groups + index - 1).filter(|&flag| flag < count);
        let (a, b) = match (self.shape.flags, phase, second) {
            (Flags::Ring, ..) => (index + 3 * phase - 1, index + 3 * phase),
            (Flags::Chain, 1, Some(second)) => (index - 1, second),
            (Flags::Chain, 2, Some(second)) => (second, index),
            (Flags::Chain, ..) => (index - 1, index),
        };
        (format!("g{}", a % count), format!("g{}", b % count))
    }

    /// What a round does to a group: it depends on one flag and sets another.
    fn update(&mut self, group: &[String], index: usize, phase: usize) {
        let pick = |writer: &mut Self| group[writer.random.below(group.len())].clone();
        let (a, b) = self.flags(index, phase);
        let guard = pick(self);
        // Two cases, as after an abstracted condition.
        self.line(&format!("    if ({guard} | {a}) then"));
        let turned: Vec<String> = (0..group.len())
            .map(|i| group[(i + 1) % group.len()].clone())
            .collect();
        self.line(&format!(
            "      {} := {};",
            group.join(", "),
            turned.join(", ")
        ));
        let (x, y, z) = (pick(self), pick(self), pick(self));
        self.line(&format!("      {x} := schoose[{y}, {z} & !{y}];"));
        self.line(&format!("      {b} := {y};"));
        self.line("    else");
        let count = group.len().min(2 + self.random.below(2));
        self.dead("      ", &group[..count]);
        let (x, y) = (pick(self), pick(self));
        self.line(&format!("      assume(!({x} & {y} & {a}));"));
        self.line(&format!("      {b} := {x} & {a};"));
        self.line("    fi;");
        if phase == 0
            && let [x, y, z, ..] = group
        {
            let call = format!("    {x}, {y}, {z} := settle({x}, {y}, {z});");
            self.line(&call);
        }
        // Rules out what cannot be: one bound implies the other.
        let n = group.len();
        let (low, high) = (group[0].clone(), group[n - 1].clone());
        self.line(&format!(
            "    if ({low} & !{high}) then\n      {high} := schoose[{low}, F];\n    fi;"
        ));
        self.dead("    ", &group[n / 2..=n / 2]);
    }

    /// Saves a copy, or compares with it.
    fn compare(&mut self, groups: &[Vec<String>]) {
        self.line("    if (copied) then\n      same := T;");
        for group in groups {
            let equal: Vec<String> = group.iter().map(|p| format!("({p} = s{p})")).collect();
            self.line(&format!("      same := same & {};", equal.join(" & ")));
        }
        self.line("      if (same) then\n        ERROR: skip;\n      fi;\n    else");
        self.line("      if (*) then\n        copied := T;");
        for group in groups {
            let saved: Vec<String> = group.iter().map(|p| format!("s{p}")).collect();
            let mut line = String::new();
            // Writing to a string cannot fail.
            let _ = write!(
                line,
                "        {} := {};",
                saved.join(", "),
                group.join(", ")
            );
            self.line(&line);
        }
        self.line("      fi;\n    fi;");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Ask;
    use crate::measure::verdict;

    #[test]
    fn the_explicit_engine_agrees() {
        for dead in [Dead::Iterative, Dead::Schoose] {
            for terminates in [false, true] {
                let shape = Shape {
                    predicates: 8,
                    globals: 2,
                    dead,
                    flags: Flags::Chain,
                    terminates,
                };
                let expect = if terminates { "holds" } else { "violated" };
                assert_eq!(verdict(&program(&shape), &Ask::Default), expect);
            }
        }
    }
}
