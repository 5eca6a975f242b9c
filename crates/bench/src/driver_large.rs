//! A driver-like program of ten thousand lines, at the scale of the drivers in Fig. 2 of S. La
//! Torre, P. Madhusudan and G. Parlato, "Analyzing recursive programs using a fixed-point calculus"
//! (PLDI 2009): 150 procedures, 18 globals and the lock, up to 18 locals per procedure.
//!
//! Procedures call later ones, mostly near ones, with up to four arguments and two results, and
//! sometimes themselves. Each works on its locals and four of the globals. The lock is taken and
//! given back under the same condition; the bug, if there is one, is a procedure in the middle that
//! looks at another one. No loop or assumption cuts off what comes after it, so the search goes
//! through nearly all of the program; the tests of a smaller one see to that.

use std::fmt::Write;

use crate::random::Xorshift;

/// What a program looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Lines, nearly.
    pub lines: usize,
    /// Procedures besides `main`.
    pub procedures: usize,
    /// Globals besides the lock.
    pub globals: usize,
    /// Locals, at most.
    pub locals: usize,
    /// Whether the lock is misused.
    pub bug: bool,
    /// Another number, another program; not 0.
    pub seed: u64,
}

/// The programs that are measured.
pub const SEEDS: [u64; 4] = [0x5851_f42d_4c95_7f2d, 0x1234_5678, 0xdead_beef, 0xabcd_ef01];

/// The program.
pub fn program(shape: &Shape) -> String {
    let mut writer = Writer {
        shape: *shape,
        random: Xorshift(shape.seed),
        text: String::new(),
        lines: 0,
        signatures: Vec::new(),
        variables: Vec::new(),
    };
    writer.program();
    writer.text
}

struct Signature {
    locals: usize,
    parameters: usize,
    results: usize,
}

struct Writer {
    shape: Shape,
    random: Xorshift,
    text: String,
    lines: usize,
    signatures: Vec<Signature>,
    /// What the procedure at hand works on.
    variables: Vec<String>,
}

