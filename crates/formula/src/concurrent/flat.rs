//! The formula for threads that make no calls: whole configurations, one context after the other.
//!
//! A configuration is `PC q0, Local k0, PC q1, Local k1, …, Global g`: where each thread is, with
//! which locals, and the globals. `Reach3` has those of the fourth context. With a bound on rounds
//! context c is one of thread c mod n, and may be empty; otherwise there is one relation for each
//! thread, `Reach3_0`, `Reach3_1`, …. `Parked3` has the configurations in which a thread may have been
//! left, after up to four contexts. A context begins with these, but for those in which its thread has
//! been active before: so every configuration is looked at once for each thread. Nothing else has to
//! be remembered of the contexts before, and there are no tuples of globals.
//!
//! Each thread has BDD variables of its own, one thread behind the other, and globals come last. At
//! a switch nothing is renamed. The last thread comes first: its contexts are the largest, and steps
//! cost less if the program counter is at the top.

use std::fmt::Write as _;

use super::Threaded;

impl Threaded<'_> {
    /// The relations for all contexts, and the query.
    pub(super) fn flat(&self, out: &mut String) {
        let threads = self.threads.len();
        let (mut heads, mut wishes) = (String::new(), Vec::new());
        for i in 0..threads {
            let _ = write!(heads, "PC q{i}, Local k{i}, ");
            wishes.push(format!("k{i} < g"));
        }
        for i in (0..threads).rev() {
            wishes.push(format!("q{i} < k{i}"));
            if i > 0 {
                wishes.push(format!("k{i} < q{}", i - 1));
            }
        }
        let head = format!("({heads}Global g)");
        let wishes = wishes.join(", ");
        let all = self.configuration("g", None);
        let mut begins: Vec<String> = Vec::new();
        for (i, thread) in self.threads.iter().enumerate() {
            begins.push(format!("EntryState_{}(q{i}, k{i}, g)", thread.0));
        }
        begins.extend(self.atomic.then(|| "!g.atomic".to_owned()));
        begins.push("Ready(g)".to_owned());
        let _ = writeln!(
            out,
            "// Where all threads begin.\nbool Begin{head} {wishes}\n      {};\n",
            begins.join(" & ")
        );
        let mut parked = format!("Begin{all}");
        // The contexts of each thread so far.
        let mut before: Vec<Vec<String>> = vec![Vec::new(); threads];
        let mut query: Vec<String> = Vec::new();
        if self.last.is_some() {
            query.push("(exists State u, State v. Before(u, v) & Target(v.pc))".to_owned());
        }
        for context in 0..=self.switches {
            let turn = context as usize % threads;
            let active = if self.in_turn {
                turn..turn + 1
            } else {
                0..threads
            };
            let mut left = vec![parked.clone()];
            for thread in active {
                let name = if self.in_turn {
                    format!("Reach{context}")
                } else {
                    format!("Reach{context}_{thread}")
                };
                let mut begins = vec![parked.clone()];
                begins.extend(before[thread].iter().map(|name| format!("!{name}{all}")));
                let _ = writeln!(
                    out,
                    "mu bool {name}{head} {wishes}\n      ({})\n    \
                     | (exists PC p, Local l, Global h.\n          \
                     {name}{} & ProgramInt_{}(p, l, h, q{thread}, k{thread}, g));\n",
                    begins.join(" & "),
                    self.configuration("h", Some(thread)),
                    self.threads[thread].0,
                );
                left.extend(self.parked(&name, thread));
                query.push(format!(
                    "(exists {heads}Global g. {name}{all} & Target(q{thread}))"
                ));
                before[thread].push(name);
            }
            if context < self.switches {
                let _ = writeln!(
                    out,
                    "bool Parked{context}{head} {wishes}\n      {};\n",
                    left.join("\n    | ")
                );
                parked = format!("Parked{context}{all}");
            }
        }
        let _ = writeln!(out, "{};", query.join("\n  | "));
    }

    /// The arguments of a relation: globals `g`, and for one thread `p` and `l`.
    fn configuration(&self, globals: &str, other: Option<usize>) -> String {
        let mut text = "(".to_owned();
        for i in 0..self.threads.len() {
            let _ = if other == Some(i) {
                write!(text, "p, l, ")
            } else {
                write!(text, "q{i}, k{i}, ")
            };
        }
        text + globals + ")"
    }

    /// Where a thread may be left at the end of a context. Its end ends an atomic section.
    fn parked(&self, name: &str, thread: usize) -> Vec<String> {
        let here = self.configuration("g", None);
        let mut ways = vec![format!("({name}{here} & Free(q{thread}, g))")];
        if self.atomic {
            ways.push(format!(
                "(exists Global h. {name}{} & h.atomic & Ended(q{thread}) & Pass(h, g))",
                self.configuration("h", None)
            ));
        }
        ways
    }

    /// Where threads may be left, and how globals are passed on.
    pub(super) fn flat_control(&self, out: &mut String) {
        let fields = &self.relations.fields;
        let mut passed: Vec<String> = Vec::new();
        for (i, name) in fields.names.iter().enumerate() {
            if fields.atomic != Some(i as u32) {
                passed.push(format!("a.{name} = b.{name}"));
            }
        }
        let calm = if self.atomic { "!g.atomic & " } else { "" };
        let _ = writeln!(
            out,
            "// The thread has ended.\nbool Ended(PC p)\n      {};\n\n\
             // The thread may be left here.\nbool Free(PC p, Global g)\n      \
             {calm}({} | Ended(p));\n",
            self.ended("p"),
            self.noticed("p"),
        );
        if self.atomic {
            passed.push("!b.atomic".to_owned());
            let _ = writeln!(
                out,
                "// An atomic section ends with its thread.\nbool Pass(Global a, Global b)\n      {};\n",
                passed.join(" & ")
            );
        }
    }
}
