//! Threads that share a lock-free stack in an array, after D. Vyukov's `SafeStack` (2010).
//!
//! The stack has three cells. Each has a value and a link to the next cell, `head` is the topmost
//! cell, and `count` says how many there are. A cell is popped by taking its link and then moving
//! the head with compare-and-swap; it is pushed in the same way. While a thread owns a cell it
//! writes its own number into it, and asserts that the number stays there. `out` is how many cells
//! are owned. Everything has three bits: 27 bits are shared. What the hardware does in one go is an
//! atomic section.
//!
//! The stack is known to be wrong, but only in runs with many switches between three threads. With
//! up to four switches no assertion fails, so all of the space has to be gone through.
//!
//! What keeps it honest: the tests ask the explicit engine about it, and about a careless version,
//! which fails.

use std::fmt::Write as _;

/// The cells of the stack.
const CELLS: usize = 3;
/// The link that means no cell.
const NONE: usize = 7;

/// What becomes of loops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loops {
    /// They stay loops.
    Kept,
    /// This many copies of their bodies.
    Unrolled(usize),
}

/// Which version of the stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// A link is taken when it is read, and the head is compared before it is written.
    Careful,
    /// Neither: two threads can pop the same cell.
    Careless,
}

struct Writer {
    text: String,
    depth: usize,
    version: Version,
}

impl Writer {
    fn line(&mut self, line: &str) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.text, "{:1$}{line}", "", 2 * self.depth);
    }

    /// A loop: the condition, and the body.
    fn repeat(&mut self, loops: Loops, condition: &str, body: &mut dyn FnMut(&mut Self)) {
        let (copies, open, close) = match loops {
            Loops::Kept => (1, format!("while ({condition}) do"), "od"),
            Loops::Unrolled(copies) => (copies, format!("if ({condition}) then"), "fi"),
        };
        for _ in 0..copies {
            self.line(&open);
            self.depth += 1;
            body(self);
            self.depth -= 1;
            self.line(close);
        }
    }

    /// One statement for each cell, under the condition that it is the one in `h`.
    fn at_cell(&mut self, statement: impl Fn(usize) -> String) {
        for cell in 0..CELLS {
            self.line(&format!("if (h = {cell}) then {} fi", statement(cell)));
        }
    }

    fn atomic(&mut self, body: impl FnOnce(&mut Self)) {
        self.line("atomic_begin;");
        self.depth += 1;
        body(self);
        self.depth -= 1;
        self.line("atomic_end;");
    }

    /// `done` says whether the head was `old` and is `new` now.
    fn swap_head(&mut self, old: &str, new: &str) {
        let version = self.version;
        self.atomic(|w| match version {
            Version::Careful => {
                w.line("done := F;");
                w.line(&format!(
                    "if (head = {old}) then head, done := {new}, T; fi"
                ));
            }
            Version::Careless => w.line(&format!("head, done := {new}, T;")),
        });
    }

    fn pop(&mut self, loops: Loops) {
        self.line("done := F;");
        self.repeat(loops, "!done & count > 1", &mut |w| {
            w.line("h := head;");
            let version = w.version;
            w.atomic(|w| {
                w.at_cell(|cell| match version {
                    Version::Careful => format!("n, next{cell} := next{cell}, {NONE};"),
                    Version::Careless => format!("n := next{cell};"),
                });
            });
            w.line(&format!("if (n != {NONE}) then"));
            w.depth += 1;
            w.swap_head("h", "n");
            w.line("if (done) then");
            w.line("  atomic_begin;");
            w.line("    count, out := count - 1, out + 1;");
            w.line("  atomic_end;");
            w.line("else");
            w.depth += 1;
            w.at_cell(|cell| format!("next{cell} := n;"));
            w.depth -= 1;
            w.line("fi");
            w.depth -= 1;
            w.line("fi");
        });
    }

    fn push(&mut self, loops: Loops) {
        self.line("done := F;");
        self.repeat(loops, "!done", &mut |w| {
            w.line("n := head;");
            w.at_cell(|cell| format!("next{cell} := n;"));
            w.swap_head("n", "h");
        });
        // Of a loop that was unrolled there may be more to come.
        self.line("assume(done);");
        self.atomic(|w| w.line("count, out := count + 1, out - 1;"));
    }

    fn thread(&mut self, number: usize, loops: Loops) {
        self.line(&format!("void thread_{number}()"));
        self.line("begin");
        self.depth = 1;
        self.line("decl h, n : u3;");
        self.line("decl done;");
        self.repeat(loops, "*", &mut |w| {
            w.pop(loops);
            w.line("if (done) then");
            w.depth += 1;
            w.at_cell(|cell| format!("value{cell} := {number};"));
            w.at_cell(|cell| format!("assert(value{cell} = {number});"));
            w.push(loops);
            w.depth -= 1;
            w.line("fi");
        });
        self.depth = 0;
        self.line("end");
    }
}

/// A program with this many threads.
pub fn program(threads: usize, loops: Loops, version: Version) -> String {
    let mut writer = Writer {
        text: String::new(),
        depth: 0,
        version,
    };
    writer.line("decl head, count, out : u3;");
    for cell in 0..CELLS {
        writer.line(&format!("decl value{cell}, next{cell} : u3;"));
    }
    writer.line("void init()");
    writer.line("begin");
    writer.line(&format!("  head, count, out := 0, {CELLS}, 0;"));
    for cell in 0..CELLS {
        let next = if cell + 1 < CELLS { cell + 1 } else { NONE };
        writer.line(&format!("  value{cell}, next{cell} := 0, {next};"));
    }
    writer.line("endinit:");
    writer.line("  skip;");
    writer.line("end");
    for number in 1..=threads {
        writer.thread(number, loops);
    }
    writer.text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Ask;
    use crate::measure::verdict;

    #[test]
    fn the_explicit_engine_agrees() {
        for loops in [Loops::Kept, Loops::Unrolled(2)] {
            let text = program(3, loops, Version::Careful);
            assert_eq!(verdict(&text, &Ask::Switches(3)), "holds");
            let text = program(3, loops, Version::Careless);
            assert_eq!(verdict(&text, &Ask::Switches(3)), "violated");
        }
    }
}
