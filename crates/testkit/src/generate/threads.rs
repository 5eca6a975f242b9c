//! Random programs with threads, in all three conventions: small enough for the oracle of interleavings.
//!
//! Few shared variables, short procedures, and much that depends on the order in which threads run:
//! waiting (`assume`), recursion, atomic sections, threads that start threads with a copy of
//! their frame. Written as text, because sections and `init` are matters of layout.

use std::fmt::Write as _;

use crate::random::Random;

/// The convention by which a program has threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Convention {
    /// `start_thread` and `ASYNC_` labels.
    Dynamic,
    /// `init` and procedures whose names start with `thread`.
    Init,
    /// `thread NAME begin … end`.
    Sections,
}

/// A random program with two or three threads, as text.
pub fn concurrent(seed: u64) -> (Convention, String) {
    write(seed ^ 0x7468_7265_6164, false)
}

/// The same without recursion, and with more starts of threads: in procedures that are called, in
/// threads that are started, in `init`; and with more locals, of which the new threads get copies.
pub fn starting(seed: u64) -> (Convention, String) {
    write(seed ^ 0x7374_6172_7473, true)
}

fn write(seed: u64, starting: bool) -> (Convention, String) {
    let mut random = Random::new(seed);
    let convention = *random.pick(&[
        Convention::Dynamic,
        Convention::Dynamic,
        Convention::Init,
        Convention::Sections,
    ]);
    let shared = random.between(1, 3);
    let text = Writer {
        text: String::new(),
        labels: 0,
        local_labels: Vec::new(),
        globals: (0..shared).map(|i| format!("g{i}")).collect(),
        scope: Vec::new(),
        helpers: Vec::new(),
        callable: 0,
        number: false,
        starts: 0,
        loops: random.percent(20),
        starting,
        random,
        convention,
    }
    .program();
    (convention, text)
}

struct Helper {
    name: &'static str,
    param: bool,
    result: bool,
}

struct Writer {
    random: Random,
    convention: Convention,
    text: String,
    labels: usize,
    /// Labels of the procedure so far, which can be gone to.
    local_labels: Vec<String>,
    globals: Vec<String>,
    /// The variables that can be used.
    scope: Vec<String>,
    helpers: Vec<Helper>,
    /// The first helper that may be called.
    callable: usize,
    /// Whether there is a local `n` with three values.
    number: bool,
    /// How many threads may still be started.
    starts: usize,
    /// Whether threads may be started in loops and recursion.
    loops: bool,
    /// Whether there are more starts, and no recursion.
    starting: bool,
}

impl Writer {
    fn program(mut self) -> String {
        let threads = self.random.between(2, 3);
        self.declare_globals();
        let all = [("f", 40), ("h", 30)];
        for (name, percent) in all {
            if self.random.percent(if name == "f" { 80 } else { percent }) {
                self.helpers.push(Helper {
                    name,
                    param: self.random.percent(40),
                    result: self.random.percent(30),
                });
            }
        }
        match self.convention {
            Convention::Dynamic => {
                // `main` sets up, starts the others, and goes on.
                self.starts = threads - 1;
                self.header("main", false, false, 30);
                self.initialise();
                let body = self.random.between(1, 3);
                self.block(body, 1, true);
                while self.starts > 0 {
                    self.starts -= 1;
                    let worker = ["one", "two"][self.random.below(2)];
                    match self.random.below(5) {
                        0 => {
                            let label = self.label();
                            let _ = write!(self.text, " ASYNC_{label}: {worker}();");
                        }
                        _ => {
                            let _ = write!(self.text, " start_thread {worker}();");
                        }
                    }
                }
                let rest = self.random.between(0, 2);
                self.block(rest, 1, true);
                self.text.push_str(" end\n");
                for name in ["one", "two"] {
                    self.worker(name);
                }
                self.helpers_text();
            }
            Convention::Init => {
                self.header("init", false, false, 20);
                self.initialise();
                if self.starting {
                    self.starts = self.random.below(2);
                    self.block(2, 1, false);
                    self.starts = 0;
                } else if self.random.percent(40) {
                    self.block(1, 1, false);
                }
                self.text.push_str(" endinit: skip; end\n");
                for i in 0..threads {
                    self.worker(&format!("thread{i}"));
                }
                self.helpers_text();
            }
            Convention::Sections => {
                let own_helpers = self.random.percent(50);
                let shared = self.globals.clone();
                for i in 0..threads {
                    let _ = writeln!(self.text, "thread T{i} begin");
                    if self.random.percent(40) {
                        self.text.push_str("decl own;\n");
                        self.globals.push("own".to_owned());
                    }
                    self.worker("main");
                    if own_helpers {
                        self.helpers_text();
                    }
                    self.text.push_str("end\n");
                    self.globals.clone_from(&shared);
                }
                if !own_helpers {
                    self.helpers_text();
                }
            }
        }
        self.text
    }