impl Writer {
    fn line(&mut self, line: &str) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.text, "{line}");
        self.lines += 1;
    }

    fn variable(&mut self) -> String {
        let i = self.random.below(self.variables.len());
        self.variables[i].clone()
    }

    /// Two different ones.
    fn two(&mut self) -> (String, String) {
        let i = self.random.below(self.variables.len());
        let j = (i + 1 + self.random.below(self.variables.len() - 1)) % self.variables.len();
        (self.variables[i].clone(), self.variables[j].clone())
    }

    fn expression(&mut self) -> String {
        let (a, b) = self.two();
        match self.random.below(9) {
            0 => a,
            1 => format!("!{a}"),
            2 => format!("{a} & {b}"),
            3 => format!("{a} | !{b}"),
            4 => "*".to_owned(),
            5 => format!("schoose[{a}, {b}]"),
            6 => format!("{a} != {b}"),
            7 => "T".to_owned(),
            _ => "F".to_owned(),
        }
    }

    fn program(&mut self) {
        let Shape {
            lines,
            procedures,
            globals,
            locals,
            ..
        } = self.shape;
        for _ in 0..procedures {
            let locals = 4 + self.random.below(locals - 3);
            let signature = Signature {
                locals,
                parameters: self.random.below(5),
                results: self.random.below(3),
            };
            self.signatures.push(signature);
        }
        let names: Vec<String> = (0..globals).map(|i| format!("g{i}")).collect();
        self.line(&format!("decl lock;\ndecl {};", names.join(", ")));
        self.line("void main()\nbegin\n  lock := F;\n  while (*) do");
        for p in 0..procedures.min(12) {
            let unknown = vec!["*"; self.signatures[p].parameters].join(", ");
            let unused = match self.signatures[p].results {
                0 => "",
                1 => "g0 := ",
                _ => "g0, g1 := ",
            };
            self.line(&format!("    {unused}p{p}({unknown});"));
        }
        self.line("  od;\nend");
        for p in 0..procedures {
            self.procedure(p, lines / procedures);
        }
    }

    fn procedure(&mut self, p: usize, lines: usize) {
        let Signature {
            locals,
            parameters,
            results,
        } = self.signatures[p];
        let names: Vec<String> = (0..locals).map(|i| format!("l{i}")).collect();
        let kind = match results {
            0 => "void".to_owned(),
            1 => "bool".to_owned(),
            n => format!("bool<{n}>"),
        };
        let end = self.lines + lines - 5;
        self.line(&format!("{kind} p{p}({})", names[..parameters].join(", ")));
        self.line("begin");
        if parameters < locals {
            self.line(&format!("  decl {};", names[parameters..].join(", ")));
        }
        self.variables = names;
        let first = self.random.below(self.shape.globals);
        for i in 0..4.min(self.shape.globals) {
            let global = (first + i) % self.shape.globals;
            self.variables.push(format!("g{global}"));
        }
        if self.shape.bug && p == self.shape.procedures / 2 {
            self.lock("l0", "l1");
        }
        let mut labels = 0;
        while self.lines < end {
            self.piece(p, &mut labels);
        }
        if results > 0 {
            let values: Vec<String> = (0..results).map(|_| self.expression()).collect();
            self.line(&format!("  return {};", values.join(", ")));
        }
        self.line("end");
    }

    fn assign(&mut self, indent: &str) {
        let (x, e) = (self.variable(), self.expression());
        self.line(&format!("{indent}{x} := {e};"));
    }

    fn lock(&mut self, taken: &str, given: &str) {
        self.line(&format!("  if ({taken}) then"));
        self.line("    assert(!lock);");
        self.line("    lock := T;");
        self.line("  fi;");
        let x = self.variable();
        if x != taken && x != given {
            self.line(&format!("  {x} := *;"));
        }
        self.line(&format!("  if ({given}) then"));
        self.line("    assert(lock);");
        self.line("    lock := F;");
        self.line("  fi;");
    }

    fn call(&mut self, indent: &str, callee: usize) {
        let (parameters, results) = {
            let signature = &self.signatures[callee];
            (signature.parameters, signature.results)
        };
        let arguments: Vec<String> = (0..parameters).map(|_| self.expression()).collect();
        let (x, y) = self.two();
        let targets = match results {
            0 => String::new(),
            1 => format!("{x} := "),
            _ => format!("{x}, {y} := "),
        };
        self.line(&format!(
            "{indent}{targets}p{callee}({});",
            arguments.join(", ")
        ));
    }

    fn piece(&mut self, p: usize, labels: &mut usize) {
        match self.random.below(100) {
            0..35 => self.assign("  "),
            35..45 => {
                let ((x, y), e, f) = (self.two(), self.expression(), self.expression());
                self.line(&format!("  {x}, {y} := {e}, {f};"));
            }
            45..65 => {
                let e = self.expression();
                self.line(&format!("  if ({e}) then"));
                self.assign("    ");
                self.line("  else");
                self.assign("    ");
                self.line("  fi;");
            }
            65..72 => {
                let (n, x) = (*labels, self.variable());
                *labels += 1;
                self.line(&format!("  goto A{n}, B{n};"));
                self.line(&format!("  A{n}: assume({x});"));
                self.assign("  ");
                self.line(&format!("  goto C{n};"));
                self.line(&format!("  B{n}: assume(!{x});"));
                self.assign("  ");
                self.line(&format!("  C{n}: skip;"));
            }
            72..78 => {
                let condition = self.variable();
                self.lock(&condition, &condition);
            }
            78..82 => {
                self.line("  while (*) do");
                self.assign("    ");
                self.assign("    ");
                self.line("  od;");
            }
            82..97 if p + 1 < self.shape.procedures => {
                // Mostly a near one.
                let (a, b) = (self.random.below(12), self.random.below(12));
                let callee = (p + 1 + a.min(b)).min(self.shape.procedures - 1);
                self.call("  ", callee);
            }
            97.. => {
                self.line("  if (*) then");
                self.call("    ", p);
                self.line("  fi;");
            }
            _ => self.line("  skip;"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Ask, Setup, measure};
    use droste_check::Engine;

    #[test]
    fn small_ones_are_right_and_reached() {
        for (bug, expect) in [(false, "holds"), (true, "violated")] {
            let shape = Shape {
                lines: 160,
                procedures: 4,
                globals: 3,
                locals: 5,
                bug,
                seed: SEEDS[0],
            };
            let text = program(&shape);
            for engine in [Engine::Explicit, Engine::Bdd] {
                let setup = Setup {
                    engine,
                    passes: false,
                    ..Setup::default()
                };
                let report = measure::answer(&text, &Ask::Default, setup).expect("an answer");
                assert_eq!(report.verdict.word(), expect, "{engine:?}");
                if let (Some(droste_check::Effort::Symbolic(stats)), false) = (report.effort, bug) {
                    let nodes = measure::load(&text).expect("a program").nodes.len();
                    assert!(stats.nodes_reached as usize * 10 >= nodes * 9);
                }
            }
        }
    }
}
