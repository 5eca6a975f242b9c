//! The formula for threads that make no calls: whole configurations, one context after the other.
//!
//! `Reach3(v, t, q0, k0, q1, k1, …)` says that after three switches thread t is active and in the
//! state v, and each other thread i has been left at the program counter qi with the locals ki. (For
//! the active thread qi and ki are zero.) Nothing else has to be remembered of the contexts before,
//! so there are no tuples of globals. With a bound on rounds, context c is one of thread c mod n, and
//! may be empty; there is no t.

use std::fmt::Write as _;

use super::Threaded;

impl Threaded<'_> {
    /// The relations for all contexts, and the query.
    pub(super) fn flat(&self, out: &mut String) {
        let threads = self.threads.len();
        let fields = &self.relations.fields;
        let zero: Vec<String> = match fields.slots {
            0 => vec!["!l.none".to_owned()],
            slots => (0..slots).map(|slot| format!("!l.l{slot}")).collect(),
        };
        let mut passed: Vec<String> = Vec::new();
        for (i, name) in fields.names.iter().enumerate() {
            if fields.atomic != Some(i as u32) {
                passed.push(format!("a.{name} = b.{name}"));
            }
        }
        passed.extend(self.atomic.then(|| "!b.atomic".to_owned()));
        let _ = writeln!(
            out,
            "bool Zero(Local l)\n      {};\n\n\
             // The globals before a switch and after it.\nbool Pass(Global a, Global b)\n      {};\n",
            zero.join(" & "),
            if passed.is_empty() {
                "true".to_owned()
            } else {
                passed.join(" & ")
            }
        );
        let mut handles = String::new();
        for i in 0..threads {
            let _ = write!(handles, ", PC q{i}, Local k{i}");
        }
        for context in 0..=self.switches {
            let active = if self.in_turn { "" } else { ", Thread t" };
            let _ = writeln!(out, "mu bool Reach{context}(State v{active}{handles})");
            let mut clauses = Vec::new();
            let turn = context as usize % threads;
            if context == 0 {
                let first = match self.program.threads {
                    droste_program::Threads::Dynamic => 1,
                    _ => threads,
                };
                let begins = if self.in_turn { 0..1 } else { 0..first };
                clauses.extend(begins.map(|thread| self.flat_start(thread)));
            } else if self.in_turn {
                let before = (context as usize - 1) % threads;
                clauses.push(self.flat_switch(context - 1, before, turn));
            } else {
                for to in 0..threads {
                    for from in (0..threads).filter(|&from| from != to) {
                        clauses.push(self.flat_switch(context - 1, from, to));
                    }
                }
            }
            clauses.push(format!(
                "(exists State x. {} & ProgramInt(x, v))",
                self.reached(context, "x", "t", &|i| format!("q{i}, k{i}"))
            ));
            let _ = writeln!(out, "      {};\n", clauses.join("\n    | "));
        }
        let mut query: Vec<String> = Vec::new();
        if self.last.is_some() {
            query.push("(exists State u, State v. Before(u, v) & Target(v.pc))".to_owned());
        }
        for context in 0..=self.switches {
            let active = if self.in_turn { "" } else { ", Thread t" };
            query.push(format!(
                "(exists State v{active}{handles}.\n      {} & Target(v.pc))",
                self.reached(context, "v", "t", &|i| format!("q{i}, k{i}"))
            ));
        }
        let _ = writeln!(out, "{};", query.join("\n  | "));
    }

    /// The relation of a context, applied.
    fn reached(
        &self,
        context: u32,
        state: &str,
        thread: &str,
        handle: &dyn Fn(usize) -> String,
    ) -> String {
        let mut text = format!("Reach{context}({state}");
        if !self.in_turn {
            let _ = write!(text, ", {thread}");
        }
        for i in 0..self.threads.len() {
            let _ = write!(text, ", {}", handle(i));
        }
        text.push(')');
        text
    }

    /// What the first context begins with.
    fn flat_start(&self, thread: usize) -> String {
        let mut parts = Vec::new();
        if !self.in_turn {
            parts.push(format!("t = {thread}"));
        }
        let calm = if self.atomic { " & !v.g.atomic" } else { "" };
        for (i, &procedure) in self.threads.iter().enumerate() {
            let entry = self.relations.points.entry(self.program, procedure);
            parts.push(if i == thread {
                format!("v.pc = {entry} & EntryState(v){calm} & q{i} = 0 & Zero(k{i})")
            } else {
                format!(
                    "q{i} = {entry} & (exists State y. y.pc = {entry} & EntryState(y) & y.l = k{i} & y.g = v.g)"
                )
            });
        }
        parts.push("Ready(v.g)".to_owned());
        format!("({})", parts.join("\n        & "))
    }

    /// The switch from a thread to another at the end of a context.
    fn flat_switch(&self, context: u32, from: usize, to: usize) -> String {
        let top = if self.top { ", true" } else { "" };
        let active = if self.in_turn {
            String::new()
        } else {
            format!("t = {to} & ")
        };
        if from == to {
            // With one thread, the turn goes on.
            let handles = |i: usize| format!("q{i}, k{i}");
            return self.reached(context, "v", "t", &handles);
        }
        let handle = |i: usize| {
            if i == from {
                "p, z".to_owned()
            } else if i == to {
                "v.pc, v.l".to_owned()
            } else {
                format!("q{i}, k{i}")
            }
        };
        format!(
            "({active}q{to} = 0 & Zero(k{to})\n        & (exists State x, PC p, Local z. p = 0 & Zero(z)\n            \
             & {} & Free(x{top}) & Pass(x.g, v.g) & x.pc = q{from} & x.l = k{from}))",
            self.reached(context, "x", &from.to_string(), &handle)
        )
    }
}