    fn declare_globals(&mut self) {
        for global in self.globals.clone() {
            let _ = writeln!(self.text, "decl {global};");
        }
    }

    /// Some globals get a value.
    fn initialise(&mut self) {
        for global in self.globals.clone() {
            if self.random.percent(80) {
                let value = *self.random.pick(&["F", "F", "T"]);
                let _ = write!(self.text, " {global} := {value};");
            }
        }
    }

    fn header(&mut self, name: &str, param: bool, result: bool, local: u32) {
        let kind = if result { "bool" } else { "void" };
        let parameter = if param { "p" } else { "" };
        let _ = write!(self.text, "{kind} {name}({parameter}) begin");
        self.scope = self.globals.clone();
        self.local_labels.clear();
        if param {
            self.scope.push("p".to_owned());
        }
        let more = if self.starting { 40 } else { 0 };
        if self.random.percent(local + more) {
            self.text.push_str(" decl x;");
            self.scope.push("x".to_owned());
        }
        self.number = self.starting && self.random.percent(25);
        if self.number {
            self.text.push_str(" decl n : int[0..2]; n := 1;");
        }
    }

    fn worker(&mut self, name: &str) {
        self.header(name, false, false, 30);
        let count = self.random.between(2, 5);
        // Mixed conventions are possible, and rare.
        self.starts = usize::from(self.random.percent(if self.starting { 25 } else { 8 }));
        self.block(count, 2, true);
        self.starts = 0;
        self.text.push_str(" end\n");
    }

    fn helpers_text(&mut self) {
        for i in 0..self.helpers.len() {
            let (name, param, result) = {
                let helper = &self.helpers[i];
                (helper.name, helper.param, helper.result)
            };
            self.header(name, param, result, 15);
            let count = self.random.between(1, 3);
            if self.starting {
                self.callable = i + 1;
            }
            let starts = self.loops || self.starting;
            self.starts = usize::from(starts && self.random.percent(30));
            self.block(count, 1, true);
            self.starts = 0;
            if result {
                let value = self.expression(1);
                let _ = write!(self.text, " return {value};");
            }
            self.text.push_str(" end\n");
        }
        self.callable = 0;
    }

    fn label(&mut self) -> String {
        self.labels += 1;
        format!("L{}", self.labels)
    }

    fn variable(&mut self) -> String {
        self.random.pick(&self.scope).clone()
    }

    fn expression(&mut self, depth: usize) -> String {
        match self.random.below(if depth == 0 { 6 } else { 9 }) {
            0..=3 => self.variable(),
            4 => "*".to_owned(),
            5 => (*self.random.pick(&["T", "F"])).to_owned(),
            6 => format!("!{}", self.variable()),
            7 => {
                let (left, right) = (self.expression(depth - 1), self.expression(depth - 1));
                let operator = self.random.pick(&["&", "|", "!=", "="]);
                format!("({left} {operator} {right})")
            }
            _ => format!("!({})", self.expression(depth - 1)),
        }
    }

    /// Something to wait for or to test: better not `*` alone.
    fn condition(&mut self) -> String {
        let variable = self.variable();
        match self.random.below(4) {
            0 => variable,
            1 => format!("!{variable}"),
            2 => format!("{variable} = {}", self.variable()),
            _ => self.expression(1),
        }
    }

    fn block(&mut self, count: usize, depth: usize, labelled: bool) {
        let mut open = false;
        for _ in 0..count {
            if labelled && self.random.percent(30) {
                let label = self.label();
                let _ = write!(self.text, " {label}:");
                self.local_labels.push(label);
            }
            if self.random.percent(12) {
                self.text.push_str(if open {
                    " atomic_end;"
                } else {
                    " atomic_begin;"
                });
                open = !open;
                continue;
            }
            self.statement(depth);
        }
        // A section that is left open is rarer than one that is closed.
        if open && self.random.percent(80) {
            self.text.push_str(" atomic_end;");
        }
        if labelled && self.random.percent(40) {
            let label = self.label();
            let _ = write!(self.text, " {label}: skip;");
            self.local_labels.push(label);
        }
    }

    fn statement(&mut self, depth: usize) {
        let weights = [
            35,
            8,
            14,
            6,
            if self.callable == self.helpers.len() {
                0
            } else {
                18
            },
            if depth > 0 { 10 } else { 0 },
            if depth > 0 { 5 } else { 0 },
            match (self.starts > 0, self.starting) {
                (true, true) => 30,
                (true, false) => 12,
                _ => 0,
            },
            2,
            3,
            if self.local_labels.is_empty() { 0 } else { 4 },
            2,
            if self.number { 12 } else { 0 },
        ];
        match self.random.weighted(&weights) {
            0 => {
                let (variable, value) = (self.variable(), self.expression(1));
                let constrain = if self.random.percent(8) {
                    format!(" constrain ('{variable} | {})", self.variable())
                } else {
                    String::new()
                };
                let _ = write!(self.text, " {variable} := {value}{constrain};");
            }
            1 if self.scope.len() > 1 => {
                let (a, b) = (self.scope[0].clone(), self.scope[1].clone());
                let (x, y) = (self.expression(0), self.expression(0));
                let _ = write!(self.text, " {a}, {b} := {x}, {y};");
            }
            1 | 11 => self.text.push_str(" skip;"),
            2 => {
                let condition = self.condition();
                let _ = write!(self.text, " assume({condition});");
            }
            3 => {
                let condition = self.condition();
                let _ = write!(self.text, " assert({condition});");
            }
            4 => self.call(),
            5 => {
                let condition = self.condition();
                let _ = write!(self.text, " if ({condition}) then");
                let count = self.random.between(1, 2);
                self.block(count, depth - 1, true);
                if self.random.percent(40) {
                    self.text.push_str(" else");
                    self.block(1, depth - 1, true);
                }
                self.text.push_str(" fi;");
            }
            6 => {
                let condition = self.condition();
                let _ = write!(self.text, " while ({condition}) do");
                let starts = self.starts;
                if !self.loops {
                    self.starts = 0;
                }
                let count = self.random.between(1, 2);
                self.block(count, depth - 1, true);
                self.starts = self.starts.max(starts);
                self.text.push_str(" od;");
            }
            7 => {
                self.starts -= 1;
                match self.random.below(4) {
                    0 if !self.local_labels.is_empty() && (self.loops || self.starting) => {
                        let label = self.random.pick(&self.local_labels).clone();
                        let _ = write!(self.text, " start_thread goto {label};");
                    }
                    1 => {
                        self.text.push_str(" start_thread");
                        let starts = std::mem::take(&mut self.starts);
                        self.statement(0);
                        self.starts = starts;
                    }
                    _ => {
                        self.text.push_str(" start_thread if (*) then");
                        let starts = std::mem::take(&mut self.starts);
                        self.block(2, 0, true);
                        self.starts = starts;
                        self.text.push_str(" fi;");
                    }
                }
            }
            8 => self.text.push_str(" end_thread;"),
            9 => self.text.push_str(" if (*) then end_thread; fi;"),
            12 => {
                let text = *self.random.pick(&[
                    " n := *;",
                    " n := 2;",
                    " assume(n = 1);",
                    " if (n = 2) then n := 0; fi;",
                    " assert(n != 0);",
                    " if (n < 2) then n := n + 1; fi;",
                ]);
                self.text.push_str(text);
            }
            _ => {
                let label = self.random.pick(&self.local_labels).clone();
                let _ = write!(self.text, " if (*) then goto {label}; fi;");
            }
        }
    }

    fn call(&mut self) {
        let index = self.callable + self.random.below(self.helpers.len() - self.callable);
        let (name, param, result) = {
            let helper = &self.helpers[index];
            (helper.name, helper.param, helper.result)
        };
        let argument = if param {
            self.expression(1)
        } else {
            String::new()
        };
        let target = if result && self.random.percent(80) {
            format!("{} := ", self.variable())
        } else {
            String::new()
        };
        let constrain = match (&target[..], self.random.percent(10)) {
            ("", _) | (_, false) => String::new(),
            _ => format!(" constrain ({} | '{})", self.globals[0], self.globals[0]),
        };
        let _ = write!(self.text, " {target}{name}({argument}){constrain};");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::parse;
    use droste_lang::lower::lower;

    #[test]
    fn the_front_end_accepts_them_and_they_have_threads() {
        for seed in 0..1000 {
            for (_, text) in [concurrent(seed), starting(seed)] {
                let (program, _) = lower(&parse(&text));
                assert!(program.is_some_and(|p| p.is_concurrent()), "{seed}\n{text}");
            }
        }
    }
}
